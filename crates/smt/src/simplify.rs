//! Simplifies whole conditions: path conditions for people, and queries before they reach a solver.
//!
//! First each part is brought into a normal form if that makes it smaller (`x + y - x` is `y`; over
//! mathematical integers `2 * x < 7` is `x < 4`). Then the literals of a conjunction become
//! *facts*: truth values of boolean terms, intervals of numbers, values of variables. Facts decide
//! other parts of the conjunction, which may become new facts. This is repeated until nothing
//! changes. A disjunction is treated as the negation of a conjunction.

use rustc_hash::FxHashMap;

use crate::linear::Linear;
use crate::number;
use crate::{Sort, Term, TermNode, Terms};

/// Conditions nested more deeply than this are not simplified.
const DEEPEST: u32 = 32;

/// Limit on the rounds of collecting facts.
const ROUNDS: u32 = 8;

/// An interval of numbers, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    low: i128,
    high: i128,
}

impl Range {
    const ALL: Range = Range {
        low: i128::MIN,
        high: i128::MAX,
    };

    fn is_empty(self) -> bool {
        self.low > self.high
    }

    fn meet(self, other: Range) -> Range {
        Range {
            low: self.low.max(other.low),
            high: self.high.min(other.high),
        }
    }

    fn contains(self, other: Range) -> bool {
        self.low <= other.low && other.high <= self.high
    }
}

/// A comparison with a constant.
#[derive(Clone, Copy, Debug)]
struct Atom {
    /// The number that is compared.
    number: Term,
    /// The interval of the number if the comparison holds; with `outside`, the interval that the
    /// number is outside of.
    range: Range,
    outside: bool,
}

/// The facts of a conjunction.
#[derive(Default)]
struct Facts {
    truths: FxHashMap<Term, bool>,
    ranges: FxHashMap<Term, Range>,
}

/// Returns a stored value as a mathematical number.
fn exact(sort: Sort, value: i64) -> i128 {
    match sort {
        Sort::Unsigned(_) => i128::from(value as u64),
        _ => i128::from(value),
    }
}

/// Returns a mathematical number in the representation of its sort; `None` for an `int` beyond 64
/// bits.
fn stored_as(sort: Sort, value: i128) -> Option<i64> {
    match sort {
        Sort::Int => i64::try_from(value).ok(),
        _ => Some(value as i64),
    }
}

impl Terms {
    /// Returns an equivalent condition, simplified by the rules of this module.
    ///
    /// ```
    /// use mazurka_smt::{Kind, Sort, Terms};
    ///
    /// let mut terms = Terms::new();
    /// let flag = terms.variable(Kind::Initial, "flag", Sort::Bool);
    /// let x = terms.variable(Kind::Initial, "x", Sort::Int);
    /// let two = terms.constant(Sort::Int, 2);
    /// let zero = terms.constant(Sort::Int, 0);
    /// // flag && (x + 2 == 0 || !flag)
    /// let sum = terms.add(x, two);
    /// let is_zero = terms.equal(sum, zero);
    /// let off = terms.not(flag);
    /// let either = terms.or(is_zero, off);
    /// let path = terms.and(flag, either);
    /// let path = terms.simplify(path);
    /// assert_eq!(terms.show(path), "flag && x == -2");
    /// ```
    pub fn simplify(&mut self, term: Term) -> Term {
        let mut work = Simplifier::new(self);
        let term = work.normal(term);
        work.condition(term, 0)
    }

    /// Returns the simplified conjunction of these constraints as a list, or `None` if it is
    /// `false`.
    pub fn simplify_all(&mut self, constraints: &[Term]) -> Option<Vec<Term>> {
        let mut work = Simplifier::new(self);
        let normal = constraints.iter().map(|&term| work.normal(term)).collect();
        work.conjunction(normal, 0)
    }
}

/// A number as a sum, and the length of the original term.
#[derive(Clone)]
struct Form {
    linear: Linear,
    weight: u32,
}

struct Simplifier<'a> {
    terms: &'a mut Terms,
    normal: FxHashMap<Term, Term>,
    forms: FxHashMap<Term, Form>,
    conditions: FxHashMap<Term, Term>,
}

