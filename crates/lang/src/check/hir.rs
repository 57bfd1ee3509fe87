//! The checked program (high-level IR): every name resolved, every expression typed, every constant
//! folded, every `process (i in a..b)` expanded into its instances.
//!
//! [`crate::check`] makes this program, and [`crate::compile`] turns it into code. It keeps source
//! spans and names, because labels and messages are made from it.

use std::slice::from_ref;
use std::sync::Arc;

use mazurka_core::{AccessOrder, Kinds, Temporal};
use mazurka_diagnostics::{Diagnostic, Span};
use rustc_hash::{FxHashMap, FxHashSet};

pub use super::object::{LinearCall, Linearizable, Operation, Specification};

/// A shared variable's index in [`Program::vars`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// A lock's (or lock array's) index in [`Program::locks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LockId(pub u32);

/// A procedure's index in [`Program::procedures`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcedureId(pub u32);

/// A local variable's index in its [`Frame`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalId(pub u32);

/// The type of a value. Arrays are a property of variables, not of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `bool`, as 0 and 1.
    Bool,
    /// Mathematical integer; a value beyond the evaluator's range is reported, never wrapped.
    Int,
    /// `i8`, `i16`, `i32`, `i64`: wraps around.
    Signed(u8),
    /// `u8`, `u16`, `u32`, `u64`: wraps around. A `u64` is stored in an `i64` with the same bits.
    Unsigned(u8),
    /// The value of `let h = spawn …`; it can only be joined.
    Process,
    /// An `enum`, by its index in [`Program::enums`]; its members are 0, 1, 2, … in order.
    Enum(u16),
}

/// An `enum` declaration.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Its name.
    pub name: String,
    /// Its members, in order.
    pub members: Vec<String>,
}

/// How much of a statement is one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Atomicity {
    /// A statement is a step.
    #[default]
    Statement,
    /// Each read and each write of a shared variable is a step.
    Access,
}

/// A whole program, as [`crate::load`] returns it: declarations, processes and properties, and side
/// tables that map places of the text to what labels and analyses must know about them.
///
/// Names are resolved, types are known, and constructs that only abbreviate are expanded: `process
/// p (i in 0..2)` is two processes.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The `enum` declarations, in order.
    pub enums: Vec<Enum>,
    /// Shared variables, in order of declaration.
    pub vars: Vec<Var>,
    /// Locks and lock arrays, in order of declaration.
    pub locks: Vec<Lock>,
    /// Procedures, in order of declaration.
    pub procedures: Vec<Procedure>,
    /// The processes that exist from the start: process `k` of the schedule is `processes[k]`.
    pub processes: Vec<Process>,
    /// Assumptions on the initial state.
    pub requires: Vec<Property>,
    /// Conditions that must hold in every reachable state.
    pub invariants: Vec<Property>,
    /// Conditions that must hold in every final state.
    pub ensures: Vec<Property>,
    /// Conditions that must hold in some reachable state.
    pub covers: Vec<Property>,
    /// The object whose operations the file declares, and its specification.
    pub linearizable: Option<Linearizable>,
    /// The program that this one refines.
    pub refinement: Option<Refinement>,
    /// Properties that all runs must have.
    pub temporal: Vec<TemporalProperty>,
    /// The conditions of temporal properties, which refer to them by index. A condition is over
    /// shared variables and over the locals in `watched`, each named by its index there.
    pub conditions: Vec<Expr>,
    /// The locals of processes that temporal properties mention.
    pub watched: Vec<LocalOf>,
    /// The variables that are compared for determinism. By default, these are all variables except
    /// ghosts and those of synchronisation objects.
    pub observe: Option<Vec<VarId>>,
    /// The kinds of violations that the program is allowed to have.
    pub allowed: Kinds,
    /// Whether the file demands that all runs have the same result.
    pub expects_determinism: bool,
    /// The file's atomicity.
    pub atomicity: Atomicity,
    /// The goals to be proved, in the syntax of dynamic logic.
    pub goals: Vec<Goal>,
    /// The memory orders of accesses, by place: reads, assignments, and the `atomic` blocks that
    /// updates and fences are lowered to. Other accesses of an atomic variable are `seq_cst`.
    pub orders: FxHashMap<Span, AccessOrder>,
    /// The names of constants. Their values are folded, but labels show the names.
    pub constants: FxHashSet<String>,
    /// The places of expressions that the checker has expanded, such as `forall i in 0..N: e`.
    /// Labels show their text.
    pub expanded: FxHashSet<Span>,
    /// The places of statements that the checker has lowered, such as `acquire(s)`. Labels show
    /// their text. The conditions in the lowered code come from the checker, not from the file.
    pub lowered: FxHashSet<Span>,
    /// The places of `print` statements, each lowered to an assertion that holds and has a message.
    pub prints: FxHashSet<Span>,
    /// The place of each labelled statement, by its label.
    pub labels: FxHashMap<String, Span>,
    /// The places of the alternatives of `select`. Each place spans the condition and the statement
    /// of the same step. A test at such a place decides whether the alternative is chosen.
    pub alternatives: FxHashSet<Span>,
    /// Whether there are objects that identify processes by index, such as reader–writer locks. A
    /// copy of a process in a formula has no index, so `prove` refuses formulas about such a
    /// program.
    pub tells_processes_apart: bool,
    /// The arrays that are split into copies, in a program made for exploration
    /// (`run/symbolic/split.rs`); empty after loading.
    pub split: Vec<Split>,
    /// The variables that only properties and ghost assignments read. An assignment to them belongs
    /// to the step before it.
    pub ghosts: FxHashSet<VarId>,
    /// The sends and receives that may wait and touch only one end of a channel, with this end.
    pub ends: FxHashMap<Span, ChannelEnd>,
    /// The variables of each channel: the number of waiting messages, and the messages.
    pub channels: Vec<(VarId, Vec<VarId>)>,
    /// The places of the `assume` statements that check the limit of an unbounded channel, with
    /// this limit. If such an `assume` is false, the run ends and the verdict reports the limit.
    pub limits: FxHashMap<Span, u32>,
    /// The warnings about the text.
    pub warnings: Vec<Diagnostic>,
}

