//! Channels and their ends. A channel is either buffered (buffered.rs) or without room
//! (rendezvous.rs). Some channels get their messages from a clock (`after`, `tick`).

use std::collections::HashMap;
use std::fmt;
use std::iter::FusedIterator;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mazurka_rt::sync::Arc;
use mazurka_rt::{facade, thread};

use crate::buffered::Buffered;
use crate::error::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError,
};
use crate::rendezvous::{Packet, Rendezvous};
use crate::select::Select;
use crate::wait::{Wait, Watcher};

/// The two sides of a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Send,
    Receive,
}

impl Side {
    pub fn other(self) -> Self {
        match self {
            Self::Send => Self::Receive,
            Self::Receive => Self::Send,
        }
    }
}

/// The reservation for an operation that `select` has chosen. The operation is completed later.
pub(crate) enum Reserved<T> {
    /// A received message.
    Message(Result<T, RecvError>),
    /// Room for the message.
    Room,
    /// Nothing: the receivers are gone, so nothing can be sent.
    NoReceiver,
    /// A packet through which the message passes.
    Packet(Arc<Packet<T>>),
}

/// The result of an attempt at an operation.
pub(crate) enum Attempt<T> {
    /// It would have to wait.
    Waits,
    /// It was possible, but the thread did not want it.
    Declined,
    Done(Reserved<T>),
}

/// Like [`Attempt`], but without the reservation, which the channel keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttemptStatus {
    Waits,
    Declined,
    Done,
}

enum Flavor<T> {
    Buffered(Buffered<T>),
    Rendezvous(Rendezvous<T>),
}

/// Where messages come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// From senders, until they are gone.
    Senders,
    /// From a clock, which is never gone.
    Clock,
    Nowhere,
}

/// A channel. Its flavor holds the messages and the waiting threads.
pub(crate) struct Channel<T> {
    flavor: Flavor<T>,
    source: Source,
    /// The state of the ticks, if this channel was made by `tick`.
    ticks: Option<Ticks<T>>,
    /// The reservations for selected operations, by the ticket that identifies the operation. Only
    /// one thread uses a ticket, so this is not a shared object of the model.
    reserved: std::sync::Mutex<HashMap<u64, Reserved<T>>>,
}

/// How a channel of `tick` gets its messages. A timer is a thread that sends one tick. The next
/// timer starts when this tick is received, so no timer waits for room.
struct Ticks<T> {
    every: Duration,
    /// Number of timers so far.
    timers: AtomicU32,
    start: fn(&Arc<Channel<T>>, &Ticks<T>),
    made: &'static Location<'static>,
}

/// Number of ticks of a channel that may come at any moment. Later ticks come only when no other
/// thread can make a step. Otherwise a loop that does something at each tick would have executions
/// of any length.
const FREE_TICKS: u32 = 2;

/// A channel as a selecting thread sees it, whatever the type of its messages.
pub(crate) trait Selectable {
    /// Tries a receive, or the first half of a send, which reserves what the second half needs. The
    /// channel keeps the received message or the reservation under `ticket`. If the operation is
    /// possible, `wanted` decides whether it is made.
    fn attempt(&self, side: Side, ticket: u64, wanted: &mut dyn FnMut() -> bool) -> AttemptStatus;
    /// Enlists the thread, unless the operation may be possible now. Returns whether the thread is
    /// enlisted.
    fn watch(&self, side: Side, ticket: u64, watcher: Watcher) -> bool;
    /// Removes the thread from the list.
    fn unwatch(&self, side: Side, wait: &Arc<Wait>);
    /// Whether an operation need not wait.
    fn is_ready(&self, side: Side) -> bool;
    /// Enlists a thread that waits until the operation is possible but does not make it, unless the
    /// operation is possible now. Returns whether the thread is enlisted.
    fn observe(&self, side: Side, watcher: Watcher) -> bool;
    /// Removes a thread from the list that [`observe`](Self::observe) has added.
    fn unobserve(&self, side: Side, wait: &Arc<Wait>);
    /// Drops the reservation of a ticket.
    fn forget(&self, ticket: u64);
    /// Called after the operation has claimed the thread: makes the operation if it has not been
    /// made. Returns whether it was possible.
    fn claimed(&self, side: Side, ticket: u64) -> bool;
    /// Whether a message passes only when both sides are present.
    fn is_rendezvous(&self) -> bool;
    /// Identifies the channel.
    fn address(&self) -> *const ();
}

