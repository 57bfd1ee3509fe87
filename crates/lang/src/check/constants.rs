//! Evaluates the expressions whose values must be known before the program runs: constants, sizes
//! of arrays, bounds, ranges and initial values. Each of them is checked as an ordinary expression,
//! which `fold.rs` folds. If the result is not a constant, a diagnostic points at the innermost
//! part that is not constant.

use super::ConstantValue;
use super::body::BodyChecker;
use super::types::{Ty, numeric, show};
use crate::check::hir::{BinaryOp, Expr, ExprKind, Type, UnaryOp};
use crate::syntax::ast;
use mazurka_diagnostics::Diagnostic;

impl<'s> BodyChecker<'_, 's> {
    /// Returns the value of a constant expression.
    pub(super) fn const_value(
        &mut self,
        expr: &ast::Expr<'s>,
        what: &'static str,
    ) -> Option<ConstantValue> {
        let typed = self.expr_in(expr, what);
        match (&typed.expr.kind, typed.ty) {
            (_, Ty::Poison) => None,
            (ExprKind::Const(value), Ty::Known(Type::Bool)) => {
                Some(ConstantValue::Bool(*value != 0))
            }
            (ExprKind::Const(value), Ty::Known(Type::Enum(id))) => {
                Some(ConstantValue::Member(id, *value))
            }
            (ExprKind::Const(value), Ty::Known(ty)) => {
                Some(ConstantValue::Int(numeric(*value, ty)))
            }
            (ExprKind::Const(value), Ty::Literal) => Some(ConstantValue::Int((*value).into())),
            _ => {
                self.not_constant(&typed.expr, what);
                None
            }
        }
    }

    pub(super) fn const_int(&mut self, expr: &ast::Expr<'s>, what: &'static str) -> Option<i64> {
        match self.const_value(expr, what)? {
            ConstantValue::Int(value) => match i64::try_from(value) {
                Ok(value) => Some(value),
                Err(_) => {
                    self.report(
                        Diagnostic::new("M0305", expr.span, format!("{value} is too large here"))
                            .label("expected a smaller number")
                            .help("sizes, bounds and ranges have at most 63 bits"),
                    );
                    None
                }
            },
            other => {
                let found = match other {
                    ConstantValue::Member(id, _) => self.c.noun(Ty::Known(Type::Enum(id))),
                    _ => "a `bool`".to_owned(),
                };
                self.report(
                    Diagnostic::new("M0301", expr.span, format!("{what} is a number"))
                        .label(format!("expected a number, found {found}")),
                );
                None
            }
        }
    }

    /// Returns the stored value of a constant expression of a given type.
    pub(super) fn const_of_type(
        &mut self,
        expr: &ast::Expr<'s>,
        ty: Type,
        what: &'static str,
    ) -> Option<i64> {
        let typed = self.expr_in(expr, what);
        if typed.ty == Ty::Poison {
            return None;
        }
        let before = self.c.diagnostics.len();
        let expr = self.coerce(typed, ty);
        match expr.kind {
            _ if self.c.diagnostics.len() > before => None,
            ExprKind::Const(value) => Some(value),
            _ => {
                self.not_constant(&expr, what);
                None
            }
        }
    }

    /// Reports why an expression that should be constant is not.
    fn not_constant(&mut self, expr: &Expr, what: &str) {
        let diagnostic = why_not_constant(expr).unwrap_or_else(|| {
            Diagnostic::new("M0404", expr.span, format!("{what} must be constant"))
                .label("not a constant")
        });
        let diagnostic = match diagnostic.code {
            "M0404" => Diagnostic {
                message: format!("{what} must be constant"),
                help: Some("use numbers, `const` names and operators only".to_owned()),
                ..diagnostic
            },
            _ => diagnostic,
        };
        self.report(diagnostic);
    }
}

/// Returns a diagnostic for the innermost part that is not constant, if there is such a part.
fn why_not_constant(expr: &Expr) -> Option<Diagnostic> {
    let here = |code, message: &str, label: String| {
        let help = "a constant needs a value before anything runs: fix the expression";
        Some(
            Diagnostic::new(code, expr.span, message)
                .label(label)
                .help(help),
        )
    };
    match &expr.kind {
        ExprKind::Const(_) => None,
        ExprKind::Shared(_) | ExprKind::Element(..) => {
            here("M0404", "", "a shared variable is not constant".to_owned())
        }
        ExprKind::Table(_, index) => why_not_constant(index).or_else(|| {
            let label = "no element has this index".to_owned();
            here("M0405", "index out of bounds", label)
        }),
        ExprKind::Unary(UnaryOp::BitNot, inner) => why_not_constant(inner).or_else(|| {
            let label = "`~` needs a number of bits".to_owned();
            here("M0405", "the width of this constant is not known", label)
        }),
        ExprKind::Unary(_, inner) => why_not_constant(inner).or_else(|| {
            here(
                "M0405",
                "this constant is too large",
                "leaves the range of 64 bits".to_owned(),
            )
        }),
        ExprKind::Binary(op, left, right) => why_not_constant(left)
            .or_else(|| why_not_constant(right))
            .or_else(|| {
                let by_zero = matches!(op, BinaryOp::Div | BinaryOp::Rem)
                    && matches!(right.kind, ExprKind::Const(0));
                if by_zero {
                    return here("M0405", "division by zero", "the divisor is 0".to_owned());
                }
                let ty = show(expr.ty);
                here(
                    "M0405",
                    "this constant is too large",
                    format!("leaves the range of `{ty}`"),
                )
            }),
        ExprKind::If(test, then, other) => why_not_constant(test)
            .or_else(|| why_not_constant(then))
            .or_else(|| why_not_constant(other)),
        _ => here("M0404", "", "not a constant".to_owned()),
    }
}
