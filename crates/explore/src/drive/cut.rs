//! Cuts the search space into parts that can be explored independently.
//!
//! A part consists of a prefix, which is the beginning of a schedule, and of the processes that
//! sleep after it. Its traces are those that start with the prefix, except those that can continue
//! with the step of a sleeping process. The engine must treat a process that sleeps at the start
//! like one that the engine itself has put to sleep.
//!
//! A part is cut in two by choosing a process that is ready and awake after the prefix. In the
//! traces of the first half, the step of this process can come first after the prefix. So the step
//! becomes a part of the prefix (with each of its outcomes) and wakes the sleeping processes that
//! it conflicts with, as in the plain sleep-set tree (see `sleep`). In the traces of the second
//! half, the step cannot come first, so the process sleeps. Each trace belongs to exactly one half.
//! If no other process is ready and awake, or if no future step of another process conflicts with
//! the step (`Promises::future`), the second half has no trace.
//!
//! The tree that the engine itself explores cannot be cut: when its first branch is handed out,
//! races that have not been met yet may still add branches to a state. The halves are complete from
//! the start, and races with events of the prefix need not be analysed. The price is that a run may
//! end blocked at a sleeping process that no race of the part wakes. A sleeping process covers a
//! sequence only if its step is in the sequence and can come first there (a true initial); without
//! this rule traces are lost, and the tests fail.
//!
//! *Which process.* Every choice is correct. If nothing ever conflicts with the step of the
//! process, the second half has no trace. An engine does not know that: it explores the half, and
//! all its runs end blocked. So one run is made, and only processes are considered whose step
//! conflicts with a step of another process in this run; if there is none, the part is not cut.
//! Among them, the process is chosen whose step conflicts with the fewest *next* steps, because the
//! engine would run it first, too. With c conflicts the first half is assumed to be 1/(1+c) of the
//! part, because one of c+1 steps comes first, but at most [`FIRST_HALF`]. If no next step
//! conflicts, the step that wakes the process in the second half is far away, and more runs are
//! blocked there. So from [`FEW_PARTS`] parts on, a part is cut only at conflicts.
//!
//! Tried and dropped (figures for `optimal`):
//! - One part for each process that is ready and awake, as in the sleep-set tree: many processes
//!   sleep in most parts. lastzero(15) in 256 parts made 1.6 times the steps of one worker.
//! - Two halves by the first process, or by the process with the *most* conflicts, or without the
//!   run that shows conflicts: lastzero(16) had 49 to 75 blocked runs for each 100.
//! - Tasks that share the states near the root of one search; sequences that reverse races are sent
//!   to these states and inserted after each round of tasks. Suppose that a branch counts as asleep
//!   as soon as a task explores it. Then traces are lost: a sleeping process covers sequences of
//!   later branches only because its own subtree is finished, and has inserted all sequences that
//!   it does not cover into the wakeup trees of these branches. Suppose instead that tasks start
//!   only at the ends of wakeup sequences, where nothing sleeps, and that the trees above stay
//!   open. Then the trees are too large to be shared: lastzero(15) had 12 301 tasks and 110 458
//!   shared states after its first 98 079 steps, and philosophers(7) took eight times the CPU time.
//!   Even so, traces were lost when two tasks of a round sent sequences for each other's branches.
//!
//! For `naive` there are no sleep sets: the parts are those of the tree of all interleavings, and
//! cutting a part gives one part for each process that is ready.
//!
//! The largest part is cut first, until there are enough parts. The size of a part is estimated as
//! its share of the part that it was cut from. The estimate depends neither on time nor on the
//! number of workers, so the parts are always the same.
//!
//! Tested (testkit/tests/it/parallel.rs): the parts of random programs, and of the corpus, together
//! have the traces, deadlocks, failures and final states that brute force finds, and no trace is in
//! two of them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Instant;

use mazurka_core::{
    Claims, Execution, Limits, ProcessId, ProcessPath, Promises, Schedule, ScheduledStep, Status,
};
use smallvec::SmallVec;

use crate::algorithms::naive::next_outcomes;
use crate::drive::driver::is_broken_off;
use crate::drive::suffix::Suffix;
use crate::relations::catalogue::conflict;

/// Limit on the number of parts that are cut.
const CUTS: usize = 4096;
/// From this number of parts on, a part is cut only where steps conflict.
const FEW_PARTS: usize = 32;
/// The greatest assumed share of the first half of a part.
const FIRST_HALF: f64 = 0.8;
/// Number of steps of the run that shows which steps conflict.
const REHEARSED: usize = 1000;
/// A part with more children than this is not cut: a `choose` may have a billion outcomes.
const MOST_CHILDREN: usize = 4096;

