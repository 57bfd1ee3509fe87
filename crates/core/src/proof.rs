//! A proof as a file: every goal with its sequent, the rule that reduces it, and the answer to
//! every question at a leaf. docs/prove.md describes sequents, rules and the symbols Γ, φ, σ, Σ, Ψ.
//!
//! The file is written for people, and for a checker that trusts no part of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::record::ProgramRecord;

/// The version of the format.
pub const VERSION: u32 = 3;

/// A proof in dynamic logic, complete or not, as it is saved in a file.
///
/// It is a graph of goals: each goal names the rule that was applied to it and the goals that
/// remain. `check-proof` applies the rules again, with code of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// [`VERSION`].
    pub version: u32,
    /// The program: file, hash and settings.
    pub program: ProgramRecord,
    /// The formula, as it was given; `None` if it is the specification in the file.
    pub goal: Option<String>,
    /// Whether the proof also shows that no state in its boxes deadlocks.
    pub deadlock: bool,
    /// Whether there is no proof because the formula was decided by executing its boxes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_execution: bool,
    /// The source text at each point of the program that goals name.
    pub statements: BTreeMap<String, String>,
    /// Γ and Ψ of each box.
    pub contexts: Vec<ContextRecord>,
    /// The questions about the initial state, from the parts of the formula outside its boxes.
    pub leaves: Vec<LeafRecord>,
    /// The goals of the boxes of the formula, as indices into `goals`.
    pub roots: Vec<usize>,
    /// The goals. Those of the formula's boxes come first.
    pub goals: Vec<GoalRecord>,
}

/// The part that all goals under one box share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextRecord {
    /// Γ
    pub known: Vec<String>,
    /// The processes in the box.
    pub processes: Vec<String>,
}

/// A question, and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeafRecord {
    /// The subject of the question, in words.
    pub what: String,
    /// The line and column in the program, if it concerns one place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<(usize, usize)>,
    /// The formula that must hold.
    pub must: String,
    /// The answer.
    pub answer: GoalAnswer,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GoalAnswer {
    /// It holds.
    Proved,
    /// It does not hold for these values: variables, each with its value.
    Refuted(Vec<(String, String)>),
    /// It was not decided.
    Unknown(String),
}

/// A goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalRecord {
    /// The number of the goal, which other goals refer to: its index in [`Proof::goals`].
    pub id: usize,
    /// The index of its context, which has its Γ and Ψ.
    pub context: usize,
    /// φ: the steps since the box, or since a goal that was generalised. Goals share these steps in
    /// memory, because paths are many and long.
    #[serde(with = "shared")]
    pub path: Vec<Arc<EventRecord>>,
    /// ⌈φ⌉: the assumptions.
    pub condition: Vec<String>,
    /// σ: the variables whose value is not their own initial value, each with its value.
    pub substitution: Vec<(String, String)>,
    /// Σ: the remaining work of each thread.
    pub pool: Vec<ThreadRecord>,
    /// The locks that are held, each with its holder.
    pub locks: Vec<(String, String)>,
    /// The rule that was applied to it.
    pub rule: RuleRecord,
}

/// Writes paths in full; they are shared only in memory.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::EventRecord;

    pub(super) fn serialize<S: Serializer>(
        path: &[Arc<EventRecord>],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(path.iter().map(|event| &**event))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Arc<EventRecord>>, D::Error> {
        let path = Vec::<EventRecord>::deserialize(from)?;
        Ok(path.into_iter().map(Arc::new).collect())
    }
}

/// ι⟨e, W, R⟩ of a path, without the condition, which the goal has.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EventRecord {
    /// ι
    pub process: String,
    /// W
    pub writes: Vec<String>,
    /// R
    pub reads: Vec<String>,
    /// The processes that the step started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spawned: Vec<String>,
    /// The processes that it waited for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<String>,
}

/// ι(s)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadRecord {
    /// ι
    pub process: String,
    /// s: the places of the remaining work, innermost last.
    pub work: Vec<String>,
}

/// The rule by which a goal was reduced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", tag = "name")]
pub enum RuleRecord {
    /// No rule was applied.
    Open {
        /// The reason.
        why: String,
    },
    /// Every thread makes a step.
    Schedule {
        /// The step of each thread.
        steps: Vec<StepRecord>,
        /// The question whether some process can continue, if it was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadlock: Option<LeafRecord>,
    },
    /// Every process has ended.
    Reduce {
        /// The formulas that must hold now.
        leaves: Vec<LeafRecord>,
        /// Goals of boxes inside Ψ.
        goals: Vec<usize>,
    },
    /// The assumptions contradict each other.
    Close {
        /// The question that shows the contradiction.
        leaf: LeafRecord,
    },
    /// Another order of commuting steps has led to an equal goal before.
    Merge {
        /// That goal.
        to: usize,
    },
    /// Some values are replaced by fresh ones, which are constrained only by invariants.
    Generalise {
        /// The invariants, for the current values.
        leaves: Vec<LeafRecord>,
        /// The values that are replaced.
        values: Vec<String>,
        /// The more general goal.
        to: usize,
    },
    /// The goal is an instance of a goal that exists already, which may be more general.
    Back {
        /// The assumptions of that goal, which must hold here.
        leaves: Vec<LeafRecord>,
        /// That goal.
        to: usize,
    },
}

/// The step of one thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// The process.
    pub process: String,
    /// The rule.
    pub rule: Rule,
    /// The conditions under which it does not fail.
    pub leaves: Vec<LeafRecord>,
    /// The possible results of the step; none if it must wait.
    pub ways: Vec<WayRecord>,
}

