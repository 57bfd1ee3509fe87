//! `loom::sync`.

pub mod atomic;

pub use mazurka_rt::sync::{
    Arc, Barrier, BarrierWaitResult, Condvar, LazyLock, LockResult, Mutex, MutexGuard, Once,
    OnceLock, OnceState, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
    TryLockResult, WaitTimeoutResult, Weak, mpsc,
};

/// A notification that one thread waits for.
#[derive(Debug, Default)]
pub struct Notify {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    notified: bool,
    waiting: bool,
}

impl Notify {
    /// Makes an object without a pending notification.
    #[track_caller]
    pub fn new() -> Self {
        Self {
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
        }
    }

    /// Notifies the waiting thread, or the next one that waits.
    #[track_caller]
    pub fn notify(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.notified = true;
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for a notification.
    ///
    /// # Panics
    ///
    /// If another thread is already waiting.
    #[track_caller]
    pub fn wait(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(!state.waiting, "only a single thread may wait on `Notify`");
        state.waiting = true;
        while !state.notified {
            state = match self.changed.wait(state) {
                Ok(state) => state,
                Err(poisoned) => poisoned.into_inner(),
            };
        }
        *state = State::default();
    }
}
