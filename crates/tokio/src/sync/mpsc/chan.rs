//! A channel with any number of senders and one receiver: a queue, and permits for its room.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use mazurka_rt::facade::Monitor;
use mazurka_rt::sync::Arc;

use super::error::TryRecvError;
use crate::drive::Place;
use crate::sync::permits::{Closed, Permits, Refusal, Ticket};
use crate::sync::{Wakers, wake_all};

/// The mutable part of a channel.
struct State<T> {
    queue: VecDeque<T>,
    /// The remaining room; `None` if the channel is unbounded.
    room: Option<Permits>,
    /// Whether the receiver is gone or has been closed, so that no new message is accepted.
    closed: bool,
    /// Whether all senders are gone.
    senders_gone: bool,
    receiver: Option<Waker>,
    /// Wakers of the tasks that wait until the receiver is gone.
    watchers: Wakers,
}

/// A channel. Each operation is one step on its state.
pub(crate) struct Chan<T> {
    state: Monitor<State<T>>,
    pub bound: Option<usize>,
}

impl<T> State<T> {
    /// Whether no permit is in use.
    fn is_idle(&self, bound: Option<usize>) -> bool {
        let available = self.room.as_ref().map(|room| room.available);
        available == bound
    }

    /// Gives room back to the channel. Returns the wakers to call.
    fn add_room(&mut self, count: usize, bound: Option<usize>) -> Wakers {
        let mut wakers = Vec::new();
        if let Some(room) = &mut self.room {
            room.add(count, &mut wakers);
        }
        // The receiver may be waiting for the last permit.
        if self.closed && self.is_idle(bound) {
            wakers.extend(self.receiver.take());
        }
        wakers
    }

    fn pop(&mut self, bound: Option<usize>) -> Option<(T, Wakers)> {
        let message = self.queue.pop_front()?;
        Some((message, self.add_room(1, bound)))
    }
}

impl<T> Chan<T> {
    #[track_caller]
    pub fn new(bound: Option<usize>) -> Arc<Self> {
        Arc::new(Self {
            state: Monitor::new(
                "mpsc",
                State {
                    queue: VecDeque::new(),
                    room: bound.map(Permits::new),
                    closed: false,
                    senders_gone: false,
                    receiver: None,
                    watchers: Vec::new(),
                },
            ),
            bound,
        })
    }