impl<T> Channel<T> {
    #[track_caller]
    fn new(capacity: Option<usize>, source: Source) -> Self {
        let flavor = match capacity {
            Some(0) => Flavor::Rendezvous(Rendezvous::new()),
            _ => Flavor::Buffered(Buffered::new(capacity)),
        };
        Self {
            flavor,
            source,
            ticks: None,
            reserved: std::sync::Mutex::default(),
        }
    }

    fn reserve(&self, ticket: u64, reserved: Reserved<T>) {
        let mut all = self
            .reserved
            .lock()
            .expect("no user code runs under this lock, so it is not poisoned");
        all.insert(ticket, reserved);
    }

    fn take(&self, ticket: u64) -> Option<Reserved<T>> {
        let mut all = self
            .reserved
            .lock()
            .expect("no user code runs under this lock, so it is not poisoned");
        all.remove(&ticket)
    }

    /// Completes a selected send.
    #[track_caller]
    pub fn complete_send(&self, ticket: u64, message: T) -> Result<(), SendError<T>> {
        match (self.take(ticket), &self.flavor) {
            (Some(Reserved::Room), Flavor::Buffered(channel)) => {
                channel.send_into_reserved_room(message)
            }
            (Some(Reserved::Packet(packet)), _) => packet.put(message),
            _ => Err(SendError(message)),
        }
    }

    /// Completes a selected receive.
    #[track_caller]
    pub fn complete_recv(&self, ticket: u64) -> Result<T, RecvError> {
        match self.take(ticket) {
            Some(Reserved::Message(message)) => message,
            Some(Reserved::Packet(packet)) => packet.take(),
            _ => Err(RecvError),
        }
    }

    #[track_caller]
    fn disconnect(&self, side: Side) {
        if side == Side::Send && self.source == Source::Clock {
            return;
        }
        match &self.flavor {
            Flavor::Buffered(channel) => channel.disconnect(side),
            Flavor::Rendezvous(channel) => channel.disconnect(side),
        }
    }

    #[track_caller]
    fn len(&self) -> usize {
        self.record_late_ticks();
        match &self.flavor {
            Flavor::Buffered(channel) => channel.len(),
            Flavor::Rendezvous(_) => 0,
        }
    }

    /// If the next tick is a late one, makes the summary say that late ticks came only when no
    /// other thread could make a step. Without this restriction, the thread that now looks for a
    /// message might receive that tick.
    fn record_late_ticks(&self) {
        if let Some(ticks) = &self.ticks
            && ticks.timers.load(Ordering::Relaxed) > FREE_TICKS
        {
            facade::record_late_events("ticks after the second", ticks.made);
        }
    }

    fn capacity(&self) -> Option<usize> {
        match &self.flavor {
            _ if self.source == Source::Nowhere => Some(0),
            Flavor::Buffered(channel) => channel.capacity,
            Flavor::Rendezvous(_) => Some(0),
        }
    }

    #[track_caller]
    fn is_full(&self) -> bool {
        self.capacity() == Some(self.len())
    }
}

/// Starts the timer of the next tick, if the channel ticks.
#[track_caller]
fn next_tick<T>(channel: &Arc<Channel<T>>) {
    if let Some(ticks) = &channel.ticks {
        (ticks.start)(channel, ticks);
    }
}

impl<T> Selectable for Channel<T> {
    #[track_caller]
    fn attempt(&self, side: Side, ticket: u64, wanted: &mut dyn FnMut() -> bool) -> AttemptStatus {
        self.record_late_ticks();
        let attempt = match &self.flavor {
            Flavor::Buffered(channel) => channel.attempt(side, wanted),
            Flavor::Rendezvous(channel) => channel.attempt(side, wanted),
        };
        match attempt {
            Attempt::Waits => AttemptStatus::Waits,
            Attempt::Declined => AttemptStatus::Declined,
            Attempt::Done(reserved) => {
                self.reserve(ticket, reserved);
                AttemptStatus::Done
            }
        }
    }

