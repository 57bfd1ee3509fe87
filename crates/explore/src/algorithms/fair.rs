//! Fair infinite runs: the parts of a state graph in which such a run can stay, and a short run to
//! show.
//!
//! Weak fairness (justice) is decided as in Lichtenstein and Pnueli, *Checking that finite state
//! concurrent programs satisfy their linear specification*, POPL 1985. Strong fairness is decided
//! as in Emerson and Lei, *Modalities for model checking: branching time logic strikes back*,
//! Science of Computer Programming 8, 1987: a strong component that is not fair as a whole is
//! decomposed (the emptiness test of Streett automata).
//!
//! | paper | here |
//! |---|---|
//! | enabled(τ) | [`ready`]: the process has a step from the state, even if it leads out |
//! | just, compassionate | [`Fairness::Weak`], [`Fairness::Strong`], for each process |
//! | fair strongly connected subgraph | a part of [`Parts`] |
//! | restrict(S, ¬enabled(τ)) | [`Judgement::Without`] |
//!
//! A run that stays within a set of states for ever stays in one strong component of their graph
//! from some state on. If each process has a step inside the component or is not ready in some
//! state of it, the cycle through all its states and steps is weakly fair. Otherwise some process
//! is ready in all states of the component and makes no step inside, so every cycle in the
//! component is unfair. So weak fairness never requires decomposing a component.
//!
//! Strong fairness requires that a process which is ready in one state of the cycle steps in the
//! cycle. If some process is ready in a component and has no step inside, no fair cycle passes a
//! state in which it is ready. So these states are removed, and the components of the remaining
//! states are examined. A process for which states were removed is ready in no remaining state. So
//! there are at most as many rounds as processes, and each round visits the whole graph at most
//! once.
//!
//! The run that is shown is a shortest path into such a part, and a shortest fair cycle through the
//! end of the path, if [`EFFORT`] is enough to find one. That search is breadth-first, over pairs
//! of a state and the processes that still need a turn. A process that must be treated fairly has
//! its *turn* in a cycle when it makes a step or, under weak fairness, when the cycle passes a
//! state in which it is not ready. Beyond [`EFFORT`], the cycle consists of shortest paths from one
//! turn to the next.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use mazurka_core::{Bound, Fairness, ProcessId};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::algorithms::graph::{Edge, Graph, LimitChecks, NONE, Route};

/// Limit on the pairs of a state and pending turns that the search for a shortest cycle examines.
const EFFORT: usize = 1 << 16;

/// A run that repeats its last steps for ever, or ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lasso {
    pub path: Vec<Edge>,
    /// Number of steps before those that repeat; `None` if the run ends.
    pub stem: Option<usize>,
}

/// The kind of run to search for: from some state on, it stays within given states.
pub(crate) struct CycleQuery<F, W> {
    /// The states from which the run may start to stay `within`.
    pub from: F,
    /// The states in which the run stays.
    pub within: W,
    /// Whether the run may also be finite, if it ends within these states and no process is ready
    /// at its end.
    pub ends: bool,
    pub fairness: Fairness,
}

impl<F: Fn(u32) -> bool, W: Fn(u32) -> bool> CycleQuery<F, W> {
    /// Returns a run of this kind, if there is one.
    pub fn lasso(
        &self,
        graph: &Graph,
        looks: &mut LimitChecks<'_>,
    ) -> ControlFlow<Bound, Option<Lasso>> {
        let parts = Parts::new(graph, &self.within, self.fairness, looks)?;
        let ends = |state| self.ends && graph.steps(state).is_empty();
        let goal = |state| parts.of(state).is_some() || ends(state);
        let Some(mut path) = self.stem(graph, goal, looks)? else {
            return ControlFlow::Continue(None);
        };
        let last = path.last().map_or(0, |edge| edge.to);
        if ends(last) {
            return ControlFlow::Continue(Some(Lasso { path, stem: None }));
        }
        let stem = path.len();
        let Some(cycle) = parts.round(graph, last, looks)? else {
            return ControlFlow::Continue(None);
        };
        path.extend(cycle);
        let stem = Some(stem);
        ControlFlow::Continue(Some(Lasso { path, stem }))
    }

