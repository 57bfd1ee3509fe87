//! `tokio::sync::Notify`: a permit that tasks wait for in the order of their requests.
//!
//! `notify_one` wakes the task that has waited longest, or leaves a permit. `notify_waiters`
//! notifies every [`Notified`] that was made before the call, even one that was not polled yet, and
//! leaves no permit. If `notify_one` has chosen a task and the task gives up its wait, the
//! notification passes to the next task.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use mazurka_rt::facade::Monitor;

use super::{Wakers, wake_all};
use crate::drive::Place;

/// Notifies tasks.
pub struct Notify {
    state: Monitor<State>,
}

/// The mutable part of a [`Notify`]: whether there is a permit, the queue of waiting tasks (each
/// with its ticket and waker, the longest waiting first), and the ticket of the next one.
pub(crate) struct State {
    /// Whether the next task that waits is notified at once.
    permit: bool,
    /// Number of calls of `notify_waiters`.
    calls: u64,
    queue: VecDeque<(u64, Waker)>,
    /// The tickets of notified tasks that have not been polled since, each with whether
    /// `notify_one` notified it.
    notified: Vec<(u64, bool)>,
    next: u64,
}

impl State {
    pub const fn new() -> Self {
        Self {
            permit: false,
            calls: 0,
            queue: VecDeque::new(),
            notified: Vec::new(),
            next: 0,
        }
    }

    /// Notifies the task that has waited longest, or leaves a permit.
    fn notify_one(&mut self) -> Option<Waker> {
        let Some((ticket, waker)) = self.queue.pop_front() else {
            self.permit = true;
            return None;
        };
        self.notified.push((ticket, true));
        Some(waker)
    }

    /// Notifies all waiting tasks.
    fn notify_waiters(&mut self) -> Wakers {
        self.calls += 1;
        let waiting = std::mem::take(&mut self.queue);
        let notified = &mut self.notified;
        waiting
            .into_iter()
            .map(|(ticket, waker)| {
                notified.push((ticket, false));
                waker
            })
            .collect()
    }

    fn take_notification(&mut self, ticket: u64) -> Option<bool> {
        let at = self.notified.iter().position(|(one, _)| *one == ticket)?;
        Some(self.notified.swap_remove(at).1)
    }
}

impl Notify {
    /// Makes an object without a notification.
    #[track_caller]
    pub fn new() -> Self {
        Self::const_new()
    }

    /// Makes an object without a notification, in a constant.
    #[track_caller]
    pub const fn const_new() -> Self {
        Self {
            state: Monitor::new("Notify", State::new()),
        }
    }

    /// Returns the object that this model uses: a static has a copy in each execution.
    fn here(&self) -> &Self {
        // SAFETY: the monitor is the whole object, and owns no memory as long as it was not used.
        #[allow(unsafe_code)]
        unsafe {
            self.state.here(self, |_| true)
        }
    }

    /// Waits for a notification. Every later call of [`Notify::notify_waiters`] counts, even one
    /// that comes before the future is polled.
    #[track_caller]
    pub fn notified(&self) -> Notified<'_> {
        let (notify, place) = (self.here(), Location::caller());
        let calls = notify.state.look("notified", place, |state| state.calls);
        Notified {
            notify,
            calls,
            stage: Stage::Start,
            place,
        }
    }

    /// Notifies the task that has waited longest. If no task waits, the next task that waits is
    /// notified at once.
    #[track_caller]
    pub fn notify_one(&self) {
        let state = &self.here().state;
        let waker = state.update("notify_one", Location::caller(), |state| {
            let before = state.permit;
            let waker = state.notify_one();
            let changed = waker.is_some() || !before;
            (waker, changed)
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Notifies all tasks that are waiting now.
    #[track_caller]
    pub fn notify_waiters(&self) {
        self.notify_waiters_at("notify_waiters", Location::caller());
    }

    fn notify_waiters_at(&self, verb: &'static str, place: Place) {
        let state = &self.here().state;
        wake_all(state.update(verb, place, |state| (state.notify_waiters(), true)));
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notify").finish_non_exhaustive()
    }
}

/// The stage of a [`Notified`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Start,
    Waiting(u64),
    Done,
}

/// Waits for a notification.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Notified<'a> {
    notify: &'a Notify,
    calls: u64,
    stage: Stage,
    place: Place,
}

impl Notified<'_> {
    /// Enlists among the waiting tasks, as polling would. Returns whether it is already notified.
    pub fn enable(mut self: Pin<&mut Self>) -> bool {
        self.poll_with(None).is_ready()
    }

    fn poll_with(&mut self, waker: Option<&Waker>) -> Poll<()> {
        if self.stage == Stage::Done {
            return Poll::Ready(());
        }
        let stage = self.stage;
        let calls = self.calls;
        let waker = waker.unwrap_or(Waker::noop());
        let next = self
            .notify
            .state
            .update("wait", self.place, |state| match stage {
                Stage::Start if state.permit => {
                    state.permit = false;
                    (Stage::Done, true)
                }
                Stage::Start if state.calls != calls => (Stage::Done, true),
                Stage::Start => {
                    state.next += 1;
                    state.queue.push_back((state.next, waker.clone()));
                    (Stage::Waiting(state.next), false)
                }
                Stage::Waiting(ticket) => {
                    if state.take_notification(ticket).is_some() {
                        return (Stage::Done, true);
                    }
                    let waiting = state.queue.iter_mut().find(|(one, _)| *one == ticket);
                    if let Some((_, known)) = waiting {
                        known.clone_from(waker);
                    }
                    (stage, false)
                }
                Stage::Done => (Stage::Done, false),
            });
        self.stage = next;
        match next {
            Stage::Done => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_with(Some(cx.waker()))
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        let Stage::Waiting(ticket) = self.stage else {
            return;
        };
        let state = &self.notify.state;
        let waker = state.update("give up", self.place, |state| {
            state.queue.retain(|(one, _)| *one != ticket);
            // A notification by `notify_one` is passed on.
            let alone = state.take_notification(ticket) == Some(true);
            (alone.then(|| state.notify_one()).flatten(), alone)
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl fmt::Debug for Notified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notified").finish_non_exhaustive()
    }
}

/// The futures of this module by name, as in tokio.
pub mod futures {
    pub use super::Notified;
}