/// One possible result of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WayRecord {
    /// The invariants after it.
    pub leaves: Vec<LeafRecord>,
    /// The goal it leads to.
    pub to: usize,
}

impl LeafRecord {
    /// Whether it was proved.
    pub fn is_proved(&self) -> bool {
        self.answer == GoalAnswer::Proved
    }
}

impl EventRecord {
    /// Whether the order of two steps matters: they are of the same process, one writes a variable
    /// that the other touches, or one starts or waits for the process of the other (Definition 4,
    /// and erratum E9 in docs/algorithms.md).
    pub fn conflicts(&self, other: &Self) -> bool {
        let meet = |a: &[String], b: &[String]| a.iter().any(|name| b.contains(name));
        let disturbs = |a: &Self, b: &Self| {
            meet(&a.writes, &b.writes)
                || meet(&a.writes, &b.reads)
                || a.spawned.contains(&b.process)
                || a.joined.contains(&b.process)
        };
        self.process == other.process || disturbs(self, other) || disturbs(other, self)
    }
}

impl RuleRecord {
    /// Returns all questions of the rule.
    pub fn leaves(&self) -> Vec<&LeafRecord> {
        match self {
            RuleRecord::Open { .. } | RuleRecord::Merge { .. } => Vec::new(),
            RuleRecord::Close { leaf } => vec![leaf],
            RuleRecord::Reduce { leaves, .. }
            | RuleRecord::Generalise { leaves, .. }
            | RuleRecord::Back { leaves, .. } => leaves.iter().collect(),
            RuleRecord::Schedule { steps, deadlock } => {
                let leaves = steps.iter().flat_map(|step| {
                    let ways = step.ways.iter().flat_map(|way| &way.leaves);
                    step.leaves.iter().chain(ways)
                });
                leaves.chain(deadlock).collect()
            }
        }
    }

    /// Returns the goals that it leads to.
    pub fn goals(&self) -> Vec<usize> {
        match self {
            RuleRecord::Open { .. } | RuleRecord::Close { .. } => Vec::new(),
            RuleRecord::Merge { to }
            | RuleRecord::Generalise { to, .. }
            | RuleRecord::Back { to, .. } => vec![*to],
            RuleRecord::Reduce { goals, .. } => goals.clone(),
            RuleRecord::Schedule { steps, .. } => {
                let ways = steps.iter().flat_map(|step| &step.ways);
                ways.map(|way| way.to).collect()
            }
        }
    }

    /// Returns its name as the papers write it.
    pub fn name(&self) -> &'static str {
        match self {
            RuleRecord::Open { .. } => "open",
            RuleRecord::Schedule { .. } => "SCHEDULE",
            RuleRecord::Reduce { .. } => "REDUCE",
            RuleRecord::Close { .. } => "CLOSE",
            RuleRecord::Merge { .. } => "POR",
            RuleRecord::Generalise { .. } => "INVARIANT",
            RuleRecord::Back { .. } => "BACK",
        }
    }
}

impl Proof {
    /// Whether every goal exists and is reduced, and every question was proved.
    pub fn is_closed(&self) -> bool {
        let there = |&goal: &usize| goal < self.goals.len();
        let roots = self.leaves.iter().all(LeafRecord::is_proved) && self.roots.iter().all(there);
        let open = |goal: &GoalRecord| matches!(goal.rule, RuleRecord::Open { .. });
        let leaves = |goal: &GoalRecord| goal.rule.leaves().iter().all(|leaf| leaf.is_proved());
        let closed =
            |goal: &GoalRecord| !open(goal) && leaves(goal) && goal.rule.goals().iter().all(there);
        !self.by_execution && roots && self.goals.iter().all(closed)
    }
}

/// The rule of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs)]
pub enum Rule {
    Assign,
    Cond,
    While,
    For,
    Call,
    Guard,
    Choice,
    Loop,
    Spawn,
    Join,
    Lock,
    Unlock,
    Atomic,
    Assert,
    Assume,
    /// The bound of a loop is used up: a step without an event.
    Spent,
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&format!("{self:?}").to_uppercase())
    }
}

/// The status of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GoalStatus {
    /// There is a proof.
    Proved,
    /// An execution shows that it does not hold.
    Refuted,
    /// Neither proved nor refuted.
    Open,
}

/// One goal and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalOutcome {
    /// The goal as it was given, or the specification in the file.
    pub goal: String,
    /// Its status.
    pub status: GoalStatus,
    /// Whether the program is free of deadlocks; `None` if this was not asked or not decided, or if
    /// the goal is not about all runs of the program.
    pub deadlock_free: Option<bool>,
    /// Number of applications of SCHEDULE.
    pub schedules: u64,
    /// Number of sequents in which every process has ended.
    pub leaves: u64,
    /// Number of goals that were merged.
    pub merged: u64,
    /// Number of all goals.
    pub goals: u64,
    /// Number of questions asked.
    pub questions: u64,
    /// The first few goals of the proof that are open, with reasons.
    pub open: Vec<OpenGoal>,
    /// Initial values of a counterexample.
    pub values: Vec<(String, String)>,
    /// Whether it was decided by executing its boxes, because the calculus has no rule for their
    /// position. Then there is no proof to check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_execution: bool,
    /// Whether the goal is false for `values` without any run, because the false part of the
    /// formula contains no box.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_once: bool,
}

/// A goal that is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenGoal {
    /// The number of the goal in the proof; `None` if the formula itself is open.
    pub id: Option<usize>,
    /// The processes whose steps lead to it.
    pub path: Vec<String>,
    /// Its assumptions.
    pub condition: Vec<String>,
    /// What is missing.
    pub why: String,
}
