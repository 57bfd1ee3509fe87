//! Livelocks: cycles that a program can follow for ever under a fair scheduler.
//!
//! A run that never ends is no fault of the program if the scheduler never runs a process that is
//! always ready: only *weakly fair* runs count (Manna and Pnueli, *The Temporal Logic of Reactive
//! and Concurrent Systems*, 1992, "justice"). A finite state graph has such a run if and only if it
//! has a strong component with a step in it such that every process makes a step inside, or is not
//! ready in some state of it (Lichtenstein and Pnueli, POPL 1985). A cycle through the whole
//! component is then fair. In any other component some process is always ready and never moves,
//! whatever cycle is taken. The component may have exits: two processes that give way to each other
//! for ever could also stop.
//!
//! | paper | here |
//! |---|---|
//! | state graph | [`StateGraph`], made of the [`Map`](crate::algorithms::map::Map) of a search |
//! | just component | [`is_fair`] |
//! | enabled(τ) | [`ready`]: the process has a step from the state |
//!
//! A cycle is a livelock only if a process that is meant to end does not: processes that are
//! [endless](Semantics::is_endless) may run for ever. A process that has ended stays so, hence all
//! states of a component have the same unended processes.
//!
//! Deviations: steps from states with a failed process are left out: the failure has been reported,
//! and what the other processes do afterwards is no fault of theirs. Steps after a false `assume`
//! are left out too. The finding is a *lasso*: a shortest path into a fair component and a cycle
//! there that shows its fairness. The cycle is made of shortest paths with few switches between
//! processes, so it is short, though not always shortest.

use std::ops::ControlFlow;

use mazurka_core::{Bound, ProcessId, Semantics};
use smallvec::SmallVec;

use crate::algorithms::graph::{Edge, Graph, Looks, Route};
use crate::algorithms::map::StateGraph;
use crate::drive::findings::Finding;

/// Returns the schedule of a livelock, if there is one. The graph must be complete.
pub(crate) fn livelock<E: Semantics>(
    states: &StateGraph,
    program: &mut E,
    looks: &mut Looks<'_>,
) -> ControlFlow<Bound, Option<Finding>> {
    let lasso = lasso(&states.graph, &states.unended, looks)?;
    ControlFlow::Continue(lasso.map(|lasso| Finding {
        mishap: None,
        schedule: states.schedule(program, &lasso),
    }))
}

/// Whether a process can make a step in a state.
fn ready(graph: &Graph, state: u32, process: ProcessId) -> bool {
    graph
        .steps(state)
        .iter()
        .any(|edge| edge.process == process)
}

/// The turns of one process in one component.
#[derive(Clone, Copy, Default)]
struct Turn {
    /// Number of states of the component in which it is ready.
    ready: u32,
    /// Whether it makes a step inside the component.
    steps: bool,
}

/// Whether a fair run can stay in a component for ever, given its members and the components of all
/// states. Processes are ready as the whole graph says, also where the components are those of a
/// part of it.
pub(crate) fn is_fair(graph: &Graph, members: &[u32], component: &[u32]) -> bool {
    let mut turns: SmallVec<[(ProcessId, Turn); 8]> = SmallVec::new();
    for &state in members {
        let here = component[state as usize];
        let mut last = None;
        for edge in graph.steps(state) {
            let at = turns.iter().position(|(p, _)| *p == edge.process);
            let at = at.unwrap_or_else(|| {
                turns.push((edge.process, Turn::default()));
                turns.len() - 1
            });
            let turn = &mut turns[at].1;
            // The steps of one process are adjacent.
            turn.ready += u32::from(last != Some(edge.process));
            turn.steps |= component[edge.to as usize] == here;
            last = Some(edge.process);
        }
    }
    let size = members.len() as u32;
    turns.iter().any(|(_, turn)| turn.steps)
        && turns
            .iter()
            .all(|(_, turn)| turn.steps || turn.ready < size)
}

