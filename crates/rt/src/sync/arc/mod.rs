//! `std::sync::Arc` and `Weak`, tracked.
//!
//! The counts are those of std's `Arc`. Changing a count is not a step unless the program can
//! observe it (counted.rs). In the vector clocks the counts synchronise as in std: dropping a
//! reference releases and dropping the last one acquires. `try_unwrap`, `into_inner` and `upgrade`
//! acquire if they succeed, `make_mut` if it does not clone, `get_mut` if there is no weak
//! reference, `downgrade` and [`Weak::weak_count`] always. Cloning, `strong_count` and
//! [`Arc::weak_count`] are relaxed.
//!
//! Each `Arc` that a thread of a model makes is a *region* of memory with a name (regions.rs).
//! Objects in it are named by the region.
//!
//! std's `Arc` cannot report its drop, so this is a separate type. It lacks two abilities of std's
//! type: it does not coerce to an `Arc<dyn Trait>`, and it cannot be a receiver
//! (`self: Arc<Self>`). In these cases convert from std's type ([`Arc::from_std`]), or use std's
//! type.

mod counted;
mod regions;
mod traits;
mod weakly;

use std::any::Any;
use std::mem::{ManuallyDrop, MaybeUninit, needs_drop};
use std::panic::Location;
use std::pin::Pin;
use std::sync;
use std::sync::atomic::Ordering;

use mazurka_core::MemoryOrder;

use crate::std_arc::SeenDestructor;
use crate::world::{Place, World, world};
use counted::{CountUse, Destruction, uses};
use regions::Count;
pub(crate) use regions::Regions;

/// A shared value: the counterpart of [`std::sync::Arc`].
///
/// ```
/// use mazurka_rt::cell::UnsafeCell;
/// use mazurka_rt::sync::Arc;
/// use mazurka_rt::{model, thread};
///
/// struct Slot(UnsafeCell<u32>);
/// // SAFETY: one thread writes, and the one that drops the last reference reads.
/// unsafe impl Sync for Slot {}
///
/// model(|| {
///     let slot = Arc::new(Slot(UnsafeCell::new(0)));
///     let other = slot.clone();
///     thread::spawn(move || other.0.with_mut(|p| unsafe { *p = 1 }));
///     // The count orders the two, if this is the last reference.
///     if let Ok(slot) = Arc::try_unwrap(slot) {
///         assert_eq!(slot.0.into_inner(), 1);
///     }
/// });
/// ```
pub struct Arc<T: ?Sized>(ManuallyDrop<sync::Arc<T>>);

/// A reference that does not keep the value alive: the counterpart of [`std::sync::Weak`].
pub struct Weak<T: ?Sized>(ManuallyDrop<sync::Weak<T>>);

/// Returns the address of a value.
fn address<T: ?Sized>(value: *const T) -> usize {
    value.cast::<()>() as usize
}

/// Records an access to a count in the clocks.
fn order(at: usize, count: Count, load: Ordering, store: Option<Ordering>) {
    if let Some(world) = world() {
        world.inner.borrow_mut().counted(at, count, load, store);
    }
}

/// Records in the clocks that a strong reference is dropped.
fn drop_one(at: usize, last: bool) {
    let load = if last {
        Ordering::Acquire
    } else {
        Ordering::Relaxed
    };
    order(at, Count::Strong, load, Some(Ordering::Release));
    if last {
        fence();
    }
}

/// Records in the clocks the acquire fence that std makes when the last reference is dropped.
fn fence() {
    if let Some(world) = world() {
        let mut inner = world.inner.borrow_mut();
        let current = inner.current;
        inner.clocks.fence(current, Ordering::Acquire);
    }
}

/// Returns the place where an `Arc` was made, for a drop, whose own place is unknown.
#[track_caller]
fn made_at(at: usize) -> Place {
    let made = world().and_then(|world| world.inner.borrow().names.regions.made_at(at));
    made.unwrap_or_else(Location::caller)
}

/// Returns the world, if it has a memory model.
fn modelled() -> Option<&'static World> {
    world().filter(|world| world.memory.is_some())
}

/// Records that an `Arc` has a weak reference, in interleavings.
fn downgraded(at: usize) {
    if let Some(world) = world().filter(|world| world.memory.is_none()) {
        world.made_cyclic_arc(at);
    }
}

