//! Mazurka explores the executions of a concurrent program that are really different.
//!
//! This is the library behind the command line: load a [`Program`], [`check`](Program::check) or
//! [`explore`](Program::explore) it, [`run`](Program::run) one execution, [`replay`](Program::replay)
//! a recorded one. Every answer is a [`record::Record`]; `mazurka-report` turns it into text.
//! Nothing here reads a file or prints: that is the binary's part.
//!
//! ```
//! use mazurka::{Options, Program, Verdict, quietly};
//!
//! let source = "var x: int = 0  process { x := x + 1 }  process { x := x * 2 }";
//! let program = Program::load("twice.maz", source, &[]).unwrap();
//! let record = program.check(&Options::default(), &mut quietly()).unwrap();
//! assert_eq!(record.verdict, Verdict::Violated);
//! assert_eq!(record.deterministic, Some(false));
//! let runs = &record.witnesses[0].runs;
//! assert_eq!([&runs[0].schedule, &runs[1].schedule], ["0 1", "1 0"]);
//! ```

mod bench;
mod checkpoint;
mod evidence;
mod export;
mod front;
mod options;
mod permute;
mod pick;
mod program;
mod prove;
mod reach;
mod replay;
mod run;
mod search;
mod solving;
mod symbolic;
mod translation;
mod tree;
mod unfold;
mod unknowns;

pub use mazurka_core::bench::Benchmark;
pub use mazurka_core::{
    Bound, Limits, ProcessPath, Random, ReplayError, Schedule, Scope, StopReason, Verdict, record,
};
pub use mazurka_diagnostics::Diagnostic;
pub use mazurka_explore::{Estimate, NetKind, Progress};
pub use mazurka_lang::{BadProperty, Unknowns};

pub use bench::{Bench, NothingToMeasure};
pub use checkpoint::{Checkpoint, ResumeError};
pub use export::TestSink;
pub use mazurka_core::proof;
pub use mazurka_explore::Reduction;
pub use mazurka_explore::{Algorithm, Variant, Watch};
pub use mazurka_logic::DeadlockFree;
pub use mazurka_smt::{Choice as SolverChoice, present as second_solver, stop_all as stop_solvers};
pub use options::{Options, quietly};
pub use permute::{PermuteError, PermuteRecord, Permuting};
pub use program::{Program, Refused};
pub use prove::{ProofFile, ProofProblem, ProveError, ProveOptions, ProveRecord, goal_mistake};
pub use reach::{Method, ReachRecord, Reached, StateProperty};
pub use replay::{Recording, RecordingError, ReplayProblem};
pub use run::{NoPath, Plan, RunError, RunRecord};
pub use solving::{QueryLog, Solving};
pub use symbolic::{SymbolicOptions, SymbolicRecord};
pub use translation::NotTranslated;
pub use tree::TreeTooLarge;
pub use unfold::{NetTooLarge, UnfoldRecord};
pub use unknowns::parse_input;
