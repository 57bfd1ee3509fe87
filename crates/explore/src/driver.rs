//! The one loop that all explorers share.
//!
//! The driver owns the search: it makes the steps, honours the limits, recognises how runs end,
//! counts, and keeps the first schedule of everything worth showing. An algorithm is a
//! [`Policy`]: it only says who runs next.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use mazurka_core::{
    Bound, Counts, Execution, Fingerprint, HappensBefore, Limits, Mishap, MishapKind, ProcessId,
    Schedule, Status, StopReason, TraceHasher,
};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// A process to run, and what its `choose` expressions give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Who makes the step.
    pub process: ProcessId,
    /// The outcomes; what is not given is the least value.
    pub outcomes: SmallVec<[i64; 1]>,
}

/// An algorithm: what to run next.
///
/// The driver calls [`enter`](Policy::enter) in the initial state and after each step, then
/// [`next`](Policy::next) until there is none, then [`leave`](Policy::leave) and goes back one step.
/// `next` is asked again each time the search returns to a state. It is not asked in a state beyond the limits.
pub trait Policy<E: Execution> {
    /// Whether no two complete runs are equivalent, so that traces need not be told apart.
    const UNIQUE: bool;

    /// Whether it merges equal states: then nobody knows about traces, each transition is executed at
    /// most once, and runs end where a process meets a false `assume`.
    const MERGES: bool = false;

    /// The search has reached a state that it was not in.
    fn enter(&mut self, program: &E);

    /// What to run now. None means done here: if nothing was run from this state, and
    /// somebody could, the run counts as blocked.
    fn next(&mut self, program: &E) -> Option<Choice>;

    /// Whether the state that was entered last is covered elsewhere, even if nobody can go on.
    fn known(&self) -> bool {
        false
    }

    /// The search is about to take back the last step.
    fn leave(&mut self, program: &E);

    /// The run ends here.
    fn leaf(&mut self, _program: &E, _end: End) {}

    /// Whether the policy must be given up for one with room for longer runs.
    fn overflowed(&self) -> bool {
        false
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
    fn of<E: Execution>(program: &E) -> Self {
        let mut end = End::Final;
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
    /// The search starts (again), in the initial state.
    fn start(&mut self, _program: &E) {}
    /// A step has been made.
    fn pushed(&mut self, _program: &E) {}
    /// The last step is about to be taken back.
    fn popping(&mut self, _program: &E) {}
    /// The run is complete.
    fn complete(&mut self, _program: &E) {}
}

impl<E: Execution> Observer<E> for () {}

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
}

/// Something found, and the schedule that leads to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What happened; none for a deadlock or a final state.
    pub mishap: Option<Mishap>,
    /// How to get there. For a failing event: only what happens before it, and the event.
    pub schedule: Schedule,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The counts.
    pub counts: Counts,
    /// Bounds that were hit; empty if the search was exhaustive or certain.
    pub bounds: Vec<Bound>,
    /// Why it ended.
    pub stopped: StopReason,
    /// The first failure of each site, in order of discovery.
    pub failures: Vec<Finding>,
    /// The first deadlock.
    pub deadlock: Option<Finding>,
    /// The first final state, and the first that differs from it.
    pub finals: Vec<Finding>,
    /// A way to a cycle that can be followed for ever, and once round it.
    pub livelock: Option<Finding>,
    /// Time taken.
    pub elapsed: Duration,
}

impl Findings {
    /// Whether all final states agree; none if no run is final or the search was cut.
    pub fn deterministic(&self) -> Option<bool> {
        match self.finals.len() {
            0 => None,
            1 => (self.stopped == StopReason::Complete).then_some(true),
            _ => Some(false),
        }
    }
}

/// How often limits are looked at, in steps: at most so many, and fewer if the steps are slow.
const STEPS_BETWEEN_CHECKS: u64 = 4096;
const TIME_BETWEEN_CHECKS: Duration = Duration::from_millis(20);

/// Called every now and then: it may show progress, and break off the search.
pub type Watch<'a> = dyn FnMut(&Progress) -> ControlFlow<Bound> + 'a;

/// Explores a program with a policy.
pub fn explore<E: Execution, P: Policy<E>, O: Observer<E>>(
    program: &mut E,
    policy: &mut P,
    limits: &Limits,
    goal: Goal,
    watch: &mut Watch<'_>,
    observer: &mut O,
) -> Findings {
    let mut search = Search {
        goal,
        limits,
        start: Instant::now(),
        counts: Counts::default(),
        merges: P::MERGES,
        traces: (!P::UNIQUE).then(Traces::default),
        failed: FxHashSet::default(),
        broken_ensures: 0,
        observed: FxHashSet::default(),
        found: Findings {
            counts: Counts::default(),
            bounds: Vec::new(),
            stopped: StopReason::Complete,
            failures: Vec::new(),
            deadlock: None,
            finals: Vec::new(),
            livelock: None,
            elapsed: Duration::ZERO,
        },
        certain: false,
    };
    search.run(program, policy, watch, observer);
    search.finish()
}

