//! Proving what a program states, or a formula about it.

use std::ops::ControlFlow;

use mazurka_core::proof::Rule;
use mazurka_core::record::ProgramRecord;
use mazurka_core::{Bound, Schedule, ScheduledStep};
use mazurka_lang::hir::Program;
use mazurka_smt::{Answer, Kind, Model, Solver};

use crate::fol::Truth;
use crate::pool::{initial_cells, rule};
use crate::search::{By, Search, Unsupported};
use crate::sequent::What;
use crate::world::World;
use crate::{DeadlockFree, Formula, Options};
use mazurka_core::proof::{LeafRecord, OpenGoal, Proof, VERSION};

/// What came of looking for a proof.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The proof, or what there is of it; without its goals if they are not to be written down.
    pub proof: Proof,
    /// Whether everything is shown.
    pub closed: bool,
    /// Of what it is shown that no state deadlocks, if everything is.
    pub deadlock_free: DeadlockFree,
    /// What is open, and why; the first few.
    pub open: Vec<OpenGoal>,
    /// Why it is none, if something is known to be false.
    pub refutation: Option<Refutation>,
    /// Why it is not complete, if the search was cut.
    pub bounds: Vec<Bound>,
    /// Whether a loop without an invariant went round too often.
    pub unfolded: bool,
    /// How many.
    pub counts: ProofCounts,
}

/// How large a proof is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProofCounts {
    /// Applications of SCHEDULE.
    pub schedules: u64,
    /// Sequents in which every thread has ended.
    pub leaves: u64,
    /// Goals that were merged.
    pub merged: u64,
    /// Goals, all of them.
    pub goals: u64,
    /// Questions asked.
    pub questions: u64,
}

/// A question with the answer no.
#[derive(Clone, Debug)]
pub struct Refutation {
    /// The question.
    pub leaf: LeafRecord,
    /// The goal it belongs to, if it belongs to one.
    pub goal: Option<usize>,
    /// The steps that lead there, with values for what they choose.
    pub schedule: Schedule,
    /// The initial values, and those of inputs.
    pub values: Vec<(String, String)>,
    /// Whether this is an execution of the program. If not, an invariant is too weak, or not one.
    pub concrete: bool,
    /// Whether it is about a deadlock.
    pub deadlock: bool,
}

/// The formula that a file states itself: its assertions and invariants always belong to it.
pub fn stated(program: &Program) -> Formula {
    let ensures = program.ensures.iter();
    let post = Formula::all(ensures.map(|property| Formula::Expr(property.expr.clone())));
    let post = post.unwrap_or_else(|| truth(true));
    Formula::Box((0..program.processes.len()).collect(), Box::new(post))
}

fn truth(value: bool) -> Formula {
    Formula::Expr(mazurka_lang::hir::Expr {
        kind: mazurka_lang::hir::ExprKind::Const(value.into()),
        ty: mazurka_lang::hir::Type::Bool,
        span: mazurka_diagnostics::Span::default(),
    })
}

/// What is to be proved, and of what.
#[derive(Clone, Copy, Debug)]
pub struct Theorem<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its text.
    pub source: &'a str,
    /// Which program it is, exactly.
    pub record: &'a ProgramRecord,
    /// The formula as it was written; none stands for what the file states.
    pub goal: Option<&'a str>,
    /// The formula.
    pub formula: &'a Formula,
}

/// How many open goals are told of.
const MOST_OPEN: usize = 5;

/// How many goals of a search that was broken off are written down.
const MOST_OF_CUT: usize = 1000;

/// Whether any initial values satisfy what the program requires, or why that is not known. If none
/// do, every goal could be proved, and nothing would be shown of the program.
pub fn can_start(theorem: &Theorem<'_>, solver: &mut dyn Solver) -> Result<bool, mazurka_smt::Why> {
    let mut world = World::new(theorem);
    let cells = initial_cells(theorem.program, &mut world.terms);
    let required = world.required(&cells);
    match solver.check(&mut world.terms, &required) {
        Answer::Sat(_) => Ok(true),
        Answer::Unsat => Ok(false),
        Answer::Unknown(why) => Err(why),
    }
}

