//! Events of execution graphs.

use super::Slot;
use crate::program::{Loc, MemoryOrder, ThreadId, Value};

/// The kind of an event. An update that writes, and the acquisition of a lock, is two events, one
/// directly after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A read.
    Load,
    /// An update that wrote nothing.
    FailedUpdate,
    /// The read of an update that writes.
    UpdateRead,
    /// The read of a lock.
    LockRead,
    /// An await that is satisfied.
    Await,
    /// An await or update that waits for another value: the last event of its thread.
    Stuck,
    /// A write.
    Store,
    /// The write of an update.
    UpdateWrite,
    /// The write of a lock.
    LockWrite,
    /// The release of a lock.
    Unlock,
    /// A fence.
    Fence,
    /// The start of another thread.
    Spawn,
    /// The wait for the end of another thread.
    Join,
    /// A choice.
    Choice,
    /// A decision about values that are not known.
    Decision,
}

impl Kind {
    /// Whether it reads.
    #[inline]
    pub fn is_read(self) -> bool {
        self <= Self::Stuck
    }

    /// Whether it writes.
    #[inline]
    pub fn is_write(self) -> bool {
        matches!(
            self,
            Self::Store | Self::UpdateWrite | Self::LockWrite | Self::Unlock
        )
    }

    /// Whether it is the read of a pair that reads and writes at once.
    #[inline]
    pub fn reads_exclusively(self) -> bool {
        matches!(self, Self::UpdateRead | Self::LockRead)
    }

    /// Whether it is the write of a pair that reads and writes at once.
    #[inline]
    pub fn writes_exclusively(self) -> bool {
        matches!(self, Self::UpdateWrite | Self::LockWrite)
    }

    /// Whether the program gets an answer with this event. An update is answered only once.
    #[inline]
    pub(super) fn answers(self) -> bool {
        !self.reads_exclusively() && self != Self::Stuck
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The thread that made it.
    pub thread: ThreadId,
    /// Its index among the events of its thread.
    pub index: u32,
    /// The time when it was added. A read that a write revisits keeps its stamp.
    pub stamp: u32,
    /// Its kind.
    pub kind: Kind,
    /// Its order; meaningless for a choice or decision.
    pub order: MemoryOrder,
    /// The location of an access. For a spawn or join, the identifier of the other thread; for a
    /// choice, how many outcomes it has; for a decision, the identifier of its question.
    pub loc: Loc,
    /// The value that was read, written or chosen.
    pub value: Value,
    /// The write that a read reads from; [`Slot::INITIAL`] for the initial one.
    pub rf: Slot,
    /// The position of a write in mo; the initial write has position 0.
    pub position: u32,
    /// Number of answers that its thread has got up to and including this event.
    pub(crate) answers: u32,
    /// The last releasing fence of its thread up to and including this event; [`Slot::NONE`] if
    /// there is none.
    pub(crate) release_fence: Slot,
    /// For a write, the first read in the list of its readers; [`Slot::NONE`] if it has none.
    pub(super) reader: Slot,
    /// For a read, its neighbours in the list of the readers of the same write.
    pub(super) siblings: [Slot; 2],
}

impl Event {
    /// Makes an event that [`Graph::push`] completes.
    pub(crate) fn new(thread: ThreadId, kind: Kind, order: MemoryOrder, loc: Loc) -> Self {
        Self {
            thread,
            index: 0,
            stamp: u32::MAX,
            kind,
            order,
            loc,
            value: 0,
            rf: Slot::NONE,
            position: 0,
            answers: 0,
            release_fence: Slot::NONE,
            reader: Slot::NONE,
            siblings: [Slot::NONE; 2],
        }
    }

    /// Returns this event with a value.
    pub(crate) fn with(self, value: Value) -> Self {
        Self { value, ..self }
    }

    /// Whether it is a fence of order sc.
    #[inline]
    pub(crate) fn is_sc_fence(&self) -> bool {
        self.kind == Kind::Fence && self.order == MemoryOrder::SeqCst
    }

    /// Whether it reads or writes.
    #[inline]
    pub fn is_access(&self) -> bool {
        self.kind.is_read() || self.kind.is_write()
    }

    /// Whether it is a part of an update or lock, or an update that wrote nothing.
    pub(crate) fn is_update(&self) -> bool {
        let kind = self.kind;
        kind.reads_exclusively() || kind.writes_exclusively() || kind == Kind::FailedUpdate
    }
}
