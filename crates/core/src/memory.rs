//! The orders of memory accesses, in the vocabulary of C++20 and Rust, and the interface of
//! programs that are explored under a memory model ([`WeakMemory`]).

use std::fmt;

use crate::{Event, Execution, ProcessId, StepError};

/// The order of an access or a fence.
///
/// ```
/// use mazurka_core::MemoryOrder::*;
/// assert!(AcqRel.acquires() && AcqRel.releases() && SeqCst.acquires());
/// assert!(!Relaxed.acquires() && Relaxed.is_atomic() && !Plain.is_atomic());
/// assert_eq!("acq_rel".parse(), Ok(AcqRel));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryOrder {
    /// Not atomic: concurrent accesses are a data race under rc11.
    Plain,
    /// Atomic, but without any ordering.
    Relaxed,
    /// If it reads from a release, everything before the release happens before everything after
    /// the acquire.
    Acquire,
    /// Everything before it happens before everything after an acquire that reads from it.
    Release,
    /// Acquires and releases.
    AcqRel,
    /// Acquires and releases. There is one total order of all accesses and fences with this order.
    SeqCst,
}

impl MemoryOrder {
    /// The orders that a program can name.
    pub const NAMED: [Self; 5] = [
        Self::Relaxed,
        Self::Acquire,
        Self::Release,
        Self::AcqRel,
        Self::SeqCst,
    ];

    /// Whether an access of this order is atomic.
    #[inline]
    pub fn is_atomic(self) -> bool {
        self != Self::Plain
    }

    /// Whether a read or fence of this order acquires.
    #[inline]
    pub fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    /// Whether a write or fence of this order releases.
    #[inline]
    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }

    /// Returns the order that a compare-exchange has if it fails and the program gives only the
    /// order of its success, which is `self`.
    pub fn of_failure(self) -> Self {
        match self {
            Self::AcqRel => Self::Acquire,
            Self::Release => Self::Relaxed,
            order => order,
        }
    }
}

impl fmt::Display for MemoryOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Relaxed => "relaxed",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::AcqRel => "acq_rel",
            Self::SeqCst => "seq_cst",
        })
    }
}

/// The error for a word that is not an order of memory accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected relaxed, acquire, release, acq_rel or seq_cst")]
pub struct UnknownOrder;

impl std::str::FromStr for MemoryOrder {
    type Err = UnknownOrder;

    fn from_str(text: &str) -> Result<Self, UnknownOrder> {
        let named = Self::NAMED.into_iter();
        let mut named = named.filter(|order| order.to_string() == text);
        named.next().ok_or(UnknownOrder)
    }
}

/// The orders of one access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccessOrder {
    /// The order of the access. For an update: the order that it has if it writes.
    pub order: MemoryOrder,
    /// The order of an update that does not write: a failed compare-exchange is a read.
    pub failure: MemoryOrder,
}

impl From<MemoryOrder> for AccessOrder {
    fn from(order: MemoryOrder) -> Self {
        let failure = order.of_failure();
        Self { order, failure }
    }
}

/// The kind of an access, which determines the orders that it can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ordered {
    /// A read.
    Load,
    /// A write.
    Store,
    /// A read and a write in one step.
    Update,
    /// An update that may only read.
    CompareExchange,
    /// A fence. A relaxed fence has no effect.
    Fence,
}

impl Ordered {
    /// Returns the orders that the access can have. An order that is weaker than another one comes
    /// before it.
    ///
    /// ```
    /// use mazurka_core::{MemoryOrder::*, Ordered};
    /// assert_eq!(Ordered::Store.orders(), [Relaxed, Release, SeqCst]);
    /// ```
    pub fn orders(self) -> &'static [MemoryOrder] {
        use MemoryOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        match self {
            Self::Load => &[Relaxed, Acquire, SeqCst],
            Self::Store => &[Relaxed, Release, SeqCst],
            Self::Update | Self::CompareExchange | Self::Fence => {
                &[Relaxed, Acquire, Release, AcqRel, SeqCst]
            }
        }
    }
}

/// A program whose steps each make one access to memory. It is for engines that decide which value
/// a read returns: they store that value in the cell before the step is made.
pub trait WeakMemory: Execution {
    /// Returns the orders of the next access of a process to this cell. Without a cell, the next
    /// step must be a fence, and the result is its order.
    fn order(&self, process: ProcessId, cell: Option<u32>) -> AccessOrder;

    /// Whether the next step of a process is a fence.
    fn is_fence(&self, process: ProcessId) -> bool;

    /// Returns the number of cells.
    fn places(&self) -> u32;

    /// Returns the value of a cell.
    fn value(&self, cell: u32) -> i64;

    /// Makes a step that the caller will undo. It does not count for coverage.
    fn try_step(&mut self, process: ProcessId) -> Result<&Event, StepError> {
        self.step(process, &[])
    }

    /// Changes the value of a cell outside of all steps.
    fn set_value(&mut self, cell: u32, value: i64);

    /// Returns an identifier of the condition over unknown values that the next step of a process
    /// decides, if the step does nothing else; `None` otherwise. Its outcomes are 0 (the condition
    /// does not hold) and 1 (it holds).
    fn question(&mut self, _process: ProcessId) -> Option<u32> {
        None
    }

    /// Returns how many conditions over unknown values the last step has decided.
    fn decisions(&self) -> u32 {
        0
    }

    /// Whether some values give the conditions these truth values. Each pair is the identifier of a
    /// condition ([`question`](Self::question)) and its truth value. If this cannot be decided, the
    /// answer is no, and the program records that it was undecided.
    fn is_feasible(&mut self, _decided: &[(u32, bool)]) -> bool {
        true
    }

    /// Returns the line of the next step of a process, for messages.
    fn line(&self, process: ProcessId) -> usize;
}
