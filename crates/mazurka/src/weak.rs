//! `check`, `explore` and `replay` under weak memory models.
//!
//! A search of interleavings knows one value for each place of memory. Here a read may give an
//! older one, as far as the [`Memory`] model lets it: `mazurka-memory` explores the execution
//! graphs of a program, each once. A schedule is an order of the steps that extends program order
//! and reads-from; the number behind a step (`1=2`) says how many newer writes to its place a read
//! does not see, or a write comes before.
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

mod tell;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mazurka_core::record::{Kind, KindsRecord};
use mazurka_core::record::{Record, VERSION, Witness};
use mazurka_core::{Bound, Counts, Execution, Fingerprint, Kinds, Scope, StopReason, Verdict};
use mazurka_explore::{Progress, Watch};
use mazurka_lang::{Code, Machine, NotWeak};
use mazurka_memory::schedule::Schedule;
use mazurka_memory::{End, Ending, Found, Threads, Visitor, visit};
use rustc_hash::FxHashSet;

use crate::run::{Plan, RunError, RunRecord};
use crate::{Options, Program, Refused};

pub use mazurka_memory::Memory;

use tell::{Narrator, One};

/// The watch is asked once in so many executions.
const PERIOD: u64 = 64;

/// What a search looks at besides the counts.
struct Look<'a, 'w> {
    /// The kinds that violate.
    counted: Kinds,
    /// Whether a failure ends the search.
    stops: bool,
    watch: &'a mut Watch<'w>,
    start: Instant,
    executions: u64,
    /// The first complete execution, and the first with another result.
    finals: Vec<(Fingerprint, Schedule)>,
    observed: FxHashSet<Fingerprint>,
    /// The first complete execution that breaks each `ensures`, by its site.
    broken: Vec<(u32, Schedule)>,
    /// How many do.
    failures: u64,
    /// Why the watch has ended the search.
    over: Option<Bound>,
    /// Whether a step did more than one thing.
    several: bool,
}

impl Look<'_, '_> {
    /// Whether the search is to go on, as the watch says.
    fn is_to_go_on(&mut self) -> ControlFlow<()> {
        self.executions += 1;
        if !self.executions.is_multiple_of(PERIOD) {
            return ControlFlow::Continue(());
        }
        let progress = Progress {
            counts: Counts {
                executions: self.executions,
                traces: Some(self.executions),
                ..Counts::default()
            },
            elapsed: self.start.elapsed(),
            done: None,
            estimate: None,
        };
        match (self.watch)(&progress) {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(bound) => {
                self.over = Some(bound);
                ControlFlow::Break(())
            }
        }
    }

    /// Looks at the result of a complete execution.
    fn result<const APART: bool>(&mut self, end: &mut End<'_, Threads<Machine, APART>>) {
        let (graph, program) = end.graph_and_program();
        let machine = program.at_the_end(graph);
        let observation = machine.observation();
        let broken = machine.final_mishaps();
        if self.observed.insert(observation) && self.finals.len() < 2 {
            self.finals.push((observation, end.schedule()));
        }
        self.failures += broken.len() as u64;
        for mishap in broken {
            if self.broken.iter().all(|(site, _)| *site != mishap.site) {
                self.broken.push((mishap.site, end.schedule()));
            }
        }
    }
}

impl<const APART: bool> Visitor<Threads<Machine, APART>> for Look<'_, '_> {
    fn end(&mut self, end: &mut End<'_, Threads<Machine, APART>>) -> ControlFlow<()> {
        match end.ending() {
            Ending::Complete => self.result(end),
            Ending::Failed | Ending::Race => self.failures += 1,
            Ending::Deadlock | Ending::Blocked | Ending::Discarded => {}
        }
        self.several |= end.graph_and_program().1.does_several();
        let failed = self.failures > 0 && self.counted.contains(Kind::Failure);
        if self.several || self.stops && failed {
            return ControlFlow::Break(());
        }
        self.is_to_go_on()
    }
}

impl Program {
    /// The code, if the program has executions under a weak memory model.
    fn weak_code(&self) -> Result<&Arc<Code>, Refused> {
        let code = self.language.maz().ok_or(Refused::NotMaz)?;
        if !self.unknowns().is_empty() {
            return Err(Refused::WeakUnknowns);
        }
        code.accesses_are_steps()?;
        Ok(code)
    }

