//! Searches through the execution graphs of a program, in parts.
//!
//! `mazurka-memory` explores execution graphs as a tree of choices. The tree is cut at a depth that
//! gives enough parts. This depth depends only on the program. Workers take the parts in order, and
//! their findings are merged in order, up to the first part that ends the search. So the number of
//! workers does not affect the result.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use mazurka_core::record::{Kind, TraceEstimate, Witness};
use mazurka_core::{Bound, Counts, Fingerprint, Kinds, Limits, Random, WeakMemory};
use mazurka_explore::{Budget, Method, Sample, Watch};
use mazurka_lang::{Code, Machine, NotWeak};
use mazurka_memory::schedule::Schedule;
use mazurka_memory::{
    Drawing, End, Ending, Failure, Found, Memory, Part, Program as _, Threads, Visitor, sample,
    split, visit_part,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::tell::Narrator;
use crate::Options;

/// The least number of parts of a search, if possible.
const ENOUGH_PARTS: usize = 64;
/// The depth at which the tree is cut, in choice points: the first one that is tried, and the
/// greatest.
const FIRST_CUT: usize = 8;
const LAST_CUT: usize = 1000;
/// Number of executions that are drawn by default, as for interleavings.
const WALKS: u64 = 1000;
/// Time between two calls of the watch.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// The question for a search.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub code: &'a Arc<Code>,
    pub memory: Memory,
    /// The kinds of violations that decide the verdict.
    pub counted: Kinds,
    /// The kinds that end the search.
    pub stops: Kinds,
    /// How to draw executions. `None`: explore all executions.
    pub draws: Option<Sample>,
    pub options: &'a Options,
}

/// The result of a search.
pub(super) struct Answer {
    pub counts: Counts,
    pub bounds: Vec<Bound>,
    /// Whether a violation has ended the search.
    pub stopped: bool,
    /// Whether a failure that does not count has halted a process.
    pub halted: bool,
    /// Whether data races have ended executions.
    pub races: bool,
    pub deterministic: Option<bool>,
    pub witnesses: Vec<Witness>,
    /// Number of executions that were drawn, if executions are drawn.
    pub runs: u64,
    pub estimate: Option<TraceEstimate>,
}

/// The findings in the executions of a part, apart from their counts.
#[derive(Default)]
pub(super) struct SeenExecutions {
    /// The first complete execution, and the first that has another result than this.
    finals: Vec<(Fingerprint, Schedule)>,
    observed: FxHashSet<Fingerprint>,
    /// For each execution, the number of times that it was drawn.
    drawn: FxHashMap<Fingerprint, u64>,
    /// The first complete execution that violates each `ensures`, by its location.
    pub broken: Vec<(u32, Schedule)>,
    /// Number of executions that violate an `ensures`.
    breaking: u64,
    /// The fingerprints of all failures except those of an `ensures`, each with the steps before
    /// it.
    failing: FxHashSet<Fingerprint>,
    /// Whether one of these failures counts.
    failed: bool,
    /// Whether a failure that does not count has halted a process.
    pub halted: bool,
}

impl SeenExecutions {
    /// Adds the findings of another part, which comes after this one.
    fn merge(&mut self, other: Self) {
        for (result, schedule) in other.finals {
            if self.finals.len() < 2 && self.finals.iter().all(|(known, _)| *known != result) {
                self.finals.push((result, schedule));
            }
        }
        let (more, less) = if self.observed.len() < other.observed.len() {
            (other.observed, std::mem::take(&mut self.observed))
        } else {
            (std::mem::take(&mut self.observed), other.observed)
        };
        self.observed = more;
        self.observed.extend(less);
        for (site, schedule) in other.broken {
            if self.broken.iter().all(|(known, _)| *known != site) {
                self.broken.push((site, schedule));
            }
        }
        self.breaking += other.breaking;
        self.failing.extend(other.failing);
        self.failed |= other.failed;
        self.halted |= other.halted;
    }
}

