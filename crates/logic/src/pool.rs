//! The state of a sequent: the values of the variables, and the remaining work of each thread.
//!
//! | paper | here |
//! |---|---|
//! | σ | [`State::cells`], and the locals of each thread |
//! | ⌈φ⌉ | [`State::condition`] |
//! | Σ | [`State::threads`] |
//! | ι(s) | [`Thread`], its statements in [`Thread::work`] |

use std::hash::{Hash, Hasher};
use std::rc::Rc;

use mazurka_core::proof::Rule;
use mazurka_core::{ProcessId, ProcessTable};
use mazurka_lang::hir::{Frame, LocalId, Procedure, Process, Program, Stmt, StmtKind, Type};
use mazurka_lang::shared::Shared;
use mazurka_smt::{Kind, Sort, Term, Terms};
use rustc_hash::FxHasher;

/// An item of the remaining work of a thread. Two items are equal if they hold the same statement
/// at the same place of the program.
#[derive(Clone, Debug)]
pub(crate) enum WorkItem<'p> {
    /// Execute this statement.
    Do(&'p Stmt),
    /// Test this `while`, which has been entered.
    Again(&'p Stmt),
    /// Start the next round of this `for`, if there is one.
    Round(&'p Stmt),
    /// End a round of this `for`.
    Count(&'p Stmt),
    /// Return to the caller, which has these locals.
    Return(&'p Frame, Rc<[Term]>),
}

impl PartialEq for WorkItem<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (WorkItem::Do(a), WorkItem::Do(b))
            | (WorkItem::Again(a), WorkItem::Again(b))
            | (WorkItem::Count(a), WorkItem::Count(b))
            | (WorkItem::Round(a), WorkItem::Round(b)) => std::ptr::eq(*a, *b),
            (WorkItem::Return(a, x), WorkItem::Return(b, y)) => std::ptr::eq(*a, *b) && x == y,
            _ => false,
        }
    }
}

/// A process that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thread<'p> {
    pub process: ProcessId,
    /// The remaining work, as a stack: the last item is next.
    pub work: Vec<WorkItem<'p>>,
    pub frame: FrameRef<'p>,
    pub locals: Vec<Term>,
    /// The number of processes that it has spawned.
    pub children: u32,
    /// The number of `choose` expressions that it has evaluated.
    pub choices: u32,
    /// The number of inputs that it has read.
    pub inputs: u32,
    /// The number of boxes around the box in which the thread runs. The outcomes and inputs of
    /// different boxes have different variables.
    pub depth: u32,
    /// The number of its events.
    pub events: u32,
}

impl<'p> Thread<'p> {
    /// Makes an initial process.
    pub fn new(number: usize, process: &'p Process, depth: u32) -> Self {
        Self {
            process: ProcessId(number as u32),
            work: process.body.iter().rev().map(WorkItem::Do).collect(),
            frame: FrameRef(&process.frame),
            locals: vec![Term::FALSE; frame_size(&process.frame)],
            children: 0,
            choices: 0,
            inputs: 0,
            depth,
            events: 0,
        }
    }

    /// Makes a process that this process starts. Its name consists of the name of this process and
    /// the number of earlier children.
    pub fn child(
        &mut self,
        table: &mut ProcessTable,
        body: &'p [Stmt],
        frame: FrameRef<'p>,
        locals: Vec<Term>,
    ) -> Self {
        let process = table.child(self.process, self.children);
        self.children += 1;
        Self {
            process,
            work: body.iter().rev().map(WorkItem::Do).collect(),
            frame,
            locals,
            children: 0,
            choices: 0,
            inputs: 0,
            depth: self.depth,
            events: 0,
        }
    }

    /// Whether it is at the same point as another thread, regardless of the values of locals.
    pub fn same_point(&self, other: &Self) -> bool {
        let same = |(item, other): (&WorkItem<'p>, &WorkItem<'p>)| match (item, other) {
            (WorkItem::Return(a, _), WorkItem::Return(b, _)) => std::ptr::eq(*a, *b),
            (a, b) => a == b,
        };
        self.frame == other.frame
            && self.work.len() == other.work.len()
            && self.work.iter().zip(&other.work).all(same)
    }

    /// Puts these statements before the remaining work.
    pub fn push(&mut self, stmts: &'p [Stmt]) {
        self.work.extend(stmts.iter().rev().map(WorkItem::Do));
    }

    pub fn get(&self, local: LocalId) -> Term {
        self.locals[local_range(self.frame.0, local).0]
    }

    pub fn set(&mut self, local: LocalId, values: &[Term]) {
        let first = local_range(self.frame.0, local).0;
        self.locals[first..first + values.len()].copy_from_slice(values);
    }

    /// Enters a procedure, which will return to the current locals.
    pub fn enter(&mut self, procedure: &'p Procedure, args: Vec<Term>) {
        let locals = std::mem::replace(&mut self.locals, filled(args, &procedure.frame));
        self.work
            .push(WorkItem::Return(self.frame.0, locals.into()));
        self.frame = FrameRef(&procedure.frame);
        self.push(&procedure.body);
    }

