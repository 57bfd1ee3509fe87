//! Sequential consistency: po ∪ rf ∪ mo ∪ rb is acyclic.
//!
//! A spawn is before the first event of its thread, and the last event of a thread before each join
//! of it. Let B be the set of events that lead to the last event of a thread. The next event e of
//! that thread may read from w, or be put after w, iff the write after w in mo is not in B: that
//! write is the only direct successor of e, and B contains all events that lead to e. (The other
//! predecessors of e, w and its readers, themselves lead to the write after w.) B is closed under
//! mo-predecessors, so the floor is the last write of the location in B.

use super::Model;
use crate::graph::{Event, Graph, Kind, PORF, Slot};
use crate::program::{Loc, ThreadId};

/// The model.
#[derive(Debug, Default)]
pub(crate) struct Sc {
    /// B: for each thread, the number of its events up to the last one in B.
    past: Vec<u32>,
    /// The events of B whose predecessors have not been added yet.
    open: Vec<Slot>,
}

impl Sc {
    /// Adds an event and all events before it in its thread.
    fn add(&mut self, graph: &Graph, slot: Slot) {
        let event = graph.event(slot);
        self.add_prefix(graph, event.thread, event.index + 1);
    }

    fn add_prefix(&mut self, graph: &Graph, thread: ThreadId, count: u32) {
        let known = &mut self.past[thread.index()];
        let from = std::mem::replace(known, count.max(*known));
        if from < count {
            let added = &graph.thread(thread)[from as usize..count as usize];
            self.open.extend_from_slice(added);
            if let (0, Some(spawn)) = (from, graph.spawn_of(thread)) {
                self.add(graph, spawn);
            }
        }
    }

    /// Adds a write of mo and its readers, because all of them lead to the next write.
    fn add_write(&mut self, graph: &Graph, loc: Loc, position: u32) {
        let write = graph.write_at(loc, position);
        if write != Slot::INITIAL {
            self.add(graph, write);
        }
        for read in graph.readers(loc, write) {
            self.add(graph, read);
        }
    }

    /// Adds the direct predecessors of an event.
    fn expand(&mut self, graph: &Graph, slot: Slot) {
        let event = *graph.event(slot);
        if event.kind.is_read() && event.rf != Slot::INITIAL {
            self.add(graph, event.rf);
        } else if event.kind.is_write() {
            self.add_write(graph, event.loc, event.position - 1);
        } else if event.kind == Kind::Join {
            let child = ThreadId(event.loc.0);
            let all = graph.thread(child).len() as u32;
            self.add_prefix(graph, child, all);
        }
    }
}

impl Model for Sc {
    fn clocks(&self) -> usize {
        1
    }

    fn races(&self) -> Option<usize> {
        None
    }

    fn view(&self, _graph: &mut Graph, _slot: Slot) {}

    fn floor(&mut self, graph: &Graph, access: &Event) -> u32 {
        let (Some(tip), Some(&last)) = (graph.tip(access.thread), graph.mo(access.loc).last())
        else {
            return 0;
        };
        if Graph::within(graph.event(last), graph.clock(tip, PORF)) {
            return graph.last_position(access.loc);
        }
        self.past.clear();
        self.past.resize(graph.threads() as usize, 0);
        self.open.clear();
        self.add(graph, tip);
        while let Some(slot) = self.open.pop() {
            self.expand(graph, slot);
        }
        let mo = graph.mo(access.loc);
        let known = |&write: &Slot| Graph::within(graph.event(write), &self.past);
        mo.iter().rposition(known).map_or(0, |at| at as u32 + 1)
    }

    fn admits(&mut self, _graph: &Graph, _slot: Slot) -> bool {
        true
    }
}
