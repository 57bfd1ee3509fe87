//! From the checked program to code.
//!
//! One pass over the tree. In atomicity statement a statement that can touch something shared or
//! can block gets one mark. In atomicity access each read and each write of a shared variable
//! gets its own: the reads of an expression are *hoisted* into temporaries, in order of
//! evaluation, and what is left is local.

use std::sync::Arc;

use mazurka_core::Wait;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::claims;
use crate::code::{
    Action, Arith, Checked, Code, Compare, Entry, Layout, Note, Op, Range, StepInfo, Waits,
};
use crate::diagnostic::Diagnostic;
use crate::hir::{
    Atomicity, BinaryOp, Expr, ExprKind, Frame, LocalId, Place, Program, Property, Spawned, Stmt,
    StmtKind, Type, UnaryOp,
};
use crate::interpret;
use crate::liveness::{self, Live};
use crate::loops;
use crate::refuse;
use crate::shared::Shared;
use crate::source::Span;

/// Compiles a program to run and explore it. What cannot be explored (yet) is refused: inputs, symbolic
/// initial values, and initial values that break a `requires`.
///
/// ```
/// let source = "var x: int = 0; process { x := x + 1 }";
/// let program = mazurka_lang::load(source, &[]).unwrap();
/// assert!(mazurka_lang::compile(&program, source).is_ok());
///
/// let source = "var x: int; process { x := x + 1 }";
/// let program = mazurka_lang::load(source, &[]).unwrap();
/// let refused = mazurka_lang::compile(&program, source).unwrap_err();
/// assert!(refused[0].help.as_ref().unwrap().contains("--set x="));
/// ```
pub fn compile(program: &Program, source: &str) -> Result<Code, Vec<Diagnostic>> {
    let refused = refuse::unexplorable(program);
    if !refused.is_empty() {
        return Err(refused);
    }
    let code = Compiler::new(program, source).compile();
    let broken = refuse::broken_requires(program, |property| {
        interpret::evaluate(&property_code(&code, property), &code.initial) != Ok(0)
    });
    if broken.is_empty() {
        Ok(code)
    } else {
        Err(broken)
    }
}

/// The code of a property, outside of any process.
fn property_code(code: &Code, property: &Property) -> Vec<Op> {
    let mut compiler = Compiler::new(&code.program, &code.source);
    compiler.snippet(&property.expr)
}

/// What the analysis of claims must know about an instruction with an index.
pub(crate) struct Index {
    /// The index as a snippet, and the slots that it reads; none if it reads shared memory.
    pub local: Option<(u32, Vec<u32>)>,
}

pub(crate) struct Compiler<'a> {
    program: &'a Program,
    shared: Shared<'a>,
    code: Code,
    indices: FxHashMap<u32, Index>,
    /// The span that new instructions belong to.
    span: Span,
    /// The body that is being compiled.
    body: u32,
    temporaries: Vec<LocalId>,
    temporaries_used: usize,
    frame: u32,
    /// Spawned blocks still to be compiled, with the instruction that starts them.
    blocks: Vec<(u32, &'a [Stmt])>,
    /// Inside `atomic` all accesses belong to one step anyway.
    whole: bool,
    /// Whether a guard may have opened the step that runs here.
    maybe_open: bool,
}

impl<'a> Compiler<'a> {
    fn new(program: &'a Program, source: &str) -> Self {
        let mut initial = Vec::new();
        let mut first_cells = Vec::new();
        for var in &program.vars {
            first_cells.push(initial.len() as u32);
            let len = var.len.unwrap_or(1) as usize;
            match &var.init {
                Some(values) => initial.extend(values),
                None => initial.resize(initial.len() + len, 0),
            }
        }
        let first_lock = initial.len() as u32;
        let mut lock_cells = Vec::new();
        for lock in &program.locks {
            lock_cells.push(initial.len() as u32);
            initial.resize(initial.len() + lock.len.unwrap_or(1) as usize, 0);
        }
        let shared = Shared::new(program);
        let code = Code {
            ops: Vec::new(),
            spans: Vec::new(),
            bodies: Vec::new(),
            layouts: Vec::new(),
            notes: FxHashMap::default(),
            messages: FxHashMap::default(),
            snippets: Vec::new(),
            steps: Vec::new(),
            procedures: Vec::new(),
            processes: Vec::new(),
            watched: vec![SmallVec::new(); initial.len()],
            initial,
            first_lock,
            invariants: Vec::new(),
            ensures: Vec::new(),
            observed: Vec::new(),
            program: Arc::new(Program::default()),
            source: source.into(),
            first_cells,
            lock_cells,
            states_property: !program.invariants.is_empty() || !program.ensures.is_empty(),
            guards: mazurka_core::Claims::new(),
            may_loop: false,
            live: Live::default(),
        };
        Self {
            program,
            shared,
            code,
            indices: FxHashMap::default(),
            span: Span::default(),
            body: 0,
            temporaries: Vec::new(),
            temporaries_used: 0,
            frame: 0,
            blocks: Vec::new(),
            whole: false,
            maybe_open: false,
        }
    }

