//! The record of a run: the one thing that reports are views of, and a stable interface.
//!
//! `--format json` prints a [`Record`]. Fields are only ever added within one version.

mod covers;
mod explanation;
mod history;
mod orders;
mod pictures;
mod refinement;
mod sample;
mod states;
mod symbolic;
mod traces;

use serde::{Deserialize, Serialize};

use crate::{Bound, Counts, Fairness, Kinds, Scope, StopReason, Verdict};

pub use crate::Kind;
pub use covers::{CoverAnswer, CoverRecord};
pub use explanation::{Explanation, NamedStep, OrderedSteps};
pub use history::{HistoryOperation, ObjectRecord};
pub use orders::{Advice, AdvisedAccess, Orders};
pub use pictures::{Leaf, Net, NetCondition, NetEvent, Tree, TreeNode, TreeRace};
pub use refinement::{RefinementAnswer, RefinementRecord};
pub use sample::{SampleRecord, TraceEstimate};
pub use states::{GraphEdge, GraphState, StateGraph};
pub use symbolic::{SymbolicMishap, SymbolicStateRecord, SymbolicStates};
pub use traces::{ComparedRuns, OtherOrder, PathEvent};

/// The version of the format.
pub const VERSION: u32 = 2;

/// The oldest version that is still read. What version 2 has added is absent there.
pub const OLDEST_VERSION: u32 = 1;

/// Everything worth knowing about one search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`VERSION`].
    pub version: u32,
    /// What was explored.
    pub program: ProgramRecord,
    /// The command that made it: `check`, `explore`, `run`.
    pub command: String,
    /// The engine that explored.
    pub algorithm: String,
    /// The options in force; none in records of before there were any.
    #[serde(default)]
    pub options: Option<OptionsRecord>,
    /// The answer.
    pub verdict: Verdict,
    /// What the answer is about.
    pub scope: Scope,
    /// Why the search ended.
    pub stopped: StopReason,
    /// Whether all final states agree on what is observed; `null` if unknown.
    pub deterministic: Option<bool>,
    /// The memory model, if it is not that of interleavings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_model: Option<String>,
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// How executions were drawn and how much they have seen, if they were drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleRecord>,
    /// Wall-clock time of the search.
    pub seconds: f64,
    /// What a solver was asked, where values are symbolic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solver: Option<SolverRecord>,
    /// The kinds of violations that the answer is about.
    #[serde(default, skip_serializing_if = "KindsRecord::is_empty")]
    pub kinds: KindsRecord,
    /// Evidence for a violation, the gravest first.
    pub witnesses: Vec<Witness>,
    /// `check`: which orders of steps bring about what the first witness shows, if that was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// What the file says must be reachable, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covers: Vec<CoverRecord>,
    /// The clients with which an object was looked at, if the file specifies one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRecord>,
    /// The specification that the file says it refines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refinement: Option<RefinementRecord>,
    /// Under a weak memory model: accesses with other orders, with which nothing is violated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stronger: Vec<AdvisedAccess>,
    /// What is strange about the program, and no violation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<DiagnosticRecord>,
    /// What was reached, if everything was explored; not of ABS programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// The most memory of the process that was measured, in bytes, where states are merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Where the executions come from, if asked: the most frequent pair first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Vec<ReversedPair>>,
}

/// Two places in the source whose steps race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReversedPair {
    /// The step that came first.
    pub first: Place,
    /// The step that was to come before it.
    pub second: Place,
    /// How many executions were started to reverse such a race.
    pub executions: u64,
}

/// What is printed instead of a [`Record`] for a program with mistakes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MistakesRecord {
    /// [`VERSION`].
    pub version: u32,
    /// The file as it was named.
    pub file: String,
    /// The mistakes, in the order of the text.
    pub diagnostics: Vec<DiagnosticRecord>,
}

