//! The instructions that programs are compiled to, for a stack machine.

use std::collections::BTreeSet;

use super::FailureKind;
use super::ast::{Op, Temporal, Ty};
use super::objects::{Object, ObjectAction};

/// One instruction. Values are numbers; `false` is 0, and a handle is the number of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Instr {
    /// Ends the step, unless an earlier instruction (`Fuse`, `Begin`, `AtomicBegin`) requires that
    /// the step continues.
    Yield,
    /// The next `Yield` does not end the step, because the step of a guard includes the first step
    /// of the guarded statement.
    Fuse,
    /// Cancels a `Fuse` at the end of the guarded statement, in case the statement contains no
    /// step.
    EndFuse,
    /// Under `atomicity access`: a statement begins here. If it is guarded, all of it up to `Over`
    /// belongs to the guard's step.
    Begin,
    Over,
    /// Until the matching `AtomicEnd`, no `Yield` ends the step.
    AtomicBegin,
    AtomicEnd,
    Push(i128),
    Local(usize),
    /// An element of a local array: the first slot and the length.
    LocalAt(usize, usize),
    /// Pops an index; pushes the number at that index of the list.
    Pick(Vec<i128>),
    Shared(usize),
    SharedAt(usize, usize),
    SetLocal(usize),
    /// Pops the value, then the index.
    SetLocalAt(usize, usize),
    SetShared(usize),
    SetSharedAt(usize, usize),
    Bin(Op, Ty),
    Not,
    Neg(Ty),
    Jump(usize),
    JumpIfNot(usize),
    /// If the value on the stack is this one, jumps and keeps it; otherwise drops it and continues.
    /// `&&` jumps on false, `||` on true.
    JumpKeep(bool, usize),
    Choose,
    Input(Ty),
    /// The step is possible only if the value is true.
    Wait,
    Object(ObjectAction, usize, usize),
    /// Pops an index; pushes whether the operation need not wait.
    Possible(ObjectAction, usize, usize),
    /// Pops an index; pushes whether no process holds that lock.
    IsFree(usize, usize),
    /// Pops this many truth values; pushes the index of a true one, which is a choice. If all are
    /// false, pushes their count if that is allowed (`true`); otherwise the step is not possible.
    OneOpen(usize, bool),
    /// Begins (`true`) or ends (`false`) a `try`. Within it, an operation that would have to wait
    /// is skipped. The end pushes whether no operation was skipped.
    Trying(bool),
    Lock(usize, usize),
    Unlock(usize, usize),
    /// Starts a child at this instruction with a copy of the locals.
    Spawn(usize),
    /// Starts a child that runs the procedure with this many arguments from the stack.
    SpawnCall(usize, usize),
    Join,
    JoinAll,
    Call(usize, usize),
    Return,
    End,
    Assert,
    Assume,
    Fail(FailureKind),
}

impl Instr {
    /// Returns the target, if it is a jump.
    pub fn target(&self) -> Option<usize> {
        match *self {
            Instr::Jump(to) | Instr::JumpIfNot(to) | Instr::JumpKeep(_, to) => Some(to),
            _ => None,
        }
    }
}

/// A procedure: its first instruction and its number of locals.
#[derive(Clone, Debug, Default)]
pub(super) struct Procedure {
    pub entry: usize,
    pub locals: usize,
}

/// A property. Its code ends in `Return` and leaves the value on the stack.
#[derive(Clone, Debug)]
pub(super) struct Property {
    pub line: u32,
    pub entry: usize,
    /// The cells that it may read: of an array whose index is not constant, all elements.
    pub cells: Vec<usize>,
}

/// A process that exists at the start.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub entry: usize,
    pub locals: usize,
}

/// A compiled program.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    pub instrs: Vec<Instr>,
    /// The line of each instruction.
    pub lines: Vec<u32>,
    pub procedures: Vec<Procedure>,
    pub starts: Vec<Start>,
    /// Name, type and initial value of each cell of shared memory; `None` if the initial value is
    /// symbolic.
    pub cells: Vec<(String, Ty, Option<i128>)>,
    pub locks: usize,
    pub objects: Vec<Object>,
    pub requires: Vec<Property>,
    pub invariants: Vec<Property>,
    pub ensures: Vec<Property>,
    pub covers: Vec<Property>,
    /// Temporal properties with their conditions.
    pub temporal: Vec<(Temporal, Vec<Property>)>,
    /// Whether two requirements obviously contradict each other (guess.rs).
    pub contradicts: bool,
    /// The cells that are observed.
    pub observed: Vec<usize>,
    /// The first instructions of the endless bodies (endless.rs), whose processes are not meant to
    /// end.
    pub endless: BTreeSet<usize>,
    /// Whether there is an `assume`, so that happens-before matters.
    pub assumes: bool,
}

/// Wraps a value into the range of its type; `None` if an `int` leaves 64 bits.
pub(super) fn wrap(value: i128, ty: Ty) -> Option<i128> {
    let (low, high) = ty.range();
    if (low..=high).contains(&value) {
        return Some(value);
    }
    if ty == Ty::Int {
        return None;
    }
    Some((value - low).rem_euclid(high - low + 1) + low)
}

/// The result of an operation.
pub(super) enum OperationResult {
    Value(i128),
    /// Division by zero.
    Zero,
    /// An `int` left 64 bits.
    TooWide,
}

/// Applies an operator that is neither `&&` nor `||`.
pub(super) fn apply(op: Op, ty: Ty, left: i128, right: i128) -> OperationResult {
    let value = match op {
        Op::Add => left + right,
        Op::Sub => left - right,
        Op::Mul => match left.checked_mul(right) {
            Some(value) => value,
            None => return OperationResult::TooWide,
        },
        Op::Div | Op::Rem if right == 0 => return OperationResult::Zero,
        Op::Div => left / right,
        Op::Rem => left % right,
        Op::BitAnd => left & right,
        Op::BitOr => left | right,
        Op::BitXor => left ^ right,
        Op::Shl => power(ty, right).map_or(0, |power| left * power),
        Op::Shr => match power(ty, right) {
            Some(power) => left.div_euclid(power),
            None => left.clamp(-1, 0),
        },
        Op::Eq => return OperationResult::Value((left == right).into()),
        Op::Ne => return OperationResult::Value((left != right).into()),
        Op::Lt => return OperationResult::Value((left < right).into()),
        Op::Le => return OperationResult::Value((left <= right).into()),
        Op::Gt => return OperationResult::Value((left > right).into()),
        Op::Ge => return OperationResult::Value((left >= right).into()),
        Op::And => return OperationResult::Value(left & right),
        Op::Or => return OperationResult::Value(left | right),
    };
    wrap(value, ty).map_or(OperationResult::TooWide, OperationResult::Value)
}

/// Returns the power of two by which a shift multiplies or divides; `None` if the shift removes all
/// bits. A negative amount counts as one that removes all bits.
fn power(ty: Ty, amount: i128) -> Option<i128> {
    let (Ty::Signed(bits) | Ty::Unsigned(bits)) = ty else {
        return None;
    };
    (0..i128::from(bits)).contains(&amount).then(|| 1 << amount)
}
