//! Stubborn sets: in most states it is enough to run a few processes.
//!
//! Valmari, *Stubborn sets for reduced state space generation*, LNCS 483, 1990; Godefroid,
//! *Partial-Order Methods for the Verification of Concurrent Systems*, LNCS 1032, 1996, chapters 4
//! and 6; for cycles Kurshan, Levin, Minea, Peled, Yenigün, *Static partial order reduction*, TACAS
//! 1998. docs/proofs/stubborn.md has the proofs.
//!
//! A set T of processes is *stubborn* in a state if
//!
//! 1. for each ready process of T: no process outside T may ever make a step that cannot be swapped
//!    with its next step ([`Promises::interferes`](mazurka_core::Promises));
//! 2. for each waiting process of T: T contains a process that must make a step first, or all
//!    processes that may ever touch what its next step waits for ([`Blocker`]);
//! 3. some process of T is ready.
//!
//! A ready send stays possible, and commutes with every receive from its channel; so does a ready
//! receive with every send. A waiting send waits for a receive, a waiting receive for a send
//! ([`interference_claims`](mazurka_core::Execution::interference_claims)). This rule decides only
//! which processes are run; it does not change the states.
//!
//! From each state the ready processes of one stubborn set are run, with all outcomes of their
//! steps. So the search meets every state without a successor, that is, every deadlock and every
//! final state, with its observations. It also meets every failing step, with the same values,
//! unless a cycle postpones the steps outside T forever. So a set is used only if none of its ready
//! processes may close a cycle or be halted by a false `assume`
//! ([`may_put_off`](mazurka_core::Promises::may_put_off)); otherwise all ready processes are run.
//! Every cycle of states contains a step that goes back in a loop, hence a state from which all
//! ready processes are run. An invariant is a cell that every write to one of its variables claims
//! to write, so a step that breaks it is a failing step.
//!
//! | paper | here |
//! |---|---|
//! | T(s) | [`Stubborn::choose`] |
//! | D1, a transition accords with all transitions outside | `row` of a ready process |
//! | D2, necessary enabling set | `row` of a waiting process |
//! | ignoring, sticky transitions | `may_put_off` |
//!
//! The set depends on the state alone, not on a stack or on the states met before. So the explored
//! states depend neither on the order of the search nor on the number of workers.
//!
//! Deviations: the sets contain processes, not transitions. Of all sets that start with one ready
//! process, the one with the fewest ready processes is used; among equal ones, the first in the
//! order of names or, up to [symmetry](crate::algorithms::symmetry), in the order of the canonical
//! state. With more than 64 live processes, or with conditions over inputs, all processes are run.

use mazurka_core::{Blocker, Claims, Execution, ProcessId, Status};

/// Finds stubborn sets. The value is kept between states to reuse its allocations.
#[derive(Debug, Default)]
pub(crate) struct Stubborn {
    /// The processes that are ready or wait, in order.
    live: Vec<ProcessId>,
    /// For each live process, the processes that are in every stubborn set that contains it; `None`
    /// if they have not been computed.
    rows: Vec<Option<u64>>,
    claims: Claims,
}

/// The row of a process whose dependencies are unknown.
const ALL: u64 = u64::MAX;

impl Stubborn {
    /// Adds the processes to run from the current state to a list; adds none if a process has met a
    /// false `assume`. Of several smallest sets, takes the first in `order`.
    pub fn choose<E: Execution>(
        &mut self,
        program: &E,
        order: &[ProcessId],
        into: &mut Vec<ProcessId>,
    ) {
        self.live.clear();
        let mut ready = 0u64;
        let first = into.len();
        for &process in order {
            match program.status(process) {
                Status::Ready => {
                    ready |= 1u64.checked_shl(self.live.len() as u32).unwrap_or(0);
                    self.live.push(process);
                    into.push(process);
                }
                Status::Waiting => self.live.push(process),
                Status::Discarded => return into.truncate(first),
                _ => {}
            }
        }
        if into.len() - first < 2 || self.live.len() > 64 {
            return;
        }
        if let Some(chosen) = self.smallest(program, ready) {
            into.truncate(first);
            let mut rest = chosen;
            while rest != 0 {
                into.push(self.live[rest.trailing_zeros() as usize]);
                rest &= rest - 1;
            }
        }
    }

    /// Returns the ready processes of the smallest set; `None` if that set has all ready processes.
    fn smallest<E: Execution>(&mut self, program: &E, ready: u64) -> Option<u64> {
        self.rows.clear();
        self.rows.resize(self.live.len(), None);
        let (mut best, mut fewest) = (None, ready.count_ones());
        let mut roots = ready;
        while roots != 0 && fewest > 1 {
            let root = roots.trailing_zeros();
            roots &= roots - 1;
            if let Some(set) = self.close(program, root, ready, fewest) {
                fewest = set.count_ones();
                best = Some(set);
            }
        }
        best
    }

    /// Returns the ready processes of the least stubborn set that contains `root`, if it has fewer
    /// than the best set so far and may be used.
    fn close<E: Execution>(
        &mut self,
        program: &E,
        root: u32,
        ready: u64,
        fewest: u32,
    ) -> Option<u64> {
        let mut set = 1u64 << root;
        let mut pending = set;
        while pending != 0 {
            let number = pending.trailing_zeros() as usize;
            pending &= pending - 1;
            let row = match self.rows[number] {
                Some(row) => row,
                None => {
                    let row = self.row(program, number, ready);
                    self.rows[number] = Some(row);
                    row
                }
            };
            pending |= row & !set;
            set |= row;
            if (set & ready).count_ones() >= fewest {
                return None;
            }
        }
        Some(set & ready)
    }

    /// Returns the processes that are in every stubborn set that contains this process.
    fn row<E: Execution>(&mut self, program: &E, number: usize, ready: u64) -> u64 {
        let process = self.live[number];
        let waits = ready >> number & 1 == 0;
        if waits {
            match program.blocker(process) {
                // A process that is not live makes no step.
                Blocker::Process(other) => {
                    let at = self.live.iter().position(|&live| live == other);
                    return at.map_or(0, |at| 1 << at);
                }
                Blocker::Claims => {}
                Blocker::Anything => return ALL,
            }
        } else if program.may_put_off(process) {
            return ALL;
        }
        program.interference_claims(process, waits, &mut self.claims);
        let mut row = 0;
        for (at, &other) in self.live.iter().enumerate() {
            if at != number && program.interferes(other, &self.claims, waits) {
                row |= 1 << at;
            }
        }
        row
    }
}
