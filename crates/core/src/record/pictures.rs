//! The data that pictures of a search need and a record leaves out: its tree, its net.

use serde::{Deserialize, Serialize};

use super::Binding;

/// The tree that an exploration of a small program has walked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// The states; the first is the initial one, and every state comes after its parent.
    pub nodes: Vec<TreeNode>,
}

/// A state of an exploration, and the step that led to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeNode {
    /// The index of the state before the step; `None` for the initial state.
    pub parent: Option<usize>,
    /// The process that made the step, in the notation of schedules.
    pub process: String,
    /// The label of the step.
    pub label: String,
    /// The shared variables.
    pub state: Vec<Binding>,
    /// The mishap in the step, or in the final state.
    pub mishap: Option<String>,
    /// The races that the step is part of.
    pub races: Vec<TreeRace>,
    /// How the run ends here, if it does.
    pub leaf: Option<Leaf>,
    /// Whether a condition over inputs, instead of the schedule, decides how the run continues from
    /// this state.
    #[serde(default)]
    pub branches: bool,
}

/// A mark of a step that is one of the two steps of a race. The other step has the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeRace {
    /// The number of the race, from 1.
    pub number: usize,
    /// Whether this is the step that the search has moved before the other.
    pub reversed: bool,
}

/// How an explored run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Leaf {
    /// Every process has ended.
    Final,
    /// No process can continue.
    Deadlock,
    /// A process has failed, or the final state is wrong.
    Failure,
    /// A false `assume`.
    Discarded,
    /// Another run covers every continuation.
    Blocked,
    /// A bound was hit.
    Cut,
}

/// The net of a small program, as the unfolding thesis draws it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Net {
    /// The conditions.
    pub conditions: Vec<NetCondition>,
    /// The events. An event comes after the events that make the conditions that it takes or reads.
    pub events: Vec<NetEvent>,
    /// For each deadlock, the conditions where its processes wait, as indices.
    #[serde(default)]
    pub deadlocks: Vec<Vec<usize>>,
}

/// A condition of a net.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetCondition {
    /// The subject of the condition: a process, a variable (with the process whose copy it is), or
    /// a lock.
    pub label: String,
    /// Whether it is a local state of a process, instead of a shared condition.
    pub thread: bool,
}

/// An event of a net.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetEvent {
    /// The process that makes the step.
    pub process: String,
    /// The label of the step.
    pub label: String,
    /// The mishap in it.
    pub mishap: Option<String>,
    /// The conditions that it takes away, as indices.
    pub takes: Vec<usize>,
    /// The conditions that it needs but does not take away, as indices.
    pub reads: Vec<usize>,
    /// The conditions that it makes, as indices.
    pub makes: Vec<usize>,
    /// Whether the net is not continued after this event, because an earlier event leads to the
    /// same state.
    pub terminal: bool,
}
