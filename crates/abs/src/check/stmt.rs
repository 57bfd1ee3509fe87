//! Checks and compiles statements, and expressions with effects; `expr.rs` has the pure ones.

use mazurka_diagnostics::Diagnostic;
use mazurka_diagnostics::Span;

use super::calls::Applied;
use super::rules::Rules;
use super::times;
use super::{Block, Checker, FunctionBody, LocalTy, MethodSignature, STANDARD_NAME, TypeDef};
use crate::code::{Caught, Handler, Op};
use crate::syntax::ast::{Binary, Expr, ExprKind, Guard, Name, Pattern, Stmt, StmtKind, Unary};
use crate::syntax::parser::Excluded;
use crate::types::{Head, Ty};
use crate::value::Value;

/// Whether the end of these statements cannot be reached.
pub(super) fn returns(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Throw(_) | StmtKind::Die(_) => true,
        StmtKind::Block(inner) => returns(inner),
        StmtKind::If(_, yes, Some(no)) => {
            returns(std::slice::from_ref(yes)) && returns(std::slice::from_ref(no))
        }
        StmtKind::While(condition, _) => {
            matches!(&condition.kind, ExprKind::Construct(name, _) if name.text == "True")
        }
        StmtKind::Switch(_, branches) => branches
            .iter()
            .all(|(_, branch)| returns(std::slice::from_ref(branch))),
        StmtKind::Try {
            body,
            catches,
            finally,
        } => {
            let caught = catches
                .iter()
                .all(|(_, branch)| returns(std::slice::from_ref(branch)));
            let last = finally
                .as_ref()
                .is_some_and(|last| returns(std::slice::from_ref(last)));
            last || (returns(std::slice::from_ref(body)) && caught)
        }
        _ => false,
    })
}

/// Whether a statement does nothing but release the cog once. If it is the body of a loop, as in
/// `while (e) { suspend; }`, the loop waits until `e` is false. Such a loop is compiled as a wait.
/// As a loop, it could make rounds for ever that change nothing, and an engine that does not
/// compare states would not terminate. A loop whose condition calls `random` remains a loop.
fn only_suspends(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Suspend => true,
        StmtKind::Block(inner) => matches!(&inner[..], [one] if only_suspends(one)),
        _ => false,
    }
}

impl<'a> Checker<'a> {
    pub(super) fn stmts(&mut self, stmts: &'a [Stmt]) {
        let depth = self.scope_depth();
        for stmt in stmts {
            self.stmt(stmt);
        }
        self.leave_scope(depth);
    }

    fn inner(&mut self, stmt: &'a Stmt) {
        self.stmts(std::slice::from_ref(stmt));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        let span = stmt.span;
        if let Some(deadline) = &stmt.deadline {
            let name = format!("{STANDARD_NAME}.Duration");
            if let Some(TypeDef::Data(data)) = self.types.get(&name) {
                let ty = Ty::Made(Head::Data(*data), Vec::new());
                self.expr_as(deadline, &ty);
                let slot = self.slot();
                self.emit(Op::Set(slot), span);
                self.body().deadline = Some(slot);
            }
        }
        self.stmt_kind(stmt, span);
        self.body().deadline = None;
    }

