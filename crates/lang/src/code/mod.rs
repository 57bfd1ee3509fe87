//! Compiled programs ([`Code`]): instructions of a small stack machine, and for each place where a
//! process can rest, what its next step may touch. `compile/` makes the instructions; the other
//! files of this folder analyse them.
//!
//! Each process has a stack of *frames*, whose *slots* hold its locals. Shared variables and locks
//! are *cells*. A process always rests at a *mark*. A step starts at a mark and runs to the next
//! one, so local work belongs to the step before it. A step *swallows* a mark if it runs past the
//! mark:
//!
//! - [`Op::Mark`] starts a step. A step that a guard opened swallows the first mark that it meets.
//! - [`Op::Open`] is the mark of a guard, a choice or a guarded loop: the step stays *open* to
//!   include the first step after it.
//! - [`Op::Close`] closes an open step again, after a guarded body without a step. The label of the
//!   step is then `e ▷ skip`.
//! - Between [`Op::BeginAtomic`] and [`Op::EndAtomic`] a step swallows all marks. Between
//!   [`Op::BeginSimple`] and [`Op::EndSimple`] it swallows the marks of single accesses, if a guard
//!   opened the step (with `atomicity access`).

pub(crate) mod claims;
pub(crate) mod compile;
mod covers;
mod endless;
pub(crate) mod fault;
pub mod flat;
pub(crate) mod ghosts;
pub(crate) mod history;
mod interference;
mod liveness;
mod loops;
pub(crate) mod numbers;
pub(crate) mod quick;
mod quiet;
pub(crate) mod reach;
mod refines;
mod select;
pub mod shared;
pub(crate) mod symmetry;

use std::sync::{Arc, OnceLock};

use mazurka_core::{
    Access, AccessKind, AccessOrder, Claims, Fairness, Kinds, ProcessNames, Temporal, Wait,
};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

pub use covers::Cover;
pub use refines::VariablePart;

use crate::check::hir::{self, Type};
use crate::code::interference::Interference;
use crate::code::liveness::LiveSlots;
use crate::code::quick::QuickStep;
use crate::code::reach::Reach;
use crate::code::symmetry::Symmetry;
use mazurka_diagnostics::Span;

/// Arithmetic that can fail or wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Arith {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    /// Bitwise operations, only for machine integers; they neither fail nor wrap.
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
}

/// A comparison of numbers. A separate flag says whether they are `u64` values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// A range of cells or of slots that an index selects from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first cell or slot.
    pub first: u32,
    /// The number of cells or slots.
    pub len: u32,
}

impl Range {
    /// Whether the range contains a cell or slot.
    pub fn contains(self, at: u32) -> bool {
        (self.first..self.first + self.len).contains(&at)
    }
}

