//! Values for variables, and the value of a term under them.

use rustc_hash::FxHashMap;

use crate::number;
use crate::{Sort, Term, TermNode, Terms};

/// A value for each of some variables.
///
/// ```
/// use mazurka_smt::{Kind, Model, Sort, Terms};
/// let mut terms = Terms::new();
/// let x = terms.variable(Kind::Initial, "x", Sort::Int);
/// let y = terms.variable(Kind::Initial, "y", Sort::Int);
/// let model: Model = [(x, 6)].into_iter().collect();
/// assert_eq!((model.get(x), model.get(y)), (Some(6), None));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Model {
    /// The values by variable, in ascending order.
    values: Vec<(Term, i64)>,
}

impl Model {
    /// Creates a model without values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the value of a variable.
    pub fn get(&self, variable: Term) -> Option<i64> {
        let at = self.values.binary_search_by_key(&variable, |&(v, _)| v);
        at.ok().map(|at| self.values[at].1)
    }

    /// Sets the value of a variable, in the representation of its sort.
    pub fn set(&mut self, variable: Term, value: i64) {
        match self.values.binary_search_by_key(&variable, |&(v, _)| v) {
            Ok(at) => self.values[at].1 = value,
            Err(at) => self.values.insert(at, (variable, value)),
        }
    }

    /// Returns the variables with their values, in order of creation.
    pub fn iter(&self) -> impl Iterator<Item = (Term, i64)> {
        self.values.iter().copied()
    }
}

impl FromIterator<(Term, i64)> for Model {
    fn from_iter<I: IntoIterator<Item = (Term, i64)>>(pairs: I) -> Self {
        let mut model = Model::new();
        for (variable, value) in pairs {
            model.set(variable, value);
        }
        model
    }
}

/// Evaluates terms under one model. It stores the value of every part, so for a growing path
/// condition only the new parts are evaluated.
///
/// ```
/// use mazurka_smt::{Evaluator, Kind, Model, Sort, Terms};
/// let mut terms = Terms::new();
/// let x = terms.variable(Kind::Initial, "x", Sort::Int);
/// let one = terms.constant(Sort::Int, 1);
/// let next = terms.add(x, one);
/// let model: Model = [(x, 6)].into_iter().collect();
/// assert_eq!(Evaluator::new(model).eval(&terms, next), Some(7));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Evaluator {
    model: Model,
    /// The values of the parts that were evaluated; `None` for a value that is too large.
    known: FxHashMap<Term, Option<i128>>,
    stack: Vec<Term>,
}

impl Evaluator {
    /// Creates an evaluator for a model.
    pub fn new(model: Model) -> Self {
        Evaluator {
            model,
            ..Self::default()
        }
    }

    /// Returns the model of this evaluator.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Drops the values of parts if there are more than `most` of them.
    pub(crate) fn forget_beyond(&mut self, most: usize) {
        if self.known.len() > most {
            self.known.clear();
        }
    }

    /// Returns the model of this evaluator, and drops the values of parts.
    pub fn into_model(self) -> Model {
        self.model
    }

    /// Returns the value of a term; a variable without a value in the model is 0. Returns `None` if
    /// the value exceeds 64 bits, or an intermediate result exceeds 128 bits.
    pub fn eval(&mut self, terms: &Terms, term: Term) -> Option<i64> {
        // An explicit stack, because terms may be deeper than the call stack.
        self.stack.push(term);
        while let Some(&top) = self.stack.last() {
            if self.look_up(terms, top).is_some() {
                self.stack.pop();
                continue;
            }
            let node = terms.node(top);
            let before = self.stack.len();
            for part in node.parts() {
                if self.look_up(terms, part).is_none() {
                    self.stack.push(part);
                }
            }
            if self.stack.len() == before {
                let value = self.apply(terms, node);
                self.known.insert(top, value);
                self.stack.pop();
            }
        }
        let value = self.look_up(terms, term).expect("just evaluated")?;
        i64::try_from(value).ok()
    }

    fn look_up(&self, terms: &Terms, term: Term) -> Option<Option<i128>> {
        match terms.node(term) {
            TermNode::Constant(value) => Some(Some(i128::from(value))),
            TermNode::Variable(_) => Some(Some(i128::from(self.model.get(term).unwrap_or(0)))),
            _ => self.known.get(&term).copied(),
        }
    }