/// Returns the length of a sum when it is written out.
fn weight(sum: &[(Term, i64)], constant: i64) -> u32 {
    let multiples = sum
        .iter()
        .map(|&(_, c)| if c.unsigned_abs() == 1 { 1 } else { 2 });
    multiples.sum::<u32>() + u32::from(constant != 0)
}

/// `sum <= bound` or `sum == bound` over `int`; the sum has no constant and coprime coefficients.
struct Comparison {
    sum: Linear,
    bound: i64,
    equal: bool,
}

impl<'a> Simplifier<'a> {
    fn new(terms: &'a mut Terms) -> Self {
        Simplifier {
            terms,
            normal: FxHashMap::default(),
            forms: FxHashMap::default(),
            conditions: FxHashMap::default(),
        }
    }

    /// Returns the term with every part in normal form, if that is smaller.
    fn normal(&mut self, term: Term) -> Term {
        for part in self.terms.parts_of(&[term]) {
            if self.normal.contains_key(&part) {
                continue;
            }
            let normal = &self.normal;
            let rebuilt = self
                .terms
                .rebuild(part, |p| normal.get(&p).copied().unwrap_or(p));
            let new = if self.terms.sort(rebuilt) == Sort::Bool {
                self.normal_comparison(rebuilt)
            } else {
                self.normal_number(rebuilt)
            };
            self.normal.insert(part, new);
        }
        self.normal.get(&term).copied().unwrap_or(term)
    }

    /// Returns a number as a linear sum; the parts that are no sums count as one term each.
    fn form(&mut self, term: Term) -> Form {
        if let Some(value) = self.terms.value(term) {
            return Form {
                linear: Linear::of_constant(self.terms.sort(term), value),
                weight: u32::from(value != 0),
            };
        }
        let mut stack = vec![term];
        while let Some(&top) = stack.last() {
            let before = stack.len();
            let node = self.terms.node(top);
            let is_sum = match node {
                TermNode::Add(..) | TermNode::Sub(..) | TermNode::Negate(_) => true,
                TermNode::Mul(_, b) => self.terms.value(b).is_some(),
                _ => false,
            };
            let missing = |part: &Term| {
                is_sum && self.terms.value(*part).is_none() && !self.forms.contains_key(part)
            };
            stack.extend(node.parts().filter(missing));
            if stack.len() > before {
                continue;
            }
            stack.pop();
            let form = if is_sum {
                let of = |part| match self.terms.value(part) {
                    Some(value) => Linear::of_constant(self.terms.sort(part), value),
                    None => self.forms[&part].linear.clone(),
                };
                let weigh = |part: Term| self.forms.get(&part).map_or(1, |form| form.weight);
                Form {
                    linear: self.terms.linear_of(top, of),
                    weight: node.parts().map(weigh).fold(0, u32::saturating_add),
                }
            } else {
                Form {
                    linear: Linear::of_term(self.terms.sort(top), top),
                    weight: 1,
                }
            };
            self.forms.insert(top, form);
        }
        self.forms[&term].clone()
    }

    /// Returns a number as a linear sum, if that is shorter.
    fn normal_number(&mut self, term: Term) -> Term {
        let form = self.form(term);
        if weight(&form.linear.sum, form.linear.constant) < form.weight {
            self.terms.of_linear(&form.linear)
        } else {
            term
        }
    }

    /// Returns a comparison in normal form, if that is shorter.
    fn normal_comparison(&mut self, term: Term) -> Term {
        let (TermNode::Equal(a, b) | TermNode::Less(a, b) | TermNode::AtMost(a, b)) =
            self.terms.node(term)
        else {
            return term;
        };
        let sort = self.terms.sort(a);
        if sort == Sort::Bool {
            return term;
        }
        let weigh = |form: Form| form.weight.max(1);
        let old = weigh(self.form(a)).saturating_add(weigh(self.form(b)));
        let new = match sort {
            Sort::Int => match self.compare(term) {
                Err(truth) => return self.terms.bool(truth),
                Ok(None) => return term,
                Ok(Some(comparison)) => comparison,
            },
            _ if matches!(self.terms.node(term), TermNode::Equal(..)) => {
                let difference = self.form(a).linear.plus(&self.form(b).linear, -1);
                match difference {
                    Some(sum) if sum.sum.is_empty() => return self.terms.bool(sum.constant == 0),
                    Some(sum) => Comparison {
                        bound: number::negate(sort, sum.constant).expect("machine types wrap"),
                        sum: Linear { constant: 0, ..sum },
                        equal: true,
                    },
                    None => return term,
                }
            }
            _ => return term,
        };
        let one_sided = |(_, c): &(Term, i64)| new.sum.signed(*c) > 0;
        let positive = new.sum.sum.iter().filter(|part| one_sided(part)).count();
        let zero = new.bound == 0 && (positive == 0 || positive == new.sum.sum.len());
        if weight(&new.sum.sum, new.bound) + u32::from(zero) < old {
            self.build(&new)
        } else {
            term
        }
    }

