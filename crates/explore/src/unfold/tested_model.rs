//! Tests that a model learns from.
//!
//! Thesis, section 7.3. A test runs steps up to a state where the model is incomplete, makes a step
//! there, and continues to the end. It prefers steps that the model does not know. The model learns
//! from the whole test.
//!
//! | thesis | here |
//! |---|---|
//! | EXTENDMODEL(P, S, k) | [`TestedModel::test`] |
//! | the constraints in S are solved | [`TestedModel::sides`] |

use std::ops::ControlFlow;

use mazurka_core::{Bound, Execution, ProcessId, Random, Status};
use smallvec::SmallVec;

use super::model::{Marking, Model};
use super::session::Session;
use crate::algorithms::naive::next_outcomes;
use crate::drive::driver::End;

/// The feasible sides of a step.
pub(crate) enum Sides {
    /// No inputs lead there.
    Impossible,
    /// The step is not possible there: it waits.
    Closed,
    /// The step is possible with these outcomes.
    Possible(Vec<Vec<i64>>),
}

/// A model, and its program.
pub(crate) struct TestedModel<'a, 'w, E> {
    pub session: Session<'a, 'w, E>,
    pub model: Model,
    /// The initial state.
    pub start: Marking,
    random: Random,
}

impl<'a, 'w, E: Execution> TestedModel<'a, 'w, E> {
    /// Creates a model without tests. The seed determines how tests continue where all steps are
    /// known.
    pub fn new(session: Session<'a, 'w, E>, seed: u64) -> Self {
        session.program.back_to(0);
        let mut model = Model::default();
        let start = model.start(session.program);
        Self {
            session,
            model,
            start,
            random: Random::new(seed),
        }
    }

    /// Runs some steps, then one of a process with these outcomes, and continues to the end; the
    /// model learns from the whole test. Returns false if the step is not possible, which does not
    /// count as a test.
    pub fn test<'s>(
        &mut self,
        steps: impl Iterator<Item = (ProcessId, &'s [i64])>,
        process: ProcessId,
        outcomes: &[i64],
    ) -> ControlFlow<Bound, bool> {
        self.session.may_run()?;
        self.session.program.back_to(0);
        let mut marking = self.start.clone();
        for (process, outcomes) in steps {
            self.step(process, outcomes, &mut marking)?;
        }
        if self.session.program.status(process) != Status::Ready {
            self.session.ledger.found.counts.blocked += 1;
            return ControlFlow::Continue(false);
        }
        self.step(process, outcomes, &mut marking)?;
        while self.session.program.events().len() as u64 <= self.session.limits.depth() {
            let program = &*self.session.program;
            let ready = program.processes().in_order().iter().copied();
            let ready: Vec<_> = ready
                .filter(|&p| program.status(p) == Status::Ready)
                .collect();
            let unknown = |&process: &ProcessId| {
                let local = marking.locals[process.index()];
                let valuation = |cell: u32| marking.cell(cell);
                let ending = |process: ProcessId| self.model.ending(&marking, process);
                let mut known = self.model.predict(local, &valuation, &ending);
                known.next().is_none()
            };
            let fresh: Vec<_> = ready.iter().copied().filter(unknown).collect();
            let from = if fresh.is_empty() { &ready } else { &fresh };
            if from.is_empty() {
                let end = End::classify(self.session.program);
                self.session.end(end);
                return ControlFlow::Continue(true);
            }
            let process = from[self.random.below(from.len() as u64) as usize];
            let outcomes = if self.session.program.has_conditions() {
                self.unknown_side(process, &marking)?
            } else {
                SmallVec::new()
            };
            self.step(process, &outcomes, &mut marking)?;
        }
        let bound = Bound::MaxDepth(self.session.limits.depth());
        self.session.ledger.found.bound(bound);
        self.session.end(End::Cut);
        ControlFlow::Continue(true)
    }

    /// Whether the event at a position of the last test is among the recorded failures. The test
    /// may have met other failures later.
    pub fn has_failed(&self, at: usize) -> bool {
        let Session {
            program, ledger, ..
        } = &self.session;
        ledger.has_failed(*program, at)
    }

    /// Returns the feasible sides of the next step of a process after some steps, for programs with
    /// inputs. The program is run, because it knows the path constraint. This run does not count as
    /// a test.
    pub fn sides<'s>(
        &mut self,
        steps: impl Iterator<Item = (ProcessId, &'s [i64])>,
        process: ProcessId,
    ) -> ControlFlow<Bound, Sides> {
        self.session.program.back_to(0);
        for (process, outcomes) in steps {
            if self.session.step(process, outcomes)?.is_err() {
                return ControlFlow::Continue(Sides::Impossible);
            }
        }
        if self.session.program.status(process) != Status::Ready {
            return ControlFlow::Continue(Sides::Closed);
        }
        let depth = self.session.program.events().len();
        let mut all = Vec::new();
        let mut next = Some(SmallVec::new());
        while let Some(outcomes) = next {
            let made = self.session.step(process, &outcomes)?;
            assert!(made.is_ok(), "a side that is possible is not");
            let event = &self.session.program.events()[depth];
            all.push(event.outcomes.iter().map(|o| o.value).collect());
            next = next_outcomes(event);
            self.session.program.back_to(depth);
        }
        ControlFlow::Continue(Sides::Possible(all))
    }

    /// Returns outcomes for the next step of a process that the model does not know, if the current
    /// path allows any.
    fn unknown_side(
        &mut self,
        process: ProcessId,
        marking: &Marking,
    ) -> ControlFlow<Bound, SmallVec<[i64; 1]>> {
        let local = marking.locals[process.index()];
        let depth = self.session.program.events().len();
        let mut next = Some(SmallVec::new());
        let mut last = SmallVec::new();
        while let Some(outcomes) = next {
            let made = self.session.step(process, &outcomes)?;
            assert!(made.is_ok(), "a side that is possible is not");
            let event = &self.session.program.events()[depth];
            last = event.outcomes.iter().map(|o| o.value).collect();
            next = next_outcomes(event);
            self.session.program.back_to(depth);
            let (model, valuation) = (&self.model, |cell: u32| marking.cell(cell));
            let ending = |process: ProcessId| model.ending(marking, process);
            if model
                .with_outcomes(local, &last, &valuation, &ending)
                .is_none()
            {
                break;
            }
        }
        ControlFlow::Continue(last)
    }

    /// Makes a step of the program, from which the model learns.
    fn step(
        &mut self,
        process: ProcessId,
        outcomes: &[i64],
        marking: &mut Marking,
    ) -> ControlFlow<Bound> {
        let made = self.session.step(process, outcomes)?;
        assert!(
            made.is_ok(),
            "a step that the model foresaw is not possible"
        );
        let program = &*self.session.program;
        let depth = program.events().len() - 1;
        let event = &program.events()[depth];
        self.model
            .learn(program, event, marking, outcomes.is_empty());
        if !event.mishaps.is_empty() {
            self.session.ledger.mishaps(program, depth, None);
        }
        ControlFlow::Continue(())
    }
}
