//! The symbolic states of `symbolic`.

use serde::{Deserialize, Serialize};

use super::{Binding, Ending, PathEvent};

/// What `symbolic` adds to a record: the symbolic states at the end, and how many there were on the
/// way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolicStates {
    /// Which states were merged: `none`, `paper` or `canonical`.
    pub por: String,
    /// Whether states were dropped whose path had been expanded.
    pub prefix_pruning: bool,
    /// Whether states were dropped whose path condition nothing satisfies.
    pub feasible: bool,
    /// How many there are at the end.
    pub count: u64,
    /// The most that there were at one time.
    pub peak: u64,
    /// How many there were after so many steps.
    pub curve: Vec<(u64, u64)>,
    /// What can go wrong, on the way or at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mishaps: Vec<SymbolicMishap>,
    /// The states at the end, as many as were asked for.
    pub listed: Vec<SymbolicStateRecord>,
    /// States that a limit has left unexpanded, as many as were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<SymbolicStateRecord>,
}

/// A symbolic state in which no process can go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolicStateRecord {
    /// How it ended.
    pub ending: Ending,
    /// What must hold of the initial values (and inputs) for a run to end here; all of it.
    pub path_condition: Vec<String>,
    /// The shared variables, over initial values and inputs.
    pub substitution: Vec<Binding>,
    /// A run that ends here: processes, one per step, each with the sides of conditions that it
    /// took (1: it held).
    pub schedule: String,
    /// What is wrong with it as a final state, for some of the values that end here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mishaps: Vec<String>,
    /// The symbolic path: its events, if asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathEvent>,
    /// Initial values (and inputs) from which a run ends here; it was run with them. Empty if there
    /// are none to choose, or the solver finds none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub example: Vec<Binding>,
}

/// Something that can go wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolicMishap {
    /// In a sentence.
    pub what: String,
    /// A run in which it does: as of a state.
    pub schedule: String,
    /// Initial values (and inputs) with which it does: as of a state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub example: Vec<Binding>,
}
