//! The flat form in which programs run: instructions of a small stack machine, and for each
//! place where a process can rest what its next step may touch.
//!
//! A process always rests at a *mark*. A step starts at a mark and runs on until it meets the
//! next one that it may not swallow, so that local work joins the step before it:
//!
//! - [`Op::Mark`] opens a step. A step that a guard has opened swallows the first one it meets.
//! - [`Op::Open`] is the mark of a guard, a choice or a guarded loop: the step stays *open* for the
//!   first step behind it.
//! - [`Op::Close`] ends that (a guarded body without a step: the label is `e ▷ skip`).
//! - Between [`Op::BeginAtomic`] and [`Op::EndAtomic`] all marks are swallowed, and between
//!   [`Op::BeginSimple`] and [`Op::EndSimple`] those of single accesses, if a guard has opened the
//!   step (atomicity access).

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
use crate::code::liveness::Live;
use crate::code::quick::Quick;
use crate::code::reach::Reach;
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
    /// On bits, of machine integers alone; these neither fail nor wrap.
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
}

/// Comparisons. `u64` values are compared as such.
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
    /// The first of them.
    pub first: u32,
    /// How many there are.
    pub len: u32,
}

impl Range {
    /// Whether a cell or slot is one of these.
    pub fn contains(self, at: u32) -> bool {
        (self.first..self.first + self.len).contains(&at)
    }
}

/// One instruction. Operands are taken from the operand stack, the last one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A step begins here, with this number.
    Mark(u32),
    /// The same, for a guard: the step goes on behind the next mark.
    Open(u32),
    /// The step ends at the next mark after all.
    Close,
    /// From here on all marks are swallowed.
    BeginAtomic,
    /// The end of that.
    EndAtomic,
    /// From here on all marks are swallowed if a guard has opened the step.
    BeginSimple,
    /// The end of that.
    EndSimple,

    /// Leaves a number.
    Const(i64),
    /// Leaves what is in a slot.
    Local(u32),
    /// Takes an index; leaves what is in the slot that it selects.
    LocalAt(Range),
    /// Takes an index, and under it the elements of a constant array; leaves the element.
    Pick(u32, Type),
    /// Fails if the operand is no index of a dimension of this size.
    Within(u32),
    /// Leaves what is in a cell.
    Load(u32),
    /// Takes an index; leaves what is in the cell that it selects.
    LoadAt(Range),
    /// `!`
    Not,
    /// `-`
    Neg(Type),
    /// Takes the right side, then the left one.
    Arith(Arith, Type),
    /// Takes the right side, then the left one; as `u64` values if so.
    Compare(Compare, bool),
    /// Both sides, and whichever the first operand selects, evaluated: in code for symbolic values,
    /// where a jump would split the run.
    And,
    /// See [`Op::And`].
    Or,
    /// See [`Op::And`].
    Select(Type),
    /// The next input of the process.
    Input(Type),
    /// Arithmetic on two slots.
    ArithLocals(Arith, Type, [u16; 2]),
    /// Takes the value after the last and the first value.
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

    /// Goes on elsewhere.
    Jump(u32),
    /// Takes a condition; goes on elsewhere if it is false.
    JumpIfFalse(u32),
    /// Jumps if the first slot is not less than the second.
    JumpUnlessLess {
        /// The slots.
        slots: [u16; 2],
        /// Whether they are `u64` values.
        unsigned: bool,
        /// Where it goes on.
        to: u32,
    },
    /// Takes a value into a slot.
    SetLocal(u32),
    /// Takes the value, then the index.
    SetLocalAt(Range),
    /// Takes a value into a cell.
    Store(u32),
    /// Takes the value, then the index.
    StoreAt(Range),

    /// Waits for the condition.
    Guard,
    /// Waits for a lock and takes it.
    Lock(u32),
    /// Takes an index, waits for the lock that it selects and takes that.
    LockAt(Range),
    /// Gives a lock back; fails if the process does not hold it.
    Unlock(u32),
    /// Takes an index, and gives the lock back that it selects.
    UnlockAt(Range),
    /// Starts a block with a copy of the frame; leaves the handle.
    SpawnBlock(u32),
    /// Starts a procedure with its arguments; leaves the handle.
    SpawnCall(u32),
    /// Takes the handle, and waits for the end of the process.
    Join,
    /// Waits for the ends of all children so far.
    JoinAll,
    /// Takes the arguments, the last one first, and goes on in the procedure.
    Call(u32),
    /// Goes on behind the call; ends a process that has not been called.
    Return,
    /// Takes a value.
    Drop,
    /// Takes a condition; fails if it is false.
    Assert,
    /// Takes a condition; the run is discarded if it is false.
    Assume,
    /// The condition says that a channel has fewer messages than its limit.
    Limit(u32),
    /// Fails.
    Error,
    /// The process ends.
    End,
}

/// An access that a step claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Known when the program is compiled.
    Fixed(Access),
    /// The element that an expression over locals selects when the step starts.
    Element {
        kind: AccessKind,
        range: Range,
        index: u32,
    },
}

