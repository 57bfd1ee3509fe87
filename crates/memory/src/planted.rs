//! Mistakes that tests plant into the engine, to check that the comparison with the oracle detects
//! them.

/// A mistake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Planted {
    /// No mistake: the correct engine.
    #[default]
    Nothing,
    /// Revisits do not check whether the events that they remove are maximal.
    NoMaximality,
    /// A removed read counts as maximal even if the write that it reads from was added later.
    AnyRf,
    /// A removed choice counts as maximal whatever its outcome.
    AnyChoice,
    /// A removed decision counts as maximal if it has its first outcome, feasible or not.
    FirstOutcome,
    /// Writes are put only at the end of mo.
    OnlyLastPlace,
    /// Updates do not continue release sequences.
    NoReleaseSequences,
    /// Fences do not release.
    NoReleaseFences,
    /// The order of sc events is not checked.
    NoPsc,
    /// Stores do not revisit awaits that they do not satisfy.
    NoFailingRevisits,
    /// Locks that are parked at a deadlock are not tried.
    NoParkedLocks,
}
