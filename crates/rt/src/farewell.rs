//! The end of an execution that is left before its end.
//!
//! An execution is left early by guards, bounds and failures. Under sequential consistency it is
//! first run to its end by any threads that can go on, so that everything on their stacks is
//! dropped. Threads that wait for ever are left.
//!
//! A search for everything that can happen ([`Builder::outcomes`]) may meet any number of
//! deadlocks, so there the threads that are left *unwind*, the youngest first, as if the call that
//! they wait in had panicked. Destructors run, but nothing waits for them: a destructor that would
//! have to wait stops, and so do threads that need more steps than are left. Threads are unwound
//! only out of waits of std's own (locks, channels, joins), not out of atomics and `park`: code
//! around these is often written for calls that cannot panic, and would free twice.
//!
//! What is still left is forgotten: its values are leaked. So it is with every other search, which
//! ends with its first failure, because a destructor that panics while its thread unwinds would end
//! the process in place of a report.
//!
//! [`Builder::outcomes`]: crate::Builder::outcomes

use std::panic::resume_unwind;

use corosensei::CoroutineResult;
use mazurka_core::{ProcessId, ProcessTable, Status};

use crate::simulate::{Stage, Table};
use crate::world::{Inner, Life, Pending, Request, Until, World, entered};

/// Number of steps to spend on finishing an execution that is left early.
const FAREWELL: u32 = 1000;

/// The panic of a thread whose execution is given up.
struct GivenUp;

/// What a wait for the threads of a scope is called. They use what the waiting thread owns, so it
/// cannot be unwound before them.
pub(crate) const END_OF_SCOPE: &str = "end of the scope";

impl Stage {
    /// Runs the ready threads for up to [`FAREWELL`] steps.
    pub fn finish(&self, table: &ProcessTable) {
        for _ in 0..FAREWELL {
            let ready = {
                let inner = self.world.inner.borrow();
                let mut all = table.in_order().iter();
                all.find(|&&process| inner.status(process) == Status::Ready)
                    .copied()
            };
            let Some(process) = ready else {
                return;
            };
            self.world.inner.borrow_mut().begin_step(process, &[]);
            if !self.run(process, &mut Table::Known(table)) {
                return;
            }
        }
    }

    /// Unwinds the threads that wait, as far as that is possible.
    pub fn unwind(&self) {
        self.world.inner.borrow_mut().given_up = Some(FAREWELL);
        while self.unwind_some() {}
        self.world.inner.borrow_mut().given_up = None;
    }

    /// Lets every thread that is left go on. Returns whether one has ended.
    fn unwind_some(&self) -> bool {
        let mut ended = false;
        let count = self.coroutines.borrow().len();
        for at in (0..count).rev() {
            let process = ProcessId(at as u32);
            if !self.world.inner.borrow().may_unwind(process) {
                continue;
            }
            let Some(mut coroutine) = self.coroutines.borrow_mut()[at].take() else {
                continue;
            };
            self.world.inner.borrow_mut().current = process;
            self.world.watch.enter(coroutine.trap_handler());
            let result = entered(&*self.world, || coroutine.resume(()));
            let trapped = self.world.watch.leave().is_some();
            match result {
                CoroutineResult::Return(()) => {
                    ended |= !trapped;
                    self.stacks.borrow_mut().put(coroutine.into_stack());
                }
                CoroutineResult::Yield(_) => self.coroutines.borrow_mut()[at] = Some(coroutine),
            }
        }
        ended
    }
}

impl Inner {
    /// Whether a thread of an execution that is given up can be unwound.
    fn may_unwind(&self, process: ProcessId) -> bool {
        let Some(thread) = self.threads.get(process.index()) else {
            return false;
        };
        let (kind, verb) = thread.pending.what;
        let lock_free = kind.starts_with("Atomic") || kind == "Waker" || verb.starts_with("park");
        let waits = !matches!(thread.pending.until, Until::Now | Until::Spin);
        thread.life == Life::Alive && (thread.leaving || (waits && !lock_free))
    }

    /// Whether the current thread makes a step while its execution is given up.
    fn makes_last_step(&mut self, pending: &Pending) -> bool {
        let Some(left) = self.given_up.filter(|&left| left > 0) else {
            return false;
        };
        let at_once = match pending.until {
            Until::Now | Until::Lock(_) | Until::Read(_) | Until::Write(_) | Until::Fair(..) => {
                true
            }
            // The result of a join would be an error, which a destructor may take for a panic.
            Until::Ended(_) => pending.what.1 == END_OF_SCOPE,
            Until::Token | Until::Spin | Until::Flag(_) => false,
        };
        let made = at_once && self.possible(self.current, pending.until);
        if made {
            self.given_up = Some(left - 1);
        }
        made
    }
}

impl World {
    /// Goes on after a wait, when the execution has been given up: by a panic, unless the thread
    /// unwinds already.
    #[cold]
    pub fn leave(&self, pending: Pending) {
        let unwinds = {
            let mut inner = self.inner.borrow_mut();
            let me = inner.me();
            let before = std::mem::replace(&mut me.leaving, true);
            before || me.unwinding || pending.what.1 == END_OF_SCOPE
        };
        if unwinds {
            return self.last_step(pending);
        }
        resume_unwind(Box::new(GivenUp));
    }

    /// Makes a step at once, when the execution has been given up, or none any more.
    pub fn last_step(&self, pending: Pending) {
        loop {
            let yielder = {
                let mut inner = self.inner.borrow_mut();
                if inner.makes_last_step(&pending) {
                    return;
                }
                let me = inner.me();
                me.pending = pending;
                me.yielder
            };
            // SAFETY: as in `World::suspend`.
            #[allow(unsafe_code)]
            unsafe {
                (*yielder).suspend(Request::Turn);
            }
        }
    }
}
