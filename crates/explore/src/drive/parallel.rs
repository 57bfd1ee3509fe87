//! Workers: several threads that explore the parts of a search space (see `cut`).
//!
//! Each worker has its own copy of the program and takes the next part when it has finished one.
//! While a part is explored, workers share only a few counters, which they read every few thousand
//! steps. The thread that started the search explores nothing: it merges results, calls the watch,
//! and stops all workers at a limit.
//!
//! The result depends neither on the number of workers nor on their speed:
//! - the parts are always the same, and the findings of a part depend only on the part;
//! - counts are added, sets are united, and the least schedules are shown. If the search ends as
//!   soon as the verdict is certain, the schedules come from the *first* part, in the order of the
//!   tree, that makes it certain: later parts are abandoned, earlier ones are explored to their
//!   end.
//!
//! A search that a limit cuts short does depend on time: the clock decides which parts are
//! finished. Limits apply to all workers together. One worker counts steps and executions exactly;
//! of several workers, each may exceed the limit by a few thousand steps.
//!
//! One worker gains nothing from parts, so [`Search::share`] then uses the plain engine. With
//! several workers it first makes a short attempt with the plain engine too: most programs are
//! small and need no parts.
//!
//! Workers take parts by incrementing a counter. That suffices, because there are many more parts
//! than workers and parts are taken seldom.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use mazurka_core::{Bound, Counts, Execution, Kind, Limits, Status, StepError, StopReason};

use crate::algorithms::engine::Stateless;
use crate::drive::budget::Budget;
use crate::drive::cut::{Part, cut};
use crate::drive::driver::{Goal, Observer, Progress, Watch, is_broken_off};
use crate::drive::estimate::Estimate;
use crate::drive::findings::Findings;
use crate::drive::search::{Search, Session, Start};
use crate::drive::suffix::{OfRest, Suffix};

/// Number of parts: enough to keep all workers busy until the end, and to lose little if a part is
/// abandoned.
const PARTS: usize = 256;
/// Number of steps of the first attempt, which does not cut the space: some milliseconds.
const FIRST_ATTEMPT: u64 = 1 << 17;
/// Number of steps of the first attempt for a program over unknown values, whose steps take longer.
const FIRST_ATTEMPT_OVER_TERMS: u64 = 1 << 12;
/// Up to this limit on executions, one worker explores, so that the limit is exact.
const FEW: u64 = 1 << 16;
/// Time between two calls of the watch if nothing happens.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Called at intervals with the state of a search in parts.
pub struct Saver<'a> {
    /// The least time between two calls. There is no call if no part has been finished since the
    /// last one.
    pub every: Duration,
    /// Receives the findings of finished parts, and the remaining parts.
    pub save: &'a mut dyn FnMut(&Parts),
}

/// The threads that explore. Each has its own copy of the program.
pub struct Workers<'a, E> {
    /// Number of workers.
    pub count: usize,
    /// Makes a program for each worker.
    pub programs: &'a (dyn Fn() -> E + Sync),
}

/// A search in parts: the findings of finished parts, and the remaining parts.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The search. Its limits apply to one call of [`run`](Self::run), so they may differ between
    /// calls.
    pub search: Search<Stateless>,
    /// The findings of the finished parts.
    pub found: Findings,
    /// The remaining parts, in order.
    pub left: Vec<Part>,
    /// A part that takes more steps than this limit is abandoned and stays among the remaining
    /// parts. The limit applies to each part alone, so which parts are abandoned does not depend on
    /// the workers.
    pub most_steps: Option<u64>,
}

impl Parts {
    /// Cuts the search space of a program.
    pub fn new<E: Execution>(program: E, search: Search<Stateless>) -> Self {
        Self::at_least(PARTS, program, search)
    }

