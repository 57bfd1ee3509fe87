//! Arithmetic by its definition: compute the exact result, then wrap it to the type.

use mazurka_lang::flat::{Arith, Compare};
use mazurka_lang::hir::Type;

/// The reason why a computation has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undefined {
    DivisionByZero,
    /// An `int` beyond 64 bits.
    OutOfRange,
}

/// Returns the number that a stored value of this type represents.
fn number_of(ty: Type, value: i64) -> i128 {
    match ty {
        Type::Unsigned(64) => i128::from(value as u64),
        _ => i128::from(value),
    }
}

/// Returns the stored value of a number, wrapped to the type.
fn wrapped(ty: Type, number: i128) -> Result<i64, Undefined> {
    match ty {
        Type::Signed(bits) => {
            let unused = 128 - u32::from(bits);
            Ok((number << unused >> unused) as i64)
        }
        Type::Unsigned(bits) => Ok((number & ((1 << bits) - 1)) as u64 as i64),
        _ => i64::try_from(number).map_err(|_| Undefined::OutOfRange),
    }
}

/// Computes `a op b`.
pub(crate) fn arith(op: Arith, ty: Type, a: i64, b: i64) -> Result<i64, Undefined> {
    let (x, y) = (number_of(ty, a), number_of(ty, b));
    let number = match op {
        Arith::Div | Arith::Rem if y == 0 => return Err(Undefined::DivisionByZero),
        Arith::Add => x + y,
        Arith::Sub => x - y,
        Arith::Mul => x * y,
        Arith::Div => x / y,
        Arith::Rem => x % y,
        Arith::BitAnd => x & y,
        Arith::BitOr => x | y,
        Arith::BitXor => x ^ y,
        Arith::Shl | Arith::Shr => {
            let width = match ty {
                Type::Signed(bits) | Type::Unsigned(bits) => i128::from(bits),
                _ => 64,
            };
            // A negative amount counts as a large amount.
            match (op, (0..width).contains(&y)) {
                (Arith::Shl, true) => x << y,
                (Arith::Shl, false) => 0,
                (_, true) => x >> y,
                (_, false) if x < 0 => -1,
                (_, false) => 0,
            }
        }
    };
    wrapped(ty, number)
}

/// Computes `-a`.
pub(crate) fn negate(ty: Type, a: i64) -> Result<i64, Undefined> {
    wrapped(ty, -number_of(ty, a))
}

/// Whether `a op b` holds. `unsigned`: whether the values are `u64`.
pub(crate) fn compare(op: Compare, unsigned: bool, a: i64, b: i64) -> bool {
    let ty = if unsigned {
        Type::Unsigned(64)
    } else {
        Type::Int
    };
    let order = number_of(ty, a).cmp(&number_of(ty, b));
    match op {
        Compare::Eq => order.is_eq(),
        Compare::Ne => order.is_ne(),
        Compare::Lt => order.is_lt(),
        Compare::Le => order.is_le(),
        Compare::Gt => order.is_gt(),
        Compare::Ge => order.is_ge(),
    }
}
