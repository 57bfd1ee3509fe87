//! Until when a step may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a search waits for a step. A search looks at its limits between steps; a step that
/// works on locals for long looks at this, so that the search need not wait for its end.
///
/// Clones share it: each of them can let all wait again.
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
    /// Whether this clone waits, whatever the others do.
    held: bool,
}

impl Patience {
    /// Waits so long from now, if there is a limit, and no longer than until this is set.
    pub fn new(time: Option<Duration>, told: Option<Arc<AtomicBool>>) -> Self {
        Self {
            end: time.and_then(|time| Instant::now().checked_add(time)),
            told,
            waits: Arc::default(),
            held: false,
        }
    }

    /// Whether the waiting is over.
    pub fn is_over(&self) -> bool {
        let told = |told: &Arc<AtomicBool>| told.load(Ordering::Relaxed);
        let over = |end: Instant| Instant::now() >= end;
        (self.told.as_ref().is_some_and(told) || self.end.is_some_and(over))
            && !self.waits.load(Ordering::Relaxed)
            && !self.held
    }

    /// From now on this clone waits for every step, or (`false`) only as long as the others do.
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

    /// From now on every step is waited for: the search is over, and what it has found is to be
    /// run again.
    pub fn wait_again(&self) {
        self.waits.store(true, Ordering::Relaxed);
    }
}
