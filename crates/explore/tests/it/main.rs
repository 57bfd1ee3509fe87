//! The integration tests of this crate as one program: linking is most of the cost of `cargo test`.

mod coroutines;
