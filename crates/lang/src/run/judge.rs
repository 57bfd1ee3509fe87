//! Whether the history that a state keeps is linearizable (`check/operations.rs` says when this is
//! asked, and why that is enough).
//!
//! The search for an order is that of `mazurka-history`. What an operation does to a state of the
//! specification is found out by a machine once, and histories that were met are not asked about
//! again: traces are many, and histories few.
//!
//! An operation of the specification that fails, or whose `assume` is false, is not possible in
//! that state, so no order has it there. One of which a bound of the evaluator hides what it does
//! leaves the answer open, unless there is an order without it.

use std::cell::RefCell;

use mazurka_core::{Execution, MishapKind, ProcessId, Semantics, Status};
use mazurka_history::Verdict;
use rustc_hash::FxHashMap;

use crate::code::history::Linear;
use crate::run::machine::Machine;
use crate::run::state::State;

/// So many numbers are remembered of histories, and so many of states when a history is new.
const MOST_NUMBERS: usize = 1 << 21;

/// What a call does in a state of the specification.
#[derive(Clone, Copy, Debug)]
enum Effect {
    /// It leads to another state, and returns this.
    Returns(u32, i64),
    Impossible,
    /// A bound of the evaluator was met.
    Lost(MishapKind),
}

/// The states of a specification, as far as they are known.
#[derive(Clone, Debug)]
struct States {
    machine: Machine,
    /// The machine before its step, with the cells of the initial state.
    start: State,
    known: Vec<Vec<i64>>,
    numbers: FxHashMap<Vec<i64>, u32>,
    effects: FxHashMap<(u32, u32), Effect>,
    lost: Option<MishapKind>,
}

/// Decides about histories.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    states: RefCell<States>,
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
            lost: None,
        };
        Self {
            states: RefCell::new(states),
            judged: FxHashMap::default(),
        }
    }

    /// Whether a history is linearizable: a failure if it is not.
    pub fn judge(&mut self, linear: &Linear, cells: &[i64]) -> Result<(), MishapKind> {
        let key = &cells[linear.cells.clone()];
        if let Some(&known) = self.judged.get(key) {
            return known;
        }
        self.states.get_mut().begin();
        let verdict = linear.history(cells).linearize(&0, |state, call| {
            let effect = self.states.borrow_mut().effect(linear, *state, *call);
            match effect {
                Effect::Returns(next, result) => {
                    *state = next;
                    Some(result)
                }
                // A call that has not returned then changes nothing.
                Effect::Impossible | Effect::Lost(_) => None,
            }
        });
        let judged = match (verdict, self.states.borrow().lost) {
            (Verdict::Order(_), _) => Ok(()),
            (Verdict::Undecided, _) => Err(MishapKind::Undecided),
            (Verdict::Impossible { .. }, Some(lost)) => Err(lost),
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
    /// Forgets what the last question was about, and all states if there are too many.
    fn begin(&mut self) {
        self.lost = None;
        if self.known.len() * self.known[0].len() >= MOST_NUMBERS {
            self.known.truncate(1);
            self.numbers.retain(|_, number| *number == 0);
            self.effects.clear();
        }
    }

    /// What a call does in a state.
    fn effect(&mut self, linear: &Linear, state: u32, call: u32) -> Effect {
        let effect = match self.effects.get(&(state, call)) {
            Some(&known) => known,
            None => {
                let effect = self.find(linear, state, call);
                self.effects.insert((state, call), effect);
                effect
            }
        };
        if let Effect::Lost(kind) = effect {
            self.lost = Some(kind);
        }
        effect
    }

    fn find(&mut self, linear: &Linear, state: u32, call: u32) -> Effect {
        self.start.cells.clone_from(&self.known[state as usize]);
        self.start.cells[linear.spec_called] = i64::from(call);
        self.machine.restore(&self.start);
        let process = ProcessId(0);
        let mishaps = match self.machine.step(process, &[]) {
            Ok(event) => event.mishaps.clone(),
            Err(_) => return Effect::Impossible,
        };
        let lost = mishaps.iter().map(|mishap| mishap.kind);
        let mut lost =
            lost.filter(|kind| !matches!(kind, MishapKind::Failure | MishapKind::Discarded));
        if let Some(kind) = lost.next() {
            return Effect::Lost(kind);
        }
        if self.machine.status(process) != Status::Ended {
            return Effect::Impossible;
        }
        let mut cells = self.machine.state().cells;
        let result = std::mem::take(&mut cells[linear.spec_result]);
        cells[linear.spec_called] = 0;
        let next = match self.numbers.get(&cells) {
            Some(&number) => number,
            // One history alone asks for more states than there is room for.
            None if self.known.len() * cells.len() >= 2 * MOST_NUMBERS => {
                return Effect::Lost(MishapKind::Undecided);
            }
            None => {
                let number = self.known.len() as u32;
                self.known.push(cells.clone());
                self.numbers.insert(cells, number);
                number
            }
        };
        Effect::Returns(next, result)
    }
}
