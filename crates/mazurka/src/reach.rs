//! `reach`: whether a state can be reached, searched for in the net.

use std::ops::ControlFlow;
use std::time::Instant;

use mazurka_core::record::{Record, Run};
use mazurka_core::{Execution, Narrator, ProcessId, ProcessPath, StopReason, Verdict};
use mazurka_explore::{Goal, NetKind, Progress, Question, unfold};
use mazurka_lang::{Machine, Property};
use serde::{Deserialize, Serialize};

use crate::front::{Front, Language};
use crate::translation::{self, NotTranslated};
use crate::{Algorithm, Options, Program, Watch};

/// Whether a state can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reached {
    /// It can, and the run shows it.
    Reachable,
    /// No execution has it.
    Unreachable,
    /// A bound was hit before it was found.
    Unknown,
}

/// How to look for a state in a net.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// Enumerate the markings of what the property is about.
    #[default]
    Search,
    /// Translate the net into a formula, and ask a solver.
    Smt,
}

impl Method {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Method::Search => "search",
            Method::Smt => "smt",
        }
    }
}

/// The record of a search for a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReachRecord {
    /// What every record has. The verdict is violated if the state can be reached, verified if not.
    #[serde(flatten)]
    pub record: Record,
    /// The property.
    pub state: String,
    /// The answer.
    pub answer: Reached,
    /// The net that was searched.
    pub net: String,
    /// How it was looked for: `search` or `smt`.
    pub method: String,
    /// How many executions were run to build the net.
    pub tests: u64,
    /// With `search`: how many markings of the property's variables and processes were looked at.
    pub markings: u64,
    /// A run to the state.
    pub run: Option<Run>,
}

/// A property of the states of a program, read and checked.
#[derive(Clone, Debug)]
pub struct StateProperty {
    text: String,
    property: Property,
}

/// What a net is asked.
struct Asked<'a> {
    property: &'a Property,
    processes: Vec<ProcessPath>,
}

impl Question<Machine> for Asked<'_> {
    fn cells(&self) -> &[u32] {
        self.property.cells()
    }

    fn processes(&self) -> &[ProcessPath] {
        &self.processes
    }

    fn value(&self, program: &Machine, cell: u32) -> i64 {
        program.value(cell)
    }

    fn line(&self, program: &Machine, process: ProcessId) -> Option<usize> {
        program.line(process)
    }

    fn holds(&self, values: &[i64], lines: &[Option<usize>]) -> bool {
        let value = |cell: u32| {
            let at = self
                .property
                .cells()
                .iter()
                .position(|&known| known == cell);
            at.map_or(0, |at| values[at])
        };
        let at = |(process, line): &(ProcessPath, usize)| {
            let known = self.processes.iter().position(|known| known == process);
            known.and_then(|known| lines[known]) == Some(*line)
        };
        let at: Vec<bool> = self.property.points().iter().map(at).collect();
        self.property.holds(&value, &at)
    }
}

impl Asked<'_> {
    /// Whether it holds in the current state.
    fn holds_now(&self, machine: &Machine) -> bool {
        let values: Vec<i64> = self
            .cells()
            .iter()
            .map(|&cell| machine.value(cell))
            .collect();
        let line = |path: &ProcessPath| {
            let process = machine.processes().find(path)?;
            machine.line(process)
        };
        let lines: Vec<_> = self.processes.iter().map(line).collect();
        self.holds(&values, &lines)
    }
}

impl StateProperty {
    /// Reads a property of a program, whose text and settings must be given again.
    pub fn read(
        source: &str,
        set: &[(String, String)],
        text: &str,
    ) -> Result<Self, mazurka_lang::BadProperty> {
        let setting = |(name, value): &(String, String)| mazurka_lang::Setting {
            name: name.clone(),
            value: value.clone(),
        };
        let settings: Vec<_> = set.iter().map(setting).collect();
        Ok(Self {
            text: text.to_owned(),
            property: Property::read(source, &settings, text)?,
        })
    }
}

