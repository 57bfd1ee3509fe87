//! The syntax tree of an ABS file. The parser makes it, `flatten.rs` applies traits and deltas to
//! it, and `check/` compiles it.

use mazurka_diagnostics::Span;
use num_bigint::BigInt;

use super::variability::{Trait, TraitExpr};

/// A name and its place. Qualified names contain their dots: `ABS.StdLib.List`.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub text: String,
    pub span: Span,
}

/// Annotations, each with its label if it has one. In `[Atomic, Deadline: Duration(5)]` the second
/// one has the label `Deadline`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Annotations(pub Vec<(Option<Name>, Expr)>);

impl Annotations {
    /// Whether an annotation without a label is this word, such as `Atomic`.
    pub fn has(&self, word: &str) -> bool {
        self.0.iter().any(|(label, expr)| {
            label.is_none()
                && matches!(&expr.kind, ExprKind::Construct(name, _) if name.text == word)
        })
    }

    /// Returns the value of the annotation with this label.
    pub fn labelled(&self, wanted: &str) -> Option<&Expr> {
        let is = |label: &Option<Name>| label.as_ref().is_some_and(|name| name.text == wanted);
        self.0
            .iter()
            .find(|(label, _)| is(label))
            .map(|(_, expr)| expr)
    }
}

/// A type, as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Type {
    pub name: Name,
    pub args: Vec<Type>,
    pub span: Span,
    /// Whether it is annotated with `Nonnull`.
    pub nonnull: bool,
}

/// An expression, with its place.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

/// A prefix operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Negate,
}

/// An operator with two operands. `Implies` is `->`, `Equivalent` is `<->`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    Implies,
    Equivalent,
}

/// A function as an argument: a name, or an anonymous function.
#[derive(Clone, Debug)]
pub(crate) enum Function {
    Named(Name),
    Anonymous {
        parameters: Vec<(Type, Name)>,
        body: Box<Expr>,
        span: Span,
    },
}

/// The kinds of expressions. A call has the function or the object first, then the arguments.
#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Int(BigInt),
    Float(f64),
    Text(String),
    /// A template string: pieces of text, each with the expression that follows it. Only the last
    /// piece has none.
    Template(Vec<(String, Option<Expr>)>),
    /// A local variable, parameter or field.
    Variable(Name),
    /// `this.x`
    Field(Name),
    This,
    Null,
    /// The future of the current task.
    Destiny,
    /// `Cons(1, Nil)`
    Construct(Name, Vec<Expr>),
    /// `f(x)`
    Call(Name, Vec<Expr>),
    /// `map(f)(list)`: a partial function, the functions that it takes, and its arguments.
    Partial(Name, Vec<Function>, Vec<Expr>),
    /// `list[1, 2]`
    Variadic(Name, Vec<Expr>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Case(Box<Expr>, Vec<(Pattern, Expr)>),
    Let(Type, Name, Box<Expr>, Box<Expr>),
    As(Box<Expr>, Name),
    Implements(Box<Expr>, Name),
    New {
        local: bool,
        class: Name,
        args: Vec<Expr>,
    },
    /// `o.m()`
    Sync(Box<Expr>, Name, Vec<Expr>),
    /// `o!m()`
    Async(Box<Expr>, Name, Vec<Expr>),
    /// `await o!m()`
    AwaitCall(Box<Expr>, Name, Vec<Expr>),
    /// `f.get`
    Get(Box<Expr>),
    /// `original(…)`, with the name before the dot in `D.original(…)` or `core.original(…)`.
    /// Removed when deltas are applied.
    Original(Option<Name>, Vec<Expr>),
}

/// A pattern of a branch, with its place.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub kind: PatternKind,
    pub span: Span,
}

/// What a pattern matches: anything (`_`), a variable, a literal, or a constructor with patterns
/// for its parts.
#[derive(Clone, Debug)]
pub(crate) enum PatternKind {
    Any,
    Variable(Name),
    Int(BigInt),
    Text(String),
    Construct(Name, Vec<Pattern>),
}

/// A statement, with its place.
#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
    /// The deadline of the calls in the statement.
    pub deadline: Option<Expr>,
}

/// A part of the guard of an `await`: a future (`f?`), a condition, or a duration.
#[derive(Clone, Debug)]
pub(crate) enum Guard {
    Claim(Expr),
    Condition(Expr),
    /// `duration(min, max)`, where `max` may be missing; `None` if time is ignored.
    Duration(Option<(Expr, Option<Expr>)>),
}

