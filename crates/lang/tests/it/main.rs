//! The integration tests of this crate, as one program, because linking dominates `cargo test`.

mod common;
mod concolic;
mod foreign;
mod format;
mod grammar;
mod limits;
mod objects;
mod robust;
mod select;
mod telling;
mod warned;
mod wrong;
