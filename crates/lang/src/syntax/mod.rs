//! From text to syntax tree: [`lexer`], then [`brackets`], then [`parser`].
//!
//! Each stage reports what is wrong and hands on something the next one can work
//! with, so that one run finds every mistake in the file.

pub(crate) mod ast;
pub(crate) mod brackets;
pub(crate) mod include;
pub(crate) mod lexer;
pub mod outline;
pub(crate) mod parser;
pub(crate) mod token;