/// The state that workers share.
pub(super) struct Shared {
    executions: AtomicU64,
    /// Whether all workers must stop.
    over: AtomicBool,
    /// The first part that has ended the search. Later parts are useless.
    last: AtomicUsize,
    /// The limit on memory, for workers without a watch.
    memory: Option<u64>,
}

impl Shared {
    /// Whether all workers must stop.
    fn is_over(&self) -> bool {
        if is_above(self.memory) {
            self.over.store(true, Ordering::Relaxed);
        }
        self.over.load(Ordering::Relaxed)
    }
}

/// Always false, because the watch checks the memory from another thread.
#[cfg(not(target_family = "wasm"))]
fn is_above(_limit: Option<u64>) -> bool {
    false
}

/// Whether more memory is used than the limit allows. In a browser no other thread checks this.
#[cfg(target_family = "wasm")]
fn is_above(limit: Option<u64>) -> bool {
    let used = (core::arch::wasm32::memory_size::<0>() as u64) << 16;
    limit.is_some_and(|limit| used > limit)
}

/// Visits the executions of a part.
pub(super) struct PartVisitor<'a> {
    stops: Kinds,
    shared: &'a Shared,
    /// The index of the part.
    part: usize,
    seen: SeenExecutions,
    /// Whether executions are drawn, so that some may occur again.
    draws: bool,
    /// Whether a finding ends the search.
    certain: bool,
}

impl PartVisitor<'_> {
    /// Records the result of a complete execution.
    fn result<M: WeakMemory, const APART: bool>(&mut self, end: &mut End<'_, Threads<M, APART>>) {
        let (graph, program) = end.graph_and_program();
        let machine = program.at_the_end(graph);
        let observation = machine.observation();
        let mut broken = machine.final_mishaps();
        self.seen.breaking += broken.len() as u64;
        broken.retain(|mishap| machine.counts(mishap));
        self.seen.failed |= !broken.is_empty();
        if self.seen.observed.insert(observation) && self.seen.finals.len() < 2 {
            self.seen.finals.push((observation, end.schedule()));
        }
        for mishap in broken {
            if self
                .seen
                .broken
                .iter()
                .all(|(site, _)| *site != mishap.site)
            {
                self.seen.broken.push((mishap.site, end.schedule()));
            }
        }
    }

    /// Records a failure of a thread.
    fn failure<M: WeakMemory, const APART: bool>(&mut self, end: &mut End<'_, Threads<M, APART>>) {
        let (graph, program) = end.graph_and_program();
        let counts = program.has_failed(graph.threads());
        self.seen.failed |= counts;
        self.seen.halted |= !counts;
    }
}