    /// Returns a comparison of `int`s in normal form. Returns `Err(truth)` if the comparison always
    /// has this truth value, and `Ok(None)` if the term is not a comparison of numbers or a number
    /// becomes too large.
    fn compare(&mut self, term: Term) -> Result<Option<Comparison>, bool> {
        let node = self.terms.node(term);
        let (TermNode::Equal(a, b) | TermNode::Less(a, b) | TermNode::AtMost(a, b)) = node else {
            return Ok(None);
        };
        let Some(mut sum) = self.form(a).linear.plus(&self.form(b).linear, -1) else {
            return Ok(None);
        };
        let constant = i128::from(std::mem::take(&mut sum.constant));
        let bound = match node {
            TermNode::Less(..) => -1 - constant,
            _ => -constant,
        };
        let equal = matches!(node, TermNode::Equal(..));
        if sum.sum.is_empty() {
            return Err(if equal { bound == 0 } else { bound >= 0 });
        }
        let divisor = i128::from(sum.divisor());
        if equal && bound % divisor != 0 {
            return Err(false);
        }
        for (_, coefficient) in &mut sum.sum {
            *coefficient /= divisor as i64;
        }
        let Ok(bound) = i64::try_from(bound.div_euclid(divisor)) else {
            return Ok(None);
        };
        Ok(Some(Comparison { sum, bound, equal }))
    }

    /// Returns the term for a comparison: positive multiples on the left, negative ones and the
    /// bound on the right.
    fn build(&mut self, comparison: &Comparison) -> Term {
        let Comparison { sum, bound, equal } = comparison;
        let terms = &mut *self.terms;
        let bound_term = terms.constant(sum.sort, *bound);
        let (left, right, strict) = match terms.both_sides(sum) {
            (Some(plus), None) => (plus, bound_term, false),
            (None, Some(minus)) => {
                let opposite = terms.negate(bound_term);
                (opposite, minus, false)
            }
            (Some(plus), Some(minus)) if !equal && *bound == -1 => (plus, minus, true),
            (Some(plus), Some(minus)) => {
                let moved = terms.add(minus, bound_term);
                (plus, moved, false)
            }
            (None, None) => unreachable!("a sum has summands"),
        };
        match (equal, strict) {
            (true, _) => terms.equal(left, right),
            (false, true) => terms.less(left, right),
            (false, false) => terms.at_most(left, right),
        }
    }

    /// Returns a literal as a comparison with a constant.
    fn atom(&mut self, literal: Term) -> Option<Atom> {
        if let TermNode::Not(inner) = self.terms.node(literal) {
            let atom = self.atom(inner)?;
            return Some(Atom {
                outside: !atom.outside,
                ..atom
            });
        }
        let node = self.terms.node(literal);
        let (TermNode::Equal(a, b) | TermNode::Less(a, b) | TermNode::AtMost(a, b)) = node else {
            return None;
        };
        let sort = self.terms.sort(a);
        let inside = |number, range| {
            Some(Atom {
                number,
                range,
                outside: false,
            })
        };
        if sort == Sort::Int {
            let comparison = self.compare(literal).ok()??;
            let (mut sum, bound) = (comparison.sum, i128::from(comparison.bound));
            let mut range = Range {
                low: if comparison.equal { bound } else { i128::MIN },
                high: bound,
            };
            if sum.sum[0].1 < 0 {
                sum = sum.negate()?;
                let flip = |end: i128| if end == i128::MIN { i128::MAX } else { -end };
                range = Range {
                    low: -range.high,
                    high: flip(range.low),
                };
            }
            let number = self.terms.of_linear(&sum);
            return inside(number, range);
        }
        if sort == Sort::Bool {
            return None;
        }
        let (least, greatest) = number::extremes(sort);
        let (least, greatest) = (exact(sort, least), exact(sort, greatest));
        let strict = i128::from(matches!(node, TermNode::Less(..)));
        match (self.terms.value(a), self.terms.value(b)) {
            (None, Some(value)) => {
                let value = exact(sort, value);
                let is_equal = matches!(node, TermNode::Equal(..));
                let low = if is_equal { value } else { least };
                inside(
                    a,
                    Range {
                        low,
                        high: value - strict,
                    },
                )
            }
            (Some(value), None) => inside(
                b,
                Range {
                    low: exact(sort, value) + strict,
                    high: greatest,
                },
            ),
            _ => None,
        }
    }

