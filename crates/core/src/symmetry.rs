//! Symmetry: interchangeable processes of a program.
//!
//! Some *members* are interchangeable if every permutation of them is an automorphism of the state
//! graph: the futures of a permuted state are the futures of the state, with the members renamed. A
//! program may have several groups of members, and each group can be permuted on its own. A member
//! may be several processes at once, such as the client and the server of one number, and values
//! may name it, such as `owner := me`.
//!
//! A *labelling* gives each member a number, its label; as an argument, `labels[i]` is the label of
//! member i. If the labels of each group are the numbers of its members in another order, the
//! labelling is a permutation. Other labellings lose information: members with the same label are
//! not distinguished.

use crate::{Fingerprint, ProcessId};

/// A program with interchangeable members, in one of its states.
///
/// Members are numbered from 0, group by group. For every permutation p of members and every state
/// s there is a state p·s. The program can reach p·s if it can reach s. With the labelling `l ∘
/// p⁻¹`, p·s has the same [`image`](Symmetric::image) as s with the labelling l.
pub trait Symmetric {
    /// Returns the number of members of each group, at least two.
    fn groups(&self) -> &[u32];

    /// Returns the sum of the parts of the state that no permutation changes.
    fn unmoved(&self) -> Fingerprint;

    /// Returns the sum of all other parts, with labels in place of members. Together with the
    /// unmoved parts it identifies the permuted state, as a
    /// [fingerprint](crate::Semantics::fingerprint) does.
    fn image(&self, labels: &[u32]) -> Fingerprint;

    /// Returns the [observation](crate::Execution::observation) of the permuted state.
    fn observation_of(&self, labels: &[u32]) -> Fingerprint;

    /// Returns the image of a process under a permutation.
    fn process_of(&self, process: ProcessId, labels: &[u32]) -> ProcessId;
}
