//! The claims of the next step of a process, and the [`Promises`] of a machine, such as the
//! accesses that are still possible.

use mazurka_core::{Access, AccessKind, Blocker, Claims, ProcessId, Promises, add_claim};
use smallvec::SmallVec;

use crate::code::{Claim, Code};
use crate::run::machine::Machine;
use crate::run::state::Life;
use crate::run::{InstrRange, PlainNumbers, peek};

/// Adds the claims of a step that starts with these locals to `into`, which must be empty. Returns
/// the key of the claims: steps with equal keys have equal claims, and 0 means unknown.
#[inline(always)]
pub(super) fn claims_of(
    code: &Code,
    (step, separate): (u32, bool),
    locals: &[i64],
    operands: &mut Vec<i64>,
    into: &mut Claims,
) -> u32 {
    match &code.steps[step as usize].fixed {
        _ if separate => claims_of_ends(code, step, locals, operands, into),
        Some(fixed) => {
            match fixed[..] {
                [access] => into.push(access),
                _ => into.extend_from_slice(fixed),
            }
            step + 1
        }
        None => claims_with(
            code,
            &code.steps[step as usize].claims,
            locals,
            operands,
            into,
        ),
    }
}

/// Adds the claims of a step, if sends and receives claim different ends of a channel. Returns the
/// key of the claims, as [`claims_of`] does.
#[inline(never)]
fn claims_of_ends(
    code: &Code,
    step: u32,
    locals: &[i64],
    operands: &mut Vec<i64>,
    into: &mut Claims,
) -> u32 {
    match &code.steps[step as usize].ends {
        None => claims_of(code, (step, false), locals, operands, into),
        Some(ends) => {
            claims_with(code, &ends.claims, locals, operands, into);
            0
        }
    }
}

/// Replaces the claims of a step that waits at one end of a channel by claims of the other end,
/// where another process must make a step first.
#[inline(never)]
fn claim_other_ends(code: &Code, step: u32, claims: &mut Claims) {
    let Some(ends) = &code.steps[step as usize].ends else {
        return;
    };
    let own: SmallVec<[Access; 8]> = claims.drain(..).collect();
    for claim in own {
        let end = ends.pure.iter().find(|end| end.cells.has(claim.first));
        let Some(end) = end else {
            add_claim(claims, claim);
            continue;
        };
        if end.sends {
            let messages = end.cells.messages_of(claim);
            messages.for_each(|other| add_claim(claims, other));
        } else if let Some(other) = end.cells.counts_of(claim) {
            add_claim(claims, other);
        }
    }
}

/// Adds the claims of a step that accesses array elements. Returns the key of the claims, as
/// [`claims_of`] does.
fn claims_with(
    code: &Code,
    claims: &[Claim],
    locals: &[i64],
    operands: &mut Vec<i64>,
    into: &mut Claims,
) -> u32 {
    for claim in claims {
        match *claim {
            Claim::Fixed(access) => add_claim(into, access),
            Claim::Element { kind, range, index } => {
                let snippet = &code.snippets[index as usize];
                let value = peek(
                    &mut PlainNumbers,
                    InstrRange::whole(snippet),
                    &[],
                    locals,
                    operands,
                );
                // If the index fails or is out of bounds, the step touches no element.
                let Some(Ok(index)) = value else { continue };
                if !(0..i64::from(range.len)).contains(&index) {
                    continue;
                }
                let cell = range.first + index as u32;
                add_claim(into, Access::new(kind, cell));
                if kind == AccessKind::Write {
                    for &invariant in code.watched.get(cell as usize).into_iter().flatten() {
                        add_claim(into, Access::write(code.invariant_cell(invariant)));
                    }
                }
            }
        }
    }
    operands.clear();
    match into[..] {
        [
            Access {
                first,
                len: 1,
                kind,
            },
        ] => code.element_key(first, kind),
        _ => {
            into.sort_unstable();
            0
        }
    }
}

impl Machine {
    /// Computes the claims of the next step of a process. `separate`: whether sends and receives
    /// claim different ends of a channel.
    #[inline]
    pub(super) fn next_claims(&self, process: ProcessId, separate: bool, into: &mut Claims) {
        into.clear();
        if let Some(step) = self.resting(process) {
            let operands = &mut *self.scratch.borrow_mut();
            let locals = self.locals(process);
            claims_of(&self.code, (step, separate), locals, operands, into);
        }
    }

    #[inline]
    pub(super) fn interference_claims_of(
        &self,
        process: ProcessId,
        waits: bool,
        into: &mut Claims,
    ) {
        let separate = !self.code.pure_ends.is_empty();
        self.next_claims(process, separate, into);
        if separate
            && waits
            && let Some(step) = self.resting(process)
        {
            claim_other_ends(&self.code, step, into);
        }
    }
}

impl Promises for Machine {
    fn guards(&self) -> &[Access] {
        &self.code.guards
    }

    fn future(&self, process: ProcessId, into: &mut Claims) {
        into.clear();
        let Some(state) = self.state.processes.get(process.index()) else {
            return;
        };
        if state.registers.life == Life::Alive {
            let reach = self.code.reach();
            for pc in state.code_positions() {
                reach.add_from(pc, into);
            }
        }
    }

    fn blocker(&self, process: ProcessId) -> Blocker {
        self.blocker_of(process)
    }

    #[inline]
    fn interferes(&self, process: ProcessId, claims: &[Access], waits: bool) -> bool {
        let Some(state) = self.state.processes.get(process.index()) else {
            return false;
        };
        let interference = self.code.interference();
        state.registers.life == Life::Alive
            && state
                .code_positions()
                .any(|pc| interference.interferes_from(pc, claims, waits))
    }

    #[inline]
    fn may_put_off(&self, process: ProcessId) -> bool {
        let step = self.resting(process);
        step.is_none_or(|step| self.code.steps[step as usize].puts_off)
    }
}
