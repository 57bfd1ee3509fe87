//! `std::sync::OnceLock`, explored.

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};

use super::Once;

/// A value that is set once: [`std::sync::OnceLock`]. One that outlives an execution (a static) is empty
/// when the next one starts; the old value is leaked.
pub struct OnceLock<T> {
    once: Once,
    /// Whether there is a value to drop.
    full: AtomicBool,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: as with std: the value is written once, under the lock of `once`, and only read afterwards.
#[allow(unsafe_code)]
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: it owns its value.
#[allow(unsafe_code)]
unsafe impl<T: Send> Send for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

#[allow(unsafe_code)]
impl<T> OnceLock<T> {
    /// An empty one.
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            once: Once::new(),
            full: AtomicBool::new(false),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The value that is there.
    ///
    /// # Safety
    ///
    /// `once` must be done.
    unsafe fn value(&self) -> &T {
        // SAFETY: `once` is done, so the value has been written, and nobody writes again.
        unsafe { (*self.value.get()).assume_init_ref() }
    }

    /// The value, if it is set.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: `once` is done.
        self.once.is_completed().then(|| unsafe { self.value() })
    }

    /// The value, if it is set.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: `once` is done, and nobody else has it.
        self.once
            .is_done()
            .then(|| unsafe { (*self.value.get()).assume_init_mut() })
    }

    /// Waits for the value.
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        // SAFETY: `once` is done.
        unsafe { self.value() }
    }

    /// Sets the value, unless it is set already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.init(|| value.take().expect("it is asked for once"));
        match value {
            None => Ok(()),
            Some(value) => Err(value),
        }
    }

    #[track_caller]
    fn init(&self, f: impl FnOnce() -> T) {
        self.once.call_once_force(|_| {
            let value = f();
            // SAFETY: this runs under the lock of `once`, before which nobody reads.
            unsafe { (*self.value.get()).write(value) };
            self.full.store(true, Ordering::Relaxed);
        });
    }

    /// The value; the function makes it if it is not set.
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        self.init(f);
        // SAFETY: `once` is done.
        unsafe { self.value() }
    }

    /// The value, and an empty one stays.
    #[track_caller]
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }

    /// The value.
    pub fn into_inner(mut self) -> Option<T> {
        let done = self.once.is_done();
        // SAFETY: `once` is done, and the value is not dropped again.
        done.then(|| unsafe {
            self.full.store(false, Ordering::Relaxed);
            (*self.value.get()).assume_init_read()
        })
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        if *self.full.get_mut() {
            // SAFETY: it has been written and not been taken.
            #[allow(unsafe_code)]
            unsafe {
                self.value.get_mut().assume_init_drop();
            }
        }
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
