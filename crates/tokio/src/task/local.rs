//! Task-local values: `task_local!`.

use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A key to a value that each future can have for itself, and that exists while the future is
/// polled. Made by [`task_local!`](crate::task_local).
pub struct LocalKey<T: 'static> {
    #[doc(hidden)]
    pub inner: &'static mazurka_rt::thread::LocalKey<RefCell<Option<T>>>,
}

impl<T: 'static> LocalKey<T> {
    /// Sets the value while a future is polled.
    pub fn scope<F: Future>(&'static self, value: T, f: F) -> TaskLocalFuture<T, F> {
        TaskLocalFuture {
            key: self,
            value: Some(value),
            future: Some(Box::pin(f)),
        }
    }

    /// Sets the value while a function runs.
    ///
    /// # Panics
    ///
    /// If the value is borrowed.
    #[track_caller]
    pub fn sync_scope<F, R>(&'static self, value: T, f: F) -> R
    where
        F: FnOnce() -> R,
    {
        let mut value = Some(value);
        let _within = Within::new(self, &mut value);
        f()
    }

    /// Passes the value to a function.
    ///
    /// # Panics
    ///
    /// If there is no value.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.try_with(f)
            .expect("cannot access a task-local storage value without setting it first")
    }

    /// Passes the value to a function, if there is one.
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        let result = self.inner.try_with(|slot| slot.borrow().as_ref().map(f));
        result.ok().flatten().ok_or(AccessError(()))
    }

    /// Returns a copy of the value.
    ///
    /// # Panics
    ///
    /// If there is no value.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(|value| *value)
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("LocalKey { .. }")
    }
}

/// A guard: sets the value of the key until it is dropped.
struct Within<'a, T: 'static> {
    key: &'static LocalKey<T>,
    value: &'a mut Option<T>,
}

impl<'a, T: 'static> Within<'a, T> {
    fn new(key: &'static LocalKey<T>, value: &'a mut Option<T>) -> Self {
        let mut within = Self { key, value };
        within.swap();
        within
    }

    fn swap(&mut self) {
        self.key
            .inner
            .with(|slot| std::mem::swap(&mut *slot.borrow_mut(), self.value));
    }
}

impl<T: 'static> Drop for Within<'_, T> {
    fn drop(&mut self) {
        self.swap();
    }
}

/// A future with a value.
#[must_use = "futures do nothing unless polled"]
pub struct TaskLocalFuture<T: 'static, F> {
    key: &'static LocalKey<T>,
    value: Option<T>,
    future: Option<Pin<Box<F>>>,
}

impl<T: 'static, F> Unpin for TaskLocalFuture<T, F> {}

impl<T: 'static, F> TaskLocalFuture<T, F> {
    /// Takes the value.
    pub fn take_value(self: Pin<&mut Self>) -> Option<T> {
        self.get_mut().value.take()
    }
}

impl<T: 'static, F: Future> Future for TaskLocalFuture<T, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        let _within = Within::new(this.key, &mut this.value);
        let future = this.future.as_mut();
        let polled = future.expect("polled after completion").as_mut().poll(cx);
        if polled.is_ready() {
            this.future = None;
        }
        polled
    }
}

impl<T: 'static, F> Drop for TaskLocalFuture<T, F> {
    fn drop(&mut self) {
        if self.future.is_some() {
            let _within = Within::new(self.key, &mut self.value);
            self.future = None;
        }
    }
}

impl<T: 'static + fmt::Debug, F> fmt::Debug for TaskLocalFuture<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("TaskLocalFuture");
        debug.field("value", &self.value).finish()
    }
}

/// The future has no value for the key.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct AccessError(());

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("task-local value not set")
    }
}

impl Error for AccessError {}
