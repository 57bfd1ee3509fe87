//! How futures are polled: the context of a polling thread, its timers, and the loop.
//!
//! A thread polls one future at a time, in a loop: it polls the future, and waits until the future
//! has to be polled again. The [`Context`] of the thread holds what the future and this loop share:
//! the timers that the loop waits for, and whether the future yields. In a model, each wait of the
//! loop may be ended by a timer. Then the earliest timer fires and sets the clock of the thread to
//! its deadline. Only timers and `time::advance` move that clock.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context as PollContext, Poll, Waker};
use std::time::{Duration, Instant};

use mazurka_rt::facade::{self, ThreadWaker};

use crate::runtime::Shared;
use crate::task::{ChildTasks, Id};

/// A location in the user's source.
pub(crate) type Place = &'static Location<'static>;

/// A moment that a future waits for.
pub(crate) struct Timer {
    pub deadline: Instant,
    fired: AtomicBool,
    /// The number of the context whose loop waits for the timer.
    owner: AtomicU64,
}

/// A timer that a loop waits for, and the waker to call when it ends.
struct ArmedTimer {
    timer: Weak<Timer>,
    waker: Waker,
}

/// The state of a polling thread.
pub(crate) struct Context {
    pub runtime: Arc<Shared>,
    /// The task that the thread runs; `None` if it runs no task, as in `block_on`.
    pub id: Option<Id>,
    /// The tasks that it has started.
    pub children: mazurka_rt::sync::Arc<ChildTasks>,
    /// Whether it is polling a future, so that it must not block.
    pub is_polling: Cell<bool>,
    /// Number of polls so far.
    pub poll_count: Cell<u64>,
    /// Whether the current poll follows the end of a timer.
    by_timer: Cell<bool>,
    /// Where the future has yielded in the current poll; `None` if it has not.
    yielded: Cell<Option<Place>>,
    waker: Waker,
    timers: RefCell<Vec<ArmedTimer>>,
    /// The clock of the thread in a model, as the time since the start of the execution.
    pub now: Cell<Duration>,
    /// Identifies the context within the process.
    number: u64,
}

mazurka_rt::thread_local! {
    static CURRENT: RefCell<Option<Rc<Context>>> = const { RefCell::new(None) };
}

/// Returns the context of this thread.
pub(crate) fn current() -> Option<Rc<Context>> {
    CURRENT
        .try_with(|current| current.borrow().clone())
        .ok()
        .flatten()
}

/// Restores the previous context of the thread when dropped.
pub(crate) struct Entered(Option<Rc<Context>>);

impl Entered {
    pub fn new(context: Option<Rc<Context>>) -> Self {
        Self(CURRENT.with(|current| current.replace(context)))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.0.take();
        _ = CURRENT.try_with(|current| current.replace(before));
    }
}

/// Panics if the thread is polling a future.
#[track_caller]
pub(crate) fn may_block() {
    if current().is_some_and(|context| context.is_polling.get()) {
        panic!(
            "Cannot block the current thread from within a runtime. This happens because a function \
             attempted to block the current thread while the thread is being used to drive asynchronous tasks."
        );
    }
}

/// Runs a function in which the thread may block although it is polling.
pub(crate) fn blocking<R>(f: impl FnOnce() -> R) -> R {
    struct Polls(Rc<Context>, bool);
    impl Drop for Polls {
        fn drop(&mut self) {
            self.0.is_polling.set(self.1);
        }
    }
    let _polls = current().map(|context| {
        let before = context.is_polling.replace(false);
        Polls(context, before)
    });
    f()
}

/// Waits for a future in a thread that is not polling another one.
#[track_caller]
pub(crate) fn block<F: Future>(future: F) -> F::Output {
    may_block();
    mazurka_rt::future::block_on(future)
}

/// Returns the real moment that counts as the start of every execution.
fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

/// Returns the present time: in a model, the time of this thread's clock.
pub(crate) fn now() -> Instant {
    if facade::in_model() {
        start() + current().map_or(Duration::ZERO, |context| context.now.get())
    } else {
        Instant::now()
    }
}

impl Timer {
    pub fn new(deadline: Instant) -> Arc<Self> {
        Arc::new(Self {
            deadline,
            fired: AtomicBool::new(false),
            owner: AtomicU64::new(0),
        })
    }

    pub fn has_fired(&self) -> bool {
        self.fired.load(Ordering::Acquire)
    }

    pub fn fire(&self) {
        self.fired.store(true, Ordering::Release);
    }

    /// Makes the loop of this thread wait for the timer.
    ///
    /// # Panics
    ///
    /// If the thread polls outside a runtime.
    #[track_caller]
    pub fn arm(self: &Arc<Self>, waker: &Waker) {
        let context = current().expect(NO_RUNTIME);
        self.owner.store(context.number, Ordering::Relaxed);
        let mut timers = context.timers.borrow_mut();
        let known = timers.iter_mut().find(|armed| self.is(armed));
        match known {
            Some(armed) => armed.waker.clone_from(waker),
            None => timers.push(ArmedTimer {
                timer: Arc::downgrade(self),
                waker: waker.clone(),
            }),
        }
    }

