//! Fagiani: finds all executable permutations of one execution, and from these all other
//! executions.
//!
//! De Boer, Johnsen, Schlatte, Tapia Tarifa, Tveito: "Inseguendo Fagiani Selvatici: Partial Order
//! Reduction for Guarded Command Languages", 2020, Algorithm 1, with the seed traces that its
//! section 8 proposes. A run is recorded. A *label* describes a step: the path that it takes
//! through the code, and its claims. The search tries all orders of the recorded labels that keep
//! the labels of each process in their recorded order. An order that the program can follow, step
//! by step and label by label, is an executable permutation; of each class of equivalent
//! permutations, one is enough.
//!
//! | paper | here |
//! |---|---|
//! | θ₀ | [`Seed`] |
//! | θ′ ∈ I | the run on the way to a node that permutes |
//! | canon(θ) | the run itself: only runs in normal form are made |
//! | proc(θ′), Definition 13 | the processes that are not `Status::Unborn` |
//! | next(ι, θ′), Definition 16 | [`Seed::next`] |
//! | σ(path(θ″)), Definition 6 | the step is possible and has the recorded label |
//! | θ″ ∈ I | its process sleeps |
//!
//! Where it deviates:
//!
//! - canon is the true normal form (erratum E4 in docs/algorithms.md), computed from the accesses
//!   that steps claim (erratum E2). [`printed`] has the form that the paper prints.
//! - The initial values are known, so a prefix keeps its state instead of its path condition, and
//!   extending it costs a step.
//! - The search is depth first, with Godefroid's sleep sets: they rule out exactly the runs that
//!   are not the least of their trace in the order of names. So no prefixes are stored. Since the
//!   remaining labels are known, the search leaves a prefix as soon as a sleeping process can no
//!   longer be woken.
//! - A label is the path that a step takes through the code, with all its claims. Locals may have
//!   other values in a permutation. In section 6 as printed, locals keep the recorded values even
//!   if a step reads other values, so Theorem 15 does not hold.
//!
//! A run that was cut by a limit is permuted as far as it goes ([`UpTo`]).
//!
//! Several workers share the permutations of one path (`branches.rs`).
//!
//! # Completeness
//!
//! The permutations of one path do not include the executions that take other paths (erratum E6). A
//! step may be possible but have another label than the recorded one: a condition goes the other
//! way, `choose` returns another value, or a guard opens that stayed closed. From such a step, some
//! execution is run to its end, and becomes a further seed. A prefix in which no process can
//! continue becomes a seed, too.
//!
//! So every trace belongs to exactly one seed and is met once (docs/proofs/fagiani.md). Two parts
//! of the code rely on that proof:
//!
//! - A process need not be tried where its label would lead to a prefix that the search leaves, if
//!   no process is tried after it ([`Fagiani::is_idle`]). If other processes are tried later, this
//!   process must be tried before them, to find out whether it sleeps in their subtrees.
//! - The proof requires that the claims of every process are the recorded ones. The search checks
//!   this in every prefix. If it does not hold, the seed is explored again without leaving prefixes
//!   early (`again`). The search never leaves a prefix because of a sleeping process whose label
//!   has a `choose`.

mod branches;
mod known;
mod printed;
mod seed;
mod up_to;

use mazurka_core::{Access, Claims, Event, Fingerprint, Labelled, ProcessId, Schedule, Status};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use crate::Findings;
use crate::algorithms::naive::next_outcomes;
use crate::drive::driver::{End, Policy};
use crate::drive::search::{Engine, Session};
use branches::Branches;
use known::{Deviation, Known};
use seed::{Seed, conflict, print};

pub use branches::{Collectors, STEPS_OF_PART};
pub use printed::PrintedForms;
pub use up_to::UpTo;

/// The counts of Algorithm 1, over all seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permutations {
    /// Prefixes extended by the next label of a process.
    pub candidates: u64,
    /// Candidates that the program cannot follow.
    pub infeasible: u64,
    /// Candidates that are equivalent to a candidate met before.
    pub duplicates: u64,
    /// Permutations of all labels that the program can follow to an end: one for each trace.
    pub executable: u64,
    /// Permutations after which a process can continue that was waiting at the end of the recorded
    /// run.
    pub open: u64,
    /// Prefixes in which no process can continue.
    pub stuck: u64,
    /// Recorded runs.
    pub seeds: u64,
}

