//! `check` and `explore`: a search, and its verdict.
//!
//! [`Program::check`] chooses the engine and stops as soon as the verdict is certain.
//! [`Program::explore`] explores the whole space with one [`Algorithm`] and counts. Both ask a
//! [`Watch`] at intervals whether to continue; [`quietly`](crate::quietly) returns a watch that
//! always continues.
//!
//! ```
//! use mazurka::search::Algorithm;
//! use mazurka::{Options, Program, quietly};
//!
//! let source = "var x, y: int = 0  process { x := 1 }  process { y := 1 }";
//! let program = Program::load("apart.maz", source, &[]).unwrap();
//! let executions = |algorithm| {
//!     let record = program.explore(algorithm, &Options::default(), &mut quietly());
//!     record.unwrap().counts.executions
//! };
//! // The two orders are not really different.
//! assert_eq!(executions(Algorithm::Naive), 2);
//! assert_eq!(executions(Algorithm::Optimal), 1);
//! ```
//!
//! If the space is too large, [`Program::sample`] draws executions at random, as many as
//! [`Limits::executions`] allows, and stops at the first violation. A finding is certain. Without a
//! finding, the verdict is inconclusive, and its bounds include a [`Bound::Sampled`].
//!
//! ```
//! use mazurka::search::{Method, Sample};
//! use mazurka::{Options, Program, Verdict, quietly};
//!
//! let source = "var x: int = 0  process { x := x + 1 }  process { assert x == 0 }";
//! let program = Program::load("order.maz", source, &[]).unwrap();
//! let sample = Sample { method: Method::Pos, seed: 1 };
//! let record = program.sample(sample, &Options::default(), &mut quietly()).unwrap();
//! assert_eq!(record.verdict, Verdict::Violated);
//! // Each of the two orders is as likely as the other.
//! assert!(record.sample.unwrap().runs < 20);
//! ```

use std::time::Duration;

use mazurka_core::record::{KindsRecord, OptionsRecord, Record, SampleRecord, VERSION, Witness};
use mazurka_core::{Narrator, Semantics, Verdict};
use mazurka_explore::{Account, Budget, Findings, Goal, Parts, Saver, Search, Workers};

use crate::checkpoint::{Checkpoint, ResumeError};
use crate::evidence::EvidenceTime;
use crate::front::{Front, on_any_front, on_front};
use crate::pick::Task;
use crate::unknowns::Asked;
use crate::weak::WeakRequest;
use crate::{Options, Program, Refused, evidence, pick};

pub use crate::export::{TestCoverage, TestSink};
pub use crate::tree::TreeTooLarge;
pub use mazurka_core::{Bound, Fairness, Kind, Kinds, Limits, Scope, StopReason};
pub use mazurka_explore::{Algorithm, Estimate, Merging, Method, Progress, Sample, Variant, Watch};

/// Makes a search through the whole space, within the limits of the options.
pub(crate) fn everything<A>(algorithm: A, options: &Options) -> Search<A> {
    Search {
        algorithm,
        limits: options.limits.clone(),
        goal: Goal::Everything,
    }
}

/// Returns the description of how executions are drawn, for a record without results.
pub(crate) fn drawn_by(sample: Sample) -> SampleRecord {
    SampleRecord {
        method: sample.method.name().to_owned(),
        seed: sample.seed,
        depth: sample.method.depth().map(|depth| depth as u64),
        runs: 0,
        estimate: None,
    }
}

/// Returns the evidence for the findings, made in the time that is left.
pub(crate) fn shown<M: Narrator + Semantics>(
    machine: &mut M,
    found: &Findings,
    head: Head<'_>,
) -> Vec<Witness> {
    head.options.show();
    let evidence_time = EvidenceTime::after(found, &head.options.limits);
    evidence::witnesses(machine, found, head.counted, &evidence_time)
}

/// Searches a program with one machine. If the search learns a fact about the program that it needs
/// from the start, it starts again.
pub(crate) fn search_alone<F: Front>(
    machine: &mut F::Machine,
    search: &Search<Algorithm>,
    watch: &mut Watch<'_>,
) -> Result<Findings, Refused> {
    let budget = Budget::new(&search.limits);
    loop {
        let search = Search {
            limits: budget.left(),
            ..search.clone()
        };
        let mut found = search.run(machine, watch, &mut ());
        if !F::learned(machine)? {
            budget.restate(&mut found.bounds);
            if F::has_raced(machine) && found.stopped != StopReason::Certain {
                found.add_bound(Bound::DataRaces);
            }
            return Ok(found);
        }
    }
}

