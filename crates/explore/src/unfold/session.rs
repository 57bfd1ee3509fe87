//! A program under test: its limits, its findings, and queries about its processes and steps.
//!
//! All kinds of nets use the program in this way, however they choose tests.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use mazurka_core::{
    AccessKind, Bound, Counts, Event, Execution, Limits, ProcessId, Status, StepError, Wait,
};

use super::deadlocks::{self, Hunter};
use super::extensions::{Builder, Next, ObservedEffects};
use crate::drive::budget::Budget;
use crate::drive::driver::{End, Observer, Watch, is_broken_off};
use crate::drive::findings::{Findings, Ledger};
use crate::drive::pace::Pace;
use crate::drive::search::Session as Search;

/// Number of steps between two checks of the limits.
const STEPS_BETWEEN_CHECKS: u32 = 128;

/// Number of deadlocks that are run after a limit has ended the search for deadlocks. One deadlock
/// is enough evidence, but with inputs some deadlocks may be infeasible.
const SHOWN_BEYOND_LIMITS: usize = 8;

/// A program under test, its limits and its findings.
pub(crate) struct Session<'a, 'w, E> {
    pub program: &'a mut E,
    pub limits: &'a Limits,
    pub ledger: Ledger<'a>,
    watch: &'a mut Watch<'w>,
    observer: &'a mut dyn Observer<E>,
    budget: Budget<'a>,
    pace: Pace,
    /// Whether a limit was reached, and only the findings so far are run again to show them. Limits
    /// are not checked then.
    over: bool,
}

impl<'a, 'w, E: Execution> Session<'a, 'w, E> {
    pub fn new(search: &'a mut Search<'_, 'w, E>) -> Self {
        let Search {
            program,
            limits,
            goal,
            watch,
            observer,
            ..
        } = search;
        program.back_to(0);
        program.break_off_long_steps(true);
        Self {
            program,
            limits,
            ledger: Ledger::new(limits, *goal, true, false, true),
            // A reborrow, because the original references do not live long enough.
            watch: &mut **watch,
            observer: &mut **observer,
            budget: Budget::new(limits),
            pace: Pace::new(STEPS_BETWEEN_CHECKS),
            over: false,
        }
    }

    /// Records the mishaps of the initial state.
    pub fn start(&mut self) -> ControlFlow<Bound> {
        if is_broken_off(self.program.initial_mishaps()) {
            return self.broken_off();
        }
        self.ledger.initial_mishaps(self.program);
        ControlFlow::Continue(())
    }

    /// Records the end of a test.
    pub fn end(&mut self, end: End) {
        self.ledger.end(self.program, end, &Vec::new);
        if !matches!(end, End::Cut | End::Blocked) {
            self.observer.complete(self.program);
        }
    }

    /// Returns the findings. The number of traces is unknown, because there are fewer tests than
    /// traces.
    pub fn finish(self) -> Findings {
        self.program.break_off_long_steps(false);
        let mut found = self.ledger.finish(self.budget.elapsed());
        found.counts.traces = None;
        found
    }

    pub fn break_off(&mut self, bound: Bound) {
        self.ledger.found.bound(bound);
        self.ledger.found.broken_off = true;
    }

    /// Whether another test may be run.
    pub fn may_run(&self) -> ControlFlow<Bound> {
        self.budget.may_run(self.ledger.found.counts.executions)
    }

    /// Makes a step. The search ends if the step is broken off, because its effects are incomplete.
    pub fn step(
        &mut self,
        process: ProcessId,
        outcomes: &[i64],
    ) -> ControlFlow<Bound, Result<(), StepError>> {
        self.tick()?;
        let made = match self.program.step(process, outcomes) {
            Ok(event) => Ok(is_broken_off(&event.mishaps)),
            Err(error) => Err(error),
        };
        match made {
            Ok(true) => self.broken_off(),
            made => ControlFlow::Continue(made.map(drop)),
        }
    }

