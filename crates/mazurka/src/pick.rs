//! The choice of the engine for `check`: the first engine that can decide.
//!
//! Some programs have few traces and many states; others have few states and a huge number of
//! traces; a third kind has many of both, and steps that mostly commute. The kind is not known in
//! advance. So the engines take turns, each with a budget of steps that is four times as large in
//! the next round. The whole search makes at most a few times as many steps as the best engine
//! alone. The engines run one after the other, and budgets count steps and not time. So the engine
//! that decides, the answer and the witness are always the same.
//!
//! From the round with [`BUDGET_IN_PARTS`] on, the space is cut into parts for several workers, and
//! each part has its own budget. A finished part is not explored again; an unfinished part gets a
//! larger budget in the next round. The result does not depend on the number of workers.
//!
//! If the program may loop, `stateful` comes first, because the other engines cannot decide
//! anything if a run is infinite. All engines give the same verdict, because they explore the same
//! executions. But only `stateful` can find a livelock; the other engines then reach a bound. And
//! only `stateful` decides temporal properties, so it is the only engine if these count. Up to a
//! given depth, `stateful` finds everything that the others can find. So if only the limit on depth
//! ends it, the others are not tried.

use mazurka_core::{Bound, Kind, Limits, Semantics, StopReason};
use mazurka_explore::{Budget, Findings, Goal, Parts, Search, Stateless, Workers};

use crate::{Algorithm, Options, Watch};

/// Number of steps of the first attempts: a few milliseconds.
pub(crate) const FIRST_BUDGET: u64 = 100_000;
/// The budget from which on the space is cut into parts.
pub(crate) const BUDGET_IN_PARTS: u64 = 16 * FIRST_BUDGET;
/// A part gets the budget divided by this number, because most parts need few steps.
pub(crate) const PART_OF_BUDGET: u64 = 64;

/// The question that the engines must decide.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    pub goal: Goal,
    /// Limit on the steps of all attempts together.
    pub most_steps: Option<u64>,
}

/// Decides the task. Returns the engine that decided, and its findings.
pub(crate) fn decide<M: Semantics>(
    machine: &mut M,
    machines: &(dyn Fn() -> M + Sync),
    options: &Options,
    task: Task,
    watch: &mut Watch<'_>,
) -> (Algorithm, Findings) {
    let Task { goal, most_steps } = task;
    let limits = &options.limits;
    let all = Budget::new(limits);
    let mut parts = None;
    let mut engines = vec![Algorithm::Optimal, Algorithm::Stateful, Algorithm::CONTEXT];
    if machine.may_repeat() {
        engines.swap(0, 1);
    }
    if goal.looks_for(Kind::Property) && !machine.temporal().is_empty() {
        engines = vec![Algorithm::Stateful];
    }
    let mut budget = FIRST_BUDGET;
    let mut spent = 0;
    loop {
        for algorithm in engines.clone() {
            let mut steps = limits.steps.map_or(budget, |most| most.min(budget));
            if let Some(most) = most_steps {
                steps = steps.min(most.saturating_sub(spent).max(1));
            }
            spent += steps;
            let mut attempt = Limits {
                steps: Some(steps),
                ..all.left()
            };
            // Without parts, limits on counts remain exact.
            let whole = limits.steps.is_some() || limits.executions.is_some();
            let mut found = match algorithm {
                Algorithm::Optimal if budget >= BUDGET_IN_PARTS && !whole => {
                    attempt.steps = None;
                    let search = Search {
                        algorithm: Stateless::Optimal,
                        limits: attempt.clone(),
                        goal,
                    };
                    let parts = parts.get_or_insert_with(|| Parts::new(machines(), search));
                    steps /= PART_OF_BUDGET;
                    parts.most_steps = Some(steps);
                    parts.search.limits = attempt;
                    let workers = Workers {
                        count: options.jobs,
                        programs: machines,
                    };
                    parts.run(&workers, watch)
                }
                _ => {
                    let search = Search {
                        algorithm,
                        limits: attempt,
                        goal,
                    };
                    // All workers explore all states, if these are not too many; then the result
                    // does not depend on the number of workers. Otherwise one worker decides,
                    // within the budget.
                    let by_all_workers = || {
                        let search = Search {
                            limits: all.left(),
                            ..search.clone()
                        };
                        let workers = Workers {
                            count: options.jobs,
                            programs: machines,
                        };
                        search.share_all_states(steps, &workers, watch)
                    };
                    let whole = whole || budget < BUDGET_IN_PARTS;
                    let found = (!whole && algorithm == Algorithm::Stateful)
                        .then(by_all_workers)
                        .flatten();
                    found.unwrap_or_else(|| {
                        // The workers have used some of the time.
                        let limits = Limits {
                            steps: Some(steps),
                            ..all.left()
                        };
                        let search = Search { limits, ..search };
                        search.run(machine, watch, &mut ())
                    })
                }
            };
            found.elapsed = all.elapsed();
            all.restate(&mut found.bounds);
            let decided = found.stopped != StopReason::Bound;
            let over = most_steps.is_some_and(|most| spent >= most);
            if decided || over || found.bounds.iter().any(ends_all) {
                return (algorithm, found);
            }
            // Within the limit on depth, the engine has found everything that the others can find.
            let too_deep = |bound: &Bound| matches!(bound, Bound::MaxDepth(_));
            if algorithm == Algorithm::Stateful
                && !found.broken_off
                && found.bounds.iter().all(too_deep)
            {
                return (algorithm, found);
            }
            let more = limits.steps.is_none_or(|most| steps < most);
            if more && found.bounds.contains(&Bound::MaxSteps(steps)) {
                continue;
            }
            // A limit of the user or of the evaluator has ended the attempt, so a larger budget
            // would not help this engine.
            engines.retain(|&other| other != algorithm);
            if engines.is_empty() {
                return (algorithm, found);
            }
        }
        budget = budget.saturating_mul(4);
    }
}

/// Whether a bound ends the whole command, and not only one attempt.
fn ends_all(bound: &Bound) -> bool {
    match bound {
        Bound::TimeLimit(_) | Bound::MemoryLimit(_) | Bound::Interrupted => true,
        Bound::MaxDepth(_)
        | Bound::FinalStates
        | Bound::MaxSteps(_)
        | Bound::MaxExecutions(_)
        | Bound::MaxLocal(_)
        | Bound::MaxMessages(_)
        | Bound::IntRange
        | Bound::IntWithin(_)
        | Bound::Undecided
        | Bound::AsPrinted
        | Bound::Sampled(_)
        | Bound::Temporal
        | Bound::Covers
        | Bound::Refinement
        | Bound::Times
        | Bound::Bitstate(_)
        | Bound::DataRaces
        | Bound::Unfold(_) => false,
    }
}