/// A mistake or a warning, with its place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagnosticRecord {
    /// A stable code such as `M0204`; `docs/diagnostics.md` lists them.
    pub code: String,
    /// How grave it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// What was expected at the place.
    pub label: String,
    /// Where it is; none if it is not in the text, as a wrong `--set`.
    pub span: Option<SpanRecord>,
    /// Other places that matter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<RelatedRecord>,
    /// What to do next.
    pub help: Option<String>,
}

/// How grave a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The program cannot run.
    Error,
    /// The program runs, but hardly as its author thinks.
    Warning,
}

/// A range of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanRecord {
    /// The line of its start, from 1.
    pub line: usize,
    /// The column of its start, from 1, in characters.
    pub column: usize,
    /// How many characters it has.
    pub length: usize,
}

/// Another place that matters for a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelatedRecord {
    /// Where.
    pub span: SpanRecord,
    /// What about it.
    pub message: String,
}

/// The kinds of violations that an answer is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindsRecord {
    /// Those that count: one of them that was found violates.
    pub counted: Vec<Kind>,
    /// Those of them that were neither found nor excluded.
    pub open: Vec<Kind>,
    /// Whether a failure that does not count has halted a process: what that process would have
    /// done next was not explored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub halted: bool,
    /// Kinds that do not count and were met all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub met: Vec<Kind>,
}

impl KindsRecord {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.counted.is_empty() && self.open.is_empty() && !self.halted
    }
}

/// What a solver was asked, and who gave the answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SolverRecord {
    /// Questions: can these conditions hold together?
    pub queries: u64,
    /// Those that an earlier model answered.
    pub reused: u64,
    /// Parts of questions that were known from before.
    pub cached: u64,
    /// Searches of the SAT solver.
    pub searches: u64,
    /// Questions to another program.
    pub external: u64,
}

/// Which program, exactly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRecord {
    /// The file as it was named.
    pub file: String,
    /// A hash of its text and settings; a witness replays only on the same program.
    pub hash: String,
    /// The `--set` options, in order.
    pub set: Vec<(String, String)>,
    /// The processes that are there from the start and have a name of their own in the source: the
    /// number and the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<(String, String)>,
}

impl ProgramRecord {
    /// The name to show for a process, or a step of a schedule: that of the source, if there is
    /// one. Those of children begin with that of their ancestor.
    ///
    /// ```
    /// use mazurka_core::record::ProgramRecord;
    /// let program = ProgramRecord {
    ///     file: "p.maz".to_owned(),
    ///     hash: String::new(),
    ///     set: Vec::new(),
    ///     names: vec![("1".to_owned(), "server".to_owned())],
    /// };
    /// assert_eq!(program.name_of("1.0=7"), "server.0=7");
    /// assert_eq!(program.schedule("0 1 1.0=7 10"), "0 server server.0=7 10");
    /// ```
    pub fn name_of(&self, process: &str) -> String {
        let end = process.find(['.', '=']).unwrap_or(process.len());
        let (root, rest) = process.split_at(end);
        let named = self.names.iter().find(|(number, _)| number == root);
        named.map_or_else(|| process.to_owned(), |(_, name)| format!("{name}{rest}"))
    }

    /// A schedule with the names of the processes.
    pub fn schedule(&self, schedule: &str) -> String {
        let steps = schedule.split_whitespace().map(|step| self.name_of(step));
        steps.collect::<Vec<_>>().join(" ")
    }
}

/// What the search was asked for, and how far it might go; none: as far as there is something to
/// explore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionsRecord {
    /// What decides whatever else the file states, if `--property` was given: kinds of violations
    /// and names of properties, with commas between them.
    pub property: Option<String>,
    /// Steps of one execution.
    pub max_depth: Option<u64>,
    /// Steps in total.
    pub max_steps: Option<u64>,
    /// Executions.
    pub max_executions: Option<u64>,
    /// Local work within one step, in jumps and calls.
    pub max_local: u64,
    /// Milliseconds.
    pub time_limit: Option<u64>,
    /// Bytes.
    pub memory_limit: Option<u64>,
    /// Workers, where an engine can have several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u64>,
    /// Which runs without an end count, where a command looks at these; weak if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<Fairness>,
}

