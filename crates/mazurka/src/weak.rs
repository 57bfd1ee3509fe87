//! `check`, `explore`, `run`, `replay` and `orders` under weak memory models.
//!
//! In a search of interleavings, each memory location has one value. Here a read may return an
//! older value, if the [`Memory`] model allows it: `mazurka-memory` explores the execution graphs
//! of a program, each once. A schedule is an order of the steps that extends program order and
//! reads-from. The number after `=` (`1=2` is a step of process 1) says how many newer writes to
//! the location of the step exist: for a read, the newer writes that it does not see; for a write,
//! the existing writes that it comes before.
//!
//! ```
//! use mazurka::weak::Memory;
//! use mazurka::{Options, Program, Verdict, quietly};
//!
//! let source = "atomicity access  var x, y: atomic int = 0  var a, b: int = 0
//!     ensures a == 1 || b == 1
//!     process { x.store(1, relaxed); let r = y.load(relaxed); a := r }
//!     process { y.store(1, relaxed); let r = x.load(relaxed); b := r }";
//! let program = Program::load("buffers.maz", source, &[]).unwrap();
//! let check = |memory| {
//!     let options = Options { memory: Some(memory), ..Options::default() };
//!     program.check(&options, &mut quietly()).unwrap().verdict
//! };
//! assert_eq!(check(Memory::Sc), Verdict::Verified);
//! assert_eq!(check(Memory::Tso), Verdict::Violated);
//! ```

mod missing;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native;
mod orders;
mod search;
mod tell;
mod unknowns;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mazurka_core::record::{
    Binding, Kind, KindsRecord, Record, Run, SampleRecord, VERSION, Witness,
};
use mazurka_core::{Bound, Counts, Kinds, Scope, StopReason, Verdict};
use mazurka_explore::{Budget, Method, Sample, Watch};
use mazurka_lang::Code;

use crate::replay::{Recording, ReplayProblem};
use crate::run::{Plan, RunError, RunRecord};
use crate::search::drawn_by;
use crate::unknowns::given;
use crate::{Options, Program, Refused};

pub use mazurka_memory::Memory;
pub use orders::OrdersRecord;

use search::{Answer, Question};
use tell::{JudgedExecution, Misfit, Narrator};

/// The least number of steps to spend on finding orders with which a violated program passes.
const LEAST_STEPS_FOR_ORDERS: u64 = 200_000;

impl Program {
    /// Returns the code, if the program can be explored under a weak memory model.
    fn weak_code(&self) -> Result<&Arc<Code>, Refused> {
        let code = self.language.maz().ok_or(Refused::NotMaz)?;
        code.accesses_are_steps()?;
        Ok(code)
    }

    /// Returns the code like `weak_code`, with the given values for unknowns; other unknowns are 0.
    fn weak_code_with(&self, given: &[(String, i128)]) -> Result<Arc<Code>, Refused> {
        let code = self.weak_code()?;
        if self.unknowns().is_empty() {
            return Ok(Arc::clone(code));
        }
        // A `u64` is stored as the bits of an `i64`.
        let given = given.iter();
        let given = given.map(|(name, value)| (name.as_str(), *value as i64));
        Ok(Arc::new(code.with_inputs(given)))
    }

