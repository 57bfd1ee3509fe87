//! The symbolic states that the command `symbolic` finds.

use serde::{Deserialize, Serialize};

use super::{Binding, Ending, PathEvent};

/// The data that `symbolic` adds to a record: the symbolic states at the end, and their number
/// during the search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolicStates {
    /// Which states were merged: `none`, `paper` or `canonical`.
    pub por: String,
    /// Whether states were dropped because a state with the same path had been expanded before.
    pub prefix_pruning: bool,
    /// Whether states were dropped whose path condition is unsatisfiable.
    pub feasible: bool,
    /// Number of states at the end.
    pub count: u64,
    /// The greatest number of states at any time.
    pub peak: u64,
    /// Points of a curve: a number of steps, and the number of states after these steps.
    pub curve: Vec<(u64, u64)>,
    /// The mishaps that can happen, during a run or at its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mishaps: Vec<SymbolicMishap>,
    /// The states at the end, up to the requested number.
    pub listed: Vec<SymbolicStateRecord>,
    /// States that a limit has left unexpanded, up to the requested number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<SymbolicStateRecord>,
}

/// A symbolic state in which no process can continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolicStateRecord {
    /// How it ended.
    pub ending: Ending,
    /// The conditions on the initial values (and inputs) under which a run ends in this state; all
    /// of them must hold.
    pub path_condition: Vec<String>,
    /// The shared variables, over initial values and inputs.
    pub substitution: Vec<Binding>,
    /// A run that ends in this state, as a schedule: the process of each step, with the sides of
    /// the conditions that it took as outcomes (1: the condition held).
    pub schedule: String,
    /// The mishaps of the final state. Each happens for some of the initial values (and inputs)
    /// with which a run ends here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mishaps: Vec<String>,
    /// The symbolic path: its events, if requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathEvent>,
    /// Initial values (and inputs) from which a run ends here, confirmed by a run. Empty if there
    /// are no values to choose, or if the solver finds none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub example: Vec<Binding>,
}

/// A mishap that can happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolicMishap {
    /// Its description in a sentence.
    pub what: String,
    /// A run in which it happens, in the notation of [`SymbolicStateRecord::schedule`].
    pub schedule: String,
    /// Initial values (and inputs) with which it happens; empty as in
    /// [`SymbolicStateRecord::example`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub example: Vec<Binding>,
}
