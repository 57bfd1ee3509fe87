//! Warnings about useless declarations, found in the syntax tree.
//!
//! One walk through the tree records for each name whether it is read and whether it is written.
//! Names that are not used give warnings. The checked program does not contain all uses: its
//! constants are folded, and a process with an empty range has no instance in it. As in the
//! checker, a local hides a shared variable or an outer local with the same name.

use std::slice::from_ref;

use mazurka_diagnostics::{Diagnostic, finish};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::syntax::ast::{
    Alternative, Base, Expr, ExprKind, File, Gate, Init, Item, Name, Object, OperationResult,
    PropertyKind, QuantifierDomain, ResultTarget, Selector, Spawned, Stmt, StmtKind, Text,
    TypeExpr,
};

/// How a name is used.
#[derive(Clone, Copy, Default)]
struct Uses {
    read: bool,
    written: bool,
}

/// A local in scope.
struct ScopedLocal<'s> {
    name: Name<'s>,
    read: bool,
    /// Whether it is declared only to hold a value, by `let`. A loop counter or a parameter has
    /// another purpose and needs no warning.
    keeps: bool,
    /// The local that it hides.
    hides: Option<usize>,
}

/// The state of a walk through a file.
#[derive(Default)]
struct UsageWalk<'s> {
    globals: FxHashMap<&'s str, Uses>,
    /// The locals in scope, innermost last.
    locals: Vec<ScopedLocal<'s>>,
    /// For each name, the index in `locals` of the local that it refers to.
    visible: FxHashMap<&'s str, usize>,
    /// The procedure or function that is being visited; `None` in a process.
    inside: Option<&'s str>,
    /// The procedures that each procedure calls; under `None`, those that processes call.
    calls: FxHashMap<Option<&'s str>, FxHashSet<&'s str>>,
    /// Whether the file states a property other than determinism.
    states_property: bool,
    /// The words of goals to prove.
    in_goals: FxHashSet<String>,
    /// The locals that temporal properties mention.
    watched: FxHashSet<&'s str>,
    warnings: Vec<Diagnostic>,
}

/// Returns the warnings about a file without mistakes, in the order of the text.
pub(super) fn warnings(file: &File<'_>) -> Vec<Diagnostic> {
    let mut survey = UsageWalk::default();
    survey.temporal(file);
    file.items.iter().for_each(|item| survey.item(item));
    let called = survey.called();
    let observed = survey.observes_all(file);
    for item in &file.items {
        survey.warn_unused(item, &called, observed);
    }
    finish(survey.warnings)
}

fn unused(code: &'static str, name: Name<'_>, message: String, help: &str) -> Diagnostic {
    Diagnostic::new(code, name.span, message)
        .label("declared here")
        .help(help)
}

impl<'s> UsageWalk<'s> {
    /// Whether all variables are observed in final states: the file has no `observe`, and its
    /// determinism is checked, because the file expects it or states no other property.
    fn observes_all(&self, file: &File<'_>) -> bool {
        let any = |wanted: fn(&Item<'_>) -> bool| file.items.iter().any(wanted);
        let names_some = any(|item| matches!(item, Item::Observe(_)));
        let expects = any(|item| matches!(item, Item::ExpectsDeterminism(_)));
        !names_some && (expects || !self.states_property)
    }

    /// Returns the procedures that a process may call or spawn, directly or through others.
    fn called(&self) -> FxHashSet<&'s str> {
        let mut all = FxHashSet::default();
        let mut left = vec![None];
        while let Some(caller) = left.pop() {
            for &callee in self.calls.get(&caller).into_iter().flatten() {
                if all.insert(callee) {
                    left.push(Some(callee));
                }
            }
        }
        all
    }

    /// Returns how a name at the top level is used. A name that starts with `_` counts as read.
    fn uses(&self, name: &str) -> Uses {
        let mut uses = self.globals.get(name).copied().unwrap_or_default();
        uses.read |= name.starts_with('_') || self.in_goals.contains(name);
        uses
    }

