//! Builds the syntax tree from balanced tokens, by recursive descent.
//!
//! A function that cannot continue reports the reason and returns [`ParseStop`]. The function that
//! parses the enclosing list of statements or items then skips to the next statement or item.
//! Frequent mistakes are reported and parsed as what was probably meant, so that nothing is
//! skipped.

mod expr;
mod foreign;
mod items;
mod mistakes;
mod operations;
mod quantified;
mod refines;
mod select;
mod stmt;
mod types;

pub(crate) use foreign::{foreign, foreign_value};

use rustc_hash::FxHashSet;

use super::ast::{File, Name};
use super::brackets::{Balanced, balance};
use super::lexer::lex;
use super::token::{Token, TokenKind};
use mazurka_diagnostics::{Diagnostic, Span};

/// Limit on the depth of an expression, counting operators and brackets, so that no recursive walk
/// overflows the stack.
const MAX_EXPR_DEPTH: u16 = 256;

/// Limit on the nesting of statements.
const MAX_STMT_DEPTH: u16 = 128;

/// The result of parsing a file.
pub(crate) struct Parsed<'s> {
    pub file: File<'s>,
    pub diagnostics: Vec<Diagnostic>,
    /// The names in parts that could not be parsed. Such a part may declare a name, so these names
    /// are not reported as unknown.
    pub tainted: FxHashSet<&'s str>,
}

/// Parses a file.
pub(crate) fn parse(source: &str) -> Parsed<'_> {
    let mut diagnostics = Vec::new();
    let tokens = lex(source, &mut diagnostics);
    let Balanced {
        tokens,
        partner,
        stray_brace,
    } = balance(source, tokens, &mut diagnostics);
    let mut parser = Parser {
        source,
        tokens,
        partner,
        stray_brace,
        pos: 0,
        diagnostics,
        expr_depth: 0,
        stmt_depth: 0,
        block_depth: 0,
        tainted: FxHashSet::default(),
        words_reported: FxHashSet::default(),
        depth_reported: false,
        before_size: false,
        in_select: false,
        in_operation: false,
    };
    let file = parser.file();
    Parsed {
        file,
        diagnostics: parser.diagnostics,
        tainted: parser.tainted,
    }
}

/// The way in which a parsing function gave up. The reason was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParseStop {
    /// The token at the position does not fit.
    Unexpected,
    /// The nesting is too deep, so the skipped part is not parsed.
    TooDeep,
}

type Parse<T> = Result<T, ParseStop>;

/// A recursive-descent parser at a position in the balanced tokens, with the mistakes found so far.
struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    partner: Vec<u32>,
    stray_brace: bool,
    pos: usize,
    diagnostics: Vec<Diagnostic>,
    expr_depth: u16,
    stmt_depth: u16,
    /// The nesting of blocks, including blocks that are parsed only to find their mistakes.
    block_depth: u16,
    tainted: FxHashSet<&'s str>,
    /// The keywords whose use as a name was reported.
    words_reported: FxHashSet<&'s str>,
    /// Whether it was reported that the current declaration or process is nested too deeply.
    depth_reported: bool,
    /// Whether brackets after a name are the size of an array: in `a..N[4]`, the `[4]` belongs to
    /// the type.
    before_size: bool,
    /// Whether the position is in the alternatives of a `select`.
    in_select: bool,
    /// Whether the position is in the body of an operation.
    in_operation: bool,
}

impl<'s> Parser<'s> {
    /// Returns the token at an index. After the last token this is the end of the file.
    fn token_at(&self, index: usize) -> Token {
        let last = self.tokens.len() - 1;
        self.tokens[index.min(last)]
    }

    fn token(&self) -> Token {
        self.token_at(self.pos)
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    fn kind_after(&self, count: usize) -> TokenKind {
        self.token_at(self.pos + count).kind
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    fn text(&self, span: Span) -> &'s str {
        span.text(self.source)
    }

    /// Returns the span of the previous token.
    fn previous(&self) -> Span {
        self.token_at(self.pos.saturating_sub(1)).span
    }

    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::Eof {
            self.pos += 1;
        }
        token
    }

