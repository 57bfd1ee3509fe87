//! An oracle: decides what a `.maz` program can do, from docs/language.md alone.
//!
//! It shares no code and no ideas with the engines: it has its own lexer, parser, semantics and
//! explorer, and calls no other crate of Mazurka. It visits every state of every interleaving, with
//! every outcome of `choose` and every value of an input, so it is slow and simple. For programs
//! that are too large for that it gives no answer.
//!
//! ```
//! use mazurka_testkit::oracle::{Answer, Limits, judge};
//! let text = "var x: int = 0  process { x := 1 }  process { assert x == 0 }";
//! let Answer::Truth(truth) = judge(text, &Limits::default()) else { panic!("too large") };
//! assert!(!truth.deadlock);
//! assert_eq!(truth.deterministic, Some(true));
//! assert_eq!(truth.failures.len(), 1);
//! ```

mod assign;
pub mod ast;
mod children;
mod claims;
mod code;
mod compile;
mod cycles;
mod endless;
mod explore;
mod guess;
mod leave;
mod lex;
mod local;
mod machine;
mod objects;
mod parse;
mod print;
mod select;
mod sugar;
mod table;
mod temporal;
mod updates;
mod values;
mod whole;

use std::collections::BTreeSet;

pub use parse::parse;
pub use print::{expr as print_expr, print};

/// Bounds on the oracle, and its assumptions.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The maximal number of states; beyond it the answer is [`Answer::TooLarge`].
    pub states: usize,
    /// The maximal number of instructions within one step, including local work.
    pub local: usize,
    /// Constants and variables with a value other than that in the text (`--set`).
    pub set: Vec<(String, i128)>,
    /// The values to try for inputs and symbolic initial values of types wider than 8 bits, in
    /// addition to solutions of comparisons in the text. If a program has such an input or initial
    /// value, [`Truth::exact`] is false: the behaviour found is real, but there may be more.
    pub domain: Vec<i128>,
    /// Whether only strongly fair infinite runs count; otherwise all weakly fair infinite runs
    /// count.
    pub strong: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            states: 100_000,
            local: 10_000,
            set: Vec::new(),
            domain: vec![-1, 0, 1, 2],
            strong: false,
        }
    }
}

/// The oracle's answer about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The behaviour of all its runs.
    Truth(Truth),
    /// A limit was hit, or an `int` left 64 bits.
    TooLarge,
    /// No initial values satisfy the requirements of the program.
    Impossible,
    /// The text is not a program, for this reason.
    Refused(String),
}

/// The kind of a failure, as docs/language.md lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum FailureKind {
    Assert,
    Error,
    Invariant,
    Ensures,
    DivisionByZero,
    OutOfBounds,
    UnlockNotHeld,
    /// `choose(a..b)` with no value in the range.
    EmptyChoose,
}

/// A failure that some run of the program has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Failure {
    /// The line, from 1, of the statement or property.
    pub line: u32,
    /// Its kind.
    pub kind: FailureKind,
}

/// The observed variables, array elements as `a[0]`, in the order of their declaration.
pub type Observation = Vec<(String, i128)>;

/// The behaviour of all runs of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    /// The observed variables at the end of every final run; `bool`s are 0 and 1.
    pub final_states: BTreeSet<Observation>,
    /// Whether some run is a deadlock.
    pub deadlock: bool,
    /// The number of deadlocked states, which differ in shared variables, locks, processes or
    /// inputs.
    pub deadlock_states: usize,
    /// Every failure that no false `assume` happens before.
    pub failures: BTreeSet<Failure>,
    /// Whether some run is discarded.
    pub discarded: bool,
    /// Whether a fair run can continue for ever while a process that is meant to end does not end.
    pub livelock: bool,
    /// Which temporal properties hold, in the order of the text.
    pub temporal: Vec<bool>,
    /// Which covers are reachable, in the order of the text.
    pub covers: Vec<bool>,
    /// Whether all final states with the same inputs agree; `None` if there are no final states.
    pub deterministic: Option<bool>,
    /// Whether all values of inputs and symbolic variables were tried.
    pub exact: bool,
    /// The number of states.
    pub states: usize,
}

/// Decides the behaviour of the program in the text.
pub fn judge(text: &str, limits: &Limits) -> Answer {
    let program = match parse::parse_set(text, &limits.set) {
        Ok(program) => program,
        Err(why) => return Answer::Refused(why),
    };
    let mut limits = limits.clone();
    limits.domain.extend(guess::guesses(&program));
    limits.domain.sort_unstable();
    limits.domain.dedup();
    match compile::compile(&program, &limits) {
        Ok(mut code) => {
            code.contradicts = guess::contradiction(&program);
            explore::explore(&code, &limits)
        }
        Err(why) => Answer::Refused(why),
    }
}
