//! `std::alloc` for models, and [`Track`] for values. In a model, leaking such memory or such a
//! value is a failure, and so is freeing memory twice.
//!
//! The names are those of `loom::alloc`. Only memory that this module has allocated, and values in
//! a [`Track`], are watched. With [`Builder::leaks`], the memory of every [`Arc`](crate::sync::Arc)
//! is watched too.
//!
//! [`Builder::leaks`]: crate::Builder::leaks

use std::fmt;
use std::panic::Location;

pub use std::alloc::{Layout, handle_alloc_error};

use rustc_hash::FxHashMap;

use crate::world::{Failure, Inner, Place, world};

/// The memory and the values that an execution watches.
#[derive(Default)]
pub(crate) struct Watched {
    /// Allocated blocks: address, and where the block was allocated.
    memory: FxHashMap<usize, Place>,
    /// Live values: the identifier of the value, and where it was made.
    values: FxHashMap<u64, Place>,
    /// Number of values made so far.
    made: u64,
    /// Whether the memory of `Arc`s is watched, too.
    arcs: bool,
    /// Whether the execution has put a value into a `OnceLock`. If the `OnceLock` is a static, no
    /// execution drops its value.
    pub kept: bool,
}

impl Watched {
    pub fn new(arcs: bool) -> Self {
        Self {
            arcs,
            ..Self::default()
        }
    }

    /// Forgets the previous execution.
    pub fn begin(&mut self) {
        self.memory.clear();
        self.values.clear();
        (self.made, self.kept) = (0, false);
    }
}

impl Inner {
    /// Returns a failure if the execution, whose last thread has ended, leaked anything.
    pub fn leaked(&self) -> Option<Failure> {
        let watched = &self.watched;
        let first = |places: &mut dyn Iterator<Item = &Place>| {
            let place = places.min_by_key(|place| (place.file(), place.line(), place.column()));
            place.map(ToString::to_string)
        };
        let failure = |what: &str, place: String| Failure {
            message: format!("leaked: {what}"),
            place,
        };
        if let Some(place) = first(&mut watched.memory.values()) {
            return Some(failure(
                "memory is never freed that was asked for there",
                place,
            ));
        }
        if let Some(place) = first(&mut watched.values.values()) {
            return Some(failure(
                "a value is never dropped that was made there",
                place,
            ));
        }
        let arcs = watched.arcs && !watched.kept && self.names.regions.are_left();
        let place = "an end of all threads (Builder::leaks)".to_owned();
        arcs.then(|| failure("an Arc is never dropped", place))
    }
}

fn allocated(pointer: *mut u8, place: Place) {
    if let Some(world) = world() {
        let memory = &mut world.inner.borrow_mut().watched.memory;
        memory.insert(pointer as usize, place);
    }
}

/// Allocates memory: [`std::alloc::alloc`].
///
/// # Safety
///
/// The requirements are those of [`std::alloc::alloc`].
#[track_caller]
#[allow(unsafe_code)]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: the caller promises the same.
    let pointer = unsafe { std::alloc::alloc(layout) };
    allocated(pointer, Location::caller());
    pointer
}

/// Allocates zeroed memory: [`std::alloc::alloc_zeroed`].
///
/// # Safety
///
/// The requirements are those of [`std::alloc::alloc_zeroed`].
#[track_caller]
#[allow(unsafe_code)]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: the caller promises the same.
    let pointer = unsafe { std::alloc::alloc_zeroed(layout) };
    allocated(pointer, Location::caller());
    pointer
}

/// Frees memory: [`std::alloc::dealloc`].
///
/// # Safety
///
/// The requirements are those of [`std::alloc::dealloc`].
///
/// # Panics
///
/// If a model frees memory twice, or frees memory that this module did not allocate.
#[track_caller]
#[allow(unsafe_code)]
pub unsafe fn dealloc(pointer: *mut u8, layout: Layout) {
    if let Some(world) = world() {
        let memory = &mut world.inner.borrow_mut().watched.memory;
        let known = memory.remove(&(pointer as usize)).is_some();
        assert!(
            known,
            "memory is freed that is free, or was not asked for by `alloc`"
        );
    }
    // SAFETY: the caller promises the same.
    unsafe { std::alloc::dealloc(pointer, layout) }
}

/// A value that must be dropped before the execution ends.
pub struct Track<T> {
    value: T,
    _watch: Watch,
}

/// The epoch of the execution that made a watched value, and the identifier of the value; `None` if
/// the value was made outside a model.
struct Watch(Option<(u64, u64)>);

impl Drop for Watch {
    fn drop(&mut self) {
        if let (Some((epoch, number)), Some(world)) = (self.0, world()) {
            let mut inner = world.inner.borrow_mut();
            if inner.epoch == epoch {
                inner.watched.values.remove(&number);
            }
        }
    }
}

impl<T> Track<T> {
    /// Watches a value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let place = Location::caller();
        let number = world().map(|world| {
            let mut inner = world.inner.borrow_mut();
            let watched = &mut inner.watched;
            watched.made += 1;
            let number = watched.made;
            watched.values.insert(number, place);
            (inner.epoch, number)
        });
        Self {
            value,
            _watch: Watch(number),
        }
    }

    /// Returns the value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns the value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the value, which is no longer watched.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Track<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Track").field(&self.value).finish()
    }
}