/// The kinds of statements.
#[derive(Clone, Debug)]
pub(crate) enum StmtKind {
    Declare {
        ty: Type,
        name: Name,
        value: Option<Expr>,
        /// Whether only the declaration may assign it.
        fixed: bool,
    },
    Assign {
        /// `this.x = …`
        field: bool,
        name: Name,
        value: Expr,
    },
    Skip,
    Return(Expr),
    Assert(Expr),
    Block(Vec<Stmt>),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    While(Expr, Box<Stmt>),
    Foreach {
        name: Name,
        index: Option<Name>,
        list: Expr,
        body: Box<Stmt>,
    },
    Switch(Expr, Vec<(Pattern, Stmt)>),
    Try {
        body: Box<Stmt>,
        catches: Vec<(Pattern, Stmt)>,
        finally: Option<Box<Stmt>>,
    },
    Throw(Expr),
    Die(Expr),
    Await(Vec<Guard>),
    Suspend,
    /// `duration(min, max);`
    Duration(Expr, Option<Expr>),
    Expr(Expr),
}

/// A parameter of a method, a function or a class.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub ty: Type,
    pub name: Name,
    /// Whether it must not be assigned.
    pub fixed: bool,
}

/// A constructor of a data type, or an exception.
#[derive(Clone, Debug)]
pub(crate) struct Constructor {
    pub name: Name,
    /// The type of each field, and the name of its accessor function if it has one.
    pub fields: Vec<(Type, Option<Name>)>,
}

/// A data type, with its type parameters.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub name: Name,
    pub parameters: Vec<Name>,
    pub constructors: Vec<Constructor>,
}

/// The body of a function: an expression, or nothing for a function of the standard module that the
/// evaluator implements.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Expr(Expr),
    Builtin,
}

/// A function, declared by `def`.
#[derive(Clone, Debug)]
pub(crate) struct Def {
    pub result: Type,
    pub name: Name,
    pub type_parameters: Vec<Name>,
    /// The functions that a partial function takes; `None` for an ordinary one.
    pub functions: Option<Vec<Name>>,
    pub parameters: Vec<Parameter>,
    pub body: Body,
}

/// The head of a method.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub result: Type,
    pub name: Name,
    pub parameters: Vec<Parameter>,
    /// Whether the method must not wait.
    pub atomic: bool,
    /// Whether the method must not assign fields.
    pub readonly: bool,
}

/// An interface: the heads of its methods, and the interfaces that it extends.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    pub name: Name,
    pub extends: Vec<Name>,
    pub methods: Vec<Signature>,
}

/// A field of a class.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub ty: Type,
    pub name: Name,
    pub value: Option<Expr>,
    /// Whether only its declaration and the init block may assign it.
    pub fixed: bool,
}

/// A method with its body.
#[derive(Clone, Debug)]
pub(crate) struct Method {
    pub signature: Signature,
    pub body: Vec<Stmt>,
    /// The place of the closing bracket.
    pub end: Span,
}

/// A class. Its parameters become the first fields of its objects.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub name: Name,
    pub annotations: Annotations,
    pub parameters: Vec<Parameter>,
    pub implements: Vec<Name>,
    pub fields: Vec<Field>,
    pub init: Vec<Stmt>,
    /// The branches of the recovery block.
    pub recover: Option<Vec<(Pattern, Stmt)>>,
    pub methods: Vec<Method>,
    /// The traits whose methods it has. Removed when traits are applied.
    pub uses: Vec<TraitExpr>,
}

/// A declaration in a module. A `Synonym` is a name for a type, a `Def` is a function.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Data(Data),
    Synonym(Name, Type),
    Def(Def),
    Exception(Constructor),
    Interface(Interface),
    Class(Class),
}

/// `import` or `export`.
#[derive(Clone, Debug)]
pub(crate) struct Clause {
    /// The names; `None` for `*`.
    pub names: Option<Vec<Name>>,
    /// The other module, in `from M`; `None` if there is none.
    pub from: Option<Name>,
}

/// A module.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    pub name: Name,
    pub exports: Vec<Clause>,
    pub imports: Vec<Clause>,
    pub items: Vec<Item>,
    pub traits: Vec<Trait>,
    /// The statements of the main block, and its place.
    pub main: Option<(Vec<Stmt>, Span)>,
}
