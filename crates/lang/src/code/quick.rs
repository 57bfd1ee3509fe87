//! Quick steps: steps with one access to one cell, such as `x := 1`, `lock(m)`, or with `atomicity
//! access` a single read. The compiler recognises them, and the machine executes them without
//! interpreting their instructions.

use mazurka_core::{Access, AccessKind, Wait};

use crate::check::hir::Type;
use crate::code::numbers;
use crate::code::{Arith, Claim, Code, Compare, Op, Range};

/// The action of a quick step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum QuickAction {
    /// Reads the cell into a slot.
    Fetch { slot: u32 },
    /// Reads an element of an array into a slot.
    FetchAt { element: Element, slot: u32 },
    /// Writes a constant.
    Set { value: i64 },
    /// Writes a value computed from at most two locals.
    Put { value: QuickValue },
    /// Acquires the lock, which is free.
    Lock,
    /// Releases the lock, if the process holds it.
    Unlock,
}

/// An element of the array whose first cell is the cell of the access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// The slot of the index.
    pub index: u32,
    pub len: u32,
}

/// The value to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum QuickValue {
    Slot(u32),
    /// An operation on two slots.
    Slots(Arith, Type, [u16; 2]),
    /// An operation on a slot and a constant.
    SlotAndConst(Arith, Type, u32, i32),
}

impl QuickValue {
    /// Returns the value for these locals, or `None` if it is undefined.
    #[inline(always)]
    pub fn eval(&self, locals: &[i64]) -> Option<i64> {
        match *self {
            QuickValue::Slot(slot) => Some(locals[slot as usize]),
            QuickValue::Slots(op, ty, [a, b]) => {
                arith(op, ty, locals[a as usize], locals[b as usize])
            }
            QuickValue::SlotAndConst(op, ty, slot, value) => {
                arith(op, ty, locals[slot as usize], i64::from(value))
            }
        }
    }
}

#[inline(always)]
fn arith(op: Arith, ty: Type, a: i64, b: i64) -> Option<i64> {
    match op {
        Arith::Add => numbers::add(ty, a, b).ok(),
        _ => numbers::arith(op, ty, a, b).ok(),
    }
}

/// The continuation after the access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum AfterAccess {
    /// The process rests here.
    Rest(u32),
    /// The process ends here.
    End(u32),
    /// The end of a round of a `for`.
    RoundEnd(u32, RoundEnd),
    /// Local work from this instruction on.
    More(u32),
}

/// The end of a round of a `for`. It increments the variable, and starts another round or leaves
/// the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoundEnd {
    /// The slots of the variable and of its exclusive upper bound.
    slots: [u16; 2],
    ty: Type,
    unsigned: bool,
    /// Where the process rests if there is another round.
    again: u32,
    /// Where the process rests after the loop.
    after: u32,
    /// Whether the process ends after the loop.
    ends: bool,
}

/// The effect of the end of a round, for given values of the locals.
pub(crate) struct RoundEffect {
    pub slot: u32,
    /// The new value of the loop variable.
    pub value: i64,
    /// The instruction at which the process rests or ends.
    pub pc: u32,
    pub ends: bool,
}

impl RoundEnd {
    /// Returns the effect for these locals, or `None` if the variable overflows.
    #[inline(always)]
    pub fn advance(self, locals: &[i64]) -> Option<RoundEffect> {
        let [slot, end] = self.slots;
        let value = numbers::add(self.ty, locals[slot as usize], 1).ok()?;
        let again = numbers::compare(Compare::Lt, self.unsigned, value, locals[end as usize]);
        Some(RoundEffect {
            slot: u32::from(slot),
            value,
            pc: if again { self.again } else { self.after },
            ends: !again && self.ends,
        })
    }

    /// Returns the instruction of the loop's test and the outcome of the test that leads to `pc`;
    /// `None` if neither outcome does.
    pub fn side_to(self, pc: u32) -> Option<(u32, bool)> {
        let sides = [(self.again, true), (self.after, false)];
        let (_, held) = sides.into_iter().find(|(to, _)| *to == pc)?;
        // The body begins right after the test.
        Some((self.again - 1, held))
    }
}

/// A step with one access to one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QuickStep {
    pub action: QuickAction,
    /// The access that the step claims and makes.
    pub access: Access,
    /// The key of its claims.
    pub key: u32,
    pub wait: Wait,
    /// Whether the event of the step is [plain](mazurka_core::Event::is_plain).
    pub plain: bool,
    pub then: AfterAccess,
}

