//! Real Rust code under test.
#![allow(missing_docs)]

mod builder;
pub mod cell;
mod choose;
mod clock;
pub mod future;
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

pub use choose::{Choose, choose};
pub use builder::{Builder, Outcomes, Summary, model};
#[doc(hidden)]
pub use mazurka_explore::Algorithm;
