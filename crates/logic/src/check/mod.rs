//! Checks a proof. It knows the rules and no strategy: each sequent is derived anew from the one it should follow from
//! and compared with what the file says, each question is asked again. Steps are made by code of its own (`step.rs`); with the search it shares
//! what programs, expressions and first-order formulas mean, and how sequents are printed.
//!
//! A merge is accepted if both goals say the same and their paths are permutations in which steps that conflict, by the reads and writes
//! that the file gives, keep their order. A cycle is accepted if it contains a SCHEDULE (`loops.rs` says why that is enough).

mod step;

use std::rc::Rc;

use mazurka_core::proof::Rule;
use mazurka_core::{ProcessId, ProcessTable};
use mazurka_lang::hir::StmtKind;
use mazurka_lang::shared::Shared;
use mazurka_smt::{Kind, Solver, Term, Terms};
use rustc_hash::FxHashMap;

use crate::eval::Obligation;
use crate::fol::{Fol, Lower, Part, Truth, decide, possible};
use crate::pool::{Item, Layout, State, Thread, initial_cells, rule};
use crate::render::Names;
use crate::search::{Context, Leaf, What};
use crate::step::Branch;
use crate::{Formula, Theorem};
use mazurka_core::proof::{
    EventRecord, GoalRecord, LeafRecord, Proof, RootRecord, RuleRecord, StepRecord, VERSION,
};
use step::Stepper;

/// Why a proof is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// Of another version.
    #[error("this proof has version {0}, and this Mazurka checks version {VERSION}")]
    Version(u32),
    /// The formula is not taken apart as it must be.
    #[error("the goal itself: {0}")]
    Root(String),
    /// A goal is not reduced as it must be.
    #[error("goal {0}: {1}")]
    Goal(usize, String),
}

struct Checker<'p, 's> {
    proof: &'s Proof,
    source: &'s str,
    stepper: Stepper<'p>,
    solver: &'s mut dyn Solver,
    contexts: Vec<Context>,
    /// What each goal says, once derived: its context and state.
    derived: Vec<Option<(usize, State<'p>)>>,
    open: Vec<usize>,
}

type Checked<T = ()> = Result<T, String>;

/// Checks a proof of a formula about a program. The solver must be one that has not been asked anything.
pub fn check_proof(
    proof: &Proof,
    theorem: &Theorem<'_>,
    solver: &mut dyn Solver,
) -> Result<(), Rejected> {
    let (program, source) = (theorem.program, theorem.source);
    if proof.version != VERSION {
        return Err(Rejected::Version(proof.version));
    }
    let stepper = Stepper {
        program,
        shared: Shared::new(program),
        layout: Layout::of(program),
        terms: Terms::new(),
        table: ProcessTable::new(program.processes.len() as u32),
        obligations: Vec::new(),
    };
    let mut checker = Checker {
        proof,
        source,
        stepper,
        solver,
        contexts: Vec::new(),
        derived: proof.goals.iter().map(|_| None).collect(),
        open: Vec::new(),
    };
    checker.roots(theorem.formula).map_err(Rejected::Root)?;
    // In the order of their numbers, as they were made, so that contexts have the numbers that they had.
    while let Some(at) = checker.open.iter().copied().min() {
        checker.open.retain(|&open| open != at);
        checker.goal(at).map_err(|why| Rejected::Goal(at, why))?;
    }
    if let Some(at) = checker.derived.iter().position(Option::is_none) {
        return Err(Rejected::Goal(at, "nothing leads to it".to_owned()));
    }
    if checker.contexts.len() != proof.contexts.len() {
        return Err(Rejected::Root("there are boxes too many".to_owned()));
    }
    checker.cycles()
}

/// A question that must be in the file, and must have the answer yes.
struct Question {
    what: What,
    known: Rc<Vec<Fol>>,
    condition: Vec<Term>,
    denied: Fol,
}

impl<'p> Checker<'p, '_> {
    fn names(&self) -> Names<'_, 'p> {
        Names {
            program: self.stepper.program,
            source: self.source,
            layout: &self.stepper.layout,
            terms: &self.stepper.terms,
            table: &self.stepper.table,
        }
    }