/// The findings of a permuting search.
#[derive(Clone, Debug)]
pub struct Permuted {
    /// The findings, as in every search.
    pub findings: Findings,
    /// The counts of Algorithm 1.
    pub counts: Permutations,
    /// The classes that Definitions 9 and 12 as printed distinguish, if requested.
    pub printed: Option<PrintedForms>,
}

/// How much to permute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Whether to continue with other paths until all paths are explored.
    pub complete: bool,
    /// Whether to count the paper's classes of the recorded path, too.
    pub printed: bool,
}

/// Records the run of a schedule and permutes it. If the schedule ends early, the first ready
/// process continues.
#[derive(Clone, Debug)]
pub struct Permute {
    /// The beginning of the run.
    pub schedule: Schedule,
    /// How much to permute.
    pub extent: Extent,
}

impl<E: Labelled> Engine<E> for Permute {
    type Found = Permuted;

    fn search(&self, mut session: Session<'_, '_, E>) -> Permuted {
        let mut policy = Fagiani::new(self.schedule.clone(), self.extent.complete);
        let findings = policy.explore(&mut session);
        self.with_printed(findings, policy, session)
    }
}

impl Permute {
    /// Adds the counts of the paper's classes of the recorded path, if they are wanted.
    fn with_printed<E: Labelled>(
        &self,
        mut findings: Findings,
        policy: Fagiani,
        mut session: Session<'_, '_, E>,
    ) -> Permuted {
        let recorded = policy.recorded.filter(|_| self.extent.printed);
        let mut printed = None;
        if let Some(seed) = recorded {
            let left = |time: Duration| time.saturating_sub(findings.elapsed);
            session.limits.time = session.limits.time.map(left);
            let unobserved = Session {
                program: session.program,
                limits: session.limits,
                goal: session.goal,
                watch: session.watch,
                observer: &mut (),
                start: session.start,
            };
            let (forms, bounds) = printed::count(unobserved, seed);
            printed = Some(forms);
            for bound in bounds {
                findings.bound(bound);
            }
        }
        Permuted {
            findings,
            counts: policy.counts,
            printed,
        }
    }
}

/// How the search treats a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It agrees with the seed.
    Permutes,
    /// It is being run to an end, where it becomes a seed.
    Records,
    /// It is on the way to the branches that are explored.
    Way,
    /// The search does not continue from it: it agrees with no seed to permute, or is a duplicate.
    Dead,
}

/// A prefix on the path of the search.
#[derive(Debug)]
struct PrefixNode {
    kind: Kind,
    /// Index of the first process that sleeps here. The list of sleepers ends where that of the
    /// next prefix starts.
    sleepers: usize,
    /// Index of the first process to try. The list ends where that of the next prefix starts.
    tries: usize,
    /// Number of processes that have been tried.
    tried: usize,
    /// Number of processes, from the front of the list, that must be tried. The processes after
    /// them are examined when these have been tried.
    due: usize,
    /// If the process that was tried last must be tried again: the outcomes to try.
    again: Option<SmallVec<[i64; 1]>>,
    /// Fingerprint of the labels of all processes, independent of their order.
    labels: Fingerprint,
}

/// A process that may extend a prefix.
#[derive(Clone, Copy, Debug)]
struct ProcessToTry {
    process: ProcessId,
    /// Whether the seed has a label for its next step.
    recorded: bool,
    /// Whether it sleeps: its recorded label would lead to a duplicate. Other outcomes of its step
    /// would not.
    asleep: bool,
    /// Whether its step was made and had the recorded label.
    matched: bool,
}

/// How far a run that is being recorded has followed the seed that it deviates from.
#[derive(Debug, Default)]
struct FollowedSeed {
    /// The next position in the order of the seed.
    at: usize,
    /// For each process, the number of its labels before that position.
    passed: Vec<u32>,
    /// For each process, whether it no longer follows the seed.
    off: Vec<bool>,
}

