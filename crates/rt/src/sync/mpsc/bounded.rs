//! A bounded channel, in a model. A sender that finds no room leaves its message with the channel
//! and waits; a receiver that makes room admits one of these messages, chosen nondeterministically.
//! With a bound of 0 a message passes directly from sender to receiver.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use mazurka_core::{Access, MemoryOrder, ProcessId};

use super::{RecvError, SendError, TryRecvError, TrySendError};
use crate::names::Meta;
use crate::world::{Pending, Place, Waiter, World, wakes};

const KIND: &str = "sync_channel";

pub(super) struct Bounded<T> {
    meta: Meta,
    place: Place,
    bound: usize,
    queue: RefCell<VecDeque<T>>,
    /// The senders that wait for room, each with its message.
    outside: RefCell<Vec<(ProcessId, T)>>,
    /// Whether the receiver waits.
    waiting: Cell<bool>,
    senders: Cell<u32>,
    receiver_dropped: Cell<bool>,
}

impl<T> Bounded<T> {
    pub fn new(world: &World, bound: usize, place: Place) -> Self {
        let meta = Meta::at(place);
        world.inner.borrow_mut().created(&meta, KIND);
        Self {
            meta,
            place,
            bound,
            queue: RefCell::default(),
            outside: RefCell::default(),
            waiting: Cell::new(false),
            senders: Cell::new(1),
            receiver_dropped: Cell::new(false),
        }
    }

    pub fn add_sender(&self) {
        self.senders.set(self.senders.get() + 1);
    }

    /// Waits until the current thread may perform an operation. `change` is the kind of waiting
    /// threads that the operation may wake. Returns the cell of the channel.
    fn turn(&self, world: &World, verb: &'static str, change: u8, place: Place) -> u32 {
        let cell = world.cell(&self.meta, KIND);
        let pending = Pending {
            wakes: change | wakes::CONTENT,
            ..Pending::new(Some(Access::write(cell)), (KIND, verb), place)
        };
        match (world.memory, change) {
            (None, _) => world.turn(pending),
            // A `send` releases and a `recv` acquires, so two sends do not synchronise.
            (_, wakes::SEND) => world.hold_turn(cell, MemoryOrder::Acquire, pending),
            _ => world.hold_turn(cell, MemoryOrder::Release, pending),
        }
        cell
    }

    /// Ends the operation under a memory model, and wakes the thread of the entry `woken`, if any.
    fn end_turn(&self, world: &World, cell: u32, woken: Option<Waiter>) {
        if world.memory.is_some() {
            let pending = Pending::new(None, (KIND, "wake"), self.place);
            world.end_turn(cell, pending);
            world.wake_taken(&woken, pending);
        }
    }

    pub fn drop_sender(&self, world: &World) {
        let cell = self.turn(world, "end of a sender", wakes::RECEIVE, self.place);
        self.senders.set(self.senders.get() - 1);
        match self.senders.get() {
            0 => self.wake_receiver(world, cell),
            _ => self.end_turn(world, cell, None),
        }
    }

    fn wake_receiver(&self, world: &World, cell: u32) {
        self.waiting.set(false);
        if world.memory.is_some() {
            let woken = world.take_all(cell, wakes::RECEIVE).pop();
            self.end_turn(world, cell, woken);
            return world.progress();
        }
        let mut inner = world.inner.borrow_mut();
        let current = inner.current;
        inner.clocks.release(current, cell);
        inner.changed(cell, wakes::CONTENT);
        inner.wake_all(cell, wakes::RECEIVE);
    }

    /// Drops the receiver and wakes all threads that wait for it.
    pub fn drop_receiver(&self, world: &World) {
        let cell = self.turn(world, "end of the receiver", wakes::SEND, self.place);
        self.receiver_dropped.set(true);
        if world.memory.is_some() {
            let woken = world.take_all(cell, wakes::SEND);
            self.end_turn(world, cell, None);
            let pending = Pending::new(None, (KIND, "end of the receiver"), self.place);
            world.wake_taken(&woken, pending);
            world.progress();
        } else {
            let mut inner = world.inner.borrow_mut();
            inner.changed(cell, wakes::CONTENT);
            inner.wake_all(cell, wakes::SEND);
        }
        drop(std::mem::take(&mut *self.queue.borrow_mut()));
    }

    fn has_room(&self) -> bool {
        let room = self.bound + usize::from(self.bound == 0 && self.waiting.get());
        self.queue.borrow().len() < room
    }

