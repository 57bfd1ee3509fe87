//! Operations on atomic variables: `x.load(acquire)`, `x.fetch_add(1, relaxed)`, `fence(seq_cst)`.
//!
//! The checker lowers each operation to plain statements. A `load` becomes a read and a `store` an
//! assignment. An update such as `fetch_add` becomes an `atomic` block that writes one location,
//! and a fence an empty `atomic` block. The memory orders go to a side table
//! ([`Program::orders`](hir::Program::orders)), which only the searches under a weak memory model
//! read.

use mazurka_core::{AccessOrder, MemoryOrder};
use mazurka_diagnostics::{Diagnostic, Span};

use super::ExpectedName;
use super::body::{BodyChecker, Meaning};
use super::types::{Ty, Typed};
use crate::check::hir::{self, Atomicity, BinaryOp, Expr, ExprKind, Place, Stmt, StmtKind, Type};
use crate::syntax::ast::{self, Name};

/// The kind of an operation on an atomic variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Load,
    Store,
    Swap,
    FetchAdd,
    FetchSub,
    CompareExchange,
}

const VERBS: [(&str, Verb); 6] = [
    ("load", Verb::Load),
    ("store", Verb::Store),
    ("swap", Verb::Swap),
    ("fetch_add", Verb::FetchAdd),
    ("fetch_sub", Verb::FetchSub),
    ("compare_exchange", Verb::CompareExchange),
];

impl Verb {
    fn named(text: &str) -> Option<Self> {
        let found = VERBS.iter().find(|(name, _)| *name == text);
        found.map(|&(_, verb)| verb)
    }

    /// Returns how many values the operation takes, and at most how many memory orders:
    /// `compare_exchange(0, 1, acq_rel, acquire)` takes two of each.
    fn arity(self) -> (usize, usize) {
        match self {
            Self::Load => (0, 1),
            Self::Store | Self::Swap | Self::FetchAdd | Self::FetchSub => (1, 1),
            Self::CompareExchange => (2, 2),
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Load => "x.load(acquire)",
            Self::Store => "x.store(1, release)",
            Self::Swap => "x.swap(1, acq_rel)",
            Self::FetchAdd => "x.fetch_add(1, relaxed)",
            Self::FetchSub => "x.fetch_sub(1, relaxed)",
            Self::CompareExchange => "x.compare_exchange(0, 1, acq_rel, acquire)",
        }
    }

    fn allows(self, order: MemoryOrder) -> bool {
        match self {
            Self::Load => !matches!(order, MemoryOrder::Release | MemoryOrder::AcqRel),
            Self::Store => !matches!(order, MemoryOrder::Acquire | MemoryOrder::AcqRel),
            _ => true,
        }
    }

    fn is_update(self) -> bool {
        !matches!(self, Self::Load | Self::Store)
    }
}

/// An operation whose arguments are split into values and orders.
struct SplitOperation<'a, 's> {
    verb: Verb,
    place: &'a ast::Expr<'s>,
    values: &'a [ast::Expr<'s>],
    order: AccessOrder,
}

/// The destination of the result of an update.
pub(super) enum Target<'a, 's> {
    Nowhere,
    Let(Name<'s>, Option<&'a ast::TypeExpr<'s>>),
    Assigned(&'a ast::Expr<'s>),
}

/// Whether a value is an update of an atomic variable, such as `x.fetch_add(1)`. An update must not
/// be part of a larger expression: it is a separate statement.
pub(super) fn is_update(expr: &ast::Expr<'_>) -> bool {
    match &expr.kind {
        ast::ExprKind::Operation { operation, .. } => {
            Verb::named(operation.text).is_some_and(Verb::is_update)
        }
        _ => false,
    }
}

impl<'s> BodyChecker<'_, 's> {
    /// Checks an operation in an expression: only `load` is allowed there.
    pub(super) fn operation_as_value(&mut self, expr: &ast::Expr<'s>) -> Typed {
        let span = expr.span;
        let Some(operation) = self.operation(expr) else {
            return self.poison(span);
        };
        if operation.verb != Verb::Load {
            let help = match operation.verb {
                Verb::Store => "a store gives no value: write it as a statement".to_owned(),
                _ => format!(
                    "write `let r = {};` before, and use `r` here",
                    operation.verb.example()
                ),
            };
            self.report(
                Diagnostic::new(
                    "M0416",
                    span,
                    "this operation cannot be used in an expression",
                )
                .label("it writes, so it is a step of its own")
                .help(help),
            );
            return self.poison(span);
        }
        self.c.program.orders.insert(span, operation.order);
        match &operation.place.kind {
            ast::ExprKind::Name(name) => self.name(*name, span),
            ast::ExprKind::Index(name, index) => self.element(*name, index, span),
            ast::ExprKind::Path(name, selectors) => self.path(*name, selectors, span),
            _ => self.poison(span),
        }
    }

