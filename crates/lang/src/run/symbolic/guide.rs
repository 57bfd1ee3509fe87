//! Steps whose decisions are known in advance. In concolic execution the decisions follow from the
//! initial values. Afterwards the same path is followed again, over unknown initial values. A
//! [`Guide`] supplies the decisions, so no solver is needed.
//!
//! Guarded-command paper, sections 4 and 5.1.
//!
//! | paper | here |
//! |---|---|
//! | a step of the concolic semantics | [`SymbolicMachine::step_from`] |
//! | the guards of a label, and the sides taken of its choices | [`DecidedPath`] |
//! | a label of a permutation | [`SymbolicMachine::step_along`] |
//! | path(θ), Definition 6 | [`SymbolicMachine::condition`] of a machine that has followed θ |
//!
//! Deviation: the paper computes path(θ) backwards, by substitution; here it is computed forwards,
//! step by step. Both express the guards of later states over the initial state. The conditions
//! under which divisions and indices are defined are part of path(θ), and so are the `requires` of
//! the program.

use mazurka_core::{ProcessId, StepError};
use mazurka_smt::{Evaluator, Model, Term};

use super::domain::TermDomain;
use super::state::initial_cells;
use super::{Life, SymbolicMachine};
use crate::run::{Halt, Obstacle};

/// The path that a step took: the outcomes of its tests, and the elements that it has fixed for
/// indices, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecidedPath(Vec<u32>);

/// The decision procedure for unknown conditions.
#[derive(Debug)]
pub(super) enum Guide {
    /// The initial values. The decisions that follow from them are recorded.
    Values(Evaluator, DecidedPath),
    /// A recorded path.
    Recorded {
        path: DecidedPath,
        /// The number of decisions that have been followed.
        at: usize,
        /// Whether an unknown index has selected a lock; the path records the selection.
        selects: bool,
    },
}

impl Guide {
    /// Returns the next recorded decision, or records a new one.
    fn next(&mut self, found: impl FnOnce(&mut Evaluator) -> Option<u32>) -> Option<u32> {
        match self {
            Guide::Values(values, path) => {
                let found = found(values)?;
                path.0.push(found);
                Some(found)
            }
            Guide::Recorded { path, at, .. } => {
                *at += 1;
                path.0.get(*at - 1).copied()
            }
        }
    }
}

impl TermDomain<'_> {
    /// Returns the side of a condition that the guide prescribes. `test`: whether the condition is
    /// a test of the program. Otherwise it is the condition under which an operation is defined,
    /// which always holds on a recorded path.
    pub(super) fn guided(&mut self, condition: Term, test: bool) -> Option<Result<bool, Halt>> {
        let guide = self.guide.as_mut()?;
        let known = self.logic.known(condition);
        let term = self.logic.condition(condition);
        let terms = &self.logic.terms;
        let value = |values: &mut Evaluator| known.or_else(|| values.eval(terms, term));
        let wanted = match (test, guide) {
            (true, guide) => guide.next(|values| value(values).map(|v| u32::from(v != 0))),
            (false, Guide::Values(values, _)) => value(values).map(|v| u32::from(v != 0)),
            (false, Guide::Recorded { .. }) => Some(1),
        };
        let Some(wanted) = wanted else {
            return Some(Err(Halt::Obstacle(Obstacle::Undecided)));
        };
        let wanted = wanted != 0;
        match known {
            Some(value) if (value != 0) != wanted => {
                return Some(Err(Halt::Obstacle(Obstacle::NoSuchOutcome)));
            }
            Some(_) => {}
            None if wanted => self.path.push(term),
            None => {
                let opposite = self.logic.not(term);
                self.path.push(self.logic.condition(opposite));
            }
        }
        Some(Ok(wanted))
    }

    /// Returns the element that the guide prescribes for an unknown index.
    pub(super) fn guided_element(&mut self, index: Term, len: u32) -> Option<Result<u32, Halt>> {
        let guide = self.guide.as_mut()?;
        if let Guide::Recorded { selects, .. } = guide {
            *selects = true;
        }
        let terms = &self.logic.terms;
        let wanted = guide.next(|values| u32::try_from(values.eval(terms, index)?).ok());
        let Some(wanted) = wanted.filter(|&at| at < len) else {
            return Some(Err(Halt::Obstacle(Obstacle::NoSuchOutcome)));
        };
        let here = self.logic.is_at(index, wanted);
        self.path.push(self.logic.condition(here));
        Some(Ok(wanted))
    }

    /// Records the element that a known index selects, so that a path has the same number of
    /// entries whenever it is followed. The recorded element is not enforced: in another order of
    /// the steps the index may select another element, for example another lock of an array, and
    /// the step still takes the same path.
    pub(super) fn guided_known(&mut self, at: u32) {
        if let Some(guide) = self.guide.as_mut() {
            guide.next(|_| Some(at));
        }
    }
}