/// The least number of steps to spend on graver violations after one was found.
const LEAST_STEPS_FOR_GRAVER: u64 = 1_000_000;

/// Returns the kinds of violations to search for next: if the search has stopped at a violation,
/// the graver kinds that count.
fn graver(record: &Record, counted: Kinds) -> Option<Kinds> {
    let gravest = record.found().iter().next()?;
    let graver = counted.graver_than(gravest);
    (record.stopped == StopReason::Certain && !graver.is_empty()).then_some(graver)
}

/// Merges the record of a search for graver violations into the record so far. Returns whether that
/// search ended without hitting a limit.
fn join(record: &mut Record, mut more: Record, limits: &Limits) -> bool {
    let ended = more.stopped != StopReason::Bound;
    if ended {
        std::mem::swap(record, &mut more);
        record.options = more.options;
        record.verdict = more.verdict;
    } else {
        // Drop the bounds that only this search has set, because they are not limits of the user.
        let given = |bound: &Bound| match *bound {
            Bound::MaxSteps(most) => limits.steps == Some(most),
            Bound::MaxDepth(most) => limits.depth == Some(most),
            _ => true,
        };
        record.add_bounds(more.scope.bounds.into_iter().filter(given));
    }
    record.witnesses.extend(more.witnesses);
    record.witnesses.sort_by_key(|shown| shown.kind);
    record.kinds.met.extend(more.kinds.met);
    record.kinds.met.sort_unstable();
    record.kinds.met.dedup();
    record.deterministic = match (record.deterministic, more.deterministic) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (known, other) => known.or(other),
    };
    // Each of the two searches has found only some deadlocks and failures, so the greater count is
    // nearer to the total.
    let (counts, others) = (&mut record.counts, more.counts);
    counts.deadlocks = counts.deadlocks.max(others.deadlocks);
    counts.failures = counts.failures.max(others.failures);
    counts.final_states = counts.final_states.max(others.final_states);
    ended
}

/// The checkpoints of an exploration: the one to resume from, and a function that saves new ones.
pub struct Saving<'a> {
    /// The checkpoint of an earlier exploration.
    pub from: Option<&'a Checkpoint>,
    /// The least time between two checkpoints; one is made only if there is something new.
    pub every: Duration,
    /// Saves a checkpoint, in case the exploration does not end normally.
    pub save: &'a mut dyn FnMut(Checkpoint),
}

/// A search with one engine.
#[derive(Clone, Copy)]
struct Tour {
    command: &'static str,
    algorithm: Algorithm,
    /// Whether the first violation ends the search.
    stops: bool,
}

/// The request for a search: the head of its record.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    command: &'static str,
    algorithm: Algorithm,
    options: &'a Options,
    /// The kinds of violations that decide the verdict.
    counted: Kinds,
}

impl<'a> Head<'a> {
    pub fn new(
        command: &'static str,
        algorithm: Algorithm,
        options: &'a Options,
        counted: Kinds,
    ) -> Self {
        Self {
            command,
            algorithm,
            options,
            counted,
        }
    }

    fn options_record(&self) -> OptionsRecord {
        let limits = &self.options.limits;
        let depth = match self.algorithm.merging() {
            Some(_) => limits.depth,
            None => Some(limits.depth()),
        };
        OptionsRecord {
            fairness: Some(self.options.fairness),
            ..self.options.record(depth)
        }
    }
}

impl Program {
    /// Returns the verdict of the engine that decides first; the record names this engine. Only
    /// violations of the kinds that [count](Program::counted) matter. If the first violation is not
    /// of the gravest kind, the search continues for graver kinds, with as many steps again (at
    /// least a million). The record says which kinds are still open.
    pub fn check(&self, options: &Options, watch: &mut Watch<'_>) -> Result<Record, Refused> {
        let asked = self.asked(options);
        match options.weak_memory() {
            Some(memory) => {
                let wanted = WeakRequest {
                    command: "check",
                    memory,
                    draws: None,
                };
                asked.search_weakly(wanted, options, watch)
            }
            None => asked.check_asked(options, watch),
        }
    }

