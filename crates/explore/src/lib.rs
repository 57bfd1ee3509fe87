//! Explorers: which executions of a program are really different?
//!
//! One algorithm, one file; what they share, the loop with its limits, counts and findings, is
//! the [`driver`]. Explorers see programs only as [`mazurka_core::Execution`]; they never name a language.

pub mod driver;
mod naive;

pub use driver::{Choice, Finding, Findings, Goal, Policy, Progress, explore};
pub use naive::Naive;
