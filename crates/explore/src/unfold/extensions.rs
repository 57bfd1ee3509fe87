//! Possible extensions, found from the conditions next to known ones.
//!
//! Thesis (GLOSSARY.md), chapter 4 and section 5.6. `net.rs` defines the parts of a net. An
//! extension is a marking of the places that the next step of a thread claims, reached by a
//! configuration that contains the thread. All extensions are kept, even those where the step is
//! not possible (a held lock, a closed guard), because other extensions are found through them. So
//! locks need no *alternative* conditions and no list of threads without events.
//!
//! | thesis | here |
//! |---|---|
//! | EXTFROMTHREADCONDITION | [`Builder::grow`] |
//! | EXTFROMSHAREDCONDITION, EXTFROMLOCKCONDITION | [`Builder::spread`] |
//! | adjacent: S₁ becomes S₂ when e is fired | [`Builder::fire`] |
//!
//! Both functions follow edges of one kind. Such an edge leads from an extension (t, S) through an
//! event e of another process to the extension (t, S′), where S′ is what S becomes when e happens.
//! There is such an edge if e takes conditions of S or, in a replicated net, if e reads places that
//! the step of t would write.
//!
//! Why this finds all extensions: let C be a configuration that contains t. Fire the causes ⌈t⌉
//! first, then the rest of C one by one. Every marking in between is an extension of t, and each is
//! equal to the previous one or one edge away from it. So all extensions of t can be reached from
//! the marking after ⌈t⌉, and a new thread follows all edges from there (Theorems 2 to 5). If e is
//! a new event, it is the last event of every configuration that contains it, so each extension
//! that e makes possible is one edge away from an extension known without e (Lemma 5). In the
//! contextual net e is the last event only by causality: conditions that it reads may have been
//! taken since. So in that net only the conditions that it takes must be present.
//!
//! A step may join some processes on one path, and not on another
//! ([`Execution::joins`](mazurka_core::Execution::joins)). It depends only on the ends of the
//! processes that it really joins. So the extension with the fewest causes represents all
//! extensions that agree in the places that the step touches ([`Builder::resolve`]).

use std::ops::ControlFlow;

use mazurka_core::{Bound, Claims, Execution, Fingerprint, ProcessId, Status, Wait, with_status};
use rustc_hash::{FxHashMap, FxHashSet};

use super::configuration::Examiner;
use super::deadlocks::stuck;
use super::net::{Claimed, EventNode, Group, Input, NONE, Net, NetKind, Phase, Place, Thread};
use super::numbers::Numbers;
use super::region::Region;

/// Called repeatedly while a net grows, because one event may have an extension for each process,
/// each with its own clock. It may break off the growth.
pub(crate) type GrowthWatch<'a> = dyn FnMut() -> ControlFlow<Bound> + 'a;

/// The next step of a process, as the program reports it.
#[derive(Clone, Debug)]
pub(crate) struct Next {
    pub process: ProcessId,
    /// The name of the process.
    pub name: Fingerprint,
    pub status: Status,
    /// Whether steps that wait for the end of the process can continue.
    pub ended: bool,
    pub claims: Claims,
    pub wait: Wait,
    /// The processes whose end the step may wait for.
    pub joins: Vec<ProcessId>,
}

/// The effects of a step that matter for the net.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObservedEffects {
    pub outcomes: Vec<i64>,
    pub joined: Vec<ProcessId>,
    /// The locks that it took or released, in order: the cell, and whether the lock is held now.
    pub locks: Vec<(u32, bool)>,
    /// The next steps of the process itself and of the processes that it started.
    pub next: Vec<Next>,
}

impl ObservedEffects {
    /// Whether a lock is held now, if the step took or released it.
    pub fn lock(&self, cell: u32) -> Option<bool> {
        let at = self.locks.binary_search_by_key(&cell, |lock| lock.0);
        at.ok().map(|at| self.locks[at].1)
    }
}

/// For an extension or an event with many conditions: the first condition through which it meets
/// each other extension or event. A step that claims a whole array meets another such step through
/// every element, and only the meeting through the first of these counts.
struct Meetings(Option<FxHashMap<u32, Option<u32>>>);

/// Up to this number of conditions, trying each is faster.
const MANY_CONDITIONS: usize = 32;

impl Meetings {
    fn new(conditions: usize) -> Self {
        Self((conditions >= MANY_CONDITIONS).then(FxHashMap::default))
    }

    /// Forgets all meetings.
    fn clear(&mut self) {
        if let Some(known) = &mut self.0 {
            known.clear();
        }
    }