impl FollowedSeed {
    fn start(&mut self, processes: usize) {
        self.at = 0;
        self.passed.clear();
        self.passed.resize(processes, 0);
        self.off.clear();
        self.off.resize(processes, false);
    }
}

/// The policy of Algorithm 1.
struct Fagiani {
    schedule: Schedule,
    complete: bool,
    /// The seed that is being permuted.
    seed: Seed,
    /// The seeds that are still to be permuted.
    waiting: VecDeque<Seed>,
    /// The first seed, for permutations by the printed definitions.
    recorded: Option<Seed>,
    /// The recorded runs, and the prefixes that were run to an end.
    seeds: Known,
    follow: FollowedSeed,
    nodes: Vec<PrefixNode>,
    /// The sleeping processes of all prefixes on the path, one prefix after the other.
    sleepers: Vec<ProcessId>,
    /// The processes to try of all prefixes on the path, one prefix after the other.
    tries: Vec<ProcessToTry>,
    /// For each step of the run, whether its code location determined its claims.
    fixed: Vec<bool>,
    /// For each process, the number of its labels in the current prefix.
    made: Vec<u32>,
    /// Whether the driver must not count the current run.
    known: bool,
    /// Number of runs that are not counted although no sleep set has cut them.
    not_runs: u64,
    counts: Permutations,
    /// Whether some process, in some prefix, claims something else than was recorded in the seed.
    varies: bool,
    /// Whether the seed is explored for the second time, only to find other seeds.
    again: bool,
    scratch: Vec<bool>,
    claims: Claims,
    /// The branches to explore, if not everything is explored.
    branches: Option<Branches>,
    /// The number of steps that are still made before the remaining branches are given away.
    steps_left: u64,
    /// The branches that were given away, in the order in which one worker explores them.
    given: Vec<Branches>,
}

impl Fagiani {
    fn new(schedule: Schedule, complete: bool) -> Self {
        Self {
            schedule,
            complete,
            seed: Seed::empty(),
            waiting: VecDeque::new(),
            recorded: None,
            seeds: Known::default(),
            follow: FollowedSeed::default(),
            nodes: Vec::new(),
            sleepers: Vec::new(),
            tries: Vec::new(),
            fixed: Vec::new(),
            made: Vec::new(),
            known: false,
            not_runs: 0,
            counts: Permutations::default(),
            varies: false,
            again: false,
            scratch: Vec::new(),
            claims: Claims::new(),
            branches: None,
            steps_left: u64::MAX,
            given: Vec::new(),
        }
    }

    /// Explores the program of a session.
    fn explore<E: Labelled>(&mut self, session: &mut Session<'_, '_, E>) -> Findings {
        let mut findings = session.explore(self);
        let blocked = &mut findings.counts.blocked;
        *blocked = blocked.saturating_sub(self.not_runs);
        findings
    }

    fn push(&mut self, kind: Kind, labels: Fingerprint) {
        self.nodes.push(PrefixNode {
            kind,
            sleepers: self.sleepers.len(),
            tries: self.tries.len(),
            tried: 0,
            due: 0,
            again: None,
            labels,
        });
    }

    fn skip_run(&mut self) {
        self.known = true;
        self.not_runs += 1;
    }

    /// Keeps the current run as a seed, unless its labels are known.
    fn record<E: Labelled>(&mut self, program: &E) {
        let seed = Seed::from_run(program, &self.fixed);
        if self.seeds.add(&seed) {
            if self.recorded.is_none() {
                self.recorded = Some(seed.clone());
            }
            self.waiting.push_back(seed);
            self.counts.seeds += 1;
        }
    }

    /// Returns the process that makes the next step of a run that is being recorded.
    fn recording<E: Labelled>(
        &mut self,
        program: &E,
        outcomes: &mut Vec<i64>,
    ) -> Option<ProcessId> {
        let process = match self.recorded {
            None => self.scheduled(program, outcomes),
            Some(_) => self.following(program),
        };
        process.or_else(|| first_ready(program))
    }

