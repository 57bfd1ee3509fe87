//! Operations on synchronisation objects: `acquire(s)`, `wait(c, m)`, `try lock(m)`.
//!
//! Each operation is lowered to one step; only `wait` may need two. An operation that may block
//! becomes a guard with a body: `acquire(s)` waits until a permit is left and then takes it. Any
//! other operation becomes an atomic block. Labels show an operation as written
//! (`Program::lowered`).

use mazurka_diagnostics::{Diagnostic, Span, nearest};

use super::body::{BodyChecker, Meaning};
use super::objects::{CurrentProcess, LoweredKind};
use super::records::{Part, number, read};
use super::{ExpectedName, Global};
use crate::check::hir::{
    BinaryOp, Expr, ExprKind, LocalId, LockId, Message, MessagePart, Place, Stmt, StmtKind, Type,
    UnaryOp, VarId,
};
use crate::syntax::ast::{self, Name, ResultTarget, Selector};

/// An object with the indices after its name.
pub(super) struct Operand {
    pub kind: LoweredKind,
    pub indices: Vec<Expr>,
    span: Span,
}

/// An operation that may block: its condition, and its effect.
pub(super) struct Blocking {
    pub guard: Expr,
    pub then: Vec<Stmt>,
}

/// The lock of a `wait`. Most locks remain locks in the checked program; a lock that some `try`
/// names is lowered to variables.
enum Mutex {
    Core(LockId, Option<Expr>),
    Lowered(Operand),
}

/// The names of the operations. A procedure of the file with such a name takes precedence.
const VERBS: [&str; 9] = [
    "acquire",
    "release",
    "read_lock",
    "read_unlock",
    "write_lock",
    "write_unlock",
    "wait",
    "signal",
    "broadcast",
];

