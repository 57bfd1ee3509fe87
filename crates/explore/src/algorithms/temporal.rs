//! Temporal properties, decided on the graph of all states (docs/temporal.md says what they mean).
//!
//! Lichtenstein and Pnueli, *Checking that finite state concurrent programs satisfy their linear
//! specification*, POPL 1985; Manna and Pnueli, *The Temporal Logic of Reactive and Concurrent
//! Systems*, 1992, on justice (weak fairness) and on the four kinds of properties.
//!
//! | paper | here |
//! |---|---|
//! | □p | [`Temporal::Always`]: no state that can be reached violates it |
//! | ◇p, □◇p, □(p → ◇q) | [`avoiding`]: no fair run avoids a condition from some state on |
//! | fair strongly connected subgraph | [`is_fair`], in the part of the graph that avoids it |
//!
//! A run violates `eventually e` if it avoids e from its first state on, `infinitely_often e` if it
//! avoids e from some state on, and `whenever e leads_to f` if it avoids f from a state with e on.
//! So all three ask for a run that stays in the states without a condition from some state on, and
//! either ends there or goes on for ever and is fair.
//!
//! Why whole components are enough. A run that goes on for ever in the part of the graph without
//! the condition stays in one strong component of *that part* from some state on. Weak fairness
//! asks of each process that it steps again and again, or is not ready again and again. If each
//! process has a step inside the component or is not ready in one of its states, the cycle through
//! all its states and steps is fair. If not, some process is ready in all states of the component
//! and steps in none of its cycles, so every cycle of it is unfair, also those of a part of it.
//! Hence no component has to be taken apart. (Strong fairness would need that: a part of a
//! component may lack the states in which a process is ready.) Whether a process is ready is asked
//! in the whole graph: its step may lead out of the part.
//!
//! Deviations: the automaton of a formula is not built, for these four kinds need none. Runs that a
//! failure or a false `assume` halts count up to there: they can violate only `always`.
//!
//! What is shown is a shortest path to a state where the condition begins to be avoided for ever,
//! from there a shortest one to the end or into a fair component, and a fair cycle made of shortest
//! paths.

use std::ops::ControlFlow;

use mazurka_core::{Bound, Semantics, Temporal};

use crate::algorithms::graph::{Edge, Looks, Route};
use crate::algorithms::livelock::{is_fair, round};
use crate::algorithms::map::StateGraph;
use crate::drive::findings::Broken;

/// A run that violates a property.
#[derive(Debug, PartialEq, Eq)]
struct Lasso {
    way: Vec<Edge>,
    /// How many steps come before those that repeat, if some do.
    stem: Option<usize>,
}

