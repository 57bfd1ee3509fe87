//! Workers that share the states of one search.
//!
//! All workers put the states that they meet into one [table](crate::drive::states). A state is
//! expanded by the worker that has inserted it. A worker explores depth first. When another worker
//! is idle, a busy worker gives away the branch nearest to the start of its path, as a schedule
//! (*lazy splitting* of Lipton and Mehlhorn). Blumofe and Leiserson explain why the oldest branch
//! is best (work stealing, JACM 1999). Branches wait in a lock-free queue.
//!
//! Results do not depend on the number of workers. A state alone determines the steps that are run
//! from it, so the states, the steps between them and all counts are always the same. Only the
//! *runs* that lead to the findings depend on timing. So one worker searches for these runs again
//! and stops when it has found all of them. If a search ends at its first violation, one worker
//! repeats the search, and its result counts. If a limit leaves no time for the repetition, the
//! first runs found are shown. Limits of steps and executions are exact only with one worker.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crossbeam_deque::{Injector, Steal};
use mazurka_core::{
    Bound, Counts, Execution, Limits, ProcessId, ProcessPath, Schedule, Semantics, StopReason,
};
use smallvec::SmallVec;

use crate::algorithms::engine::{Algorithm, Merging};
use crate::algorithms::stateful::{Stateful, Visits};
use crate::drive::budget::Budget;
use crate::drive::driver::{Progress, Watch, drive};
use crate::drive::findings::{ExpectedFindings, Findings};
use crate::drive::parallel::{Workers, foreign_memory};
use crate::drive::search::{Engine, Search, Session, Start};
use crate::drive::states::Visited;
use crate::drive::suffix::Suffix;

/// Number of steps of the first attempt, by one worker; it takes some milliseconds.
const FIRST_ATTEMPT: u64 = 1 << 17;
/// Time between two calls of the watch if nothing happens.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A step that leads to unexplored states.
#[derive(Debug)]
pub(crate) struct Branch {
    /// The steps that lead to the state from which the step is made.
    prefix: Schedule,
    /// The process that makes the step.
    pub process: ProcessPath,
    /// The outcomes to start with, because another worker has tried the earlier ones. `None` to try
    /// all outcomes.
    pub outcomes: Option<SmallVec<[i64; 1]>>,
}

impl Branch {
    /// Returns a branch of the state before the event at a position of the whole run.
    pub fn new<E: Execution>(
        program: &E,
        before: usize,
        process: ProcessId,
        outcomes: Option<SmallVec<[i64; 1]>>,
    ) -> Self {
        let processes = program.processes();
        Self {
            prefix: Schedule::from_run(&program.whole()[..before], processes),
            process: processes.path(process).clone(),
            outcomes,
        }
    }
}

/// The queue through which workers pass branches to each other.
#[derive(Debug)]
pub(crate) struct BranchQueue {
    /// The branches; `None` is the whole program from its initial state.
    branches: Injector<Option<Branch>>,
    /// The number of branches in the queue.
    offered: AtomicUsize,
    /// The number of idle workers.
    idle: AtomicUsize,
    /// The number of branches in the queue or in progress.
    pending: AtomicUsize,
    /// Whether all workers must end.
    stopped: AtomicBool,
}

impl BranchQueue {
    fn new() -> Self {
        let branch_queue = Self {
            branches: Injector::new(),
            offered: AtomicUsize::new(0),
            idle: AtomicUsize::new(0),
            pending: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        };
        branch_queue.add(None);
        branch_queue
    }

    /// Whether more workers are idle than branches are in the queue.
    #[inline]
    pub fn is_hungry(&self) -> bool {
        self.idle.load(Ordering::Relaxed) > self.offered.load(Ordering::Relaxed)
    }

    /// Puts a branch into the queue.
    pub fn put(&self, branch: Branch) {
        self.add(Some(branch));
    }

    fn add(&self, branch: Option<Branch>) {
        self.pending.fetch_add(1, Ordering::SeqCst);
        self.offered.fetch_add(1, Ordering::SeqCst);
        self.branches.push(branch);
    }

