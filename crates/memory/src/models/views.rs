//! Coherence by happens-before clocks, for the models whose axiom is "hb;eco is irreflexive".
//!
//! A new event e has no hb-successor. If it reads from w or is put after w, eco leads from e to
//! every write mo-after w and to the readers of these writes. So w is allowed iff no write that is
//! mo-after w, and no read of such a write, is hb-before e. Reading from w also puts other events
//! hb-before e. These do not matter: they are hb-before the release that w belongs to, so by
//! coherence none of them is mo-after w.

use crate::graph::{Event, Graph};

/// Returns the first position of mo that a thread may still read from or write after, if `hb` is
/// the clock of happens-before.
pub(super) fn floor(graph: &Graph, access: &Event, hb: usize) -> u32 {
    let Some(tip) = graph.tip(access.thread) else {
        return 0;
    };
    let clock = graph.clock(tip, hb);
    let known = |slot| Graph::within(graph.event(slot), clock);
    let mut position = graph.last_position(access.loc);
    while position > 0 {
        let write = graph.write_at(access.loc, position);
        if known(write) || graph.readers(access.loc, write).any(known) {
            break;
        }
        position -= 1;
    }
    position
}
