//! Loops over all members whose iterations can run in any order.
//!
//! `for i in a..b` counts upwards, so a permutation of members permutes the iterations. This does
//! not matter if the loop is a part of one step and its iterations commute: no iteration can fail,
//! wait or leave the loop, and of each array that the loop writes, each iteration touches only its
//! own elements (docs/proofs/symmetry.md, Lemma 2).
//!
//! The counter of such a loop is a member, not a plain number. Any other loop counts plain numbers.

use smallvec::SmallVec;

use super::typing::{ElementIndex, dims, indices};
use crate::check::hir::{
    BinaryOp, Expr, ExprKind, Frame, LocalId, Place, Program, Shape, Stmt, StmtKind, VarId,
};

/// Returns the least value of the counter of a loop and the number of iterations, if the iterations
/// commute. The caller must know that the loop is a part of one step.
pub(super) fn commuting(program: &Program, frame: &Frame, stmt: &Stmt) -> Option<(i64, u32)> {
    let StmtKind::For {
        local,
        from,
        to,
        body,
        ..
    } = &stmt.kind
    else {
        return None;
    };
    let (ExprKind::Const(from), ExprKind::Const(to)) = (&from.kind, &to.kind) else {
        return None;
    };
    let count = to.checked_sub(*from).and_then(|n| u32::try_from(n).ok())?;
    let mut iteration = Iteration {
        program,
        frame,
        counter: *local,
        range: (*from, *to),
        declared: Vec::new(),
        written: Vec::new(),
        read: Vec::new(),
    };
    let commutes = *from >= 0 && iteration.stmts(body) && iteration.is_disjoint();
    commutes.then_some((*from, count))
}

/// An array: a shared one, or one of the locals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Array {
    Shared(VarId),
    Local(LocalId),
}

/// For each dimension of an accessed array, whether the counter is the subscript.
type ByCounter = SmallVec<[bool; 2]>;

/// One iteration of a loop.
struct Iteration<'a> {
    program: &'a Program,
    frame: &'a Frame,
    counter: LocalId,
    /// The first value of the counter, and the end.
    range: (i64, i64),
    /// The locals that the body declares. Each iteration sets them before it reads them.
    declared: Vec<LocalId>,
    written: Vec<(Array, ByCounter)>,
    read: Vec<(Array, ByCounter)>,
}

impl Iteration<'_> {
    /// Whether each written array has a dimension that all its accesses subscript by the counter.
    fn is_disjoint(&self) -> bool {
        self.written.iter().all(|(array, by)| {
            (0..by.len()).any(|dim| {
                let own = |(other, by): &(Array, ByCounter)| other != array || by[dim];
                self.written.iter().all(own) && self.read.iter().all(own)
            })
        })
    }

    /// Adds the accesses of statements. Returns false if one of them could fail, wait, leave the
    /// loop or write the same place in two iterations.
    fn stmts(&mut self, stmts: &[Stmt]) -> bool {
        stmts.iter().all(|stmt| match &stmt.kind {
            StmtKind::Skip => true,
            StmtKind::Block(body) => self.stmts(body),
            StmtKind::If(test, then, other) => {
                self.reads(test) && self.stmts(then) && self.stmts(other)
            }
            StmtKind::Let(local, values) => {
                self.declared.push(*local);
                values.iter().all(|value| self.reads(value))
            }
            StmtKind::Assign(places, values) => {
                places.iter().all(|place| self.writes(place))
                    && values.iter().all(|value| self.reads(value))
            }
            _ => false,
        })
    }

    fn writes(&mut self, place: &Place) -> bool {
        let (array, index) = match place {
            Place::Shared(_) => return false,
            Place::Local(local) => return self.declared.contains(local),
            Place::Element(var, index) => (Array::Shared(*var), index),
            Place::LocalElement(local, index) => (Array::Local(*local), index),
        };
        let Some(by) = self.subscripts(array, index) else {
            return false;
        };
        if !self.is_declared(array) {
            self.written.push((array, by));
        }
        true
    }

    /// Adds the elements that an expression reads. Returns false if the expression could fail.
    fn reads(&mut self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Shared(_) => true,
            ExprKind::Element(var, index) => self.reads_element(Array::Shared(*var), index),
            ExprKind::LocalElement(local, index) => self.reads_element(Array::Local(*local), index),
            ExprKind::Unary(_, e) => self.reads(e),
            ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, a, b) => {
                matches!(b.kind, ExprKind::Const(by) if by > 0) && self.reads(a)
            }
            ExprKind::Binary(_, a, b) => self.reads(a) && self.reads(b),
            ExprKind::If(test, a, b) => self.reads(test) && self.reads(a) && self.reads(b),
            ExprKind::Table(..) | ExprKind::Input | ExprKind::Choose(..) => false,
        }
    }

    fn reads_element(&mut self, array: Array, index: &Expr) -> bool {
        let Some(by) = self.subscripts(array, index) else {
            return false;
        };
        if !self.is_declared(array) {
            self.read.push((array, by));
        }
        true
    }

    fn is_declared(&self, array: Array) -> bool {
        matches!(array, Array::Local(local) if self.declared.contains(&local))
    }

    /// Returns the dimensions that the counter subscripts; `None` if a subscript could be out of
    /// bounds. So every subscript is the counter or a constant.
    fn subscripts(&self, array: Array, index: &Expr) -> Option<ByCounter> {
        let (shape, len): (&Shape, _) = match array {
            Array::Shared(var) => {
                let var = &self.program.vars[var.0 as usize];
                (&var.shape, var.len)
            }
            Array::Local(local) => {
                let local = &self.frame.locals[local.0 as usize];
                (&local.shape, local.len)
            }
        };
        let sizes = dims(shape, len);
        let known = |(index, &size): (ElementIndex<'_>, &u32)| match index {
            ElementIndex::Known(at) => (0..i64::from(size)).contains(&at).then_some(false),
            ElementIndex::Of(e) => {
                let is_counter = matches!(e.kind, ExprKind::Local(local) if local == self.counter);
                (is_counter && self.range.1 <= i64::from(size)).then_some(true)
            }
        };
        indices(&sizes, index)?
            .into_iter()
            .zip(&sizes)
            .map(known)
            .collect()
    }
}
