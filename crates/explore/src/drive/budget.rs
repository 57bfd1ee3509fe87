//! The resources that a search may use: steps, executions, time and memory.
//!
//! Every loop checks here whether it may continue, so a limit means the same for all loops. A new
//! limit needs a field of [`Limits`], a [`Bound`] that names it, and a check here.
//!
//! The memory limit applies to the whole operating-system process. The watch measures the memory,
//! and [`look`](Budget::look) calls the watch.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use mazurka_core::{Bound, Counts, Limits};

use super::driver::{Progress, Watch};
use super::estimate::Estimate;

/// The limits of a search that has started.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use mazurka_core::{Bound, Limits};
/// use mazurka_explore::Budget;
///
/// let limits = Limits { steps: Some(2), ..Limits::default() };
/// let budget = Budget::new(&limits);
/// assert_eq!(budget.may_step(1), ControlFlow::Continue(()));
/// assert_eq!(budget.may_step(2), ControlFlow::Break(Bound::MaxSteps(2)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Budget<'a> {
    limits: &'a Limits,
    start: Instant,
    /// Time that an earlier part of the same search has spent before `start`.
    before: Duration,
}

impl<'a> Budget<'a> {
    /// Creates the budget of a search that starts now.
    pub fn new(limits: &'a Limits) -> Self {
        Self::after(Duration::ZERO, limits)
    }

    /// Creates the budget of a resumed search that has already taken some time.
    pub(crate) fn after(before: Duration, limits: &'a Limits) -> Self {
        Self {
            limits,
            start: Instant::now(),
            before,
        }
    }

    /// Returns the time spent so far, including earlier parts of the same search.
    pub fn elapsed(&self) -> Duration {
        self.before + self.start.elapsed()
    }

    /// Returns the limits for the rest of the search, with the remaining time.
    pub fn left(&self) -> Limits {
        let left = |time: Duration| time.saturating_sub(self.elapsed());
        Limits {
            time: self.limits.time.map(left),
            ..self.limits.clone()
        }
    }

    /// `bounds` were hit in a part of the search and name the limits of that part. Replaces the
    /// limits on time, steps and executions in them by the limits that the user gave.
    pub(crate) fn restate_all(&self, bounds: &mut Vec<Bound>) {
        for bound in bounds.iter_mut() {
            match (bound, self.limits.steps, self.limits.executions) {
                (Bound::MaxSteps(left), Some(most), _) => *left = most,
                (Bound::MaxExecutions(left), _, Some(most)) => *left = most,
                _ => {}
            }
        }
        bounds.dedup();
        self.restate(bounds);
    }

    /// `bounds` were hit in a part of the search and name the limits of that part. Replaces the
    /// limit on time in them by the limit that the user gave.
    pub fn restate(&self, bounds: &mut Vec<Bound>) {
        if let Some(time) = self.limits.time {
            for bound in bounds.iter_mut() {
                if let Bound::TimeLimit(ms) = bound {
                    *ms = time.as_millis() as u64;
                }
            }
            let mut is_named = false;
            bounds.retain(|bound| {
                let is_time = matches!(bound, Bound::TimeLimit(_));
                !is_time || !std::mem::replace(&mut is_named, true)
            });
        }
    }

    /// Whether steps or executions are limited.
    pub(crate) fn counts(&self) -> bool {
        self.limits.executions.is_some() || self.limits.steps.is_some()
    }

