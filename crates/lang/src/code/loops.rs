//! Whether a run may come back to a state that it was in.

use crate::check::hir::{Place, ProcedureId, Program, Spawned, Stmt, StmtKind};
use crate::code::shared::Shared;

/// Whether steps may be repeated without a bound that can be seen: by a `while` or `|>*` without a
/// constant bound, a `for` whose counter is assigned, or a procedure that calls or starts itself.
/// If not, every run ends, and no state comes twice in one run.
pub(crate) fn may_loop(program: &Program, shared: &Shared<'_>) -> bool {
    let bodies = || {
        let procedures = program.procedures.iter().map(|p| &p.body[..]);
        procedures.chain(program.processes.iter().map(|p| &p.body[..]))
    };
    let mut found = false;
    for body in bodies() {
        for_each(body, &mut |stmt| {
            found |= match &stmt.kind {
                // Without a step inside, it is local work, and that is limited.
                StmtKind::While { bound: None, .. } | StmtKind::GuardedLoop(..) => {
                    shared.stmt(stmt)
                }
                StmtKind::For { local, body, .. } => {
                    let mut assigned = false;
                    for_each(body, &mut |stmt| {
                        let counter = |p: &Place| matches!(p, Place::Local(l) if l == local);
                        assigned |= matches!(&stmt.kind, StmtKind::Assign(places, _)
                            if places.iter().any(counter));
                    });
                    assigned && shared.stmt(stmt)
                }
                _ => false,
            };
        });
    }
    found || recursive(program)
}

/// Whether a procedure calls or starts itself, be it through others.
fn recursive(program: &Program) -> bool {
    let callees: Vec<Vec<usize>> = program
        .procedures
        .iter()
        .map(|procedure| {
            let mut callees = Vec::new();
            for_each(&procedure.body, &mut |stmt| match stmt.kind {
                StmtKind::Call(ProcedureId(callee), _)
                | StmtKind::Spawn(_, Spawned::Call(ProcedureId(callee), _)) => {
                    callees.push(callee as usize);
                }
                _ => {}
            });
            callees
        })
        .collect();
    // Take away those that call none of the others that are left; what stays is on a cycle or leads
    // to one.
    let mut left = vec![true; callees.len()];
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for (at, callees) in callees.iter().enumerate() {
            if left[at] && !callees.iter().any(|&callee| left[callee]) {
                left[at] = false;
                changed = true;
            }
        }
    }
    left.contains(&true)
}

/// Calls `visit` on every statement, those inside others too.
fn for_each(stmts: &[Stmt], visit: &mut dyn FnMut(&Stmt)) {
    for stmt in stmts {
        visit(stmt);
        match &stmt.kind {
            StmtKind::Block(body)
            | StmtKind::Atomic(body)
            | StmtKind::While { body, .. }
            | StmtKind::For { body, .. }
            | StmtKind::Spawn(_, Spawned::Block(body)) => for_each(body, visit),
            StmtKind::Guard(_, body) | StmtKind::GuardedLoop(_, body) => {
                for_each(std::slice::from_ref(body), visit);
            }
            StmtKind::Choice { then, other, .. } => {
                for_each(std::slice::from_ref(then), visit);
                for_each(std::slice::from_ref(other), visit);
            }
            StmtKind::If(_, then, other) => {
                for_each(then, visit);
                for_each(other, visit);
            }
            StmtKind::Skip
            | StmtKind::End
            | StmtKind::Assign(..)
            | StmtKind::Let(..)
            | StmtKind::Spawn(_, Spawned::Call(..))
            | StmtKind::Join(_)
            | StmtKind::Call(..)
            | StmtKind::Lock(..)
            | StmtKind::Unlock(..)
            | StmtKind::Assert(..)
            | StmtKind::Assume(_)
            | StmtKind::Error(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    fn may_loop(source: &str) -> bool {
        let program = crate::load(source, &[]).expect("a program");
        let code = crate::compile(&program, source).expect("it can be explored");
        code.may_loop()
    }

    #[test]
    fn loops_with_a_bound_end() {
        assert!(!may_loop(
            "var x: int = 0 process { for k in 0..x { x := k } }"
        ));
        assert!(!may_loop(
            "var x: int = 0 process { while (x == 0)[3] { skip } }"
        ));
        assert!(!may_loop(
            "var x: int = 0 process { let i = 0; while i < 9 { i := i + 1 }; x := i }"
        ));
        assert!(!may_loop(
            "var x: int = 0 proc p() { x := 1 } proc q() { p(); spawn p() } process { q(); q() }"
        ));
    }

    #[test]
    fn other_loops_may_not() {
        assert!(may_loop("var x: int = 0 process { while x == 0 { skip } }"));
        assert!(may_loop("var x: int = 0 process { x == 0 |>* x := 1 }"));
        assert!(may_loop(
            "var x: int = 0 process { spawn { if x == 0 { while x < 3 { x := 1 } } } }"
        ));
        assert!(may_loop(
            "var x: int = 0 process { for k in 0..2 { x := k; k := 0 } }"
        ));
        assert!(may_loop(
            "var x: int = 0 proc p() { if x == 0 { p() } } process { p() }"
        ));
        assert!(may_loop(
            "var x: int = 0 proc p() { spawn q() } proc q() { p() } process { p() }"
        ));
    }
}
