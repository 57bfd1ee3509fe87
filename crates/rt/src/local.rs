//! `thread_local!`: separate values for each thread of a model.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;

use crate::world::world;

/// The thread-local values of a thread, in the order in which they were made, each with the address
/// of its key. `None` in place of a value that has been dropped.
#[derive(Default)]
pub(crate) struct Locals {
    values: Vec<(usize, Option<Box<dyn Any>>)>,
    over: bool,
}

impl Locals {
    /// Prepares for a new thread. The values of an abandoned thread are leaked, like everything it
    /// owns.
    pub fn forget(&mut self) {
        for (_, value) in self.values.drain(..) {
            std::mem::forget(value);
        }
        self.over = false;
    }
}

/// Drops the values of the current thread, which is about to end, in the order they were made. A
/// destructor may make further values, as in std, which are dropped, too.
pub(crate) fn drop_all() {
    loop {
        let Some(world) = world() else {
            return;
        };
        let value = {
            let mut inner = world.inner.borrow_mut();
            let locals = &mut inner.me().locals;
            let mut values = locals.values.iter_mut();
            let value = values.find_map(|(_, value)| value.take());
            locals.over = value.is_none();
            value
        };
        match value {
            Some(value) => drop(value),
            None => return,
        }
    }
}

/// The value of a key was used after its drop: [`std::thread::AccessError`].
#[derive(Clone, Copy, Eq, PartialEq)]
#[non_exhaustive]
pub struct AccessError;

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl std::error::Error for AccessError {}

/// A key to a value that each thread has for itself: the counterpart of [`std::thread::LocalKey`].
/// Made by [`thread_local!`](crate::thread_local).
pub struct LocalKey<T: 'static> {
    real: &'static std::thread::LocalKey<T>,
    make: fn() -> T,
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(real: &'static std::thread::LocalKey<T>, make: fn() -> T) -> Self {
        Self { real, make }
    }

    /// Passes the value to a function, making the value first if necessary.
    ///
    /// # Panics
    ///
    /// If the value has been dropped, because the thread is about to end.
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.try_with(f)
            .expect("cannot access a Thread Local Storage value during or after destruction")
    }

    /// Passes the value to a function, if it has not been dropped.
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        let Some(world) = world() else {
            return self.real.try_with(f).map_err(|_| AccessError);
        };
        let key = std::ptr::from_ref(self.real) as usize;
        let find = || {
            let mut inner = world.inner.borrow_mut();
            let locals = &mut inner.me().locals;
            let known = locals.values.iter().find(|(known, _)| *known == key);
            match known {
                Some((_, Some(value))) => Ok(value.downcast_ref().map(std::ptr::from_ref::<T>)),
                Some((_, None)) => Err(AccessError),
                None if locals.over => Err(AccessError),
                None => Ok(None),
            }
        };
        let value = match find()? {
            Some(value) => value,
            None => {
                let made: Box<dyn Any> = Box::new((self.make)());
                let mut inner = world.inner.borrow_mut();
                inner.me().locals.values.push((key, Some(made)));
                drop(inner);
                find()?.ok_or(AccessError)?
            }
        };
        // SAFETY: the box stays allocated until `drop_all`, which runs in this thread when its body
        // is over, or until the thread is abandoned. An abandoned thread runs no more code.
        #[allow(unsafe_code)]
        Ok(f(unsafe { &*value }))
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// Returns a copy of the value.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value and leaves the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Replaces the value and returns the old one.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Passes the value to a function.
    pub fn with_borrow<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Passes the value to a function that may change it.
    pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| *cell.borrow_mut() = value);
    }

    /// Takes the value and leaves the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Replaces the value and returns the old one.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

/// Declares values that each thread has for itself: [`std::thread_local!`].
///
/// ```
/// use std::cell::Cell;
/// use mazurka_rt::{model, thread, thread_local};
///
/// thread_local! {
///     static SEEN: Cell<u32> = const { Cell::new(0) };
/// }
///
/// model(|| {
///     SEEN.set(1);
///     thread::spawn(|| assert_eq!(SEEN.get(), 0)).join().unwrap();
///     assert_eq!(SEEN.get(), 1);
/// });
/// ```
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident : $t:ty = const $init:block; $($rest:tt)*) => {
        $crate::thread_local!(@one [$(#[$attr])*] [$vis] $name, $t, $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident : $t:ty = const $init:block) => {
        $crate::thread_local!(@one [$(#[$attr])*] [$vis] $name, $t, $init);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident : $t:ty = $init:expr; $($rest:tt)*) => {
        $crate::thread_local!(@one [$(#[$attr])*] [$vis] $name, $t, $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident : $t:ty = $init:expr) => {
        $crate::thread_local!(@one [$(#[$attr])*] [$vis] $name, $t, $init);
    };
    (@one [$($attr:tt)*] [$vis:vis] $name:ident, $t:ty, $init:expr) => {
        $($attr)*
        $vis static $name: $crate::thread::LocalKey<$t> = {
            fn make() -> $t {
                $init
            }
            ::std::thread_local! {
                static REAL: $t = make();
            }
            $crate::thread::LocalKey::new(&REAL, make)
        };
    };
}
