//! `symbolic`: all final symbolic states of a program, which may have unknown values.
//!
//! A variable without an initial value may have every value of its type. A [`Reduction`] determines
//! which symbolic states are merged. [`Program::symbolic`] has an example; docs/symbolic.md has the
//! details.

use std::sync::Arc;

use mazurka_core::record::{
    Binding, Ending, KindsRecord, Record, SymbolicMishap, SymbolicStateRecord, SymbolicStates,
    VERSION,
};
use mazurka_core::{
    Bound, Counts, Execution, HappensBefore, Mishap, Schedule, Scope, Semantics, StopReason,
    Verdict, conjunction, ending,
};
use mazurka_explore::{Audience, End, LeadsHere, SymbolicSearch};
use mazurka_lang::{Code, Machine, SymbolicMachine, compile_symbolic};
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
        let mut machine = if wanted.feasible {
            symbolic_machine(&code, options, options.patience.clone())?
        } else {
            let (local, patience) = (options.limits.local, options.patience.clone());
            SymbolicMachine::until(Arc::clone(&code), local, None, patience, None).literally()
        };
        let mut collecting = Collecting {
            most: wanted.listed,
            ..Collecting::default()
        };
        let start = machine.state();
        let search = SymbolicSearch {
            reduction: wanted.por,
            pruned: wanted.prefix_pruning,
            limits: options.limits.clone(),
        };
        let mut found = search.run(&mut machine, watch, &mut collecting);
        options.show();
        if wanted.paths {
            machine.restore(&start);
            collecting.describe_paths(&mut machine, &code);
        }
        let suspicious =
            found.failures > 0 || found.deadlocks > 0 || !collecting.mishaps.is_empty();
        let mut shown = false;
        if wanted.feasible {
            machine.restore(&start);
            shown = collecting.examples(&mut machine, options);
        }
        let unsure = (suspicious && !shown).then_some(Bound::Undecided);
        let doubts = machine.doubts();
        for bound in options.bounds_of(&doubts, watch).into_iter().chain(unsure) {
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
            mishaps: collecting.mishaps.into_iter().map(|m| m.record).collect(),
            listed: collecting.listed,
            open: collecting.open,
        };
        Ok(SymbolicRecord { record, states })
    }
}

/// Records the first states, the mishaps and the first deadlock.
#[derive(Default)]
struct Collecting {
    most: usize,
    listed: Vec<SymbolicStateRecord>,
    /// The run that ended in each recorded state.
    runs: Vec<Schedule>,
    /// The states that were not expanded.
    open: Vec<SymbolicStateRecord>,
    /// The run that led to each state in `open`.
    open_runs: Vec<Schedule>,
    /// The mishaps, one for each text.
    mishaps: Vec<SymbolicFailure>,
    /// The first run that ended in a deadlock.
    deadlock: Option<Schedule>,
}

/// A mishap, the run to it, and its record.
struct SymbolicFailure {
    mishap: Mishap,
    run: Schedule,
    record: SymbolicMishap,
}

impl Audience<SymbolicMachine> for Collecting {
    fn ended(&mut self, machine: &SymbolicMachine, end: End, leads_here: &dyn LeadsHere) {
        if end == End::Deadlock && self.deadlock.is_none() {
            self.deadlock = Some(leads_here.run());
        }
        let (states, runs) = match end {
            End::Cut => (&mut self.open, &mut self.open_runs),
            _ => (&mut self.listed, &mut self.runs),
        };
        if states.len() >= self.most {
            return;
        }
        let wrong = match end {
            End::Final => machine.final_mishaps(),
            _ => Vec::new(),
        };
        states.push(SymbolicStateRecord {
            ending: match end {
                End::Deadlock => Ending::Deadlock,
                End::Failure => Ending::Failure,
                End::Cut => Ending::Open,
                _ => Ending::Final,
            },
            path_condition: machine.path_condition(),
            substitution: machine.substitution(),
            schedule: leads_here.schedule().to_string(),
            mishaps: wrong.iter().map(|m| machine.explain(m).0).collect(),
            path: Vec::new(),
            example: Vec::new(),
        });
        runs.push(leads_here.run());
    }

    fn failed(&mut self, machine: &SymbolicMachine, mishap: Mishap, leads_here: &dyn LeadsHere) {
        let what = machine.explain(&mishap).0;
        if !self.mishaps.iter().any(|known| known.record.what == what) {
            self.mishaps.push(SymbolicFailure {
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
    /// Describes the symbolic path of every recorded state (Definition 2).
    fn describe_paths(&mut self, machine: &mut SymbolicMachine, code: &Code) {
        let listed = self.listed.iter_mut().zip(&self.runs);
        for (state, run) in listed.chain(self.open.iter_mut().zip(&self.open_runs)) {
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
                let says_something = !conditions.is_empty()
                    || !event.touched.is_empty()
                    || !event.spawned.is_empty();
                if says_something && !event.stayed {
                    let process = step.process.to_string();
                    let condition = Some(conjunction(&conditions));
                    let accesses = event.touched.iter().copied();
                    let event =
                        path_event(&|cell| code.cell_name(cell), process, condition, accesses);
                    state.path.push(event);
                }
            }
        }
    }

    /// Finds values for every listed state, every mishap and the first deadlock, and repeats the
    /// runs with these values. Returns whether a violation occurred again.
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
