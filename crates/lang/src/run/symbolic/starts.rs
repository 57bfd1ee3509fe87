//! Work before the first step that depends on inputs, and the ways through it that count.
//!
//! What a process does before its first step is in the past of everything: with a false `assume`
//! there no run counts. A machine with concrete values does all of it at once; here it is a step of
//! each process, which a failure of another process does not depend on. Both agree, because inputs
//! belong to processes and such work touches nothing shared: how one process starts does not
//! restrict how another does. So
//! - if a process has no way to start but by a false `assume`, nothing counts
//!   ([`SymbolicMachine::foresee_starts`]), and
//! - else a failure counts however the others start, and inputs that show it let all of them start
//!   ([`SymbolicMachine::start_all`]).

use mazurka_core::{Event, Execution, Mishap, MishapKind, ProcessId};
use mazurka_smt::Why;

use super::{Life, SymbolicMachine, broken};
use crate::code::fault::Site;

/// More ways to start than this are not looked at.
const MOST_WAYS: usize = 4096;

/// How a process can start.
enum Start {
    /// The step has been made.
    Made,
    /// Every way has a false `assume`; this is one of them.
    Discarded(Option<Mishap>),
    /// There are too many ways to look at.
    Unknown,
}

impl SymbolicMachine {
    /// Lets all processes do their local work before their first step, and assumes what is
    /// required.
    pub(super) fn start(&mut self) {
        let mut event = Event::new(ProcessId(0), 0);
        self.probing = true;
        for process in 0..self.code.processes.len() as u32 {
            // Local work can neither block nor choose.
            let (mark, asked) = (self.undo.len(), self.asked.len());
            if self
                .run_to_mark(ProcessId(process), &mut event, &[], false)
                .is_err()
            {
                // What it does depends on an input: then it will be a step.
                self.undo_to(mark);
                self.asked.truncate(asked);
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
                // Which values it allows shows when it is computed with numbers.
                Err(_) => logic.doubts.out_of_range = true,
            }
        }
        for (at, property) in self.code.program.invariants.iter().enumerate() {
            let site = Site::Invariant(at as u32);
            let broken = broken(&mut logic, &self.code, &self.state, &property.expr, site);
            self.initial.extend(broken);
        }
    }

    /// Notes that nothing counts if some process cannot start without a false `assume`.
    pub(super) fn foresee_starts(&mut self) {
        for process in self.between_marks() {
            match self.start_process(process) {
                Start::Made => {}
                Start::Discarded(mishap) => self.initial.extend(mishap),
                Start::Unknown => {
                    let limit = format!("{MOST_WAYS} ways through the work before a first step");
                    self.logic.borrow_mut().doubt(Why::Limit(limit));
                }
            }
            self.back_to(0);
        }
    }

    /// Lets all processes start that have not, each in a way that no `assume` discards, and those
    /// go on that rest in front of a condition. False if one has no such way.
    pub fn start_all(&mut self) -> bool {
        while let Some(&process) = self.between_marks().first() {
            if !matches!(self.start_process(process), Start::Made) {
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

    /// Lets a process start: without any mishap if it can, else with one that is no false `assume`.
    fn start_process(&mut self, process: ProcessId) -> Start {
        let depth = self.taken.len();
        let mut wrong: Option<Vec<i64>> = None;
        let mut discarded = None;
        let mut next = Some(Vec::new());
        let mut ways = 0;
        while let Some(outcomes) = next {
            if ways == MOST_WAYS || self.step(process, &outcomes).is_err() {
                break;
            }
            ways += 1;
            let event = &self.run[depth];
            match self.life(process) {
                Life::Alive | Life::Ended => return Start::Made,
                Life::Discarded => {
                    let mut mishaps = event.mishaps.iter().copied();
                    discarded = mishaps.find(|mishap| mishap.kind == MishapKind::Discarded);
                }
                _ => wrong = Some(event.outcomes.iter().map(|o| o.value).collect()),
            }
            next = outcomes_after(event);
            self.back_to(depth);
        }
        let all_seen = ways < MOST_WAYS;
        match wrong {
            Some(outcomes) if self.step(process, &outcomes).is_ok() => Start::Made,
            None if all_seen => Start::Discarded(discarded),
            _ => Start::Unknown,
        }
    }
}

/// The outcomes that follow those of an event in lexicographic order; none after the last.
fn outcomes_after(event: &Event) -> Option<Vec<i64>> {
    let last = event.outcomes.iter().rposition(|o| o.value + 1 < o.end)?;
    let outcomes = event.outcomes[..=last].iter().map(|o| o.value);
    let mut outcomes: Vec<i64> = outcomes.collect();
    outcomes[last] += 1;
    Some(outcomes)
}
