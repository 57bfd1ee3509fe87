//! Checks expressions and gives them types. A literal has no type at first (`Ty::Literal`) and
//! takes the type of its context: in `x + 1` the type of `x`. Operators on constants are folded
//! (`fold.rs`).

use super::body::{BodyChecker, Meaning};
use super::records::Declared;
use super::types::{Ty, Typed, is_integer, is_machine, numeric, range, show, sign, stored};
use super::{ConstantValue, ExpectedName, Global, fold};
use crate::check::hir::{BinaryOp, Expr, ExprKind, Local, Type, UnaryOp};
use crate::check::temporal::NamedLocal;
use crate::syntax::ast::{self, Name};
use crate::syntax::parser::foreign_value;
use mazurka_diagnostics::{Diagnostic, Span};

/// Whether `choose` and `input` are allowed in an expression.
#[derive(Clone, Copy)]
enum Choices {
    Allowed,
    /// Not allowed in this kind of place.
    NotIn(&'static str),
}

/// A binary operator with its place in the source.
#[derive(Clone, Copy)]
struct Operator {
    op: BinaryOp,
    at: Span,
}

impl<'s> BodyChecker<'_, 's> {
    /// Checks an expression on the right of `:=` or `let`, or an argument.
    pub(super) fn value(&mut self, expr: &ast::Expr<'s>) -> Typed {
        self.expr(expr, Choices::Allowed)
    }

    /// Checks an expression in a place where `choose` and `input` are not allowed.
    pub(super) fn expr_in(&mut self, expr: &ast::Expr<'s>, place: &'static str) -> Typed {
        self.expr(expr, Choices::NotIn(place))
    }

    /// Checks a value of a given type. `None` means that the type is unknown because of an earlier
    /// mistake.
    pub(super) fn value_of_type(&mut self, expr: &ast::Expr<'s>, ty: Option<Type>) -> Expr {
        let typed = self.value(expr);
        match ty {
            Some(ty) => self.coerce(typed, ty),
            None => typed.expr,
        }
    }

    /// Checks a condition. `place` names its place in messages, as in "`while`".
    pub(super) fn condition(&mut self, expr: &ast::Expr<'s>, place: &'static str) -> Expr {
        let typed = self.expr_in(expr, place);
        self.truth(typed, place)
    }

    /// Returns the expression, and reports it if it is not a truth value.
    pub(super) fn truth(&mut self, typed: Typed, place: &str) -> Expr {
        if !matches!(typed.ty, Ty::Known(Type::Bool) | Ty::Poison) {
            let text = self.c.noun(typed.ty);
            let help = match typed.ty {
                Ty::Known(ty) if is_integer(ty) => "compare it: `… != 0`",
                _ => "write `true` or `false`, or compare",
            };
            self.report(
                Diagnostic::new(
                    "M0303",
                    typed.expr.span,
                    format!("{place} needs a condition"),
                )
                .label(format!("expected a `bool`, found {text}"))
                .help(help),
            );
        }
        typed.expr
    }

    /// Checks an index, of any integer type.
    pub(super) fn index(&mut self, expr: &ast::Expr<'s>) -> Expr {
        let typed = self.expr_in(expr, "an index");
        match typed.ty {
            Ty::Known(ty) if is_integer(ty) => typed.expr,
            Ty::Poison => typed.expr,
            Ty::Literal => self.coerce(typed, Type::Int),
            ty => {
                let text = self.c.noun(ty);
                self.report(
                    Diagnostic::new("M0312", typed.expr.span, "an index is a number")
                        .label(format!("expected a number, found {text}"))
                        .help("elements are numbered from 0"),
                );
                typed.expr
            }
        }
    }

    fn node(&mut self, kind: ExprKind, ty: Type, span: Span) -> Expr {
        self.c.grow(1, span);
        Expr { kind, ty, span }
    }