impl<'s> BodyChecker<'_, 's> {
    /// Whether a call is an operation on an object, and no procedure with that name is declared.
    pub(super) fn is_operation(&self, name: Name<'s>, args: &[ast::Expr<'s>]) -> bool {
        let declared = self.c.globals.contains_key(name.text);
        VERBS.contains(&name.text) && !declared && !args.is_empty()
    }

    /// Reports a call such as `aquire(s)`, whose name is unknown and whose argument is an object,
    /// as one mistake. Returns whether the call is of this kind.
    pub(super) fn misspelt_operation(&mut self, name: Name<'s>, args: &[ast::Expr<'s>]) -> bool {
        let is_object = |arg: &ast::Expr<'s>| {
            let (ast::ExprKind::Name(of) | ast::ExprKind::Index(of, _)) = &arg.kind else {
                return false;
            };
            let known = self.c.globals.get(of.text).map(|(global, _)| *global);
            matches!(known, Some(Global::Object(_) | Global::Lock(_)))
        };
        if self.c.globals.contains_key(name.text) || !args.iter().any(is_object) {
            return false;
        }
        let near = nearest(name.text, VERBS.into_iter().chain(["lock", "unlock"]));
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("operations are `lock`, `unlock`, `{}`", VERBS.join("`, `")),
        };
        let message = format!("there is no operation `{}`", name.text);
        self.report(
            Diagnostic::new("M0201", name.span, message)
                .label("unknown name")
                .help(help),
        );
        true
    }

    /// Checks an operation as a statement.
    pub(super) fn object_stmt(
        &mut self,
        verb: Name<'s>,
        args: &[ast::Expr<'s>],
        span: Span,
    ) -> StmtKind {
        let kind = self.object_operation(verb, args, span);
        self.c.program.lowered.insert(span);
        kind.unwrap_or(StmtKind::Skip)
    }

    fn object_operation(
        &mut self,
        verb: Name<'s>,
        args: &[ast::Expr<'s>],
        span: Span,
    ) -> Option<StmtKind> {
        let object = self.operand(&args[0], span)?;
        let takes = match (verb.text, object.kind) {
            ("wait", LoweredKind::Cond { .. }) => 2,
            _ => 1,
        };
        if args.len() != takes {
            self.report(
                Diagnostic::new("M0308", span, format!("`{}` takes {takes} here, found {}", verb.text, args.len()))
                    .label(format!("expected {takes}"))
                    .help("a `wait` for a condition variable also takes its lock, `wait(c, m)`; all other operations take one argument"),
            );
            return None;
        }
        Some(match (verb.text, object.kind) {
            ("acquire" | "read_lock" | "write_lock", _) => {
                let blocking = self.blocking(verb, object)?;
                self.guarded(blocking, span)
            }
            ("release", LoweredKind::Semaphore { permits }) => {
                let place = self.place_of(Part::Var(permits), object.indices, span);
                let left = read(place.clone(), Type::Int, span);
                let more = binary(BinaryOp::Add, left, number(1, span), Type::Int);
                one_step(vec![assign(place, more, span)])
            }
            ("read_unlock", LoweredKind::RwLock { readers, .. }) => {
                let place = self.own_element(readers, &object.indices, span)?;
                let reads = read(place.clone(), Type::Bool, span);
                let assert_held = self.assert_held(reads, verb.text, span);
                one_step(vec![assert_held, assign(place, truth(false, span), span)])
            }
            ("write_unlock", LoweredKind::RwLock { writer, .. }) => {
                let body = self.release(writer, object.indices, verb.text, span)?;
                one_step(body)
            }
            ("wait", LoweredKind::Barrier { waiters, parties }) => {
                return self.arrive(waiters, parties, &object.indices, span);
            }
            ("wait", LoweredKind::Cond { waiters, spurious }) => {
                return self.wait([waiters], spurious, (object, &args[1]), span);
            }
            ("signal", LoweredKind::Cond { waiters, .. }) => {
                self.signal(waiters, &object.indices, span)
            }
            ("broadcast", LoweredKind::Cond { waiters, .. }) => {
                let all = self.each_process(waiters, &object.indices, span, |body, place| {
                    vec![assign(place, truth(false, body), body)]
                });
                one_step(vec![all])
            }
            (_, LoweredKind::Poison) => return None,
            _ => {
                self.wrong_object(verb, object.kind, args[0].span);
                return None;
            }
        })
    }

    /// Makes the step of an operation that waits for one condition. `None` means that the operation
    /// has a mistake, which was reported.
    pub(super) fn object_step(&mut self, blocking: Option<Blocking>, span: Span) -> StmtKind {
        self.c.program.lowered.insert(span);
        match blocking {
            Some(blocking) => self.guarded(blocking, span),
            None => StmtKind::Skip,
        }
    }

    /// Lowers `lock(m)` and `unlock(m)` for a lock that some `try` names. Returns `None` for any
    /// other lock.
    pub(super) fn lowered_lock(
        &mut self,
        name: Name<'s>,
        index: Option<&ast::Expr<'s>>,
        verb: &'static str,
        span: Span,
    ) -> Option<StmtKind> {
        let Meaning::Object(_) = self.resolve(name, ExpectedName::Lock) else {
            return None;
        };
        let indices: Vec<Expr> = index.into_iter().map(|e| self.index(e)).collect();
        let object = self.object_at(name, indices, span);
        self.c.program.lowered.insert(span);
        let kind = object.and_then(|object| match object.kind {
            LoweredKind::Mutex { holder } if verb == "lock" => {
                let blocking = self.acquire(holder, object.indices, span)?;
                Some(self.guarded(blocking, span))
            }
            LoweredKind::Mutex { holder } => {
                let body = self.release(holder, object.indices, verb, span)?;
                Some(one_step(body))
            }
            LoweredKind::Poison => None,
            other => {
                let verb = Name { text: verb, span };
                self.wrong_object(verb, other, name.span);
                None
            }
        });
        Some(kind.unwrap_or(StmtKind::Skip))
    }

    /// Checks `let ok = try s`, which is one step: it executes `s` if `s` need not wait, and sets
    /// `ok` to whether `s` was executed.
    pub(super) fn tried(
        &mut self,
        kept: &ResultTarget<'s>,
        operation: &ast::Stmt<'s>,
        span: Span,
    ) -> StmtKind {
        let blocking = self.tried_operation(operation);
        let place = match kept {
            ResultTarget::Let(name) => {
                let local = self.declare(*name, Some(Type::Bool), Vec::new());
                Some(Place::Local(local))
            }
            ResultTarget::Place(expr) => match self.place(expr) {
                (Some(place), Some(Type::Bool)) => Some(place),
                (Some(_), Some(_)) => {
                    self.report(
                        Diagnostic::new("M0302", expr.span, "`try` says whether it was done")
                            .label("expected a `bool`")
                            .help("declare it with `let ok = try …`"),
                    );
                    None
                }
                _ => None,
            },
        };
        self.c.program.lowered.insert(span);
        let (Some(mut blocking), Some(place)) = (blocking, place) else {
            return StmtKind::Skip;
        };
        blocking
            .then
            .push(assign(place.clone(), truth(true, span), span));
        let not = vec![assign(place, truth(false, span), span)];
        let kind = StmtKind::If(blocking.guard, blocking.then, not);
        one_step(vec![Stmt { kind, span }])
    }

    pub(super) fn tried_operation(&mut self, operation: &ast::Stmt<'s>) -> Option<Blocking> {
        let span = operation.span;
        match &operation.kind {
            ast::StmtKind::Lock(name, index) => {
                let Meaning::Object(_) = self.resolve(*name, ExpectedName::Lock) else {
                    // The declaration has a mistake, or this is not a lock: `lock` reports it.
                    self.lock(*name, index.as_ref());
                    return None;
                };
                let indices = index.iter().map(|e| self.index(e)).collect();
                let object = self.object_at(*name, indices, span)?;
                let LoweredKind::Mutex { holder } = object.kind else {
                    let verb = Name { text: "lock", span };
                    self.wrong_object(verb, object.kind, name.span);
                    return None;
                };
                self.acquire(holder, object.indices, span)
            }
            ast::StmtKind::Send(channel, value) => {
                self.in_one_step(|body| body.lower_send(channel, value, span))
            }
            ast::StmtKind::Receive(channel, into) => {
                self.in_one_step(|body| body.lower_receive(channel, into, span))
            }
            ast::StmtKind::Call(verb, args) if self.is_operation(*verb, args) => {
                self.tried_call(*verb, args, span)
            }
            _ => {
                self.not_tried(span);
                None
            }
        }
    }

    /// Checks an operation that is written as a call and can be tried.
    pub(super) fn tried_call(
        &mut self,
        verb: Name<'s>,
        args: &[ast::Expr<'s>],
        span: Span,
    ) -> Option<Blocking> {
        let object = self.operand(&args[0], span)?;
        if args.len() > 1 || !matches!(verb.text, "acquire" | "read_lock" | "write_lock") {
            self.not_tried(span);
            return None;
        }
        self.blocking(verb, object)
    }

    fn not_tried(&mut self, span: Span) {
        self.report(
            Diagnostic::new("M0427", span, "this cannot be tried")
                .label("expected an operation that may have to wait")
                .help("`try` and the alternatives of `select` take `lock(m)`, `acquire(s)`, `read_lock(l)`, `write_lock(l)`, `c ! e` and `c ? x`"),
        );
    }

    /// Lowers the operations that wait for one condition.
    fn blocking(&mut self, verb: Name<'s>, object: Operand) -> Option<Blocking> {
        let span = object.span;
        match (verb.text, object.kind) {
            ("acquire", LoweredKind::Semaphore { permits }) => {
                let place = self.place_of(Part::Var(permits), object.indices, span);
                let left = read(place.clone(), Type::Int, span);
                let one = number(1, span);
                let less = binary(BinaryOp::Sub, left.clone(), one.clone(), Type::Int);
                Some(Blocking {
                    guard: binary(BinaryOp::Ge, left, one, Type::Bool),
                    then: vec![assign(place, less, span)],
                })
            }
            ("read_lock", LoweredKind::RwLock { readers, writer }) => {
                let place = self.own_element(readers, &object.indices, span)?;
                let free = self.is_free(writer, object.indices, span);
                let reads = not(read(place.clone(), Type::Bool, span));
                Some(Blocking {
                    guard: binary(BinaryOp::And, free, reads, Type::Bool),
                    then: vec![assign(place, truth(true, span), span)],
                })
            }
            ("write_lock", LoweredKind::RwLock { readers, writer }) => {
                let mut none_reads = Vec::new();
                for process in 0..self.c.processes.count {
                    let mut indices = object.indices.clone();
                    indices.push(number(process.into(), span));
                    let place = self.place_of(Part::Var(readers), indices, span);
                    none_reads.push(not(read(place, Type::Bool, span)));
                }
                let mut blocking = self.acquire(writer, object.indices, span)?;
                none_reads.insert(0, blocking.guard);
                self.c.grow(none_reads.len() * 4, span);
                blocking.guard = all_of(none_reads);
                Some(blocking)
            }
            (_, LoweredKind::Poison) => None,
            (_, kind) => {
                self.wrong_object(verb, kind, span);
                None
            }
        }
    }

    /// Lowers the acquisition of a lock that no process holds.
    fn acquire(&mut self, holder: VarId, indices: Vec<Expr>, span: Span) -> Option<Blocking> {
        let me = self.me_as_holder(span)?;
        let guard = self.is_free(holder, indices.clone(), span);
        let place = self.place_of(Part::Var(holder), indices, span);
        let then = vec![assign(place, me, span)];
        Some(Blocking { guard, then })
    }

    fn is_free(&mut self, holder: VarId, indices: Vec<Expr>, span: Span) -> Expr {
        let ty = Type::Enum(self.c.processes.ty);
        let held_by = read(self.place_of(Part::Var(holder), indices, span), ty, span);
        let none = Expr {
            kind: ExprKind::Const(0),
            ty,
            span,
        };
        binary(BinaryOp::Eq, held_by, none, Type::Bool)
    }

    /// Lowers the release of a lock. The step fails if this process does not hold the lock.
    fn release(
        &mut self,
        holder: VarId,
        indices: Vec<Expr>,
        verb: &str,
        span: Span,
    ) -> Option<Vec<Stmt>> {
        let me = self.me_as_holder(span)?;
        let ty = me.ty;
        let place = self.place_of(Part::Var(holder), indices, span);
        let mine = binary(BinaryOp::Eq, read(place.clone(), ty, span), me, Type::Bool);
        let assert_held = self.assert_held(mine, verb, span);
        let none = Expr {
            kind: ExprKind::Const(0),
            ty,
            span,
        };
        Some(vec![assert_held, assign(place, none, span)])
    }

    /// Makes an assertion that fails if the process does not hold the lock.
    fn assert_held(&mut self, holds: Expr, verb: &str, span: Span) -> Stmt {
        let text = format!("`{verb}` of a lock that the process does not hold");
        let message = Message {
            parts: vec![MessagePart::Text(text)],
        };
        let kind = StmtKind::Assert(holds, Some(message));
        Stmt { kind, span }
    }

    /// Lowers a wait at a barrier to at most two steps. In the first the process arrives; if it is
    /// the last one to arrive, it releases all others and continues. Any other process then waits
    /// until it is released.
    fn arrive(
        &mut self,
        waiters: VarId,
        parties: i64,
        indices: &[Expr],
        span: Span,
    ) -> Option<StmtKind> {
        let (mut before, indices) = self.precomputed_indices(indices.to_vec());
        let mine = self.own_element(waiters, &indices, span)?;
        let here = self.hidden("here", Type::Int);
        let count = self.count_waiters(waiters, &indices, here, span);
        let one = number(1, span);
        let all = binary(BinaryOp::Add, local(here, span), one, Type::Int);
        let last = binary(BinaryOp::Ge, all, number(parties, span), Type::Bool);
        let free = self.each_process(waiters, &indices, span, |body, place| {
            vec![assign(place, truth(false, body), body)]
        });
        let waits = assign(mine.clone(), truth(true, span), span);
        let kind = StmtKind::If(last.clone(), vec![free], vec![waits]);
        let mut body = count;
        body.push(Stmt { kind, span });
        let step = one_step(body);
        before.push(Stmt { kind: step, span });
        let guard = not(read(mine, Type::Bool, span));
        let skip = Stmt {
            kind: StmtKind::Skip,
            span,
        };
        let guard = Stmt {
            kind: StmtKind::Guard(guard, Box::new(skip)),
            span,
        };
        let kind = StmtKind::If(not(last), vec![guard], Vec::new());
        before.push(Stmt { kind, span });
        Some(StmtKind::Block(before))
    }

    /// Lowers `wait(c, m)` to two steps. The first releases the lock and records the process as a
    /// waiter. The second waits until the process is woken and the lock is free, and acquires the
    /// lock.
    fn wait(
        &mut self,
        [waiters]: [VarId; 1],
        spurious: bool,
        (object, lock): (Operand, &ast::Expr<'s>),
        span: Span,
    ) -> Option<StmtKind> {
        let (mut before, indices) = self.precomputed_indices(object.indices);
        let mine = self.own_element(waiters, &indices, span)?;
        let mutex = match self.mutex(lock)? {
            Mutex::Core(id, index) => {
                let (more, mut index) = self.precomputed_indices(index.into_iter().collect());
                before.extend(more);
                Mutex::Core(id, index.pop())
            }
            Mutex::Lowered(operand) => {
                let (more, indices) = self.precomputed_indices(operand.indices);
                before.extend(more);
                Mutex::Lowered(Operand { indices, ..operand })
            }
        };
        let enlists = assign(mine.clone(), truth(true, span), span);
        let woken = if spurious {
            truth(true, span)
        } else {
            not(read(mine.clone(), Type::Bool, span))
        };
        let stmt = |kind| Stmt { kind, span };
        let (mut first, guard, mut then) = match mutex {
            Mutex::Core(id, index) => {
                let first = vec![stmt(StmtKind::Unlock(id, index.clone()))];
                (first, woken, vec![stmt(StmtKind::Lock(id, index))])
            }
            Mutex::Lowered(Operand { kind, indices, .. }) => {
                let LoweredKind::Mutex { holder } = kind else {
                    return None;
                };
                let first = self.release(holder, indices.clone(), "wait", span)?;
                let Blocking { guard, then } = self.acquire(holder, indices, span)?;
                (first, binary(BinaryOp::And, woken, guard, Type::Bool), then)
            }
        };
        first.push(enlists);
        if spurious {
            then.push(assign(mine, truth(false, span), span));
        }
        before.push(stmt(one_step(first)));
        before.push(stmt(self.guarded(Blocking { guard, then }, span)));
        Some(StmtKind::Block(before))
    }

    /// Lowers `signal(c)`, which wakes one of the waiting processes, if there are any. The step
    /// chooses this process.
    fn signal(&mut self, waiters: VarId, indices: &[Expr], span: Span) -> StmtKind {
        let (here, chosen) = (
            self.hidden("here", Type::Int),
            self.hidden("woken", Type::Int),
        );
        let mut body = self.count_waiters(waiters, indices, here, span);
        let choice = Expr {
            kind: ExprKind::Choose(Box::new(number(0, span)), Box::new(local(here, span))),
            ty: Type::Int,
            span,
        };
        let stmt = |kind| Stmt { kind, span };
        let choose = stmt(StmtKind::Let(chosen, vec![choice]));
        let wake = self.each_process(waiters, indices, span, |span, place| {
            let stmt = |kind| Stmt { kind, span };
            let left = local(chosen, span);
            let this = binary(BinaryOp::Eq, left.clone(), number(0, span), Type::Bool);
            let wakes = assign(place.clone(), truth(false, span), span);
            let next = binary(BinaryOp::Sub, left, number(1, span), Type::Int);
            let waits = read(place, Type::Bool, span);
            let wakes = stmt(StmtKind::If(this, vec![wakes], Vec::new()));
            let counts = assign(Place::Local(chosen), next, span);
            vec![stmt(StmtKind::If(waits, vec![wakes, counts], Vec::new()))]
        });
        let any = binary(BinaryOp::Ge, local(here, span), number(1, span), Type::Bool);
        body.push(stmt(StmtKind::If(any, vec![choose, wake], Vec::new())));
        one_step(body)
    }

    /// Makes statements that count the waiting processes into a local.
    fn count_waiters(
        &mut self,
        waiters: VarId,
        indices: &[Expr],
        into: LocalId,
        span: Span,
    ) -> Vec<Stmt> {
        let zero = StmtKind::Let(into, vec![number(0, span)]);
        let count = self.each_process(waiters, indices, span, |span, place| {
            let one = number(1, span);
            let more = binary(BinaryOp::Add, local(into, span), one, Type::Int);
            let more = assign(Place::Local(into), more, span);
            let waits = read(place, Type::Bool, span);
            let kind = StmtKind::If(waits, vec![more], Vec::new());
            vec![Stmt { kind, span }]
        });
        vec![Stmt { kind: zero, span }, count]
    }

    /// Makes a loop over the processes, for a variable with one element for each process.
    fn each_process(
        &mut self,
        var: VarId,
        indices: &[Expr],
        span: Span,
        make: impl FnOnce(Span, Place) -> Vec<Stmt>,
    ) -> Stmt {
        let (counter, limit) = (self.hidden("p", Type::Int), self.hidden("limit", Type::Int));
        let mut indices = indices.to_vec();
        indices.push(local(counter, span));
        let place = self.place_of(Part::Var(var), indices, span);
        let kind = StmtKind::For {
            local: counter,
            limit,
            from: number(0, span),
            to: number(self.c.processes.count.into(), span),
            body: make(span, place),
        };
        self.c.grow(16, span);
        Stmt { kind, span }
    }

    /// Resolves the lock of a `wait`.
    fn mutex(&mut self, expr: &ast::Expr<'s>) -> Option<Mutex> {
        let (name, index) = match &expr.kind {
            ast::ExprKind::Name(name) => (*name, None),
            ast::ExprKind::Index(name, index) => (*name, Some(&**index)),
            _ => {
                self.report(
                    Diagnostic::new("M0204", expr.span, "this is not a lock")
                        .label("expected the lock that the process holds")
                        .help("write `wait(c, m)`, with `cond c` and `lock m`"),
                );
                return None;
            }
        };
        if let Meaning::Object(_) = self.resolve(name, ExpectedName::Lock) {
            let indices = index.into_iter().map(|e| self.index(e)).collect();
            let object = self.object_at(name, indices, expr.span)?;
            return match object.kind {
                LoweredKind::Mutex { .. } => Some(Mutex::Lowered(object)),
                LoweredKind::Poison => None,
                other => {
                    let noun = other.noun();
                    self.report(
                        Diagnostic::new("M0204", name.span, format!("`{}` is {noun}", name.text))
                            .label("expected the lock that the process holds")
                            .help("write `wait(c, m)`, with `cond c` and `lock m`"),
                    );
                    None
                }
            };
        }
        let (id, index) = self.lock(name, index)?;
        Some(Mutex::Core(id, index))
    }

    /// Resolves the object that an argument names.
    pub(super) fn operand(&mut self, expr: &ast::Expr<'s>, span: Span) -> Option<Operand> {
        let (name, selectors) = match &expr.kind {
            ast::ExprKind::Name(name) => (*name, Vec::new()),
            ast::ExprKind::Index(name, index) => (*name, vec![&**index]),
            ast::ExprKind::Path(name, selectors) => {
                let indices = selectors.iter().map(|selector| match selector {
                    Selector::Index(index) => Some(index),
                    Selector::Field(_) => None,
                });
                match indices.collect::<Option<Vec<_>>>() {
                    Some(indices) => (*name, indices),
                    None => (*name, Vec::new()),
                }
            }
            _ => {
                self.value(expr);
                self.report(
                    Diagnostic::new("M0204", expr.span, "this is not a name")
                        .label("expected what is waited for or woken")
                        .help("declare it outside of all blocks: `semaphore s = 1`, `cond c`"),
                );
                return None;
            }
        };
        let indices = selectors.into_iter().map(|e| self.index(e)).collect();
        self.object_at(name, indices, span)
    }

    fn object_at(&mut self, name: Name<'s>, indices: Vec<Expr>, span: Span) -> Option<Operand> {
        let meaning = self.resolve(name, ExpectedName::Object);
        let Meaning::Object(id) = meaning else {
            if !matches!(meaning, Meaning::Poison) {
                let help = "declare it outside of all blocks: `semaphore s = 1`, `rwlock l`, `cond c`, `barrier b = 2`";
                let expected = "a synchronisation object";
                self.wrong_kind(name, meaning, expected, help.to_owned());
            }
            return None;
        };
        let object = &self.c.objects[id as usize];
        let (kind, dims) = (object.kind, object.dims);
        if kind == LoweredKind::Poison {
            return None;
        }
        if indices.len() != dims {
            self.wrong_indices(name.span, dims, indices.len());
            return None;
        }
        Some(Operand {
            kind,
            indices,
            span,
        })
    }

    fn wrong_object(&mut self, verb: Name<'s>, kind: LoweredKind, span: Span) {
        let (noun, verb) = (kind.noun(), verb.text);
        self.report(
            Diagnostic::new("M0428", span, format!("`{verb}` is not for {noun}"))
                .label(format!("this is {noun}"))
                .help("`acquire` and `release` are for a semaphore, `read_lock`, `read_unlock`, `write_lock` and `write_unlock` for an `rwlock`, `wait`, `signal` and `broadcast` for a `cond`, `wait` for a `barrier`"),
        );
    }

    /// Returns this process's element of a variable that has one element for each process.
    fn own_element(&mut self, var: VarId, indices: &[Expr], span: Span) -> Option<Place> {
        let mut indices = indices.to_vec();
        indices.push(self.own_number(span)?);
        Some(self.place_of(Part::Var(var), indices, span))
    }

    /// Returns the value that stands for this process in a variable that holds a process.
    fn me_as_holder(&mut self, span: Span) -> Option<Expr> {
        let me = self.own_number(span)?;
        let kind = match me.kind {
            ExprKind::Const(number) => ExprKind::Const(number + 1),
            _ => binary(BinaryOp::Add, me, number(1, span), Type::Int).kind,
        };
        let ty = Type::Enum(self.c.processes.ty);
        Some(Expr { kind, ty, span })
    }

    /// Returns the index of this process.
    pub(super) fn own_number(&mut self, span: Span) -> Option<Expr> {
        match self.current {
            CurrentProcess::Process(at) => Some(number(at, span)),
            CurrentProcess::Caller(procedure, parameter) => {
                self.c.require_number(procedure);
                Some(local(parameter, span))
            }
            CurrentProcess::Unknown => {
                self.c.not_spawned(span);
                None
            }
        }
    }

    /// Makes a guard with its body, or an atomic block if the guard always holds.
    fn guarded(&mut self, blocking: Blocking, span: Span) -> StmtKind {
        let Blocking { guard, mut then } = blocking;
        if matches!(guard.kind, ExprKind::Const(1)) {
            return one_step(then);
        }
        let body = match (then.len(), then.pop()) {
            (1, Some(only)) => only,
            (_, last) => {
                then.extend(last);
                let kind = StmtKind::Atomic(then);
                Stmt { kind, span }
            }
        };
        StmtKind::Guard(guard, Box::new(body))
    }

    /// Copies indices into locals, so that they keep their values over several steps. Returns the
    /// statements that compute them, and the new indices.
    fn precomputed_indices(&mut self, indices: Vec<Expr>) -> (Vec<Stmt>, Vec<Expr>) {
        let mut before = Vec::new();
        let settled = indices
            .into_iter()
            .map(|index| self.precomputed(index, &mut before));
        let settled = settled.collect();
        (before, settled)
    }
}

pub(super) fn local(id: LocalId, span: Span) -> Expr {
    Expr {
        kind: ExprKind::Local(id),
        ty: Type::Int,
        span,
    }
}

pub(super) fn truth(value: bool, span: Span) -> Expr {
    Expr {
        kind: ExprKind::Const(value.into()),
        ty: Type::Bool,
        span,
    }
}

fn not(expr: Expr) -> Expr {
    let span = expr.span;
    Expr {
        kind: ExprKind::Unary(UnaryOp::Not, Box::new(expr)),
        ty: Type::Bool,
        span,
    }
}

pub(super) fn binary(op: BinaryOp, a: Expr, b: Expr, ty: Type) -> Expr {
    let span = a.span;
    Expr {
        kind: ExprKind::Binary(op, Box::new(a), Box::new(b)),
        ty,
        span,
    }
}

/// Makes the conjunction of conditions as a balanced tree.
fn all_of(mut parts: Vec<Expr>) -> Expr {
    let right = parts.split_off(parts.len() / 2);
    match (parts.pop(), right.len()) {
        (None, _) => right
            .into_iter()
            .next()
            .unwrap_or(truth(true, Span::default())),
        (Some(last), _) => {
            parts.push(last);
            binary(BinaryOp::And, all_of(parts), all_of(right), Type::Bool)
        }
    }
}

pub(super) fn assign_all(places: Vec<Place>, values: Vec<Expr>, span: Span) -> Stmt {
    let kind = StmtKind::Assign(places, values);
    Stmt { kind, span }
}

fn assign(place: Place, value: Expr, span: Span) -> Stmt {
    assign_all(vec![place], vec![value], span)
}

fn one_step(body: Vec<Stmt>) -> StmtKind {
    StmtKind::Atomic(body)
}
