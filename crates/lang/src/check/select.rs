//! `select { e |> s [] c ? x |> t [] else |> u }` executes one of the open alternatives.
//!
//! A `select` is lowered to an atomic block, followed by the rest of the chosen alternative. The
//! block waits until an alternative is open, chooses an open one, and executes the statements that
//! belong to its step. All conditions are evaluated before the statements of an alternative run, so
//! no condition depends on the effect of an alternative.

use mazurka_diagnostics::{Diagnostic, Span};

use super::body::{BodyChecker, Meaning};
use super::records::number;
use super::synchronise::{Blocking, assign_all, binary, local, truth};
use crate::check::hir::{BinaryOp, Expr, ExprKind, LocalId, Place, Stmt, StmtKind, Type};
use crate::syntax::ast::{self, Alternative, Gate};

/// An alternative in three parts: its condition, the statements that run in the same step, and the
/// statements after this step.
struct CheckedAlternative {
    open: Expr,
    step: Vec<Stmt>,
    rest: Vec<Stmt>,
    /// The place of the condition and of the statement that runs in the same step.
    span: Span,
}

/// The hidden locals of a `select`.
struct Counters {
    /// For each alternative, whether it is open.
    is_open: Vec<LocalId>,
    /// The number of open alternatives.
    open: LocalId,
    /// The number of open alternatives before the chosen one.
    left: LocalId,
    /// The index of the chosen alternative.
    which: LocalId,
}

