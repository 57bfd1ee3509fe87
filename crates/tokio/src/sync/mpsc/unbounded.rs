//! Unbounded channels.

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::task::{Context, Poll};

use mazurka_rt::sync::{Arc, Weak};

use super::chan::Chan;
use super::error::{SendError, TryRecvError};
use super::{Sending, receiver, senders};
use crate::drive::{self, Place};

/// Sends messages.
pub struct UnboundedSender<T> {
    shared: Arc<Sending<T>>,
}

/// Sends messages as long as there is an [`UnboundedSender`].
pub struct WeakUnboundedSender<T> {
    shared: Weak<Sending<T>>,
}

/// Receives messages.
pub struct UnboundedReceiver<T> {
    chan: Arc<Chan<T>>,
    place: Place,
}

/// Makes an unbounded channel.
#[track_caller]
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let place = Location::caller();
    let chan = Chan::new(None);
    let sending = Sending {
        chan: chan.clone(),
        place,
    };
    (
        UnboundedSender {
            shared: Arc::new(sending),
        },
        UnboundedReceiver { chan, place },
    )
}

senders!(UnboundedSender, WeakUnboundedSender);
receiver!(UnboundedReceiver);

impl<T> UnboundedSender<T> {
    /// Sends a message.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let what = ("send", Location::caller());
        let sent = self.chan().try_take(1, Some(message), what);
        sent.map_err(|(_, message)| SendError(message.expect("it was not sent")))
    }
}
