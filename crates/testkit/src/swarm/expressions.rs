//! Random expressions of a given type.

use super::{Name, TreeBuilder, binary};
use crate::features::Feature;
use crate::oracle::ast::{Expr, Op, Place, Ty};

impl TreeBuilder {
    pub(super) fn literal(&mut self, ty: Ty) -> Expr {
        match ty {
            Ty::Bool => Expr::Bool(self.rng.percent(50)),
            Ty::Unsigned(_) if self.rng.percent(5) => Expr::Num(255),
            Ty::Signed(8) if self.rng.percent(5) => Expr::Num(127),
            Ty::Unsigned(_) => Expr::Num(self.rng.below(4) as i128),
            Ty::Int if self.draws(Feature::Const, 30) => Expr::Name("N".into()),
            _ => Expr::Num(self.rng.below(5) as i128 - 1),
        }
    }

    /// Returns a shared variable. In some batches (`hot`) this is mostly the first one.
    pub(super) fn some_shared(&mut self) -> Name {
        if self.rng.percent(self.shape.hot) {
            return self.shared[0].clone();
        }
        self.shared[self.rng.below(self.shared.len())].clone()
    }

    /// Returns an index for an array of two elements; a few indices are out of bounds.
    pub(super) fn index(&mut self) -> Expr {
        let numbers: Vec<_> = self
            .locals
            .iter()
            .chain(&self.shared)
            .filter(|name| name.ty != Ty::Bool && name.len.is_none())
            .map(|name| name.name.clone())
            .collect();
        if self.rng.percent(30)
            && let Some(name) = self.rng.pick(&numbers)
        {
            return Expr::Name(name.clone());
        }
        Expr::Num(if self.rng.percent(4) {
            2
        } else {
            self.rng.below(2) as i128
        })
    }

    pub(super) fn place(&mut self, name: &Name) -> Place {
        let index = name.len.map(|_| self.index());
        Place {
            name: name.name.clone(),
            index,
        }
    }

    pub(super) fn read(&mut self, name: &Name) -> Expr {
        match name.len {
            None => Expr::Name(name.name.clone()),
            Some(_) => Expr::Index(name.name.clone(), Box::new(self.index())),
        }
    }

    /// Returns a variable of this type, if there is one.
    fn variable(&mut self, ty: Ty) -> Option<Expr> {
        let of_type = |names: &[Name]| -> Vec<Name> {
            names.iter().filter(|name| name.ty == ty).cloned().collect()
        };
        let (mut shared, locals) = (of_type(&self.shared), of_type(&self.locals));
        if !locals.is_empty() && self.rng.percent(50) {
            shared = locals;
        }
        let name = self.rng.pick(&shared).cloned()?;
        Some(self.read(&name))
    }

    pub(super) fn value(&mut self, ty: Ty, depth: usize) -> Expr {
        if ty == Ty::Bool {
            return self.condition(depth);
        }
        if depth > 0 && self.rng.percent(40) {
            if self.draws(Feature::Conditional, 25) {
                let test = self.condition(depth - 1);
                let (yes, no) = (self.value(ty, depth - 1), self.value(ty, depth - 1));
                return Expr::If(Box::new(test), Box::new(yes), Box::new(no));
            }
            let mut op = [Op::Add, Op::Add, Op::Sub, Op::Mul][self.rng.below(4)];
            if self.draws(Feature::Division, 50) {
                op = if self.rng.percent(50) {
                    Op::Div
                } else {
                    Op::Rem
                };
            }
            if ty != Ty::Int && self.rng.percent(25) {
                let bits = [Op::BitAnd, Op::BitOr, Op::BitXor, Op::Shl, Op::Shr];
                op = bits[self.rng.below(bits.len())];
            }
            let left = self.variable(ty).unwrap_or_else(|| self.value(ty, 0));
            return binary(op, left, self.value(ty, depth - 1));
        }
        let found = if self.rng.percent(60) {
            self.variable(ty)
        } else {
            None
        };
        found.unwrap_or_else(|| self.literal(ty))
    }

    pub(super) fn condition(&mut self, depth: usize) -> Expr {
        if depth > 0 && self.rng.percent(25) {
            let op = if self.rng.percent(50) {
                Op::And
            } else {
                Op::Or
            };
            return binary(op, self.condition(depth - 1), self.condition(depth - 1));
        }
        if self.rng.percent(8) {
            return Expr::Not(Box::new(self.condition(0)));
        }
        let locals = self.locals.clone();
        let name = match self.rng.pick(&locals).cloned() {
            Some(local) if self.rng.percent(40) => local,
            _ => self.some_shared(),
        };
        if name.ty == Ty::Bool {
            let read = self.read(&name);
            return if self.rng.percent(30) {
                Expr::Not(Box::new(read))
            } else {
                read
            };
        }
        let ops = [Op::Eq, Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge];
        let op = ops[self.rng.below(ops.len())];
        let left = self.read(&name);
        binary(op, left, self.value(name.ty, depth.min(1)))
    }

    /// Returns the right side of an assignment or `let`, which may be a `choose` or an `input`.
    pub(super) fn right(&mut self, ty: Ty) -> Expr {
        if ty != Ty::Bool && self.draws(Feature::Choose, 35) {
            let low = if self.rng.percent(15) {
                self.value(ty, 0)
            } else {
                Expr::Num(0)
            };
            let high = Expr::Num(1 + self.rng.below(3) as i128);
            return Expr::Choose(Box::new(low), Box::new(high));
        }
        if ty != Ty::Int && self.unknowns > 0 && self.draws(Feature::Input, 35) {
            self.unknowns -= 1;
            return Expr::Input(Some(ty));
        }
        self.value(ty, 2)
    }
}
