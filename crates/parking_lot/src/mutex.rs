//! `parking_lot::Mutex`: the mutex of `mazurka-rt` without poison.

use std::fmt;
use std::time::{Duration, Instant};

use mazurka_rt::facade;
use mazurka_rt::sync::{self, PoisonError, TryLockError};

use crate::guard::guard;
use crate::mapped::MappedMutexGuard;

/// A lock that protects data.
#[derive(Default)]
pub struct Mutex<T: ?Sized>(sync::Mutex<T>);

/// Holds a [`Mutex`] until it is dropped.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    /// `None` only while the lock is released for a moment.
    held: Option<sync::MutexGuard<'a, T>>,
}

/// Makes a [`Mutex`] in a constant.
pub const fn const_mutex<T>(value: T) -> Mutex<T> {
    Mutex::new(value)
}

impl<T> Mutex<T> {
    /// Makes a free lock.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    /// Returns the data, consuming the lock.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    fn guard<'a>(&'a self, held: sync::MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        MutexGuard {
            lock: self,
            held: Some(held),
        }
    }

    /// Waits for the lock and takes it.
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.guard(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the lock if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(held) => Some(self.guard(held)),
            Err(TryLockError::Poisoned(poisoned)) => Some(self.guard(poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Waits for the lock until the time is over.
    #[track_caller]
    pub fn try_lock_for(&self, timeout: Duration) -> Option<MutexGuard<'_, T>> {
        facade::until_timeout("try_lock_for", timeout, || self.try_lock())
    }

    /// Waits for the lock until this moment.
    #[track_caller]
    pub fn try_lock_until(&self, timeout: Instant) -> Option<MutexGuard<'_, T>> {
        self.try_lock_for(timeout.saturating_duration_since(Instant::now()))
    }

    /// Whether a thread holds the lock.
    #[track_caller]
    pub fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    /// Returns the data. The exclusive borrow excludes all other threads.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

guard!(mut MutexGuard, lock);

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Returns the mutex.
    pub fn mutex(s: &Self) -> &'a Mutex<T> {
        s.lock
    }

    /// Holds the lock for ever and returns the data.
    pub fn leak(s: Self) -> &'a mut T {
        let mut kept = std::mem::ManuallyDrop::new(s);
        let value: *mut T = &mut **kept;
        // SAFETY: the guard is never dropped, so the lock is held for ever and only this reference
        // reaches the data; the data lives as long as the lock, which is borrowed for 'a.
        #[allow(unsafe_code)]
        unsafe {
            &mut *value
        }
    }

    /// Makes a guard of a part of the data.
    pub fn map<U: ?Sized, F>(mut s: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let mut held = s.held.take().expect("the guard holds the lock");
        let value: *mut U = f(&mut held);
        MappedMutexGuard::new(held, value)
    }

    /// Makes a guard of a part of the data if the function returns one; otherwise
    /// returns this guard.
    pub fn try_map<U: ?Sized, F>(mut s: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let lock = s.lock;
        let mut held = s.held.take().expect("the guard holds the lock");
        match f(&mut held).map(|value| value as *mut U) {
            Some(value) => Ok(MappedMutexGuard::new(held, value)),
            None => Err(lock.guard(held)),
        }
    }

    /// Evaluates a condition on the data. The condition is assumed not to change the data.
    pub(crate) fn evaluate(&mut self, condition: &mut impl FnMut(&mut T) -> bool) -> bool {
        facade::peek(
            self.held.as_mut().expect("the guard holds the lock"),
            condition,
        )
    }

    /// Passes the inner guard to a function, and keeps the guard that it returns.
    pub(crate) fn with_inner<R>(
        &mut self,
        wait: impl FnOnce(sync::MutexGuard<'a, T>) -> (sync::MutexGuard<'a, T>, R),
    ) -> R {
        let held = self.held.take().expect("the guard holds the lock");
        let (held, result) = wait(held);
        self.held = Some(held);
        result
    }
}