    /// Checks a program with the properties of the options.
    fn check_asked(&self, options: &Options, watch: &mut Watch<'_>) -> Result<Record, Refused> {
        let options = &self.covering(options);
        let counted = self.counted(options);
        let goal = if options.keep_going {
            Goal::Everything
        } else {
            Goal::Violation(counted)
        };
        let mut account = Account::new(Budget::new(&options.limits));
        let first = Task {
            goal,
            most_steps: None,
        };
        let mut record = self.check_once(first, options, watch)?;
        account.spend(&record.counts);
        let mut left = record.counts.steps.max(LEAST_STEPS_FOR_GRAVER);
        while let Some(graver) = graver(&record, counted) {
            if let Some(bound) = account.over() {
                record.add_bounds([bound]);
                break;
            }
            // A search for graver kinds also finds other violations, and decides their kinds if it
            // is complete.
            let rest = counted.without(record.found());
            let options = &Options {
                limits: account.left(),
                ..self.narrowed(options, rest)
            };
            let task = Task {
                goal: Goal::First {
                    of: graver,
                    among: rest,
                },
                most_steps: Some(left),
            };
            let more = self.check_once(task, options, watch)?;
            account.spend(&more.counts);
            left = left.saturating_sub(more.counts.steps).max(1);
            let ended = join(&mut record, more, &options.limits);
            account.restate(&mut record.scope.bounds);
            if !ended {
                break;
            }
        }
        record.seconds = account.elapsed().as_secs_f64();
        record.kinds.counted = counted.iter().collect();
        record.kinds.met.retain(|&kind| !counted.contains(kind));
        record.kinds.open.clear();
        if record.stopped != StopReason::Complete {
            record.leave_open(Kinds::ALL);
        }
        self.look_for_covers(
            &mut record,
            options,
            &mut account,
            &mut |covering, options| {
                let task = Task {
                    goal: Goal::Violation(Kinds::of(&[Kind::Failure])),
                    most_steps: None,
                };
                covering.check_once(task, options, watch)
            },
        )?;
        self.look_at_refinement(&mut record, options, &account, watch)?;
        // Each search of this check had the remaining time as its limit. Report the limit that the
        // user gave.
        account.restate(&mut record.scope.bounds);
        if account.over().is_none() {
            record.explanation = self.explanation(&record, options, watch);
        }
        self.remark(&mut record, options);
        Ok(record)
    }

