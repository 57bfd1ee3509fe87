//! Processes that can change places: what a program says of them.
//!
//! Some *members* are interchangeable if every permutation of them, applied to a state, leads to a
//! state from which the same can happen, with the members renamed. Groups of members are
//! independent of each other. A member may be several processes at once, such as the client and the
//! server of one number, and values may name it, such as `owner := me`.
//!
//! A *labelling* gives each member a number, its label. If each group's labels are the numbers of
//! its members in another order, it is a permutation. Others tell less than the state does: members
//! of one label look the same.

use crate::{Fingerprint, ProcessId};

/// A program with interchangeable members, in one of its states.
///
/// Members are numbered from 0, the groups one after the other. For every permutation p of members
/// there is a state p·s, which the program can reach if it can reach the state s, and with the
/// labelling `l ∘ p⁻¹` the state p·s has the same [`image`](Symmetric::image) as s with the
/// labelling l.
pub trait Symmetric {
    /// The number of members of each group, two at the least.
    fn groups(&self) -> &[u32];

    /// The sum of those parts of the state that no permutation changes.
    fn unmoved(&self) -> Fingerprint;

    /// The sum of all other parts, with labels in the place of members. Together with the unmoved
    /// ones it stands for the state that a permutation leads to, as a
    /// [fingerprint](crate::Semantics::fingerprint) does.
    fn image(&self, labels: &[u32]) -> Fingerprint;

    /// What is [observed](crate::Execution::observation) of the state that a permutation leads to.
    fn observation_of(&self, labels: &[u32]) -> Fingerprint;

    /// The process that a permutation leads to from another one.
    fn process_of(&self, process: ProcessId, labels: &[u32]) -> ProcessId;
}
