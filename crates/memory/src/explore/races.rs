//! Data races: unordered accesses of one location, at least one of them plain and at least one a
//! write.

use std::ops::ControlFlow;

use super::{Explorer, Program};
use crate::graph::Slot;
use crate::models::Model;

impl<P: Program, M: Model> Explorer<'_, P, M> {
    /// Whether an access that has just been added races with no other access. A race ends the
    /// execution, and is reported.
    pub(super) fn is_free_of_races(&mut self, slot: Slot) -> ControlFlow<(), bool> {
        let Some(hb) = self.model.races() else {
            return ControlFlow::Continue(true);
        };
        let event = self.graph.event(slot);
        let other = self.graph.first_conflict(event, self.graph.clock(slot, hb));
        match other {
            Some(other) => {
                self.end_in_race(other, slot)?;
                ControlFlow::Continue(false)
            }
            None => ControlFlow::Continue(true),
        }
    }
}
