//! Total store order: (po|loc ∪ rf ∪ mo ∪ rb) and (ppo ∪ rfe ∪ mo ∪ rb) are acyclic.
//!
//! - ppo is po without the pairs of a write and a later read, plus those pairs with a fence of
//!   order sc or an update between them or at an end. An update that writes nothing counts too: x86
//!   locks the bus for it.
//! - A write of order sc is a write and a fence.
//! - A spawn is a write that the new thread reads first, the end of a thread a write that each join
//!   of it reads. Other fences, and choices, order nothing.
//!
//! Both relations are checked as in `sc`: a new event leads to the next write in mo only. For the
//! first it is enough to look at the accesses of the own thread: each edge leads to the same
//! position of mo or to a later one. For the second, what leads to the event is searched, by marks,
//! since ppo does not contain everything before an event.

use super::Model;
use crate::graph::{Event, Graph, Kind, Slot};
use crate::program::{Loc, MemoryOrder, ThreadId};

/// The model.
#[derive(Debug, Default)]
pub(crate) struct Tso {
    /// Which events lead to the new one: those with the current number.
    marks: Vec<u32>,
    current: u32,
    /// Marked events whose predecessors have not been marked yet.
    open: Vec<Slot>,
    /// How far the events of each thread have been looked at.
    looked: Vec<Looked>,
}

/// The first events of a thread that have been looked at in a search.
#[derive(Clone, Copy, Debug, Default)]
struct Looked {
    /// All that are in ppo are marked.
    all: usize,
    /// Those that are ordered before a read are marked.
    reads: usize,
}

/// What an event is to ppo.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Read,
    Write,
    /// A write with a fence after it.
    FencedWrite,
    /// An update or a fence: ordered with everything.
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

    /// Marks what ppo orders before an event of a class after the first `count` of a thread.
    fn mark_program(&mut self, graph: &Graph, thread: ThreadId, count: usize, of: Class) {
        if let Some(spawn) = graph.spawn_of(thread) {
            self.mark(spawn);
        }
        let looked = self.looked[thread.index()];
        if of != Class::Read {
            return self.mark_all(graph, thread, count);
        }
        self.looked[thread.index()].reads = looked.reads.max(count);
        let known = looked.all.max(looked.reads);
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

    /// Marks the first events of a thread that are in ppo.
    fn mark_all(&mut self, graph: &Graph, thread: ThreadId, count: usize) {
        let from = self.looked[thread.index()].all;
        for &slot in graph.thread(thread).get(from..count).unwrap_or_default() {
            if class(graph.event(slot)) != Class::Local {
                self.mark(slot);
            }
        }
        self.looked[thread.index()].all = from.max(count);
    }

    /// Marks a write of mo, and its readers, which lead to the next write.
    fn mark_write(&mut self, graph: &Graph, loc: Loc, position: u32) {
        let write = graph.write_at(loc, position);
        if write != Slot::INITIAL {
            self.mark(write);
        }
        for read in graph.readers(loc, write) {
            self.mark(read);
        }
    }

    /// Marks what directly leads to an event.
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

    /// The floor of the first axiom.
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
        self.looked.clear();
        self.looked
            .resize(graph.threads() as usize, Looked::default());
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
