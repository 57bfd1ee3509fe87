//! `tokio::sync::RwLock`: a reader takes one permit, a writer all of them. Tasks wait in the order
//! of their requests, so readers do not overtake a writer.

use std::cell::UnsafeCell;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use mazurka_rt::facade::Monitor;

use super::guard::{
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
use super::mutex::TryLockError;
use super::permits::{Acquire, Permits};
use crate::drive::{self, Place};

/// Maximum number of simultaneous readers.
const MAX_READS: u32 = u32::MAX >> 3;

/// A lock for many readers or one writer, which tasks take in the order of their requests.
pub struct RwLock<T: ?Sized> {
    pub(super) readers: u32,
    pub(super) permits: Monitor<Permits>,
    pub(super) value: UnsafeCell<T>,
}

// SAFETY: the data is shared by reading tasks only, or one writing task has it alone.
#[allow(unsafe_code)]
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as for `Send`.
#[allow(unsafe_code)]
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    /// Makes a free lock.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::const_new(value)
    }

    /// Makes a free lock with a limit on simultaneous readers.
    ///
    /// # Panics
    ///
    /// If the limit is more than `u32::MAX >> 3`.
    #[track_caller]
    pub fn with_max_readers(value: T, max_reads: u32) -> Self {
        Self::const_with_max_readers(value, max_reads)
    }

    /// Makes a free lock in a constant.
    #[track_caller]
    pub const fn const_new(value: T) -> Self {
        Self::const_with_max_readers(value, MAX_READS)
    }

    /// Makes a free lock with a limit on simultaneous readers, in a constant.
    ///
    /// # Panics
    ///
    /// If the limit is more than `u32::MAX >> 3`.
    #[track_caller]
    pub const fn const_with_max_readers(value: T, max_reads: u32) -> Self {
        assert!(
            max_reads <= MAX_READS,
            "a RwLock may not be created with more than MAX_READS readers"
        );
        Self {
            readers: max_reads,
            permits: Monitor::new("RwLock", Permits::new(max_reads as usize)),
            value: UnsafeCell::new(value),
        }
    }

    /// Returns the data, consuming the lock.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

/// Waits for permits of a lock.
async fn take(permits: &Monitor<Permits>, count: u32, verb: &'static str, place: Place) {
    let taken = Acquire::new(permits, count as usize, verb, place).await;
    taken.unwrap_or_else(|_| unreachable!("the permits of a lock are never closed"));
}

impl<T: ?Sized> RwLock<T> {
    /// Returns the lock that this model uses: a static has a copy in each execution.
    fn here(&self) -> &Self {
        // SAFETY: a static that was not used owns no memory. A copy is dropped only if all its
        // permits are available, so no guard refers to it.
        #[allow(unsafe_code)]
        unsafe {
            self.permits.here(self, |twin| {
                let available = twin.permits.peek(|permits| permits.available);
                available == twin.readers as usize
            })
        }
    }

    /// Waits for read access.
    #[track_caller]
    pub fn read(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> {
        self.read_at("read", Location::caller())
    }

    async fn read_at(&self, verb: &'static str, place: Place) -> RwLockReadGuard<'_, T> {
        let lock = self.here();
        take(&lock.permits, 1, verb, place).await;
        RwLockReadGuard::new(lock, place)
    }

    /// Waits for write access.
    #[track_caller]
    pub fn write(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> {
        self.write_at("write", Location::caller())
    }

    async fn write_at(&self, verb: &'static str, place: Place) -> RwLockWriteGuard<'_, T> {
        let lock = self.here();
        take(&lock.permits, lock.readers, verb, place).await;
        RwLockWriteGuard::new(lock, place)
    }

    /// Waits for read access, in a thread that is not polling a future.
    ///
    /// # Panics
    ///
    /// Within a task.
    #[track_caller]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        drive::block(self.read_at("blocking_read", Location::caller()))
    }

    /// Waits for write access, in a thread that is not polling a future.
    ///
    /// # Panics
    ///
    /// Within a task.
    #[track_caller]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        drive::block(self.write_at("blocking_write", Location::caller()))
    }

    /// Waits for read access. The guard owns a reference to the lock.
    #[track_caller]
    pub fn read_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockReadGuard<T>>
    where
        T: Sized,
    {
        let place = Location::caller();
        async move {
            take(&self.permits, 1, "read_owned", place).await;
            OwnedRwLockReadGuard::new(self, place)
        }
    }

    /// Waits for write access. The guard owns a reference to the lock.
    #[track_caller]
    pub fn write_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockWriteGuard<T>>
    where
        T: Sized,
    {
        let place = Location::caller();
        async move {
            take(&self.permits, self.readers, "write_owned", place).await;
            OwnedRwLockWriteGuard::new(self, place)
        }
    }

    fn try_take(&self, count: u32, verb: &'static str, place: Place) -> Result<(), TryLockError> {
        self.permits.update(verb, place, |permits| {
            let taken = permits.try_take(count as usize);
            (taken.map_err(|_| TryLockError(())), taken.is_ok())
        })
    }

    /// Takes the lock for reading if that is possible now.
    #[track_caller]
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        let (lock, place) = (self.here(), Location::caller());
        lock.try_take(1, "try_read", place)?;
        Ok(RwLockReadGuard::new(lock, place))
    }

    /// Takes the lock for writing if that is possible now.
    #[track_caller]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        let (lock, place) = (self.here(), Location::caller());
        lock.try_take(lock.readers, "try_write", place)?;
        Ok(RwLockWriteGuard::new(lock, place))
    }

    /// Takes the lock for reading if that is possible now. The guard owns a reference to the lock.
    #[track_caller]
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError>
    where
        T: Sized,
    {
        let place = Location::caller();
        self.try_take(1, "try_read_owned", place)?;
        Ok(OwnedRwLockReadGuard::new(self, place))
    }

    /// Takes the lock for writing if that is possible now. The guard owns a reference to the lock.
    #[track_caller]
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError>
    where
        T: Sized,
    {
        let place = Location::caller();
        self.try_take(self.readers, "try_write_owned", place)?;
        Ok(OwnedRwLockWriteGuard::new(self, place))
    }

    /// Returns the data. The exclusive borrow excludes all other tasks.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => debug.field("data", &&*guard),
            Err(_) => debug.field("data", &format_args!("<locked>")),
        };
        debug.finish()
    }
}