impl<M: WeakMemory, const APART: bool> Visitor<Threads<M, APART>> for PartVisitor<'_> {
    fn end(&mut self, end: &mut End<'_, Threads<M, APART>>) -> ControlFlow<()> {
        self.shared.executions.fetch_add(1, Ordering::Relaxed);
        if self.draws && !matches!(end.ending(), Ending::Blocked | Ending::Discarded) {
            let drawn = print(Fingerprint::EMPTY, end.schedule());
            *self.seen.drawn.entry(drawn).or_default() += 1;
        }
        match end.ending() {
            Ending::Complete => self.result(end),
            Ending::Failed => self.failure(end),
            Ending::Race => self.seen.failed = true,
            Ending::Deadlock | Ending::Blocked | Ending::Discarded => {}
        }
        let stops = |kind, found| found && self.stops.contains(kind);
        self.certain = stops(Kind::Failure, self.seen.failed)
            || stops(Kind::Deadlock, end.ending() == Ending::Deadlock)
            || stops(Kind::Nondeterminism, self.seen.finals.len() > 1);
        if self.certain {
            return ControlFlow::Break(());
        }
        Visitor::<Threads<M, APART>>::goes_on(self)
    }

    fn fails(
        &mut self,
        program: &mut Threads<M, APART>,
        failure: Failure,
        steps: &dyn Fn() -> Schedule,
    ) {
        // The index of a started thread depends on the execution, so only its steps identify it.
        let initial = program.initial_threads();
        let what = match failure {
            Failure::Failed { thread, code } if program.is_failure(thread) => {
                [0, u64::from(code), u64::from(thread.0.min(initial))]
            }
            Failure::Race { loc, .. } => [1, u64::from(loc.0), 0],
            Failure::Failed { .. } | Failure::Deadlock => return,
        };
        let what = what.into_iter().fold(Fingerprint::EMPTY, Fingerprint::then);
        self.seen.failing.insert(print(what, steps()));
    }

    fn goes_on(&mut self) -> ControlFlow<()> {
        let over = self.shared.is_over();
        if over || self.shared.last.load(Ordering::Relaxed) < self.part {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Adds steps to a fingerprint.
fn print(start: Fingerprint, steps: Schedule) -> Fingerprint {
    let words = steps.0.into_iter();
    let words = words.map(|step| u64::from(step.thread.0) << 32 | u64::from(step.outcome));
    words.fold(start, Fingerprint::then)
}

impl PartVisitor<'_> {
    /// Returns the findings in the part.
    pub fn shown(self, found: Found) -> PartFindings {
        // A limit on the length of an execution does not end the search.
        let limited = |bound: &Bound| !matches!(bound, Bound::MaxDepth(_));
        let certain = self.certain || found.given_up.is_some();
        let stopped = found.stopped && !certain;
        PartFindings {
            certain,
            broken_off: stopped || found.bounds.iter().any(limited),
            found,
            seen: self.seen,
        }
    }
}

/// The findings in parts.
#[derive(Default)]
pub(super) struct PartFindings {
    pub found: Found,
    pub seen: SeenExecutions,
    /// Whether a violation has ended the search.
    pub certain: bool,
    /// Whether something else has ended the search before everything was explored.
    pub broken_off: bool,
}

impl PartFindings {
    /// Adds the findings in the next part.
    fn merge(&mut self, next: Self) {
        self.found.merge(next.found);
        self.seen.merge(next.seen);
        self.certain |= next.certain;
        self.broken_off |= next.broken_off;
    }
}

/// The findings in parts that were finished in any order.
struct GatheredParts {
    /// The merged findings in the parts before `next`.
    shown: PartFindings,
    /// The index of the first part that is missing.
    next: usize,
    /// The findings in later parts, by the index of the part.
    early: BTreeMap<usize, PartFindings>,
}

impl GatheredParts {
    /// Adds a part. Findings are merged as soon as possible, because the results of all parts may
    /// take much memory. Parts after a part that has ended the search do not count.
    fn add(&mut self, at: usize, part: PartFindings) {
        self.early.insert(at, part);
        while let Some(part) = self.early.remove(&self.next) {
            if !self.shown.certain {
                self.shown.merge(part);
            }
            self.next += 1;
        }
    }

    /// Returns the findings in all of `parts` parts, some of which may be missing.
    fn all(mut self, parts: usize) -> PartFindings {
        if !self.shown.certain && self.next < parts {
            self.shown.broken_off = true;
            for part in std::mem::take(&mut self.early).into_values() {
                self.shown.merge(part);
            }
        }
        self.shown
    }
}

impl Question<'_> {
    pub fn narrator(&self) -> Narrator<'_> {
        Narrator {
            code: self.code,
            memory: self.memory,
            local: self.options.limits.local,
        }
    }

    /// Searches, and describes the findings.
    pub fn ask(&self, watch: &mut Watch<'_>) -> Result<Answer, NotWeak> {
        let PartFindings {
            found,
            seen,
            certain,
            ..
        } = if self.code.starts_processes() {
            self.search::<false>(watch)
        } else {
            self.search::<true>(watch)
        };
        if let Some(line) = found.given_up {
            return Err(does_several_things(line));
        }
        let mut bounds = found.bounds.clone();
        let runs = take_runs(&mut bounds, certain);
        self.options.show();
        let narrator = self.narrator();
        let mut shown = narrator.witnesses(&found, &seen.broken, self.counted);
        if let ([(_, one), (_, other)], true) = (
            &seen.finals[..],
            self.counted.contains(Kind::Nondeterminism),
        ) {
            shown.witnesses.push(narrator.difference(one, other));
        }
        bounds.extend(shown.bounds);
        let races = found.counts.races > 0;
        if races && !self.counted.contains(Kind::Failure) {
            bounds.push(Bound::DataRaces);
        }
        let whole = bounds.is_empty() && !certain;
        Ok(Answer {
            counts: Counts {
                traces: self.traces(&found, &seen),
                ..counts(&found, &seen)
            },
            stopped: certain,
            bounds,
            halted: seen.halted,
            races,
            deterministic: match seen.observed.len() {
                0 => None,
                1 => whole.then_some(true),
                _ => Some(false),
            },
            witnesses: shown.witnesses,
            runs,
            estimate: if certain || self.code.starts_processes() {
                None
            } else {
                TraceEstimate::of(seen.drawn.into_values())
            },
        })
    }

    /// Returns the number of different executions. If executions are drawn and the program starts
    /// threads, the number is unknown: the same execution may be drawn with other indices of the
    /// started threads.
    fn traces(&self, found: &Found, seen: &SeenExecutions) -> Option<u64> {
        match (self.draws, self.code.starts_processes()) {
            (None, _) => Some(executions(found)),
            (Some(_), true) => None,
            (Some(_), false) => Some(seen.drawn.len() as u64),
        }
    }

    fn program<const APART: bool>(&self) -> Threads<Machine, APART> {
        let (local, reached) = (self.options.limits.local, &self.options.reached);
        Threads::new(|| {
            let patience = mazurka_core::Patience::default();
            Machine::until(Arc::clone(self.code), local, patience, reached.clone())
        })
    }

    fn search<const APART: bool>(&self, watch: &mut Watch<'_>) -> PartFindings {
        let budget = Budget::new(&self.options.limits);
        let explore = |shared: &Shared| self.in_parts::<APART>(shared, &budget);
        let (mut shown, over) = watched(&budget, watch, explore);
        let bounds = &mut shown.found.bounds;
        bounds.extend(over.filter(|_| shown.broken_off));
        self.name_limits(bounds);
        shown
    }

    /// Replaces, in `bounds`, the limits of a part by the limits that the user gave, and removes
    /// duplicates.
    pub fn name_limits(&self, bounds: &mut Vec<Bound>) {
        let limits = &self.options.limits;
        for bound in bounds.iter_mut() {
            let given = match bound {
                Bound::MaxSteps(_) => limits.steps.map(Bound::MaxSteps),
                Bound::MaxExecutions(_) => limits.executions.map(Bound::MaxExecutions),
                Bound::TimeLimit(_) => limits
                    .time
                    .map(|time| Bound::TimeLimit(time.as_millis() as u64)),
                _ => None,
            };
            *bound = given.unwrap_or(*bound);
        }
        let mut known = Vec::new();
        bounds.retain(|bound| {
            !known.contains(bound) && {
                known.push(*bound);
                true
            }
        });
    }

    /// Cuts the search into parts, and explores them. If executions are to be drawn, draws them
    /// instead.
    fn in_parts<const APART: bool>(&self, shared: &Shared, budget: &Budget<'_>) -> PartFindings {
        if let Some(sample) = self.draws {
            return self.draw::<APART>(sample, shared);
        }
        let (mut shown, parts) = self.cut::<APART>(shared, budget);
        if shown.certain || shown.broken_off {
            return shown;
        }
        let limits = &self.options.limits;
        // Limits on counts require the parts to be explored in order.
        if limits.steps.is_some() || limits.executions.is_some() {
            for (at, part) in parts.iter().enumerate() {
                let counts = shown.found.counts;
                let limits = Limits {
                    steps: limits.steps.map(|most| most - counts.events.min(most)),
                    executions: limits.executions.map(|most| most - counts.executions()),
                    ..budget.left()
                };
                shown.merge(self.part::<APART>((at, part), shared, &limits));
                if shown.certain || shown.broken_off {
                    break;
                }
            }
            return shown;
        }
        let (next, parts) = (AtomicUsize::new(0), &parts);
        let gathered = Mutex::new(GatheredParts {
            shown,
            next: 0,
            early: BTreeMap::new(),
        });
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let over = shared.is_over();
                if at >= parts.len() || over || shared.last.load(Ordering::Relaxed) < at {
                    return;
                }
                let part = self.part::<APART>((at, &parts[at]), shared, &budget.left());
                let mut gathered = gathered.lock().unwrap_or_else(PoisonError::into_inner);
                gathered.add(at, part);
            }
        };
        std::thread::scope(|scope| {
            let workers = self.options.jobs.clamp(1, parts.len().max(1));
            for _ in 1..workers {
                scope.spawn(work);
            }
            work();
        });
        let gathered = gathered.into_inner();
        let gathered = gathered.unwrap_or_else(PoisonError::into_inner);
        gathered.all(parts.len())
    }

    /// Cuts the search into parts. The tree above the cut is explored meanwhile.
    fn cut<const APART: bool>(
        &self,
        shared: &Shared,
        budget: &Budget<'_>,
    ) -> (PartFindings, Vec<Part>) {
        let mut depth = FIRST_CUT;
        loop {
            let mut look = self.look(0, shared);
            let (program, limits) = (self.program::<APART>(), budget.left());
            let (found, parts) = split(program, self.memory, &limits, depth, &mut look);
            let shown = look.shown(found);
            let enough = parts.is_empty() || parts.len() >= ENOUGH_PARTS || depth >= LAST_CUT;
            if enough || shown.certain || shown.broken_off {
                return (shown, parts);
            }
            shared.executions.store(0, Ordering::Relaxed);
            depth += (depth / 4).max(2);
        }
    }

    /// Explores a part.
    fn part<const APART: bool>(
        &self,
        (at, part): (usize, &Part),
        shared: &Shared,
        limits: &Limits,
    ) -> PartFindings {
        let mut look = self.look(at, shared);
        let program = self.program::<APART>();
        let found = visit_part(program, self.memory, limits, part, &mut look);
        let shown = look.shown(found);
        if shown.certain {
            shared.last.fetch_min(at, Ordering::Relaxed);
        }
        if shown.broken_off {
            shared.over.store(true, Ordering::Relaxed);
        }
        shown
    }

    pub fn look<'s>(&self, part: usize, shared: &'s Shared) -> PartVisitor<'s> {
        PartVisitor {
            stops: self.stops.and(self.counted),
            shared,
            part,
            seen: SeenExecutions::default(),
            draws: self.draws.is_some(),
            certain: false,
        }
    }

    /// Returns how executions are drawn, and how many are drawn.
    pub fn drawing(&self, sample: Sample) -> (Limits, Drawing) {
        let given = &self.options.limits;
        let limited = given.executions.or(given.steps).is_some() || given.time.is_some();
        let limits = Limits {
            executions: given.executions.or((!limited).then_some(WALKS)),
            ..given.clone()
        };
        let random = Random::new(sample.seed);
        let drawing = match sample.method {
            Method::Pct { depth } => Drawing::by_priorities(random, depth),
            // Other methods are rejected earlier.
            Method::Random | Method::Pos | Method::Urw | Method::Surw => Drawing::from(random),
        };
        (limits, drawing)
    }

    /// Draws executions.
    fn draw<const APART: bool>(&self, drawn: Sample, shared: &Shared) -> PartFindings {
        let (limits, drawing) = self.drawing(drawn);
        let mut look = self.look(0, shared);
        let program = self.program::<APART>();
        let found = sample(program, self.memory, &limits, drawing, &mut look);
        look.shown(found)
    }
}

