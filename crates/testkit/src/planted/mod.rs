//! Engines that are wrong on purpose, and the right one that they are made from.
//!
//! A harness that does not catch these within a few thousand programs is worth little.
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
//! | a process that had nothing to do in the first run never runs | [`forgets_idle`] |
//!
//! What commands around the engines got wrong is planted in `tests/hostile/planted.rs`.

mod context;
mod idle;
mod races;
mod source;

pub use context::context;
pub use idle::{forgets_idle, idle_in_first_run};
pub use source::{Switches, source};
