//! Checks statements: one function for each kind. Constructs that only abbreviate others are
//! lowered, here or in the file named after them (`matches.rs`, `select.rs`, `channels.rs`, …).

use rustc_hash::FxHashMap;

use super::ExpectedName;
use super::atomics::{Target, is_update};
use super::body::{BodyChecker, Meaning};
use super::initial::{FillTarget, Mode};
use super::objects::CurrentProcess;
use super::records::{Declared, Selected, number};
use super::types::{Ty, Typed};
use crate::check::hir::{
    Expr, ExprKind, Leave, LocalId, LockId, Place, ProcedureId, Shape, Spawned, Stmt, StmtKind,
    Type,
};
use crate::syntax::ast::{self, Init, Name};
use mazurka_diagnostics::{Diagnostic, Span};

/// The bounds of a `for`. If they have no common type, the mistake was reported and `ty` is `None`.
struct ForBounds {
    from: Expr,
    to: Expr,
    ty: Option<Type>,
}

impl<'s> BodyChecker<'_, 's> {
    /// Checks the statements of a block, in a new scope.
    pub(super) fn statements(&mut self, list: &[ast::Stmt<'s>]) -> Vec<Stmt> {
        self.scoped(|body| {
            let mut result = Vec::with_capacity(list.len());
            for stmt in list {
                if body.c.full {
                    break;
                }
                result.push(body.stmt(stmt));
            }
            result
        })
    }

    /// Checks a statement in a new scope.
    fn scoped_stmt(&mut self, stmt: &ast::Stmt<'s>) -> Box<Stmt> {
        Box::new(self.scoped(|body| body.stmt(stmt)))
    }

    pub(super) fn stmt(&mut self, stmt: &ast::Stmt<'s>) -> Stmt {
        let span = stmt.span;
        self.c.grow(1, span);
        let kind = match &stmt.kind {
            ast::StmtKind::Poison | ast::StmtKind::Skip => StmtKind::Skip,
            ast::StmtKind::End => StmtKind::End,
            ast::StmtKind::Block(list) => StmtKind::Block(self.statements(list)),
            ast::StmtKind::Assign(left, right) => match (&left[..], &right[..]) {
                ([left], [right]) if is_update(right) => {
                    self.operation_stmt(Target::Assigned(left), right, span)
                }
                _ => self.assign(left, right, span),
            },
            ast::StmtKind::Operation(operation) => {
                self.operation_stmt(Target::Nowhere, operation, span)
            }
            ast::StmtKind::Guard(test, inner) => {
                let test = self.in_one_step(|body| body.condition(test, "a guard"));
                // A guard always runs its body, so a `let` in it stays in scope.
                StmtKind::Guard(test, Box::new(self.stmt(inner)))
            }
            ast::StmtKind::Choice { test, then, other } => StmtKind::Choice {
                test: self.in_one_step(|body| body.condition(test, "a choice")),
                then: self.scoped_stmt(then),
                other: self.scoped_stmt(other),
            },
            ast::StmtKind::GuardedLoop(test, inner) => {
                let test = self.in_one_step(|body| body.condition(test, "a guard"));
                StmtKind::GuardedLoop(test, self.in_loop(|body| body.scoped_stmt(inner)))
            }
            ast::StmtKind::If(test, then, other) => StmtKind::If(
                self.condition(test, "`if`"),
                self.statements(then),
                self.statements(other),
            ),
            ast::StmtKind::Match(value, cases) => self.match_stmt(value, cases, span),
            ast::StmtKind::While {
                test,
                bound,
                invariants,
                body,
            } => {
                let test = self.condition(test, "`while`");
                let bound = bound.as_ref().and_then(|bound| self.bound(bound));
                let invariants = invariants.iter();
                let invariants = invariants.map(|e| self.condition(e, "an invariant"));
                let invariants = invariants.collect();
                let body = self.in_loop(|inner| inner.statements(body));
                StmtKind::While {
                    test,
                    bound,
                    invariants,
                    body,
                }
            }
            ast::StmtKind::For {
                name,
                from,
                to,
                body,
            } => {
                let bounds = self.for_bounds(from, to, span);
                self.for_loop(*name, bounds, body)
            }
            ast::StmtKind::Spawn(name, spawned) => self.spawn(*name, spawned),
            ast::StmtKind::Join(None) => StmtKind::Join(None),
            ast::StmtKind::Join(Some(name)) => match self.handle(*name) {
                Some(local) => StmtKind::Join(Some(local)),
                None => StmtKind::Skip,
            },
            ast::StmtKind::Call(Name { text: "fence", .. }, args)
                if !self.c.globals.contains_key("fence") =>
            {
                self.fence(args, span)
            }
            ast::StmtKind::Call(name, args) if self.is_operation(*name, args) => {
                self.object_stmt(*name, args, span)
            }
            ast::StmtKind::Send(channel, value) => {
                let blocking = self.in_one_step(|body| body.lower_send(channel, value, span));
                self.record_channel_end(channel, blocking.as_ref(), span, true);
                self.object_step(blocking, span)
            }
            ast::StmtKind::Receive(channel, into) => {
                let blocking = self.in_one_step(|body| body.lower_receive(channel, into, span));
                self.record_channel_end(channel, blocking.as_ref(), span, false);
                self.object_step(blocking, span)
            }
            ast::StmtKind::Select(word, alternatives, other) => {
                self.select_stmt(*word, alternatives, other.as_deref())
            }
            ast::StmtKind::Try(kept, operation) => self.tried(kept, operation, span),
            ast::StmtKind::Call(name, args) => match self.call(*name, args, span) {
                Some((procedure, args)) => StmtKind::Call(procedure, args),
                None => StmtKind::Skip,
            },
            ast::StmtKind::Atomic(list) => {
                StmtKind::Atomic(self.in_one_step(|body| body.statements(list)))
            }
            ast::StmtKind::Lock(name, index) => self.lock_stmt("lock", (*name, index), span),
            ast::StmtKind::Unlock(name, index) => self.lock_stmt("unlock", (*name, index), span),
            ast::StmtKind::Let {
                name,
                ty,
                init: Init::Value(update),
            } if is_update(update) => {
                self.operation_stmt(Target::Let(*name, ty.as_ref()), update, span)
            }
            ast::StmtKind::Let { name, ty, init } => match ty {
                Some(ty) => self.typed_let(*name, ty, init),
                None => self.untyped_let(*name, init),
            },
            ast::StmtKind::Assert(test, message) => {
                let test = self.condition(test, "`assert`");
                StmtKind::Assert(test, message.map(|message| self.message(message)))
            }
            ast::StmtKind::Leave(Leave::Procedure) => self.return_stmt(None, span),
            ast::StmtKind::Leave(leave) => self.leave(*leave, span),
            ast::StmtKind::Return(value) => self.return_stmt(Some(value), span),
            ast::StmtKind::Print(text) => {
                // A `print` becomes an assertion that always holds. It reads no shared variable, so
                // it is not a step. A listener shows its message.
                let message = self.message(*text);
                self.c.program.lowered.insert(span);
                self.c.program.prints.insert(span);
                StmtKind::Assert(super::synchronise::truth(true, span), Some(message))
            }
            ast::StmtKind::Labelled(name, inner) => {
                self.label(*name, inner.span);
                return self.stmt(inner);
            }
            ast::StmtKind::Assume(test) => StmtKind::Assume(self.condition(test, "`assume`")),
            ast::StmtKind::Error(message) => {
                StmtKind::Error(message.map(|message| self.message(message)))
            }
        };
        let stmt = Stmt { kind, span };
        if self.after.is_empty() {
            return stmt;
        }
        let mut all = vec![stmt];
        all.append(&mut self.after);
        Stmt {
            kind: StmtKind::Block(all),
            span,
        }
    }

    /// Records the place of a labelled statement. All instances of a process and all calls of a
    /// procedure share the label.
    pub(super) fn label(&mut self, name: Name<'s>, span: Span) {
        let known = self.c.program.labels.insert(name.text.to_owned(), span);
        if let Some(first) = known.filter(|first| *first != span) {
            self.report(
                Diagnostic::new(
                    "M0203",
                    name.span,
                    format!("there are two labels `{}`", name.text),
                )
                .label("declared again here")
                .related(first, "the first one is here")
                .help("choose another name"),
            );
        }
    }

    /// Runs `inner` on the body of a loop.
    fn in_loop<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.in_loop, true);
        let result = inner(self);
        self.in_loop = outer;
        result
    }

    pub(super) fn leave(&mut self, leave: Leave, span: Span) -> StmtKind {
        let (may, what, help) = match leave {
            Leave::Procedure => (
                self.in_procedure,
                "a procedure",
                "a process ends with `end`",
            ),
            _ => (
                self.in_loop,
                "a loop",
                "a block that is spawned in a loop is not part of the loop; a process ends with `end`",
            ),
        };
        if !may {
            let word = leave.word();
            self.report(
                Diagnostic::new("M0425", span, format!("`{word}` is outside of {what}"))
                    .label(format!("expected {what} around this"))
                    .help(help),
            );
            return StmtKind::Skip;
        }
        StmtKind::Leave(leave)
    }

    fn bound(&mut self, bound: &ast::Expr<'s>) -> Option<(i64, LocalId)> {
        let value = match self.const_int(bound, "the bound of a loop") {
            Some(value) if value >= 0 => value,
            Some(value) => {
                self.report(
                    Diagnostic::new("M0406", bound.span, format!("a loop bound of {value}"))
                        .label("expected at least 0")
                        .help("write the largest number of iterations, as in `while (e)[3] { … }`"),
                );
                return None;
            }
            None => return None,
        };
        Some((value, self.hidden("bound", Type::Int)))
    }

    /// Checks the bounds of a `for` and gives them one type. `span` is the place of the statement.
    fn for_bounds(&mut self, from: &ast::Expr<'s>, to: &ast::Expr<'s>, span: Span) -> ForBounds {
        let from = self.expr_in(from, "the bounds of `for`");
        let to = self.expr_in(to, "the bounds of `for`");
        let at = from.expr.span.to(to.expr.span);
        let (from, to, ty) = match self.unify_numbers(from, to, at, "for") {
            Some((from, to, Some(ty))) => (from, to, Some(ty)),
            Some((from, to, None)) => {
                let from = self.settle(from, Type::Int);
                (from, self.settle(to, Type::Int), Some(Type::Int))
            }
            None => {
                let zero = |span| Expr {
                    kind: ExprKind::Const(0),
                    ty: Type::Int,
                    span,
                };
                (zero(span), zero(span), None)
            }
        };
        ForBounds { from, to, ty }
    }

    fn for_loop(&mut self, name: Name<'s>, bounds: ForBounds, body: &[ast::Stmt<'s>]) -> StmtKind {
        let ForBounds { from, to, ty } = bounds;
        self.scoped(|inner| {
            let local = inner.declare(name, ty, Vec::new());
            let limit = inner.hidden("limit", ty.unwrap_or(Type::Int));
            let body = inner.in_loop(|inner| inner.statements(body));
            StmtKind::For {
                local,
                limit,
                from,
                to,
                body,
            }
        })
    }

    fn spawn(&mut self, name: Option<Name<'s>>, spawned: &ast::Spawned<'s>) -> StmtKind {
        let spawned = match spawned {
            ast::Spawned::Block(list) => {
                let outer = (self.in_loop, self.in_procedure, self.current);
                (self.in_loop, self.in_procedure, self.current) =
                    (false, false, CurrentProcess::Unknown);
                let block = self.statements(list);
                (self.in_loop, self.in_procedure, self.current) = outer;
                Some(Spawned::Block(block))
            }
            ast::Spawned::Call(name, args) => self
                .call(*name, args, name.span)
                .map(|(procedure, args)| Spawned::Call(procedure, args)),
        };
        let local = name.map(|name| self.declare(name, Some(Type::Process), Vec::new()));
        match spawned {
            Some(spawned) => StmtKind::Spawn(local, spawned),
            None => StmtKind::Skip,
        }
    }

    fn handle(&mut self, name: Name<'s>) -> Option<LocalId> {
        let meaning = self.resolve(name, ExpectedName::Process);
        match meaning {
            Meaning::Poison => None,
            Meaning::Local(id) if self.frame.locals[id.0 as usize].ty == Type::Process => Some(id),
            other => {
                let help = "keep the process where it is started: `let h = spawn …; join h`";
                self.wrong_kind(
                    name,
                    other,
                    "a process kept by `let h = spawn …`",
                    help.to_owned(),
                );
                None
            }
        }
    }

    fn call(
        &mut self,
        name: Name<'s>,
        args: &[ast::Expr<'s>],
        span: Span,
    ) -> Option<(ProcedureId, Vec<Expr>)> {
        if self.misspelt_operation(name, args) {
            return None;
        }
        let meaning = self.resolve(name, ExpectedName::Proc);
        let Meaning::Proc(id) = meaning else {
            if !matches!(meaning, Meaning::Poison) {
                let help = format!(
                    "declare `proc {}(…) {{ … }}`, or assign with `:=`",
                    name.text
                );
                self.wrong_kind(name, meaning, "a procedure", help);
            }
            for arg in args {
                self.value(arg);
            }
            return None;
        };
        if self.c.refuses_call(name.text, span) {
            return None;
        }
        let params = self.c.signatures[id.0 as usize].clone();
        if params.len() != args.len() {
            let (needs, found) = (count(params.len(), "argument"), args.len());
            let mut diagnostic = Diagnostic::new(
                "M0308",
                span,
                format!("`{}` takes {needs}, found {found}", name.text),
            )
            .label(format!("expected {needs}"));
            if let Some(declared) = self.declared_at(name) {
                diagnostic = diagnostic.related(declared, "declared here");
            }
            self.report(diagnostic.help("give one argument for each parameter"));
        }
        let mut values = Vec::with_capacity(args.len());
        for (index, arg) in args.iter().enumerate() {
            match params.get(index) {
                Some(Declared::Struct(id)) => {
                    let fields = self.record_values(*id, arg, Mode::Local);
                    values.extend(fields.into_iter().flatten().flatten());
                }
                other => {
                    let ty = other.and_then(|declared| declared.plain());
                    values.push(self.value_of_type(arg, ty));
                }
            }
        }
        if self.c.processes.identified {
            values.push(match self.current {
                CurrentProcess::Process(at) => number(at, span),
                CurrentProcess::Caller(_, parameter) => super::synchronise::local(parameter, span),
                // The value is never used: the checker refuses every use.
                CurrentProcess::Unknown => number(0, span),
            });
        }
        Some((id, values))
    }

    fn lock_stmt(
        &mut self,
        verb: &'static str,
        (name, index): (Name<'s>, &Option<ast::Expr<'s>>),
        span: Span,
    ) -> StmtKind {
        let index = index.as_ref();
        if let Some(lowered) = self.lowered_lock(name, index, verb, span) {
            return lowered;
        }
        match self.lock(name, index) {
            Some((lock, index)) if verb == "lock" => StmtKind::Lock(lock, index),
            Some((lock, index)) => StmtKind::Unlock(lock, index),
            None => StmtKind::Skip,
        }
    }

    pub(super) fn lock(
        &mut self,
        name: Name<'s>,
        index: Option<&ast::Expr<'s>>,
    ) -> Option<(LockId, Option<Expr>)> {
        let meaning = self.resolve(name, ExpectedName::Lock);
        let index = index.map(|index| self.index(index));
        let Meaning::Lock(id) = meaning else {
            if !matches!(meaning, Meaning::Poison) {
                let help = "locks are declared outside of all blocks: `lock m`".to_owned();
                self.wrong_kind(name, meaning, "a lock", help);
            }
            return None;
        };
        let len = self.c.program.locks[id.0 as usize].len;
        match (len, &index) {
            (Some(len), None) => self.array_without_index(name, len),
            (None, Some(_)) => self.scalar_with_index(name),
            _ => {}
        }
        Some((id, index))
    }

    fn typed_let(&mut self, name: Name<'s>, ty: &ast::TypeExpr<'s>, init: &Init<'s>) -> StmtKind {
        self.no_atomic(ty);
        let mut of = self.c.known_type(ty);
        let dims = self.dims(&ty.dims, 1, false);
        match &dims {
            Some(dims) if !dims.is_empty() => {
                self.c.grow(dims.iter().product::<u32>() as usize, ty.span);
            }
            Some(_) => {}
            None => of = Declared::Poison,
        }
        let dims = dims.unwrap_or_default();
        let what = FillTarget {
            name,
            dims: &dims,
            element: of,
            mode: Mode::Local,
        };
        let mut values = self.filled(what, init);
        if let Declared::Struct(id) = of {
            return self.let_record(name, id, dims, values);
        }
        let range = self.range(ty);
        let local = self.declare(name, of.plain(), dims);
        if let Some(range) = range {
            self.ranges.insert(local, range);
            self.keep_in_range(&Place::Local(local), name.span);
        }
        StmtKind::Let(local, values.pop().unwrap_or_default())
    }

    /// Declares a local of a `struct` type and assigns all of its fields at once.
    fn let_record(
        &mut self,
        name: Name<'s>,
        id: u32,
        dims: Vec<u32>,
        values: Vec<Vec<Expr>>,
    ) -> StmtKind {
        let shape = Shape::plain(name.text, dims);
        let Some(record) = self.local_record(id, &shape) else {
            self.declare(name, None, Vec::new());
            return StmtKind::Skip;
        };
        self.declare_record(name, record);
        let mut leaves = Vec::new();
        self.c.leaves(record, &mut leaves);
        let (mut places, mut all) = (Vec::new(), Vec::new());
        for (leaf, values) in leaves.into_iter().zip(values) {
            let super::records::Part::Local(local) = leaf else {
                continue;
            };
            let is_array = self.frame.locals[local.0 as usize].len.is_some();
            self.keep_in_range(&Place::Local(local), name.span);
            for (at, value) in values.into_iter().enumerate() {
                places.push(if is_array {
                    let index = super::records::number(at as i64, name.span);
                    Place::LocalElement(local, index)
                } else {
                    Place::Local(local)
                });
                all.push(value);
            }
        }
        StmtKind::Assign(places, all)
    }

    pub(super) fn one_value_for_all(&mut self, name: Name<'s>, span: Span) {
        self.report(
            Diagnostic::new(
                "M0413",
                span,
                format!("the elements of `{}` need a constant", name.text),
            )
            .label("one value for all elements must be constant")
            .help(
                "list the values, `[e, f, …]`, or write `= 0` and assign the elements in a `for`",
            ),
        );
    }

    fn untyped_let(&mut self, name: Name<'s>, init: &Init<'s>) -> StmtKind {
        let (list, span) = match init {
            Init::Value(expr) if self.struct_of(expr).is_some() => {
                let id = self.struct_of(expr).unwrap_or_default();
                let values = self.record_values(id, expr, Mode::Local);
                return match values {
                    Some(values) => self.let_record(name, id, Vec::new(), values),
                    None => {
                        self.declare(name, None, Vec::new());
                        StmtKind::Skip
                    }
                };
            }
            Init::Value(expr) => {
                let typed = self.value(expr);
                let (value, ty) = self.default_type(typed);
                let local = self.declare(name, ty, Vec::new());
                return StmtKind::Let(local, vec![value]);
            }
            Init::List(list, span) => (list, *span),
            Init::Each { span, .. } => {
                self.needs_type(name, *span);
                return StmtKind::Skip;
            }
        };
        let mut ty = None;
        let mut typed: Vec<Typed> = Vec::with_capacity(list.len());
        for item in list {
            let Init::Value(expr) = item else {
                self.needs_type(name, span);
                return StmtKind::Skip;
            };
            let value = self.value(expr);
            if let (Ty::Known(known), None) = (value.ty, ty) {
                ty = Some(known);
            }
            typed.push(value);
        }
        if list.is_empty() {
            self.report(
                Diagnostic::new("M0406", span, "an array of 0 elements")
                    .label("expected at least 1")
                    .help("an array has at least one element"),
            );
        }
        let poisoned = typed.iter().any(|value| value.ty == Ty::Poison) || list.is_empty();
        let ty = ty.unwrap_or(Type::Int);
        let values = typed
            .into_iter()
            .map(|value| self.coerce(value, ty))
            .collect();
        let dims = u32::try_from(list.len()).ok().into_iter().collect();
        let local = self.declare(name, (!poisoned).then_some(ty), dims);
        StmtKind::Let(local, values)
    }

    /// Reports a list whose type cannot be inferred.
    fn needs_type(&mut self, name: Name<'s>, span: Span) {
        let text = name.text;
        self.report(
            Diagnostic::new("M0311", span, format!("`{text}` needs a type"))
                .label("this list has more than one dimension, or a range")
                .help(format!("write `let {text}: int[n] = …`")),
        );
        self.declare(name, None, Vec::new());
    }

    /// Gives a type to a value without context: a literal becomes an `int`.
    fn default_type(&mut self, typed: Typed) -> (Expr, Option<Type>) {
        match typed.ty {
            Ty::Known(ty) => (typed.expr, Some(ty)),
            Ty::Literal => (self.settle(typed.expr, Type::Int), Some(Type::Int)),
            Ty::Poison => (typed.expr, None),
        }
    }

    fn assign(&mut self, left: &[ast::Expr<'s>], right: &[ast::Expr<'s>], span: Span) -> StmtKind {
        if left.len() != right.len() {
            self.report(
                Diagnostic::new(
                    "M0309",
                    span,
                    format!(
                        "{} left of `:=`, but {} right of it",
                        count(left.len(), "variable"),
                        count(right.len(), "value")
                    ),
                )
                .label("both sides must have the same number")
                .help("`x, y := e, f` assigns `e` to `x` and `f` to `y`"),
            );
        }
        let mut places = Vec::with_capacity(left.len());
        let mut seen: FxHashMap<(bool, u32, Option<i64>), Span> = FxHashMap::default();
        let mut types = Vec::with_capacity(left.len());
        for expr in left {
            let (found, of) = match self.struct_of(expr) {
                None => {
                    let (place, ty) = self.place(expr);
                    (place.into_iter().collect(), ty.map(Declared::Plain))
                }
                Some(id) => {
                    let places = match self.selected(expr) {
                        Some(Selected::Record(record, indices)) => {
                            self.places_of(record, &indices, expr.span)
                        }
                        _ => Vec::new(),
                    };
                    let places: Vec<Place> = places.into_iter().map(|(place, _)| place).collect();
                    (places, Some(Declared::Struct(id)))
                }
            };
            types.push(of);
            for place in found {
                if let Some(key) = identity(&place)
                    && let Some(first) = seen.insert(key, expr.span)
                {
                    self.assigned_twice(expr.span, first);
                }
                self.keep_in_range(&place, span);
                places.push(place);
            }
        }
        let mut values = Vec::with_capacity(right.len());
        for (index, expr) in right.iter().enumerate() {
            match types.get(index).copied().flatten() {
                Some(Declared::Struct(id)) => {
                    let fields = self.record_values(id, expr, Mode::Local);
                    values.extend(fields.into_iter().flatten().flatten());
                }
                of => {
                    let ty = of.and_then(Declared::plain);
                    values.push(self.value_of_type(expr, ty));
                }
            }
        }
        StmtKind::Assign(places, values)
    }

    fn assigned_twice(&mut self, span: Span, first: Span) {
        self.report(
            Diagnostic::new("M0402", span, "assigned twice in one assignment")
                .label("the second time")
                .related(first, "the first time")
                .help("both happen at once: keep one, or write two assignments"),
        );
    }

    /// Checks the left side of `:=`. Returns the place, and its type if both are correct.
    pub(super) fn place(&mut self, expr: &ast::Expr<'s>) -> (Option<Place>, Option<Type>) {
        let (ast::ExprKind::Name(name)
        | ast::ExprKind::Index(name, _)
        | ast::ExprKind::Path(name, _)) = &expr.kind
        else {
            return (None, None);
        };
        let meaning = self.resolve(*name, ExpectedName::Value);
        let (depth, len) = match meaning {
            Meaning::Local(id) => {
                let local = &self.frame.locals[id.0 as usize];
                (local.shape.dims.len(), local.len)
            }
            Meaning::Var(id) => {
                let var = &self.c.program.vars[id.0 as usize];
                (var.shape.dims.len(), var.len)
            }
            Meaning::Record(_) => (1, None),
            Meaning::Poison => (0, None),
            other => {
                if let ast::ExprKind::Index(_, index) = &expr.kind {
                    self.index(index);
                }
                self.not_a_variable(*name, other);
                return (None, None);
            }
        };
        if let (ast::ExprKind::Name(_), 1, Some(len)) = (&expr.kind, depth, len) {
            self.array_without_index(*name, len);
            return (None, None);
        }
        match self.selected(expr) {
            Some(Selected::Value(place, ty)) => (Some(place), Some(ty)),
            Some(Selected::Record(..)) => {
                // Assignments of a whole `struct` are handled before this is called.
                self.report(
                    Diagnostic::new("M0313", expr.span, "this is a whole `struct`")
                        .label("expected a single value")
                        .help("name a field, as in `m.f`"),
                );
                (None, None)
            }
            _ => (None, None),
        }
    }

    fn not_a_variable(&mut self, name: Name<'s>, meaning: Meaning) {
        let help = match meaning {
            Meaning::Const(_) => {
                "a constant keeps its value: declare a `var` or a `let`".to_owned()
            }
            Meaning::Param(_) => {
                let text = name.text;
                format!("copy it into a local: `let v = {text}`, and assign `v`")
            }
            Meaning::Lock(_) => format!("write `lock({0})` or `unlock({0})`", name.text),
            Meaning::Alias(_) => "a quantifier or a function only reads".to_owned(),
            _ => "only variables can be assigned".to_owned(),
        };
        let mut diagnostic = Diagnostic::new(
            "M0401",
            name.span,
            format!(
                "`{}` is {} and cannot be assigned",
                name.text,
                meaning.describe()
            ),
        )
        .label("expected a variable");
        if let Some(span) = self.declared_at(name) {
            diagnostic = diagnostic.related(span, "declared here");
        }
        self.report(diagnostic.help(help));
    }

    pub(super) fn array_parameter(&mut self, name: Name<'s>, span: Span) {
        self.report(
            Diagnostic::new(
                "M0306",
                span,
                format!("the parameter `{}` is an array", name.text),
            )
            .label("expected a type without size")
            .help("arguments are single values: use a shared array, or pass an index"),
        );
    }
}

/// Returns a key by which two targets of an assignment are compared, if the target is known at
/// compile time: whether the variable is shared, the index of the variable, and for an element of
/// an array its index there.
fn identity(place: &Place) -> Option<(bool, u32, Option<i64>)> {
    let constant = |index: &Expr| match index.kind {
        ExprKind::Const(value) => Some(Some(value)),
        _ => None,
    };
    match place {
        Place::Local(id) => Some((false, id.0, None)),
        Place::Shared(id) => Some((true, id.0, None)),
        Place::LocalElement(id, index) => Some((false, id.0, constant(index)?)),
        Place::Element(id, index) => Some((true, id.0, constant(index)?)),
    }
}

fn count(number: usize, noun: &str) -> String {
    match number {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}
