//! Divides a net into parts, which workers build independently (`workers.rs`).
//!
//! A part is given by events that it requires, with their causes, and by events that it forbids
//! (`region.rs` says what belongs to it and what counts in it). A part is divided by an event e
//! that belongs to it and is not required: one half requires e, the other one forbids e. Each
//! execution of the part either has the event e or lacks it, so it belongs to exactly one half.
//! Each event of the part is part of some execution, so it is in at least one half. So all parts
//! together have all events, failures and deadlocks of the net, whichever events divide it.
//!
//! *Which events.* Events that both halves have are built twice. So a net is first built by tests
//! as far as a limit of steps allows. A sample of its events stands for all events: it shows how
//! many of them need e among their causes, how many exclude e, and how many are in both halves. Of
//! the candidates with the fewest causes, the event is taken for which the larger half and the
//! overlap are smallest together. The part with the most events of the sample is divided first,
//! until there are enough parts. All of this depends on the program and the seed only.
//!
//! This needs no prefix of the execution and no sleeping processes, in contrast to the parts of a
//! tree of runs (`drive/cut.rs`): in a net, what excludes an event is seen from the conditions that
//! it takes. A run of a part ends blocked if only steps of other parts are left. That is rare: at
//! most one in a hundred runs of fib(6), philosophers(6), pi(8), writers(9) and lastzero(15), and
//! three in a hundred of thesis-fib(5).
//!
//! *One worker.* Parts pay for one worker, too, presumably because a small net stays in the cache.
//! CPU seconds in one piece and in parts (load 7, one run each; in one piece with about a tenth for
//! a fingerprint of the net): thesis-szymanski 2.3 and 0.6, writers(9) 2.2 and 0.9, philosophers(6)
//! 1.5 and 0.6, the replicated net of thesis-fib(5) 4.4 and 1.9, fib(6) 0.7 and 0.4, the replicated
//! net of readers(16) 1.0 and 1.0. The peak of memory is that of one part for each worker.
//!
//! *How even parts are.* The tests of the first attempt need not be spread evenly over the net, so
//! some part may be much larger than its sample says: fib(7) and writers(9) then gain only a factor
//! of 1.5 from a second worker (docs/unfold.md). Tried: the sample comes from 512 runs that choose
//! each step uniformly. fib(7) gained 1.8 and writers(9) 1.6, but lastzero(17) only 1.4, pi(8) 1.1,
//! and philosophers(7) took a fifth more CPU time.
//!
//! Not used, with figures of the same programs before parts:
//! - Slices, as Heljanko, Khomenko and Koutny unfold Petri nets ("Parallelisation of the Petri Net
//!   Unfolding Algorithm", TACAS 2002): workers look for the extensions of all events of a slice in
//!   a net that is frozen, and one worker adds what they find. An event takes 2 to 6 µs in all,
//!   about half of it for the test (the order of its schedule and the steps of the program), a
//!   quarter for adding to the net, and only the rest for the search, so two workers could gain
//!   little.
//! - Tests of one round by several workers in a frozen net. Adding their events to the net stays
//!   the work of one worker.
//!
//! The stateful net is built in one piece: which events are terminals depends on all smaller events
//! of the net (`prefix.rs`), also on those of other parts. Slices fit it, because it adds events in
//! the order of their size; this was not built.

use mazurka_core::{Fingerprint, ProcessId, ProcessTable, Schedule, ScheduledStep};
use rustc_hash::{FxHashMap, FxHashSet};

use super::configuration::Examiner;
use super::net::{NONE, Net, Phase};
use super::region::{Forbidden, count, print, touches_only_cells};

/// Number of parts.
const PARTS: usize = 64;
/// Limits on the number of events that stand for all events when parts are divided.
const SAMPLE: std::ops::RangeInclusive<usize> = 16..=1024;
/// Limit on the number of these events and their causes, up to the least number of events.
const CAUSES_OF_SAMPLE: usize = 1 << 15;
/// Number of events that are considered for dividing a part, at least.
const CANDIDATES: usize = 12;
/// Number of events that are considered if none of the first ones divides a part well.
const MOST_CANDIDATES: usize = 100;
/// Number of events with few causes among which candidates are looked for.
const SHALLOW: usize = 4096;
/// A part with fewer events of the sample is not divided.
const FEW: usize = 8;

