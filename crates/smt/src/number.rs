//! Arithmetic on constants: the arithmetic of the language, made total.
//!
//! A value of any sort is stored as an `i64`: `bool` as 0 or 1, `u64` as the bits of an `i64`.
//! Machine integers wrap around; an `int` is mathematical and has no value beyond 64 bits (`None`).
//! Division rounds towards zero, and the remainder has the sign of the dividend. In the language a
//! division by zero fails before its value is used, but a term needs a value: **`x / 0` is 0 and
//! `x % 0` is x**, so that `x == x / y * y + x % y` holds for every `y`.

use crate::{BitOp, Sort};

/// Wraps a result to the range of a machine type. Values of `bool` and `int` are returned
/// unchanged.
pub(crate) fn wrap(sort: Sort, value: i64) -> i64 {
    match sort {
        Sort::Signed(bits) => value << (64 - bits) >> (64 - bits),
        Sort::Unsigned(bits) if bits < 64 => value & ((1 << bits) - 1),
        _ => value,
    }
}

/// Returns the smallest and the greatest value of a sort, in its own order; for `int`, which has no
/// extreme values, those of 64 bits.
pub(crate) fn extremes(sort: Sort) -> (i64, i64) {
    match sort {
        Sort::Bool => (0, 1),
        Sort::Int => (i64::MIN, i64::MAX),
        Sort::Signed(bits) => (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)),
        Sort::Unsigned(bits) => (
            0,
            wrap(sort, u64::MAX.wrapping_shr(64 - u32::from(bits)) as i64),
        ),
    }
}

fn result(sort: Sort, exact: Option<i64>, wrapped: i64) -> Option<i64> {
    match sort {
        Sort::Int => exact,
        _ => Some(wrap(sort, wrapped)),
    }
}

pub(crate) fn add(sort: Sort, a: i64, b: i64) -> Option<i64> {
    result(sort, a.checked_add(b), a.wrapping_add(b))
}

pub(crate) fn sub(sort: Sort, a: i64, b: i64) -> Option<i64> {
    result(sort, a.checked_sub(b), a.wrapping_sub(b))
}

pub(crate) fn mul(sort: Sort, a: i64, b: i64) -> Option<i64> {
    result(sort, a.checked_mul(b), a.wrapping_mul(b))
}

pub(crate) fn negate(sort: Sort, a: i64) -> Option<i64> {
    result(sort, a.checked_neg(), a.wrapping_neg())
}

pub(crate) fn div(sort: Sort, a: i64, b: i64) -> Option<i64> {
    match sort {
        _ if b == 0 => Some(0),
        Sort::Unsigned(_) => Some((a as u64 / b as u64) as i64),
        _ => result(sort, a.checked_div(b), a.wrapping_div(b)),
    }
}

pub(crate) fn rem(sort: Sort, a: i64, b: i64) -> i64 {
    match sort {
        _ if b == 0 => a,
        Sort::Unsigned(_) => (a as u64 % b as u64) as i64,
        _ => a.wrapping_rem(b),
    }
}

/// Computes a bit operation. Machine integers are stored in 64 bits, extended by their sign or by
/// zeros; `&`, `|` and `^` preserve this.
pub(crate) fn bits(op: BitOp, sort: Sort, a: i64, b: i64) -> i64 {
    let width = match sort {
        Sort::Signed(bits) | Sort::Unsigned(bits) => bits,
        Sort::Bool | Sort::Int => 64,
    };
    let amount = wrap(Sort::Unsigned(width), b) as u64;
    let amount = u32::try_from(amount).ok().filter(|&n| n < width.into());
    match (op, amount) {
        (BitOp::And, _) => a & b,
        (BitOp::Or, _) => a | b,
        (BitOp::Xor, _) => a ^ b,
        (BitOp::ShiftLeft, Some(amount)) => wrap(sort, a << amount),
        (BitOp::ShiftLeft, None) => 0,
        (BitOp::ShiftRight, amount) if matches!(sort, Sort::Unsigned(_)) => {
            amount.map_or(0, |amount| (a as u64 >> amount) as i64)
        }
        (BitOp::ShiftRight, amount) => a >> amount.unwrap_or(63),
    }
}

pub(crate) fn less(sort: Sort, a: i64, b: i64) -> bool {
    match sort {
        Sort::Unsigned(_) => (a as u64) < b as u64,
        _ => a < b,
    }
}

/// Returns a value as the source would write it.
pub(crate) fn show(sort: Sort, value: i64) -> String {
    match sort {
        Sort::Bool => (value != 0).to_string(),
        Sort::Unsigned(_) => (value as u64).to_string(),
        _ => value.to_string(),
    }
}
