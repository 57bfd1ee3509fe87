//! Synchronisation objects: semaphores, reader–writer locks, condition variables, barriers, and
//! locks that a `try` or a `select` tries to take.
//!
//! Objects are lowered to shared variables. If it matters which process holds an object or waits
//! for it, the object has an array with one element for each process that exists from the start. So
//! an operation touches only the elements that it depends on, and a state shows which process holds
//! which object. A spawned process has no element, so the checker refuses these operations in
//! spawned processes. `synchronise.rs` lowers the operations.

use mazurka_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashSet;

use super::body::BodyChecker;
use super::records::with_field;
use super::{Checker, Global, MAX_ELEMENTS, MAX_PROCESSES};
use crate::check::hir::{self, Enum, LocalId, Shape, Spawned, Stmt, StmtKind, Type, Var, VarId};
use crate::syntax::ast::{self, File, Item, Name, ObjectKind};

/// An object, or an array of objects, with the variables that it is lowered to.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub kind: LoweredKind,
    /// The number of dimensions of the array; 0 for a single object.
    pub dims: usize,
}

/// The kinds of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoweredKind {
    /// The number of permits left.
    Semaphore {
        permits: VarId,
    },
    /// The processes that read, and the process that writes.
    RwLock {
        readers: VarId,
        writer: VarId,
    },
    /// The processes that wait.
    Cond {
        waiters: VarId,
        spurious: bool,
    },
    /// The processes that wait, and how many must arrive.
    Barrier {
        waiters: VarId,
        parties: i64,
    },
    /// A lock that some statement tries, with its holder.
    Mutex {
        holder: VarId,
    },
    Channel(Channel),
    /// An object whose declaration has a mistake.
    Poison,
}

/// The variables of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Channel {
    /// The number of waiting messages.
    pub count: VarId,
    /// The messages.
    pub payload: Payload,
    /// Limit on the number of waiting messages.
    pub places: u32,
    /// Whether `places` is only a limit of the exploration, so that sends never wait.
    pub unbounded: bool,
}

impl LoweredKind {
    /// Returns its name in messages.
    pub(super) fn noun(self) -> &'static str {
        match self {
            LoweredKind::Semaphore { .. } => "a semaphore",
            LoweredKind::RwLock { .. } => "a reader–writer lock",
            LoweredKind::Cond { .. } => "a condition variable",
            LoweredKind::Barrier { .. } => "a barrier",
            LoweredKind::Mutex { .. } => "a lock",
            LoweredKind::Channel(_) => "a channel",
            LoweredKind::Poison => "something wrong",
        }
    }
}

/// The kind of messages of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    /// Single values: the array that holds the messages, and their type.
    Value(VarId, Type),
    /// Values of a `struct` type: the index of the `struct`, and the index of the record (an array
    /// of it) that holds the messages.
    Struct(u32, u32),
}

/// The process that runs the current body, if the checker knows this process.
#[derive(Clone, Copy, Debug)]
pub(super) enum CurrentProcess {
    /// Unknown: a property, or a spawned process.
    Unknown,
    /// The process with this index.
    Process(i64),
    /// Any process that calls the procedure with this index. The hidden parameter of the procedure
    /// holds the index of the process.
    Caller(u32, LocalId),
}

/// The processes that exist from the start, for objects that identify them.
#[derive(Debug, Default)]
pub(super) struct Processes {
    /// Whether there are objects that identify processes.
    pub identified: bool,
    pub count: u32,
    /// The `enum` type of variables that hold a process or the value "none".
    pub ty: u16,
    /// For each procedure, whether it needs the index of its process.
    need_number: Vec<bool>,
}

/// Returns the locks in a `try` or an alternative of a `select`.
pub(super) fn tried_locks<'s>(file: &File<'s>) -> FxHashSet<&'s str> {
    let mut tried = FxHashSet::default();
    for item in &file.items {
        if let Item::Proc { body, .. } | Item::Process { body, .. } = item {
            body.iter().for_each(|stmt| tried_in(stmt, &mut tried));
        }
    }
    tried
}

fn tried_in<'s>(stmt: &ast::Stmt<'s>, into: &mut FxHashSet<&'s str>) {
    let mut tried = |operation: &ast::Stmt<'s>| {
        if let ast::StmtKind::Lock(name, _) = &operation.kind {
            into.insert(name.text);
        }
    };
    match &stmt.kind {
        ast::StmtKind::Try(_, operation) => tried(operation),
        ast::StmtKind::Select(_, alternatives, _) => {
            for alternative in alternatives {
                if let ast::Gate::Does(operation) = &alternative.gate {
                    tried(operation);
                }
            }
        }
        _ => {}
    }
    stmt.for_each_inner(&mut |inner| tried_in(inner, into));
}

