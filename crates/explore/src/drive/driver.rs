//! The one loop that all explorers share.
//!
//! The driver owns the search: it makes the steps, honours the limits, recognises how runs end,
//! counts, and keeps a schedule of everything worth showing (in `findings`). An algorithm is a
//! [`Policy`]: it only says who runs next.

use std::ops::ControlFlow;
use std::time::Duration;

use mazurka_core::{
    Bound, Counts, Event, Execution, Limits, Mishap, MishapKind, ProcessId, Status,
};

use crate::drive::budget::Budget;
use crate::drive::estimate::Estimate;
use crate::drive::findings::{Findings, Ledger};
use crate::drive::pace::Pace;
use crate::drive::search::Session;

/// An algorithm: what to run next.
///
/// The driver calls [`enter`](Policy::enter) in the initial state and after each step, then
/// [`next`](Policy::next) until there is none, then [`leave`](Policy::leave) and goes back one
/// step. `next` is asked again each time the search returns to a state. It is not asked in a state
/// beyond the limits.
pub trait Policy<E: Execution> {
    /// Whether no two complete runs are equivalent, so that traces need not be told apart.
    const UNIQUE: bool;

    /// Whether it merges equal states: then nobody knows about traces, each transition is executed
    /// at most once, and runs end where a process meets a false `assume`.
    const MERGES: bool = false;

    /// Whether it meets every trace. If not, nobody knows how many there are, nor which schedule is
    /// the least.
    const EVERY_TRACE: bool = true;

    /// The search has reached a state that it was not in.
    fn enter(&mut self, program: &E);

    /// Called after [`enter`](Policy::enter), with a program that may go elsewhere as long as it
    /// comes back. Gives the number of steps that it made for that.
    fn look_around(&mut self, _program: &mut E) -> u64 {
        0
    }

