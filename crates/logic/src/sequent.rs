//! A sequent consists of a state and a [`Context`]. This module defines the context, and the
//! questions that rules ask the solver ([`Leaf`]). The search and the checker share these types.

use std::rc::Rc;

use mazurka_diagnostics::Span;
use mazurka_smt::Term;

use crate::Formula;
use crate::eval::Fault;
use crate::fol::{Fol, Truth};

/// The parts of a sequent that all goals of one box share.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// Γ.
    pub known: Vec<Fol>,
    /// The indices of the processes of the box.
    pub processes: Vec<usize>,
    /// Ψ.
    pub post: Rc<Formula>,
    /// The values of the variables that quantifiers around the box bind, the outermost first.
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
