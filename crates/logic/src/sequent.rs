//! What a sequent has besides its state, and the questions that rules ask: what the search and the
//! checker both speak of.

use std::rc::Rc;

use mazurka_diagnostics::Span;
use mazurka_smt::Term;

use crate::Formula;
use crate::eval::Fault;
use crate::fol::{Fol, Truth};

/// What belongs to all goals under one box: Γ, and Ψ with the values of its free bound variables.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub known: Vec<Fol>,
    pub processes: Vec<usize>,
    pub post: Rc<Formula>,
    pub bound: Vec<Term>,
    /// How many boxes lie around this one.
    pub depth: u32,
}

/// A question for the solver, and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub what: What,
    /// The negation of what was to be shown.
    pub denied: Fol,
    pub truth: Truth,
}

/// What a leaf is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// The goal itself, or what it says of final states.
    Goal,
    Fault(Fault, Span),
    /// One of the file's invariants.
    Invariant(usize),
    /// The invariant of a loop.
    LoopInvariant(Span),
    /// A goal that is met again assumes this.
    Instance,
    /// Some process can go on.
    Deadlock,
    /// What is assumed cannot be.
    Infeasible,
}
