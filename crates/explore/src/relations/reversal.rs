//! The sequence that reverses a race, and the processes that can make its first step.
//!
//! JACM 2017, section 5: for a race between e and the step e' of p the sequence is v = notdep(e,
//! E).p: first all events after e in E that do not happen after e, and then e'. A process is an
//! *initial* of v if its first step in v depends on nothing before it in v.

use mazurka_core::{Access, ProcessId};

use crate::relations::order::Order;
use crate::relations::set::Set;

/// The sequence v: a set of positions, and a last step, which may not have been made.
pub(crate) struct Reversal<'a, S> {
    not_after: S,
    process: ProcessId,
    claims: &'a [Access],
    acquires: bool,
}

impl<'a, S: Set> Reversal<'a, S> {
    /// Creates the sequence for the race of the event at a position with a step of a process.
    pub fn new(
        order: &Order<S>,
        first: usize,
        process: ProcessId,
        claims: &'a [Access],
        acquires: bool,
    ) -> Self {
        Self {
            not_after: order.not_after(first),
            process,
            claims,
            acquires,
        }
    }

    /// Whether a process that is ready before the race can make the first step of v.
    pub fn is_initial(&self, order: &Order<S>, process: ProcessId) -> bool {
        let events = order.events_of(process);
        match events.and_then(|events| events.lowest_common(&self.not_after)) {
            Some(first) => !order.events[first].before.meets(&self.not_after),
            // A reversed acquisition comes before the critical section that it followed.
            None => {
                process == self.process
                    && (self.acquires || !order.conflicts(self.claims, &self.not_after))
            }
        }
    }
}
