//! Rust code under memory models. A program of its own, since linking is most of what it costs.

mod behaviour;
mod classics;
mod figures;
mod found;
mod leaks;
mod mended;
mod objects;
mod options;
mod orderings;
mod random;
mod readers;
mod references;
