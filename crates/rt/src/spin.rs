//! Threads that spin: `yield_now` and `spin_loop` in a loop, and waits that time out.
//!
//! A loop that waits for another thread has runs of any length if nobody makes the other one go on.
//! What a scheduler does is fair; so must be what is explored. No paper; the idea is the *await* of
//! GenMC and of Nidhugg, found when the program runs:
//!
//! A thread that yields says that it can do no better than look again. If since its last yield it
//! has changed nothing that others can see (a write of the value that was there already, a failed
//! `compare_exchange` or `try_lock`, a mutex that was locked only to look are no changes), then it
//! *spins*: it is suspended until somebody else changes something of what it has looked at. If
//! nobody else can go on, it may look again all the same, the one that did so least often first;
//! after [`PATIENCE`] such rounds in a row it is taken to spin for ever, and the run is a deadlock.
//!
//! A wait that times out is a yield too, but the first [`FREE_TIMEOUTS`] in a row are not
//! suspended: both outcomes of each are explored.
//!
//! Why this is sound: a round that changes nothing and reads what the round before it read is that
//! round again, unless the thread counts its rounds, or does something different each time for
//! other reasons of its own. A run with such rounds has then one without them that shows the same.
//! For loops that count their rounds that is not so: what a thread does when it has lost its
//! patience *while others can still go on* is explored only after `Builder::spins` rounds (1: after
//! the first). That is why a verdict about a program in which anybody was suspended names this
//! assumption in its scope.
//!
//! As steps: the thread reads all that it has looked at once more and enlists with it (a read of
//! these cells, so it races with writes as reads do), then it waits for its token. If it watches
//! several cells, any of several writes can wake it; these compete for its *arbiter*, so that an
//! explorer tries each of them first. A thread that goes on because nobody else can happens after
//! everything, as if it had joined them all.

use std::cmp::Reverse;

use mazurka_core::{Access, AccessKind, Claims, ProcessId};

use crate::world::{Inner, Life, Pending, Place, TOKEN, Until, Waiter, World, wakes};

/// Rounds in vain, with nobody else able to go on, after which a thread spins for ever.
const PATIENCE: u32 = 200;
/// So many waits in a row may time out though nothing has changed.
const FREE_TIMEOUTS: u32 = 2;
/// A round that looks at more than this is not taken for one of a spin loop.
const MOST_WATCHED: usize = 32;

/// Something that a thread has looked at.
#[derive(Clone, Copy, Debug)]
struct Watched {
    cell: u32,
    what: u8,
    seen: u32,
}

/// What a thread has done since it last yielded.
#[derive(Debug, Default)]
pub(crate) struct Spin {
    watched: Vec<Watched>,
    /// It has changed something, or was woken.
    progress: bool,
    /// Which of its waits this is.
    pub round: u32,
    /// Rounds in vain: in which it went on by itself, and in which nobody else could.
    vain: u32,
    released: u32,
    /// How many timed waits in a row have timed out.
    timed_out: u32,
}

impl Spin {
    pub fn reset(&mut self) {
        self.start_round();
        (self.round, self.vain, self.released) = (0, 0, 0);
        self.timed_out = 0;
    }

    fn start_round(&mut self) {
        self.watched.clear();
        self.progress = false;
    }

    /// It has changed something, or something happened to it.
    #[inline]
    pub fn progress(&mut self) {
        self.progress = true;
        self.timed_out = 0;
        self.watched.clear();
    }

    /// It has looked at a cell.
    #[inline]
    pub fn saw(&mut self, cell: u32, what: u8, changes: [u32; 2]) {
        if self.progress {
            return;
        }
        let seen = changes[usize::from(what == wakes::STATE)];
        let same = |known: &&mut Watched| known.cell == cell && known.what == what;
        if let Some(known) = self.watched.iter_mut().find(same) {
            known.seen = seen;
            return;
        }
        match self.watched.len() == MOST_WATCHED {
            true => self.progress(),
            false => self.watched.push(Watched { cell, what, seen }),
        }
    }

    /// A wait has timed out.
    pub fn time_is_over(&mut self) {
        self.timed_out += 1;
    }

    /// Whether this round was like the one before.
    fn in_vain(&self) -> bool {
        !self.progress && !self.watched.is_empty()
    }
}

impl Inner {
    /// Whether nobody but a thread that spins can go on, and it is its turn.
    pub fn is_released(&self, process: ProcessId) -> bool {
        let mut first = None;
        for (number, thread) in self.threads.iter().enumerate() {
            let other = ProcessId(number as u32);
            if thread.life != Life::Alive {
                continue;
            }
            if thread.pending.until != Until::Spin {
                if self.possible(other, thread.pending.until) {
                    return false;
                }
                continue;
            }
            if thread.token {
                return false;
            }
            let key = (thread.spin.released, &self.names.paths[number]);
            if first.is_none_or(|(least, _)| key < least) {
                first = Some((key, other));
            }
        }
        first.is_some_and(|((released, _), who)| who == process && released < PATIENCE)
    }

    /// What a thread looks at again.
    pub fn claim_watched(&self, process: ProcessId, into: &mut Claims) {
        for watched in &self.threads[process.index()].spin.watched {
            into.push(Access::read(watched.cell));
        }
    }

