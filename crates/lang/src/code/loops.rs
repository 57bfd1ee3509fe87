//! Decides whether a run of a program may be infinite or return to an earlier state. If not, a
//! search needs neither a table of states nor the detection of cycles.

use crate::check::hir::{Place, ProcedureId, Program, Spawned, Stmt, StmtKind};
use crate::code::shared::Shared;

/// Whether steps may repeat without a constant bound: by a `while` or `|>*` without a constant
/// bound, a `for` whose counter is assigned, or a procedure that calls or starts itself. Otherwise
/// every run ends, and no state occurs twice in a run.
pub(crate) fn may_loop(program: &Program, shared: &Shared<'_>) -> bool {
    let bodies = || {
        let procedures = program.procedures.iter().map(|p| &p.body[..]);
        procedures.chain(program.processes.iter().map(|p| &p.body[..]))
    };
    let mut found = false;
    for body in bodies() {
        for_each(body, &mut |stmt| {
            found |= match &stmt.kind {
                // A loop without steps is local work, and the machine limits local work.
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

/// Whether a procedure calls or starts itself, directly or through others.
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
    // Repeatedly remove the procedures whose callees are all removed. The remaining procedures are
    // on a cycle of calls or lead to one.
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

/// Calls `visit` on every statement, including nested ones.
fn for_each(stmts: &[Stmt], visit: &mut dyn FnMut(&Stmt)) {
    stmts.iter().for_each(|stmt| stmt.walk(visit));
}
