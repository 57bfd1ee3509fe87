//! What reads texts of others: whatever stands in them, the answer is a value or an error, and
//! never a panic.
//!
//! The targets of cargo-fuzz call these functions, and so do the tests of the crates, which include
//! these files by their paths.

pub mod abs;
pub mod files;
pub mod maz;
