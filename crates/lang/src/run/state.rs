//! The state of a running program: shared cells, and the position and locals of each process.

use std::hash::{Hash, Hasher};

use mazurka_core::MishapKind;

/// Whether a process can continue, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Life {
    Unborn,
    Alive,
    Ended,
    Failed,
    Discarded,
    Lost,
}

impl Life {
    /// Returns the state of a process after this mishap.
    pub fn after(mishap: MishapKind) -> Self {
        match mishap {
            MishapKind::Failure => Life::Failed,
            MishapKind::Discarded => Life::Discarded,
            MishapKind::OutOfRange
            | MishapKind::LocalLimit
            | MishapKind::MessageLimit(_)
            | MishapKind::Undecided
            | MishapKind::BrokenOff => Life::Lost,
        }
    }
}

/// The registers of a process: all of its state except for the values on its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    /// The next instruction. It is a mark while the process is alive and between steps.
    pub pc: u32,
    /// The start of the current frame.
    pub frame: u32,
    /// The end of the current frame.
    pub top: u32,
    /// The number of children that the process has started.
    pub children: u32,
    /// The number of inputs that the process has read.
    pub inputs: u32,
    /// The number of steps that the process has made. It is ignored when states are compared.
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

impl Registers {
    /// Returns the registers of a new process, given its first instruction and the size of
    /// its frame.
    pub fn at(pc: u32, frame: u32) -> Self {
        Self {
            pc,
            top: frame,
            life: Life::Alive,
            ..UNBORN
        }
    }
}

/// A process whose locals are numbers or terms.
#[derive(Debug)]
pub(crate) struct Process<V, X> {
    pub registers: Registers,
    /// Frames of locals. Each frame after the first is preceded by the return address and the start
    /// of the caller's frame. Slots from `top` on are zero.
    pub stack: Vec<V>,
    /// Further data of the domain for the process.
    pub extra: X,
}

// Implemented by hand, so that copying into an existing state reuses its memory.
impl<V: Clone, X: Clone> Clone for Process<V, X> {
    fn clone(&self) -> Self {
        Self {
            registers: self.registers,
            stack: self.stack.clone(),
            extra: self.extra.clone(),
        }
    }

    fn clone_from(&mut self, other: &Self) {
        self.registers = other.registers;
        self.stack.clone_from(&other.stack);
        self.extra.clone_from(&other.extra);
    }
}

impl<V, X: Default> Process<V, X> {
    pub fn unborn() -> Self {
        Self {
            registers: UNBORN,
            stack: Vec::new(),
            extra: X::default(),
        }
    }

    /// Makes a process before its first instruction, with a frame of zeros.
    pub fn new(pc: u32, frame: u32, zero: V) -> Self
    where
        V: Clone,
    {
        Self {
            registers: Registers::at(pc, frame),
            stack: vec![zero; frame as usize],
            extra: X::default(),
        }
    }

    /// Resets the process to one that was never started, but keeps its allocated memory.
    pub fn forget(&mut self) {
        self.registers = UNBORN;
        self.stack.clear();
        self.extra = X::default();
    }
}

impl Process<i64, ()> {
    /// Returns the instruction at which the process rests, then the return addresses of its calls.
    pub fn code_positions(&self) -> impl Iterator<Item = u32> {
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

    /// Returns all data that can matter later.
    fn key(&self) -> ProcessKey<'_> {
        let r = &self.registers;
        let alive = r.life == Life::Alive;
        let here = || {
            let stack = &self.stack[..r.top as usize];
            (r.pc, r.frame, r.children, r.inputs, stack)
        };
        (r.life, alive.then(here))
    }
}

/// Whether a process is alive or how it ended. For a live process also its instruction, the start
/// of its frame, the number of children it has started, the number of inputs it has read, and its
/// stack.
type ProcessKey<'a> = (Life, Option<(u32, u32, u32, u32, &'a [i64])>);

/// A state of a program. Two states are equal if they agree in everything that can matter later.
#[derive(Debug)]
pub struct State {
    pub(crate) cells: Vec<i64>,
    pub(crate) processes: Vec<Process<i64, ()>>,
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
    fn born(&self) -> impl Iterator<Item = (usize, &Process<i64, ()>)> {
        let all = self.processes.iter().enumerate();
        all.filter(|(_, p)| p.registers.life != Life::Unborn)
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.cells == other.cells
            && self
                .born()
                .map(|(at, p)| (at, p.key()))
                .eq(other.born().map(|(at, p)| (at, p.key())))
    }
}

impl Eq for State {}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.cells.hash(hasher);
        for (at, process) in self.born() {
            (at, process.key()).hash(hasher);
        }
    }
}
