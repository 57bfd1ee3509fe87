//! Stubs for systems on which C programs cannot run.

use mazurka_core::record::{Binding, Place, Step, Waiting};
use mazurka_core::{
    Claims, Event, Execution, Fingerprint, Mishap, Narrator, ProcessId, ProcessTable, Promises,
    Semantics, Status, StepError, Wait,
};

use crate::{Child, LoadError, SearchStop, Settings};

/// Returns the error that this system cannot explore C programs.
pub fn load(_path: &str, _file: &[u8], _settings: Settings) -> Result<(), LoadError> {
    Err(LoadError::NotHere)
}

/// Does nothing: there is no program to confine.
pub fn confine() {}

/// Does nothing: there is no program to hide files from.
pub fn keep_files() {}

/// Size of the memory that keeps the last schedule: none is needed.
pub const TRAIL_SIZE: usize = 0;

/// Does nothing: there is no schedule to keep.
pub fn keep_trail(_file: i32) {}

/// Returns the schedule of a killed process: always `None`.
pub fn left_behind(_bytes: &[u8]) -> Option<mazurka_core::Schedule> {
    None
}

/// Returns the library functions that run outside of the exploration: always none.
pub fn outside() -> Vec<String> {
    Vec::new()
}

/// Whether executions of the loaded program must agree in the observed values: always false.
pub fn must_agree() -> bool {
    false
}

/// Does nothing: no step can exceed a deadline.
pub fn set_deadline(_time: Option<std::time::Duration>) {}

/// Does nothing: no program is loaded.
pub fn on_refusal_before_main(_tell: fn(&str)) {}

/// Does nothing: there is no search to interrupt.
pub fn interrupt() {}

/// Does nothing: there is no process to interrupt.
pub fn interrupt_process(_child: Child) {}

/// Does nothing: there is no process to kill.
pub fn kill_process(_child: Child) {}

/// A program in one of its executions. It has no values on this system.
#[derive(Debug)]
pub enum Machine {}

impl Machine {
    /// Returns a machine for the loaded program: always `None`.
    pub fn of_loaded() -> Option<Self> {
        None
    }

    /// Returns a machine for single runs: always `None`.
    pub fn for_runs() -> Option<Self> {
        None
    }

    /// Whether the search itself finds out which accesses are steps.
    pub fn learns_steps(&self) -> bool {
        match *self {}
    }

    /// Restarts the search with the facts that the previous search has learned.
    pub fn start_again(&mut self) {
        match *self {}
    }

    /// Ends a search.
    pub fn end_search(&mut self) {
        match *self {}
    }

    /// Ends a search that was stopped early.
    pub fn end_broken_search(&mut self) {
        match *self {}
    }

    /// Whether the search has met accesses that no step orders.
    pub fn has_raced(&self) -> bool {
        match *self {}
    }

    /// Returns why the last search stopped early.
    pub fn stopped(&self) -> Option<SearchStop> {
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
