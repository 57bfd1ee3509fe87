//! `symbolic`: all final symbolic states of a program whose initial values need not be known.

use std::sync::Arc;

use mazurka_core::record::{
    Ending, ProgramRecord, Record, SymbolicStateRecord, SymbolicStates, VERSION,
};
use mazurka_core::{Bound, Counts, Execution, Mishap, Schedule, Scope, StopReason, Verdict};
use mazurka_explore::{Audience, End, Reduction, symbolic};
use mazurka_lang::diagnostic::Diagnostic;
use mazurka_lang::{Code, Setting, SymbolicMachine, compile_symbolic};
use mazurka_smt::{Assembly, Choice, Missing, Solver, assemble};
use serde::{Deserialize, Serialize};

use crate::program::hash;
use crate::{Options, Watch};

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
    code: Arc<Code>,
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
        let assembly = Assembly {
            choice: wanted.solver,
            ..Assembly::default()
        };
        let solver = match wanted.feasible {
            true => Some(assemble(assembly)? as Box<dyn Solver>),
            false => None,
        };
        let code = Arc::clone(&self.code);
        let mut machine = SymbolicMachine::new(code, options.limits.local, solver);
        if !wanted.feasible {
            machine = machine.literally();
        }
        if !machine.can_start() {
            return Err(NothingRequired::NoStart);
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
