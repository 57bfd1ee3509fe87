//! `prove` and `check-proof`: dynamic logic about a program.
//!
//! A proof is for all initial values and all schedules. It is checked again by code of its own,
//! which shares nothing with the search. docs/prove.md describes the formulas and the rules.
//!
//! ```
//! use mazurka::prove::ProveOptions;
//! use mazurka::{Options, Program, Verdict, quietly};
//!
//! let source = "var x: int  process { x := x + 1 }  process { x := x + 1 }";
//! let program = Program::load("sum.maz", source, &[]).unwrap();
//! let goals = ["x == 0 ==> [*] x == 2".to_owned()];
//! let proved = program.prove(&goals, &ProveOptions::default(), &mut quietly());
//! let (found, proofs) = proved.unwrap();
//! assert_eq!(found.record.verdict, Verdict::Verified);
//!
//! let checked = program.check_proof(&proofs, &Options::default(), &mut quietly());
//! assert_eq!(checked.unwrap().len(), 1);
//! ```

use std::ops::ControlFlow;

use mazurka_core::proof::{GoalOutcome, OpenGoal, Proof, Status, VERSION};
use mazurka_core::record::{
    Binding, Kind, KindsRecord, ProgramRecord, Record, VERSION as RECORD, Witness,
};
use mazurka_core::{Bound, Counts, Limits, Scope, StopReason, Verdict};
use mazurka_diagnostics::Diagnostic;
use mazurka_diagnostics::Span;
use mazurka_explore::Budget;
use mazurka_lang::Setting;
use mazurka_lang::hir::{self, Atomicity};
use mazurka_logic::{Formula, FormulaError, Outcome, Refutation, Rejected, Theorem, Unsupported};
use mazurka_smt::{Effort, Embedded, Missing, Solver, Why};
use serde::{Deserialize, Serialize};

use crate::run::steps_made;
use crate::run::{Plan, parse_input};
use crate::solving::Solving;
use crate::{Options, Program, Watch};

pub use mazurka_core::proof;
pub use mazurka_logic::DeadlockFree;

/// How to prove.
#[derive(Clone, Debug)]
pub struct ProveOptions {
    /// Whether goals that commuting steps lead to are merged (DL-POR).
    pub reduce: bool,
    /// Whether goals whose assumptions contradict each other are closed at once.
    pub feasible: bool,
    /// Whether it is to be shown too that no state deadlocks.
    pub deadlock: bool,
    /// How often a loop without an invariant may go round.
    pub unfold: u32,
    /// Whether the proofs are written down; if not, they have no goals, which is enough for an
    /// answer.
    pub write: bool,
    /// Whether the process ends after this: what the search has built is left to the system.
    pub leave: bool,
    /// Who answers questions.
    pub solver: Solving,
    /// How far to go: steps are applications of SCHEDULE.
    pub limits: Limits,
}

impl Default for ProveOptions {
    fn default() -> Self {
        let options = mazurka_logic::Options::default();
        Self {
            reduce: options.reduce,
            feasible: options.feasible,
            deadlock: true,
            unfold: options.unfold,
            write: true,
            leave: false,
            solver: Solving::default(),
            limits: Limits::default(),
        }
    }
}

const NO_KNOWN_START: &str = "no initial values are known that satisfy what the program `requires`";

/// A program and what can be said of it.
#[derive(Clone, Copy)]
struct Theory<'p> {
    record: &'p ProgramRecord,
    source: &'p str,
    program: &'p hir::Program,
}

/// Why nothing can be proved.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// A goal that cannot be read.
    #[error("{error}")]
    Goal {
        /// The goal, as it was given.
        text: String,
        /// What is wrong with it.
        error: FormulaError,
    },
    /// A goal or program that the calculus has no rule for.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// Each access is a step.
    #[error(
        "there are rules for whole statements, not for each access: write `atomicity statement`, with statements that read or write one shared variable each, or explore the program with `mazurka symbolic` or `mazurka check`"
    )]
    Access,
    /// Nothing satisfies what the program requires: everything follows from that, and nothing is
    /// shown by it.
    #[error("no initial values satisfy what the program `requires`, so there is nothing to prove")]
    NoStart,
    /// The solver is not there.
    #[error(transparent)]
    Solver(#[from] Missing),
    /// It is written in another language.
    #[error("there are rules for `.maz` programs only")]
    NotMaz,
}

