//! Decides for two programs over the same unknown values whether one can reach a result that the
//! other, with the same values, never reaches.
//!
//! Both machines share their terms. A value has the same term in both if it has the same name. The
//! name of an input consists of the process and the index of the input in the process; the name of
//! an initial value is the name of the variable. Let a run of the first program have the path
//! condition φ and the final state σ, and let φᵢ and σᵢ be the path conditions and final states of
//! the runs of the other program that end in the same way. For exactly the values that satisfy φ ∧
//! ⋀ ¬(φᵢ ∧ σ = σᵢ), this run of the first program reaches a result that the other never reaches.

use std::rc::Rc;
use std::sync::Arc;

use mazurka_core::Patience;
use mazurka_smt::{Answer, Term, Why};

use crate::code::Code;

use super::SymbolicMachine;
use super::logic::Logic;
use super::results::{Agreement, Valuation};
use super::state::initial_cells;
use super::tell::Observed;

impl SymbolicMachine {
    /// Makes a machine for another program. Its values can be compared with the values of this
    /// machine.
    pub fn comparable(&self, code: Arc<Code>, max_local: u64, patience: Patience) -> Self {
        let logic = Rc::clone(&self.logic);
        let cells = initial_cells(&code, &mut logic.borrow_mut());
        Self::with_cells(code, max_local, (logic, cells), patience, None)
    }

    /// Returns the values of these variables in the current state, and the conditions of the path
    /// that leads to the state. Ignores names that the program does not have.
    pub fn values_of(&self, names: &[String]) -> Observed {
        let cells = names.iter().filter_map(|name| {
            let vars = &self.code.program.vars;
            let at = vars.iter().position(|var| var.name == *name)?;
            let first = self.code.first_cells[at] as usize;
            Some(&self.state.cells[first..first + vars[at].len.unwrap_or(1) as usize])
        });
        Observed {
            values: cells.flatten().copied().collect(),
            path: self.path_as_set().into_vec(),
        }
    }

    /// Decides whether there are values for which `run` is possible and none of `others` ends with
    /// the same result. If so, returns [`Agreement::Differ`] with such values.
    pub fn ends_alone<'a>(
        &self,
        run: &Observed,
        others: impl Iterator<Item = &'a Observed>,
    ) -> Agreement {
        let logic = &mut *self.logic.borrow_mut();
        let mut conditions = run.path.clone();
        for other in others {
            let same = logic.is_possible_with(run, other);
            let alone = logic.not(same);
            conditions.push(logic.condition(alone));
        }
        match logic.ask(&conditions) {
            Answer::Unsat => Agreement::Agree,
            Answer::Sat(_) if logic.is_ambiguous(&conditions) => Agreement::Unknown(
                "a value has one type in one program and another in the other".to_owned(),
            ),
            Answer::Sat(model) => Agreement::Differ(Valuation(model)),
            Answer::Unknown(why) => {
                let text = why.to_string();
                if why == Why::Time {
                    logic.doubt(why);
                }
                Agreement::Unknown(text)
            }
        }
    }
}

impl Logic {
    /// Returns the condition that the run `other` is possible and ends with the values of `run`.
    fn is_possible_with(&mut self, run: &Observed, other: &Observed) -> Term {
        let mut both = self.truth(true);
        for &condition in &other.path {
            both = self.and(both, condition);
        }
        for (&a, &b) in run.values.iter().zip(&other.values) {
            let equal = self.equal(a, b);
            both = self.and(both, equal);
        }
        both
    }
}
