//! Checks the declarations at the top level of a file: declares their names, then evaluates
//! constants, sizes of arrays and initial values, then checks the bodies. `file` fixes this order.

use super::body::BodyChecker;
use super::functions::Inlined;
use super::initial::{FillTarget, Mode, assert_range};
use super::objects::{CurrentProcess, HIDDEN};
use super::records::{Declared, Part, Struct, TypeName};
use super::{Checker, ConstantValue, ExpectedName, Global};
use crate::check::hir::{
    Enum, Expr, ExprKind, Frame, Goal, Lock, LockId, Procedure, ProcedureId, Property, Shape, Type,
    Var, VarId,
};
use crate::syntax::ast::{File, Init, Item, Name, PropertyKind, TypeExpr};
use mazurka_core::{Kind, Kinds};
use mazurka_diagnostics::{Diagnostic, Span};

/// Limit on the number of fields of a `struct`, including the fields of nested `struct`s.
const MAX_FIELDS: usize = 4096;

impl<'s> Checker<'s> {
    /// Checks a whole file. `readable` says that the parser found no mistake.
    pub(super) fn file(&mut self, file: &File<'s>, source: &str, readable: bool) {
        self.declare_types(file);
        self.declare(file);
        self.check_setting_names();
        self.constants(file);
        self.sizes(file);
        let clients = self.declare_operations(file);
        self.objects(file, clients);
        self.declare_ghosts(file);
        self.refines(file);
        for id in 0..self.functions.len() {
            self.function(id as u32);
        }
        for item in &file.items {
            match item {
                Item::Property { .. } | Item::Prove { .. } | Item::Observe(_) => {
                    self.property(item)
                }
                Item::Allows(..) | Item::ExpectsDeterminism(_) => self.allowances(item),
                _ => {}
            }
        }
        self.procedures(file);
        let mut any_process = false;
        for item in &file.items {
            if let Item::Process { name, range, body } = item {
                any_process = true;
                self.process(*name, range.as_ref(), body);
            }
        }
        self.clients(file);
        any_process |= file.items.iter().any(|item| matches!(item, Item::Spec(_)));
        self.check_spawned();
        for item in &file.items {
            self.temporal(item);
        }
        self.check_ghosts();
        if !any_process && readable {
            let end = source.trim_end().len() as u32;
            let span = Span { start: end, end };
            self.report(
                Diagnostic::new("M0206", span, "this file has no process")
                    .label("expected a process")
                    .help("write `process { … }`; a procedure runs only if a process calls it"),
            );
        }
    }

    /// Declares the types in the order of the file, and the members of each `enum`. A type can
    /// contain only types that are declared before it.
    fn declare_types(&mut self, file: &File<'s>) {
        for item in &file.items {
            let (name, declared) = match item {
                Item::Enum { name, members } => {
                    let Ok(id) = u16::try_from(self.program.enums.len()) else {
                        continue;
                    };
                    if members.is_empty() {
                        self.report(
                            Diagnostic::new("M0406", name.span, "an `enum` without members")
                                .label("expected at least 1")
                                .help("write `enum State { Idle, Busy }`"),
                        );
                    }
                    for (at, member) in members.iter().enumerate() {
                        let value = ConstantValue::Member(id, at as i64);
                        self.declare_global(*member, Global::Const(value));
                    }
                    self.program.enums.push(Enum {
                        name: name.text.to_owned(),
                        members: members.iter().map(|name| name.text.to_owned()).collect(),
                    });
                    (*name, TypeName::Enum(id))
                }
                Item::Struct { name, fields } => {
                    let id = self.structs.len() as u32;
                    let mut known = rustc_hash::FxHashMap::default();
                    for (field, ty) in fields {
                        self.declare_once(&mut known, *field, "a field");
                        self.known_type(ty);
                        BodyChecker::new(self).no_atomic(ty);
                    }
                    if fields.is_empty() {
                        self.report(
                            Diagnostic::new("M0406", name.span, "a `struct` without fields")
                                .label("expected at least 1")
                                .help("write `struct Pair { x: int, y: int }`"),
                        );
                    }
                    let leaves = fields.iter().map(|(_, ty)| self.declared(&ty.base));
                    let leaves = leaves.map(|of| self.count_leaves(of)).sum();
                    if leaves > MAX_FIELDS {
                        self.report(
                            Diagnostic::new("M0410", name.span, "this `struct` is too large")
                                .label(format!("with all that is in it, {leaves} fields"))
                                .help(format!("at most {MAX_FIELDS} are possible")),
                        );
                        continue;
                    }
                    self.structs.push(Struct {
                        name: *name,
                        fields: fields.clone(),
                        leaves,
                    });
                    (*name, TypeName::Struct(id))
                }
                _ => continue,
            };
            match self.types.get(name.text) {
                None => {
                    self.types.insert(name.text, (declared, name.span));
                }
                Some(&(_, first)) => self.declared_twice(name, first),
            }
        }
    }

