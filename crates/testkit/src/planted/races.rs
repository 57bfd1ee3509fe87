//! The happens-before relation of the current run, to which events are added and from which they
//! are removed, and the queries of race analysis.
//!
//! Source-DPOR (Abdulla, Aronis, Jonsson, Sagonas, POPL 2014), as in section 2 and Algorithm 1 of
//! "Context-Sensitive Dynamic Partial Order Reduction" (CAV 2017). Written for readability, not for
//! speed.
//!
//! | paper | here |
//! |---|---|
//! | e →_E e′ | [`Order::before`] |
//! | notdep(e, E).p | [`Order::not_dependent`] |
//! | I_\[E′\](v) | [`Order::initials`] |

use mazurka_core::{Access, Claims, Event, ProcessId, dependent};

/// Whether some accesses of two steps conflict.
pub(super) fn conflict(one: &Claims, other: &Claims) -> bool {
    one.iter().any(|x| other.iter().any(|y| x.conflicts(*y)))
}

/// A run and its happens-before relation.
#[derive(Default)]
pub(super) struct Order {
    run: Vec<Event>,
    /// For each event, which earlier events happen before it.
    past: Vec<Vec<bool>>,
}

impl Order {
    pub(super) fn len(&self) -> usize {
        self.run.len()
    }

    pub(super) fn event(&self, at: usize) -> &Event {
        &self.run[at]
    }

    pub(super) fn push(&mut self, event: Event) {
        let mut past = vec![false; self.run.len()];
        for at in (0..self.run.len()).rev() {
            if !past[at] && dependent(&self.run[at], &event) {
                past[at] = true;
                for (into, &from) in past.iter_mut().zip(&self.past[at]) {
                    *into |= from;
                }
            }
        }
        self.past.push(past);
        self.run.push(event);
    }

    pub(super) fn pop(&mut self) {
        self.run.pop();
        self.past.pop();
    }

    pub(super) fn before(&self, earlier: usize, later: usize) -> bool {
        self.past[later].get(earlier).copied().unwrap_or(false)
    }

    /// Returns the last event that precedes `at` by program order or spawning: the previous event
    /// of its process, or the event that spawned the process.
    pub(super) fn own_past(&self, at: usize) -> Option<usize> {
        let process = self.run[at].process;
        (0..at)
            .rev()
            .find(|&k| self.run[k].process == process || self.run[k].spawned.contains(&process))
    }

    /// Whether two events of different processes conflict and only this conflict orders them:
    /// `earlier` is not in the past of [`own_past`](Self::own_past) of `later`.
    pub(super) fn concurrent(&self, earlier: usize, later: usize) -> bool {
        let (e, f) = (&self.run[earlier], &self.run[later]);
        e.process != f.process
            && conflict(&e.claims, &f.claims)
            && (self.own_past(later)).is_none_or(|own| own != earlier && !self.before(earlier, own))
    }

    /// Whether happens-before places no third event between the two.
    pub(super) fn adjacent(&self, earlier: usize, later: usize) -> bool {
        !(earlier + 1..later).any(|k| self.before(earlier, k) && self.before(k, later))
    }

    /// Returns the events between `e` and `at` that do not happen after `e`; then `at`.
    pub(super) fn not_dependent(&self, e: usize, at: usize) -> Vec<usize> {
        let mut v: Vec<usize> = (e + 1..at).filter(|&k| !self.before(e, k)).collect();
        v.push(at);
        v
    }

    /// Returns the processes whose first event in `v` depends on nothing earlier in `v`. Only
    /// direct dependence counts: an event outside of `v` that orders two events of `v` does not
    /// occur when `v` runs.
    pub(super) fn initials(&self, v: &[usize]) -> Vec<ProcessId> {
        let mut result = Vec::new();
        for (place, &k) in v.iter().enumerate() {
            let event = &self.run[k];
            if !v[..place].iter().any(|&j| dependent(&self.run[j], event)) {
                result.push(event.process);
            }
        }
        result
    }
}

/// Returns the lock that a step acquires, if it does nothing but acquire one.
pub(super) fn only_acquires(claims: &Claims) -> Option<Access> {
    match claims[..] {
        [one] if one.kind == mazurka_core::AccessKind::Acquire && one.len == 1 => Some(one),
        _ => None,
    }
}
