//! Graphs of states: strong components and shortest paths.
//!
//! Components by Tarjan (*Depth-first search and linear graph algorithms*, SIAM J. Computing 1972),
//! with an explicit stack, because state graphs are deep.
//!
//! | paper | here |
//! |---|---|
//! | NUMBER | `number` |
//! | LOWLINK | the third field of `path`: it matters only while a state is on the path |
//! | the stack of points | `open` |
//!
//! A graph may be as large as the memory allows. So every traversal checks the limits and needs
//! little memory besides the graph.

use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};

use mazurka_core::{Bound, ProcessId};

/// A step from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub from: u32,
    pub process: ProcessId,
    pub to: u32,
}

/// States, numbered from 0 (the initial one), and the steps between them.
#[derive(Debug)]
pub(crate) struct Graph {
    /// The edges, by the state that they leave, then by process.
    edges: Vec<Edge>,
    /// For each state, the index of its first edge; and one more entry at the end.
    first: Vec<u32>,
}

/// Represents the absence of a state, and a number that is not known yet.
pub(crate) const NONE: u32 = u32::MAX;

/// Checks the limits at intervals.
pub(crate) struct LimitChecks<'a> {
    look: &'a mut dyn FnMut() -> ControlFlow<Bound>,
    /// Number of edges or states since the last check.
    passed: u32,
}

impl<'a> LimitChecks<'a> {
    pub fn new(look: &'a mut dyn FnMut() -> ControlFlow<Bound>) -> Self {
        Self { look, passed: 0 }
    }

