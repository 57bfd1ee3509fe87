//! `std::sync::Mutex`, explored.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{self, LockResult, TryLockError, TryLockResult};

use mazurka_core::AccessKind;

use super::lock::{ignore_poison, try_ignore_poison, wakes_by, with_poison};
use crate::freed::OwnedMeta;
use crate::thread::panicking;
use crate::world::{Pending, Place, Until, World, wakes, world};

/// A lock that protects data: the counterpart of [`std::sync::Mutex`], explored within a model.
pub struct Mutex<T: ?Sized> {
    meta: OwnedMeta,
    poisoned: AtomicBool,
    /// Whether the lock has been used outside a model.
    used: AtomicBool,
    inner: sync::Mutex<T>,
}

/// Holds the lock until it is dropped: [`std::sync::MutexGuard`].
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    lock: &'a Mutex<T>,
    /// `None` only while the lock is released to wait.
    inner: Option<sync::MutexGuard<'a, T>>,
    /// Whether the protected data may have changed.
    dirty: bool,
    /// Whether the thread was already unwinding when it took the lock. Then dropping the guard does
    /// not poison the lock.
    unwinding: bool,
    /// The cell of the lock, if it was taken in a model.
    cell: Option<u32>,
    place: Place,
}

// SAFETY: as with std, a shared reference to a guard gives only shared access to the data.
#[allow(unsafe_code)]
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

lock!(Mutex, try_lock);
guard!(mut MutexGuard);

impl<T: ?Sized> Mutex<T> {
    const KIND: &'static str = "Mutex";

    fn guard<'a>(
        &'a self,
        inner: sync::MutexGuard<'a, T>,
        cell: Option<u32>,
        place: Place,
    ) -> MutexGuard<'a, T> {
        MutexGuard {
            lock: self,
            inner: Some(inner),
            dirty: false,
            unwinding: cell.is_some() && panicking(),
            cell,
            place,
        }
    }

    /// Waits until the lock is free, and takes it in the model. Returns its cell.
    fn acquire(&self, world: &World, place: Place) -> u32 {
        let cell = world.cell(&self.meta, Self::KIND);
        let pending = Pending {
            until: Until::Lock(cell),
            ..Pending::lock(AccessKind::Acquire, cell, (Self::KIND, "lock"), place)
        };
        match world.memory {
            None => world.turn(pending),
            Some(_) => world.lock(cell, pending),
        }
        world.inner.borrow_mut().take(cell, place);
        cell
    }

    /// Waits for the lock and takes it.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.lock_at(Location::caller())
    }

    /// Waits for the lock and takes it. `place` is the place for reports: `Condvar::wait` takes the
    /// lock again at the place where it was called.
    pub(crate) fn lock_at(&self, place: Place) -> LockResult<MutexGuard<'_, T>> {
        let this = self.here();
        let cell = world().map(|world| this.acquire(world, place));
        let inner = ignore_poison(this.inner.lock());
        with_poison(this.poisons(), this.guard(inner, cell, place))
    }

    /// Takes the lock if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let place = Location::caller();
        let this = self.here();
        let mut taken = None;
        if let Some(world) = world() {
            let cell = world.cell(&this.meta, Self::KIND);
            let what = (Self::KIND, "try_lock");
            let pending = Pending::lock(AccessKind::Acquire, cell, what, place);
            let free = match world.memory {
                None => {
                    world.turn(pending);
                    world.inner.borrow().cells[cell as usize].holder.is_none()
                }
                Some(_) => world.try_lock(cell, pending),
            };
            let mut inner = world.inner.borrow_mut();
            if !free {
                inner.effects.untouched = true;
                return world.refused(inner, cell);
            }
            inner.take(cell, place);
            taken = Some(cell);
        }
        let inner = try_ignore_poison(this.inner.try_lock()).ok_or(TryLockError::WouldBlock)?;
        let guard = this.guard(inner, taken, place);
        with_poison(this.poisons(), guard).map_err(TryLockError::Poisoned)
    }
}

#[doc(hidden)]
impl<T: ?Sized> Mutex<T> {
    /// Whether a thread holds the lock. In a model this is a step like `try_lock`, except that it
    /// never takes the lock.
    #[track_caller]
    pub fn is_locked(&self) -> bool {
        let this = self.here();
        let Some(world) = world() else {
            return matches!(this.inner.try_lock(), Err(TryLockError::WouldBlock));
        };
        if world.memory.is_some() {
            world.refuse("`is_locked` of a mutex".into());
        }
        let cell = world.cell(&this.meta, Self::KIND);
        let what = (Self::KIND, "is_locked");
        world.turn(Pending::lock(
            AccessKind::Acquire,
            cell,
            what,
            Location::caller(),
        ));
        let mut inner = world.inner.borrow_mut();
        inner.effects.untouched = true;
        inner.saw(cell, wakes::STATE);
        inner.cells[cell as usize].holder.is_some()
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Returns the mutex.
    pub(crate) fn mutex(&self) -> &'a Mutex<T> {
        self.lock
    }

    /// Returns the protected data for reading only. So the guard does not record that the data may
    /// have changed.
    pub(crate) fn peek(&mut self) -> &mut T {
        self.inner.as_mut().expect("the guard holds the lock")
    }

    /// Releases the lock to wait for something. Returns the mutex and std's guard.
    pub(crate) fn release_to_wait(mut self) -> (&'a Mutex<T>, sync::MutexGuard<'a, T>) {
        let inner = self.inner.take().expect("the guard holds the lock");
        (self.lock, inner)
    }

    /// Returns the cell, if the guard belongs to a model, and whether the protected data may have
    /// changed.
    pub(crate) fn in_model(&self) -> Option<(u32, bool)> {
        Some((self.cell?, self.dirty))
    }

    /// Makes a guard outside a model from a guard of std.
    pub(crate) fn with(lock: &'a Mutex<T>, inner: sync::MutexGuard<'a, T>, place: Place) -> Self {
        lock.guard(inner, None, place)
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        let Some(inner) = self.inner.take() else {
            return;
        };
        let (Some(cell), Some(world)) = (self.cell, world()) else {
            return drop(inner);
        };
        let what = (Mutex::<T>::KIND, "unlock");
        let pending = Pending {
            wakes: wakes_by(self.dirty),
            ..Pending::lock(AccessKind::Release, cell, what, self.place)
        };
        match world.memory {
            None => world.turn(pending),
            Some(_) => world.unlock(cell, self.dirty, pending),
        }
        self.lock
            .drop_real_guard(inner, !self.unwinding && panicking());
        world.inner.borrow_mut().give(cell, self.dirty);
    }
}