/// One instruction. It pops its operands from the operand stack, the last one first, and pushes its
/// result. *Takes* below means pops, *leaves* means pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Starts the step with this number.
    Mark(u32),
    /// Starts the step of a guard. The step swallows the next mark.
    Open(u32),
    /// If a guard opened the step, closes the step, so that it does not swallow the next mark.
    Close,
    /// Begins a part in which the step swallows all marks.
    BeginAtomic,
    /// Ends the part that [`Op::BeginAtomic`] began.
    EndAtomic,
    /// Begins a part in which the step swallows all marks, if a guard opened the step.
    BeginSimple,
    /// Ends the part that [`Op::BeginSimple`] began.
    EndSimple,

    /// Leaves a number.
    Const(i64),
    /// Leaves the value of a slot.
    Local(u32),
    /// Takes an index; leaves the value of the slot that it selects.
    LocalAt(Range),
    /// Takes an index, then the elements of a constant array below it; leaves the selected element.
    Pick(u32, Type),
    /// Takes an index of any integer type and leaves it as an `int`. Fails if it is not an index of
    /// a dimension of this size.
    Within(u32),
    /// Leaves the value of a cell.
    Load(u32),
    /// Takes an index; leaves the value of the cell that it selects.
    LoadAt(Range),
    /// `!`
    Not,
    /// `-`
    Neg(Type),
    /// Takes the right side, then the left one.
    Arith(Arith, Type),
    /// Takes the right side, then the left one; the flag says whether they are `u64` values.
    Compare(Compare, bool),
    /// Strict `&&`: both sides are evaluated. Used in code for symbolic values, where a jump would
    /// split the run.
    And,
    /// Strict `||`; see [`Op::And`].
    Or,
    /// Strict choice between two evaluated values by a condition; see [`Op::And`].
    Select(Type),
    /// Leaves the next input of the process.
    Input(Type),
    /// Arithmetic on two slots.
    ArithLocals(Arith, Type, [u16; 2]),
    /// Takes the exclusive upper bound, then the first value; leaves a value of this range.
    Choose,
    /// Reads a cell into a slot.
    Fetch {
        /// The cell.
        cell: u32,
        /// The slot.
        slot: u32,
    },
    /// Adds 1 to a slot.
    Increment(u32, Type),

    /// Continues at another instruction.
    Jump(u32),
    /// Takes a condition; continues at another instruction if it is false.
    JumpIfFalse(u32),
    /// Jumps if the first slot is not less than the second.
    JumpUnlessLess {
        /// The slots.
        slots: [u16; 2],
        /// Whether they are `u64` values.
        unsigned: bool,
        /// The target.
        to: u32,
    },
    /// Takes a value and puts it into a slot.
    SetLocal(u32),
    /// Takes the value, then the index of the slot.
    SetLocalAt(Range),
    /// Takes a value and writes it to a cell.
    Store(u32),
    /// Takes the value, then the index of the cell.
    StoreAt(Range),

    /// Takes a condition and waits until it holds.
    Guard,
    /// Waits for a lock and acquires it.
    Lock(u32),
    /// Takes an index, waits for the lock that it selects and acquires it.
    LockAt(Range),
    /// Releases a lock; fails if the process does not hold it.
    Unlock(u32),
    /// Takes an index and releases the lock that it selects.
    UnlockAt(Range),
    /// Starts a block with a copy of the frame; leaves the handle.
    SpawnBlock(u32),
    /// Starts a procedure with its arguments; leaves the handle.
    SpawnCall(u32),
    /// Takes a handle and waits for the end of its process.
    Join,
    /// Waits for the end of all children started so far.
    JoinAll,
    /// Takes the arguments, the last one first, and continues in the procedure.
    Call(u32),
    /// Continues after the call; ends a process that is not in a call.
    Return,
    /// Takes a value and discards it.
    Drop,
    /// Takes a condition; fails if it is false.
    Assert,
    /// Takes a condition; discards the run if it is false.
    Assume,
    /// Takes a condition: a channel holds fewer messages than its limit. If it is false, the rest
    /// of the run is unknown.
    Limit(u32),
    /// Fails.
    Error,
    /// Ends the process.
    End,
}

/// An access that a step claims, because the step might make it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// An access that is known at compile time.
    Fixed(Access),
    /// The element that an expression over locals selects when the step starts.
    Element {
        kind: AccessKind,
        range: Range,
        index: u32,
    },
}

/// A step in which a wait may depend on an earlier `choose` of the same step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LateWait {
    pub span: Span,
    /// Whether the analysis followed all calls. If not, the wait may be a false alarm.
    pub certain: bool,
}

/// How a machine finds out whether a step is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// The step is always possible.
    Never,
    /// The step only acquires this lock.
    Lock(u32),
    /// Only this instruction can block; before it the step only reads.
    At(u32),
    /// The wait may be anywhere, so the machine must try the step.
    Somewhere,
}

/// The results of the analysis for the step that starts at a mark.
#[derive(Clone, Debug)]
pub(crate) struct StepInfo {
    pub claims: Vec<Claim>,
    /// The claims, if all are fixed.
    pub fixed: Option<Claims>,
    pub waits: Waits,
    pub wait: Wait,
    /// Whether the step may wait for the end of a process.
    pub joins: bool,
    /// Whether the step may jump back in a loop that may never end, or may meet a false `assume`.
    pub puts_off: bool,
    /// For a step that touches channels: its claims if sends and receives claim different ends.
    pub ends: Option<Box<ChannelEndClaims>>,
    pub span: Span,
    /// The memory order of its access, if the source names one.
    pub order: Option<AccessOrder>,
}

/// The claims of a step if sends and receives claim different ends of a channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChannelEndClaims {
    pub claims: Vec<Claim>,
    /// The channels of which the step touches only one end, each with this end.
    pub pure: Vec<PureEnd>,
}