/// A part of a net, for any net of the same program.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Part {
    /// The required events and their causes, in an order in which they can happen.
    pub prefix: Schedule,
    /// The positions in `prefix` of the required events that are not causes of others.
    pub required: Vec<usize>,
    /// The forbidden events.
    pub forbidden: Vec<Forbidden>,
}

/// A part of a net that has been built as far as some tests went.
#[derive(Clone, Debug, Default)]
struct Draft {
    /// The last required event of each process, or cause of one.
    clock: Vec<u32>,
    required: Vec<u32>,
    forbidden: Vec<u32>,
    /// The events of the sample that are in the part.
    sample: Vec<u32>,
}

/// Divides the program of a net into parts.
pub(crate) fn divide(net: &Net, processes: &ProcessTable) -> Vec<Part> {
    let mut divider = Divider {
        net,
        examiner: Examiner::default(),
        shallow: shallow(net),
        joined: Vec::new(),
    };
    let whole = Draft {
        sample: sample(net),
        ..Draft::default()
    };
    // Whether a part may still be divided, and the part.
    let mut drafts = vec![(true, whole)];
    while drafts.len() < PARTS {
        let open = drafts.iter().enumerate().filter(|(_, (open, _))| *open);
        let sizes = open.map(|(at, (_, draft))| (draft.sample.len(), std::cmp::Reverse(at)));
        let Some((_, std::cmp::Reverse(at))) = sizes.max() else {
            break;
        };
        match divider.halves(&drafts[at].1) {
            Some([with, without]) => {
                drafts[at].1 = with;
                drafts.insert(at + 1, (true, without));
            }
            None => drafts[at].0 = false,
        }
    }
    let names: Vec<Fingerprint> = (0..processes.len() as u32)
        .map(|process| processes.name(ProcessId(process)))
        .collect();
    let mut prints = FxHashMap::default();
    let drafts = drafts.into_iter();
    let parts = drafts.map(|(_, draft)| divider.part(&draft, processes, &names, &mut prints));
    parts.collect()
}

/// Returns events that stand for all events, at equal distances. There are fewer if they have many
/// causes, because dividing parts takes a look at all of these.
fn sample(net: &Net) -> Vec<u32> {
    let events = net.events.len();
    let (least, most) = (*SAMPLE.start(), *SAMPLE.end());
    let spread = |count: usize| (0..count).map(move |k| (k * events / count) as u32);
    let looks = spread(most.min(events));
    let causes = looks.map(|event| count(net, net.event(event).extension) as usize + 1);
    let mean = causes.sum::<usize>() / most.min(events).max(1);
    let count = (CAUSES_OF_SAMPLE / mean.max(1)).clamp(least, most);
    spread(count.min(events)).collect()
}

/// Returns the events at which a part can be divided, those with the fewest causes first.
fn shallow(net: &Net) -> Vec<u32> {
    // Whether the event and all of its causes have one outcome.
    let mut plain = Vec::with_capacity(net.events.len());
    let mut found = Vec::new();
    for (event, node) in (0..).zip(&net.events) {
        let past = net.past(node.extension);
        let one = node.outcome_count == 0 && past.iter().all(|&e| e == NONE || plain[e as usize]);
        plain.push(one);
        let extension = net.extension(node.extension);
        if one && extension.phase == Phase::Done && touches_only_cells(net, node.extension) {
            found.push((count(net, node.extension), event));
        }
    }
    found.sort_unstable();
    found.truncate(SHALLOW);
    found.into_iter().map(|(_, event)| event).collect()
}

struct Divider<'a> {
    net: &'a Net,
    examiner: Examiner,
    /// The events at which a part can be divided.
    shallow: Vec<u32>,
    joined: Vec<u32>,
}