    /// Whether anything that the current thread has looked at has changed since.
    fn has_changed(&mut self) -> bool {
        let watched = std::mem::take(&mut self.me().spin.watched);
        let changed = watched.iter().any(|w| {
            let changes = self.cells[w.cell as usize].changes;
            changes[usize::from(w.what == wakes::STATE)] != w.seen
        });
        self.me().spin.watched = watched;
        changed
    }

    /// The current thread waits for any change of what it has looked at.
    fn watch(&mut self, round: u32, several: bool) {
        let thread = self.current.0;
        let watched = std::mem::take(&mut self.me().spin.watched);
        for w in &watched {
            // Two kinds of changes of one cell are one wait.
            let waiters = &mut self.cells[w.cell as usize].waiters;
            let known = waiters.iter_mut().find(|known| known.thread == thread);
            match known {
                Some(known) => {
                    known.round = round;
                    known.wakes |= w.what;
                    known.several |= several;
                }
                None => waiters.push(Waiter {
                    thread,
                    round,
                    wakes: w.what,
                    several,
                }),
            }
        }
        self.me().spin.watched = watched;
        self.spun = true;
    }
}

impl World {
    /// The thread has nothing better to do than to look again.
    pub fn yield_now(&self, verb: &'static str, place: Place) {
        let vain = {
            let mut inner = self.inner.borrow_mut();
            let spins = inner.spins;
            let spin = &mut inner.me().spin;
            let vain = spin.in_vain() && {
                spin.vain += 1;
                spin.vain > spins
            };
            if !vain {
                if spin.progress {
                    (spin.vain, spin.released) = (0, 0);
                }
                spin.start_round();
            }
            vain
        };
        if vain {
            self.look_again(None, verb, place);
            self.inner.borrow_mut().me().spin.start_round();
        }
    }

    /// Whether the thread has timed out in a round that changed nothing, and once too often; if
    /// not, a new round begins.
    fn timed_out_in_vain(&self) -> bool {
        let mut inner = self.inner.borrow_mut();
        let spin = &mut inner.me().spin;
        let vain = spin.timed_out >= FREE_TIMEOUTS && spin.in_vain();
        if !vain {
            spin.start_round();
        }
        vain
    }

    /// A wait that may time out begins. After one that did, in a round that changed nothing, that
    /// is spinning.
    pub fn before_timeout(&self, verb: &'static str, place: Place) {
        if self.timed_out_in_vain() {
            self.look_again(None, verb, place);
            self.inner.borrow_mut().me().spin.start_round();
        }
    }

    /// Suspends a thread that spins.
    fn look_again(&self, also: Option<u32>, verb: &'static str, place: Place) {
        self.turn(Pending {
            second: also.map(Access::read),
            watches: true,
            ..Pending::new(None, ("", verb), place)
        });
        let token = {
            let mut inner = self.inner.borrow_mut();
            if inner.has_changed() {
                drop(inner);
                return self.note(|| "something has changed".into());
            }
            let several = inner.me().spin.watched.len() + usize::from(also.is_some()) > 1;
            let me = inner.current.0;
            if also.is_none() {
                let thread = inner.me();
                (thread.awaiting, thread.token) = (true, false);
                thread.spin.round += 1;
            } else if let Some(cell) = also {
                let waiters = &mut inner.cells[cell as usize].waiters;
                for waiter in waiters.iter_mut().filter(|w| w.thread == me) {
                    waiter.several = several;
                }
            }
            let round = inner.me().spin.round;
            inner.watch(round, several);
            inner.me().cells[TOKEN]
        };
        self.note(|| "waits for a change".into());
        self.turn(Pending {
            until: Until::Spin,
            ..Pending::lock(AccessKind::Acquire, token, ("", "look again"), place)
        });
        let mut inner = self.inner.borrow_mut();
        let me = inner.me();
        if also.is_none() {
            // Whoever is still enlisted as this wait is so no more.
            me.spin.round += 1;
        }
        if std::mem::take(&mut me.token) {
            (me.spin.vain, me.spin.released) = (0, 0);
            return;
        }
        me.spin.released += 1;
        let current = inner.current;
        let others = inner.threads.iter().enumerate();
        let others = others.filter(|(_, thread)| thread.life != Life::Unborn);
        let mut joined: Vec<_> = others.map(|(number, _)| ProcessId(number as u32)).collect();
        joined.retain(|&other| other != current);
        joined.sort_by_key(|other| Reverse(other.0));
        inner.deed.joined.extend(joined);
    }

    /// The thread, having enlisted with a cell, waits until it is notified or its time is over:
    /// whether it was.
    pub fn wait_or_time_out(
        &self,
        cell: u32,
        what: (&'static str, &'static str),
        place: Place,
    ) -> bool {
        if self.timed_out_in_vain() {
            self.look_again(Some(cell), what.1, place);
        }
        self.turn(Pending::new(Some(Access::write(cell)), what, place));
        let mut inner = self.inner.borrow_mut();
        let notified = std::mem::take(&mut inner.me().notified);
        inner.me().token = false;
        inner.me().spin.round += 1;
        match notified {
            true => inner.me().spin.progress(),
            false => {
                inner.strike_off(cell);
                let spin = &mut inner.me().spin;
                spin.start_round();
                spin.timed_out += 1;
            }
        }
        drop(inner);
        self.note(|| if notified { "notified" } else { "timed out" }.into());
        notified
    }
}
