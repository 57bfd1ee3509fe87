//! Words of other languages, such as `thread` or `try_lock`, and for each the text that says what
//! to write instead.

use super::super::token::{KEYWORDS, TokenKind};
use mazurka_diagnostics::nearest;

const ENUM: &str =
    "write `enum Color { Red, Green }` outside of all blocks, and `var c: Color = Red`";
const RECORD: &str = "write `struct Point { x: int, y: int }` outside of all blocks, and `var p: Point = Point(x: 0, y: 0)`";
const FUNCTION: &str = "write `fn f(a: int): int { e }` outside of all blocks for a value, `proc p() { … }` for statements";
const CASES: &str =
    "write `match s { Idle { … } Busy { … } }` for an `enum`, else `if … { … } else if … { … }`";
const TYPE: &str = "there are `bool`, `int`, `i8` … `u64`, ranges, `enum`, `struct` and arrays of them; write the type itself";
const CHANNEL: &str =
    "write `chan c[4]: int` outside of all blocks, `c ! e` to send and `c ? x` to receive";
const INCLUDE: &str = "write `include \"name.maz\"` on a line of its own, outside of all blocks";
const TEMPORAL: &str = "write `always e`, `eventually e`, `infinitely_often e` or `whenever e leads_to f` (docs/temporal.md)";

/// Words that start a statement in other languages, and what to write instead.
const FOREIGN_WORDS: &[(&str, &str)] = &[
    (
        "thread",
        "write `process` outside of all blocks, or `spawn { … }` inside a block",
    ),
    ("fork", "write `spawn { … }`"),
    ("go", "write `spawn { … }`"),
    ("async", "write `spawn { … }`"),
    (
        "parallel",
        "write one `process` for each part, or `spawn { … }`",
    ),
    ("par", "write one `process` for each part, or `spawn { … }`"),
    (
        "cobegin",
        "write one `process` for each part, or `spawn { … }`",
    ),
    ("run", "write `spawn p(…)`"),
    ("start", "write `spawn p(…)`"),
    (
        "active",
        "write `process p { … }`, or `process p (i in 0..n) { … }` for several",
    ),
    (
        "proctype",
        "write `process p { … }`, or `proc p() { … }` if it is spawned",
    ),
    ("mutex", "write `lock m` outside of all blocks"),
    (
        "semaphore",
        "write `semaphore s = 1` outside of all blocks, and `acquire(s)`, `release(s)`",
    ),
    (
        "acquire",
        "write `acquire(s)`, with `semaphore s = 1` outside of all blocks; for a lock `lock(m)`",
    ),
    (
        "release",
        "write `release(s)`, with `semaphore s = 1` outside of all blocks; for a lock `unlock(m)`",
    ),
    ("synchronized", "write `lock(m); …; unlock(m)`"),
    (
        "wait",
        "write `await e` for a condition, `wait(c, m)` with `cond c` and `lock m`",
    ),
    ("wait_until", "write `await e` or `e |> s`"),
    ("waituntil", "write `await e` or `e |> s`"),
    ("wait_for", "write `await e` or `e |> s`"),
    ("block", "write `await e` or `e |> s`"),
    ("when", "write `e |> s`"),
    (
        "signal",
        "write `signal(c)`, with `cond c` outside of all blocks, or assign a variable that the other process awaits",
    ),
    (
        "notify",
        "write `signal(c)`, with `cond c` outside of all blocks, or assign a variable that the other process awaits",
    ),
    (
        "yield",
        "nothing is needed: every step may be followed by another process's",
    ),
    (
        "sleep",
        "nothing is needed: there is no time here, and any process may be slow",
    ),
    ("print", "write `print \"client {me}: {x}\"`: runs show it"),
    ("printf", "write `print \"client {me}: {x}\"`: runs show it"),
    (
        "println",
        "write `print \"client {me}: {x}\"`: runs show it",
    ),
    (
        "return",
        "a procedure gives no value; `return` alone leaves it: assign a shared variable, or write a `fn`",
    ),
    ("break", "`break` is a statement of its own, inside a loop"),
    (
        "continue",
        "`continue` is a statement of its own, inside a loop",
    ),
    ("goto", "there is no `goto`: use `while` and `if`"),
    (
        "do",
        "write `while e { … }` or `e |>* s`; `let k = choose(0..2)` picks one of two branches",
    ),
    ("od", "close the block with `}`: `while e { … }`"),
    ("fi", "close the block with `}`: `if e { … } else { … }`"),
    ("endif", "close the block with `}`: `if e { … } else { … }`"),
    ("done", "close the block with `}`: `while e { … }`"),
    (
        "either",
        "write `select { true |> s [] true |> t }`, or `let k = choose(0..2); …`",
    ),
    ("select", "write `select { e |> s [] f |> t }`"),
    ("loop", "write `while true { … }`"),
    ("repeat", "write `while e { … }`"),
    ("until", "write `while !e { … }`"),
    ("foreach", "write `for i in a..b { … }`"),
    ("elif", "write `else if`"),
    ("elsif", "write `else if`"),
    ("elseif", "write `else if`"),
    ("switch", CASES),
    ("match", CASES),
    ("case", CASES),
    ("function", FUNCTION),
    ("fn", FUNCTION),
    ("def", FUNCTION),
    ("func", FUNCTION),
    ("void", "write `proc p() { … }` outside of all blocks"),
    ("procedure", "write `proc p() { … }` outside of all blocks"),
    ("global", "write `var x: int = 0` outside of all blocks"),
    ("shared", "write `var x: int = 0` outside of all blocks"),
    ("volatile", "write `var x: int = 0` outside of all blocks"),
    ("local", "write `let x = 0`"),
    ("begin", "write `{`"),
    ("nop", "write `skip`"),
    ("pass", "write `skip`"),
    ("abort", "write `error \"why\"`"),
    ("exit", "write `end`"),
    ("stop", "write `end`"),
    ("throw", "write `error \"why\"`"),
    ("raise", "write `error \"why\"`"),
    ("import", INCLUDE),
    ("include", INCLUDE),
    (
        "module",
        "a program is a list of declarations and processes: leave this out",
    ),
    ("enum", ENUM),
    ("mtype", ENUM),
    ("record", RECORD),
    ("struct", RECORD),
    ("class", RECORD),
    ("type", TYPE),
    ("typedef", TYPE),
    ("channel", CHANNEL),
    ("chan", CHANNEL),
    ("queue", CHANNEL),
    ("send", CHANNEL),
    ("receive", CHANNEL),
    ("recv", CHANNEL),
    ("fair", "write `process`: every process is weakly fair"),
    ("ltl", TEMPORAL),
    ("never", TEMPORAL),
    ("spec", TEMPORAL),
    (
        "condition",
        "write an `int` or a `bool`, and `await` its value where the condition is waited for",
    ),
    ("atomically", "write `atomic { … }`"),
    ("d_step", "write `atomic { … }`"),
    ("post", "write `ensures`"),
    ("pre", "write `requires`"),
    ("property", "write `invariant`, `ensures` or `always`"),
    (
        "init",
        "give the variable its value where it is declared: `var x: int = 0`",
    ),
];

