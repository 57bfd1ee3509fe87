//! `std::sync::OnceLock`, explored.
//!
//! A static outlives an execution and is empty when the next one starts, but a `&'static T` to the
//! earlier value may still exist. So a value never moves. Each value has its own allocation, with a
//! link to the value of the previous execution. Only dropping the `OnceLock`, which ends all
//! borrows, frees the values.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{Once, OnceState};
use crate::world::world;

/// A value that is set once: the counterpart of [`std::sync::OnceLock`]. A static that outlives an
/// execution is empty when the next one starts; the old value stays where it is.
pub struct OnceLock<T> {
    once: Once,
    /// The value that was set last; null if none was.
    last: AtomicPtr<Value<T>>,
    owned: PhantomData<T>,
}

/// A value, and a link to the value of the previous execution.
struct Value<T> {
    value: T,
    before: *mut Value<T>,
}

// SAFETY: as with std, a thread with a `&OnceLock` may set a value that another thread made, and
// may read it. `last` is atomic, and a `Value` that it points to is never written again.
#[allow(unsafe_code)]
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: it owns its values.
#[allow(unsafe_code)]
unsafe impl<T: Send> Send for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

#[allow(unsafe_code)]
impl<T> OnceLock<T> {
    /// Makes an empty lock.
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            once: Once::new(),
            last: AtomicPtr::new(ptr::null_mut()),
            owned: PhantomData,
        }
    }

    /// Returns the lock that this model uses: a static has a twin in each model (statics.rs).
    fn here(&self) -> &Self {
        match world() {
            Some(world) if !world.owns(self.once.meta()) => {
                let meta = self.once.meta();
                world.twin(meta, || Self {
                    once: self.once.twin(),
                    last: AtomicPtr::new(self.last.load(Ordering::Acquire)),
                    owned: PhantomData,
                })
            }
            _ => self,
        }
    }

    /// Returns the value that was set last. `once` must be done.
    fn value(&self) -> &T {
        let last = self.last.load(Ordering::Acquire);
        // SAFETY: null or from `Box::into_raw` in `init`. It is freed and written to only through
        // `&mut self`.
        let last = unsafe { last.as_ref() };
        &last.expect("it has been set").value
    }

    /// Returns the value, if it is set.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let this = self.here();
        this.once.is_completed().then(|| this.value())
    }

    /// Returns the value, if it is set.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let done = self.once.is_done();
        // SAFETY: as in `value`, and the borrow is exclusive.
        let last = unsafe { self.last.get_mut().as_mut() };
        last.filter(|_| done).map(|last| &mut last.value)
    }

    /// Waits for the value and returns it.
    #[track_caller]
    pub fn wait(&self) -> &T {
        let this = self.here();
        this.once.wait_force();
        this.value()
    }

    /// Sets the value, unless it is already set.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.here()
            .init(|_| value.take().expect("it is asked for once"));
        match value {
            None => Ok(()),
            Some(value) => Err(value),
        }
    }

    #[track_caller]
    fn init(&self, f: impl FnOnce(&OnceState) -> T) {
        self.once.call_once_force(|state| {
            if let Some(world) = world() {
                world.inner.borrow_mut().watched.kept = true;
            }
            let new = Box::into_raw(Box::new(Value {
                value: f(state),
                before: ptr::null_mut(),
            }));
            // Models on several real threads may set the same static at the same time.
            let link = |before| {
                // SAFETY: nothing else knows `new` until the exchange succeeds.
                unsafe { (*new).before = before };
                Some(new)
            };
            let (set, fetch) = (Ordering::AcqRel, Ordering::Acquire);
            let _linked = self.last.fetch_update(set, fetch, link);
        });
    }

    /// Returns the value. If there is none yet, sets it to the result of the function.
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        self.get_or_init_with(|_| f())
    }

    /// Like [`get_or_init`](Self::get_or_init), but the argument of the function tells whether an
    /// earlier function panicked.
    #[track_caller]
    pub(super) fn get_or_init_with(&self, f: impl FnOnce(&OnceState) -> T) -> &T {
        let this = self.here();
        this.init(f);
        this.value()
    }

    /// Takes the value out and leaves the lock empty.
    #[track_caller]
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }

    /// Returns the value, if it is set.
    pub fn into_inner(mut self) -> Option<T> {
        let done = self.once.is_done();
        let last = self.pop()?;
        done.then_some(last)
    }

    /// Takes out the value that was set last.
    fn pop(&mut self) -> Option<T> {
        let last = std::mem::replace(self.last.get_mut(), ptr::null_mut());
        if last.is_null() {
            return None;
        }
        // SAFETY: the pointer comes from `Box::into_raw` and is no longer in the list; the
        // exclusive borrow excludes all other threads.
        let Value { value, before } = *unsafe { Box::from_raw(last) };
        *self.last.get_mut() = before;
        Some(value)
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceLock").finish_non_exhaustive()
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let copy = Self::new();
        if let Some(value) = self.get() {
            let _ = copy.set(value.clone());
        }
        copy
    }
}

impl<T> From<T> for OnceLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        let cell = Self::new();
        let _ = cell.set(value);
        cell
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}
