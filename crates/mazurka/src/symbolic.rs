//! `symbolic`: all final symbolic states of a program whose initial values need not be known.

use std::sync::Arc;

use mazurka_core::record::{
    Binding, Ending, ProgramRecord, Record, SymbolicMishap, SymbolicStateRecord, SymbolicStates,
    VERSION, Witness,
};
use mazurka_core::{
    Bound, Counts, Event, Execution, HappensBefore, Mishap, MishapKind, Schedule, Scope, Semantics,
    Status, StopReason, Verdict, ending, with_status,
};
use mazurka_diagnostics::Diagnostic;
use mazurka_explore::{
    Audience, End, Finding, Goal, LeadsHere, Observer, Reduction, Violation, closest, minimise,
    search, symbolic,
};
use mazurka_lang::{
    Code, Concrete, Difference, Machine, Observed, Setting, SymbolicMachine, compile_symbolic,
};
use mazurka_smt::{Missing, Solver};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::inputs::parse_input;
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
    /// How many states to list.
    pub listed: usize,
}

impl Default for Symbolically {
    fn default() -> Self {
        Self {
            por: Reduction::Canonical,
            prefix_pruning: false,
            feasible: true,
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
        let code = compile_symbolic(&checked, source, true);
        let mut refused = code.refused();
        refused.extend(mazurka_lang::refused_at_start(&checked, source));
        if !refused.is_empty() {
            return Err(refused);
        }
        Ok(Self {
            record: ProgramRecord {
                file: file.to_owned(),
                hash: hash(source, set),
                set: set.to_vec(),
            },
            code: Arc::new(code),
            plain: Arc::new(compile_symbolic(&checked, source, false)),
            source: source.into(),
        })
    }

    fn machine(
        &self,
        code: &Arc<Code>,
        solves: bool,
        options: &Options,
    ) -> Result<SymbolicMachine, NothingRequired> {
        let solver = match solves {
            true => Some(options.solver.assemble(CONFLICTS)? as Box<dyn Solver>),
            false => None,
        };
        let (local, patience) = (options.limits.local, options.patience.clone());
        let machine = SymbolicMachine::until(Arc::clone(code), local, solver, patience);
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
    /// let options = Options {
    ///     solver: SolverChoice::Embedded.into(),
    ///     ..Options::default()
    /// };
    /// let record = program.check(&options, &mut quietly()).unwrap();
    /// assert_eq!(record.verdict, Verdict::Violated);
    /// let x: i32 = record.program.set[0].1.parse().unwrap();
    /// assert!(x.wrapping_mul(x) < 0);
    /// ```
    pub fn check(
        &self,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, NothingRequired> {
        let code = &self.plain;
        let deterministic =
            options.deterministic || code.observes() || !code.states_other_property();
        let goal = Goal::Verdict {
            deterministic: false,
        };
        self.search(
            "check",
            Algorithm::Optimal,
            goal,
            deterministic,
            options,
            watch,
        )
    }

    /// The whole space for all initial values, with one engine, and its counts: one execution for each trace and each way through the
    /// conditions on initial values. Failures and deadlocks violate, and each is shown with initial values of its own. An engine that
    /// compares states would have to know for which values they are: `None`.
    pub fn explore(
        &self,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Option<Result<Record, NothingRequired>> {
        let goal = Goal::Everything;
        let explores = !algorithm.compares_states();
        explores.then(|| self.search("explore", algorithm, goal, false, options, watch))
    }

    fn search(
        &self,
        command: &str,
        algorithm: Algorithm,
        goal: Goal,
        deterministic: bool,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, NothingRequired> {
        let options = &options.started();
        let mut machine = self.machine(&self.plain, true, options)?;
        let mut finals = Finals::default();
        let limits = &options.limits;
        let found = search(&mut machine, algorithm, limits, goal, watch, &mut finals);
        options.show();
        let mut bounds = found.bounds.clone();
        // For a verdict one is enough.
        let most = match goal {
            Goal::Everything => usize::MAX,
            Goal::Verdict { .. } => 1,
        };
        let findings = found.failures.iter().chain(&found.deadlock);
        let shown = findings.filter_map(|finding| self.shown(&mut machine, finding, options));
        let mut evidence: Vec<Shown> = shown.take(most).collect();
        let suspicious = !found.failures.is_empty() || found.deadlock.is_some();
        let mut unsure = suspicious && evidence.is_empty();
        let mut agree =
            (found.stopped == StopReason::Complete && !finals.all.is_empty()).then_some(true);
        // Whether results agree is of interest beside a failure, too, unless the search stopped
        // there.
        if evidence.is_empty() || agree.is_some() {
            match machine.difference(&finals.all) {
                Difference::Never => {}
                Difference::Unknown => {
                    agree = None;
                    unsure |= deterministic;
                }
                Difference::Between(one, other, concrete) => {
                    agree = Some(false);
                    if evidence.is_empty() && deterministic {
                        let schedules = [one, other].map(|at| &finals.schedules[at]);
                        evidence.extend(self.two_runs(&mut machine, schedules, *concrete, options));
                        unsure |= evidence.is_empty();
                    }
                }
            }
        }
        let doubts = machine.doubts();
        let unsure = unsure.then_some(Bound::Undecided);
        for bound in options.bounds_of(&doubts).chain(unsure) {
            if !bounds.contains(&bound) {
                bounds.push(bound);
            }
        }
        let verdict = match () {
            () if !evidence.is_empty() => Verdict::Violated,
            () if !bounds.is_empty() => Verdict::Inconclusive,
            () => Verdict::Verified,
        };
        // Where something was left out, another result may have been.
        agree = agree.filter(|&agree| !agree || bounds.is_empty());
        let (program, witnesses) = self.told(evidence);
        Ok(Record {
            version: VERSION,
            program,
            command: command.to_owned(),
            algorithm: algorithm.to_string(),
            options: Some(options.record(Some(limits.depth()))),
            verdict,
            scope: Scope {
                exhaustive: found.stopped == StopReason::Complete && bounds.is_empty(),
                bounds,
            },
            stopped: match (found.stopped, verdict) {
                (_, Verdict::Inconclusive) => StopReason::Bound,
                (stopped, _) => stopped,
            },
            deterministic: agree,
            counts: found.counts,
            seconds: found.elapsed.as_secs_f64(),
            solver: None,
            witnesses,
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
        let options = &options.started();
        let mut machine = self.machine(&self.code, wanted.feasible, options)?;
        if !wanted.feasible {
            machine = machine.literally();
        }
        let mut collecting = Collecting {
            most: wanted.listed,
            ..Collecting::default()
        };
        let start = machine.state();
        let mut found = symbolic(
            &mut machine,
            wanted.por,
            wanted.prefix_pruning,
            &options.limits,
            watch,
            &mut collecting,
        );
        options.show();
        let suspicious =
            found.failures > 0 || found.deadlocks > 0 || !collecting.mishaps.is_empty();
        let mut shown = false;
        if wanted.feasible {
            machine.restore(&start);
            shown = collecting.examples(&mut machine, options);
        }
        let unsure = (suspicious && !shown).then_some(Bound::Undecided);
        let doubts = machine.doubts();
        for bound in options.bounds_of(&doubts).chain(unsure) {
            if !found.bounds.contains(&bound) {
                found.bounds.push(bound);
            }
        }
        let cut = !found.bounds.is_empty();
        let verdict = match () {
            () if shown => Verdict::Violated,
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
            solver: None,
            witnesses: Vec::new(),
        };
        let states = SymbolicStates {
            por: wanted.por.to_string(),
            prefix_pruning: wanted.prefix_pruning,
            feasible: wanted.feasible,
            count: found.states,
            peak: found.peak,
            curve: found.curve,
            mishaps: collecting.mishaps.into_iter().map(|m| m.record).collect(),
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

impl SymbolicProgram {
    /// The program and the witnesses as a record has them. If all are for the same initial values, these are settings of
    /// the program; if not, each witness has its own.
    fn told(&self, evidence: Vec<Shown>) -> (ProgramRecord, Vec<Witness>) {
        let mut program = self.record.clone();
        let same = evidence
            .windows(2)
            .all(|two| two[0].values == two[1].values);
        if let (Some(first), true) = (evidence.first(), same) {
            program.set.extend(settings(&first.values));
            program.hash = hash(&self.source, &program.set);
        }
        let witness = |shown: Shown| Witness {
            set: match same {
                true => Vec::new(),
                false => settings(&shown.values),
            },
            ..shown.witness
        };
        (program, evidence.into_iter().map(witness).collect())
    }

    /// The ordinary program with these initial values: what a replay of the record runs. Its code is
    /// not that of the symbolic machine, which evaluates more than it needs to keep terms whole.
    fn ordinary(&self, values: &[Binding], options: &Options) -> Option<Machine> {
        let given = settings(values);
        let all = self.record.set.iter().chain(&given);
        let setting = |(name, value): &(String, String)| Setting {
            name: name.clone(),
            value: value.clone(),
        };
        let all: Vec<Setting> = all.map(setting).collect();
        let checked = mazurka_lang::load(&self.source, &all).ok()?;
        let code = mazurka_lang::compile(&checked, &self.source).ok()?;
        Some(Machine::new(Arc::new(code), options.limits.local))
    }

    /// The evidence for a failure or a deadlock, with initial values that lead to it.
    fn shown(
        &self,
        machine: &mut SymbolicMachine,
        finding: &Finding,
        options: &Options,
    ) -> Option<Shown> {
        follow(machine, &finding.schedule);
        let concrete = machine.start_all();
        let concrete = concrete.then(|| machine.concrete(finding.mishap.as_ref()))??;
        let schedule = &concrete.schedule;
        let mut program = self.ordinary(&concrete.values, options)?;
        let told = evidence::tell(&mut program, schedule).ok()?;
        let witness = match finding.mishap {
            Some(mishap) => {
                // Places have other numbers in the other code; mishaps come in the same order.
                let mut same = Machine::new(concrete.code, options.limits.local);
                let all = evidence::tell(&mut same, schedule).ok()?.failures;
                let at = all.iter().position(|known| known.site == mishap.site)?;
                let mishap = *told.failures.get(at).filter(|m| m.kind == mishap.kind)?;
                let violation = Violation::Failure(mishap.site);
                let schedule = minimise(&mut program, schedule, &violation);
                let told = evidence::tell(&mut program, &schedule).ok()?;
                evidence::failure(&mut program, told.run, &mishap)
            }
            None => {
                told.deadlocked.then_some(())?;
                let violation = Violation::Deadlock(with_status(&program, Status::Waiting));
                let schedule = minimise(&mut program, schedule, &violation);
                let told = evidence::tell(&mut program, &schedule).ok()?;
                evidence::deadlock(&mut program, told.run)
            }
        };
        let values = concrete.values;
        Some(Shown { witness, values })
    }

    /// Two runs from the same values that end differently.
    fn two_runs(
        &self,
        machine: &mut SymbolicMachine,
        schedules: [&Schedule; 2],
        concrete: Concrete,
        options: &Options,
    ) -> Option<Shown> {
        let [one, other] = schedules.map(|schedule| {
            follow(machine, schedule);
            machine.concrete_schedule()
        });
        let mut program = self.ordinary(&concrete.values, options)?;
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

/// Writes down the first states, and of each kind of mishap the first.
#[derive(Default)]
struct Collecting {
    most: usize,
    listed: Vec<SymbolicStateRecord>,
    /// For each of these the run that ended there.
    runs: Vec<Schedule>,
    /// What has gone wrong anywhere.
    mishaps: Vec<Wrong>,
    /// The first run that ended in a deadlock.
    deadlock: Option<Schedule>,
}

struct Wrong {
    mishap: Mishap,
    run: Schedule,
    record: SymbolicMishap,
}

impl Audience<SymbolicMachine> for Collecting {
    fn ended(&mut self, machine: &SymbolicMachine, end: End, leads_here: &dyn LeadsHere) {
        if end == End::Deadlock && self.deadlock.is_none() {
            self.deadlock = Some(leads_here.run());
        }
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
            schedule: leads_here.schedule().to_string(),
            mishaps: wrong.iter().map(|m| machine.explain(m).0).collect(),
            example: Vec::new(),
        });
        self.runs.push(leads_here.run());
    }

    fn failed(&mut self, machine: &SymbolicMachine, mishap: Mishap, leads_here: &dyn LeadsHere) {
        let what = machine.explain(&mishap).0;
        if !self.mishaps.iter().any(|known| known.record.what == what) {
            self.mishaps.push(Wrong {
                mishap,
                record: SymbolicMishap {
                    what,
                    schedule: leads_here.schedule().to_string(),
                    example: Vec::new(),
                },
                run: leads_here.run(),
            });
        }
    }
}

impl Collecting {
    /// Finds values for everything that was written down, and runs it with these. Says whether something went wrong again.
    fn examples(&mut self, machine: &mut SymbolicMachine, options: &Options) -> bool {
        let mut run_again = |run: &Schedule, mishap: Option<&Mishap>| {
            follow(machine, run);
            if let Some(mishap) = mishap {
                leave_out_others(machine, mishap);
            }
            run_again(machine, mishap, options)
        };
        let mut wrong = false;
        for found in &mut self.mishaps {
            if let Some(shown) = run_again(&found.run, Some(&found.mishap)) {
                found.record.example = shown.1;
                wrong = true;
            }
        }
        for (state, run) in self.listed.iter_mut().zip(&self.runs) {
            if let Some((ends, values)) = run_again(run, None) {
                assert_eq!(ends, state.ending, "a run ends differently: {run}");
                state.example = values;
            }
        }
        let deadlock = self.deadlock.as_ref();
        let again = deadlock.and_then(|run| run_again(run, None));
        wrong || again.is_some_and(|(ends, _)| ends == Ending::Deadlock)
    }
}

/// Leaves of the current run only what happens before a mishap of its last step: another process
/// may have had a false `assume`, and need not.
fn leave_out_others(machine: &mut SymbolicMachine, mishap: &Mishap) {
    let events = machine.events();
    if let Some(last) = events.last()
        && last.mishaps.contains(mishap)
    {
        let past = HappensBefore::of(events).past(events.len() - 1);
        let past = past.iter().map(|&at| &events[at]);
        let schedule = Schedule::of_each(past, machine.processes());
        follow(machine, &schedule);
    }
    machine.start_all();
}

/// The current run with concrete values: how it ends, and the values. None if no values are known,
/// if a step was too much for a machine, or the mishap does not come again.
fn run_again(
    machine: &SymbolicMachine,
    mishap: Option<&Mishap>,
    options: &Options,
) -> Option<(Ending, Vec<Binding>)> {
    let concrete = machine.concrete(mishap)?;
    let mut program = Machine::new(concrete.code, options.limits.local);
    let told = evidence::tell(&mut program, &concrete.schedule);
    // Where the evaluator gives up, one machine may go farther than the other.
    let gave_up = |event: &Event| {
        event.mishaps.iter().any(|mishap| match mishap.kind {
            MishapKind::OutOfRange
            | MishapKind::LocalLimit
            | MishapKind::Undecided
            | MishapKind::BrokenOff => true,
            MishapKind::Failure | MishapKind::Discarded => false,
        })
    };
    if program.events().iter().chain(machine.events()).any(gave_up) {
        return None;
    }
    let told = match told {
        Ok(told) => told,
        Err(error) => panic!("a symbolic run does not run with values: {error}"),
    };
    if let Some(wanted) = mishap {
        told.failures.iter().find(|m| m.site == wanted.site)?;
    } else if let Some(cells) = machine.under(|name| given_value(&concrete.values, name)) {
        let same = |(cell, &value): (usize, &i64)| program.value(cell as u32) == value;
        let all = cells.iter().enumerate().all(same);
        assert!(all, "a run ends in another state: {}", concrete.schedule);
    }
    Some((ending(&program), concrete.values))
}

/// The value of a variable; what nobody has asked for is 0.
fn given_value(values: &[Binding], name: &str) -> Option<i64> {
    let known = values.iter().find(|binding| binding.name == name);
    // A `u64` is kept as the bits of an `i64`.
    known.map_or(Some(0), |binding| Some(parse_input(&binding.value)? as i64))
}
