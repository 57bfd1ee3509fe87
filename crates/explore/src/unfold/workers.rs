//! Workers that build the parts of a net (`parts.rs`).
//!
//! Each worker takes the next part when it has finished one, and builds it in a net of its own. The
//! thread that started the search builds nothing: it adds up results, calls the watch, and stops
//! all workers at a limit. One worker does the same without threads.
//!
//! The result depends neither on the number of workers nor on their speed: the parts are always the
//! same, and the findings of a part depend only on the part. So each part gets a new copy of the
//! program: a program numbers its processes in the order in which it meets them, and the order of
//! independent steps in a test follows these numbers. Numbers of events, conditions, tests and
//! deadlocks are added (`region.rs` says why nothing counts twice), sets are united, and the least
//! schedules are shown. If a limit on time or memory, or an interrupt, ends the search, the clock
//! decides which parts are finished. Then the numbers are those of what was built.
//!
//! Most programs are small. So the net is first built in one piece, with a limit of steps. If the
//! limit is hit, this net shows where to divide. A limit of steps or executions that the user has
//! set is exact only with one worker, so then the net is built in one piece.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};

use mazurka_core::{Bound, Counts, Execution, Fingerprint, Limits, ProcessId, StopReason};
use rustc_hash::{FxHashMap, FxHashSet};

use super::net::{NONE, NetKind, Place};
use super::parts::{Part, divide};
use super::region::NetCounts;
use super::session::Session;
use super::testing::Tester;
use super::{Unfold, Unfolding};
use crate::drive::budget::Budget;
use crate::drive::driver::{Goal, Progress, Watch};
use crate::drive::findings::Findings;
use crate::drive::parallel::{BETWEEN_LOOKS, Slot, Workers, foreign_memory};
use crate::drive::search::{Search, Session as Request, Start};

/// Number of steps after which a net is divided: some milliseconds.
const FIRST_ATTEMPT: u64 = 1 << 16;

/// The result of workers that unfold a program.
#[derive(Debug)]
pub struct Unfolded {
    /// The net, if it was built in one piece.
    pub net: Option<Unfolding>,
    /// The findings of the tests. In the counts, executions are tests, and events are those of the
    /// net.
    pub found: Findings,
    /// Number of conditions of the net, as the thesis draws it.
    pub conditions: u64,
}

impl From<Unfolding> for Unfolded {
    fn from(net: Unfolding) -> Self {
        Self {
            found: net.found.clone(),
            conditions: net.conditions(),
            net: Some(net),
        }
    }
}

/// A part that was built.
struct Built {
    found: Findings,
    counts: NetCounts,
    /// The cells that some step claims, each with whether it is a lock.
    cells: Vec<(u32, bool)>,
    /// Number of processes of the initial state.
    roots: u64,
    /// The names of the processes.
    processes: Vec<Fingerprint>,
}

impl Search<Unfold> {
    /// Unfolds a program with several workers. Cells must have the same numbers in all programs
    /// that [`Workers`] makes.
    pub fn share<E: Execution>(&self, workers: &Workers<'_, E>, watch: &mut Watch<'_>) -> Unfolded {
        self.share_after(FIRST_ATTEMPT, workers, watch)
    }

