//! Happens-before and races of the current execution, kept as it grows and shrinks.
//!
//! Everything is a set of positions: each event keeps all its predecessors, each process its
//! events, each cell its accesses and its writes. The last write, the reads since, the first event of a process
//! after a position are then questions about highest and lowest bits, and taking an event back
//! is clearing one bit.
//!
//! A race (JACM 2017, Definition 3.3) is a pair of conflicting events of different
//! processes with nothing between them in happens-before. Locks are special: an acquisition races
//! with the *previous acquisition*, for a release cannot be moved before its own acquisition.

use mazurka_core::{Access, AccessKind, Event, ProcessId, Wait};

use crate::catalogue::single;
use crate::set::{Set, for_each};

/// An event of the current execution.
#[derive(Clone, Debug)]
pub(crate) struct Occurrence<S> {
    pub process: ProcessId,
    /// What it claims, if that is one cell: see [`single`].
    pub single: Option<u32>,
    /// The step acquires one lock, does nothing else, and follows a critical section, or waits for its end.
    pub acquires: bool,
    /// The step could have had to wait for a condition.
    pub guarded: bool,
    /// The step may take a lock or give it back.
    locks: bool,
    /// All that happens before it.
    pub before: S,
    /// The part of it that program order, spawns and joins account for.
    pub program: S,
    /// The events before it that race with it.
    pub races: S,
    /// The first events of all races up to here whose second event is not guarded.
    pub firsts: S,
    /// What `Thread::latest` said.
    latest: u32,
}

/// What a process has done.
#[derive(Clone, Debug, Default)]
struct Thread<S> {
    /// Its events.
    events: S,
    /// The position of its last event, or else of the event that started it, plus 1.
    latest: u32,
    /// How many they are.
    made: u32,
}

/// The events that claim a cell.
#[derive(Clone, Debug, Default)]
struct Claimed<S> {
    /// Those that do not only read it: what conflicts with a read.
    written: S,
    /// All: what conflicts with a write.
    all: S,
}

impl<S: Set> Claimed<S> {
    /// The events that conflict with an access.
    #[inline]
    fn rivals(&self, writes: bool) -> &S {
        if writes { &self.all } else { &self.written }
    }

    #[inline]
    fn insert(&mut self, at: usize, writes: bool) {
        self.all.insert(at);
        self.written.insert_if(writes, at);
    }

    #[inline]
    fn remove(&mut self, at: usize) {
        self.all.remove(at);
        self.written.remove(at);
    }
}

/// The events that really took a lock, and that really gave it back.
#[derive(Clone, Debug, Default)]
struct Lock<S> {
    acquired: S,
    released: S,
}

/// The order of the current execution.
#[derive(Clone, Debug)]
pub(crate) struct Order<S> {
    pub events: Vec<Occurrence<S>>,
    /// For each process.
    threads: Vec<Thread<S>>,
    /// For each cell.
    cells: Vec<Claimed<S>>,
    /// For each cell, lock or not.
    locks: Vec<Lock<S>>,
}

/// A claim of one cell by its number (see [`single`]): the cell, and whether it is not only read.
#[inline]
fn cell_of(single: u32) -> (usize, bool) {
    (single as usize / 2, single & 1 == 1)
}

/// Whether a step may take a lock or give it back.
#[inline]
fn takes_locks(claims: &[Access]) -> bool {
    let takes = |access: &Access| matches!(access.kind, AccessKind::Acquire | AccessKind::Release);
    match claims {
        [access] => takes(access),
        _ => claims.iter().any(takes),
    }
}

