//! Patterns: tests, and variables for the parts.

use mazurka_diagnostics::Diagnostic;

use super::body::PendingJump;
use super::names::count;
use super::{Checker, LocalTy};
use crate::code::Op;
use crate::syntax::ast::{Binary, Pattern, PatternKind};
use crate::types::Ty;
use crate::value::Value;

impl Checker<'_> {
    /// Tests the value in a slot; where it fails, code jumps away. Declares the variables of the
    /// pattern.
    pub(super) fn pattern(
        &mut self,
        pattern: &Pattern,
        slot: u32,
        ty: &Ty,
        fails: &mut Vec<PendingJump>,
    ) {
        let span = pattern.span;
        match &pattern.kind {
            PatternKind::Any => {}
            PatternKind::Variable(name) => {
                // A variable that has a value already stands for that value.
                let bound = match (self.local(&name.text), self.field(&name.text)) {
                    (Some((known, LocalTy::Value(known_ty))), _) => {
                        Some((Op::Local(known), known_ty))
                    }
                    (None, Some((field, known_ty))) => Some((Op::Field(field), known_ty)),
                    _ => None,
                };
                match bound {
                    Some((op, known_ty)) => {
                        self.fit(&known_ty, ty, span);
                        self.emit(Op::Local(slot), span);
                        self.emit(op, span);
                        self.test_equal(span, fails);
                    }
                    None => {
                        let new = self.declare_local(name, LocalTy::Value(ty.clone()));
                        self.emit(Op::Local(slot), span);
                        self.emit(Op::Set(new), span);
                    }
                }
            }
            PatternKind::Int(value) => {
                self.fit(&Ty::INT, ty, span);
                self.emit(Op::Local(slot), span);
                self.emit_value(Value::integer(value.clone()), span);
                self.test_equal(span, fails);
            }
            PatternKind::Text(text) => {
                self.fit(&Ty::TEXT, ty, span);
                self.emit(Op::Local(slot), span);
                self.emit_value(Value::text(text), span);
                self.test_equal(span, fails);
            }
            PatternKind::Construct(name, parts) => {
                let Some(number) = self.constructor_here(name) else {
                    return;
                };
                let def = &self.constructors[number as usize];
                let (generics, types) = (def.generics, def.parts.clone());
                let (result, special) = (def.result.clone(), def.special.clone());
                let args = self.unknowns.fresh_many(generics);
                self.fit(&result.with(&args), ty, span);
                if parts.len() != types.len() {
                    let wanted = count(types.len(), "part");
                    let mistake =
                        Diagnostic::new("A0216", span, format!("`{}` has {wanted}", name.text))
                            .label(format!("{} here", count(parts.len(), "pattern")))
                            .help("write `_` for parts that do not matter");
                    self.report(mistake);
                    return;
                }
                self.emit(Op::Local(slot), span);
                if let Some(value) = special {
                    self.emit_value(value, span);
                    self.test_equal(span, fails);
                    return;
                }
                fails.push(self.emit_jump(
                    Op::JumpUnlessMade {
                        constructor: number,
                        target: 0,
                    },
                    span,
                ));
                for (at, (part, ty)) in parts.iter().zip(&types).enumerate() {
                    if matches!(part.kind, PatternKind::Any) {
                        continue;
                    }
                    let part_slot = self.slot();
                    self.emit(Op::Local(slot), span);
                    self.emit(Op::Part(at as u32), span);
                    self.emit(Op::Set(part_slot), span);
                    self.pattern(part, part_slot, &ty.with(&args), fails);
                }
            }
        }
    }

    fn test_equal(&mut self, span: mazurka_diagnostics::Span, fails: &mut Vec<PendingJump>) {
        self.emit(Op::Binary(Binary::Equal), span);
        fails.push(self.emit_jump(Op::JumpUnless(0), span));
    }
}