/// Records that the current thread has made an `Arc`.
#[track_caller]
fn made_arc<T: ?Sized>(inner: &sync::Arc<T>) {
    if let Some(world) = world() {
        let (at, size) = (address(sync::Arc::as_ptr(inner)), size_of_val(&**inner));
        let place = Location::caller();
        world.inner.borrow_mut().made_arc(at, size, place);
    }
}

/// Removes the region of a value after its drop, even if its destructor panics.
struct Ending(usize);

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(world) = world() {
            world.inner.borrow_mut().names.regions.remove(self.0);
        }
    }
}

impl<T> Arc<T> {
    /// Shares a value.
    #[track_caller]
    pub fn new(data: T) -> Self {
        Self::adopt(sync::Arc::new(data))
    }

    /// Makes a value that may hold weak references to itself.
    #[track_caller]
    pub fn new_cyclic<F>(data_fn: F) -> Self
    where
        F: FnOnce(&Weak<T>) -> T,
    {
        let model = modelled().map(|world| (world, world.answers()));
        let inner = sync::Arc::new_cyclic(|weak| {
            let weak = Weak(ManuallyDrop::new(weak.clone()));
            let data = data_fn(&weak);
            weak.into_std();
            data
        });
        let this = Self::adopt(inner);
        if let Some((world, answers)) = model {
            if world.answers() > answers {
                let place = Location::caller();
                world.refuse(format!(
                    "steps while `Arc::new_cyclic` makes a value, at {place}"
                ));
            }
            let (at, references) = (address(Self::as_ptr(&this)), sync::Arc::weak_count(&this.0));
            world.inner.borrow_mut().made_cyclic(at, references);
        }
        downgraded(address(Self::as_ptr(&this)));
        this
    }

    /// Allocates memory for a value.
    #[track_caller]
    pub fn new_uninit() -> Arc<MaybeUninit<T>> {
        Arc::adopt(sync::Arc::new_uninit())
    }

    /// Shares a pinned value.
    #[track_caller]
    pub fn pin(data: T) -> Pin<Self> {
        // SAFETY: as with std, the value cannot be moved out of a pinned `Arc`: `try_unwrap` needs
        // the `Arc` itself.
        #[allow(unsafe_code)]
        unsafe {
            Pin::new_unchecked(Self::new(data))
        }
    }

    /// Returns the value, if this is the only strong reference.
    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        let at = address(Self::as_ptr(&this));
        if let Some(world) = modelled()
            && !world.unwrap_arc(at, "try_unwrap", Location::caller())
        {
            return Err(this);
        }
        let what = ("try_unwrap", Location::caller());
        uses(at, Count::Strong, CountUse::Updates, what);
        match sync::Arc::try_unwrap(this.into_std()) {
            Ok(value) => {
                order(at, Count::Strong, Ordering::Acquire, None);
                fence();
                drop(Ending(at));
                Ok(value)
            }
            Err(inner) => Err(Self(ManuallyDrop::new(inner))),
        }
    }

    /// Returns the value, if this is the last strong reference; otherwise drops the reference.
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        let at = address(Self::as_ptr(&this));
        if let Some(world) = modelled() {
            let place = Location::caller();
            world.asked_count(at, "into_inner", place);
            let last = sync::Arc::strong_count(&this.0) == 1;
            world.drop_arc(at, last, true, Some(place));
            let value = sync::Arc::into_inner(this.into_std());
            drop(value.is_some().then(|| Ending(at)));
            return value;
        }
        let what = ("into_inner", Location::caller());
        uses(at, Count::Strong, CountUse::Updates, what);
        drop_one(at, sync::Arc::strong_count(&this.0) == 1);
        let value = sync::Arc::into_inner(this.into_std());
        drop(value.is_some().then(|| Ending(at)));
        value
    }

    /// Returns the value, or a clone of it if there are other references.
    #[track_caller]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Self::try_unwrap(this).unwrap_or_else(|shared| (*shared).clone())
    }
}