/// An end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelEnd {
    /// The number of waiting messages.
    pub count: VarId,
    /// Limit on the number of waiting messages.
    pub capacity: u32,
    /// Whether it is the sending end.
    pub sends: bool,
}

/// A copy of an array. Accesses by certain indices use the copy in place of the array.
#[derive(Clone, Debug)]
pub struct Split {
    /// The array of the text.
    pub array: VarId,
    /// The copy.
    pub copy: VarId,
    /// The indices by which the copy is accessed.
    pub indices: Vec<Expr>,
}

/// A `refines` declaration.
#[derive(Clone, Debug)]
pub struct Refinement {
    /// The file of the specification, relative to the folder of the program.
    pub file: String,
    /// The variables of the program, each with the corresponding variable of the specification.
    pub via: Vec<(String, String)>,
    /// Its place.
    pub span: Span,
}

/// A `prove` declaration.
#[derive(Clone, Debug)]
pub struct Goal {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The formula as written.
    pub formula: String,
    /// Its place.
    pub span: Span,
}

/// How the elements of a variable are named: `a[1][2]`, `q[3].from`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The sizes of its dimensions, the outermost first.
    pub dims: Vec<u32>,
    /// The text before, between and after the indices: one part more than there are dimensions.
    pub parts: Vec<String>,
}

impl Shape {
    /// Returns the shape of a variable with these dimensions and no fields.
    pub fn plain(name: &str, dims: Vec<u32>) -> Self {
        let mut parts = vec![String::new(); dims.len() + 1];
        parts[0] = name.to_owned();
        Self { dims, parts }
    }

    /// Returns the number of elements, if it is an array.
    pub fn elements(&self) -> Option<u32> {
        (!self.dims.is_empty()).then(|| self.dims.iter().product())
    }

    /// Returns the name of the element with these indices.
    pub fn named<S: AsRef<str>>(&self, indices: &[S]) -> String {
        let mut name = self.parts.first().cloned().unwrap_or_default();
        for (index, part) in indices.iter().zip(&self.parts[1..]) {
            name += &format!("[{}]{part}", index.as_ref());
        }
        name
    }

