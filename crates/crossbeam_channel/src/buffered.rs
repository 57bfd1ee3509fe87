//! A channel with room for messages: a queue under a mutex.
//!
//! A thread that waits for one operation waits at a condition variable, and any of the threads
//! there may be woken. A thread that waits for several operations (a *selecting* thread, see
//! select.rs) is in the list of each channel. A change wakes all selecting threads in the list, and
//! they try their operations again.

use std::collections::VecDeque;

use mazurka_rt::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::channel::{Attempt, Reserved, Side};
use crate::error::{RecvError, SendError, TryRecvError, TrySendError};
use crate::wait::{Wait, Watcher};

pub(crate) struct Buffered<T> {
    pub capacity: Option<usize>,
    state: Mutex<State<T>>,
    /// The condition variables for senders and for receivers.
    condvars: [Condvar; 2],
}

struct State<T> {
    queue: VecDeque<T>,
    capacity: Option<usize>,
    /// Number of messages for which selecting threads have reserved room. They send them later.
    reserved_room: usize,
    /// For each side: whether all its ends are gone.
    gone: [bool; 2],
    /// Number of threads that wait at each condition variable.
    waiting: [usize; 2],
    watchers: [Vec<Watcher>; 2],
}

impl<T> State<T> {
    fn has_room(&self) -> bool {
        let used = self.queue.len() + self.reserved_room;
        self.capacity.is_none_or(|capacity| used < capacity)
    }

    /// Whether an operation of this side need not wait.
    fn is_ready(&self, side: Side) -> bool {
        let possible = match side {
            Side::Send => self.has_room(),
            Side::Receive => !self.queue.is_empty(),
        };
        possible || self.gone[side.other() as usize]
    }
}

impl<T> Buffered<T> {
    #[track_caller]
    pub fn new(capacity: Option<usize>) -> Self {
        Self {
            capacity,
            state: Mutex::new(State {
                queue: VecDeque::new(),
                capacity,
                reserved_room: 0,
                gone: [false; 2],
                waiting: [0; 2],
                watchers: [Vec::new(), Vec::new()],
            }),
            condvars: [Condvar::steady(), Condvar::steady()],
        }
    }

    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes threads for which one operation of this side may be possible.
    #[track_caller]
    fn wake(&self, state: &mut State<T>, side: Side) {
        if state.waiting[side as usize] > 0 {
            self.condvars[side as usize].notify_one();
        }
        for watcher in state.watchers[side as usize].drain(..) {
            watcher.claim();
        }
    }

    /// Waits at the condition variable of this side.
    #[track_caller]
    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<T>>,
        side: Side,
    ) -> MutexGuard<'a, State<T>> {
        state.waiting[side as usize] += 1;
        let woken = self.condvars[side as usize].wait(state);
        let mut state = woken.unwrap_or_else(PoisonError::into_inner);
        state.waiting[side as usize] -= 1;
        state
    }

    #[track_caller]
    fn push(&self, state: &mut State<T>, message: T) {
        state.queue.push_back(message);
        self.wake(state, Side::Receive);
    }

    #[track_caller]
    fn pop(&self, state: &mut State<T>) -> Option<T> {
        let message = state.queue.pop_front()?;
        if state.capacity.is_some() {
            self.wake(state, Side::Send);
        }
        Some(message)
    }

    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let mut state = self.lock();
        while !state.is_ready(Side::Send) {
            state = self.wait(state, Side::Send);
        }
        if state.gone[Side::Receive as usize] {
            return Err(SendError(message));
        }
        self.push(&mut state, message);
        Ok(())
    }

    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let mut state = self.lock();
        if state.gone[Side::Receive as usize] {
            return Err(TrySendError::Disconnected(message));
        }
        if !state.has_room() {
            return Err(TrySendError::Full(message));
        }
        self.push(&mut state, message);
        Ok(())
    }

    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut state = self.lock();
        while !state.is_ready(Side::Receive) {
            state = self.wait(state, Side::Receive);
        }
        self.pop(&mut state).ok_or(RecvError)
    }

    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut state = self.lock();
        // A futile attempt changes nothing, so that a thread that tries repeatedly
        // counts as spinning.
        if state.queue.is_empty() {
            return Err(if state.gone[Side::Send as usize] {
                TryRecvError::Disconnected
            } else {
                TryRecvError::Empty
            });
        }
        self.pop(&mut state).ok_or(TryRecvError::Empty)
    }

    #[track_caller]
    pub fn len(&self) -> usize {
        self.lock().queue.len()
    }

    /// Records that all ends of this side are gone.
    #[track_caller]
    pub fn disconnect(&self, side: Side) {
        let mut state = self.lock();
        state.gone[side as usize] = true;
        let other = side.other();
        if state.waiting[other as usize] > 0 {
            self.condvars[other as usize].notify_all();
        }
        for watcher in state.watchers[other as usize].drain(..) {
            watcher.claim();
        }
        let unread = match side {
            Side::Send => VecDeque::new(),
            Side::Receive => std::mem::take(&mut state.queue),
        };
        drop(state);
        drop(unread);
    }

    /// Receives a message for a selecting thread, or reserves room for the message that it will
    /// send. Does nothing if this would have to wait, or if the operation is possible and `wanted`
    /// returns false.
    #[track_caller]
    pub fn attempt(&self, side: Side, wanted: &mut dyn FnMut() -> bool) -> Attempt<T> {
        let mut state = self.lock();
        if !state.is_ready(side) {
            return Attempt::Waits;
        }
        if !wanted() {
            return Attempt::Declined;
        }
        Attempt::Done(match side {
            Side::Receive => Reserved::Message(self.pop(&mut state).ok_or(RecvError)),
            Side::Send if state.gone[Side::Receive as usize] => Reserved::NoReceiver,
            Side::Send => {
                state.reserved_room += 1;
                Reserved::Room
            }
        })
    }

    /// Sends a message for which room is reserved.
    #[track_caller]
    pub fn send_into_reserved_room(&self, message: T) -> Result<(), SendError<T>> {
        let mut state = self.lock();
        state.reserved_room -= 1;
        if state.gone[Side::Receive as usize] {
            return Err(SendError(message));
        }
        self.push(&mut state, message);
        Ok(())
    }

    /// Whether an operation of this side need not wait.
    #[track_caller]
    pub fn is_ready(&self, side: Side) -> bool {
        self.lock().is_ready(side)
    }

    /// Enlists a selecting thread, unless the operation need not wait. Returns whether the thread
    /// is enlisted.
    #[track_caller]
    pub fn watch(&self, side: Side, watcher: Watcher) -> bool {
        let mut state = self.lock();
        let waits = !state.is_ready(side);
        if waits {
            state.watchers[side as usize].push(watcher);
        }
        waits
    }

    /// Removes a selecting thread from the list of this side.
    #[track_caller]
    pub fn unwatch(&self, side: Side, wait: &Arc<Wait>) {
        let mut state = self.lock();
        state.watchers[side as usize].retain(|watcher| !watcher.belongs_to(wait));
    }
}