    /// Creates a search without parts, to which the parts of a checkpoint are added.
    pub fn none(search: Search<Stateless>) -> Self {
        Self {
            found: Findings::none(search.algorithm != Stateless::Naive),
            search,
            left: Vec::new(),
            most_steps: None,
        }
    }

    /// Like [`new`](Self::new), but borrows the program, so that it can be used afterwards.
    pub fn of<E: Execution>(program: &mut E, search: Search<Stateless>) -> Self {
        Self::cut(PARTS, program, search)
    }

    /// Cuts the space into at least this many parts with more than one run, if possible.
    pub fn at_least<E: Execution>(parts: usize, mut program: E, search: Search<Stateless>) -> Self {
        Self::cut(parts, &mut program, search)
    }

    fn cut<E: Execution>(parts: usize, program: &mut E, search: Search<Stateless>) -> Self {
        let naive = search.algorithm == Stateless::Naive;
        let cut = cut(program, Part::whole(), parts, !naive, &search.limits);
        let mut found = Findings::none(!naive);
        found.counts.events = cut.events;
        found.counts.steps = cut.steps;
        found.count();
        Self {
            search,
            found,
            left: cut.parts,
            most_steps: None,
        }
    }

    /// Whether the remaining parts are parts of this program.
    pub fn fit<E: Execution>(&self, program: &mut E) -> Result<(), StepError> {
        let mut rest = Suffix::new(program);
        self.left.iter().try_for_each(|part| {
            rest.start_after(&part.prefix, true)?;
            let ready = |path| {
                let process = rest.processes().find(path);
                process.is_some_and(|process| rest.status(process) == Status::Ready)
            };
            if part.asleep.iter().all(ready) {
                Ok(())
            } else {
                Err(StepError::NotReady)
            }
        })
    }

    /// Explores the remaining parts with some workers. The result includes the findings of parts
    /// that were started and not finished. Such parts stay among the remaining parts, as if they
    /// had not been started.
    pub fn run<E: Execution>(
        &mut self,
        workers: &Workers<'_, E>,
        watch: &mut Watch<'_>,
    ) -> Findings {
        self.run_observed(workers, watch, &|| ()).0
    }

    /// Like [`run`](Self::run), but saves the state at intervals.
    pub fn run_saved<E: Execution>(
        &mut self,
        workers: &Workers<'_, E>,
        watch: &mut Watch<'_>,
        saver: &mut Saver<'_>,
    ) -> Findings {
        self.run_all(workers, watch, &|| (), After::Saved(saver)).0
    }

    /// Like [`run`](Self::run), with an observer for each part. The observers of all visited parts
    /// are returned with the result.
    pub fn run_observed<E, O>(
        &mut self,
        workers: &Workers<'_, E>,
        watch: &mut Watch<'_>,
        observers: &(dyn Fn() -> O + Sync),
    ) -> (Findings, Vec<O>)
    where
        E: Execution,
        O: Observer<E> + Send,
    {
        self.run_all(workers, watch, observers, After::MayGoOn)
    }

