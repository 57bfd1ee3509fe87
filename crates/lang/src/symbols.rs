//! The symbols that a text declares, and the places that mention them: for renaming, "go to
//! definition" and the outline in editors.
//!
//! Names are resolved in the syntax tree, so a program with mistakes has symbols too, for the parts
//! that can be parsed. Fields with the same name are one symbol, even in different structs: they
//! cannot be distinguished without types. Included files are not read.

mod keywords;

use mazurka_diagnostics::Span;
use rustc_hash::FxHashMap;

use crate::syntax::ast::{
    Alternative, Base, Cases, Expr, ExprKind, Gate, Init, Item, Name, Param, QuantifierDomain,
    Range, ResultTarget, Selector, Spawned, Stmt, StmtKind, Text, TypeExpr,
};
use crate::syntax::include::without_includes;
use crate::syntax::parser::parse;
pub use keywords::{KEYWORDS, is_keyword};

/// The kind of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// A shared variable.
    Variable,
    /// A shared variable that only properties use.
    Ghost,
    /// A constant.
    Constant,
    /// A lock.
    Lock,
    /// A semaphore, a channel or the like.
    Object,
    /// An `enum`.
    Enum,
    /// A member of an `enum`.
    Member,
    /// A `struct`.
    Struct,
    /// A field of a `struct`.
    Field,
    /// A function.
    Function,
    /// A procedure.
    Procedure,
    /// An operation of an object.
    Operation,
    /// A process.
    Process,
    /// An invariant, or another property.
    Property,
    /// A parameter, or the index of a process, such as `i` in `process p (i in 0..2)`.
    Parameter,
    /// A local variable.
    Local,
    /// A label.
    Label,
    /// A module of ABS.
    Module,
    /// An interface of ABS.
    Interface,
    /// A class of ABS.
    Class,
    /// A method of ABS.
    Method,
}

/// A declared name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name; empty for a process or a property without one.
    pub name: String,
    /// The kind of the symbol.
    pub kind: SymbolKind,
    /// The place of the name, or of the first word if there is no name.
    pub span: Span,
    /// The place of the whole declaration.
    pub extent: Span,
    /// The index of the symbol that contains it, such as the process of a local or the `enum` of a
    /// member. `None` if no symbol contains it.
    pub parent: Option<usize>,
    /// Where a local variable or a parameter can be used; everywhere for other symbols.
    pub scope: Span,
}

/// An occurrence of the name of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The place.
    pub span: Span,
    /// The index of the symbol that it refers to.
    pub symbol: usize,
}

/// The declarations of a text, in the order of the text, and all mentions, including declarations,
/// in the order of their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    /// The declared symbols.
    pub declared: Vec<Symbol>,
    /// The occurrences of their names.
    pub mentions: Vec<Mention>,
}

impl Symbols {
    /// Returns the mention that contains a byte of the text, or that ends right before it.
    pub fn at(&self, offset: u32) -> Option<Mention> {
        let after = self
            .mentions
            .partition_point(|one| one.span.start <= offset);
        let found = self.mentions[..after].last()?;
        (offset <= found.span.end).then_some(*found)
    }

    /// Returns all mentions of a symbol.
    pub fn of(&self, symbol: usize) -> impl Iterator<Item = Span> + '_ {
        let all = self.mentions.iter().filter(move |one| one.symbol == symbol);
        all.map(|one| one.span)
    }
}

