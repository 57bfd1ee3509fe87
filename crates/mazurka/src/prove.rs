//! `prove` and `check-proof`: dynamic logic about a program.
//!
//! A proof covers all initial values and all schedules. The checker of proofs has its own code for
//! steps, independent of the search. docs/prove.md describes the formulas and the rules.
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

mod inline;

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use mazurka_core::proof::{GoalOutcome, GoalStatus, OpenGoal, Proof, VERSION};
use mazurka_core::record::{
    Ending, Kind, KindsRecord, ProgramRecord, Record, Run, VERSION as RECORD, Witness,
};
use mazurka_core::{Bound, Counts, Limits, Schedule, Scope, StopReason, Verdict};
use mazurka_diagnostics::Diagnostic;
use mazurka_diagnostics::Span;
use mazurka_explore::Budget;
use mazurka_lang::Machine;
use mazurka_lang::hir::{self, Atomicity};
use mazurka_logic::{
    BoxRun, BoxRunResult, Formula, FormulaError, Outcome, Refutation, Rejected, Theorem,
    Unsupported,
};
use mazurka_smt::{Effort, Embedded, Missing, Solver, Why};
use serde::{Deserialize, Serialize};

use crate::front::settings;
use crate::run::{parse_input, steps_made};
use crate::solving::Solving;
use crate::{Options, Program, Watch, evidence};
use inline::Inline;

pub use mazurka_core::proof;
pub use mazurka_logic::DeadlockFree;

/// How to prove.
#[derive(Clone, Debug)]
pub struct ProveOptions {
    /// Whether goals reached by commuting steps are merged (DL-POR).
    pub reduce: bool,
    /// Whether goals with contradictory assumptions are closed immediately.
    pub feasible: bool,
    /// Whether to prove also that no state is a deadlock.
    pub deadlock: bool,
    /// How often a loop without an invariant may be unfolded.
    pub unfold: u32,
    /// Whether the proofs will be written to a file. If not, their goals are not kept, because an
    /// answer does not need them.
    pub write: bool,
    /// Whether the operating-system process ends after the proof. If so, the search does not free
    /// its memory.
    pub leave: bool,
    /// The solver.
    pub solver: Solving,
    /// The limits. One step is one application of the rule SCHEDULE.
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

/// A program and the goals to be proved about it.
#[derive(Clone, Copy)]
struct ProofSubject<'p> {
    record: &'p ProgramRecord,
    source: &'p str,
    program: &'p hir::Program,
}

/// A goal and the program that it is about. The program contains copies of processes for the boxes
/// of the goal, and the processes that the goal itself defines.
struct PosedGoal<'p> {
    source: Cow<'p, str>,
    program: Cow<'p, hir::Program>,
    formula: Formula,
}

impl PosedGoal<'_> {
    fn subject<'a>(&'a self, record: &'a ProgramRecord) -> ProofSubject<'a> {
        ProofSubject {
            record,
            source: &self.source,
            program: &self.program,
        }
    }
}

/// Why goals cannot be proved.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// A goal cannot be parsed.
    #[error("{error}")]
    Goal {
        /// The goal, as it was given.
        text: String,
        /// What is wrong with it.
        error: FormulaError,
    },
    /// The calculus has no rule for a goal or program.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// In the program, each access is a step.
    #[error(
        "there are rules for whole statements, not for each access, because an invariant would have to speak of what the test of its loop has read so far: write `atomicity statement`, with statements that read or write one shared variable each, such as `let t = x; x := t + 1` for `x := x + 1`, or explore the program with `mazurka symbolic` or `mazurka check`"
    )]
    Access,
    /// A loop or a procedure is left before its end.
    #[error(
        "there is no rule for `{0}`: put the reason to stop into the loop's condition, or explore the program with `mazurka symbolic` or `mazurka check`"
    )]
    Leave(&'static str),
    /// The program has ghosts, whose assignments belong to the step before them.
    #[error(
        "there is no rule for ghost variables: declare them `var`, and write them in an `atomic` block with the step that they belong to"
    )]
    Ghosts,
    /// The program has channels without a capacity, which are explored only up to a limit.
    #[error(
        "there is no rule for a channel without a capacity: give it one, `chan c[4]: …`, or explore the program with `mazurka check`"
    )]
    Unbounded,
    /// The program has an object whose operations clients call.
    #[error(
        "there is no rule for `spec object`: histories are decided by `mazurka check` and `mazurka explore`"
    )]
    Object,
    /// The goal is a formula, not the specification of the file, and the program has objects that
    /// identify processes by their index.
    #[error(
        "a box may hold copies of processes, some of them, or others, and reader–writer locks, condition variables, barriers and locks that are tried know the processes of the file by their number: state what is to hold with `ensures` or `invariant`, and prove that"
    )]
    ToldApart,
    /// No values satisfy the `requires` of the program, so that every goal would hold without
    /// meaning anything.
    #[error("no initial values satisfy what the program `requires`, so there is nothing to prove")]
    NoStart,
    /// The solver is not installed.
    #[error(transparent)]
    Solver(#[from] Missing),
    /// The program is in another language.
    #[error("there are rules for `.maz` programs only")]
    NotMaz,
}

