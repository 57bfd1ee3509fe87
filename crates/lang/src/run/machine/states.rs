//! Implements [`Semantics`] for the machine: whole states are stored, compared by fingerprints, and
//! restored.

use mazurka_core::{Fairness, Fingerprint, ProcessId, Semantics, Symmetric, Temporal};
use smallvec::SmallVec;

use crate::code::fault::Fault;
use crate::run::machine::Machine;
use crate::run::state::{Life, Process, State};
use crate::run::{InstrRange, PlainNumbers, peek};

impl Machine {
    /// Returns the fingerprint of the cells that are compared for determinism. `cells` holds the
    /// values of all cells.
    pub(super) fn observed(&self, cells: &[i64]) -> Fingerprint {
        let observed = self.code.observed.iter();
        observed.fold(Fingerprint::EMPTY, |all, &cell| {
            all.then(cells[cell as usize] as u64)
        })
    }

    /// Returns the values of the locals that temporal properties mention.
    pub(crate) fn watched(&self) -> impl Iterator<Item = i64> {
        let value = |&(process, slot): &(u32, u32)| {
            self.state.processes[process as usize].stack[slot as usize]
        };
        self.code.watched_slots.iter().map(value)
    }

    /// Returns the fingerprint of the data of a process that can matter later.
    #[inline]
    fn process_fingerprint(&self, id: ProcessId, process: &Process<i64, ()>) -> Fingerprint {
        let r = &process.registers;
        let mut all = self.table.name(id);
        if r.life != Life::Alive {
            return all.then(u64::MAX - r.life as u64);
        }
        let (mut pc, mut frame) = (r.pc, r.frame as usize);
        all = all.then((u64::from(r.children) << 32) | u64::from(pc));
        if r.inputs > 0 {
            all = all.then(u64::from(r.inputs));
        }
        loop {
            for slot in self.code.live.at(pc) {
                let value = process.stack[frame + slot.at as usize];
                all = if slot.handle {
                    all.then_all(self.table.name(ProcessId(value as u32)))
                } else {
                    all.then(value as u64)
                };
            }
            if frame == 0 {
                return all;
            }
            pc = process.stack[frame - 2] as u32;
            frame = process.stack[frame - 1] as usize;
            all = all.then(u64::from(pc));
        }
    }
}

impl Semantics for Machine {
    type State = State;

    fn state(&self) -> State {
        self.state.clone()
    }

    /// Omits dead locals. Uses the names of processes in place of their indices, which depend on
    /// the search.
    fn fingerprint(&self) -> Fingerprint {
        let (variables, locks) = self.state.cells.split_at(self.code.first_lock as usize);
        // No fingerprint of a process starts with this word.
        let mut all = Fingerprint::EMPTY.then(u64::MAX);
        for &value in variables {
            all = all.then(value as u64);
        }
        for &owner in locks {
            all = match owner {
                0 => all.then(0),
                owner => all.then_all(self.table.name(ProcessId(owner as u32 - 1))),
            };
        }
        for (at, process) in self.state.processes.iter().enumerate() {
            if process.registers.life != Life::Unborn {
                all = all.and(self.process_fingerprint(ProcessId(at as u32), process));
            }
        }
        // The locals that properties mention matter even if they are dead.
        for value in self.watched() {
            all = all.then(value as u64);
        }
        all
    }

    fn cells(&self) -> usize {
        self.state.cells.len()
    }

    fn cell(&self, cell: usize) -> Fingerprint {
        let (value, part) = (self.state.cells[cell], Fingerprint::EMPTY.then(cell as u64));
        match value {
            owner if cell >= self.code.first_lock as usize && owner != 0 => {
                part.then_all(self.table.name(ProcessId(owner as u32 - 1)))
            }
            value => part.then(value as u64),
        }
    }

    fn process(&self, process: ProcessId) -> Fingerprint {
        match self.state.processes.get(process.index()) {
            Some(state) if state.registers.life != Life::Unborn => {
                self.process_fingerprint(process, state)
            }
            _ => Fingerprint::ZERO,
        }
    }

    fn is_endless(&self, process: ProcessId) -> bool {
        let process = self.state.processes.get(process.index());
        process.is_some_and(|process| {
            let outermost = process.code_positions().last();
            outermost.is_some_and(|pc| self.code.is_endless(pc))
        })
    }

    fn may_repeat(&self) -> bool {
        self.code.may_loop
    }

    fn fairness(&self) -> Fairness {
        self.code.fairness
    }

    fn temporal(&self) -> &[Temporal] {
        &self.code.temporal
    }

    fn holds(&self, condition: usize) -> Option<bool> {
        let snippet = &self.code.snippets[self.code.conditions[condition] as usize];
        let locals: SmallVec<[i64; 8]> = self.watched().collect();
        let (piece, cells) = (InstrRange::whole(snippet), &self.state.cells);
        match peek(&mut PlainNumbers, piece, cells, &locals, &mut Vec::new()) {
            Some(Ok(value)) => Some(value != 0),
            Some(Err(Fault::OutOfRange)) => None,
            // A condition without a value, for example a division by zero, does not hold.
            Some(Err(_)) => Some(false),
            None => unreachable!("a condition only reads"),
        }
    }

    /// Coverage works with symmetry as well: interchangeable processes share their places in the
    /// source.
    fn symmetry(&self) -> Option<&dyn Symmetric> {
        let found = self.code.symmetry().is_some();
        found.then_some(self as &dyn Symmetric)
    }

    fn restore(&mut self, state: &State) {
        self.state.clone_from(state);
        self.taken.clear();
        self.undo.clear();
        self.unfinished = self.count_unfinished();
    }
}
