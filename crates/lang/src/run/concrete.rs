//! The domain of numbers (`domain.rs`), and the evaluation of properties and indices outside of
//! steps.

use std::convert::Infallible;

use mazurka_core::{AccessKind, Outcome, ProcessId, ProcessPath};
use rustc_hash::FxHashMap;

use super::domain::{
    Domain, Halt, InstrContext, Obstacle, SelectedElement, StepInProgress, Values,
};
use super::work::{InstrRange, peek};
use crate::check::hir::Type;
use crate::code::fault::Fault;
use crate::code::numbers;
use crate::code::{Arith, Code, Compare, Op, Range};

/// Collects data while a step runs, such as the parts of its label: the interpreter calls a
/// listener before each instruction. Explorers need no labels and use [`NoListener`].
pub(crate) trait Listener {
    /// Whether the interpreter calls the listener.
    const LISTENS: bool;

    fn on_instruction(&mut self, code: &Code, pc: u32, context: ConcreteContext<'_>);
}

/// The data that a listener gets for an instruction of a run over numbers.
pub(crate) type ConcreteContext<'a> = InstrContext<'a, i64>;

/// A listener that is never called.
pub(crate) struct NoListener;

impl Listener for NoListener {
    const LISTENS: bool = false;

    fn on_instruction(&mut self, _: &Code, _: u32, _: ConcreteContext<'_>) {}
}

/// Returns the name of an input, such as `0.1#0` for the first input of process 0.1. The name
/// depends only on the process and on how many inputs it has read before, so equivalent runs read
/// the same inputs.
pub(crate) fn input_name(process: &ProcessPath, number: u32) -> String {
    format!("{process}#{number}")
}

/// The operations on numbers. True is 1, false is 0; a `u64` beyond `i64` is negative.
pub(crate) struct PlainNumbers;

impl Values for PlainNumbers {
    type Value = i64;

    #[inline(always)]
    fn constant(&mut self, value: i64) -> i64 {
        value
    }

    #[inline(always)]
    fn known(&self, value: i64) -> Option<i64> {
        Some(value)
    }

    #[inline(always)]
    fn not(&mut self, a: i64) -> i64 {
        i64::from(a == 0)
    }

    #[inline(always)]
    fn and(&mut self, a: i64, b: i64) -> i64 {
        a & b
    }

    #[inline(always)]
    fn or(&mut self, a: i64, b: i64) -> i64 {
        a | b
    }

    #[inline(always)]
    fn either(&mut self, _: Type, test: i64, a: i64, b: i64) -> i64 {
        if test != 0 { a } else { b }
    }

    #[inline(always)]
    fn negate(&mut self, ty: Type, a: i64) -> Result<i64, Fault> {
        Ok(numbers::negate(ty, a)?)
    }

    #[inline(always)]
    fn arith(&mut self, op: Arith, ty: Type, a: i64, b: i64) -> Result<i64, Fault> {
        Ok(numbers::arith(op, ty, a, b)?)
    }

    #[inline(always)]
    fn compare(&mut self, op: Compare, unsigned: bool, a: i64, b: i64) -> i64 {
        i64::from(numbers::compare(op, unsigned, a, b))
    }
}

/// The domain of numbers.
pub(crate) struct Numbers<'a, L> {
    pub plain: PlainNumbers,
    /// The types of all inputs read so far, by process and by the index of the input in the
    /// process.
    pub inputs_read: &'a mut FxHashMap<(ProcessId, u32), Type>,
    pub listener: &'a mut L,
}

impl<L: Listener> Domain for Numbers<'_, L> {
    type Values = PlainNumbers;
    type Unknown = Infallible;
    type Extra = ();

    const LISTENS: bool = L::LISTENS;

    #[inline(always)]
    fn values(&mut self) -> &mut PlainNumbers {
        &mut self.plain
    }

    fn on_instruction(&mut self, code: &Code, pc: u32, context: ConcreteContext<'_>) {
        self.listener.on_instruction(code, pc, context);
    }

