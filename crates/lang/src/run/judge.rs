//! Decides whether the history that a state holds is linearizable. `check/operations.rs` explains
//! when this is checked, and why that is enough.
//!
//! `mazurka-history` searches for an order of the operations that explains the history. For this it
//! needs the effect of an operation on a state of the specification, which a machine computes, once
//! for each operation and state. The answers for histories are stored too, because many traces have
//! the same history.
//!
//! If an operation of the specification fails in a state, or its `assume` is false, no order may
//! execute the operation in this state. If its evaluation reaches a bound, the effect of the
//! operation is unknown. The answer is then unknown too, unless some other order explains the
//! history.

use std::cell::RefCell;

use mazurka_core::{Execution, MishapKind, ProcessId, Semantics, Status};
use mazurka_history::Verdict;
use rustc_hash::FxHashMap;

use crate::code::history::Linear;
use crate::run::machine::Machine;
use crate::run::state::State;

/// Limit on the number of integers in the stored histories. It also limits the number of integers
/// in the known states when the decision of a new history begins.
const MOST_NUMBERS: usize = 1 << 21;

/// The effect of a call in a state of the specification.
#[derive(Clone, Copy, Debug)]
enum CallEffect {
    /// The call leads to this state (its index in [`States::known`]) and returns this value.
    Returns(u32, i64),
    /// The call fails, waits, or its `assume` is false.
    Impossible,
    /// The effect is unknown, because the evaluation reached this bound.
    Lost(MishapKind),
}

/// The known states of a specification, and the effects of calls in them.
#[derive(Clone, Debug)]
struct States {
    machine: Machine,
    /// The machine's state before its step. Each evaluation first replaces the cells of this state
    /// by the cells of a known state.
    start: State,
    /// The cells of each known state.
    known: Vec<Vec<i64>>,
    /// For the cells of a known state, its index in `known`.
    numbers: FxHashMap<Vec<i64>, u32>,
    /// The known effects, by the index of the state and the index of the call.
    effects: FxHashMap<(u32, u32), CallEffect>,
    /// The bound that an evaluation has reached since the current decision began.
    reached_bound: Option<MishapKind>,
}

/// Decides whether histories are linearizable, with a cache.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    states: RefCell<States>,
    /// The answers, by the cells that hold the history.
    judged: FxHashMap<Vec<i64>, Result<(), MishapKind>>,
}

impl Judge {
    pub fn new(linear: &Linear, max_local: u64) -> Self {
        let machine = Machine::new(linear.specification.clone(), max_local);
        let start = machine.state();
        let cells = start.cells.clone();
        let states = States {
            machine,
            known: vec![cells.clone()],
            numbers: FxHashMap::from_iter([(cells, 0)]),
            start,
            effects: FxHashMap::default(),
            reached_bound: None,
        };
        Self {
            states: RefCell::new(states),
            judged: FxHashMap::default(),
        }
    }

    /// Decides whether a history is linearizable. The error is a failure if the history is not
    /// linearizable, and the bound that was reached if the answer is unknown.
    pub fn judge(&mut self, linear: &Linear, cells: &[i64]) -> Result<(), MishapKind> {
        let key = &cells[linear.cells.clone()];
        if let Some(&known) = self.judged.get(key) {
            return known;
        }
        self.states.get_mut().begin();
        let verdict = linear.history(cells).linearize(&0, |state, call| {
            let effect = self.states.borrow_mut().effect(linear, *state, *call);
            match effect {
                CallEffect::Returns(next, result) => {
                    *state = next;
                    Some(result)
                }
                // The call cannot come next in the order. If it has not returned, the order need
                // not contain it.
                CallEffect::Impossible | CallEffect::Lost(_) => None,
            }
        });
        let judged = match (verdict, self.states.borrow().reached_bound) {
            (Verdict::Order(_), _) => Ok(()),
            (Verdict::Undecided, _) => Err(MishapKind::Undecided),
            (Verdict::Impossible { .. }, Some(reached_bound)) => Err(reached_bound),
            (Verdict::Impossible { .. }, None) => Err(MishapKind::Failure),
        };
        if self.judged.len() * key.len() >= MOST_NUMBERS {
            self.judged.clear();
        }
        self.judged.insert(key.to_vec(), judged);
        judged
    }
}

impl States {
    /// Prepares a decision: clears the bound that was reached, and removes all states if there are
    /// too many.
    fn begin(&mut self) {
        self.reached_bound = None;
        if self.known.len() * self.known[0].len() >= MOST_NUMBERS {
            self.known.truncate(1);
            self.numbers.retain(|_, number| *number == 0);
            self.effects.clear();
        }
    }

    /// Returns the effect of a call in a state.
    fn effect(&mut self, linear: &Linear, state: u32, call: u32) -> CallEffect {
        let effect = match self.effects.get(&(state, call)) {
            Some(&known) => known,
            None => {
                let effect = self.compute_effect(linear, state, call);
                self.effects.insert((state, call), effect);
                effect
            }
        };
        if let CallEffect::Lost(kind) = effect {
            self.reached_bound = Some(kind);
        }
        effect
    }

    fn compute_effect(&mut self, linear: &Linear, state: u32, call: u32) -> CallEffect {
        self.start.cells.clone_from(&self.known[state as usize]);
        self.start.cells[linear.spec_called] = i64::from(call);
        self.machine.restore(&self.start);
        let process = ProcessId(0);
        let mishaps = match self.machine.step(process, &[]) {
            Ok(event) => event.mishaps.clone(),
            Err(_) => return CallEffect::Impossible,
        };
        let reached_bound = mishaps.iter().map(|mishap| mishap.kind);
        let mut reached_bound = reached_bound
            .filter(|kind| !matches!(kind, MishapKind::Failure | MishapKind::Discarded));
        if let Some(kind) = reached_bound.next() {
            return CallEffect::Lost(kind);
        }
        if self.machine.status(process) != Status::Ended {
            return CallEffect::Impossible;
        }
        let mut cells = self.machine.state().cells;
        let result = std::mem::take(&mut cells[linear.spec_result]);
        cells[linear.spec_called] = 0;
        let next = match self.numbers.get(&cells) {
            Some(&number) => number,
            // The decision of a single history needs more states than can be stored.
            None if self.known.len() * cells.len() >= 2 * MOST_NUMBERS => {
                return CallEffect::Lost(MishapKind::Undecided);
            }
            None => {
                let number = self.known.len() as u32;
                self.known.push(cells.clone());
                self.numbers.insert(cells, number);
                number
            }
        };
        CallEffect::Returns(next, result)
    }
}
