//! The current state as a sum of its parts, updated as the run grows and shrinks.
//!
//! The event of a step lists the parts that have changed, so only these are computed again after a
//! step, and not the whole state. A step adds the same amount to the sum after any steps that are
//! independent of it, so the sums of runs that were never made are also known.
//!
//! A trip of `context` goes back and makes other steps. For a trip the run is only *rewound*: its
//! steps stay in the lists, and can be repeated without evaluating the program again. The steps of
//! the trip come after the rewound ones in the lists.

use mazurka_core::{Fingerprint, ProcessId, Semantics};

/// The sums of the states on the current path. The sum of the initial state is 0.
#[derive(Debug)]
pub(crate) struct Meter {
    /// The parts of the state: cells and processes, alternating.
    parts: Vec<Fingerprint>,
    /// The changes of all steps: the index of a part, and its value before the step or, for a
    /// rewound step, its value after the step.
    others: Vec<(usize, Fingerprint)>,
    /// For each state, its sum, and the index in `others` of the first change of the step from it.
    states: Vec<(Fingerprint, usize)>,
    /// The sum of the current state.
    sum: Fingerprint,
}

/// Returns the index of a cell among the parts.
fn cell(cell: usize) -> usize {
    2 * cell
}

/// Returns the index of a process among the parts.
fn process(process: ProcessId) -> usize {
    2 * process.index() + 1
}

impl Meter {
    pub fn new() -> Self {
        Self {
            parts: Vec::new(),
            others: Vec::new(),
            states: Vec::new(),
            sum: Fingerprint::ZERO,
        }
    }

    /// Starts in the initial state of the program.
    pub fn start(&mut self, program: &impl Semantics) {
        *self = Self::new();
        for at in 0..program.cells() {
            *self.part(cell(at)) = program.cell(at);
        }
        for &one in program.processes().in_order() {
            *self.part(process(one)) = program.process(one);
        }
        self.states.push((Fingerprint::ZERO, 0));
    }

    /// Like [`start`](Self::start), but the sum of the initial state is that of all its parts
    /// instead of 0, so equal states have equal sums in every run.
    pub fn start_with_all(&mut self, program: &impl Semantics) {
        self.start(program);
        let all = self.parts.iter();
        self.sum = all.fold(Fingerprint::ZERO, |sum, &part| sum.and(part));
        self.states[0].0 = self.sum;
    }

    /// Whether the stored parts are those of the program's current state.
    pub fn agrees_with(&self, program: &impl Semantics) -> bool {
        let known = |at: usize| self.parts.get(at).copied().unwrap_or(Fingerprint::ZERO);
        let mut processes = program.processes().in_order().iter();
        (0..program.cells()).all(|at| known(cell(at)) == program.cell(at))
            && processes.all(|&one| known(process(one)) == program.process(one))
    }

    #[inline]
    fn part(&mut self, at: usize) -> &mut Fingerprint {
        if self.parts.len() <= at {
            self.make_room(at);
        }
        &mut self.parts[at]
    }

    /// Makes room for cells and processes that are created while a program runs; until then they
    /// are zero.
    #[cold]
    fn make_room(&mut self, at: usize) {
        self.parts.resize(at + 1, Fingerprint::ZERO);
    }

    /// Changes a part. Returns the difference between the new and the old value.
    #[inline]
    fn change(&mut self, at: usize, now: Fingerprint) -> Fingerprint {
        let before = std::mem::replace(self.part(at), now);
        self.others.push((at, before));
        now.without(before)
    }

    /// Adds a step. Returns the amount that it adds to the sum.
    pub fn push(&mut self, program: &impl Semantics) -> Fingerprint {
        let mut adds = Fingerprint::ZERO;
        if let Some(event) = program.events().last() {
            let own = event.process;
            adds = self.change(process(own), program.process(own));
            for access in event.touched.iter().filter(|access| access.writes()) {
                for at in access.cells() {
                    if at < program.cells() {
                        adds = adds.and(self.change(cell(at), program.cell(at)));
                    }
                }
            }
            for &one in &event.spawned {
                adds = adds.and(self.change(process(one), program.process(one)));
            }
        }
        self.sum = self.sum.and(adds);
        self.states.push((self.sum, self.others.len()));
        adds
    }

    /// Undoes the last step.
    pub fn pop(&mut self) {
        self.states.pop();
        if let Some(&(sum, start)) = self.states.last() {
            self.sum = sum;
            self.forget(start);
        }
    }

    /// Undoes changes and removes them from the list.
    #[inline]
    fn forget(&mut self, start: usize) {
        while self.others.len() > start
            && let Some((at, before)) = self.others.pop()
        {
            self.parts[at] = before;
        }
    }

    /// Returns the number of steps, including rewound ones.
    pub fn steps(&self) -> usize {
        self.states.len() - 1
    }

    /// Removes all steps after the first `steps` of the run; the current state is the one after
    /// `at` steps.
    pub fn back_to_run(&mut self, steps: usize, at: usize) {
        self.states.truncate(steps + 1);
        self.forget(self.states[steps].1);
        self.sum = self.states[at].0;
    }

    /// Rewinds the run from the state after `from` steps to the one after `to` steps.
    pub fn rewind(&mut self, from: usize, to: usize) {
        let changes = self.states[to].1..self.states[from].1;
        for (at, other) in self.others[changes].iter_mut().rev() {
            std::mem::swap(&mut self.parts[*at], other);
        }
        self.sum = self.states[to].0;
    }

    /// Repeats the step at a position of the run, which was rewound.
    pub fn repeat(&mut self, at: usize) {
        let (sum, end) = self.states[at + 1];
        for (at, other) in &mut self.others[self.states[at].1..end] {
            std::mem::swap(&mut self.parts[*at], other);
        }
        self.sum = sum;
    }

    /// Returns the sum of the current state.
    pub fn sum(&self) -> Fingerprint {
        self.sum
    }

    /// Returns the sum of the state before the event at a position.
    pub fn before(&self, at: usize) -> Fingerprint {
        self.states[at].0
    }

    /// Returns the contribution of the event at a position to the sum.
    pub fn added(&self, at: usize) -> Fingerprint {
        self.before(at + 1).without(self.before(at))
    }
}
