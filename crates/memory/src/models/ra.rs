//! Release/acquire: every write releases and every read acquires.
//!
//! - hb = (po ∪ rf)+, where a spawn is before the first event of its thread, and the last event of
//!   a thread before each join of it
//! - coherence: hb and hb;eco are irreflexive
//! - atomicity: rmw ∩ (rb;mo) = ∅
//! - psc over the fences of order sc, as in rc11
//!
//! The clock of the prefix is the clock of happens-before.

use super::{Model, is_overtaken, psc, views};
use crate::graph::{Event, Graph, PORF, Slot};

/// The model.
#[derive(Debug, Default)]
pub(crate) struct Ra {
    search: psc::Search,
}

impl Model for Ra {
    fn clocks(&self) -> usize {
        1
    }

    fn races(&self) -> Option<usize> {
        None
    }

    fn view(&self, _graph: &mut Graph, _slot: Slot) {}

    fn floor(&mut self, graph: &Graph, access: &Event) -> u32 {
        views::floor(graph, access, PORF)
    }

    fn admits(&mut self, graph: &Graph, slot: Slot) -> bool {
        let (fences, _) = graph.sc_events();
        let free = fences < 2 || !is_overtaken(graph, graph.event(slot));
        free || !self
            .search
            .finds_cycle(graph, slot, psc::NodeSet::fences(PORF))
    }
}