    /// Whether another step may be made after `made` steps. The bound names the limit itself: a
    /// caller that makes several steps at a time may have exceeded it.
    #[inline]
    pub fn may_step(&self, made: u64) -> ControlFlow<Bound> {
        match self.limits.steps {
            Some(most) if made >= most => ControlFlow::Break(Bound::MaxSteps(most)),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Whether another execution may be made after `made` executions.
    #[inline]
    pub fn may_run(&self, made: u64) -> ControlFlow<Bound> {
        match self.limits.executions {
            Some(most) if made >= most => ControlFlow::Break(Bound::MaxExecutions(most)),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Returns the limit on steps or executions that all workers together have exceeded, if any, as
    /// the user gave it.
    pub(crate) fn passed(&self, steps: u64, executions: u64) -> Option<Bound> {
        let most_steps = self.limits.steps.filter(|&most| steps > most);
        let most_executions = self.limits.executions.filter(|&most| executions > most);
        let bound = most_steps.map(Bound::MaxSteps);
        bound.or(most_executions.map(Bound::MaxExecutions))
    }

    /// Returns the time since the start, or the bound if no time is left.
    pub fn time(&self) -> ControlFlow<Bound, Duration> {
        let elapsed = self.elapsed();
        match self.limits.time {
            Some(limit) if elapsed >= limit => {
                ControlFlow::Break(Bound::TimeLimit(limit.as_millis() as u64))
            }
            _ => ControlFlow::Continue(elapsed),
        }
    }

    /// Checks the time, and calls the watch with the counts.
    pub fn look(&self, counts: Counts, watch: &mut Watch<'_>) -> ControlFlow<Bound> {
        self.look_at(counts, None, watch)
    }

    /// Checks the time, and calls the watch with the counts. `done` is the finished fraction of the
    /// search, if known.
    pub(crate) fn look_at(
        &self,
        counts: Counts,
        done: Option<f64>,
        watch: &mut Watch<'_>,
    ) -> ControlFlow<Bound> {
        let elapsed = self.time()?;
        watch(&Progress {
            counts,
            elapsed,
            done,
            estimate: done.and_then(|done| Estimate::at(counts.executions, done)),
            open: 0,
            miss: None,
        })
    }

    /// Returns the limit that broke off a step: a limit that this check finds reached or, if there
    /// is none, the time limit, which the step may have noticed slightly earlier than this check.
    pub fn why_broken(&self, counts: Counts, watch: &mut Watch<'_>) -> Bound {
        let shows = self.look(counts, watch).break_value();
        shows.unwrap_or_else(|| broken_by(self.limits))
    }
}

/// Returns the limit that is taken to have broken off a step if no limit is known to be reached:
/// the time limit, or an interrupt if there is no time limit.
pub fn broken_by(limits: &Limits) -> Bound {
    let time = limits.time.map(|time| time.as_millis() as u64);
    time.map_or(Bound::Interrupted, Bound::TimeLimit)
}

/// A budget that several searches spend one after the other.
///
/// ```
/// use mazurka_core::{Bound, Counts, Limits};
/// use mazurka_explore::{Account, Budget};
///
/// let limits = Limits { steps: Some(10), ..Limits::default() };
/// let mut account = Account::new(Budget::new(&limits));
/// account.spend(&Counts { steps: 7, ..Counts::default() });
/// assert_eq!(account.left().steps, Some(3));
/// account.spend(&Counts { steps: 3, ..Counts::default() });
/// assert_eq!(account.over(), Some(Bound::MaxSteps(10)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    budget: Budget<'a>,
    steps: u64,
    executions: u64,
}

impl<'a> Account<'a> {
    /// Creates an account that has spent no steps and no executions.
    pub fn new(budget: Budget<'a>) -> Self {
        Self {
            budget,
            steps: 0,
            executions: 0,
        }
    }

    /// Adds the steps and executions of a search.
    pub fn spend(&mut self, counts: &Counts) {
        self.steps += counts.steps;
        self.executions += counts.executions;
    }

    /// Resets the number of executions: drawn executions are a sample and do not count.
    pub fn forget_executions(&mut self) {
        self.executions = 0;
    }

    /// Returns the time spent so far, including earlier parts of the same search.
    pub fn elapsed(&self) -> Duration {
        self.budget.elapsed()
    }

    /// Returns the limits for the next search.
    pub fn left(&self) -> Limits {
        let limits = self.budget.limits;
        let left = |most: Option<u64>, spent: u64| most.map(|most| most.saturating_sub(spent));
        Limits {
            steps: left(limits.steps, self.steps),
            executions: left(limits.executions, self.executions),
            ..self.budget.left()
        }
    }

    /// Returns the limit that leaves nothing for the next search, if any.
    pub fn over(&self) -> Option<Bound> {
        let steps = self.budget.may_step(self.steps).break_value();
        let executions = || self.budget.may_run(self.executions).break_value();
        let time = || self.budget.time().break_value();
        steps.or_else(executions).or_else(time)
    }

    /// Replaces the limits of a search in `bounds` by the limits that the user gave.
    pub fn restate(&self, bounds: &mut Vec<Bound>) {
        self.budget.restate_all(bounds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quietly(_: &Progress) -> ControlFlow<Bound> {
        ControlFlow::Continue(())
    }

    #[test]
    fn what_is_not_limited_may_be_spent() {
        let limits = Limits::default();
        let budget = Budget::new(&limits);
        assert!(!budget.counts());
        assert!(budget.may_step(u64::MAX).is_continue());
        assert!(budget.may_run(u64::MAX).is_continue());
        assert_eq!(budget.passed(u64::MAX, u64::MAX), None);
        assert!(budget.look(Counts::default(), &mut quietly).is_continue());
        let why = budget.why_broken(Counts::default(), &mut quietly);
        assert_eq!(why, Bound::Interrupted);
    }

    #[test]
    fn each_limit_has_its_bound() {
        let limits = Limits {
            steps: Some(3),
            executions: Some(2),
            time: Some(Duration::from_millis(5)),
            ..Limits::default()
        };
        let budget = Budget::after(Duration::from_millis(5), &limits);
        assert!(budget.counts());
        assert!(budget.may_step(2).is_continue());
        for made in [3, 4] {
            assert_eq!(
                budget.may_step(made),
                ControlFlow::Break(Bound::MaxSteps(3))
            );
        }
        let none_left = ControlFlow::Break(Bound::MaxExecutions(2));
        assert_eq!(budget.may_run(2), none_left);
        assert_eq!(budget.passed(3, 2), None);
        assert_eq!(budget.passed(4, 3), Some(Bound::MaxSteps(3)));
        assert_eq!(budget.passed(3, 3), Some(Bound::MaxExecutions(2)));
        let never = &mut |_: &Progress| panic!("the time is over");
        let looked = budget.look(Counts::default(), never);
        assert_eq!(looked, ControlFlow::Break(Bound::TimeLimit(5)));
        assert_eq!(budget.left().time, Some(Duration::ZERO));
    }

    #[test]
    fn a_limit_is_that_of_the_user() {
        let limits = Limits {
            time: Some(Duration::from_secs(5)),
            ..Limits::default()
        };
        let budget = Budget::after(Duration::from_secs(3), &limits);
        let left = budget.left().time.expect("a limit");
        assert!(left <= Duration::from_secs(2), "{left:?}");
        let mut bounds = vec![Bound::TimeLimit(17), Bound::TimeLimit(5000)];
        budget.restate(&mut bounds);
        assert_eq!(bounds, [Bound::TimeLimit(5000)]);
    }

    #[test]
    fn what_comes_next_has_what_is_left() {
        let limits = Limits {
            steps: Some(10),
            executions: Some(4),
            ..Limits::default()
        };
        let mut account = Account::new(Budget::new(&limits));
        account.spend(&Counts {
            steps: 7,
            executions: 1,
            ..Counts::default()
        });
        let left = account.left();
        assert_eq!((left.steps, left.executions), (Some(3), Some(3)));
        assert_eq!(account.over(), None);
        let mut bounds = vec![Bound::MaxSteps(3), Bound::MaxExecutions(3)];
        account.restate(&mut bounds);
        assert_eq!(bounds, [Bound::MaxSteps(10), Bound::MaxExecutions(4)]);
        account.spend(&Counts {
            executions: 4,
            ..Counts::default()
        });
        assert_eq!(account.over(), Some(Bound::MaxExecutions(4)));
        account.forget_executions();
        assert_eq!(account.over(), None);
    }

    #[test]
    fn the_watch_has_a_say() {
        let limits = Limits::default();
        let memory = ControlFlow::Break(Bound::MemoryLimit(1));
        let looked = Budget::new(&limits).look(Counts::default(), &mut |_| memory);
        assert_eq!(looked, memory);
    }
}
