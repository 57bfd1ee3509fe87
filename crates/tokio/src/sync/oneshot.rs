//! A channel for one message.

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use mazurka_rt::facade::Monitor;
use mazurka_rt::sync::Arc;

use crate::drive::{self, Place};

/// Errors of the channel.
pub mod error {
    use std::error::Error;
    use std::fmt;

    /// The sender is gone, or the receiver was closed, and there is no message.
    #[derive(Debug, Eq, PartialEq, Clone)]
    pub struct RecvError(pub(super) ());

    /// Why no message was received at once.
    #[derive(Debug, Eq, PartialEq, Clone)]
    pub enum TryRecvError {
        /// There is no message yet.
        Empty,
        /// There will be no message.
        Closed,
    }

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("channel closed")
        }
    }

    impl fmt::Display for TryRecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(match self {
                Self::Empty => "channel empty",
                Self::Closed => "channel closed",
            })
        }
    }

    impl Error for RecvError {}
    impl Error for TryRecvError {}
}

use error::{RecvError, TryRecvError};

struct State<T> {
    message: Option<T>,
    /// Whether the sender is gone, or has sent.
    sent: bool,
    /// Whether the receiver is gone or has been closed.
    closed: bool,
    receiver: Option<Waker>,
    sender: Option<Waker>,
}

type Channel<T> = Arc<Monitor<State<T>>>;

/// Sends the message.
pub struct Sender<T> {
    /// `None` after it has sent.
    channel: Option<Channel<T>>,
    place: Place,
}

/// Receives the message.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Receiver<T> {
    /// `None` after the message was received.
    channel: Option<Channel<T>>,
    place: Place,
}

/// Makes a channel for one message.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let place = Location::caller();
    let channel = Arc::new(Monitor::new(
        "oneshot",
        State {
            message: None,
            sent: false,
            closed: false,
            receiver: None,
            sender: None,
        },
    ));
    let other = channel.clone();
    (
        Sender {
            channel: Some(channel),
            place,
        },
        Receiver {
            channel: Some(other),
            place,
        },
    )
}

impl<T> Sender<T> {
    /// Sends the message. Returns it if the receiver is gone.
    #[track_caller]
    pub fn send(mut self, t: T) -> Result<(), T> {
        let channel = self.channel.take().expect("it sends once");
        let sent = channel.update("send", Location::caller(), |state| {
            state.sent = true;
            if state.closed {
                return (Err(t), true);
            }
            state.message = Some(t);
            (Ok(state.receiver.take()), true)
        });
        let waker = sent?;
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    /// Waits until the receiver is gone.
    #[track_caller]
    pub fn closed(&mut self) -> impl Future<Output = ()> + '_ {
        let place = Location::caller();
        poll_fn(move |cx| self.poll_closed_at(cx, place))
    }

    /// Whether the receiver is gone.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        let channel = self.channel.as_ref().expect("it has not sent");
        channel.look("is_closed", Location::caller(), |state| state.closed)
    }

    /// Waits until the receiver is gone.
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let place = self.place;
        self.poll_closed_at(cx, place)
    }

    fn poll_closed_at(&mut self, cx: &mut Context<'_>, place: Place) -> Poll<()> {
        let channel = self.channel.as_ref().expect("it has not sent");
        channel.update("closed", place, |state| {
            if state.closed {
                (Poll::Ready(()), false)
            } else {
                state.sender = Some(cx.waker().clone());
                (Poll::Pending, false)
            }
        })
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let Some(channel) = self.channel.take() else {
            return;
        };
        let waker = channel.update("drop sender", self.place, |state| {
            state.sent = true;
            (state.receiver.take(), true)
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Receiver<T> {
    /// Rejects the message, unless it was already sent.
    #[track_caller]
    pub fn close(&mut self) {
        let Some(channel) = &self.channel else {
            return;
        };
        let waker = channel.update("close", Location::caller(), |state| {
            state.closed = true;
            (state.sender.take(), true)
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Receives the message if it has arrived.
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let Some(channel) = &self.channel else {
            return Err(TryRecvError::Closed);
        };
        let received = channel.update("try_recv", Location::caller(), |state| {
            match state.message.take() {
                Some(message) => (Ok(message), true),
                None if state.sent || state.closed => (Err(TryRecvError::Closed), false),
                None => (Err(TryRecvError::Empty), false),
            }
        });
        if !matches!(received, Err(TryRecvError::Empty)) {
            self.channel = None;
        }
        received
    }

    /// Waits for the message, in a thread that is not polling a future.
    ///
    /// # Panics
    ///
    /// Within a task.
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        drive::block(self)
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let channel = self.channel.as_ref().expect("called after complete");
        let received = channel.update("recv", self.place, |state| match state.message.take() {
            Some(message) => (Poll::Ready(Ok(message)), true),
            None if state.sent || state.closed => (Poll::Ready(Err(RecvError(()))), false),
            None => {
                state.receiver = Some(cx.waker().clone());
                (Poll::Pending, false)
            }
        });
        if received.is_ready() {
            self.channel = None;
        }
        received
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let Some(channel) = self.channel.take() else {
            return;
        };
        let (waker, message) = channel.update("drop receiver", self.place, |state| {
            state.closed = true;
            ((state.sender.take(), state.message.take()), true)
        });
        drop(message);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Unpin for Receiver<T> {}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
