//! Temporal properties, decided on the graph of all states (docs/temporal.md defines them).
//!
//! Lichtenstein and Pnueli, *Checking that finite state concurrent programs satisfy their linear
//! specification*, POPL 1985; Manna and Pnueli, *The Temporal Logic of Reactive and Concurrent
//! Systems*, 1992, on fairness and on the four kinds of properties.
//!
//! | paper | here |
//! |---|---|
//! | □p | [`Temporal::Always`]: no state that can be reached violates it |
//! | ◇p, □◇p, □(p → ◇q) | [`avoiding`]: no fair run avoids a condition from some state on |
//! | fair strongly connected subgraph | [`Parts`](crate::algorithms::fair::Parts) |
//!
//! A run violates `eventually e` if it avoids e from its first state on. It violates
//! `infinitely_often e` if it avoids e from some state on. It violates `whenever e leads_to f` if
//! it avoids f from some state on in which e holds. So a violation of each of the three is a run
//! that, from some state on, stays in states in which a condition is false. The run either ends
//! there, or continues for ever and is [fair](crate::algorithms::fair). Whether a process is ready
//! is decided in the whole graph: its step may lead out of these states.
//!
//! Deviations: no automaton of the formula is built, because these four kinds need none. Runs that
//! a failure or a false `assume` halts count up to that point: they can violate only `always`.
//!
//! The run that is shown for an `always` is a shortest path to a state that violates it. For the
//! other properties it is a shortest path to the end of a run, or a shortest path into a part of
//! the graph in which a fair run stays, followed by a short cycle there.

use std::ops::ControlFlow;

use mazurka_core::{Bound, Semantics, Temporal};

use crate::algorithms::fair::{CycleQuery, Lasso};
use crate::algorithms::graph::{Edge, LimitChecks, Route};
use crate::algorithms::map::StateGraph;
use crate::drive::findings::BrokenProperty;

/// Returns a run for each property that is violated. If the graph is not `complete`, it shows only
/// that its paths exist, so only `always` is decided.
pub(crate) fn violations<E: Semantics>(
    states: &StateGraph,
    program: &mut E,
    complete: bool,
    looks: &mut LimitChecks<'_>,
) -> ControlFlow<Bound, Vec<BrokenProperty>> {
    program.back_to(0);
    let mut all = Vec::new();
    if states.truths.undecided {
        return ControlFlow::Continue(all);
    }
    for (property, temporal) in program.temporal().to_vec().into_iter().enumerate() {
        if !complete && !matches!(temporal, Temporal::Always(_)) {
            continue;
        }
        if let Some(Lasso { path, stem }) = violation(states, temporal, looks)? {
            all.push(BrokenProperty {
                property,
                schedule: states.schedule(program, &path),
                lasso: stem,
            });
        }
    }
    ControlFlow::Continue(all)
}

/// Returns a run that violates a property, if there is one.
fn violation(
    states: &StateGraph,
    property: Temporal,
    looks: &mut LimitChecks<'_>,
) -> ControlFlow<Bound, Option<Lasso>> {
    let holds = |state, condition| states.truths.holds(state, condition);
    match property {
        Temporal::Always(e) => {
            let broken = |state: u32| !states.halted[state as usize] && !holds(state, e);
            let route = Route {
                along: |_: &Edge| true,
                to: broken,
                past: |_: &Edge| false,
            };
            let path = states.graph.shortest_path(0, &route, looks)?;
            ControlFlow::Continue(path.map(|path| Lasso { path, stem: None }))
        }
        Temporal::Eventually(e) => avoiding(states, |at| at == 0, |at| !holds(at, e), looks),
        Temporal::InfinitelyOften(e) => avoiding(states, |_| true, |at| !holds(at, e), looks),
        Temporal::LeadsTo(e, f) => avoiding(states, |at| holds(at, e), |at| !holds(at, f), looks),
    }
}

