//! Checks a proof. The checker knows the rules but not how to find a proof: it derives each sequent
//! again by the recorded rule, compares the sequent with the file, and asks the solver each
//! question again. Its implementation of steps (`step.rs`) is separate from that of the search. The
//! two share the representation of states, the meaning of expressions and first-order formulas, the
//! variables that a statement mentions, and the rendering of sequents.
//!
//! A merge is accepted if both goals have equal states and their paths are permutations in which
//! conflicting steps keep their order. The file records the accesses of each step. The recorded
//! accesses must be the accesses that the statement of the step mentions, and must include all
//! accesses that the step of the checker makes. A goal may lead back to an earlier goal: `loops.rs`
//! explains why this is sound if every cycle contains a SCHEDULE.

mod step;

use std::sync::Arc;

use mazurka_core::Event;
use mazurka_core::proof::{
    EventRecord, LeafRecord, Proof, Rule, RuleRecord, StepRecord, VERSION, WayRecord,
};
use mazurka_smt::{Kind, Solver, Term};
use rustc_hash::FxHashMap;

use crate::eval::Obligation;
use crate::fol::{Fol, Part, Truth, decide, possible};
use crate::pool::{State, Thread, rule};
use crate::render::ReachedSequent;
use crate::sequent::{Context, Leaf, Subject};
use crate::world::{Branch, World};
use crate::{DeadlockFree, Formula, Theorem};
use step::Machine;

/// The reason why a proof is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// The proof has another version.
    #[error("this proof has version {0}, and this Mazurka checks version {VERSION}")]
    Version(u32),
    /// The formula is not split correctly.
    #[error("the goal itself: {0}")]
    Root(String),
    /// A goal is not reduced correctly.
    #[error("goal {0}: {1}")]
    Goal(usize, String),
}

/// A sequent: the context of its box, and its state.
#[derive(Clone)]
struct Sequent<'p> {
    context: usize,
    state: State<'p>,
}

struct Checker<'p, 's> {
    proof: &'s Proof,
    world: World<'p>,
    solver: &'s mut dyn Solver,
    contexts: Vec<Context>,
    /// For each goal, its sequent; `None` until the sequent is derived.
    derived: Vec<Option<Sequent<'p>>>,
}

type Checked<T = ()> = Result<T, String>;

/// Checks a proof, and stops if `watch` returns an error at a goal. Returns what the proof shows
/// about deadlocks.
pub(crate) fn check(
    proof: &Proof,
    theorem: &Theorem<'_>,
    solver: &mut dyn Solver,
    watch: &mut dyn FnMut(usize) -> Result<(), Rejected>,
) -> Result<DeadlockFree, Rejected> {
    if proof.version != VERSION {
        return Err(Rejected::Version(proof.version));
    }
    if proof.goal.as_deref() != theorem.goal || proof.program.hash != theorem.record.hash {
        return Err(Rejected::Root(
            "it is a proof of another goal, or about another program".to_owned(),
        ));
    }
    let mut checker = Checker {
        proof,
        world: World::new(theorem),
        solver,
        contexts: Vec::new(),
        derived: proof.goals.iter().map(|_| None).collect(),
    };
    if checker.world.names().statements() != proof.statements {
        return Err(Rejected::Root(
            "its statements are not those of the program".to_owned(),
        ));
    }
    let shown = checker.roots(theorem.formula).map_err(Rejected::Root)?;
    // Every goal is derived from an earlier goal.
    for at in 0..proof.goals.len() {
        watch(at)?;
        checker.goal(at).map_err(|why| Rejected::Goal(at, why))?;
    }
    let all = checker.contexts.len() == proof.contexts.len();
    require(all, "it has a box that the formula does not have").map_err(Rejected::Root)?;
    Ok(shown)
}

/// Returns `why` as the reason to reject the proof, if a condition does not hold.
fn require(holds: bool, why: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}

