//! The loop that all explorers share.
//!
//! The driver owns the search: it makes the steps, checks the limits, recognises how runs end,
//! counts, and keeps a schedule of every finding (in `findings`). An algorithm is a [`Policy`]: it
//! only chooses the next process.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use mazurka_core::{Bound, Counts, Execution, Limits, Mishap, MishapKind, ProcessId, Status};

use crate::drive::estimate::Estimate;
use crate::drive::findings::{Findings, Ledger};
use crate::drive::search::Session;

/// An algorithm: the choice of the next process.
///
/// The driver calls [`enter`](Policy::enter) in the initial state and after each step, then
/// [`next`](Policy::next) until there is none, then [`leave`](Policy::leave) and goes back one
/// step. `next` is asked again each time the search returns to a state. It is not asked in a state
/// beyond the limits.
pub trait Policy<E: Execution> {
    /// Whether no two complete runs are equivalent, so that traces need not be told apart.
    const UNIQUE: bool;

    /// Whether it merges equal states: then the number of traces is unknown, each transition is
    /// executed at most once, and runs end where a process meets a false `assume`.
    const MERGES: bool = false;

    /// Whether it meets every trace. If not, the number of traces and the least schedules are
    /// unknown.
    const EVERY_TRACE: bool = true;

    /// Called when the search has entered a state by a step.
    fn enter(&mut self, program: &E);

    /// Called after [`enter`](Policy::enter), with a program that may go elsewhere as long as it
    /// comes back. Returns the number of steps that it made for that.
    fn look_around(&mut self, _program: &mut E) -> u64 {
        0
    }

    /// Returns the process to run now; none if the state is done. If nothing was run from this
    /// state though a process is ready, the run counts as blocked. The outcomes for the `choose`
    /// expressions of the step go to `outcomes`, which is empty; those not given are the least
    /// values.
    fn next(&mut self, program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId>;

    /// Whether the state that was entered last is covered elsewhere, even if no process can go on.
    fn known(&self) -> bool {
        false
    }

    /// Called when the search is about to undo the last step.
    fn leave(&mut self, program: &E);

    /// Like [`leave`](Policy::leave), repeated while nothing is to be run from the state that the
    /// search returns to. Returns the number of events that are left.
    fn leave_to(&mut self, program: &E) -> usize {
        self.leave(program);
        program.events().len() - 1
    }

    /// Called at the end of a run.
    fn leaf(&mut self, _program: &E, _end: End) {}

    /// Puts a process to sleep in the initial state: everything that starts with its step is
    /// explored elsewhere.
    fn put_to_sleep(&mut self, _program: &E, _process: ProcessId) {}

    /// Whether the policy must be replaced by one with room for longer runs.
    fn overflowed(&self) -> bool {
        false
    }

    /// Returns the greatest number of states stored at any time, if it stores states.
    fn stored(&self) -> Option<u64> {
        None
    }

    /// Returns the part of the search that is done, between 0 and 1, if it is known.
    fn progress(&self) -> Option<f64> {
        None
    }
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every process has ended.
    Final,
    /// No process can go on, and none has failed.
    Deadlock,
    /// No process can go on, and at least one has failed.
    Failure,
    /// A false `assume`.
    Discarded,
    /// A bound of the evaluator has halted a process.
    Lost,
    /// A process can go on, but everything that could follow is covered elsewhere.
    Blocked,
    /// A process can go on, but the run has reached the limit on its length.
    Cut,
}

impl End {
    /// Returns how the current run ends, if the policy has nothing to run.
    pub(crate) fn classify<E: Execution>(program: &E) -> Self {
        let mut end = End::Final;
        if program.is_final() {
            return end;
        }
        for &process in program.processes().in_order() {
            end = match (program.status(process), end) {
                (Status::Ready, _) => return End::Blocked,
                (Status::Unborn | Status::Ended, end) => end,
                (Status::Lost, _) | (_, End::Lost) => End::Lost,
                (Status::Discarded, _) | (_, End::Discarded) => End::Discarded,
                (Status::Failed, _) | (_, End::Failure) => End::Failure,
                (Status::Waiting, _) => End::Deadlock,
            };
        }
        end
    }
}

/// Watches a search step by step. `()` ignores it.
pub trait Observer<E: Execution> {
    /// Whether it watches at all.
    fn looks(&self) -> bool {
        true
    }
    /// The search starts (again) in the initial state.
    fn start(&mut self, _program: &E) {}
    /// A step has been made.
    fn pushed(&mut self, _program: &E) {}
    /// The last step is about to be undone.
    fn popping(&mut self, _program: &E) {}
    /// The run is complete.
    fn complete(&mut self, _program: &E) {}
}

impl<E: Execution> Observer<E> for () {
    fn looks(&self) -> bool {
        false
    }
}

/// When to stop before everything is explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Never: explore the whole space.
    Everything,
    /// As soon as the verdict is certain.
    Verdict {
        /// Whether two different results are a violation.
        deterministic: bool,
    },
}

