//! Declarations: which names there are, and what constants, sizes and initial values are.

use super::body::Body;
use super::{Checker, Global, Wanted};
use crate::check::hir::{
    Frame, Goal, Lock, LockId, Procedure, ProcedureId, Property, Type, Var, VarId,
};
use crate::syntax::ast::{self, File, Init, Item, Name, PropertyKind, TypeExpr};
use mazurka_core::{Kind, Kinds};
use mazurka_diagnostics::{Diagnostic, Span};

impl<'s> Checker<'s> {
    /// Checks a whole file. `readable`: the parser found no mistake.
    pub(super) fn file(&mut self, file: &File<'s>, source: &str, readable: bool) {
        self.declare(file);
        self.check_setting_names();
        self.constants(file);
        self.sizes(file);
        for item in &file.items {
            match item {
                Item::Property { .. } | Item::Prove { .. } | Item::Observe(_) => {
                    self.property(item)
                }
                Item::Allows(..) | Item::ExpectsDeterminism(_) => self.counted(item),
                _ => {}
            }
        }
        self.procedures(file);
        let mut any = false;
        for item in &file.items {
            if let Item::Process { name, range, body } = item {
                any = true;
                self.process(*name, range.as_ref(), body);
            }
        }
        for item in &file.items {
            self.temporal(item);
        }
        if !any && readable {
            let end = source.trim_end().len() as u32;
            let span = Span { start: end, end };
            self.report(
                Diagnostic::new("M0206", span, "this file has no process")
                    .label("expected a process")
                    .help("write `process { … }`; a procedure runs only if a process calls it"),
            );
        }
    }

    /// Gives every name its meaning.
    fn declare(&mut self, file: &File<'s>) {
        let mut atomicity: Option<Span> = None;
        let mut properties = rustc_hash::FxHashMap::default();
        let mut processes = rustc_hash::FxHashMap::default();
        for item in &file.items {
            match item {
                Item::Var { names, ty, .. } => {
                    for &name in names {
                        let id = VarId(self.program.vars.len() as u32);
                        self.program.vars.push(Var {
                            name: name.text.to_owned(),
                            ty: ty.base.unwrap_or(Type::Int),
                            atomic: ty.atomic.is_some(),
                            len: ty.len.as_ref().map(|_| 1),
                            init: None,
                            span: name.span,
                        });
                        let global = match ty.base {
                            Some(_) => Global::Var(id),
                            None => Global::Poison,
                        };
                        self.declare_global(name, global);
                    }
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
                    self.signatures
                        .push(params.iter().map(|(_, ty)| ty.base).collect());
                    self.declare_global(*name, Global::Proc(id));
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

    fn declare_global(&mut self, name: Name<'s>, global: Global) {
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
            let declared = Body::new(self).const_value(value, "a constant");
            let value = self.set_const(name.text, declared).or(declared);
            // A second declaration of the name does not count.
            if let Some((global, span)) = self.globals.get_mut(name.text)
                && *span == name.span
            {
                *global = value.map_or(Global::Poison, Global::Const);
                self.program.constants.insert(name.text.to_owned());
            }
        }
    }

    /// Sizes and initial values of variables and locks.
    fn sizes(&mut self, file: &File<'s>) {
        let (mut vars, mut locks) = (0, 0);
        for item in &file.items {
            match item {
                Item::Var { names, ty, init } => {
                    let first = vars;
                    vars += names.len();
                    self.var(first, names, ty, init.as_ref());
                }
                Item::Lock { len, .. } => {
                    let index = locks;
                    locks += 1;
                    if let Some(len) = len {
                        let len = Body::new(self).array_len(len, 1, true);
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
        let mut len = None;
        if let Some(expr) = &ty.len {
            len = Body::new(self).array_len(expr, names.len(), true);
            if len.is_none() {
                return;
            }
        }
        let Some(base) = ty.base else { return };
        // A list of the file need not fit an array whose size and values are set from outside.
        let replaced = names.iter().all(|name| self.is_set(name.text));
        let values = match init {
            None => None,
            Some(Init::List(..)) if replaced => None,
            Some(Init::Value(expr)) => self
                .initial_value(expr, base)
                .map(|value| vec![value; len.unwrap_or(1) as usize]),
            Some(Init::List(list, span)) => {
                if !self.list_fits(names[0].text, list.len(), len, *span) {
                    return;
                }
                list.iter()
                    .map(|expr| self.initial_value(expr, base))
                    .collect()
            }
        };
        for (offset, name) in names.iter().enumerate() {
            let set = self.set_var(name.text, base, len);
            let var = &mut self.program.vars[first + offset];
            var.len = len;
            var.init = set.or_else(|| values.clone());
        }
    }

    fn initial_value(&mut self, expr: &ast::Expr<'s>, ty: Type) -> Option<i64> {
        Body::new(self).const_of_type(expr, ty, "an initial value")
    }

    /// Reports a list of values whose length does not fit the variable.
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
                };
                let expr = Body::new(self).condition(expr, what);
                let property = Property {
                    name: name.map(|name| name.text.to_owned()),
                    expr,
                    span: *span,
                };
                match kind {
                    PropertyKind::Requires => self.program.requires.push(property),
                    PropertyKind::Invariant => self.program.invariants.push(property),
                    PropertyKind::Ensures => self.program.ensures.push(property),
                }
            }
            Item::Prove { name, goal, span } => self.program.goals.push(Goal {
                name: name.map(|name| name.text.to_owned()),
                formula: goal.clone(),
                span: *span,
            }),
            Item::Observe(names) => {
                for &name in names {
                    let id = self.observed(name);
                    let observed = self.program.observe.get_or_insert_default();
                    if let Some(id) = id
                        && self.observed.insert(id)
                    {
                        observed.push(id);
                    }
                }
            }
            _ => {}
        }
    }

    /// Which violations count.
    fn counted(&mut self, item: &Item<'s>) {
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
                    "different results are allowed and not expected".to_owned(),
                )
                .label("this contradicts what is said before")
                .help("keep one of `allows nondeterminism` and `expects deterministic`"),
            );
        }
    }

    fn observed(&mut self, name: Name<'s>) -> Option<VarId> {
        match self.globals.get(name.text) {
            Some(&(Global::Var(id), _)) => Some(id),
            Some(&(Global::Poison, _)) => None,
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
                None
            }
            None => {
                self.unknown_name(name, Wanted::Value, &[], None);
                None
            }
        }
    }

    fn procedures(&mut self, file: &File<'s>) {
        let mut index = 0;
        for item in &file.items {
            let Item::Proc { params, body, .. } = item else {
                continue;
            };
            let mut inner = Body::new(self);
            for (name, ty) in params {
                if ty.len.is_some() {
                    inner.array_parameter(*name, ty.span);
                }
                inner.no_atomic(ty);
                inner.declare(*name, ty.base, None);
            }
            let statements = inner.statements(body);
            let frame = inner.frame;
            let procedure = &mut self.program.procedures[index];
            procedure.frame = frame;
            procedure.body = statements;
            index += 1;
        }
    }
}
