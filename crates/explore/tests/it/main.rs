//! The integration tests of this crate, as one program: linking is most of what `cargo test` costs.

mod coroutines;