/// The state of a search in progress.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The counts so far.
    pub counts: Counts,
    /// Time since the start.
    pub elapsed: Duration,
    /// The part that is done, if known.
    pub done: Option<f64>,
    /// The estimated number of executions, if there is an estimate.
    pub estimate: Option<Estimate>,
}

/// Greatest number of steps between two checks of the limits.
const STEPS_BETWEEN_CHECKS: u64 = 4096;
/// Time between two checks of the limits, if steps are slow.
const TIME_BETWEEN_CHECKS: Duration = Duration::from_millis(20);

/// Called at intervals: it may show progress, and break off the search.
pub type Watch<'a> = dyn FnMut(&Progress) -> ControlFlow<Bound> + 'a;

/// Explores the program of a session with a policy.
pub(crate) fn drive<E: Execution, P: Policy<E>, O: Observer<E>>(
    session: &mut Session<'_, '_, E, O>,
    policy: &mut P,
) -> Findings {
    let Session {
        program,
        start,
        limits,
        goal,
        watch,
        observer,
    } = session;
    let mut driver = Driver {
        limits,
        start: Instant::now(),
        ledger: Ledger::new(limits, *goal, P::UNIQUE, P::MERGES, P::EVERY_TRACE),
    };
    driver.run(*program, &start.asleep, policy, *watch, *observer);
    driver.ledger.found.stored = policy.stored();
    let elapsed = driver.start.elapsed();
    driver.ledger.finish(elapsed)
}

struct Driver<'a> {
    limits: &'a Limits,
    start: Instant,
    ledger: Ledger<'a>,
}

