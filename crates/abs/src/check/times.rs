//! Determines the times at which durations are explored.
//!
//! `duration(min, max)` takes any time from min to max, and time is dense. Choose a *unit* such
//! that all bounds in the program are multiples of it. Then it is enough to explore the multiples
//! of the unit from min to max, as long as no property depends on the values of times.
//!
//! **Why.** Henzinger, Manna, Pnueli, "What good are digital clocks?" (ICALP 1992). Take a run with
//! any times, measured in units, and choose some ε in [0, 1). Round each time down if its fraction
//! is at most ε, and up otherwise. Rounding keeps the order of two times or makes them equal. If
//! the difference of two times is at least an integer n, it is still at least n after rounding. If
//! it is at most n, it is still at most n. So rounded durations are within their bounds.
//!
//! The steps of the run are also possible, in the same order, with the rounded times. If two times
//! have become equal, the tasks that they wake are ready at the same time, and the order of the run
//! is one of those explored. If the two rounded times differ, the clock can advance from one to the
//! other: no other task becomes ready in between, because every wake-up that is later in the run is
//! rounded to a time that is not earlier. The clock that the ABS manual describes advances to the
//! end of some interval, so all its times are multiples of the unit as well.
//!
//! If the program calls `now()` or `deadline()`, or computes a bound as a rational number, times
//! between the multiples of the unit may matter. The verdict then says that not all times were
//! explored.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::Checker;
use crate::arithmetic::{binary, rational, unary};
use crate::syntax::ast::{Binary, Expr, ExprKind, Unary};
use crate::types::Ty;
use crate::value::Value;

/// What the compiler knows about a bound of a duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DurationBound {
    Number(BigRational),
    /// Computed, of type `Int`.
    Integer,
    /// Computed, of type `Rat`.
    Any,
}

/// The properties of all durations.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    /// The greatest common divisor of all known bounds; 0 if there are none.
    common: BigRational,
    /// Whether a bound may be any rational number.
    any: bool,
    /// Whether a duration may take different times.
    ranges: bool,
    /// Whether the program reads the time.
    pub read: bool,
}

impl Times {
    /// Adds a duration with these bounds. `same` says that both bounds always have the same value.
    pub fn add(&mut self, from: DurationBound, to: DurationBound, same: bool) {
        let fixed = matches!(from, DurationBound::Number(_)) && from == to;
        self.ranges |= !same && !fixed;
        for bound in [from, to] {
            match bound {
                DurationBound::Number(number) => self.divides(&number),
                DurationBound::Integer => self.divides(&BigRational::one()),
                DurationBound::Any => self.any = true,
            }
        }
    }

    /// Makes the unit a divisor of this number.
    fn divides(&mut self, number: &BigRational) {
        if number.is_zero() {
            return;
        }
        // If a/b = p/q in lowest terms, then b/q is the greatest common divisor of a and b.
        let ratio = &self.common / number;
        self.common = number.abs() / ratio.denom();
    }

    /// Returns the unit, at whose multiples durations are explored.
    pub fn unit(&self) -> Value {
        let mut all = self.clone();
        if self.any || self.common.is_zero() {
            all.divides(&BigRational::one());
        }
        Value::rational(all.common)
    }

    /// Whether times that are not multiples of the unit may matter.
    pub fn off_grid(&self) -> bool {
        self.ranges && (self.read || self.any)
    }
}

/// Returns the value of an expression that consists of literal numbers and operators only.
fn number(expr: &Expr) -> Option<Value> {
    match &expr.kind {
        ExprKind::Int(value) => Some(Value::integer(BigInt::clone(value))),
        ExprKind::Unary(Unary::Negate, inner) => unary(Unary::Negate, &number(inner)?).ok(),
        ExprKind::Binary(operator, a, b)
            if matches!(
                operator,
                Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide
            ) =>
        {
            binary(*operator, &number(a)?, &number(b)?).ok()
        }
        _ => None,
    }
}

/// Whether two expressions have the same value if both are evaluated in one step. Only `random` may
/// yield different values.
pub(super) fn same(one: &Expr, other: &Expr) -> bool {
    let all = |some: &[Expr], more: &[Expr]| {
        some.len() == more.len() && some.iter().zip(more).all(|(a, b)| same(a, b))
    };
    match (&one.kind, &other.kind) {
        (ExprKind::Int(a), ExprKind::Int(b)) => a == b,
        (ExprKind::Variable(a), ExprKind::Variable(b))
        | (ExprKind::Field(a), ExprKind::Field(b)) => a.text == b.text,
        (ExprKind::Construct(a, some), ExprKind::Construct(b, more)) => {
            a.text == b.text && all(some, more)
        }
        (ExprKind::Call(a, some), ExprKind::Call(b, more)) => {
            let random = a.text == "random" || a.text.ends_with(".random");
            !random && a.text == b.text && all(some, more)
        }
        (ExprKind::Unary(a, x), ExprKind::Unary(b, y)) => a == b && same(x, y),
        (ExprKind::Binary(a, x, v), ExprKind::Binary(b, y, w)) => {
            a == b && same(x, y) && same(v, w)
        }
        _ => false,
    }
}

impl<'a> Checker<'a> {
    /// Compiles a bound of a duration.
    pub(super) fn duration_bound(&mut self, expr: &'a Expr) -> DurationBound {
        let ty = self.expr(expr, Some(&Ty::RAT));
        self.fit(&ty, &Ty::RAT, expr.span);
        match number(expr).as_ref().and_then(rational) {
            Some(number) => DurationBound::Number(number),
            None if self.unknowns.shallow(&ty) == Ty::INT => DurationBound::Integer,
            None => DurationBound::Any,
        }
    }

    /// Whether the program calls a function of the standard module that reads the time.
    pub(super) fn reads_time(&self, function: u32) -> bool {
        let function = &self.functions[function as usize];
        let clock = ["now", "currentms", "deadline", "lowlevelDeadline"];
        function.module == 0 && !self.standard && clock.contains(&function.name.as_str())
    }
}
