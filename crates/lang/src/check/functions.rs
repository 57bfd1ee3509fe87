//! Functions: `fn max(a: int, b: int): int { if a > b then a else b }`.
//!
//! The checker replaces each call by the body of the function, with the arguments in place of the
//! parameters, so the checked program has no functions. If the body names a parameter twice, the
//! argument is read twice. With `atomicity access` other processes may run between the two reads,
//! so the checker then refuses a call whose argument reads shared variables.

use std::rc::Rc;

use mazurka_diagnostics::{Diagnostic, Span};

use super::Checker;
use super::body::BodyChecker;
use super::types::{Ty, Typed};
use crate::check::hir::{Atomicity, Expr, ExprKind, Type};
use crate::syntax::ast::{self, Function, Name};

/// Limit on the nesting of function calls. It limits the depth of expressions, which are walked
/// recursively.
const MAX_CALLS: usize = 32;

/// Limit on the depth of an expanded expression, so that no recursive walk overflows the stack.
const MAX_DEPTH: usize = 256;

/// A function.
pub(super) struct Inlined<'s> {
    pub function: Rc<Function<'s>>,
    /// Whether its declaration has no mistakes.
    pub valid: bool,
}

impl<'s> Checker<'s> {
    /// Checks the declaration of a function, independently of its calls.
    pub(super) fn function(&mut self, id: u32) {
        let function = Rc::clone(&self.functions[id as usize].function);
        let before = self.diagnostics.len();
        let mut types = Vec::new();
        for (name, ty) in &function.params {
            types.push(self.single_value(*name, ty));
        }
        self.single_value(function.name, &function.result);
        let mut body = BodyChecker::new(self);
        body.inlining.push(id);
        for ((name, _), ty) in function.params.iter().zip(types) {
            body.declare(*name, ty, Vec::new());
        }
        body.expand(&function);
        self.functions[id as usize].valid = self.diagnostics.len() == before;
    }

    /// Returns the type of a parameter or a result; reports a type whose values are not single
    /// values.
    fn single_value(&mut self, name: Name<'s>, ty: &ast::TypeExpr<'s>) -> Option<Type> {
        let declared = self.known_type(ty);
        let mut body = BodyChecker::new(self);
        body.no_atomic(ty);
        let plain = declared.plain();
        let is_range = matches!(ty.base, ast::Base::Range(..));
        let is_struct = matches!(declared, super::records::Declared::Struct(_));
        if !ty.dims.is_empty() {
            body.array_parameter(name, ty.span);
        } else if is_range || is_struct {
            body.report(
                Diagnostic::new("M0306", ty.span, "a function takes and gives single values")
                    .label("expected a number, a `bool` or an `enum`")
                    .help("pass the fields one by one; for a range write `int`"),
            );
        }
        plain
    }
}