    /// Performs `check`, `explore` or `orders` under a weak memory model.
    pub(crate) fn search_weakly(
        &self,
        wanted: WeakRequest,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, Refused> {
        let WeakRequest {
            command, memory, ..
        } = wanted;
        if self.is_native() {
            return self.search_native(wanted, options, watch);
        }
        let code = self.weak_code()?;
        if let Some(Sample { method, .. }) = wanted.draws
            && matches!(method, Method::Pos | Method::Urw | Method::Surw)
        {
            return Err(Refused::WeakMethod(memory, method.name()));
        }
        let options = &self.covering(options).started();
        let budget = Budget::new(&options.limits);
        let question = self.question(wanted, code, options);
        let unknown = !self.unknowns().is_empty();
        let answer = if unknown {
            question.search_for_all_values(watch)?
        } else {
            question.ask(watch)?
        };
        let (races, runs, estimate) = (answer.races, answer.runs, answer.estimate);
        let outcome = RecordContents::new(command, question.counted, answer, budget.elapsed());
        let mut record = self.weak_record(memory, options, outcome);
        if let Some(sample) = wanted.draws {
            record.algorithm = sample.to_string();
            record.sample = Some(SampleRecord {
                runs,
                estimate,
                ..drawn_by(sample)
            });
        }
        // A data race ends an execution, so it is unknown which code after it can be reached.
        let reached = options.reached.clone().filter(|_| !races);
        let remarks = Options {
            reached,
            ..options.clone()
        };
        self.remark(&mut record, &remarks);
        if command == "check" && record.verdict == Verdict::Violated && !unknown {
            let steps = record.counts.steps.max(LEAST_STEPS_FOR_ORDERS);
            record.stronger = Self::stronger(question, steps, budget, watch);
            record.seconds = budget.elapsed().as_secs_f64();
        }
        Ok(record)
    }

    /// Returns the kinds of violations that decide the verdict, and those among them that end the
    /// search.
    fn decisive(&self, command: &str, options: &Options) -> (Kinds, Kinds) {
        let counted = match command {
            "explore" | "sample" => self.counted_by_explorers(options),
            _ => self.counted(options),
        };
        let counted = counted.without(Kinds::of(&[Kind::Livelock, Kind::Property]));
        let stops = match command {
            "check" if !options.keep_going => Kinds::of(&[Kind::Failure]),
            "sample" if !options.keep_going => counted,
            "orders" => counted,
            _ => Kinds::NONE,
        };
        (counted, stops)
    }

    /// Performs `check` or `explore` of a native program.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn search_native(
        &self,
        wanted: WeakRequest,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, Refused> {
        let options = &options.started();
        let budget = Budget::new(&options.limits);
        if wanted.draws.is_some() {
            return Err(Refused::NativeDrawn);
        }
        let (counted, stops) = self.decisive(wanted.command, options);
        let asked = native::NativeQuestion {
            counted,
            stops,
            limits: &options.limits,
        };
        let answer = native::Native::new(wanted.memory)?.ask(&asked, watch)?;
        let outcome = RecordContents::new(wanted.command, counted, answer, budget.elapsed());
        Ok(self.weak_record(wanted.memory, options, outcome))
    }

    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    fn search_native(
        &self,
        _wanted: WeakRequest,
        _options: &Options,
        _watch: &mut Watch<'_>,
    ) -> Result<Record, Refused> {
        Err(Refused::NativeWeak)
    }

    /// Returns the question that the search of a command must answer.
    fn question<'a>(
        &self,
        wanted: WeakRequest,
        code: &'a Arc<Code>,
        options: &'a Options,
    ) -> Question<'a> {
        let (counted, stops) = self.decisive(wanted.command, options);
        Question {
            code,
            memory: wanted.memory,
            counted,
            stops,
            draws: wanted.draws,
            options,
        }
    }

    fn weak_record(&self, memory: Memory, options: &Options, outcome: RecordContents) -> Record {
        let met = outcome.met();
        let verdict = match (outcome.witnesses.is_empty(), outcome.bounds.is_empty()) {
            (false, _) => Verdict::Violated,
            (true, false) => Verdict::Inconclusive,
            (true, true) => Verdict::Verified,
        };
        let stopped = match (outcome.bounds.is_empty(), outcome.stopped) {
            (false, _) => StopReason::Bound,
            (true, true) => StopReason::Certain,
            (true, false) => StopReason::Complete,
        };
        let mut record = Record {
            version: VERSION,
            program: self.record().clone(),
            command: outcome.command.to_owned(),
            algorithm: "trust".to_owned(),
            options: Some(options.record(Some(options.limits.depth()))),
            verdict,
            scope: Scope {
                exhaustive: stopped == StopReason::Complete,
                bounds: outcome.bounds,
                outside: self.outside(),
            },
            stopped,
            deterministic: outcome.deterministic,
            memory_model: Some(memory.to_string()),
            covers: Vec::new(),
            refinement: None,
            object: None,
            counts: outcome.counts,
            seconds: outcome.elapsed.as_secs_f64(),
            solver: None,
            kinds: KindsRecord {
                counted: outcome.counted.iter().collect(),
                halted: outcome.halted || met.contains(&Kind::Failure),
                met,
                open: Vec::new(),
            },
            witnesses: outcome.witnesses,
            warnings: Vec::new(),
            coverage: None,
            sample: None,
            memory: None,
            profile: None,
            explanation: None,
            stronger: Vec::new(),
        };
        if stopped != StopReason::Complete {
            record.leave_open(Kinds::ALL);
        }
        record
    }

    /// Runs one execution under a weak memory model: of a schedule, or drawn at random.
    pub(crate) fn run_weakly(
        &self,
        memory: Memory,
        plan: &Plan,
        options: &Options,
    ) -> Result<RunRecord, RunError> {
        let start = Instant::now();
        if self.is_native() {
            return self.run_native(memory, plan, options);
        }
        let code = &self.weak_code_with(&options.inputs)?;
        let narrator = Narrator {
            code,
            memory,
            local: options.limits.local,
        };
        let drawn = match plan {
            Plan::Schedule(schedule) => narrator.schedule(schedule).map(|it| (it, Vec::new())),
            Plan::Seed(seed) => Ok(narrator.drawn(*seed, &options.limits)),
        };
        let misfit = |misfit: Misfit| RunError::WeakSchedule(misfit.what);
        let (schedule, bounds) = drawn.map_err(misfit)?;
        let narrated = narrator.judged_execution(&schedule);
        let JudgedExecution {
            run,
            ready,
            witnesses,
            machine,
        } = narrated.map_err(misfit)?;
        if !self.unknowns().is_empty() {
            // The type of an input is known only when the program reads it.
            machine.check_inputs(&options.inputs)?;
        }
        let outcome = RecordContents::of_run(&run, (bounds, witnesses), start.elapsed());
        Ok(self.run_record(memory, plan, options, (outcome, ready, run)))
    }

    /// Returns the record of one execution.
    fn run_record(
        &self,
        memory: Memory,
        plan: &Plan,
        options: &Options,
        (outcome, ready, run): (RecordContents, Vec<String>, Run),
    ) -> RunRecord {
        let mut record = self.weak_record(memory, options, outcome);
        record.scope.exhaustive = false;
        let seed = match plan {
            Plan::Schedule(_) => None,
            Plan::Seed(seed) => Some(*seed),
        };
        RunRecord {
            record,
            seed,
            ready,
            run,
            path: None,
            compared: None,
            events: Vec::new(),
            linearised: None,
        }
    }

    /// Runs one execution of a native program.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn run_native(
        &self,
        memory: Memory,
        plan: &Plan,
        options: &Options,
    ) -> Result<RunRecord, RunError> {
        let start = Instant::now();
        let misfit = |misfit: Misfit| RunError::WeakSchedule(misfit.what);
        mazurka_c::set_deadline(options.limits.time);
        let mut native = native::Native::new(memory)?;
        let (mut narrated, mut bounds) = match plan {
            Plan::Schedule(schedule) => {
                let narrated = match native.follow(schedule, &options.limits)? {
                    Err(_) if native.over_time(&options.limits).is_some() => {
                        native.before_steps()?
                    }
                    narrated => narrated.map_err(misfit)?,
                };
                (narrated, Vec::new())
            }
            Plan::Seed(seed) => native.drawn(*seed, &options.limits)?,
        };
        if let Some(bound) = native.over_time(&options.limits) {
            // The thread whose step was broken off has not failed.
            narrated.witnesses.clear();
            bounds.push(bound);
            bounds.dedup();
        }
        let (run, witnesses) = (narrated.run, narrated.witnesses);
        let outcome = RecordContents::of_run(&run, (bounds, witnesses), start.elapsed());
        Ok(self.run_record(memory, plan, options, (outcome, narrated.ready, run)))
    }

    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    fn run_native(
        &self,
        _memory: Memory,
        _plan: &Plan,
        _options: &Options,
    ) -> Result<RunRecord, RunError> {
        Err(Refused::NativeWeak.into())
    }

    /// Repeats the runs in a record of [`search_weakly`](Program::search_weakly), and checks that
    /// they are the same.
    pub(crate) fn replay_weakly(
        &self,
        memory: Memory,
        recording: &Recording,
        options: &Options,
    ) -> Result<Record, ReplayProblem> {
        let old = &recording.record;
        let start = Instant::now();
        if self.is_native() {
            return self.replay_native(memory, recording, options);
        }
        let code = |inputs: &[Binding]| {
            let given: Vec<_> = inputs.iter().filter_map(given).collect();
            let code = self.weak_code_with(&given);
            code.map_err(|why| ReplayProblem::Changed(why.to_string()))
        };
        let local = options.limits.local;
        let mut witnesses = Vec::new();
        for witness in &old.witnesses {
            let narrator = Narrator {
                code: &code(&witness.inputs())?,
                memory,
                local,
            };
            witnesses.push(narrator.replay_witness(witness)?);
        }
        let mut runs: Vec<&Run> = witnesses.iter().flat_map(|witness| &witness.runs).collect();
        if let (Some(run), true) = (&recording.run, runs.is_empty()) {
            let narrator = Narrator {
                code: &code(&run.inputs)?,
                memory,
                local,
            };
            narrator.compare(run)?;
            runs.push(run);
        }
        if runs.is_empty() {
            return Err(ReplayProblem::Nothing);
        }
        let runs = (runs.len(), runs.iter().map(|run| run.steps.len()).sum());
        let outcome = RecordContents::of_replay(old, runs, witnesses, start.elapsed());
        let mut record = self.weak_record(memory, options, outcome);
        record.scope.exhaustive = false;
        Ok(record)
    }

    /// Replays a run of a native program.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn replay_native(
        &self,
        memory: Memory,
        recording: &Recording,
        options: &Options,
    ) -> Result<Record, ReplayProblem> {
        let old = &recording.record;
        let start = Instant::now();
        let changed = |what: String| ReplayProblem::Changed(what);
        let mut native = native::Native::new(memory).map_err(|why| changed(why.to_string()))?;
        let mut witnesses = Vec::new();
        let (mut runs, mut steps) = (0, 0);
        for witness in &old.witnesses {
            let mut again = Vec::new();
            for run in &witness.runs {
                let narrated = native.replay_run(run, &options.limits)?;
                (runs, steps) = (runs + 1, steps + narrated.run.steps.len());
                again.push(narrated);
            }
            let found = again.iter().flat_map(|narrated| &narrated.witnesses);
            let mut same = found.filter(|new| new.message == witness.message);
            match (same.next(), witness.runs.len()) {
                (Some(new), _) => witnesses.push(new.clone()),
                (None, 2) => witnesses.push(witness.clone()),
                (None, _) => {
                    return Err(changed("the recorded violation does not happen".to_owned()));
                }
            }
        }
        if let (Some(run), 0) = (&recording.run, runs) {
            let narrated = native.replay_run(run, &options.limits)?;
            (runs, steps) = (1, narrated.run.steps.len());
        }
        if runs == 0 {
            return Err(ReplayProblem::Nothing);
        }
        let outcome = RecordContents::of_replay(old, (runs, steps), witnesses, start.elapsed());
        let mut record = self.weak_record(memory, options, outcome);
        record.scope.exhaustive = false;
        Ok(record)
    }

    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    fn replay_native(
        &self,
        _memory: Memory,
        _recording: &Recording,
        _options: &Options,
    ) -> Result<Record, ReplayProblem> {
        Err(ReplayProblem::Changed(Refused::NativeWeak.to_string()))
    }
}