    /// `check` or `explore` under a weak memory model.
    pub(crate) fn search_weakly(
        &self,
        command: &'static str,
        memory: Memory,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, Refused> {
        let code = self.weak_code()?;
        let start = Instant::now();
        let counted = match command {
            "check" => self.counted(options),
            _ => self.counted_by_explorers(options),
        };
        let counted = counted.without(Kinds::of(&[Kind::Livelock, Kind::Property]));
        let mut look = Look {
            counted,
            stops: command == "check" && !options.keep_going,
            watch,
            start,
            executions: 0,
            finals: Vec::new(),
            observed: FxHashSet::default(),
            broken: Vec::new(),
            failures: 0,
            over: None,
            several: false,
        };
        let limits = &options.limits;
        let machine = || Machine::new(Arc::clone(code), limits.local);
        let found = match code.starts_processes() {
            true => visit(Threads::<_, false>::new(machine), memory, limits, &mut look),
            false => visit(Threads::<_, true>::new(machine), memory, limits, &mut look),
        };
        if look.several {
            return Err(NotWeak::SeveralInAStep.into());
        }
        let narrator = Narrator {
            code,
            memory,
            local: limits.local,
        };
        let mut shown = narrator.witnesses(&found, &look.broken, counted);
        if let ([(_, one), (_, other)], true) =
            (&look.finals[..], counted.contains(Kind::Nondeterminism))
        {
            shown.witnesses.push(narrator.difference(one, other));
        }
        let mut bounds = found.bounds.clone();
        bounds.extend(look.over);
        bounds.extend(shown.bounds);
        let outcome = Outcome {
            command,
            counted,
            counts: counts(&found, &look),
            bounds,
            stopped: found.stopped,
            deterministic: deterministic(&found, &look),
            elapsed: start.elapsed(),
            witnesses: shown.witnesses,
        };
        Ok(self.weak_record(memory, options, outcome))
    }

    fn weak_record(&self, memory: Memory, options: &Options, outcome: Outcome) -> Record {
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
            },
            stopped,
            deterministic: outcome.deterministic,
            memory_model: Some(memory.to_string()),
            counts: outcome.counts,
            seconds: outcome.elapsed.as_secs_f64(),
            solver: None,
            kinds: KindsRecord {
                counted: outcome.counted.iter().collect(),
                ..KindsRecord::default()
            },
            witnesses: outcome.witnesses,
            warnings: Vec::new(),
            coverage: None,
            memory: None,
            profile: None,
        };
        if stopped != StopReason::Complete {
            record.leave_open(Kinds::ALL);
        }
        record
    }

    /// One execution under a weak memory model: of a schedule, or drawn at random.
    pub(crate) fn run_weakly(
        &self,
        memory: Memory,
        plan: &Plan,
        options: &Options,
    ) -> Result<RunRecord, RunError> {
        let start = Instant::now();
        let code = self.weak_code()?;
        let narrator = Narrator {
            code,
            memory,
            local: options.limits.local,
        };
        let schedule = match plan {
            Plan::Schedule(schedule) => narrator.schedule(schedule),
            Plan::Seed(seed) => Ok(narrator.drawn(*seed, &options.limits)),
        };
        let told = schedule.and_then(|schedule| narrator.one(&schedule));
        let One { run, witnesses } = told.map_err(RunError::WeakSchedule)?;
        let steps = run.steps.len() as u64;
        let outcome = Outcome {
            command: "run",
            counted: Kinds::NONE,
            counts: Counts {
                executions: u64::from(crate::evidence::is_complete(&run)),
                events: steps,
                steps,
                ..Counts::default()
            },
            bounds: Vec::new(),
            stopped: false,
            deterministic: None,
            elapsed: start.elapsed(),
            witnesses,
        };
        let mut record = self.weak_record(memory, options, outcome);
        record.scope.exhaustive = false;
        let seed = match plan {
            Plan::Schedule(_) => None,
            Plan::Seed(seed) => Some(*seed),
        };
        Ok(RunRecord {
            record,
            seed,
            ready: Vec::new(),
            run,
            path: None,
            compared: None,
            events: Vec::new(),
            linearised: None,
        })
    }

    /// Makes the runs of a record of [`search_weakly`](Program::search_weakly) again, and shows
    /// that they do what they did.
    pub(crate) fn replay_weakly(
        &self,
        memory: Memory,
        old: &Record,
        options: &Options,
    ) -> Result<Record, NotAgain> {
        let start = Instant::now();
        let code = self.weak_code().map_err(|why| NotAgain(why.to_string()))?;
        let narrator = Narrator {
            code,
            memory,
            local: options.limits.local,
        };
        let mut witnesses = Vec::new();
        for witness in &old.witnesses {
            witnesses.push(narrator.again(witness).map_err(NotAgain)?);
        }
        let steps = witnesses.iter().flat_map(|witness| &witness.runs);
        let outcome = Outcome {
            command: "replay",
            counted: Kinds::of(&old.kinds.counted),
            counts: Counts {
                steps: steps.map(|run| run.steps.len() as u64).sum(),
                executions: witnesses
                    .iter()
                    .map(|witness| witness.runs.len() as u64)
                    .sum(),
                ..Counts::default()
            },
            bounds: Vec::new(),
            stopped: false,
            deterministic: old.deterministic,
            elapsed: start.elapsed(),
            witnesses,
        };
        let mut record = self.weak_record(memory, options, outcome);
        record.scope.exhaustive = false;
        Ok(record)
    }
}

/// Why a recorded run does not come again.
pub(crate) struct NotAgain(pub String);

/// What a record says.
struct Outcome {
    command: &'static str,
    /// The kinds of violations that decide.
    counted: Kinds,
    counts: Counts,
    bounds: Vec<Bound>,
    stopped: bool,
    deterministic: Option<bool>,
    elapsed: Duration,
    witnesses: Vec<Witness>,
}

fn counts(found: &Found, look: &Look<'_, '_>) -> Counts {
    let graphs = found.counts;
    let executions = graphs.executions() - graphs.blocked - graphs.discarded;
    Counts {
        executions,
        traces: Some(executions),
        blocked: graphs.blocked,
        discarded: graphs.discarded,
        deadlocks: graphs.deadlocks,
        failures: look.failures,
        final_states: look.observed.len() as u64,
        events: graphs.events,
        steps: graphs.events,
        states: None,
    }
}

fn deterministic(found: &Found, look: &Look<'_, '_>) -> Option<bool> {
    match look.observed.len() {
        0 => None,
        1 => found.is_exhaustive().then_some(true),
        _ => Some(false),
    }
}
