//! Futures: `block_on`, and a slot for a waker.

use std::task::Waker;

use mazurka_rt::sync::{Mutex, PoisonError};

pub use mazurka_rt::future::block_on;

/// A slot for the waker of a task, from which other threads take it to wake the task.
///
/// Registering a waker and taking it are atomic operations.
#[derive(Debug, Default)]
pub struct AtomicWaker(Mutex<Option<Waker>>);

impl AtomicWaker {
    /// Makes an empty slot.
    #[track_caller]
    pub fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Stores a waker in place of the previous one.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = place.replace(waker);
        drop(place);
        drop(before);
    }

    /// Stores a clone of a waker.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Wakes the task whose waker is stored.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes the waker.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.take()
    }
}
