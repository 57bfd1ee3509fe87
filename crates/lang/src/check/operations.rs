//! `op push(v: 1..3) { … }` and `spec object for 2 clients of 3 operations { … }`: linearizability.
//!
//! An object consists of operations on the shared variables of the file. It is checked with a given
//! number of clients. Each client makes a given number of calls, one after the other, and chooses
//! each call among all operations with all arguments. So the object is lowered to the client
//! processes, and to ghosts that hold the history:
//!
//! | ghost | what it holds |
//! |---|---|
//! | `$called[s]` | the index of slot s's call among all possible calls; −1 before the call |
//! | `$seen[s][q]` | how many slots of client q had ended when slot s was called |
//! | `$result[s]` | the result of the call |
//! | `$ended[q]` | the slot after the last ended slot of client q |
//!
//! A *slot* is the place of one call of a client; the slots of a client are adjacent. A *call* is a
//! step: it chooses, and reads `$ended` of all clients. A *return* writes `$ended` of its own
//! client, and belongs to the last step of the operation. Linearizability is an invariant over
//! `$ended`, so it is checked in the step of each return (`run/judge.rs`).
//!
//! Why this is enough, and what a trace preserves: whether the history of a run is linearizable
//! depends on which operations ended before which others were called, and on the results.
//!
//! - *Time is in the trace.* A call reads what the returns of other clients write, so the two are
//!   dependent, and equivalent runs agree on their order. Two calls are independent: their order
//!   changes no history. Two returns are dependent, because both write a variable of the same
//!   invariant. So all equivalent runs agree on the first return after which no order of the
//!   operations explains the history, and the violation counts once.
//! - *A return needs no separate step.* Let H be the history of a run in which an operation returns
//!   some time after its last step. If the operation returns at once, the history H' has the same
//!   operations and results, and at least as many operations end before others begin. An order that
//!   explains H' therefore explains H, so it is enough to check H'. A call does need a separate
//!   step: the later it is, the more operations end before it, so it cannot be part of the step
//!   before it.
//! - *It is enough to check returns.* An operation that has not returned needs no explanation, and
//!   an order that explains a history also explains its prefixes. So the history of every prefix of
//!   every run is checked, including runs that wait forever, run forever or fail.
//! - *Clients that make fewer calls* have histories that are prefixes of the histories checked
//!   here.

use mazurka_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;

use super::body::BodyChecker;
use super::initial::assert_range;
use super::objects::CurrentProcess;
use super::records::{Declared, number};
use super::synchronise::{binary, local};
use super::{Checker, MAX_PROCESSES};
use crate::check::hir::{
    BinaryOp, Expr, ExprKind, Leave, LinearCall, Linearizable, LocalId, Operation, Place,
    ProcedureId, Process, Property, Shape, Stmt, StmtKind, Type, Var, VarId,
};
use crate::syntax::ast::{self, File, Item, Name, OperationResult, Param, Spec};

/// Limit on the number of calls of a history.
const MAX_SLOTS: i64 = 64;

/// Limit on the number of calls that a client chooses from.
const MAX_CALLS: usize = 256;

/// The name of the property.
const PROPERTY: &str = "linearizable";

/// The name of the client processes.
const CLIENT: &str = "client";

/// Where the results of operations are stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum Returns {
    /// In the history of the clients.
    History { ended: VarId, result: VarId },
    /// In a variable of a specification.
    Variable(VarId),
}

/// What the checker knows about the operations of the object.
#[derive(Debug, Default)]
pub(super) struct Operations {
    /// The procedures that are operations, by name.
    known: FxHashMap<String, KnownOperation>,
    returns: Option<Returns>,
    /// The number of clients, and of the calls of each.
    clients: (i64, i64),
}

/// An operation.
#[derive(Clone, Copy, Debug)]
struct KnownOperation {
    result: Option<Type>,
    range: Option<(i64, i64)>,
    head: Span,
}

/// The operation whose body is being checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct CurrentOperation {
    known: KnownOperation,
    returns: Returns,
    /// The client and the slot of the call, as hidden parameters.
    client: LocalId,
    slot: LocalId,
}