    /// Returns the name of the element at an index of the flat array.
    pub fn element(&self, at: u32) -> String {
        let mut rest = at;
        let mut indices: Vec<String> = Vec::with_capacity(self.dims.len());
        for &dim in self.dims.iter().skip(1).rev() {
            indices.push((rest % dim).to_string());
            rest /= dim;
        }
        if !self.dims.is_empty() {
            indices.push(rest.to_string());
        }
        indices.reverse();
        self.named(&indices)
    }

    /// Returns the values of all elements as a list of lists, such as `[[0, 1], [2, 3]]`. `show`
    /// gives the text of one element.
    pub fn list(&self, show: impl Fn(usize) -> String) -> String {
        let mut text = String::new();
        let len = self.elements().unwrap_or(1) as usize;
        for at in 0..len {
            text += if at > 0 { ", " } else { "" };
            // A bracket for each dimension that begins or ends at this element.
            let mut each = 1;
            let (mut opens, mut closes) = (0, 0);
            for &dim in self.dims.iter().rev() {
                each *= dim as usize;
                opens += usize::from(at.is_multiple_of(each));
                closes += usize::from((at + 1).is_multiple_of(each));
            }
            text.extend(std::iter::repeat_n('[', opens));
            text += &show(at);
            text.extend(std::iter::repeat_n(']', closes));
        }
        text
    }
}

/// A table of numbers that an index selects from. It is a constant array, or the list 0, 1, 2, … of
/// the valid indices of a dimension. Any other index fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// How the elements of the constant are named; `None` for a dimension.
    pub shape: Option<Shape>,
    /// The elements.
    pub values: Vec<i64>,
}

/// A shared variable or array.
#[derive(Clone, Debug)]
pub struct Var {
    /// Its name.
    pub name: String,
    /// How its elements are named.
    pub shape: Shape,
    /// Its type, or that of its elements.
    pub ty: Type,
    /// Whether it is `atomic`: concurrent accesses to it are no data races.
    pub atomic: bool,
    /// Whether it belongs to a synchronisation object. Such variables and locks are not compared
    /// for determinism.
    pub object: bool,
    /// For an object's variable with a flag for each process: whether the flags say which processes
    /// hold the object. If not, they say which processes wait for it. False for other variables.
    pub holds: bool,
    /// The number of elements, if it is an array.
    pub len: Option<u32>,
    /// The initial values (one, or one per element); `None` if symbolic.
    pub init: Option<Vec<i64>>,
    /// Where it is declared.
    pub span: Span,
}

/// A lock or an array of locks.
#[derive(Clone, Debug)]
pub struct Lock {
    /// Its name.
    pub name: String,
    /// The number of locks, if it is an array.
    pub len: Option<u32>,
    /// Where it is declared.
    pub span: Span,
}

/// A `requires`, `invariant`, `ensures` or `cover`.
#[derive(Clone, Debug)]
pub struct Property {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The condition, over shared variables.
    pub expr: Expr,
    /// Its place.
    pub span: Span,
}

/// A temporal property.
#[derive(Clone, Debug)]
pub struct TemporalProperty {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The formula, over [`Program::conditions`].
    pub says: Temporal,
    /// Its place.
    pub span: Span,
}

/// A local of a process that exists from the start.
#[derive(Clone, Debug)]
pub struct LocalOf {
    /// The process: its index in [`Program::processes`].
    pub process: u32,
    /// Its index in the frame of the process.
    pub local: LocalId,
    /// Its declaration in that frame.
    pub declared: Local,
}

/// A procedure. Its parameters are the first locals of its frame.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// Its name.
    pub name: String,
    /// How many locals of the frame are parameters.
    pub params: u32,
    /// Its locals.
    pub frame: Frame,
    /// The body.
    pub body: Vec<Stmt>,
}

/// A process that exists from the start.
#[derive(Clone, Debug)]
pub struct Process {
    /// The name in the source, if any.
    pub name: Option<String>,
    /// For an instance of `process p (i in a..b)`: the value of `i`.
    pub instance: Option<i64>,
    /// Its locals.
    pub frame: Frame,
    /// The body.
    pub body: Vec<Stmt>,
}

