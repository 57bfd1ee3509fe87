//! The permutations of one path by several workers.
//!
//! The tree of prefixes that a depth-first search visits below a prefix depends only on the seed,
//! on the prefix, on the processes that sleep in it, and on the processes that were tried there
//! before: if only one path is permuted, the search knows nothing else. So the branches that remain
//! at each prefix of the current run can be explored by another worker ([`Branches`]). A worker
//! gives all of them away after a fixed number of steps. So who explores which branches, and in
//! which order, does not matter, and which branches there are depends on the program alone. The
//! findings are put together in the order in which one worker meets the branches: those of a worker
//! before it gave branches away, then those of the branches, the deepest prefix first. So
//! permutations and their order, results and counts do not depend on the number of workers; only
//! the steps on the way to branches are counted, too.
//!
//! With `complete`, one worker explores. Whether a run that deviates from the path must be made
//! depends on the seeds that are known then ([`Known`](super::known::Known)). Workers could go on
//! in rounds that see the seeds of earlier rounds only. Then one worker would have to do the same,
//! or the order of the seeds, and with it the listed classes, would depend on the workers; and the
//! seeds, which name processes by their numbers in one machine, would have to be recorded again by
//! each worker. This was not built.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mazurka_core::{
    Bound, Counts, Fingerprint, Labelled, Limits, ProcessId, ProcessPath, Schedule, ScheduledStep,
    StopReason,
};
use smallvec::SmallVec;

use super::seed::Seed;
use super::{Fagiani, Kind, Permutations, Permute, Permuted, PrefixNode, ProcessToTry};
use crate::Findings;
use crate::drive::budget::Budget;
use crate::drive::driver::{Observer, Progress, Watch};
use crate::drive::parallel::{Workers, foreign_memory};
use crate::drive::search::{Search, Session, Start};

/// Number of steps after which a worker gives its remaining branches away: some ten milliseconds.
pub const STEPS_OF_PART: u64 = 1 << 15;
/// Time between two calls of the watch if nothing happens.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// The remaining branches of a prefix. Processes have their names, because their numbers depend on
/// the machine.
#[derive(Clone, Debug)]
pub(super) struct Branches {
    /// The run of the prefix.
    way: Schedule,
    sleepers: Vec<ProcessPath>,
    tries: Vec<(ProcessPath, ProcessToTry)>,
    tried: usize,
    due: usize,
    again: Option<SmallVec<[i64; 1]>>,
    labels: Fingerprint,
}

impl Fagiani {
    /// Creates the policy for some branches of a seed.
    fn of_branches(seed: Seed, branches: Branches, steps: u64) -> Self {
        Self {
            seed,
            branches: Some(branches),
            steps_left: steps,
            ..Self::new(Schedule(Vec::new()), false)
        }
    }

    /// Enters a state on the way to the branches, or the state of the branches. Returns false for
    /// any other state.
    pub(super) fn is_on_the_way<E: Labelled>(&mut self, program: &E) -> bool {
        let Some(branches) = &self.branches else {
            return false;
        };
        let depth = program.events().len();
        if depth < branches.way.0.len() {
            self.push(Kind::Way, Fingerprint::EMPTY);
            return true;
        }
        if depth > branches.way.0.len() {
            return false;
        }
        let find = |path: &ProcessPath| -> ProcessId {
            let process = program.processes().find(path);
            process.expect("a process of the same prefix")
        };
        self.sleepers = branches.sleepers.iter().map(find).collect();
        let tries = branches.tries.iter();
        self.tries = tries
            .map(|(path, to_try)| ProcessToTry {
                process: find(path),
                ..*to_try
            })
            .collect();
        self.nodes.push(PrefixNode {
            kind: Kind::Permutes,
            sleepers: 0,
            tries: 0,
            tried: branches.tried,
            due: branches.due,
            again: branches.again.clone(),
            labels: branches.labels,
        });
        self.made.clear();
        let width = self.seed.width().max(program.processes().len());
        self.made.resize(width, 0);
        for event in program.events() {
            self.made[event.process.index()] += 1;
        }
        true
    }

