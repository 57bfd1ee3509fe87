//! Regions: the part of a net that one worker builds.
//!
//! A region of the net of a program is given by two sets of events: those that its executions
//! *require*, and those that they *forbid*. `parts.rs` divides a net into regions, so that each
//! execution belongs to exactly one of them. A [`Builder`](super::extensions::Builder) with a
//! region keeps the extensions that lie outside, but bars them: no test makes their steps.
//!
//! An extension is barred
//! - if it is forbidden, or
//! - if it is in direct conflict with a required event or a cause of one: they are steps of the
//!   same local state, or one of them takes a condition that the other takes (in a replicated net:
//!   takes or reads) and is not a cause of it.
//!
//! The causes of an extension are never barred, so a conflict that is inherited needs no check. In
//! a contextual net three or more events may exclude each other although any two of them do not.
//! Such events are not barred. That costs only time: they are events of the program, too.
//!
//! *Each event counts once.* An event counts in the region of which it has all required events
//! among itself and its causes. Let a net be divided by an event e, into the region that requires e
//! and the one that forbids e. If e is the event or one of its causes, it is only in the first
//! region. Otherwise it is in the second one, and perhaps in the first one as well, where it does
//! not count. A deadlock counts in the region of which it has all required events; the same
//! argument applies.

use mazurka_core::{Fingerprint, ProcessId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::net::{NONE, Net, NetKind, Place};

/// An event that a region forbids: it has only one outcome, and touches only cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forbidden {
    /// The [fingerprint](print) of its extension.
    pub print: Fingerprint,
    /// Number of its causes.
    pub causes: u32,
}

/// The numbers that a net counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NetCounts {
    pub events: u64,
    /// Number of conditions, except those of which there is one for each process.
    pub conditions: u64,
    /// Number of conditions of which there is one for each process.
    pub copies: u64,
}

/// A region of a net that is being built.
#[derive(Debug, Default)]
pub(crate) struct Region {
    forbidden: Vec<Forbidden>,
    /// The required events that are not causes of other required events.
    required: Vec<u32>,
    /// For each condition that required events or their causes touch, these events, and whether
    /// they take it.
    uses: FxHashMap<u32, SmallVec<[(u32, bool); 2]>>,
    /// The local states from which required events and their causes are steps, each with the
    /// extension that is the step.
    threads: FxHashMap<u32, u32>,
    /// The fingerprints of the events that were needed so far.
    prints: FxHashMap<u32, Fingerprint>,
    /// For each process, its name as a fingerprint.
    names: Vec<Fingerprint>,
}

impl Region {
    /// Creates a region that requires nothing.
    pub fn without(forbidden: Vec<Forbidden>) -> Self {
        Self {
            forbidden,
            ..Self::default()
        }
    }

    /// Requires events, of which `clock` has the last one of each process among them and their
    /// causes.
    pub fn require(&mut self, net: &Net, required: Vec<u32>, clock: &[u32]) {
        self.required = required;
        for &last in clock {
            let mut event = last;
            while event != NONE {
                let node = net.event(event);
                let thread = net.extension(node.extension).thread;
                self.threads.insert(thread, node.extension);
                for input in net.inputs(event) {
                    let cell = net.places[net.condition(input.condition).place as usize];
                    if matches!(cell, Place::Cell(_)) {
                        let uses = self.uses.entry(input.condition).or_default();
                        uses.push((event, input.write));
                    }
                }
                event = node.parent;
            }
        }
    }

    /// Records the name of a process.
    pub fn name(&mut self, process: ProcessId, name: Fingerprint) {
        if self.names.len() <= process.index() {
            self.names.resize(process.index() + 1, Fingerprint::EMPTY);
        }
        self.names[process.index()] = name;
    }

    /// Whether an extension is barred.
    pub fn bars(&mut self, net: &Net, extension: u32) -> bool {
        self.forbids(net, extension) || self.excludes(net, extension)
    }

    /// Whether an extension is forbidden.
    fn forbids(&mut self, net: &Net, extension: u32) -> bool {
        if self.forbidden.is_empty() {
            return false;
        }
        let causes = count(net, extension);
        let mut same = self.forbidden.iter().filter(|other| other.causes == causes);
        if same.next().is_none() || !touches_only_cells(net, extension) {
            return false;
        }
        let print = print(net, extension, &self.names, &mut self.prints);
        let mut forbidden = self.forbidden.iter();
        forbidden.any(|other| other.print == print)
    }

    /// Whether an extension is in direct conflict with a required event or a cause of one.
    fn excludes(&self, net: &Net, extension: u32) -> bool {
        let thread = net.extension(extension).thread;
        if let Some(&step) = self.threads.get(&thread) {
            // Several extensions may stand for one event if the step joins processes.
            return step != extension && touches_only_cells(net, extension);
        }
        if self.uses.is_empty() {
            return false;
        }
        let past = net.past(extension);
        let is_cause = |event: u32| {
            let last = past.get(net.event(event).process.index()).copied();
            last.is_some_and(|last| last != NONE && net.is_at_or_after(last, event))
        };
        net.preset(extension).iter().any(|input| {
            let uses = self.uses.get(&input.condition);
            uses.into_iter().flatten().any(|&(event, takes)| {
                let conflict = match net.kind {
                    NetKind::Contextual => takes && input.write,
                    NetKind::Replicated | NetKind::Stateful => takes || input.write,
                };
                conflict && !is_cause(event)
            })
        })
    }