/// The locals of a process or procedure. A spawned block uses the numbering of the body that
/// contains it: it starts with a copy of that frame.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Every local of the body, including those of nested blocks, each with its own entry.
    pub locals: Vec<Local>,
}

/// A local variable.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name, which starts with `$` for a hidden local, such as a counter of rounds.
    pub name: String,
    /// How its elements are named.
    pub shape: Shape,
    /// Its type, or that of its elements.
    pub ty: Type,
    /// The number of elements, if it is an array.
    pub len: Option<u32>,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// The kind of the statement.
    pub kind: StmtKind,
    /// Its source text, for labels and messages.
    pub span: Span,
}

/// The target of an assignment.
#[derive(Clone, Debug)]
pub enum Place {
    /// A local variable.
    Local(LocalId),
    /// An element of a local array.
    LocalElement(LocalId, Expr),
    /// A shared variable.
    Shared(VarId),
    /// An element of a shared array.
    Element(VarId, Expr),
}

impl Program {
    /// Whether the variable with this index is part of the result: `observe` names it, or, by
    /// default, it is neither a ghost nor part of a synchronisation object.
    pub fn observes(&self, var: usize) -> bool {
        match &self.observe {
            Some(named) => named.iter().any(|id| id.0 as usize == var),
            None => !self.vars[var].object && !self.ghosts.contains(&VarId(var as u32)),
        }
    }

    /// Returns a value as the source would write it.
    pub fn show(&self, value: i64, ty: Type) -> String {
        match ty {
            Type::Enum(id) => {
                let member = usize::try_from(value).ok();
                let member = member.and_then(|at| self.enums[usize::from(id)].members.get(at));
                member.map_or_else(|| value.to_string(), String::clone)
            }
            Type::Bool => (value != 0).to_string(),
            Type::Unsigned(_) => (value as u64).to_string(),
            Type::Int | Type::Signed(_) | Type::Process => value.to_string(),
        }
    }

    /// Returns the type and the value of the `enum` member with this name.
    pub fn member(&self, name: &str) -> Option<(Type, i64)> {
        let of = |declared: &Enum| declared.members.iter().position(|member| member == name);
        let mut all = self.enums.iter().enumerate();
        let found = all.find_map(|(id, declared)| Some((id, of(declared)?)));
        found.map(|(id, at)| (Type::Enum(id as u16), at as i64))
    }
}

impl Place {
    /// Whether it is shared.
    pub fn is_shared(&self) -> bool {
        matches!(self, Place::Shared(_) | Place::Element(..))
    }

    /// Returns the index, if it is an element.
    pub fn index(&self) -> Option<&Expr> {
        match self {
            Place::LocalElement(_, index) | Place::Element(_, index) => Some(index),
            Place::Local(_) | Place::Shared(_) => None,
        }
    }
}

/// The kinds of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `skip`
    Skip,
    /// `end`: the process ends here.
    End,
    /// `{ … }`
    Block(Vec<Stmt>),
    /// `x, a[i] := e, f`, simultaneous.
    Assign(Vec<Place>, Vec<Expr>),
    /// `let x = e`; for an array, one value for each element.
    Let(LocalId, Vec<Expr>),
    /// `e |> s`; `await e` is `e |> skip`.
    Guard(Expr, Box<Stmt>),
    /// `s <| e |> t`
    Choice {
        /// The condition `e`.
        test: Expr,
        /// `s`, taken if `e` holds.
        then: Box<Stmt>,
        /// `t`, taken if it does not.
        other: Box<Stmt>,
    },
    /// `e |>* s`
    GuardedLoop(Expr, Box<Stmt>),
    /// `if e { … } else { … }`
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `while e { … }`
    While {
        /// The test.
        test: Expr,
        /// Limit on the number of iterations, and the hidden local that counts them.
        bound: Option<(i64, LocalId)>,
        /// Conditions that a proof may assume whenever the process is at the test; runs ignore
        /// them.
        invariants: Vec<Expr>,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `for x in a..b { … }`
    For {
        /// The counter.
        local: LocalId,
        /// A hidden local that holds the upper bound, which is read once.
        limit: LocalId,
        /// First value.
        from: Expr,
        /// The exclusive upper bound.
        to: Expr,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `spawn { … }` or `spawn p(…)`, with the local that holds the handle.
    Spawn(Option<LocalId>, Spawned),
    /// `join h`, or `join` for all children so far.
    Join(Option<LocalId>),
    /// `p(…)`, run by the caller.
    Call(ProcedureId, Vec<Expr>),
    /// `atomic { … }`
    Atomic(Vec<Stmt>),
    /// `lock(m)` or `lock(m[e])`
    Lock(LockId, Option<Expr>),
    /// `unlock(m)` or `unlock(m[e])`
    Unlock(LockId, Option<Expr>),
    /// `assert e, "message"`
    Assert(Expr, Option<Message>),
    /// `assume e`
    Assume(Expr),
    /// `error "message"`
    Error(Option<Message>),
    /// `break`, `continue`, `return`
    Leave(Leave),
}

/// The construct that a statement leaves early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// `break`: the innermost loop.
    Loop,
    /// `continue`: this round of the innermost loop.
    Round,
    /// `return`: the procedure.
    Procedure,
}

