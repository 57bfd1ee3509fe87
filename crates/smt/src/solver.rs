//! What is asked of a solver, and what it may answer.

use crate::{Model, Term, Terms};

/// Decides whether some values for the variables make all constraints true at once.
///
/// The calling protocol: pass the whole list every time; a solver that works incrementally finds
/// out by itself what it has seen before, so that a path condition that grows by a constraint
/// costs that constraint. All calls to one solver are about the same [`Terms`].
pub trait Solver {
    /// The answer about the conjunction of `constraints`, each of sort `bool`.
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer;

    /// Whether the constraints can hold together with every one of `universal`, a condition that is
    /// to hold for *all* values of its variable. Only another program knows quantifiers, and only
    /// "cannot" is taken from it: a model of such a condition is nothing that we could check.
    fn refute(
        &mut self,
        _terms: &mut Terms,
        _constraints: &[Term],
        _universal: &[(Term, Term)],
    ) -> Answer {
        Answer::Unknown(Why::Failed(
            "a `forall` over numbers needs z3 or cvc5".to_owned(),
        ))
    }

    /// What it has done so far.
    fn statistics(&self) -> Statistics;
}

impl<S: Solver + ?Sized> Solver for Box<S> {
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer {
        (**self).check(terms, constraints)
    }

    fn refute(
        &mut self,
        terms: &mut Terms,
        constraints: &[Term],
        universal: &[(Term, Term)],
    ) -> Answer {
        (**self).refute(terms, constraints, universal)
    }

    fn statistics(&self) -> Statistics {
        (**self).statistics()
    }
}

impl<S: Solver + ?Sized> Solver for &mut S {
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer {
        (**self).check(terms, constraints)
    }

    fn refute(
        &mut self,
        terms: &mut Terms,
        constraints: &[Term],
        universal: &[(Term, Term)],
    ) -> Answer {
        (**self).refute(terms, constraints, universal)
    }

    fn statistics(&self) -> Statistics {
        (**self).statistics()
    }
}

/// What a solver has done. One that asks others counts what they do as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Queries that were answered, by whatever means.
    pub queries: u64,
    /// Answered by an earlier model.
    pub reused: u64,
    /// Answered from the cache.
    pub cached: u64,
    /// Searches of the embedded SAT solver.
    pub searches: u64,
    /// Questions to another program.
    pub external: u64,
}

impl Statistics {
    /// The sum of what was done, without the queries of the second, which are part of the first's.
    pub(crate) fn and_inner(self, inner: Statistics) -> Statistics {
        Statistics {
            queries: self.queries,
            reused: self.reused + inner.reused,
            cached: self.cached + inner.cached,
            searches: self.searches + inner.searches,
            external: self.external + inner.external,
        }
    }
}

/// The answer to a query. `Sat` and `Unsat` are certain; everything less is `Unknown`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// These values make every constraint true: our own evaluator has checked it.
    Sat(Model),
    /// No values do, of any size.
    Unsat,
    /// It was not decided, and why.
    Unknown(Why),
}

/// Why a query was not decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is no solution in which every `int`, intermediate results included, lies within
    /// `-2^(bits-1) .. 2^(bits-1)`; nothing is known of larger ones.
    OnlyWithin {
        /// The width of the range, in bits.
        bits: u8,
    },
    /// A limit was reached first; it is named.
    Limit(String),
    /// The time for all queries was over.
    Time,
    /// The solver gave up or could not be asked.
    Failed(String),
    /// A solver said what cannot be: a defect of it or of ours, never a property of the program.
    Defect(String),
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Why::OnlyWithin { bits } => {
                let least = -(1i128 << (bits - 1));
                write!(f, "`int` was decided within {least}..{} only", -least)
            }
            Why::Limit(limit) => write!(f, "the solver reached {limit}"),
            Why::Time => write!(f, "the time was over before the solver had an answer"),
            Why::Defect(what) => write!(f, "the solver is wrong: {what}"),
            Why::Failed(why) => write!(f, "the solver gave no answer: {why}"),
        }
    }
}
