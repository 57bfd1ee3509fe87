//! `symbolic`: all final symbolic states of a program, which may have unknown values.
//!
//! A variable without an initial value may have every value of its type. A [`Reduction`] determines
//! which symbolic states are merged. [`Program::symbolic`] has an example; docs/symbolic.md has the
//! details.
//!
//! Each worker has a machine with terms and a solver of its own, and keeps only the runs to its
//! findings, with their ranks. A last machine makes the runs of the first findings again and
//! describes them: how a term is written, and which values the solver finds, depend on the earlier
//! terms and queries of a machine. So the record does not depend on the workers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mazurka_core::record::{
    Binding, Ending, KindsRecord, PathEvent, Record, SymbolicMishap, SymbolicStateRecord,
    SymbolicStates, VERSION,
};
use mazurka_core::{
    Bound, Counts, Execution, HappensBefore, Mishap, Patience, Schedule, Scope, StopReason,
    Verdict, conjunction, ending,
};
use mazurka_explore::{Audience, End, LeadsHere, Rank, SymbolicSearch, Workers};
use mazurka_lang::{Code, Doubts, Machine, SymbolicMachine, compile_symbolic};
use serde::{Deserialize, Serialize};

use crate::traces::path_event;
use crate::unknowns::{follow, parse_input, symbolic_machine};
use crate::{Options, Program, Refused, Watch, evidence};

pub use mazurka_explore::Reduction;

/// The options of symbolic execution.
#[derive(Clone, Debug)]
pub struct SymbolicOptions {
    /// Which states are merged.
    pub por: Reduction,
    /// Whether to drop states whose path was expanded before.
    pub prefix_pruning: bool,
    /// Whether to drop states whose path condition is unsatisfiable.
    pub feasible: bool,
    /// Number of states to list.
    pub listed: usize,
    /// Whether to describe the symbolic path of each listed state, event by event.
    pub paths: bool,
}

impl Default for SymbolicOptions {
    fn default() -> Self {
        Self {
            por: Reduction::Canonical,
            prefix_pruning: false,
            feasible: true,
            listed: 100,
            paths: false,
        }
    }
}

/// The record of symbolic states: the common record, and the states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SymbolicRecord {
    /// The common record. Its `steps` are applications of the rule SCHEDULE.
    #[serde(flatten)]
    pub record: Record,
    /// The states.
    pub states: SymbolicStates,
}

