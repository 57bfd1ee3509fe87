//! The search with merging: level by level, by one worker or by several.
//!
//! Each worker has a program of its own, with its own terms, and owns the states that it has met:
//! their terms mean nothing to another program. In each level, every worker expands its own states,
//! and registers the successors in one table: for each pair of path and pool the least *rank*,
//! which is the position of the parent in the level, and the number of the successor among those of
//! its parent. When all have finished, each worker keeps the successors that have the least rank,
//! and drops the others. One worker that expands the level in order keeps the same successors,
//! because the first of several equal ones has the least rank. The ranks of the kept states are
//! their order in the next level. So states, order, counts and curve do not depend on the number of
//! workers, provided that the answers of a program's solver do not depend on its earlier queries;
//! if a solver gives up, the verdict is inconclusive anyway. Findings have ranks, too, and are told
//! in that order.
//!
//! One worker starts, because most programs are small. When it has taken some time and a level is
//! wide enough, its states are dealt out as runs, which the workers make again. States stay where
//! they are met, so the shares of the workers drift apart; they are balanced when the time that
//! idle workers have lost exceeds what it costs to make the runs of the moved states again. A run
//! of a state of depth d takes d steps, and its expansion about one for each process.
//!
//! Two workers together take 1.1 times the CPU time of one on thesis-pairs(4), and 1.3 times on
//! lastzero(9), where most successors are equal to others: they are looked up in the shared table,
//! and a copy of a state is made in vain if an equal one with a lower rank comes later. Before
//! states reused the memory of expanded ones, and before the paths of dropped successors were left
//! out, allocation took 40 % of the time, and two workers took up to twice the CPU time of one.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use mazurka_core::{Bound, Counts, Fingerprint, Limits, Schedule, Symbolic};
use rustc_hash::{FxHashMap, FxHashSet};

use super::curve::{Curve, Expansion};
use super::forms::Extension;
use super::path::{MadeSteps, Path, made_after, run_of};
use super::walker::{Ends, Processes, Walker};
use super::{Audience, Rank, SymbolicSearch};
use crate::drive::budget::Budget;
use crate::drive::driver::{End, Progress, Watch};
use crate::drive::parallel::{Workers, foreign_memory};

/// Limit on the unexpanded states that are shown after a limit was hit.
const MOST_OPEN: usize = 1000;
/// Number of states for each worker in the first level that workers share, as a rule.
const STATES_FOR_EACH: usize = 16;
/// Time between two calls of the watch if nothing happens.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// Number of parts of the table, so that workers seldom wait for each other.
const SHARDS: usize = 64;
/// About how many steps an expansion takes.
const STEPS_OF_EXPANSION: u64 = 4;
/// Set in the rank of a successor that was added after all others of its parent.
const LATE: u64 = 1 << 31;

/// The path and the pool of a state, which identify it in its level.
type Key = (Fingerprint, Fingerprint);

/// A state that is still to be expanded.
pub(super) struct Entry<E: Symbolic> {
    /// Its position in its level.
    position: u64,
    state: E::State,
    path: Path,
    made: MadeSteps,
}

/// A depth, and the states of this level.
pub(super) type LevelAt<E> = (u64, Vec<Entry<E>>);

/// A successor of a state, which may be equal to one of another worker.
struct Successor<E: Symbolic> {
    key: Key,
    /// The position of its parent, and the number of the successor in the lower half.
    rank: u64,
    /// Whether it is final.
    ends: bool,
    entry: Entry<E>,
}

/// Returns the state at which a search starts.
pub(super) fn initial<E: Symbolic>(walker: &Walker<'_, '_, E>) -> Vec<Entry<E>> {
    vec![Entry {
        position: 0,
        state: walker.program.state(),
        path: None,
        made: None,
    }]
}

impl<E: Symbolic> Walker<'_, '_, E> {
    fn come_to(&mut self, entry: &Entry<E>) {
        self.program.restore(&entry.state);
        self.made.clone_from(&entry.made);
    }