/// A step in which a wait may depend on what was chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late {
    pub span: Span,
    /// Otherwise there are calls that were not followed.
    pub certain: bool,
}

/// How to find out whether a step is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// It always is.
    Never,
    /// The step is an acquisition of this lock and nothing else.
    Lock(u32),
    /// This instruction alone can block; up to it the step only reads.
    At(u32),
    /// By trying.
    Somewhere,
}

/// What is known about the step that starts at a mark.
#[derive(Clone, Debug)]
pub(crate) struct StepInfo {
    pub claims: Vec<Claim>,
    /// The claims, if all are fixed.
    pub fixed: Option<Claims>,
    pub waits: Waits,
    pub wait: Wait,
    /// Whether it may wait for the end of a process.
    pub joins: bool,
    /// Whether it may go back in a loop that may never end, or may meet a false `assume`.
    pub puts_off: bool,
    /// If it touches channels: what it claims where sends and receives claim different ends.
    pub ends: Option<Box<Ends>>,
    pub span: Span,
    /// How much its access orders, if the source says so.
    pub order: Option<AccessOrder>,
}

/// What a step claims where sends and receives claim different ends of a channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    pub claims: Vec<Claim>,
    /// The ends that are all that the step touches of their channels.
    pub pure: Vec<PureEnd>,
}

/// An end of one of some channels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PureEnd {
    /// The cells that say how many messages wait.
    pub counts: Range,
    pub capacity: u32,
    pub sends: bool,
}

/// The code of a procedure or a process.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its first instruction.
    pub pc: u32,
    /// How many arguments it takes: its first slots.
    pub params: u32,
    /// How many slots it has.
    pub frame: u32,
}

/// Where a local lives: for labels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub names: Vec<hir::Local>,
    pub slots: Vec<u32>,
}

/// What a label says about an instruction.
#[derive(Clone, Debug)]
pub(crate) enum Note {
    /// The condition of a guard, printed if it holds.
    Guard(hir::Expr),
    /// A test, printed as it is or negated.
    Test(hir::Expr),
    /// A statement, and where it stands; its text is printed with the locals' values.
    Action(Action, Span),
    /// A single read of the cell of the instruction.
    Read,
    /// A single write.
    Write,
}

/// The statements that stand in labels.
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

/// A compiled program. Made by [`compile`](crate::compile), run by [`Machine`](crate::Machine).
#[derive(Clone, Debug)]
pub struct Code {
    pub(crate) ops: Vec<Op>,
    /// For each mark how to make the step without interpreting it, if that is possible.
    pub(crate) quick: Vec<Option<Quick>>,
    /// For each instruction its place in the source.
    pub(crate) spans: Vec<Span>,
    /// For each instruction the body whose frame it runs in.
    pub(crate) bodies: Vec<u32>,
    pub(crate) layouts: Vec<Layout>,
    pub(crate) notes: FxHashMap<u32, Note>,
    /// The jumps that decide what a process does next: those of statements, and in atomicity access
    /// those between the reads of an expression, and those over an operation that can fail. Other
    /// values that are computed in one go may need jumps too, but these are no choice between ways
    /// to go.
    pub(crate) branches: FxHashSet<u32>,
    /// The conditions of statements, by the instruction that decides them. For a `for` it is its
    /// range.
    pub(crate) tests: FxHashMap<u32, Span>,
    /// The messages of `assert` and `error`.
    pub(crate) messages: FxHashMap<u32, hir::Message>,
    /// The conditions of `assert`: as they stand in the source, and as they are evaluated, with
    /// temporaries for what was read in steps before.
    pub(crate) asserted: FxHashMap<u32, [hir::Expr; 2]>,
    /// The divisions and the indices that instructions compute, which can fail.
    pub(crate) operands: FxHashMap<u32, hir::Expr>,
    pub(crate) names: ProcessNames,
    /// Expressions over locals (indices) and over shared variables (properties).
    pub(crate) snippets: Vec<Vec<Op>>,
    pub(crate) steps: Vec<StepInfo>,
    pub(crate) procedures: Vec<Entry>,
    pub(crate) processes: Vec<Entry>,
    /// The values of inputs, by name. Those that are not given are 0.
    pub(crate) inputs: FxHashMap<String, i64>,
    /// The initial cells: variables, then locks.
    pub(crate) initial: Vec<i64>,
    pub(crate) first_lock: u32,
    /// For each cell the invariants over it; empty if there are none at all.
    pub(crate) watched: Vec<SmallVec<[u32; 2]>>,
    pub(crate) requires: Vec<Checked>,
    pub(crate) invariants: Vec<Checked>,
    pub(crate) ensures: Vec<Checked>,
    /// The temporal properties.
    pub(crate) temporal: Vec<Temporal>,
    /// The conditions of temporal properties: indices in `snippets`, which run in a frame of the
    /// values of `watched_slots`.
    pub(crate) conditions: Vec<u32>,
    /// The slots of locals that temporal properties speak of, each with its process.
    pub(crate) watched_slots: Vec<(u32, u32)>,
    /// The cells that determinism is about.
    pub(crate) observed: Vec<u32>,
    pub(crate) program: Arc<hir::Program>,
    pub(crate) source: Arc<str>,
    pub(crate) first_cells: Vec<u32>,
    pub(crate) lock_cells: Vec<u32>,
    pub(crate) states_property: bool,
    /// What steps may touch that wait for a condition.
    pub(crate) guards: Claims,
    /// The code of sends and receives that touch one end of a channel alone.
    pub(crate) ends: Vec<(std::ops::Range<u32>, hir::ChannelEnd)>,
    /// Steps that may have to wait or not, depending on what they have chosen.
    pub(crate) late: Vec<Late>,
    pub(crate) may_loop: bool,
    /// The bodies of processes, spawned blocks and procedures: where each begins, in order, and
    /// whether it is [endless](endless).
    pub(crate) begins: Vec<(u32, bool)>,
    pub(crate) live: Live,
    pub(crate) reach: OnceLock<Reach>,
    pub(crate) interference: OnceLock<Interference>,
    pub(crate) quiet: [OnceLock<Vec<bool>>; 2],
    /// Which runs without an end count.
    pub fairness: Fairness,
    /// Which failures count.
    pub(crate) counting: Counting,
    /// The object whose histories are looked at.
    pub(crate) linear: Option<Arc<history::Linear>>,
}

