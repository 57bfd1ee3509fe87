//! Decides for `reach` whether a property holds in the current state of a symbolic run, for some of
//! the values that lead to this state.

use mazurka_core::{Execution, ProcessId, ProcessPath};
use mazurka_smt::{Answer, Model, Term, Terms};

use crate::run::blocker::RestingProcess;
use crate::tell::property::Property;

use super::SymbolicMachine;
use super::tell::Concrete;

/// The kind of a step of a symbolic run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastStep {
    /// A step of the program.
    Step,
    /// The local work before the first step of a process.
    Start,
    /// The local work after a condition over inputs.
    Branch,
    /// A step in which the process stays, because it must wait.
    Stay,
}

impl SymbolicMachine {
    /// Makes the decision of a condition over inputs a separate step, if only local work of the
    /// current step is left. So later steps of other processes do not depend on the side that is
    /// taken. The number of traces stays the same, but the traces have more events.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mazurka_core::{Execution, ProcessId};
    ///
    /// let source = "var x: int = 0 process { x := 1; let v = input(); if v > 0 { x := 2 } }";
    /// let program = mazurka_lang::load(source, &[]).unwrap();
    /// let code = Arc::new(mazurka_lang::compile(&program, source).unwrap());
    /// let machine = mazurka_lang::SymbolicMachine::new(code, 1_000_000, None);
    /// let mut machine = machine.with_branches_apart();
    /// assert!(machine.step(ProcessId(0), &[]).unwrap().outcomes.is_empty());
    /// assert_eq!(machine.step(ProcessId(0), &[1]).unwrap().outcomes.len(), 1);
    /// ```
    pub fn with_branches_apart(mut self) -> Self {
        self.rests_before = super::domain::RestsBefore::Branches;
        self
    }

    /// Lets each process do its separate local work at any time, and not only before all other
    /// steps. So a process never waits for another process with which it has no conflicting access.
    /// The number of traces stays the same, but there are many more orders of steps.
    pub fn starting_in_any_order(mut self) -> Self {
        self.any_order = true;
        self
    }

    /// Adds the processes whose end the next step of a process may wait for.
    pub(super) fn joinable(&self, process: ProcessId, into: &mut Vec<ProcessId>) {
        let (logic, locals) = (self.logic.borrow(), self.locals(process));
        // Handles are always known.
        let known = |slot: u32| logic.known(locals[slot as usize]).unwrap_or(0);
        let resting = RestingProcess {
            code: &self.code,
            table: &self.table,
            process,
            registers: &self.state.processes[process.index()].registers,
        };
        resting.joinable(|slot| ProcessId(known(slot) as u32), into);
    }

    /// Returns the value of a cell, as a term.
    pub fn term_of(&self, cell: u32) -> Option<Term> {
        self.state.cells.get(cell as usize).copied()
    }

    /// Returns the line of the next step of a process: 0 if the process is between two marks, and
    /// `None` if the process is not alive.
    pub fn line(&self, process: ProcessId) -> Option<usize> {
        if self.is_between_marks(process) {
            return Some(0);
        }
        let step = self.resting(process)?;
        let span = self.code.steps[step as usize].span;
        Some(span.line_of_all(&self.code.source))
    }

    /// Whether a property can hold in the current state, for some values that take the path of the
    /// current run. `value` gives the values of the cells. A property may also mention *points*
    /// (places of processes in the source), and `at` says which of these hold. Returns false if a
    /// process of a point is between two marks, because such a process is at no point.
    pub fn may_hold(
        &self,
        property: &Property,
        value: &dyn Fn(u32) -> Option<Term>,
        at: &[bool],
    ) -> bool {
        let at_a_step = |(path, _): &(ProcessPath, usize)| {
            let process = self.table.find(path);
            !process.is_some_and(|process| self.is_between_marks(process))
        };
        property.points().iter().all(at_a_step) && {
            let condition = self.condition_of(property, value, at);
            let mut conditions = self.state.path.clone();
            conditions.push(condition);
            condition != Term::FALSE && self.logic.borrow_mut().holds_for_some(&conditions)
        }
    }

    /// Returns the condition that a property holds for these cells. If a number in it exceeds 64
    /// bits, returns false and records a doubt.
    pub(super) fn condition_of(
        &self,
        property: &Property,
        value: &dyn Fn(u32) -> Option<Term>,
        at: &[bool],
    ) -> Term {
        let mut logic = self.logic.borrow_mut();
        let mut cells = vec![logic.constant(0); property.code.first_lock as usize];
        for &cell in property.cells() {
            cells[cell as usize] = value(cell).unwrap_or(cells[cell as usize]);
        }
        let first = cells.len() - at.len();
        for (point, &at) in cells[first..].iter_mut().zip(at) {
            *point = logic.truth(at);
        }
        match logic.property(&property.code, &cells, property.expr()) {
            Ok(holds) => logic.condition(holds),
            Err(_) => {
                logic.doubts.out_of_range = true;
                Term::FALSE
            }
        }
    }

    /// Returns values for which a concrete run follows the current run and ends in a state where a
    /// property holds, or `None` if the solver finds no such values.
    pub fn concrete_where(&self, property: &Property, at: &[bool]) -> Option<Concrete> {
        let here = |cell: u32| self.term_of(cell);
        let mut conditions = self.state.path.clone();
        conditions.push(self.condition_of(property, &here, at));
        let model: Model = self.logic.borrow_mut().model(&conditions)?;
        Some(self.with_model(&model))
    }

    /// Returns the conditions that the last step has added to the path, as terms.
    pub fn last_terms(&self) -> Vec<Term> {
        let first = self.taken.last().map_or(0, |taken| taken.path);
        self.state.path[first..].to_vec()
    }

    /// Asks the solver about conditions built from the terms of this machine, together with the
    /// path condition of the current run.
    pub fn ask<Error>(
        &self,
        build: impl FnOnce(&mut Terms) -> Result<Vec<Term>, Error>,
    ) -> Result<Answer, Error> {
        let mut logic = self.logic.borrow_mut();
        let mut conditions = self.state.path.clone();
        conditions.extend(build(&mut logic.terms)?);
        Ok(logic.ask(&conditions))
    }

    /// Returns the kind of the last step.
    pub fn last_step(&self) -> LastStep {
        match (self.taken.last(), self.events().last()) {
            (Some(taken), _) if taken.local && taken.registers.steps == 0 => LastStep::Start,
            (Some(taken), _) if taken.local => LastStep::Branch,
            (_, Some(event)) if event.stayed => LastStep::Stay,
            _ => LastStep::Step,
        }
    }

    /// Returns the conditions that the last step has added to the path, as text.
    pub fn last_conditions(&self) -> Vec<String> {
        let logic = self.logic.borrow();
        let new = self.last_terms().into_iter();
        new.map(|condition| logic.terms.show(condition)).collect()
    }
}
