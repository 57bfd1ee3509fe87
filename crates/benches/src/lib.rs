//! Benchmarks of the engines (`explore`, `instructions`) and of the solver (`solver`), in
//! `benches/`; docs/performance.md says how to run them and what they showed.
//!
//! They are a separate crate behind the feature `measure`, so that `cargo test` does not build
//! criterion and gungraun.