/// The record of `prove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProveRecord {
    /// The common record.
    #[serde(flatten)]
    pub record: Record,
    /// The outcome of each goal.
    pub goals: Vec<GoalOutcome>,
}

/// Proofs as a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProofFile {
    /// The version of the format.
    pub version: u32,
    /// One proof for each goal.
    pub proofs: Vec<Proof>,
}

/// Why a file is not accepted as a proof.
#[derive(Debug, thiserror::Error)]
pub enum ProofProblem {
    /// The file is not JSON, or does not have the shape of a proof.
    #[error("this is not a proof of Mazurka: {0}")]
    Shape(#[from] serde_json::Error),
    /// The proof is about another program.
    #[error(
        "this is a proof about another program: `{file}` or its --set options have changed since"
    )]
    OtherProgram {
        /// The file.
        file: String,
    },
    /// The solver does not know whether any initial values satisfy the `requires`, so the proof may
    /// be about no run at all.
    #[error("{NO_KNOWN_START}: {0}")]
    NoKnownStart(Why),
    /// The proof is invalid.
    #[error("rejected: {0}")]
    Rejected(#[from] Rejected),
    /// The goal of the proof cannot be parsed, or there is no solver.
    #[error(transparent)]
    Prove(#[from] ProveError),
    /// The proof was not checked completely, so it may be invalid.
    #[error("not checked to its end: {bound}")]
    BrokenOff {
        /// The reason.
        bound: Bound,
        /// Number of goals that were checked.
        checked: u64,
    },
}

impl ProofFile {
    /// Parses proofs.
    pub fn parse(text: &str) -> Result<Self, ProofProblem> {
        Ok(serde_json::from_str(text)?)
    }
}

impl Program {
    fn subject(&self) -> Result<ProofSubject<'_>, ProveError> {
        let code = self.language.maz().ok_or(ProveError::NotMaz)?;
        if code.has_object() {
            return Err(ProveError::Object);
        }
        Ok(ProofSubject {
            record: self.record(),
            source: code.source(),
            program: code.program(),
        })
    }

    /// Proves the given goals or, if there are none, those of the file: its `prove` declarations
    /// and its `ensures`. The assertions and invariants of the file belong to every goal with a
    /// box.
    pub fn prove(
        &self,
        goals: &[String],
        options: &ProveOptions,
        watch: &mut Watch<'_>,
    ) -> Result<(ProveRecord, ProofFile), ProveError> {
        self.subject()?.prove(goals, options, watch)
    }

    /// Checks proofs about this program with independent code, and returns for each what it proves
    /// about deadlocks. Of the options, only the solver and the limits on time and memory apply.
    pub fn check_proof(
        &self,
        file: &ProofFile,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<DeadlockFree>, ProofProblem> {
        let options = &options.started();
        self.subject()?.check(file, options, watch)
    }

    /// Returns the text of a goal. If there is no goal, describes the specification in the file.
    pub fn stated(&self, goal: Option<&str>) -> Result<String, ProveError> {
        Ok(self.subject()?.stated(goal))
    }
}

impl ProofSubject<'_> {
    /// Returns the goals that the file states with `prove`.
    fn goals(&self) -> Vec<String> {
        let goals = self.program.goals.iter();
        goals.map(|goal| goal.formula.clone()).collect()
    }

    /// Parses a goal, including the processes that it defines itself.
    fn pose(&self, goal: Option<&str>) -> Result<PosedGoal<'_>, ProveError> {
        if self.program.atomicity == Atomicity::Access {
            return Err(ProveError::Access);
        }
        let Some(text) = goal else {
            left_early(self.program)?;
            return Ok(PosedGoal {
                source: self.source.into(),
                program: Cow::Borrowed(self.program),
                formula: mazurka_logic::stated(self.program),
            });
        };
        if self.program.tells_processes_apart {
            return Err(ProveError::ToldApart);
        }
        let wrong = |error| ProveError::Goal {
            text: text.to_owned(),
            error,
        };
        let all = self.program.processes.len();
        let inline = Inline::find(text, all).map_err(wrong)?;
        let (source, program) = if inline.bodies.is_empty() {
            (Cow::Borrowed(self.source), Cow::Borrowed(self.program))
        } else {
            let source = inline.added_to(self.source);
            let program = mazurka_lang::load(&source, &settings(&self.record.set));
            let program = program.map_err(|mistakes| wrong(inline.mistake(&mistakes)))?;
            (Cow::Owned(source), Cow::Owned(program))
        };
        let formula = mazurka_logic::parse_over(&inline.formula, &program, all);
        let formula = formula.map_err(wrong)?;
        let program = match mazurka_logic::with_copies(&program, &formula) {
            Cow::Owned(wide) => Cow::Owned(wide),
            Cow::Borrowed(_) => program,
        };
        left_early(&program)?;
        Ok(PosedGoal {
            source,
            program,
            formula,
        })
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
            let mut refutations = found.refutations.iter();
            let shown = refutations.find_map(|no| self.evidence(goal.as_deref(), no, options));
            counts.failures += u64::from(shown.is_some());
            let stated = self.stated(goal.as_deref());
            let mut outcome = outcome(stated, &found, shown.as_ref());
            if let (GoalStatus::Proved, Err(why)) = (outcome.status, &start_known) {
                outcome.status = GoalStatus::Open;
                outcome.deadlock_free = None;
                outcome.open.push(OpenGoal {
                    id: None,
                    path: Vec::new(),
                    condition: Vec::new(),
                    why: format!("{NO_KNOWN_START}: {why}"),
                });
            }
            all.push(outcome);
            witnesses.extend(shown.and_then(|shown| shown.witness));
            file.proofs.push(found.proof);
        }
        // The specification of the file also contains its temporal properties, which are not
        // proved.
        if wanted.contains(&None) && !self.program.temporal.is_empty() {
            bounds.push(Bound::Temporal);
        }
        if wanted.contains(&None) && !self.program.covers.is_empty() {
            bounds.push(Bound::Covers);
        }
        if wanted.contains(&None) && self.program.refinement.is_some() {
            bounds.push(Bound::Refinement);
        }
        bounds.sort_unstable();
        bounds.dedup();
        let left_out = [Bound::Temporal, Bound::Covers, Bound::Refinement];
        let left_out = left_out.iter().any(|bound| bounds.contains(bound));
        let any = |status| all.iter().any(|goal: &GoalOutcome| goal.status == status);
        let verdict = match () {
            () if any(GoalStatus::Refuted) => Verdict::Violated,
            () if any(GoalStatus::Open) || left_out => Verdict::Inconclusive,
            () => Verdict::Verified,
        };
        let record = Record {
            version: RECORD,
            program: self.record.clone(),
            command: "prove".to_owned(),
            algorithm: if options.reduce {
                "canonical".to_owned()
            } else {
                "none".to_owned()
            },
            options: None,
            verdict,
            scope: Scope {
                exhaustive: bounds.is_empty() && verdict != Verdict::Inconclusive,
                bounds: bounds.clone(),
                outside: Vec::new(),
            },
            stopped: if bounds.is_empty() {
                StopReason::Complete
            } else {
                StopReason::Bound
            },
            deterministic: None,
            counts,
            seconds: budget.elapsed().as_secs_f64(),
            solver: None,
            kinds: KindsRecord::default(),
            witnesses,
            warnings: Vec::new(),
            coverage: None,
            sample: None,
            memory: None,
            profile: None,
            explanation: None,
            stronger: Vec::new(),
            memory_model: None,
            covers: Vec::new(),
            refinement: None,
            object: None,
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
        let posed = self.pose(goal)?;
        let subject = posed.subject(self.record);
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
            &subject.theorem(goal, &posed.formula),
            &search,
            &mut *solver,
            look,
        )?)
    }

    /// Returns an error if no initial values satisfy the `requires` of the program. The inner error
    /// is the reason why this is unknown.
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

    /// Runs a refutation: only a violation that occurs in this run counts.
    fn evidence(
        &self,
        goal: Option<&str>,
        no: &Refutation,
        options: &ProveOptions,
    ) -> Option<Evidence> {
        if !no.concrete {
            return None;
        }
        let posed = self.pose(goal).ok()?;
        let subject = posed.subject(self.record);
        let theorem = subject.theorem(goal, &posed.formula);
        let start = self.start(no)?;
        let mut trial = RefutationRunner {
            subject,
            start: &start,
            no,
            deadlock: no.deadlock,
            limits: &options.limits,
            runs: Vec::new(),
            wrong: None,
        };
        let mut solver = Embedded::default();
        let boxes = mazurka_logic::falsify(
            &theorem,
            (&start, &no.bound),
            &mut solver,
            &mut |depth, processes, cells| trial.run(depth, processes, cells),
        )?;
        let RefutationRunner {
            mut runs, wrong, ..
        } = trial;
        runs.truncate(boxes);
        let goal_is_false = || Witness {
            message: format!("the goal does not hold: `{}`", self.stated(goal)),
            ..evidence::unexplained(Kind::Failure, Vec::new())
        };
        Some(Evidence {
            values: no.values.clone(),
            witness: (!runs.is_empty()).then(|| Witness {
                runs,
                ..wrong.unwrap_or_else(goal_is_false)
            }),
        })
    }

    /// Returns the initial values of a refutation, one for each cell; returns `None` if one of them
    /// is not a number.
    fn start(&self, no: &Refutation) -> Option<Vec<i64>> {
        let given = |name: &str| {
            let known = no.values.iter().find(|(known, _)| known == name);
            match known.map(|(_, value)| value.as_str()) {
                None | Some("false") => Some(0),
                Some("true") => Some(1),
                // A `u64` is stored in an `i64` with the same bits.
                Some(value) => Some(parse_input(value)? as i64),
            }
        };
        let mut cells = Vec::new();
        for var in &self.program.vars {
            for at in 0..var.len.unwrap_or(1) as usize {
                cells.push(match &var.init {
                    Some(values) => values.get(at).or(values.first()).copied().unwrap_or(0),
                    None => given(&var.shape.element(at as u32))?,
                });
            }
        }
        Some(cells)
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
            let posed = self.pose(proof.goal.as_deref())?;
            let subject = posed.subject(self.record);
            let mut solver = self.solver(solver)?;
            let theorem = subject.theorem(proof.goal.as_deref(), &posed.formula);
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

/// The evidence that a goal is false.
struct Evidence {
    /// The initial values, and the values of inputs.
    values: Vec<(String, String)>,
    /// The runs of the boxes on the way to the violation, if the goal has a box.
    witness: Option<Witness>,
}

/// Runs the boxes of a refutation.
struct RefutationRunner<'a> {
    subject: ProofSubject<'a>,
    /// The initial values.
    start: &'a [i64],
    no: &'a Refutation,
    /// Whether a deadlock is a violation.
    deadlock: bool,
    limits: &'a Limits,
    /// The run of each box, the outermost first.
    runs: Vec<Run>,
    /// The violation in the last run.
    wrong: Option<Witness>,
}

