//! `std::sync::Condvar`, explored.
//!
//! Waiting takes three steps. The thread releases the mutex and enlists with the condition
//! variable; it waits for its token (world.rs); it acquires the mutex again. `notify_one` chooses
//! which waiting thread to wake, and all choices are explored. Spurious wake-ups, which std allows,
//! are explored if the settings ask for them.

use std::fmt;
use std::panic::Location;
use std::sync::{self, LockResult};
use std::time::Duration;

use mazurka_core::{Access, AccessKind, MemoryOrder};

use super::{MutexGuard, map};
use crate::freed::OwnedMeta;
use crate::spurious::Spurious;
use crate::world::{Pending, Place, World, wakes, world};

/// Whether a wait timed out: [`std::sync::WaitTimeoutResult`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the wait timed out.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// Makes threads wait until they are notified: the counterpart of [`std::sync::Condvar`].
pub struct Condvar {
    meta: OwnedMeta,
    /// Whether waits never end spuriously, even if the settings allow it.
    steady: bool,
    real: sync::Condvar,
}

const KIND: &str = "Condvar";

/// A mutex that a thread of a model holds.
struct Held<'w> {
    world: &'w World,
    lock: u32,
    /// Whether the protected data may have changed while the thread held the mutex.
    dirty: bool,
}

impl Held<'static> {
    /// Returns the mutex of a guard, as the current thread of the model holds it; `None` outside a
    /// model.
    fn by<T>(guard: &MutexGuard<'_, T>) -> Option<Self> {
        let world = world()?;
        let (lock, dirty) = guard.in_model()?;
        Some(Self { world, lock, dirty })
    }
}

