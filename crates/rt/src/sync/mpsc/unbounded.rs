//! An unbounded channel, in a model.
//!
//! | cell | what it represents | which operations touch it |
//! |---|---|---|
//! | the channel's | the end of the queue, and the receiver | `send`; dropping the receiver |
//! | part 0 | the number of senders | dropping a sender |
//! | part k + 1 | the flag of the k-th message | see below |
//!
//! The operations on the first two cells write them. The flag of a message is a lock: its `send`,
//! or dropping the last sender, releases it, and its `recv` acquires it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use mazurka_core::{Access, AccessKind, Claims};
use mazurka_memory::{Effect, MemoryOrder, Value};

use super::{RecvError, SendError, TryRecvError};
use crate::names::Meta;
use crate::world::{Inner, Pending, Place, Until, World, wakes};

const KIND: &str = "channel";

/// Values of the flag of a message under a memory model: the message has arrived, or will never
/// arrive.
const ARRIVED: Value = 1;
const GONE: Value = 2;
/// Under a memory model, the value of the channel's location counts the messages. Dropping the last
/// sender adds this number to it.
const CLOSED: Value = 1 << 40;

pub(super) struct Unbounded<T> {
    meta: Meta,
    place: Place,
    queue: RefCell<VecDeque<T>>,
    received: Cell<u32>,
    senders: Cell<u32>,
}

impl Inner {
    /// Claims the flag of the next message to be sent. A `send` always makes this claim. Dropping a
    /// sender makes it only if this is the last sender.
    pub fn claim_message(&self, channel: u32, into: &mut Claims) {
        into.extend(
            self.next_flag(channel)
                .map(|flag| Access::new(AccessKind::Release, flag)),
        );
    }

    fn next_flag(&self, channel: u32) -> Option<u32> {
        self.part(channel, self.cells[channel as usize].count + 1)
    }

    /// Sets the flag of the next message: it has arrived, or will never arrive.
    fn set_flag(&mut self, channel: u32) {
        if let Some(flag) = self.next_flag(channel) {
            self.cells[flag as usize].flag = 1;
            let release = Access::new(AccessKind::Release, flag);
            self.effects.touched.push(release);
            let current = self.current;
            self.clocks.release(current, flag);
        }
    }
}

impl World {
    /// Writes the flag of the next message of a channel, under a memory model.
    fn signal(&self, channel: u32, value: Value, pending: Pending) {
        let flag = self.inner.borrow().next_flag(channel);
        self.signal_at(flag, value, pending);
    }

    fn signal_at(&self, flag: Option<u32>, value: Value, pending: Pending) {
        if let Some(flag) = flag {
            self.write_value(flag, MemoryOrder::Release, value, pending);
        }
    }
}

impl<T> Unbounded<T> {
    pub fn new(world: &World, place: Place) -> Self {
        let meta = Meta::at(place);
        let mut inner = world.inner.borrow_mut();
        let cell = inner.created(&meta, KIND);
        inner.new_part(cell, 0, "senders");
        inner.new_part(cell, 1, "message");
        Self {
            meta,
            place,
            queue: RefCell::default(),
            received: Cell::new(0),
            senders: Cell::new(1),
        }
    }

    pub fn add_sender(&self) {
        self.senders.set(self.senders.get() + 1);
    }

    /// Drops a sender. Whether it is the last one is known only when this step is made.
    pub fn drop_sender(&self, world: &World) {
        let cell = world.cell(&self.meta, KIND);
        let part = world.inner.borrow().part(cell, 0);
        let Some(part) = part else {
            return;
        };
        world.inner.borrow_mut().cells[part as usize].count = self.senders.get();
        let pending = Pending {
            wakes: wakes::CONTENT,
            drops: Some(cell),
            ..Pending::new(
                Some(Access::write(part)),
                (KIND, "end of a sender"),
                self.place,
            )
        };
        if world.memory.is_some() {
            // The last sender must have seen all messages that were sent.
            world.take_turn(part, MemoryOrder::AcqRel, pending);
            self.senders.set(self.senders.get() - 1);
            if self.senders.get() == 0 {
                let close = |turns| Effect::Write(turns + CLOSED);
                world.update(cell, [MemoryOrder::Relaxed; 2], &close, pending);
                world.signal(cell, GONE, pending);
            }
            return world.progress();
        }
        world.turn(pending);
        self.senders.set(self.senders.get() - 1);
        let mut inner = world.inner.borrow_mut();
        inner.cells[part as usize].count = self.senders.get();
        if self.senders.get() == 0 {
            inner.set_flag(cell);
        }
        inner.changed(part, wakes::CONTENT);
    }

