//! The `.maz` language: syntax, diagnostics, checking, semantics.
//!
//! [`load`] reads a program and gives either a checked [`hir::Program`] or every
//! mistake in the file:
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

mod blocker;
pub mod check;
mod claims;
mod code;
mod compile;
mod coverage;
mod fault;
mod given;
pub mod hir;
mod labelled;
mod liveness;
mod loops;
mod machine;
mod narrate;
mod numbers;
mod pretty;
mod property;
mod quick;
mod reach;
mod refuse;
mod run;
pub mod shared;
mod state;
mod symbolic;
mod syntax;

pub use check::{Setting, load};
pub use code::Code;
pub use compile::{compile, compile_open, compile_symbolic, has_inputs, refused_at_start};
pub use coverage::Sides;
pub use given::UnfitInput;
pub use labelled::LabelledMachine;
pub use machine::Machine;
pub use property::{BadProperty, Property};
pub use state::State;
pub use symbolic::{
    Agreement, AnyStart, Concolic, Concrete, Difference, Disagreement, Doubts, Observed, Outlook,
    SymbolicMachine, SymbolicState, Valuation, Way,
};
