//! `parking_lot::RwLock`: the lock of `mazurka-rt` without poison.

use std::fmt;
use std::time::{Duration, Instant};

use mazurka_rt::facade;
use mazurka_rt::sync::{self, PoisonError, TryLockError, TryLockResult};

use crate::guard::guard;
use crate::mapped::{MappedRwLockReadGuard, MappedRwLockWriteGuard};

/// A lock for many readers or one writer.
#[derive(Default)]
pub struct RwLock<T: ?Sized>(sync::RwLock<T>);

/// Grants read access until it is dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// None only while the lock is given up for a moment.
    held: Option<sync::RwLockReadGuard<'a, T>>,
}

/// Grants write access until it is dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// None only while the lock is given up for a moment.
    held: Option<sync::RwLockWriteGuard<'a, T>>,
}

/// Makes an [`RwLock`] in a constant.
pub const fn const_rwlock<T>(value: T) -> RwLock<T> {
    RwLock::new(value)
}

/// Returns the guard of an attempt, if the lock was taken.
fn taken<G>(result: TryLockResult<G>) -> Option<G> {
    match result {
        Ok(held) => Some(held),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl<T> RwLock<T> {
    /// Makes a free lock.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self(sync::RwLock::new(value))
    }

    /// Returns the data, without the lock.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> RwLock<T> {
    fn read_guard<'a>(&'a self, held: sync::RwLockReadGuard<'a, T>) -> RwLockReadGuard<'a, T> {
        RwLockReadGuard {
            lock: self,
            held: Some(held),
        }
    }

    fn write_guard<'a>(&'a self, held: sync::RwLockWriteGuard<'a, T>) -> RwLockWriteGuard<'a, T> {
        RwLockWriteGuard {
            lock: self,
            held: Some(held),
        }
    }

    /// Waits for read access.
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        self.read_guard(held)
    }

    /// Waits for read access, also if the thread has read access already.
    #[track_caller]
    pub fn read_recursive(&self) -> RwLockReadGuard<'_, T> {
        self.read()
    }

    /// Waits for write access.
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        let held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        self.write_guard(held)
    }

    /// Takes the lock for reading if that is possible now.
    #[track_caller]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        let held = taken(self.0.try_read())?;
        Some(self.read_guard(held))
    }

    /// The same as [`RwLock::try_read`].
    #[track_caller]
    pub fn try_read_recursive(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.try_read()
    }

    /// Takes the lock for writing if that is possible now.
    #[track_caller]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        let held = taken(self.0.try_write())?;
        Some(self.write_guard(held))
    }

    /// Waits for read access until the time is over.
    #[track_caller]
    pub fn try_read_for(&self, timeout: Duration) -> Option<RwLockReadGuard<'_, T>> {
        facade::until_timeout("try_read_for", timeout, || self.try_read())
    }

    /// Waits for read access until this moment.
    #[track_caller]
    pub fn try_read_until(&self, timeout: Instant) -> Option<RwLockReadGuard<'_, T>> {
        self.try_read_for(timeout.saturating_duration_since(Instant::now()))
    }

    /// Waits for write access until the time is over.
    #[track_caller]
    pub fn try_write_for(&self, timeout: Duration) -> Option<RwLockWriteGuard<'_, T>> {
        facade::until_timeout("try_write_for", timeout, || self.try_write())
    }

    /// Waits for write access until this moment.
    #[track_caller]
    pub fn try_write_until(&self, timeout: Instant) -> Option<RwLockWriteGuard<'_, T>> {
        self.try_write_for(timeout.saturating_duration_since(Instant::now()))
    }

    /// Returns the data. The exclusive borrow excludes all other threads.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

guard!(RwLockReadGuard, read);
guard!(mut RwLockWriteGuard, write);

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// Returns the lock.
    pub fn rwlock(s: &Self) -> &'a RwLock<T> {
        s.lock
    }

    /// Makes a guard of a part of the data.
    pub fn map<U: ?Sized, F>(mut s: Self, f: F) -> MappedRwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let held = s.held.take().expect("the guard holds the lock");
        let value: *const U = f(&held);
        MappedRwLockReadGuard::new(held, value.cast_mut())
    }

    /// The same if there is such a part; else returns the guard.
    pub fn try_map<U: ?Sized, F>(mut s: Self, f: F) -> Result<MappedRwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        let lock = s.lock;
        let held = s.held.take().expect("the guard holds the lock");
        match f(&held).map(|value| (value as *const U).cast_mut()) {
            Some(value) => Ok(MappedRwLockReadGuard::new(held, value)),
            None => Err(lock.read_guard(held)),
        }
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Returns the lock.
    pub fn rwlock(s: &Self) -> &'a RwLock<T> {
        s.lock
    }

    /// Turns write access into read access without releasing the lock in between.
    #[track_caller]
    pub fn downgrade(mut s: Self) -> RwLockReadGuard<'a, T> {
        let lock = s.lock;
        lock.read_guard(sync::RwLockWriteGuard::downgrade(
            s.held.take().expect("the guard holds the lock"),
        ))
    }

    /// Makes a guard of a part of the data.
    pub fn map<U: ?Sized, F>(mut s: Self, f: F) -> MappedRwLockWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let mut held = s.held.take().expect("the guard holds the lock");
        let value: *mut U = f(&mut held);
        MappedRwLockWriteGuard::new(held, value)
    }

    /// The same if there is such a part; else returns the guard.
    pub fn try_map<U: ?Sized, F>(mut s: Self, f: F) -> Result<MappedRwLockWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let lock = s.lock;
        let mut held = s.held.take().expect("the guard holds the lock");
        match f(&mut held).map(|value| value as *mut U) {
            Some(value) => Ok(MappedRwLockWriteGuard::new(held, value)),
            None => Err(lock.write_guard(held)),
        }
    }
}
