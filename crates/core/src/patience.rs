//! How long a step may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a search waits for a step. A search checks its limits between steps; a step with long
/// local work checks this value, so that the search need not wait for its end.
///
/// Clones share their state: each of them can make all of them wait again.
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
    told: Option<Arc<AtomicBool>>,
    waits: Arc<AtomicBool>,
    /// Whether this clone waits, whatever the other clones do.
    held: bool,
}

impl Patience {
    /// Waits for this time from now, if there is a limit, but no longer than until `told` is set.
    pub fn new(time: Option<Duration>, told: Option<Arc<AtomicBool>>) -> Self {
        Self {
            end: time.and_then(|time| Instant::now().checked_add(time)),
            told,
            waits: Arc::default(),
            held: false,
        }
    }

    /// Whether the search no longer waits.
    pub fn is_over(&self) -> bool {
        let told = |told: &Arc<AtomicBool>| told.load(Ordering::Relaxed);
        let over = |end: Instant| Instant::now() >= end;
        (self.told.as_ref().is_some_and(told) || self.end.is_some_and(over))
            && !self.waits.load(Ordering::Relaxed)
            && !self.held
    }

    /// From now on this clone waits for every step, or (`false`) only as long as the other clones
    /// do.
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

    /// From now on all clones wait for every step: the search is over, and its findings are run
    /// again.
    pub fn wait_again(&self) {
        self.waits.store(true, Ordering::Relaxed);
    }
}