/// A request for a search under a weak memory model.
#[derive(Clone, Copy)]
pub(crate) struct WeakRequest {
    pub command: &'static str,
    pub memory: Memory,
    /// How to draw executions, instead of exploring all.
    pub draws: Option<Sample>,
}

/// The contents of a record.
struct RecordContents {
    command: &'static str,
    /// The kinds of violations that decide the verdict.
    counted: Kinds,
    counts: Counts,
    bounds: Vec<Bound>,
    stopped: bool,
    /// Whether a failure that does not count has halted a process.
    halted: bool,
    deterministic: Option<bool>,
    elapsed: Duration,
    witnesses: Vec<Witness>,
}

impl RecordContents {
    /// Returns the outcome of one execution, with the bounds that cut it off and its violations.
    fn of_run(
        run: &Run,
        (bounds, witnesses): (Vec<Bound>, Vec<Witness>),
        elapsed: Duration,
    ) -> Self {
        let steps = run.steps.len() as u64;
        Self {
            command: "run",
            counted: Kinds::NONE,
            counts: Counts {
                executions: u64::from(crate::evidence::is_complete(run)),
                events: steps,
                steps,
                ..Counts::default()
            },
            bounds,
            stopped: false,
            halted: false,
            deterministic: None,
            elapsed,
            witnesses,
        }
    }