/// Evidence that anyone can replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// What it shows.
    pub kind: Kind,
    /// The same in one sentence.
    pub message: String,
    /// Where in the source, if at one place.
    pub place: Option<Place>,
    /// One run; two for nondeterminism; none for a `cover` that is never reached.
    pub runs: Vec<Run>,
    /// The processes that wait for ever, in a deadlock.
    pub waiting: Vec<Waiting>,
    /// The observed variables that differ, with their values in the two runs.
    pub differs: Vec<Difference>,
    /// For which inputs the two runs are possible and differ, if there are inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// For a run that goes on for ever, of a temporal property or a livelock: the number of its
    /// steps before those that repeat, which are the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasso: Option<usize>,
    /// The variables that a failed condition mentions, with their values when it failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Binding>,
    /// The calls of a history that is not linearizable, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryOperation>,
}

impl Record {
    /// The kinds of violations that its witnesses show.
    pub fn found(&self) -> Kinds {
        self.witnesses.iter().map(|shown| shown.kind).collect()
    }

    /// Leaves those of some kinds open that count and were not found.
    pub fn leave_open(&mut self, kinds: Kinds) {
        let left = kinds.without(self.found());
        let kinds = &mut self.kinds;
        let open = |kind: &&Kind| left.contains(**kind) || kinds.open.contains(kind);
        kinds.open = kinds.counted.iter().filter(open).copied().collect();
    }

    /// Adds bounds that show after the verdict. What was verified then is not.
    pub fn add_bounds(&mut self, bounds: impl IntoIterator<Item = Bound>) {
        for bound in bounds {
            self.leave_open(match bound {
                Bound::Temporal => Kinds::of(&[Kind::Property]),
                Bound::Covers | Bound::Refinement => Kinds::NONE,
                _ => Kinds::ALL,
            });
            if !self.scope.bounds.contains(&bound) {
                self.scope.bounds.push(bound);
            }
            self.scope.exhaustive = false;
            let property = matches!(bound, Bound::Temporal | Bound::Covers | Bound::Refinement);
            if !property && self.deterministic == Some(true) {
                self.deterministic = None;
            }
            if self.verdict == Verdict::Verified {
                self.verdict = Verdict::Inconclusive;
            }
            if self.stopped == StopReason::Complete {
                self.stopped = StopReason::Bound;
            }
        }
    }
}

impl Witness {
    /// The inputs of its runs. Two runs have the same inputs, but each may ask for some of them
    /// only.
    pub fn inputs(&self) -> Vec<Binding> {
        let mut all: Vec<Binding> = Vec::new();
        for input in self.runs.iter().flat_map(|run| &run.inputs) {
            if all.iter().all(|known| known.name != input.name) {
                all.push(input.clone());
            }
        }
        all
    }
}

/// A place in the source, from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
    /// The text there.
    pub text: String,
    /// The file, if the program has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// Every process ended.
    Final,
    /// No process can go on.
    Deadlock,
    /// A process failed.
    Failure,
    /// A false `assume`.
    Discarded,
    /// A bound of the evaluator was hit.
    Lost,
    /// The schedule ended first.
    Open,
}

/// One execution, or the beginning of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The processes, one per step.
    pub schedule: String,
    /// The values of the inputs that it has asked for, by process and order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Binding>,
    /// How it ended.
    pub ending: Ending,
    /// The steps.
    pub steps: Vec<Step>,
    /// The shared variables at its end.
    pub state: Vec<Binding>,
    /// The processes that have a name in the source: the number and the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<(String, String)>,
    /// Every process that has started, in the order of their numbers, and where it stands at the
    /// end of the run; none in records of before it was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessEnd>,
}

impl Run {
    /// The name to show for a process: that of the source, if there is one.
    pub fn name_of<'a>(&'a self, process: &'a str) -> &'a str {
        let named = self.names.iter().find(|(number, _)| number == process);
        named.map_or(process, |(_, name)| name)
    }
}

