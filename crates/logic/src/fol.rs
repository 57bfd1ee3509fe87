//! First-order formulas about one state ([`Fol`]): how formulas are split into them, and how the
//! solver decides them.
//!
//! A sequent Γ ⇒ Ψ holds if and only if Γ and ¬Ψ cannot hold together. Negations are pushed
//! inwards, so that a question is a combination of conditions with `and`, `or` and quantifiers. A
//! variable bound by an `exists` that is under no `forall` becomes a fresh constant. A `forall`
//! over `bool` becomes two cases; any other `forall` needs a solver that supports quantifiers.

use std::rc::Rc;

use mazurka_lang::hir::{BinaryOp, Expr, ExprKind, Frame, Place, Type};
use mazurka_smt::{Answer, Kind, Model, Solver, Term, Terms};

use crate::Formula;
use crate::eval::Eval;
use crate::pool::{FrameRef, Layout, State, Thread, sort};
use crate::sequent::Context;

/// A formula about one state. Only the conditions in it may contain negations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fol {
    Term(Term),
    All(Vec<Fol>),
    Any(Vec<Fol>),
    ForAll(Term, Box<Fol>),
    Exists(Term, Box<Fol>),
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    /// The formula always holds.
    Proved,
    /// The formula does not hold in this model.
    Refuted(Model),
    /// The solver cannot decide it, for this reason.
    Unknown(String),
}

/// The error for a formula with a box where only first-order formulas are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this calculus has no rule for a box in this place: under `!`, `exists` or `<==>`, left of `==>`, or on both sides of `||`"
)]
pub struct Misplaced;

/// One of the parts that a formula is split into. The formula holds if all parts do.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// A question: it must be impossible that Γ and the denied formula hold together.
    Leaf { known: Vec<Fol>, denied: Fol },
    /// Γ ⇒ {σ}\[Σ\]Ψ: its context, and σ.
    Box(Context, Vec<Term>),
}

/// A translation of formulas into conditions on the values of a state.
pub(crate) struct Lower<'a> {
    pub terms: &'a mut Terms,
    pub layout: &'a Layout,
    /// The text between the quote and the number in a fresh name.
    pub tag: String,
    /// The number of fresh names so far.
    pub fresh: u32,
}

