//! `std::sync::Once`, explored: a lock that is held while the function runs, and released
//! immediately if the function has already run.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync;

use mazurka_core::{Access, AccessKind};
use mazurka_memory::{Effect, MemoryOrder, Value};

use crate::freed::OwnedMeta;
use crate::names::Meta;
use crate::world::{Pending, Place, Until, World, wakes, world};

const KIND: &str = "Once";

/// Values of `CellState::flag` for a `Once`: its function has run, or has panicked. Before that,
/// the flag is 0.
const DONE: u8 = 1;
const POISONED: u8 = 2;
/// Under a memory model, the value of the location of a `Once` while a function runs.
const RUNNING: Value = 3;

/// Runs a function once: the counterpart of [`std::sync::Once`].
pub struct Once {
    meta: OwnedMeta,
    real: sync::Once,
}

/// The argument of the function of [`Once::call_once_force`]: [`std::sync::OnceState`].
#[derive(Debug)]
pub struct OnceState {
    poisoned: bool,
    /// As in std, it is not `Sync`.
    not_sync: PhantomData<Cell<()>>,
}

impl OnceState {
    /// Whether an earlier function panicked.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }

    fn new(poisoned: bool) -> Self {
        let not_sync = PhantomData;
        Self { poisoned, not_sync }
    }
}

/// The stage of a [`Once`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceStage {
    /// No function has run.
    New,
    /// A function panicked.
    Poisoned,
    /// A function runs.
    Running,
    /// A function has run.
    Done,
}

/// A `Once` that has run nothing yet.
#[allow(clippy::declare_interior_mutable_const)]
#[deprecated(note = "use `Once::new()` instead, as with std")]
pub const ONCE_INIT: Once = Once::new();

/// Releases the lock when the function has ended, even by a panic.
struct Running<'a> {
    world: &'a World,
    cell: u32,
    place: Place,
    flag: u8,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let pending = Pending {
            wakes: wakes::STATE | wakes::CONTENT,
            ..Pending::lock(AccessKind::Release, self.cell, (KIND, "done"), self.place)
        };
        if self.world.memory.is_some() {
            let (order, flag) = (MemoryOrder::Release, Value::from(self.flag));
            self.world.write_value(self.cell, order, flag, pending);
            self.world.inner.borrow_mut().cells[self.cell as usize].flag = self.flag;
            return;
        }
        self.world.turn(pending);
        let mut inner = self.world.inner.borrow_mut();
        inner.cells[self.cell as usize].flag = self.flag;
        inner.give(self.cell, true);
    }
}

