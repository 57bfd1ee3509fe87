//! The algorithms. Each is a policy of the driver: it chooses the next process.
//!
//! Their common parts are here too: the states on the current path with their sleep sets (`path`),
//! and the graph of states in which livelocks are searched (`graph`).

pub(crate) mod context;
pub(crate) mod dpor;
pub(crate) mod engine;
pub(crate) mod graph;
pub(crate) mod livelock;
pub(crate) mod naive;
pub(crate) mod optimal;
pub(crate) mod path;
pub(crate) mod preempt;
pub(crate) mod sleep;
pub(crate) mod source;
pub(crate) mod stateful;
