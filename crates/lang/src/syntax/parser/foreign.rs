//! Words of other languages, and what to write instead.

use super::super::token::{KEYWORDS, Kind};
use mazurka_diagnostics::nearest;

/// Words that open a statement in other languages, and what to write instead.
const FOREIGN_WORDS: &[(&str, &str)] = &[
    (
        "thread",
        "write `process` outside of all blocks, or `spawn { … }` in one",
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
    ("active", "write `process`"),
    ("proctype", "write `process`, or `proc` for a procedure"),
    ("mutex", "write `lock m` outside of all blocks"),
    (
        "semaphore",
        "write `lock m`, or an `int` with `await s > 0`",
    ),
    ("acquire", "write `lock(m)`"),
    ("release", "write `unlock(m)`"),
    ("synchronized", "write `lock(m); …; unlock(m)`"),
    ("wait", "write `await e` or `e |> s`"),
    ("when", "write `e |> s`"),
    (
        "signal",
        "assign a shared variable that the other process awaits",
    ),
    (
        "notify",
        "assign a shared variable that the other process awaits",
    ),
    (
        "yield",
        "nothing is needed: every step may be followed by another process's",
    ),
    (
        "sleep",
        "nothing is needed: there is no time here, and any process may be slow",
    ),
    (
        "print",
        "a program prints nothing; `observe` and `assert` say what matters",
    ),
    (
        "printf",
        "a program prints nothing; `observe` and `assert` say what matters",
    ),
    (
        "println",
        "a program prints nothing; `observe` and `assert` say what matters",
    ),
    (
        "return",
        "a procedure gives no value; assign a shared variable, and use `if` to leave early",
    ),
    (
        "break",
        "there is no `break`: put the reason to stop into the loop's condition",
    ),
    (
        "continue",
        "there is no `continue`: put the rest of the body into an `if`",
    ),
    ("goto", "there is no `goto`: use `while` and `if`"),
    ("do", "write `while e { … }` or `e |>* s`"),
    ("loop", "write `while true { … }`"),
    ("repeat", "write `while e { … }`"),
    ("until", "write `while !e { … }`"),
    ("foreach", "write `for i in a..b { … }`"),
    ("elif", "write `else if`"),
    ("elsif", "write `else if`"),
    ("elseif", "write `else if`"),
    ("switch", "write `if … { … } else if … { … }`"),
    ("match", "write `if … { … } else if … { … }`"),
    ("case", "write `if … { … } else if … { … }`"),
    ("function", "write `proc p() { … }` outside of all blocks"),
    ("fn", "write `proc p() { … }` outside of all blocks"),
    ("def", "write `proc p() { … }` outside of all blocks"),
    ("func", "write `proc p() { … }` outside of all blocks"),
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
    ("import", "a program is one file"),
    ("include", "a program is one file"),
    ("post", "write `ensures`"),
    ("pre", "write `requires`"),
    ("property", "write `invariant`, `ensures` or `always`"),
    (
        "init",
        "give the variable its value where it is declared: `var x: int = 0`",
    ),
];

/// What to write instead of a word of another language, or of a misspelt one.
pub(super) fn advice(word: &str, known: impl Fn(Kind) -> bool) -> Option<String> {
    if let Some(advice) = foreign(word) {
        return Some(advice.to_owned());
    }
    let keywords = KEYWORDS.iter().filter(|(_, kind)| known(*kind));
    let near = nearest(word, keywords.map(|(text, _)| *text))?;
    Some(format!("did you mean `{near}`?"))
}

/// What to write instead of a word of another language.
pub(crate) fn foreign(word: &str) -> Option<&'static str> {
    let found = FOREIGN_WORDS.iter().find(|(foreign, _)| *foreign == word);
    found.map(|(_, advice)| *advice)
}

/// Operators that are words elsewhere: how they are written here, and as which they are read.
pub(super) fn operator(word: &str) -> Option<(&'static str, Kind)> {
    Some(match word {
        "mod" | "rem" => ("%", Kind::Percent),
        "div" => ("/", Kind::Slash),
        "AND" | "And" => ("&&", Kind::AndAnd),
        "OR" | "Or" => ("||", Kind::OrOr),
        "xor" | "XOR" => ("!=", Kind::NotEq),
        "eq" | "is" => ("==", Kind::EqEq),
        "plus" => ("+", Kind::Plus),
        "minus" => ("-", Kind::Minus),
        "times" => ("*", Kind::Star),
        _ => return None,
    })
}