/// The sending or the receiving end of a channel, or of a channel in an array of channels.
#[derive(Clone, Debug)]
pub(crate) struct PureEnd {
    pub cells: ChannelCells,
    pub capacity: u32,
    pub sends: bool,
}

/// The cells of a channel, or of all channels in an array of channels.
#[derive(Clone, Debug)]
pub(crate) struct ChannelCells {
    /// The numbers of waiting messages.
    pub counts: Range,
    /// The messages, or one range for each of their fields.
    pub messages: SmallVec<[Range; 1]>,
}

impl ChannelCells {
    /// Whether a cell belongs to one of the channels.
    pub fn has(&self, cell: u32) -> bool {
        self.counts.contains(cell) || self.messages.iter().any(|range| range.contains(cell))
    }

    /// Returns the message cells of the channels whose counts the access `counts` touches.
    pub fn messages_of(&self, counts: Access) -> impl Iterator<Item = Access> {
        let first = counts.first - self.counts.first;
        self.messages.iter().map(move |range| {
            let each = range.len / self.counts.len;
            Access::new(counts.kind, range.first + first * each).over(counts.len * each)
        })
    }

    /// Returns the counts of the channels whose message cells the access `messages` touches; `None`
    /// if it touches no message cell.
    pub fn counts_of(&self, messages: Access) -> Option<Access> {
        let mut ranges = self.messages.iter();
        let range = ranges.find(|range| range.contains(messages.first))?;
        let each = range.len / self.counts.len;
        let first = (messages.first - range.first) / each;
        let last = (messages.first + messages.len - 1 - range.first) / each;
        let counts = Access::new(messages.kind, self.counts.first + first);
        Some(counts.over(last - first + 1))
    }
}

/// The code of a procedure or a process.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its first instruction.
    pub pc: u32,
    /// The number of arguments, which are its first slots.
    pub params: u32,
    /// The number of slots.
    pub frame: u32,
}

/// The locals of a body and their slots; used for labels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub names: Vec<hir::Local>,
    pub slots: Vec<u32>,
}

/// The part of a label for an instruction. Labels are the text of steps in reports.
#[derive(Clone, Debug)]
pub(crate) enum LabelPart {
    /// The condition of a guard, printed if it holds.
    Guard(hir::Expr),
    /// A test, printed as it is, or negated if it is false.
    Test(hir::Expr),
    /// A statement and its place; its text is printed with the values of locals.
    Action(Action, Span),
    /// A single read of the instruction's cell.
    Read,
    /// A single write of the instruction's cell.
    Write,
}

/// The statements that appear in labels.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Assign(Vec<hir::Place>, Vec<hir::Expr>),
    Let(String, Vec<hir::Expr>),
    Lock(&'static str, hir::LockId, Option<hir::Expr>),
    Spawn,
    Join(Option<hir::LocalId>),
    Call(String, Vec<hir::Expr>),
    Assert(&'static str, hir::Expr),
    For(String, hir::Expr, hir::Expr),
    Choose,
}

/// A compiled property.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// Its index in [`Code::snippets`].
    pub snippet: u32,
    pub name: Option<String>,
    pub span: Span,
}

