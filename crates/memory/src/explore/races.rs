//! Data races: unordered accesses of one location, one of them plain, one of them a write.

use std::ops::ControlFlow;

use super::{Explorer, Program};
use crate::graph::{Event, Graph, Slot};
use crate::models::Model;

/// Whether two accesses of one location must be ordered.
fn conflicts(a: &Event, b: &Event) -> bool {
    let plain = !a.order.is_atomic() || !b.order.is_atomic();
    plain && (a.kind.is_write() || b.kind.is_write()) && a.thread != b.thread
}

impl<P: Program, M: Model> Explorer<'_, P, M> {
    /// Whether an access that has just been added races with no other. A race ends the execution,
    /// and is reported.
    pub(super) fn is_free_of_races(&mut self, slot: Slot) -> ControlFlow<(), bool> {
        let Some(hb) = self.model.races() else {
            return ControlFlow::Continue(true);
        };
        let event = *self.graph.event(slot);
        if !self.graph.has_plain(event.loc) {
            return ControlFlow::Continue(true);
        }
        let clock = self.graph.clock(slot, hb);
        let (mo, reads) = (self.graph.mo(event.loc), self.graph.reads(event.loc));
        let races = |other: &Slot| {
            let other = self.graph.event(*other);
            conflicts(other, &event) && !Graph::within(other, clock)
        };
        let others = mo.iter().chain(reads).copied().filter(races);
        // The minimum makes the choice independent of the order in which events were added.
        let other = others.min_by_key(|&other| {
            let other = self.graph.event(other);
            (other.thread, other.index)
        });
        match other {
            Some(other) => {
                self.end_in_race(other, slot)?;
                ControlFlow::Continue(false)
            }
            None => ControlFlow::Continue(true),
        }
    }
}
