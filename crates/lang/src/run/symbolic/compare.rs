//! Compares symbolic states: by the fingerprint of a whole state, by a sum of the fingerprints of
//! its parts, and by the solver, which decides whether one state covers another.
//!
//! Each condition of the path counts as a part of the process that decided it. So a step changes
//! the sum by the same amount whether independent steps come before or after it, and equivalent
//! runs have the same sum. Sums compare terms syntactically: two states with different sums may
//! still be equal, which the solver finds out ([`Semantics::covers`]).

use mazurka_core::{Execution, Fairness, Fingerprint, ProcessId, Semantics};
use mazurka_smt::Term;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::run::state::Life;

use super::SymbolicMachine;
use super::logic::Logic;
use super::state::{SymbolicProcess, SymbolicState};

impl SymbolicMachine {
    /// Returns two fingerprints: of the observed cells, and of the path condition as a set. They
    /// are the same in every machine for this program.
    pub fn result_print(&self) -> (Fingerprint, Fingerprint) {
        (self.observation(), self.path_print())
    }

    /// Returns the same fingerprints for the values of these variables.
    pub fn print_of(&self, names: &[String]) -> (Fingerprint, Fingerprint) {
        let observed = self.values_of(names);
        let values = observed.values().iter();
        let values = values.fold(Fingerprint::EMPTY, |all, &value| {
            all.then_all(self.logic.borrow_mut().print(value))
        });
        (values, self.path_print())
    }

    /// Returns the fingerprint of the path condition as a set.
    fn path_print(&self) -> Fingerprint {
        let mut logic = self.logic.borrow_mut();
        let path = self.path_as_set().into_iter();
        let conditions = path.map(|condition| logic.print(condition).then(1));
        conditions.fold(Fingerprint::ZERO, Fingerprint::and)
    }

    /// Returns the conditions of the path, each once, in an order that does not depend on the order
    /// of the steps.
    pub(super) fn path_as_set(&self) -> SmallVec<[Term; 32]> {
        let mut path = SmallVec::from_slice(&self.state.path);
        path.sort_unstable();
        path.dedup();
        path
    }

    /// Returns the fingerprint of the data of a process that can matter later.
    fn process_fingerprint(
        &self,
        logic: &mut Logic,
        id: ProcessId,
        process: &SymbolicProcess,
    ) -> Fingerprint {
        let r = &process.registers;
        let mut all = self.table.name(id);
        if r.life != Life::Alive {
            return all.then(u64::MAX - r.life as u64);
        }
        all = all.then((u64::from(r.children) << 32) | u64::from(r.pc));
        all = all.then(u64::from(r.inputs));
        if let Some(stayed) = process.extra.stayed {
            all = all.then_all(stayed.seen);
        }
        for (pc, frame) in process.code_positions(&logic.terms) {
            if pc != r.pc || frame != r.frame as usize {
                all = all.then(u64::from(pc));
            }
            for slot in self.code.live.at(pc) {
                let value = process.stack[frame + slot.at as usize];
                all = match (slot.handle, logic.known(value)) {
                    (true, Some(handle)) => all.then_all(self.table.name(ProcessId(handle as u32))),
                    _ => all.then_all(logic.print(value)),
                };
            }
        }
        all
    }

    /// Returns the pairs of terms that must be equal for two states to be the same; `None` if the
    /// states cannot be the same.
    fn to_compare(&self, one: &SymbolicState, other: &SymbolicState) -> Option<Vec<(Term, Term)>> {
        let logic = self.logic.borrow();
        let mut pairs: Vec<(Term, Term)> = Vec::new();
        let cells = one.cells.iter().zip(&other.cells);
        pairs.extend(cells.map(|(&a, &b)| (a, b)));
        let unborn = SymbolicProcess::unborn();
        for at in 0..one.processes.len().max(other.processes.len()) {
            let a = one.processes.get(at).unwrap_or(&unborn);
            let b = other.processes.get(at).unwrap_or(&unborn);
            let (r, q) = (&a.registers, &b.registers);
            if r.life != q.life {
                return None;
            }
            if r.life != Life::Alive {
                continue;
            }
            let rest = |process: &SymbolicProcess| {
                let r = &process.registers;
                (r.children, r.inputs, process.extra.stayed)
            };
            let points = a.code_positions(&logic.terms);
            if rest(a) != rest(b) || points != b.code_positions(&logic.terms) {
                return None;
            }
            for (pc, frame) in points {
                for slot in self.code.live.at(pc) {
                    let slot = frame + slot.at as usize;
                    pairs.push((a.stack[slot], b.stack[slot]));
                }
            }
        }
        pairs.retain(|(a, b)| a != b);
        pairs.sort_unstable();
        pairs.dedup();
        let known = |term| logic.known(term).is_some();
        let different = pairs.iter().any(|&(a, b)| known(a) && known(b));
        (!different).then_some(pairs)
    }
}

