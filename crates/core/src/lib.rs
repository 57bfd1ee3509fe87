//! The vocabulary of all Mazurka engines: processes, accesses, events, dependence, happens-before,
//! canonical forms, verdicts and the record of a run.
//!
//! This crate knows no language and no algorithm. A front end implements [`Execution`], and also
//! [`Semantics`] if its states can be stored, and [`Narrator`] if it can describe its steps in
//! words. An explorer drives it, and a report reads the [`record::Record`] of the search.
//!
//! ```
//! use mazurka_core::{Access, Event, ProcessId, canonical_order, dependent};
//!
//! // Two writers of cell 0 and, between them, a writer of cell 1.
//! let write = |process, cell| Event {
//!     claims: [Access::write(cell)].into_iter().collect(),
//!     ..Event::new(ProcessId(process), 0)
//! };
//! let run = [write(2, 0), write(0, 0), write(1, 1)];
//! assert!(dependent(&run[0], &run[1]));
//! assert!(!dependent(&run[0], &run[2]));
//! // The normal form takes the smallest minimal event first: process 1's.
//! assert_eq!(canonical_order(&run, |p| p), [2, 0, 1]);
//! ```

mod access;
pub mod bench;
mod canonical;
mod conjunction;
mod event;
mod fingerprint;
mod happens_before;
mod memory;
mod missing;
mod names;
mod narrator;
mod patience;
mod process;
mod program;
pub mod proof;
mod random;
pub mod record;
mod schedule;
mod situation;
mod symmetry;
mod verdict;

pub use access::{Access, AccessKind, Claims, add_claim};
pub use canonical::{TraceHasher, canonical_order, immediate_predecessors};
pub use conjunction::{conjunct, conjunction};
pub use event::{Enabling, Event, Mishap, MishapKind, Outcome, Outcomes, Wait, dependent};
pub use fingerprint::Fingerprint;
pub use happens_before::HappensBefore;
pub use memory::{AccessOrder, MemoryOrder, Ordered, UnknownOrder, WeakMemory};
pub use missing::{Link, Missing, SyncAction, SyncStep, missing_order};
pub use names::{ProcessNames, RootName};
pub use narrator::{
    Narrator, ReplayError, ReplayReason, TemporalText, ending, names_with, with_status,
};
pub use patience::Patience;
pub use process::{ParseProcessError, ProcessId, ProcessPath, ProcessTable};
pub use program::{
    Blocker, Execution, Labelled, Promises, Semantics, Status, StepError, Symbolic, Temporal,
};
pub use random::Random;
pub use schedule::{ParseScheduleError, Schedule, ScheduledStep};
pub use situation::{HeldLock, NextSteps, Situation, Standing};
pub use symmetry::Symmetric;
pub use verdict::{Bound, Counts, Fairness, Kind, Kinds, Limits, Scope, StopReason, Verdict};
