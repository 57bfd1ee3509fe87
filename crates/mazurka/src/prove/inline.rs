//! Processes that a goal itself defines: `[proc { x := 1 } || q] x == 1`.
//!
//! They are compiled as processes at the end of the file. In the formula each is replaced by its
//! index among the processes, padded with blanks so that places in the text do not change.

use mazurka_diagnostics::{Diagnostic, Span};
use mazurka_logic::FormulaError;

/// A goal without the processes that it defines.
pub(super) struct Inline {
    /// The formula, with indices instead of the processes.
    pub formula: String,
    /// The bodies of the processes, in braces, with their places.
    pub bodies: Vec<(String, Span)>,
}

impl Inline {
    /// Finds the processes that a goal defines; the first gets the index `first`.
    pub fn find(goal: &str, first: usize) -> Result<Self, FormulaError> {
        let mut formula = String::new();
        let mut bodies = Vec::new();
        let mut rest = goal;
        while let Some((start, open)) = next(rest) {
            let before = goal.len() - rest.len();
            let Some(end) = matching(&rest[open..]).map(|len| open + len) else {
                return Err(FormulaError {
                    span: span(before + start, before + rest.len()),
                    message: "this process has no end".to_owned(),
                    expected: "expected `}`".to_owned(),
                });
            };
            let number = (first + bodies.len()).to_string();
            bodies.push((
                rest[open..end].to_owned(),
                span(before + start, before + end),
            ));
            formula += &rest[..start];
            formula += &format!("{number:<width$}", width = end - start);
            rest = &rest[end..];
        }
        formula += rest;
        Ok(Self { formula, bodies })
    }

    /// Returns the text of a program with these processes at its end.
    pub fn added_to(&self, source: &str) -> String {
        let bodies = self.bodies.iter();
        bodies.fold(source.to_owned(), |source, (body, _)| {
            format!("{source}\nprocess {body}")
        })
    }

    /// Returns the first of these mistakes in the processes as a mistake in the goal.
    pub fn mistake(&self, mistakes: &[Diagnostic]) -> FormulaError {
        let first = mistakes.first();
        let message = first.map_or("this is not a process", |mistake| &mistake.message);
        let spans = self.bodies.iter().map(|(_, span)| *span);
        FormulaError {
            span: spans.reduce(|a, b| a.to(b)).unwrap_or_default(),
            message: message.to_owned(),
            expected: first.map_or_else(String::new, |mistake| mistake.label.clone()),
        }
    }
}

/// Returns the byte at which the next process begins, and the byte of its opening brace.
fn next(text: &str) -> Option<(usize, usize)> {
    let words = ["proc", "process"].into_iter();
    let found = words.flat_map(|word| {
        text.match_indices(word).filter_map(move |(start, _)| {
            let belongs = |c: char| c.is_alphanumeric() || c == '_';
            let rest = &text[start + word.len()..];
            let open = text.len() - rest.trim_start().len();
            let apart = !text[..start].ends_with(belongs);
            (apart && text[open..].starts_with('{')).then_some((start, open))
        })
    });
    found.min()
}

/// Returns the length of a text in braces.
fn matching(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 1 => return Some(at + 1),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn span(start: usize, end: usize) -> Span {
    Span {
        start: start as u32,
        end: end as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::Inline;

    #[test]
    fn numbers_stand_for_processes_and_places_stay() {
        let goal = "x == 0 ==> [proc { if x == 0 { x := 1 } } || process{skip}] x == 1";
        let found = Inline::find(goal, 3).expect("two processes");
        assert_eq!(found.formula.len(), goal.len());
        assert_eq!(found.formula.find("|| 4"), goal.find("|| process"));
        let bodies: Vec<&str> = found.bodies.iter().map(|(body, _)| body.as_str()).collect();
        assert_eq!(bodies, ["{ if x == 0 { x := 1 } }", "{skip}"]);
        assert!(Inline::find("[proc { x := 1 ] x == 1", 0).is_err());
        assert!(Inline::find("my_proc {", 0).is_ok_and(|found| found.bodies.is_empty()));
    }
}
