//! What must be reachable, and whether it is.

use serde::{Deserialize, Serialize};

use super::{Place, Run};
use crate::{Bound, Counts};

/// A `cover` of the file, and what a search for it has shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverRecord {
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The condition.
    pub condition: String,
    /// Where it stands.
    pub place: Place,
    /// The answer.
    pub answer: CoverAnswer,
    /// A run to a state in which the condition holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// The engine that looked for it.
    pub algorithm: String,
    /// What it has explored.
    pub counts: Counts,
    /// The bounds that it has hit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bound>,
}

/// Whether a state is reachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CoverAnswer {
    /// A run gets there.
    Reached,
    /// No run does.
    Unreached,
    /// No run was found that does, and not all were looked at.
    Open,
}
