//! The layout of a text, for `fmt`: indents lines and removes blanks at their ends. Everything else
//! remains as the author wrote it. Only the words (tokens) of the text are needed, so a program
//! with mistakes in its syntax can be laid out too.

use mazurka_diagnostics::Diagnostic;

use crate::syntax::lexer::words;
use crate::syntax::token::{Token, TokenKind};

/// Indents a line by two blanks more than the line that opens the brackets around it, and by two
/// more if it continues the statement of an earlier line. The error contains the texts that are not
/// words of ABS.
///
/// ```
/// use mazurka_abs::layout::indented;
/// let source = "module M;\nclass C {\nUnit m() {\n  Int x =   \n1;\n}\n}\n";
/// let laid_out = "module M;\nclass C {\n  Unit m() {\n    Int x =\n      1;\n  }\n}\n";
/// assert_eq!(indented(source).unwrap(), laid_out);
/// assert_eq!(indented(laid_out).unwrap(), laid_out);
/// assert!(indented("\"open").is_err());
/// ```
pub fn indented(source: &str) -> Result<String, Vec<Diagnostic>> {
    let (tokens, mistakes) = words(source, 0, source.len());
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let mut rows = Rows {
        tokens: &tokens,
        next: 0,
        open: Vec::new(),
        last: None,
    };
    let mut text = String::with_capacity(source.len());
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        let end = start + line.len();
        let starts_inside = inside(source, &tokens, start);
        let depth = rows.depth(end);
        let content = if starts_inside {
            // The line continues a string or a comment, which is not changed.
            line.trim_end_matches(['\n', '\r'])
        } else {
            line.trim()
        };
        let content = if inside(source, &tokens, end) {
            content
        } else {
            content.trim_end()
        };
        if !starts_inside && !content.is_empty() {
            text.extend(std::iter::repeat_n(' ', depth));
        }
        text += content;
        if line.ends_with('\n') {
            text.push('\n');
        }
        start = end;
    }
    Ok(text)
}

/// Whether a place is inside a string or a comment that spans several lines.
fn inside(source: &str, tokens: &[Token], at: usize) -> bool {
    let behind = tokens.partition_point(|token| (token.span.start as usize) < at);
    let Some(last) = behind.checked_sub(1).map(|last| &tokens[last]) else {
        return in_comment(&source[..at]);
    };
    let end = last.span.end as usize;
    end > at || in_comment(&source[end..at])
}

/// Whether a text without words ends inside a comment.
fn in_comment(text: &str) -> bool {
    let mut rest = text;
    loop {
        let line = rest.find("//");
        let Some(open) = rest
            .find("/*")
            .filter(|open| line.is_none_or(|line| *open < line))
        else {
            match line.and_then(|line| rest[line..].find('\n').map(|end| line + end)) {
                Some(end) => rest = &rest[end..],
                None => return false,
            }
            continue;
        };
        match rest[open + 2..].find("*/") {
            Some(length) => rest = &rest[open + 2 + length + 2..],
            None => return true,
        }
    }
}

/// The state of the layout at the beginning of a line.
struct Rows<'t> {
    tokens: &'t [Token],
    /// The first word that was not processed.
    next: usize,
    /// For each open bracket, the indentation of the line that opens it.
    open: Vec<usize>,
    /// The last word before the line; `None` for the first line.
    last: Option<&'t TokenKind>,
}

impl<'t> Rows<'t> {
    /// Returns the indentation of a line, and moves past its words.
    fn depth(&mut self, end: usize) -> usize {
        let words = &self.tokens[self.next..];
        let words = &words[..words.partition_point(|word| (word.span.start as usize) < end)];
        let closing = words.iter().take_while(|word| is_closing(&word.kind));
        let closing = closing.count();
        let inside = self.open.last().map_or(0, |line| line + 2);
        let depth = match (closing, words.first()) {
            (0, Some(first)) if self.continues_line(&first.kind) => inside + 2,
            (0, _) => inside,
            (closing, _) => {
                let outermost = self.open.len().saturating_sub(closing);
                self.open.get(outermost).copied().unwrap_or(0)
            }
        };
        for word in words {
            match word.kind {
                TokenKind::Symbol("(" | "{" | "[") => self.open.push(depth),
                TokenKind::Symbol(")" | "}" | "]") => {
                    self.open.pop();
                }
                _ => {}
            }
        }
        self.last = words.last().map(|word| &word.kind).or(self.last);
        self.next += words.len();
        depth
    }

    /// Whether a line that starts with a word continues the previous line.
    fn continues_line(&self, first: &TokenKind) -> bool {
        let branch = *first == TokenKind::Symbol("|") && !self.open.is_empty();
        !branch && self.last.is_some_and(|last| !completes(last))
    }
}

fn is_closing(kind: &TokenKind) -> bool {
    matches!(kind, TokenKind::Symbol(")" | "}" | "]"))
}

/// Whether a word may end a statement, a declaration or an element of a list.
fn completes(kind: &TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Symbol(";" | "{" | "}" | "," | "(" | "[" | "]")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_comments_stay_as_they_are() {
        let source =
            "/* a\n   b */\n{\n  /* c\n   d  \n */\n// \"e\n  String s = `one\n  two`;\n}\n";
        let laid_out =
            "/* a\n   b */\n{\n  /* c\n   d  \n */\n  // \"e\n  String s = `one\n  two`;\n}\n";
        assert_eq!(indented(source).expect("words"), laid_out);
    }

    #[test]
    fn any_text_keeps_its_words() {
        for source in [
            "",
            "\n",
            "}}}",
            "{{{\n(",
            "a\n/* */ /*x*/\n// /*\nb",
            "x = // c\n1",
        ] {
            let once = indented(source).expect("words");
            assert_eq!(indented(&once).expect("words"), once, "{source:?}");
            let kinds = |text: &str| -> Vec<TokenKind> {
                let (all, _) = words(text, 0, text.len());
                all.into_iter().map(|token| token.kind).collect()
            };
            assert_eq!(kinds(&once), kinds(source), "{source:?}");
        }
    }
}
