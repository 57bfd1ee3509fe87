//! Checks and compiles applications of constructors, of functions, and of partial functions. A
//! *partial function* has parameters that are functions: `map(f)(list)`. It is compiled once; the
//! functions are passed as values.

use mazurka_diagnostics::Diagnostic;
use mazurka_diagnostics::Span;

use super::declare::partial_key;
use super::names::count;
use super::{BodyCode, Checker, FunctionBody, FunctionTy, LocalTy, STANDARD_NAME, TypeDef};
use crate::code::{FunctionInfo, Op};
use crate::syntax::ast::{Expr, Function, Name};
use crate::types::{Head, Ty};
use crate::value::Value;

/// A function that is passed to a partial function.
enum Passed {
    /// A parameter of the partial function that passes it, by its index.
    Parameter(usize),
    /// Any other function. `None` if it is not declared, which was reported.
    Typed(Option<FunctionTy>),
}

/// A function that one partial function passes to another whose body was not compiled yet, so that
/// the type of its parameter was not known.
pub(super) struct PassedEarly {
    by: u32,
    passed: Passed,
    /// The called partial function, the index of its parameter, and the types that its type
    /// parameters have in this call.
    to: u32,
    at: usize,
    types: Vec<Ty>,
    span: Span,
}

/// A name applied to arguments.
#[derive(Clone, Copy)]
pub(super) struct Applied<'a> {
    pub name: &'a Name,
    pub args: &'a [Expr],
    pub span: Span,
}

impl<'a> Checker<'a> {
    pub(super) fn constructor_here(&mut self, name: &Name) -> Option<u32> {
        let module = self.module_here();
        if let Some(&number) = self.find(&self.constructor_numbers, module, &name.text) {
            return Some(number);
        }
        let names: Vec<String> = self.constructor_numbers.keys().cloned().collect();
        self.unknown("A0209", "constructor", name, names.iter());
        None
    }

    pub(super) fn interface_named(&mut self, module: usize, name: &Name) -> Option<u32> {
        if let Some(TypeDef::Interface(number)) = self.find(&self.types, module, &name.text) {
            return Some(*number);
        }
        let names: Vec<String> = self.types.keys().cloned().collect();
        self.unknown("A0201", "interface", name, names.iter());
        None
    }

    /// Compiles arguments, and checks them against parameters. The values of the arguments remain
    /// on the stack.
    pub(super) fn arguments(
        &mut self,
        what: &str,
        args: &'a [Expr],
        parameters: &[Ty],
        span: Span,
    ) {
        if args.len() != parameters.len() {
            let mistake = Diagnostic::new(
                "A0217",
                span,
                format!("{what} takes {}", count(parameters.len(), "argument")),
            )
            .label(format!("{} given", count(args.len(), "argument")));
            self.report(mistake);
            return;
        }
        for (arg, parameter) in args.iter().zip(parameters) {
            self.expr_as(arg, parameter);
        }
    }

    /// Returns a fresh unknown type for each of `generics` type parameters, and the result type
    /// with them in place of the parameters. The wanted type may determine some of them before the
    /// arguments are checked.
    fn instance(&mut self, generics: usize, result: &Ty, wanted: Option<&Ty>) -> (Vec<Ty>, Ty) {
        let types = self.unknowns.fresh_many(generics);
        let result = result.with(&types);
        if let Some(wanted) = wanted {
            let known = self.unknowns.deep(wanted);
            // Where a `Rat` is wanted, an `Int` fits as well, so the wanted type says nothing about
            // the arguments.
            if known != Ty::RAT && !matches!(known, Ty::Unknown(_)) {
                self.unknowns.fits(&result, &known, &self.inheritance);
            }
        }
        (types, result)
    }

