//! The graph of the states that a search meets, for properties of cycles instead of single runs:
//! [livelocks](crate::algorithms::livelock) and [temporal](crate::algorithms::temporal) properties.
//!
//! Steps from states with a halted process are left out: behaviour after a failure or a false
//! `assume` does not count.
//!
//! Memory: besides the table of the states, 18 bytes for each state, one bit for each state and
//! condition of a temporal property (in whole words), and 12 bytes for each step; at the end up to
//! 42 more bytes for each state.

use std::ops::ControlFlow;

use hashbrown::hash_table::Entry;
use mazurka_core::{
    Bound, Event, Fairness, Fingerprint, ProcessId, Schedule, Semantics, Status, Temporal,
};
use smallvec::SmallVec;

use crate::algorithms::graph::{Edge, Graph, LimitChecks};
use crate::algorithms::naive::next_outcomes;
use crate::algorithms::stateful::{Memory, MetState};
use crate::drive::findings::BrokenProperty;
use crate::drive::table::Table;

/// The states that were met, with their numbers, and the steps between them.
#[derive(Debug, Default)]
pub(crate) struct Map {
    numbers: Table<u32>,
    states: States,
    edges: Vec<Edge>,
    fairness: Fairness,
    /// For each `always` that some met state violates: the shortest of the runs in which the search
    /// met such a state. It is recorded immediately, because a limit may end the search before the
    /// graph is examined.
    violated: Vec<BrokenProperty>,
}

/// The states by their numbers.
#[derive(Debug, Default)]
struct States {
    prints: Vec<Fingerprint>,
    /// For each state, whether some process that should end has not ended.
    unended: Vec<bool>,
    /// For each state, whether a failure, a false `assume` or a limit has halted some process.
    halted: Vec<bool>,
    truths: Truths,
}

/// For each condition, the states in which it holds.
#[derive(Debug, Default)]
pub(crate) struct Truths {
    conditions: usize,
    /// For each state, its conditions as bits, in as many words as they need.
    bits: Vec<u64>,
    /// Whether some condition could not be computed in some state.
    pub undecided: bool,
}

impl Truths {
    fn new(conditions: usize) -> Self {
        Self {
            conditions,
            ..Self::default()
        }
    }

    /// Adds a state. For the index of a condition, `holds` returns whether the condition holds in
    /// the state; `None` if it could not be computed. If not `counts`, because a process is halted
    /// in the state, the state satisfies no condition.
    fn add(&mut self, counts: bool, holds: impl Fn(usize) -> Option<bool>) {
        for first in (0..self.conditions).step_by(64) {
            let mut word = 0;
            for condition in first..self.conditions.min(first + 64) {
                let truth = if counts {
                    holds(condition)
                } else {
                    Some(false)
                };
                self.undecided |= truth.is_none();
                word |= u64::from(truth == Some(true)) << (condition - first);
            }
            self.bits.push(word);
        }
    }

    /// Whether a condition holds in a state.
    pub fn holds(&self, state: u32, condition: usize) -> bool {
        let words = self.conditions.div_ceil(64);
        let word = self.bits[state as usize * words + condition / 64];
        word >> (condition % 64) & 1 == 1
    }
}

impl Memory for Map {
    /// The number of the state; `None` if a process has been halted in it, so that its steps are
    /// left out.
    type Mark = Option<u32>;

    fn meet<E: Semantics>(
        &mut self,
        program: &E,
        from: Option<(Option<u32>, &Event)>,
    ) -> MetState<Option<u32>> {
        let prints = &self.states.prints;
        let print = program.fingerprint();
        let hash = |print: Fingerprint| print.bits() as u64;
        let same = |&number: &u32| prints[number as usize] == print;
        let new = prints.len() as u32;
        let entry = self
            .numbers
            .entry(hash(print), same, |&n| hash(prints[n as usize]));
        let known = match entry {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(free) => {
                free.insert(new);
                None
            }
        };
        if let Some((Some(before), event)) = from {
            self.edges.push(Edge {
                from: before,
                process: event.process,
                to: known.unwrap_or(new),
            });
        }
        match known {
            Some(number) => {
                MetState::Known((!self.states.halted[number as usize]).then_some(number))
            }
            None => {
                let halted = self.states.add(program, print);
                if !halted {
                    self.note_violations(program, new);
                }
                MetState::New((!halted).then_some(new))
            }
        }
    }
}

impl States {
    /// Adds the current state. Returns whether it has a halted process.
    fn add<E: Semantics>(&mut self, program: &E, print: Fingerprint) -> bool {
        let all = program.processes().in_order();
        let unended = |&p: &ProcessId| match program.status(p) {
            Status::Ready | Status::Waiting => !program.is_endless(p),
            _ => false,
        };
        let halted = |&p: &ProcessId| {
            let status = program.status(p);
            matches!(status, Status::Failed | Status::Discarded | Status::Lost)
        };
        let is_halted = all.iter().any(halted);
        self.prints.push(print);
        self.unended.push(all.iter().any(unended));
        self.halted.push(is_halted);
        self.truths.add(!is_halted, |at| program.holds(at));
        is_halted
    }
}

