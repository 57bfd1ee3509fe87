//! Terms, each stored once.
//!
//! A [`Term`] is a handle; [`Terms`] has the operator and the parts of each term. A term that is
//! built again gets the same handle, so terms are compared by their handles, and common parts are
//! shared.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};

use crate::number;

/// The type of a term. Sorts are the types of the language: they determine the meaning of `<`, `/`
/// and `%`, and when a result wraps around.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sort {
    /// `bool`, with the values 0 and 1.
    Bool,
    /// Mathematical integers. Values are stored in 64 bits; larger numbers have no value here.
    Int,
    /// Integers of 1 to 64 bits that wrap around, in two's complement.
    Signed(u8),
    /// Natural numbers of 1 to 64 bits that wrap around. With 64 bits they are stored as the bits
    /// of an `i64`.
    Unsigned(u8),
}

impl Sort {
    /// Returns a value as the source would write it: `true`, `-2`, `18446744073709551615`.
    pub fn show(self, value: i64) -> String {
        number::show(self, value)
    }

    fn code(self) -> u32 {
        match self {
            Sort::Bool => 0,
            Sort::Int => 1,
            Sort::Signed(bits) => 1 + u32::from(bits),
            Sort::Unsigned(bits) => 65 + u32::from(bits),
        }
    }

    fn of_code(code: u32) -> Sort {
        match code {
            0 => Sort::Bool,
            1 => Sort::Int,
            2..=65 => Sort::Signed(code as u8 - 1),
            _ => Sort::Unsigned(code as u8 - 65),
        }
    }
}

/// A term of some [`Terms`]. Two terms are equal if and only if they have the same operator and the
/// same parts.
///
/// A small constant is stored in the handle itself, so that computing with constants needs no
/// table. All other terms have an index, in the order in which they were built: the parts of a term
/// come before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(u32);

const SMALL: u32 = 1 << 31;
const SMALL_BITS: u32 = 23;

impl Term {
    /// The constant `true`.
    pub const TRUE: Term = Term(SMALL | 1);
    /// The constant `false`.
    pub const FALSE: Term = Term(SMALL);

    /// Creates a constant that fits into the handle.
    fn small(sort: Sort, value: i64) -> Option<Term> {
        let kept = value << (64 - SMALL_BITS) >> (64 - SMALL_BITS);
        let bits = value as u32 & ((1 << SMALL_BITS) - 1);
        (kept == value).then(|| Term(SMALL | sort.code() << SMALL_BITS | bits))
    }

    fn as_small(self) -> Option<(Sort, i64)> {
        let value = i64::from((self.0 << (32 - SMALL_BITS)) as i32 >> (32 - SMALL_BITS));
        let sort = || Sort::of_code((self.0 & !SMALL) >> SMALL_BITS);
        (self.0 & SMALL != 0).then(|| (sort(), value))
    }

    /// Returns the index of a term in [`Terms`]; `None` for a small constant, which has none.
    pub(crate) fn index(self) -> Option<usize> {
        (self.0 & SMALL == 0).then_some(self.0 as usize)
    }
}

impl std::fmt::Debug for Term {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.as_small() {
            Some((sort, value)) => write!(f, "{}", sort.show(value)),
            None => write!(f, "t{}", self.0),
        }
    }
}

/// An operation on the bits of machine integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOp {
    /// `a & b`
    And,
    /// `a | b`
    Or,
    /// `a ^ b`
    Xor,
    /// `a << b`: the amount is a natural number; from the width on, the result is 0.
    ShiftLeft,
    /// `a >> b`: the amount is a natural number; a signed number keeps its sign.
    ShiftRight,
}

/// The operator and the parts of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TermNode {
    /// A constant, in the representation of its sort.
    Constant(i64),
    /// A variable's number, in order of creation.
    Variable(u32),
    /// `!a`
    Not(Term),
    /// `a && b`
    And(Term, Term),
    /// `a || b`
    Or(Term, Term),
    /// `a == b`
    Equal(Term, Term),
    /// `a < b`
    Less(Term, Term),
    /// `a <= b`
    AtMost(Term, Term),
    /// `a + b`
    Add(Term, Term),
    /// `a - b`
    Sub(Term, Term),
    /// `a * b`
    Mul(Term, Term),
    /// `a / b`, and 0 if `b` is 0.
    Div(Term, Term),
    /// `a % b`, and `a` if `b` is 0.
    Rem(Term, Term),
    /// `a & b` and similar operations on machine integers.
    Bits(BitOp, Term, Term),
    /// `-a`
    Negate(Term),
    /// `if a then b else c`
    If(Term, Term, Term),
}

