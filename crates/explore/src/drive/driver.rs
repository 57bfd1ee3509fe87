//! The loop that all explorers share.
//!
//! The driver owns the search: it makes the steps, checks the limits, recognises how runs end,
//! counts, and keeps a schedule of every finding (in `findings`). An algorithm is a [`Policy`]: it
//! only chooses the next process.

use std::ops::ControlFlow;
use std::time::Duration;

use mazurka_core::{
    Bound, Counts, Event, Execution, Fingerprint, Kind, Kinds, Limits, Mishap, MishapKind,
    ProcessId, Status,
};

use crate::drive::budget::Budget;
use crate::drive::estimate::Estimate;
use crate::drive::findings::{Findings, Ledger};
use crate::drive::pace::Pace;
use crate::drive::search::Session;

/// An algorithm: it chooses the process that makes the next step.
///
/// The driver calls [`enter`](Policy::enter) in the initial state and after each step. Then it
/// calls [`next`](Policy::next) until that returns `None`. Then it calls [`leave`](Policy::leave)
/// and goes back one step. It calls `next` again each time the search returns to a state. It does
/// not call `next` in a state beyond the limits.
pub trait Policy<E: Execution> {
    /// Whether the policy never makes two equivalent complete runs. Then the number of complete
    /// runs is the number of traces.
    const UNIQUE: bool;

    /// Whether the policy merges equal states. Then the number of traces is unknown, each
    /// transition is executed at most once, and runs end where a process meets a false `assume`.
    const MERGES: bool = false;

    /// Whether the policy meets every trace. If not, the number of traces and the least schedules
    /// are unknown.
    const EVERY_TRACE: bool = true;

    /// Whether the policy draws executions, so that the number of times a trace is met matters.
    const SAMPLES: bool = false;

    /// Whether the policy can handle events that enable later events and are never reversed with
    /// them, such as a send and its receive. For such a policy, sends and receives have separate
    /// claims ([`Execution::separate_ends`]).
    const SEPARATES: bool = false;

    /// Called in the initial state, and when a step has led to another state.
    fn enter(&mut self, program: &E);

    /// Called after [`enter`](Policy::enter). The policy may make steps; it must undo them before
    /// it returns. Returns the number of steps made.
    fn look_around(&mut self, _program: &mut E) -> u64 {
        0
    }

    /// Returns the process to run now, or `None` if no process is left to run from this state. If
    /// no process was run from this state although one is ready, the run counts as blocked. The
    /// policy adds the outcomes for the `choose` expressions of the step to `outcomes`, which is
    /// empty; an expression without one gets its least value.
    fn next(&mut self, program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId>;

    /// Called when the chosen step has been made with these outcomes. Returns true to take the step
    /// back and make it again with the outcomes that this call has changed.
    fn amend(&mut self, _event: &Event, _outcomes: &mut Vec<i64>) -> bool {
        false
    }

    /// Whether everything that follows the state entered last is covered elsewhere. Then the run
    /// counts as blocked there, even if no process can continue.
    fn known(&self) -> bool {
        false
    }

    /// Called when the search is about to undo the last step.
    fn leave(&mut self, program: &E);

    /// Like [`leave`](Policy::leave), and may leave several states at once: those in which no
    /// process is left to run. Returns the number of remaining events.
    fn leave_to(&mut self, program: &E) -> usize {
        self.leave(program);
        program.events().len() - 1
    }

    /// Called at the end of a run.
    fn leaf(&mut self, _program: &E, _end: End) {}

    /// Puts a process to sleep in the initial state: all runs that start with its step are explored
    /// elsewhere.
    fn put_to_sleep(&mut self, _program: &E, _process: ProcessId) {}

    /// Whether the policy gives up: the search ends at once, and its findings are meaningless.
    fn gives_up(&self) -> bool {
        false
    }

    /// Makes the policy record the reversals of races that it schedules, if it supports that.
    fn note_reversals(&mut self) {}

    /// Returns the reversals that were scheduled since the last call. Positions are those of the
    /// current run.
    fn take_reversals(&mut self) -> Vec<ReversedRace> {
        Vec::new()
    }

    /// If equal states are merged: returns a fingerprint of the transition that has just been
    /// executed, which combines the last event and the state before it.
    fn transition(&self, _program: &E) -> Option<Fingerprint> {
        None
    }

    /// Returns the number of branches that are known but not explored.
    fn open(&self) -> u64 {
        0
    }

    /// Returns the number of distinct states met so far, if equal states are merged.
    fn states(&self) -> Option<u64> {
        None
    }

    /// Returns the number of states that the met states represent, if one state may represent
    /// several.
    fn permuted(&self) -> Option<u64> {
        None
    }

    /// Returns the observations of the other states that the current state represents, each with
    /// the permutation of processes that leads to it.
    fn observations(&self, _program: &E) -> Vec<(Fingerprint, Vec<u32>)> {
        Vec::new()
    }

    /// Returns the probability so far that a new state was taken for a known one, if computable.
    fn miss(&self) -> Option<f64> {
        None
    }

    /// Returns the greatest number of states stored at any time, if the policy stores states.
    fn stored(&self) -> Option<u64> {
        None
    }

    /// Returns an estimate of the finished fraction of the search, between 0 and 1, if the policy
    /// has one.
    fn progress(&self) -> Option<f64> {
        None
    }
}

/// A race of the current run whose reversal was scheduled because no explored sequence covers it
/// yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReversedRace {
    /// The position of the first event of the race.
    pub first: usize,
    /// The second event of the race, which must come before the first in the new run.
    pub second: RacingStep,
}

