//! The contents of `spec object … { … }`: variables, and operations that run one at a time.
//!
//! A specification is a separate program with one process. In one step, the process makes the call
//! whose index is in `$called`, and stores the result in `$result`. The specification can use the
//! constants and types of the file, and the functions that it mentions.

use mazurka_diagnostics::{Diagnostic, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::operations::{Dispatch, element};
use super::records::number;
use super::{Checker, Global, Setting};
use crate::check::hir::{
    ExprKind, Frame, Linearizable, Local, LocalId, ProcedureId, Process, Program, Shape,
    Specification, Stmt, StmtKind, Type,
};
use crate::syntax::ast::{File, Function, Item};
use crate::syntax::parser::parse;

/// Checks the specification of an object, and adds it to the program.
pub(super) fn add(
    program: &mut Program,
    source: &str,
    settings: &[Setting],
) -> Result<(), Vec<Diagnostic>> {
    let Some(object) = program.linearizable.take() else {
        return Ok(());
    };
    let Parts {
        file,
        constants,
        variables,
    } = parts_of(source);
    let mut checker = Checker::new(&file, Vec::new(), FxHashSet::default());
    checker.is_specification = true;
    checker.object_vars = variables;
    let settings = settings.iter().filter(|set| constants.contains(&set.name));
    checker.read_settings(&settings.cloned().collect::<Vec<_>>());
    for item in &file.items {
        checker.refuse_item(item, object.span);
    }
    checker.file(&file, source, false);
    if checker.diagnostics.is_empty() {
        checker.refuse_concurrency();
        checker.refuse_unknown_values();
    }
    if checker.diagnostics.is_empty() {
        let procedures = checker.match_operations(&object);
        if checker.diagnostics.is_empty() {
            let specification = checker.specification(&object, &procedures);
            program.linearizable = Some(Linearizable {
                specification: Some(specification),
                ..object
            });
            return Ok(());
        }
    }
    Err(mazurka_diagnostics::finish(checker.diagnostics))
}

/// The parts of a file that its specification can use.
struct Parts<'s> {
    /// The constants and types of the file, and the contents of the specification.
    file: File<'s>,
    /// The names of the constants.
    constants: FxHashSet<String>,
    /// The names of the file's variables, which the specification must not use.
    variables: FxHashSet<&'s str>,
}

fn parts_of(source: &str) -> Parts<'_> {
    let mut variables = FxHashSet::default();
    let mut items = Vec::new();
    let mut functions: FxHashMap<&str, std::rc::Rc<Function<'_>>> = FxHashMap::default();
    let mut constants = FxHashSet::default();
    let mut contents = Vec::new();
    let mut words = FxHashSet::default();
    for item in parse(source).file.items {
        match item {
            Item::Const { name, .. } => {
                constants.insert(name.text.to_owned());
                items.push(item);
            }
            Item::Enum { .. } | Item::Struct { .. } => items.push(item),
            Item::Var { names, .. } => variables.extend(names.iter().map(|name| name.text)),
            Item::Function(function) => {
                functions.insert(function.name.text, function);
            }
            Item::Spec(spec) => {
                let from = spec.head.end as usize;
                words.extend(words_of(&source[from..end_of_block(source, from)]));
                contents.extend(spec.items);
            }
            _ => {}
        }
    }
    // Add the functions that the specification mentions, directly or through other functions.
    let mut worklist: Vec<&str> = words.iter().copied().collect();
    while let Some(word) = worklist.pop() {
        if let Some(function) = functions.remove(word) {
            let (start, end) = (function.name.span.start, function.value.span.end);
            worklist.extend(words_of(&source[start as usize..end as usize]));
            items.push(Item::Function(function));
        }
    }
    items.extend(contents);
    let file = File {
        items,
        ..File::default()
    };
    Parts {
        file,
        constants,
        variables,
    }
}

/// Returns the end of the block that begins after `from`, as far as the number of braces tells:
/// braces in comments and strings count too. An end that is too late does no harm, because words
/// after the block can only add functions that the specification does not need.
fn end_of_block(source: &str, from: usize) -> usize {
    let mut depth = 0usize;
    for (at, c) in source[from..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return from + at;
        }
    }
    source.len()
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

impl<'s> Checker<'s> {
    /// Reports a declaration that a specification may not contain.
    fn refuse_item(&mut self, item: &Item<'s>, head: Span) {
        let (span, what) = match item {
            Item::Var { .. }
            | Item::Const { .. }
            | Item::Enum { .. }
            | Item::Struct { .. }
            | Item::Function(_)
            | Item::Proc { .. }
            | Item::Operation(_) => return,
            Item::Lock { name, .. } => (name.span, "a lock"),
            Item::Object(object) => (object.name.span, "a synchronisation object"),
            Item::Ghosts(names) => (names.first().map_or(head, |name| name.span), "a ghost"),
            Item::Property { span, .. }
            | Item::Temporal { span, .. }
            | Item::Prove { span, .. }
            | Item::Refines { span, .. }
            | Item::Allows(_, span)
            | Item::ExpectsDeterminism(span)
            | Item::Atomicity(_, span) => (*span, "this"),
            Item::Observe(names) => (names.first().map_or(head, |name| name.span), "`observe`"),
            Item::Process { name, .. } => (name.map_or(head, |name| name.span), "a process"),
            Item::Spec(spec) => (spec.head, "a specification"),
        };
        let message = format!("a specification does not contain {what}");
        let label = "expected a variable, a function, a procedure or an operation";
        let help = "its operations run one after the other: variables are enough";
        self.wrong_operation(("M0453", span), message, label, help);
    }