/// Explores in a separate thread, while this thread calls the watch. Also returns the bound, if the
/// watch has ended the search.
pub(super) fn watched<R: Send>(
    budget: &Budget<'_>,
    watch: &mut Watch<'_>,
    explore: impl FnOnce(&Shared) -> R + Send,
) -> (R, Option<Bound>) {
    let shared = &Shared {
        executions: AtomicU64::new(0),
        over: AtomicBool::new(false),
        last: AtomicUsize::new(usize::MAX),
        memory: budget.left().memory,
    };
    // In a browser there are no threads to call the watch, so the engine checks the limits itself.
    if cfg!(target_family = "wasm") {
        let explored = explore(shared);
        let full = shared.memory.filter(|_| is_above(shared.memory));
        return (explored, full.map(Bound::MemoryLimit));
    }
    let mut over = None;
    std::thread::scope(|scope| {
        let (done, ended) = mpsc::channel::<()>();
        let worker = scope.spawn(move || {
            // The channel closes when the search is over, even if it panics.
            let _done = done;
            explore(shared)
        });
        while ended.recv_timeout(BETWEEN_LOOKS) == Err(mpsc::RecvTimeoutError::Timeout) {
            let executions = shared.executions.load(Ordering::Relaxed);
            let counts = Counts {
                executions,
                traces: Some(executions),
                ..Counts::default()
            };
            if let (ControlFlow::Break(bound), None) = (budget.look(counts, watch), over) {
                over = Some(bound);
                shared.over.store(true, Ordering::Relaxed);
            }
        }
        let explored = worker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (explored, over)
    })
}

