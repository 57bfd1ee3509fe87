//! Futures: `block_on`, and a small executor for several. Waking a task is a scheduling point;
//! polling it is not.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use mazurka_core::ProcessId;

use crate::names::Meta;
use crate::spurious::Spurious;
use crate::sync::Mutex;
use crate::thread::{self, Thread};
use crate::world::{Place, world};

/// Wakes the polling thread. Public only for facades of other crates (facade.rs).
#[doc(hidden)]
pub struct ThreadWaker {
    meta: Meta,
    /// The thread to wake if the waker was made outside a model.
    thread: Thread,
    /// The thread of the model to wake; `None` if the waker was made outside a model.
    process: Option<ProcessId>,
    place: Place,
}

impl ThreadWaker {
    /// Makes a waker for the current thread, which polls at this place.
    pub fn new(place: Place) -> Arc<Self> {
        let meta = Meta::at(place);
        let process = world().map(|world| {
            let mut inner = world.inner.borrow_mut();
            inner.created(&meta, "Waker");
            inner.current
        });
        Arc::new(Self {
            meta,
            thread: thread::current(),
            process,
            place,
        })
    }

    fn wake_thread(&self) {
        match world() {
            None => self.thread.unpark(),
            Some(world) => {
                let cell = world.cell(&self.meta, "Waker");
                let own = self.process == Some(world.inner.borrow().current);
                world.give_permit(cell, own, ("Waker", "wake"), self.place);
            }
        }
    }

    /// Waits until the waker is called.
    pub fn wait(&self) {
        match world() {
            None => thread::park(),
            Some(world) => {
                if world.spuriously(Spurious::Poll, self.place) {
                    return;
                }
                let cell = world.cell(&self.meta, "Waker");
                world.take_permit(cell, ("Waker", "wait to be woken"), self.place);
            }
        }
    }
}

impl ThreadWaker {
    /// Waits until the waker is called or the time is over; a model explores both. Returns false
    /// only if the time is known to be over; outside a model it always returns true.
    pub fn wait_or_time_out(&self, timeout: Duration) -> bool {
        let Some(world) = world() else {
            thread::park_timeout(timeout);
            return true;
        };
        let what = ("Waker", "wait to be woken or for the time");
        let cell = world.cell(&self.meta, "Waker");
        if world.memory.is_some() {
            let woken = world.try_permit(cell, what, self.place);
            if !woken {
                world.timed_out("a timer", self.place);
            }
            return woken;
        }
        if world.try_permit(cell, what, self.place) {
            return true;
        }
        let woken = world.wait_or_time_out(cell, what, self.place);
        if woken {
            let mut inner = world.inner.borrow_mut();
            let current = inner.current;
            inner.clocks.acquire(current, cell);
        }
        woken
    }
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.wake_thread();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_thread();
    }
}

/// Polls a future until it is ready, and waits for its waker between polls.
///
/// ```
/// use mazurka_rt::{future, model};
///
/// model(|| assert_eq!(future::block_on(async { 7 }), 7));
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let thread_waker = ThreadWaker::new(Location::caller());
    let waker = Waker::from(thread_waker.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        thread_waker.wait();
    }
}

/// The waker of a task of an executor: the index of the task, and the queue to which waking the
/// task adds this index.
struct Task {
    number: usize,
    ready: Arc<Ready>,
}

/// The queue of tasks that are ready to be polled.
struct Ready {
    queue: Mutex<VecDeque<usize>>,
    thread_waker: Arc<ThreadWaker>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let mut queue = self.ready.queue.lock().unwrap_or_else(|e| e.into_inner());
        if !queue.contains(&self.number) {
            queue.push_back(self.number);
        }
        drop(queue);
        self.ready.thread_waker.wake_thread();
    }
}

/// An executor that runs several futures on the thread that created it, in the order in which they
/// become ready.
///
/// ```
/// use mazurka_rt::future::Executor;
/// use mazurka_rt::sync::atomic::{AtomicU32, Ordering::SeqCst};
/// use mazurka_rt::{model, sync::Arc};
///
/// model(|| {
///     let sum = Arc::new(AtomicU32::new(0));
///     let mut executor = Executor::new();
///     for k in 1..=3 {
///         let sum = sum.clone();
///         executor.spawn(async move {
///             sum.fetch_add(k, SeqCst);
///         });
///     }
///     executor.run();
///     assert_eq!(sum.load(SeqCst), 6);
/// });
/// ```
pub struct Executor {
    tasks: Vec<Option<Pin<Box<dyn Future<Output = ()>>>>>,
    ready: Arc<Ready>,
}

impl Default for Executor {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl Executor {
    /// Makes an executor without tasks.
    #[track_caller]
    pub fn new() -> Self {
        Self {
            tasks: Vec::new(),
            ready: Arc::new(Ready {
                queue: Mutex::new(VecDeque::new()),
                thread_waker: ThreadWaker::new(Location::caller()),
            }),
        }
    }

    /// Adds a task.
    pub fn spawn<F: Future<Output = ()> + 'static>(&mut self, future: F) {
        self.tasks.push(Some(Box::pin(future)));
        let mut queue = self.ready.queue.lock().unwrap_or_else(|e| e.into_inner());
        queue.push_back(self.tasks.len() - 1);
    }

    /// Runs all tasks to completion.
    pub fn run(&mut self) {
        while self.tasks.iter().any(Option::is_some) {
            let next = {
                let mut queue = self.ready.queue.lock().unwrap_or_else(|e| e.into_inner());
                queue.pop_front()
            };
            let Some(number) = next else {
                self.ready.thread_waker.wait();
                continue;
            };
            let Some(task) = &mut self.tasks[number] else {
                continue;
            };
            let ready = self.ready.clone();
            let waker = Waker::from(Arc::new(Task { number, ready }));
            if task
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_ready()
            {
                self.tasks[number] = None;
            }
        }
    }
}
