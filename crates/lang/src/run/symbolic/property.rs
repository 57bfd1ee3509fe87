//! Evaluates properties and indices to terms. Unlike the code of a step, a property with an unknown
//! condition does not split the run: the whole property becomes one term, together with the
//! condition under which it has a value.

use mazurka_smt::Term;

use crate::check::hir::{BinaryOp, Expr, ExprKind, Type, UnaryOp};
use crate::code::fault::Fault;
use crate::code::numbers::wrap;
use crate::code::{Code, Compare, Op};
use crate::run::{InstrRange, peek};

use super::logic::{Logic, sort_of};

/// A known index.
pub(super) enum KnownIndex {
    Known(i64),
    /// The evaluation of the index fails.
    Failed,
}

/// A value, and the condition under which it is defined: no division by zero, no index out
/// of bounds.
#[derive(Clone, Copy)]
struct Partial {
    value: Term,
    defined: Term,
}

impl Logic {
    /// Returns the condition under which a property over shared variables has a value and holds.
    pub fn property(&mut self, code: &Code, cells: &[Term], expr: &Expr) -> Result<Term, Fault> {
        let Partial { value, defined } = self.partial(code, cells, expr)?;
        Ok(self.and(defined, value))
    }

    /// Returns the value of an expression over shared variables that is always defined.
    pub fn value(&mut self, code: &Code, cells: &[Term], expr: &Expr) -> Result<Term, Fault> {
        Ok(self.partial(code, cells, expr)?.value)
    }

    fn partial(&mut self, code: &Code, cells: &[Term], expr: &Expr) -> Result<Partial, Fault> {
        let of = |logic: &mut Self, expr: &Expr| logic.partial(code, cells, expr);
        let always = self.truth(true);
        let total = |value| Partial {
            value,
            defined: always,
        };
        Ok(match &expr.kind {
            ExprKind::Const(value) => total(self.constant(*value)),
            ExprKind::Shared(var) => total(cells[code.first_cells[var.0 as usize] as usize]),
            ExprKind::Element(var, index) => {
                let var = code.program.accessed(*var, index);
                let index = of(self, index)?;
                let first = code.first_cells[var.0 as usize] as usize;
                let len = code.program.vars[var.0 as usize].len.unwrap_or(1);
                let elements = &cells[first..first + len as usize];
                match self.known(index.value) {
                    Some(at) => {
                        let at = usize::try_from(at).ok().filter(|&at| at < len as usize);
                        let inside = self.truth(at.is_some());
                        Partial {
                            value: elements[at.unwrap_or(0)],
                            defined: self.and(index.defined, inside),
                        }
                    }
                    None => {
                        let inside = self.within(index.value, len);
                        Partial {
                            value: self.element(expr.ty, elements, index.value),
                            defined: self.and(index.defined, inside),
                        }
                    }
                }
            }
            ExprKind::Table(table, index) => {
                let index = of(self, index)?;
                let elements = table.values.iter();
                let elements: Vec<Term> = elements.map(|&value| self.constant(value)).collect();
                let len = elements.len();
                match self.known(index.value) {
                    Some(at) => {
                        let at = usize::try_from(at).ok().filter(|&at| at < len);
                        let inside = self.truth(at.is_some());
                        Partial {
                            value: elements[at.unwrap_or(0)],
                            defined: self.and(index.defined, inside),
                        }
                    }
                    None => {
                        let inside = self.within(index.value, len as u32);
                        Partial {
                            value: self.element(expr.ty, &elements, index.value),
                            defined: self.and(index.defined, inside),
                        }
                    }
                }
            }
            ExprKind::Unary(op, e) => {
                let e = of(self, e)?;
                let value = match op {
                    UnaryOp::Not => self.not(e.value),
                    UnaryOp::Neg => self.negate(expr.ty, e.value)?,
                    UnaryOp::BitNot => {
                        let ones = self.constant(wrap(-1, expr.ty));
                        self.arith(crate::code::Arith::BitXor, expr.ty, e.value, ones)?
                    }
                };
                Partial { value, ..e }
            }
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let (a, b) = (of(self, a)?, of(self, b)?);
                let (value, skips) = match op {
                    BinaryOp::And => (self.and(a.value, b.value), self.not(a.value)),
                    _ => (self.or(a.value, b.value), a.value),
                };
                let right = self.or(skips, b.defined);
                Partial {
                    value,
                    defined: self.and(a.defined, right),
                }
            }
            ExprKind::Binary(op, a, b) => {
                let unsigned = a.ty == Type::Unsigned(64);
                let (a, b) = (of(self, a)?, of(self, b)?);
                let mut defined = self.and(a.defined, b.defined);
                let value = match arithmetic(*op) {
                    Ok(op) => {
                        if matches!(op, crate::code::Arith::Div | crate::code::Arith::Rem) {
                            let zero = self.constant(0);
                            let divides = self.compare(Compare::Ne, false, b.value, zero);
                            defined = self.and(defined, divides);
                        }
                        match self.known(b.value) {
                            Some(0) if self.known(defined) == Some(0) => self.constant(0),
                            _ => self.arith(op, expr.ty, a.value, b.value)?,
                        }
                    }
                    Err(op) => self.compare(op, unsigned, a.value, b.value),
                };
                Partial { value, defined }
            }
            ExprKind::If(test, then, other) => {
                let (test, then, other) = (of(self, test)?, of(self, then)?, of(self, other)?);
                let defined = self.select(Type::Bool, test.value, then.defined, other.defined);
                Partial {
                    value: self.select(expr.ty, test.value, then.value, other.value),
                    defined: self.and(test.defined, defined),
                }
            }
            // The checker ensures that a property has neither locals nor inputs.
            ExprKind::Local(_)
            | ExprKind::LocalElement(..)
            | ExprKind::Input
            | ExprKind::Choose(..) => total(self.typed(Term::FALSE, sort_of(expr.ty))),
        })
    }

    /// Evaluates an index over locals; `None` if it is unknown.
    pub fn local_expression(&mut self, snippet: &[Op], locals: &[Term]) -> Option<KnownIndex> {
        match peek(
            self,
            InstrRange::whole(snippet),
            &[],
            locals,
            &mut Vec::new(),
        )? {
            Ok(value) => self.known(value).map(KnownIndex::Known),
            Err(_) => Some(KnownIndex::Failed),
        }
    }
}

/// Classifies an operator as arithmetic (`Ok`) or as a comparison (`Err`).
fn arithmetic(op: BinaryOp) -> Result<crate::code::Arith, Compare> {
    use crate::code::Arith;
    Ok(match op {
        BinaryOp::Add => Arith::Add,
        BinaryOp::Sub => Arith::Sub,
        BinaryOp::Mul => Arith::Mul,
        BinaryOp::Div => Arith::Div,
        BinaryOp::Rem => Arith::Rem,
        BinaryOp::BitAnd => Arith::BitAnd,
        BinaryOp::BitOr => Arith::BitOr,
        BinaryOp::BitXor => Arith::BitXor,
        BinaryOp::Shl => Arith::Shl,
        BinaryOp::Shr => Arith::Shr,
        BinaryOp::Ne => return Err(Compare::Ne),
        BinaryOp::Lt => return Err(Compare::Lt),
        BinaryOp::Le => return Err(Compare::Le),
        BinaryOp::Gt => return Err(Compare::Gt),
        BinaryOp::Ge => return Err(Compare::Ge),
        BinaryOp::Eq | BinaryOp::And | BinaryOp::Or => return Err(Compare::Eq),
    })
}
