//! All interleavings, without reduction: the brute force against which every other engine is
//! compared.
//!
//! No paper: a depth-first search over the ready processes in the order of their names, and over
//! the outcomes of their `choose` expressions. So the first schedule with a finding is the least
//! one.

use mazurka_core::{Event, Execution, ProcessId};
use smallvec::SmallVec;

use super::branches::Branches;
use crate::Policy;

/// The policy that runs every process from every state.
#[derive(Debug, Default)]
pub struct Naive {
    branches: Branches,
}

impl<E: Execution> Policy<E> for Naive {
    const SEPARATES: bool = true;
    const UNIQUE: bool = false;

    fn enter(&mut self, program: &E) {
        self.branches.enter(program);
    }

    fn next(&mut self, _program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        self.branches.next(outcomes)
    }

    fn leave(&mut self, program: &E) {
        self.branches.leave(program);
    }

    fn progress(&self) -> Option<f64> {
        Some(self.branches.progress())
    }
}

/// Returns the outcomes to try after those of an event, in lexicographic order, or `None` after the
/// last.
#[inline]
pub fn next_outcomes(event: &Event) -> Option<SmallVec<[i64; 1]>> {
    if event.outcomes.is_empty() {
        return None;
    }
    outcomes_after(event)
}

#[inline(never)]
fn outcomes_after(event: &Event) -> Option<SmallVec<[i64; 1]>> {
    let last = event.outcomes.iter().rposition(|o| o.value + 1 < o.end)?;
    let mut values: SmallVec<[i64; 1]> = event.outcomes[..=last].iter().map(|o| o.value).collect();
    values[last] += 1;
    Some(values)
}
