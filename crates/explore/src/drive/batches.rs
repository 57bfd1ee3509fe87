//! Workers that draw a sample of executions.
//!
//! A sample is drawn in batches, each with a seed of its own (`algorithms/sample`), so the drawn
//! executions depend neither on the number of workers nor on their speed. Each worker has its own
//! copy of the program and takes the next batch when it has finished one. The findings of the
//! batches are merged in order, up to the first batch in which a violation ends the search; later
//! batches do not count.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use mazurka_core::{Bound, Counts, Execution, Limits, ProcessId, Status, StopReason};

use crate::algorithms::method::Sample;
use crate::algorithms::sample::{BATCH, most_walks};
use crate::drive::budget::Budget;
use crate::drive::driver::{Goal, Progress, Watch};
use crate::drive::findings::Findings;
use crate::drive::parallel::{Workers, foreign_memory};
use crate::drive::search::{Search, Session, Start};

/// Time between two calls of the watch if nothing happens.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

impl Search<Sample> {
    /// Draws executions with several workers. If the total number of steps is limited, one worker
    /// draws all executions, so that the limit is exact.
    pub fn share_walks<E: Execution>(
        &self,
        workers: &Workers<'_, E>,
        watch: &mut Watch<'_>,
    ) -> Findings {
        let most = most_walks(&self.limits);
        let batches = most.map_or(u64::MAX, |most| most.div_ceil(BATCH));
        let count = (workers.count as u64).min(batches);
        let mut program = (workers.programs)();
        let ready = |process: &ProcessId| program.status(*process) == Status::Ready;
        // If no process is ready, there is one execution, and one draw is enough.
        let steps = program.processes().in_order().iter().any(ready);
        if count <= 1 || self.limits.steps.is_some() || !steps {
            return self.run(&mut program, watch, &mut ());
        }
        drop(program);
        let budget = Budget::new(&self.limits);
        let shared = SharedSample {
            search: self,
            most,
            next: AtomicU64::new(0),
            last: AtomicU64::new(batches - 1),
            stopped: AtomicBool::new(false),
            drawing: (0..count).map(|_| BatchCounts::default()).collect(),
        };
        let mut gathered = GatheredFindings::default();
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            for worker in &shared.drawing {
                let (sender, shared) = (sender.clone(), &shared);
                scope.spawn(move || shared.work(worker, workers.programs, &sender));
            }
            drop(sender);
            loop {
                match receiver.recv_timeout(BETWEEN_LOOKS) {
                    Ok((batch, found)) => gathered.add(batch, found),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                let counts = shared.counts(&gathered);
                let done = most.map(|most| counts.executions as f64 / most.max(1) as f64);
                let look = budget.look_at(counts, done, watch);
                if let (ControlFlow::Break(bound), false) = (look, shared.is_stopped()) {
                    gathered.stopped_by = Some(bound);
                    shared.stopped.store(true, Ordering::Relaxed);
                }
            }
        });
        let why = || budget.why_broken(Counts::default(), watch);
        let mut found = gathered.all(self.goal, why);
        found.elapsed = budget.elapsed();
        found
    }
}

/// The counts of the batch that a worker is drawing.
#[derive(Debug, Default)]
struct BatchCounts {
    executions: AtomicU64,
    steps: AtomicU64,
}

/// The state that workers share.
struct SharedSample<'a> {
    search: &'a Search<Sample>,
    most: Option<u64>,
    /// The index of the next batch to be taken.
    next: AtomicU64,
    /// The index of the last batch that is needed. It becomes smaller when the search ends in an
    /// earlier batch, at a violation or because a step is broken off.
    last: AtomicU64,
    stopped: AtomicBool,
    /// The counts of each worker.
    drawing: Vec<BatchCounts>,
}