impl<T: ?Sized> Arc<T> {
    /// Makes an `Arc` from one of std's, which may be an `Arc<dyn Trait>`.
    ///
    /// ```
    /// use std::fmt::Debug;
    /// use mazurka_rt::sync::Arc;
    ///
    /// let shown: Arc<dyn Debug> = Arc::from_std(std::sync::Arc::new(7));
    /// assert_eq!(format!("{shown:?}"), "7");
    /// ```
    ///
    /// # Panics
    ///
    /// If there are other references: their drops would not be noticed.
    #[track_caller]
    pub fn from_std(mut inner: sync::Arc<T>) -> Self {
        let alone = sync::Arc::get_mut(&mut inner).is_some();
        assert!(alone, "the `Arc` of std's has other references");
        Self::adopt(inner)
    }

    /// Wraps std's `Arc`, as one that the current thread has made.
    #[track_caller]
    fn adopt(inner: sync::Arc<T>) -> Self {
        made_arc(&inner);
        Self(ManuallyDrop::new(inner))
    }

    /// Returns std's `Arc` without changing the count.
    fn into_std(self) -> sync::Arc<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again.
        #[allow(unsafe_code)]
        unsafe {
            ManuallyDrop::take(&mut this.0)
        }
    }

    /// Returns a pointer to the value; [`from_raw`](Self::from_raw) turns it into a reference
    /// again.
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(this: Self) -> *const T {
        sync::Arc::into_raw(this.into_std())
    }

    /// Returns a pointer to the value.
    #[must_use]
    pub fn as_ptr(this: &Self) -> *const T {
        sync::Arc::as_ptr(&this.0)
    }

    /// Turns a pointer back into the reference it was made from.
    ///
    /// # Safety
    ///
    /// As with std: the pointer comes from [`into_raw`](Self::into_raw), and is turned back only
    /// once.
    #[allow(unsafe_code)]
    pub unsafe fn from_raw(ptr: *const T) -> Self {
        // SAFETY: the caller promises the same.
        Self(ManuallyDrop::new(unsafe { sync::Arc::from_raw(ptr) }))
    }

    /// Adds a strong reference.
    ///
    /// # Safety
    ///
    /// As with std: the pointer comes from [`into_raw`](Self::into_raw), and there is a strong
    /// reference.
    #[allow(unsafe_code)]
    pub unsafe fn increment_strong_count(ptr: *const T) {
        // SAFETY: the caller promises the same; the existing reference is kept.
        let this = ManuallyDrop::new(unsafe { Self::from_raw(ptr) });
        std::mem::forget(Self::clone(&this));
    }

    /// Drops a strong reference.
    ///
    /// # Safety
    ///
    /// As with std: the pointer comes from [`into_raw`](Self::into_raw), and there is a reference
    /// to drop.
    #[allow(unsafe_code)]
    pub unsafe fn decrement_strong_count(ptr: *const T) {
        // SAFETY: the caller promises the same.
        drop(unsafe { Self::from_raw(ptr) });
    }

    /// Makes a weak reference.
    #[must_use = "this returns a new `Weak` pointer, without modifying the original `Arc`"]
    #[track_caller]
    pub fn downgrade(this: &Self) -> Weak<T> {
        let at = address(Self::as_ptr(this));
        if let Some(world) = modelled() {
            world.downgrade_arc(at, Location::caller());
        }
        downgraded(at);
        uses(
            at,
            Count::Weak,
            CountUse::Changes,
            ("downgrade", Location::caller()),
        );
        order(at, Count::Weak, Ordering::Acquire, None);
        Weak(ManuallyDrop::new(sync::Arc::downgrade(&this.0)))
    }

    /// Returns the number of strong references.
    #[must_use]
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        let at = address(Self::as_ptr(this));
        if let Some(world) = modelled() {
            let place = Location::caller();
            let others = world.other_arcs(at, MemoryOrder::Relaxed, "strong_count", place);
            return others as usize + 1;
        }
        let what = ("strong_count", Location::caller());
        uses(at, Count::Strong, CountUse::Asks, what);
        order(at, Count::Strong, Ordering::Relaxed, None);
        sync::Arc::strong_count(&this.0)
    }

    /// Returns the number of weak references.
    #[must_use]
    #[track_caller]
    pub fn weak_count(this: &Self) -> usize {
        let at = address(Self::as_ptr(this));
        if let Some(world) = modelled() {
            return world.weak_references(at, MemoryOrder::Relaxed, Location::caller()) as usize;
        }
        uses(
            at,
            Count::Weak,
            CountUse::Asks,
            ("weak_count", Location::caller()),
        );
        order(at, Count::Weak, Ordering::Relaxed, None);
        sync::Arc::weak_count(&this.0)
    }

    /// Whether both share one value.
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        sync::Arc::ptr_eq(&this.0, &other.0)
    }

    /// Returns the value, if this is the only reference.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        let at = address(Self::as_ptr(this));
        if let Some(world) = modelled()
            && !world.is_unique(at, "get_mut", Location::caller())
        {
            return None;
        }
        let what = ("get_mut", Location::caller());
        uses(at, Count::Weak, CountUse::Asks, what);
        uses(at, Count::Strong, CountUse::Asks, what);
        // As std's: only without weak references does it read the strong count, and then it
        // acquires, whatever the count is.
        if sync::Arc::weak_count(&this.0) == 0 {
            order(at, Count::Weak, Ordering::Acquire, None);
            order(at, Count::Strong, Ordering::Acquire, None);
        }
        sync::Arc::get_mut(&mut this.0)
    }
}

