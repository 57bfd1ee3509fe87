//! `parking_lot::Once`.

use std::fmt;

use mazurka_rt::sync;

/// Runs a function once.
pub struct Once(sync::Once);

/// Whether the function of a [`Once`] has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceState {
    /// It has not been called.
    New,
    /// It was called and panicked.
    Poisoned,
    /// It is being called.
    InProgress,
    /// It has run.
    Done,
}

impl OnceState {
    /// Whether the function panicked.
    pub fn poisoned(self) -> bool {
        self == Self::Poisoned
    }

    /// Whether the function has run.
    pub fn done(self) -> bool {
        self == Self::Done
    }
}

impl Once {
    /// Makes one that has run nothing.
    #[track_caller]
    pub const fn new() -> Self {
        Self(sync::Once::new())
    }

    /// Runs the function, unless another one has run; waits if one is being run.
    ///
    /// # Panics
    ///
    /// If an earlier function panicked.
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        self.0.call_once(f);
    }

    /// The same, also if an earlier function panicked.
    #[track_caller]
    pub fn call_once_force<F: FnOnce(OnceState)>(&self, f: F) {
        self.0.call_once_force(|before| {
            f(match before.is_poisoned() {
                true => OnceState::Poisoned,
                false => OnceState::New,
            });
        });
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
