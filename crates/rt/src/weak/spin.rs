//! Loops that wait by looking again, under a memory model.
//!
//! A thread that yields after a round in which it changed nothing would do the same again if it
//! read the same again (spin.rs). So in the next round one of its reads must see another value: it
//! becomes an await of the engine. Coherence makes that a later write. An update that writes what
//! was there already (`swap(true)` of a lock that is held) changes nothing, too.
//!
//! If the round read several locations, which of them is the first to differ is a choice; an
//! execution in which an earlier one differs is discarded, since another choice has it.
//!
//! Where no thread can go on, such an await is stuck at the last write. Its execution counts as a
//! deadlock only if all locations of the round are as they were read, and if the thread, left to
//! itself, would read them for ever (`WeakProgram::gives_up_after`). A loop that gives up after
//! some rounds makes the search start again with as many rounds in which nothing has to differ.

use mazurka_memory::Value;

use crate::world::{Pending, Place, World};

/// What a thread has read from a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// The bits of an atomic that was made with others.
    Bits { bits: u64, initial: u64 },
    /// The value of a location of a primitive.
    Number(Value),
}

/// A round that reads more locations than this is not taken for a round of a spin loop.
const MOST_WATCHED: usize = 32;

/// So many rounds in a row may take locks and change nothing.
const MOST_IN_LOCKS: u32 = 4;

/// What a thread has done since its last yield.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// The locations that it has read, with what it has read there last.
    watched: Vec<(u32, Seen)>,
    /// It has changed something.
    progress: bool,
    /// It has taken a lock.
    locked: bool,
    /// Rounds in vain in a row.
    vain: u32,
    /// Rounds in vain in a row that took locks.
    in_locks: u32,
    /// What the round before read, if it was in vain: one of these reads has to differ.
    spun: Vec<(u32, Seen)>,
    /// The index of the first that differs.
    chosen: usize,
    /// Whether the thread has not yet read that one again.
    open: bool,
    /// How often it has yielded.
    pub yields: u32,
    /// How many waits in a row have timed out.
    pub timeouts: u32,
}

impl Round {
    pub fn reset(&mut self) {
        self.start();
        self.spun.clear();
        (self.vain, self.in_locks, self.open) = (0, 0, false);
        (self.yields, self.timeouts) = (0, 0);
    }

    fn start(&mut self) {
        self.watched.clear();
        (self.progress, self.locked) = (false, false);
    }

    pub fn locked(&mut self) {
        self.locked = true;
    }

    /// What the next read of a location must not see, if there is something.
    pub fn stale(&self, cell: u32) -> Option<Seen> {
        let (chosen, seen) = *self.spun.get(self.chosen)?;
        (self.open && chosen == cell).then_some(seen)
    }

    /// Notes a read of a location. Returns whether it is one of which this round was not to be.
    fn read_again(&mut self, cell: u32, seen: Seen) -> bool {
        if !self.open {
            return false;
        }
        let Some(at) = self.spun.iter().position(|(known, _)| *known == cell) else {
            return false;
        };
        if at == self.chosen {
            self.open = false;
        }
        at < self.chosen && self.spun[at].1 != seen
    }

    fn watch(&mut self, cell: u32, seen: Seen) {
        if self.progress {
            return;
        }
        let known = self.watched.iter().position(|(known, _)| *known == cell);
        match known {
            Some(at) => self.watched[at].1 = seen,
            None if self.watched.len() == MOST_WATCHED => self.progress = true,
            None => self.watched.push((cell, seen)),
        }
    }

    /// What the thread spins on, while it waits for a change.
    pub fn waits_for(&self) -> Option<&[(u32, Seen)]> {
        self.open.then_some(&self.spun[..])
    }
}

impl World {
    /// Notes that the current thread has changed something.
    pub(crate) fn progress(&self) {
        let mut inner = self.inner.borrow_mut();
        let round = &mut inner.me().asking.round;
        (round.progress, round.open, round.timeouts) = (true, false, 0);
    }

    /// Notes what the current thread has read, without changing anything.
    pub(super) fn saw(&self, cell: u32, seen: Seen) {
        self.check_spun(cell, seen);
        self.inner.borrow_mut().me().asking.round.watch(cell, seen);
    }

    /// Discards the execution if this round was not to read that.
    pub(super) fn check_spun(&self, cell: u32, seen: Seen) {
        let wrong = {
            let mut inner = self.inner.borrow_mut();
            inner.me().asking.round.read_again(cell, seen)
        };
        if wrong {
            self.discard();
        }
    }

    /// Ends a round of the current thread. If it was in vain, the next one must see a change.
    pub(crate) fn end_round(&self, verb: &'static str, place: Place) {
        let (watched, locked) = {
            let mut inner = self.inner.borrow_mut();
            let spins = inner.spins;
            let round = &mut inner.me().asking.round;
            round.yields += 1;
            if round.open {
                // It has read nothing since it yielded last: this is the same pause.
                return;
            }
            if round.progress {
                (round.vain, round.in_locks) = (0, 0);
            }
            let (progress, locked) = (round.progress, round.locked);
            let watched = std::mem::take(&mut round.watched);
            round.start();
            if progress || (watched.is_empty() && !locked) {
                return;
            }
            round.vain += 1;
            round.in_locks += u32::from(locked);
            if round.vain <= spins || (locked && round.in_locks < MOST_IN_LOCKS) {
                return;
            }
            let count = watched.len();
            round.spun = watched;
            inner.spun = true;
            (count, locked)
        };
        if locked {
            self.refuse(format!(
                "a loop that takes a lock and calls {verb} in each round, at {place}"
            ));
        }
        let chosen = match watched {
            1 => 0,
            several => {
                let pending = Pending::new(None, ("", verb), place);
                self.choice(several as u32, pending) as usize
            }
        };
        let mut inner = self.inner.borrow_mut();
        let round = &mut inner.me().asking.round;
        (round.chosen, round.open) = (chosen, true);
    }
}