    /// Unfolds like [`share`](Self::share); the net is divided after this number of steps.
    pub fn share_after<E: Execution>(
        &self,
        first_attempt: u64,
        workers: &Workers<'_, E>,
        watch: &mut Watch<'_>,
    ) -> Unfolded {
        let mut program = (workers.programs)();
        let limits = &self.limits;
        let whole = self.algorithm.kind == NetKind::Stateful
            || self.goal != Goal::Everything
            || program.has_conditions()
            || limits.steps.is_some()
            || limits.executions.is_some();
        if whole {
            return self.run(&mut program, watch, &mut ()).into();
        }
        let budget = Budget::new(limits);
        let attempt = Search {
            limits: Limits {
                steps: Some(first_attempt),
                ..limits.clone()
            },
            ..self.clone()
        };
        let attempt = attempt.run(&mut program, watch, &mut ());
        if !attempt
            .found
            .bounds
            .contains(&Bound::MaxSteps(first_attempt))
        {
            return attempt.into();
        }
        let attempted = attempt.found.counts.steps;
        let parts = divide(&attempt.builder.net, &attempt.processes);
        // The parts repeat what the attempt has found, so its memory is freed first.
        drop(attempt);
        let crew = Crew {
            search: self,
            parts: &parts,
            next: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            bound: Mutex::new(None),
            slots: (0..=workers.count.max(1))
                .map(|_| Slot::default())
                .collect(),
        };
        let built = if workers.count <= 1 {
            crew.build_here(workers.programs, &budget, watch)
        } else {
            crew.build_by(workers, &budget, watch)
        };
        let bound = crew.close(&budget, watch);
        let mut unfolded = add_up(self.algorithm.kind, built, bound);
        unfolded.found.counts.steps += attempted;
        unfolded.found.elapsed = budget.elapsed();
        budget.restate(&mut unfolded.found.bounds);
        unfolded
    }
}

/// The state that workers share.
struct Crew<'a> {
    search: &'a Search<Unfold>,
    parts: &'a [Part],
    /// The index of the next part to be taken.
    next: AtomicUsize,
    stopped: AtomicBool,
    /// Whether a worker has broken off a step because the search no longer waits for steps.
    broken: AtomicBool,
    /// The limit that has stopped the workers; `None` if no limit has.
    bound: Mutex<Option<Bound>>,
    /// One slot for each worker, and one for all finished parts.
    slots: Vec<Slot>,
}