/// The second step of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RacingStep {
    /// The event at this position.
    Event(usize),
    /// The next step of this process, which is not in the run.
    Next(ProcessId),
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every process has ended.
    Final,
    /// No process can continue, and no process has failed.
    Deadlock,
    /// No process can continue, and at least one has failed.
    Failure,
    /// A false `assume` has halted a process.
    Discarded,
    /// A bound of the machine that runs the program, such as the range of integers, has halted a
    /// process.
    Lost,
    /// A process can continue, but everything that could follow is covered elsewhere.
    Blocked,
    /// A process can continue, but the run has reached the limit on its length.
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
    /// Whether the observer needs to be called.
    fn looks(&self) -> bool {
        true
    }
    /// Called when the search starts, or starts again, in the initial state.
    fn start(&mut self, _program: &E) {}
    /// Called after a step.
    fn pushed(&mut self, _program: &E) {}
    /// Called before the last step is undone.
    fn popping(&mut self, _program: &E) {}
    /// Called when the run is complete.
    fn complete(&mut self, _program: &E) {}
    /// Called when the limit on the length of a run ends a run that could continue.
    fn cut(&mut self, _program: &E) {}
    /// Called when the search has ended, in any state.
    fn end(&mut self, _program: &E) {}
    /// Whether the observer needs the reversed races.
    fn counts_reversals(&self) -> bool {
        false
    }
    /// Called when the reversal of a race of the current run is scheduled. The search then starts a
    /// new execution for it.
    fn reversed(&mut self, _program: &E, _race: ReversedRace) {}
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
    /// As soon as there is a violation of one of these kinds.
    Violation(Kinds),
    /// As soon as there is a violation of one of the kinds in `of`. If there is no such violation,
    /// all kinds in `among` are decided.
    First {
        /// The search stops at violations of these kinds.
        of: Kinds,
        /// Violations of these kinds are searched for.
        among: Kinds,
    },
}

impl Goal {
    /// Whether the search may stop at a violation of this kind.
    pub fn stops_at(self, kind: Kind) -> bool {
        match self {
            Goal::Everything => false,
            Goal::Violation(kinds) | Goal::First { of: kinds, .. } => kinds.contains(kind),
        }
    }

    /// Whether violations of this kind are searched for.
    pub fn looks_for(self, kind: Kind) -> bool {
        match self {
            Goal::Everything => true,
            Goal::Violation(kinds) | Goal::First { among: kinds, .. } => kinds.contains(kind),
        }
    }
}