impl<T: Clone> Arc<T> {
    /// Returns the value; clones it first if it is shared.
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T {
        if let Some(world) = modelled() {
            let (at, place) = (address(Self::as_ptr(this)), Location::caller());
            if !world.unwrap_arc(at, "make_mut", place) {
                *this = Self::new((**this).clone());
            } else if world.weak_references(at, MemoryOrder::Relaxed, place) == 0 {
                world.keep_arc(at, "make_mut", place);
            } else {
                // The value moves, and the target of the weak references ceases to exist.
                sync::Arc::make_mut(&mut this.0);
                drop(Ending(at));
                made_arc(&this.0);
            }
            return sync::Arc::get_mut(&mut this.0).expect("it is not shared");
        }
        let before = address(Self::as_ptr(this));
        let what = ("make_mut", Location::caller());
        uses(before, Count::Weak, CountUse::Asks, what);
        uses(before, Count::Strong, CountUse::Updates, what);
        let last = sync::Arc::strong_count(&this.0) == 1;
        // As std's: a compare-exchange of the strong count, which acquires only if it succeeds.
        let load = if last {
            Ordering::Acquire
        } else {
            Ordering::Relaxed
        };
        order(before, Count::Strong, load, None);
        sync::Arc::make_mut(&mut this.0);
        if address(Self::as_ptr(this)) != before {
            drop_one(before, last);
            drop(last.then(|| Ending(before)));
            made_arc(&this.0);
        }
        sync::Arc::get_mut(&mut this.0).expect("it is not shared")
    }
}

impl<T> Arc<MaybeUninit<T>> {
    /// Asserts that the value has been initialised.
    ///
    /// # Safety
    ///
    /// As with std: the value has been initialised.
    #[allow(unsafe_code)]
    pub unsafe fn assume_init(self) -> Arc<T> {
        // SAFETY: the caller promises the same.
        Arc(ManuallyDrop::new(unsafe { self.into_std().assume_init() }))
    }
}

impl Arc<dyn Any + Send + Sync> {
    /// Casts to the concrete type of the value.
    pub fn downcast<T: Any + Send + Sync>(self) -> Result<Arc<T>, Self> {
        match self.into_std().downcast() {
            Ok(inner) => Ok(Arc(ManuallyDrop::new(inner))),
            Err(inner) => Err(Arc(ManuallyDrop::new(inner))),
        }
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let (at, relaxed) = (address(Self::as_ptr(self)), Ordering::Relaxed);
        if let Some(world) = modelled() {
            world.clone_arc(at, Location::caller());
        }
        let what = ("clone", Location::caller());
        uses(at, Count::Strong, CountUse::Changes, what);
        order(at, Count::Strong, relaxed, Some(relaxed));
        Self(self.0.clone())
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        let at = address(Self::as_ptr(self));
        if let Some(world) = modelled() {
            let last = sync::Arc::strong_count(&self.0) == 1;
            world.drop_arc(at, last, needs_drop::<T>(), None);
        } else {
            uses(at, Count::Strong, CountUse::Changes, ("drop", made_at(at)));
        }
        let last = sync::Arc::strong_count(&self.0) == 1;
        drop_one(at, last);
        let _ending = last.then(|| Ending(at));
        let _watched = if last && needs_drop::<T>() {
            Destruction::begin(at)
        } else {
            None
        };
        let _seen = last.then(SeenDestructor::begin);
        // SAFETY: this is the end of `self`.
        #[allow(unsafe_code)]
        unsafe {
            ManuallyDrop::drop(&mut self.0);
        }
    }
}

