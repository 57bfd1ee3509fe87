//! The order of sc events: whether a new access closes a cycle of psc.
//!
//! - scb = po ∪ po;hb;po ∪ hb|loc ∪ rf ∪ mo ∪ rb
//! - psc = \[SC\];(\[F\];hb)?;scb;(hb;\[F\])?;\[SC\] ∪ \[Fsc\];(hb ∪ hb;eco;hb);\[Fsc\]
//!
//! GenMC has no hb|loc. Without it, an sc store would not be ordered before an sc load that reads
//! from a relaxed update in the release sequence of the store; RC11 and C++20 order them. RC11 of
//! PLDI 2017 has no rf, which matters only next to a fence: between sc accesses, rf is part of
//! hb|loc. RC11 of PLDI 2017 also requires different locations in po;hb;po, and treats an update as
//! one event. Here, as in GenMC, an update is two events. So the outcome of Z6.U is forbidden,
//! which RC11 and C++20 admit (docs/memory.md).
//!
//! Next to a fence, hb|loc need not be checked, because it adds no cycle. Let F be hb-before x, and
//! x before b in hb|loc. A cycle leaves b either by po, and F;hb;po is in psc anyway, or to an
//! event that is mo-after x, and F;hb;mo is in psc anyway. The other direction is symmetric.
//!
//! A new event e has no successor in po, rf or hb. So a new edge A → B starts with e: either A is
//! e, or A is a fence that is hb-before e and the path continues from e by rb or mo. So there is a
//! cycle iff the edges that leave e lead back to e or to such a fence. If no write is mo-after e,
//! there are no such edges. An edge from an event to itself would break coherence, which has been
//! checked.
//!
//! The search visits the events that e leads to. It need not compare all pairs of events, because
//! the reached events form suffixes:
//! - po is in psc, so the reached nodes of a thread are its last ones. The same holds for the
//!   events that are hb-after a node or a reached fence.
//! - mo is transitive, so the writes of a location that follow by mo or rb are its last ones. After
//!   a fence the reads of these writes are reached, too (eco).
//!
//! Each suffix only grows, and each event that it gains is followed once. So the cost is linear in
//! the number of events times that of threads. `pairwise` has the edges as they are defined, for
//! tests.

#[cfg(test)]
mod pairwise;

use crate::graph::{Event, Graph, Slot};
use crate::program::{Loc, MemoryOrder, ThreadId};

/// The events that psc is about: its nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeSet {
    /// The clock of happens-before.
    hb: usize,
    accesses: bool,
}

impl NodeSet {
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

    /// Returns the nodes of a thread.
    fn nodes(self, graph: &Graph, thread: ThreadId) -> &[Slot] {
        if self.accesses {
            graph.sc(thread)
        } else {
            graph.sc_fences(thread)
        }
    }
}

/// A search; its memory is reused.
#[derive(Debug, Default)]
pub(super) struct Search {
    threads: Vec<ReachedThread>,
    places: Vec<ReachedPlace>,
    /// Number of this search; entries of earlier searches are invalid.
    current: u64,
    /// Threads with reached nodes that have not been followed.
    open: Vec<ThreadId>,
    /// The accesses among the nodes, sorted; empty until they are needed.
    accesses: Vec<(Loc, ThreadId, u32)>,
}

/// The reached events of a thread, which are always its last ones. All counts but `unfollowed` are
/// numbers of events at the beginning of the thread, which are not reached.
#[derive(Clone, Copy, Debug)]
struct ReachedThread {
    /// Index of an event: all nodes from there on are reached.
    from: u32,
    /// Number of nodes that are not reached. It is updated later than `from`, so it may be too
    /// large.
    nodes: usize,
    /// Number of fences that are not reached. It may be too large, like `nodes`.
    fences: usize,
    /// Number of nodes that have not been followed.
    unfollowed: usize,
    /// Number of events that are not hb-after a followed fence.
    unfenced: usize,
}

/// The reached accesses of a location.
#[derive(Clone, Copy, Debug, Default)]
struct ReachedPlace {
    /// Number of the search that this entry belongs to.
    search: u64,
    /// The writes after this position are reached by mo or rb.
    writes: u32,
    /// The reads of writes after this position are reached by eco from a fence.
    reads: u32,
}

