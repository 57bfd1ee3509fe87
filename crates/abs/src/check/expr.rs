//! Checks and compiles pure expressions: those without effects. The code of an expression leaves
//! its value on the stack. A literal, a constructor or a branch may take its type from the wanted
//! type of the context.

use mazurka_diagnostics::Diagnostic;
use mazurka_diagnostics::Span;

use super::calls::Applied;
use super::{Checker, LocalTy};
use crate::code::Op;
use crate::syntax::ast::{Binary, Expr, ExprKind, Name, Pattern, Unary};
use crate::types::{Head, Ty};
use crate::value::Value;

impl<'a> Checker<'a> {
    /// Compiles an expression that must have a given type.
    pub(super) fn expr_as(&mut self, expr: &'a Expr, wanted: &Ty) {
        let ty = self.expr(expr, Some(wanted));
        self.fit(&ty, wanted, expr.span);
    }

    /// Compiles an expression. The wanted type is a hint for its parts.
    pub(super) fn expr(&mut self, expr: &'a Expr, wanted: Option<&Ty>) -> Ty {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Int(value) => {
                self.emit_value(Value::integer(value.clone()), span);
                Ty::INT
            }
            ExprKind::Float(value) => {
                self.emit_value(Value::Float(*value), span);
                Ty::FLOAT
            }
            ExprKind::Text(text) => {
                self.emit_value(Value::text(text), span);
                Ty::TEXT
            }
            ExprKind::Template(parts) => {
                let mut count = 0;
                for (text, expr) in parts {
                    self.emit_value(Value::text(text), span);
                    count += 1;
                    if let Some(expr) = expr {
                        self.expr(expr, None);
                        count += 1;
                    }
                }
                self.emit(Op::Join(count), span);
                Ty::TEXT
            }
            ExprKind::Variable(name) => self.variable(name),
            ExprKind::Field(name) => match self.field(&name.text) {
                Some((at, ty)) => {
                    self.has_value(at, name);
                    self.emit(Op::Field(at), span);
                    ty
                }
                None => self.no_field(name),
            },
            ExprKind::This => match self.class_here() {
                Some(class) if class != 0 => {
                    self.emit(Op::This, span);
                    Ty::Made(Head::Class(class), Vec::new())
                }
                _ => {
                    let mistake = Diagnostic::new("A0231", span, "there is no `this` here")
                        .label("neither functions nor the main block belong to an object")
                        .help("move this into a method of a class");
                    self.report(mistake);
                    Ty::Wrong
                }
            },
            ExprKind::Null => {
                self.emit_value(Value::Null, span);
                Ty::NULL
            }
            ExprKind::Destiny => {
                self.emit(Op::Destiny, span);
                if self.body().may_wait {
                    Ty::DESTINY
                } else {
                    let mistake = Diagnostic::new("A0231", span, "there is no `destiny` here")
                        .label("only tasks have a future")
                        .help("use it in a method");
                    self.report(mistake);
                    Ty::Wrong
                }
            }
            ExprKind::Construct(name, args) => self.construct(Applied { name, args, span }, wanted),
            ExprKind::Call(name, args) => self.call(Applied { name, args, span }, wanted),
            ExprKind::Partial(name, functions, args) => {
                self.partial(Applied { name, args, span }, functions, wanted)
            }
            ExprKind::Variadic(name, args) => self.variadic(Applied { name, args, span }, wanted),
            ExprKind::Unary(operator, operand) => {
                match operator {
                    Unary::Not => self.expr_as(operand, &Ty::BOOL),
                    Unary::Negate => {
                        let ty = self.expr(operand, None);
                        self.number(&ty, operand.span);
                        self.emit(Op::Unary(*operator), span);
                        return ty;
                    }
                }
                self.emit(Op::Unary(*operator), span);
                Ty::BOOL
            }
            ExprKind::Binary(operator, left, right) => self.binary(*operator, left, right, span),
            ExprKind::If(condition, yes, no) => {
                self.expr_as(condition, &Ty::BOOL);
                let otherwise = self.emit_jump(Op::JumpUnless(0), span);
                let result = self.branch_result(wanted);
                self.expr_as(yes, &result);
                let end = self.emit_jump(Op::Jump(0), span);
                self.set_jump_target(otherwise);
                self.expr_as(no, &result);
                self.set_jump_target(end);
                result
            }
            ExprKind::Case(value, branches) => self.case(value, branches, wanted, span),
            ExprKind::Let(ty, name, value, body) => {
                let (module, generics) = (self.module_here(), self.generics());
                let ty = self.ty(module, &generics, ty);
                self.expr_as(value, &ty);
                let depth = self.scope_depth();
                let slot = self.shadow_local(name, LocalTy::Value(ty));
                self.emit(Op::Set(slot), span);
                let result = self.expr(body, wanted);
                self.leave_scope(depth);
                result
            }
            ExprKind::As(object, name) => {
                let interface = self.object_and_interface(object, name);
                self.emit(Op::Cast(interface.unwrap_or(0)), span);
                let head = interface.map(Head::Interface);
                self.unknowns.nulls.extend(head);
                interface.map_or(Ty::Wrong, Ty::interface)
            }
            ExprKind::Implements(object, name) => {
                let interface = self.object_and_interface(object, name);
                self.emit(Op::Implements(interface.unwrap_or(0)), span);
                Ty::BOOL
            }
            ExprKind::Original(..) => {
                let mistake = Diagnostic::new("A0254", span, "there is no `original` here")
                    .label("only a method that modifies another has one")
                    .help("call a method of `this`");
                self.report(mistake);
                Ty::Wrong
            }
            ExprKind::New { .. }
            | ExprKind::Sync(..)
            | ExprKind::Async(..)
            | ExprKind::AwaitCall(..)
            | ExprKind::Get(_) => {
                let mistake = Diagnostic::new("A0230", span, "this can only stand alone")
                    .label(
                        "`new`, calls of methods, `.get` and `await` are not parts of expressions",
                    )
                    .help("give it a variable of its own in a statement before");
                self.report(mistake);
                Ty::Wrong
            }
        }
    }

    pub(super) fn generics(&self) -> Vec<String> {
        self.bodies
            .last()
            .map_or_else(Vec::new, |body| body.generics.clone())
    }

    /// Returns the type that all branches must fit. This is the wanted type if there is one, and
    /// not the type of the first branch, which may be narrower.
    fn branch_result(&mut self, wanted: Option<&Ty>) -> Ty {
        match wanted {
            Some(ty) => ty.clone(),
            None => self.unknowns.fresh(),
        }
    }

    fn object_and_interface(&mut self, object: &'a Expr, name: &Name) -> Option<u32> {
        let ty = self.expr(object, None);
        self.fit(&ty, &Ty::interface(0), object.span);
        let module = self.module_here();
        self.interface_named(module, name)
    }

    fn variable(&mut self, name: &Name) -> Ty {
        if let Some((slot, ty)) = self.local(&name.text) {
            self.emit(Op::Local(slot), name.span);
            return match ty {
                LocalTy::Value(ty) => ty,
                LocalTy::Function(_) => {
                    let mistake = Diagnostic::new(
                        "A0232",
                        name.span,
                        format!("`{}` is a function", name.text),
                    )
                    .label("functions are not values")
                    .help("call it, or pass it on in the first brackets of a partial function");
                    self.report(mistake);
                    Ty::Wrong
                }
            };
        }
        if let Some((at, ty)) = self.field(&name.text) {
            self.has_value(at, name);
            self.emit(Op::Field(at), name.span);
            return ty;
        }
        let mut names: Vec<String> = self.bodies.last().map_or_else(Vec::new, |body| {
            body.scope.iter().map(|local| local.name.clone()).collect()
        });
        if let Some(class) = self.class_here() {
            let fields = &self.classes[class as usize].fields;
            names.extend(fields.iter().map(|(name, _)| name.clone()));
        }
        if self
            .full(self.module_here(), &name.text)
            .is_some_and(|full| self.function_numbers.contains_key(&full))
        {
            let mistake =
                Diagnostic::new("A0232", name.span, format!("`{}` is a function", name.text))
                    .label("functions are not values")
                    .help(format!("call it: `{}(…)`", name.text));
            self.report(mistake);
            return Ty::Wrong;
        }
        self.unknown("A0207", "variable", name, names.iter());
        Ty::Wrong
    }

    /// Reports a field that is used before it has its first value.
    fn has_value(&mut self, at: u32, name: &Name) {
        if self.body().fields.is_some_and(|first| at >= first) {
            let message = format!("field `{}` has no value yet", name.text);
            let mistake = Diagnostic::new("A0246", name.span, message)
                .label("fields get their first values from top to bottom")
                .help("move its declaration up, or assign in the init block");
            self.report(mistake);
        }
    }

    pub(super) fn no_field(&mut self, name: &Name) -> Ty {
        let names: Vec<String> = match self.class_here() {
            Some(class) => {
                let fields = &self.classes[class as usize].fields;
                fields.iter().map(|(name, _)| name.clone()).collect()
            }
            None => Vec::new(),
        };
        self.unknown("A0208", "field", name, names.iter());
        Ty::Wrong
    }

    /// Reports a type that is not a number.
    fn number(&mut self, ty: &Ty, span: Span) {
        let ty = self.unknowns.shallow(ty);
        let number = match ty {
            Ty::Made(head, _) => matches!(head, Head::Int | Head::Rat | Head::Float),
            Ty::Unknown(_) => self.unknowns.fits(&Ty::INT, &ty, &self.inheritance),
            Ty::Wrong => true,
            Ty::Parameter(_) => false,
        };
        if !number {
            let shown = self.show(&ty);
            let mistake =
                Diagnostic::new("A0221", span, format!("expected a number, found `{shown}`"))
                    .label(format!("this is of type `{shown}`"));
            self.report(mistake);
        }
    }

    fn binary(&mut self, operator: Binary, left: &'a Expr, right: &'a Expr, span: Span) -> Ty {
        match operator {
            Binary::And | Binary::Or | Binary::Implies => {
                // The right operand is evaluated only if needed: `a && b` is compiled as
                // `if a then b else False`.
                self.expr_as(left, &Ty::BOOL);
                if operator == Binary::Or {
                    self.emit(Op::Unary(Unary::Not), span);
                }
                let short = self.emit_jump(Op::JumpUnless(0), span);
                self.expr_as(right, &Ty::BOOL);
                let end = self.emit_jump(Op::Jump(0), span);
                self.set_jump_target(short);
                self.emit_value(Value::Bool(operator != Binary::And), span);
                self.set_jump_target(end);
                Ty::BOOL
            }
            Binary::Equivalent => {
                self.expr_as(left, &Ty::BOOL);
                self.expr_as(right, &Ty::BOOL);
                self.emit(Op::Binary(Binary::Equal), span);
                Ty::BOOL
            }
            Binary::Equal
            | Binary::Unequal
            | Binary::Less
            | Binary::LessEqual
            | Binary::Greater
            | Binary::GreaterEqual => {
                let one = self.expr(left, None);
                let other = self.expr(right, Some(&one));
                self.comparable(&one, &other, span);
                self.emit(Op::Binary(operator), span);
                Ty::BOOL
            }
            Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Modulo => {
                let one = self.expr(left, None);
                let other = self.expr(right, None);
                let (a, b) = (self.unknowns.shallow(&one), self.unknowns.shallow(&other));
                self.emit(Op::Binary(operator), span);
                if operator == Binary::Add && (a == Ty::TEXT || b == Ty::TEXT) {
                    self.fit(&one, &Ty::TEXT, left.span);
                    self.fit(&other, &Ty::TEXT, right.span);
                    return Ty::TEXT;
                }
                self.number(&one, left.span);
                self.number(&other, right.span);
                let is = |head: Head| [&a, &b].iter().any(|ty| **ty == Ty::Made(head, Vec::new()));
                match () {
                    () if a == Ty::Wrong || b == Ty::Wrong => Ty::Wrong,
                    () if is(Head::Float) => Ty::FLOAT,
                    () if is(Head::Rat) || operator == Binary::Divide => Ty::RAT,
                    () => Ty::INT,
                }
            }
        }
    }

    fn comparable(&mut self, one: &Ty, other: &Ty, span: Span) {
        // A comparison with `null` does not count as a use of `null` as a value of the type.
        let nulls = self.unknowns.nulls.clone();
        let either = self.unknowns.fits(other, one, &self.inheritance)
            || self.unknowns.fits(one, other, &self.inheritance);
        self.unknowns.nulls = nulls;
        let object = |checker: &Self, ty: &Ty| {
            matches!(
                checker.unknowns.shallow(ty),
                Ty::Made(Head::Interface(_) | Head::Class(_) | Head::Null, _)
            )
        };
        let number = |checker: &Self, ty: &Ty| {
            matches!(
                checker.unknowns.shallow(ty),
                Ty::Made(Head::Int | Head::Rat | Head::Float, _)
            )
        };
        let alike = (object(self, one) && object(self, other))
            || (number(self, one) && number(self, other));
        if !either && !alike {
            let (one, other) = (self.show(one), self.show(other));
            let mistake = Diagnostic::new(
                "A0226",
                span,
                format!("`{one}` and `{other}` cannot be compared"),
            )
            .label("two different types");
            self.report(mistake);
        }
    }

    fn case(
        &mut self,
        value: &'a Expr,
        branches: &'a [(Pattern, Expr)],
        wanted: Option<&Ty>,
        span: Span,
    ) -> Ty {
        let scrutinee = self.expr(value, None);
        let slot = self.slot();
        self.emit(Op::Set(slot), span);
        let result = self.branch_result(wanted);
        let mut ends = Vec::new();
        for (pattern, branch) in branches {
            let depth = self.scope_depth();
            let mut fails = Vec::new();
            self.pattern(pattern, slot, &scrutinee, &mut fails);
            self.expr_as(branch, &result);
            ends.push(self.emit_jump(Op::Jump(0), span));
            self.leave_scope(depth);
            self.set_jump_targets(fails);
        }
        let patterns = branches.iter().map(|(pattern, _)| pattern);
        let last = self.otherwise(patterns, &scrutinee);
        self.emit(last, span);
        self.set_jump_targets(ends);
        result
    }
}
