//! `replay`: runs a recorded run again, and compares it step by step.
//!
//! ```
//! use mazurka::replay::Recording;
//! use mazurka::{Options, Program, Verdict, quietly};
//!
//! let source = "var x: int = 0  process { x := 1 }  process { assert x == 0 }";
//! let program = Program::load("late.maz", source, &[]).unwrap();
//! let record = program.check(&Options::default(), &mut quietly()).unwrap();
//! let saved = serde_json::to_string(&record).unwrap();
//!
//! let recording = Recording::parse(&saved).unwrap();
//! let again = program.replay(&recording, &Options::default()).unwrap();
//! assert_eq!(again.verdict, Verdict::Violated);
//! ```

use std::time::Instant;

use mazurka_core::record::{
    Binding, CoverAnswer, CoverRecord, Kind, KindsRecord, OLDEST_VERSION, Record, Run, Step,
    VERSION, Witness,
};
use mazurka_core::{
    Counts, Mishap, Narrator, ParseScheduleError, Schedule, Scope, Semantics, StopReason, Verdict,
};
use mazurka_explore::BrokenProperty;
use serde::Deserialize;

use crate::evidence::{NarratedRun, temporal};
use crate::front::{Front, on_any_front};
use crate::refine::EXCEEDS;
use crate::unknowns::given;
use crate::{Options, Program, evidence};

pub use mazurka_core::ReplayError;

/// A record that was saved earlier, by `--format json` or `--witness`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Recording {
    /// The record.
    #[serde(flatten)]
    pub record: Record,
    /// The run, in a record of `run`.
    #[serde(default)]
    pub run: Option<Run>,
}

/// Why a text is not a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The text is not JSON, or does not have the shape of a record.
    #[error("this is not a record of Mazurka: {0}")]
    Shape(#[from] serde_json::Error),
    /// The record has an unsupported version.
    #[error(
        "this record has version {found}, and this Mazurka reads versions {OLDEST_VERSION} to {VERSION}; replay it with the Mazurka that wrote it, or make it again"
    )]
    Version {
        /// The version in the text.
        found: String,
    },
}

impl Recording {
    /// Parses a record.
    ///
    /// ```
    /// use mazurka::replay::Recording;
    /// let error = Recording::parse(r#"{"version": 99}"#).unwrap_err();
    /// assert!(error.to_string().starts_with("this record has version 99"));
    /// ```
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        match value.get("version") {
            Some(version) if version.as_u64().is_some_and(is_read) => {}
            Some(version) => {
                return Err(RecordingError::Version {
                    found: version.to_string(),
                });
            }
            None => {} // The shape is wrong, and the error will name the missing field.
        }
        Ok(serde_json::from_value(value)?)
    }
}

fn is_read(version: u64) -> bool {
    (u64::from(OLDEST_VERSION)..=u64::from(VERSION)).contains(&version)
}

/// Why a recorded run was not reproduced.
#[derive(Debug, thiserror::Error)]
pub enum ReplayProblem {
    /// The run was recorded with another program.
    #[error(
        "this was recorded with another program: `{file}` or its --set options have changed since (its hash was {recorded}, now it is {now})"
    )]
    OtherProgram {
        /// The file.
        file: String,
        /// The hash in the record.
        recorded: String,
        /// The hash of the current program.
        now: String,
    },
    /// The record contains no run.
    #[error("there is nothing to replay: the record has no witness and no run")]
    Nothing,
    /// The violation in the record has no run.
    #[error(
        "there is nothing to replay: the violation is a `cover` that no run reaches; to look for it again, `mazurka check {file}` with the options of then"
    )]
    Unreached {
        /// The file of the program.
        file: String,
    },
    /// A schedule cannot be parsed.
    #[error(transparent)]
    Schedule(#[from] ParseScheduleError),
    /// The run differs from the recorded one.
    #[error("the run diverges at step {step}: {what}")]
    Diverged {
        /// The step, from 1.
        step: usize,
        /// What was recorded, and what happened instead.
        what: String,
    },
    /// The steps are the same, but the violation does not occur again.
    #[error("all steps are as recorded, but {0}")]
    Changed(String),
}