    /// Checks an operation as a statement.
    pub(super) fn operation_stmt(
        &mut self,
        target: Target<'_, 's>,
        expr: &ast::Expr<'s>,
        span: Span,
    ) -> StmtKind {
        let Some(operation) = self.operation(expr) else {
            self.declare_anyway(&target);
            return StmtKind::Skip;
        };
        match operation.verb {
            Verb::Load => {
                let read = self.operation_as_value(expr).expr;
                let dropped = self.hidden("read", read.ty);
                StmtKind::Let(dropped, vec![read])
            }
            Verb::Store => {
                let (place, ty) = self.place(operation.place);
                let value = self.value_of_type(&operation.values[0], ty);
                self.c.program.orders.insert(span, operation.order);
                match place {
                    Some(place) => StmtKind::Assign(vec![place], vec![value]),
                    None => StmtKind::Skip,
                }
            }
            _ => self.update(target, &operation, span),
        }
    }

    /// Checks `fence(seq_cst)`, unless the file has a procedure with that name.
    pub(super) fn fence(&mut self, args: &[ast::Expr<'s>], span: Span) -> StmtKind {
        let orders: Vec<_> = args.iter().map_while(order_named).collect();
        let order = match orders[..] {
            [] if args.is_empty() => Some(MemoryOrder::SeqCst),
            [order] if args.len() == 1 && order != MemoryOrder::Relaxed => Some(order),
            _ => None,
        };
        let Some(order) = order else {
            self.report(
                Diagnostic::new("M0415", span, "a fence takes an order")
                    .label("expected `acquire`, `release`, `acq_rel` or `seq_cst`")
                    .help("write `fence(seq_cst)`; a relaxed fence would order nothing"),
            );
            return StmtKind::Skip;
        };
        self.c.program.orders.insert(span, order.into());
        StmtKind::Atomic(Vec::new())
    }

    /// Reports `atomic` before a type that is not the type of a shared variable.
    pub(super) fn no_atomic(&mut self, ty: &ast::TypeExpr<'s>) {
        if let Some(span) = ty.atomic {
            self.report(
                Diagnostic::new("M0414", span, "only shared variables are atomic")
                    .label("this is not shared")
                    .help("leave out `atomic`"),
            );
        }
    }

    /// Splits the arguments of an operation into values and memory orders. Returns `None` after
    /// reporting a mistake.
    fn operation<'a>(&mut self, expr: &'a ast::Expr<'s>) -> Option<SplitOperation<'a, 's>> {
        let ast::ExprKind::Operation {
            place,
            operation,
            args,
        } = &expr.kind
        else {
            return None;
        };
        let Some(verb) = Verb::named(operation.text) else {
            let names: Vec<String> = VERBS.iter().map(|(name, _)| format!("`{name}`")).collect();
            self.report(
                Diagnostic::new(
                    "M0417",
                    operation.span,
                    format!("there is no operation `{}`", operation.text),
                )
                .label("expected an operation on an atomic variable")
                .help(format!("the operations are {}", names.join(", "))),
            );
            return None;
        };
        if !self.is_atomic(place) {
            return None;
        }
        let (values, max_orders) = verb.arity();
        let given = args
            .iter()
            .rev()
            .map_while(order_named)
            .count()
            .min(args.len());
        let (args, named) = args.split_at(args.len() - given);
        if args.len() != values || given > max_orders {
            let plural = if values == 1 { "value" } else { "values" };
            self.report(
                Diagnostic::new("M0417", expr.span, format!("`{}` takes {values} {plural} and at most {max_orders} of `relaxed`, `acquire`, `release`, `acq_rel`, `seq_cst`", operation.text))
                    .label(format!("found {} and {given}", args.len()))
                    .help(format!("write it like `{}`", verb.example())),
            );
            return None;
        }
        let mut orders = Vec::new();
        for (at, written) in named.iter().enumerate() {
            let order = order_named(written).unwrap_or(MemoryOrder::SeqCst);
            let role = if at == 0 { verb } else { Verb::Load };
            if !role.allows(order) {
                self.illegal_order(operation.text, at, written.span, order);
                return None;
            }
            orders.push(order);
        }
        let mut order = AccessOrder::from(orders.first().copied().unwrap_or(MemoryOrder::SeqCst));
        order.failure = orders.get(1).copied().unwrap_or(order.failure);
        Some(SplitOperation {
            verb,
            place,
            values: args,
            order,
        })
    }