/// Returns a fair run that, from some state in `from` on, is only in states that `avoids` selects.
fn avoiding(
    states: &StateGraph,
    from: impl Fn(u32) -> bool,
    avoids: impl Fn(u32) -> bool,
    looks: &mut LimitChecks<'_>,
) -> ControlFlow<Bound, Option<Lasso>> {
    let query = CycleQuery {
        from,
        within: |state: u32| !states.halted[state as usize] && avoids(state),
        ends: true,
        fairness: states.fairness,
    };
    query.lasso(&states.graph, looks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::map::tests::state_graph;

    const EVENTUALLY: Temporal = Temporal::Eventually(0);
    const OFTEN: Temporal = Temporal::InfinitelyOften(0);
    const LEADS: Temporal = Temporal::LeadsTo(1, 0);

    /// Returns the states on a run that violates a property, and where it begins to repeat.
    fn found(
        masks: &[u64],
        edges: &[(u32, u32, u32)],
        property: Temporal,
    ) -> Option<(Vec<u32>, Option<usize>)> {
        let go_on = &mut || ControlFlow::Continue(());
        let states = state_graph(masks, edges);
        let lasso = violation(&states, property, &mut LimitChecks::new(go_on));
        let lasso = lasso.continue_value().expect("no limit")?;
        let mut at = 0;
        let mut visited = vec![0];
        for edge in &lasso.path {
            assert_eq!(edge.from, at, "the run is a way");
            at = edge.to;
            visited.push(at);
        }
        if let Some(stem) = lasso.stem {
            assert!(stem < lasso.path.len(), "something repeats");
            assert_eq!(visited[stem], at, "the steps lead back");
        }
        Some((visited, lasso.stem))
    }

    #[test]
    fn always_shows_the_nearest_state() {
        let edges = [(0, 0, 1), (1, 0, 2), (0, 1, 3), (3, 0, 2)];
        let always = Temporal::Always(0);
        assert_eq!(found(&[1, 1, 1, 1], &edges, always), None);
        assert_eq!(
            found(&[1, 1, 0, 1], &edges, always),
            Some((vec![0, 1, 2], None))
        );
        assert_eq!(found(&[0, 1, 0, 1], &edges, always), Some((vec![0], None)));
    }

    #[test]
    fn a_run_that_ends_repeats_its_last_state() {
        // 0 → 1, where the run ends.
        let edges = [(0, 0, 1)];
        assert_eq!(found(&[0, 1], &edges, EVENTUALLY), None);
        assert_eq!(found(&[0, 1], &edges, OFTEN), None);
        assert_eq!(found(&[1, 0], &edges, EVENTUALLY), None);
        assert_eq!(found(&[1, 0], &edges, OFTEN), Some((vec![0, 1], None)));
        assert_eq!(found(&[0, 0], &edges, EVENTUALLY), Some((vec![0, 1], None)));
        assert_eq!(found(&[0, 2], &edges, LEADS), Some((vec![0, 1], None)));
        assert_eq!(found(&[2, 1], &edges, LEADS), None);
        // A state that satisfies both conditions is enough.
        assert_eq!(found(&[3, 0], &edges, LEADS), None);
    }

    #[test]
    fn only_fair_cycles_avoid_a_condition() {
        // Process 0 loops in 0; process 1 is always ready and makes the condition true.
        let edges = [(0, 0, 0), (0, 1, 1), (1, 0, 1)];
        assert_eq!(found(&[2, 1], &edges, EVENTUALLY), None);
        assert_eq!(found(&[2, 1], &edges, LEADS), None);
        // In 2 process 1 is not ready, so a fair run need not run it.
        let edges = [(0, 0, 2), (2, 0, 0), (0, 1, 1), (1, 0, 1)];
        let shown = Some((vec![0, 2, 0], Some(0)));
        assert_eq!(found(&[2, 1, 0], &edges, EVENTUALLY), shown);
        assert_eq!(found(&[2, 1, 0], &edges, LEADS), shown);
    }

    #[test]
    fn a_cycle_that_is_fair_only_with_the_condition_is_no_violation() {
        // Both processes take part in the cycle of 0 and 1. Without 1, where the condition holds,
        // process 1 never runs.
        let edges = [(0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 0)];
        assert_eq!(found(&[0, 1], &edges, OFTEN), None);
        assert_eq!(found(&[0, 1], &edges, EVENTUALLY), None);
    }

    #[test]
    fn the_whole_path_to_the_loop_is_shortest() {
        // The request in 1 is nearer than the request in 6, but its loop in 4 is farther away.
        let edges = [
            (0, 0, 1),
            (1, 0, 2),
            (2, 0, 3),
            (3, 0, 4),
            (4, 0, 4),
            (0, 0, 5),
            (5, 0, 6),
            (6, 0, 6),
        ];
        let masks = [0, 2, 0, 0, 0, 0, 2];
        let shown = Some((vec![0, 5, 6, 6], Some(2)));
        assert_eq!(found(&masks, &edges, LEADS), shown);
    }

    #[test]
    fn a_response_may_be_missing_after_a_detour() {
        // The request in 1 is answered in 2, or never in the trap 3.
        let edges = [(0, 0, 1), (1, 0, 2), (2, 0, 0), (1, 0, 3), (3, 0, 3)];
        let masks = [0, 2, 1, 0];
        assert_eq!(
            found(&masks, &edges, LEADS),
            Some((vec![0, 1, 3, 3], Some(2)))
        );
        assert_eq!(
            found(&masks, &edges, OFTEN),
            Some((vec![0, 1, 3, 3], Some(2)))
        );
        let answered = [(0, 0, 1), (1, 0, 2), (2, 0, 0), (2, 0, 3), (3, 0, 3)];
        assert_eq!(found(&masks, &answered, LEADS), None);
        assert_eq!(found(&masks, &answered, EVENTUALLY), None);
        assert_eq!(
            found(&masks, &answered, OFTEN),
            Some((vec![0, 1, 2, 3, 3], Some(3)))
        );
    }
}