    pub(super) fn construct(&mut self, applied: Applied<'a>, wanted: Option<&Ty>) -> Ty {
        let Applied { name, args, span } = applied;
        let Some(number) = self.constructor_here(name) else {
            for arg in args {
                self.expr(arg, None);
            }
            return Ty::Wrong;
        };
        let def = &self.constructors[number as usize];
        let (generics, parts) = (def.generics, def.parts.clone());
        let (result, special) = (def.result.clone(), def.special.clone());
        let (types, result) = self.instance(generics, &result, wanted);
        let parts: Vec<Ty> = parts.iter().map(|part| part.with(&types)).collect();
        self.arguments(&format!("`{}`", name.text), args, &parts, span);
        match special {
            Some(value) => self.emit_value(value, span),
            None if parts.is_empty() => self.emit_value(Value::constant(number), span),
            None => self.emit(
                Op::Construct {
                    constructor: number,
                    parts: parts.len() as u32,
                },
                span,
            ),
        }
        result
    }

    /// Returns the function that a name denotes here.
    pub(super) fn function_here(&self, name: &Name) -> Option<u32> {
        let module = self.module_here();
        self.find(&self.function_numbers, module, &name.text)
            .copied()
    }

    fn partial_here(&self, name: &Name) -> Option<u32> {
        let full = self.full(self.module_here(), &name.text)?;
        let standard = format!("{STANDARD_NAME}.{}", name.text);
        let numbers = &self.function_numbers;
        let own = numbers.get(&partial_key(&full));
        own.or_else(|| numbers.get(&partial_key(&standard)))
            .copied()
    }

    pub(super) fn call(&mut self, applied: Applied<'a>, wanted: Option<&Ty>) -> Ty {
        let Applied { name, args, span } = applied;
        if let Some((slot, LocalTy::Function(at))) = self.local(&name.text) {
            return self.call_parameter(slot, at, args, span);
        }
        if let Some(number) = self.current
            && self.partial_here(name) == Some(number)
        {
            return self.recursive(number, applied);
        }
        let Some(number) = self.function_here(name) else {
            if self.partial_here(name).is_some() {
                let mistake =
                    Diagnostic::new("A0233", span, format!("`{}` takes functions", name.text))
                        .label("expected two pairs of brackets")
                        .help(format!("write `{}(functions)(arguments)`", name.text));
                return self.wrong(mistake);
            }
            return self.no_function(name, args);
        };
        if self.reads_time(number) {
            if self.ignore_time {
                let message = format!("`{}` has no value with `--ignore-time`", name.text);
                let mistake = Diagnostic::new("A0309", span, message)
                    .label("reads the time of the model, which is ignored")
                    .help("remove `--ignore-time`; then durations and deadlines are explored");
                return self.wrong(mistake);
            }
            self.out.times.read = true;
        }
        let method = self.class_here().is_some() && self.body().captures.is_none();
        if self.effectful(name) == Some("random") && method && !self.body().in_guard {
            self.arguments("`random`", args, &[Ty::INT], span);
            self.emit(Op::Random, span);
            return Ty::INT;
        }
        let function = &self.functions[number as usize];
        if matches!(function.body, FunctionBody::Builtin(None)) && function.module == 0 {
            let mistake = Diagnostic::new(
                "A0230",
                span,
                format!("`{}` can only stand alone", name.text),
            )
            .label("it has effects, so it is not a part of an expression")
            .help("make it a statement, or give its result a variable of its own");
            self.report(mistake);
            return Ty::Wrong;
        }
        let (generics, result) = (function.generics.len(), function.result.clone());
        let parameters: Vec<Ty> = function
            .parameters
            .iter()
            .map(|(_, ty)| ty.clone())
            .collect();
        let nonnull = function.nonnull_parameters.clone();
        let (types, result) = self.instance(generics, &result, wanted);
        let parameters: Vec<Ty> = parameters.iter().map(|ty| ty.with(&types)).collect();
        self.arguments(&format!("`{}`", name.text), args, &parameters, span);
        for (arg, nonnull) in args.iter().zip(nonnull) {
            if nonnull {
                self.require_nonnull(arg);
            }
        }
        self.emit(Op::Call(number), span);
        result
    }