    fn illegal_order(&mut self, verb: &str, at: usize, span: Span, order: MemoryOrder) {
        let (what, help) = match (verb, at) {
            ("store", _) => ("a store", "a store is `relaxed`, `release` or `seq_cst`"),
            ("load", _) => ("a load", "a load is `relaxed`, `acquire` or `seq_cst`"),
            _ => (
                "a compare_exchange that fails",
                "a failed exchange only reads: `relaxed`, `acquire` or `seq_cst`",
            ),
        };
        self.report(
            Diagnostic::new("M0415", span, format!("{what} cannot be `{order}`"))
                .label("not an order for this access")
                .help(help),
        );
    }

    /// Whether `place` is an atomic shared variable or an element of such a variable. Reports any
    /// other place.
    fn is_atomic(&mut self, place: &ast::Expr<'s>) -> bool {
        let (ast::ExprKind::Name(name)
        | ast::ExprKind::Index(name, _)
        | ast::ExprKind::Path(name, _)) = &place.kind
        else {
            return false;
        };
        let meaning = self.resolve(*name, ExpectedName::Value);
        let text = name.text;
        let help = match meaning {
            Meaning::Poison => return false,
            Meaning::Var(id) if self.c.program.vars[id.0 as usize].atomic => return true,
            Meaning::Var(_) => format!("declare it `var {text}: atomic int`"),
            _ => "only shared variables that are declared `atomic` have operations".to_owned(),
        };
        let mut diagnostic = Diagnostic::new("M0414", name.span, format!("`{text}` is not atomic"))
            .label("expected an atomic variable");
        if let Some(declared) = self.declared_at(*name) {
            diagnostic = diagnostic.related(declared, "declared here");
        }
        self.report(diagnostic.help(help));
        false
    }

    /// Lowers an update, which reads and writes in one step. Its arguments are read in the same
    /// step, or with `atomicity access` in steps before it.
    fn update(
        &mut self,
        target: Target<'_, 's>,
        operation: &SplitOperation<'_, 's>,
        span: Span,
    ) -> StmtKind {
        let (Some(place), Some(ty)) = self.place(operation.place) else {
            self.declare_anyway(&target);
            return StmtKind::Skip;
        };
        let mut before = Vec::new();
        let place = match place {
            Place::Element(var, index) => Place::Element(var, self.precomputed(index, &mut before)),
            place => place,
        };
        let values = operation.values.iter();
        let values: Vec<Expr> = values
            .map(|value| {
                let value = self.value_of_type(value, Some(ty));
                self.precomputed(value, &mut before)
            })
            .collect();
        let old = local(self.hidden("old", ty), ty, span);
        let stmt = |kind| Stmt { kind, span };
        let mut body = Vec::new();
        if self.c.program.atomicity == Atomicity::Statement {
            body.extend(before.drain(..).map(|operand| stmt(operand.kind)));
        }
        body.push(stmt(StmtKind::Let(
            local_id(&old),
            vec![read(&place, ty, span)],
        )));
        let assign = |value| stmt(StmtKind::Assign(vec![place.clone()], vec![value]));
        let combined = |op, b: &Expr, ty| binary(op, &old, b, ty);
        let result = match operation.verb {
            Verb::CompareExchange => {
                let equal = combined(BinaryOp::Eq, &values[0], Type::Bool);
                let write = assign(values[1].clone());
                body.push(stmt(StmtKind::If(equal.clone(), vec![write], Vec::new())));
                equal
            }
            Verb::FetchAdd => {
                body.push(assign(combined(BinaryOp::Add, &values[0], ty)));
                old.clone()
            }
            Verb::FetchSub => {
                body.push(assign(combined(BinaryOp::Sub, &values[0], ty)));
                old.clone()
            }
            _ => {
                body.push(assign(values[0].clone()));
                old.clone()
            }
        };
        if let Some(kind) = self.keep_result(target, result) {
            body.push(stmt(kind));
        }
        self.c.program.orders.insert(span, operation.order);
        before.push(stmt(StmtKind::Atomic(body)));
        StmtKind::Block(before)
    }