    fn compile(mut self) -> Code {
        let program = self.program;
        for property in &program.invariants {
            let checked = self.property(property);
            let number = self.code.invariants.len() as u32;
            for cell in self.cells_read(&property.expr) {
                self.code.watched[cell as usize].push(number);
            }
            self.code.invariants.push(checked);
        }
        for property in &program.ensures {
            let checked = self.property(property);
            self.code.ensures.push(checked);
        }
        for procedure in &program.procedures {
            let entry = self.body(&procedure.frame, &procedure.body, Op::Return);
            self.code.procedures.push(Entry {
                params: procedure.params,
                ..entry
            });
        }
        for process in &program.processes {
            let entry = self.body(&process.frame, &process.body, Op::End);
            self.code.processes.push(entry);
        }
        let all: Vec<_> = (0..program.vars.len() as u32).collect();
        let observed = program
            .observe
            .as_ref()
            .map_or(all, |vars| vars.iter().map(|v| v.0).collect());
        for var in observed {
            let first = self.code.first_cells[var as usize];
            let len = program.vars[var as usize].len.unwrap_or(1);
            self.code.observed.extend(first..first + len);
        }
        self.code.program = Arc::new(program.clone());
        self.code.may_loop = loops::may_loop(program, &self.shared);
        claims::analyse(&mut self.code, &self.indices);
        self.code.live = liveness::analyse(&self.code);
        self.code
    }

    fn property(&mut self, property: &Property) -> Checked {
        let ops = self.snippet(&property.expr);
        self.code.snippets.push(ops);
        Checked {
            snippet: self.code.snippets.len() as u32 - 1,
            name: property.name.clone(),
            span: property.span,
        }
    }

