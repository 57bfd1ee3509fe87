//! Cycles of the state graph in which a fair run can stay for ever.

use std::collections::BTreeSet;

/// For each state, the steps from it: the process that makes the step, and the next state.
pub(super) type Graph = Vec<Vec<(usize, usize)>>;

/// Whether some cycle is fair (every process that is ready in all its states makes a step in it)
/// and passes a state in which a process that is meant to end is still running.
pub(super) fn fair(graph: &Graph, unended: &[bool]) -> bool {
    let component = components(graph);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); graph.len()];
    for (state, &number) in component.iter().enumerate() {
        members[number].push(state);
    }
    members
        .iter()
        .filter(|states| states.iter().any(|&state| unended[state]))
        .any(|states| is_fair(graph, &component, states))
}

/// Whether a run that repeats all steps of a strongly connected component is fair. A run that
/// repeats only a part of the steps has fewer processes that make a step, and more processes that
/// are ready all the time. So if such a run is fair, then a run that repeats all steps is fair,
/// too, and only whole components need to be examined.
fn is_fair(graph: &Graph, component: &[usize], states: &[usize]) -> bool {
    let mut stepping = BTreeSet::new();
    let mut ready: Option<BTreeSet<usize>> = None;
    for &state in states {
        let here: BTreeSet<_> = graph[state].iter().map(|(process, _)| *process).collect();
        ready = Some(match ready {
            Some(before) => before.intersection(&here).copied().collect(),
            None => here,
        });
        let inside = graph[state]
            .iter()
            .filter(|(_, to)| component[*to] == component[state]);
        stepping.extend(inside.map(|(process, _)| *process));
    }
    !stepping.is_empty() && ready.is_some_and(|ready| ready.is_subset(&stepping))
}

/// Returns the strongly connected component of each state (Tarjan's algorithm, without recursion).
fn components(graph: &Graph) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let mut index = vec![NONE; graph.len()];
    let mut low = vec![0; graph.len()];
    let mut component = vec![NONE; graph.len()];
    let (mut next, mut found) = (0, 0);
    let mut stack = Vec::new();
    for root in 0..graph.len() {
        if index[root] != NONE {
            continue;
        }
        let mut walk = vec![(root, 0)];
        while let Some((state, edge)) = walk.pop() {
            if edge == 0 {
                (index[state], low[state]) = (next, next);
                next += 1;
                stack.push(state);
            }
            if let Some(&(_, to)) = graph[state].get(edge) {
                walk.push((state, edge + 1));
                if index[to] == NONE {
                    walk.push((to, 0));
                } else if component[to] == NONE {
                    low[state] = low[state].min(index[to]);
                }
                continue;
            }
            if low[state] == index[state] {
                while let Some(member) = stack.pop() {
                    component[member] = found;
                    if member == state {
                        break;
                    }
                }
                found += 1;
            }
            if let Some(&(parent, _)) = walk.last() {
                low[parent] = low[parent].min(low[state]);
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::fair;

    #[test]
    fn a_process_that_is_ready_all_along_must_step() {
        // Process 0 spins; process 1 could end it.
        assert!(!fair(&vec![vec![(0, 0), (1, 1)], vec![]], &[true; 3]));
        assert!(fair(&vec![vec![(0, 0)]], &[true; 3]));
        // Process 1 is not ready in state 1.
        assert!(fair(
            &vec![vec![(0, 1), (1, 2)], vec![(0, 0)], vec![]],
            &[true; 3]
        ));
        assert!(!fair(&vec![vec![(0, 1)], vec![]], &[true; 3]));
        // All running processes are endless.
        assert!(!fair(&vec![vec![(0, 0)]], &[false]));
    }
}
