//! Threads that spin: `yield_now` and `spin_loop` in a loop, and waits that time out.
//!
//! A loop that waits for another thread has runs of every length if the scheduler never runs the
//! other thread. Real schedulers are fair, so the exploration must be fair too. No paper describes
//! this method. Its idea is the *await* of GenMC and Nidhugg, but here loops are recognised while
//! the program runs:
//!
//! A *round* is what a thread does between two of its yields. If the thread has changed nothing
//! visible to other threads in a round, the round is *futile*, and the thread *spins*: it is
//! suspended until another thread changes something that the round has read. (These are not
//! changes: writing the value that was there already, a failed `compare_exchange` or `try_lock`,
//! and locking a mutex only to read.) If only spinning threads are left, the one with the fewest
//! releases so far is *released*: it makes another round although nothing has changed. A thread
//! that has been released for [`MAX_FUTILE_ROUNDS`] rounds in a row is taken to spin for ever, and
//! the run is a deadlock.
//!
//! A wait that times out is a yield, too. But the first [`FREE_TIMEOUTS`] timeouts in a row do not
//! suspend the thread, and for each of these waits both outcomes are explored.
//!
//! Why this is sound: a futile round that reads the same values as the round before it does the
//! same as that round, unless the thread counts its rounds. So a run without the repeated rounds
//! shows everything that the run with them shows. loops.rs finds the loops that count their rounds.
//!
//! A thread is suspended in two steps. In the first, it reads all cells of the round again and
//! enlists as a waiter of each. This step races with writes, as every read does. In the second, the
//! thread waits for its token (world.rs). If it watches several cells, any of several writes can
//! wake it. Each of these writes also writes a cell of the thread, its *arbiter*. So the writes
//! conflict, and an explorer tries each of them as the first. The step of a released thread happens
//! after all earlier steps, as if the thread had joined all other threads.

use std::cmp::Reverse;

use mazurka_core::{Access, AccessKind, Claims, ProcessId};

use crate::world::{Inner, Life, Pending, Place, TOKEN, ThreadState, Until, Waiter, World, wakes};

/// A thread that is released this many times in a row is taken to spin for ever. A loop that is
/// known to give up later (loops.rs) may make more rounds.
const MAX_FUTILE_ROUNDS: u32 = 200;
/// Number of waits in a row that may time out although nothing has changed.
const FREE_TIMEOUTS: u32 = 2;
/// A round that reads more cells than this is not considered a round of a spin loop.
const MOST_WATCHED: usize = 32;

/// A cell that a thread has read in this round. `what` says whether it has read the content or the
/// state (a bit of `wakes`), and `seen` is the number of changes of this part when it was read.
#[derive(Clone, Copy, Debug)]
struct Watched {
    cell: u32,
    what: u8,
    seen: u32,
}

/// A thread that makes the same operation this many times in a row, without a yield and without a
/// change, is taken to be in a loop that waits for another thread. Every round of such a loop is
/// one more place for the steps of the others, so a search would take very long to reach the limit
/// on the length of an execution.
const MOST_REPETITIONS: u32 = 500;

/// The operation that a thread makes again and again.
#[derive(Debug, Default)]
pub(crate) struct Repetition {
    place: Option<Place>,
    cell: u32,
    /// The number of changes of the cell's content when it was last made.
    changes: u32,
    times: u32,
}

impl Repetition {
    pub fn end(&mut self) {
        self.times = 0;
    }
}

/// What a thread has done since its last yield.
#[derive(Debug, Default)]
pub(crate) struct Spin {
    watched: Vec<Watched>,
    /// Whether the thread has changed something, or was woken.
    progress: bool,
    /// Index of the current wait. A [`Waiter`](crate::world::Waiter) with another index is stale.
    pub round: u32,
    /// Number of futile rounds in a row.
    futile: u32,
    /// Number of rounds in a row for which the thread was released.
    released: u32,
    /// Number of timed waits in a row that have timed out.
    timed_out: u32,
}

impl Spin {
    pub fn reset(&mut self) {
        self.start_round();
        (self.round, self.futile, self.released) = (0, 0, 0);
        self.timed_out = 0;
    }

    fn start_round(&mut self) {
        self.watched.clear();
        self.progress = false;
    }

