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
    /// The step acquires one lock, does nothing else, and follows a critical section, or waits for its end.
    pub acquires: bool,
    /// The step could have had to wait for a condition.
    pub guarded: bool,
    /// All that happens before it.
    pub before: S,
    /// The part of it that program order, spawns and joins account for.
    pub program: S,
    /// The events before it that race with it.
    pub races: S,
    /// The first events of all races up to here whose second event is not guarded.
    pub firsts: S,
    /// What `Order::latest` said of the process.
    latest: u32,
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
    pub of_process: Vec<S>,
    /// For each cell two sets, see [`rivals_at`].
    rivals: Vec<S>,
    /// For each cell, lock or not.
    locks: Vec<Lock<S>>,
    /// For each process the position of its last event, or else of the event that started it, plus 1.
    latest: Vec<u32>,
}

/// Where the events are that conflict with an access of a cell: the writes if it reads, else all accesses.
/// The same as the number of such a claim in the catalogue.
#[inline]
fn rivals_at(cell: usize, writes: bool) -> usize {
    2 * cell + usize::from(writes)
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
            of_process: Vec::new(),
            rivals: Vec::new(),
            locks: Vec::new(),
            latest: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// There may be events of this process, and with these claims.
    #[cold]
    pub fn make_room(&mut self, process: ProcessId, claims: &[Access]) {
        if self.of_process.len() <= process.index() {
            self.of_process.resize_with(process.index() + 1, S::default);
            self.latest.resize(process.index() + 1, 0);
        }
        for access in claims {
            let cells = access.cells().end;
            if self.locks.len() < cells {
                self.rivals.resize_with(2 * cells, S::default);
                self.locks.resize_with(cells, Lock::default);
            }
        }
    }

    /// What program order puts before the next step of a process.
    #[inline]
    pub fn program_past(&self, process: ProcessId, joined: &[ProcessId]) -> S {
        let mut past = self.past_of_latest(process);
        for &child in joined {
            past.add_all(&self.past_of_latest(child));
        }
        past
    }

    /// The last event of a process, or the one that started it, with all that happens before it.
    #[inline]
    fn past_of_latest(&self, process: ProcessId) -> S {
        let latest = self.latest.get(process.index()).copied().unwrap_or(0);
        let Some(at) = latest.checked_sub(1) else {
            return S::default();
        };
        let mut past = self.events[at as usize].before.clone();
        past.insert(at as usize);
        past
    }

    /// For each cell of an access the events that conflict with it there.
    #[inline]
    fn rivals(&self, access: Access) -> impl Iterator<Item = &S> {
        let sets = access
            .cells()
            .map(move |cell| rivals_at(cell, access.writes()));
        sets.map_while(|at| self.rivals.get(at))
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
    #[inline]
    pub fn conflicts(&self, claims: &[Access], with: &S) -> bool {
        let mut rivals = claims.iter().flat_map(|&access| self.rivals(access));
        rivals.any(|rivals| with.meets(rivals))
    }

    /// Whether an access of one cell, as a number, conflicts with an event of a set.
    #[inline]
    pub fn single_conflicts(&self, number: u32, with: &S) -> bool {
        let rivals = self.rivals.get(number as usize);
        rivals.is_some_and(|rivals| with.meets(rivals))
    }

    /// Extends the execution by an event.
    #[inline(always)]
    pub fn push(&mut self, event: &Event) {
        // An index out of bounds acquires nothing.
        let acquires = event.wait == Wait::Lock && !event.claims.is_empty();
        let guarded = event.wait == Wait::Guard;
        let program = self.program_past(event.process, &event.joined);
        let (claims, touched) = (&event.claims, &event.touched);
        let occurrence = self.extend(event.process, claims, touched, program, acquires);
        occurrence.guarded = guarded;
        if !guarded {
            occurrence.firsts.add_all(&occurrence.races);
        }
        for &child in &event.spawned {
            if child.index() >= self.latest.len() {
                self.make_room(child, &[]);
            }
            self.latest[child.index()] = self.events.len() as u32;
        }
    }

    /// Extends the execution by an acquisition that is not made because it has to wait.
    pub fn push_virtual(&mut self, process: ProcessId, claims: &[Access]) {
        let program = self.program_past(process, &[]);
        self.extend(process, claims, &[], program, true);
    }

    #[inline(always)]
    fn extend(
        &mut self,
        process: ProcessId,
        claims: &[Access],
        touched: &[Access],
        program: S,
        acquires: bool,
    ) -> &mut Occurrence<S> {
        let at = self.events.len();
        let mut candidates = self.claim(process, claims, at);
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
        if takes_locks(claims) {
            self.lock_event(touched, |set| set.insert(at));
        }
        self.of_process[process.index()].insert(at);
        let latest = std::mem::replace(&mut self.latest[process.index()], at as u32 + 1);
        let firsts = match self.events.last() {
            Some(last) => last.firsts.clone(),
            None => S::default(),
        };
        self.events.push(Occurrence {
            process,
            acquires: follows,
            guarded: false,
            before,
            program,
            races,
            firsts,
            latest,
        });
        &mut self.events[at]
    }

    /// Enters an event at a position with the cells that it claims. Gives the events that it conflicts with.
    #[inline(always)]
    fn claim(&mut self, process: ProcessId, claims: &[Access], at: usize) -> S {
        if process.index() >= self.of_process.len() {
            self.make_room(process, claims);
        }
        match single(claims) {
            Some(number) => {
                let number = number as usize;
                if number | 1 >= self.rivals.len() {
                    self.make_room(process, claims);
                }
                let candidates = self.rivals[number].clone();
                self.for_each_set_of(number, |set| set.insert(at));
                candidates
            }
            None => {
                self.make_room(process, claims);
                let candidates = self.conflicting(claims);
                self.for_each_set(claims, |set| set.insert(at));
                candidates
            }
        }
    }

    /// Changes all the sets that an event with these claims is in.
    #[inline]
    fn for_each_set(&mut self, claims: &[Access], change: impl Fn(&mut S)) {
        for access in claims {
            for cell in access.cells() {
                self.for_each_set_of(rivals_at(cell, access.writes()), &change);
            }
        }
    }

    /// Changes the sets that an event is in because of its access of one cell, given as a number.
    #[inline]
    fn for_each_set_of(&mut self, number: usize, change: impl Fn(&mut S)) {
        change(&mut self.rivals[number | 1]);
        if number & 1 == 1 {
            change(&mut self.rivals[number - 1]);
        }
    }

    /// Changes the sets of the locks that an event really took or gave back.
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

    /// Takes the last event back; `event` must be the one that was pushed.
    #[inline(always)]
    pub fn pop(&mut self, event: &Event) {
        self.shrink(&event.claims, &event.touched);
        for child in &event.spawned {
            self.latest[child.index()] = 0;
        }
    }

    /// Takes the last step back, if it was not made.
    pub fn pop_virtual(&mut self, claims: &[Access]) {
        self.shrink(claims, &[]);
    }

    #[inline(always)]
    fn shrink(&mut self, claims: &[Access], touched: &[Access]) {
        let Some(last) = self.events.pop() else {
            return;
        };
        let at = self.events.len();
        self.of_process[last.process.index()].remove(at);
        self.latest[last.process.index()] = last.latest;
        match single(claims) {
            Some(number) => self.for_each_set_of(number as usize, |set| set.remove(at)),
            None => self.for_each_set(claims, |set| set.remove(at)),
        }
        if takes_locks(claims) {
            self.lock_event(touched, |set| set.remove(at));
        }
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
