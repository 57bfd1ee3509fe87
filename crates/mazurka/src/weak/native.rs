//! Explores, runs and replays native programs under the memory model rc11.
//!
//! An operating-system process can hold only one native program. So one thread explores, and it
//! calls the watch itself. The search may learn a fact about the program that it needs from the
//! start, for example that an access must be an event. Then it is broken off and repeated.

use std::ops::ControlFlow;

use mazurka_c::SearchStop;
use mazurka_c::weak::WeakProgram;
use mazurka_core::record::{Kind, Run, Step, Witness};
use mazurka_core::{
    Bound, Counts, Fingerprint, Kinds, Limits, Random, Schedule as Written, ScheduledStep,
};
use mazurka_explore::{Budget, Watch};
use mazurka_memory::graph::Kind as Access;
use mazurka_memory::schedule::{Schedule, ScheduledAction};
use mazurka_memory::{
    End, Ending, Failure, Found, Loc, Memory, Program as _, Replay, Visitor, replay_graph, sample,
    visit,
};
use rustc_hash::FxHashSet;

use super::missing::missing;
use super::search::Answer;
use super::tell::{Misfit, Walk};
use super::unknowns::before;
use crate::Refused;
use crate::evidence::{enumerate, unexplained};
use crate::replay::{ReplayProblem, same_steps};

/// The native program of this operating-system process, under a memory model.
pub(super) struct Native {
    program: WeakProgram,
    memory: Memory,
    /// Whether a step was broken off because it did not end.
    out_of_time: bool,
}

/// The question for a search.
pub(super) struct NativeQuestion<'a> {
    /// The kinds of violations that decide the verdict.
    pub counted: Kinds,
    /// The kinds that end the search.
    pub stops: Kinds,
    pub limits: &'a Limits,
}

/// Visits the executions.
struct ExecutionVisitor<'a, 'w> {
    stops: Kinds,
    budget: Budget<'a>,
    watch: &'a mut Watch<'w>,
    seen: Counts,
    /// The first complete execution, and the first with another result.
    finals: Vec<(Fingerprint, Schedule)>,
    observed: FxHashSet<Fingerprint>,
    deadlock: Option<Schedule>,
    /// The bound by which the watch has ended the search.
    over: Option<Bound>,
    certain: bool,
}

