//! Cuts the search space into parts that can be explored independently.
//!
//! A part is a prefix of schedules and the processes that sleep after it. The parts are the leaves
//! of the upper part of the plain sleep-set tree (see `sleep`), in which every process that is
//! ready and awake is run. Each trace is exactly one path of that tree to a complete run, so it
//! belongs to exactly one part. In a part, an engine explores the traces that start with its prefix
//! and then with no sleeping process. The engine must treat processes that sleep at the start like
//! those that it has put to sleep itself.
//!
//! The tree that the engine itself explores cannot be cut: when its first branch is handed out, a
//! state may still get branches from races that have not been met yet. The sleep-set tree is
//! complete from the start: every process is tried, and races with events of the prefix need not be
//! analysed. The price is that a sleeping process which no race of the part wakes may end a run
//! (blocked).
//!
//! Measured with `optimal`, blocked runs per 100 executions: writers(10) 0, readers(18) 0.04,
//! fib(6) 0.1, 7 philosophers 4, but lastzero(15) 159, where two workers are no faster than one.
//! The reason is that a sleeping process counts as cover only where it is a true initial; without
//! that rule traces are lost (the tests show it at once).
//!
//! For `naive` there are no sleep sets: the parts are those of the tree of all interleavings.
//!
//! The largest part is cut first, until there are enough. The size of a part is estimated as its
//! share of the part that it was cut from. Nothing depends on time or on the number of workers, so
//! the parts are always the same.
//!
//! Tested (testkit/tests/it/parallel.rs): the parts of random programs, and of the corpus, together
//! have the traces, deadlocks, failures and final states that brute force finds, and no trace is in
//! two of them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Instant;

use mazurka_core::{
    Claims, Execution, Limits, ProcessId, ProcessPath, Schedule, ScheduledStep, Status,
};
use smallvec::SmallVec;

use crate::algorithms::naive::next_outcomes;
use crate::drive::suffix::Suffix;
use crate::relations::catalogue::conflict;

/// Limit on the number of parts that are cut.
const CUTS: usize = 4096;
/// A part with more children than this is not cut: a `choose` may have a billion outcomes.
const MOST_CHILDREN: usize = 4096;

/// A part of the search space.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The steps that all its runs start with.
    pub prefix: Schedule,
    /// The processes that sleep after the prefix.
    pub asleep: Vec<ProcessPath>,
    /// Its estimated share of the whole space.
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

/// The parts, and the effort of finding them.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub parts: Vec<Part>,
    /// Number of edges of the tree above the parts.
    pub events: u64,
    pub steps: u64,
}

/// A part and its position among the others.
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

/// Cuts a part of the space of a program into at least `parts` parts, if there are that many. Parts
/// that cannot be cut further do not count. `sleep`: whether there are sleep sets.
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
        let children = if deep {
            Vec::new()
        } else {
            children(&mut rest, &piece.part, sleep, &mut result.steps).unwrap_or_default()
        };
        if children.is_empty() {
            uncut.push(piece);
            continue;
        }
        result.events += children.len() as u64;
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

/// Returns the parts of a part, one for each process that can run and each of its outcomes: an
/// empty list if its runs end there, `None` if there are too many.
fn children<E: Execution>(
    rest: &mut Suffix<'_, E>,
    part: &Part,
    sleep: bool,
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
    let (mut asleep, awake): (Vec<_>, Vec<_>) = ready.into_iter().partition(is_asleep);
    let mut children = Vec::new();
    for &process in &awake {
        let first = children.len();
        let mut outcomes = Some(SmallVec::new());
        while let Some(values) = outcomes {
            let (child, next) = child(rest, part, process, &values, &asleep);
            children.push(child);
            outcomes = next;
            *steps += 1;
            rest.back_to(0);
            if children.len() > MOST_CHILDREN {
                return None;
            }
        }
        let share = part.share / awake.len() as f64 / (children.len() - first) as f64;
        for child in &mut children[first..] {
            child.share = share;
        }
        if sleep {
            asleep.push(process);
        }
    }
    Some(children)
}

/// Returns the part after one more step, and the next outcomes of this step.
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