    /// Declares all other names of the file. Values of constants and sizes are computed later.
    fn declare(&mut self, file: &File<'s>) {
        let mut atomicity: Option<Span> = None;
        let mut properties = rustc_hash::FxHashMap::default();
        let mut processes = rustc_hash::FxHashMap::default();
        let mut specified = false;
        for item in &file.items {
            match item {
                Item::Var { names, ty, .. } => {
                    let declared = self.known_type(ty);
                    for &name in names {
                        self.declare_var(name, ty, declared);
                    }
                }
                Item::Object(object) => self.declare_object(object.name),
                // A lock in a `try` or an alternative of a `select` is an object.
                Item::Lock { name, .. } if self.tried.contains(name.text) => {
                    self.declare_object(*name);
                }
                Item::Lock { name, len } => {
                    let id = LockId(self.program.locks.len() as u32);
                    self.program.locks.push(Lock {
                        name: name.text.to_owned(),
                        len: len.as_ref().map(|_| 1),
                        span: name.span,
                    });
                    self.declare_global(*name, Global::Lock(id));
                }
                Item::Const { name, .. } => {
                    self.declare_global(*name, Global::Pending);
                }
                Item::Proc { name, params, .. } => {
                    let id = ProcedureId(self.program.procedures.len() as u32);
                    self.program.procedures.push(Procedure {
                        name: name.text.to_owned(),
                        params: params.len() as u32,
                        frame: Frame::default(),
                        body: Vec::new(),
                    });
                    let params = params.iter().map(|(_, ty)| self.known_type(ty));
                    let params = params.collect();
                    self.signatures.push(params);
                    self.declare_global(*name, Global::Proc(id));
                }
                Item::Function(function) => {
                    let id = self.functions.len() as u32;
                    self.functions.push(Inlined {
                        function: std::rc::Rc::clone(function),
                        valid: false,
                    });
                    self.declare_global(function.name, Global::Function(id));
                }
                Item::Property {
                    name: Some(name), ..
                }
                | Item::Temporal {
                    name: Some(name), ..
                } => {
                    self.not_a_kind(*name);
                    self.declare_once(&mut properties, *name, "a property");
                }
                Item::Process {
                    name: Some(name), ..
                } => {
                    self.declare_once(&mut processes, *name, "a process");
                }
                // `spec_of` reports a second specification.
                Item::Spec(spec) if !std::mem::replace(&mut specified, true) => {
                    let [property, client] = Self::names_of_spec(spec);
                    self.declare_once(&mut properties, property, "a property");
                    self.declare_once(&mut processes, client, "a process");
                }
                Item::Atomicity(value, span) => match atomicity {
                    None => {
                        atomicity = Some(*span);
                        self.program.atomicity = *value;
                    }
                    Some(first) => self.report(
                        Diagnostic::new("M0412", *span, "`atomicity` is given twice")
                            .label("the second one")
                            .related(first, "the first one")
                            .help("remove one of them"),
                    ),
                },
                _ => {}
            }
        }
    }

    /// Declares a shared variable. A variable of a `struct` type becomes one variable for each
    /// field. The sizes of arrays are not known yet.
    fn declare_var(&mut self, name: Name<'s>, ty: &TypeExpr<'s>, declared: Declared) {
        let shape = Shape::plain(name.text, vec![1; ty.dims.len()]);
        let var = Var {
            name: name.text.to_owned(),
            ty: declared.plain().unwrap_or(Type::Int),
            atomic: ty.atomic.is_some(),
            object: false,
            holds: false,
            len: shape.elements(),
            shape,
            init: None,
            span: name.span,
        };
        let global = match declared {
            Declared::Struct(id) => Global::Record(self.shared_record(id, &var.shape, &var)),
            _ => {
                let id = VarId(self.program.vars.len() as u32);
                self.program.vars.push(var);
                match declared {
                    Declared::Plain(_) => Global::Var(id),
                    _ => Global::Poison,
                }
            }
        };
        self.declare_global(name, global);
    }

