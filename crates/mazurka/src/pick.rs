//! `check` picks the engine: the first that can decide.
//!
//! Some programs have few traces and many states, others few states and more traces than anyone can
//! count, and nobody knows beforehand. So the engines take turns, each with a budget of steps, and
//! with four times as many in the next round: the answer comes after at most a few times the work of
//! the better engine. Nothing runs at the same time and only steps are counted, so the
//! engine that decides, the answer and the witness are always the same.
//!
//! Where the program may loop, merging states comes first: the others cannot decide if a run has no end.
//! The engines agree on every verdict, because they explore the same executions; only one of them can
//! see a livelock, but the other then reaches a bound.

use std::time::{Duration, Instant};

use mazurka_core::{Bound, Limits, Semantics, StopReason};
use mazurka_explore::{Findings, Goal, search_states};
use mazurka_lang::Machine;

use crate::{Algorithm, Watch};

/// Steps of the first attempts: a few milliseconds.
const FIRST_BUDGET: u64 = 100_000;

/// What was found, and by which engine.
pub(crate) fn decide(
    machine: &mut Machine,
    limits: &Limits,
    goal: Goal,
    watch: &mut Watch<'_>,
) -> (Algorithm, Findings) {
    let start = Instant::now();
    let mut engines = vec![Algorithm::Optimal, Algorithm::Stateful];
    if machine.may_repeat() {
        engines.reverse();
    }
    let mut budget = FIRST_BUDGET;
    loop {
        for algorithm in engines.clone() {
            let steps = limits.steps.map_or(budget, |most| most.min(budget));
            let attempt = Limits {
                steps: Some(steps),
                time: limits.time.map(|most| most.saturating_sub(start.elapsed())),
                ..limits.clone()
            };
            let mut found = search_states(machine, algorithm, &attempt, goal, watch, &mut ());
            found.elapsed = start.elapsed();
            restore_time(&mut found.bounds, limits.time);
            let decided = found.stopped != StopReason::Bound;
            if decided || found.bounds.iter().any(ends_all) {
                return (algorithm, found);
            }
            let more = limits.steps.is_none_or(|most| steps < most);
            if more && found.bounds.contains(&Bound::MaxSteps(steps)) {
                continue;
            }
            // A limit of the user or of the evaluator: this engine cannot do better.
            engines.retain(|&other| other != algorithm);
            if engines.is_empty() {
                return (algorithm, found);
            }
        }
        budget = budget.saturating_mul(4);
    }
}

/// Whether a bound is one of the whole process and not of one attempt.
fn ends_all(bound: &Bound) -> bool {
    match bound {
        Bound::TimeLimit(_) | Bound::MemoryLimit(_) | Bound::Interrupted => true,
        Bound::MaxDepth(_)
        | Bound::MaxSteps(_)
        | Bound::MaxExecutions(_)
        | Bound::MaxLocal(_)
        | Bound::IntRange => false,
    }
}

/// The time that an attempt had left stands for the whole time.
fn restore_time(bounds: &mut [Bound], time: Option<Duration>) {
    for bound in bounds {
        if let (Bound::TimeLimit(left), Some(most)) = (bound, time) {
            *left = most.as_millis() as u64;
        }
    }
}