    /// Returns the process that the schedule prescribes. It prescribes the first run only.
    fn scheduled<E: Labelled>(&self, program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        let step = self.schedule.0.get(program.events().len())?;
        let process = program.processes().find(&step.process)?;
        if program.status(process) != Status::Ready {
            return None;
        }
        outcomes.extend_from_slice(&step.outcomes);
        Some(process)
    }

    /// Returns the next process for a run other than the first. Such a run starts where a
    /// permutation deviates. If possible, each process repeats its steps in the seed. Then prefixes
    /// that later deviate in the same way are likely to belong to the new seed.
    fn following<E: Labelled>(&mut self, program: &E) -> Option<ProcessId> {
        let follow = &mut self.follow;
        while let Some(&process) = self.seed.order.get(follow.at) {
            follow.at += 1;
            let q = process.index();
            follow.passed[q] += 1;
            if follow.passed[q] <= self.made[q] || follow.off[q] {
                continue;
            }
            if program.status(process) == Status::Ready {
                return Some(process);
            }
            follow.off[q] = true;
        }
        None
    }

    /// Handles a step made from a prefix that permutes.
    fn extend<E: Labelled>(&mut self, program: &E) {
        let at = program.events().len() - 1;
        let event = &program.events()[at];
        let process = event.process;
        let print = print(program, at);
        let chain = self.seed.chain(program, process, event.number);
        let chain = chain.then_all(print);
        let node = &self.nodes[at];
        let labels = node.labels.and(chain);
        let (sleeping, tried) = (node.sleepers, node.tries..node.tries + node.tried - 1);
        let active = self.tries[tried.end];
        let expected = self.seed.next(process, event.number);
        let agrees = expected.is_some_and(|label| label.print == print);
        if agrees && !active.asleep {
            self.tries[tried.end].matched = true;
            self.made[process.index()] += 1;
            let first = self.sleepers.len();
            self.sleep_on(sleeping..first, tried, process, &event.claims);
            self.push(Kind::Permutes, labels);
            if let Some(node) = self.nodes.last_mut() {
                node.sleepers = first;
            }
            self.open(program);
        } else if !agrees
            && self.complete
            && self.seeds.is_new(&Deviation {
                seed: &self.seed,
                made: &self.made,
                process,
                chain,
                labels,
            })
        {
            self.push(Kind::Records, labels);
            self.follow.start(self.made.len());
        } else {
            self.push(Kind::Dead, labels);
            self.skip_run();
        }
    }

    /// Adds the processes that sleep after a step: those that slept before, and those whose label
    /// has been tried, unless the label conflicts with the step.
    fn sleep_on(
        &mut self,
        sleepers: Range<usize>,
        tries: Range<usize>,
        mover: ProcessId,
        claims: &[Access],
    ) {
        let (seed, made) = (&self.seed, &self.made);
        let goes_on = |z: ProcessId| {
            let label = seed.next(z, made[z.index()]);
            z != mover && label.is_some_and(|label| !conflict(&label.claims, claims))
        };
        for at in sleepers {
            if goes_on(self.sleepers[at]) {
                self.sleepers.push(self.sleepers[at]);
            }
        }
        let matched = self.tries[tries].iter().filter(|tried| tried.matched);
        let matched = matched.map(|tried| tried.process);
        self.sleepers.extend(matched.filter(|&z| goes_on(z)));
    }

    /// Whether the process to try with this index is idle: if the last prefix is extended by the
    /// recorded label of the process, the search leaves the result because of a sleeping process.
    /// Nothing is lost: if the process can take another path than the recorded one there, it can
    /// also take it after the step of the sleeping process.
    fn is_idle(&mut self, at: usize) -> bool {
        let (Some(node), to_try) = (self.nodes.last(), self.tries[at]) else {
            return false;
        };
        let q = to_try.process.index();
        if !self.complete || self.again || !to_try.recorded {
            return false;
        }
        let Some(label) = self.seed.next(to_try.process, self.made[q]) else {
            return false;
        };
        if !label.outcomes.is_empty() {
            return false;
        }
        let mut claims = std::mem::take(&mut self.claims);
        claims.clone_from(&label.claims);
        let first = self.sleepers.len();
        self.sleep_on(
            node.sleepers..first,
            node.tries..at,
            to_try.process,
            &claims,
        );
        self.claims = claims;
        self.made[q] += 1;
        let idle = self.sleeps_for_ever(first);
        self.made[q] -= 1;
        self.sleepers.truncate(first);
        idle
    }

