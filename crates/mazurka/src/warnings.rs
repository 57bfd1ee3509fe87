//! Warnings about a program, from its text and from a complete exploration.

use std::sync::Arc;

use mazurka_core::record::{
    DiagnosticRecord, MistakesRecord, Record, RelatedRecord, Severity, SpanRecord, VERSION,
};
use mazurka_diagnostics::{Diagnostic, Span};
use mazurka_lang::Reached;

use crate::{Options, Program};

impl Program {
    /// Returns the warnings about the text of the program: `W01…` of `docs/diagnostics.md`. ABS
    /// programs have no warnings.
    ///
    /// ```
    /// let source = "var x, y: int = 0  process { x := 1 }";
    /// let program = mazurka::Program::load("one.maz", source, &[]).unwrap();
    /// assert_eq!(program.warnings()[0].code, "W0101");
    /// ```
    pub fn warnings(&self) -> &[Diagnostic] {
        let code = self.language.maz();
        code.map_or(&[], |code| &code.program().warnings)
    }

    /// Returns the text of a `.maz` program.
    pub fn source(&self) -> Option<&str> {
        self.language.maz().map(|code| &**code.source())
    }

    /// Returns the options of a search that records its coverage, if coverage is requested.
    pub(crate) fn covering(&self, options: &Options) -> Options {
        let code = self.language.maz().filter(|_| options.cover);
        Options {
            reached: code.map(|code| Arc::new(Reached::nothing(code))),
            ..options.clone()
        }
    }

    /// Adds the warnings and the coverage to the record of a search. Warnings about parts that are
    /// never reached are added only if everything was explored.
    pub(crate) fn remark(&self, record: &mut Record, options: &Options) {
        let Some(code) = self.language.maz() else {
            return;
        };
        let mut all = self.warnings().to_vec();
        let whole = record.scope.exhaustive && record.scope.bounds.is_empty();
        if let (true, Some(reached)) = (whole, &options.reached) {
            record.coverage = Some(code.coverage(reached));
            all.extend(code.vacuous(reached));
            all.retain(|warning| warning.span.file(code.source()).is_none());
        }
        let warning = |warning: &Diagnostic| located(code.source(), Severity::Warning, warning);
        record.warnings = all.iter().map(warning).collect();
    }
}

/// Returns the mistakes of a file, with lines and columns.
pub fn mistakes(file: &str, source: &str, all: &[Diagnostic]) -> MistakesRecord {
    let mistake = |mistake: &Diagnostic| located(source, Severity::Error, mistake);
    MistakesRecord {
        version: VERSION,
        file: file.to_owned(),
        diagnostics: all.iter().map(mistake).collect(),
    }
}

fn located(source: &str, severity: Severity, diagnostic: &Diagnostic) -> DiagnosticRecord {
    let related = |(span, words): &(Span, String)| RelatedRecord {
        span: place(source, *span),
        message: words.clone(),
    };
    // A mistake that is not about the text, such as in a `--set` option, has no place in it.
    let inside = diagnostic.span != Span::default();
    DiagnosticRecord {
        code: diagnostic.code.to_owned(),
        severity,
        message: diagnostic.message.clone(),
        label: diagnostic.label.clone(),
        span: inside.then(|| place(source, diagnostic.span)),
        related: diagnostic.related.iter().map(related).collect(),
        help: diagnostic.help.clone(),
    }
}

fn place(source: &str, span: Span) -> SpanRecord {
    let (line, column) = span.line_column(source);
    SpanRecord {
        line,
        column,
        length: span.text(source).chars().count(),
    }
}
