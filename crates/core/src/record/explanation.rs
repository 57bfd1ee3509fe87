//! The orders of steps that explain a violation, in a record.

use serde::{Deserialize, Serialize};

/// A smallest set of orders of steps such that every complete run that has these steps in these
/// orders shows a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The orders; empty if every run shows the violation.
    pub orders: Vec<OrderedSteps>,
    /// Number of traces of the program, without discarded ones.
    pub traces: u64,
    /// Number of traces that show the violation.
    pub shown: u64,
}

/// Two steps of a run, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderedSteps {
    /// The step that comes first.
    pub first: NamedStep,
    /// The step that comes second.
    pub second: NamedStep,
}

/// A step, named so that it can be found in other runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedStep {
    /// The process.
    pub process: String,
    /// The number of the step among those of its process, from 1.
    pub index: usize,
    /// Its number in the run of the witness, from 1.
    pub step: usize,
}