    /// Returns a shortest path from the initial state to a goal such that, from some state in
    /// `from` on, all its states are `within`. Of equally short paths it prefers those with fewer
    /// switches between processes.
    fn stem(
        &self,
        graph: &Graph,
        goal: impl Fn(u32) -> bool,
        looks: &mut LimitChecks<'_>,
    ) -> ControlFlow<Bound, Option<Vec<Edge>>> {
        // A node is a state, with a flag that says whether the run stays `within` from this state
        // on. A state may occur with both flags.
        let phases = |state: u32, stays: bool| {
            let begins = stays || (self.from)(state);
            let within = begins && (self.within)(state);
            [within.then_some(true), (!stays).then_some(false)]
        };
        let mut came: FxHashMap<(u32, bool), (Edge, bool)> = FxHashMap::default();
        let mut queue = VecDeque::new();
        for stays in phases(0, false).into_iter().flatten() {
            if stays && goal(0) {
                return ControlFlow::Continue(Some(Vec::new()));
            }
            queue.push_back((0, stays));
        }
        let first: FxHashSet<(u32, bool)> = queue.iter().copied().collect();
        while let Some((state, stays)) = queue.pop_front() {
            let last = came.get(&(state, stays)).map(|(edge, _)| edge.process);
            for edge in in_turn(graph.steps(state), last) {
                looks.pass()?;
                for now in phases(edge.to, stays).into_iter().flatten() {
                    let node = (edge.to, now);
                    if first.contains(&node) || came.contains_key(&node) {
                        continue;
                    }
                    came.insert(node, (*edge, stays));
                    if now && goal(edge.to) {
                        return ControlFlow::Continue(Some(traced(&came, node)));
                    }
                    queue.push_back(node);
                }
            }
        }
        ControlFlow::Continue(None)
    }
}

/// Returns the steps from a state; the steps of the given process come first.
fn in_turn(steps: &[Edge], first: Option<ProcessId>) -> impl Iterator<Item = &Edge> {
    let stays = move |edge: &&Edge| Some(edge.process) == first;
    let changes = move |edge: &&Edge| Some(edge.process) != first;
    steps
        .iter()
        .filter(stays)
        .chain(steps.iter().filter(changes))
}

/// Returns the path by which a breadth-first search reached a node.
fn traced<N: Copy + Eq + std::hash::Hash>(
    came: &FxHashMap<(u32, N), (Edge, N)>,
    end: (u32, N),
) -> Vec<Edge> {
    let mut path = Vec::new();
    let mut node = end;
    while let Some(&(edge, before)) = came.get(&node) {
        path.push(edge);
        node = (edge.from, before);
    }
    path.reverse();
    path
}

/// Whether a process can make a step in a state.
fn ready(graph: &Graph, state: u32, process: ProcessId) -> bool {
    let mut steps = graph.steps(state).iter();
    steps.any(|edge| edge.process == process)
}

/// The parts of a graph in which a fair run can stay for ever, passing all states and steps.
pub(crate) struct Parts {
    /// The part of each state, or [`NONE`].
    part: Vec<u32>,
    fairness: Fairness,
}

impl Parts {
    /// Returns the parts of the graph of the states `within`.
    pub fn new(
        graph: &Graph,
        within: impl Fn(u32) -> bool,
        fairness: Fairness,
        looks: &mut LimitChecks<'_>,
    ) -> ControlFlow<Bound, Self> {
        let mut part = vec![NONE; graph.len()];
        let mut parts = 0;
        // The zone of each state: a set of states that is still to be searched for parts. `NONE` is
        // no zone.
        let mut zone: Vec<u32> = (0..graph.len() as u32)
            .map(|state| if within(state) { 0 } else { NONE })
            .collect();
        let mut open = true;
        while open {
            open = false;
            let mut next = vec![NONE; graph.len()];
            let along = |edge: &Edge| {
                let here = zone[edge.from as usize];
                here != NONE && here == zone[edge.to as usize]
            };
            let mut zones = 0;
            graph.components(along, looks, |members, component| {
                // A state outside all zones is a component of its own, perhaps with a step to
                // itself.
                if zone[members[0] as usize] == NONE {
                    return;
                }
                match judge(graph, members, component, fairness) {
                    Judgement::Fair => {
                        members.iter().for_each(|&m| part[m as usize] = parts);
                        parts += 1;
                    }
                    Judgement::Unfair => {}
                    Judgement::Without(starving) => {
                        let starves = |state| starving.iter().any(|&p| ready(graph, state, p));
                        for &state in members.iter().filter(|&&state| !starves(state)) {
                            next[state as usize] = zones;
                            open = true;
                        }
                        zones += 1;
                    }
                }
            })?;
            zone = next;
        }
        ControlFlow::Continue(Self { part, fairness })
    }