    /// Whether this is the condition through which `other` is met first.
    fn is_at(&mut self, condition: u32, other: u32, meets: impl FnOnce() -> Option<u32>) -> bool {
        let Some(known) = &mut self.0 else {
            return true;
        };
        *known.entry(other).or_insert_with(meets) == Some(condition)
    }
}

/// A growing net.
#[derive(Debug)]
pub(crate) struct Builder {
    pub net: Net,
    pub examiner: Examiner,
    /// Extensions that no test has covered and that are not known to be closed.
    pub pending: Vec<u32>,
    /// Processes that were started by other processes; a join can wait only for these.
    children: FxHashSet<ProcessId>,
    /// Whether outcomes are sides of conditions over inputs: then the processes that a step joins
    /// may depend on them.
    conditional: bool,
    preset: Vec<u32>,
    clock: Vec<u32>,
    /// For the first deadlocks, the threads at which processes wait.
    pub deadlocks: Vec<Vec<u32>>,
    /// The part of the net that is built; `None` for the whole net.
    pub region: Option<Box<Region>>,
}

/// Number of deadlocks that are kept for a picture.
const KEPT_DEADLOCKS: usize = 100;

impl Builder {
    /// Creates a net without events; only a region of it is built, if one is given.
    pub fn new(
        kind: NetKind,
        conditional: bool,
        region: Option<Region>,
        processes: impl Iterator<Item = Next>,
    ) -> Self {
        let mut builder = Self {
            conditional,
            net: Net::new(kind),
            examiner: Examiner::default(),
            pending: Vec::new(),
            children: FxHashSet::default(),
            preset: Vec::new(),
            clock: Vec::new(),
            deadlocks: Vec::new(),
            region: region.map(Box::new),
        };
        for next in processes {
            let thread = builder.add_thread(&next, NONE, NONE);
            // Without events no edges are followed, so no limit is checked.
            let grown = builder.grow(thread, &mut || ControlFlow::Continue(()));
            debug_assert!(grown.is_continue());
        }
        builder
    }

    /// Records where processes wait in a deadlock. The program is in the deadlock, after these
    /// events.
    pub fn add_deadlock<E: Execution>(&mut self, program: &E, events: &[u32]) {
        if self.deadlocks.len() < KEPT_DEADLOCKS {
            let waiting = with_status(program, Status::Waiting);
            self.deadlocks.push(stuck(&self.net, events, &waiting));
        }
    }

    /// Adds a thread.
    fn add_thread(&mut self, next: &Next, last: u32, origin: u32) -> u32 {
        if let Some(region) = &mut self.region {
            region.name(next.process, next.name);
        }
        let alive = matches!(next.status, Status::Ready | Status::Waiting);
        let claims = if alive {
            self.net.list(&next.claims, &next.joins)
        } else {
            0
        };
        self.net.threads.push(Thread {
            process: next.process,
            last,
            origin,
            claims,
            wait: next.wait,
            status: next.status,
            extensions: NONE,
        });
        self.net.threads.len() as u32 - 1
    }

