//! RC11: C++20's orderings without load buffering, as GenMC ≥ 0.10 reads the axiom for sc.
//!
//! Lahav, Vafeiadis, Kang, Hur, Dreyer, "Repairing Sequential Consistency in C/C++11", PLDI 2017,
//! doi 10.1145/3062341.3062352, with C++20's release sequences.
//!
//! - rb = rf⁻¹;mo, eco = (rf ∪ mo ∪ rb)+
//! - sw = \[rel\];(\[F\];po)?;\[W≥rlx\];(rf;rmw)*;rf;\[R≥rlx\];(po;\[F\])?;\[acq\]
//! - hb = (po ∪ sw)+, where a spawn is before the first event of its thread, and the last event of
//!   a thread before each join of it. A fence and the access that it strengthens are in one thread.
//! - coherence: hb and hb;eco are irreflexive
//! - atomicity: rmw ∩ (rb;mo) = ∅
//! - no load buffering: po ∪ rf is acyclic
//! - psc is acyclic: \[SC\];(\[F\];hb)?;scb;(hb;\[F\])?;\[SC\] ∪ \[Fsc\];(hb ∪ hb;eco;hb);\[Fsc\]
//!   with scb = po ∪ po;hb;po ∪ hb|loc ∪ rf ∪ mo ∪ rb
//! - a data race is a failure: accesses of different threads to one location that hb does not
//!   order, at least one of them plain and at least one a write
//!
//! | axiom | here |
//! |---|---|
//! | hb | the clock `HB` |
//! | what an acquiring fence adds to hb | the clock `ACQUIRABLE` |
//! | what an acquiring read gets from a write | the clock `RELEASED` |
//! | coherence | `views::floor` |
//! | atomicity | the engine: the write of an update is put directly after the write that it reads |
//! | no load buffering | the engine: a read reads a write that was added before it |
//! | psc | `psc` |

use super::{Model, is_overtaken, psc, views};
use crate::graph::{Event, Graph, Kind, Slot};
use crate::planted::Planted;
use crate::program::MemoryOrder;

const HB: usize = 1;
const ACQUIRABLE: usize = 2;
const RELEASED: usize = 3;

/// The model.
#[derive(Debug, Default)]
pub(crate) struct Rc11 {
    search: psc::Search,
    planted: Planted,
}

impl Rc11 {
    /// Makes a model with a planted mistake.
    pub(crate) fn new(planted: Planted) -> Self {
        Self {
            planted,
            ..Self::default()
        }
    }

    /// Computes the clock that a write releases.
    fn release(&self, graph: &mut Graph, slot: Slot) {
        let event = *graph.event(slot);
        if event.order.releases() {
            graph.copy_clock(slot, HB, RELEASED);
        } else if event.release_fence != Slot::NONE
            && event.order.is_atomic()
            && self.planted != Planted::NoReleaseFences
        {
            graph.join_clock(slot, RELEASED, event.release_fence, HB);
        }
        if event.kind.writes_exclusively() && self.planted != Planted::NoReleaseSequences {
            let read = graph.before(&event).expect("an update reads first");
            let head = graph.event(read).rf;
            if head != Slot::INITIAL {
                graph.join_clock(slot, RELEASED, head, RELEASED);
            }
        }
    }
}

impl Model for Rc11 {
    fn clocks(&self) -> usize {
        4
    }

    fn races(&self) -> Option<usize> {
        Some(HB)
    }

    fn view(&self, graph: &mut Graph, slot: Slot) {
        let event = *graph.event(slot);
        graph.clear_clock(slot, RELEASED);
        if event.index == 0 {
            graph.copy_clock(slot, HB, ACQUIRABLE);
        }
        match event.kind {
            Kind::Fence if event.order.acquires() => graph.copy_clock(slot, ACQUIRABLE, HB),
            Kind::Join => graph.join_thread(slot, HB),
            kind if kind.is_read() && event.rf != Slot::INITIAL && event.order.is_atomic() => {
                graph.join_clock(slot, ACQUIRABLE, event.rf, RELEASED);
                if event.order.acquires() {
                    graph.join_clock(slot, HB, event.rf, RELEASED);
                }
            }
            _ => {}
        }
        graph.tick(slot, HB);
        graph.join_clock(slot, ACQUIRABLE, slot, HB);
        if event.kind.is_write() {
            self.release(graph, slot);
        }
    }

    fn floor(&mut self, graph: &Graph, access: &Event) -> u32 {
        views::floor(graph, access, HB)
    }

    fn admits(&mut self, graph: &Graph, slot: Slot) -> bool {
        let event = graph.event(slot);
        let (fences, accesses) = graph.sc_events();
        let concerned = fences > 0 || event.order == MemoryOrder::SeqCst;
        if fences + accesses < 2 || !concerned || !is_overtaken(graph, event) {
            return true;
        }
        self.planted == Planted::NoPsc
            || !self.search.finds_cycle(graph, slot, psc::NodeSet::all(HB))
    }
}
