//! The layout of lines: indentation and line breaks.
//!
//! A line is indented by two blanks for each pair of braces around it, and by four more if it
//! continues a statement. Each open bracket stores the indentation of the statement or line in
//! which it was opened. So two brackets that are opened in the same line indent the next line only
//! once.

use super::spacing::{Word, blank, ends_operand, is_infix};
use crate::syntax::token::{Token, TokenKind};

/// The indentation of one level.
const STEP: usize = 2;
/// The indentation of a line that continues a statement.
const CONTINUED: usize = 4;

/// The space between two tokens.
#[derive(Clone, Copy, Debug)]
enum Spacing<'s> {
    /// A number of line breaks, with blanks around them.
    Breaks(usize),
    Comment(&'s str),
}

/// An open bracket, or the whole file.
#[derive(Debug)]
struct Level {
    /// The opening bracket; `None` for the whole file.
    opener: Option<TokenKind>,
    /// The indentation of a closing bracket at the start of a line.
    base: usize,
    /// The indentation of the contents.
    content: usize,
    /// The indentation of the current statement.
    statement: usize,
    /// Whether commas separate the parts, as in an `enum`.
    commas: bool,
    /// Whether the statement has a keyword, such as `enum`, after which commas separate the parts
    /// in braces.
    names_members: bool,
}

/// Returns the text with its tokens laid out.
pub(super) fn layout(source: &str, tokens: &[Token]) -> String {
    let mut writer = Writer {
        out: String::with_capacity(source.len() + source.len() / 8),
        levels: vec![Level {
            opener: None,
            base: 0,
            content: 0,
            statement: 0,
            commas: false,
            names_members: false,
        }],
        line: 0,
        last: None,
        after_comment: false,
    };
    let mut at = 0;
    for (index, token) in tokens.iter().enumerate() {
        let start = token.span.start as usize;
        let pieces = pieces(source.get(at..start).unwrap_or(""));
        let next = tokens.get(index + 1);
        let gap = next.map_or("", |next| {
            let from = token.span.end as usize;
            source.get(from..next.span.start as usize).unwrap_or("")
        });
        let word = writer.word(source, token, next.map(|next| next.kind), start == at);
        writer.put(&pieces, &word, gap.contains('\n'));
        at = token.span.end as usize;
    }
    writer.out
}

/// Splits the text between two tokens into comments and line breaks.
fn pieces(mut gap: &str) -> Vec<Spacing<'_>> {
    let mut pieces = Vec::new();
    let mut breaks = 0;
    while let Some(first) = gap.chars().next() {
        let length = if gap.starts_with("/*") {
            gap.find("*/").map_or(gap.len(), |at| at + 2)
        } else if gap.starts_with("//") {
            gap.find('\n').unwrap_or(gap.len())
        } else {
            // Blanks, and a byte order mark.
            breaks += usize::from(first == '\n');
            gap = &gap[first.len_utf8()..];
            continue;
        };
        if breaks > 0 {
            pieces.push(Spacing::Breaks(std::mem::take(&mut breaks)));
        }
        pieces.push(Spacing::Comment(gap[..length].trim_end()));
        gap = &gap[length..];
    }
    if breaks > 0 {
        pieces.push(Spacing::Breaks(breaks));
    }
    pieces
}

/// Writes the formatted text token by token.
struct Writer<'s> {
    out: String,
    levels: Vec<Level>,
    /// The indentation of the current line.
    line: usize,
    last: Option<Word<'s>>,
    /// Whether a comment was written last.
    after_comment: bool,
}