impl<'p> Checker<'p, '_> {
    fn roots(&mut self, formula: &Formula) -> Checked<DeadlockFree> {
        let parts = self.world.open(formula);
        let parts = parts.map_err(|error| error.to_string())?;
        let shown = self.world.deadlock_freedom(self.proof.deadlock, &parts);
        let derived = self.parts(parts, &[], 0, &self.proof.roots)?;
        let written = (self.proof.leaves.clone(), self.proof.roots.clone());
        require(
            derived == written,
            "it is not split into the recorded questions and goals",
        )?;
        Ok(shown)
    }

    /// Derives the questions and goals of the parts of a formula. `goals` gives the indices of the
    /// goals in the file.
    fn parts(
        &mut self,
        parts: Vec<Part>,
        condition: &[Term],
        depth: u32,
        goals: &[usize],
    ) -> Checked<(Vec<LeafRecord>, Vec<usize>)> {
        let (mut leaves, mut boxes) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Part::Leaf { known, denied } => {
                    leaves.push(self.ask(Subject::Goal, &known, condition, denied)?);
                }
                Part::Box(mut context, cells) => {
                    let assumed = condition.iter().map(|&term| Fol::Term(term));
                    context.known.extend(assumed);
                    context.depth = depth;
                    let mut machine = Machine::new(&mut self.world);
                    let ways = machine.start(cells, &context.processes, depth)?;
                    let context = self.context(context)?;
                    leaves.extend(self.faults(context)?);
                    for Branch { state, .. } in ways {
                        let goal = Sequent { context, state };
                        leaves.extend(self.invariants(&goal)?);
                        let at = *goals
                            .get(boxes.len())
                            .ok_or("a goal for one of its boxes is missing")?;
                        boxes.push(at);
                        self.derive(at, goal, &[])?;
                    }
                }
            }
        }
        Ok((leaves, boxes))
    }

    /// Adds the context of a box, which must be the next context in the file.
    fn context(&mut self, context: Context) -> Checked<usize> {
        let at = self.contexts.len();
        if self.proof.contexts.get(at) != Some(&self.world.names().context(&context)) {
            return Err("a box is in another context".to_owned());
        }
        self.contexts.push(context);
        Ok(at)
    }

    /// Decides a question, and rejects the proof if it is not proved.
    fn ask(
        &mut self,
        what: Subject,
        known: &[Fol],
        condition: &[Term],
        denied: Fol,
    ) -> Checked<LeafRecord> {
        let terms = &mut self.world.terms;
        let truth = decide(terms, self.solver, known, condition, &denied);
        let shown = truth == Truth::Proved;
        let leaf = self.world.names().leaf(&Leaf {
            what,
            denied,
            truth,
        });
        if !shown {
            return Err(format!("{} was not shown: `{}`", leaf.what, leaf.must));
        }
        Ok(leaf)
    }

    fn must(&mut self, what: Subject, goal: &Sequent<'p>, must: Term) -> Checked<LeafRecord> {
        let denied = Fol::Term(self.world.terms.not(must));
        let known = self.contexts[goal.context].known.clone();
        self.ask(what, &known, &goal.state.condition, denied)
    }

    fn each(&mut self, goal: &Sequent<'p>, all: Vec<(Subject, Term)>) -> Checked<Vec<LeafRecord>> {
        let all = all.into_iter();
        all.map(|(what, must)| self.must(what, goal, must))
            .collect()
    }

    /// Decides the questions that show that the last step of the machine cannot fail.
    fn faults(&mut self, context: usize) -> Checked<Vec<LeafRecord>> {
        let known = self.contexts[context].known.clone();
        let obligations = std::mem::take(&mut self.world.obligations).into_iter();
        let ask = |o: Obligation| {
            let denied = Fol::Term(self.world.terms.not(o.must));
            self.ask(Subject::Fault(o.what, o.span), &known, &o.known, denied)
        };
        obligations.map(ask).collect()
    }

    /// Decides the questions that show that the file's invariants hold after a step.
    fn invariants(&mut self, goal: &Sequent<'p>) -> Checked<Vec<LeafRecord>> {
        let mut all = self.world.invariants(&goal.state, false);
        all.retain(|&(_, must)| must != Term::TRUE);
        self.each(goal, all)
    }

    /// Derives a goal, which must agree with the file.
    fn derive(&mut self, at: usize, goal: Sequent<'p>, path: &[Arc<EventRecord>]) -> Checked {
        let written = self.proof.goals.get(at);
        let written = written.ok_or_else(|| format!("there is no goal {at}"))?;
        let (names, rule) = (self.world.names(), written.rule.clone());
        let reached = ReachedSequent {
            state: &goal.state,
            context: goal.context,
            path: path.to_vec(),
        };
        if names.goal(at, reached, rule) != *written {
            return Err(format!("goal {at} is not the recorded one"));
        }
        match self.derived[at].replace(goal) {
            Some(_) => Err(format!("goal {at} follows twice")),
            None => Ok(()),
        }
    }

    /// Returns the state of another goal, which must already be derived and whose threads must be
    /// at the same points.
    fn other(&self, at: usize, goal: &Sequent<'p>) -> Checked<State<'p>> {
        let other = self.derived.get(at).and_then(Option::as_ref);
        let same = |other: &&Sequent<'p>| {
            other.context == goal.context && other.state.same_points(&goal.state)
        };
        let other = other.filter(same).map(|other| other.state.clone());
        other.ok_or_else(|| format!("goal {at} comes later, or is at other points"))
    }

    /// Checks a goal to which another goal leads without a step: it must be scheduled or closed, or
    /// lead only to inner boxes. So every cycle contains a step.
    fn check_target(&self, at: usize) -> Checked {
        use RuleRecord::{Close, Reduce, Schedule};
        match self.proof.goals.get(at).map(|goal| &goal.rule) {
            Some(Schedule { .. } | Close { .. } | Reduce { .. }) => Ok(()),
            _ => Err(format!(
                "its rule makes no step, and neither does the rule of goal {at}"
            )),
        }
    }

    /// Applies the recorded rule of a goal again, and compares the result with the file.
    fn goal(&mut self, at: usize) -> Checked {
        let goal = self.derived[at]
            .clone()
            .ok_or("no earlier goal leads to it")?;
        let (written, state) = (&self.proof.goals[at], &goal.state);
        let derived = match &written.rule {
            RuleRecord::Open { why } => return Err(format!("it is open: {why}")),
            RuleRecord::Close { .. } => RuleRecord::Close {
                leaf: self.must(Subject::Infeasible, &goal, Term::FALSE)?,
            },
            RuleRecord::Reduce { goals, .. } => self.reduce(at, &goal, goals)?,
            RuleRecord::Merge { to } => {
                let other = self.other(*to, &goal)?;
                let within = |a: &[Term], b: &[Term]| a.iter().all(|term| b.contains(term));
                let assumed = within(&state.condition, &other.condition)
                    && within(&other.condition, &state.condition);
                if *to >= at || !assumed || !other.values().eq(state.values()) {
                    return Err(format!("it is not the same as goal {to}"));
                }
                if !commute(&written.path, &self.proof.goals[*to].path) {
                    return Err(format!("its path does not permute that of goal {to}"));
                }
                written.rule.clone()
            }
            RuleRecord::Schedule { steps, .. } => self.schedule(&goal, &written.path, steps)?,
            RuleRecord::Generalise { values, to, .. } => self.generalise(&goal, values, *to)?,
            RuleRecord::Back { to, .. } => self.back(&goal, *to)?,
        };
        let same = derived == written.rule;
        require(same, "its rule does not give the recorded result")
    }

    fn reduce(&mut self, at: usize, goal: &Sequent<'p>, goals: &[usize]) -> Checked<RuleRecord> {
        if !goal.state.threads.is_empty() {
            return Err("some process has not ended".to_owned());
        }
        let context = self.contexts[goal.context].clone();
        let mut bound = context.bound;
        let mut lower = self.world.lower(at.to_string());
        let (known, cells) = (context.known, &goal.state.cells);
        let parts = lower.parts(known, cells, &mut bound, &context.post);
        let parts = parts.map_err(|error| error.to_string())?;
        let (condition, depth) = (&goal.state.condition, context.depth + 1);
        let (leaves, goals) = self.parts(parts, condition, depth, goals)?;
        Ok(RuleRecord::Reduce { leaves, goals })
    }

    fn schedule(
        &mut self,
        goal: &Sequent<'p>,
        path: &[Arc<EventRecord>],
        written: &[StepRecord],
    ) -> Checked<RuleRecord> {
        let context = goal.context;
        if goal.state.threads.is_empty() || written.len() != goal.state.threads.len() {
            return Err("not all threads make a step".to_owned());
        }
        let (mut steps, mut enabled) = (Vec::new(), Vec::new());
        for (thread, step) in goal.state.threads.iter().zip(written) {
            let process = self.world.table.path(thread.process).to_string();
            let rule = rule(thread, &self.world.terms).ok_or("a thread is not before a step")?;
            let mut machine = Machine::new(&mut self.world);
            let mut ways = machine.step(&goal.state, thread.process)?;
            let leaves = self.faults(context)?;
            for way in &ways {
                let new = &way.state.condition[goal.state.condition.len()..];
                enabled.push(possible(&mut self.world.terms, new, &way.chosen));
            }
            ways.retain(|way| !way.discarded);
            if ways.len() != step.ways.len() {
                return Err(format!(
                    "the step of process {process} has {} branches",
                    ways.len()
                ));
            }
            let mut after = Vec::new();
            for (way, WayRecord { to, .. }) in ways.into_iter().zip(&step.ways) {
                let mut path = path.to_vec();
                if rule != Rule::Spent {
                    path.push(Arc::new(self.event(thread, &way)?));
                }
                let state = way.state;
                let next = Sequent { context, state };
                let leaves = self.invariants(&next)?;
                self.derive(*to, next, &path)?;
                after.push(WayRecord { leaves, to: *to });
            }
            steps.push(StepRecord {
                process,
                rule,
                leaves,
                ways: after,
            });
        }
        let must = self.world.terms.any(enabled);
        let stuck = self.proof.deadlock;
        let deadlock = stuck
            .then(|| self.must(Subject::Deadlock, goal, must))
            .transpose()?;
        Ok(RuleRecord::Schedule { steps, deadlock })
    }

    /// Returns the event of the last step of the machine. Fails if the step touched a cell that its
    /// statement does not claim.
    fn event(&self, thread: &Thread<'p>, way: &Branch<'p>) -> Checked<EventRecord> {
        let mut event = Event::new(thread.process, 0);
        (event.claims, event.touched) = self.world.claims_and_reads(thread);
        event.spawned.clone_from(&way.spawned);
        event.joined.clone_from(&way.joined);
        let claimed = |cell: usize, writes: bool| {
            let mut claims = event.claims.iter();
            claims.any(|claim| claim.cells().contains(&cell) && (claim.writes() || !writes))
        };
        let mut touched = self.world.touched.iter().map(|(touch, _)| touch);
        let all = touched.all(|touch| touch.cells().all(|cell| claimed(cell, touch.writes())));
        require(all, "a step touches what it does not claim")?;
        Ok(self.world.names().event(&event))
    }

    fn generalise(
        &mut self,
        goal: &Sequent<'p>,
        replaced: &[String],
        to: usize,
    ) -> Checked<RuleRecord> {
        self.check_target(to)?;
        if self.derived.get(to).is_none_or(Option::is_some) {
            return Err(format!("goal {to} is not new"));
        }
        let now = self.world.invariants(&goal.state, true);
        let leaves = self.each(goal, now)?;
        let places = self.world.names().places(&goal.state);
        let terms = &mut self.world.terms;
        let mut values: Vec<Term> = goal.state.values().collect();
        let mut found = Vec::new();
        for (place, value) in places.into_iter().zip(&mut values) {
            if replaced.contains(&place) {
                // The name is unique, because the places differ and each goal is derived only once.
                let name = format!("{place}'{to}");
                *value = terms.variable(Kind::Initial, &name, terms.sort(*value));
                found.push(place);
            }
        }
        let mut state = goal.state.with_values(&mut values.iter().copied());
        let alive = terms.variables_of(&values);
        state.condition.retain(|&term| {
            let variables = terms.variables_of(&[term]);
            variables.iter().all(|variable| alive.contains(variable))
        });
        for (_, assumed) in self.world.invariants(&state, true) {
            if assumed != Term::TRUE && !state.condition.contains(&assumed) {
                state.condition.push(assumed);
            }
        }
        let context = goal.context;
        self.derive(to, Sequent { context, state }, &[])?;
        Ok(RuleRecord::Generalise {
            leaves,
            values: found,
            to,
        })
    }

    fn back(&mut self, goal: &Sequent<'p>, to: usize) -> Checked<RuleRecord> {
        self.check_target(to)?;
        let general = self.other(to, goal)?;
        let terms = &mut self.world.terms;
        let pairs: Vec<(Term, Term)> = general.values().zip(goal.state.values()).collect();
        if pairs.iter().any(|&(a, b)| terms.sort(a) != terms.sort(b)) {
            return Err("a value is of another type".to_owned());
        }
        // The names of the values that were replaced in the other goal end with the index of that
        // goal.
        let mark = format!("'{to}");
        let map = pairs.iter().copied().filter(|&(their, _)| {
            let variable = terms.variable_of(their);
            variable.is_some_and(|variable| variable.name.ends_with(&mark))
        });
        let map: FxHashMap<Term, Term> = map.collect();
        let mut must = Vec::new();
        for (their, our) in pairs {
            let their = terms.substitute(their, |part| map.get(&part).copied());
            if their != our {
                must.push((Subject::Instance, terms.equal(their, our)));
            }
        }
        for &term in &general.condition {
            let term = terms.substitute(term, |part| map.get(&part).copied());
            if term != Term::TRUE && !goal.state.condition.contains(&term) {
                must.push((Subject::Instance, term));
            }
        }
        let leaves = self.each(goal, must)?;
        Ok(RuleRecord::Back { leaves, to })
    }
}

/// Whether one path is a permutation of the other that keeps the order of conflicting steps. Takes
/// the steps of `a` in order: each must occur in the rest of `b`, and no earlier step of this rest
/// may conflict with it.
fn commute(a: &[Arc<EventRecord>], b: &[Arc<EventRecord>]) -> bool {
    let mut rest: Vec<&Arc<EventRecord>> = b.iter().collect();
    let found = a.iter().all(|event| {
        let first = rest.iter().position(|other| other.conflicts(event));
        first.is_some_and(|at| rest.remove(at) == event)
    });
    found && rest.is_empty()
}