    /// Returns the next process on the way to the branches.
    pub(super) fn way_on<E: Labelled>(
        &mut self,
        program: &E,
        outcomes: &mut Vec<i64>,
    ) -> Option<ProcessId> {
        let node = self.nodes.last_mut()?;
        if std::mem::replace(&mut node.tried, 1) == 1 {
            return None;
        }
        let step = &self.branches.as_ref()?.way.0[program.events().len()];
        outcomes.extend_from_slice(&step.outcomes);
        program.processes().find(&step.process)
    }

    /// Gives away the remaining branches of all prefixes of the current run, whose last step is
    /// about to be taken back.
    pub(super) fn give_away<E: Labelled>(&mut self, program: &E) {
        self.steps_left = u64::MAX;
        let path = |process: ProcessId| program.processes().path(process).clone();
        let (mut sleepers, mut tries) = (self.sleepers.len(), self.tries.len());
        for at in (0..self.nodes.len()).rev() {
            let node = &mut self.nodes[at];
            let own = node.tries..std::mem::replace(&mut tries, node.tries);
            let asleep = node.sleepers..std::mem::replace(&mut sleepers, node.sleepers);
            // Only the last prefix has outcomes to try again: the steps from the earlier ones are
            // labels of the seed.
            let again = node.again.take();
            if node.kind == Kind::Permutes && (again.is_some() || node.tried < own.len()) {
                let way = &program.events()[..at];
                self.given.push(Branches {
                    way: Schedule::from_run(way, program.processes()),
                    sleepers: self.sleepers[asleep].iter().map(|&p| path(p)).collect(),
                    tries: self.tries[own]
                        .iter()
                        .map(|t| (path(t.process), *t))
                        .collect(),
                    tried: node.tried,
                    due: node.due,
                    again,
                    labels: node.labels,
                });
            }
            node.kind = Kind::Dead;
        }
    }
}

/// Returns the run of a seed.
fn run_of<E: Labelled>(seed: &Seed, program: &E) -> Schedule {
    let mut made = vec![0; seed.width()];
    let step = |&process: &ProcessId| {
        let number = &mut made[process.index()];
        let label = seed.next(process, *number).expect("a label of the seed");
        *number += 1;
        ScheduledStep {
            process: program.processes().path(process).clone(),
            outcomes: label.outcomes.clone(),
        }
    };
    Schedule(seed.order.iter().map(step).collect())
}

/// Records the run of a seed again.
fn seed_of<E: Labelled>(program: &mut E, run: &Schedule) -> Seed {
    program.back_to(0);
    let mut fixed = Vec::new();
    for step in &run.0 {
        let process = program.processes().find(&step.process);
        let process = process.expect("a process of the same run");
        fixed.push(program.claims_fixed(process));
        let made = program.step(process, &step.outcomes);
        made.expect("a step of the same run");
    }
    let seed = Seed::from_run(program, &fixed);
    program.back_to(0);
    seed
}

/// Collects what workers find.
pub struct Collectors<'a, O, R> {
    /// Makes an observer for some branches.
    pub observers: &'a (dyn Fn() -> O + Sync),
    /// Returns what an observer has found.
    pub finish: &'a (dyn Fn(O) -> R + Sync),
    /// Number of steps after which a worker gives its remaining branches away:
    /// [`STEPS_OF_PART`], or fewer for tests.
    pub steps: u64,
}

/// The place of branches in the order in which one worker explores them: they come after those of
/// which they are a beginning.
type Place = Vec<u32>;

/// Branches that are explored.
struct Done<R> {
    place: Place,
    findings: Findings,
    counts: Permutations,
    found: R,
}

/// The branches that wait for a worker.
struct Queue {
    waiting: Vec<(Place, Branches)>,
    /// The number of workers that explore branches.
    busy: usize,
}

/// The data that workers share.
struct Desk<'a> {
    limits: Limits,
    run: &'a Schedule,
    queue: Mutex<Queue>,
    changed: Condvar,
    stopped: AtomicBool,
    /// Whether a worker was broken off although nothing has stopped it.
    broken: AtomicBool,
    /// For each worker, the executions and steps of its current branches, and of the earlier ones.
    counts: Vec<[AtomicU64; 4]>,
}

