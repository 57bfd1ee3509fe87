//! `tokio::sync`. Each operation is one step on its object. An operation that would have to wait
//! returns `Poll::Pending`, and the loop that polls its task (drive.rs) waits.

mod barrier;
pub mod broadcast;
mod guard;
pub mod mpsc;
mod mutex;
mod notify;
mod once_cell;
pub mod oneshot;
mod permits;
mod rwlock;
mod semaphore;
pub mod watch;

pub use barrier::{Barrier, BarrierWaitResult};
pub use guard::{
    MappedMutexGuard, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard,
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
pub use mutex::{Mutex, TryLockError};
pub use notify::{Notify, futures};
pub use once_cell::{OnceCell, SetError};
pub use rwlock::RwLock;
pub use semaphore::{
    AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};

use std::task::Waker;

/// Wakers to call after a step.
pub(crate) type Wakers = Vec<Waker>;

pub(crate) fn wake_all(wakers: Wakers) {
    for waker in wakers {
        waker.wake();
    }
}
