//! Objects whose operations clients call, and histories of their calls.

use serde::{Deserialize, Serialize};

/// The clients with which the operations of an object were looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectRecord {
    /// How many clients there are, at the same time.
    pub clients: u64,
    /// How many operations each of them calls, one after the other.
    pub operations: u64,
    /// How many calls each is chosen from: all operations with all arguments.
    pub calls: u64,
    /// The operations, as they are declared: `push(v: 1..3)`, `pop(): int`.
    pub heads: Vec<String>,
}

/// A call of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryOperation {
    /// The process that called, by its number.
    pub process: String,
    /// What it called: `push(1)`.
    pub call: String,
    /// The step that called, from 1.
    pub called: usize,
    /// The step that returned; none if it has not.
    pub returned: Option<usize>,
    /// What it returned; empty if its operation returns nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
}
