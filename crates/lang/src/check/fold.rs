//! Evaluates operators on constants. An operation without a value, such as a division by zero or an
//! `int` beyond the evaluator's range, is not folded: it stays in the program and fails when it
//! runs.

use super::types::{numeric, range, stored};
use crate::check::hir::{BinaryOp, Expr, ExprKind, Type, UnaryOp};
use crate::code::{Arith, numbers};

/// Folds `e op f` over literals that have no type yet. The arithmetic is exact; returns `None` if
/// the result exceeds 64 bits.
pub(super) fn literals(op: BinaryOp, left: &Expr, right: &Expr) -> Option<i64> {
    let (ExprKind::Const(left), ExprKind::Const(right)) = (&left.kind, &right.kind) else {
        return None;
    };
    let value = exact(op, (*left).into(), (*right).into())?;
    i64::try_from(value).ok()
}

/// Folds an expression whose operands are constants with a type.
pub(super) fn settled(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Unary(op, inner) => {
            let ExprKind::Const(value) = inner.kind else {
                return None;
            };
            match op {
                UnaryOp::Not => Some(1 - value),
                UnaryOp::Neg => wrap(-numeric(value, inner.ty), expr.ty),
                UnaryOp::BitNot => wrap(-1 - numeric(value, inner.ty), expr.ty),
            }
        }
        ExprKind::Binary(op, left, right) => {
            let (ExprKind::Const(a), ExprKind::Const(b)) = (&left.kind, &right.kind) else {
                return None;
            };
            if op.is_bitwise() {
                let op = arithmetic(*op)?;
                return numbers::arith(op, expr.ty, *a, *b).ok();
            }
            let value = exact(*op, numeric(*a, left.ty), numeric(*b, right.ty))?;
            wrap(value, expr.ty)
        }
        ExprKind::If(test, then, other) => {
            let (ExprKind::Const(test), ExprKind::Const(a), ExprKind::Const(b)) =
                (&test.kind, &then.kind, &other.kind)
            else {
                return None;
            };
            Some(if *test != 0 { *a } else { *b })
        }
        _ => None,
    }
}

/// Whether an operator is a comparison. The result of a comparison is a `bool`, whatever the type
/// of its operands.
pub(super) fn compares(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
    )
}

fn exact(op: BinaryOp, a: i128, b: i128) -> Option<i128> {
    Some(match op {
        // Operands have at most 64 bits, so sums and differences fit into 128.
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a.checked_mul(b)?,
        BinaryOp::Div => a.checked_div(b)?,
        BinaryOp::Rem => a.checked_rem(b)?,
        // The result depends on the width of the type, which is not known here.
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => return None,
        BinaryOp::Shl | BinaryOp::Shr => return None,
        BinaryOp::Eq => (a == b).into(),
        BinaryOp::Ne => (a != b).into(),
        BinaryOp::Lt => (a < b).into(),
        BinaryOp::Le => (a <= b).into(),
        BinaryOp::Gt => (a > b).into(),
        BinaryOp::Ge => (a >= b).into(),
        BinaryOp::And => (a != 0 && b != 0).into(),
        BinaryOp::Or => (a != 0 || b != 0).into(),
    })
}

/// Returns the instruction of an operation on bits.
fn arithmetic(op: BinaryOp) -> Option<Arith> {
    Some(match op {
        BinaryOp::BitAnd => Arith::BitAnd,
        BinaryOp::BitOr => Arith::BitOr,
        BinaryOp::BitXor => Arith::BitXor,
        BinaryOp::Shl => Arith::Shl,
        BinaryOp::Shr => Arith::Shr,
        _ => return None,
    })
}

fn wrap(value: i128, ty: Type) -> Option<i64> {
    let (low, high) = range(ty);
    if (low..=high).contains(&value) {
        return Some(stored(value));
    }
    match ty {
        Type::Signed(bits) | Type::Unsigned(bits) => {
            let modulus = 1_i128 << bits;
            let rest = value.rem_euclid(modulus);
            Some(stored(if rest > high { rest - modulus } else { rest }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::wrap;
    use crate::check::hir::Type;

    /// Constants get the type of their context before bits are shifted out.
    #[test]
    fn constants_have_the_width_of_their_context() {
        let value = |ty: &str, e: &str| {
            let source = format!("const A = 1 const B = 8 var r: {ty} = 0 process {{ r := {e} }}");
            let program = crate::load(&source, &[]).map_err(|mistakes| mistakes[0].code)?;
            let code = crate::compile(&program, &source).expect("a small program");
            let mut machine = crate::Machine::new(std::sync::Arc::new(code), 1000);
            let run = "0".parse().expect("a schedule");
            let narration = mazurka_core::Narrator::narrate(&mut machine, &run).expect("a run");
            Ok::<String, &str>(narration.state[0].value.clone())
        };
        for (ty, e, wanted) in [
            ("u8", "1 << 8 >> 8", Ok("0")),
            ("u8", "A << B >> B", Ok("0")),
            ("u8", "255 << 4 >> 4", Ok("15")),
            ("i8", "64 << 1 >> 1", Ok("-64")),
            ("i8", "1 << 7 >> 7", Ok("-1")),
            ("u8", "1 << 8", Ok("0")),
            ("i8", "1 << 7", Ok("-128")),
            ("i64", "1 << 63 >> 63", Ok("-1")),
            ("u8", "~0 & 300 - 50", Ok("250")),
            ("u8", "300 & 255", Err("M0305")),
            ("u8", "256 >> 1", Err("M0305")),
            ("u8", "(200 + 100) >> 1", Err("M0305")),
            ("int", "1 << 3", Err("M0315")),
        ] {
            let found = value(ty, e);
            assert_eq!(found.as_deref().map_err(|code| *code), wanted, "{ty}: {e}");
        }
    }

    #[test]
    fn wraps_as_the_machine_does() {
        assert_eq!(wrap(300, Type::Unsigned(8)), Some(44));
        assert_eq!(wrap(128, Type::Signed(8)), Some(-128));
        assert_eq!(wrap(-1, Type::Unsigned(64)), Some(-1));
        assert_eq!(wrap(1 << 63, Type::Signed(64)), Some(i64::MIN));
        assert_eq!(wrap(1 << 63, Type::Int), None);
    }
}
