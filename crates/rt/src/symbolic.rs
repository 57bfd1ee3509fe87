//! Unknown values: their arithmetic is recorded, and comparing them is a branch.

use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{
    Add, AddAssign, BitAnd, BitOr, BitXor, Div, DivAssign, Mul, MulAssign, Neg, Not, Range, Rem,
    RemAssign, Sub, SubAssign,
};
use std::panic::Location;

use mazurka_smt::{Sort, Term, Terms};

use crate::arithmetic::{Operation, exact, extremes, wrapped};
use crate::world::{World, world};

/// The types of inputs: `bool` and the integers of up to 64 bits.
pub trait Scalar: Copy + 'static {
    #[doc(hidden)]
    const SORT: Sort;
    #[doc(hidden)]
    fn to_bits(self) -> i64;
    #[doc(hidden)]
    fn from_bits(bits: i64) -> Self;
}

/// The integers among the scalars.
pub trait Integer: Scalar {}

/// A value that may be unknown: the result of [`input`], or computed from one. It can be copied,
/// sent and shared like a number.
///
/// - **Arithmetic** is recorded. `+`, `-`, `*`, `/`, `%` and unary `-` panic when they overflow or
///   divide by zero, as Rust does with overflow checks, whatever the profile. This is a branch:
///   both the overflow and the result are explored, if inputs lead to them. `wrapping_…` does not
///   branch; `checked_…` branches on its result.
/// - **Comparisons** (`==`, `<`, `cmp`, `max`, …) return a `bool`: a branch for each side that some
///   input takes.
/// - **[`value`](Self::value)** returns a plain number where one is needed: an index, a value to
///   store in an atomic. Each possible number is explored, up to 64; if there are more, the
///   summary says so.
/// - For [`bool`]s, `!`, `&`, `|` and `^` are recorded; `value` is the branch.
///
/// Bit operations on integers (`&`, `<<`, …) and conversions between their types are not recorded;
/// use [`value`](Self::value).
///
/// ```
/// use mazurka_rt::{Builder, Symbolic, input};
///
/// fn sign(x: Symbolic<i32>) -> i32 {
///     if x > 0 { 1 } else if x == 0 { 0 } else { -1 }
/// }
///
/// let found = Builder::new().outcomes(|| sign(input()));
/// assert_eq!(found.executions, 3);
/// assert_eq!(found.results.len(), 3);
/// ```
#[derive(Clone, Copy)]
pub struct Symbolic<T> {
    value: Value,
    of: PhantomData<T>,
}

#[derive(Clone, Copy)]
enum Value {
    Known(i64),
    /// A term, and the number of the model that it belongs to.
    Term(Term, u32),
}

use Value::Known;

/// Returns an unknown value of type `T`; the search explores the behaviour for all of its values.
/// Outside a model it is 0 or `false`.
///
/// An input is named by the thread that asks for it and by the number of inputs that this thread
/// asked for before. So its name is the same in all equivalent executions.
///
/// ```should_panic
/// use mazurka_rt::{input, model};
///
/// // For i32::MAX the sum overflows; the message says so, and the replay contains the value.
/// model(|| assert!(input::<i32>() + 1 > 0 || input::<bool>().value()));
/// ```
#[track_caller]
pub fn input<T: Scalar>() -> Symbolic<T> {
    ask(None, 0, Location::caller())
}

/// Returns an unknown value of the range. Outside a model it is the first value.
///
/// ```
/// use mazurka_rt::{Builder, input_in};
///
/// let found = Builder::new().check(|| {
///     let len = input_in(1..5_usize);
///     assert!(vec![0; len.value()].len() == len);
/// });
/// assert_eq!(found.executions, 4);
/// ```
///
/// # Panics
///
/// If the range is empty.
#[track_caller]
pub fn input_in<T: Integer + PartialOrd>(range: Range<T>) -> Symbolic<T> {
    assert!(range.start < range.end, "there is nothing to choose from");
    let (start, end) = (range.start.to_bits(), range.end.to_bits());
    ask(Some((start, end)), start, Location::caller())
}

fn ask<T: Scalar>(
    range: Option<(i64, i64)>,
    outside: i64,
    place: &'static Location<'static>,
) -> Symbolic<T> {
    let Some(world) = world() else {
        return Symbolic::known(outside);
    };
    match world.input(T::SORT, range, place) {
        Err(value) => Symbolic::known(value),
        Ok(term) => Symbolic::new(Value::Term(term, number(world))),
    }
}

/// Returns the number of this model, by which its terms are told from those of other models.
fn number(world: &World) -> u32 {
    world.inner.borrow().unknowns.number
}