    #[track_caller]
    fn watch(&self, side: Side, ticket: u64, watcher: Watcher) -> bool {
        match &self.flavor {
            Flavor::Buffered(channel) => channel.watch(side, watcher),
            Flavor::Rendezvous(channel) => {
                let reserved = channel.watch(side, watcher);
                let waits = reserved.is_some();
                if let Some(packet) = reserved {
                    self.reserve(ticket, packet);
                }
                waits
            }
        }
    }

    #[track_caller]
    fn unwatch(&self, side: Side, wait: &Arc<Wait>) {
        match &self.flavor {
            Flavor::Buffered(channel) => channel.unwatch(side, wait),
            Flavor::Rendezvous(channel) => channel.unwatch(side, wait),
        }
    }

    #[track_caller]
    fn is_ready(&self, side: Side) -> bool {
        self.record_late_ticks();
        match &self.flavor {
            Flavor::Buffered(channel) => channel.is_ready(side),
            Flavor::Rendezvous(channel) => channel.is_ready(side),
        }
    }

    #[track_caller]
    fn observe(&self, side: Side, watcher: Watcher) -> bool {
        match &self.flavor {
            Flavor::Buffered(channel) => channel.watch(side, watcher),
            Flavor::Rendezvous(channel) => channel.observe(side, watcher),
        }
    }

    #[track_caller]
    fn unobserve(&self, side: Side, wait: &Arc<Wait>) {
        match &self.flavor {
            Flavor::Buffered(channel) => channel.unwatch(side, wait),
            Flavor::Rendezvous(channel) => channel.unobserve(side, wait),
        }
    }

    fn forget(&self, ticket: u64) {
        self.take(ticket);
    }

    #[track_caller]
    fn claimed(&self, side: Side, ticket: u64) -> bool {
        match &self.flavor {
            // A buffered channel only wakes a selecting thread and reserves nothing for it, so it
            // is tried now.
            Flavor::Buffered(_) => self.attempt(side, ticket, &mut || true) == AttemptStatus::Done,
            Flavor::Rendezvous(_) => true,
        }
    }

    fn is_rendezvous(&self) -> bool {
        matches!(self.flavor, Flavor::Rendezvous(_))
    }

    fn address(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }
}

/// Shared by all senders of a channel, which is disconnected when the last of them is dropped.
struct Sending<T>(Arc<Channel<T>>);

impl<T> Drop for Sending<T> {
    fn drop(&mut self) {
        self.0.disconnect(Side::Send);
    }
}

/// Shared by all receivers of a channel, which is disconnected when the last of them is dropped.
struct Receiving<T>(Arc<Channel<T>>);

impl<T> Drop for Receiving<T> {
    fn drop(&mut self) {
        self.0.disconnect(Side::Receive);
    }
}

/// The sending end of a channel.
pub struct Sender<T>(Arc<Sending<T>>);

/// The receiving end of a channel.
pub struct Receiver<T>(Arc<Receiving<T>>);

#[track_caller]
fn ends<T>(capacity: Option<usize>, source: Source) -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(capacity, source));
    let receiving = Receiving(channel.clone());
    (
        Sender(Arc::new(Sending(channel))),
        Receiver(Arc::new(receiving)),
    )
}

/// Makes a channel with room for `cap` messages. Without room, a message passes when a sender and a
/// receiver are both present.
#[track_caller]
pub fn bounded<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    ends(Some(cap), Source::Senders)
}

/// Makes a channel with room for any number of messages.
#[track_caller]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    ends(None, Source::Senders)
}

/// Makes the receiving end of a channel that never carries a message.
#[track_caller]
pub fn never<T>() -> Receiver<T> {
    let channel = Channel::new(None, Source::Nowhere);
    Receiver(Arc::new(Receiving(Arc::new(channel))))
}

/// Makes the receiving end of a channel that carries one message after a time. In a model a
/// separate thread sends it at any moment. The channel is never disconnected.
#[track_caller]
pub fn after(duration: Duration) -> Receiver<Instant> {
    // A moment that cannot be represented never comes.
    Instant::now().checked_add(duration).map_or_else(never, at)
}

/// Makes the receiving end of a channel that carries one message at this moment. In a model it does
/// the same as [`after`].
#[track_caller]
pub fn at(when: Instant) -> Receiver<Instant> {
    let (sender, receiver) = ends(Some(1), Source::Clock);
    thread::spawn(move || {
        if !facade::in_model() {
            std::thread::sleep(when.saturating_duration_since(Instant::now()));
        }
        _ = sender.send(when);
    });
    receiver
}

