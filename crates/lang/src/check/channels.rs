//! Channels: `chan c[4]: T`, `chan c[..]: T`, `c ! e`, `c ? x`, `len(c)`.
//!
//! A channel is lowered to two shared variables: the number of waiting messages, and an array with
//! a slot for each message, the oldest first (for messages of a `struct` type, an array for each
//! field). A receive takes the first message and moves each other message one slot forward. So two
//! states with the same waiting messages are equal, whatever was received before.
//!
//! A channel without a capacity has a limit instead. The search does not follow a run beyond a send
//! that exceeds the limit (`Program::limits`); the verdict reports that the limit was reached.

use mazurka_diagnostics::{Diagnostic, Span};

use super::body::{BodyChecker, Meaning};
use super::initial::Mode;
use super::objects::{Channel, LoweredKind, Object, Payload};
use super::records::{Declared, Part, number, read, with_field};
use super::synchronise::{Blocking, Operand, assign_all, binary, truth};
use super::types::{Ty, Typed};
use super::{Checker, ExpectedName};
use crate::check::hir::{
    BinaryOp, ChannelEnd, Expr, ExprKind, Place, Shape, Stmt, StmtKind, Type, Var, VarId,
};
use crate::syntax::ast;

/// The largest capacity. It is small because a receive moves every message.
const MAX_CAPACITY: u32 = 64;

impl<'s> Checker<'s> {
    /// Declares the variables of a channel.
    pub(super) fn channel(&mut self, object: &ast::Object<'s>) -> Option<Object> {
        let (name, ty) = (object.name, object.ty.as_ref()?);
        let of = self.known_type(ty);
        BodyChecker::new(self).no_atomic(ty);
        let Some((last, _)) = object.dims.split_last() else {
            self.report(
                Diagnostic::new(
                    "M0429",
                    name.span,
                    format!("`{}` needs a capacity", name.text),
                )
                .label("expected the number of messages that can wait")
                .help(format!(
                    "write `chan {0}[4]: …`, or `chan {0}[..]: …` if any number of messages can wait",
                    name.text
                )),
            );
            return None;
        };
        if !ty.dims.is_empty() {
            self.report(
                Diagnostic::new("M0306", ty.span, "a message is not an array")
                    .label("expected a type without size")
                    .help("put the array into a `struct`"),
            );
            return None;
        }
        if BodyChecker::new(self).const_int(last, "the capacity of a channel")? == 0 {
            self.report(
                Diagnostic::new("M0429", last.span, "a channel of capacity 0, a rendezvous")
                    .label("expected at least 1")
                    .help(format!(
                        "a send would be one step of two processes; write `chan {}[1]: …`, and let the receiver answer",
                        name.text
                    )),
            );
            return None;
        }
        let dims = BodyChecker::new(self).dims(&object.dims, 1, false)?;
        let (&places, outer) = dims.split_last()?;
        if places > MAX_CAPACITY {
            self.report(
                Diagnostic::new(
                    "M0429",
                    last.span,
                    format!("a channel of {places} messages"),
                )
                .label(format!("expected at most {MAX_CAPACITY}"))
                .help("a small channel shows the same mistakes"),
            );
            return None;
        }
        let shape = Shape::plain(name.text, outer.to_vec());
        let count = with_field(&shape, "len", &[]);
        let count = self.object_var(count, Type::Int, 0, name.span)?;
        let first = self.program.vars.len() as u32;
        let slots = with_field(&shape, "at", &[places]);
        let payload = match of {
            Declared::Poison => return None,
            Declared::Plain(plain) => {
                Payload::Value(self.object_var(slots, plain, 0, name.span)?, plain)
            }
            Declared::Struct(id) => Payload::Struct(id, self.message_vars(id, &slots, name.span)?),
        };
        let message_vars = first..self.program.vars.len() as u32;
        let message_vars = message_vars.map(VarId).collect();
        self.program.channels.push((count, message_vars));
        let kind = LoweredKind::Channel(Channel {
            count,
            payload,
            places,
            unbounded: object.unbounded.is_some(),
        });
        let dims = outer.len();
        Some(Object { kind, dims })
    }

    /// Declares the variables of messages of a `struct` type.
    fn message_vars(&mut self, id: u32, slots: &Shape, span: Span) -> Option<u32> {
        let first = self.program.vars.len();
        let like = Var {
            name: String::new(),
            shape: slots.clone(),
            ty: Type::Int,
            atomic: true,
            object: true,
            holds: false,
            len: slots.elements(),
            init: None,
            span,
        };
        let record = self.shared_record(id, slots, &like);
        // A free slot may hold a value outside the range of its field, so the range invariants are
        // dropped.
        let stated = self.program.invariants.len();
        self.size_record(record, &slots.dims, span)?;
        self.program.invariants.truncate(stated);
        for var in &mut self.program.vars[first..] {
            var.init = Some(vec![0; var.len.unwrap_or(1) as usize]);
        }
        Some(record)
    }
}

