//! Constructors of terms. Each folds constants and applies the rules that depend only on the
//! outermost parts, which are cheap to check. The other rules are in
//! [`simplify`](crate::Terms::simplify).
//!
//! Rules that move a constant over `+` or out of a product hold for machine integers, because these
//! form a ring. For `int` they are applied as long as the constants fit into 64 bits. A summand is
//! never moved across a comparison of machine integers: `x + 1 < y + 1` is not `x < y` if a sum
//! wraps around.

use crate::number;
use crate::{BitOp, Sort, Term, TermNode, Terms};

impl Terms {
    /// `!a`
    pub fn not(&mut self, a: Term) -> Term {
        match self.node(a) {
            TermNode::Constant(value) => self.bool(value == 0),
            TermNode::Not(inner) => inner,
            TermNode::Less(x, y) => self.at_most(y, x),
            TermNode::AtMost(x, y) => self.less(y, x),
            _ => self.intern(TermNode::Not(a), Sort::Bool),
        }
    }

    /// `a && b`
    pub fn and(&mut self, a: Term, b: Term) -> Term {
        match (self.truth(a), self.truth(b)) {
            (Some(true), _) => return b,
            (_, Some(true)) => return a,
            (Some(false), _) | (_, Some(false)) => return Term::FALSE,
            _ => {}
        }
        if self.is_part_of_and(b, a) {
            return a;
        }
        if self.is_part_of_and(a, b) {
            return b;
        }
        if self.opposite(a, b) {
            return Term::FALSE;
        }
        self.intern(TermNode::And(a, b), Sort::Bool)
    }

    /// `a || b`
    pub fn or(&mut self, a: Term, b: Term) -> Term {
        match (self.truth(a), self.truth(b)) {
            (Some(false), _) => return b,
            (_, Some(false)) => return a,
            (Some(true), _) | (_, Some(true)) => return Term::TRUE,
            _ => {}
        }
        // Absorption: `a || a && c` is `a`.
        if a == b || self.is_part_of_and(a, b) {
            return a;
        }
        if self.is_part_of_and(b, a) {
            return b;
        }
        if self.opposite(a, b) {
            return Term::TRUE;
        }
        self.intern(TermNode::Or(a, b), Sort::Bool)
    }

    fn is_part_of_and(&self, part: Term, whole: Term) -> bool {
        part == whole || matches!(self.node(whole), TermNode::And(a, b) if a == part || b == part)
    }

    /// Whether one term is syntactically the negation of the other.
    fn opposite(&self, a: Term, b: Term) -> bool {
        match (self.node(a), self.node(b)) {
            (TermNode::Not(x), _) if x == b => true,
            (_, TermNode::Not(y)) if y == a => true,
            (TermNode::Less(x, y), TermNode::AtMost(u, v))
            | (TermNode::AtMost(u, v), TermNode::Less(x, y)) => x == v && y == u,
            _ => false,
        }
    }

    /// Returns the conjunction of any number of terms; `true` if there are none.
    pub fn all(&mut self, parts: impl IntoIterator<Item = Term>) -> Term {
        let mut whole = Term::TRUE;
        for part in parts {
            whole = self.and(whole, part);
        }
        whole
    }

    /// Returns the disjunction of any number of terms; `false` if there are none.
    pub fn any(&mut self, parts: impl IntoIterator<Item = Term>) -> Term {
        let mut whole = Term::FALSE;
        for part in parts {
            whole = self.or(whole, part);
        }
        whole
    }