/// The state of a search in progress.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The counts so far.
    pub counts: Counts,
    /// Time since the start.
    pub elapsed: Duration,
    /// The finished fraction of the search, if known.
    pub done: Option<f64>,
    /// The estimated number of executions, if there is an estimate.
    pub estimate: Option<Estimate>,
    /// The number of branches that are known but not explored, where states are merged.
    pub open: u64,
    /// The probability so far that a new state was taken for a known one, where states are merged.
    pub miss: Option<f64>,
}

/// Greatest number of steps between two checks of the limits.
const STEPS_BETWEEN_LOOKS: u32 = 4096;

/// A function that is called at intervals. It may show progress, and break off the search.
pub type Watch<'a> = dyn FnMut(&Progress) -> ControlFlow<Bound> + 'a;

/// Explores the program of a session with a policy.
pub(crate) fn drive<E: Execution, P: Policy<E>>(
    session: &mut Session<'_, '_, E>,
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
        goes_on: start.goes_on,
        watch: *watch,
        cut: 0,
    };
    driver.ledger.wanted = start.wanted;
    driver.ledger.samples = P::SAMPLES;
    // Breaking off a long step ends the search, so it is allowed only during the search. Steps
    // before and after the search are replays and must not be broken off.
    program.break_off_long_steps(true);
    program.separate_ends(P::SEPARATES);
    driver.run(*program, policy, *observer);
    observer.end(program);
    program.separate_ends(false);
    program.break_off_long_steps(false);
    driver.ledger.found.counts.states = policy.states();
    driver.ledger.found.counts.permuted_states = policy.permuted();
    driver.ledger.found.counts.stored_states = policy.stored();
    driver.ledger.finish(driver.budget.elapsed())
}

struct Driver<'a, 'w> {
    limits: &'a Limits,
    budget: Budget<'a>,
    ledger: Ledger<'a>,
    /// The number of runs that ended at the limit of depth.
    cut: u64,
    /// The processes that sleep at the start.
    asleep: &'a [ProcessId],
    /// Whether this search continues an earlier one, which has recorded the mishaps of the events
    /// before the start.
    goes_on: bool,
    watch: &'a mut Watch<'w>,
}

