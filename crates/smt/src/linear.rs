//! Linear sums: the normal form of `+`, `-` and multiplication by constants. Terms with equal sums
//! are equal numbers, for example `x + y - x` and `y`.

use crate::number;
use crate::{Sort, Term, TermNode, Terms};

/// `c1 * t1 + c2 * t2 + … + constant`. No coefficient is 0, no term occurs twice, and no term is a
/// sum, a multiple or a constant; terms are in ascending order. In a machine type all numbers wrap
/// around.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Linear {
    pub sort: Sort,
    pub sum: Vec<(Term, i64)>,
    pub constant: i64,
}

/// Sums of more terms are not normalised.
const LONGEST: usize = 16;

impl Linear {
    pub fn of_constant(sort: Sort, constant: i64) -> Self {
        Linear {
            sort,
            sum: Vec::new(),
            constant,
        }
    }

    pub fn of_term(sort: Sort, term: Term) -> Self {
        Linear {
            sort,
            sum: vec![(term, 1)],
            constant: 0,
        }
    }

    /// Returns `self + factor * other`, or `None` if a number exceeds 64 bits or the sum becomes
    /// too long.
    pub fn plus(&self, other: &Linear, factor: i64) -> Option<Linear> {
        let sort = self.sort;
        let scale = |c: i64| number::mul(sort, c, number::wrap(sort, factor));
        let mut sum = Vec::with_capacity(self.sum.len() + other.sum.len());
        let (mut left, mut right) = (self.sum.iter().peekable(), other.sum.iter().peekable());
        loop {
            let (term, coefficient) = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(&&(a, c)), Some(&&(b, d))) if a == b => {
                    left.next();
                    right.next();
                    (a, number::add(sort, c, scale(d)?)?)
                }
                (Some(&&(a, c)), rest) if rest.is_none_or(|&&(b, _)| a < b) => {
                    left.next();
                    (a, c)
                }
                (_, Some(&&(b, d))) => {
                    right.next();
                    (b, scale(d)?)
                }
                (Some(_), None) => unreachable!("the case before"),
            };
            if coefficient != 0 {
                sum.push((term, coefficient));
            }
        }
        let constant = number::add(sort, self.constant, scale(other.constant)?)?;
        (sum.len() <= LONGEST).then_some(Linear {
            sort,
            sum,
            constant,
        })
    }

    pub fn negate(&self) -> Option<Linear> {
        Linear::of_constant(self.sort, 0).plus(self, -1)
    }

    /// Returns the greatest common divisor of the coefficients, as mathematical integers.
    pub fn divisor(&self) -> i64 {
        let gcd = |mut a: u64, mut b: u64| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let all = self.sum.iter().map(|&(_, c)| c.unsigned_abs());
        i64::try_from(all.fold(0, gcd)).unwrap_or(1).max(1)
    }

    /// Returns a coefficient as a signed number: `x + 255 * y` over `u8` is `x - y`.
    pub fn signed(&self, coefficient: i64) -> i64 {
        match self.sort {
            Sort::Unsigned(bits) => number::wrap(Sort::Signed(bits), coefficient),
            _ => coefficient,
        }
    }
}

impl Terms {
    /// Returns the linear sum of a term of a numeric sort. `of` returns the sum of a part of the
    /// term.
    pub(crate) fn linear_of(&self, term: Term, of: impl Fn(Term) -> Linear) -> Linear {
        let sort = self.sort(term);
        let form = match self.node(term) {
            TermNode::Constant(value) => Some(Linear::of_constant(sort, value)),
            TermNode::Add(a, b) => of(a).plus(&of(b), 1),
            TermNode::Sub(a, b) => of(a).plus(&of(b), -1),
            TermNode::Negate(a) => of(a).negate(),
            TermNode::Mul(a, b) => match self.value(b) {
                Some(factor) => Linear::of_constant(sort, 0).plus(&of(a), factor),
                None => None,
            },
            _ => None,
        };
        form.unwrap_or_else(|| Linear::of_term(sort, term))
    }

    /// Returns the term for a sum: the positive multiples first, then the negative ones.
    pub(crate) fn of_linear(&mut self, form: &Linear) -> Term {
        let sort = form.sort;
        let (plus, minus) = self.both_sides(form);
        let constant = self.constant(sort, form.constant);
        match (plus, minus) {
            (None, None) => constant,
            (Some(plus), None) => self.add(plus, constant),
            (None, Some(minus)) => self.sub(constant, minus),
            (Some(plus), Some(minus)) => {
                let difference = self.sub(plus, minus);
                self.add(difference, constant)
            }
        }
    }

    /// Returns the sum of the positive multiples and the sum of the negated negative multiples,
    /// without the constant; `None` for an empty sum.
    pub(crate) fn both_sides(&mut self, form: &Linear) -> (Option<Term>, Option<Term>) {
        let sort = form.sort;
        let (mut plus, mut minus) = (None, None);
        for &(term, coefficient) in &form.sum {
            let signed = form.signed(coefficient);
            // The most negative number has no negation, so it is added.
            let (side, factor) = match signed.checked_neg() {
                Some(opposite) if signed < 0 => (&mut minus, opposite),
                _ => (&mut plus, coefficient),
            };
            let factor = self.constant(sort, factor);
            let multiple = self.mul(term, factor);
            *side = Some(match *side {
                None => multiple,
                Some(sum) => self.add(sum, multiple),
            });
        }
        (plus, minus)
    }
}
