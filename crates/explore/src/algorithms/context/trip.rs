//! Trips: steps that are made to find out which state they lead to, and then taken back.
//!
//! A trip leaves the current run at some state, makes other steps from there, and compares the
//! state that they lead to. At the end it returns to the end of the run.

use mazurka_core::{Event, Fingerprint, MishapKind, Semantics};

use super::sequences::SequenceStep;
use crate::algorithms::meter::Meter;

/// Limit on the steps of a trip; longer trips are not worth their cost.
pub(super) const LONG: u64 = 64;

/// A program on a trip away from the current run.
pub(super) struct Trip<'a, E> {
    program: &'a mut E,
    meter: &'a mut Meter,
    /// Number of steps of the current run.
    run: usize,
    /// The depth of the state at which the trip left the run.
    at: usize,
    /// Number of steps of the trip so far.
    steps: u64,
}

impl<'a, E: Semantics> Trip<'a, E> {
    pub fn new(program: &'a mut E, meter: &'a mut Meter) -> Self {
        let run = meter.steps();
        // The steps of a trip are taken back, and steps of the run are repeated. So on a trip no
        // limit may break off a step that takes long, although limits do so in the search itself.
        program.break_off_long_steps(false);
        Self {
            program,
            meter,
            run,
            at: run,
            steps: 0,
        }
    }

    /// Goes back to a state of the run, at or before the state where the trip left it.
    pub fn back_to(&mut self, depth: usize) {
        self.program.back_to(depth);
        self.meter.back_to_run(self.run, self.at);
        self.meter.rewind(self.at, depth);
        self.at = depth;
    }

    /// Goes to the state of the run at this depth.
    pub fn visit(&mut self, run: &[SequenceStep], depth: usize) {
        if self.at > depth {
            return self.back_to(depth);
        }
        while self.at < depth {
            let SequenceStep {
                process, outcomes, ..
            } = &run[self.at];
            let made = self.program.step(*process, outcomes);
            assert!(made.is_ok(), "a step that was made cannot be repeated");
            self.meter.repeat(self.at);
            self.at += 1;
            self.steps += 1;
        }
    }

    /// Whether the trip has reached its limit.
    pub fn is_long(&self) -> bool {
        self.steps >= LONG
    }

    /// Makes some steps. Returns whether all of them were possible and none had a false `assume`.
    pub fn make_all<'s>(&mut self, steps: impl IntoIterator<Item = &'s SequenceStep>) -> bool {
        steps.into_iter().all(|step| self.make(step))
    }

    #[inline(never)]
    fn make(&mut self, step: &SequenceStep) -> bool {
        let made = self.program.step(step.process, &step.outcomes);
        let Ok(event) = made else { return false };
        let fine = !discards(event);
        self.steps += 1;
        self.meter.push(self.program);
        fine
    }

    /// Returns the sum of the current state.
    pub fn sum(&self) -> Fingerprint {
        self.meter.sum()
    }

    /// Whether the current state covers another one.
    pub fn covers(&self, other: &E::State) -> bool {
        self.program.covers(other)
    }

    /// Returns to the end of the run. Returns the number of steps of the trip.
    pub fn home(mut self, run: &[SequenceStep]) -> u64 {
        self.visit(run, run.len());
        self.program.break_off_long_steps(true);
        debug_assert!(self.meter.agrees_with(self.program));
        self.steps
    }
}

/// Whether an event has a false `assume`.
pub(super) fn discards(event: &Event) -> bool {
    let mut kinds = event.mishaps.iter().map(|mishap| mishap.kind);
    kinds.any(|kind| kind == MishapKind::Discarded)
}
