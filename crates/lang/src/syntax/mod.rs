//! From text to syntax tree: [`lexer`], then [`brackets`], then [`parser`].
//!
//! Each stage reports mistakes and returns something that the next one can work with, so one run
//! finds every mistake in the file.

pub(crate) mod ast;
pub(crate) mod brackets;
pub(crate) mod include;
pub(crate) mod lexer;
pub mod outline;
pub(crate) mod parser;
pub(crate) mod token;
