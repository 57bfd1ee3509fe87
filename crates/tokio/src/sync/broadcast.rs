//! A channel that delivers each message to every receiver. It keeps a limited number of messages,
//! so a slow receiver misses the oldest ones.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use mazurka_rt::facade::{Monitor, in_model};
use mazurka_rt::sync::Arc;

use super::wake_all;
use crate::drive::{self, Place};

/// Errors of the channel.
pub mod error {
    use std::error::Error;
    use std::fmt;

    /// A message that was not sent, because there is no receiver.
    #[derive(Debug)]
    pub struct SendError<T>(pub T);

    /// Why no message was received.
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub enum RecvError {
        /// There is no message, and all senders are gone.
        Closed,
        /// This many messages were missed. The next receive gets the oldest one left.
        Lagged(u64),
    }

    /// Why no message was received at once.
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub enum TryRecvError {
        /// There is no message.
        Empty,
        /// There is no message, and all senders are gone.
        Closed,
        /// This many messages were missed. The next receive gets the oldest one left.
        Lagged(u64),
    }

    impl<T> fmt::Display for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("channel closed")
        }
    }

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Self::Closed => f.write_str("channel closed"),
                Self::Lagged(missed) => write!(f, "channel lagged by {missed}"),
            }
        }
    }

    impl fmt::Display for TryRecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Self::Empty => f.write_str("channel empty"),
                Self::Closed => f.write_str("channel closed"),
                Self::Lagged(missed) => write!(f, "channel lagged by {missed}"),
            }
        }
    }

    impl<T: fmt::Debug> Error for SendError<T> {}
    impl Error for RecvError {}
    impl Error for TryRecvError {}
}

use error::{RecvError, SendError, TryRecvError};

/// A message that several receivers clone, one at a time.
struct Message<T> {
    lock: Mutex<()>,
    value: T,
}

// SAFETY: the value is reached under the lock, or in a model, whose threads share one real thread.
#[allow(unsafe_code)]
unsafe impl<T: Send> Sync for Message<T> {}

impl<T: Clone> Message<T> {
    fn copy(&self) -> T {
        // In a model, cloning the value may be a step, so another thread may clone it at the same
        // time; a lock of std would then block for ever.
        let _alone =
            (!in_model()).then(|| self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.value.clone()
    }
}

type SharedMessage<T> = std::sync::Arc<Message<T>>;

/// A slot of the buffer.
struct Slot<T> {
    /// `None` after all receivers have received it.
    message: Option<SharedMessage<T>>,
    /// The number of receivers that have not received it.
    left: usize,
}

struct State<T> {
    /// The most recent messages. The last of them is at position `next - 1`.
    slots: VecDeque<Slot<T>>,
    capacity: usize,
    /// The position of the next message.
    next: u64,
    receivers: usize,
    senders: usize,
    waiting: Vec<(u64, Waker)>,
    tickets: u64,
}

impl<T> State<T> {
    /// Takes the message at the position `at` of a receiver, and advances this position.
    fn take(&mut self, at: &mut u64) -> Result<SharedMessage<T>, TryRecvError> {
        let oldest = self.next - self.slots.len() as u64;
        if *at == self.next {
            return Err(match self.senders {
                0 => TryRecvError::Closed,
                _ => TryRecvError::Empty,
            });
        }
        if *at < oldest {
            let missed = oldest - *at;
            *at = oldest;
            return Err(TryRecvError::Lagged(missed));
        }
        let slot = &mut self.slots[(*at - oldest) as usize];
        *at += 1;
        slot.left -= 1;
        let message = match slot.left {
            0 => slot.message.take(),
            _ => slot.message.clone(),
        };
        Ok(message.expect("a receiver has not got it"))
    }
}

struct Channel<T>(Monitor<State<T>>);

/// Sends messages.
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
    place: Place,
}

/// Receives messages.
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
    /// The position of the next message to receive.
    next: u64,
    place: Place,
}

/// Makes a channel that keeps `capacity` messages, rounded up to a power of two.
///
/// # Panics
///
/// If the capacity is 0, or more than `usize::MAX / 2`.
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::make(capacity, 1);
    let receiver = Receiver {
        channel: sender.channel.clone(),
        next: 0,
        place: sender.place,
    };
    (sender, receiver)
}

impl<T> Sender<T> {
    #[track_caller]
    fn make(capacity: usize, receivers: usize) -> Self {
        assert!(capacity > 0, "broadcast channel capacity cannot be zero");
        assert!(
            capacity <= usize::MAX >> 1,
            "broadcast channel capacity exceeded `usize::MAX / 2`"
        );
        let state = State {
            slots: VecDeque::new(),
            capacity: capacity.next_power_of_two(),
            next: 0,
            receivers,
            senders: 1,
            waiting: Vec::new(),
            tickets: 0,
        };
        Self {
            channel: Arc::new(Channel(Monitor::new("broadcast", state))),
            place: Location::caller(),
        }
    }

