//! Mistakes that tests plant into the engine, to see that they would be found.

/// A mistake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Planted {
    /// None: the right engine.
    #[default]
    Nothing,
    /// Revisits do not ask whether what they remove is maximal.
    NoMaximality,
    /// A read that is removed counts as maximal although what it reads from came later.
    AnyRf,
    /// A choice that is removed counts as maximal whatever its outcome.
    AnyChoice,
    /// A decision that is removed counts as maximal if it has its first outcome, feasible or not.
    FirstOutcome,
    /// Writes are put at the end of mo only.
    OnlyLastPlace,
    /// Updates do not carry on release sequences.
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
