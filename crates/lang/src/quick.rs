//! Steps that do one thing to one cell: most steps of atomicity access, and of locks. They are recognised when the program is
//! compiled, so that the machine makes them without interpreting anything.

use mazurka_core::{Access, AccessKind, Claims};

use crate::code::Op;

/// What such a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Reads the cell into a slot.
    Fetch { slot: u32 },
    /// Writes a constant.
    Set { value: i64 },
    /// Takes the lock, which is free.
    Lock,
    /// Gives the lock back, if the process holds it.
    Unlock,
}

/// A step that does one thing to one cell, and then rests or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quick {
    pub deed: Deed,
    /// What it claims, and touches.
    pub access: Access,
    /// Where the process is after it.
    pub pc: u32,
    /// Whether this is its end.
    pub ends: bool,
}

/// Recognises such a step by the instructions behind its mark and by what it claims: where an invariant is about the
/// cell, it claims more than that.
pub(crate) fn quick(ops: &[Op], mark: u32, claims: &Claims) -> Option<Quick> {
    let [access] = claims[..] else { return None };
    let behind = ops.get(mark as usize..)?;
    let (deed, kind, cell, len) = match *behind {
        [Op::Mark(_), Op::Fetch { cell, slot }, ..] => {
            (Deed::Fetch { slot }, AccessKind::Read, cell, 2)
        }
        [Op::Mark(_), Op::Const(value), Op::Store(cell), ..] => {
            (Deed::Set { value }, AccessKind::Write, cell, 3)
        }
        [Op::Mark(_), Op::Lock(cell), ..] => (Deed::Lock, AccessKind::Acquire, cell, 2),
        [Op::Mark(_), Op::Unlock(cell), ..] => (Deed::Unlock, AccessKind::Release, cell, 2),
        _ => return None,
    };
    let ends = match behind.get(len as usize)? {
        Op::Mark(_) | Op::Open(_) => false,
        Op::End => true,
        _ => return None,
    };
    (access == Access::new(kind, cell)).then_some(Quick {
        deed,
        access,
        pc: mark + len,
        ends,
    })
}