    fn stmt_kind(&mut self, stmt: &'a Stmt, span: Span) {
        match &stmt.kind {
            StmtKind::Skip => {}
            StmtKind::Duration(min, max) => {
                self.waits(span);
                self.duration(min, max.as_ref(), span);
                self.emit(Op::Pop, span);
                self.emit(Op::Block, span);
            }
            StmtKind::Declare {
                ty: written,
                name,
                value,
                fixed,
            } => {
                let module = self.module_here();
                let ty = self.ty(module, &[], written);
                let mut sure = false;
                match value {
                    Some(value) => {
                        self.rhs_as(value, &ty);
                        sure = self.is_nonnull(value);
                        if written.nonnull {
                            self.require_nonnull(value);
                        }
                    }
                    None => {
                        self.needs_value(&ty, name);
                        self.needs_object(written, name);
                        self.emit_value(Value::Null, span);
                    }
                }
                let slot = self.declare_local(name, LocalTy::Value(ty));
                self.rule(Rules {
                    fixed: *fixed,
                    nonnull: written.nonnull,
                    elements: written.args.iter().any(|arg| arg.nonnull),
                });
                if sure {
                    self.body().nonnull.push(slot);
                }
                self.emit(Op::Set(slot), name.span);
            }
            StmtKind::Assign { field, name, value } => self.assign(*field, name, value),
            StmtKind::Return(value) => self.return_stmt(value, span),
            StmtKind::Assert(condition) => {
                self.expr_as(condition, &Ty::BOOL);
                self.emit(Op::Assert, span);
            }
            StmtKind::Block(stmts) => self.stmts(stmts),
            StmtKind::If(condition, yes, no) => {
                self.expr_as(condition, &Ty::BOOL);
                let otherwise = self.emit_jump(Op::JumpUnless(0), condition.span);
                let before = self.body().claimed.clone();
                let sure = self.body().nonnull.clone();
                let tested = self.tested(condition, Binary::Unequal);
                self.body().nonnull.extend(tested);
                self.inner(yes);
                let after = std::mem::replace(&mut self.body().claimed, before);
                let sure = std::mem::replace(&mut self.body().nonnull, sure);
                let tested = self.tested(condition, Binary::Equal);
                self.body().nonnull.extend(tested);
                match no {
                    None => self.set_jump_target(otherwise),
                    Some(no) => {
                        let end = self.emit_jump(Op::Jump(0), span);
                        self.set_jump_target(otherwise);
                        self.inner(no);
                        self.set_jump_target(end);
                    }
                }
                self.body().claimed.retain(|slot| after.contains(slot));
                self.body().nonnull.retain(|slot| sure.contains(slot));
            }
            StmtKind::While(condition, body) if only_suspends(body) => {
                let start = self.here();
                self.expr_as(condition, &Ty::BOOL);
                let end = self.emit_jump(Op::JumpUnless(0), condition.span);
                if self.body().ops[start as usize..].contains(&Op::Random) {
                    // Each round must call `random` again, which a guard cannot do, so the loop is
                    // compiled as a loop.
                    self.inner(body);
                    self.emit(Op::Jump(start), span);
                    return self.set_jump_target(end);
                }
                self.waits(span);
                self.emit(Op::Await, span);
                self.expr_as(condition, &Ty::BOOL);
                self.emit(Op::Unary(Unary::Not), span);
                self.emit(Op::Guard, span);
                self.emit(Op::Resume, span);
                self.set_jump_target(end);
            }
            StmtKind::While(condition, body) => {
                self.forget_known();
                let start = self.here();
                self.expr_as(condition, &Ty::BOOL);
                let end = self.emit_jump(Op::JumpUnless(0), condition.span);
                self.inner(body);
                self.forget_known();
                self.emit(Op::Jump(start), span);
                self.set_jump_target(end);
            }
            StmtKind::Foreach {
                name,
                index,
                list,
                body,
            } => self.foreach(name, index.as_ref(), list, body),
            StmtKind::Switch(value, branches) => {
                let ty = self.expr(value, None);
                let slot = self.slot();
                self.emit(Op::Set(slot), span);
                let ends = self.branches(branches, slot, &ty);
                let patterns = branches.iter().map(|(pattern, _)| pattern);
                let last = self.otherwise(patterns, &ty);
                self.emit(last, span);
                for end in ends {
                    self.set_jump_target(end);
                }
            }
            StmtKind::Try {
                body,
                catches,
                finally,
            } => self.try_stmt(body, catches, finally.as_deref(), span),
            StmtKind::Throw(value) => {
                self.expr_as(value, &Ty::EXCEPTION);
                self.emit(Op::Throw, span);
            }
            StmtKind::Die(value) => {
                self.expr_as(value, &Ty::EXCEPTION);
                self.emit(Op::Die, span);
            }
            StmtKind::Await(guards) => self.await_stmt(guards, span),
            StmtKind::Suspend => {
                self.waits(span);
                self.emit(Op::Suspend, span);
            }
            // As a statement, `await o!m()` calls and waits, but does not take the value of the
            // future.
            StmtKind::Expr(Expr {
                kind: ExprKind::AwaitCall(object, method, args),
                ..
            }) => {
                self.await_call(object, method, args, span);
            }
            StmtKind::Expr(expr) => {
                self.rhs(expr, None);
                self.emit(Op::Pop, span);
            }
        }
    }

