//! Determines which statements are steps: a step can access shared memory, block, start a process,
//! wait for the end of one, or choose. All other statements are local work.

use crate::check::hir::{Expr, ExprKind, Place, ProcedureId, Program, Stmt, StmtKind};

/// The result of the analysis of a program's procedures, with queries on its statements and
/// expressions.
pub struct Shared<'a> {
    program: &'a Program,
    /// For each procedure, whether it can make a step.
    procedures: Vec<bool>,
}

/// Whether an expression reads shared memory.
pub(crate) fn reads_shared(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |e| found |= matches!(e.kind, ExprKind::Shared(_) | ExprKind::Element(..)));
    found
}

impl<'a> Shared<'a> {
    /// Analyses the procedures of a program.
    pub fn new(program: &'a Program) -> Self {
        let mut shared = Self {
            program,
            procedures: vec![false; program.procedures.len()],
        };
        // A procedure makes a step if its body does. Recursive procedures need a fixed point.
        loop {
            let bodies = program.procedures.iter();
            let next: Vec<bool> = bodies
                .map(|p| p.body.iter().any(|s| shared.stmt(s)))
                .collect();
            if next == shared.procedures {
                return shared;
            }
            shared.procedures = next;
        }
    }

    /// Whether an expression reads shared memory or chooses.
    pub fn expr(&self, expr: &Expr) -> bool {
        let mut found = false;
        expr.walk(&mut |e| {
            found |= matches!(
                e.kind,
                ExprKind::Shared(_) | ExprKind::Element(..) | ExprKind::Choose(..)
            );
        });
        found
    }

    /// Whether an assignment accesses shared memory or chooses.
    pub fn assigns_shared(&self, places: &[Place], values: &[Expr]) -> bool {
        let indices = places.iter().filter_map(Place::index);
        places.iter().any(Place::is_shared) || indices.chain(values).any(|e| self.expr(e))
    }

    fn procedure(&self, procedure: ProcedureId) -> bool {
        self.procedures[procedure.0 as usize]
    }

    /// Whether a statement can make a step.
    pub fn stmt(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Guard(..)
            | StmtKind::GuardedLoop(..)
            | StmtKind::Spawn(..)
            | StmtKind::Join(_)
            | StmtKind::Lock(..)
            | StmtKind::Unlock(..) => true,
            // An empty block with a memory order is a fence.
            StmtKind::Atomic(body) if body.is_empty() => {
                self.program.orders.contains_key(&stmt.span)
            }
            StmtKind::Assign(places, _) if self.program.assigns_ghosts(places) => false,
            StmtKind::Assign(places, values) => self.assigns_shared(places, values),
            StmtKind::Call(procedure, _) if self.procedure(*procedure) => true,
            _ => {
                stmt.exprs().into_iter().any(|e| self.expr(e))
                    || stmt.inner().any(|inner| self.stmt(inner))
            }
        }
    }

    /// Calls `visit` on every expression of the program's code.
    pub fn for_each_expr(&self, visit: &mut impl FnMut(&Expr)) {
        let procedures = self.program.procedures.iter().map(|p| &p.body);
        let processes = self.program.processes.iter().map(|p| &p.body);
        for stmt in procedures.chain(processes).flatten() {
            stmt.walk(&mut |stmt| stmt.exprs().into_iter().for_each(|e| e.walk(visit)));
        }
    }
}
