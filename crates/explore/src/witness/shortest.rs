//! The shortest run to a state, by breadth-first search.
//!
//! [`minimise`](crate::minimise) removes steps from one run, so it cannot find a path that the run
//! did not take. This search examines all runs of one step, then of two steps, and so on, each
//! state once, so the first run that it finds is the shortest. It improves witnesses: a depth-first
//! engine may have met a longer run first.
//!
//! The work is bounded by a number of steps, not by time, so the result is deterministic. A state
//! is stored as the step that led to it. The states of one depth are visited in the order of the
//! runs that lead to them, so two runs in a row mostly begin with the same steps, which are not
//! made again.

use mazurka_core::{Fingerprint, ProcessId, Schedule, Semantics, Status, with_status};
use rustc_hash::FxHashSet;

use crate::algorithms::naive::next_outcomes;
use crate::drive::driver::is_broken_off;
use crate::witness::rehearse::Move;

/// Number of steps to spend, each with a comparison of the state after it. They take a tenth of a
/// second.
const EFFORT: u64 = 100_000;

/// Visiting a state costs as much as one step for each group of this many cells and processes,
/// because all of them are read.
const CELLS_OF_A_STEP: u64 = 16;

/// Returns the shortest run to a state in which `holds` is true, if it has at most `most` steps and
/// is found with a fixed effort. States after a false `assume` are left out.
pub fn shortest<E: Semantics>(
    program: &mut E,
    most: usize,
    holds: &mut dyn FnMut(&E) -> bool,
) -> Option<Schedule> {
    program.back_to(0);
    let mut search = BreadthFirst {
        program,
        met: FxHashSet::default(),
        arrivals: Vec::new(),
        effort: EFFORT,
    };
    search.run(most, holds)
}

/// How a state was first met.
struct Arrival {
    /// The arrival at the previous state; `None` if that is the initial state.
    before: Option<u32>,
    step: Move,
}

struct BreadthFirst<'a, E> {
    program: &'a mut E,
    met: FxHashSet<Fingerprint>,
    /// How each state was first met, in that order; the initial state has no entry.
    arrivals: Vec<Arrival>,
    /// The effort that is left.
    effort: u64,
}

impl<E: Semantics> BreadthFirst<'_, E> {
    /// Visits all states of one depth, then all states of the next depth, and so on.
    fn run(&mut self, most: usize, holds: &mut dyn FnMut(&E) -> bool) -> Option<Schedule> {
        if self.is_new() && self.counts() && holds(self.program) {
            return Some(self.schedule());
        }
        let mut layer: Vec<Option<u32>> = vec![None];
        for _ in 0..most {
            let mut next = Vec::new();
            for &at in &layer {
                if !self.go_to(at) {
                    return None;
                }
                for process in with_status(self.program, Status::Ready) {
                    if self.each_outcome(at, process, &mut next, holds)? {
                        return Some(self.schedule());
                    }
                }
            }
            layer = next;
        }
        None
    }

    /// Makes a step with each of its outcomes, until one of them leads to a wanted state. Returns
    /// whether one does, or `None` if the effort is spent.
    fn each_outcome(
        &mut self,
        before: Option<u32>,
        process: ProcessId,
        next: &mut Vec<Option<u32>>,
        holds: &mut dyn FnMut(&E) -> bool,
    ) -> Option<bool> {
        let depth = self.program.events().len();
        let mut outcomes = Vec::new();
        loop {
            let step = Move { process, outcomes };
            if !self.step(&step) {
                return None;
            }
            let event = &self.program.events()[depth];
            let again = next_outcomes(event);
            // The mishaps of a step are not part of the state that it leads to.
            let wrong = !event.mishaps.is_empty();
            let new = self.is_new();
            if (new || wrong) && self.counts() && holds(self.program) {
                return Some(true);
            }
            if new && self.counts() {
                next.push(Some(self.arrivals.len() as u32));
                self.arrivals.push(Arrival { before, step });
            }
            self.program.back_to(depth);
            match again {
                Some(again) => outcomes = again.to_vec(),
                None => return Some(false),
            }
        }
    }

    /// Returns to a state that was met. The result says whether the effort allowed it.
    fn go_to(&mut self, at: Option<u32>) -> bool {
        let mut steps = Vec::new();
        let mut here = at;
        while let Some(arrival) = here.map(|at| &self.arrivals[at as usize]) {
            steps.push(&arrival.step);
            here = arrival.before;
        }
        steps.reverse();
        let made = self.program.events().iter();
        let same = steps
            .iter()
            .zip(made)
            .take_while(|(step, e)| step.matches(e));
        let same = same.count();
        let rest: Vec<Move> = steps[same..].iter().map(|&step| step.clone()).collect();
        self.program.back_to(same);
        rest.iter().all(|step| self.step(step))
    }

    fn step(&mut self, step: &Move) -> bool {
        self.effort = self.effort.saturating_sub(1);
        let made = self.program.step(step.process, &step.outcomes);
        let whole = made.is_ok_and(|event| !is_broken_off(&event.mishaps));
        self.effort > 0 && whole
    }

    /// Whether no false `assume` comes before the current state.
    fn counts(&self) -> bool {
        with_status(self.program, Status::Discarded).is_empty()
    }

    /// Whether the current state is met for the first time.
    fn is_new(&mut self) -> bool {
        let size = self.program.cells() + self.program.processes().len();
        self.effort = self.effort.saturating_sub(size as u64 / CELLS_OF_A_STEP);
        self.met.insert(self.program.fingerprint())
    }

    fn schedule(&self) -> Schedule {
        Schedule::from_run(self.program.events(), self.program.processes())
    }
}
