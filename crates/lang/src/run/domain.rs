//! The values of a run: the traits [`Values`] and [`Domain`], which numbers and terms implement,
//! and the data of a step while it is made ([`StepInProgress`]).

use mazurka_core::{AccessKind, Event, Patience, ProcessId, ProcessPath, StepError};

use crate::check::hir::Type;
use crate::code::fault::Fault;
use crate::code::{Arith, Code, Compare, Range};
use crate::run::Recorder;

/// The reason why a step could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The process is blocked.
    Blocked {
        /// The instruction that blocks.
        at: u32,
        /// If the instruction joins: the process that must end first.
        joins: Option<ProcessId>,
    },
    /// A given outcome is impossible.
    NoSuchOutcome,
    /// The step depends on a condition over unknown values, and the caller has asked to stop there.
    Undecided,
}

impl Obstacle {
    /// Blocked by an instruction that is not a join.
    pub fn blocked(at: u32) -> Self {
        Obstacle::Blocked { at, joins: None }
    }
}

impl From<Obstacle> for StepError {
    fn from(obstacle: Obstacle) -> Self {
        match obstacle {
            Obstacle::Blocked { .. } | Obstacle::Undecided => StepError::NotReady,
            Obstacle::NoSuchOutcome => StepError::NoSuchOutcome,
        }
    }
}

/// The reason why a process does not reach its next mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The step is impossible.
    Obstacle(Obstacle),
    /// The step happens and halts the process.
    Fault(Fault),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Halt::Fault(fault)
    }
}

/// A step that is being made: its inputs and its results.
pub(crate) struct StepInProgress<'a> {
    pub event: &'a mut Event,
    /// The outcomes that the caller gives for its choices, in order.
    pub outcomes: &'a [i64],
    /// The amount of local work it may still do.
    pub fuel: Fuel,
    /// How long the search waits for the end of the step.
    pub patience: &'a Patience,
    /// The part of the undo log that belongs to the step.
    pub log: Log,
    /// Records the instructions that the step passes, if the search needs coverage.
    pub recorder: Option<&'a mut Recorder>,
}

/// The part of the undo log that belongs to a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    /// Where the part starts.
    pub first: usize,
    /// When the log or the list of accesses of the step reaches this length, duplicates are removed
    /// from it. So a long loop in one step needs little memory.
    pub tidy_at: usize,
    pub tidy_touched_at: usize,
}

/// The length below which duplicates are left in a log.
const SHORT_LOG: usize = 1 << 15;

impl Log {
    /// Starts a part at this length of the log.
    pub fn new(first: usize) -> Self {
        Self {
            first,
            tidy_at: first + SHORT_LOG,
            tidy_touched_at: SHORT_LOG,
        }
    }
}

/// The amount of local work that a step may still do, in two parts: the part up to the next check
/// of the clock, and the rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fuel {
    now: u64,
    later: u64,
}

/// The amount of local work between two checks of the clock.
const BETWEEN_CLOCK_CHECKS: u64 = 1 << 13;

impl Fuel {
    /// Returns the amount that is left.
    pub fn left(self) -> u64 {
        self.now + self.later
    }

    /// Makes fuel for this amount of work.
    pub fn new(all: u64) -> Self {
        let now = all.min(BETWEEN_CLOCK_CHECKS);
        let later = all - now;
        Self { now, later }
    }
}