impl Lower<'_> {
    /// Returns a fresh constant or bound variable.
    pub fn variable(&mut self, name: &str, ty: Type) -> Term {
        self.fresh += 1;
        let name = format!("{name}'{}.{}", self.tag, self.fresh);
        self.terms.variable(Kind::Initial, &name, sort(ty))
    }

    /// Returns the condition under which the evaluation of an expression does not fail and gives
    /// true.
    pub fn condition(&mut self, expr: &Expr, cells: &[Term], bound: &[Term]) -> Term {
        let (value, must) = self.value(expr, cells, bound);
        self.terms.and(must, value)
    }

    /// Returns the condition under which the evaluation of an expression over the shared variables
    /// and the locals of a thread does not fail and gives true.
    pub fn condition_in(&mut self, expr: &Expr, state: &State<'_>, thread: usize) -> Term {
        let mut state = State {
            condition: Vec::new(),
            ..state.clone()
        };
        let (value, must) = self.value_in(expr, &mut state, thread);
        self.terms.and(must, value)
    }

    /// Returns the value of an expression, and the condition under which its evaluation does not
    /// fail. `bound`: the values of the variables that quantifiers bind.
    fn value(&mut self, expr: &Expr, cells: &[Term], bound: &[Term]) -> (Term, Term) {
        let frame = Frame {
            locals: bound
                .iter()
                .map(|_| mazurka_lang::hir::Local {
                    shape: mazurka_lang::hir::Shape::plain("", Vec::new()),
                    name: String::new(),
                    ty: Type::Int,
                    len: None,
                })
                .collect(),
        };
        let mut state = State {
            cells: cells.to_vec(),
            locks: Vec::new(),
            threads: vec![Rc::new(Thread {
                process: mazurka_core::ProcessId(0),
                work: Vec::new(),
                frame: FrameRef(&frame),
                locals: bound.to_vec(),
                children: 0,
                choices: 0,
                inputs: 0,
                depth: 0,
                events: 0,
            })],
            condition: Vec::new(),
        };
        self.value_in(expr, &mut state, 0)
    }

    fn value_in(&mut self, expr: &Expr, state: &mut State<'_>, thread: usize) -> (Term, Term) {
        let (mut obligations, mut chosen, mut touched) = (Vec::new(), Vec::new(), Vec::new());
        let mut eval = Eval {
            terms: self.terms,
            layout: self.layout,
            state,
            thread,
            name: String::new(),
            when: Vec::new(),
            obligations: &mut obligations,
            chosen: &mut chosen,
            touched: &mut touched,
        };
        let value = eval.expr(expr);
        let must = self.terms.all(state.condition.clone());
        (value, must)
    }

    /// Translates a formula in a state, or its negation if `holds` is false.
    pub fn formula(
        &mut self,
        formula: &Formula,
        cells: &[Term],
        bound: &mut Vec<Term>,
        holds: bool,
    ) -> Result<Fol, Misplaced> {
        let both = |all: bool, a, b| {
            if all {
                Fol::All(vec![a, b])
            } else {
                Fol::Any(vec![a, b])
            }
        };
        Ok(match formula {
            Formula::Expr(expr) => {
                let term = self.condition(expr, cells, bound);
                Fol::Term(if holds { term } else { self.terms.not(term) })
            }
            Formula::Not(a) => self.formula(a, cells, bound, !holds)?,
            Formula::And(a, b) | Formula::Or(a, b) => {
                let and = matches!(formula, Formula::And(..));
                let a = self.formula(a, cells, bound, holds)?;
                let b = self.formula(b, cells, bound, holds)?;
                both(and == holds, a, b)
            }
            Formula::Implies(a, b) => {
                let a = self.formula(a, cells, bound, !holds)?;
                let b = self.formula(b, cells, bound, holds)?;
                both(!holds, a, b)
            }
            Formula::Iff(a, b) => {
                let yes = self.formula(a, cells, bound, true)?;
                let no = self.formula(a, cells, bound, false)?;
                let same = self.formula(b, cells, bound, holds)?;
                let other = self.formula(b, cells, bound, !holds)?;
                Fol::Any(vec![both(true, yes, same), both(true, no, other)])
            }
            Formula::ForAll(name, ty, a) | Formula::Exists(name, ty, a) => {
                let variable = self.variable(name, *ty);
                bound.push(variable);
                let inner = self.formula(a, cells, bound, holds)?;
                bound.pop();
                let all = matches!(formula, Formula::ForAll(..)) == holds;
                if all {
                    Fol::ForAll(variable, Box::new(inner))
                } else {
                    Fol::Exists(variable, Box::new(inner))
                }
            }
            Formula::Update(update, a) => {
                let (cells, must) = self.update(update, cells, bound);
                let inner = self.formula(a, &cells, bound, holds)?;
                match (must, holds) {
                    (Term::TRUE, _) => inner,
                    (must, true) => both(true, Fol::Term(must), inner),
                    (must, false) => both(false, Fol::Term(self.terms.not(must)), inner),
                }
            }
            Formula::Box(..) | Formula::Diamond(..) => return Err(Misplaced),
        })
    }

    /// Splits a formula by the rules of first-order logic, until each part is first-order or has
    /// its only box as the outermost operator.
    pub fn parts(
        &mut self,
        mut known: Vec<Fol>,
        cells: &[Term],
        bound: &mut Vec<Term>,
        formula: &Formula,
    ) -> Result<Vec<Part>, Misplaced> {
        match formula {
            // A conjunction is split, because small questions are easier to decide.
            Formula::Expr(Expr {
                kind: ExprKind::Binary(BinaryOp::And, a, b),
                ..
            }) => {
                let (a, b) = (Formula::Expr((**a).clone()), Formula::Expr((**b).clone()));
                let mut parts = self.parts(known.clone(), cells, bound, &a)?;
                parts.extend(self.parts(known, cells, bound, &b)?);
                Ok(parts)
            }
            Formula::And(a, b) => {
                let mut parts = self.parts(known.clone(), cells, bound, a)?;
                parts.extend(self.parts(known, cells, bound, b)?);
                Ok(parts)
            }
            _ if formula.is_first_order() => {
                let denied = self.formula(formula, cells, bound, false)?;
                Ok(vec![Part::Leaf { known, denied }])
            }
            Formula::Implies(a, b) if a.is_first_order() => {
                known.push(self.formula(a, cells, bound, true)?);
                self.parts(known, cells, bound, b)
            }
            Formula::Or(a, b) if a.is_first_order() || b.is_first_order() => {
                let (a, b) = if a.is_first_order() { (a, b) } else { (b, a) };
                known.push(self.formula(a, cells, bound, false)?);
                self.parts(known, cells, bound, b)
            }
            Formula::ForAll(name, ty, inner) => {
                let value = self.variable(name, *ty);
                bound.push(value);
                let result = self.parts(known, cells, bound, inner);
                bound.pop();
                result
            }
            Formula::Update(update, inner) => {
                let (cells, must) = self.update(update, cells, bound);
                let mut parts = Vec::new();
                if must != Term::TRUE {
                    let denied = Fol::Term(self.terms.not(must));
                    let known = known.clone();
                    parts.push(Part::Leaf { known, denied });
                }
                known.extend((must != Term::TRUE).then_some(Fol::Term(must)));
                parts.extend(self.parts(known, &cells, bound, inner)?);
                Ok(parts)
            }
            Formula::Box(processes, post) => {
                let context = Context {
                    known,
                    processes: processes.clone(),
                    post: Rc::new((**post).clone()),
                    bound: bound.clone(),
                    depth: 0,
                };
                Ok(vec![Part::Box(context, cells.to_vec())])
            }
            _ => Err(Misplaced),
        }
    }

    /// Returns the state after a simultaneous update, and the condition under which the update does
    /// not fail. After an update with a division by zero or an index out of bounds, no formula is
    /// true.
    pub fn update(
        &mut self,
        update: &[(Place, Expr)],
        cells: &[Term],
        bound: &[Term],
    ) -> (Vec<Term>, Term) {
        let mut new = cells.to_vec();
        let mut all = Vec::new();
        for (place, value) in update {
            let (value, must) = self.value(value, cells, bound);
            all.push(must);
            match place {
                Place::Shared(var) => new[self.layout.vars[var.0 as usize].0] = value,
                Place::Element(var, index) => {
                    let (at, _) = self.value(index, cells, bound);
                    let element = Expr {
                        kind: ExprKind::Element(*var, Box::new(index.clone())),
                        ..index.clone()
                    };
                    all.push(self.value(&element, cells, bound).1);
                    let (first, len) = self.layout.vars[var.0 as usize];
                    self.terms.store(&mut new[first..first + len], at, value);
                }
                Place::Local(_) | Place::LocalElement(..) => {}
            }
        }
        (new, self.terms.all(all))
    }
}

