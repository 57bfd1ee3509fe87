//! Livelocks: cycles that a program can follow for ever under a fair scheduler.
//!
//! If a run is endless only because the scheduler never runs a process that is always ready, the
//! program is not at fault. So only [fair](crate::algorithms::fair) runs count (Manna and Pnueli,
//! *The Temporal Logic of Reactive and Concurrent Systems*, 1992, "justice"; Lichtenstein and
//! Pnueli, POPL 1985). The part of the graph in which such a run stays may have exits: two
//! processes that give way to each other for ever could also stop.
//!
//! | paper | here |
//! |---|---|
//! | state graph | [`StateGraph`], made of the [`Map`](crate::algorithms::map::Map) of a search |
//! | fair run | [`CycleQuery::lasso`] |
//!
//! A cycle is a livelock only if a process in it should end and does not:
//! [endless](Semantics::is_endless) processes may run for ever. A process that has ended does not
//! start again, so all states of a cycle have the same processes that have not ended.
//!
//! Deviations: steps from states with a failed process are left out: the failure has been reported,
//! and it may be the reason for the later behaviour of the other processes. Steps after a false
//! `assume` are left out, too. The finding is a *lasso*: a shortest path into a fair part of the
//! graph and a short cycle there that shows its fairness.

use std::ops::ControlFlow;

use mazurka_core::{Bound, Semantics};

use crate::algorithms::fair::CycleQuery;
use crate::algorithms::graph::LimitChecks;
use crate::algorithms::map::StateGraph;
use crate::drive::findings::Finding;

/// Returns the schedule of a livelock, if there is one. The graph must be complete.
pub(crate) fn livelock<E: Semantics>(
    states: &StateGraph,
    program: &mut E,
    looks: &mut LimitChecks<'_>,
) -> ControlFlow<Bound, Option<Finding>> {
    let query = CycleQuery {
        from: |_| true,
        within: |state: u32| states.unended[state as usize],
        // A run that ends without a ready process is a deadlock.
        ends: false,
        fairness: states.fairness,
    };
    let lasso = query.lasso(&states.graph, looks)?;
    ControlFlow::Continue(lasso.map(|lasso| Finding {
        mishap: None,
        schedule: states.schedule(program, &lasso.path),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::graph::{Edge, Graph};
    use mazurka_core::{Fairness, ProcessId};

    /// Returns the lasso of a graph, as the states on it.
    fn found(states: usize, edges: &[(u32, u32, u32)]) -> Option<Vec<u32>> {
        let edge = |&(from, process, to): &(u32, u32, u32)| Edge {
            from,
            process: ProcessId(process),
            to,
        };
        let go_on = &mut || ControlFlow::Continue(());
        let looks = &mut LimitChecks::new(go_on);
        let graph = Graph::new(states, edges.iter().map(edge).collect(), looks);
        let graph = graph.continue_value().expect("no limit");
        let query = CycleQuery {
            from: |_| true,
            within: |_| true,
            ends: false,
            fairness: Fairness::Weak,
        };
        let lasso = query.lasso(&graph, looks).continue_value();
        let path = lasso.expect("no limit")?.path;
        let mut at = 0;
        for edge in &path {
            assert_eq!(edge.from, at, "the lasso is a way");
            at = edge.to;
        }
        Some(path.iter().map(|edge| edge.to).collect())
    }

    #[test]
    fn no_cycle_no_livelock() {
        assert_eq!(found(1, &[]), None);
        assert_eq!(found(3, &[(0, 0, 1), (0, 1, 2), (1, 1, 2)]), None);
    }

    #[test]
    fn a_step_that_changes_nothing_is_a_cycle() {
        assert_eq!(found(1, &[(0, 0, 0)]), Some(vec![0]));
        assert_eq!(found(2, &[(0, 1, 1), (1, 0, 1)]), Some(vec![1, 1]));
    }

    #[test]
    fn an_unfair_spin_is_no_livelock() {
        // Process 1 is always ready, and its step ends the loop.
        assert_eq!(found(2, &[(0, 0, 0), (0, 1, 1)]), None);
        assert_eq!(
            found(3, &[(0, 0, 1), (1, 0, 0), (0, 1, 2), (1, 1, 2)]),
            None
        );
    }

    #[test]
    fn a_process_that_is_sometimes_not_ready_is_treated_fairly() {
        // In state 1, process 1 is not ready.
        let found = found(3, &[(0, 0, 1), (1, 0, 0), (0, 1, 2)]);
        assert_eq!(found, Some(vec![1, 0]));
    }

    #[test]
    fn a_fair_cycle_may_have_an_exit() {
        let edges = [(0, 0, 1), (1, 1, 0), (0, 1, 2), (1, 0, 2)];
        assert_eq!(found(3, &edges), Some(vec![1, 0]));
    }

    #[test]
    fn the_cycle_gives_every_process_a_turn() {
        // From state 0, process 0 makes one cycle and process 1 another. Both processes are ready
        // in all states of these cycles.
        let edges = [
            (0, 0, 1),
            (1, 0, 0),
            (0, 1, 2),
            (2, 1, 0),
            (1, 1, 3),
            (2, 0, 3),
        ];
        let path = found(4, &edges).expect("a livelock");
        assert!(path.contains(&1) && path.contains(&2), "{path:?}");
        assert_eq!(path.last(), Some(&0));
    }

    #[test]
    fn the_nearest_component_is_shown() {
        // A long path to the trap 4, a short one to the trap 5; the cycle of 0 and 1 is unfair.
        let edges = [
            (0, 0, 1),
            (1, 0, 0),
            (0, 1, 2),
            (1, 1, 2),
            (2, 0, 3),
            (3, 0, 4),
            (4, 0, 4),
            (2, 1, 5),
            (5, 1, 5),
        ];
        assert_eq!(found(6, &edges), Some(vec![2, 5, 5]));
    }
}
