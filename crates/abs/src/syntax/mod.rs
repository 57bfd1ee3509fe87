//! Text to syntax trees.

pub(crate) mod ast;
mod lexer;
pub(crate) mod parser;
mod token;
pub(crate) mod variability;
pub(crate) mod visit;
