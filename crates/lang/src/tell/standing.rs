//! Describes the processes of a state: where they rest, their locals, and the locks that they hold.

use mazurka_core::record::{Binding, Place};
use mazurka_core::{HeldLock, Narrator, ProcessId};
use mazurka_diagnostics::Span;

use crate::check::hir::Type;
use crate::code::{Code, LabelPart, Op};
use crate::run::machine::Machine;
use crate::run::state::Life;

/// A position in the body of a procedure or process, with the locals of its frame.
struct ActiveFrame<'a> {
    pc: u32,
    locals: &'a [i64],
}

impl Code {
    /// Returns the place of the step that starts at a mark. If its statement has several steps, the
    /// text of the place says which access the step makes.
    pub(super) fn step_at(&self, mark: u32) -> Place {
        let (span, rest) = match self.ops.get(mark as usize) {
            Some(Op::Mark(step) | Op::Open(step)) => (
                self.steps[*step as usize].span,
                mark + 1..self.ops.len() as u32,
            ),
            _ => (Span::default(), 0..0),
        };
        let mut place = self.place(span);
        for pc in rest {
            let access = match (self.ops[pc as usize], self.notes.get(&pc)) {
                (Op::Mark(_) | Op::Open(_) | Op::End, _) => break,
                (_, Some(LabelPart::Read)) => "read",
                (_, Some(LabelPart::Write)) => "write in",
                _ => continue,
            };
            place.text = format!("{access} {}", place.text);
            break;
        }
        place
    }
}

impl Machine {
    /// Returns the line of the step at which a process rests.
    pub(super) fn resting_line(&self, process: ProcessId) -> Option<usize> {
        let step = &self.code.steps[self.resting(process)? as usize];
        Some(step.span.line_column(&self.code.source).0)
    }

    /// Returns the locks that are held.
    pub(super) fn held_locks(&self) -> Vec<HeldLock> {
        let code = &self.code;
        let locks = code.first_lock..code.initial.len() as u32;
        let held = |cell: u32| match self.state.cells[cell as usize] {
            0 => None,
            owner => Some(HeldLock {
                lock: code.cell_name(cell),
                process: self.table.path(ProcessId(owner as u32 - 1)).to_string(),
            }),
        };
        let objects = (0..code.first_lock).filter_map(|cell| {
            let holder = code.holder(cell, self.state.cells[cell as usize])?;
            Some(HeldLock {
                lock: code.object_name(cell),
                process: self.table.path(ProcessId(holder)).to_string(),
            })
        });
        locks.filter_map(held).chain(objects).collect()
    }

    /// Returns the locals that can still matter to a live process, the outermost first.
    pub(super) fn live_locals(&self, process: ProcessId) -> Vec<Binding> {
        let mut all = Vec::new();
        for frame in self.active_frames(process).iter().rev() {
            self.locals_at(frame, &mut all);
        }
        all
    }

    /// Returns the bodies that a process is in, the innermost first.
    fn active_frames(&self, process: ProcessId) -> Vec<ActiveFrame<'_>> {
        let state = self.state.processes.get(process.index());
        let Some(state) = state.filter(|state| state.registers.life == Life::Alive) else {
            return Vec::new();
        };
        let registers = &state.registers;
        let (mut frame, mut top) = (registers.frame as usize, registers.top as usize);
        let mut all = Vec::new();
        for pc in state.code_positions() {
            let locals = &state.stack[frame..top];
            all.push(ActiveFrame { pc, locals });
            if frame > 0 {
                // The return address and the caller's frame are stored before the frame.
                (top, frame) = (frame - 2, state.stack[frame - 1] as usize);
            }
        }
        all
    }

    fn locals_at(&self, frame: &ActiveFrame<'_>, into: &mut Vec<Binding>) {
        let ActiveFrame { pc, locals } = frame;
        let code = &self.code;
        let layout = &code.layouts[code.bodies[*pc as usize] as usize];
        let live = code.live.at(*pc);
        for (local, &first) in layout.names.iter().zip(&layout.slots) {
            let slots = first..first + local.len.unwrap_or(1);
            let matters = live.iter().any(|slot| slots.contains(&slot.at));
            // A local whose name begins with `$` has no name in the source.
            if !matters || local.name.starts_with('$') {
                continue;
            }
            let values = &locals[slots.start as usize..slots.end as usize];
            into.push(Binding {
                name: match code.procedure_at(*pc) {
                    Some(procedure) => format!("{procedure}.{}", local.name),
                    None => local.name.clone(),
                },
                value: local.shape.list(|at| self.shown(values[at], local.ty)),
            });
        }
    }

    fn shown(&self, value: i64, ty: Type) -> String {
        match ty {
            Type::Process => self.name_of(self.table.path(ProcessId(value as u32))),
            _ => self.code.program.show(value, ty),
        }
    }
}