/// A process at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessEnd {
    /// Which one.
    pub process: String,
    /// What it can do.
    pub status: EndStatus,
    /// What it waits for, if it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// Who holds what it waits for, if any process does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
}

/// What a process can do at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndStatus {
    /// It can make a step.
    Ready,
    /// It has to wait.
    Waiting,
    /// It has ended.
    Ended,
    /// A failure has halted it.
    Failed,
    /// A false `assume` has halted it.
    Discarded,
    /// A bound of the evaluator has halted it.
    Lost,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Who made it.
    pub process: String,
    /// What it chose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<i64>,
    /// The label in the papers' notation: guard ▷ action.
    pub label: String,
    /// Where it stands in the source.
    pub line: usize,
    /// Who could have made a step instead.
    pub enabled: Vec<String>,
    /// What it read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Binding>,
    /// What it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// The locks that it took or released.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<LockChange>,
    /// What went wrong in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mishap: Option<String>,
    /// Whether it is one of the two racing steps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub racing: bool,
    /// The messages of it, in a program of actors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Box<Actor>>,
    /// Its access to memory, under a weak memory model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Box<MemoryStep>>,
    /// What it printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<String>,
}

/// What an access to memory was under a weak memory model. Steps of the run count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStep {
    /// What it is: `read`, `write`, `update`, `lock`, `unlock`, `fence`.
    pub access: String,
    /// How much it orders: `plain`, `relaxed`, `acquire`, `release`, `acq_rel`, `seq_cst`.
    pub order: String,
    /// The place that it accesses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The step whose write it reads, 0 for the initial value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_from: Option<usize>,
    /// The steps before it whose writes to the same place are newer than what it reads, or than
    /// what it writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<usize>,
}

/// A step of an actor: a run of one of its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The object that it runs on.
    pub object: String,
    /// The method.
    pub task: String,
    /// Whether it is the first step of the task.
    pub starts: bool,
    /// Whether it is the last one.
    pub ends: bool,
    /// The tasks that it creates.
    pub sends: Vec<Message>,
    /// The objects that it creates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub creates: Vec<String>,
    /// The task whose result it waits for afterwards, with its object blocked.
    pub waits_for: Option<String>,
    /// The time that it waits for afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The result of the task, if it ends with one that says something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The exception that ends the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throws: Option<String>,
    /// Whether it keeps its object, and goes on with the next step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps: bool,
    /// The file of the step's line, if the program has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// A message: a task that is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The task.
    pub process: String,
    /// The object that it is sent to.
    pub object: String,
    /// The method.
    pub method: String,
    /// What the method is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

/// A variable and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The variable.
    pub name: String,
    /// Its value, as the source would write it.
    pub value: String,
}

/// A variable, its value before and its value after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The variable.
    pub name: String,
    /// Before.
    pub from: String,
    /// After.
    pub to: String,
}

/// A lock that a step took or released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockChange {
    /// The lock.
    pub name: String,
    /// Whether the process holds it after the step.
    pub held: bool,
}

/// A variable and its values in two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The variable.
    pub name: String,
    /// In the first run.
    pub first: String,
    /// In the second.
    pub second: String,
}

/// A process that waits for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Who waits.
    pub process: String,
    /// For what, e.g. ``lock `fork[1]` ``.
    pub what: String,
    /// Who holds it, if anyone does.
    pub held_by: Option<String>,
    /// Where it waits.
    pub line: usize,
    /// The file of that line, if it is not that of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// What executions have reached of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// The statements of the program that do something.
    pub statements: u64,
    /// Those of them that were reached.
    pub reached: u64,
    /// All branches of the program, in the order of its text.
    pub branches: Vec<Branch>,
}

/// A condition on which the way through a program depends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Where it is.
    pub place: Place,
    /// Whether it held in some execution.
    pub held: bool,
    /// Whether it failed to hold in some execution.
    pub failed: bool,
}

