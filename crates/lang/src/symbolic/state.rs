//! The state of a symbolic run: ⟨σ, φ, Σ⟩.

use std::hash::{Hash, Hasher};

use mazurka_core::{Fingerprint, ProcessId};
use mazurka_smt::{Term, Terms};
use smallvec::SmallVec;

use crate::state::{Life, Registers, UNBORN};

/// Why a process waits, if it has found out in a step of its own: until one of these is no longer so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stayed {
    /// The values of all that its step may touch.
    pub seen: Fingerprint,
    /// The process that had not ended.
    pub joins: Option<ProcessId>,
}

/// What a process is, apart from its locals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub registers: Registers,
    /// How many inputs it has asked for.
    pub inputs: u32,
    pub stayed: Option<Stayed>,
    /// The conditions that its steps have decided, as a sum.
    pub decided: Fingerprint,
}

pub(super) const NOWHERE: Place = Place {
    registers: UNBORN,
    inputs: 0,
    stayed: None,
    decided: Fingerprint::ZERO,
};

/// A process. As in a concrete state, with terms.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub place: Place,
    pub stack: Vec<Term>,
}

impl Process {
    pub fn unborn() -> Self {
        Self {
            place: NOWHERE,
            stack: Vec::new(),
        }
    }

    /// Where it rests, and where the calls that it is in return to; each with the frame there.
    pub fn stands_at(&self, terms: &Terms) -> SmallVec<[(u32, usize); 4]> {
        let (mut pc, mut frame) = (self.place.registers.pc, self.place.registers.frame as usize);
        let mut all = SmallVec::new();
        loop {
            all.push((pc, frame));
            if frame == 0 {
                return all;
            }
            // These are always known.
            let number = |slot: usize| terms.value(self.stack[slot]).unwrap_or(0);
            (pc, frame) = (number(frame - 2) as u32, number(frame - 1) as usize);
        }
    }

    /// Everything that can matter later.
    fn essence(&self) -> Essence<'_> {
        let Place {
            registers: r,
            inputs,
            stayed,
            ..
        } = &self.place;
        let here = || {
            let stack = &self.stack[..r.top as usize];
            (r.pc, r.frame, r.children, *inputs, *stayed, stack)
        };
        (r.life, (r.life == Life::Alive).then(here))
    }
}

/// Program point, frame, numbers of children and inputs, why it waits, and locals, while it is alive.
type Essence<'a> = (
    Life,
    Option<(u32, u32, u32, u32, Option<Stayed>, &'a [Term])>,
);

/// A state of a symbolic run. Terms are those of the machine that it comes from.
#[derive(Clone, Debug)]
pub struct SymbolicState {
    /// σ: for each cell a term over initial values and inputs.
    pub(super) cells: Vec<Term>,
    /// Σ
    pub(super) processes: Vec<Process>,
    /// φ as a list of conditions.
    pub(super) path: Vec<Term>,
}

impl SymbolicState {
    fn born(&self) -> impl Iterator<Item = (usize, &Process)> {
        let all = self.processes.iter().enumerate();
        all.filter(|(_, p)| p.place.registers.life != Life::Unborn)
    }
}

impl PartialEq for SymbolicState {
    fn eq(&self, other: &Self) -> bool {
        let mut both = self.born().zip(other.born());
        self.cells == other.cells
            && self.path == other.path
            && self.born().count() == other.born().count()
            && both.all(|((a, p), (b, q))| a == b && p.essence() == q.essence())
    }
}

impl Eq for SymbolicState {}

impl Hash for SymbolicState {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.cells.hash(hasher);
        self.path.hash(hasher);
        for (at, process) in self.born() {
            (at, process.essence()).hash(hasher);
        }
    }
}
