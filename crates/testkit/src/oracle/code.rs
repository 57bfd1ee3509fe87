//! The code that programs are compiled to, for a machine with a stack.

use std::collections::BTreeSet;

use super::FailureKind;
use super::ast::{Op, Temporal, Ty};
use super::objects::{Deed, Object};

/// One instruction. Values are numbers; `false` is 0, a handle is a process's number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Instr {
    /// A step ends before this, unless one that must not end here goes on.
    Yield,
    /// The next `Yield` is passed: a guard's step goes on with the first step of what it guards.
    Fuse,
    /// What was guarded has ended without a step of its own.
    EndFuse,
    /// Under `atomicity access`: a statement begins here. If it is what a guard goes on with, all
    /// of it to `Over` belongs to the guard's step.
    Begin,
    Over,
    /// Until the matching `AtomicEnd` no `Yield` counts.
    AtomicBegin,
    AtomicEnd,
    Push(i128),
    Local(usize),
    /// An element of a local array: where it begins, how long it is.
    LocalAt(usize, usize),
    /// Pops an index; pushes the number that it has here.
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
    /// Keeps the value if it jumps, else drops it: `&&` jumps on false, `||` on true.
    JumpKeep(bool, usize),
    Choose,
    Input(Ty),
    /// The step is possible only if the value is true.
    Wait,
    Object(Deed, usize, usize),
    /// Pops an index; pushes whether the operation need not wait.
    Possible(Deed, usize, usize),
    /// Pops an index; pushes whether no process holds that lock.
    IsFree(usize, usize),
    /// Pops so many truth values; pushes the number of one that is true, or the count of them if
    /// none is and that is allowed.
    OneOpen(usize, bool),
    /// From here on what would block is not done; at the end whether it was goes on the stack.
    Trying(bool),
    Lock(usize, usize),
    Unlock(usize, usize),
    /// Starts a child at this place with a copy of the locals.
    Spawn(usize),
    /// Starts a child that runs the procedure with so many arguments from the stack.
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
    /// Where it may jump to.
    pub fn target(&self) -> Option<usize> {
        match *self {
            Instr::Jump(to) | Instr::JumpIfNot(to) | Instr::JumpKeep(_, to) => Some(to),
            _ => None,
        }
    }
}

/// A procedure: where its code begins and how many locals it has.
#[derive(Clone, Debug, Default)]
pub(super) struct Procedure {
    pub entry: usize,
    pub locals: usize,
}

/// A property: its code ends in `Return` with the value on the stack.
#[derive(Clone, Debug)]
pub(super) struct Property {
    pub line: u32,
    pub entry: usize,
    /// The cells that it reads, all elements of an array that it names.
    pub cells: Vec<usize>,
}

/// A process at the start.
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
    /// Name, type and initial value of each cell of the shared memory; no value: symbolic.
    pub cells: Vec<(String, Ty, Option<i128>)>,
    pub locks: usize,
    pub objects: Vec<Object>,
    pub requires: Vec<Property>,
    pub invariants: Vec<Property>,
    pub ensures: Vec<Property>,
    pub covers: Vec<Property>,
    /// Temporal properties with their conditions.
    pub temporal: Vec<(Temporal, Vec<Property>)>,
    /// Whether no values at all satisfy what is required, as far as the text shows it.
    pub contradicts: bool,
    /// The cells that are observed.
    pub observed: Vec<usize>,
    /// Where the bodies begin that are not meant to end.
    pub endless: BTreeSet<usize>,
    /// Whether there is an `assume`, so that what happens before what matters.
    pub assumes: bool,
}

/// The value in the range of its type; none if an `int` leaves 64 bits.
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

/// What an operation gives.
pub(super) enum Worth {
    Value(i128),
    /// Division by zero.
    Zero,
    /// An `int` left 64 bits.
    TooWide,
}

/// The value of an operation that is neither `&&` nor `||`.
pub(super) fn apply(op: Op, ty: Ty, left: i128, right: i128) -> Worth {
    let value = match op {
        Op::Add => left + right,
        Op::Sub => left - right,
        Op::Mul => match left.checked_mul(right) {
            Some(value) => value,
            None => return Worth::TooWide,
        },
        Op::Div | Op::Rem if right == 0 => return Worth::Zero,
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
        Op::Eq => return Worth::Value((left == right).into()),
        Op::Ne => return Worth::Value((left != right).into()),
        Op::Lt => return Worth::Value((left < right).into()),
        Op::Le => return Worth::Value((left <= right).into()),
        Op::Gt => return Worth::Value((left > right).into()),
        Op::Ge => return Worth::Value((left >= right).into()),
        Op::And => return Worth::Value(left & right),
        Op::Or => return Worth::Value(left | right),
    };
    wrap(value, ty).map_or(Worth::TooWide, Worth::Value)
}

/// What a shift multiplies with, or divides by; none if it leaves nothing of a number. A negative
/// amount is a large one.
fn power(ty: Ty, amount: i128) -> Option<i128> {
    let (Ty::Signed(bits) | Ty::Unsigned(bits)) = ty else {
        return None;
    };
    (0..i128::from(bits)).contains(&amount).then(|| 1 << amount)
}
