//! Occurrence nets in arenas: numbers instead of pointers, and no allocation per node.
//!
//! Thesis, sections 3.3 and 5.3. Replicated and contextual nets are both stored as contextual ones:
//! a *place* (a variable, an element, a lock) has an initial *condition* and one for each event
//! that wrote it, and a reader does not consume a condition. Place replication differs only in the
//! identity of events. With replication, a write takes the copy of every process, so a write after
//! a read and the same write without the read are two events; in the contextual net they are one
//! event. So the copies need not be stored, only counted ([`Net::count_conditions`]).
//!
//! | thesis | here |
//! |---|---|
//! | thread condition | [`Thread`] |
//! | shared variable condition, lock condition | [`Condition`] |
//! | event | [`EventNode`] |
//! | possible extension: a preset for the next operation of a thread | [`Extension`] |
//! | •e and the context of e | [`Net::inputs`] |
//! | e• | [`EventNode::outputs`] |
//! | ⌈e⌉, the causes of e | the [`Net::clock`] of e: the last event of each process among them |
//!
//! An [`Extension`] stays in the net after it has become an event.
//!
//! Deviations. An event touches the places that its step *claims* (erratum E2 in
//! docs/algorithms.md), and there may be any number of them: a guard is a read of its variables,
//! and an atomic block is one event with all of its accesses. This is correct because dependence is
//! defined by claims, too: two steps are dependent exactly if they share a condition that one of
//! them takes. So the maximal configurations are the traces. A held lock has a condition too, while
//! in the thesis it has none. So every place is always marked, and locks need no rules of their
//! own. The end of a process that was started by another one is a place, which its last event
//! writes and a join reads.

use hashbrown::HashTable;
use mazurka_core::{Access, AccessKind, ProcessId, Status, Wait};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::hash::Hasher;

/// The index that means no node. It also ends every list of nodes.
pub(crate) const NONE: u32 = u32::MAX;

/// Which net to build.
///
/// ```
/// use mazurka_explore::NetKind;
/// assert_eq!("contextual".parse(), Ok(NetKind::Contextual));
/// assert!("conceptual".parse::<NetKind>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetKind {
    /// Each process has a copy of each variable; a write takes all copies.
    Replicated,
    /// A read does not consume the condition of the variable.
    Contextual,
    /// The replicated net, cut where a state is reached again.
    Stateful,
}

impl NetKind {
    /// All kinds of nets.
    pub const ALL: &[NetKind] = &[NetKind::Replicated, NetKind::Contextual, NetKind::Stateful];

    /// Returns a description in a few words.
    pub fn summary(self) -> &'static str {
        match self {
            NetKind::Replicated => {
                "each process has a copy of each variable, a write takes them all"
            }
            NetKind::Contextual => "read arcs: reads leave the variable where it is",
            NetKind::Stateful => {
                "the replicated net up to where a state comes again; most of it is predicted, not run"
            }
        }
    }

    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            NetKind::Replicated => "replicated",
            NetKind::Contextual => "contextual",
            NetKind::Stateful => "stateful",
        }
    }
}

impl std::fmt::Display for NetKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for an unknown name of a net.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no net `{0}`; there are replicated, contextual and stateful")]
pub struct UnknownNet(pub String);

impl std::str::FromStr for NetKind {
    type Err = UnknownNet;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().copied().find(|kind| kind.name() == name);
        found.ok_or_else(|| UnknownNet(name.to_owned()))
    }
}

/// The place of a condition: the cell, or the end of a process, of which the condition is a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A cell of shared memory, a lock, or the cell of an invariant.
    Cell(u32),
    /// The end of a process.
    End(ProcessId),
}

/// The state in which an event left a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition {
    pub place: u32,
    /// The event that wrote it; `NONE` for initial conditions.
    pub producer: u32,
    /// For a lock: whether it is held. For the end of a process: whether the process has ended.
    /// Otherwise false.
    pub set: bool,
    /// The extensions that take or read it, as a list of [`Group`]s.
    pub uses: u32,
    /// The events that take it, and in a replicated net those that read it, as a list of
    /// [`Group`]s.
    pub takers: u32,
}

/// The arcs from a condition to the steps of one process. A search for the steps of other processes
/// skips the whole group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub process: ProcessId,
    /// The arcs, as a list through [`Input::next`].
    pub arcs: u32,
    /// The next group of the condition.
    pub next: u32,
}

