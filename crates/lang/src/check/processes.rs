//! Processes: `process p (i in a..b)` becomes one process for each `i`.

use super::body::BodyChecker;
use super::objects::CurrentProcess;
use super::{Checker, MAX_PROCESSES};
use crate::check::hir::Process;
use crate::syntax::ast::{Name, Range, Stmt};
use mazurka_diagnostics::{Diagnostic, Span};

impl<'s> Checker<'s> {
    pub(super) fn process(
        &mut self,
        name: Option<Name<'s>>,
        range: Option<&Range<'s>>,
        body: &[Stmt<'s>],
    ) {
        let Some(range) = range else {
            let span = name.map(|name| name.span);
            if self.room_for(1, span.unwrap_or_default()) {
                let process = self.instance(name, None, body);
                self.program.processes.push(process);
            }
            return;
        };
        let from = BodyChecker::new(self).const_int(&range.from, "the range of a process");
        let to = BodyChecker::new(self).const_int(&range.to, "the range of a process");
        let span = range.from.span.to(range.to.span);
        let (Some(from), Some(to)) = (from, to) else {
            self.instance(name, Some((range.name, 0)), body);
            return;
        };
        let count = i128::from(to) - i128::from(from);
        if count <= 0 || !self.room_for(count, span) {
            // There is no instance, or there are too many. The body is checked once, to report its
            // mistakes.
            self.instance(name, Some((range.name, from)), body);
            return;
        }
        for value in from..to {
            let before = self.diagnostics.len();
            let process = self.instance(name, Some((range.name, value)), body);
            self.program.processes.push(process);
            // The body has a mistake, which further instances would only repeat.
            if self.diagnostics.len() > before || self.full {
                return;
            }
        }
    }

    fn room_for(&mut self, count: i128, span: Span) -> bool {
        let total = self.program.processes.len() as i128 + count;
        let fits = total <= MAX_PROCESSES.into();
        if !fits && !self.crowded {
            self.crowded = true;
            self.report(
                Diagnostic::new("M0409", span, format!("{total} processes are too many"))
                    .label(format!(
                        "at most {MAX_PROCESSES} can be there from the start"
                    ))
                    .help("start fewer, or `spawn` them when they are needed"),
            );
        }
        fits
    }

    fn instance(
        &mut self,
        name: Option<Name<'s>>,
        param: Option<(Name<'s>, i64)>,
        body: &[Stmt<'s>],
    ) -> Process {
        let number = self.program.processes.len() as i64;
        let mut inner = BodyChecker::of_process(self);
        inner.current = CurrentProcess::Process(number);
        if let Some((param, value)) = param {
            inner.declare_param(param, value);
        }
        let body = inner.statements(body);
        Process {
            name: name.map(|name| name.text.to_owned()),
            instance: param.map(|(_, value)| value),
            frame: inner.frame,
            body,
        }
    }
}