impl Driver<'_, '_> {
    /// The loop. In each round it asks the policy for the next process. If the policy returns a
    /// process, makes the step of that process. Otherwise, goes back as far as the policy says
    /// ([`Policy::leave_to`]). Before that, it records the end of the run if the state is `fresh`,
    /// that is, if it was just reached by a step.
    fn run<E: Execution, P: Policy<E>>(
        &mut self,
        program: &mut E,
        policy: &mut P,
        observer: &mut dyn Observer<E>,
    ) {
        program.back_to(0);
        observer.start(program);
        // Queried once instead of at each step, because most searches have no observer, and steps
        // are short.
        let looks = observer.looks();
        if observer.counts_reversals() {
            policy.note_reversals();
        }
        if is_broken_off(program.initial_mishaps()) {
            return self.broken_off();
        }
        let before = if self.goes_on {
            let whole = program.whole();
            self.ledger.data_race = whole.iter().any(|event| event.races_with.is_some());
            whole.len()
        } else {
            self.start(program)
        };
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
                && let ControlFlow::Break(bound) = {
                    self.ledger.found.counts.states = policy.states();
                    self.look(policy.progress(), policy.open(), policy.miss())
                }
            {
                return self.break_off(bound);
            }
            let too_deep = fresh
                && depth as u64 >= deepest
                && !policy.known()
                && End::classify(program) == End::Blocked;
            if too_deep {
                self.ledger.found.bound(Bound::MaxDepth(most_events));
                self.cut += 1;
            }
            outcomes.clear();
            let chosen = if too_deep {
                None
            } else {
                policy.next(program, &mut outcomes)
            };
            match chosen {
                Some(process) => {
                    if counted && let ControlFlow::Break(bound) = self.may_step() {
                        return self.break_off(bound);
                    }
                    let noted = loop {
                        let event = match program.step(process, &outcomes) {
                            Ok(event) => event,
                            // After a data race, the accesses that are not steps may have come in
                            // another order than before.
                            Err(_) if self.ledger.data_race => {
                                return self.break_off(Bound::DataRaces);
                            }
                            Err(error) => panic!("an explorer chose an impossible step: {error}"),
                        };
                        self.ledger.found.counts.steps += 1;
                        if !policy.amend(event, &mut outcomes) {
                            break is_noted(event);
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
                    if noted && is_broken_off(&program.events()[depth].mishaps) {
                        return self.broken_off();
                    }
                    if noted {
                        let key = policy.transition(program);
                        self.ledger.mishaps(program, before + depth, key);
                    }
                    depth += 1;
                    if looks {
                        observer.pushed(program);
                    }
                    policy.enter(program);
                    if looks {
                        tell_reversals(program, policy, observer);
                    }
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
                            () => match End::classify(program) {
                                End::Blocked if P::MERGES && discarded(program) => End::Discarded,
                                end => end,
                            },
                        };
                        let others = &|| policy.observations(program);
                        self.ledger.end(program, end, others);
                        match end {
                            End::Blocked => {}
                            End::Cut => observer.cut(program),
                            _ => observer.complete(program),
                        }
                        policy.leaf(program, end);
                        if looks {
                            tell_reversals(program, policy, observer);
                        }
                    }
                    // When the verdict is certain, the program stays in the run that shows the
                    // verdict.
                    if depth == 0 || self.ledger.certain {
                        return;
                    }
                    let left = policy.leave_to(program);
                    if P::UNIQUE && !looks {
                        depth = left;
                        program.back_to(left);
                    }
                    while depth > left {
                        if looks {
                            observer.popping(program);
                        }
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
            if is_noted(event) {
                self.ledger.mishaps(program, at, None);
            }
        }
        whole.len()
    }

    fn break_off(&mut self, bound: Bound) {
        self.ledger.found.bound(bound);
        self.ledger.found.broken_off = true;
    }

    /// Ends the search because a step was broken off.
    fn broken_off(&mut self) {
        let counts = self.ledger.counts();
        let mut bound = self.budget.why_broken(counts, self.watch);
        // After a data race, a program may behave differently when a run is repeated. If it does,
        // it breaks off its step.
        if self.ledger.data_race && self.budget.look(counts, self.watch).is_continue() {
            bound = Bound::DataRaces;
        }
        self.break_off(bound);
    }

    /// Whether another step may be made.
    fn may_step(&self) -> ControlFlow<Bound> {
        let counts = &self.ledger.found.counts;
        // A run that is cut counts as an execution: the runs of an endless loop are never complete,
        // and there may be very many of them.
        self.budget.may_run(counts.executions + self.cut)?;
        self.budget.may_step(counts.steps)
    }

    fn look(&mut self, done: Option<f64>, open: u64, miss: Option<f64>) -> ControlFlow<Bound> {
        let counts = self.ledger.counts();
        let watch = &mut *self.watch;
        let watch = &mut |progress: &Progress| {
            watch(&Progress {
                open,
                miss,
                ..*progress
            })
        };
        self.budget.look_at(counts, done, watch)
    }
}

fn tell_reversals<E: Execution, P: Policy<E>>(
    program: &E,
    policy: &mut P,
    observer: &mut dyn Observer<E>,
) {
    for race in policy.take_reversals() {
        observer.reversed(program, race);
    }
}

/// Whether a step with these mishaps was broken off. Such a step has no other effects and ends the
/// search.
pub fn is_broken_off(mishaps: &[Mishap]) -> bool {
    let mut kinds = mishaps.iter().map(|mishap| mishap.kind);
    kinds.any(|kind| kind == MishapKind::BrokenOff)
}

/// Whether the ledger must examine an event: the event has a mishap or a data race.
fn is_noted(event: &Event) -> bool {
    !event.mishaps.is_empty() || event.races_with.is_some()
}

fn discarded<E: Execution>(program: &E) -> bool {
    let mut all = program.processes().in_order().iter();
    all.any(|&p| program.status(p) == Status::Discarded)
}
