//! Compiles `break`, `continue` and `return`, which also end the guards and atomic blocks that they
//! leave.

use super::ast::Kind;
use super::code::Instr;
use super::compile::{CompileResult, Compiler};

/// The constructs around a statement, within the body of its process or procedure.
#[derive(Clone, Debug, Default)]
pub(super) struct Enclosing {
    /// `atomic` is the number of open `AtomicBegin`s; `fused` is the number of guards whose step
    /// may not have ended.
    pub atomic: usize,
    pub fused: usize,
    loops: Vec<Loop>,
}

/// A loop: the instruction where its next round begins (`again`), the counts of [`Enclosing`]
/// outside of it, and the jumps to its end (`out`).
#[derive(Clone, Debug)]
struct Loop {
    again: usize,
    atomic: usize,
    fused: usize,
    out: Vec<usize>,
}

impl Compiler {
    /// Enters the body of a loop.
    pub(super) fn enter(&mut self, again: usize) {
        let Enclosing { atomic, fused, .. } = self.around;
        let out = Vec::new();
        self.around.loops.push(Loop {
            again,
            atomic,
            fused,
            out,
        });
    }

    /// Ends the loop here.
    pub(super) fn exit(&mut self) {
        let left = self.around.loops.pop();
        for jump in left.map(|left| left.out).unwrap_or_default() {
            self.land(jump);
        }
    }

    pub(super) fn leave(&mut self, kind: &Kind) -> CompileResult {
        let inner = self.around.loops.last().cloned();
        let (atomic, fused) = match (kind, &inner) {
            (Kind::Return, _) => (0, 0),
            (_, Some(inner)) => (inner.atomic, inner.fused),
            (_, None) => return Err("no loop around".into()),
        };
        for _ in atomic..self.around.atomic {
            self.emit(Instr::AtomicEnd);
        }
        if self.around.fused > fused {
            self.emit(Instr::EndFuse);
        }
        match (kind, inner) {
            (Kind::Return, _) => {
                self.emit(Instr::Return);
            }
            (Kind::Continue, Some(inner)) => {
                self.emit(Instr::Jump(inner.again));
            }
            _ => {
                let jump = self.emit(Instr::Jump(0));
                if let Some(inner) = self.around.loops.last_mut() {
                    inner.out.push(jump);
                }
            }
        }
        Ok(())
    }
}
