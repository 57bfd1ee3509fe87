//! Symbolic execution with partial order reduction: all symbolic states, merged by their paths.
//!
//! De Boer, Bonsangue, Johnsen, Pun, Tapia Tarifa, Tveito, "SymPaths: Symbolic Execution Meets
//! Partial Order Reduction", sections 3.3 (Fig. 5), 3.5 (POR), 5 (the prototype) and 6.
//!
//! | paper | here |
//! |---|---|
//! | cn, a configuration | the states ended so far, and the [`levels::Entry`]s of two levels |
//! | ⟨σ, φ, Σ⟩ | a state of a [`Symbolic`] program, and its [`PathLink`] |
//! | SCHEDULE | [`Walker::expand`]: a state is replaced by all its successors |
//! | ev₁ ~ ev₂, Definition 4 | [`forms::Forms::independent`] |
//! | the canonical form of φ, section 5 | [`PathLink`], its last event first |
//! | POR_γ | [`levels`]: of the states with equal paths and pools one stays |
//!
//! Where it deviates:
//! - *The form.* The form of a path is the same for all paths that count as equivalent. The printed
//!   form swaps neighbours until no swap is possible, which is not canonical (erratum E5 in
//!   docs/algorithms.md); `Paper` implements it. `Canonical` keeps the events in the order in which
//!   they happened, gives each a fingerprint of all earlier events that it depends on, and adds the
//!   fingerprints up. Paths are equivalent if and only if their sums are equal.
//! - *Order.* The search is breadth first, level by level, because merging within the configuration
//!   requires that (erratum E10). Equal states are on one level, because equal paths and pools took
//!   equally many steps. Without reduction the search is depth first: nothing is merged, so the
//!   order does not matter, and only the path is kept.
//! - *Pruning.* In a breadth-first search, suppose that a state with the same path was expanded
//!   before. Then the new state was reached from it by a step without an event: the end of a
//!   bounded loop that had used up its bound. If the process of this step has nothing left to do
//!   and another process is certain to make a step, the new state is dropped, because that other
//!   step is explored from the earlier state, too. Both conditions are needed: without the first,
//!   what the process does after the loop would be lost, and without the second, the deadlock in
//!   which all processes wait.
//! - *Dependence.* Two steps are dependent if accesses that they really made conflict, or if they
//!   evaluate the same invariant. Two unknown elements of an array are different if the path
//!   condition implies it (section 6.1). The condition of the whole path is used, even if it became
//!   known only after the two steps. That is enough here, because all processes are run from every
//!   state.
//! - *Waiting* (section 6.3). A step in which a process only finds that it must wait leads to no
//!   new state. But if every process can find that it must wait, the states in which all of them
//!   wait are deadlocks.
//!
//! Memory: one or two levels of states. Their paths are lists that share their beginnings.
//!
//! Several workers share the levels (`levels.rs`), or the subtrees of the search without reduction
//! (`tree.rs`). Both say why results do not depend on the number of workers.

use std::ops::ControlFlow;
use std::time::Duration;

mod curve;
mod forms;
mod levels;
mod path;
mod reduction;
mod tree;
mod walker;

use mazurka_core::{Bound, Counts, Limits, Mishap, Schedule, StopReason, Symbolic};

use crate::drive::budget::Budget;
use crate::drive::driver::{End, Watch, is_broken_off};
use crate::drive::parallel::Workers;

use curve::Curve;
use walker::{Ends, Walker};

pub use reduction::{Reduction, UnknownReduction};

/// Receives the findings of a search. At each call the program is in the state found. If several
/// workers search, each has an audience of its own, which may be called in another order than that
/// of the [ranks](LeadsHere::rank).
pub trait Audience<E> {
    /// Receives a symbolic state in which no process can continue, or, with [`End::Cut`], a state
    /// that a limit has left unexpanded.
    fn ended(&mut self, program: &E, end: End, leads_here: &dyn LeadsHere);

    /// Receives a mishap of the last event, or of a final state.
    fn failed(&mut self, program: &E, mishap: Mishap, leads_here: &dyn LeadsHere);

    /// Called when this program makes no more steps, in any state.
    fn closed(&mut self, _program: &E) {}
}

/// Runs that lead to a finding.
pub trait LeadsHere {
    /// Returns a run that makes the events of the path in the order of the path's form. Steps that
    /// leave no event are left out.
    fn schedule(&self) -> Schedule;

    /// Returns the run as it was made, step by step.
    fn run(&self) -> Schedule;

    /// Returns the rank of the finding.
    fn rank(&self) -> Rank;
}

/// The place of a finding among the findings of a search: one worker meets them in this order.
/// States that a limit has left unexpanded have an order of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank {
    /// The depth of the state that is expanded, or the number of the part of the tree.
    level: u64,
    /// The position of the state in its level.
    position: u64,
    /// The number of the finding among those of this state.
    ordinal: u64,
}

/// The findings of a search over symbolic states.
#[derive(Clone, Debug, PartialEq)]
pub struct SymbolicFindings {
    /// Number of symbolic states at the end.
    pub states: u64,
    /// Number of states at the end in which a process waits for ever.
    pub deadlocks: u64,
    /// Number of states at the end that have a failed process, or are final and break a claim about
    /// final states.
    pub failures: u64,
    /// Number of states at the end with a false `assume`. The three numbers above do not include
    /// these.
    pub discarded: u64,
    /// Number of applications of SCHEDULE.
    pub steps: u64,
    /// The greatest number of states in the configuration.
    pub peak: u64,
    /// Points of the curve of Fig. 9: a number of steps, and the number of states in the
    /// configuration after these steps.
    pub curve: Vec<(u64, u64)>,
    /// Bounds that were hit.
    pub bounds: Vec<Bound>,
    /// Why the search ended.
    pub stopped: StopReason,
    /// Time taken.
    pub elapsed: Duration,
}