impl Search {
    /// Whether an access that has just been added closes a cycle.
    pub(super) fn finds_cycle(&mut self, graph: &Graph, added: Slot, node_set: NodeSet) -> bool {
        let event = graph.event(added);
        let is_node = node_set.has(event);
        let clock = graph.clock(added, node_set.hb);
        let starts_fenced = |&fence: &Slot| Graph::within(graph.event(fence), clock);
        let mut threads = (0..graph.threads()).map(ThreadId);
        let is_fenced = threads.any(|it| graph.sc_fences(it).first().is_some_and(starts_fenced));
        if !is_node && !is_fenced {
            return false;
        }
        self.begin(graph, node_set);
        let (loc, position) = (event.loc, graph.position(event));
        let mut reach = Reach {
            graph,
            node_set,
            search: self,
        };
        reach.writes_after(loc, position);
        reach.follow_all();
        if is_node && reach.has(event) || is_fenced && reach.has_fence_before(added) {
            return true;
        }
        if !is_fenced {
            return false;
        }
        reach.reads_after(loc, position);
        reach.follow_all();
        reach.has_fence_before(added)
    }

    fn begin(&mut self, graph: &Graph, node_set: NodeSet) {
        self.current += 1;
        self.open.clear();
        self.accesses.clear();
        self.threads.clear();
        self.threads.extend((0..graph.threads()).map(|thread| {
            let thread = ThreadId(thread);
            let nodes = node_set.nodes(graph, thread).len();
            ReachedThread {
                from: u32::MAX,
                nodes,
                fences: graph.sc_fences(thread).len(),
                unfollowed: nodes,
                unfenced: graph.thread(thread).len(),
            }
        }));
    }
}

/// A search in a graph.
struct Reach<'a> {
    graph: &'a Graph,
    node_set: NodeSet,
    search: &'a mut Search,
}

