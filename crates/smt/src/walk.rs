//! Operations on whole terms, part by part. No operation is recursive, because terms may be deeper
//! than the call stack.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Term, TermNode, Terms};

impl Terms {
    /// Returns all parts of these terms, including themselves, without small constants. Each part
    /// occurs once, after its own parts.
    pub fn parts_of(&self, roots: &[Term]) -> Vec<Term> {
        let mut seen = FxHashSet::default();
        let mut stack: Vec<Term> = roots.to_vec();
        while let Some(term) = stack.pop() {
            if term.index().is_some() && seen.insert(term) {
                stack.extend(self.node(term).parts());
            }
        }
        let mut parts: Vec<Term> = seen.into_iter().collect();
        // A term has a greater index than its parts.
        parts.sort_unstable();
        parts
    }

    /// Returns the variables that occur in these terms, in order of creation.
    pub fn variables_of(&self, roots: &[Term]) -> Vec<Term> {
        let mut parts = self.parts_of(roots);
        parts.retain(|&part| matches!(self.node(part), TermNode::Variable(_)));
        parts
    }

    /// Returns the variable that a term represents; `None` if the term is not a variable.
    pub fn variable_of(&self, term: Term) -> Option<&crate::Variable> {
        match self.node(term) {
            TermNode::Variable(number) => Some(&self.variables()[number as usize]),
            _ => None,
        }
    }

    /// Returns the term with variables (or any other parts) replaced simultaneously. Replacements
    /// are not substituted again.
    ///
    /// ```
    /// use mazurka_smt::{Kind, Sort, Terms};
    ///
    /// let mut terms = Terms::new();
    /// let x = terms.variable(Kind::Initial, "x", Sort::Int);
    /// let y = terms.variable(Kind::Initial, "y", Sort::Int);
    /// let less = terms.less(x, y);
    /// let swapped = terms.substitute(less, |part| match part {
    ///     _ if part == x => Some(y),
    ///     _ if part == y => Some(x),
    ///     _ => None,
    /// });
    /// assert_eq!(terms.show(swapped), "y < x");
    /// ```
    pub fn substitute(&mut self, term: Term, replace: impl Fn(Term) -> Option<Term>) -> Term {
        let mut done = FxHashMap::default();
        for part in self.parts_of(&[term]) {
            let new = match replace(part) {
                Some(new) => new,
                None => self.rebuild(part, |part| done.get(&part).copied().unwrap_or(part)),
            };
            done.insert(part, new);
        }
        done.get(&term).copied().unwrap_or(term)
    }

    /// Returns the term in which `of(p)` replaces each part p.
    pub(crate) fn rebuild(&mut self, term: Term, of: impl Fn(Term) -> Term) -> Term {
        let node = self.node(term);
        if node.parts().all(|part| of(part) == part) {
            return term;
        }
        match node {
            TermNode::Constant(_) | TermNode::Variable(_) => term,
            TermNode::Not(a) => self.not(of(a)),
            TermNode::And(a, b) => self.and(of(a), of(b)),
            TermNode::Or(a, b) => self.or(of(a), of(b)),
            TermNode::Equal(a, b) => self.equal(of(a), of(b)),
            TermNode::Less(a, b) => self.less(of(a), of(b)),
            TermNode::AtMost(a, b) => self.at_most(of(a), of(b)),
            TermNode::Add(a, b) => self.add(of(a), of(b)),
            TermNode::Sub(a, b) => self.sub(of(a), of(b)),
            TermNode::Mul(a, b) => self.mul(of(a), of(b)),
            TermNode::Div(a, b) => self.div(of(a), of(b)),
            TermNode::Rem(a, b) => self.rem(of(a), of(b)),
            TermNode::Bits(op, a, b) => self.bits(op, of(a), of(b)),
            TermNode::Negate(a) => self.negate(of(a)),
            TermNode::If(a, b, c) => self.ite(of(a), of(b), of(c)),
        }
    }
}
