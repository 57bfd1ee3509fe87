//! The states of a program nearest to its initial state, and all steps between them.
//!
//! This is a breadth-first search with a table of fingerprints.
//! [`Stateful`](crate::Algorithm::Stateful) cannot give the whole graph: it runs only a stubborn
//! set of processes from a state, so it leaves out states and steps. A state is stored as a path to
//! it. To return to the state, the search makes the steps of the path again, which is fast enough,
//! because a picture has few states.
//!
//! As in `stateful`, nothing is run from a state in which a false `assume` has halted a process.

use mazurka_core::{Fingerprint, Schedule, ScheduledStep, Semantics, Status, with_status};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::algorithms::naive::next_outcomes;

/// The states nearest to the initial state, which comes first.
#[derive(Debug)]
pub struct NearestStates {
    /// The states, in the order in which they were met, by increasing depth.
    pub states: Vec<NearState>,
    /// The steps between them.
    pub edges: Vec<NearEdge>,
}

/// A state of [`NearestStates`].
#[derive(Debug)]
pub struct NearState {
    /// The distance from the initial state, in steps.
    pub depth: usize,
    /// The index of the edge by which the state was met first; `None` for the initial state.
    met_by: Option<usize>,
    /// Whether steps lead from the state to states that are left out.
    pub cut: bool,
}

/// A step between two states.
#[derive(Debug)]
pub struct NearEdge {
    /// The state before the step, as an index into [`NearestStates::states`].
    pub from: usize,
    /// The state after the step, as such an index.
    pub to: usize,
    /// The process that makes the step, and the outcomes that it chooses.
    pub step: ScheduledStep,
}

impl NearestStates {
    /// Finds at most `most` states, each at most `depth` steps away.
    pub fn find<E: Semantics>(program: &mut E, most: usize, depth: Option<u64>) -> Self {
        program.back_to(0);
        let first = NearState {
            depth: 0,
            met_by: None,
            cut: false,
        };
        let mut walk = Walk {
            known: FxHashMap::from_iter([(program.fingerprint(), 0)]),
            most,
            deepest: depth.unwrap_or(u64::MAX),
            found: Self {
                states: vec![first],
                edges: Vec::new(),
            },
        };
        let mut at = 0;
        while at < walk.found.states.len() {
            walk.expand(program, at);
            at += 1;
        }
        walk.found
    }

    /// Returns a shortest schedule to a state.
    pub fn schedule(&self, mut state: usize) -> Schedule {
        let mut steps = Vec::new();
        while let Some(edge) = self.states[state].met_by {
            steps.push(self.edges[edge].step.clone());
            state = self.edges[edge].from;
        }
        steps.reverse();
        Schedule(steps)
    }
}

struct Walk {
    known: FxHashMap<Fingerprint, usize>,
    most: usize,
    deepest: u64,
    found: NearestStates,
}

impl Walk {
    /// Makes all steps from a state.
    fn expand<E: Semantics>(&mut self, program: &mut E, at: usize) {
        program.back_to(0);
        for step in self.found.schedule(at).0 {
            let process = program.processes().find(&step.process);
            let made = process.map(|process| program.step(process, &step.outcomes).is_ok());
            assert_eq!(made, Some(true), "a step can be made again");
        }
        if !with_status(program, Status::Discarded).is_empty() {
            return;
        }
        let ready = with_status(program, Status::Ready);
        let depth = self.found.states[at].depth;
        if depth as u64 >= self.deepest {
            self.found.states[at].cut = !ready.is_empty();
            return;
        }
        for process in ready {
            let mut outcomes = Some(SmallVec::new());
            while let Some(values) = outcomes {
                outcomes = match program.step(process, &values) {
                    Ok(event) => next_outcomes(event),
                    Err(error) => panic!("a ready process cannot step: {error}"),
                };
                self.arrive(program, at);
                program.back_to(depth);
            }
        }
    }

    /// Records the last step of the current run, made from the state `from`.
    fn arrive<E: Semantics>(&mut self, program: &E, from: usize) {
        let print = program.fingerprint();
        let NearestStates { states, edges } = &mut self.found;
        let new = states.len();
        let to = match self.known.get(&print) {
            Some(&known) => known,
            None if new >= self.most => {
                states[from].cut = true;
                return;
            }
            None => {
                self.known.insert(print, new);
                states.push(NearState {
                    depth: states[from].depth + 1,
                    met_by: Some(edges.len()),
                    cut: false,
                });
                new
            }
        };
        let last = program.events().last();
        let last = last.map(std::slice::from_ref);
        let mut made = Schedule::from_run(last.unwrap_or_default(), program.processes());
        if let Some(step) = made.0.pop() {
            edges.push(NearEdge { from, to, step });
        }
    }
}
