//! Explorers: which executions of a program are really different?
//!
//! One algorithm, one file; what they share, the loop with its limits, counts and findings, is
//! the [`driver`]. Explorers see programs only as [`mazurka_core::Execution`]; they never name a language.

pub mod driver;
mod engine;
mod naive;
mod optimal;
mod order;
mod set;

pub use driver::{Choice, Finding, Findings, Goal, Observer, Policy, Progress, Watch, explore};
pub use engine::{Algorithm, UnknownAlgorithm, search};
pub use naive::Naive;
