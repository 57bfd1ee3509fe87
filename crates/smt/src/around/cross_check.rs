//! Two solvers that must not contradict each other.

use crate::{Answer, Solver, Statistics, Term, Terms, Why};

/// Passes every query to two solvers. If one of them finds a solution and the other one proves that
/// there is no solution, the answer is `Unknown` with a defect.
pub struct CrossCheck<A, B> {
    first: A,
    second: B,
}

impl<A: Solver, B: Solver> CrossCheck<A, B> {
    /// Combines two solvers. If both find a solution, the model of the first is used.
    pub fn new(first: A, second: B) -> Self {
        CrossCheck { first, second }
    }
}

impl<A: Solver, B: Solver> Solver for CrossCheck<A, B> {
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer {
        let first = self.first.check(terms, constraints);
        let second = self.second.check(terms, constraints);
        match (&first, &second) {
            (Answer::Sat(_), Answer::Unsat) | (Answer::Unsat, Answer::Sat(_)) => {
                let all = terms.all(constraints.iter().copied());
                let all = terms.show(all);
                Answer::Unknown(Why::Defect(format!("two solvers disagree about `{all}`")))
            }
            (_, Answer::Unknown(Why::Defect(_))) => second,
            (Answer::Unknown(Why::Defect(_)), _) => first,
            (Answer::Unknown(_), _) => second,
            _ => first,
        }
    }

    fn refute(
        &mut self,
        terms: &mut Terms,
        constraints: &[Term],
        universal: &[(Term, Term)],
    ) -> Answer {
        self.second.refute(terms, constraints, universal)
    }

    fn statistics(&self) -> Statistics {
        self.first.statistics().and_inner(self.second.statistics())
    }
}
