//! `tokio::sync::Semaphore`.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use mazurka_rt::facade::Monitor;

use super::permits::{Acquire, Permits, Refusal, release};
use super::wake_all;
use crate::drive::Place;

/// Permits that tasks take in the order of their requests.
pub struct Semaphore {
    permits: Monitor<Permits>,
}

/// The semaphore is closed.
#[derive(Debug)]
pub struct AcquireError(pub(super) ());

/// Why permits were not taken at once.
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are not enough permits.
    NoPermits,
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("semaphore closed")
    }
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "semaphore closed",
            Self::NoPermits => "no permits available",
        })
    }
}

impl Error for AcquireError {}
impl Error for TryAcquireError {}

impl From<Refusal> for TryAcquireError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Closed => Self::Closed,
            Refusal::NotEnough => Self::NoPermits,
        }
    }
}

impl Semaphore {
    /// Maximum number of permits.
    pub const MAX_PERMITS: usize = usize::MAX >> 3;

    /// Makes a semaphore with permits.
    ///
    /// # Panics
    ///
    /// If there are more than [`Self::MAX_PERMITS`].
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        Self::const_new(permits)
    }

    /// Makes a semaphore with permits in a constant.
    ///
    /// # Panics
    ///
    /// If there are more than [`Self::MAX_PERMITS`].
    #[track_caller]
    pub const fn const_new(permits: usize) -> Self {
        assert!(
            permits <= Self::MAX_PERMITS,
            "a semaphore may not have more than MAX_PERMITS permits"
        );
        Self {
            permits: Monitor::new("Semaphore", Permits::new(permits)),
        }
    }

    /// Returns the semaphore that this model uses: a static has a copy in each execution.
    fn here(&self) -> &Self {
        // SAFETY: the monitor is the whole object, and owns no memory as long as it was not used.
        #[allow(unsafe_code)]
        unsafe {
            self.permits.here(self, |_| true)
        }
    }

    /// Returns the number of available permits.
    #[track_caller]
    pub fn available_permits(&self) -> usize {
        let place = Location::caller();
        let permits = &self.here().permits;
        permits.look("available_permits", place, |permits| permits.available)
    }

    /// Adds permits.
    ///
    /// # Panics
    ///
    /// If there are then more than [`Self::MAX_PERMITS`].
    #[track_caller]
    pub fn add_permits(&self, n: usize) {
        if n == 0 {
            return;
        }
        let available = self.here().permits.peek(|permits| permits.available);
        assert!(
            n <= Self::MAX_PERMITS && available + n <= Self::MAX_PERMITS,
            "number of added permits ({n}) would overflow MAX_PERMITS ({})",
            Self::MAX_PERMITS
        );
        release(&self.here().permits, n, "add_permits", Location::caller());
    }

    /// Removes up to `n` available permits for good. Returns how many.
    #[track_caller]
    pub fn forget_permits(&self, n: usize) -> usize {
        let place = Location::caller();
        let permits = &self.here().permits;
        permits.update("forget_permits", place, |permits| {
            let gone = n.min(permits.available);
            permits.available -= gone;
            (gone, gone > 0)
        })
    }

    /// Waits for a permit.
    #[track_caller]
    pub fn acquire(&self) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        self.acquire_at(1, "acquire", Location::caller())
    }

    /// Waits for permits.
    #[track_caller]
    pub fn acquire_many(
        &self,
        n: u32,
    ) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        self.acquire_at(n, "acquire_many", Location::caller())
    }

    async fn acquire_at(
        &self,
        permits: u32,
        verb: &'static str,
        place: Place,
    ) -> Result<SemaphorePermit<'_>, AcquireError> {
        let sem = self.here();
        let taken = Acquire::new(&sem.permits, permits as usize, verb, place).await;
        match taken {
            Ok(()) => Ok(SemaphorePermit {
                sem,
                permits,
                place,
            }),
            Err(_) => Err(AcquireError(())),
        }
    }

    fn try_take(&self, n: u32, place: Place) -> Result<(), TryAcquireError> {
        let permits = &self.here().permits;
        permits.update("try_acquire", place, |permits| {
            let taken = permits.try_take(n as usize);
            (taken.map_err(Into::into), taken.is_ok())
        })
    }

    /// Takes a permit if there is one.
    #[track_caller]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Takes `n` permits if there are enough.
    #[track_caller]
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        let place = Location::caller();
        self.try_take(n, place)?;
        Ok(SemaphorePermit {
            sem: self.here(),
            permits: n,
            place,
        })
    }

    /// Waits for a permit that owns a reference to the semaphore.
    #[track_caller]
    pub fn acquire_owned(
        self: Arc<Self>,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        self.acquire_owned_at(1, "acquire_owned", Location::caller())
    }

    /// Waits for permits that own a reference to the semaphore.
    #[track_caller]
    pub fn acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        self.acquire_owned_at(n, "acquire_many_owned", Location::caller())
    }

    async fn acquire_owned_at(
        self: Arc<Self>,
        permits: u32,
        verb: &'static str,
        place: Place,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        let taken = Acquire::new(&self.permits, permits as usize, verb, place).await;
        match taken {
            Ok(()) => Ok(OwnedSemaphorePermit {
                sem: self,
                permits,
                place,
            }),
            Err(_) => Err(AcquireError(())),
        }
    }

    /// Takes a permit that owns a reference to the semaphore, if there is a permit.
    #[track_caller]
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// Takes `n` permits that own a reference to the semaphore, if there are enough.
    #[track_caller]
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        let place = Location::caller();
        self.try_take(n, place)?;
        Ok(OwnedSemaphorePermit {
            sem: self,
            permits: n,
            place,
        })
    }

    /// Refuses all tasks from now on.
    #[track_caller]
    pub fn close(&self) {
        let permits = &self.here().permits;
        let wakers = permits.update("close", Location::caller(), |permits| {
            let mut wakers = Vec::new();
            permits.close(&mut wakers);
            (wakers, true)
        });
        wake_all(wakers);
    }

    /// Whether it is closed.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        let permits = &self.here().permits;
        permits.look("is_closed", Location::caller(), |permits| permits.closed)
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let available = self.permits.peek(|permits| permits.available);
        let mut debug = f.debug_struct("Semaphore");
        debug.field("permits", &available).finish()
    }
}