/// Makes the receiving end of a channel that carries a message periodically, with this time between
/// two messages. The next message is sent only after the last one was received. In a model the
/// first two messages come at any moment, and each later one when no other thread can make a step.
/// The channel is never disconnected.
///
/// ```
/// use std::time::Duration;
/// use mazurka_crossbeam_channel::{select, tick, unbounded};
/// use mazurka_rt::{Builder, thread};
///
/// let found = Builder::new().outcomes(|| {
///     let (stop, stopped) = unbounded::<()>();
///     thread::spawn(move || drop(stop));
///     let (ticker, mut ticks) = (tick(Duration::from_secs(1)), 0);
///     loop {
///         select! {
///             recv(ticker) -> _ => ticks += 1,
///             recv(stopped) -> _ => break ticks,
///         }
///     }
/// });
/// assert!((0..=2).all(|ticks| found.results.contains(&ticks)));
/// ```
#[track_caller]
pub fn tick(duration: Duration) -> Receiver<Instant> {
    if Instant::now().checked_add(duration).is_none() {
        return never();
    }
    let ticks = Ticks {
        every: duration,
        timers: AtomicU32::new(0),
        start: start_timer,
        made: Location::caller(),
    };
    let channel = Arc::new(Channel {
        ticks: Some(ticks),
        ..Channel::new(Some(1), Source::Clock)
    });
    next_tick(&channel);
    Receiver(Arc::new(Receiving(channel)))
}

/// Starts the timer of the next tick.
#[track_caller]
fn start_timer(channel: &Arc<Channel<Instant>>, ticks: &Ticks<Instant>) {
    let timers = ticks.timers.fetch_add(1, Ordering::Relaxed);
    let now = Instant::now();
    let (when, made) = (now.checked_add(ticks.every).unwrap_or(now), ticks.made);
    let channel = channel.clone();
    thread::spawn(move || {
        if !facade::in_model() {
            std::thread::sleep(when.saturating_duration_since(Instant::now()));
        } else if timers >= FREE_TICKS {
            facade::wait_until_others_wait("tick", made);
        }
        if let Flavor::Buffered(buffered) = &channel.flavor {
            _ = buffered.send(when);
        }
    });
}

impl<T> Sender<T> {
    pub(crate) fn channel(&self) -> &Channel<T> {
        &self.0.0
    }

    /// Sends a message; waits for room, or for a receiver if the channel has no room at all.
    #[track_caller]
    pub fn send(&self, msg: T) -> Result<(), SendError<T>> {
        match &self.channel().flavor {
            Flavor::Buffered(channel) => channel.send(msg),
            Flavor::Rendezvous(channel) => channel.send(msg),
        }
    }

    /// Sends a message if that is possible at once.
    #[track_caller]
    pub fn try_send(&self, msg: T) -> Result<(), TrySendError<T>> {
        match &self.channel().flavor {
            Flavor::Buffered(channel) => channel.try_send(msg),
            Flavor::Rendezvous(channel) => channel.try_send(msg),
        }
    }

    /// Sends a message; waits at most until the time is over.
    #[track_caller]
    pub fn send_timeout(&self, msg: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        if self.channel().is_rendezvous() {
            let mut select = Select::new();
            select.send(self);
            return match select.select_timeout(timeout) {
                Ok(selected) => Ok(selected.send(self, msg)?),
                Err(_) => Err(SendTimeoutError::Timeout(msg)),
            };
        }
        let message = std::cell::Cell::new(Some(msg));
        let sent = facade::until_timeout("send_timeout", timeout, || {
            let msg = message
                .take()
                .expect("a failed attempt returns the message");
            match self.try_send(msg) {
                Ok(()) => Some(Ok(())),
                Err(TrySendError::Disconnected(msg)) => Some(Err(msg)),
                Err(TrySendError::Full(msg)) => {
                    message.set(Some(msg));
                    None
                }
            }
        });
        match sent {
            Some(Ok(())) => Ok(()),
            Some(Err(msg)) => Err(SendTimeoutError::Disconnected(msg)),
            None => {
                let msg = message.take().expect("it was not sent");
                Err(SendTimeoutError::Timeout(msg))
            }
        }
    }

