//! Finds the event that enabled a send or a receive, if sends and receives claim different ends of
//! a channel.
//!
//! A send and a receive are ordered in two cases only. Message i is received after it is sent, and
//! message i + capacity is sent after message i is received. If both are possible, either order
//! leaves the same messages in the channel.
//!
//! All sends are ordered with each other, and so are all receives. So one enabling event is enough
//! for each step. If the channel holds n messages, the next receive takes the message of the n-th
//! send from the end of the run, which is the event that enabled it. If the channel has room for m
//! messages, the next send uses the room that the m-th receive from the end has made.
//!
//! A step that may do anything else with the channel claims both ends. It is ordered with all other
//! accesses to the channel, so the search backwards for the enabling event stops there.

use mazurka_core::{Access, Enabling};

use super::Machine;
use crate::code::{ChannelEndClaims, Op, PureEnd};

impl Machine {
    /// Records the events that enabled the last step.
    #[inline(never)]
    pub(super) fn find_enabling(&mut self) {
        let last = self.taken.len() - 1;
        let Some(ends) = self.ends_of(last) else {
            return;
        };
        let found: Vec<Enabling> = ends
            .pure
            .iter()
            .filter_map(|end| self.enabling(last, end))
            .collect();
        self.run[last].enabled_by.extend(found);
    }

    /// Returns the channel ends of the step at a position of the run.
    fn ends_of(&self, at: usize) -> Option<&ChannelEndClaims> {
        match self.code.ops[self.taken[at].pc as usize] {
            Op::Mark(step) | Op::Open(step) => self.code.steps[step as usize].ends.as_deref(),
            _ => None,
        }
    }

    /// Returns the event that enabled the last step, a send or a receive at this channel end.
    fn enabling(&self, last: usize, end: &PureEnd) -> Option<Enabling> {
        let own = &self.run[last];
        let counts = |access: &&Access| end.cells.counts.contains(access.first);
        let cell = own.touched.iter().find(counts)?.first;
        let writes = |touched: &[Access]| touched.iter().any(|a| a.writes() && a.first == cell);
        let now = self.state.cells[cell as usize];
        let before = match (writes(&own.touched), end.sends) {
            (false, _) => now,
            (true, true) => now - 1,
            (true, false) => now + 1,
        };
        let mut left = if end.sends {
            i64::from(end.capacity) - before
        } else {
            before
        };
        for at in (0..last).rev() {
            let event = &self.run[at];
            if !writes(&event.touched) {
                continue;
            }
            let mut ends = self.ends_of(at)?.pure.iter();
            let other = ends.find(|other| other.cells.counts.contains(cell))?;
            left -= i64::from(other.sends != end.sends);
            if left == 0 {
                let process = event.process;
                let made = self.state.processes[process.index()].registers.steps;
                return (process != own.process).then_some(Enabling {
                    process,
                    number: event.number,
                    back: made - event.number,
                });
            }
        }
        None
    }
}