    fn no_function(&mut self, name: &Name, args: &'a [Expr]) -> Ty {
        let method = self.class_here().is_some_and(|class| {
            self.classes[class as usize]
                .methods
                .contains_key(&name.text)
        });
        if method {
            let mistake =
                Diagnostic::new("A0234", name.span, format!("`{}` is a method", name.text))
                    .label("methods are called on objects")
                    .help(format!("write `this.{}(…)`", name.text));
            self.report(mistake);
        } else {
            let names: Vec<String> = self.function_numbers.keys().cloned().collect();
            self.unknown("A0235", "function", name, names.iter());
        }
        for arg in args {
            self.expr(arg, None);
        }
        Ty::Wrong
    }

    /// Checks a call of a function that is a parameter of the enclosing partial function.
    fn call_parameter(&mut self, slot: u32, at: usize, args: &'a [Expr], span: Span) -> Ty {
        let (parameters, result) = match self.function_types[at].clone() {
            Some(known) => known,
            None => {
                let fresh = (self.unknowns.fresh_many(args.len()), self.unknowns.fresh());
                self.function_types[at] = Some(fresh.clone());
                fresh
            }
        };
        self.emit(Op::Local(slot), span);
        self.arguments("this function", args, &parameters, span);
        self.emit(Op::CallValue(args.len() as u32), span);
        result
    }

    /// Checks a call of a partial function, `name(functions)(args)`.
    pub(super) fn partial(
        &mut self,
        applied: Applied<'a>,
        functions: &'a [Function],
        wanted: Option<&Ty>,
    ) -> Ty {
        let Applied { name, args, span } = applied;
        let Some(number) = self.partial_here(name) else {
            if self.function_here(name).is_none() {
                return self.no_function(name, args);
            }
            let mistake =
                Diagnostic::new("A0233", span, format!("`{}` takes no functions", name.text))
                    .label("one pair of brackets too many")
                    .help(format!("write `{}(arguments)`", name.text));
            return self.wrong(mistake);
        };
        let function = &self.functions[number as usize];
        let taken = function.functions.clone().unwrap_or_default();
        let (generics, result) = (function.generics.len(), function.result.clone());
        let parameters: Vec<Ty> = function
            .parameters
            .iter()
            .map(|(_, ty)| ty.clone())
            .collect();
        let (types, result) = self.instance(generics, &result, wanted);
        if taken.len() != functions.len() {
            let mistake = Diagnostic::new(
                "A0217",
                span,
                format!("`{}` takes {}", name.text, count(taken.len(), "function")),
            )
            .label(format!("{} given", count(functions.len(), "function")));
            self.report(mistake);
            return result;
        }
        // The functions are put on the stack first. Their types are compared after the arguments
        // were checked, because the arguments help to determine them.
        let mut given = Vec::new();
        for function in functions {
            given.push(self.function_value(function));
        }
        let parameters: Vec<Ty> = parameters.iter().map(|ty| ty.with(&types)).collect();
        self.arguments(&format!("`{}`", name.text), args, &parameters, span);
        for (at, (function, passed)) in functions.iter().zip(given).enumerate() {
            let place = match function {
                Function::Named(name) => name.span,
                Function::Anonymous { span, .. } => *span,
            };
            match (self.wanted_function(number, at, &types), passed) {
                (None, passed) => self.passed_early.extend(self.current.map(|by| PassedEarly {
                    by,
                    passed,
                    to: number,
                    at,
                    types: types.clone(),
                    span: place,
                })),
                (Some(wanted), Passed::Typed(Some(ty))) => self.fit_function(&ty, &wanted, place),
                (Some(_), Passed::Typed(None)) => {}
                (Some(wanted), Passed::Parameter(own)) => match self.function_types[own].clone() {
                    Some(ty) => self.fit_function(&ty, &wanted, place),
                    None => self.function_types[own] = Some(wanted),
                },
            }
        }
        self.emit(Op::Call(number), span);
        result
    }

    /// Returns the type that a partial function requires of a function that it takes. The type is
    /// unknown as long as the body was not compiled, and if the body does not determine it.
    fn wanted_function(&self, number: u32, at: usize, types: &[Ty]) -> Option<FunctionTy> {
        let taken = self.functions[number as usize].functions.as_ref()?;
        let (parameters, result) = taken.get(at)?.1.as_ref()?;
        let parameters = parameters.iter().map(|ty| ty.with(types)).collect();
        Some((parameters, result.with(types)))
    }

