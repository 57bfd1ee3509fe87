//! An assignment of ghosts joins the step before it, so there must be one: no way from the start of
//! a process may get to it without a mark.

use mazurka_diagnostics::Diagnostic;
use rustc_hash::FxHashSet;

use super::{Code, Op};
use crate::check::refuse::ghost_without_a_step;
use crate::code::reach::followers;

/// The assignments of ghosts that a process may get to before its first step.
pub(crate) fn without_a_step(code: &Code) -> Vec<Diagnostic> {
    if code.program.ghosts.is_empty() {
        return Vec::new();
    }
    let passes = passable(code);
    let mut starts: Vec<usize> = code.processes.iter().map(|e| e.pc as usize).collect();
    starts.extend(code.ops.iter().filter_map(|op| match *op {
        Op::SpawnBlock(at) => Some(at as usize),
        Op::SpawnCall(procedure) => Some(code.procedures[procedure as usize].pc as usize),
        _ => None,
    }));
    let reached = from(code, starts, &passes, true);
    let mut found: Vec<Diagnostic> = Vec::new();
    for (pc, op) in code.ops.iter().enumerate() {
        let cell = match *op {
            Op::Store(cell) => cell,
            Op::StoreAt(range) => range.first,
            _ => continue,
        };
        let span = code.spans[pc];
        if reached.contains(&pc)
            && code.is_ghost(cell)
            && found.iter().all(|known| known.span != span)
        {
            found.push(ghost_without_a_step(span));
        }
    }
    found
}

/// For each procedure whether a call may come back without a step.
fn passable(code: &Code) -> Vec<bool> {
    let mut passes = vec![false; code.procedures.len()];
    loop {
        let mut changed = false;
        for (at, procedure) in code.procedures.iter().enumerate() {
            if !passes[at] {
                let reached = from(code, vec![procedure.pc as usize], &passes, false);
                passes[at] = reached.iter().any(|&pc| code.ops[pc] == Op::Return);
                changed |= passes[at];
            }
        }
        if !changed {
            return passes;
        }
    }
}

/// The instructions that are reached from these without a mark; `descend`: those of procedures that
/// are called, too.
fn from(code: &Code, mut left: Vec<usize>, passes: &[bool], descend: bool) -> FxHashSet<usize> {
    let mut reached = FxHashSet::default();
    while let Some(pc) = left.pop() {
        if pc >= code.ops.len() || !reached.insert(pc) {
            continue;
        }
        match code.ops[pc] {
            Op::Mark(_) | Op::Open(_) | Op::Return => {}
            Op::Call(procedure) => {
                if descend {
                    left.push(code.procedures[procedure as usize].pc as usize);
                }
                if passes[procedure as usize] {
                    left.push(pc + 1);
                }
            }
            _ => left.extend(followers(code, pc)),
        }
    }
    reached
}

impl Code {
    fn is_ghost(&self, cell: u32) -> bool {
        let after = self.first_cells.partition_point(|&first| first <= cell);
        let var = crate::check::hir::VarId(after.saturating_sub(1) as u32);
        cell < self.first_lock && self.program.ghosts.contains(&var)
    }

    /// Whether the file declares ghost variables.
    pub fn has_ghosts(&self) -> bool {
        !self.program.ghosts.is_empty()
    }
}
