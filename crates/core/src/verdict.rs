//! Limits, counts and verdicts. A limit that was hit is always reported, and is never a success.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of a search. All limits that are set apply together.
///
/// A limit that is reached becomes a [`Bound`] in the [`Scope`] of the answer, so it is always
/// reported.
///
/// ```
/// use mazurka_core::Limits;
/// let limits = Limits { steps: Some(1000), ..Limits::default() };
/// assert_eq!((limits.depth(), limits.executions), (Limits::DEPTH, None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Steps of one execution. The default is [`Limits::DEPTH`]. A search that merges states has no
    /// limit by default, because a path may be long even if no execution is.
    pub depth: Option<u64>,
    /// Steps in total.
    pub steps: Option<u64>,
    /// Executions.
    pub executions: Option<u64>,
    /// Local work within one step, in jumps and calls.
    pub local: u64,
    /// Time of the whole search.
    pub time: Option<Duration>,
    /// Memory of the operating-system process, in bytes.
    pub memory: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: None,
            steps: None,
            executions: None,
            local: 1_000_000,
            time: None,
            memory: None,
        }
    }
}

impl Limits {
    /// Steps of one execution (default).
    pub const DEPTH: u64 = 10_000;

    /// Returns the limit on the steps of one execution.
    pub fn depth(&self) -> u64 {
        self.depth.unwrap_or(Self::DEPTH)
    }
}

/// A bound that cut a search short. Its text names the flag that changes it, if there is one.
///
/// ```
/// use mazurka_core::Bound;
/// assert_eq!(Bound::MaxSteps(1000).to_string(), "--max-steps 1000 was reached");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "bound", content = "value", rename_all = "kebab-case")]
pub enum Bound {
    /// Steps of one execution.
    MaxDepth(u64),
    /// Steps in total.
    MaxSteps(u64),
    /// Executions.
    MaxExecutions(u64),
    /// Local work within one step.
    MaxLocal(u64),
    /// Messages in a channel without a capacity.
    MaxMessages(u32),
    /// Time, in milliseconds.
    TimeLimit(u64),
    /// Memory of the operating-system process, in bytes.
    MemoryLimit(u64),
    /// An `int` that does not fit into the 64 bits in which the machine computes.
    IntRange,
    /// Properties of final states were checked only in the final states that the tests have
    /// reached.
    FinalStates,
    /// `int` was decided only for values that fit into this many bits.
    IntWithin(u8),
    /// The solver gave no answer where one was needed.
    Undecided,
    /// Rounds of a loop without an invariant, in a proof.
    Unfold(u64),
    /// Data races ended executions early, and failures (such as data races) do not count for the
    /// verdict.
    DataRaces,
    /// Stopped by the user.
    Interrupted,
    /// An algorithm that loses states was run as its paper prints it.
    AsPrinted,
    /// Only this many executions, drawn at random, were explored.
    Sampled(u64),
    /// The program states temporal properties, but the engine cannot decide them.
    Temporal,
    /// The program has `cover` statements, but the command does not check them.
    Covers,
    /// The program refines another one, but the command does not check that.
    Refinement,
    /// Durations were explored only at some of their possible times. At other times the program may
    /// behave differently.
    Times,
    /// States were stored as bits, and with this probability, in units of 10⁻⁹, the search has
    /// missed a state.
    Bitstate(u64),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Bound::MaxDepth(n) => write!(f, "an execution reached --max-depth {n}"),
            Bound::MaxSteps(n) => write!(f, "--max-steps {n} was reached"),
            Bound::MaxExecutions(n) => write!(f, "--max-executions {n} was reached"),
            Bound::MaxLocal(n) => write!(f, "one step did more local work than --max-local {n}"),
            Bound::MaxMessages(n) => write!(
                f,
                "a channel without a capacity had more than {n} messages, its limit"
            ),
            Bound::TimeLimit(ms) => {
                write!(
                    f,
                    "--time-limit {} was reached",
                    Duration::from_millis(ms).as_secs_f64()
                )
            }
            Bound::MemoryLimit(bytes) => write!(f, "--memory-limit {bytes} was reached"),
            Bound::IntRange => f.write_str("an `int` left the range of 64 bits"),
            Bound::FinalStates => f.write_str("`ensures` was checked in the tests only"),
            Bound::IntWithin(bits) => write!(f, "`int` was decided within {bits} bits only"),
            Bound::Undecided => f.write_str("the solver gave no answer"),
            Bound::Unfold(n) => write!(
                f,
                "a loop without an invariant went round more than --unfold {n} times"
            ),
            Bound::DataRaces => f.write_str("what follows a data race was not explored"),
            Bound::Interrupted => f.write_str("interrupted"),
            Bound::AsPrinted => f.write_str("--paper loses states"),
            Bound::Temporal => f.write_str("temporal properties were not checked"),
            Bound::Covers => f.write_str("`cover` was not checked"),
            Bound::Refinement => f.write_str("`refines` was not checked"),
            Bound::Times => f.write_str("durations were not explored at all times in their range"),
            Bound::Bitstate(billionths) => write!(
                f,
                "--bitstate keeps states as bits: a state was missed with a probability of {:.1e}",
                billionths as f64 / 1e9
            ),
            Bound::Sampled(1) => f.write_str("only one execution was drawn at random"),
            Bound::Sampled(n) => write!(f, "only {n} executions were drawn at random"),
        }
    }
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// There was nothing left to explore.
    Complete,
    /// The verdict was certain before the end.
    Certain,
    /// A bound was hit.
    Bound,
}

