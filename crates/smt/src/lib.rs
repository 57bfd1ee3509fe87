//! Terms over `bool`, `int` and machine integers: how they are built, simplified, evaluated,
//! printed and solved. The operations are exactly those of the language (`number.rs` says where
//! they had to be made total). Nothing here knows a program.

mod build;
mod model;
mod number;
mod print;
mod solver;
mod term;
mod walk;

pub use model::{Evaluator, Model};
pub use solver::{Answer, Solver, Why};
pub use term::{Kind, Node, Sort, Term, Terms, Variable};
