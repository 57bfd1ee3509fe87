//! Describes the history of an object for users: the calls and returns of its operations in the
//! steps of a run, and why a history is not linearizable. A *slot* is the place of one call of one
//! client in the history (check/operations.rs).

use mazurka_core::record::{HistoryOperation, Place, Step};
use mazurka_core::{AccessKind, Execution, Mishap};

use crate::code::Code;
use crate::code::fault::Site;
use crate::code::history::Linear;
use crate::run::machine::Machine;

impl Code {
    /// Whether a mishap is a history that is not linearizable.
    pub(super) fn is_about_history(&self, mishap: &Mishap) -> bool {
        let linear = self.linear.as_ref();
        linear.is_some_and(|linear| {
            Site::decode(mishap.site) == Some(Site::Invariant(linear.invariant))
        })
    }

    /// Whether a cell belongs to a variable that the source does not name.
    pub(super) fn is_hidden(&self, cell: u32) -> bool {
        let at = self.first_cells.partition_point(|&first| first <= cell);
        let var = self.program.vars.get(at.wrapping_sub(1));
        cell < self.first_lock && var.is_some_and(|var| var.name.starts_with('$'))
    }
}

/// The effect of a step on the history.
enum HistoryEffect {
    Called { slot: usize },
    Returned { slot: usize },
}

impl Machine {
    fn linear(&self) -> Option<&Linear> {
        self.code.linear.as_deref()
    }

    /// Returns the effects on the history of the event at a position of the run. `ended` holds, for
    /// each client, the slot that ends with its next return; this function updates it.
    fn history_effects(
        &self,
        linear: &Linear,
        at: usize,
        ended: &mut [usize],
    ) -> Vec<HistoryEffect> {
        let mut all = Vec::new();
        for access in &self.events()[at].touched {
            if access.kind == AccessKind::Write {
                if let Some(slot) = linear.called_slot(access.first) {
                    all.push(HistoryEffect::Called { slot });
                } else if let Some(client) = linear.ended_client(access.first) {
                    let slot = ended[client];
                    ended[client] += 1;
                    all.push(HistoryEffect::Returned { slot });
                }
            }
        }
        all
    }

    fn first_slots(linear: &Linear) -> Vec<usize> {
        let clients = 0..linear.clients;
        clients.map(|client| client * linear.calls_each).collect()
    }

    fn call_in(&self, linear: &Linear, slot: usize) -> String {
        let call = self.state.cells[linear.called + slot];
        self.code.shown_call(call)
    }

    fn result_in(&self, linear: &Linear, slot: usize) -> String {
        let call = self.state.cells[linear.called + slot];
        let result = self.state.cells[linear.result + slot];
        self.code.shown_result(call, result)
    }

    /// Adds the call or the return of the last step to its label.
    pub(super) fn add_call_to_label(&self, step: &mut Step) {
        let Some(linear) = self.linear() else { return };
        let last = self.events().len() - 1;
        // Only the last return of each client can belong to the last step, so the earlier slots are
        // skipped.
        let mut ended: Vec<usize> = (0..linear.clients)
            .map(|client| self.state.cells[linear.ended + client].max(1) as usize - 1)
            .collect();
        for effect in self.history_effects(linear, last, &mut ended) {
            match effect {
                HistoryEffect::Called { slot } => {
                    step.label = format!("call {}", self.call_in(linear, slot));
                }
                HistoryEffect::Returned { slot } => {
                    let result = self.result_in(linear, slot);
                    let returns = format!("; return {result}");
                    step.label += returns.trim_end();
                }
            }
        }
    }

    /// Returns the calls of the current run, in order.
    pub(super) fn calls_of_run(&self) -> Vec<HistoryOperation> {
        let Some(linear) = self.linear() else {
            return Vec::new();
        };
        let mut ended = Self::first_slots(linear);
        let mut slots = Vec::new();
        let mut calls: Vec<HistoryOperation> = Vec::new();
        for at in 0..self.events().len() {
            for effect in self.history_effects(linear, at, &mut ended) {
                match effect {
                    HistoryEffect::Called { slot } => {
                        let process = self.events()[at].process;
                        slots.push(slot);
                        calls.push(HistoryOperation {
                            process: self.table.path(process).to_string(),
                            call: self.call_in(linear, slot),
                            called: at + 1,
                            returned: None,
                            result: String::new(),
                        });
                    }
                    HistoryEffect::Returned { slot } => {
                        let known = slots.iter().position(|&known| known == slot);
                        if let Some(call) = known.and_then(|known| calls.get_mut(known)) {
                            call.returned = Some(at + 1);
                            call.result = self.result_in(linear, slot);
                        }
                    }
                }
            }
        }
        calls
    }

    /// Returns a sentence about the reason why a history is not linearizable, and the place of the
    /// specification.
    pub(super) fn explain_history(&self, mishap: &Mishap) -> Option<(String, Option<Place>)> {
        let linear = self.linear()?;
        if !self.code.is_about_history(mishap) {
            return None;
        }
        let place = self.code.program.linearizable.as_ref();
        let place = place.map(|object| self.code.place(object.span));
        let client = mishap.process?.0.checked_sub(linear.first_process)?;
        let ended = self.state.cells.get(linear.ended + client as usize)?;
        let slot = usize::try_from(ended - 1).ok()?;
        let call = self.call_in(linear, slot);
        let what = match self.result_in(linear, slot) {
            result if result.is_empty() => format!("{call} has ended"),
            result => format!("{call} returns {result}"),
        };
        let message = format!("not linearizable: no order of the operations explains that {what}");
        Some((message, place))
    }
}