    /// Reports a statement that waits where waiting is not allowed.
    fn waits(&mut self, span: Span) {
        if self.body().atomic {
            let mistake = Diagnostic::new("A0244", span, "an atomic method does not wait")
                .label("`await`, `suspend`, `get` and calls of methods that are not atomic")
                .help("take `[Atomic]` from the method");
            self.report(mistake);
        }
        if !self.body().may_wait {
            let (who, help) = match self.body().block {
                Block::Init => ("an init", "move this into the method `Unit run()`"),
                Block::Recover => ("a `recover`", "let it start a task that waits: `this!m();`"),
                Block::Finally => ("a `finally`", "move this after the `try` statement"),
            };
            let mistake = Diagnostic::new("A0237", span, format!("{who} block cannot wait"))
                .label("`await`, `suspend`, `get` and calls of other objects are for methods")
                .help(help);
            self.report(mistake);
        }
    }

    fn assign(&mut self, field: bool, name: &Name, value: &'a Expr) {
        let local = if field { None } else { self.local(&name.text) };
        match (local, self.field(&name.text)) {
            (Some((slot, LocalTy::Value(ty))), _) => {
                self.may_assign(name, false);
                self.rhs_as(value, &ty);
                let sure = self.is_nonnull(value);
                if self.local_rules(&name.text).nonnull {
                    self.require_nonnull(value);
                }
                let body = self.body();
                body.claimed.retain(|&known| known != slot);
                body.nonnull.retain(|&known| known != slot);
                body.nonnull.extend(sure.then_some(slot));
                self.emit(Op::Set(slot), name.span.to(value.span));
            }
            (_, Some((at, ty))) => {
                self.may_assign(name, true);
                self.rhs_as(value, &ty);
                if self.field_rules(&name.text).nonnull {
                    self.require_nonnull(value);
                }
                self.emit(Op::SetField(at), name.span.to(value.span));
            }
            _ if field => {
                self.no_field(name);
            }
            _ => {
                let mut names: Vec<String> = self
                    .body()
                    .scope
                    .iter()
                    .map(|local| local.name.clone())
                    .collect();
                if let Some(class) = self.class_here() {
                    let fields = &self.classes[class as usize].fields;
                    names.extend(fields.iter().map(|(name, _)| name.clone()));
                }
                self.unknown("A0207", "variable", name, names.iter());
            }
        }
    }

    /// Compiles a `finally` block. No statement in it may wait or return.
    fn finally(&mut self, last: &'a Stmt) {
        let body = self.body();
        let outside = (body.may_wait, body.block);
        (body.may_wait, body.block) = (false, Block::Finally);
        self.inner(last);
        (self.body().may_wait, self.body().block) = outside;
    }

