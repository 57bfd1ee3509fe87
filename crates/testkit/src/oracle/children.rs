//! Compiles `spawn` and `join`, `lock` and `unlock`, and the arguments of calls.

use super::ast::{Child, Expr, Place};
use super::code::Instr;
use super::compile::{CompileResult, Compiler, Meaning};

impl Compiler {
    pub(super) fn spawn(&mut self, handle: Option<&String>, child: &Child) -> CompileResult {
        self.emit(Instr::Yield);
        self.emit(Instr::AtomicBegin);
        match child {
            Child::Call(name, arguments) => {
                let number = self.arguments(name, arguments)?;
                self.emit(Instr::SpawnCall(number, arguments.len()));
            }
            Child::Block(body) => {
                let over = self.emit(Instr::Jump(0));
                let entry = self.here();
                self.note_endless(entry, body);
                let around = std::mem::take(&mut self.around);
                self.block(body)?;
                self.around = around;
                self.emit(Instr::End);
                self.land(over);
                self.emit(Instr::Spawn(entry));
            }
        }
        // The handle is on the stack now.
        let slot = self.slot(1);
        self.emit(Instr::SetLocal(slot));
        self.emit(Instr::AtomicEnd);
        if let Some(handle) = handle {
            self.fresh(handle)?;
            self.name(handle, Meaning::Handle { slot });
        }
        Ok(())
    }

    pub(super) fn join(&mut self, handle: Option<&String>) -> CompileResult {
        self.emit(Instr::Yield);
        let Some(handle) = handle else {
            self.emit(Instr::JoinAll);
            return Ok(());
        };
        let Some(Meaning::Handle { slot }) = self.lookup(handle) else {
            return Err(format!("{handle} cannot be joined"));
        };
        self.emit(Instr::Local(slot));
        self.emit(Instr::Join);
        Ok(())
    }

    pub(super) fn lock(&mut self, place: &Place, take: bool) -> CompileResult {
        let Some(Meaning::Lock { base, len }) = self.lookup(&place.name) else {
            return Err(format!("{} is not a lock", place.name));
        };
        if len.is_some() != place.index.is_some() {
            return Err(format!("{} with or without an index", place.name));
        }
        self.emit(Instr::Yield);
        self.emit(Instr::AtomicBegin);
        match &place.index {
            Some(index) => self.index(index)?,
            None => {
                self.emit(Instr::Push(0));
            }
        }
        let len = len.unwrap_or(1);
        self.emit(if take {
            Instr::Lock(base, len)
        } else {
            Instr::Unlock(base, len)
        });
        self.emit(Instr::AtomicEnd);
        Ok(())
    }

    pub(super) fn arguments(&mut self, name: &str, arguments: &[Expr]) -> CompileResult<usize> {
        let Some((number, tys)) = self.procedures.get(name).cloned() else {
            return Err(format!("{name} is not a procedure"));
        };
        if tys.len() != arguments.len() {
            return Err(format!("{name} needs {} arguments", tys.len()));
        }
        for (argument, ty) in arguments.iter().zip(tys) {
            self.expr(argument, ty)?;
        }
        Ok(number)
    }
}
