//! Arithmetic on the numbers of ABS: unbounded integers, rationals and floats. If both operands and
//! the result fit into 64 bits, no big number is made.

use std::cmp::Ordering;
use std::sync::Arc;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{FromPrimitive, Signed, ToPrimitive, Zero};

use crate::syntax::ast::{Binary, Unary};
use crate::value::Value;

/// Limit on the bits of an integer: larger ones would exhaust the memory.
const MAX_BITS: u64 = 1 << 18;

/// Limit on the bits of a quotient: reducing it to lowest terms takes quadratic time.
const MAX_RATIO_BITS: u64 = 1 << 15;

/// Why an operation has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArithmeticError {
    DivisionByZero,
    /// The result is too large.
    TooLarge,
    /// The operands have the wrong type. The checker refuses such programs.
    Mistyped,
}

fn big(value: &Value) -> Option<BigInt> {
    match value {
        Value::Int(value) => Some(BigInt::from(*value)),
        Value::Big(value) => Some(BigInt::clone(value)),
        _ => None,
    }
}

/// Returns a number as a rational. Returns `None` for an infinite float, for NaN, and for a value
/// that is not a number.
pub(crate) fn rational(value: &Value) -> Option<BigRational> {
    match value {
        Value::Rat(value) => Some(BigRational::clone(value)),
        Value::Float(value) => BigRational::from_f64(*value),
        other => big(other).map(BigRational::from_integer),
    }
}

/// Returns a number as a float, or `None` if the value is not a number.
pub(crate) fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        Value::Big(value) => value.to_f64(),
        Value::Rat(value) => value.to_f64(),
        _ => None,
    }
}

/// Compares two numbers, as floats if one of them is a float.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Float(_), _) | (_, Value::Float(_)) => {
            let (a, b) = (float(a).unwrap_or(0.0), float(b).unwrap_or(0.0));
            a.partial_cmp(&b).unwrap_or_else(|| a.total_cmp(&b))
        }
        _ => match (big(a), big(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => rational(a).cmp(&rational(b)),
        },
    }
}

fn bounded(value: BigInt) -> Result<Value, ArithmeticError> {
    if value.bits() > MAX_BITS {
        Err(ArithmeticError::TooLarge)
    } else {
        Ok(Value::integer(value))
    }
}

fn bounded_rational(value: BigRational) -> Result<Value, ArithmeticError> {
    if bits(&value) > MAX_RATIO_BITS {
        Err(ArithmeticError::TooLarge)
    } else {
        Ok(Value::rational(value))
    }
}

fn bits(value: &BigRational) -> u64 {
    value.numer().bits() + value.denom().bits()
}

/// Returns the cost of computing a number, in the unit in which the work of a step is limited. The
/// cost of a big integer is the count of its 64-bit words. For a rational it is about the square of
/// this count, because a rational is reduced to lowest terms.
pub(crate) fn work(value: &Value) -> u64 {
    match value {
        Value::Big(value) => value.bits() / 64,
        Value::Rat(value) => bits(value) * bits(value) / 4096,
        _ => 0,
    }
}

/// Returns a quotient in lowest terms. `b` is not 0.
fn small_ratio(a: i64, b: i64) -> Value {
    let (mut x, mut y) = (a.unsigned_abs(), b.unsigned_abs());
    while y != 0 {
        (x, y) = (y, x % y);
    }
    // Computed in 128 bits, because `-i64::MIN` does not fit into 64 bits.
    let sign = if b < 0 { -1 } else { 1 };
    let part = |n: i64| BigInt::from(sign * i128::from(n) / i128::from(x));
    let (numer, denom) = (part(a), part(b));
    if denom == BigInt::from(1) {
        Value::integer(numer)
    } else {
        Value::Rat(Arc::new(BigRational::new_raw(numer, denom)))
    }
}

/// Computes `+ - * / %` on numbers.
pub(crate) fn binary(operator: Binary, a: &Value, b: &Value) -> Result<Value, ArithmeticError> {
    if let (Value::Int(a), Value::Int(b)) = (a, b) {
        let quick = match operator {
            Binary::Add => a.checked_add(*b),
            Binary::Subtract => a.checked_sub(*b),
            Binary::Multiply => a.checked_mul(*b),
            Binary::Divide if *b != 0 && a.checked_rem(*b) == Some(0) => a.checked_div(*b),
            Binary::Modulo if *b != 0 => a.checked_rem(*b),
            _ => None,
        };
        if let Some(value) = quick {
            return Ok(Value::Int(value));
        }
        if operator == Binary::Divide && *b != 0 {
            return Ok(small_ratio(*a, *b));
        }
    }
    if matches!(a, Value::Float(_)) || matches!(b, Value::Float(_)) {
        let (Some(a), Some(b)) = (float(a), float(b)) else {
            return Err(ArithmeticError::Mistyped);
        };
        let value = match operator {
            Binary::Add => a + b,
            Binary::Subtract => a - b,
            Binary::Multiply => a * b,
            Binary::Divide | Binary::Modulo if b == 0.0 => {
                return Err(ArithmeticError::DivisionByZero);
            }
            Binary::Divide => a / b,
            Binary::Modulo => a % b,
            _ => return Err(ArithmeticError::Mistyped),
        };
        return Ok(Value::Float(value));
    }
    if let (Some(a), Some(b), true) = (big(a), big(b), operator != Binary::Divide) {
        return match operator {
            Binary::Add => bounded(a + b),
            Binary::Subtract => bounded(a - b),
            Binary::Multiply => bounded(a * b),
            Binary::Modulo if b.is_zero() => Err(ArithmeticError::DivisionByZero),
            Binary::Modulo => bounded(a % b),
            _ => Err(ArithmeticError::Mistyped),
        };
    }
    let (Some(a), Some(b)) = (rational(a), rational(b)) else {
        return Err(ArithmeticError::Mistyped);
    };
    if bits(&a).max(bits(&b)) > MAX_RATIO_BITS {
        return Err(ArithmeticError::TooLarge);
    }
    match operator {
        Binary::Add => bounded_rational(a + b),
        Binary::Subtract => bounded_rational(a - b),
        Binary::Multiply => bounded_rational(a * b),
        Binary::Divide | Binary::Modulo if b.is_zero() => Err(ArithmeticError::DivisionByZero),
        Binary::Divide => bounded_rational(a / b),
        Binary::Modulo => bounded_rational(&a - &b * (&a / &b).trunc()),
        _ => Err(ArithmeticError::Mistyped),
    }
}

