//! Compiles the tree to code: resolves names, checks types, and decides where steps begin.

use std::collections::HashMap;
use std::slice;

use super::ast::{Expr, Init, ItemKind, Kind, Program, Stmt, Ty};
use super::code::{Code, Instr, OperationResult, Procedure, Property, Start, apply, wrap};
use super::leave::Enclosing;
use super::{FailureKind, Limits};

pub(super) type CompileResult<T = ()> = Result<T, String>;

/// The meaning of a name.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    /// A number that takes the type of its context.
    Number(i128),
    Truth(bool),
    Shared {
        base: usize,
        len: Option<usize>,
        ty: Ty,
    },
    Lock {
        base: usize,
        len: Option<usize>,
    },
    Local {
        slot: usize,
        len: Option<usize>,
        ty: Ty,
    },
    Handle {
        slot: usize,
    },
    Object {
        base: usize,
        len: Option<usize>,
    },
}

/// Compiles the program with these settings.
pub(super) fn compile(program: &Program, limits: &Limits) -> CompileResult<Code> {
    let mut compiler = Compiler::default();
    compiler.declare(program, limits)?;
    compiler.bodies(program)?;
    let code = &mut compiler.code;
    if code.starts.is_empty() {
        return Err("no process".into());
    }
    if code.observed.is_empty() && !program.items.iter().any(|i| is_observe(&i.kind)) {
        code.observed = (0..code.cells.len()).collect();
    }
    Ok(compiler.code)
}

fn is_observe(kind: &ItemKind) -> bool {
    matches!(kind, ItemKind::Observe(_))
}

/// Compiles a program in one walk over its tree, and emits a `Yield` wherever a step may end. The
/// other files of this folder add the methods for single constructs.
#[derive(Default)]
pub(super) struct Compiler {
    pub(super) code: Code,
    globals: HashMap<String, Meaning>,
    /// The index in `code` and the parameter types of each procedure.
    pub(super) procedures: HashMap<String, (usize, Vec<Ty>)>,
    pub(super) bodies: HashMap<String, Vec<Stmt>>,
    /// The blocks around the current place, outermost first, each with its locals.
    scopes: Vec<Vec<(String, Meaning)>>,
    pub(super) slots: usize,
    most_slots: usize,
    pub(super) access: bool,
    pub(super) line: u32,
    /// The condition variables that allow spurious wakeups.
    pub(super) spurious: std::collections::BTreeSet<String>,
    /// The types of the fields of each channel's messages.
    pub(super) messages: HashMap<String, Vec<Ty>>,
    /// Whether this is the code of a property, in which nothing is a step.
    pub(super) property: bool,
    /// The loops and atomic blocks around the current statement, within its body.
    pub(super) around: Enclosing,
}

/// The common part of a declaration of several variables.
#[derive(Clone, Copy)]
struct Declared<'a> {
    ty: Ty,
    size: Option<&'a Expr>,
    init: Option<&'a Init>,
}

impl Compiler {
    fn declare(&mut self, program: &Program, limits: &Limits) -> CompileResult {
        let mut unused: Vec<&str> = limits.set.iter().map(|(name, _)| name.as_str()).collect();
        for item in &program.items {
            match &item.kind {
                ItemKind::Const(name, value) => {
                    let set = setting(name, limits, &mut unused);
                    let value =
                        set.map_or_else(|| self.constant(value), |v| Ok(Constant::Num(v)))?;
                    let meaning = match value {
                        Constant::Num(value) => Meaning::Number(value),
                        Constant::Bool(value) => Meaning::Truth(value),
                    };
                    self.global(name, meaning)?;
                }
                ItemKind::Var(names, ty, size, init) => {
                    let declared = Declared {
                        ty: *ty,
                        size: size.as_ref(),
                        init: init.as_ref(),
                    };
                    for name in names {
                        let set = setting(name, limits, &mut unused);
                        self.variable(name, declared, set)?;
                    }
                }
                ItemKind::Lock(names) => {
                    for (name, size) in names {
                        let len = self.size(size.as_ref())?;
                        let base = self.code.locks;
                        self.code.locks += len.unwrap_or(1);
                        self.global(name, Meaning::Lock { base, len })?;
                    }
                }
                ItemKind::Object(word, name, size, value) => {
                    let meaning = self.object(name, size.as_ref(), value.as_ref())?;
                    self.global(name, meaning)?;
                    if word == "spurious cond" {
                        self.spurious.insert(name.clone());
                    }
                }
                ItemKind::Channel(name, size, capacity, fields) => {
                    let meaning = self.channel(size.as_ref(), capacity)?;
                    self.global(name, meaning)?;
                    self.messages.insert(name.clone(), fields.clone());
                }
                ItemKind::Proc(name, params, body) => {
                    self.bodies.insert(name.clone(), body.clone());
                    let number = self.procedures.len();
                    let tys = params.iter().map(|(_, ty)| *ty).collect();
                    if self
                        .procedures
                        .insert(name.clone(), (number, tys))
                        .is_some()
                    {
                        return Err(format!("{name} is declared twice"));
                    }
                    self.code.procedures.push(Procedure::default());
                }
                ItemKind::Atomicity(access) => self.access = *access,
                _ => {}
            }
        }
        match unused.first() {
            Some(name) => Err(format!("nothing to set: {name}")),
            None => Ok(()),
        }
    }

