//! A channel that keeps one value, whose changes receivers wait for.
//!
//! The value is behind a lock of `mazurka-rt`: as in tokio, a task that keeps a [`Ref`] makes
//! senders wait. A separate object, the *state*, holds the version of the value (which each change
//! increments), the numbers of senders and receivers, and the waiting tasks.

use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::panic::Location;
use std::task::{Context, Poll};

use mazurka_rt::facade::Monitor;
use mazurka_rt::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::{Wakers, wake_all};
use crate::drive::Place;

/// Errors of the channel.
pub mod error {
    use std::error::Error;
    use std::fmt;

    /// A value that was not sent, because there is no receiver.
    #[derive(PartialEq, Eq, Clone, Copy)]
    pub struct SendError<T>(pub T);

    /// All senders are gone.
    #[derive(Debug, Clone)]
    pub struct RecvError(pub(super) ());

    impl<T> fmt::Debug for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("SendError").finish_non_exhaustive()
        }
    }

    impl<T> fmt::Display for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("channel closed")
        }
    }

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("channel closed")
        }
    }

    impl<T> Error for SendError<T> {}
    impl Error for RecvError {}
}

use error::{RecvError, SendError};

struct State {
    version: u64,
    senders: usize,
    receivers: usize,
    /// `changes` are the wakers of receivers that wait for a change; `ends` are those of senders
    /// that wait until the last receiver is gone.
    changes: Wakers,
    ends: Wakers,
}

struct Shared<T> {
    value: RwLock<T>,
    state: Monitor<State>,
}

impl<T> Shared<T> {
    #[track_caller]
    fn read(&self) -> RwLockReadGuard<'_, T> {
        self.value.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn version(&self, verb: &'static str, place: Place) -> u64 {
        self.state.look(verb, place, |state| state.version)
    }

    /// Waits for a version other than `seen`.
    fn poll_changed(
        &self,
        seen: &mut u64,
        cx: &mut Context<'_>,
        place: Place,
    ) -> Poll<Result<(), RecvError>> {
        self.state.update("changed", place, |state| {
            if *seen != state.version {
                *seen = state.version;
                return (Poll::Ready(Ok(())), false);
            }
            if state.senders == 0 {
                return (Poll::Ready(Err(RecvError(()))), false);
            }
            state.changes.retain(|known| !known.will_wake(cx.waker()));
            state.changes.push(cx.waker().clone());
            (Poll::Pending, false)
        })
    }
}

/// Sends values.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
    place: Place,
}

/// Receives the latest value.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The version of the value that the receiver has seen last.
    seen: u64,
    place: Place,
}

/// A borrow of the value. Senders wait until it is dropped.
pub struct Ref<'a, T> {
    value: RwLockReadGuard<'a, T>,
    has_changed: bool,
}

impl<T> Ref<'_, T> {
    /// Whether the receiver had not seen the value before.
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Ref");
        debug.field("inner", &**self);
        debug.field("has_changed", &self.has_changed).finish()
    }
}

/// Makes a channel with a value, which its receiver has seen.
#[track_caller]
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let place = Location::caller();
    let shared = Arc::new(Shared {
        value: RwLock::new(init),
        state: Monitor::new(
            "watch",
            State {
                version: 1,
                senders: 1,
                receivers: 1,
                changes: Vec::new(),
                ends: Vec::new(),
            },
        ),
    });
    let sender = Sender {
        shared: shared.clone(),
        place,
    };
    let seen = 1;
    (
        sender,
        Receiver {
            shared,
            seen,
            place,
        },
    )
}

impl<T> Receiver<T> {
    fn new(shared: &Arc<Shared<T>>, seen: Option<u64>, verb: &'static str, place: Place) -> Self {
        let version = shared.state.update(verb, place, |state| {
            state.receivers += 1;
            (state.version, true)
        });
        Self {
            shared: shared.clone(),
            seen: seen.unwrap_or(version),
            place,
        }
    }