/// The counts of a search. docs/record.md explains each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Complete runs: final, deadlocked or with a failed process.
    pub executions: u64,
    /// Distinct traces among them; `None` if the engine cannot know.
    pub traces: Option<u64>,
    /// Runs cut because another run covers them.
    pub blocked: u64,
    /// Runs with a false `assume`.
    pub discarded: u64,
    /// Distinct deadlocked traces (states, for engines that merge states).
    pub deadlocks: u64,
    /// Distinct failing events, each with its past.
    pub failures: u64,
    /// Distinct observed final states.
    pub final_states: u64,
    /// Edges of the exploration tree.
    pub events: u64,
    /// Transitions executed, replays included.
    pub steps: u64,
    /// Distinct states, if the engine merges equal ones. Other commands write other data under the
    /// same key; reading a record ignores such data.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "number_if_any"
    )]
    pub states: Option<u64>,
    /// If states that differ only by a permutation of interchangeable processes count as one: the
    /// number of states that they represent, at most `u64::MAX`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permuted_states: Option<u64>,
    /// The greatest number of states stored at any time, if the engine stores only some of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_states: Option<u64>,
}

fn number_if_any<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum MaybeNumber {
        Number(u64),
        Else(serde::de::IgnoredAny),
    }
    Ok(match MaybeNumber::deserialize(from)? {
        MaybeNumber::Number(number) => Some(number),
        MaybeNumber::Else(_) => None,
    })
}

/// The executions that a verdict covers: everything, or everything up to these bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Whether no bound was hit.
    pub exhaustive: bool,
    /// The bounds that were hit; empty if `exhaustive`.
    pub bounds: Vec<Bound>,
    /// The parts of a native program that run outside the exploration, in words: functions of the C
    /// library that are passed through, inline assembly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
}

/// The answer of a search, within its [`Scope`].
///
/// A violation is certain whatever the scope, because a witness shows it. `Verified` holds within
/// the scope: for all executions if the scope is exhaustive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Every property holds within the scope.
    Verified,
    /// A property does not hold; a witness shows it.
    Violated,
    /// A bound was hit before anything was certain.
    Inconclusive,
}

impl Verdict {
    /// Returns its name, as in the record.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Verified => "verified",
            Verdict::Violated => "violated",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

/// Which infinite runs count (docs/temporal.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fairness {
    /// Runs are excluded in which some process is ready for ever from some state on and never makes
    /// a step.
    #[default]
    Weak,
    /// Runs are excluded in which some process is ready again and again, but does not make a step
    /// again and again.
    Strong,
}

impl Fairness {
    /// Both kinds of fairness, the default first.
    pub const ALL: [Fairness; 2] = [Fairness::Weak, Fairness::Strong];

    /// Returns its name, as in the record.
    pub fn name(self) -> &'static str {
        match self {
            Fairness::Weak => "weak",
            Fairness::Strong => "strong",
        }
    }
}

