//! Takes steps back, and returns the cells that the last step has changed.

use rustc_hash::FxHashMap;

use super::{Changed, Machine, StepUndo};
use crate::run::Undo;
use crate::run::state::{Life, Process};

impl Machine {
    /// Returns the cells of variables that the last step wrote, with their old values.
    pub(crate) fn before_last_step(&self) -> FxHashMap<u32, i64> {
        self.written_by_last_step(|cell| cell < self.code.first_lock)
    }

    /// Returns the locks that the last step acquired or released, with their old values.
    pub(crate) fn locks_before_last_step(&self) -> FxHashMap<u32, i64> {
        self.written_by_last_step(|cell| cell >= self.code.first_lock)
    }

    /// Returns the cells that the last step wrote and that `of` accepts, with their old values.
    fn written_by_last_step(&self, of: impl Fn(u32) -> bool) -> FxHashMap<u32, i64> {
        let Some(taken) = self.taken.last() else {
            return FxHashMap::default();
        };
        // The oldest entry for a cell, which comes last, has its old value.
        let own = self.undo[taken.undo..].iter().rev();
        let cells = own.filter_map(|undo| match *undo {
            Undo::Cell(cell, value) => Some((cell, value)),
            _ => None,
        });
        let quickly = match taken.changed {
            Changed::Cell(cell) => Some((cell, taken.value)),
            Changed::Slot(_) | Changed::Else => None,
        };
        let written = cells.chain(quickly);
        written.filter(|&(cell, _)| of(cell)).collect()
    }

    /// Takes back the last step.
    #[inline]
    pub(super) fn take_back(&mut self, taken: StepUndo) {
        while self.undo.len() > taken.undo
            && let Some(undo) = self.undo.last()
        {
            // This does not copy the whole entry: the entry was written field by field, so a copy
            // would cause a store-forwarding stall.
            match *undo {
                Undo::Cell(cell, value) => self.state.cells[cell as usize] = value,
                Undo::Slot {
                    process,
                    slot,
                    value,
                } => self.state.processes[process as usize].stack[slot as usize] = value,
                rare => self.take_back_rare(rare),
            }
            self.undo.pop();
        }
        let process_state = &mut self.state.processes[taken.process.index()];
        let Process {
            registers, stack, ..
        } = process_state;
        match taken.changed {
            Changed::Else => {}
            Changed::Cell(cell) => self.state.cells[cell as usize] = taken.value,
            Changed::Slot(slot) => stack[slot as usize] = taken.value,
        }
        self.unfinished += usize::from(registers.life == Life::Ended);
        registers.pc = taken.pc;
        registers.steps = taken.steps;
        registers.life = Life::Alive;
    }

    /// Takes back a change that few steps make. This is a separate function, so that the code for
    /// frequent changes needs fewer registers.
    #[inline(never)]
    fn take_back_rare(&mut self, undo: Undo<i64>) {
        match undo {
            Undo::Cell(..) | Undo::Slot { .. } => {}
            Undo::Frame {
                process,
                frame,
                top,
                children,
            } => {
                let registers = &mut self.state.processes[process as usize].registers;
                registers.frame = frame;
                registers.top = top;
                registers.children = children;
            }
            Undo::Inputs { process, inputs } => {
                self.state.processes[process as usize].registers.inputs = inputs;
            }
            Undo::Born(child) => {
                let child = &mut self.state.processes[child as usize];
                self.unfinished -= usize::from(child.registers.life != Life::Ended);
                child.forget();
            }
        }
    }
}