impl TermNode {
    /// Returns the parts of the term.
    pub fn parts(self) -> impl Iterator<Item = Term> {
        use TermNode::*;
        let parts = match self {
            Constant(_) | Variable(_) => [None; 3],
            Not(a) | Negate(a) => [Some(a), None, None],
            And(a, b)
            | Or(a, b)
            | Equal(a, b)
            | Less(a, b)
            | AtMost(a, b)
            | Add(a, b)
            | Sub(a, b)
            | Mul(a, b)
            | Div(a, b)
            | Rem(a, b)
            | Bits(_, a, b) => [Some(a), Some(b), None],
            If(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        parts.into_iter().flatten()
    }
}

/// The origin of a variable. Variables of different kinds may share a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The initial value of a shared variable.
    Initial,
    /// The value of an `input()`.
    Input,
}

/// An unknown value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name, as it is printed.
    pub name: String,
    /// Its origin.
    pub kind: Kind,
    /// The term that represents the variable.
    pub term: Term,
}

/// All terms of one computation, each stored once. Its methods build terms, and immediately apply
/// the simplifications that depend only on the outermost parts (see `build.rs`).
///
/// ```
/// use mazurka_smt::{Kind, Model, Sort, Terms};
///
/// let mut terms = Terms::new();
/// let x = terms.variable(Kind::Initial, "x", Sort::Int);
/// let two = terms.constant(Sort::Int, 2);
/// let sum = terms.add(x, two);
/// let sum = terms.add(sum, two);
/// assert_eq!(terms.show(sum), "x + 4");
///
/// let mut model = Model::new();
/// model.set(x, -4);
/// assert_eq!(terms.eval(sum, &model), Some(0));
///
/// let four = terms.add(two, two);
/// assert_eq!(terms.value(four), Some(4));
/// ```
#[derive(Clone, Default)]
pub struct Terms {
    nodes: Vec<(TermNode, Sort)>,
    table: HashTable<u32>,
    variables: Vec<Variable>,
    names: FxHashMap<(Kind, String, Sort), Term>,
}

fn hash(node: &TermNode, sort: Sort) -> u64 {
    let mut hasher = FxHasher::default();
    node.hash(&mut hasher);
    // The parts determine the sort of every term except a constant.
    if let TermNode::Constant(_) = node {
        sort.hash(&mut hasher);
    }
    hasher.finish()
}

impl Terms {
    /// Creates a set without terms, except the small constants.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of terms, without small constants.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no term was built yet.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the term with this number.
    pub(crate) fn numbered(&self, number: usize) -> Term {
        Term(number as u32)
    }

    /// Returns the operator and the parts of a term.
    pub fn node(&self, term: Term) -> TermNode {
        match term.as_small() {
            Some((_, value)) => TermNode::Constant(value),
            None => self.nodes[term.0 as usize].0,
        }
    }

    /// Returns the sort of a term.
    pub fn sort(&self, term: Term) -> Sort {
        match term.as_small() {
            Some((sort, _)) => sort,
            None => self.nodes[term.0 as usize].1,
        }
    }

    /// Returns the value of a constant, or `None` for every other term.
    #[inline]
    pub fn value(&self, term: Term) -> Option<i64> {
        match term.as_small() {
            Some((_, value)) => Some(value),
            None => match self.nodes[term.0 as usize].0 {
                TermNode::Constant(value) => Some(value),
                _ => None,
            },
        }
    }

    /// Returns the truth value of a constant of sort `bool`.
    pub fn truth(&self, term: Term) -> Option<bool> {
        self.value(term).map(|value| value != 0)
    }

    /// Returns a constant. A value that does not fit into its sort wraps around.
    #[inline]
    pub fn constant(&mut self, sort: Sort, value: i64) -> Term {
        let value = number::wrap(sort, value);
        Term::small(sort, value).unwrap_or_else(|| self.intern(TermNode::Constant(value), sort))
    }

    /// Returns `true` or `false`.
    pub fn bool(&self, truth: bool) -> Term {
        if truth { Term::TRUE } else { Term::FALSE }
    }

    /// Returns the variable of this kind, name and sort; creates it if it is new. The same name
    /// with another sort is another variable, because a process may read inputs of different types
    /// on two paths.
    pub fn variable(&mut self, kind: Kind, name: &str, sort: Sort) -> Term {
        let key = (kind, name.to_owned(), sort);
        if let Some(&term) = self.names.get(&key) {
            return term;
        }
        let number = self.variables.len() as u32;
        let term = self.intern(TermNode::Variable(number), sort);
        let name = name.to_owned();
        self.names.insert(key, term);
        self.variables.push(Variable { name, kind, term });
        term
    }

    /// Returns all variables, in order of creation. [`TermNode::Variable`] is an index into this
    /// list.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Returns the term with this node; adds it if it is new.
    pub(crate) fn intern(&mut self, node: TermNode, sort: Sort) -> Term {
        let nodes = &mut self.nodes;
        let entry = self.table.entry(
            hash(&node, sort),
            |&at| nodes[at as usize] == (node, sort),
            |&at| hash(&nodes[at as usize].0, nodes[at as usize].1),
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(entry) => Term(*entry.get()),
            hashbrown::hash_table::Entry::Vacant(entry) => {
                let at = nodes.len() as u32;
                assert!(at < SMALL, "two thousand million terms");
                entry.insert(at);
                nodes.push((node, sort));
                Term(at)
            }
        }
    }
}
