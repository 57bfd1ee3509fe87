//! Recent models. They are tried first, because a solution of a path condition often still holds
//! after a constraint was added.

use crate::embedded::MOST_INCREMENTAL;
use crate::{Answer, Evaluator, Solver, Statistics, Term, Terms};

/// Tries the last few models before it calls the inner solver.
pub struct Reuse<S> {
    inner: S,
    /// The models, the most recently used one first.
    recent: Vec<Evaluator>,
    queries: u64,
    hits: u64,
}

/// Limit on the number of models that are kept.
const MOST_MODELS: usize = 8;

/// Limit on the number of values of terms that an evaluator stores. When a model is added,
/// evaluators with more values drop them.
const MOST_VALUES: usize = 1 << 16;

impl<S: Solver> Reuse<S> {
    /// Wraps a solver, with no models.
    pub fn new(inner: S) -> Self {
        Reuse {
            inner,
            recent: Vec::new(),
            queries: 0,
            hits: 0,
        }
    }
}

impl<S: Solver> Solver for Reuse<S> {
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer {
        self.queries += 1;
        if constraints.len() > MOST_INCREMENTAL {
            return self.inner.check(terms, constraints);
        }
        let fits = |evaluator: &mut Evaluator| {
            // The newest constraint is the most likely to fail.
            let mut all = constraints.iter().rev();
            all.all(|&constraint| evaluator.eval(terms, constraint) == Some(1))
        };
        if let Some(at) = self.recent.iter_mut().position(fits) {
            self.hits += 1;
            self.recent[..=at].rotate_right(1);
            let mut model = self.recent[0].model().clone();
            // A variable without a value in the model was evaluated as 0.
            for variable in terms.variables_of(constraints) {
                if model.get(variable).is_none() {
                    model.set(variable, 0);
                }
            }
            return Answer::Sat(model);
        }
        let answer = self.inner.check(terms, constraints);
        if let Answer::Sat(model) = &answer {
            self.recent.truncate(MOST_MODELS - 1);
            self.recent.insert(0, Evaluator::new(model.clone()));
            for evaluator in &mut self.recent {
                evaluator.forget_beyond(MOST_VALUES);
            }
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
        statistics.reused += self.hits;
        statistics.queries = self.queries;
        statistics
    }
}