/// Permits that are returned when this is dropped.
#[must_use]
#[clippy::has_significant_drop]
pub struct SemaphorePermit<'a> {
    sem: &'a Semaphore,
    permits: u32,
    place: Place,
}

/// Permits that own a reference to the semaphore, and are returned when this is dropped.
#[must_use]
#[clippy::has_significant_drop]
pub struct OwnedSemaphorePermit {
    sem: Arc<Semaphore>,
    permits: u32,
    place: Place,
}

macro_rules! permit {
    ($name:ident $(<$lifetime:lifetime>)?, $same:expr) => {
        impl $name $(<$lifetime>)? {
            /// Drops this without returning the permits to the semaphore.
            pub fn forget(mut self) {
                self.permits = 0;
            }

            /// Adds the permits of `other`, which must be of the same semaphore.
            ///
            /// # Panics
            ///
            /// If it belongs to another semaphore.
            #[track_caller]
            pub fn merge(&mut self, mut other: Self) {
                assert!($same(&self.sem, &other.sem), "merging permits from different semaphore instances");
                self.permits += std::mem::take(&mut other.permits);
            }

            /// Splits off `n` of the permits, if there are enough.
            pub fn split(&mut self, n: usize) -> Option<Self> {
                let n = u32::try_from(n).ok().filter(|&n| n <= self.permits)?;
                self.permits -= n;
                Some(Self {
                    sem: self.sem.clone(),
                    permits: n,
                    place: self.place,
                })
            }

            /// Returns the number of permits.
            pub fn num_permits(&self) -> usize {
                self.permits as usize
            }
        }

        impl Drop for $name $(<$lifetime>)? {
            fn drop(&mut self) {
                if self.permits > 0 {
                    let permits = &self.sem.permits;
                    release(permits, self.permits as usize, "release", self.place);
                }
            }
        }

        impl fmt::Debug for $name $(<$lifetime>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut debug = f.debug_struct(stringify!($name));
                debug.field("permits", &self.permits).finish()
            }
        }
    };
}

permit!(
    SemaphorePermit<'_>,
    |one: &&Semaphore, other: &&Semaphore| std::ptr::eq(*one, *other)
);
permit!(OwnedSemaphorePermit, Arc::ptr_eq);

impl OwnedSemaphorePermit {
    /// Returns the semaphore.
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.sem
    }
}
