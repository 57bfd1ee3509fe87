//! Determines what a blocked process waits for. It may wait for another process, such as the holder
//! of a lock or the process of a `join`. It may wait for a write to the cells that its step claims.
//! If neither is certain, it may wait for anything.

use mazurka_core::{Blocker, Claims, Execution, ProcessId, ProcessTable, Status, Wait};

use crate::Machine;
use crate::code::{Code, Joins, Op};
use crate::run::state::Registers;
use crate::run::{InstrRange, Obstacle, PlainNumbers, peek};

impl Machine {
    pub(crate) fn blocker_of(&self, process: ProcessId) -> Blocker {
        let wait = self.wait(process);
        if wait == Wait::Lock {
            return self.holder(process);
        }
        let joins = wait == Wait::Process;
        let Some(Obstacle::Blocked { at: pc, .. }) = self.obstacle(process) else {
            return Blocker::Anything;
        };
        let child = match self.code.ops[pc as usize] {
            Op::Guard | Op::Lock(_) | Op::LockAt(_) => return Blocker::Claims,
            // A step with a `join` may wait for a condition before the `join` instead, so the
            // instruction that blocks must itself be the `join`.
            Op::Join if joins => self.joined(process, pc),
            Op::JoinAll if joins => self.open_children(process).next(),
            _ => None,
        };
        child.map_or(Blocker::Anything, Blocker::Process)
    }

    /// Returns the holder of the lock that the next step of a process waits for, or `Claims` if no
    /// process holds it.
    fn holder(&self, process: ProcessId) -> Blocker {
        let mut claims = Claims::new();
        self.claims(process, &mut claims);
        let lock = claims.first().map(|claim| claim.first as usize);
        let owner = lock.and_then(|lock| self.state.cells.get(lock)).copied();
        match owner {
            Some(owner) if owner > 0 => Blocker::Process(ProcessId(owner as u32 - 1)),
            _ => Blocker::Claims,
        }
    }

    /// Returns the process that the `join` at this instruction waits for.
    pub(crate) fn joined(&self, process: ProcessId, pc: u32) -> Option<ProcessId> {
        let start = self.state.processes[process.index()].registers.pc as usize;
        let piece = InstrRange {
            ops: &self.code.ops[..pc as usize],
            first: start,
        };
        let (cells, locals) = (&self.state.cells, self.locals(process));
        let handle = peek(&mut PlainNumbers, piece, cells, locals, &mut Vec::new())?.ok()?;
        Some(ProcessId(handle as u32))
    }

    /// Adds the processes whose end the next step of a process may wait for.
    pub(crate) fn joinable(&self, process: ProcessId, into: &mut Vec<ProcessId>) {
        let locals = self.locals(process);
        let resting = RestingProcess {
            code: &self.code,
            table: &self.table,
            process,
            registers: &self.state.processes[process.index()].registers,
        };
        resting.joinable(|slot| ProcessId(locals[slot as usize] as u32), into);
    }

    /// Returns the children that have not ended.
    pub(crate) fn open_children(&self, process: ProcessId) -> impl Iterator<Item = ProcessId> {
        let children = self.state.processes[process.index()].registers.children;
        (0..children)
            .filter_map(move |k| self.table.known_child(process, k))
            .filter(|&child| self.status(child) != Status::Ended)
    }
}

/// A process that rests at a mark, in a [`Machine`] or in a symbolic machine.
pub(crate) struct RestingProcess<'a> {
    pub code: &'a Code,
    pub table: &'a ProcessTable,
    pub process: ProcessId,
    pub registers: &'a Registers,
}

impl RestingProcess<'_> {
    /// Adds the processes whose end the next step may wait for. `handle` returns the process whose
    /// handle is in a slot.
    pub fn joinable(&self, handle: impl Fn(u32) -> ProcessId, into: &mut Vec<ProcessId>) {
        let Registers { pc, children, .. } = *self.registers;
        let handles = match self.code.joins(pc) {
            Joins::Nothing => return,
            Joins::Handle(slot) => return into.push(handle(slot)),
            Joins::Children => &[][..],
            Joins::Any => self.code.live.at(pc),
        };
        into.extend((0..children).filter_map(|k| self.table.known_child(self.process, k)));
        for slot in handles.iter().filter(|slot| slot.handle) {
            let known = handle(slot.at);
            if known.index() < self.table.len() && !into.contains(&known) {
                into.push(known);
            }
        }
    }
}