impl ReplayProblem {
    /// Returns the reason why a record has no run to replay.
    pub fn without_runs(record: &Record) -> Self {
        let unreached = |cover: &CoverRecord| cover.answer == CoverAnswer::Unreached;
        if record.covers.iter().any(unreached) {
            Self::Unreached {
                file: record.program.file.clone(),
            }
        } else {
            Self::Nothing
        }
    }
}

impl Program {
    /// Runs every recorded run again and compares each step: the ready processes, the label, and
    /// the values that it read and changed. Returns a new record whose witnesses are the reproduced
    /// ones.
    pub fn replay(
        &self,
        recording: &Recording,
        options: &Options,
    ) -> Result<Record, ReplayProblem> {
        let options = &options.as_recorded(recording.record.options.as_ref());
        let asked = self.asked(options);
        on_any_front!(asked.language, front => self.replay_on(front, recording, options))
    }

    /// Returns the schedule of a recorded run: of the run in a record of `run`, or otherwise of the
    /// first witness.
    ///
    /// ```
    /// use mazurka::replay::Recording;
    /// use mazurka::run::Plan;
    /// use mazurka::{Options, Program, quietly};
    ///
    /// let source = "var x: int = 0 process { x := 1 } process { x := 2 }";
    /// let program = Program::load("two.maz", source, &[]).unwrap();
    /// let plan = Plan::Schedule("1 0".parse().unwrap());
    /// let ran = program.run(&plan, &Options::default(), &mut quietly()).unwrap();
    /// let recording = Recording { record: ran.record, run: Some(ran.run) };
    /// assert_eq!(program.recorded_schedule(&recording).unwrap().to_string(), "1 0");
    /// ```
    pub fn recorded_schedule(&self, recording: &Recording) -> Result<Schedule, ReplayProblem> {
        self.check_recorded(&recording.record)?;
        if let Some(memory) = &recording.record.memory_model {
            return Err(ReplayProblem::Changed(format!(
                "the record is of executions under the memory model {memory}"
            )));
        }
        let witnesses = recording.record.witnesses.iter();
        let mut runs = recording.run.iter().chain(witnesses.flat_map(|w| &w.runs));
        let run = runs
            .next()
            .ok_or_else(|| ReplayProblem::without_runs(&recording.record))?;
        Ok(run.schedule.parse()?)
    }

    /// Checks that a record belongs to this program.
    fn check_recorded(&self, old: &Record) -> Result<(), ReplayProblem> {
        if old.program.hash == self.record().hash {
            Ok(())
        } else {
            Err(ReplayProblem::OtherProgram {
                file: self.record().file.clone(),
                recorded: old.program.hash.clone(),
                now: self.record().hash.clone(),
            })
        }
    }