/// A compiled program, made by [`compile`](crate::compile) and run by [`Machine`](crate::Machine).
/// It holds the instructions, the claims, waits and labels of the steps, and the properties as
/// code.
///
/// ```
/// use mazurka_core::Kind;
/// let source = "var x: int = 0 invariant small: x < 2 process { x := x + 1 }";
/// let program = mazurka_lang::load(source, &[]).unwrap();
/// let code = mazurka_lang::compile(&program, source).unwrap();
/// let named: Vec<_> = code.named_properties().collect();
/// assert_eq!(named, [("small", Kind::Failure)]);
/// ```
#[derive(Clone, Debug)]
pub struct Code {
    pub(crate) ops: Vec<Op>,
    /// For each mark, the quick form of its step, if it has one.
    pub(crate) quick: Vec<Option<QuickStep>>,
    /// For each mark, how a machine determines whether its step is possible; other instructions
    /// have [`Waits::Somewhere`].
    pub(crate) waits: Vec<Waits>,
    /// For each instruction, its place in the source.
    pub(crate) spans: Vec<Span>,
    /// For each instruction, the body whose frame it uses.
    pub(crate) bodies: Vec<u32>,
    /// For each body, its locals and their slots.
    pub(crate) layouts: Vec<Layout>,
    /// The parts of labels, by instruction.
    pub(crate) notes: FxHashMap<u32, LabelPart>,
    /// The jumps that decide what a process does next: the jumps of statements, the jumps over an
    /// operation that can fail, and with `atomicity access` the jumps between the reads of an
    /// expression. Other jumps are part of the computation of a value.
    pub(crate) branches: FxHashSet<u32>,
    /// The conditions of statements, by the instruction that decides them; for a `for`, its range.
    pub(crate) tests: FxHashMap<u32, Span>,
    /// The messages of `assert` and `error`.
    pub(crate) messages: FxHashMap<u32, hir::Message>,
    /// The conditions of `assert`: as written in the source, and as evaluated, with temporaries for
    /// values read in earlier steps.
    pub(crate) asserted: FxHashMap<u32, [hir::Expr; 2]>,
    /// The divisions and indices that can fail, by the instruction that computes them.
    pub(crate) operands: FxHashMap<u32, hir::Expr>,
    pub(crate) names: ProcessNames,
    /// Code of expressions over locals (indices) and over shared variables (properties).
    pub(crate) snippets: Vec<Vec<Op>>,
    pub(crate) steps: Vec<StepInfo>,
    pub(crate) procedures: Vec<Entry>,
    pub(crate) processes: Vec<Entry>,
    /// The values of inputs, by name. Inputs without a value are 0.
    pub(crate) inputs: FxHashMap<String, i64>,
    /// The initial values of the cells: variables, then locks.
    pub(crate) initial: Vec<i64>,
    /// The cell of the first lock, which follows the cells of the variables.
    pub(crate) first_lock: u32,
    /// For each cell, the invariants over it; empty if the program has no invariants.
    pub(crate) watched: Vec<SmallVec<[u32; 2]>>,
    pub(crate) requires: Vec<Checked>,
    pub(crate) invariants: Vec<Checked>,
    pub(crate) ensures: Vec<Checked>,
    /// The temporal properties.
    pub(crate) temporal: Vec<Temporal>,
    /// The conditions of temporal properties, as indices into `snippets`. They run in a frame with
    /// the values of `watched_slots`.
    pub(crate) conditions: Vec<u32>,
    /// The slots of the locals that temporal properties mention, each with its process.
    pub(crate) watched_slots: Vec<(u32, u32)>,
    /// The cells that are compared in final states to decide determinism.
    pub(crate) observed: Vec<u32>,
    pub(crate) program: Arc<hir::Program>,
    pub(crate) source: Arc<str>,
    /// For each variable, its first cell.
    pub(crate) first_cells: Vec<u32>,
    /// For each lock or array of locks, its first cell.
    pub(crate) lock_cells: Vec<u32>,
    /// See [`states_other_property`](Self::states_other_property).
    pub(crate) states_property: bool,
    /// The accesses of steps that wait for a condition.
    pub(crate) guards: Claims,
    /// The code of sends and receives that touch only one end of a channel.
    pub(crate) ends: Vec<(std::ops::Range<u32>, hir::ChannelEnd)>,
    /// For each instruction that touches the same end of its channel in every step that contains
    /// it: whether this is the sending end.
    pub(crate) pure_ends: FxHashMap<u32, bool>,
    pub(crate) channels: Vec<ChannelCells>,
    /// Steps whose wait may depend on their own choices.
    pub(crate) late: Vec<LateWait>,
    pub(crate) may_loop: bool,
    /// Where each body of a process, spawned block or procedure begins, in order, and whether it
    /// is [endless](endless).
    pub(crate) begins: Vec<(u32, bool)>,
    pub(crate) live: LiveSlots,
    pub(crate) reach: OnceLock<Reach>,
    pub(crate) interference: OnceLock<Interference>,
    pub(crate) quiet: [OnceLock<Vec<bool>>; 2],
    pub(crate) symmetry: OnceLock<Option<Symmetry>>,
    /// The fairness that an infinite run must have to count.
    pub fairness: Fairness,
    /// Which failures count.
    pub(crate) counting: Counting,
    /// The object whose histories are checked.
    pub(crate) linear: Option<Arc<history::Linear>>,
}

/// Which failures count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    All,
    /// Only failures of invariants and `ensures`.
    Stated,
    /// Only failures of this invariant.
    Invariant(u32),
}