    #[inline(always)]
    fn admit(&mut self, _: &mut StepInProgress<'_>, _: Arith, _: i64) -> Result<(), Halt> {
        Ok(())
    }

    #[inline(always)]
    fn decide(&mut self, _: &mut StepInProgress<'_>, condition: i64) -> Result<bool, Halt> {
        Ok(condition != 0)
    }

    #[inline(always)]
    fn test(
        &mut self,
        _: &mut StepInProgress<'_>,
        _: &Code,
        _: u32,
        condition: i64,
    ) -> Result<bool, Halt> {
        Ok(condition != 0)
    }

    #[inline(always)]
    fn select(
        &mut self,
        _: &mut StepInProgress<'_>,
        range: Range,
        index: i64,
    ) -> Result<SelectedElement<Infallible>, Halt> {
        Ok(SelectedElement::At(element(range, index)?))
    }

    #[inline(always)]
    fn pick(&mut self, _: &mut StepInProgress<'_>, range: Range, index: i64) -> Result<u32, Halt> {
        Ok(element(range, index)?)
    }

    fn touch(&mut self, _: &mut StepInProgress<'_>, _: AccessKind, _: Range, index: Infallible) {
        match index {}
    }

    fn element(&mut self, _: Type, _: &[i64], index: Infallible) -> i64 {
        match index {}
    }

    fn replaced(&mut self, _: Type, index: Infallible, _: (u32, i64), _: i64) -> i64 {
        match index {}
    }

    fn choose(&mut self, step: &mut StepInProgress<'_>, first: i64, end: i64) -> Result<i64, Halt> {
        let outcome = choose(step, first, end)?;
        step.event.outcomes.push(outcome);
        Ok(outcome.value)
    }

    /// Returns the given value, or 0 if none was given.
    fn input(
        &mut self,
        code: &Code,
        (process, path): (ProcessId, &ProcessPath),
        number: u32,
        ty: Type,
    ) -> i64 {
        self.inputs_read.insert((process, number), ty);
        let given = code.inputs.get(&input_name(path, number));
        let given = given.copied().unwrap_or(0);
        match ty {
            Type::Bool => i64::from(given != 0),
            _ => numbers::wrap(given, ty),
        }
    }

    fn note_maybe_written(&mut self, _: &Code, _: u32, index: Infallible, _: u32) {
        match index {}
    }

    fn invariant(
        &mut self,
        _: &mut StepInProgress<'_>,
        code: &Code,
        (invariant, _): (u32, Option<i64>),
        cells: &[i64],
    ) -> Result<bool, Halt> {
        let snippet = code.invariants[invariant as usize].snippet;
        let holds = evaluate(&code.snippets[snippet as usize], cells)?;
        Ok(holds != 0)
    }
}

/// Returns the outcome of a `choose` with known bounds: the given outcome, or the least value if no
/// outcome is given.
pub(crate) fn choose(step: &StepInProgress<'_>, first: i64, end: i64) -> Result<Outcome, Halt> {
    if first >= end {
        return Err(Halt::Fault(Fault::NothingToChoose));
    }
    let value = step.given().unwrap_or(first);
    if !(first..end).contains(&value) {
        return Err(Halt::Obstacle(Obstacle::NoSuchOutcome));
    }
    Ok(Outcome { value, end })
}

/// Returns the cell or slot that an index selects.
#[inline(always)]
pub(crate) fn element(range: Range, index: i64) -> Result<u32, Fault> {
    // A `u64` that exceeds `i64` is negative here, so the test finds it out of bounds.
    if (0..i64::from(range.len)).contains(&index) {
        Ok(range.first + index as u32)
    } else {
        Err(Fault::OutOfBounds)
    }
}

/// Evaluates a property over cells.
pub(crate) fn evaluate(snippet: &[Op], cells: &[i64]) -> Result<i64, Fault> {
    let piece = InstrRange::whole(snippet);
    match peek(&mut PlainNumbers, piece, cells, &[], &mut Vec::new()) {
        Some(value) => value,
        None => unreachable!("a property only reads"),
    }
}