    fn is(self: &Arc<Self>, armed: &ArmedTimer) -> bool {
        Weak::ptr_eq(&armed.timer, &Arc::downgrade(self))
    }
}

/// The panic message for a thread without a runtime.
pub(crate) const NO_RUNTIME: &str =
    "there is no reactor running, must be called from the context of a Tokio 1.x runtime";

impl Context {
    pub fn new(
        runtime: Arc<Shared>,
        id: Option<Id>,
        children: mazurka_rt::sync::Arc<ChildTasks>,
        waker: Waker,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            runtime,
            id,
            children,
            is_polling: Cell::new(false),
            poll_count: Cell::new(0),
            by_timer: Cell::new(false),
            yielded: Cell::new(None),
            waker,
            timers: RefCell::default(),
            now: Cell::new(current().map_or(Duration::ZERO, |context| context.now.get())),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Records that the future yields, if the loop polls it with its own waker. Returns false if
    /// the future has another waker (for example, in a `FuturesUnordered`); then the caller must
    /// call that waker.
    pub fn record_yield(&self, waker: &Waker, place: Place) -> bool {
        let direct = self.waker.will_wake(waker);
        if direct {
            self.yielded.set(Some(place));
        }
        direct
    }

    /// Polls a future once.
    pub fn poll<F: Future + ?Sized>(self: &Rc<Self>, future: Pin<&mut F>) -> Poll<F::Output> {
        let _entered = Entered::new(Some(self.clone()));
        let _polls = Polling(self.clone(), self.is_polling.replace(true));
        self.poll_count.set(self.poll_count.get() + 1);
        future.poll(&mut PollContext::from_waker(&self.waker))
    }

    /// Runs code of the future other than polling it, such as its destructor.
    pub fn within<R>(self: &Rc<Self>, f: impl FnOnce() -> R) -> R {
        let _entered = Entered::new(Some(self.clone()));
        let _polls = Polling(self.clone(), self.is_polling.replace(true));
        f()
    }

    /// Waits until the future has to be polled again.
    pub fn wait(&self, thread_waker: &ThreadWaker) {
        self.by_timer.set(false);
        if let Some(place) = self.yielded.take() {
            return facade::yield_at(place);
        }
        let earliest = {
            let mut timers = self.timers.borrow_mut();
            timers.retain(|armed| {
                let waits = |timer: &Timer| {
                    !timer.has_fired() && timer.owner.load(Ordering::Relaxed) == self.number
                };
                armed.timer.upgrade().is_some_and(|timer| waits(&timer))
            });
            let deadlines = timers.iter().filter_map(|armed| armed.timer.upgrade());
            deadlines.map(|timer| timer.deadline).min()
        };
        let Some(earliest) = earliest else {
            return thread_waker.wait();
        };
        let in_model = facade::in_model();
        let woken =
            thread_waker.wait_or_time_out(earliest.saturating_duration_since(Instant::now()));
        if !in_model {
            return self.fire_until(Instant::now());
        }
        if !woken {
            self.by_timer.set(true);
            self.set_clock(earliest.saturating_duration_since(start()));
            self.fire_until(earliest);
        }
    }

    /// Whether a timer may have ended before this poll without ending a wait of the loop. The
    /// timers of one thread end in the order of their deadlines, so the timer has not ended while a
    /// timer with an earlier deadline is left.
    pub fn may_have_ended(&self, timer: &Timer) -> bool {
        let timers = self.timers.borrow();
        let mut others = timers.iter().filter_map(|armed| armed.timer.upgrade());
        let earlier = |other: Arc<Timer>| !other.has_fired() && other.deadline < timer.deadline;
        !self.by_timer.get() && !others.any(earlier)
    }

    /// Moves the clock of the thread.
    pub fn set_clock(&self, to: Duration) {
        self.now.set(self.now.get().max(to));
    }

    /// Advances the clock of the thread, and ends the timers that are due by then.
    pub fn advance(&self, by: Duration) {
        let to = self.now.get() + by;
        self.set_clock(to);
        self.fire_until(start() + to);
    }

    fn fire_until(&self, now: Instant) {
        let fired: Vec<Waker> = {
            let mut timers = self.timers.borrow_mut();
            let due = timers.extract_if(.., |armed| {
                let timer = armed.timer.upgrade();
                timer.is_none_or(|timer| {
                    let due = timer.deadline <= now;
                    if due {
                        timer.fire();
                    }
                    due
                })
            });
            due.map(|armed| armed.waker).collect()
        };
        for waker in fired {
            // The loop polls its future next in any case, so its own waker need not be called.
            if !self.waker.will_wake(&waker) {
                waker.wake();
            }
        }
    }
}

/// Ends a poll when dropped.
struct Polling(Rc<Context>, bool);

impl Drop for Polling {
    fn drop(&mut self) {
        self.0.is_polling.set(self.1);
    }
}

/// Returns the time from the start of the execution to a moment, in a model.
pub(crate) fn since_start(moment: Instant) -> Duration {
    moment.saturating_duration_since(start())
}
