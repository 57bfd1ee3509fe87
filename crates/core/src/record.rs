//! The record of a run: all reports are views of it, and it is a stable interface.
//!
//! `--format json` prints a [`Record`]. Within one version, fields are only added.

mod covers;
mod diagnostics;
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
pub use diagnostics::{DiagnosticRecord, MistakesRecord, RelatedRecord, Severity, SpanRecord};
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

/// The oldest version that can still be read. It lacks the fields that version 2 has added.
pub const OLDEST_VERSION: u32 = 1;

/// The result of one search, with all its details.
///
/// Every output is a view of a record: the text on a terminal, the JSON that `--format json`
/// prints, the report and the pictures. A record can be saved, shown again and replayed.
/// docs/record.md explains its fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`VERSION`].
    pub version: u32,
    /// The program that was explored.
    pub program: ProgramRecord,
    /// The command that created it: `check`, `explore`, `run`.
    pub command: String,
    /// The engine that explored.
    pub algorithm: String,
    /// The options in force; `None` in records that are older than this field.
    #[serde(default)]
    pub options: Option<OptionsRecord>,
    /// The answer.
    pub verdict: Verdict,
    /// The scope of the answer.
    pub scope: Scope,
    /// Why the search ended.
    pub stopped: StopReason,
    /// Whether all final states agree on the observed variables; `null` if unknown.
    pub deterministic: Option<bool>,
    /// The memory model, if the search is not over interleavings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_model: Option<String>,
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// If executions were drawn at random: the method, and the share of the traces that they cover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleRecord>,
    /// Wall-clock time of the search.
    pub seconds: f64,
    /// The work of the solver, if values are symbolic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solver: Option<SolverRecord>,
    /// The kinds of violations that the answer is about.
    #[serde(default, skip_serializing_if = "KindsRecord::is_empty")]
    pub kinds: KindsRecord,
    /// Evidence for violations, the gravest first.
    pub witnesses: Vec<Witness>,
    /// `check`: the orders of steps that cause the violation of the first witness, if found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// The `cover` statements of the file, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covers: Vec<CoverRecord>,
    /// The clients with which an object was explored, if the file specifies one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRecord>,
    /// The specification that the file refines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refinement: Option<RefinementRecord>,
    /// Under a weak memory model: the accesses whose advised orders remove all violations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stronger: Vec<AdvisedAccess>,
    /// Warnings about the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<DiagnosticRecord>,
    /// The coverage, if everything was explored; not for ABS programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// The greatest measured memory of the process, in bytes, if states are merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The pairs of places whose races were reversed, if requested, the most frequent first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Vec<ReversedPair>>,
}

/// Two places in the source whose steps race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReversedPair {
    /// The step that came first.
    pub first: Place,
    /// The step that should come before it.
    pub second: Place,
    /// Number of executions started to reverse such a race.
    pub executions: u64,
}

/// The kinds of violations that an answer is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindsRecord {
    /// The kinds that count: finding one of them is a violation.
    pub counted: Vec<Kind>,
    /// The counted kinds that were neither found nor excluded.
    pub open: Vec<Kind>,
    /// Whether a failure that does not count has halted a process. Then the later steps of that
    /// process are unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub halted: bool,
    /// Kinds of violations that were found, but do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub met: Vec<Kind>,
}

impl KindsRecord {
    /// Whether there is nothing to record.
    pub fn is_empty(&self) -> bool {
        self.counted.is_empty() && self.open.is_empty() && !self.halted
    }
}

/// The questions to a solver, and the sources of the answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SolverRecord {
    /// Number of queries. A query asks whether some conditions can hold together.
    pub queries: u64,
    /// Queries that an earlier model answered.
    pub reused: u64,
    /// Parts of queries whose answers were cached.
    pub cached: u64,
    /// Searches of the SAT solver.
    pub searches: u64,
    /// Queries to another program.
    pub external: u64,
}

