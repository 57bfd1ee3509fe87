//! The tests of the checker.

mod random;