    /// Borrows the value without counting it as seen.
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        let value = self.shared.read();
        let version = self.shared.version("borrow", Location::caller());
        let has_changed = self.seen != version;
        Ref { value, has_changed }
    }

    /// Borrows the value and counts it as seen.
    #[track_caller]
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let value = self.shared.read();
        let place = Location::caller();
        let version = self.shared.version("borrow_and_update", place);
        let has_changed = self.seen != version;
        self.seen = version;
        Ref { value, has_changed }
    }

    /// Whether there is a value that this receiver has not seen.
    #[track_caller]
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        let seen = self.seen;
        let state = &self.shared.state;
        state.look("has_changed", Location::caller(), |state| {
            match state.senders {
                0 => Err(RecvError(())),
                _ => Ok(state.version != seen),
            }
        })
    }

    /// Counts the value as not seen.
    pub fn mark_changed(&mut self) {
        self.seen = self.seen.wrapping_sub(1);
    }

    /// Counts the value as seen.
    #[track_caller]
    pub fn mark_unchanged(&mut self) {
        self.seen = self.shared.version("mark_unchanged", Location::caller());
    }

    /// Waits for a value that this receiver has not seen, and counts the value as seen.
    #[track_caller]
    pub fn changed(&mut self) -> impl Future<Output = Result<(), RecvError>> + '_ {
        let place = Location::caller();
        poll_fn(move |cx| self.shared.poll_changed(&mut self.seen, cx, place))
    }

    /// Waits for a value that satisfies a condition.
    #[track_caller]
    pub fn wait_for(
        &mut self,
        mut f: impl FnMut(&T) -> bool,
    ) -> impl Future<Output = Result<Ref<'_, T>, RecvError>> {
        let place = Location::caller();
        async move {
            let mut closed = false;
            loop {
                {
                    let value = self.shared.read();
                    let version = self.shared.version("wait_for", place);
                    let has_changed = self.seen != version;
                    self.seen = version;
                    if (!closed || has_changed) && f(&value) {
                        return Ok(Ref { value, has_changed });
                    }
                }
                if closed {
                    return Err(RecvError(()));
                }
                let seen = &mut self.seen;
                let changed = poll_fn(|cx| self.shared.poll_changed(seen, cx, place)).await;
                closed = changed.is_err();
            }
        }
    }

    /// Whether both belong to the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self::new(&self.shared, Some(self.seen), "clone", self.place)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let state = &self.shared.state;
        let wakers = state.update("drop receiver", self.place, |state| {
            state.receivers -= 1;
            match state.receivers {
                0 => (std::mem::take(&mut state.ends), true),
                _ => (Vec::new(), true),
            }
        });
        wake_all(wakers);
    }
}

impl<T> Sender<T> {
    /// Makes a channel without a receiver.
    #[track_caller]
    pub fn new(init: T) -> Self {
        channel(init).0
    }

    /// Sends a value, if there is a receiver.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.receiver_count() == 0 {
            return Err(SendError(value));
        }
        self.send_replace(value);
        Ok(())
    }

    /// Changes the value.
    #[track_caller]
    pub fn send_modify<F>(&self, modify: F)
    where
        F: FnOnce(&mut T),
    {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// Changes the value; notifies receivers if the function returns true.
    #[track_caller]
    pub fn send_if_modified<F>(&self, modify: F) -> bool
    where
        F: FnOnce(&mut T) -> bool,
    {
        let shared = &self.shared;
        let mut value = shared.value.write().unwrap_or_else(PoisonError::into_inner);
        if !modify(&mut value) {
            return false;
        }
        let wakers = shared.state.update("send", Location::caller(), |state| {
            state.version += 1;
            (std::mem::take(&mut state.changes), true)
        });
        drop(value);
        wake_all(wakers);
        true
    }

    /// Sends a value, even without a receiver. Returns the previous one.
    #[track_caller]
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|old| std::mem::swap(old, &mut value));
        value
    }

    /// Borrows the value.
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref {
            value: self.shared.read(),
            has_changed: false,
        }
    }

    /// Whether there is no receiver.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// Waits until there is no receiver.
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> + '_ {
        let place = Location::caller();
        poll_fn(move |cx| {
            self.shared.state.update("closed", place, |state| {
                if state.receivers == 0 {
                    return (Poll::Ready(()), false);
                }
                state.ends.retain(|known| !known.will_wake(cx.waker()));
                state.ends.push(cx.waker().clone());
                (Poll::Pending, false)
            })
        })
    }

    /// Makes a receiver that has seen the value.
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::new(&self.shared, None, "subscribe", Location::caller())
    }

    /// Returns the number of receivers.
    #[track_caller]
    pub fn receiver_count(&self) -> usize {
        let place = Location::caller();
        let state = &self.shared.state;
        state.look("receiver_count", place, |state| state.receivers)
    }

    /// Whether both send to the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.state.update("clone", self.place, |state| {
            state.senders += 1;
            ((), true)
        });
        Self {
            shared: self.shared.clone(),
            place: self.place,
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let state = &self.shared.state;
        let wakers = state.update("drop sender", self.place, |state| {
            state.senders -= 1;
            match state.senders {
                0 => (std::mem::take(&mut state.changes), true),
                _ => (Vec::new(), true),
            }
        });
        wake_all(wakers);
    }
}

impl<T: Default> Default for Sender<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

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