/// Returns the number of executions drawn, from the bound of the sample. If a violation has ended
/// the sample, removes this bound.
pub(super) fn take_runs(bounds: &mut Vec<Bound>, certain: bool) -> u64 {
    let drawn = bounds.iter().find_map(|bound| match bound {
        Bound::Sampled(drawn) => Some(*drawn),
        _ => None,
    });
    // The bound of a sample gives the number of all drawn executions.
    let is_sample_bound = |bound: &Bound| match bound {
        Bound::Sampled(_) => certain,
        Bound::MaxExecutions(_) => drawn.is_some(),
        _ => false,
    };
    bounds.retain(|bound| !is_sample_bound(bound));
    drawn.unwrap_or(0)
}

/// Returns why the threads of a program have given up: the step on this line does several things.
pub(super) fn does_several_things(line: u32) -> NotWeak {
    NotWeak::SeveralInAStep {
        line: line as usize,
    }
}

pub(super) fn executions(found: &Found) -> u64 {
    let graphs = found.counts;
    graphs.executions() - graphs.blocked - graphs.discarded
}

pub(super) fn counts(found: &Found, seen: &SeenExecutions) -> Counts {
    let graphs = found.counts;
    Counts {
        executions: executions(found),
        traces: None,
        blocked: graphs.blocked,
        discarded: graphs.discarded,
        deadlocks: graphs.deadlocks,
        failures: seen.breaking + seen.failing.len() as u64,
        final_states: seen.observed.len() as u64,
        events: graphs.events,
        steps: graphs.events,
        ..Counts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a part with one failure more than its number. The part may end the search.
    fn part(number: u64, certain: bool) -> PartFindings {
        let seen = SeenExecutions {
            breaking: number + 1,
            broken: vec![
                (7, Schedule::default()),
                (number as u32, Schedule::default()),
            ],
            ..SeenExecutions::default()
        };
        PartFindings {
            seen,
            certain,
            ..PartFindings::default()
        }
    }

    fn gather(order: &[u64], certain: Option<u64>, parts: usize) -> PartFindings {
        let mut gathered = GatheredParts {
            shown: PartFindings::default(),
            next: 0,
            early: BTreeMap::new(),
        };
        for &number in order {
            gathered.add(number as usize, part(number, certain == Some(number)));
        }
        gathered.all(parts)
    }

    #[test]
    fn parts_are_put_together_in_order() {
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
            let whole = gather(&order, None, 4);
            assert_eq!((whole.seen.breaking, whole.broken_off), (10, false));
            let sites: Vec<u32> = whole.seen.broken.iter().map(|(site, _)| *site).collect();
            assert_eq!(sites, [7, 0, 1, 2, 3]);
            // Parts after the one that ends the search do not count.
            let certain = gather(&order, Some(2), 4);
            assert_eq!((certain.seen.breaking, certain.certain), (6, true));
            assert!(!certain.broken_off);
        }
        let missing = gather(&[0, 2], None, 4);
        assert_eq!((missing.seen.breaking, missing.broken_off), (4, true));
    }
}