/// For algorithms that may meet a trace again: which ones have been met.
#[derive(Default)]
struct Traces {
    hasher: TraceHasher,
    met: FxHashSet<Fingerprint>,
}

struct Search<'a> {
    goal: Goal,
    limits: &'a Limits,
    start: Instant,
    counts: Counts,
    merges: bool,
    traces: Option<Traces>,
    failed: FxHashSet<Fingerprint>,
    /// Traces whose final state breaks an `ensures`, for each `ensures`.
    broken_ensures: u64,
    observed: FxHashSet<Fingerprint>,
    found: Findings,
    certain: bool,
}

impl Search<'_> {
    fn run<E: Execution, P: Policy<E>, O: Observer<E>>(
        &mut self,
        program: &mut E,
        policy: &mut P,
        watch: &mut Watch<'_>,
        observer: &mut O,
    ) {
        program.back_to(0);
        observer.start(program);
        for &mishap in program.initial_mishaps() {
            self.mishap(program, mishap, None);
        }
        policy.enter(program);
        let mut fresh = true;
        let mut batch = 1;
        let mut until_check = 0;
        let mut checked = self.start;
        while !self.certain {
            if until_check == 0 {
                let now = Instant::now();
                batch = match now - checked > TIME_BETWEEN_CHECKS {
                    true => (batch / 2).max(1),
                    false => (batch * 2).min(STEPS_BETWEEN_CHECKS),
                };
                checked = now;
                until_check = batch;
                if let ControlFlow::Break(bound) = self.check_limits(policy.progress(), watch) {
                    self.found.bounds.push(bound);
                    return;
                }
            }
            let depth = program.events().len();
            let too_deep = fresh
                && depth as u64 >= self.limits.depth()
                && !policy.known()
                && End::of(program) == End::Blocked;
            if too_deep {
                self.bound(Bound::MaxDepth(self.limits.depth()));
            }
            let choice = if too_deep { None } else { policy.next(program) };
            match choice {
                Some(choice) => {
                    let executions = self.counts.executions;
                    if self
                        .limits
                        .executions
                        .is_some_and(|most| executions >= most)
                    {
                        self.bound(Bound::MaxExecutions(executions));
                        return;
                    }
                    if self
                        .limits
                        .steps
                        .is_some_and(|most| self.counts.steps >= most)
                    {
                        self.bound(Bound::MaxSteps(self.counts.steps));
                        return;
                    }
                    let failed = match program.step(choice.process, &choice.outcomes) {
                        Ok(event) => !event.mishaps.is_empty(),
                        Err(error) => panic!("an explorer chose an impossible step: {error}"),
                    };
                    self.counts.steps += 1;
                    self.counts.events += 1;
                    until_check -= 1;
                    let event = &program.events()[depth];
                    if let Some(traces) = &mut self.traces {
                        traces.hasher.push(event, program.processes());
                    }
                    if failed {
                        for &mishap in &event.mishaps {
                            self.mishap(program, mishap, Some(depth));
                        }
                    }
                    observer.pushed(program);
                    policy.enter(program);
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
                            () => match End::of(program) {
                                End::Blocked if P::MERGES && discarded(program) => End::Discarded,
                                end => end,
                            },
                        };
                        self.end(program, end);
                        if !matches!(end, End::Blocked | End::Cut) {
                            observer.complete(program);
                        }
                        policy.leaf(program, end);
                    }
                    if depth == 0 {
                        return;
                    }
                    policy.leave(program);
                    observer.popping(program);
                    program.back_to(depth - 1);
                    if let Some(traces) = &mut self.traces {
                        traces.hasher.pop();
                    }
                    fresh = false;
                }
            }
        }
    }

    fn finish(mut self) -> Findings {
        self.found.counts = self.counts_so_far();
        self.found.elapsed = self.start.elapsed();
        self.found.stopped = match () {
            () if self.certain => StopReason::Certain,
            () if self.found.bounds.is_empty() => StopReason::Complete,
            () => StopReason::Bound,
        };
        self.found
    }

    fn counts_so_far(&self) -> Counts {
        let met = self.traces.as_ref().map(|traces| traces.met.len() as u64);
        Counts {
            traces: (!self.merges).then(|| met.unwrap_or(self.counts.executions)),
            failures: self.failed.len() as u64 + self.broken_ensures,
            final_states: self.observed.len() as u64,
            ..self.counts
        }
    }

    fn bound(&mut self, bound: Bound) {
        if !self.found.bounds.contains(&bound) {
            self.found.bounds.push(bound);
        }
    }

    fn check_limits(&mut self, done: Option<f64>, watch: &mut Watch<'_>) -> ControlFlow<Bound> {
        let elapsed = self.start.elapsed();
        if let Some(limit) = self.limits.time
            && elapsed >= limit
        {
            return ControlFlow::Break(Bound::TimeLimit(limit.as_millis() as u64));
        }
        watch(&Progress {
            counts: self.counts_so_far(),
            elapsed,
            done,
        })
    }

    /// A mishap of the event at a position; none: of the initial state.
    fn mishap<E: Execution>(&mut self, program: &E, mishap: Mishap, at: Option<usize>) {
        match mishap.kind {
            MishapKind::Discarded => return,
            MishapKind::OutOfRange => return self.bound(Bound::IntRange),
            MishapKind::LocalLimit => return self.bound(Bound::MaxLocal(self.limits.local)),
            MishapKind::Failure => {}
        }
        let key = match at {
            Some(at) => self.event_fingerprint(program, at),
            None => Fingerprint::EMPTY.then(u64::from(mishap.site)),
        };
        let known = self
            .found
            .failures
            .iter()
            .any(|found| found.mishap.is_some_and(|known| known.site == mishap.site));
        if self.failed.contains(&key) && known {
            return;
        }
        let run = program.events();
        let past = match at {
            // Where states are merged, only the event itself can have a false `assume`.
            Some(at) if known && self.merges => vec![at],
            Some(at) => HappensBefore::of(&run[..=at]).past(at),
            None => Vec::new(),
        };
        // Only what leads to the failure counts: with a false `assume` in its past it cannot happen.
        // One before any step is in the past of everything.
        let discards = |mishap: &Mishap| mishap.kind == MishapKind::Discarded;
        let discarded = |&at: &usize| run[at].mishaps.iter().any(discards);
        if past.iter().any(discarded) || program.initial_mishaps().iter().any(discards) {
            return;
        }
        self.failed.insert(key);
        if !known {
            let events = past.iter().map(|&at| &run[at]);
            self.found.failures.push(Finding {
                mishap: Some(mishap),
                schedule: Schedule::of_each(events, program.processes()),
            });
        }
        self.violated();
    }

    fn event_fingerprint<E: Execution>(&self, program: &E, at: usize) -> Fingerprint {
        if let Some(traces) = &self.traces {
            return traces.hasher.event(at);
        }
        if self.merges {
            return Fingerprint::EMPTY.then(u64::MAX).then(self.counts.steps);
        }
        // Failures are rare enough to hash the run for each.
        let mut hasher = TraceHasher::new();
        for event in &program.events()[..=at] {
            hasher.push(event, program.processes());
        }
        hasher.event(at)
    }

    fn violated(&mut self) {
        self.certain |= self.goal != Goal::Everything;
    }

    /// A run has ended.
    fn end<E: Execution>(&mut self, program: &E, end: End) {
        match end {
            End::Blocked => self.counts.blocked += 1,
            End::Discarded => self.counts.discarded += 1,
            End::Lost | End::Cut => {}
            End::Final | End::Deadlock | End::Failure => self.complete(program, end),
        }
    }

    fn complete<E: Execution>(&mut self, program: &E, end: End) {
        self.counts.executions += 1;
        let new = match &mut self.traces {
            Some(traces) => traces.met.insert(traces.hasher.trace()),
            None => true,
        };
        if end == End::Failure {
            return;
        }
        let here = || Finding {
            mishap: None,
            schedule: Schedule::of(program.events(), program.processes()),
        };
        if end == End::Deadlock {
            self.counts.deadlocks += u64::from(new);
            self.found.deadlock.get_or_insert_with(here);
            self.violated();
            return;
        }
        for mishap in program.final_mishaps() {
            if mishap.kind != MishapKind::Failure {
                self.mishap(program, mishap, None);
                continue;
            }
            // The whole run is the past of a broken `ensures`; each trace has its own.
            self.broken_ensures += u64::from(new);
            let known = |found: &Finding| found.mishap == Some(mishap);
            if !self.found.failures.iter().any(known) {
                self.found.failures.push(Finding {
                    mishap: Some(mishap),
                    ..here()
                });
            }
            self.violated();
        }
        let observation = program.observation();
        if self.observed.insert(observation) && self.found.finals.len() < 2 {
            self.found.finals.push(here());
            self.certain |= self.found.finals.len() == 2
                && self.goal
                    == Goal::Verdict {
                        deterministic: true,
                    };
        }
    }
}

fn discarded<E: Execution>(program: &E) -> bool {
    let mut all = program.processes().in_order().iter();
    all.any(|&p| program.status(p) == Status::Discarded)
}
