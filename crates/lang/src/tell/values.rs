//! The variables and values that a failed condition or a message mentions: for `assert x < n`, the
//! values of `x` and `n`.

use mazurka_core::record::Binding;
use mazurka_core::{ProcessPath, Temporal};

use crate::Machine;
use crate::check::hir::{BinaryOp, Expr, ExprKind, LocalOf, Message, Type, UnaryOp};
use crate::code::numbers::{arith, compare, negate, wrap};
use crate::code::{Arith, Compare, Layout};
use crate::tell::pretty::Scope;

/// The context in which expressions are evaluated: a frame, and shared memory.
pub(crate) struct EvaluationContext<'a> {
    pub scope: Scope<'a>,
    pub cells: &'a [i64],
}

/// Returns the locals that a temporal property mentions, with their names in the property and their
/// values.
pub(crate) fn watched_by(machine: &Machine, property: Temporal) -> Vec<Binding> {
    let code = &*machine.code;
    let Some(frame) = code.layouts.last() else {
        return Vec::new();
    };
    let named = |watched: &LocalOf| {
        let process = code.names.show(&ProcessPath::root(watched.process));
        let mut local = watched.declared.clone();
        local.name = format!("{process}.{}", local.name);
        if let Some(first) = local.shape.parts.first_mut() {
            *first = format!("{process}.{first}");
        }
        local
    };
    let layout = Layout {
        names: code.program.watched.iter().map(named).collect(),
        slots: frame.slots.clone(),
    };
    let locals: Vec<i64> = machine.watched().collect();
    let scope = Scope {
        code,
        layout: &layout,
        locals: &locals,
    };
    let context = EvaluationContext {
        scope,
        cells: &machine.state.cells,
    };
    let mut found = Vec::new();
    for condition in property.parts() {
        let condition = &code.program.conditions[condition];
        context.collect([condition, condition], ShownVariables::All, &mut found);
    }
    // Shared variables are omitted, because every state shows them.
    found.retain(|one| {
        layout
            .names
            .iter()
            .any(|local| one.name.starts_with(&local.name))
    });
    found
}

/// The mentioned variables that can be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShownVariables {
    /// All mentioned variables.
    All,
    /// Only locals. The condition has read the shared variables in earlier steps, and they may have
    /// changed since.
    LocalsOnly,
}

