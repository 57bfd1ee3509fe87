//! Handles to tasks.

use std::fmt;
use std::future::Future;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mazurka_rt::sync;

use super::core::{Core, Supervised};
use super::error::{Id, JoinError};
use crate::drive::Place;

/// The right to await a task and to take its result. If it is dropped, the task continues.
pub struct JoinHandle<T> {
    core: sync::Arc<Core<T>>,
    place: Place,
    joined: bool,
}

impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    #[track_caller]
    pub(crate) fn new(core: sync::Arc<Core<T>>) -> Self {
        let place = Location::caller();
        Self {
            core,
            place,
            joined: false,
        }
    }

    /// Cancels the task at its next wait.
    #[track_caller]
    pub fn abort(&self) {
        self.core.abort(Location::caller());
    }

    pub(super) fn abort_from(&self, place: Place) {
        self.core.abort(place);
    }

    /// Whether the task has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.core.has_ended(Location::caller())
    }

    /// Returns the identifier of the task.
    pub fn id(&self) -> Id {
        self.core.id
    }
}

impl<T: Send + 'static> JoinHandle<T> {
    /// Returns a handle that can only cancel the task.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle(Arc::new(self.core.clone()))
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let joined = self.core.poll_join(cx.waker(), self.place);
        self.joined |= joined.is_ready();
        joined
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // Only if the result has a destructor can a program observe when the result is dropped.
        if !self.joined && std::mem::needs_drop::<T>() {
            self.core.detach(self.place);
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("JoinHandle");
        debug.field("id", &self.id()).finish()
    }
}

/// The right to cancel a task.
#[derive(Clone)]
pub struct AbortHandle(Arc<dyn Supervised>);

impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    /// Cancels the task at its next wait.
    #[track_caller]
    pub fn abort(&self) {
        self.0.abort(Location::caller());
    }

    /// Whether the task has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.has_ended(Location::caller())
    }

    /// Returns the identifier of the task.
    pub fn id(&self) -> Id {
        self.0.id()
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("AbortHandle");
        debug.field("id", &self.id()).finish()
    }
}
