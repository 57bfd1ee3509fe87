//! Visited states: no state is explored twice.
//!
//! Depth first with a table of the states met so far, each as a 128-bit fingerprint (Holzmann, *The
//! Model Checker SPIN*, IEEE TSE 1997, on state storage and hash compaction), and, if no run can come back
//! to a state, sleep sets kept with the states (Godefroid, *Partial-Order Methods for the Verification of
//! Concurrent Systems*, LNCS 1032, 1996, chapter 5, "sleep sets with state matching").
//!
//! | paper | here |
//! |---|---|
//! | H | [`Visited`], from fingerprints to sleep sets |
//! | s.Sleep | [`Node::sleep`], processes as bits |
//! | T | [`Stateful::todo`], from `first` on |
//! | t, t′ independent | [`Stateful::asleep`]: no claim of the one conflicts with one of the other |
//!
//! Sleep sets alone save transitions, never states: every reachable state is met, so deadlocks, final states and
//! failing steps are found. If a state is met again with a sleep set that lacks some of what it
//! was stored with, just these are run, and the intersection is stored; so each transition is executed
//! at most once. On the two threads of fib they save a quarter of the transitions and a tenth of the time.
//!
//! Deviations: a transition is a process with all outcomes of its next step, for these are run together.
//! Processes beyond the 64th never sleep. Nothing is run from a state where a false `assume` has
//! halted a process: what can follow there and counts happens without that step too.
//! If a run may come back to a state, nobody sleeps, and the graph of states is written down instead: whether a
//! cycle in it is a [livelock](crate::livelock) depends on every step. `failures` counts failing
//! transitions that were executed: one that slept is the same failure in another order.
//!
//! Memory: 25 bytes for each state, at a load of the table between 7/16 and 7/8; with the graph 12 more for each
//! transition. Two states with one fingerprint would be taken for one: among n states that happens with
//! a probability of about n²/2¹²⁹.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use mazurka_core::{Claims, Event, Fingerprint, ProcessId, Semantics, Status};
use smallvec::SmallVec;

use crate::graph::Edge;
use crate::naive::next_outcomes;
use crate::{Choice, Policy};

/// The policy that merges equal states.
#[derive(Debug, Default)]
pub(crate) struct Stateful {
    visited: Visited,
    nodes: Vec<Node>,
    /// What is to be run from the states of the path, one state after the other.
    todo: Vec<ProcessId>,
    known: bool,
    /// The steps between states, if somebody wants to look for cycles.
    steps: Option<Vec<Edge>>,
    claims: Claims,
}

/// A state of the path.
#[derive(Debug)]
struct Node {
    /// Its part of `todo`, and which of it is next.
    first: usize,
    next: usize,
    /// What need not be run from here.
    sleep: u64,
    /// Its number, where the graph is written down; none if a process is halted.
    state: Option<u32>,
    /// The process that just came back has these outcomes left to try.
    again: Option<SmallVec<[i64; 1]>>,
}

fn bit(process: ProcessId) -> u64 {
    1u64.checked_shl(process.0).unwrap_or(0)
}

/// The states with their numbers, and the steps between them.
pub(crate) type StateGraph = (Vec<Fingerprint>, Vec<Edge>);

impl Stateful {
    /// With sleep sets, for programs that never come back to a state.
    pub fn with_sleep_sets() -> Self {
        Self::default()
    }

    /// Writes down the graph of the states.
    pub fn with_graph() -> Self {
        Self {
            steps: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// The graph, if it was written down. The initial state is number 0. States with a halted process lead nowhere.
    pub fn into_graph(self) -> Option<StateGraph> {
        let steps = self.steps?;
        let mut prints = vec![Fingerprint::EMPTY; self.visited.0.len()];
        for &(print, number) in &self.visited.0 {
            prints[number as usize] = print;
        }
        Some((prints, steps))
    }

    /// The part of a sleep set that an event leaves asleep: what is independent of it.
    #[inline]
    fn asleep<E: Semantics>(&mut self, program: &E, mut sleep: u64, event: &Event) -> u64 {
        let mut left = sleep;
        while sleep != 0 {
            let process = ProcessId(sleep.trailing_zeros());
            sleep &= sleep - 1;
            // It has not moved, so this is what it claimed before the event.
            program.claims(process, &mut self.claims);
            let conflicts = |&claim: &_| event.claims.iter().any(|e| e.conflicts(claim));
            if process == event.process || self.claims.iter().any(conflicts) {
                left &= !bit(process);
            }
        }
        left
    }

    /// Meets a state on a path where `sleep` need not be run. Gives what need not be run now.
    fn meet<E: Semantics>(&mut self, program: &E, sleep: u64) -> u64 {
        match self.visited.meet(program.fingerprint(), sleep) {
            Some(before) => {
                self.known = true;
                let mut wake = before & !sleep;
                while wake != 0 {
                    self.todo.push(ProcessId(wake.trailing_zeros()));
                    wake &= wake - 1;
                }
                before & sleep
            }
            None => {
                self.known = false;
                self.add_ready(program, sleep);
                sleep
            }
        }
    }

    /// Meets a state at the end of a step, and writes down the step.
    fn meet_and_draw<E: Semantics>(&mut self, program: &E, from: Option<u32>) -> Option<u32> {
        let fresh = self.visited.0.len() as u64;
        let met = self.visited.meet(program.fingerprint(), u64::MAX, fresh);
        None
    }

    /// Everybody who is ready and not asleep is to be run. Says whether anybody is halted.
    #[inline]
    fn add_ready<E: Semantics>(&mut self, program: &E, sleep: u64) -> bool {
        let first = self.todo.len();
        let (mut halted, mut discarded) = (false, false);
        for &process in program.processes().in_order() {
            match program.status(process) {
                Status::Ready if bit(process) & sleep == 0 => self.todo.push(process),
                Status::Failed | Status::Lost => halted = true,
                Status::Discarded => discarded = true,
                Status::Ready | Status::Waiting | Status::Ended | Status::Unborn => {}
            }
        }
        if discarded {
            self.todo.truncate(first);
        }
        halted || discarded
    }
}
