//! The body of a function or method while it is compiled: emits its instructions and constants, and
//! declares and finds its variables. Bodies form a stack, because an anonymous function is compiled
//! inside another body. The jumps of a body are relative to its start; when the body is complete,
//! its code is appended to the program, and the jumps are moved.

use mazurka_diagnostics::Diagnostic;
use mazurka_diagnostics::Span;

use super::rules::Rules;
use super::{BodyCode, Checker, Local, LocalTy};
use crate::code::{Handler, Op};
use crate::syntax::ast::{self, Name};
use crate::types::{Head, Ty};
use crate::value::Value;

/// The position of a jump whose target is not known yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingJump(usize);

impl Checker<'_> {
    pub(super) fn open(&mut self, body: BodyCode) {
        self.bodies.push(body);
    }

    pub(super) fn body(&mut self) -> &mut BodyCode {
        let Some(body) = self.bodies.last_mut() else {
            unreachable!("code is only written between `open` and `close`");
        };
        body
    }

    pub(super) fn class_here(&self) -> Option<u32> {
        self.bodies.last().and_then(|body| body.class)
    }

    /// Ends the current body: appends its code to the program. Returns its entry, how many slots it
    /// needs, and the slots of captured values.
    pub(super) fn close(&mut self) -> (u32, u32, Vec<u32>) {
        let Some(body) = self.bodies.pop() else {
            unreachable!("code is closed once");
        };
        let start = self.out.ops.len() as u32;
        let moved = |op: Op| match op {
            Op::Jump(target) => Op::Jump(target + start),
            Op::JumpUnless(target) => Op::JumpUnless(target + start),
            Op::JumpUnlessMade {
                constructor,
                target,
            } => Op::JumpUnlessMade {
                constructor,
                target: target + start,
            },
            other => other,
        };
        self.out.ops.extend(body.ops.into_iter().map(moved));
        self.out.spans.extend(body.spans);
        self.out.variables.push((start, body.named));
        let taken = body.taken.into_iter().map(|(pc, ty)| (pc + start, ty));
        self.out.taken.extend(taken);
        let derefs = body.derefs.into_iter().map(|(pc, ty)| (pc + start, ty));
        self.out.derefs.extend(derefs);
        let handlers = body.handlers.into_iter().map(|handler| Handler {
            start: handler.start + start,
            end: handler.end + start,
            holes: handler
                .holes
                .iter()
                .map(|(a, b)| (a + start, b + start))
                .collect(),
            target: handler.target + start,
            slot: handler.slot,
            catches: handler.catches,
        });
        self.out.handlers.extend(handlers);
        let captures = body
            .captures
            .unwrap_or_default()
            .iter()
            .map(|&(_, inner)| inner)
            .collect();
        (start, body.slots, captures)
    }

    pub(super) fn emit(&mut self, op: Op, span: Span) {
        let body = self.body();
        body.ops.push(op);
        body.spans.push(span);
    }

    /// Records that the next instruction fails if its operand, a value with this head type, is
    /// `null`.
    pub(super) fn derefs(&mut self, head: Head) {
        let here = self.here();
        self.body().derefs.push((here, head));
    }

    pub(super) fn here(&mut self) -> u32 {
        self.body().ops.len() as u32
    }

    /// Emits a jump to a place that comes later.
    pub(super) fn emit_jump(&mut self, op: Op, span: Span) -> PendingJump {
        let at = self.here() as usize;
        self.emit(op, span);
        PendingJump(at)
    }

    /// Sets the target of a jump to the current place.
    pub(super) fn set_jump_target(&mut self, jump: PendingJump) {
        let here = self.here();
        let op = &mut self.body().ops[jump.0];
        *op = match *op {
            Op::JumpUnless(_) => Op::JumpUnless(here),
            Op::JumpUnlessMade { constructor, .. } => Op::JumpUnlessMade {
                constructor,
                target: here,
            },
            _ => Op::Jump(here),
        };
    }

    pub(super) fn set_jump_targets(&mut self, all: Vec<PendingJump>) {
        for open in all {
            self.set_jump_target(open);
        }
    }

    pub(super) fn slot(&mut self) -> u32 {
        let body = self.body();
        body.slots += 1;
        body.slots - 1
    }

    pub(super) fn constant(&mut self, value: Value) -> u32 {
        let constants = &mut self.out.constants;
        // Values of different kinds may compare equal.
        let key = (std::mem::discriminant(&value), value.clone());
        *{ self.out.constant_numbers.entry(key) }.or_insert_with(|| {
            constants.push(value);
            constants.len() as u32 - 1
        })
    }

    pub(super) fn emit_value(&mut self, value: Value, span: Span) {
        let constant = self.constant(value);
        self.emit(Op::Const(constant), span);
    }

    pub(super) fn method_number(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.out.method_numbers.get(name) {
            return known;
        }
        let number = self.out.method_numbers.len() as u32;
        self.out.method_numbers.insert(name.to_owned(), number);
        number
    }

    /// Declares a variable, even if another one with the same name is in scope. Returns its slot.
    pub(super) fn shadow_local(&mut self, name: &Name, ty: LocalTy) -> u32 {
        let slot = self.slot();
        self.body().named.push((slot, name.text.clone()));
        self.body().scope.push(Local {
            name: name.text.clone(),
            slot,
            ty,
            rules: Rules::default(),
        });
        slot
    }

    /// Declares a variable, and returns its slot. If a variable with the same name is in scope,
    /// reports a mistake.
    pub(super) fn declare_local(&mut self, name: &Name, ty: LocalTy) -> u32 {
        let taken = self
            .body()
            .scope
            .iter()
            .any(|local| local.name == name.text);
        if taken {
            let mistake = Diagnostic::new(
                "A0210",
                name.span,
                format!("`{}` is declared already", name.text),
            )
            .label("a second variable of this name")
            .help("choose another name; only `let` hides another variable");
            self.report(mistake);
        }
        self.shadow_local(name, ty)
    }

    /// Finds a variable by name. If the variable is declared outside of the current anonymous
    /// function, the function captures it.
    pub(super) fn local(&mut self, name: &str) -> Option<(u32, LocalTy)> {
        self.local_in(self.bodies.len().checked_sub(1)?, name)
    }

    fn local_in(&mut self, body: usize, name: &str) -> Option<(u32, LocalTy)> {
        let found = self.bodies[body]
            .scope
            .iter()
            .rev()
            .find(|local| local.name == name);
        if let Some(local) = found {
            return Some((local.slot, local.ty.clone()));
        }
        self.bodies[body].captures.as_ref()?;
        let (outer, ty) = self.local_in(body.checked_sub(1)?, name)?;
        let inner = &mut self.bodies[body];
        let slot = inner.slots;
        inner.slots += 1;
        inner.scope.insert(
            0,
            Local {
                name: name.to_owned(),
                slot,
                ty: ty.clone(),
                rules: Rules::default(),
            },
        );
        if let Some(captures) = &mut inner.captures {
            captures.push((outer, slot));
        }
        Some((slot, ty))
    }

    /// Forgets which variables have awaited futures and which are not `null`. Used where other code
    /// may have changed the variables.
    pub(super) fn forget_known(&mut self) {
        self.body().claimed.clear();
        self.body().nonnull.clear();
    }

    /// Returns how many declarations are in scope, without the captured variables.
    pub(super) fn scope_depth(&mut self) -> usize {
        self.body().scope.len() - self.captured()
    }

    /// Removes all declarations after the first `depth`. Variables that were captured since then
    /// remain: they are at the front.
    pub(super) fn leave_scope(&mut self, depth: usize) {
        let len = depth + self.captured();
        self.body().scope.truncate(len);
    }

    /// Returns how many variables are captured.
    fn captured(&mut self) -> usize {
        self.body().captures.as_ref().map_or(0, Vec::len)
    }

    pub(super) fn field(&self, name: &str) -> Option<(u32, Ty)> {
        let class = &self.classes[self.class_here()? as usize];
        let at = class.fields.iter().position(|(field, _)| field == name)?;
        Some((at as u32, class.fields[at].1.clone()))
    }

    /// Reports a field that must not be `null` and has no initial value.
    pub(super) fn needs_object(&mut self, ty: &ast::Type, name: &Name) {
        if ty.nonnull {
            let message = format!("`{}` needs a value", name.text);
            let mistake = Diagnostic::new("A0222", name.span, message)
                .label("it cannot be `null`")
                .help("give it a value here");
            self.report(mistake);
        }
    }

    /// Reports a field or variable without a value whose type does not allow `null`. Only the types
    /// of references and futures allow it.
    pub(super) fn needs_value(&mut self, ty: &Ty, name: &Name) {
        let nullable = matches!(
            self.unknowns.shallow(ty),
            Ty::Made(Head::Interface(_) | Head::Future | Head::Destiny, _) | Ty::Wrong
        );
        if let Ty::Made(head, _) = self.unknowns.shallow(ty) {
            self.unknowns.nulls.insert(head);
        }
        if !nullable {
            let shown = self.show(ty);
            let mistake =
                Diagnostic::new("A0222", name.span, format!("`{}` needs a value", name.text))
                    .label(format!("a `{shown}` cannot be `null`"))
                    .help(format!("write `{shown} {} = …;`", name.text));
            self.report(mistake);
        }
    }
}
