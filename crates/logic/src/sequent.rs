//! The [`Context`] of a sequent, which is everything in it except for its state, and the questions
//! that rules ask the solver ([`Leaf`]). The search and the checker share these types.

use std::rc::Rc;

use mazurka_diagnostics::Span;
use mazurka_smt::Term;

use crate::Formula;
use crate::eval::Fault;
use crate::fol::{Fol, Truth};

/// What all goals of one box share: Γ, Ψ, and the values of the free variables of Ψ, which
/// quantifiers around the box bind.
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
    /// The negation of the formula to show.
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
    /// An assumption of the more general goal that closes this goal.
    Instance,
    /// Some process can continue.
    Deadlock,
    /// The assumptions are contradictory.
    Infeasible,
}