impl Divider<'_> {
    /// Divides a part by an event: returns the halves that require it and that forbid it. Returns
    /// `None` if there is no event that makes both halves much smaller.
    fn halves(&mut self, draft: &Draft) -> Option<[Draft; 2]> {
        if draft.sample.len() < FEW {
            return None;
        }
        let required: FxHashSet<u32> = self.events_of(&draft.clock).into_iter().collect();
        let size = draft.sample.len();
        let mut best: Option<(usize, [Draft; 2])> = None;
        let mut tried = 0;
        for at in 0..self.shallow.len() {
            let event = self.shallow[at];
            if required.contains(&event) || !self.is_in(draft, event) {
                continue;
            }
            let halves = self.halves_by(draft, event);
            let [with, without] = [0, 1].map(|at: usize| halves[at].sample.len());
            let cost = with.max(without) + (with + without - size);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, halves));
            }
            tried += 1;
            let is_good = best
                .as_ref()
                .is_some_and(|(least, _)| least * 4 <= size * 3);
            if tried == MOST_CANDIDATES || tried >= CANDIDATES && is_good {
                break;
            }
        }
        let (cost, halves) = best?;
        (cost * 10 <= size * 9).then_some(halves)
    }

    /// Returns the halves of a part that require an event and that forbid it.
    fn halves_by(&mut self, draft: &Draft, event: u32) -> [Draft; 2] {
        let mut with = draft.clone();
        let mut without = draft.clone();
        let net = self.net;
        net.join_event(&mut with.clock, event);
        with.required.retain(|&other| !self.is_cause(other, event));
        with.required.push(event);
        without.forbidden.push(event);
        with.sample.retain(|&other| self.fits(&with.clock, other));
        without.sample.retain(|&other| !self.is_cause(event, other));
        [with, without]
    }

    /// Whether an event is another one or a cause of it.
    fn is_cause(&self, event: u32, of: u32) -> bool {
        let net = self.net;
        let process = net.event(event).process;
        let last = if net.event(of).process == process {
            of
        } else {
            let past = net.past(net.event(of).extension);
            past.get(process.index()).copied().unwrap_or(NONE)
        };
        last != NONE && net.is_at_or_after(last, event)
    }

    /// Whether an event and the required ones, given by their clock, can happen in one execution.
    fn fits(&mut self, required: &[u32], event: u32) -> bool {
        let net = self.net;
        net.clock(event, &mut self.joined);
        net.join(&mut self.joined, required) && self.examiner.reaches(net, &self.joined, &[])
    }

    /// Whether an event is in a part.
    fn is_in(&mut self, draft: &Draft, event: u32) -> bool {
        let mut forbidden = draft.forbidden.iter();
        !forbidden.any(|&other| self.is_cause(other, event)) && self.fits(&draft.clock, event)
    }

    /// Returns the events of a clock in an order in which they can happen.
    fn events_of(&mut self, clock: &[u32]) -> Vec<u32> {
        let mut events = Vec::new();
        self.examiner.schedule(self.net, clock, &mut events);
        events
    }

    /// Returns the part that a draft describes.
    fn part(
        &mut self,
        draft: &Draft,
        processes: &ProcessTable,
        names: &[Fingerprint],
        prints: &mut FxHashMap<u32, Fingerprint>,
    ) -> Part {
        let net = self.net;
        let events = self.events_of(&draft.clock);
        let at = |event: &u32| events.iter().position(|other| other == event);
        let required = draft.required.iter().filter_map(at).collect();
        let step = |&event: &u32| ScheduledStep {
            process: processes.path(net.event(event).process).clone(),
            outcomes: net.chosen(event).into(),
        };
        let prefix = Schedule(events.iter().map(step).collect());
        // An event that cannot happen with the required ones need not be forbidden.
        let mut forbidden = draft.forbidden.clone();
        forbidden.retain(|&event| self.fits(&draft.clock, event));
        let forbidden = forbidden.into_iter().map(|event| {
            let extension = net.event(event).extension;
            Forbidden {
                print: print(net, extension, names, prints),
                causes: count(net, extension),
            }
        });
        Part {
            prefix,
            required,
            forbidden: forbidden.collect(),
        }
    }
}