    /// Takes a branch; waits for one if necessary. Returns `None` if everything is explored or if
    /// the search was stopped, and `Some(None)` for the whole program.
    fn take(&self) -> Option<Option<Branch>> {
        self.idle.fetch_add(1, Ordering::SeqCst);
        let mut looks = 0u32;
        let taken = loop {
            if self.stopped.load(Ordering::Relaxed) {
                break None;
            }
            match self.branches.steal() {
                Steal::Success(branch) => {
                    self.offered.fetch_sub(1, Ordering::SeqCst);
                    break Some(branch);
                }
                Steal::Retry => continue,
                Steal::Empty if self.pending.load(Ordering::SeqCst) == 0 => break None,
                Steal::Empty => {}
            }
            looks = looks.saturating_add(1);
            match looks {
                0..100 => std::hint::spin_loop(),
                100..1000 => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(50)),
            }
        };
        self.idle.fetch_sub(1, Ordering::SeqCst);
        taken
    }

    /// Records that a branch has been explored.
    fn done(&self) {
        self.pending.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The progress of a worker, for the thread that reports progress.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Slot {
    /// Counts of the current branch.
    steps: AtomicU64,
    executions: AtomicU64,
    states: AtomicU64,
    open: AtomicU64,
    /// Counts of the earlier branches.
    done_steps: AtomicU64,
    done_executions: AtomicU64,
    done_states: AtomicU64,
}

impl Slot {
    fn set(&self, progress: &Progress) {
        let counts = &progress.counts;
        self.steps.store(counts.steps, Ordering::Relaxed);
        self.executions.store(counts.executions, Ordering::Relaxed);
        self.states
            .store(counts.states.unwrap_or(0), Ordering::Relaxed);
        self.open.store(progress.open, Ordering::Relaxed);
    }

    /// Adds the counts of a finished branch.
    fn add(&self, counts: &Counts) {
        let add = |to: &AtomicU64, n: u64| to.fetch_add(n, Ordering::Relaxed);
        for slot in [&self.steps, &self.executions, &self.states, &self.open] {
            slot.store(0, Ordering::Relaxed);
        }
        add(&self.done_steps, counts.steps);
        add(&self.done_executions, counts.executions);
        add(&self.done_states, counts.states.unwrap_or(0));
    }

    fn counts(&self) -> Counts {
        let sum =
            |a: &AtomicU64, b: &AtomicU64| a.load(Ordering::Relaxed) + b.load(Ordering::Relaxed);
        Counts {
            steps: sum(&self.steps, &self.done_steps),
            executions: sum(&self.executions, &self.done_executions),
            states: Some(sum(&self.states, &self.done_states)),
            ..Counts::default()
        }
    }
}

/// The data that the workers of a search share.
struct SharedSearch<'a> {
    search: &'a Search<Algorithm>,
    merging: Merging,
    visited: &'a Visited,
    branch_queue: BranchQueue,
    slots: Vec<Slot>,
    /// The limit that has stopped the workers; `None` if no limit has.
    bound: Mutex<Option<Bound>>,
    /// Whether a worker has broken off a step because the search no longer waits for steps.
    broken: AtomicBool,
}

impl SharedSearch<'_> {
    /// Stops all workers. The first reason is kept.
    fn stop(&self, bound: Option<Bound>) {
        if let Some(bound) = bound {
            let mut reason = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
            reason.get_or_insert(bound);
        }
        self.branch_queue.stopped.store(true, Ordering::Relaxed);
    }

    fn counts(&self) -> Counts {
        let all = self.slots.iter().map(Slot::counts);
        all.fold(
            Counts {
                states: Some(0),
                ..Counts::default()
            },
            |all, one| Counts {
                steps: all.steps + one.steps,
                executions: all.executions + one.executions,
                states: all.states.zip(one.states).map(|(a, b)| a + b),
                ..all
            },
        )
    }

    fn progress(&self, elapsed: Duration) -> Progress {
        let counts = self.counts();
        let open = self
            .slots
            .iter()
            .map(|slot| slot.open.load(Ordering::Relaxed));
        Progress {
            elapsed,
            done: None,
            estimate: None,
            open: open.sum::<u64>() + self.branch_queue.offered.load(Ordering::Relaxed) as u64,
            miss: Some(self.visited.miss(counts.states.unwrap_or(0))),
            counts,
        }
    }

    /// Takes branches and explores them, until all states are expanded or the search is stopped.
    /// Then sends all findings of this worker.
    fn work<E: Semantics>(
        &self,
        worker: usize,
        programs: &(dyn Fn() -> E + Sync),
        results: &Sender<Findings>,
    ) {
        let _foreign = foreign_memory();
        let mut program = programs();
        let mut all = Findings::none(true);
        all.counts.states = Some(0);
        all.counts.permuted_states = Some(0);
        while let Some(branch) = self.branch_queue.take() {
            let found = self.explore(&mut program, branch, worker);
            self.slots[worker].add(&found.counts);
            if found.stopped == StopReason::Certain {
                self.stop(None);
            }
            let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
            let (own, more) = (all.counts, found.counts);
            all.absorb(found);
            all.counts.states = sum(own.states, more.states);
            all.counts.permuted_states = sum(own.permuted_states, more.permuted_states);
            self.branch_queue.done();
        }
        // Sending fails only if the receiver is gone.
        let _ = results.send(all);
    }

    /// Explores a branch, or the whole program for `None`. Other workers may get parts of it.
    fn explore<E: Semantics>(
        &self,
        program: &mut E,
        branch: Option<Branch>,
        worker: usize,
    ) -> Findings {
        let mut rest = Suffix::new(program);
        let mut start = Start::default();
        if let Some(branch) = &branch {
            start.goes_on = true;
            let made = rest.start_after(&branch.prefix, false);
            made.expect("steps that another worker has made");
        }
        let slot = &self.slots[worker];
        let mut watch = |progress: &Progress| {
            slot.set(progress);
            if self.branch_queue.stopped.load(Ordering::Relaxed) {
                ControlFlow::Break(Bound::Interrupted)
            } else {
                ControlFlow::Continue(())
            }
        };
        let limits = Limits {
            time: None,
            steps: None,
            executions: None,
            depth: Some(u64::MAX),
            ..self.search.limits.clone()
        };
        let memory = Visits::new(&rest, self.visited.enter(), self.merging);
        let mut policy = Stateful::of_worker(memory, branch, &self.branch_queue);
        let mut session = Session {
            program: &mut rest,
            start: &mut start,
            limits,
            goal: self.search.goal,
            watch: &mut watch,
            observer: &mut (),
        };
        let mut found = drive(&mut session, &mut policy);
        // The worker ended without being stopped: a step of it was broken off.
        if found.broken_off && !self.branch_queue.stopped.load(Ordering::Relaxed) {
            self.broken.store(true, Ordering::Relaxed);
            self.stop(None);
        }
        found.bounds.retain(|bound| *bound != Bound::Interrupted);
        found
    }
}