/// The processes that a step may join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joins {
    /// The process whose handle is in this slot of the frame.
    Handle(u32),
    /// All children.
    Children,
    /// Children, or processes whose handles are live.
    Any,
    Nothing,
}

impl Code {
    /// Returns the processes that the step starting at a mark may join.
    pub(crate) fn joins(&self, mark: u32) -> Joins {
        let joins = match self.ops[mark as usize] {
            Op::Mark(step) | Op::Open(step) => self.steps[step as usize].joins,
            _ => true,
        };
        match self.ops[mark as usize + 1..] {
            _ if !joins => Joins::Nothing,
            [Op::Local(slot), Op::Join, ..] => Joins::Handle(slot),
            [Op::JoinAll, ..] => Joins::Children,
            _ => Joins::Any,
        }
    }

    /// Whether a run may be infinite or return to an earlier state: there is a loop without a
    /// constant bound, or recursion.
    pub fn may_loop(&self) -> bool {
        self.may_loop
    }

    /// Whether a process is not meant to end. `pc`: its place in its outermost body.
    pub(crate) fn is_endless(&self, pc: u32) -> bool {
        let after = self.begins.partition_point(|(first, _)| *first <= pc);
        after > 0 && self.begins[after - 1].1
    }

    /// Whether the file requires determinism: it contains `expects deterministic` or `observe`.
    pub fn asks_for_determinism(&self) -> bool {
        self.program.expects_determinism || self.program.observe.is_some()
    }

    /// Returns the kinds of violations that the file allows.
    pub fn allowed(&self) -> Kinds {
        self.program.allowed
    }

    /// Whether the file states a property other than determinism: an `assert`, an `error`, an
    /// `invariant`, an `ensures`, a `refines` or a temporal property.
    pub fn states_other_property(&self) -> bool {
        self.states_property
    }

    /// Whether the file states a property of final states.
    pub fn states_ensures(&self) -> bool {
        !self.ensures.is_empty()
    }

    /// Whether the file states temporal properties.
    pub fn states_temporal(&self) -> bool {
        !self.temporal.is_empty()
    }

    /// Returns the names that the source gives its processes.
    pub fn process_names(&self) -> &ProcessNames {
        &self.names
    }

    /// Returns the name of the procedure that an instruction is in, if any.
    pub(crate) fn procedure_at(&self, pc: u32) -> Option<&str> {
        // Procedures are compiled first, so the number of a procedure is the number of its body.
        let body = self.bodies[pc as usize] as usize;
        self.program.procedures.get(body).map(|p| p.name.as_str())
    }

    /// Returns the checked program that this code was compiled from.
    pub fn program(&self) -> &hir::Program {
        &self.program
    }

    /// Returns the source text that this code was compiled from.
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// Returns, for each place of the code, the accesses that are still possible from there.
    pub(crate) fn reach(&self) -> &Reach {
        self.reach.get_or_init(|| reach::analyse(self, false))
    }

    /// Returns the same accesses as [`reach`](Self::reach), as sets of cells.
    #[inline]
    pub(crate) fn interference(&self) -> &Interference {
        self.interference
            .get_or_init(|| interference::analyse(self))
    }

    /// Returns the interchangeable processes, if there are any.
    #[inline]
    pub(crate) fn symmetry(&self) -> Option<&Symmetry> {
        let found = self.symmetry.get_or_init(|| symmetry::analyse(self));
        found.as_ref()
    }

    /// Whether the step does only local work from an instruction on. `assumes` says whether an
    /// `assume` counts as local work.
    pub(crate) fn is_quiet(&self, pc: u32, assumes: bool) -> bool {
        let quiet = &self.quiet[usize::from(assumes)];
        quiet.get_or_init(|| quiet::analyse(self, assumes))[pc as usize]
    }

    /// Returns the key of the claims of a step that touches one element of an array. Steps with
    /// equal keys have equal claims; the keys of elements come after those of steps with fixed
    /// claims.
    pub(crate) fn element_key(&self, cell: u32, kind: AccessKind) -> u32 {
        self.steps.len() as u32 + 1 + 4 * cell + kind as u32
    }

    /// Returns the pseudo-cell of an invariant. Every step that writes a variable of the invariant
    /// also claims to write this cell, so that any two such steps are dependent.
    pub(crate) fn invariant_cell(&self, invariant: u32) -> u32 {
        self.initial.len() as u32 + invariant
    }
}
