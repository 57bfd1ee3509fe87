//! Lists the accesses of a program that have a memory order: loads, stores and updates of atomic
//! variables, and fences. The search for orders that are too weak or too strong changes the orders
//! of these accesses.

use mazurka_core::{AccessOrder, MemoryOrder, Ordered};
use mazurka_diagnostics::Span;
use rustc_hash::FxHashMap;

use super::hir::{Expr, ExprKind, Place, Program, Stmt, StmtKind, VarId};

/// An access to an atomic variable, or a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedAccess {
    /// Its place, which the instances of a process declaration share.
    pub span: Span,
    /// The kind of the access.
    pub does: Ordered,
    /// Its memory order.
    pub order: AccessOrder,
}

impl Program {
    /// Returns the accesses to atomic variables and the fences, in the order of the text.
    ///
    /// ```
    /// use mazurka_core::Ordered;
    /// use mazurka_lang::load;
    ///
    /// let source = "atomicity access  var x: atomic int = 0
    ///     process (i in 0..2) { x.store(1, release); fence(acquire); assert x == 1 }";
    /// let all = load(source, &[]).unwrap().ordered_accesses();
    /// let does: Vec<Ordered> = all.iter().map(|access| access.does).collect();
    /// assert_eq!(does, [Ordered::Store, Ordered::Fence, Ordered::Load]);
    /// let orders: Vec<String> = all.iter().map(|one| one.order.order.to_string()).collect();
    /// assert_eq!(orders, ["release", "acquire", "seq_cst"]);
    /// ```
    pub fn ordered_accesses(&self) -> Vec<OrderedAccess> {
        let mut found = FxHashMap::default();
        let procedures = self.procedures.iter().map(|procedure| &procedure.body);
        let processes = self.processes.iter().map(|process| &process.body);
        for stmt in procedures.chain(processes).flatten() {
            // An update and the statements that it is lowered to have the same place.
            stmt.walk(&mut |stmt| {
                if let Some(does) = self.ordered_kind(stmt) {
                    found.entry(stmt.span).or_insert(does);
                }
                for expr in stmt.exprs() {
                    expr.walk(&mut |expr| {
                        if self.reads_atomic(expr) {
                            found.entry(expr.span).or_insert(Ordered::Load);
                        }
                    });
                }
            });
        }
        let sc = AccessOrder::from(MemoryOrder::SeqCst);
        let access = |(span, does)| OrderedAccess {
            span,
            does,
            order: self.orders.get(&span).copied().unwrap_or(sc),
        };
        let mut all: Vec<OrderedAccess> = found.into_iter().map(access).collect();
        all.sort_unstable_by_key(|access| (access.span.start, access.span.end));
        all
    }

    fn ordered_kind(&self, stmt: &Stmt) -> Option<Ordered> {
        let named = self.orders.contains_key(&stmt.span);
        match &stmt.kind {
            StmtKind::Atomic(body) if named && body.is_empty() => Some(Ordered::Fence),
            StmtKind::Atomic(body) if named => {
                let conditional = |stmt: &Stmt| matches!(stmt.kind, StmtKind::If(..));
                Some(if body.iter().any(conditional) {
                    Ordered::CompareExchange
                } else {
                    Ordered::Update
                })
            }
            StmtKind::Assign(places, _) => {
                let writes = |place: &Place| match place {
                    Place::Shared(var) | Place::Element(var, _) => self.is_atomic(*var),
                    _ => false,
                };
                places.iter().any(writes).then_some(Ordered::Store)
            }
            _ => None,
        }
    }

    fn reads_atomic(&self, expr: &Expr) -> bool {
        match expr.kind {
            ExprKind::Shared(var) | ExprKind::Element(var, _) => self.is_atomic(var),
            _ => false,
        }
    }

    /// Whether a variable is atomic.
    pub(crate) fn is_atomic(&self, var: VarId) -> bool {
        self.vars[var.0 as usize].atomic
    }
}
