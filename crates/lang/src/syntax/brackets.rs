//! Pairs the brackets before parsing. The pass inserts missing closing brackets and drops closing
//! brackets that no bracket opens, each with one diagnostic. So the parser sees only balanced
//! tokens: it can skip a whole group, and never reports a bracket. Indentation helps to find the
//! place where a bracket is missing.

use super::token::{Token, TokenKind};
use mazurka_diagnostics::{Diagnostic, Span};

/// Balanced tokens.
pub(crate) struct Balanced {
    pub tokens: Vec<Token>,
    /// For each bracket, the index of its partner; for any other token, its own index.
    pub partner: Vec<u32>,
    /// Whether a `}` without a partner was dropped.
    pub stray_brace: bool,
}

/// An opening bracket without a partner so far.
struct OpenBracket {
    /// The index of the token.
    index: usize,
    /// The column of the first token on its line.
    indent: u32,
    /// For `(` and `[` without a partner: the token before which the missing bracket is inserted.
    close_before: Option<usize>,
}

/// Balances the tokens.
pub(crate) fn balance(
    source: &str,
    tokens: Vec<Token>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Balanced {
    let mut pass = Pass {
        tokens: &tokens,
        diagnostics,
        stack: Vec::new(),
        inserted: Vec::new(),
        dropped: Vec::new(),
        suspect: None,
        reported_at: None,
        indents: Vec::with_capacity(tokens.len()),
        first: Vec::with_capacity(tokens.len()),
        braces: 0,
    };
    pass.run(source);
    let Pass {
        mut inserted,
        dropped,
        ..
    } = pass;
    let stray_brace = dropped
        .iter()
        .any(|&at| tokens[at].kind == TokenKind::RBrace);
    // The sort is stable, so brackets that are inserted at one place stay in the order in which
    // they were popped.
    inserted.sort_by_key(|(at, _)| *at);
    let tokens = rebuild(&tokens, &inserted, &dropped);
    let partner = pair(&tokens);
    Balanced {
        tokens,
        partner,
        stray_brace,
    }
}

/// The pass over the tokens, with the brackets that are open.
struct Pass<'t, 'd> {
    tokens: &'t [Token],
    diagnostics: &'d mut Vec<Diagnostic>,
    stack: Vec<OpenBracket>,
    inserted: Vec<(usize, TokenKind)>,
    dropped: Vec<usize>,
    /// The tokens of a pair of braces whose lines have different indentations. Usually the closing
    /// brace of the inner block is missing, so that its opening brace was paired with the closing
    /// brace of an enclosing block.
    suspect: Option<(usize, usize)>,
    /// The token at which an unclosed bracket was last reported.
    reported_at: Option<usize>,
    /// For each token, the indentation of its line.
    indents: Vec<u32>,
    /// For each token, whether it is the first one on its line.
    first: Vec<bool>,
    /// The number of open braces.
    braces: usize,
}

/// Limit on the number of open brackets among which the partner of a `)` or `]` is searched. The
/// limit keeps the time linear for any input.
const MAX_DISTANCE: usize = 256;

impl Pass<'_, '_> {
    fn run(&mut self, source: &str) {
        let mut lines = Indents::new(source);
        for token in self.tokens {
            let (indent, first) = lines.indent_at(token.span.start);
            self.indents.push(indent);
            self.first.push(first);
        }
        for (index, token) in self.tokens.iter().enumerate() {
            let (indent, first) = (self.indents[index], self.first[index]);
            match token.kind {
                TokenKind::LParen | TokenKind::LBracket | TokenKind::LBrace => {
                    if token.kind == TokenKind::LBrace {
                        self.note_separator(index);
                        self.braces += 1;
                    }
                    self.stack.push(OpenBracket {
                        index,
                        indent,
                        close_before: None,
                    });
                }
                TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace => {
                    self.close(index, indent, first)
                }
                TokenKind::Semi => self.note_separator(index),
                TokenKind::Assign if self.in_index() => self.note_separator(index),
                TokenKind::Process | TokenKind::Proc => self.item(index, indent),
                TokenKind::Eof => self.close_all(index),
                kind if kind.opens_statement() => self.note_separator(index),
                _ => {}
            }
        }
    }

    /// Whether the innermost open bracket is `[`. Nothing is assigned inside an index.
    fn in_index(&self) -> bool {
        let open = self.stack.last();
        open.is_some_and(|open| self.tokens[open.index].kind == TokenKind::LBracket)
    }

    /// Records a place where an unclosed `(` or `[` most likely ends.
    fn note_separator(&mut self, index: usize) {
        if let Some(open) = self.stack.last_mut()
            && self.tokens[open.index].kind != TokenKind::LBrace
        {
            open.close_before.get_or_insert(index);
        }
    }

    fn close(&mut self, index: usize, indent: u32, first: bool) {
        let kind = self.tokens[index].kind;
        let fits = |open: &OpenBracket| self.tokens[open.index].kind.closer() == Some(kind);
        let mut outwards = self.stack.iter().rev();
        let depth = if kind == TokenKind::RBrace {
            // The brackets that the search skips are popped, so the total time is linear.
            if self.braces > 0 {
                outwards.position(fits)
            } else {
                None
            }
        } else {
            // A `)` inside braces never closes a `(` outside of them.
            outwards
                .take(MAX_DISTANCE)
                .take_while(|open| self.is_not_brace(open))
                .position(fits)
        };
        match depth {
            Some(depth) => {
                for _ in 0..depth {
                    self.pop_unclosed(index);
                }
                let Some(open) = self.stack.pop() else { return };
                if kind == TokenKind::RBrace {
                    self.braces -= 1;
                    if self.stack.is_empty() && open.indent == indent {
                        self.suspect = None;
                    } else if first && open.indent != indent {
                        // The first suspect pair is the innermost, and the cause of the suspect
                        // pairs around it.
                        self.suspect.get_or_insert((open.index, index));
                    }
                }
            }
            None => {
                self.dropped.push(index);
                let shown = kind.describe();
                let diagnostic = Diagnostic::new(
                    "M0104",
                    self.tokens[index].span,
                    format!("{shown} closes nothing"),
                )
                .label("no bracket is open here that it could close");
                let diagnostic = match self.stack.last() {
                    Some(open) => diagnostic.related(
                        self.tokens[open.index].span,
                        format!("open here is {}", self.tokens[open.index].kind.describe()),
                    ),
                    None => diagnostic,
                };
                self.diagnostics
                    .push(diagnostic.help("remove it, or add the bracket that opens it"));
            }
        }
    }

    fn is_not_brace(&self, open: &OpenBracket) -> bool {
        self.tokens[open.index].kind != TokenKind::LBrace
    }

    /// Handles the keyword of a process or procedure. Such a declaration is never inside a block,
    /// so the keyword closes all open `(` and `[`, and each open `{` whose line is indented at
    /// least as much.
    fn item(&mut self, index: usize, indent: u32) {
        while let Some(open) = self.stack.last()
            && (indent <= open.indent || self.is_not_brace(open))
        {
            self.pop_unclosed(index);
        }
    }

    fn close_all(&mut self, index: usize) {
        while !self.stack.is_empty() {
            self.pop_unclosed(index);
        }
    }

    /// Returns the end of a block according to its indentation: the first token of the first line
    /// that is not indented more than the line of the opening brace.
    fn end_by_indentation(&self, open: usize) -> Option<usize> {
        let limit = self.indents[open];
        let mut depth = 0;
        for index in open + 1..self.tokens.len() {
            let kind = self.tokens[index].kind;
            if depth == 0 && self.first[index] && self.indents[index] <= limit {
                return (kind != TokenKind::RBrace).then_some(index);
            }
            match kind {
                TokenKind::LParen | TokenKind::LBracket | TokenKind::LBrace => depth += 1,
                TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace if depth == 0 => {
                    return None;
                }
                TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace => depth -= 1,
                _ => {}
            }
        }
        None
    }

    fn pop_unclosed(&mut self, index: usize) {
        let Some(open) = self.stack.pop() else { return };
        let close_before = open.close_before.unwrap_or(index);
        if let Some(outer) = self.stack.last_mut()
            && self.tokens[outer.index].kind != TokenKind::LBrace
        {
            outer.close_before.get_or_insert(close_before);
        }
        let kind = self.tokens[open.index].kind;
        let Some(closer) = kind.closer() else { return };
        if kind == TokenKind::LBrace {
            self.braces -= 1;
        }
        let suspect = self.suspect.take().filter(|_| kind == TokenKind::LBrace);
        let place = suspect.and_then(|(inner, _)| self.end_by_indentation(inner));
        self.inserted.push((place.unwrap_or(close_before), closer));
        let (opening, note) = match suspect {
            Some((inner, at)) => (
                inner,
                Some((
                    self.tokens[at].span,
                    "by its indentation this `}` closes another block".to_owned(),
                )),
            ),
            None => (open.index, None),
        };
        let found = self.tokens[close_before];
        let mut diagnostic = Diagnostic::new(
            "M0103",
            self.tokens[opening].span,
            format!("this {} is never closed", kind.describe()),
        )
        .label(format!("its {} is missing", closer.describe()))
        .help(format!("add {} where it ends", closer.describe()));
        match note {
            Some((span, text)) => diagnostic = diagnostic.related(span, text),
            None if found.kind != TokenKind::Eof => {
                diagnostic = diagnostic.related(
                    found.span,
                    format!("expected {} before this", closer.describe()),
                );
            }
            None => {}
        }
        // If several brackets are unclosed at one place, only the innermost is reported.
        if self.reported_at != Some(index) {
            self.reported_at = Some(index);
            self.diagnostics.push(diagnostic);
        }
    }
}

fn rebuild(tokens: &[Token], inserted: &[(usize, TokenKind)], dropped: &[usize]) -> Vec<Token> {
    let mut result = Vec::with_capacity(tokens.len() + inserted.len());
    let mut inserted = inserted.iter().peekable();
    let mut dropped = dropped.iter().peekable();
    for (index, token) in tokens.iter().enumerate() {
        while let Some((_, kind)) = inserted.next_if(|(at, _)| *at == index) {
            let start = token.span.start;
            result.push(Token {
                kind: *kind,
                span: Span { start, end: start },
            });
        }
        if dropped.next_if(|at| **at == index).is_none() {
            result.push(*token);
        }
    }
    result
}

fn pair(tokens: &[Token]) -> Vec<u32> {
    let mut partner: Vec<u32> = (0..tokens.len() as u32).collect();
    let mut stack = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.kind.closer().is_some() {
            stack.push(index);
        } else if matches!(
            token.kind,
            TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace
        ) && let Some(open) = stack.pop()
        {
            partner[open] = index as u32;
            partner[index] = open as u32;
        }
    }
    partner
}

/// The indentations of lines. Queries must be in ascending order of places.
struct Indents<'s> {
    source: &'s str,
    line_end: usize,
    next_line: usize,
    indent: u32,
    first_at: u32,
}

impl<'s> Indents<'s> {
    fn new(source: &'s str) -> Self {
        Indents {
            source,
            line_end: 0,
            next_line: 0,
            indent: 0,
            first_at: 0,
        }
    }

    /// Returns the indentation of the line of a byte, and whether the byte is the first one after
    /// the indentation.
    fn indent_at(&mut self, at: u32) -> (u32, bool) {
        while self.next_line <= self.source.len()
            && (self.next_line == 0 || at as usize > self.line_end)
        {
            let rest = &self.source[self.next_line..];
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\u{feff}']).len();
            self.indent = rest[..blank].chars().count() as u32;
            self.first_at = (self.next_line + blank) as u32;
            self.line_end = self.next_line + rest.find('\n').unwrap_or(rest.len());
            self.next_line = self.line_end + 1;
        }
        (self.indent, at == self.first_at)
    }
}
