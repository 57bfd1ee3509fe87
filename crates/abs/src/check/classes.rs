//! Checks and compiles classes (their init blocks, recovery blocks and methods) and the main block.
//! Each block and each method is a body of its own (`body.rs`); the compiled class records where
//! they start.

use mazurka_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;

use super::rules::{self, Rules};
use super::{Block, BodyCode, Checker, LocalTy, stmt};
use crate::code::{ClassInfo, MethodInfo, Op};
use crate::syntax::ast::{self, Pattern, PatternKind, Stmt};
use crate::types::Ty;
use crate::value::Value;

impl Checker<'_> {
    /// Compiles a class: its init block, then its methods.
    pub(super) fn class(&mut self, number: u32) {
        let (module, tree) = {
            let class = &self.classes[number as usize];
            (class.module, class.tree)
        };
        let fields = self.classes[number as usize].fields.clone();
        let mut info = ClassInfo {
            name: self.classes[number as usize].name.clone(),
            fields: fields.iter().map(|(name, _)| name.clone()).collect(),
            carries: fields.iter().map(|(_, ty)| self.carries(ty)).collect(),
            init: 0,
            init_slots: 0,
            methods: Vec::new(),
            by_name: FxHashMap::default(),
            run: None,
            interfaces: self.inheritance.classes[number as usize].clone(),
            recover: None,
            recovers_assertions: false,
            may_hold: false,
            may_die: false,
        };
        let Some(tree) = tree else {
            // The class of the main block has no declaration.
            self.out.classes.push(info);
            return;
        };
        self.open(BodyCode {
            class: Some(number),
            module,
            ..BodyCode::default()
        });
        for (at, field) in tree.fields.iter().enumerate() {
            let (_, ty) = fields[tree.parameters.len() + at].clone();
            match &field.value {
                Some(value) => {
                    self.body().fields = Some((tree.parameters.len() + at) as u32);
                    self.expr_as(value, &ty);
                    if field.ty.nonnull {
                        self.require_nonnull(value);
                    }
                    self.emit(
                        Op::SetField((tree.parameters.len() + at) as u32),
                        value.span,
                    );
                }
                None => {
                    self.needs_value(&ty, &field.name);
                    if !rules::assigned(&tree.init, &field.name.text) {
                        self.needs_object(&field.ty, &field.name);
                    }
                }
            }
        }
        self.body().fields = None;
        self.check_annotations(tree, number);
        self.stmts(&tree.init);
        self.emit(Op::Created, tree.name.span);
        let (init, slots, _) = self.close();
        info.init = init;
        info.init_slots = slots;
        info.recovers_assertions = self.recovers_assertions(tree, module);
        info.recover = tree.recover.as_ref().map(|branches| {
            self.open(BodyCode {
                class: Some(number),
                module,
                block: Block::Recover,
                ..BodyCode::default()
            });
            let slot = self.slot();
            self.recovery(branches, slot, tree.name.span);
            let (entry, slots, _) = self.close();
            (entry, slots)
        });
        for method in &tree.methods {
            let signature = &method.signature;
            let Some(known) = self.classes[number as usize]
                .methods
                .get(&signature.name.text)
                .cloned()
            else {
                continue;
            };
            self.open(BodyCode {
                class: Some(number),
                module,
                may_wait: true,
                atomic: signature.atomic,
                readonly: signature.readonly,
                result: Some(known.result.clone()),
                nonnull_result: signature.result.nonnull,
                ..BodyCode::default()
            });
            for (parameter, ty) in signature.parameters.iter().zip(&known.parameters) {
                self.declare_local(&parameter.name, LocalTy::Value(ty.clone()));
                self.rule(Rules {
                    fixed: parameter.fixed,
                    nonnull: parameter.ty.nonnull,
                    elements: parameter.ty.args.iter().any(|arg| arg.nonnull),
                });
            }
            self.no_early_return(&method.body);
            self.stmts(&method.body);
            self.end_of_method(&known.result, &method.body, method.end);
            let (entry, slots, _) = self.close();
            let name = self.method_number(&signature.name.text);
            let place = info.methods.len() as u32;
            info.by_name.insert(name, place);
            if signature.name.text == "run" && signature.parameters.is_empty() {
                info.run = Some(place);
            }
            info.methods.push(MethodInfo {
                name: signature.name.text.clone(),
                entry,
                slots,
                parameters: known.parameters.len() as u32,
                span: signature.name.span,
            });
        }
        self.out.classes.push(info);
    }

    /// Whether the recovery block handles a false `assert` on purpose: the first of its branches
    /// that matches the exception names the exception, and is neither `_` nor a variable.
    fn recovers_assertions(&self, tree: &ast::Class, module: usize) -> bool {
        let assertion = self.constructor_named("AssertionFailException");
        let constructor = |(pattern, _): &(Pattern, Stmt)| match &pattern.kind {
            PatternKind::Construct(name, _) => {
                let numbers = &self.constructor_numbers;
                self.find(numbers, module, &name.text).copied()
            }
            _ => None,
        };
        let branches = tree.recover.iter().flatten().map(constructor);
        let mut matching = branches.filter(|one| one.is_none_or(|one| one == assertion));
        matching.next() == Some(Some(assertion))
    }

    fn end_of_method(&mut self, result: &Ty, body: &[ast::Stmt], end: Span) {
        let unit = self.unknowns.fits(result, &Ty::UNIT, &self.inheritance);
        if !unit && !stmt::returns(body) {
            let wanted = self.show(result);
            let mistake = Diagnostic::new(
                "A0223",
                end,
                format!("this method must return a value of type `{wanted}`"),
            )
            .label("its end can be reached without `return`")
            .help("end it with `return …;`");
            self.report(mistake);
        }
        let unit = self.constant(Value::Unit);
        self.emit(Op::Const(unit), end);
        self.emit(Op::Leave, end);
    }

    /// Compiles the main block: a method of a class without fields.
    pub(super) fn main(&mut self, source: &str, wanted: Option<&str>) {
        let with_main: Vec<_> = self
            .modules
            .iter()
            .enumerate()
            .filter(|(_, m)| m.main.is_some() && wanted.is_none_or(|name| m.name.text == name))
            .collect();
        let (module, (body, span)) = match &with_main[..] {
            [(module, tree)] => match &tree.main {
                Some(main) => (*module, main),
                None => return,
            },
            [] if wanted.is_some() => {
                let wanted = wanted.unwrap_or_default();
                let message = format!("`--main {wanted}`: module `{wanted}` has no main block");
                let mistake = Diagnostic::new("A0224", Span::default(), message)
                    .help("name a module that ends with `{ … }`");
                return self.report(mistake);
            }
            [] => {
                let end = source.len() as u32;
                let span = Span { start: end, end };
                let mistake = Diagnostic::new("A0224", span, "there is no main block")
                    .label("expected `{ … }` after the last declaration")
                    .help("the main block creates the first objects: `{ Counter c = new Counter(); c!increment(); }`");
                return self.report(mistake);
            }
            [_, (_, second), ..] => {
                let span = second.main.as_ref().map(|main| main.1).unwrap_or_default();
                let start = Span {
                    start: span.start,
                    end: span.start + 1,
                };
                let mistake = Diagnostic::new("A0225", start, "two modules have a main block")
                    .label("the second one")
                    .help("say which one runs: `--main MODULE`");
                return self.report(mistake);
            }
        };
        let end = Span {
            start: span.end.saturating_sub(1),
            end: span.end,
        };
        self.open(BodyCode {
            class: Some(0),
            module,
            may_wait: true,
            result: None,
            ..BodyCode::default()
        });
        self.stmts(body);
        let unit = self.constant(Value::Unit);
        self.emit(Op::Const(unit), end);
        self.emit(Op::Leave, end);
        let (entry, slots, _) = self.close();
        let name = self.method_number("main");
        let class = &mut self.out.classes[0];
        class.by_name.insert(name, 0);
        class.methods.push(MethodInfo {
            name: "main".to_owned(),
            entry,
            slots,
            parameters: 0,
            span: Span {
                start: span.start,
                end: span.start + 1,
            },
        });
    }
}
