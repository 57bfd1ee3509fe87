//! The names of one body (a process, a procedure or a property): which locals are in scope, and
//! what a name means there. [`BodyChecker`] holds them; its methods that check statements and
//! expressions are in `stmt.rs`, `expr.rs` and the other files of this folder.

use rustc_hash::FxHashMap;

use super::objects::CurrentProcess;
use super::operations::CurrentOperation;
use super::types::Typed;
use super::{Checker, ConstantValue, ExpectedName, Global};
use crate::check::hir::{Frame, Local, LocalId, LockId, ProcedureId, Shape, Stmt, Type, VarId};
use crate::syntax::ast::Name;
use mazurka_diagnostics::{Diagnostic, Span};

/// Checks the body of a process or procedure, or the expression of a property.
pub(super) struct BodyChecker<'c, 's> {
    pub c: &'c mut Checker<'s>,
    pub frame: Frame,
    /// The meanings of the locals in scope.
    locals: FxHashMap<&'s str, Binding>,
    /// The bindings to restore at the end of the scopes, innermost last.
    undo: Vec<(&'s str, Option<Binding>)>,
    /// Where the entries of the innermost scope begin in `undo`.
    scope: usize,
    /// The locals of blocks that have ended, so that a message can say that the block has ended.
    ended_locals: FxHashMap<&'s str, Span>,
    /// The expressions that replace names: arguments of functions, elements of arrays.
    pub aliases: Vec<Alias>,
    /// The functions whose bodies are being expanded.
    pub inlining: Vec<u32>,
    /// Whether the code that is being checked makes all its reads in one step, even with `atomicity
    /// access`.
    pub one_step: bool,
    /// Whether the expressions may name locals of processes.
    pub temporal: bool,
    /// Whether a loop encloses the current statement.
    pub in_loop: bool,
    /// Whether the current statement is in a procedure.
    pub in_procedure: bool,
    /// Statements that follow the current one in the same step.
    pub after: Vec<Stmt>,
    /// The locals whose type is a range, with this range. The upper bound is exclusive.
    pub ranges: FxHashMap<LocalId, (i64, i64)>,
    /// The process that runs the body.
    pub current: CurrentProcess,
    /// The operation of an object whose body this is; `None` for any other body.
    pub operation: Option<CurrentOperation>,
}

/// An expression that replaces a name.
pub(super) struct Alias {
    pub typed: Typed,
    /// The number of nodes of the expression.
    pub size: usize,
    /// How often the expression has replaced the name.
    pub uses: u32,
}

/// The names of a body, saved while another body is checked.
pub(super) struct SavedNames<'s> {
    locals: FxHashMap<&'s str, Binding>,
    undo: Vec<(&'s str, Option<Binding>)>,
    scope: usize,
}

/// A name in scope, with its declaration.
#[derive(Clone, Copy)]
struct Binding {
    meaning: Meaning,
    span: Span,
    /// Where the entries of the scope that declares the name begin in `undo`.
    scope: usize,
}

/// The meaning of a name in its scope.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    Local(LocalId),
    /// The parameter of `process (i in a..b)`: a constant in each instance.
    Param(i64),
    Const(ConstantValue),
    Var(VarId),
    Lock(LockId),
    Proc(ProcedureId),
    /// An expression, by its index in the body's aliases.
    Alias(u32),
    /// A constant array, by its index in the checker's tables.
    Table(u32),
    /// A variable of a `struct` type, by its index in the checker's records.
    Record(u32),
    Function,
    /// An object, by its index in the checker's objects.
    Object(u32),
    /// An unknown name, or a name whose declaration has a mistake. The mistake was reported, so
    /// uses of the name are not reported.
    Poison,
}

impl Meaning {
    pub(super) fn describe(self) -> &'static str {
        match self {
            Meaning::Local(_) => "a local variable",
            Meaning::Param(_) => "the parameter of the process",
            Meaning::Const(_) => "a constant",
            Meaning::Var(_) => "a shared variable",
            Meaning::Lock(_) => "a lock",
            Meaning::Proc(_) => "a procedure",
            Meaning::Alias(_) => "a value",
            Meaning::Table(_) => "a constant array",
            Meaning::Record(_) => "a variable of a `struct`",
            Meaning::Function => "a function",
            Meaning::Object(_) => "a synchronisation object",
            Meaning::Poison => "something wrong",
        }
    }
}

