//! The current state as the sum of its parts, kept as the run grows and shrinks.
//!
//! What a step changes is known from its event, so a step costs a few parts and not the whole state; and what a step adds to
//! the sum is the same after any steps that are independent of it, so sums of runs that were never made are known too.

use mazurka_core::{Fingerprint, ProcessId, Semantics};

/// A part of the state.
#[derive(Clone, Copy, Debug)]
enum Part {
    Cell(usize),
    Process(ProcessId),
}

/// The sums of the states on the current path. That of the initial state is 0.
#[derive(Debug, Default)]
pub(super) struct Meter {
    cells: Vec<Fingerprint>,
    processes: Vec<Fingerprint>,
    /// What parts were before they changed, and where the changes of each step start.
    before: Vec<(Part, Fingerprint)>,
    starts: Vec<usize>,
    sums: Vec<Fingerprint>,
}

impl Meter {
    /// The program is in its initial state.
    pub fn start(&mut self, program: &impl Semantics) {
        *self = Self::default();
        self.cells = (0..program.cells()).map(|at| program.cell(at)).collect();
        for &process in program.processes().in_order() {
            *self.process(process) = program.process(process);
        }
        self.sums.push(Fingerprint::ZERO);
    }

    fn process(&mut self, process: ProcessId) -> &mut Fingerprint {
        if self.processes.len() <= process.index() {
            let count = process.index() + 1;
            self.processes.resize(count, Fingerprint::ZERO);
        }
        &mut self.processes[process.index()]
    }

    fn place(&mut self, part: Part) -> &mut Fingerprint {
        match part {
            Part::Cell(cell) => {
                // Cells may come to be as a program runs; before that they are nothing.
                if self.cells.len() <= cell {
                    self.cells.resize(cell + 1, Fingerprint::ZERO);
                }
                &mut self.cells[cell]
            }
            Part::Process(process) => self.process(process),
        }
    }

    /// A step has been made.
    pub fn push(&mut self, program: &impl Semantics) {
        self.starts.push(self.before.len());
        let mut sum = self.sum();
        if let Some(event) = program.events().last() {
            let mut change = |part: Part, now: Fingerprint| {
                let before = std::mem::replace(self.place(part), now);
                self.before.push((part, before));
                sum = sum.without(before).and(now);
            };
            let written = event.touched.iter().filter(|access| access.writes());
            for cell in written.flat_map(|access| access.cells()) {
                if cell < program.cells() {
                    change(Part::Cell(cell), program.cell(cell));
                }
            }
            for &process in event.spawned.iter().chain([&event.process]) {
                change(Part::Process(process), program.process(process));
            }
        }
        self.sums.push(sum);
    }

    /// The last step is taken back.
    pub fn pop(&mut self) {
        let start = self.starts.pop().unwrap_or(0);
        while self.before.len() > start {
            if let Some((part, before)) = self.before.pop() {
                *self.place(part) = before;
            }
        }
        self.sums.pop();
    }

    /// How many steps have been made.
    pub fn depth(&self) -> usize {
        self.starts.len()
    }

    /// The sum of the current state.
    pub fn sum(&self) -> Fingerprint {
        self.sums.last().copied().unwrap_or(Fingerprint::ZERO)
    }

    /// The sum of the state before the event at a position.
    pub fn before(&self, at: usize) -> Fingerprint {
        self.sums[at]
    }

    /// What the event at a position has added.
    pub fn change(&self, at: usize) -> Fingerprint {
        self.sums[at + 1].without(self.sums[at])
    }
}
