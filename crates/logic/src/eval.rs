//! Evaluates expressions in a state to terms. It also collects the conditions that must hold in a
//! step (*obligations*, for example that a divisor is not 0), and the cells that the step touches.

use std::rc::Rc;

use mazurka_core::{Access, AccessKind};
use mazurka_diagnostics::Span;
use mazurka_lang::hir::{BinaryOp, Expr, ExprKind, Place, UnaryOp};
use mazurka_smt::{BitOp, Kind, Term, Terms};

use crate::aliases::Touched;
use crate::pool::{Layout, State, local_range, sort};

/// A condition that must hold during a step. Otherwise the program fails.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Obligation {
    /// The assumptions.
    pub known: Vec<Term>,
    /// The condition.
    pub must: Term,
    /// The fault of the program if the condition does not hold.
    pub what: Fault,
    pub span: Span,
}

/// A way in which a step can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Assertion,
    Error,
    Division,
    Index,
    Unlock,
    Choose,
}

/// The evaluator of the expressions of a step, with its inputs and results.
pub(crate) struct Eval<'a, 'p> {
    pub terms: &'a mut Terms,
    pub layout: &'a Layout,
    pub state: &'a mut State<'p>,
    pub thread: usize,
    /// The name of the thread, which is part of the names of its outcomes and inputs.
    pub name: String,
    /// The assumptions under which the current part of the expression is evaluated, such as the
    /// left side of `&&` for its right side.
    pub when: Vec<Term>,
    pub obligations: &'a mut Vec<Obligation>,
    /// The chosen values, each with its lower bound and its exclusive upper bound.
    pub chosen: &'a mut Vec<[Term; 3]>,
    /// The shared cells that were touched.
    pub touched: &'a mut Vec<Touched>,
}

