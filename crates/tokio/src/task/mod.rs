//! Tasks: each is a thread of the model that polls a future.

mod core;
mod error;
mod handle;
mod local;
mod set;

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

pub(crate) use self::core::{ChildTasks, TaskStart};
pub use self::error::{Id, JoinError};
pub use self::handle::{AbortHandle, JoinHandle};
pub use self::local::{AccessError, LocalKey, TaskLocalFuture};
pub use self::set::JoinSet;

use crate::drive::{self, Place};
use crate::runtime::{Handle, on_current_thread, task_id};

/// Starts a task in the runtime of this thread.
///
/// # Panics
///
/// If this thread has no runtime.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Handle::current().spawn(future)
}

/// Starts a thread for a blocking function.
///
/// # Panics
///
/// If this thread has no runtime.
#[track_caller]
pub fn spawn_blocking<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    Handle::current().spawn_blocking(f)
}

/// Runs a blocking function on this thread.
///
/// # Panics
///
/// In a current-thread runtime, whose other tasks could not run.
#[track_caller]
pub fn block_in_place<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    if on_current_thread() {
        panic!("can call blocking only when running on the multi-threaded runtime");
    }
    drive::blocking(f)
}

/// Returns the identifier of this task.
///
/// # Panics
///
/// Outside a task.
#[track_caller]
pub fn id() -> Id {
    task_id().expect("Can't get a task id when not inside a task")
}

/// Returns the identifier of this task, if there is one.
pub fn try_id() -> Option<Id> {
    task_id()
}

/// Lets other tasks run. A loop that yields until another task has done something is
/// suspended until then.
#[track_caller]
pub fn yield_now() -> impl Future<Output = ()> {
    YieldNow {
        yielded: false,
        place: Location::caller(),
    }
}

struct YieldNow {
    yielded: bool,
    place: Place,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.yielded, true) {
            return Poll::Ready(());
        }
        let context = drive::current();
        if !context.is_some_and(|context| context.record_yield(cx.waker(), self.place)) {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

/// A future without a budget. The model has no budgets, so this is the future itself.
#[derive(Debug)]
#[must_use = "Unconstrained does nothing unless polled"]
pub struct Unconstrained<F>(Pin<Box<F>>);

/// Runs a future without a budget. The model has no budgets, so this only polls the future.
pub fn unconstrained<F>(inner: F) -> Unconstrained<F> {
    Unconstrained(Box::pin(inner))
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.0.as_mut().poll(cx)
    }
}
