//! The tests of the checker.

mod engines;
mod mutants;
mod random;
mod swarm;
mod taped;