impl SharedSample<'_> {
    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Returns the counts so far, over all batches.
    fn counts(&self, gathered: &GatheredFindings) -> Counts {
        let sum = |of: fn(&BatchCounts) -> &AtomicU64| -> u64 {
            let all = self.drawing.iter();
            all.map(|worker| of(worker).load(Ordering::Relaxed)).sum()
        };
        Counts {
            executions: gathered.executions + sum(|worker| &worker.executions),
            steps: gathered.steps + sum(|worker| &worker.steps),
            ..Counts::default()
        }
    }

    /// Takes batches and draws their walks, until no batch is needed or the search is stopped.
    fn work<E: Execution>(
        &self,
        worker: &BatchCounts,
        programs: &(dyn Fn() -> E + Sync),
        results: &Sender<(u64, Findings)>,
    ) {
        let _foreign = foreign_memory();
        let mut program = programs();
        loop {
            let batch = self.next.fetch_add(1, Ordering::Relaxed);
            let not_needed = || batch > self.last.load(Ordering::Relaxed);
            if self.is_stopped() || not_needed() {
                return;
            }
            let mut watch = |progress: &Progress| {
                let Counts {
                    executions, steps, ..
                } = progress.counts;
                worker.executions.store(executions, Ordering::Relaxed);
                worker.steps.store(steps, Ordering::Relaxed);
                if self.is_stopped() || not_needed() {
                    ControlFlow::Break(Bound::Interrupted)
                } else {
                    ControlFlow::Continue(())
                }
            };
            let Search {
                algorithm,
                ref limits,
                goal,
            } = *self.search;
            let session = Session {
                program: &mut program,
                limits: Limits {
                    time: None,
                    ..limits.clone()
                },
                goal,
                watch: &mut watch,
                observer: &mut (),
                start: &mut Start::default(),
            };
            let left = self.most.map_or(BATCH, |most| most - batch * BATCH);
            let found = algorithm.walk(session, batch, Some(left.min(BATCH)));
            if found.stopped == StopReason::Certain || found.broken_off {
                self.last.fetch_min(batch, Ordering::Relaxed);
            }
            let sent = results.send((batch, found));
            worker.executions.store(0, Ordering::Relaxed);
            worker.steps.store(0, Ordering::Relaxed);
            if sent.is_err() {
                return;
            }
        }
    }
}

/// The findings of batches that were finished in any order.
#[derive(Default)]
struct GatheredFindings {
    /// The findings of all batches before `next`.
    found: Option<Findings>,
    /// The index of the first batch that is missing.
    next: u64,
    /// The findings of finished batches after `next`, by index.
    early: BTreeMap<u64, Findings>,
    /// Executions and steps of all batches that have been added.
    executions: u64,
    steps: u64,
    /// The limit that ended the sample early.
    stopped_by: Option<Bound>,
}

impl GatheredFindings {
    /// Adds a batch, and merges all batches that have no missing batch before them.
    fn add(&mut self, batch: u64, found: Findings) {
        self.executions += found.counts.executions;
        self.steps += found.counts.steps;
        self.early.insert(batch, found);
        while let Some(found) = self.early.remove(&self.next) {
            self.absorb(found);
            self.next += 1;
        }
    }

    /// Merges the next batch. Batches after one that ended the search do not count.
    fn absorb(&mut self, other: Findings) {
        match &mut self.found {
            Some(found) if found.stopped == StopReason::Certain => {}
            Some(found) => {
                found.stopped = other.stopped;
                found.absorb(other);
            }
            None => self.found = Some(other),
        }
    }

    /// Returns the findings of all batches, as one worker would have found them.
    fn all(mut self, goal: Goal, why_broken: impl FnOnce() -> Bound) -> Findings {
        for (_, found) in std::mem::take(&mut self.early) {
            self.absorb(found);
        }
        let mut found = self.found.unwrap_or_else(|| Findings::none(false));
        if found.stopped != StopReason::Certain {
            found.bounds.retain(|bound| *bound != Bound::Interrupted);
            if self.stopped_by.is_some() || found.broken_off {
                found.bound(self.stopped_by.unwrap_or_else(why_broken));
            }
        }
        if goal == Goal::Everything {
            found.sort();
        }
        Sample::conclude(&mut found);
        found
    }
}
