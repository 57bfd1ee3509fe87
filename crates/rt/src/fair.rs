//! A readers-writer lock with one upgradable reader, whose waiting writer keeps new readers out. It
//! is the core of `parking_lot::RwLock`. Not for users (facade.rs).
//!
//! Unless the lock is free, a writer takes it in two steps. First it *bars* the lock, which keeps
//! new readers out; then it waits until the last reader has left. So a thread that holds the lock
//! as a reader and asks to read again waits for ever if a writer has barred the lock since. The
//! writer counts as the holder (`CellState::holder`) as soon as it has barred the lock. An
//! upgradable reader is one of the readers (`CellState::readers`), and a flag says that there is
//! one (`CellState::flag`).
//!
//! The steps of two readers commute. A step of `read_recursive` conflicts with every other step on
//! the lock, because while a writer waits, `read_recursive` is possible only if another reader
//! holds the lock.
//!
//! Under a memory model the lock is one location, whose value consists of the number of readers and
//! two bits: whether there is an upgradable reader, and whether a writer has barred it.

use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use mazurka_core::Access;
use mazurka_memory::{Effect, MemoryOrder, Value};

use crate::freed::OwnedMeta;
use crate::sync::wakes_by;
use crate::world::{Inner, Pending, Place, Until, World, wakes, world};

const KIND: &str = "RwLock";

/// How a thread wants to hold a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// As a reader.
    Read,
    /// As a reader, even while a writer waits, if there is another reader (`read_recursive`).
    ReadAgain,
    /// As the one reader that may later become the writer.
    Upgradable,
    /// As the writer, which keeps new readers out and waits for the present ones to leave.
    Bar,
    /// As the only holder: the second step of a writer, after `Bar`.
    Alone,
}

/// The holders of a lock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    readers: Value,
    upgradable: bool,
    barred: bool,
}

impl Held {
    /// Whether a thread can take the lock in this mode now.
    pub(crate) fn allows(self, wish: LockMode) -> bool {
        match wish {
            LockMode::Read => !self.barred,
            LockMode::ReadAgain => !self.barred || self.readers > 0,
            LockMode::Upgradable | LockMode::Bar => !self.barred && !self.upgradable,
            LockMode::Alone => self.readers == 0,
        }
    }

    fn grant(&mut self, wish: LockMode) {
        match wish {
            LockMode::Read | LockMode::ReadAgain => self.readers += 1,
            LockMode::Upgradable => (self.readers, self.upgradable) = (self.readers + 1, true),
            LockMode::Bar => self.barred = true,
            LockMode::Alone => {}
        }
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::EndRead => self.readers -= 1,
            Change::EndUpgradable => (self.readers, self.upgradable) = (self.readers - 1, false),
            Change::EndWrite => self.barred = false,
            Change::Downgrade => (self.readers, self.barred) = (1, false),
            Change::ToUpgradable => {
                (self.readers, self.barred, self.upgradable) = (1, false, true);
            }
            Change::UpgradableToRead => self.upgradable = false,
            Change::Upgrade => {
                (self.readers, self.upgradable) = (self.readers - 1, false);
                self.barred = true;
            }
        }
    }

    const UPGRADABLE: Value = 1 << 32;
    const BARRED: Value = 1 << 33;

    fn from_value(value: Value) -> Self {
        Self {
            readers: value & (Self::UPGRADABLE - 1),
            upgradable: value & Self::UPGRADABLE != 0,
            barred: value & Self::BARRED != 0,
        }
    }

    fn value(self) -> Value {
        let upgradable = if self.upgradable { Self::UPGRADABLE } else { 0 };
        let barred = if self.barred { Self::BARRED } else { 0 };
        self.readers | upgradable | barred
    }
}

/// How a thread changes its hold on a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Ends a read.
    EndRead,
    /// Ends an upgradable read.
    EndUpgradable,
    /// Ends a write.
    EndWrite,
    /// From writing to reading.
    Downgrade,
    /// From writing to an upgradable read.
    ToUpgradable,
    /// From an upgradable read to a plain one.
    UpgradableToRead,
    /// From an upgradable read to barring the lock, as [`LockMode::Bar`] does.
    Upgrade,
}

