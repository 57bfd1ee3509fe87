//! Checks temporal properties, such as `eventually done: p.x == 1`. Their conditions are collected
//! in `Program::conditions`, and the properties refer to them by index. The locals of processes
//! that they mention, such as `p.x`, are collected in `Program::watched`.

use super::Checker;
use super::body::BodyChecker;
use crate::check::hir::{
    LocalId, LocalOf, Process, Spawned, Stmt, StmtKind, TemporalProperty, Type,
};
use crate::syntax::ast::{self, Item, Name, TemporalKind};
use mazurka_core::{Kind, Kinds, Temporal};
use mazurka_diagnostics::{Diagnostic, Span};

/// A local of a process, as written: `p.x`, `p(1).x`.
pub(super) struct NamedLocal<'a, 's> {
    pub process: Name<'s>,
    pub instance: Option<&'a ast::Expr<'s>>,
    pub local: Name<'s>,
    pub span: Span,
}

impl<'s> Checker<'s> {
    /// Checks a temporal property. The processes must be known.
    pub(super) fn temporal(&mut self, item: &Item<'s>) {
        let Item::Temporal {
            kind,
            name,
            conditions,
            span,
        } = item
        else {
            return;
        };
        let first = self.program.conditions.len();
        for condition in conditions {
            let watched = self.program.watched.iter();
            let locals = watched.map(|watched| watched.declared.clone()).collect();
            let mut body = BodyChecker::new(self);
            body.frame.locals = locals;
            body.temporal = true;
            let condition = body.condition(condition, "a temporal property");
            self.program.conditions.push(condition);
        }
        let says = match kind {
            TemporalKind::Always => Temporal::Always(first),
            TemporalKind::Eventually => Temporal::Eventually(first),
            TemporalKind::InfinitelyOften => Temporal::InfinitelyOften(first),
            TemporalKind::LeadsTo => Temporal::LeadsTo(first, first + 1),
        };
        self.program.temporal.push(TemporalProperty {
            name: name.map(|name| name.text.to_owned()),
            says,
            span: *span,
        });
    }

    /// Reports a property with the name of a kind of violation, such as `deadlock`, because
    /// `--property` accepts both names of properties and kinds of violations.
    pub(super) fn not_a_kind(&mut self, name: Name<'s>) {
        let is_kind = Kind::ALL.iter().any(|kind| kind.name() == name.text);
        if is_kind || Kinds::parse(name.text).is_some() {
            self.report(
                Diagnostic::new(
                    "M0208",
                    name.span,
                    format!("a property cannot be called `{}`", name.text),
                )
                .label("`--property` knows this name already")
                .help("choose another name"),
            );
        }
    }
}