    /// Checks a local of a process, in a temporal property.
    pub(super) fn local_of(&mut self, named: &NamedLocal<'_, 's>, index: Option<Expr>) -> Typed {
        let span = named.span;
        let Some(id) = self.watched_local(named) else {
            return self.poison(span);
        };
        let Local { ty, len, .. } = self.frame.locals[id.0 as usize].clone();
        match (len, index) {
            (None, None) => self.known(ExprKind::Local(id), ty, span),
            (Some(_), Some(index)) => {
                self.known(ExprKind::LocalElement(id, Box::new(index)), ty, span)
            }
            (Some(len), None) => {
                self.array_without_index(named.local, len);
                self.poison(span)
            }
            (None, Some(_)) => {
                self.scalar_with_index(named.local);
                self.poison(span)
            }
        }
    }

    pub(super) fn poison(&mut self, span: Span) -> Typed {
        let expr = self.node(ExprKind::Const(0), Type::Int, span);
        let ty = Ty::Poison;
        Typed { expr, ty }
    }

    fn known(&mut self, kind: ExprKind, ty: Type, span: Span) -> Typed {
        let expr = self.node(kind, ty, span);
        let ty = Ty::Known(ty);
        Typed { expr, ty }
    }

    /// Makes the node of an operator whose operands have types, and folds it if they are constants.
    fn folded(&mut self, kind: ExprKind, ty: Type, span: Span) -> Typed {
        let mut typed = self.known(kind, ty, span);
        if let Some(value) = fold::settled(&typed.expr) {
            typed.expr.kind = ExprKind::Const(value);
        }
        typed
    }

    /// Makes the node of an operator over literals only, which has no type yet.
    fn literal(&mut self, kind: ExprKind, span: Span) -> Typed {
        let expr = self.node(kind, Type::Int, span);
        let ty = Ty::Literal;
        Typed { expr, ty }
    }

    pub(super) fn constant(&mut self, value: ConstantValue, span: Span) -> Typed {
        match value {
            ConstantValue::Member(id, value) => {
                self.known(ExprKind::Const(value), Type::Enum(id), span)
            }
            ConstantValue::Bool(value) => {
                self.known(ExprKind::Const(value.into()), Type::Bool, span)
            }
            ConstantValue::Int(value) => match i64::try_from(value) {
                Ok(value) => self.literal(ExprKind::Const(value), span),
                // Only `u64` is large enough.
                Err(_) => self.known(ExprKind::Const(stored(value)), Type::Unsigned(64), span),
            },
        }
    }