impl RefutationRunner<'_> {
    /// Runs the processes of a box from these values.
    fn run(&mut self, depth: usize, processes: &[usize], cells: &[i64]) -> BoxRunResult {
        self.runs.truncate(depth);
        self.wrong = None;
        self.try_run(depth, processes, cells)
            .unwrap_or(BoxRunResult::Otherwise)
    }

    fn try_run(
        &mut self,
        depth: usize,
        processes: &[usize],
        cells: &[i64],
    ) -> Option<BoxRunResult> {
        let none = BoxRun::default();
        let wanted = self.no.runs.get(depth).unwrap_or(&none);
        let source = self.subject.source;
        let program = boxed(self.subject.program, processes, cells);
        let code = mazurka_lang::compile(&program, source).ok()?;
        let inputs = wanted.inputs.iter();
        let code = code.with_inputs(inputs.map(|(name, value)| (name.as_str(), *value)));
        let mut machine = Machine::new(Arc::new(code), self.limits.local);
        let narrated = evidence::tell(&mut machine, &wanted.schedule).ok()?;
        if !evidence::bounds_of_run(&machine, self.limits).is_empty() {
            return None;
        }
        let mut run = narrated.run;
        // Show the initial values of the run if they differ from those of the program.
        if depth > 0 || cells != self.start {
            let start = mazurka_core::Narrator::narrate(&mut machine, &Schedule::default()).ok()?;
            run.inputs.splice(0..0, start.state);
            mazurka_core::Narrator::narrate(&mut machine, &wanted.schedule).ok()?;
        }
        let ending = run.ending;
        self.wrong = match narrated.failures.first() {
            Some(mishap) => Some(evidence::failure(&mut machine, run.clone(), mishap)),
            None if narrated.deadlocked && self.deadlock => {
                Some(evidence::deadlock(&mut machine, run.clone()))
            }
            None => None,
        };
        let marked = self.wrong.as_mut().and_then(|wrong| wrong.runs.pop());
        self.runs.push(marked.unwrap_or(run));
        Some(match (&self.wrong, ending) {
            (Some(_), _) => BoxRunResult::Wrong,
            (None, Ending::Final) => {
                let cells = 0..cells.len() as u32;
                BoxRunResult::Ended(cells.map(|cell| machine.value(cell)).collect())
            }
            _ => BoxRunResult::Otherwise,
        })
    }
}

