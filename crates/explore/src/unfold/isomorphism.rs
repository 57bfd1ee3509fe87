//! A fingerprint that isomorphic nets share.
//!
//! Thesis, section 3.9: whatever the order of the tests, the resulting nets are isomorphic. Each
//! event gets a fingerprint of its preset, which determines the event. The fingerprint of the net
//! is that of the multiset of these fingerprints.

use mazurka_core::{Fingerprint, ProcessTable};
use rustc_hash::FxHashMap;

use super::net::{NONE, Net, NetKind, Place};

/// Returns the fingerprint of a net. It does not depend on the order in which the net was built or
/// in which processes and cells were met: a cell is identified by the events that touch it.
pub(crate) fn fingerprint(net: &Net, processes: &ProcessTable) -> Fingerprint {
    let mut cells: FxHashMap<u32, Fingerprint> = FxHashMap::default();
    let events = fingerprints(net, processes, &cells);
    for (number, &event) in events.iter().enumerate() {
        for input in net.inputs(number as u32) {
            if let Place::Cell(cell) = net.places[net.condition(input.condition).place as usize] {
                let known = cells.entry(cell).or_insert(Fingerprint::EMPTY);
                *known = known.and(event.then(u64::from(input.write)));
            }
        }
    }
    let events = fingerprints(net, processes, &cells).into_iter();
    events.fold(Fingerprint::EMPTY, Fingerprint::and)
}

/// Returns the fingerprints of the events. Cells with a name in `cells` are identified by it.
fn fingerprints(
    net: &Net,
    processes: &ProcessTable,
    cells: &FxHashMap<u32, Fingerprint>,
) -> Vec<Fingerprint> {
    let mut events: Vec<Fingerprint> = Vec::with_capacity(net.events.len());
    for (number, node) in net.events.iter().enumerate() {
        // The events in the preset come before the event.
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
                Place::Cell(cell) => cells.get(&cell).copied().unwrap_or(Fingerprint::EMPTY),
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
    }
    events
}
