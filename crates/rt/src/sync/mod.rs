//! `std::sync`, explored: same names, same signatures, same behaviour outside a model.
//!
//! `Arc` and `Weak` wrap those of std, with two additions: the reference counts synchronise in the
//! vector clocks, and an `Arc` gives names to the objects in it. Where a program can observe the
//! counts, they are explored (arc/counted.rs); otherwise cloning and dropping are not steps.

#[macro_use]
mod lock;

mod arc;
pub mod atomic;
mod barrier;
mod condvar;
mod lazy;
pub mod mpsc;
mod mutex;
mod once;
mod once_lock;
mod rwlock;

pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

pub(crate) use arc::Regions;
pub use arc::{Arc, Weak};
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy::LazyLock;
pub(crate) use lock::wakes_by;
pub use mutex::{Mutex, MutexGuard};
#[allow(deprecated)]
pub use once::ONCE_INIT;
#[doc(hidden)]
pub use once::OnceStage;
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Converts a result with a guard of std into a result with a guard of this crate.
fn map<G, H>(result: LockResult<G>, wrap: impl FnOnce(G) -> H) -> LockResult<H> {
    match result {
        Ok(guard) => Ok(wrap(guard)),
        Err(poisoned) => Err(PoisonError::new(wrap(poisoned.into_inner()))),
    }
}
