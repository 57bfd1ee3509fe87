//! Drives the binary as a user does.

mod abs;
mod bad_input;
mod bench;
mod certificates;
mod channels;
mod checkpoints;
mod compare;
mod condition;
mod context;
mod covers;
mod documents;
mod exit_codes;
mod files;
mod include;
mod lanes;
mod limits;
mod linear;
mod memory;
mod mended;
mod names;
mod native;
mod papers_unfolding;
mod permute;
mod pictures;
mod profile;
mod properties;
mod prove;
mod record;
mod refine;
mod repair;
mod replay;
mod sampling;
mod snapshots;
mod step;
mod support;
mod symbolic;
mod synchronise;
mod temporal;
mod undecided;
mod unfold;
mod verdicts;
mod warnings;
// The report's own tests use it, too.
#[path = "../../../report/src/wellformed.rs"]
mod wellformed;
