//! `std::sync::RwLock`, explored.
//!
//! Reads commute with each other; writes commute with nothing. Several threads may hold the lock,
//! so its acquisitions are guarded steps (steps that are possible only in some states). With
//! guarded steps, some runs turn out to repeat an explored execution; they count as blocked, not as
//! executions. Any thread that can take the lock may do so, even if other threads wait. Real
//! implementations may be stricter.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{self, LockResult, TryLockError, TryLockResult};

use mazurka_core::Access;
use mazurka_memory::{Effect, MemoryOrder, Value};

use super::lock::{ignore_poison, try_ignore_poison, wakes_by, with_poison};
use crate::freed::OwnedMeta;
use crate::thread::panicking;
use crate::world::{Inner, Pending, Place, Until, World, wakes, world};

const KIND: &str = "RwLock";

/// A lock for many readers or one writer: the counterpart of [`std::sync::RwLock`].
pub struct RwLock<T: ?Sized> {
    meta: OwnedMeta,
    poisoned: AtomicBool,
    /// Whether the lock has been used outside a model.
    used: AtomicBool,
    inner: sync::RwLock<T>,
}

/// Grants read access while it lives: [`std::sync::RwLockReadGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized + 'a> {
    inner: Option<sync::RwLockReadGuard<'a, T>>,
    cell: Option<u32>,
    place: Place,
}

/// Grants write access while it lives: [`std::sync::RwLockWriteGuard`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized + 'a> {
    lock: &'a RwLock<T>,
    inner: Option<sync::RwLockWriteGuard<'a, T>>,
    dirty: bool,
    /// Whether the thread was already unwinding when it took the lock. Then dropping the guard does
    /// not poison the lock.
    unwinding: bool,
    cell: Option<u32>,
    place: Place,
}

impl Inner {
    /// Records that there are guarded steps. The search must know this from its start, so it starts
    /// again the first time.
    pub(crate) fn guarded(&mut self) {
        if !self.guarded {
            self.guarded = true;
            self.restart = true;
        }
    }

    fn take_to_read(&mut self, cell: u32, place: Place) {
        let current = self.current;
        self.cells[cell as usize].readers.push((current, place));
        self.saw(cell, wakes::CONTENT);
        self.clocks.acquire(current, cell);
    }

    fn give_back_read(&mut self, cell: u32) {
        let current = self.current;
        let readers = &mut self.cells[cell as usize].readers;
        if let Some(at) = readers.iter().rposition(|(who, _)| *who == current) {
            readers.remove(at);
        }
        self.clocks.release(current, cell);
        self.changed(cell, wakes::STATE);
    }
}

/// The value of the lock's location while a thread writes, if readers are counted under a memory
/// model (`weak/readers.rs`). While no thread writes, the value is the number of readers.
const WRITTEN: Value = -1;

impl World {
    /// Takes the lock under a memory model, for reading if `pending` waits for read access,
    /// otherwise for writing. With `waits` it waits until that is possible. Returns whether it took
    /// the lock.
    fn take_weakly(&self, cell: u32, waits: bool, pending: Pending) -> bool {
        let reads = pending.until == Until::Read(cell);
        if self.readers_are_apart(waits) {
            if reads {
                self.lock_to_read(cell, pending)
            } else {
                self.lock_to_write(cell, pending)
            }
            return true;
        }
        let next = |readers: Value| {
            if reads {
                (readers >= 0).then_some(readers + 1)
            } else {
                (readers == 0).then_some(WRITTEN)
            }
        };
        let rule = |readers| match next(readers) {
            Some(next) => Effect::Write(next),
            None if waits => Effect::Wait,
            None => Effect::Keep,
        };
        let orders = [MemoryOrder::Acquire, MemoryOrder::Relaxed];
        let before = self.update(cell, orders, &rule, pending);
        self.took_lock();
        next(before).is_some()
    }

