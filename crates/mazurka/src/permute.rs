//! `permute`: the executable permutations of one execution, or of all.
//!
//! A run is recorded, and all orders of its labels in which the program can execute it are found
//! and run, up to equivalence. [`Program::permute`] has an example; docs/permute.md tells more.

use std::ops::ControlFlow;
use std::time::Instant;

use mazurka_core::record::{
    self, AnyStartPermutations, Ending, OrderedEvent, PaperPermutations, PartialOrder,
    PermutationClass, PermutationDisagreement, PermutationResult, Record,
};
use mazurka_core::{
    Bound, Counts, Event, Execution, Fingerprint, Labelled, Limits, Narrator, Patience,
    ReplayError, Schedule, Scope, StopReason, ending, immediate_predecessors,
};
use mazurka_explore::{Extent, Goal, Observer, Permute, Progress, Search};
use mazurka_lang::{AnyStart, Concolic, Disagreement, LabelledMachine, Machine, Outlook};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::front::{Front, on_front};
use crate::run::{go_on, wander};
use crate::{Algorithm, Options, Plan, Program, Watch};

/// What to permute, and how much of it to list.
#[derive(Clone, Debug)]
pub struct Permuting {
    /// The run to record. If the schedule ends early, the first process that can go on makes the
    /// next step.
    pub plan: Plan,
    /// Go on from path to path until all are known.
    pub complete: bool,
    /// Count the classes of the definitions as printed, too.
    pub paper: bool,
    /// Find the permutations of the recorded path from any initial values, too.
    pub any_start: bool,
    /// How many permutations, and how many ways to end, are listed.
    pub listed: usize,
}

/// The record of permutations: what every record has, and these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermuteRecord {
    /// What every record has.
    #[serde(flatten)]
    pub record: Record,
    /// The permutations.
    pub permutations: record::Permutations,
}

/// Why nothing was permuted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PermuteError {
    /// The schedule cannot be followed.
    #[error("the schedule does not fit: {0}")]
    Schedule(ReplayError),
    /// Steps of ABS programs have no labels.
    #[error(
        "ABS programs cannot be permuted: their tasks have no guarded-command labels; `mazurka explore` explores them"
    )]
    NoLabels,
    /// A run cannot be told over symbolic initial values.
    #[error("--symbolic-initial: {0}")]
    AnyStart(String),
    /// There is no such class to draw.
    #[error("there is no class {wanted}: {listed} are listed; --classes N lists more")]
    NoSuchClass {
        /// Which was asked for, from 1.
        wanted: usize,
        /// How many are listed.
        listed: usize,
    },
}