impl Driver<'_> {
    fn run<E: Execution, P: Policy<E>, O: Observer<E>>(
        &mut self,
        program: &mut E,
        asleep: &[ProcessId],
        policy: &mut P,
        watch: &mut Watch<'_>,
        observer: &mut O,
    ) {
        program.back_to(0);
        observer.start(program);
        let before = self.start(program);
        if is_broken_off(program.initial_mishaps()) {
            let bound = self.why_broken(watch);
            return self.break_off(bound);
        }
        policy.enter(program);
        for &process in asleep {
            policy.put_to_sleep(program, process);
        }
        let most_events = self.limits.depth();
        let deepest = most_events.saturating_sub(before as u64);
        let counted = self.limits.executions.is_some() || self.limits.steps.is_some();
        let mut outcomes = Vec::new();
        let mut depth = 0;
        let mut fresh = true;
        let mut batch = 1;
        let mut until_check = 0;
        let mut checked = self.start;
        while !self.ledger.certain {
            if until_check == 0 {
                let now = Instant::now();
                batch = match now - checked > TIME_BETWEEN_CHECKS {
                    true => (batch / 2).max(1),
                    false => (batch * 2).min(STEPS_BETWEEN_CHECKS),
                };
                checked = now;
                until_check = batch;
                if let ControlFlow::Break(bound) = self.check_limits(policy.progress(), watch) {
                    return self.break_off(bound);
                }
            }
            let too_deep = fresh
                && depth as u64 >= deepest
                && !policy.known()
                && End::classify(program) == End::Blocked;
            if too_deep {
                self.ledger.found.bound(Bound::MaxDepth(most_events));
            }
            outcomes.clear();
            let chosen = match too_deep {
                true => None,
                false => policy.next(program, &mut outcomes),
            };
            match chosen {
                Some(process) => {
                    if counted && let ControlFlow::Break(bound) = self.check_counts() {
                        return self.break_off(bound);
                    }
                    let failed = match program.step(process, &outcomes) {
                        Ok(event) => !event.mishaps.is_empty(),
                        Err(error) => panic!("an explorer chose an impossible step: {error}"),
                    };
                    self.ledger.found.counts.steps += 1;
                    self.ledger.found.counts.events += 1;
                    until_check -= 1;
                    if !P::UNIQUE
                        && let Some(hasher) = &mut self.ledger.hasher
                    {
                        hasher.push(&program.events()[depth], program.processes());
                    }
                    if failed && is_broken_off(&program.events()[depth].mishaps) {
                        let bound = self.why_broken(watch);
                        return self.break_off(bound);
                    }
                    if failed {
                        self.ledger.mishaps(program, before + depth);
                    }
                    depth += 1;
                    observer.pushed(program);
                    policy.enter(program);
                    self.ledger.found.counts.steps += policy.look_around(program);
                    fresh = true;
                }
                None => {
                    if policy.overflowed() {
                        return;
                    }
                    if fresh {
                        let end = match () {
                            () if too_deep => End::Cut,
                            () if policy.known() => End::Blocked,
                            () => match End::classify(program) {
                                End::Blocked if P::MERGES && discarded(program) => End::Discarded,
                                end => end,
                            },
                        };
                        self.ledger.end(program, end);
                        if !matches!(end, End::Blocked | End::Cut) {
                            observer.complete(program);
                        }
                        policy.leaf(program, end);
                    }
                    if depth == 0 {
                        return;
                    }
                    let left = policy.leave_to(program);
                    if P::UNIQUE && !observer.looks() {
                        depth = left;
                        program.back_to(left);
                    }
                    while depth > left {
                        observer.popping(program);
                        depth -= 1;
                        program.back_to(depth);
                        if let Some(hasher) = &mut self.ledger.hasher {
                            hasher.pop();
                        }
                    }
                    fresh = false;
                }
            }
        }
    }

    /// Records the mishaps of the initial state and of the events before the search. Returns the
    /// number of these events.
    fn start<E: Execution>(&mut self, program: &E) -> usize {
        self.ledger.initial_mishaps(program);
        let whole = program.whole();
        for (at, event) in whole.iter().enumerate() {
            if let Some(hasher) = &mut self.ledger.hasher {
                hasher.push(event, program.processes());
            }
            if !event.mishaps.is_empty() {
                self.ledger.mishaps(program, at);
            }
        }
        whole.len()
    }

    fn break_off(&mut self, bound: Bound) {
        self.ledger.found.bound(bound);
        self.ledger.found.broken_off = true;
    }

    /// Returns the limit that broke off a step: one that is reached now, or else the time, which
    /// the step may measure slightly differently.
    fn why_broken(&mut self, watch: &mut Watch<'_>) -> Bound {
        match self.check_limits(None, watch) {
            ControlFlow::Break(bound) => bound,
            ControlFlow::Continue(()) => broken_by(self.limits),
        }
    }

    /// Whether another step may be made.
    fn check_counts(&self) -> ControlFlow<Bound> {
        let Counts {
            executions, steps, ..
        } = self.ledger.found.counts;
        match self.limits {
            limits if limits.executions.is_some_and(|most| executions >= most) => {
                ControlFlow::Break(Bound::MaxExecutions(executions))
            }
            limits if limits.steps.is_some_and(|most| steps >= most) => {
                ControlFlow::Break(Bound::MaxSteps(steps))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn check_limits(&mut self, done: Option<f64>, watch: &mut Watch<'_>) -> ControlFlow<Bound> {
        let elapsed = self.start.elapsed();
        if let Some(limit) = self.limits.time
            && elapsed >= limit
        {
            return ControlFlow::Break(Bound::TimeLimit(limit.as_millis() as u64));
        }
        let counts = self.ledger.counts();
        watch(&Progress {
            counts,
            elapsed,
            done,
            estimate: done.and_then(|done| Estimate::at(counts.executions, done)),
        })
    }
}

/// Whether a step with these mishaps was broken off: it means nothing, and the search ends.
pub fn is_broken_off(mishaps: &[Mishap]) -> bool {
    let mut kinds = mishaps.iter().map(|mishap| mishap.kind);
    kinds.any(|kind| kind == MishapKind::BrokenOff)
}

/// Returns the limit that broke off a step if none is known to be reached.
pub fn broken_by(limits: &Limits) -> Bound {
    let time = limits.time.map(|time| time.as_millis() as u64);
    time.map_or(Bound::Interrupted, Bound::TimeLimit)
}

fn discarded<E: Execution>(program: &E) -> bool {
    let mut all = program.processes().in_order().iter();
    all.any(|&p| program.status(p) == Status::Discarded)
}
