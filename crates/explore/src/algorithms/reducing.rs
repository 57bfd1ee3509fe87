//! The search that runs one process from each state, and further processes where races require it.
//!
//! `dpor` and `source` are the two algorithms of this kind, and cite their papers. Both keep the
//! current execution with its races and the states on the path. They differ in the processes that a
//! new event adds to backtrack sets ([`Reverses`]).

use std::marker::PhantomData;

use mazurka_core::{Event, Execution, ProcessId, Status, Wait};

use crate::algorithms::path::Path;
use crate::drive::driver::{End, Policy, RacingStep, ReversedRace};
use crate::relations::order::Order;
use crate::relations::set::Set;

/// How a search reverses the races that it meets.
pub(crate) trait Reverses<S: Set>: Sized {
    /// Whether processes that have been run sleep. Then no trace is met twice.
    const SLEEPS: bool = true;

    /// Adds an event to the execution, and schedules the reversals of its races.
    fn push<E: Execution>(search: &mut Reducing<S, Self>, program: &E, event: &Event);

    /// Called at the end of a run.
    fn end<E: Execution>(_search: &mut Reducing<S, Self>, _program: &E, _end: End) {}
}

/// The policy that `dpor` and `source` share.
#[derive(Debug)]
pub(crate) struct Reducing<S, R> {
    pub order: Order<S>,
    pub path: Path,
    /// Whether a run has more events than the sets can hold.
    pub overflow: bool,
    pub noted: ScheduledReversals,
    reverses: PhantomData<R>,
}

impl<S: Set, R: Reverses<S>> Reducing<S, R> {
    pub fn new() -> Self {
        Self {
            order: Order::new(),
            path: Path::with_sleep_sets(R::SLEEPS),
            overflow: false,
            noted: ScheduledReversals::default(),
            reverses: PhantomData,
        }
    }
}

/// The scheduled reversals, if they are recorded.
#[derive(Debug, Default)]
pub(crate) struct ScheduledReversals(Option<Vec<ReversedRace>>);

impl ScheduledReversals {
    /// Starts recording.
    pub fn start(&mut self) {
        self.0 = Some(Vec::new());
    }

    /// Whether reversals are recorded.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Records the reversal of a race with the event at a position.
    pub fn note(&mut self, first: usize, second: RacingStep) {
        if let Some(noted) = &mut self.0 {
            noted.push(ReversedRace { first, second });
        }
    }

    /// Returns the reversals recorded since the last call.
    pub fn take(&mut self) -> Vec<ReversedRace> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

impl<E: Execution, S: Set, R: Reverses<S>> Policy<E> for Reducing<S, R> {
    const SEPARATES: bool = true;
    const UNIQUE: bool = R::SLEEPS;

    fn enter(&mut self, program: &E) {
        if let Some(event) = program.events().last() {
            // One position of the sets is left free, for a waiting step.
            self.overflow |= program.events().len() + 1 >= S::CAPACITY;
            if self.overflow {
                return;
            }
            R::push(self, program, event);
        }
        self.path.enter(program);
    }

    fn next(&mut self, _program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        if self.overflow {
            return None;
        }
        self.path.next(outcomes)
    }

    fn put_to_sleep(&mut self, program: &E, process: ProcessId) {
        self.path.put_to_sleep(program, process);
    }

    fn leave(&mut self, program: &E) {
        if let Some(event) = program.events().last().filter(|_| !self.overflow) {
            self.path.leave(event);
            self.order.pop(event);
        }
    }

    fn leaf(&mut self, program: &E, end: End) {
        if !self.overflow {
            R::end(self, program, end);
        }
    }

    fn progress(&self) -> Option<f64> {
        Some(self.path.progress())
    }

    fn gives_up(&self) -> bool {
        self.overflow
    }

    fn note_reversals(&mut self) {
        self.noted.start();
    }

    fn take_reversals(&mut self) -> Vec<ReversedRace> {
        self.noted.take()
    }
}

/// Returns the processes that can make a step or wait to make one.
pub(crate) fn pending<E: Execution>(program: &E) -> impl Iterator<Item = (ProcessId, Status)> {
    let all = program.processes().in_order().iter();
    all.map(|&process| (process, program.status(process)))
        .filter(|(_, status)| matches!(status, Status::Ready | Status::Waiting))
}

/// Whether a step without a guard that is not made by the end of a run can race with the events of
/// the run: a waiting acquisition, or any step that the process could make if the run had not been
/// cut.
pub(crate) fn may_race(wait: Wait, status: Status, end: End) -> bool {
    match wait {
        Wait::Lock => status == Status::Waiting || end == End::Cut,
        Wait::Never => status == Status::Ready && end == End::Cut,
        Wait::Process | Wait::Guard => false,
    }
}