    /// Ends a read.
    fn give_read_weakly(&self, cell: u32, pending: Pending) {
        if self.readers_are_apart(true) {
            self.unlock_read(cell, pending)
        } else {
            self.give_weakly(cell, &|readers| readers - 1, false, pending)
        }
    }

    /// Ends a write. `give_back` releases the real lock.
    fn give_write_weakly(
        &self,
        cell: u32,
        dirty: bool,
        pending: Pending,
        give_back: impl FnOnce(),
    ) {
        if self.readers_are_apart(true) {
            return self.unlock_write(cell, dirty, pending, give_back);
        }
        self.give_weakly(cell, &|_| 0, dirty, pending);
        give_back();
    }

    /// Ends a read or a write in a lock whose readers are counted: changes the value of its
    /// location.
    fn give_weakly(&self, cell: u32, next: &dyn Fn(Value) -> Value, dirty: bool, pending: Pending) {
        let orders = [MemoryOrder::Release, MemoryOrder::Relaxed];
        self.update(
            cell,
            orders,
            &|readers| Effect::Write(next(readers)),
            pending,
        );
        if dirty {
            self.progress();
        }
    }
}

// SAFETY: as with std, a shared reference to a guard gives only shared access to the data.
#[allow(unsafe_code)]
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

lock!(RwLock, try_write);
guard!(RwLockReadGuard);
guard!(mut RwLockWriteGuard);

impl<T: ?Sized> RwLock<T> {
    fn cell(&self, world: &World) -> u32 {
        if world.memory.is_none() {
            world.inner.borrow_mut().guarded();
        }
        world.cell(&self.meta, KIND)
    }