impl Map {
    /// Creates an empty map for a program.
    pub fn new<E: Semantics>(program: &E) -> Self {
        let conditions = Temporal::conditions(program.temporal());
        Self {
            states: States {
                truths: Truths::new(conditions),
                ..States::default()
            },
            fairness: program.fairness(),
            ..Self::default()
        }
    }

    /// Records the `always` properties that the current state violates.
    fn note_violations<E: Semantics>(&mut self, program: &E, state: u32) {
        for (property, temporal) in program.temporal().iter().enumerate() {
            let Temporal::Always(e) = *temporal else {
                continue;
            };
            if self.states.truths.holds(state, e) || program.holds(e) != Some(false) {
                continue;
            }
            let run = program.whole();
            let known = self.violated.iter_mut().find(|b| b.property == property);
            if known
                .as_ref()
                .is_some_and(|b| b.schedule.0.len() <= run.len())
            {
                continue;
            }
            let broken = BrokenProperty {
                property,
                schedule: Schedule::from_run(run, program.processes()),
                lasso: None,
            };
            match known {
                Some(known) => *known = broken,
                None => self.violated.push(broken),
            }
        }
    }

    /// Takes the recorded violations of `always`.
    pub fn take_violated(&mut self) -> Vec<BrokenProperty> {
        std::mem::take(&mut self.violated)
    }

    /// Returns the graph of the states that were met.
    pub fn graph(self, looks: &mut LimitChecks<'_>) -> ControlFlow<Bound, StateGraph> {
        drop(self.numbers);
        let States {
            prints,
            unended,
            halted,
            truths,
        } = self.states;
        ControlFlow::Continue(StateGraph {
            graph: Graph::new(prints.len(), self.edges, looks)?,
            prints,
            unended,
            halted,
            truths,
            fairness: self.fairness,
        })
    }
}

/// The states that a search has met, and the steps between them.
#[derive(Debug)]
pub(crate) struct StateGraph {
    pub graph: Graph,
    prints: Vec<Fingerprint>,
    /// For each state, whether some process that should end has not ended.
    pub unended: Vec<bool>,
    /// For each state, whether a failure, a false `assume` or a limit has halted some process.
    pub halted: Vec<bool>,
    pub truths: Truths,
    pub fairness: Fairness,
}

impl StateGraph {
    /// Returns the schedule of a path through the graph from its first state.
    pub fn schedule<E: Semantics>(&self, program: &mut E, way: &[Edge]) -> Schedule {
        program.back_to(0);
        for (depth, edge) in way.iter().enumerate() {
            let mut outcomes = Some(SmallVec::new());
            while let Some(values) = outcomes {
                program.back_to(depth);
                match program.step(edge.process, &values) {
                    Ok(event) => outcomes = next_outcomes(event),
                    Err(error) => panic!("a step of the state graph cannot be made: {error}"),
                }
                if program.fingerprint() == self.prints[edge.to as usize] {
                    break;
                }
            }
        }
        Schedule::from_run(program.events(), program.processes())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Builds a graph with these edges, in which each state satisfies the conditions of its mask.
    pub(crate) fn state_graph(masks: &[u64], edges: &[(u32, u32, u32)]) -> StateGraph {
        let edge = |&(from, process, to): &(u32, u32, u32)| Edge {
            from,
            process: ProcessId(process),
            to,
        };
        let mut truths = Truths::new(64);
        for mask in masks {
            truths.add(true, |at| Some(mask >> at & 1 == 1));
        }
        let go_on = &mut || ControlFlow::Continue(());
        let edges = edges.iter().map(edge).collect();
        let graph = Graph::new(masks.len(), edges, &mut LimitChecks::new(go_on));
        StateGraph {
            graph: graph.continue_value().expect("no limit"),
            prints: vec![Fingerprint::EMPTY; masks.len()],
            unended: vec![true; masks.len()],
            halted: vec![false; masks.len()],
            truths,
            fairness: Fairness::Weak,
        }
    }

    #[test]
    fn many_conditions_need_many_words() {
        let mut truths = Truths::new(130);
        truths.add(true, |at| Some(at % 3 == 0));
        truths.add(false, |_| None);
        truths.add(true, |at| Some(at == 129));
        for at in 0..130 {
            assert_eq!(truths.holds(0, at), at % 3 == 0);
            assert!(!truths.holds(1, at));
            assert_eq!(truths.holds(2, at), at == 129);
        }
        assert!(!truths.undecided);
        truths.add(true, |at| (at != 77).then_some(true));
        assert!(truths.undecided);
    }
}
