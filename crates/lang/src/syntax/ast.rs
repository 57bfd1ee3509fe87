//! The syntax tree of a file. It shows the text as written: names are not resolved, and constants
//! are not evaluated.

use std::rc::Rc;

use crate::check::hir::{Atomicity, BinaryOp, Leave, Type, UnaryOp};
use mazurka_core::Kinds;
use mazurka_diagnostics::Span;

/// A name and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'s> {
    pub text: &'s str,
    pub span: Span,
}

/// A file.
#[derive(Debug, Default)]
pub(crate) struct File<'s> {
    pub items: Vec<Item<'s>>,
    /// For each declaration, its place and the index of its first item. A declaration such as `var
    /// x, y: int` is several items.
    pub extents: Vec<(Span, usize)>,
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
    Object(Object<'s>),
    Const {
        name: Name<'s>,
        value: Init<'s>,
    },
    Enum {
        name: Name<'s>,
        members: Vec<Name<'s>>,
    },
    Struct {
        name: Name<'s>,
        fields: Vec<Param<'s>>,
    },
    Function(Rc<Function<'s>>),
    Proc {
        name: Name<'s>,
        params: Vec<Param<'s>>,
        body: Vec<Stmt<'s>>,
    },
    Property {
        kind: PropertyKind,
        name: Option<Name<'s>>,
        expr: Expr<'s>,
        span: Span,
    },
    /// `always e` with one condition, or `whenever e leads_to f` with two.
    Temporal {
        kind: TemporalKind,
        name: Option<Name<'s>>,
        conditions: Vec<Expr<'s>>,
        span: Span,
    },
    Observe(Vec<Name<'s>>),
    /// `refines "other.maz" via { x -> y }`. A name may be followed by fields, as in `m.from -> z`.
    Refines {
        file: Text<'s>,
        via: Vec<(Dotted, Dotted)>,
        span: Span,
    },
    /// The names of the preceding variable declaration, which begins with `ghost var`.
    Ghosts(Vec<Name<'s>>),
    /// `allows deadlock`: the kinds of violations that do not count.
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
    /// Marks the procedure of the item before it as an operation.
    Operation(OperationResult<'s>),
    Spec(Spec<'s>),
}

/// `op pop(): int`, without its body.
#[derive(Debug)]
pub(crate) struct OperationResult<'s> {
    pub name: Name<'s>,
    /// The type of its result.
    pub ty: Option<TypeExpr<'s>>,
    /// The place of the name, the parameters and the result type.
    pub head: Span,
}

/// `spec object for 2 clients of 3 operations { … }`
#[derive(Debug)]
pub(crate) struct Spec<'s> {
    pub clients: Expr<'s>,
    pub operations: Expr<'s>,
    /// The contents of the braces.
    pub items: Vec<Item<'s>>,
    /// The place of the text before the braces.
    pub head: Span,
}

/// `semaphore s[3] = 1`, `cond c`: a synchronisation object.
#[derive(Debug)]
pub(crate) struct Object<'s> {
    pub kind: ObjectKind,
    pub name: Name<'s>,
    pub dims: Vec<Expr<'s>>,
    /// For a channel without a capacity, `chan c[..]: T`, the place of `..`. The last size is then
    /// a limit.
    pub unbounded: Option<Span>,
    /// The value after `=`.
    pub value: Option<Expr<'s>>,
    /// The type of the messages of a channel.
    pub ty: Option<TypeExpr<'s>>,
}

/// The kinds of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Semaphore,
    RwLock,
    Cond,
    /// `spurious cond c`: a waiting process may wake up without a signal.
    SpuriousCond,
    Barrier,
    Channel,
}

impl ObjectKind {
    pub const ALL: [(&'static str, Self); 5] = [
        ("semaphore", Self::Semaphore),
        ("rwlock", Self::RwLock),
        ("cond", Self::Cond),
        ("barrier", Self::Barrier),
        ("chan", Self::Channel),
    ];

    /// Returns the keyword of its declaration.
    pub fn noun(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, one)| *one == self);
        found.map_or("cond", |(word, _)| word)
    }
}

/// A parameter or a field, with its type. The names of one list share a type.
pub(crate) type Param<'s> = (Name<'s>, Rc<TypeExpr<'s>>);