impl<'s> Checker<'s> {
    pub(super) fn wrong_operation(
        &mut self,
        (code, span): (&'static str, Span),
        message: String,
        label: &str,
        help: &str,
    ) {
        self.report(
            Diagnostic::new(code, span, message)
                .label(label)
                .help(help.to_owned()),
        );
    }

    /// Returns the result type of an operation.
    pub(super) fn result_of(&self, name: &str) -> Option<Type> {
        self.operations.known.get(name).and_then(|one| one.result)
    }

    /// Whether a procedure is an operation.
    pub(super) fn is_operation_of_object(&self, name: &str) -> bool {
        self.operations.known.contains_key(name)
    }

    /// Reports a call of an operation in the file, because only clients call operations. Returns
    /// whether there was such a mistake.
    pub(super) fn refuses_call(&mut self, name: &str, span: Span) -> bool {
        let refused = self.is_operation_of_object(name);
        if refused {
            let message = format!("`{name}` is an operation");
            let help = "only clients call operations: put shared code into a `proc`";
            self.wrong_operation(("M0451", span), message, "expected a procedure", help);
        }
        refused
    }

    /// Returns the specification of the file, if it has one.
    fn spec_of<'f>(&mut self, file: &'f File<'s>) -> Option<&'f Spec<'s>> {
        let mut found: Option<&Spec<'s>> = None;
        for item in &file.items {
            let Item::Spec(spec) = item else { continue };
            match found {
                None => found = Some(spec),
                Some(first) => self.report(
                    Diagnostic::new("M0451", spec.head, "there are two specifications")
                        .label("the second one")
                        .related(first.head, "the first one")
                        .help("a file checks one object: remove one of them"),
                ),
            }
        }
        found
    }

    /// Records which procedures are operations, and declares the ghosts for their history.
    /// Constants must be known. Returns the number of clients.
    pub(super) fn declare_operations(&mut self, file: &File<'s>) -> i64 {
        for item in &file.items {
            let Item::Operation(OperationResult { name, ty, head }) = item else {
                continue;
            };
            let (mut result, mut range) = (None, None);
            if let Some(ty) = ty {
                result = self.known_type(ty).plain();
                range = BodyChecker::new(self).range(ty);
                let single = ty.dims.is_empty() && ty.atomic.is_none();
                let named = !matches!(self.declared(&ty.base), Declared::Struct(_));
                if !single || !named {
                    let help = "return a number, a truth value or a member of an `enum`";
                    let message = format!("`{}` cannot return this", name.text);
                    self.wrong_operation(("M0452", ty.span), message, "expected one value", help);
                }
            }
            let known = KnownOperation {
                result,
                range,
                head: *head,
            };
            self.operations.known.insert(name.text.to_owned(), known);
        }
        if self.is_specification {
            let result = self.hidden_var("$result", 1, 0, Span::default());
            self.operations.returns = Some(Returns::Variable(result));
            return 0;
        }
        let spec = self.spec_of(file);
        let mut known: Vec<Span> = self.operations.known.values().map(|one| one.head).collect();
        known.sort_unstable_by_key(|head| head.start);
        match (spec, known.first()) {
            (None, None) => {}
            (Some(spec), Some(_)) => self.declare_history(spec),
            // The specification may exist but have a syntax error.
            _ if !self.diagnostics.is_empty() => {}
            (None, Some(&head)) => {
                let message = "operations without a specification".to_owned();
                let help = "specify them: `spec object for 2 clients of 3 operations { … }`; write `proc` for code that no client calls";
                self.wrong_operation(
                    ("M0451", head),
                    message,
                    "no client calls this operation",
                    help,
                );
            }
            (Some(spec), None) => {
                let message = "a specification without operations".to_owned();
                let help = "declare them outside of it too, as in `op pop(): int { … }`";
                self.wrong_operation(
                    ("M0451", spec.head),
                    message,
                    "expected operations outside of it",
                    help,
                );
            }
        }
        self.operations.clients.0
    }

