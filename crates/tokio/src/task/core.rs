//! The life of a task.
//!
//! Other tasks act on a task through two objects: `control` cancels it, and `end` is for awaiting
//! it. A task that panics ends its thread with the same panic. So `mazurka-rt` notices if a task
//! that panicked is never joined.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use mazurka_rt::facade::{Monitor, ThreadWaker, in_model};
use mazurka_rt::{sync, thread};

use super::error::{Id, JoinError};
use super::handle::JoinHandle;
use super::set::Finished;
use crate::drive::{Context, Place, current};
use crate::runtime::Shared;

/// The outcome of a task that has ended.
enum Outcome<T> {
    Value(T),
    Cancelled,
    /// The thread has the panic payload.
    Panicked,
}

/// The state by which a task is cancelled.
struct Control {
    cancelled: bool,
    waker: Option<Waker>,
}

/// The end of a task: its outcome, and the wakers to call.
struct End<T> {
    ended: bool,
    outcome: Option<Outcome<T>>,
    joiner: Option<Waker>,
    /// Whether the result will never be taken, because the `JoinHandle` was dropped.
    detached: bool,
    /// Wakes the thread that shuts down the runtime and waits for this task.
    shutdown_waker: Option<Waker>,
}

/// The shared state of a task.
pub(crate) struct Core<T> {
    pub id: Id,
    place: Place,
    control: Monitor<Control>,
    end: Monitor<End<T>>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
    children: sync::Arc<ChildTasks>,
}

