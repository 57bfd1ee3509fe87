//! The state of a running program: shared cells, and for each process where it is and its locals.

use std::hash::{Hash, Hasher};

/// Whether a process can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Life {
    Unborn,
    Alive,
    Ended,
    Failed,
    Discarded,
    Lost,
}

/// The registers of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    /// The next instruction: a mark, while the process is alive and between steps.
    pub pc: u32,
    /// Where the current frame starts and ends.
    pub frame: u32,
    pub top: u32,
    /// How many children it has started.
    pub children: u32,
    /// How many inputs it has asked for.
    pub inputs: u32,
    /// How many steps it has made. Not part of what states are compared by.
    pub steps: u32,
    pub life: Life,
}

pub(crate) const UNBORN: Registers = Registers {
    pc: 0,
    frame: 0,
    top: 0,
    children: 0,
    inputs: 0,
    steps: 0,
    life: Life::Unborn,
};

/// A process.
#[derive(Debug)]
pub(crate) struct Process {
    pub registers: Registers,
    /// Frames of locals, each after the first preceded by the return address and the caller's frame.
    /// Slots from `top` on are zero.
    pub stack: Vec<i64>,
}

// By hand, so that copying into a state that is there already uses its memory.
impl Clone for Process {
    fn clone(&self) -> Self {
        Self {
            registers: self.registers,
            stack: self.stack.clone(),
        }
    }

    fn clone_from(&mut self, other: &Self) {
        self.registers = other.registers;
        self.stack.clone_from(&other.stack);
    }
}

impl Process {
    pub fn unborn() -> Self {
        Self {
            registers: UNBORN,
            stack: Vec::new(),
        }
    }

    /// Where it rests, and where the calls that it is in return to.
    pub fn stands_at(&self) -> impl Iterator<Item = u32> {
        let mut next = Some((self.registers.pc, self.registers.frame as usize));
        std::iter::from_fn(move || {
            let (pc, frame) = next?;
            next = (frame > 0).then(|| {
                let caller = |back: usize| self.stack[frame - back];
                (caller(2) as u32, caller(1) as usize)
            });
            Some(pc)
        })
    }

    /// Everything that can matter later.
    fn essence(&self) -> Essence<'_> {
        let r = &self.registers;
        let alive = r.life == Life::Alive;
        let here = || {
            let stack = &self.stack[..r.top as usize];
            (r.pc, r.frame, r.children, r.inputs, stack)
        };
        (r.life, alive.then(here))
    }
}

/// Program point, frame, numbers of children and inputs, and locals, while it is alive.
type Essence<'a> = (Life, Option<(u32, u32, u32, u32, &'a [i64])>);

/// A state of a program. States are equal if everything that can matter later is equal.
#[derive(Debug)]
pub struct State {
    pub(crate) cells: Vec<i64>,
    pub(crate) processes: Vec<Process>,
}

impl Clone for State {
    fn clone(&self) -> Self {
        Self {
            cells: self.cells.clone(),
            processes: self.processes.clone(),
        }
    }

    fn clone_from(&mut self, other: &Self) {
        self.cells.clone_from(&other.cells);
        self.processes.clone_from(&other.processes);
    }
}

impl State {
    fn born(&self) -> impl Iterator<Item = (usize, &Process)> {
        let all = self.processes.iter().enumerate();
        all.filter(|(_, p)| p.registers.life != Life::Unborn)
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.cells == other.cells
            && self
                .born()
                .map(|(at, p)| (at, p.essence()))
                .eq(other.born().map(|(at, p)| (at, p.essence())))
    }
}

impl Eq for State {}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.cells.hash(hasher);
        for (at, process) in self.born() {
            (at, process.essence()).hash(hasher);
        }
    }
}
