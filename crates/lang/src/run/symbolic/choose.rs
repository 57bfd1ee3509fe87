//! `choose` with unknown bounds.
//!
//! As with known bounds, every possible value is an outcome, and the path condition says that the
//! value lies between the bounds. So the chosen value is concrete in every run, and different
//! values give different runs. If the solver cannot show that there are few values, the run ends
//! undecided.

use mazurka_core::Outcome;
use mazurka_smt::{Sort, Term};

use super::decide::DECISION;
use super::domain::{Cause, TermDomain};
use super::guide::Guide;
use crate::code::Compare;
use crate::code::fault::Fault;
use crate::run::{Halt, Obstacle, StepInProgress, choose};

/// Limit on the number of values of a range that is enumerated.
const MAX_VALUES: i64 = 256;

impl TermDomain<'_> {
    /// Chooses a value between two bounds.
    pub fn choose_value(
        &mut self,
        step: &mut StepInProgress<'_>,
        first: Term,
        end: Term,
    ) -> Result<Term, Halt> {
        let outcome = match (self.logic.known(first), self.logic.known(end)) {
            (Some(first), Some(end)) => choose(step, first, end)?,
            _ => self.choose_between(step, first, end)?,
        };
        step.event.outcomes.push(outcome);
        self.causes.push(Cause::Choose);
        Ok(self.logic.constant(outcome.value))
    }

    /// Returns a possible value as the outcome of the step. The end of the outcome is one more than
    /// the greatest possible value.
    fn choose_between(
        &mut self,
        step: &mut StepInProgress<'_>,
        first: Term,
        end: Term,
    ) -> Result<Outcome, Halt> {
        let some = self.logic.compare(Compare::Lt, false, first, end);
        if !self.defined(step, some)? {
            return Err(Halt::Fault(Fault::NothingToChoose));
        }
        if self.guide.is_some() {
            return self.guided_choice(step, first, end);
        }
        if self.probing {
            return Err(Halt::Obstacle(Obstacle::Undecided));
        }
        step.use_fuel(DECISION)?;
        let values = self.values_between(first, end);
        let (least, beyond) = values.ok_or(Fault::SymbolicChoose)?;
        let given = step.given();
        let from = given.unwrap_or(least);
        if from < least {
            // The explorer offers a value that was possible on another path only.
            return Err(Halt::Obstacle(Obstacle::NoSuchOutcome));
        }
        let mut possible = |value: &i64| {
            let [low, high] = self.between(first, end, *value);
            let both = self.logic.and(low, high);
            self.does_hold(both)
        };
        let Some(value) = (from..beyond).find(&mut possible) else {
            return Err(match given {
                Some(_) => Halt::Obstacle(Obstacle::NoSuchOutcome),
                None => Halt::Fault(Fault::Undecided),
            });
        };
        let last = (value..beyond).rev().find(possible).unwrap_or(value);
        for condition in self.between(first, end, value) {
            if self.logic.known(condition).is_none() {
                self.path.push(condition);
            }
        }
        let end = last + 1;
        Ok(Outcome { value, end })
    }

    /// Returns the outcome if a guide decides: the given value, or the least value that the guide's
    /// initial values allow.
    fn guided_choice(
        &mut self,
        step: &mut StepInProgress<'_>,
        first: Term,
        end: Term,
    ) -> Result<Outcome, Halt> {
        let least = match self.guide {
            Some(Guide::Values(values, _)) => values.eval(&self.logic.terms, first),
            _ => None,
        };
        let value = step.given().or(least);
        let value = value.ok_or(Halt::Obstacle(Obstacle::NoSuchOutcome))?;
        for condition in self.between(first, end, value) {
            if !self.defined(step, condition)? {
                return Err(Halt::Obstacle(Obstacle::NoSuchOutcome));
            }
        }
        let end = value.saturating_add(1);
        Ok(Outcome { value, end })
    }

    /// Returns the conditions under which a value may be chosen.
    fn between(&mut self, first: Term, end: Term, value: i64) -> [Term; 2] {
        let value = self.logic.constant(value);
        [
            self.logic.compare(Compare::Le, false, first, value),
            self.logic.compare(Compare::Lt, false, value, end),
        ]
    }

    /// Returns the least value of the lower bound and the greatest value of the upper bound on this
    /// path; `None` if the range may be large.
    fn values_between(&mut self, first: Term, end: Term) -> Option<(i64, i64)> {
        let model = self.logic.model(self.path)?;
        let value = |cpu: &Self, term: Term| {
            let known = cpu.logic.known(term);
            known.or_else(|| cpu.logic.terms.eval(term, &model))
        };
        let (some_first, some_end) = (value(self, first)?, value(self, end)?);
        let least = self.extreme(first, some_first, -1)?;
        let beyond = self.extreme(end, some_end, 1)?;
        (beyond.checked_sub(least)? <= MAX_VALUES).then_some((least, beyond))
    }

    /// Returns the extreme value of a bound, downwards (-1) or upwards (1) from a value that the
    /// bound can have; `None` if the extreme value is far away.
    fn extreme(&mut self, bound: Term, some: i64, direction: i64) -> Option<i64> {
        if self.logic.known(bound).is_some() {
            return Some(some);
        }
        let (low, high) = match self.logic.terms.sort(bound) {
            Sort::Signed(bits) if bits < 64 => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            Sort::Unsigned(bits) if bits < 64 => (0, (1 << bits) - 1),
            // A value beyond `i64` is negative in this representation.
            Sort::Unsigned(_) if some < 0 => return None,
            Sort::Unsigned(_) => (0, i64::MAX),
            _ => (i64::MIN, i64::MAX),
        };
        let mut reaches = |distance: i64| {
            let value = some.checked_add(direction * distance);
            let Some(value) = value.filter(|value| (low..=high).contains(value)) else {
                return false;
            };
            let value = self.logic.constant(value);
            let comparison = match direction {
                -1 => Compare::Le,
                _ => Compare::Ge,
            };
            let reached = self.logic.compare(comparison, false, bound, value);
            self.may_hold(reached)
        };
        if reaches(MAX_VALUES) {
            return None;
        }
        let (mut near, mut far) = (0, MAX_VALUES);
        while near + 1 < far {
            let middle = (near + far) / 2;
            if reaches(middle) {
                near = middle
            } else {
                far = middle
            }
        }
        Some(some + direction * near)
    }
}
