//! Eliminates boxes for which the calculus has no rule: under `!`, `exists` or `<==>`, left of
//! `==>`, or on both sides of `||`. Definition 5 of the SymPaths paper allows boxes everywhere.
//!
//! The rules of the calculus apply to a box only if it is the outermost operator on the right of a
//! sequent. Any other box is replaced by a formula without boxes. Symbolic execution of Σ yields
//! its final symbolic states ⟨σₖ, φₖ, ∅⟩. By Theorems 2 and 3 of the paper, if there are finitely
//! many of them,
//!
//! \[Σ\]Ψ ⟺ ⋀ₖ (⌈φₖ⌉ → {σₖ}Ψ)
//!
//! The outcomes and inputs of the processes may have any values, so each becomes a quantified
//! variable around the conjunction. As in the calculus, the box also requires that assertions and
//! invariants hold and that indices and divisions do not fail. A diamond is about runs that end,
//! and a run that fails does not end. So if an obligation or an invariant is violated, the run has
//! no final state, and
//!
//! ⟨Σ⟩Ψ ⟺ ⋁ₖ (⌈φₖ⌉ ∧ {σₖ}Ψ)
//!
//! This is equivalent to ¬\[Σ\]¬Ψ only if no run fails.
//!
//! A formula is decided in this way without a proof that could be checked. If a box has too many
//! states, or a loop without an end, the formula remains open. If commuting steps in different
//! orders lead to states with equal terms, only one of these states is expanded.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use mazurka_smt::{Answer, Solver, Term};
use rustc_hash::FxHashMap;

use crate::Formula;
use crate::eval::Obligation;
use crate::fol::Fol;
use crate::pool::State;
use crate::refute::within;
use crate::step::{self, StepTooLarge};
use crate::world::{Branch, World};

/// Limit on the number of states of all boxes together.
const MOST_STATES: usize = 4_000;

/// Limit on the number of outcomes of a `choose` that are expanded case by case.
const MOST_CASES: i64 = 64;

/// A function that is called at intervals and decides whether to continue.
pub(crate) type ContinueCheck<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// Replaces boxes by their meaning.
pub(crate) struct Eliminate<'e, 'p> {
    world: &'e mut World<'p>,
    solver: &'e mut dyn Solver,
    watch: ContinueCheck<'e>,
    /// The number of fresh names.
    names: u32,
    /// The number of expanded states.
    states: usize,
    /// For each variable of a `choose`, the bounds of its outcomes (the upper one exclusive), or
    /// `None` if they are unknown or too far apart. The choices of a process are numbered along its
    /// path, so on different paths one variable may belong to different `choose` expressions. The
    /// bounds then cover all of them.
    ranges: FxHashMap<Term, Option<(i64, i64)>>,
}

/// The modality of a formula about the runs of some processes, and whether it is negated.
#[derive(Clone, Copy)]
struct RunModality {
    /// Whether the formula is a box, not a diamond.
    boxed: bool,
    /// Whether the formula itself is to be replaced. Otherwise its negation is.
    holds: bool,
}

impl RunModality {
    /// Whether the formula is about all runs. Otherwise it is about some run.
    fn of_all(self) -> bool {
        self.boxed == self.holds
    }
}

/// The reason why a box cannot be replaced.
pub(crate) type Unclear = String;

impl<'e, 'p> Eliminate<'e, 'p> {
    pub fn new(
        world: &'e mut World<'p>,
        solver: &'e mut dyn Solver,
        watch: ContinueCheck<'e>,
    ) -> Self {
        Self {
            world,
            solver,
            watch,
            names: 0,
            states: 0,
            ranges: FxHashMap::default(),
        }
    }