/// A local state of a process, identified by all events that it depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    pub process: ProcessId,
    /// Its last event; `NONE` before its first.
    pub last: u32,
    /// Its last event or, before its first, the event that started the process; `NONE` for a
    /// process of the initial state that has made no step.
    pub origin: u32,
    /// The claims of its next step, as an index into [`Net::claims`].
    pub claims: u32,
    pub wait: Wait,
    pub status: Status,
    /// Its extensions, as a list through [`Extension::next`].
    pub extensions: u32,
}

/// A place that a step claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Claimed {
    pub place: u32,
    pub write: bool,
}

/// The state of an extension with respect to tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No test has covered it.
    Pending,
    /// The step is not possible there: it waits for a held lock, a closed guard, or the end of a
    /// process.
    Closed,
    /// It has become an event, or several events if the step chooses.
    Done,
    /// Another extension, in `events`, represents it.
    Alias,
    /// No inputs lead there: the conditions over inputs of its causes contradict each other.
    Impossible,
    /// It is outside of the [region](super::region) that is built.
    Barred,
}

/// A marking of the places that the next step of a thread claims: a preset of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extension {
    pub thread: u32,
    /// Index of its first condition; there is one for each claimed place.
    pub inputs: u32,
    /// Index of the first entry of its clock.
    pub clock: u32,
    /// Length of its clock.
    pub width: u32,
    pub phase: Phase,
    /// Its events, as a list through [`EventNode::next`]; the most recently added is first. For an
    /// [alias](Phase::Alias): the extension that represents it.
    pub events: u32,
    /// The next extension of the thread.
    pub next: u32,
}

/// An arc into an extension or an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub condition: u32,
    /// Whether the extension or event takes the condition, not only reads it.
    pub write: bool,
    /// The extension or the event.
    pub owner: u32,
    /// For an event that takes the condition: the number of its causes that read it.
    pub reads: u32,
    /// The next arc from the same condition in the same group.
    pub next: u32,
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventNode {
    pub process: ProcessId,
    /// The previous event of the same process, or [`NONE`].
    pub parent: u32,
    /// Number of events of its process up to and including this one.
    pub depth: u32,
    /// The extension that it belongs to.
    pub extension: u32,
    /// Index of its first arc in [`Net::arcs`].
    pub inputs: u32,
    pub input_count: u32,
    /// Index of its first condition. It makes one for each input that it takes, in the same order.
    pub outputs: u32,
    pub output_count: u32,
    /// Index of the thread of its process after it. The threads of the processes that it starts
    /// follow.
    pub thread: u32,
    pub thread_count: u32,
    /// Index of its first outcome in [`Net::outcomes`].
    pub outcomes: u32,
    pub outcome_count: u32,
    /// The next event of the extension.
    pub next: u32,
}

/// An occurrence net.
#[derive(Debug)]
pub(crate) struct Net {
    pub kind: NetKind,
    pub places: Vec<Place>,
    by_place: FxHashMap<Place, u32>,
    /// For each place, its initial condition.
    pub initial: Vec<u32>,
    /// For each place, whether it is a lock.
    locks: Vec<bool>,
    pub conditions: Vec<Condition>,
    pub threads: Vec<Thread>,
    pub events: Vec<EventNode>,
    pub extensions: Vec<Extension>,
    /// The arcs into extensions.
    pub uses: Vec<Input>,
    /// The arcs into events.
    pub arcs: Vec<Input>,
    pub groups: Vec<Group>,
    clocks: Vec<u32>,
    pub claims: Vec<Box<[Claimed]>>,
    by_claims: FxHashMap<Box<[Claimed]>, u32>,
    pub outcomes: Vec<i64>,
    /// The extensions, by the hash of thread, conditions and past: see [`Net::find`].
    index: HashTable<u32>,
}

impl Net {
    pub fn new(kind: NetKind) -> Self {
        Self {
            // A stateful net is a prefix of the replicated one.
            kind: match kind {
                NetKind::Contextual => NetKind::Contextual,
                NetKind::Replicated | NetKind::Stateful => NetKind::Replicated,
            },
            places: Vec::new(),
            by_place: FxHashMap::default(),
            initial: Vec::new(),
            locks: Vec::new(),
            conditions: Vec::new(),
            threads: Vec::new(),
            events: Vec::new(),
            extensions: Vec::new(),
            uses: Vec::new(),
            arcs: Vec::new(),
            groups: Vec::new(),
            clocks: Vec::new(),
            claims: vec![Box::default()],
            by_claims: std::iter::once((Box::default(), 0)).collect(),
            outcomes: Vec::new(),
            index: HashTable::new(),
        }
    }

