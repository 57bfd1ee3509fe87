//! `std::cell`, with an `UnsafeCell` that finds data races.

use std::fmt;
use std::panic::Location;

use mazurka_core::{Mishap, MishapKind, ProcessId};
use mazurka_memory::Memory;

use crate::freed::OwnedMeta;
use crate::names::Meta;
use crate::world::{Failure, Inner, Pending, Place, World, world};

pub use std::cell::{BorrowError, BorrowMutError, Cell, LazyCell, OnceCell, Ref, RefCell, RefMut};

pub(crate) const KIND: &str = "UnsafeCell";

/// Data that threads share at their own risk: the counterpart of [`std::cell::UnsafeCell`].
///
/// Accesses by [`with`](Self::with) and [`with_mut`](Self::with_mut) (loom's names) are checked.
/// Two accesses form a data race if at least one is a write and no synchronisation orders them;
/// then the model fails. Orderings count: a `Relaxed` store publishes nothing. Accesses are not
/// steps, so they do not increase the number of executions. Accesses through the pointer that
/// [`get`](Self::get) returns are not checked.
pub struct UnsafeCell<T: ?Sized> {
    meta: OwnedMeta,
    inner: std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// Makes a cell with a value. In a model this counts as a write by the current thread. So
    /// unlike in std it is not a `const fn`.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let cell = Self::const_new(value);
        if let Some(world) = world().filter(|world| world.memory.is_some()) {
            world.inner.borrow_mut().created(&cell.meta, KIND);
        }
        cell.check(true, Location::caller());
        cell
    }

    /// Makes a cell with a value, in a constant or a static. The thread that makes it is unknown,
    /// so the first value races with nothing.
    #[track_caller]
    pub const fn const_new(value: T) -> Self {
        Self {
            meta: OwnedMeta::new(),
            inner: std::cell::UnsafeCell::new(value),
        }
    }

    /// Returns the value. In a model this counts as a write.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.check(true, Location::caller());
        // Moving the value out is not a drop, so `OwnedMeta` must not record one.
        std::mem::forget(self.meta);
        self.inner.into_inner()
    }

    /// Returns a pointer to the value in the cell that `this` points to, as [`get`](Self::get)
    /// does. Unlike in std, the type must be sized.
    pub const fn raw_get(this: *const Self) -> *mut T {
        // std's cell has the same layout as its value.
        let inside = std::mem::offset_of!(Self, inner);
        this.wrapping_byte_add(inside).cast::<T>().cast_mut()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Returns a pointer to the value. Accesses through it are not checked.
    pub const fn get(&self) -> *mut T {
        self.inner.get()
    }

    /// Returns the value. In a model this counts as a write.
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        self.check(true, Location::caller());
        self.inner.get_mut()
    }

    /// Calls a function with a pointer for reading the value.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        let place = Location::caller();
        let begun = self.check(false, place);
        let result = f(self.inner.get().cast_const());
        self.check_end(false, place, begun);
        result
    }

    /// Calls a function with a pointer for writing the value.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let place = Location::caller();
        let begun = self.check(true, place);
        let result = f(self.inner.get());
        self.check_end(true, place, begun);
        result
    }

    /// Begins an access that ends when the returned value is dropped, for facades of other crates.
    #[doc(hidden)]
    #[track_caller]
    pub fn access(&self, writes: bool) -> AccessOfCell {
        let place = Location::caller();
        let begun = self.check(writes, place);
        let cell = world().map(|world| {
            let cell = match world.memory {
                Some(_) => world.cell(&self.meta, KIND),
                None => plain(world, &self.meta),
            };
            (world.inner.borrow().epoch, cell)
        });
        AccessOfCell {
            cell,
            writes,
            place,
            begun,
        }
    }

    /// Checks the end of an access. A memory model treats an access as one point in the order of
    /// the thread's accesses. So a long access is checked twice: at its beginning, and again at its
    /// end if the thread has made another access since the beginning. `begun` is what
    /// [`check`](Self::check) returned at the beginning.
    fn check_end(&self, writes: bool, place: Place, begun: u32) {
        let modelled = world().filter(|world| world.memory.is_some());
        if modelled.is_none_or(|world| world.answers() != begun) {
            self.check(writes, place);
        }
    }

    /// Checks the beginning of an access. Returns how many accesses of the thread the memory model
    /// has answered so far; 0 in interleavings.
    fn check(&self, writes: bool, place: Place) -> u32 {
        let Some(world) = world() else {
            return 0;
        };
        if let Some(memory) = world.memory {
            if memory != Memory::Rc11 {
                world.refuse(format!(
                    "an access to an `UnsafeCell` at {place} ({memory} has no data races; use rc11)"
                ));
            }
            let cell = world.cell(&self.meta, KIND);
            return check_weakly(world, cell, writes, place);
        }
        let cell = plain(world, &self.meta);
        check_cell(world, cell, writes, place);
        0
    }
}

/// Returns the cell of an `UnsafeCell` in an interleaving: the index under which the clocks keep
/// its accesses.
fn plain(world: &World, meta: &Meta) -> u32 {
    let meta = world.here(meta);
    world.inner.borrow_mut().plain(meta)
}