/// `fn f(a: int): int { let b = a + 1; b * b }`
#[derive(Debug)]
pub(crate) struct Function<'s> {
    pub name: Name<'s>,
    pub params: Vec<Param<'s>>,
    pub result: TypeExpr<'s>,
    pub lets: Vec<(Name<'s>, Expr<'s>)>,
    pub value: Expr<'s>,
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
    Cover,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemporalKind {
    Always,
    Eventually,
    InfinitelyOften,
    LeadsTo,
}

/// A type.
#[derive(Debug)]
pub(crate) struct TypeExpr<'s> {
    /// The place of `atomic` before it.
    pub atomic: Option<Span>,
    pub base: Base<'s>,
    /// The size of each dimension.
    pub dims: Vec<Expr<'s>>,
    pub span: Span,
}

/// The type of the elements.
#[derive(Debug)]
pub(crate) enum Base<'s> {
    /// A type that could not be parsed; the mistake was reported.
    Poison,
    Plain(Type),
    /// An `enum` or a `struct`.
    Named(Name<'s>),
    /// `a..b`
    Range(Box<Expr<'s>>, Box<Expr<'s>>),
}

/// An initial value: one value for all elements, or one value for each element.
#[derive(Debug)]
pub(crate) enum Init<'s> {
    Value(Expr<'s>),
    List(Vec<Init<'s>>, Span),
    /// `[e for i in a..b]`
    Each {
        value: Box<Init<'s>>,
        range: Range<'s>,
        span: Span,
    },
}

impl Init<'_> {
    /// Returns the place of the value.
    pub fn span(&self) -> Span {
        match self {
            Init::Value(expr) => expr.span,
            Init::List(_, span) | Init::Each { span, .. } => *span,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Stmt<'s> {
    pub kind: StmtKind<'s>,
    pub span: Span,
}

impl<'s> Stmt<'s> {
    /// Calls `visit` on the statements directly inside it.
    pub fn for_each_inner(&self, visit: &mut dyn FnMut(&Stmt<'s>)) {
        match &self.kind {
            StmtKind::Block(body)
            | StmtKind::Atomic(body)
            | StmtKind::While { body, .. }
            | StmtKind::For { body, .. }
            | StmtKind::Spawn(_, Spawned::Block(body)) => body.iter().for_each(visit),
            StmtKind::Guard(_, body)
            | StmtKind::GuardedLoop(_, body)
            | StmtKind::Labelled(_, body)
            | StmtKind::Try(_, body) => {
                visit(body);
            }
            StmtKind::Choice { then, other, .. } => [then, other].iter().for_each(|s| visit(s)),
            StmtKind::Select(_, alternatives, other) => {
                for Alternative { gate, body } in alternatives {
                    if let Gate::Does(operation) = gate {
                        visit(operation);
                    }
                    body.iter().for_each(&mut *visit);
                }
                other.iter().flatten().for_each(visit);
            }
            StmtKind::If(_, then, other) => then.iter().chain(other).for_each(visit),
            StmtKind::Match(_, cases) => {
                let bodies = cases.cases.iter().map(|(_, body)| body);
                let other = cases.other.iter().map(|(_, body)| &**body);
                bodies.chain(other).flatten().for_each(visit);
            }
            _ => {}
        }
    }
}

#[derive(Debug)]
pub(crate) enum StmtKind<'s> {
    /// A statement with a mistake that was reported.
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
    Match(Expr<'s>, Cases<'s, Vec<Stmt<'s>>>),
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
    /// `c ! e`
    Send(Expr<'s>, Expr<'s>),
    /// `c ? x`
    Receive(Expr<'s>, Expr<'s>),
    /// `select { e |> s [] c ? x |> t [] else |> u }`, with the place of the keyword.
    Select(Span, Vec<Alternative<'s>>, Option<Vec<Stmt<'s>>>),
    /// `let ok = try acquire(s)`, `ok := try lock(m)`
    Try(ResultTarget<'s>, Box<Stmt<'s>>),
    /// An operation on an atomic variable as a statement, which ignores its result.
    Operation(Expr<'s>),
    Assert(Expr<'s>, Option<Text<'s>>),
    Assume(Expr<'s>),
    Error(Option<Text<'s>>),
    Leave(Leave),
    /// `return e`
    Return(Expr<'s>),
    /// `print "client {me}"`
    Print(Text<'s>),
    /// `critical: x := 1`
    Labelled(Name<'s>, Box<Stmt<'s>>),
}

/// `e |> s`, within a `select`.
#[derive(Debug)]
pub(crate) struct Alternative<'s> {
    pub gate: Gate<'s>,
    pub body: Vec<Stmt<'s>>,
}

/// The condition under which an alternative is open.
#[derive(Debug)]
pub(crate) enum Gate<'s> {
    /// The alternative is open if the condition holds. If the condition is a call of an operation,
    /// it is open if the operation need not wait.
    When(Expr<'s>),
    /// The alternative is open if the operation need not wait. The step then performs the
    /// operation.
    Does(Box<Stmt<'s>>),
}

/// The destination of a result.
#[derive(Debug)]
pub(crate) enum ResultTarget<'s> {
    Let(Name<'s>),
    Place(Expr<'s>),
}

/// A name with fields, `m.from`, and its place.
pub(crate) type Dotted = (String, Span);

/// A string as written in the source.
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
    /// The height of the tree. The parser limits it, so that recursive functions on the tree do not
    /// overflow the stack.
    pub depth: u16,
}

#[derive(Debug)]
pub(crate) enum ExprKind<'s> {
    /// An expression with a mistake that was reported.
    Poison,
    Int(u64),
    Bool(bool),
    Name(Name<'s>),
    Index(Name<'s>, Box<Expr<'s>>),
    /// `a[i][j]`, `m.from`, `q[i].from`: more than one index, or a field.
    Path(Name<'s>, Vec<Selector<'s>>),
    /// `p(1).x`, `p(1).a[2]`: a local of a process, in a temporal property.
    LocalOf {
        process: Name<'s>,
        instance: Box<Expr<'s>>,
        local: Name<'s>,
        index: Option<Box<Expr<'s>>>,
    },
    /// `Msg(from: 1, kind: Ping)`
    Record(Name<'s>, Vec<(Name<'s>, Expr<'s>)>),
    /// `forall i in 0..n: e`
    Quantified(Box<Quantified<'s>>),
    /// `match s { Idle: 0, Busy, Done: 1 }`
    Match(Box<Expr<'s>>, Cases<'s, Expr<'s>>),
    /// `x.load(acquire)`, `a[i].fetch_add(1, relaxed)`: an operation on an atomic variable.
    Operation {
        place: Box<Expr<'s>>,
        operation: Name<'s>,
        args: Vec<Expr<'s>>,
    },
    /// A call. As a value, only a call of a function is allowed.
    Call(Name<'s>, Vec<Expr<'s>>),
    Unary(UnaryOp, Box<Expr<'s>>),
    Binary(BinaryOp, Span, Box<Expr<'s>>, Box<Expr<'s>>),
    If(Box<Expr<'s>>, Box<Expr<'s>>, Box<Expr<'s>>),
    Input(Option<TypeExpr<'s>>),
    Choose(Box<Expr<'s>>, Box<Expr<'s>>),
}

/// An index or a field after a name.
#[derive(Debug)]
pub(crate) enum Selector<'s> {
    Index(Expr<'s>),
    Field(Name<'s>),
}

/// The cases of a `match`, and the `else` case.
#[derive(Debug)]
pub(crate) struct Cases<'s, T> {
    /// The members of each case, and its value or statements.
    pub cases: Vec<(Vec<Name<'s>>, T)>,
    pub other: Option<(Span, Box<T>)>,
}

/// The operator that combines the values of a quantified expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantifier {
    Forall,
    Exists,
    Count,
    Sum,
    Min,
    Max,
}

impl Quantifier {
    pub const ALL: [(&'static str, Self); 6] = [
        ("forall", Self::Forall),
        ("exists", Self::Exists),
        ("count", Self::Count),
        ("sum", Self::Sum),
        ("min", Self::Min),
        ("max", Self::Max),
    ];

    /// Returns its keyword.
    pub fn word(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, one)| *one == self);
        found.map_or("", |(word, _)| word)
    }
}

/// An expression for each number of a range, or for each element of an array.
#[derive(Debug)]
pub(crate) struct Quantified<'s> {
    pub quantifier: Quantifier,
    pub name: Name<'s>,
    pub over: QuantifierDomain<'s>,
    pub body: Expr<'s>,
}

/// The range or array of a quantifier.
#[derive(Debug)]
pub(crate) enum QuantifierDomain<'s> {
    Range(Expr<'s>, Expr<'s>),
    Array(Expr<'s>),
}
