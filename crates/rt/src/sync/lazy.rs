//! `std::sync::LazyLock`, explored, and `lazy_static!`.

use std::fmt;
use std::mem::{ManuallyDrop, needs_drop};
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};

use super::OnceLock;

/// A value that is made on first use: the counterpart of [`std::sync::LazyLock`].
///
/// A static outlives an execution. Each execution makes its value anew, by calling the function
/// again. This requires that the function owns nothing that needs dropping, which holds for all
/// statics.
pub struct LazyLock<T, F = fn() -> T> {
    cell: OnceLock<T>,
    make: ManuallyDrop<F>,
    /// Whether the function has been moved out and must not be dropped.
    taken: AtomicBool,
}

// SAFETY: as with std, the function is called under the lock of the cell, and no reference to the
// function is returned.
#[allow(unsafe_code)]
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// Makes a `LazyLock` whose value is the result of `f`.
    #[track_caller]
    pub const fn new(f: F) -> Self {
        Self {
            cell: OnceLock::new(),
            make: ManuallyDrop::new(f),
            taken: AtomicBool::new(false),
        }
    }

    /// Returns the value, making it first if necessary.
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        this.cell.get_or_init_with(|state| {
            let again = this.taken.swap(true, Ordering::Relaxed);
            if state.is_poisoned() || again && needs_drop::<F>() {
                panic!("LazyLock instance has previously been poisoned");
            }
            // SAFETY: this runs under the lock of the cell. The first call moves the function out.
            // Later calls happen only in other executions, and only if the function owns nothing,
            // so that a copy of its bytes is as good as the original.
            #[allow(unsafe_code)]
            let make = unsafe { std::ptr::read(&*this.make) };
            make()
        })
    }
}

impl<T, F> LazyLock<T, F> {
    /// Returns the value, if it has been made.
    #[track_caller]
    pub fn get(this: &Self) -> Option<&T> {
        this.cell.get()
    }

    /// Returns the value, if it has been made. The exclusive borrow excludes all other threads.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        this.cell.get_mut()
    }
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// Returns the value, making it first if necessary. The exclusive borrow excludes all
    /// other threads.
    #[track_caller]
    pub fn force_mut(this: &mut Self) -> &mut T {
        Self::force(this);
        this.cell.get_mut().expect("it has been made")
    }
}

impl<T, F> Drop for LazyLock<T, F> {
    fn drop(&mut self) {
        if !*self.taken.get_mut() {
            // SAFETY: the function has not been moved out.
            #[allow(unsafe_code)]
            unsafe {
                ManuallyDrop::drop(&mut self.make);
            }
        }
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;
    #[track_caller]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyLock").finish_non_exhaustive()
    }
}

/// Declares statics that every execution makes again on first use, with the syntax of the crate
/// `lazy_static`.
///
/// ```
/// use mazurka_rt::sync::Mutex;
/// use mazurka_rt::{lazy_static, model};
///
/// lazy_static! {
///     static ref LOG: Mutex<Vec<u32>> = Mutex::new(Vec::new());
/// }
///
/// model(|| {
///     LOG.lock().unwrap().push(1);
///     assert_eq!(LOG.lock().unwrap().len(), 1);
/// });
/// ```
#[macro_export]
macro_rules! lazy_static {
    () => {};
    ($(#[$attr:meta])* $vis:vis static ref $name:ident : $t:ty = $init:expr; $($rest:tt)*) => {
        $(#[$attr])*
        $vis static $name: $crate::sync::LazyLock<$t> = $crate::sync::LazyLock::new(|| $init);
        $crate::lazy_static!($($rest)*);
    };
}