/// Ends the search of all workers if one of them panics.
struct Alarm<'a, 'd>(&'a Desk<'d>);

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stopped.store(true, Ordering::Relaxed);
        }
    }
}

impl Desk<'_> {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes branches; waits for some if necessary.
    fn take(&self) -> Option<(Place, Branches)> {
        let mut queue = self.queue();
        loop {
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(next) = queue.waiting.pop() {
                queue.busy += 1;
                return Some(next);
            }
            if queue.busy == 0 {
                return None;
            }
            let waited = self.changed.wait_timeout(queue, BETWEEN_LOOKS);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Adds branches that were given away by those at a place.
    fn put(queue: &mut Queue, place: &Place, given: Vec<Branches>) {
        // The last branches are taken first.
        for (at, branches) in given.into_iter().enumerate() {
            let mut below = place.clone();
            below.push(at as u32);
            queue.waiting.push((below, branches));
        }
    }

    fn work<E: Labelled, O: Observer<E>, R>(
        &self,
        worker: usize,
        program: &mut E,
        collectors: &Collectors<'_, O, R>,
        done: &Sender<Done<R>>,
    ) {
        let _alarm = Alarm(self);
        let seed = seed_of(program, self.run);
        let [executions, steps, all_executions, all_steps] = &self.counts[worker];
        while let Some((place, branches)) = self.take() {
            let mut watch = |progress: &Progress| {
                executions.store(progress.counts.executions, Ordering::Relaxed);
                steps.store(progress.counts.steps, Ordering::Relaxed);
                match self.stopped.load(Ordering::Relaxed) {
                    true => ControlFlow::Break(Bound::Interrupted),
                    false => ControlFlow::Continue(()),
                }
            };
            let mut policy = Fagiani::of_branches(seed.clone(), branches, collectors.steps);
            let mut observer = (collectors.observers)();
            let mut findings = policy.explore(&mut Session {
                program,
                limits: self.limits.clone(),
                goal: crate::Goal::Everything,
                watch: &mut watch,
                observer: &mut observer,
                start: &mut Start::default(),
            });
            findings.bounds.retain(|bound| *bound != Bound::Interrupted);
            if findings.broken_off {
                self.broken.store(true, Ordering::Relaxed);
                self.stopped.store(true, Ordering::Relaxed);
            }
            for (now, all, made) in [
                (executions, all_executions, findings.counts.executions),
                (steps, all_steps, findings.counts.steps),
            ] {
                now.store(0, Ordering::Relaxed);
                all.fetch_add(made, Ordering::Relaxed);
            }
            {
                let mut queue = self.queue();
                Self::put(&mut queue, &place, std::mem::take(&mut policy.given));
                queue.busy -= 1;
            }
            self.changed.notify_all();
            let found = (collectors.finish)(observer);
            // Sending fails only if the receiver is gone.
            let _ = done.send(Done {
                place,
                findings,
                counts: policy.counts,
                found,
            });
        }
        self.changed.notify_all();
    }

    fn counts(&self, before: &Counts) -> Counts {
        let sum = |of: [usize; 2]| -> u64 {
            let all = self.counts.iter();
            all.map(|counts| of.map(|at| counts[at].load(Ordering::Relaxed)))
                .map(|[now, all]| now + all)
                .sum()
        };
        Counts {
            executions: before.executions + sum([0, 2]),
            steps: before.steps + sum([1, 3]),
            ..*before
        }
    }
}

impl Permutations {
    fn add(&mut self, more: &Permutations) {
        self.candidates += more.candidates;
        self.infeasible += more.infeasible;
        self.duplicates += more.duplicates;
        self.executable += more.executable;
        self.open += more.open;
        self.stuck += more.stuck;
        self.seeds += more.seeds;
    }
}

impl Search<Permute> {
    /// Permutes with several workers. Returns what the observers have found, in the order in which
    /// one worker finds it. One worker permutes if the search continues with other paths, or if
    /// steps or executions are limited, so that these limits are exact.
    pub fn share<E: Labelled, O: Observer<E>, R: Send>(
        &self,
        program: &mut E,
        workers: &Workers<'_, E>,
        watch: &mut Watch<'_>,
        collectors: &Collectors<'_, O, R>,
    ) -> (Permuted, Vec<R>) {
        let budget = Budget::new(&self.limits);
        let mut policy = Fagiani::new(
            self.algorithm.schedule.clone(),
            self.algorithm.extent.complete,
        );
        if workers.count > 1 && !self.algorithm.extent.complete && !budget.counts() {
            policy.steps_left = collectors.steps;
        }
        let mut observer = (collectors.observers)();
        let mut session = Session {
            program: &mut *program,
            limits: self.limits.clone(),
            goal: self.goal,
            watch: &mut *watch,
            observer: &mut observer,
            start: &mut Start::default(),
        };
        let mut findings = policy.explore(&mut session);
        let mut all = vec![(collectors.finish)(observer)];
        let given = std::mem::take(&mut policy.given);
        if let (Some(seed), false) = (&policy.recorded, given.is_empty() || findings.broken_off) {
            let run = run_of(seed, program);
            let shared = share(
                &run,
                given,
                (workers, collectors),
                &budget,
                (&findings.counts, watch),
            );
            for done in shared.0 {
                findings.absorb(done.findings);
                policy.counts.add(&done.counts);
                all.push(done.found);
            }
            if let Some(bound) = shared.1 {
                findings.bound(bound);
                findings.broken_off = true;
            }
            findings.stopped = match findings.bounds.is_empty() {
                true => StopReason::Complete,
                false => StopReason::Bound,
            };
            findings.sort();
            findings.elapsed = budget.elapsed();
        }
        let session = Session {
            program,
            limits: self.limits.clone(),
            goal: self.goal,
            watch,
            observer: &mut (),
            start: &mut Start::default(),
        };
        (self.algorithm.with_printed(findings, policy, session), all)
    }
}

/// Explores branches with several workers. Returns what was found, in order, and the limit that has
/// stopped them.
fn share<E: Labelled, O: Observer<E>, R: Send>(
    run: &Schedule,
    given: Vec<Branches>,
    (workers, collectors): (&Workers<'_, E>, &Collectors<'_, O, R>),
    budget: &Budget<'_>,
    (before, watch): (&Counts, &mut Watch<'_>),
) -> (Vec<Done<R>>, Option<Bound>) {
    let mut queue = Queue {
        waiting: Vec::new(),
        busy: 0,
    };
    Desk::put(&mut queue, &Vec::new(), given);
    let desk = Desk {
        limits: Limits {
            time: None,
            ..budget.left()
        },
        run,
        queue: Mutex::new(queue),
        changed: Condvar::new(),
        stopped: AtomicBool::new(false),
        broken: AtomicBool::new(false),
        counts: (0..workers.count).map(|_| Default::default()).collect(),
    };
    let mut all = Vec::new();
    let mut stopped_by = None;
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for worker in 0..workers.count {
            let (desk, sender) = (&desk, sender.clone());
            scope.spawn(move || {
                let _foreign = foreign_memory();
                let mut program = (workers.programs)();
                desk.work(worker, &mut program, collectors, &sender);
            });
        }
        drop(sender);
        let mut looked = Instant::now();
        loop {
            match receiver.recv_timeout(BETWEEN_LOOKS) {
                Ok(done) => all.push(done),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if stopped_by.is_none() && looked.elapsed() >= BETWEEN_LOOKS {
                looked = Instant::now();
                stopped_by = budget.look(desk.counts(before), watch).break_value();
                desk.stopped
                    .fetch_or(stopped_by.is_some(), Ordering::Relaxed);
            }
        }
    });
    if stopped_by.is_none() && desk.broken.load(Ordering::Relaxed) {
        stopped_by = Some(budget.why_broken(desk.counts(before), watch));
    }
    all.sort_by(|a, b| a.place.cmp(&b.place));
    (all, stopped_by)
}