impl Eval<'_, '_> {
    /// Returns the value of an expression.
    pub fn expr(&mut self, expr: &Expr) -> Term {
        match &expr.kind {
            ExprKind::Const(value) => self.terms.constant(sort(expr.ty), *value),
            ExprKind::Local(local) => {
                let thread = &self.state.threads[self.thread];
                thread.locals[local_range(thread.frame.0, *local).0]
            }
            ExprKind::LocalElement(local, index) => {
                let at = self.expr(index);
                let thread = &self.state.threads[self.thread];
                let (first, len) = local_range(thread.frame.0, *local);
                self.bounds(at, len, index.span);
                let thread = &self.state.threads[self.thread];
                let elements = thread.locals[first..first + len].to_vec();
                self.terms.select(&elements, at)
            }
            ExprKind::Shared(var) => {
                let (first, _) = self.layout.vars[var.0 as usize];
                self.touch(AccessKind::Read, (first, 1), None);
                self.state.cells[first]
            }
            ExprKind::Element(var, index) => {
                let at = self.expr(index);
                let (first, len) = self.layout.vars[var.0 as usize];
                self.touch(AccessKind::Read, (first, len), Some(at));
                self.bounds(at, len, index.span);
                let elements = self.state.cells[first..first + len].to_vec();
                self.terms.select(&elements, at)
            }
            ExprKind::Table(table, index) => {
                let at = self.expr(index);
                self.bounds(at, table.values.len(), index.span);
                let sort = sort(expr.ty);
                let elements: Vec<Term> = table
                    .values
                    .iter()
                    .map(|&value| self.terms.constant(sort, value))
                    .collect();
                self.terms.select(&elements, at)
            }
            ExprKind::Unary(UnaryOp::Not, e) => {
                let e = self.expr(e);
                self.terms.not(e)
            }
            ExprKind::Unary(UnaryOp::Neg, e) => {
                let e = self.expr(e);
                self.terms.negate(e)
            }
            ExprKind::Unary(UnaryOp::BitNot, e) => {
                let e = self.expr(e);
                let ones = self.terms.constant(sort(expr.ty), -1);
                self.terms.bits(BitOp::Xor, e, ones)
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, expr.span),
            ExprKind::If(test, a, b) => {
                let test = self.expr(test);
                let a = self.under(test, a);
                let not = self.terms.not(test);
                let b = self.under(not, b);
                self.terms.ite(test, a, b)
            }
            ExprKind::Input => {
                let name = self.fresh_name("#");
                self.terms.variable(Kind::Input, &name, sort(expr.ty))
            }
            ExprKind::Choose(from, to) => {
                let (from, to) = (self.expr(from), self.expr(to));
                let some = self.terms.less(from, to);
                self.oblige(some, Fault::Choose, expr.span);
                let name = self.fresh_name("?");
                let value = self.terms.variable(Kind::Input, &name, sort(expr.ty));
                let least = self.terms.at_most(from, value);
                let most = self.terms.less(value, to);
                self.state.condition.extend([least, most]);
                self.chosen.push([value, from, to]);
                value
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr, span: Span) -> Term {
        let a = self.expr(a);
        match op {
            BinaryOp::And => {
                let b = self.under(a, b);
                return self.terms.and(a, b);
            }
            BinaryOp::Or => {
                let not = self.terms.not(a);
                let b = self.under(not, b);
                return self.terms.or(a, b);
            }
            _ => {}
        }
        let b = self.expr(b);
        if matches!(op, BinaryOp::Div | BinaryOp::Rem) {
            let zero = self.terms.constant(self.terms.sort(b), 0);
            let is_zero = self.terms.equal(b, zero);
            let must = self.terms.not(is_zero);
            self.oblige(must, Fault::Division, span);
        }
        let terms = &mut *self.terms;
        match op {
            BinaryOp::Add => terms.add(a, b),
            BinaryOp::Sub => terms.sub(a, b),
            BinaryOp::Mul => terms.mul(a, b),
            BinaryOp::Div => terms.div(a, b),
            BinaryOp::Rem => terms.rem(a, b),
            BinaryOp::BitAnd => terms.bits(BitOp::And, a, b),
            BinaryOp::BitOr => terms.bits(BitOp::Or, a, b),
            BinaryOp::BitXor => terms.bits(BitOp::Xor, a, b),
            BinaryOp::Shl => terms.bits(BitOp::ShiftLeft, a, b),
            BinaryOp::Shr => terms.bits(BitOp::ShiftRight, a, b),
            BinaryOp::Eq => terms.equal(a, b),
            BinaryOp::Ne => {
                let equal = terms.equal(a, b);
                terms.not(equal)
            }
            BinaryOp::Lt => terms.less(a, b),
            BinaryOp::Le => terms.at_most(a, b),
            BinaryOp::Gt => terms.less(b, a),
            BinaryOp::Ge => terms.at_most(b, a),
            BinaryOp::And | BinaryOp::Or => unreachable!("done above"),
        }
    }

    /// Evaluates an expression under the assumption `when`.
    fn under(&mut self, when: Term, expr: &Expr) -> Term {
        self.when.push(when);
        let value = self.expr(expr);
        self.when.pop();
        value
    }

    /// Records the obligation that an index is within an array with `len` elements.
    pub fn bounds(&mut self, index: Term, len: usize, span: Span) {
        let sort = self.terms.sort(index);
        let (zero, last) = (
            self.terms.constant(sort, 0),
            self.terms.constant(sort, len as i64 - 1),
        );
        let mut must = self.terms.at_most(zero, index);
        // An array may have more elements than the type of its index has values.
        if self.terms.value(last) == Some(len as i64 - 1) {
            let most = self.terms.at_most(index, last);
            must = self.terms.and(must, most);
        }
        self.oblige(must, Fault::Index, span);
    }

    /// Records the obligation that `must` holds. If it does not, the step has the fault `what`.
    pub fn oblige(&mut self, must: Term, what: Fault, span: Span) {
        if must != Term::TRUE {
            self.obligations.push(Obligation {
                known: [&self.state.condition[..], &self.when].concat(),
                must,
                what,
                span,
            });
            // From here on the condition is assumed, because the proof must show that it holds.
            let mut known = must;
            for &when in self.when.iter().rev() {
                let not = self.terms.not(when);
                known = self.terms.or(not, known);
            }
            self.state.condition.push(known);
        }
    }

    /// Returns the name of the next unknown value of this thread.
    fn fresh_name(&mut self, mark: &str) -> String {
        let thread = Rc::make_mut(&mut self.state.threads[self.thread]);
        let next = match mark {
            "#" => &mut thread.inputs,
            _ => &mut thread.choices,
        };
        let number = *next;
        *next += 1;
        let inner = match thread.depth {
            0 => String::new(),
            depth => format!("'{depth}"),
        };
        format!("{}{inner}{mark}{number}", self.name)
    }

    /// Makes an assignment. The indices on the left are evaluated first, then the values, and then
    /// all places are written.
    pub fn assign(&mut self, places: &[Place], values: &[Expr]) {
        let indices: Vec<Option<Term>> = places
            .iter()
            .map(|place| place.index().map(|index| self.expr(index)))
            .collect();
        let values: Vec<Term> = values.iter().map(|value| self.expr(value)).collect();
        for ((place, index), value) in places.iter().zip(indices).zip(values) {
            self.write(place, index, value);
        }
    }

    /// Records an access: to one element if it is known, otherwise to the whole array.
    fn touch(&mut self, kind: AccessKind, (first, len): (usize, usize), at: Option<Term>) {
        let fixed = at.and_then(|at| self.terms.value(at));
        match fixed.map(usize::try_from) {
            None => self
                .touched
                .push((Access::new(kind, first as u32).over(len as u32), at)),
            Some(Ok(at)) if at < len => {
                self.touched
                    .push((Access::new(kind, (first + at) as u32), None));
            }
            // An index out of bounds fails and touches nothing.
            Some(_) => {}
        }
    }

    fn write(&mut self, place: &Place, index: Option<Term>, value: Term) {
        let thread = &self.state.threads[self.thread];
        let (shared, (first, len)) = match place {
            Place::Shared(var) | Place::Element(var, _) => (true, self.layout.vars[var.0 as usize]),
            Place::Local(local) | Place::LocalElement(local, _) => {
                (false, local_range(thread.frame.0, *local))
            }
        };
        if shared {
            self.touch(AccessKind::Write, (first, len), index);
        }
        if let (Some(at), Some(expr)) = (index, place.index()) {
            self.bounds(at, len, expr.span);
        }
        let state = &mut *self.state;
        let cells = if shared {
            &mut state.cells
        } else {
            &mut Rc::make_mut(&mut state.threads[self.thread]).locals
        };
        match index {
            None => cells[first] = value,
            Some(at) => self.terms.store(&mut cells[first..first + len], at, value),
        }
    }
}
