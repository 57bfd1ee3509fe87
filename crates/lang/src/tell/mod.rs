//! Descriptions of programs for users and editors: runs in words, coverage, the places where steps
//! begin, and properties that are stated outside the program.

mod coverage;
mod history;
mod narrate;
pub(crate) mod pretty;
pub(crate) mod property;
pub(crate) mod scribe;
mod standing;
mod steps;
mod values;

pub use property::{BadProperty, Property};
pub use steps::StepPlace;
