//! How an abandoned execution ends.
//!
//! A search abandons an execution if it is blocked, if a bound cuts it, or after a failure. In
//! interleavings, the threads that can still make steps first run on, if possible to their end, so
//! that everything on their stacks is dropped. Threads that wait for ever remain.
//!
//! A search for all outcomes ([`Builder::outcomes`]) may meet any number of deadlocks, and would
//! leak the stacks of all these threads. So it *unwinds* them, the youngest first, as if the call
//! they wait in had panicked. Destructors run, but a destructor that would have to wait is stopped
//! there. All threads are stopped when the steps for this execution ([`MAX_FINISHING_STEPS`]) are
//! used up. Threads are unwound only out of std's own waits (locks, channels, joins), not out of
//! atomics and `park`: code around those is often written for calls that cannot panic, and would
//! free memory twice.
//!
//! Threads that still remain are forgotten, and their values are leaked. Other searches forget all
//! remaining threads and unwind none, for two reasons. They end with the first failure, so they
//! leak little. And a destructor that panics while its thread unwinds would abort the process
//! before the failure is reported.
//!
//! [`Builder::outcomes`]: crate::Builder::outcomes

use std::panic::resume_unwind;

use corosensei::CoroutineResult;
use mazurka_core::{ProcessId, ProcessTable, Status};

use crate::simulate::{Stage, Table};
use crate::world::{Inner, Life, Pending, Request, Until, World, entered};

/// Limit on the steps that finish an abandoned execution. The steps that unwind its threads have a
/// limit of their own, of the same size.
const MAX_FINISHING_STEPS: u32 = 1000;

/// Payload of the panic that unwinds a thread of an abandoned execution.
struct AbandonedExecution;

/// Name of the wait for the threads of a scope. These threads use data that the waiting thread
/// owns, so the waiting thread cannot be unwound before they have ended.
pub(crate) const END_OF_SCOPE: &str = "end of the scope";

impl Stage {
    /// Runs the ready threads for up to [`MAX_FINISHING_STEPS`] steps.
    pub fn finish(&self, table: &ProcessTable) {
        for _ in 0..MAX_FINISHING_STEPS {
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

    /// Unwinds waiting threads as far as possible.
    pub fn unwind(&self) {
        self.world.inner.borrow_mut().given_up = Some(MAX_FINISHING_STEPS);
        while self.unwind_some() {}
        self.world.inner.borrow_mut().given_up = None;
    }

    /// Resumes every remaining thread that can be unwound. Returns whether one of them has ended.
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
    /// Whether a thread of an abandoned execution can be unwound.
    fn may_unwind(&self, process: ProcessId) -> bool {
        let Some(thread) = self.threads.get(process.index()) else {
            return false;
        };
        let (kind, verb) = thread.pending.what;
        let lock_free = kind.starts_with("Atomic") || kind == "Waker" || verb.starts_with("park");
        let waits = !matches!(thread.pending.until, Until::Now | Until::Spin);
        thread.life == Life::Alive && (thread.leaving || (waits && !lock_free))
    }

    /// Whether the current thread may make a step although its execution is abandoned.
    fn makes_last_step(&mut self, pending: &Pending) -> bool {
        let Some(left) = self.given_up.filter(|&left| left > 0) else {
            return false;
        };
        let at_once = match pending.until {
            Until::Now | Until::Lock(_) | Until::Read(_) | Until::Write(_) | Until::Fair(..) => {
                true
            }
            // The join would return an error, which a destructor may take for a panic.
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
    /// Ends the wait of the current thread in an abandoned execution by a panic. If the thread
    /// already unwinds, or waits for the end of a scope, it makes its step instead
    /// ([`last_step`](Self::last_step)).
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
        resume_unwind(Box::new(AbandonedExecution));
    }

    /// Makes a step of an abandoned execution once it is possible; until then, perhaps for ever,
    /// the thread is suspended.
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
