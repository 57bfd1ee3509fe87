//! Whether a program refines another one.

use serde::{Deserialize, Serialize};

use crate::Bound;

/// What a file states to refine, and what a search has shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefinementRecord {
    /// The file of the specification.
    pub file: String,
    /// The hash of its text.
    pub hash: String,
    /// The variables of the program, each with the one of the specification that it stands for.
    pub via: Vec<(String, String)>,
    /// The answer.
    pub answer: RefinementAnswer,
    /// States of the program, each with the states of the specification that its run may be in.
    pub pairs: u64,
    /// States of the specification.
    pub states: u64,
    /// Steps of both.
    pub steps: u64,
    /// The bounds that were hit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bound>,
}

/// Whether a program refines its specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefinementAnswer {
    /// Every run is one of the specification.
    Holds,
    /// Some run is not.
    Broken,
    /// No such run was found, and not all were looked at.
    Open,
}
