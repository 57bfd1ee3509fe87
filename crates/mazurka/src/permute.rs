//! `permute`: the executable permutations of one execution, or of all.
//!
//! A run is recorded as a sequence of labels. The search finds all orders of these labels that the
//! program can execute, up to equivalence, and runs each of them. [`Program::permute`] has an
//! example; docs/permute.md has the details.
//!
//! Workers share the permutations of one path (explore/src/fagiani/branches.rs), and their findings
//! come in the order in which one worker finds them. Of each share, the first permutations are kept
//! as schedules, and all results as fingerprints; the first ones of all are described at the end.
//! So the record does not depend on the workers, but for the numbers of events and steps.

use std::collections::hash_map::Entry;
use std::ops::ControlFlow;

use mazurka_core::record::{
    self, AnyStartPermutations, Ending, OrderedEvent, PaperPermutations, PartialOrder,
    PermutationClass, PermutationDisagreement, PermutationResult, Record, Run, Step,
};
use mazurka_core::{
    Bound, Counts, Event, Execution, Fingerprint, Kinds, Labelled, Limits, Narrator, ProcessId,
    ProcessPath, Random, ReplayError, Schedule, Scope, StopReason, ending, immediate_predecessors,
};
use mazurka_explore::{
    Budget, Collectors, Extent, Goal, Observer, Permute, STEPS_OF_PART, Search, UpTo, Workers,
    is_broken_off,
};
use mazurka_lang::{AnyStart, Concolic, Disagreement, Outlook};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::front::{Front, Labels, on_front};
use crate::run::{Plan, by_chance, follow, go_on, names, one_of, tell};
use crate::search::Head;
use crate::{Algorithm, Options, Program, Watch, search};

/// The request for permutations, and how many to list.
#[derive(Clone, Debug)]
pub struct Permuting {
    /// The run to record. If the schedule ends early, the first ready process makes the next step.
    pub plan: Plan,
    /// Whether to continue from path to path until all are explored.
    pub complete: bool,
    /// Whether to count also the classes according to the definitions as printed in the paper,
    /// whose errata docs/algorithms.md lists.
    pub paper: bool,
    /// Whether to find also the permutations of the recorded path from any initial values.
    pub any_start: bool,
    /// Limit on the permutations, and on the results, that are listed.
    pub listed: usize,
}

/// The record of permutations: the common record, and the permutations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermuteRecord {
    /// The common record.
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
    /// Some values are unknown.
    #[error(
        "runs are permuted where all values are known: give the initial values (--set) and use no `input()`"
    )]
    Unknowns,
    /// The program has ghosts, which belong to no label.
    #[error(
        "ghost variables belong to no label: leave them out, or look at all traces with `mazurka explore`"
    )]
    Ghosts,
    /// The program has an object whose operations clients call.
    #[error(
        "`spec object`: calls and returns belong to no label: look at all histories with `mazurka check`"
    )]
    Object,
    /// A run cannot be expressed over symbolic initial values.
    #[error("--symbolic-initial: {0}")]
    AnyStart(String),
    /// There is no class with this index.
    #[error("there is no class {wanted}: {listed} are listed; --classes N lists more")]
    NoSuchClass {
        /// The requested class, from 1.
        wanted: usize,
        /// Number of classes listed.
        listed: usize,
    },
}

