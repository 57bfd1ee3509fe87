//! Happens-before and races of the current execution, updated as it grows and shrinks.
//!
//! All relations are sets of positions. An event has the set of its predecessors, a process the set
//! of its events, and a cell the sets of its accesses and of its writes. Then the last write, the
//! reads since, and the first event of a process after a position are the highest and lowest bits
//! of such sets, and removing an event clears one bit in each set.
//!
//! A race (JACM 2017, Definition 3.3) is a pair of conflicting events of different processes with
//! no event between them in happens-before. Locks are special: an acquisition races with the
//! *previous acquisition*, because a release cannot be moved before its own acquisition.

use mazurka_core::{Access, AccessKind, Enabling, Event, ProcessId, Wait};

use crate::relations::catalogue::{is_single, number_of, single};
use crate::relations::set::{Set, for_each};

/// An event of the current execution.
#[derive(Clone, Debug)]
pub(crate) struct Occurrence<S> {
    /// The events that happen before it.
    pub before: S,
    /// Its program past: the events that program order, spawns, joins and enabling put before it,
    /// and all events that happen before those.
    pub program: S,
    /// The earlier events that race with it.
    pub races: S,
    /// The first events of all races up to here whose second event is not guarded.
    pub firsts: S,
    pub process: ProcessId,
    /// The number of its claim, if it claims one cell: see [`single`].
    pub single: u32,
    /// The value of `Thread::latest` before it.
    latest: u32,
    /// Whether the step only acquires one lock, and follows a critical section or waits for its
    /// end.
    pub acquires: bool,
    /// Whether the step may wait for a condition.
    pub guarded: bool,
    /// Whether the step claims one cell that is not a lock, and starts no process.
    plain: bool,
}

/// The events of a process.
#[derive(Clone, Debug, Default)]
struct Thread<S> {
    /// Its events.
    events: S,
    /// One more than the position of its last event or, if it has no event, of the event that
    /// started it; 0 if there is neither.
    latest: u32,
    /// Number of its events.
    made: u32,
}

/// The events that actually acquired a lock, and those that actually released it.
#[derive(Clone, Debug, Default)]
struct Lock<S> {
    acquired: S,
    released: S,
}

/// The relations of the current execution.
#[derive(Clone, Debug)]
pub(crate) struct Order<S> {
    /// The events of the current execution, in order.
    pub events: Vec<Occurrence<S>>,
    /// The events of each process.
    threads: Vec<Thread<S>>,
    /// For each cell, the events that conflict with a read of it, and those that conflict with a
    /// write. The first set has the events that do more than read the cell, the second all events
    /// that claim it. In the flattened list, the set for an access has the number of the access
    /// (see [`single`]) as its index.
    rivals: Vec<[S; 2]>,
    /// For each cell, its acquisitions and releases; empty if it is not a lock.
    locks: Vec<Lock<S>>,
}

/// Adds the event at a position to the sets of the cell that it claims. `number` is that of the
/// access (see [`single`]).
#[inline(always)]
fn insert<S: Set>([written, all]: &mut [S; 2], number: usize, at: usize) {
    all.insert(at);
    written.insert_if(number & 1 == 1, at);
}

/// Removes the event at a position from the sets of the cell that it claims. `number` is that of
/// the access. Each set gets a mask of its own: with the same mask for both, the compiler would
/// combine them to one vector, which causes store-forwarding stalls, because [`insert`] has just
/// written the two sets separately.
#[inline(always)]
fn remove<S: Set>([written, all]: &mut [S; 2], number: usize, at: usize) {
    all.remove(at);
    written.remove_if(number & 1 == 1, at);
}

/// Returns the numbers of an access, one for each of its cells.
#[inline]
fn numbers(access: Access) -> impl Iterator<Item = usize> {
    let writes = usize::from(access.writes());
    access.cells().map(move |cell| 2 * cell + writes)
}