    /// Checks the functions that partial functions passed to others before these were compiled.
    /// Must be called when all of them are compiled.
    ///
    /// A partial function that passes on its own parameter requires of it what the called one
    /// requires. The called one may pass it on as well, in a circle, so this repeats until no more
    /// types become known.
    pub(super) fn check_passed_early(&mut self) {
        let all = std::mem::take(&mut self.passed_early);
        loop {
            let mut found = false;
            for early in &all {
                let Passed::Parameter(own) = early.passed else {
                    continue;
                };
                let wanted = self.wanted_function(early.to, early.at, &early.types);
                if wanted.is_some() && self.wanted_function(early.by, own, &[]).is_none() {
                    let wanted = self.settled(wanted);
                    let taken = self.functions[early.by as usize].functions.as_mut();
                    if let Some(parameter) = taken.and_then(|taken| taken.get_mut(own)) {
                        parameter.1 = wanted;
                        found = true;
                    }
                }
            }
            if !found {
                break;
            }
        }
        for early in all {
            let by = &self.functions[early.by as usize];
            let (module, generics) = (by.module, by.generics.clone());
            let passed = match early.passed {
                Passed::Parameter(own) => {
                    let taken = by.functions.as_ref().and_then(|taken| taken.get(own));
                    taken.and_then(|(_, ty)| ty.clone())
                }
                Passed::Typed(ty) => ty,
            };
            let wanted = self.wanted_function(early.to, early.at, &early.types);
            if let (Some(ty), Some(wanted)) = (passed, wanted) {
                // Messages name types as they are named there.
                self.open(BodyCode {
                    module,
                    generics,
                    ..BodyCode::default()
                });
                self.fit_function(&ty, &wanted, early.span);
                self.close();
            }
        }
    }

    /// Checks a call of a partial function within its own body. The call passes on the functions
    /// that the outer call was given, so all types are the same.
    fn recursive(&mut self, number: u32, applied: Applied<'a>) -> Ty {
        let Applied { name, args, span } = applied;
        let function = &self.functions[number as usize];
        let taken = function.functions.clone().unwrap_or_default();
        let result = function.result.clone();
        let parameters = function.parameters.iter().map(|(_, ty)| ty.clone());
        let parameters: Vec<Ty> = parameters.collect();
        for (taken, _) in &taken {
            if let Some((slot, _)) = self.local(taken) {
                self.emit(Op::Local(slot), span);
            }
        }
        self.arguments(&format!("`{}`", name.text), args, &parameters, span);
        self.emit(Op::Call(number), span);
        result
    }

    /// Checks that a function fits where a function of another type is wanted.
    fn fit_function(&mut self, given: &FunctionTy, wanted: &FunctionTy, place: Span) {
        let (parameters, result) = given;
        let (wanted, wanted_result) = wanted;
        if parameters.len() != wanted.len() {
            let mistake = Diagnostic::new(
                "A0217",
                place,
                format!(
                    "a function of {} is expected",
                    count(wanted.len(), "parameter")
                ),
            )
            .label(format!(
                "this function has {}",
                count(parameters.len(), "parameter")
            ));
            return self.report(mistake);
        }
        for (parameter, wanted) in parameters.iter().zip(wanted) {
            self.fit(wanted, parameter, place);
        }
        self.fit(result, wanted_result, place);
    }

