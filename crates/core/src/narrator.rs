//! Programs that can describe their steps in words.
//!
//! A front end implements [`Narrator`]. [`Narrator::narrate`] follows a schedule and records a
//! description of each step; if the schedule does not fit the program, a [`ReplayError`] says why.

use std::collections::BTreeMap;

use crate::record::{
    Binding, EndStatus, Ending, HistoryOperation, Place, ProcessEnd, Run, Step, Waiting,
};
use crate::{
    Execution, HeldLock, Mishap, MishapKind, ProcessId, ProcessPath, Schedule, Status, StepError,
};

/// A temporal property in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemporalText {
    /// The name of the property, if it has one.
    pub name: Option<String>,
    /// The property without its name: `eventually x == 1`.
    pub text: String,
    /// Its place in the source.
    pub place: Option<Place>,
}

/// A program that can describe its steps in words.
///
/// A front end describes a step, a mishap and a state; how a schedule is followed is the same for
/// all front ends.
pub trait Narrator: Execution {
    /// Makes a step as [`Execution::step`] does, and describes it. The caller fills in which
    /// processes could have made it ([`Step::enabled`]) and whether it races ([`Step::racing`]).
    fn tell(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<Step, StepError>;

    /// Describes a mishap in a sentence, with its place. The mishap must be of the last step, or of
    /// the current state.
    fn explain(&self, mishap: &Mishap) -> (String, Option<Place>);

    /// Returns which processes wait in the current state, and for what.
    fn waiting(&self) -> Vec<Waiting>;

    /// Returns the variables of the state, or only the observed ones, by name.
    fn bindings(&self, observed_only: bool) -> Vec<Binding>;

    /// Returns the name of a cell of shared memory, or of a lock.
    fn cell_name(&self, cell: u32) -> String {
        format!("cell {cell}")
    }

    /// Returns the name of a [temporal](crate::Semantics::temporal) property, if it has one, its
    /// text, and its place.
    fn temporal_text(&self, property: usize) -> TemporalText {
        TemporalText {
            name: None,
            text: format!("property {}", property + 1),
            place: None,
        }
    }

    /// Returns the name to show for a process: that of the source, or its numbers.
    fn name_of(&self, process: &ProcessPath) -> String {
        process.to_string()
    }

    /// Returns the variables that the condition of a mishap mentions, with their values. The mishap
    /// must be of the last step, or of the current state.
    fn values(&self, _mishap: &Mishap) -> Vec<Binding> {
        Vec::new()
    }

    /// Returns the calls of an object's operations in the current run, if the mishap is a history
    /// whose results no order of the calls explains. The mishap must be of the last step.
    fn history(&self, _mishap: &Mishap) -> Vec<HistoryOperation> {
        Vec::new()
    }

    /// Returns the locals of a process that later steps may read, with their values. Locals of a
    /// procedure that the process is in are prefixed with the name of the procedure: `push.i`.
    fn locals_of(&self, _process: ProcessId) -> Vec<Binding> {
        Vec::new()
    }

    /// Returns the line where the next step of a process begins; `None` if the process has ended or
    /// was halted.
    fn line_of(&self, _process: ProcessId) -> Option<usize> {
        None
    }

    /// Returns a number that identifies the place where the next step of a process begins.
    fn site_of(&self, _process: ProcessId) -> u32 {
        0
    }

    /// Returns the place that a number from [`site_of`](Self::site_of) identifies. Its text is the
    /// source text of the step that starts there.
    fn site(&self, _site: u32) -> Place {
        Place {
            line: 0,
            column: 0,
            text: String::new(),
            file: None,
        }
    }

    /// Returns the locks that are held, in the order of the source.
    fn held(&self) -> Vec<HeldLock> {
        Vec::new()
    }

    /// Returns the locals that a temporal property mentions, with their values in the current
    /// state.
    fn temporal_values(&self, _property: usize) -> Vec<Binding> {
        Vec::new()
    }

    /// Returns the inputs that the current run has read, with their values.
    fn inputs(&self) -> Vec<Binding> {
        Vec::new()
    }

    /// Runs a schedule from the start and describes every step.
    fn narrate(&mut self, schedule: &Schedule) -> Result<Run, ReplayError> {
        self.narrate_while(schedule, &mut |_| true)
    }

    /// Like `narrate`, as long as `go_on` allows another step. `go_on` is called with the number of
    /// steps described so far. The run and its schedule end when it returns false, or at a step
    /// that is broken off.
    fn narrate_while(
        &mut self,
        schedule: &Schedule,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Run, ReplayError> {
        self.back_to(0);
        let mut steps = Vec::new();
        for (at, scheduled) in schedule.0.iter().enumerate() {
            if !go_on(at) {
                break;
            }
            let enabled = names_with(self, Status::Ready);
            let refused = |program: &Self, reason| ReplayError {
                step: at + 1,
                process: program.name_of(&scheduled.process),
                reason,
                ready: shown_names(program, &enabled),
            };
            let known = self.processes().find(&scheduled.process);
            let Some(process) = known.filter(|&p| self.status(p) != Status::Unborn) else {
                return Err(refused(self, ReplayReason::NoSuchProcess));
            };
            let status = self.status(process);
            if status != Status::Ready {
                return Err(refused(self, ReplayReason::NotReady(status)));
            }
            let step = match self.tell(process, &scheduled.outcomes) {
                Err(_) => return Err(refused(self, ReplayReason::NoSuchOutcome)),
                // A value for a step without a `choose` would otherwise be ignored.
                Ok(step) if step.outcomes.len() < scheduled.outcomes.len() => {
                    let chosen = step.outcomes.len();
                    return Err(refused(self, ReplayReason::TooManyOutcomes(chosen)));
                }
                Ok(step) => step,
            };
            let broken = |mishap: &Mishap| mishap.kind == MishapKind::BrokenOff;
            if self.events()[at].mishaps.iter().any(broken) {
                self.back_to(at);
                break;
            }
            steps.push(Step { enabled, ..step });
        }
        match schedule.0.get(..steps.len()) {
            Some(made) if made.len() < schedule.0.len() => {
                Ok(self.told(&Schedule(made.to_vec()), steps))
            }
            _ => Ok(self.told(schedule, steps)),
        }
    }

    /// Returns the record of the current run: it has followed `schedule`, and `steps` describes its
    /// steps.
    fn told(&self, schedule: &Schedule, steps: Vec<Step>) -> Run {
        Run {
            schedule: schedule.to_string(),
            inputs: self.inputs(),
            ending: ending(self),
            steps,
            state: self.bindings(false),
            names: named(self),
            processes: ends(self),
        }
    }
}

/// Returns the processes of the current run that have a name in the source: number and name.
fn named<N: Narrator + ?Sized>(program: &N) -> Vec<(String, String)> {
    let all = program.processes().in_order().iter();
    let started = all.filter(|&&p| program.status(p) != Status::Unborn);
    let pair = |&process: &ProcessId| {
        let path = program.processes().path(process);
        let (number, name) = (path.to_string(), program.name_of(path));
        (name != number).then_some((number, name))
    };
    started.filter_map(pair).collect()
}

/// Returns every process that has started, with its status at the end of the run.
fn ends<N: Narrator + ?Sized>(program: &N) -> Vec<ProcessEnd> {
    let waiting = program.waiting().into_iter();
    let mut waiting: BTreeMap<String, Waiting> = waiting
        .map(|waiting| (waiting.process.clone(), waiting))
        .collect();
    let end = |&process: &ProcessId| {
        let status = match program.status(process) {
            Status::Unborn => return None,
            Status::Ready => EndStatus::Ready,
            Status::Waiting => EndStatus::Waiting,
            Status::Ended => EndStatus::Ended,
            Status::Failed => EndStatus::Failed,
            Status::Discarded => EndStatus::Discarded,
            Status::Lost => EndStatus::Lost,
        };
        let process = program.processes().path(process).to_string();
        let own = waiting.remove(&process);
        let (waits_for, held_by) = own.map_or((None, None), |own| (Some(own.what), own.held_by));
        Some(ProcessEnd {
            process,
            status,
            waits_for,
            held_by,
        })
    };
    let all = program.processes().in_order().iter();
    all.filter_map(end).collect()
}

/// Returns the names to show for processes that are given by their numbers.
fn shown_names<N: Narrator + ?Sized>(program: &N, numbers: &[String]) -> Vec<String> {
    let shown = |number: &String| match number.parse() {
        Ok(path) => program.name_of(&path),
        Err(_) => number.clone(),
    };
    numbers.iter().map(shown).collect()
}

/// Returns the processes with a status, in the order of their names.
pub fn with_status<E: Execution + ?Sized>(program: &E, status: Status) -> Vec<ProcessId> {
    let all = program.processes().in_order().iter().copied();
    all.filter(|&p| program.status(p) == status).collect()
}

/// Returns the processes with a status, in the notation of schedules: `0.1`.
pub fn names_with<E: Execution + ?Sized>(program: &E, status: Status) -> Vec<String> {
    let name = |&process: &ProcessId| program.processes().path(process).to_string();
    with_status(program, status).iter().map(name).collect()
}

/// Returns how the current run has ended.
pub fn ending<E: Execution + ?Sized>(program: &E) -> Ending {
    let all = program.processes().in_order().iter();
    let statuses: Vec<Status> = all.map(|&p| program.status(p)).collect();
    let any = |status| statuses.contains(&status);
    match () {
        () if any(Status::Ready) => Ending::Open,
        () if any(Status::Lost) => Ending::Lost,
        () if any(Status::Discarded) => Ending::Discarded,
        () if any(Status::Failed) => Ending::Failure,
        () if any(Status::Waiting) => Ending::Deadlock,
        () => Ending::Final,
    }
}

/// Why a schedule could not be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    /// The step that failed, from 1.
    pub step: usize,
    /// The process that should have made it, by the name to show.
    pub process: String,
    /// Why the step is not possible.
    pub reason: ReplayReason,
    /// The processes that could have made a step there, by the names to show.
    pub ready: Vec<String>,
}

/// Why a step of a schedule is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayReason {
    /// There is no process of that name at that point.
    NoSuchProcess,
    /// The process has ended, has failed, or must wait.
    NotReady(Status),
    /// A `choose` of the step cannot have the given outcome.
    NoSuchOutcome,
    /// The step chooses only this many values, but more are given.
    TooManyOutcomes(usize),
}

impl std::fmt::Display for ReplayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "step {} of the schedule: ", self.step)?;
        let process = &self.process;
        match self.reason {
            ReplayReason::NoSuchProcess => {
                write!(f, "there is no process {process} at this point")?
            }
            ReplayReason::NotReady(Status::Waiting) => {
                write!(f, "process {process} has to wait here")?
            }
            ReplayReason::NotReady(Status::Ended) => {
                write!(f, "process {process} has already ended")?
            }
            ReplayReason::NotReady(_) => write!(f, "process {process} has been halted before")?,
            ReplayReason::NoSuchOutcome => {
                write!(f, "process {process} cannot choose that value here")?
            }
            ReplayReason::TooManyOutcomes(0) => write!(
                f,
                "process {process} chooses nothing here, and a value is given"
            )?,
            ReplayReason::TooManyOutcomes(n) => write!(
                f,
                "process {process} chooses {n} value{} here, and more are given",
                if n == 1 { "" } else { "s" }
            )?,
        }
        match &self.ready[..] {
            [] => f.write_str("; no process can make a step"),
            ready => write!(f, "; these can make a step: {}", ready.join(", ")),
        }
    }
}

impl std::error::Error for ReplayError {}
