//! Co-checks and schedules: which sets of events can happen together, and in which order.
//!
//! Thesis, sections 4.7 and 5.5 (Fig. 5.7). A set is given by a clock: the last event of each
//! process, which represents itself and all of its causes. The set is a configuration if no two of
//! its events take the same condition (`net.rs` defines conditions, replicated and contextual nets)
//! and, in the contextual net, the order imposed by reads has no cycle. (A reader comes before the
//! event that takes the condition it read: the asymmetric conflict ↗.)
//!
//! In a replicated net a reader and a taker of the same condition are in conflict unless the read
//! is a cause of the write. Each event stores, for each condition that it takes, the number of its
//! causes that read this condition. If the set contains more readers of the condition, there is a
//! conflict. In the contextual net such readers are not in conflict with the taker, but they may
//! cause a cycle. Without them no cycle is possible, because causality alone orders the set.

use super::net::{NONE, Net, NetKind};

/// How the current set uses a condition.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    /// The mark is valid if this is the current round.
    round: u32,
    /// Whether an event of the set takes the condition.
    taken: bool,
    /// Number of events of the set that read the condition.
    readers: u32,
}

/// Examines sets of events. It is kept to reuse its allocations.
#[derive(Debug, Default)]
pub(crate) struct Examiner {
    round: u32,
    marks: Vec<Mark>,
    /// For each event, the round in which it was fired.
    fired: Vec<u32>,
    /// The events of the current set; those of a process in reverse order.
    events: Vec<u32>,
    /// For each process, a slice of `sorted` with its events that have not fired: start and end.
    /// The events are in reverse order, so the next one to fire is the last of the slice.
    heads: Vec<(u32, u32)>,
    sorted: Vec<u32>,
}

impl Examiner {
    fn start(&mut self, net: &Net) {
        self.round += 1;
        if self.marks.len() < net.conditions.len() {
            self.marks.resize(net.conditions.len() * 2, Mark::default());
        }
        if self.fired.len() < net.events.len() {
            self.fired.resize(net.events.len() * 2, 0);
        }
    }

    #[inline]
    fn mark(&mut self, condition: u32) -> &mut Mark {
        let mark = &mut self.marks[condition as usize];
        if mark.round != self.round {
            *mark = Mark {
                round: self.round,
                ..Mark::default()
            };
        }
        mark
    }

    /// Collects the events of a clock. Returns false if two of them take the same condition.
    fn collect(&mut self, net: &Net, clock: &[u32]) -> bool {
        self.start(net);
        self.events.clear();
        for &last in clock {
            let mut event = last;
            while event != NONE {
                self.events.push(event);
                for input in net.inputs(event) {
                    let mark = self.mark(input.condition);
                    if input.write {
                        if std::mem::replace(&mut mark.taken, true) {
                            return false;
                        }
                    } else {
                        mark.readers += 1;
                    }
                }
                event = net.event(event).parent;
            }
        }
        true
    }

    /// Whether all readers of each taken condition are causes of the event that takes it.
    fn causes_alone(&self, net: &Net) -> bool {
        let readers = |condition: u32| self.marks[condition as usize].readers;
        let fits = |&event: &u32| {
            let mut taken = net.inputs(event).iter().filter(|input| input.write);
            taken.all(|input| readers(input.condition) == input.reads)
        };
        self.events.iter().all(fits)
    }

    /// Whether the set of a clock is a configuration after which these conditions are marked.
    pub fn reaches(&mut self, net: &Net, clock: &[u32], preset: &[u32]) -> bool {
        if !self.collect(net, clock) || preset.iter().any(|&c| self.mark(c).taken) {
            return false;
        }
        match (self.causes_alone(net), net.kind) {
            (true, _) => true,
            (false, NetKind::Replicated | NetKind::Stateful) => false,
            (false, NetKind::Contextual) => self.order(net, clock, &mut |_| {}),
        }
    }

    /// Computes the condition that each of some places has after a configuration.
    pub fn marking(&mut self, net: &Net, clock: &[u32], places: &[u32], into: &mut Vec<u32>) {
        let consistent = self.collect(net, clock);
        debug_assert!(consistent, "a configuration in conflict with itself");
        into.clear();
        into.extend(places.iter().map(|&place| net.initial[place as usize]));
        for at in 0..self.events.len() {
            let node = net.event(self.events[at]);
            for condition in node.outputs..node.outputs + node.output_count {
                let wanted = places.binary_search(&net.condition(condition).place);
                if let Ok(wanted) = wanted
                    && !self.mark(condition).taken
                {
                    into[wanted] = condition;
                }
            }
        }
    }

    /// Returns the number of events of the last set that read a condition.
    pub fn readers(&mut self, condition: u32) -> u32 {
        self.mark(condition).readers
    }

    /// Orders the events of a configuration so that they can happen in this order (Fig. 5.7).
    pub fn schedule(&mut self, net: &Net, clock: &[u32], into: &mut Vec<u32>) {
        into.clear();
        let possible =
            self.collect(net, clock) && self.order(net, clock, &mut |event| into.push(event));
        debug_assert!(possible, "a schedule for what cannot happen");
    }

    /// Fires the collected events, the events of each process in their order. Returns false if some
    /// cannot be fired.
    fn order(&mut self, net: &Net, clock: &[u32], fire: &mut dyn FnMut(u32)) -> bool {
        self.sorted.clear();
        self.heads.clear();
        for &last in clock {
            let first = self.sorted.len() as u32;
            let mut event = last;
            while event != NONE {
                self.sorted.push(event);
                event = net.event(event).parent;
            }
            // Events were pushed in reverse order, so the first one is at the end of the slice.
            self.heads.push((first, self.sorted.len() as u32));
        }
        let mut left = self.sorted.len();
        while left > 0 {
            let before = left;
            for process in 0..self.heads.len() {
                while self.heads[process].0 < self.heads[process].1 {
                    let event = self.sorted[self.heads[process].1 as usize - 1];
                    if !self.can_fire(net, event) {
                        break;
                    }
                    self.fired[event as usize] = self.round;
                    for input in net.inputs(event).iter().filter(|input| !input.write) {
                        self.mark(input.condition).readers -= 1;
                    }
                    fire(event);
                    self.heads[process].1 -= 1;
                    left -= 1;
                }
            }
            if left == before {
                return false;
            }
        }
        true
    }

    /// Whether the conditions of an event are marked, and no event of the set that has not fired
    /// reads a condition that this event takes.
    fn can_fire(&mut self, net: &Net, event: u32) -> bool {
        let there =
            |fired: &[u32], event: u32| event == NONE || fired[event as usize] == self.round;
        let thread = net.extension(net.event(event).extension).thread;
        there(&self.fired, net.thread(thread).origin)
            && net.inputs(event).iter().all(|input| {
                let mark = &self.marks[input.condition as usize];
                there(&self.fired, net.condition(input.condition).producer)
                    && (!input.write || mark.readers == 0)
            })
    }
}
