//! The interval between two checks of the limits.
//!
//! A check takes longer than a fast step. So the interval is a number of steps. It doubles as long
//! as the checks follow each other quickly, and shrinks when they do not.

use std::time::{Duration, Instant};

/// Minimum time between two checks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Decides when to check the limits: rarely if steps are fast, because a check takes time, and
/// after each step if they are slow.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The current number of steps between two checks.
    batch: u32,
    /// The greatest number of steps between two checks.
    most: u32,
    /// Number of steps until the next check.
    left: u32,
    /// The time of the last check.
    last: Instant,
}

impl Pace {
    /// Creates a pace that checks at the first step, and then after at most `most` steps.
    pub fn new(most: u32) -> Self {
        Self {
            batch: 1,
            most,
            left: 0,
            last: Instant::now(),
        }
    }

    /// Whether to check the limits before this step.
    pub fn is_due(&mut self) -> bool {
        let over = self.is_over();
        if !over {
            self.step();
        }
        over
    }

    /// Whether to check now. If so, sets the number of steps until the next check.
    #[inline(always)]
    pub fn is_over(&mut self) -> bool {
        if self.left > 0 {
            return false;
        }
        self.rest(Instant::now());
        true
    }

    /// Counts a step.
    #[inline(always)]
    pub fn step(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Sets the number of steps until the next check.
    #[cold]
    fn rest(&mut self, now: Instant) {
        self.batch = if now.saturating_duration_since(self.last) > BETWEEN_LOOKS {
            self.batch / 4
        } else {
            (self.batch * 2).clamp(1, self.most)
        };
        self.left = self.batch;
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_steps_are_looked_at_one_by_one() {
        let mut pace = Pace::new(64);
        let mut now = Instant::now();
        (0..10).for_each(|_| pace.rest(now));
        assert_eq!(pace.left, 64);
        for left in [16, 4, 1, 0, 0] {
            now += Duration::from_millis(20);
            pace.rest(now);
            assert_eq!(pace.left, left);
        }
        pace.rest(now);
        assert_eq!(pace.left, 1);
    }

    #[test]
    fn it_looks_at_once_and_then_now_and_then() {
        let mut pace = Pace::new(4);
        let looks = (0..1000).filter(|_| pace.is_due()).count();
        assert!((200..=1000).contains(&looks), "{looks}");
        assert!(Pace::new(4).is_due());
    }
}
