//! Terms over `bool`, `int` and machine integers: their construction, simplification, evaluation,
//! printing and solution. An operation has the meaning that it has in the Mazurka language. Where
//! the language gives it no result, as in a division by zero, `number.rs` defines one. This crate
//! does not depend on the notion of a program.

mod around;
mod aside;
mod assemble;
mod blast;
mod build;
mod circuit;
mod deadline;
mod embedded;
mod external;
mod formula;
mod linear;
mod model;
mod number;
mod print;
mod ranges;
mod simplify;
mod smtlib;
mod solver;
mod term;
mod walk;

pub use around::{Cache, CrossCheck, Fallback, Log, Logged, Reuse, Slice};
pub use aside::drop_aside;
pub use assemble::{Assembly, Choice, Missing, assemble, present};
pub use deadline::Deadline;
pub use embedded::{Effort, Embedded};
pub use external::{External, Program, stop_all};
pub use formula::{Cube, Readable, Reader};
pub use model::{Evaluator, Model};
pub use solver::{Answer, Solver, Statistics, Why};
pub use term::{BitOp, Kind, Sort, Term, TermNode, Terms, Variable};