/// A part of the search space: the runs that start with a prefix and in which some processes sleep.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The steps that all its runs start with.
    pub prefix: Schedule,
    /// The processes that sleep after the prefix.
    pub asleep: Vec<ProcessPath>,
    /// The estimated share of the part in the whole space.
    pub share: f64,
}

impl Part {
    /// Returns the part that is the whole space.
    pub fn whole() -> Self {
        Self {
            prefix: Schedule::default(),
            asleep: Vec::new(),
            share: 1.0,
        }
    }
}

/// The parts, and the work of finding them.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub parts: Vec<Part>,
    /// Number of edges of the search tree above the parts.
    pub events: u64,
    pub steps: u64,
}

/// A part, and its position in the tree of parts: the index of the child at each cut.
struct Piece {
    part: Part,
    place: Vec<u32>,
}

impl PartialEq for Piece {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Piece {}

impl PartialOrd for Piece {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Piece {
    /// The largest piece comes first; among equal ones, the first.
    fn cmp(&self, other: &Self) -> Ordering {
        let shares = self.part.share.total_cmp(&other.part.share);
        shares.then_with(|| other.place.cmp(&self.place))
    }
}

/// Cuts a part of the space of a program into at least `parts` parts, if possible. Parts that
/// cannot be cut further do not count towards this number. `sleep` says whether there are sleep
/// sets.
pub(crate) fn cut<E: Execution>(
    program: &mut E,
    whole: Part,
    parts: usize,
    sleep: bool,
    limits: &Limits,
) -> Cut {
    let mut result = Cut {
        parts: Vec::new(),
        events: 0,
        steps: 0,
    };
    let mut rest = Suffix::new(program);
    let mut uncut = Vec::new();
    let mut pieces = BinaryHeap::new();
    pieces.push(Piece {
        part: whole,
        place: Vec::new(),
    });
    let start = Instant::now();
    for _ in 0..CUTS {
        // Steps may be slow, so the time is checked. Uncut parts are explored nevertheless.
        let late = limits.time.is_some_and(|most| start.elapsed() >= most);
        if pieces.len() >= parts || late {
            break;
        }
        let Some(piece) = pieces.pop() else { break };
        let deep = piece.part.prefix.0.len() as u64 >= limits.depth();
        let rules = Rules {
            sleep,
            freely: pieces.len() < FEW_PARTS,
        };
        let children = if deep {
            Vec::new()
        } else {
            children(&mut rest, &piece.part, rules, &mut result.steps).unwrap_or_default()
        };
        if children.is_empty() {
            uncut.push(piece);
            continue;
        }
        let longer = |child: &&Part| child.prefix.0.len() > piece.part.prefix.0.len();
        result.events += children.iter().filter(longer).count() as u64;
        for (k, part) in children.into_iter().enumerate() {
            let mut place = piece.place.clone();
            place.push(k as u32);
            pieces.push(Piece { part, place });
        }
    }
    uncut.extend(pieces);
    uncut.sort_by(|a, b| a.place.cmp(&b.place));
    result.parts = uncut.into_iter().map(|piece| piece.part).collect();
    result
}

/// The rules by which a part is cut.
#[derive(Clone, Copy)]
struct Rules {
    /// Whether there are sleep sets.
    sleep: bool,
    /// Whether a part is cut even if no steps conflict.
    freely: bool,
}

/// Returns the parts into which a part is cut. The list is empty if the runs end there or if the
/// part must not be cut. Returns `None` if there are too many parts.
fn children<E: Execution>(
    rest: &mut Suffix<'_, E>,
    part: &Part,
    rules: Rules,
    steps: &mut u64,
) -> Option<Vec<Part>> {
    let made = rest.start_after(&part.prefix, true);
    made.expect("a schedule that could be made can be made again");
    *steps += part.prefix.0.len() as u64;
    let processes = rest.processes().in_order().iter().copied();
    let ready: Vec<ProcessId> = processes
        .filter(|&process| rest.status(process) == Status::Ready)
        .collect();
    let is_asleep = |process: &ProcessId| part.asleep.contains(rest.processes().path(*process));
    let (asleep, awake): (Vec<_>, Vec<_>) = ready.into_iter().partition(is_asleep);
    let mut children = Vec::new();
    if !rules.sleep {
        for &process in &awake {
            let share = part.share / awake.len() as f64;
            run(rest, (part, &asleep), (process, share), &mut children)?;
        }
        *steps += children.len() as u64;
        return Some(children);
    }
    let free = awake
        .iter()
        .copied()
        .find(|&process| awake.len() == 1 || nothing_conflicts(rest, process));
    if let Some(process) = free {
        run(rest, (part, &asleep), (process, part.share), &mut children)?;
        *steps += children.len() as u64;
        return Some(children);
    }
    let Some((process, conflicts)) = least(rest, &awake, steps) else {
        return Some(children);
    };
    if conflicts == 0 && !rules.freely {
        return Some(children);
    }
    let first = part.share * (1.0 / (1 + conflicts) as f64).min(FIRST_HALF);
    run(rest, (part, &asleep), (process, first), &mut children)?;
    *steps += children.len() as u64;
    let mut second = part.clone();
    let path = rest.processes().path(process);
    second.asleep.push(path.clone());
    second.share = part.share - first;
    children.push(second);
    Some(children)
}

/// Whether no future step of another process conflicts with the next step of a process. Then the
/// step can always come first.
fn nothing_conflicts<E: Execution>(rest: &Suffix<'_, E>, process: ProcessId) -> bool {
    let mut claims = Claims::new();
    rest.claims(process, &mut claims);
    let mut future = Claims::new();
    let mut others = rest.processes().in_order().iter();
    others.all(|&other| {
        other == process || {
            rest.future(other, &mut future);
            !conflict(&claims, &future)
        }
    })
}

/// Returns the process to cut by, and the number of next steps that conflict with its step.
fn least<E: Execution>(
    rest: &mut Suffix<'_, E>,
    processes: &[ProcessId],
    steps: &mut u64,
) -> Option<(ProcessId, usize)> {
    let claims = |&process: &ProcessId| {
        let mut claims = Claims::new();
        rest.claims(process, &mut claims);
        claims
    };
    let all: Vec<Claims> = processes.iter().map(claims).collect();
    rehearse(rest, steps);
    let meets = |at: usize| {
        let others = rest.events().iter();
        let mut others = others.filter(|event| event.process != processes[at]);
        others.any(|event| conflict(&all[at], &event.claims))
    };
    let rivals = |at: usize| {
        let others = all.iter().enumerate().filter(|(other, _)| *other != at);
        others
            .filter(|(_, other)| conflict(&all[at], other))
            .count()
    };
    let met = (0..processes.len()).filter(|&at| meets(at));
    let least = met.map(|at| (processes[at], rivals(at)));
    let least = least.min_by_key(|(_, rivals)| *rivals);
    rest.back_to(0);
    least
}

/// Makes a run in which each step is made by the first ready process.
fn rehearse<E: Execution>(rest: &mut Suffix<'_, E>, steps: &mut u64) {
    for _ in 0..REHEARSED {
        let mut all = rest.processes().in_order().iter().copied();
        let ready = all.find(|&process| rest.status(process) == Status::Ready);
        let Some(process) = ready else { return };
        let event = rest.step(process, &[]);
        let event = event.expect("a process that is ready can make a step");
        *steps += 1;
        if is_broken_off(&event.mishaps) {
            return;
        }
    }
}

/// Adds the parts in which `process` makes the next step after the prefix of `part`, one for each
/// outcome. `share` is their share of the whole space. Returns `None` if there are too many
/// outcomes.
fn run<E: Execution>(
    rest: &mut Suffix<'_, E>,
    (part, asleep): (&Part, &[ProcessId]),
    (process, share): (ProcessId, f64),
    children: &mut Vec<Part>,
) -> Option<()> {
    let first = children.len();
    let mut outcomes = Some(SmallVec::new());
    while let Some(values) = outcomes {
        let (child, next) = child(rest, part, process, &values, asleep);
        children.push(child);
        outcomes = next;
        rest.back_to(0);
        if children.len() > MOST_CHILDREN {
            return None;
        }
    }
    let share = share / (children.len() - first) as f64;
    for child in &mut children[first..] {
        child.share = share;
    }
    Some(())
}

/// Returns the part whose prefix has one more step, and the outcomes with which to make this step
/// next, if any are left.
fn child<E: Execution>(
    rest: &mut Suffix<'_, E>,
    part: &Part,
    process: ProcessId,
    values: &[i64],
    asleep: &[ProcessId],
) -> (Part, Option<SmallVec<[i64; 1]>>) {
    let mut claims: Vec<(ProcessId, Claims)> = Vec::new();
    for &sleeper in asleep {
        let mut claimed = Claims::new();
        rest.claims(sleeper, &mut claimed);
        claims.push((sleeper, claimed));
    }
    let event = rest.step(process, values);
    let event = event.expect("a process that is ready can make a step");
    let next = next_outcomes(event);
    let made = event.outcomes.iter().map(|o| o.value).collect();
    claims.retain(|(_, claimed)| !conflict(claimed, &event.claims));
    let path = |process: ProcessId| rest.processes().path(process).clone();
    let mut prefix = part.prefix.clone();
    prefix.0.push(ScheduledStep {
        process: path(process),
        outcomes: made,
    });
    let part = Part {
        prefix,
        asleep: claims.iter().map(|&(sleeper, _)| path(sleeper)).collect(),
        share: 0.0,
    };
    (part, next)
}