    fn global(&mut self, name: &str, meaning: Meaning) -> CompileResult {
        match self.globals.insert(name.into(), meaning) {
            Some(_) => Err(format!("{name} is declared twice")),
            None => Ok(()),
        }
    }

    pub(super) fn size(&self, size: Option<&Expr>) -> CompileResult<Option<usize>> {
        let Some(size) = size else { return Ok(None) };
        match self.constant(size)? {
            Constant::Num(n @ 1..=4096) => Ok(Some(n as usize)),
            _ => Err("not a valid size".into()),
        }
    }

    fn variable(&mut self, name: &str, declared: Declared<'_>, set: Option<i128>) -> CompileResult {
        let Declared { ty, size, init } = declared;
        let len = self.size(size)?;
        let base = self.code.cells.len();
        for at in 0..len.unwrap_or(1) {
            let value = match (set, init) {
                (Some(value), _) => Some(value),
                (None, None) => None,
                (None, Some(Init::One(e))) => Some(self.constant_of(e, ty)?),
                (None, Some(Init::List(all))) => {
                    if Some(all.len()) != len {
                        return Err(format!("{name} needs another number of values"));
                    }
                    Some(self.constant_of(&all[at], ty)?)
                }
            };
            if value.is_some_and(|value| wrap(value, ty) != Some(value)) {
                return Err(format!("a value that does not fit {name}"));
            }
            let label = if len.is_some() {
                format!("{name}[{at}]")
            } else {
                name.into()
            };
            self.code.cells.push((label, ty, value));
        }
        self.global(name, Meaning::Shared { base, len, ty })
    }

    fn constant_of(&self, e: &Expr, ty: Ty) -> CompileResult<i128> {
        match self.constant(e)? {
            Constant::Bool(value) if ty == Ty::Bool => Ok(value.into()),
            Constant::Num(value) if ty != Ty::Bool => Ok(value),
            _ => Err("a constant of another type".into()),
        }
    }

    fn constant(&self, e: &Expr) -> CompileResult<Constant> {
        let number = |e: &Expr| match self.constant(e)? {
            Constant::Num(value) => Ok(value),
            Constant::Bool(_) => Err("a number is needed".to_string()),
        };
        let truth = |e: &Expr| match self.constant(e)? {
            Constant::Bool(value) => Ok(value),
            Constant::Num(_) => Err("a condition is needed".to_string()),
        };
        Ok(match e {
            Expr::Bool(value) => Constant::Bool(*value),
            Expr::Num(value) => Constant::Num(*value),
            Expr::Name(name) => match self.lookup(name) {
                Some(Meaning::Number(value)) => Constant::Num(value),
                Some(Meaning::Truth(value)) => Constant::Bool(value),
                _ => return Err(format!("{name} is not a constant")),
            },
            Expr::Not(inner) => Constant::Bool(!truth(inner)?),
            Expr::Neg(inner) => Constant::Num(-number(inner)?),
            Expr::Bin(op, left, right) if op.logical() => {
                let (left, right) = (truth(left)?.into(), truth(right)?.into());
                let OperationResult::Value(value) = apply(*op, Ty::Int, left, right) else {
                    return Err("a constant that has no value".into());
                };
                Constant::Bool(value != 0)
            }
            Expr::Bin(op, left, right) => {
                let OperationResult::Value(value) =
                    apply(*op, Ty::Int, number(left)?, number(right)?)
                else {
                    return Err("a constant that has no value".into());
                };
                if op.compares() {
                    Constant::Bool(value != 0)
                } else {
                    Constant::Num(value)
                }
            }
            Expr::If(test, yes, no) => self.constant(if truth(test)? { yes } else { no })?,
            _ => return Err("not a constant".into()),
        })
    }

