//! Rust code under memory models. A program of its own, since linking is most of what it costs.

mod figures;
mod found;