    pub fn send(&self, world: &World, message: T, place: Place) -> Result<(), SendError<T>> {
        let cell = self.turn(world, "send", wakes::RECEIVE, place);
        if self.receiver_dropped.get() {
            self.end_turn(world, cell, None);
            return Err(SendError(message));
        }
        if self.has_room() {
            self.queue.borrow_mut().push_back(message);
            self.wake_receiver(world, cell);
            return Ok(());
        }
        let me = world.inner.borrow().current;
        self.outside.borrow_mut().push((me, message));
        world.note(|| "there is no room".into());
        let what = (KIND, "wait for room");
        if world.memory.is_some() {
            world.enlist_in_turn(cell, wakes::SEND);
            self.end_turn(world, cell, None);
            world.await_token(what, place);
        } else {
            {
                let mut inner = world.inner.borrow_mut();
                inner.clocks.release(me, cell);
                inner.enlist(cell, wakes::SEND);
            }
            world.wait_for_token(what, place);
        }
        // The receiver that made room has taken the message; if the message is still here, the
        // receiver was dropped.
        let mut outside = self.outside.borrow_mut();
        match outside.iter().position(|(who, _)| *who == me) {
            Some(at) => Err(SendError(outside.remove(at).1)),
            None => Ok(()),
        }
    }

    pub fn try_send(&self, world: &World, message: T, place: Place) -> Result<(), TrySendError<T>> {
        let cell = self.turn(world, "try_send", wakes::RECEIVE, place);
        if self.receiver_dropped.get() {
            self.end_turn(world, cell, None);
            return Err(TrySendError::Disconnected(message));
        }
        if self.has_room() {
            self.queue.borrow_mut().push_back(message);
            self.wake_receiver(world, cell);
            return Ok(());
        }
        self.end_turn(world, cell, None);
        world.inner.borrow_mut().saw(cell, wakes::CONTENT);
        world.note(|| "there is no room".into());
        Err(TrySendError::Full(message))
    }

    /// Whether the receiver moves the message of a waiting sender into the queue. `taken` tells
    /// whether it has just taken a message from the queue. With a bound of 0, a sender puts a
    /// message into the queue only if the receiver waits for it, so a receiver that has taken this
    /// message makes no room.
    fn admits(&self, taken: bool) -> bool {
        self.bound > 0 || !taken
    }

    /// Takes the next message, and admits the message of a waiting sender if there is one.
    fn pop(&self, world: &World, cell: u32) -> Option<T> {
        if world.memory.is_some() {
            return self.pop_weakly(world, cell);
        }
        let mut queue = self.queue.borrow_mut();
        let mut inner = world.inner.borrow_mut();
        let message = queue.pop_front();
        if self.admits(message.is_some())
            && let Some(sender) = inner.wake_one(cell, wakes::SEND)
        {
            let mut outside = self.outside.borrow_mut();
            if let Some(at) = outside.iter().position(|(who, _)| *who == sender) {
                queue.push_back(outside.remove(at).1);
            }
        }
        // With a bound of 0 the only messages are those of waiting senders.
        let message = message.or_else(|| queue.pop_front())?;
        let current = inner.current;
        inner.clocks.acquire(current, cell);
        inner.changed(cell, wakes::CONTENT);
        Some(message)
    }

    /// Takes the next message under a memory model, and ends the operation. If there is no message,
    /// the caller must end the operation.
    fn pop_weakly(&self, world: &World, cell: u32) -> Option<T> {
        let message = self.queue.borrow_mut().pop_front();
        let pending = Pending::new(None, (KIND, "admit a message"), self.place);
        let admits = self.admits(message.is_some());
        let sender = admits.then(|| world.take_one(cell, wakes::SEND, pending));
        let sender = sender.flatten();
        if let Some(sender) = sender {
            let mut outside = self.outside.borrow_mut();
            if let Some(at) = outside.iter().position(|(who, _)| who.0 == sender.thread) {
                self.queue.borrow_mut().push_back(outside.remove(at).1);
            }
        }
        let message = message.or_else(|| self.queue.borrow_mut().pop_front())?;
        self.end_turn(world, cell, sender);
        world.progress();
        Some(message)
    }

    pub fn recv(&self, world: &World, place: Place) -> Result<T, RecvError> {
        loop {
            let cell = self.turn(world, "recv", wakes::SEND, place);
            if let Some(message) = self.pop(world, cell) {
                return Ok(message);
            }
            if self.senders.get() == 0 {
                self.end_turn(world, cell, None);
                return Err(RecvError);
            }
            self.waiting.set(true);
            world.note(|| "there is nothing".into());
            let what = (KIND, "wait for a message");
            if world.memory.is_some() {
                world.enlist_in_turn(cell, wakes::RECEIVE);
                self.end_turn(world, cell, None);
                world.await_token(what, place);
            } else {
                world.inner.borrow_mut().enlist(cell, wakes::RECEIVE);
                world.wait_for_token(what, place);
            }
        }
    }

    pub fn try_recv(
        &self,
        world: &World,
        verb: &'static str,
        place: Place,
    ) -> Result<T, TryRecvError> {
        let cell = self.turn(world, verb, wakes::SEND, place);
        if let Some(message) = self.pop(world, cell) {
            return Ok(message);
        }
        let gone = self.senders.get() == 0;
        self.end_turn(world, cell, None);
        if gone {
            return Err(TryRecvError::Disconnected);
        }
        world.inner.borrow_mut().saw(cell, wakes::CONTENT);
        world.note(|| "there is nothing".into());
        Err(TryRecvError::Empty)
    }
}
