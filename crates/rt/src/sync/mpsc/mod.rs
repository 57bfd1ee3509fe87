//! `std::sync::mpsc`, explored.
//!
//! An unbounded channel has few races. The k-th message has a flag of its own, which its `send`
//! sets and its `recv` waits for. So `recv` races with no `send`; only two sends race, for places
//! in the queue. Dropping the last sender sets the flag of the next message, which will never come.
//! The order in which senders are cloned cannot be observed, so cloning is not a step. In a bounded
//! channel (bounded.rs) all operations conflict, and a thread that has to wait enlists with the
//! channel (world.rs).

mod bounded;
mod unbounded;

use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::mpsc as real;
use std::time::Duration;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use crate::world::world;
use bounded::Bounded;
use std::sync::Arc;
use unbounded::Unbounded;

/// Sends without waiting: the counterpart of [`std::sync::mpsc::Sender`].
pub struct Sender<T>(Sending<real::Sender<T>, Unbounded<T>>);

/// Sends, and waits for room: the counterpart of [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T>(Sending<real::SyncSender<T>, Bounded<T>>);

enum Sending<R, M> {
    Real(R),
    Model(Arc<M>),
}

/// Receives: the counterpart of [`std::sync::mpsc::Receiver`].
pub struct Receiver<T>(Receiving<T>);

enum Receiving<T> {
    Real(real::Receiver<T>),
    Unbounded(Arc<Unbounded<T>>),
    Bounded(Arc<Bounded<T>>),
}

// SAFETY: as with std, senders may be shared and receivers sent if messages can be sent. In a
// model all threads are coroutines of one real thread, and the content is borrowed only
// between two steps.
#[allow(unsafe_code)]
mod send {
    use super::{Receiver, Sender, SyncSender};
    unsafe impl<T: Send> Send for Sender<T> {}
    unsafe impl<T: Send> Sync for Sender<T> {}
    unsafe impl<T: Send> Send for SyncSender<T> {}
    unsafe impl<T: Send> Sync for SyncSender<T> {}
    unsafe impl<T: Send> Send for Receiver<T> {}
}

// As with std.
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for SyncSender<T> {}
impl<T> RefUnwindSafe for SyncSender<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

/// Makes an unbounded channel: [`std::sync::mpsc::channel`].
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let Some(world) = world() else {
        let (sender, receiver) = real::channel();
        return (
            Sender(Sending::Real(sender)),
            Receiver(Receiving::Real(receiver)),
        );
    };
    let channel = Arc::new(Unbounded::new(world, Location::caller()));
    (
        Sender(Sending::Model(channel.clone())),
        Receiver(Receiving::Unbounded(channel)),
    )
}

/// Makes a channel that holds up to `bound` messages: [`std::sync::mpsc::sync_channel`].
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let Some(world) = world() else {
        let (sender, receiver) = real::sync_channel(bound);
        return (
            SyncSender(Sending::Real(sender)),
            Receiver(Receiving::Real(receiver)),
        );
    };
    let channel = Arc::new(Bounded::new(world, bound, Location::caller()));
    (
        SyncSender(Sending::Model(channel.clone())),
        Receiver(Receiving::Bounded(channel)),
    )
}

impl<T> Sender<T> {
    /// Sends a message.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        match (&self.0, world()) {
            (Sending::Real(sender), _) => sender.send(t),
            (Sending::Model(channel), Some(world)) => channel.send(world, t, Location::caller()),
            (Sending::Model(_), None) => Err(SendError(t)),
        }
    }
}

