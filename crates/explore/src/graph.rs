//! Graphs of states: strong components and shortest paths.
//!
//! Components by Tarjan (*Depth-first search and linear graph algorithms*, SIAM J. Computing
//! 1972), with an explicit stack, for state graphs are deep.
//!
//! | paper | here |
//! |---|---|
//! | NUMBER | `number` |
//! | LOWLINK | `low` |
//! | the stack of points | `open` |

use std::collections::VecDeque;
use std::ops::Range;

use mazurka_core::ProcessId;

/// A step from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub from: u32,
    pub process: ProcessId,
    pub to: u32,
}

/// States, numbered from 0, the initial one, and steps.
#[derive(Debug)]
pub(crate) struct Graph {
    edges: Vec<Edge>,
    /// For each state its first edge; and one more.
    first: Vec<u32>,
}

/// No state, or not yet numbered.
const NONE: u32 = u32::MAX;

impl Graph {
    /// A graph of so many states.
    pub fn new(states: usize, mut edges: Vec<Edge>) -> Self {
        edges.sort_unstable();
        edges.dedup();
        let mut first = Vec::with_capacity(states + 1);
        let mut at = 0;
        for state in 0..=states as u32 {
            while edges.get(at).is_some_and(|edge| edge.from < state) {
                at += 1;
            }
            first.push(at as u32);
        }
        Self { edges, first }
    }

    /// How many states there are.
    pub fn len(&self) -> usize {
        self.first.len() - 1
    }

    fn places(&self, state: u32) -> Range<usize> {
        self.first[state as usize] as usize..self.first[state as usize + 1] as usize
    }

    /// The steps from a state, by process.
    pub fn steps(&self, state: u32) -> &[Edge] {
        &self.edges[self.places(state)]
    }

    /// For each state the number of its strong component, and how many there are.
    pub fn components(&self) -> (Vec<u32>, u32) {
        let mut component = vec![NONE; self.len()];
        let mut number = vec![NONE; self.len()];
        let mut low = vec![NONE; self.len()];
        let mut count = 0;
        let mut components = 0;
        let mut open: Vec<u32> = Vec::new();
        // States on the way, each with its next edge.
        let mut path: Vec<(u32, usize)> = Vec::new();
        for root in 0..self.len() as u32 {
            if number[root as usize] != NONE {
                continue;
            }
            path.push((root, self.places(root).start));
            while let Some((state, next)) = path.last_mut() {
                let state = *state;
                let s = state as usize;
                if number[s] == NONE {
                    number[s] = count;
                    low[s] = count;
                    count += 1;
                    open.push(state);
                }
                if *next < self.places(state).end {
                    let to = self.edges[*next].to;
                    *next += 1;
                    if number[to as usize] == NONE {
                        path.push((to, self.places(to).start));
                    } else if component[to as usize] == NONE {
                        low[s] = low[s].min(number[to as usize]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(parent, _)) = path.last() {
                    low[parent as usize] = low[parent as usize].min(low[s]);
                }
                if low[s] == number[s] {
                    while let Some(member) = open.pop() {
                        component[member as usize] = components;
                        if member == state {
                            break;
                        }
                    }
                    components += 1;
                }
            }
        }
        (component, components)
    }

    /// A shortest way along `allowed` edges to a state that is `wanted`, or past an edge that is. Where several are equally short, it
    /// rather stays with a process than changes to another one.
    pub fn way(
        &self,
        from: u32,
        allowed: impl Fn(&Edge) -> bool,
        wanted_state: impl Fn(u32) -> bool,
        wanted_edge: impl Fn(&Edge) -> bool,
    ) -> Option<Vec<Edge>> {
        if wanted_state(from) {
            return Some(Vec::new());
        }
        let mut came: rustc_hash::FxHashMap<u32, usize> = rustc_hash::FxHashMap::default();
        let mut queue = VecDeque::from([from]);
        let trace_back = |came: &rustc_hash::FxHashMap<u32, usize>, last: usize| {
            let mut way = vec![self.edges[last]];
            let mut at = self.edges[last].from;
            while at != from {
                let edge = self.edges[came[&at]];
                way.push(edge);
                at = edge.from;
            }
            way.reverse();
            way
        };
        while let Some(state) = queue.pop_front() {
            let last = came.get(&state).map(|&place| self.edges[place].process);
            let stays = |place: &usize| Some(self.edges[*place].process) == last;
            let changes = |place: &usize| !stays(place);
            let places = || self.places(state);
            for place in places().filter(stays).chain(places().filter(changes)) {
                let edge = &self.edges[place];
                if !allowed(edge) {
                    continue;
                }
                if wanted_edge(edge) || wanted_state(edge.to) {
                    return Some(trace_back(&came, place));
                }
                if edge.to != from && !came.contains_key(&edge.to) {
                    came.insert(edge.to, place);
                    queue.push_back(edge.to);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_shortest_ways_one_with_few_changes() {
        let edges = [
            (0, 1, 1),
            (1, 0, 2),
            (1, 1, 3),
            (2, 1, 4),
            (3, 0, 4),
            (4, 0, 5),
        ];
        let edges = edges.map(|(from, process, to)| edge(from, process, to));
        let graph = Graph::new(6, edges.to_vec());
        let way = graph.way(0, |_| true, |state| state == 5, |_| false);
        let processes: Vec<u32> = way.expect("a way").iter().map(|e| e.process.0).collect();
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
        let (of, count) = Graph::new(6, edges).components();
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
        let (of, count) = Graph::new(states as usize, edges).components();
        assert_eq!((count, of[0]), (1, 0));
    }

    #[test]
    fn ways_are_shortest() {
        let edges = vec![edge(0, 0, 1), edge(1, 0, 2), edge(0, 1, 2), edge(2, 0, 0)];
        let graph = Graph::new(3, edges);
        let all = |_: &Edge| true;
        let none = |_: &Edge| false;
        let way = graph.way(0, all, |s| s == 2, none);
        assert_eq!(way, Some(vec![edge(0, 1, 2)]));
        let way = graph.way(0, |e| e.process == ProcessId(0), |s| s == 2, none);
        assert_eq!(way, Some(vec![edge(0, 0, 1), edge(1, 0, 2)]));
        assert_eq!(graph.way(0, none, |s| s == 2, none), None);
        assert_eq!(graph.way(0, all, |s| s == 0, none), Some(vec![]));
    }
}