/// Decides whether the assumptions imply the goal. `denied` is the negation of the goal.
pub(crate) fn decide(
    terms: &mut Terms,
    solver: &mut dyn Solver,
    known: &[Fol],
    condition: &[Term],
    denied: &Fol,
) -> Truth {
    let mut constraints = condition.to_vec();
    let mut universal = Vec::new();
    let mut open: Vec<&Fol> = known.iter().chain([denied]).collect();
    while let Some(formula) = open.pop() {
        match (ground(terms, formula), formula) {
            (Some(term), _) => constraints.push(term),
            (None, Fol::All(parts)) => open.extend(parts),
            (None, Fol::Exists(_, inner)) => open.push(inner),
            (None, Fol::ForAll(variable, inner)) => match ground(terms, inner) {
                Some(inner) if !has_exists_under_forall(formula) => {
                    universal.push((*variable, inner))
                }
                _ => return Truth::Unknown(TOO_DEEP.to_owned()),
            },
            (None, _) => return Truth::Unknown(TOO_DEEP.to_owned()),
        }
    }
    let answer = if universal.is_empty() {
        // Linear arithmetic decides many questions without a solver.
        let all = terms.all(constraints.iter().copied());
        match terms.simplify(all) {
            Term::FALSE => Answer::Unsat,
            _ => solver.check(terms, &constraints),
        }
    } else {
        solver.refute(terms, &constraints, &universal)
    };
    match answer {
        Answer::Unsat => Truth::Proved,
        Answer::Sat(model) => Truth::Refuted(model),
        Answer::Unknown(why) => Truth::Unknown(why.to_string()),
    }
}