    /// Expands a state of a level. `keep` receives each successor and says whether it is kept.
    fn expand_entry(
        &mut self,
        level: u64,
        entry: &Entry<E>,
        keep: &mut dyn FnMut(&mut Self, Successor<E>) -> bool,
        known: &mut dyn FnMut(Key, u64) -> bool,
    ) -> ControlFlow<Bound, Expansion> {
        self.come_to(entry);
        self.rank = Rank {
            level,
            position: entry.position,
            ordinal: 0,
        };
        let (mut kept, mut covered) = (Processes::new(), None);
        let mut new = 0;
        let mut arrive = |walker: &mut Self, late: u64| {
            let mut extension = walker.extension(&entry.path);
            if walker.has_mishap() {
                let path = extension.onto(&entry.path);
                walker.mishaps(&path);
                extension = Extension::Path(path);
            }
            let key = (extension.form(&entry.path), walker.program.pool());
            let rank = entry.position << 32 | late | walker.rank.ordinal;
            if known(key, rank) {
                return false;
            }
            let ends = walker.program.is_final();
            let successor = Successor {
                key,
                rank,
                ends,
                entry: Entry {
                    position: 0,
                    state: walker.state(),
                    path: extension.onto(&entry.path),
                    made: walker.made_to_here(),
                },
            };
            keep(walker, successor)
        };
        let expanded = self.expand(&entry.path, |walker, choice| {
            if walker.search.pruned && walker.is_covered() {
                covered.get_or_insert(choice);
            } else {
                kept.push(choice.process);
                new += u32::from(arrive(walker, 0));
            }
        })?;
        let mut expansion = expanded.expansion;
        expansion.new += new;
        let goes_on = kept
            .iter()
            .any(|process| !expanded.may_stay.contains(process));
        if let (Some(choice), false) = (covered, goes_on)
            && self.make(&choice)?
        {
            self.rank.ordinal += 1;
            expansion.late = arrive(self, LATE);
        }
        ControlFlow::Continue(expansion)
    }

    /// Shows states that a limit has left unexpanded.
    fn show_unexpanded(&mut self, level: u64, open: impl IntoIterator<Item = Entry<E>>) {
        for entry in open.into_iter().take(MOST_OPEN) {
            self.come_to(&entry);
            self.rank = Rank {
                level,
                position: entry.position,
                ordinal: 0,
            };
            self.ended(End::Cut, &entry.path);
        }
    }

    /// Makes the run of a state of another worker.
    fn take(
        &mut self,
        start: &E::State,
        position: u64,
        run: Schedule,
    ) -> ControlFlow<Bound, Entry<E>> {
        self.program.restore(start);
        let mut path = None;
        for step in &run.0 {
            self.repeat(step)?;
            path = self.extended(&path);
        }
        ControlFlow::Continue(Entry {
            position,
            state: self.program.state(),
            path,
            made: made_after(None, run.0),
        })
    }

    /// Explores level by level, alone, until `hands_over` returns true for a level. Returns that
    /// level with its depth, or nothing if everything is explored.
    pub(super) fn alone(
        &mut self,
        curve: &mut Curve,
        hands_over: &mut dyn FnMut(usize) -> bool,
    ) -> ControlFlow<Bound, Option<LevelAt<E>>> {
        let mut level = initial(self);
        let mut depth = 0;
        while !level.is_empty() {
            if depth >= self.search.limits.depth() {
                self.show_unexpanded(depth, level);
                return ControlFlow::Break(Bound::MaxDepth(depth));
            }
            if hands_over(level.len()) {
                return ControlFlow::Continue(Some((depth, level)));
            }
            let mut next: Vec<Entry<E>> = Vec::new();
            let mut known: FxHashSet<Key> = FxHashSet::default();
            let mut entries = level.into_iter();
            while let Some(entry) = entries.next() {
                let mut keep = |walker: &mut Self, successor: Successor<E>| {
                    if successor.ends {
                        walker.end(&successor.entry.path);
                        walker.discard(successor.entry.state);
                    } else {
                        let position = next.len() as u64;
                        next.push(Entry {
                            position,
                            ..successor.entry
                        });
                    }
                    true
                };
                let mut is_known = |key: Key, _| !known.insert(key);
                match self.expand_entry(depth, &entry, &mut keep, &mut is_known) {
                    ControlFlow::Continue(expansion) => {
                        curve.add(expansion);
                        self.discard(entry.state);
                    }
                    ControlFlow::Break(bound) => {
                        let open = std::iter::once(entry).chain(entries);
                        // The states of the next level come last.
                        let open: Vec<Entry<E>> = open.collect();
                        let left = MOST_OPEN.saturating_sub(open.len());
                        self.show_unexpanded(depth, open);
                        self.show_unexpanded(depth + 1, next.into_iter().take(left));
                        return ControlFlow::Break(bound);
                    }
                }
            }
            level = next;
            depth += 1;
        }
        ControlFlow::Continue(None)
    }
}

