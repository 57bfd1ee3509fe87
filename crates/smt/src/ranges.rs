//! Computes how many bits are enough for the `int`s of a query: if it has a solution at all, it has
//! one in which every `int`, including intermediate results, fits into this many bits.
//!
//! The argument is as follows. Call a variable *bounded* if constraints `x <= c`, `x >= c` or
//! `x == c` among the conjuncts bound it on both sides, and *free* otherwise. Suppose that in every
//! comparison of the query, apart from terms over bounded variables, the free variables occur as
//! `x - y`, `x`, `-x` or not at all. Take any solution, and fix the values of the bounded variables
//! and the truth value of each comparison. There remains a system of difference constraints
//! `x - y <= w` over the free variables and zero, and it has a solution. Then the shortest paths
//! from a source with an edge of weight 0 to every variable are a solution, too (Bellman and Ford).
//! In it no two variables are further apart than the sum of all |w|, since a simple path takes
//! every edge at most once. |w| is at most one more than the greatest magnitude of the bounded
//! terms next to `x - y`. An `int` chosen by `if` counts as a free variable of its own, equal to
//! one of its branches.

use rustc_hash::FxHashMap;

use crate::{Sort, Term, TermNode, Terms};

/// An `int` as `plus - minus + r`, where `|r|` is at most `rest`.
#[derive(Clone, Copy, Default)]
struct LinearForm {
    /// The free variable that is added, if there is one.
    plus: Option<Term>,
    /// The free variable that is subtracted, if there is one.
    minus: Option<Term>,
    rest: u128,
}

impl LinearForm {
    fn bounded(rest: u128) -> Self {
        LinearForm {
            rest,
            ..Self::default()
        }
    }

    fn is_bounded(&self) -> bool {
        self.plus.is_none() && self.minus.is_none()
    }

    fn negate(self) -> Self {
        LinearForm {
            plus: self.minus,
            minus: self.plus,
            rest: self.rest,
        }
    }

    /// Returns the sum, or `None` if two free variables remain with the same sign.
    fn add(self, other: LinearForm) -> Option<LinearForm> {
        let (mut plus, mut minus) = ([self.plus, other.plus], [self.minus, other.minus]);
        for a in &mut plus {
            for b in &mut minus {
                if a.is_some() && a == b {
                    (*a, *b) = (None, None);
                }
            }
        }
        let one = |side: [Option<Term>; 2]| match side {
            [Some(_), Some(_)] => None,
            [a, b] => Some(a.or(b)),
        };
        Some(LinearForm {
            plus: one(plus)?,
            minus: one(minus)?,
            rest: self.rest.saturating_add(other.rest),
        })
    }
}

/// Returns the least and the greatest value that the conjuncts allow for each variable of sort
/// `int`.
fn bounds(terms: &Terms, conjuncts: &[Term]) -> FxHashMap<Term, (Option<i64>, Option<i64>)> {
    let mut bounds: FxHashMap<Term, (Option<i64>, Option<i64>)> = FxHashMap::default();
    let mut bound = |variable: Term, low: Option<i64>, high: Option<i64>| {
        if matches!(terms.node(variable), TermNode::Variable(_))
            && terms.sort(variable) == Sort::Int
        {
            let old = bounds.entry(variable).or_default();
            old.0 = old.0.max(low);
            old.1 = [old.1, high].into_iter().flatten().min();
        }
    };
    for &conjunct in conjuncts {
        match terms.node(conjunct) {
            TermNode::Equal(a, b) => bound(a, terms.value(b), terms.value(b)),
            TermNode::Less(a, b) | TermNode::AtMost(a, b) => {
                bound(a, None, terms.value(b));
                bound(b, terms.value(a), None);
            }
            _ => {}
        }
    }
    bounds
}

/// Returns the width in two's complement that is enough, if the argument above applies and the
/// width is at most 64.
pub(crate) fn sufficient_width(terms: &Terms, conjuncts: &[Term]) -> Option<u8> {
    let bounds = bounds(terms, conjuncts);
    let mut shapes: FxHashMap<Term, LinearForm> = FxHashMap::default();
    let mut apart: u128 = 0;
    let mut constants: u128 = 0;
    for term in terms.parts_of(conjuncts) {
        let node = terms.node(term);
        for value in node.parts().filter_map(|part| terms.value(part)) {
            constants = constants.max(u128::from(value.unsigned_abs()));
        }
        let of = |part: Term| match terms.value(part) {
            Some(value) => LinearForm::bounded(u128::from(value.unsigned_abs())),
            None => shapes[&part],
        };
        if let TermNode::Equal(a, b) | TermNode::Less(a, b) | TermNode::AtMost(a, b) = node
            && terms.sort(a) == Sort::Int
        {
            let difference = of(a).add(of(b).negate())?;
            apart = apart.saturating_add(difference.rest.saturating_add(1));
        }
        if terms.sort(term) != Sort::Int {
            continue;
        }
        let shape = match node {
            TermNode::Constant(value) => LinearForm::bounded(u128::from(value.unsigned_abs())),
            TermNode::Variable(_) => match bounds.get(&term) {
                Some(&(Some(low), Some(high))) => {
                    LinearForm::bounded(u128::from(low.unsigned_abs().max(high.unsigned_abs())))
                }
                _ => LinearForm {
                    plus: Some(term),
                    ..LinearForm::default()
                },
            },
            TermNode::Add(a, b) => of(a).add(of(b))?,
            TermNode::Sub(a, b) => of(a).add(of(b).negate())?,
            TermNode::Negate(a) => of(a).negate(),
            TermNode::If(_, a, b) if of(a).is_bounded() && of(b).is_bounded() => {
                LinearForm::bounded(of(a).rest.max(of(b).rest))
            }
            TermNode::If(_, a, b) => {
                let chosen = LinearForm {
                    plus: Some(term),
                    ..LinearForm::default()
                };
                for branch in [a, b] {
                    let difference = of(branch).negate().add(chosen)?;
                    apart = apart.saturating_add(difference.rest.saturating_add(1));
                }
                chosen
            }
            TermNode::Mul(a, b) | TermNode::Div(a, b) | TermNode::Rem(a, b) => {
                let (a, b) = (of(a), of(b));
                if !a.is_bounded() || !b.is_bounded() {
                    return None;
                }
                LinearForm::bounded(match node {
                    TermNode::Mul(..) => a.rest.saturating_mul(b.rest),
                    _ => a.rest,
                })
            }
            _ => unreachable!("not an `int`"),
        };
        shapes.insert(term, shape);
    }
    let magnitude = |shape: &LinearForm| {
        let free = u128::from(shape.plus.is_some()) + u128::from(shape.minus.is_some());
        shape.rest.saturating_add(apart.saturating_mul(free))
    };
    let most = shapes.values().map(magnitude).max().unwrap_or(0);
    let most = constants.max(most);
    // One more bit for the sign.
    let bits = 129 - most.leading_zeros();
    (bits <= 64).then_some(bits as u8)
}