impl Reach<'_> {
    fn clock(&self, slot: Slot) -> &[u32] {
        self.graph.clock(slot, self.node_set.hb)
    }

    fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.graph.threads()).map(ThreadId)
    }

    /// Whether a node is reached.
    fn has(&self, event: &Event) -> bool {
        self.search.threads[event.thread.index()].from <= event.index
    }

    /// Whether a fence that is hb-before an event is reached.
    fn has_fence_before(&self, slot: Slot) -> bool {
        self.threads().any(|thread| {
            let fences = self.graph.sc_fences(thread);
            let is_before = |&fence: &Slot| {
                let fence = self.graph.event(fence);
                Graph::within(fence, self.clock(slot))
            };
            let last = fences[..fences.partition_point(is_before)].last();
            last.is_some_and(|&fence| self.has(self.graph.event(fence)))
        })
    }

    /// Reaches a node, and those after it in its thread.
    fn reach(&mut self, thread: ThreadId, index: u32) {
        let reached = &mut self.search.threads[thread.index()];
        if index < reached.from {
            reached.from = index;
            self.search.open.push(thread);
        }
    }

    fn reach_if_node(&mut self, slot: Slot) {
        let event = self.graph.event(slot);
        if self.node_set.has(event) {
            self.reach(event.thread, event.index);
        }
    }

    /// Reaches the fences that are hb-after an access.
    fn fences_after(&mut self, slot: Slot) {
        let access = self.graph.event(slot);
        for thread in self.threads() {
            let fences = self.graph.sc_fences(thread);
            let mut left = self.search.threads[thread.index()].fences;
            while left > 0 {
                let fence = fences[left - 1];
                let event = self.graph.event(fence);
                if !self.has(event) && !Graph::within(access, self.clock(fence)) {
                    break;
                }
                self.reach(thread, event.index);
                left -= 1;
            }
            self.search.threads[thread.index()].fences = left;
        }
    }

    /// Returns the reached accesses of a location.
    fn place(&mut self, loc: Loc) -> &mut ReachedPlace {
        let search = &mut *self.search;
        if search.places.len() <= loc.index() {
            search.places.resize(loc.index() + 1, Default::default());
        }
        let place = &mut search.places[loc.index()];
        if place.search != search.current {
            let last = self.graph.last_position(loc);
            *place = ReachedPlace {
                search: search.current,
                writes: last,
                reads: last,
            };
        }
        place
    }

    /// Follows mo or rb to the writes after a position.
    fn writes_after(&mut self, loc: Loc, position: u32) {
        let place = self.place(loc);
        let before = place.writes;
        place.writes = before.min(position);
        for at in (position..before).rev() {
            let write = self.graph.write_at(loc, at + 1);
            self.reach_if_node(write);
            self.fences_after(write);
        }
    }

    /// Follows mo;rf or rb;rf to the reads of the writes after a position, and then hb to a fence.
    fn reads_after(&mut self, loc: Loc, position: u32) {
        let place = self.place(loc);
        let before = place.reads;
        place.reads = before.min(position);
        let graph = self.graph;
        for at in (position..before).rev() {
            for read in graph.readers(loc, graph.write_at(loc, at + 1)) {
                self.fences_after(read);
            }
        }
    }

    /// Follows rf.
    fn readers(&mut self, write: Slot) {
        let graph = self.graph;
        let event = graph.event(write);
        if event.kind.is_write() {
            for read in graph.readers(event.loc, write) {
                self.reach_if_node(read);
                self.fences_after(read);
            }
        }
    }

    /// Follows the edges from all nodes that are reached.
    fn follow_all(&mut self) {
        while let Some(thread) = self.search.open.pop() {
            let nodes = self.node_set.nodes(self.graph, thread);
            loop {
                let reached = &mut self.search.threads[thread.index()];
                let Some(last) = reached.unfollowed.checked_sub(1) else {
                    break;
                };
                let node = nodes[last];
                if self.graph.event(node).index < reached.from {
                    break;
                }
                reached.unfollowed = last;
                self.follow(node);
            }
        }
    }

    fn follow(&mut self, node: Slot) {
        let event = self.graph.event(node);
        self.nodes_after(event);
        if event.is_sc_fence() {
            self.follow_fence(event);
        } else {
            self.writes_after(event.loc, self.graph.position(event));
            self.readers(node);
            self.same_location(event);
        }
    }

    /// Follows hb to the nodes of other threads. From an access, hb must start at a later event of
    /// its thread; to an access, it must end at an earlier event of its thread (po;hb;po). A fence
    /// can itself be the start or the end.
    fn nodes_after(&mut self, event: &Event) {
        let count = event.index + if event.is_sc_fence() { 1 } else { 2 };
        for thread in self.threads().filter(|&it| it != event.thread) {
            let nodes = self.node_set.nodes(self.graph, thread);
            let mut left = self.search.threads[thread.index()].nodes;
            while left > 0 {
                let node = nodes[left - 1];
                let other = self.graph.event(node);
                let before = match other.is_sc_fence() {
                    true => Some(node),
                    false => self.graph.before(other),
                };
                let is_after = |before| self.clock(before)[event.thread.index()] >= count;
                if !self.has(other) && !before.is_some_and(is_after) {
                    break;
                }
                self.reach(thread, other.index);
                left -= 1;
            }
            self.search.threads[thread.index()].nodes = left;
        }
    }

    /// Follows hb from a fence to an access, and eco from there.
    fn follow_fence(&mut self, fence: &Event) {
        for thread in self.threads() {
            let events = self.graph.thread(thread);
            loop {
                let reached = &mut self.search.threads[thread.index()];
                let Some(last) = reached.unfenced.checked_sub(1) else {
                    break;
                };
                let slot = events[last];
                if !Graph::within(fence, self.graph.clock(slot, self.node_set.hb)) {
                    break;
                }
                reached.unfenced = last;
                let access = self.graph.event(slot);
                if access.is_access() {
                    let position = self.graph.position(access);
                    self.writes_after(access.loc, position);
                    self.reads_after(access.loc, position);
                    self.readers(slot);
                }
            }
        }
    }

    /// Follows hb|loc to other threads.
    fn same_location(&mut self, access: &Event) {
        if self.search.accesses.is_empty() {
            self.sort_accesses();
        }
        for thread in self.threads().filter(|&it| it != access.thread) {
            let (graph, hb) = (self.graph, self.node_set.hb);
            let is_after = |slot| Graph::within(access, graph.clock(slot, hb));
            let events = graph.thread(thread);
            if !events.last().is_some_and(|&last| is_after(last)) {
                continue;
            }
            let from = self.search.threads[thread.index()].from;
            let unreached = |other: &_| *other < (access.loc, thread, from);
            let mut left = self.search.accesses.partition_point(unreached);
            while let Some(last) = left.checked_sub(1) {
                let (loc, other, index) = self.search.accesses[last];
                let here = loc == access.loc && other == thread;
                if !here || !is_after(events[index as usize]) {
                    break;
                }
                self.reach(thread, index);
                left = last;
            }
        }
    }

    fn sort_accesses(&mut self) {
        for thread in self.threads() {
            let nodes = self.node_set.nodes(self.graph, thread).iter();
            let events = nodes.map(|&node| self.graph.event(node));
            let accesses = events.filter(|event| event.is_access());
            let keys = accesses.map(|event| (event.loc, thread, event.index));
            self.search.accesses.extend(keys);
        }
        self.search.accesses.sort_unstable();
    }
}
