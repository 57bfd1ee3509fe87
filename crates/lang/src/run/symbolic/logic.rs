//! The terms of a symbolic machine, the operations that the interpreter makes on them, and the
//! queries to the solver.
//!
//! A known value is always a constant of sort `int`, whatever its type. So equal values are equal
//! terms, and computing with known values makes no terms. In an operation with an unknown value, a
//! known value gets the sort of that value.

use std::cell::RefCell;
use std::rc::Rc;

use mazurka_core::Fingerprint;
use mazurka_smt::{
    Answer, BitOp, Model, Solver, Sort, Statistics, Term, TermNode, Terms, Variable, Why,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::check::hir::Type;
use crate::code::fault::Fault;
use crate::code::numbers;
use crate::code::{Arith, Compare};

/// Returns the sort of a type.
pub(super) fn sort_of(ty: Type) -> Sort {
    match ty {
        Type::Bool => Sort::Bool,
        Type::Int | Type::Process | Type::Enum(_) => Sort::Int,
        Type::Signed(bits) => Sort::Signed(bits),
        Type::Unsigned(bits) => Sort::Unsigned(bits),
    }
}

/// A summary of the queries that the solver could not decide, and of the branches and properties
/// that were given up because of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doubts {
    /// Branches were given up because they have no solution in which every `int` fits into this
    /// number of bits.
    pub within: Option<u8>,
    /// Branches were given up because the solver could not decide whether they are feasible, for
    /// this reason.
    pub undecided: Option<String>,
    /// Branches were given up because the time was over.
    pub out_of_time: bool,
    /// A property was given up because a number in it exceeds 64 bits.
    pub out_of_range: bool,
}

impl Doubts {
    /// Adds the doubts of another solver.
    pub fn add(&mut self, more: &Doubts) {
        let widths = self.within.into_iter().chain(more.within);
        self.within = widths.min();
        if self.undecided.is_none() {
            self.undecided.clone_from(&more.undecided);
        }
        self.out_of_time |= more.out_of_time;
        self.out_of_range |= more.out_of_range;
    }
}

/// The terms of a machine, and the solver for them.
pub(super) struct Logic {
    pub terms: Terms,
    solver: Option<Box<dyn Solver>>,
    prints: FxHashMap<Term, Fingerprint>,
    /// The terms used as indices.
    indices: Vec<Term>,
    /// The terms that are numbered for engines of weak memory models, and their numbers.
    numbered: (Vec<Term>, FxHashMap<Term, u32>),
    pub doubts: Doubts,
}

impl std::fmt::Debug for Logic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let solver = self.solver.is_some();
        write!(f, "Logic({} terms, solver: {solver})", self.terms.len())
    }
}

impl Logic {
    pub fn new(solver: Option<Box<dyn Solver>>) -> Self {
        Self {
            terms: Terms::new(),
            solver,
            prints: FxHashMap::default(),
            indices: Vec::new(),
            numbered: Default::default(),
            doubts: Doubts::default(),
        }
    }

