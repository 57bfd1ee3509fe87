//! Arithmetic of machine integers for `Symbolic` values, on known numbers and on terms: the result,
//! and whether it overflows.

use mazurka_smt::{Sort, Term, Terms};

/// Returns the number that these bits represent in a sort.
pub(crate) fn exact(sort: Sort, bits: i64) -> i128 {
    match sort {
        Sort::Unsigned(_) => i128::from(bits as u64),
        _ => i128::from(bits),
    }
}

/// Returns the least and the greatest number of a sort.
pub(crate) fn extremes(sort: Sort) -> (i128, i128) {
    match sort {
        Sort::Signed(bits) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        Sort::Unsigned(bits) => (0, (1 << bits) - 1),
        Sort::Bool | Sort::Int => (0, 1),
    }
}

/// Wraps a number to the width of a sort.
pub(crate) fn wrapped(sort: Sort, number: i128) -> i64 {
    match sort {
        Sort::Signed(bits) => (number as i64) << (64 - bits) >> (64 - bits),
        Sort::Unsigned(bits) if bits < 64 => number as i64 & ((1 << bits) - 1),
        _ => number as i64,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

impl Operation {
    /// Applies the operation to known numbers; the divisor must not be 0.
    pub fn on(self, a: i128, b: i128) -> i128 {
        match self {
            Operation::Add => a + b,
            Operation::Sub => a - b,
            Operation::Mul => a * b,
            Operation::Div => a / b,
            Operation::Rem => a % b,
        }
    }

    /// Returns the term of the wrapped result.
    pub fn term(self, terms: &mut Terms, a: Term, b: Term) -> Term {
        match self {
            Operation::Add => terms.add(a, b),
            Operation::Sub => terms.sub(a, b),
            Operation::Mul => terms.mul(a, b),
            Operation::Div => terms.div(a, b),
            Operation::Rem => terms.rem(a, b),
        }
    }

    /// Returns the term that is true if the result overflows.
    pub fn overflows(self, terms: &mut Terms, a: Term, b: Term) -> Term {
        let sort = terms.sort(a);
        let signed = matches!(sort, Sort::Signed(_));
        let zero = terms.constant(sort, 0);
        let result = self.term(terms, a, b);
        match self {
            Operation::Add if !signed => terms.less(result, a),
            Operation::Sub if !signed => terms.less(a, b),
            Operation::Add | Operation::Sub => {
                // Without overflow, `a + b` is less than `a` exactly if `b` is negative, and
                // `a - b` is less than `a` exactly if `b` is positive.
                let negative = terms.less(b, zero);
                let less = terms.less(result, a);
                match self {
                    Operation::Add => terms.unequal(negative, less),
                    _ => {
                        let positive = terms.less(zero, b);
                        terms.unequal(positive, less)
                    }
                }
            }
            Operation::Mul => product_overflows(terms, a, b),
            Operation::Div | Operation::Rem if signed => least_by_minus_one(terms, a, b),
            Operation::Div | Operation::Rem => Term::FALSE,
        }
    }

    /// Returns Rust's panic messages for an overflow and for a divisor of 0. The second one is
    /// empty for operations that do not divide.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Operation::Add => ("attempt to add with overflow", ""),
            Operation::Sub => ("attempt to subtract with overflow", ""),
            Operation::Mul => ("attempt to multiply with overflow", ""),
            Operation::Div => (
                "attempt to divide with overflow",
                "attempt to divide by zero",
            ),
            Operation::Rem => (
                "attempt to calculate the remainder with overflow",
                "attempt to calculate the remainder with a divisor of zero",
            ),
        }
    }

    pub fn divides(self) -> bool {
        matches!(self, Operation::Div | Operation::Rem)
    }
}

/// `a == MIN && b == -1`
fn least_by_minus_one(terms: &mut Terms, a: Term, b: Term) -> Term {
    let sort = terms.sort(a);
    let least = terms.constant(sort, wrapped(sort, extremes(sort).0));
    let minus = terms.constant(sort, -1);
    let (least, minus) = (terms.equal(a, least), terms.equal(b, minus));
    terms.and(least, minus)
}

/// Returns the term that is true if `a * b` overflows.
fn product_overflows(terms: &mut Terms, a: Term, b: Term) -> Term {
    let sort = terms.sort(a);
    let (least, greatest) = extremes(sort);
    let (a, b) = match terms.value(a) {
        Some(_) => (b, a),
        None => (a, b),
    };
    if let Some(factor) = terms.value(b) {
        // The product fits if the other factor lies between `from` and `to`.
        let factor = exact(sort, factor);
        let (from, to) = match factor {
            0 => return Term::FALSE,
            1.. => (-(-least / factor), greatest / factor),
            _ => (-(greatest / -factor), least / factor),
        };
        let to = to.min(greatest);
        let from = terms.constant(sort, wrapped(sort, from));
        let to = terms.constant(sort, wrapped(sort, to));
        let (below, above) = (terms.less(a, from), terms.less(to, a));
        return terms.or(below, above);
    }
    let zero = terms.constant(sort, 0);
    let product = terms.mul(a, b);
    let back = terms.div(product, a);
    let (some, other) = (terms.unequal(a, zero), terms.unequal(back, b));
    let lost = terms.and(some, other);
    match sort {
        Sort::Signed(_) => {
            let edge = least_by_minus_one(terms, b, a);
            terms.or(lost, edge)
        }
        _ => lost,
    }
}

#[cfg(test)]
mod tests {
    use mazurka_smt::{Kind, Model};

    use super::*;

    /// Results and overflows agree with exact arithmetic, for all pairs of four-bit numbers: both
    /// as variables, and with a constant on one side.
    #[test]
    fn overflows_are_exact() {
        use Operation::*;
        for sort in [Sort::Signed(4), Sort::Unsigned(4)] {
            let (least, greatest) = extremes(sort);
            let mut terms = Terms::new();
            let x = terms.variable(Kind::Input, "x", sort);
            let y = terms.variable(Kind::Input, "y", sort);
            for (operation, a, b) in [Add, Sub, Mul, Div, Rem].into_iter().flat_map(|operation| {
                let all = move |a| (least..=greatest).map(move |b| (operation, a, b));
                (least..=greatest).flat_map(all)
            }) {
                if operation.divides() && b == 0 {
                    continue;
                }
                let exactly = operation.on(a, b);
                let edge = operation == Rem && a == least && b == -1;
                let overflows = edge || !(least..=greatest).contains(&exactly);
                let (one, other) = (
                    terms.constant(sort, wrapped(sort, a)),
                    terms.constant(sort, wrapped(sort, b)),
                );
                let mut model = Model::new();
                model.set(x, wrapped(sort, a));
                model.set(y, wrapped(sort, b));
                for (left, right) in [(x, y), (one, y), (x, other)] {
                    let result = operation.term(&mut terms, left, right);
                    let overflow = operation.overflows(&mut terms, left, right);
                    let words = format!("{sort:?} {a} {b}: {}", operation.words().0);
                    assert_eq!(
                        terms.eval(result, &model),
                        Some(wrapped(sort, exactly)),
                        "{words}"
                    );
                    assert_eq!(
                        terms.eval(overflow, &model),
                        Some(i64::from(overflows)),
                        "{words}"
                    );
                }
            }
        }
    }
}
