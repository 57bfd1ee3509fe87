//! A channel without room: a message passes from a sender to a receiver when both are present.
//!
//! A thread that finds no partner adds an entry, a *party*, to the list of its side, and waits at
//! the party's *packet*, which carries the message. A *selecting* thread (select.rs) adds a party
//! at each of its channels; the first partner that comes claims it. The message of a selected send
//! is known only after the selection. So a packet may be empty when partners meet, and the receiver
//! waits until the message is in it.

use std::collections::VecDeque;

use mazurka_rt::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::channel::{Attempt, Reserved, Side};
use crate::error::{RecvError, SendError, TryRecvError, TrySendError};
use crate::wait::{Wait, Watcher};

pub(crate) struct Rendezvous<T>(Mutex<State<T>>);

struct State<T> {
    /// The waiting threads of each side.
    parties: [VecDeque<Party<T>>; 2],
    /// The threads of each side that wait until there is a partner.
    observers: [Vec<Watcher>; 2],
    /// Whether all senders are gone, and whether all receivers are.
    gone: [bool; 2],
}

struct Party<T> {
    /// The entry by which a partner claims the selecting thread; `None` if the thread waits for
    /// this operation alone.
    watcher: Option<Watcher>,
    packet: Arc<Packet<T>>,
}

impl<T> Party<T> {
    #[track_caller]
    fn claim(&self) -> bool {
        self.watcher.as_ref().is_none_or(Watcher::claim)
    }

    fn belongs_to(&self, wait: &Arc<Wait>) -> bool {
        let watcher = self.watcher.as_ref();
        watcher.is_some_and(|watcher| watcher.belongs_to(wait))
    }

    /// Whether the thread is still waiting, and no other operation has claimed it.
    #[track_caller]
    fn is_free(&self) -> bool {
        let watcher = self.watcher.as_ref();
        watcher.is_none_or(|watcher| watcher.wait.is_free())
    }
}

/// Carries one message.
pub(crate) struct Packet<T> {
    content: Mutex<Content<T>>,
    condvar: Condvar,
}

enum Content<T> {
    /// The message is not known yet.
    Empty,
    Full(T),
    Taken,
    /// The other side is gone. Contains the message, if it was already in the packet.
    Gone(Option<T>),
}

impl<T> Packet<T> {
    #[track_caller]
    fn new(content: Content<T>) -> Arc<Self> {
        Arc::new(Self {
            content: Mutex::new(content),
            condvar: Condvar::steady(),
        })
    }

    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, Content<T>> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the message into the packet.
    #[track_caller]
    pub fn put(&self, message: T) -> Result<(), SendError<T>> {
        let mut content = self.lock();
        if matches!(*content, Content::Gone(_)) {
            return Err(SendError(message));
        }
        *content = Content::Full(message);
        drop(content);
        self.condvar.notify_one();
        Ok(())
    }

    /// Waits for the message and takes it.
    #[track_caller]
    pub fn take(&self) -> Result<T, RecvError> {
        let mut content = self.lock();
        while matches!(*content, Content::Empty) {
            let woken = self.condvar.wait(content);
            content = woken.unwrap_or_else(PoisonError::into_inner);
        }
        match std::mem::replace(&mut *content, Content::Taken) {
            Content::Full(message) => {
                drop(content);
                self.condvar.notify_one();
                Ok(message)
            }
            gone => {
                *content = gone;
                Err(RecvError)
            }
        }
    }