/// Functions of other languages that return a value, each with what to write instead. Most of these
/// functions read and write at once, so the replacement must be a single step.
const FOREIGN_VALUES: &[(&[&str], &str)] = &[
    (
        &["try_lock", "trylock", "tryLock", "try_acquire"],
        "let a variable `var held: bool = false` be the lock: `atomic { x := !held; held := true }`; `held := false` releases it",
    ),
    (
        &[
            "cas",
            "CAS",
            "compare_and_swap",
            "compare_exchange",
            "compareAndSet",
        ],
        "write `atomic { ok := x == old; if ok { x := new } }`",
    ),
    (
        &["test_and_set", "testAndSet", "tas", "swap", "exchange"],
        "write `atomic { old := x; x := new }`",
    ),
    (
        &["fetch_add", "fetch_and_add", "getAndIncrement", "faa"],
        "write `atomic { old := x; x := x + 1 }`",
    ),
    (
        &["random", "rand", "nondet", "any", "range"],
        "write `choose(a..b)` for a number from `a` up to `b`, `b` excluded, or `input()` for any number",
    ),
    (
        &["recv", "receive", "pop", "dequeue"],
        "keep the messages in an array: `atomic { await n > 0; n := n - 1; x := a[n] }`",
    ),
];

/// Returns what to write instead of a function of another language.
pub(crate) fn foreign_value(name: &str) -> Option<&'static str> {
    let named = |(names, _): &&(&[&str], &str)| names.contains(&name);
    FOREIGN_VALUES.iter().find(named).map(|(_, advice)| *advice)
}

/// Words that start a statement in some places and are names elsewhere.
const STATEMENT_WORDS: [&str; 6] = ["select", "match", "print", "break", "continue", "return"];

/// Returns a help text for a word of another language or a misspelt keyword.
pub(super) fn advice(word: &str, known: impl Fn(TokenKind) -> bool) -> Option<String> {
    if let Some(advice) = foreign(word) {
        return Some(advice.to_owned());
    }
    let words = STATEMENT_WORDS
        .into_iter()
        .filter(|_| known(TokenKind::Skip));
    let keywords = KEYWORDS.iter().filter(|(_, kind)| known(*kind));
    let near = nearest(word, keywords.map(|(text, _)| *text).chain(words))?;
    Some(format!("did you mean `{near}`?"))
}

/// Returns what to write instead of a word of another language.
pub(crate) fn foreign(word: &str) -> Option<&'static str> {
    let found = FOREIGN_WORDS.iter().find(|(foreign, _)| *foreign == word);
    found.map(|(_, advice)| *advice)
}

/// Returns the operator that a word means in another language, as it is written here, and the token
/// to continue with.
pub(super) fn operator(word: &str) -> Option<(&'static str, TokenKind)> {
    Some(match word {
        "mod" | "rem" => ("%", TokenKind::Percent),
        "div" => ("/", TokenKind::Slash),
        "AND" | "And" => ("&&", TokenKind::AndAnd),
        "OR" | "Or" => ("||", TokenKind::OrOr),
        "xor" | "XOR" => ("!=", TokenKind::NotEq),
        "eq" | "is" => ("==", TokenKind::EqEq),
        "plus" => ("+", TokenKind::Plus),
        "minus" => ("-", TokenKind::Minus),
        "times" => ("*", TokenKind::Star),
        _ => return None,
    })
}