/// Looks for a proof. `watch` is called for every goal, with how many there are.
pub fn prove(
    theorem: &Theorem<'_>,
    options: &Options,
    solver: &mut dyn Solver,
    watch: &mut dyn FnMut(u64) -> ControlFlow<Bound>,
) -> Result<Outcome, Unsupported> {
    let mut search = Search::new(theorem, solver, options);
    let found = search.outcome(theorem, watch);
    if options.leave {
        std::mem::forget(search);
    }
    found
}

impl<'p> Search<'p, '_> {
    /// Looks for a proof, and says what came of it.
    fn outcome(
        &mut self,
        theorem: &Theorem<'p>,
        watch: &mut dyn FnMut(u64) -> ControlFlow<Bound>,
    ) -> Result<Outcome, Unsupported> {
        self.open(theorem.formula)?;
        self.run(&mut |search| watch(search.goals.len() as u64))?;
        let (closed, mut open) = (self.is_closed(), self.open_goals(MOST_OPEN));
        let names = self.world.names();
        let cut = self.books.bound.is_some();
        // No steps are made any more, so there is no limit on them.
        let watch = &mut || match watch(self.goals.len() as u64) {
            ControlFlow::Break(bound) if !matches!(bound, Bound::MaxSteps(_)) => {
                ControlFlow::Break(bound)
            }
            _ => ControlFlow::Continue(()),
        };
        let (goals, too_long) = match () {
            () if !self.options.write => (Vec::new(), None),
            // What was broken off is no proof, and of it no more is kept than can be read.
            () if cut => (
                self.record(MOST_OF_CUT, &mut || ControlFlow::Continue(()))
                    .0,
                None,
            ),
            () => self.record(usize::MAX, watch),
        };
        if too_long.is_some() && open.len() < MOST_OPEN {
            open.push(OpenGoal {
                id: None,
                path: Vec::new(),
                condition: Vec::new(),
                why: "writing the proof down was broken off".to_owned(),
            });
        }
        let proof = Proof {
            version: VERSION,
            program: theorem.record.clone(),
            goal: theorem.goal.map(str::to_owned),
            deadlock: self.options.deadlock,
            contexts: self.contexts.iter().map(|c| names.context(c)).collect(),
            leaves: self.leaves.iter().map(|leaf| names.leaf(leaf)).collect(),
            roots: self.roots.clone(),
            goals,
        };
        let counts = ProofCounts {
            goals: self.goals.len() as u64,
            merged: self.merged,
            ..self.books.counts
        };
        let refutation = self.refutation();
        Ok(Outcome {
            proof,
            closed: closed && too_long.is_none(),
            deadlock_free: match (self.options.deadlock, self.whole) {
                (true, true) => DeadlockFree::Program,
                (true, false) if !self.contexts.is_empty() => DeadlockFree::Boxes,
                _ => DeadlockFree::Nothing,
            },
            open,
            refutation,
            bounds: too_long.into_iter().chain(self.books.bound).collect(),
            unfolded: self.books.unfolded,
            counts,
        })
    }

    /// The first question with the answer no; one that is an execution of the program, if there is
    /// one.
    fn refutation(&self) -> Option<Refutation> {
        let all = self.refuted();
        let found = all
            .iter()
            .find(|(at, ..)| at.is_none_or(|at| self.is_concrete(at)))
            .or(all.first())?;
        let (at, leaf, model, process) = found;
        let names = self.world.names();
        let mut steps = Vec::new();
        let mut up = *at;
        if let (Some(at), Some(process)) = (at, process) {
            steps.extend(self.scheduled(*at, *process, model));
        }
        while let Some(at) = up {
            let goal = &self.goals[at];
            if let (Some(parent), Some(process)) = (goal.parent, goal.process) {
                steps.extend(self.scheduled(parent, process, model));
            }
            up = goal.parent;
        }
        steps.reverse();
        let mut values = Vec::new();
        for variable in self.world.terms.variables() {
            let asked = variable.name.contains('?');
            let made_up = variable.name.contains('\'');
            if !asked && !made_up {
                let value = model.get(variable.term).unwrap_or(0);
                let value = self.world.terms.sort(variable.term).show(value);
                values.push((variable.name.clone(), value));
            }
        }
        Some(Refutation {
            leaf: names.leaf(leaf),
            goal: *at,
            schedule: Schedule(steps),
            values,
            concrete: at.is_none_or(|at| self.is_concrete(at))
                && !matches!(leaf.what, What::LoopInvariant(_) | What::Instance),
            deadlock: leaf.what == What::Deadlock,
        })
    }

    /// Whether no value on the way was replaced.
    fn is_concrete(&self, at: usize) -> bool {
        let mut up = Some(at);
        while let Some(at) = up {
            if !self.goals[at].changed.is_empty() {
                return false;
            }
            up = self.goals[at].parent;
        }
        true
    }

    /// The step of a process as a schedule has it; none for what is no step there: the bound of a
    /// loop used up.
    fn scheduled(
        &self,
        from: usize,
        process: mazurka_core::ProcessId,
        model: &Model,
    ) -> Option<ScheduledStep> {
        let state = &self.goals[from].state;
        let at = state.threads.iter().position(|t| t.process == process)?;
        let thread = &state.threads[at];
        match rule(thread, &self.world.terms) {
            Some(Rule::Spent) => return None,
            // Nor is the test of a loop that looks at locals only.
            Some(Rule::While) if self.world.claims(thread).is_empty() => {
                return None;
            }
            _ => {}
        }
        let path = self.world.table.path(process).clone();
        let variables = self.world.terms.variables().iter();
        let mut chosen: Vec<(u32, Option<i64>)> = variables
            .filter(|variable| variable.kind == Kind::Input)
            .filter_map(|variable| {
                let number = variable.name.strip_prefix(&format!("{path}?"))?;
                let number = number.parse::<u32>().ok()?;
                Some((number, model.get(variable.term)))
            })
            .filter(|(number, _)| *number >= thread.asked)
            .collect();
        // Paths may have chosen values of other types under this number: the model has this one's.
        chosen.sort_unstable_by_key(|&(number, value)| (number, value.is_none()));
        chosen.dedup_by_key(|(number, _)| *number);
        let chosen = chosen
            .into_iter()
            .map(|(number, value)| (number, value.unwrap_or(0)));
        let mut chosen: Vec<(u32, i64)> = chosen.collect();
        // Those of later steps are not of this one.
        let next = self.asked_after(from, process);
        chosen.retain(|(number, _)| *number < next);
        Some(ScheduledStep {
            process: path,
            outcomes: chosen.into_iter().map(|(_, value)| value).collect(),
        })
    }

    fn asked_after(&self, from: usize, process: mazurka_core::ProcessId) -> u32 {
        let By::Schedule { steps, .. } = &self.goals[from].by else {
            return u32::MAX;
        };
        let step = steps.iter().find(|step| step.process == process);
        let way = step.and_then(|step| step.ways.first());
        let after = way.and_then(|way| {
            let threads = &self.goals[way.to].state.threads;
            threads.iter().find(|t| t.process == process)
        });
        after.map_or(u32::MAX, |thread| thread.asked)
    }

    /// Every refuted question: the goal it belongs to, the model, and the process whose step it is
    /// about.
    #[allow(clippy::type_complexity)]
    fn refuted(
        &self,
    ) -> Vec<(
        Option<usize>,
        &crate::sequent::Leaf,
        &Model,
        Option<mazurka_core::ProcessId>,
    )> {
        let mut found = Vec::new();
        let mut look = |at, leaf, process| {
            let leaf: &crate::sequent::Leaf = leaf;
            if let Truth::Refuted(model) = &leaf.truth {
                found.push((at, leaf, model, process));
            }
        };
        self.leaves.iter().for_each(|leaf| look(None, leaf, None));
        for &at in &self.books.refuted {
            match &self.goals[at].by {
                By::Schedule { steps, deadlock } => {
                    for step in steps {
                        let ways = step.ways.iter().flat_map(|way| &way.leaves);
                        for leaf in step.leaves.iter().chain(ways) {
                            look(Some(at), leaf, Some(step.process));
                        }
                    }
                    deadlock.iter().for_each(|leaf| look(Some(at), leaf, None));
                }
                by => by.leaves().for_each(|leaf| look(Some(at), leaf, None)),
            }
        }
        found
    }
}