    pub(super) fn lookup(&self, name: &str) -> Option<Meaning> {
        let mut locals = self
            .scopes
            .iter()
            .rev()
            .flat_map(|scope| scope.iter().rev());
        let local = locals
            .find(|(local, _)| local == name)
            .map(|(_, meaning)| meaning);
        local.or_else(|| self.globals.get(name)).cloned()
    }

    fn bodies(&mut self, program: &Program) -> CompileResult {
        for item in &program.items {
            self.line = item.line;
            match &item.kind {
                ItemKind::Proc(name, params, body) => self.procedure(name, params, body)?,
                ItemKind::Requires(_, e) => {
                    let property = self.property(e)?;
                    self.code.requires.push(property);
                }
                ItemKind::Invariant(_, e) => {
                    let property = self.property(e)?;
                    self.code.invariants.push(property);
                }
                ItemKind::Ensures(_, e) => {
                    let property = self.property(e)?;
                    self.code.ensures.push(property);
                }
                ItemKind::Cover(_, e) => {
                    let property = self.property(e)?;
                    self.code.covers.push(property);
                }
                ItemKind::Temporal(kind, _, conditions) => {
                    let all: CompileResult<Vec<_>> =
                        conditions.iter().map(|e| self.property(e)).collect();
                    self.code.temporal.push((*kind, all?));
                }
                ItemKind::Observe(names) => {
                    for name in names {
                        let Some(Meaning::Shared { base, len, .. }) = self.lookup(name) else {
                            return Err(format!("{name} cannot be observed"));
                        };
                        self.code.observed.extend(base..base + len.unwrap_or(1));
                    }
                }
                ItemKind::Process(_, range, body) => self.processes(range.as_ref(), body)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn procedure(&mut self, name: &str, params: &[(String, Ty)], body: &[Stmt]) -> CompileResult {
        let entry = self.begin();
        self.note_endless(entry, body);
        for (param, ty) in params {
            self.local(param, None, *ty)?;
        }
        self.block(body)?;
        self.emit(Instr::Return);
        let number = self.procedures[name].0;
        self.code.procedures[number] = Procedure {
            entry,
            locals: self.most_slots,
        };
        Ok(())
    }

    fn processes(&mut self, range: Option<&(String, Expr, Expr)>, body: &[Stmt]) -> CompileResult {
        let Some((name, low, high)) = range else {
            return self.process(None, body);
        };
        let (low, high) = (
            self.constant_of(low, Ty::Int)?,
            self.constant_of(high, Ty::Int)?,
        );
        if high - low > 16 {
            return Err("more processes than the oracle supports".into());
        }
        (low..high).try_for_each(|value| self.process(Some((name, value)), body))
    }

    fn process(&mut self, index: Option<(&String, i128)>, body: &[Stmt]) -> CompileResult {
        let entry = self.begin();
        if let Some((name, value)) = index {
            self.fresh(name)?;
            self.scopes[0].push((name.clone(), Meaning::Number(value)));
        }
        self.note_endless(entry, body);
        self.block(body)?;
        self.emit(Instr::End);
        self.code.starts.push(Start {
            entry,
            locals: self.most_slots,
        });
        Ok(())
    }

    /// Returns the value of a condition; `None` if it is not constant.
    pub(super) fn truth(&self, test: &Expr) -> Option<bool> {
        match self.constant(test) {
            Ok(Constant::Bool(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns the value of a number; `None` if it is not constant.
    pub(super) fn constant_number(&self, e: &Expr) -> Option<i128> {
        match self.constant(e) {
            Ok(Constant::Num(value)) => Some(value),
            _ => None,
        }
    }

    fn property(&mut self, e: &Expr) -> CompileResult<Property> {
        if e.has_choice() {
            return Err("a choice in a property".into());
        }
        let entry = self.begin();
        self.property = true;
        let compiled = self.condition(e);
        self.property = false;
        compiled?;
        self.emit(Instr::Return);
        let mut cells = Vec::new();
        let instrs = &self.code.instrs[entry..];
        let mut before: Option<&Instr> = None;
        for (at, instr) in (entry..).zip(instrs) {
            // The code of a conditional index also ends in a `Push`, to which a jump leads; such an
            // index is not constant.
            let is_joined = instrs.iter().any(|instr| instr.target() == Some(at));
            match (instr, before.filter(|_| !is_joined)) {
                (Instr::Shared(cell), _) => cells.push(*cell),
                // A constant index names one element.
                (Instr::SharedAt(base, len), Some(Instr::Push(at)))
                    if (0..*len as i128).contains(at) =>
                {
                    cells.push(base + *at as usize);
                }
                (Instr::SharedAt(base, len), _) => cells.extend(*base..base + len),
                _ => {}
            }
            before = Some(instr);
        }
        Ok(Property {
            line: self.line,
            entry,
            cells,
        })
    }

    /// Starts the code of a new body and returns its first instruction.
    fn begin(&mut self) -> usize {
        self.around = Enclosing::default();
        self.scopes = vec![Vec::new()];
        (self.slots, self.most_slots) = (0, 0);
        self.code.instrs.len()
    }

    pub(super) fn emit(&mut self, instr: Instr) -> usize {
        self.code.instrs.push(instr);
        self.code.lines.push(self.line);
        self.code.instrs.len() - 1
    }

    pub(super) fn here(&self) -> usize {
        self.code.instrs.len()
    }

    /// Sets the target of the jump at `at` to the next instruction.
    pub(super) fn land(&mut self, at: usize) {
        let here = self.here();
        match &mut self.code.instrs[at] {
            Instr::Jump(to) | Instr::JumpIfNot(to) | Instr::JumpKeep(_, to) | Instr::Spawn(to) => {
                *to = here;
            }
            _ => {}
        }
    }

    pub(super) fn fresh(&self, name: &str) -> CompileResult {
        match self.lookup(name) {
            Some(_) => Err(format!("{name} would hide another name")),
            None => Ok(()),
        }
    }

    pub(super) fn slot(&mut self, len: usize) -> usize {
        let slot = self.slots;
        self.slots += len;
        self.most_slots = self.most_slots.max(self.slots);
        slot
    }

    pub(super) fn name(&mut self, name: &str, meaning: Meaning) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.push((name.into(), meaning));
        }
    }

    pub(super) fn local(&mut self, name: &str, len: Option<usize>, ty: Ty) -> CompileResult<usize> {
        self.fresh(name)?;
        let slot = self.slot(len.unwrap_or(1));
        self.name(name, Meaning::Local { slot, len, ty });
        Ok(slot)
    }

    pub(super) fn block(&mut self, body: &[Stmt]) -> CompileResult {
        self.scopes.push(Vec::new());
        let slots = self.slots;
        let done = body.iter().try_for_each(|stmt| self.stmt(stmt));
        self.scopes.pop();
        self.slots = slots;
        done
    }

    /// Begins a statement or test. If it touches shared memory (`visible`), it is one step; under
    /// `atomicity access` it has one step for each access, unless it belongs to the step of a
    /// guard.
    pub(super) fn statement(&mut self, visible: bool) {
        if visible {
            self.emit(if self.access {
                Instr::Begin
            } else {
                Instr::Yield
            });
        }
    }

    /// Ends the statement or test.
    pub(super) fn over(&mut self, visible: bool) {
        if visible && self.access {
            self.emit(Instr::Over);
        }
    }

    pub(super) fn touches(&self, e: &Expr) -> bool {
        let shared = |name: &String| matches!(self.lookup(name), Some(Meaning::Shared { .. }));
        match e {
            Expr::Name(name) => shared(name),
            Expr::Index(name, index) => shared(name) || self.touches(index),
            Expr::Not(e) | Expr::Neg(e) | Expr::Pick(_, e) => self.touches(e),
            Expr::Bin(_, left, right) => self.touches(left) || self.touches(right),
            // A statement that chooses is a step, even if it touches only locals.
            Expr::Choose(..) | Expr::Len(_) => true,
            Expr::If(test, yes, no) => [test, yes, no].into_iter().any(|e| self.touches(e)),
            Expr::Bool(_) | Expr::Num(_) | Expr::Input(_) => false,
        }
    }

    pub(super) fn any_touches(&self, all: &[Expr]) -> bool {
        all.iter().any(|e| self.touches(e))
    }

    fn stmt(&mut self, stmt: &Stmt) -> CompileResult {
        if stmt.line > 0 {
            self.line = stmt.line;
        }
        match &stmt.kind {
            Kind::Skip | Kind::Print(_) => Ok(()),
            Kind::Break | Kind::Continue | Kind::Return => self.leave(&stmt.kind),
            Kind::End => {
                self.emit(Instr::End);
                Ok(())
            }
            Kind::Seq(body) => self.block(body),
            Kind::Assign(places, values) => self.assign(places, values),
            Kind::Let(name, ty, size, init) => self.let_(name, *ty, size.as_ref(), init),
            Kind::Guard(test, inner) => {
                self.guard(test)?;
                self.guarded(inner)
            }
            Kind::GuardedLoop(test, inner) => self.guarded_loop(test, inner),
            Kind::Choice(first, test, other) => self.choice(first, test, other),
            Kind::Await(test) => {
                self.guard(test)?;
                self.emit(Instr::AtomicEnd);
                Ok(())
            }
            Kind::If(test, yes, no) => self.if_(test, yes, no),
            Kind::While(test, bound, _, body) => self.while_(test, bound.as_ref(), body),
            Kind::For(name, low, high, body) => self.for_(name, low, high, body),
            Kind::Spawn(handle, child) => self.spawn(handle.as_ref(), child),
            Kind::Join(handle) => self.join(handle.as_ref()),
            Kind::Call(name, arguments) => {
                let visible = self.any_touches(arguments);
                self.statement(visible);
                let number = self.arguments(name, arguments)?;
                self.over(visible);
                self.emit(Instr::Call(number, arguments.len()));
                Ok(())
            }
            Kind::Atomic(body) => {
                if !self.all_local(body) {
                    self.emit(Instr::Yield);
                }
                self.emit(Instr::AtomicBegin);
                self.around.atomic += 1;
                self.block(body)?;
                self.around.atomic -= 1;
                self.emit(Instr::AtomicEnd);
                Ok(())
            }
            Kind::Operate(verb, places) => self.operate(verb, places),
            Kind::Try(kept, tried) => self.try_(kept, tried),
            Kind::Update(kept, place, verb, values) => {
                self.update(kept.as_ref(), place, (verb, values))
            }
            Kind::Select(all, other) => self.select(all, other.as_ref()),
            Kind::Send(..) | Kind::Receive(..) => self.communicate(&stmt.kind),
            Kind::Lock(place) => self.lock(place, true),
            Kind::Unlock(place) => self.lock(place, false),
            Kind::Assert(test, _) => {
                self.decision(test)?;
                self.emit(Instr::Assert);
                Ok(())
            }
            Kind::Assume(test) => {
                self.code.assumes = true;
                self.decision(test)?;
                self.emit(Instr::Assume);
                Ok(())
            }
            Kind::Error(_) => {
                self.emit(Instr::Fail(FailureKind::Error));
                Ok(())
            }
        }
    }

    /// Compiles a test, which is a step if it touches shared memory.
    fn decision(&mut self, test: &Expr) -> CompileResult {
        let visible = self.touches(test);
        self.statement(visible);
        self.test(test)?;
        self.over(visible);
        Ok(())
    }

    /// Begins a step that waits for the test. The guarded statement belongs to the same step.
    fn guard(&mut self, test: &Expr) -> CompileResult {
        self.emit(Instr::Yield);
        self.emit(Instr::AtomicBegin);
        self.test(test)?;
        self.emit(Instr::Wait);
        Ok(())
    }

    /// Compiles the guarded statement. A simple statement ([`Stmt::is_simple`]) belongs to the step
    /// of the guard as a whole, another statement only with its first step.
    fn guarded(&mut self, inner: &Stmt) -> CompileResult {
        // Under `atomicity access`, an update has separate steps before it that read its arguments.
        let is_split = self.access && matches!(inner.kind, Kind::Update(..));
        if inner.is_simple() && !is_split {
            self.around.atomic += 1;
            self.block(std::slice::from_ref(inner))?;
            self.around.atomic -= 1;
            self.emit(Instr::AtomicEnd);
        } else {
            self.emit(Instr::AtomicEnd);
            self.emit(Instr::Fuse);
            self.around.fused += 1;
            self.block(std::slice::from_ref(inner))?;
            self.around.fused -= 1;
            self.emit(Instr::EndFuse);
        }
        Ok(())
    }

    fn guarded_loop(&mut self, test: &Expr, inner: &Stmt) -> CompileResult {
        let again = self.here();
        self.emit(Instr::Yield);
        self.emit(Instr::AtomicBegin);
        self.test(test)?;
        let out = self.emit(Instr::JumpIfNot(0));
        self.enter(again);
        self.guarded(inner)?;
        self.emit(Instr::Jump(again));
        self.land(out);
        self.emit(Instr::AtomicEnd);
        self.exit();
        Ok(())
    }

    fn choice(&mut self, first: &Stmt, test: &Expr, other: &Stmt) -> CompileResult {
        let touches = self.touches(test);
        if touches
            || ![first, other]
                .into_iter()
                .all(|s| self.all_local(slice::from_ref(s)))
        {
            self.emit(Instr::Yield);
        }
        self.emit(Instr::AtomicBegin);
        self.test(test)?;
        let no = self.emit(Instr::JumpIfNot(0));
        self.guarded(first)?;
        let out = self.emit(Instr::Jump(0));
        self.land(no);
        self.guarded(other)?;
        self.land(out);
        Ok(())
    }

    fn if_(&mut self, test: &Expr, yes: &[Stmt], no: &[Stmt]) -> CompileResult {
        self.decision(test)?;
        let other = self.emit(Instr::JumpIfNot(0));
        self.block(yes)?;
        let out = self.emit(Instr::Jump(0));
        self.land(other);
        self.block(no)?;
        self.land(out);
        Ok(())
    }

    fn while_(&mut self, test: &Expr, bound: Option<&Expr>, body: &[Stmt]) -> CompileResult {
        let slots = self.slots;
        let mut counter = None;
        if let Some(bound) = bound {
            let rounds = self.constant_of(bound, Ty::Int)?;
            if rounds < 0 {
                return Err("a negative bound".into());
            }
            let slot = self.slot(1);
            self.emit(Instr::Push(rounds));
            self.emit(Instr::SetLocal(slot));
            counter = Some(slot);
        }
        let again = self.here();
        let spent = counter.map(|slot| {
            self.emit(Instr::Local(slot));
            self.emit(Instr::JumpIfNot(0))
        });
        self.decision(test)?;
        let out = self.emit(Instr::JumpIfNot(0));
        if let Some(slot) = counter {
            self.emit(Instr::Local(slot));
            self.emit(Instr::Push(1));
            self.emit(Instr::Bin(super::ast::Op::Sub, Ty::Int));
            self.emit(Instr::SetLocal(slot));
        }
        self.enter(again);
        self.block(body)?;
        self.emit(Instr::Jump(again));
        self.land(out);
        self.exit();
        spent.into_iter().for_each(|spent| self.land(spent));
        self.slots = slots;
        Ok(())
    }

    fn for_(&mut self, name: &str, low: &Expr, high: &Expr, body: &[Stmt]) -> CompileResult {
        if low.has_choice() || high.has_choice() {
            return Err("a choice in a bound".into());
        }
        let ty = self
            .unify(self.ty(low)?, self.ty(high)?)?
            .unwrap_or(Ty::Int);
        let visible = self.touches(low) || self.touches(high);
        self.statement(visible);
        self.expr(low, ty)?;
        self.expr(high, ty)?;
        self.over(visible);
        self.scopes.push(Vec::new());
        let slots = self.slots;
        let end = self.slot(1);
        self.emit(Instr::SetLocal(end));
        // The counter is separate from the variable, so the body cannot change the number of
        // rounds.
        let next = self.slot(1);
        self.emit(Instr::SetLocal(next));
        let shown = self.local(name, None, ty)?;
        let again = self.here();
        self.emit(Instr::Local(next));
        self.emit(Instr::Local(end));
        self.emit(Instr::Bin(super::ast::Op::Lt, ty));
        let out = self.emit(Instr::JumpIfNot(0));
        self.emit(Instr::Local(next));
        self.emit(Instr::SetLocal(shown));
        self.emit(Instr::Local(next));
        self.emit(Instr::Push(1));
        self.emit(Instr::Bin(super::ast::Op::Add, Ty::Int));
        self.emit(Instr::SetLocal(next));
        self.enter(again);
        self.block(body)?;
        self.emit(Instr::Jump(again));
        self.land(out);
        self.exit();
        self.scopes.pop();
        self.slots = slots;
        Ok(())
    }
}

/// The value of a constant.
enum Constant {
    Num(i128),
    Bool(bool),
}

fn setting(name: &str, limits: &Limits, unused: &mut Vec<&str>) -> Option<i128> {
    unused.retain(|other| *other != name);
    limits
        .set
        .iter()
        .find(|(other, _)| other == name)
        .map(|(_, value)| *value)
}
