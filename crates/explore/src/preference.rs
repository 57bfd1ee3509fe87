//! Who is run first where nothing else decides.
//!
//! Whoever it is, the same traces are explored, but not by the same number of steps: what stands behind a reversed
//! race is run again for each of its outcomes. So steps that race with nothing should come first, and
//! processes that race with each other should be neighbours: then a reversal is followed by
//! little that it does not concern. Which processes race is learned from the first run.

use mazurka_core::{ProcessId, ProcessTable};

/// Those that race with nobody, then each of the others followed by those that it races with, in the order of their names.
pub(crate) fn preference(
    races: impl Iterator<Item = (ProcessId, ProcessId)>,
    processes: &ProcessTable,
) -> Vec<ProcessId> {
    let all = processes.in_order();
    let mut rank = vec![0; all.len()];
    for (place, process) in all.iter().enumerate() {
        rank[process.index()] = place;
    }
    let mut rivals = vec![Vec::new(); all.len()];
    for (one, other) in races {
        let (one, other) = (rank[one.index()], rank[other.index()]);
        rivals[one].push(other);
        rivals[other].push(one);
    }
    let alone = (0..all.len()).filter(|&place| rivals[place].is_empty());
    let mut chosen: Vec<usize> = alone.collect();
    let mut done: Vec<bool> = rivals.iter().map(Vec::is_empty).collect();
    let mut next: Vec<usize> = (0..all.len()).rev().collect();
    while let Some(place) = next.pop() {
        if !std::mem::replace(&mut done[place], true) {
            chosen.push(place);
            rivals[place].sort_unstable();
            rivals[place].dedup();
            next.extend(rivals[place].iter().rev());
        }
    }
    chosen.into_iter().map(|place| all[place]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rivals_are_neighbours_and_loners_first() {
        let races = [(0, 3), (1, 4), (3, 0), (4, 5)];
        let races = races.into_iter().map(|(a, b)| (ProcessId(a), ProcessId(b)));
        let order = preference(races, &ProcessTable::new(6));
        let order: Vec<u32> = order.iter().map(|process| process.0).collect();
        assert_eq!(order, [2, 0, 3, 1, 4, 5]);
    }
}
