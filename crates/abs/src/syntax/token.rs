//! The words (tokens) of ABS: names, literals, keywords and signs.

use mazurka_diagnostics::Span;
use num_bigint::BigInt;

/// A word of the language.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// A name that starts with a small letter.
    Name(String),
    /// A name that starts with a capital letter.
    TypeName(String),
    Int(BigInt),
    Float(f64),
    Text(String),
    /// A template string: pieces of text, each with the place of the expression that follows it.
    /// Only the last piece has none.
    Template(Vec<(String, Option<Span>)>),
    Keyword(&'static str),
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// A word and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

impl TokenKind {
    /// Returns the word as it appears in messages.
    pub fn describe(&self) -> String {
        match self {
            TokenKind::Name(name) | TokenKind::TypeName(name) => format!("`{name}`"),
            TokenKind::Int(value) => format!("`{value}`"),
            TokenKind::Float(_) => "a number".to_owned(),
            TokenKind::Text(_) => "a string".to_owned(),
            TokenKind::Template(_) => "a template string".to_owned(),
            TokenKind::Keyword(word) | TokenKind::Symbol(word) => format!("`{word}`"),
            TokenKind::End => "the end of the file".to_owned(),
        }
    }
}

/// Reserved words.
pub const KEYWORDS: &[&str] = &[
    "module",
    "import",
    "export",
    "data",
    "type",
    "def",
    "exception",
    "interface",
    "extends",
    "class",
    "implements",
    "builtin",
    "let",
    "in",
    "case",
    "when",
    "if",
    "then",
    "else",
    "while",
    "foreach",
    "switch",
    "try",
    "catch",
    "finally",
    "throw",
    "die",
    "return",
    "skip",
    "assert",
    "await",
    "suspend",
    "new",
    "local",
    "this",
    "null",
    "get",
    "destiny",
    "as",
    "duration",
    "movecogto",
];

/// Words that are keywords only in some positions; elsewhere they are names.
pub(crate) const CONTEXTUAL: &[&str] = &[
    "from",
    "delta",
    "productline",
    "product",
    "root",
    "group",
    "trait",
    "uses",
    "recover",
    "adds",
    "removes",
    "modifies",
    "features",
    "after",
    "to",
    "extension",
    "hasField",
    "hasMethod",
    "hasInterface",
    "stateupdate",
    "objectupdate",
];

/// Signs, longest first.
pub(crate) const SYMBOLS: &[&str] = &[
    "<->", "=>", "==", "!=", "<=", ">=", "&&", "||", "->", "(", ")", "{", "}", "[", "]", "<", ">",
    ",", ";", ":", ".", "=", "+", "-", "*", "/", "%", "!", "~", "?", "&", "|", "_", "'",
];
