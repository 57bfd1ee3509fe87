//! [`Document`]: one version of a file that is open in an editor, with the analysis of its text:
//! its program, its names, its steps, its diagnostics, and the results of searches.

use std::cell::RefCell;

use lsp_types::{
    Diagnostic as LspDiagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location,
    NumberOrString, Range, Uri,
};
use mazurka::names::names_of;
use mazurka::symbols::Symbols;
use mazurka::{Diagnostic, Part, Program, Span, StepPlace, parts};

use crate::Environment;
use crate::text::Text;

/// A function that returns the text of the file with a path, if the file is open in the editor.
pub(crate) type OpenTexts<'a> = dyn Fn(&str) -> Option<String> + 'a;

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
    /// The steps of the program in this file, in the order of the text.
    pub steps: Vec<StepPlace>,
    /// Mistakes and warnings.
    pub diagnostics: Vec<LspDiagnostic>,
    /// The results of searches of this version.
    pub findings: Vec<Finding>,
    /// The paths of the files that it includes or tries to include. If one of them changes, the
    /// document is analysed again.
    pub wanted: Vec<String>,
    /// The files that it includes.
    included: Vec<Included>,
}

/// A file that a document includes, directly or not.
#[derive(Debug)]
pub(crate) struct Included {
    /// Its name in records: relative to the folder of the document.
    name: String,
    uri: Option<Uri>,
    text: Text,
    /// The line of the document with the `include` through which the file is included, directly or
    /// not.
    line: Range,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// The name of the search, which is the title of its lens: `check`, `check exclusion`, `run`.
    pub name: String,
    /// The answer, in one line.
    pub answer: String,
    /// A diagnostic for each violation, at its place, with the steps of its run as related places.
    pub diagnostics: Vec<LspDiagnostic>,
}

/// A place in the document, or in a file that it includes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot<'d> {
    /// The included file; `None` for the document.
    pub included: Option<&'d Included>,
    /// The range in that file.
    pub range: Range,
}

impl Spot<'_> {
    /// Returns the range in the document: for an included file, the line that includes it.
    pub(crate) fn range_here(&self) -> Range {
        self.included.map_or(self.range, |file| file.line)
    }

    /// Returns a message at [`range_here`](Self::range_here): for an included file, it begins with
    /// the file and the line.
    pub(crate) fn message(&self, message: &str) -> String {
        match self.included {
            Some(file) => {
                let line = self.range.start.line + 1;
                format!("in `{}`, line {line}: {message}", file.name)
            }
            None => message.to_owned(),
        }
    }
}

impl Document {
    /// Analyses a text.
    pub(crate) fn new(
        uri: Uri,
        version: i32,
        text: Text,
        (environment, open): (&dyn Environment, &OpenTexts<'_>),
    ) -> Self {
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
            wanted: Vec::new(),
            included: Vec::new(),
            text,
        };
        document.read(environment, open);
        document
    }

    /// Whether the file is a `.maz` program, for which there are more features.
    pub(crate) fn is_maz(&self) -> bool {
        !self.path.ends_with(".abs")
    }

    fn read(&mut self, environment: &dyn Environment, open: &OpenTexts<'_>) {
        let wanted = RefCell::new(Vec::new());
        let source = if self.is_maz() {
            let recorded_open = |path: &str| {
                wanted.borrow_mut().push(path.to_owned());
                open(path)
            };
            environment.expand(&self.path, self.text.as_str(), &recorded_open)
        } else {
            self.text.as_str().to_owned()
        };
        self.wanted = wanted.into_inner();
        let parts = parts(&source);
        self.included = parts[1..]
            .iter()
            .map(|part| self.included(part, &parts[0]))
            .collect();
        self.symbols = names_of(&self.path, self.text.as_str());
        let (diagnostics, severity) = match Program::load(&self.path, &source, &[]) {
            Ok(program) => {
                let warnings = program.warnings().to_vec();
                // Keep only the steps in the document itself, not those in included files.
                let own = |step: StepPlace| {
                    let span = parts[0].span(step.span)?;
                    (span.start < span.end).then_some(StepPlace { span, ..step })
                };
                self.steps = program.step_places().into_iter().filter_map(own).collect();
                self.program = Some(program);
                (warnings, DiagnosticSeverity::WARNING)
            }
            Err(mistakes) => (mistakes, DiagnosticSeverity::ERROR),
        };
        let converted = |one| self.lsp_diagnostic(one, severity, &parts);
        self.diagnostics = diagnostics.iter().map(converted).collect();
    }

