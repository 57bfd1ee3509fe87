//! Finds the two racing steps of a violation: if they came in the other order, the violation would
//! not occur.
//!
//! In a deadlock of locks, these are the steps that acquired the locks for which the waiting
//! processes wait. Otherwise the conflicting pairs of steps are tried, the last one first: the run
//! is made again with the two steps in the other order, and the pair is taken if the violation is
//! gone.

use std::collections::HashMap;

use mazurka_core::record::Ending;
use mazurka_core::{
    AccessKind, Event, Execution, HappensBefore, Status, dependent, ending, with_status,
};

use crate::witness::rehearse::{Move, NO_FAILURE, Rehearsal, Violation};

/// Number of steps to spend on trying other orders.
const EFFORT: u64 = 60_000;
/// Number of consecutive steps among which the search looks for a race.
const REACH: usize = 500;

/// Returns the racing steps of the current run, which shows the violation. The result is empty if
/// no pair of steps has an order that matters. The program keeps its state.
pub fn racing<E: Execution>(program: &mut E, violation: &Violation) -> Vec<usize> {
    let crossing = match violation {
        Violation::Deadlock(_) => crossing(program),
        _ => Vec::new(),
    };
    if crossing.is_empty() {
        reversible(program, violation)
    } else {
        crossing
    }
}

/// Returns the acquisitions of locks that other processes wait for while holding locks themselves.
fn crossing<E: Execution>(program: &E) -> Vec<usize> {
    let run = program.events();
    let waiting = with_status(program, Status::Waiting);
    let mut marked = Vec::new();
    let mut claims = Vec::new();
    for &process in &waiting {
        program.claims(process, &mut claims);
        for wanted in &claims {
            if wanted.kind != AccessKind::Acquire || wanted.len != 1 {
                continue;
            }
            let touches = |event: &Event| {
                let mut touched = event.touched.iter().rev();
                let last = touched.find(|a| a.writes() && a.cells() == wanted.cells());
                last.map(|a| a.kind)
            };
            let last = run.iter().enumerate().rev();
            let mut last = last.filter_map(|(at, event)| Some((at, touches(event)?)));
            let Some((at, AccessKind::Acquire)) = last.next() else {
                continue;
            };
            let holder = run[at].process;
            if holder != process && waiting.contains(&holder) {
                marked.push(at);
            }
        }
    }
    marked.sort_unstable();
    marked.dedup();
    match marked.len() {
        0 | 1 => Vec::new(),
        _ => marked,
    }
}

/// Returns the last two conflicting steps that could have come in the other order and without the
/// violation.
fn reversible<E: Execution>(program: &mut E, violation: &Violation) -> Vec<usize> {
    let mut stage = Rehearsal::new(program, u64::MAX);
    let whole = stage.moves();
    // Repeats the run up to the failing step, if the violation is a failure.
    stage.try_moves(&whole, violation);
    let run: Vec<Event> = stage.program.events().to_vec();
    let moves = stage.moves();
    let order = HappensBefore::new(&run);
    stage.set_budget(EFFORT);
    let mut found = Vec::new();
    'search: for later in (1..run.len()).rev() {
        // Only the past of a failing step matters; for a final state or a deadlock every step
        // matters.
        let last = run.len() - 1;
        let failing = matches!(violation, Violation::Failure(site)
            if run[last].mishaps.iter().any(|m| m.site == *site));
        if failing && later != last && !order.before(later, last) {
            continue;
        }
        for earlier in (later.saturating_sub(REACH)..later).rev() {
            if !race(&run, &order, earlier, later) {
                continue;
            }
            if stage.is_exhausted() {
                break 'search;
            }
            if saves(&mut stage, &moves, &order, (earlier, later), violation) {
                found = vec![earlier, later];
                break 'search;
            }
        }
    }
    stage.set_budget(u64::MAX);
    stage.try_moves(&whole, &NO_FAILURE);
    found
}

/// Whether two steps of different processes conflict and no step comes between them in
/// happens-before.
fn race(run: &[Event], order: &HappensBefore, earlier: usize, later: usize) -> bool {
    let (one, other) = (&run[earlier], &run[later]);
    if one.process == other.process {
        return false;
    }
    let mut locks = false;
    let mut data = false;
    for a in &one.claims {
        for b in other.claims.iter().filter(|b| a.conflicts(**b)) {
            match (a.kind, b.kind) {
                (AccessKind::Acquire, AccessKind::Acquire) => locks = true,
                // A lock cannot be released before it is acquired, nor acquired before it is
                // released.
                (AccessKind::Acquire | AccessKind::Release, _) => {}
                _ => data = true,
            }
        }
    }
    let between = |k: &usize| order.before(earlier, *k) && order.before(*k, later);
    let mut inner = (earlier + 1..later).filter(between);
    match (locks, data) {
        // Two acquisitions race if only steps of the process that acquired the lock first, such as
        // its release, come between them in happens-before.
        (true, _) => inner.all(|k| run[k].process == one.process),
        (false, true) => inner.next().is_none(),
        (false, false) => false,
    }
}

/// Whether the violation disappears if the later step comes before the earlier one and the other
/// steps keep their order as far as possible.
fn saves<E: Execution>(
    stage: &mut Rehearsal<'_, E>,
    moves: &[Move],
    order: &HappensBefore,
    (earlier, later): (usize, usize),
    violation: &Violation,
) -> bool {
    let free = |&at: &usize| !order.before(earlier, at);
    let (between, held): (Vec<usize>, Vec<usize>) = (earlier + 1..later).partition(free);
    let first = (0..earlier).chain(between).chain([later]);
    let begin: Vec<Move> = first.map(|at| moves[at].clone()).collect();
    let rest = [earlier]
        .into_iter()
        .chain(held)
        .chain(later + 1..moves.len());
    stage.try_moves(&begin, violation);
    if stage.program.events().len() < begin.len() {
        // Either the later step is not possible there, so the two do not race, or the failure has
        // already happened.
        return false;
    }
    let all: Vec<Move> = [begin, rest.map(|at| moves[at].clone()).collect()].concat();
    stage.try_moves(&all, violation);
    stage.complete(violation);
    let still = match violation {
        // Other processes may wait instead, but the state is still a deadlock.
        Violation::Deadlock(_) => ending(stage.program) == Ending::Deadlock,
        _ => stage.shows(violation),
    };
    !stage.is_exhausted() && !still
}

/// Returns the positions, in both runs, of the first two dependent steps whose order differs
/// between the runs.
pub fn first_difference(one: &[Event], other: &[Event]) -> Option<[[usize; 2]; 2]> {
    let key = |event: &Event| (event.process, event.number);
    let known: HashMap<_, usize> = other
        .iter()
        .enumerate()
        .map(|(at, e)| (key(e), at))
        .collect();
    let places: Vec<Option<usize>> = one.iter().map(|e| known.get(&key(e)).copied()).collect();
    // The greatest position in the other run so far: a step with a smaller position has overtaken
    // that step.
    let mut last = places.first().copied().flatten();
    for later in 1..one.len() {
        let overtakes = places[later] < last;
        last = last.max(places[later]);
        if !overtakes {
            continue;
        }
        for earlier in (0..later).rev() {
            let (Some(a), Some(b)) = (places[earlier], places[later]) else {
                continue;
            };
            if b < a
                && one[earlier].process != one[later].process
                && dependent(&one[earlier], &one[later])
            {
                return Some([[earlier, later], [b, a]]);
            }
        }
    }
    None
}
