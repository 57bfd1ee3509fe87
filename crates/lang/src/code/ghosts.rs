//! Checks that every assignment to ghosts has a step before it that it can join: every path from
//! the start of a process to the assignment must contain a mark. The check follows the paths in the
//! compiled code.

use mazurka_diagnostics::Diagnostic;
use rustc_hash::FxHashSet;

use super::{Code, Op};
use crate::check::refuse::ghost_without_a_step;
use crate::code::reach::followers;

/// Returns a mistake for each assignment to ghosts that a process may reach before its first step.
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
    let reached = reached_without_mark(code, starts, &passes, true);
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

/// Returns, for each procedure, whether a call may return without a step.
fn passable(code: &Code) -> Vec<bool> {
    let mut passes = vec![false; code.procedures.len()];
    loop {
        let mut changed = false;
        for (at, procedure) in code.procedures.iter().enumerate() {
            if !passes[at] {
                let reached =
                    reached_without_mark(code, vec![procedure.pc as usize], &passes, false);
                passes[at] = reached.iter().any(|&pc| code.ops[pc] == Op::Return);
                changed |= passes[at];
            }
        }
        if !changed {
            return passes;
        }
    }
}

/// Returns the instructions that are reached from those in `worklist` without passing a mark.
/// `descend`: whether to include the instructions of called procedures.
fn reached_without_mark(
    code: &Code,
    mut worklist: Vec<usize>,
    passes: &[bool],
    descend: bool,
) -> FxHashSet<usize> {
    let mut reached = FxHashSet::default();
    while let Some(pc) = worklist.pop() {
        if pc >= code.ops.len() || !reached.insert(pc) {
            continue;
        }
        match code.ops[pc] {
            Op::Mark(_) | Op::Open(_) | Op::Return => {}
            Op::Call(procedure) => {
                if descend {
                    worklist.push(code.procedures[procedure as usize].pc as usize);
                }
                if passes[procedure as usize] {
                    worklist.push(pc + 1);
                }
            }
            Op::JumpIfFalse(to) => match decided(code, pc) {
                Some(true) => worklist.push(pc + 1),
                Some(false) => worklist.push(to as usize),
                None => worklist.extend(followers(code, pc)),
            },
            Op::SetLocal(_) if enters_loop(code, pc) => worklist.push(pc + 2),
            _ => worklist.extend(followers(code, pc)),
        }
    }
    reached
}

/// Returns the value of a constant test. It is known only if no jump lands between the constant and
/// the conditional jump.
fn decided(code: &Code, jump: usize) -> Option<bool> {
    let Op::Const(value) = code.ops[jump.checked_sub(1)?] else {
        return None;
    };
    let lands = |op: &Op| {
        matches!(*op, Op::Jump(to) | Op::JumpIfFalse(to) | Op::JumpUnlessLess { to, .. }
            if to as usize == jump)
    };
    (!code.ops.iter().any(lands)).then_some(value != 0)
}

/// Whether this instruction sets the limit of a `for` whose constant range is not empty, so that
/// the test which follows holds. Later rounds reach the test by a jump.
fn enters_loop(code: &Code, pc: usize) -> bool {
    let Some(first) = pc.checked_sub(3) else {
        return false;
    };
    match code.ops.get(first..pc + 2) {
        Some(
            &[
                Op::Const(first),
                Op::SetLocal(counter),
                Op::Const(end),
                Op::SetLocal(limit),
                Op::JumpUnlessLess {
                    slots, unsigned, ..
                },
            ],
        ) => {
            let less = if unsigned {
                (first as u64) < (end as u64)
            } else {
                first < end
            };
            less && slots.map(u32::from) == [counter, limit]
        }
        _ => false,
    }
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

#[cfg(test)]
mod tests {
    /// Returns the number of refused assignments to ghosts in a process.
    fn refused(body: &str) -> usize {
        let source = format!("ghost var g: int = 0 var x: int = 0 process {{ {body} }}");
        let program = crate::load(&source, &[]).expect("a program");
        crate::compile(&program, &source).map_or_else(|mistakes| mistakes.len(), |_| 0)
    }

    #[test]
    fn constant_tests_are_decided() {
        for body in [
            "while true { if x == 0 { break } } g := 1",
            "for i in 0..2 { x := i } g := 1",
            "if true { x := 1 } g := 1",
            "if false { skip } else { x := 1 } g := 1",
            "for i in 0..2 { let y = i; if y == 1 { x := 1 } else { x := 2 } } g := 1",
        ] {
            assert_eq!(refused(body), 0, "{body}");
        }
        for body in [
            "while true { break } g := 1",
            "for i in 0..0 { x := i } g := 1",
            "for i in 0..2 { let y = i; if y == 1 { x := 1 } } g := 1",
            "if false { x := 1 } g := 1",
            "for i in 0..2 { if i == 0 { break }; x := i } g := 1",
            "for i in 0..2 { if i == 0 { continue }; x := i } g := 1",
        ] {
            assert_eq!(refused(body), 1, "{body}");
        }
    }
}
