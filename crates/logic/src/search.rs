//! Proof search: SymPaths paper, section 4, Fig. 7 and DL-POR. The search processes the open goals
//! breadth first.
//!
//! | paper | here |
//! |---|---|
//! | Γ, φ ⇒ {σ}\[Σ\]Ψ | [`Goal`], with Γ and Ψ in its [`Context`] |
//! | Ω | the queue of [`Search::run`] |
//! | DLT-SCHEDULE with DLT-ASSIGN, … | [`AppliedRule::Schedule`], with the rules of `step.rs` |
//! | DLT-REDUCE | [`AppliedRule::Reduce`] |
//! | Γ, ⌈φ⌉ inconsistent | [`AppliedRule::Close`] |
//! | DL-POR | [`AppliedRule::Merge`]: equal points and values, equivalent paths (errata E5) |
//! | DL-POR, section 6.1 | [`AppliedRule::Back`] if elements certainly differ (`aliases.rs`) |
//!
//! Two paths are equivalent if swapping neighbouring independent steps turns one into the other.
//! docs/algorithms.md lists the errata.
//!
//! Loops are handled in `loops.rs`.
//!
//! Deviations: goals with equal fingerprints are merged only if their values are equal too. The
//! language of the paper has no assertions, indices, divisions or invariants of the file. Here the
//! questions about these are leaves of the step that they belong to.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::rc::Rc;

use mazurka_core::proof::Rule;
use mazurka_core::{Bound, Event, Fingerprint, Outcome, ProcessId, TraceHasher};
use mazurka_smt::{Solver, Term};
use rustc_hash::FxHashMap;

use crate::aliases::{ByPoints, Touched};
use crate::eliminate::Eliminate;
use crate::eval::Obligation;
use crate::fol::{Fol, Misplaced, Part, Truth, decide, possible};
use crate::loops::endless;
use crate::pool::{State, initial_cells, rule};
use crate::results::GoalResults;
use crate::sequent::{Context, Leaf, Subject};
use crate::step::{self, StepTooLarge};
use crate::world::World;
use crate::{Formula, Options, Theorem};

/// A goal: a sequent, and the rule that was applied to it.
#[derive(Debug)]
pub(crate) struct Goal<'p> {
    pub state: State<'p>,
    pub context: usize,
    /// The goal at which its path begins: the first goal of the box, or a generalised goal.
    pub segment: usize,
    /// The event of the step to this goal, if it has one. It extends the path of the parent.
    pub event: Option<Event>,
    /// The goal that led to this goal, by a step or by another rule; `None` for a root.
    pub parent: Option<usize>,
    /// The process that made the step to this goal.
    pub process: Option<ProcessId>,
    /// The cells that the step to this goal has touched, on all branches of the step.
    pub touched: Rc<[Touched]>,
    /// Whether a step of its path has touched an element whose index is not a constant.
    pub elements: bool,
    /// For a generalised goal, the positions of the values that were replaced.
    pub changed: Vec<usize>,
    /// The rule that was applied to the goal.
    pub by: AppliedRule,
}

/// The rule by which a goal was reduced, and the resulting goals.
#[derive(Debug)]
pub(crate) enum AppliedRule {
    /// No rule was applied.
    Open(OpenReason),
    /// SCHEDULE: every thread makes its next step.
    Schedule {
        steps: Vec<ThreadStep>,
        /// The question whether some process can continue, if the options require deadlock freedom.
        deadlock: Option<Leaf>,
    },
    /// REDUCE: every thread has ended. The questions are about the first-order parts of Ψ. `boxes`
    /// has the goals of the boxes in Ψ.
    Reduce {
        leaves: Vec<Leaf>,
        boxes: Vec<usize>,
    },
    /// The assumptions contradict each other. This leaf is the question that shows it.
    Close(Leaf),
    /// DL-POR: the goal equals this earlier goal.
    Merge(usize),
    /// The goal follows from a more general goal (`loops.rs`).
    Generalise {
        leaves: Vec<Leaf>,
        /// The more general goal.
        to: usize,
    },
    /// The goal is an instance of an earlier goal (`loops.rs`).
    Back {
        leaves: Vec<Leaf>,
        /// The earlier goal.
        to: usize,
    },
}

