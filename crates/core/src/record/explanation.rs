//! Which orders of steps bring a violation about, as a record says it.

use serde::{Deserialize, Serialize};

/// A smallest set of orders of steps such that every complete run that has these steps in these
/// orders shows a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The orders; none if every run shows it.
    pub orders: Vec<OrderedSteps>,
    /// The traces of the program, discarded ones aside.
    pub traces: u64,
    /// Those that show it.
    pub shown: u64,
}

/// Two steps of a run, the first of which comes before the second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderedSteps {
    /// The step that comes first.
    pub first: NamedStep,
    /// The other.
    pub second: NamedStep,
}

/// A step that other runs have as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedStep {
    /// The process.
    pub process: String,
    /// The number of the step among those of its process, from 1.
    pub index: usize,
    /// Its number in the run of the witness, from 1.
    pub step: usize,
}