    /// The cells that an expression may read; an array with an index that is not constant counts whole.
    fn cells_read(&self, expr: &Expr) -> Vec<u32> {
        let mut cells = Vec::new();
        expr.walk(&mut |e| match &e.kind {
            ExprKind::Shared(var) => cells.push(self.code.first_cells[var.0 as usize]),
            ExprKind::Element(var, index) => {
                let range = self.range(var.0);
                match index.kind {
                    ExprKind::Const(at) if (0..i64::from(range.len)).contains(&at) => {
                        cells.push(range.first + at as u32);
                    }
                    _ => cells.extend(range.first..range.first + range.len),
                }
            }
            _ => {}
        });
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    fn range(&self, var: u32) -> Range {
        Range {
            first: self.code.first_cells[var as usize],
            len: self.program.vars[var as usize].len.unwrap_or(1),
        }
    }

    // Bodies.

    fn body(&mut self, frame: &Frame, stmts: &'a [Stmt], last: Op) -> Entry {
        self.body = self.code.layouts.len() as u32;
        let mut slots = Vec::new();
        self.frame = 0;
        for local in &frame.locals {
            slots.push(self.frame);
            self.frame += local.len.unwrap_or(1);
        }
        self.code.layouts.push(Layout {
            names: frame.locals.clone(),
            slots,
        });
        self.temporaries.clear();
        let pc = self.here();
        // A procedure may be the first step of a guarded call.
        self.maybe_open = last == Op::Return;
        self.block(stmts);
        self.emit(last);
        while let Some((spawn, stmts)) = self.blocks.pop() {
            self.code.ops[spawn as usize] = Op::SpawnBlock(self.here());
            self.maybe_open = false;
            self.block(stmts);
            self.emit(Op::End);
        }
        Entry {
            pc,
            params: 0,
            frame: self.frame,
        }
    }

    fn here(&self) -> u32 {
        self.code.ops.len() as u32
    }

    fn emit(&mut self, op: Op) -> u32 {
        let at = self.here();
        self.code.ops.push(op);
        self.code.spans.push(self.span);
        self.code.bodies.push(self.body);
        at
    }

    /// A jump whose target is set later.
    fn jump(&mut self, op: fn(u32) -> Op) -> u32 {
        self.emit(op(0))
    }

    /// Lets a jump lead here.
    fn land(&mut self, jump: u32) {
        let here = self.here();
        let op = &mut self.code.ops[jump as usize];
        *op = match *op {
            Op::JumpIfFalse(_) => Op::JumpIfFalse(here),
            Op::JumpUnlessLess {
                slots, unsigned, ..
            } => Op::JumpUnlessLess {
                slots,
                unsigned,
                to: here,
            },
            _ => Op::Jump(here),
        };
    }

    fn mark(&mut self, op: fn(u32) -> Op) {
        let number = self.code.steps.len() as u32;
        self.code.steps.push(StepInfo {
            claims: Vec::new(),
            fixed: None,
            waits: Waits::Never,
            wait: Wait::Never,
            fetch: None,
            span: self.span,
        });
        self.emit(op(number));
    }

    fn note(&mut self, at: u32, note: Note) {
        self.code.notes.insert(at, note);
    }

    fn slot(&self, local: LocalId) -> u32 {
        self.code.layouts[self.body as usize].slots[local.0 as usize]
    }

    fn local_range(&self, local: LocalId) -> Range {
        let layout = &self.code.layouts[self.body as usize];
        Range {
            first: layout.slots[local.0 as usize],
            len: layout.names[local.0 as usize].len.unwrap_or(1),
        }
    }

    /// A local that holds a value until the end of the statement.
    fn temporary(&mut self, ty: Type) -> LocalId {
        if self.temporaries_used == self.temporaries.len() {
            let layout = &mut self.code.layouts[self.body as usize];
            self.temporaries.push(LocalId(layout.slots.len() as u32));
            layout.slots.push(self.frame);
            layout.names.push(crate::hir::Local {
                name: "$t".to_owned(),
                ty,
                len: None,
            });
            self.frame += 1;
        }
        self.temporaries_used += 1;
        self.temporaries[self.temporaries_used - 1]
    }

    // Statements.

    fn block(&mut self, stmts: &'a [Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    /// Whether each access is a step of its own here.
    fn splits(&self) -> bool {
        self.program.atomicity == Atomicity::Access && !self.whole
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        self.temporaries_used = 0;
        let outer = self.span;
        self.span = stmt.span;
        match &stmt.kind {
            StmtKind::Skip => {}
            StmtKind::End => {
                self.emit(Op::End);
            }
            StmtKind::Block(stmts) => self.block(stmts),
            StmtKind::Assign(places, values) => {
                let shared = self.shared.assigns_shared(places, values);
                self.simple(
                    shared,
                    Action::Assign(places.clone(), values.clone()),
                    |c| {
                        c.assign(places, values);
                    },
                );
            }
            StmtKind::Let(local, values) => {
                let name = self.code.layouts[self.body as usize].names[local.0 as usize]
                    .name
                    .clone();
                let shared = values.iter().any(|e| self.shared.expr(e));
                self.simple(shared, Action::Let(name, values.clone()), |c| {
                    c.let_(*local, values)
                });
            }
            StmtKind::Guard(test, body) => {
                self.mark(Op::Open);
                self.expr(test);
                let at = self.emit(Op::Guard);
                self.note(at, Note::Guard(test.clone()));
                self.guarded(body);
            }
            StmtKind::Choice { test, then, other } => self.choice(stmt, test, then, other),
            StmtKind::GuardedLoop(test, body) => {
                let start = self.here();
                self.mark(Op::Open);
                self.expr(test);
                let exit = self.jump(Op::JumpIfFalse);
                self.note(exit, Note::Test(test.clone()));
                self.guarded(body);
                self.emit(Op::Jump(start));
                self.land(exit);
                self.emit(Op::Close);
            }
            StmtKind::If(test, then, other) => {
                let exit = self.test(test);
                let open = self.maybe_open;
                self.block(then);
                let open_then = std::mem::replace(&mut self.maybe_open, open);
                if other.is_empty() {
                    self.land(exit);
                } else {
                    let end = self.jump(Op::Jump);
                    self.land(exit);
                    self.block(other);
                    self.land(end);
                }
                self.maybe_open |= open_then;
            }
            StmtKind::While { test, bound, body } => {
                if let Some((most, counter)) = bound {
                    self.emit(Op::Const(*most));
                    self.emit(Op::SetLocal(self.slot(*counter)));
                }
                let start = self.here();
                let spent = bound.map(|(_, counter)| self.count_down(counter));
                let exit = self.test(test);
                let open = self.maybe_open;
                self.block(body);
                self.emit(Op::Jump(start));
                self.land(exit);
                if let Some(spent) = spent {
                    self.land(spent);
                }
                self.maybe_open |= open;
            }
            StmtKind::For {
                local,
                limit,
                from,
                to,
                body,
            } => self.for_(*local, *limit, [from, to], body),
            StmtKind::Spawn(handle, spawned) => self.spawn(*handle, spawned),
            StmtKind::Join(handle) => {
                self.mark(Op::Mark);
                let at = match handle {
                    Some(handle) => {
                        self.emit(Op::Local(self.slot(*handle)));
                        self.emit(Op::Join)
                    }
                    None => self.emit(Op::JoinAll),
                };
                self.note(at, Note::Action(Action::Join(*handle)));
                self.maybe_open = false;
            }
            StmtKind::Call(procedure, args) => {
                let shared = args.iter().any(|e| self.shared.expr(e));
                let name = self.program.procedures[procedure.0 as usize].name.clone();
                self.simple(shared, Action::Call(name, args.clone()), |c| {
                    for arg in c.values(args) {
                        c.expr(&arg);
                    }
                });
                self.emit(Op::Call(procedure.0));
            }
            StmtKind::Atomic(stmts) => {
                let step = stmts.iter().any(|s| self.shared.stmt(s));
                let outer = std::mem::replace(&mut self.whole, true);
                if step {
                    self.mark(Op::Mark);
                    self.emit(Op::BeginAtomic);
                }
                self.block(stmts);
                if step {
                    self.emit(Op::EndAtomic);
                    self.maybe_open = false;
                }
                self.whole = outer;
            }
            StmtKind::Lock(lock, index) => self.lock("lock", *lock, index.as_ref()),
            StmtKind::Unlock(lock, index) => self.lock("unlock", *lock, index.as_ref()),
            StmtKind::Assert(test, message) => {
                self.code.states_property = true;
                let shared = self.shared.expr(test);
                let action = Action::Assert("assert", test.clone());
                self.simple(shared, action, |c| {
                    c.condition(test, Op::Assert, message.as_ref())
                });
            }
            StmtKind::Assume(test) => {
                let shared = self.shared.expr(test);
                let action = Action::Assert("assume", test.clone());
                self.simple(shared, action, |c| c.condition(test, Op::Assume, None));
            }
            StmtKind::Error(message) => {
                self.code.states_property = true;
                let at = self.emit(Op::Error);
                self.code
                    .messages
                    .extend(message.iter().map(|m| (at, m.clone())));
            }
        }
        self.span = outer;
    }

    /// A statement without statements inside: one step if it touches something shared and steps are
    /// statements, else as many as it has accesses.
    fn simple(&mut self, shared: bool, action: Action, make: impl FnOnce(&mut Self)) {
        if !shared {
            return make(self);
        }
        let absorb = self.splits() && self.maybe_open;
        if !self.splits() {
            self.mark(Op::Mark);
        } else if absorb {
            self.emit(Op::BeginSimple);
        }
        let first = self.here();
        make(self);
        if !self.splits() {
            self.note(first, Note::Action(action));
        } else if absorb {
            self.note(first - 1, Note::Action(action));
            self.emit(Op::EndSimple);
        }
        self.maybe_open = false;
    }

    fn guarded(&mut self, body: &'a Stmt) {
        self.maybe_open = true;
        self.stmt(body);
        self.emit(Op::Close);
        self.maybe_open = false;
    }

    fn choice(&mut self, stmt: &'a Stmt, test: &Expr, then: &'a Stmt, other: &'a Stmt) {
        let step = self.shared.stmt(stmt);
        if step {
            self.mark(Op::Open);
        }
        self.expr(test);
        let exit = self.jump(Op::JumpIfFalse);
        if step {
            self.note(exit, Note::Test(test.clone()));
        }
        let before = self.maybe_open;
        self.maybe_open |= step;
        self.stmt(then);
        let end = self.jump(Op::Jump);
        self.land(exit);
        self.maybe_open = before | step;
        self.stmt(other);
        self.land(end);
        if step {
            self.emit(Op::Close);
        }
        self.maybe_open = before && !step;
    }

    /// Evaluates the test of an `if` or `while`; the result jumps where it is false.
    fn test(&mut self, test: &Expr) -> u32 {
        self.temporaries_used = 0;
        let mut exit = 0;
        let shared = self.shared.expr(test);
        // The note of the jump says the test with its outcome, so the statement has none of its own.
        let absorb = shared && self.splits() && self.maybe_open;
        let whole = shared && !self.splits();
        if whole {
            self.mark(Op::Mark);
        } else if absorb {
            self.emit(Op::BeginSimple);
        }
        let value = self.value(test);
        self.expr(&value);
        if absorb {
            self.emit(Op::EndSimple);
        }
        exit += self.jump(Op::JumpIfFalse);
        if whole || absorb {
            self.note(exit, Note::Test(test.clone()));
        }
        self.maybe_open &= !shared;
        exit
    }

    /// Jumps if nothing is left of a counter, else takes one.
    fn count_down(&mut self, counter: LocalId) -> u32 {
        let slot = self.slot(counter);
        self.emit(Op::Local(slot));
        let spent = self.jump(Op::JumpIfFalse);
        self.emit(Op::Local(slot));
        self.emit(Op::Const(1));
        self.emit(Op::Arith(Arith::Sub, Type::Int));
        self.emit(Op::SetLocal(slot));
        spent
    }

    fn for_(&mut self, local: LocalId, limit: LocalId, [from, to]: [&Expr; 2], body: &'a [Stmt]) {
        let (counter, end) = (self.slot(local), self.slot(limit));
        let shared = self.shared.expr(from) || self.shared.expr(to);
        let layout = &self.code.layouts[self.body as usize];
        let (name, ty) = {
            let local = &layout.names[local.0 as usize];
            (local.name.clone(), local.ty)
        };
        self.simple(shared, Action::For(name, from.clone(), to.clone()), |c| {
            let from = c.value(from);
            c.expr(&from);
            c.emit(Op::SetLocal(counter));
            let to = c.value(to);
            c.expr(&to);
            c.emit(Op::SetLocal(end));
        });
        let start = self.here();
        let unsigned = ty == Type::Unsigned(64);
        let exit = match (u16::try_from(counter), u16::try_from(end)) {
            (Ok(a), Ok(b)) => self.emit(Op::JumpUnlessLess {
                slots: [a, b],
                unsigned,
                to: 0,
            }),
            // Frames this large are rare; they take the long way.
            _ => {
                self.emit(Op::Local(counter));
                self.emit(Op::Local(end));
                self.emit(Op::Compare(Compare::Lt, unsigned));
                self.jump(Op::JumpIfFalse)
            }
        };
        let open = self.maybe_open;
        self.block(body);
        self.emit(Op::Increment(counter, ty));
        self.emit(Op::Jump(start));
        self.land(exit);
        self.maybe_open |= open;
    }

    fn spawn(&mut self, handle: Option<LocalId>, spawned: &'a Spawned) {
        self.mark(Op::Mark);
        let first = self.here();
        match spawned {
            Spawned::Block(stmts) => {
                let at = self.emit(Op::SpawnBlock(0));
                self.blocks.push((at, stmts));
            }
            Spawned::Call(procedure, args) => {
                for arg in args {
                    self.expr(arg);
                }
                self.emit(Op::SpawnCall(procedure.0));
            }
        }
        self.note(first, Note::Action(Action::Spawn));
        match handle {
            Some(handle) => self.emit(Op::SetLocal(self.slot(handle))),
            None => self.emit(Op::Drop),
        };
        self.maybe_open = false;
    }

    fn lock(&mut self, verb: &'static str, lock: crate::hir::LockId, index: Option<&Expr>) {
        self.mark(Op::Mark);
        let first = self.here();
        let range = Range {
            first: self.code.lock_cells[lock.0 as usize],
            len: self.program.locks[lock.0 as usize].len.unwrap_or(1),
        };
        let acquire = verb == "lock";
        match index {
            None => {
                let op = if acquire { Op::Lock } else { Op::Unlock };
                self.emit(op(range.first));
            }
            Some(index) => match constant_index(index, range) {
                Some(cell) => {
                    let op = if acquire { Op::Lock } else { Op::Unlock };
                    self.emit(op(cell));
                }
                None => {
                    self.expr(index);
                    let op = if acquire { Op::LockAt } else { Op::UnlockAt };
                    self.indexed(op(range), index);
                }
            },
        }
        self.note(
            first,
            Note::Action(Action::Lock(verb, lock, index.cloned())),
        );
        self.maybe_open = false;
    }

    fn condition(&mut self, test: &Expr, op: Op, message: Option<&String>) {
        let test = self.value(test);
        self.expr(&test);
        let at = self.emit(op);
        self.code.messages.extend(message.map(|m| (at, m.clone())));
    }

    fn let_(&mut self, local: LocalId, values: &[Expr]) {
        let first = self.slot(local);
        for (k, value) in values.iter().enumerate() {
            let value = self.value(value);
            self.expr(&value);
            self.emit(Op::SetLocal(first + k as u32));
        }
    }

    fn assign(&mut self, places: &[Place], values: &[Expr]) {
        if let ([place], [value], false) = (places, values, self.splits()) {
            // The common case needs no temporaries.
            let index = self.index(place);
            if let Some(index) = index {
                self.expr(index);
            }
            self.expr(value);
            return self.store(place, index);
        }
        // Left-hand indices first, then the right-hand sides, then the writes. An index or a value that
        // can fail, or that a write here could change, is computed at once.
        let single = values.len() == 1;
        let indices: Vec<Option<Expr>> = places
            .iter()
            .map(|place| {
                let index = self.value(self.index(place)?);
                Some(self.keep(index, !single))
            })
            .collect();
        let values: Vec<Expr> = values
            .iter()
            .map(|value| {
                let value = self.value(value);
                self.keep(value, !single)
            })
            .collect();
        for ((place, index), value) in places.iter().zip(&indices).zip(&values) {
            if self.splits() && place.is_shared() {
                self.mark(Op::Mark);
            }
            if let Some(index) = index {
                self.expr(index);
            }
            self.expr(value);
            // The claim of the write is decided by the index as it was written, if that is local.
            let written = if self.splits() {
                index.as_ref()
            } else {
                self.index(place)
            };
            self.store(place, written);
        }
    }

    /// The index of a place, unless it is a constant that can be resolved now.
    fn index<'p>(&self, place: &'p Place) -> Option<&'p Expr> {
        match place {
            Place::Local(_) | Place::Shared(_) => None,
            Place::LocalElement(local, index) => constant_index(index, self.local_range(*local))
                .is_none()
                .then_some(index),
            Place::Element(var, index) => constant_index(index, self.range(var.0))
                .is_none()
                .then_some(index),
        }
    }

