//! Drives the binary as a user does.

mod abs;
mod bad_input;
mod bench;
mod checkpoints;
mod context;
mod documents;
mod exit_codes;
mod files;
mod limits;
mod memory;
mod names;
mod permute;
mod pictures;
mod prove;
mod record;
mod replay;
mod sampling;
mod snapshots;
mod support;
mod symbolic;
mod temporal;
mod undecided;
mod unfold;
mod verdicts;
mod warnings;