    fn declare_history(&mut self, spec: &Spec<'s>) {
        let clients = BodyChecker::new(self).const_int(&spec.clients, "the number of clients");
        let calls = BodyChecker::new(self).const_int(&spec.operations, "the number of operations");
        let (Some(clients), Some(calls)) = (clients, calls) else {
            return;
        };
        let span = spec.head;
        if clients < 1 || calls < 1 || clients.saturating_mul(calls) > MAX_SLOTS {
            let message = format!("{clients} clients of {calls} operations");
            let label = format!("expected at least 1 of each, and at most {MAX_SLOTS} in all");
            let help = "2 clients of 3 operations, or 3 of 2, find most mistakes";
            self.wrong_operation(("M0451", span), message, &label, help);
            return;
        }
        let slots = (clients * calls) as u32;
        let ended = self.hidden_var("$ended", clients as u32, 0, span);
        let starts = (0..clients).map(|client| client * calls).collect();
        self.program.vars[ended.0 as usize].init = Some(starts);
        let called = self.hidden_var("$called", slots, -1, span);
        let seen = self.hidden_var("$seen", slots * clients as u32, 0, span);
        let result = self.hidden_var("$result", slots, 0, span);
        self.program.ghosts.extend([ended, called, seen, result]);
        self.operations.returns = Some(Returns::History { ended, result });
        self.operations.clients = (clients, calls);
        self.program.linearizable = Some(Linearizable {
            clients: clients as u32,
            calls_each: calls as u32,
            operations: Vec::new(),
            calls: Vec::new(),
            first: ended,
            called,
            seen,
            result,
            specification: None,
            span,
        });
    }

    /// Declares a variable that the source cannot name.
    pub(super) fn hidden_var(&mut self, name: &str, len: u32, init: i64, span: Span) -> VarId {
        let id = VarId(self.program.vars.len() as u32);
        let shape = Shape::plain(name, vec![len]);
        self.program.vars.push(Var {
            name: name.to_owned(),
            ty: Type::Int,
            atomic: false,
            object: false,
            holds: false,
            len: shape.elements(),
            shape,
            init: Some(vec![init; len as usize]),
            span,
        });
        id
    }

    /// Makes all calls that a client may choose from, and the client processes. The procedures must
    /// have been checked before.
    pub(super) fn clients(&mut self, file: &File<'s>) {
        let Some(mut object) = self.program.linearizable.take() else {
            return;
        };
        let before = self.diagnostics.len();
        for pair in file.items.windows(2) {
            if let [Item::Proc { name, params, .. }, Item::Operation(result)] = pair {
                self.calls_of(*name, params, result, &mut object);
            }
        }
        let count = self.program.processes.len() as u64 + u64::from(object.clients);
        if object.calls.len() > MAX_CALLS || count > MAX_PROCESSES {
            let message = "there are too many different calls".to_owned();
            let label = format!("at most {MAX_CALLS} are possible");
            let help = "make the ranges of the arguments smaller";
            self.wrong_operation(("M0451", object.span), message, &label, help);
        }
        if self.diagnostics.len() == before && !object.calls.is_empty() {
            for client in 0..object.clients {
                let process = self.client(&object, client);
                self.program.processes.push(process);
            }
            self.state_linearizability(&object);
        }
        if self.diagnostics.is_empty() && !self.program.unknowns().is_empty() {
            let message = "some values are not known".to_owned();
            let help = "give variables initial values, in the file or with `--set`, and use `choose` in place of `input()`";
            let label = "histories are decided only if all values are known";
            self.wrong_operation(("M0451", object.span), message, label, help);
        }
        self.program.linearizable = Some(object);
    }