    fn replay_on<F: Front>(
        &self,
        front: &F,
        recording: &Recording,
        options: &Options,
    ) -> Result<Record, ReplayProblem> {
        let start = Instant::now();
        let old = &recording.record;
        self.check_recorded(old)?;
        if let Some(memory) = &old.memory_model {
            let Ok(memory) = memory.parse() else {
                return Err(ReplayProblem::Changed(format!(
                    "there is no memory model `{memory}`"
                )));
            };
            return self.replay_weakly(memory, recording, options);
        }
        let machine = |inputs: &[Binding]| {
            front.machine(&Options {
                inputs: inputs.iter().filter_map(given).collect(),
                ..options.clone()
            })
        };
        let words = if old.version < VERSION {
            TextCheck::Ignored
        } else {
            TextCheck::Compared
        };
        let mut witnesses = Vec::new();
        let mut counts = Counts::default();
        let mut runs: Vec<&Run> = Vec::new();
        // A cover that is never reached has no run.
        let shown = old.witnesses.iter();
        for witness in shown.filter(|witness| !witness.runs.is_empty()) {
            let run = witness.runs.first();
            let mut new = match run.filter(|_| witness.message.starts_with(EXCEEDS)) {
                Some(run) => {
                    let narrated = same_run(&mut machine(&run.inputs), run, words)?;
                    let shown = self.replayed_excess(narrated.run, old, options);
                    shown.map_err(ReplayProblem::Changed)?
                }
                None => replay_witness(&mut machine(&witness.inputs()), witness, words)?,
            };
            new.condition.clone_from(&witness.condition);
            witnesses.push(new);
            runs.extend(&witness.runs);
        }
        if let (Some(run), true) = (&recording.run, runs.is_empty()) {
            same_run(&mut machine(&run.inputs), run, words)?;
            runs.push(run);
        }
        if runs.is_empty() {
            return Err(ReplayProblem::without_runs(old));
        }
        counts.steps = runs.iter().map(|run| run.steps.len() as u64).sum();
        counts.events = counts.steps;
        counts.executions = runs.iter().filter(|run| evidence::is_complete(run)).count() as u64;
        Ok(Record {
            version: VERSION,
            program: self.record().clone(),
            command: "replay".to_owned(),
            algorithm: "schedule".to_owned(),
            options: Some(options.record(None)),
            verdict: if witnesses.is_empty() {
                Verdict::Verified
            } else {
                Verdict::Violated
            },
            scope: Scope {
                exhaustive: false,
                bounds: Vec::new(),
                outside: self.outside(),
            },
            stopped: StopReason::Complete,
            deterministic: old.deterministic.filter(|_| has_nondeterminism(&witnesses)),
            counts,
            seconds: start.elapsed().as_secs_f64(),
            solver: None,
            kinds: KindsRecord::default(),
            witnesses,
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
        })
    }
}

/// Whether labels and messages must be the same as recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextCheck {
    Compared,
    /// The record has an older version, with different texts.
    Ignored,
}

fn has_nondeterminism(witnesses: &[Witness]) -> bool {
    witnesses.iter().any(|w| w.kind == Kind::Nondeterminism)
}

/// Replays one witness, and checks that its violation occurs again.
fn replay_witness<M: Narrator + Semantics>(
    machine: &mut M,
    old: &Witness,
    words: TextCheck,
) -> Result<Witness, ReplayProblem> {
    let changed = |what: &str| Err(ReplayProblem::Changed(what.to_owned()));
    match (old.kind, &old.runs[..]) {
        (Kind::Failure, [run]) => {
            let narrated = same_run(machine, run, words)?;
            match failure_again(machine, &narrated.failures, old, words) {
                Some(mishap) => Ok(evidence::failure(machine, narrated.run, &mishap)),
                None => changed("the recorded failure does not happen"),
            }
        }
        (Kind::Property, [run]) => {
            let narrated = same_run(machine, run, words)?;
            let same = |&at: &usize| temporal::message(machine, at) == old.message;
            let Some(property) = (0..machine.temporal().len()).find(same) else {
                return changed("the program does not state the recorded property");
            };
            if old.lasso.is_some_and(|stem| stem > run.steps.len())
                || !temporal::violated(machine, property, old.lasso)
            {
                return changed("the run does not violate the recorded property");
            }
            let broken = BrokenProperty {
                property,
                schedule: run.schedule.parse()?,
                lasso: old.lasso,
            };
            Ok(temporal::property(machine, narrated.run, &broken))
        }
        (Kind::Deadlock, [run]) => {
            let narrated = same_run(machine, run, words)?;
            if narrated.deadlocked {
                Ok(evidence::deadlock(machine, narrated.run))
            } else {
                changed("there is no deadlock at their end")
            }
        }
        (Kind::Livelock, [run]) => {
            let narrated = same_run(machine, run, words)?;
            match evidence::livelock(machine, narrated.run) {
                // An older record has no `lasso`, so it does not say where the cycle begins.
                Some(new) if old.lasso.is_some_and(|stem| Some(stem) != new.lasso) => {
                    changed("their cycle begins at another step")
                }
                Some(new) => Ok(new),
                None => changed("their end is not a cycle that can be followed for ever"),
            }
        }
        (Kind::Nondeterminism, [first, second]) => {
            same_run(machine, first, words)?;
            same_run(machine, second, words)?;
            let (one, other) = (first.schedule.parse()?, second.schedule.parse()?);
            let new = evidence::nondeterminism(machine, &one, &other);
            if new.differs.is_empty() {
                changed("both runs end with the same values")
            } else {
                Ok(new)
            }
        }
        _ => changed("this version cannot replay a witness of this kind"),
    }
}