/// Returns how often a unit must be added to `from` to reach or exceed `to`. Returns `None` if this
/// number does not fit into 64 bits.
pub(crate) fn steps_between(from: &Value, to: &Value, unit: &Value) -> Option<i64> {
    if compare(from, to) != Ordering::Less {
        return Some(0);
    }
    if let (Value::Int(from), Value::Int(to), Value::Int(1)) = (from, to, unit) {
        return to.checked_sub(*from);
    }
    let steps = (rational(to)? - rational(from)?) / rational(unit)?;
    steps.ceil().to_integer().to_i64()
}

/// Returns a number plus `steps` steps of a unit.
pub(crate) fn stepped(from: &Value, steps: i64, unit: &Value) -> Result<Value, ArithmeticError> {
    let more = binary(Binary::Multiply, &Value::Int(steps), unit)?;
    binary(Binary::Add, from, &more)
}

/// Computes `-` and `!`.
pub(crate) fn unary(operator: Unary, value: &Value) -> Result<Value, ArithmeticError> {
    match (operator, value) {
        (Unary::Not, Value::Bool(value)) => Ok(Value::Bool(!value)),
        (Unary::Negate, Value::Float(value)) => Ok(Value::Float(-value)),
        (Unary::Negate, value) => binary(Binary::Subtract, &Value::Int(0), value),
        _ => Err(ArithmeticError::Mistyped),
    }
}

/// Returns a float as an integer, rounded by the given function.
pub(crate) fn rounded(value: &Value, round: impl Fn(f64) -> f64) -> Result<Value, ArithmeticError> {
    let value = float(value).ok_or(ArithmeticError::Mistyped)?;
    match BigInt::from_f64(round(value)) {
        Some(value) => bounded(value),
        None => Err(ArithmeticError::TooLarge),
    }
}

/// Returns a number as an integer, rounded towards zero.
pub(crate) fn truncated(value: &Value) -> Result<Value, ArithmeticError> {
    match value {
        Value::Rat(value) => match (value.numer().to_i64(), value.denom().to_i64()) {
            // Only `i64::MIN / -1` would not fit, but denominators are positive.
            (Some(numer), Some(denom)) => Ok(Value::Int(numer / denom)),
            _ => bounded(value.trunc().to_integer()),
        },
        Value::Float(_) => rounded(value, f64::trunc),
        other => Ok(other.clone()),
    }
}

/// Returns a number as text: `3`, `-1/2`, `2.5`; or `None` if the value is not a number.
pub(crate) fn written(value: &Value) -> Option<String> {
    match value {
        Value::Int(value) => Some(value.to_string()),
        Value::Big(value) => Some(value.to_string()),
        Value::Rat(value) => {
            let sign = if value.is_negative() { "-" } else { "" };
            Some(format!("{sign}{}/{}", value.numer().abs(), value.denom()))
        }
        Value::Float(value) => Some(format!("{value:?}")),
        _ => None,
    }
}

/// Returns the absolute value of a number.
pub(crate) fn absolute(value: Value) -> Result<Value, ArithmeticError> {
    match compare(&value, &Value::Int(0)) {
        Ordering::Less => unary(Unary::Negate, &value),
        _ => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_of_small_numbers_are_those_of_large_ones() {
        let numbers = [
            i64::MIN,
            i64::MIN + 1,
            -12,
            -3,
            -1,
            0,
            1,
            2,
            9,
            12,
            i64::MAX,
        ];
        for a in numbers {
            for b in numbers.into_iter().filter(|&b| b != 0) {
                let quotient = binary(Binary::Divide, &Value::Int(a), &Value::Int(b));
                let quotient = quotient.expect("a quotient");
                let exact = BigRational::new(BigInt::from(a), BigInt::from(b));
                assert_eq!(rational(&quotient), Some(exact.clone()), "{a} / {b}");
                assert_eq!(matches!(quotient, Value::Rat(_)), !exact.is_integer());
                let whole = truncated(&quotient).expect("an integer");
                assert_eq!(big(&whole), Some(exact.to_integer()), "{a} / {b}");
            }
        }
    }

    #[test]
    fn steps_of_a_unit() {
        let half = binary(Binary::Divide, &Value::Int(1), &Value::Int(2)).expect("a half");
        assert_eq!(
            steps_between(&Value::Int(1), &Value::Int(3), &half),
            Some(4)
        );
        assert_eq!(
            steps_between(&half, &Value::Int(2), &Value::Int(1)),
            Some(2)
        );
        assert_eq!(
            steps_between(&Value::Int(3), &Value::Int(1), &half),
            Some(0)
        );
        assert_eq!(
            steps_between(&Value::Int(i64::MIN), &Value::Int(1), &Value::Int(1)),
            None
        );
    }
}