    /// Whether the token is this word, which is a keyword only in some places.
    fn at_word(&self, word: &str) -> bool {
        self.at(TokenKind::Ident) && self.text(self.token().span) == word
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let here = self.at(kind);
        if here {
            self.bump();
        }
        here
    }

    /// Returns the index of the partner of the bracket at an index.
    fn partner_of(&self, index: usize) -> usize {
        self.partner.get(index).map_or(index, |at| *at as usize)
    }

    fn report(&mut self, diagnostic: Diagnostic) -> ParseStop {
        self.diagnostics.push(diagnostic);
        ParseStop::Unexpected
    }

    /// Returns the name of a token in messages.
    fn shown(&self, token: Token) -> String {
        match token.kind {
            TokenKind::Ident | TokenKind::Int | TokenKind::TypeName | TokenKind::Reserved => {
                let text: String = self.text(token.span).chars().take(40).collect();
                format!("`{text}`")
            }
            kind => kind.describe().to_owned(),
        }
    }

    /// Whether the mistake at a token was already reported, by an earlier stage or at the first use
    /// of a keyword as a name.
    fn already_reported(&self, token: Token) -> bool {
        token.kind == TokenKind::Bad
            || (token.span.start == token.span.end && token.kind != TokenKind::Eof)
            || self.words_reported.contains(self.text(token.span))
    }

    /// Reports that something else was expected at the position.
    fn unexpected(&mut self, expected: &str) -> ParseStop {
        self.unexpected_with(expected, None)
    }

    fn unexpected_with(&mut self, expected: &str, help: Option<String>) -> ParseStop {
        let token = self.token();
        if self.already_reported(token) {
            return ParseStop::Unexpected;
        }
        let found = self.shown(token);
        self.report(
            Diagnostic::new(
                "M0101",
                token.span,
                format!("expected {expected}, found {found}"),
            )
            .label(format!("expected {expected}"))
            .maybe_help(help),
        )
    }

    fn expect(&mut self, kind: TokenKind, where_: &str) -> Parse<Token> {
        if self.at(kind) {
            return Ok(self.bump());
        }
        Err(self.unexpected(&format!("{}{where_}", kind.describe())))
    }

    /// Parses a name, and reports a keyword in its place.
    fn name(&mut self, what: &str) -> Parse<Name<'s>> {
        let token = self.token();
        let text = self.text(token.span);
        match token.kind {
            TokenKind::Ident => {
                self.bump();
                Ok(Name {
                    text,
                    span: token.span,
                })
            }
            TokenKind::Reserved => Err(self.reserved()),
            kind if !text.is_empty()
                && text.starts_with(|c: char| c.is_alphabetic())
                && kind != TokenKind::Bad =>
            {
                Err(self.word_as_name(token.span, what))
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// Records every name in a range of tokens as [tainted](Parsed::tainted).
    fn taint(&mut self, from: usize, to: usize) {
        for index in from..to.min(self.tokens.len()) {
            let token = self.tokens[index];
            if token.kind == TokenKind::Ident {
                let text = self.text(token.span);
                self.tainted.insert(text);
            }
        }
    }

    /// Reports that an expression or statement is nested too deeply.
    fn too_deep(&mut self, what: &str, limit: u16, counted: &str) -> ParseStop {
        let span = self.token().span;
        if self.depth_reported {
            return ParseStop::TooDeep;
        }
        self.depth_reported = true;
        self.report(
            Diagnostic::new("M0407", span, format!("{what} nested too deeply"))
                .label(format!("this is more than {limit} {counted} deep"))
                .help("split it: give a part of it a name of its own"),
        );
        ParseStop::TooDeep
    }
}