    pub fn event(&self, event: u32) -> &EventNode {
        &self.events[event as usize]
    }

    pub fn extension(&self, extension: u32) -> &Extension {
        &self.extensions[extension as usize]
    }

    pub fn thread(&self, thread: u32) -> &Thread {
        &self.threads[thread as usize]
    }

    pub fn condition(&self, condition: u32) -> &Condition {
        &self.conditions[condition as usize]
    }

    /// Returns the arcs into an event.
    #[inline]
    pub fn inputs(&self, event: u32) -> &[Input] {
        let node = self.event(event);
        &self.arcs[node.inputs as usize..(node.inputs + node.input_count) as usize]
    }

    /// Returns the arcs into an extension, one for each claimed place.
    #[inline]
    pub fn preset(&self, extension: u32) -> &[Input] {
        let count = self.claimed(extension).len();
        let first = self.extension(extension).inputs as usize;
        &self.uses[first..first + count]
    }

    /// Returns the claims of an extension.
    #[inline]
    pub fn claimed(&self, extension: u32) -> &[Claimed] {
        self.claims_of(self.extension(extension).thread)
    }

    /// Returns the claims of the next step of a thread.
    #[inline]
    pub fn claims_of(&self, thread: u32) -> &[Claimed] {
        &self.claims[self.thread(thread).claims as usize]
    }

    /// Returns the last event of each process among the causes of an extension.
    #[inline]
    pub fn past(&self, extension: u32) -> &[u32] {
        let extension = self.extension(extension);
        &self.clocks[extension.clock as usize..(extension.clock + extension.width) as usize]
    }

    /// Computes the last event of each process among an event and its causes.
    pub fn clock(&self, event: u32, into: &mut Vec<u32>) {
        into.clear();
        if event == NONE {
            return;
        }
        let node = self.event(event);
        into.extend_from_slice(self.past(node.extension));
        set(into, node.process, event);
    }

    /// Returns the index of a place; adds the place with its initial condition if it is new.
    pub fn place(&mut self, place: Place) -> u32 {
        if let Some(&known) = self.by_place.get(&place) {
            return known;
        }
        let number = self.places.len() as u32;
        self.places.push(place);
        self.by_place.insert(place, number);
        let condition = self.add_condition(number, NONE, false);
        self.initial.push(condition);
        self.locks.push(false);
        number
    }

    /// Returns the index of a place, if a step has claimed the place.
    pub fn known_place(&self, place: Place) -> Option<u32> {
        self.by_place.get(&place).copied()
    }

    pub fn add_condition(&mut self, place: u32, producer: u32, set: bool) -> u32 {
        self.conditions.push(Condition {
            place,
            producer,
            set,
            uses: NONE,
            takers: NONE,
        });
        self.conditions.len() as u32 - 1
    }

    /// Puts an arc at the front of the group of a process. Returns the group and the arc that was
    /// at its front. `first` is the condition's list of groups.
    pub fn link(&mut self, first: u32, process: ProcessId, arc: u32) -> (u32, u32) {
        let mut group = first;
        while group != NONE {
            let known = &mut self.groups[group as usize];
            if known.process == process {
                return (first, std::mem::replace(&mut known.arcs, arc));
            }
            group = known.next;
        }
        self.groups.push(Group {
            process,
            arcs: arc,
            next: first,
        });
        (self.groups.len() as u32 - 1, NONE)
    }

