//! The search without merging: depth first, by one worker or by several.
//!
//! Nothing is merged, so the states form a tree, and its parts have nothing to do with each other.
//! Several workers share it in *parts*: the top of the tree, node by node, and below it whole
//! subtrees, in the order in which one worker meets them. The parts depend on the program alone.
//! The findings of a part depend only on the part, and are put together in this order; so the
//! results do not depend on the number of workers.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use mazurka_core::{Bound, Counts, Limits, Schedule, ScheduledStep, Symbolic};

use super::curve::{Curve, Expansion};
use super::walker::{Choice, Ends, Walker};
use super::{Audience, Rank, SymbolicSearch};
use crate::drive::budget::Budget;
use crate::drive::driver::{End, Progress, Watch};
use crate::drive::parallel::{Workers, foreign_memory};

/// Number of subtrees: enough to keep all workers busy until the end.
const SUBTREES: usize = 512;
/// Time between two calls of the watch if nothing happens.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A part of the tree.
pub(super) struct Part {
    /// The run to its root.
    prefix: Schedule,
    /// Whether the part is a whole subtree, and not only its root.
    whole: bool,
}

impl Part {
    /// The whole tree.
    pub(super) fn everything() -> Self {
        Self {
            prefix: Schedule(Vec::new()),
            whole: true,
        }
    }
}

impl<E: Symbolic> Walker<'_, '_, E> {
    fn start_part(&mut self, part: &Part) -> ControlFlow<Bound> {
        self.program.back_to(0);
        part.prefix.0.iter().try_for_each(|step| self.repeat(step))
    }

    /// Explores a part, along one path at a time. `record` receives the expansions.
    pub(super) fn depth_first(
        &mut self,
        (number, part): (usize, &Part),
        record: &mut dyn FnMut(Expansion),
    ) -> ControlFlow<Bound> {
        self.start_part(part)?;
        self.rank = Rank {
            level: number as u64,
            position: 0,
            ordinal: 0,
        };
        let root = part.prefix.0.len();
        // The remaining choices of each state on the path, the next one last.
        let mut choices: Vec<Choice> = Vec::new();
        let mut marks: Vec<usize> = Vec::new();
        let mut fresh = true;
        loop {
            let depth = self.program.events().len();
            if fresh {
                self.rank.ordinal += 1;
                self.mishaps(&None);
                marks.push(choices.len());
                if self.program.is_final() {
                    self.end(&None);
                } else if depth as u64 >= self.search.limits.depth() {
                    let limit = self.search.limits.depth();
                    self.ends.bound(self.rank, Bound::MaxDepth(limit));
                    self.ended(End::Cut, &None);
                } else {
                    let first = choices.len();
                    let expanded = self.expand(&None, |_, choice| choices.push(choice))?;
                    let mut expansion = expanded.expansion;
                    expansion.new += (choices.len() - first) as u32;
                    record(expansion);
                    if part.whole {
                        choices[first..].reverse();
                    } else {
                        choices.clear();
                    }
                }
            }
            let first = marks.last().copied().unwrap_or(0);
            match (choices.len() > first).then(|| choices.pop()).flatten() {
                Some(choice) => {
                    fresh = self.make(&choice)?;
                }
                None => {
                    marks.pop();
                    if depth == root {
                        return ControlFlow::Continue(());
                    }
                    self.program.back_to(depth - 1);
                    fresh = false;
                }
            }
        }
    }

    /// Cuts the tree into parts, in the order of a depth-first search.
    fn cut(&mut self) -> ControlFlow<Bound, Vec<Part>> {
        let mut parts = vec![Part::everything()];
        loop {
            let subtrees = parts.iter().filter(|part| part.whole).count();
            if subtrees >= SUBTREES {
                return ControlFlow::Continue(parts);
            }
            let mut cut = Vec::new();
            let mut any = false;
            for mut part in parts {
                let depth = part.prefix.0.len() as u64;
                let mut below = Vec::new();
                if part.whole && depth < self.search.limits.depth() {
                    self.start_part(&part)?;
                    let paths = self.program.processes().clone();
                    self.expand(&None, |_, choice| {
                        let mut prefix = part.prefix.clone();
                        prefix.0.push(ScheduledStep {
                            process: paths.path(choice.process).clone(),
                            outcomes: choice.outcomes,
                        });
                        below.push(Part {
                            prefix,
                            whole: true,
                        });
                    })?;
                }
                part.whole &= below.is_empty();
                any |= !below.is_empty();
                cut.push(part);
                cut.extend(below);
            }
            parts = cut;
            if !any {
                return ControlFlow::Continue(parts);
            }
        }
    }
}

/// Cuts the tree into parts. Returns nothing if it is too small for workers.
pub(super) fn cut<E: Symbolic>(
    search: &SymbolicSearch,
    program: &mut E,
    (budget, watch): (&Budget<'_>, &mut Watch<'_>),
) -> ControlFlow<Bound, Option<Vec<Part>>> {
    struct Nothing;
    impl<E> Audience<E> for Nothing {
        fn ended(&mut self, _: &E, _: End, _: &dyn super::LeadsHere) {}
        fn failed(&mut self, _: &E, _: mazurka_core::Mishap, _: &dyn super::LeadsHere) {}
    }
    let mut nothing = Nothing;
    let mut walker = Walker::new(program, search, *budget, watch, &mut nothing);
    let parts = walker.cut()?;
    let subtrees = parts.iter().filter(|part| part.whole).count();
    ControlFlow::Continue(Some(parts).filter(|_| subtrees >= SUBTREES))
}