    /// Puts a function on the stack.
    fn function_value(&mut self, function: &'a Function) -> Passed {
        match function {
            Function::Named(name) => {
                if let Some((slot, LocalTy::Function(at))) = self.local(&name.text) {
                    self.emit(Op::Local(slot), name.span);
                    return Passed::Parameter(at);
                }
                let Some(number) = self.function_here(name) else {
                    self.no_function(name, &[]);
                    return Passed::Typed(None);
                };
                self.out.times.read |= self.reads_time(number);
                let function = &self.functions[number as usize];
                let (generics, result) = (function.generics.len(), function.result.clone());
                let parameters: Vec<Ty> = function
                    .parameters
                    .iter()
                    .map(|(_, ty)| ty.clone())
                    .collect();
                if matches!(function.body, FunctionBody::Builtin(None)) {
                    let mistake = Diagnostic::new(
                        "A0233",
                        name.span,
                        format!("`{}` cannot be passed", name.text),
                    )
                    .label("expected a function of plain values");
                    self.report(mistake);
                    return Passed::Typed(None);
                }
                let types = self.unknowns.fresh_many(generics);
                let op = Op::Function {
                    function: number,
                    captured: 0,
                };
                self.emit(op, name.span);
                let parameters = parameters.iter().map(|ty| ty.with(&types)).collect();
                Passed::Typed(Some((parameters, result.with(&types))))
            }
            Function::Anonymous {
                parameters,
                body,
                span,
            } => Passed::Typed(Some(self.anonymous(parameters, body, *span))),
        }
    }

    fn anonymous(
        &mut self,
        parameters: &'a [(crate::syntax::ast::Type, Name)],
        body: &'a Expr,
        span: Span,
    ) -> FunctionTy {
        let (module, generics) = (self.module_here(), self.generics());
        let class = self.class_here();
        self.open(BodyCode {
            captures: Some(Vec::new()),
            class,
            module,
            generics: generics.clone(),
            ..BodyCode::default()
        });
        let mut types = Vec::new();
        for (ty, name) in parameters {
            let ty = self.ty(module, &generics, ty);
            self.declare_local(name, LocalTy::Value(ty.clone()));
            types.push(ty);
        }
        let result = self.expr(body, None);
        self.emit(Op::Return, span);
        let captured = self.body().captures.clone().unwrap_or_default();
        let (entry, slots, captures) = self.close();
        let number = self.out.functions.len() as u32;
        self.out.functions.push(FunctionInfo {
            entry,
            slots,
            captures,
            parameters: parameters.len() as u32,
        });
        for (outer, _) in &captured {
            self.emit(Op::Local(*outer), span);
        }
        self.emit(
            Op::Function {
                function: number,
                captured: captured.len() as u32,
            },
            span,
        );
        (types, result)
    }

    /// Checks `list[…]`, `set[…]`, `map[…]`: a function applied to a list.
    pub(super) fn variadic(&mut self, applied: Applied<'a>, wanted: Option<&Ty>) -> Ty {
        let Applied {
            name,
            args: elements,
            span,
        } = applied;
        let Some(number) = self.function_here(name) else {
            return self.no_function(name, elements);
        };
        let function = &self.functions[number as usize];
        let (generics, result) = (function.generics.len(), function.result.clone());
        let [(_, parameter)] = &function.parameters[..] else {
            let mistake = Diagnostic::new(
                "A0236",
                span,
                format!("`{}` does not take a list", name.text),
            )
            .label("expected a function of one parameter, a list");
            return self.wrong(mistake);
        };
        let parameter = parameter.clone();
        let (types, result) = self.instance(generics, &result, wanted);
        let element = self.unknowns.fresh();
        let Some(TypeDef::Data(list)) = self.types.get(&format!("{STANDARD_NAME}.List")) else {
            return Ty::Wrong;
        };
        let list = Ty::Made(Head::Data(*list), vec![element.clone()]);
        self.unknowns
            .fits(&list, &parameter.with(&types), &self.inheritance);
        for expr in elements {
            self.expr_as(expr, &element);
        }
        let (nil, cons) = (
            self.constructor_named("Nil"),
            self.constructor_named("Cons"),
        );
        self.emit_value(Value::constant(nil), span);
        for _ in elements {
            let op = Op::Construct {
                constructor: cons,
                parts: 2,
            };
            self.emit(op, span);
        }
        self.fit(&list, &parameter.with(&types), span);
        self.emit(Op::Call(number), span);
        result
    }

    fn wrong(&mut self, mistake: Diagnostic) -> Ty {
        self.report(mistake);
        Ty::Wrong
    }
}
