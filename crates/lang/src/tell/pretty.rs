//! Prints expressions and statements for labels, with the values of locals in place of their names:
//! `x := y + 1`, where the local `y` is 2, is shown as `x := 2 + 1` (guarded-command paper, section
//! 6, local scopes).

use crate::check::hir::{BinaryOp, Expr, ExprKind, LocalId, Place, Shape, UnaryOp};
use crate::code::{Action, Code, Layout};

/// A frame with the values of its locals.
pub(crate) struct Scope<'a> {
    pub code: &'a Code,
    pub layout: &'a Layout,
    pub locals: &'a [i64],
}

impl Scope<'_> {
    pub(super) fn slot(&self, local: LocalId, offset: usize) -> Option<i64> {
        let first = *self.layout.slots.get(local.0 as usize)?;
        self.locals.get(first as usize + offset).copied()
    }

    fn local(&self, local: LocalId) -> String {
        let known = &self.layout.names[local.0 as usize];
        self.slot(local, 0).map_or_else(
            || known.name.clone(),
            |value| self.code.program.show(value, known.ty),
        )
    }

    /// Returns the value of a local that holds a process.
    pub fn handle(&self, local: LocalId) -> Option<i64> {
        self.slot(local, 0)
    }

    /// Returns the value of an expression, if it is a constant or a local.
    pub fn known(&self, expr: &Expr) -> Option<i64> {
        match expr.kind {
            ExprKind::Const(value) => Some(value),
            ExprKind::Local(local) => self.slot(local, 0),
            _ => None,
        }
    }

    pub fn expr(&self, expr: &Expr) -> String {
        self.tight(expr, 0)
    }

    /// Prints an expression, in parentheses if it binds weaker than the enclosing operator.
    /// `around` is the strength of this operator, from 0 (no operator) to 13.
    fn tight(&self, expr: &Expr, around: u8) -> String {
        let var = |var: crate::check::hir::VarId| &self.code.program.vars[var.0 as usize].name;
        let (text, strength) = match &expr.kind {
            ExprKind::Const(value) => match self.code.constant_at(expr.span) {
                Some(name) => (name.to_owned(), 13),
                None => {
                    let strength = if *value < 0 { 11 } else { 13 };
                    (self.code.program.show(*value, expr.ty), strength)
                }
            },
            _ if self.code.program.expanded.contains(&expr.span)
                || self.code.program.lowered.contains(&expr.span) =>
            {
                let text = expr.span.text(&self.code.source);
                let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
                (words, if text.ends_with([')', '}']) { 13 } else { 0 })
            }
            ExprKind::Table(table, index) => match &table.shape {
                Some(shape) => (self.element(shape, index), 13),
                None => return self.tight(index, around),
            },
            ExprKind::Local(local) => (self.local(*local), 13),
            ExprKind::LocalElement(local, index) => {
                let known = &self.layout.names[local.0 as usize];
                let value = self.known(index).and_then(|at| {
                    let at = usize::try_from(at).ok()?;
                    (at < known.len.unwrap_or(1) as usize).then(|| self.slot(*local, at))?
                });
                let text = match value {
                    Some(value) => self.code.program.show(value, known.ty),
                    None => self.element(&known.shape, index),
                };
                (text, 13)
            }
            ExprKind::Shared(v) => (var(*v).clone(), 13),
            ExprKind::Element(v, index) => {
                let shape = &self.code.program.vars[v.0 as usize].shape;
                (self.element(shape, index), 13)
            }
            ExprKind::Unary(UnaryOp::Not, e) => (format!("!{}", self.tight(e, 12)), 12),
            ExprKind::Unary(UnaryOp::Neg, e) => (format!("-{}", self.tight(e, 12)), 12),
            ExprKind::Unary(UnaryOp::BitNot, e) => (format!("~{}", self.tight(e, 12)), 12),
            ExprKind::Binary(op, a, b) => {
                let (sign, strength) = operator(*op);
                // `a < b < c` is not allowed, so a comparison in a comparison gets parentheses. The
                // other operators are left-associative.
                let left = if strength == 3 { 4 } else { strength };
                let (a, b) = (self.tight(a, left), self.tight(b, strength + 1));
                (format!("{a} {sign} {b}"), strength)
            }
            ExprKind::If(test, then, other) => {
                let [test, then, other] = [test, then, other].map(|e| self.expr(e));
                (format!("if {test} then {then} else {other}"), 0)
            }
            ExprKind::Input => ("input()".to_owned(), 13),
            ExprKind::Choose(from, to) => (
                format!("choose({}..{})", self.expr(from), self.expr(to)),
                13,
            ),
        };
        if strength < around {
            format!("({text})")
        } else {
            text
        }
    }

    /// Prints an element of an array, given its flat index.
    fn element(&self, shape: &Shape, index: &Expr) -> String {
        let indices = flat_indices(&shape.dims, index);
        let indices: Vec<String> = match indices {
            Some(indices) => indices.into_iter().map(|e| self.expr(e)).collect(),
            None => match index.kind {
                ExprKind::Const(at) if shape.dims.len() > 1 => {
                    return u32::try_from(at)
                        .map_or_else(|_| shape.named(&[at.to_string()]), |at| shape.element(at));
                }
                _ => vec![self.expr(index)],
            },
        };
        shape.named(&indices)
    }

    pub fn negation(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Unary(UnaryOp::Not, e) => self.expr(e),
            _ => format!("!{}", self.tight(expr, 12)),
        }
    }

    fn list(&self, exprs: &[Expr]) -> String {
        exprs
            .iter()
            .map(|e| self.expr(e))
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn place(&self, place: &Place) -> String {
        match place {
            Place::Local(local) => self.layout.names[local.0 as usize].name.clone(),
            Place::LocalElement(local, index) => {
                self.element(&self.layout.names[local.0 as usize].shape, index)
            }
            Place::Shared(var) => self.code.program.vars[var.0 as usize].name.clone(),
            Place::Element(var, index) => {
                self.element(&self.code.program.vars[var.0 as usize].shape, index)
            }
        }
    }

    /// Prints a statement. For `spawn` and `join` this is only the keyword; the caller adds the
    /// names of the processes.
    pub fn action(&self, action: &Action) -> String {
        match action {
            Action::Assign(places, values) => {
                let places: Vec<_> = places.iter().map(|p| self.place(p)).collect();
                format!("{} := {}", places.join(", "), self.list(values))
            }
            // The result of an operation.
            Action::Let(name, values) if name.starts_with("$result") => {
                format!("let result = {}", self.list(values))
            }
            // A value that an operation reads before its step.
            Action::Let(name, values) if name.starts_with("$operand") => {
                format!("argument {}", self.list(values))
            }
            // The subject of a `match`.
            Action::Let(name, values) if name.starts_with('$') => {
                format!("match {}", self.list(values))
            }
            Action::Let(name, values) => format!("let {name} = {}", self.list(values)),
            Action::Lock(verb, lock, index) => {
                let name = &self.code.program.locks[lock.0 as usize].name;
                match index {
                    Some(index) => format!("{verb}({name}[{}])", self.expr(index)),
                    None => format!("{verb}({name})"),
                }
            }
            Action::Call(name, args) => format!("{name}({})", self.list(args)),
            Action::Assert(verb, test) => format!("{verb} {}", self.expr(test)),
            Action::For(name, from, to) => {
                format!("for {name} in {}..{}", self.expr(from), self.expr(to))
            }
            Action::Choose => "choose".to_owned(),
            Action::Spawn => "spawn".to_owned(),
            Action::Join(_) => "join".to_owned(),
        }
    }
}

