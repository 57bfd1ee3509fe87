//! Bounded channels.

use std::fmt;
use std::future::{Future, poll_fn};
use std::iter::FusedIterator;
use std::panic::Location;
use std::task::{Context, Poll};
use std::time::Duration;

use mazurka_rt::sync::{Arc, Weak};

use super::chan::Chan;
use super::error::{SendError, SendTimeoutError, TryRecvError, TrySendError};
use super::{Sending, receiver, senders};
use crate::drive::{self, Place};
use crate::sync::permits::Refusal;
use crate::time::sleep;

/// Sends messages.
pub struct Sender<T> {
    shared: Arc<Sending<T>>,
}

/// Sends messages as long as there is a [`Sender`].
pub struct WeakSender<T> {
    shared: Weak<Sending<T>>,
}

/// Receives messages.
pub struct Receiver<T> {
    chan: Arc<Chan<T>>,
    place: Place,
}

/// Makes a channel with room for `buffer` messages.
///
/// # Panics
///
/// If `buffer` is 0.
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    assert!(buffer > 0, "mpsc bounded channel requires buffer > 0");
    let place = Location::caller();
    let chan = Chan::new(Some(buffer));
    let sending = Sending {
        chan: chan.clone(),
        place,
    };
    (
        Sender {
            shared: Arc::new(sending),
        },
        Receiver { chan, place },
    )
}

senders!(Sender, WeakSender);
receiver!(Receiver);

/// Returns the message of a send that failed.
fn back<T>(message: Option<T>) -> T {
    message.expect("it was not sent")
}

impl<T> Sender<T> {
    /// Waits for room and sends a message.
    #[track_caller]
    pub fn send(&self, value: T) -> impl Future<Output = Result<(), SendError<T>>> + '_ {
        self.send_at(value, "send", Location::caller())
    }

    async fn send_at(
        &self,
        value: T,
        verb: &'static str,
        place: Place,
    ) -> Result<(), SendError<T>> {
        let sent = self.chan().take(1, Some(value), (verb, place)).await;
        sent.map_err(|message| SendError(back(message)))
    }

    /// Sends a message if there is room.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let what = ("try_send", Location::caller());
        let sent = self.chan().try_take(1, Some(message), what);
        sent.map_err(|(refusal, message)| match refusal {
            Refusal::Closed => TrySendError::Closed(back(message)),
            Refusal::NotEnough => TrySendError::Full(back(message)),
        })
    }

    /// Waits for room, at most until the time is over, and sends a message.
    #[track_caller]
    pub fn send_timeout(
        &self,
        value: T,
        timeout: Duration,
    ) -> impl Future<Output = Result<(), SendTimeoutError<T>>> + '_ {
        let (place, sleep) = (Location::caller(), sleep(timeout));
        async move {
            let permit = crate::select! {
                biased;
                permit = self.reserve_at(1, "send_timeout", place) => permit,
                () = sleep => return Err(SendTimeoutError::Timeout(value)),
            };
            match permit {
                Ok(()) => {
                    self.chan().push(value, place);
                    Ok(())
                }
                Err(_) => Err(SendTimeoutError::Closed(value)),
            }
        }
    }

    /// Waits for room and sends a message, in a thread that is not polling a future.
    ///
    /// # Panics
    ///
    /// Within a task.
    #[track_caller]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        drive::block(self.send_at(value, "blocking_send", Location::caller()))
    }

    async fn reserve_at(
        &self,
        count: usize,
        verb: &'static str,
        place: Place,
    ) -> Result<(), SendError<()>> {
        let most = self.max_capacity();
        if count > most {
            return Err(SendError(()));
        }
        let taken = self.chan().take(count, None, (verb, place)).await;
        taken.map_err(|_| SendError(()))
    }

    /// Waits for room.
    #[track_caller]
    pub fn reserve(&self) -> impl Future<Output = Result<Permit<'_, T>, SendError<()>>> + '_ {
        let place = Location::caller();
        async move {
            self.reserve_at(1, "reserve", place).await?;
            let chan = self.chan();
            Ok(Permit { chan, place })
        }
    }

    /// Waits for room for several messages.
    #[track_caller]
    pub fn reserve_many(
        &self,
        n: usize,
    ) -> impl Future<Output = Result<PermitIterator<'_, T>, SendError<()>>> + '_ {
        let place = Location::caller();
        async move {
            self.reserve_at(n, "reserve_many", place).await?;
            let chan = self.chan();
            Ok(PermitIterator { chan, n, place })
        }
    }

    /// Waits for room. The permit owns the sender.
    #[track_caller]
    pub fn reserve_owned(self) -> impl Future<Output = Result<OwnedPermit<T>, SendError<()>>> {
        let place = Location::caller();
        async move {
            self.reserve_at(1, "reserve_owned", place).await?;
            let sender = Some(self);
            Ok(OwnedPermit { sender, place })
        }
    }

    fn try_reserve_at(&self, n: usize, place: Place) -> Result<(), TrySendError<()>> {
        let taken = self.chan().try_take(n, None, ("try_reserve", place));
        taken.map_err(|(refusal, _)| match refusal {
            Refusal::Closed => TrySendError::Closed(()),
            Refusal::NotEnough => TrySendError::Full(()),
        })
    }

    /// Takes room for a message, if there is any.
    #[track_caller]
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        let (chan, place) = (self.chan(), Location::caller());
        self.try_reserve_at(1, place)?;
        Ok(Permit { chan, place })
    }

    /// Takes room for `n` messages, if there is enough.
    #[track_caller]
    pub fn try_reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, TrySendError<()>> {
        let (chan, place) = (self.chan(), Location::caller());
        self.try_reserve_at(n, place)?;
        Ok(PermitIterator { chan, n, place })
    }

    /// Takes room for a message, if there is any. The permit owns the sender.
    #[track_caller]
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        let place = Location::caller();
        match self.try_reserve_at(1, place) {
            Ok(()) => {
                let sender = Some(self);
                Ok(OwnedPermit { sender, place })
            }
            Err(TrySendError::Full(())) => Err(TrySendError::Full(self)),
            Err(TrySendError::Closed(())) => Err(TrySendError::Closed(self)),
        }
    }

    /// Returns the room that is left.
    #[track_caller]
    pub fn capacity(&self) -> usize {
        self.chan().room(Location::caller())
    }

    /// Returns the room of the empty channel.
    pub fn max_capacity(&self) -> usize {
        self.chan().bound.unwrap_or(usize::MAX)
    }
}