impl<'s> BodyChecker<'_, 's> {
    /// Lowers `c ! e`.
    pub(super) fn lower_send(
        &mut self,
        channel: &ast::Expr<'s>,
        value: &ast::Expr<'s>,
        span: Span,
    ) -> Option<Blocking> {
        let operand = self.channel_operand(channel, span);
        let Some((operand, channel)) = operand else {
            self.value(value);
            return None;
        };
        let Channel { count, payload, .. } = channel;
        let sent: Vec<Expr> = match payload {
            Payload::Value(_, ty) => vec![self.value_of_type(value, Some(ty))],
            Payload::Struct(id, _) => {
                let fields = self.record_values(id, value, Mode::Local)?;
                fields.into_iter().flatten().collect()
            }
        };
        let count = self.place_of(Part::Var(count), operand.indices.clone(), span);
        let waiting = read(count.clone(), Type::Int, span);
        let next = self.message_places(payload, &operand, waiting.clone(), span);
        let mut left: Vec<Place> = next.into_iter().map(|(place, _)| place).collect();
        let mut right = sent;
        left.push(count);
        let one = number(1, span);
        right.push(binary(BinaryOp::Add, waiting.clone(), one, Type::Int));
        let most = number(channel.places.into(), span);
        let room = binary(BinaryOp::Lt, waiting, most, Type::Bool);
        let send = assign_all(left, right, span);
        if !channel.unbounded {
            return Some(Blocking {
                guard: room,
                then: vec![send],
            });
        }
        self.c.program.limits.insert(span, channel.places);
        let kind = StmtKind::Assume(room);
        Some(Blocking {
            guard: truth(true, span),
            then: vec![Stmt { kind, span }, send],
        })
    }

    /// Lowers `c ? x`.
    pub(super) fn lower_receive(
        &mut self,
        channel: &ast::Expr<'s>,
        into: &ast::Expr<'s>,
        span: Span,
    ) -> Option<Blocking> {
        let (operand, channel) = self.channel_operand(channel, span)?;
        let Channel {
            count,
            payload,
            places,
            ..
        } = channel;
        let mut left = self.receive_places(payload, into)?;
        for place in &left {
            self.keep_in_range(place, span);
        }
        let mut right = Vec::new();
        let mut moved = Vec::new();
        for at in 0..places {
            let message = self.message_places(payload, &operand, number(at.into(), span), span);
            for (place, ty) in message {
                right.push(read(place.clone(), ty, span));
                moved.push((place, ty));
            }
        }
        // The first message goes to the variable, each other message to the slot before its own.
        for (place, ty) in moved {
            left.push(place);
            if left.len() > right.len() {
                right.push(Expr {
                    kind: ExprKind::Const(0),
                    ty,
                    span,
                });
            }
        }
        let count = self.place_of(Part::Var(count), operand.indices, span);
        let waiting = read(count.clone(), Type::Int, span);
        let one = number(1, span);
        left.push(count);
        right.push(binary(
            BinaryOp::Sub,
            waiting.clone(),
            one.clone(),
            Type::Int,
        ));
        self.c.grow(left.len() * 3, span);
        Some(Blocking {
            guard: binary(BinaryOp::Ge, waiting, one, Type::Bool),
            then: vec![assign_all(left, right, span)],
        })
    }

    /// Records which end of its channel a send or a receive touches, so that a send and a receive
    /// can be independent (`run/machine/ends.rs`). Records nothing if the statement never waits, or
    /// if its value or its destination reads the number of messages in a channel.
    pub(super) fn record_channel_end(
        &mut self,
        channel: &ast::Expr<'s>,
        blocking: Option<&Blocking>,
        span: Span,
        sends: bool,
    ) {
        let (ast::ExprKind::Name(name)
        | ast::ExprKind::Index(name, _)
        | ast::ExprKind::Path(name, _)) = &channel.kind
        else {
            return;
        };
        let Some((super::Global::Object(id), _)) = self.c.globals.get(name.text) else {
            return;
        };
        let LoweredKind::Channel(channel) = self.c.objects[*id as usize].kind else {
            return;
        };
        let Some(blocking) = blocking.filter(|_| !channel.unbounded) else {
            return;
        };
        // An expression that the checker made has the span of the whole statement; an expression of
        // the file has a smaller span.
        let program = &self.c.program;
        let is_count = |e: &Expr| match e.kind {
            ExprKind::Shared(var) | ExprKind::Element(var, _) => {
                e.span != span && program.channels.iter().any(|(count, _)| *count == var)
            }
            _ => false,
        };
        let mut reads_count = false;
        blocking.guard.walk(&mut |e| reads_count |= is_count(e));
        for stmt in &blocking.then {
            stmt.walk(&mut |stmt| {
                for e in stmt.exprs() {
                    e.walk(&mut |e| reads_count |= is_count(e));
                }
            });
        }
        if !reads_count {
            let end = ChannelEnd {
                count: channel.count,
                capacity: channel.places,
                sends,
            };
            self.c.program.ends.insert(span, end);
        }
    }

    /// Checks `len(c)`. Returns `None` if this is another call: if `c` is not a synchronisation
    /// object, or the file declares `len`.
    pub(super) fn channel_length(
        &mut self,
        name: ast::Name<'s>,
        args: &[ast::Expr<'s>],
        span: Span,
    ) -> Option<Typed> {
        let [channel] = args else { return None };
        let (ast::ExprKind::Name(of) | ast::ExprKind::Index(of, _) | ast::ExprKind::Path(of, _)) =
            &channel.kind
        else {
            return None;
        };
        let known = self.c.globals.get(of.text).map(|(global, _)| *global);
        let is_object = matches!(known, Some(super::Global::Object(_)));
        if name.text != "len" || self.c.globals.contains_key("len") || !is_object {
            return None;
        }
        let Some((operand, channel)) = self.channel_operand(channel, span) else {
            return Some(self.poison(span));
        };
        let count = self.place_of(Part::Var(channel.count), operand.indices, span);
        let mut typed = Typed {
            expr: read(count, Type::Int, span),
            ty: Ty::Known(Type::Int),
        };
        self.label_as_written(&mut typed, span);
        Some(typed)
    }

    /// Returns the places of a message, in the order of its fields.
    fn message_places(
        &mut self,
        payload: Payload,
        operand: &Operand,
        at: Expr,
        span: Span,
    ) -> Vec<(Place, Type)> {
        let mut indices = operand.indices.clone();
        indices.push(at);
        match payload {
            Payload::Value(var, ty) => vec![(self.place_of(Part::Var(var), indices, span), ty)],
            Payload::Struct(_, record) => self.places_of(record, &indices, span),
        }
    }

    /// Returns the places that a message is received into.
    fn receive_places(&mut self, payload: Payload, into: &ast::Expr<'s>) -> Option<Vec<Place>> {
        match payload {
            Payload::Value(_, wanted) => {
                let (place, ty) = match self.struct_of(into) {
                    None => self.place(into),
                    Some(_) => (None, None),
                };
                let found = ty.map_or(Ty::Poison, Ty::Known);
                if ty == Some(wanted) {
                    return Some(vec![place?]);
                }
                if place.is_some() || self.struct_of(into).is_some() {
                    let (wanted, found) = (self.c.noun(Ty::Known(wanted)), self.c.noun(found));
                    self.report(
                        Diagnostic::new("M0302", into.span, "the messages are of another type")
                            .label(format!("expected {wanted}, found {found}"))
                            .help("declare the variable with the type of the channel"),
                    );
                }
                None
            }
            Payload::Struct(id, _) => {
                let name = self.c.structs[id as usize].name.text;
                match (self.struct_of(into) == Some(id), self.selected(into)) {
                    (true, Some(super::records::Selected::Record(record, indices))) => {
                        let places = self.places_of(record, &indices, into.span);
                        Some(places.into_iter().map(|(place, _)| place).collect())
                    }
                    (_, Some(super::records::Selected::Poison)) => None,
                    _ => {
                        self.report(
                            Diagnostic::new("M0314", into.span, format!("expected a `{name}`"))
                                .label(format!("the messages are of `{name}`"))
                                .help(format!("declare it: `let m = {name}(…)`")),
                        );
                        None
                    }
                }
            }
        }
    }

    /// Resolves an expression that must name a channel.
    fn channel_operand(
        &mut self,
        channel: &ast::Expr<'s>,
        span: Span,
    ) -> Option<(Operand, Channel)> {
        if let ast::ExprKind::Name(name) = &channel.kind {
            let meaning = self.resolve(*name, ExpectedName::Object);
            if !matches!(meaning, Meaning::Object(_) | Meaning::Poison) {
                let help = "declare it outside of all blocks: `chan c[4]: int`".to_owned();
                self.wrong_kind(*name, meaning, "a channel", help);
                return None;
            }
        }
        let operand = self.operand(channel, span)?;
        match operand.kind {
            LoweredKind::Channel(channel) => Some((operand, channel)),
            other => {
                let noun = other.noun();
                self.report(
                    Diagnostic::new("M0428", channel.span, format!("this is {noun}"))
                        .label("expected a channel")
                        .help("`c ! e`, `c ? x` and `len(c)` are for `chan c[4]: int`"),
                );
                None
            }
        }
    }
}