    /// Who is to run now. None means done here: if nothing was run from this state, and somebody
    /// could, the run counts as blocked. What the `choose` expressions of the step are to give goes
    /// to `outcomes`, which is empty; what is not given is the least value.
    fn next(&mut self, program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId>;

    /// The step that was chosen has been made with these outcomes. Returns true if it is to be
    /// taken back and made again with the outcomes as they are now.
    fn amend(&mut self, _event: &Event, _outcomes: &mut Vec<i64>) -> bool {
        false
    }

    /// Whether the state that was entered last is covered elsewhere, even if nobody can go on.
    fn known(&self) -> bool {
        false
    }

    /// The search is about to take back the last step.
    fn leave(&mut self, program: &E);

    /// As [`leave`](Policy::leave), again and again while there is nothing to run from the state
    /// that the search returns to. Gives the number of events that are left.
    fn leave_to(&mut self, program: &E) -> usize {
        self.leave(program);
        program.events().len() - 1
    }

    /// The run ends here.
    fn leaf(&mut self, _program: &E, _end: End) {}

    /// The process sleeps in the initial state: all that could start with its step is explored
    /// elsewhere.
    fn put_to_sleep(&mut self, _program: &E, _process: ProcessId) {}

    /// Whether the policy gives the search up: it ends at once, and means nothing.
    fn gives_up(&self) -> bool {
        false
    }

    /// The most states that were kept at any time, if it keeps states.
    fn stored(&self) -> Option<u64> {
        None
    }

    /// The part of the search that is done, between 0 and 1, if the algorithm can tell.
    fn progress(&self) -> Option<f64> {
        None
    }
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every process has ended.
    Final,
    /// Nobody can go on, and nobody has failed.
    Deadlock,
    /// Nobody can go on, and somebody has failed.
    Failure,
    /// A false `assume`.
    Discarded,
    /// Beyond what the evaluator can tell.
    Lost,
    /// Somebody can go on, but all that could follow is covered elsewhere.
    Blocked,
    /// Somebody can go on, but the run is as long as a run may be.
    Cut,
}

impl End {
    /// How the current run ends, if the policy has nothing to run.
    pub(crate) fn of<E: Execution>(program: &E) -> Self {
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

/// Watches a search step by step. `()` looks away.
pub trait Observer<E: Execution> {
    /// Whether it looks at all.
    fn looks(&self) -> bool {
        true
    }
    /// The search starts (again), in the initial state.
    fn start(&mut self, _program: &E) {}
    /// A step has been made.
    fn pushed(&mut self, _program: &E) {}
    /// The last step is about to be taken back.
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

/// What a search in progress can tell.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What has been counted so far.
    pub counts: Counts,
    /// Since the start.
    pub elapsed: Duration,
    /// The part that is done, if known.
    pub done: Option<f64>,
    /// How many executions there will be, if anything can be said.
    pub estimate: Option<Estimate>,
}

/// How often limits are looked at, in steps: at most so many, and fewer if the steps are slow.
const STEPS_BETWEEN_LOOKS: u32 = 4096;

/// Called every now and then: it may show progress, and break off the search.
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
        budget: Budget::new(limits),
        ledger: Ledger::new(limits, *goal, P::UNIQUE, P::MERGES, P::EVERY_TRACE),
        asleep: &start.asleep,
        watch: *watch,
    };
    driver.run(*program, policy, *observer);
    driver.ledger.found.stored = policy.stored();
    driver.ledger.finish(driver.budget.elapsed())
}

struct Driver<'a, 'w> {
    limits: &'a Limits,
    budget: Budget<'a>,
    ledger: Ledger<'a>,
    /// The processes that sleep at the start.
    asleep: &'a [ProcessId],
    watch: &'a mut Watch<'w>,
}

impl Driver<'_, '_> {
    fn run<E: Execution, P: Policy<E>, O: Observer<E>>(
        &mut self,
        program: &mut E,
        policy: &mut P,
        observer: &mut O,
    ) {
        program.back_to(0);
        observer.start(program);
        let before = self.start(program);
        if is_broken_off(program.initial_mishaps()) {
            return self.broken_off();
        }
        policy.enter(program);
        for &process in self.asleep {
            policy.put_to_sleep(program, process);
        }
        let most_events = self.limits.depth();
        let deepest = most_events.saturating_sub(before as u64);
        let counted = self.budget.counts();
        let mut outcomes = Vec::new();
        let mut depth = 0;
        let mut fresh = true;
        let mut pace = Pace::new(STEPS_BETWEEN_LOOKS);
        while !self.ledger.certain {
            if pace.is_over()
                && let ControlFlow::Break(bound) = self.look(policy.progress())
            {
                return self.break_off(bound);
            }
            let too_deep = fresh
                && depth as u64 >= deepest
                && !policy.known()
                && End::of(program) == End::Blocked;
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
                    if counted && let ControlFlow::Break(bound) = self.may_step() {
                        return self.break_off(bound);
                    }
                    let failed = loop {
                        let event = match program.step(process, &outcomes) {
                            Ok(event) => event,
                            Err(error) => panic!("an explorer chose an impossible step: {error}"),
                        };
                        self.ledger.found.counts.steps += 1;
                        if !policy.amend(event, &mut outcomes) {
                            break !event.mishaps.is_empty();
                        }
                        program.back_to(depth);
                    };
                    self.ledger.found.counts.events += 1;
                    pace.step();
                    if !P::UNIQUE
                        && let Some(hasher) = &mut self.ledger.hasher
                    {
                        hasher.push(&program.events()[depth], program.processes());
                    }
                    if failed && is_broken_off(&program.events()[depth].mishaps) {
                        return self.broken_off();
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
                    if policy.gives_up() {
                        return;
                    }
                    if fresh {
                        let end = match () {
                            () if too_deep => End::Cut,
                            () if policy.known() => End::Blocked,
                            () => match End::of(program) {
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
                    // Where the verdict is certain the program stays in the run that shows it.
                    if depth == 0 || self.ledger.certain {
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

    /// Looks at what comes before the search: at the initial state, and at the events that have
    /// been made there. The number of these.
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

    /// A step was broken off.
    fn broken_off(&mut self) {
        let counts = self.ledger.counts();
        let bound = self.budget.why_broken(counts, self.watch);
        self.break_off(bound);
    }

    /// Whether another step may be made.
    fn may_step(&self) -> ControlFlow<Bound> {
        let counts = &self.ledger.found.counts;
        self.budget.may_run(counts.executions)?;
        self.budget.may_step(counts.steps)
    }

    fn look(&mut self, done: Option<f64>) -> ControlFlow<Bound> {
        self.budget.look_at(self.ledger.counts(), done, self.watch)
    }
}

/// Whether a step with these mishaps was broken off: it means nothing, and the search ends.
pub fn is_broken_off(mishaps: &[Mishap]) -> bool {
    let mut kinds = mishaps.iter().map(|mishap| mishap.kind);
    kinds.any(|kind| kind == MishapKind::BrokenOff)
}

fn discarded<E: Execution>(program: &E) -> bool {
    let mut all = program.processes().in_order().iter();
    all.any(|&p| program.status(p) == Status::Discarded)
}