    pub(super) fn declare_global(&mut self, name: Name<'s>, global: Global) {
        match self.globals.get(name.text) {
            None => {
                self.globals.insert(name.text, (global, name.span));
            }
            Some(&(_, first)) => self.declared_twice(name, first),
        }
    }

    fn declare_once(
        &mut self,
        known: &mut rustc_hash::FxHashMap<&'s str, Span>,
        name: Name<'s>,
        what: &str,
    ) {
        if let Some(&first) = known.get(name.text) {
            self.report(
                Diagnostic::new(
                    "M0202",
                    name.span,
                    format!("`{}` is already the name of {what}", name.text),
                )
                .label("the second one")
                .related(first, "the first one")
                .help("choose another name"),
            );
        } else {
            known.insert(name.text, name.span);
        }
    }

    fn declared_twice(&mut self, name: Name<'s>, first: Span) {
        self.report(
            Diagnostic::new(
                "M0202",
                name.span,
                format!("`{}` is declared twice", name.text),
            )
            .label("declared again here")
            .related(first, "declared first here")
            .help("choose another name, or remove one of the declarations"),
        );
    }

    fn constants(&mut self, file: &File<'s>) {
        for item in &file.items {
            let Item::Const { name, value } = item else {
                continue;
            };
            let Init::Value(value) = value else {
                let table = self.constant_array(*name, value);
                if let Some((global, span)) = self.globals.get_mut(name.text)
                    && *span == name.span
                {
                    *global = table.map_or(Global::Poison, Global::Table);
                }
                continue;
            };
            let declared = BodyChecker::new(self).const_value(value, "a constant");
            let value = self.set_const(name.text, declared).or(declared);
            // Only the first declaration of a name counts.
            if let Some((global, span)) = self.globals.get_mut(name.text)
                && *span == name.span
            {
                *global = value.map_or(Global::Poison, Global::Const);
                self.program.constants.insert(name.text.to_owned());
            }
        }
    }

    /// Computes the sizes and initial values of variables and locks.
    fn sizes(&mut self, file: &File<'s>) {
        let (mut vars, mut locks) = (0, 0);
        for item in &file.items {
            match item {
                Item::Var { names, ty, init } => {
                    let first = vars;
                    vars += names.len() * self.count_leaves(self.declared(&ty.base));
                    self.var(first, names, ty, init.as_ref());
                }
                Item::Lock { name, .. } if self.tried.contains(name.text) => {}
                Item::Lock { len, .. } => {
                    let index = locks;
                    locks += 1;
                    if let Some(len) = len {
                        let len = BodyChecker::new(self).dims(std::slice::from_ref(len), 1, true);
                        let len = len.and_then(|len| len.first().copied());
                        self.program.locks[index].len = Some(len.unwrap_or(1));
                    }
                }
                _ => {}
            }
        }
    }

