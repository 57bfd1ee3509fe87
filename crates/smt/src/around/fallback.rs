//! A second solver for queries that the first could not decide.

use crate::{Answer, Solver, Statistics, Term, Terms, Why};

/// Passes queries that the first solver could not decide to the second. The second solver is not
/// called if the deadline has passed, or if the first solver shows a defect, which an answer of the
/// second solver would hide.
pub struct Fallback<A, B> {
    first: A,
    second: B,
}

impl<A: Solver, B: Solver> Fallback<A, B> {
    /// Combines two solvers; `first` is called first.
    pub fn new(first: A, second: B) -> Self {
        Fallback { first, second }
    }
}

impl<A: Solver, B: Solver> Solver for Fallback<A, B> {
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer {
        let first = self.first.check(terms, constraints);
        let Answer::Unknown(why) = &first else {
            return first;
        };
        if let Why::Defect(_) | Why::Time = why {
            return first;
        }
        match self.second.check(terms, constraints) {
            // The answer of the first solver is kept, because it may say more: for example, that
            // there is no solution within a range.
            Answer::Unknown(Why::Failed(_) | Why::Limit(_)) => first,
            second => second,
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