    /// Returns the value of a node whose parts have been evaluated. A value that is too large
    /// counts only if the node needs it: a choice needs only the chosen branch, and a conjunction
    /// or disjunction that one side decides does not need the other side.
    fn apply(&self, terms: &Terms, node: TermNode) -> Option<i128> {
        let of = |part| self.look_up(terms, part).expect("parts come first");
        let truth = |truth: bool| Some(i128::from(truth));
        match node {
            TermNode::Constant(_) | TermNode::Variable(_) => unreachable!("looked up"),
            TermNode::Not(a) => Some(1 - of(a)?),
            TermNode::And(a, b) => match (of(a), of(b)) {
                (Some(0), _) | (_, Some(0)) => truth(false),
                (Some(_), Some(_)) => truth(true),
                _ => None,
            },
            TermNode::Or(a, b) => match (of(a), of(b)) {
                (Some(1), _) | (_, Some(1)) => truth(true),
                (Some(_), Some(_)) => truth(false),
                _ => None,
            },
            TermNode::If(a, b, c) => of(if of(a)? != 0 { b } else { c }),
            TermNode::Equal(a, b) => truth(of(a)? == of(b)?),
            TermNode::Negate(a) => match terms.sort(a) {
                Sort::Int => of(a)?.checked_neg(),
                sort => number::negate(sort, of(a)? as i64).map(i128::from),
            },
            TermNode::Bits(op, a, b) => {
                let (sort, a, b) = (terms.sort(a), of(a)? as i64, of(b)? as i64);
                Some(number::bits(op, sort, a, b).into())
            }
            TermNode::Less(a, b)
            | TermNode::AtMost(a, b)
            | TermNode::Add(a, b)
            | TermNode::Sub(a, b)
            | TermNode::Mul(a, b)
            | TermNode::Div(a, b)
            | TermNode::Rem(a, b) => match terms.sort(a) {
                Sort::Int => unbounded(node, of(a)?, of(b)?),
                sort => machine(node, sort, of(a)? as i64, of(b)? as i64).map(i128::from),
            },
        }
    }
}

/// Computes an operation on machine integers, or a comparison of truth values.
fn machine(node: TermNode, sort: Sort, a: i64, b: i64) -> Option<i64> {
    match node {
        TermNode::Less(..) => Some(i64::from(number::less(sort, a, b))),
        TermNode::AtMost(..) => Some(i64::from(!number::less(sort, b, a))),
        TermNode::Add(..) => number::add(sort, a, b),
        TermNode::Sub(..) => number::sub(sort, a, b),
        TermNode::Mul(..) => number::mul(sort, a, b),
        TermNode::Div(..) => number::div(sort, a, b),
        TermNode::Rem(..) => Some(number::rem(sort, a, b)),
        _ => unreachable!("an operation on two numbers"),
    }
}

/// Computes an operation on `int`, with room for intermediate results, which may be larger after
/// simplification than in the source.
fn unbounded(node: TermNode, a: i128, b: i128) -> Option<i128> {
    match node {
        TermNode::Less(..) => Some(i128::from(a < b)),
        TermNode::AtMost(..) => Some(i128::from(a <= b)),
        TermNode::Add(..) => a.checked_add(b),
        TermNode::Sub(..) => a.checked_sub(b),
        TermNode::Mul(..) => a.checked_mul(b),
        TermNode::Div(..) if b == 0 => Some(0),
        TermNode::Div(..) => a.checked_div(b),
        TermNode::Rem(..) if b == 0 => Some(a),
        TermNode::Rem(..) => Some(a.wrapping_rem(b)),
        _ => unreachable!("an operation on two numbers"),
    }
}

impl Terms {
    /// Returns the value of a term under a model; a variable without a value in the model is 0.
    /// Returns `None` if the value exceeds 64 bits, or an intermediate result exceeds 128 bits.
    pub fn eval(&self, term: Term, model: &Model) -> Option<i64> {
        Evaluator::new(model.clone()).eval(self, term)
    }
}
