//! Shows mistakes in a program and warnings about it. Each is shown with the lines of the program
//! that it is about, and with a caret below its place.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use clap::Args;
use mazurka::record::{DiagnosticRecord, Record, Severity, SpanRecord};
use mazurka::{Program, Verdict};

use crate::args::OutputArgs;
use crate::exit::Exit;
use crate::output;

/// How to treat warnings.
#[derive(Debug, Args)]
pub(crate) struct WarningArgs {
    /// End with exit code 1 if a verified program has warnings
    #[arg(long)]
    deny_warnings: bool,
}

impl WarningArgs {
    /// Shows the warnings of a record on standard error, and returns the exit code with them.
    pub(crate) fn show(
        &self,
        program: &Program,
        record: &Record,
        exit: Exit,
        output: &OutputArgs,
    ) -> Exit {
        let all = &record.warnings;
        let Some(source) = program.source().filter(|_| !all.is_empty()) else {
            return exit;
        };
        // The record contains all warnings. For a violated program the warnings about unreached
        // code are not shown here, because most of them follow from the violation.
        let shown_warnings = |warning: &&DiagnosticRecord| {
            record.verdict != Verdict::Violated || warning.code.starts_with("W01")
        };
        let shown_warnings: Vec<DiagnosticRecord> =
            all.iter().filter(shown_warnings).cloned().collect();
        if !shown_warnings.is_empty() && !output.quiet && !output.format.has_warnings() {
            // All warnings are about the program's own file, and not about included ones.
            let own = mazurka::parts(source).remove(0).text;
            output::print_error(&render(&record.program.file, &own, &shown_warnings));
        }
        match exit {
            Exit::Verified if self.deny_warnings => {
                output::complain("there are warnings, so the exit code is 1 (--deny-warnings)");
                Exit::Violated
            }
            exit => exit,
        }
    }
}

/// The maximal number of mistakes or warnings shown as text.
const MOST_SHOWN: usize = 100;
/// The greatest length, in bytes, of the source lines that are shown for one mistake. If they are
/// longer, only the place is shown.
const LONGEST_SNIPPET: usize = 20_000;

/// Renders mistakes or warnings, each with its code, its lines in the source with a caret, what was
/// expected, and what to do.
pub(crate) fn render(file: &str, source: &str, all: &[DiagnosticRecord]) -> String {
    let renderer = Renderer::styled();
    let text = SourceLines::new(source);
    let mut shown_text = String::new();
    for diagnostic in all.iter().take(MOST_SHOWN) {
        // The page marks the places itself, so the build for the page omits the code that draws
        // them.
        if cfg!(target_family = "wasm") {
            shown_text += &in_a_line(diagnostic);
            continue;
        }
        let group = group(file, &text, diagnostic);
        shown_text += &renderer.render(&[group]);
        shown_text += "\n\n";
    }
    let warning = |d: &DiagnosticRecord| d.severity == Severity::Warning;
    let what = if all.iter().all(warning) {
        "warning"
    } else {
        "error"
    };
    if all.len() > MOST_SHOWN {
        let more = all.len() - MOST_SHOWN;
        shown_text += &format!("and {more} more, which --format json lists\n\n");
    }
    let s = if all.len() == 1 { "" } else { "s" };
    shown_text + &format!("{} {what}{s} in {}", all.len(), shown(file))
}

/// Returns a mistake or warning with its place, in one line.
fn in_a_line(diagnostic: &DiagnosticRecord) -> String {
    let place = diagnostic
        .span
        .map(|span| format!("{}:{} ", span.line, span.column));
    let place = place.unwrap_or_default();
    format!("{place}{}: {}\n", diagnostic.code, diagnostic.message)
}

/// A source, and where its lines begin.
struct SourceLines<'a> {
    source: &'a str,
    lines: Vec<usize>,
}

impl<'a> SourceLines<'a> {
    fn new(source: &'a str) -> Self {
        let line_starts = source.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(line_starts).collect();
        Self { source, lines }
    }