impl<'s> BodyChecker<'_, 's> {
    /// Checks the body of a function whose parameters are declared.
    fn expand(&mut self, function: &Function<'s>) -> Typed {
        for (name, value) in &function.lets {
            let value = self.expr_in(value, "a function");
            self.declare_alias(*name, value);
        }
        let result = self.c.declared(&function.result.base).plain();
        let value = self.expr_in(&function.value, "a function");
        match result {
            Some(ty) => {
                let expr = self.coerce(value, ty);
                let ty = Ty::Known(ty);
                Typed { expr, ty }
            }
            None => self.poison(function.value.span),
        }
    }

    /// Checks a call of a function as a value.
    pub(super) fn call_function(
        &mut self,
        id: u32,
        name: Name<'s>,
        args: &[ast::Expr<'s>],
        span: Span,
    ) -> Typed {
        let function = Rc::clone(&self.c.functions[id as usize].function);
        let mut values = Vec::with_capacity(args.len());
        for (at, arg) in args.iter().enumerate() {
            let value = self.expr_in(arg, "the argument of a function");
            let ty = function.params.get(at).map(|(_, ty)| &ty.base);
            let ty = ty.and_then(|base| self.c.declared(base).plain());
            values.push(match ty {
                Some(ty) if value.ty != Ty::Poison => Typed {
                    expr: self.coerce(value, ty),
                    ty: Ty::Known(ty),
                },
                _ => value,
            });
        }
        if args.len() != function.params.len() {
            let needs = function.params.len();
            self.report(
                Diagnostic::new(
                    "M0308",
                    span,
                    format!(
                        "`{}` takes {needs} arguments, found {}",
                        name.text,
                        args.len()
                    ),
                )
                .label(format!("expected {needs}"))
                .related(function.name.span, "declared here")
                .help("give one argument for each parameter"),
            );
            return self.poison(span);
        }
        if self.inlining.len() >= MAX_CALLS {
            let deep = format!("more than {MAX_CALLS} nested calls of functions");
            self.report(
                Diagnostic::new("M0407", span, "functions are nested too deeply")
                    .label(deep)
                    .help("write a `proc`, which is called when it runs"),
            );
            return self.poison(span);
        }
        if self.inlining.contains(&id) {
            self.report(
                Diagnostic::new("M0422", span, format!("`{}` calls itself", name.text))
                    .label("a call is replaced by the body of the function, so it would never end")
                    .help("write a `proc`, which may be recursive, and let it assign a variable"),
            );
            return self.poison(span);
        }
        let wrong = !self.c.functions[id as usize].valid;
        if wrong || values.iter().any(|value| value.ty == Ty::Poison) || self.c.full {
            return self.poison(span);
        }
        let names = self.take_names();
        self.inlining.push(id);
        let first = self.aliases.len();
        for ((param, _), value) in function.params.iter().zip(values) {
            self.declare_alias(*param, value);
        }
        let mut typed = self.expand(&function);
        self.inlining.pop();
        self.put_names(names);
        for at in first..self.aliases.len() {
            let uses = self.aliases[at].uses;
            let value = self.aliases[at].typed.expr.clone();
            self.refuse_repeated_reads(&value, uses);
        }
        self.aliases.truncate(first);
        self.label_as_written(&mut typed, span);
        typed
    }

    /// Gives an expanded expression the span of the call, so that the labels of steps show the call
    /// as written.
    pub(super) fn label_as_written(&mut self, typed: &mut Typed, span: Span) {
        if typed.expr.depth() > MAX_DEPTH {
            self.report(
                Diagnostic::new("M0407", span, "this expression is nested too deeply")
                    .label(format!(
                        "written out, this is more than {MAX_DEPTH} operators deep"
                    ))
                    .help("split it: give a part of it a name of its own"),
            );
            *typed = self.poison(span);
            return;
        }
        // Memory orders are stored by the span of the read, so a read with a memory order keeps its
        // span.
        let ordered = self.c.program.orders.contains_key(&typed.expr.span);
        if !ordered {
            typed.expr.span = span;
        }
        if !ordered && !matches!(typed.expr.kind, ExprKind::Const(_)) {
            self.c.program.expanded.insert(span);
        }
    }

    /// Refuses an argument that reads shared variables and is used more than once, if each read is
    /// a separate step.
    pub(super) fn refuse_repeated_reads(&mut self, value: &Expr, uses: u32) {
        let splits = self.c.program.atomicity == Atomicity::Access && !self.one_step;
        if uses < 2 || !splits {
            return;
        }
        let mut shared = false;
        value.walk(&mut |e| {
            shared |= matches!(e.kind, ExprKind::Shared(_) | ExprKind::Element(..));
        });
        if shared {
            self.report(
                Diagnostic::new("M0420", value.span, "this would be read more than once")
                    .label("with `atomicity access` each read is a step of its own")
                    .help("read it first, `let v = …;`, and use `v` here"),
            );
        }
    }
}