    /// Returns the interval of all values of the sort of a number.
    fn whole(&self, number: Term) -> Range {
        let sort = self.terms.sort(number);
        let (least, greatest) = number::extremes(sort);
        match sort {
            Sort::Int => Range::ALL,
            _ => Range {
                low: exact(sort, least),
                high: exact(sort, greatest),
            },
        }
    }

    fn is_literal(&self, term: Term) -> bool {
        let is_number = |a| self.terms.sort(a) != Sort::Bool;
        match self.terms.node(term) {
            TermNode::Variable(_) | TermNode::Less(..) | TermNode::AtMost(..) => true,
            TermNode::Equal(a, _) => is_number(a),
            TermNode::Not(inner) => self.is_literal(inner),
            _ => false,
        }
    }

    /// Returns the facts of all literals together, or `None` if they contradict each other.
    fn facts(&mut self, literals: &[(Term, Option<Atom>)]) -> Option<Facts> {
        let mut facts = Facts::default();
        for &(literal, atom) in literals {
            let (inner, truth) = match self.terms.node(literal) {
                TermNode::Not(inner) => (inner, false),
                _ => (literal, true),
            };
            let opposite = self.terms.not(literal);
            let contradicts = facts.truths.get(&opposite) == Some(&true);
            if contradicts || facts.truths.insert(inner, truth) == Some(!truth) {
                return None;
            }
            if let Some(atom) = atom
                && !atom.outside
            {
                let whole = self.whole(atom.number);
                let range = facts.ranges.entry(atom.number).or_insert(whole);
                *range = range.meet(atom.range);
            }
        }
        // Excluding the value at an end of an interval moves the end.
        let mut excluded: Vec<(Term, i128)> = Vec::new();
        for (_, atom) in literals {
            if let Some(atom) = atom
                && atom.outside
            {
                excluded.push((atom.number, atom.range.low));
            }
        }
        excluded.sort_unstable();
        for &(number, value) in excluded.iter().chain(excluded.iter().rev()) {
            let whole = self.whole(number);
            let range = facts.ranges.entry(number).or_insert(whole);
            let sort = self.terms.sort(number);
            if value == range.low && stored_as(sort, value + 1).is_some() {
                range.low += 1;
            }
            if value == range.high && stored_as(sort, value - 1).is_some() {
                range.high -= 1;
            }
        }
        let possible = facts.ranges.values().all(|range| !range.is_empty());
        possible.then_some(facts)
    }

    /// Returns the truth value that the facts imply for a boolean term.
    fn decide(&mut self, facts: &Facts, term: Term) -> Option<bool> {
        if let Some(&truth) = facts.truths.get(&term) {
            return Some(truth);
        }
        if !self.is_literal(term) {
            return None;
        }
        let opposite = self.terms.not(term);
        if let Some(&truth) = facts.truths.get(&opposite) {
            return Some(!truth);
        }
        let atom = self.atom(term)?;
        let range = *facts.ranges.get(&atom.number)?;
        if atom.range.contains(range) {
            Some(!atom.outside)
        } else if atom.range.meet(range).is_empty() {
            Some(atom.outside)
        } else {
            None
        }
    }