/// Which failures count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    All,
    /// Those of invariants and `ensures`.
    Stated,
    /// Those of one invariant.
    Invariant(u32),
}

/// The processes that a step may join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joins {
    /// The process of this handle, a slot of the frame.
    Handle(u32),
    /// All children.
    Children,
    /// Children, or processes of handles that are live.
    Any,
    Nothing,
}

impl Code {
    /// The processes that the step may join that starts at a mark.
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

    /// Whether a run may not end, or come back to a state that it was in: there is a loop without a
    /// constant bound, or recursion.
    pub fn may_loop(&self) -> bool {
        self.may_loop
    }

    /// Whether a process whose outermost body is at this instruction is not meant to end.
    pub(crate) fn is_endless(&self, pc: u32) -> bool {
        let after = self.begins.partition_point(|(first, _)| *first <= pc);
        after > 0 && self.begins[after - 1].1
    }

    /// Whether the file asks for determinism: it says so, or what is to be observed.
    pub fn asks_for_determinism(&self) -> bool {
        self.program.expects_determinism || self.program.observe.is_some()
    }

    /// The kinds of violations that the file allows.
    pub fn allowed(&self) -> Kinds {
        self.program.allowed
    }

    /// Whether the file states a property other than determinism: an `assert`, `error`, `invariant`
    /// or `ensures`, or a temporal one.
    pub fn states_other_property(&self) -> bool {
        self.states_property
    }

    /// Whether the file states something about final states.
    pub fn states_ensures(&self) -> bool {
        !self.ensures.is_empty()
    }

    /// Whether the file states temporal properties.
    pub fn states_temporal(&self) -> bool {
        !self.temporal.is_empty()
    }

    /// The names that the source gives its processes.
    pub fn process_names(&self) -> &ProcessNames {
        &self.names
    }

    /// The procedure whose body an instruction is in, if it is in one.
    pub(crate) fn procedure_at(&self, pc: u32) -> Option<&str> {
        // Procedures are compiled first, so their bodies have their numbers.
        let body = self.bodies[pc as usize] as usize;
        self.program.procedures.get(body).map(|p| p.name.as_str())
    }

    /// The checked program that it was made of.
    pub fn program(&self) -> &hir::Program {
        &self.program
    }

    /// The text that it was made of.
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// What can still be touched from each place on.
    pub(crate) fn reach(&self) -> &Reach {
        self.reach.get_or_init(|| reach::analyse(self))
    }

    /// The same as sets of cells.
    #[inline]
    pub(crate) fn interference(&self) -> &Interference {
        self.interference
            .get_or_init(|| interference::analyse(self))
    }

    /// Whether only local work is left of the step at an instruction: with an `assume` or without.
    pub(crate) fn is_quiet(&self, pc: u32, assumes: bool) -> bool {
        let quiet = &self.quiet[usize::from(assumes)];
        quiet.get_or_init(|| quiet::analyse(self, assumes))[pc as usize]
    }

    /// The number of the claims of a step that touches one element of an array: beyond those of the
    /// steps.
    pub(crate) fn element_key(&self, cell: u32, kind: AccessKind) -> u32 {
        self.steps.len() as u32 + 1 + 4 * cell + kind as u32
    }

    /// The pseudo-cell that every write of a variable of an invariant claims to write.
    pub(crate) fn invariant_cell(&self, invariant: u32) -> u32 {
        self.initial.len() as u32 + invariant
    }
}
