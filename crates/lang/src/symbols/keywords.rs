//! The words of the language, for editors.

use crate::syntax::token;

/// The keywords. Words that are never names come first, then words that are names in some places.
pub const KEYWORDS: &[&str] = &[
    "var",
    "lock",
    "const",
    "proc",
    "requires",
    "invariant",
    "ensures",
    "observe",
    "allows",
    "expects",
    "atomicity",
    "always",
    "eventually",
    "infinitely_often",
    "whenever",
    "leads_to",
    "prove",
    "process",
    "skip",
    "end",
    "await",
    "if",
    "then",
    "else",
    "while",
    "for",
    "in",
    "let",
    "spawn",
    "join",
    "atomic",
    "unlock",
    "assert",
    "assume",
    "error",
    "at",
    "goal",
    "input",
    "choose",
    "true",
    "false",
    "and",
    "or",
    "not",
    "bool",
    "int",
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
    "enum",
    "struct",
    "fn",
    "op",
    "spec",
    "ghost",
    "cover",
    "include",
    "refines",
    "via",
    "semaphore",
    "rwlock",
    "cond",
    "spurious",
    "barrier",
    "chan",
    "forall",
    "exists",
    "count",
    "sum",
    "min",
    "max",
    "match",
    "select",
    "try",
    "break",
    "continue",
    "return",
    "print",
    "fence",
];

/// Whether a word is a keyword in every place, so that it is never a name.
pub fn is_keyword(word: &str) -> bool {
    token::word(word) != token::TokenKind::Ident
}

#[cfg(test)]
mod tests {
    use super::KEYWORDS;
    use crate::syntax::token;

    #[test]
    fn all_words_of_the_lexer_are_there() {
        for (word, _) in token::KEYWORDS {
            assert!(KEYWORDS.contains(word), "{word}");
        }
        for word in ["at", "goal", "spurious", "via"] {
            assert!(KEYWORDS.contains(&word), "{word}");
        }
    }
}