/// Returns the indices that the checker has combined into a flat index: `(i * m + j) * n + k`.
fn flat_indices<'e>(dims: &[u32], index: &'e Expr) -> Option<Vec<&'e Expr>> {
    let mut rest = index;
    let mut indices = Vec::with_capacity(dims.len());
    for &dim in dims.iter().skip(1).rev() {
        let ExprKind::Binary(BinaryOp::Add, rows, last) = &rest.kind else {
            return None;
        };
        let ExprKind::Binary(BinaryOp::Mul, outer, size) = &rows.kind else {
            return None;
        };
        if !matches!(size.kind, ExprKind::Const(size) if size == i64::from(dim)) {
            return None;
        }
        indices.push(&**last);
        rest = outer;
    }
    indices.push(rest);
    indices.reverse();
    Some(indices)
}

fn operator(op: BinaryOp) -> (&'static str, u8) {
    match op {
        BinaryOp::Or => ("||", 1),
        BinaryOp::And => ("&&", 2),
        BinaryOp::Eq => ("==", 3),
        BinaryOp::Ne => ("!=", 3),
        BinaryOp::Lt => ("<", 3),
        BinaryOp::Le => ("<=", 3),
        BinaryOp::Gt => (">", 3),
        BinaryOp::Ge => (">=", 3),
        BinaryOp::BitOr => ("|", 4),
        BinaryOp::BitXor => ("^", 5),
        BinaryOp::BitAnd => ("&", 6),
        BinaryOp::Shl => ("<<", 7),
        BinaryOp::Shr => (">>", 7),
        BinaryOp::Add => ("+", 8),
        BinaryOp::Sub => ("-", 8),
        BinaryOp::Mul => ("*", 9),
        BinaryOp::Div => ("/", 9),
        BinaryOp::Rem => ("%", 9),
    }
}
