//! Permits that tasks wait for in the order of their requests: the core of semaphores, locks and
//! bounded channels.
//!
//! As in tokio, a task that asks for more permits than are available takes all available ones and
//! waits for the missing ones. So no later task overtakes it. If the task gives up its wait, its
//! permits are returned.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use mazurka_rt::facade::Monitor;

use super::{Wakers, wake_all};
use crate::drive::Place;

/// Permits, and the tasks that wait for them.
pub(crate) struct Permits {
    pub available: usize,
    pub closed: bool,
    queue: VecDeque<Waiting>,
    next: u64,
}

/// A waiting task.
struct Waiting {
    ticket: u64,
    /// Number of permits that the task still needs.
    missing: usize,
    /// `None` after the permits were closed, and the waker was called.
    waker: Option<Waker>,
}

/// A request of a task, and its place in the queue.
#[derive(Debug)]
pub(crate) struct Ticket {
    wanted: usize,
    queued: Option<u64>,
}

impl Ticket {
    pub fn new(wanted: usize) -> Self {
        Self {
            wanted,
            queued: None,
        }
    }

    /// Whether the task is in the queue, or has left it with all its permits and was not polled
    /// since. If such a task gives up its wait, it may have permits to return.
    pub fn is_queued(&self) -> bool {
        self.queued.is_some()
    }
}

/// Why permits were not taken at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Closed,
    NotEnough,
}

/// The permits are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed;

impl Permits {
    pub const fn new(available: usize) -> Self {
        Self {
            available,
            closed: false,
            queue: VecDeque::new(),
            next: 0,
        }
    }

    /// Takes permits if there are enough.
    pub fn try_take(&mut self, count: usize) -> Result<(), Refusal> {
        if self.closed {
            return Err(Refusal::Closed);
        }
        match self.available.checked_sub(count) {
            Some(left) => {
                self.available = left;
                Ok(())
            }
            None => Err(Refusal::NotEnough),
        }
    }

    /// Takes permits, or enlists for the missing ones. Also returns whether this counts as a change
    /// of the state: it counts if the task took permits, or has received all permits that it waited
    /// for. Enlisting alone does not count, because a spinning task enlists in each round.
    pub fn poll(&mut self, ticket: &mut Ticket, waker: &Waker) -> (Poll<Result<(), Closed>>, bool) {
        if self.closed {
            return (Poll::Ready(Err(Closed)), false);
        }
        let Some(number) = ticket.queued else {
            let taken = self.available.min(ticket.wanted);
            self.available -= taken;
            let missing = ticket.wanted - taken;
            if missing == 0 {
                return (Poll::Ready(Ok(())), true);
            }
            self.next += 1;
            ticket.queued = Some(self.next);
            self.queue.push_back(Waiting {
                ticket: self.next,
                missing,
                waker: Some(waker.clone()),
            });
            return (Poll::Pending, taken > 0);
        };
        match self.queue.iter_mut().find(|one| one.ticket == number) {
            Some(waiting) => {
                waiting.waker = Some(waker.clone());
                (Poll::Pending, false)
            }
            None => {
                ticket.queued = None;
                (Poll::Ready(Ok(())), true)
            }
        }
    }

    /// Removes a task from the queue, and makes its permits available again. Returns whether it had
    /// any.
    pub fn cancel(&mut self, ticket: &mut Ticket, wakers: &mut Wakers) -> bool {
        let Some(number) = ticket.queued.take() else {
            return false;
        };
        let place = self.queue.iter().position(|one| one.ticket == number);
        let missing = place.and_then(|place| self.queue.remove(place));
        let missing = missing.map_or(0, |waiting| waiting.missing);
        let got = ticket.wanted - missing;
        self.add(got, wakers);
        got > 0
    }

    /// Adds permits; the tasks that have waited longest get them first.
    pub fn add(&mut self, mut count: usize, wakers: &mut Wakers) {
        while count > 0 && !self.closed {
            let Some(first) = self.queue.front_mut() else {
                break;
            };
            let given = first.missing.min(count);
            first.missing -= given;
            count -= given;
            if first.missing == 0 {
                wakers.extend(self.queue.pop_front().and_then(|first| first.waker));
            }
        }
        self.available += count;
    }

    /// Refuses all tasks from now on.
    pub fn close(&mut self, wakers: &mut Wakers) {
        self.closed = true;
        // Permits that they already have are returned when they give up.
        wakers.extend(self.queue.iter_mut().filter_map(|one| one.waker.take()));
    }
}

/// Adds permits and wakes tasks, as one step of the model.
pub(crate) fn release(permits: &Monitor<Permits>, count: usize, verb: &'static str, place: Place) {
    let wakers = permits.update(verb, place, |permits| {
        let mut wakers = Vec::new();
        permits.add(count, &mut wakers);
        (wakers, true)
    });
    wake_all(wakers);
}

/// Waits for permits.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct Acquire<'a> {
    permits: &'a Monitor<Permits>,
    ticket: Ticket,
    verb: &'static str,
    place: Place,
}

impl<'a> Acquire<'a> {
    pub fn new(
        permits: &'a Monitor<Permits>,
        wanted: usize,
        verb: &'static str,
        place: Place,
    ) -> Self {
        Self {
            permits,
            ticket: Ticket::new(wanted),
            verb,
            place,
        }
    }
}

impl Future for Acquire<'_> {
    type Output = Result<(), Closed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let ticket = &mut this.ticket;
        this.permits.update(this.verb, this.place, |permits| {
            permits.poll(ticket, cx.waker())
        })
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        if !self.ticket.is_queued() {
            return;
        }
        let ticket = &mut self.ticket;
        let wakers = self.permits.update("give up", self.place, |permits| {
            let mut wakers = Vec::new();
            let changed = permits.cancel(ticket, &mut wakers);
            (wakers, changed)
        });
        wake_all(wakers);
    }
}
