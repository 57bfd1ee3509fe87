//! The syntax tree of a `.maz` text, as docs/language.md describes the language.
//!
//! This tree belongs to the oracle and to the generators [`crate::mutate`] and [`crate::swarm`].
//! It shares nothing with `mazurka-lang`.

/// The type of a single value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ty {
    /// `bool`
    Bool,
    /// `int`, mathematical
    Int,
    /// `i8` … `i64`
    Signed(u8),
    /// `u8` … `u64`
    Unsigned(u8),
}

impl Ty {
    /// Returns the type with this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "int" => Self::Int,
            "i8" => Self::Signed(8),
            "i16" => Self::Signed(16),
            "i32" => Self::Signed(32),
            "i64" => Self::Signed(64),
            "u8" => Self::Unsigned(8),
            "u16" => Self::Unsigned(16),
            "u32" => Self::Unsigned(32),
            "u64" => Self::Unsigned(64),
            _ => return None,
        })
    }

    /// Returns the name of the type.
    pub fn name(self) -> String {
        match self {
            Self::Bool => "bool".into(),
            Self::Int => "int".into(),
            Self::Signed(bits) => format!("i{bits}"),
            Self::Unsigned(bits) => format!("u{bits}"),
        }
    }

    /// Returns the least and the greatest value.
    pub fn range(self) -> (i128, i128) {
        match self {
            Self::Bool => (0, 1),
            Self::Int => (i128::from(i64::MIN), i128::from(i64::MAX)),
            Self::Signed(bits) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            Self::Unsigned(bits) => (0, (1 << bits) - 1),
        }
    }
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
}

impl Op {
    /// Every operator with its sign.
    pub const ALL: [(Self, &'static str); 18] = [
        (Self::Add, "+"),
        (Self::Sub, "-"),
        (Self::Mul, "*"),
        (Self::Div, "/"),
        (Self::Rem, "%"),
        (Self::BitAnd, "&"),
        (Self::BitOr, "|"),
        (Self::BitXor, "^"),
        (Self::Shl, "<<"),
        (Self::Shr, ">>"),
        (Self::Eq, "=="),
        (Self::Ne, "!="),
        (Self::Lt, "<"),
        (Self::Le, "<="),
        (Self::Gt, ">"),
        (Self::Ge, ">="),
        (Self::And, "&&"),
        (Self::Or, "||"),
    ];

    /// Returns the operator's sign.
    pub fn sign(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(op, _)| *op == self)
            .map_or("?", |(_, sign)| sign)
    }

    /// Whether it compares two values.
    pub fn compares(self) -> bool {
        matches!(
            self,
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge
        )
    }

    /// Whether it is `&&` or `||`.
    pub fn logical(self) -> bool {
        matches!(self, Self::And | Self::Or)
    }
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Expr {
    Bool(bool),
    Num(i128),
    Name(String),
    Index(String, Box<Expr>),
    Not(Box<Expr>),
    Neg(Box<Expr>),
    Bin(Op, Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Choose(Box<Expr>, Box<Expr>),
    /// `len(c)`
    Len(Box<Place>),
    /// The number at this index in a constant list. An index outside of the list is a failure.
    Pick(Vec<i128>, Box<Expr>),
    /// `input()` or `input(u8)`
    Input(Option<Ty>),
}

/// A variable or an element on the left of `:=`; also a lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The variable or array.
    pub name: String,
    /// The index, if it is an element.
    pub index: Option<Expr>,
}

/// The initial value in a `let` or a declaration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Init {
    /// One value; for an array, the value of every element.
    One(Expr),
    /// One value for each element.
    List(Vec<Expr>),
}

/// Where a result is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ResultTarget {
    Let(String),
    Place(Place),
}

/// An alternative of a `select`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Alternative {
    When(Expr, Vec<Stmt>),
    /// An operation, and the statements after it. The alternative is open if the operation need not
    /// wait.
    Does(Box<Stmt>, Vec<Stmt>),
}

/// The code that a child runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Child {
    /// `spawn { … }`
    Block(Vec<Stmt>),
    /// `spawn p(…)`
    Call(String, Vec<Expr>),
}

/// A statement and its line, starting from 1 (0 if it does not come from a text).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stmt {
    /// Where it begins.
    pub line: u32,
    /// The kind of the statement.
    pub kind: Kind,
}