    fn return_stmt(&mut self, value: &'a Expr, span: Span) {
        if self.body().block == Block::Finally {
            let mistake = Diagnostic::new("A0238", span, "nothing can be returned here")
                .label("a `finally` block has no result")
                .help("move the `return` after the `try` statement");
            return self.report(mistake);
        }
        match self.body().result.clone() {
            Some(result) => {
                self.rhs_as(value, &result);
                if self.body().nonnull_result {
                    self.require_nonnull(value);
                }
            }
            None => {
                let mistake = Diagnostic::new("A0238", span, "nothing can be returned here")
                    .label("the main block and init blocks have no result")
                    .help("take the `return` out");
                self.report(mistake);
            }
        }
        // Before the task leaves, it executes a copy of each enclosing `finally`, innermost first.
        if !self.finals.is_empty() {
            let slot = self.slot();
            self.emit(Op::Set(slot), span);
            let finals = self.finals.clone();
            while let Some((last, hole)) = self.finals.pop() {
                let start = self.here();
                self.finally(last);
                let end = self.here();
                for holes in &mut self.holes[hole..] {
                    holes.push((start, end));
                }
            }
            self.finals = finals;
            self.emit(Op::Local(slot), span);
        }
        self.emit(Op::Leave, span);
    }

    fn foreach(&mut self, name: &Name, index: Option<&Name>, list: &'a Expr, body: &'a Stmt) {
        let ty = self.expr(list, None);
        let element = self.unknowns.fresh();
        let Some(TypeDef::Data(data)) = self.types.get(&format!("{STANDARD_NAME}.List")) else {
            return;
        };
        let wanted = Ty::Made(Head::Data(*data), vec![element.clone()]);
        self.fit(&ty, &wanted, list.span);
        let span = name.span;
        let rest = self.slot();
        self.emit(Op::Set(rest), span);
        let depth = self.scope_depth();
        let variable = self.declare_local(name, LocalTy::Value(element));
        let counter = index.map(|index| self.declare_local(index, LocalTy::Value(Ty::INT)));
        if let Some(counter) = counter {
            self.emit_value(Value::Int(-1), span);
            self.emit(Op::Set(counter), span);
        }
        self.forget_known();
        let start = self.here();
        self.emit(Op::Local(rest), span);
        let constructor = self.constructor_named("Cons");
        let end = self.emit_jump(
            Op::JumpUnlessMade {
                constructor,
                target: 0,
            },
            span,
        );
        for (part, slot) in [(0, variable), (1, rest)] {
            self.emit(Op::Local(rest), span);
            self.emit(Op::Part(part), span);
            self.emit(Op::Set(slot), span);
        }
        if let Some(counter) = counter {
            self.emit(Op::Local(counter), span);
            self.emit_value(Value::Int(1), span);
            self.emit(Op::Binary(Binary::Add), span);
            self.emit(Op::Set(counter), span);
        }
        self.inner(body);
        self.forget_known();
        self.emit(Op::Jump(start), span);
        self.set_jump_target(end);
        self.leave_scope(depth);
    }

    /// Compiles the branches of a `switch` or `catch`; each ends with a jump to the end.
    fn branches(
        &mut self,
        branches: &'a [(Pattern, Stmt)],
        slot: u32,
        ty: &Ty,
    ) -> Vec<super::body::PendingJump> {
        let mut ends = Vec::new();
        for (pattern, branch) in branches {
            let depth = self.scope_depth();
            let mut fails = Vec::new();
            self.forget_known();
            self.pattern(pattern, slot, ty, &mut fails);
            self.inner(branch);
            self.forget_known();
            ends.push(self.emit_jump(Op::Jump(0), pattern.span));
            self.leave_scope(depth);
            self.set_jump_targets(fails);
        }
        ends
    }

