//! Sets of tasks, awaited in the order in which they end.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use mazurka_rt::facade::Monitor;
use mazurka_rt::sync::Arc;

use super::core::TaskStart;
use super::error::{Id, JoinError};
use super::handle::{AbortHandle, JoinHandle};
use crate::drive::Place;
use crate::runtime::Handle;

/// The tasks of a set that have ended, in the order of their ends.
pub(crate) struct Finished(Monitor<State>);

#[derive(Default)]
struct State {
    ended: VecDeque<u64>,
    waker: Option<Waker>,
}

impl Finished {
    /// Records that a task has ended.
    pub fn push(&self, key: u64, place: Place) {
        let waker = self.0.update("end", place, |state| {
            state.ended.push_back(key);
            (state.waker.take(), true)
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes the key of the task that ended first. If no ended task is left, returns `None`, and
    /// the next task that ends calls `waker` (if given).
    fn pop(&self, waker: Option<&Waker>, place: Place) -> Option<u64> {
        self.0.update("join_next", place, |state| {
            let first = state.ended.pop_front();
            if let (None, Some(waker)) = (first, waker) {
                state.waker = Some(waker.clone());
            }
            (first, first.is_some())
        })
    }
}

/// Tasks that are awaited in the order in which they end. If the set is dropped, its tasks are
/// cancelled.
pub struct JoinSet<T> {
    tasks: BTreeMap<u64, JoinHandle<T>>,
    next: u64,
    finished: Arc<Finished>,
}

impl<T> JoinSet<T> {
    /// Makes an empty set.
    #[track_caller]
    pub fn new() -> Self {
        Self {
            tasks: BTreeMap::new(),
            next: 0,
            finished: Arc::new(Finished(Monitor::new("JoinSet", State::default()))),
        }
    }

    /// Returns the number of tasks that have not been joined.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether all tasks have been joined.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}

impl<T: 'static> JoinSet<T> {
    #[track_caller]
    fn add(&mut self, start: impl FnOnce((Arc<Finished>, u64)) -> JoinHandle<T>) -> AbortHandle
    where
        T: Send,
    {
        let key = self.next;
        self.next += 1;
        let handle = start((self.finished.clone(), key));
        let abort = handle.abort_handle();
        self.tasks.insert(key, handle);
        abort
    }

    /// Starts a task in the runtime of this thread.
    #[track_caller]
    pub fn spawn<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.spawn_on(task, &Handle::current())
    }

    /// Starts a task in a runtime.
    #[track_caller]
    pub fn spawn_on<F>(&mut self, task: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        let place = Location::caller();
        self.add(|set| {
            TaskStart::task(&handle.shared, place)
                .in_set(set)
                .spawn(task)
        })
    }

    /// Starts a thread for a blocking function.
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.spawn_blocking_on(f, &Handle::current())
    }

    /// Starts a thread for a blocking function, in a runtime.
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, f: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        let place = Location::caller();
        self.add(|set| {
            TaskStart::task(&handle.shared, place)
                .in_set(set)
                .spawn_blocking(f)
        })
    }

    /// Waits for the next task to end; `None` if the set is empty.
    #[track_caller]
    pub fn join_next(&mut self) -> impl Future<Output = Option<Result<T, JoinError>>> + '_ {
        let joined = self.join_next_with_id();
        async { Some(joined.await?.map(|(_, value)| value)) }
    }

    /// Waits for the next task to end, and also returns its identifier; `None` if the set is empty.
    #[track_caller]
    pub fn join_next_with_id(
        &mut self,
    ) -> impl Future<Output = Option<Result<(Id, T), JoinError>>> + '_ {
        let place = Location::caller();
        poll_fn(move |cx| self.poll_next(Some(cx.waker()), place))
    }

    /// Takes a task that has ended, if there is one.
    #[track_caller]
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        Some(self.try_join_next_with_id()?.map(|(_, value)| value))
    }

    /// Takes a task that has ended, if there is one, and also returns its identifier.
    #[track_caller]
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        match self.poll_next(None, Location::caller()) {
            Poll::Ready(joined) => joined,
            Poll::Pending => None,
        }
    }

    /// Waits for the next task to end.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        self.poll_next(Some(cx.waker()), Location::caller())
            .map(|joined| joined.map(|task| task.map(|(_, value)| value)))
    }

    fn poll_next(
        &mut self,
        waker: Option<&Waker>,
        place: Place,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        if self.tasks.is_empty() {
            return Poll::Ready(None);
        }
        let Some(key) = self.finished.pop(waker, place) else {
            return Poll::Pending;
        };
        let mut task = self.tasks.remove(&key).expect("each task ends once");
        let id = task.id();
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(&mut task).poll(&mut context) {
            Poll::Ready(joined) => Poll::Ready(Some(joined.map(|value| (id, value)))),
            Poll::Pending => unreachable!("the task has ended"),
        }
    }

    /// Cancels all tasks and waits for them.
    #[track_caller]
    pub fn shutdown(&mut self) -> impl Future<Output = ()> + '_ {
        let place = Location::caller();
        async move {
            self.abort_at(place);
            while poll_fn(|cx| self.poll_next(Some(cx.waker()), place))
                .await
                .is_some()
            {}
        }
    }

    fn abort_at(&mut self, place: Place) {
        for task in self.tasks.values() {
            task.abort_from(place);
        }
    }

    /// Cancels all tasks. They stay in the set.
    #[track_caller]
    pub fn abort_all(&mut self) {
        self.abort_at(Location::caller());
    }

    /// Removes all tasks from the set; they continue.
    pub fn detach_all(&mut self) {
        self.tasks.clear();
        // Tasks that end from now on do not belong to this set.
        self.finished = Arc::new(Finished(Monitor::new("JoinSet", State::default())));
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        for task in self.tasks.values() {
            task.abort();
        }
    }
}

impl<T> Default for JoinSet<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.len()).finish()
    }
}
