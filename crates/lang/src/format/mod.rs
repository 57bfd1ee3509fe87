//! Lays a program out: indentation, blanks between tokens, blank lines.
//!
//! The line breaks are the author's, as in gofmt: no line is joined or split, so a model that was
//! laid out to be read stays so, lines of diagnostics and witnesses stay what they were, and the
//! parser, to which a line break means something in places, sees the same. Everything else follows
//! from the tokens alone: [`spacing`] says what stands between two of them on one line, [`layout`]
//! where a line begins. So a text that was laid out once is left as it is.
//!
//! Comments are kept as they are, but for blanks at their ends.

mod layout;
mod spacing;

use mazurka_diagnostics::{Diagnostic, finish};

use crate::syntax::include::without_includes;
use crate::syntax::lexer::lex;
use crate::syntax::parser::parse;
use crate::syntax::token::{Kind, Token};

/// Why a text was not laid out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unformatted {
    /// It cannot be read.
    #[error("the program has mistakes, and is laid out when they are mended")]
    Mistakes(Vec<Diagnostic>),
    /// The new text would mean something else. This is a defect of the formatter.
    #[error("the new layout would change the program, so the text stays as it is")]
    Changed,
}

/// Lays a `.maz` program out. The result is read as the same program, has the same comments, and
/// is laid out already.
///
/// Names are not looked up and files are not included: the mistakes are those of the syntax.
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

/// The tokens and their texts.
fn words<'s>(source: &'s str, tokens: &'s [Token]) -> impl Iterator<Item = (Kind, &'s str)> {
    tokens
        .iter()
        .map(move |token| (token.kind, token.span.text(source)))
}

/// The syntax tree without places, and the mistakes in it.
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
