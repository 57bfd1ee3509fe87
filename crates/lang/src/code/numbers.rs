//! Arithmetic on the values of the language's types. All values are stored as `i64`. A result of a
//! machine type wraps around; an `int` that exceeds 64 bits is an error ([`Undefined`]).

use crate::check::hir::Type;
use crate::code::{Arith, Compare};

/// The reason why a computation has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undefined {
    DivisionByZero,
    /// An `int` beyond 64 bits.
    OutOfRange,
}

/// Wraps a result to the range of its machine type.
#[inline]
pub(crate) fn wrap(value: i64, ty: Type) -> i64 {
    match ty {
        Type::Signed(bits) => value << (64 - bits) >> (64 - bits),
        Type::Unsigned(bits) if bits < 64 => value & ((1 << bits) - 1),
        _ => value,
    }
}

/// Adds two values. Addition is by far the most frequent operation, so it is a function that is
/// always inlined.
#[inline(always)]
pub(crate) fn add(ty: Type, a: i64, b: i64) -> Result<i64, Undefined> {
    result(Arith::Add, ty, a, b)
}

#[inline]
pub(crate) fn arith(op: Arith, ty: Type, a: i64, b: i64) -> Result<i64, Undefined> {
    result(op, ty, a, b)
}

#[inline(always)]
fn result(op: Arith, ty: Type, a: i64, b: i64) -> Result<i64, Undefined> {
    use Undefined::{DivisionByZero, OutOfRange};
    if matches!(op, Arith::Div | Arith::Rem) && b == 0 {
        return Err(DivisionByZero);
    }
    match ty {
        Type::Int => match op {
            Arith::Add => a.checked_add(b),
            Arith::Sub => a.checked_sub(b),
            Arith::Mul => a.checked_mul(b),
            Arith::Div => a.checked_div(b),
            Arith::Rem => Some(a.wrapping_rem(b)),
            _ => Some(bits(op, ty, a, b)),
        }
        .ok_or(OutOfRange),
        Type::Unsigned(64) => Ok(match op {
            Arith::Add => a.wrapping_add(b),
            Arith::Sub => a.wrapping_sub(b),
            Arith::Mul => a.wrapping_mul(b),
            Arith::Div => (a as u64 / b as u64) as i64,
            Arith::Rem => (a as u64 % b as u64) as i64,
            _ => bits(op, ty, a, b),
        }),
        _ => Ok(wrap(
            match op {
                Arith::Add => a.wrapping_add(b),
                Arith::Sub => a.wrapping_sub(b),
                Arith::Mul => a.wrapping_mul(b),
                Arith::Div => a.wrapping_div(b),
                Arith::Rem => a.wrapping_rem(b),
                _ => bits(op, ty, a, b),
            },
            ty,
        )),
    }
}

/// Computes an operation on bits. Values are kept in 64 bits, extended by their sign or by zeros;
/// `&`, `|` and `^` preserve this. A shift amount is read as an unsigned number, so a negative
/// amount is large. A shift by the width of the type or more gives 0, or only sign bits for `>>` on
/// a signed type.
#[cold]
fn bits(op: Arith, ty: Type, a: i64, b: i64) -> i64 {
    let width = match ty {
        Type::Signed(bits) | Type::Unsigned(bits) => bits,
        _ => 64,
    };
    let amount = wrap(b, Type::Unsigned(width)) as u64;
    let amount = u32::try_from(amount).ok().filter(|&n| n < width.into());
    match op {
        Arith::BitAnd => a & b,
        Arith::BitOr => a | b,
        Arith::BitXor => a ^ b,
        Arith::Shl => amount.map_or(0, |amount| wrap(a << amount, ty)),
        _ if matches!(ty, Type::Unsigned(_)) => {
            amount.map_or(0, |amount| (a as u64 >> amount) as i64)
        }
        _ => a >> amount.unwrap_or(63),
    }
}

#[inline]
pub(crate) fn negate(ty: Type, a: i64) -> Result<i64, Undefined> {
    match ty {
        Type::Int => a.checked_neg().ok_or(Undefined::OutOfRange),
        _ => Ok(wrap(a.wrapping_neg(), ty)),
    }
}

#[inline]
pub(crate) fn compare(op: Compare, unsigned: bool, a: i64, b: i64) -> bool {
    // With flipped sign bits, `i64` values have the order of `u64` values.
    let flip = if unsigned { i64::MIN } else { 0 };
    let (a, b) = (a ^ flip, b ^ flip);
    match op {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_stay_within_their_type() {
        let of = |op, ty, a, b| arith(op, ty, a, b).expect("a value");
        let [i8, u8, i64_, u64] = [
            Type::Signed(8),
            Type::Unsigned(8),
            Type::Signed(64),
            Type::Unsigned(64),
        ];
        assert_eq!(of(Arith::BitAnd, i8, -4, 6), 4);
        assert_eq!(of(Arith::BitOr, i8, -128, 1), -127);
        assert_eq!(of(Arith::BitXor, u8, 255, 1), 254);
        assert_eq!(of(Arith::Shl, i8, 1, 7), -128);
        assert_eq!(of(Arith::Shl, u8, 3, 7), 128);
        assert_eq!(of(Arith::Shl, u64, 1, 63), i64::MIN);
        for ty in [i8, u8, i64_, u64] {
            for amount in [64, 100, wrap(-1, ty)] {
                assert_eq!(of(Arith::Shl, ty, 1, amount), 0);
                assert_eq!(of(Arith::Shr, ty, 1, amount), 0);
            }
        }
        assert_eq!(of(Arith::Shr, i8, -128, 1), -64);
        assert_eq!(of(Arith::Shr, i8, -1, 8), -1);
        assert_eq!(of(Arith::Shr, u64, -1, 63), 1);
        assert_eq!(of(Arith::Shr, i64_, -1, -1), -1);
    }

    #[test]
    fn machine_types_wrap_and_int_does_not() {
        let i8 = Type::Signed(8);
        assert_eq!(arith(Arith::Add, i8, 127, 1), Ok(-128));
        assert_eq!(arith(Arith::Div, i8, -128, -1), Ok(-128));
        assert_eq!(negate(i8, -128), Ok(-128));
        let u8 = Type::Unsigned(8);
        assert_eq!(arith(Arith::Sub, u8, 0, 1), Ok(255));
        assert_eq!(
            arith(Arith::Mul, Type::Unsigned(32), 0xFFFF_FFFF, 0xFFFF_FFFF),
            Ok(1)
        );
        let u64 = Type::Unsigned(64);
        assert_eq!(arith(Arith::Sub, u64, 0, 1), Ok(-1));
        assert_eq!(arith(Arith::Div, u64, -1, 2), Ok(i64::MAX));
        assert!(compare(Compare::Lt, true, 1, -1));
        assert!(!compare(Compare::Lt, false, 1, -1));
        let max = i64::MAX;
        assert_eq!(
            arith(Arith::Add, Type::Int, max, 1),
            Err(Undefined::OutOfRange)
        );
        assert_eq!(arith(Arith::Rem, Type::Int, i64::MIN, -1), Ok(0));
        assert_eq!(arith(Arith::Div, Type::Int, -7, 2), Ok(-3));
        assert_eq!(arith(Arith::Rem, Type::Int, -7, 2), Ok(-1));
        assert_eq!(arith(Arith::Rem, i8, 5, 0), Err(Undefined::DivisionByZero));
    }
}
