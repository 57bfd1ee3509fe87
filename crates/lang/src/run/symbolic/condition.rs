//! Returns conditions on the unknown values as terms: that the current run is possible, that it
//! fails, that it breaks a property. The command `condition` builds its formulas from these terms.

use mazurka_core::{Mishap, MishapKind};
use mazurka_smt::{Model, Solver, Term, Terms};

use crate::tell::Property;

use super::SymbolicMachine;
use super::results::Valuation;
use super::tell::Observed;

impl From<Model> for Valuation {
    fn from(model: Model) -> Self {
        Self(model)
    }
}

impl SymbolicMachine {
    /// Returns the condition under which the current run is possible: one term for all orders of
    /// its steps.
    pub fn path_term(&self) -> Term {
        let path = self.path_as_set();
        self.logic.borrow_mut().terms.all(path)
    }

    /// Returns the condition under which the current run is possible and has this mishap, which
    /// belongs to one of its steps, its initial state or its final state.
    pub fn breach(&self, mishap: &Mishap) -> Term {
        let broken = self.broken_by(mishap).unwrap_or(Term::TRUE);
        let path = self.path_term();
        self.logic.borrow_mut().terms.and(path, broken)
    }

    /// Returns the condition under which the current run is possible and its state breaks a
    /// property. The property must not mention points, such as `at(p, 3)`.
    pub fn breaks(&self, property: &Property) -> Term {
        let holds = self.condition_of(property, &|cell| self.term_of(cell), &[]);
        let path = self.path_term();
        let terms = &mut self.logic.borrow_mut().terms;
        let broken = terms.not(holds);
        terms.and(path, broken)
    }

    /// Returns the condition under which two results differ.
    pub fn differ(&self, one: &Observed, other: &Observed) -> Term {
        let logic = &mut *self.logic.borrow_mut();
        let mut same = logic.truth(true);
        for (&a, &b) in one.values.iter().zip(&other.values) {
            let equal = logic.equal(a, b);
            same = logic.and(same, equal);
        }
        let differ = logic.not(same);
        logic.condition(differ)
    }

    /// Whether all processes have done the local work before their first step.
    pub fn has_started(&self) -> bool {
        self.between_marks == 0
    }

    /// Whether a false `assume` before a first step discards the current run.
    pub fn is_discarded_at_start(&self) -> bool {
        let discards = |mishap: &Mishap| mishap.kind == MishapKind::Discarded;
        let starts = self.taken.iter().zip(&self.run);
        let mut starts = starts.filter(|(taken, _)| taken.local && taken.registers.steps == 0);
        self.initial.iter().any(discards)
            || starts.any(|(_, event)| event.mishaps.iter().any(discards))
    }

    /// Whether the conditions mention an input with two types. Two paths can read the same input
    /// with different types.
    pub fn is_ambiguous(&self, conditions: &[Term]) -> bool {
        self.logic.borrow().is_ambiguous(conditions)
    }

    /// Calls `work` with the terms of this machine and its solver; `None` if there is no solver.
    pub fn with_terms<T>(&self, work: impl FnOnce(&mut Terms, &mut dyn Solver) -> T) -> Option<T> {
        let logic = &mut *self.logic.borrow_mut();
        let (terms, solver) = logic.parts()?;
        Some(work(terms, solver))
    }
}
