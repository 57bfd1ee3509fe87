//! What of ABS is left out: time, deployment, variability, foreign code. Each has a message that
//! names it.

use mazurka_diagnostics::Diagnostic;
use mazurka_diagnostics::Span;

use super::{Parsed, Parser, Reported};
use crate::syntax::ast::{Annotations, Name};
use crate::syntax::token::TokenKind;

/// A part of ABS that is not explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excluded {
    Time,
    Deployment,
    Foreign,
    Schedulers,
    Meta,
}

impl Excluded {
    /// The diagnostic at a place.
    pub fn at(self, span: Span) -> Diagnostic {
        let (code, what, why, help) = match self {
            Excluded::Time => (
                "A0301",
                "the time of the machine is not explored",
                "real time",
                "use `now()`, the time of the model, and no `now()` with `--ignore-time`",
            ),
            Excluded::Deployment => (
                "A0302",
                "deployment components are not explored",
                "resources and deployment",
                "take the deployment component out: it changes when things happen, not what can happen",
            ),
            Excluded::Foreign => (
                "A0304",
                "foreign code is not explored",
                "the foreign language interface",
                "write what it does in ABS",
            ),
            Excluded::Schedulers => (
                "A0305",
                "user-defined schedulers are not explored",
                "a scheduler of its own",
                "take the annotation out: all orders of the tasks are explored",
            ),
            Excluded::Meta => (
                "A0307",
                "`ABS.Meta` is not explored",
                "code about code",
                "write out what it does",
            ),
        };
        Diagnostic::new(code, span, what).label(why).help(help)
    }
}

impl Parser<'_> {
    /// Reports that something is left out.
    pub(super) fn exclude(&mut self, what: Excluded, span: Span) -> Reported {
        self.mistake(what.at(span))
    }

    /// Reads annotations, unless they ask for something that is left out.
    pub(super) fn annotations(&mut self) -> Parsed<Annotations> {
        let mut all = Annotations::default();
        while self.is("[") {
            self.next();
            loop {
                let span = self.here();
                let word = match self.peek() {
                    TokenKind::TypeName(word) => word.clone(),
                    _ => String::new(),
                };
                let mut label = None;
                if self.is_at(1, ":") {
                    label = Some(Name {
                        text: word.clone(),
                        span,
                    });
                    self.next();
                    self.next();
                }
                let excluded = match word.as_str() {
                    "Cost" if self.ignore_time => None,
                    "DC" | "Size" | "Cost" => Some(Excluded::Deployment),
                    "Foreign" => Some(Excluded::Foreign),
                    "Scheduler" => Some(Excluded::Schedulers),
                    _ => None,
                };
                if let Some(excluded) = excluded {
                    self.exclude(excluded, span);
                }
                all.0.push((label, self.expr()?));
                if !self.accept(",") {
                    break;
                }
            }
            self.expect("]")?;
        }
        Ok(all)
    }
}