    /// Stores the operand; the index, if it is not constant, lies under it.
    fn store(&mut self, place: &Place, index: Option<&Expr>) {
        let at = match (place, index) {
            (Place::Local(local), _) => self.emit(Op::SetLocal(self.slot(*local))),
            (Place::LocalElement(local, at), None) => {
                let range = self.local_range(*local);
                self.emit(Op::SetLocal(
                    constant_index(at, range).unwrap_or(range.first),
                ))
            }
            (Place::LocalElement(local, _), Some(_)) => {
                self.emit(Op::SetLocalAt(self.local_range(*local)))
            }
            (Place::Shared(var), _) => self.emit(Op::Store(self.range(var.0).first)),
            (Place::Element(var, at), None) => {
                let range = self.range(var.0);
                self.emit(Op::Store(constant_index(at, range).unwrap_or(range.first)))
            }
            (Place::Element(var, _), Some(index)) => {
                self.indexed(Op::StoreAt(self.range(var.0)), index)
            }
        };
        if self.splits() && place.is_shared() {
            self.note(at, Note::Write);
        }
    }

    fn indexed(&mut self, op: Op, index: &Expr) -> u32 {
        let local = (!self.shared.expr(index)).then(|| {
            let mut slots = Vec::new();
            index.walk(&mut |e| match &e.kind {
                ExprKind::Local(local) => slots.push(self.slot(*local)),
                ExprKind::LocalElement(local, _) => {
                    let range = self.local_range(*local);
                    slots.extend(range.first..range.first + range.len);
                }
                _ => {}
            });
            let snippet = self.snippet(index);
            self.code.snippets.push(snippet);
            (self.code.snippets.len() as u32 - 1, slots)
        });
        let at = self.emit(op);
        self.indices.insert(at, Index { local });
        at
    }