impl Leave {
    /// Every kind with its keyword.
    pub const ALL: [(&'static str, Self); 3] = [
        ("break", Self::Loop),
        ("continue", Self::Round),
        ("return", Self::Procedure),
    ];

    /// Returns the keyword.
    pub fn word(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, one)| *one == self);
        found.map_or("", |(word, _)| word)
    }
}

impl Stmt {
    /// Returns the statements directly inside it, and those of a block that it spawns.
    pub fn inner(&self) -> impl Iterator<Item = &Stmt> {
        let [first, second]: [&[Stmt]; 2] = match &self.kind {
            StmtKind::Block(body)
            | StmtKind::Atomic(body)
            | StmtKind::While { body, .. }
            | StmtKind::For { body, .. }
            | StmtKind::Spawn(_, Spawned::Block(body)) => [body, &[]],
            StmtKind::Guard(_, body) | StmtKind::GuardedLoop(_, body) => [from_ref(body), &[]],
            StmtKind::Choice { then, other, .. } => [from_ref(then), from_ref(other)],
            StmtKind::If(_, then, other) => [then, other],
            _ => [&[], &[]],
        };
        first.iter().chain(second)
    }

    /// Returns its own expressions in the order of the text, without those of nested statements and
    /// without the invariants of loops.
    pub fn exprs(&self) -> Vec<&Expr> {
        match &self.kind {
            StmtKind::Assign(places, values) => places
                .iter()
                .filter_map(Place::index)
                .chain(values)
                .collect(),
            StmtKind::Let(_, values)
            | StmtKind::Call(_, values)
            | StmtKind::Spawn(_, Spawned::Call(_, values)) => values.iter().collect(),
            StmtKind::Guard(test, _)
            | StmtKind::GuardedLoop(test, _)
            | StmtKind::Choice { test, .. }
            | StmtKind::If(test, ..)
            | StmtKind::While { test, .. }
            | StmtKind::Assert(test, _)
            | StmtKind::Assume(test) => vec![test],
            StmtKind::For { from, to, .. } => vec![from, to],
            StmtKind::Lock(_, index) | StmtKind::Unlock(_, index) => index.iter().collect(),
            StmtKind::Skip
            | StmtKind::End
            | StmtKind::Block(_)
            | StmtKind::Atomic(_)
            | StmtKind::Spawn(_, Spawned::Block(_))
            | StmtKind::Join(_)
            | StmtKind::Error(_)
            | StmtKind::Leave(_) => Vec::new(),
        }
    }

    /// Calls `visit` on it and on all statements inside it.
    pub fn walk(&self, visit: &mut dyn FnMut(&Stmt)) {
        visit(self);
        self.inner().for_each(|stmt| stmt.walk(visit));
    }
}

/// The message of an `assert` or `error`, which may name values: `"saw {x}"`. Its `Display` shows
/// the text as written, with `{x}`.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// Its parts, in order.
    pub parts: Vec<MessagePart>,
}

/// A part of a message.
#[derive(Clone, Debug)]
pub enum MessagePart {
    /// Text.
    Text(String),
    /// A value, and its name in the source.
    Value(String, Expr),
}

