//! How long a step may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a search waits for a step. A search checks its limits between steps. A step with long
/// local work checks this value, so that the search need not wait for the end of the step.
///
/// Clones share their state: [`wait_again`](Self::wait_again) of one clone affects all of them.
///
/// ```
/// use std::time::Duration;
///
/// let patience = mazurka_core::Patience::new(Some(Duration::ZERO), None);
/// assert!(patience.is_over());
/// patience.clone().wait_again();
/// assert!(!patience.is_over());
/// assert!(!mazurka_core::Patience::default().is_over());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Patience {
    end: Option<Instant>,
    stopped: Option<Arc<AtomicBool>>,
    waits: Arc<AtomicBool>,
    /// Whether this clone waits, whatever the other clones do.
    held: bool,
}

impl Patience {
    /// Creates a patience that is over after this time from now on, or as soon as `stopped` is set.
    /// `None`: that reason does not apply.
    pub fn new(time: Option<Duration>, stopped: Option<Arc<AtomicBool>>) -> Self {
        Self {
            end: time.and_then(|time| Instant::now().checked_add(time)),
            stopped,
            waits: Arc::default(),
            held: false,
        }
    }

    /// Whether the search no longer waits.
    pub fn is_over(&self) -> bool {
        let stopped = |stopped: &Arc<AtomicBool>| stopped.load(Ordering::Relaxed);
        let over = |end: Instant| Instant::now() >= end;
        (self.stopped.as_ref().is_some_and(stopped) || self.end.is_some_and(over))
            && !self.waits.load(Ordering::Relaxed)
            && !self.held
    }

    /// With `true`, makes this clone wait for every step from now on; with `false`, only as long as
    /// the other clones.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let mut patience = mazurka_core::Patience::new(Some(Duration::ZERO), None);
    /// patience.hold(true);
    /// assert!(!patience.is_over());
    /// patience.hold(false);
    /// assert!(patience.is_over());
    /// ```
    pub fn hold(&mut self, holds: bool) {
        self.held = holds;
    }

    /// Makes all clones wait for every step from now on, because the search is over and its
    /// findings are run again.
    pub fn wait_again(&self) {
        self.waits.store(true, Ordering::Relaxed);
    }
}