impl ExecutionVisitor<'_, '_> {
    /// Ends the search if a violation of this kind was found and such violations end the search.
    fn stops(&mut self, kind: Kind, found: bool) -> ControlFlow<()> {
        if found && self.stops.contains(kind) {
            self.certain = true;
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn complete(&mut self, end: &mut End<'_, &mut WeakProgram>) -> ControlFlow<()> {
        let result = end.program().observation();
        if self.observed.insert(result) && self.finals.len() < 2 {
            self.finals.push((result, end.schedule()));
        }
        self.stops(Kind::Nondeterminism, self.finals.len() > 1)
    }
}

impl<'p> Visitor<&'p mut WeakProgram> for ExecutionVisitor<'_, '_> {
    fn end(&mut self, end: &mut End<'_, &'p mut WeakProgram>) -> ControlFlow<()> {
        let ending = end.ending();
        let (graph, program) = end.graph_and_program();
        let ending = match ending {
            _ if program.is_in_vain() => Ending::Blocked,
            Ending::Deadlock if !program.is_deadlock(|loc| graph.final_value(loc)) => {
                Ending::Blocked
            }
            // The program has exited, so waiting threads are not a deadlock.
            Ending::Deadlock if program.has_exited() => Ending::Complete,
            ending => ending,
        };
        match ending {
            Ending::Blocked => {
                self.seen.blocked += 1;
                return ControlFlow::Continue(());
            }
            Ending::Discarded => {
                self.seen.discarded += 1;
                return ControlFlow::Continue(());
            }
            _ => self.seen.executions += 1,
        }
        match ending {
            Ending::Complete => self.complete(end),
            Ending::Deadlock => {
                self.seen.deadlocks += 1;
                self.deadlock.get_or_insert_with(|| end.schedule());
                self.stops(Kind::Deadlock, true)
            }
            _ => {
                self.seen.failures += 1;
                self.stops(Kind::Failure, true)
            }
        }
    }

    fn goes_on(&mut self) -> ControlFlow<()> {
        match self.budget.look(self.seen, self.watch) {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(bound) => {
                self.over = Some(bound);
                ControlFlow::Break(())
            }
        }
    }
}

/// Collects the steps of a drawn execution.
#[derive(Default)]
struct DrawnSchedule(Schedule);

impl<'p> Visitor<&'p mut WeakProgram> for DrawnSchedule {
    fn end(&mut self, end: &mut End<'_, &'p mut WeakProgram>) -> ControlFlow<()> {
        self.0 = end.schedule();
        ControlFlow::Break(())
    }

    fn cut(&mut self, steps: &dyn Fn() -> Schedule) {
        self.0 = steps();
    }
}

/// An execution with its description.
pub(super) struct DescribedExecution {
    pub run: Run,
    pub witnesses: Vec<Witness>,
    /// The threads that can continue.
    pub ready: Vec<String>,
}

impl Native {
    /// Takes the loaded program. The error says why it cannot be explored; for example, every
    /// memory model except rc11 is refused.
    pub fn new(memory: Memory) -> Result<Self, Refused> {
        if memory != Memory::Rc11 {
            return Err(Refused::NativeWeak);
        }
        let program = WeakProgram::of_loaded().expect("a program is loaded");
        if program.allows_races() {
            return Err(Refused::NativeRaces);
        }
        if program.looks_for_leaks() {
            return Err(Refused::NativeLeaks);
        }
        if program.observes_variables() {
            return Err(Refused::NativeObserved);
        }
        Ok(Self {
            program,
            memory,
            out_of_time: false,
        })
    }

    /// Returns the bound of a run in which a step that did not end was broken off.
    pub fn over_time(&self, limits: &Limits) -> Option<Bound> {
        let time = limits.time.map(|time| time.as_millis() as u64);
        let bound = time.map_or(Bound::Interrupted, Bound::TimeLimit);
        self.out_of_time.then_some(bound)
    }

    /// Returns the execution before its first step.
    pub fn before_steps(&mut self) -> Result<DescribedExecution, Refused> {
        self.tell(&Schedule::default())
    }

    /// Repeats some work until it learns no further fact that it needs from the start, such as an
    /// access that must be an event.
    fn until_known<R>(
        &mut self,
        mut work: impl FnMut(&mut WeakProgram) -> R,
    ) -> Result<R, Refused> {
        loop {
            self.program.start_again();
            let done = work(&mut self.program);
            match self.program.stopped() {
                None => return Ok(done),
                Some(SearchStop::Restart) => {}
                // The search reports `has_raced` as a bound.
                Some(SearchStop::Raced) => return Ok(done),
                // The time is over: the search reports a bound, or the work was a single infinite
                // run.
                Some(SearchStop::OutOfTime) => {
                    self.program.start_again();
                    self.out_of_time = true;
                    return Ok(done);
                }
                Some(SearchStop::Refused(what)) => return Err(Refused::Uncontrolled(what)),
            }
        }
    }

    /// Learns which accesses are events, by repeating the search that found a schedule. That search
    /// ended at the first failure or explored everything.
    fn learn(&mut self, limits: &Limits, everything: bool) -> Result<(), Refused> {
        let memory = self.memory;
        self.until_known(|program| {
            let mut look = |end: &mut End<'_, &mut WeakProgram>| match end.ending() {
                Ending::Failed | Ending::Race if !everything => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            };
            visit(program, memory, limits, &mut look);
        })
    }

    /// Runs the execution of a schedule that another process has found.
    pub fn follow(
        &mut self,
        written: &Written,
        limits: &Limits,
    ) -> Result<Result<DescribedExecution, Misfit>, Refused> {
        let mut narrated = Ok(Err(Misfit {
            step: 0,
            what: String::new(),
        }));
        for everything in [false, true] {
            self.learn(limits, everything)?;
            narrated = match self.schedule(written) {
                Ok(schedule) => self.described_run(&schedule),
                Err(misfit) => Ok(Err(misfit)),
            };
            if let Ok(Ok(_)) = narrated {
                break;
            }
        }
        narrated
    }

    /// Searches, and describes the findings.
    pub fn ask(
        &mut self,
        asked: &NativeQuestion<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Answer, Refused> {
        let (memory, budget) = (self.memory, Budget::new(asked.limits));
        mazurka_c::set_deadline(asked.limits.time);
        let (found, seen) = self.until_known(|program| {
            let limits = budget.left();
            let mut look = ExecutionVisitor {
                stops: asked.stops.and(asked.counted),
                budget,
                watch,
                seen: Counts::default(),
                finals: Vec::new(),
                observed: FxHashSet::default(),
                deadlock: None,
                over: None,
                certain: false,
            };
            let found = visit(program, memory, &limits, &mut look);
            let ExecutionVisitor {
                seen,
                finals,
                observed,
                deadlock,
                over,
                certain,
                ..
            } = look;
            (found, (seen, finals, observed, deadlock, over, certain))
        })?;
        let (seen, finals, observed, deadlock, over, certain) = seen;
        let mut bounds = found.bounds.clone();
        bounds.extend(over);
        if std::mem::take(&mut self.out_of_time) {
            bounds.push(budget.why_broken(seen, watch));
        }
        budget.restate(&mut bounds);
        if !certain && (found.counts.races > 0 || self.program.has_raced()) {
            bounds.push(Bound::DataRaces);
        }
        let mut witnesses = self.witnesses(&found, deadlock.as_ref(), asked.counted)?;
        if let ([(_, one), (_, other)], true) =
            (&finals[..], asked.counted.contains(Kind::Nondeterminism))
        {
            let (one, other) = (self.tell(one)?, self.tell(other)?);
            witnesses.push(Witness {
                message: "two executions end with different exit codes or output".to_owned(),
                ..unexplained(Kind::Nondeterminism, vec![one.run, other.run])
            });
        }
        let whole = bounds.is_empty() && !certain;
        Ok(Answer {
            counts: Counts {
                traces: Some(seen.executions),
                final_states: observed.len() as u64,
                events: found.counts.events,
                steps: found.counts.events,
                ..seen
            },
            stopped: certain,
            bounds,
            halted: false,
            races: found.counts.races > 0,
            deterministic: match observed.len() {
                0 => None,
                1 => whole.then_some(true),
                _ => Some(false),
            },
            witnesses,
            runs: 0,
            estimate: None,
        })
    }

    /// Returns the evidence for the findings of a search.
    fn witnesses(
        &mut self,
        found: &Found,
        deadlock: Option<&Schedule>,
        counted: Kinds,
    ) -> Result<Vec<Witness>, Refused> {
        let mut all = Vec::new();
        let failures = found.findings.iter();
        let failures = failures.filter(|finding| finding.failure != Failure::Deadlock);
        for finding in failures.filter(|_| counted.contains(Kind::Failure)) {
            let narrated = self.tell(&finding.schedule)?;
            let failing = narrated.witnesses.into_iter();
            let before = all.len();
            all.extend(failing.filter(|witness| witness.kind == Kind::Failure));
            // A finding of the search counts even if the described run does not show it.
            if all.len() == before {
                let (message, place) = match finding.failure {
                    Failure::Failed { code, .. } => self.program.explain(code),
                    _ => ("a failure".to_owned(), None),
                };
                let message = format!("{message}, in another order of these steps");
                all.push(Witness {
                    message,
                    place,
                    ..unexplained(Kind::Failure, vec![narrated.run])
                });
            }
        }
        if let Some(schedule) = deadlock.filter(|_| counted.contains(Kind::Deadlock)) {
            let narrated = self.tell(schedule)?;
            let stuck = narrated.witnesses.into_iter();
            all.extend(stuck.filter(|witness| witness.kind == Kind::Deadlock));
        }
        let mut known = Vec::new();
        all.retain(|witness| {
            let new = !known.contains(&witness.message);
            known.push(witness.message.clone());
            new
        });
        Ok(all)
    }

    /// Describes an execution that the search has found.
    fn tell(&mut self, schedule: &Schedule) -> Result<DescribedExecution, Refused> {
        let narrated = self.described_run(schedule)?;
        narrated.map_err(|misfit| Refused::Uncontrolled(misfit.what))
    }

    /// Runs the execution of a schedule, and returns all its violations.
    fn described_run(
        &mut self,
        schedule: &Schedule,
    ) -> Result<Result<DescribedExecution, Misfit>, Refused> {
        let memory = self.memory;
        self.until_known(|program| {
            let replayed = replay_graph(&mut *program, memory, schedule);
            let (replay, graph) = match replayed {
                Ok(replayed) => replayed,
                Err(error) => {
                    return Err(Misfit {
                        step: 0,
                        what: error.to_string(),
                    });
                }
            };
            program.start_again();
            let mut walk = Walk::new(&graph);
            let mut steps: Vec<Step> = Vec::new();
            for action in &schedule.0 {
                let thread = action.thread;
                let name = |program: &WeakProgram, loc: Loc| program.name_of(loc);
                match walk.next(thread) {
                    Some((event, _)) if event.kind == Access::Stuck => {}
                    Some((event, last)) => {
                        let memory = walk.access(&event, &last, |loc| name(program, loc));
                        let step = program.tell(thread, before(&graph, &event));
                        steps.push(Step { memory, ..step });
                        walk.record_step([&event, &last], steps.len());
                    }
                    None => {
                        let pending = program.pending(thread);
                        let racing = Walk::racing_access(pending, |loc| name(program, loc));
                        let Some((loc, memory)) = racing else {
                            continue;
                        };
                        let value = walk.last_value(loc, || program.initial_value(loc));
                        let step = program.tell(thread, value);
                        let memory = Some(Box::new(memory));
                        steps.push(Step { memory, ..step });
                        walk.record_racing_step(thread, steps.len());
                    }
                }
            }
            Ok(described_witness(
                program,
                (schedule, steps),
                &replay,
                &walk,
            ))
        })
    }

    /// Draws an execution at random; the same seed gives the same execution. Also returns the
    /// limits that cut it off.
    pub fn drawn(
        &mut self,
        seed: u64,
        limits: &Limits,
    ) -> Result<(DescribedExecution, Vec<Bound>), Refused> {
        let memory = self.memory;
        self.learn(limits, false)?;
        let one = Limits {
            executions: Some(1),
            ..limits.clone()
        };
        let (schedule, bounds) = self.until_known(|program| {
            let mut drawn = DrawnSchedule::default();
            let found = sample(program, memory, &one, Random::new(seed), &mut drawn);
            let mut bounds = found.bounds;
            bounds.retain(|bound| !matches!(bound, Bound::Sampled(_)));
            (drawn.0, bounds)
        })?;
        Ok((self.tell(&schedule)?, bounds))
    }

    /// Returns a schedule in the form of the engine.
    fn schedule(&mut self, written: &Written) -> Result<Schedule, Misfit> {
        let mut schedule = Schedule::default();
        for (at, step) in written.0.iter().enumerate() {
            let outcome = match step.outcomes[..] {
                [] => Some(0),
                [outcome] => u32::try_from(outcome).ok(),
                _ => None,
            };
            let (Some(thread), Some(outcome)) = (self.program.thread(&step.process), outcome)
            else {
                let step = at + 1;
                let what =
                    format!("step {step} of the schedule: there is no such thread or outcome");
                return Err(Misfit { step, what });
            };
            schedule.0.push(ScheduledAction { thread, outcome });
        }
        Ok(schedule)
    }

    /// Replays a run of a record, and compares both.
    pub fn replay_run(
        &mut self,
        old: &Run,
        limits: &Limits,
    ) -> Result<DescribedExecution, ReplayProblem> {
        let narrated = self.follow(&old.schedule.parse()?, limits);
        let narrated = narrated.map_err(|why| ReplayProblem::Changed(why.to_string()))??;
        same_steps(old, &narrated.run)?;
        Ok(narrated)
    }
}

/// Returns the schedule of an execution, in the notation of users.
fn written(program: &WeakProgram, schedule: &Schedule) -> Written {
    let step = |action: &ScheduledAction| {
        let process = mazurka_core::ProcessId(action.thread.0);
        let outcome = (action.outcome > 0).then_some(i64::from(action.outcome));
        ScheduledStep {
            process: program.threads().path(process).clone(),
            outcomes: outcome.into_iter().collect(),
        }
    };
    Written(schedule.0.iter().map(step).collect())
}

/// Describes an execution at its end, with its violations.
fn described_witness(
    program: &WeakProgram,
    (schedule, steps): (&Schedule, Vec<Step>),
    replay: &Replay,
    walk: &Walk<'_>,
) -> DescribedExecution {
    let standing = program.describe_execution();
    let run = standing.run(&written(program, schedule), steps);
    let mut witnesses = Vec::new();
    for failure in &replay.failures {
        match *failure {
            Failure::Failed { code, .. } => {
                let (message, place) = program.explain(code);
                witnesses.push(Witness {
                    message,
                    place,
                    ..unexplained(Kind::Failure, vec![run.clone()])
                });
            }
            Failure::Race { loc, first, second } => {
                let mut run = run.clone();
                let (mut sides, mut places) = (Vec::new(), Vec::new());
                for (thread, index) in [first, second] {
                    let at = walk.made.get(&(thread.0, index)).copied();
                    if let Some(step) = at.and_then(|at| run.steps.get_mut(at - 1)) {
                        step.racing = true;
                        sides.push(format!("`{}` (line {})", step.label, step.line));
                        places.extend(at.map(|at| at - 1));
                    }
                }
                let name = program.name_of(loc);
                let sides = sides.join(" and ");
                let missing = missing(&run.steps, &places);
                witnesses.push(Witness {
                    message: format!(
                        "data race on `{name}`: {sides}, and no synchronisation orders the two{missing}"
                    ),
                    ..unexplained(Kind::Failure, vec![run])
                });
            }
            Failure::Deadlock => {}
        }
    }
    if replay.ending == Some(Ending::Deadlock) && !program.has_exited() {
        let waiting = standing.waiting();
        let names: Vec<&str> = waiting.iter().map(|it| it.process.as_str()).collect();
        let verb = if names.len() == 1 { "waits" } else { "wait" };
        let message = format!("deadlock: {} {verb} for ever", enumerate(&names));
        witnesses.push(Witness {
            message,
            waiting,
            ..unexplained(Kind::Deadlock, vec![run.clone()])
        });
    }
    let path = |thread: &mazurka_memory::ThreadId| {
        let process = mazurka_core::ProcessId(thread.0);
        program.threads().path(process).to_string()
    };
    let ready = replay.ready.iter().map(path).collect();
    DescribedExecution {
        run,
        witnesses,
        ready,
    }
}
