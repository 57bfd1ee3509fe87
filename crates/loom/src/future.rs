//! Futures: `block_on`, and a place for a waker.

use std::task::Waker;

use mazurka_rt::sync::{Mutex, PoisonError};

pub use mazurka_rt::future::block_on;

/// A place for the waker of a task, which other threads take to wake it.
///
/// A task that registers while another thread takes the waker does so before or after.
#[derive(Debug, Default)]
pub struct AtomicWaker(Mutex<Option<Waker>>);

impl AtomicWaker {
    /// Makes an empty place.
    #[track_caller]
    pub fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Puts a waker there, in place of the one before.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = place.replace(waker);
        drop(place);
        drop(before);
    }

    /// Puts a clone of a waker there.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Wakes the task whose waker is there.
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
