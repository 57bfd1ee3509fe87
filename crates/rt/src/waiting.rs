//! How threads of interleavings wait in two steps (first they enlist with a cell, then they wait
//! for their token; see world.rs), and how they are woken. Park permits are built on this.

use mazurka_core::{Access, AccessKind, Claims, ProcessId};

use crate::world::{ARBITER, Inner, Pending, Place, TOKEN, Until, Waiter, World, wakes};

/// A permit that another thread has given.
pub(crate) const PERMIT_OF_OTHERS: u8 = 1;
/// A permit that the thread has given to itself. A loop that gives and takes it only spins.
pub(crate) const OWN_PERMIT: u8 = 2;

impl World {
    /// Waits for the token. The thread must be enlisted.
    pub fn wait_for_token(&self, what: (&'static str, &'static str), place: Place) {
        let cell = {
            let inner = self.inner.borrow();
            inner.threads[inner.current.index()].cells[TOKEN]
        };
        self.turn(Pending {
            until: Until::Token,
            ..Pending::lock(AccessKind::Acquire, cell, what, place)
        });
        self.inner.borrow_mut().take_token();
    }

    /// Waits for a permit and takes it.
    pub fn take_permit(&self, cell: u32, what: (&'static str, &'static str), place: Place) {
        if self.memory.is_some() {
            self.take_permit_weakly(cell, true, what, place);
            return;
        }
        if !self.try_permit(cell, what, place) {
            self.wait_for_token(what, place);
            let mut inner = self.inner.borrow_mut();
            let current = inner.current;
            inner.clocks.acquire(current, cell);
        }
    }

    /// Takes a permit if there is one, and enlists otherwise. Returns whether there was one.
    pub fn try_permit(&self, cell: u32, what: (&'static str, &'static str), place: Place) -> bool {
        if self.memory.is_some() {
            return self.take_permit_weakly(cell, false, what, place);
        }
        self.turn(Pending::new(Some(Access::write(cell)), what, place));
        let mut inner = self.inner.borrow_mut();
        let current = inner.current;
        let permit = std::mem::take(&mut inner.cells[cell as usize].flag);
        let there = permit != 0;
        if there {
            inner.clocks.acquire(current, cell);
            if permit != OWN_PERMIT {
                inner.me().spin.progress();
            }
        } else {
            inner.enlist(cell, wakes::NOTIFY)
        }
        drop(inner);
        self.note(|| if there { "goes on" } else { "waits" }.into());
        there
    }

    /// Gives a permit to a waiting thread, or leaves it for later. With `own` the permit is the
    /// current thread's own. Giving it does not count as a change, because only this thread takes
    /// it.
    pub fn give_permit(
        &self,
        cell: u32,
        own: bool,
        what: (&'static str, &'static str),
        place: Place,
    ) {
        if self.memory.is_some() {
            return self.give_permit_weakly(cell, own, what, place);
        }
        self.turn(Pending {
            wakes: wakes::NOTIFY,
            ..Pending::new(Some(Access::write(cell)), what, place)
        });
        let mut inner = self.inner.borrow_mut();
        let current = inner.current;
        inner.clocks.release(current, cell);
        if !own {
            inner.me().spin.progress();
        }
        if inner.wake_one(cell, wakes::NOTIFY).is_none() {
            let permit = &mut inner.cells[cell as usize].flag;
            *permit = match (own, *permit) {
                (true, 0 | OWN_PERMIT) => OWN_PERMIT,
                _ => PERMIT_OF_OTHERS,
            };
        }
    }
}

impl Inner {
    /// Takes the token of the current thread.
    pub fn take_token(&mut self) {
        let me = self.me();
        me.token = false;
        // Waiter entries of this wait are stale from now on.
        me.spin.round += 1;
        me.spin.progress();
    }

    /// Claims the tokens of the threads that these changes of the cell may wake.
    #[inline]
    pub fn claim_waiters(&self, cell: u32, wakes: u8, by: ProcessId, into: &mut Claims) {
        for waiter in &self.cells[cell as usize].waiters {
            let thread = &self.threads[waiter.thread as usize];
            if waiter.wakes & wakes == 0 || waiter.thread == by.0 {
                continue;
            }
            if waiter.several {
                into.push(Access::write(thread.cells[ARBITER]));
            }
            if waiter.round == thread.spin.round && thread.awaiting {
                into.push(Access::new(AccessKind::Release, thread.cells[TOKEN]));
            }
        }
        // The order of the claims must not depend on the order in which the waiters enlisted.
        if into.len() > 2 {
            into[1..].sort_unstable();
        }
    }

    /// Enlists the current thread with a cell. The changes of the cell in `wakes` wake the thread.
    pub fn enlist(&mut self, cell: u32, wakes: u8) {
        let thread = self.current.0;
        let me = self.me();
        (me.awaiting, me.token, me.notified) = (true, false, false);
        me.spin.round += 1;
        let round = me.spin.round;
        self.cells[cell as usize].waiters.push(Waiter {
            thread,
            round,
            wakes,
            several: false,
        });
    }

    /// Removes the current thread from the waiters of a cell.
    pub fn remove_from_waiters(&mut self, cell: u32) {
        let thread = self.current.0;
        let waiters = &mut self.cells[cell as usize].waiters;
        waiters.retain(|waiter| waiter.thread != thread);
    }

    /// Gives the thread of this entry its token, unless the entry is stale.
    fn wake(&mut self, waiter: Waiter) {
        let thread = &mut self.threads[waiter.thread as usize];
        if waiter.round != thread.spin.round {
            return;
        }
        thread.notified |= waiter.wakes & wakes::NOTIFY != 0;
        if std::mem::take(&mut thread.awaiting) {
            thread.token = true;
            let token = Access::new(AccessKind::Release, thread.cells[TOKEN]);
            self.effects.touched.push(token);
        }
    }

    /// Wakes all threads that wait for these changes of a cell, except the current one.
    pub fn wake_all(&mut self, cell: u32, wakes: u8) {
        if self.cells[cell as usize].waiters.is_empty() {
            return;
        }
        let me = self.current.0;
        let mut waiters = std::mem::take(&mut self.cells[cell as usize].waiters);
        waiters.retain(|&waiter| {
            let stays = waiter.wakes & wakes == 0 || waiter.thread == me;
            if !stays {
                self.wake(waiter);
            }
            stays
        });
        self.cells[cell as usize].waiters = waiters;
    }

    /// Wakes one of the threads that wait for these changes of a cell; which one is a choice.
    /// Returns the thread; `None` if no thread waits.
    pub fn wake_one(&mut self, cell: u32, wakes: u8) -> Option<ProcessId> {
        let waiters = &self.cells[cell as usize].waiters;
        let waits = |waiter: &&Waiter| waiter.wakes & wakes != 0;
        let mut able: Vec<Waiter> = waiters.iter().filter(waits).copied().collect();
        if able.is_empty() {
            return None;
        }
        able.sort_by(|a, b| {
            let path = |waiter: &Waiter| &self.names.paths[waiter.thread as usize];
            path(a).cmp(path(b))
        });
        let chosen = match able.len() {
            1 => 0,
            several => self.outcome(0, several as i64) as usize,
        };
        let chosen = able[chosen];
        self.cells[cell as usize].waiters.retain(|w| *w != chosen);
        self.wake(chosen);
        Some(ProcessId(chosen.thread))
    }
}