    fn try_stmt(
        &mut self,
        body: &'a Stmt,
        catches: &'a [(Pattern, Stmt)],
        finally: Option<&'a Stmt>,
        span: Span,
    ) {
        let depth = self.holes.len();
        // A handler does not cover the *holes* in the body: the copies of `finally` blocks before a
        // `return`. The first of the two new lists is for the handler of `finally`, the second for
        // the handler of `catch`.
        self.holes.push(Vec::new());
        self.holes.push(Vec::new());
        if let Some(last) = finally {
            self.finals.push((last, depth));
        }
        self.forget_known();
        let start = self.here();
        self.inner(body);
        self.forget_known();
        let end = self.here();
        let holes = self.holes.pop().unwrap_or_default();
        let done = self.emit_jump(Op::Jump(0), span);
        let slot = self.slot();
        let target = self.here();
        let catches_all = self.caught(catches);
        self.body().handlers.push(Handler {
            start,
            end,
            holes,
            target,
            slot,
            catches: catches_all,
        });
        let ends = self.branches(catches, slot, &Ty::EXCEPTION);
        self.emit(Op::Local(slot), span);
        self.emit(Op::Rethrow, span);
        let caught = self.here();
        self.set_jump_target(done);
        self.set_jump_targets(ends);
        let holes = self.holes.pop().unwrap_or_default();
        if let Some(last) = finally {
            self.finals.pop();
            self.finally(last);
            let done = self.emit_jump(Op::Jump(0), span);
            let slot = self.slot();
            let target = self.here();
            self.body().handlers.push(Handler {
                start,
                end: caught,
                holes,
                target,
                slot,
                catches: Caught::These(Vec::new()),
            });
            self.finally(last);
            self.emit(Op::Local(slot), span);
            self.emit(Op::Rethrow, span);
            self.set_jump_target(done);
        }
    }

    fn await_stmt(&mut self, guards: &'a [Guard], span: Span) {
        self.waits(span);
        // The durations of a guard start when the task reaches the `await`.
        let mut ends = Vec::new();
        for guard in guards {
            if let Guard::Duration(Some((min, max))) = guard {
                self.duration(min, max.as_ref(), span);
                let slot = self.slot();
                self.emit(Op::Set(slot), span);
                ends.push(slot);
            }
        }
        self.emit(Op::Await, span);
        for slot in ends {
            self.emit(Op::Local(slot), span);
            self.emit(Op::Elapsed, span);
            self.emit(Op::Guard, span);
        }
        for guard in guards {
            match guard {
                Guard::Duration(_) => {}
                Guard::Claim(future) => {
                    self.future_expr(future);
                    self.derefs(Head::Future);
                    self.emit(Op::Claim, future.span);
                    if let ExprKind::Variable(name) = &future.kind
                        && let Some((slot, _)) = self.local(&name.text)
                    {
                        self.body().claimed.push(slot);
                    }
                }
                Guard::Condition(condition) => {
                    self.body().in_guard = true;
                    self.expr_as(condition, &Ty::BOOL);
                    self.body().in_guard = false;
                    self.emit(Op::Guard, condition.span);
                }
            }
        }
        self.emit(Op::Resume, span);
    }

    fn rhs_as(&mut self, expr: &'a Expr, wanted: &Ty) {
        let ty = self.rhs(expr, Some(wanted));
        self.fit(&ty, wanted, expr.span);
    }

    /// Compiles an expression that is a future. Returns the type of the future's value, or the type
    /// `Destiny` for `destiny`, whose value has no known type.
    fn future_expr(&mut self, expr: &'a Expr) -> Ty {
        let ty = self.expr(expr, None);
        if self.unknowns.shallow(&ty) == Ty::DESTINY {
            return Ty::DESTINY;
        }
        let of = self.unknowns.fresh();
        self.fit(&ty, &Ty::future(of.clone()), expr.span);
        of
    }

    /// Emits the instruction that takes the value of a future, and records the type of the value.
    fn take(&mut self, op: Op, ty: &Ty, span: Span) {
        let here = self.here();
        self.body().taken.push((here, ty.clone()));
        self.emit(op, span);
    }

    /// Compiles a call and the wait for it. Returns the slot of the future, and the type of the
    /// result.
    fn await_call(
        &mut self,
        object: &'a Expr,
        method: &Name,
        args: &'a [Expr],
        span: Span,
    ) -> (u32, Ty) {
        self.waits(span);
        let result = self.method_call(object, method, args, false);
        let slot = self.slot();
        self.emit(Op::Set(slot), span);
        self.emit(Op::Await, span);
        self.emit(Op::Local(slot), span);
        self.emit(Op::Claim, span);
        self.emit(Op::Resume, span);
        (slot, result)
    }

