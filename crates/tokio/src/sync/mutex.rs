//! `tokio::sync::Mutex`: one permit, and data.

use std::cell::UnsafeCell;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use mazurka_rt::facade::Monitor;

use super::guard::{MutexGuard, OwnedMutexGuard};
use super::permits::{Acquire, Permits};
use crate::drive::{self, Place};

/// A lock that tasks take in the order of their requests.
pub struct Mutex<T: ?Sized> {
    pub(super) permits: Monitor<Permits>,
    pub(super) value: UnsafeCell<T>,
}

// SAFETY: only the task that has the permit reaches the data.
#[allow(unsafe_code)]
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as for `Send`.
#[allow(unsafe_code)]
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// The lock is held.
#[derive(Debug)]
pub struct TryLockError(pub(super) ());

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("operation would block")
    }
}

impl Error for TryLockError {}

impl<T> Mutex<T> {
    /// Makes a free lock.
    #[track_caller]
    pub fn new(t: T) -> Self {
        Self::const_new(t)
    }

    /// Makes a free lock in a constant.
    #[track_caller]
    pub const fn const_new(t: T) -> Self {
        Self {
            permits: Monitor::new("Mutex", Permits::new(1)),
            value: UnsafeCell::new(t),
        }
    }

    /// Returns the data, consuming the lock.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Returns the lock that this model uses: a static has a copy in each execution.
    fn here(&self) -> &Self {
        // SAFETY: a static that was not used owns no memory. A copy is dropped only if its permit
        // is available, so no guard refers to it.
        #[allow(unsafe_code)]
        unsafe {
            let free = |twin: &Self| twin.permits.peek(|permits| permits.available == 1);
            self.permits.here(self, free)
        }
    }

    /// Waits for the lock.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        self.lock_at("lock", Location::caller())
    }

    async fn lock_at(&self, verb: &'static str, place: Place) -> MutexGuard<'_, T> {
        let lock = self.here();
        let taken = Acquire::new(&lock.permits, 1, verb, place).await;
        taken.unwrap_or_else(|_| unreachable!("the permits of a lock are never closed"));
        MutexGuard::new(lock, place)
    }

    /// Waits for the lock, in a thread that is not polling a future.
    ///
    /// # Panics
    ///
    /// Within a task.
    #[track_caller]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        drive::block(self.lock_at("blocking_lock", Location::caller()))
    }

    /// Waits for the lock, in a thread that is not polling a future. The guard owns a reference to
    /// the lock.
    ///
    /// # Panics
    ///
    /// Within a task.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        drive::block(self.lock_owned_at("blocking_lock_owned", Location::caller()))
    }

    /// Waits for the lock. The guard owns a reference to the lock.
    #[track_caller]
    pub fn lock_owned(self: Arc<Self>) -> impl Future<Output = OwnedMutexGuard<T>> {
        self.lock_owned_at("lock_owned", Location::caller())
    }

    async fn lock_owned_at(
        self: Arc<Self>,
        verb: &'static str,
        place: Place,
    ) -> OwnedMutexGuard<T> {
        let taken = Acquire::new(&self.permits, 1, verb, place).await;
        taken.unwrap_or_else(|_| unreachable!("the permits of a lock are never closed"));
        OwnedMutexGuard::new(self, place)
    }

    fn try_take(&self, place: Place) -> Result<(), TryLockError> {
        self.permits.update("try_lock", place, |permits| {
            let taken = permits.try_take(1);
            (taken.map_err(|_| TryLockError(())), taken.is_ok())
        })
    }

    /// Takes the lock if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        let (lock, place) = (self.here(), Location::caller());
        lock.try_take(place)?;
        Ok(MutexGuard::new(lock, place))
    }

    /// Takes the lock if it is free. The guard owns a reference to the lock.
    #[track_caller]
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        let place = Location::caller();
        self.try_take(place)?;
        Ok(OwnedMutexGuard::new(self, place))
    }

    /// Returns the data. The exclusive borrow excludes all other tasks.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => debug.field("data", &&*guard),
            Err(_) => debug.field("data", &format_args!("<locked>")),
        };
        debug.finish()
    }
}
