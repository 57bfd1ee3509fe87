//! The current state as the sum of its parts, kept as the run grows and shrinks.
//!
//! What a step changes is known from its event, so a step costs a few parts and not the whole state; and what a step adds to
//! the sum is the same after any steps that are independent of it, so sums of runs that were never made are known too.

use mazurka_core::{Fingerprint, ProcessId, Semantics};

/// The sums of the states on the current path. That of the initial state is 0.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// The parts of the state: cells and processes in turn.
    parts: Vec<Fingerprint>,
    /// What parts were before they changed.
    before: Vec<(usize, Fingerprint)>,
    /// For each state its sum, and where the changes of the step from it start.
    states: Vec<(Fingerprint, usize)>,
}

/// The place of a cell among the parts.
fn cell(cell: usize) -> usize {
    2 * cell
}

/// The place of a process among the parts.
fn process(process: ProcessId) -> usize {
    2 * process.index() + 1
}

impl Meter {
    /// The program is in its initial state.
    pub fn start(&mut self, program: &impl Semantics) {
        *self = Self::default();
        for at in 0..program.cells() {
            *self.part(cell(at)) = program.cell(at);
        }
        for &one in program.processes().in_order() {
            *self.part(process(one)) = program.process(one);
        }
        self.states.push((Fingerprint::ZERO, 0));
    }

    #[inline]
    fn part(&mut self, at: usize) -> &mut Fingerprint {
        if self.parts.len() <= at {
            self.make_room(at);
        }
        &mut self.parts[at]
    }

    /// Cells and processes may come to be as a program runs; before that they are nothing.
    #[cold]
    fn make_room(&mut self, at: usize) {
        self.parts.resize(at + 1, Fingerprint::ZERO);
    }

    /// A part has changed. Gives the difference.
    #[inline]
    fn change(&mut self, at: usize, now: Fingerprint) -> Fingerprint {
        let before = std::mem::replace(self.part(at), now);
        self.before.push((at, before));
        now.without(before)
    }

    /// A step has been made. Gives what it adds to the sum.
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
        self.states.push((self.sum().and(adds), self.before.len()));
        adds
    }

    /// The last step is taken back.
    pub fn pop(&mut self) {
        self.states.pop();
        let start = self.states.last().map_or(0, |(_, start)| *start);
        while self.before.len() > start
            && let Some((at, before)) = self.before.pop()
        {
            self.parts[at] = before;
        }
    }

    /// How many steps have been made.
    pub fn depth(&self) -> usize {
        self.states.len() - 1
    }

    /// The sum of the current state.
    pub fn sum(&self) -> Fingerprint {
        self.states
            .last()
            .map_or(Fingerprint::ZERO, |(sum, _)| *sum)
    }

    /// The sum of the state before the event at a position.
    pub fn before(&self, at: usize) -> Fingerprint {
        self.states[at].0
    }

    /// What the event at a position has added.
    pub fn added(&self, at: usize) -> Fingerprint {
        self.before(at + 1).without(self.before(at))
    }
}