impl Change {
    /// The name in reports.
    fn verb(self) -> &'static str {
        match self {
            Self::EndRead => "end of read",
            Self::EndUpgradable => "end of upgradable read",
            Self::EndWrite => "end of write",
            Self::Downgrade | Self::UpgradableToRead => "downgrade",
            Self::ToUpgradable => "downgrade to upgradable",
            Self::Upgrade => "upgrade",
        }
    }
}

impl Inner {
    /// Returns the holders of the lock of this cell.
    pub(crate) fn held(&self, cell: u32) -> Held {
        let state = &self.cells[cell as usize];
        Held {
            readers: state.readers.len() as Value,
            upgradable: state.flag != 0,
            barred: state.holder.is_some(),
        }
    }

    fn grant(&mut self, cell: u32, wish: LockMode, place: Place) {
        let current = self.current;
        let state = &mut self.cells[cell as usize];
        match wish {
            LockMode::Read | LockMode::ReadAgain => state.readers.push((current, place)),
            LockMode::Upgradable => {
                state.readers.push((current, place));
                state.flag = 1;
            }
            LockMode::Bar => state.holder = Some((current, place)),
            LockMode::Alone => {}
        }
        self.saw(cell, wakes::CONTENT);
        self.clocks.acquire(current, cell);
    }

    fn change(&mut self, cell: u32, change: Change, dirty: bool, place: Place) {
        let current = self.current;
        self.clocks.release(current, cell);
        let state = &mut self.cells[cell as usize];
        let end_read = |readers: &mut Vec<_>| {
            let mine = readers.iter().rposition(|(who, _)| *who == current);
            // If the guard was moved here from another thread, the last recorded read ends instead.
            let at = mine.or(readers.len().checked_sub(1));
            at.map(|at| readers.remove(at))
        };
        match change {
            Change::EndRead => _ = end_read(&mut state.readers),
            Change::EndUpgradable => {
                end_read(&mut state.readers);
                state.flag = 0;
            }
            Change::EndWrite => state.holder = None,
            Change::Downgrade | Change::ToUpgradable => {
                state.holder = None;
                state.readers.push((current, place));
                state.flag = u8::from(change == Change::ToUpgradable);
            }
            Change::UpgradableToRead => state.flag = 0,
            Change::Upgrade => {
                end_read(&mut state.readers);
                state.flag = 0;
                state.holder = Some((current, place));
            }
        }
        self.changed(cell, if dirty { 3 } else { wakes::STATE });
    }
}

/// The lock, without data.
pub struct FairLock {
    meta: OwnedMeta,
    /// Whether it has been used outside a model.
    used: AtomicBool,
    /// Its holders outside a model, and the condition variable that threads wait on there.
    held: Mutex<Held>,
    condvar: Condvar,
}

