//! `parking_lot::Once`.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use mazurka_rt::facade::OnceStage;
use mazurka_rt::sync;

/// Runs a function once.
pub struct Once {
    once: sync::Once,
    /// The index of its state in [`STATES`], for uses outside a model, where `once` does not reveal
    /// its state.
    state: AtomicU8,
}

/// The states by index.
const STATES: [OnceState; 4] = [
    OnceState::New,
    OnceState::Poisoned,
    OnceState::InProgress,
    OnceState::Done,
];

/// The state of a [`Once`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceState {
    /// It has not been called.
    New,
    /// It was called and panicked.
    Poisoned,
    /// It is being called.
    InProgress,
    /// It has completed.
    Done,
}

impl OnceState {
    /// Whether the last function that was run panicked.
    pub fn poisoned(self) -> bool {
        self == Self::Poisoned
    }

    /// Whether the function has completed.
    pub fn done(self) -> bool {
        self == Self::Done
    }
}

impl Once {
    /// Makes a `Once` that has not run anything.
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            once: sync::Once::new(),
            state: AtomicU8::new(OnceState::New as u8),
        }
    }

    /// Returns whether a function has completed, is running, or has panicked.
    ///
    /// ```
    /// use mazurka_parking_lot::{Once, OnceState};
    /// let once = Once::new();
    /// assert_eq!(once.state(), OnceState::New);
    /// once.call_once(|| assert_eq!(once.state(), OnceState::InProgress));
    /// assert!(once.state().done());
    /// ```
    #[track_caller]
    pub fn state(&self) -> OnceState {
        match self.once.stage() {
            Some(OnceStage::New) => OnceState::New,
            Some(OnceStage::Poisoned) => OnceState::Poisoned,
            Some(OnceStage::Running) => OnceState::InProgress,
            Some(OnceStage::Done) => OnceState::Done,
            None => STATES[usize::from(self.state.load(Ordering::Acquire))],
        }
    }

    /// Runs a function, and keeps `state` up to date, for uses outside a model.
    fn run(&self, f: impl FnOnce()) {
        let mut running = Running(&self.state, OnceState::Poisoned);
        self.state
            .store(OnceState::InProgress as u8, Ordering::Release);
        f();
        running.1 = OnceState::Done;
    }

    /// Runs the function, unless one has completed; waits if one is running.
    ///
    /// # Panics
    ///
    /// If an earlier function panicked.
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        self.once.call_once(|| self.run(f));
    }

    /// Runs the function, unless one has completed. An earlier function may have panicked.
    #[track_caller]
    pub fn call_once_force<F: FnOnce(OnceState)>(&self, f: F) {
        self.once.call_once_force(|before| {
            let before = if before.is_poisoned() {
                OnceState::Poisoned
            } else {
                OnceState::New
            };
            self.run(|| f(before));
        });
    }
}

/// A running function, and the state to set when it ends.
struct Running<'a>(&'a AtomicU8, OnceState);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.store(self.1 as u8, Ordering::Release);
    }
}

impl Default for Once {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Once { .. }")
    }
}
