//! What values are.

use mazurka_core::{AccessKind, Event, Patience, ProcessId, ProcessPath, StepError};

use crate::check::hir::Type;
use crate::code::fault::Fault;
use crate::code::{Arith, Code, Compare, Range};
use crate::run::Recorder;

/// Why a step could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The process must wait.
    Blocked {
        /// The instruction that blocks.
        at: u32,
        /// The process that must end first, if the instruction joins.
        joins: Option<ProcessId>,
    },
    /// A given outcome is not possible.
    NoSuchOutcome,
    /// The step depends on a condition that is not known, and may not decide it.
    Undecided,
}

impl Obstacle {
    /// Blocked by an instruction that does not join.
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

/// Why a process does not run on to its next mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The step cannot be made.
    Obstacle(Obstacle),
    /// The step is made, and ends the process.
    Fault(Fault),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Halt::Fault(fault)
    }
}

/// A step that is being made: what it was given, and what it leaves.
pub(crate) struct StepInProgress<'a> {
    pub event: &'a mut Event,
    /// What its choices are to give, in order.
    pub outcomes: &'a [i64],
    /// How much local work it may still do.
    pub fuel: Fuel,
    /// How long its end is waited for.
    pub patience: &'a Patience,
    /// What is to be taken back of it, and when that is worth tidying.
    pub log: Log,
    /// Where it notes what it passes, if the search wants to know.
    pub recorder: Option<&'a mut Recorder>,
}

/// The part of the undo log that belongs to a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    /// Where it starts.
    pub first: usize,
    /// The length at which it is tidied, and that for the list of what the step has touched.
    pub tidy_at: usize,
    pub tidy_touched_at: usize,
}

/// Shorter logs are not tidied.
const SHORT_LOG: usize = 1 << 15;

impl Log {
    /// One that starts here.
    pub fn new(first: usize) -> Self {
        Self {
            first,
            tidy_at: first + SHORT_LOG,
            tidy_touched_at: SHORT_LOG,
        }
    }
}

/// How much local work a step may do: some of it before it looks at the clock, and the rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fuel {
    now: u64,
    later: u64,
}

/// Local work between two looks at the clock.
const BETWEEN_LOOKS: u64 = 1 << 13;

impl Fuel {
    /// How much is left.
    pub fn left(self) -> u64 {
        self.now + self.later
    }

    /// For so much work.
    pub fn new(all: u64) -> Self {
        let now = all.min(BETWEEN_LOOKS);
        let later = all - now;
        Self { now, later }
    }
}

impl StepInProgress<'_> {
    /// The outcome that was given for the next choice, if any.
    #[inline]
    pub fn given(&self) -> Option<i64> {
        self.outcomes.get(self.event.outcomes.len()).copied()
    }

    /// Notes that it passes an instruction, or which side of a condition it takes.
    #[inline(always)]
    pub fn note(&mut self, pc: u32, note: u8) {
        if let Some(recorder) = &mut self.recorder {
            recorder.note(pc, note);
        }
    }

    /// Does this much local work.
    #[inline(always)]
    pub fn burn(&mut self, work: u64) -> Result<(), Fault> {
        match self.fuel.now.checked_sub(work) {
            Some(left) => self.fuel.now = left,
            None => self.refuel(work)?,
        }
        Ok(())
    }

    /// The same when it is time to look at the clock.
    #[cold]
    fn refuel(&mut self, work: u64) -> Result<(), Fault> {
        self.look()?;
        let all = self.fuel.now + self.fuel.later;
        let left = all.checked_sub(work).ok_or(Fault::LocalLimit)?;
        self.fuel = Fuel::new(left);
        Ok(())
    }

    /// Whether the next piece of work needs a look at the clock.
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.fuel.now == 0
    }

    /// Whether the search still waits for the end of the step.
    #[cold]
    pub fn look(&self) -> Result<(), Fault> {
        if self.patience.is_over() {
            Err(Fault::BrokenOff)
        } else {
            Ok(())
        }
    }
}

/// Where an index leads.
pub(crate) enum Selected<U> {
    /// To this cell or slot.
    At(u32),
    /// To an element that is not known, but lies within the array.
    Somewhere(U),
}

/// Values and the operations on them, of which none depends on how a run goes.
pub(crate) trait Values {
    type Value: Copy + std::fmt::Debug;

    fn constant(&mut self, value: i64) -> Self::Value;

    /// The number that a value is, if that is known.
    fn known(&self, value: Self::Value) -> Option<i64>;