/// Returns the failure among `failures` that the witness shows; `None` if there is none.
fn failure_again<M: Narrator>(
    machine: &mut M,
    failures: &[Mishap],
    old: &Witness,
    words: TextCheck,
) -> Option<Mishap> {
    let mut failures = failures.iter().copied();
    failures.find(|mishap| {
        let narrated = evidence::in_failing_state(machine, mishap, |m| m.explain(mishap));
        let (message, place) = narrated;
        place == old.place && (words == TextCheck::Ignored || message == old.message)
    })
}

/// Replays one run and compares it with the record, step by step.
fn same_run<M: Narrator>(
    machine: &mut M,
    old: &Run,
    words: TextCheck,
) -> Result<NarratedRun, ReplayProblem> {
    let schedule: Schedule = old.schedule.parse()?;
    let narrated = match evidence::tell(machine, &schedule) {
        Ok(narrated) => narrated,
        Err(error) => {
            return Err(ReplayProblem::Diverged {
                step: error.step,
                what: error.to_string(),
            });
        }
    };
    match words {
        TextCheck::Compared => same_steps(old, &narrated.run)?,
        TextCheck::Ignored => {
            let mut old = old.clone();
            for (was, is) in old.steps.iter_mut().zip(&narrated.run.steps) {
                was.label.clone_from(&is.label);
            }
            same_steps(&old, &narrated.run)?;
        }
    }
    Ok(narrated)
}

/// Checks that a run is the same as the recorded one.
pub(crate) fn same_steps(old: &Run, new: &Run) -> Result<(), ReplayProblem> {
    for (at, (was, is)) in old.steps.iter().zip(&new.steps).enumerate() {
        if let Some(what) = difference(was, is) {
            return Err(ReplayProblem::Diverged { step: at + 1, what });
        }
    }
    if old.steps.len() != new.steps.len() {
        return Err(ReplayProblem::Diverged {
            step: old.steps.len().min(new.steps.len()) + 1,
            what: format!(
                "{} steps were recorded, and the schedule has {}",
                old.steps.len(),
                new.steps.len()
            ),
        });
    }
    if old.state != new.state || old.ending != new.ending {
        return Err(ReplayProblem::Changed(
            "the run ends in another state".to_owned(),
        ));
    }
    Ok(())
}

/// Returns the most important difference, if any.
fn difference(was: &Step, is: &Step) -> Option<String> {
    // The mark of a race is not part of the step. The locks follow from the label, and older
    // records lack them.
    let unmarked = |step: &Step| Step {
        racing: false,
        locks: Vec::new(),
        ..step.clone()
    };
    let differ = |what: &str, was: String, is: String| {
        (was != is).then(|| format!("{what}: recorded {was}, now {is}"))
    };
    let enabled = |step: &Step| format!("`{}`", step.enabled.join(" "));
    let quoted = |text: &str| format!("`{text}`");
    differ("the process", quoted(&was.process), quoted(&is.process))
        .or_else(|| differ("the ready processes", enabled(was), enabled(is)))
        .or_else(|| differ("the label", quoted(&was.label), quoted(&is.label)))
        .or_else(|| {
            (unmarked(was) != unmarked(is))
                .then(|| "what the step read, changed or ran into".to_owned())
        })
}
