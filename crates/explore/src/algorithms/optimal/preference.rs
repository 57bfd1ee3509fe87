//! The order in which processes are run where the algorithm leaves it open.
//!
//! Every choice leads to the same traces, but not with the same number of steps: the steps after a
//! reversed race are run again for each of its orders. So steps that race with nothing should come
//! first, and processes that race with each other should be run one right after the other: then few
//! unrelated steps follow a reversal. The first run shows which processes race and which steps
//! cannot race: those whose accesses all release locks, read cells that no other process changes,
//! or write cells that no other process touches.
//!
//! *An order, never a filter.* One run does not show the steps of a process in another run: a child
//! that ends immediately in the first run may make steps in another. So the first run only gives a
//! list of hints. [`Preference::first`] tries these, and after the hints it tries every process. So
//! it always finds a process that satisfies `can`, if there is one, whatever the hints are; a test
//! gives it empty hints and wrong hints.

use mazurka_core::{Access, AccessKind, Event, ProcessId, ProcessTable};

/// Hints about which process to run first.
#[derive(Debug, Default)]
pub(crate) struct Preference {
    /// Processes that race, each followed by the processes that it races with.
    rivals: Vec<ProcessId>,
    /// For each process, by its index, whether it is among the rivals. A process beyond the end of
    /// the list is not.
    races: Vec<bool>,
    /// Processes that made steps in the first run but did not race. A process without steps there
    /// is not in the list.
    loners: Vec<ProcessId>,
    /// Processes that race with some of their steps only. The bits say which of the first 64 steps
    /// race with nothing.
    partly_free: Vec<(ProcessId, u64)>,
}

/// The processes that have accessed a cell.
#[derive(Clone, Copy, Default, PartialEq)]
enum Accessors {
    #[default]
    None,
    Only(ProcessId),
    Several,
}

impl Accessors {
    fn add(&mut self, process: ProcessId) {
        *self = match *self {
            Accessors::None => Accessors::Only(process),
            Accessors::Only(known) if known == process => *self,
            _ => Accessors::Several,
        };
    }

    fn is_but(self, process: ProcessId) -> bool {
        !matches!(self, Accessors::None) && self != Accessors::Only(process)
    }
}

/// For each event of a run, whether it cannot race with any other event of the run.
fn free(run: &[Event]) -> Vec<bool> {
    // For each cell, the processes that touch it, and those that change it.
    let mut cells: Vec<[Accessors; 2]> = Vec::new();
    let each = |access: &Access| access.cells();
    for event in run {
        for access in &event.claims {
            for cell in each(access) {
                if cells.len() <= cell {
                    cells.resize(cell + 1, Default::default());
                }
                cells[cell][0].add(event.process);
                if access.writes() {
                    cells[cell][1].add(event.process);
                }
            }
        }
    }
    let mine = |event: &Event, access: &Access| {
        let rivals = usize::from(!access.writes());
        access.kind == AccessKind::Release
            || each(access).all(|cell| !cells[cell][rivals].is_but(event.process))
    };
    let free = |event: &Event| event.claims.iter().all(|access| mine(event, access));
    run.iter().map(free).collect()
}

