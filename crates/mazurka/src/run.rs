//! `run`: one execution, by a given schedule or at random.
//!
//! A [`Plan`] determines the execution, and the result is a [`RunRecord`]. Its verdict applies to
//! this run only.
//!
//! ```
//! use mazurka::run::Plan;
//! use mazurka::{Options, Program, Verdict, quietly};
//!
//! let source = "var x: int = 0  process { x := 1 }  process { assert x == 0 }";
//! let program = Program::load("late.maz", source, &[]).unwrap();
//! let verdict = |schedule: &str| {
//!     let plan = Plan::Schedule(schedule.parse().unwrap());
//!     let run = program.run(&plan, &Options::default(), &mut quietly()).unwrap();
//!     run.record.verdict
//! };
//! assert_eq!(verdict("1 0"), Verdict::Verified);
//! assert_eq!(verdict("0 1"), Verdict::Violated);
//! ```

use std::time::Instant;

use mazurka_core::record::{
    ComparedRuns, Ending, KindsRecord, PathEvent, PathRecord, Record, Run, Step, VERSION,
};
use mazurka_core::{
    Bound, Counts, Execution, Labelled, Narrator, ProcessId, ReplayError, Scope, Status, StepError,
    StopReason, Verdict,
};
use mazurka_explore::{Budget, draw_outcome, is_broken_off};
use mazurka_lang::UnfitInput;
use serde::{Deserialize, Serialize};

use crate::front::{Front, on_any_front, on_front};
use crate::{Options, Program, Refused, Watch, evidence};

pub use crate::unknowns::parse_input;
pub use mazurka_core::{ProcessPath, Random, Schedule};

/// The execution to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// The run of this schedule.
    Schedule(Schedule),
    /// A random run: in every state each ready process is equally likely. A seed always gives the
    /// same run.
    Seed(u64),
}

/// The record of one run: the common record, and the run.
///
/// The verdict applies to this run only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The common record.
    #[serde(flatten)]
    pub record: Record,
    /// The seed, if the run was random.
    pub seed: Option<u64>,
    /// The processes that could make the next step, if the run stopped early.
    pub ready: Vec<String>,
    /// The run.
    pub run: Run,
    /// The run over symbolic initial values, if requested: see [`Program::path`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathRecord>,
    /// Whether another run is equivalent, if requested: see [`Program::compare_runs`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<ComparedRuns>,
    /// The events ι⟨W, R⟩ of the run (the process, and the variables that it writes and reads), if
    /// requested: see [`Program::path_events`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<PathEvent>,
    /// The run as a sequential program, if requested: see [`Program::linearised`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linearised: Option<String>,
}

/// Why a run cannot be expressed over unknown initial values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPath {
    /// Some values are unknown.
    #[error("a path is computed only for programs without unknown values")]
    Unknowns,
    /// A number of the run exceeds what terms can express.
    #[error("the numbers of this run cannot be expressed over symbolic initial values")]
    Numbers,
}

