//! Real Rust code under test.
#![allow(missing_docs)]

mod builder;
mod clock;
pub mod hint;
mod hook;
mod life;
mod local;
mod names;
mod say;
mod simulate;
mod spin;
mod stack;
pub mod sync;
pub mod thread;
mod world;

pub use builder::{Builder, Summary, model};