/// Resolves the names of a `.maz` program.
///
/// ```
/// use mazurka_lang::symbols::{SymbolKind, symbols};
/// let source = "var x: int = 0 process p { let y = x; x := y + }";
/// let found = symbols(source);
/// let names: Vec<&str> = found.declared.iter().map(|one| &*one.name).collect();
/// assert_eq!(names, ["x", "p", "y"]);
/// assert_eq!(found.declared[2].kind, SymbolKind::Local);
/// let x = found.at(4).unwrap();
/// assert_eq!(found.of(x.symbol).count(), 2, "a statement that cannot be parsed has no mentions");
/// ```
pub fn symbols(source: &str) -> Symbols {
    let text = without_includes(source);
    let parsed = parse(&text);
    let mut walk = NameResolver {
        text: &text,
        symbols: Symbols::default(),
        scopes: vec![FxHashMap::default()],
        fields: FxHashMap::default(),
        locals: FxHashMap::default(),
        parent: None,
        extent: Span::default(),
    };
    let items = &parsed.file.items;
    let extents: Vec<Span> = (0..items.len())
        .map(|at| {
            let after = parsed
                .file
                .extents
                .partition_point(|(_, first)| *first <= at);
            after
                .checked_sub(1)
                .map_or(Span::default(), |last| parsed.file.extents[last].0)
        })
        .collect();
    let owners = walk.declare(items, &extents);
    walk.walk(items, &extents, &owners);
    let mut found = walk.symbols;
    found.mentions.sort_by_key(|one| (one.span, one.symbol));
    found.mentions.dedup();
    found
}

/// The end of a scope that is not known yet, or is the end of the text.
const OPEN: u32 = u32::MAX;

/// A walk through the syntax tree that resolves names.
struct NameResolver<'s> {
    text: &'s str,
    symbols: Symbols,
    scopes: Vec<FxHashMap<&'s str, usize>>,
    fields: FxHashMap<&'s str, usize>,
    /// For a process (its symbol) and a name, the first local of the process with this name.
    locals: FxHashMap<(usize, &'s str), usize>,
    parent: Option<usize>,
    extent: Span,
}

impl<'s> NameResolver<'s> {
    fn add(&mut self, name: &str, kind: SymbolKind, span: Span) -> usize {
        let symbol = self.symbols.declared.len();
        self.symbols.declared.push(Symbol {
            name: name.to_owned(),
            kind,
            span,
            extent: self.extent,
            parent: self.parent,
            scope: Span {
                start: span.end,
                end: OPEN,
            },
        });
        if !name.is_empty() {
            self.symbols.mentions.push(Mention { span, symbol });
        }
        symbol
    }