impl<'s> BodyChecker<'_, 's> {
    /// Returns the index of the local in the frame of the property; reports an unknown local.
    pub(super) fn watched_local(&mut self, named: &NamedLocal<'_, 's>) -> Option<LocalId> {
        let process = self.process_named(named)?;
        let local = self.local_named(process, named.local)?;
        let watched = &mut self.c.program.watched;
        let same = |known: &LocalOf| known.process as usize == process && known.local == local;
        let known = watched.iter().position(same);
        let at = known.unwrap_or_else(|| {
            let frame = &self.c.program.processes[process].frame;
            let declared = frame.locals[local.0 as usize].clone();
            self.frame.locals.push(declared.clone());
            watched.push(LocalOf {
                process: process as u32,
                local,
                declared,
            });
            watched.len() - 1
        });
        Some(LocalId(at as u32))
    }

    fn no_such_local(&mut self, at: Span, what: String, label: &str, help: String) {
        self.report(Diagnostic::new("M0209", at, what).label(label).help(help));
    }

    /// Returns the index of the process that is named; reports an unknown process.
    fn process_named(&mut self, named: &NamedLocal<'_, 's>) -> Option<usize> {
        let name = named.process.text;
        let span = named.process.span;
        let instance = match named.instance {
            Some(expr) => Some(self.const_int(expr, "the number of a process")?),
            None => None,
        };
        let all = self.c.program.processes.iter().enumerate();
        let same = |process: &Process| process.name.as_deref() == Some(name);
        let of_name: Vec<(usize, Option<i64>)> = all
            .filter(|(_, process)| same(process))
            .map(|(at, process)| (at, process.instance))
            .collect();
        let found = of_name.iter().find(|(_, number)| *number == instance);
        if let Some(&(at, _)) = found {
            return Some(at);
        }
        let (what, help) = match (&of_name[..], instance) {
            // Processes are made after all conditions except the temporal ones.
            ([], _) if self.c.program.processes.is_empty() => (
                "only temporal properties name the locals of processes".to_owned(),
                format!(
                    "write `always …`, or assign `{}` to a `ghost` variable",
                    named.local.text
                ),
            ),
            ([], _) => (
                format!("there is no process `{name}`"),
                "name a process that the file starts: `process p { … }`".to_owned(),
            ),
            ([(_, None), ..], _) => (
                format!("there is one process `{name}` only"),
                format!("write `{name}.{}`", named.local.text),
            ),
            ([(_, Some(first)), ..], None) => (
                format!("there are several processes `{name}`"),
                format!("name one of them: `{name}({first}).{}`", named.local.text),
            ),
            ([(_, Some(first)), ..], Some(number)) => (
                format!("there is no process `{name}({number})`"),
                format!("they are numbered from {first}"),
            ),
        };
        self.no_such_local(span, what, "expected a process", help);
        None
    }

    /// Returns the local of a process that is named; reports an unknown local.
    fn local_named(&mut self, process: usize, name: Name<'s>) -> Option<LocalId> {
        let process = &self.c.program.processes[process];
        let spawned = spawned_locals(&process.body);
        let called = process.name.clone().unwrap_or_default();
        let all = process.frame.locals.iter().enumerate();
        let named: Vec<LocalId> = all
            .filter(|(_, local)| local.name == name.text)
            .map(|(at, _)| LocalId(at as u32))
            .collect();
        let own: Vec<LocalId> = named
            .iter()
            .copied()
            .filter(|local| !spawned.contains(local))
            .collect();
        let handle = |local: &LocalId| process.frame.locals[local.0 as usize].ty == Type::Process;
        let (what, help) = match (&own[..], named.is_empty()) {
            ([one], _) if !handle(one) => return Some(*one),
            ([_], _) => (
                format!("`{}` is a process, which has no value", name.text),
                "a temporal property is about numbers and truth values",
            ),
            ([], true) => (
                format!("process `{called}` has no local `{}`", name.text),
                "name a local of its body; the locals of procedures cannot be named",
            ),
            ([], false) => (
                format!("`{}` is a local of what `{called}` spawns", name.text),
                "the locals of spawned processes cannot be named: assign it to a shared variable",
            ),
            _ => (
                format!("process `{called}` has several locals `{}`", name.text),
                "give them different names",
            ),
        };
        self.no_such_local(
            name.span,
            what,
            "expected a local of the process",
            help.to_owned(),
        );
        None
    }
}

/// Returns the locals declared in blocks that a body spawns.
fn spawned_locals(body: &[Stmt]) -> Vec<LocalId> {
    let mut locals = Vec::new();
    let mut declares = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Let(local, _) | StmtKind::For { local, .. } => locals.push(*local),
        StmtKind::Spawn(Some(handle), _) => locals.push(*handle),
        _ => {}
    };
    let mut visit = |stmt: &Stmt| {
        if let StmtKind::Spawn(_, Spawned::Block(block)) = &stmt.kind {
            block.iter().for_each(|inner| inner.walk(&mut declares));
        }
    };
    body.iter().for_each(|stmt| stmt.walk(&mut visit));
    locals
}