    /// Starts a duration, and puts the time of its end on the stack.
    fn duration(&mut self, min: &'a Expr, max: Option<&'a Expr>, span: Span) {
        let from = self.duration_bound(min);
        let to = self.duration_bound(max.unwrap_or(min));
        let same = max.is_none_or(|max| times::same(min, max));
        self.out.times.add(from, to, same);
        self.emit(Op::Wake, span);
    }

    /// Compiles the branches of a recovery block, with the exception in a slot.
    pub(super) fn recovery(&mut self, branches: &'a [(Pattern, Stmt)], slot: u32, span: Span) {
        let ends = self.branches(branches, slot, &Ty::EXCEPTION);
        self.emit(Op::Local(slot), span);
        self.emit(Op::Rethrow, span);
        self.set_jump_targets(ends);
        self.emit(Op::Recovered, span);
    }

    /// Compiles an expression with effects: on the right of `=`, after `return`, or as a statement.
    fn rhs(&mut self, expr: &'a Expr, wanted: Option<&Ty>) -> Ty {
        let span = expr.span;
        match &expr.kind {
            ExprKind::New { local, class, args } => {
                let name = class;
                self.new_object(Applied { name, args, span }, *local)
            }
            ExprKind::Async(object, method, args) => {
                let result = self.method_call(object, method, args, false);
                Ty::future(result)
            }
            ExprKind::AwaitCall(object, method, args) => {
                let (slot, result) = self.await_call(object, method, args, span);
                self.emit(Op::Local(slot), span);
                self.take(Op::Take, &result, span);
                result
            }
            ExprKind::Sync(object, method, args) => {
                let result = self.method_call(object, method, args, true);
                self.take(Op::Get, &result, span);
                result
            }
            ExprKind::Get(future) => {
                self.waits(span);
                let of = self.future_expr(future);
                let known = match &future.kind {
                    ExprKind::Variable(name) => self.local(&name.text),
                    _ => None,
                };
                let claimed = known.is_some_and(|(slot, _)| self.body().claimed.contains(&slot));
                self.derefs(Head::Future);
                self.take(if claimed { Op::Take } else { Op::Get }, &of, span);
                of
            }
            ExprKind::Call(name, args) => match self.effectful(name) {
                Some("println" | "print") => {
                    self.arguments(&format!("`{}`", name.text), args, &[Ty::TEXT], span);
                    let line = name.text.ends_with("println");
                    self.emit(Op::Print { line }, span);
                    Ty::UNIT
                }
                Some(_) => {
                    self.arguments("`random`", args, &[Ty::INT], span);
                    self.emit(Op::Random, span);
                    Ty::INT
                }
                None => self.expr(expr, wanted),
            },
            _ => self.expr(expr, wanted),
        }
    }

