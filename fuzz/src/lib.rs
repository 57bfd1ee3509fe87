//! The readers of untrusted texts: for any input the answer is a value or an error, never a panic.
//!
//! The targets of cargo-fuzz call these functions, and so do the tests of the crates, which include
//! these files by path.

pub mod abs;
pub mod files;
pub mod maz;
