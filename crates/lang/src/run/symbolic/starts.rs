//! The local work of a process before its first step, if it depends on inputs.
//!
//! A machine with concrete values does the work before the first steps at once, as part of the
//! initial state. If an `assume` in this work is false, no run counts. In the symbolic machine this
//! work is a separate step of each process, and the failures of other processes do not depend on
//! it. The results are the same: inputs belong to processes and the work touches nothing shared, so
//! the start of one process does not restrict the start of another. Two rules follow:
//! - if a process can start only with a false `assume`, no run counts
//!   ([`SymbolicMachine::check_starts`]);
//! - otherwise a failure counts for all starts of the other processes, and the inputs of the
//!   evidence are chosen so that all processes start ([`SymbolicMachine::start_all`]).

use mazurka_core::{Event, Execution, Mishap, MishapKind, ProcessId};
use mazurka_smt::Why;

use super::{Life, SymbolicMachine, broken};
use crate::code::fault::Site;

/// Limit on the number of paths through the start of a process that are tried.
const MAX_PATHS: usize = 4096;

/// The result of starting a process.
enum StartResult {
    /// The step has been made.
    Started,
    /// Every path has a false `assume`; the mishap is from one of the paths.
    Discarded(Option<Mishap>),
    /// There are too many paths.
    Unknown,
}

impl SymbolicMachine {
    /// Lets all processes do the local work before their first step, and adds the `requires` to the
    /// path condition.
    pub(super) fn start(&mut self) {
        let mut event = Event::new(ProcessId(0), 0);
        self.probing = true;
        for process in 0..self.code.processes.len() as u32 {
            // Local work neither blocks nor chooses.
            let (mark, inputs_read) = (self.undo.len(), self.inputs_read.len());
            if self
                .run_to_mark(ProcessId(process), &mut event, &[], false)
                .is_err()
            {
                // The work depends on an input: undo it, so that it becomes a step.
                self.undo_to(mark);
                self.inputs_read.truncate(inputs_read);
            }
        }
        self.probing = false;
        self.undo.clear();
        self.between_marks = self.count_between_marks();
        self.unfinished = self.count_unfinished();
        self.initial.extend(&event.mishaps);
        let mut logic = self.logic.borrow_mut();
        for property in &self.code.program.requires {
            match logic.property(&self.code, &self.state.cells, &property.expr) {
                Ok(required) if logic.known(required) == Some(1) => {}
                Ok(required) => self.state.path.push(logic.condition(required)),
                // A number in the property exceeds 64 bits.
                Err(_) => logic.doubts.out_of_range = true,
            }
        }
        for (at, property) in self.code.program.invariants.iter().enumerate() {
            let site = Site::Invariant(at as u32);
            let broken = broken(&mut logic, &self.code, &self.state, &property.expr, site);
            self.initial.extend(broken);
        }
    }

    /// Adds a mishap, which discards all runs, if some process can start only with a false
    /// `assume`.
    pub(super) fn check_starts(&mut self) {
        for process in self.between_marks() {
            match self.start_process(process) {
                StartResult::Started => {}
                StartResult::Discarded(mishap) => self.initial.extend(mishap),
                StartResult::Unknown => {
                    let limit = format!("{MAX_PATHS} ways through the work before a first step");
                    self.logic.borrow_mut().doubt(Why::Limit(limit));
                }
            }
            self.back_to(0);
        }
    }

    /// Starts all processes that have not started, without a false `assume`, and continues those
    /// that rest before a condition. Returns false if that is impossible for one of them.
    pub fn start_all(&mut self) -> bool {
        while let Some(&process) = self.between_marks().first() {
            if !matches!(self.start_process(process), StartResult::Started) {
                return false;
            }
        }
        true
    }

    fn between_marks(&self) -> Vec<ProcessId> {
        let all = (0..self.state.processes.len() as u32).map(ProcessId);
        all.filter(|&process| self.is_between_marks(process))
            .collect()
    }

    /// Starts a process: without a mishap if possible, else with a mishap that is not a false
    /// `assume`.
    fn start_process(&mut self, process: ProcessId) -> StartResult {
        let depth = self.taken.len();
        let mut failing: Option<Vec<i64>> = None;
        let mut discarded = None;
        let mut next = Some(Vec::new());
        let mut paths = 0;
        while let Some(outcomes) = next {
            if paths == MAX_PATHS || self.step(process, &outcomes).is_err() {
                break;
            }
            paths += 1;
            let event = &self.run[depth];
            match self.life(process) {
                Life::Alive | Life::Ended => return StartResult::Started,
                Life::Discarded => {
                    let mut mishaps = event.mishaps.iter().copied();
                    discarded = mishaps.find(|mishap| mishap.kind == MishapKind::Discarded);
                }
                _ => failing = Some(event.outcomes.iter().map(|o| o.value).collect()),
            }
            next = outcomes_after(event);
            self.back_to(depth);
        }
        let all_seen = paths < MAX_PATHS;
        match failing {
            Some(outcomes) if self.step(process, &outcomes).is_ok() => StartResult::Started,
            None if all_seen => StartResult::Discarded(discarded),
            _ => StartResult::Unknown,
        }
    }
}

/// Returns the next outcomes in lexicographic order; `None` after the last outcomes.
fn outcomes_after(event: &Event) -> Option<Vec<i64>> {
    let last = event.outcomes.iter().rposition(|o| o.value + 1 < o.end)?;
    let outcomes = event.outcomes[..=last].iter().map(|o| o.value);
    let mut outcomes: Vec<i64> = outcomes.collect();
    outcomes[last] += 1;
    Some(outcomes)
}
