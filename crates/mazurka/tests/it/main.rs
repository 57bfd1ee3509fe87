//! The integration tests of this crate as one program: linking is most of the cost of `cargo test`.

mod algorithms;
mod bench;
mod certificates;
mod check;
mod cluster;
mod context;
mod corpus;
mod coverage;
mod engines;
mod estimate;
mod ghosts;
mod inputs;
mod limits;
mod orders;
mod own_policy;
mod parallel;
mod permute;
mod pictures;
mod prove;
mod readers;
mod step;
mod temporal;
mod tidy;
mod weak_unknowns;
mod witnesses;
mod workers;