impl<'s> BodyChecker<'_, 's> {
    pub(super) fn select_stmt(
        &mut self,
        word: Span,
        alternatives: &[Alternative<'s>],
        other: Option<&[ast::Stmt<'s>]>,
    ) -> StmtKind {
        let alternatives: Vec<Option<CheckedAlternative>> = alternatives
            .iter()
            .map(|alternative| self.check_alternative(alternative))
            .collect();
        let other = other.map(|body| self.scoped(|inner| inner.alternative(body, true)));
        let Some(alternatives) = alternatives
            .into_iter()
            .collect::<Option<Vec<CheckedAlternative>>>()
        else {
            return StmtKind::Skip;
        };
        if alternatives.is_empty() {
            self.report(
                Diagnostic::new("M0430", word, "a `select` without an alternative")
                    .label("expected a condition or an operation that waits")
                    .help("write `select { x > 0 |> s [] c ? y |> t }`"),
            );
            return StmtKind::Skip;
        }
        self.c.program.lowered.insert(word);
        self.lower_select(word, alternatives, other)
    }

    fn check_alternative(&mut self, alternative: &Alternative<'s>) -> Option<CheckedAlternative> {
        self.scoped(|body| {
            let gate = match &alternative.gate {
                Gate::When(test) => match &test.kind {
                    ast::ExprKind::Call(verb, args) if body.is_operation(*verb, args) => {
                        Err(body.tried_call(*verb, args, test.span))
                    }
                    _ => Ok(body.in_one_step(|body| body.condition(test, "a guard"))),
                },
                Gate::Does(operation) => Err(body.tried_operation(operation)),
            };
            let at = match &alternative.gate {
                Gate::When(test) => test.span,
                Gate::Does(operation) => operation.span,
            };
            let waits = gate.is_err();
            let blocking = match gate {
                Ok(guard) => Some(Blocking {
                    guard,
                    then: Vec::new(),
                }),
                Err(blocking) => {
                    body.c.program.lowered.insert(at);
                    blocking
                }
            };
            let mut after = std::mem::take(&mut body.after);
            let (first, rest) = body.alternative(&alternative.body, !waits);
            let Blocking { guard, mut then } = blocking?;
            then.append(&mut after);
            let span = first.last().map_or(at, |stmt| at.to(stmt.span));
            then.extend(first);
            body.c.program.alternatives.insert(span);
            Some(CheckedAlternative {
                open: guard,
                step: then,
                rest,
                span,
            })
        })
    }

    /// Returns the statements of an alternative in two lists: those that run in the step of the
    /// condition, and the rest. If `joins` is false, no statement runs in the step of the
    /// condition, because an operation such as `lock(m)` is that step.
    fn alternative(&mut self, body: &[ast::Stmt<'s>], joins: bool) -> (Vec<Stmt>, Vec<Stmt>) {
        let mut list = body;
        // Braces around the whole alternative change nothing, with or without a label.
        while let [only] = list {
            let mut inner = only;
            while let ast::StmtKind::Labelled(_, labelled) = &inner.kind {
                inner = labelled;
            }
            let ast::StmtKind::Block(block) = &inner.kind else {
                break;
            };
            let mut named = only;
            while let ast::StmtKind::Labelled(name, labelled) = &named.kind {
                self.label(*name, labelled.span);
                named = labelled;
            }
            list = block;
        }
        // A `print` or an assignment to ghosts is not a step, so it may stand between the condition
        // and the first step.
        let mut quiet = list.iter();
        let quiet = quiet.position(|stmt| !is_print(stmt) && !self.assigns_ghosts(stmt));
        let joined = match quiet {
            Some(quiet) if joins && is_simple(&list[quiet]) => quiet + 1,
            _ => 0,
        };
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for (at, stmt) in list.iter().enumerate() {
            if at < joined {
                first.push(self.in_one_step(|body| body.stmt(stmt)))
            } else {
                rest.push(self.stmt(stmt))
            }
        }
        (first, rest)
    }

    /// Whether a statement assigns only ghost variables.
    fn assigns_ghosts(&mut self, stmt: &ast::Stmt<'s>) -> bool {
        let places = match &stmt.kind {
            ast::StmtKind::Labelled(_, inner) => return self.assigns_ghosts(inner),
            ast::StmtKind::Assign(places, _) => places,
            _ => return false,
        };
        if self.c.program.ghosts.is_empty() {
            return false;
        }
        places.iter().all(|place| {
            let (ast::ExprKind::Name(name)
            | ast::ExprKind::Index(name, _)
            | ast::ExprKind::Path(name, _)) = &place.kind
            else {
                return false;
            };
            let name = *name;
            let shared = matches!(self.peek(name), Some(Meaning::Var(_) | Meaning::Record(_)));
            let vars = if shared {
                self.c.observed(name)
            } else {
                Vec::new()
            };
            let ghosts = &self.c.program.ghosts;
            !vars.is_empty() && vars.iter().all(|var| ghosts.contains(var))
        })
    }

    fn lower_select(
        &mut self,
        span: Span,
        alternatives: Vec<CheckedAlternative>,
        other: Option<(Vec<Stmt>, Vec<Stmt>)>,
    ) -> StmtKind {
        let hidden = Counters {
            is_open: alternatives
                .iter()
                .map(|_| self.hidden("is_open", Type::Bool))
                .collect(),
            open: self.hidden("open", Type::Int),
            left: self.hidden("left", Type::Int),
            which: self.hidden("which", Type::Int),
        };
        let size: usize = alternatives
            .iter()
            .map(|alternative| alternative.open.size() * 2 + 16)
            .sum();
        self.c.grow(size, span);
        let mut step = Vec::new();
        if other.is_none() {
            let any = alternatives
                .iter()
                .map(|alternative| alternative.open.clone());
            let any = any.reduce(|a, b| Expr {
                span: a.span.to(b.span),
                ..binary(BinaryOp::Or, a, b, Type::Bool)
            });
            let skip = Box::new(Stmt {
                kind: StmtKind::Skip,
                span,
            });
            let waits = any.map(|any| StmtKind::Guard(any, skip));
            step.extend(waits.map(|kind| Stmt { kind, span }));
        }
        step.extend(choose_open(&hidden, &alternatives, span));
        let has_else = other.is_some();
        let (mut chosen_body, mut follows) = other.unwrap_or_default();
        for (at, alternative) in alternatives.into_iter().enumerate().rev() {
            let test = || Expr {
                span: alternative.span,
                ..equals(hidden.which, at as i64, span)
            };
            // Without `else` one of the alternatives is chosen, so the last one needs no test.
            follows = if follows.is_empty() && !has_else && at + 1 == hidden.is_open.len() {
                alternative.rest
            } else {
                vec![Stmt {
                    kind: StmtKind::If(test(), alternative.rest, follows),
                    span,
                }]
            };
            chosen_body = vec![Stmt {
                kind: StmtKind::If(test(), alternative.step, chosen_body),
                span: alternative.span,
            }];
        }
        step.extend(chosen_body);
        let kind = StmtKind::Atomic(step);
        let mut all = vec![Stmt { kind, span }];
        all.extend(follows);
        StmtKind::Block(all)
    }
}

/// Returns the statements that choose one of the open alternatives. If none is open, they set
/// `which` to the number of alternatives.
fn choose_open(hidden: &Counters, alternatives: &[CheckedAlternative], span: Span) -> Vec<Stmt> {
    let stmt = |kind| Stmt { kind, span };
    let set = |to, value| assign_all(vec![Place::Local(to)], vec![value], span);
    let read = |from| local(from, span);
    let plus = |of, more| binary(BinaryOp::Add, read(of), number(more, span), Type::Int);
    let mut all = vec![
        set(hidden.open, number(0, span)),
        set(hidden.which, number(alternatives.len() as i64, span)),
    ];
    for (alternative, &is_open) in alternatives.iter().zip(&hidden.is_open) {
        let open = vec![
            set(is_open, truth(true, span)),
            set(hidden.open, plus(hidden.open, 1)),
        ];
        let closed = vec![set(is_open, truth(false, span))];
        all.push(stmt(StmtKind::If(alternative.open.clone(), open, closed)));
    }
    let choice = Expr {
        kind: ExprKind::Choose(Box::new(number(0, span)), Box::new(read(hidden.open))),
        ty: Type::Int,
        span,
    };
    let mut chosen = vec![set(hidden.left, choice)];
    for (at, &is_open) in (0..).zip(&hidden.is_open) {
        let this = vec![set(hidden.which, number(at, span))];
        let this = StmtKind::If(equals(hidden.left, 0, span), this, Vec::new());
        let counts = vec![stmt(this), set(hidden.left, plus(hidden.left, -1))];
        let is_open = Expr {
            ty: Type::Bool,
            ..read(is_open)
        };
        chosen.push(stmt(StmtKind::If(is_open, counts, Vec::new())));
    }
    let any = binary(BinaryOp::Ge, read(hidden.open), number(1, span), Type::Bool);
    all.push(stmt(StmtKind::If(any, chosen, Vec::new())));
    all
}

fn equals(of: LocalId, value: i64, span: Span) -> Expr {
    let (of, value) = (local(of, span), number(value, span));
    binary(BinaryOp::Eq, of, value, Type::Bool)
}

/// Whether a statement is a `print`.
fn is_print(stmt: &ast::Stmt<'_>) -> bool {
    match &stmt.kind {
        ast::StmtKind::Labelled(_, inner) => is_print(inner),
        kind => matches!(kind, ast::StmtKind::Print(_)),
    }
}

/// Whether a statement after a condition belongs to the step of the condition.
fn is_simple(stmt: &ast::Stmt<'_>) -> bool {
    match &stmt.kind {
        ast::StmtKind::Labelled(_, inner) => is_simple(inner),
        ast::StmtKind::Atomic(body) => body.iter().all(never_waits),
        ast::StmtKind::Skip
        | ast::StmtKind::Assign(..)
        | ast::StmtKind::Unlock(..)
        | ast::StmtKind::Assert(..)
        | ast::StmtKind::Assume(_) => true,
        _ => false,
    }
}

/// Whether a statement of an `atomic` block never waits. Only such a statement joins the step of
/// the condition, because the condition alone must decide whether the step is possible.
fn never_waits(stmt: &ast::Stmt<'_>) -> bool {
    match &stmt.kind {
        ast::StmtKind::Skip
        | ast::StmtKind::Assign(..)
        | ast::StmtKind::Let { .. }
        | ast::StmtKind::Unlock(..)
        | ast::StmtKind::Assert(..)
        | ast::StmtKind::Assume(_)
        | ast::StmtKind::Error(_)
        | ast::StmtKind::Print(_) => true,
        ast::StmtKind::Labelled(..)
        | ast::StmtKind::Block(_)
        | ast::StmtKind::Atomic(_)
        | ast::StmtKind::If(..)
        | ast::StmtKind::Match(..)
        | ast::StmtKind::While { .. }
        | ast::StmtKind::For { .. } => {
            let mut all = true;
            stmt.for_each_inner(&mut |inner| all &= never_waits(inner));
            all
        }
        _ => false,
    }
}
