//! Mazurka explores the executions of a concurrent program that are really different.
//!
//! This is the library behind the command line: load a [`Program`], [`check`](Program::check) or
//! [`explore`](Program::explore) it, [`run`](Program::run) one execution,
//! [`replay`](Program::replay) a recorded one. Every answer is a [`record::Record`];
//! `mazurka-report` turns it into text. This crate neither reads files nor prints; `mazurka-cli`
//! does that.
//!
//! | to | module |
//! |---|---|
//! | get a verdict, explore and count | [`search`], [`checkpoint`], [`profile`] |
//! | run one execution, by hand, and again | [`run`], [`step`], [`replay`], [`permute`] |
//! | build a net, and search it for a state | [`unfold`], [`reach`] |
//! | compare two programs | [`compare`] |
//! | find the values for which a property holds | [`condition`] |
//! | change a program so that it is verified | [`repair`] |
//! | explore all initial values at once | [`symbolic`], [`prove`] |
//! | run C and C++ | [`native`] |
//! | choose the solver | [`solving`] |
//! | format a program | [`mod@format`] |
//! | measure the engines | [`mod@bench`] |
//! | read an answer | [`record`] |
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

pub mod bench;
pub mod certificate;
pub mod checkpoint;
pub mod cluster;
pub mod compare;
pub mod condition;
mod covers;
mod evidence;
mod explain;
mod export;
pub mod format;
mod front;
pub mod names;
// On other systems no native machine can be created, so some code is unreachable there.
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(unused_mut, unused_variables)
)]
pub mod native;
mod options;
pub mod permute;
mod pick;
pub mod profile;
mod program;
pub mod prove;
pub mod reach;
mod refine;
pub mod repair;
pub mod replay;
pub mod run;
pub mod search;
pub mod solving;
mod states;
pub mod step;
mod steps;
pub mod symbolic;
pub mod traces;
mod translation;
mod tree;
pub mod unfold;
mod unknowns;
mod warnings;
pub mod weak;

pub use mazurka_core::record::FILES_JOINED_BY;
pub use mazurka_core::{Bound, Limits, Schedule, Verdict, record};
pub use mazurka_diagnostics::{Diagnostic, Part, Span, parts};
pub use mazurka_explore::{Algorithm, Progress, Watch};
pub use mazurka_lang::{StepPlace, Unknowns, expand, symbols};
pub use options::{Options, quietly};
pub use program::{Program, Refused};
pub use warnings::mistakes;

/// The example of README.md.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
pub struct Readme;
