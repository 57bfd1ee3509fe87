//! Visited states: no state is explored twice.
//!
//! Depth first with a table of the states met so far, each as a 128-bit fingerprint (Holzmann, *The
//! Model Checker SPIN*, IEEE TSE 1997, on state storage and hash compaction), and sleep sets kept
//! with the states (Godefroid, *Partial-Order Methods for the Verification of Concurrent Systems*,
//! LNCS 1032, 1996, chapter 5, sleep sets with state matching).
//!
//! | paper | here |
//! |---|---|
//! | H | [`SleepSets::table`], from fingerprints to sleep sets |
//! | s.Sleep | [`Node::mark`], processes as bits |
//! | T | [`Stateful::todo`], from [`Node::first`] on |
//! | t, t′ independent | [`SleepSets::left`]: no claim of the one conflicts with one of the other |
//!
//! Sleep sets alone save transitions, never states: every reachable state is met, so deadlocks,
//! final states and failing steps are found. If a state is met again with a sleep set that lacks
//! some of what it was stored with, just these are run, and the intersection is stored; so each
//! transition is executed at most once. On the two threads of fib they save a quarter of the
//! transitions and a tenth of the time.
//!
//! Deviations: a transition is a process with all outcomes of its next step, for these are run
//! together. Processes beyond the 64th never sleep. Nothing is run from a state where a false
//! `assume` has halted a process: what counts and can follow there happens without that step too.
//! If a run may come back to a state, nobody sleeps, and the graph is written down instead, for
//! whether a cycle is a [livelock](crate::algorithms::livelock) depends on every step. `failures`
//! counts the failing transitions that were executed: one that slept is the same failure in another
//! order.
//!
//! Memory: 25 bytes for each place of the table, which is about 5/8 full and grows in [small
//! steps](crate::drive::table). Two states with one fingerprint would be taken for one: among n
//! states that happens with a probability of about n²/2¹²⁹.

use hashbrown::hash_table::Entry;
use mazurka_core::{Claims, Event, Fingerprint, ProcessId, Semantics, Status};
use smallvec::SmallVec;

use crate::Policy;
use crate::algorithms::naive::next_outcomes;
use crate::drive::table::Table;

/// The policy that merges equal states.
#[derive(Debug)]
pub(crate) struct Stateful<M: Memory> {
    memory: M,
    nodes: Vec<Node<M::Mark>>,
    /// What is to be run from the states of the path, one state after the other.
    todo: Vec<ProcessId>,
    known: bool,
}

/// A state of the path.
#[derive(Debug)]
struct Node<K> {
    /// Where its part of `todo` begins, and which of it is next.
    first: usize,
    next: usize,
    mark: K,
    /// The process that just came back has these outcomes left to try.
    again: Option<SmallVec<[i64; 1]>>,
}

/// What is kept of the states that were met.
pub(crate) trait Memory {
    /// What is kept of a state while it is on the path.
    type Mark: Copy;

    /// A run has come to a state.
    fn meet<E: Semantics>(
        &mut self,
        program: &E,
        from: Option<Step<'_, Self::Mark>>,
    ) -> Met<Self::Mark>;
}

/// The step that led to a state.
pub(crate) struct Step<'a, K> {
    /// The mark of the state before.
    pub mark: K,
    /// Who has been run from there already.
    pub done: &'a [ProcessId],
    pub event: &'a Event,
}

/// What to do with a state.
pub(crate) enum Met<K> {
    /// It is new: run who is ready, but not these.
    New { mark: K, but: u64 },
    /// It is known: run only these.
    Known { mark: K, only: u64 },
}

/// A process as one of 64 bits; none for later ones.
fn bit(process: ProcessId) -> u64 {
    1u64.checked_shl(process.0).unwrap_or(0)
}

impl<M: Memory> Stateful<M> {
    /// Nothing met so far.
    pub fn new(memory: M) -> Self {
        Self {
            memory,
            nodes: Vec::new(),
            todo: Vec::new(),
            known: false,
        }
    }