/// The separator between the names of the files of one program, in [`ProgramRecord::file`].
pub const FILES_JOINED_BY: &str = " + ";

/// The identity of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRecord {
    /// The file, as given by the user; several are joined by [`FILES_JOINED_BY`].
    pub file: String,
    /// A hash of its text and settings; a witness replays only on the same program.
    pub hash: String,
    /// The `--set` options, in order: names and values.
    pub set: Vec<(String, String)>,
    /// The initial processes that have a name of their own in the source: number and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<(String, String)>,
}

impl ProgramRecord {
    /// Returns the name to show for a process, or for a step of a schedule: the name in the source,
    /// if there is one. The name of a child begins with that of its ancestor.
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

    /// Returns a schedule with the names of the processes.
    pub fn schedule(&self, schedule: &str) -> String {
        let steps = schedule.split_whitespace().map(|step| self.name_of(step));
        steps.collect::<Vec<_>>().join(" ")
    }
}

/// The options of a search. A limit that is `None` does not apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionsRecord {
    /// The value of `--property`, if it was given: the kinds of violations and the names of
    /// properties that decide the verdict, separated by commas.
    pub property: Option<String>,
    /// Limit on the steps of one execution.
    pub max_depth: Option<u64>,
    /// Limit on the steps in total.
    pub max_steps: Option<u64>,
    /// Limit on executions.
    pub max_executions: Option<u64>,
    /// Limit on local work within one step, in jumps and calls.
    pub max_local: u64,
    /// Limit on time, in milliseconds.
    pub time_limit: Option<u64>,
    /// Limit on memory, in bytes.
    pub memory_limit: Option<u64>,
    /// Number of workers, for an engine that can have several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u64>,
    /// Which infinite runs count, for commands that consider them; weak if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<Fairness>,
}

/// Evidence for a violation, which can be replayed: a run that shows it, or for nondeterminism two
/// runs with different results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// The kind of violation that it shows.
    pub kind: Kind,
    /// The violation in one sentence.
    pub message: String,
    /// Its place in the source, if there is one.
    pub place: Option<Place>,
    /// One run; two for nondeterminism; none for a `cover` that is never reached.
    pub runs: Vec<Run>,
    /// The processes that wait for ever, for a deadlock.
    pub waiting: Vec<Waiting>,
    /// The observed variables that differ, with their values in the two runs.
    pub differs: Vec<Difference>,
    /// The inputs for which the two runs are possible and differ, if there are inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// For an infinite run, which violates a temporal property or is a livelock: the number of
    /// steps before those that repeat. All later steps repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasso: Option<usize>,
    /// The variables that a failed condition mentions, with their values at the failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Binding>,
    /// The calls of a history that is not linearizable, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryOperation>,
}

impl Record {
    /// Returns the kinds of violations that its witnesses show.
    pub fn found(&self) -> Kinds {
        self.witnesses.iter().map(|shown| shown.kind).collect()
    }

    /// Marks kinds as open: those of `kinds` that count and were not found.
    pub fn leave_open(&mut self, kinds: Kinds) {
        let left = kinds.without(self.found());
        let kinds = &mut self.kinds;
        let open = |kind: &&Kind| left.contains(**kind) || kinds.open.contains(kind);
        kinds.open = kinds.counted.iter().filter(open).copied().collect();
    }

    /// Adds bounds that were found after the verdict. A verified result is then no longer verified.
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
    /// Returns the inputs of its runs. Two runs have the same inputs; each may read only some.
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
    /// No process can continue.
    Deadlock,
    /// A process failed.
    Failure,
    /// A false `assume`.
    Discarded,
    /// A bound of the machine that runs the program was hit, such as the range of integers.
    Lost,
    /// The schedule ended before the run did.
    Open,
}

