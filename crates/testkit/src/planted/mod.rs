//! Engines with planted defects, and the correct engine that they are made from.
//!
//! The tests must catch each of these within a few thousand programs. E1 to E12 are numbers of the
//! table of errata in docs/algorithms.md. A *pending* step is the next step of a process that
//! waits.
//!
//! | defect | engine |
//! |---|---|
//! | none: the reference | [`source()`] with [`Switches::default`] |
//! | errata E2: dependence by what was really touched | [`Switches::really_touched`] |
//! | errata E3: pending guards race with nothing | [`Switches::ignore_pending_guards`] |
//! | pending acquisitions race with nothing | [`Switches::ignore_pending_locks`] |
//! | a pending step races with the last writer only | [`Switches::only_last_writer`] |
//! | pending steps race only at the ends of runs | [`Switches::pending_only_at_ends`] |
//! | errata E12: a failure or a false `assume` stops the execution | [`Switches::stop_at_mishap`] |
//! | errata E1: context-sensitive DPOR as printed | [`context()`] |
//! | a process without a step in the first run never runs | [`forgets_idle`] |
//! | mistakes about the processes that are interchangeable | [`WrongSymmetry`] |
//!
//! Defects of the commands around the engines are planted in `tests/hostile/planted.rs`.

mod context;
mod idle;
mod races;
mod source;
mod symmetry;

pub use context::context;
pub use idle::{forgets_idle, idle_in_first_run};
pub use source::{Switches, source};
pub use symmetry::{Mistake, WrongSymmetry};