    /// Returns the outcome of a replay with this many runs and steps.
    fn of_replay(
        old: &Record,
        (runs, steps): (usize, usize),
        witnesses: Vec<Witness>,
        elapsed: Duration,
    ) -> Self {
        Self {
            command: "replay",
            counted: Kinds::of(&old.kinds.counted),
            counts: Counts {
                steps: steps as u64,
                executions: runs as u64,
                ..Counts::default()
            },
            bounds: Vec::new(),
            stopped: false,
            halted: false,
            deterministic: old.deterministic,
            elapsed,
            witnesses,
        }
    }

    /// Returns the kinds of violations that occur but do not count.
    fn met(&self) -> Vec<Kind> {
        let counts = &self.counts;
        let met = [
            (Kind::Failure, counts.failures > 0),
            (Kind::Deadlock, counts.deadlocks > 0),
            (Kind::Nondeterminism, self.deterministic == Some(false)),
        ];
        let met = met.into_iter().filter(|&(_, met)| met);
        met.map(|(kind, _)| kind)
            .filter(|&kind| !self.counted.contains(kind))
            .collect()
    }

    fn new(command: &'static str, counted: Kinds, answer: Answer, elapsed: Duration) -> Self {
        Self {
            command,
            counted,
            counts: answer.counts,
            bounds: answer.bounds,
            stopped: answer.stopped,
            halted: answer.halted,
            deterministic: answer.deterministic,
            elapsed,
            witnesses: answer.witnesses,
        }
    }
}