    /// Adds a symbol, and makes its name refer to it in the current scope.
    fn bind(&mut self, name: Name<'s>, kind: SymbolKind) -> usize {
        let symbol = self.add(name.text, kind, name.span);
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.text, symbol);
        }
        symbol
    }

    fn local(&mut self, name: Name<'s>, kind: SymbolKind) {
        let symbol = self.bind(name, kind);
        if let Some(parent) = self.parent {
            self.locals.entry((parent, name.text)).or_insert(symbol);
        }
    }

    fn known(&self, name: &str) -> Option<usize> {
        let mut scopes = self.scopes.iter().rev();
        scopes.find_map(|scope| scope.get(name).copied())
    }

    fn mention(&mut self, symbol: Option<usize>, span: Span) {
        if let Some(symbol) = symbol {
            self.symbols.mentions.push(Mention { span, symbol });
        }
    }

    fn refer(&mut self, name: Name<'s>) {
        self.mention(self.known(name.text), name.span);
    }

    fn field(&mut self, name: Name<'s>) {
        self.mention(self.fields.get(name.text).copied(), name.span);
    }

    /// Declares the names that are visible in all items. For each item, returns the symbol that
    /// owns its contents.
    fn declare(&mut self, items: &[Item<'s>], extents: &[Span]) -> Vec<Option<usize>> {
        let mut owners = Vec::new();
        for (item, extent) in items.iter().zip(extents) {
            self.extent = *extent;
            let owner = self.declare_item(item, owners.last().copied().flatten());
            owners.push(owner);
        }
        owners
    }

    fn declare_item(&mut self, item: &Item<'s>, last: Option<usize>) -> Option<usize> {
        let first_word = |extent: Span| Span {
            start: extent.start,
            end: extent.start,
        };
        match item {
            Item::Var { names, .. } => {
                let all = names
                    .iter()
                    .map(|name| self.bind(*name, SymbolKind::Variable));
                return all.last();
            }
            Item::Ghosts(names) => {
                for name in names {
                    if let Some(symbol) = self.known(name.text) {
                        self.symbols.declared[symbol].kind = SymbolKind::Ghost;
                    }
                }
            }
            Item::Lock { name, .. } => return Some(self.bind(*name, SymbolKind::Lock)),
            Item::Object(object) => return Some(self.bind(object.name, SymbolKind::Object)),
            Item::Const { name, .. } => return Some(self.bind(*name, SymbolKind::Constant)),
            Item::Enum { name, members } => {
                let owner = self.bind(*name, SymbolKind::Enum);
                self.parent = Some(owner);
                for member in members {
                    self.bind(*member, SymbolKind::Member);
                }
                self.parent = None;
                return Some(owner);
            }
            Item::Struct { name, fields } => {
                let owner = self.bind(*name, SymbolKind::Struct);
                self.parent = Some(owner);
                for (field, _) in fields {
                    match self.fields.get(field.text) {
                        Some(known) => self.mention(Some(*known), field.span),
                        None => {
                            let symbol = self.add(field.text, SymbolKind::Field, field.span);
                            self.fields.insert(field.text, symbol);
                        }
                    }
                }
                self.parent = None;
                return Some(owner);
            }
            Item::Function(function) => {
                return Some(self.bind(function.name, SymbolKind::Function));
            }
            Item::Proc { name, .. } => {
                // An operation of a specification and the operation of the object with this name
                // are one symbol.
                let known = (self.scopes.len() > 1)
                    .then(|| self.known(name.text))
                    .flatten();
                let is_operation =
                    |symbol: &usize| self.symbols.declared[*symbol].kind == SymbolKind::Operation;
                if let Some(symbol) = known.filter(is_operation) {
                    self.mention(Some(symbol), name.span);
                    return Some(symbol);
                }
                return Some(self.bind(*name, SymbolKind::Procedure));
            }
            Item::Operation(_) => {
                if let Some(symbol) = last {
                    self.symbols.declared[symbol].kind = SymbolKind::Operation;
                }
            }
            Item::Process { name, .. } => {
                return Some(match name {
                    Some(name) => self.bind(*name, SymbolKind::Process),
                    None => self.add("", SymbolKind::Process, first_word(self.extent)),
                });
            }
            Item::Property { name, span, .. }
            | Item::Temporal { name, span, .. }
            | Item::Prove { name, span, .. } => {
                // Properties have a separate namespace: no statement refers to them.
                return Some(match name {
                    Some(name) => self.add(name.text, SymbolKind::Property, name.span),
                    None => self.add("", SymbolKind::Property, first_word(*span)),
                });
            }
            Item::Observe(_)
            | Item::Refines { .. }
            | Item::Allows(..)
            | Item::ExpectsDeterminism(_)
            | Item::Atomicity(..)
            | Item::Spec(_) => {}
        }
        None
    }

    fn walk(&mut self, items: &[Item<'s>], extents: &[Span], owners: &[Option<usize>]) {
        // Temporal properties mention locals, so they are visited last.
        let is_temporal = |item: &Item<'_>| matches!(item, Item::Temporal { .. });
        for temporal in [false, true] {
            let all = items.iter().zip(extents).zip(owners);
            for ((item, extent), owner) in
                all.filter(|((item, _), _)| is_temporal(item) == temporal)
            {
                self.extent = *extent;
                self.parent = *owner;
                self.item(item);
                self.parent = None;
            }
        }
    }

    fn item(&mut self, item: &Item<'s>) {
        match item {
            Item::Var { ty, init, .. } => {
                self.ty(ty);
                self.init(init.as_ref());
            }
            Item::Lock { len, .. } => self.exprs(len),
            Item::Object(object) => {
                self.exprs(&object.dims);
                self.exprs(&object.value);
                object.ty.iter().for_each(|ty| self.ty(ty));
            }
            Item::Const { value, .. } => self.init(Some(value)),
            Item::Struct { fields, .. } => fields.iter().for_each(|(_, ty)| self.ty(ty)),
            Item::Function(function) => self.scoped(self.extent.end, |walk| {
                walk.params(&function.params);
                walk.ty(&function.result);
                for (name, value) in &function.lets {
                    walk.expr(value);
                    walk.local(*name, SymbolKind::Local);
                }
                walk.expr(&function.value);
            }),
            Item::Proc { params, body, .. } => self.scoped(self.extent.end, |walk| {
                walk.params(params);
                walk.stmts(body);
            }),
            Item::Operation(result) => result.ty.iter().for_each(|ty| self.ty(ty)),
            Item::Process { range, body, .. } => self.scoped(self.extent.end, |walk| {
                if let Some(Range { name, from, to }) = range {
                    walk.exprs([from, to]);
                    walk.local(*name, SymbolKind::Parameter);
                }
                walk.stmts(body);
            }),
            Item::Property { expr, .. } => self.expr(expr),
            Item::Temporal { conditions, .. } => self.exprs(conditions),
            Item::Observe(names) => names.iter().for_each(|name| self.refer(*name)),
            Item::Refines { via, .. } => {
                for ((name, span), _) in via {
                    let name = name.split('.').next().unwrap_or_default();
                    let span = Span {
                        start: span.start,
                        end: span.start + name.len() as u32,
                    };
                    self.mention(self.known(name), span);
                }
            }
            Item::Spec(spec) => {
                self.exprs([&spec.clients, &spec.operations]);
                let extents = vec![self.extent; spec.items.len()];
                self.scoped(self.extent.end, |walk| {
                    let owners = walk.declare(&spec.items, &extents);
                    walk.walk(&spec.items, &extents, &owners);
                });
            }
            Item::Enum { .. }
            | Item::Ghosts(_)
            | Item::Allows(..)
            | Item::ExpectsDeterminism(_)
            | Item::Prove { .. }
            | Item::Atomicity(..) => {}
        }
    }

    /// Resolves names in a scope that ends at this byte.
    fn scoped(&mut self, end: u32, inside: impl FnOnce(&mut Self)) {
        self.scopes.push(FxHashMap::default());
        let first = self.symbols.declared.len();
        inside(self);
        for symbol in &mut self.symbols.declared[first..] {
            symbol.scope.end = symbol.scope.end.min(end);
        }
        self.scopes.pop();
    }

    /// Returns the position of the bracket that closes a block. `last` is the end of the last
    /// statement of the block.
    fn block_end(&self, last: u32) -> u32 {
        let mut rest = self.text.get(last as usize..).unwrap_or("");
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
            rest = if rest.starts_with("//") {
                rest.split_once('\n').map_or("", |(_, next)| next)
            } else if let Some(comment) = rest.strip_prefix("/*") {
                comment.split_once("*/").map_or("", |(_, next)| next)
            } else {
                return (self.text.len() - rest.len()) as u32;
            }
        }
    }

    fn params(&mut self, params: &[Param<'s>]) {
        for (name, ty) in params {
            self.ty(ty);
            self.local(*name, SymbolKind::Parameter);
        }
    }

    fn ty(&mut self, ty: &TypeExpr<'s>) {
        match &ty.base {
            Base::Named(name) => self.refer(*name),
            Base::Range(from, to) => self.exprs([&**from, &**to]),
            Base::Poison | Base::Plain(_) => {}
        }
        self.exprs(&ty.dims);
    }

    fn init(&mut self, init: Option<&Init<'s>>) {
        match init {
            None => {}
            Some(Init::Value(value)) => self.expr(value),
            Some(Init::List(all, _)) => all.iter().for_each(|one| self.init(Some(one))),
            Some(Init::Each { value, range, span }) => {
                self.exprs([&range.from, &range.to]);
                self.scoped(span.end, |walk| {
                    walk.local(range.name, SymbolKind::Local);
                    walk.init(Some(value));
                });
            }
        }
    }

    fn stmts(&mut self, body: &[Stmt<'s>]) {
        let Some(last) = body.last() else {
            return;
        };
        let end = self.block_end(last.span.end);
        self.scoped(end, |walk| body.iter().for_each(|stmt| walk.stmt(stmt)));
    }

    fn stmt(&mut self, stmt: &Stmt<'s>) {
        match &stmt.kind {
            StmtKind::Poison | StmtKind::Skip | StmtKind::End | StmtKind::Leave(_) => {}
            StmtKind::Block(body) | StmtKind::Atomic(body) => self.stmts(body),
            StmtKind::Assign(places, values) => {
                self.exprs(places);
                self.exprs(values);
            }
            StmtKind::Guard(test, body) | StmtKind::GuardedLoop(test, body) => {
                self.expr(test);
                self.scoped(body.span.end, |walk| walk.stmt(body));
            }
            StmtKind::Choice { test, then, other } => {
                self.expr(test);
                self.scoped(then.span.end, |walk| walk.stmt(then));
                self.scoped(other.span.end, |walk| walk.stmt(other));
            }
            StmtKind::If(test, then, other) => {
                self.expr(test);
                self.stmts(then);
                self.stmts(other);
            }
            StmtKind::Match(value, cases) => {
                self.expr(value);
                self.cases(cases, |walk, body| walk.stmts(body));
            }
            StmtKind::While {
                test,
                bound,
                invariants,
                body,
            } => {
                self.expr(test);
                self.exprs(bound);
                self.exprs(invariants);
                self.stmts(body);
            }
            StmtKind::For {
                name,
                from,
                to,
                body,
            } => {
                self.exprs([from, to]);
                self.scoped(stmt.span.end, |walk| {
                    walk.local(*name, SymbolKind::Local);
                    walk.stmts(body);
                });
            }
            StmtKind::Spawn(handle, spawned) => {
                match spawned {
                    Spawned::Block(body) => self.stmts(body),
                    Spawned::Call(name, args) => {
                        self.refer(*name);
                        self.exprs(args);
                    }
                }
                if let Some(handle) = handle {
                    self.local(*handle, SymbolKind::Local);
                }
            }
            StmtKind::Join(handle) => handle.iter().for_each(|name| self.refer(*name)),
            StmtKind::Call(name, args) => {
                self.refer(*name);
                self.exprs(args);
            }
            StmtKind::Lock(name, index) | StmtKind::Unlock(name, index) => {
                self.refer(*name);
                self.exprs(index);
            }
            StmtKind::Let { name, ty, init } => {
                ty.iter().for_each(|ty| self.ty(ty));
                self.init(Some(init));
                self.local(*name, SymbolKind::Local);
                if let Some(symbol) = self.symbols.declared.last_mut() {
                    symbol.scope.start = stmt.span.end;
                }
            }
            StmtKind::Send(channel, value) | StmtKind::Receive(channel, value) => {
                self.exprs([channel, value]);
            }
            StmtKind::Select(_, alternatives, other) => {
                for Alternative { gate, body } in alternatives {
                    let last = body.last().map_or(stmt.span.end, |last| last.span.end);
                    self.scoped(self.block_end(last), |walk| {
                        match gate {
                            Gate::When(test) => walk.expr(test),
                            Gate::Does(operation) => walk.stmt(operation),
                        }
                        walk.stmts(body);
                    });
                }
                other.iter().for_each(|body| self.stmts(body));
            }
            StmtKind::Try(kept, operation) => {
                self.stmt(operation);
                match kept {
                    ResultTarget::Let(name) => self.local(*name, SymbolKind::Local),
                    ResultTarget::Place(place) => self.expr(place),
                }
            }
            StmtKind::Operation(expr) | StmtKind::Assume(expr) | StmtKind::Return(expr) => {
                self.expr(expr);
            }
            StmtKind::Assert(test, text) => {
                self.expr(test);
                text.iter().for_each(|text| self.text(text));
            }
            StmtKind::Error(text) => text.iter().for_each(|text| self.text(text)),
            StmtKind::Print(text) => self.text(text),
            StmtKind::Labelled(name, body) => {
                self.add(name.text, SymbolKind::Label, name.span);
                self.stmt(body);
            }
        }
    }

    /// Resolves the names in the braces of a message.
    fn text(&mut self, text: &Text<'s>) {
        let mut rest = text.quoted;
        let mut start = text.span.start;
        while let Some(at) = rest.find(['{', '\\']) {
            let next = rest[at + 1..].chars().next();
            // `{{` is a brace, and the character after a backslash is part of an escape.
            if rest[at..].starts_with('\\') || next == Some('{') {
                let behind = at + 1 + next.map_or(0, char::len_utf8);
                start += behind as u32;
                rest = &rest[behind..];
                continue;
            }
            let end = rest[at..].find('}').map_or(rest.len(), |end| at + end);
            for word in words(&rest[at + 1..end]) {
                let offset = (word.as_ptr() as usize - rest.as_ptr() as usize) as u32;
                let span = Span {
                    start: start + offset,
                    end: start + offset + word.len() as u32,
                };
                self.mention(self.known(word), span);
            }
            start += end as u32;
            rest = &rest[end..];
        }
    }

    fn cases<T>(&mut self, cases: &Cases<'s, T>, mut each: impl FnMut(&mut Self, &T)) {
        for (members, value) in &cases.cases {
            members.iter().for_each(|member| self.refer(*member));
            each(self, value);
        }
        if let Some((_, value)) = &cases.other {
            each(self, value);
        }
    }

    fn exprs<'e>(&mut self, all: impl IntoIterator<Item = &'e Expr<'s>>)
    where
        's: 'e,
    {
        all.into_iter().for_each(|expr| self.expr(expr));
    }

    fn expr(&mut self, expr: &Expr<'s>) {
        match &expr.kind {
            ExprKind::Poison | ExprKind::Int(_) | ExprKind::Bool(_) => {}
            ExprKind::Name(name) => self.refer(*name),
            ExprKind::Index(name, index) => {
                self.refer(*name);
                self.expr(index);
            }
            ExprKind::Path(name, selectors) => {
                self.refer(*name);
                for selector in selectors {
                    match selector {
                        Selector::Index(index) => self.expr(index),
                        Selector::Field(name) => self.field(*name),
                    }
                }
            }
            ExprKind::LocalOf {
                process,
                instance,
                local,
                index,
            } => {
                self.refer(*process);
                self.expr(instance);
                let owner = self.known(process.text);
                let local_of = owner.and_then(|owner| self.locals.get(&(owner, local.text)));
                self.mention(local_of.copied(), local.span);
                self.exprs(index.as_deref());
            }
            ExprKind::Record(name, fields) => {
                self.refer(*name);
                for (name, value) in fields {
                    self.field(*name);
                    self.expr(value);
                }
            }
            ExprKind::Quantified(quantified) => {
                match &quantified.over {
                    QuantifierDomain::Range(from, to) => self.exprs([from, to]),
                    QuantifierDomain::Array(array) => self.expr(array),
                }
                self.scoped(expr.span.end, |walk| {
                    walk.local(quantified.name, SymbolKind::Local);
                    walk.expr(&quantified.body);
                });
            }
            ExprKind::Match(value, cases) => {
                self.expr(value);
                self.cases(cases, |walk, value| walk.expr(value));
            }
            ExprKind::Operation { place, args, .. } => {
                self.expr(place);
                self.exprs(args);
            }
            ExprKind::Call(name, args) => {
                self.refer(*name);
                self.exprs(args);
            }
            ExprKind::Unary(_, inner) => self.expr(inner),
            ExprKind::Binary(_, _, left, right) => self.exprs([&**left, &**right]),
            ExprKind::If(test, then, other) => self.exprs([&**test, &**then, &**other]),
            ExprKind::Input(ty) => ty.iter().for_each(|ty| self.ty(ty)),
            ExprKind::Choose(from, to) => self.exprs([&**from, &**to]),
        }
    }
}

/// Returns the words of a text that may be names.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    parts.filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}
