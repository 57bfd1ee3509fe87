//! Why a schedule does not fit a program, in words.

use mazurka_core::{ProcessPath, Status};

/// Why a schedule could not be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    /// The step that failed, from 1.
    pub step: usize,
    /// Who should have made it.
    pub process: ProcessPath,
    /// What is the matter.
    pub reason: ReplayReason,
    /// Who could have made a step there.
    pub ready: Vec<String>,
}

/// What is the matter with a step of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayReason {
    /// There is no process of that name at that point.
    NoSuchProcess,
    /// It has ended, failed or must wait.
    NotReady(Status),
    /// Its `choose` cannot give that value.
    NoSuchOutcome,
    /// It chooses so many values only, and more are given.
    TooManyOutcomes(usize),
}

impl std::fmt::Display for ReplayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { step, process, .. } = self;
        write!(f, "step {step} of the schedule: ")?;
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
            [] => f.write_str("; nobody can make a step"),
            ready => write!(f, "; these can make a step: {}", ready.join(", ")),
        }
    }
}

impl std::error::Error for ReplayError {}