    /// Returns to the caller.
    pub fn leave(&mut self, frame: &'p Frame, locals: &[Term]) {
        self.frame = FrameRef(frame);
        self.locals = locals.to_vec();
    }
}

/// Returns the locals of a procedure with these arguments.
pub(crate) fn filled(mut args: Vec<Term>, frame: &Frame) -> Vec<Term> {
    args.resize(frame_size(frame), Term::FALSE);
    args
}

/// Returns the number of rounds that a bounded loop has left. The counter is always a constant: it
/// is set when the loop is entered, and counts down.
pub(crate) fn rounds_left(thread: &Thread<'_>, counter: LocalId, terms: &Terms) -> i64 {
    terms.value(thread.get(counter)).unwrap_or(0)
}

/// Returns the rule of the next step of a thread; `None` if it is not at a step.
pub(crate) fn rule(thread: &Thread<'_>, terms: &Terms) -> Option<Rule> {
    let (WorkItem::Do(stmt) | WorkItem::Again(stmt)) = thread.work.last()? else {
        return None;
    };
    Some(match &stmt.kind {
        StmtKind::Assign(..) | StmtKind::Let(..) => Rule::Assign,
        StmtKind::If(..) => Rule::Cond,
        StmtKind::While { bound, .. } => match bound {
            Some((_, counter)) if rounds_left(thread, *counter, terms) == 0 => Rule::Spent,
            _ => Rule::While,
        },
        StmtKind::For { .. } => Rule::For,
        StmtKind::Call(..) => Rule::Call,
        StmtKind::Guard(..) => Rule::Guard,
        StmtKind::Choice { .. } => Rule::Choice,
        StmtKind::GuardedLoop(..) => Rule::Loop,
        StmtKind::Spawn(..) => Rule::Spawn,
        StmtKind::Join(_) => Rule::Join,
        StmtKind::Lock(..) => Rule::Lock,
        StmtKind::Unlock(..) => Rule::Unlock,
        StmtKind::Atomic(_) => Rule::Atomic,
        StmtKind::Assert(..) => Rule::Assert,
        StmtKind::Assume(_) => Rule::Assume,
        StmtKind::Skip
        | StmtKind::End
        | StmtKind::Block(_)
        | StmtKind::Error(_)
        | StmtKind::Leave(_) => return None,
    })
}

/// Whether an item is a step. Local work is not a step. An item that only contains steps, such as a
/// block, is not a step either. The test of a loop with an invariant is always a step, even if it
/// reads only locals.
pub(crate) fn is_step(item: &WorkItem<'_>, shared: &Shared<'_>) -> bool {
    match item {
        WorkItem::Round(_) | WorkItem::Count(_) | WorkItem::Return(..) => false,
        WorkItem::Again(stmt) => match &stmt.kind {
            StmtKind::While {
                test,
                bound,
                invariants,
                ..
            } => shared.expr(test) || (bound.is_none() && !invariants.is_empty()),
            _ => false,
        },
        WorkItem::Do(stmt) => match &stmt.kind {
            StmtKind::Block(_) | StmtKind::While { .. } => false,
            StmtKind::If(test, ..) => shared.expr(test),
            StmtKind::For { from, to, .. } => shared.expr(from) || shared.expr(to),
            StmtKind::Call(_, args) => args.iter().any(|arg| shared.expr(arg)),
            _ => shared.stmt(stmt),
        },
    }
}

/// A reference to a frame. Two references are equal if they refer to the same frame of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameRef<'p>(pub &'p Frame);

impl PartialEq for FrameRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

/// The state of a sequent: everything before its box except Γ.
#[derive(Clone, Debug)]
pub(crate) struct State<'p> {
    pub cells: Vec<Term>,
    /// The holder of each lock.
    pub locks: Vec<Option<ProcessId>>,
    /// The threads that have not ended, in the order of their indices. A step changes only the
    /// thread that makes it, so goals share the other threads.
    pub threads: Vec<Rc<Thread<'p>>>,
    /// The assumptions so far, in order.
    pub condition: Vec<Term>,
}

impl<'p> State<'p> {
    /// Makes a state without threads.
    pub fn new(cells: Vec<Term>, layout: &Layout) -> Self {
        Self {
            cells,
            locks: vec![None; layout.lock_cells],
            threads: Vec::new(),
            condition: Vec::new(),
        }
    }

    /// Returns the index of the thread of a process in `threads`. The thread must not have been
    /// removed.
    pub fn position(&self, process: ProcessId) -> usize {
        let found = self.threads.iter().position(|t| t.process == process);
        found.expect("a thread that makes a step is there")
    }

