//! Computes the claims of a step: the accesses that any path through the step may make. They decide
//! which steps commute (errata E2 in docs/algorithms.md).
//!
//! A single element is claimed only if its index is fixed when the step begins: a constant, or a
//! local with a known value that the step does not change. Otherwise the whole array is claimed.
//! Steps that write variables of the same `invariant` are dependent, so that every order of them is
//! explored (errata E12).

use mazurka_core::{Access, AccessKind, Claims, add_claim};
use mazurka_lang::hir::{Expr, ExprKind, LocalId, LockId, Place, Program, Spawned, Stmt, StmtKind};
use mazurka_lang::shared::Shared;
use mazurka_smt::Terms;

use crate::pool::{Layout, Thread, WorkItem, local_range};

/// A walk through the statements of a step that collects its claims.
struct ClaimWalk<'a, 'p> {
    program: &'p Program,
    layout: &'a Layout,
    shared: &'a Shared<'p>,
    thread: &'a Thread<'p>,
    terms: &'a Terms,
    claims: Claims,
    /// The cells that the step reads (vars(e) of its expressions), including those that it also
    /// writes.
    reads: Claims,
    /// The locals that the step may change before it uses them. In the frame of a called procedure,
    /// all locals count as changed.
    changed: Vec<LocalId>,
    /// The number of called procedures that enclose the current statement. Inside them, a local is
    /// not one of the thread's frame.
    foreign: u32,
    /// The procedures that enclose the current statement, so that recursion ends.
    calls: Vec<u32>,
}

/// Returns the first cell of the locks, which follow the variables. The pseudo-cells of the
/// invariants follow the locks.
pub(crate) fn lock_base(layout: &Layout) -> usize {
    layout.cells
}

/// Returns the cells that the next step of a thread may touch, and the cells that it may read. The
/// write set and the read set of an event are derived from them. A cell that is read and written is
/// in both sets.
pub(crate) fn claims<'p>(
    program: &'p Program,
    shared: &Shared<'p>,
    layout: &Layout,
    thread: &Thread<'p>,
    terms: &Terms,
) -> (Claims, Claims) {
    let mut walk = ClaimWalk {
        program,
        layout,
        shared,
        thread,
        terms,
        claims: Claims::new(),
        reads: Claims::new(),
        changed: Vec::new(),
        foreign: 0,
        calls: Vec::new(),
    };
    match thread.work.last() {
        Some(WorkItem::Again(stmt)) => {
            if let StmtKind::While { test, .. } = &stmt.kind {
                walk.expr(test);
            }
        }
        Some(WorkItem::Do(stmt)) => walk.step(stmt),
        _ => {}
    }
    let (mut claims, mut reads) = (walk.claims, walk.reads);
    reads.sort_unstable();
    let invariants = lock_base(layout) + layout.lock_cells;
    for (number, property) in program.invariants.iter().enumerate() {
        let mut read = Claims::new();
        property.expr.walk(&mut |e| {
            if let ExprKind::Shared(var) | ExprKind::Element(var, _) = e.kind {
                let (first, len) = layout.vars[var.0 as usize];
                read.push(Access::write(first as u32).over(len as u32));
            }
        });
        let touches = |claim: &Access| {
            claim.kind == AccessKind::Write && read.iter().any(|r| r.conflicts(*claim))
        };
        if claims.iter().any(touches) {
            add_claim(&mut claims, Access::write((invariants + number) as u32));
        }
    }
    claims.sort_unstable();
    (claims, reads)
}

