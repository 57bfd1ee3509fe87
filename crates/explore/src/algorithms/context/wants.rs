//! The processes that must be run from a state because of the steps that could follow a cut.
//!
//! A run was cut in a state where some process could still make a step s that conflicts with an
//! event d of the run. Let E be the state before d, let w be a run from E that ends with s, and let
//! r be the process of s or, if that process does not exist in E yet, its nearest ancestor that
//! exists in E. The steps of w before s are unknown. But one of the processes of a known set can
//! begin w: A set P of processes that contains r is *closed* under two conditions. No process
//! outside P may ever make a step that conflicts with the next step of a process in P. And each
//! process in P that waits for another process waits for one in P. (This is a stubborn set as in
//! Valmari, LNCS 483, 1990, section 3.) The first step of w by a process of P is then independent
//! of all earlier steps of w, and possible in E. So a process of P can begin w, and running all of
//! P from E is enough.

use mazurka_core::{Blocker, Claims, Execution, ProcessId, Status};

use super::Base;
use crate::relations::catalogue::conflict;
use crate::relations::set::Set;

/// For each state of the run, the processes whose futures conflict with the event made from there.
#[derive(Debug, Default)]
pub(super) struct Wants {
    /// The processes by the depth of the state.
    at: Vec<Vec<ProcessId>>,
    /// The processes that are live in the state that `settle` works on.
    live: Vec<ProcessId>,
    /// For each live process, everything that it may still do.
    futures: Vec<Claims>,
    /// For each live process, whether it is in P.
    closed: Vec<bool>,
    /// The members of P whose conflicts have not been added yet, as indices into `live`.
    pending: Vec<usize>,
    claims: Claims,
}

impl Wants {
    /// Enters the state at this depth.
    pub fn enter(&mut self, depth: usize) {
        match self.at.get_mut(depth) {
            Some(here) => here.clear(),
            None => self.at.push(Vec::new()),
        }
    }

    /// Records that the future of a process conflicts with the event made from the state at a
    /// depth.
    pub fn add(&mut self, depth: usize, process: ProcessId) {
        let here = &mut self.at[depth];
        if !here.contains(&process) {
            here.push(process);
        }
    }

    /// Whether processes were recorded for the state at this depth since it was settled.
    #[inline]
    pub fn has(&self, depth: usize) -> bool {
        !self.at[depth].is_empty()
    }

    /// Adds the processes that must be run to the backtrack set of the state to which the run has
    /// returned.
    #[inline]
    pub fn settle<S: Set>(&mut self, program: &impl Execution, base: &mut impl Base<S>) {
        if self.has(program.events().len()) {
            self.settle_some(program, base);
        }
    }

    /// Adds a closed set that contains all recorded processes to the backtrack set. If the only
    /// known closed set consists of all processes, adds all of them.
    #[inline(never)]
    fn settle_some<S: Set>(&mut self, program: &impl Execution, base: &mut impl Base<S>) {
        let depth = program.events().len();
        let roots = std::mem::take(&mut self.at[depth]);
        // Often all processes outside the backtrack set are roots already.
        let all = base.idle(depth).all(|process| roots.contains(&process));
        if !all && self.close(program, &roots) {
            base.want(program, |process| {
                let mut chosen = self.live.iter().zip(&self.closed);
                chosen.any(|(&live, &closed)| closed && live == process)
            })
        } else {
            base.want(program, |_| true)
        }
        self.at[depth] = roots;
        self.at[depth].clear();
    }

    /// Closes a set of processes. Returns false if the only known closed set consists of all
    /// processes.
    fn close(&mut self, program: &impl Execution, roots: &[ProcessId]) -> bool {
        self.live.clear();
        self.closed.clear();
        self.pending.clear();
        for &process in program.processes().in_order() {
            if matches!(program.status(process), Status::Ready | Status::Waiting) {
                let number = self.live.len();
                self.live.push(process);
                self.closed.push(false);
                if self.futures.len() == number {
                    self.futures.push(Claims::new());
                }
                program.future(process, &mut self.futures[number]);
            }
        }
        for &root in roots {
            if !self.insert(there(program, root)) {
                return false;
            }
        }
        while let Some(number) = self.pending.pop() {
            let process = self.live[number];
            if program.status(process) == Status::Waiting {
                match program.blocker(process) {
                    Blocker::Process(other) => {
                        if self.insert(Some(other)) {
                            continue;
                        } else {
                            return false;
                        }
                    }
                    Blocker::Claims => {}
                    Blocker::Anything => return false,
                }
            }
            program.claims(process, &mut self.claims);
            for other in 0..self.live.len() {
                if !self.closed[other] && conflict(&self.claims, &self.futures[other]) {
                    self.closed[other] = true;
                    self.pending.push(other);
                }
            }
        }
        true
    }

    /// Adds a process to the set. Returns false if it is not live.
    fn insert(&mut self, process: Option<ProcessId>) -> bool {
        let number = process.and_then(|p| self.live.iter().position(|&live| live == p));
        let Some(number) = number else { return false };
        if !std::mem::replace(&mut self.closed[number], true) {
            self.pending.push(number);
        }
        true
    }
}

/// Returns the process itself, or its nearest ancestor that has been started.
fn there(program: &impl Execution, process: ProcessId) -> Option<ProcessId> {
    let unborn = |&p: &ProcessId| program.status(p) == Status::Unborn;
    let mut one = Some(process);
    while let Some(p) = one.filter(unborn) {
        one = program.processes().parent(p);
    }
    one
}
