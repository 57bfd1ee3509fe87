//! Tries runs that the search has not made, to check whether they show the same violation.
//!
//! A [`Rehearsal`] makes the given moves on the program, as far as they are possible, and says
//! whether the resulting run shows the [`Violation`].

use mazurka_core::record::Ending;
use mazurka_core::{
    Event, Execution, Fingerprint, HappensBefore, Mishap, MishapKind, ProcessId, Schedule,
    ScheduledStep, Status, ending, with_status,
};

/// A step to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub process: ProcessId,
    pub outcomes: Vec<i64>,
}

impl Move {
    fn from_event(event: &Event) -> Self {
        Self {
            process: event.process,
            outcomes: event.outcomes.iter().map(|o| o.value).collect(),
        }
    }

    pub fn matches(&self, event: &Event) -> bool {
        let values = || event.outcomes.iter().map(|o| o.value);
        self.process == event.process && values().eq(self.outcomes.iter().copied())
    }
}

/// Returns the number of switches from one process to another.
pub(crate) fn switches(moves: &[Move]) -> usize {
    let pairs = moves.windows(2);
    pairs.filter(|w| w[0].process != w[1].process).count()
}

/// The violation that a run must show to be evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A failure at this site.
    Failure(u32),
    /// These processes wait for ever.
    Deadlock(Vec<ProcessId>),
    /// The run is final, and its observation (a fingerprint of the observed variables) differs from
    /// this one.
    Otherwise(Fingerprint),
}

/// A violation that no step shows. It is passed for runs that must not stop before their end.
pub(crate) const NO_FAILURE: Violation = Violation::Deadlock(Vec::new());

/// A program for trying runs, with a budget of steps. The budget counts steps, not seconds, so that
/// a witness does not depend on the clock.
pub(crate) struct Rehearsal<'m, E> {
    pub program: &'m mut E,
    /// Number of steps that may still be made.
    steps: u64,
}

impl<'m, E: Execution> Rehearsal<'m, E> {
    pub fn new(program: &'m mut E, steps: u64) -> Self {
        Self { program, steps }
    }

    /// Whether the budget is used up.
    pub fn is_exhausted(&self) -> bool {
        self.steps == 0
    }

    /// Sets the budget.
    pub fn set_budget(&mut self, steps: u64) {
        self.steps = steps;
    }

    /// Returns the moves of the current run.
    pub fn moves(&self) -> Vec<Move> {
        self.program.events().iter().map(Move::from_event).collect()
    }

    /// Returns a schedule as moves, or `None` if it names a process that the program has not met.
    pub fn read(&self, schedule: &Schedule) -> Option<Vec<Move>> {
        let read = |step: &ScheduledStep| {
            Some(Move {
                process: self.program.processes().find(&step.process)?,
                outcomes: step.outcomes.to_vec(),
            })
        };
        schedule.0.iter().map(read).collect()
    }

    /// Returns the current run as a schedule.
    pub fn schedule(&self) -> Schedule {
        Schedule::from_run(self.program.events(), self.program.processes())
    }

    /// Makes the moves from the start, up to the step that shows the failure. Leaves out moves that
    /// are not possible. The common prefix with the current run is not repeated.
    pub fn try_moves(&mut self, moves: &[Move], violation: &Violation) {
        // Comparing takes time, too, though less than a step.
        self.steps = self.steps.saturating_sub(moves.len() as u64 / 16);
        let made = self.program.events().iter();
        let same = moves.iter().zip(made).take_while(|(m, e)| m.matches(e));
        let same = same.count();
        let failed = |event: &Event| fails(event, violation);
        if let Some(at) = self.program.events()[..same].iter().position(failed) {
            return self.program.back_to(at + 1);
        }
        self.program.back_to(same);
        for planned in &moves[same..] {
            if self.step(planned) && self.failed(violation) {
                return;
            }
        }
    }

    /// Continues with the first ready process in the order of names, until no process can continue.
    pub fn complete(&mut self, violation: &Violation) {
        let most = 2 * self.program.events().len() + 64;
        while self.program.events().len() < most && !self.failed(violation) {
            let Some(&process) = with_status(self.program, Status::Ready).first() else {
                return;
            };
            let next = Move {
                process,
                outcomes: Vec::new(),
            };
            if !self.step(&next) {
                return;
            }
        }
    }

    fn step(&mut self, planned: &Move) -> bool {
        if self.steps == 0 {
            return false;
        }
        self.steps -= 1;
        self.program.status(planned.process) == Status::Ready
            && self
                .program
                .step(planned.process, &planned.outcomes)
                .is_ok()
    }

    fn failed(&self, violation: &Violation) -> bool {
        let last = self.program.events().last();
        last.is_some_and(|event| fails(event, violation))
    }

    /// Whether the current run shows the violation.
    pub fn shows(&self, violation: &Violation) -> bool {
        if self.is_exhausted() {
            return false;
        }
        let program = &*self.program;
        match violation {
            Violation::Failure(_) if self.failed(violation) => {
                !past_is_discarded(program, program.events().len() - 1)
            }
            Violation::Failure(site) => {
                let broken = || program.final_mishaps();
                ending(program) == Ending::Final
                    && broken()
                        .iter()
                        .any(|m| m.site == *site && m.kind == MishapKind::Failure)
            }
            Violation::Deadlock(waiting) => {
                ending(program) == Ending::Deadlock
                    && with_status(program, Status::Waiting) == *waiting
            }
            Violation::Otherwise(seen) => {
                ending(program) == Ending::Final && program.observation() != *seen
            }
        }
    }

    /// Tries moves. If they show the violation, returns the moves that were actually made and that
    /// lead to it.
    pub fn attempt(&mut self, moves: &[Move], violation: &Violation) -> Option<Vec<Move>> {
        self.try_moves(moves, violation);
        if !self.shows(violation) {
            return None;
        }
        let done = self.moves();
        if !self.failed(violation) {
            return Some(done);
        }
        let last = done.len() - 1;
        let past = HappensBefore::new(self.program.events()).past(last);
        if past.len() == done.len() {
            return Some(done);
        }
        let needed: Vec<Move> = past.iter().map(|&at| done[at].clone()).collect();
        self.try_moves(&needed, violation);
        (self.shows(violation) && self.program.events().len() == needed.len()).then_some(needed)
    }
}

fn fails(event: &Event, violation: &Violation) -> bool {
    let Violation::Failure(site) = violation else {
        return false;
    };
    let mut all = event.mishaps.iter();
    all.any(|mishap| mishap.site == *site && mishap.kind == MishapKind::Failure)
}

/// Whether a false `assume` happens before an event of the current run. Then the event does not
/// count. A false `assume` before the first step happens before all events.
pub fn past_is_discarded<E: Execution>(program: &E, at: usize) -> bool {
    let run = program.events();
    let discards = |mishap: &Mishap| mishap.kind == MishapKind::Discarded;
    if program.initial_mishaps().iter().any(discards) {
        return true;
    }
    // Computing the past takes time, and most runs have no false `assume`.
    run[..=at]
        .iter()
        .any(|event| event.mishaps.iter().any(discards))
        && {
            let past = HappensBefore::new(&run[..=at]).past(at);
            past.iter().any(|&at| run[at].mishaps.iter().any(discards))
        }
}
