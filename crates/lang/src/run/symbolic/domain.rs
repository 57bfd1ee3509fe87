//! The domain of terms: values over unknown initial values and inputs.
//!
//! If a step depends on an unknown condition, it *decides* the condition: the side that it takes is
//! an outcome of the step, like the value of a `choose`, and the condition is added to the path
//! condition (`decide`). A [`Guide`] may decide instead (`guide`).

use mazurka_core::{Access, AccessKind, ProcessId, ProcessPath};
use mazurka_smt::{Kind, Term};

use super::guide::Guide;
use super::logic::{Logic, sort_of};
use super::state::{Decisions, RestBeforeCondition};
use crate::check::hir::Type;
use crate::code::fault::Fault;
use crate::code::{Arith, Code, Compare, Range};
use crate::run::{Domain, Halt, SelectedElement, StepInProgress, Values, input_name};

/// The reason for an outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A `choose`.
    Choose,
    /// A condition.
    Decision,
}

/// The domain of terms.
pub(super) struct TermDomain<'a> {
    pub logic: &'a mut Logic,
    /// φ, the path condition.
    pub path: &'a mut Vec<Term>,
    /// The cause of each outcome, over all events of the run.
    pub causes: &'a mut Vec<Cause>,
    /// Whether to stop at the first unknown condition.
    pub probing: bool,
    /// Whether to follow both sides of every test, even of a constant one.
    pub literal: bool,
    /// Decides unknown conditions, if present.
    pub guide: &'a mut Option<Guide>,
    /// For each access of the event so far whose index is unknown, the number that [`Logic`] gives
    /// to the term of the index; `None` for other accesses.
    pub indices: &'a mut Vec<Option<u32>>,
    /// The inputs that the run has read: the process, the index of the input in the process, and
    /// its term.
    pub inputs_read: &'a mut Vec<(ProcessId, u32, Term)>,
    /// The invariants over elements that the step may have written, each with the condition under
    /// which the step has written an element.
    pub maybe_written: Vec<(u32, Term)>,
    /// Whether and where steps end before conditions.
    pub resting: StepEnd,
}

/// The conditions over inputs before which processes rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RestsBefore {
    /// No conditions.
    #[default]
    Nothing,
    /// The conditions from which no `assume` can be reached before the next mark.
    Branches,
    /// All conditions.
    Conditions,
}

/// How the current step ends before a condition over inputs.
#[derive(Debug, Default)]
pub(super) struct StepEnd {
    /// The conditions before which processes rest.
    pub rests_before: RestsBefore,
    /// Whether the step continues from such a condition and has not decided the condition yet.
    pub decides: bool,
    /// The operand with which the step continues.
    pub operand: Option<Term>,
    /// If the process may rest: how many inputs were read before the resting place. `None` if it
    /// may not rest.
    place: Option<usize>,
}

impl StepEnd {
    /// `decides` says that the step starts at a condition before which the process rested, so that
    /// it decides this condition.
    pub fn new(rests_before: RestsBefore, decides: bool, operand: Option<Term>) -> Self {
        Self {
            rests_before,
            decides,
            operand,
            place: None,
        }
    }

    /// Whether the process can rest before the next condition and leave it to another step.
    pub fn is_near(&self) -> bool {
        self.place.is_some()
    }

    /// Records that a condition has been decided.
    pub fn decided(&mut self) {
        self.decides = false;
        self.place = None;
    }
}

impl Values for Logic {
    type Value = Term;

    fn constant(&mut self, value: i64) -> Term {
        Logic::constant(self, value)
    }

    fn known(&self, value: Term) -> Option<i64> {
        Logic::known(self, value)
    }

    fn not(&mut self, a: Term) -> Term {
        Logic::not(self, a)
    }

    fn and(&mut self, a: Term, b: Term) -> Term {
        Logic::and(self, a, b)
    }

    fn or(&mut self, a: Term, b: Term) -> Term {
        Logic::or(self, a, b)
    }

    fn either(&mut self, ty: Type, test: Term, a: Term, b: Term) -> Term {
        self.select(ty, test, a, b)
    }

    fn negate(&mut self, ty: Type, a: Term) -> Result<Term, Fault> {
        Logic::negate(self, ty, a)
    }

    fn arith(&mut self, op: Arith, ty: Type, a: Term, b: Term) -> Result<Term, Fault> {
        Logic::arith(self, op, ty, a, b)
    }

    fn compare(&mut self, op: Compare, unsigned: bool, a: Term, b: Term) -> Term {
        Logic::compare(self, op, unsigned, a, b)
    }
}