impl Message {
    /// Returns the message with its values shown by `value`.
    pub fn with(&self, mut value: impl FnMut(&str, &Expr) -> String) -> String {
        let part = |part: &MessagePart| match part {
            MessagePart::Text(text) => text.clone(),
            MessagePart::Value(name, expr) => value(name, expr),
        };
        self.parts.iter().map(part).collect()
    }
}

impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.with(|name, _| format!("{{{name}}}")))
    }
}

/// The code that a `spawn` starts.
#[derive(Clone, Debug)]
pub enum Spawned {
    /// A block, with a copy of the parent's locals.
    Block(Vec<Stmt>),
    /// A procedure with arguments, which the parent evaluates in the spawning step.
    Call(ProcedureId, Vec<Expr>),
}

/// A typed expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The kind of the expression.
    pub kind: ExprKind,
    /// The type of its value.
    pub ty: Type,
    /// Its place.
    pub span: Span,
}

impl Expr {
    /// Whether both compute the same value from the same variables. Their places may differ.
    pub fn same(&self, other: &Expr) -> bool {
        self.ty == other.ty
            && match (&self.kind, &other.kind) {
                (ExprKind::Const(a), ExprKind::Const(b)) => a == b,
                (ExprKind::Shared(a), ExprKind::Shared(b)) => a == b,
                (ExprKind::Unary(op, a), ExprKind::Unary(other, b)) => op == other && a.same(b),
                (ExprKind::Binary(op, a, b), ExprKind::Binary(other, c, d)) => {
                    op == other && a.same(c) && b.same(d)
                }
                // The other kinds are never compared.
                _ => false,
            }
    }

    /// Returns its number of nodes.
    pub fn size(&self) -> usize {
        let mut count = 0;
        self.walk(&mut |_| count += 1);
        count
    }

    /// Returns the height of its tree.
    pub fn depth(&self) -> usize {
        1 + match &self.kind {
            ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Shared(_) | ExprKind::Input => 0,
            ExprKind::LocalElement(_, e)
            | ExprKind::Element(_, e)
            | ExprKind::Table(_, e)
            | ExprKind::Unary(_, e) => e.depth(),
            ExprKind::Binary(_, a, b) | ExprKind::Choose(a, b) => a.depth().max(b.depth()),
            ExprKind::If(a, b, c) => a.depth().max(b.depth()).max(c.depth()),
        }
    }

    /// Calls `visit` on it and on all expressions inside it.
    pub fn walk(&self, visit: &mut impl FnMut(&Expr)) {
        visit(self);
        match &self.kind {
            ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Shared(_) | ExprKind::Input => {}
            ExprKind::LocalElement(_, e)
            | ExprKind::Element(_, e)
            | ExprKind::Table(_, e)
            | ExprKind::Unary(_, e) => e.walk(visit),
            ExprKind::Binary(_, a, b) | ExprKind::Choose(a, b) => {
                a.walk(visit);
                b.walk(visit);
            }
            ExprKind::If(a, b, c) => {
                a.walk(visit);
                b.walk(visit);
                c.walk(visit);
            }
        }
    }
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A literal, a constant or a process parameter; `true` is 1.
    Const(i64),
    /// A local variable.
    Local(LocalId),
    /// An element of a local array.
    LocalElement(LocalId, Box<Expr>),
    /// A shared variable.
    Shared(VarId),
    /// An element of a shared array.
    Element(VarId, Box<Expr>),
    /// An element of a constant array, or an index checked against the size of a dimension.
    Table(Arc<Table>, Box<Expr>),
    /// `!e`, `-e` or `~e`
    Unary(UnaryOp, Box<Expr>),
    /// `e + f` and so on; `&&` and `||` evaluate their right side only if needed.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `if e then f else g`
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `input(T)`, where T is the type of the expression.
    Input,
    /// `choose(a..b)`
    Choose(Box<Expr>, Box<Expr>),
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `!`
    Not,
    /// `-`
    Neg,
    /// `~`, for machine integers.
    BitNot,
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
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

impl BinaryOp {
    /// Whether it works on the bits of machine integers.
    pub fn is_bitwise(self) -> bool {
        use BinaryOp::{BitAnd, BitOr, BitXor, Shl, Shr};
        matches!(self, BitAnd | BitOr | BitXor | Shl | Shr)
    }
}
