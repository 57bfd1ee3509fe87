//! The unknown values of a program: the values of its inputs, and missing initial values.
//!
//! The program must be correct for all these values. `explore` and `check` consider all values at
//! once; `run` takes given values, by name.

use mazurka_diagnostics::{Diagnostic, Span};

use crate::check::hir::{ExprKind, Program, Var};
use crate::code::shared::Shared;

/// The unknown values of a program.
///
/// ```
/// let source = "var x: i32  process { x := input() }";
/// let unknowns = mazurka_lang::load(source, &[]).unwrap().unknowns();
/// assert_eq!((unknowns.initial.len(), unknowns.inputs.len()), (1, 1));
/// let codes: Vec<_> = unknowns.refused().iter().map(|refused| refused.code).collect();
/// assert_eq!(codes, ["M0601", "M0602"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknowns {
    /// The variables without an initial value, and their places.
    pub initial: Vec<(String, Span)>,
    /// The places of the `input` expressions.
    pub inputs: Vec<Span>,
}

impl Program {
    /// Returns the values that the program does not give.
    pub fn unknowns(&self) -> Unknowns {
        let initial = self.vars.iter().filter(|var| var.init.is_none());
        let mut inputs = Vec::new();
        Shared::new(self).for_each_expr(&mut |e| {
            if matches!(e.kind, ExprKind::Input) && !inputs.contains(&e.span) {
                inputs.push(e.span);
            }
        });
        Unknowns {
            initial: initial
                .map(|var: &Var| (var.name.clone(), var.span))
                .collect(),
            inputs,
        }
    }
}

impl Unknowns {
    /// Whether all values are known.
    pub fn is_empty(&self) -> bool {
        self.initial.is_empty() && self.inputs.is_empty()
    }

    /// Returns each unknown value as a mistake, for commands that need all values.
    pub fn refused(&self) -> Vec<Diagnostic> {
        let initial = self.initial.iter();
        let initial = initial.map(|(name, span)| no_initial_value(name, *span));
        initial
            .chain(self.inputs.iter().map(|&span| input(span)))
            .collect()
    }
}

fn no_initial_value(name: &str, span: Span) -> Diagnostic {
    let help = format!(
        "give it one: write `= …` in its declaration or add `--set {name}=0`; `mazurka check`, \
         `explore`, `unfold`, `reach`, `symbolic` and `prove` take all values at once"
    );
    Diagnostic {
        code: "M0601",
        message: format!("`{name}` has no initial value, so it is symbolic"),
        span,
        label: "this command needs a concrete value here".to_owned(),
        related: Vec::new(),
        help: Some(help),
    }
}

fn input(span: Span) -> Diagnostic {
    let help = "`check`, `explore`, `unfold`, `reach`, `run` and `replay` accept inputs; or use \
                `choose(a..b)` to try every value of a small range";
    Diagnostic {
        code: "M0602",
        message: "this needs a program without `input`".to_owned(),
        span,
        label: "an input".to_owned(),
        related: Vec::new(),
        help: Some(help.to_owned()),
    }
}
