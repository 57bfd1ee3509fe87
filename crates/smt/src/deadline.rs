//! Deadlines: when to stop searching, with or without an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time at which all solvers stop, if any. Clones share this time, so each of them can postpone
/// it for all.
///
/// ```
/// use std::time::Duration;
///
/// let deadline = mazurka_smt::Deadline::after(Duration::ZERO);
/// assert!(deadline.has_passed());
/// deadline.clone().put_off(Duration::from_secs(1000));
/// assert!(!deadline.has_passed());
/// ```
#[derive(Clone, Debug)]
pub struct Deadline {
    /// The time at which the first of the clones was created. The other times are given in
    /// nanoseconds after it.
    start: Instant,
    /// The deadline; `None` if there is none.
    end: Option<Arc<AtomicU64>>,
    /// If this flag is set, the deadline counts as passed.
    stop_flag: Option<Arc<AtomicBool>>,
    /// Until this time, the stop flag is ignored.
    flag_ignored_until: Arc<AtomicU64>,
}

impl Default for Deadline {
    fn default() -> Self {
        Deadline {
            start: Instant::now(),
            end: None,
            stop_flag: None,
            flag_ignored_until: Arc::default(),
        }
    }
}

impl Deadline {
    /// Creates a deadline that is this long from now.
    pub fn after(time: Duration) -> Self {
        Deadline {
            end: Some(Arc::new(AtomicU64::new(nanoseconds(time)))),
            ..Deadline::default()
        }
    }

    /// Returns a deadline that also counts as passed while this flag is set.
    pub fn or_when(self, stop_flag: Option<Arc<AtomicBool>>) -> Self {
        Deadline { stop_flag, ..self }
    }

    /// Whether the deadline has passed.
    pub fn has_passed(&self) -> bool {
        self.left() == Some(Duration::ZERO) || self.is_stopped()
    }

    fn is_stopped(&self) -> bool {
        let is_set = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        self.stop_flag.as_ref().is_some_and(is_set)
            && nanoseconds(self.start.elapsed()) >= self.flag_ignored_until.load(Ordering::Relaxed)
    }

    /// Returns the time left until the deadline, or `None` if there is no deadline.
    pub fn left(&self) -> Option<Duration> {
        let end = Duration::from_nanos(self.end.as_ref()?.load(Ordering::Relaxed));
        Some(end.saturating_sub(self.start.elapsed()))
    }

    /// Postpones the deadline to at least `time` from now, even if it has passed or the stop flag
    /// is set.
    pub fn put_off(&self, time: Duration) {
        let new = nanoseconds(self.start.elapsed().saturating_add(time));
        self.flag_ignored_until.fetch_max(new, Ordering::Relaxed);
        if let Some(end) = &self.end {
            end.fetch_max(new, Ordering::Relaxed);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A deadline is postponed only by the given time, whether or not it has a time limit.
    #[test]
    fn a_postponed_deadline_still_passes() {
        let stop_flag = Arc::new(AtomicBool::new(true));
        for deadline in [Deadline::default(), Deadline::after(Duration::ZERO)] {
            let deadline = deadline.or_when(Some(Arc::clone(&stop_flag)));
            assert!(deadline.has_passed());
            deadline.put_off(Duration::from_secs(1000));
            assert!(!deadline.has_passed());
            let deadline = Deadline::default().or_when(Some(Arc::clone(&stop_flag)));
            deadline.put_off(Duration::ZERO);
            std::thread::sleep(Duration::from_millis(1));
            assert!(deadline.has_passed());
        }
    }
}
