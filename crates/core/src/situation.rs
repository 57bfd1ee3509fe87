//! A run that a user makes step by step (`mazurka step`): its current state, and the steps that can
//! come next.

use crate::Status;
use crate::record::{Binding, Ending, Step, Waiting};

/// A state in the middle of a run, with everything that a user may want to see about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Situation {
    /// Number of steps made.
    pub steps: usize,
    /// How the run has ended, or that it is still open.
    pub ending: Ending,
    /// The shared variables.
    pub state: Vec<Binding>,
    /// The inputs that the run has read.
    pub inputs: Vec<Binding>,
    /// The locks that are held.
    pub held: Vec<HeldLock>,
    /// The processes that have been started, in the order of their names.
    pub processes: Vec<Standing>,
}

/// A lock that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldLock {
    /// The lock as the source names it, such as `fork[1]`.
    pub lock: String,
    /// The number of the process that holds it.
    pub process: String,
}

/// The position and status of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The number of the process.
    pub number: String,
    /// The name to show: the name in the source, or the number.
    pub name: String,
    /// Whether the process can make a step, and if not, why.
    pub status: Status,
    /// The line of its next step, if it can make one or waits for it.
    pub line: Option<usize>,
    /// The obstacle that it waits for, if it waits.
    pub waiting: Option<Waiting>,
    /// The locals of the process that later steps may read.
    pub locals: Vec<Binding>,
}

/// The steps that can come next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextSteps {
    /// Each step as it would be described, in the order of the processes and of their outcomes.
    pub steps: Vec<Step>,
    /// The numbers of the processes that have more outcomes than are listed.
    pub more: Vec<String>,
}
