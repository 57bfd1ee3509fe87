//! `parking_lot::ReentrantMutex`: a mutex that its holder can take again.
//!
//! The holder and the number of times that it holds the lock are data under a mutex. A thread that
//! finds another holder waits at a condition variable.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::{Duration, Instant};

use mazurka_rt::facade;
use mazurka_rt::thread::{self, ThreadId};

use crate::{Condvar, Mutex, MutexGuard};

/// A lock that its holder can take again.
pub struct ReentrantMutex<T: ?Sized> {
    owner: Mutex<Option<Owner>>,
    free: Condvar,
    value: T,
}

/// The thread that holds the lock.
struct Owner {
    thread: ThreadId,
    times: usize,
}

// SAFETY: only the thread that holds the lock reaches the data by a shared reference.
#[allow(unsafe_code)]
unsafe impl<T: ?Sized + Send> Sync for ReentrantMutex<T> {}

/// Holds a [`ReentrantMutex`] until it is dropped.
#[must_use = "if unused the ReentrantMutex will immediately unlock"]
pub struct ReentrantMutexGuard<'a, T: ?Sized> {
    lock: &'a ReentrantMutex<T>,
    /// Makes the guard neither `Send` nor `Sync`.
    not_send: PhantomData<*const ()>,
}

/// Takes the lock if it is free or held by this thread. Returns whether it did.
fn take(owner: &mut MutexGuard<'_, Option<Owner>>) -> bool {
    let thread = thread::current().id();
    match &mut **owner {
        Some(owner) if owner.thread != thread => return false,
        Some(owner) => owner.times += 1,
        free => *free = Some(Owner { thread, times: 1 }),
    }
    true
}

impl<T> ReentrantMutex<T> {
    /// Makes a free lock.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self {
            owner: Mutex::new(None),
            free: Condvar::new(),
            value,
        }
    }

    /// Returns the data, consuming the lock.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: ?Sized> ReentrantMutex<T> {
    fn guard(&self) -> ReentrantMutexGuard<'_, T> {
        ReentrantMutexGuard {
            lock: self,
            not_send: PhantomData,
        }
    }

    /// Waits until no other thread holds the lock, and takes it.
    #[track_caller]
    pub fn lock(&self) -> ReentrantMutexGuard<'_, T> {
        let mut owner = self.owner.lock();
        while !take(&mut owner) {
            self.free.wait(&mut owner);
        }
        drop(owner);
        self.guard()
    }

    /// Takes the lock if no other thread holds it.
    #[track_caller]
    pub fn try_lock(&self) -> Option<ReentrantMutexGuard<'_, T>> {
        let taken = take(&mut self.owner.lock());
        taken.then(|| self.guard())
    }

    /// Waits for the lock until the time is over.
    #[track_caller]
    pub fn try_lock_for(&self, timeout: Duration) -> Option<ReentrantMutexGuard<'_, T>> {
        facade::until_timeout("try_lock_for", timeout, || self.try_lock())
    }

    /// Waits for the lock until this moment.
    #[track_caller]
    pub fn try_lock_until(&self, timeout: Instant) -> Option<ReentrantMutexGuard<'_, T>> {
        self.try_lock_for(timeout.saturating_duration_since(Instant::now()))
    }

    /// Whether a thread holds the lock.
    #[track_caller]
    pub fn is_locked(&self) -> bool {
        self.owner.lock().is_some()
    }

    /// Whether this thread holds the lock.
    #[track_caller]
    pub fn is_owned_by_current_thread(&self) -> bool {
        let me = thread::current().id();
        let owner = self.owner.lock();
        owner.as_ref().is_some_and(|owner| owner.thread == me)
    }

    /// Returns the data. The exclusive borrow excludes all other threads.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Default> Default for ReentrantMutex<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for ReentrantMutex<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for ReentrantMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("ReentrantMutex { .. }")
    }
}

impl<T: ?Sized> ReentrantMutexGuard<'_, T> {
    /// Releases the lock.
    pub fn unlock_fair(s: Self) {
        drop(s);
    }
}

impl<T: ?Sized> Deref for ReentrantMutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.lock.value
    }
}

impl<T: ?Sized> Drop for ReentrantMutexGuard<'_, T> {
    fn drop(&mut self) {
        let mut owner = self.lock.owner.lock();
        let times = owner.as_mut().map_or(0, |owner| {
            owner.times -= 1;
            owner.times
        });
        if times == 0 {
            *owner = None;
            drop(owner);
            self.lock.free.notify_one();
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for ReentrantMutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
