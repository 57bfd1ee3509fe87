//! The answer of a command about a program: what its record claims, in a form that can be compared
//! with the truth.

use std::collections::BTreeSet;

use mazurka::record::{Binding, Kind, Record, Run};
use mazurka::{Bound, Verdict};
use mazurka_core::Counts;
use mazurka_core::Kinds;

/// The values of some variables, by name; `bool`s are 0 and 1.
pub type State = Vec<(String, i128)>;

/// The outcome of a command.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It gave an answer.
    Answer(Box<CommandAnswer>),
    /// It refused the program, with this message.
    Refused(String),
}

/// The answer of a command.
#[derive(Clone, Debug)]
pub struct CommandAnswer {
    pub verdict: Verdict,
    pub bounds: Vec<Bound>,
    pub deterministic: Option<bool>,
    pub counts: Counts,
    /// The lines of the failures that it shows.
    pub failures: BTreeSet<usize>,
    /// Whether it shows or counts a deadlock.
    pub deadlock: bool,
    /// Whether it shows a livelock.
    pub livelock: bool,
    /// Whether it shows two final states that differ.
    pub differs: bool,
    /// The kinds of violations that it shows.
    pub kinds: Kinds,
    /// The kinds that it did not search for exhaustively.
    pub open: Vec<Kind>,
    /// The final states, if the command lists all of them.
    pub finals: Option<BTreeSet<State>>,
    /// A mistake that is visible without the truth: a witness that does not replay, or a run that
    /// does not end in the state that its record contains.
    pub wrong: Option<String>,
    /// The part that only `prove` reports.
    pub proof: Option<Proof>,
}

/// The answer of `prove` about the one goal of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    pub proved: bool,
    pub refuted: bool,
    pub deadlock_free: Option<bool>,
}

impl CommandAnswer {
    pub fn from_record(record: &Record) -> Self {
        let shows = |kind: Kind| record.witnesses.iter().any(|w| w.kind == kind);
        let failures = record.witnesses.iter().filter(|w| w.kind == Kind::Failure);
        let lines = failures.filter_map(|w| w.place.as_ref().map(|place| place.line));
        Self {
            verdict: record.verdict,
            bounds: record.scope.bounds.clone(),
            deterministic: record.deterministic,
            counts: record.counts,
            failures: lines.collect(),
            deadlock: shows(Kind::Deadlock) || record.counts.deadlocks > 0,
            livelock: shows(Kind::Livelock),
            differs: shows(Kind::Nondeterminism),
            kinds: record.witnesses.iter().map(|w| w.kind).collect(),
            open: record.kinds.open.clone(),
            finals: None,
            wrong: (record.scope.exhaustive && !record.kinds.open.is_empty())
                .then(|| "exhaustive, though something is open".to_owned()),
            proof: None,
        }
    }

    /// Returns an answer without any claims.
    pub fn nothing() -> Self {
        Self {
            verdict: Verdict::Inconclusive,
            bounds: Vec::new(),
            deterministic: None,
            counts: Counts::default(),
            failures: BTreeSet::new(),
            deadlock: false,
            livelock: false,
            differs: false,
            kinds: Kinds::NONE,
            open: Vec::new(),
            finals: None,
            wrong: None,
            proof: None,
        }
    }

    /// Whether the search was exhaustive.
    pub fn exhaustive(&self) -> bool {
        self.bounds.is_empty()
    }

    pub fn boxed(self) -> Outcome {
        Outcome::Answer(Box::new(self))
    }
}

/// Returns the values at the end of a run.
pub fn state_of(run: &Run) -> State {
    named(&run.state)
}

/// Returns the values of variables, with a separate name for each element of an array.
pub fn named(bindings: &[Binding]) -> State {
    let mut state = State::new();
    for Binding { name, value } in bindings {
        match value.strip_prefix('[').and_then(|v| v.strip_suffix(']')) {
            None => state.push((name.clone(), value_of(value))),
            Some(elements) => {
                let elements = elements.split(',').enumerate();
                state.extend(elements.map(|(at, v)| (format!("{name}[{at}]"), value_of(v.trim()))));
            }
        }
    }
    state.sort();
    state
}

/// Returns the number in a text. A text without a number gives one that no variable can have.
fn value_of(text: &str) -> i128 {
    mazurka::run::parse_input(text).unwrap_or(i128::MAX)
}