    /// Returns `println`, `print` or `random` if the name denotes this function of the standard
    /// module; other functions have no effects.
    pub(super) fn effectful(&self, name: &Name) -> Option<&'static str> {
        let number = self.function_here(name)?;
        let function = &self.functions[number as usize];
        if function.module != 0 || !matches!(function.body, FunctionBody::Builtin(None)) {
            return None;
        }
        ["println", "print", "random"]
            .into_iter()
            .find(|known| *known == function.name)
    }

    fn new_object(&mut self, applied: Applied<'a>, local: bool) -> Ty {
        let Applied { name, args, span } = applied;
        let full = self
            .full(self.module_here(), &name.text)
            .unwrap_or_default();
        let Some(&number) = self.class_numbers.get(&full) else {
            let names: Vec<String> = self.class_numbers.keys().cloned().collect();
            self.unknown("A0218", "class", name, names.iter());
            for arg in args {
                self.expr(arg, None);
            }
            return Ty::Wrong;
        };
        let class = &self.classes[number as usize];
        if class
            .tree
            .is_some_and(|tree| tree.annotations.has("Foreign"))
        {
            self.mistakes.push(Excluded::Foreign.at(span));
            return Ty::Wrong;
        }
        let parameters = class.tree.map_or(0, |tree| tree.parameters.len());
        let types: Vec<Ty> = class.fields[..parameters]
            .iter()
            .map(|(_, ty)| ty.clone())
            .collect();
        self.arguments(&format!("class `{}`", name.text), args, &types, span);
        let rules = self.classes[number as usize].rules.clone();
        for (arg, rules) in args.iter().zip(rules) {
            if rules.nonnull {
                self.require_nonnull(arg);
            }
        }
        self.may_create(number, local, span);
        let op = Op::New {
            class: number,
            local,
            args: args.len() as u32,
        };
        self.emit(op, span);
        Ty::Made(Head::Class(number), Vec::new())
    }

    /// Puts the object and the arguments on the stack, and calls. Returns the type of the method's
    /// result.
    fn method_call(
        &mut self,
        object: &'a Expr,
        method: &Name,
        args: &'a [Expr],
        synchronous: bool,
    ) -> Ty {
        let span = object.span.to(method.span);
        let ty = self.expr(object, None);
        let shallow = self.unknowns.shallow(&ty);
        let (found, names, on) = match &shallow {
            Ty::Made(Head::Interface(interface), _) => {
                let all = &self.inheritance.interfaces[*interface as usize];
                let mut methods = all.iter().map(|&i| &self.interfaces[i as usize].methods);
                let found: Option<MethodSignature> = methods
                    .clone()
                    .find_map(|methods| methods.get(&method.text))
                    .cloned();
                let names: Vec<String> = methods
                    .by_ref()
                    .flat_map(|methods| methods.keys().cloned())
                    .collect();
                (found, names, *interface)
            }
            Ty::Made(Head::Class(class), _) => {
                let methods = &self.classes[*class as usize].methods;
                let found = methods.get(&method.text).cloned();
                (found, methods.keys().cloned().collect(), u32::MAX)
            }
            Ty::Wrong => {
                for arg in args {
                    self.expr(arg, None);
                }
                return Ty::Wrong;
            }
            _ => {
                let shown = self.show(&ty);
                let mistake = Diagnostic::new(
                    "A0219",
                    object.span,
                    format!("a `{shown}` is not an object"),
                )
                .label("methods are called on objects");
                self.report(mistake);
                return Ty::Wrong;
            }
        };
        let Some(signature) = found else {
            let shown = self.show(&ty);
            self.unknown(
                "A0239",
                &format!("method of `{shown}` named"),
                method,
                names.iter(),
            );
            for arg in args {
                self.expr(arg, None);
            }
            return Ty::Wrong;
        };
        self.arguments(
            &format!("method `{}`", method.text),
            args,
            &signature.parameters,
            span,
        );
        for (arg, nonnull) in args.iter().zip(&signature.nonnull.0) {
            if *nonnull {
                self.require_nonnull(arg);
            }
        }
        self.called_nonnull = signature.nonnull.1;
        if synchronous && !signature.atomic && (!self.body().may_wait || self.body().atomic) {
            self.waits(span);
        }
        if on != u32::MAX {
            self.derefs(Head::Interface(on));
        }
        let number = self.method_number(&method.text);
        let args = args.len() as u32;
        let op = if synchronous {
            Op::Sync {
                method: number,
                args,
                on,
            }
        } else {
            Op::Async {
                method: number,
                args,
            }
        };
        self.emit(op, span);
        if let (false, Some(slot)) = (synchronous, self.body().deadline) {
            self.emit(Op::Deadline(slot), span);
        }
        signature.result
    }
}