impl SymbolicMachine {
    /// Sets the initial values of the shared variables, one for each cell, for
    /// [`step_from`](Self::step_from).
    pub fn start_from(&mut self, cells: &[i64]) {
        self.values = Some(Evaluator::new(self.model(cells)));
    }

    /// Returns the initial values as a model of the terms.
    fn model(&self, cells: &[i64]) -> Model {
        let variables = initial_cells(&self.code, &mut self.logic.borrow_mut());
        let logic = self.logic.borrow();
        let mut model = Model::new();
        for (cell, &value) in variables.into_iter().zip(cells) {
            if logic.terms.variable_of(cell).is_some() {
                model.set(cell, value);
            }
        }
        model
    }

    /// Whether the path condition holds for these initial values; `None` if they lead to numbers
    /// beyond 64 bits.
    pub fn holds(&self, cells: &[i64]) -> Option<bool> {
        self.value(self.condition(), cells).map(|value| value != 0)
    }

    /// Returns the value of a term for these initial values; `None` if they lead to numbers beyond
    /// 64 bits.
    pub(super) fn value(&self, term: Term, cells: &[i64]) -> Option<i64> {
        let mut values = Evaluator::new(self.model(cells));
        values.eval(&self.logic.borrow().terms, term)
    }

    /// Makes the step that a process makes from the given initial values. Returns its path.
    pub fn step_from(
        &mut self,
        process: ProcessId,
        outcomes: &[i64],
    ) -> Result<DecidedPath, StepError> {
        let Some(values) = self.values.take() else {
            return Err(StepError::NotReady);
        };
        self.guide = Some(Guide::Values(values, DecidedPath::default()));
        let made = self.step_guided(process, outcomes);
        match self.guide.take() {
            Some(Guide::Values(values, path)) => {
                self.values = Some(values);
                made.map(|()| path)
            }
            _ => Err(StepError::NotReady),
        }
    }

    /// Makes the step of a process along this path. The path condition restricts the initial values
    /// to those for which the step takes the path. Returns an error if it is evident that there are
    /// no such values.
    pub fn step_along(
        &mut self,
        process: ProcessId,
        outcomes: &[i64],
        path: &DecidedPath,
    ) -> Result<(), StepError> {
        self.guide = Some(Guide::Recorded {
            path: path.clone(),
            at: 0,
            selects: false,
        });
        let made = self.step_guided(process, outcomes);
        if let Some(Guide::Recorded { selects, .. }) = self.guide.take() {
            self.selects |= selects;
        }
        made
    }

    fn step_guided(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<(), StepError> {
        let made = match self.life(process) {
            Life::Alive => self.advance(process, outcomes),
            _ => return Err(StepError::NotReady),
        };
        made.map_err(|stop| match stop {
            Obstacle::NoSuchOutcome | Obstacle::Undecided => StepError::NoSuchOutcome,
            Obstacle::Blocked { .. } => StepError::NotReady,
        })
    }

    /// Returns the path condition as one simplified term.
    pub fn condition(&self) -> Term {
        let mut logic = self.logic.borrow_mut();
        let mut path = self.state.path.clone();
        path.sort_unstable();
        path.dedup();
        match logic.terms.simplify_all(&path) {
            Some(conditions) => logic.terms.all(conditions),
            None => Term::FALSE,
        }
    }

    /// Returns a term as the source would write it.
    pub fn show_term(&self, term: Term) -> String {
        self.logic.borrow().terms.show(term)
    }
}