impl<T> Core<T> {
    /// Cancels the task at its next wait.
    pub fn abort(&self, place: Place) {
        let waker = self.control.update("abort", place, |control| {
            let changed = !std::mem::replace(&mut control.cancelled, true);
            (control.waker.clone().filter(|_| changed), changed)
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether the task has ended.
    pub fn has_ended(&self, place: Place) -> bool {
        self.end.look("is_finished", place, |end| end.ended)
    }

    /// Returns the result of the task, once it has ended.
    pub fn poll_join(&self, waker: &Waker, place: Place) -> Poll<Result<T, JoinError>> {
        let outcome = self.end.update("join", place, |end| {
            if end.ended {
                (Some(end.outcome.take()), true)
            } else {
                end.joiner = Some(waker.clone());
                (None, false)
            }
        });
        let Some(outcome) = outcome else {
            return Poll::Pending;
        };
        let outcome = outcome.expect("JoinHandle polled after completion");
        Poll::Ready(match outcome {
            Outcome::Value(value) => Ok(value),
            Outcome::Cancelled => Err(JoinError::cancelled(self.id)),
            Outcome::Panicked => {
                let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
                let thread = thread.take().expect("it is joined once");
                let payload = thread.join().err().unwrap_or_else(|| Box::new("a panic"));
                Err(JoinError::panicked(self.id, payload))
            }
        })
    }

    /// Drops the result: now if the task has ended, otherwise when it ends.
    pub fn detach(&self, place: Place) {
        let outcome = self.end.update("detach", place, |end| {
            end.detached = true;
            (
                end.outcome
                    .take_if(|outcome| matches!(outcome, Outcome::Value(_))),
                true,
            )
        });
        drop(outcome);
    }

    /// Records that the task has ended with this outcome.
    fn ends(&self, outcome: Outcome<T>, set: Option<&SetMembership>) {
        let (wakers, unwanted) = self.end.update("end", self.place, |end| {
            let unwanted = if end.detached {
                Some(outcome)
            } else {
                end.outcome = Some(outcome);
                None
            };
            end.ended = true;
            (
                ([end.joiner.take(), end.shutdown_waker.take()], unwanted),
                true,
            )
        });
        drop(unwanted);
        for waker in wakers.into_iter().flatten() {
            waker.wake();
        }
        if let Some((finished, key)) = set {
            finished.push(*key, self.place);
        }
    }
}

/// The [`JoinSet`](super::JoinSet) that a task belongs to, and its key in the set.
pub(crate) type SetMembership = (sync::Arc<Finished>, u64);

/// A task, whatever the type of its result.
pub(crate) trait Supervised: Send + Sync {
    fn abort(&self, place: Place);
    fn has_ended(&self, place: Place) -> bool;
    /// Whether the task has ended. For use outside a model, because this makes no step.
    fn has_ended_without_step(&self) -> bool;
    fn await_end(&self, place: Place);
    fn children(&self) -> &ChildTasks;
    fn id(&self) -> Id;
}

impl<T: Send> Supervised for sync::Arc<Core<T>> {
    fn abort(&self, place: Place) {
        Core::abort(self, place);
    }

    fn has_ended(&self, place: Place) -> bool {
        Core::has_ended(self, place)
    }

    fn has_ended_without_step(&self) -> bool {
        self.end.peek(|end| end.ended)
    }

    fn await_end(&self, place: Place) {
        let thread_waker = ThreadWaker::new(place);
        let waker = Waker::from(thread_waker.clone());
        loop {
            let ended = self.end.update("wait for its end", place, |end| {
                if !end.ended {
                    end.shutdown_waker = Some(waker.clone());
                }
                (end.ended, false)
            });
            if ended {
                return;
            }
            thread_waker.wait();
        }
    }

    fn children(&self) -> &ChildTasks {
        &self.children
    }

    fn id(&self) -> Id {
        self.id
    }
}

type Member = std::sync::Arc<dyn Supervised>;

/// The tasks that a task has started.
pub(crate) struct ChildTasks {
    parent: Option<Id>,
    members: Monitor<(u64, Vec<Member>)>,
}

impl ChildTasks {
    #[track_caller]
    pub fn new(parent: Option<Id>) -> sync::Arc<Self> {
        sync::Arc::new(Self {
            parent,
            members: Monitor::new("tasks", (0, Vec::new())),
        })
    }

    /// Returns the identifier of a new task.
    fn next(&self, place: Place) -> Id {
        let number = self.members.update("spawn", place, |(next, members)| {
            if !in_model() {
                members.retain(|member| !member.has_ended_without_step());
            }
            *next += 1;
            (*next - 1, true)
        });
        Id::of_child(self.parent, number)
    }

    fn all(&self, place: Place) -> Vec<Member> {
        self.members
            .look("shut down", place, |(_, members)| members.clone())
    }

    /// Cancels the tasks, and those that they have started.
    pub fn abort_all(&self, place: Place) {
        for member in self.all(place) {
            if !member.has_ended(place) {
                member.abort(place);
            }
            member.children().abort_all(place);
        }
    }

    /// Waits for the end of the cancelled tasks, and of those that they have started.
    pub fn await_ends(&self, place: Place) {
        for member in self.all(place) {
            member.await_end(place);
            // The task may have started others before it noticed its cancellation.
            member.children().abort_all(place);
            member.children().await_ends(place);
        }
    }
}

/// Describes a task to start.
pub(crate) struct TaskStart<'a> {
    runtime: &'a std::sync::Arc<Shared>,
    set: Option<SetMembership>,
    place: Place,
}

impl<'a> TaskStart<'a> {
    pub fn task(runtime: &'a std::sync::Arc<Shared>, place: Place) -> Self {
        let set = None;
        Self {
            runtime,
            set,
            place,
        }
    }

    /// Describes a task of a set.
    pub fn in_set(self, set: SetMembership) -> Self {
        Self {
            set: Some(set),
            ..self
        }
    }

    /// Makes a task, and starts the thread that runs it.
    #[track_caller]
    fn start<T, L>(self, body: L) -> JoinHandle<T>
    where
        T: Send + 'static,
        L: FnOnce(TaskThread<T>) + Send + 'static,
    {
        let place = self.place;
        let here = current().filter(|c| std::sync::Arc::ptr_eq(&c.runtime, self.runtime));
        let now = current().map_or(Duration::ZERO, |context| context.now.get());
        let parent = match here {
            Some(context) => context.children.clone(),
            None => self.runtime.children.clone(),
        };
        let id = parent.next(place);
        let core = sync::Arc::new(Core {
            id,
            place,
            control: Monitor::new(
                "task",
                Control {
                    cancelled: false,
                    waker: None,
                },
            ),
            end: Monitor::new(
                "task",
                End {
                    ended: false,
                    outcome: None,
                    joiner: None,
                    detached: false,
                    shutdown_waker: None,
                },
            ),
            thread: Mutex::default(),
            children: ChildTasks::new(Some(id)),
        });
        // In a model no other thread reads the list of children before this thread makes its next
        // step, so adding to the list needs no step.
        let member: Member = std::sync::Arc::new(core.clone());
        parent.members.peek(|(_, members)| members.push(member));
        let thread_state = TaskThread {
            core: core.clone(),
            runtime: self.runtime.clone(),
            set: self.set,
            now,
        };
        let thread = thread::spawn(move || body(thread_state));
        *core.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        JoinHandle::new(core)
    }

    /// Starts a task.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let future = Box::pin(future);
        self.start(move |thread_state| thread_state.poll_to_the_end(future))
    }

    /// Starts a thread for a blocking function.
    #[track_caller]
    pub fn spawn_blocking<F, T>(self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.start(move |thread_state| thread_state.call(f))
    }
}

/// The state of a task's thread.
struct TaskThread<T> {
    core: sync::Arc<Core<T>>,
    runtime: std::sync::Arc<Shared>,
    set: Option<SetMembership>,
    now: Duration,
}

impl<T> TaskThread<T> {
    fn context(&self, waker: Waker) -> Rc<Context> {
        let runtime = self.runtime.clone();
        let children = self.core.children.clone();
        let context = Context::new(runtime, Some(self.core.id), children, waker);
        context.now.set(self.now);
        Rc::new(context)
    }