    fn included(&self, part: &Part, own: &Part) -> Included {
        let before = part.start().and_then(|start| own.last_before(start));
        let line = before.map_or(Range::default(), |last| {
            let line = self.text.position(last as usize).line;
            self.text.range_of_protocol_line(line)
        });
        Included {
            name: part.name.clone(),
            uri: beside(&self.uri, &part.name),
            text: Text::new(part.text.clone()),
            line,
        }
    }

    fn lsp_diagnostic(
        &self,
        one: &Diagnostic,
        severity: DiagnosticSeverity,
        parts: &[Part],
    ) -> LspDiagnostic {
        let mut message = one.message.clone();
        if !one.label.is_empty() {
            message += &format!("\n{}", one.label);
        }
        if let Some(help) = &one.help {
            message += &format!("\nhelp: {help}");
        }
        let mut related = Vec::new();
        // A mistake that is not in the text, for example in a setting, has no place.
        let spot = (one.span != Span::default()).then(|| self.spot(one.span, parts));
        if let Some(spot) = spot {
            message = spot.message(&message);
            if spot.included.is_some() {
                related.push(self.related(spot, &one.message));
            }
        }
        let others = one.related.iter();
        related.extend(others.map(|(span, words)| self.related(self.spot(*span, parts), words)));
        LspDiagnostic {
            range: spot.map_or(Range::default(), |spot| spot.range_here()),
            severity: Some(severity),
            code: Some(NumberOrString::String(one.code.to_owned())),
            source: Some("mazurka".to_owned()),
            message,
            related_information: Some(related),
            ..LspDiagnostic::default()
        }
    }

    /// Returns the place of a span of the text with all included files.
    fn spot(&self, span: Span, parts: &[Part]) -> Spot<'_> {
        let in_part = |part: &Part| {
            let start = Span {
                end: span.start,
                ..span
            };
            let own = part.span(span);
            // The span may end after the text of an included file; use its start.
            own.or_else(|| part.span(start))
        };
        let found = parts.iter().enumerate();
        let mut found = found.filter_map(|(at, part)| Some((at, in_part(part)?)));
        let (included, span) = match found.next() {
            Some((at, span)) => (at.checked_sub(1).map(|at| &self.included[at]), span),
            None => (None, span),
        };
        let text = included.map_or(&self.text, |file| &file.text);
        Spot {
            included,
            range: text.range_in_line(span),
        }
    }

    /// Returns a file that is included, by its name in records.
    pub(crate) fn file(&self, name: &str) -> Option<&Included> {
        self.included.iter().find(|file| file.name == name)
    }

    /// Returns the place of `length` characters from a line and a column, as a record counts them.
    pub(crate) fn recorded(
        &self,
        file: Option<&str>,
        (line, column, length): (usize, usize, usize),
    ) -> Spot<'_> {
        let included = file.and_then(|name| self.file(name));
        let text = included.map_or(&self.text, |file| &file.text);
        Spot {
            included,
            range: text.range_of(line, column, length),
        }
    }

    /// Returns the place of a line of a record.
    pub(crate) fn recorded_line(&self, file: Option<&str>, line: usize) -> Spot<'_> {
        let included = file.and_then(|name| self.file(name));
        let text = included.map_or(&self.text, |file| &file.text);
        Spot {
            included,
            range: text.range_of_line(line),
        }
    }

    /// Returns a place with a message, for a list of related places.
    pub(crate) fn related(&self, spot: Spot<'_>, message: &str) -> DiagnosticRelatedInformation {
        let (uri, range) = match spot.included {
            None => (&self.uri, spot.range),
            Some(file) => match &file.uri {
                Some(uri) => (uri, spot.range),
                None => (&self.uri, file.line),
            },
        };
        DiagnosticRelatedInformation {
            location: Location::new(uri.clone(), range),
            message: message.to_owned(),
        }
    }
}

/// Returns the URI of a file by its name relative to the folder of another.
fn beside(uri: &Uri, name: &str) -> Option<Uri> {
    let (folder, _) = uri.as_str().rsplit_once('/')?;
    let mut text = format!("{folder}/");
    for byte in name.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => text.push(char::from(byte)),
            _ => text += &format!("%{byte:02X}"),
        }
    }
    text.parse().ok()
}

/// Returns the path of a file: the part after `file://`, percent-decoded.
pub(crate) fn path_of(uri: &Uri) -> String {
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
        let main: Uri = "file:///a%20b/main.maz".parse().expect("a URI");
        let beside = beside(&main, "ä b/lib.maz").expect("a URI");
        assert_eq!(beside.as_str(), "file:///a%20b/%C3%A4%20b/lib.maz");
        assert_eq!(path_of(&beside), "/a b/ä b/lib.maz");
    }
}