/// Returns the program that a box runs: only these processes, from these initial values.
fn boxed(program: &hir::Program, processes: &[usize], cells: &[i64]) -> hir::Program {
    let mut program = program.clone();
    program.requires.clear();
    program.ensures.clear();
    let others = program.processes.iter_mut().enumerate();
    for (_, process) in others.filter(|(at, _)| !processes.contains(at)) {
        process.body.clear();
    }
    let mut values = cells.iter().copied();
    for var in &mut program.vars {
        let len = var.len.unwrap_or(1) as usize;
        var.init = Some(values.by_ref().take(len).collect());
    }
    program
}

/// Rejects a program with ghosts or channels without a capacity, or in which a loop or a procedure
/// may be left before its end.
fn left_early(program: &hir::Program) -> Result<(), ProveError> {
    let procedures = program.procedures.iter().map(|procedure| &procedure.body);
    let processes = program.processes.iter().map(|process| &process.body);
    let mut found = None;
    for stmt in procedures.chain(processes).flatten() {
        stmt.walk(&mut |stmt| {
            if let hir::StmtKind::Leave(leave) = stmt.kind {
                found = Some(leave.word());
            }
        });
    }
    if !program.ghosts.is_empty() {
        return Err(ProveError::Ghosts);
    }
    if !program.limits.is_empty() {
        return Err(ProveError::Unbounded);
    }
    found.map_or(Ok(()), |word| Err(ProveError::Leave(word)))
}

