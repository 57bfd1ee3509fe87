//! Threads that wait for each other, under a memory model.
//!
//! An object that keeps a state in real memory (who waits, what is in a channel) has a location
//! whose updates order its operations: the *turns*. The value counts them, and is negative while a
//! thread holds its turn, because it has still to choose. The rf of the turns orders them whatever
//! their memory order, which is that of what the object promises.
//!
//! A thread that waits enlists in its turn. Then it awaits its token, which the thread that wakes
//! it writes. The token is released and acquired. Each wait has a location of its own: the threads
//! that wake one thread twice need not be ordered, so in one location the second token could come
//! before the first.

use mazurka_memory::{Effect, MemoryOrder, Value};

use crate::world::{Pending, Place, TOKEN, Until, Waiter, World};

/// So many waits in a row may time out while the thread changes nothing.
const FREE_TIMEOUTS: u32 = 2;

impl World {
    /// Makes an operation on an object, in the order of its turns.
    pub(crate) fn take_turn(&self, cell: u32, order: MemoryOrder, pending: Pending) {
        let next = |turns| match turns {
            0.. => Effect::Write(turns + 1),
            _ => Effect::Wait,
        };
        self.update(cell, [order, MemoryOrder::Relaxed], &next, pending);
        self.took_lock();
    }

    /// The same, and no other thread has its turn until [`end_turn`](Self::end_turn).
    pub(crate) fn hold_turn(&self, cell: u32, order: MemoryOrder, pending: Pending) {
        let next = |turns: Value| match turns {
            0.. => Effect::Write(-turns - 1),
            _ => Effect::Wait,
        };
        self.update(cell, [order, MemoryOrder::Relaxed], &next, pending);
        self.took_lock();
    }

    /// Lets other threads have their turns. It is an update, so that release sequences go on.
    pub(crate) fn end_turn(&self, cell: u32, pending: Pending) {
        let relaxed = [MemoryOrder::Relaxed; 2];
        self.update(cell, relaxed, &|turns| Effect::Write(-turns), pending);
    }

    /// Enlists the current thread with an object. It is its turn.
    pub(crate) fn enlist_in_turn(&self, cell: u32, wakes: u8) {
        let mut inner = self.inner.borrow_mut();
        let thread = inner.current.0;
        inner.me().asking.waits += 1;
        let round = inner.me().asking.waits;
        let tokens = inner.me().cells[TOKEN];
        inner.new_part(tokens, round, "token");
        inner.cells[cell as usize].waiters.push(Waiter {
            thread,
            round,
            wakes,
            several: false,
        });
    }

    /// Waits until another thread has woken this one.
    pub(crate) fn await_token(&self, what: (&'static str, &'static str), place: Place) {
        let token = {
            let inner = self.inner.borrow();
            let me = &inner.threads[inner.current.index()];
            inner.part(me.cells[TOKEN], me.asking.waits)
        };
        let token = token.expect("it was made when the thread enlisted");
        let pending = Pending {
            until: Until::Token,
            ..Pending::new(None, what, place)
        };
        self.wait_for_value(token, MemoryOrder::Acquire, &|value| value != 0, pending);
        self.progress();
    }

    /// Removes the current thread from the list of an object. It is its turn. Returns whether it
    /// was in the list still.
    pub(crate) fn leave_list(&self, cell: u32) -> bool {
        let mut inner = self.inner.borrow_mut();
        let thread = inner.current.0;
        let waiters = &mut inner.cells[cell as usize].waiters;
        let before = waiters.len();
        waiters.retain(|waiter| waiter.thread != thread);
        waiters.len() < before
    }

    /// Takes all threads that wait for such a change from the list of an object. It is the turn of
    /// the current thread.
    pub(crate) fn take_all(&self, cell: u32, wakes: u8) -> Vec<Waiter> {
        let mut inner = self.inner.borrow_mut();
        let waiters = &mut inner.cells[cell as usize].waiters;
        let mut taken: Vec<_> = waiters
            .extract_if(.., |waiter| waiter.wakes & wakes != 0)
            .collect();
        taken.sort_by(|one, other| {
            let path = |waiter: &Waiter| &inner.names.paths[waiter.thread as usize];
            path(one).cmp(path(other))
        });
        taken
    }

    /// Takes one of these threads; which one is a choice. The current thread holds its turn.
    pub(crate) fn take_one(&self, cell: u32, wakes: u8, pending: Pending) -> Option<Waiter> {
        let mut able = self.take_all(cell, wakes);
        let chosen = match able.len() {
            0 => return None,
            1 => 0,
            several => self.choice(several as u32, pending) as usize,
        };
        let chosen = able.remove(chosen);
        let mut inner = self.inner.borrow_mut();
        inner.cells[cell as usize].waiters.append(&mut able);
        Some(chosen)
    }

    /// Wakes threads that were taken from a list.
    pub(crate) fn wake_taken<'a>(
        &self,
        waiters: impl IntoIterator<Item = &'a Waiter>,
        pending: Pending,
    ) {
        for waiter in waiters {
            let token = {
                let inner = self.inner.borrow();
                let tokens = inner.threads[waiter.thread as usize].cells[TOKEN];
                inner.part(tokens, waiter.round)
            };
            if let Some(token) = token {
                self.write_value(token, MemoryOrder::Release, 1, pending);
            }
        }
    }

    /// Takes a permit. If there is none, waits for one, or returns false.
    pub(crate) fn take_permit_weakly(
        &self,
        cell: u32,
        waits: bool,
        what: (&'static str, &'static str),
        place: Place,
    ) -> bool {
        let pending = Pending {
            until: if waits { Until::Token } else { Until::Now },
            ..Pending::new(None, what, place)
        };
        let take = |permits| match permits {
            0 if waits => Effect::Wait,
            0 => Effect::Keep,
            _ => Effect::Write(0),
        };
        let orders = [MemoryOrder::Acquire, MemoryOrder::Relaxed];
        let there = self.update(cell, orders, &take, pending) != 0;
        if there {
            self.progress();
        }
        self.note(|| if there { "goes on" } else { "timed out" }.into());
        there
    }

    /// Gives a permit.
    pub(crate) fn give_permit_weakly(
        &self,
        cell: u32,
        what: (&'static str, &'static str),
        place: Place,
    ) {
        let orders = [MemoryOrder::Release, MemoryOrder::Relaxed];
        let pending = Pending::new(None, what, place);
        self.update(cell, orders, &|_| Effect::Write(1), pending);
        self.progress();
    }

    /// Notes that a wait has timed out. A loop of such waits has no end, so it is refused.
    pub(crate) fn timed_out(&self, verb: &'static str, place: Place) {
        let timeouts = {
            let mut inner = self.inner.borrow_mut();
            let round = &mut inner.me().asking.round;
            round.timeouts += 1;
            round.timeouts
        };
        if timeouts > FREE_TIMEOUTS {
            self.refuse(format!(
                "a loop around {verb} that times out again and again, at {place}"
            ));
        }
    }
}
