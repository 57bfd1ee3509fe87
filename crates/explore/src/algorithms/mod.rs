//! The algorithms. Each is a policy of the driver: it chooses the next process.
//!
//! Their common parts are here too:
//! - `branches`, `path`: the states on the current path, with all their ready processes or with
//!   their sleep sets;
//! - `reducing`: the search that reverses races;
//! - `sample`, `method`: random walks, and their names;
//! - `graph`, `map`: the graph of states in which livelocks and violations of temporal properties
//!   are searched.

pub(crate) mod bounded;
pub(crate) mod branches;
pub(crate) mod context;
pub(crate) mod dpor;
pub(crate) mod engine;
pub(crate) mod fair;
pub(crate) mod graph;
pub(crate) mod livelock;
pub(crate) mod map;
pub(crate) mod meter;
pub(crate) mod method;
pub(crate) mod naive;
pub(crate) mod nearest;
pub(crate) mod optimal;
pub(crate) mod path;
pub(crate) mod pct;
pub(crate) mod permuted;
pub(crate) mod pos;
pub(crate) mod preempt;
pub(crate) mod random;
pub(crate) mod reducing;
pub(crate) mod refine;
pub(crate) mod sample;
pub(crate) mod sleep;
pub(crate) mod source;
pub(crate) mod stateful;
pub(crate) mod stubborn;
pub(crate) mod surw;
pub(crate) mod symmetry;
pub(crate) mod temporal;
pub(crate) mod urw;
