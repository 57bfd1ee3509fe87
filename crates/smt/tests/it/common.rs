//! Random expressions, with an independent evaluator. Tests compare it with the evaluator of the
//! crate.

// Not every test uses every item.
#![allow(dead_code)]

use mazurka_smt::{BitOp, Kind, Sort, Term, Terms};
use proptest::prelude::*;

/// An expression before any simplification.
#[derive(Clone, Debug)]
pub enum Expr {
    /// One of a few variables of a sort.
    Variable(Sort, usize),
    Constant(Sort, i64),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    /// An operator, named by its sign, with its operands.
    Binary(&'static str, Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// The number of variables of each sort.
pub const VARIABLES: usize = 2;

/// Returns the number of cases of a property: `MAZURKA_CASES`, or this default.
pub fn cases(default: u32) -> ProptestConfig {
    let wanted = std::env::var("MAZURKA_CASES").ok();
    ProptestConfig {
        cases: wanted.and_then(|n| n.parse().ok()).unwrap_or(default),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn number(sort: Sort, depth: u32) -> BoxedStrategy<Expr> {
    let constant = prop_oneof![4 => -3i64..4, 1 => -200i64..200]
        .prop_map(move |value| Expr::Constant(sort, wrap(sort, i128::from(value)).unwrap()));
    let leaf = prop_oneof![
        (0..VARIABLES).prop_map(move |v| Expr::Variable(sort, v)),
        constant
    ];
    if depth == 0 {
        return leaf.boxed();
    }
    let part = || number(sort, depth - 1).prop_map(Box::new);
    let mut operators = vec!["+", "-", "*", "/", "%", "+", "-"];
    if sort != Sort::Int {
        operators.extend(["&", "|", "^", "<<", ">>"]);
    }
    let operator = prop::sample::select(operators);
    prop_oneof![
        2 => leaf,
        4 => (operator, part(), part()).prop_map(|(o, a, b)| Expr::Binary(o, a, b)),
        1 => part().prop_map(Expr::Negate),
        1 => (boolean(sort, depth - 1), part(), part())
            .prop_map(|(c, a, b)| Expr::If(Box::new(c), a, b)),
    ]
    .boxed()
}

/// Generates a formula over numbers of one sort and a few booleans.
pub fn boolean(sort: Sort, depth: u32) -> BoxedStrategy<Expr> {
    let leaf = (0..VARIABLES).prop_map(|v| Expr::Variable(Sort::Bool, v));
    if depth == 0 {
        return leaf.boxed();
    }
    let part = || boolean(sort, depth - 1).prop_map(Box::new);
    let side = || number(sort, depth - 1).prop_map(Box::new);
    let compare = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let connect = prop::sample::select(vec!["&&", "||", "=="]);
    prop_oneof![
        1 => leaf,
        5 => (compare, side(), side()).prop_map(|(o, a, b)| Expr::Binary(o, a, b)),
        3 => (connect, part(), part()).prop_map(|(o, a, b)| Expr::Binary(o, a, b)),
        1 => part().prop_map(Expr::Not),
        1 => (part(), part(), part()).prop_map(|(c, a, b)| Expr::If(c, a, b)),
    ]
    .boxed()
}

/// Wraps a mathematical result to a sort.
fn wrap(sort: Sort, value: i128) -> Option<i64> {
    match sort {
        Sort::Bool | Sort::Int => i64::try_from(value).ok(),
        Sort::Signed(bits) => {
            let half = 1i128 << (bits - 1);
            Some(((value + half).rem_euclid(2 * half) - half) as i64)
        }
        Sort::Unsigned(bits) => Some(value.rem_euclid(1 << bits) as u64 as i64),
    }
}

fn mathematical(sort: Sort, value: i64) -> i128 {
    match sort {
        Sort::Unsigned(_) => i128::from(value as u64),
        _ => i128::from(value),
    }
}

/// Computes an operation on the bits of two numbers, in two's complement of any width.
fn bit_by_bit(x: i128, y: i128, of: impl Fn(bool, bool) -> bool) -> i128 {
    let bits = (0..127).filter(|at| of(x >> at & 1 == 1, y >> at & 1 == 1));
    let low: i128 = bits.map(|at| 1 << at).sum();
    low + if of(x < 0, y < 0) { i128::MIN } else { 0 }
}

/// Returns 2 to the power of the shift amount, or `None` if no bits are left. A negative amount
/// counts as a large one.
fn power(sort: Sort, amount: i128) -> Option<i128> {
    let (Sort::Signed(bits) | Sort::Unsigned(bits)) = sort else {
        return None;
    };
    (0..i128::from(bits)).contains(&amount).then(|| 1 << amount)
}

impl Expr {
    pub fn sort(&self) -> Sort {
        match self {
            Expr::Variable(sort, _) | Expr::Constant(sort, _) => *sort,
            Expr::Not(_) => Sort::Bool,
            Expr::Negate(a) | Expr::If(_, a, _) => a.sort(),
            Expr::Binary("+" | "-" | "*" | "/" | "%", a, _) => a.sort(),
            Expr::Binary("&" | "|" | "^" | "<<" | ">>", a, _) => a.sort(),
            Expr::Binary(..) => Sort::Bool,
        }
    }

    /// Returns the value, by the definition of every operator on mathematical numbers. Returns
    /// `None` if some `int` exceeds 64 bits.
    pub fn eval(&self, of: &dyn Fn(Sort, usize) -> i64) -> Option<i64> {
        let wrapped = wrap;
        Some(match self {
            Expr::Variable(sort, v) => of(*sort, *v),
            Expr::Constant(_, value) => *value,
            Expr::Not(a) => 1 - a.eval(of)?,
            Expr::Negate(a) => wrapped(a.sort(), -mathematical(a.sort(), a.eval(of)?))?,
            Expr::If(c, a, b) => {
                let (c, a, b) = (c.eval(of)?, a.eval(of)?, b.eval(of)?);
                if c != 0 { a } else { b }
            }
            Expr::Binary(operator, a, b) => {
                let sort = a.sort();
                let x = mathematical(sort, a.eval(of)?);
                let y = mathematical(sort, b.eval(of)?);
                let exact = match *operator {
                    "+" => x + y,
                    "-" => x - y,
                    "*" => x.wrapping_mul(y),
                    "/" => x.checked_div(y).unwrap_or(0),
                    "%" => x.checked_rem(y).unwrap_or(x),
                    // Bit operations are computed bit by bit. Shifts are products and quotients, so
                    // a large amount leaves 0 or the sign.
                    "&" => bit_by_bit(x, y, |a, b| a && b),
                    "|" => bit_by_bit(x, y, |a, b| a || b),
                    "^" => bit_by_bit(x, y, |a, b| a != b),
                    "<<" => x * power(sort, y).unwrap_or(0),
                    ">>" => match power(sort, y) {
                        Some(power) => x.div_euclid(power),
                        None => x.clamp(-1, 0),
                    },
                    "&&" => return Some(i64::from(x != 0 && y != 0)),
                    "||" => return Some(i64::from(x != 0 || y != 0)),
                    "==" => return Some(i64::from(x == y)),
                    "!=" => return Some(i64::from(x != y)),
                    "<" => return Some(i64::from(x < y)),
                    "<=" => return Some(i64::from(x <= y)),
                    ">" => return Some(i64::from(x > y)),
                    ">=" => return Some(i64::from(x >= y)),
                    _ => unreachable!("{operator}"),
                };
                wrapped(sort, exact)?
            }
        })
    }

    /// Returns the term for the expression.
    pub fn term(&self, terms: &mut Terms) -> Term {
        match self {
            Expr::Variable(sort, v) => variable(terms, *sort, *v),
            Expr::Constant(sort, value) => terms.constant(*sort, *value),
            Expr::Not(a) => {
                let a = a.term(terms);
                terms.not(a)
            }
            Expr::Negate(a) => {
                let a = a.term(terms);
                terms.negate(a)
            }
            Expr::If(c, a, b) => {
                let (c, a, b) = (c.term(terms), a.term(terms), b.term(terms));
                terms.ite(c, a, b)
            }
            Expr::Binary(operator, a, b) => {
                let (a, b) = (a.term(terms), b.term(terms));
                match *operator {
                    "+" => terms.add(a, b),
                    "-" => terms.sub(a, b),
                    "*" => terms.mul(a, b),
                    "/" => terms.div(a, b),
                    "%" => terms.rem(a, b),
                    "&" => terms.bits(BitOp::And, a, b),
                    "|" => terms.bits(BitOp::Or, a, b),
                    "^" => terms.bits(BitOp::Xor, a, b),
                    "<<" => terms.bits(BitOp::ShiftLeft, a, b),
                    ">>" => terms.bits(BitOp::ShiftRight, a, b),
                    "&&" => terms.and(a, b),
                    "||" => terms.or(a, b),
                    "==" => terms.equal(a, b),
                    "!=" => terms.unequal(a, b),
                    "<" => terms.less(a, b),
                    "<=" => terms.at_most(a, b),
                    ">" => terms.greater(a, b),
                    ">=" => terms.at_least(a, b),
                    _ => unreachable!("{operator}"),
                }
            }
        }
    }
}

/// Returns the term of a variable.
pub fn variable(terms: &mut Terms, sort: Sort, number: usize) -> Term {
    let letter = if sort == Sort::Bool { 'p' } else { 'x' };
    terms.variable(Kind::Input, &format!("{letter}{number}"), sort)
}
