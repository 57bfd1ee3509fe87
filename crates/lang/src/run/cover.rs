//! Notes of what the steps of a search pass, for coverage.
//!
//! A conditional jump notes which side it takes, and every instruction that can hold a process up
//! (a mark, a guard, an assertion …) that it was passed. What lies between follows from these
//! (`tell/coverage.rs`), so instructions that compute note nothing. A step that turns out to be
//! impossible leaves no note.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::code::Code;

/// The instruction was passed; of a conditional jump: its condition held.
pub(crate) const HELD: u8 = 1;
/// The condition of the jump did not hold.
pub(crate) const FAILED: u8 = 2;

/// What the runs of a search have passed, for each instruction. All machines of a search share it.
#[derive(Debug)]
pub struct Reached(Box<[AtomicU8]>);

impl Reached {
    /// Nothing of this program has been reached yet.
    pub fn nothing(code: &Code) -> Self {
        Self(code.ops.iter().map(|_| AtomicU8::new(0)).collect())
    }

    /// Whether an instruction has one of these notes.
    pub(crate) fn has(&self, pc: u32, note: u8) -> bool {
        self.0[pc as usize].load(Ordering::Relaxed) & note != 0
    }
}

/// Collects the notes of a step until it is known that the step is possible.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    reached: Arc<Reached>,
    /// The notes of this step that are new.
    pending: Vec<(u32, u8)>,
}

impl Recorder {
    pub fn new(reached: Arc<Reached>) -> Self {
        Self {
            reached,
            pending: Vec::new(),
        }
    }

    pub fn note(&mut self, pc: u32, note: u8) {
        if !self.reached.has(pc, note) && !self.pending.contains(&(pc, note)) {
            self.pending.push((pc, note));
        }
    }

    /// The step has been made, or was not possible.
    pub fn settle(&mut self, made: bool) {
        for (pc, note) in self.pending.drain(..) {
            if made {
                self.reached.0[pc as usize].fetch_or(note, Ordering::Relaxed);
            }
        }
    }
}
