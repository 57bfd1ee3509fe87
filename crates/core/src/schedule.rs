//! Schedules. A schedule lists the process of each step of a run, and the outcomes of the step's
//! `choose` expressions. So it determines the run.

use std::fmt;
use std::str::FromStr;

use smallvec::SmallVec;

use crate::{Event, ParseProcessError, ProcessPath, ProcessTable};

/// The process that makes a step, and the outcomes of its `choose` expressions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScheduledStep {
    /// The process.
    pub process: ProcessPath,
    /// The values chosen, in order.
    pub outcomes: SmallVec<[i64; 1]>,
}

/// A run, given by the processes that make its steps, e.g. `0 0 0.1=2 0.0`.
///
/// ```
/// use mazurka_core::Schedule;
/// let schedule: Schedule = "0 0.1=2 1=3,-4".parse().unwrap();
/// assert_eq!(schedule.0[2].outcomes[..], [3, -4]);
/// assert_eq!(schedule.to_string(), "0 0.1=2 1=3,-4");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Schedule(pub Vec<ScheduledStep>);

impl Schedule {
    /// Returns the schedule of a run.
    pub fn from_run(run: &[Event], table: &ProcessTable) -> Self {
        Self::of_each(run, table)
    }

    /// Returns the schedule of some events, in this order.
    pub fn of_each<'a>(events: impl IntoIterator<Item = &'a Event>, table: &ProcessTable) -> Self {
        let step = |event: &Event| ScheduledStep {
            process: table.path(event.process).clone(),
            outcomes: event.outcomes.iter().map(|o| o.value).collect(),
        };
        Self(events.into_iter().map(step).collect())
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{}", step.process)?;
            for (k, value) in step.outcomes.iter().enumerate() {
                f.write_str(if k == 0 { "=" } else { "," })?;
                write!(f, "{value}")?;
            }
        }
        Ok(())
    }
}

/// The error for a text that is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseScheduleError {
    /// A step does not start with a process name.
    #[error("step {step} of the schedule: {error}")]
    Process {
        /// The number of the step, from 1.
        step: usize,
        /// What is wrong with the name.
        error: ParseProcessError,
    },
    /// The text after `=` is not a list of numbers.
    #[error(
        "step {step} of the schedule: `{text}` is not a chosen value; write numbers after `=`, as in `0.1=2`"
    )]
    Outcome {
        /// The number of the step, from 1.
        step: usize,
        /// The text.
        text: String,
    },
}

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let step = |(at, word): (usize, &str)| {
            let step = at + 1;
            let (name, values) = match word.split_once('=') {
                Some((name, values)) => (name, Some(values)),
                None => (word, None),
            };
            let process = name
                .parse()
                .map_err(|error| ParseScheduleError::Process { step, error })?;
            let value = |text: &str| {
                text.parse().map_err(|_| ParseScheduleError::Outcome {
                    step,
                    text: text.to_owned(),
                })
            };
            let outcomes = values.map_or(Ok(SmallVec::new()), |values| {
                values.split(',').map(value).collect()
            })?;
            Ok(ScheduledStep { process, outcomes })
        };
        text.split_whitespace()
            .enumerate()
            .map(step)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}
