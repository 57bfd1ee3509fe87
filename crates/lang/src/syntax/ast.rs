//! The syntax tree, as written: names unresolved, nothing folded.

use crate::check::hir::{Atomicity, BinaryOp, Type, UnaryOp};
use mazurka_core::Kinds;
use mazurka_diagnostics::Span;

/// A name and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'s> {
    pub text: &'s str,
    pub span: Span,
}

/// A file.
#[derive(Debug, Default)]
pub(crate) struct File<'s> {
    pub items: Vec<Item<'s>>,
}

/// A declaration or a process.
#[derive(Debug)]
pub(crate) enum Item<'s> {
    Var {
        names: Vec<Name<'s>>,
        ty: TypeExpr<'s>,
        init: Option<Init<'s>>,
    },
    Lock {
        name: Name<'s>,
        len: Option<Expr<'s>>,
    },
    Const {
        name: Name<'s>,
        value: Expr<'s>,
    },
    Proc {
        name: Name<'s>,
        params: Vec<(Name<'s>, TypeExpr<'s>)>,
        body: Vec<Stmt<'s>>,
    },
    Property {
        kind: PropertyKind,
        name: Option<Name<'s>>,
        expr: Expr<'s>,
        span: Span,
    },
    /// `always e`, `whenever e leads_to f`: one condition or two.
    Temporal {
        kind: TemporalKind,
        name: Option<Name<'s>>,
        conditions: Vec<Expr<'s>>,
        span: Span,
    },
    Observe(Vec<Name<'s>>),
    /// `allows deadlock`: violations of these kinds do not count.
    Allows(Kinds, Span),
    /// `expects deterministic`
    ExpectsDeterminism(Span),
    Prove {
        name: Option<Name<'s>>,
        goal: String,
        span: Span,
    },
    Atomicity(Atomicity, Span),
    Process {
        name: Option<Name<'s>>,
        range: Option<Range<'s>>,
        body: Vec<Stmt<'s>>,
    },
}

/// `(i in a..b)`
#[derive(Debug)]
pub(crate) struct Range<'s> {
    pub name: Name<'s>,
    pub from: Expr<'s>,
    pub to: Expr<'s>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PropertyKind {
    Requires,
    Invariant,
    Ensures,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemporalKind {
    Always,
    Eventually,
    InfinitelyOften,
    LeadsTo,
}

/// A type; `base` is `None` where it could not be read (and that was reported).
#[derive(Debug)]
pub(crate) struct TypeExpr<'s> {
    /// `atomic` before it, where it stands.
    pub atomic: Option<Span>,
    pub base: Option<Type>,
    pub len: Option<Box<Expr<'s>>>,
    pub span: Span,
}

/// An initial value: one for all, or one for each element.
#[derive(Debug)]
pub(crate) enum Init<'s> {
    Value(Expr<'s>),
    List(Vec<Expr<'s>>, Span),
}

#[derive(Debug)]
pub(crate) struct Stmt<'s> {
    pub kind: StmtKind<'s>,
    pub span: Span,
}

#[derive(Debug)]
pub(crate) enum StmtKind<'s> {
    /// A statement with a mistake that has been reported.
    Poison,
    Skip,
    End,
    Block(Vec<Stmt<'s>>),
    Assign(Vec<Expr<'s>>, Vec<Expr<'s>>),
    Guard(Expr<'s>, Box<Stmt<'s>>),
    Choice {
        test: Expr<'s>,
        then: Box<Stmt<'s>>,
        other: Box<Stmt<'s>>,
    },
    GuardedLoop(Expr<'s>, Box<Stmt<'s>>),
    If(Expr<'s>, Vec<Stmt<'s>>, Vec<Stmt<'s>>),
    While {
        test: Expr<'s>,
        bound: Option<Expr<'s>>,
        invariants: Vec<Expr<'s>>,
        body: Vec<Stmt<'s>>,
    },
    For {
        name: Name<'s>,
        from: Expr<'s>,
        to: Expr<'s>,
        body: Vec<Stmt<'s>>,
    },
    Spawn(Option<Name<'s>>, Spawned<'s>),
    Join(Option<Name<'s>>),
    Call(Name<'s>, Vec<Expr<'s>>),
    Atomic(Vec<Stmt<'s>>),
    Lock(Name<'s>, Option<Expr<'s>>),
    Unlock(Name<'s>, Option<Expr<'s>>),
    Let {
        name: Name<'s>,
        ty: Option<TypeExpr<'s>>,
        init: Init<'s>,
    },
    /// An operation on an atomic variable whose result, if it has one, is not used.
    Operation(Expr<'s>),
    Assert(Expr<'s>, Option<Text<'s>>),
    Assume(Expr<'s>),
    Error(Option<Text<'s>>),
}

/// A string, as it stands in the source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'s> {
    pub quoted: &'s str,
    pub span: Span,
}

#[derive(Debug)]
pub(crate) enum Spawned<'s> {
    Block(Vec<Stmt<'s>>),
    Call(Name<'s>, Vec<Expr<'s>>),
}

#[derive(Debug)]
pub(crate) struct Expr<'s> {
    pub kind: ExprKind<'s>,
    pub span: Span,
    /// Height of the tree, kept so that no tree is built that a later walk could not survive.
    pub depth: u16,
}

#[derive(Debug)]
pub(crate) enum ExprKind<'s> {
    /// An expression with a mistake that has been reported.
    Poison,
    Int(u64),
    Bool(bool),
    Name(Name<'s>),
    Index(Name<'s>, Box<Expr<'s>>),
    /// `p.x`, `p(1).x`, `p.a[2]`: a local of a process, in a temporal property.
    LocalOf {
        process: Name<'s>,
        instance: Option<Box<Expr<'s>>>,
        local: Name<'s>,
        index: Option<Box<Expr<'s>>>,
    },
    /// `x.load(acquire)`, `a[i].fetch_add(1, relaxed)`: an operation on an atomic variable.
    Operation {
        place: Box<Expr<'s>>,
        operation: Name<'s>,
        args: Vec<Expr<'s>>,
    },
    /// A call; only a statement may be one.
    Call(Name<'s>, Vec<Expr<'s>>),
    Unary(UnaryOp, Box<Expr<'s>>),
    Binary(BinaryOp, Span, Box<Expr<'s>>, Box<Expr<'s>>),
    If(Box<Expr<'s>>, Box<Expr<'s>>, Box<Expr<'s>>),
    Input(Option<TypeExpr<'s>>),
    Choose(Box<Expr<'s>>, Box<Expr<'s>>),
}
