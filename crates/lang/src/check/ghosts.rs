//! Ghost variables: statements assign to them and properties read them, but the behaviour of the
//! program does not depend on them. This file refuses reads of a ghost outside of properties and of
//! assignments to ghosts. An assignment whose targets are all ghosts is part of the step before it.

use mazurka_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashSet;

use super::Checker;
use crate::check::hir::{Expr, ExprKind, Place, Program, Stmt, StmtKind};
use crate::syntax::ast::{File, Item};

impl Program {
    /// Returns where an expression reads a ghost variable, if it does.
    fn ghost_read(&self, expr: &Expr) -> Option<Span> {
        let mut found = None;
        expr.walk(&mut |e| match &e.kind {
            ExprKind::Shared(var) | ExprKind::Element(var, _) if self.ghosts.contains(var) => {
                found = found.or(Some(e.span));
            }
            _ => {}
        });
        found
    }

    fn is_ghost(&self, place: &Place) -> bool {
        match place {
            Place::Shared(var) | Place::Element(var, _) => self.ghosts.contains(var),
            Place::Local(_) | Place::LocalElement(..) => false,
        }
    }

    /// Whether all targets of an assignment are ghost variables. Such an assignment belongs to the
    /// step before it.
    pub fn assigns_ghosts(&self, places: &[Place]) -> bool {
        !self.ghosts.is_empty() && places.iter().all(|place| self.is_ghost(place))
    }
}

impl<'s> Checker<'s> {
    /// Records which variables are ghosts. All names must be declared.
    pub(super) fn declare_ghosts(&mut self, file: &File<'s>) {
        for item in &file.items {
            let Item::Ghosts(names) = item else { continue };
            for &name in names {
                let vars = self.observed(name);
                for &var in &vars {
                    if self.program.vars[var.0 as usize].atomic {
                        self.report(
                            Diagnostic::new("M0443", name.span, "a ghost is not atomic")
                                .label("an assignment to a ghost belongs to the step before it")
                                .help("leave `atomic` out"),
                        );
                    }
                }
                self.program.ghosts.extend(vars);
            }
        }
    }

    /// Checks that statements use ghosts only as allowed.
    pub(super) fn check_ghosts(&mut self) {
        if self.program.ghosts.is_empty() {
            return;
        }
        let program = &self.program;
        let mut found = Vec::new();
        let procedures = program.procedures.iter().map(|procedure| &procedure.body);
        let processes = program.processes.iter().map(|process| &process.body);
        for stmt in procedures.chain(processes).flatten() {
            stmt.walk(&mut |stmt| found.extend(mistake(program, stmt)));
        }
        // All instances of a process have the same mistakes; each is reported once.
        let mut seen = FxHashSet::default();
        found.retain(|mistake| seen.insert(mistake.span));
        self.diagnostics.extend(found);
    }
}

fn mistake(program: &Program, stmt: &Stmt) -> Option<Diagnostic> {
    if let StmtKind::Assign(places, _) = &stmt.kind
        && places.iter().any(|place| program.is_ghost(place))
    {
        let mut chosen = None;
        for value in stmt.exprs() {
            value.walk(&mut |e| {
                if matches!(e.kind, ExprKind::Choose(..) | ExprKind::Input) {
                    chosen = Some(e.span);
                }
            });
        }
        let (span, message, help) = match chosen {
            _ if !program.assigns_ghosts(places) || program.lowered.contains(&stmt.span) => (
                stmt.span,
                "a ghost is assigned together with something else",
                "assign it in a statement of its own, after this one: both are one step",
            ),
            Some(span) => (
                span,
                "an assignment to a ghost is not a step of its own, so it cannot choose a value",
                "assign the choice to a local in an earlier statement, and the local to the ghost",
            ),
            None => return None,
        };
        let mistake = Diagnostic::new("M0443", span, message).help(help);
        return Some(mistake.label("expected an assignment of ghosts alone"));
    }
    let read = stmt.exprs().into_iter();
    let span = read.filter_map(|e| program.ghost_read(e)).next()?;
    let mistake = Diagnostic::new("M0442", span, "the program reads a ghost")
        .label("only properties and assignments to ghosts may read it")
        .help("declare it `var` if the program needs it; say what must hold with `invariant`");
    Some(mistake)
}
