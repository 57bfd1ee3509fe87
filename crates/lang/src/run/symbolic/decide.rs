//! Decides unknown conditions. The side that a step takes is an outcome of the step.
//!
//! A side is offered as an outcome only if the solver finds values for it. If the solver cannot
//! decide a side, the search does not follow it, and the verdict reports this
//! ([`Doubts`](super::Doubts)). So the path condition of every run is satisfiable (if the
//! `requires` are), and every failure that is found occurs for some values. If undecided sides were
//! followed, the search could stop at a failure that does not exist.

use mazurka_core::Outcome;
use mazurka_smt::{Term, Why};

use super::domain::{Cause, TermDomain};
use crate::code::Range;
use crate::code::fault::Fault;
use crate::run::{Halt, Obstacle, StepInProgress};

/// Whether a step is possible.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Possible {
    Yes,
    No,
    /// The step is possible for some values, and perhaps not for all.
    Depends,
}

/// The amount of local work that a decision counts as. Each decision splits the run, so a few
/// hundred decisions in one step are many.
pub(super) const DECISION: u64 = 4000;

impl TermDomain<'_> {
    /// Decides the side of a condition that the step takes.
    pub fn side(&mut self, step: &mut StepInProgress<'_>, condition: Term) -> Result<bool, Halt> {
        match self.guided(condition, true) {
            Some(decided) => decided,
            None => self.decide_unguided(step, condition),
        }
    }

    /// Decides whether an operation is defined.
    pub fn defined(
        &mut self,
        step: &mut StepInProgress<'_>,
        condition: Term,
    ) -> Result<bool, Halt> {
        match self.guided(condition, false) {
            Some(decided) => decided,
            None => self.decide_unguided(step, condition),
        }
    }

    fn decide_unguided(
        &mut self,
        step: &mut StepInProgress<'_>,
        condition: Term,
    ) -> Result<bool, Halt> {
        if let Some(value) = self.logic.known(condition) {
            return Ok(value != 0);
        }
        if self.probing || self.resting.is_near() {
            return Err(Halt::Obstacle(Obstacle::Undecided));
        }
        self.resting.decided();
        step.use_fuel(DECISION)?;
        let opposite = self.logic.not(condition);
        let (value, end) = match step.given() {
            // A given outcome was possible when it was offered, so it is accepted even if the
            // solver cannot decide this again.
            Some(1) if self.possible(condition) != Ok(false) => (1, 2),
            Some(0) if self.possible(opposite) != Ok(false) => {
                (0, 1 + i64::from(self.possible(condition) == Ok(true)))
            }
            Some(_) => return Err(Halt::Obstacle(Obstacle::NoSuchOutcome)),
            None => self.sides(condition, opposite)?,
        };
        step.event.outcomes.push(Outcome { value, end });
        self.causes.push(Cause::Decision);
        let held = if value == 1 { condition } else { opposite };
        self.path.push(held);
        Ok(value == 1)
    }

    /// Takes a side of a constant test of an `if` or `while`. Taken literally, the rules COND and
    /// WHILE of the paper have two successors even for such a test, so this function offers both
    /// sides.
    pub fn literal_side(
        &mut self,
        step: &mut StepInProgress<'_>,
        truth: bool,
    ) -> Result<bool, Halt> {
        let value = step.given().unwrap_or(0);
        if !(0..2).contains(&value) {
            return Err(Halt::Obstacle(Obstacle::NoSuchOutcome));
        }
        step.event.outcomes.push(Outcome { value, end: 2 });
        self.causes.push(Cause::Decision);
        let held = self.logic.terms.bool(truth == (value == 1));
        self.path.push(held);
        Ok(value == 1)
    }

    /// Returns the possible outcomes of a decision (0: the condition is false, 1: it is true) as a
    /// range. A side that the solver cannot decide is not in the range, and becomes a doubt.
    fn sides(&mut self, condition: Term, opposite: Term) -> Result<(i64, i64), Halt> {
        let no = self.possible(opposite);
        // The path is feasible, so at least one side is feasible.
        if no == Ok(false) {
            return Ok((1, 2));
        }
        match (no, self.possible(condition)) {
            (Ok(_), Ok(yes)) => Ok((0, 1 + i64::from(yes))),
            (Err(_), Ok(false)) => Ok((0, 1)),
            (Ok(_), Err(why)) => {
                self.logic.doubt(why);
                Ok((0, 1))
            }
            (Err(why), Ok(true)) => {
                self.logic.doubt(why);
                Ok((1, 2))
            }
            (Err(why), Err(_)) => {
                self.logic.doubt(why);
                Err(Halt::Fault(Fault::Undecided))
            }
        }
    }

    /// Whether a condition can hold on this path. The error is the reason why that is unknown.
    fn possible(&mut self, condition: Term) -> Result<bool, Why> {
        let condition = self.logic.condition(condition);
        self.path.push(condition);
        let possible = self.logic.possible(self.path);
        self.path.pop();
        possible
    }

    /// Whether a condition may hold on this path. Returns true if the solver cannot decide this.
    pub fn may_hold(&mut self, condition: Term) -> bool {
        self.possible(condition) != Ok(false)
    }

    /// Whether a condition can hold on this path. If the solver cannot decide this, returns false
    /// and records a doubt.
    pub fn does_hold(&mut self, condition: Term) -> bool {
        self.possible(condition).unwrap_or_else(|why| {
            self.logic.doubt(why);
            false
        })
    }

    /// Fixes the element that an index selects, as an outcome of the step.
    pub fn pick_one(
        &mut self,
        step: &mut StepInProgress<'_>,
        range: Range,
        index: Term,
    ) -> Result<u32, Halt> {
        if let Some(element) = self.guided_element(index, range.len) {
            return element.map(|at| range.first + at);
        }
        if self.probing {
            return Err(Halt::Obstacle(Obstacle::Undecided));
        }
        let given = step.given();
        let mut undecided = None;
        let first = given.map_or(0, |given| given.clamp(0, i64::from(range.len)) as u32);
        let value = (first..range.len).find(|&at| self.can_be(index, at, &mut undecided));
        let value = match (value, &undecided) {
            (Some(value), _) => value,
            // The element was offered because the solver had found it possible.
            (None, Some((at, _))) if given == Some(i64::from(*at)) => *at,
            (None, _) if given.is_some() => return Err(Halt::Obstacle(Obstacle::NoSuchOutcome)),
            (None, _) => {
                self.doubt(undecided);
                return Err(Halt::Fault(Fault::Undecided));
            }
        };
        let mut all = (value..range.len).rev();
        let last = all.find(|&at| self.can_be(index, at, &mut undecided));
        let last = last.unwrap_or(value);
        self.doubt(undecided);
        step.event.outcomes.push(Outcome {
            value: i64::from(value),
            end: i64::from(last) + 1,
        });
        self.causes.push(Cause::Decision);
        let here = self.logic.is_at(index, value);
        self.path.push(self.logic.condition(here));
        Ok(range.first + value)
    }

    /// Whether an index can have this value. Records the first value for which the solver cannot
    /// decide this.
    fn can_be(&mut self, index: Term, at: u32, undecided: &mut Option<(u32, Why)>) -> bool {
        let here = self.logic.is_at(index, at);
        self.possible(here).unwrap_or_else(|why| {
            undecided.get_or_insert((at, why));
            false
        })
    }

    fn doubt(&mut self, undecided: Option<(u32, Why)>) {
        if let Some((_, why)) = undecided {
            self.logic.doubt(why);
        }
    }
}