    fn not(&mut self, a: Self::Value) -> Self::Value;
    fn and(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn or(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;

    /// `if test then a else b`, for values of a type.
    fn either(
        &mut self,
        ty: Type,
        test: Self::Value,
        a: Self::Value,
        b: Self::Value,
    ) -> Self::Value;

    fn negate(&mut self, ty: Type, a: Self::Value) -> Result<Self::Value, Fault>;

    /// A divisor that is not known must not be 0: [`Domain::admit`] sees to that.
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

/// The values of a domain.
pub(crate) type Value<D> = <<D as Domain>::Values as Values>::Value;

/// What a program computes with: numbers, or terms over what is not known.
///
/// A domain owns everything that is different between the two: what a value is, how conditions are
/// decided, which element an index selects, what `choose` and `input()` give. Where a step cannot
/// go on it returns a [`Halt`]. The interpreter owns the rest.
pub(crate) trait Domain {
    type Values: Values;

    /// An index that may select any element of its array. Numbers have none.
    type Unknown: Copy;

    /// What belongs to a process beside its registers and locals.
    type Extra: Default;

    /// Whether [`hear`](Domain::hear) wants to be called.
    const LISTENS: bool = false;

    fn values(&mut self) -> &mut Self::Values;

    /// Whether it is known of each access apart what it touches, so that none may be dropped.
    const KEEPS_ACCESSES: bool = false;

    /// Whether the interpreter pauses after each instruction.
    #[inline(always)]
    fn pauses(&self) -> bool {
        Self::LISTENS
    }

    /// Whether processes rest in front of an `assume` too, if the domain pauses.
    fn assumes_apart(&self) -> bool {
        false
    }

    /// Where a process may rest in front of a condition, if the domain allows that at all. Called
    /// before each instruction, if the domain pauses; `quiet` says whether only local work is left
    /// of the step, and at most one operand. Returns whether to go back there if the next condition
    /// is not known.
    fn may_rest(&mut self, _quiet: bool) -> bool {
        false
    }

    /// Forgets where a process may rest.
    fn run_on(&mut self) {}

    /// Lets a process rest there. It has gone back to where it was, except for this operand.
    fn rest(
        &mut self,
        _step: &StepInProgress<'_>,
        _extra: &mut Self::Extra,
        _operand: Option<Value<Self>>,
    ) {
    }

    /// The operand of a process that goes on from where it rested.
    fn resumed(&mut self) -> Option<Value<Self>> {
        None
    }

    /// Called before each instruction, if the domain listens.
    fn hear(&mut self, _code: &Code, _pc: u32, _: Situation<'_, Value<Self>>) {}

    /// Makes sure that a step may divide by this, if it divides.
    fn admit(
        &mut self,
        step: &mut StepInProgress<'_>,
        op: Arith,
        divisor: Value<Self>,
    ) -> Result<(), Halt>;

    /// Which side of a condition the step takes.
    fn decide(
        &mut self,
        step: &mut StepInProgress<'_>,
        condition: Value<Self>,
    ) -> Result<bool, Halt>;

    /// Which side of the test of an `if`, a `while` or a choice the step takes.
    fn test(
        &mut self,
        step: &mut StepInProgress<'_>,
        code: &Code,
        pc: u32,
        condition: Value<Self>,
    ) -> Result<bool, Halt>;

    /// The element that an index selects.
    fn select(
        &mut self,
        step: &mut StepInProgress<'_>,
        range: Range,
        index: Value<Self>,
    ) -> Result<Selected<Self::Unknown>, Halt>;

    /// The element that an index selects, made known if it is not.
    fn pick(
        &mut self,
        step: &mut StepInProgress<'_>,
        range: Range,
        index: Value<Self>,
    ) -> Result<u32, Halt>;

    /// Notes an access to an element that is not known.
    fn touch(
        &mut self,
        step: &mut StepInProgress<'_>,
        kind: AccessKind,
        range: Range,
        index: Self::Unknown,
    );

    /// The value of an element that is not known.
    fn element(&mut self, ty: Type, all: &[Value<Self>], index: Self::Unknown) -> Value<Self>;

    /// The value that an element has after an element that is not known was written.
    fn replaced(
        &mut self,
        ty: Type,
        index: Self::Unknown,
        element: (u32, Value<Self>),
        written: Value<Self>,
    ) -> Value<Self>;

    /// A value from `first` up to `end`, `end` excluded.
    fn choose(
        &mut self,
        step: &mut StepInProgress<'_>,
        first: Value<Self>,
        end: Value<Self>,
    ) -> Result<Value<Self>, Halt>;

    /// The input of a process that has this number.
    fn input(
        &mut self,
        code: &Code,
        process: (ProcessId, &ProcessPath),
        number: u32,
        ty: Type,
    ) -> Value<Self>;

    /// Notes that a cell is written if this index selects it, at this position of its array.
    fn note_maybe_written(&mut self, code: &Code, cell: u32, index: Self::Unknown, at: u32);

    /// The invariants over cells that the step may have written, each with the condition that it
    /// has.
    fn maybe_written(&mut self) -> Vec<(u32, Value<Self>)> {
        Vec::new()
    }

    /// Whether an invariant holds of these cells, or none of its variables was written.
    fn invariant(
        &mut self,
        step: &mut StepInProgress<'_>,
        code: &Code,
        invariant: (u32, Option<Value<Self>>),
        cells: &[Value<Self>],
    ) -> Result<bool, Halt>;
}

/// What a listening domain is told: operands, the current frame and cells, and how the step began.
pub(crate) struct Situation<'a, V> {
    pub operands: &'a [V],
    pub locals: &'a [V],
    pub cells: &'a [V],
    pub open: bool,
    pub merged: bool,
}
