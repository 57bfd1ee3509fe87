//! The tests of Rust code under memory models, as one program, because linking dominates the cost
//! of tests.

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
