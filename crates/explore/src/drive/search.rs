//! The request for a search: the algorithm, the limits and the goal.
//!
//! An algorithm is an [`Engine`] for the programs that it can explore, so an algorithm that needs
//! states cannot be applied to a program without states. A [`Session`] holds everything that a
//! search works with.

use mazurka_core::{Execution, Limits, ProcessId};

use super::driver::{Goal, Observer, Policy, Watch, drive};
use super::findings::{ExpectedFindings, Findings};

/// A request for a search.
///
/// ```
/// use mazurka_core::{Execution, Limits};
/// use mazurka_explore::{Findings, Goal, Search, Stateless, Watch};
///
/// fn traces<E: Execution>(program: &mut E, watch: &mut Watch<'_>) -> Option<u64> {
///     let search = Search {
///         algorithm: Stateless::Optimal,
///         limits: Limits::default(),
///         goal: Goal::Everything,
///     };
///     search.run(program, watch, &mut ()).counts.traces
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Search<A> {
    /// The algorithm.
    pub algorithm: A,
    /// The limits.
    pub limits: Limits,
    /// When to stop before everything is explored.
    pub goal: Goal,
}

impl<A> Search<A> {
    /// Explores a program.
    pub fn run<E>(
        &self,
        program: &mut E,
        watch: &mut Watch<'_>,
        observer: &mut dyn Observer<E>,
    ) -> A::Found
    where
        E: Execution,
        A: Engine<E>,
    {
        self.algorithm.search(Session {
            program,
            start: &mut Start::default(),
            limits: self.limits.clone(),
            goal: self.goal,
            watch,
            observer,
        })
    }
}

/// An algorithm for programs of type `E`.
pub trait Engine<E: Execution> {
    /// The type of its findings.
    type Found;

    /// Explores the program of a session.
    fn search(&self, session: Session<'_, '_, E>) -> Self::Found;
}

/// The data that a search works with.
pub struct Session<'a, 'w, E> {
    /// The program to explore.
    pub program: &'a mut E,
    /// The limits.
    pub limits: Limits,
    /// When to stop before everything is explored.
    pub goal: Goal,
    /// Called at intervals; may end the search.
    pub watch: &'a mut Watch<'w>,
    /// Called after every step.
    pub observer: &'a mut dyn Observer<E>,
    pub(crate) start: &'a mut Start,
}

impl<E: Execution> Session<'_, '_, E> {
    /// Explores the program with a policy.
    pub fn explore<P: Policy<E>>(&mut self, policy: &mut P) -> Findings {
        drive(self, policy)
    }
}

/// The start of a search.
#[derive(Debug, Default)]
pub(crate) struct Start {
    /// The processes that sleep at the start.
    pub asleep: Vec<ProcessId>,
    /// Number of widths of the sets of events to skip, because they are known to be too narrow
    /// (`in_widths!` in `engine.rs`). The search increases this number when another width turns out
    /// to be too narrow.
    pub width: usize,
    /// Whether an earlier search has recorded the mishaps before the start.
    pub goes_on: bool,
    /// Findings that are known to exist: the search ends when all of them are found. `None` to
    /// search everything.
    pub wanted: Option<ExpectedFindings>,
}