    /// Records that the thread has changed something, or was woken.
    #[inline]
    pub fn progress(&mut self) {
        self.progress = true;
        self.timed_out = 0;
        self.watched.clear();
    }

    /// Records that the thread has read a cell.
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
        if self.watched.len() == MOST_WATCHED {
            self.progress()
        } else {
            self.watched.push(Watched { cell, what, seen })
        }
    }

    /// Records that a wait has timed out.
    pub fn time_is_over(&mut self) {
        self.timed_out += 1;
    }

    /// Returns the number of futile rounds in a row, plus the waits in a row that have timed out.
    pub fn futile_rounds(&self) -> u32 {
        self.futile + self.timed_out
    }

    pub fn has_progressed(&self) -> bool {
        self.progress
    }

    /// Whether this round changed nothing.
    fn was_futile(&self) -> bool {
        !self.progress && !self.watched.is_empty()
    }
}

impl Inner {
    /// Counts the operation that the current thread has announced. Under a memory model only reads
    /// count, because there the changes of a cell are not known.
    #[inline]
    pub fn count_repetition(&mut self, weak: bool) {
        let thread = &mut self.threads[self.current.index()];
        let last = &mut thread.repetition;
        let Some(access) = thread.pending.access else {
            return last.end();
        };
        let (place, cell) = (thread.pending.place, access.first);
        let changes = self.cells[cell as usize].changes[0];
        let same = { last.place }.is_some_and(|last| std::ptr::eq(last, place));
        let same = same && last.cell == cell && last.changes == changes;
        let counts = !weak || access.kind == AccessKind::Read;
        last.times = if same && counts { last.times + 1 } else { 0 };
        (last.place, last.cell, last.changes) = (Some(place), cell, changes);
    }

    /// Returns how often a thread has announced the same operation in a row, if that is too often.
    #[inline]
    pub fn repeats_too_often(&self, process: ProcessId) -> Option<u32> {
        let times = self.threads[process.index()].repetition.times;
        if times < MOST_REPETITIONS || self.probing {
            return None;
        }
        // Alone, a thread waits for none.
        let alive = |thread: &&ThreadState| thread.life == Life::Alive;
        (self.threads.iter().filter(alive).count() > 1).then_some(times)
    }

