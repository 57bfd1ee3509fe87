//! Records the instructions that the steps of a search pass, for coverage.
//!
//! A conditional jump records the side that it takes. Every instruction that can stop a process (a
//! mark, a guard, an assertion …) records that it was passed. Whether other instructions were
//! passed follows from these records (`tell/coverage.rs`), so computing instructions record
//! nothing. A step that turns out to be impossible leaves no records.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::code::Code;

/// The note for an instruction that was passed; for a conditional jump, the note that its condition
/// held.
pub(crate) const HELD: u8 = 1;
/// The note that the condition of a jump did not hold.
pub(crate) const FAILED: u8 = 2;

/// The instructions that the runs of a search have passed. All machines of a search share one
/// record.
#[derive(Debug)]
pub struct Reached(Box<[AtomicU8]>);

impl Reached {
    /// Makes an empty record for this program.
    pub fn nothing(code: &Code) -> Self {
        Self(code.ops.iter().map(|_| AtomicU8::new(0)).collect())
    }

    /// Returns the notes, one byte for each instruction, to be sent to another computer.
    pub fn notes(&self) -> Vec<u8> {
        let notes = self.0.iter().map(|notes| notes.load(Ordering::Relaxed));
        notes.collect()
    }

    /// Adds the notes of another computer. Returns false, and adds nothing, if there is not one
    /// note for each instruction of this program.
    pub fn add(&self, notes: &[u8]) -> bool {
        let fits = notes.len() == self.0.len();
        if fits {
            for (known, more) in self.0.iter().zip(notes) {
                known.fetch_or(*more, Ordering::Relaxed);
            }
        }
        fits
    }

    /// Whether an instruction has one of these notes.
    pub(crate) fn has(&self, pc: u32, note: u8) -> bool {
        self.0[pc as usize].load(Ordering::Relaxed) & note != 0
    }
}

/// Collects the notes of a step until the step is known to be possible.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    reached: Arc<Reached>,
    /// The new notes of this step.
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

    /// Keeps the notes if the step was made, and drops them if it was impossible.
    pub fn settle(&mut self, made: bool) {
        for (pc, note) in self.pending.drain(..) {
            if made {
                self.reached.0[pc as usize].fetch_or(note, Ordering::Relaxed);
            }
        }
    }
}
