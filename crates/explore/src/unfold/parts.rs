use mazurka_core::{Fingerprint, ProcessTable, Schedule, ScheduledStep};
use rustc_hash::{FxHashMap, FxHashSet};

use super::configuration::Examiner;
use super::net::{NONE, Net, Phase};
use super::region::{Forbidden, count, print, touches_only_cells};

/// Number of parts.
const PARTS: usize = 64;
/// Number of events that stand for all events of a part when parts are divided.
const SAMPLE: usize = 1024;
/// Number of events that are considered for dividing a part.
const CANDIDATES: usize = 12;
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
        clock: Vec::new(),
    };
    let events = net.events.len();
    let sample = (0..SAMPLE.min(events)).map(|k| (k * events / SAMPLE.min(events)) as u32);
    let whole = Draft {
        sample: sample.collect(),
        ..Draft::default()
    };
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
    if std::env::var("PARTS").is_ok() {
        let total: usize = drafts.iter().map(|d| d.1.sample.len()).sum();
        let most = drafts.iter().map(|d| d.1.sample.len()).max();
        eprintln!("{} parts, {total} of {}, most {most:?}", drafts.len(), SAMPLE.min(events));
    }
    let names: Vec<Fingerprint> = (0..processes.len() as u32)
        .map(|process| processes.name(mazurka_core::ProcessId(process)))
        .collect();
    let mut prints = FxHashMap::default();
    let drafts = drafts.into_iter();
    let parts = drafts.map(|(_, draft)| divider.part(&draft, processes, &names, &mut prints));
    parts.collect()
}

/// Returns the events at which a part can be divided, those with the fewest causes first.
fn shallow(net: &Net) -> Vec<u32> {
    // Whether the event and all of its causes have one outcome.
    let mut plain = Vec::with_capacity(net.events.len());
    let mut found = Vec::new();
    for (event, node) in (0..).zip(&net.events) {
        let past = net.past(node.extension);
        let one = node.outcome_count == 0
            && past.iter().all(|&e| e == NONE || plain[e as usize]);
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
    clock: Vec<u32>,
}

impl Divider<'_> {
    /// Divides a part by an event: returns the halves that require it and that forbid it. Returns
    /// `None` if there is no event that makes both halves much smaller.
    fn halves(&mut self, draft: &Draft) -> Option<[Draft; 2]> {
        if draft.sample.len() < FEW {
            return None;
        }
        let required: FxHashSet<u32> = self.events_of(&draft.clock).into_iter().collect();
        let mut candidates = Vec::new();
        for at in 0..self.shallow.len() {
            let event = self.shallow[at];
            if !required.contains(&event) && self.is_in(draft, event) {
                candidates.push(event);
                if candidates.len() == CANDIDATES {
                    break;
                }
            }
        }
        let mut best: Option<(usize, [Draft; 2])> = None;
        for event in candidates {
            let halves = self.halves_by(draft, event);
            let [with, without] = [0, 1].map(|at: usize| halves[at].sample.len());
            let twice = (with + without).saturating_sub(draft.sample.len());
            let cost = with.max(without) + twice;
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, halves));
            }
        }
        let (cost, halves) = best?;
        (cost * 10 <= draft.sample.len() * 9).then_some(halves)
    }

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

    /// Whether an event and the required ones can happen in one execution.
    fn fits(&mut self, required: &[u32], event: u32) -> bool {
        let net = self.net;
        net.clock(event, &mut self.joined);
        net.join(&mut self.joined, required) && self.examiner.reaches(net, &self.joined, &[])
    }

    fn is_in(&mut self, draft: &Draft, event: u32) -> bool {
        let mut forbidden = draft.forbidden.iter();
        !forbidden.any(|&other| self.is_cause(other, event)) && self.fits(&draft.clock, event)
    }

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
        // An event that cannot happen with the required ones needs not be forbidden.
        let near: Vec<u32> = draft.forbidden.clone();
        let near = near.into_iter().filter(|&event| {
            net.clock(event, &mut self.clock);
            self.fits(&draft.clock, event)
        });
        let forbidden: Vec<u32> = near.collect();
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
