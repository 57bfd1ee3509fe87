//! Whether a program refines another one.

use serde::{Deserialize, Serialize};

use crate::Bound;

/// The refinement that a file states, and the result of the search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefinementRecord {
    /// The file of the specification.
    pub file: String,
    /// The hash of its text.
    pub hash: String,
    /// The variables of the program, each with the variable of the specification that it
    /// represents.
    pub via: Vec<(String, String)>,
    /// The answer.
    pub answer: RefinementAnswer,
    /// Number of visited pairs. A pair is a state of the program and the set of states in which the
    /// specification can be at the same time.
    pub pairs: u64,
    /// Number of visited states of the specification.
    pub states: u64,
    /// Number of steps that the program and the specification have made.
    pub steps: u64,
    /// The bounds that were hit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bound>,
}

/// Whether a program refines its specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefinementAnswer {
    /// Every run is a run of the specification.
    Holds,
    /// Some run is not a run of the specification.
    Broken,
    /// No such run was found, but not all runs were explored.
    Open,
}
