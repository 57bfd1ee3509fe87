//! `std::sync::Condvar`, explored.
//!
//! To wait is three steps: the mutex is given back while the thread enlists; the token comes; the
//! mutex is taken again. Which waiting thread `notify_one` wakes is a choice, and all are explored.
//! Wake-ups for no reason, which std allows, are not explored.

use std::fmt;
use std::panic::Location;
use std::sync::{self, LockResult};
use std::time::Duration;

use mazurka_core::{Access, AccessKind};

use super::{MutexGuard, map};
use crate::names::Meta;
use crate::world::{Pending, Place, World, wakes, world};

/// Whether a wait ended because its time was over: [`std::sync::WaitTimeoutResult`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time was over.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// Threads wait here until they are notified: [`std::sync::Condvar`].
pub struct Condvar {
    meta: Meta,
    real: sync::Condvar,
}

const KIND: &str = "Condvar";

impl Condvar {
    /// One that nobody waits for.
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            meta: Meta::new(),
            real: sync::Condvar::new(),
        }
    }

    /// Gives the mutex back and enlists: the cell.
    fn enlist<T>(
        &self,
        world: &World,
        guard: MutexGuard<'_, T>,
        (lock, dirty): (u32, bool),
        verb: &'static str,
        place: Place,
    ) -> u32 {
        let cell = world.cell(&self.meta, KIND);
        let content = if dirty { wakes::CONTENT } else { 0 };
        world.turn(Pending {
            second: Some(Access::read(cell)),
            wakes: wakes::STATE | content,
            ..Pending::lock(AccessKind::Release, lock, (KIND, verb), place)
        });
        let (mutex, real) = guard.give_up();
        mutex.let_go(real, false);
        let mut inner = world.inner.borrow_mut();
        inner.give(lock, dirty);
        inner.enlist(cell, wakes::NOTIFY);
        cell
    }

    /// Gives the mutex back, waits to be notified, and takes it again.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let place = Location::caller();
        let mutex = guard.mutex();
        let (Some(world), Some(held)) = (world(), guard.in_model()) else {
            let (_, real) = guard.give_up();
            let result = self.real.wait(real);
            return map(result, |real| MutexGuard::with(mutex, real, place));
        };
        self.enlist(world, guard, held, "wait", place);
        world.wait_for_token((KIND, "wait for a notification"), place);
        mutex.lock_at(place)
    }

    /// Waits while something is so.
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

    /// Waits to be notified, or long enough; in a model both are explored, whatever the time.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let place = Location::caller();
        let mutex = guard.mutex();
        let (Some(world), Some(held)) = (world(), guard.in_model()) else {
            let (_, real) = guard.give_up();
            let result = self.real.wait_timeout(real, duration);
            return map(result, |(real, result)| {
                let guard = MutexGuard::with(mutex, real, place);
                (guard, WaitTimeoutResult(result.timed_out()))
            });
        };
        let cell = self.enlist(world, guard, held, "wait_timeout", place);
        let what = (KIND, "wait for a notification or the time");
        let notified = world.wait_or_time_out(cell, what, place);
        map(mutex.lock_at(place), |guard| {
            (guard, WaitTimeoutResult(!notified))
        })
    }

    /// Waits to be notified, or so many milliseconds: whether it was notified.
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

    /// Waits while something is so, or long enough.
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

    /// Wakes one thread that waits.
    #[track_caller]
    pub fn notify_one(&self) {
        self.notify("notify_one", Location::caller());
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        self.notify("notify_all", Location::caller());
    }

    fn notify(&self, verb: &'static str, place: Place) {
        let all = verb == "notify_all";
        let Some(world) = world() else {
            return if all {
                self.real.notify_all();
            } else {
                self.real.notify_one();
            };
        };
        let cell = world.cell(&self.meta, KIND);
        world.turn(Pending {
            wakes: wakes::NOTIFY,
            ..Pending::new(Some(Access::write(cell)), (KIND, verb), place)
        });
        let mut inner = world.inner.borrow_mut();
        inner.me().spin.progress();
        let waiting = inner.cells[cell as usize].waiters.len();
        let woken = match all {
            true => {
                inner.wake_all(cell, wakes::NOTIFY);
                waiting
            }
            false => usize::from(inner.wake_one(cell, wakes::NOTIFY).is_some()),
        };
        drop(inner);
        world.note(|| format!("{woken} of {waiting} waiting"));
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