    /// Makes the terms shareable between several machines, so that their terms can be compared.
    pub fn shared(self) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(self))
    }

    /// Returns the value of a term, if it is known.
    #[inline]
    pub fn known(&self, term: Term) -> Option<i64> {
        self.terms.value(term)
    }

    /// Returns the term of a known value.
    #[inline]
    pub fn constant(&mut self, value: i64) -> Term {
        self.terms.constant(Sort::Int, value)
    }

    pub fn truth(&mut self, truth: bool) -> Term {
        self.constant(i64::from(truth))
    }

    /// Returns a value as a term of this sort.
    pub fn typed(&mut self, term: Term, sort: Sort) -> Term {
        match self.known(term) {
            Some(value) => self.terms.constant(sort, value),
            None => term,
        }
    }

    /// Returns a term as a value of the machine: a constant gets the sort `int`.
    fn plain(&mut self, term: Term) -> Term {
        match self.known(term) {
            Some(value) => self.constant(value),
            None => term,
        }
    }

    pub fn not(&mut self, a: Term) -> Term {
        match self.known(a) {
            Some(value) => self.truth(value == 0),
            None => self.terms.not(a),
        }
    }

    pub fn and(&mut self, a: Term, b: Term) -> Term {
        let (a, b) = (self.typed(a, Sort::Bool), self.typed(b, Sort::Bool));
        let both = self.terms.and(a, b);
        self.plain(both)
    }

    pub fn or(&mut self, a: Term, b: Term) -> Term {
        let (a, b) = (self.typed(a, Sort::Bool), self.typed(b, Sort::Bool));
        let either = self.terms.or(a, b);
        self.plain(either)
    }

    pub fn select(&mut self, ty: Type, test: Term, a: Term, b: Term) -> Term {
        match self.known(test) {
            Some(0) => b,
            Some(_) => a,
            None => {
                let sort = sort_of(ty);
                let (a, b) = (self.typed(a, sort), self.typed(b, sort));
                let chosen = self.terms.ite(test, a, b);
                self.plain(chosen)
            }
        }
    }

    pub fn negate(&mut self, ty: Type, a: Term) -> Result<Term, Fault> {
        match self.known(a) {
            Some(value) => Ok(self.constant(numbers::negate(ty, value)?)),
            None => Ok(self.terms.negate(a)),
        }
    }

    /// Computes `a op b`. If the divisor is unknown, the caller must ensure that it is not 0.
    pub fn arith(&mut self, op: Arith, ty: Type, a: Term, b: Term) -> Result<Term, Fault> {
        if let (Some(a), Some(b)) = (self.known(a), self.known(b)) {
            return Ok(self.constant(numbers::arith(op, ty, a, b)?));
        }
        if matches!(op, Arith::Div | Arith::Rem) && self.known(b) == Some(0) {
            return Err(Fault::DivisionByZero);
        }
        let sort = sort_of(ty);
        let (a, b) = (self.typed(a, sort), self.typed(b, sort));
        let terms = &mut self.terms;
        let result = match op {
            Arith::Add => terms.add(a, b),
            Arith::Sub => terms.sub(a, b),
            Arith::Mul => terms.mul(a, b),
            Arith::Div => terms.div(a, b),
            Arith::Rem => terms.rem(a, b),
            Arith::BitAnd => terms.bits(BitOp::And, a, b),
            Arith::BitOr => terms.bits(BitOp::Or, a, b),
            Arith::BitXor => terms.bits(BitOp::Xor, a, b),
            Arith::Shl => terms.bits(BitOp::ShiftLeft, a, b),
            Arith::Shr => terms.bits(BitOp::ShiftRight, a, b),
        };
        Ok(self.plain(result))
    }

    pub fn compare(&mut self, op: Compare, unsigned: bool, a: Term, b: Term) -> Term {
        if let (Some(a), Some(b)) = (self.known(a), self.known(b)) {
            return self.truth(numbers::compare(op, unsigned, a, b));
        }
        let sort = match self.known(a) {
            Some(_) => self.terms.sort(b),
            None => self.terms.sort(a),
        };
        let (a, b) = (self.typed(a, sort), self.typed(b, sort));
        let terms = &mut self.terms;
        let result = match op {
            Compare::Eq => terms.equal(a, b),
            Compare::Ne => terms.unequal(a, b),
            Compare::Lt => terms.less(a, b),
            Compare::Le => terms.at_most(a, b),
            Compare::Gt => terms.greater(a, b),
            Compare::Ge => terms.at_least(a, b),
        };
        self.plain(result)
    }

    /// Returns the simplified condition that two values are equal. Simplification detects equal
    /// sums in different orders, which is hard for a SAT solver.
    pub fn equal(&mut self, a: Term, b: Term) -> Term {
        let equal = self.compare(Compare::Eq, false, a, b);
        match self.known(equal) {
            Some(_) => equal,
            None => {
                let simple = self.terms.simplify(equal);
                self.plain(simple)
            }
        }
    }

    /// Returns the condition that an unknown index lies within an array.
    pub fn within(&mut self, index: Term, len: u32) -> Term {
        let sort = self.terms.sort(index);
        let zero = self.terms.constant(sort, 0);
        let low = self.terms.at_least(index, zero);
        // The length may exceed the range of a small type.
        let fits = numbers::wrap(i64::from(len), type_of(sort)) == i64::from(len);
        let high = if fits {
            let end = self.terms.constant(sort, i64::from(len));
            self.terms.less(index, end)
        } else {
            Term::TRUE
        };
        let both = self.terms.and(low, high);
        self.plain(both)
    }

    /// Returns the condition that an index has this value.
    pub fn is_at(&mut self, index: Term, at: u32) -> Term {
        let sort = self.terms.sort(index);
        if numbers::wrap(i64::from(at), type_of(sort)) != i64::from(at) {
            return self.truth(false);
        }
        let at = self.terms.constant(sort, i64::from(at));
        let here = self.terms.equal(index, at);
        self.plain(here)
    }

    /// Returns the number of a term that is used as an index.
    pub fn number(&mut self, index: Term) -> u32 {
        let known = self.indices.iter().position(|&known| known == index);
        let number = known.unwrap_or_else(|| {
            self.indices.push(index);
            self.indices.len() - 1
        });
        number as u32
    }

    /// Returns the number of a term. The number never changes.
    pub fn numbered(&mut self, term: Term) -> u32 {
        let (terms, numbers) = &mut self.numbered;
        *numbers.entry(term).or_insert_with(|| {
            terms.push(term);
            terms.len() as u32 - 1
        })
    }

    /// Returns the term with this number.
    pub fn of_number(&self, number: u32) -> Term {
        self.numbered.0[number as usize]
    }

    /// Returns the condition that the indices with these numbers select the same element.
    pub fn same_element(&mut self, one: u32, other: u32) -> Term {
        let (one, other) = (self.indices[one as usize], self.indices[other as usize]);
        if self.terms.sort(one) == self.terms.sort(other) {
            let equal = self.terms.equal(one, other);
            self.plain(equal)
        } else {
            // Indices of different types are not compared: they count as equal.
            self.truth(true)
        }
    }

    /// Returns the condition that the index with this number selects this element.
    pub fn selects(&mut self, index: u32, at: u32) -> Term {
        self.is_at(self.indices[index as usize], at)
    }

    /// Returns the element that an index within the array selects.
    pub fn element(&mut self, ty: Type, elements: &[Term], index: Term) -> Term {
        let typed: Vec<Term> = elements
            .iter()
            .map(|&e| self.typed(e, sort_of(ty)))
            .collect();
        let chosen = self.terms.select(&typed, index);
        self.plain(chosen)
    }

    /// Returns a value as a condition.
    pub fn condition(&mut self, value: Term) -> Term {
        self.typed(value, Sort::Bool)
    }

    /// Whether the conditions are satisfiable. The error is the reason why that is unknown. Without
    /// a solver, they count as satisfiable unless the last condition is the constant false.
    pub fn possible(&mut self, conditions: &[Term]) -> Result<bool, Why> {
        if self.solver.is_none() {
            return Ok(conditions.last() != Some(&Term::FALSE));
        }
        match self.ask(conditions) {
            Answer::Sat(_) => Ok(true),
            Answer::Unsat => Ok(false),
            Answer::Unknown(why) => Err(why),
        }
    }

    /// Whether the solver finds values that satisfy all conditions. If it cannot decide this,
    /// returns false and records a doubt.
    pub fn holds_for_some(&mut self, conditions: &[Term]) -> bool {
        match self.ask(conditions) {
            Answer::Sat(_) => true,
            Answer::Unsat => false,
            Answer::Unknown(why) => {
                self.doubt(why);
                false
            }
        }
    }

    /// Records the reason why a branch or a property was given up.
    pub fn doubt(&mut self, why: Why) {
        match why {
            Why::Time => self.doubts.out_of_time = true,
            Why::OnlyWithin { bits } => {
                let least = self.doubts.within.map_or(bits, |known| known.min(bits));
                self.doubts.within = Some(least);
            }
            why => {
                self.doubts.undecided.get_or_insert(why.to_string());
            }
        }
    }

    /// Whether the conditions are satisfiable. If the solver cannot decide this, returns true and
    /// records a doubt.
    pub fn feasible(&mut self, conditions: &[Term]) -> bool {
        self.possible(conditions).unwrap_or_else(|why| {
            self.doubt(why);
            true
        })
    }

    /// Returns the statistics of the solver.
    pub fn statistics(&self) -> Statistics {
        let solver = self.solver.as_ref();
        solver.map(|solver| solver.statistics()).unwrap_or_default()
    }

    /// Whether a condition certainly contradicts the given conditions.
    pub fn excluded(&mut self, conditions: &[Term], condition: Term) -> bool {
        if let Some(value) = self.known(condition) {
            return value == 0;
        }
        let mut all = conditions.to_vec();
        all.push(condition);
        self.ask(&all) == Answer::Unsat
    }

    /// Whether the conditions mention two inputs with the same name. This happens if two paths read
    /// the input with different types; a list of inputs by name cannot give both values.
    pub fn is_ambiguous(&self, conditions: &[Term]) -> bool {
        let variables = self.terms.variables();
        let mut names = FxHashSet::default();
        let name = |v: &Variable| (v.kind, v.name.clone());
        if variables
            .iter()
            .all(|variable| names.insert(name(variable)))
        {
            return false;
        }
        names.clear();
        let parts = self.terms.parts_of(conditions);
        let mut used = parts
            .iter()
            .filter_map(|&part| self.terms.variable_of(part));
        !used.all(|variable| names.insert(name(variable)))
    }

    /// Returns the terms and the solver, if there is one.
    pub fn parts(&mut self) -> Option<(&mut Terms, &mut dyn Solver)> {
        let solver = self.solver.as_mut()?;
        Some((&mut self.terms, solver.as_mut()))
    }

    /// Queries the solver whether the conditions are satisfiable.
    pub fn ask(&mut self, conditions: &[Term]) -> Answer {
        let Some(solver) = &mut self.solver else {
            return Answer::Unknown(Why::Failed("there is no solver".to_owned()));
        };
        let answer = solver.check(&mut self.terms, conditions);
        // The solver contradicts itself, so no result of this run could be trusted.
        if let Answer::Unknown(why @ Why::Defect(_)) = &answer {
            panic!("{why}");
        }
        answer
    }

    /// Returns values that satisfy all conditions, or `None` if the solver finds no such values.
    pub fn model(&mut self, conditions: &[Term]) -> Option<Model> {
        match self.ask(conditions) {
            Answer::Sat(model) => Some(model),
            Answer::Unsat | Answer::Unknown(_) => None,
        }
    }

    /// Returns a fingerprint of a term that is the same in every table of terms. A table orders the
    /// sides of an equation or of a sum by their age; the fingerprint does not depend on this
    /// order.
    pub fn print(&mut self, term: Term) -> Fingerprint {
        if let Some(value) = self.known(term) {
            return Fingerprint::EMPTY.then(0).then(value as u64);
        }
        if let Some(&known) = self.prints.get(&term) {
            return known;
        }
        for part in self.terms.parts_of(&[term]) {
            if !self.prints.contains_key(&part) {
                let print = self.print_node(part);
                self.prints.insert(part, print);
            }
        }
        self.prints[&term]
    }

    fn print_node(&self, term: Term) -> Fingerprint {
        let node = self.terms.node(term);
        let tag = |number: u64| Fingerprint::EMPTY.then(number);
        let of = |part: Term| match self.known(part) {
            Some(value) => Fingerprint::EMPTY.then(0).then(value as u64),
            None => self.prints[&part],
        };
        let unordered = |start: Fingerprint, a, b| start.then_all(of(a).and(of(b)));
        let start = match node {
            TermNode::Constant(value) => return tag(0).then(value as u64),
            TermNode::Variable(number) => {
                let variable = &self.terms.variables()[number as usize];
                let name = variable.name.bytes();
                let sort = match self.terms.sort(variable.term) {
                    Sort::Bool => 0,
                    Sort::Int => 1,
                    Sort::Signed(bits) => 2 + u64::from(bits),
                    Sort::Unsigned(bits) => 256 + u64::from(bits),
                };
                let start = tag(1).then(variable.kind as u64).then(sort);
                return name.fold(start, |all, byte| all.then(u64::from(byte)));
            }
            // `a == b + 1` is the same as `b == a - 1`.
            TermNode::Equal(a, b) => {
                let ((x, c), (y, d)) = (self.terms.offset(a), self.terms.offset(b));
                let distance = |from: i64, to: i64| match self.terms.sort(a) {
                    Sort::Int => i128::from(to) - i128::from(from),
                    sort => numbers::wrap(to.wrapping_sub(from), type_of(sort)).into(),
                };
                let side = |x, y, distance: i128| {
                    let both = of(x).then_all(of(y));
                    both.then(distance as u64).then((distance >> 64) as u64)
                };
                let both = side(x, y, distance(c, d)).and(side(y, x, distance(d, c)));
                return tag(5).then_all(both);
            }
            TermNode::Add(a, b) => return unordered(tag(8), a, b),
            TermNode::Mul(a, b) => return unordered(tag(10), a, b),
            TermNode::Bits(op @ (BitOp::And | BitOp::Or | BitOp::Xor), a, b) => {
                return unordered(tag(15 + op as u64), a, b);
            }
            // `-a - b` is the same as `-b - a`.
            TermNode::Sub(a, b) => match self.terms.node(a) {
                TermNode::Negate(a) => return unordered(tag(20), a, b),
                _ => tag(9),
            },
            TermNode::Not(_) => tag(2),
            TermNode::And(..) => tag(3),
            TermNode::Or(..) => tag(4),
            TermNode::Less(..) => tag(6),
            TermNode::AtMost(..) => tag(7),
            TermNode::Div(..) => tag(11),
            TermNode::Rem(..) => tag(12),
            TermNode::Negate(_) => tag(13),
            TermNode::If(..) => tag(14),
            TermNode::Bits(op, ..) => tag(15 + op as u64),
        };
        node.parts().fold(start, |all, part| all.then_all(of(part)))
    }
}

