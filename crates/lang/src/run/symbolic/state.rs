//! The state of a symbolic run, ⟨σ, φ, Σ⟩: the values of the cells as terms, the path condition,
//! and the processes.

use std::hash::{Hash, Hasher};

use mazurka_core::{Fingerprint, Patience, ProcessId};
use mazurka_smt::{Kind, Term, Terms};
use smallvec::SmallVec;

use super::logic::{Logic, sort_of};
use crate::code::Code;
use crate::run::state::{Life, Process};

/// The number of initial values that are made between two checks of the clock.
const BETWEEN_CLOCK_CHECKS: u32 = 1 << 13;

/// Why a process waits, found by a step in which it *stayed* (`mod.rs`). The process is tried again
/// when the values have changed or the joined process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WaitReason {
    /// The fingerprint of the values of the cells that its step may touch.
    pub seen: Fingerprint,
    /// The process whose end it waits for.
    pub joins: Option<ProcessId>,
}

/// The state of a process that rests before a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RestBeforeCondition {
    /// The operand that is left on the stack, if there is one.
    pub operand: Option<Term>,
    /// The amount of local work that the process may still do before its next mark.
    pub fuel: u64,
}

/// The data that the symbolic machine keeps for a process in addition to its registers and locals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decisions {
    pub stayed: Option<WaitReason>,
    pub rests: Option<RestBeforeCondition>,
    /// The conditions that the steps of the process have decided, as a sum of fingerprints.
    pub decided: Fingerprint,
}

impl Default for Decisions {
    fn default() -> Self {
        Self {
            stayed: None,
            rests: None,
            decided: Fingerprint::ZERO,
        }
    }
}

/// A process whose locals are terms.
pub(super) type SymbolicProcess = Process<Term, Decisions>;

impl SymbolicProcess {
    /// Returns the instruction at which the process rests, then the return addresses of its calls,
    /// each with its frame.
    pub fn code_positions(&self, terms: &Terms) -> SmallVec<[(u32, usize); 4]> {
        let (mut pc, mut frame) = (self.registers.pc, self.registers.frame as usize);
        let mut all = SmallVec::new();
        loop {
            all.push((pc, frame));
            if frame == 0 {
                return all;
            }
            // Return addresses and frames are always known.
            let number = |slot: usize| terms.value(self.stack[slot]).unwrap_or(0);
            (pc, frame) = (number(frame - 2) as u32, number(frame - 1) as usize);
        }
    }

    /// Returns all data that can matter later.
    fn key(&self) -> ProcessKey<'_> {
        let r = &self.registers;
        let here = || {
            let stack = &self.stack[..r.top as usize];
            (
                r.pc,
                r.frame,
                r.children,
                r.inputs,
                (self.extra.stayed, self.extra.rests),
                stack,
            )
        };
        (r.life, (r.life == Life::Alive).then(here))
    }
}

/// Whether a process is alive or how it ended. For a live process also its instruction, the start
/// of its frame, the number of children it has started, the number of inputs it has read, why it
/// waits, whether it rests before a condition, and its stack.
type ProcessKey<'a> = (
    Life,
    Option<(
        u32,
        u32,
        u32,
        u32,
        (Option<WaitReason>, Option<RestBeforeCondition>),
        &'a [Term],
    )>,
);

/// A state of a symbolic run. Its terms belong to the machine that made it.
#[derive(Debug)]
pub struct SymbolicState {
    /// σ: for each cell a term over initial values and inputs.
    pub(super) cells: Vec<Term>,
    /// Σ: the processes.
    pub(super) processes: Vec<SymbolicProcess>,
    /// φ as a list of conditions.
    pub(super) path: Vec<Term>,
}

// Implemented by hand, so that copying into an existing state reuses its memory.
impl Clone for SymbolicState {
    fn clone(&self) -> Self {
        Self {
            cells: self.cells.clone(),
            processes: self.processes.clone(),
            path: self.path.clone(),
        }
    }

    fn clone_from(&mut self, other: &Self) {
        self.cells.clone_from(&other.cells);
        self.processes.clone_from(&other.processes);
        self.path.clone_from(&other.path);
    }
}

impl SymbolicState {
    fn born(&self) -> impl Iterator<Item = (usize, &SymbolicProcess)> {
        let all = self.processes.iter().enumerate();
        all.filter(|(_, p)| p.registers.life != Life::Unborn)
    }
}

impl PartialEq for SymbolicState {
    fn eq(&self, other: &Self) -> bool {
        let mut both = self.born().zip(other.born());
        self.cells == other.cells
            && self.path == other.path
            && self.born().count() == other.born().count()
            && both.all(|((a, p), (b, q))| a == b && p.key() == q.key())
    }
}

impl Eq for SymbolicState {}

impl Hash for SymbolicState {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.cells.hash(hasher);
        self.path.hash(hasher);
        for (at, process) in self.born() {
            (at, process.key()).hash(hasher);
        }
    }
}

/// Returns the initial values. An initial value that the program does not give is a term variable
/// with the name of the cell.
pub(super) fn initial_cells(code: &Code, logic: &mut Logic) -> Vec<Term> {
    initial_cells_until(code, logic, &Patience::default()).0
}

/// Returns the initial values, and whether they are complete. A large array needs many term
/// variables, and `patience` limits the time to make them.
pub(super) fn initial_cells_until(
    code: &Code,
    logic: &mut Logic,
    patience: &Patience,
) -> (Vec<Term>, bool) {
    let mut cells: Vec<Term> = code.initial.iter().map(|&v| logic.constant(v)).collect();
    for (at, var) in code.program.vars.iter().enumerate() {
        if var.init.is_none() {
            let first = code.first_cells[at];
            for cell in first..first + var.len.unwrap_or(1) {
                if cell % BETWEEN_CLOCK_CHECKS == 0 && patience.is_over() {
                    return (cells, false);
                }
                let name = code.cell_name(cell);
                let variable = logic.terms.variable(Kind::Initial, &name, sort_of(var.ty));
                cells[cell as usize] = variable;
            }
        }
    }
    (cells, true)
}