    /// Must be called for every edge or state that a traversal visits.
    #[inline]
    pub fn pass(&mut self) -> ControlFlow<Bound> {
        self.passed += 1;
        if self.passed >= 1 << 15 {
            self.now()
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Must be called after a large piece of work.
    pub fn now(&mut self) -> ControlFlow<Bound> {
        self.passed = 0;
        (self.look)()
    }
}

/// Sorts edges: first into buckets by state, in place, then each bucket. Sorting can be broken off
/// between two buckets.
fn sort(edges: &mut [Edge], states: usize, looks: &mut LimitChecks<'_>) -> ControlFlow<Bound> {
    const BUCKETS: usize = 256;
    let bucket = |edge: &Edge| (edge.from as usize * BUCKETS / states.max(1)).min(BUCKETS - 1);
    let mut ends = [0; BUCKETS];
    for edge in &*edges {
        looks.pass()?;
        ends[bucket(edge)] += 1;
    }
    let mut starts = [0; BUCKETS];
    let mut before = 0;
    for (start, end) in starts.iter_mut().zip(&mut ends) {
        *start = before;
        before += *end;
        *end = before;
    }
    let mut next = starts;
    for at in 0..BUCKETS {
        while next[at] < ends[at] {
            looks.pass()?;
            let home = bucket(&edges[next[at]]);
            edges.swap(next[at], next[home]);
            next[home] += 1;
        }
    }
    for (start, end) in starts.into_iter().zip(ends) {
        looks.now()?;
        edges[start..end].sort_unstable();
    }
    ControlFlow::Continue(())
}

/// The edges that a path may take, and where it ends.
pub(crate) struct Route<A, S, P> {
    /// The edges that the path may take.
    pub along: A,
    /// The states in which it ends.
    pub to: S,
    /// The edges after which it ends.
    pub past: P,
}

impl Graph {
    /// Creates a graph of `states` states.
    pub fn new(
        states: usize,
        mut edges: Vec<Edge>,
        looks: &mut LimitChecks<'_>,
    ) -> ControlFlow<Bound, Self> {
        sort(&mut edges, states, looks)?;
        edges.dedup();
        let mut first = Vec::with_capacity(states + 1);
        let mut at = 0;
        for state in 0..=states as u32 {
            while edges.get(at).is_some_and(|edge| edge.from < state) {
                at += 1;
            }
            first.push(at as u32);
        }
        looks.now()?;
        ControlFlow::Continue(Self { edges, first })
    }

    /// Returns the number of states.
    pub fn len(&self) -> usize {
        self.first.len() - 1
    }

    fn places(&self, state: u32) -> Range<usize> {
        self.first[state as usize] as usize..self.first[state as usize + 1] as usize
    }

    /// Returns the steps from a state, by process.
    pub fn steps(&self, state: u32) -> &[Edge] {
        &self.edges[self.places(state)]
    }

    /// Returns the strong component of each state in the graph of the edges `along`. Calls `found`
    /// with the members of each component as soon as they are all known, and with the components of
    /// all states so far ([`NONE`] if not known yet). Components are numbered in this order, so all
    /// components that the edges of a component lead to come before it.
    pub fn components(
        &self,
        along: impl Fn(&Edge) -> bool,
        looks: &mut LimitChecks<'_>,
        mut found: impl FnMut(&[u32], &[u32]),
    ) -> ControlFlow<Bound, Vec<u32>> {
        let mut component = vec![NONE; self.len()];
        let mut number = vec![NONE; self.len()];
        let mut count = 0;
        let mut components = 0;
        let mut open: Vec<u32> = Vec::new();
        // The states on the path, each with its next edge and its low link.
        let mut path: Vec<(u32, usize, u32)> = Vec::new();
        looks.now()?;
        for root in 0..self.len() as u32 {
            if number[root as usize] != NONE {
                continue;
            }
            path.push((root, self.places(root).start, NONE));
            while let Some((state, next, low)) = path.last_mut() {
                looks.pass()?;
                let state = *state;
                let s = state as usize;
                if number[s] == NONE {
                    number[s] = count;
                    *low = count;
                    count += 1;
                    open.push(state);
                }
                if *next < self.places(state).end {
                    let edge = &self.edges[*next];
                    let to = edge.to;
                    *next += 1;
                    if !along(edge) {
                        continue;
                    }
                    if number[to as usize] == NONE {
                        path.push((to, self.places(to).start, NONE));
                    } else if component[to as usize] == NONE {
                        *low = (*low).min(number[to as usize]);
                    }
                    continue;
                }
                let low = *low;
                path.pop();
                if let Some((_, _, above)) = path.last_mut() {
                    *above = (*above).min(low);
                }
                if low == number[s] {
                    let first = open.iter().rposition(|&member| member == state);
                    let first = first.unwrap_or(0);
                    for &member in &open[first..] {
                        component[member as usize] = components;
                    }
                    components += 1;
                    found(&open[first..], &component);
                    open.truncate(first);
                }
            }
        }
        ControlFlow::Continue(component)
    }

    /// Returns a shortest path along the edges of a route. It ends in a state of `to` or with an
    /// edge of `past`; the result is `None` if there is no such path. Of equally short paths it
    /// prefers those with fewer switches between processes.
    pub fn shortest_path<A, S, P>(
        &self,
        from: u32,
        route: &Route<A, S, P>,
        looks: &mut LimitChecks<'_>,
    ) -> ControlFlow<Bound, Option<Vec<Edge>>>
    where
        A: Fn(&Edge) -> bool,
        S: Fn(u32) -> bool,
        P: Fn(&Edge) -> bool,
    {
        let Route { along, to, past } = route;
        if to(from) {
            return ControlFlow::Continue(Some(Vec::new()));
        }
        let mut came: rustc_hash::FxHashMap<u32, usize> = rustc_hash::FxHashMap::default();
        let mut queue = VecDeque::from([from]);
        let trace_back = |came: &rustc_hash::FxHashMap<u32, usize>, last: usize| {
            let mut path = vec![self.edges[last]];
            let mut at = self.edges[last].from;
            while at != from {
                let edge = self.edges[came[&at]];
                path.push(edge);
                at = edge.from;
            }
            path.reverse();
            path
        };
        while let Some(state) = queue.pop_front() {
            let last = came.get(&state).map(|&place| self.edges[place].process);
            let stays = |place: &usize| Some(self.edges[*place].process) == last;
            let changes = |place: &usize| !stays(place);
            let places = || self.places(state);
            for place in places().filter(stays).chain(places().filter(changes)) {
                looks.pass()?;
                let edge = &self.edges[place];
                if !along(edge) {
                    continue;
                }
                if past(edge) || to(edge.to) {
                    return ControlFlow::Continue(Some(trace_back(&came, place)));
                }
                if edge.to != from && !came.contains_key(&edge.to) {
                    came.insert(edge.to, place);
                    queue.push_back(edge.to);
                }
            }
        }
        ControlFlow::Continue(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs without limits.
    fn unlimited<T>(work: impl FnOnce(&mut LimitChecks<'_>) -> ControlFlow<Bound, T>) -> T {
        match work(&mut LimitChecks::new(&mut || ControlFlow::Continue(()))) {
            ControlFlow::Continue(result) => result,
            ControlFlow::Break(bound) => panic!("there is no limit: {bound}"),
        }
    }

    fn graph(states: usize, edges: Vec<Edge>) -> Graph {
        unlimited(|looks| Graph::new(states, edges, looks))
    }

    /// Returns the component of each state, and the number of components.
    fn components(graph: &Graph) -> (Vec<u32>, u32) {
        let mut count = 0;
        let of = unlimited(|looks| graph.components(|_| true, looks, |_, _| count += 1));
        (of, count)
    }

    #[test]
    fn a_limit_breaks_off_the_construction() {
        let limit = ControlFlow::Break(Bound::Interrupted);
        let mut look = || limit;
        let made = Graph::new(2, vec![edge(0, 0, 1)], &mut LimitChecks::new(&mut look));
        assert!(made.is_break());
        let graph = graph(2, vec![edge(0, 0, 1)]);
        let found = graph.components(|_| true, &mut LimitChecks::new(&mut look), |_, _| {});
        assert!(found.is_break());
    }

    #[test]
    fn edges_are_sorted() {
        let mut edges: Vec<Edge> = (0..5000u32)
            .map(|n| edge(n.wrapping_mul(2_654_435_761) % 997, n % 3, n % 997))
            .collect();
        let mut sorted = edges.clone();
        sorted.sort_unstable();
        unlimited(|looks| sort(&mut edges, 997, looks));
        assert_eq!(edges, sorted);
    }

    #[test]
    fn a_shortest_path_has_few_switches() {
        let edges = [
            (0, 1, 1),
            (1, 0, 2),
            (1, 1, 3),
            (2, 1, 4),
            (3, 0, 4),
            (4, 0, 5),
        ];
        let edges = edges.map(|(from, process, to)| edge(from, process, to));
        let graph = graph(6, edges.to_vec());
        let route = Route {
            along: |_: &Edge| true,
            to: |state| state == 5,
            past: |_: &Edge| false,
        };
        let path = unlimited(|looks| graph.shortest_path(0, &route, looks));
        let processes: Vec<u32> = path.expect("a path").iter().map(|e| e.process.0).collect();
        assert_eq!(processes, [1, 1, 0, 0]);
    }

    pub(crate) fn edge(from: u32, process: u32, to: u32) -> Edge {
        Edge {
            from,
            process: ProcessId(process),
            to,
        }
    }

    #[test]
    fn components_are_those_of_the_book() {
        // 0 ⇄ 1 → 2 ⇄ 3, 2 → 4 with a loop, 5 alone.
        let edges = vec![
            edge(0, 0, 1),
            edge(1, 0, 0),
            edge(1, 1, 2),
            edge(2, 0, 3),
            edge(3, 0, 2),
            edge(2, 1, 4),
            edge(4, 0, 4),
            edge(1, 2, 5),
        ];
        let (of, count) = components(&graph(6, edges));
        assert_eq!(count, 4);
        assert!(of[0] == of[1] && of[2] == of[3]);
        let mut all = vec![of[0], of[2], of[4], of[5]];
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3]);
    }

    #[test]
    fn deep_graphs_need_no_deep_stack() {
        let states = 300_000;
        let mut edges: Vec<Edge> = (0..states - 1).map(|s| edge(s, 0, s + 1)).collect();
        edges.push(edge(states - 1, 0, 0));
        let (of, count) = components(&graph(states as usize, edges));
        assert_eq!((count, of[0]), (1, 0));
    }

    #[test]
    fn paths_are_shortest() {
        let edges = vec![edge(0, 0, 1), edge(1, 0, 2), edge(0, 1, 2), edge(2, 0, 0)];
        let graph = graph(3, edges);
        let path = |along: fn(&Edge) -> bool, end| {
            let to = |state| state == end;
            let past = |_: &Edge| false;
            unlimited(|looks| graph.shortest_path(0, &Route { along, to, past }, looks))
        };
        assert_eq!(path(|_| true, 2), Some(vec![edge(0, 1, 2)]));
        let first = |e: &Edge| e.process == ProcessId(0);
        assert_eq!(path(first, 2), Some(vec![edge(0, 0, 1), edge(1, 0, 2)]));
        assert_eq!(path(|_| false, 2), None);
        assert_eq!(path(|_| true, 0), Some(vec![]));
    }
}