    /// Returns the index in [`Net::claims`] of claims on the cells of some accesses and on the ends
    /// of some processes; adds the list if it is new.
    pub fn list(&mut self, claims: &[Access], ends: &[ProcessId]) -> u32 {
        let mut list: SmallVec<[Claimed; 8]> = SmallVec::new();
        for access in claims {
            for cell in access.cells() {
                let place = self.place(Place::Cell(cell as u32));
                let write = access.writes();
                let lock = matches!(access.kind, AccessKind::Acquire | AccessKind::Release);
                self.locks[place as usize] |= lock;
                list.push(Claimed { place, write });
            }
        }
        for &process in ends {
            let place = self.place(Place::End(process));
            list.push(Claimed {
                place,
                write: false,
            });
        }
        list.sort_unstable();
        // The claims on one place are merged into one.
        list.dedup_by(|more, known| {
            let same = more.place == known.place;
            known.write |= same && more.write;
            same
        });
        if let Some(&known) = self.by_claims.get(&list[..]) {
            return known;
        }
        let number = self.claims.len() as u32;
        let list: Box<[Claimed]> = list.as_slice().into();
        self.claims.push(list.clone());
        self.by_claims.insert(list, number);
        number
    }

    /// Whether a place is a lock.
    pub fn is_lock(&self, place: u32) -> bool {
        self.locks[place as usize]
    }

    /// Returns the event of the same process with this depth: the event itself, or one of its
    /// causes.
    #[inline]
    fn ancestor(&self, mut event: u32, depth: u32) -> u32 {
        while self.event(event).depth > depth {
            event = self.event(event).parent;
        }
        event
    }

    /// Whether an event is `other`, or a later event of the same process.
    pub fn is_at_or_after(&self, event: u32, other: u32) -> bool {
        self.event(event).depth >= self.event(other).depth
            && self.ancestor(event, self.event(other).depth) == other
    }

    /// Returns the threads after a configuration.
    pub fn threads_after(&self, clock: &[u32]) -> Vec<u32> {
        let idle = |process: ProcessId| clock.get(process.index()).is_none_or(|&e| e == NONE);
        let roots = (0..)
            .zip(&self.threads)
            .take_while(|(_, thread)| thread.origin == NONE);
        let roots = roots.filter(|(_, thread)| idle(thread.process));
        let mut found: Vec<u32> = roots.map(|(number, _)| number).collect();
        for &last in clock {
            let mut event = last;
            while event != NONE {
                let node = self.event(event);
                found.extend((event == last).then_some(node.thread));
                let started = node.thread + 1..node.thread + node.thread_count;
                found.extend(started.filter(|&thread| idle(self.thread(thread).process)));
                event = node.parent;
            }
        }
        found
    }

    /// Joins two clocks into the first. Returns false if they contain different events of one
    /// process at the same depth.
    #[inline]
    pub fn join(&self, into: &mut Vec<u32>, other: &[u32]) -> bool {
        if into.len() < other.len() {
            into.resize(other.len(), NONE);
        }
        into.iter_mut()
            .zip(other)
            .all(|(mine, &theirs)| self.join_one(mine, theirs))
    }

    /// Joins an event and its causes into a clock. Returns false as [`join`](Self::join) does.
    #[inline]
    pub fn join_event(&self, into: &mut Vec<u32>, event: u32) -> bool {
        if event == NONE {
            return true;
        }
        let node = self.event(event);
        let process = node.process.index();
        if into.len() <= process {
            into.resize(process + 1, NONE);
        }
        // This check fails most often, so it comes first.
        self.join_one(&mut into[process], event) && self.join(into, self.past(node.extension))
    }

    /// Joins the last events of one process in two clocks. Returns false if neither is at or after
    /// the other.
    #[inline]
    fn join_one(&self, mine: &mut u32, theirs: u32) -> bool {
        if *mine == theirs || theirs == NONE {
            return true;
        }
        if *mine == NONE {
            *mine = theirs;
            return true;
        }
        let (one, other) = (self.event(*mine).depth, self.event(theirs).depth);
        if one >= other {
            return self.ancestor(*mine, other) == theirs;
        }
        let fits = self.ancestor(theirs, one) == *mine;
        *mine = theirs;
        fits
    }

    fn hash(&self, thread: u32, preset: impl Iterator<Item = u32>, past: &[u32]) -> u64 {
        let mut hasher = rustc_hash::FxHasher::default();
        hasher.write_u32(thread);
        preset.for_each(|condition| hasher.write_u32(condition));
        // In a replicated net the past of a write contains all reads before it.
        if self.kind == NetKind::Replicated {
            past.iter().for_each(|&event| hasher.write_u32(event));
        }
        hasher.finish()
    }