/// Returns a path from the first state into a fair component, and a fair cycle in it; none if there
/// is none.
fn lasso(
    graph: &Graph,
    unended: &[bool],
    looks: &mut Looks<'_>,
) -> ControlFlow<Bound, Option<Vec<Edge>>> {
    let mut fair = Vec::new();
    let component = graph.components(
        |_| true,
        looks,
        |members, component| {
            let matters = members.iter().any(|&state| unended[state as usize]);
            fair.push(matters && is_fair(graph, members, component));
        },
    )?;
    let in_fair = |state: u32| fair[component[state as usize] as usize];
    if !fair.contains(&true) {
        return ControlFlow::Continue(None);
    }
    let anywhere = |_: &Edge| true;
    let nothing = |_: &Edge| false;
    let into_fair = Route {
        along: anywhere,
        to: in_fair,
        past: nothing,
    };
    let Some(prefix) = graph.way(0, &into_fair, looks)? else {
        return ControlFlow::Continue(None);
    };
    let start = prefix.last().map_or(0, |edge| edge.to);
    let round = round(graph, &component, start, looks)?;
    ControlFlow::Continue(round.map(|round| {
        let mut lasso = prefix;
        lasso.extend(round);
        lasso
    }))
}

/// Returns a fair cycle through a state of a [fair](is_fair) component; none if it is not fair.
pub(crate) fn round(
    graph: &Graph,
    component: &[u32],
    start: u32,
    looks: &mut Looks<'_>,
) -> ControlFlow<Bound, Option<Vec<Edge>>> {
    let home = component[start as usize];
    let inside = |edge: &Edge| component[edge.to as usize] == home;

    // The processes without a turn so far: ready in every state, and no step made.
    let mut waiting: Vec<ProcessId> = graph.steps(start).iter().map(|e| e.process).collect();
    let mut cycle = Vec::new();
    let mut here = start;
    while !waiting.is_empty() {
        let turn = Route {
            along: inside,
            to: |state| waiting.iter().any(|&p| !ready(graph, state, p)),
            past: |edge: &Edge| waiting.contains(&edge.process),
        };
        let Some(way) = graph.way(here, &turn, looks)? else {
            return ControlFlow::Continue(None);
        };
        for edge in way {
            waiting.retain(|&p| p != edge.process && ready(graph, edge.to, p));
            here = edge.to;
            cycle.push(edge);
        }
    }
    let home = Route {
        along: inside,
        to: |state| state == start,
        past: |_: &Edge| false,
    };
    let back = graph.way(here, &home, looks)?;
    ControlFlow::Continue(back.map(|back| {
        cycle.extend(back);
        cycle
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lasso of a graph, as the states on it.
    fn found(states: usize, edges: &[(u32, u32, u32)]) -> Option<Vec<u32>> {
        let edge = |&(from, process, to): &(u32, u32, u32)| Edge {
            from,
            process: ProcessId(process),
            to,
        };
        let go_on = &mut || ControlFlow::Continue(());
        let looks = &mut Looks::new(go_on);
        let graph = Graph::new(states, edges.iter().map(edge).collect(), looks);
        let graph = graph.continue_value().expect("no limit");
        let unended = vec![true; states];
        let lasso = lasso(&graph, &unended, looks)
            .continue_value()
            .expect("no limit")?;
        let mut at = 0;
        for edge in &lasso {
            assert_eq!(edge.from, at, "the lasso is a way");
            at = edge.to;
        }
        Some(lasso.iter().map(|edge| edge.to).collect())
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
    fn an_unfair_spin_is_none() {
        // Process 1 is always ready, and its step ends the spinning.
        assert_eq!(found(2, &[(0, 0, 0), (0, 1, 1)]), None);
        assert_eq!(
            found(3, &[(0, 0, 1), (1, 0, 0), (0, 1, 2), (1, 1, 2)]),
            None
        );
    }

    #[test]
    fn who_is_not_ready_now_and_then_is_not_passed_over() {
        // In state 1 process 1 has to wait.
        let found = found(3, &[(0, 0, 1), (1, 0, 0), (0, 1, 2)]);
        assert_eq!(found, Some(vec![1, 0]));
    }

    #[test]
    fn a_fair_cycle_may_have_a_way_out() {
        let edges = [(0, 0, 1), (1, 1, 0), (0, 1, 2), (1, 0, 2)];
        assert_eq!(found(3, &edges), Some(vec![1, 0]));
    }

    #[test]
    fn the_cycle_gives_every_process_a_turn() {
        // Two ways back: one round is process 0's, the other process 1's; both are ready
        // everywhere.
        let edges = [
            (0, 0, 1),
            (1, 0, 0),
            (0, 1, 2),
            (2, 1, 0),
            (1, 1, 3),
            (2, 0, 3),
        ];
        let way = found(4, &edges).expect("a livelock");
        assert!(way.contains(&1) && way.contains(&2), "{way:?}");
        assert_eq!(way.last(), Some(&0));
    }

    #[test]
    fn the_nearest_component_is_shown() {
        // A long way to the trap 4, a short one to the trap 5; the cycle of 0 and 1 is unfair.
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