impl Program {
    /// Whether a state with a property can be reached.
    ///
    /// # Panics
    ///
    /// If the program cannot be unfolded ([`Program::unfolds`]); no property of it can be read either.
    pub fn reach(
        &self,
        wanted: &StateProperty,
        (kind, method): (NetKind, Method),
        seed: u64,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<ReachRecord, NotTranslated> {
        let Language::Maz(front) = &self.language else {
            panic!("this program cannot be unfolded, see `Program::unfolds`");
        };
        let start = Instant::now();
        let mut machine = front.machine(options);
        let limits = &options.limits;
        let mut net = unfold(&mut machine, kind, seed, limits, Goal::Everything, watch);
        let points = wanted.property.points().iter();
        let mut processes: Vec<_> = points.map(|(process, _)| process.clone()).collect();
        processes.sort();
        processes.dedup();
        let asked = Asked {
            property: &wanted.property,
            processes,
        };
        let counts = net.found.counts;
        let mut ticks = 0_u32;
        let mut tick = || {
            ticks = ticks.wrapping_add(1);
            if !ticks.is_multiple_of(256) {
                return ControlFlow::Continue(());
            }
            let elapsed = start.elapsed();
            match limits.time {
                Some(limit) if elapsed >= limit => {
                    let limit = limit.as_millis() as u64;
                    ControlFlow::Break(mazurka_core::Bound::TimeLimit(limit))
                }
                _ => watch(&Progress {
                    counts,
                    elapsed,
                    done: None,
                    estimate: None,
                }),
            }
        };
        let looked = match method {
            Method::Search => net.reach(&mut machine, &asked, &mut tick),
            Method::Smt => match net.structure(&mut machine, &asked, &mut tick) {
                ControlFlow::Break(bound) => ControlFlow::Break(bound),
                ControlFlow::Continue(structure) => {
                    match translation::solve(&structure, &wanted.property)? {
                        Some(happened) => {
                            let schedule = happened.map(|all| net.schedule_of_all(&all));
                            ControlFlow::Continue((schedule, 0))
                        }
                        None => ControlFlow::Break(mazurka_core::Bound::Undecided),
                    }
                }
            },
        };
        let (schedule, markings) = match looked {
            ControlFlow::Continue(found) => found,
            ControlFlow::Break(bound) => {
                net.found.bounds.push(bound);
                net.found.stopped = StopReason::Bound;
                (None, 0)
            }
        };
        let run = schedule.map(|schedule| match machine.narrate(&schedule) {
            Ok(run) => run,
            Err(error) => panic!("a schedule of the net does not run: {error}"),
        });
        // What is shown has been run, and looked at again.
        assert!(
            run.is_none() || asked.holds_now(&machine),
            "the run does not reach the state"
        );
        let answer = match (&run, net.found.bounds.is_empty()) {
            (Some(_), _) => Reached::Reachable,
            (None, true) => Reached::Unreachable,
            (None, false) => Reached::Unknown,
        };
        let found = &mut net.found;
        let tests = found.counts.executions + found.counts.discarded;
        // The question is about this state alone.
        found.failures.clear();
        found.deadlock = None;
        found.elapsed = start.elapsed();
        let algorithm = Algorithm::Optimal;
        let mut record = self.judge("reach", algorithm, options, false, &mut machine, found);
        record.algorithm = "unfold".to_owned();
        record.deterministic = None;
        record.verdict = match answer {
            Reached::Reachable => Verdict::Violated,
            Reached::Unreachable => Verdict::Verified,
            Reached::Unknown => Verdict::Inconclusive,
        };
        Ok(ReachRecord {
            record,
            state: wanted.text.clone(),
            answer,
            net: kind.to_string(),
            method: method.name().to_owned(),
            tests,
            markings,
            run,
        })
    }
}
