//! Tasks: each is a thread of the model that polls a future.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use mazurka_rt::facade::{Monitor, ThreadWaker};
use mazurka_rt::sync::Arc;
use mazurka_rt::thread;

pub use mazurka_rt::future::block_on;

type Place = &'static Location<'static>;

/// Lets other tasks run.
pub async fn yield_now() {
    thread::yield_now();
}

/// How a task ended.
enum Outcome<T> {
    Value(T),
    Cancelled,
    /// The task has panicked. Joining its thread returns the payload of the panic.
    Panicked,
}

struct State<T> {
    ended: bool,
    outcome: Option<Outcome<T>>,
    cancelled: bool,
    task: Option<Waker>,
    joiner: Option<Waker>,
}

/// The shared state of a task.
struct Core<T> {
    state: Monitor<State<T>>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
    place: Place,
}

impl<T> Core<T> {
    fn abort(&self, place: Place) {
        let waker = self.state.update("abort", place, |state| {
            let changed = !std::mem::replace(&mut state.cancelled, true);
            (state.task.take(), changed)
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn has_ended(&self, place: Place) -> bool {
        self.state.look("is_finished", place, |state| state.ended)
    }

    /// Polls the future until it is ready or the task is cancelled.
    fn run_future<F: Future<Output = T>>(&self, future: F) {
        let thread_waker = ThreadWaker::new(self.place);
        let waker = Waker::from(thread_waker.clone());
        let mut future = Some(Box::pin(future));
        let outcome = loop {
            let cancelled = self.state.update("go on", self.place, |state| {
                state.task = Some(waker.clone());
                (state.cancelled, false)
            });
            if cancelled {
                drop(future.take());
                break Ok(Outcome::Cancelled);
            }
            let polled = catch_unwind(AssertUnwindSafe(|| {
                let future = future.as_mut().expect("it is not ready");
                future.as_mut().poll(&mut Context::from_waker(&waker))
            }));
            match polled {
                Ok(Poll::Pending) => thread_waker.wait(),
                Ok(Poll::Ready(value)) => break Ok(Outcome::Value(value)),
                Err(payload) => break Err(payload),
            }
        };
        drop(future);
        let (outcome, panic) = match outcome {
            Ok(outcome) => (outcome, None),
            Err(payload) => (Outcome::Panicked, Some(payload)),
        };
        let joiner = self.state.update("end", self.place, |state| {
            (state.ended, state.outcome) = (true, Some(outcome));
            (state.joiner.take(), true)
        });
        if let Some(joiner) = joiner {
            joiner.wake();
        }
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }
}

/// The task was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// The task was cancelled.
    Cancelled,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("task was cancelled")
    }
}

impl Error for JoinError {}

/// The right to await a task and to take its result. If it is dropped, the task continues.
pub struct JoinHandle<T>(Arc<Core<T>>);

/// The right to cancel a task.
pub struct AbortHandle(std::sync::Arc<dyn Cancel>);

trait Cancel: Send + Sync {
    fn abort(&self, place: Place);
    fn has_ended(&self, place: Place) -> bool;
}

impl<T: Send> Cancel for Arc<Core<T>> {
    fn abort(&self, place: Place) {
        Core::abort(self, place);
    }

    fn has_ended(&self, place: Place) -> bool {
        Core::has_ended(self, place)
    }
}

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
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").finish_non_exhaustive()
    }
}

impl<T> JoinHandle<T> {
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
}

impl<T: Send + 'static> JoinHandle<T> {
    /// Returns a handle that can only cancel the task.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle(std::sync::Arc::new(self.0.clone()))
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let core = &self.0;
        let outcome = core.state.update("join", core.place, |state| {
            if state.ended {
                return (Some(state.outcome.take()), true);
            }
            state.joiner = Some(cx.waker().clone());
            (None, false)
        });
        let Some(outcome) = outcome else {
            return Poll::Pending;
        };
        match outcome.expect("`JoinHandle` polled after completion") {
            Outcome::Value(value) => Poll::Ready(Ok(value)),
            Outcome::Cancelled => Poll::Ready(Err(JoinError::Cancelled)),
            Outcome::Panicked => {
                let thread = core.thread.lock();
                let thread = thread.unwrap_or_else(PoisonError::into_inner).take();
                let thread = thread.expect("it is joined once");
                let payload = thread.join().expect_err("the task panicked");
                resume_unwind(payload)
            }
        }
    }
}

#[track_caller]
fn new_core<T>() -> Arc<Core<T>> {
    Arc::new(Core {
        state: Monitor::new(
            "task",
            State {
                ended: false,
                outcome: None,
                cancelled: false,
                task: None,
                joiner: None,
            },
        ),
        thread: Mutex::default(),
        place: Location::caller(),
    })
}

fn handle<T>(core: Arc<Core<T>>, thread: thread::JoinHandle<()>) -> JoinHandle<T> {
    *core.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    JoinHandle(core)
}

/// Starts a task.
#[track_caller]
pub fn spawn<F>(fut: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let core = new_core();
    let own = core.clone();
    let thread = thread::spawn(move || own.run_future(fut));
    handle(core, thread)
}

/// Starts a task that may use values that are not `Send`.
///
/// # Panics
///
/// Outside a test.
#[track_caller]
pub fn spawn_local<F>(fut: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let core = new_core();
    let own = core.clone();
    let thread = thread::spawn_local(move || own.run_future(fut));
    handle(core, thread)
}