    /// Ends the search because a step was broken off.
    fn broken_off<T>(&mut self) -> ControlFlow<Bound, T> {
        let counts = self.ledger.counts();
        ControlFlow::Break(self.budget.why_broken(counts, self.watch))
    }

    /// Counts a step, and checks the limits at intervals.
    fn tick(&mut self) -> ControlFlow<Bound> {
        let counts = &mut self.ledger.found.counts;
        if !self.over {
            self.budget.may_step(counts.steps)?;
        }
        counts.steps += 1;
        self.check_limits_at_intervals()
    }

    /// Checks the limits at intervals.
    pub fn check_limits_at_intervals(&mut self) -> ControlFlow<Bound> {
        if self.over || !self.pace.is_due() {
            return ControlFlow::Continue(());
        }
        self.budget.look(self.ledger.counts(), self.watch)
    }

    /// Returns the clocks of the deadlocked executions that a net represents. If a limit is
    /// reached, returns a few of the executions found before. The caller may still run these.
    pub fn deadlocks(&mut self, builder: &mut Builder) -> Vec<Vec<u32>> {
        let mut hunt = Hunt {
            budget: self.budget,
            watch: &mut *self.watch,
            counts: self.ledger.counts(),
            pace: Pace::new(STEPS_BETWEEN_CHECKS),
            clocks: Vec::new(),
        };
        let Builder { net, examiner, .. } = builder;
        let searched = deadlocks::search(net, examiner, &mut hunt);
        let mut clocks = hunt.clocks;
        if let ControlFlow::Break(bound) = searched {
            self.break_off(bound);
            self.over = true;
            self.program.break_off_long_steps(false);
            clocks.truncate(SHOWN_BEYOND_LIMITS);
        }
        clocks
    }
}

/// Collects deadlocks within the limits.
struct Hunt<'a, 'w> {
    budget: Budget<'a>,
    watch: &'a mut Watch<'w>,
    counts: Counts,
    pace: Pace,
    clocks: Vec<Vec<u32>>,
}

impl Hunter for Hunt<'_, '_> {
    fn found(&mut self, clock: Vec<u32>) -> ControlFlow<Bound> {
        self.clocks.push(clock);
        ControlFlow::Continue(())
    }

    fn tick(&mut self) -> ControlFlow<Bound> {
        if self.pace.is_due() {
            self.budget.look(self.counts, self.watch)
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Returns the next step of a process.
pub(crate) fn next<E: Execution>(program: &E, process: ProcessId) -> Next {
    let status = program.status(process);
    let mut next = Next {
        process,
        name: program.processes().name(process),
        status,
        ended: program.has_ended(process),
        claims: Vec::new(),
        wait: Wait::Never,
        joins: Vec::new(),
    };
    if matches!(status, Status::Ready | Status::Waiting) {
        program.claims(process, &mut next.claims);
        next.wait = program.wait(process);
        if matches!(next.wait, Wait::Process | Wait::Guard) {
            program.joins(process, &mut next.joins);
        }
    }
    next
}

/// Returns the processes that a step waited for, excluding those that it started itself.
pub(crate) fn joined(event: &Event) -> impl Iterator<Item = &ProcessId> {
    let joined = event.joined.iter();
    joined.filter(|process| !event.spawned.contains(process))
}

/// Returns the effects of the last step of a program.
pub(crate) fn done<E: Execution>(program: &E, event: &Event) -> ObservedEffects {
    let mut locks = BTreeMap::new();
    // A step in which its process keeps waiting has undone its effects.
    let touched = event.touched.iter().filter(|_| !event.stayed);
    for access in touched {
        let held = match access.kind {
            AccessKind::Acquire => true,
            AccessKind::Release => false,
            AccessKind::Read | AccessKind::Write => continue,
        };
        locks.insert(access.first, held);
    }
    let processes = std::iter::once(event.process).chain(event.spawned.iter().copied());
    ObservedEffects {
        outcomes: event.outcomes.iter().map(|o| o.value).collect(),
        joined: joined(event).copied().collect(),
        locks: locks.into_iter().collect(),
        next: processes.map(|process| next(program, process)).collect(),
    }
}
