//! What a process waits for.

use mazurka_core::{Blocker, Execution, ProcessId, ProcessTable, Status, Wait};

use crate::Machine;
use crate::code::{Code, Joins, Op};
use crate::run::state::Registers;
use crate::run::{Plain, Stop, peek};

impl Machine {
    pub(crate) fn blocker_of(&self, process: ProcessId) -> Blocker {
        let joins = self.wait(process) == Wait::Process;
        let Some(Stop::Blocked { at: pc, .. }) = self.obstacle(process) else {
            return Blocker::Anything;
        };
        let child = match self.code.ops[pc as usize] {
            Op::Guard | Op::Lock(_) | Op::LockAt(_) => return Blocker::Claims,
            // Where there is a condition too, the step may come to need no join.
            Op::Join if joins => self.joined(process, pc),
            Op::JoinAll if joins => self.open_children(process).next(),
            _ => None,
        };
        child.map_or(Blocker::Anything, Blocker::Process)
    }

    /// The process that the `join` at a place waits for.
    pub(crate) fn joined(&self, process: ProcessId, pc: u32) -> Option<ProcessId> {
        let start = self.state.processes[process.index()].registers.pc as usize;
        let (ops, locals) = (&self.code.ops, self.locals(process));
        let (part, cells) = ((start, pc as usize), &self.state.cells);
        let handle = peek(&mut Plain, ops, part, cells, locals, &mut Vec::new())?.ok()?;
        Some(ProcessId(handle as u32))
    }

    /// The processes whose end the next step of a process may wait for.
    pub(crate) fn joinable(&self, process: ProcessId, into: &mut Vec<ProcessId>) {
        let registers = &self.state.processes[process.index()].registers;
        let locals = self.locals(process);
        let handle = |slot: u32| ProcessId(locals[slot as usize] as u32);
        joinable(&self.code, &self.table, process, registers, handle, into);
    }

    /// The children that have not ended.
    pub(crate) fn open_children(&self, process: ProcessId) -> impl Iterator<Item = ProcessId> {
        let children = self.state.processes[process.index()].registers.children;
        (0..children)
            .filter_map(move |k| self.table.known_child(process, k))
            .filter(|&child| self.status(child) != Status::Ended)
    }
}

/// The processes whose end the next step of a process may wait for. `handle` reads a slot.
pub(crate) fn joinable(
    code: &Code,
    table: &ProcessTable,
    process: ProcessId,
    registers: &Registers,
    handle: impl Fn(u32) -> ProcessId,
    into: &mut Vec<ProcessId>,
) {
    let handles = match code.joins(registers.pc) {
        Joins::Nothing => return,
        Joins::Handle(slot) => return into.push(handle(slot)),
        Joins::Children => &[][..],
        Joins::Any => code.live.at(registers.pc),
    };
    into.extend((0..registers.children).filter_map(|k| table.known_child(process, k)));
    for slot in handles.iter().filter(|slot| slot.handle) {
        let known = handle(slot.at);
        if known.index() < table.len() && !into.contains(&known) {
            into.push(known);
        }
    }
}