/// The reason why a goal is open.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OpenReason {
    /// The goal was not processed.
    Waiting,
    /// A loop without an invariant was unfolded this often.
    Unfolded(u32),
    /// A step of this process does too much work.
    StepTooLarge(String),
    /// The search was broken off.
    Bound(Bound),
}

impl std::fmt::Display for OpenReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OpenReason::Waiting => f.write_str("it was not processed"),
            OpenReason::Unfolded(rounds) => write!(
                f,
                "a loop without an invariant went round more than {rounds} times"
            ),
            OpenReason::StepTooLarge(process) => write!(
                f,
                "a step of process {process} does too much, or has too many ways to go: give the loop in it an invariant"
            ),
            OpenReason::Bound(_) => f.write_str("the search was broken off"),
        }
    }
}

/// The step of one thread.
#[derive(Debug)]
pub(crate) struct ThreadStep {
    pub process: ProcessId,
    pub rule: Rule,
    /// The questions that show that the step cannot fail.
    pub leaves: Vec<Leaf>,
    pub ways: Vec<StepBranch>,
}

/// A branch of a step.
#[derive(Debug)]
pub(crate) struct StepBranch {
    /// The questions that show that the invariants hold after the branch.
    pub leaves: Vec<Leaf>,
    pub to: usize,
}

/// A state after a step, with the step.
struct Successor<'p> {
    state: State<'p>,
    process: ProcessId,
    touched: Rc<[Touched]>,
    /// `None` if the step has no event.
    event: Option<Event>,
}

/// The reason why a search cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The formula has a misplaced box.
    #[error(transparent)]
    Misplaced(#[from] Misplaced),
}

/// A proof under construction.
pub(crate) struct Search<'p, 's> {
    pub world: World<'p>,
    pub solver: &'s mut dyn Solver,
    pub options: &'s Options,
    pub contexts: Vec<Context>,
    pub goals: Vec<Goal<'p>>,
    /// The questions about the initial state that the formula was split into.
    pub leaves: Vec<Leaf>,
    /// The goals with boxes that the formula was split into.
    pub roots: Vec<usize>,
    /// Whether one of the boxes includes all runs of the program.
    pub whole: bool,
    queue: VecDeque<usize>,
    /// The summary of the goals that were processed.
    pub results: GoalResults,
    /// The number of goals that were merged.
    pub merged: u64,
    /// Goals by context, segment and the fingerprint of the path.
    known: FxHashMap<(usize, usize, Fingerprint), Vec<usize>>,
    /// The goals that were made by generalising another goal.
    pub generalised: Vec<usize>,
    /// Whether there are unbounded loops. If so, goals are also looked up by their states.
    pub endless: bool,
    /// The scheduled goals, by a hash of their points and values. Empty without unbounded loops.
    pub by_state: FxHashMap<u64, Vec<usize>>,
    /// The goals whose paths touch elements at unknown indices.
    pub by_points: ByPoints,
}

impl<'p, 's> Search<'p, 's> {
    pub fn new(theorem: &Theorem<'p>, solver: &'s mut dyn Solver, options: &'s Options) -> Self {
        Self {
            world: World::new(theorem),
            solver,
            options,
            contexts: Vec::new(),
            goals: Vec::new(),
            leaves: Vec::new(),
            roots: Vec::new(),
            whole: false,
            queue: VecDeque::new(),
            results: GoalResults::default(),
            merged: 0,
            known: FxHashMap::default(),
            generalised: Vec::new(),
            endless: endless(theorem.program),
            by_state: FxHashMap::default(),
            by_points: ByPoints::default(),
        }
    }