    // Expressions.

    /// Compiles an expression to code of its own.
    fn snippet(&mut self, expr: &Expr) -> Vec<Op> {
        let start = self.code.ops.len();
        // Jumps inside are relative to the snippet's start.
        let ops = std::mem::take(&mut self.code.ops);
        let (spans, bodies) = (self.code.spans.len(), self.code.bodies.len());
        self.expr(expr);
        let snippet = std::mem::replace(&mut self.code.ops, ops);
        self.code.spans.truncate(spans);
        self.code.bodies.truncate(bodies);
        debug_assert_eq!(start, self.code.ops.len());
        snippet
    }

    /// Makes an expression local: in atomicity access its reads become steps, here and now.
    fn value(&mut self, expr: &Expr) -> Expr {
        if self.splits() {
            self.hoist(expr)
        } else {
            expr.clone()
        }
    }

    fn values(&mut self, exprs: &[Expr]) -> Vec<Expr> {
        let single = exprs.len() == 1;
        exprs
            .iter()
            .map(|e| {
                let value = self.value(e);
                if self.splits() {
                    self.keep(value, !single)
                } else {
                    value
                }
            })
            .collect()
    }

    /// Computes a value into a temporary, if it can fail or if it must not change any more.
    fn keep(&mut self, expr: Expr, always: bool) -> Expr {
        match expr.kind {
            ExprKind::Const(_) => expr,
            _ if always || (self.splits() && can_fail(&expr)) => {
                self.expr(&expr);
                self.spill(&expr)
            }
            _ => expr,
        }
    }

