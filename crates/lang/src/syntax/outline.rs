//! The places of the statements of a program, for tools that change the text of a program and keep
//! its comments and layout, such as `repair`.

use mazurka_diagnostics::Span;

use super::ast::{Item, Spawned, Stmt, StmtKind};
use super::parser::parse;

/// The parts of a program that an edit may touch.
///
/// ```
/// use mazurka_lang::outline::{Outline, Role};
///
/// let source = "var x: int = 0  lock m  process { lock(m); if x == 0 { x := 1 }; unlock(m) }";
/// let outline = Outline::read(source).unwrap();
/// assert_eq!(outline.locks, [("m".to_owned(), false)]);
/// let block = &outline.bodies[0].block;
/// assert_eq!(block[1].span.text(source), "if x == 0 { x := 1 }");
/// assert_eq!(block[1].blocks[0][0].role, Role::Step);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Outline {
    /// The bodies of processes and procedures, in the order of the text.
    pub bodies: Vec<Body>,
    /// The locks, and whether each is an array.
    pub locks: Vec<(String, bool)>,
    /// The shared variables that are not ghosts.
    pub variables: Vec<String>,
    /// Semaphores, condition variables, channels and the like.
    pub objects: Vec<String>,
    /// The procedures and functions. The text of a call does not show what the call accesses.
    pub callables: Vec<String>,
    /// The number of items of the file.
    pub items: usize,
    /// The positions in bytes of two names: of the first and of the last variable or lock that is
    /// declared before the first body. `None` if there are no such declarations.
    pub variable_places: Option<(usize, usize)>,
}

/// The body of a process or a procedure.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its statements.
    pub block: Block,
}

/// A sequence of statements.
pub type Block = Vec<Statement>;

/// A statement, with the blocks inside it.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its place, without the `;` after it.
    pub span: Span,
    /// Its kind.
    pub role: Role,
    /// The blocks directly inside it.
    pub blocks: Vec<Block>,
}

/// The kind of a statement, as far as edits must distinguish it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// `lock(m)`, `lock(m[e])`: the name, and the place of the index.
    Lock(String, Option<Span>),
    /// `unlock(m)`
    Unlock(String),
    /// An assignment, a call or another statement without nested statements.
    Step,
    /// `assert`, `assume` or `error`, which state a property of the program.
    Assert,
    /// `let` and `try`, which may declare a variable for later statements.
    Let,
    /// `e |> s`, `await e` and the like, which already have a condition.
    Guarded,
    /// `spawn`, with or without a handle.
    Spawn,
    /// `join`
    Join,
    /// `break`, `return`, `end` and the like.
    Leave,
    /// A statement with nested statements.
    Compound,
}

impl Outline {
    /// Parses a program; `None` if it has mistakes.
    pub fn read(source: &str) -> Option<Self> {
        let parsed = parse(source);
        if !parsed.diagnostics.is_empty() {
            return None;
        }
        let mut outline = Outline {
            items: parsed.file.items.len(),
            ..Outline::default()
        };
        for item in &parsed.file.items {
            let named = match item {
                Item::Var { names, .. } => names.last(),
                Item::Lock { name, .. } => Some(name),
                _ => None,
            };
            if let Some(name) = named.filter(|_| outline.bodies.is_empty()) {
                let place = name.span.start as usize;
                let first = outline.variable_places.map_or(place, |(first, _)| first);
                outline.variable_places = Some((first, place));
            }
            match item {
                Item::Var { names, .. } => {
                    let names = names.iter().map(|name| name.text.to_owned());
                    outline.variables.extend(names);
                }
                Item::Ghosts(names) => {
                    let is_ghost = |known: &String| names.iter().any(|name| name.text == known);
                    outline.variables.retain(|known| !is_ghost(known));
                }
                Item::Lock { name, len } => {
                    outline.locks.push((name.text.to_owned(), len.is_some()));
                }
                Item::Object(object) => outline.objects.push(object.name.text.to_owned()),
                Item::Function(function) => {
                    outline.callables.push(function.name.text.to_owned());
                }
                Item::Proc { name, body, .. } => {
                    outline.callables.push(name.text.to_owned());
                    outline.bodies.push(Body { block: block(body) });
                }
                Item::Process { body, .. } => outline.bodies.push(Body { block: block(body) }),
                _ => {}
            }
        }
        Some(outline)
    }
}

fn block(statements: &[Stmt<'_>]) -> Block {
    statements.iter().map(statement).collect()
}

fn statement(statement: &Stmt<'_>) -> Statement {
    let block_of = |inner: &Stmt<'_>| match &inner.kind {
        StmtKind::Block(body) => block(body),
        _ => Vec::new(),
    };
    let (role, blocks) = match &statement.kind {
        StmtKind::Lock(name, index) => {
            let index = index.as_ref().map(|index| index.span);
            (Role::Lock(name.text.to_owned(), index), Vec::new())
        }
        StmtKind::Unlock(name, _) => (Role::Unlock(name.text.to_owned()), Vec::new()),
        StmtKind::Let { .. } | StmtKind::Try(..) => (Role::Let, Vec::new()),
        StmtKind::Guard(_, inner) | StmtKind::GuardedLoop(_, inner) => {
            (Role::Guarded, vec![block_of(inner)])
        }
        StmtKind::Choice { then, other, .. } => {
            (Role::Guarded, vec![block_of(then), block_of(other)])
        }
        StmtKind::Spawn(_, Spawned::Block(body)) => (Role::Spawn, vec![block(body)]),
        StmtKind::Spawn(..) => (Role::Spawn, Vec::new()),
        StmtKind::Join(_) => (Role::Join, Vec::new()),
        StmtKind::Assert(..) | StmtKind::Assume(_) | StmtKind::Error(_) => {
            (Role::Assert, Vec::new())
        }
        StmtKind::End | StmtKind::Leave(_) | StmtKind::Return(_) => (Role::Leave, Vec::new()),
        StmtKind::Block(body) | StmtKind::Atomic(body) => (Role::Compound, vec![block(body)]),
        StmtKind::While { body, .. } | StmtKind::For { body, .. } => {
            (Role::Compound, vec![block(body)])
        }
        StmtKind::If(_, then, other) => (Role::Compound, vec![block(then), block(other)]),
        StmtKind::Match(_, cases) => {
            let bodies = cases.cases.iter().map(|(_, body)| block(body));
            (Role::Compound, bodies.collect())
        }
        StmtKind::Select(..) | StmtKind::Labelled(..) | StmtKind::Poison => {
            (Role::Compound, Vec::new())
        }
        _ => (Role::Step, Vec::new()),
    };
    Statement {
        span: statement.span,
        role,
        blocks,
    }
}
