//! Compiles expressions. An expression leaves its value on the operand stack. With `atomicity
//! access`, each read of a shared variable is a separate step: the compiler emits these reads
//! first, each into a temporary, and then evaluates the expression over the temporaries.

use crate::check::hir::{BinaryOp, Expr, ExprKind, Type, UnaryOp};
use crate::code::numbers::wrap;
use crate::code::{Action, Arith, Compare, LabelPart, Op};

use super::{Compiler, Values, constant_index};

impl Compiler<'_> {
    /// Compiles an expression to a separate piece of code.
    pub(super) fn snippet(&mut self, expr: &Expr) -> Vec<Op> {
        let start = self.code.ops.len();
        // The targets of jumps in a snippet count from the start of the snippet.
        let ops = std::mem::take(&mut self.code.ops);
        let branches = std::mem::take(&mut self.code.branches);
        let operands = std::mem::take(&mut self.code.operands);
        let (spans, bodies) = (self.code.spans.len(), self.code.bodies.len());
        self.expr(expr);
        let snippet = std::mem::replace(&mut self.code.ops, ops);
        self.code.branches = branches;
        self.code.operands = operands;
        self.code.spans.truncate(spans);
        self.code.bodies.truncate(bodies);
        debug_assert_eq!(start, self.code.ops.len());
        snippet
    }

    /// Makes an expression local: with `atomicity access`, its reads become steps before it.
    pub(super) fn value(&mut self, expr: &Expr) -> Expr {
        if self.splits() {
            self.hoist(expr)
        } else {
            expr.clone()
        }
    }

    pub(super) fn values(&mut self, exprs: &[Expr]) -> Vec<Expr> {
        let single = exprs.len() == 1;
        exprs
            .iter()
            .map(|e| {
                let value = self.value(e);
                if self.splits() {
                    self.keep(value, !single)
                } else {
                    value
                }
            })
            .collect()
    }

    /// Computes a value into a temporary if its evaluation can fail. `always` forces a temporary,
    /// for a value whose variables change before it is used.
    pub(super) fn keep(&mut self, expr: Expr, always: bool) -> Expr {
        match expr.kind {
            ExprKind::Const(_) => expr,
            _ if always || (self.splits() && can_fail(&expr)) => {
                self.expr(&expr);
                let kept = self.spill(&expr);
                self.compute(&kept, expr);
                kept
            }
            _ => expr,
        }
    }

    /// Records the expression whose value a temporary holds.
    fn compute(&mut self, temporary: &Expr, what: Expr) {
        if let ExprKind::Local(local) = temporary.kind {
            self.computed.push((local, what));
        }
    }

    /// Replaces each temporary that holds a computed value by the expression of this value. The
    /// remaining temporaries hold one read each. A temporary in a side of `&&` or `||` that was not
    /// evaluated has no meaningful value.
    pub(super) fn as_computed(&self, expr: &Expr) -> Expr {
        let within = |e: &Expr| Box::new(self.as_computed(e));
        let kind = match &expr.kind {
            ExprKind::Local(local) => {
                let known = self.computed.iter().find(|(held, _)| held == local);
                return known.map_or_else(|| expr.clone(), |(_, what)| self.as_computed(what));
            }
            ExprKind::LocalElement(local, index) => ExprKind::LocalElement(*local, within(index)),
            ExprKind::Table(table, e) => ExprKind::Table(table.clone(), within(e)),
            ExprKind::Unary(op, e) => ExprKind::Unary(*op, within(e)),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, within(a), within(b)),
            ExprKind::If(a, b, c) => ExprKind::If(within(a), within(b), within(c)),
            _ => return expr.clone(),
        };
        Expr {
            kind,
            ..expr.clone()
        }
    }

    /// Moves the value on the operand stack to a new temporary.
    pub(super) fn spill(&mut self, like: &Expr) -> Expr {
        let temporary = self.temporary(like.ty);
        self.emit(Op::SetLocal(self.slot(temporary)));
        Expr {
            kind: ExprKind::Local(temporary),
            ..like.clone()
        }
    }

    pub(super) fn hoist(&mut self, expr: &Expr) -> Expr {
        if !self.shared.expr(expr) {
            return expr.clone();
        }
        let kind = match &expr.kind {
            ExprKind::Shared(_) => return self.separate_step(expr),
            ExprKind::Element(var, index) => {
                let index = Box::new(self.hoist(index));
                return self.separate_step(&Expr {
                    kind: ExprKind::Element(*var, index),
                    ..expr.clone()
                });
            }
            ExprKind::Choose(from, to) => {
                let (from, to) = self.hoist_pair(from, to);
                return self.separate_step(&Expr {
                    kind: ExprKind::Choose(from, to),
                    ..expr.clone()
                });
            }
            ExprKind::LocalElement(local, index) => {
                ExprKind::LocalElement(*local, Box::new(self.hoist(index)))
            }
            ExprKind::Table(table, e) => ExprKind::Table(table.clone(), Box::new(self.hoist(e))),
            ExprKind::Unary(op, e) => ExprKind::Unary(*op, Box::new(self.hoist(e))),
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) if self.shared.expr(b) => {
                let a = self.hoist(a);
                self.expr(&a);
                let result = self.spill(&a);
                self.expr(&result);
                if *op == BinaryOp::Or {
                    self.emit(Op::Not);
                }
                let end = self.branch();
                let b = self.hoist_into(b, &result);
                self.land(end);
                let kind = ExprKind::Binary(*op, Box::new(a), Box::new(b));
                self.compute(
                    &result,
                    Expr {
                        kind,
                        ..expr.clone()
                    },
                );
                return result;
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = self.hoist_pair(a, b);
                ExprKind::Binary(*op, a, b)
            }
            ExprKind::If(test, then, other) => {
                let test = self.hoist(test);
                self.expr(&test);
                let exit = self.branch();
                let result = Expr {
                    kind: ExprKind::Local(self.temporary(expr.ty)),
                    ..expr.clone()
                };
                let then = self.hoist_into(then, &result);
                let end = self.jump(Op::Jump);
                self.land(exit);
                let other = self.hoist_into(other, &result);
                self.land(end);
                let kind = ExprKind::If(Box::new(test), Box::new(then), Box::new(other));
                self.compute(
                    &result,
                    Expr {
                        kind,
                        ..expr.clone()
                    },
                );
                return result;
            }
            ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Input => return expr.clone(),
        };
        Expr {
            kind,
            ..expr.clone()
        }
    }

    pub(super) fn hoist_pair(&mut self, a: &Expr, b: &Expr) -> (Box<Expr>, Box<Expr>) {
        let a = self.hoist(a);
        let a = if self.shared.expr(b) {
            self.keep(a, false)
        } else {
            a
        };
        (Box::new(a), Box::new(self.hoist(b)))
    }

    /// Computes an expression into the temporary `result`. Returns the expression with its reads
    /// replaced by temporaries.
    fn hoist_into(&mut self, expr: &Expr, result: &Expr) -> Expr {
        let value = self.hoist(expr);
        self.expr(&value);
        if let ExprKind::Local(local) = result.kind {
            self.emit(Op::SetLocal(self.slot(local)));
        }
        value
    }

    /// Frees the temporaries for the next statement.
    pub(super) fn forget_temporaries(&mut self) {
        self.temporaries_used = 0;
        self.computed.clear();
    }

    pub(super) fn separate_step(&mut self, expr: &Expr) -> Expr {
        let outer = std::mem::replace(&mut self.span, expr.span);
        self.mark(Op::Mark);
        self.expr(expr);
        let at = self.here() - 1;
        let note = match expr.kind {
            ExprKind::Choose(..) => LabelPart::Action(Action::Choose, self.span),
            _ => LabelPart::Read,
        };
        self.note(at, note);
        self.span = outer;
        let result = self.spill(expr);
        // Most steps of `atomicity access` are such reads, so the two instructions are fused into
        // one.
        if let [.., Op::Load(cell), Op::SetLocal(slot)] = self.code.ops[..] {
            self.code.ops[at as usize] = Op::Fetch { cell, slot };
            self.drop_last(1);
        }
        result
    }

    /// Compiles an expression without marks; leaves its value as an operand.
    pub(super) fn expr(&mut self, expr: &Expr) {
        let outer = std::mem::replace(&mut self.span, expr.span);
        match &expr.kind {
            ExprKind::Const(value) => {
                self.emit(Op::Const(*value));
            }
            ExprKind::Local(local) => {
                self.emit(Op::Local(self.slot(*local)));
            }
            ExprKind::LocalElement(local, index) => {
                self.expr(index);
                self.span = expr.span;
                self.emit(Op::LocalAt(self.local_range(*local)));
                self.failing(index);
            }
            ExprKind::Shared(var) => {
                self.emit(Op::Load(self.range(var.0).first));
            }
            ExprKind::Element(var, index) => {
                let range = self.range(self.program.accessed(*var, index).0);
                match constant_index(index, range) {
                    Some(cell) => {
                        self.emit(Op::Load(cell));
                    }
                    None => {
                        self.expr(index);
                        self.indexed(Op::LoadAt(range), index);
                    }
                }
            }
            ExprKind::Table(table, index) => {
                let len = table.values.len() as u32;
                match table.shape {
                    // The index may have any integer type, but the table entry is an `int`.
                    None => {
                        self.expr(index);
                        self.span = expr.span;
                        self.emit(Op::Within(len));
                    }
                    Some(_) => {
                        for value in &table.values {
                            self.emit(Op::Const(*value));
                        }
                        self.expr(index);
                        self.span = expr.span;
                        self.emit(Op::Pick(len, expr.ty));
                    }
                }
                self.failing(index);
            }
            ExprKind::Unary(op, e) => {
                self.expr(e);
                match op {
                    UnaryOp::Not => self.emit(Op::Not),
                    UnaryOp::Neg => self.emit(Op::Neg(expr.ty)),
                    UnaryOp::BitNot => {
                        self.emit(Op::Const(wrap(-1, expr.ty)));
                        self.emit(Op::Arith(Arith::BitXor, expr.ty))
                    }
                };
            }
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) if self.whole_term(b) => {
                self.expr(a);
                self.expr(b);
                self.emit(match op {
                    BinaryOp::And => Op::And,
                    _ => Op::Or,
                });
            }
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                self.expr(a);
                if *op == BinaryOp::Or {
                    self.emit(Op::Not);
                }
                let short = self.jump_over(&[b]);
                self.expr(b);
                let end = self.jump(Op::Jump);
                self.land(short);
                self.emit(Op::Const(i64::from(*op == BinaryOp::Or)));
                self.land(end);
            }
            ExprKind::Binary(op, a, b) => {
                let op = binary(*op, expr.ty, a.ty);
                match self.on_locals(op, a, b) {
                    Some(fused) => {
                        self.emit(fused);
                    }
                    None => {
                        self.expr(a);
                        self.expr(b);
                        self.emit(op);
                    }
                }
                if let Op::Arith(Arith::Div | Arith::Rem, _) = op {
                    self.failing(expr);
                }
            }
            ExprKind::If(test, then, other) if self.whole_term(then) && self.whole_term(other) => {
                self.expr(test);
                self.expr(then);
                self.expr(other);
                self.emit(Op::Select(expr.ty));
            }
            ExprKind::If(test, then, other) => {
                self.expr(test);
                let exit = self.jump_over(&[then, other]);
                self.expr(then);
                let end = self.jump(Op::Jump);
                self.land(exit);
                self.expr(other);
                self.land(end);
            }
            ExprKind::Choose(from, to) => {
                self.expr(from);
                self.expr(to);
                self.emit(Op::Choose);
            }
            ExprKind::Input => {
                self.emit(Op::Input(expr.ty));
            }
        }
        self.span = outer;
    }
}

