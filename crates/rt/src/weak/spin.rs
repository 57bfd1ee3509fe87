//! Spin loops under a memory model.
//!
//! A *round* is what a thread does between two of its yields, and it is *futile* if it changes
//! nothing (../spin.rs). If the thread read the same values after a futile round, it would repeat
//! the round. So in the next round one of its reads must see another value: this read becomes an
//! *await* of the engine, a read that waits for another value. By coherence it sees a later write.
//! An update that writes the value that was already there (`swap(true)` of a held lock) changes
//! nothing, too.
//!
//! If the futile round read several locations, the search chooses which of them is the first to
//! differ in the next round. An execution in which another location differs earlier is discarded,
//! since another choice covers it.
//!
//! The first round may begin before the loop, so it may contain reads of locations that the next
//! round does not read again. If such a location was chosen, it stays *unread*. All choices of
//! unread locations continue in the same way, so only the choice of the first unread location
//! continues, and the others are discarded. If the thread yields again after reading nothing new,
//! the later, shorter round is the loop. Then the execution need not continue, because the choice
//! of a location of the shorter round covers what follows. One question is left: does the thread
//! wait there for ever? A round that is explored only for this question is called *hopeless*. The
//! choice of a location of the shorter round answers the question, too, unless a location that was
//! read before the loop has changed since.
//!
//! If no thread can continue, an await reads the last write and is *stuck* there. The execution
//! counts as a deadlock only if no location of the round has changed since the thread read it, and
//! if the thread, running alone, would go round the loop for ever (`WeakProgram::gives_up_after`).
//! If the loop gives up after some rounds, the search starts again, and that many futile rounds are
//! allowed.

use mazurka_memory::Value;

use crate::world::{Pending, Place, World};

/// What a thread has read from a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// The bits of an atomic, and its initial bits.
    Bits { bits: u64, initial: u64 },
    /// The value of a location of a primitive.
    Number(Value),
}

/// A round that reads more locations than this is not considered a round of a spin loop.
const MOST_WATCHED: usize = 32;

/// Limit on the futile rounds in a row that take locks.
const MOST_IN_LOCKS: u32 = 4;

/// A location of a futile round.
#[derive(Clone, Copy, Debug)]
struct SpunLocation {
    cell: u32,
    seen: Seen,
    /// Whether the current round has read it, too.
    again: bool,
}

/// What a thread has done since its last yield.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// The locations that it has read, each with what it read there last.
    watched: Vec<(u32, Seen)>,
    /// Whether it has changed something.
    progress: bool,
    /// Whether it has taken a lock.
    locked: bool,
    /// Number of futile rounds in a row.
    futile: u32,
    /// Number of futile rounds in a row that took locks.
    in_locks: u32,
    /// What the previous round read, if it was futile: one of these reads has to differ.
    spun: Vec<SpunLocation>,
    /// The index in `spun` of the location that was chosen as the first to differ.
    chosen: usize,
    /// Whether the thread still has to read the chosen location again.
    open: bool,
    /// Whether this round is explored only to find out whether the thread waits for ever.
    hopeless: bool,
    /// The locations that the thread read before the loop, each with what it read. A hopeless round
    /// can be a deadlock only if one of these values has changed.
    before: Vec<(u32, Seen)>,
    /// Number of yields of the thread.
    pub yields: u32,
    /// Number of waits in a row that have timed out.
    pub timeouts: u32,
}

impl Round {
    pub fn reset(&mut self) {
        self.start();
        self.spun.clear();
        self.before.clear();
        (self.futile, self.in_locks) = (0, 0);
        (self.open, self.hopeless) = (false, false);
        (self.yields, self.timeouts) = (0, 0);
    }

    fn start(&mut self) {
        self.watched.clear();
        (self.progress, self.locked) = (false, false);
    }

    pub fn locked(&mut self) {
        self.locked = true;
    }

    /// Returns the value that the next read of a location must not see; `None` if it may see any.
    pub fn stale(&self, cell: u32) -> Option<Seen> {
        let chosen = self.spun.get(self.chosen)?;
        (self.open && chosen.cell == cell).then_some(chosen.seen)
    }

    /// Records a read of a location. Returns whether it contradicts the choice of this round.
    fn read_again(&mut self, cell: u32, seen: Seen) -> bool {
        if !self.open {
            return false;
        }
        let Some(at) = self.spun.iter().position(|spun| spun.cell == cell) else {
            return false;
        };
        let spun = &mut self.spun[at];
        if std::mem::replace(&mut spun.again, true) {
            return false;
        }
        if at == self.chosen {
            self.open = false;
            return self.hopeless;
        }
        spun.seen != seen
    }