impl Program {
    /// Records a run and finds its executable permutations. Failures and deadlocks violate. Unless
    /// it is complete, nothing is said about other paths: the scope is not exhaustive, and
    /// `deterministic` is false or unknown.
    ///
    /// ```
    /// use mazurka::{Options, Permuting, Plan, Program, quietly};
    /// // Errata E6: as recorded, with the choice first, nothing else can happen; but y can be 2.
    /// let source = "var x, y: int = 0
    ///     process { x := 1 } process { y := 1 <| x == 0 |> y := 2 }";
    /// let program = Program::load("e6.maz", source, &[]).unwrap();
    /// let mut wanted = Permuting {
    ///     plan: Plan::Schedule("1 0".parse().unwrap()),
    ///     complete: false,
    ///     paper: false,
    ///     any_start: false,
    ///     listed: 100,
    /// };
    /// let one = program.permute(&wanted, &Options::default(), &mut quietly()).unwrap();
    /// assert_eq!((one.permutations.executable, one.record.deterministic), (1, None));
    /// wanted.complete = true;
    /// let all = program.permute(&wanted, &Options::default(), &mut quietly()).unwrap();
    /// assert_eq!((all.permutations.executable, all.record.deterministic), (2, Some(false)));
    /// ```
    pub fn permute(
        &self,
        wanted: &Permuting,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<PermuteRecord, PermuteError> {
        let start = Instant::now();
        let options = &options.started();
        let labelled = self.language.labelled(options);
        let mut labelled = labelled.ok_or(PermuteError::NoLabels)?;
        if wanted.paper {
            labelled = labelled.with_names();
        }
        let (schedule, bound) = self.record_run(wanted, &mut labelled, options, watch)?;
        let finished = labelled.is_final();
        let recorded_events = labelled.events().to_vec();
        let branches = (0..labelled.events().len()).filter(|&at| labelled.branches(at));
        let branches = branches.map(|at| at + 1).collect();
        // What is shown is run to the end of each step.
        let mut tester = labelled.machine().clone();
        tester.set_patience(Patience::default());
        let mut collecting = Collecting {
            concolic: self.language.concolic(options),
            ..Collecting::new(tester, schedule.0.len(), wanted)
        };
        let extent = Extent {
            complete: wanted.complete,
            printed: wanted.paper,
        };
        let limits = left(&options.limits, start);
        let permute = permuting(&schedule, extent, limits);
        let found = permute.run(&mut labelled, watch, &mut collecting);
        let (mut findings, counts) = (found.findings, found.counts);
        restate(&mut findings.bounds, &options.limits);
        if let Some(bound) = bound.filter(|bound| !findings.bounds.contains(bound)) {
            findings.bounds.push(bound);
            findings.stopped = StopReason::Bound;
        }
        let any_start = match wanted.any_start {
            true => Some(self.any_start(
                &Recorded {
                    schedule: &schedule,
                    events: &recorded_events,
                    finished,
                },
                wanted,
                options,
                start,
                watch,
            )?),
            false => None,
        };
        let mut machine = collecting.tester;
        // The engine's name in the record is the paper's.
        let judged = self.judge(
            "permute",
            Algorithm::Optimal,
            options,
            false,
            &mut machine,
            &findings,
        );
        let known = wanted.complete && judged.scope.exhaustive;
        let record = Record {
            algorithm: "fagiani".to_owned(),
            scope: Scope {
                exhaustive: known,
                ..judged.scope
            },
            deterministic: judged.deterministic.filter(|same| known || !same),
            ..judged
        };
        let recorded = match machine.narrate(&schedule) {
            Ok(run) => run,
            Err(error) => panic!("the recorded run does not run again: {error}"),
        };
        Ok(PermuteRecord {
            record,
            permutations: record::Permutations {
                recorded,
                branches,
                complete: wanted.complete,
                seeds: counts.seeds,
                candidates: counts.candidates,
                infeasible: counts.infeasible,
                duplicates: counts.duplicates,
                executable: counts.executable,
                open: counts.open,
                stuck: counts.stuck,
                paper: found.printed.map(|forms| PaperPermutations {
                    candidates: forms.candidates,
                    infeasible: forms.infeasible,
                    duplicates: forms.duplicates,
                    executable: forms.executable,
                }),
                any_start,
                classes: collecting.classes,
                results: collecting.results,
            },
        })
    }

    /// Makes the run to record, to its end.
    fn record_run(
        &self,
        wanted: &Permuting,
        labelled: &mut LabelledMachine,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<(Schedule, Option<mazurka_core::Bound>), PermuteError> {
        let bound = match &wanted.plan {
            Plan::Seed(seed) => {
                labelled.set_patience(options.patience.clone());
                wander(labelled, *seed, options, watch)
            }
            Plan::Schedule(schedule) => {
                let mut machine = labelled.machine().clone();
                machine.narrate(schedule).map_err(PermuteError::Schedule)?;
                follow(labelled, schedule);
                labelled.set_patience(options.patience.clone());
                go_on(labelled, options, watch, &mut |labelled, ready| {
                    if let Err(error) = labelled.step(ready[0], &[]) {
                        panic!("a ready process cannot step: {error}");
                    }
                })
            }
        };
        let schedule = Schedule::from_run(labelled.events(), labelled.processes());
        Ok((schedule, bound))
    }

    /// The partial order of one of the listed classes, from 1.
    pub fn partial_order(
        &self,
        permuted: &PermuteRecord,
        class: usize,
        options: &Options,
    ) -> Result<PartialOrder, PermuteError> {
        let classes = &permuted.permutations.classes;
        let found = class.checked_sub(1).and_then(|at| classes.get(at));
        let found = found.ok_or(PermuteError::NoSuchClass {
            wanted: class,
            listed: classes.len(),
        })?;
        let schedule: Schedule = match found.schedule.parse() {
            Ok(schedule) => schedule,
            Err(error) => panic!("a schedule in a record is none: {error}"),
        };
        on_front!(self.language, front => {
            let mut machine = front.machine(options);
            order_of(&mut machine, &schedule).map_err(PermuteError::Schedule)
        })
    }
}

/// The run that was recorded.
struct Recorded<'a> {
    schedule: &'a Schedule,
    events: &'a [Event],
    /// Whether every process has ended in it.
    finished: bool,
}

/// More pairs of classes than this are not compared.
const MOST_PAIRS: usize = 300;

impl Program {
    /// The permutations of a run from any initial values, and where they disagree.
    fn any_start(
        &self,
        recorded: &Recorded<'_>,
        wanted: &Permuting,
        options: &Options,
        start: Instant,
        watch: &mut Watch<'_>,
    ) -> Result<AnyStartPermutations, PermuteError> {
        let schedule = recorded.schedule;
        let refuse = |why: &str| PermuteError::AnyStart(why.to_owned());
        let concolic = self.language.concolic_solving(options);
        let mut concolic = concolic.ok_or(PermuteError::NoLabels)?;
        let followed = concolic.follow(schedule);
        followed.map_err(|_| refuse("the recorded run chooses between bounds, or computes numbers, that cannot be told over symbolic values"))?;
        if !recorded.finished {
            return Err(refuse(
                "not every process ends in the recorded run; record one where they do (--seed, --schedule)",
            ));
        }
        let mut program = concolic.from_any_start(recorded.events);
        let mut found = FromAnyStart {
            listed: wanted.listed,
            length: schedule.0.len(),
            schedules: Vec::new(),
            outlooks: Vec::new(),
        };
        let limits = left(&options.limits, start);
        let permute = permuting(schedule, Extent::default(), limits);
        let mut permuted = permute.run(&mut program, watch, &mut found);
        restate(&mut permuted.findings.bounds, &options.limits);
        if program.varies() {
            return Err(refuse(
                "which element of an array the recorded run touches, or which lock it takes, depends on the initial values",
            ));
        }
        let limits = permuted.findings.bounds.iter().map(ToString::to_string);
        let doubts = program.doubts();
        let within = doubts
            .within
            .map(|bits| format!("`int` was decided within {bits} bits only"));
        let mut undecided: Vec<String> = limits.chain(within).chain(doubts.undecided).collect();
        let mut disagreements = Vec::new();
        let pairs = (0..found.outlooks.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
        let mut all = found.outlooks.len() as u64 == permuted.counts.executable;
        for (first, second) in pairs.clone().take(MOST_PAIRS) {
            if let ControlFlow::Break(bound) = look(&options.limits, start, watch) {
                undecided.push(bound.to_string());
                all = false;
                break;
            }
            match program.disagreement(&found.outlooks[first], &found.outlooks[second]) {
                Disagreement::Never => {}
                Disagreement::When { condition, example } => {
                    disagreements.push(PermutationDisagreement {
                        first: first + 1,
                        second: second + 1,
                        condition,
                        example,
                    });
                }
                Disagreement::Unknown(why) => undecided.push(why),
            }
        }
        undecided.dedup();
        let classes = found.schedules.into_iter().zip(&found.outlooks);
        let classes = classes.map(|((schedule, ending), outlook)| PermutationClass {
            schedule,
            ending,
            path_condition: Some(program.condition(outlook)),
            state: program.state(outlook),
        });
        Ok(AnyStartPermutations {
            executable: permuted.counts.executable,
            classes: classes.collect(),
            disagreements,
            all_pairs: all && pairs.count() <= MOST_PAIRS,
            undecided: (!undecided.is_empty()).then(|| undecided.join("; ")),
        })
    }
}

/// A search for the permutations of the run of a schedule.
fn permuting(schedule: &Schedule, extent: Extent, limits: Limits) -> Search<Permute> {
    let schedule = schedule.clone();
    Search {
        algorithm: Permute { schedule, extent },
        limits,
        goal: Goal::Everything,
    }
}

/// The limits for what is done after something else: the time that is left.
fn left(limits: &Limits, start: Instant) -> Limits {
    Limits {
        time: limits.time.map(|time| time.saturating_sub(start.elapsed())),
        ..limits.clone()
    }
}

/// Says of a limit of time what the user said, not what was left of it.
fn restate(bounds: &mut Vec<Bound>, limits: &Limits) {
    for bound in bounds.iter_mut() {
        if let (Bound::TimeLimit(ms), Some(time)) = (bound, limits.time) {
            *ms = time.as_millis() as u64;
        }
    }
    bounds.dedup();
}

/// Whether there is time left for one more question.
fn look(limits: &Limits, start: Instant, watch: &mut Watch<'_>) -> ControlFlow<Bound> {
    let elapsed = start.elapsed();
    if let Some(time) = limits.time.filter(|&time| elapsed >= time) {
        return ControlFlow::Break(Bound::TimeLimit(time.as_millis() as u64));
    }
    watch(&Progress {
        counts: Counts::default(),
        elapsed,
        done: None,
        estimate: None,
    })
}

/// Collects permutations from any initial values.
struct FromAnyStart {
    listed: usize,
    length: usize,
    schedules: Vec<(String, Ending)>,
    outlooks: Vec<Outlook>,
}

impl Observer<AnyStart> for FromAnyStart {
    fn complete(&mut self, program: &AnyStart) {
        if program.events().len() == self.length && self.outlooks.len() < self.listed {
            let schedule = Schedule::from_run(program.events(), program.processes());
            self.schedules.push((schedule.to_string(), ending(program)));
            self.outlooks.push(program.outlook());
        }
    }
}

/// Follows a schedule that is known to fit.
fn follow<E: Execution>(program: &mut E, schedule: &Schedule) {
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

/// The events of a run with what comes right before each.
fn order_of<M: Narrator>(
    machine: &mut M,
    schedule: &Schedule,
) -> Result<PartialOrder, ReplayError> {
    let run = machine.narrate(schedule)?;
    let before = immediate_predecessors(machine.events());
    let mut lanes: Vec<(mazurka_core::ProcessPath, String)> = Vec::new();
    for event in machine.events() {
        let path = machine.processes().path(event.process);
        if !lanes.iter().any(|(known, _)| known == path) {
            lanes.push((path.clone(), path.to_string()));
        }
    }
    lanes.sort();
    let lanes: Vec<String> = lanes.into_iter().map(|(_, name)| name).collect();
    let past = mazurka_core::HappensBefore::new(machine.events());
    let events = run.steps.into_iter().zip(before);
    let events = events.map(|(step, before)| {
        let before: Vec<usize> = before.iter().map(|&at| at as usize).collect();
        // What another one of them has in its past needs no line of its own.
        let direct = |&at: &usize| !before.iter().any(|&other| past.before(at, other));
        let changes = step.changes.iter();
        let changes = changes.map(|c| format!("{}: {} -> {}", c.name, c.from, c.to));
        OrderedEvent {
            lane: lanes
                .iter()
                .position(|lane| *lane == step.process)
                .unwrap_or(0),
            label: step.label,
            details: changes.collect::<Vec<_>>().join(", "),
            after: before.iter().copied().filter(direct).collect(),
        }
    });
    Ok(PartialOrder {
        events: events.collect(),
        lanes,
    })
}

/// Collects permutations as they are found, and runs each as a test case.
struct Collecting {
    /// Another machine, to which a permutation is nothing but a schedule.
    tester: Machine,
    /// Permutations of one path have so many labels; what is shorter is stuck. None: there are
    /// several paths.
    length: Option<usize>,
    listed: usize,
    concolic: Option<Concolic>,
    classes: Vec<PermutationClass>,
    results: Vec<PermutationResult>,
    known: FxHashMap<(Fingerprint, Ending), usize>,
}

impl Collecting {
    fn new(mut tester: Machine, length: usize, wanted: &Permuting) -> Self {
        tester.back_to(0);
        Self {
            tester,
            length: (!wanted.complete).then_some(length),
            listed: wanted.listed,
            concolic: None,
            classes: Vec::new(),
            results: Vec::new(),
            known: FxHashMap::default(),
        }
    }

    /// Theorem 15: the program produces the permutation if it is scheduled so.
    fn test(&mut self, program: &LabelledMachine, schedule: &Schedule) {
        follow(&mut self.tester, schedule);
        let same = |(one, other): (&Event, &Event)| {
            one.outcomes == other.outcomes
                && one.claims == other.claims
                && one.touched == other.touched
                && one.mishaps.len() == other.mishaps.len()
        };
        let mut pairs = program.events().iter().zip(self.tester.events());
        let holds = pairs.all(same)
            && self.tester.observation() == program.observation()
            && ending(&self.tester) == ending(program);
        assert!(
            holds,
            "Theorem 15 does not hold for the schedule {schedule}"
        );
    }
}

impl Observer<LabelledMachine> for Collecting {
    fn complete(&mut self, program: &LabelledMachine) {
        if self.length.is_some_and(|n| n != program.events().len()) {
            return;
        }
        let schedule = Schedule::from_run(program.events(), program.processes());
        self.test(program, &schedule);
        let ending = ending(program);
        let machine = program.machine();
        if self.classes.len() < self.listed {
            self.classes.push(PermutationClass {
                schedule: schedule.to_string(),
                ending,
                path_condition: self.concolic.as_mut().and_then(|concolic| {
                    concolic.follow(&schedule).ok()?;
                    Some(concolic.path_condition())
                }),
                state: machine.bindings(true),
            });
        }
        let key = (program.observation(), ending);
        if let Some(&known) = self.known.get(&key) {
            self.results[known].classes += 1;
        } else if self.results.len() < self.listed {
            self.known.insert(key, self.results.len());
            self.results.push(PermutationResult {
                ending,
                state: machine.bindings(true),
                classes: 1,
                schedule: schedule.to_string(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_limit_is_that_of_the_user() {
        let limits = Limits {
            time: Some(Duration::from_secs(5)),
            ..Limits::default()
        };
        let mut bounds = vec![Bound::TimeLimit(17), Bound::TimeLimit(5000)];
        restate(&mut bounds, &limits);
        assert_eq!(bounds, [Bound::TimeLimit(5000)]);
        let before = Instant::now().checked_sub(Duration::from_secs(3));
        let left = left(&limits, before.expect("a clock"))
            .time
            .expect("a limit");
        assert!(left <= Duration::from_secs(2), "{left:?}");
    }
}