    /// Returns the part of a state.
    pub fn of(&self, state: u32) -> Option<u32> {
        let part = self.part[state as usize];
        (part != NONE).then_some(part)
    }

    /// Returns a fair cycle through a state of a part.
    fn round(
        &self,
        graph: &Graph,
        start: u32,
        looks: &mut LimitChecks<'_>,
    ) -> ControlFlow<Bound, Option<Vec<Edge>>> {
        match self.shortest_round(graph, start, looks)? {
            Some(cycle) => ControlFlow::Continue(Some(cycle)),
            None => self.some_round(graph, start, looks),
        }
    }

    /// Returns a shortest fair cycle through a state, if [`EFFORT`] is enough to find it.
    fn shortest_round(
        &self,
        graph: &Graph,
        start: u32,
        looks: &mut LimitChecks<'_>,
    ) -> ControlFlow<Bound, Option<Vec<Edge>>> {
        // Each value of `Turns` that was met has a number, its index in `all`. Nodes refer to it by
        // this number.
        let mut known: FxHashMap<Turns, u32> = FxHashMap::default();
        let first = Turns::at(graph, start);
        let mut all = vec![first.clone()];
        known.insert(first, 0);
        let mut came: FxHashMap<(u32, u32), (Edge, u32)> = FxHashMap::default();
        let mut queue = VecDeque::from([(start, 0)]);
        while let Some((state, turns)) = queue.pop_front() {
            let last = came.get(&(state, turns)).map(|(edge, _)| edge.process);
            for edge in in_turn(graph.steps(state), last) {
                looks.pass()?;
                if self.of(edge.to) != self.of(start) {
                    continue;
                }
                let after = all[turns as usize].after(graph, edge, self.fairness);
                if edge.to == start && after.pending.is_empty() {
                    let mut path = traced(&came, (state, turns));
                    path.push(*edge);
                    return ControlFlow::Continue(Some(path));
                }
                let number = *known.entry(after).or_insert_with_key(|after| {
                    all.push(after.clone());
                    all.len() as u32 - 1
                });
                let node = (edge.to, number);
                if node == (start, 0) || came.contains_key(&node) {
                    continue;
                }
                if came.len() == EFFORT {
                    return ControlFlow::Continue(None);
                }
                came.insert(node, (*edge, turns));
                queue.push_back(node);
            }
        }
        ControlFlow::Continue(None)
    }

    /// Returns a fair cycle that consists of shortest paths from one turn to the next, if one
    /// exists.
    fn some_round(
        &self,
        graph: &Graph,
        start: u32,
        looks: &mut LimitChecks<'_>,
    ) -> ControlFlow<Bound, Option<Vec<Edge>>> {
        let inside = |edge: &Edge| self.of(edge.to) == self.of(start);
        let weak = self.fairness == Fairness::Weak;
        let mut turns = Turns::at(graph, start);
        let mut cycle: Vec<Edge> = Vec::new();
        let mut here = start;
        loop {
            let pending = turns.pending.clone();
            let home = pending.is_empty();
            let route = Route {
                along: inside,
                to: |state| {
                    if home {
                        state == start
                    } else {
                        weak && pending.iter().any(|&p| !ready(graph, state, p))
                    }
                },
                past: |edge: &Edge| pending.contains(&edge.process),
            };
            let Some(path) = graph.shortest_path(here, &route, looks)? else {
                return ControlFlow::Continue(None);
            };
            for edge in path {
                turns = turns.after(graph, &edge, self.fairness);
                here = edge.to;
                cycle.push(edge);
            }
            // On the path back another process may have become ready that needs a turn.
            if here == start && turns.pending.is_empty() {
                return ControlFlow::Continue(Some(cycle));
            }
        }
    }
}

/// The processes that still need a turn in a cycle, and the processes that have had one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Turns {
    /// The processes that still need a turn, sorted.
    pending: SmallVec<[ProcessId; 8]>,
    /// The processes that have had a turn. They are stored for strong fairness only, where a
    /// process that becomes ready later needs a turn, unless it has had one.
    done: SmallVec<[ProcessId; 8]>,
}

impl Turns {
    /// Returns the turns at the start of a cycle.
    fn at(graph: &Graph, start: u32) -> Self {
        let mut pending: SmallVec<_> = graph.steps(start).iter().map(|e| e.process).collect();
        pending.dedup();
        Self {
            pending,
            done: SmallVec::new(),
        }
    }

