//! An oracle: what a `.maz` program can do, from docs/language.md alone.
//!
//! It shares no code and no author's idea with the engines: its lexer, parser, semantics and
//! explorer are its own, and it calls no crate of Mazurka. It walks through every state that any
//! interleaving, every outcome of `choose` and every value of an input leads to, so it is slow and
//! simple. Programs that are too large for that get no answer.
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

/// How far the oracle goes, and what it takes for granted.
#[derive(Clone, Debug)]
pub struct Limits {
    /// States, after which the answer is [`Answer::TooLarge`].
    pub states: usize,
    /// Instructions within one step, local work included.
    pub local: usize,
    /// Constants and variables that have another value than the text gives (`--set`).
    pub set: Vec<(String, i128)>,
    /// The values tried for inputs and symbolic initial values of types wider than 8 bits. With
    /// one of these, [`Truth::exact`] is false: what was found is real, but more may be possible.
    /// Solutions of comparisons in the text are tried as well.
    pub domain: Vec<i128>,
    /// Whether only strongly fair runs count among those without an end, and not all that are
    /// weakly fair.
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

/// What the oracle knows about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All of it.
    Truth(Truth),
    /// A limit was hit, or an `int` left 64 bits.
    TooLarge,
    /// No initial values satisfy what the program requires.
    Impossible,
    /// The text is no program, and why.
    Refused(String),
}

/// What went wrong, as docs/language.md lists it.
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
    /// `choose(a..b)` with no value between the bounds.
    EmptyChoose,
}

/// A failure that some run of the program has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Failure {
    /// The line, from 1, of the statement or property.
    pub line: u32,
    /// What it is.
    pub kind: FailureKind,
}

/// The observed variables, array elements as `a[0]`, in the order of their declaration.
pub type Observation = Vec<(String, i128)>;

/// Everything that the runs of a program do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    /// The observed variables at the end of every final run; `bool`s are 0 and 1.
    pub final_states: BTreeSet<Observation>,
    /// Whether some run is a deadlock.
    pub deadlock: bool,
    /// How many different states (shared variables, locks, processes, inputs) are deadlocks.
    pub deadlock_states: usize,
    /// Every failure that no false `assume` happens before.
    pub failures: BTreeSet<Failure>,
    /// Whether some run is discarded.
    pub discarded: bool,
    /// Whether a fair run can go on for ever, while a process that is meant to end does not.
    pub livelock: bool,
    /// Which temporal properties hold, in the order of the text.
    pub temporal: Vec<bool>,
    /// Which covers are reachable, in the order of the text.
    pub covers: Vec<bool>,
    /// Whether all final states with the same inputs agree; `None` if there are none.
    pub deterministic: Option<bool>,
    /// Whether the inputs and symbolic values were tried completely.
    pub exact: bool,
    /// How many states there were.
    pub states: usize,
}

/// What the program in the text can do.
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
