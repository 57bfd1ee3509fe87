//! The parser: turns text into syntax trees.

pub(crate) mod ast;
pub(crate) mod lexer;
pub(crate) mod parser;
pub(crate) mod token;
pub(crate) mod variability;
pub(crate) mod visit;
