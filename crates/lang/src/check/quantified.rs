//! `forall i in 0..N: e`, `exists`, `count`, `sum`, `min` and `max`, over constant ranges and
//! over arrays.
//!
//! The checker unrolls them: `forall i in 0..3: a[i] > 0` becomes `a[0] > 0 && a[1] > 0 && a[2] >
//! 0`. The parts are in the order of the range, and `forall` and `exists` stop at the first part
//! that decides the result. The tree of the operators is balanced, so that recursive functions over
//! it need little stack.

use mazurka_diagnostics::{Diagnostic, Span};

use super::body::{BodyChecker, Meaning};
use super::records::read;
use super::types::{Ty, Typed};
use crate::check::hir::{BinaryOp, Expr, ExprKind, Place, Type, UnaryOp};
use crate::syntax::ast::{self, Quantified, Quantifier, QuantifierDomain};

/// Limit on the number of parts of an expression over a range.
const MAX_PARTS: i128 = 1 << 16;

impl<'s> BodyChecker<'_, 's> {
    pub(super) fn quantified(&mut self, quantified: &Quantified<'s>, span: Span) -> Typed {
        let before = self.c.diagnostics.len();
        let Some(parts) = self.parts(quantified, span) else {
            return self.poison(span);
        };
        if self.c.diagnostics.len() > before || self.c.full {
            return self.poison(span);
        }
        let quantifier = quantified.quantifier;
        if parts.is_empty() {
            return self.empty_value(quantifier, span);
        }
        if matches!(quantifier, Quantifier::Min | Quantifier::Max) {
            // `min` is lowered to `if a <= b then a else b`, which reads each part twice.
            let uses = if parts.len() > 1 { 2 } else { 1 };
            for part in &parts {
                self.refuse_repeated_reads(&part.expr, uses);
            }
        }
        let mut typed = self.joined(quantifier, parts, span);
        self.label_as_written(&mut typed, span);
        typed
    }

    /// Returns the expression for each number or element; `None` if the range or array has
    /// a mistake.
    fn parts(&mut self, quantified: &Quantified<'s>, span: Span) -> Option<Vec<Typed>> {
        let before = self.c.diagnostics.len();
        let mut parts = Vec::new();
        match &quantified.over {
            QuantifierDomain::Range(from, to) => {
                let what = "the range of a quantifier";
                let from = self.const_int(from, what);
                let to = self.const_int(to, what);
                let (from, to) = (from?, to?);
                if i128::from(to) - i128::from(from) > MAX_PARTS {
                    self.report(
                        Diagnostic::new("M0410", span, "this range is too large")
                            .label(format!("it has more than {MAX_PARTS} numbers"))
                            .help(
                                "a quantifier is written out for each number: take a small range",
                            ),
                    );
                    return None;
                }
                for value in from..to {
                    parts.push(self.scoped(|body| {
                        body.declare_param(quantified.name, value);
                        body.part(quantified)
                    }));
                    // Further parts would only repeat the mistake.
                    if self.c.diagnostics.len() > before || self.c.full {
                        break;
                    }
                }
            }
            QuantifierDomain::Array(array) => {
                for element in self.elements_of(array)? {
                    parts.push(self.scoped(|body| {
                        let first = body.declare_alias(quantified.name, element);
                        let part = body.part(quantified);
                        let alias = &body.aliases[first];
                        let (value, uses) = (alias.typed.expr.clone(), alias.uses);
                        body.refuse_repeated_reads(&value, uses);
                        body.aliases.truncate(first);
                        part
                    }));
                    if self.c.diagnostics.len() > before || self.c.full {
                        break;
                    }
                }
            }
        }
        Some(parts)
    }

    fn part(&mut self, quantified: &Quantified<'s>) -> Typed {
        let place = match quantified.quantifier {
            Quantifier::Forall => "`forall`",
            Quantifier::Exists => "`exists`",
            Quantifier::Count => "`count`",
            Quantifier::Sum => "`sum`",
            Quantifier::Min => "`min`",
            Quantifier::Max => "`max`",
        };
        let part = self.expr_in(&quantified.body, place);
        match quantified.quantifier {
            Quantifier::Forall | Quantifier::Exists | Quantifier::Count => {
                let ty = part.ty;
                let expr = self.truth(part, place);
                Typed { expr, ty }
            }
            _ => part,
        }
    }

    /// Returns the elements of an array as expressions.
    fn elements_of(&mut self, array: &ast::Expr<'s>) -> Option<Vec<Typed>> {
        let span = array.span;
        let ast::ExprKind::Name(name) = array.kind else {
            return self.no_array(span);
        };
        let meaning = self.resolve(name, super::ExpectedName::Value);
        match meaning {
            Meaning::Poison => None,
            Meaning::Table(id) => {
                let array = self.c.tables[id as usize].clone();
                let ty = match array.ty {
                    Ty::Known(ty) => ty,
                    _ => Type::Int,
                };
                let typed = |&value: &i64| Typed {
                    expr: Expr {
                        kind: ExprKind::Const(value),
                        ty,
                        span,
                    },
                    ty: array.ty,
                };
                Some(array.table.values.iter().map(typed).collect())
            }
            Meaning::Var(id) => {
                let var = &self.c.program.vars[id.0 as usize];
                let (len, ty) = (var.len, var.ty);
                let Some(len) = len else {
                    return self.no_array(span);
                };
                self.all_elements(len, ty, span, |index| Place::Element(id, index))
            }
            Meaning::Local(id) => {
                let local = &self.frame.locals[id.0 as usize];
                let (len, ty) = (local.len, local.ty);
                let Some(len) = len else {
                    return self.no_array(span);
                };
                self.all_elements(len, ty, span, |index| Place::LocalElement(id, index))
            }
            _ => self.no_array(span),
        }
    }

    /// Returns expressions that read the elements of an array of a given length. `place` makes the
    /// place of the element at an index.
    fn all_elements(
        &mut self,
        len: u32,
        ty: Type,
        span: Span,
        place: impl Fn(Expr) -> Place,
    ) -> Option<Vec<Typed>> {
        self.c.grow(len as usize, span);
        if self.c.full {
            return None;
        }
        let element = |at: u32| {
            let index = super::records::number(at.into(), span);
            Typed {
                expr: read(place(index), ty, span),
                ty: Ty::Known(ty),
            }
        };
        Some((0..len).map(element).collect())
    }

    fn no_array<T>(&mut self, span: Span) -> Option<T> {
        self.report(
            Diagnostic::new(
                "M0307",
                span,
                "a quantifier goes through a range or an array",
            )
            .label("expected `a..b`, or the name of an array of values")
            .help("write `forall i in 0..n: e`, or `forall v in a: e`; for an array of a `struct`, write `0..n`"),
        );
        None
    }

    fn empty_value(&mut self, quantifier: Quantifier, span: Span) -> Typed {
        match quantifier {
            Quantifier::Forall => self.constant(super::ConstantValue::Bool(true), span),
            Quantifier::Exists => self.constant(super::ConstantValue::Bool(false), span),
            Quantifier::Count | Quantifier::Sum => {
                self.constant(super::ConstantValue::Int(0), span)
            }
            Quantifier::Min | Quantifier::Max => {
                self.report(
                    Diagnostic::new("M0423", span, "there is nothing to compare")
                        .label("this range is empty")
                        .help("a range is written `a..b` and excludes `b`"),
                );
                self.poison(span)
            }
        }
    }

    /// Joins all parts by the operator of the quantifier.
    fn joined(&mut self, quantifier: Quantifier, mut parts: Vec<Typed>, span: Span) -> Typed {
        if quantifier == Quantifier::Count {
            parts = parts
                .into_iter()
                .map(|part| {
                    let element = self.constant(super::ConstantValue::Int(1), span);
                    let zero = self.constant(super::ConstantValue::Int(0), span);
                    self.conditional(part.expr, element, zero, span)
                })
                .collect();
        }
        let left = parts.len() / 2;
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let right = parts.split_off(left);
        // The parts of `count` are already converted to 0 or 1, so they are added.
        let quantifier = match quantifier {
            Quantifier::Count => Quantifier::Sum,
            other => other,
        };
        let left = self.joined(quantifier, parts, span);
        let right = self.joined(quantifier, right, span);
        if self.c.full {
            return self.poison(span);
        }
        match quantifier {
            Quantifier::Forall => self.binary_at(BinaryOp::And, left, right, span),
            Quantifier::Exists => self.binary_at(BinaryOp::Or, left, right, span),
            Quantifier::Sum | Quantifier::Count => self.binary_at(BinaryOp::Add, left, right, span),
            Quantifier::Min | Quantifier::Max => {
                let op = match quantifier {
                    Quantifier::Min => BinaryOp::Le,
                    _ => BinaryOp::Ge,
                };
                self.c.grow(left.expr.size() + right.expr.size(), span);
                if self.c.full {
                    return self.poison(span);
                }
                let test = self.binary_at(op, left.clone(), right.clone(), span);
                self.conditional(test.expr, left, right, span)
            }
        }
    }

    /// Compares two values of a `struct` type field by field.
    pub(super) fn same_records(
        &mut self,
        [left, right]: [&ast::Expr<'s>; 2],
        equal: bool,
        span: Span,
    ) -> Typed {
        let id = self.struct_of(left).or_else(|| self.struct_of(right));
        let Some(id) = id else {
            return self.poison(span);
        };
        let mode = super::initial::Mode::Local;
        let (left, right) = (
            self.record_values(id, left, mode),
            self.record_values(id, right, mode),
        );
        let (Some(left), Some(right)) = (left, right) else {
            return self.poison(span);
        };
        let pairs = left.into_iter().flatten().zip(right.into_iter().flatten());
        let parts: Vec<Typed> = pairs
            .map(|(a, b)| {
                self.c.grow(1, span);
                let kind = ExprKind::Binary(BinaryOp::Eq, Box::new(a), Box::new(b));
                Typed {
                    expr: Expr {
                        kind,
                        ty: Type::Bool,
                        span,
                    },
                    ty: Ty::Known(Type::Bool),
                }
            })
            .collect();
        if parts.is_empty() {
            return self.constant(super::ConstantValue::Bool(equal), span);
        }
        let mut typed = self.joined(Quantifier::Forall, parts, span);
        if !equal {
            typed.expr = Expr {
                kind: ExprKind::Unary(UnaryOp::Not, Box::new(typed.expr)),
                ty: Type::Bool,
                span,
            };
        }
        self.label_as_written(&mut typed, span);
        typed
    }
}