impl Program {
    /// Records a run and finds its executable permutations. Failures and deadlocks are violations.
    /// Without `complete`, only the recorded path is explored. The scope is then not exhaustive,
    /// and `deterministic` is false or unknown.
    ///
    /// ```
    /// use mazurka::{Options, Program, quietly};
    /// use mazurka::permute::Permuting;
    /// use mazurka::run::Plan;
    /// // Errata E6 in docs/algorithms.md: the labels of the run "1 0", which sets y to 1, have no
    /// // other order; but with another schedule y becomes 2.
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
        on_front!(self.language, front => self.permute_on(front, wanted, options, watch))
    }

    fn permute_on<F: Front>(
        &self,
        front: &F,
        wanted: &Permuting,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<PermuteRecord, PermuteError> {
        if front.maz().is_some_and(|code| code.has_object()) {
            return Err(PermuteError::Object);
        }
        if front.maz().is_some_and(|code| code.has_ghosts()) {
            return Err(PermuteError::Ghosts);
        }
        let options = &options.started();
        let budget = Budget::new(&options.limits);
        let labelled = front.labelled(options);
        let mut labelled = labelled.ok_or(PermuteError::Unknowns)?;
        if wanted.paper {
            labelled = labelled.with_names();
        }
        // The machine that makes the runs to show does not break off steps.
        let mut machine = front.machine(options);
        let (recorded, bound) = record_run(wanted, &mut labelled, &mut machine, options, watch)?;
        let schedule = Schedule::from_run(labelled.events(), labelled.processes());
        let finished = labelled.is_final();
        let recorded_events = labelled.events().to_vec();
        let branches = (0..labelled.events().len()).filter(|&at| labelled.branches(at));
        let branches = branches.map(|at| at + 1).collect();
        // A concolic machine takes as much memory as the program itself, so it is omitted if the
        // time is over.
        let mut concolic = if options.patience.is_over() {
            None
        } else {
            self.language.concolic(options)
        };
        let extent = Extent {
            complete: wanted.complete,
            printed: wanted.paper,
        };
        let mut permute = permuting(&schedule, extent, budget.left());
        // If a limit has cut the run, the steps before the limit are permuted.
        let up_to =
            (bound.is_some() && !finished && !wanted.complete).then_some(schedule.0.len() as u64);
        let shared = options.jobs > 1 && !wanted.complete && up_to.is_none();
        let collecting = || Collecting::new(front.machine(options), &schedule, wanted, shared);
        let (found, collected) = match up_to {
            None => {
                let programs = || {
                    let labelled = front.labelled(options).expect("labels as before");
                    let mut labelled = match wanted.paper {
                        true => labelled.with_names(),
                        false => labelled,
                    };
                    number_cells(&mut labelled, &schedule);
                    labelled.set_patience(options.patience.clone());
                    labelled
                };
                let workers = Workers {
                    count: options.jobs,
                    programs: &programs,
                };
                let collectors = Collectors {
                    observers: &|| CompleteRuns(collecting()),
                    finish: &|runs: CompleteRuns<F::Machine>| runs.0.found,
                    steps: STEPS_OF_PART,
                };
                permute.share(&mut labelled, &workers, watch, &collectors)
            }
            Some(length) => {
                permute.limits.depth = Some(length.saturating_add(1));
                let mut prefix = UpTo::current_run(&mut labelled);
                let mut prefixes = Prefix(collecting());
                let found = permute.run(&mut prefix, watch, &mut prefixes);
                (found, vec![prefixes.0.found])
            }
        };
        let (mut findings, counts) = (found.findings, found.counts);
        budget.restate(&mut findings.bounds);
        if let Some(bound) = bound.filter(|bound| !findings.bounds.contains(bound)) {
            findings.bounds.push(bound);
            findings.stopped = StopReason::Bound;
        }
        let any_start = if wanted.any_start {
            let recorded = Recorded {
                schedule: &schedule,
                events: &recorded_events,
                finished,
                listed: wanted.listed,
            };
            match self.any_start(&recorded, options, budget, watch) {
                // A result that was broken off is meaningless.
                Err(_) if options.patience.is_over() => {
                    findings.add_bound(budget.why_broken(findings.counts, watch));
                    None
                }
                found => Some(found?),
            }
        } else {
            None
        };
        // The classes are shown even if the time is over.
        options.patience.wait_again();
        let (classes, results) = describe(collected, wanted.listed, &mut machine, &mut concolic);
        // The algorithm in this head is a placeholder: below, the record gets the name of the
        // algorithm of the paper.
        let counted = self.counted_by_explorers(options);
        let head = Head::new("permute", Algorithm::Optimal, options, counted);
        let shown = search::shown(&mut machine, &findings, head);
        let mut judged = self.record_of(head, &findings, shown);
        let known = wanted.complete && judged.scope.exhaustive;
        if !known {
            judged.leave_open(Kinds::ALL);
        }
        let record = Record {
            algorithm: "fagiani".to_owned(),
            scope: Scope {
                exhaustive: known,
                ..judged.scope
            },
            deterministic: judged
                .deterministic
                .filter(|same| (known || !same) && up_to.is_none()),
            ..judged
        };
        Ok(PermuteRecord {
            record,
            permutations: record::Permutations {
                recorded,
                branches,
                complete: wanted.complete,
                up_to,
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
                classes,
                results,
            },
        })
    }

    /// Returns the partial order of one of the listed classes; `class` counts from 1.
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
            Err(error) => panic!("a record has an invalid schedule: {error}"),
        };
        on_front!(self.language, front => {
            let mut machine = front.machine(options);
            order_of(&mut machine, &schedule).map_err(PermuteError::Schedule)
        })
    }
}