    /// Determines the processes that may extend the last prefix, and classifies a prefix that ends.
    fn open<E: Labelled>(&mut self, program: &E) {
        let Some(node) = self.nodes.last() else {
            return;
        };
        let (first, labels) = (node.sleepers, node.labels);
        if self.sleeps_for_ever(first) {
            return;
        }
        let depth = program.events().len();
        let mut any_ready = false;
        for &process in program.processes().in_order() {
            let status = program.status(process);
            if status == Status::Unborn {
                continue;
            }
            let ready = status == Status::Ready;
            any_ready |= ready;
            let made = self.made.get(process.index()).copied().unwrap_or(0);
            if self.complete && !self.varies && !program.claims_fixed(process) {
                program.claims(process, &mut self.claims);
                let recorded = self.seed.next_claims(process, made);
                self.varies = recorded.is_some_and(|recorded| *recorded != self.claims);
            }
            let label = self.seed.next(process, made);
            let asleep = self.sleepers[first..].contains(&process);
            let to_try = match label {
                None => ready && self.complete,
                Some(label) => {
                    if !self.again {
                        self.counts.candidates += 1;
                        self.counts.duplicates += u64::from(asleep);
                        self.counts.infeasible += u64::from(!ready);
                    }
                    ready && (!asleep || (self.complete && !label.outcomes.is_empty()))
                }
            };
            if to_try {
                self.tries.push(ProcessToTry {
                    process,
                    recorded: label.is_some(),
                    asleep,
                    matched: false,
                });
            }
        }
        match (depth == self.seed.length, any_ready) {
            // The prefix was met during the first exploration.
            _ if self.again && !any_ready => self.skip_run(),
            _ if self.again => {}
            (true, true) => self.counts.open += 1,
            (true, false) => self.counts.executable += 1,
            (false, true) => {}
            (false, false) => {
                self.counts.stuck += 1;
                // The prefix may agree with several seeds, so it becomes a seed itself and is
                // counted as a seed.
                if self.complete {
                    if !self.seeds.has(labels) {
                        self.record(program);
                    }
                    self.skip_run();
                }
            }
        }
    }

    /// Whether some process that sleeps in the last prefix can never be woken, so that no
    /// permutation in normal form starts with the prefix.
    fn sleeps_for_ever(&mut self, first: usize) -> bool {
        let sleepers = &self.sleepers[first..];
        if sleepers.is_empty() {
            return false;
        }
        let (seed, made, complete) = (&self.seed, &self.made, self.complete);
        let unsure = self.again;
        let chooses = |process: ProcessId| {
            let label = seed.next(process, made[process.index()]);
            complete && label.is_some_and(|label| !label.outcomes.is_empty())
        };
        let moves = &mut self.scratch;
        moves.clear();
        moves.extend((0..seed.width()).map(|q| seed.goes_on(q, made[q])));
        for &sleeper in sleepers {
            moves[sleeper.index()] = chooses(sleeper);
        }
        loop {
            let stirs =
                |&&z: &&ProcessId| !moves[z.index()] && seed.may_wake(z, made, moves, unsure);
            match sleepers.iter().find(stirs) {
                Some(woken) => moves[woken.index()] = true,
                None => return sleepers.iter().any(|z| !moves[z.index()]),
            }
        }
    }

    /// Starts at the empty prefix: with the next seed or, if claims varied, with the same seed for
    /// the second time. Returns false if no seed is left.
    fn next_seed<E: Labelled>(&mut self, program: &E) -> bool {
        self.again = self.varies && !self.again;
        self.varies = self.again;
        if !self.again {
            let Some(seed) = self.waiting.pop_front() else {
                return false;
            };
            self.seed = seed;
        }
        self.made.clear();
        let width = self.seed.width().max(program.processes().len());
        self.made.resize(width, 0);
        self.nodes.clear();
        self.sleepers.clear();
        self.tries.clear();
        self.push(Kind::Permutes, Fingerprint::EMPTY);
        self.open(program);
        true
    }

