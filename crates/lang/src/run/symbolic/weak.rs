//! Implements [`WeakMemory`] for the symbolic machine, for searches under a weak memory model with
//! unknown values.
//!
//! The engine needs numbers as the values of reads and writes. A known value that is not too large
//! stands for itself; any other value is represented by the number of its term. Terms are
//! hash-consed, so equal numbers mean equal terms in all executions of a search.
//!
//! A condition over unknown values is a separate step
//! ([`with_conditions_apart`](SymbolicMachine::with_conditions_apart)), which the engine records in
//! the execution graph as a *decision*. The engine asks which outcomes of a decision are feasible
//! together with the other decisions of the graph.

use mazurka_core::{AccessOrder, Claims, Event, Execution, ProcessId, StepError, WeakMemory};
use mazurka_smt::Term;

use super::SymbolicMachine;
use super::domain::RestsBefore;
use super::logic::Logic;

/// The least value that encodes a term.
const FIRST_TERM: i64 = 1 << 62;

impl Logic {
    /// Returns the value by which the engine represents a term.
    fn encode(&mut self, term: Term) -> i64 {
        match self.known(term) {
            Some(value) if value < FIRST_TERM => value,
            _ => FIRST_TERM + i64::from(self.numbered(term)),
        }
    }

    /// Returns the term that a value of the engine encodes.
    fn decode(&mut self, value: i64) -> Term {
        if value < FIRST_TERM {
            self.constant(value)
        } else {
            self.of_number((value - FIRST_TERM) as u32)
        }
    }
}

impl SymbolicMachine {
    /// Lets processes rest before every unknown condition, including the condition of an `assume`,
    /// and start in any order. [`with_branches_apart`](Self::with_branches_apart) does the same for
    /// fewer conditions. This is for engines that count local work as part of the access before it.
    pub fn with_conditions_apart(mut self) -> Self {
        self.rests_before = RestsBefore::Conditions;
        self.starting_in_any_order()
    }

    /// Returns the number of conditions at the beginning of the path that no step has added: they
    /// come from the `requires`.
    fn required(&self) -> usize {
        self.taken
            .first()
            .map_or(self.state.path.len(), |first| first.path)
    }
}

impl WeakMemory for SymbolicMachine {
    fn order(&self, process: ProcessId, cell: Option<u32>) -> AccessOrder {
        self.code.order_at(self.resting(process), cell)
    }

    fn is_fence(&self, process: ProcessId) -> bool {
        let mut claims = Claims::new();
        self.claims(process, &mut claims);
        claims.is_empty() && self.code.names_order(self.resting(process))
    }

    fn places(&self) -> u32 {
        self.state.cells.len() as u32
    }

    fn value(&self, cell: u32) -> i64 {
        let term = self.state.cells[cell as usize];
        self.logic.borrow_mut().encode(term)
    }

    fn try_step(&mut self, process: ProcessId) -> Result<&Event, StepError> {
        let recorder = self.recorder.take();
        let made = self.step(process, &[]).map(|_| ());
        self.recorder = recorder;
        made.map(|()| &self.run[self.taken.len() - 1])
    }

    fn set_value(&mut self, cell: u32, value: i64) {
        self.state.cells[cell as usize] = self.logic.borrow_mut().decode(value);
    }

    fn line(&self, process: ProcessId) -> usize {
        let state = &self.state.processes[process.index()];
        self.code.line_at(state.registers.pc)
    }

    fn question(&mut self, process: ProcessId) -> Option<u32> {
        if !self.is_between_marks(process) {
            return None;
        }
        let (depth, before) = (self.taken.len(), self.state.path.len());
        let outcomes = &self.try_step(process).ok()?.outcomes;
        let (side, outcomes) = (outcomes.first().map(|it| it.value), outcomes.len());
        let decided = self.state.path[before..].first().copied();
        let one = outcomes == 1 && self.state.path.len() == before + 1;
        self.back_to(depth);
        let mut logic = self.logic.borrow_mut();
        let condition = match side.filter(|_| one)? {
            0 => decided.map(|opposite| logic.not(opposite)),
            _ => decided,
        };
        condition.map(|condition| logic.numbered(condition))
    }

    fn decisions(&self) -> u32 {
        let last = self.taken.last();
        last.map_or(0, |last| (self.state.path.len() - last.path) as u32)
    }

    fn is_feasible(&mut self, decided: &[(u32, bool)]) -> bool {
        let mut conditions = self.state.path[..self.required()].to_vec();
        let mut logic = self.logic.borrow_mut();
        for &(number, truth) in decided {
            let condition = logic.of_number(number);
            let held = if truth {
                condition
            } else {
                logic.not(condition)
            };
            conditions.push(logic.condition(held));
        }
        // Equal conditions are needed only once.
        conditions.sort_unstable();
        conditions.dedup();
        logic.holds_for_some(&conditions)
    }
}