/// Makes the run to be recorded, up to its end, and describes it with another machine. Also returns
/// the limit that has cut the run, if any.
fn record_run<L: Labels, M: Narrator>(
    wanted: &Permuting,
    labelled: &mut L,
    narrator: &mut M,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<(Run, Option<Bound>), PermuteError> {
    let (mut steps, mut bound) = (Vec::new(), None);
    let mut random = None;
    match &wanted.plan {
        Plan::Seed(seed) => random = Some(Random::new(*seed)),
        Plan::Schedule(schedule) => {
            let narrated = tell(narrator, schedule, &Budget::new(&options.limits), watch);
            let (run, reached) = narrated.map_err(PermuteError::Schedule)?;
            (steps, bound) = (run.steps, reached);
            follow(
                labelled,
                &Schedule::from_run(narrator.events(), narrator.processes()),
            );
        }
    }
    labelled.set_patience(options.patience.clone());
    if bound.is_none() {
        bound = go_on(labelled, options, watch, &mut |labelled, ready| {
            let enabled = names(labelled, ready);
            one_more(labelled, ready, random.as_mut());
            let event = &labelled.events()[narrator.events().len()];
            // A step that was broken off is taken back.
            if !is_broken_off(&event.mishaps) {
                let step = narrate_event(narrator, labelled.processes().path(event.process), event);
                steps.push(Step { enabled, ..step });
            }
        });
    }
    let schedule = Schedule::from_run(narrator.events(), narrator.processes());
    Ok((narrator.told(&schedule, steps), bound))
}

/// Makes a step of one of these processes: a random one if `random` is given, otherwise the first.
fn one_more<L: Labelled>(labelled: &mut L, ready: &[ProcessId], random: Option<&mut Random>) {
    match random {
        Some(random) => {
            let process = one_of(ready, random);
            by_chance(labelled, random, |labelled, outcomes| {
                labelled.step(process, outcomes).map(|_| ())
            });
        }
        None => {
            if let Err(error) = labelled.step(ready[0], &[]) {
                panic!("a ready process cannot step: {error}");
            }
        }
    }
}

/// Repeats a step of another machine, and describes it.
fn narrate_event<M: Narrator>(narrator: &mut M, path: &ProcessPath, event: &Event) -> Step {
    let outcomes: Vec<i64> = event.outcomes.iter().map(|o| o.value).collect();
    let process = narrator.processes().find(path);
    let narrated = process.map(|process| narrator.tell(process, &outcomes));
    match narrated {
        Some(Ok(step)) => step,
        _ => panic!("a step of {path} cannot be described"),
    }
}

/// The recorded run.
struct Recorded<'a> {
    schedule: &'a Schedule,
    events: &'a [Event],
    /// Whether every process has ended in it.
    finished: bool,
    /// Limit on the listed classes of its permutations.
    listed: usize,
}

/// Limit on the pairs of classes that are compared.
const MOST_PAIRS: usize = 300;

