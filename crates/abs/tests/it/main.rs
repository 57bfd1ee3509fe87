//! The integration tests of this crate as one program: linking is most of the cost of `cargo test`.

mod common;
mod engines;
mod labels;
mod language;
mod nets;
mod random;
mod regressions;
mod small;
mod time;
mod variability;
mod wrong;