    /// Adds a call of an operation for each combination of its arguments.
    fn calls_of(
        &mut self,
        name: Name<'s>,
        params: &[Param<'s>],
        result: &OperationResult<'s>,
        object: &mut Linearizable,
    ) {
        let mut all: Vec<Vec<i64>> = vec![Vec::new()];
        let mut types = Vec::new();
        for (param, ty) in params {
            let declared = self.declared(&ty.base);
            let Declared::Plain(plain) = declared else {
                self.unbounded(*param);
                return;
            };
            types.push(plain);
            // Mistakes in the range were reported with the procedure.
            let before = self.diagnostics.len();
            let range = BodyChecker::new(self).range(ty);
            self.diagnostics.truncate(before);
            let (low, high) = match (range, plain) {
                (Some(range), _) => range,
                (None, Type::Bool) => (0, 2),
                (None, Type::Enum(id)) => {
                    (0, self.program.enums[usize::from(id)].members.len() as i64)
                }
                (None, _) => {
                    self.unbounded(*param);
                    return;
                }
            };
            // One call more than the limit is enough to see that there are too many.
            let high = high.min(low.saturating_add(MAX_CALLS as i64 + 1));
            let with = |args: Vec<i64>| {
                (low..high).map(move |value| {
                    let mut args = args.clone();
                    args.push(value);
                    args
                })
            };
            all = all.into_iter().flat_map(with).take(MAX_CALLS + 1).collect();
        }
        let operation = object.operations.len() as u32;
        let call = |args| LinearCall { operation, args };
        object.calls.extend(all.into_iter().map(call));
        object.operations.push(Operation {
            name: name.text.to_owned(),
            head: result.head,
            params: types,
            result: self.result_of(name.text),
        });
    }

    fn unbounded(&mut self, param: Name<'s>) {
        let message = format!("`{}` has too many values", param.text);
        let help = "clients try all of them: give it a range, as in `v: 0..3`, or the type `bool` or an `enum`";
        self.wrong_operation(
            ("M0451", param.span),
            message,
            "expected a type with few values",
            help,
        );
    }

    /// Makes a client process.
    fn client(&mut self, object: &Linearizable, client: u32) -> Process {
        let me = self.program.processes.len() as i64;
        let span = object.span;
        // The hidden statements get the place of the word `spec`, which no statement of the file
        // has.
        let aside = Span {
            start: span.start,
            end: span.start + "spec".len() as u32,
        };
        let identified = self.processes.identified;
        let procedures: Vec<ProcedureId> = object
            .operations
            .iter()
            .map(|operation| {
                let found = self.globals.get(operation.name.as_str());
                match found {
                    Some(&(super::Global::Proc(id), _)) => id,
                    _ => ProcedureId(0),
                }
            })
            .collect();
        self.program.lowered.insert(span);
        let mut body = BodyChecker::of_process(self);
        body.current = CurrentProcess::Process(me);
        let chosen = body.hidden("chosen", Type::Int);
        let frame = body.frame;
        let mut stmts = Vec::new();
        for call in 0..object.calls_each {
            let slot = i64::from(client * object.calls_each + call);
            let choose = Expr {
                kind: ExprKind::Choose(
                    Box::new(number(0, span)),
                    Box::new(number(object.calls.len() as i64, span)),
                ),
                ty: Type::Int,
                span,
            };
            stmts.push(Stmt {
                kind: StmtKind::Let(chosen, vec![choose]),
                span,
            });
            let (mut places, mut values) = (Vec::new(), Vec::new());
            places.push(Place::Element(object.called, number(slot, aside)));
            values.push(local(chosen, aside));
            for other in 0..i64::from(object.clients) {
                let at = slot * i64::from(object.clients) + other;
                places.push(Place::Element(object.seen, number(at, aside)));
                values.push(element(object.first, number(other, aside)));
            }
            stmts.push(Stmt {
                kind: StmtKind::Assign(places, values),
                span: aside,
            });
            let dispatch = Dispatch {
                object,
                procedures: &procedures,
                chosen,
                hidden: if identified {
                    vec![me, i64::from(client), slot]
                } else {
                    vec![i64::from(client), slot]
                },
                span: aside,
            };
            stmts.push(dispatch.select_call(0, object.calls.len()));
        }
        self.grow(stmts.len() * object.calls.len(), span);
        Process {
            name: Some(CLIENT.to_owned()),
            instance: Some(client.into()),
            frame,
            body: stmts,
        }
    }

    /// Adds an invariant over `$ended`, which returns write. Its condition is always true: it only
    /// makes the machine check linearizability whenever a step writes `$ended`.
    fn state_linearizability(&mut self, object: &Linearizable) {
        let span = object.span;
        let at_least = |client: u32| {
            let ended = element(object.first, number(client.into(), span));
            binary(BinaryOp::Ge, ended, number(0, span), Type::Bool)
        };
        let all = (1..object.clients).fold(at_least(0), |all, client| {
            binary(BinaryOp::And, all, at_least(client), Type::Bool)
        });
        self.program.invariants.push(Property {
            name: Some(PROPERTY.to_owned()),
            expr: all,
            span,
        });
    }

    /// Returns the names that a specification reserves: one for the property and one for the client
    /// processes.
    pub(super) fn names_of_spec(spec: &Spec<'s>) -> [Name<'s>; 2] {
        [PROPERTY, CLIENT].map(|text| Name {
            text,
            span: spec.head,
        })
    }
}

pub(super) fn element(var: VarId, index: Expr) -> Expr {
    let span = index.span;
    Expr {
        kind: ExprKind::Element(var, Box::new(index)),
        ty: Type::Int,
        span,
    }
}

/// Generates the code that makes the call whose index is in a local.
pub(super) struct Dispatch<'a> {
    pub object: &'a Linearizable,
    /// The procedures of the operations.
    pub procedures: &'a [ProcedureId],
    /// The local that holds the index of the call.
    pub chosen: LocalId,
    /// The hidden arguments.
    pub hidden: Vec<i64>,
    pub span: Span,
}