/// One execution, or the beginning of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The processes, one per step.
    pub schedule: String,
    /// The values of the inputs that it has read, by process and order.
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
    /// Every process that has started, in the order of their numbers, and its status at the end of
    /// the run; empty in records that are older than this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessEnd>,
}

impl Run {
    /// Returns the name to show for a process: the name in the source, if there is one.
    pub fn name_of<'a>(&'a self, process: &'a str) -> &'a str {
        let named = self.names.iter().find(|(number, _)| number == process);
        named.map_or(process, |(_, name)| name)
    }
}

/// A process at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessEnd {
    /// The process.
    pub process: String,
    /// Its status.
    pub status: EndStatus,
    /// The obstacle that it waits for, if it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// The holder of this obstacle, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
}

/// The status of a process at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndStatus {
    /// It can make a step.
    Ready,
    /// It must wait.
    Waiting,
    /// It has ended.
    Ended,
    /// A failure has halted it.
    Failed,
    /// A false `assume` has halted it.
    Discarded,
    /// A bound of the machine that runs the program has halted it.
    Lost,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The process that made it.
    pub process: String,
    /// The outcomes of its `choose` expressions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<i64>,
    /// The label in the papers' notation: guard ▷ action.
    pub label: String,
    /// Its line in the source.
    pub line: usize,
    /// The file of this line, seen from the folder of the program; `None` for the program's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The processes that could make a step in the state before this step, including the one that
    /// made it.
    pub enabled: Vec<String>,
    /// The values that it read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Binding>,
    /// The values that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// The locks that it took or released.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<LockChange>,
    /// The mishap of the step, if it has one: a failure, a false `assume`, or a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mishap: Option<String>,
    /// Whether it is one of the two racing steps that decide how the run ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub racing: bool,
    /// The messages of the step, in a program of actors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Box<Actor>>,
    /// Its access to memory, under a weak memory model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Box<MemoryStep>>,
    /// The lines that it printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<String>,
}

/// An access to memory under a weak memory model. Steps of the run are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStep {
    /// Its kind: `read`, `write`, `update`, `lock`, `unlock`, `fence`.
    pub access: String,
    /// Its order: `plain`, `relaxed`, `acquire`, `release`, `acq_rel`, `seq_cst`.
    pub order: String,
    /// The place that it accesses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The step whose write it reads; 0 for the initial value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_from: Option<usize>,
    /// The steps that come earlier in the run, but whose writes to the same place come after the
    /// write that this step reads, or after its own write, in the order of the writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<usize>,
}

/// A step of an actor: one segment of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The object that it runs on.
    pub object: String,
    /// The method.
    pub task: String,
    /// Whether it is the first step of the task.
    pub starts: bool,
    /// Whether it is the last step of the task.
    pub ends: bool,
    /// The tasks that it creates.
    pub sends: Vec<Message>,
    /// The objects that it creates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub creates: Vec<String>,
    /// The task whose result it waits for afterwards, while its object is blocked.
    pub waits_for: Option<String>,
    /// The time that it waits for afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The result of the task, if it ends with a result that is worth showing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The exception that ends the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throws: Option<String>,
    /// Whether it keeps its object and continues with the next step.
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
    /// The arguments.
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

/// A variable with its values before and after a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The variable.
    pub name: String,
    /// The value before the step.
    pub from: String,
    /// The value after the step.
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
    /// Its value in the first run.
    pub first: String,
    /// Its value in the second run.
    pub second: String,
}

/// A process that waits for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The process that waits.
    pub process: String,
    /// The obstacle that it waits for, e.g. ``lock `fork[1]` ``.
    pub what: String,
    /// The holder, if there is one.
    pub held_by: Option<String>,
    /// The line where it waits.
    pub line: usize,
    /// The file of that line, if it is not the main file of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// The parts of a program that its executions have reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Number of statements that have an effect.
    pub statements: u64,
    /// Number of these statements that were reached.
    pub reached: u64,
    /// All branches of the program, in the order of its text.
    pub branches: Vec<Branch>,
}

