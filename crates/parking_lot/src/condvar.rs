//! `parking_lot::Condvar`.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mazurka_rt::facade;
use mazurka_rt::sync::{self, PoisonError};

use crate::MutexGuard;

/// Whether a wait timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the wait timed out.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// Makes threads wait until they are notified. A wait ends only by a notification or a timeout,
/// even with `Builder::spurious_wakes`.
pub struct Condvar {
    real: sync::Condvar,
    /// Number of waiting threads, outside a model.
    waiting: AtomicUsize,
}

impl Condvar {
    /// Makes a condition variable without waiting threads.
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            real: sync::Condvar::steady(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Runs a wait and counts it.
    fn counted<R>(&self, wait: impl FnOnce() -> R) -> R {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let result = wait();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// Releases the mutex, waits for a notification, and acquires the mutex again.
    #[track_caller]
    pub fn wait<T>(&self, mutex_guard: &mut MutexGuard<'_, T>) {
        mutex_guard.with_inner(|held| {
            let wait = || self.real.wait(held).unwrap_or_else(PoisonError::into_inner);
            (self.counted(wait), ())
        });
    }

    /// Waits for a notification or until the time is over; in a model both are explored, whatever
    /// the duration.
    #[track_caller]
    pub fn wait_for<T>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        mutex_guard.with_inner(|held| {
            let wait = || self.real.wait_timeout(held, timeout);
            let (held, result) = self.counted(wait).unwrap_or_else(PoisonError::into_inner);
            (held, WaitTimeoutResult(result.timed_out()))
        })
    }

    /// Waits for a notification or until this moment.
    #[track_caller]
    pub fn wait_until<T>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        timeout: Instant,
    ) -> WaitTimeoutResult {
        self.wait_for(
            mutex_guard,
            timeout.saturating_duration_since(Instant::now()),
        )
    }

    /// Waits while a condition holds.
    #[track_caller]
    pub fn wait_while<T, F>(&self, mutex_guard: &mut MutexGuard<'_, T>, mut condition: F)
    where
        F: FnMut(&mut T) -> bool,
    {
        while mutex_guard.evaluate(&mut condition) {
            self.wait(mutex_guard);
        }
    }

    /// Waits while a condition holds, at most until the time is over.
    #[track_caller]
    pub fn wait_while_for<T, F>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        condition: F,
        timeout: Duration,
    ) -> WaitTimeoutResult
    where
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_until(mutex_guard, condition, Instant::now() + timeout)
    }

    /// Waits while a condition holds, at most until this moment.
    #[track_caller]
    pub fn wait_while_until<T, F>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        mut condition: F,
        timeout: Instant,
    ) -> WaitTimeoutResult
    where
        F: FnMut(&mut T) -> bool,
    {
        let mut result = WaitTimeoutResult(false);
        while !result.timed_out() && mutex_guard.evaluate(&mut condition) {
            result = self.wait_until(mutex_guard, timeout);
        }
        WaitTimeoutResult(result.timed_out() && mutex_guard.evaluate(&mut condition))
    }

    /// Wakes one waiting thread. Returns whether there was one.
    #[track_caller]
    pub fn notify_one(&self) -> bool {
        let waiting = self.waiting.load(Ordering::Relaxed);
        facade::notify_one(&self.real).unwrap_or(waiting.min(1)) > 0
    }

    /// Wakes all waiting threads. Returns their number.
    #[track_caller]
    pub fn notify_all(&self) -> usize {
        let waiting = self.waiting.load(Ordering::Relaxed);
        facade::notify_all(&self.real).unwrap_or(waiting)
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Condvar { .. }")
    }
}
