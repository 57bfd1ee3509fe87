//! Building blocks for facades of other crates: a state with one step per operation, and a gate
//! that admits one thread at a time. Not for users (facade.rs).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use mazurka_core::{AccessKind, MemoryOrder};

use crate::freed::OwnedMeta;
use crate::world::{Pending, Place, Until, World, wakes, world};

/// A state that each operation reads and changes in one step. The code of an operation must make no
/// step itself, so it runs no user code: wakers are called and values are dropped afterwards.
pub struct Monitor<T> {
    meta: OwnedMeta,
    kind: &'static str,
    /// Whether the monitor has been used outside a model.
    used: AtomicBool,
    state: Mutex<T>,
}

impl<T> Monitor<T> {
    /// Makes a monitor; `kind` is its name in reports.
    #[track_caller]
    pub const fn new(kind: &'static str, state: T) -> Self {
        Self {
            meta: OwnedMeta::new(),
            kind,
            used: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs an operation. `change` returns its result, and whether it has changed the state.
    pub fn update<R>(
        &self,
        verb: &'static str,
        place: Place,
        change: impl FnOnce(&mut T) -> (R, bool),
    ) -> R {
        let Some(world) = world() else {
            self.used.store(true, Ordering::Relaxed);
            return change(&mut self.lock()).0;
        };
        let cell = world.cell(&self.meta, self.kind);
        let pending = Pending::write(cell, (self.kind, verb), place);
        if world.memory.is_some() {
            world.take_turn(cell, MemoryOrder::AcqRel, pending);
            let (result, changed) = change(&mut self.lock());
            if changed {
                world.progress();
            }
            return result;
        }
        world.turn(pending);
        let (result, changed) = change(&mut self.lock());
        let mut inner = world.inner.borrow_mut();
        let current = inner.current;
        inner.clocks.acquire(current, cell);
        inner.saw(cell, wakes::CONTENT);
        if changed {
            inner.clocks.release(current, cell);
            inner.changed(cell, wakes::CONTENT);
        }
        result
    }

    /// Performs an operation that only reads.
    pub fn look<R>(&self, verb: &'static str, place: Place, look: impl FnOnce(&T) -> R) -> R {
        let Some(world) = world() else {
            self.used.store(true, Ordering::Relaxed);
            return look(&self.lock());
        };
        if world.memory.is_some() {
            return self.update(verb, place, |state| (look(state), false));
        }
        let cell = world.cell(&self.meta, self.kind);
        world.turn(Pending::read(cell, (self.kind, verb), place));
        let result = look(&self.lock());
        let mut inner = world.inner.borrow_mut();
        let current = inner.current;
        inner.clocks.acquire(current, cell);
        inner.saw(cell, wakes::CONTENT);
        result
    }

    /// Accesses the state without a step. This is right only if no other thread can reach the
    /// state, or if the state is only printed.
    pub fn peek<R>(&self, look: impl FnOnce(&mut T) -> R) -> R {
        look(&mut self.lock())
    }

    /// Returns the state.
    pub fn into_inner(self) -> T {
        self.state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the object that threads of this model use in place of `owner`: a static has a copy
    /// in each execution (statics.rs). `idle` tells whether a copy can be dropped.
    ///
    /// # Safety
    ///
    /// The monitor is a part of `owner`. If `owner` is a static whose monitor has not been used,
    /// then a copy of its bytes must be a valid, independent value.
    #[inline]
    #[allow(unsafe_code)]
    pub unsafe fn here<'a, O: ?Sized>(&self, owner: &'a O, idle: fn(&O) -> bool) -> &'a O {
        match world() {
            Some(world) if !world.owns(&self.meta) => {
                assert!(
                    !self.used.load(Ordering::Relaxed),
                    "the static {} made at {} was used outside a model, so no execution can start with its first value: \
                     make it by `lazy_static!` or `LazyLock`",
                    self.kind,
                    self.meta.made()
                );
                // SAFETY: the caller promises it.
                unsafe { world.twin_of_bytes(&self.meta, owner, idle) }
            }
            _ => owner,
        }
    }
}

/// A gate that admits one thread at a time. Any thread may open it.
pub struct Gate {
    meta: OwnedMeta,
    kind: &'static str,
    /// Outside a model: whether the gate is closed, and the condition variable that
    /// threads wait on.
    closed: Mutex<bool>,
    condvar: Condvar,
}

impl Gate {
    /// Makes an open gate; `kind` is its name in reports.
    #[track_caller]
    pub fn new(kind: &'static str) -> Self {
        Self {
            meta: OwnedMeta::new(),
            kind,
            closed: Mutex::new(false),
            condvar: Condvar::new(),
        }
    }

    fn cell(&self, world: &World) -> u32 {
        world.cell(&self.meta, self.kind)
    }

    /// Waits until the gate is open, and closes it.
    pub fn enter(&self, verb: &'static str, place: Place) {
        let Some(world) = world() else {
            let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
            while *closed {
                let woken = self.condvar.wait(closed);
                closed = woken.unwrap_or_else(PoisonError::into_inner);
            }
            *closed = true;
            return;
        };
        let cell = self.cell(world);
        let pending = Pending {
            until: Until::Lock(cell),
            ..Pending::lock(AccessKind::Acquire, cell, (self.kind, verb), place)
        };
        match world.memory {
            None => world.turn(pending),
            Some(_) => world.lock(cell, pending),
        }
        world.inner.borrow_mut().take(cell, place);
    }

    /// Opens the gate.
    pub fn leave(&self, verb: &'static str, place: Place) {
        let Some(world) = world() else {
            let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
            *closed = false;
            drop(closed);
            return self.condvar.notify_one();
        };
        let cell = self.cell(world);
        let pending = Pending {
            wakes: wakes::STATE,
            ..Pending::lock(AccessKind::Release, cell, (self.kind, verb), place)
        };
        match world.memory {
            None => world.turn(pending),
            Some(_) => world.unlock(cell, false, pending),
        }
        world.inner.borrow_mut().give(cell, false);
    }
}