/// Returns a run for each property that is violated. In a graph that is not `complete` only the
/// paths are certain, so only `always` is decided.
pub(crate) fn violations<E: Semantics>(
    states: &StateGraph,
    program: &mut E,
    complete: bool,
    looks: &mut Looks<'_>,
) -> ControlFlow<Bound, Vec<Broken>> {
    program.back_to(0);
    let mut all = Vec::new();
    if states.truths.undecided {
        return ControlFlow::Continue(all);
    }
    for (property, temporal) in program.temporal().to_vec().into_iter().enumerate() {
        if !complete && !matches!(temporal, Temporal::Always(_)) {
            continue;
        }
        if let Some(Lasso { way, stem }) = violation(states, temporal, looks)? {
            all.push(Broken {
                property,
                schedule: states.schedule(program, &way),
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
    looks: &mut Looks<'_>,
) -> ControlFlow<Bound, Option<Lasso>> {
    let holds = |state, condition| states.truths.holds(state, condition);
    match property {
        Temporal::Always(e) => {
            let broken = |state: u32| !states.halted[state as usize] && !holds(state, e);
            let way = path(states, 0, broken, |_| true, looks)?;
            ControlFlow::Continue(way.map(|way| Lasso { way, stem: None }))
        }
        Temporal::Eventually(e) => avoiding(states, |at| at == 0, |at| !holds(at, e), looks),
        Temporal::InfinitelyOften(e) => avoiding(states, |_| true, |at| !holds(at, e), looks),
        Temporal::LeadsTo(e, f) => avoiding(states, |at| holds(at, e), |at| !holds(at, f), looks),
    }
}

/// What a run can do that is in a component of the part of the graph that avoids a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The condition comes, or the run is unfair.
    Meets,
    /// It can get to a component where it stays.
    Escapes,
    /// It ends here, or stays here for ever and is fair.
    Stays,
}

/// Returns a fair run that is all in states that `avoid` something, once it has come to a state
/// that it avoids it `from`.
fn avoiding(
    states: &StateGraph,
    from: impl Fn(u32) -> bool,
    avoids: impl Fn(u32) -> bool,
    looks: &mut Looks<'_>,
) -> ControlFlow<Bound, Option<Lasso>> {
    let graph = &states.graph;
    let avoids = |state: u32| !states.halted[state as usize] && avoids(state);
    let along = |edge: &Edge| avoids(edge.from) && avoids(edge.to);
    let mut fates: Vec<Fate> = Vec::new();
    let component = graph.components(along, looks, |members, component| {
        let ends = |&state: &u32| graph.steps(state).is_empty();
        // Its own number is not among the fates yet.
        let leads = |edge: &Edge| {
            let to = fates.get(component[edge.to as usize] as usize);
            along(edge) && to.is_some_and(|&fate| fate != Fate::Meets)
        };
        let escapes = |&state: &u32| graph.steps(state).iter().any(leads);
        let fate = match () {
            () if !avoids(members[0]) => Fate::Meets,
            () if members.iter().any(ends) || is_fair(graph, members, component) => Fate::Stays,
            () if members.iter().any(escapes) => Fate::Escapes,
            () => Fate::Meets,
        };
        fates.push(fate);
    })?;
    let fate = |state: u32| fates[component[state as usize] as usize];
    let begins = |state| from(state) && fate(state) != Fate::Meets;
    let Some(mut way) = path(states, 0, begins, |_| true, looks)? else {
        return ControlFlow::Continue(None);
    };
    let first = way.last().map_or(0, |edge| edge.to);
    let Some(rest) = path(states, first, |at| fate(at) == Fate::Stays, along, looks)? else {
        return ControlFlow::Continue(None);
    };
    way.extend(rest);
    let last = way.last().map_or(0, |edge| edge.to);
    if graph.steps(last).is_empty() {
        return ControlFlow::Continue(Some(Lasso { way, stem: None }));
    }
    let stem = Some(way.len());
    let cycle = round(graph, &component, last, looks)?;
    ControlFlow::Continue(cycle.map(|cycle| {
        way.extend(cycle);
        Lasso { way, stem }
    }))
}

/// Returns a shortest path to a state.
fn path(
    states: &StateGraph,
    from: u32,
    to: impl Fn(u32) -> bool,
    along: impl Fn(&Edge) -> bool,
    looks: &mut Looks<'_>,
) -> ControlFlow<Bound, Option<Vec<Edge>>> {
    let past = |_: &Edge| false;
    states.graph.way(from, &Route { along, to, past }, looks)
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
        let lasso = violation(&states, property, &mut Looks::new(go_on));
        let lasso = lasso.continue_value().expect("no limit")?;
        let mut at = 0;
        let mut visited = vec![0];
        for edge in &lasso.way {
            assert_eq!(edge.from, at, "the run is a way");
            at = edge.to;
            visited.push(at);
        }
        if let Some(stem) = lasso.stem {
            assert!(stem < lasso.way.len(), "something repeats");
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
        // 0 → 1, where it ends.
        let edges = [(0, 0, 1)];
        assert_eq!(found(&[0, 1], &edges, EVENTUALLY), None);
        assert_eq!(found(&[0, 1], &edges, OFTEN), None);
        assert_eq!(found(&[1, 0], &edges, EVENTUALLY), None);
        assert_eq!(found(&[1, 0], &edges, OFTEN), Some((vec![0, 1], None)));
        assert_eq!(found(&[0, 0], &edges, EVENTUALLY), Some((vec![0, 1], None)));
        assert_eq!(found(&[0, 2], &edges, LEADS), Some((vec![0, 1], None)));
        assert_eq!(found(&[2, 1], &edges, LEADS), None);
        // The same state is enough.
        assert_eq!(found(&[3, 0], &edges, LEADS), None);
    }

    #[test]
    fn only_fair_cycles_avoid_a_condition() {
        // Process 0 spins in 0; process 1 is always ready and makes the condition true.
        let edges = [(0, 0, 0), (0, 1, 1), (1, 0, 1)];
        assert_eq!(found(&[2, 1], &edges, EVENTUALLY), None);
        assert_eq!(found(&[2, 1], &edges, LEADS), None);
        // In 2 process 1 has to wait, so it may be passed over for ever.
        let edges = [(0, 0, 2), (2, 0, 0), (0, 1, 1), (1, 0, 1)];
        let shown = Some((vec![0, 2, 0], Some(0)));
        assert_eq!(found(&[2, 1, 0], &edges, EVENTUALLY), shown);
        assert_eq!(found(&[2, 1, 0], &edges, LEADS), shown);
    }

    #[test]
    fn a_cycle_that_is_fair_only_with_the_condition_is_none() {
        // Both processes go round by 0 and 1; without 1, where the condition holds, process 1 is
        // passed over.
        let edges = [(0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 0)];
        assert_eq!(found(&[0, 1], &edges, OFTEN), None);
        assert_eq!(found(&[0, 1], &edges, EVENTUALLY), None);
    }

    #[test]
    fn a_response_may_be_missing_after_a_detour() {
        // The request in 1 is answered in 2 or never, in the trap 3.
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