impl<'s> Checker<'s> {
    /// Declares the name of an object. Its variables are added when sizes are known.
    pub(super) fn declare_object(&mut self, name: Name<'s>) {
        let id = self.objects.len() as u32;
        self.objects.push(Object {
            kind: LoweredKind::Poison,
            dims: 0,
        });
        self.declare_global(name, Global::Object(id));
    }

    /// Gives every object its variables. `clients` is the number of client processes, which follow
    /// the processes of the file.
    pub(super) fn objects(&mut self, file: &File<'s>, clients: i64) {
        let apart = |item: &Item<'s>| match item {
            Item::Object(object) => {
                !matches!(object.kind, ObjectKind::Semaphore | ObjectKind::Channel)
            }
            Item::Lock { name, .. } => self.tried.contains(name.text),
            _ => false,
        };
        if file.items.iter().any(apart) {
            self.number_processes(file, clients);
        }
        let mut id = 0;
        for item in &file.items {
            let object = match item {
                Item::Object(object) => self.object(object),
                Item::Lock { name, len } if self.tried.contains(name.text) => {
                    self.mutex(*name, len.as_ref())
                }
                _ => continue,
            };
            if let Some(object) = object {
                self.objects[id] = object;
            }
            id += 1;
        }
    }

    /// Numbers the processes, and declares the `enum` of processes.
    fn number_processes(&mut self, file: &File<'s>, clients: i64) {
        let mut members = vec!["none".to_owned()];
        for item in &file.items {
            let Item::Process { name, range, .. } = item else {
                continue;
            };
            let shown = |number: usize, instance: Option<i64>| match (name, instance) {
                (Some(name), Some(instance)) => format!("{}({instance})", name.text),
                (Some(name), None) => name.text.to_owned(),
                (None, _) => format!("process {}", number - 1),
            };
            let Some(range) = range else {
                members.push(shown(members.len(), None));
                continue;
            };
            // The check of the process reports mistakes in its range; here they are dropped.
            let before = self.diagnostics.len();
            let from = BodyChecker::new(self).const_int(&range.from, "the range of a process");
            let to = BodyChecker::new(self).const_int(&range.to, "the range of a process");
            self.diagnostics.truncate(before);
            let (Some(from), Some(to)) = (from, to) else {
                continue;
            };
            for instance in from..to {
                if members.len() as u64 > MAX_PROCESSES {
                    break;
                }
                members.push(shown(members.len(), Some(instance)));
            }
        }
        members.extend((0..clients).map(|client| format!("client({client})")));
        self.program.tells_processes_apart = true;
        self.processes = Processes {
            identified: true,
            count: members.len() as u32 - 1,
            ty: self.program.enums.len() as u16,
            need_number: vec![false; self.program.procedures.len()],
        };
        self.program.enums.push(Enum {
            name: "process".to_owned(),
            members,
        });
    }

    fn object(&mut self, object: &ast::Object<'s>) -> Option<Object> {
        let name = object.name;
        if object.kind == ObjectKind::Channel {
            return self.channel(object);
        }
        let dims = BodyChecker::new(self).dims(&object.dims, 1, true)?;
        let shape = Shape::plain(name.text, dims.clone());
        let value = match &object.value {
            Some(value) => Some(self.counted_value(object.kind, value)?),
            None => None,
        };
        let value = value.unwrap_or(0);
        let kind = match object.kind {
            ObjectKind::Semaphore => LoweredKind::Semaphore {
                permits: self.object_var(shape, Type::Int, value, name.span)?,
            },
            ObjectKind::RwLock => LoweredKind::RwLock {
                readers: self.flag_per_process(&shape, "readers", name.span)?,
                writer: self.holder(with_field(&shape, "writer", &[]), name.span)?,
            },
            ObjectKind::Cond | ObjectKind::SpuriousCond => LoweredKind::Cond {
                waiters: self.flag_per_process(&shape, "waiting", name.span)?,
                spurious: object.kind == ObjectKind::SpuriousCond,
            },
            ObjectKind::Barrier => LoweredKind::Barrier {
                waiters: self.flag_per_process(&shape, "waiting", name.span)?,
                parties: value,
            },
            ObjectKind::Channel => LoweredKind::Poison,
        };
        let dims = dims.len();
        Some(Object { kind, dims })
    }

    fn mutex(&mut self, name: Name<'s>, len: Option<&ast::Expr<'s>>) -> Option<Object> {
        let dims: Vec<u32> = match len {
            Some(len) => BodyChecker::new(self).dims(std::slice::from_ref(len), 1, true)?,
            None => Vec::new(),
        };
        let shape = Shape::plain(name.text, dims.clone());
        let holder = self.holder(shape, name.span)?;
        Some(Object {
            kind: LoweredKind::Mutex { holder },
            dims: dims.len(),
        })
    }

    /// Evaluates the number of permits of a semaphore, or the number of processes that a barrier
    /// waits for.
    fn counted_value(&mut self, kind: ObjectKind, value: &ast::Expr<'s>) -> Option<i64> {
        let (what, least) = match kind {
            ObjectKind::Semaphore => ("the number of permits", 0),
            _ => ("the number of processes", 1),
        };
        let number = BodyChecker::new(self).const_int(value, what)?;
        if number < least {
            self.report(
                Diagnostic::new("M0406", value.span, format!("{what} is {number}"))
                    .label(format!("expected at least {least}"))
                    .help("give a number, or a constant that has one"),
            );
            return None;
        }
        Some(number)
    }

    /// Adds a variable with one flag for each process.
    fn flag_per_process(&mut self, shape: &Shape, field: &str, span: Span) -> Option<VarId> {
        let shape = with_field(shape, field, &[self.processes.count.max(1)]);
        self.object_var(shape, Type::Bool, 0, span)
    }

    /// Adds a variable whose value is a process or "none".
    fn holder(&mut self, shape: Shape, span: Span) -> Option<VarId> {
        self.object_var(shape, Type::Enum(self.processes.ty), 0, span)
    }

    pub(super) fn object_var(
        &mut self,
        shape: Shape,
        ty: Type,
        init: i64,
        span: Span,
    ) -> Option<VarId> {
        let len: u64 = shape.dims.iter().map(|&dim| u64::from(dim)).product();
        self.elements = self.elements.saturating_add(len);
        if self.elements > MAX_ELEMENTS {
            self.report(
                Diagnostic::new("M0408", span, "too many array elements")
                    .label(format!("here the arrays exceed {MAX_ELEMENTS} elements"))
                    .help("make the arrays smaller, or start fewer processes"),
            );
            return None;
        }
        let id = VarId(self.program.vars.len() as u32);
        self.program.vars.push(Var {
            name: shape.parts.concat(),
            ty,
            atomic: true,
            object: true,
            holds: shape.parts.iter().any(|part| part.ends_with(".readers")),
            len: shape.elements(),
            shape,
            init: Some(vec![init; len as usize]),
            span,
        });
        Some(id)
    }

    /// Records that a procedure needs the index of its process, as a hidden parameter.
    pub(super) fn require_number(&mut self, procedure: u32) {
        if let Some(needs) = self.processes.need_number.get_mut(procedure as usize) {
            *needs = true;
        }
    }

    /// Reports spawned processes that run procedures which need the index of their process.
    pub(super) fn check_spawned(&mut self) {
        if !self.processes.identified {
            return;
        }
        let mut need_number = std::mem::take(&mut self.processes.need_number);
        loop {
            let before = need_number.clone();
            for (at, procedure) in self.program.procedures.iter().enumerate() {
                for stmt in &procedure.body {
                    for_each_call(stmt, &mut |callee| need_number[at] |= before[callee]);
                }
            }
            if need_number == before {
                break;
            }
        }
        let mut wrong = Vec::new();
        let procedures = self.program.procedures.iter().map(|p| &p.body);
        let processes = self.program.processes.iter().map(|p| &p.body);
        for stmt in procedures.chain(processes).flatten() {
            stmt.walk(&mut |stmt| match &stmt.kind {
                StmtKind::Spawn(_, Spawned::Call(id, _)) if need_number[id.0 as usize] => {
                    wrong.push(stmt.span);
                }
                StmtKind::Spawn(_, Spawned::Block(block)) => {
                    let calls = |callee: usize| need_number[callee];
                    let mut found = false;
                    for stmt in block {
                        for_each_call(stmt, &mut |callee| found |= calls(callee));
                    }
                    wrong.extend(found.then_some(stmt.span));
                }
                _ => {}
            });
        }
        wrong.sort_unstable_by_key(|span| span.start);
        wrong.dedup();
        wrong.into_iter().for_each(|span| self.not_spawned(span));
    }

    pub(super) fn not_spawned(&mut self, span: Span) {
        self.report(
            Diagnostic::new("M0426", span, "a spawned process cannot do this")
                .label("it waits for, or holds, an object that identifies processes by number")
                .help("declare the process, as in `process worker (i in 0..3) { … }`; spawned processes have `semaphore`, `chan`, and each `lock` that no `try` and no `select` tries"),
        );
    }
}

/// Calls `found` with the index of each procedure that a statement calls. Calls in spawned code do
/// not count.
fn for_each_call(stmt: &Stmt, found: &mut dyn FnMut(usize)) {
    match &stmt.kind {
        StmtKind::Call(id, _) => found(id.0 as usize),
        StmtKind::Spawn(..) => {}
        _ => stmt.inner().for_each(|inner| for_each_call(inner, found)),
    }
}

/// Whether a procedure has the hidden parameter that holds the index of its process.
pub(crate) fn has_hidden_parameter(procedure: &hir::Procedure) -> bool {
    let mut locals = procedure.frame.locals.iter();
    locals.any(|local| local.name == HIDDEN)
}

/// The name of the hidden parameter.
pub(super) const HIDDEN: &str = "$me";
