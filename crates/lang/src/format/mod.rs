//! Formats a program: indentation, blanks between tokens, blank lines.
//!
//! The author chooses the line breaks, as in gofmt: no line is joined or split. This has three
//! reasons. A deliberate arrangement is preserved. The line numbers of diagnostics and witnesses
//! stay the same. Some line breaks are significant to the parser, which must read the same program.
//!
//! Everything else follows from the tokens alone, so formatting is idempotent: [`spacing`] decides
//! on blanks between two tokens of one line, [`layout`] on the indentation of a line.
//!
//! Comments are kept as they are, except for trailing blanks.

mod layout;
mod spacing;

use mazurka_diagnostics::{Diagnostic, finish};

use crate::syntax::include::without_includes;
use crate::syntax::lexer::lex;
use crate::syntax::parser::parse;
use crate::syntax::token::{Token, TokenKind};

/// Why a text was not formatted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unformatted {
    /// The text has syntax errors.
    #[error("the program has mistakes, so it is not formatted: fix them first")]
    Mistakes(Vec<Diagnostic>),
    /// The new text would be a different program, which is a defect of the formatter.
    #[error("the new layout would change the program, so the text stays as it is")]
    Changed,
}

/// Formats a `.maz` program. The result parses to the same program, has the same comments, and is a
/// fixed point of this function.
///
/// Names are not resolved and files are not included, so only syntax errors are reported.
///
/// ```
/// let text = "process p{x:=-1;// one\n      y := f( x )}\n";
/// let formatted = mazurka_lang::format(text).unwrap();
/// assert_eq!(formatted, "process p { x := -1; // one\n  y := f(x) }\n");
/// assert_eq!(mazurka_lang::format(&formatted).unwrap(), formatted);
/// assert!(mazurka_lang::format("process { x := }").is_err());
/// ```
pub fn format(source: &str) -> Result<String, Unformatted> {
    let (before, diagnostics) = shape(source);
    if !diagnostics.is_empty() {
        return Err(Unformatted::Mistakes(finish(diagnostics)));
    }
    let tokens = lex(source, &mut Vec::new());
    let formatted = layout::layout(source, &tokens);
    let again = lex(&formatted, &mut Vec::new());
    let (after, diagnostics) = shape(&formatted);
    let same = diagnostics.is_empty()
        && before == after
        && words(source, &tokens).eq(words(&formatted, &again));
    if same {
        Ok(formatted)
    } else {
        Err(Unformatted::Changed)
    }
}

/// Returns the tokens and their texts.
fn words<'s>(source: &'s str, tokens: &'s [Token]) -> impl Iterator<Item = (TokenKind, &'s str)> {
    tokens
        .iter()
        .map(move |token| (token.kind, token.span.text(source)))
}

/// Returns the syntax tree as text without places, and the syntax errors.
fn shape(source: &str) -> (String, Vec<Diagnostic>) {
    let text = without_includes(source);
    let parsed = parse(&text);
    let tree = format!("{:?}", parsed.file);
    let mut parts = tree.split("Span { start: ");
    let mut shape = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shape += part.split_once(" }").map_or(part, |(_, rest)| rest);
    }
    (shape, parsed.diagnostics)
}
