//! Atomic variables: `let old = t.fetch_add(e)`, `let ok = t.compare_exchange(e, f)`, `t.swap(e)`.
//!
//! The oracle's memory is sequentially consistent, so the orders of the operations have no effect.

use super::ast::{Expr, Kind, Op, Place, ResultTarget, Ty};
use super::code::Instr;
use super::compile::{CompileResult, Compiler, Meaning};
use super::parse::{Parsed, Parser};

const VERBS: [&str; 6] = [
    "load",
    "store",
    "swap",
    "fetch_add",
    "fetch_sub",
    "compare_exchange",
];
const ORDERS: [&str; 5] = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"];
const RESULT: &str = "the result of an update";

impl Parser {
    /// Whether the next tokens are an operation on the place that was just parsed, as in `.swap(`.
    pub(super) fn sees_verb(&self) -> bool {
        let verb = self.word_after(1).is_some_and(|word| VERBS.contains(&word));
        self.sees(".") && verb && self.sign_after(2) == Some("(")
    }

    /// Parses the operation and its arguments.
    fn verb(&mut self) -> Parsed<(String, Vec<Expr>)> {
        self.need(".")?;
        let verb = self.name()?;
        let mut values = self.arguments()?;
        let is_order = |e: &Expr| matches!(e, Expr::Name(name) if ORDERS.contains(&name.as_str()));
        while values.last().is_some_and(is_order) {
            values.pop();
        }
        let wanted = match verb.as_str() {
            "load" => 0,
            "compare_exchange" => 2,
            _ => 1,
        };
        if values.len() != wanted {
            return self.wrong("another number of values");
        }
        Ok((verb, values))
    }

    /// Skips a `load` of a variable, because its value is that of the variable.
    pub(super) fn skip_load(&mut self) -> Parsed<()> {
        if !self.sees_verb() {
            return Ok(());
        }
        match self.verb()? {
            (verb, _) if verb == "load" => Ok(()),
            (verb, _) => Err(format!("{verb} in an expression")),
        }
    }

    /// Parses an update, if one is next; its result is stored in `target`.
    pub(super) fn update(&mut self, target: Option<ResultTarget>) -> Parsed<Option<Kind>> {
        let start = self.at;
        let place = match self.path() {
            Ok(place) if self.sees_verb() && self.word_after(1) != Some("load") => place,
            _ => {
                self.at = start;
                return Ok(None);
            }
        };
        let (verb, values) = self.verb()?;
        Ok(Some(match target {
            None if verb == "store" => Kind::Assign(vec![place], values),
            Some(_) if verb == "store" => return Err("a store has no result".into()),
            target => Kind::Update(target, place, verb, values),
        }))
    }
}

impl Compiler {
    /// Compiles an update. The reads of its index and of its arguments belong to its step. Under
    /// `atomicity access` they are separate steps before it: first those of the index, then those
    /// of the arguments.
    pub(super) fn update(
        &mut self,
        target: Option<&ResultTarget>,
        place: &Place,
        done: (&str, &[Expr]),
    ) -> CompileResult {
        let (verb, values) = done;
        let ty = self.place_ty(place)?;
        if verb.starts_with("fetch") && ty == Ty::Bool {
            return Err("numbers are needed".into());
        }
        if !self.access {
            self.begin_update();
        }
        let index = match &place.index {
            Some(index) => {
                let visible = self.access && self.touches(index);
                self.statement(visible);
                self.index(index)?;
                self.over(visible);
                Some(self.set_aside())
            }
            None => None,
        };
        let mut given = Vec::new();
        for value in values {
            let visible = self.access && self.touches(value);
            self.statement(visible);
            self.expr(value, ty)?;
            self.over(visible);
            given.push(self.set_aside());
        }
        if self.access {
            self.begin_update();
        }
        let Some(Meaning::Shared { base, len, .. }) = self.lookup(&place.name) else {
            return Err(format!("{} is not shared", place.name));
        };
        if let Some(index) = index {
            self.emit(Instr::Local(index));
        }
        self.emit(len.map_or(Instr::Shared(base), |len| Instr::SharedAt(base, len)));
        let old = self.set_aside();
        let mut result = (old, ty);
        match verb {
            "compare_exchange" => {
                self.emit(Instr::Local(old));
                self.emit(Instr::Local(given[0]));
                self.emit(Instr::Bin(Op::Eq, ty));
                let equal = self.set_aside();
                self.emit(Instr::Local(equal));
                let out = self.emit(Instr::JumpIfNot(0));
                self.store(place, given[1], index)?;
                self.land(out);
                result = (equal, Ty::Bool);
            }
            "swap" => self.store(place, given[0], index)?,
            _ => {
                let op = if verb == "fetch_add" {
                    Op::Add
                } else {
                    Op::Sub
                };
                self.emit(Instr::Local(old));
                self.emit(Instr::Local(given[0]));
                self.emit(Instr::Bin(op, ty));
                let new = self.set_aside();
                self.store(place, new, index)?;
            }
        }
        if let Some(target) = target {
            self.store_update_result(target, result)?;
        }
        self.emit(Instr::AtomicEnd);
        Ok(())
    }

    fn begin_update(&mut self) {
        self.emit(Instr::Yield);
        self.emit(Instr::AtomicBegin);
    }

    /// Moves a value from the stack to a new local.
    fn set_aside(&mut self) -> usize {
        let slot = self.slot(1);
        self.emit(Instr::SetLocal(slot));
        slot
    }

    fn store_update_result(
        &mut self,
        target: &ResultTarget,
        (slot, ty): (usize, Ty),
    ) -> CompileResult {
        let place = match target {
            ResultTarget::Place(place) => place.clone(),
            ResultTarget::Let(name) => {
                self.local(name, None, ty)?;
                Place {
                    name: name.clone(),
                    index: None,
                }
            }
        };
        if !matches!(self.lookup(&place.name), Some(Meaning::Local { .. })) {
            return Err(format!("{} is not a local", place.name));
        }
        let len = None;
        self.name(RESULT, Meaning::Local { slot, len, ty });
        self.assign(&[place], &[Expr::Name(RESULT.into())])
    }
}