/// The record of `prove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProveRecord {
    /// What every record has.
    #[serde(flatten)]
    pub record: Record,
    /// What became of each goal.
    pub goals: Vec<GoalOutcome>,
}

/// Proofs as a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProofFile {
    /// The version of the format.
    pub version: u32,
    /// One for each goal.
    pub proofs: Vec<Proof>,
}

/// Why a file is no proof.
#[derive(Debug, thiserror::Error)]
pub enum ProofProblem {
    /// Not JSON, or not of this shape.
    #[error("this is not a proof of Mazurka: {0}")]
    Shape(#[from] serde_json::Error),
    /// Of another program.
    #[error(
        "this is a proof about another program: `{file}` or its --set options have changed since"
    )]
    OtherProgram {
        /// The file.
        file: String,
    },
    /// It may be about no run at all.
    #[error("{NO_KNOWN_START}: {0}")]
    NoKnownStart(Why),
    /// It does not hold.
    #[error("rejected: {0}")]
    Rejected(#[from] Rejected),
    /// Its goal cannot be read, or there is no solver.
    #[error(transparent)]
    Prove(#[from] ProveError),
    /// Not all of it was checked, so it may be no proof.
    #[error("not checked to its end: {bound}")]
    BrokenOff {
        /// Why.
        bound: Bound,
        /// How many goals follow.
        checked: u64,
    },
}

impl ProofFile {
    /// Reads proofs.
    pub fn parse(text: &str) -> Result<Self, ProofProblem> {
        Ok(serde_json::from_str(text)?)
    }
}

impl Program {
    fn theory(&self) -> Result<Theory<'_>, ProveError> {
        let code = self.language.maz().ok_or(ProveError::NotMaz)?;
        Ok(Theory {
            record: self.record(),
            source: code.source(),
            program: code.program(),
        })
    }

    /// Proves goals, or what the file states if there are none: its `prove` declarations and its
    /// `ensures`. The assertions and invariants of the file belong to every goal with a box.
    pub fn prove(
        &self,
        goals: &[String],
        options: &ProveOptions,
        watch: &mut Watch<'_>,
    ) -> Result<(ProveRecord, ProofFile), ProveError> {
        self.theory()?.prove(goals, options, watch)
    }

    /// Checks proofs about this program, with code of its own, and tells of each what it shows of
    /// deadlocks. Of the options the solver and the limits of time and memory count.
    pub fn check_proof(
        &self,
        file: &ProofFile,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<DeadlockFree>, ProofProblem> {
        let options = &options.started();
        self.theory()?.check(file, options, watch)
    }

    /// What a goal says; what the file states is put into words.
    pub fn stated(&self, goal: Option<&str>) -> Result<String, ProveError> {
        Ok(self.theory()?.stated(goal))
    }
}

impl Theory<'_> {
    /// The goals that the file states with `prove`, if there are any.
    fn goals(&self) -> Vec<String> {
        let goals = self.program.goals.iter();
        goals.map(|goal| goal.formula.clone()).collect()
    }

    fn formula(&self, goal: Option<&str>) -> Result<Formula, ProveError> {
        if self.program.atomicity == Atomicity::Access {
            return Err(ProveError::Access);
        }
        match goal {
            None => Ok(mazurka_logic::stated(self.program)),
            Some(text) => {
                mazurka_logic::parse(text, self.program).map_err(|error| ProveError::Goal {
                    text: text.to_owned(),
                    error,
                })
            }
        }
    }

    fn prove(
        &self,
        goals: &[String],
        options: &ProveOptions,
        watch: &mut Watch<'_>,
    ) -> Result<(ProveRecord, ProofFile), ProveError> {
        let budget = Budget::new(&options.limits);
        let options = &ProveOptions {
            solver: options.solver.started(&options.limits),
            ..options.clone()
        };
        let start_known = self.can_start(&options.solver)?;
        let mut wanted: Vec<Option<String>> = goals.iter().cloned().map(Some).collect();
        if wanted.is_empty() {
            wanted = self.goals().into_iter().map(Some).collect();
            if wanted.is_empty() || !self.program.ensures.is_empty() {
                wanted.push(None);
            }
        }
        let mut all = Vec::new();
        let mut file = ProofFile {
            version: VERSION,
            proofs: Vec::new(),
        };
        let (mut witnesses, mut bounds) = (Vec::new(), Vec::new());
        let mut counts = Counts::default();
        for goal in &wanted {
            let mut look = |goals: u64| {
                let steps = counts.steps + goals;
                budget.may_step(steps)?;
                budget.look(steps_made(steps), watch)
            };
            let found = self.attempt(goal.as_deref(), options, &mut look)?;
            counts.steps += found.counts.schedules;
            counts.events += found.counts.goals;
            bounds.extend(found.bounds.iter().copied());
            if found.unfolded {
                bounds.push(Bound::Unfold(options.unfold.into()));
            }
            let refutation = found.refutation.as_ref();
            let witness = refutation.and_then(|no| self.witness(goal.as_deref(), no));
            counts.failures += u64::from(witness.is_some());
            let stated = self.stated(goal.as_deref());
            let mut outcome = outcome(stated, &found, witness.as_ref());
            if let (Status::Proved, Err(why)) = (outcome.status, &start_known) {
                outcome.status = Status::Open;
                outcome.deadlock_free = None;
                outcome.open.push(OpenGoal {
                    id: None,
                    path: Vec::new(),
                    condition: Vec::new(),
                    why: format!("{NO_KNOWN_START}: {why}"),
                });
            }
            all.push(outcome);
            witnesses.extend(witness);
            file.proofs.push(found.proof);
        }
        // The temporal properties are among what the file states.
        if wanted.contains(&None) && !self.program.temporal.is_empty() {
            bounds.push(Bound::Temporal);
        }
        bounds.sort_unstable();
        bounds.dedup();
        let any = |status| all.iter().any(|goal: &GoalOutcome| goal.status == status);
        let verdict = match () {
            () if any(Status::Refuted) => Verdict::Violated,
            () if any(Status::Open) || bounds.contains(&Bound::Temporal) => Verdict::Inconclusive,
            () => Verdict::Verified,
        };
        let record = Record {
            version: RECORD,
            program: self.record.clone(),
            command: "prove".to_owned(),
            algorithm: match options.reduce {
                true => "canonical".to_owned(),
                false => "none".to_owned(),
            },
            options: None,
            verdict,
            scope: Scope {
                exhaustive: bounds.is_empty() && verdict != Verdict::Inconclusive,
                bounds: bounds.clone(),
            },
            stopped: match bounds.is_empty() {
                true => StopReason::Complete,
                false => StopReason::Bound,
            },
            deterministic: None,
            counts,
            seconds: budget.elapsed().as_secs_f64(),
            solver: None,
            kinds: KindsRecord::default(),
            witnesses,
            warnings: Vec::new(),
            coverage: None,
            memory: None,
            profile: None,
            stronger: Vec::new(),
            memory_model: None,
        };
        Ok((ProveRecord { record, goals: all }, file))
    }

    fn stated(&self, goal: Option<&str>) -> String {
        let Some(goal) = goal else {
            let ensures = self.program.ensures.iter();
            let ensures: Vec<&str> = ensures.map(|p| p.expr.span.text(self.source)).collect();
            return match &ensures[..] {
                [] => "[*] true".to_owned(),
                [one] => format!("[*] {one}"),
                many => format!("[*] ({})", many.join(") && (")),
            };
        };
        goal.to_owned()
    }

    fn attempt(
        &self,
        goal: Option<&str>,
        options: &ProveOptions,
        look: &mut dyn FnMut(u64) -> ControlFlow<Bound>,
    ) -> Result<Outcome, ProveError> {
        let formula = self.formula(goal)?;
        let mut solver = self.solver(&options.solver)?;
        let search = mazurka_logic::Options {
            reduce: options.reduce,
            feasible: options.feasible,
            deadlock: options.deadlock,
            unfold: options.unfold,
            write: options.write,
            leave: options.leave,
        };
        Ok(mazurka_logic::prove(
            &self.theorem(goal, &formula),
            &search,
            &mut *solver,
            look,
        )?)
    }

    /// An error if no initial values satisfy what the program requires; inside, why it is not known
    /// whether some do.
    fn can_start(&self, solver: &Solving) -> Result<Result<(), Why>, ProveError> {
        if self.program.requires.is_empty() {
            return Ok(Ok(()));
        }
        let stated = mazurka_logic::stated(self.program);
        let mut solver = self.solver(solver)?;
        match mazurka_logic::can_start(&self.theorem(None, &stated), &mut *solver) {
            Ok(true) => Ok(Ok(())),
            Ok(false) => Err(ProveError::NoStart),
            Err(why) => Ok(Err(why)),
        }
    }

    fn theorem<'a>(&'a self, goal: Option<&'a str>, formula: &'a Formula) -> Theorem<'a> {
        Theorem {
            program: self.program,
            source: self.source,
            record: self.record,
            goal,
            formula,
        }
    }

    fn solver(&self, solving: &Solving) -> Result<Box<dyn Solver + Send>, ProveError> {
        Ok(solving.assemble(Effort::default().conflicts)?)
    }

    /// Runs what is said to go wrong. Only what goes wrong then is believed.
    fn witness(&self, goal: Option<&str>, no: &Refutation) -> Option<Witness> {
        if !no.concrete {
            return None;
        }
        let mut set = self.record.set.clone();
        for var in self.program.vars.iter().filter(|var| var.init.is_none()) {
            let value = |name: &str| {
                let mut found = no.values.iter().filter(|(known, _)| known == name);
                found.next().map_or_else(
                    || {
                        if var.ty == hir::Type::Bool {
                            "false"
                        } else {
                            "0"
                        }
                        .to_owned()
                    },
                    |(_, value)| value.clone(),
                )
            };
            let text = match var.len {
                None => value(&var.name),
                Some(len) => {
                    let elements = (0..len).map(|at| value(&format!("{}[{at}]", var.name)));
                    format!("[{}]", elements.collect::<Vec<_>>().join(", "))
                }
            };
            set.push((var.name.clone(), text));
        }
        let program = Program::load(&self.record.file, self.source, &set).ok()?;
        let plan = Plan::Schedule(no.schedule.clone());
        let inputs = no.values.iter().filter(|(name, _)| name.contains('#'));
        let inputs = inputs.filter_map(|(name, value)| Some((name.clone(), parse_input(value)?)));
        let options = Options {
            inputs: inputs.collect(),
            ..Options::default()
        };
        let told = program.run(&plan, &options, &mut crate::quietly());
        let told = told.ok()?;
        if let Some(witness) = told.record.witnesses.into_iter().next() {
            return Some(witness);
        }
        // The run is fine, but it ends where the goal does not hold.
        let final_state = told.run.ending == mazurka_core::record::Ending::Final;
        let end: Vec<(String, String)> = told.run.state.iter().map(named).collect();
        let formula = self.formula(goal).ok()?;
        let shows = no.leaf.what == "the goal" && self.refutes(&formula, &set, &end);
        (final_state && shows).then(|| Witness {
            kind: Kind::Failure,
            message: format!("the goal does not hold: `{}`", self.stated(goal)),
            place: None,
            runs: vec![told.run],
            waiting: Vec::new(),
            differs: Vec::new(),
            condition: None,
            lasso: None,
            values: Vec::new(),
        })
    }

    /// Whether a run from one state to another shows that a formula does not hold, as far as that
    /// can be told from the two.
    fn refutes(
        &self,
        formula: &Formula,
        start: &[(String, String)],
        end: &[(String, String)],
    ) -> bool {
        match formula {
            Formula::And(a, b) => self.refutes(a, start, end) || self.refutes(b, start, end),
            Formula::Implies(a, b) if a.is_first_order() => {
                self.holds(a, start) != Some(false) && self.refutes(b, start, end)
            }
            Formula::Box(_, post) if post.is_first_order() => self.holds(post, end) != Some(true),
            _ => true,
        }
    }

    /// Whether a formula without boxes holds where the variables have these values; none if that is
    /// unknown.
    fn holds(&self, formula: &Formula, values: &[(String, String)]) -> Option<bool> {
        let before = self.record.set.iter();
        let mut settings: Vec<Setting> = before.map(setting).collect();
        settings.retain(|setting| values.iter().all(|(name, _)| *name != setting.name));
        settings.extend(values.iter().map(setting));
        let mut program = mazurka_lang::load(self.source, &settings).ok()?;
        program.requires.clear();
        let theorem = Theorem {
            program: &program,
            ..self.theorem(None, formula)
        };
        let options = mazurka_logic::Options {
            write: false,
            ..mazurka_logic::Options::default()
        };
        let go_on = &mut |_| ControlFlow::Continue(());
        let told =
            mazurka_logic::prove(&theorem, &options, &mut Embedded::default(), go_on).ok()?;
        match (told.closed, told.refutation) {
            (true, _) => Some(true),
            (false, Some(_)) => Some(false),
            (false, None) => None,
        }
    }

    fn check(
        &self,
        file: &ProofFile,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<DeadlockFree>, ProofProblem> {
        let Options { solver, limits, .. } = options;
        let budget = Budget::new(limits);
        if file.version != VERSION {
            return Err(Rejected::Version(file.version).into());
        }
        self.can_start(solver)?
            .map_err(ProofProblem::NoKnownStart)?;
        let (mut before, mut shown) = (0, Vec::new());
        for proof in &file.proofs {
            if proof.program.hash != self.record.hash {
                return Err(ProofProblem::OtherProgram {
                    file: self.record.file.clone(),
                });
            }
            let formula = self.formula(proof.goal.as_deref())?;
            let mut solver = self.solver(solver)?;
            let theorem = self.theorem(proof.goal.as_deref(), &formula);
            let look = &mut |goals: usize| {
                let checked = before + goals as u64;
                let stopped = budget.look(steps_made(checked), watch);
                stopped.map_break(|bound| ProofProblem::BrokenOff { bound, checked })
            };
            match mazurka_logic::check_proof_watched(proof, &theorem, &mut *solver, look) {
                ControlFlow::Break(broken_off) => return Err(broken_off),
                ControlFlow::Continue(checked) => shown.push(checked?),
            }
            before += proof.goals.len() as u64;
        }
        Ok(shown)
    }
}