impl Compiler<'_> {
    /// Records that the last instruction can fail because of this expression.
    pub(super) fn failing(&mut self, expr: &Expr) {
        self.code.operands.insert(self.here() - 1, expr.clone());
    }

    /// Whether the code evaluates an expression even where its value is not needed. With symbolic
    /// values, a jump over the expression would split the run into two; one term for both cases
    /// does not.
    fn whole_term(&self, expr: &Expr) -> bool {
        self.values != Values::Concrete && self.harmless(expr)
    }

    /// Emits a jump over expressions that need not be evaluated. If their evaluation can fail, the
    /// jump decides more than a value, so it is a branch.
    fn jump_over(&mut self, exprs: &[&Expr]) -> u32 {
        if exprs.iter().all(|expr| self.harmless(expr)) {
            self.jump(Op::JumpIfFalse)
        } else {
            self.branch()
        }
    }

    /// Whether an expression can be evaluated anywhere: it neither fails nor chooses.
    fn harmless(&self, expr: &Expr) -> bool {
        let mut harmless = true;
        expr.walk(&mut |e| {
            harmless &= match &e.kind {
                ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, _, divisor) => {
                    matches!(divisor.kind, ExprKind::Const(value) if value != 0)
                }
                ExprKind::LocalElement(local, index) => {
                    constant_index(index, self.local_range(*local)).is_some()
                }
                ExprKind::Element(var, index) => constant_index(index, self.range(var.0)).is_some(),
                ExprKind::Table(..) | ExprKind::Input | ExprKind::Choose(..) => false,
                _ => true,
            };
        });
        harmless
    }

    /// Returns one instruction for both operands and the operator, if both operands are locals.
    fn on_locals(&self, op: Op, a: &Expr, b: &Expr) -> Option<Op> {
        let slot = |e: &Expr| match e.kind {
            ExprKind::Local(local) => u16::try_from(self.slot(local)).ok(),
            _ => None,
        };
        match op {
            Op::Arith(op, ty) => Some(Op::ArithLocals(op, ty, [slot(a)?, slot(b)?])),
            _ => None,
        }
    }
}