impl Crew<'_> {
    /// Stops all workers. The first reason counts.
    fn stop(&self, bound: Bound) {
        let mut reason = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        reason.get_or_insert(bound);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns why the search was stopped, if it was. Called when all workers have ended.
    fn close(&self, budget: &Budget<'_>, watch: &mut Watch<'_>) -> Option<Bound> {
        let bound = *self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let broken = self.broken.load(Ordering::Relaxed);
        bound.or_else(|| broken.then(|| budget.why_broken(self.counts(), watch)))
    }

    fn counts(&self) -> Counts {
        let mut all = Counts::default();
        for slot in &self.slots {
            let counts = slot.counts();
            all.executions += counts.executions;
            all.blocked += counts.blocked;
            all.steps += counts.steps;
        }
        all
    }

    /// Checks the time, and calls the watch.
    fn look(&self, budget: &Budget<'_>, watch: &mut Watch<'_>) {
        if let ControlFlow::Break(bound) = budget.look(self.counts(), watch) {
            self.stop(bound);
        }
    }

    /// Builds the parts one after the other, in this thread.
    fn build_here<E: Execution>(
        &self,
        programs: &(dyn Fn() -> E + Sync),
        budget: &Budget<'_>,
        watch: &mut Watch<'_>,
    ) -> Vec<Option<Built>> {
        let mut built: Vec<Option<Built>> = self.parts.iter().map(|_| None).collect();
        while let Some(at) = self.take() {
            let mut look = |progress: &Progress| {
                self.slots[0].set(&progress.counts);
                self.look(budget, watch);
                self.may_go_on()
            };
            built[at] = Some(self.build(&mut programs(), at, 0, &mut look));
        }
        built
    }

    /// Starts the workers and waits for them. Meanwhile this thread collects the parts, checks the
    /// limits and calls the watch.
    fn build_by<E: Execution>(
        &self,
        workers: &Workers<'_, E>,
        budget: &Budget<'_>,
        watch: &mut Watch<'_>,
    ) -> Vec<Option<Built>> {
        let mut built: Vec<Option<Built>> = self.parts.iter().map(|_| None).collect();
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            for worker in 0..workers.count.min(self.parts.len()) {
                let sender = sender.clone();
                scope.spawn(move || self.work(worker, workers.programs, &sender));
            }
            drop(sender);
            loop {
                match receiver.recv_timeout(BETWEEN_LOOKS) {
                    Ok((at, part)) => built[at] = Some(part),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                self.look(budget, watch);
            }
        });
        built
    }

    /// Takes parts and builds them, until none is left or the search is stopped.
    fn work<E: Execution>(
        &self,
        worker: usize,
        programs: &(dyn Fn() -> E + Sync),
        built: &Sender<(usize, Built)>,
    ) {
        let _foreign = foreign_memory();
        while let Some(at) = self.take() {
            let mut look = |progress: &Progress| {
                self.slots[worker].set(&progress.counts);
                self.may_go_on()
            };
            let part = self.build(&mut programs(), at, worker, &mut look);
            if built.send((at, part)).is_err() {
                return;
            }
        }
    }

    fn may_go_on(&self) -> ControlFlow<Bound> {
        if self.stopped.load(Ordering::Relaxed) {
            ControlFlow::Break(Bound::Interrupted)
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Returns the index of the next part, unless the search is stopped.
    fn take(&self) -> Option<usize> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        (at < self.parts.len() && self.may_go_on().is_continue()).then_some(at)
    }

    /// Builds a part.
    fn build<E: Execution>(
        &self,
        program: &mut E,
        at: usize,
        worker: usize,
        watch: &mut Watch<'_>,
    ) -> Built {
        let mut start = Start::default();
        let limits = Limits {
            time: None,
            ..self.search.limits.clone()
        };
        let mut request = Request {
            program: &mut *program,
            start: &mut start,
            limits,
            goal: self.search.goal,
            watch,
            observer: &mut (),
        };
        let Unfold { kind, seed } = self.search.algorithm;
        let session = Session::new(&mut request);
        let (builder, mut found) = Tester::in_part(&self.parts[at], session, kind, seed).test();
        let stopped = found.bounds.contains(&Bound::Interrupted);
        found.bounds.retain(|&bound| bound != Bound::Interrupted);
        // The part ended without being stopped: a step of it was broken off.
        if stopped && self.may_go_on().is_continue() {
            self.broken.store(true, Ordering::Relaxed);
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.slots[worker].set(&Counts::default());
        self.slots[self.slots.len() - 1].add(&found.counts);
        let net = &builder.net;
        let cells = net.places.iter().enumerate().filter_map(|(at, place)| {
            let Place::Cell(cell) = *place else {
                return None;
            };
            Some((cell, net.is_lock(at as u32)))
        });
        let region = builder.region.as_ref();
        let processes = program.processes();
        let names = (0..processes.len() as u32).map(|process| processes.name(ProcessId(process)));
        let roots = net.threads.iter().filter(|thread| thread.origin == NONE);
        Built {
            found,
            counts: region.map(|region| region.counts(net)).unwrap_or_default(),
            cells: cells.collect(),
            roots: roots.count() as u64,
            processes: names.collect(),
        }
    }
}

/// Adds up the parts, in their order.
fn add_up(kind: NetKind, built: Vec<Option<Built>>, bound: Option<Bound>) -> Unfolded {
    let mut found = Findings::none(true);
    let mut counts = NetCounts::default();
    let mut cells: FxHashMap<u32, bool> = FxHashMap::default();
    let mut processes: FxHashSet<Fingerprint> = FxHashSet::default();
    let mut roots = 0;
    for part in built.into_iter().flatten() {
        found.absorb(part.found);
        counts.add(part.counts);
        for (cell, lock) in part.cells {
            *cells.entry(cell).or_default() |= lock;
        }
        processes.extend(part.processes);
        roots = part.roots;
    }
    for &lock in cells.values() {
        match kind == NetKind::Replicated && !lock {
            true => counts.copies += 1,
            false => counts.conditions += 1,
        }
    }
    found.counts.events = counts.events;
    found.counts.traces = None;
    found.broken_off = false;
    if let Some(bound) = bound {
        found.bound(bound);
        found.broken_off = true;
    }
    found.sort();
    found.stopped = match found.bounds.is_empty() {
        true => StopReason::Complete,
        false => StopReason::Bound,
    };
    Unfolded {
        net: None,
        conditions: roots + counts.conditions + counts.copies * processes.len() as u64,
        found,
    }
}