impl Search<Algorithm> {
    /// Explores the states of a program with several workers. Only algorithms that merge states use
    /// several workers. Other algorithms, and programs whose cycles matter, use one worker.
    pub fn share_states<E: Semantics>(
        &self,
        workers: &Workers<'_, E>,
        watch: &mut Watch<'_>,
    ) -> Findings {
        self.share_states_after(FIRST_ATTEMPT, workers, watch)
    }

    /// Explores like `share_states`, after a first attempt by one worker that makes at most
    /// `first_attempt` steps (0: no attempt): most programs are small.
    pub fn share_states_after<E: Semantics>(
        &self,
        first_attempt: u64,
        workers: &Workers<'_, E>,
        watch: &mut Watch<'_>,
    ) -> Findings {
        let mut program = (workers.programs)();
        let limits = &self.limits;
        let counted = limits.steps.is_some() || limits.executions.is_some();
        let merging = self.algorithm.merging();
        let merging = merging.filter(|merging| merging.can_be_shared(&program, self));
        let Some(merging) = merging.filter(|_| workers.count > 1 && !counted) else {
            return self.run(&mut program, watch, &mut ());
        };
        let budget = Budget::new(limits);
        if first_attempt > 0 {
            let attempt = self.within(Limits {
                steps: Some(first_attempt),
                ..limits.clone()
            });
            let found = attempt.run(&mut program, watch, &mut ());
            if !found.bounds.contains(&Bound::MaxSteps(first_attempt)) {
                return found;
            }
        }
        let found = self.by_workers((merging, None), workers, &budget, watch);
        self.with_runs_of_one(found, &mut program, &budget, watch)
    }

    /// Explores like `share_states`, without a first attempt. Returns `None` if the findings would
    /// depend on timing: if the space may have more than `most_steps` steps, or if something else
    /// ends the search early. If a limit on time or memory, or an interrupt, ends the search, the
    /// findings depend on timing in any case, so they are returned.
    pub fn share_all_states<E: Semantics>(
        &self,
        most_steps: u64,
        workers: &Workers<'_, E>,
        watch: &mut Watch<'_>,
    ) -> Option<Findings> {
        let mut program = (workers.programs)();
        let merging = self.algorithm.merging()?;
        if workers.count <= 1 || !merging.can_be_shared(&program, self) {
            return None;
        }
        let budget = Budget::new(&self.limits);
        let found = self.by_workers((merging, Some(most_steps)), workers, &budget, watch);
        let by_timing = found.bounds.iter().any(|bound| {
            matches!(
                bound,
                Bound::TimeLimit(_) | Bound::MemoryLimit(_) | Bound::Interrupted
            )
        });
        (found.stopped == StopReason::Complete || by_timing)
            .then(|| self.with_runs_of_one(found, &mut program, &budget, watch))
    }