    pub fn thread(&mut self, process: ProcessId) -> &mut Thread<'p> {
        let at = self.position(process);
        Rc::make_mut(&mut self.threads[at])
    }

    pub fn add(&mut self, thread: Thread<'p>) {
        self.threads.push(Rc::new(thread));
        self.threads.sort_by_key(|thread| thread.process);
    }

    /// Whether a process has work left.
    pub fn lives(&self, process: ProcessId) -> bool {
        let mut threads = self.threads.iter();
        threads.any(|thread| thread.process == process && !thread.work.is_empty())
    }

    /// Whether the threads are at the same points, regardless of values.
    pub fn same_points(&self, other: &Self) -> bool {
        let same = |a: &Thread<'p>, b: &Thread<'p>| {
            a.process == b.process && a.children == b.children && a.same_point(b)
        };
        self.locks == other.locks
            && self.threads.len() == other.threads.len()
            && self
                .threads
                .iter()
                .zip(&other.threads)
                .all(|(a, b)| same(a, b))
    }

    /// Returns a hash of the points and values.
    pub fn key(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.values().for_each(|value| value.hash(&mut hasher));
        self.hash_points(&mut hasher);
        hasher.finish()
    }

    /// Returns a hash of the points.
    pub fn points_key(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.hash_points(&mut hasher);
        hasher.finish()
    }

    fn hash_points(&self, hasher: &mut FxHasher) {
        self.locks.hash(hasher);
        for thread in &self.threads {
            thread.process.hash(hasher);
            for item in &thread.work {
                if let WorkItem::Do(stmt)
                | WorkItem::Again(stmt)
                | WorkItem::Round(stmt)
                | WorkItem::Count(stmt) = item
                {
                    std::ptr::from_ref::<Stmt>(stmt).hash(hasher);
                }
            }
        }
    }

    /// Returns every value of the state: the shared cells, then the locals of each thread and of
    /// its callers.
    pub fn values(&self) -> impl Iterator<Item = Term> + '_ {
        let locals = self.threads.iter().flat_map(|thread| {
            let saved = thread.work.iter().filter_map(|item| match item {
                WorkItem::Return(_, saved) => Some(saved.iter().copied()),
                _ => None,
            });
            thread.locals.iter().copied().chain(saved.flatten())
        });
        self.cells.iter().copied().chain(locals)
    }

    /// Returns a state at the same points with other values, given in the order of
    /// [`values`](Self::values).
    pub fn with_values(&self, values: &mut impl Iterator<Item = Term>) -> Self {
        let mut new = self.clone();
        let mut next = || values.next().expect("as many values as there are places");
        new.cells.iter_mut().for_each(|cell| *cell = next());
        for thread in new.threads.iter_mut().map(Rc::make_mut) {
            thread.locals.iter_mut().for_each(|local| *local = next());
            for item in &mut thread.work {
                if let WorkItem::Return(_, saved) = item {
                    *saved = saved.iter().map(|_| next()).collect();
                }
            }
        }
        new
    }
}

/// The positions of variables, locks and locals.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// For each shared variable, its first cell and its number of cells.
    pub vars: Vec<(usize, usize)>,
    /// For each lock, its first cell and its number of cells. Locks are numbered separately.
    pub locks: Vec<(usize, usize)>,
    pub cells: usize,
    pub lock_cells: usize,
}

impl Layout {
    pub fn new(program: &Program) -> Self {
        let place = |lengths: Vec<usize>| {
            let mut first = 0;
            let mut all = Vec::new();
            for length in lengths {
                all.push((first, length));
                first += length;
            }
            (all, first)
        };
        let length = |len: Option<u32>| len.map_or(1, |len| len as usize);
        let (vars, cells) = place(program.vars.iter().map(|v| length(v.len)).collect());
        let (locks, lock_cells) = place(program.locks.iter().map(|l| length(l.len)).collect());
        Self {
            vars,
            locks,
            cells,
            lock_cells,
        }
    }
}

/// Returns the position of a local in its frame, and its number of values.
pub(crate) fn local_range(frame: &Frame, local: LocalId) -> (usize, usize) {
    let length = |len: Option<u32>| len.map_or(1, |len| len as usize);
    let before = &frame.locals[..local.0 as usize];
    let first = before.iter().map(|l| length(l.len)).sum();
    (first, length(frame.locals[local.0 as usize].len))
}

/// Returns the number of values of a frame.
pub(crate) fn frame_size(frame: &Frame) -> usize {
    let length = |len: Option<u32>| len.map_or(1, |len| len as usize);
    frame.locals.iter().map(|l| length(l.len)).sum()
}

/// Returns the sort of the values of a type.
pub(crate) fn sort(ty: Type) -> Sort {
    match ty {
        Type::Bool => Sort::Bool,
        Type::Int | Type::Process | Type::Enum(_) => Sort::Int,
        Type::Signed(bits) => Sort::Signed(bits),
        Type::Unsigned(bits) => Sort::Unsigned(bits),
    }
}

/// Returns the initial values: constants for the values in the file, and variables for the others.
pub(crate) fn initial_cells(program: &Program, terms: &mut Terms) -> Vec<Term> {
    let mut cells = Vec::new();
    for var in &program.vars {
        for at in 0..var.len.unwrap_or(1) as usize {
            cells.push(match &var.init {
                Some(values) => {
                    let value = values.get(at).or(values.first());
                    terms.constant(sort(var.ty), value.copied().unwrap_or(0))
                }
                None => {
                    let name = var.shape.element(at as u32);
                    terms.variable(Kind::Initial, &name, sort(var.ty))
                }
            });
        }
    }
    cells
}