    /// Returns the extension of a thread with these conditions and (in a replicated net) this past,
    /// if it is known.
    pub fn find(&self, thread: u32, preset: &[u32], past: &[u32]) -> Option<u32> {
        let past = trimmed(past);
        let hash = self.hash(thread, preset.iter().copied(), past);
        let same = |&known: &u32| {
            self.extension(known).thread == thread
                && self
                    .preset(known)
                    .iter()
                    .map(|input| input.condition)
                    .eq(preset.iter().copied())
                && (self.kind == NetKind::Contextual || self.past(known) == past)
        };
        self.index.find(hash, same).copied()
    }

    /// Adds an extension.
    pub fn add_extension(
        &mut self,
        thread: u32,
        preset: &[u32],
        past: &[u32],
        phase: Phase,
    ) -> u32 {
        let past = trimmed(past);
        let number = self.extensions.len() as u32;
        let inputs = self.uses.len() as u32;
        let process = self.thread(thread).process;
        for (at, &condition) in preset.iter().enumerate() {
            let uses = self.condition(condition).uses;
            let (uses, next) = self.link(uses, process, inputs + at as u32);
            self.conditions[condition as usize].uses = uses;
            self.uses.push(Input {
                condition,
                write: self.claims_of(thread)[at].write,
                owner: number,
                reads: 0,
                next,
            });
        }
        let extensions = &mut self.threads[thread as usize].extensions;
        self.extensions.push(Extension {
            thread,
            inputs,
            clock: self.clocks.len() as u32,
            width: past.len() as u32,
            phase,
            events: NONE,
            next: std::mem::replace(extensions, number),
        });
        self.clocks.extend_from_slice(past);
        let hash = self.hash(thread, preset.iter().copied(), past);
        let mut index = std::mem::take(&mut self.index);
        index.insert_unique(hash, number, |&known| {
            let preset = self.preset(known).iter().map(|input| input.condition);
            self.hash(self.extension(known).thread, preset, self.past(known))
        });
        self.index = index;
        number
    }

    /// Returns the events of an extension.
    pub fn events_of(&self, extension: u32) -> impl Iterator<Item = u32> {
        let Extension { phase, events, .. } = *self.extension(extension);
        let first = if phase == Phase::Done { events } else { NONE };
        std::iter::successors((first != NONE).then_some(first), |&event| {
            let next = self.event(event).next;
            (next != NONE).then_some(next)
        })
    }

    /// Returns the extensions of a thread.
    pub fn extensions_of(&self, thread: u32) -> impl Iterator<Item = u32> {
        let first = self.thread(thread).extensions;
        std::iter::successors((first != NONE).then_some(first), |&extension| {
            let next = self.extension(extension).next;
            (next != NONE).then_some(next)
        })
    }

    /// Returns the outcomes of an event.
    pub fn chosen(&self, event: u32) -> &[i64] {
        let node = self.event(event);
        &self.outcomes[node.outcomes as usize..(node.outcomes + node.outcome_count) as usize]
    }

    /// Returns the number of conditions as the thesis draws the net: one for each local state of a
    /// process, for each state of a variable, and for each lock while it is free. With place
    /// replication a variable has one condition for each process, and a read makes a new one.
    pub fn count_conditions(&self, processes: usize) -> u64 {
        let replicated = self.kind == NetKind::Replicated;
        let mut count = self.threads.len() as u64;
        for condition in &self.conditions {
            count += match self.places[condition.place as usize] {
                // The thesis draws no condition for a held lock, nor for the end of a process.
                Place::End(_) => 0,
                Place::Cell(_) if condition.set => 0,
                Place::Cell(_) if replicated && !self.locks[condition.place as usize] => {
                    processes as u64
                }
                Place::Cell(_) => 1,
            };
        }
        if replicated {
            let reads = |input: &&Input| {
                let place = self.condition(input.condition).place;
                !input.write && matches!(self.places[place as usize], Place::Cell(_))
            };
            count += self.arcs.iter().filter(reads).count() as u64;
        }
        count
    }
}

/// Sets the entry of a process in a clock.
pub(crate) fn set(clock: &mut Vec<u32>, process: ProcessId, event: u32) {
    if clock.len() <= process.index() {
        clock.resize(process.index() + 1, NONE);
    }
    clock[process.index()] = event;
}

/// Returns a clock without trailing processes that have no event.
fn trimmed(clock: &[u32]) -> &[u32] {
    let end = clock.iter().rposition(|&event| event != NONE);
    &clock[..end.map_or(0, |end| end + 1)]
}
