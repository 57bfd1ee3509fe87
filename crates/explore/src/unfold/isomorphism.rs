//! A fingerprint that isomorphic nets share.
//!
//! Thesis, section 3.9: whatever the order of the tests, the nets are isomorphic. Each event gets a
//! fingerprint of its preset, which determines it; the net is the multiset of these.

use mazurka_core::{Fingerprint, ProcessTable};

use super::net::{NONE, Net, NetKind, Place};

/// Returns the fingerprint of a net. It does not depend on the order in which the net was built and
/// processes were met.
pub(crate) fn fingerprint(net: &Net, processes: &ProcessTable) -> Fingerprint {
    let mut events: Vec<Fingerprint> = Vec::with_capacity(net.events.len());
    let mut all = Fingerprint::EMPTY;
    for (number, node) in net.events.iter().enumerate() {
        // The events in its preset come before it.
        let of = |event: u32| match event {
            NONE => Fingerprint::EMPTY,
            event => events[event as usize],
        };
        let thread = net.thread(net.extension(node.extension).thread);
        let mut this = processes.name(node.process).then_all(of(thread.origin));
        for &outcome in net.chosen(number as u32) {
            this = this.then(outcome as u64);
        }
        let mut inputs = Fingerprint::EMPTY;
        for input in net.inputs(number as u32) {
            let condition = net.condition(input.condition);
            let place = match net.places[condition.place as usize] {
                Place::Cell(cell) => Fingerprint::EMPTY.then(u64::from(cell)),
                Place::End(process) => processes.name(process),
            };
            let arc = place.then_all(of(condition.producer));
            inputs = inputs.and(arc.then(u64::from(input.write)));
        }
        if net.kind == NetKind::Replicated {
            // Processes without events are left out: their number depends on which process was met
            // first.
            let past = net.past(node.extension).iter().filter(|&&e| e != NONE);
            inputs = past.fold(inputs, |all, &event| all.and(of(event)));
        }
        this = this.then_all(inputs);
        events.push(this);
        all = all.and(this);
    }
    all
}