    /// Stores a message for which room was reserved.
    pub fn push(&self, message: T, place: Place) {
        let waker = self.state.update("send", place, |state| {
            state.queue.push_back(message);
            (state.receiver.take(), true)
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes room for `count` messages if there is enough. If a message is given, the same step
    /// stores it.
    pub fn try_take(
        &self,
        count: usize,
        message: Option<T>,
        (verb, place): (&'static str, Place),
    ) -> Result<(), (Refusal, Option<T>)> {
        let taken = self.state.update(verb, place, |state| {
            let taken = match &mut state.room {
                _ if state.closed => Err(Refusal::Closed),
                Some(room) => room.try_take(count),
                None => Ok(()),
            };
            if let Err(refusal) = taken {
                return (Err((refusal, message)), false);
            }
            let sent = message.is_some();
            state.queue.extend(message);
            let waker = if sent { state.receiver.take() } else { None };
            (Ok(waker), true)
        });
        if let Some(waker) = taken? {
            waker.wake();
        }
        Ok(())
    }

    /// Gives room back to the channel.
    pub fn give_back(&self, count: usize, place: Place) {
        let wakers = self.state.update("release", place, |state| {
            (state.add_room(count, self.bound), true)
        });
        wake_all(wakers);
    }

    /// Receives a message; `None` if the channel is empty and no message will come.
    pub fn poll_recv(&self, waker: &Waker, place: Place) -> Poll<Option<T>> {
        let received = self
            .state
            .update("recv", place, |state| match state.pop(self.bound) {
                Some((message, wakers)) => (Poll::Ready(Some((message, wakers))), true),
                None if state.senders_gone => (Poll::Ready(None), false),
                None if state.closed && state.is_idle(self.bound) => (Poll::Ready(None), false),
                None => {
                    state.receiver = Some(waker.clone());
                    (Poll::Pending, false)
                }
            });
        received.map(|received| {
            received.map(|(message, wakers)| {
                wake_all(wakers);
                message
            })
        })
    }

    /// Receives up to `limit` messages. Returns how many; 0 if the channel is empty and no message
    /// will come.
    pub fn poll_recv_many(
        &self,
        buffer: &mut Vec<T>,
        limit: usize,
        (waker, place): (&Waker, Place),
    ) -> Poll<usize> {
        if limit == 0 {
            return Poll::Ready(0);
        }
        let received = self.state.update("recv_many", place, |state| {
            let count = limit.min(state.queue.len());
            if count > 0 {
                buffer.extend(state.queue.drain(..count));
                return (
                    Poll::Ready((count, state.add_room(count, self.bound))),
                    true,
                );
            }
            if state.senders_gone || (state.closed && state.is_idle(self.bound)) {
                return (Poll::Ready((0, Vec::new())), false);
            }
            state.receiver = Some(waker.clone());
            (Poll::Pending, false)
        });
        received.map(|(count, wakers)| {
            wake_all(wakers);
            count
        })
    }

    /// Receives a message if there is one.
    pub fn try_recv(&self, place: Place) -> Result<T, TryRecvError> {
        let (message, wakers) =
            self.state
                .update("try_recv", place, |state| match state.pop(self.bound) {
                    Some(received) => (Ok(received), true),
                    None if state.senders_gone => (Err(TryRecvError::Disconnected), false),
                    None => (Err(TryRecvError::Empty), false),
                })?;
        wake_all(wakers);
        Ok(message)
    }

    /// Rejects new messages from now on.
    pub fn close(&self, place: Place) {
        let wakers = self.state.update("close", place, |state| {
            let mut wakers = std::mem::take(&mut state.watchers);
            state.closed = true;
            if let Some(room) = &mut state.room {
                room.close(&mut wakers);
            }
            (wakers, true)
        });
        wake_all(wakers);
    }

    /// Handles the drop of the receiver.
    pub fn drop_receiver(&self, place: Place) {
        let (wakers, unread) = self.state.update("drop receiver", place, |state| {
            let mut wakers = std::mem::take(&mut state.watchers);
            state.closed = true;
            let unread = std::mem::take(&mut state.queue);
            if let Some(room) = &mut state.room {
                room.close(&mut wakers);
                room.add(unread.len(), &mut wakers);
            }
            ((wakers, unread), true)
        });
        wake_all(wakers);
        drop(unread);
    }

    /// Handles the drop of the last sender.
    pub fn drop_senders(&self, place: Place) {
        let waker = self.state.update("drop senders", place, |state| {
            state.senders_gone = true;
            (state.receiver.take(), true)
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub fn is_closed(&self, place: Place) -> bool {
        self.state.look("is_closed", place, |state| state.closed)
    }

    /// Whether no new message can come, as the receiver sees it.
    pub fn has_ended(&self, place: Place) -> bool {
        self.state.look("is_closed", place, |state| {
            state.closed || state.senders_gone
        })
    }

    pub fn len(&self, place: Place) -> usize {
        self.state.look("len", place, |state| state.queue.len())
    }

    /// Returns the room that is left.
    pub fn room(&self, place: Place) -> usize {
        let room = |state: &State<T>| state.room.as_ref().map_or(usize::MAX, |r| r.available);
        self.state.look("capacity", place, room)
    }

    /// Waits until the receiver is gone.
    pub fn closed(&self, place: Place) -> impl Future<Output = ()> + '_ {
        poll_fn(move |cx| {
            self.state.update("closed", place, |state| {
                if state.closed {
                    return (Poll::Ready(()), false);
                }
                let waker = cx.waker();
                if !state.watchers.iter().any(|known| known.will_wake(waker)) {
                    state.watchers.push(waker.clone());
                }
                (Poll::Pending, false)
            })
        })
    }

    /// Waits for room. If a message is given, the step that takes the room stores it.
    pub fn take(
        &self,
        count: usize,
        message: Option<T>,
        (verb, place): (&'static str, Place),
    ) -> Take<'_, T> {
        Take {
            chan: self,
            ticket: Ticket::new(count),
            message,
            verb,
            place,
        }
    }
}

/// Waits for room.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct Take<'a, T> {
    chan: &'a Chan<T>,
    ticket: Ticket,
    message: Option<T>,
    verb: &'static str,
    place: Place,
}

impl<T> Unpin for Take<'_, T> {}

impl<T> Future for Take<'_, T> {
    /// An error means that the channel is closed. It contains the message, if one was given.
    type Output = Result<(), Option<T>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let (ticket, message) = (&mut this.ticket, &mut this.message);
        let polled = this.chan.state.update(this.verb, this.place, |state| {
            let (polled, changed) = match &mut state.room {
                _ if state.closed => (Poll::Ready(Err(Closed)), false),
                Some(room) => room.poll(ticket, cx.waker()),
                None => (Poll::Ready(Ok(())), true),
            };
            let mut waker = None;
            if polled == Poll::Ready(Ok(()))
                && let Some(message) = message.take()
            {
                state.queue.push_back(message);
                waker = state.receiver.take();
            }
            (polled.map(|taken| taken.map(|()| waker)), changed)
        });
        match polled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(Closed)) => Poll::Ready(Err(this.message.take())),
            Poll::Ready(Ok(waker)) => {
                if let Some(waker) = waker {
                    waker.wake();
                }
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl<T> Drop for Take<'_, T> {
    fn drop(&mut self) {
        if !self.ticket.is_queued() {
            return;
        }
        let ticket = &mut self.ticket;
        let chan = self.chan;
        let wakers = chan.state.update("give up", self.place, |state| {
            let mut wakers = Vec::new();
            let room = state.room.as_mut();
            let changed = room.is_some_and(|room| room.cancel(ticket, &mut wakers));
            wakers.extend(state.add_room(0, chan.bound));
            (wakers, changed)
        });
        wake_all(wakers);
    }
}
