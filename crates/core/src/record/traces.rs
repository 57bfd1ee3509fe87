//! Answers to questions about the trace of a run.

use serde::{Deserialize, Serialize};

/// Whether another run is equivalent to one. Steps count from 1, and are those of this run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedRuns {
    /// The schedule of the other run.
    pub schedule: String,
    /// Whether they have the same steps, and dependent ones in the same order.
    pub equivalent: bool,
    /// The first two dependent steps that are in another order there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<OtherOrder>,
    /// Otherwise the first step that the other has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<usize>,
    /// Otherwise whether the other goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub longer: bool,
}

/// Two dependent steps that are in another order in another run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherOrder {
    /// The step that comes first here.
    pub first: usize,
    /// The step that comes second here.
    pub second: usize,
    /// What the two do.
    pub labels: Vec<String>,
}

/// An event ι⟨e, W, R⟩ of a symbolic path (SymPaths paper, Definition 2), or ι⟨W, R⟩ of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathEvent {
    /// The process ι.
    pub process: String,
    /// The condition e over initial values, of a symbolic path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The variables W that it writes.
    pub writes: Vec<String>,
    /// The variables R that it reads.
    pub reads: Vec<String>,
}
