//! A proof as a file: every goal with its sequent, the rule that reduces it, and the answer to
//! every question at a leaf.
//!
//! It is written to be read by people, and by a checker that believes none of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::record::ProgramRecord;

/// The version of the format.
pub const VERSION: u32 = 3;

/// A proof, or what there is of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// [`VERSION`].
    pub version: u32,
    /// The program: file, hash and settings.
    pub program: ProgramRecord,
    /// The formula, as it was given; none stands for what the file states.
    pub goal: Option<String>,
    /// Whether it is shown too that no state in its boxes deadlocks.
    pub deadlock: bool,
    /// Whether there is none: the formula was decided by executing its boxes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_execution: bool,
    /// What stands at each point of the program that goals name, in the words of the source.
    pub statements: BTreeMap<String, String>,
    /// Γ and Ψ of each box.
    pub contexts: Vec<ContextRecord>,
    /// What the formula asks of the initial state.
    pub leaves: Vec<LeafRecord>,
    /// The goals with boxes that it was taken apart into.
    pub roots: Vec<usize>,
    /// The goals, those of boxes first.
    pub goals: Vec<GoalRecord>,
}

/// What belongs to all goals under one box.
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
    /// What it is about, in words.
    pub what: String,
    /// Where in the program, line and column, if it is somewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<(usize, usize)>,
    /// What must hold.
    pub must: String,
    /// What became of it.
    pub answer: Answered,
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answered {
    /// It holds.
    Proved,
    /// It does not hold for these values.
    Refuted(Vec<(String, String)>),
    /// It was not decided.
    Unknown(String),
}

/// A goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalRecord {
    /// Its number.
    pub id: usize,
    /// Whose Γ and Ψ it has.
    pub context: usize,
    /// φ: the steps since the box, or since a goal that was generalised. Paths share their steps:
    /// there are many, and they are long.
    #[serde(with = "shared")]
    pub path: Vec<Arc<EventRecord>>,
    /// ⌈φ⌉: what was assumed.
    pub condition: Vec<String>,
    /// σ: what differs from the variable's own name aside.
    pub substitution: Vec<(String, String)>,
    /// Σ: where each thread stands, what it does next first.
    pub pool: Vec<ThreadRecord>,
    /// Who holds which lock.
    pub locks: Vec<(String, String)>,
    /// What was done about it.
    pub rule: RuleRecord,
}

/// Paths are written out, and shared only in memory.
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

/// ι⟨e, W, R⟩ of a path, the condition aside, which the goal has.
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
    /// s: the places of what is left to do, innermost last.
    pub work: Vec<String>,
}

/// The rule by which a goal was reduced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", tag = "name")]
pub enum RuleRecord {
    /// It is open.
    Open {
        /// Why.
        why: String,
    },
    /// Every thread makes a step.
    Schedule {
        /// One for each thread.
        steps: Vec<StepRecord>,
        /// Whether some process can go on, if that was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadlock: Option<LeafRecord>,
    },
    /// Every process has ended.
    Reduce {
        /// What must hold now.
        leaves: Vec<LeafRecord>,
        /// Goals of boxes inside of Ψ.
        goals: Vec<usize>,
    },
    /// What is assumed cannot be.
    Close {
        /// That it cannot.
        leaf: LeafRecord,
    },
    /// Another order of steps that commute has led to this goal before.
    Merge {
        /// That goal.
        to: usize,
    },
    /// Some values are replaced by fresh ones, of which only invariants are known.
    Generalise {
        /// The invariants, now.
        leaves: Vec<LeafRecord>,
        /// Which values.
        values: Vec<String>,
        /// The more general goal.
        to: usize,
    },
    /// It is an instance of a goal that is there already.
    Back {
        /// What that goal assumes.
        leaves: Vec<LeafRecord>,
        /// That goal.
        to: usize,
    },
}

/// The step of one thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Whose.
    pub process: String,
    /// The rule.
    pub rule: Rule,
    /// What it must not do wrong.
    pub leaves: Vec<LeafRecord>,
    /// The ways it can go; none if it has to wait.
    pub ways: Vec<WayRecord>,
}

/// One way that a step can go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WayRecord {
    /// The invariants after it.
    pub leaves: Vec<LeafRecord>,
    /// The goal it leads to.
    pub to: usize,
}

impl LeafRecord {
    /// Whether it was shown.
    pub fn is_proved(&self) -> bool {
        self.answer == Answered::Proved
    }
}

impl EventRecord {
    /// Whether the order of two steps matters: by the same process, by what one writes and the
    /// other touches, or because one starts or waits for the process of the other (Definition 4,
    /// and errata E9).
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
    /// All questions of the rule.
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

    /// The goals that it leads to.
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

    /// Its name as the papers write it.
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
    /// Whether every goal is there and reduced, and every question answered as it must be.
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

/// Which rule a step is by.
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

/// What became of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// There is a proof.
    Proved,
    /// There is an execution that shows the contrary.
    Refuted,
    /// Neither.
    Open,
}

/// One goal, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalOutcome {
    /// As it was given, or what the file states.
    pub goal: String,
    /// What became of it.
    pub status: Status,
    /// True if it was proved too that no state of the program deadlocks, false if there is a
    /// deadlock, null if that was not asked or not decided, or the goal is not about all runs of
    /// the program.
    pub deadlock_free: Option<bool>,
    /// Applications of SCHEDULE.
    pub schedules: u64,
    /// Sequents in which every process has ended.
    pub leaves: u64,
    /// Goals that were merged.
    pub merged: u64,
    /// Goals, all of them.
    pub goals: u64,
    /// Questions asked.
    pub questions: u64,
    /// Goals that are open, and why; the first few.
    pub open: Vec<OpenGoal>,
    /// Initial values of a counterexample.
    pub values: Vec<(String, String)>,
    /// Whether it was decided by executing its boxes, because they stand where the calculus has no
    /// rule: there is no proof to check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_execution: bool,
    /// Whether it is false at these values without a run: the part that fails has no box.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_once: bool,
}

/// A goal that is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenGoal {
    /// Its number in the proof; none for the goal itself.
    pub id: Option<usize>,
    /// The processes whose steps lead there.
    pub path: Vec<String>,
    /// What is assumed there.
    pub condition: Vec<String>,
    /// What is missing.
    pub why: String,
}
