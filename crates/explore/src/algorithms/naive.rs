//! All interleavings, without reduction: the brute force that every other engine is compared with.
//!
//! No paper: a depth-first search over the ready processes in the order of their names, and over
//! the outcomes of their `choose` expressions. So the first schedule that shows something is the
//! least one.

use mazurka_core::{Event, Execution, ProcessId, Status};
use smallvec::SmallVec;

use crate::Policy;

/// The policy that runs every process from every state.
#[derive(Debug, Default)]
pub struct Naive {
    nodes: Vec<Node>,
    /// The ready processes of all nodes on the path, one after the other.
    ready: Vec<ProcessId>,
}

#[derive(Debug)]
struct Node {
    /// Index of its first ready process.
    first: usize,
    /// Index of the next one to run.
    next: usize,
    end: usize,
    /// The outcomes that the process run last has left to try.
    again: Option<SmallVec<[i64; 1]>>,
}

impl<E: Execution> Policy<E> for Naive {
    const UNIQUE: bool = false;

    fn enter(&mut self, program: &E) {
        let first = self.ready.len();
        let processes = program.processes().in_order().iter();
        self.ready
            .extend(processes.filter(|&&p| program.status(p) == Status::Ready));
        self.nodes.push(Node {
            first,
            next: first,
            end: self.ready.len(),
            again: None,
        });
    }

    fn next(&mut self, _program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        let node = self.nodes.last_mut()?;
        match node.again.take() {
            Some(again) => outcomes.extend(again),
            None if node.next == node.end => return None,
            None => node.next += 1,
        }
        Some(self.ready[node.next - 1])
    }

    fn leave(&mut self, program: &E) {
        if let Some(node) = self.nodes.pop() {
            self.ready.truncate(node.first);
        }
        if let (Some(node), Some(event)) = (self.nodes.last_mut(), program.events().last()) {
            node.again = next_outcomes(event);
        }
    }

    fn progress(&self) -> Option<f64> {
        let mut done = 0.0;
        let mut share = 1.0;
        for node in &self.nodes {
            let width = (node.end - node.first).max(1) as f64;
            share /= width;
            done += share * (node.next.saturating_sub(node.first + 1)) as f64;
        }
        Some(done)
    }
}

/// Returns the outcomes to try after those of an event, in lexicographic order; none after the
/// last.
pub fn next_outcomes(event: &Event) -> Option<SmallVec<[i64; 1]>> {
    let last = event.outcomes.iter().rposition(|o| o.value + 1 < o.end)?;
    let mut values: SmallVec<[i64; 1]> = event.outcomes[..=last].iter().map(|o| o.value).collect();
    values[last] += 1;
    Some(values)
}