impl<S: Set> Order<S> {
    pub fn new() -> Self {
        Self {
            events: Vec::new(),
            threads: Vec::new(),
            cells: Vec::new(),
            locks: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// There may be events of this process, and with these claims.
    #[cold]
    pub fn make_room(&mut self, process: ProcessId, claims: &[Access]) {
        if self.threads.len() <= process.index() {
            let len = process.index() + 1;
            self.threads.resize_with(len, Thread::default);
        }
        for access in claims {
            let cells = access.cells().end;
            if self.locks.len() < cells {
                self.cells.resize_with(cells, Claimed::default);
                self.locks.resize_with(cells, Lock::default);
            }
        }
    }

    /// What program order puts before the next step of a process.
    #[inline]
    pub fn program_past(&self, process: ProcessId, joined: &[ProcessId]) -> S {
        let past = self.past_of_latest(process);
        match joined {
            [] => past,
            _ => self.after_joining(past, joined),
        }
    }

    /// A past, and that of processes which have ended.
    #[inline(never)]
    fn after_joining(&self, mut past: S, joined: &[ProcessId]) -> S {
        for &child in joined {
            past.add_all(&self.past_of_latest(child));
        }
        past
    }

    /// The last event of a process, or the one that started it, with all that happens before it.
    #[inline]
    fn past_of_latest(&self, process: ProcessId) -> S {
        let thread = self.threads.get(process.index());
        let Some(at) = thread.and_then(|thread| thread.latest.checked_sub(1)) else {
            return S::default();
        };
        let mut past = self.events[at as usize].before.clone();
        past.insert(at as usize);
        past
    }

    /// For each cell of an access the events that conflict with it there.
    #[inline]
    fn rivals(&self, access: Access) -> impl Iterator<Item = &S> {
        let cells = access.cells().map_while(|cell| self.cells.get(cell));
        cells.map(move |claimed| claimed.rivals(access.writes()))
    }

    /// The events of a process.
    #[inline]
    pub fn events_of(&self, process: ProcessId) -> Option<&S> {
        let thread = self.threads.get(process.index())?;
        Some(&thread.events)
    }

    /// How many events a process has made.
    #[inline]
    pub fn made(&self, process: ProcessId) -> u32 {
        let thread = self.threads.get(process.index());
        thread.map_or(0, |thread| thread.made)
    }

    /// The events whose accesses conflict with these.
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

    /// Whether an access of one cell, as a number, conflicts with an event of a set.
    #[inline]
    pub fn single_conflicts(&self, number: u32, with: &S) -> bool {
        let (cell, writes) = cell_of(number);
        let claimed = self.cells.get(cell);
        claimed.is_some_and(|claimed| with.meets(claimed.rivals(writes)))
    }

    /// Extends the execution by an event.
    #[inline(always)]
    pub fn push(&mut self, event: &Event) {
        // An index out of bounds acquires nothing.
        let acquires = event.wait == Wait::Lock && !event.claims.is_empty();
        let guarded = event.wait == Wait::Guard;
        let program = self.program_past(event.process, &event.joined);
        let (claims, touched) = (&event.claims, &event.touched);
        self.extend(event.process, claims, touched, program, acquires, guarded);
        if !event.spawned.is_empty() {
            self.spawn(&event.spawned, self.events.len() as u32);
        }
    }

    /// The last event has started these processes; or nobody has.
    #[inline(never)]
    fn spawn(&mut self, spawned: &[ProcessId], latest: u32) {
        for &child in spawned {
            if child.index() >= self.threads.len() {
                self.make_room(child, &[]);
            }
            self.threads[child.index()].latest = latest;
        }
    }

    /// Extends the execution by an acquisition that is not made because it has to wait.
    pub fn push_virtual(&mut self, process: ProcessId, claims: &[Access]) {
        let program = self.program_past(process, &[]);
        self.extend(process, claims, &[], program, true, false);
    }

    #[inline(always)]
    fn extend(
        &mut self,
        process: ProcessId,
        claims: &[Access],
        touched: &[Access],
        program: S,
        acquires: bool,
        guarded: bool,
    ) {
        let at = self.events.len();
        let single = single(claims);
        let mut candidates = self.claim(process, single, claims, at);
        candidates.remove_all(&program);
        let mut before = program.clone();
        let mut races = S::default();
        while let Some(last) = candidates.highest() {
            races.insert(last);
            before.insert(last);
            before.add_all(&self.events[last].before);
            candidates.remove_all(&before);
        }
        let mut follows = false;
        if acquires {
            let lock = claims[0].first as usize;
            if let Some(race) = self.lock_race(lock, &races, &program, touched.is_empty()) {
                (races, follows) = (race, true);
            }
        }
        let locks = takes_locks(claims);
        if locks {
            self.lock_event(touched, |set| set.insert(at));
        }
        let thread = &mut self.threads[process.index()];
        thread.events.insert(at);
        thread.made += 1;
        let latest = std::mem::replace(&mut thread.latest, at as u32 + 1);
        let mut firsts = match self.events.last() {
            Some(last) => last.firsts.clone(),
            None => S::default(),
        };
        if !guarded {
            firsts.add_all(&races);
        }
        self.events.push(Occurrence {
            process,
            single,
            acquires: follows,
            guarded,
            locks,
            before,
            program,
            races,
            firsts,
            latest,
        });
    }

    /// Enters an event at a position with the cells that it claims. Gives the events that it conflicts with.
    #[inline(always)]
    fn claim(
        &mut self,
        process: ProcessId,
        single: Option<u32>,
        claims: &[Access],
        at: usize,
    ) -> S {
        if process.index() >= self.threads.len() {
            self.make_room(process, claims);
        }
        match single {
            Some(number) => {
                let (cell, writes) = cell_of(number);
                if cell >= self.cells.len() {
                    self.make_room(process, claims);
                }
                let claimed = &mut self.cells[cell];
                let candidates = claimed.rivals(writes).clone();
                claimed.insert(at, writes);
                candidates
            }
            None => self.claim_all(process, claims, at),
        }
    }

    /// The same with any number of cells.
    #[inline(never)]
    fn claim_all(&mut self, process: ProcessId, claims: &[Access], at: usize) -> S {
        self.make_room(process, claims);
        let candidates = self.conflicting(claims);
        for access in claims {
            for cell in access.cells() {
                self.cells[cell].insert(at, access.writes());
            }
        }
        candidates
    }

    /// Takes an event back that claims these cells.
    #[inline(never)]
    fn unclaim_all(&mut self, claims: &[Access], at: usize) {
        for access in claims {
            for cell in access.cells() {
                self.cells[cell].remove(at);
            }
        }
    }

    /// Changes the sets of the locks that an event really took or gave back.
    #[inline(never)]
    fn lock_event(&mut self, touched: &[Access], change: impl Fn(&mut S)) {
        for access in touched {
            match access.kind {
                AccessKind::Acquire => change(&mut self.locks[access.first as usize].acquired),
                AccessKind::Release => change(&mut self.locks[access.first as usize].released),
                AccessKind::Read | AccessKind::Write => {}
            }
        }
    }

    /// The race of an acquisition. It follows a release, and can only be moved before the acquisition that
    /// this belongs to; so can one that waits, which follows an acquisition. None where what comes before it claims the lock but leaves
    /// it as it is: that moves freely.
    #[inline(never)]
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

    /// The last event that took a lock.
    pub fn acquisition(&self, lock: usize) -> Option<usize> {
        self.locks.get(lock)?.acquired.highest()
    }

    /// Takes the last event back; `event` must be the one that was pushed. Gives what it claims, if that is one cell.
    #[inline(always)]
    pub fn pop(&mut self, event: &Event) -> Option<u32> {
        let single = self.shrink(&event.claims, &event.touched);
        if !event.spawned.is_empty() {
            self.spawn(&event.spawned, 0);
        }
        single
    }

    /// Takes the last step back, if it was not made.
    pub fn pop_virtual(&mut self, claims: &[Access]) {
        self.shrink(claims, &[]);
    }

    #[inline(always)]
    fn shrink(&mut self, claims: &[Access], touched: &[Access]) -> Option<u32> {
        let last = self.events.pop()?;
        let at = self.events.len();
        let thread = &mut self.threads[last.process.index()];
        thread.events.remove(at);
        thread.made -= 1;
        thread.latest = last.latest;
        match last.single {
            Some(number) => self.cells[cell_of(number).0].remove(at),
            None => self.unclaim_all(claims, at),
        }
        if last.locks {
            self.lock_event(touched, |set| set.remove(at));
        }
        last.single
    }

    /// What happens before all of some events.
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

    /// The events after a position that do not happen after the event there.
    pub fn not_after(&self, at: usize) -> S {
        let mut all = S::default();
        for (offset, event) in self.events[at + 1..].iter().enumerate() {
            all.insert_if(!event.before.contains(at), at + 1 + offset);
        }
        all
    }

    /// The positions of events that a guarded step waits for or is closed by: all that conflict
    /// with it and are not in its program past (errata E3).
    pub fn for_each_rival(&self, process: ProcessId, claims: &[Access], visit: impl FnMut(usize)) {
        let mut rivals = self.conflicting(claims);
        rivals.remove_all(&self.program_past(process, &[]));
        for_each(&rivals, visit);
    }
}
