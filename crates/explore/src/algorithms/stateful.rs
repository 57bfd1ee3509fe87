//! Visited states: no state is explored twice.
//!
//! Depth-first search with a table of the states met so far, each as a 128-bit fingerprint
//! (Holzmann, *The Model Checker SPIN*, IEEE TSE 1997, on state storage and hash compaction), and
//! sleep sets stored with the states (Godefroid, *Partial-Order Methods for the Verification of
//! Concurrent Systems*, LNCS 1032, 1996, chapter 5, sleep sets with state matching).
//!
//! | paper | here |
//! |---|---|
//! | H | [`SleepSets::table`], from fingerprints to sleep sets |
//! | s.Sleep | [`MarkedNode::mark`], processes as bits |
//! | T | [`Stateful::todo`], from [`MarkedNode::first`] on |
//! | t, t′ independent | [`SleepSets::left`]: no claim of one conflicts with a claim of the other |
//!
//! Sleep sets alone save transitions, never states: every reachable state is met, so deadlocks,
//! final states and failing steps are found. If a state is met again and some processes of its
//! stored sleep set do not sleep now, only these are run, and the intersection is stored. So each
//! transition is executed at most once. On the two threads of fib this saves a quarter of the
//! transitions and a tenth of the time.
//!
//! Deviations: a transition is a process with all outcomes of its next step, because these are run
//! together. Processes beyond the 64th never sleep. Nothing is run from a state where a false
//! `assume` has halted a process: everything that counts there happens without that step too. If a
//! run may come back to a state, there are no sleep sets, and the graph of states is recorded
//! instead, because whether a cycle is a [livelock](crate::algorithms::livelock) depends on every
//! step; so do [temporal](crate::algorithms::temporal) properties. `failures` counts the failing
//! transitions that were executed: one that slept is the same failure in another order.
//!
//! Memory: 25 bytes for each slot of the table, which is about 5/8 full and grows in [small
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
    nodes: Vec<MarkedNode<M::Mark>>,
    /// The processes to run from the states of the path, one state after the other.
    todo: Vec<ProcessId>,
    known: bool,
    /// The number of states met.
    states: u64,
}

/// A state of the path.
#[derive(Debug)]
struct MarkedNode<K> {
    /// Index of its first process in `todo`.
    first: usize,
    /// Index of its next process in `todo`.
    next: usize,
    mark: K,
    /// The outcomes that the process run last has left to try.
    again: Option<SmallVec<[i64; 1]>>,
}

/// The memory of the states met so far.
pub(crate) trait Memory {
    /// The data kept with a state while it is on the path.
    type Mark: Copy;

    /// Handles a state that a run has reached.
    fn meet<E: Semantics>(
        &mut self,
        program: &E,
        from: Option<Arrival<'_, Self::Mark>>,
    ) -> Met<Self::Mark>;
}

/// The step that led to a state.
pub(crate) struct Arrival<'a, K> {
    /// The mark of the state before.
    pub mark: K,
    /// The processes that have been run from there already.
    pub done: &'a [ProcessId],
    pub event: &'a Event,
}

/// What to run from a state.
pub(crate) enum Met<K> {
    /// The state is new: run the ready processes, except these.
    New { mark: K, but: u64 },
    /// The state is known: run only these processes.
    Known { mark: K, only: u64 },
    /// The state is known, and all ready processes are to be run again.
    Again { mark: K },
}

/// Returns a process as one of 64 bits; 0 for later processes.
fn bit(process: ProcessId) -> u64 {
    1u64.checked_shl(process.0).unwrap_or(0)
}

impl<M: Memory> Stateful<M> {
    /// Makes a policy that has met no states.
    pub fn new(memory: M) -> Self {
        Self {
            memory,
            nodes: Vec::new(),
            todo: Vec::new(),
            known: false,
            states: 0,
        }
    }

    /// Returns the memory of the states met.
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
            (Some(before), Some(event)) => Some(Arrival {
                mark: before.mark,
                done: &self.todo[before.first..before.next - 1],
                event,
            }),
            _ => None,
        };
        let first = self.todo.len();
        let met = self.memory.meet(program, from);
        self.known = !matches!(met, Met::New { .. });
        self.states += u64::from(!self.known);
        let mark = match met {
            Met::New { mark, but } => {
                self.add_ready(program, but);
                mark
            }
            Met::Again { mark } => {
                self.add_ready(program, 0);
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
        self.nodes.push(MarkedNode {
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

    fn states(&self) -> Option<u64> {
        Some(self.states)
    }
}

/// Stores the sleep set of each state.
#[derive(Debug, Default)]
pub(crate) struct SleepSets {
    table: Table<(Fingerprint, u64)>,
    claims: Claims,
}

impl SleepSets {
    /// Returns the processes of a sleep set that stay asleep after an event: those independent of
    /// it.
    #[inline]
    fn left<E: Semantics>(&mut self, program: &E, sleep: u64, event: &Event) -> u64 {
        let mut left = sleep & !bit(event.process);
        let mut rest = left;
        while rest != 0 {
            let process = ProcessId(rest.trailing_zeros());
            rest &= rest - 1;
            // The process has not moved, so it claims the same as before the event.
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

    fn meet<E: Semantics>(&mut self, program: &E, from: Option<Arrival<'_, u64>>) -> Met<u64> {
        let sleep = from.map_or(0, |step| {
            let sleep = step.done.iter().fold(step.mark, |all, &p| all | bit(p));
            self.left(program, sleep, step.event)
        });
        let print = program.fingerprint();
        // The bits of a fingerprint are already well mixed.
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