    /// Returns the byte range of the lines that a diagnostic points at, and the number of the first
    /// of these lines.
    fn region(&self, diagnostic: &DiagnosticRecord) -> (Range<usize>, usize) {
        let related = diagnostic.related.iter().map(|related| related.span);
        let places = diagnostic.span.into_iter().chain(related);
        let places = places.map(|span| self.range(span));
        let (first, last) = places.fold((usize::MAX, 0), |(first, last), place| {
            (first.min(place.start), last.max(place.end))
        });
        let line = self.lines.partition_point(|&line| line <= first).max(1);
        let line_starts = self.lines.partition_point(|&line| line <= last);
        let end = self.lines.get(line_starts).copied();
        let end = end.unwrap_or(self.source.len());
        (self.lines[line - 1]..end, line)
    }

    /// Returns the byte range of a span; a span outside of the text is clamped.
    fn range(&self, span: SpanRecord) -> Range<usize> {
        let line = self.lines.get(span.line.wrapping_sub(1)).copied();
        let line = line.unwrap_or(self.source.len());
        let start = byte_after(self.source, line, span.column.saturating_sub(1));
        start..byte_after(self.source, start, span.length)
    }
}

/// Returns the byte that is `characters` characters after `from`.
fn byte_after(source: &str, from: usize, characters: usize) -> usize {
    let mut rest = source[from..].char_indices();
    rest.nth(characters)
        .map_or(source.len(), |(at, _)| from + at)
}

fn group<'a>(file: &'a str, text: &SourceLines<'a>, diagnostic: &'a DiagnosticRecord) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level
        .primary_title(&diagnostic.message)
        .id(&diagnostic.code);
    let help = diagnostic
        .help
        .as_ref()
        .map(|help| Level::HELP.message(help));
    // A mistake outside of the text, such as in a --set option, has no place in it.
    if diagnostic.span.is_none() && diagnostic.related.is_empty() {
        return Group::with_title(title).elements(help);
    }
    let (region, first) = text.region(diagnostic);
    if region.len() > LONGEST_SNIPPET {
        let place = diagnostic.span.map(|span| {
            let file = Origin::path(shown(file));
            file.line(span.line).char_column(span.column)
        });
        return Group::with_title(title).elements(place).elements(help);
    }
    let within = |span: SpanRecord| {
        let place = text.range(span);
        place.start - region.start..place.end - region.start
    };
    let mut snippet = Snippet::source(&text.source[region.clone()])
        .line_start(first)
        .path(shown(file));
    if let Some(span) = diagnostic.span {
        let primary = AnnotationKind::Primary.span(within(span));
        snippet = snippet.annotation(primary.label(&diagnostic.label));
    }
    for related in &diagnostic.related {
        let place = AnnotationKind::Context.span(within(related.span));
        snippet = snippet.annotation(place.label(&related.message));
    }
    title.element(snippet).elements(help)
}

fn shown(file: &str) -> &str {
    if file == "-" { "standard input" } else { file }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_mistakes_in_a_long_line_have_a_short_text() {
        let mistake = |column| DiagnosticRecord {
            code: "M0101".to_owned(),
            severity: Severity::Error,
            message: "strange".to_owned(),
            label: "here".to_owned(),
            span: Some(SpanRecord {
                line: 2,
                column,
                length: 1,
            }),
            related: Vec::new(),
            help: None,
        };
        let all: Vec<DiagnosticRecord> = (1..=1000).map(mistake).collect();
        let short = format!("\n{}\n", "@".repeat(1000));
        let text = render("p.maz", &short, &all[..3]);
        assert!(text.contains("here") && text.contains(":2:3"), "{text}");
        let long = format!("\n{}\n", "@".repeat(1_000_000));
        let text = render("p.maz", &long, &all);
        assert!(text.len() < 30_000, "{} bytes", text.len());
        assert!(text.contains(":2:100") && text.contains("and 900 more"));
        assert!(text.ends_with("1000 errors in p.maz"));
    }

    #[test]
    fn places_never_leave_the_text_or_split_a_character() {
        let text = SourceLines::new("a▷b\ncd\n");
        let range = |line, column, length| {
            text.range(SpanRecord {
                line,
                column,
                length,
            })
        };
        assert_eq!(range(1, 2, 1), 1..4);
        assert_eq!(range(1, 3, 99), 4..9);
        assert_eq!(range(2, 1, 2), 6..8);
        assert_eq!(range(7, 3, 1), 9..9);
        assert_eq!(range(0, 0, 0), 9..9);
    }
}