/// The result of workers that have shared a tree.
pub(super) struct SharedTree<A> {
    pub(super) ends: Ends,
    pub(super) audiences: Vec<A>,
    /// The limit that was hit, if any.
    pub(super) bound: Option<Bound>,
}

/// What a worker sends.
enum Report<A> {
    /// A part with its expansions, and whether it was broken off.
    Part(usize, Vec<Expansion>, bool),
    Ended(Box<(Ends, A)>),
}

/// The state that the workers share.
struct Desk<'a> {
    search: &'a SymbolicSearch,
    parts: &'a [Part],
    next: AtomicUsize,
    stopped: AtomicBool,
    /// For each worker, the numbers of its states at the end and of its steps.
    counts: Vec<[AtomicU64; 2]>,
}

impl Desk<'_> {
    fn work<E: Symbolic, A: Audience<E>>(
        &self,
        worker: usize,
        program: &mut E,
        mut audience: A,
        reports: &Sender<Report<A>>,
    ) {
        // The limits of the whole search are checked by the thread that has started it.
        let alone = SymbolicSearch {
            limits: Limits {
                time: None,
                ..self.search.limits.clone()
            },
            ..self.search.clone()
        };
        let [states, steps] = &self.counts[worker];
        let mut watch = |progress: &Progress| {
            states.store(progress.counts.executions, Ordering::Relaxed);
            steps.store(progress.counts.steps, Ordering::Relaxed);
            match self.stopped.load(Ordering::Relaxed) {
                true => ControlFlow::Break(Bound::Interrupted),
                false => ControlFlow::Continue(()),
            }
        };
        let budget = Budget::new(&alone.limits);
        let mut walker = Walker::new(program, &alone, budget, &mut watch, &mut audience);
        while !self.stopped.load(Ordering::Relaxed) {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = self.parts.get(at) else {
                break;
            };
            let mut expansions = Vec::new();
            let explored = walker.depth_first((at, part), &mut |expansion| {
                expansions.push(expansion);
            });
            let left = explored.is_break();
            if reports.send(Report::Part(at, expansions, left)).is_err() || left {
                break;
            }
        }
        walker.close();
        let ends = std::mem::take(&mut walker.ends);
        // Sending fails only if the receiver is gone.
        let _ = reports.send(Report::Ended(Box::new((ends, audience))));
    }
}

/// Explores parts with several workers.
pub(super) fn share<E: Symbolic, A: Audience<E> + Send>(
    (search, parts): (&SymbolicSearch, &[Part]),
    curve: &mut Curve,
    workers: &Workers<'_, E>,
    audiences: &(dyn Fn() -> A + Sync),
    (budget, watch): (&Budget<'_>, &mut Watch<'_>),
) -> SharedTree<A> {
    let desk = Desk {
        search,
        parts,
        next: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
        counts: (0..workers.count).map(|_| Default::default()).collect(),
    };
    let counts = || {
        let sum = |of: usize| {
            let all = desk.counts.iter();
            all.map(|counts| counts[of].load(Ordering::Relaxed))
                .sum::<u64>()
        };
        Counts {
            executions: sum(0),
            steps: sum(1),
            events: sum(1),
            ..Counts::default()
        }
    };
    let mut result = SharedTree {
        ends: Ends::default(),
        audiences: Vec::new(),
        bound: None,
    };
    let mut broken = false;
    // The parts that were explored before an earlier one.
    let mut ahead: BTreeMap<usize, Vec<Expansion>> = BTreeMap::new();
    let mut next = 0;
    std::thread::scope(|scope| {
        let (reports, reported) = channel();
        for worker in 0..workers.count {
            let (desk, reports) = (&desk, reports.clone());
            scope.spawn(move || {
                let _foreign = foreign_memory();
                let mut program = (workers.programs)();
                desk.work(worker, &mut program, audiences(), &reports);
            });
        }
        drop(reports);
        let mut looked = Instant::now();
        loop {
            match reported.recv_timeout(BETWEEN_LOOKS) {
                Ok(Report::Part(at, expansions, left)) => {
                    broken |= left;
                    ahead.insert(at, expansions);
                    while let Some(expansions) = ahead.remove(&next) {
                        expansions.into_iter().for_each(|one| curve.add(one));
                        next += 1;
                    }
                }
                Ok(Report::Ended(ended)) => {
                    result.ends.absorb(ended.0);
                    result.audiences.push(ended.1);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if result.bound.is_none() && looked.elapsed() >= BETWEEN_LOOKS {
                looked = Instant::now();
                if let ControlFlow::Break(bound) = budget.look(counts(), watch) {
                    result.bound = Some(bound);
                    desk.stopped.store(true, Ordering::Relaxed);
                }
            } else if broken {
                desk.stopped.store(true, Ordering::Relaxed);
            }
        }
    });
    for expansion in ahead.into_values().flatten() {
        curve.add(expansion);
    }
    if broken && result.bound.is_none() {
        result.bound = Some(budget.why_broken(counts(), watch));
    }
    result
}
