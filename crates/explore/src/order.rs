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

use crate::set::{Set, for_each};

/// An event of the current execution.
#[derive(Clone, Debug)]
pub(crate) struct Occurrence<S> {
    pub process: ProcessId,
    /// The step acquires one lock and does nothing else.
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
}

/// The sets of a cell.
#[derive(Clone, Debug, Default)]
struct Cell<S> {
    accesses: S,
    writes: S,
    /// Events that really took the lock, and that really gave it back.
    acquired: S,
    released: S,
}

/// The order of the current execution.
#[derive(Clone, Debug)]
pub(crate) struct Order<S> {
    pub events: Vec<Occurrence<S>>,
    pub of_process: Vec<S>,
    cells: Vec<Cell<S>>,
    /// For each process the position of the event that started it, plus 1.
    spawned_at: Vec<usize>,
}

/// Whether a step may take a lock or give it back.
fn takes_locks(claims: &[Access]) -> bool {
    let mut kinds = claims.iter().map(|access| access.kind);
    kinds.any(|kind| matches!(kind, AccessKind::Acquire | AccessKind::Release))
}

impl<S: Set> Order<S> {
    pub fn new() -> Self {
        Self {
            events: Vec::new(),
            of_process: Vec::new(),
            cells: Vec::new(),
            spawned_at: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// There may be events of this process, and with these claims.
    pub fn make_room(&mut self, process: ProcessId, claims: &[Access]) {
        if self.of_process.len() <= process.index() {
            self.of_process.resize_with(process.index() + 1, S::default);
            self.spawned_at.resize(process.index() + 1, 0);
        }
        for access in claims {
            if self.cells.len() < access.cells().end {
                self.cells.resize_with(access.cells().end, Cell::default);
            }
        }
    }

    /// What program order puts before the next step of a process.
    pub fn program_past(&self, process: ProcessId, joined: &[ProcessId]) -> S {
        let mut past = S::default();
        let mut add = |at: usize| {
            past.insert(at);
            past.add_all(&self.events[at].before);
        };
        if let Some(events) = self.of_process.get(process.index()) {
            match events.highest() {
                Some(last) => add(last),
                None => {
                    if let Some(at) = self.spawned_at[process.index()].checked_sub(1) {
                        add(at);
                    }
                }
            }
        }
        for child in joined {
            let events = self.of_process.get(child.index());
            match events.and_then(S::highest) {
                Some(last) => add(last),
                None => {
                    let spawned = self.spawned_at.get(child.index()).copied().unwrap_or(0);
                    if let Some(at) = spawned.checked_sub(1) {
                        add(at);
                    }
                }
            }
        }
        past
    }

    /// The events whose accesses conflict with these.
    pub fn conflicting(&self, claims: &[Access]) -> S {
        let mut all = S::default();
        for access in claims {
            let cells = access.cells();
            let end = cells.end.min(self.cells.len());
            for cell in &self.cells[cells.start.min(end)..end] {
                all.add_all(if access.writes() {
                    &cell.accesses
                } else {
                    &cell.writes
                });
            }
        }
        all
    }

    /// Whether these accesses conflict with an event of a set.
    pub fn conflicts(&self, claims: &[Access], with: &S) -> bool {
        claims.iter().any(|access| {
            let cells = access.cells();
            let end = cells.end.min(self.cells.len());
            self.cells[cells.start.min(end)..end].iter().any(|cell| {
                with.meets(if access.writes() {
                    &cell.accesses
                } else {
                    &cell.writes
                })
            })
        })
    }

    /// Extends the execution by an event.
    pub fn push(&mut self, event: &Event) {
        // An index out of bounds acquires nothing.
        let acquires = event.wait == Wait::Lock && !event.claims.is_empty();
        let program = self.program_past(event.process, &event.joined);
        self.extend(
            event.process,
            &event.claims,
            &event.touched,
            program,
            acquires,
        );
        let at = self.events.len() - 1;
        self.events[at].guarded = event.wait == Wait::Guard;
        if event.wait != Wait::Guard {
            let races = self.events[at].races.clone();
            self.events[at].firsts.add_all(&races);
        }
        for child in &event.spawned {
            self.make_room(*child, &[]);
            self.spawned_at[child.index()] = at + 1;
        }
    }

    /// Extends the execution by an acquisition that is not made because it has to wait.
    pub fn push_virtual(&mut self, process: ProcessId, claims: &[Access]) {
        let program = self.program_past(process, &[]);
        self.extend(process, claims, &[], program, true);
    }

    fn extend(
        &mut self,
        process: ProcessId,
        claims: &[Access],
        touched: &[Access],
        program: S,
        acquires: bool,
    ) {
        let at = self.events.len();
        let highest = claims.iter().map(|access| access.cells().end).max();
        if highest.unwrap_or(0) > self.cells.len() || process.index() >= self.of_process.len() {
            self.make_room(process, claims);
        }
        let mut candidates = S::default();
        for access in claims {
            for cell in &mut self.cells[access.cells()] {
                if access.writes() {
                    candidates.add_all(&cell.accesses);
                    cell.writes.insert(at);
                } else {
                    candidates.add_all(&cell.writes);
                }
                cell.accesses.insert(at);
            }
        }
        candidates.remove(at);
        candidates.remove_all(&program);
        let mut before = program.clone();
        let mut races = S::default();
        while let Some(last) = candidates.highest() {
            races.insert(last);
            before.insert(last);
            before.add_all(&self.events[last].before);
            candidates.remove_all(&before);
        }
        if acquires {
            let lock = claims[0].first as usize;
            races = self.lock_race(lock, &races, &program, touched.is_empty());
        }
        if takes_locks(claims) {
            self.lock_event(touched, |set| set.insert(at));
        }
        self.of_process[process.index()].insert(at);
        let firsts = match self.events.last() {
            Some(last) => last.firsts.clone(),
            None => S::default(),
        };
        self.events.push(Occurrence {
            process,
            acquires,
            guarded: false,
            before,
            program,
            races,
            firsts,
        });
    }

    /// Changes the sets of the locks that an event really took or gave back.
    fn lock_event(&mut self, touched: &[Access], change: impl Fn(&mut S)) {
        for access in touched {
            match access.kind {
                AccessKind::Acquire => change(&mut self.cells[access.first as usize].acquired),
                AccessKind::Release => change(&mut self.cells[access.first as usize].released),
                AccessKind::Read | AccessKind::Write => {}
            }
        }
    }

    /// The race of an acquisition. It follows a release, and can only be moved before the acquisition that
    /// this belongs to; so can one that waits, which follows an acquisition. What claims the lock but leaves it as it is moves freely.
    fn lock_race(&self, lock: usize, last: &S, program: &S, waits: bool) -> S {
        let mut races = S::default();
        let Some(last) = last.highest() else {
            return races;
        };
        let Cell {
            acquired, released, ..
        } = &self.cells[lock];
        let partner = match waits || released.contains(last) {
            true => acquired.highest(),
            false => Some(last),
        };
        if let Some(partner) = partner.filter(|&partner| !program.contains(partner)) {
            races.insert(partner);
        }
        races
    }

    /// The last event that took a lock.
    pub fn acquisition(&self, lock: usize) -> Option<usize> {
        self.cells.get(lock)?.acquired.highest()
    }

    /// Takes the last event back; `event` must be the one that was pushed.
    pub fn pop(&mut self, event: &Event) {
        self.shrink(&event.claims, &event.touched);
        for child in &event.spawned {
            self.spawned_at[child.index()] = 0;
        }
    }

    /// Takes the last step back, if it was not made.
    pub fn pop_virtual(&mut self, claims: &[Access]) {
        self.shrink(claims, &[]);
    }

    fn shrink(&mut self, claims: &[Access], touched: &[Access]) {
        let Some(last) = self.events.pop() else {
            return;
        };
        let at = self.events.len();
        self.of_process[last.process.index()].remove(at);
        for access in claims {
            for cell in &mut self.cells[access.cells()] {
                cell.accesses.remove(at);
                if access.writes() {
                    cell.writes.remove(at);
                }
            }
        }
        if takes_locks(claims) {
            self.lock_event(touched, |set| set.remove(at));
        }
    }

    /// The events after a position that do not happen after the event there.
    pub fn not_after(&self, at: usize) -> S {
        let mut all = S::default();
        for (offset, event) in self.events[at + 1..].iter().enumerate() {
            if !event.before.contains(at) {
                all.insert(at + 1 + offset);
            }
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
