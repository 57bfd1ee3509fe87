//! Determinism for all values: two final states that one valuation reaches, with different observed values.

use mazurka_smt::{Answer, Term};

use super::tell::{Concrete, Observed};
use super::{SymbolicMachine, logic::Logic};

/// More results than this are not compared with one another.
const MOST_RESULTS: usize = 64;

/// Whether results differ.
#[derive(Clone, Debug)]
pub enum Difference {
    /// For no values.
    Never,
    /// These two do, by their positions, for these values.
    Between(usize, usize, Box<Concrete>),
    /// Nobody knows.
    Unknown,
}

impl SymbolicMachine {
    /// Whether, for some values, two of these differ in what is observed.
    pub fn difference(&self, finals: &[Observed]) -> Difference {
        // One of each result, with all that have the same.
        let mut results: Vec<Vec<usize>> = Vec::new();
        for (at, new) in finals.iter().enumerate() {
            let same = |result: &&mut Vec<usize>| finals[result[0]].values == new.values;
            match results.iter_mut().find(same) {
                Some(result) => result.push(at),
                None => results.push(vec![at]),
            }
        }
        let mut unknown = results.len() > MOST_RESULTS;
        for (at, one) in results.iter().enumerate().take(MOST_RESULTS) {
            for other in &results[..at] {
                match self.meet(finals, one, other) {
                    Difference::Never => {}
                    Difference::Unknown => unknown = true,
                    found => return found,
                }
            }
        }
        match unknown {
            true => Difference::Unknown,
            false => Difference::Never,
        }
    }

    /// Whether one valuation takes a path to each of two results, and they differ.
    fn meet(&self, finals: &[Observed], one: &[usize], other: &[usize]) -> Difference {
        let mut logic = self.logic.borrow_mut();
        let condition = differ(&mut logic, &finals[one[0]].values, &finals[other[0]].values);
        let paths = |logic: &mut Logic, all: &[usize]| {
            let paths: Vec<Term> = all
                .iter()
                .map(|&at| logic.terms.all(finals[at].path.iter().copied()))
                .collect();
            logic.terms.any(paths)
        };
        let (first, second) = (paths(&mut logic, one), paths(&mut logic, other));
        let answer = logic.ask(&[first, second, condition]);
        let model = match answer {
            Answer::Unsat => return Difference::Never,
            Answer::Unknown(_) => return Difference::Unknown,
            Answer::Sat(_) if logic.is_ambiguous(&[first, second, condition]) => {
                return Difference::Unknown;
            }
            Answer::Sat(model) => model,
        };
        let taken = |all: &[usize]| {
            let holds = |at: &&usize| {
                let mut path = finals[**at].path.iter();
                path.all(|&c| logic.terms.eval(c, &model) == Some(1))
            };
            all.iter().find(holds).copied()
        };
        let pair = taken(one).zip(taken(other));
        drop(logic);
        match pair {
            Some((first, second)) => {
                Difference::Between(first, second, Box::new(self.with(&model)))
            }
            None => Difference::Unknown,
        }
    }
}

/// That some of the values differ.
fn differ(logic: &mut Logic, one: &[Term], other: &[Term]) -> Term {
    let mut any = Term::FALSE;
    for (&a, &b) in one.iter().zip(other) {
        let unequal = logic.compare(crate::code::Compare::Ne, false, a, b);
        let unequal = logic.condition(unequal);
        any = logic.terms.or(any, unequal);
    }
    any
}
