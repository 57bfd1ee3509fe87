//! `symbolic`: all final symbolic states of a program whose initial values need not be known.

use std::sync::Arc;

use mazurka_core::record::{
    Binding, Ending, ProgramRecord, Record, SymbolicStateRecord, SymbolicStates, VERSION, Witness,
};
use mazurka_core::{
    Bound, Counts, Execution, Mishap, Schedule, Scope, Status, StopReason, Verdict, with_status,
};
use mazurka_explore::{
    Audience, End, Finding, Goal, Observer, Reduction, Violation, closest, minimise, search,
    symbolic,
};
use mazurka_lang::diagnostic::Diagnostic;
use mazurka_lang::{
    Code, Concrete, Difference, Machine, Observed, Setting, SymbolicMachine, compile_symbolic,
};
use mazurka_smt::{Assembly, Choice, Effort, Missing, Solver, assemble};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::program::hash;
use crate::{Algorithm, Options, Watch, evidence};

/// Conflicts after which the embedded solver gives up on a query: well below a second.
const CONFLICTS: u64 = 20_000;

/// What to do with symbolic states.
#[derive(Clone, Debug)]
pub struct Symbolically {
    /// Which of them are merged.
    pub por: Reduction,
    /// Drop states whose path was expanded before.
    pub prefix_pruning: bool,
    /// Drop states whose path condition nothing satisfies.
    pub feasible: bool,
    /// Who decides that.
    pub solver: Choice,
    /// How many states to list.
    pub listed: usize,
}

impl Default for Symbolically {
    fn default() -> Self {
        Self {
            por: Reduction::Canonical,
            prefix_pruning: false,
            feasible: true,
            solver: Choice::Auto,
            listed: 100,
        }
    }
}

/// The record of symbolic states: what every record has, and these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SymbolicRecord {
    /// What every record has. Its `steps` are applications of SCHEDULE.
    #[serde(flatten)]
    pub record: Record,
    /// The states.
    pub states: SymbolicStates,
}

/// Why nothing was executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingRequired {
    /// Nothing satisfies what the program requires.
    #[error(
        "no initial values satisfy what the program `requires`, so there is nothing to execute"
    )]
    NoStart,
    /// The solver is not there.
    #[error(transparent)]
    Solver(#[from] Missing),
}

/// A program to be executed symbolically: variables without an initial value stand for all values.
#[derive(Clone, Debug)]
pub struct SymbolicProgram {
    record: ProgramRecord,
    /// As the prototype counts: leaving a loop that has used up its bound is a step.
    code: Arc<Code>,
    /// As all other engines count.
    plain: Arc<Code>,
    source: Arc<str>,
}

impl SymbolicProgram {
    /// Reads a program. `file` is its name in records and messages; `set` overrides constants and
    /// gives variables their initial values. The error is every mistake of the text.
    pub fn load(
        file: &str,
        source: &str,
        set: &[(String, String)],
    ) -> Result<Self, Vec<Diagnostic>> {
        let setting = |(name, value): &(String, String)| Setting {
            name: name.clone(),
            value: value.clone(),
        };
        let settings: Vec<Setting> = set.iter().map(setting).collect();
        let checked = mazurka_lang::load(source, &settings)?;
        Ok(Self {
            record: ProgramRecord {
                file: file.to_owned(),
                hash: hash(source, set),
                set: set.to_vec(),
            },
            code: Arc::new(compile_symbolic(&checked, source, true)),
            plain: Arc::new(compile_symbolic(&checked, source, false)),
            source: source.into(),
        })
    }

    fn machine(
        &self,
        code: &Arc<Code>,
        solver: Option<Choice>,
        options: &Options,
    ) -> Result<SymbolicMachine, NothingRequired> {
        let assembly = |choice| Assembly {
            choice,
            effort: Effort {
                conflicts: CONFLICTS,
                ..Effort::default()
            },
            patience: options.limits.time,
            ..Assembly::default()
        };
        let solver = match solver {
            Some(choice) => Some(assemble(assembly(choice))? as Box<dyn Solver>),
            None => None,
        };
        let machine = SymbolicMachine::new(Arc::clone(code), options.limits.local, solver);
        match machine.can_start() {
            true => Ok(machine),
            false => Err(NothingRequired::NoStart),
        }
    }

