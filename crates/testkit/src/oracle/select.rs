//! Parses and compiles `select`: the conditions of all alternatives are evaluated first, one that
//! holds is chosen, and then its alternative runs.

use super::ast::{Alternative, Kind, Op, Stmt, Ty};
use super::code::Instr;
use super::compile::{CompileResult, Compiler, Meaning};
use super::objects::{ObjectAction, action_of};
use super::parse::{Parsed, Parser};

impl Parser {
    /// Parses `select { … }`, with braces around every alternative.
    pub(super) fn select(&mut self) -> Parsed<Kind> {
        self.at += 2;
        let (mut all, mut other) = (Vec::new(), None);
        while !self.sees("}") {
            if self.has_word("else") {
                self.need("|>")?;
                other = Some(self.block()?);
                break;
            }
            let line = self.line();
            let operation = if self.word_after(0) == Some("lock") {
                Some(self.unguarded()?)
            } else {
                self.object_statement()?.map(|kind| Stmt { line, kind })
            };
            all.push(match operation {
                Some(operation) => {
                    self.need("|>")?;
                    Alternative::Does(Box::new(operation), self.block()?)
                }
                None => {
                    let test = self.expr()?;
                    self.need("|>")?;
                    Alternative::When(test, self.block()?)
                }
            });
            if !self.has("[") {
                break;
            }
            self.need("]")?;
        }
        self.need("}")?;
        Ok(Kind::Select(all, other))
    }
}

impl Compiler {
    pub(super) fn select(
        &mut self,
        all: &[Alternative],
        other: Option<&Vec<Stmt>>,
    ) -> CompileResult {
        self.emit(Instr::Yield);
        self.emit(Instr::AtomicBegin);
        for one in all {
            match one {
                Alternative::When(test, _) => self.test(test)?,
                Alternative::Does(operation, _) => self.need_not_wait(operation)?,
            }
        }
        self.emit(Instr::OneOpen(all.len(), other.is_some()));
        let slots = self.slots;
        let which = self.slot(1);
        self.emit(Instr::SetLocal(which));
        let mut outs = Vec::new();
        for (at, one) in (0..).zip(all) {
            self.emit(Instr::Local(which));
            self.emit(Instr::Push(at));
            self.emit(Instr::Bin(Op::Eq, Ty::Int));
            let next = self.emit(Instr::JumpIfNot(0));
            match one {
                Alternative::When(_, body) => self.continue_with(body, true)?,
                Alternative::Does(operation, body) => {
                    self.within(operation)?;
                    self.continue_with(body, false)?;
                }
            }
            outs.push(self.emit(Instr::Jump(0)));
            self.land(next);
        }
        self.continue_with(other.map_or(&[], |body| body), true)?;
        outs.into_iter().for_each(|out| self.land(out));
        self.slots = slots;
        Ok(())
    }

    /// Pushes whether an operation is possible without waiting.
    fn need_not_wait(&mut self, operation: &Stmt) -> CompileResult {
        if let Kind::Lock(place) = &operation.kind {
            let Some(Meaning::Lock { base, len }) = self.lookup(&place.name) else {
                return Err(format!("{} is not a lock", place.name));
            };
            match &place.index {
                Some(index) => self.expr(index, Ty::Int)?,
                None => _ = self.emit(Instr::Push(0)),
            }
            self.emit(Instr::IsFree(base, len.unwrap_or(1)));
            return Ok(());
        }
        let (action, place) = action_of(operation)?;
        // An unbounded channel always has room, so its index need not be evaluated here.
        if matches!(action, ObjectAction::Send(_)) && self.is_unbounded(place) {
            self.emit(Instr::Push(1));
            return Ok(());
        }
        let (base, len) = self.object_at(place)?;
        self.emit(Instr::Possible(action, base, len));
        Ok(())
    }

    fn within(&mut self, stmt: &Stmt) -> CompileResult {
        self.around.atomic += 1;
        let done = self.block(std::slice::from_ref(stmt));
        self.around.atomic -= 1;
        done
    }

    /// Compiles the statements of the chosen alternative. With `joins`, the first one belongs to
    /// the step of the `select` if its kind allows that.
    fn continue_with(&mut self, body: &[Stmt], joins: bool) -> CompileResult {
        let joined = |stmt: &Stmt| match &stmt.kind {
            Kind::Skip
            | Kind::Assign(..)
            | Kind::Unlock(_)
            | Kind::Assert(..)
            | Kind::Assume(_) => true,
            Kind::Atomic(body) => body.iter().all(only_computes),
            _ => false,
        };
        // A `print` before the first statement does not count as a statement.
        let shown = body.iter().take_while(|s| matches!(s.kind, Kind::Print(_)));
        match &body[shown.count()..] {
            [first, rest @ ..] if joins && joined(first) => {
                self.within(first)?;
                self.emit(Instr::AtomicEnd);
                self.block(rest)
            }
            _ => {
                self.emit(Instr::AtomicEnd);
                self.block(body)
            }
        }
    }
}

/// Whether a statement contains nothing that may wait, and no call.
fn only_computes(stmt: &Stmt) -> bool {
    let all = |body: &[Stmt]| body.iter().all(only_computes);
    match &stmt.kind {
        Kind::Skip
        | Kind::Print(_)
        | Kind::Assign(..)
        | Kind::Update(..)
        | Kind::Let(..)
        | Kind::Unlock(_)
        | Kind::Assert(..)
        | Kind::Assume(_)
        | Kind::Error(_) => true,
        Kind::Seq(body) | Kind::Atomic(body) => all(body),
        Kind::While(_, _, _, body) | Kind::For(_, _, _, body) => all(body),
        Kind::If(_, yes, no) => all(yes) && all(no),
        _ => false,
    }
}
