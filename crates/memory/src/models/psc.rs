//! The order of sc events: whether a new access closes a cycle of psc.
//!
//! - scb = po ∪ po;hb;po ∪ hb|loc ∪ rf ∪ mo ∪ rb
//! - psc = \[SC\];(\[F\];hb)?;scb;(hb;\[F\])?;\[SC\] ∪ \[Fsc\];(hb ∪ hb;eco;hb);\[Fsc\]
//!
//! GenMC has no hb|loc: then a relaxed update in the release sequence of an sc store would separate
//! it from an sc load, which RC11 and C++20 both forbid. RC11 of PLDI 2017 has no rf, which matters
//! only next to a fence: between sc accesses, rf is part of hb|loc. It requires different locations
//! in po;hb;po, and treats an update as one event. Here, as in GenMC, an update is two events. So
//! the outcome of Z6.U is forbidden, which RC11 and C++20 admit (docs/memory.md).
//!
//! Next to a fence, hb|loc need not be checked, because it adds no cycle. Let F be hb-before x, and
//! x before b in hb|loc. A cycle leaves b either by po, and F;hb;po is in psc anyway, or to an
//! event that is mo-after x, and F;hb;mo is in psc anyway. The other direction is symmetric.
//!
//! A new event e has no successor in po, rf or hb. So a new edge A → B starts with e: either A is
//! e, or A is a fence that is hb-before e and the path continues from e by rb or mo. Cycles are
//! searched only from these A, and not at all if no write is mo-after e. An edge from an event to
//! itself would break coherence, which has been checked.

use crate::graph::{Event, Graph, Slot};
use crate::program::{Loc, MemoryOrder, ThreadId};

/// The events that psc is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sort {
    /// The clock of happens-before.
    hb: usize,
    accesses: bool,
}

impl Sort {
    /// Fences and accesses of order sc.
    pub(super) fn all(hb: usize) -> Self {
        Self { hb, accesses: true }
    }

    /// Fences of order sc.
    pub(super) fn fences(hb: usize) -> Self {
        Self {
            hb,
            accesses: false,
        }
    }

    fn has(self, event: &Event) -> bool {
        event.order == MemoryOrder::SeqCst && (self.accesses || event.is_sc_fence())
    }
}

/// A depth-first search; its memory is reused.
#[derive(Debug, Default)]
pub(super) struct Search {
    nodes: Vec<Slot>,
    reached: Vec<bool>,
    open: Vec<Slot>,
}

impl Search {
    /// Whether an access that has just been added closes a cycle.
    pub(super) fn finds_cycle(&mut self, graph: &Graph, added: Slot, sort: Sort) -> bool {
        self.nodes.clear();
        for thread in 0..graph.threads() {
            let events = graph.thread(ThreadId(thread)).iter();
            let nodes = events.filter(|&&slot| sort.has(graph.event(slot)));
            self.nodes.extend(nodes);
        }
        let edges = Edges { graph, hb: sort.hb };
        (0..self.nodes.len()).any(|at| {
            let start = self.nodes[at];
            let fence = graph.event(start).is_sc_fence();
            let is_new = start == added || (fence && edges.happens_before(start, added));
            is_new && self.returns(&edges, start)
        })
    }

    /// Whether a path leads from a node back to itself.
    fn returns(&mut self, edges: &Edges<'_>, start: Slot) -> bool {
        self.reached.clear();
        self.reached.resize(self.nodes.len(), false);
        self.open.clear();
        self.open.push(start);
        while let Some(from) = self.open.pop() {
            for (at, &to) in self.nodes.iter().enumerate() {
                if self.reached[at] || to == from || !edges.has(from, to) {
                    continue;
                }
                if to == start {
                    return true;
                }
                self.reached[at] = true;
                self.open.push(to);
            }
        }
        false
    }
}

/// The edges of psc.
struct Edges<'a> {
    graph: &'a Graph,
    hb: usize,
}

impl Edges<'_> {
    fn happens_before(&self, a: Slot, b: Slot) -> bool {
        a != b && Graph::within(self.graph.event(a), self.graph.clock(b, self.hb))
    }

    /// Whether an event that is po-after `a` is hb-before `b`, or is `b`.
    fn next_happens_before(&self, a: &Event, b: Slot) -> bool {
        self.graph.clock(b, self.hb)[a.thread.index()] >= a.index + 2
    }

    fn has(&self, from: Slot, to: Slot) -> bool {
        let (a, b) = (self.graph.event(from), self.graph.event(to));
        if a.thread == b.thread && a.index < b.index {
            return true;
        }
        let before = self.graph.before(b);
        if before.is_some_and(|before| self.next_happens_before(a, before)) {
            return true;
        }
        match (a.is_sc_fence(), b.is_sc_fence()) {
            (false, false) => {
                self.is_direct(a, b)
                    || a.is_access()
                        && b.is_access()
                        && a.loc == b.loc
                        && self.happens_before(from, to)
            }
            (true, false) => {
                before.is_some_and(|before| before != from && self.happens_before(from, before))
                    || self.leads_from_fence(from, b)
            }
            (false, true) => self.next_happens_before(a, to) || self.leads_to_fence(a, to),
            (true, true) => self.happens_before(from, to) || self.leads_between(from, to),
        }
    }

    /// Whether rf ∪ mo ∪ rb contains a pair.
    fn is_direct(&self, a: &Event, b: &Event) -> bool {
        if !a.is_access() || !b.is_access() || a.loc != b.loc {
            return false;
        }
        let (at, to) = (self.graph.position(a), self.graph.position(b));
        match (a.kind.is_write(), b.kind.is_write()) {
            (_, true) => at < to,
            (true, false) => at == to,
            (false, false) => false,
        }
    }

    /// Whether eco contains a pair.
    fn is_eco(&self, a: &Event, b: &Event) -> bool {
        let (at, to) = (self.graph.position(a), self.graph.position(b));
        if a.kind.is_write() && b.kind.is_read() {
            at <= to
        } else {
            at < to
        }
    }

    /// Returns the accesses to a location.
    fn accesses(&self, loc: Loc) -> impl Iterator<Item = Slot> {
        let (mo, reads) = (self.graph.mo(loc), self.graph.reads(loc));
        mo.iter().chain(reads).copied()
    }

    /// Whether \[F\];hb;(rf ∪ mo ∪ rb) contains a pair.
    fn leads_from_fence(&self, fence: Slot, b: &Event) -> bool {
        let starts = |x: &Slot| self.happens_before(fence, *x);
        let mut accesses = self.accesses(b.loc).filter(starts);
        accesses.any(|x| self.is_direct(self.graph.event(x), b))
    }

    /// Whether (rf ∪ mo ∪ rb);hb;\[F\] contains a pair.
    fn leads_to_fence(&self, a: &Event, fence: Slot) -> bool {
        let ends = |y: &Slot| self.happens_before(*y, fence);
        let mut accesses = self.accesses(a.loc).filter(ends);
        accesses.any(|y| self.is_direct(a, self.graph.event(y)))
    }

    /// Whether \[F\];hb;eco;hb;\[F\] contains a pair; this includes a single step of rf, mo or rb.
    fn leads_between(&self, from: Slot, to: Slot) -> bool {
        let places = (0..self.graph.locations()).map(Loc);
        places.into_iter().any(|loc| {
            let starts = self.accesses(loc).filter(|&x| self.happens_before(from, x));
            starts.into_iter().any(|x| {
                let mut ends = self.accesses(loc).filter(|&y| self.happens_before(y, to));
                ends.any(|y| self.is_eco(self.graph.event(x), self.graph.event(y)))
            })
        })
    }
}
