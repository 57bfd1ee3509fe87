//! Benchmarks of the engines (`explore`, `instructions`) and of the solver (`solver`), in
//! `benches/`; docs/performance.md tells how to run them and what they gave.
//!
//! They are a crate of their own behind the feature `measure`, so that `cargo test` does not build
//! criterion and gungraun.
