//! How threads wait for each other, under a memory model.
//!
//! Some objects keep a state in real memory, such as a list of waiting threads or the messages of a
//! channel. Such an object has a location of the memory model, and each of its operations is an
//! update of this location, a *turn*. The value of the location counts the turns. It is negative
//! while a thread *holds* its turn, because it still has to choose which thread to wake. Each turn
//! reads from the turn before it, so rf orders the turns whatever their memory order is. Their
//! memory order is the one that the object promises.
//!
//! A waiting thread enlists in its turn. Then it awaits its token, which the waking thread writes.
//! The write of the token releases, and the await acquires. The token of each wait is a location of
//! its own. Suppose one location served all waits of a thread. Two threads that wake this thread,
//! one after the other, need not be ordered. So the second token could come before the first in the
//! modification order.

use mazurka_memory::{Effect, MemoryOrder, Value};

use crate::waiting::{OWN_PERMIT, PERMIT_OF_OTHERS};
use crate::world::{Pending, Place, TOKEN, Until, Waiter, World};

/// Number of waits in a row that may time out while the thread changes nothing.
const FREE_TIMEOUTS: u32 = 2;

impl World {
    /// Performs an operation on an object: takes the next turn.
    pub(crate) fn take_turn(&self, cell: u32, order: MemoryOrder, pending: Pending) {
        let next = |turns| match turns {
            0.. => Effect::Write(turns + 1),
            _ => Effect::Wait,
        };
        self.update(cell, [order, MemoryOrder::Relaxed], &next, pending);
        self.took_lock();
    }

    /// Takes a turn, and keeps other threads from theirs until [`end_turn`](Self::end_turn).
    pub(crate) fn hold_turn(&self, cell: u32, order: MemoryOrder, pending: Pending) {
        let next = |turns: Value| match turns {
            0.. => Effect::Write(-turns - 1),
            _ => Effect::Wait,
        };
        self.update(cell, [order, MemoryOrder::Relaxed], &next, pending);
        self.took_lock();
    }

    /// Lets other threads take their turns. This is an update, so that release sequences continue.
    pub(crate) fn end_turn(&self, cell: u32, pending: Pending) {
        let relaxed = [MemoryOrder::Relaxed; 2];
        self.update(cell, relaxed, &|turns| Effect::Write(-turns), pending);
    }

    /// Enlists the current thread with an object, in its turn.
    pub(crate) fn enlist_in_turn(&self, cell: u32, wakes: u8) {
        let mut inner = self.inner.borrow_mut();
        let thread = inner.current.0;
        inner.me().engine.waits += 1;
        let round = inner.me().engine.waits;
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
            inner.part(me.cells[TOKEN], me.engine.waits)
        };
        let token = token.expect("it was made when the thread enlisted");
        let pending = Pending {
            until: Until::Token,
            ..Pending::new(None, what, place)
        };
        self.wait_for_value(token, MemoryOrder::Acquire, &|value| value != 0, pending);
        self.progress();
    }

    /// Removes the current thread from the list of an object, in its turn. Returns whether it was
    /// still in the list; if not, another thread has removed it to wake it.
    pub(crate) fn leave_list(&self, cell: u32) -> bool {
        let mut inner = self.inner.borrow_mut();
        let thread = inner.current.0;
        let waiters = &mut inner.cells[cell as usize].waiters;
        let before = waiters.len();
        waiters.retain(|waiter| waiter.thread != thread);
        waiters.len() < before
    }

    /// Removes all threads that wait for these changes from the list of an object, in the turn of
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

    /// Removes one of the threads that wait for these changes from the list; which one is a choice.
    /// The current thread must hold its turn.
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

    /// Wakes threads that were removed from a list.
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

    /// Takes a permit and returns true. If there is none, waits for one if `waits` is set, and
    /// otherwise returns false.
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
        let permit = self.update(cell, orders, &take, pending);
        let there = permit != 0;
        if there && permit != Value::from(OWN_PERMIT) {
            self.progress();
        }
        self.note(|| if there { "goes on" } else { "timed out" }.into());
        there
    }

    /// Gives a permit.
    pub(crate) fn give_permit_weakly(
        &self,
        cell: u32,
        own: bool,
        what: (&'static str, &'static str),
        place: Place,
    ) {
        let orders = [MemoryOrder::Release, MemoryOrder::Relaxed];
        let pending = Pending::new(None, what, place);
        let of_others = Value::from(PERMIT_OF_OTHERS);
        let give = |permit| match own && permit != of_others {
            true => Effect::Write(OWN_PERMIT.into()),
            false => Effect::Write(of_others),
        };
        self.update(cell, orders, &give, pending);
        if !own {
            self.progress();
        }
    }

    /// Records that a wait has timed out. A loop that makes more than [`FREE_TIMEOUTS`] such waits
    /// without a change is refused, because it could go on for ever.
    pub(crate) fn timed_out(&self, verb: &'static str, place: Place) {
        let timeouts = {
            let mut inner = self.inner.borrow_mut();
            let round = &mut inner.me().engine.round;
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
