//! Readable witnesses: short, with few switches between processes.
//!
//! The first run that a search finds is seldom the most readable. Three transformations improve it,
//! each checked on the program. The first takes another order of the same trace, in which every
//! process runs as long as possible. The second takes fewer steps, with the same violation at the
//! end. The third takes other traces, in which a process is not interrupted. To show two runs that
//! end differently, [`closest`] makes the second follow the first as long as possible.
//!
//! The work is bounded by a number of steps, not by time, so the result is deterministic.

use mazurka_core::{Execution, Schedule, Status, immediate_predecessors, with_status};

use crate::witness::rehearse::{Move, NO_FAILURE, Rehearsal, Violation, switches};

/// Number of steps to spend on each of the three transformations, which takes some hundredths of a
/// second.
const EFFORT: u64 = 60_000;

/// Returns a run that shows the same violation, is not longer, and has no more switches between
/// processes. The program must have met the processes of the schedule.
pub fn minimise<E: Execution>(
    program: &mut E,
    schedule: &Schedule,
    violation: &Violation,
) -> Schedule {
    let mut stage = Rehearsal::new(program, u64::MAX);
    let Some(moves) = stage.read(schedule) else {
        return schedule.clone();
    };
    // A run may be longer than the budget. Then the run is returned unchanged.
    let Some(mut best) = stage.attempt(&moves, violation) else {
        return schedule.clone();
    };
    for way in [tidy, shorten, join_blocks, tidy] {
        stage.set_budget(EFFORT + 2 * best.len() as u64);
        way(&mut stage, &mut best, violation);
    }
    stage.set_budget(u64::MAX);
    stage.try_moves(&best, violation);
    stage.schedule()
}

/// Replaces the best run by the candidate if the candidate shows the violation, has no more steps
/// and no more switches between processes, and fewer of one of them.
fn improve<E: Execution>(
    stage: &mut Rehearsal<'_, E>,
    best: &mut Vec<Move>,
    candidate: &[Move],
    violation: &Violation,
) -> bool {
    let Some(done) = stage.attempt(candidate, violation) else {
        return false;
    };
    let (old, new) = ((best.len(), switches(best)), (done.len(), switches(&done)));
    let better = new.0 <= old.0 && new.1 <= old.1 && new != old;
    if better {
        *best = done;
    }
    better
}

/// Tries other orders of the same trace.
fn tidy<E: Execution>(stage: &mut Rehearsal<'_, E>, best: &mut Vec<Move>, violation: &Violation) {
    stage.try_moves(best, violation);
    for prefer in [Prefer::Names, Prefer::LongStretches] {
        let order = linearise(stage.program, 0, prefer);
        let candidate: Vec<Move> = order.iter().map(|&at| best[at].clone()).collect();
        improve(stage, best, &candidate, violation);
        stage.try_moves(best, violation);
    }
}

/// Tries fewer steps: first without the last steps of a process, then without consecutive steps.
fn shorten<E: Execution>(
    stage: &mut Rehearsal<'_, E>,
    best: &mut Vec<Move>,
    violation: &Violation,
) {
    for &process in stage.program.processes().in_order().to_vec().iter().rev() {
        let mut tail = best.iter().filter(|m| m.process == process).count();
        while tail > 0 && !stage.is_exhausted() {
            let own = best.iter().filter(|m| m.process == process).count();
            let mut seen = 0;
            let keep = |m: &&Move| {
                seen += usize::from(m.process == process);
                m.process != process || seen + tail <= own
            };
            let candidate: Vec<Move> = best.iter().filter(keep).cloned().collect();
            if !improve(stage, best, &candidate, violation) {
                tail /= 2;
            }
        }
    }
    let mut window = best.len() / 2;
    while window > 0 && !stage.is_exhausted() {
        let mut end = best.len();
        while end >= window && !stage.is_exhausted() {
            let candidate = [&best[..end - window], &best[end..]].concat();
            let taken = improve(stage, best, &candidate, violation);
            end = if taken {
                end.min(best.len())
            } else {
                end - window
            };
        }
        window /= 2;
    }
}

/// Tries other traces: joins the steps of a process before and after an interruption.
fn join_blocks<E: Execution>(
    stage: &mut Rehearsal<'_, E>,
    best: &mut Vec<Move>,
    violation: &Violation,
) {
    'again: loop {
        let blocks: Vec<Vec<Move>> = best
            .chunk_by(|a, b| a.process == b.process)
            .map(<[Move]>::to_vec)
            .collect();
        for later in (1..blocks.len()).rev() {
            let process = blocks[later][0].process;
            let Some(earlier) = blocks[..later]
                .iter()
                .rposition(|b| b[0].process == process)
            else {
                continue;
            };
            let between = blocks[earlier + 1..later].concat();
            let (before, after) = (blocks[..earlier].concat(), blocks[later + 1..].concat());
            let (one, other) = (&blocks[earlier], &blocks[later]);
            for middle in [
                [one, other, &between].map(Vec::as_slice).concat(),
                [&between, one, other].map(Vec::as_slice).concat(),
            ] {
                if stage.is_exhausted() {
                    return;
                }
                let candidate = [before.as_slice(), &middle, &after].concat();
                if improve(stage, best, &candidate, violation) {
                    continue 'again;
                }
            }
        }
        return;
    }
}

/// The process that is chosen at a switch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefer {
    /// The first in the order of names.
    Names,
    /// The process that can make the most steps in a row.
    LongStretches,
}