/// What `permute` adds to a record: the permutations of one recorded run, or of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permutations {
    /// The run that was recorded first.
    pub recorded: Run,
    /// Its steps, from 1, that took a branch or chose: there another path can start.
    pub branches: Vec<usize>,
    /// Whether all other paths were looked for too.
    pub complete: bool,
    /// If a limit cut the recorded run: its length, up to which it was permuted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<u64>,
    /// The recorded runs; more than one only if complete.
    pub seeds: u64,
    /// Prefixes extended by the next label of a process.
    pub candidates: u64,
    /// Those that the program cannot follow.
    pub infeasible: u64,
    /// Those that are equivalent to one met before.
    pub duplicates: u64,
    /// Permutations that the program can follow to an end, one of each trace.
    pub executable: u64,
    /// Permutations after which a process can go on that waited at the end of the recorded run.
    pub open: u64,
    /// Prefixes of permutations where no process can go on.
    pub stuck: u64,
    /// What the definitions as printed tell apart, with `--paper`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<PaperPermutations>,
    /// The permutations from any initial values, with `--symbolic-initial`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any_start: Option<AnyStartPermutations>,
    /// The permutations, as many as were asked for.
    pub classes: Vec<PermutationClass>,
    /// The ways in which they end, as many as were asked for.
    pub results: Vec<PermutationResult>,
}

/// Algorithm 1 with Definitions 9 and 12 as printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaperPermutations {
    /// Prefixes extended by the next label of a process.
    pub candidates: u64,
    /// Those that the program cannot follow.
    pub infeasible: u64,
    /// Those whose printed form was met before.
    pub duplicates: u64,
    /// The printed forms of executable permutations.
    pub executable: u64,
}

/// A permutation: the least run of its trace, in the order of the names of processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermutationClass {
    /// The processes, one per step.
    pub schedule: String,
    /// How it ends.
    pub ending: Ending,
    /// For which initial values it is executable, if that was asked for and can be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_condition: Option<String>,
    /// The observed variables at its end.
    pub state: Vec<Binding>,
}

/// The permutations of a run that are executable from some initial values, whatever these are in
/// the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnyStartPermutations {
    /// How many there are, one of each trace.
    pub executable: u64,
    /// As many of them as were asked for; values are over the initial ones.
    pub classes: Vec<PermutationClass>,
    /// Pairs of them, by number from 1, that end differently from some initial values.
    pub disagreements: Vec<PermutationDisagreement>,
    /// Whether all pairs were looked at.
    pub all_pairs: bool,
    /// What the solver could not decide, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
}

/// Two permutations that end differently, and from where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermutationDisagreement {
    /// The one, by its number in the list.
    pub first: usize,
    /// The other.
    pub second: usize,
    /// From all these initial values.
    pub condition: String,
    /// From these, for example.
    pub example: Vec<Binding>,
}

/// A way to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermutationResult {
    /// How.
    pub ending: Ending,
    /// The observed variables.
    pub state: Vec<Binding>,
    /// How many permutations end so.
    pub classes: u64,
    /// The schedule of the first.
    pub schedule: String,
}

/// The partial order of the events of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialOrder {
    /// The processes, in the order of their names.
    pub lanes: Vec<String>,
    /// The events, in the order of the run.
    pub events: Vec<OrderedEvent>,
}

/// An event of a partial order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderedEvent {
    /// Which process made it.
    pub lane: usize,
    /// Its label.
    pub label: String,
    /// What it changed, in words.
    pub details: String,
    /// The events right before it; their pasts are its past.
    pub after: Vec<usize>,
}

/// What `run --path` adds to a record: the run over initial values that are not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRecord {
    /// path(θ): for which initial values of the shared variables the run would be the same.
    pub condition: String,
    /// The shared variables at its end, over the initial values.
    pub state: Vec<Binding>,
    /// The steps that could have gone another way, from 1: a choice, not only a guard.
    pub branches: Vec<usize>,
}
