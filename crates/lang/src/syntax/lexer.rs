//! Splits a text into tokens. The lexer reports an operator of another language, such as `===`, and
//! replaces it by the operator that was probably meant, so the parser need not know it.

use super::token::{KEYWORDS, Token, TokenKind, word};
use mazurka_diagnostics::{Diagnostic, MARK, Span};

/// Splits a text into tokens. The last token is always [`TokenKind::Eof`].
pub(crate) fn lex(source: &str, diagnostics: &mut Vec<Diagnostic>) -> Vec<Token> {
    let mut lexer = Lexer {
        source,
        at: 0,
        tokens: Vec::with_capacity(source.len() / 3),
        temporal: false,
        diagnostics,
    };
    if source.starts_with('\u{feff}') {
        lexer.at = '\u{feff}'.len_utf8();
    }
    while lexer.token() {}
    lexer.push(TokenKind::Eof, source.len());
    lexer.tokens
}

/// A lexer at a position in the text.
struct Lexer<'s, 'd> {
    source: &'s str,
    at: usize,
    tokens: Vec<Token>,
    /// Whether the position is in a temporal property. There a dot separates a process and its
    /// local.
    temporal: bool,
    diagnostics: &'d mut Vec<Diagnostic>,
}

/// The operators and brackets. If one is a prefix of another, the longer one comes first.
const SIGNS: &[(&str, TokenKind)] = &[
    ("|>*", TokenKind::GuardLoop),
    ("▷*", TokenKind::GuardLoop),
    ("|>", TokenKind::Guard),
    ("▷", TokenKind::Guard),
    ("<|", TokenKind::Choice),
    ("◁", TokenKind::Choice),
    ("||", TokenKind::OrOr),
    ("∨", TokenKind::OrOr),
    ("∥", TokenKind::Parallel),
    ("&&", TokenKind::AndAnd),
    ("∧", TokenKind::AndAnd),
    (":=", TokenKind::Assign),
    ("==", TokenKind::EqEq),
    ("!=", TokenKind::NotEq),
    ("≠", TokenKind::NotEq),
    ("<<", TokenKind::Shl),
    (">>", TokenKind::Shr),
    ("<=", TokenKind::Le),
    ("≤", TokenKind::Le),
    (">=", TokenKind::Ge),
    ("≥", TokenKind::Ge),
    ("..", TokenKind::DotDot),
    ("↦", TokenKind::Equals),
    ("¬", TokenKind::Not),
    ("(", TokenKind::LParen),
    (")", TokenKind::RParen),
    ("[", TokenKind::LBracket),
    ("]", TokenKind::RBracket),
    ("{", TokenKind::LBrace),
    ("}", TokenKind::RBrace),
    (",", TokenKind::Comma),
    (";", TokenKind::Semi),
    (":", TokenKind::Colon),
    ("=", TokenKind::Equals),
    ("<", TokenKind::Lt),
    (">", TokenKind::Gt),
    ("+", TokenKind::Plus),
    ("-", TokenKind::Minus),
    ("*", TokenKind::Star),
    ("/", TokenKind::Slash),
    ("%", TokenKind::Percent),
    ("!", TokenKind::Not),
    ("&", TokenKind::Amp),
    ("|", TokenKind::Pipe),
    ("^", TokenKind::Caret),
    ("~", TokenKind::Tilde),
];

/// Operators of other languages: what to write instead, and the token to continue with.
const FOREIGN_SIGNS: &[(&str, &str, TokenKind)] = &[
    ("===", "write `==`", TokenKind::EqEq),
    ("!==", "write `!=`", TokenKind::NotEq),
    ("==>", "write `!a || b` for `a` implies `b`", TokenKind::Bad),
    ("<=>", "write `==`", TokenKind::EqEq),
    (
        "..=",
        "`a..b` excludes `b`: write `a..b + 1`",
        TokenKind::DotDot,
    ),
    (
        "...",
        "write `..`; the upper bound is excluded",
        TokenKind::DotDot,
    ),
    (
        "=>",
        "write `|>` for a guard, `!a || b` for `a` implies `b`, `>=` for at least",
        TokenKind::Bad,
    ),
    ("=<", "write `<=`", TokenKind::Le),
    ("<>", "write `!=`", TokenKind::NotEq),
    ("->", "write `|>` for a guard", TokenKind::Guard),
    ("→", "write `|>` for a guard", TokenKind::Guard),
    ("⇒", "write `!a || b` for `a` implies `b`", TokenKind::Bad),
    ("≔", "write `:=`", TokenKind::Assign),
    ("←", "write `:=`", TokenKind::Assign),
    ("−", "write `-`, the plain minus sign", TokenKind::Minus),
    ("×", "write `*`", TokenKind::Star),
    ("÷", "write `/`", TokenKind::Slash),
    (
        "**",
        "there is no power operator: multiply",
        TokenKind::Star,
    ),
    (
        "::",
        "write `:` before a type; branches are `if e { … } else { … }`, or `e |> s` to wait",
        TokenKind::Colon,
    ),
    ("?", "write `if a then b else c`", TokenKind::Bad),
];