    /// Returns the turns after a step.
    fn after(&self, graph: &Graph, edge: &Edge, fairness: Fairness) -> Self {
        let mut now = self.clone();
        now.pending.retain(|p| *p != edge.process);
        match fairness {
            Fairness::Weak => now.pending.retain(|p| ready(graph, edge.to, *p)),
            Fairness::Strong => {
                insert(&mut now.done, edge.process);
                for step in graph.steps(edge.to) {
                    if now.done.binary_search(&step.process).is_err() {
                        insert(&mut now.pending, step.process);
                    }
                }
            }
        }
        now
    }
}

fn insert(sorted: &mut SmallVec<[ProcessId; 8]>, process: ProcessId) {
    if let Err(at) = sorted.binary_search(&process) {
        sorted.insert(at, process);
    }
}

/// Whether a fair run can stay in a strong component.
enum Judgement {
    /// A fair run can pass all states and steps of the component for ever.
    Fair,
    /// No fair run stays in the component.
    Unfair,
    /// A fair run that stays in the component passes no state in which one of these processes is
    /// ready.
    Without(SmallVec<[ProcessId; 4]>),
}

/// How one process takes part in one component.
#[derive(Clone, Copy, Default)]
struct ProcessTurns {
    /// Number of states of the component in which it is ready.
    ready: u32,
    /// Whether it makes a step inside the component.
    steps: bool,
}