    /// `a == b`
    pub fn equal(&mut self, a: Term, b: Term) -> Term {
        // Put a constant on the right.
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        let (a, b) = if self.value(a).is_some() {
            (b, a)
        } else {
            (a, b)
        };
        if a == b {
            return Term::TRUE;
        }
        let Some(value) = self.value(b) else {
            return self.equal_unknowns(a, b);
        };
        let sort = self.sort(b);
        match self.node(a) {
            TermNode::Constant(_) => Term::FALSE,
            _ if sort == Sort::Bool => {
                if value != 0 {
                    a
                } else {
                    self.not(a)
                }
            }
            TermNode::Add(x, c) if self.value(c).is_some() => {
                let c = self.value(c).expect("just seen");
                match number::sub(sort, value, c) {
                    Some(rest) => {
                        let rest = self.constant(sort, rest);
                        self.equal(x, rest)
                    }
                    None => self.intern(TermNode::Equal(a, b), Sort::Bool),
                }
            }
            TermNode::Negate(x) if number::negate(sort, value).is_some() => {
                let value = number::negate(sort, value).expect("just seen");
                let value = self.constant(sort, value);
                self.equal(x, value)
            }
            // `x * 2 == 6` among the mathematical integers.
            TermNode::Mul(x, c) if sort == Sort::Int && self.value(c).is_some() => {
                let c = self.value(c).expect("just seen");
                // A product with 0 is folded to 0, so `c` is not 0.
                if value.wrapping_rem(c) != 0 {
                    return Term::FALSE;
                }
                match value.checked_div(c) {
                    Some(value) => {
                        let value = self.constant(sort, value);
                        self.equal(x, value)
                    }
                    None => self.intern(TermNode::Equal(a, b), Sort::Bool),
                }
            }
            TermNode::If(c, x, y) if self.is_short_chain(a) => {
                let x = self.equal(x, b);
                let y = self.equal(y, b);
                self.ite(c, x, y)
            }
            _ => self.intern(TermNode::Equal(a, b), Sort::Bool),
        }
    }

    /// Whether this is a chain of choices among a few constants, perhaps ending in another term.
    fn is_short_chain(&self, mut term: Term) -> bool {
        for _ in 0..32 {
            match self.node(term) {
                TermNode::If(_, x, y) if self.value(x).is_some() => term = y,
                TermNode::If(_, x, y) if self.value(y).is_some() => term = x,
                TermNode::If(..) => return false,
                _ => return true,
            }
        }
        false
    }

    /// `a == b` if neither is a constant.
    fn equal_unknowns(&mut self, a: Term, b: Term) -> Term {
        if self.sort(a) == Sort::Bool && self.opposite(a, b) {
            return Term::FALSE;
        }
        // `x + 1 == x` and `x + 1 == y + 3`.
        let sort = self.sort(a);
        let ((x, c), (y, d)) = (self.offset(a), self.offset(b));
        if (c, d) == (0, 0) {
            return self.intern(TermNode::Equal(a, b), Sort::Bool);
        }
        if x == y {
            return self.bool(c == d);
        }
        match number::sub(sort, d, c) {
            Some(difference) => {
                let (x, y, difference) = if x < y {
                    (x, y, Some(difference))
                } else {
                    (y, x, number::negate(sort, difference))
                };
                let Some(difference) = difference else {
                    return self.intern(TermNode::Equal(a, b), Sort::Bool);
                };
                let difference = self.constant(sort, difference);
                let y = self.add(y, difference);
                self.intern(TermNode::Equal(x, y), Sort::Bool)
            }
            None => self.intern(TermNode::Equal(a, b), Sort::Bool),
        }
    }

    /// Splits a term into another term and a constant that is added to it.
    pub fn offset(&self, term: Term) -> (Term, i64) {
        match self.node(term) {
            TermNode::Add(x, c) => match self.value(c) {
                Some(c) => (x, c),
                None => (term, 0),
            },
            _ => (term, 0),
        }
    }

    /// `a != b`
    pub fn unequal(&mut self, a: Term, b: Term) -> Term {
        let equal = self.equal(a, b);
        self.not(equal)
    }

    /// `a < b`, in the order of their sort.
    pub fn less(&mut self, a: Term, b: Term) -> Term {
        self.order(a, b, true)
    }

