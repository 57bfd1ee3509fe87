//! The tests of the checker.

mod engines;
mod mutants;
mod random;
mod sets;
mod swarm;
mod taped;