    /// Explores the remaining parts one after the other in this thread, for a program that cannot
    /// be moved to another one. If a step panics, only the current part is lost.
    pub fn run_here<E: Execution>(
        &mut self,
        program: &mut E,
        watch: &mut Watch<'_>,
        every: Duration,
        save: &mut dyn FnMut(&Parts, &E),
    ) -> Findings {
        let limits = self.search.limits.clone();
        let budget = Budget::new(&limits);
        let (already, goal) = (self.found.elapsed, self.search.goal);
        let desk = Desk::new(self, budget, 1);
        let mut done: Vec<Option<(Findings, ())>> = self.left.iter().map(|_| None).collect();
        let (mut start, mut saved) = (Start::default(), Instant::now());
        for at in 0..self.left.len() {
            if let Some(bound) = desk.spent() {
                desk.stop(bound);
                break;
            }
            let looked = &done;
            let mut look = |progress: &Progress| {
                desk.slots[0].set(&progress.counts);
                let elapsed = already + budget.elapsed();
                let parts = self.left.iter().zip(looked.iter().map(executions));
                let reached = desk.reached().map_or(budget.time(), ControlFlow::Break);
                let asked = || watch(&desk.progress(parts, elapsed));
                match reached.break_value().or_else(|| asked().break_value()) {
                    Some(bound) => {
                        desk.stop(bound);
                        ControlFlow::Break(Bound::Interrupted)
                    }
                    None => ControlFlow::Continue(()),
                }
            };
            let found = desk.explore((&mut *program, &mut start), at, &mut look, &mut ());
            desk.add(0, &found.counts);
            done[at] = Some((found, ()));
            if certain(&done, at, goal) || desk.stopped_by().is_some() {
                break;
            }
            if saved.elapsed() >= every {
                save(&self.so_far(&done, already + budget.elapsed()), program);
                saved = Instant::now();
            }
        }
        let stopped_by = desk.close(&budget, watch);
        self.conclude(done, stopped_by, &budget, &After::MayGoOn).0
    }