    /// Returns a formula without boxes that is equivalent, in a state, to a formula, or to its
    /// negation if `holds` is false.
    pub fn formula(
        &mut self,
        formula: &Formula,
        cells: &[Term],
        bound: &mut Vec<Term>,
        holds: bool,
    ) -> Result<Fol, Unclear> {
        let both = |all: bool, a, b| {
            if all {
                Fol::All(vec![a, b])
            } else {
                Fol::Any(vec![a, b])
            }
        };
        if formula.is_first_order() {
            let tag = self.tag();
            let lowered = self.world.lower(tag).formula(formula, cells, bound, holds);
            return lowered.map_err(|error| error.to_string());
        }
        Ok(match formula {
            Formula::Expr(_) => return Err("a condition with a box".to_owned()),
            Formula::Not(a) => self.formula(a, cells, bound, !holds)?,
            Formula::And(a, b) | Formula::Or(a, b) => {
                let and = matches!(formula, Formula::And(..));
                let a = self.formula(a, cells, bound, holds)?;
                both(and == holds, a, self.formula(b, cells, bound, holds)?)
            }
            Formula::Implies(a, b) => {
                let a = self.formula(a, cells, bound, !holds)?;
                both(!holds, a, self.formula(b, cells, bound, holds)?)
            }
            Formula::Iff(a, b) => {
                let (yes, no) = (
                    self.formula(a, cells, bound, true)?,
                    self.formula(a, cells, bound, false)?,
                );
                let same = self.formula(b, cells, bound, holds)?;
                let other = self.formula(b, cells, bound, !holds)?;
                Fol::Any(vec![both(true, yes, same), both(true, no, other)])
            }
            Formula::ForAll(name, ty, a) | Formula::Exists(name, ty, a) => {
                let tag = self.tag();
                let variable = self.world.lower(tag).variable(name, *ty);
                bound.push(variable);
                let inner = self.formula(a, cells, bound, holds);
                bound.pop();
                let all = matches!(formula, Formula::ForAll(..)) == holds;
                quantified(all, variable, inner?)
            }
            Formula::Update(update, a) => {
                let tag = self.tag();
                let (cells, obligation) = self.world.lower(tag).update(update, cells, bound);
                let inner = self.formula(a, &cells, bound, holds)?;
                if holds {
                    both(true, Fol::Term(obligation), inner)
                } else {
                    both(false, Fol::Term(self.world.terms.not(obligation)), inner)
                }
            }
            Formula::Box(processes, post) | Formula::Diamond(processes, post) => {
                self.names += 1;
                let depth = self.names;
                let modality = RunModality {
                    boxed: matches!(formula, Formula::Box(..)),
                    holds,
                };
                let parts = self.runs((processes, depth), post, (cells, bound), modality)?;
                let runs = if modality.of_all() {
                    Fol::All(parts)
                } else {
                    Fol::Any(parts)
                };
                let chosen_values = self.chosen_values(depth).into_iter();
                chosen_values.fold(runs, |inner, variable| {
                    self.quantify(modality.of_all(), variable, inner)
                })
            }
        })
    }

    /// Returns a fresh name.
    fn tag(&mut self) -> String {
        self.names += 1;
        format!("e{}", self.names)
    }

    /// Returns the outcomes and inputs of the processes of a box.
    fn chosen_values(&self, depth: u32) -> Vec<Term> {
        let marks = ["?", "#"].map(|mark| within(depth, mark));
        let variables = self.world.terms.variables().iter();
        let of_box = variables.filter(|v| marks.iter().any(|mark| v.name.contains(mark)));
        of_box.map(|variable| variable.term).collect()
    }

    /// Quantifies a formula over a variable. If there are few values, it is expanded case by case.
    fn quantify(&mut self, all: bool, variable: Term, inner: Fol) -> Fol {
        let Some(&Some((from, to))) = self.ranges.get(&variable) else {
            return quantified(all, variable, inner);
        };
        let mut cases = Vec::new();
        for value in from..to {
            let sort = self.world.terms.sort(variable);
            let value = self.world.terms.constant(sort, value);
            cases.push(self.substitute(&inner, variable, value));
        }
        if all {
            Fol::All(cases)
        } else {
            Fol::Any(cases)
        }
    }

    /// Substitutes a value for a variable in a formula.
    fn substitute(&mut self, formula: &Fol, variable: Term, value: Term) -> Fol {
        let mut inside = |parts: &[Fol]| -> Vec<Fol> {
            let parts = parts.iter();
            parts
                .map(|part| self.substitute(part, variable, value))
                .collect()
        };
        match formula {
            Fol::All(parts) => Fol::All(inside(parts)),
            Fol::Any(parts) => Fol::Any(inside(parts)),
            Fol::ForAll(x, a) => Fol::ForAll(*x, Box::new(self.substitute(a, variable, value))),
            Fol::Exists(x, a) => Fol::Exists(*x, Box::new(self.substitute(a, variable, value))),
            Fol::Term(term) => {
                let terms = &mut self.world.terms;
                Fol::Term(terms.substitute(*term, |part| (part == variable).then_some(value)))
            }
        }
    }

