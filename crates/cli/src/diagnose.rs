//! Mistakes of a program, shown in its text.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use mazurka::Diagnostic;

/// Every mistake: code, caret, what was expected, what to do.
pub(crate) fn render(file: &str, source: &str, all: &[Diagnostic]) -> String {
    let renderer = Renderer::styled();
    let mut text = String::new();
    for diagnostic in all {
        let group = group(file, source, diagnostic);
        text += &renderer.render(&[group]);
        text += "\n\n";
    }
    let errors = if all.len() == 1 { "error" } else { "errors" };
    text + &format!("{} {errors} in {}", all.len(), shown(file))
}

fn group<'a>(file: &'a str, source: &'a str, diagnostic: &'a Diagnostic) -> Group<'a> {
    let title = Level::ERROR
        .primary_title(&diagnostic.message)
        .id(diagnostic.code);
    let help = diagnostic
        .help
        .as_ref()
        .map(|help| Level::HELP.message(help));
    // What is wrong outside of the text, such as a --set option, has no place in it.
    let span = (diagnostic.span.start as usize, diagnostic.span.end as usize);
    if span == (0, 0) && diagnostic.related.is_empty() {
        return Group::with_title(title).elements(help);
    }
    let mut snippet = Snippet::source(source).path(shown(file));
    if span != (0, 0) {
        let primary = AnnotationKind::Primary.span(within(source, span));
        snippet = snippet.annotation(primary.label(&diagnostic.label));
    }
    for (place, words) in &diagnostic.related {
        let place = within(source, (place.start as usize, place.end as usize));
        snippet = snippet.annotation(AnnotationKind::Context.span(place).label(words));
    }
    title.element(snippet).elements(help)
}

fn shown(file: &str) -> &str {
    if file == "-" { "standard input" } else { file }
}

/// The span as whole characters of the text, wherever it points.
fn within(source: &str, (start, end): (usize, usize)) -> Range<usize> {
    let mut start = start.min(source.len());
    while !source.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = end.min(source.len());
    while !source.is_char_boundary(end) {
        end += 1;
    }
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_never_leave_the_text_or_split_a_character() {
        assert_eq!(within("a▷b", (2, 3)), 1..4);
        assert_eq!(within("a▷b", (4, 99)), 4..5);
        assert_eq!(within("", (7, 3)), 0..0);
        assert_eq!(within("abc", (2, 1)), 2..2);
    }
}