impl Dispatch<'_> {
    /// Makes a statement that makes the chosen call, if its index is in `from..to`. The statement
    /// is a binary search: nested `if` statements that compare the index.
    pub fn select_call(&self, from: usize, to: usize) -> Stmt {
        let span = self.span;
        if to - from > 1 {
            let middle = from + (to - from) / 2;
            let chosen = local(self.chosen, span);
            let test = binary(
                BinaryOp::Lt,
                chosen,
                number(middle as i64, span),
                Type::Bool,
            );
            let (then, other) = (self.select_call(from, middle), self.select_call(middle, to));
            let kind = StmtKind::If(test, vec![then], vec![other]);
            return Stmt { kind, span };
        }
        let call = &self.object.calls[from];
        let operation = &self.object.operations[call.operation as usize];
        let args = call.args.iter().zip(&operation.params);
        let mut args: Vec<Expr> = args
            .map(|(&value, &ty)| Expr {
                kind: ExprKind::Const(value),
                ty,
                span,
            })
            .collect();
        args.extend(self.hidden.iter().map(|&value| number(value, span)));
        let procedure = self.procedures[call.operation as usize];
        Stmt {
            kind: StmtKind::Call(procedure, args),
            span,
        }
    }
}

impl<'s> BodyChecker<'_, 's> {
    /// Prepares the check of an operation's body, after its parameters are declared. Does nothing
    /// for a procedure that is not an operation.
    pub(super) fn begin_operation(&mut self, procedure: &str) {
        let known = self.c.operations.known.get(procedure).copied();
        let Some((known, returns)) = known.zip(self.c.operations.returns) else {
            return;
        };
        let mut hidden = |name| self.new_local(Shape::plain(name, Vec::new()), Type::Int);
        let (client, slot) = match returns {
            Returns::History { .. } => (hidden("$client"), hidden("$slot")),
            Returns::Variable(_) => (LocalId(0), LocalId(0)),
        };
        self.operation = Some(CurrentOperation {
            known,
            returns,
            client,
            slot,
        });
    }

    /// Completes the body of an operation: adds the return, or reports that `return` is missing.
    pub(super) fn end_operation(&mut self, body: &[ast::Stmt<'s>], into: &mut Vec<Stmt>) {
        let Some(current) = self.operation else {
            return;
        };
        let head = current.known.head;
        match current.known.result {
            None => into.push(self.returned(current, number(0, head), head)),
            Some(_) if always_leaves(body) => {}
            Some(_) => {
                let message = "this operation may end without `return`".to_owned();
                let help = "let every path through its body end with `return e`";
                let label = "it declares a result";
                self.c
                    .wrong_operation(("M0452", head), message, label, help);
            }
        }
    }

    /// Checks `return e` and `return` of an operation.
    pub(super) fn return_stmt(&mut self, value: Option<&ast::Expr<'s>>, span: Span) -> StmtKind {
        let current = self.operation.filter(|_| self.in_procedure);
        let Some(current) = current else {
            value.iter().for_each(|value| {
                self.value(value);
            });
            return self.leave(Leave::Procedure, span);
        };
        let mut stmts = Vec::new();
        let mut add = |kind| stmts.push(Stmt { kind, span });
        let kept = match (current.known.result, value) {
            (Some(ty), Some(value)) => {
                let value = self.value_of_type(value, Some(ty));
                let kept = self.hidden("result", ty);
                add(StmtKind::Let(kept, vec![value]));
                let kept = Expr {
                    ty,
                    ..local(kept, span)
                };
                if let Some(range) = current.known.range {
                    add(assert_range(kept.clone(), "the result", range, span).kind);
                }
                kept
            }
            (None, None) => number(0, span),
            (found, value) => {
                let (message, label, help) = match found {
                    None => (
                        "this operation returns no value",
                        "its head declares no result",
                        "declare its result: `op name(…): int { … }`",
                    ),
                    Some(_) => (
                        "this operation returns a value",
                        "its head declares a result",
                        "write `return e`",
                    ),
                };
                value.iter().for_each(|value| {
                    self.value(value);
                });
                let span = value.map_or(span, |value| value.span);
                let message = message.to_owned();
                self.c
                    .wrong_operation(("M0452", span), message, label, help);
                number(0, span)
            }
        };
        stmts.push(self.returned(current, kept, span));
        stmts.push(Stmt {
            kind: StmtKind::Leave(Leave::Procedure),
            span,
        });
        StmtKind::Block(stmts)
    }

    /// Makes the statement that records the return and the result of the operation in the history.
    fn returned(&self, current: CurrentOperation, value: Expr, span: Span) -> Stmt {
        let kind = match current.returns {
            Returns::Variable(result) => {
                StmtKind::Assign(vec![Place::Element(result, number(0, span))], vec![value])
            }
            Returns::History { ended, result } => {
                let slot = || local(current.slot, span);
                let next = binary(BinaryOp::Add, slot(), number(1, span), Type::Int);
                StmtKind::Assign(
                    vec![
                        Place::Element(result, slot()),
                        Place::Element(ended, local(current.client, span)),
                    ],
                    vec![value, next],
                )
            }
        };
        Stmt { kind, span }
    }
}