    fn warn_unused(&mut self, item: &Item<'s>, called: &FxHashSet<&'s str>, observes_all: bool) {
        let uses = |name: &Name<'s>| self.uses(name.text);
        let warning = match item {
            Item::Var { names, .. } => {
                let judged = names.iter().filter_map(|&name| {
                    let text = name.text;
                    match uses(&name) {
                        Uses { read: true, .. } => None,
                        Uses { written: false, .. } => {
                            let message = format!("the variable `{text}` is never used");
                            Some(unused("W0101", name, message, "remove it"))
                        }
                        Uses { written: true, .. } if observes_all => None,
                        Uses { written: true, .. } => {
                            let message =
                                format!("the variable `{text}` is written and never read");
                            let help = "remove it, or name it in `observe` or a property";
                            Some(unused("W0102", name, message, help))
                        }
                    }
                });
                let judged: Vec<Diagnostic> = judged.collect();
                self.warnings.extend(judged);
                return;
            }
            Item::Const { name, .. } if !uses(name).read => {
                let message = format!("the constant `{}` is never used", name.text);
                unused("W0103", *name, message, "remove it")
            }
            Item::Proc { name, .. } if !called.contains(name.text) && !uses(name).read => {
                let message = format!("the procedure `{}` is never called", name.text);
                unused(
                    "W0104",
                    *name,
                    message,
                    "call it from a process, or remove it",
                )
            }
            Item::Lock { name, .. } | Item::Object(Object { name, .. }) if !uses(name).read => {
                let what = match item {
                    Item::Object(object) => object.kind.noun(),
                    _ => "lock",
                };
                let message = format!("the {what} `{}` is never used", name.text);
                unused("W0105", *name, message, "remove it")
            }
            _ => return,
        };
        self.warnings.push(warning);
    }

    fn item(&mut self, item: &Item<'s>) {
        match item {
            Item::Var { ty, init, .. } => {
                self.size(ty);
                init.iter().for_each(|init| self.init(init));
            }
            Item::Lock { len, .. } => len.iter().for_each(|len| self.expr(len)),
            Item::Object(object) => {
                object.dims.iter().chain(&object.value).for_each(|e| self.expr(e));
            }
            Item::Const { value, .. } => self.init(value),
            Item::Struct { fields, .. } => fields.iter().for_each(|(_, ty)| self.size(ty)),
            Item::Function(function) => {
                let params = function.params.iter().map(|(name, _)| *name);
                let lets = function.lets.iter().map(|(name, _)| *name);
                self.inside = Some(function.name.text);
                self.scope(params.chain(lets), |survey| {
                    function.lets.iter().for_each(|(_, value)| survey.expr(value));
                    survey.expr(&function.value);
                });
                self.inside = None;
            }
            Item::Proc { name, params, body } => {
                params.iter().for_each(|(_, ty)| self.size(ty));
                self.inside = Some(name.text);
                let params = params.iter().map(|(name, _)| *name);
                self.scope(params, |survey| survey.block(body));
                self.inside = None;
            }
            Item::Property { kind, expr, .. } => {
                self.states_property |=
                    matches!(kind, PropertyKind::Invariant | PropertyKind::Ensures);
                self.expr(expr);
            }
            Item::Observe(names) => names.iter().for_each(|name| self.read(*name)),
            // A formula has its own syntax; each of its words may be a name.
            Item::Prove { goal, .. } => {
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                let words = goal.split(|c| !is_part(c)).map(str::to_owned);
                self.in_goals.extend(words);
            }
            Item::Process { range, body, .. } => {
                if let Some(range) = range {
                    self.expr(&range.from);
                    self.expr(&range.to);
                }
                let param = range.iter().map(|range| range.name);
                self.scope(param, |survey| survey.block(body));
            }
            Item::Refines { via, .. } => {
                self.states_property = true;
                for ((ours, _), _) in via {
                    let name = ours.split('.').next().unwrap_or_default();
                    self.in_goals.insert(name.to_owned());
                }
            }
            Item::Operation(OperationResult { name, ty, .. }) => {
                ty.iter().for_each(|ty| self.size(ty));
                self.calls.entry(None).or_default().insert(name.text);
            }
            Item::Spec(spec) => {
                self.states_property = true;
                self.expr(&spec.clients);
                self.expr(&spec.operations);
                // Variables of the specification have a separate namespace.
                let mut inner = UsageWalk::default();
                spec.items.iter().for_each(|item| inner.item(item));
                for (name, uses) in inner.globals {
                    self.globals.entry(name).or_default().read |= uses.read;
                }
            }
            Item::Enum { .. }
            | Item::Temporal { .. } // Visited before, because they name locals of processes.
            | Item::Ghosts(_)
            | Item::Allows(..) | Item::ExpectsDeterminism(_) | Item::Atomicity(..) => {}
        }
    }

    fn temporal(&mut self, file: &File<'s>) {
        for item in &file.items {
            if let Item::Temporal { conditions, .. } = item {
                self.states_property = true;
                conditions.iter().for_each(|condition| self.expr(condition));
            }
        }
    }

