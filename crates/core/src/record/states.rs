//! The graph of the states of a program, for a picture.

use serde::{Deserialize, Serialize};

use super::{Binding, Leaf};

/// The states of a program and the steps between them, or those nearest to the initial state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateGraph {
    /// The states, each once; the first is the initial one, and no state is nearer to it than one
    /// before it.
    pub states: Vec<GraphState>,
    /// The steps.
    pub edges: Vec<GraphEdge>,
}

/// A state of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphState {
    /// How many steps it is away from the initial state.
    pub depth: usize,
    /// The shared variables.
    pub state: Vec<Binding>,
    /// What is special about it, if anything. A state with a failed process is a
    /// [`Failure`](Leaf::Failure) even if others can go on.
    pub mark: Option<Leaf>,
    /// Whether steps lead from it to states that are left out.
    pub cut: bool,
    /// What is wrong with the state itself: a property of initial or final states.
    pub mishap: Option<String>,
}

/// A step from one state to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphEdge {
    /// The state before.
    pub from: usize,
    /// The state after.
    pub to: usize,
    /// Which process makes it, and what it chooses.
    pub process: String,
    /// The label of the step.
    pub label: String,
    /// What goes wrong in it.
    pub mishap: Option<String>,
}