impl Program {
    /// Finds the permutations of a run from any initial values, and the pairs whose results differ.
    fn any_start(
        &self,
        recorded: &Recorded<'_>,
        options: &Options,
        budget: Budget<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<AnyStartPermutations, PermuteError> {
        let schedule = recorded.schedule;
        let refuse = |why: &str| PermuteError::AnyStart(why.to_owned());
        if options.patience.is_over() {
            return Err(refuse("a limit was reached before"));
        }
        let concolic = self.language.concolic_solving(options);
        let mut concolic = concolic.ok_or_else(|| {
            refuse("an ABS program starts in one state: its main block gives every value")
        })?;
        let followed = concolic.follow(schedule);
        followed.map_err(|_| refuse("the recorded run chooses between bounds, or computes numbers, that cannot be expressed over symbolic values"))?;
        if !recorded.finished {
            return Err(refuse(
                "not every process ends in the recorded run; record one where they do (--seed, --schedule)",
            ));
        }
        let mut program = concolic.from_any_start(recorded.events);
        let mut found = FromAnyStart {
            listed: recorded.listed,
            length: schedule.0.len(),
            schedules: Vec::new(),
            outlooks: Vec::new(),
        };
        let permute = permuting(schedule, Extent::default(), budget.left());
        let mut permuted = permute.run(&mut program, watch, &mut found);
        budget.restate(&mut permuted.findings.bounds);
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
            if let ControlFlow::Break(bound) = budget.look(Counts::default(), watch) {
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

/// Creates a search for the permutations of the run of a schedule.
fn permuting(schedule: &Schedule, extent: Extent, limits: Limits) -> Search<Permute> {
    let schedule = schedule.clone();
    Search {
        algorithm: Permute { schedule, extent },
        limits,
        goal: Goal::Everything,
    }
}

/// Collects permutations from any initial values.
struct FromAnyStart {
    listed: usize,
    length: usize,
    /// The schedule of each permutation, and how it ends.
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

/// Returns the events of a run with their immediate predecessors.
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
        // A predecessor that happens before another predecessor needs no edge.
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

/// An observed result, and how the run ends.
type ResultKey = (Fingerprint, Ending);

/// The permutations that were found, in order.
#[derive(Default)]
struct Collected {
    /// The first ones.
    classes: Vec<(Schedule, Ending)>,
    /// For each result the number of permutations, and the first of them for the first results.
    results: Vec<(ResultKey, u64, Option<Schedule>)>,
    /// The index of each result in `results`.
    known: FxHashMap<ResultKey, usize>,
}

/// Makes the recorded run, and goes back to the start. Some machines number objects and their cells
/// in the order in which they meet them, and events are compared by these numbers; so every machine
/// makes the recorded run first.
fn number_cells<E: Execution + ?Sized>(program: &mut E, recorded: &Schedule) {
    follow(program, recorded);
    program.back_to(0);
}

/// Collects permutations as they are found, and repeats each of them with another machine as a
/// test.
struct Collecting<M> {
    /// Another machine, which runs permutations as plain schedules.
    tester: M,
    /// The number of labels of a complete permutation, if there is only one path. A shorter
    /// permutation is stuck.
    length: Option<usize>,
    listed: usize,
    /// Whether others find permutations too, so that every result may be one of the first.
    shared: bool,
    found: Collected,
}

impl<M: Narrator> Collecting<M> {
    fn new(mut tester: M, recorded: &Schedule, wanted: &Permuting, shared: bool) -> Self {
        number_cells(&mut tester, recorded);
        Self {
            tester,
            length: (!wanted.complete).then_some(recorded.0.len()),
            listed: wanted.listed,
            shared,
            found: Collected::default(),
        }
    }

    /// Checks Theorem 15 of the paper: scheduled in the order of a permutation, the program
    /// executes this permutation.
    fn test<L: Labelled>(&mut self, program: &L) {
        let tester = &mut self.tester;
        let schedule = Schedule::from_run(program.events(), program.processes());
        follow(tester, &schedule);
        let same = |(one, other): (&Event, &Event)| {
            one.outcomes == other.outcomes
                && one.claims == other.claims
                && one.touched == other.touched
                && one.mishaps.len() == other.mishaps.len()
        };
        let mut pairs = program.events().iter().zip(tester.events());
        let holds = pairs.all(same)
            && tester.observation() == program.observation()
            && ending(tester) == ending(program);
        assert!(
            holds,
            "Theorem 15 does not hold for the schedule {schedule}"
        );
    }

    /// Adds a permutation.
    fn add<L: Labelled>(&mut self, program: &L) {
        if self.length.is_some_and(|n| n != program.events().len()) {
            return;
        }
        self.test(program);
        let schedule = || Schedule::from_run(program.events(), program.processes());
        let ending = ending(program);
        let found = &mut self.found;
        if found.classes.len() < self.listed {
            found.classes.push((schedule(), ending));
        }
        let key = (program.observation(), ending);
        let index = found.results.len();
        match found.known.entry(key) {
            Entry::Occupied(known) => found.results[*known.get()].1 += 1,
            Entry::Vacant(_) if index >= self.listed && !self.shared => {}
            Entry::Vacant(new) => {
                new.insert(index);
                let first = (index < self.listed).then(schedule);
                found.results.push((key, 1, first));
            }
        }
    }
}

/// Describes the first permutations, and the first results, of all that were found, in order.
fn describe<M: Narrator>(
    collected: Vec<Collected>,
    listed: usize,
    machine: &mut M,
    concolic: &mut Option<Concolic>,
) -> (Vec<PermutationClass>, Vec<PermutationResult>) {
    let mut classes: Vec<PermutationClass> = Vec::new();
    let mut results: Vec<PermutationResult> = Vec::new();
    let mut known: FxHashMap<ResultKey, usize> = FxHashMap::default();
    for found in collected {
        for (schedule, ending) in found.classes {
            if classes.len() == listed {
                break;
            }
            follow(machine, &schedule);
            classes.push(PermutationClass {
                schedule: schedule.to_string(),
                ending,
                path_condition: concolic.as_mut().and_then(|concolic| {
                    concolic.follow(&schedule).ok()?;
                    Some(concolic.path_condition())
                }),
                state: machine.bindings(true),
            });
        }
        for (key, count, first) in found.results {
            match (known.get(&key), first) {
                (Some(&at), _) => results[at].classes += count,
                (None, Some(schedule)) if results.len() < listed => {
                    known.insert(key, results.len());
                    follow(machine, &schedule);
                    results.push(PermutationResult {
                        ending: key.1,
                        state: machine.bindings(true),
                        classes: count,
                        schedule: schedule.to_string(),
                    });
                }
                _ => {}
            }
        }
    }
    (classes, results)
}

/// Collects permutations of complete runs.
struct CompleteRuns<M>(Collecting<M>);

impl<L: Labelled, M: Narrator> Observer<L> for CompleteRuns<M> {
    fn complete(&mut self, program: &L) {
        self.0.add(program);
    }
}

/// Collects permutations of a run that was cut.
struct Prefix<M>(Collecting<M>);

impl<L: Labelled, M: Narrator> Observer<UpTo<'_, L>> for Prefix<M> {
    fn complete(&mut self, prefix: &UpTo<'_, L>) {
        self.0.add(prefix.program());
    }
}
