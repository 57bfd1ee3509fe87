//! Searches for a proof of a formula, or of what the file states by `ensures`, and reports the
//! outcome: the proof, its open goals and its refuted questions.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use mazurka_core::Bound;
use mazurka_core::record::ProgramRecord;
use mazurka_lang::hir::Program;
use mazurka_smt::{Answer, Solver};

use crate::pool::initial_cells;
use crate::refute::Refutation;
use crate::search::{Search, Unsupported};
use crate::world::World;
use crate::{DeadlockFree, Formula, Options};
use mazurka_core::proof::{OpenGoal, Proof, VERSION};

/// The outcome of a search for a proof.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The proof, possibly incomplete. It has no goals if they are not to be written.
    pub proof: Proof,
    /// Whether the proof is complete.
    pub closed: bool,
    /// The runs for which a complete proof shows that no state is a deadlock.
    pub deadlock_free: DeadlockFree,
    /// The first few open goals, with reasons.
    pub open: Vec<OpenGoal>,
    /// The first few refuted questions. Those whose values belong to an execution of the program
    /// come first.
    pub refutations: Vec<Refutation>,
    /// The limits that cut the search short.
    pub bounds: Vec<Bound>,
    /// Whether a loop without an invariant was unfolded too often.
    pub unfolded: bool,
    /// The size of the proof, and the number of questions.
    pub counts: ProofCounts,
    /// Whether the goal was decided by executing its boxes, so that there is no proof to check.
    pub by_execution: bool,
}

/// Counts of a search for a proof.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProofCounts {
    /// The number of applications of SCHEDULE.
    pub schedules: u64,
    /// The number of sequents in which every thread has ended.
    pub leaves: u64,
    /// The number of goals that were merged.
    pub merged: u64,
    /// The number of all goals.
    pub goals: u64,
    /// The number of questions.
    pub questions: u64,
}

/// Returns the formula that a file states by its `ensures`. It does not mention the assertions and
/// invariants of the file, because every box includes them.
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

/// A formula to prove, and its program.
#[derive(Clone, Copy, Debug)]
pub struct Theorem<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its text.
    pub source: &'a str,
    /// The identity of the program.
    pub record: &'a ProgramRecord,
    /// The text of the formula; `None` if the formula is the one that the file states.
    pub goal: Option<&'a str>,
    /// The formula.
    pub formula: &'a Formula,
}

/// Limit on the number of open goals that are reported.
const MOST_OPEN: usize = 5;

/// Limit on the number of goals that are written if the search was broken off.
const MOST_OF_CUT: usize = 1000;

/// Whether some initial values satisfy the `requires` of the program. The error is the reason why
/// this is unknown. If there are no such values, every goal can be proved, which shows nothing
/// about the program.
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

/// Searches for a proof. `watch` is called for every goal, with the number of goals so far.
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
    /// Searches for a proof, and returns the outcome.
    fn outcome(
        &mut self,
        theorem: &Theorem<'p>,
        watch: &mut dyn FnMut(u64) -> ControlFlow<Bound>,
    ) -> Result<Outcome, Unsupported> {
        self.open(theorem.formula, watch)?;
        self.run(&mut |search| watch(search.goals.len() as u64))?;
        let (closed, mut open) = (self.is_closed(), self.open_goals(MOST_OPEN));
        let names = self.world.names();
        let cut = self.results.bound.is_some();
        // No further steps are made, so the limit of steps does not apply.
        let watch = &mut || match watch(self.goals.len() as u64) {
            ControlFlow::Break(bound) if !matches!(bound, Bound::MaxSteps(_)) => {
                ControlFlow::Break(bound)
            }
            _ => ControlFlow::Continue(()),
        };
        let (goals, too_long) = match () {
            () if !self.options.write => (Vec::new(), None),
            // A search that was broken off yields no complete proof, so its goals are only for
            // reading, and a limited number is enough.
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
            by_execution: !theorem.formula.has_rules(),
            statements: if self.options.write {
                names.statements()
            } else {
                BTreeMap::new()
            },
            contexts: self.contexts.iter().map(|c| names.context(c)).collect(),
            leaves: self.leaves.iter().map(|leaf| names.leaf(leaf)).collect(),
            roots: self.roots.clone(),
            goals,
        };
        let counts = ProofCounts {
            goals: self.goals.len() as u64,
            merged: self.merged,
            ..self.results.counts
        };
        let refutations = self.refutations(MOST_OPEN);
        Ok(Outcome {
            proof,
            closed: closed && too_long.is_none(),
            deadlock_free: match (self.options.deadlock, self.whole) {
                (true, true) => DeadlockFree::Program,
                (true, false) if !self.contexts.is_empty() => DeadlockFree::Boxes,
                _ => DeadlockFree::Nothing,
            },
            open,
            refutations,
            bounds: too_long.into_iter().chain(self.results.bound).collect(),
            unfolded: self.results.unfolded,
            counts,
            by_execution: !theorem.formula.has_rules(),
        })
    }
}
