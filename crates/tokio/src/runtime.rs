//! Runtimes, as far as they start tasks and wait for them.

use std::fmt;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use mazurka_rt::facade::{Gate, ThreadWaker};

use crate::drive::{Context, Entered, NO_RUNTIME, Place, current};
use crate::task::{ChildTasks, Id, JoinHandle, TaskStart};

/// The shared state of a runtime and its handles.
pub(crate) struct Shared {
    flavor: RuntimeFlavor,
    /// In a current-thread runtime, the gate that admits one task at a time to be polled. It is
    /// closed while no thread runs the runtime. `None` in a multi-threaded runtime.
    pub gate: Option<Gate>,
    /// Number of threads that are running the runtime, by `block_on`.
    runners: AtomicUsize,
    /// The tasks that were started from outside the runtime.
    pub children: mazurka_rt::sync::Arc<ChildTasks>,
    place: Place,
}

impl Shared {
    /// Waits until no other task is being polled.
    pub fn enter(&self, verb: &'static str, place: Place) {
        if let Some(gate) = &self.gate {
            gate.enter(verb, place);
        }
    }

    /// Lets other tasks be polled.
    pub fn leave(&self, verb: &'static str, place: Place) {
        if let Some(gate) = &self.gate {
            gate.leave(verb, place);
        }
    }
}

/// The kind of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuntimeFlavor {
    /// One task is polled at a time.
    CurrentThread,
    /// Several tasks are polled at a time.
    MultiThread,
}

/// Settings of a runtime.
pub struct Builder {
    flavor: RuntimeFlavor,
}

macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident($($value:ident: $kind:ty)?);)*) => {
        impl Builder {
            $(
                $(#[$doc])*
                pub fn $name(&mut self $(, $value: $kind)?) -> &mut Self {
                    $(_ = $value;)?
                    self
                }
            )*
        }
    };
}

settings! {
    /// Ignored: everything is enabled.
    enable_all();
    /// Ignored: timers are enabled.
    enable_time();
    /// Ignored: there is no I/O.
    enable_io();
    /// Ignored: in a model there are as many workers as tasks.
    worker_threads(val: usize);
    /// Ignored: in a model there are as many threads as blocking tasks.
    max_blocking_threads(val: usize);
    /// Ignored.
    thread_name(val: impl Into<String>);
    /// Ignored: [`mazurka_rt::Builder::stack_size`] sets the size.
    thread_stack_size(val: usize);
    /// Ignored.
    thread_keep_alive(duration: Duration);
    /// Ignored: the order of tasks is explored.
    global_queue_interval(val: u32);
    /// Ignored: the order of tasks is explored.
    event_interval(val: u32);
    /// Ignored: no time passes in a model.
    start_paused(start_paused: bool);
}

impl Builder {
    /// Makes settings of a current-thread runtime.
    pub fn new_current_thread() -> Self {
        Self {
            flavor: RuntimeFlavor::CurrentThread,
        }
    }

    /// Makes settings of a multi-threaded runtime.
    pub fn new_multi_thread() -> Self {
        Self {
            flavor: RuntimeFlavor::MultiThread,
        }
    }

    /// Makes the runtime.
    #[track_caller]
    pub fn build(&mut self) -> io::Result<Runtime> {
        let place = Location::caller();
        let gate = match self.flavor {
            RuntimeFlavor::CurrentThread => Some(Gate::new("runtime")),
            RuntimeFlavor::MultiThread => None,
        };
        let shared = Arc::new(Shared {
            flavor: self.flavor,
            gate,
            runners: AtomicUsize::new(0),
            children: ChildTasks::new(None),
            place,
        });
        shared.enter("make", place);
        Ok(Runtime {
            handle: Handle { shared },
        })
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").finish_non_exhaustive()
    }
}

/// Runs tasks. When it is dropped, its tasks are cancelled.
pub struct Runtime {
    handle: Handle,
}

impl Runtime {
    /// Makes a multi-threaded runtime.
    #[track_caller]
    pub fn new() -> io::Result<Self> {
        Builder::new_multi_thread().enable_all().build()
    }

    /// Returns a handle to it.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Starts a task.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Starts a thread for a blocking function.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, func: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.spawn_blocking(func)
    }

    /// Runs a future to completion, and runs tasks at the same time.
    ///
    /// # Panics
    ///
    /// If the thread is already polling a future.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.run(future, true, Location::caller())
    }

    /// Sets the runtime of this thread until the guard is dropped.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Cancels its tasks and waits for them.
    pub fn shutdown_timeout(self, duration: Duration) {
        _ = duration;
    }

    /// Cancels its tasks and waits for them.
    pub fn shutdown_background(self) {}
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let shared = &self.handle.shared;
        let is_polling = current().is_some_and(|context| context.is_polling.get());
        if is_polling && !mazurka_rt::thread::panicking() {
            panic!(
                "Cannot drop a runtime in a context where blocking is not allowed. This happens \
                 when a runtime is dropped from within an asynchronous context."
            );
        }
        // In a current-thread runtime, no task is polled any more.
        shared.children.abort_all(shared.place);
        shared.leave("shut down", shared.place);
        shared.children.await_ends(shared.place);
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}