impl Condvar {
    /// Makes a condition variable without waiting threads.
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            meta: OwnedMeta::new(),
            steady: false,
            real: sync::Condvar::new(),
        }
    }

    /// Makes a condition variable whose waits never end spuriously, for facades of other crates.
    #[doc(hidden)]
    #[track_caller]
    pub const fn steady() -> Self {
        Self {
            meta: OwnedMeta::new(),
            steady: true,
            real: sync::Condvar::new(),
        }
    }

    /// Whether a wait ends spuriously.
    fn wakes_spuriously(&self, world: &World, place: Place) -> bool {
        !self.steady && world.spuriously(Spurious::Wake, place)
    }

    /// Releases the mutex and enlists. Returns the cell of the condition variable.
    fn enlist<T>(
        &self,
        held: &Held<'_>,
        guard: MutexGuard<'_, T>,
        verb: &'static str,
        place: Place,
    ) -> u32 {
        let Held { world, lock, dirty } = *held;
        let cell = world.cell(&self.meta, KIND);
        let content = if dirty { wakes::CONTENT } else { 0 };
        if world.memory.is_some() {
            // The thread enlists before it releases the mutex. If another thread does something
            // between these two operations without the mutex, it could also do so directly after
            // the release.
            let pending = Pending::new(None, (KIND, verb), place);
            world.take_turn(cell, MemoryOrder::Relaxed, pending);
            world.enlist_in_turn(cell, wakes::NOTIFY);
            world.unlock(lock, dirty, pending);
            let (mutex, real) = guard.release_to_wait();
            mutex.drop_real_guard(real, false);
            world.inner.borrow_mut().give(lock, dirty);
            return cell;
        }
        world.turn(Pending {
            second: Some(Access::read(cell)),
            wakes: wakes::STATE | content,
            ..Pending::lock(AccessKind::Release, lock, (KIND, verb), place)
        });
        let (mutex, real) = guard.release_to_wait();
        mutex.drop_real_guard(real, false);
        let mut inner = world.inner.borrow_mut();
        inner.give(lock, dirty);
        inner.enlist(cell, wakes::NOTIFY);
        cell
    }

    /// Releases the mutex, waits for a notification, and acquires the mutex again.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let place = Location::caller();
        let mutex = guard.mutex();
        let Some(held) = Held::by(&guard) else {
            let (_, real) = guard.release_to_wait();
            let result = self.real.wait(real);
            return map(result, |real| MutexGuard::with(mutex, real, place));
        };
        if self.wakes_spuriously(held.world, place) {
            drop(guard);
            return mutex.lock_at(place);
        }
        self.enlist(&held, guard, "wait", place);
        let what = (KIND, "wait for a notification");
        match held.world.memory {
            None => held.world.wait_for_token(what, place),
            Some(_) => held.world.await_token(what, place),
        }
        mutex.lock_at(place)
    }

    /// Waits while a condition holds.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(guard.peek()) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits for a notification or for the timeout; a model explores both outcomes, whatever the
    /// duration.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let place = Location::caller();
        let mutex = guard.mutex();
        let Some(held) = Held::by(&guard) else {
            let (_, real) = guard.release_to_wait();
            let result = self.real.wait_timeout(real, duration);
            return map(result, |(real, result)| {
                let guard = MutexGuard::with(mutex, real, place);
                (guard, WaitTimeoutResult(result.timed_out()))
            });
        };
        if self.wakes_spuriously(held.world, place) {
            drop(guard);
            return map(mutex.lock_at(place), |guard| {
                (guard, WaitTimeoutResult(false))
            });
        }
        let cell = self.enlist(&held, guard, "wait_timeout", place);
        let what = (KIND, "wait for a notification or the time");
        let notified = match held.world.memory {
            None => held.world.wait_or_time_out(cell, what, place),
            Some(_) => {
                // The time may be over at once. But if the thread is no longer enlisted, it has
                // been notified.
                let pending = Pending::new(None, what, place);
                held.world.take_turn(cell, MemoryOrder::Relaxed, pending);
                let timed_out = held.world.leave_list(cell);
                if timed_out {
                    held.world.timed_out("wait_timeout", place)
                } else {
                    held.world.await_token(what, place)
                }
                let words = if timed_out { "timed out" } else { "notified" };
                held.world.note(|| words.into());
                !timed_out
            }
        };
        map(mutex.lock_at(place), |guard| {
            (guard, WaitTimeoutResult(!notified))
        })
    }

    /// Waits for a notification, at most `milliseconds`. Returns the guard, and whether the thread
    /// was notified.
    #[track_caller]
    #[deprecated(note = "use `wait_timeout` instead, as with std")]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        milliseconds: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let duration = Duration::from_millis(u64::from(milliseconds));
        map(self.wait_timeout(guard, duration), |(guard, result)| {
            (guard, !result.timed_out())
        })
    }

    /// Waits while a condition holds, at most for the timeout.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        duration: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let start = std::time::Instant::now();
        loop {
            if !condition(guard.peek()) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let left = match world() {
                // In a model no time passes.
                Some(_) => Some(duration),
                None => duration.checked_sub(start.elapsed()),
            };
            let Some(left) = left else {
                return Ok((guard, WaitTimeoutResult(true)));
            };
            let (again, result) = self.wait_timeout(guard, left)?;
            guard = again;
            if result.timed_out() {
                let still = condition(guard.peek());
                return Ok((guard, WaitTimeoutResult(still)));
            }
        }
    }

    /// Wakes one waiting thread.
    #[track_caller]
    pub fn notify_one(&self) {
        self.notify("notify_one", Location::caller());
    }

    /// Wakes all waiting threads.
    #[track_caller]
    pub fn notify_all(&self) {
        self.notify("notify_all", Location::caller());
    }

    /// Wakes one or all waiting threads, as `verb` says. Returns how many were woken; `None`
    /// outside a model.
    pub(crate) fn notify(&self, verb: &'static str, place: Place) -> Option<usize> {
        let all = verb == "notify_all";
        let Some(world) = world() else {
            if all {
                self.real.notify_all()
            } else {
                self.real.notify_one()
            }
            return None;
        };
        let cell = world.cell(&self.meta, KIND);
        if world.memory.is_some() {
            let pending = Pending::new(None, (KIND, verb), place);
            let relaxed = MemoryOrder::Relaxed;
            let count = if all {
                world.take_turn(cell, relaxed, pending);
                let woken = world.take_all(cell, wakes::NOTIFY);
                world.wake_taken(&woken, pending);
                woken.len()
            } else {
                world.hold_turn(cell, relaxed, pending);
                let woken = world.take_one(cell, wakes::NOTIFY, pending);
                world.end_turn(cell, pending);
                world.wake_taken(&woken, pending);
                usize::from(woken.is_some())
            };
            world.progress();
            return Some(count);
        }
        world.turn(Pending {
            wakes: wakes::NOTIFY,
            ..Pending::new(Some(Access::write(cell)), (KIND, verb), place)
        });
        let mut inner = world.inner.borrow_mut();
        inner.me().spin.progress();
        let waiting = inner.cells[cell as usize].waiters.len();
        let woken = if all {
            inner.wake_all(cell, wakes::NOTIFY);
            waiting
        } else {
            usize::from(inner.wake_one(cell, wakes::NOTIFY).is_some())
        };
        drop(inner);
        world.note(|| format!("{woken} of {waiting} waiting"));
        Some(woken)
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.fmt(f)
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}
