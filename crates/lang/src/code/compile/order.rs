//! The memory order of a step that contains several accesses: a guard, a choice or an `atomic`
//! block.
//!
//! Under weak memory models, such a step must be a single access: a read, a write, or an update.
//! The source may name one order for its read and another for its write. The step acquires if all
//! of its reads acquire, and releases if all of its writes release, so it never orders more than
//! the source says.

use mazurka_core::{AccessOrder, MemoryOrder};

use super::Compiler;
use crate::check::hir::{Expr, ExprKind, Place, Stmt, StmtKind};

/// The orders of the reads and writes of atomic variables within a step.
#[derive(Default)]
struct SwallowedOrders {
    reads: Vec<MemoryOrder>,
    writes: Vec<MemoryOrder>,
    /// Whether the source names the order of at least one of them.
    named: bool,
}

impl SwallowedOrders {
    fn order(&self) -> Option<AccessOrder> {
        let all = |orders: &[MemoryOrder], is: fn(MemoryOrder) -> bool| {
            !orders.is_empty() && orders.iter().all(|&order| is(order))
        };
        let is_sc = |order| order == MemoryOrder::SeqCst;
        let read = match &self.reads[..] {
            reads if all(reads, is_sc) => MemoryOrder::SeqCst,
            reads if all(reads, MemoryOrder::acquires) => MemoryOrder::Acquire,
            _ => MemoryOrder::Relaxed,
        };
        let every: Vec<MemoryOrder> = self.reads.iter().chain(&self.writes).copied().collect();
        let releases = all(&self.writes, MemoryOrder::releases);
        let order = match (read.acquires(), releases) {
            _ if all(&every, is_sc) => MemoryOrder::SeqCst,
            (true, true) => MemoryOrder::AcqRel,
            (true, false) => MemoryOrder::Acquire,
            (false, true) => MemoryOrder::Release,
            (false, false) => MemoryOrder::Relaxed,
        };
        self.named.then_some(AccessOrder {
            order,
            failure: read,
        })
    }
}

impl Compiler<'_> {
    /// Sets the memory order of the step that starts at the last mark, from the accesses that the
    /// step contains. The mark must be that of a guard, a choice or an `atomic` block.
    pub(super) fn set_step_order(&mut self, tests: &[&Expr], bodies: &[&Stmt]) {
        let mut swallowed = SwallowedOrders::default();
        for test in tests {
            self.note_reads(test, &mut swallowed);
        }
        for body in bodies {
            self.note_first(body, &mut swallowed);
        }
        if let Some(step) = self.code.steps.last_mut() {
            step.order = step.order.or(swallowed.order());
        }
    }

    /// Records the accesses of the first step of a statement.
    fn note_first(&self, stmt: &Stmt, swallowed: &mut SwallowedOrders) {
        match &stmt.kind {
            StmtKind::Block(stmts) => {
                if let Some(first) = stmts.iter().find(|stmt| self.shared.stmt(stmt)) {
                    self.note_first(first, swallowed);
                }
            }
            StmtKind::Atomic(stmts) => {
                for stmt in stmts {
                    stmt.walk(&mut |stmt| self.note_accesses(stmt, swallowed));
                }
            }
            _ => self.note_accesses(stmt, swallowed),
        }
    }

    /// Records the accesses of a statement, without those of nested statements.
    fn note_accesses(&self, stmt: &Stmt, swallowed: &mut SwallowedOrders) {
        for expr in stmt.exprs() {
            self.note_reads(expr, swallowed);
        }
        if let StmtKind::Assign(places, _) = &stmt.kind {
            for place in places {
                if let Place::Shared(var) | Place::Element(var, _) = place
                    && self.program.is_atomic(*var)
                {
                    let given = self.program.orders.get(&stmt.span);
                    swallowed.named |= given.is_some();
                    let order = given.map_or(MemoryOrder::SeqCst, |given| given.order);
                    swallowed.writes.push(order);
                }
            }
        }
    }

    fn note_reads(&self, expr: &Expr, swallowed: &mut SwallowedOrders) {
        expr.walk(&mut |expr| {
            if let ExprKind::Shared(var) | ExprKind::Element(var, _) = expr.kind
                && self.program.is_atomic(var)
            {
                let given = self.program.orders.get(&expr.span);
                swallowed.named |= given.is_some();
                swallowed
                    .reads
                    .push(given.map_or(MemoryOrder::SeqCst, |given| given.order));
            }
        });
    }
}