impl Lexer<'_, '_> {
    fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    fn span(&self, end: usize) -> Span {
        Span {
            start: self.at as u32,
            end: end as u32,
        }
    }

    fn push(&mut self, kind: TokenKind, end: usize) {
        let span = self.span(end);
        self.tokens.push(Token { kind, span });
        self.at = end;
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Returns the length of the longest prefix of the rest in which all characters pass the test.
    fn while_chars(&self, pass: impl Fn(char) -> bool) -> usize {
        let rest = self.rest();
        rest.find(|c| !pass(c)).unwrap_or(rest.len())
    }

    /// Reads one token, comment or sequence of blanks. Returns false at the end of the text.
    fn token(&mut self) -> bool {
        let Some(first) = self.rest().chars().next() else {
            return false;
        };
        if first.is_whitespace() {
            self.at += self.while_chars(char::is_whitespace);
        } else if first.is_ascii_digit() {
            self.number();
        } else if first.is_alphabetic() || first == '_' {
            let len = self.while_chars(|c| c.is_alphanumeric() || c == '_');
            let kind = word(&self.rest()[..len]);
            if kind.opens_item() {
                self.temporal = kind.opens_temporal();
            }
            self.push(kind, self.at + len);
        } else if first == '"' {
            self.string();
        } else if self.rest().starts_with("//") || first == MARK {
            self.at += self.while_chars(|c| c != '\n');
        } else if self.rest().starts_with("/*") {
            self.comment();
        } else {
            self.sign();
        }
        true
    }

    fn number(&mut self) {
        let digits = self.while_chars(|c| c.is_ascii_digit());
        let word = self.while_chars(|c| c.is_alphanumeric() || c == '_');
        let after = &self.rest()[digits..];
        let fraction =
            after.starts_with('.') && after[1..].starts_with(|c: char| c.is_ascii_digit());
        let end = self.at + digits;
        if word > digits {
            let end = self.at + word;
            let text = &self.rest()[..word];
            let help = if text.starts_with("0x") || text.starts_with("0b") {
                "numbers are written in decimal"
            } else if text.contains('_') {
                "write the digits without `_`"
            } else {
                "a name starts with a letter; separate a number and a name by an operator or a space"
            };
            let diagnostic =
                Diagnostic::new("M0003", self.span(end), format!("`{text}` is not a number"))
                    .label("expected digits only")
                    .help(help);
            self.report(diagnostic);
            // The token still counts as a number, so that the expression around it can be parsed.
            self.push(TokenKind::Int, end);
        } else if fraction {
            let more = after[1..].find(|c: char| !c.is_ascii_digit());
            let end = end + 1 + more.unwrap_or(after.len() - 1);
            let diagnostic = Diagnostic::new("M0003", self.span(end), "there are no fractions")
                .label("expected a whole number")
                .help("scale the values to whole numbers, or write `..` for a range");
            self.report(diagnostic);
            self.push(TokenKind::Int, end);
        } else {
            if self.rest()[..digits].parse::<u64>().is_err() {
                let diagnostic =
                    Diagnostic::new("M0004", self.span(end), "this number is too large")
                        .label("larger than 18446744073709551615")
                        .help("the largest type is `u64`");
                self.report(diagnostic);
            }
            self.push(TokenKind::Int, end);
        }
    }

    fn string(&mut self) {
        let mut chars = self.rest().char_indices().skip(1);
        let mut end = None;
        let mut bad_escapes = Vec::new();
        while let Some((offset, c)) = chars.next() {
            match c {
                '"' => {
                    end = Some(offset + 1);
                    break;
                }
                '\n' => break,
                '\\' => match chars.next() {
                    Some((_, '"' | '\\' | 'n' | 't')) => {}
                    Some((_, '\n')) | None => break,
                    Some((at, other)) => bad_escapes.push((offset, at + other.len_utf8())),
                },
                _ => {}
            }
        }
        for (from, to) in bad_escapes {
            let span = Span {
                start: (self.at + from) as u32,
                end: (self.at + to) as u32,
            };
            let diagnostic = Diagnostic::new("M0007", span, "unknown escape in a string")
                .label("expected `\\n`, `\\t`, `\\\"` or `\\\\`")
                .help("write `\\\\` for a backslash");
            self.report(diagnostic);
        }
        match end {
            Some(len) => self.push(TokenKind::Str, self.at + len),
            None => {
                let line = self.while_chars(|c| c != '\n' && c != '\r');
                let end = self.at + line;
                let diagnostic =
                    Diagnostic::new("M0006", self.span(end), "this string is not closed")
                        .label("expected `\"` before the end of the line")
                        .help("close the string with `\"`; write `\\n` for a line break inside it");
                self.report(diagnostic);
                self.push(TokenKind::Str, end);
            }
        }
    }

    fn comment(&mut self) {
        match self.rest()[2..].find("*/") {
            Some(at) => self.at += 2 + at + 2,
            None => {
                let diagnostic = Diagnostic::new(
                    "M0005",
                    self.span(self.at + 2),
                    "this comment is not closed",
                )
                .label("opened here, and no `*/` follows")
                .help("close it with `*/`");
                self.report(diagnostic);
                self.at = self.source.len();
            }
        }
    }

    fn sign(&mut self) {
        let rest = self.rest();
        // A dot is allowed between a variable and its field or operation, and nowhere else.
        let dotted = rest.strip_prefix('.').filter(|rest| !rest.starts_with('.'));
        if dotted.is_some_and(|rest| self.temporal || opens_name(rest)) {
            return self.push(TokenKind::Dot, self.at + 1);
        }
        // A receive, `c ? x`; in other languages `a ? b : c` is an expression.
        if rest
            .strip_prefix('?')
            .is_some_and(|rest| !is_conditional(rest))
        {
            return self.push(TokenKind::Question, self.at + 1);
        }
        if rest.starts_with("->") && self.in_via() {
            self.push(TokenKind::Minus, self.at + 1);
            return self.push(TokenKind::Gt, self.at + 1);
        }
        let known = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign));
        let foreign = FOREIGN_SIGNS
            .iter()
            .find(|(sign, ..)| rest.starts_with(sign));
        // A foreign sign wins if it is longer than the known sign, because no correct program
        // contains it as a sequence of known signs.
        let foreign =
            foreign.filter(|(sign, ..)| known.is_none_or(|(ours, _)| sign.len() > ours.len()));
        if let Some(&(sign, help, kind)) = foreign {
            let end = self.at + sign.len();
            let diagnostic = Diagnostic::new(
                "M0002",
                self.span(end),
                format!("`{sign}` is not an operator here"),
            )
            .label("not an operator of this language")
            .help(help);
            self.report(diagnostic);
            self.push(kind, end);
        } else if let Some((sign, kind)) = known {
            self.push(*kind, self.at + sign.len());
        } else {
            self.unknown();
        }
    }

    /// Whether this is inside the braces of `refines "other.maz" via { … }`.
    fn in_via(&self) -> bool {
        let inside = |token: &&Token| {
            use TokenKind::{Comma, Dot, Gt, Ident, Minus};
            matches!(token.kind, Ident | Dot | Comma | Minus | Gt)
        };
        let names = self.tokens.iter().rev().take_while(inside).count();
        let Some([.., file, via, open]) = self.tokens.get(..self.tokens.len() - names) else {
            return false;
        };
        let word = &self.source[via.span.start as usize..via.span.end as usize];
        (file.kind, word, open.kind) == (TokenKind::Str, "via", TokenKind::LBrace)
    }

    fn unknown(&mut self) {
        let len = self.while_chars(|c| {
            !c.is_alphanumeric()
                && !c.is_whitespace()
                && !c.is_ascii_punctuation()
                && !SIGNS.iter().any(|(sign, _)| sign.starts_with(c))
                && !FOREIGN_SIGNS.iter().any(|(sign, ..)| sign.starts_with(c))
        });
        let first = self.rest().chars().next().map_or(1, char::len_utf8);
        let end = self.at + len.max(first);
        let text = self.rest()[..end - self.at].to_owned();
        let help = match text.as_str() {
            "#" => Some("comments start with `//`".to_owned()),
            "'" => Some("strings are written in `\"`".to_owned()),
            "." => Some("there are no fields or methods; a range is written `a..b`".to_owned()),
            _ => None,
        };
        let shown: String = text.chars().take(8).flat_map(char::escape_debug).collect();
        let diagnostic = Diagnostic::new(
            "M0001",
            self.span(end),
            format!("unknown character `{shown}`"),
        )
        .label("not part of the language")
        .maybe_help(help);
        self.report(diagnostic);
        self.push(TokenKind::Bad, end);
    }
}

