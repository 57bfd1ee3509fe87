//! The definitions that the search and the checker share: the program with the positions of its
//! variables, the terms, the branches of a step, and the meaning of expressions, formulas and
//! invariants in a state. The effects of statements are defined twice, in `step.rs` for the search
//! and in `check/step.rs` for the checker.

use mazurka_core::{Claims, ProcessId, ProcessTable};
use mazurka_lang::hir::{Expr, Program, StmtKind};
use mazurka_lang::shared::Shared;
use mazurka_smt::{Term, Terms};

use crate::aliases::Touched;
use crate::claims::claims;
use crate::eval::{Eval, Obligation};
use crate::fol::{Fol, Lower, Misplaced, Part};
use crate::pool::{Layout, State, Thread, WorkItem, initial_cells};
use crate::render::Names;
use crate::sequent::Subject;
use crate::{DeadlockFree, Formula, Theorem};

/// A program, and all terms over its values.
pub(crate) struct World<'p> {
    pub program: &'p Program,
    pub source: &'p str,
    pub shared: Shared<'p>,
    pub layout: Layout,
    pub terms: Terms,
    pub table: ProcessTable,
    /// The obligations of the current step, on all of its branches. A failure on a branch counts
    /// even if the branch turns out to be impossible.
    pub obligations: Vec<Obligation>,
    /// The shared cells that the step has touched.
    pub touched: Vec<Touched>,
}

/// A branch of a step.
#[derive(Clone, Debug)]
pub(crate) struct Branch<'p> {
    pub state: State<'p>,
    /// The process that makes the step.
    pub turn: ProcessId,
    /// The chosen values, each with its lower bound and its exclusive upper bound.
    pub chosen: Vec<[Term; 3]>,
    /// The decisions of the step that lead to this branch.
    pub ways: Vec<u8>,
    pub spawned: Vec<ProcessId>,
    pub joined: Vec<ProcessId>,
    /// Whether the branch has a false `assume`. Nothing more has to be shown for such a branch, and
    /// it is no deadlock.
    pub discarded: bool,
}

impl<'p> Branch<'p> {
    pub fn at(state: State<'p>, turn: ProcessId) -> Self {
        Self {
            state,
            turn,
            chosen: Vec::new(),
            ways: Vec::new(),
            spawned: Vec::new(),
            joined: Vec::new(),
            discarded: false,
        }
    }

    /// Returns the thread that makes the step.
    pub fn thread(&mut self) -> &mut Thread<'p> {
        self.state.thread(self.turn)
    }

    /// Assumes a condition. Returns `None` if the condition is the constant false.
    pub fn given(mut self, test: Term, terms: &Terms) -> Option<Self> {
        match terms.truth(test) {
            Some(true) => {}
            Some(false) => return None,
            None => self.state.condition.push(test),
        }
        Some(self)
    }

    /// Removes the threads that have no work left.
    pub fn ended(mut self) -> Self {
        self.state.threads.retain(|thread| !thread.work.is_empty());
        self
    }
}

impl<'p> World<'p> {
    pub fn new(theorem: &Theorem<'p>) -> Self {
        let program = theorem.program;
        Self {
            program,
            source: theorem.source,
            shared: Shared::new(program),
            layout: Layout::new(program),
            terms: Terms::new(),
            table: ProcessTable::new(program.processes.len() as u32),
            obligations: Vec::new(),
            touched: Vec::new(),
        }
    }

    pub fn names(&self) -> Names<'_, 'p> {
        Names {
            program: self.program,
            source: self.source,
            layout: &self.layout,
            terms: &self.terms,
            table: &self.table,
        }
    }

