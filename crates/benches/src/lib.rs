//! Benchmarks of the engines (`explore`, `instructions`) and of the solver (`solver`), in
//! `benches/`; docs/performance.md describes how to run them and their results.
//!
//! They form a separate crate with a feature `measure`, so that `cargo test` does not build
//! criterion and gungraun.
