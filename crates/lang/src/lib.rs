//! The `.maz` language: its syntax, its checker, its compiler, and the machines that run its
//! programs.
//!
//! [`load`] reads a program and returns either a checked [`hir::Program`] or every mistake
//! in the file:
//!
//! ```
//! let source = "
//!     var x, y: int = 0
//!     process p { x := x + 1; y := x }
//!     process q { x == 1 |> y := 2 }
//! ";
//! let program = mazurka_lang::load(source, &[]).unwrap();
//! assert_eq!(program.vars.len(), 2);
//! assert_eq!(program.processes.len(), 2);
//!
//! let mistakes = mazurka_lang::load("var x: int = 0 process { x = 1 }", &[]).unwrap_err();
//! assert_eq!(mistakes[0].code, "M0105");
//! assert_eq!(mistakes[0].label, "expected `:=`");
//! ```
//!
//! | folder | what it does |
//! |---|---|
//! | `syntax` | from text to syntax tree |
//! | `check` | from syntax tree to checked program (`hir`): names, types, constants |
//! | `code` | from checked program to the code that runs, and the analyses made at compile time |
//! | `run` | the interpreter, and the machines that explorers drive, over numbers or over terms |
//! | `format` | the layout of a text, `mazurka fmt` |
//! | `tell` | runs in words, coverage, properties stated outside the program |

pub mod check;
mod code;
mod format;
mod run;
pub mod symbols;
mod syntax;
mod tell;

pub use check::{OrderedAccess, Setting, Unknowns, hir, load};
pub use code::compile::{compile, compile_symbolic};
pub use code::{Code, Cover, VariablePart, flat, shared};
pub use format::{Unformatted, format};
pub use run::symbolic::{
    Agreement, AnyStart, Concolic, Concrete, DecidedPath, Disagreement, Doubts, LastStep, Observed,
    Outlook, SymbolicMachine, SymbolicState, Valuation,
};
pub use run::{LabelledMachine, Machine, NotWeak, Reached, State, UnfitInput};
pub use syntax::include::expand;
pub use syntax::outline;
pub use tell::{BadProperty, Property, StepPlace};