/// Returns the world of the model with this number. Panics outside this model.
fn world_of(number: u32) -> &'static World {
    let here = world().filter(|world| self::number(world) == number);
    here.expect("a value that depends on an input is used outside its model")
}

/// Builds a term from two values, at least one of them unknown.
fn term_of(
    sort: Sort,
    parts: [Value; 2],
    make: impl FnOnce(&mut Terms, Term, Term) -> Term,
) -> Value {
    let number = parts.iter().find_map(|part| match part {
        Value::Term(_, number) => Some(*number),
        Known(_) => None,
    });
    let number = number.expect("one is not known");
    let world = world_of(number);
    let terms = &mut world.inner.borrow_mut().unknowns.terms;
    let [a, b] = parts.map(|part| match part {
        Known(value) => terms.constant(sort, value),
        Value::Term(term, of) => {
            assert!(of == number, "inputs of different models meet");
            term
        }
    });
    let term = make(terms, a, b);
    match terms.value(term) {
        Some(value) => Known(value),
        None => Value::Term(term, number),
    }
}

impl<T> Symbolic<T> {
    fn new(value: Value) -> Self {
        Self {
            value,
            of: PhantomData,
        }
    }

    fn known(bits: i64) -> Self {
        Self::new(Known(bits))
    }
}

impl Symbolic<bool> {
    /// Returns whether the value is true. If it is unknown, this is a branch.
    fn decide(self) -> bool {
        match self.value {
            Known(bits) => bits != 0,
            Value::Term(term, number) => world_of(number).decide(term),
        }
    }
}

impl<T: Scalar> Symbolic<T> {
    /// Returns a plain value. Each possible value is explored, up to 64 of them, those near 0
    /// first. If there are more, the summary says so and is not complete; [`input_in`] and
    /// comparisons reduce their number.
    #[track_caller]
    pub fn value(self) -> T {
        let place = Location::caller();
        T::from_bits(match self.value {
            Known(bits) => bits,
            Value::Term(term, number) if T::SORT == Sort::Bool => {
                i64::from(world_of(number).decide(term))
            }
            Value::Term(term, number) => world_of(number).pick(term, place),
        })
    }

    fn compare(self, other: Self, how: Compare) -> Symbolic<bool> {
        if let (Known(a), Known(b)) = (self.value, other.value) {
            let (a, b) = (exact(T::SORT, a), exact(T::SORT, b));
            let truth = match how {
                Compare::Equal => a == b,
                Compare::Less => a < b,
                Compare::AtMost => a <= b,
            };
            return Symbolic::known(i64::from(truth));
        }
        let make = |terms: &mut Terms, a, b| match how {
            Compare::Equal => terms.equal(a, b),
            Compare::Less => terms.less(a, b),
            Compare::AtMost => terms.at_most(a, b),
        };
        Symbolic::new(term_of(T::SORT, [self.value, other.value], make))
    }
}

#[derive(Clone, Copy)]
enum Compare {
    Equal,
    Less,
    AtMost,
}

impl<T: Integer> Symbolic<T> {
    /// Returns the wrapped result, and whether it wrapped. The divisor must not be 0.
    fn operate(self, operation: Operation, other: Self) -> (Self, Symbolic<bool>) {
        let sort = T::SORT;
        if let (Known(a), Known(b)) = (self.value, other.value) {
            let result = operation.on(exact(sort, a), exact(sort, b));
            let (least, greatest) = extremes(sort);
            // In Rust the remainder of the least number by -1 overflows, although it is 0.
            let edge =
                operation == Operation::Rem && exact(sort, a) == least && exact(sort, b) == -1;
            let overflow = edge || !(least..=greatest).contains(&result);
            return (
                Self::known(wrapped(sort, result)),
                Symbolic::known(i64::from(overflow)),
            );
        }
        let parts = [self.value, other.value];
        let result = term_of(sort, parts, |terms, a, b| operation.term(terms, a, b));
        let overflow = term_of(sort, parts, |terms, a, b| operation.overflows(terms, a, b));
        (Self::new(result), Symbolic::new(overflow))
    }

    #[track_caller]
    fn strictly(self, operation: Operation, other: Self) -> Self {
        let (overflow, zero) = operation.words();
        if operation.divides() && other == Self::known(0) {
            panic!("{zero}");
        }
        let (result, overflows) = self.operate(operation, other);
        if overflows.decide() {
            panic!("{overflow}");
        }
        result
    }

    fn checked(self, operation: Operation, other: Self) -> Option<Self> {
        if operation.divides() && other == Self::known(0) {
            return None;
        }
        let (result, overflows) = self.operate(operation, other);
        (!overflows.decide()).then_some(result)
    }
}