impl<T> Weak<T> {
    /// Makes a reference to nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(ManuallyDrop::new(sync::Weak::new()))
    }
}

impl<T: ?Sized> Weak<T> {
    /// Returns a pointer to where the value is or was.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.0.as_ptr()
    }

    /// Returns a pointer; [`from_raw`](Self::from_raw) turns it into a reference again.
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(self) -> *const T {
        self.into_std().into_raw()
    }

    /// Returns std's `Weak` without changing the count.
    fn into_std(self) -> sync::Weak<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again.
        #[allow(unsafe_code)]
        unsafe {
            ManuallyDrop::take(&mut this.0)
        }
    }

    /// Turns a pointer back into the reference it was made from.
    ///
    /// # Safety
    ///
    /// As with std: the pointer comes from [`into_raw`](Self::into_raw), and is turned back only
    /// once.
    #[allow(unsafe_code)]
    pub unsafe fn from_raw(ptr: *const T) -> Self {
        // SAFETY: the caller promises the same.
        Self(ManuallyDrop::new(unsafe { sync::Weak::from_raw(ptr) }))
    }

    /// Returns a strong reference, if the value still exists.
    #[must_use = "this returns a new `Arc`, without modifying the original weak pointer"]
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        if let Some(world) = modelled() {
            let (at, alive) = (address(self.as_ptr()), self.0.strong_count() > 0);
            if !world.upgrade_weak(at, alive, Location::caller()) {
                return None;
            }
        }
        let (at, what) = (address(self.as_ptr()), ("upgrade", Location::caller()));
        uses(at, Count::Strong, CountUse::Updates, what);
        let inner = self.0.upgrade()?;
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        order(
            address(self.as_ptr()),
            Count::Strong,
            acquire,
            Some(relaxed),
        );
        Some(Arc(ManuallyDrop::new(inner)))
    }

    /// Returns the number of strong references.
    #[must_use]
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        let (at, what) = (address(self.as_ptr()), ("strong_count", Location::caller()));
        uses(at, Count::Strong, CountUse::Asks, what);
        match modelled() {
            Some(world) => self.strong_count_in(world, Location::caller()) as usize,
            None => self.0.strong_count(),
        }
    }

    /// Returns the number of strong references under a memory model.
    fn strong_count_in(&self, world: &World, place: Place) -> i64 {
        let at = address(self.as_ptr());
        if self.0.strong_count() == 0 && world.inner.borrow().names.regions.name(at).is_none() {
            return 0;
        }
        1 + world.other_arcs(at, MemoryOrder::Relaxed, "strong_count", place)
    }

    /// Returns the number of weak references.
    #[must_use]
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        let Some(world) = modelled() else {
            let (at, what) = (address(self.as_ptr()), ("weak_count", Location::caller()));
            uses(at, Count::Weak, CountUse::Asks, what);
            uses(at, Count::Strong, CountUse::Asks, what);
            order(at, Count::Weak, Ordering::Acquire, None);
            return self.0.weak_count();
        };
        let (at, place) = (address(self.as_ptr()), Location::caller());
        let references = world.weak_references(at, MemoryOrder::Acquire, place);
        match self.strong_count_in(world, place) {
            0 => 0,
            _ => references as usize,
        }
    }

    /// Whether both refer to the same value.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        if let Some(world) = modelled() {
            world.change_weak(
                address(self.as_ptr()),
                "clone of Weak",
                1,
                Some(Location::caller()),
            );
        }
        let what = ("clone of Weak", Location::caller());
        uses(address(self.as_ptr()), Count::Weak, CountUse::Changes, what);
        Self(self.0.clone())
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    fn drop(&mut self) {
        let at = address(self.as_ptr());
        if let Some(world) = modelled() {
            world.change_weak(at, "drop of Weak", -1, None);
        } else {
            let what = ("drop of Weak", made_at(at));
            uses(at, Count::Weak, CountUse::Changes, what);
        }
        order(at, Count::Weak, Ordering::Relaxed, Some(Ordering::Release));
        // SAFETY: this is the end of `self`.
        #[allow(unsafe_code)]
        unsafe {
            ManuallyDrop::drop(&mut self.0);
        }
    }
}
