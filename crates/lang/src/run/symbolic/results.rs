//! Decides whether two runs with the same inputs and initial values can end with different results:
//! the solver looks for values that take both paths and for which an observed variable differs.

use mazurka_smt::{Answer, Model, Sort, Term, Why};
use rustc_hash::FxHashSet;

use crate::run::input_name;

use super::SymbolicMachine;
use super::logic::Logic;
use super::tell::{Concrete, Observed};

/// Values for all unknowns of some runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Valuation(pub(super) Model);

/// How two results compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The results are equal for all values for which both runs are possible.
    Agree,
    /// For these values both runs are possible and end differently.
    Differ(Valuation),
    /// The solver cannot decide whether the results agree, for this reason.
    Unknown(String),
}

impl Observed {
    /// Returns the values that are observed. Results with the same list of terms agree.
    pub fn values(&self) -> &[Term] {
        &self.values
    }
}

impl Logic {
    /// Returns the conditions under which both runs are possible and their results differ; `None`
    /// if their paths exclude each other.
    fn both_and_differ(&mut self, one: &Observed, other: &Observed) -> Option<Vec<Term>> {
        let held: FxHashSet<Term> = one.path.iter().copied().collect();
        for &condition in &other.path {
            let opposite = self.terms.not(condition);
            if held.contains(&opposite) {
                return None;
            }
        }
        let mut same = self.truth(true);
        for (&a, &b) in one.values.iter().zip(&other.values) {
            let equal = self.equal(a, b);
            same = self.and(same, equal);
        }
        let differ = self.not(same);
        let mut all = one.path.clone();
        let new = other.path.iter().filter(|term| !held.contains(term));
        all.extend(new);
        all.push(self.condition(differ));
        Some(all)
    }
}

impl SymbolicMachine {
    /// Decides whether two final states of this program, reached with the same values, can differ
    /// in the observed variables.
    pub fn agreement(&self, one: &Observed, other: &Observed) -> Agreement {
        let logic = &mut *self.logic.borrow_mut();
        let Some(conditions) = logic.both_and_differ(one, other) else {
            return Agreement::Agree;
        };
        match logic.ask(&conditions) {
            Answer::Unsat => Agreement::Agree,
            Answer::Sat(_) if logic.is_ambiguous(&conditions) => {
                Agreement::Unknown("an input has two types".to_owned())
            }
            Answer::Sat(model) => Agreement::Differ(Valuation(model)),
            Answer::Unknown(why) => {
                let text = why.to_string();
                // A time limit makes the result of the search incomplete. The caller handles other
                // unknown answers.
                if why == Why::Time {
                    logic.doubt(why);
                }
                Agreement::Unknown(text)
            }
        }
    }

    /// Returns the simplified condition under which both runs are possible and differ.
    pub fn condition_of_difference(&self, one: &Observed, other: &Observed) -> String {
        let logic = &mut *self.logic.borrow_mut();
        let conditions = logic.both_and_differ(one, other);
        let simple = conditions.and_then(|all| logic.terms.simplify_all(&all));
        match simple {
            None => "false".to_owned(),
            Some(list) => {
                let all = logic.terms.all(list);
                logic.terms.show(all)
            }
        }
    }

    /// Returns the current run with these values for its unknowns.
    pub fn concrete_with(&self, valuation: &Valuation) -> Concrete {
        self.with_model(&valuation.0)
    }
}

impl SymbolicMachine {
    /// Returns the inputs that the current run has read, by name and sort.
    pub fn inputs_asked(&self) -> Vec<(String, Sort)> {
        let logic = self.logic.borrow();
        let mut inputs_read = self.inputs_read.clone();
        inputs_read.sort_by_key(|&(process, number, _)| (self.table.path(process).clone(), number));
        let inputs_read = inputs_read.into_iter().map(|(process, number, term)| {
            let name = input_name(self.table.path(process), number);
            (name, logic.terms.sort(term))
        });
        inputs_read.collect()
    }
}