    /// Sends a message; waits at most until this moment.
    #[track_caller]
    pub fn send_deadline(&self, msg: T, deadline: Instant) -> Result<(), SendTimeoutError<T>> {
        self.send_timeout(msg, deadline.saturating_duration_since(Instant::now()))
    }
}

impl<T> Receiver<T> {
    pub(crate) fn channel(&self) -> &Channel<T> {
        &self.0.0
    }

    /// If the channel ticks and the result is a tick, starts the timer of the next tick. Returns
    /// the result.
    #[track_caller]
    fn received<E>(&self, result: Result<T, E>) -> Result<T, E> {
        if result.is_ok() {
            next_tick(&self.0.0);
        }
        result
    }

    /// Completes a selected receive.
    #[track_caller]
    pub(crate) fn complete(&self, ticket: u64) -> Result<T, RecvError> {
        self.received(self.channel().complete_recv(ticket))
    }

    /// Waits for a message.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.channel().record_late_ticks();
        self.received(match &self.channel().flavor {
            Flavor::Buffered(channel) => channel.recv(),
            Flavor::Rendezvous(channel) => channel.recv(),
        })
    }

    /// Receives a message if there is one.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.channel().record_late_ticks();
        self.received(match &self.channel().flavor {
            Flavor::Buffered(channel) => channel.try_recv(),
            Flavor::Rendezvous(channel) => channel.try_recv(),
        })
    }

    /// Waits for a message until the time is over.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        if self.channel().is_rendezvous() {
            let mut select = Select::new();
            select.recv(self);
            return match select.select_timeout(timeout) {
                Ok(selected) => Ok(selected.recv(self)?),
                Err(_) => Err(RecvTimeoutError::Timeout),
            };
        }
        let received = facade::until_timeout("recv_timeout", timeout, || match self.try_recv() {
            Ok(message) => Some(Ok(message)),
            Err(TryRecvError::Disconnected) => Some(Err(RecvTimeoutError::Disconnected)),
            Err(TryRecvError::Empty) => None,
        });
        received.unwrap_or(Err(RecvTimeoutError::Timeout))
    }

    /// Waits for a message until this moment.
    #[track_caller]
    pub fn recv_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        self.recv_timeout(deadline.saturating_duration_since(Instant::now()))
    }

    /// Returns an iterator that waits for messages until all senders are gone.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// Returns an iterator over the messages that have arrived.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }
}

macro_rules! ends {
    ($($end:ident)*) => {
        $(
            impl<T> $end<T> {
                /// Whether there is no message.
                #[track_caller]
                pub fn is_empty(&self) -> bool {
                    self.channel().len() == 0
                }

                /// Whether there is no room.
                #[track_caller]
                pub fn is_full(&self) -> bool {
                    self.channel().is_full()
                }

                /// Returns the number of messages.
                #[track_caller]
                pub fn len(&self) -> usize {
                    self.channel().len()
                }

                /// Returns the capacity of the channel, if it is bounded.
                pub fn capacity(&self) -> Option<usize> {
                    self.channel().capacity()
                }

                /// Whether both belong to one channel.
                pub fn same_channel(&self, other: &Self) -> bool {
                    let (own, other) = (self.channel(), other.channel());
                    let never = |channel: &Channel<T>| channel.source == Source::Nowhere;
                    std::ptr::eq(own, other) || (never(own) && never(other))
                }
            }

            impl<T> Clone for $end<T> {
                fn clone(&self) -> Self {
                    Self(self.0.clone())
                }
            }

            impl<T> fmt::Debug for $end<T> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.pad(concat!(stringify!($end), " { .. }"))
                }
            }

            impl<T> std::panic::UnwindSafe for $end<T> {}
            impl<T> std::panic::RefUnwindSafe for $end<T> {}
        )*
    };
}

ends!(Sender Receiver);

/// Waits for messages until all senders are gone.
pub struct Iter<'a, T>(&'a Receiver<T>);

/// The messages that have arrived.
pub struct TryIter<'a, T>(&'a Receiver<T>);

/// Like [`Iter`], but owns the receiver.
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

impl<T> FusedIterator for Iter<'_, T> {}
impl<T> FusedIterator for IntoIter<T> {}

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