    /// `a <= b`, in the order of their sort.
    pub fn at_most(&mut self, a: Term, b: Term) -> Term {
        self.order(a, b, false)
    }

    /// `a > b`, as `b < a`.
    pub fn greater(&mut self, a: Term, b: Term) -> Term {
        self.less(b, a)
    }

    /// `a >= b`, as `b <= a`.
    pub fn at_least(&mut self, a: Term, b: Term) -> Term {
        self.at_most(b, a)
    }

    /// `a < b` if `strict`, otherwise `a <= b`.
    fn order(&mut self, a: Term, b: Term, strict: bool) -> Term {
        let sort = self.sort(a);
        if a == b {
            return self.bool(!strict);
        }
        let (left, right) = (self.value(a), self.value(b));
        if let (Some(x), Some(y)) = (left, right) {
            return self.bool(number::less(sort, x, y));
        }
        if sort != Sort::Int {
            let (least, greatest) = number::extremes(sort);
            // No value is below the least one; and `x <= 0` is `x == 0` if 0 is the least value.
            match strict {
                true if left == Some(greatest) || right == Some(least) => return Term::FALSE,
                true if left == Some(least) || right == Some(greatest) => {
                    return self.unequal(a, b);
                }
                false if left == Some(least) || right == Some(greatest) => return Term::TRUE,
                false if left == Some(greatest) || right == Some(least) => {
                    return self.equal(a, b);
                }
                _ => {}
            }
        } else {
            let ((x, c), (y, d)) = (self.offset(a), self.offset(b));
            if x == y {
                return self.bool(if strict { c < d } else { c <= d });
            }
            // If one side is a constant, `+ c` moves to that side; between unknowns it moves to the
            // right.
            let moved = match (left, right) {
                (Some(value), None) if d != 0 => value.checked_sub(d).map(|value| (Err(value), y)),
                (None, Some(value)) if c != 0 => value.checked_sub(c).map(|v| (Ok(v), x)),
                _ => None,
            };
            match moved {
                Some((Err(value), y)) => {
                    let value = self.constant(sort, value);
                    return self.order(value, y, strict);
                }
                Some((Ok(value), x)) => {
                    let value = self.constant(sort, value);
                    return self.order(x, value, strict);
                }
                None => {}
            }
            if let (None, None, Some(shift)) = (left, right, d.checked_sub(c))
                && c != 0
            {
                let shift = self.constant(sort, shift);
                let y = self.add(y, shift);
                return self.order(x, y, strict);
            }
        }
        for (chosen, on_left) in [(a, true), (b, false)] {
            let other = if on_left { right } else { left };
            if let TermNode::If(c, x, y) = self.node(chosen)
                && other.is_some()
                && self.is_short_chain(chosen)
            {
                let (x, y) = if on_left {
                    (self.order(x, b, strict), self.order(y, b, strict))
                } else {
                    (self.order(a, x, strict), self.order(a, y, strict))
                };
                return self.ite(c, x, y);
            }
        }
        let node = if strict {
            TermNode::Less(a, b)
        } else {
            TermNode::AtMost(a, b)
        };
        self.intern(node, Sort::Bool)
    }

    /// `a + b`
    pub fn add(&mut self, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        let (a, b) = if self.value(a).is_some() || b < a && self.value(b).is_none() {
            (b, a)
        } else {
            (a, b)
        };
        let node = TermNode::Add(a, b);
        if let Some(right) = self.value(b) {
            if right == 0 {
                return a;
            }
            if let Some(left) = self.value(a) {
                return self.fold(node, sort, number::add(sort, left, right));
            }
            let (x, c) = self.offset(a);
            if c != 0
                && let Some(sum) = number::add(sort, c, right)
            {
                let sum = self.constant(sort, sum);
                return self.add(x, sum);
            }
            return self.intern(node, sort);
        }
        // Constants move outwards, where they are added.
        let ((x, c), (y, d)) = (self.offset(a), self.offset(b));
        if (c, d) != (0, 0)
            && let Some(sum) = number::add(sort, c, d)
        {
            let sum = self.constant(sort, sum);
            let rest = self.add(x, y);
            return self.add(rest, sum);
        }
        match (self.node(a), self.node(b)) {
            (TermNode::Negate(x), _) => self.sub(b, x),
            (_, TermNode::Negate(y)) => self.sub(a, y),
            (TermNode::Sub(x, y), _) if y == b => x,
            (_, TermNode::Sub(x, y)) if y == a => x,
            _ => match self.divided(a, b).or_else(|| self.divided(b, a)) {
                Some(whole) => whole,
                None => self.intern(node, sort),
            },
        }
    }