/// Returns the events of the current run in an equivalent order, as positions: the first `fixed`
/// stay, then every process runs as long as happens-before allows.
fn linearise<E: Execution>(program: &E, fixed: usize, prefer: Prefer) -> Vec<usize> {
    let run = program.events();
    let before = immediate_predecessors(run);
    let mut done = vec![false; run.len()];
    let mut order: Vec<usize> = (0..fixed).collect();
    done[..fixed].fill(true);
    // For each process, its remaining events, the next one last.
    let processes = program.processes().in_order();
    let mut own: Vec<Vec<usize>> = vec![Vec::new(); program.processes().len()];
    for at in (fixed..run.len()).rev() {
        own[run[at].process.index()].push(at);
    }
    let possible = |done: &[bool], at: usize| before[at].iter().all(|&p| done[p as usize]);
    let mut current = fixed.checked_sub(1).map(|at| run[at].process);
    while order.len() < run.len() {
        let stays = current.filter(|p| {
            let next = own[p.index()].last();
            next.is_some_and(|&at| possible(&done, at))
        });
        let Some(process) = stays else {
            let able = processes.iter().copied().filter(|p| {
                let next = own[p.index()].last();
                next.is_some_and(|&at| possible(&done, at))
            });
            current = match prefer {
                Prefer::Names => able.into_iter().next(),
                Prefer::LongStretches => {
                    // A step of the process is free when all steps of other processes that happen
                    // before it are done; the own steps of the process follow each other.
                    let uninterrupted_steps = |p: usize| {
                        let free = |&&at: &&usize| {
                            let mut others = before[at].iter().map(|&other| other as usize);
                            others.all(|other| done[other] || run[other].process.index() == p)
                        };
                        own[p].iter().rev().take_while(free).count()
                    };
                    // Take the first of equal ones: `max_by_key` alone would take the last.
                    let all: Vec<_> = able.collect();
                    all.into_iter()
                        .rev()
                        .max_by_key(|p| uninterrupted_steps(p.index()))
                }
            };
            // Happens-before has no cycle, so a process can always continue.
            if current.is_none() {
                return (0..run.len()).collect();
            }
            continue;
        };
        if let Some(at) = own[process.index()].pop() {
            done[at] = true;
            order.push(at);
        }
    }
    order
}

/// Returns two runs that end differently and have the longest possible common beginning.
pub fn closest<E: Execution>(
    program: &mut E,
    one: &Schedule,
    other: &Schedule,
) -> (Schedule, Schedule) {
    let unchanged = || (one.clone(), other.clone());
    let mut stage = Rehearsal::new(program, u64::MAX);
    let (Some(one), Some(other)) = (stage.read(one), stage.read(other)) else {
        return unchanged();
    };
    let mut observe = |moves: &[Move]| {
        stage.try_moves(moves, &NO_FAILURE);
        Violation::Otherwise(stage.program.observation())
    };
    let (differs_from_one, differs_from_other) = (observe(&one), observe(&other));
    let most = switches(&one) + switches(&other);
    let (mut first, mut second) = (one, other);
    stage.set_budget(EFFORT + 4 * first.len() as u64);
    tidy(&mut stage, &mut first, &differs_from_other);
    stage.set_budget(EFFORT + 4 * second.len() as u64);
    tidy(&mut stage, &mut second, &differs_from_one);
    stage.set_budget(2 * EFFORT);
    if let Some(near) = nearest(&mut stage, &first, &differs_from_one, most) {
        second = near;
    }
    stage.set_budget(u64::MAX);
    stage.try_moves(&first, &differs_from_other);
    let first = stage.schedule();
    stage.try_moves(&second, &differs_from_one);
    (first, stage.schedule())
}

/// Returns a run that ends differently and deviates from the first as late as possible. Both runs
/// together have at most this many switches between processes.
fn nearest<E: Execution>(
    stage: &mut Rehearsal<'_, E>,
    first: &[Move],
    violation: &Violation,
    most: usize,
) -> Option<Vec<Move>> {
    for depth in (0..first.len()).rev() {
        stage.try_moves(&first[..depth], violation);
        let planned = &first[depth];
        let others = with_status(stage.program, Status::Ready).into_iter();
        let others = others.filter(|&p| p != planned.process);
        let mut instead: Vec<Move> = Vec::new();
        for process in others {
            let own = first[depth..].iter().find(|m| m.process == process);
            instead.push(own.cloned().unwrap_or(Move {
                process,
                outcomes: Vec::new(),
            }));
        }
        // Another value of a `choose` also gives another run. The least value and the next value
        // are tried.
        if let [value] = planned.outcomes[..] {
            for outcomes in [vec![], vec![value.saturating_add(1)]] {
                instead.push(Move {
                    process: planned.process,
                    outcomes,
                });
            }
        }
        for change in instead {
            let moved = first[depth..]
                .iter()
                .position(|m| m.process == change.process);
            let mut candidate = [&first[..depth], &[change]].concat();
            for (at, later) in first[depth..].iter().enumerate() {
                if Some(at) != moved {
                    candidate.push(later.clone());
                }
            }
            stage.try_moves(&candidate, violation);
            stage.complete(violation);
            if stage.is_exhausted() {
                return None;
            }
            if !stage.shows(violation) {
                continue;
            }
            let found = stage.moves();
            for prefer in [Prefer::Names, Prefer::LongStretches] {
                let order = linearise(stage.program, depth + 1, prefer);
                let tidied: Vec<Move> = order.iter().map(|&at| found[at].clone()).collect();
                if switches(&tidied) + switches(first) <= most
                    && stage.attempt(&tidied, violation).is_some()
                {
                    return Some(tidied);
                }
                stage.try_moves(&found, violation);
            }
        }
    }
    None
}