    /// Splits a formula into boxes and first-order formulas.
    pub fn open(
        &mut self,
        formula: &Formula,
        watch: &mut dyn FnMut(u64) -> ControlFlow<Bound>,
    ) -> Result<(), Unsupported> {
        if !formula.has_rules() {
            self.leaves = vec![self.decided(formula, watch)];
            return Ok(());
        }
        let parts = self.world.open(formula)?;
        self.whole = parts.iter().any(|part| self.is_whole(part));
        (self.leaves, self.roots) = self.open_parts(parts, &[], None)?;
        Ok(())
    }

    /// Decides a formula that has boxes without rules, as one question about the meaning of the
    /// boxes.
    fn decided(
        &mut self,
        formula: &Formula,
        watch: &mut dyn FnMut(u64) -> ControlFlow<Bound>,
    ) -> Leaf {
        let cells = initial_cells(self.world.program, &mut self.world.terms);
        let known: Vec<Fol> = self
            .world
            .required(&cells)
            .into_iter()
            .map(Fol::Term)
            .collect();
        let mut states = 0;
        let mut bound = None;
        let continue_check = &mut || {
            states += 1;
            bound = watch(states).break_value();
            match bound {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        };
        let mut eliminate = Eliminate::new(&mut self.world, self.solver, continue_check);
        let denied = eliminate.formula(formula, &cells, &mut Vec::new(), false);
        self.results.counts.schedules += states;
        self.results.bound = bound;
        match denied {
            Ok(denied) => self.ask(Subject::Goal, &known, Vec::new(), denied),
            Err(why) => Leaf {
                what: Subject::Goal,
                denied: Fol::Term(Term::TRUE),
                truth: Truth::Unknown(why),
            },
        }
    }

    /// Whether a part is a box over all processes that starts in all initial states of the program.
    /// Only such a box says something about all states of the program. A box after an update, under
    /// a premise or without some process does not.
    fn is_whole(&mut self, part: &Part) -> bool {
        let Part::Box(context, cells) = part else {
            return false;
        };
        let world = &mut self.world;
        let initial = initial_cells(world.program, &mut world.terms);
        let required = world.required(&initial);
        let processes = 0..world.program.processes.len();
        *cells == initial
            && processes
                .into_iter()
                .all(|at| context.processes.contains(&at))
            && context.known.iter().all(|known| {
                *known == Fol::Term(Term::TRUE)
                    || required.iter().any(|&term| *known == Fol::Term(term))
            })
    }

    /// Decides the questions among the parts of a formula, and makes goals of its boxes.
    fn open_parts(
        &mut self,
        parts: Vec<Part>,
        condition: &[Term],
        under: Option<usize>,
    ) -> Result<(Vec<Leaf>, Vec<usize>), Unsupported> {
        let (mut leaves, mut boxes) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Part::Leaf { known, denied } => {
                    leaves.push(self.ask(Subject::Goal, &known, condition.to_vec(), denied));
                }
                Part::Box(mut context, cells) => {
                    let assumed = condition.iter().map(|&term| Fol::Term(term));
                    context.known.extend(assumed);
                    let around = under.map(|at| self.contexts[self.goals[at].context].depth + 1);
                    let depth = around.unwrap_or(0);
                    context.depth = depth;
                    let processes = context.processes.clone();
                    self.contexts.push(context);
                    let context = self.contexts.len() - 1;
                    let before = State::new(cells.clone(), &self.world.layout);
                    let ways = match step::start(&mut self.world, cells, &processes, depth) {
                        Ok(ways) => ways,
                        Err(error) => {
                            let by = self.give_up(error);
                            let goal = self.add(before, context, under, None);
                            self.queue.pop_back();
                            self.reduced(goal, by);
                            boxes.push(goal);
                            continue;
                        }
                    };
                    leaves.extend(self.faults(context));
                    for way in ways {
                        leaves.extend(self.invariants(context, &way.state));
                        boxes.push(self.add(way.state, context, under, None));
                    }
                }
            }
        }
        Ok((leaves, boxes))
    }

    /// Adds a goal at the beginning of a path.
    pub fn add(
        &mut self,
        state: State<'p>,
        context: usize,
        parent: Option<usize>,
        changed: Option<Vec<usize>>,
    ) -> usize {
        let at = self.goals.len();
        self.goals.push(Goal {
            state,
            context,
            segment: at,
            event: None,
            parent,
            process: None,
            touched: Rc::default(),
            elements: false,
            changed: changed.unwrap_or_default(),
            by: AppliedRule::Open(OpenReason::Waiting),
        });
        self.queue.push_back(at);
        at
    }

    /// Asks whether Γ, the condition and the denied formula can hold together. The question is
    /// proved if they cannot.
    fn ask(&mut self, what: Subject, known: &[Fol], condition: Vec<Term>, denied: Fol) -> Leaf {
        let truth = decide(
            &mut self.world.terms,
            self.solver,
            known,
            &condition,
            &denied,
        );
        Leaf {
            what,
            denied,
            truth,
        }
    }

    pub fn ask_at(
        &mut self,
        what: Subject,
        context: usize,
        condition: Vec<Term>,
        must: Term,
    ) -> Leaf {
        let denied = Fol::Term(self.world.terms.not(must));
        let known = self.contexts[context].known.clone();
        self.ask(what, &known, condition, denied)
    }

    /// Reduces goals until no goal is left or the watch breaks the search off.
    pub fn run(
        &mut self,
        watch: &mut dyn FnMut(&Self) -> ControlFlow<Bound>,
    ) -> Result<(), Unsupported> {
        while let Some(at) = self.queue.pop_front() {
            if let ControlFlow::Break(bound) = watch(self) {
                self.reduced(at, AppliedRule::Open(OpenReason::Bound(bound)));
                break;
            }
            let by = self.reduce(at)?;
            self.reduced(at, by);
        }
        self.results.close();
        Ok(())
    }

    /// Records that a goal was processed.
    fn reduced(&mut self, at: usize, by: AppliedRule) {
        self.results.enter(at, &by);
        self.goals[at].by = by;
    }

    /// Returns the goals that were not processed, in order.
    pub fn waiting(&self) -> impl Iterator<Item = usize> {
        self.queue.iter().copied()
    }

    fn reduce(&mut self, at: usize) -> Result<AppliedRule, Unsupported> {
        if let Some(by) = self.close(at) {
            return Ok(by);
        }
        if let Some(by) = self.merge_by_elements(at) {
            return Ok(by);
        }
        if self.goals[at].state.threads.is_empty() {
            return self.end(at);
        }
        if self.too_deep(at) {
            return Ok(AppliedRule::Open(OpenReason::Unfolded(self.options.unfold)));
        }
        // A generalised goal must be scheduled.
        if (self.goals[at].segment != at || self.goals[at].changed.is_empty())
            && let Some(by) = self.handle_loops(at)
        {
            return Ok(by);
        }
        let scheduled = self.schedule(at);
        Ok(scheduled.unwrap_or_else(|error| self.give_up(error)))
    }

    /// Returns the result of a goal with a step that is too large.
    fn give_up(&mut self, StepTooLarge(process): StepTooLarge) -> AppliedRule {
        self.world.obligations.clear();
        self.world.touched.clear();
        AppliedRule::Open(OpenReason::StepTooLarge(process))
    }

    /// Closes a goal whose assumptions are contradictory. This is checked only if the goal has a
    /// new assumption.
    fn close(&mut self, at: usize) -> Option<AppliedRule> {
        let goal = &self.goals[at];
        let (condition, context) = (goal.state.condition.clone(), goal.context);
        let old = goal.parent.map(|p| self.goals[p].state.condition.len());
        if condition.contains(&Term::FALSE) {
            let leaf = self.ask_at(Subject::Infeasible, context, condition, Term::FALSE);
            return (leaf.truth == Truth::Proved).then_some(AppliedRule::Close(leaf));
        }
        if !self.options.feasible || old == Some(condition.len()) {
            return None;
        }
        let leaf = self.ask_at(Subject::Infeasible, context, condition, Term::FALSE);
        (leaf.truth == Truth::Proved).then_some(AppliedRule::Close(leaf))
    }

    /// Handles a goal in which every thread has ended. Ψ in this state remains to be shown.
    fn end(&mut self, at: usize) -> Result<AppliedRule, Unsupported> {
        let goal = &self.goals[at];
        let context = self.contexts[goal.context].clone();
        let (cells, condition) = (goal.state.cells.clone(), goal.state.condition.clone());
        let mut bound = context.bound;
        let mut lower = self.world.lower(at.to_string());
        let parts = lower.parts(context.known, &cells, &mut bound, &context.post)?;
        let (leaves, boxes) = self.open_parts(parts, &condition, Some(at))?;
        Ok(AppliedRule::Reduce { leaves, boxes })
    }

    /// Applies SCHEDULE: makes the next step of every thread.
    fn schedule(&mut self, at: usize) -> Result<AppliedRule, StepTooLarge> {
        if self.endless {
            let key = self.goals[at].state.key();
            self.by_state.entry(key).or_default().push(at);
        }
        let mut steps = Vec::new();
        let (before, context) = (self.goals[at].state.condition.len(), self.goals[at].context);
        let mut enabled = Vec::new();
        let mut hasher = self.hasher(at);
        for thread in 0..self.goals[at].state.threads.len() {
            let state = &self.goals[at].state;
            let process = state.threads[thread].process;
            let (claims, reads) = self.world.claims_and_reads(&state.threads[thread]);
            let Some(rule) = rule(&state.threads[thread], &self.world.terms) else {
                continue;
            };
            let state = state.clone();
            let made = step::step(&mut self.world, &state, process)?;
            let touched: Rc<[Touched]> = self.world.touched.clone().into();
            let leaves = self.faults(context);
            let mut ways = Vec::new();
            for branch in made {
                let new = &branch.state.condition[before..];
                let needs = possible(&mut self.world.terms, new, &branch.chosen);
                enabled.push(needs);
                if branch.discarded {
                    continue;
                }
                let mut event = Event::new(process, state.threads[thread].events);
                event.claims.clone_from(&claims);
                event.touched.clone_from(&reads);
                event.spawned.clone_from(&branch.spawned);
                event.joined.clone_from(&branch.joined);
                event.outcomes = branch.ways.iter().map(|&way| outcome(way)).collect();
                let leaves = self.invariants(context, &branch.state);
                let event = (rule != Rule::Spent).then_some(event);
                let successor = Successor {
                    state: branch.state,
                    process,
                    touched: Rc::clone(&touched),
                    event,
                };
                let to = self.follow(at, successor, &mut hasher);
                ways.push(StepBranch { leaves, to });
            }
            steps.push(ThreadStep {
                process,
                rule,
                leaves,
                ways,
            });
        }
        let deadlock = self.options.deadlock.then(|| {
            let condition = self.goals[at].state.condition.clone();
            let must = self.world.terms.any(enabled);
            self.ask_at(Subject::Deadlock, context, condition, must)
        });
        Ok(AppliedRule::Schedule { steps, deadlock })
    }

    /// Decides the questions that show that the last step cannot fail.
    fn faults(&mut self, context: usize) -> Vec<Leaf> {
        let obligations = std::mem::take(&mut self.world.obligations);
        self.world.touched.clear();
        let ask = |obligation: Obligation| {
            let what = Subject::Fault(obligation.what, obligation.span);
            self.ask_at(what, context, obligation.known, obligation.must)
        };
        obligations.into_iter().map(ask).collect()
    }

    /// Decides the questions that show that the file's invariants hold after a step.
    fn invariants(&mut self, context: usize, state: &State<'p>) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        for (what, must) in self.world.invariants(state, false) {
            if must != Term::TRUE {
                let condition = state.condition.clone();
                leaves.push(self.ask_at(what, context, condition, must));
            }
        }
        leaves
    }

    /// Returns the steps of the path of a goal, the last step first.
    pub fn path(&self, at: usize) -> impl Iterator<Item = &Event> {
        let before = |&at: &usize| {
            let goal = &self.goals[at];
            goal.parent.filter(|_| goal.segment != at)
        };
        let goals = std::iter::successors(Some(at), before);
        goals.filter_map(|at| self.goals[at].event.as_ref())
    }

    /// Returns the trace of the path of a goal. It is computed when the goal is scheduled: stored
    /// for all goals, the traces would take most of the memory.
    fn hasher(&self, at: usize) -> TraceHasher {
        let path: Vec<&Event> = self.path(at).collect();
        let mut hasher = TraceHasher::new();
        for event in path.into_iter().rev() {
            hasher.push(event, &self.world.table);
        }
        hasher
    }

    /// Adds the goal after a step, and merges it with a known goal if possible. Returns the index
    /// of the new goal.
    fn follow(&mut self, from: usize, successor: Successor<'p>, hasher: &mut TraceHasher) -> usize {
        let parent = &self.goals[from];
        let (context, segment) = (parent.context, parent.segment);
        let mut elements = parent.elements;
        let Successor {
            mut state,
            process,
            touched,
            event,
        } = successor;
        elements |= touched.iter().any(|(_, index)| index.is_some());
        let mut key = (context, segment, hasher.trace());
        if let Some(event) = &event {
            hasher.push(event, &self.world.table);
            key.2 = hasher.trace();
            hasher.pop();
            if let Some(thread) = state.threads.iter_mut().find(|t| t.process == process) {
                Rc::make_mut(thread).events += 1;
            }
        }
        let at = self.goals.len();
        let same = |&&other: &&usize| same_goal(&self.goals[other].state, &state);
        let known = self
            .known
            .get(&key)
            .into_iter()
            .flatten()
            .find(same)
            .copied();
        let by = match known {
            Some(other) if self.options.reduce => {
                self.merged += 1;
                AppliedRule::Merge(other)
            }
            _ => {
                self.known.entry(key).or_default().push(at);
                self.queue.push_back(at);
                AppliedRule::Open(OpenReason::Waiting)
            }
        };
        self.goals.push(Goal {
            state,
            context,
            segment,
            event,
            parent: Some(from),
            process: Some(process),
            touched,
            elements,
            changed: Vec::new(),
            by,
        });
        at
    }
}