    /// Moves the operand to a temporary.
    fn spill(&mut self, like: &Expr) -> Expr {
        let temporary = self.temporary(like.ty);
        self.emit(Op::SetLocal(self.slot(temporary)));
        Expr {
            kind: ExprKind::Local(temporary),
            ..like.clone()
        }
    }

    fn hoist(&mut self, expr: &Expr) -> Expr {
        if !self.shared.expr(expr) {
            return expr.clone();
        }
        let kind = match &expr.kind {
            ExprKind::Shared(_) | ExprKind::Input => return self.step_of_its_own(expr),
            ExprKind::Element(var, index) => {
                let index = Box::new(self.hoist(index));
                return self.step_of_its_own(&Expr {
                    kind: ExprKind::Element(*var, index),
                    ..expr.clone()
                });
            }
            ExprKind::Choose(from, to) => {
                let (from, to) = self.hoist_pair(from, to);
                return self.step_of_its_own(&Expr {
                    kind: ExprKind::Choose(from, to),
                    ..expr.clone()
                });
            }
            ExprKind::LocalElement(local, index) => {
                ExprKind::LocalElement(*local, Box::new(self.hoist(index)))
            }
            ExprKind::Unary(op, e) => ExprKind::Unary(*op, Box::new(self.hoist(e))),
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) if self.shared.expr(b) => {
                let a = self.hoist(a);
                self.expr(&a);
                let result = self.spill(&a);
                self.expr(&result);
                if *op == BinaryOp::Or {
                    self.emit(Op::Not);
                }
                let end = self.jump(Op::JumpIfFalse);
                self.hoist_into(b, &result);
                self.land(end);
                return result;
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = self.hoist_pair(a, b);
                ExprKind::Binary(*op, a, b)
            }
            ExprKind::If(test, then, other) => {
                let test = self.hoist(test);
                self.expr(&test);
                let exit = self.jump(Op::JumpIfFalse);
                let result = Expr {
                    kind: ExprKind::Local(self.temporary(expr.ty)),
                    ..expr.clone()
                };
                self.hoist_into(then, &result);
                let end = self.jump(Op::Jump);
                self.land(exit);
                self.hoist_into(other, &result);
                self.land(end);
                return result;
            }
            ExprKind::Const(_) | ExprKind::Local(_) => return expr.clone(),
        };
        Expr {
            kind,
            ..expr.clone()
        }
    }

    fn hoist_pair(&mut self, a: &Expr, b: &Expr) -> (Box<Expr>, Box<Expr>) {
        let a = self.hoist(a);
        let a = if self.shared.expr(b) {
            self.keep(a, false)
        } else {
            a
        };
        (Box::new(a), Box::new(self.hoist(b)))
    }

    fn hoist_into(&mut self, expr: &Expr, result: &Expr) {
        let value = self.hoist(expr);
        self.expr(&value);
        if let ExprKind::Local(local) = result.kind {
            self.emit(Op::SetLocal(self.slot(local)));
        }
    }

    fn step_of_its_own(&mut self, expr: &Expr) -> Expr {
        let outer = std::mem::replace(&mut self.span, expr.span);
        self.mark(Op::Mark);
        self.expr(expr);
        let at = self.here() - 1;
        let note = match expr.kind {
            ExprKind::Choose(..) => Note::Action(Action::Choose),
            _ => Note::Read,
        };
        self.note(at, note);
        self.span = outer;
        let result = self.spill(expr);
        // Most steps of atomicity access are such a read: one instruction instead of two.
        if let [.., Op::Load(cell), Op::SetLocal(slot)] = self.code.ops[..] {
            self.code.ops[at as usize] = Op::Fetch { cell, slot };
            self.code.ops.pop();
            self.code.spans.pop();
            self.code.bodies.pop();
        }
        result
    }

    /// Compiles an expression without marks; leaves its value as an operand.
    fn expr(&mut self, expr: &Expr) {
        let outer = std::mem::replace(&mut self.span, expr.span);
        match &expr.kind {
            ExprKind::Const(value) => {
                self.emit(Op::Const(*value));
            }
            ExprKind::Local(local) => {
                self.emit(Op::Local(self.slot(*local)));
            }
            ExprKind::LocalElement(local, index) => {
                self.expr(index);
                self.span = expr.span;
                self.emit(Op::LocalAt(self.local_range(*local)));
            }
            ExprKind::Shared(var) => {
                self.emit(Op::Load(self.range(var.0).first));
            }
            ExprKind::Element(var, index) => {
                let range = self.range(var.0);
                match constant_index(index, range) {
                    Some(cell) => {
                        self.emit(Op::Load(cell));
                    }
                    None => {
                        self.expr(index);
                        self.indexed(Op::LoadAt(range), index);
                    }
                }
            }
            ExprKind::Unary(op, e) => {
                self.expr(e);
                self.emit(match op {
                    UnaryOp::Not => Op::Not,
                    UnaryOp::Neg => Op::Neg(expr.ty),
                });
            }
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                self.expr(a);
                if *op == BinaryOp::Or {
                    self.emit(Op::Not);
                }
                let short = self.jump(Op::JumpIfFalse);
                self.expr(b);
                let end = self.jump(Op::Jump);
                self.land(short);
                self.emit(Op::Const(i64::from(*op == BinaryOp::Or)));
                self.land(end);
            }
            ExprKind::Binary(op, a, b) => {
                let op = binary(*op, expr.ty, a.ty);
                match self.on_locals(op, a, b) {
                    Some(fused) => {
                        self.emit(fused);
                    }
                    None => {
                        self.expr(a);
                        self.expr(b);
                        self.emit(op);
                    }
                }
            }
            ExprKind::If(test, then, other) => {
                self.expr(test);
                let exit = self.jump(Op::JumpIfFalse);
                self.expr(then);
                let end = self.jump(Op::Jump);
                self.land(exit);
                self.expr(other);
                self.land(end);
            }
            ExprKind::Choose(from, to) => {
                self.expr(from);
                self.expr(to);
                self.emit(Op::Choose);
            }
            // Refused before.
            ExprKind::Input => {
                self.emit(Op::Error);
            }
        }
        self.span = outer;
    }
}