    /// Returns the parts of the formula that replaces a box or diamond, or its negation. If
    /// `modality` is about all runs, the formula is the conjunction of the parts, otherwise their
    /// disjunction.
    fn runs(
        &mut self,
        (processes, depth): (&[usize], u32),
        post: &Formula,
        (cells, bound): (&[Term], &mut Vec<Term>),
        modality: RunModality,
    ) -> Result<Vec<Fol>, Unclear> {
        let started = step::start(self.world, cells.to_vec(), processes, depth);
        let mut parts = Vec::new();
        let mut queue = VecDeque::new();
        let mut seen: FxHashMap<u64, Vec<State<'p>>> = FxHashMap::default();
        self.arrive(started, &mut queue, (&mut parts, modality))?;
        while let Some(state) = queue.pop_front() {
            let same = seen.entry(state.key()).or_default();
            if same.iter().any(|other| same_state(other, &state)) {
                continue;
            }
            same.push(state.clone());
            self.states += 1;
            if self.states > MOST_STATES {
                return Err(format!(
                    "a box that the calculus has no rule for has more than {MOST_STATES} symbolic states"
                ));
            }
            if (self.watch)().is_break() {
                return Err("the search was broken off".to_owned());
            }
            let condition = state.condition.clone();
            let impossible = !condition.is_empty()
                && matches!(
                    self.solver.check(&mut self.world.terms, &condition),
                    Answer::Unsat
                );
            if impossible {
                continue;
            }
            if state.threads.is_empty() {
                let inner = self.formula(post, &state.cells, bound, modality.holds)?;
                let condition = self.world.terms.all(condition);
                parts.push(if modality.of_all() {
                    Fol::Any(vec![Fol::Term(self.world.terms.not(condition)), inner])
                } else {
                    Fol::All(vec![Fol::Term(condition), inner])
                });
                continue;
            }
            for thread in 0..state.threads.len() {
                let process = state.threads[thread].process;
                let made = step::step(self.world, &state, process);
                self.arrive(made, &mut queue, (&mut parts, modality))?;
            }
        }
        Ok(parts)
    }

    /// Adds the states after a step, and the obligations of the step and of these states.
    fn arrive(
        &mut self,
        made: Result<Vec<Branch<'p>>, StepTooLarge>,
        queue: &mut VecDeque<State<'p>>,
        (parts, modality): (&mut Vec<Fol>, RunModality),
    ) -> Result<(), Unclear> {
        self.world.touched.clear();
        let obligations = std::mem::take(&mut self.world.obligations);
        let made = made.map_err(|StepTooLarge(process)| {
            format!("a step of process {process} does too much, or has too many ways to go")
        })?;
        // The states after the step assume that the obligations hold, which is all that a diamond
        // needs.
        for Obligation {
            known,
            must: obligation,
            ..
        } in obligations
        {
            if modality.boxed {
                parts.push(self.obligation(known, obligation, modality.holds));
            }
        }
        for mut branch in made.into_iter().filter(|branch| !branch.discarded) {
            for &[value, from, to] in &branch.chosen {
                let terms = &self.world.terms;
                let here = terms.value(from).zip(terms.value(to));
                let known = self.ranges.entry(value).or_insert(here);
                let both = known.zip(here);
                let around = both.map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
                *known = around.filter(|(from, to)| to.saturating_sub(*from) <= MOST_CASES);
            }
            for (_, obligation) in self.world.invariants(&branch.state, false) {
                if obligation != Term::TRUE && modality.boxed {
                    parts.push(self.obligation(
                        branch.state.condition.clone(),
                        obligation,
                        modality.holds,
                    ));
                } else if obligation != Term::TRUE {
                    branch.state.condition.push(obligation);
                }
            }
            queue.push_back(branch.state);
        }
        Ok(())
    }

    /// Returns an obligation under some conditions, or its negation.
    fn obligation(&mut self, known: Vec<Term>, obligation: Term, holds: bool) -> Fol {
        let terms = &mut self.world.terms;
        let (known, not) = (terms.all(known), terms.not(obligation));
        let broken = terms.and(known, not);
        Fol::Term(if holds { terms.not(broken) } else { broken })
    }
}

fn quantified(all: bool, variable: Term, inner: Fol) -> Fol {
    if all {
        Fol::ForAll(variable, Box::new(inner))
    } else {
        Fol::Exists(variable, Box::new(inner))
    }
}

/// Whether two states are equal and have the same assumptions, in any order.
fn same_state(a: &State<'_>, b: &State<'_>) -> bool {
    let sorted = |state: &State<'_>| {
        let mut all = state.condition.clone();
        all.sort_unstable();
        all
    };
    a.cells == b.cells && a.locks == b.locks && a.threads == b.threads && sorted(a) == sorted(b)
}
