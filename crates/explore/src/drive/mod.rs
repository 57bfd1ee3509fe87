//! The common parts of all searches: the loop, its limits and findings, and workers that explore a
//! space in parts.

pub(crate) mod apart;
pub(crate) mod batches;
pub(crate) mod budget;
pub(crate) mod cut;
pub mod driver;
pub(crate) mod estimate;
pub(crate) mod findings;
pub(crate) mod pace;
pub(crate) mod parallel;
pub(crate) mod prints;
pub(crate) mod search;
pub(crate) mod share;
pub(crate) mod states;
pub(crate) mod suffix;
pub(crate) mod table;
