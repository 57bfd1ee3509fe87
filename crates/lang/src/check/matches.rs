//! `match` on the members of an `enum`: every member has one case, or `else` covers it.
//!
//! A `match` is lowered to a chain of tests such as `value == A || value == B`. If the value reads
//! shared variables, a `match` statement first stores the value in a hidden local, so that the
//! value is read once.

use mazurka_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;

use super::body::BodyChecker;
use super::types::{Ty, Typed};
use crate::check::hir::{BinaryOp, Expr, ExprKind, Stmt, StmtKind, Type};
use crate::code::shared::reads_shared;
use crate::syntax::ast::{self, Cases, Name};

/// The members that a case names.
struct Members {
    values: Vec<i64>,
    span: Span,
}

impl<'s> BodyChecker<'_, 's> {
    /// Checks a `match` as a value.
    pub(super) fn match_expr(
        &mut self,
        value: &ast::Expr<'s>,
        cases: &Cases<'s, ast::Expr<'s>>,
        span: Span,
    ) -> Typed {
        let matched = self.expr_in(value, "`match`");
        let known = self.members(&matched, cases, span);
        let mut given = Vec::new();
        for (_, case) in &cases.cases {
            given.push(self.expr_in(case, "`match`"));
        }
        if let Some((_, other)) = &cases.other {
            given.push(self.expr_in(other, "`match`"));
        }
        let (Some(known), Some(mut all)) = (known, given.pop()) else {
            return self.poison(span);
        };
        let tests = known.len() - usize::from(cases.other.is_none());
        let uses: usize = known[..tests].iter().map(|case| case.values.len()).sum();
        self.refuse_repeated_reads(&matched.expr, uses as u32);
        for (case, given) in known[..tests].iter().zip(given).rev() {
            let test = self.is_one_of(&matched.expr, case);
            all = self.conditional(test, given, all, span);
        }
        self.label_as_written(&mut all, span);
        all
    }

    /// Checks a `match` as a statement.
    pub(super) fn match_stmt(
        &mut self,
        value: &ast::Expr<'s>,
        cases: &Cases<'s, Vec<ast::Stmt<'s>>>,
        span: Span,
    ) -> StmtKind {
        let matched = self.expr_in(value, "`match`");
        let known = self.members(&matched, cases, span);
        let mut bodies: Vec<Vec<Stmt>> = Vec::new();
        for (_, case) in &cases.cases {
            bodies.push(self.statements(case));
        }
        if let Some((_, other)) = &cases.other {
            bodies.push(self.statements(other));
        }
        let (Some(known), Some(mut all)) = (known, bodies.pop()) else {
            return StmtKind::Skip;
        };
        let mut before = None;
        let mut subject = matched.expr;
        if reads_shared(&subject) {
            let at = subject.span;
            let kept = self.hidden("match", subject.ty);
            let local = Expr {
                kind: ExprKind::Local(kept),
                ty: subject.ty,
                span: at,
            };
            let value = std::mem::replace(&mut subject, local);
            before = Some(Stmt {
                kind: StmtKind::Let(kept, vec![value]),
                span: at,
            });
        }
        let tests = known.len() - usize::from(cases.other.is_none());
        for (case, body) in known[..tests].iter().zip(bodies).rev() {
            let test = self.is_one_of(&subject, case);
            let kind = StmtKind::If(test, body, all);
            all = vec![Stmt { kind, span }];
        }
        StmtKind::Block(before.into_iter().chain(all).collect())
    }

    /// Returns the test `value == A || value == B`.
    fn is_one_of(&mut self, value: &Expr, case: &Members) -> Expr {
        let span = case.span;
        let truth = |op, a, b| Expr {
            kind: ExprKind::Binary(op, Box::new(a), Box::new(b)),
            ty: Type::Bool,
            span,
        };
        let mut all: Option<Expr> = None;
        for &member in &case.values {
            self.c.grow(3, span);
            let member = Expr {
                kind: ExprKind::Const(member),
                ty: value.ty,
                span,
            };
            let one = truth(BinaryOp::Eq, value.clone(), member);
            all = Some(match all {
                None => one,
                Some(before) => truth(BinaryOp::Or, before, one),
            });
        }
        all.unwrap_or(Expr {
            kind: ExprKind::Const(0),
            ty: Type::Bool,
            span,
        })
    }

    /// Returns the members of each case; `None` if there is a mistake.
    fn members<T>(
        &mut self,
        matched: &Typed,
        cases: &Cases<'s, T>,
        span: Span,
    ) -> Option<Vec<Members>> {
        let id = match matched.ty {
            Ty::Poison => return None,
            Ty::Known(Type::Enum(id)) => id,
            found => {
                let found = self.c.noun(found);
                self.report(
                    Diagnostic::new("M0421", matched.expr.span, "`match` is for an `enum`")
                        .label(format!("expected a member of an `enum`, found {found}"))
                        .help("write `if … { … } else if … { … }`"),
                );
                return None;
            }
        };
        let declared = &self.c.program.enums[usize::from(id)];
        let (called, all) = (declared.name.clone(), declared.members.clone());
        let mut seen: FxHashMap<i64, Span> = FxHashMap::default();
        let mut right = true;
        let mut known = Vec::new();
        for (names, _) in &cases.cases {
            let mut values = Vec::new();
            for name in names {
                match all.iter().position(|member| member == name.text) {
                    Some(at) => {
                        if let Some(first) = seen.insert(at as i64, name.span) {
                            self.case_twice(*name, first);
                            right = false;
                        }
                        values.push(at as i64);
                    }
                    None => {
                        self.no_member(*name, &called, &all);
                        right = false;
                    }
                }
            }
            let span = match &names[..] {
                [first, .., last] => first.span.to(last.span),
                [only] => only.span,
                [] => span,
            };
            known.push(Members { values, span });
        }
        let missing = all.iter().enumerate();
        let missing: Vec<String> = missing
            .filter(|(at, _)| !seen.contains_key(&(*at as i64)))
            .map(|(_, name)| format!("`{name}`"))
            .collect();
        match &cases.other {
            None if !missing.is_empty() && right => {
                let missing = missing.join(", ");
                self.report(
                    Diagnostic::new("M0421", span, format!("no case for {missing}"))
                        .label("every member needs a case")
                        .help(format!("add a case for {missing}, or `else`")),
                );
                right = false;
            }
            Some((other, _)) if missing.is_empty() && right => {
                self.report(
                    Diagnostic::new("M0421", *other, "no case is left for `else`")
                        .label("every member has a case already")
                        .help("leave out `else`"),
                );
                right = false;
            }
            _ => {}
        }
        if known.is_empty() && right {
            self.report(
                Diagnostic::new("M0421", span, "a `match` needs a case")
                    .label("expected a case for a member")
                    .help("write `match s { Idle { … } else { … } }`"),
            );
            right = false;
        }
        right.then_some(known)
    }

    fn case_twice(&mut self, name: Name<'s>, first: Span) {
        self.report(
            Diagnostic::new("M0421", name.span, format!("`{}` has two cases", name.text))
                .label("the second one")
                .related(first, "the first one")
                .help("keep one of them"),
        );
    }

    fn no_member(&mut self, name: Name<'s>, called: &str, all: &[String]) {
        let names = all.iter().map(String::as_str);
        let help = match mazurka_diagnostics::nearest(name.text, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its members are {}", all.join(", ")),
        };
        self.report(
            Diagnostic::new(
                "M0421",
                name.span,
                format!("`{}` is not a member of `{called}`", name.text),
            )
            .label("unknown member")
            .help(help),
        );
    }
}