    /// All that was kept.
    pub fn into_memory(self) -> M {
        self.memory
    }

    fn add_ready<E: Semantics>(&mut self, program: &E, but: u64) {
        let first = self.todo.len();
        for &process in program.processes().in_order() {
            match program.status(process) {
                Status::Ready if bit(process) & but == 0 => self.todo.push(process),
                Status::Discarded => return self.todo.truncate(first),
                _ => {}
            }
        }
    }
}

impl<E: Semantics, M: Memory> Policy<E> for Stateful<M> {
    const UNIQUE: bool = true;
    const MERGES: bool = true;

    fn enter(&mut self, program: &E) {
        let from = match (self.nodes.last(), program.events().last()) {
            (Some(before), Some(event)) => Some(Step {
                mark: before.mark,
                done: &self.todo[before.first..before.next - 1],
                event,
            }),
            _ => None,
        };
        let first = self.todo.len();
        let met = self.memory.meet(program, from);
        self.known = matches!(met, Met::Known { .. });
        let mark = match met {
            Met::New { mark, but } => {
                self.add_ready(program, but);
                mark
            }
            Met::Known { mark, mut only } => {
                while only != 0 {
                    self.todo.push(ProcessId(only.trailing_zeros()));
                    only &= only - 1;
                }
                mark
            }
        };
        self.nodes.push(Node {
            first,
            next: first,
            mark,
            again: None,
        });
    }

    fn next(&mut self, _program: &E, outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        let node = self.nodes.last_mut()?;
        if let Some(again) = node.again.take() {
            outcomes.extend(again);
            return Some(self.todo[node.next - 1]);
        }
        let process = *self.todo.get(node.next)?;
        node.next += 1;
        Some(process)
    }

    fn leave(&mut self, program: &E) {
        if let Some(node) = self.nodes.pop() {
            self.todo.truncate(node.first);
        }
        if let (Some(node), Some(event)) = (self.nodes.last_mut(), program.events().last()) {
            node.again = next_outcomes(event);
        }
    }

    fn known(&self) -> bool {
        self.known
    }
}

/// Keeps with each state what need not be run from it.
#[derive(Debug, Default)]
pub(crate) struct SleepSets {
    table: Table<(Fingerprint, u64)>,
    claims: Claims,
}

impl SleepSets {
    /// The part of a sleep set that an event leaves asleep: what is independent of it.
    #[inline]
    fn left<E: Semantics>(&mut self, program: &E, sleep: u64, event: &Event) -> u64 {
        let mut left = sleep & !bit(event.process);
        let mut rest = left;
        while rest != 0 {
            let process = ProcessId(rest.trailing_zeros());
            rest &= rest - 1;
            // It has not moved, so this is what it claimed before the event.
            program.claims(process, &mut self.claims);
            let conflicts = |&claim: &_| event.claims.iter().any(|e| e.conflicts(claim));
            if self.claims.iter().any(conflicts) {
                left &= !bit(process);
            }
        }
        left
    }
}

impl Memory for SleepSets {
    type Mark = u64;

    fn meet<E: Semantics>(&mut self, program: &E, from: Option<Step<'_, u64>>) -> Met<u64> {
        let sleep = from.map_or(0, |step| {
            let sleep = step.done.iter().fold(step.mark, |all, &p| all | bit(p));
            self.left(program, sleep, step.event)
        });
        let print = program.fingerprint();
        // The bits of a fingerprint are well mixed already.
        let hash = |print: Fingerprint| print.bits() as u64;
        let same = |(known, _): &(Fingerprint, u64)| *known == print;
        match self.table.entry(hash(print), same, |(p, _)| hash(*p)) {
            Entry::Occupied(mut known) => {
                let stored = &mut known.get_mut().1;
                let only = *stored & !sleep;
                *stored &= sleep;
                let mark = *stored;
                Met::Known { mark, only }
            }
            Entry::Vacant(free) => {
                free.insert((print, sleep));
                Met::New {
                    mark: sleep,
                    but: sleep,
                }
            }
        }
    }
}