    /// Whether a configuration, given by its clock, contains all required events.
    pub fn holds(&self, net: &Net, clock: &[u32]) -> bool {
        self.required.iter().all(|&event| {
            let last = clock.get(net.event(event).process.index()).copied();
            last.is_some_and(|last| last != NONE && net.is_at_or_after(last, event))
        })
    }

    /// Whether a run contains all required events.
    pub fn holds_run(&self, run: &[u32]) -> bool {
        self.required.iter().all(|event| run.contains(event))
    }

    /// Counts the events of the net that count in this region, and their conditions.
    pub fn counts(&self, net: &Net) -> NetCounts {
        let mut counts = NetCounts::default();
        let mut clock = Vec::new();
        for event in 0..net.events.len() as u32 {
            if !self.required.is_empty() {
                net.clock(event, &mut clock);
                if !self.holds(net, &clock) {
                    continue;
                }
            }
            let node = net.event(event);
            counts.events += 1;
            counts.conditions += u64::from(node.thread_count);
            let made = node.outputs..node.outputs + node.output_count;
            made.for_each(|condition| counts.condition(net, condition));
            if net.kind == NetKind::Replicated {
                let reads = net.inputs(event).iter().filter(|input| {
                    let place = net.condition(input.condition).place;
                    !input.write && matches!(net.places[place as usize], Place::Cell(_))
                });
                counts.conditions += reads.count() as u64;
            }
        }
        counts
    }
}

impl NetCounts {
    /// Adds other numbers.
    pub fn add(&mut self, more: NetCounts) {
        self.events += more.events;
        self.conditions += more.conditions;
        self.copies += more.copies;
    }

    /// Counts a condition as the thesis draws it (see [`Net::count_conditions`]).
    pub fn condition(&mut self, net: &Net, condition: u32) {
        let node = net.condition(condition);
        match net.places[node.place as usize] {
            Place::End(_) => {}
            Place::Cell(_) if node.set => {}
            Place::Cell(_) if net.kind == NetKind::Replicated && !net.is_lock(node.place) => {
                self.copies += 1;
            }
            Place::Cell(_) => self.conditions += 1,
        }
    }
}

/// Returns the number of causes of an extension.
pub(crate) fn count(net: &Net, extension: u32) -> u32 {
    let past = net.past(extension).iter().filter(|&&event| event != NONE);
    past.map(|&event| net.event(event).depth).sum()
}

/// Whether the step of an extension claims only cells.
pub(crate) fn touches_only_cells(net: &Net, extension: u32) -> bool {
    let mut claimed = net.claimed(extension).iter();
    claimed.all(|claim| matches!(net.places[claim.place as usize], Place::Cell(_)))
}

/// Returns a fingerprint of an extension, which is the same in every net of the program. Cells need
/// no names in it. In one local state a step always claims the same cells. Of the events that wrote
/// them, the last one wrote all the cells among them that it takes, then the one before it all the
/// remaining ones that it takes, and so on: the set of these events determines which cell each of
/// them wrote last.
pub(crate) fn print(
    net: &Net,
    extension: u32,
    names: &[Fingerprint],
    known: &mut FxHashMap<u32, Fingerprint>,
) -> Fingerprint {
    let node = *net.extension(extension);
    let thread = *net.thread(node.thread);
    let mut of = |event: u32| match event {
        NONE => Fingerprint::EMPTY,
        event => event_print(net, event, names, known),
    };
    let this = names[thread.process.index()].then_all(of(thread.origin));
    let mut inputs = Fingerprint::EMPTY;
    for input in net.preset(extension) {
        let producer = of(net.condition(input.condition).producer);
        let arc = Fingerprint::EMPTY.then_all(producer);
        inputs = inputs.and(arc.then(u64::from(input.write)));
    }
    if net.kind == NetKind::Replicated {
        let past = net.past(extension).iter().filter(|&&event| event != NONE);
        inputs = past.fold(inputs, |all, &event| all.and(of(event)));
    }
    this.then_all(inputs)
}

fn event_print(
    net: &Net,
    event: u32,
    names: &[Fingerprint],
    known: &mut FxHashMap<u32, Fingerprint>,
) -> Fingerprint {
    if let Some(&print) = known.get(&event) {
        return print;
    }
    let of_extension = print(net, net.event(event).extension, names, known);
    let outcomes = net.chosen(event).iter();
    let print = outcomes.fold(of_extension.then(1), |all, &outcome| {
        all.then(outcome as u64)
    });
    known.insert(event, print);
    print
}