impl Preference {
    /// Creates hints from a run and from the pairs of processes that race in it.
    pub fn new(
        pairs: impl Iterator<Item = (ProcessId, ProcessId)>,
        processes: &ProcessTable,
        run: &[Event],
    ) -> Self {
        let mut found = vec![Vec::new(); processes.len()];
        for (one, other) in pairs {
            found[one.index()].push(other);
            found[other.index()].push(one);
        }
        let races: Vec<bool> = found.iter().map(|rivals| !rivals.is_empty()).collect();
        let mut moved = vec![false; processes.len()];
        for event in run {
            moved[event.process.index()] = true;
        }
        let all = processes.in_order().iter().copied();
        let loners = all.filter(|process| !races[process.index()] && moved[process.index()]);
        let loners = loners.collect();
        let mut rivals = Vec::new();
        let mut done = vec![false; processes.len()];
        let mut next: Vec<ProcessId> = processes.in_order().iter().rev().copied().collect();
        while let Some(process) = next.pop() {
            let of_process = &mut found[process.index()];
            if !of_process.is_empty() && !std::mem::replace(&mut done[process.index()], true) {
                rivals.push(process);
                of_process.sort_by_key(|&process| processes.path(process));
                of_process.dedup();
                next.extend(of_process.iter().rev());
            }
        }
        let mut steps = vec![(0, 0_u64); processes.len()];
        for (event, free) in run.iter().zip(free(run)) {
            let (made, bits) = &mut steps[event.process.index()];
            *bits |= u64::from(free).checked_shl(*made).unwrap_or(0);
            *made += 1;
        }
        let partly = |&process: &ProcessId| (process, steps[process.index()].1);
        let partly_free = rivals.iter().map(partly).filter(|(_, free)| *free != 0);
        Self {
            partly_free: partly_free.collect(),
            loners,
            rivals,
            races,
        }
    }

    /// Returns the first process that satisfies `can`, or `None` if no process does. `made` returns
    /// the number of steps that a process has made.
    #[inline(always)]
    pub fn first(
        &self,
        processes: &ProcessTable,
        can: impl Fn(ProcessId) -> bool,
        made: impl Fn(ProcessId) -> u32,
    ) -> Option<ProcessId> {
        if processes.len() > self.races.len() {
            let alone = |process: ProcessId| !self.races.get(process.index()).unwrap_or(&false);
            for &process in processes.in_order() {
                if alone(process) && can(process) {
                    return Some(process);
                }
            }
        } else {
            for &process in &self.loners {
                if can(process) {
                    return Some(process);
                }
            }
        }
        for &(process, free) in &self.partly_free {
            let step = free.checked_shr(made(process)).unwrap_or(0);
            if step & 1 == 1 && can(process) {
                return Some(process);
            }
        }
        for &process in &self.rivals {
            if can(process) {
                return Some(process);
            }
        }
        any(processes, can)
    }
}

/// Returns the first of all processes that can be run. Called rarely; usually no process can be run
/// then.
#[cold]
fn any(processes: &ProcessTable, can: impl Fn(ProcessId) -> bool) -> Option<ProcessId> {
    processes.in_order().iter().copied().find(|&p| can(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rivals_are_neighbours_and_loners_first() {
        let pairs = [(0, 3), (1, 4), (3, 0), (4, 5)];
        let pairs = pairs.into_iter().map(|(a, b)| (ProcessId(a), ProcessId(b)));
        let preference = Preference::new(pairs, &ProcessTable::new(6), &[]);
        // One more process than the hints cover.
        assert_eq!(order(&preference, 7), [2, 6, 0, 3, 1, 4, 5]);
    }

    /// Returns the order in which a preference runs this many processes.
    fn order(preference: &Preference, processes: u32) -> Vec<u32> {
        let processes = ProcessTable::new(processes);
        let mut order = Vec::new();
        while let Some(process) =
            preference.first(&processes, |process| !order.contains(&process.0), |_| 0)
        {
            order.push(process.0);
        }
        order
    }

    #[test]
    fn every_process_gets_its_turn_whatever_the_hints_are() {
        // The run gives no hints about the six processes, or hints about only one of them.
        let without_hints = Preference::new([].into_iter(), &ProcessTable::new(6), &[]);
        assert_eq!(order(&without_hints, 6), [0, 1, 2, 3, 4, 5]);
        let run = [Event::new(ProcessId(4), 0)];
        let one_moved = Preference::new([].into_iter(), &ProcessTable::new(6), &run);
        assert_eq!(order(&one_moved, 6), [4, 0, 1, 2, 3, 5]);
        // Hints that no run could give.
        let wrong = Preference {
            races: vec![true; 3],
            ..Preference::default()
        };
        for processes in 0..6 {
            let mut all = order(&wrong, processes);
            all.sort_unstable();
            assert_eq!(all, Vec::from_iter(0..processes));
        }
    }
}