    /// Simplifies a conjunction. Returns `None` if it is `false`.
    fn conjunction(&mut self, mut list: Vec<Term>, depth: u32) -> Option<Vec<Term>> {
        for _ in 0..ROUNDS {
            list = self.terms.conjuncts(&list)?;
            let before = list.clone();
            let mut literals = Vec::new();
            for &term in list.iter().filter(|&&term| self.is_literal(term)) {
                literals.push(term);
            }
            let literals: Vec<(Term, Option<Atom>)> = literals
                .into_iter()
                .map(|term| (term, self.atom(term)))
                .collect();
            let facts = self.facts(&literals)?;
            let kept = self.replacements(&facts, &literals);
            for term in &mut list {
                *term = match kept.get(term) {
                    // New literals are processed in the next round.
                    Some(&new) if new != *term || self.is_value(new) => new,
                    Some(&new) => self.apply(&facts, new, false),
                    None => {
                        let applied = self.apply(&facts, *term, true);
                        self.condition(applied, depth + 1)
                    }
                };
            }
            if list == before {
                break;
            }
        }
        self.terms.conjuncts(&list)
    }

    /// Whether this literal assigns a value to a variable.
    fn is_value(&self, literal: Term) -> bool {
        match self.terms.node(literal) {
            TermNode::Equal(a, b) => {
                matches!(self.terms.node(a), TermNode::Variable(_)) && self.terms.value(b).is_some()
            }
            _ => false,
        }
    }

    /// Replaces all parts of a conjunct that the facts decide. With `itself`, also replaces the
    /// conjunct as a whole. That is correct only if the conjunct is not itself one of the facts.
    fn apply(&mut self, facts: &Facts, conjunct: Term, itself: bool) -> Term {
        let parts = self.terms.parts_of(&[conjunct]);
        let mut known: FxHashMap<Term, Term> = FxHashMap::default();
        for part in parts {
            if part == conjunct && !itself {
                continue;
            }
            let sort = self.terms.sort(part);
            if sort == Sort::Bool {
                // The atom below a negated fact is that fact itself.
                let inner =
                    matches!(self.terms.node(conjunct), TermNode::Not(inner) if inner == part);
                if (itself || !inner)
                    && let Some(truth) = self.decide(facts, part)
                {
                    known.insert(part, self.terms.bool(truth));
                }
            } else if let (TermNode::Variable(_), Some(range)) =
                (self.terms.node(part), facts.ranges.get(&part))
                && range.low == range.high
                && let Some(value) = stored_as(sort, range.low)
            {
                let value = self.terms.constant(sort, value);
                known.insert(part, value);
            }
        }
        if known.is_empty() {
            return conjunct;
        }
        let new = self
            .terms
            .substitute(conjunct, |part| known.get(&part).copied());
        self.normal(new)
    }

