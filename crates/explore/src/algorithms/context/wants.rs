//! Who must be run from a state because of what could follow a cut.
//!
//! A run was cut where some process could still do something that conflicts with an event d of the
//! run. Let w be a run from the state E before d in which it does that, and r that process, or the
//! one of E that starts it. Which steps of w come before is not known, but who can make the first
//! of them is: a set P of processes with r in it is *closed* if no process outside of P may ever do
//! something that conflicts with the next step of one in P, and if one in P that waits for a
//! process waits for one in P (a stubborn set of Valmari's: LNCS 483, 1990, section 3). The first
//! step of w that a process of P makes is then independent of all before it, and possible in E: so
//! one of P can begin w, and running all of P from E is enough.

use mazurka_core::{Blocker, Claims, Execution, ProcessId, Status};

use crate::algorithms::path::Path;
use crate::relations::catalogue::conflict;

/// For each state of the run, whose futures conflict with the event that was made from there.
#[derive(Debug, Default)]
pub(super) struct Wants {
    at: Vec<Vec<ProcessId>>,
    /// Those of the state that is looked at: who is live, what each may still do, who is in P, and
    /// whose turn it is.
    live: Vec<ProcessId>,
    futures: Vec<Claims>,
    closed: Vec<bool>,
    pending: Vec<usize>,
    claims: Claims,
}

impl Wants {
    /// The run is in the state of this depth.
    pub fn enter(&mut self, depth: usize) {
        match self.at.get_mut(depth) {
            Some(here) => here.clear(),
            None => self.at.push(Vec::new()),
        }
    }

    /// What a process may still do conflicts with the event that was made in the state of that
    /// depth.
    pub fn add(&mut self, depth: usize, process: ProcessId) {
        let here = &mut self.at[depth];
        if !here.contains(&process) {
            here.push(process);
        }
    }

    /// Whether something has been said about the state of this depth since it was looked at.
    #[inline]
    pub fn has(&self, depth: usize) -> bool {
        !self.at[depth].is_empty()
    }

    /// The run is back in the state of this depth: says who shall run from there.
    #[inline]
    pub fn settle(&mut self, program: &impl Execution, depth: usize, path: &mut Path) {
        if self.has(depth) {
            self.settle_some(program, depth, path);
        }
    }

    #[inline(never)]
    fn settle_some(&mut self, program: &impl Execution, depth: usize, path: &mut Path) {
        let roots = std::mem::take(&mut self.at[depth]);
        // Often those who are idle are in the set from the start.
        let all = path.idle(depth).all(|process| roots.contains(&process));
        match !all && self.close(program, &roots) {
            true => {
                let chosen = self.live.iter().zip(&self.closed);
                for (&process, _) in chosen.filter(|(_, closed)| **closed) {
                    path.want(depth, process);
                }
            }
            false => path.want_all(depth),
        }
        self.at[depth] = roots;
        self.at[depth].clear();
    }

    /// Closes a set of processes; false if nothing smaller than all of them is known to be closed.
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
                    Blocker::Process(other) => match self.insert(Some(other)) {
                        true => continue,
                        false => return false,
                    },
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

    /// Puts a process into the set; false if it is not live.
    fn insert(&mut self, process: Option<ProcessId>) -> bool {
        let number = process.and_then(|p| self.live.iter().position(|&live| live == p));
        let Some(number) = number else { return false };
        if !std::mem::replace(&mut self.closed[number], true) {
            self.pending.push(number);
        }
        true
    }
}

/// The process, or the one from which it descends that is there already.
fn there(program: &impl Execution, process: ProcessId) -> Option<ProcessId> {
    let unborn = |&p: &ProcessId| program.status(p) == Status::Unborn;
    let mut one = Some(process);
    while let Some(p) = one.filter(unborn) {
        one = program.processes().parent(p);
    }
    one
}
