//! Turns text into syntax trees: the words of the language, the lexer, the trees and the parser.

pub(crate) mod ast;
pub(crate) mod lexer;
pub(crate) mod parser;
pub(crate) mod token;
pub(crate) mod variability;
pub(crate) mod visit;