    /// Whether only spinning threads are left, and this one is released next.
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
        let longest = self.loops.left_out().map_or(0, |(rounds, _)| rounds + 1);
        let patience = MAX_FUTILE_ROUNDS.max(longest);
        first.is_some_and(|((released, _), who)| who == process && released < patience)
    }

    /// Claims the cells that a suspended thread reads again.
    pub fn claim_watched(&self, process: ProcessId, into: &mut Claims) {
        for watched in &self.threads[process.index()].spin.watched {
            into.push(Access::read(watched.cell));
        }
    }

    /// Whether any cell that a thread watches has changed since it was read.
    pub fn has_changed(&self, process: ProcessId) -> bool {
        let watched = &self.threads[process.index()].spin.watched;
        watched.iter().any(|w| {
            let changes = self.cells[w.cell as usize].changes;
            changes[usize::from(w.what == wakes::STATE)] != w.seen
        })
    }

    /// Enlists the current thread for every change of its watched cells.
    fn watch(&mut self, round: u32, several: bool) {
        let thread = self.current.0;
        let watched = std::mem::take(&mut self.me().spin.watched);
        for w in &watched {
            // A thread that has read content and state of one cell has a single entry there.
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
    /// Ends a round of the current thread, and suspends the thread if the round was futile.
    pub fn yield_now(&self, verb: &'static str, place: Place) {
        self.inner.borrow_mut().me().repetition.end();
        if self.memory.is_some() {
            return self.end_round(verb, place);
        }
        let futile = {
            let mut inner = self.inner.borrow_mut();
            let rounds = inner.loops.rounds(place);
            let spins = inner.spins.max(rounds);
            let probing = inner.probing;
            inner.loops.gave_up |= probing && inner.threads[inner.current.index()].spin.progress;
            let spin = &mut inner.me().spin;
            let futile = spin.was_futile() && {
                spin.futile += 1;
                spin.futile > spins && !probing
            };
            if !futile {
                if spin.progress {
                    (spin.futile, spin.released) = (0, 0);
                }
                spin.start_round();
            }
            futile
        };
        if futile {
            self.suspend_until_change(None, verb, place);
            self.inner.borrow_mut().me().spin.start_round();
        }
    }

    /// Whether the current thread has timed out too often in futile rounds. If not, a new round
    /// begins.
    fn timed_out_too_often(&self, place: Place) -> bool {
        let mut inner = self.inner.borrow_mut();
        let free = FREE_TIMEOUTS.max(inner.loops.rounds(place));
        let probing = inner.probing;
        let spin = &mut inner.me().spin;
        let futile = spin.timed_out >= free && spin.was_futile() && !probing;
        if !futile {
            spin.start_round();
        }
        futile
    }

    /// Begins a wait that may time out. The thread is suspended if it has timed out too often in
    /// futile rounds.
    pub fn before_timeout(&self, verb: &'static str, place: Place) {
        self.inner.borrow_mut().me().repetition.end();
        if self.memory.is_some() {
            return self.end_round(verb, place);
        }
        if self.timed_out_too_often(place) {
            self.suspend_until_change(None, verb, place);
            self.inner.borrow_mut().me().spin.start_round();
        }
    }

    /// Suspends a spinning thread. `also` is a cell with which it is already enlisted and whose
    /// change wakes it, too.
    fn suspend_until_change(&self, also: Option<u32>, verb: &'static str, place: Place) {
        {
            let mut inner = self.inner.borrow_mut();
            let current = inner.current;
            inner.loops.suspended(current, place);
        }
        self.turn(Pending {
            second: also.map(Access::read),
            watches: true,
            ..Pending::new(None, ("", verb), place)
        });
        let token = {
            let mut inner = self.inner.borrow_mut();
            if inner.has_changed(inner.current) {
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
        self.suspend_until_token(token, ("", "look again"), place);
        if also.is_none() {
            // Waiter entries of this wait are stale from now on.
            self.inner.borrow_mut().me().spin.round += 1;
        }
    }

    /// Suspends the current thread until it has its token or is released.
    fn suspend_until_token(&self, token: u32, what: (&'static str, &'static str), place: Place) {
        self.turn(Pending {
            until: Until::Spin,
            ..Pending::lock(AccessKind::Acquire, token, what, place)
        });
        let mut inner = self.inner.borrow_mut();
        let me = inner.me();
        if std::mem::take(&mut me.token) {
            (me.spin.futile, me.spin.released) = (0, 0);
            return;
        }
        me.spin.released += 1;
        let current = inner.current;
        let others = inner.threads.iter().enumerate();
        let others = others.filter(|(_, thread)| thread.life != Life::Unborn);
        let mut joined: Vec<_> = others.map(|(number, _)| ProcessId(number as u32)).collect();
        joined.retain(|&other| other != current);
        joined.sort_by_key(|other| Reverse(other.0));
        inner.effects.joined.extend(joined);
    }

    /// Suspends the current thread until no other thread can make a step.
    pub fn wait_until_others_wait(&self, verb: &'static str, place: Place) {
        if self.memory.is_some() {
            self.refuse(format!("`{verb}` when all others wait, at {place}"));
        }
        let token = {
            let mut inner = self.inner.borrow_mut();
            let me = inner.me();
            me.spin.start_round();
            // No change wakes it: all its waiter entries are stale.
            me.spin.round += 1;
            me.token = false;
            me.cells[TOKEN]
        };
        self.suspend_until_token(token, ("", verb), place);
    }

    /// Waits until the thread is notified or its time is over. The thread must be enlisted with the
    /// cell. Returns whether it was notified.
    pub fn wait_or_time_out(
        &self,
        cell: u32,
        what: (&'static str, &'static str),
        place: Place,
    ) -> bool {
        if self.timed_out_too_often(place) {
            self.suspend_until_change(Some(cell), what.1, place);
        }
        self.turn(Pending::new(Some(Access::write(cell)), what, place));
        let mut inner = self.inner.borrow_mut();
        let notified = std::mem::take(&mut inner.me().notified);
        inner.me().token = false;
        inner.me().spin.round += 1;
        if notified {
            inner.me().spin.progress()
        } else {
            inner.remove_from_waiters(cell);
            let spin = &mut inner.me().spin;
            spin.start_round();
            spin.timed_out += 1;
        }
        drop(inner);
        self.note(|| if notified { "notified" } else { "timed out" }.into());
        notified
    }
}