    fn lower(&mut self, tag: String) -> Lower<'_> {
        Lower {
            terms: &mut self.stepper.terms,
            layout: &self.stepper.layout,
            tag,
            fresh: 0,
        }
    }

    fn roots(&mut self, formula: &Formula) -> Checked {
        let program = self.stepper.program;
        let cells = initial_cells(program, &mut self.stepper.terms);
        let mut lower = self.lower(String::new());
        let requires = program.requires.iter();
        let known = requires.map(|p| Fol::Term(lower.condition(&p.expr, &cells, &[])));
        let (known, mut parts) = (known.collect(), Vec::new());
        let taken = lower.parts(known, &cells, &mut Vec::new(), formula, &mut parts);
        taken.map_err(|error| error.to_string())?;
        let (mut leaves, mut goals) = (Vec::new(), Vec::new());
        for root in &self.proof.roots {
            match root {
                RootRecord::Leaf(leaf) => leaves.push(leaf.clone()),
                RootRecord::Goal(at) => goals.push(*at),
            }
        }
        self.parts(parts, &[], 0, &leaves, &goals)
    }

    /// Parts of a formula against the questions and goals that the file has for them.
    fn parts(
        &mut self,
        parts: Vec<Part>,
        condition: &[Term],
        depth: u32,
        leaves: &[LeafRecord],
        goals: &[usize],
    ) -> Checked {
        let mut questions = Vec::new();
        let mut goals = goals.iter();
        for part in parts {
            match part {
                Part::Leaf { known, denied } => questions.push(Question {
                    what: What::Goal,
                    known: Rc::new(known),
                    condition: condition.to_vec(),
                    denied,
                }),
                Part::Box {
                    mut known,
                    cells,
                    bound,
                    processes,
                    post,
                } => {
                    known.extend(condition.iter().map(|&term| Fol::Term(term)));
                    let context = self.context(Context {
                        known,
                        processes: processes.clone(),
                        post: Rc::new(post),
                        bound,
                        depth,
                    })?;
                    let ways = self.start(cells, &processes, depth)?;
                    questions.extend(self.faults(context));
                    for way in ways {
                        questions.extend(self.invariants(context, &way.state));
                        let at = goals.next().ok_or("a goal of it is missing")?;
                        self.derive(*at, context, way.state, &[])?;
                    }
                }
            }
        }
        match goals.next() {
            Some(_) => Err("it has a goal too many".to_owned()),
            None => self.answer(questions, leaves),
        }
    }

    /// The context of a box, which must be the next one that the file has.
    fn context(&mut self, context: Context) -> Checked<usize> {
        let at = self.contexts.len();
        let known = context.known.iter();
        let text: Vec<String> = known.map(|f| self.names().formula(f)).collect();
        let numbers: Vec<String> = context.processes.iter().map(ToString::to_string).collect();
        let written = self.proof.contexts.get(at);
        if written.is_none_or(|w| w.known != text || w.processes != numbers) {
            return Err("a box is in another context".to_owned());
        }
        self.contexts.push(context);
        Ok(at)
    }

    fn start(
        &mut self,
        cells: Vec<Term>,
        processes: &[usize],
        depth: u32,
    ) -> Checked<Vec<Branch<'p>>> {
        let program = self.stepper.program;
        let mut ways = vec![Branch::at(State {
            cells,
            locks: vec![None; self.stepper.layout.lock_cells],
            threads: Vec::new(),
            condition: Vec::new(),
        })];
        for &at in processes {
            let mut next = Vec::new();
            for way in ways {
                let mut state = way.state;
                state
                    .threads
                    .push(Thread::new(at, &program.processes[at], depth));
                let settled = self.stepper.settle(state, ProcessId(at as u32));
                next.extend(settled.map_err(|()| "its start has too many ways")?);
            }
            next.retain(|way: &Branch<'p>| !way.discarded);
            ways = next;
        }
        Ok(ways)
    }

    /// The questions must be those of the file, in whatever order, and each must have the answer yes.
    fn answer(&mut self, questions: Vec<Question>, written: &[LeafRecord]) -> Checked {
        let mut written: Vec<&LeafRecord> = written.iter().collect();
        for question in questions {
            let Question {
                what,
                known,
                condition,
                denied,
            } = question;
            let terms = &mut self.stepper.terms;
            let truth = decide(terms, self.solver, &known, &condition, &denied);
            let shown = truth == Truth::Proved;
            let leaf = self.names().leaf(&Leaf {
                what,
                denied,
                truth,
            });
            if !shown {
                return Err(format!("{} was not shown: `{}`", leaf.what, leaf.must));
            }
            let at = written.iter().position(|&written| *written == leaf);
            let at = at.ok_or_else(|| format!("it does not ask for `{}`", leaf.must))?;
            written.remove(at);
        }
        match written.first() {
            Some(leaf) => Err(format!("it asks for `{}`, which is not asked", leaf.must)),
            None => Ok(()),
        }
    }

    fn must(&mut self, what: What, context: usize, condition: &[Term], must: Term) -> Question {
        Question {
            what,
            known: Rc::new(self.contexts[context].known.clone()),
            condition: condition.to_vec(),
            denied: Fol::Term(self.stepper.terms.not(must)),
        }
    }

    /// What the step that was just made must not do wrong.
    fn faults(&mut self, context: usize) -> Vec<Question> {
        let obligations = std::mem::take(&mut self.stepper.obligations).into_iter();
        let question = |o: Obligation| {
            let what = What::Fault(o.what, o.span);
            self.must(what, context, &o.known, o.must)
        };
        obligations.map(question).collect()
    }

    /// The file's invariants after a step.
    fn invariants(&mut self, context: usize, state: &State<'p>) -> Vec<Question> {
        let mut all = Vec::new();
        for (number, property) in self.stepper.program.invariants.iter().enumerate() {
            let mut lower = self.lower(String::new());
            let must = lower.condition(&property.expr, &state.cells, &[]);
            if must != Term::TRUE {
                let what = What::Invariant(number);
                all.push(self.must(what, context, &state.condition, must));
            }
        }
        all
    }

    /// A goal is derived: it must be what the file says it is.
    fn derive(
        &mut self,
        at: usize,
        context: usize,
        state: State<'p>,
        path: &[EventRecord],
    ) -> Checked {
        let written = self.proof.goals.get(at);
        let written = written.ok_or_else(|| format!("there is no goal {at}"))?;
        let names = self.names();
        let derived = GoalRecord {
            id: at,
            context,
            path: path.to_vec(),
            condition: names.terms(&state.condition),
            substitution: names.substitution(&state),
            pool: names.pool(&state),
            locks: names.locks(&state),
            rule: written.rule.clone(),
        };
        if &derived != written {
            return Err(format!("goal {at} does not follow as it is written"));
        }
        if self.derived[at].replace((context, state)).is_some() {
            return Err(format!("goal {at} follows twice"));
        }
        self.open.push(at);
        Ok(())
    }

    fn goal(&mut self, at: usize) -> Checked {
        let (context, state) = self.derived[at].clone().ok_or("it was not derived")?;
        let goal = &self.proof.goals[at];
        match &goal.rule {
            RuleRecord::Open { why } => Err(format!("it is open: {why}")),
            RuleRecord::Close { leaf } => {
                let what = What::Infeasible;
                let question = self.must(what, context, &state.condition, Term::FALSE);
                self.answer(vec![question], std::slice::from_ref(leaf))
            }
            RuleRecord::Reduce { leaves, goals } => {
                if !state.threads.is_empty() {
                    return Err("not everybody has ended".to_owned());
                }
                let context = self.contexts[context].clone();
                let (mut bound, mut parts) = (context.bound, Vec::new());
                let mut lower = self.lower(at.to_string());
                let (known, cells) = (context.known, &state.cells);
                let taken = lower.parts(known, cells, &mut bound, &context.post, &mut parts);
                taken.map_err(|error| error.to_string())?;
                self.parts(parts, &state.condition, context.depth + 1, leaves, goals)
            }
            RuleRecord::Merge { to } => {
                let Some((other, same)) = self.derived.get(*to).and_then(Option::as_ref) else {
                    return Err(format!("goal {to} comes later"));
                };
                let points = same.same_points(&state) && same.values().eq(state.values());
                if *other != context || !points || !same_set(&same.condition, &state.condition) {
                    return Err(format!("it is not the same as goal {to}"));
                }
                match commute(&goal.path, &self.proof.goals[*to].path) {
                    true => Ok(()),
                    false => Err(format!("its path is no permutation of that of goal {to}")),
                }
            }
            RuleRecord::Schedule { steps, deadlock } => {
                self.schedule(at, context, &state, steps, deadlock.as_ref())
            }
            RuleRecord::Generalise { leaves, values, to } => {
                self.generalise(context, &state, leaves, values, *to)
            }
            RuleRecord::Back { leaves, to } => self.back(context, &state, leaves, *to),
        }
    }

    fn schedule(
        &mut self,
        at: usize,
        context: usize,
        state: &State<'p>,
        steps: &[StepRecord],
        deadlock: Option<&LeafRecord>,
    ) -> Checked {
        if state.threads.is_empty() || steps.len() != state.threads.len() {
            return Err("not all threads make a step".to_owned());
        }
        let mut enabled = Vec::new();
        for (thread, step) in state.threads.iter().zip(steps) {
            let name = self.stepper.table.path(thread.process).to_string();
            if step.process != name || rule(thread, &self.stepper.terms) != Some(step.rule) {
                return Err(format!("the step of process {name} is by another rule"));
            }
            let ways = self.stepper.step(state, thread.process);
            let mut ways = ways.map_err(|()| "a step has too many ways")?;
            let faults = self.faults(context);
            self.answer(faults, &step.leaves)?;
            for way in &ways {
                let new = &way.state.condition[state.condition.len()..];
                enabled.push(possible(&mut self.stepper.terms, new, &way.chosen));
            }
            ways.retain(|way| !way.discarded);
            if ways.len() != step.ways.len() {
                return Err(format!("process {name} can go {} ways", ways.len()));
            }
            for (way, written) in ways.into_iter().zip(&step.ways) {
                let invariants = self.invariants(context, &way.state);
                self.answer(invariants, &written.leaves)?;
                let mut path = self.proof.goals[at].path.clone();
                if step.rule != Rule::Spent {
                    let next = self.proof.goals.get(written.to);
                    let event = next.and_then(|goal| goal.path.last());
                    let event = event.filter(|event| event.process == name);
                    path.push(event.ok_or("a step is missing from a path")?.clone());
                }
                self.derive(written.to, context, way.state, &path)?;
            }
        }
        let must = self.stepper.terms.any(enabled);
        let question = self.must(What::Deadlock, context, &state.condition, must);
        match (deadlock, self.proof.deadlock) {
            (None, true) => Err("whether somebody can go on was not asked".to_owned()),
            (None, false) => Ok(()),
            (Some(leaf), _) => self.answer(vec![question], std::slice::from_ref(leaf)),
        }
    }

    /// The invariants that may be assumed at these points: those of the file, and of loops before whose test a thread stands.
    fn assumed(&mut self, state: &State<'p>) -> Vec<(What, Term)> {
        let program = self.stepper.program;
        let mut lower = self.lower(String::new());
        let mut all = Vec::new();
        for (number, property) in program.invariants.iter().enumerate() {
            let must = lower.condition(&property.expr, &state.cells, &[]);
            all.push((What::Invariant(number), must));
        }
        for (at, thread) in state.threads.iter().enumerate() {
            if let Some(Item::Again(stmt)) = thread.work.last()
                && let StmtKind::While {
                    bound, invariants, ..
                } = &stmt.kind
                && bound.is_none()
            {
                for invariant in invariants {
                    let must = lower.condition_in(invariant, state, at);
                    all.push((What::LoopInvariant(invariant.span), must));
                }
            }
        }
        all
    }

    fn generalise(
        &mut self,
        context: usize,
        state: &State<'p>,
        leaves: &[LeafRecord],
        replaced: &[String],
        to: usize,
    ) -> Checked {
        let now = self.assumed(state).into_iter();
        let now = now.map(|(what, must)| self.must(what, context, &state.condition, must));
        let now = now.collect();
        self.answer(now, leaves)?;
        let places = self.names().places(state);
        let mut values: Vec<Term> = state.values().collect();
        for (place, value) in places.iter().zip(&mut values) {
            if replaced.contains(place) {
                let sort = self.stepper.terms.sort(*value);
                // Nothing else has this name: it is that of a goal that is derived once.
                let name = format!("{place}'{to}");
                *value = self.stepper.terms.variable(Kind::Initial, &name, sort);
            }
        }
        let mut general = state.with_values(&mut values.iter().copied());
        let terms = &self.stepper.terms;
        let alive = terms.variables_of(&values);
        let lives = |&term: &Term| {
            terms
                .variables_of(&[term])
                .iter()
                .all(|v| alive.contains(v))
        };
        general.condition.retain(lives);
        for (_, assumed) in self.assumed(&general) {
            if assumed != Term::TRUE && !general.condition.contains(&assumed) {
                general.condition.push(assumed);
            }
        }
        self.derive(to, context, general, &[])
    }

    fn back(
        &mut self,
        context: usize,
        state: &State<'p>,
        leaves: &[LeafRecord],
        to: usize,
    ) -> Checked {
        let Some((other, general)) = self.derived.get(to).cloned().flatten() else {
            return Err(format!("goal {to} comes later"));
        };
        if other != context || !general.same_points(state) {
            return Err(format!("goal {to} is at other points"));
        }
        // The values that were replaced in the other goal are known by their names.
        let mark = format!("'{to}");
        let mut map = FxHashMap::default();
        let terms = &mut self.stepper.terms;
        let pairs: Vec<(Term, Term)> = general.values().zip(state.values()).collect();
        for &(their, our) in &pairs {
            let made_up = terms
                .variable_of(their)
                .is_some_and(|v| v.name.ends_with(&mark));
            if terms.sort(their) != terms.sort(our) {
                return Err("a value is of another type".to_owned());
            }
            if made_up {
                map.insert(their, our);
            }
        }
        let mut must = Vec::new();
        for (their, our) in pairs {
            let their = terms.substitute(their, |part| map.get(&part).copied());
            if their != our {
                must.push(terms.equal(their, our));
            }
        }
        for &term in &general.condition {
            let term = terms.substitute(term, |part| map.get(&part).copied());
            if term != Term::TRUE && !state.condition.contains(&term) {
                must.push(term);
            }
        }
        let must = must.into_iter();
        let questions = must.map(|t| self.must(What::Instance, context, &state.condition, t));
        let questions = questions.collect();
        self.answer(questions, leaves)
    }

    /// Goals that are reduced to each other without a step prove nothing.
    fn cycles(&self) -> Result<(), Rejected> {
        let next = |at: usize| match self.proof.goals[at].rule {
            RuleRecord::Merge { to }
            | RuleRecord::Generalise { to, .. }
            | RuleRecord::Back { to, .. } => Some(to),
            _ => None,
        };
        for start in 0..self.proof.goals.len() {
            let mut at = next(start);
            for _ in 0..self.proof.goals.len() {
                at = at.and_then(next);
            }
            if at.is_some() {
                return Err(Rejected::Goal(
                    start,
                    "it is reduced to itself without a step".to_owned(),
                ));
            }
        }
        Ok(())
    }
}

fn same_set(a: &[Term], b: &[Term]) -> bool {
    a.iter().all(|term| b.contains(term)) && b.iter().all(|term| a.contains(term))
}

/// Whether one path is the other with steps swapped that do not conflict.
fn commute(a: &[EventRecord], b: &[EventRecord]) -> bool {
    let meet = |x: &[String], y: &[String]| x.iter().any(|name| y.contains(name));
    let conflict = |x: &EventRecord, y: &EventRecord| {
        x.process == y.process
            || meet(&x.writes, &y.writes)
            || meet(&x.writes, &y.reads)
            || meet(&x.reads, &y.writes)
    };
    let mut rest: Vec<&EventRecord> = b.iter().collect();
    let found = a.iter().all(|event| {
        let at = rest.iter().position(|other| *other == event);
        let free = at.is_some_and(|at| !rest[..at].iter().any(|other| conflict(other, event)));
        if let Some(at) = at {
            rest.remove(at);
        }
        free
    });
    found && rest.is_empty()
}