impl AppliedRule {
    /// Returns all questions of the application of the rule.
    pub fn leaves(&self) -> Box<dyn Iterator<Item = &Leaf> + '_> {
        match self {
            AppliedRule::Open(_) | AppliedRule::Merge(_) => Box::new(std::iter::empty()),
            AppliedRule::Close(leaf) => Box::new(std::iter::once(leaf)),
            AppliedRule::Reduce { leaves, .. }
            | AppliedRule::Generalise { leaves, .. }
            | AppliedRule::Back { leaves, .. } => Box::new(leaves.iter()),
            AppliedRule::Schedule { steps, deadlock } => {
                let leaves = steps.iter().flat_map(|step| {
                    let ways = step.ways.iter().flat_map(|way| &way.leaves);
                    step.leaves.iter().chain(ways)
                });
                Box::new(leaves.chain(deadlock))
            }
        }
    }
}

/// Whether two goals have equal points and values, and the same assumptions in any order.
fn same_goal(a: &State<'_>, b: &State<'_>) -> bool {
    let sorted = |state: &State<'_>| {
        let mut all = state.condition.clone();
        all.sort_unstable();
        all
    };
    a.same_points(b) && a.values().eq(b.values()) && sorted(a) == sorted(b)
}

fn outcome(way: u8) -> Outcome {
    Outcome {
        value: way.into(),
        end: 256,
    }
}