    /// Returns a translation of formulas into conditions; `tag` is part of the fresh names.
    pub fn lower(&mut self, tag: String) -> Lower<'_> {
        Lower {
            terms: &mut self.terms,
            layout: &self.layout,
            tag,
            fresh: 0,
        }
    }

    /// Returns an evaluator for the thread that makes the step.
    pub fn eval<'e>(&'e mut self, way: &'e mut Branch<'p>) -> Eval<'e, 'p> {
        Eval {
            terms: &mut self.terms,
            layout: &self.layout,
            thread: way.state.position(way.turn),
            state: &mut way.state,
            name: self.table.path(way.turn).to_string(),
            when: Vec::new(),
            obligations: &mut self.obligations,
            chosen: &mut way.chosen,
            touched: &mut self.touched,
        }
    }

    pub fn values(&mut self, way: &mut Branch<'p>, exprs: &[Expr]) -> Vec<Term> {
        let mut eval = self.eval(way);
        exprs.iter().map(|expr| eval.expr(expr)).collect()
    }

    /// Returns the cells that the next step of a thread may touch.
    pub fn claims(&self, thread: &Thread<'p>) -> Claims {
        self.claims_and_reads(thread).0
    }

    /// Returns the cells that the next step of a thread may touch, and the cells that it may read.
    pub fn claims_and_reads(&self, thread: &Thread<'p>) -> (Claims, Claims) {
        let (program, layout) = (self.program, &self.layout);
        claims(program, &self.shared, layout, thread, &self.terms)
    }

    /// Splits a formula in the initial state, under the assumption of the `requires`.
    pub fn open(&mut self, formula: &Formula) -> Result<Vec<Part>, Misplaced> {
        let cells = initial_cells(self.program, &mut self.terms);
        let known = self.required(&cells).into_iter().map(Fol::Term).collect();
        let mut lower = self.lower(String::new());
        lower.parts(known, &cells, &mut Vec::new(), formula)
    }

    /// Returns the runs for which a proof of these parts excludes deadlocks. There are none if
    /// `asked` is not set. Only the checker uses this function; the search has a separate one. A
    /// box contains all runs of the program if it has every process, starts with the initial
    /// values, and assumes nothing about them except the `requires`.
    pub fn deadlock_freedom(&mut self, asked: bool, parts: &[Part]) -> DeadlockFree {
        let start = initial_cells(self.program, &mut self.terms);
        let required = self.required(&start);
        let given = |known: &Fol| match known {
            Fol::Term(term) => *term == Term::TRUE || required.contains(term),
            _ => false,
        };
        let mut shown = DeadlockFree::Nothing;
        for part in parts.iter().filter(|_| asked) {
            let Part::Box(context, cells) = part else {
                continue;
            };
            let mut processes = context.processes.clone();
            processes.sort_unstable();
            let all = processes.into_iter().eq(0..self.program.processes.len());
            if all && *cells == start && context.known.iter().all(given) {
                return DeadlockFree::Program;
            }
            shown = DeadlockFree::Boxes;
        }
        shown
    }

    /// Returns the conditions that the program requires of its initial values.
    pub fn required(&mut self, cells: &[Term]) -> Vec<Term> {
        let program = self.program;
        let mut lower = self.lower(String::new());
        let requires = program.requires.iter();
        requires
            .map(|property| lower.condition(&property.expr, cells, &[]))
            .collect()
    }

    /// Returns the file's invariants in a state and, with `loops`, the invariants of loops whose
    /// test is the next step of a thread.
    pub fn invariants(&mut self, state: &State<'p>, loops: bool) -> Vec<(Subject, Term)> {
        let program = self.program;
        let mut lower = self.lower(String::new());
        let mut all = Vec::new();
        for (number, property) in program.invariants.iter().enumerate() {
            let must = lower.condition(&property.expr, &state.cells, &[]);
            all.push((Subject::Invariant(number), must));
        }
        for (at, thread) in state.threads.iter().enumerate().filter(|_| loops) {
            for invariant in loop_invariants(thread).unwrap_or_default() {
                let must = lower.condition_in(invariant, state, at);
                all.push((Subject::LoopInvariant(invariant.span), must));
            }
        }
        all
    }
}

/// Returns the invariants of an unbounded `while`, if its test is the next step of a thread.
pub(crate) fn loop_invariants<'p>(thread: &Thread<'p>) -> Option<&'p [Expr]> {
    match thread.work.last()? {
        WorkItem::Again(stmt) => match &stmt.kind {
            StmtKind::While {
                bound: None,
                invariants,
                ..
            } => Some(invariants),
            _ => None,
        },
        _ => None,
    }
}
