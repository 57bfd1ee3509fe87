//! `loom::sync`.

pub use mazurka_rt::sync::*;

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
    /// Makes one without a notification.
    #[track_caller]
    pub fn new() -> Self {
        Self {
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
        }
    }

    /// Notifies the thread that waits, or the next that does.
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
    /// If another thread waits already.
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