/// Checks an access under a memory model. Returns how many accesses of the thread the model has
/// answered so far.
fn check_weakly(world: &World, cell: u32, writes: bool, place: Place) -> u32 {
    let verb = if writes { "write" } else { "read" };
    let pending = Pending::new(None, (KIND, verb), place);
    check_there(world, cell, &pending);
    world.plain(cell, writes, pending);
    check_there(world, cell, &pending);
    world.answers()
}

/// If the `UnsafeCell` has been dropped, reports a use after free and suspends the current thread
/// for ever.
fn check_there(world: &World, cell: u32, pending: &Pending) {
    let mut inner = world.inner.borrow_mut();
    if let Some(end) = inner.cells[cell as usize].end {
        inner.uses_freed(cell, end, pending);
        drop(inner);
        world.suspend_for_ever();
    }
}

/// Whether the clocks (clock.rs) contain all synchronisation that can order the drop of an
/// `UnsafeCell` after the accesses to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DropOf {
    /// They do: only operations on objects of this crate can order the drop.
    Seen,
    /// They do not: the counts of std's `Arc` order the drop.
    Unseen,
}

/// Records that the current thread drops a cell: a write that must come after all accesses, unless
/// the last reference of std's `Arc` drops it.
pub(crate) fn drops(world: &World, meta: &Meta, cell: u32) -> DropOf {
    let mut inner = world.inner.borrow_mut();
    let after = inner.me().pending.place;
    if world.memory.is_some() {
        // Whether the drop counts as a write must not depend on steps of other threads that merely
        // happen to come earlier. If the thread has joined all others, the drop can race with no
        // access, so it is not recorded as a write. The mark (freed.rs) finds later uses.
        if inner.has_joined_all() {
            return DropOf::Seen;
        }
        if !inner.is_on_own_stack(meta) && inner.is_in_unseen_destructor() {
            return DropOf::Unseen;
        }
        drop(inner);
        world.plain(cell, true, Pending::new(None, (KIND, "drop"), after));
        return DropOf::Seen;
    }
    let current = inner.current;
    let Err(race) = inner.clocks.access(current, cell, true, after) else {
        return DropOf::Seen;
    };
    if inner.is_in_unseen_destructor() {
        return DropOf::Unseen;
    }
    let message = format!(
        "use after free: thread {} drops the UnsafeCell, after its step at {after}, and thread {} {} it at {}; nothing orders the two (the counts of std's `Arc` are not seen: use that of `mazurka_rt`)",
        inner.names.paths[current.index()],
        inner.names.paths[race.other.index()],
        verb(race.wrote),
        race.place,
    );
    inner.races(message, after, race.other);
    DropOf::Seen
}

fn verb(wrote: bool) -> &'static str {
    if wrote { "writes" } else { "reads" }
}

/// Checks an access in an interleaving.
fn check_cell(world: &World, cell: u32, writes: bool, place: Place) {
    let pending = Pending::new(None, (KIND, if writes { "write" } else { "read" }), place);
    let is_there = world.inner.borrow_mut().uses_cell(cell, &pending);
    if !is_there {
        world.suspend_for_ever();
    }
    let (race, unwinding) = {
        let mut inner = world.inner.borrow_mut();
        let current = inner.current;
        let Err(race) = inner.clocks.access(current, cell, writes, place) else {
            return;
        };
        // A race is undefined behaviour, so it is a failure even if no thread joins this one.
        let message = format!(
            "data race: thread {} {} at {place}, and thread {} {} at {}; nothing orders the two",
            inner.names.paths[current.index()],
            verb(writes),
            inner.names.paths[race.other.index()],
            verb(race.wrote),
            race.place,
        );
        inner.races(message.clone(), place, race.other);
        (message, inner.is_unwinding())
    };
    if !unwinding {
        panic!("{race}");
    }
}

impl Inner {
    /// Records a race of the current thread with another one.
    fn races(&mut self, message: String, place: Place, other: ProcessId) {
        let process = self.current;
        self.effects.races_with = Some(other);
        let site = self.failure(Failure {
            message,
            place: place.to_string(),
        });
        self.effects.mishaps.push(Mishap {
            process: Some(process),
            kind: MishapKind::Failure,
            site,
        });
    }
}

/// An access to an [`UnsafeCell`] that has begun. It does not borrow the cell.
#[doc(hidden)]
#[derive(Debug)]
pub struct AccessOfCell {
    /// The epoch of the execution, and the cell of the object in it; `None` outside a model.
    cell: Option<(u64, u32)>,
    writes: bool,
    place: Place,
    /// The result of [`UnsafeCell::check`] at the beginning of the access.
    begun: u32,
}

impl Drop for AccessOfCell {
    fn drop(&mut self) {
        let (Some((epoch, cell)), Some(world)) = (self.cell, world()) else {
            return;
        };
        if world.inner.borrow().epoch != epoch || crate::thread::panicking() {
            return;
        }
        match world.memory {
            None => check_cell(world, cell, self.writes, self.place),
            Some(_) if world.answers() != self.begun => {
                check_weakly(world, cell, self.writes, self.place);
            }
            Some(_) => {}
        }
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}
