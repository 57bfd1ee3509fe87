//! The integration tests of this crate, as one program: linking is most of what `cargo test` costs.

mod behaviour;
mod counts;
mod examples;
mod found;
mod hunt;
mod messages;
mod objects;
mod panics;
mod random;
mod samples;
mod signatures;
mod statics;
