//! Runs each process to its first mark, and checks the invariants in the initial state. This local
//! work is part of the initial state; its failures are mishaps of that state.

use mazurka_core::{Event, Mishap, MishapKind, ProcessId};

use super::Machine;
use crate::code::fault::Site;
use crate::run::{
    Cpu, Fuel, Listener, Log, NoListener, Numbers, PlainNumbers, StepInProgress, evaluate,
};
use crate::tell::scribe::Prints;

impl Machine {
    /// Lets all processes do the local work before their first step.
    pub(super) fn start(&mut self) {
        let mut event = Event::new(ProcessId(0), 0);
        let prints = !self.code.program.prints.is_empty();
        for process in 0..self.code.processes.len() as u32 {
            if prints {
                let mut listener = Prints::default();
                self.start_process(process, &mut event, &mut listener);
                self.printed_at_start.push(listener.texts());
            } else {
                self.start_process(process, &mut event, &mut NoListener)
            }
        }
        self.undo.clear();
        self.unfinished = self.count_unfinished();
        self.initial.extend(&event.mishaps);
        for invariant in 0..self.code.invariants.len() as u32 {
            self.initial.extend(self.broken_at_start(invariant));
        }
    }

    fn start_process(&mut self, process: u32, event: &mut Event, listener: &mut impl Listener) {
        let mut step = StepInProgress {
            event,
            outcomes: &[],
            fuel: Fuel::new(self.max_local),
            patience: &self.patience,
            log: Log::new(self.undo.len()),
            recorder: self.recorder.as_deref_mut(),
        };
        let mut cpu = cpu!(self, &mut step, listener);
        // Local work neither blocks nor chooses.
        let started = cpu.start(ProcessId(process));
        debug_assert_eq!(started, Ok(()));
        self.operands.clear();
        if let Some(recorder) = &mut self.recorder {
            recorder.settle(started.is_ok());
        }
    }

    /// Returns the mishap of the initial state if an invariant does not hold there.
    fn broken_at_start(&self, invariant: u32) -> Option<Mishap> {
        let snippet = self.code.invariants[invariant as usize].snippet;
        let mishap = |kind| Mishap {
            process: None,
            kind,
            site: Site::Invariant(invariant).encode(),
        };
        match evaluate(&self.code.snippets[snippet as usize], &self.state.cells) {
            Ok(0) => Some(mishap(MishapKind::Failure)),
            Ok(_) => None,
            Err(fault) => Some(mishap(fault.kind())),
        }
    }
}