    /// Visits a scope with additional locals, and warns about locals of the scope that are never
    /// read.
    fn scope(&mut self, names: impl Iterator<Item = Name<'s>>, visit: impl FnOnce(&mut Self)) {
        let outer = self.locals.len();
        names.for_each(|name| self.declare(name, false));
        visit(self);
        for local in self.locals.drain(outer..).rev() {
            let ScopedLocal {
                name,
                read,
                keeps,
                hides,
            } = local;
            match hides {
                Some(before) => self.visible.insert(name.text, before),
                None => self.visible.remove(name.text),
            };
            if keeps && !read && !name.text.starts_with('_') {
                let message = format!("the local `{}` is never read", name.text);
                let help = "remove it, and the code that only computes its value";
                self.warnings.push(unused("W0106", name, message, help));
            }
        }
    }

    fn declare(&mut self, name: Name<'s>, keeps: bool) {
        let hides = self.visible.insert(name.text, self.locals.len());
        let read = self.watched.contains(name.text);
        self.locals.push(ScopedLocal {
            name,
            read,
            keeps,
            hides,
        });
    }

    fn read(&mut self, name: Name<'s>) {
        match self.local(name) {
            Some(local) => local.read = true,
            None => self.globals.entry(name.text).or_default().read = true,
        }
    }

    fn write(&mut self, name: Name<'s>) {
        if self.local(name).is_none() {
            self.globals.entry(name.text).or_default().written = true;
        }
    }

    fn local(&mut self, name: Name<'s>) -> Option<&mut ScopedLocal<'s>> {
        let at = *self.visible.get(name.text)?;
        self.locals.get_mut(at)
    }

    fn call(&mut self, name: Name<'s>, args: &[Expr<'s>]) {
        self.calls.entry(self.inside).or_default().insert(name.text);
        args.iter().for_each(|arg| self.expr(arg));
    }

