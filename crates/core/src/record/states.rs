//! The graph of the states of a program, for a picture.

use serde::{Deserialize, Serialize};

use super::{Binding, Leaf};

/// The states of a program and the steps between them, or those nearest to the initial state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateGraph {
    /// The states, each once, in the order of their distance from the initial state, which is the
    /// first.
    pub states: Vec<GraphState>,
    /// The steps.
    pub edges: Vec<GraphEdge>,
}

/// A state of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphState {
    /// Its distance from the initial state, in steps.
    pub depth: usize,
    /// The shared variables.
    pub state: Vec<Binding>,
    /// The special role of the state, if it has one. A state with a failed process is a
    /// [`Failure`](Leaf::Failure), even if other processes can continue.
    pub mark: Option<Leaf>,
    /// Whether steps lead from it to states that are left out.
    pub cut: bool,
    /// The mishap of the state itself: a violated property of initial or final states.
    pub mishap: Option<String>,
}

/// A step from one state to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphEdge {
    /// The state before the step, as an index.
    pub from: usize,
    /// The state after the step, as an index.
    pub to: usize,
    /// The process that makes it, with its outcomes.
    pub process: String,
    /// The label of the step.
    pub label: String,
    /// The mishap of the step, if it has one.
    pub mishap: Option<String>,
}