    /// The verdict for all initial values that the program requires, as soon as it is certain. A violation is shown for one choice of
    /// these, which the record has among its settings: so it is a violation of an ordinary program, and replays as one.
    ///
    /// ```
    /// use mazurka::{Options, SolverChoice, SymbolicProgram, Verdict, quietly};
    /// let source = "var x: i32  process { x := x * x }  ensures x >= 0";
    /// let program = SymbolicProgram::load("square.maz", source, &[]).unwrap();
    /// let options = Options::default();
    /// let record = program.check(SolverChoice::Embedded, &options, &mut quietly()).unwrap();
    /// assert_eq!(record.verdict, Verdict::Violated);
    /// let x: i32 = record.program.set[0].1.parse().unwrap();
    /// assert!(x.wrapping_mul(x) < 0);
    /// ```
    pub fn check(
        &self,
        solver: Choice,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, NothingRequired> {
        let code = &self.plain;
        let deterministic =
            options.deterministic || code.observes() || !code.states_other_property();
        let mut machine = self.machine(code, Some(solver), options)?;
        let mut finals = Finals::default();
        let goal = Goal::Verdict {
            deterministic: false,
        };
        let algorithm = Algorithm::Optimal;
        let limits = &options.limits;
        let found = search(&mut machine, algorithm, limits, goal, watch, &mut finals);
        let mut bounds = found.bounds.clone();
        let mut evidence = None;
        for finding in found.failures.iter().chain(&found.deadlock) {
            evidence = evidence.or_else(|| shown(&mut machine, finding, options));
        }
        let suspicious = !found.failures.is_empty() || found.deadlock.is_some();
        let mut unsure = suspicious && evidence.is_none();
        let mut agree =
            (found.stopped == StopReason::Complete && !finals.all.is_empty()).then_some(true);
        if evidence.is_none() {
            match machine.difference(&finals.all) {
                Difference::Never => {}
                Difference::Unknown => {
                    agree = None;
                    unsure |= deterministic;
                }
                Difference::Between(one, other, concrete) => {
                    agree = Some(false);
                    let schedules = [one, other].map(|at| &finals.schedules[at]);
                    let pair = two_runs(&mut machine, schedules, *concrete, options);
                    unsure |= deterministic && pair.is_none();
                    evidence = pair.filter(|_| deterministic);
                }
            }
        }
        bounds.extend(unsure.then_some(Bound::Undecided));
        bounds.extend(machine.doubts().within.map(Bound::IntWithin));
        let verdict = match () {
            () if evidence.is_some() => Verdict::Violated,
            () if !bounds.is_empty() => Verdict::Inconclusive,
            () => Verdict::Verified,
        };
        let mut program = self.record.clone();
        let witnesses = evidence.map(|shown| {
            program.set.extend(settings(&shown.values));
            program.hash = hash(&self.source, &program.set);
            shown.witness
        });
        Ok(Record {
            version: VERSION,
            program,
            command: "check".to_owned(),
            algorithm: algorithm.to_string(),
            options: Some(options.record(Some(limits.depth()))),
            verdict,
            scope: Scope {
                exhaustive: found.stopped == StopReason::Complete && bounds.is_empty(),
                bounds,
            },
            stopped: match (found.stopped, verdict) {
                (StopReason::Complete, Verdict::Inconclusive) => StopReason::Bound,
                (stopped, _) => stopped,
            },
            deterministic: agree.filter(|&agree| !agree || verdict != Verdict::Inconclusive),
            counts: found.counts,
            seconds: found.elapsed.as_secs_f64(),
            witnesses: witnesses.into_iter().collect(),
        })
    }

    /// Executes the program symbolically, to its last state. Failures and deadlocks that are possible violate; where
    /// feasibility is not looked at, nobody knows whether they are.
    ///
    /// ```
    /// use mazurka::{Options, SymbolicProgram, Symbolically, quietly};
    /// let source = "var x, y: int  process { if x > y { x := y } }  process { y := y + 1 }";
    /// let program = SymbolicProgram::load("smaller.maz", source, &[]).unwrap();
    /// let found = program
    ///     .execute(&Symbolically::default(), &Options::default(), &mut quietly())
    ///     .unwrap();
    /// assert_eq!(found.states.count, 5);
    /// assert_eq!(found.states.listed[0].path_condition, ["x <= y"]);
    /// ```
    pub fn execute(
        &self,
        wanted: &Symbolically,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<SymbolicRecord, NothingRequired> {
        let solver = wanted.feasible.then_some(wanted.solver);
        let mut machine = self.machine(&self.code, solver, options)?;
        if !wanted.feasible {
            machine = machine.literally();
        }
        let mut collecting = Collecting {
            most: wanted.listed,
            listed: Vec::new(),
            mishaps: Vec::new(),
        };
        let mut found = symbolic(
            &mut machine,
            wanted.por,
            wanted.prefix_pruning,
            &options.limits,
            watch,
            &mut collecting,
        );
        let doubts = machine.doubts();
        let within = doubts.within.map(Bound::IntWithin);
        let unknown = doubts.undecided.map(|_| Bound::Undecided);
        let suspicious =
            found.failures > 0 || found.deadlocks > 0 || !collecting.mishaps.is_empty();
        let unsure = suspicious && (!wanted.feasible || unknown.is_some());
        found.bounds.extend(within);
        if unsure {
            found.bounds.push(Bound::Undecided);
        }
        let cut = found
            .bounds
            .iter()
            .any(|b| !matches!(b, Bound::IntWithin(_)));
        let verdict = match () {
            () if suspicious && !unsure => Verdict::Violated,
            () if cut => Verdict::Inconclusive,
            () => Verdict::Verified,
        };
        let record = Record {
            version: VERSION,
            program: self.record.clone(),
            command: "symbolic".to_owned(),
            algorithm: "sympaths".to_owned(),
            options: Some(options.record(Some(options.limits.depth()))),
            verdict,
            scope: Scope {
                exhaustive: found.bounds.is_empty(),
                bounds: found.bounds,
            },
            stopped: match cut {
                true => StopReason::Bound,
                false => StopReason::Complete,
            },
            deterministic: None,
            counts: Counts {
                executions: found.states,
                traces: None,
                discarded: found.discarded,
                deadlocks: found.deadlocks,
                failures: found.failures,
                final_states: found.states - found.deadlocks,
                events: found.steps,
                steps: found.steps,
                blocked: 0,
            },
            seconds: found.elapsed.as_secs_f64(),
            witnesses: Vec::new(),
        };
        let states = SymbolicStates {
            por: wanted.por.to_string(),
            prefix_pruning: wanted.prefix_pruning,
            feasible: wanted.feasible,
            count: found.states,
            peak: found.peak,
            curve: found.curve,
            mishaps: collecting.mishaps,
            listed: collecting.listed,
        };
        Ok(SymbolicRecord { record, states })
    }
}

/// The final states of a search, each result once for each path condition, and a schedule for it.
#[derive(Default)]
struct Finals {
    all: Vec<Observed>,
    schedules: Vec<Schedule>,
    known: FxHashSet<Observed>,
}

impl Observer<SymbolicMachine> for Finals {
    fn start(&mut self, _: &SymbolicMachine) {
        *self = Self::default();
    }

    fn complete(&mut self, machine: &SymbolicMachine) {
        if !machine.is_final() {
            return;
        }
        let new = machine.observed();
        if self.known.insert(new.clone()) {
            self.all.push(new);
            let schedule = Schedule::of(machine.events(), machine.processes());
            self.schedules.push(schedule);
        }
    }
}

/// Makes a run again.
fn follow(machine: &mut SymbolicMachine, schedule: &Schedule) {
    machine.back_to(0);
    for step in &schedule.0 {
        let known = machine.processes().find(&step.process);
        let made = known.is_some_and(|process| machine.step(process, &step.outcomes).is_ok());
        assert!(
            made,
            "a schedule that the search found does not run again: {schedule}"
        );
    }
}

/// Evidence that was run again with concrete initial values.
struct Shown {
    witness: Witness,
    values: Vec<Binding>,
}

/// A failure or a deadlock with values that show it. None if nobody knows such values, or they do not show it.
fn shown(machine: &mut SymbolicMachine, finding: &Finding, options: &Options) -> Option<Shown> {
    follow(machine, &finding.schedule);
    let concrete = machine.concrete(finding.mishap.as_ref())?;
    let mut program = Machine::new(concrete.code, options.limits.local);
    let told = evidence::tell(&mut program, &concrete.schedule).ok()?;
    let violation = match finding.mishap {
        Some(mishap) => Violation::Failure(mishap.site),
        None => Violation::Deadlock(with_status(&program, Status::Waiting)),
    };
    let same = |m: &&Mishap| finding.mishap.is_some_and(|wanted| wanted.site == m.site);
    let mishap = told.failures.iter().find(same).copied();
    if mishap.is_none() && !(finding.mishap.is_none() && told.deadlocked) {
        return None;
    }
    let schedule = minimise(&mut program, &concrete.schedule, &violation);
    let told = evidence::tell(&mut program, &schedule).ok()?;
    let witness = match mishap {
        Some(mishap) => evidence::failure(&mut program, told.run, &mishap),
        None => evidence::deadlock(&mut program, told.run),
    };
    Some(Shown {
        witness,
        values: concrete.values,
    })
}

/// Two runs from the same values that end differently.
fn two_runs(
    machine: &mut SymbolicMachine,
    schedules: [&Schedule; 2],
    concrete: Concrete,
    options: &Options,
) -> Option<Shown> {
    let [one, other] = schedules.map(|schedule| {
        follow(machine, schedule);
        machine.concrete_schedule()
    });
    let mut program = Machine::new(concrete.code, options.limits.local);
    evidence::tell(&mut program, &one).ok()?;
    let first = program.observation();
    evidence::tell(&mut program, &other).ok()?;
    if program.observation() == first {
        return None;
    }
    let (one, other) = closest(&mut program, &one, &other);
    Some(Shown {
        witness: evidence::nondeterminism(&mut program, &one, &other),
        values: concrete.values,
    })
}

/// Initial values as `--set` takes them: an array in brackets.
fn settings(values: &[Binding]) -> Vec<(String, String)> {
    let mut set: Vec<(String, String)> = Vec::new();
    for Binding { name, value } in values {
        let Some((array, _)) = name.split_once('[') else {
            set.push((name.clone(), value.clone()));
            continue;
        };
        match set.last_mut() {
            Some((last, all)) if last == array => {
                all.insert_str(all.len() - 1, &format!(", {value}"));
            }
            _ => set.push((array.to_owned(), format!("[{value}]"))),
        }
    }
    set
}

/// Writes down the first states.
struct Collecting {
    most: usize,
    listed: Vec<SymbolicStateRecord>,
    /// What has gone wrong anywhere, in words.
    mishaps: Vec<String>,
}

impl Audience<SymbolicMachine> for Collecting {
    fn ended(&mut self, machine: &SymbolicMachine, end: End, schedule: &dyn Fn() -> Schedule) {
        if self.listed.len() >= self.most {
            return;
        }
        let wrong = match end {
            End::Final => machine.final_mishaps(),
            _ => Vec::new(),
        };
        self.listed.push(SymbolicStateRecord {
            ending: match end {
                End::Deadlock => Ending::Deadlock,
                End::Failure => Ending::Failure,
                _ => Ending::Final,
            },
            path_condition: machine.path_condition(),
            substitution: machine.substitution(),
            schedule: schedule().to_string(),
            mishaps: wrong.iter().map(|m| machine.explain(m).0).collect(),
        });
    }

    fn failed(&mut self, machine: &SymbolicMachine, mishap: Mishap, _: &dyn Fn() -> Schedule) {
        let text = machine.explain(&mishap).0;
        if !self.mishaps.contains(&text) {
            self.mishaps.push(text);
        }
    }
}
