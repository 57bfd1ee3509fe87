//! Coherence by happens-before clocks, for the models whose axiom is "hb;eco is irreflexive".
//!
//! A new event e has no hb-successor. If it reads from w or is put after w, eco leads from it to
//! every write mo-after w and to their readers. So w is allowed iff none of those is hb-before e:
//! w must not be mo-before a write, or before what a read reads, that is hb-before e. What e
//! acquires by reading from w adds nothing: it is hb-before the release that w belongs to, hence
//! not mo-after w.

use crate::graph::{Event, Graph};

/// The first position of mo that a thread may still read from or write after, if happens-before is
/// this clock of its last event.
pub(super) fn floor(graph: &Graph, access: &Event, hb: usize) -> u32 {
    let Some(tip) = graph.tip(access.thread) else {
        return 0;
    };
    let clock = graph.clock(tip, hb);
    let known = |slot| Graph::within(graph.event(slot), clock);
    let mo = graph.mo(access.loc);
    let written = mo.iter().rposition(|&write| known(write));
    let mut floor = written.map_or(0, |at| at as u32 + 1);
    for &read in graph.reads(access.loc) {
        let position = graph.write_position(graph.event(read).rf);
        if position > floor && known(read) {
            floor = position;
        }
    }
    floor
}