impl<'c, 's> BodyChecker<'c, 's> {
    pub(super) fn new(c: &'c mut Checker<'s>) -> Self {
        BodyChecker {
            c,
            frame: Frame::default(),
            locals: FxHashMap::default(),
            undo: Vec::new(),
            scope: 0,
            ended_locals: FxHashMap::default(),
            aliases: Vec::new(),
            inlining: Vec::new(),
            one_step: true,
            temporal: false,
            in_loop: false,
            in_procedure: false,
            after: Vec::new(),
            ranges: FxHashMap::default(),
            current: CurrentProcess::Unknown,
            operation: None,
        }
    }

    /// Makes a checker for the body of a process or procedure, whose reads may be separate steps.
    pub(super) fn of_process(c: &'c mut Checker<'s>) -> Self {
        BodyChecker {
            one_step: false,
            ..BodyChecker::new(c)
        }
    }

    /// Removes and returns all names: the body of a function sees none of its caller's names.
    pub(super) fn take_names(&mut self) -> SavedNames<'s> {
        SavedNames {
            locals: std::mem::take(&mut self.locals),
            undo: std::mem::take(&mut self.undo),
            scope: std::mem::take(&mut self.scope),
        }
    }

    /// Restores the names that [`take_names`](Self::take_names) removed.
    pub(super) fn put_names(&mut self, names: SavedNames<'s>) {
        (self.locals, self.undo, self.scope) = (names.locals, names.undo, names.scope);
    }

    /// Runs `inner` on code that is executed in one step.
    pub(super) fn in_one_step<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.one_step, true);
        let result = inner(self);
        self.one_step = outer;
        result
    }

    /// Declares a name that stands for an expression, such as a parameter of a function that is
    /// being expanded. Returns the index of the alias.
    pub(super) fn declare_alias(&mut self, name: Name<'s>, typed: Typed) -> usize {
        let at = self.aliases.len();
        let size = typed.expr.size();
        self.aliases.push(Alias {
            typed,
            size,
            uses: 0,
        });
        self.bind(name, Meaning::Alias(at as u32));
        at
    }

    /// Declares the name of a variable of a `struct` type.
    pub(super) fn declare_record(&mut self, name: Name<'s>, record: u32) {
        self.bind(name, Meaning::Record(record));
    }

    /// Adds a local with this shape, without a name in scope.
    pub(super) fn new_local(&mut self, shape: Shape, ty: Type) -> LocalId {
        let id = LocalId(self.frame.locals.len() as u32);
        self.frame.locals.push(Local {
            name: shape.parts.concat(),
            ty,
            len: shape.elements(),
            shape,
        });
        id
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.c.report(diagnostic);
    }

    /// Runs `inner` in a new scope.
    pub(super) fn scoped<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        let depth = self.undo.len();
        let outer = std::mem::replace(&mut self.scope, depth);
        let result = inner(self);
        self.scope = outer;
        for (name, before) in self.undo.drain(depth..).rev() {
            let ended = match before {
                Some(binding) => self.locals.insert(name, binding),
                None => self.locals.remove(name),
            };
            if let Some(binding) = ended {
                self.ended_locals.insert(name, binding.span);
            }
        }
        result
    }

    /// Adds a local that the source cannot name.
    pub(super) fn hidden(&mut self, name: &str, ty: Type) -> LocalId {
        let name = format!("${name}{}", self.frame.locals.len());
        self.new_local(Shape::plain(&name, Vec::new()), ty)
    }

    /// Declares a local. The type is `None` if a mistake made it unknown.
    pub(super) fn declare(&mut self, name: Name<'s>, ty: Option<Type>, dims: Vec<u32>) -> LocalId {
        let id = self.new_local(Shape::plain(name.text, dims), ty.unwrap_or(Type::Int));
        let meaning = match ty {
            Some(_) => Meaning::Local(id),
            None => Meaning::Poison,
        };
        self.bind(name, meaning);
        id
    }

    /// Declares the parameter of a process.
    pub(super) fn declare_param(&mut self, name: Name<'s>, value: i64) {
        self.bind(name, Meaning::Param(value));
    }

    /// Binds a name. It may hide a shared variable or a local of an outer scope, but nothing else.
    /// The parameter of a process may not hide a shared variable either.
    fn bind(&mut self, name: Name<'s>, meaning: Meaning) {
        let scope = self.scope;
        let local = self.locals.get(name.text);
        let local = local.filter(|binding| binding.scope == scope);
        let local = local.map(|binding| ("a visible local", binding.span));
        let global = self.c.globals.get(name.text);
        let is_param = matches!(meaning, Meaning::Param(_));
        let may_hide = |global: &Global| matches!(global, Global::Var(_)) && !is_param;
        let global = global.filter(|(global, _)| !may_hide(global));
        let hidden = local.or(global.map(|(global, span)| (global.describe(), *span)));
        if let Some((what, span)) = hidden {
            self.report(
                Diagnostic::new(
                    "M0203",
                    name.span,
                    format!("`{}` would hide {what} of the same name", name.text),
                )
                .label("declared again here")
                .related(span, "declared first here")
                .help("choose another name, or assign with `:=`"),
            );
        }
        let span = name.span;
        let before = self.locals.insert(
            name.text,
            Binding {
                meaning,
                span,
                scope,
            },
        );
        self.undo.push((name.text, before));
    }

    /// Returns the meaning of a name. Reports a name that is unknown or does not have a value yet.
    pub(super) fn resolve(&mut self, name: Name<'s>, wanted: ExpectedName) -> Meaning {
        if let Some(binding) = self.locals.get(name.text) {
            return binding.meaning;
        }
        match self.c.globals.get(name.text) {
            Some(&(global, span)) => match global {
                Global::Const(value) => Meaning::Const(value),
                Global::Var(id) => Meaning::Var(id),
                Global::Lock(id) => Meaning::Lock(id),
                Global::Proc(id) => Meaning::Proc(id),
                Global::Table(id) => Meaning::Table(id),
                Global::Record(id) => Meaning::Record(id),
                Global::Function(_) => Meaning::Function,
                Global::Object(id) => Meaning::Object(id),
                Global::Poison => Meaning::Poison,
                Global::Pending => {
                    self.report(
                        Diagnostic::new(
                            "M0205",
                            name.span,
                            format!("`{}` is used before it has a value", name.text),
                        )
                        .label("not known yet")
                        .related(span, "declared here")
                        .help("move the declaration of the constant up"),
                    );
                    Meaning::Poison
                }
            },
            None => {
                let note = self.ended_locals.get(name.text).map(|span| {
                    (
                        *span,
                        "known only in the block that contains this".to_owned(),
                    )
                });
                let locals: Vec<&'s str> = if self.locals.len() <= self.c.hint_budget {
                    self.locals.keys().copied().collect()
                } else {
                    Vec::new()
                };
                self.c.unknown_name(name, wanted, &locals, note);
                Meaning::Poison
            }
        }
    }

    /// Returns the meaning of a name that is in a local scope, or that is a shared variable or a
    /// constant array. Returns `None` for any other name, and reports nothing.
    pub(super) fn peek(&self, name: Name<'s>) -> Option<Meaning> {
        if let Some(binding) = self.locals.get(name.text) {
            return Some(binding.meaning);
        }
        match self.c.globals.get(name.text)?.0 {
            Global::Record(id) => Some(Meaning::Record(id)),
            Global::Table(id) => Some(Meaning::Table(id)),
            Global::Var(id) => Some(Meaning::Var(id)),
            _ => None,
        }
    }

    /// Returns where a name was declared.
    pub(super) fn declared_at(&self, name: Name<'s>) -> Option<Span> {
        let local = self.locals.get(name.text).map(|binding| binding.span);
        local.or_else(|| self.c.globals.get(name.text).map(|(_, span)| *span))
    }

    /// Reports a name that means something other than expected.
    pub(super) fn wrong_kind(
        &mut self,
        name: Name<'s>,
        meaning: Meaning,
        expected: &str,
        help: String,
    ) {
        let what = meaning.describe();
        let mut diagnostic =
            Diagnostic::new("M0204", name.span, format!("`{}` is {what}", name.text))
                .label(format!("expected {expected}"));
        if let Some(span) = self.declared_at(name) {
            diagnostic = diagnostic.related(span, "declared here");
        }
        self.report(diagnostic.help(help));
    }
}
