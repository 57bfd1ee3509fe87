//! The algorithms, each a policy of the driver: who runs next.
//!
//! What several of them share is here too: the states on the current path with their sleep sets
//! (`path`), walks by chance (`sample`), and the graph of states in which livelocks are looked for
//! (`graph`).

pub(crate) mod context;
pub(crate) mod dpor;
pub(crate) mod engine;
pub(crate) mod graph;
pub(crate) mod livelock;
pub(crate) mod naive;
pub(crate) mod optimal;
pub(crate) mod path;
pub(crate) mod pct;
pub(crate) mod preempt;
pub(crate) mod random;
pub(crate) mod sample;
pub(crate) mod sleep;
pub(crate) mod source;
pub(crate) mod stateful;