fn binary(op: BinaryOp, ty: Type, operand: Type) -> Op {
    let unsigned = operand == Type::Unsigned(64);
    match op {
        BinaryOp::Add => Op::Arith(Arith::Add, ty),
        BinaryOp::Sub => Op::Arith(Arith::Sub, ty),
        BinaryOp::Mul => Op::Arith(Arith::Mul, ty),
        BinaryOp::Div => Op::Arith(Arith::Div, ty),
        BinaryOp::Rem => Op::Arith(Arith::Rem, ty),
        BinaryOp::BitAnd => Op::Arith(Arith::BitAnd, ty),
        BinaryOp::BitOr => Op::Arith(Arith::BitOr, ty),
        BinaryOp::BitXor => Op::Arith(Arith::BitXor, ty),
        BinaryOp::Shl => Op::Arith(Arith::Shl, ty),
        BinaryOp::Shr => Op::Arith(Arith::Shr, ty),
        BinaryOp::Eq => Op::Compare(Compare::Eq, unsigned),
        BinaryOp::Ne => Op::Compare(Compare::Ne, unsigned),
        BinaryOp::Lt => Op::Compare(Compare::Lt, unsigned),
        BinaryOp::Le => Op::Compare(Compare::Le, unsigned),
        BinaryOp::Gt => Op::Compare(Compare::Gt, unsigned),
        BinaryOp::Ge => Op::Compare(Compare::Ge, unsigned),
        BinaryOp::And | BinaryOp::Or => unreachable!("compiled to jumps"),
    }
}

/// Whether evaluating a local expression can fail. Overflow of an `int` is not a failure here.
fn can_fail(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |e| {
        found |= matches!(
            e.kind,
            ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, ..)
                | ExprKind::LocalElement(..)
                | ExprKind::Table(..)
        );
    });
    found
}