    /// Returns `x` if the summands are `x / y * y` and `x % y`. Solvers do not find this rule from
    /// the definition of the product.
    fn divided(&self, product: Term, rest: Term) -> Option<Term> {
        let (TermNode::Mul(a, b), TermNode::Rem(x, y)) = (self.node(product), self.node(rest))
        else {
            return None;
        };
        let quotient = |term: Term| self.node(term) == TermNode::Div(x, y);
        ((quotient(a) && b == y) || (quotient(b) && a == y)).then_some(x)
    }

    /// Returns the constant with a computed value, or the term of `node` if the value is `None`,
    /// that is, does not fit into 64 bits.
    fn fold(&mut self, node: TermNode, sort: Sort, value: Option<i64>) -> Term {
        match value {
            Some(value) => self.constant(sort, value),
            None => self.intern(node, sort),
        }
    }

    /// `a - b`
    pub fn sub(&mut self, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        if a == b {
            return self.constant(sort, 0);
        }
        let node = TermNode::Sub(a, b);
        match (self.value(a), self.value(b)) {
            (Some(left), Some(right)) => {
                return self.fold(node, sort, number::sub(sort, left, right));
            }
            (None, Some(right)) => {
                return match number::negate(sort, right) {
                    Some(value) => {
                        let value = self.constant(sort, value);
                        self.add(a, value)
                    }
                    None => self.intern(node, sort),
                };
            }
            (Some(0), None) => return self.negate(b),
            _ => {}
        }
        let ((x, c), (y, d)) = (self.offset(a), self.offset(b));
        if (c, d) != (0, 0)
            && let Some(difference) = number::sub(sort, c, d)
        {
            let difference = self.constant(sort, difference);
            let rest = self.sub(x, y);
            return self.add(rest, difference);
        }
        match (self.node(a), self.node(b)) {
            (TermNode::Add(x, y), _) if x == b => y,
            (TermNode::Add(x, y), _) if y == b => x,
            (_, TermNode::Negate(y)) => self.add(a, y),
            // x - x / y * y
            (_, TermNode::Mul(p, q)) => match (self.node(p), self.node(q)) {
                (TermNode::Div(x, y), _) if x == a && y == q => self.rem(x, y),
                (_, TermNode::Div(x, y)) if x == a && y == p => self.rem(x, y),
                _ => self.intern(node, sort),
            },
            _ => self.intern(node, sort),
        }
    }

    /// `a * b`
    pub fn mul(&mut self, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        let (a, b) = if self.value(a).is_some() || b < a && self.value(b).is_none() {
            (b, a)
        } else {
            (a, b)
        };
        let node = TermNode::Mul(a, b);
        let Some(right) = self.value(b) else {
            return self.intern(node, sort);
        };
        if let Some(left) = self.value(a) {
            return self.fold(node, sort, number::mul(sort, left, right));
        }
        match right {
            0 => return b,
            1 => return a,
            _ if right == number::wrap(sort, -1) => return self.negate(a),
            _ => {}
        }
        if let TermNode::Mul(x, c) = self.node(a)
            && let Some(c) = self.value(c)
            && let Some(product) = number::mul(sort, c, right)
        {
            let product = self.constant(sort, product);
            return self.mul(x, product);
        }
        self.intern(node, sort)
    }