impl Semantics for SymbolicMachine {
    type State = SymbolicState;

    fn state(&self) -> SymbolicState {
        self.state.clone()
    }

    fn copy_state(&self, into: &mut SymbolicState) {
        into.clone_from(&self.state);
    }

    fn fairness(&self) -> Fairness {
        self.code.fairness
    }

    /// Omits dead locals, and uses the names of processes in place of their indices. The conditions
    /// of the path count as a set.
    fn fingerprint(&self) -> Fingerprint {
        let logic = &mut *self.logic.borrow_mut();
        let (variables, locks) = self.state.cells.split_at(self.code.first_lock as usize);
        // No fingerprint of a process starts with this word.
        let mut all = Fingerprint::EMPTY.then(u64::MAX);
        for &value in variables {
            all = all.then_all(logic.print(value));
        }
        for &owner in locks {
            all = match logic.known(owner).unwrap_or(0) {
                0 => all.then(0),
                owner => all.then_all(self.table.name(ProcessId(owner as u32 - 1))),
            };
        }
        // The path is a set of conditions, because a loop may decide the same condition again and
        // return to the same state.
        for condition in self.path_as_set() {
            all = all.and(logic.print(condition).then(1));
        }
        for (at, process) in self.state.processes.iter().enumerate() {
            if process.registers.life != Life::Unborn {
                all = all.and(self.process_fingerprint(logic, ProcessId(at as u32), process));
            }
        }
        all
    }

    fn cells(&self) -> usize {
        self.state.cells.len()
    }

    fn cell(&self, cell: usize) -> Fingerprint {
        let logic = &mut *self.logic.borrow_mut();
        let (value, part) = (self.state.cells[cell], Fingerprint::EMPTY.then(cell as u64));
        match logic.known(value) {
            Some(owner) if cell >= self.code.first_lock as usize && owner != 0 => {
                part.then_all(self.table.name(ProcessId(owner as u32 - 1)))
            }
            _ => part.then_all(logic.print(value)),
        }
    }

    /// The fingerprint includes the conditions that the process has decided.
    fn process(&self, process: ProcessId) -> Fingerprint {
        match self.state.processes.get(process.index()) {
            Some(state) if state.registers.life != Life::Unborn => {
                let logic = &mut *self.logic.borrow_mut();
                let essence = self.process_fingerprint(logic, process, state);
                essence.and(state.extra.decided)
            }
            _ => Fingerprint::ZERO,
        }
    }

    fn sums_say_all(&self) -> bool {
        false
    }

    /// Whether all values that lead to the other state also lead to this state. Returns false if
    /// the solver cannot decide this.
    fn covers(&self, other: &SymbolicState) -> bool {
        let Some(pairs) = self.to_compare(&self.state, other) else {
            return false;
        };
        let logic = &mut *self.logic.borrow_mut();
        let held: FxHashSet<Term> = other.path.iter().copied().collect();
        let mut same = logic.truth(true);
        for &condition in self.state.path.iter().filter(|term| !held.contains(term)) {
            same = logic.and(same, condition);
        }
        for (a, b) in pairs {
            let equal = logic.equal(a, b);
            same = logic.and(same, equal);
        }
        let differ = logic.not(same);
        logic.excluded(&other.path, differ)
    }

    fn is_endless(&self, process: ProcessId) -> bool {
        let process = self.state.processes.get(process.index());
        process.is_some_and(|process| {
            let points = process.code_positions(&self.logic.borrow().terms);
            points
                .last()
                .is_some_and(|&(pc, _)| self.code.is_endless(pc))
        })
    }

    fn may_repeat(&self) -> bool {
        self.code.may_loop
    }

    fn restore(&mut self, state: &SymbolicState) {
        self.state.clone_from(state);
        self.taken.clear();
        self.undo.clear();
        self.causes.clear();
        self.unfinished = self.count_unfinished();
        self.between_marks = self.count_between_marks();
    }
}
