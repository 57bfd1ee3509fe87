//! A second solver for what the first could not decide.

use crate::{Answer, Solver, Statistics, Term, Terms, Why};

/// Asks the second solver what the first could not decide. A defect of the first is not covered up.
pub struct Fallback<A, B> {
    first: A,
    second: B,
}

impl<A: Solver, B: Solver> Fallback<A, B> {
    /// The first is asked first.
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
            // What the first has found out may still be of use: say, a range.
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
