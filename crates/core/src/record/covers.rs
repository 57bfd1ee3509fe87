//! The `cover` statements of a program, and whether they are reachable.

use serde::{Deserialize, Serialize};

use super::{Place, Run};
use crate::{Bound, Counts};

/// A `cover` of the file, and the result of the search for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverRecord {
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The condition.
    pub condition: String,
    /// Its place in the source.
    pub place: Place,
    /// The answer.
    pub answer: CoverAnswer,
    /// A run to a state in which the condition holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// The engine that searched for it.
    pub algorithm: String,
    /// The counts of its search.
    pub counts: Counts,
    /// The bounds that the search has hit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bound>,
}

/// Whether a state is reachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CoverAnswer {
    /// A run reaches such a state.
    Reached,
    /// No run reaches such a state.
    Unreached,
    /// No such run was found, but not all runs were explored.
    Open,
}
