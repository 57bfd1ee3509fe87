//! ABS, the Abstract Behavioral Specification language: actors whose tasks are scheduled
//! cooperatively.
//!
//! [`load`] reads a program and returns either its [`Code`] or all mistakes in the file;
//! [`Machine`] runs it:
//!
//! ```
//! use mazurka_abs::{Settings, load};
//!
//! let source = "module Main; { Int x = 1; println(toString(x)); }";
//! assert!(load(source, &Settings::default()).is_ok());
//!
//! let mistakes = load("module Main; { Int x = 1 / 2; }", &Settings::default()).unwrap_err();
//! assert_eq!(mistakes[0].message, "expected `Int`, found `Rat`");
//! ```

mod arithmetic;
mod check;
mod claims;
mod clock;
mod code;
mod delta_order;
mod effects;
mod features;
mod flatten;
mod future;
mod heap;
mod labels;
pub mod layout;
mod liveness;
mod machine;
mod memo;
mod narrate;
mod nets;
mod observe;
mod places;
mod pure;
pub mod rename;
mod standing;
mod step;
pub mod symbols;
mod syntax;
mod text;
mod throw;
mod types;
mod value;

use mazurka_diagnostics::Diagnostic;

pub use code::{Code, Observed};
pub use heap::State;
pub use machine::Machine;
pub use nets::NoNet;
pub use places::StepPlace;

/// Options for reading a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Values for functions without parameters, by name: `--set n=3`.
    pub constants: Vec<(String, String)>,
    /// Whether durations take no time: `await duration(…)` only releases the cog.
    pub ignore_time: bool,
    /// The observations that are compared for determinism.
    pub observed: Observed,
    /// The name of the one object whose scheduling varies, or the name of a class for all its
    /// objects. `None` means that the scheduling of all objects varies.
    pub object: Option<String>,
    /// The product of a product line; `None` for the program without its deltas.
    pub product: Option<String>,
    /// The files that the text was assembled from: where each begins, and its name. Lines are
    /// counted within each file.
    pub files: Vec<(u32, String)>,
    /// The module whose main block runs, if several have one.
    pub main: Option<String>,
}

/// Reads, checks and compiles a program. The error contains all mistakes in the text.
pub fn load(source: &str, settings: &Settings) -> Result<Code, Vec<Diagnostic>> {
    check::load(source, settings)
}
