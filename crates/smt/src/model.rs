//! Values for variables, and the value of a term under them.

use rustc_hash::FxHashMap;

use crate::number;
use crate::{Node, Sort, Term, Terms};

/// A value for each of some variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Model {
    /// By variable, in ascending order.
    values: Vec<(Term, i64)>,
}

impl Model {
    /// Nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value given to a variable.
    pub fn get(&self, variable: Term) -> Option<i64> {
        let at = self.values.binary_search_by_key(&variable, |&(v, _)| v);
        at.ok().map(|at| self.values[at].1)
    }

    /// Gives a variable a value, in the form that its sort keeps.
    pub fn set(&mut self, variable: Term, value: i64) {
        match self.values.binary_search_by_key(&variable, |&(v, _)| v) {
            Ok(at) => self.values[at].1 = value,
            Err(at) => self.values.insert(at, (variable, value)),
        }
    }

    /// The variables with their values, in order of creation.
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

/// Evaluates terms under one model and remembers the value of every part, so that a growing path
/// condition costs its new parts only.
#[derive(Clone, Debug, Default)]
pub struct Evaluator {
    model: Model,
    known: FxHashMap<Term, Option<i64>>,
    stack: Vec<Term>,
}

impl Evaluator {
    /// Nothing evaluated yet.
    pub fn new(model: Model) -> Self {
        Evaluator {
            model,
            ..Self::default()
        }
    }

    /// The model that it evaluates under.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model that it evaluated under.
    pub fn into_model(self) -> Model {
        self.model
    }

    /// The value of a term; a variable that the model does not give is 0. `None` if an `int` on
    /// the way to it lies beyond 64 bits.
    pub fn eval(&mut self, terms: &Terms, term: Term) -> Option<i64> {
        // By hand rather than by recursion: terms may be deeper than the stack.
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
                let value = self.apply(terms, top, node);
                self.known.insert(top, value);
                self.stack.pop();
            }
        }
        self.look_up(terms, term).expect("just evaluated")
    }

    fn look_up(&self, terms: &Terms, term: Term) -> Option<Option<i64>> {
        match terms.node(term) {
            Node::Constant(value) => Some(Some(value)),
            Node::Variable(_) => Some(Some(self.model.get(term).unwrap_or(0))),
            _ => self.known.get(&term).copied(),
        }
    }

    fn apply(&self, terms: &Terms, term: Term, node: Node) -> Option<i64> {
        let sort = match node.parts().next() {
            Some(part) if !matches!(node, Node::If(..)) => terms.sort(part),
            _ => terms.sort(term),
        };
        let of = |part| self.look_up(terms, part).expect("parts come first");
        apply(node, sort, of)
    }
}

/// The value of a node whose parts have values; `sort` is that of its first part (of the
/// branches, for a choice). A choice needs the chosen branch only, and a conjunction or
/// disjunction that one side decides does not need the other.
pub(crate) fn apply(node: Node, sort: Sort, of: impl Fn(Term) -> Option<i64>) -> Option<i64> {
    Some(match node {
        Node::Constant(value) => value,
        Node::Variable(_) => return None,
        Node::Not(a) => 1 - of(a)?,
        Node::And(a, b) => match (of(a), of(b)) {
            (Some(0), _) | (_, Some(0)) => 0,
            (Some(_), Some(_)) => 1,
            _ => return None,
        },
        Node::Or(a, b) => match (of(a), of(b)) {
            (Some(1), _) | (_, Some(1)) => 1,
            (Some(_), Some(_)) => 0,
            _ => return None,
        },
        Node::Equal(a, b) => i64::from(of(a)? == of(b)?),
        Node::Less(a, b) => i64::from(number::less(sort, of(a)?, of(b)?)),
        Node::AtMost(a, b) => i64::from(!number::less(sort, of(b)?, of(a)?)),
        Node::Add(a, b) => number::add(sort, of(a)?, of(b)?)?,
        Node::Sub(a, b) => number::sub(sort, of(a)?, of(b)?)?,
        Node::Mul(a, b) => number::mul(sort, of(a)?, of(b)?)?,
        Node::Div(a, b) => number::div(sort, of(a)?, of(b)?)?,
        Node::Rem(a, b) => number::rem(sort, of(a)?, of(b)?),
        Node::Negate(a) => number::negate(sort, of(a)?)?,
        Node::If(a, b, c) => {
            if of(a)? != 0 {
                of(b)?
            } else {
                of(c)?
            }
        }
    })
}

impl Terms {
    /// The value of a term under a model; a variable that the model does not give is 0. `None` if
    /// an `int` on the way to it lies beyond 64 bits.
    pub fn eval(&self, term: Term, model: &Model) -> Option<i64> {
        Evaluator::new(model.clone()).eval(self, term)
    }
}
