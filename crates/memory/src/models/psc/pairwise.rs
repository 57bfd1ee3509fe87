//! The edges of psc as they are defined, for each pair of nodes, to compare the search with them on
//! random graphs.

use mazurka_core::Random;

use super::{NodeSet, Search};
use crate::graph::{Event, Graph, Kind, PORF, Slot};
use crate::models::{Model, Ra, Rc11};
use crate::program::{Loc, MemoryOrder, ThreadId};

/// Whether psc has a cycle.
fn has_cycle(graph: &Graph, node_set: NodeSet) -> bool {
    let threads = (0..graph.threads()).map(ThreadId);
    let nodes = threads.flat_map(|thread| graph.thread(thread)).copied();
    let nodes: Vec<Slot> = nodes.filter(|&it| node_set.has(graph.event(it))).collect();
    let edges = Edges {
        graph,
        hb: node_set.hb,
    };
    nodes.iter().any(|&start| {
        let mut reached = vec![false; nodes.len()];
        let mut open = vec![start];
        while let Some(from) = open.pop() {
            for (at, &to) in nodes.iter().enumerate() {
                if to != from && !reached[at] && edges.has(from, to) {
                    reached[at] = true;
                    open.push(to);
                }
            }
        }
        let at = nodes.iter().position(|&it| it == start);
        reached[at.expect("a node")]
    })
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

/// How many of a hundred events have a feature. There are different graphs with each.
struct Shares {
    /// Order sc, among the accesses.
    sc: u64,
    /// Order acq_rel instead of relaxed.
    acq_rel: u64,
    fences: u64,
    updates: u64,
}

/// A random graph that grows by one event at a time.
struct Growing<M> {
    graph: Graph,
    model: M,
    node_set: NodeSet,
    random: Random,
    locations: u64,
    shares: Shares,
    ended: Vec<bool>,
    search: Search,
    /// Number of events that were refused because they close a cycle.
    refused: u32,
}

impl<M: Model> Growing<M> {
    fn new(seed: u64, model: M, node_set: NodeSet) -> Self {
        let mut random = Random::new(seed);
        let mut graph = Graph::new(model.clocks());
        let threads = 2 + random.below(3);
        graph.know_thread(ThreadId(threads as u32 - 1));
        let locations = 2 + random.below(3);
        let shares = Shares {
            sc: 30 * random.below(4),
            acq_rel: 40 * random.below(3),
            fences: 15 * random.below(3),
            updates: 5 + 30 * random.below(2),
        };
        for loc in 0..locations {
            graph.know_location(Loc(loc as u32), || 0);
        }
        let mut growing = Self {
            graph,
            model,
            node_set,
            random,
            locations,
            shares,
            ended: vec![false; threads as usize],
            search: Search::default(),
            refused: 0,
        };
        growing.spawn();
        growing
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    /// Starts some of the threads from the first one, which may have made events before.
    fn spawn(&mut self) {
        for child in 1..self.ended.len() as u32 {
            if self.chance(30) {
                self.grow(ThreadId(0));
                let order = MemoryOrder::Relaxed;
                self.add(Event::new(ThreadId(0), Kind::Spawn, order, Loc(child)));
            }
        }
    }

    fn add(&mut self, event: Event) -> Slot {
        let slot = self.graph.push(event);
        self.model.view(&mut self.graph, slot);
        slot
    }

    /// Adds an access, and takes everything since the mark back if it closes a cycle.
    fn try_access(&mut self, event: Event, mark: usize) -> bool {
        let added = self.add(event);
        let expected = has_cycle(&self.graph, self.node_set);
        let found = self.search.finds_cycle(&self.graph, added, self.node_set);
        assert_eq!(found, expected, "{event:?} in {:#?}", self.graph);
        if found {
            self.refused += 1;
            self.graph.undo(mark);
        }
        !found
    }

    fn order(&mut self) -> MemoryOrder {
        if self.chance(self.shares.sc) {
            MemoryOrder::SeqCst
        } else if self.chance(self.shares.acq_rel) {
            MemoryOrder::AcqRel
        } else {
            MemoryOrder::Relaxed
        }
    }

    /// Adds a random event to a thread.
    fn grow(&mut self, thread: ThreadId) {
        let kind = if self.chance(self.shares.fences) {
            Kind::Fence
        } else if self.chance(self.shares.updates) {
            Kind::UpdateRead
        } else {
            [Kind::Load, Kind::Store][self.random.below(2) as usize]
        };
        let order = match kind {
            Kind::Fence if self.chance(80) => MemoryOrder::SeqCst,
            _ => self.order(),
        };
        let loc = Loc(self.random.below(self.locations) as u32);
        let mut event = Event::new(thread, kind, order, loc);
        if kind == Kind::Fence {
            event.loc = Loc(0);
            self.add(event);
            assert!(!has_cycle(&self.graph, self.node_set), "{:#?}", self.graph);
            return;
        }
        let floor = self.model.floor(&self.graph, &event);
        let places = self.graph.last_position(loc) + 1 - floor;
        // The oldest write is often the one that closes a cycle.
        let position = match self.chance(40) {
            true => floor,
            false => floor + self.random.below(u64::from(places)) as u32,
        };
        if kind != Kind::Load && self.graph.taker(loc, position).is_some() {
            return;
        }
        let mark = self.graph.mark();
        if kind == Kind::Store {
            event.position = position + 1;
            self.try_access(event, mark);
            return;
        }
        event.rf = self.graph.write_at(loc, position);
        if self.try_access(event, mark) && kind == Kind::UpdateRead {
            let mut write = Event::new(thread, Kind::UpdateWrite, order, loc);
            write.position = position + 1;
            self.try_access(write, mark);
        }
    }

    fn grow_to(&mut self, events: usize) {
        for _ in 0..events {
            let thread = self.random.below(self.ended.len() as u64) as usize;
            if self.ended[thread] {
                continue;
            }
            if thread == 0 && self.chance(10) {
                let child = 1 + self.random.below(self.ended.len() as u64 - 1) as u32;
                self.ended[child as usize] = true;
                let order = MemoryOrder::Relaxed;
                self.add(Event::new(ThreadId(0), Kind::Join, order, Loc(child)));
                continue;
            }
            self.grow(ThreadId(thread as u32));
        }
    }
}

#[test]
fn the_search_finds_the_cycles_of_all_pairs() {
    let (mut rc11, mut ra) = (0, 0);
    for seed in 0..10_000 {
        let mut growing = Growing::new(seed, Rc11::default(), NodeSet::all(1));
        growing.grow_to(12 + seed as usize % 20);
        rc11 += growing.refused;
        let mut growing = Growing::new(seed, Ra::default(), NodeSet::fences(PORF));
        growing.grow_to(12 + seed as usize % 20);
        ra += growing.refused;
    }
    assert!(rc11 > 300 && ra > 50, "{rc11} and {ra} cycles");
}