    /// Finds all extensions of a new thread.
    fn grow(&mut self, thread: u32, look: &mut GrowthWatch<'_>) -> ControlFlow<Bound> {
        let Thread {
            process: own,
            status,
            origin,
            ..
        } = *self.net.thread(thread);
        if !matches!(status, Status::Ready | Status::Waiting) {
            return ControlFlow::Continue(());
        }
        let mut clock = std::mem::take(&mut self.clock);
        let mut preset = std::mem::take(&mut self.preset);
        self.net.clock(origin, &mut clock);
        let places: Vec<u32> = self.net.claims_of(thread).iter().map(|c| c.place).collect();
        self.examiner
            .marking(&self.net, &clock, &places, &mut preset);
        let first = self.add_extension(thread, &preset, &clock);
        self.clock = clock;
        self.preset = preset;
        let mut known = vec![first];
        let mut meetings = Meetings::new(places.len());
        while let Some(extension) = known.pop() {
            meetings.clear();
            for at in 0..places.len() {
                let condition = self.net.preset(extension)[at].condition;
                let mut group = self.net.condition(condition).takers;
                while group != NONE {
                    let Group {
                        process,
                        arcs,
                        next,
                        ..
                    } = self.net.groups[group as usize];
                    let mut arc = if process == own { NONE } else { arcs };
                    while arc != NONE {
                        let Input { owner, next, .. } = self.net.arcs[arc as usize];
                        if meetings.is_at(condition, owner, || self.meets(extension, owner)) {
                            look()?;
                            known.extend(self.fire(extension, owner, condition));
                        }
                        arc = next;
                    }
                    group = next;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Finds the extensions of other processes that a new event makes possible.
    fn spread(&mut self, event: u32, look: &mut GrowthWatch<'_>) -> ControlFlow<Bound> {
        let node = *self.net.event(event);
        let mut meetings = Meetings::new(node.input_count as usize);
        for arc in node.inputs..node.inputs + node.input_count {
            let Input {
                condition, write, ..
            } = self.net.arcs[arc as usize];
            if !write && self.net.kind == NetKind::Contextual {
                continue;
            }
            let mut group = self.net.condition(condition).uses;
            while group != NONE {
                let Group {
                    process,
                    arcs,
                    next,
                    ..
                } = self.net.groups[group as usize];
                let mut used = if process == node.process { NONE } else { arcs };
                while used != NONE {
                    let Input { owner, next, .. } = self.net.uses[used as usize];
                    if meetings.is_at(condition, owner, || self.meets(owner, event)) {
                        look()?;
                        self.fire(owner, event, condition);
                    }
                    used = next;
                }
                group = next;
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns the extension that `extension` becomes when an event of another process happens, if
    /// that is possible and the result is new.
    fn fire(&mut self, extension: u32, event: u32, through: u32) -> Option<u32> {
        let thread = self.net.extension(extension).thread;
        let Thread { process, last, .. } = *self.net.thread(thread);
        debug_assert_ne!(self.net.event(event).process, process);
        let mut preset = std::mem::take(&mut self.preset);
        let mut clock = std::mem::take(&mut self.clock);
        let mut found = None;
        if self.replace(extension, event, through, &mut preset) {
            clock.clear();
            clock.extend_from_slice(self.net.past(extension));
            if self.net.join_event(&mut clock, event)
                && clock.get(process.index()).copied().unwrap_or(NONE) == last
                && self.net.find(thread, &preset, &clock).is_none()
                && self.examiner.reaches(&self.net, &clock, &preset)
            {
                found = Some(self.add_extension(thread, &preset, &clock));
            }
        }
        self.preset = preset;
        self.clock = clock;
        found
    }

    /// Returns the first condition through which an extension meets an event: only there does
    /// [`replace`](Self::replace) continue.
    fn meets(&self, extension: u32, event: u32) -> Option<u32> {
        let net = &self.net;
        let (preset, claimed) = (net.preset(extension), net.claimed(extension));
        let replicated = net.kind == NetKind::Replicated;
        for input in net.inputs(event) {
            let place = net.condition(input.condition).place;
            let Ok(at) = claimed.binary_search_by_key(&place, |c| c.place) else {
                continue;
            };
            match preset[at].condition == input.condition {
                true if input.write || (claimed[at].write && replicated) => {
                    return Some(input.condition);
                }
                false if input.write || replicated => return None,
                _ => {}
            }
        }
        None
    }

    /// Computes the conditions of an extension after an event. Returns false if the event cannot
    /// happen there, or if it is found through another condition, too.
    fn replace(&self, extension: u32, event: u32, through: u32, preset: &mut Vec<u32>) -> bool {
        let net = &self.net;
        preset.clear();
        preset.extend(net.preset(extension).iter().map(|input| input.condition));
        let claimed = net.claimed(extension);
        let mut met = false;
        let mut output = net.event(event).outputs;
        for input in net.inputs(event) {
            let place = net.condition(input.condition).place;
            let produced = output;
            output += u32::from(input.write);
            let at = match claimed {
                [only] => (only.place == place).then_some(0),
                _ => claimed.binary_search_by_key(&place, |c| c.place).ok(),
            };
            let Some(at) = at else { continue };
            let Claimed { write, .. } = claimed[at];
            if preset[at] != input.condition {
                // In the contextual net a read may have happened before its condition was taken.
                if input.write || net.kind == NetKind::Replicated {
                    return false;
                } else {
                    continue;
                }
            }
            let matters = input.write || (write && net.kind == NetKind::Replicated);
            if matters && !std::mem::replace(&mut met, true) && input.condition != through {
                return false;
            }
            if input.write {
                preset[at] = produced;
            }
        }
        met
    }

    /// Adds an extension. If its step certainly must wait, it is closed, and no test covers it.
    fn add_extension(&mut self, thread: u32, preset: &[u32], clock: &[u32]) -> u32 {
        let set = |condition: &u32| self.net.condition(*condition).set;
        let closed = match self.net.thread(thread).wait {
            Wait::Never | Wait::Guard => false,
            Wait::Lock => preset.iter().any(set),
            Wait::Process => !preset.is_empty() && !preset.iter().any(set),
        };
        let phase = if closed {
            Phase::Closed
        } else {
            Phase::Pending
        };
        let extension = self.net.add_extension(thread, preset, clock, phase);
        if let Some(region) = &mut self.region
            && region.bars(&self.net, extension)
        {
            self.net.extensions[extension as usize].phase = Phase::Barred;
        } else if phase == Phase::Pending {
            self.pending.push(extension);
        }
        extension
    }

    /// Requires events in the region that is built: bars the extensions that are outside now.
    pub fn require(&mut self, required: Vec<u32>, clock: &[u32]) {
        let Some(region) = &mut self.region else {
            return;
        };
        region.require(&self.net, required, clock);
        for extension in 0..self.net.extensions.len() as u32 {
            let phase = self.net.extension(extension).phase;
            if matches!(phase, Phase::Pending | Phase::Closed) && region.bars(&self.net, extension)
            {
                self.net.extensions[extension as usize].phase = Phase::Barred;
            }
        }
    }

    /// Adds an event for the effects of a step, unless the net has it already, and finds the
    /// extensions that become possible. Returns the event, and whether it is new.
    pub fn add_event(
        &mut self,
        extension: u32,
        done: &ObservedEffects,
        look: &mut GrowthWatch<'_>,
    ) -> ControlFlow<Bound, (u32, bool)> {
        let (event, new) = self.insert(extension, done);
        if new {
            self.extend(event, look)?;
        }
        ControlFlow::Continue((event, new))
    }

    /// Finds the extensions that a new event makes possible. If the search is broken off, the net
    /// lacks some of them.
    pub fn extend(&mut self, event: u32, look: &mut GrowthWatch<'_>) -> ControlFlow<Bound> {
        self.spread(event, look)?;
        let node = *self.net.event(event);
        let mut threads = node.thread..node.thread + node.thread_count;
        threads.try_for_each(|thread| self.grow(thread, look))
    }

    /// Returns the extension that represents `extension` for these effects, and the event with
    /// these effects, if the net has it.
    pub fn find_event(&mut self, extension: u32, done: &ObservedEffects) -> (u32, Option<u32>) {
        let extension = self.resolve(extension, &done.joined);
        let mut events = self.net.events_of(extension);
        let known = events.find(|&event| self.net.chosen(event) == done.outcomes);
        drop(events);
        (extension, known)
    }

    /// Adds an event for the effects of a step, unless the net has it. Returns the event, and
    /// whether it is new.
    pub fn insert(&mut self, extension: u32, done: &ObservedEffects) -> (u32, bool) {
        let (extension, known) = self.find_event(extension, done);
        if let Some(event) = known {
            return (event, false);
        }
        let event = self.net.events.len() as u32;
        let thread = self.net.extension(extension).thread;
        let Thread { process, last, .. } = *self.net.thread(thread);
        let mut inputs: Vec<(u32, bool)> = Vec::new();
        for (claimed, input) in self
            .net
            .claimed(extension)
            .iter()
            .zip(self.net.preset(extension))
        {
            let matters = match self.net.places[claimed.place as usize] {
                Place::Cell(_) => true,
                Place::End(child) => done.joined.contains(&child),
            };
            if matters {
                inputs.push((input.condition, claimed.write));
            }
        }
        for (at, next) in done.next.iter().enumerate() {
            if at > 0 {
                self.children.insert(next.process);
            }
            if self.children.contains(&next.process) && next.ended {
                let place = self.net.place(Place::End(next.process));
                inputs.push((self.net.initial[place as usize], true));
            }
        }
        // The causes are needed to count those that read a condition that the event takes.
        let past = self.net.past(extension).to_vec();
        let possible = self.examiner.reaches(&self.net, &past, &[]);
        debug_assert!(possible, "an event without a configuration");
        let first_input = self.net.arcs.len() as u32;
        let first_output = self.net.conditions.len() as u32;
        for &(condition, write) in &inputs {
            let reads = if write {
                self.examiner.readers(condition)
            } else {
                0
            };
            let listed = write || self.net.kind == NetKind::Replicated;
            let arc = self.net.arcs.len() as u32;
            let mut next = NONE;
            if listed {
                let takers = self.net.condition(condition).takers;
                let (takers, before) = self.net.link(takers, process, arc);
                self.net.conditions[condition as usize].takers = takers;
                next = before;
            }
            self.net.arcs.push(Input {
                condition,
                write,
                owner: event,
                reads,
                next,
            });
        }
        for &(condition, _) in inputs.iter().filter(|(_, write)| *write) {
            let before = *self.net.condition(condition);
            let set = match self.net.places[before.place as usize] {
                Place::End(_) => true,
                Place::Cell(cell) => done.lock(cell).unwrap_or(before.set),
            };
            self.net.add_condition(before.place, event, set);
        }
        let depth = if last == NONE {
            0
        } else {
            self.net.event(last).depth
        };
        let outcomes = self.net.outcomes.len() as u32;
        self.net.outcomes.extend_from_slice(&done.outcomes);
        let owner = &mut self.net.extensions[extension as usize];
        owner.phase = Phase::Done;
        let next = std::mem::replace(&mut owner.events, event);
        self.net.events.push(EventNode {
            process,
            parent: last,
            depth: depth + 1,
            extension,
            inputs: first_input,
            input_count: inputs.len() as u32,
            outputs: first_output,
            output_count: self.net.conditions.len() as u32 - first_output,
            thread: self.net.threads.len() as u32,
            thread_count: done.next.len() as u32,
            outcomes,
            outcome_count: done.outcomes.len() as u32,
            next,
        });
        for (at, next) in done.next.iter().enumerate() {
            match at {
                0 => self.add_thread(next, event, event),
                _ => self.add_thread(next, NONE, event),
            };
        }
        (event, true)
    }

    /// Returns the extension that represents `extension` if its step joins these processes: the one
    /// with the fewest causes among those that agree in the places that the step touches.
    pub fn resolve(&mut self, extension: u32, joined: &[ProcessId]) -> u32 {
        let net = &self.net;
        let idle = |claimed: &Claimed| match net.places[claimed.place as usize] {
            Place::Cell(_) => false,
            Place::End(child) => !joined.contains(&child),
        };
        let claimed = net.claimed(extension);
        if !claimed.iter().any(idle) {
            return extension;
        }
        let thread = net.extension(extension).thread;
        let mut clock = Vec::new();
        net.clock(net.thread(thread).origin, &mut clock);
        let mut taken = Numbers::default();
        for (claimed, input) in claimed.iter().zip(net.preset(extension)) {
            if !idle(claimed) {
                net.join_event(&mut clock, net.condition(input.condition).producer);
                if claimed.write {
                    taken.insert(input.condition);
                }
            }
        }
        if net.kind == NetKind::Replicated {
            for &last in net.past(extension) {
                let mut event = last;
                while event != NONE {
                    if net
                        .inputs(event)
                        .iter()
                        .any(|input| taken.contains(input.condition))
                    {
                        net.join_event(&mut clock, event);
                    }
                    event = net.event(event).parent;
                }
            }
        }
        let places: Vec<u32> = claimed.iter().map(|c| c.place).collect();
        let mut preset = Vec::new();
        self.examiner
            .marking(&self.net, &clock, &places, &mut preset);
        let found = self.net.find(thread, &preset, &clock);
        let found = found.unwrap_or_else(|| self.add_extension(thread, &preset, &clock));
        if found != extension && !self.conditional {
            let alias = &mut self.net.extensions[extension as usize];
            alias.phase = Phase::Alias;
            alias.events = found;
        }
        found
    }

    /// Settles a pending extension as far as possible without a test. The processes that a step
    /// joins depend only on the places that it touches, so an event that touches the same places
    /// determines them. Returns `extension` or the extension that represents it.
    pub fn settle(&mut self, extension: u32) -> u32 {
        let net = &self.net;
        let cell = |claimed: &Claimed| {
            let place = net.places[claimed.place as usize];
            matches!(place, Place::Cell(_))
        };
        let claimed = net.claimed(extension);
        if self.conditional || claimed.iter().all(cell) {
            return extension;
        }
        let same = |other: &u32| {
            let mut pairs = net.preset(*other).iter().zip(net.preset(extension));
            net.extension(*other).phase == Phase::Done
                && claimed
                    .iter()
                    .zip(&mut pairs)
                    .all(|(claimed, (one, other))| {
                        !cell(claimed) || one.condition == other.condition
                    })
        };
        let thread = net.extension(extension).thread;
        let Some(known) = net.extensions_of(thread).find(same) else {
            return extension;
        };
        let mut joined = Vec::new();
        for input in net.inputs(net.extension(known).events) {
            let place = net.places[net.condition(input.condition).place as usize];
            if let (Place::End(child), false) = (place, input.write) {
                joined.push(child);
            }
        }
        let runs_still = claimed
            .iter()
            .zip(net.preset(extension))
            .any(|(claimed, input)| {
                let place = net.places[claimed.place as usize];
                let awaited = matches!(place, Place::End(child) if joined.contains(&child));
                awaited && !net.condition(input.condition).set
            });
        if runs_still {
            self.net.extensions[extension as usize].phase = Phase::Closed;
            return extension;
        }
        self.resolve(extension, &joined)
    }
}
