//! Shows symbolic runs: path conditions and states as text, and values for the unknowns with which
//! a run becomes concrete.

use std::rc::Rc;
use std::sync::Arc;

use mazurka_core::record::Binding;
use mazurka_core::{Fingerprint, Mishap, ProcessId, Schedule, ScheduledStep};
use mazurka_smt::{Kind, Model, Sort, Term};

use crate::code::Code;
use crate::code::fault::Site;
use crate::run::state::Life;

use super::domain::Cause;
use super::{Doubts, SymbolicMachine};

/// The bound of a small number. Products of small numbers, and large sums of such products, fit
/// into 64 bits.
const SMALL: i64 = 1 << 20;

/// A symbolic run with concrete values for all of its symbolic values.
#[derive(Clone, Debug)]
pub struct Concrete {
    /// The program with these initial values.
    pub code: Arc<Code>,
    /// The run of that program.
    pub schedule: Schedule,
    /// The symbolic initial values and the inputs, by name.
    pub values: Vec<Binding>,
}

/// The observed values of a final state as terms, with the path condition of the run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Observed {
    pub(super) values: Vec<Term>,
    pub(super) path: Vec<Term>,
}

impl SymbolicMachine {
    /// Returns the path condition ⌈φ⌉, as conditions that must all hold.
    pub fn path_condition(&self) -> Vec<String> {
        let mut logic = self.logic.borrow_mut();
        let path = self.state.path.iter();
        let all = path.fold(Term::TRUE, |all, &c| logic.terms.and(all, c));
        let mut conditions = Vec::new();
        let mut stack = vec![all];
        while let Some(condition) = stack.pop() {
            match logic.terms.node(condition) {
                mazurka_smt::TermNode::And(a, b) => stack.extend([b, a]),
                mazurka_smt::TermNode::Constant(1) => {}
                _ => conditions.push(logic.terms.show(condition)),
            }
        }
        conditions
    }

    /// Returns the substitution σ: each shared variable with its value over initial values
    /// and inputs.
    pub fn substitution(&self) -> Vec<Binding> {
        let vars = self.original.program.vars.iter().enumerate();
        let all = self.original_cells();
        let bind = |(at, var): (usize, &crate::check::hir::Var)| {
            let first = self.original.first_cells[at] as usize;
            let cells = &all[first..first + var.len.unwrap_or(1) as usize];
            Binding {
                name: var.name.clone(),
                value: var.shape.list(|at| self.show(cells[at], var.ty)),
            }
        };
        vars.map(bind).collect()
    }

    pub(super) fn show(&self, term: Term, ty: crate::check::hir::Type) -> String {
        let logic = self.logic.borrow();
        match logic.known(term) {
            Some(value) => self.code.program.show(value, ty),
            None => logic.terms.show(term),
        }
    }

    /// Returns the program points of the thread pool Σ: the positions of the processes without
    /// their locals.
    pub(super) fn program_points(&self) -> Fingerprint {
        let logic = self.logic.borrow();
        let mut all = Fingerprint::EMPTY;
        for (at, process) in self.state.processes.iter().enumerate() {
            let r = &process.registers;
            if matches!(r.life, Life::Unborn | Life::Ended) {
                continue;
            }
            let name = self.table.name(ProcessId(at as u32));
            let mut points = name.then(r.life as u64).then(u64::from(r.pc));
            let mut frame = r.frame as usize;
            while frame != 0 {
                let number = |slot: usize| logic.known(process.stack[slot]).unwrap_or(0);
                points = points.then(number(frame - 2) as u64);
                frame = number(frame - 1) as usize;
            }
            all = all.and(points);
        }
        all
    }

    /// Returns the statistics of the solver.
    pub fn solver_statistics(&self) -> mazurka_smt::Statistics {
        self.logic.borrow().statistics()
    }

    /// Returns what the solver could not decide so far.
    pub fn doubts(&self) -> Doubts {
        self.logic.borrow().doubts.clone()
    }

    /// Returns a function that returns the doubts so far. The function can be called while the
    /// machine is borrowed, and after it is dropped.
    pub fn doubts_so_far(&self) -> impl Fn() -> Doubts + use<> {
        let logic = Rc::clone(&self.logic);
        move || logic.borrow().doubts.clone()
    }

    /// Whether some values may satisfy the `requires` of the program. If the solver cannot decide
    /// this, returns true and records a doubt: a property that is verified may then hold only
    /// because no run is possible.
    pub fn can_start(&self) -> bool {
        let start = self.taken.first().map_or(self.state.path.len(), |t| t.path);
        let required = &self.state.path[..start];
        !required.contains(&Term::FALSE) && self.logic.borrow_mut().feasible(required)
    }

    /// Returns values with which a concrete run follows the current run. If a mishap of the initial
    /// or final state is given, the run also has this mishap. Returns `None` if the solver finds no
    /// such values.
    pub fn concrete(&self, mishap: Option<&Mishap>) -> Option<Concrete> {
        self.concrete_if(mishap, &[])
    }

    /// Returns values like `concrete`, but every `int` is a small number, so that sums and products
    /// fit into 64 bits.
    pub fn concrete_and_small(&self, mishap: Option<&Mishap>) -> Option<Concrete> {
        let mut logic = self.logic.borrow_mut();
        let variables = logic.terms.variables().iter().map(|v| v.term);
        let ints: Vec<Term> = variables
            .filter(|&term| logic.terms.sort(term) == Sort::Int)
            .collect();
        let mut small = Vec::new();
        for term in ints {
            let [low, high] = [-SMALL, SMALL].map(|end| logic.terms.constant(Sort::Int, end));
            small.push(logic.terms.at_least(term, low));
            small.push(logic.terms.at_most(term, high));
        }
        drop(logic);
        self.concrete_if(mishap, &small)
    }

