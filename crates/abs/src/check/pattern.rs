//! Compiles patterns: the tests that a value must pass, and the variables that get parts of the
//! value. The code of a pattern jumps to the next branch as soon as a test fails.

use mazurka_diagnostics::Diagnostic;

use super::body::PendingJump;
use super::names::count;
use super::{Checker, LocalTy};
use crate::code::{Caught, Op};
use crate::syntax::ast::{Binary, Pattern, PatternKind, Stmt};
use crate::types::{Head, Ty};
use crate::value::Value;

impl Checker<'_> {
    /// Emits code that tests the value in a slot, and jumps if the test fails; adds these jumps to
    /// `fails`. Declares the variables of the pattern.
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
                // If the variable already has a value, the pattern matches only this value.
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

    /// Returns the instruction to emit after all branches: `Impossible` if the branches cover every
    /// value, and otherwise `NoMatch`.
    pub(super) fn otherwise<'p>(&self, patterns: impl Iterator<Item = &'p Pattern>, ty: &Ty) -> Op {
        let head = match self.unknowns.shallow(ty) {
            Ty::Made(head, _) if head != Head::Exception => head,
            _ => return Op::NoMatch,
        };
        let made = |number: &usize| {
            let result = &self.constructors[*number].result;
            matches!(result, Ty::Made(known, _) if *known == head)
        };
        let all = (0..self.constructors.len()).filter(made);
        let taken: Vec<u32> = patterns.filter_map(|p| self.matches_all_of(p)).collect();
        let mut count = 0;
        for constructor in all {
            if !taken.contains(&(constructor as u32)) {
                return Op::NoMatch;
            }
            count += 1;
        }
        match count {
            0 => Op::NoMatch,
            _ => Op::Impossible,
        }
    }

    /// Returns the constructor whose values a pattern covers completely, if there is one.
    fn matches_all_of(&self, pattern: &Pattern) -> Option<u32> {
        let PatternKind::Construct(name, parts) = &pattern.kind else {
            return None;
        };
        let number = self.find(&self.constructor_numbers, self.module_here(), &name.text);
        number
            .copied()
            .filter(|_| parts.iter().all(|part| self.matches_all(part)))
    }

    /// Whether a pattern matches every value. The name of a variable that already has a value does
    /// not: it matches only this value.
    fn matches_all(&self, pattern: &Pattern) -> bool {
        match &pattern.kind {
            PatternKind::Any => true,
            PatternKind::Variable(name) => !self.is_bound(&name.text),
            PatternKind::Construct(..) => self.matches_all_of(pattern).is_some_and(|number| {
                let data = &self.constructors[number as usize].result;
                let made = self.constructors.iter();
                let made = made.filter(|constructor| constructor.result == *data);
                *data != Ty::EXCEPTION && made.count() == 1
            }),
            _ => false,
        }
    }

    /// Returns the exceptions that the branches of a `catch` match.
    pub(super) fn caught(&self, branches: &[(Pattern, Stmt)]) -> Caught {
        let patterns = || branches.iter().map(|(pattern, _)| pattern);
        if patterns().any(|pattern| self.matches_all(pattern)) {
            Caught::All
        } else {
            Caught::These(patterns().filter_map(|p| self.matches_all_of(p)).collect())
        }
    }

    /// Whether a name denotes a variable or a field.
    fn is_bound(&self, name: &str) -> bool {
        let local = |body: &super::BodyCode| body.scope.iter().any(|local| local.name == name);
        self.bodies.iter().any(local) || self.field(name).is_some()
    }

    fn test_equal(&mut self, span: mazurka_diagnostics::Span, fails: &mut Vec<PendingJump>) {
        self.emit(Op::Binary(Binary::Equal), span);
        fails.push(self.emit_jump(Op::JumpUnless(0), span));
    }
}