impl<'s> Writer<'s> {
    /// Classifies a token by its two neighbours.
    fn word(
        &self,
        source: &'s str,
        token: &Token,
        next: Option<TokenKind>,
        touches: bool,
    ) -> Word<'s> {
        let after_operand = self
            .last
            .is_some_and(|last| !last.alternative && ends_operand(last.kind, last.text));
        let after_brace = self.last.is_some_and(|last| last.kind == TokenKind::RBrace);
        let prefix = match token.kind {
            TokenKind::Minus => !after_operand && !after_brace,
            TokenKind::Not => !after_operand,
            TokenKind::Tilde => true,
            _ => false,
        };
        let alternative = match token.kind {
            TokenKind::LBracket => next == Some(TokenKind::RBracket),
            TokenKind::RBracket => self
                .last
                .is_some_and(|last| last.kind == TokenKind::LBracket && last.alternative),
            _ => false,
        };
        Word {
            kind: token.kind,
            text: token.span.text(source),
            prefix,
            alternative,
            previous: self.last.map(|last| last.kind),
            touches,
        }
    }

    fn level(&mut self) -> &mut Level {
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    /// Writes the comments and line breaks before a token, then the token. `hangs` says that a line
    /// break follows the token.
    fn put(&mut self, pieces: &[Spacing<'_>], word: &Word<'s>, hangs: bool) {
        let opens_line = pieces
            .iter()
            .any(|piece| matches!(piece, Spacing::Breaks(_)));
        let starts = self.starts_statement(word, opens_line);
        let indent = self.indent(word, starts);
        let closes = matches!(
            word.kind,
            TokenKind::RBrace | TokenKind::RParen | TokenKind::RBracket
        );
        let comment_indent = if closes { self.level().content } else { indent };
        let mut breaks = 0;
        for piece in pieces {
            match piece {
                Spacing::Breaks(count) => breaks = *count,
                Spacing::Comment(text) => {
                    self.open_line(breaks, comment_indent);
                    if breaks == 0 && !self.out.is_empty() {
                        self.out.push(' ');
                    }
                    self.out += text;
                    self.after_comment = true;
                    breaks = 0;
                }
            }
        }
        if word.kind == TokenKind::Eof {
            if !self.out.is_empty() {
                self.out.push('\n');
            }
            return;
        }
        self.open_line(if closes { breaks.min(1) } else { breaks }, indent);
        if breaks == 0 && self.is_apart(word) {
            self.out.push(' ');
        }
        if starts {
            let line = self.line;
            let level = self.level();
            level.statement = line;
            level.names_members = false;
        }
        self.out += word.text;
        self.after_comment = false;
        self.follow(word, hangs);
        self.last = Some(*word);
    }

    /// Whether there is a blank before a token that does not start a line.
    fn is_apart(&self, word: &Word<'_>) -> bool {
        match &self.last {
            _ if self.after_comment => true,
            Some(last) => blank(last, word),
            None => false,
        }
    }

    /// Ends the line if there are line breaks, and keeps at most one empty line.
    fn open_line(&mut self, breaks: usize, indent: usize) {
        if breaks == 0 {
            return;
        }
        if !self.out.is_empty() {
            let opened =
                !self.after_comment && self.last.is_some_and(|last| last.kind.closer().is_some());
            self.out.push('\n');
            if breaks > 1 && !opened {
                self.out.push('\n');
            }
        }
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.line = indent;
    }

    /// Opens a level if the token is an opening bracket, and closes one if it is a closing bracket.
    fn follow(&mut self, word: &Word<'_>, hangs: bool) {
        let line = self.line;
        let inside = self.levels.len() > 1;
        let level = self.level();
        match word.kind {
            TokenKind::LBrace => {
                let base = match level.opener {
                    Some(TokenKind::LParen | TokenKind::LBracket) => line,
                    _ => level.statement,
                };
                let commas = std::mem::take(&mut level.names_members);
                self.levels.push(Level {
                    opener: Some(TokenKind::LBrace),
                    base,
                    content: base + STEP,
                    statement: line,
                    commas,
                    names_members: false,
                });
            }
            TokenKind::LParen | TokenKind::LBracket => {
                let content = line + if hangs { STEP } else { CONTINUED };
                self.levels.push(Level {
                    opener: Some(word.kind),
                    base: line,
                    content,
                    statement: content,
                    commas: false,
                    names_members: false,
                });
            }
            TokenKind::RBrace | TokenKind::RParen | TokenKind::RBracket if inside => {
                self.levels.pop();
            }
            TokenKind::Ident if matches!(word.text, "enum" | "struct" | "match" | "via") => {
                level.names_members = true;
            }
            _ => {}
        }
    }

    /// Returns the indentation of a token that starts a line.
    fn indent(&mut self, word: &Word<'_>, starts: bool) -> usize {
        let line = self.line;
        let level = self.level();
        match word.kind {
            TokenKind::RBrace | TokenKind::RParen | TokenKind::RBracket if !word.alternative => {
                level.base
            }
            TokenKind::Eof => 0,
            _ if starts => level.content,
            TokenKind::LBrace => match level.opener {
                Some(TokenKind::LParen | TokenKind::LBracket) => line,
                _ => level.statement,
            },
            _ => match level.opener {
                Some(TokenKind::LParen | TokenKind::LBracket) => level.content,
                _ => level.statement + CONTINUED,
            },
        }
    }

    /// Whether a declaration, a statement, a case or an alternative begins with this token.
    fn starts_statement(&mut self, word: &Word<'_>, opens_line: bool) -> bool {
        let last = self.last;
        let level = self.level();
        if matches!(level.opener, Some(TokenKind::LParen | TokenKind::LBracket)) {
            return false;
        }
        let Some(last) = last else {
            return true;
        };
        match last.kind {
            _ if word.alternative => word.kind == TokenKind::LBracket,
            TokenKind::Semi => true,
            // `} else {` continues its statement, at its indentation.
            TokenKind::RBrace => {
                !is_infix(word.kind) && !matches!(word.kind, TokenKind::Semi | TokenKind::Comma)
            }
            TokenKind::LBrace => true,
            TokenKind::Comma => level.commas,
            // Declarations and `process` heads have no separator.
            _ => {
                let complete = ends_operand(last.kind, last.text)
                    || matches!(
                        last.kind,
                        TokenKind::Skip | TokenKind::End | TokenKind::Error
                    );
                let opens = !is_infix(word.kind)
                    && !matches!(
                        word.kind,
                        TokenKind::Else
                            | TokenKind::Comma
                            | TokenKind::Semi
                            | TokenKind::Colon
                            | TokenKind::LBrace
                            | TokenKind::LParen
                            | TokenKind::LBracket
                            | TokenKind::Not
                    );
                opens_line && complete && opens
            }
        }
    }
}
