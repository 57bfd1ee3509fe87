//! The history of an object, as the ghost cells of a state store it, and the specification of its
//! operations. `check/operations.rs` explains the ghosts; the machine reads the history here to
//! check whether it is linearizable.

use std::sync::Arc;

use mazurka_core::record::ObjectRecord;
use mazurka_diagnostics::Diagnostic;
use mazurka_history::{History, OperationId};

use super::Code;
use crate::check::hir::{LinearCall, Linearizable};
use crate::code::compile::compile;

/// An object and its specification. The history of the object is kept in ghost cells of the state.
#[derive(Debug)]
pub(crate) struct Linear {
    pub clients: usize,
    pub calls_each: usize,
    /// The index of the process of the first client.
    pub first_process: u32,
    /// The cells that hold the history.
    pub cells: std::ops::Range<usize>,
    /// The first cell of each ghost array.
    pub ended: usize,
    pub called: usize,
    pub seen: usize,
    pub result: usize,
    /// The index of the invariant that represents linearizability.
    pub invariant: u32,
    pub specification: Arc<Code>,
    /// The cells of the specification that hold the index of a call and its result.
    pub spec_called: usize,
    pub spec_result: usize,
}

/// Returns the object of a program if its linearizability is checked.
pub(super) fn linear(code: &Code) -> Result<Option<Arc<Linear>>, Vec<Diagnostic>> {
    let program = &code.program;
    let Some(object) = &program.linearizable else {
        return Ok(None);
    };
    let stated = |(span, name): (_, &Option<String>)| span == object.span && name.is_some();
    let mut invariants = program.invariants.iter();
    let invariant = invariants.position(|property| stated((property.span, &property.name)));
    let (Some(invariant), Some(specification)) = (invariant, &object.specification) else {
        return Ok(None);
    };
    let theirs = compile(&specification.program, &code.source)?;
    let first = |var: crate::check::hir::VarId| code.first_cells[var.0 as usize] as usize;
    let slots = (object.clients * object.calls_each) as usize;
    let spec_cell = |var: crate::check::hir::VarId| theirs.first_cells[var.0 as usize] as usize;
    Ok(Some(Arc::new(Linear {
        clients: object.clients as usize,
        calls_each: object.calls_each as usize,
        first_process: program.processes.len() as u32 - object.clients,
        cells: first(object.first)..first(object.result) + slots,
        ended: first(object.first),
        called: first(object.called),
        seen: first(object.seen),
        result: first(object.result),
        invariant: invariant as u32,
        spec_called: spec_cell(specification.called),
        spec_result: spec_cell(specification.result),
        specification: Arc::new(theirs),
    })))
}

impl Linear {
    /// Returns the history that a state holds: calls by their indices among all possible calls, and
    /// their results. A state does not store the order of two calls with no return between them, or
    /// of two returns with no call between them. The returned history puts these in some order;
    /// linearizability does not depend on it.
    pub fn history(&self, cells: &[i64]) -> History<u32, Option<i64>> {
        let slots = self.clients * self.calls_each;
        let called = |slot: usize| cells[self.called + slot];
        let seen = |slot: usize| &cells[self.seen + slot * self.clients..][..self.clients];
        let mut calls: Vec<usize> = (0..slots).filter(|&slot| called(slot) >= 0).collect();
        // A later call has seen at least as many returns of each client as an earlier call.
        calls.sort_by_key(|&slot| seen(slot).iter().sum::<i64>());
        let mut history = History::new();
        let mut ids: Vec<Option<OperationId>> = vec![None; slots];
        let mut ended: Vec<usize> = (0..self.clients).map(|q| q * self.calls_each).collect();
        let mut end_until = |history: &mut History<_, _>, ids: &[_], until: &[i64]| {
            for (next, &until) in ended.iter_mut().zip(until) {
                while (*next as i64) < until {
                    if let Some(id) = ids[*next] {
                        history.end(id, Some(cells[self.result + *next]));
                    }
                    *next += 1;
                }
            }
        };
        for slot in calls {
            end_until(&mut history, &ids, seen(slot));
            // The checker has limited the number of calls.
            ids[slot] = history
                .call(slot / self.calls_each, called(slot) as u32)
                .ok();
        }
        end_until(&mut history, &ids, &cells[self.ended..][..self.clients]);
        history
    }

    /// Returns the slot that a cell of `$called` belongs to.
    pub fn called_slot(&self, cell: u32) -> Option<usize> {
        let slot = (cell as usize).checked_sub(self.called)?;
        (slot < self.clients * self.calls_each).then_some(slot)
    }

    /// Returns the client that a cell of `$ended` belongs to.
    pub fn ended_client(&self, cell: u32) -> Option<usize> {
        let client = (cell as usize).checked_sub(self.ended)?;
        (client < self.clients).then_some(client)
    }
}

impl Code {
    /// Whether the file states the linearizability of an object.
    pub fn has_object(&self) -> bool {
        self.program.linearizable.is_some()
    }

    /// Returns a description of the object of the file, if its linearizability is checked.
    pub fn object(&self) -> Option<ObjectRecord> {
        let object = self.program.linearizable.as_ref()?;
        self.linear.as_ref()?;
        let head = |head: mazurka_diagnostics::Span| {
            let text = head.text(&self.source).trim_start_matches("op").trim();
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let operations = object.operations.iter();
        Some(ObjectRecord {
            clients: object.clients.into(),
            operations: object.calls_each.into(),
            calls: object.calls.len() as u64,
            heads: operations.map(|operation| head(operation.head)).collect(),
        })
    }

    /// Returns a call as the source would write it.
    pub(crate) fn shown_call(&self, call: i64) -> String {
        let known = |object: &Linearizable| -> Option<String> {
            let LinearCall { operation, args } = object.calls.get(usize::try_from(call).ok()?)?;
            let operation = object.operations.get(*operation as usize)?;
            let args = args.iter().zip(&operation.params);
            let args = args.map(|(&arg, &ty)| self.program.show(arg, ty));
            let args: Vec<String> = args.collect();
            Some(format!("{}({})", operation.name, args.join(", ")))
        };
        let object = self.program.linearizable.as_ref();
        object.and_then(known).unwrap_or_default()
    }

    /// Returns the result of a call as text, which is empty if its operation returns nothing.
    pub(crate) fn shown_result(&self, call: i64, result: i64) -> String {
        let ty = self.program.linearizable.as_ref().and_then(|object| {
            let call = object.calls.get(usize::try_from(call).ok()?)?;
            object.operations.get(call.operation as usize)?.result
        });
        ty.map_or_else(String::new, |ty| self.program.show(result, ty))
    }
}