    /// Whether the chosen location is the first one that the round has not read. Then it represents
    /// all unread locations.
    fn represents_unread(&self) -> bool {
        self.spun.iter().position(|spun| !spun.again) == Some(self.chosen)
    }

    /// Whether the previous round read everything that this round has read, with the same values.
    fn repeats(&self) -> bool {
        let mut watched = self.watched.iter();
        watched.all(|&(cell, seen)| {
            let mut spun = self.spun.iter();
            spun.any(|spun| spun.cell == cell && spun.seen == seen)
        })
    }

    /// Treats the round that is now ending as one whole round of the loop: locations that it has
    /// not read were read before the loop.
    fn shorten(&mut self) {
        let left_out =
            |spun: &&SpunLocation| self.watched.iter().all(|(cell, _)| *cell != spun.cell);
        let left_out = self.spun.iter().filter(left_out);
        self.before
            .extend(left_out.map(|spun| (spun.cell, spun.seen)));
        self.spin_on();
        (self.hopeless, self.chosen, self.open) = (true, 0, true);
    }

    /// Requires the next round to read another value than the round that ends.
    fn spin_on(&mut self) {
        self.spun.clear();
        let spun = |&(cell, seen)| SpunLocation {
            cell,
            seen,
            again: false,
        };
        self.spun.extend(self.watched.iter().map(spun));
        self.start();
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

    /// Returns the locations that the thread spins on and what it read there; `None` if it does not
    /// wait for a change.
    pub fn waits_for(&self) -> Option<impl Iterator<Item = (u32, Seen)>> {
        let all = self.spun.iter().map(|spun| (spun.cell, spun.seen));
        self.open.then_some(all)
    }

    /// Returns what the thread read before the loop. If none of it has changed, another choice
    /// covers a hopeless round.
    pub fn read_before(&self) -> &[(u32, Seen)] {
        &self.before
    }
}

impl World {
    /// Records that the current thread has changed something.
    pub(crate) fn progress(&self) {
        self.leave_loop();
        let mut inner = self.inner.borrow_mut();
        let round = &mut inner.me().engine.round;
        (round.progress, round.open, round.timeouts) = (true, false, 0);
    }

    /// Handles the end of the current thread's spin loop: the thread does something new, or ends.
    pub(crate) fn leave_loop(&self) {
        {
            let mut inner = self.inner.borrow_mut();
            let probing = inner.probing;
            let round = &inner.me().engine.round;
            if probing || !round.open || (round.represents_unread() && !round.hopeless) {
                return;
            }
            if round.hopeless {
                // The loop gives up after this many rounds.
                inner.spins += 1;
                inner.restart = true;
            }
        }
        self.discard();
    }

    /// Records what the current thread has read, without changing anything.
    pub(super) fn saw(&self, cell: u32, seen: Seen) {
        self.check_spun(cell, seen);
        self.inner.borrow_mut().me().engine.round.watch(cell, seen);
    }

    /// Discards the execution if a read contradicts the choice of this round.
    pub(super) fn check_spun(&self, cell: u32, seen: Seen) {
        let wrong = {
            let mut inner = self.inner.borrow_mut();
            if inner.probing {
                return;
            }
            inner.me().engine.round.read_again(cell, seen)
        };
        if wrong {
            self.discard();
        }
    }

    /// Ends a round of the current thread. If it was futile, the next one must see a change.
    pub(crate) fn end_round(&self, verb: &'static str, place: Place) {
        let (watched, locked) = {
            let mut inner = self.inner.borrow_mut();
            let (spins, probing) = (inner.spins, inner.probing);
            let round = &mut inner.me().engine.round;
            round.yields += 1;
            if probing {
                return;
            }
            if round.open {
                // Two yields with no read in between count as one.
                let repeats = !round.watched.is_empty() && !round.locked && round.repeats();
                if !repeats {
                    return;
                }
                if round.represents_unread() {
                    return round.shorten();
                }
                drop(inner);
                self.discard();
            }
            if round.progress {
                (round.futile, round.in_locks) = (0, 0);
            }
            let (progress, locked) = (round.progress, round.locked);
            let count = round.watched.len();
            if progress || (count == 0 && !locked) {
                return round.start();
            }
            round.futile += 1;
            round.in_locks += u32::from(locked);
            if round.futile <= spins || (locked && round.in_locks < MOST_IN_LOCKS) {
                return round.start();
            }
            round.spin_on();
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
        let round = &mut inner.me().engine.round;
        (round.chosen, round.open, round.hopeless) = (chosen, true, false);
        round.before.clear();
    }
}