/// A handle to a runtime.
#[derive(Clone)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
}

/// The thread has no runtime.
#[derive(Debug)]
pub struct TryCurrentError(());

impl TryCurrentError {
    /// Whether the thread has no runtime.
    pub fn is_missing_context(&self) -> bool {
        true
    }

    /// Whether the thread-locals of the thread have been dropped.
    pub fn is_thread_local_destroyed(&self) -> bool {
        false
    }
}

impl fmt::Display for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NO_RUNTIME)
    }
}

impl std::error::Error for TryCurrentError {}

impl Handle {
    /// Returns the runtime of this thread.
    ///
    /// # Panics
    ///
    /// If it has none.
    #[track_caller]
    pub fn current() -> Self {
        Self::try_current().expect(NO_RUNTIME)
    }

    /// Returns the runtime of this thread, if it has one.
    pub fn try_current() -> Result<Self, TryCurrentError> {
        let context = current().ok_or(TryCurrentError(()))?;
        let shared = context.runtime.clone();
        Ok(Self { shared })
    }

    /// Starts a task.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        TaskStart::task(&self.shared, Location::caller()).spawn(future)
    }

    /// Starts a thread for a blocking function.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, func: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        TaskStart::task(&self.shared, Location::caller()).spawn_blocking(func)
    }

    /// Runs a future to completion on this thread. Unlike [`Runtime::block_on`], it does not run
    /// the tasks of a current-thread runtime.
    ///
    /// # Panics
    ///
    /// If the thread is already polling a future.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.run(future, false, Location::caller())
    }

    fn run<F: Future>(&self, future: F, runs: bool, place: Place) -> F::Output {
        if current().is_some_and(|context| context.is_polling.get()) {
            panic!(
                "Cannot start a runtime from within a runtime. This happens because a function \
                 (like `block_on`) attempted to block the current thread while the thread is being \
                 used to drive asynchronous tasks."
            );
        }
        let shared = &self.shared;
        let thread_waker = ThreadWaker::new(place);
        let waker = Waker::from(thread_waker.clone());
        let children = shared.children.clone();
        let context = Rc::new(Context::new(shared.clone(), None, children, waker));
        let mut future = pin!(future);
        // While no thread runs a current-thread runtime, its gate is closed. So the first thread
        // that runs it finds the gate in the same state as after entering.
        let others = if runs {
            shared.runners.fetch_add(1, Ordering::SeqCst)
        } else {
            0
        };
        if runs && others > 0 {
            shared.enter("poll", place);
        }
        /// Leaves the gate in the state that the next thread expects, even after a panic.
        struct Running<'a>(&'a Shared, bool, Place);
        impl Drop for Running<'_> {
            fn drop(&mut self) {
                if self.1 && self.0.runners.fetch_sub(1, Ordering::SeqCst) > 1 {
                    self.0.leave("poll", self.2);
                }
            }
        }
        let _running = Running(shared, runs, place);
        loop {
            if let Poll::Ready(value) = context.poll(future.as_mut()) {
                return value;
            }
            if runs {
                shared.leave("wait", place);
            }
            context.wait(&thread_waker);
            if runs {
                shared.enter("poll", place);
            }
        }
    }

    /// Sets the runtime of this thread until the guard is dropped.
    pub fn enter(&self) -> EnterGuard<'_> {
        let shared = self.shared.clone();
        let children = shared.children.clone();
        let context = Context::new(shared, None, children, Waker::noop().clone());
        EnterGuard {
            _entered: Entered::new(Some(Rc::new(context))),
            handle: PhantomData,
        }
    }

    /// Returns the kind of the runtime.
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        self.shared.flavor
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

/// Sets the runtime of the thread until it is dropped.
#[must_use = "Creating and dropping a guard does nothing"]
pub struct EnterGuard<'a> {
    _entered: Entered,
    handle: PhantomData<&'a Handle>,
}

impl fmt::Debug for EnterGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnterGuard").finish_non_exhaustive()
    }
}

/// Whether the current thread is polling a task of a current-thread runtime.
pub(crate) fn on_current_thread() -> bool {
    current().is_some_and(|context| context.runtime.gate.is_some() && context.is_polling.get())
}

/// Returns the identifier of the task that the thread polls.
pub(crate) fn task_id() -> Option<Id> {
    current().and_then(|context| context.id)
}
