//! Total store order: (po|loc ∪ rf ∪ mo ∪ rb) and (ppo ∪ rfe ∪ mo ∪ rb) are acyclic.
//!
//! - rfe is rf between different threads. ppo is po without the pairs of a write and a later read.
//!   A pair stays if a fence of order sc or an update is between its two events, or if one of the
//!   two is an update. An update that writes nothing counts too: x86 locks the bus for it.
//! - A write of order sc is a write and a fence.
//! - A spawn is a write that the new thread reads first; the end of a thread is a write that each
//!   join of it reads. Other fences, and choices, order nothing.
//!
//! Both relations are checked as in `sc`: a new event leads only to the next write in mo. For the
//! first relation it is enough to check the accesses of the same thread, because each edge leads to
//! the same or a later position of mo. For the second, the events that lead to the new event are
//! searched and marked, because ppo does not contain all of po.

use super::Model;
use crate::graph::{Event, Graph, Kind, Slot};
use crate::program::{Loc, MemoryOrder, ThreadId};

/// The model.
#[derive(Debug, Default)]
pub(crate) struct Tso {
    /// For each event, the number of the last search that marked it. An event marked by the
    /// `current` search leads to the new event.
    marks: Vec<u32>,
    current: u32,
    /// Marked events whose predecessors have not been marked yet.
    open: Vec<Slot>,
    /// The progress of the current search in each thread.
    examined: Vec<ExaminedEvents>,
}

/// How far the events of a thread have been examined in a search.
#[derive(Clone, Copy, Debug, Default)]
struct ExaminedEvents {
    /// Number of events at the beginning of the thread among which all events in ppo are marked.
    all: usize,
    /// Number of events at the beginning of the thread among which all events that ppo orders
    /// before a later read are marked.
    reads: usize,
}

/// The class of an event in ppo.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Read,
    Write,
    /// A write with a fence after it.
    FencedWrite,
    /// An update or a fence, which is ordered with everything.
    Barrier,
    /// Not in ppo.
    Local,
}

fn class(event: &Event) -> Class {
    let sc = event.order == MemoryOrder::SeqCst;
    match event.kind {
        Kind::Fence if sc => Class::Barrier,
        Kind::Fence | Kind::Choice | Kind::Decision => Class::Local,
        Kind::Spawn => Class::Write,
        Kind::Join => Class::Read,
        _ if event.is_update() => Class::Barrier,
        kind if kind.is_read() => Class::Read,
        _ if sc => Class::FencedWrite,
        _ => Class::Write,
    }
}

impl Tso {
    fn mark(&mut self, slot: Slot) {
        let mark = &mut self.marks[slot.index()];
        if std::mem::replace(mark, self.current) != self.current {
            self.open.push(slot);
        }
    }

    /// Marks the events that ppo orders before an event of a class that comes after the first
    /// `count` events of a thread.
    fn mark_program(&mut self, graph: &Graph, thread: ThreadId, count: usize, of: Class) {
        if let Some(spawn) = graph.spawn_of(thread) {
            self.mark(spawn);
        }
        let examined = self.examined[thread.index()];
        if of != Class::Read {
            return self.mark_all(graph, thread, count);
        }
        self.examined[thread.index()].reads = examined.reads.max(count);
        let known = examined.all.max(examined.reads);
        for at in (known..count).rev() {
            let slot = graph.thread(thread)[at];
            match class(graph.event(slot)) {
                Class::Read => self.mark(slot),
                Class::Barrier | Class::FencedWrite => {
                    return self.mark_all(graph, thread, at + 1);
                }
                Class::Write | Class::Local => {}
            }
        }
    }

    /// Marks the first `count` events of a thread, except those that are not in ppo.
    fn mark_all(&mut self, graph: &Graph, thread: ThreadId, count: usize) {
        let from = self.examined[thread.index()].all;
        for &slot in graph.thread(thread).get(from..count).unwrap_or_default() {
            if class(graph.event(slot)) != Class::Local {
                self.mark(slot);
            }
        }
        self.examined[thread.index()].all = from.max(count);
    }

    /// Marks a write of mo and its readers, because all of them lead to the next write.
    fn mark_write(&mut self, graph: &Graph, loc: Loc, position: u32) {
        let write = graph.write_at(loc, position);
        if write != Slot::INITIAL {
            self.mark(write);
        }
        for read in graph.readers(loc, write) {
            self.mark(read);
        }
    }

    /// Marks the direct predecessors of an event.
    fn expand(&mut self, graph: &Graph, slot: Slot) {
        let event = *graph.event(slot);
        let class = class(&event);
        self.mark_program(graph, event.thread, event.index as usize, class);
        if event.kind.is_read() && event.rf != Slot::INITIAL {
            if graph.event(event.rf).thread != event.thread {
                self.mark(event.rf);
            }
        } else if event.kind.is_write() {
            self.mark_write(graph, event.loc, event.position - 1);
        } else if event.kind == Kind::Join {
            let child = ThreadId(event.loc.0);
            let all = graph.thread(child).len();
            self.mark_program(graph, child, all, Class::Write);
        }
    }

    /// Returns the floor of the first axiom.
    fn own_floor(graph: &Graph, access: &Event) -> u32 {
        let own = graph.thread(access.thread).iter().rev();
        let own = own.map(|&slot| graph.event(slot));
        let mut own = own.filter(|event| event.is_access() && event.loc == access.loc);
        own.next().map_or(0, |last| graph.position(last))
    }
}

impl Model for Tso {
    fn clocks(&self) -> usize {
        1
    }

    fn races(&self) -> Option<usize> {
        None
    }

    fn view(&self, _graph: &mut Graph, _slot: Slot) {}

    fn floor(&mut self, graph: &Graph, access: &Event) -> u32 {
        let mo = graph.mo(access.loc);
        let own = Self::own_floor(graph, access);
        if own as usize == mo.len() {
            return own;
        }
        self.current += 1;
        self.marks.resize(graph.slots().max(self.marks.len()), 0);
        self.open.clear();
        self.examined.clear();
        self.examined
            .resize(graph.threads() as usize, ExaminedEvents::default());
        let count = graph.thread(access.thread).len();
        self.mark_program(graph, access.thread, count, class(access));
        while let Some(slot) = self.open.pop() {
            self.expand(graph, slot);
        }
        let marked = |&write: &Slot| self.marks[write.index()] == self.current;
        let led = mo.iter().rposition(marked).map_or(0, |at| at as u32 + 1);
        led.max(own)
    }

    fn admits(&mut self, _graph: &Graph, _slot: Slot) -> bool {
        true
    }
}