    fn block(&mut self, stmts: &[Stmt<'s>]) {
        self.scope(std::iter::empty(), |survey| {
            stmts.iter().for_each(|stmt| survey.stmt(stmt));
        });
    }

    fn stmt(&mut self, stmt: &Stmt<'s>) {
        match &stmt.kind {
            StmtKind::Poison | StmtKind::Skip | StmtKind::End | StmtKind::Leave(_) => {}
            StmtKind::Return(value) => self.expr(value),
            StmtKind::Block(body) | StmtKind::Atomic(body) => self.block(body),
            StmtKind::Assign(places, values) => {
                places.iter().for_each(|place| self.place(place));
                values.iter().for_each(|value| self.expr(value));
            }
            StmtKind::Guard(test, body) | StmtKind::GuardedLoop(test, body) => {
                self.expr(test);
                self.block(from_ref(body));
            }
            StmtKind::Choice { test, then, other } => {
                self.expr(test);
                self.block(from_ref(then));
                self.block(from_ref(other));
            }
            StmtKind::If(test, then, other) => {
                self.expr(test);
                self.block(then);
                self.block(other);
            }
            StmtKind::Match(value, cases) => {
                self.expr(value);
                cases.cases.iter().for_each(|(_, body)| self.block(body));
                cases.other.iter().for_each(|(_, body)| self.block(body));
            }
            StmtKind::While {
                test,
                bound,
                invariants,
                body,
            } => {
                let before = bound.iter().chain(invariants);
                before.for_each(|expr| self.expr(expr));
                self.expr(test);
                self.block(body);
            }
            StmtKind::For {
                name,
                from,
                to,
                body,
            } => {
                self.expr(from);
                self.expr(to);
                self.scope(std::iter::once(*name), |survey| survey.block(body));
            }
            StmtKind::Spawn(handle, spawned) => {
                match spawned {
                    Spawned::Block(body) => self.block(body),
                    Spawned::Call(name, args) => self.call(*name, args),
                }
                handle.iter().for_each(|name| self.declare(*name, true));
            }
            StmtKind::Join(handle) => handle.iter().for_each(|name| self.read(*name)),
            StmtKind::Call(name, args) => self.call(*name, args),
            StmtKind::Lock(name, index) | StmtKind::Unlock(name, index) => {
                self.read(*name);
                index.iter().for_each(|index| self.expr(index));
            }
            StmtKind::Let { name, ty, init } => {
                ty.iter().for_each(|ty| self.size(ty));
                self.init(init);
                self.declare(*name, true);
            }
            StmtKind::Assert(test, message) => {
                self.states_property = true;
                self.expr(test);
                message.iter().for_each(|message| self.message(*message));
            }
            StmtKind::Print(text) => self.message(*text),
            StmtKind::Labelled(_, inner) => self.stmt(inner),
            StmtKind::Send(channel, value) => {
                self.expr(channel);
                self.expr(value);
            }
            StmtKind::Receive(channel, into) => {
                self.expr(channel);
                self.place(into);
            }
            StmtKind::Select(_, alternatives, other) => {
                for Alternative { gate, body } in alternatives {
                    match gate {
                        Gate::When(test) => self.expr(test),
                        Gate::Does(operation) => self.stmt(operation),
                    }
                    self.block(body);
                }
                other.iter().for_each(|body| self.block(body));
            }
            StmtKind::Try(kept, operation) => {
                self.stmt(operation);
                match kept {
                    ResultTarget::Let(name) => self.declare(*name, true),
                    ResultTarget::Place(place) => self.place(place),
                }
            }
            StmtKind::Operation(operation) => self.operation(operation),
            StmtKind::Assume(test) => self.expr(test),
            StmtKind::Error(message) => {
                self.states_property = true;
                message.iter().for_each(|message| self.message(*message));
            }
        }
    }

    /// Marks the names in the braces of a message as read.
    fn message(&mut self, message: Text<'s>) {
        let span = message.span;
        for braced in message.quoted.split('{').skip(1) {
            let named = braced.split('}').next().unwrap_or_default();
            for text in named.split(|c: char| !c.is_alphanumeric() && c != '_') {
                self.read(Name { text, span });
            }
        }
    }

    /// Visits an operation whose result is not used: a `store` only writes.
    fn operation(&mut self, operation: &Expr<'s>) {
        match &operation.kind {
            ExprKind::Operation {
                place,
                operation: Name { text: "store", .. },
                args,
            } => {
                self.place(place);
                args.iter().for_each(|arg| self.expr(arg));
            }
            _ => self.expr(operation),
        }
    }

    /// Visits the target of an assignment: it is written, its index is read.
    fn place(&mut self, place: &Expr<'s>) {
        match &place.kind {
            ExprKind::Name(name) => self.write(*name),
            ExprKind::Index(name, index) => {
                self.write(*name);
                self.expr(index);
            }
            ExprKind::Path(name, selectors) => {
                self.write(*name);
                self.selectors(selectors);
            }
            _ => self.expr(place),
        }
    }

    fn selectors(&mut self, selectors: &[Selector<'s>]) {
        for selector in selectors {
            if let Selector::Index(index) = selector {
                self.expr(index);
            }
        }
    }

    fn size(&mut self, ty: &TypeExpr<'s>) {
        ty.dims.iter().for_each(|len| self.expr(len));
        if let Base::Range(from, to) = &ty.base {
            self.expr(from);
            self.expr(to);
        }
    }

    fn init(&mut self, init: &Init<'s>) {
        match init {
            Init::Value(value) => self.expr(value),
            Init::List(values, _) => values.iter().for_each(|value| self.init(value)),
            Init::Each { value, range, .. } => {
                self.expr(&range.from);
                self.expr(&range.to);
                self.scope(std::iter::once(range.name), |survey| survey.init(value));
            }
        }
    }

    fn expr(&mut self, expr: &Expr<'s>) {
        match &expr.kind {
            ExprKind::Poison | ExprKind::Int(_) | ExprKind::Bool(_) => {}
            ExprKind::Name(name) => self.read(*name),
            ExprKind::Index(name, index) => {
                self.read(*name);
                self.expr(index);
            }
            ExprKind::LocalOf {
                instance,
                local,
                index,
                ..
            } => {
                self.watched.insert(local.text);
                self.expr(instance);
                index.iter().for_each(|index| self.expr(index));
            }
            ExprKind::Path(name, selectors) => {
                self.read(*name);
                // In a temporal property the field may be a local of a process.
                if let [Selector::Field(local), ..] = &selectors[..] {
                    self.watched.insert(local.text);
                }
                self.selectors(selectors);
            }
            ExprKind::Record(_, fields) => fields.iter().for_each(|(_, value)| self.expr(value)),
            ExprKind::Quantified(quantified) => {
                match &quantified.over {
                    QuantifierDomain::Range(from, to) => {
                        self.expr(from);
                        self.expr(to);
                    }
                    QuantifierDomain::Array(array) => self.expr(array),
                }
                let name = std::iter::once(quantified.name);
                self.scope(name, |survey| survey.expr(&quantified.body));
            }
            ExprKind::Match(value, cases) => {
                self.expr(value);
                cases.cases.iter().for_each(|(_, value)| self.expr(value));
                cases.other.iter().for_each(|(_, value)| self.expr(value));
            }
            ExprKind::Operation { place, args, .. } => {
                self.expr(place);
                args.iter().for_each(|arg| self.expr(arg));
            }
            ExprKind::Call(name, args) => self.call(*name, args),
            ExprKind::Unary(_, inner) => self.expr(inner),
            ExprKind::Binary(_, _, a, b) | ExprKind::Choose(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::If(a, b, c) => [a, b, c].iter().for_each(|part| self.expr(part)),
            ExprKind::Input(ty) => ty.iter().for_each(|ty| self.size(ty)),
        }
    }
}
