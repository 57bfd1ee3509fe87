//! Checks `refines "other.maz" via { x -> y }`: the path must be relative and must not leave the
//! folder of the file, and each `x` must be a shared variable. The other program is not read here.

use mazurka_diagnostics::{Diagnostic, Span};

use super::Checker;
use crate::check::hir::Refinement;
use crate::syntax::ast::{File, Item};
use crate::syntax::lexer::unescape;

impl<'s> Checker<'s> {
    fn wrong_refinement(&mut self, span: Span, message: String, label: &str, help: &str) {
        self.report(
            Diagnostic::new("M0450", span, message)
                .label(label)
                .help(help),
        );
    }

    /// Checks the `refines` declarations of a file. The variables must be known.
    pub(super) fn refines(&mut self, file: &File<'s>) {
        for item in &file.items {
            let Item::Refines { file, via, span } = item else {
                continue;
            };
            if self.program.refinement.is_some() {
                let message = "`refines` is given twice".to_owned();
                let help = "remove one of them, or check them one after the other";
                self.wrong_refinement(*span, message, "the second one", help);
                continue;
            }
            let path = unescape(file.quoted);
            if !is_below(&path) {
                let message = format!("`{path}` is not a file of the program's folder");
                let help = "name a `.maz` file in this folder or below, without `..`";
                self.wrong_refinement(file.span, message, "expected a relative path", help);
            }
            if via.is_empty() {
                let message = "no variables are compared".to_owned();
                let help = "name the variables to compare: `x -> y`, where `y` is a variable of the other program";
                self.wrong_refinement(*span, message, "expected a variable", help);
            }
            let mut names = Vec::new();
            for (ours, theirs) in via {
                let [ours, theirs] = [ours, theirs].map(|(text, span)| (text.clone(), *span));
                let of = |name: &String| {
                    let rest = name.strip_prefix(&ours.0);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                };
                if !self
                    .program
                    .vars
                    .iter()
                    .any(|var| !var.object && of(&var.name))
                {
                    let message = format!("`{}` is not a shared variable", ours.0);
                    let help = "name a variable of this program on the left of `->`";
                    self.wrong_refinement(ours.1, message, "expected a shared variable", help);
                }
                names.push((ours.0, theirs.0));
            }
            self.program.refinement = Some(Refinement {
                file: path,
                via: names,
                span: *span,
            });
        }
    }
}

/// Whether a path leads to a program in this folder or below it.
fn is_below(path: &str) -> bool {
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    path.ends_with(".maz") && !path.contains(['\\', ':', '\0']) && path.split('/').all(plain)
}
