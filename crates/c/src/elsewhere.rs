//! On other systems there is no program to run.

use mazurka_core::record::{Binding, Place, Step, Waiting};
use mazurka_core::{
    Claims, Event, Execution, Fingerprint, Mishap, Narrator, ProcessId, ProcessTable, Promises,
    Semantics, Status, StepError, Wait,
};

use crate::{LoadError, Settings, Stop};

/// Says that C programs are not explored here.
pub fn load(_path: &str, _file: &[u8], _settings: Settings) -> Result<(), LoadError> {
    Err(LoadError::NotHere)
}

/// What a process may use is not limited.
pub fn confine() {}

/// The files of this process are not kept.
pub fn keep_files() {}

/// How long the memory is that tells what a process did last: there is none.
pub const TRAIL_SIZE: usize = 0;

/// Keeps nothing.
pub fn keep_trail(_file: i32) {}

/// There is no schedule.
pub fn left_behind(_bytes: &[u8]) -> Option<mazurka_core::Schedule> {
    None
}

/// There is no program.
pub fn outside() -> Vec<String> {
    Vec::new()
}

/// Whether executions of the program that was loaded must agree on what is observed.
pub fn must_agree() -> bool {
    false
}

/// There is no step to break off.
pub fn set_deadline(_time: Option<std::time::Duration>) {}

/// Nothing.
pub fn interrupt() {}

/// Nothing.
pub fn interrupt_process(_id: u32) {}

/// Nothing.
pub fn kill_process(_id: u32) {}

/// A program in one of its executions: there is none.
#[derive(Debug)]
pub enum Machine {}

impl Machine {
    /// A machine for the program that was loaded: there is none.
    pub fn of_loaded() -> Option<Self> {
        None
    }

    /// The same for single runs: there is none.
    pub fn for_runs() -> Option<Self> {
        None
    }

    /// Whether which accesses are steps is found out by searching.
    pub fn learns_steps(&self) -> bool {
        match *self {}
    }

    /// Starts again with what was learned.
    pub fn start_again(&mut self) {
        match *self {}
    }

    /// Ends a search.
    pub fn end_search(&mut self) {
        match *self {}
    }

    /// Ends a search that was broken off.
    pub fn end_broken_search(&mut self) {
        match *self {}
    }

    /// Why the last search was broken off.
    pub fn stopped(&self) -> Option<Stop> {
        match *self {}
    }
}

impl Promises for Machine {}

impl Execution for Machine {
    fn processes(&self) -> &ProcessTable {
        match *self {}
    }

    fn status(&self, _: ProcessId) -> Status {
        match *self {}
    }

    fn claims(&self, _: ProcessId, _: &mut Claims) {
        match *self {}
    }

    fn wait(&self, _: ProcessId) -> Wait {
        match *self {}
    }

    fn step(&mut self, _: ProcessId, _: &[i64]) -> Result<&Event, StepError> {
        match *self {}
    }

    fn events(&self) -> &[Event] {
        match *self {}
    }

    fn back_to(&mut self, _: usize) {
        match *self {}
    }

    fn initial_mishaps(&self) -> &[Mishap] {
        match *self {}
    }

    fn final_mishaps(&self) -> Vec<Mishap> {
        match *self {}
    }

    fn observation(&self) -> Fingerprint {
        match *self {}
    }
}

impl Semantics for Machine {
    type State = ();

    fn state(&self) {
        match *self {}
    }

    fn fingerprint(&self) -> Fingerprint {
        match *self {}
    }

    fn restore(&mut self, (): &()) {
        match *self {}
    }
}

impl Narrator for Machine {
    fn tell(&mut self, _: ProcessId, _: &[i64]) -> Result<Step, StepError> {
        match *self {}
    }

    fn explain(&self, _: &Mishap) -> (String, Option<Place>) {
        match *self {}
    }

    fn waiting(&self) -> Vec<Waiting> {
        match *self {}
    }

    fn bindings(&self, _: bool) -> Vec<Binding> {
        match *self {}
    }
}
