//! The parts of a sequent other than its state, and the questions of rules. The search and the
//! checker share them.

use std::rc::Rc;

use mazurka_diagnostics::Span;
use mazurka_smt::Term;

use crate::Formula;
use crate::eval::Fault;
use crate::fol::{Fol, Truth};

/// The part that all goals of one box share: Γ, and Ψ with the values of its free variables, which
/// enclosing quantifiers bind.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub known: Vec<Fol>,
    pub processes: Vec<usize>,
    pub post: Rc<Formula>,
    pub bound: Vec<Term>,
    /// The number of boxes around this box.
    pub depth: u32,
}

/// A question for the solver, and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub what: Subject,
    /// The negation of the formula that is to be shown.
    pub denied: Fol,
    pub truth: Truth,
}

/// The subject of a leaf.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Subject {
    /// The goal itself, or its claim about final states.
    Goal,
    Fault(Fault, Span),
    /// One of the file's invariants.
    Invariant(usize),
    /// The invariant of a loop.
    LoopInvariant(Span),
    /// An assumption of the goal that this goal is an instance of.
    Instance,
    /// Some process can continue.
    Deadlock,
    /// The assumptions are contradictory.
    Infeasible,
}