macro_rules! methods {
    ($($wrapping:ident $checked:ident $operation:ident),*) => {
        impl<T: Integer> Symbolic<T> {
            $(
                /// Returns the result, wrapped around on overflow. This is not a branch.
                pub fn $wrapping(self, other: impl Into<Self>) -> Self {
                    self.operate(Operation::$operation, other.into()).0
                }

                /// Returns the result; `None` if it overflows. This is a branch.
                pub fn $checked(self, other: impl Into<Self>) -> Option<Self> {
                    self.checked(Operation::$operation, other.into())
                }
            )*
        }
    };
}

methods! { wrapping_add checked_add Add, wrapping_sub checked_sub Sub, wrapping_mul checked_mul Mul }

impl<T: Integer> Symbolic<T> {
    /// Returns the quotient; `None` if the divisor is 0 or the quotient overflows. This is a
    /// branch.
    pub fn checked_div(self, other: impl Into<Self>) -> Option<Self> {
        self.checked(Operation::Div, other.into())
    }

    /// Returns the remainder; `None` if the divisor is 0 or the division overflows. This is a
    /// branch.
    pub fn checked_rem(self, other: impl Into<Self>) -> Option<Self> {
        self.checked(Operation::Rem, other.into())
    }
}

impl<T: Scalar> From<T> for Symbolic<T> {
    fn from(value: T) -> Self {
        Self::known(value.to_bits())
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $assign:ident $assigns:ident),*) => {
        $(
            impl<T: Integer> $trait for Symbolic<T> {
                type Output = Self;
                #[track_caller]
                fn $method(self, other: Self) -> Self {
                    self.strictly(Operation::$trait, other)
                }
            }

            impl<T: Integer> $trait<T> for Symbolic<T> {
                type Output = Self;
                #[track_caller]
                fn $method(self, other: T) -> Self {
                    self.strictly(Operation::$trait, other.into())
                }
            }

            impl<T: Integer> $assign for Symbolic<T> {
                #[track_caller]
                fn $assigns(&mut self, other: Self) {
                    *self = self.strictly(Operation::$trait, other);
                }
            }

            impl<T: Integer> $assign<T> for Symbolic<T> {
                #[track_caller]
                fn $assigns(&mut self, other: T) {
                    *self = self.strictly(Operation::$trait, other.into());
                }
            }
        )*
    };
}

operators! {
    Add add AddAssign add_assign, Sub sub SubAssign sub_assign, Mul mul MulAssign mul_assign,
    Div div DivAssign div_assign, Rem rem RemAssign rem_assign
}

impl<T: Integer + Neg> Neg for Symbolic<T> {
    type Output = Self;
    #[track_caller]
    fn neg(self) -> Self {
        let (result, overflows) = Self::known(0).operate(Operation::Sub, self);
        if overflows.decide() {
            panic!("attempt to negate with overflow");
        }
        result
    }
}

/// Combines two truth values without a branch.
fn logical(
    a: Symbolic<bool>,
    b: Symbolic<bool>,
    known: fn(bool, bool) -> bool,
    make: impl FnOnce(&mut Terms, Term, Term) -> Term,
) -> Symbolic<bool> {
    if let (Known(a), Known(b)) = (a.value, b.value) {
        return Symbolic::known(i64::from(known(a != 0, b != 0)));
    }
    Symbolic::new(term_of(Sort::Bool, [a.value, b.value], make))
}

macro_rules! logic {
    ($($trait:ident $method:ident $known:expr, $make:expr);*) => {
        $(
            impl<B: Into<Symbolic<bool>>> $trait<B> for Symbolic<bool> {
                type Output = Self;
                fn $method(self, other: B) -> Self {
                    logical(self, other.into(), $known, $make)
                }
            }
        )*
    };
}

logic! {
    BitAnd bitand |a, b| a & b, |terms, a, b| terms.and(a, b);
    BitOr bitor |a, b| a | b, |terms, a, b| terms.or(a, b);
    BitXor bitxor |a, b| a ^ b, |terms, a, b| terms.unequal(a, b)
}

impl Not for Symbolic<bool> {
    type Output = Self;
    fn not(self) -> Self {
        self ^ true
    }
}

impl<T: Scalar> PartialEq for Symbolic<T> {
    fn eq(&self, other: &Self) -> bool {
        self.compare(*other, Compare::Equal).decide()
    }
}

impl<T: Scalar> PartialEq<T> for Symbolic<T> {
    fn eq(&self, other: &T) -> bool {
        *self == Self::from(*other)
    }
}

