//! A cache of answers.

use rustc_hash::FxHashMap;

use crate::embedded::MOST_INCREMENTAL;
use crate::{Answer, Solver, Statistics, Term, Terms, Why};

/// Stores the answers of a solver, by the set of constraints. The answer that the solver reached
/// one of its limits is stored too. If a query failed, showed a defect or was stopped by the
/// deadline, nothing is stored, so the next call repeats the query.
pub struct Cache<S> {
    inner: S,
    answers: FxHashMap<Box<[Term]>, Answer>,
    hits: u64,
}

/// When there are this many answers, all of them are dropped.
const MOST_ANSWERS: usize = 1 << 16;

/// Whether the solver would give the same answer again, so that it can be stored.
fn is_repeatable(answer: &Answer) -> bool {
    match answer {
        Answer::Sat(_) | Answer::Unsat => true,
        Answer::Unknown(why) => matches!(why, Why::Limit(_) | Why::OnlyWithin { .. }),
    }
}

impl<S: Solver> Cache<S> {
    /// Wraps a solver, with an empty cache.
    pub fn new(inner: S) -> Self {
        Cache {
            inner,
            answers: FxHashMap::default(),
            hits: 0,
        }
    }
}

impl<S: Solver> Solver for Cache<S> {
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer {
        if constraints.len() > MOST_INCREMENTAL {
            return self.inner.check(terms, constraints);
        }
        let Some(mut key) = terms.conjuncts(constraints) else {
            return Answer::Unsat;
        };
        key.sort_unstable();
        if let Some(answer) = self.answers.get(&key[..]) {
            self.hits += 1;
            return answer.clone();
        }
        let answer = self.inner.check(terms, constraints);
        if is_repeatable(&answer) {
            if self.answers.len() >= MOST_ANSWERS {
                self.answers.clear();
            }
            self.answers.insert(key.into(), answer.clone());
        }
        answer
    }

    fn refute(
        &mut self,
        terms: &mut Terms,
        constraints: &[Term],
        universal: &[(Term, Term)],
    ) -> Answer {
        self.inner.refute(terms, constraints, universal)
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = self.inner.statistics();
        statistics.cached += self.hits;
        statistics
    }
}