/// The successors of a level that all workers have met: for each key the least rank.
struct Arrivals {
    shards: Vec<Mutex<FxHashMap<Key, u64>>>,
}

impl Arrivals {
    fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    fn shard(&self, key: &Key) -> std::sync::MutexGuard<'_, FxHashMap<Key, u64>> {
        let at = key.0.bits() as usize % SHARDS;
        let shard = self.shards[at].lock();
        shard.unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a successor. Returns whether one of a lower rank is registered.
    fn has_lower(&self, key: Key, rank: u64) -> bool {
        let mut shard = self.shard(&key);
        let least = shard.entry(key).or_insert(rank);
        let lower = *least < rank;
        *least = rank.min(*least);
        lower
    }

    /// Whether a successor has the least rank of its key.
    fn is_least(&self, key: Key, rank: u64) -> bool {
        self.shard(&key).get(&key) == Some(&rank)
    }

    fn clear(&self) {
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            // The next level is about as large.
            shard.clear();
        }
    }
}

/// A state as the run that leads to it, with its position in its level.
type Moved = (u64, Schedule);

/// What a worker is to do next.
enum Order {
    /// Make the runs of these states, and own them.
    Take(Vec<Moved>),
    /// Give away this many states.
    Give(usize),
    /// Expand all states: they have this depth.
    Expand(u64),
    /// Keep the successors with the least ranks. All workers have expanded their states.
    Settle,
    /// The kept successors have these positions in the next level.
    Place(Vec<u64>),
    /// Show the states that are not expanded, and end.
    End,
}

/// What a worker answers.
enum Report<A> {
    Given(Vec<Moved>),
    /// The positions of the expanded states with their expansions, which do not include successors,
    /// and whether some states were left.
    Expanded(Vec<(u64, Expansion)>, bool),
    /// The ranks of the kept successors, and whether each of them is final.
    Settled(Vec<(u64, bool)>),
    Ended(Box<(Ends, A)>),
}

/// The state that the workers of a search share.
struct Desk<'a> {
    search: &'a SymbolicSearch,
    arrivals: Arrivals,
    stopped: AtomicBool,
    /// For each worker, the numbers of its states at the end and of its steps.
    counts: Vec<[AtomicU64; 2]>,
}

impl Desk<'_> {
    /// Carries out orders until the last one.
    fn work<E: Symbolic, A: Audience<E>>(
        &self,
        worker: usize,
        program: &mut E,
        mut audience: A,
        (orders, reports): (&Receiver<Order>, &Sender<Report<A>>),
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
        let start = walker.program.state();
        let mut owned: Owned<E> = Owned {
            depth: 0,
            entries: Vec::new(),
            successors: Vec::new(),
            lost: false,
        };
        for order in orders {
            let report = match order {
                Order::Take(moved) => {
                    for (position, run) in moved {
                        match walker.take(&start, position, run) {
                            ControlFlow::Continue(entry) => owned.entries.push(entry),
                            ControlFlow::Break(_) => owned.lost = true,
                        }
                    }
                    owned.entries.sort_unstable_by_key(|entry| entry.position);
                    continue;
                }
                Order::Give(count) => {
                    let left = owned.entries.len().saturating_sub(count);
                    let given = owned.entries.drain(left..);
                    let given = given.map(|entry| (entry.position, run_of(&entry.made)));
                    Report::Given(given.collect())
                }
                Order::Expand(depth) => {
                    owned.depth = depth;
                    let (expanded, left) = owned.expand(&mut walker, &self.arrivals);
                    Report::Expanded(expanded, left)
                }
                Order::Settle => Report::Settled(owned.settle(&mut walker, &self.arrivals)),
                Order::Place(positions) => {
                    owned.place(positions);
                    continue;
                }
                Order::End => {
                    owned.show(&mut walker);
                    break;
                }
            };
            if reports.send(report).is_err() {
                return;
            }
        }
        walker.close();
        let ends = std::mem::take(&mut walker.ends);
        // Sending fails only if the receiver is gone.
        let _ = reports.send(Report::Ended(Box::new((ends, audience))));
    }
}