/// Room for a message.
#[must_use]
pub struct Permit<'a, T> {
    chan: &'a Chan<T>,
    place: Place,
}

impl<T> Permit<'_, T> {
    /// Sends the message.
    #[track_caller]
    pub fn send(self, value: T) {
        let chan = self.chan;
        std::mem::forget(self);
        chan.push(value, Location::caller());
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        self.chan.give_back(1, self.place);
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

/// Room for several messages.
#[must_use]
pub struct PermitIterator<'a, T> {
    chan: &'a Chan<T>,
    n: usize,
    place: Place,
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        self.n = self.n.checked_sub(1)?;
        let (chan, place) = (self.chan, self.place);
        Some(Permit { chan, place })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.n, Some(self.n))
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}
impl<T> FusedIterator for PermitIterator<'_, T> {}

impl<T> Drop for PermitIterator<'_, T> {
    fn drop(&mut self) {
        if self.n > 0 {
            self.chan.give_back(self.n, self.place);
        }
    }
}

impl<T> fmt::Debug for PermitIterator<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("PermitIterator");
        debug.field("capacity", &self.n).finish_non_exhaustive()
    }
}

/// Room for a message, which owns the sender.
#[must_use]
pub struct OwnedPermit<T> {
    /// `None` after it was used.
    sender: Option<Sender<T>>,
    place: Place,
}

impl<T> OwnedPermit<T> {
    fn take(&mut self) -> Sender<T> {
        self.sender.take().expect("it is used once")
    }

    /// Sends the message, and returns the sender.
    #[track_caller]
    pub fn send(mut self, value: T) -> Sender<T> {
        let sender = self.take();
        sender.chan().push(value, Location::caller());
        sender
    }

    /// Returns the room to the channel, and the sender to the caller.
    #[track_caller]
    pub fn release(mut self) -> Sender<T> {
        let sender = self.take();
        sender.chan().give_back(1, Location::caller());
        sender
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            sender.chan().give_back(1, self.place);
        }
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").finish_non_exhaustive()
    }
}