/// The settings of a search over all symbolic states.
#[derive(Clone, Debug)]
pub struct SymbolicSearch {
    /// Which states are merged.
    pub reduction: Reduction,
    /// Whether the state after the last step of a process is dropped if that step leaves no event
    /// and another process is certain to make a step (prefix pruning).
    pub pruned: bool,
    /// The limits of the search.
    pub limits: Limits,
    /// The least time after which workers share the search: most programs are small.
    pub alone: Duration,
}

impl SymbolicSearch {
    /// Explores the symbolic states of a program.
    pub fn run<E: Symbolic>(
        &self,
        program: &mut E,
        watch: &mut Watch<'_>,
        audience: &mut dyn Audience<E>,
    ) -> SymbolicFindings {
        let budget = Budget::new(&self.limits);
        let mut curve = Curve::new();
        let mut walker = Walker::new(program, self, budget, watch, audience);
        let bound = self.explore(&mut walker, &mut curve).break_value();
        walker.close();
        let ends = std::mem::take(&mut walker.ends);
        conclude((ends, curve), bound, budget)
    }

    /// Explores with one worker.
    fn explore<E: Symbolic>(
        &self,
        walker: &mut Walker<'_, '_, E>,
        curve: &mut Curve,
    ) -> ControlFlow<Bound> {
        walker.initial_failures();
        if is_broken_off(walker.program.initial_mishaps()) {
            return ControlFlow::Break(walker.why_broken());
        }
        if self.reduction == Reduction::None {
            let everything = tree::Part::everything();
            return walker.depth_first((0, &everything), &mut |expansion| curve.add(expansion));
        }
        let all = walker.alone(curve, &mut |_| false);
        all.map_continue(|left| assert!(left.is_none(), "a level that was handed over"))
    }

    /// Explores with several workers, each of which has an audience. If steps or states are
    /// limited, one worker explores, so that the limits are exact. Returns the findings and the
    /// audiences, in any order.
    pub fn share<E: Symbolic, A: Audience<E> + Send>(
        &self,
        program: &mut E,
        workers: &Workers<'_, E>,
        watch: &mut Watch<'_>,
        audiences: &(dyn Fn() -> A + Sync),
    ) -> (SymbolicFindings, Vec<A>) {
        let budget = Budget::new(&self.limits);
        let mut audience = audiences();
        let unshared =
            workers.count <= 1 || budget.counts() || is_broken_off(program.initial_mishaps());
        if unshared {
            let found = self.run(program, watch, &mut audience);
            return (found, vec![audience]);
        }
        let mut curve = Curve::new();
        if self.reduction == Reduction::None {
            let parts = match tree::cut(self, program, (&budget, watch)) {
                ControlFlow::Continue(Some(parts)) => parts,
                _ => {
                    let found = self.run(program, watch, &mut audience);
                    return (found, vec![audience]);
                }
            };
            let mut walker = Walker::new(program, self, budget, watch, &mut audience);
            walker.initial_failures();
            walker.close();
            let with = (&budget, watch);
            let shared = tree::share((self, &parts), &mut curve, workers, audiences, with);
            let mut all = shared.audiences;
            all.push(audience);
            let found = conclude((shared.ends, curve), shared.bound, budget);
            return (found, all);
        }
        let mut walker = Walker::new(program, self, budget, watch, &mut audience);
        walker.initial_failures();
        let begun = walker.alone(&mut curve, &mut |states| {
            levels::is_worth_sharing(self, states, workers.count, budget.elapsed())
        });
        walker.close();
        let mut ends = std::mem::take(&mut walker.ends);
        let (depth, level) = match begun {
            ControlFlow::Continue(Some(level)) => level,
            ended => {
                let found = conclude((ends, curve), ended.break_value(), budget);
                return (found, vec![audience]);
            }
        };
        let before = Counts {
            executions: ends.states,
            steps: curve.steps,
            ..Counts::default()
        };
        let with = (&budget, before, watch);
        let shared = levels::share((self, depth, level), &mut curve, workers, audiences, with);
        ends.absorb(shared.ends);
        let mut all = shared.audiences;
        all.push(audience);
        (conclude((ends, curve), shared.bound, budget), all)
    }
}

/// Returns the findings of a search that has ended, because of a limit or not.
fn conclude(
    (ends, curve): (Ends, Curve),
    bound: Option<Bound>,
    budget: Budget<'_>,
) -> SymbolicFindings {
    let mut bounds = ends.bounds();
    if let Some(bound) = bound.filter(|bound| !bounds.contains(bound)) {
        bounds.push(bound);
    }
    SymbolicFindings {
        states: ends.states,
        deadlocks: ends.deadlocks,
        failures: ends.failures,
        discarded: ends.discarded,
        steps: curve.steps,
        peak: curve.peak,
        curve: curve.into_points(),
        stopped: match bounds.is_empty() {
            true => StopReason::Complete,
            false => StopReason::Bound,
        },
        bounds,
        elapsed: budget.elapsed(),
    }
}