impl StepInProgress<'_> {
    /// Returns the outcome that was given for the next choice, if any.
    #[inline]
    pub fn given(&self) -> Option<i64> {
        self.outcomes.get(self.event.outcomes.len()).copied()
    }

    /// Records that the step passes an instruction, or which side of a condition it takes.
    #[inline(always)]
    pub fn note(&mut self, pc: u32, note: u8) {
        if let Some(recorder) = &mut self.recorder {
            recorder.note(pc, note);
        }
    }

    /// Uses up fuel for this amount of work.
    #[inline(always)]
    pub fn use_fuel(&mut self, work: u64) -> Result<(), Fault> {
        match self.fuel.now.checked_sub(work) {
            Some(left) => self.fuel.now = left,
            None => self.refuel(work)?,
        }
        Ok(())
    }

    /// The slow path of [`use_fuel`](Self::use_fuel): checks the clock.
    #[cold]
    fn refuel(&mut self, work: u64) -> Result<(), Fault> {
        self.check_clock()?;
        let all = self.fuel.now + self.fuel.later;
        let left = all.checked_sub(work).ok_or(Fault::LocalLimit)?;
        self.fuel = Fuel::new(left);
        Ok(())
    }

    /// Whether the clock is checked before the next piece of work.
    #[inline(always)]
    pub fn is_clock_check_due(&self) -> bool {
        self.fuel.now == 0
    }

    /// Fails if the search no longer waits for the end of the step.
    #[cold]
    pub fn check_clock(&self) -> Result<(), Fault> {
        if self.patience.is_over() {
            Err(Fault::BrokenOff)
        } else {
            Ok(())
        }
    }
}

/// The element that an index selects.
pub(crate) enum SelectedElement<U> {
    /// The cell or slot with this index.
    At(u32),
    /// An unknown element within the array.
    Somewhere(U),
}

/// Values, and operations on them that do not depend on the run.
pub(crate) trait Values {
    type Value: Copy + std::fmt::Debug;

    fn constant(&mut self, value: i64) -> Self::Value;

    /// Returns a value as a number; `None` if it is unknown.
    fn known(&self, value: Self::Value) -> Option<i64>;

