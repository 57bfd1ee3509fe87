//! Compiles assignments and `let`.

use super::ast::{Expr, Init, Place, Ty};
use super::code::Instr;
use super::compile::{CompileResult, Compiler, Meaning};

impl Compiler {
    pub(super) fn assign(&mut self, places: &[Place], values: &[Expr]) -> CompileResult {
        for (at, place) in places.iter().enumerate() {
            let same = |other: &Place| other.name == place.name && other.index == place.index;
            if places[..at].iter().any(same) {
                return Err(format!("{} is assigned twice", place.name));
            }
        }
        let shared = places
            .iter()
            .any(|p| matches!(self.lookup(&p.name), Some(Meaning::Shared { .. })));
        let indices = places.iter().filter_map(|p| p.index.as_ref());
        let visible =
            shared || self.any_touches(values) || indices.clone().any(|e| self.touches(e));
        self.statement(visible);
        // The assignments are simultaneous, so all indices and then all right sides are evaluated
        // before the first write, each into a local of its own.
        let slots = self.slots;
        let mut at = Vec::new();
        for place in places {
            let slot = match &place.index {
                None => None,
                Some(index) => {
                    self.index(index)?;
                    let slot = self.slot(1);
                    self.emit(Instr::SetLocal(slot));
                    Some(slot)
                }
            };
            at.push(slot);
        }
        let mut value_slots = Vec::new();
        for (place, value) in places.iter().zip(values) {
            let ty = self.place_ty(place)?;
            self.expr(value, ty)?;
            let slot = self.slot(1);
            self.emit(Instr::SetLocal(slot));
            value_slots.push(slot);
        }
        for ((place, slot), index) in places.iter().zip(value_slots).zip(at) {
            self.store(place, slot, index)?;
        }
        self.over(visible);
        self.slots = slots;
        Ok(())
    }

    pub(super) fn place_ty(&self, place: &Place) -> CompileResult<Ty> {
        match self.lookup(&place.name) {
            Some(Meaning::Shared { len, ty, .. } | Meaning::Local { len, ty, .. })
                if len.is_some() == place.index.is_some() =>
            {
                Ok(ty)
            }
            _ => Err(format!("{} cannot be assigned", place.name)),
        }
    }

    /// Writes the value of the local `value_slot` to a place. For an element of an array, the local
    /// `index` has its index.
    pub(super) fn store(
        &mut self,
        place: &Place,
        value_slot: usize,
        index: Option<usize>,
    ) -> CompileResult {
        let meaning = self.lookup(&place.name);
        if let Some(index) = index {
            self.emit(Instr::Local(index));
        }
        self.emit(Instr::Local(value_slot));
        let instr = match meaning {
            Some(Meaning::Shared { base, len, .. }) => {
                self.access_point();
                len.map_or(Instr::SetShared(base), |len| Instr::SetSharedAt(base, len))
            }
            Some(Meaning::Local { slot, len, .. }) => {
                len.map_or(Instr::SetLocal(slot), |len| Instr::SetLocalAt(slot, len))
            }
            _ => return Err(format!("{} cannot be assigned", place.name)),
        };
        self.emit(instr);
        Ok(())
    }

    pub(super) fn let_(
        &mut self,
        name: &str,
        ty: Option<Ty>,
        size: Option<&Expr>,
        init: &Init,
    ) -> CompileResult {
        let len = self.size(size)?;
        let values = match init {
            Init::One(value) => vec![value.clone(); len.unwrap_or(1)],
            Init::List(all) if Some(all.len()) == len => all.clone(),
            Init::List(_) => return Err(format!("{name} needs another number of values")),
        };
        let ty = match ty {
            Some(ty) => ty,
            None => self.ty(&values[0])?.unwrap_or(Ty::Int),
        };
        let visible = self.any_touches(&values);
        self.statement(visible);
        for value in &values {
            self.expr(value, ty)?;
        }
        self.over(visible);
        let slot = self.local(name, len, ty)?;
        for at in (0..values.len()).rev() {
            self.emit(Instr::SetLocal(slot + at));
        }
        Ok(())
    }
}
