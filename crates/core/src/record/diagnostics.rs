//! Mistakes in a program, and warnings about it.

use serde::{Deserialize, Serialize};

/// The output instead of a [`Record`](super::Record) for a program with mistakes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MistakesRecord {
    /// [`VERSION`](super::VERSION).
    pub version: u32,
    /// The file, as given by the user.
    pub file: String,
    /// The mistakes, in the order of the text.
    pub diagnostics: Vec<DiagnosticRecord>,
}

/// A mistake or a warning, with its place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagnosticRecord {
    /// A stable code such as `M0204`; `docs/diagnostics.md` lists them.
    pub code: String,
    /// Its severity.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// What was expected at the place.
    pub label: String,
    /// Its place; `None` if it is not about the text, for example for a wrong `--set`.
    pub span: Option<SpanRecord>,
    /// Other relevant places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<RelatedRecord>,
    /// What to do next.
    pub help: Option<String>,
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The program cannot run.
    Error,
    /// The program runs, but probably not as its author intends.
    Warning,
}

/// A range of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanRecord {
    /// The line of its start, from 1.
    pub line: usize,
    /// The column of its start, from 1, in characters.
    pub column: usize,
    /// Number of characters.
    pub length: usize,
}

/// Another place that is relevant for a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelatedRecord {
    /// The place.
    pub span: SpanRecord,
    /// Why it is relevant.
    pub message: String,
}