    fn not(&mut self, a: Self::Value) -> Self::Value;
    fn and(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn or(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;

    /// Returns `if test then a else b`, for values of a type.
    fn either(
        &mut self,
        ty: Type,
        test: Self::Value,
        a: Self::Value,
        b: Self::Value,
    ) -> Self::Value;

    fn negate(&mut self, ty: Type, a: Self::Value) -> Result<Self::Value, Fault>;

    /// Computes `a op b`. An unknown divisor must not be 0: [`Domain::admit`] ensures this.
    fn arith(
        &mut self,
        op: Arith,
        ty: Type,
        a: Self::Value,
        b: Self::Value,
    ) -> Result<Self::Value, Fault>;

    fn compare(
        &mut self,
        op: Compare,
        unsigned: bool,
        a: Self::Value,
        b: Self::Value,
    ) -> Self::Value;
}

/// The type of the values of a domain.
pub(crate) type Value<D> = <<D as Domain>::Values as Values>::Value;

/// The values that a program computes with: numbers, or terms over unknown values.
///
/// A domain defines everything that differs between the two: the values, the decision of
/// conditions, the selection of elements by an index, and the results of `choose` and `input()`. If
/// a step cannot continue, the domain returns a [`Halt`]. The interpreter defines the rest.
pub(crate) trait Domain {
    type Values: Values;

    /// An index that may select any element of its array. The domain of numbers has no such index.
    type Unknown: Copy;

    /// The data of a process in addition to its registers and locals.
    type Extra: Default;

    /// Whether the interpreter calls [`on_instruction`](Domain::on_instruction).
    const LISTENS: bool = false;

    fn values(&mut self) -> &mut Self::Values;

    /// Whether the domain stores data for each access, so that no access may be dropped.
    const KEEPS_ACCESSES: bool = false;

    /// Whether the interpreter runs one instruction at a time and calls the domain between them.
    #[inline(always)]
    fn pauses(&self) -> bool {
        Self::LISTENS
    }

    /// Whether processes also rest before an `assume`, if the domain pauses.
    fn assumes_apart(&self) -> bool {
        false
    }

    /// Called before each instruction, if the domain [`pauses`](Self::pauses). `quiet` says that
    /// only local work is left of the step, and that at most one operand is on the stack. Returns
    /// whether the process goes back to the last quiet place if the next condition is unknown.
    fn may_rest(&mut self, _quiet: bool) -> bool {
        false
    }

    /// Called when a process has passed the place where it might have rested.
    fn run_on(&mut self) {}

    /// Lets a process rest. The interpreter has taken it back to the resting place, but passes on
    /// the operand that was on the stack there.
    fn rest(
        &mut self,
        _step: &StepInProgress<'_>,
        _extra: &mut Self::Extra,
        _operand: Option<Value<Self>>,
    ) {
    }

    /// Returns the operand of a process that continues from where it rested.
    fn resumed(&mut self) -> Option<Value<Self>> {
        None
    }

    /// Called before each instruction, if the domain listens.
    fn on_instruction(&mut self, _code: &Code, _pc: u32, _: InstrContext<'_, Value<Self>>) {}

    /// Ensures that the divisor is not 0, if the operation divides.
    fn admit(
        &mut self,
        step: &mut StepInProgress<'_>,
        op: Arith,
        divisor: Value<Self>,
    ) -> Result<(), Halt>;

    /// Decides the side of a condition that the step takes.
    fn decide(
        &mut self,
        step: &mut StepInProgress<'_>,
        condition: Value<Self>,
    ) -> Result<bool, Halt>;

    /// Decides the side that the step takes of the test of an `if`, a `while` or a choice.
    fn test(
        &mut self,
        step: &mut StepInProgress<'_>,
        code: &Code,
        pc: u32,
        condition: Value<Self>,
    ) -> Result<bool, Halt>;

    /// Returns the element that an index selects.
    fn select(
        &mut self,
        step: &mut StepInProgress<'_>,
        range: Range,
        index: Value<Self>,
    ) -> Result<SelectedElement<Self::Unknown>, Halt>;

    /// Returns the element that an index selects. An unknown element is fixed first, as an outcome
    /// of the step.
    fn pick(
        &mut self,
        step: &mut StepInProgress<'_>,
        range: Range,
        index: Value<Self>,
    ) -> Result<u32, Halt>;

    /// Records an access to an unknown element.
    fn touch(
        &mut self,
        step: &mut StepInProgress<'_>,
        kind: AccessKind,
        range: Range,
        index: Self::Unknown,
    );

    /// Returns the value of an unknown element.
    fn element(&mut self, ty: Type, all: &[Value<Self>], index: Self::Unknown) -> Value<Self>;

    /// Returns the value of an element after a write to an unknown element.
    fn replaced(
        &mut self,
        ty: Type,
        index: Self::Unknown,
        element: (u32, Value<Self>),
        written: Value<Self>,
    ) -> Value<Self>;

    /// Chooses a value from `first` up to `end`, `end` excluded.
    fn choose(
        &mut self,
        step: &mut StepInProgress<'_>,
        first: Value<Self>,
        end: Value<Self>,
    ) -> Result<Value<Self>, Halt>;

    /// Returns the input of a process with this index among its inputs.
    fn input(
        &mut self,
        code: &Code,
        process: (ProcessId, &ProcessPath),
        number: u32,
        ty: Type,
    ) -> Value<Self>;

    /// Records a cell that is written if the index selects this position of its array.
    fn note_maybe_written(&mut self, code: &Code, cell: u32, index: Self::Unknown, at: u32);

    /// Returns the invariants over cells that the step may have written, each with the condition
    /// under which the step has written one of its cells.
    fn maybe_written(&mut self) -> Vec<(u32, Value<Self>)> {
        Vec::new()
    }

    /// Decides whether an invariant, given by its index, holds for these cells. If a condition is
    /// given too, the step has written a variable of the invariant only if the condition holds; if
    /// the condition is false, the invariant counts as holding.
    fn invariant(
        &mut self,
        step: &mut StepInProgress<'_>,
        code: &Code,
        invariant: (u32, Option<Value<Self>>),
        cells: &[Value<Self>],
    ) -> Result<bool, Halt>;
}

/// The data that a listener gets for an instruction: the operands, the current frame, the cells,
/// and whether the step swallows marks.
pub(crate) struct InstrContext<'a, V> {
    pub operands: &'a [V],
    pub locals: &'a [V],
    pub cells: &'a [V],
    pub open: bool,
    pub merged: bool,
}
