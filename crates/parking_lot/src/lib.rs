//! The API of parking_lot 0.12.5 on `mazurka-rt`: code that uses parking_lot is explored without
//! edits.
//!
//! ```toml
//! [dev-dependencies]
//! parking_lot = { package = "mazurka-parking-lot", version = "0.2" }
//! ```
//!
//! ```
//! use mazurka_parking_lot as parking_lot;
//! use mazurka_rt::{model, sync::Arc, thread};
//! use parking_lot::{Condvar, Mutex};
//!
//! model(|| {
//!     let pair = Arc::new((Mutex::new(false), Condvar::new()));
//!     let other = pair.clone();
//!     thread::spawn(move || {
//!         *other.0.lock() = true;
//!         other.1.notify_one();
//!     });
//!     let mut ready = pair.0.lock();
//!     while !*ready {
//!         pair.1.wait(&mut ready);
//!     }
//! });
//! ```
//!
//! Differences:
//! - Time does not pass in a model. `try_lock_for` and the other methods with a time limit try
//!   once, and fail if the lock is held at that moment. The exploration tries every moment.
//! - Any thread that can take a lock may do so, whether or not others wait. So `unlock_fair` is
//!   `unlock` and [`FairMutex`] is [`Mutex`]. As in parking_lot, an [`RwLock`] keeps new readers
//!   out while a writer waits for the present readers to leave. So a thread that holds a read guard
//!   and calls [`RwLock::read`] again may wait for ever, and that deadlock is found.
//! - Threads that wait at one `Condvar` with two different mutexes do not panic.
//! - A writer that gives up after a time (`try_write_for`) keeps no readers out while it waits.
//! - Missing, so that a use does not compile: `arc_lock`, `deadlock`, `RawMutex` and everything
//!   else from `lock_api`, `force_unlock`, and `Condvar::wait` for a mutex of an unsized type.

mod condvar;
mod guard;
mod mapped;
mod mutex;
mod once;
mod reentrant;
mod rwlock;

pub use condvar::{Condvar, WaitTimeoutResult};
pub use mapped::{MappedMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard};
pub use mutex::{Mutex, MutexGuard, const_mutex};
pub use once::{Once, OnceState};
pub use reentrant::{ReentrantMutex, ReentrantMutexGuard};
pub use rwlock::{
    RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard, const_rwlock,
};

/// A mutex that waiting threads take in the order of their requests. Every order of the waiting
/// threads is explored, so this is only another name of [`Mutex`].
pub type FairMutex<T> = Mutex<T>;

/// The guard of a [`FairMutex`].
pub type FairMutexGuard<'a, T> = MutexGuard<'a, T>;

/// Makes a [`FairMutex`] in a constant.
pub const fn const_fair_mutex<T>(value: T) -> FairMutex<T> {
    Mutex::new(value)
}