/// A condition that decides the path through a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Where it is.
    pub place: Place,
    /// Whether it held in some execution.
    pub held: bool,
    /// Whether it failed to hold in some execution.
    pub failed: bool,
}

/// The data that `permute` adds to a record: the permutations of one recorded run, or of all runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permutations {
    /// The run that was recorded first.
    pub recorded: Run,
    /// The numbers of its steps, from 1, that took a branch or chose: another path can start there.
    pub branches: Vec<usize>,
    /// Whether all other paths were explored too.
    pub complete: bool,
    /// The length of the recorded run, if a limit cut it. It was permuted up to this length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<u64>,
    /// Number of recorded runs; more than one only if `complete`.
    pub seeds: u64,
    /// Prefixes extended by the next label of a process.
    pub candidates: u64,
    /// Candidates that the program cannot follow.
    pub infeasible: u64,
    /// Candidates that are equivalent to an earlier candidate.
    pub duplicates: u64,
    /// Permutations that the program can follow to an end, one of each trace.
    pub executable: u64,
    /// Permutations after which some process can continue, although it waits at the end of the
    /// recorded run.
    pub open: u64,
    /// Prefixes of permutations where no process can continue.
    pub stuck: u64,
    /// The counts by the definitions as printed, with `--paper`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<PaperPermutations>,
    /// The permutations from any initial values, with `--symbolic-initial`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any_start: Option<AnyStartPermutations>,
    /// The permutations, up to the requested number.
    pub classes: Vec<PermutationClass>,
    /// The different results of the permutations, up to the requested number.
    pub results: Vec<PermutationResult>,
}

/// The counts of Algorithm 1 with Definitions 9 and 12 as printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaperPermutations {
    /// Prefixes extended by the next label of a process.
    pub candidates: u64,
    /// Candidates that the program cannot follow.
    pub infeasible: u64,
    /// Candidates with the printed form of an earlier candidate.
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
    /// The initial values for which it is executable, if requested and expressible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_condition: Option<String>,
    /// The observed variables at its end.
    pub state: Vec<Binding>,
}

/// The permutations of a run that are executable from some initial values, even if these are not
/// the initial values of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnyStartPermutations {
    /// Number of permutations, one of each trace.
    pub executable: u64,
    /// The permutations, up to the requested number, with values over the initial values.
    pub classes: Vec<PermutationClass>,
    /// Pairs of permutations, by their numbers from 1, that end differently from some initial
    /// values.
    pub disagreements: Vec<PermutationDisagreement>,
    /// Whether all pairs were compared.
    pub all_pairs: bool,
    /// A question that the solver could not decide, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
}

/// Two permutations that end differently from some initial values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermutationDisagreement {
    /// The number of the first permutation in the list.
    pub first: usize,
    /// The number of the second.
    pub second: usize,
    /// All initial values from which they end differently.
    pub condition: String,
    /// An example of such values.
    pub example: Vec<Binding>,
}

/// A result that some permutations have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermutationResult {
    /// How they end.
    pub ending: Ending,
    /// The observed variables.
    pub state: Vec<Binding>,
    /// Number of permutations with this result.
    pub classes: u64,
    /// The schedule of the first of them.
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
    /// The index of its process in `lanes`.
    pub lane: usize,
    /// Its label.
    pub label: String,
    /// Its changes, in words.
    pub details: String,
    /// Its immediate predecessors, as indices of events. These and their pasts form the past of
    /// this event.
    pub after: Vec<usize>,
}

/// The data that `run --path` adds to a record: the run over unknown initial values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRecord {
    /// path(θ): the initial values of the shared variables for which the run would be the same.
    pub condition: String,
    /// The shared variables at its end, over the initial values.
    pub state: Vec<Binding>,
    /// The numbers of the steps, from 1, that could have taken another branch at a choice, not only
    /// at a guard.
    pub branches: Vec<usize>,
}
