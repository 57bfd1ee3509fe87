//! What can be read and checked but not (yet) explored.

use crate::diagnostic::Diagnostic;
use crate::hir::{ExprKind, Program};
use crate::shared::Shared;

/// Inputs and symbolic initial values.
pub(crate) fn unexplorable(program: &Program) -> Vec<Diagnostic> {
    let mut refused = symbolic_values(program);
    let mut inputs = Vec::new();
    Shared::new(program).for_each_expr(&mut |e| {
        if matches!(e.kind, ExprKind::Input) && !inputs.contains(&e.span) {
            inputs.push(e.span);
        }
    });
    refused.extend(inputs.into_iter().map(|span| Diagnostic {
        code: "M0602",
        message: "this needs a program without `input`".to_owned(),
        span,
        label: "an input".to_owned(),
        related: Vec::new(),
        help: Some("`check`, `explore`, `run` and `replay` know inputs; or use `choose(a..b)` to try every value of a small range".to_owned()),
    }));
    refused
}

/// Symbolic initial values.
pub(crate) fn symbolic_values(program: &Program) -> Vec<Diagnostic> {
    let mut refused = Vec::new();
    for var in program.vars.iter().filter(|var| var.init.is_none()) {
        let name = &var.name;
        refused.push(Diagnostic {
            code: "M0601",
            message: format!("`{name}` has no initial value, so it is symbolic"),
            span: var.span,
            label: "this command needs a concrete value here".to_owned(),
            related: Vec::new(),
            help: Some(format!(
                "give it one: write `= …` in its declaration or add `--set {name}=0`; `mazurka check`, `explore`, `symbolic` and `prove` take all values at once"
            )),
        });
    }
    refused
}

/// The assumptions on the initial state that its values break.
pub(crate) fn broken_requires(program: &Program, holds: &[bool]) -> Vec<Diagnostic> {
    let broken = program.requires.iter().zip(holds);
    broken
        .filter(|(_, holds)| !**holds)
        .map(|(property, _)| Diagnostic {
            code: "M0603",
            message: "the initial values break this `requires`".to_owned(),
            span: property.span,
            label: "false in the initial state".to_owned(),
            related: Vec::new(),
            help: Some("change the initial values, in the file or with `--set`".to_owned()),
        })
        .collect()
}