    /// Makes a channel without a receiver.
    ///
    /// # Panics
    ///
    /// If the capacity is 0, or more than `usize::MAX / 2`.
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        Self::make(capacity, 0)
    }

    /// Sends a message to all receivers. Returns their number.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        let sent = self.channel.0.update("send", Location::caller(), |state| {
            if state.receivers == 0 {
                return (Err(SendError(value)), false);
            }
            let full = state.slots.len() == state.capacity;
            let old = if full { state.slots.pop_front() } else { None };
            state.slots.push_back(Slot {
                message: Some(SharedMessage::new(Message {
                    lock: Mutex::new(()),
                    value,
                })),
                left: state.receivers,
            });
            state.next += 1;
            let waiting = std::mem::take(&mut state.waiting);
            (Ok((state.receivers, waiting, old)), true)
        });
        let (receivers, waiting, old) = sent?;
        wake_all(waiting.into_iter().map(|(_, waker)| waker).collect());
        drop(old);
        Ok(receivers)
    }

    /// Makes a receiver of the messages that are sent from now on.
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::new(&self.channel, "subscribe", Location::caller())
    }

    /// Returns the number of messages that at least one receiver has not received.
    #[track_caller]
    pub fn len(&self) -> usize {
        self.channel.0.look("len", Location::caller(), |state| {
            let got = state.slots.iter().take_while(|slot| slot.left == 0);
            state.slots.len() - got.count()
        })
    }

    /// Whether all receivers have received all messages.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of receivers.
    #[track_caller]
    pub fn receiver_count(&self) -> usize {
        let place = Location::caller();
        let channel = &self.channel.0;
        channel.look("receiver_count", place, |state| state.receivers)
    }

    /// Whether both send to the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.channel, &other.channel)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.channel.0.update("clone", self.place, |state| {
            state.senders += 1;
            ((), true)
        });
        Self {
            channel: self.channel.clone(),
            place: self.place,
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let waiting = self.channel.0.update("drop sender", self.place, |state| {
            state.senders -= 1;
            match state.senders {
                0 => (std::mem::take(&mut state.waiting), true),
                _ => (Vec::new(), true),
            }
        });
        wake_all(waiting.into_iter().map(|(_, waker)| waker).collect());
    }
}

impl<T> Receiver<T> {
    fn new(channel: &Arc<Channel<T>>, verb: &'static str, place: Place) -> Self {
        let next = channel.0.update(verb, place, |state| {
            state.receivers += 1;
            (state.next, true)
        });
        Self {
            channel: channel.clone(),
            next,
            place,
        }
    }

    /// Returns the number of messages to receive, including those that were missed.
    #[track_caller]
    pub fn len(&self) -> usize {
        let next = self.next;
        let channel = &self.channel.0;
        channel.look("len", Location::caller(), |state| {
            (state.next - next) as usize
        })
    }

    /// Whether there is no message.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether both receive from the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.channel, &other.channel)
    }
}

impl<T: Clone> Receiver<T> {
    /// Makes a receiver of the messages that are sent from now on.
    #[track_caller]
    pub fn resubscribe(&self) -> Self {
        Self::new(&self.channel, "resubscribe", Location::caller())
    }

    /// Waits for a message.
    #[track_caller]
    pub fn recv(&mut self) -> impl Future<Output = Result<T, RecvError>> + '_ {
        Recv {
            place: Location::caller(),
            receiver: self,
            ticket: None,
        }
    }

    /// Receives a message if there is one.
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let next = &mut self.next;
        let place = Location::caller();
        let message = self.channel.0.update("try_recv", place, |state| {
            let taken = state.take(next);
            let changed = taken.is_ok();
            (taken, changed)
        })?;
        Ok(message.copy())
    }

    /// Waits for a message, in a thread that is not polling a future.
    ///
    /// # Panics
    ///
    /// Within a task.
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Result<T, RecvError> {
        drive::block(self.recv())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut next = self.next;
        let unread = self.channel.0.update("drop receiver", self.place, |state| {
            state.receivers -= 1;
            let mut unread = Vec::new();
            loop {
                match state.take(&mut next) {
                    Ok(message) => unread.push(message),
                    Err(TryRecvError::Lagged(_)) => {}
                    Err(_) => break,
                }
            }
            (unread, true)
        });
        drop(unread);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("broadcast::Sender")
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("broadcast::Receiver")
    }
}

/// Waits for a message.
struct Recv<'a, T> {
    receiver: &'a mut Receiver<T>,
    /// Identifies its entry among the waiting receivers; `None` if it has none.
    ticket: Option<u64>,
    place: Place,
}

impl<T: Clone> Future for Recv<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let (next, ticket) = (&mut this.receiver.next, &mut this.ticket);
        let taken = this.receiver.channel.0.update("recv", this.place, |state| {
            let taken = state.take(next);
            let changed = taken.is_ok();
            if let Some(number) = ticket {
                let known = state.waiting.iter().position(|(one, _)| one == number);
                known.map(|at| state.waiting.swap_remove(at));
            }
            *ticket = None;
            if taken.as_ref().err() == Some(&TryRecvError::Empty) {
                state.tickets += 1;
                *ticket = Some(state.tickets);
                state.waiting.push((state.tickets, cx.waker().clone()));
            }
            (taken, changed)
        });
        Poll::Ready(match taken {
            Ok(message) => Ok(message.copy()),
            Err(TryRecvError::Empty) => return Poll::Pending,
            Err(TryRecvError::Closed) => Err(RecvError::Closed),
            Err(TryRecvError::Lagged(missed)) => Err(RecvError::Lagged(missed)),
        })
    }
}

impl<T> Drop for Recv<'_, T> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else {
            return;
        };
        let channel = &self.receiver.channel.0;
        channel.update("give up", self.place, |state| {
            state.waiting.retain(|(one, _)| *one != ticket);
            ((), false)
        });
    }
}