impl<T: Scalar> Eq for Symbolic<T> {}

impl<T: Scalar> PartialOrd for Symbolic<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
    fn lt(&self, other: &Self) -> bool {
        self.compare(*other, Compare::Less).decide()
    }
    fn le(&self, other: &Self) -> bool {
        self.compare(*other, Compare::AtMost).decide()
    }
    fn gt(&self, other: &Self) -> bool {
        other < self
    }
    fn ge(&self, other: &Self) -> bool {
        other <= self
    }
}

impl<T: Scalar> PartialOrd<T> for Symbolic<T> {
    fn partial_cmp(&self, other: &T) -> Option<Ordering> {
        Some(self.cmp(&Self::from(*other)))
    }
    fn lt(&self, other: &T) -> bool {
        *self < Self::from(*other)
    }
    fn le(&self, other: &T) -> bool {
        *self <= Self::from(*other)
    }
    fn gt(&self, other: &T) -> bool {
        *self > Self::from(*other)
    }
    fn ge(&self, other: &T) -> bool {
        *self >= Self::from(*other)
    }
}

impl<T: Scalar> Ord for Symbolic<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        match () {
            () if self < other => Ordering::Less,
            () if self == other => Ordering::Equal,
            () => Ordering::Greater,
        }
    }

    fn max(self, other: Self) -> Self {
        if other < self { self } else { other }
    }

    fn min(self, other: Self) -> Self {
        if other < self { other } else { self }
    }
}

/// Displays an unknown value as its term.
impl<T: Scalar> fmt::Display for Symbolic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.value {
            Known(bits) => T::SORT.show(bits),
            Value::Term(term, number) => {
                let inner = world().and_then(|world| world.inner.try_borrow().ok());
                let inner = inner.filter(|inner| inner.unknowns.number == number);
                inner.map_or("?".into(), |inner| inner.unknowns.terms.show(term))
            }
        };
        f.pad(&text)
    }
}

impl<T: Scalar> fmt::Debug for Symbolic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T: Scalar> Default for Symbolic<T> {
    fn default() -> Self {
        Self::known(0)
    }
}

macro_rules! mirrored {
    ($t:ty: $($trait:ident $method:ident),*) => {
        $(
            impl $trait<Symbolic<$t>> for $t {
                type Output = Symbolic<$t>;
                #[track_caller]
                fn $method(self, other: Symbolic<$t>) -> Symbolic<$t> {
                    Symbolic::from(self).strictly(Operation::$trait, other)
                }
            }
        )*
    };
}

macro_rules! scalars {
    ($($t:ty, $sort:expr);* $(;)?) => {
        $(
            impl Scalar for $t {
                const SORT: Sort = $sort;
                fn to_bits(self) -> i64 {
                    self as i64
                }
                fn from_bits(bits: i64) -> Self {
                    bits as $t
                }
            }

            impl Integer for $t {}

            mirrored!($t: Add add, Sub sub, Mul mul, Div div, Rem rem);
            order!($t);
        )*
    };
}

macro_rules! order {
    ($t:ty) => {
        impl PartialEq<Symbolic<$t>> for $t {
            fn eq(&self, other: &Symbolic<$t>) -> bool {
                Symbolic::from(*self) == *other
            }
        }

        impl PartialOrd<Symbolic<$t>> for $t {
            fn partial_cmp(&self, other: &Symbolic<$t>) -> Option<Ordering> {
                Some(Symbolic::from(*self).cmp(other))
            }
            fn lt(&self, other: &Symbolic<$t>) -> bool {
                Symbolic::from(*self) < *other
            }
            fn le(&self, other: &Symbolic<$t>) -> bool {
                Symbolic::from(*self) <= *other
            }
            fn gt(&self, other: &Symbolic<$t>) -> bool {
                Symbolic::from(*self) > *other
            }
            fn ge(&self, other: &Symbolic<$t>) -> bool {
                Symbolic::from(*self) >= *other
            }
        }
    };
}

const WORD: u8 = usize::BITS as u8;

scalars! {
    i8, Sort::Signed(8); i16, Sort::Signed(16); i32, Sort::Signed(32); i64, Sort::Signed(64); isize, Sort::Signed(WORD);
    u8, Sort::Unsigned(8); u16, Sort::Unsigned(16); u32, Sort::Unsigned(32); u64, Sort::Unsigned(64); usize, Sort::Unsigned(WORD);
}

impl Scalar for bool {
    const SORT: Sort = Sort::Bool;
    fn to_bits(self) -> i64 {
        i64::from(self)
    }
    fn from_bits(bits: i64) -> Self {
        bits != 0
    }
}

order!(bool);
