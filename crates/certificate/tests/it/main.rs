//! The tests of the checker.

mod engines;
mod mutants;
mod random;
mod recorder;
mod sets;
mod swarm;
