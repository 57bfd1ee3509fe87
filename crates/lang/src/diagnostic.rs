//! What is wrong with a file, where, and what to do about it. Only the binary prints it.

use crate::source::Span;

/// One mistake in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// A stable code such as `M0204`; `docs/diagnostics.md` lists them.
    pub code: &'static str,
    /// What is wrong, in one line.
    pub message: String,
    /// The place that the caret points at.
    pub span: Span,
    /// What stands beside the caret: what was expected there.
    pub label: String,
    /// Other places that matter, each with its own words.
    pub related: Vec<(Span, String)>,
    /// What to do next.
    pub help: Option<String>,
}