    fn check_once(
        &self,
        task: Task,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, Refused> {
        if let Some(program) = self.language.for_all() {
            let asked = Asked {
                command: "check",
                counted: self.counted(options),
                algorithm: Algorithm::Optimal,
                goal: task.goal,
                tests: None,
            };
            let most = task.most_steps.or(options.limits.steps);
            let limits = Limits {
                steps: options.limits.steps.min(most).or(most),
                ..options.limits.clone()
            };
            let options = &Options {
                limits,
                ..options.clone()
            };
            return self.search_for_all(program, asked, options, watch);
        }
        on_any_front!(self.language, front => self.check_on(front, task, options, watch))
    }

    fn check_on<F: Front>(
        &self,
        front: &F,
        task: Task,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, Refused> {
        let options = &options.started();
        let mut machine = front.machine_for_a_search(options);
        let (algorithm, found) = if F::ALONE {
            let most = options
                .limits
                .steps
                .into_iter()
                .chain(task.most_steps)
                .min();
            let search = Search {
                algorithm: Algorithm::Optimal,
                limits: Limits {
                    steps: most,
                    ..options.limits.clone()
                },
                goal: task.goal,
            };
            let found = search_alone::<F>(&mut machine, &search, watch)?;
            (Algorithm::Optimal, found)
        } else {
            let machines = || front.machine_for_a_search(options);
            pick::decide(&mut machine, &machines, options, task, watch)
        };
        let head = Head::new("check", algorithm, options, self.counted(options));
        let shown = shown(&mut machine, &found, head);
        Ok(self.record_of(head, &found, shown))
    }

    /// Explores the whole space with one engine (or a sample of it, if the engine draws executions
    /// at random), and counts. Failures, deadlocks, livelocks and violated temporal properties are
    /// violations; only [`Algorithm::Stateful`] decides livelocks and temporal properties.
    pub fn explore(
        &self,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, Refused> {
        let tour = Tour {
            command: "explore",
            algorithm,
            stops: false,
        };
        self.explore_by(tour, options, watch)
    }

    /// Draws executions at random. The first failure or deadlock ends the sample, unless the
    /// options say to keep going; if there is none, the verdict is inconclusive.
    pub fn sample(
        &self,
        sample: Sample,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, Refused> {
        let tour = Tour {
            command: "sample",
            algorithm: Algorithm::Sample(sample),
            stops: !options.keep_going,
        };
        self.explore_by(tour, options, watch)
    }

    fn explore_by(
        &self,
        tour: Tour,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, Refused> {
        let asked = self.asked(options);
        if let Some(memory) = options.weak_memory() {
            let wanted = WeakRequest {
                command: tour.command,
                memory,
                draws: tour.algorithm.sample(),
            };
            return asked.search_weakly(wanted, options, watch);
        }
        let options = &self.covering(options);
        let mut account = Account::new(Budget::new(&options.limits));
        let mut record = asked.explore_once(tour, options, watch)?;
        account.spend(&record.counts);
        asked.look_for_covers(
            &mut record,
            options,
            &mut account,
            &mut |covering, options| covering.explore_once(tour, options, watch),
        )?;
        record.add_bounds(asked.leaves_out_refinement(options));
        self.remark(&mut record, options);
        Ok(record)
    }

    fn explore_once(
        &self,
        tour: Tour,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, Refused> {
        if let Some(program) = self.language.for_all() {
            let asked = Asked {
                command: tour.command,
                counted: self.counted_by_explorers(options),
                algorithm: tour.algorithm,
                goal: self.goal_of(tour, options),
                tests: None,
            };
            return self.search_for_all(program, asked, options, watch);
        }
        on_any_front!(self.language, front => self.explore_on(front, tour, options, watch))
    }

    fn goal_of(&self, tour: Tour, options: &Options) -> Goal {
        if tour.stops {
            Goal::Violation(self.counted_by_explorers(options))
        } else {
            Goal::Everything
        }
    }

    fn explore_on<F: Front>(
        &self,
        front: &F,
        tour: Tour,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, Refused> {
        let options = &options.started();
        let algorithm = tour.algorithm;
        let goal = self.goal_of(tour, options);
        let mut machine = front.machine_for_a_search(options);
        if F::ALONE && algorithm.compares_states() {
            return Err(Refused::NoStates);
        }
        let workers = Workers {
            count: options.jobs,
            programs: &|| front.machine_for_a_search(options),
        };
        let search = everything(algorithm, options);
        let found = match (algorithm.stateless(), algorithm.sample()) {
            _ if F::ALONE => search_alone::<F>(&mut machine, &Search { goal, ..search }, watch)?,
            (Some(stateless), _) => everything(stateless, options).share(&workers, watch),
            (None, Some(sample)) => {
                let drawn = everything(sample, options);
                Search { goal, ..drawn }.share_walks(&workers, watch)
            }
            (None, None) if algorithm.merging().is_some() => search.share_states(&workers, watch),
            (None, None) => search.run(&mut machine, watch, &mut ()),
        };
        Ok(self.explored_by(tour.command, algorithm, options, (&mut machine, &found)))
    }

    /// Explores like [`explore`](Program::explore), in parts: if the search is stopped, it returns
    /// a checkpoint to resume from. The limits apply to this search alone; the counts include
    /// earlier searches.
    pub fn explore_from(
        &self,
        checkpoint: Option<&Checkpoint>,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<(Record, Option<Checkpoint>), ResumeError> {
        let never = Saving {
            from: checkpoint,
            every: Duration::MAX,
            save: &mut |_| (),
        };
        self.explore_saving(never, algorithm, options, watch)
    }

    /// Explores like [`explore_from`](Program::explore_from), and saves checkpoints during the
    /// search.
    pub fn explore_saving(
        &self,
        saving: Saving<'_>,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<(Record, Option<Checkpoint>), ResumeError> {
        let Saving { from, every, save } = saving;
        if !self.unknowns().is_empty() {
            return Err(ResumeError::Unknowns);
        }
        let Some(stateless) = algorithm.stateless() else {
            return Err(ResumeError::Engine(algorithm));
        };
        let options = &options.started();
        // A checkpoint contains no coverage, so a resumed search has none.
        let options = &match from {
            Some(_) => options.clone(),
            None => self.covering(options),
        };
        let search = everything(stateless, options);
        on_front!(self.language, front => {
            let mut parts = match from {
                Some(checkpoint) => checkpoint.parts(self, front, search, options)?,
                None => Parts::new(front.machine(options), search),
            };
            let workers = Workers {
                count: options.jobs,
                programs: &|| front.machine_for_a_search(options),
            };
            let save = &mut |parts: &Parts| save(Checkpoint::new(self, options, parts));
            let found = parts.run_saved(&workers, watch, &mut Saver { every, save });
            let left = !parts.left.is_empty();
            let checkpoint = left.then(|| Checkpoint::new(self, options, &parts));
            let machine = &mut front.machine(options);
            let mut record = self.explored(algorithm, options, machine, &found);
            record.add_bounds(self.leaves_out(options));
            self.remark(&mut record, options);
            Ok((record, checkpoint))
        })
    }

    /// Returns the record of an exploration, in which different results are not a violation.
    pub(crate) fn explored<M: Narrator + Semantics>(
        &self,
        algorithm: Algorithm,
        options: &Options,
        machine: &mut M,
        found: &Findings,
    ) -> Record {
        self.explored_by("explore", algorithm, options, (machine, found))
    }

    fn explored_by<M: Narrator + Semantics>(
        &self,
        command: &'static str,
        algorithm: Algorithm,
        options: &Options,
        (machine, found): (&mut M, &Findings),
    ) -> Record {
        let counted = self.counted_by_explorers(options);
        let head = Head::new(command, algorithm, options, counted);
        let shown = shown(machine, found, head);
        self.record_of(head, found, shown)
    }

    /// Returns the record of a search with its evidence. Panics if a finding has no evidence
    /// although the search has not hit a bound.
    pub(crate) fn record_of(
        &self,
        head: Head<'_>,
        found: &Findings,
        witnesses: Vec<Witness>,
    ) -> Record {
        let shown = !witnesses.is_empty() || !found.bounds.is_empty();
        let faults = found.kinds().and(head.counted).and(Kinds::FAULTS);
        assert!(
            shown || faults.is_empty(),
            "what was found is not shown: {faults:?}"
        );
        let counts_failures = head.counted.contains(Kind::Failure);
        // A violation is certain even if a bound was hit.
        let verdict = match (witnesses.is_empty(), found.bounds.is_empty()) {
            (false, _) => Verdict::Violated,
            (true, false) => Verdict::Inconclusive,
            (true, true) => Verdict::Verified,
        };
        let mut record = Record {
            version: VERSION,
            program: self.record().clone(),
            command: head.command.to_owned(),
            algorithm: head.algorithm.to_string(),
            options: Some(head.options_record()),
            verdict,
            scope: Scope {
                exhaustive: found.stopped == mazurka_core::StopReason::Complete,
                bounds: found.bounds.clone(),
                outside: self.outside(),
            },
            stopped: found.stopped,
            deterministic: found.deterministic(),
            counts: found.counts,
            seconds: found.elapsed.as_secs_f64(),
            solver: None,
            kinds: KindsRecord {
                counted: head.counted.iter().collect(),
                open: Vec::new(),
                halted: found.halted || !counts_failures && found.counts.failures > 0,
                met: found.kinds().without(head.counted).iter().collect(),
            },
            witnesses,
            warnings: Vec::new(),
            coverage: None,
            sample: head.algorithm.sample().map(|sample| SampleRecord {
                runs: found.walks,
                estimate: found.estimate(),
                ..drawn_by(sample)
            }),
            memory: None,
            profile: None,
            explanation: None,
            stronger: Vec::new(),
            memory_model: None,
            covers: Vec::new(),
            refinement: None,
            object: self.language.maz().and_then(|code| code.object()),
        };
        if found.stopped != StopReason::Complete {
            record.leave_open(Kinds::ALL);
        }
        if head.algorithm.merging().is_none() {
            record.add_bounds(self.leaves_out_temporal(head.counted));
        }
        record.add_bounds(self.leaves_out_times());
        if !matches!(
            head.command,
            "check" | "explore" | "sample" | "reach" | "compare"
        ) {
            record.add_bounds(self.leaves_out(head.options));
        }
        record
    }
}