/// Whether no path reaches the end of the statements.
fn always_leaves(stmts: &[ast::Stmt<'_>]) -> bool {
    stmts.iter().any(leaves)
}

fn leaves(stmt: &ast::Stmt<'_>) -> bool {
    use ast::StmtKind;
    match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Error(_) | StmtKind::End | StmtKind::Poison => true,
        StmtKind::Leave(leave) => *leave == Leave::Procedure,
        StmtKind::Block(body) | StmtKind::Atomic(body) => always_leaves(body),
        StmtKind::Guard(_, inner) | StmtKind::Labelled(_, inner) => leaves(inner),
        StmtKind::Choice { then, other, .. } => leaves(then) && leaves(other),
        StmtKind::If(_, then, other) => always_leaves(then) && always_leaves(other),
        StmtKind::Match(_, cases) => {
            let bodies = cases.cases.iter().map(|(_, body)| body);
            let other = cases.other.iter().map(|(_, body)| &**body);
            bodies.chain(other).all(|body| always_leaves(body))
        }
        StmtKind::Select(_, alternatives, other) => {
            let bodies = alternatives.iter().map(|one| &one.body);
            bodies.chain(other).all(|body| always_leaves(body))
        }
        StmtKind::While {
            test, bound, body, ..
        } => matches!(test.kind, ast::ExprKind::Bool(true)) && bound.is_none() && !breaks(body),
        _ => false,
    }
}

/// Whether a `break` leaves the loop around the statements.
fn breaks(stmts: &[ast::Stmt<'_>]) -> bool {
    use ast::StmtKind;
    let mut found = false;
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Leave(Leave::Loop) => found = true,
            StmtKind::While { .. } | StmtKind::For { .. } | StmtKind::GuardedLoop(..) => {}
            _ => stmt.for_each_inner(&mut |inner| found |= breaks(std::slice::from_ref(inner))),
        }
    }
    found
}
