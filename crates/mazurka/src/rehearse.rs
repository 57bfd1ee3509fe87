//! Trying runs that nobody has made yet: does this order show the same violation?

use mazurka_core::record::Ending;
use mazurka_core::{
    Event, Execution, Fingerprint, HappensBefore, MishapKind, ProcessId, Schedule, ScheduledStep,
    Status,
};
use mazurka_lang::Machine;

use crate::evidence::past_is_discarded;

/// A step to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub process: ProcessId,
    pub outcomes: Vec<i64>,
}

impl Move {
    fn of(event: &Event) -> Self {
        Self {
            process: event.process,
            outcomes: event.outcomes.iter().map(|o| o.value).collect(),
        }
    }

    fn made(&self, event: &Event) -> bool {
        let values = || event.outcomes.iter().map(|o| o.value);
        self.process == event.process && values().eq(self.outcomes.iter().copied())
    }
}

/// How often the process changes from one step to the next.
pub(crate) fn switches(moves: &[Move]) -> usize {
    let pairs = moves.windows(2);
    pairs.filter(|w| w[0].process != w[1].process).count()
}

/// What a run must show to be evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// A failure at this site.
    Failure(u32),
    /// These wait for ever.
    Deadlock(Vec<ProcessId>),
    /// It is final and one observes something else than this.
    Otherwise(Fingerprint),
}

/// For runs that are made to their end whatever happens.
pub(crate) const NO_FAILURE: Violation = Violation::Deadlock(Vec::new());

/// A machine to try runs on, and how many steps may be spent on that. Steps are counted and not
/// seconds, so that a witness does not depend on the clock.
pub(crate) struct Rehearsal<'m> {
    pub machine: &'m mut Machine,
    steps: u64,
}

impl<'m> Rehearsal<'m> {
    pub fn new(machine: &'m mut Machine, steps: u64) -> Self {
        Self { machine, steps }
    }

    /// Whether there is anything left to spend.
    pub fn tired(&self) -> bool {
        self.steps == 0
    }

    /// Grants so many steps and no more.
    pub fn rest(&mut self, steps: u64) {
        self.steps = steps;
    }

    /// The moves of the current run.
    pub fn moves(&self) -> Vec<Move> {
        self.machine.events().iter().map(Move::of).collect()
    }

    /// A schedule as moves. None if it names somebody whom nobody has met.
    pub fn read(&self, schedule: &Schedule) -> Option<Vec<Move>> {
        let read = |step: &ScheduledStep| {
            Some(Move {
                process: self.machine.processes().find(&step.process)?,
                outcomes: step.outcomes.to_vec(),
            })
        };
        schedule.0.iter().map(read).collect()
    }

    /// The current run as a schedule.
    pub fn schedule(&self) -> Schedule {
        Schedule::of(self.machine.events(), self.machine.processes())
    }

    /// Makes the moves from the start, leaving out those that are not possible, up to a failure that is looked
    /// for. What the current run has in common with them is not made again.
    pub fn play(&mut self, moves: &[Move], violation: &Violation) {
        // To compare is work as well, though less than to make a step.
        self.steps = self.steps.saturating_sub(moves.len() as u64 / 16);
        let made = self.machine.events().iter();
        let same = moves.iter().zip(made).take_while(|(m, e)| m.made(e));
        let same = same.count();
        let failed = |event: &Event| fails(event, violation);
        if let Some(at) = self.machine.events()[..same].iter().position(failed) {
            return self.machine.back_to(at + 1);
        }
        self.machine.back_to(same);
        for planned in &moves[same..] {
            if self.step(planned) && self.failed(violation) {
                return;
            }
        }
    }

    /// Goes on until nobody can, whoever is first in the order of names.
    pub fn complete(&mut self, violation: &Violation) {
        let most = 2 * self.machine.events().len() + 64;
        while self.machine.events().len() < most && !self.failed(violation) {
            let Some(&process) = self.with(Status::Ready).first() else {
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
        self.machine.status(planned.process) == Status::Ready
            && self
                .machine
                .step(planned.process, &planned.outcomes)
                .is_ok()
    }

    fn failed(&self, violation: &Violation) -> bool {
        let last = self.machine.events().last();
        last.is_some_and(|event| fails(event, violation))
    }

    /// Whether the current run shows it.
    pub fn shows(&self, violation: &Violation) -> bool {
        if self.tired() {
            return false;
        }
        let machine = &*self.machine;
        match violation {
            Violation::Failure(_) if self.failed(violation) => {
                !past_is_discarded(machine, machine.events().len() - 1)
            }
            Violation::Failure(site) => {
                let broken = || machine.final_mishaps();
                machine.ending() == Ending::Final
                    && broken()
                        .iter()
                        .any(|m| m.site == *site && m.kind == MishapKind::Failure)
            }
            Violation::Deadlock(waiting) => {
                machine.ending() == Ending::Deadlock && self.with(Status::Waiting) == *waiting
            }
            Violation::Otherwise(seen) => {
                machine.ending() == Ending::Final && machine.observation() != *seen
            }
        }
    }

    /// The processes with that status, in the order of their names.
    pub fn with(&self, status: Status) -> Vec<ProcessId> {
        let all = self.machine.processes().in_order().iter().copied();
        all.filter(|&p| self.machine.status(p) == status).collect()
    }

    /// Tries moves. If the violation is there: what was really done, without what does not lead to it.
    pub fn attempt(&mut self, moves: &[Move], violation: &Violation) -> Option<Vec<Move>> {
        self.play(moves, violation);
        if !self.shows(violation) {
            return None;
        }
        let done = self.moves();
        if !self.failed(violation) {
            return Some(done);
        }
        let last = done.len() - 1;
        let past = HappensBefore::of(self.machine.events()).past(last);
        if past.len() == done.len() {
            return Some(done);
        }
        let needed: Vec<Move> = past.iter().map(|&at| done[at].clone()).collect();
        self.play(&needed, violation);
        (self.shows(violation) && self.machine.events().len() == needed.len()).then_some(needed)
    }
}

fn fails(event: &Event, violation: &Violation) -> bool {
    let Violation::Failure(site) = violation else {
        return false;
    };
    let mut all = event.mishaps.iter();
    all.any(|mishap| mishap.site == *site && mishap.kind == MishapKind::Failure)
}