impl EvaluationContext<'_> {
    /// Returns the variables that a condition mentions, with their values. `read` is the condition
    /// as it was evaluated, with temporaries for values that were read in earlier steps.
    pub fn mentioned(&self, condition: &Expr, read: &Expr) -> Vec<Binding> {
        let mut found = Vec::new();
        self.collect([condition, read], ShownVariables::All, &mut found);
        found
    }

    /// Returns a message with its values. A variable of the failed condition has the value that the
    /// condition has read.
    pub fn message(&self, message: &Message, seen: &[Binding]) -> String {
        message.with(|name, expr| {
            let value = match (&expr.kind, self.name(expr)) {
                (ExprKind::Const(value), _) => Some(self.show(*value, expr.ty)),
                (_, Some(name)) => {
                    let known = seen.iter().find(|one| one.name == name);
                    let value = || self.value(expr).map(|value| self.show(value, expr.ty));
                    known.map(|one| one.value.clone()).or_else(value)
                }
                (_, None) => None,
            };
            value.unwrap_or_else(|| format!("{{{name}}}"))
        })
    }

    fn collect(
        &self,
        [written, read]: [&Expr; 2],
        shown: ShownVariables,
        found: &mut Vec<Binding>,
    ) {
        match (&written.kind, &read.kind) {
            (ExprKind::Const(_), _) => {}
            (ExprKind::Local(_) | ExprKind::Shared(_), _) => {
                self.add([written, read], shown, found);
            }
            (ExprKind::Element(_, index) | ExprKind::LocalElement(_, index), _) => {
                let inner = match &read.kind {
                    ExprKind::Element(_, read) | ExprKind::LocalElement(_, read) => read,
                    _ => index,
                };
                self.collect([index, inner], shown, found);
                self.add([written, read], shown, found);
            }
            (ExprKind::Unary(_, a), ExprKind::Unary(_, b))
            | (ExprKind::Table(_, a), ExprKind::Table(_, b)) => {
                self.collect([a, b], shown, found);
            }
            (ExprKind::Binary(op, a, b), ExprKind::Binary(_, c, d)) => {
                self.collect([a, c], shown, found);
                let decides = match op {
                    BinaryOp::And => Some(0),
                    BinaryOp::Or => Some(1),
                    _ => None,
                };
                let left = self.value(c);
                if decides.is_none() || self.is_known(d) || left.is_some() && left != decides {
                    self.collect([b, d], shown, found);
                }
            }
            (ExprKind::If(a, b, c), ExprKind::If(d, e, f)) => {
                self.collect([a, d], shown, found);
                let holds = self.value(d);
                for (pair, side) in [([b, e], true), ([c, f], false)] {
                    if self.is_known(pair[1]) || holds == Some(side.into()) {
                        self.collect(pair.map(|one| &**one), shown, found);
                    }
                }
            }
            // The expression was computed as a whole in an earlier step.
            (_, ExprKind::Local(_)) => {
                self.collect([written, written], ShownVariables::LocalsOnly, found)
            }
            _ => {}
        }
    }

    /// Whether an expression can still be evaluated: no part of it was read in an earlier step.
    fn is_known(&self, expr: &Expr) -> bool {
        let mut known = true;
        expr.walk(&mut |e| {
            if let ExprKind::Local(local) = e.kind {
                known &= !self.scope.layout.names[local.0 as usize]
                    .name
                    .starts_with('$');
            }
        });
        known
    }

    fn add(&self, [written, read]: [&Expr; 2], shown: ShownVariables, found: &mut Vec<Binding>) {
        let shared = matches!(written.kind, ExprKind::Shared(_) | ExprKind::Element(..));
        if shared && shown == ShownVariables::LocalsOnly {
            return;
        }
        if let (Some(name), Some(value)) = (self.name(written), self.value(read))
            && found.iter().all(|one| one.name != name)
        {
            let value = self.show(value, written.ty);
            found.push(Binding { name, value });
        }
    }

    /// Returns a variable or an element as the source would name it, with the value of its index.
    fn name(&self, expr: &Expr) -> Option<String> {
        let vars = &self.scope.code.program.vars;
        let locals = &self.scope.layout.names;
        let (shape, index) = match &expr.kind {
            // A temporary holds a value that was read in an earlier step.
            ExprKind::Local(local) if locals[local.0 as usize].name.starts_with('$') => {
                return Some(expr.span.text(&self.scope.code.source).trim().to_owned());
            }
            ExprKind::Local(local) => (&locals[local.0 as usize].shape, None),
            ExprKind::LocalElement(local, index) => (&locals[local.0 as usize].shape, Some(index)),
            ExprKind::Shared(var) => (&vars[var.0 as usize].shape, None),
            ExprKind::Element(var, index) => (&vars[var.0 as usize].shape, Some(index)),
            _ => return None,
        };
        match index {
            None => Some(shape.named::<&str>(&[])),
            Some(index) if shape.dims.len() > 1 => u32::try_from(self.value(index)?)
                .ok()
                .map(|at| shape.element(at)),
            Some(index) => Some(shape.named(&[self.show(self.value(index)?, index.ty)])),
        }
    }

    fn show(&self, value: i64, ty: Type) -> String {
        self.scope.code.program.show(value, ty)
    }

    /// Returns the value of an expression without choices; `None` if it is undefined.
    fn value(&self, expr: &Expr) -> Option<i64> {
        let code = self.scope.code;
        match &expr.kind {
            ExprKind::Const(value) => Some(*value),
            ExprKind::Local(local) => self.scope.slot(*local, 0),
            ExprKind::LocalElement(local, index) => {
                let len = self.scope.layout.names[local.0 as usize].len?;
                let at = usize::try_from(self.value(index)?).ok()?;
                (at < len as usize).then(|| self.scope.slot(*local, at))?
            }
            ExprKind::Shared(var) => {
                let cell = code.first_cells[var.0 as usize];
                self.cells.get(cell as usize).copied()
            }
            ExprKind::Element(var, index) => {
                let len = code.program.vars[var.0 as usize].len?;
                let at = u32::try_from(self.value(index)?).ok()?;
                let cell = code.first_cells[var.0 as usize] + at;
                (at < len).then(|| self.cells.get(cell as usize).copied())?
            }
            ExprKind::Table(table, index) => {
                let at = usize::try_from(self.value(index)?).ok()?;
                table.values.get(at).copied()
            }
            ExprKind::Unary(UnaryOp::Not, e) => Some(1 - self.value(e)?),
            ExprKind::Unary(UnaryOp::Neg, e) => negate(expr.ty, self.value(e)?).ok(),
            ExprKind::Unary(UnaryOp::BitNot, e) => {
                let ones = wrap(-1, expr.ty);
                arith(Arith::BitXor, expr.ty, self.value(e)?, ones).ok()
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, expr.ty),
            ExprKind::If(test, then, other) => match self.value(test)? {
                0 => self.value(other),
                _ => self.value(then),
            },
            ExprKind::Input | ExprKind::Choose(..) => None,
        }
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr, ty: Type) -> Option<i64> {
        let unsigned = a.ty == Type::Unsigned(64);
        let left = self.value(a)?;
        match (op, left) {
            (BinaryOp::And, 0) => return Some(0),
            (BinaryOp::Or, 1) => return Some(1),
            _ => {}
        }
        let right = self.value(b)?;
        let number = |op| arith(op, ty, left, right).ok();
        let truth = |op| Some(compare(op, unsigned, left, right).into());
        match op {
            BinaryOp::And | BinaryOp::Or => Some(right),
            BinaryOp::Add => number(Arith::Add),
            BinaryOp::Sub => number(Arith::Sub),
            BinaryOp::Mul => number(Arith::Mul),
            BinaryOp::Div => number(Arith::Div),
            BinaryOp::Rem => number(Arith::Rem),
            BinaryOp::BitAnd => number(Arith::BitAnd),
            BinaryOp::BitOr => number(Arith::BitOr),
            BinaryOp::BitXor => number(Arith::BitXor),
            BinaryOp::Shl => number(Arith::Shl),
            BinaryOp::Shr => number(Arith::Shr),
            BinaryOp::Eq => truth(Compare::Eq),
            BinaryOp::Ne => truth(Compare::Ne),
            BinaryOp::Lt => truth(Compare::Lt),
            BinaryOp::Le => truth(Compare::Le),
            BinaryOp::Gt => truth(Compare::Gt),
            BinaryOp::Ge => truth(Compare::Ge),
        }
    }
}