    /// Returns, for each literal, the literal that replaces it: each end of an interval is stated
    /// once, and implied literals become `true`.
    fn replacements(
        &mut self,
        facts: &Facts,
        literals: &[(Term, Option<Atom>)],
    ) -> FxHashMap<Term, Term> {
        let mut kept: FxHashMap<Term, Term> = FxHashMap::default();
        // For each number, whether its low end and its high end must still be stated.
        let mut open: FxHashMap<Term, (bool, bool)> = FxHashMap::default();
        let whole: FxHashMap<Term, Range> = facts
            .ranges
            .keys()
            .map(|&number| (number, self.whole(number)))
            .collect();
        for (&number, range) in &facts.ranges {
            let all = whole[&number];
            open.insert(number, (range.low != all.low, range.high != all.high));
        }
        // Whether a literal states an end of the interval exactly.
        let exactly = |atom: &Atom, range: Range| {
            !atom.outside
                && (atom.range.low == range.low, atom.range.high == range.high) != (false, false)
        };
        // First the literals that state the whole interval.
        for &(literal, atom) in literals {
            let Some(atom) = atom else {
                kept.insert(literal, literal);
                continue;
            };
            let range = facts.ranges[&atom.number];
            // The only value of a variable must be stated as an equality; otherwise it would be
            // substituted into the literal that states it.
            let plain = range.low < range.high
                || self.is_value(literal)
                || !matches!(self.terms.node(atom.number), TermNode::Variable(_));
            if atom.range == range && !atom.outside && plain {
                let both = open.insert(atom.number, (false, false));
                if both != Some((false, false)) {
                    kept.insert(literal, literal);
                }
            }
        }
        // Then the literals that state one end, or exclude a value inside the interval.
        for &(literal, atom) in literals {
            let Some(atom) = atom else { continue };
            let range = facts.ranges[&atom.number];
            let still = open
                .get_mut(&atom.number)
                .expect("every number has a range");
            if kept.contains_key(&literal) {
                continue;
            }
            let mut states_end = false;
            if exactly(&atom, range) && range.low != range.high {
                if still.0 && atom.range.low == range.low {
                    still.0 = false;
                    states_end = true;
                }
                if still.1 && atom.range.high == range.high {
                    still.1 = false;
                    states_end = true;
                }
            }
            let within = atom.outside && range.low < atom.range.low && atom.range.high < range.high;
            kept.insert(
                literal,
                if states_end || within {
                    literal
                } else {
                    Term::TRUE
                },
            );
        }
        // An end that no literal states is added to the first literal about that number.
        for &(literal, atom) in literals {
            let Some(atom) = atom else { continue };
            let still = std::mem::take(open.get_mut(&atom.number).expect("as before"));
            if still == (false, false) {
                continue;
            }
            let range = facts.ranges[&atom.number];
            let new = if range.low == range.high {
                self.end(atom.number, range.low, TermNode::Equal)
            } else {
                let low = still
                    .0
                    .then(|| self.end(atom.number, range.low, |a, b| TermNode::AtMost(b, a)));
                let high = still
                    .1
                    .then(|| self.end(atom.number, range.high, TermNode::AtMost));
                self.terms.all(low.into_iter().chain(high))
            };
            let old = kept[&literal];
            let new = self.terms.and(old, new);
            kept.insert(literal, new);
        }
        kept
    }

    /// Returns a comparison of a number with the end of its interval.
    fn end(&mut self, number: Term, value: i128, compare: impl Fn(Term, Term) -> TermNode) -> Term {
        let sort = self.terms.sort(number);
        let value = self.terms.constant(sort, value as i64);
        let built = match compare(number, value) {
            TermNode::Equal(a, b) => self.terms.equal(a, b),
            TermNode::AtMost(a, b) => self.terms.at_most(a, b),
            _ => unreachable!("two kinds of ends"),
        };
        self.normal(built)
    }

    /// Simplifies a boolean term by the facts that its own literals state.
    fn condition(&mut self, term: Term, depth: u32) -> Term {
        if depth > DEEPEST || self.terms.sort(term) != Sort::Bool {
            return term;
        }
        if let Some(&done) = self.conditions.get(&term) {
            return done;
        }
        let new = match self.terms.node(term) {
            TermNode::And(..) => match self.conjunction(vec![term], depth) {
                Some(list) => self.terms.all(list),
                None => Term::FALSE,
            },
            TermNode::Or(..) => self.disjunction(term, depth),
            TermNode::Not(inner)
                if matches!(self.terms.node(inner), TermNode::And(..) | TermNode::Or(..)) =>
            {
                let inner = self.condition(inner, depth + 1);
                self.terms.not(inner)
            }
            TermNode::If(c, a, b) => {
                let c = self.condition(c, depth + 1);
                let a = self.condition(a, depth + 1);
                let b = self.condition(b, depth + 1);
                self.terms.ite(c, a, b)
            }
            _ => term,
        };
        self.conditions.insert(term, new);
        self.conditions.insert(new, new);
        new
    }

    /// Simplifies `a || b` as `!(!a && !b)`.
    fn disjunction(&mut self, term: Term, depth: u32) -> Term {
        let mut stack = vec![term];
        let mut opposites = Vec::new();
        while let Some(top) = stack.pop() {
            match self.terms.node(top) {
                TermNode::Or(a, b) => stack.extend([b, a]),
                _ => {
                    let opposite = self.terms.not(top);
                    opposites.push(opposite);
                }
            }
        }
        match self.conjunction(opposites, depth) {
            None => Term::TRUE,
            Some(list) => {
                let list: Vec<Term> = list.into_iter().map(|part| self.terms.not(part)).collect();
                self.terms.any(list)
            }
        }
    }
}
