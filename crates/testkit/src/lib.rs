//! The common parts of the tests of all explorers: random programs, brute force to compare with, a
//! shrinker for the programs on which they disagree, and deliberately wrong engines that the tests
//! must catch.
//!
//! An explorer under test is a closure from a machine to a [`Summary`]. [`disagreement`] describes
//! its mistake about one program; [`hunt()`] searches for a program that it gets wrong and shrinks
//! it.
//!
//! ```
//! use mazurka_testkit::{disagreement, planted};
//! let text = "var x: int = 0
//!     process { x := 1 }
//!     process { x == 0 |> x := 0 }";
//! let right = |machine: &mut _| planted::source(machine, planted::Switches::default());
//! assert_eq!(disagreement(text, right), None);
//! // Errata E3: the second process waits for ever, and no race among executed events shows it.
//! let wrong = planted::Switches { ignore_pending_guards: true, ..Default::default() };
//! assert!(disagreement(text, |machine| planted::source(machine, wrong)).is_some());
//! ```

mod brute;
mod compare;
mod config;
pub mod features;
mod generate;
mod hunt;
pub mod mutate;
pub mod objects;
pub mod oracle;
pub mod planted;
mod print;
mod record;
mod rng;
mod shrink;
mod states;
pub mod swarm;
pub mod tree;

pub use brute::{Exceeded, Limit, Visit, every_run, naive};
pub use compare::{Aspect, Comparison, compare, disagreement, machine};
pub use config::Config;
pub use generate::generate;
pub use hunt::{Hunt, WrongProgram, assert_right, hunt};
pub use record::{Dependence, Recorder, Recording, Summary};
pub use rng::Rng;
pub use shrink::shrink;
pub use states::{States, every_state, variants};