    /// `-a`
    pub fn negate(&mut self, a: Term) -> Term {
        let sort = self.sort(a);
        match self.node(a) {
            TermNode::Constant(value) => {
                self.fold(TermNode::Negate(a), sort, number::negate(sort, value))
            }
            TermNode::Negate(inner) => inner,
            TermNode::Sub(x, y) => self.sub(y, x),
            _ => self.intern(TermNode::Negate(a), sort),
        }
    }

    /// `a / b`, rounded towards zero; 0 if `b` is 0.
    pub fn div(&mut self, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        let node = TermNode::Div(a, b);
        match (self.value(a), self.value(b)) {
            (Some(left), Some(right)) => self.fold(node, sort, number::div(sort, left, right)),
            (_, Some(0)) => b,
            (_, Some(1)) | (Some(0), _) => a,
            _ => self.intern(node, sort),
        }
    }

    /// `a % b`, with the sign of `a`; `a` if `b` is 0.
    pub fn rem(&mut self, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        match (self.value(a), self.value(b)) {
            (Some(left), Some(right)) => self.constant(sort, number::rem(sort, left, right)),
            (_, Some(1)) => self.constant(sort, 0),
            (_, Some(0)) | (Some(0), _) => a,
            _ => self.intern(TermNode::Rem(a, b), sort),
        }
    }

    /// `a & b`, `a | b`, `a ^ b`, `a << b` or `a >> b` of machine integers.
    ///
    /// ```
    /// use mazurka_smt::{BitOp, Kind, Sort, Terms};
    /// let mut terms = Terms::new();
    /// let x = terms.variable(Kind::Initial, "x", Sort::Unsigned(8));
    /// let ones = terms.constant(Sort::Unsigned(8), -1);
    /// let opposite = terms.bits(BitOp::Xor, x, ones);
    /// assert_eq!(terms.show(opposite), "x ^ 255");
    /// assert_eq!(terms.bits(BitOp::Xor, opposite, ones), x);
    /// let nine = terms.constant(Sort::Unsigned(8), 9);
    /// let gone = terms.bits(BitOp::ShiftLeft, x, nine);
    /// assert_eq!(terms.value(gone), Some(0));
    /// ```
    pub fn bits(&mut self, op: BitOp, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        let commutes = matches!(op, BitOp::And | BitOp::Or | BitOp::Xor);
        let (a, b) = match commutes {
            true if self.value(a).is_some() || b < a && self.value(b).is_none() => (b, a),
            _ => (a, b),
        };
        let node = TermNode::Bits(op, a, b);
        let ones = number::wrap(sort, -1);
        match (self.value(a), self.value(b)) {
            (Some(left), Some(right)) => {
                let value = number::bits(op, sort, left, right);
                return self.constant(sort, value);
            }
            (None, Some(0)) => return if op == BitOp::And { b } else { a },
            (None, Some(right)) => match op {
                BitOp::And if right == ones => return a,
                BitOp::Or if right == ones => return b,
                BitOp::Xor => {
                    if let TermNode::Bits(BitOp::Xor, x, c) = self.node(a)
                        && let Some(c) = self.value(c)
                    {
                        let both = self.constant(sort, c ^ right);
                        return self.bits(op, x, both);
                    }
                }
                // A shift that clears every number clears this one.
                BitOp::ShiftLeft if number::bits(op, sort, ones, right) == 0 => {
                    return self.constant(sort, 0);
                }
                BitOp::ShiftRight if number::bits(op, sort, ones, right) == 0 => {
                    return self.constant(sort, 0);
                }
                _ => {}
            },
            // Shifting zero yields zero. For the other operations, a constant is on the right.
            (Some(0), None) => return a,
            _ => {}
        }
        match op {
            BitOp::And | BitOp::Or if a == b => a,
            BitOp::Xor if a == b => self.constant(sort, 0),
            _ => self.intern(node, sort),
        }
    }

