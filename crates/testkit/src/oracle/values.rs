//! Compiles expressions and finds their types.

use super::ast::{Expr, Op, Ty};
use super::code::{Instr, wrap};
use super::compile::{CompileResult, Compiler, Meaning};

impl Compiler {
    /// Begins a step here, under `atomicity access`.
    pub(super) fn access_point(&mut self) {
        if self.access && !self.property {
            self.emit(Instr::Yield);
        }
    }

    pub(super) fn unify(&self, left: Option<Ty>, right: Option<Ty>) -> CompileResult<Option<Ty>> {
        match (left, right) {
            (Some(left), Some(right)) if left != right => {
                Err(format!("{} mixed with {}", left.name(), right.name()))
            }
            (left, right) => Ok(left.or(right)),
        }
    }

    /// Returns the type of an expression; `None` if it takes the type of its context.
    pub(super) fn ty(&self, e: &Expr) -> CompileResult<Option<Ty>> {
        Ok(match e {
            Expr::Bool(_) | Expr::Not(_) => Some(Ty::Bool),
            Expr::Num(_) | Expr::Pick(..) => None,
            Expr::Len(_) => Some(Ty::Int),
            Expr::Name(name) | Expr::Index(name, _) => match self.lookup(name) {
                Some(Meaning::Number(_)) => None,
                Some(Meaning::Truth(_)) => Some(Ty::Bool),
                Some(Meaning::Shared { ty, .. } | Meaning::Local { ty, .. }) => Some(ty),
                _ => return Err(format!("{name} has no value")),
            },
            Expr::Neg(inner) => self.ty(inner)?,
            Expr::Bin(op, ..) if op.compares() || op.logical() => Some(Ty::Bool),
            Expr::Bin(_, left, right) | Expr::Choose(left, right) => {
                self.unify(self.ty(left)?, self.ty(right)?)?
            }
            Expr::If(_, yes, no) => self.unify(self.ty(yes)?, self.ty(no)?)?,
            Expr::Input(ty) => Some(ty.unwrap_or(Ty::Signed(32))),
        })
    }

    /// Compiles a test of a guard, branch or assertion.
    pub(super) fn test(&mut self, e: &Expr) -> CompileResult {
        if e.has_choice() {
            return Err("a choice in a test".into());
        }
        self.condition(e)
    }

    pub(super) fn condition(&mut self, e: &Expr) -> CompileResult {
        self.expr(e, Ty::Bool)
    }

    pub(super) fn index(&mut self, e: &Expr) -> CompileResult {
        if e.has_choice() {
            return Err("a choice in an index".into());
        }
        let ty = self.ty(e)?.unwrap_or(Ty::Int);
        if ty == Ty::Bool {
            return Err("an index that is not a number".into());
        }
        self.expr(e, ty)
    }

    /// Pushes the value of the expression, which has this type.
    pub(super) fn expr(&mut self, e: &Expr, ty: Ty) -> CompileResult {
        if self.ty(e)?.is_some_and(|found| found != ty) {
            return Err(format!("line {}: a value of another type", self.line));
        }
        match e {
            Expr::Bool(value) => {
                self.emit(Instr::Push((*value).into()));
            }
            Expr::Num(value) => self.number(*value, ty)?,
            Expr::Name(name) => self.load(name, ty)?,
            Expr::Index(name, index) => {
                self.index(index)?;
                self.element(name)?;
            }
            Expr::Len(channel) => self.len(channel)?,
            Expr::Pick(numbers, index) => {
                let fits = numbers.iter().all(|n| wrap(*n, ty) == Some(*n));
                if !fits && ty != Ty::Bool {
                    return Err("an element that does not fit".into());
                }
                self.index(index)?;
                self.emit(Instr::Pick(numbers.clone()));
            }
            Expr::Not(inner) => {
                self.expr(inner, Ty::Bool)?;
                self.emit(Instr::Not);
            }
            Expr::Neg(inner) => {
                self.arithmetic(ty)?;
                self.expr(inner, ty)?;
                self.emit(Instr::Neg(ty));
            }
            Expr::Bin(op, left, right) if op.logical() => {
                self.expr(left, Ty::Bool)?;
                let over = self.emit(Instr::JumpKeep(*op == Op::Or, 0));
                self.expr(right, Ty::Bool)?;
                self.land(over);
            }
            Expr::Bin(op, left, right) => {
                let mut inner = ty;
                if op.compares() {
                    inner = self
                        .unify(self.ty(left)?, self.ty(right)?)?
                        .unwrap_or(Ty::Int);
                }
                let equality = matches!(op, Op::Eq | Op::Ne);
                if !equality {
                    self.arithmetic(inner)?;
                }
                self.expr(left, inner)?;
                self.expr(right, inner)?;
                self.emit(Instr::Bin(*op, inner));
            }
            Expr::If(test, yes, no) => {
                self.expr(test, Ty::Bool)?;
                let other = self.emit(Instr::JumpIfNot(0));
                self.expr(yes, ty)?;
                let out = self.emit(Instr::Jump(0));
                self.land(other);
                self.expr(no, ty)?;
                self.land(out);
            }
            Expr::Choose(low, high) => {
                if low.has_choice() || high.has_choice() {
                    return Err("a choice in a bound".into());
                }
                self.arithmetic(ty)?;
                self.expr(low, ty)?;
                self.expr(high, ty)?;
                self.access_point();
                self.emit(Instr::Choose);
            }
            Expr::Input(_) => {
                self.emit(Instr::Input(ty));
            }
        }
        Ok(())
    }

    fn arithmetic(&self, ty: Ty) -> CompileResult {
        if ty == Ty::Bool {
            Err("numbers are needed".into())
        } else {
            Ok(())
        }
    }

    fn number(&mut self, value: i128, ty: Ty) -> CompileResult {
        self.arithmetic(ty)?;
        if wrap(value, ty) != Some(value) {
            return Err(format!("{value} does not fit {}", ty.name()));
        }
        self.emit(Instr::Push(value));
        Ok(())
    }

    fn load(&mut self, name: &str, ty: Ty) -> CompileResult {
        match self.lookup(name) {
            Some(Meaning::Number(value)) => self.number(value, ty)?,
            Some(Meaning::Truth(value)) => {
                self.emit(Instr::Push(value.into()));
            }
            Some(Meaning::Shared {
                base, len: None, ..
            }) => {
                self.access_point();
                self.emit(Instr::Shared(base));
            }
            Some(Meaning::Local {
                slot, len: None, ..
            }) => {
                self.emit(Instr::Local(slot));
            }
            _ => return Err(format!("{name} has no value")),
        }
        Ok(())
    }

    fn element(&mut self, name: &str) -> CompileResult {
        match self.lookup(name) {
            Some(Meaning::Shared {
                base,
                len: Some(len),
                ..
            }) => {
                self.access_point();
                self.emit(Instr::SharedAt(base, len));
            }
            Some(Meaning::Local {
                slot,
                len: Some(len),
                ..
            }) => {
                self.emit(Instr::LocalAt(slot, len));
            }
            _ => return Err(format!("{name} is not an array")),
        }
        Ok(())
    }
}
