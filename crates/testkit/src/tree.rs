//! Programs as trees, which generator A (generate/) makes, the shrinker cuts and the printer
//! writes. A tree says no more than the text: names are strings, and `mazurka_lang` decides whether
//! the program is well typed.

/// A type of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `i8`
    I8,
    /// `u8`
    U8,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// An integer literal.
    Int(i64),
    /// A boolean literal.
    Bool(bool),
    /// A shared or local variable.
    Var(String),
    /// An element of an array.
    Element(String, Box<Expr>),
    /// `!e` or `-e`
    Unary(&'static str, Box<Expr>),
    /// `e + f` and so on.
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// `if e then f else g`
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `choose(a..b)`
    Choose(i64, i64),
    /// `input(T)`, only as the whole value of a `let` with a type; an `assume` keeps a number
    /// between these bounds, inclusive.
    Input(i64, i64),
}

impl Expr {
    /// Returns a variable.
    pub fn var(name: &str) -> Self {
        Self::Var(name.to_owned())
    }

    /// Returns a binary operation.
    pub fn binary(op: &'static str, left: Self, right: Self) -> Self {
        Self::Binary(op, Box::new(left), Box::new(right))
    }
}

/// The code that a `spawn` starts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Spawned {
    /// `spawn { … }`
    Block(Vec<Stmt>),
    /// `spawn p(…)`
    Call(String, Vec<Expr>),
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stmt {
    /// `skip`
    Skip,
    /// `{ … }`
    Block(Vec<Stmt>),
    /// `x, a[i] := e, f`; places are [`Expr::Var`] or [`Expr::Element`].
    Assign(Vec<Expr>, Vec<Expr>),
    /// `let x = e`
    Let(String, Option<Type>, Expr),
    /// `e |> s`
    Guard(Expr, Box<Stmt>),
    /// `s <| e |> t`
    Choice(Box<Stmt>, Expr, Box<Stmt>),
    /// `e |>* s`
    GuardedLoop(Expr, Box<Stmt>),
    /// `await e`
    Await(Expr),
    /// `if e { … } else { … }`
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `while (e)[n] { … }`
    While(Expr, i64, Vec<Stmt>),
    /// `for i in a..b { … }`
    For(String, i64, i64, Vec<Stmt>),
    /// `let h = spawn …`
    Spawn(Option<String>, Spawned),
    /// `join h`
    Join(Option<String>),
    /// `p(…)`
    Call(String, Vec<Expr>),
    /// `atomic { … }`
    Atomic(Vec<Stmt>),
    /// `lock(m)` or `lock(m[e])`
    Lock(String, Option<Expr>),
    /// `unlock(m)` or `unlock(m[e])`
    Unlock(String, Option<Expr>),
    /// `assert e`
    Assert(Expr),
    /// `assume e`
    Assume(Expr),
    /// `error`
    Error,
}

/// A shared variable or array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Var {
    /// Its name.
    pub name: String,
    /// Its type, or that of its elements.
    pub ty: Type,
    /// How many elements, if it is an array.
    pub len: Option<u32>,
    /// The initial value, or that of every element.
    pub init: i64,
}

/// A lock or an array of locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lock {
    /// Its name.
    pub name: String,
    /// How many locks, if it is an array.
    pub len: Option<u32>,
}

/// A procedure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Procedure {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<(String, Type)>,
    /// The body.
    pub body: Vec<Stmt>,
}

/// A whole program. Its `Display` is the `.maz` text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Program {
    /// Whether each access is a step (`atomicity access`).
    pub access: bool,
    /// Shared variables.
    pub vars: Vec<Var>,
    /// Locks.
    pub locks: Vec<Lock>,
    /// Conditions that must hold in every state.
    pub invariants: Vec<Expr>,
    /// Conditions that must hold in every final state.
    pub ensures: Vec<Expr>,
    /// Procedures.
    pub procedures: Vec<Procedure>,
    /// The bodies of the processes.
    pub processes: Vec<Vec<Stmt>>,
}