fn type_of(sort: Sort) -> Type {
    match sort {
        Sort::Bool => Type::Bool,
        Sort::Int => Type::Int,
        Sort::Signed(bits) => Type::Signed(bits),
        Sort::Unsigned(bits) => Type::Unsigned(bits),
    }
}

#[cfg(test)]
mod tests {
    use mazurka_smt::Kind;

    use super::*;

    /// Terms order the sides of `==`, `+`, `*` and `&` by their age, and their fingerprints are
    /// nevertheless the same in every table.
    #[test]
    fn the_age_of_a_term_does_not_matter() {
        for sort in [Sort::Int, Sort::Signed(8), Sort::Unsigned(64)] {
            let prints = |names: [&str; 2]| {
                let mut logic = Logic::new(None);
                for name in names {
                    logic.terms.variable(Kind::Input, name, sort);
                }
                let terms = &mut logic.terms;
                let [x, y] = ["x", "y"].map(|name| terms.variable(Kind::Input, name, sort));
                let one = terms.constant(sort, 1);
                let (next, sum) = (terms.add(y, one), terms.add(x, y));
                let (less_x, less_y) = (terms.negate(x), terms.negate(y));
                let all = [
                    terms.equal(x, y),
                    terms.equal(x, next),
                    terms.equal(sum, next),
                    sum,
                    terms.mul(x, y),
                    terms.bits(BitOp::Xor, x, y),
                    terms.add(less_x, less_y),
                    terms.sub(x, y),
                    terms.less(x, y),
                ];
                all.map(|term| logic.print(term))
            };
            let one = prints(["x", "y"]);
            assert_eq!(one, prints(["y", "x"]));
            // But different terms have different fingerprints.
            let different: FxHashSet<Fingerprint> = one.into_iter().collect();
            assert_eq!(different.len(), one.len());
        }
    }

    #[test]
    fn an_equation_with_a_difference_keeps_its_direction() {
        let mut logic = Logic::new(None);
        let terms = &mut logic.terms;
        let [x, y] = ["x", "y"].map(|name| terms.variable(Kind::Input, name, Sort::Int));
        let one = terms.constant(Sort::Int, 1);
        let (after_x, after_y) = (terms.add(x, one), terms.add(y, one));
        let (one, other) = (terms.equal(x, after_y), terms.equal(after_x, y));
        assert_ne!(logic.print(one), logic.print(other));
    }
}