    fn var(
        &mut self,
        first: usize,
        names: &[Name<'s>],
        ty: &TypeExpr<'s>,
        init: Option<&Init<'s>>,
    ) {
        let outer = names.len() as u64;
        let Some(dims) = BodyChecker::new(self).dims(&ty.dims, outer, true) else {
            return;
        };
        let of = self.declared(&ty.base);
        // If the user sets the values (`--set`), the list in the file need not fit the array.
        let replaced = names.iter().all(|name| self.is_set(name.text));
        let before = self.diagnostics.len();
        let values = match init {
            None => None,
            Some(Init::List(..) | Init::Each { .. }) if replaced => None,
            Some(init) => {
                let what = FillTarget {
                    name: names[0],
                    dims: &dims,
                    element: of,
                    mode: Mode::Constant,
                };
                Some(BodyChecker::new(self).filled(what, init))
            }
        };
        let right = self.diagnostics.len() == before;
        let values = values.filter(|_| right && of != Declared::Poison && !self.full);
        let each = self.count_leaves(of);
        for (offset, name) in names.iter().enumerate() {
            let first = first + offset * each;
            let span = name.span.to(ty.span);
            match (of, self.globals.get(name.text)) {
                (Declared::Struct(_), Some(&(Global::Record(record), declared)))
                    if declared == name.span =>
                {
                    if self.size_record(record, &dims, span).is_none() {
                        return;
                    }
                }
                (Declared::Struct(_), _) => {}
                _ => {
                    let var = &mut self.program.vars[first];
                    var.shape.dims.clone_from(&dims);
                    var.len = var.shape.elements();
                    self.state_range(VarId(first as u32), ty, span);
                }
            }
            for leaf in 0..each {
                let given = values.as_ref().map(|values| &values[leaf][..]);
                self.set_initial(first + leaf, given, right && init.is_none());
            }
        }
    }

    /// Sets the initial value of a variable. `open` says that the file gives no initial value.
    fn set_initial(&mut self, at: usize, given: Option<&[Expr]>, open: bool) {
        let Some(var) = self.program.vars.get(at) else {
            return;
        };
        let (name, ty, shape, span) = (var.name.clone(), var.ty, var.shape.clone(), var.span);
        let set = self.set_var(&name, ty, &shape);
        let init = set.or_else(|| {
            let known = given?.iter().map(|value| match value.kind {
                ExprKind::Const(value) => Some(value),
                _ => None,
            });
            known.collect()
        });
        if init.is_none() && open {
            if let Type::Enum(_) = ty {
                self.report(
                    Diagnostic::new("M0424", span, format!("`{name}` has no initial value"))
                        .label("only numbers and truth values can be symbolic")
                        .help("write `= …` with a member of the `enum`"),
                );
            }
            // An unknown initial value may be assumed to be in the range of its type.
            let var = VarId(at as u32);
            let stated = self.program.invariants.iter();
            let of_var = |property: &&Property| {
                let mut found = false;
                property.expr.walk(&mut |e| {
                    found |= match &e.kind {
                        ExprKind::Shared(id) => *id == var,
                        ExprKind::Element(id, _) => *id == var,
                        _ => false,
                    };
                });
                found
            };
            // The properties of the file are added later, so all invariants so far are ranges that
            // types require.
            let ranges: Vec<Property> = stated.filter(of_var).cloned().collect();
            self.program.requires.extend(ranges);
        }
        self.program.vars[at].init = init;
    }

    /// Whether a list has as many values as the variable has elements. Reports any other list.
    pub(super) fn list_fits(
        &mut self,
        name: &str,
        found: usize,
        len: Option<u32>,
        span: Span,
    ) -> bool {
        let diagnostic = match len {
            Some(len) if len as usize == found => return true,
            Some(len) => Diagnostic::new(
                "M0311",
                span,
                format!("`{name}` has {len} elements, but this list has {found}"),
            )
            .label(format!("expected {len} values"))
            .help("give one value for each element, or one for all without `[ ]`"),
            None => Diagnostic::new("M0311", span, format!("`{name}` is not an array"))
                .label("expected one value")
                .help(format!(
                    "write the value without `[ ]`, or give `{name}` a size: `int[{found}]`"
                )),
        };
        self.report(diagnostic);
        false
    }

    fn property(&mut self, item: &Item<'s>) {
        match item {
            Item::Property {
                kind,
                name,
                expr,
                span,
            } => {
                let what = match kind {
                    PropertyKind::Requires => "`requires`",
                    PropertyKind::Invariant => "an invariant",
                    PropertyKind::Ensures => "`ensures`",
                    PropertyKind::Cover => "`cover`",
                };
                let expr = BodyChecker::new(self).condition(expr, what);
                let property = Property {
                    name: name.map(|name| name.text.to_owned()),
                    expr,
                    span: *span,
                };
                match kind {
                    PropertyKind::Requires => self.program.requires.push(property),
                    PropertyKind::Invariant => self.program.invariants.push(property),
                    PropertyKind::Ensures => self.program.ensures.push(property),
                    PropertyKind::Cover => self.program.covers.push(property),
                }
            }
            Item::Prove { name, goal, span } => self.program.goals.push(Goal {
                name: name.map(|name| name.text.to_owned()),
                formula: goal.clone(),
                span: *span,
            }),
            Item::Observe(names) => {
                for &name in names {
                    let ids = self.observed(name);
                    let observed = self.program.observe.get_or_insert_default();
                    observed.extend(ids.into_iter().filter(|id| self.observed.insert(*id)));
                }
            }
            _ => {}
        }
    }

    /// Records which kinds of violations the file allows or expects.
    fn allowances(&mut self, item: &Item<'s>) {
        let program = &mut self.program;
        let span = match *item {
            Item::Allows(kinds, span) => {
                program.allowed = kinds.iter().fold(program.allowed, Kinds::with);
                span
            }
            Item::ExpectsDeterminism(span) => {
                program.expects_determinism = true;
                span
            }
            _ => return,
        };
        if program.expects_determinism && program.allowed.contains(Kind::Nondeterminism) {
            self.report(
                Diagnostic::new(
                    "M0207",
                    span,
                    "the file allows different results, and expects equal ones".to_owned(),
                )
                .label("this contradicts an earlier declaration")
                .help("keep one of `allows nondeterminism` and `expects deterministic`"),
            );
        }
    }

    pub(super) fn observed(&mut self, name: Name<'s>) -> Vec<VarId> {
        match self.globals.get(name.text) {
            Some(&(Global::Var(id), _)) => vec![id],
            Some(&(Global::Record(id), _)) => {
                let mut leaves = Vec::new();
                self.leaves(id, &mut leaves);
                let vars = leaves.into_iter().filter_map(|leaf| match leaf {
                    Part::Var(id) => Some(id),
                    _ => None,
                });
                vars.collect()
            }
            Some(&(Global::Poison, _)) => Vec::new(),
            Some(&(other, span)) => {
                self.report(
                    Diagnostic::new(
                        "M0204",
                        name.span,
                        format!("`{}` is {}", name.text, other.describe()),
                    )
                    .label("expected a shared variable")
                    .related(span, "declared here")
                    .help("`observe` names shared variables"),
                );
                Vec::new()
            }
            None => {
                self.unknown_name(name, ExpectedName::Value, &[], None);
                Vec::new()
            }
        }
    }

    fn procedures(&mut self, file: &File<'s>) {
        let mut index = 0;
        for item in &file.items {
            let Item::Proc {
                name: of,
                params,
                body,
            } = item
            else {
                continue;
            };
            let signature = self.signatures[index].clone();
            let mut inner = BodyChecker::of_process(self);
            inner.in_procedure = true;
            let mut seen: Option<&std::rc::Rc<TypeExpr<'s>>> = None;
            let mut range_checks = Vec::new();
            for ((name, ty), declared) in params.iter().zip(signature.iter()) {
                // The parameters of `a, b: T` share the type, so a mistake in the type is reported
                // once.
                let first = seen.is_none_or(|before| !std::rc::Rc::ptr_eq(before, ty));
                seen = Some(ty);
                if first {
                    if !ty.dims.is_empty() {
                        inner.array_parameter(*name, ty.span);
                    }
                    inner.no_atomic(ty);
                }
                match declared {
                    Declared::Struct(id) => {
                        let shape = Shape::plain(name.text, Vec::new());
                        match inner.local_record(*id, &shape) {
                            Some(record) => inner.declare_record(*name, record),
                            None => {
                                inner.declare(*name, None, Vec::new());
                            }
                        }
                    }
                    _ => {
                        let local = inner.declare(*name, declared.plain(), Vec::new());
                        if let Some(range) = inner.range(ty) {
                            inner.ranges.insert(local, range);
                        }
                    }
                }
            }
            let ranges: Vec<_> = inner
                .ranges
                .iter()
                .map(|(id, range)| (*id, *range))
                .collect();
            for (id, range) in ranges {
                let local = &inner.frame.locals[id.0 as usize];
                if local.len.is_none() {
                    let span = params
                        .first()
                        .map(|(name, _)| name.span)
                        .unwrap_or_default();
                    let value = Expr {
                        kind: ExprKind::Local(id),
                        ty: Type::Int,
                        span,
                    };
                    range_checks.push((id, assert_range(value, &local.name, range, span)));
                }
            }
            range_checks.sort_by_key(|(id, _)| *id);
            if inner.c.processes.identified {
                let shape = Shape::plain(HIDDEN, Vec::new());
                inner.current =
                    CurrentProcess::Caller(index as u32, inner.new_local(shape, Type::Int));
            }
            inner.begin_operation(of.text);
            let params = inner
                .frame
                .locals
                .iter()
                .map(|local| local.len.unwrap_or(1))
                .sum();
            let mut statements: Vec<_> = range_checks.into_iter().map(|(_, stmt)| stmt).collect();
            statements.extend(inner.statements(body));
            inner.end_operation(body, &mut statements);
            let frame = inner.frame;
            let procedure = &mut self.program.procedures[index];
            procedure.frame = frame;
            procedure.params = params;
            procedure.body = statements;
            index += 1;
        }
    }
}