fn setting((name, value): &(String, String)) -> Setting {
    Setting {
        name: name.clone(),
        value: value.clone(),
    }
}

fn named(binding: &Binding) -> (String, String) {
    (binding.name.clone(), binding.value.clone())
}

/// A mistake in a goal as a mistake in its text.
pub fn goal_mistake(error: &FormulaError) -> Diagnostic {
    Diagnostic {
        code: "M0701",
        message: error.message.clone(),
        span: Span {
            start: error.span.start,
            end: error.span.end.max(error.span.start + 1),
        },
        label: error.expected.clone(),
        related: Vec::new(),
        help: None,
    }
}

fn outcome(goal: String, found: &Outcome, witness: Option<&Witness>) -> GoalOutcome {
    let (closed, counts) = (found.closed, found.counts);
    let stuck = witness.is_some_and(|witness| witness.kind == Kind::Deadlock);
    // What was shown at the goals that were looked at says nothing of the others: only a whole
    // proof does.
    let deadlock_free = match closed {
        true => (found.deadlock_free == DeadlockFree::Program).then_some(true),
        false => (stuck && found.deadlock_free != DeadlockFree::Nothing).then_some(false),
    };
    let witness = witness.is_some();
    GoalOutcome {
        goal,
        status: match (closed, witness) {
            (true, _) => Status::Proved,
            (false, true) => Status::Refuted,
            (false, false) => Status::Open,
        },
        deadlock_free,
        schedules: counts.schedules,
        leaves: counts.leaves,
        merged: counts.merged,
        goals: counts.goals,
        questions: counts.questions,
        open: found.open.clone(),
        values: match (&found.refutation, witness) {
            (Some(no), true) => no.values.clone(),
            _ => Vec::new(),
        },
    }
}