    /// Makes the statement that stores the result of an update in its target.
    fn keep_result(&mut self, target: Target<'_, 's>, result: Expr) -> Option<StmtKind> {
        let ty = result.ty;
        let typed = Typed {
            ty: Ty::Known(ty),
            expr: result,
        };
        match target {
            Target::Nowhere => None,
            Target::Let(name, declared) => {
                declared.into_iter().for_each(|ty| self.no_atomic(ty));
                let base = match declared {
                    Some(declared) => self.c.known_type(declared).plain(),
                    None => Some(ty),
                };
                let value = self.coerce(typed, base.unwrap_or(ty));
                let kept = self.declare(name, base, Vec::new());
                let range = declared.and_then(|declared| self.range(declared));
                if let Some(range) = range {
                    self.ranges.insert(kept, range);
                    self.keep_in_range(&Place::Local(kept), name.span);
                }
                Some(StmtKind::Let(kept, vec![value]))
            }
            Target::Assigned(written) => match self.place(written) {
                (Some(place), Some(ty)) if !place.is_shared() => {
                    self.keep_in_range(&place, written.span);
                    let value = self.coerce(typed, ty);
                    Some(StmtKind::Assign(vec![place], vec![value]))
                }
                (Some(_), _) => {
                    self.report(
                        Diagnostic::new(
                            "M0416",
                            written.span,
                            "the result of an update goes to a local",
                        )
                        .label("this is shared, and a step makes one access")
                        .help("write `let r = …;` first, and assign `r`"),
                    );
                    None
                }
                _ => None,
            },
        }
    }

    /// Declares the local of a `let` whose value has a mistake, so that uses of the local are not
    /// reported as unknown names.
    fn declare_anyway(&mut self, target: &Target<'_, 's>) {
        if let Target::Let(name, _) = target {
            self.declare(*name, None, Vec::new());
        }
    }

    /// Returns the value if it is a constant or a local. Any other value is computed by a statement
    /// that is added to `before`; the result is then the local that holds it.
    pub(super) fn precomputed(&mut self, value: Expr, before: &mut Vec<Stmt>) -> Expr {
        if let ExprKind::Const(_) | ExprKind::Local(_) = value.kind {
            return value;
        }
        let (ty, span) = (value.ty, value.span);
        let kept = self.hidden("operand", ty);
        let kind = StmtKind::Let(kept, vec![value]);
        before.push(Stmt { kind, span });
        local(kept, ty, span)
    }
}

/// Returns the order that an argument names, if any.
fn order_named(arg: &ast::Expr<'_>) -> Option<MemoryOrder> {
    match &arg.kind {
        ast::ExprKind::Name(name) => name.text.parse().ok(),
        _ => None,
    }
}

fn local(id: hir::LocalId, ty: Type, span: Span) -> Expr {
    let kind = ExprKind::Local(id);
    Expr { kind, ty, span }
}

fn local_id(expr: &Expr) -> hir::LocalId {
    match expr.kind {
        ExprKind::Local(id) => id,
        _ => unreachable!("made by `local`"),
    }
}

fn read(place: &Place, ty: Type, span: Span) -> Expr {
    let kind = match place.clone() {
        Place::Local(local) => ExprKind::Local(local),
        Place::LocalElement(local, index) => ExprKind::LocalElement(local, Box::new(index)),
        Place::Shared(var) => ExprKind::Shared(var),
        Place::Element(var, index) => ExprKind::Element(var, Box::new(index)),
    };
    Expr { kind, ty, span }
}

fn binary(op: BinaryOp, a: &Expr, b: &Expr, ty: Type) -> Expr {
    let kind = ExprKind::Binary(op, Box::new(a.clone()), Box::new(b.clone()));
    let span = a.span;
    Expr { kind, ty, span }
}
