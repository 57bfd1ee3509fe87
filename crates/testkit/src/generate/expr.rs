//! Generates expressions, and places to assign to.

use super::{Generator, Scope};
use crate::tree::{Expr, Type};

impl Generator<'_> {
    /// Returns the type of a shared number that is not a counter; there is always one.
    pub(super) fn number_type(&mut self) -> Type {
        let scalars = self
            .program
            .vars
            .iter()
            .filter(|v| v.len.is_none() && v.ty != Type::Bool);
        let numbers: Vec<Type> = scalars
            .filter(|v| !v.name.starts_with('c'))
            .map(|v| v.ty)
            .collect();
        self.rng.pick(&numbers).copied().unwrap_or(Type::Int)
    }

    fn shared(&mut self, ty: Type) -> Option<Expr> {
        let names: Vec<&str> = (self.program.vars.iter())
            .filter(|v| v.ty == ty && v.len.is_none() && !v.name.starts_with('c'))
            .map(|v| v.name.as_str())
            .collect();
        self.rng.pick(&names).map(|name| Expr::var(name))
    }

    pub(super) fn local(&mut self, scope: &Scope, ty: Type) -> Option<Expr> {
        let names: Vec<&str> = (scope.locals.iter())
            .filter(|(_, of)| *of == ty)
            .map(|(name, _)| name.as_str())
            .collect();
        self.rng.pick(&names).map(|name| Expr::var(name))
    }

    /// Returns an element of an array whose elements have this type.
    fn element(&mut self, scope: &Scope, ty: Type) -> Option<Expr> {
        let arrays: Vec<(String, u32)> = (self.program.vars.iter())
            .filter(|v| v.ty == ty)
            .filter_map(|v| Some((v.name.clone(), v.len?)))
            .collect();
        let (name, len) = self.rng.pick(&arrays).cloned()?;
        let index = self.index(scope, len);
        Some(Expr::Element(name, Box::new(index)))
    }

    /// Returns an index. It is in range, unless the configuration allows failures.
    pub(super) fn index(&mut self, scope: &Scope, len: u32) -> Expr {
        let constant = Expr::Int(self.rng.below(len as usize) as i64);
        let from = match self.rng.weighted(&[5, 2, 4]) {
            0 => None,
            1 => self.local(scope, Type::Int),
            _ => self.shared(Type::Int),
        };
        match from {
            None => constant,
            Some(index) if self.config.failures && self.rng.percent(60) => index,
            Some(index) => {
                let test = Expr::binary("==", index, Expr::Int(0));
                Expr::If(
                    Box::new(test),
                    Box::new(Expr::Int(0)),
                    Box::new(Expr::Int(1)),
                )
            }
        }
    }

    /// Returns a variable to read: a shared variable, an element of an array, or a local.
    fn readable(&mut self, scope: &Scope, ty: Type) -> Option<Expr> {
        let found = match self.rng.weighted(&[8, 3, 3]) {
            0 => None,
            1 => self.element(scope, ty),
            _ => self.local(scope, ty),
        };
        found.or_else(|| self.shared(ty))
    }

    /// Returns a shared place to assign to, and its type.
    pub(super) fn place(&mut self, scope: &Scope) -> (Expr, Type) {
        let ty = if self.rng.percent(75) {
            self.number_type()
        } else {
            Type::Bool
        };
        let place = if self.rng.percent(25) {
            self.element(scope, ty)
        } else {
            None
        };
        if let Some(place) = place.or_else(|| self.shared(ty)) {
            return (place, ty);
        }
        let ty = self.number_type();
        (self.shared(ty).unwrap_or(Expr::var("x")), ty)
    }

    /// Returns an expression of this type.
    pub(super) fn value(&mut self, scope: &Scope, ty: Type, depth: usize) -> Expr {
        if ty == Type::Bool {
            return self.truth(scope, depth);
        }
        let literal = Expr::Int(self.rng.weighted(&[3, 5, 3, 1]) as i64);
        match self.rng.weighted(&[8, 5, if depth > 0 { 6 } else { 0 }]) {
            0 => literal,
            1 => self.readable(scope, ty).unwrap_or(literal),
            _ => {
                let left = self.readable(scope, ty).unwrap_or(literal);
                let right = self.value(scope, ty, depth - 1);
                match self.rng.weighted(&[10, 4, 2, 1, 2]) {
                    0 => Expr::binary("+", left, right),
                    1 => Expr::binary("-", left, right),
                    2 => Expr::binary("*", left, right),
                    3 if self.config.failures => {
                        let op = if self.rng.percent(50) { "/" } else { "%" };
                        Expr::binary(op, right, left)
                    }
                    _ => {
                        let test = self.truth(scope, 0);
                        Expr::If(Box::new(test), Box::new(left), Box::new(right))
                    }
                }
            }
        }
    }

    /// Returns a condition that reads something. It is more often true than false in the initial
    /// state, so that not every guard is a deadlock.
    pub(super) fn test(&mut self, scope: &Scope, depth: usize) -> Expr {
        let test = self.any_test(scope, depth);
        if self.initially(&test) == Some(false) && self.rng.percent(35) {
            return match test {
                Expr::Unary("!", of) => *of,
                Expr::Binary("==", left, right) => Expr::Binary("!=", left, right),
                Expr::Binary("!=", left, right) => Expr::Binary("==", left, right),
                Expr::Binary(">", left, right) => Expr::Binary("<=", left, right),
                Expr::Binary("<", left, right) => Expr::Binary(">=", left, right),
                other => Expr::Unary("!", Box::new(other)),
            };
        }
        test
    }

    /// Returns the value of a simple condition in the initial state; `None` if the condition is not
    /// simple.
    fn initially(&self, test: &Expr) -> Option<bool> {
        let value = |expr: &Expr| match expr {
            Expr::Int(value) => Some(*value),
            Expr::Var(name) | Expr::Element(name, _) => {
                let var = self.program.vars.iter().find(|var| var.name == *name)?;
                Some(var.init)
            }
            _ => None,
        };
        match test {
            Expr::Unary("!", of) => Some(value(of)? == 0),
            Expr::Binary(op, left, right) => {
                let (left, right) = (value(left)?, value(right)?);
                Some(match *op {
                    "==" => left == right,
                    "!=" => left != right,
                    "<" => left < right,
                    "<=" => left <= right,
                    ">" => left > right,
                    ">=" => left >= right,
                    _ => return None,
                })
            }
            flag => Some(value(flag)? != 0),
        }
    }

    fn any_test(&mut self, scope: &Scope, depth: usize) -> Expr {
        let flag = self.readable(scope, Type::Bool);
        match (
            flag,
            self.rng.weighted(&[5, 5, if depth > 0 { 3 } else { 0 }]),
        ) {
            (Some(flag), 0) => {
                if self.rng.percent(50) {
                    flag
                } else {
                    Expr::Unary("!", Box::new(flag))
                }
            }
            (_, 2) => {
                let op = if self.rng.percent(60) { "&&" } else { "||" };
                let left = self.test(scope, 0);
                let right = self.test(scope, depth - 1);
                Expr::binary(op, left, right)
            }
            _ => {
                let ty = self.number_type();
                let left = self.readable(scope, ty).unwrap_or(Expr::var("x"));
                let right = if self.rng.percent(85) {
                    Expr::Int(self.rng.weighted(&[4, 4, 1]) as i64)
                } else {
                    self.readable(scope, ty).unwrap_or(Expr::Int(0))
                };
                let ops = ["==", "!=", "<", "<=", ">", ">="];
                let op = ops[self.rng.weighted(&[6, 3, 1, 1, 2, 1])];
                Expr::binary(op, left, right)
            }
        }
    }

    fn truth(&mut self, scope: &Scope, depth: usize) -> Expr {
        match self.rng.weighted(&[4, 5]) {
            0 => Expr::Bool(self.rng.percent(50)),
            _ => self.test(scope, depth),
        }
    }
}
