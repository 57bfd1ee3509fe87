//! Answers to questions about the trace of a run.

use serde::{Deserialize, Serialize};

/// Whether another run is equivalent to a run. Steps are given by their numbers in the first run,
/// *this run*, from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedRuns {
    /// The schedule of the other run.
    pub schedule: String,
    /// Whether both runs have the same steps, and all dependent steps in the same order.
    pub equivalent: bool,
    /// The first two dependent steps that are in another order in the other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<OtherOrder>,
    /// If `order` is `None`: the first step that the other run does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<usize>,
    /// If `missing` is `None` too: whether the other run has further steps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub longer: bool,
}

/// Two dependent steps that are in another order in another run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherOrder {
    /// The step that comes first in this run.
    pub first: usize,
    /// The step that comes second in this run.
    pub second: usize,
    /// The labels of the two steps.
    pub labels: Vec<String>,
}

/// An event ι⟨e, W, R⟩ of a symbolic path (SymPaths paper, Definition 2), or ι⟨W, R⟩ of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathEvent {
    /// The process ι.
    pub process: String,
    /// The condition e over initial values, for a symbolic path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The variables W that it writes.
    pub writes: Vec<String>,
    /// The variables R that it reads.
    pub reads: Vec<String>,
}