    fn read_guard<'a>(
        &'a self,
        inner: sync::RwLockReadGuard<'a, T>,
        cell: Option<u32>,
        place: Place,
    ) -> RwLockReadGuard<'a, T> {
        RwLockReadGuard {
            inner: Some(inner),
            cell,
            place,
        }
    }

    fn write_guard<'a>(
        &'a self,
        inner: sync::RwLockWriteGuard<'a, T>,
        cell: Option<u32>,
        place: Place,
    ) -> RwLockWriteGuard<'a, T> {
        RwLockWriteGuard {
            lock: self,
            inner: Some(inner),
            dirty: false,
            unwinding: cell.is_some() && panicking(),
            cell,
            place,
        }
    }

    /// Waits until the lock can be taken, and takes it. Returns its cell; `None` outside a model.
    fn acquire(
        &self,
        pending: impl FnOnce(u32) -> Pending,
        take: impl FnOnce(&mut Inner, u32),
    ) -> Option<u32> {
        let world = world()?;
        let cell = self.cell(world);
        let pending = pending(cell);
        match world.memory {
            None => world.turn(pending),
            Some(_) => _ = world.take_weakly(cell, true, pending),
        }
        take(&mut world.inner.borrow_mut(), cell);
        Some(cell)
    }

    /// Takes the lock, unless the thread would have to wait. Returns its cell; `None` outside a
    /// model.
    fn try_acquire<G>(
        &self,
        until: fn(u32) -> Until,
        pending: impl FnOnce(u32) -> Pending,
        take: impl FnOnce(&mut Inner, u32),
    ) -> Result<Option<u32>, TryLockError<G>> {
        let Some(world) = world() else {
            return Ok(None);
        };
        let cell = self.cell(world);
        let mut pending = pending(cell);
        let possible = match world.memory {
            None => {
                world.turn(pending);
                let inner = world.inner.borrow();
                inner.possible(inner.current, until(cell))
            }
            Some(_) => {
                pending.until = until(cell);
                world.take_weakly(cell, false, pending)
            }
        };
        let mut inner = world.inner.borrow_mut();
        if !possible {
            return world.refused(inner, cell);
        }
        take(&mut inner, cell);
        Ok(Some(cell))
    }

    /// Waits for read access.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let place = Location::caller();
        let pending = |cell| Pending {
            until: Until::Read(cell),
            ..Pending::read(cell, (KIND, "read"), place)
        };
        let this = self.here();
        let cell = this.acquire(pending, |inner, cell| inner.take_to_read(cell, place));
        let guard = this.read_guard(ignore_poison(this.inner.read()), cell, place);
        with_poison(this.poisons(), guard)
    }

    /// Waits for write access.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let place = Location::caller();
        let pending = |cell| Pending {
            until: Until::Write(cell),
            ..Pending::new(Some(Access::write(cell)), (KIND, "write"), place)
        };
        let this = self.here();
        let cell = this.acquire(pending, |inner, cell| inner.take(cell, place));
        let guard = this.write_guard(ignore_poison(this.inner.write()), cell, place);
        with_poison(this.poisons(), guard)
    }

    /// Takes the lock for reading if that is possible now.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let place = Location::caller();
        let pending = |cell| Pending::read(cell, (KIND, "try_read"), place);
        let this = self.here();
        let cell = this.try_acquire(Until::Read, pending, |inner, cell| {
            inner.take_to_read(cell, place);
        })?;
        let inner = try_ignore_poison(this.inner.try_read()).ok_or(TryLockError::WouldBlock)?;
        let guard = this.read_guard(inner, cell, place);
        with_poison(this.poisons(), guard).map_err(TryLockError::Poisoned)
    }

    /// Takes the lock for writing if that is possible now.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let place = Location::caller();
        let pending = |cell| Pending::new(Some(Access::write(cell)), (KIND, "try_write"), place);
        let this = self.here();
        let cell = this.try_acquire(Until::Write, pending, |inner, cell| {
            inner.take(cell, place);
        })?;
        let inner = try_ignore_poison(this.inner.try_write()).ok_or(TryLockError::WouldBlock)?;
        let guard = this.write_guard(inner, cell, place);
        with_poison(this.poisons(), guard).map_err(TryLockError::Poisoned)
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Turns write access into read access without releasing the lock in between.
    #[track_caller]
    pub fn downgrade(mut s: Self) -> RwLockReadGuard<'a, T> {
        let place = Location::caller();
        let inner = s.inner.take().expect("the guard holds the lock");
        let (lock, cell, dirty) = (s.lock, s.cell.take(), s.dirty);
        if let (Some(cell), Some(world)) = (cell, world()) {
            let pending = Pending {
                wakes: wakes_by(dirty),
                ..Pending::new(Some(Access::write(cell)), (KIND, "downgrade"), place)
            };
            match world.memory {
                None => world.turn(pending),
                Some(_) => {
                    world.readers_are_apart(false);
                    world.give_weakly(cell, &|_| 1, dirty, pending);
                }
            }
            let mut inner = world.inner.borrow_mut();
            inner.give(cell, dirty);
            inner.take_to_read(cell, place);
        }
        lock.read_guard(sync::RwLockWriteGuard::downgrade(inner), cell, place)
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        let Some(inner) = self.inner.take() else {
            return;
        };
        let (Some(cell), Some(world)) = (self.cell, world()) else {
            return drop(inner);
        };
        let pending = Pending {
            wakes: wakes::STATE,
            ..Pending::read(cell, (KIND, "end of read"), self.place)
        };
        match world.memory {
            None => world.turn(pending),
            Some(_) => world.give_read_weakly(cell, pending),
        }
        drop(inner);
        world.inner.borrow_mut().give_back_read(cell);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        let Some(inner) = self.inner.take() else {
            return;
        };
        let (Some(cell), Some(world)) = (self.cell, world()) else {
            return drop(inner);
        };
        let pending = Pending {
            wakes: wakes_by(self.dirty),
            ..Pending::new(
                Some(Access::write(cell)),
                (KIND, "end of write"),
                self.place,
            )
        };
        let give_back = || {
            self.lock
                .drop_real_guard(inner, !self.unwinding && panicking());
            world.inner.borrow_mut().give(cell, self.dirty);
        };
        match world.memory {
            None => {
                world.turn(pending);
                give_back();
            }
            Some(_) => world.give_write_weakly(cell, self.dirty, pending, give_back),
        }
    }
}