/// Judges a component, given its members and the components of all states.
fn judge(graph: &Graph, members: &[u32], component: &[u32], fairness: Fairness) -> Judgement {
    let mut turns: SmallVec<[(ProcessId, ProcessTurns); 8]> = SmallVec::new();
    for &state in members {
        let here = component[state as usize];
        let mut last = None;
        for edge in graph.steps(state) {
            let at = turns.iter().position(|(p, _)| *p == edge.process);
            let at = at.unwrap_or_else(|| {
                turns.push((edge.process, ProcessTurns::default()));
                turns.len() - 1
            });
            let turn = &mut turns[at].1;
            // The steps of one process are adjacent.
            turn.ready += u32::from(last != Some(edge.process));
            turn.steps |= component[edge.to as usize] == here;
            last = Some(edge.process);
        }
    }
    if !turns.iter().any(|(_, turn)| turn.steps) {
        return Judgement::Unfair;
    }
    let passed_over = turns.iter().filter(|(_, turn)| !turn.steps);
    match fairness {
        Fairness::Weak => {
            let mut passed_over = passed_over;
            let size = members.len() as u32;
            if passed_over.all(|(_, turn)| turn.ready < size) {
                Judgement::Fair
            } else {
                Judgement::Unfair
            }
        }
        Fairness::Strong => {
            let starving: SmallVec<_> = passed_over.map(|(process, _)| *process).collect();
            if starving.is_empty() {
                Judgement::Fair
            } else {
                Judgement::Without(starving)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(states: usize, edges: &[(u32, u32, u32)]) -> Graph {
        let edge = |&(from, process, to): &(u32, u32, u32)| Edge {
            from,
            process: ProcessId(process),
            to,
        };
        let go_on = &mut || ControlFlow::Continue(());
        let edges = edges.iter().map(edge).collect();
        let graph = Graph::new(states, edges, &mut LimitChecks::new(go_on));
        graph.continue_value().expect("no limit")
    }

    /// Returns the states of a run that avoids some states, and the index where it begins to
    /// repeat.
    fn avoiding(
        graph: &Graph,
        avoided: &[u32],
        fairness: Fairness,
    ) -> Option<(Vec<u32>, Option<usize>)> {
        let quest = CycleQuery {
            from: |_| true,
            within: |state| !avoided.contains(&state),
            ends: true,
            fairness,
        };
        let go_on = &mut || ControlFlow::Continue(());
        let lasso = quest.lasso(graph, &mut LimitChecks::new(go_on));
        let Lasso { path, stem } = lasso.continue_value().expect("no limit")?;
        Some((path.iter().map(|edge| edge.to).collect(), stem))
    }

    #[test]
    fn strong_fairness_serves_a_process_that_is_ready_now_and_then() {
        // Process 1 is ready in 0 but not in 1; its step leads to 2, which is avoided.
        let edges = [(0, 0, 1), (1, 0, 0), (0, 1, 2), (2, 0, 0)];
        let graph = graph(3, &edges);
        let weak = avoiding(&graph, &[2], Fairness::Weak);
        assert_eq!(weak, Some((vec![1, 0], Some(0))));
        assert_eq!(avoiding(&graph, &[2], Fairness::Strong), None);
        let all = avoiding(&graph, &[], Fairness::Strong);
        assert_eq!(all, Some((vec![2, 0], Some(0))));
    }

    #[test]
    fn a_part_of_a_component_may_be_strongly_fair() {
        // Process 1 starves in the cycle of 0 and 1, and in the whole component. The cycle of 2 and
        // 3 is fair, because process 1 is ready in neither state.
        let edges = [
            (0, 0, 1),
            (1, 0, 0),
            (1, 1, 4),
            (1, 0, 2),
            (2, 0, 3),
            (3, 0, 2),
            (3, 0, 0),
        ];
        let graph = graph(5, &edges);
        let strong = avoiding(&graph, &[4], Fairness::Strong);
        assert_eq!(strong, Some((vec![1, 2, 3, 2], Some(2))));
        let weak = avoiding(&graph, &[4], Fairness::Weak);
        assert_eq!(weak, Some((vec![1, 0], Some(0))));
    }

    #[test]
    fn removing_states_may_starve_another_process() {
        // Without state 1, where process 1 is ready, process 2 is ready in 2 but has no step left.
        let edges = [
            (0, 0, 1),
            (1, 1, 3),
            (1, 2, 0),
            (0, 0, 2),
            (2, 0, 0),
            (2, 2, 1),
        ];
        let graph = graph(4, &edges);
        assert_eq!(avoiding(&graph, &[3], Fairness::Strong), None);
        assert!(avoiding(&graph, &[3], Fairness::Weak).is_some());
    }

    #[test]
    fn states_found_or_removed_are_not_examined_again() {
        // The first round finds 2 and 3, each with a step to itself, and removes 1, which has a
        // step to itself, too: process 1 starves there.
        let edges = [
            (0, 0, 1),
            (1, 0, 0),
            (1, 0, 1),
            (1, 1, 2),
            (2, 0, 2),
            (2, 0, 3),
            (3, 0, 3),
            (3, 0, 2),
        ];
        let graph = graph(4, &edges);
        let go_on = &mut || ControlFlow::Continue(());
        let parts = Parts::new(
            &graph,
            |_| true,
            Fairness::Strong,
            &mut LimitChecks::new(go_on),
        );
        let parts = parts.continue_value().expect("no limit");
        let of = [0, 1, 2, 3].map(|state| parts.of(state));
        assert_eq!(of, [None, None, Some(0), Some(0)]);
    }

    #[test]
    fn cycles_are_shortest() {
        // Process 1 gets a turn soon through 1 and 2, and sooner through 3, but then the whole path
        // is longer.
        let edges = [
            (0, 0, 1),
            (0, 1, 4),
            (1, 0, 0),
            (1, 1, 2),
            (2, 0, 3),
            (3, 0, 0),
            (2, 1, 3),
            (3, 1, 0),
            (4, 0, 0),
            (4, 1, 0),
        ];
        let graph = graph(5, &edges);
        for fairness in Fairness::ALL {
            let (path, stem) = avoiding(&graph, &[], fairness).expect("a cycle");
            assert_eq!((path.len(), stem), (2, Some(0)), "{path:?}");
        }
    }

    #[test]
    fn both_searches_for_a_cycle_find_fair_ones() {
        let edges = [
            (0, 0, 1),
            (1, 1, 2),
            (2, 2, 0),
            (0, 1, 3),
            (3, 0, 0),
            (3, 2, 2),
        ];
        let graph = graph(4, &edges);
        let go_on = &mut || ControlFlow::Continue(());
        let looks = &mut LimitChecks::new(go_on);
        for fairness in Fairness::ALL {
            let parts = Parts::new(&graph, |_| true, fairness, looks);
            let parts = parts.continue_value().expect("no limit");
            for start in 0..4 {
                let shortest = parts.shortest_round(&graph, start, looks);
                let some = parts.some_round(&graph, start, looks);
                let [shortest, some] = [shortest, some].map(|cycle| {
                    let cycle = cycle.continue_value().expect("no limit");
                    let cycle = cycle.expect("a cycle");
                    let mut turns = Turns::at(&graph, start);
                    let mut here = start;
                    for edge in &cycle {
                        assert_eq!(edge.from, here);
                        here = edge.to;
                        turns = turns.after(&graph, edge, fairness);
                    }
                    assert_eq!((here, turns.pending.len()), (start, 0));
                    cycle.len()
                });
                assert!(shortest <= some, "{shortest} {some}");
            }
        }
    }
}