    /// Waits until the message is taken.
    #[track_caller]
    fn wait_until_taken(&self) -> Result<(), SendError<T>> {
        let mut content = self.lock();
        loop {
            match &mut *content {
                Content::Taken => return Ok(()),
                Content::Gone(message) => {
                    let message = message.take().expect("the sender has put it there");
                    return Err(SendError(message));
                }
                Content::Empty | Content::Full(_) => {}
            }
            let woken = self.condvar.wait(content);
            content = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Records that the other side is gone, if `claim` claims the thread. Both happen under the
    /// lock of the packet, so no message is put into it in between.
    #[track_caller]
    fn cancel(&self, claim: impl FnOnce() -> bool) {
        let mut content = self.lock();
        if !claim() {
            return;
        }
        let message = match std::mem::replace(&mut *content, Content::Gone(None)) {
            Content::Full(message) => Some(message),
            _ => None,
        };
        *content = Content::Gone(message);
        drop(content);
        self.condvar.notify_one();
    }
}

impl<T> State<T> {
    /// Whether no thread of this side is waiting.
    fn is_alone(&self, side: Side) -> bool {
        self.parties[side as usize].is_empty()
    }

    /// Claims a waiting thread of this side, and returns its packet.
    #[track_caller]
    fn partner(&mut self, side: Side) -> Option<Arc<Packet<T>>> {
        while let Some(party) = self.parties[side as usize].pop_front() {
            if party.claim() {
                return Some(party.packet);
            }
        }
        None
    }

    #[track_caller]
    fn wait(
        &mut self,
        side: Side,
        content: Content<T>,
        watcher: Option<Watcher>,
    ) -> Arc<Packet<T>> {
        let packet = Packet::new(content);
        let party = Party {
            watcher,
            packet: packet.clone(),
        };
        self.parties[side as usize].push_back(party);
        self.wake_observers(side.other());
        packet
    }

    /// Wakes the threads of this side that wait until there is a partner.
    #[track_caller]
    fn wake_observers(&mut self, side: Side) {
        for watcher in self.observers[side as usize].drain(..) {
            watcher.claim();
        }
    }

    /// Whether an operation of this side need not wait.
    #[track_caller]
    fn is_ready(&self, side: Side) -> bool {
        let other = side.other() as usize;
        self.gone[other] || self.parties[other].iter().any(Party::is_free)
    }
}

impl<T> Rendezvous<T> {
    #[track_caller]
    pub fn new() -> Self {
        Self(Mutex::new(State {
            parties: [VecDeque::new(), VecDeque::new()],
            observers: [Vec::new(), Vec::new()],
            gone: [false; 2],
        }))
    }

    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let mut state = self.lock();
        if state.gone[Side::Receive as usize] {
            return Err(SendError(message));
        }
        if let Some(packet) = state.partner(Side::Receive) {
            drop(state);
            return packet.put(message);
        }
        let packet = state.wait(Side::Send, Content::Full(message), None);
        drop(state);
        packet.wait_until_taken()
    }

    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let mut state = self.lock();
        if state.gone[Side::Receive as usize] {
            return Err(TrySendError::Disconnected(message));
        }
        // A futile attempt changes nothing, so that a thread that tries repeatedly
        // counts as spinning.
        if state.is_alone(Side::Receive) {
            return Err(TrySendError::Full(message));
        }
        let Some(packet) = state.partner(Side::Receive) else {
            return Err(TrySendError::Full(message));
        };
        drop(state);
        packet.put(message).map_err(TrySendError::from)
    }

    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut state = self.lock();
        let packet = match state.partner(Side::Send) {
            Some(packet) => packet,
            None if state.gone[Side::Send as usize] => return Err(RecvError),
            None => state.wait(Side::Receive, Content::Empty, None),
        };
        drop(state);
        packet.take()
    }

    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut state = self.lock();
        let none = if state.gone[Side::Send as usize] {
            TryRecvError::Disconnected
        } else {
            TryRecvError::Empty
        };
        if state.is_alone(Side::Send) {
            return Err(none);
        }
        let Some(packet) = state.partner(Side::Send) else {
            return Err(none);
        };
        drop(state);
        packet.take().map_err(TryRecvError::from)
    }

    /// Records that all ends of this side are gone.
    #[track_caller]
    pub fn disconnect(&self, side: Side) {
        let mut state = self.lock();
        state.gone[side as usize] = true;
        while let Some(party) = state.parties[side.other() as usize].pop_front() {
            party.packet.cancel(|| party.claim());
        }
        state.wake_observers(side.other());
    }

    /// Finds a partner for a selecting thread. Does nothing if there is none, or if there is one
    /// and `wanted` returns false.
    #[track_caller]
    pub fn attempt(&self, side: Side, wanted: &mut dyn FnMut() -> bool) -> Attempt<T> {
        let mut state = self.lock();
        let gone = state.gone[side.other() as usize];
        if state.is_alone(side.other()) && !gone {
            return Attempt::Waits;
        }
        if !wanted() {
            return Attempt::Declined;
        }
        match (state.partner(side.other()), side) {
            (Some(packet), _) => Attempt::Done(Reserved::Packet(packet)),
            (None, Side::Send) if gone => Attempt::Done(Reserved::NoReceiver),
            (None, Side::Receive) if gone => Attempt::Done(Reserved::Message(Err(RecvError))),
            (None, _) => Attempt::Waits,
        }
    }

    /// Enlists a selecting thread, unless it may find a partner now. Returns its packet; `None` if
    /// it was not enlisted.
    #[track_caller]
    pub fn watch(&self, side: Side, watcher: Watcher) -> Option<Reserved<T>> {
        let mut state = self.lock();
        let partners = &state.parties[side.other() as usize];
        let foreign = |party: &Party<T>| !party.belongs_to(&watcher.wait);
        if partners.iter().any(foreign) || state.gone[side.other() as usize] {
            return None;
        }
        let packet = state.wait(side, Content::Empty, Some(watcher));
        Some(Reserved::Packet(packet))
    }

    /// Removes a selecting thread from the list.
    #[track_caller]
    pub fn unwatch(&self, side: Side, wait: &Arc<Wait>) {
        let mut state = self.lock();
        state.parties[side as usize].retain(|party| !party.belongs_to(wait));
    }

    /// Whether an operation of this side need not wait.
    #[track_caller]
    pub fn is_ready(&self, side: Side) -> bool {
        self.lock().is_ready(side)
    }

    /// Enlists a thread that waits until there is a partner but makes no operation, unless there is
    /// a partner already. Returns whether the thread is enlisted.
    #[track_caller]
    pub fn observe(&self, side: Side, watcher: Watcher) -> bool {
        let mut state = self.lock();
        let waits = !state.is_ready(side);
        if waits {
            state.observers[side as usize].push(watcher);
        }
        waits
    }

    /// Removes a thread from the list of this side that [`observe`](Self::observe) has added.
    #[track_caller]
    pub fn unobserve(&self, side: Side, wait: &Arc<Wait>) {
        let mut state = self.lock();
        state.observers[side as usize].retain(|watcher| !watcher.belongs_to(wait));
    }
}