/// The kind of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Skip,
    End,
    Assign(Vec<Place>, Vec<Expr>),
    /// `e |> s`
    Guard(Expr, Box<Stmt>),
    /// `s <| e |> t`
    Choice(Box<Stmt>, Expr, Box<Stmt>),
    /// `e |>* s`
    GuardedLoop(Expr, Box<Stmt>),
    Await(Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `while (e)[n] invariant I { … }`
    While(Expr, Option<Expr>, Option<Expr>, Vec<Stmt>),
    For(String, Expr, Expr, Vec<Stmt>),
    Spawn(Option<String>, Child),
    Join(Option<String>),
    Call(String, Vec<Expr>),
    Atomic(Vec<Stmt>),
    Lock(Place),
    Unlock(Place),
    /// `acquire(s)`, `wait(c, m)`
    Operate(String, Vec<Place>),
    /// `c ! e`, with a value for each field
    Send(Place, Vec<Expr>),
    /// `c ? x`
    Receive(Place, Vec<Place>),
    /// `select { e |> s [] c ? x |> t [] else |> u }`
    Select(Vec<Alternative>, Option<Vec<Stmt>>),
    /// `let ok = try s`
    Try(ResultTarget, Box<Stmt>),
    /// `let old = t.fetch_add(e)`: where the result is stored, the variable, the operation, its
    /// arguments
    Update(Option<ResultTarget>, Place, String, Vec<Expr>),
    /// `let x: T[n] = …`
    Let(String, Option<Ty>, Option<Expr>, Init),
    Assert(Expr, Option<String>),
    Assume(Expr),
    Error(Option<String>),
    /// `print "…"`
    Print(String),
    /// Several statements in one place.
    Seq(Vec<Stmt>),
    Break,
    Continue,
    Return,
}

impl Stmt {
    /// Returns a statement that does not come from a text.
    pub fn new(kind: Kind) -> Self {
        Self { line: 0, kind }
    }

    /// Whether the whole statement, below a guard, belongs to the step of the guard, even under
    /// `atomicity access`.
    pub fn is_simple(&self) -> bool {
        // A `wait` has two steps, and only the first one belongs to the step of the guard.
        let waits = matches!(&self.kind, Kind::Operate(verb, _) if verb == "wait");
        !waits
            && !matches!(
                self.kind,
                Kind::Guard(..)
                    | Kind::Choice(..)
                    | Kind::GuardedLoop(..)
                    | Kind::If(..)
                    | Kind::While(..)
                    | Kind::For(..)
                    | Kind::Call(..)
                    | Kind::Select(..)
                    | Kind::Seq(_)
            )
    }
}

/// A declaration or a process, with its line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Item {
    /// Where it begins.
    pub line: u32,
    /// The kind of the declaration.
    pub kind: ItemKind,
}

/// A kind of declaration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ItemKind {
    Var(Vec<String>, Ty, Option<Expr>, Option<Init>),
    Lock(Vec<(String, Option<Expr>)>),
    /// `semaphore s[n] = e`: the keyword, the name, the size and the value.
    Object(String, String, Option<Expr>, Option<Expr>),
    /// `chan c[n][k]: T`: the name, the size, the capacity, the type of each field.
    Channel(String, Option<Expr>, Expr, Vec<Ty>),
    Const(String, Expr),
    Proc(String, Vec<(String, Ty)>, Vec<Stmt>),
    Requires(Option<String>, Expr),
    Invariant(Option<String>, Expr),
    Ensures(Option<String>, Expr),
    Cover(Option<String>, Expr),
    /// `always e`, `whenever e leads_to f`
    Temporal(Temporal, Option<String>, Vec<Expr>),
    Observe(Vec<String>),
    /// `allows deadlock, livelock`
    Allows(Vec<String>),
    /// `expects deterministic`
    ExpectsDeterminism,
    /// `atomicity access` if true.
    Atomicity(bool),
    Process(Option<String>, Option<(String, Expr, Expr)>, Vec<Stmt>),
}

/// A kind of temporal property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Temporal {
    Always,
    Eventually,
    InfinitelyOften,
    LeadsTo,
}

impl Temporal {
    /// Every kind with its keyword.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Always, "always"),
        (Self::Eventually, "eventually"),
        (Self::InfinitelyOften, "infinitely_often"),
        (Self::LeadsTo, "whenever"),
    ];
}

/// The program in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Program {
    /// Its declarations and processes, in order.
    pub items: Vec<Item>,
    /// The variables that are declared `atomic`.
    pub atomic: Vec<String>,
}

impl Expr {
    /// Whether it contains a `choose` or an `input`.
    pub(super) fn has_choice(&self) -> bool {
        match self {
            Expr::Choose(..) | Expr::Input(_) => true,
            Expr::Len(place) => place.index.as_ref().is_some_and(Expr::has_choice),
            Expr::Index(_, e) | Expr::Not(e) | Expr::Neg(e) | Expr::Pick(_, e) => e.has_choice(),
            Expr::Bin(_, left, right) => left.has_choice() || right.has_choice(),
            Expr::If(test, yes, no) => test.has_choice() || yes.has_choice() || no.has_choice(),
            Expr::Bool(_) | Expr::Num(_) | Expr::Name(_) => false,
        }
    }
}