    /// Ends the task; if it panicked, ends the thread by the same panic.
    fn end(self, outcome: Result<Outcome<T>, Box<dyn Any + Send>>, polled: bool) {
        let (outcome, panic) = match outcome {
            Ok(outcome) => (outcome, None),
            Err(payload) => (Outcome::Panicked, Some(payload)),
        };
        self.core.ends(outcome, self.set.as_ref());
        if polled {
            self.runtime.leave("end", self.core.place);
        }
        drop(self);
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }

    fn poll_to_the_end<F: Future<Output = T>>(self, future: Pin<Box<F>>) {
        let place = self.core.place;
        let thread_waker = ThreadWaker::new(place);
        let waker = Waker::from(thread_waker.clone());
        let context = self.context(waker.clone());
        let mut future = Some(future);
        let mut started = false;
        let outcome = loop {
            self.runtime.enter("poll", place);
            let control = &self.core.control;
            let cancelled = if std::mem::replace(&mut started, true) {
                control.look("go on", place, |control| control.cancelled)
            } else {
                control.update("start", place, |control| {
                    control.waker = Some(waker.clone());
                    (control.cancelled, true)
                })
            };
            let polled = catch_unwind(AssertUnwindSafe(|| match &mut future {
                Some(future) if !cancelled => context.poll(future.as_mut()),
                _ => Poll::Pending,
            }));
            let outcome = match polled {
                Ok(Poll::Pending) if !cancelled => {
                    self.runtime.leave("wait", place);
                    context.wait(&thread_waker);
                    continue;
                }
                Ok(Poll::Pending) => Ok(Outcome::Cancelled),
                Ok(Poll::Ready(value)) => Ok(Outcome::Value(value)),
                Err(payload) => Err(payload),
            };
            let dropped = catch_unwind(AssertUnwindSafe(|| {
                context.within(|| drop(future.take()));
            }));
            break match (outcome, dropped) {
                (Ok(Outcome::Cancelled), Err(payload)) => Err(payload),
                (outcome, _) => outcome,
            };
        };
        self.end(outcome, true);
    }

    fn call(self, f: impl FnOnce() -> T) {
        let place = self.core.place;
        let cancelled = self.core.control.look("start", place, |c| c.cancelled);
        let context = self.context(Waker::noop().clone());
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let _entered = crate::drive::Entered::new(Some(context));
            (!cancelled).then(f)
        }));
        let outcome = outcome.map(|value| value.map_or(Outcome::Cancelled, Outcome::Value));
        self.end(outcome, false);
    }
}