    fn concrete_if(&self, mishap: Option<&Mishap>, also: &[Term]) -> Option<Concrete> {
        let mut conditions = self.state.path.clone();
        conditions.extend(mishap.and_then(|mishap| self.broken_by(mishap)));
        conditions.extend(also);
        let model = self.logic.borrow_mut().model(&conditions)?;
        Some(self.with_model(&model))
    }

    /// Returns the condition under which the current state breaks a property. The property is given
    /// by a mishap of the initial or final state.
    pub(super) fn broken_by(&self, mishap: &Mishap) -> Option<Term> {
        let program = &self.code.program;
        let property = match (mishap.process, Site::decode(mishap.site)?) {
            (None, Site::Invariant(k)) => program.invariants.get(k as usize)?,
            (None, Site::Ensures(k)) => program.ensures.get(k as usize)?,
            _ => return None,
        };
        let mut logic = self.logic.borrow_mut();
        let holds = logic.property(&self.code, &self.state.cells, &property.expr);
        let broken = logic.not(holds.ok()?);
        Some(logic.condition(broken))
    }

    /// Returns the current run with the values of a model for its unknowns.
    pub(super) fn with_model(&self, model: &Model) -> Concrete {
        let logic = self.logic.borrow();
        let mut code = Code::clone(&self.original);
        let mut values = Vec::new();
        for (at, var) in self.original.program.vars.iter().enumerate() {
            if var.init.is_some() {
                continue;
            }
            let first = code.first_cells[at];
            for cell in first..first + var.len.unwrap_or(1) {
                let name = code.cell_name(cell);
                let mut variables = logic.terms.variables().iter();
                let variable = variables.find(|v| v.kind == Kind::Initial && v.name == name);
                let value = variable.and_then(|v| model.get(v.term)).unwrap_or(0);
                code.initial[cell as usize] = value;
                values.push(Binding {
                    name,
                    value: self.code.program.show(value, var.ty),
                });
            }
        }
        for variable in logic.terms.variables() {
            let other_type = |&(_, _, input): &(ProcessId, u32, Term)| {
                let name = logic.terms.variable_of(input).map(|input| &input.name);
                input != variable.term && name == Some(&variable.name)
            };
            if let (Kind::Input, Some(value)) = (variable.kind, model.get(variable.term))
                && !self.inputs_read.iter().any(other_type)
            {
                code.inputs.insert(variable.name.clone(), value);
                values.push(Binding {
                    name: variable.name.clone(),
                    value: logic.terms.sort(variable.term).show(value),
                });
            }
        }
        Concrete {
            code: Arc::new(code),
            schedule: self.concrete_schedule(),
            values,
        }
    }

    /// Returns the run without the parts that only a symbolic run has: work before the start, steps
    /// that stay, and decisions.
    pub fn concrete_schedule(&self) -> Schedule {
        let mut causes = self.causes.iter();
        let mut steps = Vec::new();
        for (event, taken) in self.run.iter().zip(&self.taken) {
            let outcomes = event.outcomes.iter().zip(causes.by_ref());
            let chosen = outcomes.filter(|(_, cause)| **cause == Cause::Choose);
            let step = ScheduledStep {
                process: self.table.path(event.process).clone(),
                outcomes: chosen.map(|(outcome, _)| outcome.value).collect(),
            };
            if !event.stayed && !taken.local {
                steps.push(step);
            }
        }
        Schedule(steps)
    }

    /// Whether a mishap of the current run, or of its initial or final state, happens for given
    /// initial values and inputs.
    pub fn fails_under(&self, mishap: &Mishap, value: impl Fn(&str) -> Option<i64>) -> bool {
        let broken = self.broken_by(mishap);
        let logic = self.logic.borrow();
        let all = broken.into_iter().chain(self.state.path.iter().copied());
        let all: Vec<Term> = all.collect();
        let variables = logic.terms.variables().iter();
        let given = variables.filter_map(|v| Some((v.term, value(&v.name)?)));
        let mut evaluator = mazurka_smt::Evaluator::new(given.collect());
        let mut holds = |&term: &Term| evaluator.eval(&logic.terms, term) == Some(1);
        all.iter().all(&mut holds)
    }

    /// Returns a sentence about a mishap, and its place.
    pub fn explain(&self, mishap: &Mishap) -> (String, Option<mazurka_core::record::Place>) {
        self.code.explain(mishap)
    }

    /// Returns the values of the shared cells for given initial values and inputs. Returns `None`
    /// if these do not take the path of the current run, or lead to numbers beyond 64 bits.
    pub fn under(&self, value: impl Fn(&str) -> Option<i64>) -> Option<Vec<i64>> {
        let cells = self.original_cells();
        let logic = self.logic.borrow();
        let variables = logic.terms.variables().iter();
        let given = variables.filter_map(|v| Some((v.term, value(&v.name)?)));
        let mut evaluator = mazurka_smt::Evaluator::new(given.collect());
        let mut of = |term| evaluator.eval(&logic.terms, term);
        for &condition in &self.state.path {
            if of(condition)? == 0 {
                return None;
            }
        }
        cells.iter().map(|&cell| of(cell)).collect()
    }

    /// Returns the observed values of this state, with the path condition.
    pub fn observed(&self) -> Observed {
        let cells = self.code.observed.iter();
        Observed {
            values: cells.map(|&cell| self.state.cells[cell as usize]).collect(),
            path: self.state.path.clone(),
        }
    }
}