impl<T> SyncSender<T> {
    /// Sends a message; waits for room if there is none.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        match (&self.0, world()) {
            (Sending::Real(sender), _) => sender.send(t),
            (Sending::Model(channel), Some(world)) => channel.send(world, t, Location::caller()),
            (Sending::Model(_), None) => Err(SendError(t)),
        }
    }

    /// Sends a message if there is room.
    #[track_caller]
    pub fn try_send(&self, t: T) -> Result<(), TrySendError<T>> {
        match (&self.0, world()) {
            (Sending::Real(sender), _) => sender.try_send(t),
            (Sending::Model(channel), Some(world)) => {
                channel.try_send(world, t, Location::caller())
            }
            (Sending::Model(_), None) => Err(TrySendError::Disconnected(t)),
        }
    }
}

macro_rules! sender {
    ($($name:ident)*) => {
        $(
            impl<T> Clone for $name<T> {
                fn clone(&self) -> Self {
                    Self(match &self.0 {
                        Sending::Real(sender) => Sending::Real(sender.clone()),
                        Sending::Model(channel) => {
                            channel.add_sender();
                            Sending::Model(channel.clone())
                        }
                    })
                }
            }

            impl<T> Drop for $name<T> {
                fn drop(&mut self) {
                    if let (Sending::Model(channel), Some(world)) = (&self.0, world()) {
                        channel.drop_sender(world);
                    }
                }
            }

            impl<T> fmt::Debug for $name<T> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.debug_struct(stringify!($name)).finish_non_exhaustive()
                }
            }
        )*
    };
}

sender!(Sender SyncSender);

impl<T> Receiver<T> {
    /// Returns the next message, if there is one now.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let place = Location::caller();
        match (&self.0, world()) {
            (Receiving::Real(receiver), _) => receiver.try_recv(),
            (Receiving::Unbounded(channel), Some(world)) => {
                channel.try_recv(world, "try_recv", place)
            }
            (Receiving::Bounded(channel), Some(world)) => {
                channel.try_recv(world, "try_recv", place)
            }
            (_, None) => Err(TryRecvError::Disconnected),
        }
    }

    /// Waits for the next message.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let place = Location::caller();
        match (&self.0, world()) {
            (Receiving::Real(receiver), _) => receiver.recv(),
            (Receiving::Unbounded(channel), Some(world)) => channel.recv(world, place),
            (Receiving::Bounded(channel), Some(world)) => channel.recv(world, place),
            (_, None) => Err(RecvError),
        }
    }

    /// Waits for the next message or for the timeout; a model explores both outcomes, whatever the
    /// duration.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let place = Location::caller();
        let verb = "recv_timeout";
        let result = match (&self.0, world()) {
            (Receiving::Real(receiver), _) => return receiver.recv_timeout(timeout),
            (Receiving::Unbounded(channel), Some(world)) => {
                world.before_timeout(verb, place);
                channel.try_recv(world, verb, place)
            }
            (Receiving::Bounded(channel), Some(world)) => {
                world.before_timeout(verb, place);
                channel.try_recv(world, verb, place)
            }
            (_, None) => Err(TryRecvError::Disconnected),
        };
        result.map_err(|error| match error {
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            TryRecvError::Empty => {
                if let Some(world) = world() {
                    world.inner.borrow_mut().me().spin.time_is_over();
                }
                RecvTimeoutError::Timeout
            }
        })
    }

    /// Returns an iterator that waits for messages until all senders are dropped.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// Returns an iterator over the messages that have arrived.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        match (&self.0, world()) {
            (Receiving::Unbounded(channel), Some(world)) => channel.drop_receiver(world),
            (Receiving::Bounded(channel), Some(world)) => channel.drop_receiver(world),
            _ => {}
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

/// Messages until all senders are dropped: [`std::sync::mpsc::Iter`].
#[derive(Debug)]
pub struct Iter<'a, T: 'a>(&'a Receiver<T>);

/// Messages that have arrived: [`std::sync::mpsc::TryIter`].
#[derive(Debug)]
pub struct TryIter<'a, T: 'a>(&'a Receiver<T>);

/// Messages of an owned receiver: [`std::sync::mpsc::IntoIter`].
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;
    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;
    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;
    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}
