//! The integration tests of this crate, as one program: linking is most of what `cargo test` costs.

mod common;
mod context;
mod coverage;
mod covers;
mod engines;
mod inputs;
mod machine;
mod models;
mod oracle;
mod parallel;
mod permute;
mod planted;
mod prototype;
mod quality;
mod reach;
mod reference;
mod same;
mod shrinker;
mod spin;
mod split;
mod stateful;
mod symbolic;
mod temporal;
mod unfold;
mod unfold_figures;
mod unfold_inputs;