impl<'p> ClaimWalk<'_, 'p> {
    /// Adds the claims of the first step of a statement.
    fn step(&mut self, stmt: &'p Stmt) {
        match &stmt.kind {
            StmtKind::If(test, ..) => self.expr(test),
            StmtKind::For { from, to, .. } => {
                self.expr(from);
                self.expr(to);
            }
            StmtKind::Call(_, args) => args.iter().for_each(|arg| self.expr(arg)),
            StmtKind::Spawn(_, Spawned::Call(_, args)) => args.iter().for_each(|a| self.expr(a)),
            StmtKind::Spawn(_, Spawned::Block(_)) => {}
            // The step has several statements. It claims the accesses of all of them.
            StmtKind::Guard(..)
            | StmtKind::Choice { .. }
            | StmtKind::GuardedLoop(..)
            | StmtKind::Atomic(_) => {
                self.changed = assigned(stmt);
                match &stmt.kind {
                    StmtKind::Atomic(stmts) => self.all(stmts),
                    _ => {
                        self.first(stmt);
                    }
                }
            }
            _ => self.whole(stmt),
        }
    }

    /// Adds the accesses that a guarded statement may make up to the end of its first step. Returns
    /// whether the statement certainly has a step.
    fn first(&mut self, stmt: &'p Stmt) -> bool {
        let shared = self.shared;
        match &stmt.kind {
            StmtKind::Guard(test, body) => {
                self.expr(test);
                self.first(body);
                true
            }
            StmtKind::GuardedLoop(test, body) => {
                self.expr(test);
                self.first(body);
                true
            }
            StmtKind::Choice { test, then, other } => {
                self.expr(test);
                let (a, b) = (self.first(then), self.first(other));
                shared.stmt(stmt) || (a && b)
            }
            StmtKind::Block(stmts) => stmts.iter().any(|stmt| self.first(stmt)),
            StmtKind::If(test, then, other) => {
                self.expr(test);
                if shared.expr(test) {
                    return true;
                }
                let a = then.iter().any(|stmt| self.first(stmt));
                let b = other.iter().any(|stmt| self.first(stmt));
                a && b
            }
            StmtKind::While { test, body, .. } => {
                self.expr(test);
                if shared.expr(test) {
                    return true;
                }
                body.iter().any(|stmt| self.first(stmt));
                false
            }
            StmtKind::For { from, to, body, .. } => {
                self.expr(from);
                self.expr(to);
                if shared.expr(from) || shared.expr(to) {
                    return true;
                }
                body.iter().any(|stmt| self.first(stmt));
                false
            }
            StmtKind::Call(procedure, args) => {
                args.iter().for_each(|arg| self.expr(arg));
                if args.iter().any(|arg| shared.expr(arg)) {
                    return true;
                }
                !self.calls.contains(&procedure.0) && {
                    self.calls.push(procedure.0);
                    self.foreign += 1;
                    let body = &self.program.procedures[procedure.0 as usize].body;
                    let found = body.iter().any(|stmt| self.first(stmt));
                    self.foreign -= 1;
                    self.calls.pop();
                    found
                }
            }
            StmtKind::Atomic(stmts) => {
                self.all(stmts);
                shared.stmt(stmt)
            }
            _ => {
                self.whole(stmt);
                shared.stmt(stmt)
            }
        }
    }

    fn all(&mut self, stmts: &'p [Stmt]) {
        stmts.iter().for_each(|stmt| self.whole(stmt));
    }

    /// Adds the accesses that a statement may make.
    fn whole(&mut self, stmt: &'p Stmt) {
        match &stmt.kind {
            StmtKind::Assign(places, values) => {
                values.iter().for_each(|value| self.expr(value));
                places.iter().for_each(|place| self.write(place));
            }
            // Another process executes the block.
            StmtKind::Spawn(_, Spawned::Block(_)) => {}
            StmtKind::Call(procedure, args) => {
                args.iter().for_each(|arg| self.expr(arg));
                if !self.calls.contains(&procedure.0) {
                    self.calls.push(procedure.0);
                    self.foreign += 1;
                    self.all(&self.program.procedures[procedure.0 as usize].body);
                    self.foreign -= 1;
                    self.calls.pop();
                }
            }
            StmtKind::Lock(lock, index) => self.lock(*lock, index.as_ref(), AccessKind::Acquire),
            StmtKind::Unlock(lock, index) => self.lock(*lock, index.as_ref(), AccessKind::Release),
            _ => {
                stmt.exprs().into_iter().for_each(|e| self.expr(e));
                stmt.inner().for_each(|inner| self.whole(inner));
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        let mut found = Vec::new();
        expr.walk(&mut |e| match &e.kind {
            ExprKind::Shared(var) => found.push((*var, None)),
            ExprKind::Element(var, index) => found.push((*var, self.fixed(index))),
            _ => {}
        });
        for (var, at) in found {
            let range = self.layout.vars[var.0 as usize];
            self.claim(AccessKind::Read, range, at);
        }
    }

    fn write(&mut self, place: &Place) {
        if let Some(index) = place.index() {
            self.expr(index);
        }
        if let Place::Shared(var) | Place::Element(var, _) = place {
            let at = place.index().and_then(|index| self.fixed(index));
            let range = self.layout.vars[var.0 as usize];
            self.claim(AccessKind::Write, range, at);
        }
    }

    fn lock(&mut self, lock: LockId, index: Option<&Expr>, kind: AccessKind) {
        index.into_iter().for_each(|index| self.expr(index));
        let at = index.and_then(|index| self.fixed(index));
        let (first, len) = self.layout.locks[lock.0 as usize];
        self.claim(kind, (lock_base(self.layout) + first, len), at);
    }

    fn claim(&mut self, kind: AccessKind, (first, len): (usize, usize), at: Option<usize>) {
        let access = match at {
            Some(at) if at < len => Access::new(kind, (first + at) as u32),
            // An index out of bounds is a failure, and no element is touched.
            Some(_) => return,
            None => Access::new(kind, first as u32).over(len as u32),
        };
        if kind == AccessKind::Read {
            add_claim(&mut self.reads, access);
        }
        add_claim(&mut self.claims, access);
    }

    /// Returns the value of an index, if it is fixed when the step begins.
    fn fixed(&self, index: &Expr) -> Option<usize> {
        let value = match &index.kind {
            ExprKind::Const(value) => *value,
            ExprKind::Local(local) if self.foreign == 0 && !self.changed.contains(local) => {
                let at = local_range(self.thread.frame.0, *local).0;
                self.terms.value(self.thread.locals[at])?
            }
            _ => return None,
        };
        Some(usize::try_from(value).unwrap_or(usize::MAX))
    }
}

/// Returns the locals that a statement may change.
fn assigned(stmt: &Stmt) -> Vec<LocalId> {
    let mut found = Vec::new();
    let mut open = vec![stmt];
    while let Some(stmt) = open.pop() {
        match &stmt.kind {
            StmtKind::Assign(places, _) => found.extend(places.iter().filter_map(|p| match p {
                Place::Local(local) | Place::LocalElement(local, _) => Some(*local),
                Place::Shared(_) | Place::Element(..) => None,
            })),
            StmtKind::Let(local, _) | StmtKind::Spawn(Some(local), _) => found.push(*local),
            StmtKind::Block(stmts) | StmtKind::Atomic(stmts) => open.extend(stmts),
            StmtKind::Guard(_, body) | StmtKind::GuardedLoop(_, body) => open.push(body),
            StmtKind::Choice { then, other, .. } => open.extend([&**then, &**other]),
            StmtKind::If(_, then, other) => open.extend(then.iter().chain(other)),
            StmtKind::While { body, .. } => open.extend(body),
            StmtKind::For { local, body, .. } => {
                found.push(*local);
                open.extend(body);
            }
            _ => {}
        }
    }
    found
}
