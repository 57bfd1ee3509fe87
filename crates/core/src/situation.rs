//! A run by hand: the state that it is in, and the steps that can come next.

use crate::Status;
use crate::record::{Binding, Ending, Step, Waiting};

/// A state in the middle of a run, with everything that a person may want to see of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Situation {
    /// How many steps were made.
    pub steps: usize,
    /// How the run has ended, or that it is open.
    pub ending: Ending,
    /// The shared variables.
    pub state: Vec<Binding>,
    /// The inputs that the run has asked for.
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

/// Where a process stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its number.
    pub number: String,
    /// The name to show: that of the source, or its number.
    pub name: String,
    /// What it can do.
    pub status: Status,
    /// The line of its next step, while it can make one or waits for it.
    pub line: Option<usize>,
    /// What it waits for, if it waits. Processes have the names to show here.
    pub waiting: Option<Waiting>,
    /// Its locals that can still matter.
    pub locals: Vec<Binding>,
}

/// The steps that can come next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextSteps {
    /// Each as it would be told, in the order of the processes and of what they choose.
    pub steps: Vec<Step>,
    /// The processes that can choose more values than are listed, by number.
    pub more: Vec<String>,
}