const TOO_DEEP: &str = "quantifiers are nested in a way that is not passed on to a solver";

/// Whether a formula has an `exists` under a `forall`. Its value may depend on the variable of the
/// `forall`.
fn has_exists_under_forall(formula: &Fol) -> bool {
    match formula {
        Fol::ForAll(_, inner) => has_exists(inner),
        _ => false,
    }
}

/// Returns a formula as a condition over constants; `None` if it is more complex.
fn ground(terms: &mut Terms, formula: &Fol) -> Option<Term> {
    Some(match formula {
        Fol::Term(term) => *term,
        Fol::All(parts) => {
            let parts: Option<Vec<Term>> = parts.iter().map(|part| ground(terms, part)).collect();
            terms.all(parts?)
        }
        Fol::Any(parts) => {
            let parts: Option<Vec<Term>> = parts.iter().map(|part| ground(terms, part)).collect();
            terms.any(parts?)
        }
        Fol::Exists(_, inner) => ground(terms, inner)?,
        Fol::ForAll(variable, inner) => {
            // An `exists` inside may have a different value in each case.
            if terms.sort(*variable) != mazurka_smt::Sort::Bool || has_exists(inner) {
                return None;
            }
            let inner = ground(terms, inner)?;
            let case = |terms: &mut Terms, value: Term| {
                terms.substitute(inner, |part| (part == *variable).then_some(value))
            };
            let (yes, no) = (case(terms, Term::TRUE), case(terms, Term::FALSE));
            terms.and(yes, no)
        }
    })
}

/// Whether a formula contains an `exists`.
fn has_exists(formula: &Fol) -> bool {
    match formula {
        Fol::Term(_) => false,
        Fol::All(parts) | Fol::Any(parts) => parts.iter().any(has_exists),
        Fol::ForAll(_, inner) => has_exists(inner),
        Fol::Exists(..) => true,
    }
}

/// Limit on the number of values of a choice that are tried one by one.
const MAX_TRIED: i64 = 64;

/// Returns the condition under which a step with these conditions is possible, where each chosen
/// value is in `from..to`: *some* choice must make the conditions true. If there are too many
/// values, only the least value is tried, which can leave a goal open.
pub(crate) fn possible(terms: &mut Terms, conditions: &[Term], chosen: &[[Term; 3]]) -> Term {
    let mut conditions = terms.all(conditions.to_vec());
    for &[value, from, to] in chosen.iter().rev() {
        let bounds = (terms.value(from), terms.value(to));
        let candidates: Vec<Term> = match bounds {
            (Some(from), Some(to)) if to.saturating_sub(from) <= MAX_TRIED => {
                let sort = terms.sort(value);
                (from..to).map(|k| terms.constant(sort, k)).collect()
            }
            _ => vec![from],
        };
        let mut cases = Vec::new();
        for candidate in candidates {
            cases.push(terms.substitute(conditions, |part| (part == value).then_some(candidate)));
        }
        conditions = terms.any(cases);
    }
    conditions
}
