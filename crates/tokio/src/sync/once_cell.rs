//! `tokio::sync::OnceCell`: a value that is set once, and a permit to set it.

use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::panic::Location;

use mazurka_rt::facade::Monitor;

use super::permits::{Acquire, Permits, Refusal, release};
use super::wake_all;
use crate::drive::Place;

/// A value that is set once.
pub struct OnceCell<T> {
    permits: Monitor<Permits>,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written by the task that has the only permit, and read after the
// permits are closed.
#[allow(unsafe_code)]
unsafe impl<T: Sync + Send> Sync for OnceCell<T> {}
// SAFETY: it owns its value.
#[allow(unsafe_code)]
unsafe impl<T: Send> Send for OnceCell<T> {}

/// Why a value was not set.
#[derive(Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// There is already a value.
    AlreadyInitializedError(T),
    /// A task is computing a value.
    InitializingError(T),
}

impl<T> SetError<T> {
    /// Whether there is already a value.
    pub fn is_already_init_err(&self) -> bool {
        matches!(self, Self::AlreadyInitializedError(_))
    }

    /// Whether a task is computing a value.
    pub fn is_initializing_err(&self) -> bool {
        matches!(self, Self::InitializingError(_))
    }
}

impl<T> fmt::Display for SetError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadyInitializedError(_) => "AlreadyInitializedError",
            Self::InitializingError(_) => "InitializingError",
        })
    }
}

impl<T: fmt::Debug> Error for SetError<T> {}

/// The right to set the value: the permit. If the value is not set, dropping this returns the
/// permit.
struct Setting<'a, T> {
    cell: &'a OnceCell<T>,
    place: Place,
    done: bool,
}

impl<'a, T> Setting<'a, T> {
    fn set(mut self, value: T) -> &'a T {
        // SAFETY: this task has the permit, and no value was set: no task refers to it.
        #[allow(unsafe_code)]
        unsafe {
            *self.cell.value.get() = Some(value);
        }
        self.done = true;
        // Waiting tasks find the permits closed.
        let wakers = self.cell.permits.update("set", self.place, |permits| {
            let mut wakers = Vec::new();
            permits.close(&mut wakers);
            (wakers, true)
        });
        wake_all(wakers);
        self.cell.value()
    }
}

impl<T> Drop for Setting<'_, T> {
    fn drop(&mut self) {
        if !self.done {
            release(&self.cell.permits, 1, "give up", self.place);
        }
    }
}

impl<T> OnceCell<T> {
    /// Makes an empty cell.
    #[track_caller]
    pub fn new() -> Self {
        Self::const_new()
    }

    /// Makes an empty cell in a constant.
    #[track_caller]
    pub const fn const_new() -> Self {
        Self {
            permits: Monitor::new("OnceCell", Permits::new(1)),
            value: UnsafeCell::new(None),
        }
    }

    /// Makes a cell with or without a value.
    #[track_caller]
    pub fn new_with(value: Option<T>) -> Self {
        let mut permits = Permits::new(1);
        permits.closed = value.is_some();
        Self {
            permits: Monitor::new("OnceCell", permits),
            value: UnsafeCell::new(value),
        }
    }

    /// Makes a cell with a value in a constant.
    #[track_caller]
    pub const fn const_new_with(value: T) -> Self {
        let mut permits = Permits::new(1);
        permits.closed = true;
        Self {
            permits: Monitor::new("OnceCell", permits),
            value: UnsafeCell::new(Some(value)),
        }
    }

    /// Returns the cell that this model uses: a static has a copy in each execution.
    fn here(&self) -> &Self {
        // SAFETY: a static that was not used owns no memory. References to values may outlive an
        // execution, so copies are never dropped.
        #[allow(unsafe_code)]
        unsafe {
            self.permits.here(self, |_| false)
        }
    }

    /// Returns the value. It must be set.
    fn value(&self) -> &T {
        // SAFETY: it was set before the permits were closed, and is not written again.
        #[allow(unsafe_code)]
        let value = unsafe { &*self.value.get() };
        value.as_ref().expect("it is set")
    }

    fn is_set(&self, verb: &'static str, place: Place) -> bool {
        self.permits.look(verb, place, |permits| permits.closed)
    }

    /// Whether there is a value.
    #[track_caller]
    pub fn initialized(&self) -> bool {
        self.here().is_set("initialized", Location::caller())
    }

    /// Returns the value, if it is set.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let cell = self.here();
        cell.is_set("get", Location::caller()).then(|| cell.value())
    }

    /// Returns the value, if it is set.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Sets the value, unless it is set or a task is computing it.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        let (cell, place) = (self.here(), Location::caller());
        let taken = cell.permits.update("set", place, |permits| {
            let taken = permits.try_take(1);
            (taken, taken.is_ok())
        });
        match taken {
            Ok(()) => {
                let done = false;
                Setting { cell, place, done }.set(value);
                Ok(())
            }
            Err(Refusal::Closed) => Err(SetError::AlreadyInitializedError(value)),
            Err(Refusal::NotEnough) => Err(SetError::InitializingError(value)),
        }
    }

    /// Returns the value, computing it first if necessary.
    #[track_caller]
    pub fn get_or_init<F, Fut>(&self, f: F) -> impl Future<Output = &T>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        let place = Location::caller();
        async move {
            let made = self
                .init(async || Ok::<T, Infallible>(f().await), place)
                .await;
            match made {
                Ok(value) => value,
                Err(never) => match never {},
            }
        }
    }

    /// Returns the value, computing it first if necessary. If that fails, another task may try.
    #[track_caller]
    pub fn get_or_try_init<E, F, Fut>(&self, f: F) -> impl Future<Output = Result<&T, E>>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let place = Location::caller();
        async move { self.init(async || f().await, place).await }
    }

    async fn init<E>(&self, f: impl AsyncFnOnce() -> Result<T, E>, place: Place) -> Result<&T, E> {
        let cell = self.here();
        if cell.is_set("get", place) {
            return Ok(cell.value());
        }
        if Acquire::new(&cell.permits, 1, "init", place).await.is_err() {
            return Ok(cell.value());
        }
        let done = false;
        let setting = Setting { cell, place, done };
        Ok(setting.set(f().await?))
    }

    /// Returns the value.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value and leaves the cell empty.
    #[track_caller]
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }
}

impl<T> Default for OnceCell<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for OnceCell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new_with(Some(value))
    }
}

impl<T: Clone> Clone for OnceCell<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for OnceCell<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceCell<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceCell").finish_non_exhaustive()
    }
}