    /// Drops the receiver.
    pub fn drop_receiver(&self, world: &World) {
        let cell = world.cell(&self.meta, KIND);
        let pending = Pending::write(cell, (KIND, "end of the receiver"), self.place);
        match world.memory {
            None => world.turn(pending),
            Some(_) => world.take_turn(cell, MemoryOrder::Relaxed, pending),
        }
        let left = std::mem::take(&mut *self.queue.borrow_mut());
        let mut inner = world.inner.borrow_mut();
        inner.cells[cell as usize].flag = 1;
        inner.changed(cell, wakes::CONTENT);
        drop(inner);
        drop(left);
    }

    pub fn send(&self, world: &World, message: T, place: Place) -> Result<(), SendError<T>> {
        let cell = world.cell(&self.meta, KIND);
        let pending = Pending {
            sends: Some(cell),
            ..Pending::write(cell, (KIND, "send"), place)
        };
        match world.memory {
            None => world.turn(pending),
            Some(_) => world.take_turn(cell, MemoryOrder::Relaxed, pending),
        }
        let mut inner = world.inner.borrow_mut();
        if inner.cells[cell as usize].flag != 0 {
            drop(inner);
            world.note(|| "the receiver is gone".into());
            return Err(SendError(message));
        }
        self.queue.borrow_mut().push_back(message);
        if world.memory.is_some() {
            let flag = inner.next_flag(cell);
            inner.cells[cell as usize].count += 1;
            let next = inner.cells[cell as usize].count + 1;
            inner.new_part(cell, next, "message");
            drop(inner);
            world.signal_at(flag, ARRIVED, pending);
            return Ok(());
        }
        inner.set_flag(cell);
        inner.cells[cell as usize].count += 1;
        let next = inner.cells[cell as usize].count + 1;
        inner.new_part(cell, next, "message");
        inner.changed(cell, wakes::CONTENT);
        Ok(())
    }

    /// Returns the cell of the next message to receive.
    fn next_message(&self, world: &World) -> u32 {
        let cell = world.cell(&self.meta, KIND);
        let inner = world.inner.borrow();
        inner
            .part(cell, self.received.get() + 1)
            .expect("it was made with the one before it")
    }

    fn pop(&self, world: &World, flag: u32) -> Option<T> {
        let message = self.queue.borrow_mut().pop_front();
        let mut inner = world.inner.borrow_mut();
        let current = inner.current;
        inner.clocks.acquire(current, flag);
        inner.me().spin.progress();
        if message.is_some() {
            self.received.set(self.received.get() + 1);
        } else {
            drop(inner);
            world.note(|| "all senders are gone".into());
        }
        message
    }

    /// Takes the message whose flag has this value, under a memory model; `None` if it will never
    /// come.
    fn pop_weakly(&self, world: &World, flag: Value) -> Option<T> {
        if flag == GONE {
            world.note(|| "all senders are gone".into());
            return None;
        }
        world.progress();
        self.received.set(self.received.get() + 1);
        self.queue.borrow_mut().pop_front()
    }

    pub fn recv(&self, world: &World, place: Place) -> Result<T, RecvError> {
        let flag = self.next_message(world);
        let pending = Pending {
            until: Until::Flag(flag),
            ..Pending::lock(AccessKind::Acquire, flag, (KIND, "recv"), place)
        };
        if world.memory.is_some() {
            let there = |value| value != 0;
            let value = world.wait_for_value(flag, MemoryOrder::Acquire, &there, pending);
            return self.pop_weakly(world, value).ok_or(RecvError);
        }
        world.turn(pending);
        self.pop(world, flag).ok_or(RecvError)
    }

    pub fn try_recv(
        &self,
        world: &World,
        verb: &'static str,
        place: Place,
    ) -> Result<T, TryRecvError> {
        let flag = self.next_message(world);
        let pending = Pending::read(flag, (KIND, verb), place);
        if world.memory.is_some() {
            // As in std, if a message has a place in the queue but has not arrived yet, the
            // receiver waits for it.
            let cell = world.cell(&self.meta, KIND);
            let turns = world.read_value(cell, MemoryOrder::Relaxed, pending);
            if turns < CLOSED && turns <= Value::from(self.received.get()) {
                world.note(|| "there is nothing".into());
                return Err(TryRecvError::Empty);
            }
            let pending = Pending {
                until: Until::Flag(flag),
                ..pending
            };
            let there = |value| value != 0;
            let value = world.wait_for_value(flag, MemoryOrder::Acquire, &there, pending);
            let message = self.pop_weakly(world, value);
            return message.ok_or(TryRecvError::Disconnected);
        }
        world.turn(pending);
        if world.inner.borrow().cells[flag as usize].flag != 0 {
            return self.pop(world, flag).ok_or(TryRecvError::Disconnected);
        }
        let cell = world.cell(&self.meta, KIND);
        let mut inner = world.inner.borrow_mut();
        inner.saw(cell, wakes::CONTENT);
        if let Some(part) = inner.part(cell, 0) {
            inner.saw(part, wakes::CONTENT);
        }
        drop(inner);
        world.note(|| "there is nothing".into());
        Err(TryRecvError::Empty)
    }
}