/// The states that a worker owns.
struct Owned<E: Symbolic> {
    depth: u64,
    /// In the order of their positions.
    entries: Vec<Entry<E>>,
    successors: Vec<Successor<E>>,
    /// Whether a run to a state was broken off, so that the state is missing.
    lost: bool,
}

impl<E: Symbolic> Owned<E> {
    fn expand(
        &mut self,
        walker: &mut Walker<'_, '_, E>,
        arrivals: &Arrivals,
    ) -> (Vec<(u64, Expansion)>, bool) {
        let mut expanded = Vec::with_capacity(self.entries.len());
        let successors = &mut self.successors;
        let mut keep = |_: &mut Walker<'_, '_, E>, successor| {
            successors.push(successor);
            // It is counted when all workers have expanded their states.
            false
        };
        let mut is_known = |key, rank| arrivals.has_lower(key, rank);
        let mut entries = std::mem::take(&mut self.entries).into_iter();
        // A state is freed as soon as it is expanded, and its successors reuse its memory.
        while let Some(entry) = entries.next() {
            match walker.expand_entry(self.depth, &entry, &mut keep, &mut is_known) {
                ControlFlow::Continue(expansion) => {
                    expanded.push((entry.position, expansion));
                    walker.discard(entry.state);
                }
                ControlFlow::Break(_) => {
                    self.entries = std::iter::once(entry).chain(entries).collect();
                    break;
                }
            }
        }
        (expanded, self.lost || !self.entries.is_empty())
    }

    fn settle(&mut self, walker: &mut Walker<'_, '_, E>, arrivals: &Arrivals) -> Vec<(u64, bool)> {
        let is_other =
            |successor: &mut Successor<E>| !arrivals.is_least(successor.key, successor.rank);
        for dropped in self.successors.extract_if(.., is_other) {
            walker.discard(dropped.entry.state);
        }
        for successor in self.successors.iter().filter(|successor| successor.ends) {
            walker.come_to(&successor.entry);
            walker.rank = Rank {
                level: self.depth,
                position: successor.rank >> 32,
                ordinal: successor.rank & (LATE - 1),
            };
            walker.end(&successor.entry.path);
        }
        let ranks = self.successors.iter();
        ranks.map(|kept| (kept.rank, kept.ends)).collect()
    }

    /// Makes the kept successors that are not final the states to be expanded, if all earlier ones
    /// are expanded.
    fn place(&mut self, positions: Vec<u64>) {
        for (successor, position) in self.successors.iter_mut().zip(positions) {
            successor.entry.position = position;
        }
        self.successors.retain(|successor| !successor.ends);
        if self.entries.is_empty() {
            self.depth += 1;
            let next = self.successors.drain(..);
            self.entries = next.map(|successor| successor.entry).collect();
        }
    }

    fn show(self, walker: &mut Walker<'_, '_, E>) {
        let next = MOST_OPEN.saturating_sub(self.entries.len());
        walker.show_unexpanded(self.depth, self.entries);
        let successors = self.successors.into_iter().take(next);
        walker.show_unexpanded(self.depth + 1, successors.map(|next| next.entry));
    }
}

/// The result of workers that have shared levels.
pub(super) struct SharedLevels<A> {
    pub(super) ends: Ends,
    pub(super) audiences: Vec<A>,
    /// The limit that was hit, if any.
    pub(super) bound: Option<Bound>,
}

/// Whether several workers are to share a level, after one worker has searched for this time.
pub(super) fn is_worth_sharing(
    search: &SymbolicSearch,
    states: usize,
    workers: usize,
    elapsed: Duration,
) -> bool {
    // If steps take long, a narrow level is worth it, too.
    let wide = if elapsed >= search.alone * 8 {
        2
    } else {
        STATES_FOR_EACH
    };
    elapsed >= search.alone && states >= wide * workers
}