/// Returns the value of a string token: without quotes, with escapes resolved.
pub(crate) fn unescape(text: &str) -> String {
    let inner = text.strip_prefix('"').unwrap_or(text);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut value = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(escaped)),
            c => value.push(c),
        }
    }
    value
}

/// Returns the character that an escape denotes, given the character after the backslash.
pub(crate) fn escaped(c: char) -> char {
    match c {
        'n' => '\n',
        't' => '\t',
        other => other,
    }
}

/// Whether a name begins here, and not a keyword.
fn opens_name(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let rest = text.trim_start_matches(is_part);
    let name = &text[..text.len() - rest.len()];
    let known = KEYWORDS.iter().any(|(word, _)| *word == name);
    name.starts_with(|c: char| c.is_alphabetic() || c == '_') && !known
}

/// Whether the `?` before this text belongs to a conditional `a ? b : c`, as in C, and not to a
/// receive `c ? x`.
fn is_conditional(rest: &str) -> bool {
    let end = rest.find([';', '\n', '}']).unwrap_or(rest.len());
    // After `c ? x |>` the alternative of a `select` continues.
    let end = rest[..end].find("|>").unwrap_or(end);
    let mut colons = rest[..end].match_indices(':');
    let mut names = rest.trim_start_matches(' ').chars();
    let named = names.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    !named || colons.any(|(at, _)| !rest[at..].starts_with(":="))
}