/// An event to add. It may be virtual, that is, a step that is not made.
struct Extension<'a, S> {
    process: ProcessId,
    claims: &'a [Access],
    touched: &'a [Access],
    /// Its program past.
    program: S,
    acquires: bool,
    guarded: bool,
}

impl<S: Set> Order<S> {
    pub fn new() -> Self {
        Self {
            events: Vec::new(),
            threads: Vec::new(),
            rivals: Vec::new(),
            locks: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Extends the tables for events of this process with these claims.
    #[inline]
    pub fn make_room_for(&mut self, process: ProcessId, claims: &[Access]) {
        let known = |access: &Access| access.cells().end <= self.locks.len();
        if process.index() >= self.threads.len() || !claims.iter().all(known) {
            self.make_room(process, claims);
        }
    }

    #[cold]
    fn make_room(&mut self, process: ProcessId, claims: &[Access]) {
        if self.threads.len() <= process.index() {
            let len = process.index() + 1;
            self.threads.resize_with(len, Thread::default);
        }
        for access in claims {
            let cells = access.cells().end;
            if self.locks.len() < cells {
                self.rivals.resize_with(cells, Default::default);
                self.locks.resize_with(cells, Lock::default);
            }
        }
    }

    /// Returns the events that program order puts before the next step of a process.
    #[inline]
    pub fn program_past(&self, process: ProcessId, joined: &[ProcessId]) -> S {
        let past = self.past_of_latest(process);
        match joined {
            [] => past,
            _ => self.after_joining(past, joined),
        }
    }

    /// Returns a past together with the pasts of processes that have ended.
    #[inline(never)]
    fn after_joining(&self, mut past: S, joined: &[ProcessId]) -> S {
        for &child in joined {
            past.add_all(&self.past_of_latest(child));
        }
        past
    }

    /// Adds the pasts of events that have made a step possible. Events before the start of the
    /// search are not in the relation.
    #[inline(never)]
    fn add_enabling(&self, enabled_by: &[Enabling], past: &mut S) {
        for enabling in enabled_by {
            let mut events = self
                .events_of(enabling.process)
                .cloned()
                .unwrap_or_default();
            for _ in 1..enabling.back {
                let Some(last) = events.highest() else { break };
                events.remove(last);
            }
            if let Some(at) = events.highest() {
                past.add_all(&self.past_of(at as u32 + 1));
            }
        }
    }

    /// Returns the last event of a process, or the one that started it, with all events that happen
    /// before it.
    #[inline]
    fn past_of_latest(&self, process: ProcessId) -> S {
        let thread = self.threads.get(process.index());
        self.past_of(thread.map_or(0, |thread| thread.latest))
    }

    /// Returns the event before a position, with all events that happen before it.
    #[inline(always)]
    fn past_of(&self, latest: u32) -> S {
        let Some(at) = latest.checked_sub(1) else {
            return S::default();
        };
        let mut past = self.events[at as usize].before.clone();
        past.insert(at as usize);
        past
    }

    /// Returns, for each cell of an access, the events that conflict with the access there.
    #[inline]
    fn rivals(&self, access: Access) -> impl Iterator<Item = &S> {
        numbers(access).map_while(|number| self.rivals.as_flattened().get(number))
    }

    /// Returns the events of a process.
    #[inline]
    pub fn events_of(&self, process: ProcessId) -> Option<&S> {
        let thread = self.threads.get(process.index())?;
        Some(&thread.events)
    }

    /// Returns the number of events of a process.
    #[inline]
    pub fn event_count(&self, process: ProcessId) -> u32 {
        let thread = self.threads.get(process.index());
        thread.map_or(0, |thread| thread.made)
    }

    /// Returns the events whose accesses conflict with these.
    pub fn conflicting(&self, claims: &[Access]) -> S {
        let mut all = S::default();
        for &access in claims {
            for rivals in self.rivals(access) {
                all.add_all(rivals);
            }
        }
        all
    }

    /// Whether these accesses conflict with an event of a set.
    #[inline(never)]
    pub fn conflicts(&self, claims: &[Access], with: &S) -> bool {
        let mut rivals = claims.iter().flat_map(|&access| self.rivals(access));
        rivals.any(|rivals| with.meets(rivals))
    }

    /// Returns the events that conflict with an access to one cell, given by its number. The tables
    /// must have room for it.
    #[inline]
    pub fn rivals_of(&self, number: u32) -> &S {
        &self.rivals.as_flattened()[number as usize]
    }

    /// Returns the first event of a process after a position. The tables must have room for it.
    #[inline]
    pub fn next_of(&self, process: ProcessId, after: usize) -> Option<usize> {
        let mut events = self.threads[process.index()].events.clone();
        events.keep_above(after);
        events.lowest()
    }

    /// Returns the first event of a process in a set. The tables must have room for it.
    #[inline]
    pub fn first_of(&self, process: ProcessId, within: &S) -> Option<usize> {
        self.threads[process.index()].events.lowest_common(within)
    }

    /// Extends the execution by an event. Returns the number of its claim, if it claims one cell:
    /// see [`single`].
    #[inline(always)]
    pub fn push(&mut self, event: &Event) -> u32 {
        match event.claims[..] {
            [access] if event.plain => self.push_plain(event, access),
            _ => self.push_rare(event),
        }
    }

    #[inline(never)]
    fn push_rare(&mut self, event: &Event) -> u32 {
        if event.claims.is_empty() && event.touched.is_empty() && event.wait != Wait::Guard {
            self.push_free(event);
        } else {
            self.push_any(event);
        }
        single(&event.claims)
    }

    /// Adds an event that only reads or writes one cell.
    #[inline(always)]
    fn push_plain(&mut self, event: &Event, access: Access) -> u32 {
        let single = number_of(access);
        let (at, number) = (self.events.len(), single as usize);
        let thread = self.threads.get_mut(event.process.index());
        let (Some(thread), Some(cell)) = (thread, self.rivals.get_mut(number / 2)) else {
            // The tables have no room yet.
            return self.push_rare(event);
        };
        let candidates = cell[number % 2].clone();
        insert(cell, number, at);
        let latest = std::mem::replace(&mut thread.latest, at as u32 + 1);
        thread.events.insert(at);
        thread.made += 1;
        let program = self.past_of(latest);
        let (before, races) = self.last_of(candidates, &program);
        self.events.push(Occurrence {
            firsts: self.firsts_with(&races),
            before,
            program,
            races,
            process: event.process,
            single,
            latest,
            acquires: false,
            guarded: false,
            plain: true,
        });
        single
    }

    /// Adds an event that claims no cell, such as one that waits for the end of a process.
    #[inline(never)]
    fn push_free(&mut self, event: &Event) {
        let at = self.events.len();
        let mut program = self.program_past(event.process, &event.joined);
        if !event.enabled_by.is_empty() {
            self.add_enabling(&event.enabled_by, &mut program);
        }
        self.make_room_for(event.process, &[]);
        let thread = &mut self.threads[event.process.index()];
        let latest = std::mem::replace(&mut thread.latest, at as u32 + 1);
        thread.events.insert(at);
        thread.made += 1;
        self.events.push(Occurrence {
            firsts: self.firsts_with(&S::default()),
            before: program.clone(),
            program,
            races: S::default(),
            process: event.process,
            single: single(&[]),
            latest,
            acquires: false,
            guarded: false,
            plain: false,
        });
        if !event.spawned.is_empty() {
            self.spawn(&event.spawned, self.events.len() as u32);
        }
    }

    /// Adds any event.
    #[inline(never)]
    fn push_any(&mut self, event: &Event) {
        // A step whose index is out of bounds acquires nothing.
        let acquires = event.wait == Wait::Lock && !event.claims.is_empty();
        let guarded = event.wait == Wait::Guard;
        let mut program = self.program_past(event.process, &event.joined);
        if !event.enabled_by.is_empty() {
            self.add_enabling(&event.enabled_by, &mut program);
        }
        self.extend(Extension {
            process: event.process,
            claims: &event.claims,
            touched: &event.touched,
            program,
            acquires,
            guarded,
        });
        if !event.spawned.is_empty() {
            self.spawn(&event.spawned, self.events.len() as u32);
        }
    }

    /// Returns the past of an event, and its races: the candidates with no event between them and
    /// it.
    #[inline(always)]
    fn last_of(&self, mut candidates: S, program: &S) -> (S, S) {
        candidates.remove_all(program);
        let mut before = program.clone();
        let mut races = S::default();
        while let Some(last) = candidates.highest() {
            races.insert(last);
            before.insert(last);
            before.add_all(&self.events[last].before);
            candidates.remove_all(&before);
        }
        (before, races)
    }

    /// Returns the first events of all races so far, including these.
    #[inline(always)]
    fn firsts_with(&self, races: &S) -> S {
        let mut firsts = races.clone();
        if let Some(last) = self.events.last() {
            firsts.add_all(&last.firsts);
        }
        firsts
    }

    /// Sets the event that started these processes.
    #[inline(never)]
    fn spawn(&mut self, spawned: &[ProcessId], latest: u32) {
        for &child in spawned {
            self.make_room_for(child, &[]);
            self.threads[child.index()].latest = latest;
        }
    }

    /// Extends the execution by a step that is not made: an acquisition that must wait, or the next
    /// step of a process at the end of a run that was cut. `acquires` if it acquires a lock.
    pub fn push_virtual(&mut self, process: ProcessId, claims: &[Access], acquires: bool) {
        let program = self.program_past(process, &[]);
        self.extend(Extension {
            process,
            claims,
            touched: &[],
            program,
            acquires: acquires && !claims.is_empty(),
            guarded: false,
        });
    }

    /// Adds an event with its past and its races.
    #[inline(always)]
    fn extend(&mut self, extension: Extension<'_, S>) {
        let Extension {
            process,
            claims,
            touched,
            program,
            acquires,
            guarded,
        } = extension;
        let at = self.events.len();
        let single = single(claims);
        self.make_room_for(process, claims);
        let candidates = if is_single(single) {
            self.rivals_of(single).clone()
        } else {
            self.conflicting(claims)
        };
        self.claim(single, claims, |cell, number| insert(cell, number, at));
        let (before, mut races) = self.last_of(candidates, &program);
        let mut follows = false;
        if acquires {
            let lock = claims[0].first as usize;
            if let Some(race) = self.lock_race(lock, &races, &program, touched.is_empty()) {
                (races, follows) = (race, true);
            }
        }
        self.lock_event(touched, |set| set.insert(at));
        let thread = &mut self.threads[process.index()];
        thread.events.insert(at);
        thread.made += 1;
        let latest = std::mem::replace(&mut thread.latest, at as u32 + 1);
        let counted = if guarded { &S::default() } else { &races };
        self.events.push(Occurrence {
            firsts: self.firsts_with(counted),
            before,
            program,
            races,
            process,
            single,
            latest,
            acquires: follows,
            guarded,
            plain: false,
        });
    }

    /// Adds or removes an event in the sets of the cells that it claims.
    #[inline(always)]
    fn claim(&mut self, single: u32, claims: &[Access], change: impl Fn(&mut [S; 2], usize)) {
        if is_single(single) {
            let number = single as usize;
            return change(&mut self.rivals[number / 2], number);
        }
        for &access in claims {
            for number in numbers(access) {
                change(&mut self.rivals[number / 2], number);
            }
        }
    }

    /// Adds or removes an event in the sets of the locks that it actually acquired or released.
    #[inline(always)]
    fn lock_event(&mut self, touched: &[Access], change: impl Fn(&mut S)) {
        for access in touched {
            match access.kind {
                AccessKind::Acquire => change(&mut self.locks[access.first as usize].acquired),
                AccessKind::Release => change(&mut self.locks[access.first as usize].released),
                AccessKind::Read | AccessKind::Write => {}
            }
        }
    }

    /// Returns the race of an acquisition. A made acquisition follows a release, and can only be
    /// moved before the acquisition that the release belongs to. A waiting acquisition follows the
    /// acquisition of the holder, and can be moved before it. There is no race if the previous
    /// event claims the lock without changing it, because then the acquisition moves freely.
    #[inline(always)]
    fn lock_race(&self, lock: usize, last: &S, program: &S, waits: bool) -> Option<S> {
        let Lock { acquired, released } = &self.locks[lock];
        if !waits && !released.contains(last.highest()?) {
            return None;
        }
        let mut races = S::default();
        let partner = last.highest().and_then(|_| acquired.highest());
        if let Some(partner) = partner.filter(|&partner| !program.contains(partner)) {
            races.insert(partner);
        }
        Some(races)
    }

    /// Returns the last event that acquired a lock.
    pub fn acquisition(&self, lock: usize) -> Option<usize> {
        self.locks.get(lock)?.acquired.highest()
    }

    /// Removes the last event, which must be `event`. Returns the number of its claim, if it claims
    /// one cell.
    #[inline(always)]
    pub fn pop(&mut self, event: &Event) -> u32 {
        let Some((single, plain)) = self.shrink() else {
            return single(&event.claims);
        };
        if plain {
            let number = single as usize;
            remove(&mut self.rivals[number / 2], number, self.events.len());
        } else {
            self.forget(event, single);
        }
        single
    }

    /// Removes the last event from the list and from its process. Returns the number of its claim,
    /// and whether it is plain.
    #[inline(always)]
    fn shrink(&mut self) -> Option<(u32, bool)> {
        let last = self.events.last()?;
        let (single, plain) = (last.single, last.plain);
        let thread = &mut self.threads[last.process.index()];
        thread.events.remove(self.events.len() - 1);
        thread.made -= 1;
        thread.latest = last.latest;
        self.events.pop();
        Some((single, plain))
    }

    /// Removes an event from the sets of the cells that it claimed and the locks that it acquired,
    /// and undoes its starts of processes.
    #[inline(never)]
    fn forget(&mut self, event: &Event, single: u32) {
        let at = self.events.len();
        self.claim(single, &event.claims, |cell, number| {
            remove(cell, number, at)
        });
        self.lock_event(&event.touched, |set| set.remove(at));
        if !event.spawned.is_empty() {
            self.spawn(&event.spawned, 0);
        }
    }

    /// Removes the last step, if it was pushed by [`Order::push_virtual`].
    pub fn pop_virtual(&mut self, claims: &[Access]) {
        if let Some((single, _)) = self.shrink() {
            let at = self.events.len();
            self.claim(single, claims, |cell, number| remove(cell, number, at));
        }
    }

    /// Returns the events that happen before all of some events.
    #[inline]
    pub fn common_past(events: &[Occurrence<S>]) -> S {
        let Some((first, others)) = events.split_first() else {
            return S::default();
        };
        let mut past = first.before.clone();
        for event in others {
            past.keep_all(&event.before);
        }
        past
    }

    /// Returns the events after a position that do not happen after the event there.
    pub fn not_after(&self, at: usize) -> S {
        let mut all = S::default();
        for (offset, event) in self.events[at + 1..].iter().enumerate() {
            all.insert_if(!event.before.contains(at), at + 1 + offset);
        }
        all
    }

    /// Visits the positions of the events that may open or close the guard of a step: all events
    /// that conflict with the step and are not in its program past (errata E3).
    pub fn for_each_rival(&self, process: ProcessId, claims: &[Access], visit: impl FnMut(usize)) {
        let mut rivals = self.conflicting(claims);
        rivals.remove_all(&self.program_past(process, &[]));
        for_each(&rivals, visit);
    }
}