    /// Starts the workers and waits for them. Meanwhile this thread collects the results of parts,
    /// calls the watch, and saves the state at intervals.
    fn run_all<E, O>(
        &mut self,
        workers: &Workers<'_, E>,
        watch: &mut Watch<'_>,
        observers: &(dyn Fn() -> O + Sync),
        mut after: After<'_, '_>,
    ) -> (Findings, Vec<O>)
    where
        E: Execution,
        O: Observer<E> + Send,
    {
        let limits = self.search.limits.clone();
        let budget = Budget::new(&limits);
        let mut saved = Instant::now();
        let mut unsaved = false;
        let already = self.found.elapsed;
        let Workers { count, programs } = *workers;
        let few = self.search.limits.executions.is_some_and(|n| n <= FEW);
        let workers = if few {
            1
        } else {
            count.clamp(1, self.left.len().max(1))
        };
        let desk = Desk::new(self, budget, workers);
        let goal = self.search.goal;
        let (sender, receiver) = channel();
        let mut done: Vec<Option<(Findings, O)>> = self.left.iter().map(|_| None).collect();
        std::thread::scope(|scope| {
            for worker in 0..workers {
                let (sender, desk) = (sender.clone(), &desk);
                scope.spawn(move || desk.work(worker, programs, observers, &sender));
            }
            drop(sender);
            loop {
                match receiver.recv_timeout(BETWEEN_LOOKS) {
                    Ok((at, found, observer)) => {
                        unsaved |= !found.broken_off;
                        done[at] = Some((found, observer));
                        if certain(&done, at, goal) {
                            desk.last.fetch_min(at, Ordering::Relaxed);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                let elapsed = already + budget.elapsed();
                if let ControlFlow::Break(bound) = budget.time() {
                    desk.stop(bound);
                }
                if let After::Saved(saver) = &mut after
                    && unsaved
                    && saved.elapsed() >= saver.every
                {
                    (saver.save)(&self.so_far(&done, elapsed));
                    (saved, unsaved) = (Instant::now(), false);
                }
                let parts = self.left.iter().zip(done.iter().map(executions));
                if let ControlFlow::Break(bound) = watch(&desk.progress(parts, elapsed)) {
                    desk.stop(bound);
                }
            }
        });
        let stopped_by = desk.close(&budget, watch);
        self.conclude(done, stopped_by, &budget, &after)
    }

    /// Merges the results of the parts, and determines why the search has ended.
    fn conclude<O>(
        &mut self,
        done: Vec<Option<(Findings, O)>>,
        stopped_by: Option<Bound>,
        budget: &Budget<'_>,
        after: &After<'_, '_>,
    ) -> (Findings, Vec<O>) {
        let (already, goal) = (self.found.elapsed, self.search.goal);
        let mut result = self.gather(done, after);
        let (findings, _) = &mut result;
        if let Some(bound) = stopped_by {
            findings.bound(bound);
        }
        if let (None, Some(most), false) = (stopped_by, self.most_steps, self.left.is_empty()) {
            findings.bound(Bound::MaxSteps(most));
        }
        findings.stopped = match () {
            () if is_violation(findings, goal) => StopReason::Certain,
            () if findings.bounds.is_empty() => StopReason::Complete,
            () => StopReason::Bound,
        };
        self.found.elapsed = already + budget.elapsed();
        findings.elapsed = self.found.elapsed;
        findings.sort();
        result
    }

    /// Returns the state of the search when the parts in `done` are finished.
    fn so_far<O>(&self, done: &[Option<(Findings, O)>], elapsed: Duration) -> Self {
        let mut all = Self {
            left: Vec::new(),
            ..self.clone()
        };
        for (part, result) in self.left.iter().zip(done) {
            match result {
                Some((found, _)) if !found.broken_off => all.found.absorb(found.clone()),
                _ => all.left.push(part.clone()),
            }
        }
        all.found.elapsed = elapsed;
        all
    }

    /// Merges the results in the order of the parts, up to the part that makes the verdict certain,
    /// if any.
    fn gather<O>(
        &mut self,
        done: Vec<Option<(Findings, O)>>,
        after: &After<'_, '_>,
    ) -> (Findings, Vec<O>) {
        let goal = self.search.goal;
        let mut observers = Vec::new();
        let mut unfinished = Vec::new();
        let mut left = Vec::new();
        for (part, result) in std::mem::take(&mut self.left).into_iter().zip(done) {
            match result {
                _ if is_violation(&self.found, goal) => left.push(part),
                None => left.push(part),
                Some((found, observer)) => {
                    observers.push(observer);
                    if found.broken_off {
                        left.push(part);
                        unfinished.push(found);
                    } else {
                        self.found.absorb(found);
                    }
                }
            }
        }
        self.left = left;
        let mut all = match after {
            After::Nothing => std::mem::replace(&mut self.found, Findings::none(true)),
            After::MayGoOn | After::Saved(_) => self.found.clone(),
        };
        for found in unfinished {
            all.absorb(found);
        }
        (all, observers)
    }
}

/// What happens to the parts after a search.
enum After<'a, 's> {
    /// The parts are not needed.
    Nothing,
    /// Another search may continue with the parts.
    MayGoOn,
    /// Another search may continue with the parts, and they are saved at intervals.
    Saved(&'a mut Saver<'s>),
}

/// Returns the number of executions of a part, if it is finished.
fn executions<O>(done: &Option<(Findings, O)>) -> Option<u64> {
    match done {
        Some((found, _)) if !found.broken_off => Some(found.counts.executions),
        _ => None,
    }
}

/// Whether the findings of a part, alone or together with those of another part, make the verdict
/// certain.
fn certain<O>(done: &[Option<(Findings, O)>], at: usize, goal: Goal) -> bool {
    let finals = |part: &Option<(Findings, O)>| match part {
        Some((found, _)) if !found.broken_off => found.seen.finals.first().copied(),
        _ => None,
    };
    let this = finals(&done[at]);
    let mut before = done[..at].iter().filter_map(finals);
    let deterministic = goal.stops_at(Kind::Nondeterminism);
    let differs = deterministic && before.any(|other| this.is_some_and(|this| this != other));
    let found = done[at].as_ref().map(|(found, _)| found);
    differs || found.is_some_and(|found| is_violation(found, goal))
}

fn is_violation(found: &Findings, goal: Goal) -> bool {
    found.kinds().iter().any(|kind| goal.stops_at(kind))
}

/// The progress of a worker, for the thread that reports progress.
#[derive(Debug, Default)]
struct Slot {
    executions: AtomicU64,
    blocked: AtomicU64,
    steps: AtomicU64,
}

impl Slot {
    fn set(&self, counts: &Counts) {
        self.executions.store(counts.executions, Ordering::Relaxed);
        self.blocked.store(counts.blocked, Ordering::Relaxed);
        self.steps.store(counts.steps, Ordering::Relaxed);
    }
}

/// The state that workers share.
struct Desk<'a> {
    parts: &'a [Part],
    search: &'a Search<Stateless>,
    budget: Budget<'a>,
    most_steps: Option<u64>,
    /// The index of the next part to be taken.
    next: AtomicUsize,
    /// The index of a part that makes the verdict certain: later parts need not be explored.
    last: AtomicUsize,
    stopped: AtomicBool,
    /// Whether a worker has broken off a step because the search no longer waits for steps.
    broken: AtomicBool,
    /// The limit that has stopped the workers; `None` if no limit has.
    bound: Mutex<Option<Bound>>,
    /// One slot for each worker, and one for all finished parts.
    slots: Vec<Slot>,
    /// The counts of earlier searches of the same space. The limits of this search do not include
    /// them.
    before: Counts,
}

impl<'a> Desk<'a> {
    fn new(parts: &'a Parts, budget: Budget<'a>, workers: usize) -> Self {
        Self {
            parts: &parts.left,
            search: &parts.search,
            budget,
            most_steps: parts.most_steps,
            next: AtomicUsize::new(0),
            last: AtomicUsize::new(usize::MAX),
            stopped: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            bound: Mutex::new(None),
            slots: (0..=workers).map(|_| Slot::default()).collect(),
            before: parts.found.counts,
        }
    }

    /// Stops all workers. The first reason counts.
    fn stop(&self, bound: Bound) {
        let mut reason = self.bound.lock().expect("no thread panics with the lock");
        reason.get_or_insert(bound);
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn stopped_by(&self) -> Option<Bound> {
        *self.bound.lock().expect("no thread panics with the lock")
    }

    fn sum(&self, of: impl Fn(&Slot) -> &AtomicU64) -> u64 {
        let values = self
            .slots
            .iter()
            .map(|slot| of(slot).load(Ordering::Relaxed));
        values.sum()
    }

    fn progress<'p>(
        &self,
        parts: impl Iterator<Item = (&'p Part, Option<u64>)> + Clone,
        elapsed: Duration,
    ) -> Progress {
        let executions = self.before.executions + self.sum(|slot| &slot.executions);
        let counts = Counts {
            executions,
            traces: None,
            blocked: self.before.blocked + self.sum(|slot| &slot.blocked),
            steps: self.before.steps + self.sum(|slot| &slot.steps),
            ..self.before
        };
        let estimate = Estimate::in_parts(executions, parts);
        Progress {
            counts,
            elapsed,
            done: estimate.map(|all| executions as f64 / all.executions),
            estimate,
            open: 0,
            miss: None,
        }
    }

    /// Returns the limit that all workers together have reached, if any.
    fn reached(&self) -> Option<Bound> {
        let executions = self.sum(|slot| &slot.executions);
        self.budget.passed(self.sum(|slot| &slot.steps), executions)
    }

    /// Returns the limit that leaves nothing for another part, if any. Even a part without steps of
    /// its own needs some of the budget: its prefix may be a whole execution.
    fn spent(&self) -> Option<Bound> {
        let steps = self.budget.may_step(self.sum(|slot| &slot.steps));
        let executions = self.budget.may_run(self.sum(|slot| &slot.executions));
        steps.break_value().or(executions.break_value())
    }

    /// Takes parts and explores them, until none is left or the search is stopped.
    fn work<E, O>(
        &self,
        worker: usize,
        programs: &(dyn Fn() -> E + Sync),
        observers: &(dyn Fn() -> O + Sync),
        results: &Sender<(usize, Findings, O)>,
    ) where
        E: Execution,
        O: Observer<E>,
    {
        let _foreign = foreign_memory();
        let (mut program, mut start) = (programs(), Start::default());
        if is_broken_off(program.initial_mishaps()) {
            self.broken.store(true, Ordering::Relaxed);
            return;
        }
        loop {
            if let Some(bound) = self.spent() {
                // If the part that reached the limit was the last one, the search is complete.
                if self.next.load(Ordering::Relaxed) < self.parts.len() {
                    self.stop(bound);
                }
                return;
            }
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let given_up = || at > self.last.load(Ordering::Relaxed);
            if at >= self.parts.len() || self.stopped.load(Ordering::Relaxed) || given_up() {
                return;
            }
            let slot = &self.slots[worker];
            let mut observer = observers();
            let mut watch = |progress: &Progress| {
                slot.set(&progress.counts);
                if let Some(bound) = self.reached() {
                    self.stop(bound);
                }
                if given_up() || self.stopped.load(Ordering::Relaxed) {
                    ControlFlow::Break(Bound::Interrupted)
                } else {
                    ControlFlow::Continue(())
                }
            };
            let with = (&mut program, &mut start);
            let found = self.explore(with, at, &mut watch, &mut observer);
            self.add(worker, &found.counts);
            if results.send((at, found, observer)).is_err() {
                return;
            }
        }
    }

    /// Counts a part that a worker has left.
    fn add(&self, worker: usize, counts: &Counts) {
        self.slots[worker].set(&Counts::default());
        let all = &self.slots[self.slots.len() - 1];
        all.executions
            .fetch_add(counts.executions, Ordering::Relaxed);
        all.blocked.fetch_add(counts.blocked, Ordering::Relaxed);
        all.steps.fetch_add(counts.steps, Ordering::Relaxed);
    }

    /// Returns why the search was stopped. Called when all workers have ended.
    fn close(self, budget: &Budget<'_>, watch: &mut Watch<'_>) -> Option<Bound> {
        // A worker may have noticed the limit before this thread did.
        let broken = self.stopped_by().is_none() && self.broken.load(Ordering::Relaxed);
        let broken = broken.then(|| budget.why_broken(self.before, watch));
        self.stopped_by().or(broken)
    }

    /// Explores one part.
    fn explore<E, O>(
        &self,
        (program, start): (&mut E, &mut Start),
        at: usize,
        watch: &mut Watch<'_>,
        observer: &mut O,
    ) -> Findings
    where
        E: Execution,
        O: Observer<E>,
    {
        let mut rest = Suffix::new(program);
        let part = &self.parts[at];
        let made = rest.start_after(&part.prefix, true);
        made.expect("a part of this program");
        let find = |path| {
            rest.processes()
                .find(path)
                .expect("a process that is ready")
        };
        start.asleep = part.asleep.iter().map(find).collect();
        let way = part.prefix.0.len() as u64;
        let Search {
            algorithm,
            limits: all,
            goal,
        } = self.search;
        let spent = |limit: Option<u64>, spent: u64| limit.map(|most| most.saturating_sub(spent));
        let steps = spent(all.steps, self.sum(|slot| &slot.steps) + way);
        let limits = Limits {
            steps: steps.into_iter().chain(self.most_steps).min(),
            executions: spent(all.executions, self.sum(|slot| &slot.executions)),
            time: None,
            ..all.clone()
        };
        let mut found = algorithm.explore(Session {
            program: &mut rest,
            start,
            limits,
            goal: *goal,
            watch,
            observer: &mut OfRest(observer),
        });
        found.counts.steps += way;
        // Bounds show the limits as the user gave them, whichever worker reaches them first.
        for bound in std::mem::take(&mut found.bounds) {
            match (bound, all.steps, all.executions) {
                (Bound::MaxSteps(made), Some(most), _) if steps == Some(made) => {
                    self.stop(Bound::MaxSteps(most));
                }
                (Bound::MaxExecutions(_), _, Some(most)) => self.stop(Bound::MaxExecutions(most)),
                (Bound::Interrupted, ..) if at <= self.last.load(Ordering::Relaxed) => {
                    self.broken.store(true, Ordering::Relaxed);
                }
                (
                    Bound::MaxDepth(_)
                    | Bound::MaxLocal(_)
                    | Bound::MaxMessages(_)
                    | Bound::IntRange
                    | Bound::IntWithin(_)
                    | Bound::Undecided,
                    ..,
                ) => {
                    found.bound(bound);
                }
                _ => {}
            }
        }
        found
    }
}

/// Allocates blocks of memory of all small sizes, which the caller holds to keep them from being
/// reused.
///
/// When a thread frees memory, the allocator later gives it to that thread again, even if another
/// thread had allocated it. A new thread frees what its parent allocated and passed to it. So small
/// vectors of two workers, written at each step, may lie in one cache line: two workers on
/// writers(10) then took 1.2 to 2.5 times the CPU time. While the caller holds the result, such
/// blocks are not reused.
pub(crate) fn foreign_memory() -> Vec<Vec<u8>> {
    let sizes = (1..=64).map(|k| 16 * k);
    sizes
        .flat_map(|size| (0..8).map(move |_| Vec::with_capacity(size)))
        .collect()
}

impl Search<Stateless> {
    /// Explores a program with some workers.
    pub fn share<E: Execution>(&self, workers: &Workers<'_, E>, watch: &mut Watch<'_>) -> Findings {
        let mut program = (workers.programs)();
        self.share_observed(&mut program, workers, watch, &|| ()).0
    }

    /// Explores a program like [`share`](Self::share), with an observer for each part. The
    /// observers of all visited parts are returned with the result, in the order of the parts. If
    /// the space was not cut into parts, the result has one observer, which has seen the whole
    /// search. The first attempt, and the cutting, use `program`.
    pub fn share_observed<E, O>(
        &self,
        program: &mut E,
        workers: &Workers<'_, E>,
        watch: &mut Watch<'_>,
        observers: &(dyn Fn() -> O + Sync),
    ) -> (Findings, Vec<O>)
    where
        E: Execution,
        O: Observer<E> + Send,
    {
        let mut observer = observers();
        if workers.count <= 1 {
            let found = self.run(program, watch, &mut observer);
            return (found, vec![observer]);
        }
        let limits = &self.limits;
        let budget = Budget::new(limits);
        let first = if program.has_conditions() {
            FIRST_ATTEMPT_OVER_TERMS
        } else {
            FIRST_ATTEMPT
        };
        let steps = limits.steps.map_or(first, |most| most.min(first));
        let attempt = self.within(Limits {
            steps: Some(steps),
            ..limits.clone()
        });
        let attempt = attempt.run(program, watch, &mut observer);
        let cut_short = attempt.bounds.contains(&Bound::MaxSteps(steps));
        if limits.steps == Some(steps) || !cut_short {
            return (attempt, vec![observer]);
        }
        // The parts repeat the findings of the attempt, so its memory is freed first.
        let attempted = attempt.counts.steps;
        drop((attempt, observer));
        let rest = self.within(Limits {
            steps: limits.steps.map(|most| most - steps),
            ..budget.left()
        });
        let mut parts = Parts::of(program, rest);
        // Cutting takes time, too.
        parts.search.limits.time = budget.left().time;
        parts.found.elapsed = budget.elapsed();
        parts.found.counts.steps += attempted;
        let (mut found, observers) = parts.run_all(workers, watch, observers, After::Nothing);
        budget.restate(&mut found.bounds);
        for bound in &mut found.bounds {
            if let (Bound::MaxSteps(_), Some(most)) = (*bound, limits.steps) {
                *bound = Bound::MaxSteps(most);
            }
        }
        (found, observers)
    }

    fn within(&self, limits: Limits) -> Self {
        Self {
            limits,
            ..self.clone()
        }
    }
}