    /// Returns the process to try next from the last prefix.
    fn trying(&mut self, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        let node = self.nodes.last_mut()?;
        if let Some(again) = node.again.take() {
            outcomes.extend(again);
            return Some(self.tries[node.tries + node.tried - 1].process);
        }
        if node.tried >= node.due {
            // Whether a process is idle depends on whether the processes before it sleep, which is
            // known only when these have been tried.
            let first = node.tries;
            let mut rest = first + node.tried..self.tries.len();
            let due = rest.find(|&at| !self.is_idle(at))? + 1 - first;
            self.nodes.last_mut()?.due = due;
        }
        let node = self.nodes.last_mut()?;
        let next = self.tries[node.tries + node.tried];
        node.tried += 1;
        Some(next.process)
    }

    /// Returns the outcomes to try next after an event of a process: the next possible outcomes or,
    /// if only the recorded path is permuted, the recorded ones.
    fn other_outcomes(&self, event: &Event) -> Option<SmallVec<[i64; 1]>> {
        if self.complete {
            return next_outcomes(event);
        }
        self.seed.recorded_outcomes(event)
    }
}

fn first_ready<E: Labelled>(program: &E) -> Option<ProcessId> {
    let mut all = program.processes().in_order().iter().copied();
    all.find(|&process| program.status(process) == Status::Ready)
}

impl<E: Labelled> Policy<E> for Fagiani {
    const UNIQUE: bool = true;

    fn enter(&mut self, program: &E) {
        self.known = false;
        self.steps_left = self.steps_left.saturating_sub(1);
        if self.is_on_the_way(program) {
            return;
        }
        let parent = self.nodes.last().map(|node| node.kind);
        match parent {
            None => self.push(Kind::Records, Fingerprint::EMPTY),
            Some(Kind::Permutes) => self.extend(program),
            Some(_) => self.push(Kind::Records, Fingerprint::EMPTY),
        }
        let records = self.nodes.last().is_some_and(|n| n.kind == Kind::Records);
        if records && parent.is_some() && first_ready(program).is_none() {
            self.skip_run();
        }
    }

    fn next(&mut self, program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        loop {
            let node = self.nodes.last_mut()?;
            let process = match node.kind {
                Kind::Dead => None,
                Kind::Way => self.way_on(program, outcomes),
                Kind::Permutes => self.trying(outcomes),
                Kind::Records if node.tried == 0 => {
                    node.tried = 1;
                    let process = self.recording(program, outcomes);
                    if process.is_none() && self.nodes.len() == 1 {
                        self.record(program);
                    }
                    process
                }
                Kind::Records => None,
            };
            if let Some(process) = process {
                self.fixed.truncate(program.events().len());
                self.fixed.push(program.claims_fixed(process));
                return Some(process);
            }
            if self.nodes.len() > 1 || self.known || !self.next_seed(program) {
                return None;
            }
        }
    }

    fn known(&self) -> bool {
        self.known
    }

    fn leaf(&mut self, program: &E, end: End) {
        let records = self.nodes.last().is_some_and(|n| n.kind == Kind::Records);
        if records && end != End::Cut {
            self.record(program);
        }
    }

    fn leave(&mut self, program: &E) {
        self.known = false;
        let Some(node) = self.nodes.pop() else {
            return;
        };
        self.sleepers.truncate(node.sleepers);
        self.tries.truncate(node.tries);
        let parent = self.nodes.last_mut().filter(|p| p.kind == Kind::Permutes);
        let (Some(parent), Some(event)) = (parent, program.events().last()) else {
            return;
        };
        if node.kind == Kind::Permutes {
            self.made[event.process.index()] -= 1;
        }
        let active = self.tries[parent.tries + parent.tried - 1];
        let again = if active.matched && !self.complete {
            None
        } else {
            self.other_outcomes(event)
        };
        let failed = again.is_none() && active.recorded && !active.matched && !active.asleep;
        if failed && !self.again {
            self.counts.infeasible += 1;
        }
        if let Some(parent) = self.nodes.last_mut() {
            parent.again = again;
        }
        if self.steps_left == 0 {
            self.give_away(program);
        }
    }
}
