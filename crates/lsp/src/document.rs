//! An open file in an editor, and the analysis of its text.

use lsp_types::{
    Diagnostic as LspDiagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location,
    NumberOrString, Range, Uri,
};
use mazurka::names::names_of;
use mazurka::record::{DiagnosticRecord, Severity};
use mazurka::symbols::Symbols;
use mazurka::{Program, StepPlace};

use crate::Environment;
use crate::text::Text;

/// One version of a file, with its analysis.
#[derive(Debug)]
pub(crate) struct Document {
    pub uri: Uri,
    pub version: i32,
    pub text: Text,
    /// The path used in messages.
    pub path: String,
    /// The program, if it has no mistakes.
    pub program: Option<Program>,
    pub symbols: Symbols,
    /// The steps of the program, in the order of the text.
    pub steps: Vec<StepPlace>,
    /// Mistakes and warnings.
    pub diagnostics: Vec<LspDiagnostic>,
    /// The results of searches of this version.
    pub findings: Vec<Finding>,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// The name of the search: `check`, `check exclusion`, `run`.
    pub name: String,
    /// The answer, in one line.
    pub answer: String,
    /// A diagnostic for each violation, with its place and its run.
    pub diagnostics: Vec<LspDiagnostic>,
}

impl Document {
    /// Analyses a text.
    pub(crate) fn new(uri: Uri, version: i32, text: Text, environment: &dyn Environment) -> Self {
        let path = path_of(&uri);
        let mut document = Self {
            uri,
            version,
            path,
            program: None,
            symbols: Symbols::default(),
            steps: Vec::new(),
            diagnostics: Vec::new(),
            findings: Vec::new(),
            text,
        };
        document.read(environment);
        document
    }

    /// Whether the file is a `.maz` program, for which there are more features.
    pub(crate) fn is_maz(&self) -> bool {
        !self.path.ends_with(".abs")
    }

    fn read(&mut self, environment: &dyn Environment) {
        let source = if self.is_maz() {
            environment.expand(&self.path, self.text.as_str())
        } else {
            self.text.as_str().to_owned()
        };
        self.symbols = names_of(&self.path, self.text.as_str());
        let records = match Program::load(&self.path, &source, &[]) {
            Ok(program) => {
                let warnings = program.warnings().to_vec();
                let records = mazurka::mistakes(&self.path, &source, &warnings).diagnostics;
                // Steps in included files are omitted, because their places belong to another text.
                let own = |step: &StepPlace| step.span.file(&source).is_none();
                let steps = program.step_places().into_iter().filter(own);
                self.steps = steps
                    .filter_map(|step| moved(step, &source, &self.text))
                    .collect();
                self.program = Some(program);
                let warning = |one: DiagnosticRecord| DiagnosticRecord {
                    severity: Severity::Warning,
                    ..one
                };
                records.into_iter().map(warning).collect()
            }
            Err(mistakes) => mazurka::mistakes(&self.path, &source, &mistakes).diagnostics,
        };
        self.diagnostics = records.iter().map(|one| self.shown(one)).collect();
    }

    fn shown(&self, one: &DiagnosticRecord) -> LspDiagnostic {
        let severity = match one.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        };
        let mut message = one.message.clone();
        if !one.label.is_empty() {
            message += &format!("\n{}", one.label);
        }
        if let Some(help) = &one.help {
            message += &format!("\nhelp: {help}");
        }
        let range = one.span.map_or(Range::default(), |span| {
            self.text.range_of(span.line, span.column, span.length)
        });
        let related = one.related.iter().map(|related| {
            let span = related.span;
            let range = self.text.range_of(span.line, span.column, span.length);
            self.related(range, &related.message)
        });
        LspDiagnostic {
            range,
            severity: Some(severity),
            code: Some(NumberOrString::String(one.code.clone())),
            source: Some("mazurka".to_owned()),
            message,
            related_information: Some(related.collect()),
            ..LspDiagnostic::default()
        }
    }

    pub(crate) fn related(&self, range: Range, message: &str) -> DiagnosticRelatedInformation {
        DiagnosticRelatedInformation {
            location: Location::new(self.uri.clone(), range),
            message: message.to_owned(),
        }
    }
}

/// Converts the place of a step in the expanded text to a place in the text of the file.
fn moved(step: StepPlace, source: &str, text: &Text) -> Option<StepPlace> {
    let (line, column) = step.span.line_column(source);
    let length = step.span.text(source).chars().count();
    let start = text.offset(text.range_of(line, column, 0).start) as u32;
    let span = mazurka::Span {
        start,
        end: start + step.span.text(source).len() as u32,
    };
    (length > 0).then_some(StepPlace { span, ..step })
}

/// Returns the path of a file: the part after `file://`, percent-decoded.
fn path_of(uri: &Uri) -> String {
    let path = uri.as_str();
    let path = path.strip_prefix("file://").unwrap_or(path);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let digit = |at: usize| after.get(at).and_then(|byte| (*byte as char).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_paths_are_resolved() {
        let path = |uri: &str| path_of(&uri.parse().expect("a URI"));
        assert_eq!(path("file:///a%20b/%C3%A4.maz"), "/a b/ä.maz");
        assert_eq!(path("untitled:one"), "untitled:one");
    }
}
