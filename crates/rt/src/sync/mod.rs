//! `std::sync`, explored: same names, same signatures, same behaviour outside a model.
//!
//! `Arc` and `Weak` are std's with additions: vector clocks know what the reference counts order,
//! an object in an `Arc` is named by it, and where a program can tell, the counts are explored
//! (arc/counted.rs); else cloning and dropping are no steps.

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

/// Turns a result of std about its guard into one about ours.
fn map<G, H>(result: LockResult<G>, wrap: impl FnOnce(G) -> H) -> LockResult<H> {
    match result {
        Ok(guard) => Ok(wrap(guard)),
        Err(poisoned) => Err(PoisonError::new(wrap(poisoned.into_inner()))),
    }
}
