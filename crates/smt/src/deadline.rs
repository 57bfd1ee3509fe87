//! When to stop searching, whether an answer has been found or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The moment after which no solver goes on, or never. Clones share it, so that whoever has one can
/// put it off for all.
///
/// ```
/// use std::time::Duration;
///
/// let deadline = mazurka_smt::Deadline::after(Duration::ZERO);
/// assert!(deadline.has_passed());
/// deadline.clone().put_off(Duration::from_secs(1000));
/// assert!(!deadline.has_passed());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Deadline {
    /// A moment, and how many nanoseconds after it the deadline is.
    end: Option<(Instant, Arc<AtomicU64>)>,
    told: Option<Arc<AtomicBool>>,
    /// Whether it is over.
    deaf: Arc<AtomicBool>,
}

impl Deadline {
    /// So long from now.
    pub fn after(time: Duration) -> Self {
        Deadline {
            end: Some((Instant::now(), Arc::new(AtomicU64::new(nanoseconds(time))))),
            ..Deadline::default()
        }
    }

    /// The same, or when this is set.
    pub fn or_when(self, told: Option<Arc<AtomicBool>>) -> Self {
        Deadline { told, ..self }
    }

    /// Whether it is over.
    pub fn has_passed(&self) -> bool {
        let told = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        self.left() == Some(Duration::ZERO)
            || (self.told.as_ref().is_some_and(told) && !self.deaf.load(Ordering::Relaxed))
    }

    /// How long it still is, if it ever comes.
    pub fn left(&self) -> Option<Duration> {
        let (start, end) = self.end.as_ref()?;
        let end = Duration::from_nanos(end.load(Ordering::Relaxed));
        Some(end.saturating_sub(start.elapsed()))
    }

    /// If it is nearer than so long from now, it is put off until then, whatever was set before.
    pub fn put_off(&self, time: Duration) {
        self.deaf.store(true, Ordering::Relaxed);
        if let Some((start, end)) = &self.end {
            let new = start.elapsed().saturating_add(time);
            end.fetch_max(nanoseconds(new), Ordering::Relaxed);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