impl Compiler<'_> {
    /// One instruction instead of three, if both operands are locals.
    fn on_locals(&self, op: Op, a: &Expr, b: &Expr) -> Option<Op> {
        let slot = |e: &Expr| match e.kind {
            ExprKind::Local(local) => u16::try_from(self.slot(local)).ok(),
            _ => None,
        };
        match op {
            Op::Arith(op, ty) => Some(Op::ArithLocals(op, ty, [slot(a)?, slot(b)?])),
            _ => None,
        }
    }
}

fn binary(op: BinaryOp, ty: Type, operand: Type) -> Op {
    let unsigned = operand == Type::Unsigned(64);
    match op {
        BinaryOp::Add => Op::Arith(Arith::Add, ty),
        BinaryOp::Sub => Op::Arith(Arith::Sub, ty),
        BinaryOp::Mul => Op::Arith(Arith::Mul, ty),
        BinaryOp::Div => Op::Arith(Arith::Div, ty),
        BinaryOp::Rem => Op::Arith(Arith::Rem, ty),
        BinaryOp::Eq => Op::Compare(Compare::Eq, unsigned),
        BinaryOp::Ne => Op::Compare(Compare::Ne, unsigned),
        BinaryOp::Lt => Op::Compare(Compare::Lt, unsigned),
        BinaryOp::Le => Op::Compare(Compare::Le, unsigned),
        BinaryOp::Gt => Op::Compare(Compare::Gt, unsigned),
        BinaryOp::Ge => Op::Compare(Compare::Ge, unsigned),
        BinaryOp::And | BinaryOp::Or => unreachable!("compiled to jumps"),
    }
}

fn constant_index(index: &Expr, range: Range) -> Option<u32> {
    match index.kind {
        ExprKind::Const(at) if (0..i64::from(range.len)).contains(&at) => {
            Some(range.first + at as u32)
        }
        _ => None,
    }
}

/// Whether evaluating a local expression can fail (an `int` that grows too large is no failure).
fn can_fail(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |e| {
        found |= matches!(
            e.kind,
            ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, ..) | ExprKind::LocalElement(..)
        );
    });
    found
}