    /// Replaces the runs found by several workers by those that one worker finds.
    fn with_runs_of_one<E: Semantics>(
        &self,
        mut found: Findings,
        program: &mut E,
        budget: &Budget<'_>,
        watch: &mut Watch<'_>,
    ) -> Findings {
        let certain = found.stopped == StopReason::Certain;
        let complete = !found.broken_off;
        let wanted = ExpectedFindings::from_findings(&found);
        let something = wanted.sites > 0 || wanted.deadlock || wanted.finals > 0;
        // Under symmetry, one worker may find the site of a failure as the image of another site,
        // and another worker may not. So the number of sites does not show whether all are found.
        let merging = self.algorithm.merging();
        let symmetric = merging.is_some_and(|merging| merging.symmetric);
        let to_the_end = symmetric && wanted.sites > 0 && program.symmetry().is_some();
        if certain || complete && something {
            let again = self.algorithm.search(Session {
                program,
                start: &mut Start {
                    wanted: (!certain && !to_the_end).then_some(wanted),
                    ..Start::default()
                },
                limits: budget.left(),
                goal: self.goal,
                watch,
                observer: &mut (),
            });
            match (again.stopped, certain) {
                (StopReason::Certain, true) => found = again,
                (StopReason::Certain, false) | (StopReason::Complete, false) => {
                    found.failures = again.failures;
                    found.deadlock = again.deadlock;
                    found.finals = again.finals;
                    found.seen.finals = again.seen.finals;
                    found.seen.renamed = again.seen.renamed;
                }
                _ => {}
            }
        }
        if let Some(merging) = self.algorithm.merging() {
            merging.complete(program, &mut found);
        }
        found.elapsed = budget.elapsed();
        budget.restate(&mut found.bounds);
        found
    }

    /// Returns the search with other limits.
    fn within(&self, limits: Limits) -> Self {
        Self {
            limits,
            ..self.clone()
        }
    }

    /// Starts the workers and waits for them. Meanwhile this thread calls the watch and checks the
    /// limits. Merges the findings of all workers.
    fn by_workers<E: Semantics>(
        &self,
        (merging, most_steps): (Merging, Option<u64>),
        workers: &Workers<'_, E>,
        budget: &Budget<'_>,
        watch: &mut Watch<'_>,
    ) -> Findings {
        let Workers { count, programs } = *workers;
        let visited = merging.visited();
        let shared = SharedSearch {
            search: self,
            merging,
            visited: &visited,
            branch_queue: BranchQueue::new(),
            slots: (0..count).map(|_| Slot::default()).collect(),
            bound: Mutex::new(None),
            broken: AtomicBool::new(false),
        };
        let mut found = Findings::none(true);
        let mut states = 0;
        let mut permuted = Some(0u64);
        let mut certain = false;
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            for worker in 0..count {
                let (sender, shared) = (sender.clone(), &shared);
                scope.spawn(move || shared.work(worker, programs, &sender));
            }
            drop(sender);
            loop {
                match receiver.recv_timeout(BETWEEN_LOOKS) {
                    Ok(part) => {
                        states += part.counts.states.unwrap_or(0);
                        let more = permuted.zip(part.counts.permuted_states);
                        permuted = more.map(|(all, more)| all.saturating_add(more));
                        certain |= part.kinds().iter().any(|kind| self.goal.stops_at(kind));
                        found.absorb(part);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if let ControlFlow::Break(bound) = budget.time() {
                    shared.stop(Some(bound));
                }
                if let Some(most) = most_steps.filter(|&most| shared.counts().steps > most) {
                    shared.stop(Some(Bound::MaxSteps(most)));
                }
                if let ControlFlow::Break(bound) = watch(&shared.progress(budget.elapsed())) {
                    shared.stop(Some(bound));
                }
            }
        });
        certain |= found.kinds().iter().any(|kind| self.goal.stops_at(kind));
        found.counts.states = Some(states);
        found.counts.permuted_states = permuted;
        found.counts.traces = None;
        let bound = *shared.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let broken = shared.broken.load(Ordering::Relaxed);
        let broken = broken.then(|| budget.why_broken(found.counts, watch));
        found.broken_off = false;
        if let Some(bound) = bound.or(broken).filter(|_| !certain) {
            found.bound(bound);
            found.broken_off = true;
        }
        merging.add_bound(&visited, states, &mut found);
        // The search may have ended before this check.
        if let Some(most) = most_steps.filter(|&most| found.counts.steps > most) {
            found.bound(Bound::MaxSteps(most));
        }
        found.stopped = match () {
            () if certain => StopReason::Certain,
            () if found.bounds.is_empty() => StopReason::Complete,
            () => StopReason::Bound,
        };
        found
    }
}
