//! The integration tests of this crate, as one program, because linking dominates `cargo test`.

mod attribute;
mod behaviour;
mod checkpoint;
mod counts;
mod crowd;
mod examples;
mod farewell;
mod found;
mod freed;
mod heap;
mod hunt;
mod hunting;
mod loops;
mod messages;
mod objects;
mod panics;
mod random;
mod samples;
mod signatures;
mod spurious;
mod statics;