    /// `if condition then a else b`
    pub fn ite(&mut self, condition: Term, a: Term, b: Term) -> Term {
        if let Some(truth) = self.truth(condition) {
            return if truth { a } else { b };
        }
        if a == b {
            return a;
        }
        if let TermNode::Not(inner) = self.node(condition) {
            return self.ite(inner, b, a);
        }
        let sort = self.sort(a);
        if sort == Sort::Bool {
            match (self.truth(a), self.truth(b)) {
                (Some(true), _) => return self.or(condition, b),
                (_, Some(false)) => return self.and(condition, a),
                (Some(false), _) => {
                    let not = self.not(condition);
                    return self.and(not, b);
                }
                (_, Some(true)) => {
                    let not = self.not(condition);
                    return self.or(not, a);
                }
                _ => {}
            }
        }
        let a = match self.node(a) {
            TermNode::If(c, x, _) if c == condition => x,
            _ => a,
        };
        let b = match self.node(b) {
            TermNode::If(c, _, y) if c == condition => y,
            _ => b,
        };
        if a == b {
            return a;
        }
        self.intern(TermNode::If(condition, a, b), sort)
    }

    /// `index == number`, where the number may not fit into the sort of the index.
    ///
    /// ```
    /// use mazurka_smt::{Kind, Sort, Term, Terms};
    /// let mut terms = Terms::new();
    /// let index = terms.constant(Sort::Unsigned(8), 0);
    /// assert_eq!(terms.is_number(index, 0), Term::TRUE);
    /// assert_eq!(terms.is_number(index, 256), Term::FALSE);
    /// ```
    pub fn is_number(&mut self, index: Term, number: usize) -> Term {
        let this = self.constant(self.sort(index), number as i64);
        if self.value(this) == Some(number as i64) {
            self.equal(index, this)
        } else {
            Term::FALSE
        }
    }

    /// Returns the element at `index` of an array given by its elements. The index must be known to
    /// be within bounds; otherwise the result is the last element.
    ///
    /// # Panics
    /// If there are no elements.
    pub fn select(&mut self, elements: &[Term], index: Term) -> Term {
        let (&last, rest) = elements.split_last().expect("an array has elements");
        if let Some(at) = self.value(index) {
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            return elements.get(at).copied().unwrap_or(last);
        }
        let mut found = last;
        for (at, &element) in rest.iter().enumerate().rev() {
            let here = self.is_number(index, at);
            found = self.ite(here, element, found);
        }
        found
    }

    /// Writes `value` at `index` of an array given by its elements. An index out of bounds changes
    /// no element.
    pub fn store(&mut self, elements: &mut [Term], index: Term, value: Term) {
        for (at, element) in elements.iter_mut().enumerate() {
            let here = self.is_number(index, at);
            *element = self.ite(here, value, *element);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Kind, Sort, Terms};

    #[test]
    fn quotient_and_remainder_make_the_whole() {
        for sort in [Sort::Signed(8), Sort::Unsigned(16), Sort::Int] {
            let mut terms = Terms::new();
            let a = terms.variable(Kind::Input, "a", sort);
            let b = terms.variable(Kind::Input, "b", sort);
            let three = terms.constant(sort, 3);
            for by in [b, three] {
                let (quotient, rest) = (terms.div(a, by), terms.rem(a, by));
                for product in [terms.mul(quotient, by), terms.mul(by, quotient)] {
                    assert_eq!(terms.add(product, rest), a);
                    assert_eq!(terms.add(rest, product), a);
                    assert_eq!(terms.sub(a, product), rest);
                }
                // The remainder of another division does not complete the product.
                let other = terms.rem(b, by);
                let product = terms.mul(quotient, by);
                assert_ne!(terms.add(product, other), a);
            }
        }
    }
}