impl Domain for TermDomain<'_> {
    type Values = Logic;
    /// An index that lies within its array.
    type Unknown = Term;
    type Extra = Decisions;

    /// `indices` has an entry for each access.
    const KEEPS_ACCESSES: bool = true;

    fn values(&mut self) -> &mut Logic {
        self.logic
    }

    fn pauses(&self) -> bool {
        self.resting.rests_before != RestsBefore::Nothing
    }

    fn assumes_apart(&self) -> bool {
        self.resting.rests_before == RestsBefore::Conditions
    }

    fn may_rest(&mut self, quiet: bool) -> bool {
        let inputs_read = self.inputs_read.len();
        let resting = &mut self.resting;
        let rests = resting.rests_before != RestsBefore::Nothing;
        let may = rests && !resting.decides && self.maybe_written.is_empty();
        if quiet && may && self.guide.is_none() {
            resting.place = Some(inputs_read);
        }
        resting.is_near()
    }

    fn run_on(&mut self) {
        self.resting.place = None;
    }

    fn rest(&mut self, step: &StepInProgress<'_>, extra: &mut Decisions, operand: Option<Term>) {
        if let Some(inputs_read) = self.resting.place.take() {
            self.inputs_read.truncate(inputs_read);
        }
        let fuel = step.fuel.left();
        extra.rests = Some(RestBeforeCondition { operand, fuel });
    }

    fn resumed(&mut self) -> Option<Term> {
        self.resting.operand.take()
    }

    fn admit(
        &mut self,
        step: &mut StepInProgress<'_>,
        op: Arith,
        divisor: Term,
    ) -> Result<(), Halt> {
        if !matches!(op, Arith::Div | Arith::Rem) || self.logic.known(divisor).is_some() {
            return Ok(());
        }
        let zero = self.logic.constant(0);
        let defined = self.logic.compare(Compare::Ne, false, divisor, zero);
        if self.defined(step, defined)? {
            Ok(())
        } else {
            Err(Halt::Fault(Fault::DivisionByZero))
        }
    }

    fn decide(&mut self, step: &mut StepInProgress<'_>, condition: Term) -> Result<bool, Halt> {
        self.side(step, condition)
    }

    fn test(
        &mut self,
        step: &mut StepInProgress<'_>,
        code: &Code,
        pc: u32,
        condition: Term,
    ) -> Result<bool, Halt> {
        let literal = self.literal && !self.probing && code.notes.contains_key(&pc);
        match self.logic.known(condition) {
            Some(truth) if literal => self.literal_side(step, truth != 0),
            _ => self.side(step, condition),
        }
    }

    fn select(
        &mut self,
        step: &mut StepInProgress<'_>,
        range: Range,
        index: Term,
    ) -> Result<SelectedElement<Term>, Halt> {
        if let Some(at) = self.logic.known(index) {
            return Ok(SelectedElement::At(crate::run::element(range, at)?));
        }
        let within = self.logic.within(index, range.len);
        if self.defined(step, within)? {
            Ok(SelectedElement::Somewhere(index))
        } else {
            Err(Halt::Fault(Fault::OutOfBounds))
        }
    }

    fn pick(
        &mut self,
        step: &mut StepInProgress<'_>,
        range: Range,
        index: Term,
    ) -> Result<u32, Halt> {
        match self.select(step, range, index)? {
            SelectedElement::At(cell) => {
                self.guided_known(cell - range.first);
                Ok(cell)
            }
            SelectedElement::Somewhere(index) => self.pick_one(step, range, index),
        }
    }

    fn touch(
        &mut self,
        step: &mut StepInProgress<'_>,
        kind: AccessKind,
        range: Range,
        index: Term,
    ) {
        self.indices.resize(step.event.touched.len(), None);
        self.indices.push(Some(self.logic.number(index)));
        let all = Access::new(kind, range.first).over(range.len);
        step.event.touched.push(all);
    }

    fn element(&mut self, ty: Type, all: &[Term], index: Term) -> Term {
        self.logic.element(ty, all, index)
    }

    fn replaced(&mut self, ty: Type, index: Term, element: (u32, Term), written: Term) -> Term {
        let (at, old) = element;
        let here = self.logic.is_at(index, at);
        self.logic.select(ty, here, written, old)
    }

    fn choose(
        &mut self,
        step: &mut StepInProgress<'_>,
        first: Term,
        end: Term,
    ) -> Result<Term, Halt> {
        self.choose_value(step, first, end)
    }

    /// Returns a variable named by the process and the index of the input in the process, so that
    /// equivalent runs read the same input.
    fn input(
        &mut self,
        _: &Code,
        (process, path): (ProcessId, &ProcessPath),
        number: u32,
        ty: Type,
    ) -> Term {
        let name = input_name(path, number);
        let input = self.logic.terms.variable(Kind::Input, &name, sort_of(ty));
        self.inputs_read.push((process, number, input));
        input
    }

    fn note_maybe_written(&mut self, code: &Code, cell: u32, index: Term, at: u32) {
        for &invariant in code.watched.get(cell as usize).into_iter().flatten() {
            let here = self.logic.is_at(index, at);
            self.maybe_written.push((invariant, here));
        }
    }

    fn maybe_written(&mut self) -> Vec<(u32, Term)> {
        let mut all: Vec<(u32, Term)> = Vec::new();
        for (invariant, written) in std::mem::take(&mut self.maybe_written) {
            match all.iter_mut().find(|(known, _)| *known == invariant) {
                Some((_, known)) => *known = self.logic.or(*known, written),
                None => all.push((invariant, written)),
            }
        }
        all
    }

    /// Decides whether the invariant holds, in the same way as any other condition.
    fn invariant(
        &mut self,
        step: &mut StepInProgress<'_>,
        code: &Code,
        (invariant, written): (u32, Option<Term>),
        cells: &[Term],
    ) -> Result<bool, Halt> {
        let property = &code.program.invariants[invariant as usize];
        let mut holds = self.logic.property(code, cells, &property.expr)?;
        if let Some(written) = written {
            let untouched = self.logic.not(written);
            holds = self.logic.or(untouched, holds);
        }
        self.side(step, holds)
    }
}