impl Program {
    /// Executes the program symbolically, up to its final states. A failure or deadlock is a
    /// violation if some values lead to it. With `feasible` off, it is unknown whether there are
    /// such values.
    ///
    /// ```
    /// use mazurka::{Options, Program, quietly};
    /// use mazurka::symbolic::SymbolicOptions;
    /// let source = "var x, y: int  process { if x > y { x := y } }  process { y := y + 1 }";
    /// let program = Program::load("smaller.maz", source, &[]).unwrap();
    /// let found = program
    ///     .symbolic(&SymbolicOptions::default(), &Options::default(), &mut quietly())
    ///     .unwrap();
    /// assert_eq!(found.states.count, 5);
    /// assert_eq!(found.states.listed[0].path_condition, ["x <= y"]);
    /// ```
    pub fn symbolic(
        &self,
        wanted: &SymbolicOptions,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<SymbolicRecord, Refused> {
        let options = &options.started();
        let code = self.language.maz().ok_or(Refused::NotMaz)?;
        if code.has_object() {
            return Err(Refused::Object);
        }
        // With `feasible` off, steps are counted as in the prototype of the paper: leaving a loop
        // whose bound is reached is a step.
        let exits = !wanted.feasible;
        let code = Arc::new(compile_symbolic(code.program(), code.source(), exits));
        let machine = |patience: Patience| {
            if wanted.feasible {
                return symbolic_machine(&code, options, patience);
            }
            let local = options.limits.local;
            let machine = SymbolicMachine::until(Arc::clone(&code), local, None, patience, None);
            Ok(machine.literally())
        };
        let mut searching = machine(options.patience.clone())?;
        let machines = || machine(options.patience.clone()).expect("it could start");
        let workers = Workers {
            count: options.jobs,
            programs: &machines,
        };
        let collecting = || Collecting {
            most: wanted.listed,
            ..Collecting::default()
        };
        let search = SymbolicSearch {
            reduction: wanted.por,
            pruned: wanted.prefix_pruning,
            limits: options.limits.clone(),
            alone: ALONE,
        };
        let (mut found, parts) = search.share(&mut searching, &workers, watch, &collecting);
        drop(searching);
        let mut collected = collecting();
        parts.into_iter().for_each(|part| collected.absorb(part));
        options.show();
        let mut machine = machine(Patience::default())?;
        let mut shown = collected.describe(&mut machine, wanted, &code);
        let suspicious = found.failures > 0 || found.deadlocks > 0 || !shown.mishaps.is_empty();
        let occurs = wanted.feasible && collected.examples(&mut machine, &mut shown, options);
        let unsure = (suspicious && !occurs).then_some(Bound::Undecided);
        let mut doubts = collected.doubts;
        doubts.add(&machine.doubts());
        for bound in options.bounds_of(&doubts, watch).into_iter().chain(unsure) {
            if !found.bounds.contains(&bound) {
                found.bounds.push(bound);
            }
        }
        let cut = !found.bounds.is_empty();
        let verdict = match () {
            () if occurs => Verdict::Violated,
            () if cut => Verdict::Inconclusive,
            () => Verdict::Verified,
        };
        let mut record = Record {
            version: VERSION,
            program: self.record().clone(),
            command: "symbolic".to_owned(),
            algorithm: "sympaths".to_owned(),
            options: Some(options.record(Some(options.limits.depth()))),
            verdict,
            scope: Scope {
                exhaustive: found.bounds.is_empty(),
                bounds: found.bounds,
                outside: Vec::new(),
            },
            stopped: if cut {
                StopReason::Bound
            } else {
                StopReason::Complete
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
                ..Counts::default()
            },
            seconds: found.elapsed.as_secs_f64(),
            solver: None,
            kinds: KindsRecord::default(),
            witnesses: Vec::new(),
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
        record.add_bounds(self.leaves_out_temporal(self.counted(options)));
        record.add_bounds(self.leaves_out(options));
        let states = SymbolicStates {
            por: wanted.por.to_string(),
            prefix_pruning: wanted.prefix_pruning,
            feasible: wanted.feasible,
            count: found.states,
            peak: found.peak,
            curve: found.curve,
            mishaps: shown.mishaps,
            listed: shown.listed,
            open: shown.open,
        };
        Ok(SymbolicRecord { record, states })
    }
}

/// The time after which workers share a search.
const ALONE: Duration = Duration::from_millis(20);

/// A state that was found.
struct FoundState {
    rank: Rank,
    end: End,
    /// The run in the order of the form of the path.
    schedule: Schedule,
    /// The run as it was made.
    run: Schedule,
}

/// A mishap that was found.
struct FoundMishap {
    rank: Rank,
    mishap: Mishap,
    schedule: Schedule,
    run: Schedule,
}

/// The first states, mishaps and deadlock, by rank.
#[derive(Default)]
struct Collecting {
    /// Limit on the states of each list.
    most: usize,
    /// The states at the end.
    ends: Vec<FoundState>,
    /// The states that were not expanded.
    open: Vec<FoundState>,
    /// The mishaps, one for each text.
    mishaps: BTreeMap<String, FoundMishap>,
    /// The first run that ended in a deadlock.
    deadlock: Option<(Rank, Schedule)>,
    /// What the solvers could not decide.
    doubts: Doubts,
}

/// The findings for the record.
struct Shown {
    listed: Vec<SymbolicStateRecord>,
    open: Vec<SymbolicStateRecord>,
    mishaps: Vec<SymbolicMishap>,
}

impl Audience<SymbolicMachine> for Collecting {
    fn ended(&mut self, _: &SymbolicMachine, end: End, leads_here: &dyn LeadsHere) {
        let rank = leads_here.rank();
        let earlier = |known: &(Rank, Schedule)| known.0 < rank;
        if end == End::Deadlock && !self.deadlock.as_ref().is_some_and(earlier) {
            self.deadlock = Some((rank, leads_here.run()));
        }
        let most = self.most;
        let states = self.states(end);
        let at = states.partition_point(|state| state.rank < rank);
        if at < most {
            let found = FoundState {
                rank,
                end,
                schedule: leads_here.schedule(),
                run: leads_here.run(),
            };
            states.insert(at, found);
            states.truncate(most);
        }
    }

    fn failed(&mut self, machine: &SymbolicMachine, mishap: Mishap, leads_here: &dyn LeadsHere) {
        let rank = leads_here.rank();
        let what = machine.explain(&mishap).0;
        if self
            .mishaps
            .get(&what)
            .is_none_or(|known| rank < known.rank)
        {
            let found = FoundMishap {
                rank,
                mishap,
                schedule: leads_here.schedule(),
                run: leads_here.run(),
            };
            self.mishaps.insert(what, found);
        }
    }

    fn closed(&mut self, machine: &SymbolicMachine) {
        self.doubts.add(&machine.doubts());
    }
}

impl Collecting {
    fn states(&mut self, end: End) -> &mut Vec<FoundState> {
        match end {
            End::Cut => &mut self.open,
            _ => &mut self.ends,
        }
    }

    /// Adds the findings of another worker.
    fn absorb(&mut self, more: Collecting) {
        for state in more.ends.into_iter().chain(more.open) {
            self.states(state.end).push(state);
        }
        let most = self.most;
        for states in [&mut self.ends, &mut self.open] {
            states.sort_by_key(|state| state.rank);
            states.truncate(most);
        }
        for (what, found) in more.mishaps {
            let known = self.mishaps.get(&what);
            if known.is_none_or(|known| found.rank < known.rank) {
                self.mishaps.insert(what, found);
            }
        }
        let deadlocks = self.deadlock.take().into_iter().chain(more.deadlock);
        self.deadlock = deadlocks.min_by_key(|(rank, _)| *rank);
        self.doubts.add(&more.doubts);
    }

    /// Describes the findings, in the order of their ranks. The machine makes their runs again.
    fn describe(
        &self,
        machine: &mut SymbolicMachine,
        wanted: &SymbolicOptions,
        code: &Code,
    ) -> Shown {
        let mut state = |found: &FoundState| {
            let path = if wanted.paths {
                symbolic_path(machine, code, &found.run)
            } else {
                Vec::new()
            };
            follow(machine, &found.run);
            let wrong = match found.end {
                End::Final => machine.final_mishaps(),
                _ => Vec::new(),
            };
            SymbolicStateRecord {
                ending: match found.end {
                    End::Deadlock => Ending::Deadlock,
                    End::Failure => Ending::Failure,
                    End::Cut => Ending::Open,
                    _ => Ending::Final,
                },
                path_condition: machine.path_condition(),
                substitution: machine.substitution(),
                schedule: found.schedule.to_string(),
                mishaps: wrong.iter().map(|m| machine.explain(m).0).collect(),
                path,
                example: Vec::new(),
            }
        };
        let mishap = |(what, found): &(&String, &FoundMishap)| SymbolicMishap {
            what: (*what).clone(),
            schedule: found.schedule.to_string(),
            example: Vec::new(),
        };
        Shown {
            listed: self.ends.iter().map(&mut state).collect(),
            open: self.open.iter().map(&mut state).collect(),
            mishaps: self.mishaps_by_rank().iter().map(mishap).collect(),
        }
    }

    fn mishaps_by_rank(&self) -> Vec<(&String, &FoundMishap)> {
        let mut all: Vec<(&String, &FoundMishap)> = self.mishaps.iter().collect();
        all.sort_by_key(|(_, found)| found.rank);
        all
    }

    /// Finds values for every listed state, every mishap and the first deadlock, and repeats the
    /// runs with these values. Returns whether a violation occurred again.
    fn examples(
        &self,
        machine: &mut SymbolicMachine,
        shown: &mut Shown,
        options: &Options,
    ) -> bool {
        let mut run_again = |run: &Schedule, mishap: Option<&Mishap>| {
            follow(machine, run);
            if let Some(mishap) = mishap {
                leave_out_others(machine, mishap);
            }
            run_again(machine, mishap, options)
        };
        let mut wrong = false;
        let mishaps = self.mishaps_by_rank();
        for (record, (_, found)) in shown.mishaps.iter_mut().zip(mishaps) {
            if let Some((_, values)) = run_again(&found.run, Some(&found.mishap)) {
                record.example = values;
                wrong = true;
            }
        }
        for (state, found) in shown.listed.iter_mut().zip(&self.ends) {
            let run = &found.run;
            if let Some((ends, values)) = run_again(run, None) {
                assert_eq!(ends, state.ending, "a run ends differently: {run}");
                state.example = values;
            }
        }
        let deadlock = self.deadlock.as_ref();
        let again = deadlock.and_then(|(_, run)| run_again(run, None));
        wrong || again.is_some_and(|(ends, _)| ends == Ending::Deadlock)
    }
}

/// Returns the symbolic path of a run, event by event (Definition 2).
fn symbolic_path(machine: &mut SymbolicMachine, code: &Code, run: &Schedule) -> Vec<PathEvent> {
    let mut path = Vec::new();
    machine.back_to(0);
    for step in &run.0 {
        let process = machine.processes().find(&step.process);
        let made = process.map(|process| machine.step(process, &step.outcomes).is_ok());
        assert_eq!(
            made,
            Some(true),
            "a symbolic run cannot be made again: {run}"
        );
        let conditions = machine.last_conditions();
        let Some(event) = machine.events().last() else {
            continue;
        };
        let says_something =
            !conditions.is_empty() || !event.touched.is_empty() || !event.spawned.is_empty();
        if says_something && !event.stayed {
            let process = step.process.to_string();
            let condition = Some(conjunction(&conditions));
            let accesses = event.touched.iter().copied();
            let event = path_event(&|cell| code.cell_name(cell), process, condition, accesses);
            path.push(event);
        }
    }
    path
}

/// Reduces the current run to the events that happen before a mishap of its last step. Other events
/// are not needed, and one of them may be a false `assume`.
fn leave_out_others(machine: &mut SymbolicMachine, mishap: &Mishap) {
    let events = machine.events();
    if let Some(last) = events.last()
        && last.mishaps.contains(mishap)
    {
        let past = HappensBefore::new(events).past(events.len() - 1);
        let past = past.iter().map(|&at| &events[at]);
        let schedule = Schedule::of_each(past, machine.processes());
        follow(machine, &schedule);
    }
    machine.start_all();
}

/// Repeats the current run with concrete values. Returns how the run ends, and the values. Returns
/// `None` if no values are known, if a machine gave up on a step, or if the mishap does not occur
/// again.
fn run_again(
    machine: &SymbolicMachine,
    mishap: Option<&Mishap>,
    options: &Options,
) -> Option<(Ending, Vec<Binding>)> {
    let concrete = machine.concrete(mishap)?;
    let mut program = Machine::new(concrete.code, options.limits.local);
    let narrated = evidence::tell(&mut program, &concrete.schedule);
    // If the evaluator gives up on a step, one of the two machines may get further than the other.
    let gave_up = !evidence::bounds_of_run(&program, &options.limits).is_empty()
        || !evidence::bounds_of_run(machine, &options.limits).is_empty();
    if gave_up || program.broken_requires().is_some() {
        return None;
    }
    // A guard may have a value beyond 64 bits, which a machine over numbers cannot compute.
    if mishap.is_none() && !evidence::bounds_of_next_steps(&mut program, &options.limits).is_empty()
    {
        return None;
    }
    let narrated = match narrated {
        Ok(narrated) => narrated,
        Err(error) => panic!("a symbolic run does not run with values: {error}"),
    };
    if let Some(wanted) = mishap {
        narrated.failures.iter().find(|m| m.site == wanted.site)?;
    } else if let Some(cells) = machine.under(|name| given_value(&concrete.values, name)) {
        let same = |(cell, &value): (usize, &i64)| program.value(cell as u32) == value;
        let all = cells.iter().enumerate().all(same);
        assert!(all, "a run ends in another state: {}", concrete.schedule);
    }
    Some((ending(&program), concrete.values))
}

/// Returns the given value of a variable, or 0 if none is given. Returns `None` if the given text
/// is not a value.
fn given_value(values: &[Binding], name: &str) -> Option<i64> {
    let known = values.iter().find(|binding| binding.name == name);
    // A `u64` is stored as the bits of an `i64`.
    known.map_or(Some(0), |binding| Some(parse_input(&binding.value)? as i64))
}
