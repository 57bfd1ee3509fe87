//! Turns text into a syntax tree ([`ast`]): the [`lexer`] makes tokens, [`brackets`] pairs the
//! brackets, and the [`parser`] builds the tree.
//!
//! A stage that finds a mistake reports it and still returns a result that the next stage can use.
//! So one run reports every mistake in the file.

pub(crate) mod ast;
pub(crate) mod brackets;
pub(crate) mod include;
pub(crate) mod lexer;
pub mod outline;
pub(crate) mod parser;
pub(crate) mod token;