/// Returns a mistake in a goal as a diagnostic about its text.
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

fn outcome(goal: String, found: &Outcome, shown: Option<&Evidence>) -> GoalOutcome {
    let (closed, counts) = (found.closed, found.counts);
    let witness = shown.and_then(|shown| shown.witness.as_ref());
    let stuck = witness.is_some_and(|witness| witness.kind == Kind::Deadlock);
    // Only a complete proof shows that there is no deadlock: an open goal may still contain one.
    let deadlock_free = if closed {
        (found.deadlock_free == DeadlockFree::Program).then_some(true)
    } else {
        (stuck && found.deadlock_free != DeadlockFree::Nothing).then_some(false)
    };
    GoalOutcome {
        goal,
        status: match (closed, shown.is_some()) {
            (true, _) => GoalStatus::Proved,
            (false, true) => GoalStatus::Refuted,
            (false, false) => GoalStatus::Open,
        },
        deadlock_free,
        schedules: counts.schedules,
        leaves: counts.leaves,
        merged: counts.merged,
        goals: counts.goals,
        questions: counts.questions,
        open: found.open.clone(),
        values: shown.map_or_else(Vec::new, |shown| shown.values.clone()),
        by_execution: found.by_execution,
        at_once: shown.is_some() && witness.is_none(),
    }
}