impl Once {
    /// Makes a `Once` that has run nothing yet.
    // std has no `Default` either.
    #[allow(clippy::new_without_default)]
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            meta: OwnedMeta::new(),
            real: sync::Once::new(),
        }
    }

    pub(super) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Makes a copy of a static in the same state, for a model.
    pub(super) fn twin(&self) -> Self {
        let real = sync::Once::new();
        if self.real.is_completed() {
            real.call_once(|| ());
        }
        Self {
            meta: OwnedMeta::at(self.meta.made()),
            real,
        }
    }

    /// Returns its cell. In every execution a `Once` that has run a function outside models starts
    /// as done; any other one starts as if it had run nothing.
    fn cell(&self, world: &World) -> u32 {
        let cell = world.cell(&self.meta, KIND);
        if self.real.is_completed() {
            let mut inner = world.inner.borrow_mut();
            let state = &mut inner.cells[cell as usize];
            (state.flag, state.initial) = (DONE, Value::from(DONE));
        }
        cell
    }

    /// Runs the function if none has run, or waits for the one that is running.
    ///
    /// # Panics
    ///
    /// If an earlier function panicked.
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        let place = Location::caller();
        match world() {
            None => self.real.call_once(f),
            Some(world) => self.call(world, false, |_| f(), place),
        }
    }

    /// Runs the function if none has completed.
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        let place = Location::caller();
        match world() {
            None => self
                .real
                .call_once_force(|state| f(&OnceState::new(state.is_poisoned()))),
            Some(world) => self.call(world, true, f, place),
        }
    }

    fn call(&self, world: &World, force: bool, f: impl FnOnce(&OnceState), place: Place) {
        let cell = self.cell(world);
        let pending = Pending {
            until: Until::Lock(cell),
            ..Pending::lock(AccessKind::Acquire, cell, (KIND, "call_once"), place)
        };
        let flag = if world.memory.is_some() {
            let start = |flag| match flag {
                0 => Effect::Write(RUNNING),
                RUNNING => Effect::Wait,
                _ if flag == Value::from(POISONED) && force => Effect::Write(RUNNING),
                _ => Effect::Keep,
            };
            world.update(cell, [MemoryOrder::Acquire; 2], &start, pending) as u8
        } else {
            world.turn(pending);
            let mut inner = world.inner.borrow_mut();
            let flag = inner.cells[cell as usize].flag;
            if flag == DONE || (flag == POISONED && !force) {
                // The lock is acquired and released in one step.
                let current = inner.current;
                inner.clocks.acquire(current, cell);
                let release = Access::new(AccessKind::Release, cell);
                inner.effects.touched.push(release);
                inner.saw(cell, wakes::CONTENT);
            } else {
                inner.take(cell, place);
            }
            flag
        };
        if flag == POISONED && !force {
            panic!("Once instance has previously been poisoned");
        }
        if flag != DONE {
            let mut running = Running {
                world,
                cell,
                place,
                flag: POISONED,
            };
            f(&OnceState::new(flag == POISONED));
            running.flag = DONE;
        }
    }

    /// Whether a function has completed.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        let Some(world) = world() else {
            return self.real.is_completed();
        };
        let cell = self.cell(world);
        let pending = Pending::read(cell, (KIND, "is_completed"), Location::caller());
        if world.memory.is_some() {
            let flag = world.read_value(cell, MemoryOrder::Acquire, pending);
            return flag == Value::from(DONE);
        }
        world.turn(pending);
        let mut inner = world.inner.borrow_mut();
        let current = inner.current;
        inner.saw(cell, wakes::CONTENT);
        inner.clocks.acquire(current, cell);
        inner.cells[cell as usize].flag == DONE
    }

    /// Returns its stage; `None` outside a model, where std does not reveal it.
    #[doc(hidden)]
    #[track_caller]
    pub fn stage(&self) -> Option<OnceStage> {
        let world = world()?;
        let cell = self.cell(world);
        let pending = Pending::read(cell, (KIND, "state"), Location::caller());
        let flag = if world.memory.is_some() {
            world.read_value(cell, MemoryOrder::Acquire, pending)
        } else {
            world.turn(pending);
            let mut inner = world.inner.borrow_mut();
            let current = inner.current;
            inner.saw(cell, wakes::STATE | wakes::CONTENT);
            inner.clocks.acquire(current, cell);
            let state = &inner.cells[cell as usize];
            match state.holder {
                Some(_) => RUNNING,
                None => Value::from(state.flag),
            }
        };
        let stage = match flag {
            RUNNING => OnceStage::Running,
            _ if flag == Value::from(DONE) => OnceStage::Done,
            _ if flag == Value::from(POISONED) => OnceStage::Poisoned,
            _ => OnceStage::New,
        };
        world.note(|| format!("{stage:?}"));
        Some(stage)
    }

    /// Waits until a function has completed.
    ///
    /// # Panics
    ///
    /// If a function panicked.
    #[track_caller]
    pub fn wait(&self) {
        self.wait_for(false, Location::caller());
    }

    /// Waits until a function has completed, even if an earlier one panicked.
    #[track_caller]
    pub fn wait_force(&self) {
        self.wait_for(true, Location::caller());
    }

    fn wait_for(&self, force: bool, place: Place) {
        let Some(world) = world() else {
            return if force {
                self.real.wait_force()
            } else {
                self.real.wait()
            };
        };
        let cell = self.cell(world);
        if world.memory.is_some() {
            let over =
                |flag| flag == Value::from(DONE) || (!force && flag == Value::from(POISONED));
            let pending = Pending {
                until: Until::Token,
                ..Pending::read(cell, (KIND, "wait"), place)
            };
            let flag = world.wait_for_value(cell, MemoryOrder::Acquire, &over, pending);
            assert!(
                flag == Value::from(DONE),
                "Once instance has previously been poisoned"
            );
            return;
        }
        loop {
            world.turn(Pending::read(cell, (KIND, "wait"), place));
            let flag = world.inner.borrow().cells[cell as usize].flag;
            match flag {
                DONE => {
                    let mut inner = world.inner.borrow_mut();
                    let current = inner.current;
                    return inner.clocks.acquire(current, cell);
                }
                POISONED if !force => panic!("Once instance has previously been poisoned"),
                _ => {}
            }
            world.inner.borrow_mut().enlist(cell, wakes::CONTENT);
            world.wait_for_token((KIND, "wait for the function"), place);
        }
    }

    /// Whether a function has completed. This is not a step, because the borrow is exclusive.
    pub(crate) fn is_done(&mut self) -> bool {
        match world() {
            None => self.real.is_completed(),
            Some(world) => {
                let inner = world.inner.borrow();
                match self.meta.known(inner.epoch) {
                    Some(cell) => inner.cells[cell as usize].flag == DONE,
                    None => self.real.is_completed(),
                }
            }
        }
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl UnwindSafe for Once {}
impl RefUnwindSafe for Once {}
