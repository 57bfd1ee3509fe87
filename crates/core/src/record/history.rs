//! Objects whose operations clients call, and histories of their calls.

use serde::{Deserialize, Serialize};

/// The clients with which the operations of an object were explored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectRecord {
    /// Number of concurrent clients.
    pub clients: u64,
    /// Number of operations that each client calls, one after the other.
    pub operations: u64,
    /// Number of possible calls to choose from: all operations with all arguments.
    pub calls: u64,
    /// The operations, as they are declared: `push(v: 1..3)`, `pop(): int`.
    pub heads: Vec<String>,
}

/// A call of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryOperation {
    /// The process that called, by its number.
    pub process: String,
    /// The call: `push(1)`.
    pub call: String,
    /// The number of the step that called, from 1.
    pub called: usize,
    /// The step that returned; `None` if the call has not returned.
    pub returned: Option<usize>,
    /// The result; empty if the operation returns nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
}