    fn expr(&mut self, expr: &ast::Expr<'s>, choices: Choices) -> Typed {
        let span = expr.span;
        if self.c.full {
            return self.poison(span);
        }
        match &expr.kind {
            ast::ExprKind::Poison => self.poison(span),
            ast::ExprKind::Int(value) => self.constant(ConstantValue::Int((*value).into()), span),
            ast::ExprKind::Bool(value) => self.constant(ConstantValue::Bool(*value), span),
            ast::ExprKind::Name(name) => self.name(*name, span),
            ast::ExprKind::Index(name, index) => self.element(*name, index, span),
            ast::ExprKind::Path(name, selectors) => self.path(*name, selectors, span),
            ast::ExprKind::Record(name, fields) => {
                for (_, value) in fields {
                    self.expr(value, choices);
                }
                self.record_as_value(*name);
                self.poison(span)
            }
            ast::ExprKind::Quantified(quantified) => self.quantified(quantified, span),
            ast::ExprKind::Match(value, cases) => self.match_expr(value, cases, span),
            ast::ExprKind::LocalOf {
                process,
                instance,
                local,
                index,
            } => {
                let index = index.as_ref().map(|index| self.index(index));
                let named = NamedLocal {
                    process: *process,
                    instance: Some(instance),
                    local: *local,
                    span,
                };
                self.local_of(&named, index)
            }
            ast::ExprKind::Operation { .. } => self.operation_as_value(expr),
            ast::ExprKind::Call(name, args) => match self.function_named(*name) {
                Some(id) => self.call_function(id, *name, args, span),
                None => {
                    if let Some(length) = self.channel_length(*name, args, span) {
                        return length;
                    }
                    for arg in args {
                        self.expr(arg, choices);
                    }
                    self.call_as_value(*name, span)
                }
            },
            ast::ExprKind::Unary(op, inner) => self.unary(*op, inner, span, choices),
            ast::ExprKind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), _, left, right)
                if self.struct_of(left).or(self.struct_of(right)).is_some() =>
            {
                self.same_records([left, right], *op == BinaryOp::Eq, span)
            }
            ast::ExprKind::Binary(op, at, left, right) => {
                let left = self.expr(left, choices);
                let right = self.expr(right, choices);
                let operator = Operator { op: *op, at: *at };
                self.binary(operator, left, right, span)
            }
            ast::ExprKind::If(test, then, other) => {
                let test = self.expr(test, choices);
                let test = self.truth(test, "`if`");
                let then = self.expr(then, choices);
                let other = self.expr(other, choices);
                self.conditional(test, then, other, span)
            }
            ast::ExprKind::Input(ty) => {
                if self.choice_forbidden("input", span, choices) {
                    return self.poison(span);
                }
                match ty {
                    None => self.known(ExprKind::Input, Type::Signed(32), span),
                    Some(ty) => self.input(ty, span),
                }
            }
            ast::ExprKind::Choose(from, to) => {
                let from = self.expr(from, choices);
                let to = self.expr(to, choices);
                if self.choice_forbidden("choose", span, choices) {
                    return self.poison(span);
                }
                let Some((from, to, ty)) = self.unify_numbers(from, to, span, "choose") else {
                    return self.poison(span);
                };
                let kind = ExprKind::Choose(Box::new(from), Box::new(to));
                match ty {
                    Some(ty) => self.known(kind, ty, span),
                    None => self.literal(kind, span),
                }
            }
        }
    }

    fn choice_forbidden(&mut self, word: &str, span: Span, choices: Choices) -> bool {
        let Choices::NotIn(place) = choices else {
            return false;
        };
        let example = match word {
            "choose" => "let v = choose(a..b)",
            _ => "let v = input()",
        };
        let help = match place {
            "a constant"
            | "an initial value"
            | "the size of an array"
            | "the range of a process"
            | "the bound of a loop" => {
                "leave out `=` for a symbolic initial value, or use `let` in a process".to_owned()
            }
            "an invariant" | "`ensures`" | "`requires`" | "a temporal property" => {
                "properties are about shared variables: assign it to one in a process".to_owned()
            }
            _ => format!("write `{example};` before, and use `v` here"),
        };
        self.report(
            Diagnostic::new("M0403", span, format!("`{word}` cannot be used in {place}"))
                .label("only right of `:=` or `let`, or in arguments")
                .help(help),
        );
        true
    }

    fn input(&mut self, ty: &ast::TypeExpr<'s>, span: Span) -> Typed {
        self.no_atomic(ty);
        let declared = self.c.known_type(ty);
        if !ty.dims.is_empty() {
            self.report(
                Diagnostic::new("M0306", ty.span, "an input is one value, not an array")
                    .label("expected a type without size")
                    .help("read the elements one by one"),
            );
            return self.poison(span);
        }
        let plain = matches!(ty.base, ast::Base::Plain(_));
        match declared.plain() {
            Some(base) if plain => self.known(ExprKind::Input, base, span),
            _ => {
                if declared != Declared::Poison {
                    self.report(
                        Diagnostic::new("M0306", ty.span, "an input is a number or a `bool`")
                            .label("expected `bool`, `int`, `i8` … `u64`")
                            .help("read a number, and `assume` that it is in the range"),
                    );
                }
                self.poison(span)
            }
        }
    }

    pub(super) fn name(&mut self, name: Name<'s>, span: Span) -> Typed {
        let meaning = self.resolve(name, ExpectedName::Value);
        let (kind, ty, len) = match meaning {
            Meaning::Poison => return self.poison(span),
            Meaning::Param(value) => return self.constant(ConstantValue::Int(value.into()), span),
            Meaning::Const(value) => return self.constant(value, span),
            Meaning::Local(id) => {
                let local = &self.frame.locals[id.0 as usize];
                if local.ty == Type::Process {
                    self.handle_as_value(name);
                    return self.poison(span);
                }
                (ExprKind::Local(id), local.ty, local.len)
            }
            Meaning::Var(id) => {
                let var = &self.c.program.vars[id.0 as usize];
                (ExprKind::Shared(id), var.ty, var.len)
            }
            Meaning::Lock(_) => {
                let help = format!(
                    "write `lock({0})` or `unlock({0})`; a lock has no value",
                    name.text
                );
                self.wrong_kind(name, meaning, "a value", help);
                return self.poison(span);
            }
            Meaning::Object(_) => {
                let help =
                    "it has operations but no value: keep the value that you need in a variable";
                self.wrong_kind(name, meaning, "a value", help.to_owned());
                return self.poison(span);
            }
            Meaning::Proc(_) => {
                let help = "a procedure gives no value: let it assign a shared variable".to_owned();
                self.wrong_kind(name, meaning, "a value", help);
                return self.poison(span);
            }
            Meaning::Alias(at) => {
                let alias = &mut self.aliases[at as usize];
                alias.uses += 1;
                self.c.grow(alias.size, span);
                return if self.c.full {
                    self.poison(span)
                } else {
                    self.aliases[at as usize].typed.clone()
                };
            }
            Meaning::Function => {
                let help = format!("call it: `{}(…)`", name.text);
                self.wrong_kind(name, meaning, "a value", help);
                return self.poison(span);
            }
            Meaning::Table(id) => {
                let len = self.c.tables[id as usize].table.values.len() as u32;
                self.array_without_index(name, len);
                return self.poison(span);
            }
            Meaning::Record(_) => {
                let help = format!("name a field: `{}.f`; `==` compares all of them", name.text);
                self.wrong_kind(name, meaning, "a single value", help);
                return self.poison(span);
            }
        };
        if let Some(len) = len {
            self.array_without_index(name, len);
            return self.poison(span);
        }
        self.known(kind, ty, span)
    }

    /// Returns the function with this name, if there is one.
    fn function_named(&self, name: Name<'s>) -> Option<u32> {
        match self.c.globals.get(name.text) {
            Some((Global::Function(id), _)) => Some(*id),
            _ => None,
        }
    }

    /// Makes a binary operator that is not written in the source.
    pub(super) fn binary_at(&mut self, op: BinaryOp, left: Typed, right: Typed, at: Span) -> Typed {
        self.binary(Operator { op, at }, left, right, at)
    }

    pub(super) fn handle_as_value(&mut self, name: Name<'s>) {
        self.report(
            Diagnostic::new(
                "M0310",
                name.span,
                format!("`{}` is a process, not a value", name.text),
            )
            .label("expected a value")
            .help(format!(
                "a process can only be joined: `join {}`",
                name.text
            )),
        );
    }

    fn call_as_value(&mut self, name: Name<'s>, span: Span) -> Typed {
        let name = name.text;
        // A procedure of the file may have the name of a function of another language.
        let foreign = if self.c.globals.contains_key(name) {
            None
        } else {
            foreign_value(name)
        };
        let help = foreign.map_or_else(
            || format!("let `{name}` write a variable `r`, and read that in the same step: `atomic {{ {name}(…); x := r }}`"),
            str::to_owned,
        );
        self.report(
            Diagnostic::new("M0115", span, "a call is a statement, not a value")
                .label("expected a value")
                .help(help),
        );
        self.poison(span)
    }

    fn unary(&mut self, op: UnaryOp, inner: &ast::Expr<'s>, span: Span, choices: Choices) -> Typed {
        // The smallest number has no positive counterpart of the same width.
        if op == UnaryOp::Neg
            && let ast::ExprKind::Int(value) = inner.kind
            && value == i64::MIN.unsigned_abs()
        {
            return self.constant(ConstantValue::Int(i64::MIN.into()), span);
        }
        let inner = self.expr(inner, choices);
        let operand = inner.expr.span;
        match (op, inner.ty) {
            (_, Ty::Poison) => self.poison(span),
            (UnaryOp::Not, Ty::Known(Type::Bool)) => {
                self.folded(ExprKind::Unary(op, Box::new(inner.expr)), Type::Bool, span)
            }
            (UnaryOp::Neg, Ty::Known(ty)) if is_integer(ty) => {
                self.folded(ExprKind::Unary(op, Box::new(inner.expr)), ty, span)
            }
            (UnaryOp::Neg, Ty::Literal) => match inner.expr.kind {
                ExprKind::Const(value) if value != i64::MIN => {
                    self.literal(ExprKind::Const(-value), span)
                }
                _ => self.literal(ExprKind::Unary(op, Box::new(inner.expr)), span),
            },
            (UnaryOp::BitNot, Ty::Known(ty)) if is_machine(ty) => {
                self.folded(ExprKind::Unary(op, Box::new(inner.expr)), ty, span)
            }
            (UnaryOp::BitNot, Ty::Literal) => {
                self.literal(ExprKind::Unary(op, Box::new(inner.expr)), span)
            }
            (UnaryOp::BitNot, Ty::Known(Type::Int)) => {
                self.without_width("~", operand);
                self.poison(span)
            }
            (UnaryOp::BitNot, ty) => {
                self.wrong_operand("~", ty, operand, false);
                self.poison(span)
            }
            (UnaryOp::Not, ty) => {
                self.wrong_operand("!", ty, operand, true);
                self.poison(span)
            }
            (UnaryOp::Neg, ty) => {
                self.wrong_operand("-", ty, operand, false);
                self.poison(span)
            }
        }
    }

    /// Reports an operand of a wrong type. If `truth`, the operator takes truth values; otherwise
    /// it takes numbers.
    fn wrong_operand(&mut self, sign: &str, ty: Ty, operand: Span, truth: bool) {
        let (needs, help) = match (truth, sign) {
            (true, "!") => ("a truth value", "compare it first: `… == 0`"),
            (true, _) => ("truth values", "compare it first: `… != 0`"),
            (false, _) => (
                "numbers",
                "use `&&`, `||`, `!`, `==` or `!=` on truth values",
            ),
        };
        let found = self.c.noun(ty);
        self.report(
            Diagnostic::new("M0304", operand, format!("`{sign}` needs {needs}"))
                .label(format!("found {found}"))
                .help(help),
        );
    }

    /// Reports a bitwise operation on a number without a width.
    fn without_width(&mut self, sign: &str, at: Span) {
        self.report(
            Diagnostic::new(
                "M0315",
                at,
                format!("`{sign}` needs numbers of a fixed width"),
            )
            .label("an `int` has no width")
            .help("declare it `u8`, `i32` or the like; `&&`, `||` and `!` are for truth values"),
        );
    }

    /// Joins two operands by an operator. `span` is the place of the whole expression.
    fn binary(&mut self, operator: Operator, left: Typed, right: Typed, span: Span) -> Typed {
        let Operator { op, at } = operator;
        match op {
            BinaryOp::And | BinaryOp::Or => {
                for side in [&left, &right] {
                    if !matches!(side.ty, Ty::Known(Type::Bool) | Ty::Poison) {
                        self.wrong_operand(sign(op), side.ty, side.expr.span, true);
                        return self.poison(span);
                    }
                }
                let kind = ExprKind::Binary(op, Box::new(left.expr), Box::new(right.expr));
                self.folded(kind, Type::Bool, span)
            }
            BinaryOp::Eq | BinaryOp::Ne
                if left.ty == Ty::Known(Type::Bool) && right.ty == left.ty =>
            {
                let kind = ExprKind::Binary(op, Box::new(left.expr), Box::new(right.expr));
                self.folded(kind, Type::Bool, span)
            }
            _ if fold::compares(op) => {
                let equality = matches!(op, BinaryOp::Eq | BinaryOp::Ne);
                let unified = if equality {
                    self.unify(left, right, at, sign(op))
                } else {
                    self.unify_numbers(left, right, at, sign(op))
                };
                let Some((left, right, ty)) = unified else {
                    // The result of a comparison is a truth value, whatever its operands are.
                    let expr = self.node(ExprKind::Const(0), Type::Bool, span);
                    let ty = Ty::Known(Type::Bool);
                    return Typed { expr, ty };
                };
                let (left, right) = match ty {
                    Some(_) => (left, right),
                    None => (self.settle(left, Type::Int), self.settle(right, Type::Int)),
                };
                let kind = ExprKind::Binary(op, Box::new(left), Box::new(right));
                self.folded(kind, Type::Bool, span)
            }
            _ => {
                let Some((left, right, ty)) = self.unify_numbers(left, right, at, sign(op)) else {
                    return self.poison(span);
                };
                match ty {
                    Some(Type::Int) if op.is_bitwise() => {
                        self.without_width(sign(op), at);
                        self.poison(span)
                    }
                    Some(ty) => {
                        let kind = ExprKind::Binary(op, Box::new(left), Box::new(right));
                        self.folded(kind, ty, span)
                    }
                    None => {
                        let kind = match fold::literals(op, &left, &right) {
                            Some(value) => ExprKind::Const(value),
                            None => ExprKind::Binary(op, Box::new(left), Box::new(right)),
                        };
                        self.literal(kind, span)
                    }
                }
            }
        }
    }

    pub(super) fn conditional(
        &mut self,
        test: Expr,
        then: Typed,
        other: Typed,
        span: Span,
    ) -> Typed {
        let Some((then, other, ty)) = self.unify(then, other, span, "if") else {
            return self.poison(span);
        };
        let kind = ExprKind::If(Box::new(test), Box::new(then), Box::new(other));
        match ty {
            Some(ty) => self.folded(kind, ty, span),
            None => {
                let mut typed = self.literal(kind, span);
                if let Some(value) = fold::settled(&typed.expr) {
                    typed.expr.kind = ExprKind::Const(value);
                }
                typed
            }
        }
    }

    /// Gives two numbers the same type. The type is `None` while both are literals. Reports
    /// operands whose types do not fit together.
    pub(super) fn unify_numbers(
        &mut self,
        left: Typed,
        right: Typed,
        at: Span,
        sign: &str,
    ) -> Option<(Expr, Expr, Option<Type>)> {
        for side in [&left, &right] {
            if let Ty::Known(ty) = side.ty
                && !is_integer(ty)
            {
                self.wrong_operand(sign, side.ty, side.expr.span, false);
                return None;
            }
        }
        self.unify(left, right, at, sign)
    }

    /// Gives two operands the same type.
    pub(super) fn unify(
        &mut self,
        left: Typed,
        right: Typed,
        at: Span,
        sign: &str,
    ) -> Option<(Expr, Expr, Option<Type>)> {
        match (left.ty, right.ty) {
            (Ty::Poison, _) | (_, Ty::Poison) => None,
            (Ty::Literal, Ty::Literal) => Some((left.expr, right.expr, None)),
            (Ty::Known(a), Ty::Known(b)) if a == b => Some((left.expr, right.expr, Some(a))),
            (Ty::Known(ty), Ty::Literal) if is_integer(ty) => {
                let right = self.settle(right.expr, ty);
                Some((left.expr, right, Some(ty)))
            }
            (Ty::Literal, Ty::Known(ty)) if is_integer(ty) => {
                let left = self.settle(left.expr, ty);
                Some((left, right.expr, Some(ty)))
            }
            (a, b) => {
                let pair = [a, b];
                let literal_for_bool =
                    pair.contains(&Ty::Literal) && pair.contains(&Ty::Known(Type::Bool));
                let (a, b) = (self.c.noun(a), self.c.noun(b));
                let message = match sign {
                    "if" => "both cases must have one type".to_owned(),
                    "choose" | "for" => "both bounds must have one type".to_owned(),
                    _ => format!("`{sign}` needs two values of one type"),
                };
                self.report(
                    Diagnostic::new("M0302", at, message)
                        .label(format!("{a} and {b}"))
                        .related(left.expr.span, format!("this is {a}"))
                        .related(right.expr.span, format!("this is {b}"))
                        .help(if literal_for_bool {
                            "write `true` or `false` for a truth value"
                        } else {
                            "there are no conversions: declare both with the same type"
                        }),
                );
                None
            }
        }
    }

    /// Converts a value to a given type; reports a value of another type.
    pub(super) fn coerce(&mut self, typed: Typed, ty: Type) -> Expr {
        let span = typed.expr.span;
        match typed.ty {
            Ty::Poison => typed.expr,
            Ty::Known(found) if found == ty => typed.expr,
            Ty::Literal if is_integer(ty) => self.settle(typed.expr, ty),
            Ty::Known(found) if is_integer(found) && is_integer(ty) => {
                if let ExprKind::Const(value) = typed.expr.kind {
                    // The literal is so large that only `u64` can hold it.
                    self.does_not_fit(numeric(value, found), ty, span);
                } else {
                    self.mismatch(typed.ty, ty, span);
                }
                typed.expr
            }
            found => {
                self.mismatch(found, ty, span);
                typed.expr
            }
        }
    }

    fn mismatch(&mut self, found: Ty, ty: Type, span: Span) {
        let (expected, found_text) = (self.c.noun(Ty::Known(ty)), self.c.noun(found));
        let help = match (found, ty) {
            (_, Type::Bool) => "write `true` or `false`, or compare: `… != 0`",
            (Ty::Known(Type::Bool), _) => "write `if … then 1 else 0`",
            _ => "there are no conversions: declare both with the same type",
        };
        self.report(
            Diagnostic::new(
                "M0301",
                span,
                format!("expected {expected}, found {found_text}"),
            )
            .label(format!("expected {expected}"))
            .help(help),
        );
    }

    fn does_not_fit(&mut self, value: i128, ty: Type, span: Span) {
        let (low, high) = range(ty);
        let name = show(ty);
        self.report(
            Diagnostic::new("M0305", span, format!("{value} does not fit `{name}`"))
                .label(format!("`{name}` holds {low} to {high}"))
                .help(match ty {
                    Type::Int => "only `u64` holds numbers of this size",
                    _ if value < 0 && low == 0 => "use a signed type",
                    _ => "use a wider type",
                }),
        );
    }

    /// Gives an integer type to an expression that is made of literals.
    pub(super) fn settle(&mut self, mut expr: Expr, ty: Type) -> Expr {
        self.settle_in_place(&mut expr, ty);
        expr
    }

    fn settle_in_place(&mut self, expr: &mut Expr, ty: Type) {
        expr.ty = ty;
        match &mut expr.kind {
            ExprKind::Const(value) => {
                let (low, high) = range(ty);
                let value = i128::from(*value);
                if !(low..=high).contains(&value) {
                    self.does_not_fit(value, ty, expr.span);
                }
                return;
            }
            ExprKind::Table(table, _) => {
                let (low, high) = range(ty);
                let outside = table.values.iter().copied().map(i128::from);
                let mut outside = outside.filter(|value| !(low..=high).contains(value));
                if let Some(value) = outside.next() {
                    self.does_not_fit(value, ty, expr.span);
                }
                return;
            }
            ExprKind::Unary(UnaryOp::BitNot, _) if ty == Type::Int => {
                return self.without_width("~", expr.span);
            }
            ExprKind::Binary(op, ..) if op.is_bitwise() && ty == Type::Int => {
                return self.without_width(sign(*op), expr.span);
            }
            ExprKind::Unary(_, inner) => self.settle_in_place(inner, ty),
            ExprKind::Binary(_, left, right)
            | ExprKind::Choose(left, right)
            | ExprKind::If(_, left, right) => {
                self.settle_in_place(left, ty);
                self.settle_in_place(right, ty);
            }
            _ => {}
        }
        if let Some(value) = fold::settled(expr) {
            expr.kind = ExprKind::Const(value);
        }
    }
}
