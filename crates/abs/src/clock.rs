//! Time as a process: the clock, process 1 of a program in which time can pass. A step of the clock
//! is possible if no task can continue, and lets time pass until the end of the earliest duration.

use std::cmp::Ordering;

use mazurka_core::{Access, Event, ProcessId, StepError, Wait};

use crate::Machine;
use crate::arithmetic::compare;
use crate::heap::{CLOCK, CLOCK_PROCESS, Life, Task};
use crate::machine::StepUndo;
use crate::step::Undo;
use crate::value::Value;

impl Machine {
    /// Whether a process is the clock.
    pub(crate) fn is_clock(&self, process: ProcessId) -> bool {
        self.code.timed && process == CLOCK_PROCESS
    }

    /// Whether the current time has reached a time; true for `None`.
    pub(crate) fn has_come(&self, time: Option<&Value>) -> bool {
        time.is_none_or(|time| compare(time, &self.state.now) != Ordering::Greater)
    }

    /// Returns the time to which the clock advances next: the end of the earliest duration. Returns
    /// `None` if a task can continue now, or if no task waits for a duration.
    pub(crate) fn next_time(&self) -> Option<&Value> {
        let mut first: Option<&Value> = None;
        for (number, task) in self.state.tasks.iter().enumerate() {
            if task.life != Life::Alive {
                continue;
            }
            if self.can_step(ProcessId(number as u32), task) {
                return None;
            }
            let wake = task.wake.as_ref().filter(|wake| !self.has_come(Some(wake)));
            if let Some(wake) = wake
                && first.is_none_or(|first| compare(wake, first) == Ordering::Less)
            {
                first = Some(wake);
            }
        }
        first
    }

    /// Makes the step of the clock: sets the time to [`next_time`](Machine::next_time).
    pub(crate) fn tick(&mut self) -> Result<&Event, StepError> {
        let Some(next) = self.next_time().cloned() else {
            return Err(StepError::NotReady);
        };
        let depth = self.depth;
        if self.run.len() == depth {
            self.run.push(Event::new(CLOCK_PROCESS, 0));
            self.taken.push(StepUndo {
                process: CLOCK_PROCESS,
                task: Task::unborn(),
                undo: 0,
                unfinished: 0,
            });
        }
        let clock = &mut self.state.tasks[CLOCK_PROCESS.index()];
        let taken = &mut self.taken[depth];
        taken.process = CLOCK_PROCESS;
        taken.task.clone_from(clock);
        taken.undo = self.undo.len();
        taken.unfinished = self.unfinished;
        let event = &mut self.run[depth];
        event.reset(CLOCK_PROCESS, clock.steps);
        clock.steps += 1;
        event.claims.clear();
        event.claims.push(Access::write(CLOCK));
        event.claims_key = 0;
        event.wait = Wait::Guard;
        event.touched.push(Access::write(CLOCK));
        let old = std::mem::replace(&mut self.state.now, next);
        self.undo.push(Undo::Clock(old));
        self.depth += 1;
        Ok(&self.run[depth])
    }
}
