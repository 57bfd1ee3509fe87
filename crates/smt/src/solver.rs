//! The interface of solvers ([`Solver`]), and their answers ([`Answer`]).

use crate::{Model, Term, Terms};

/// Decides whether some values for the variables make all constraints true at once.
///
/// The calling protocol: pass the whole list at every call. An incremental solver recognises
/// earlier constraints, so if a path condition grows by one constraint, only that constraint costs
/// time. All calls to one solver must use the same [`Terms`].
///
/// ```
/// use mazurka_smt::{Answer, Embedded, Kind, Solver, Sort, Terms};
/// let (mut terms, mut solver) = (Terms::new(), Embedded::default());
/// let x = terms.variable(Kind::Input, "x", Sort::Unsigned(8));
/// let five = terms.constant(Sort::Unsigned(8), 5);
/// let (below, above) = (terms.less(x, five), terms.less(five, x));
/// assert!(matches!(solver.check(&mut terms, &[below]), Answer::Sat(_)));
/// assert_eq!(solver.check(&mut terms, &[below, above]), Answer::Unsat);
/// ```
pub trait Solver {
    /// Decides the conjunction of `constraints`, each of sort `bool`.
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer;

    /// Decides whether the constraints and all conditions in `universal` can hold together. An
    /// element of `universal` is a variable, and a condition that must hold for *all* values of
    /// this variable. Only external solvers support quantifiers. They return `Unsat` or `Unknown`,
    /// because a model of a quantified condition cannot be checked.
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

    /// Returns its statistics.
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

/// The statistics of a solver. The statistics of a decorator include the statistics of the solvers
/// that it uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Queries that were answered, by any means.
    pub queries: u64,
    /// Queries answered by an earlier model.
    pub reused: u64,
    /// Queries answered from the cache.
    pub cached: u64,
    /// Searches of the embedded SAT solver.
    pub searches: u64,
    /// Queries to an external solver.
    pub external: u64,
}

impl std::ops::AddAssign for Statistics {
    fn add_assign(&mut self, more: Statistics) {
        self.queries += more.queries;
        self.reused += more.reused;
        self.cached += more.cached;
        self.searches += more.searches;
        self.external += more.external;
    }
}

impl Statistics {
    /// Returns the sum of both, except that only the queries of `self` count: each query of the
    /// inner solver is part of one of them.
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

/// The answer to a query. `Sat` and `Unsat` are certain; every uncertain answer is `Unknown`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// These values make every constraint true; the evaluator has checked them.
    Sat(Model),
    /// No values make all constraints true, whatever their size.
    Unsat,
    /// The query was not decided, and why.
    Unknown(Why),
}

/// Why a query was not decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is no solution in which every `int`, including intermediate results, is within
    /// `-2^(bits-1) .. 2^(bits-1)`; nothing is known about larger values.
    OnlyWithin {
        /// The width of the range, in bits.
        bits: u8,
    },
    /// A limit was reached.
    Limit(String),
    /// The deadline for all queries has passed.
    Time,
    /// The solver gave up or could not be used.
    Failed(String),
    /// A solver gave an impossible answer: a defect of the solver or of this crate, never a
    /// property of the program.
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
