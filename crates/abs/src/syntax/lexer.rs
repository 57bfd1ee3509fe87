//! The lexer: splits a source text into words (tokens), with their places. A piece of the text that
//! is no word of ABS is reported and skipped.

use mazurka_diagnostics::Diagnostic;
use mazurka_diagnostics::Span;
use num_bigint::BigInt;

use super::token::{KEYWORDS, SYMBOLS, Token, TokenKind};

/// Limit on the digits of an integer.
const MAX_DIGITS: usize = 1000;

/// Returns the words of the text between two places, and the texts that are not words. The last
/// word is always the end of the text.
pub(crate) fn words(source: &str, start: usize, end: usize) -> (Vec<Token>, Vec<Diagnostic>) {
    let mut lexer = Lexer {
        source: &source[..end],
        at: start,
        tokens: Vec::new(),
        mistakes: Vec::new(),
    };
    lexer.run();
    (lexer.tokens, lexer.mistakes)
}

/// The lexer: the text, the position in it, and the words found so far.
struct Lexer<'a> {
    source: &'a str,
    at: usize,
    tokens: Vec<Token>,
    mistakes: Vec<Diagnostic>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn span(&self, start: usize) -> Span {
        Span {
            start: start as u32,
            end: self.at as u32,
        }
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let span = self.span(start);
        self.tokens.push(Token { kind, span });
    }

    fn skip_while(&mut self, accept: impl Fn(char) -> bool) {
        while let Some(c) = self.peek().filter(|&c| accept(c)) {
            self.at += c.len_utf8();
        }
    }

    fn run(&mut self) {
        while let Some(c) = self.peek() {
            let start = self.at;
            match c {
                c if c.is_whitespace() => self.skip_while(char::is_whitespace),
                '/' if self.rest().starts_with("//") => self.skip_while(|c| c != '\n'),
                '/' if self.rest().starts_with("/*") => self.comment(start),
                'a'..='z' | 'A'..='Z' => self.name(start),
                '0'..='9' => self.number(start),
                '.' if self.rest()[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                    self.number(start);
                }
                '"' => self.text(start),
                '`' => self.template(start),
                _ => self.symbol(start, c),
            }
        }
        self.push(TokenKind::End, self.at);
    }

    fn comment(&mut self, start: usize) {
        match self.rest().find("*/") {
            Some(length) => self.at += length + 2,
            None => {
                self.at = self.source.len();
                let span = Span {
                    start: start as u32,
                    end: start as u32 + 2,
                };
                let mistake = Diagnostic::new("A0101", span, "this comment does not end")
                    .label("it starts here")
                    .help("write `*/` where it ends");
                self.mistakes.push(mistake);
            }
        }
    }

    fn name(&mut self, start: usize) {
        self.skip_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let word = &self.source[start..self.at];
        let kind = match KEYWORDS.iter().find(|keyword| **keyword == word) {
            Some(keyword) => TokenKind::Keyword(keyword),
            None if word.starts_with(|c: char| c.is_ascii_uppercase()) => {
                TokenKind::TypeName(word.to_owned())
            }
            None => TokenKind::Name(word.to_owned()),
        };
        self.push(kind, start);
    }

    fn number(&mut self, start: usize) {
        let digit = |c: char| c.is_ascii_digit();
        self.skip_while(digit);
        let rest = self.rest().as_bytes();
        let fraction = rest.first() == Some(&b'.') && rest.get(1).is_some_and(u8::is_ascii_digit);
        if fraction {
            self.at += 1;
            self.skip_while(digit);
            let exponent = self.rest().trim_start_matches(['e', 'E']);
            let signed = exponent.trim_start_matches(['+', '-']);
            let skipped = self.rest().len() - signed.len();
            if (1..=2).contains(&skipped)
                && exponent.len() < self.rest().len()
                && signed.starts_with(digit)
            {
                self.at += skipped;
                self.skip_while(digit);
            }
        }
        let text = &self.source[start..self.at];
        let kind = if fraction {
            TokenKind::Float(text.parse().unwrap_or(f64::NAN))
        } else if text.len() > MAX_DIGITS {
            let span = self.span(start);
            let mistake = Diagnostic::new("A0102", span, "this number is too long")
                .label(format!("at most {MAX_DIGITS} digits can be written"))
                .help("compute it from smaller ones");
            self.mistakes.push(mistake);
            TokenKind::Int(BigInt::from(0))
        } else {
            TokenKind::Int(text.parse().unwrap_or_default())
        };
        self.push(kind, start);
    }

    fn text(&mut self, start: usize) {
        self.at += 1;
        let mut value = String::new();
        loop {
            match self.peek() {
                None | Some('\n') => {
                    let span = Span {
                        start: start as u32,
                        end: start as u32 + 1,
                    };
                    let mistake = Diagnostic::new("A0101", span, "this string does not end")
                        .label("it starts here")
                        .help("write `\"` where it ends; `\\n` stands for a new line");
                    self.mistakes.push(mistake);
                    break;
                }
                Some('"') => {
                    self.at += 1;
                    break;
                }
                Some('\\') => {
                    self.at += 1;
                    let escaped = self.peek();
                    value.push(match escaped {
                        Some('n') => '\n',
                        Some('t') => '\t',
                        Some('r') => '\r',
                        Some(c) => c,
                        None => '\\',
                    });
                    self.at += escaped.map_or(0, char::len_utf8);
                }
                Some(c) => {
                    value.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
        self.push(TokenKind::Text(value), start);
    }

    fn template(&mut self, start: usize) {
        self.at += 1;
        let mut parts = Vec::new();
        let mut text = String::new();
        loop {
            match self.peek() {
                Some('`') => {
                    self.at += 1;
                    break;
                }
                Some('\\') if self.rest()[1..].starts_with(['`', '$']) => {
                    text.push_str(&self.source[self.at + 1..self.at + 2]);
                    self.at += 2;
                }
                Some('$') => {
                    let from = self.at + 1;
                    let Some(length) = self.source[from..].find('$') else {
                        self.at = self.source.len();
                        continue;
                    };
                    let span = Span {
                        start: from as u32,
                        end: (from + length) as u32,
                    };
                    parts.push((std::mem::take(&mut text), Some(span)));
                    self.at = from + length + 1;
                }
                Some(c) => {
                    text.push(c);
                    self.at += c.len_utf8();
                }
                None => {
                    let span = Span {
                        start: start as u32,
                        end: start as u32 + 1,
                    };
                    let mistake = Diagnostic::new(
                        "A0101",
                        span,
                        "this template string does not end",
                    )
                    .label("it starts here")
                    .help(
                        "write a backtick where it ends, and `$` on both sides of each expression",
                    );
                    self.mistakes.push(mistake);
                    break;
                }
            }
        }
        parts.push((text, None));
        self.push(TokenKind::Template(parts), start);
    }

    fn symbol(&mut self, start: usize, c: char) {
        match SYMBOLS
            .iter()
            .find(|symbol| self.rest().starts_with(**symbol))
        {
            Some(symbol) => {
                self.at += symbol.len();
                self.push(TokenKind::Symbol(symbol), start);
            }
            None => {
                self.at += c.len_utf8();
                let span = self.span(start);
                let mistake =
                    Diagnostic::new("A0103", span, format!("`{c}` is not a symbol of ABS"))
                        .label("not a part of the language")
                        .help("remove it; text belongs between double quotes");
                self.mistakes.push(mistake);
            }
        }
    }
}