/// Recognises a quick step by the instructions after its mark and by its claims. A step that
/// writes a cell of an invariant has more claims, so it is not quick.
pub(crate) fn quick(code: &Code, mark: u32, claims: &[Claim], wait: Wait) -> Option<QuickStep> {
    let [claim] = claims else { return None };
    let after_mark = code.ops.get(mark as usize..)?;
    let [Op::Mark(step), after_mark @ ..] = after_mark else {
        return None;
    };
    let (action, kind, cell, len) = action(after_mark)?;
    let access = Access::new(kind, cell);
    let key = match (claim, action) {
        (Claim::Element { kind, range, index }, QuickAction::FetchAt { element, .. })
            if *kind == AccessKind::Read
                && (range.first, range.len) == (cell, element.len)
                && code.snippets[*index as usize] == [Op::Local(element.index)] =>
        {
            code.element_key(cell, *kind)
        }
        (Claim::Fixed(claimed), _) if *claimed == access => step + 1,
        _ => return None,
    };
    Some(QuickStep {
        action,
        access,
        key,
        wait,
        plain: wait == Wait::Never && !matches!(action, QuickAction::Lock | QuickAction::Unlock),
        then: then(&code.ops, mark + 1 + len)?,
    })
}

/// Returns the action of the first instructions, the kind and cell of the access, and the number of
/// these instructions.
fn action(ops: &[Op]) -> Option<(QuickAction, AccessKind, u32, u32)> {
    let put = |value, cell, len| Some((QuickAction::Put { value }, AccessKind::Write, cell, len));
    match *ops {
        [Op::Fetch { cell, slot }, ..] => {
            Some((QuickAction::Fetch { slot }, AccessKind::Read, cell, 1))
        }
        [
            Op::Local(index),
            Op::LoadAt(Range { first, len }),
            Op::SetLocal(slot),
            ..,
        ] => {
            let element = Element { index, len };
            let action = QuickAction::FetchAt { element, slot };
            Some((action, AccessKind::Read, first, 3))
        }
        [Op::Const(value), Op::Store(cell), ..] => {
            Some((QuickAction::Set { value }, AccessKind::Write, cell, 2))
        }
        [Op::Local(slot), Op::Store(cell), ..] => put(QuickValue::Slot(slot), cell, 2),
        [Op::ArithLocals(op, ty, slots), Op::Store(cell), ..] => {
            put(QuickValue::Slots(op, ty, slots), cell, 2)
        }
        [
            Op::Local(slot),
            Op::Const(value),
            Op::Arith(op, ty),
            Op::Store(cell),
            ..,
        ] => {
            let value = i32::try_from(value).ok()?;
            put(QuickValue::SlotAndConst(op, ty, slot, value), cell, 4)
        }
        [Op::Lock(cell), ..] => Some((QuickAction::Lock, AccessKind::Acquire, cell, 1)),
        [Op::Unlock(cell), ..] => Some((QuickAction::Unlock, AccessKind::Release, cell, 1)),
        _ => None,
    }
}

/// Returns how the process continues at a place of the code.
fn then(ops: &[Op], at: u32) -> Option<AfterAccess> {
    Some(match *ops.get(at as usize..)? {
        [Op::Mark(_) | Op::Open(_), ..] => AfterAccess::Rest(at),
        [Op::End, ..] => AfterAccess::End(at),
        [Op::Increment(slot, ty), Op::Jump(test), ..] => match round_end(ops, slot, ty, test) {
            Some(round_end) => AfterAccess::RoundEnd(at, round_end),
            None => AfterAccess::More(at),
        },
        _ => AfterAccess::More(at),
    })
}

/// Returns the end of a round of the `for` whose test is at `test`.
fn round_end(ops: &[Op], slot: u32, ty: Type, test: u32) -> Option<RoundEnd> {
    let Op::JumpUnlessLess {
        slots,
        unsigned,
        to,
    } = ops[test as usize]
    else {
        return None;
    };
    let rests = |at: u32| matches!(ops[at as usize], Op::Mark(_) | Op::Open(_));
    let ends = ops[to as usize] == Op::End;
    let known = u32::from(slots[0]) == slot && rests(test + 1) && (ends || rests(to));
    known.then_some(RoundEnd {
        slots,
        ty,
        unsigned,
        again: test + 1,
        after: to,
        ends,
    })
}
