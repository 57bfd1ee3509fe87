//! Makes a step: a quick step directly, any other with the interpreter. If the search needs
//! coverage, also records the instructions that the step passes.

use mazurka_core::{Event, ProcessId, StepError};

use super::{Machine, QuickStepResult, StepRemainder};
use crate::code::quick::AfterAccess;
use crate::run::{FAILED, HELD, NoListener};

impl Machine {
    /// Makes a step.
    #[inline(always)]
    pub(super) fn make_step(
        &mut self,
        process: ProcessId,
        outcomes: &[i64],
    ) -> Result<&Event, StepError> {
        let made = match self.step_quickly(process) {
            Some(QuickStepResult::Whole(depth)) => return Ok(&self.run[depth]),
            Some(QuickStepResult::Until(pc)) => {
                let rest = StepRemainder { pc, open: false };
                self.run_step(process, rest, outcomes, &mut NoListener)
            }
            // A live process rests at a mark.
            None if self.is_alive(process) => self.step_with(process, outcomes, &mut NoListener),
            None => return Err(StepError::NotReady),
        };
        made.map_err(StepError::from)
    }

    /// Makes a step and records the instructions that it passes.
    #[inline(never)]
    pub(super) fn make_recorded_step(
        &mut self,
        process: ProcessId,
        outcomes: &[i64],
    ) -> Result<&Event, StepError> {
        let mark = self.rests_at(process);
        let made = self.make_step(process, outcomes).map(|_| ());
        let side = mark.zip(self.rests_at(process)).and_then(|(mark, to)| {
            // A quick step makes the end of a round of a `for` without the interpreter, which has
            // therefore not recorded the side of the test.
            match self.code.quick.get(mark as usize)?.as_ref()?.then {
                AfterAccess::RoundEnd(_, round) => round.side_to(to),
                AfterAccess::Rest(_) | AfterAccess::End(_) | AfterAccess::More(_) => None,
            }
        });
        if let Some(recorder) = &mut self.recorder {
            if let Some(mark) = mark {
                recorder.note(mark, HELD);
            }
            if let Some((test, held)) = side {
                recorder.note(test, if held { HELD } else { FAILED });
            }
            recorder.settle(made.is_ok());
        }
        made.map(|()| &self.run[self.taken.len() - 1])
    }

    /// Returns the instruction at which a process is.
    fn rests_at(&self, process: ProcessId) -> Option<u32> {
        let state = self.state.processes.get(process.index())?;
        Some(state.registers.pc)
    }
}
