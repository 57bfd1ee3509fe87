//! The executions that a net represents: the configurations after which no event can happen.
//!
//! In the contextual net such a configuration need not be a maximal set of events: it may lack a
//! read that could have happened earlier but no longer can.
//!
//! This search follows no paper. It visits every configuration once, so it is useful only for small
//! nets. Tests use it to check that nets represent the right executions.

use rustc_hash::FxHashSet;

use super::configuration::Examiner;
use super::net::{NONE, Net};

/// Calls `visit` with the clock of each such configuration. Returns false if there are more than
/// `most` configurations.
pub(crate) fn maximal(net: &Net, most: usize, visit: &mut dyn FnMut(&[u32])) -> bool {
    let mut examiner = Examiner::default();
    let mut known: FxHashSet<Vec<u32>> = FxHashSet::default();
    let mut left = vec![Vec::new()];
    let mut next = Vec::new();
    while let Some(clock) = left.pop() {
        let mut extended = false;
        for thread in net.threads_after(&clock) {
            for extension in net.extensions_of(thread) {
                next.clone_from(&clock);
                if !net.join(&mut next, net.past(extension)) || !same(&next, &clock) {
                    continue;
                }
                for event in net.events_of(extension) {
                    let needed: Vec<u32> = net.inputs(event).iter().map(|i| i.condition).collect();
                    super::net::set(&mut next, net.event(event).process, event);
                    if examiner.reaches(net, &clock, &needed) && examiner.reaches(net, &next, &[]) {
                        extended = true;
                        if known.insert(next.clone()) {
                            left.push(next.clone());
                        }
                    }
                }
            }
        }
        if !extended {
            visit(&clock);
        }
        if known.len() > most {
            return false;
        }
    }
    true
}

fn same(one: &[u32], other: &[u32]) -> bool {
    let end = |clock: &[u32]| {
        clock
            .iter()
            .rposition(|&e| e != NONE)
            .map_or(0, |at| at + 1)
    };
    one[..end(one)] == other[..end(other)]
}