/// Explores from a level of one worker on, with several workers.
pub(super) fn share<E: Symbolic, A: Audience<E> + Send>(
    (search, depth, level): (&SymbolicSearch, u64, Vec<Entry<E>>),
    curve: &mut Curve,
    workers: &Workers<'_, E>,
    audiences: &(dyn Fn() -> A + Sync),
    (budget, before, watch): (&Budget<'_>, Counts, &mut Watch<'_>),
) -> SharedLevels<A> {
    let count = workers.count;
    let desk = Desk {
        search,
        arrivals: Arrivals::new(),
        stopped: AtomicBool::new(false),
        counts: (0..count).map(|_| Default::default()).collect(),
    };
    let mut shares: Vec<Vec<Moved>> = vec![Vec::new(); count];
    for (at, entry) in level.into_iter().enumerate() {
        shares[at % count].push((entry.position, run_of(&entry.made)));
    }
    std::thread::scope(|scope| {
        let mut all = Vec::new();
        for (worker, share) in shares.into_iter().enumerate() {
            let (orders, taken) = channel();
            let (reports, reported) = channel();
            let desk = &desk;
            scope.spawn(move || {
                let _foreign = foreign_memory();
                let mut program = (workers.programs)();
                desk.work(worker, &mut program, audiences(), (&taken, &reports));
            });
            let states = share.len();
            let _ = orders.send(Order::Take(share));
            all.push(Hand {
                orders,
                reported,
                states,
            });
        }
        Coordinator {
            desk: &desk,
            hands: all,
            curve,
            budget,
            before,
            watch,
            looked: Instant::now(),
            bound: None,
            lost: 0,
        }
        .run(depth)
    })
}

/// A worker, seen by the coordinator.
struct Hand<A> {
    orders: Sender<Order>,
    reported: Receiver<Report<A>>,
    /// The number of states that it is to expand.
    states: usize,
}

/// Orders the workers, watches them, and counts.
struct Coordinator<'a, 'w, A> {
    desk: &'a Desk<'a>,
    hands: Vec<Hand<A>>,
    curve: &'a mut Curve,
    budget: &'a Budget<'a>,
    /// The counts before the workers started.
    before: Counts,
    watch: &'a mut Watch<'w>,
    looked: Instant,
    bound: Option<Bound>,
    /// The number of expansions that idle workers have not made since the shares were balanced.
    lost: u64,
}

impl<A> Coordinator<'_, '_, A> {
    fn run(mut self, first: u64) -> SharedLevels<A> {
        let mut depth = first;
        loop {
            let states: usize = self.hands.iter().map(|hand| hand.states).sum();
            if states == 0 {
                break;
            }
            if depth >= self.desk.search.limits.depth() {
                self.bound.get_or_insert(Bound::MaxDepth(depth));
                break;
            }
            let whole = self.level(depth);
            if self.bound.is_some() {
                break;
            }
            if !whole {
                let counts = self.counts();
                self.bound = Some(self.budget.why_broken(counts, self.watch));
                break;
            }
            depth += 1;
            self.balance(depth);
        }
        self.order(|| Order::End);
        let mut ends = Ends::default();
        let mut audiences = Vec::new();
        for at in 0..self.hands.len() {
            if let Some(Report::Ended(ended)) = self.next_report(at) {
                ends.absorb(ended.0);
                audiences.push(ended.1);
            }
        }
        SharedLevels {
            ends,
            audiences,
            bound: self.bound,
        }
    }

    fn order(&self, order: impl Fn() -> Order) {
        for hand in &self.hands {
            // Sending fails only if the worker has panicked, which the scope passes on.
            let _ = hand.orders.send(order());
        }
    }

    fn counts(&self) -> Counts {
        let sum = |of: usize| {
            let all = self.desk.counts.iter();
            all.map(|counts| counts[of].load(Ordering::Relaxed))
                .sum::<u64>()
        };
        Counts {
            executions: self.before.executions + sum(0),
            steps: self.before.steps + sum(1),
            events: self.before.steps + sum(1),
            ..Counts::default()
        }
    }

