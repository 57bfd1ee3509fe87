//! `cover e`: a state in which e holds must be reachable.
//!
//! To find such a state, a search runs the same program with `invariant !e` and counts only
//! failures of that invariant. A run that breaks this invariant is the evidence. If no run breaks
//! it, no state in which e holds is reachable. The other invariants stay and halt processes as
//! before, so both programs reach the same states. In a state where e has no value, for example
//! because it divides by zero, e does not hold. So the invariant uses a total form of e, which
//! always has a value.

use mazurka_core::record::Place;

use super::{Code, Counting};
use crate::check::hir::{BinaryOp, Expr, ExprKind, Program, Property, Type, UnaryOp};

/// A `cover` as the file states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The condition as written.
    pub text: String,
    /// Its place in the source.
    pub place: Place,
}

impl Code {
    /// Returns the `cover` properties of the file.
    ///
    /// ```
    /// let source = "var x: int = 0  cover one: x == 1  process { x := 1 }";
    /// let program = mazurka_lang::load(source, &[]).unwrap();
    /// let code = mazurka_lang::compile(&program, source).unwrap();
    /// assert_eq!(code.covers()[0].text, "x == 1");
    /// ```
    pub fn covers(&self) -> Vec<Cover> {
        let cover = |property: &Property| {
            let text = property.expr.span.text(&self.source);
            Cover {
                name: property.name.clone(),
                text: text.split_whitespace().collect::<Vec<_>>().join(" "),
                place: self.place(property.span),
            }
        };
        self.program.covers.iter().map(cover).collect()
    }

    /// Returns the same program with an additional invariant, the negation of the condition of this
    /// `cover`. Only failures of that invariant count.
    ///
    /// # Panics
    ///
    /// If there is no such `cover`.
    #[must_use]
    pub fn covering(&self, cover: usize) -> Self {
        let mut program = Program::clone(&self.program);
        let covered = program.covers[cover].clone();
        let number = program.invariants.len() as u32;
        program.invariants.push(Property {
            expr: not(total(&self.program, covered.expr)),
            ..covered
        });
        program.ensures.clear();
        program.temporal.clear();
        program.conditions.clear();
        program.watched.clear();
        program.covers.clear();
        self.recompiled(&program, Counting::Invariant(number))
    }
}

fn expr(kind: ExprKind, like: &Expr) -> Expr {
    Expr {
        kind,
        ty: Type::Bool,
        span: like.span,
    }
}

fn not(e: Expr) -> Expr {
    let like = e.clone();
    expr(ExprKind::Unary(UnaryOp::Not, Box::new(e)), &like)
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let like = a.clone();
    expr(ExprKind::Binary(op, Box::new(a), Box::new(b)), &like)
}

fn and(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) => Some(binary(BinaryOp::And, a, b)),
        (known, other) => known.or(other),
    }
}

/// Returns a condition that always has a value. It holds if the given condition has a value and
/// holds.
fn total(program: &Program, e: Expr) -> Expr {
    match defined(program, &e) {
        Some(defined) => binary(BinaryOp::And, defined, e),
        None => e,
    }
}

/// Returns the condition under which an expression has a value; `None` if it always has a value.
/// The condition itself always has a value.
fn defined(program: &Program, e: &Expr) -> Option<Expr> {
    let constant = |value: i64, of: &Expr| Expr {
        kind: ExprKind::Const(value),
        ..of.clone()
    };
    let within = |index: &Expr, len: u32| {
        let least = constant(0, index);
        let above = match index.ty {
            Type::Unsigned(_) => None,
            _ => Some(binary(BinaryOp::Ge, index.clone(), least)),
        };
        let most = match index.ty {
            Type::Signed(bits) => (1_i64 << (bits.min(63) - 1)) - 1,
            Type::Unsigned(bits) => (1_i64 << bits.min(62)) - 1,
            _ => i64::MAX,
        };
        let below = (i64::from(len) <= most)
            .then(|| binary(BinaryOp::Lt, index.clone(), constant(len.into(), index)));
        and(defined(program, index), and(above, below))
    };
    match &e.kind {
        ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Shared(_) | ExprKind::Input => None,
        ExprKind::Element(var, index) => {
            within(index, program.vars[var.0 as usize].len.unwrap_or(1))
        }
        ExprKind::Table(table, index) => within(index, table.values.len() as u32),
        // A property has no locals and makes no choices.
        ExprKind::LocalElement(_, index) => defined(program, index),
        ExprKind::Unary(_, e) => defined(program, e),
        ExprKind::Choose(a, b) => and(defined(program, a), defined(program, b)),
        ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
            let decided_by_left = match op {
                BinaryOp::And => not(Expr::clone(a)),
                _ => Expr::clone(a),
            };
            let right = defined(program, b).map(|b| binary(BinaryOp::Or, decided_by_left, b));
            and(defined(program, a), right)
        }
        ExprKind::Binary(op, a, b) => {
            let divides = matches!(op, BinaryOp::Div | BinaryOp::Rem);
            let nonzero = divides.then(|| binary(BinaryOp::Ne, Expr::clone(b), constant(0, b)));
            and(and(defined(program, a), defined(program, b)), nonzero)
        }
        ExprKind::If(test, a, b) => {
            let (left, right) = (defined(program, a), defined(program, b));
            let truth = |known: Option<Expr>| known.unwrap_or_else(|| expr(ExprKind::Const(1), e));
            let chosen = (left.is_some() || right.is_some()).then(|| {
                let sides = [left, right].map(|side| Box::new(truth(side)));
                let [left, right] = sides;
                expr(ExprKind::If(test.clone(), left, right), e)
            });
            and(defined(program, test), chosen)
        }
    }
}
