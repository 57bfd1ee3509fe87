//! A mistake in a source file, and the list of all mistakes in a file.

use crate::Span;

/// A mistake in a source file: its place, a description, and how to fix it.
///
/// The front ends make diagnostics, and the binary renders them with a caret under the place. The
/// message describes the mistake, the label what was expected at the place, and the help how to fix
/// it.
///
/// ```
/// use mazurka_diagnostics::{Diagnostic, Span};
/// let mistake = Diagnostic::new("M0201", Span { start: 10, end: 11 }, "`y` is not known")
///     .label("not declared")
///     .help("declare it: `var y: int = 0`");
/// assert_eq!(mistake.label, "not declared");
/// assert!(mistake.related.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// A stable code such as `M0204`; `docs/diagnostics.md` lists them.
    pub code: &'static str,
    /// The description of the mistake, in one line.
    pub message: String,
    /// The place that the caret points at.
    pub span: Span,
    /// The text next to the caret: what was expected there.
    pub label: String,
    /// Other relevant places, each with a text.
    pub related: Vec<(Span, String)>,
    /// How to fix the mistake.
    pub help: Option<String>,
}

/// The most mistakes that are reported. An additional diagnostic says that there are more.
pub const MAX_DIAGNOSTICS: usize = 1000;

impl Diagnostic {
    /// Makes a diagnostic without a label.
    pub fn new(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            help: None,
        }
    }

    /// Sets the text next to the caret.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets the help text.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the help text, if there is one.
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        if help.is_some() {
            self.help = help;
        }
        self
    }

    /// Adds another relevant place.
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }
}

/// Sorts diagnostics by place, removes repetitions and truncates a long list.
pub fn finish(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by(|a, b| (a.span, a.code).cmp(&(b.span, b.code)));
    diagnostics.dedup_by(|a, b| a.code == b.code && a.span == b.span && a.message == b.message);
    if diagnostics.len() > MAX_DIAGNOSTICS {
        diagnostics.truncate(MAX_DIAGNOSTICS);
        let span = diagnostics.last().map(|d| d.span).unwrap_or_default();
        diagnostics.push(
            Diagnostic::new("M0411", span, "there are more mistakes than are shown")
                .label(format!("only the first {MAX_DIAGNOSTICS} are shown"))
                .help("fix these first, then run again"),
        );
    }
    diagnostics
}