    /// Returns the next report of a worker, or nothing if it has panicked. Meanwhile watches the
    /// limits.
    fn next_report(&mut self, of: usize) -> Option<Report<A>> {
        loop {
            let reported = self.hands[of].reported.recv_timeout(BETWEEN_LOOKS);
            if self.bound.is_none() && self.looked.elapsed() >= BETWEEN_LOOKS {
                self.looked = Instant::now();
                if let ControlFlow::Break(bound) = self.budget.look(self.counts(), self.watch) {
                    self.bound = Some(bound);
                    self.desk.stopped.store(true, Ordering::Relaxed);
                }
            }
            match reported {
                Ok(report) => return Some(report),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Lets the workers expand a level. Returns whether all of it was expanded.
    fn level(&mut self, depth: u64) -> bool {
        self.order(|| Order::Expand(depth));
        let mut whole = true;
        let mut expanded: Vec<(u64, Expansion)> = Vec::new();
        for at in 0..self.hands.len() {
            match self.next_report(at) {
                Some(Report::Expanded(own, left)) => {
                    whole &= !left;
                    expanded.extend(own);
                }
                _ => whole = false,
            }
        }
        self.order(|| Order::Settle);
        let mut kept: Vec<(u64, u32, bool)> = Vec::new();
        for at in 0..self.hands.len() {
            if let Some(Report::Settled(ranks)) = self.next_report(at) {
                let open = ranks.iter().filter(|(_, ends)| !ends).count();
                self.hands[at].states = open;
                kept.extend(
                    ranks
                        .into_iter()
                        .map(|(rank, ends)| (rank, at as u32, ends)),
                );
            } else {
                whole = false;
            }
        }
        self.desk.arrivals.clear();
        // Both lists consist of a sorted list of each worker, which this sort merges.
        expanded.sort_by_key(|(position, _)| *position);
        kept.sort_by_key(|(rank, ..)| *rank);
        let mut positions: Vec<Vec<u64>> = vec![Vec::new(); self.hands.len()];
        for (position, (_, worker, _)) in kept.iter().enumerate() {
            positions[*worker as usize].push(position as u64);
        }
        for (hand, positions) in self.hands.iter().zip(positions) {
            let _ = hand.orders.send(Order::Place(positions));
        }
        let mut kept = kept.into_iter().map(|(rank, ..)| rank).peekable();
        for (position, mut expansion) in expanded {
            while let Some(rank) = kept.next_if(|rank| rank >> 32 <= position) {
                match rank & LATE {
                    0 => expansion.new += 1,
                    _ => expansion.late = true,
                }
            }
            self.curve.add(expansion);
        }
        whole
    }

    /// Moves states from workers with more than their share to others, if that costs less than the
    /// time that was lost.
    fn balance(&mut self, depth: u64) {
        let count = self.hands.len();
        let all: usize = self.hands.iter().map(|hand| hand.states).sum();
        let share = all.div_ceil(count);
        let surplus = |states: usize| states.saturating_sub(share);
        let surpluses = self.hands.iter().map(|hand| surplus(hand.states));
        let most = self.hands.iter().map(|hand| hand.states).max().unwrap_or(0);
        self.lost += most.saturating_sub(share) as u64;
        let moved: usize = surpluses.sum();
        if moved == 0 || self.lost * STEPS_OF_EXPANSION < moved as u64 * depth {
            return;
        }
        self.lost = 0;
        let mut given: Vec<Moved> = Vec::new();
        for at in 0..count {
            let surplus = surplus(self.hands[at].states);
            if surplus > 0 {
                let _ = self.hands[at].orders.send(Order::Give(surplus));
                if let Some(Report::Given(more)) = self.next_report(at) {
                    given.extend(more);
                }
                self.hands[at].states -= surplus;
            }
        }
        for hand in &mut self.hands {
            let missing = share.saturating_sub(hand.states).min(given.len());
            let taken = given.split_off(given.len() - missing);
            hand.states += taken.len();
            if !taken.is_empty() {
                let _ = hand.orders.send(Order::Take(taken));
            }
        }
    }
}