impl fmt::Display for Fairness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A kind of violation. Kinds are ordered by severity, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A failed assertion, invariant, `ensures`, division, index, `unlock`.
    Failure,
    /// A temporal property that some run violates.
    Property,
    /// A state where no process can continue.
    Deadlock,
    /// A cycle that the program can follow for ever, although one of its processes should end.
    Livelock,
    /// Two runs whose observed results differ.
    Nondeterminism,
}

impl Kind {
    /// All kinds, the gravest first.
    pub const ALL: [Kind; 5] = [
        Kind::Failure,
        Kind::Property,
        Kind::Deadlock,
        Kind::Livelock,
        Kind::Nondeterminism,
    ];

    /// Returns its name, as in the record.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Failure => "failure",
            Kind::Property => "property",
            Kind::Deadlock => "deadlock",
            Kind::Livelock => "livelock",
            Kind::Nondeterminism => "nondeterminism",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of kinds of violations.
///
/// ```
/// use mazurka_core::{Kind, Kinds};
///
/// let counted = Kinds::of(&[Kind::Deadlock, Kind::Nondeterminism]);
/// assert!(counted.contains(Kind::Deadlock));
/// assert!(!counted.contains(Kind::Failure));
/// // The kinds that are still worth searching for if two results differ.
/// assert_eq!(counted.graver_than(Kind::Nondeterminism), Kinds::of(&[Kind::Deadlock]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// No kind.
    pub const NONE: Kinds = Kinds(0);
    /// Every kind.
    pub const ALL: Kinds = Kinds::of(&Kind::ALL);
    /// The violations of a single run: every kind except different results.
    pub const FAULTS: Kinds = Kinds::ALL.without(Kinds::of(&[Kind::Nondeterminism]));

    /// The words that [`parse`](Kinds::parse) knows.
    pub const WORDS: [&str; 6] = [
        "failure",
        "property",
        "deadlock",
        "livelock",
        "deterministic",
        "all",
    ];

    /// Returns the kinds that a word of `--property` denotes. Returns `None` if the word is not one
    /// of these; then it is the name of a property.
    ///
    /// ```
    /// use mazurka_core::{Kind, Kinds};
    /// assert_eq!(Kinds::parse("deterministic"), Some(Kinds::of(&[Kind::Nondeterminism])));
    /// assert_eq!(Kinds::parse("exclusion"), None);
    /// ```
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "all" => Some(Kinds::ALL),
            "deterministic" => Some(Kinds::of(&[Kind::Nondeterminism])),
            "nondeterminism" => None,
            _ => {
                let kind = Kind::ALL.into_iter().find(|kind| kind.name() == word)?;
                Some(Kinds::of(&[kind]))
            }
        }
    }

    /// Returns the set of these kinds.
    pub const fn of(kinds: &[Kind]) -> Self {
        let mut all = 0;
        let mut at = 0;
        while at < kinds.len() {
            all |= 1 << kinds[at] as u8;
            at += 1;
        }
        Kinds(all)
    }

    /// Whether the set contains a kind.
    pub const fn contains(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns this set with another kind added.
    #[must_use]
    pub const fn with(self, kind: Kind) -> Self {
        Kinds(self.0 | 1 << kind as u8)
    }

    /// Returns the kinds that are in at least one of the two sets.
    #[must_use]
    pub const fn or(self, others: Kinds) -> Self {
        Kinds(self.0 | others.0)
    }

    /// Returns the kinds that are in both sets.
    #[must_use]
    pub const fn and(self, others: Kinds) -> Self {
        Kinds(self.0 & others.0)
    }

    /// Returns this set without the kinds of another one.
    #[must_use]
    pub const fn without(self, others: Kinds) -> Self {
        Kinds(self.0 & !others.0)
    }

    /// Returns the kinds of this set that are graver than `kind`.
    #[must_use]
    pub const fn graver_than(self, kind: Kind) -> Self {
        Kinds(self.0 & ((1 << kind as u8) - 1))
    }

    /// Returns its kinds, the gravest first.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL
            .into_iter()
            .filter(move |&kind| self.contains(kind))
    }
}

impl FromIterator<Kind> for Kinds {
    fn from_iter<T: IntoIterator<Item = Kind>>(kinds: T) -> Self {
        kinds.into_iter().fold(Kinds::NONE, Kinds::with)
    }
}