impl FairLock {
    /// Makes a free lock.
    #[track_caller]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self {
            meta: OwnedMeta::new(),
            used: AtomicBool::new(false),
            held: Mutex::new(Held {
                readers: 0,
                upgradable: false,
                barred: false,
            }),
            condvar: Condvar::new(),
        }
    }

    /// Returns the object that threads of this model use in place of `owner`: a static has a copy
    /// in each execution (statics.rs). `owns` tells whether `owner` owns memory, and `idle` whether
    /// a copy can be dropped.
    ///
    /// # Safety
    ///
    /// The lock is a part of `owner`. If `owner` is a static whose lock has not been used, then a
    /// copy of its bytes must be a valid, independent value.
    #[inline]
    #[allow(unsafe_code)]
    pub unsafe fn here<'a, O: ?Sized>(
        &self,
        owner: &'a O,
        owns: bool,
        idle: fn(&O) -> bool,
    ) -> &'a O {
        match world() {
            None => self.used.store(true, Ordering::Relaxed),
            Some(world) if !world.owns(&self.meta) => {
                assert!(
                    !owns || !self.used.load(Ordering::Relaxed),
                    "the static {KIND} made at {} was used outside a model, so no execution can start with its first value: \
                     make it by `lazy_static!` or `LazyLock`",
                    self.meta.made()
                );
                // SAFETY: the caller promises it.
                return unsafe { world.twin_of_bytes(&self.meta, owner, idle) };
            }
            Some(_) => {}
        }
        owner
    }

    /// Whether no thread holds it.
    pub fn is_idle(&self) -> bool {
        let held = self.real();
        held.readers == 0 && !held.barred
    }

    fn real(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cell(&self, world: &World) -> u32 {
        if world.memory.is_none() {
            world.inner.borrow_mut().guarded();
        }
        world.cell(&self.meta, KIND)
    }

    /// Waits until the thread can take the lock in this mode, and takes it. Returns the holders
    /// afterwards.
    #[track_caller]
    pub fn wait(&self, wish: LockMode, verb: &'static str) -> Held {
        let place = Location::caller();
        let Some(world) = world() else {
            let mut held = self.real();
            while !held.allows(wish) {
                held = self
                    .condvar
                    .wait(held)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            held.grant(wish);
            return *held;
        };
        let cell = self.cell(world);
        let pending = Pending {
            until: Until::Fair(cell, wish),
            ..Self::pending(cell, wish == LockMode::Read, verb, place)
        };
        let seen = match world.memory {
            None => {
                world.turn(pending);
                None
            }
            Some(_) => world.fair(cell, true, pending, |held| allow(held, wish)),
        };
        self.real().grant(wish);
        let mut inner = world.inner.borrow_mut();
        inner.grant(cell, wish, place);
        seen.unwrap_or_else(|| inner.held(cell))
    }

    /// Waits for write access.
    #[track_caller]
    pub fn write(&self) {
        let held = self.wait(LockMode::Bar, "write");
        self.wait_for_readers(held);
    }

    /// Turns an upgradable read into write access.
    #[track_caller]
    pub fn upgrade(&self) {
        let held = self.change(Change::Upgrade, false, Location::caller());
        self.wait_for_readers(held);
    }

    /// Waits until the last reader has left a lock that this thread has barred. If there is no
    /// reader, this is not a step, since no reader can come.
    #[track_caller]
    fn wait_for_readers(&self, held: Held) {
        if held.readers > 0 {
            self.wait(LockMode::Alone, "wait for readers");
        }
    }

    /// Takes the lock in all these modes, one after the other in one step, if that is possible now.
    /// Returns whether it was possible.
    #[track_caller]
    pub fn attempt(&self, wishes: &[LockMode], verb: &'static str) -> bool {
        let place = Location::caller();
        let Some(world) = world() else {
            let mut held = self.real();
            let after = allow_all(*held, wishes);
            *held = after.unwrap_or(*held);
            return after.is_some();
        };
        let cell = self.cell(world);
        let pending = Self::pending(cell, wishes == [LockMode::Read], verb, place);
        let possible = match world.memory {
            None => {
                world.turn(pending);
                allow_all(world.inner.borrow().held(cell), wishes).is_some()
            }
            Some(_) => {
                let taken = world.fair(cell, false, pending, |held| allow_all(held, wishes));
                taken.is_some()
            }
        };
        let mut inner = world.inner.borrow_mut();
        if possible {
            for &wish in wishes {
                inner.grant(cell, wish, place);
                self.real().grant(wish);
            }
        } else {
            inner.saw(cell, wakes::STATE);
            drop(inner);
            world.note(|| "it is held".into());
        }
        possible
    }

    /// Changes how the thread holds the lock. `dirty` tells whether the data may have changed.
    /// Returns the holders afterwards.
    pub fn change(&self, change: Change, dirty: bool, place: Place) -> Held {
        let Some(world) = world() else {
            let mut held = self.real();
            held.change(change);
            self.condvar.notify_all();
            return *held;
        };
        let cell = self.cell(world);
        let reads = change == Change::EndRead;
        let pending = Pending {
            wakes: wakes_by(dirty),
            ..Self::pending(cell, reads, change.verb(), place)
        };
        let seen = match world.memory {
            None => {
                world.turn(pending);
                None
            }
            Some(_) => {
                let changed = |mut held: Held| {
                    held.change(change);
                    Some(held)
                };
                let seen = world.fair(cell, false, pending, changed);
                if dirty {
                    world.progress();
                }
                seen
            }
        };
        self.real().change(change);
        let mut inner = world.inner.borrow_mut();
        inner.change(cell, change, dirty, place);
        seen.unwrap_or_else(|| inner.held(cell))
    }

    /// Upgrades the upgradable read of this thread to a write, if it is the only holder.
    #[track_caller]
    pub fn attempt_upgrade(&self) -> bool {
        let place = Location::caller();
        let alone = |held: Held| {
            let mut after = held;
            after.change(Change::Upgrade);
            (held.readers == 1).then_some(after)
        };
        let Some(world) = world() else {
            let mut held = self.real();
            let after = alone(*held);
            *held = after.unwrap_or(*held);
            return after.is_some();
        };
        let cell = self.cell(world);
        let pending = Self::pending(cell, false, "try_upgrade", place);
        let possible = match world.memory {
            None => {
                world.turn(pending);
                alone(world.inner.borrow().held(cell)).is_some()
            }
            Some(_) => world.fair(cell, false, pending, alone).is_some(),
        };
        let mut inner = world.inner.borrow_mut();
        if possible {
            inner.change(cell, Change::Upgrade, false, place);
            inner.grant(cell, LockMode::Alone, place);
            self.real().change(Change::Upgrade);
        } else {
            inner.saw(cell, wakes::STATE)
        }
        possible
    }

    /// Whether a thread holds the lock: as its writer if `by_writer`, otherwise in any way.
    #[track_caller]
    pub fn is_held(&self, by_writer: bool) -> bool {
        let place = Location::caller();
        let is_held = |held: Held| held.barred || (!by_writer && held.readers > 0);
        let Some(world) = world() else {
            let held = self.real();
            return is_held(*held);
        };
        let cell = self.cell(world);
        // The result of `is_locked` depends on the readers. Reads of the lock commute with each
        // other, but not with `is_locked`, so this is not recorded as a read.
        let pending = Self::pending(cell, false, "is_locked", place);
        let found = match world.memory {
            None => {
                world.turn(pending);
                is_held(world.inner.borrow().held(cell))
            }
            Some(_) => {
                let seen = world.fair(cell, false, pending, |held| is_held(held).then_some(held));
                seen.is_some()
            }
        };
        world.inner.borrow_mut().saw(cell, wakes::STATE);
        found
    }

    fn pending(cell: u32, reads: bool, verb: &'static str, place: Place) -> Pending {
        let access = if reads {
            Access::read(cell)
        } else {
            Access::write(cell)
        };
        Pending::new(Some(access), (KIND, verb), place)
    }
}

/// Returns the holders after a thread has taken the lock in this mode, if that is possible.
fn allow(held: Held, wish: LockMode) -> Option<Held> {
    allow_all(held, &[wish])
}

fn allow_all(mut held: Held, wishes: &[LockMode]) -> Option<Held> {
    for &wish in wishes {
        if !held.allows(wish) {
            return None;
        }
        held.grant(wish);
    }
    Some(held)
}

impl World {
    /// Changes the holders of a lock under a memory model, and returns the new holders. If the
    /// change is not possible now, the thread waits (if `waits`), or the function returns `None`.
    fn fair(
        &self,
        cell: u32,
        waits: bool,
        pending: Pending,
        next: impl Fn(Held) -> Option<Held>,
    ) -> Option<Held> {
        let rule = |value| match next(Held::from_value(value)) {
            Some(held) => Effect::Write(held.value()),
            None if waits => Effect::Wait,
            None => Effect::Keep,
        };
        let orders = [MemoryOrder::AcqRel, MemoryOrder::Relaxed];
        let before = self.update(cell, orders, &rule, pending);
        self.took_lock();
        next(Held::from_value(before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_holds_the_lock() {
        for wishes in [
            &[][..],
            &[LockMode::Read, LockMode::Read],
            &[LockMode::Upgradable, LockMode::Read],
        ] {
            let held = allow_all(Held::default(), wishes).unwrap();
            let read = Held::from_value(held.value());
            assert_eq!(format!("{held:?}"), format!("{read:?}"));
        }
        let barred = allow_all(Held::default(), &[LockMode::Read, LockMode::Bar]).unwrap();
        assert!(Held::from_value(barred.value()).barred);
        assert!(!barred.allows(LockMode::Read) && barred.allows(LockMode::ReadAgain));
        assert!(!barred.allows(LockMode::Alone) && !barred.allows(LockMode::Upgradable));
    }
}
