//! The states on the current path with all their ready processes, for the algorithms that try every
//! process.

use mazurka_core::{Execution, ProcessId, Status};
use smallvec::SmallVec;

use super::naive::next_outcomes;

/// The ready processes of the states on the path, and for each state the next one to try.
#[derive(Debug, Default)]
pub(super) struct Branches {
    states: Vec<Branching>,
    /// The ready processes of all states on the path, one after the other.
    ready: Vec<ProcessId>,
}

#[derive(Debug)]
struct Branching {
    /// The range of the processes of the state in `ready`, and the position of the next one to try.
    first: usize,
    next: usize,
    end: usize,
    /// The outcomes with which the process tried last must be tried next, if any.
    again: Option<SmallVec<[i64; 1]>>,
}

impl Branches {
    /// Adds the state that the program has reached. All its ready processes will be tried.
    pub fn enter<E: Execution>(&mut self, program: &E) {
        let first = self.ready.len();
        let processes = program.processes().in_order().iter();
        self.ready
            .extend(processes.filter(|&&p| program.status(p) == Status::Ready));
        self.states.push(Branching {
            first,
            next: first,
            end: self.ready.len(),
            again: None,
        });
    }

    /// Returns the processes to try in the last state.
    pub fn last(&self) -> &[ProcessId] {
        self.states
            .last()
            .map_or(&[], |state| &self.ready[state.first..state.end])
    }

    /// Makes this process the only one to try in the last state. Must be called before any process
    /// is tried there.
    pub fn try_only(&mut self, process: ProcessId) {
        if let Some(state) = self.states.last_mut() {
            self.ready.truncate(state.first);
            self.ready.push(process);
            state.end = self.ready.len();
        }
    }

    /// Returns the process to try next in the last state.
    pub fn next(&mut self, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        let state = self.states.last_mut()?;
        match state.again.take() {
            Some(again) => outcomes.extend(again),
            None if state.next == state.end => return None,
            None => state.next += 1,
        }
        Some(self.ready[state.next - 1])
    }

    /// Removes the last state; the program is about to undo its last step.
    pub fn leave<E: Execution>(&mut self, program: &E) {
        if let Some(state) = self.states.pop() {
            self.ready.truncate(state.first);
        }
        if let (Some(state), Some(event)) = (self.states.last_mut(), program.events().last())
            && let Some(again) = next_outcomes(event)
        {
            state.again = Some(again);
        }
    }

    /// Returns the fraction of the tree that is explored, if all branches are equally large.
    pub fn progress(&self) -> f64 {
        let mut done = 0.0;
        let mut share = 1.0;
        for state in &self.states {
            let width = (state.end - state.first).max(1) as f64;
            share /= width;
            done += share * (state.next.saturating_sub(state.first + 1)) as f64;
        }
        done
    }
}