/// Why a run cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A step of the schedule is not possible.
    #[error("the schedule does not fit: {0}")]
    Schedule(#[from] ReplayError),
    /// The program cannot be run under a weak memory model.
    #[error(transparent)]
    Weak(#[from] Refused),
    /// The memory model does not allow the schedule.
    #[error("the schedule does not fit: {0}")]
    WeakSchedule(String),
    /// An input cannot have the given value.
    #[error(transparent)]
    Input(#[from] UnfitInput),
}

impl Program {
    /// Runs one execution to its end, to the end of the schedule, or to a limit.
    pub fn run(
        &self,
        plan: &Plan,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<RunRecord, RunError> {
        if let Some(memory) = options.weak_memory() {
            return self.asked(options).run_weakly(memory, plan, options);
        }
        let asked = self.asked(options);
        let record =
            on_any_front!(asked.language, front => self.run_on(front, plan, options, watch))?;
        if let Some(program) = asked.language.for_all() {
            // The type of an input is known only when the program reads it.
            let mut machine = program.machine(options);
            if let Ok(schedule) = record.run.schedule.parse() {
                follow(&mut machine, &schedule);
            }
            machine.check_inputs(&options.inputs)?;
        }
        Ok(record)
    }

    fn run_on<F: Front>(
        &self,
        front: &F,
        plan: &Plan,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<RunRecord, ReplayError> {
        let start = Instant::now();
        let options = &options.started();
        // The budget begins before the machine does, so that the reason is known if the machine
        // breaks off a step.
        let budget = Budget::new(&options.limits);
        let mut machine = front.machine_for_a_run(options);
        let (run, bound) = match plan {
            Plan::Schedule(schedule) => tell(&mut machine, schedule, &budget, watch)?,
            Plan::Seed(seed) => {
                let mut steps = Vec::new();
                let mut random = Random::new(*seed);
                let bound = go_on(&mut machine, options, watch, &mut |machine, ready| {
                    let enabled = names(machine, ready);
                    let process = one_of(ready, &mut random);
                    let step = by_chance(machine, &mut random, |machine, outcomes| {
                        machine.tell(process, outcomes)
                    });
                    steps.push(Step { enabled, ..step });
                });
                // If the last step was broken off, it has been taken back.
                steps.truncate(machine.events().len());
                let schedule = Schedule::from_run(machine.events(), machine.processes());
                (machine.told(&schedule, steps), bound)
            }
        };
        options.show();
        let mut bounds: Vec<Bound> = bound.into_iter().collect();
        let mut narrated = evidence::assess(&machine, run);
        bounds.extend(evidence::bounds_of_run(&machine, &options.limits));
        bounds.dedup();
        let mut witnesses = Vec::new();
        for mishap in &narrated.failures {
            witnesses.push(evidence::failure(
                &mut machine,
                narrated.run.clone(),
                mishap,
            ));
        }
        if narrated.deadlocked {
            witnesses.push(evidence::deadlock(&mut machine, narrated.run.clone()));
        }
        if let Some(marked) = witnesses.first().and_then(|witness| witness.runs.first()) {
            narrated.run = marked.clone();
        }
        let complete =
            evidence::is_complete(&narrated.run) && narrated.run.ending != Ending::Discarded;
        let steps = narrated.run.steps.len() as u64;
        let record = Record {
            version: VERSION,
            program: self.record().clone(),
            command: "run".to_owned(),
            algorithm: match plan {
                Plan::Schedule(_) => "schedule".to_owned(),
                Plan::Seed(_) => "random".to_owned(),
            },
            options: Some(options.record(match plan {
                Plan::Schedule(_) => None,
                Plan::Seed(_) => Some(options.limits.depth()),
            })),
            verdict: match (witnesses.is_empty(), bounds.is_empty()) {
                (false, _) => Verdict::Violated,
                (true, false) => Verdict::Inconclusive,
                (true, true) => Verdict::Verified,
            },
            stopped: if bounds.is_empty() {
                StopReason::Complete
            } else {
                StopReason::Bound
            },
            scope: Scope {
                exhaustive: false,
                bounds,
                outside: self.outside(),
            },
            deterministic: None,
            counts: Counts {
                executions: u64::from(complete),
                traces: Some(u64::from(complete)),
                discarded: u64::from(narrated.run.ending == Ending::Discarded),
                deadlocks: u64::from(narrated.deadlocked),
                failures: narrated.failures.len() as u64,
                final_states: u64::from(narrated.run.ending == Ending::Final),
                events: steps,
                steps,
                ..Counts::default()
            },
            seconds: start.elapsed().as_secs_f64(),
            solver: None,
            kinds: KindsRecord::default(),
            witnesses,
            warnings: Vec::new(),
            coverage: None,
            sample: None,
            memory: None,
            profile: None,
            explanation: None,
            stronger: Vec::new(),
            memory_model: None,
            covers: Vec::new(),
            refinement: None,
            object: None,
        };
        let seed = match plan {
            Plan::Schedule(_) => None,
            Plan::Seed(seed) => Some(*seed),
        };
        Ok(RunRecord {
            record,
            seed,
            ready: narrated.ready,
            run: narrated.run,
            path: None,
            compared: None,
            events: Vec::new(),
            linearised: None,
        })
    }

    /// Returns a run as the guarded-command paper records it. Its steps are the labels of θ. The
    /// result contains path(θ), the effect of θ, and the labels that contain a choice, which could
    /// have gone the other way.
    ///
    /// ```
    /// use mazurka::run::Plan;
    /// use mazurka::{Options, Program, quietly};
    /// let source = "var x: int = 1
    ///     process { x > 0 |> x := x + 1 } process { x := 5 <| x > 3 |> x := 2 * x }";
    /// let program = Program::load("path.maz", source, &[]).unwrap();
    /// let plan = Plan::Schedule("0 1".parse().unwrap());
    /// let ran = program.run(&plan, &Options::default(), &mut quietly()).unwrap();
    /// let path = program.path(&ran.run, &Options::default()).unwrap();
    /// assert_eq!(path.condition, "x > 0 && x <= 2");
    /// assert_eq!(path.state[0].value, "2 * (x + 1)");
    /// assert_eq!(path.branches, [2]);
    /// ```
    pub fn path(&self, run: &Run, options: &Options) -> Result<PathRecord, NoPath> {
        on_front!(self.language, front => self.path_on(front, run, options))
    }

    fn path_on<F: Front>(
        &self,
        front: &F,
        run: &Run,
        options: &Options,
    ) -> Result<PathRecord, NoPath> {
        let mut labelled = front.labelled(options).ok_or(NoPath::Unknowns)?;
        let schedule: Schedule = match run.schedule.parse() {
            Ok(schedule) => schedule,
            Err(error) => panic!("a record has an invalid schedule: {error}"),
        };
        let (condition, state) = match self.language.concolic(options) {
            Some(mut concolic) => {
                concolic.follow(&schedule).map_err(|_| NoPath::Numbers)?;
                (concolic.path_condition(), concolic.state())
            }
            // An ABS program has one initial state, so there are no initial values to vary.
            None => ("true".to_owned(), run.state.clone()),
        };
        follow(&mut labelled, &schedule);
        let branches = (0..schedule.0.len()).filter(|&at| labelled.branches(at));
        Ok(PathRecord {
            condition,
            state,
            branches: branches.map(|at| at + 1).collect(),
        })
    }
}

/// Runs a schedule to its end or to a bound of the budget, and describes the run.
pub(crate) fn tell<M: Narrator>(
    machine: &mut M,
    schedule: &Schedule,
    budget: &Budget<'_>,
    watch: &mut Watch<'_>,
) -> Result<(Run, Option<Bound>), ReplayError> {
    let mut bound = None;
    let run = machine.narrate_while(schedule, &mut |steps| {
        bound = budget.look(steps_made(steps as u64), watch).break_value();
        bound.is_none()
    })?;
    let told = run.steps.len();
    if bound.is_none() && told < schedule.0.len() {
        bound = Some(budget.why_broken(steps_made(told as u64), watch));
    }
    Ok((run, bound))
}

/// Makes the steps of a schedule that is known to fit.
pub(crate) fn follow<E: Execution + ?Sized>(program: &mut E, schedule: &Schedule) {
    program.back_to(0);
    for step in &schedule.0 {
        let process = program.processes().find(&step.process);
        let made = process.map(|process| program.step(process, &step.outcomes).is_ok());
        assert_eq!(
            made,
            Some(true),
            "a schedule that fitted does not: {schedule}"
        );
    }
}

/// Returns the names of some processes.
pub(crate) fn names<E: Execution + ?Sized>(program: &E, some: &[ProcessId]) -> Vec<String> {
    let name = |&process: &ProcessId| program.processes().path(process).to_string();
    some.iter().map(name).collect()
}

/// Returns the counts of a run or a proof with this many steps.
pub(crate) fn steps_made(steps: u64) -> Counts {
    Counts {
        steps,
        ..Counts::default()
    }
}

/// Makes steps until no process can make one, or a bound is hit.
pub(crate) fn go_on<E: Execution + ?Sized>(
    machine: &mut E,
    options: &Options,
    watch: &mut Watch<'_>,
    step: &mut dyn FnMut(&mut E, &[ProcessId]),
) -> Option<Bound> {
    let limits = &options.limits;
    let budget = Budget::new(limits);
    let mut ready: Vec<ProcessId> = Vec::new();
    loop {
        let depth = machine.events().len();
        ready.clear();
        let processes = machine.processes().in_order().iter();
        ready.extend(processes.filter(|&&p| machine.status(p) == Status::Ready));
        if ready.is_empty() {
            return None;
        }
        if depth as u64 >= limits.depth() {
            return Some(Bound::MaxDepth(limits.depth()));
        }
        let counts = steps_made(depth as u64);
        let reached = budget.may_step(counts.steps).break_value();
        let reached = reached.or_else(|| budget.look(counts, watch).break_value());
        if reached.is_some() {
            return reached;
        }
        step(machine, &ready);
        let last = machine.events().last();
        if last.is_some_and(|event| is_broken_off(&event.mishaps)) {
            machine.back_to(depth);
            return Some(budget.why_broken(counts, watch));
        }
    }
}

/// Returns one of these processes at random.
pub(crate) fn one_of(ready: &[ProcessId], random: &mut Random) -> ProcessId {
    ready[random.below(ready.len() as u64) as usize]
}

/// Makes one step, with a random outcome for each of its `choose` expressions. The possible
/// outcomes are known only after the step, so the step is taken back and made again for each
/// `choose`.
pub(crate) fn by_chance<E: Execution + ?Sized, T>(
    machine: &mut E,
    random: &mut Random,
    mut make: impl FnMut(&mut E, &[i64]) -> Result<T, StepError>,
) -> T {
    let depth = machine.events().len();
    let mut outcomes = Vec::new();
    loop {
        let made = match make(machine, &outcomes) {
            Ok(made) => made,
            Err(error) => panic!("a ready process cannot step: {error}"),
        };
        if !draw_outcome(&machine.events()[depth], &mut outcomes, random) {
            return made;
        }
        machine.back_to(depth);
    }
}