    /// Reports statements that wait, start processes or choose.
    fn refuse_concurrency(&mut self) {
        let mut found = Vec::new();
        for stmt in self.program.procedures.iter().flat_map(|p| &p.body) {
            stmt.walk(&mut |stmt| {
                let waits = matches!(
                    stmt.kind,
                    StmtKind::Guard(..)
                        | StmtKind::GuardedLoop(..)
                        | StmtKind::Spawn(..)
                        | StmtKind::Join(_)
                        | StmtKind::Lock(..)
                        | StmtKind::Unlock(..)
                        | StmtKind::End
                );
                found.extend(waits.then_some(stmt.span));
                for expr in stmt.exprs() {
                    expr.walk(&mut |e| {
                        let chooses = matches!(e.kind, ExprKind::Choose(..) | ExprKind::Input);
                        found.extend(chooses.then_some(e.span));
                    });
                }
            });
        }
        for span in found {
            let message = "a specification is sequential and makes no choices".to_owned();
            let label = "expected assignments, tests, loops and calls";
            let help = "write `assume e` in an operation that is possible only while `e` holds";
            self.wrong_operation(("M0453", span), message, label, help);
        }
    }

    /// Reports variables without an initial value.
    fn refuse_unknown_values(&mut self) {
        let open = self.program.vars.iter().filter(|var| var.init.is_none());
        let open: Vec<(String, Span)> = open.map(|var| (var.name.clone(), var.span)).collect();
        for (name, span) in open {
            let message = format!("`{name}` has no initial value");
            let help = format!("write `var {name}: … = 0`");
            let label = "a specification begins in one state";
            self.wrong_operation(("M0453", span), message, label, &help);
        }
    }

    /// Returns the procedures of the specification for the operations of the object. Reports those
    /// that do not match.
    fn match_operations(&mut self, object: &Linearizable) -> Vec<ProcedureId> {
        let mut procedures = Vec::new();
        for operation in &object.operations {
            let name = operation.name.as_str();
            let found = match self.globals.get(name) {
                Some(&(Global::Proc(id), span)) if self.is_operation_of_object(name) => {
                    Some((id, span))
                }
                _ => None,
            };
            let Some((id, span)) = found else {
                let message = format!("`{name}` is not specified");
                let help = format!("write `op {name}(…) {{ … }}` in the specification too");
                self.wrong_operation(
                    ("M0453", operation.head),
                    message,
                    "the specification does not declare it",
                    &help,
                );
                continue;
            };
            let types = self.signatures[id.0 as usize].iter().map(|ty| ty.plain());
            let same = types.eq(operation.params.iter().map(|&ty| Some(ty)))
                && self.result_of(name) == operation.result;
            if !same {
                self.report(
                    Diagnostic::new(
                        "M0453",
                        span,
                        format!("`{name}` has other types in the specification"),
                    )
                    .label("expected the types of the object's operation")
                    .related(operation.head, "the operation of the object")
                    .help("give both the same parameters and the same result"),
                );
            }
            procedures.push(id);
        }
        let mut more: Vec<(String, Span)> = Vec::new();
        for (name, &(global, span)) in &self.globals {
            let known = object
                .operations
                .iter()
                .any(|operation| operation.name == *name);
            if matches!(global, Global::Proc(_)) && self.is_operation_of_object(name) && !known {
                more.push(((*name).to_owned(), span));
            }
        }
        for (name, span) in more {
            let message = format!("the object has no operation `{name}`");
            let help = "declare it outside of the specification, or make it a `proc` here";
            self.wrong_operation(
                ("M0453", span),
                message,
                "only the specification declares it",
                help,
            );
        }
        procedures
    }

    /// Builds the program that makes calls.
    fn specification(mut self, object: &Linearizable, procedures: &[ProcedureId]) -> Specification {
        let span = object.span;
        let called = self.hidden_var("$called", 1, 0, span);
        let name = "$chosen".to_owned();
        let chosen = LocalId(0);
        let frame = Frame {
            locals: vec![Local {
                shape: Shape::plain(&name, Vec::new()),
                name,
                ty: Type::Int,
                len: None,
            }],
        };
        let dispatch = Dispatch {
            object,
            procedures,
            chosen,
            hidden: Vec::new(),
            span,
        };
        let read = element(called, number(0, span));
        let inside = vec![
            Stmt {
                kind: StmtKind::Let(chosen, vec![read]),
                span,
            },
            dispatch.select_call(0, object.calls.len()),
        ];
        let kind = StmtKind::Atomic(inside);
        self.program.processes.push(Process {
            name: None,
            instance: None,
            frame,
            body: vec![Stmt { kind, span }],
        });
        let result = self
            .program
            .vars
            .iter()
            .position(|var| var.name == "$result");
        Specification {
            called,
            result: crate::check::hir::VarId(result.unwrap_or(0) as u32),
            program: Box::new(self.program),
        }
    }
}
