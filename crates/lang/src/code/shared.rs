//! What is a step: statements that can touch something shared, can block, start or wait for a
//! process, or choose. Everything else is local work.

use crate::check::hir::{Expr, ExprKind, Place, ProcedureId, Program, Spawned, Stmt, StmtKind};

/// Answers for one program.
pub struct Shared<'a> {
    program: &'a Program,
    /// Which procedures can make a step.
    procedures: Vec<bool>,
}

impl<'a> Shared<'a> {
    /// Looks at the program once.
    pub fn new(program: &'a Program) -> Self {
        let mut shared = Self {
            program,
            procedures: vec![false; program.procedures.len()],
        };
        // A procedure steps if its body does; repeated until calls, recursive ones too, are
        // settled.
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

    /// Whether an assignment touches something shared.
    pub fn assigns_shared(&self, places: &[Place], values: &[Expr]) -> bool {
        let indices = places.iter().filter_map(Place::index);
        places.iter().any(Place::is_shared) || indices.chain(values).any(|e| self.expr(e))
    }

    fn procedure(&self, procedure: ProcedureId) -> bool {
        self.procedures[procedure.0 as usize]
    }

    fn any(&self, stmts: &[Stmt]) -> bool {
        stmts.iter().any(|s| self.stmt(s))
    }

    /// Whether a statement can make a step.
    pub fn stmt(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Skip | StmtKind::End | StmtKind::Error(_) => false,
            StmtKind::Guard(..)
            | StmtKind::GuardedLoop(..)
            | StmtKind::Spawn(..)
            | StmtKind::Join(_)
            | StmtKind::Lock(..)
            | StmtKind::Unlock(..) => true,
            StmtKind::Block(stmts) | StmtKind::Atomic(stmts) => self.any(stmts),
            StmtKind::Assign(places, values) => self.assigns_shared(places, values),
            StmtKind::Let(_, values) => values.iter().any(|e| self.expr(e)),
            StmtKind::Choice { test, then, other } => {
                self.expr(test) || self.stmt(then) || self.stmt(other)
            }
            StmtKind::If(test, then, other) => self.expr(test) || self.any(then) || self.any(other),
            StmtKind::While { test, body, .. } => self.expr(test) || self.any(body),
            StmtKind::For { from, to, body, .. } => {
                self.expr(from) || self.expr(to) || self.any(body)
            }
            StmtKind::Call(procedure, args) => {
                self.procedure(*procedure) || args.iter().any(|e| self.expr(e))
            }
            StmtKind::Assert(test, _) | StmtKind::Assume(test) => self.expr(test),
        }
    }

    /// Calls `visit` on every expression of the program's code.
    pub fn for_each_expr(&self, visit: &mut impl FnMut(&Expr)) {
        for procedure in &self.program.procedures {
            for_each_expr(&procedure.body, visit);
        }
        for process in &self.program.processes {
            for_each_expr(&process.body, visit);
        }
    }
}

fn for_each_expr(stmts: &[Stmt], visit: &mut impl FnMut(&Expr)) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Skip
            | StmtKind::End
            | StmtKind::Error(_)
            | StmtKind::Join(_)
            | StmtKind::Lock(_, None)
            | StmtKind::Unlock(_, None) => {}
            StmtKind::Block(body) | StmtKind::Atomic(body) => for_each_expr(body, visit),
            StmtKind::Assign(places, values) => {
                let indices = places.iter().filter_map(Place::index);
                indices.chain(values).for_each(|e| e.walk(visit));
            }
            StmtKind::Let(_, values) | StmtKind::Call(_, values) => {
                values.iter().for_each(|e| e.walk(visit));
            }
            StmtKind::Guard(test, body) | StmtKind::GuardedLoop(test, body) => {
                test.walk(visit);
                for_each_expr(std::slice::from_ref(body), visit);
            }
            StmtKind::Choice { test, then, other } => {
                test.walk(visit);
                for_each_expr(std::slice::from_ref(then), visit);
                for_each_expr(std::slice::from_ref(other), visit);
            }
            StmtKind::If(test, then, other) => {
                test.walk(visit);
                for_each_expr(then, visit);
                for_each_expr(other, visit);
            }
            StmtKind::While { test, body, .. } => {
                test.walk(visit);
                for_each_expr(body, visit);
            }
            StmtKind::For { from, to, body, .. } => {
                from.walk(visit);
                to.walk(visit);
                for_each_expr(body, visit);
            }
            StmtKind::Spawn(_, Spawned::Block(body)) => for_each_expr(body, visit),
            StmtKind::Spawn(_, Spawned::Call(_, args)) => args.iter().for_each(|e| e.walk(visit)),
            StmtKind::Lock(_, Some(e))
            | StmtKind::Unlock(_, Some(e))
            | StmtKind::Assert(e, _)
            | StmtKind::Assume(e) => e.walk(visit),
        }
    }
}
