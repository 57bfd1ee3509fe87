//! Programs as the graph engine sees them: threads that make one memory access at a time.
//!
//! The engine never sees instructions. It asks a thread for its next action ([`Program::pending`]),
//! decides which value the action yields, and hands the value over ([`Program::answer`]). A thread
//! may do any local work in between. The actions of a thread depend on its answers alone, so a list
//! of answers identifies a state of the thread.
//!
//! The protocol:
//! 1. `pending(t)` is called for threads that have started: the first
//!    [`initial_threads`](Program::initial_threads), and those that a spawn has started.
//! 2. `modify(t, v)` is called only while an update or an await is pending. It must not change what
//!    the other functions return. If threads are not independent, two more rules hold. First, once
//!    the engine has determined the value that an update reads, its last call of `modify` for the
//!    update has this value. Second, every write of the graph has been returned by `pending` or
//!    `modify` since the last `rewind`. So a value may be the name of a write, and the program
//!    itself stores the written bits. Real code needs this, because its pointers differ from run to
//!    run.
//! 3. `answer(t, v)` makes the pending access of thread `t`. Accesses of different threads are
//!    answered in an order that extends po ∪ rf, so plain memory of real code holds the values that
//!    race-free code expects. Threads that share nothing except through the engine set
//!    [`INDEPENDENT`](Program::INDEPENDENT), and the engine answers them in any order. Accesses
//!    that a thread has made in an earlier run are answered as a list
//!    ([`answer_again`](Program::answer_again)), so that real code need not be suspended between
//!    them.
//! 4. `rewind(answers)` takes threads back. A program that can only be run from the start sets all
//!    numbers to 0 and is answered again.

pub use mazurka_core::MemoryOrder;

use crate::graph::{Event, Kind};

/// A value of a location: a number, or the bits that real code stores there.
pub type Value = i64;

/// A thread. Threads are numbered densely, and the number does not depend on the schedule.
///
/// ```
/// use mazurka_memory::ThreadId;
/// assert_eq!(ThreadId(2).index(), 2);
/// assert_eq!(ThreadId(2).to_string(), "t2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// Returns the number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for ThreadId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "t{}", self.0)
    }
}

/// A location of shared memory, or a lock. Locations are numbered like threads.
///
/// ```
/// assert_eq!(mazurka_memory::Loc(7).index(), 7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loc(pub u32);

impl Loc {
    /// Returns the number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The next action of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reads; the answer is the value.
    Read {
        /// The location.
        loc: Loc,
        /// The order.
        order: MemoryOrder,
    },
    /// Writes a value.
    Write {
        /// The location.
        loc: Loc,
        /// The order.
        order: MemoryOrder,
        /// The value.
        value: Value,
    },
    /// Reads and, as [`Program::modify`] decides, writes in the same step; the answer is the value
    /// read.
    Update {
        /// The location.
        loc: Loc,
        /// The order if it writes.
        order: MemoryOrder,
        /// The order if it does not write: a compare-exchange that fails is a read.
        failure: MemoryOrder,
    },
    /// Reads a value for which [`Program::modify`] does not return [`Effect::Wait`], like a spin
    /// loop; the answer is the value.
    Await {
        /// The location.
        loc: Loc,
        /// The order.
        order: MemoryOrder,
    },
    /// Acquires a lock. Locks have locations of their own, which are 0 while free and 1 while held.
    /// An attempt that does not wait is an update that exchanges 0 for 1.
    Lock {
        /// The lock.
        loc: Loc,
    },
    /// Releases a lock that the thread holds. If a thread may release a lock that another thread
    /// holds, as with a semaphore, use an update that waits, and a write.
    Unlock {
        /// The lock.
        loc: Loc,
    },
    /// A fence.
    Fence {
        /// The order.
        order: MemoryOrder,
    },
    /// Starts a thread.
    Spawn {
        /// The thread, which is started once in an execution.
        child: ThreadId,
    },
    /// Waits for the end of a thread.
    Join {
        /// The thread.
        child: ThreadId,
    },
    /// Chooses; the answer is a number below `outcomes`.
    Choice {
        /// The number of outcomes, at least 1.
        outcomes: u32,
    },
    /// Decides a question about unknown values; the answer is one of its outcomes, which
    /// [`Program::decide`] returns.
    Decide {
        /// The identifier of the question, which the program chooses.
        question: u32,
    },
    /// The thread has reached a false assumption: the execution does not count.
    Discard,
    /// The thread has failed, with the number of the failure. It halts; the other threads continue.
    Fail(u32),
    /// The thread has ended.
    End,
}

/// A question about unknown values, and its outcome in an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The identifier of the question, which the program chooses.
    pub question: u32,
    /// The outcome, as a number that the program chooses; it fits into 32 bits.
    pub outcome: Value,
}

/// The effect of an update or await, given the value that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Writes nothing: a compare-exchange that fails, an await that is satisfied.
    Keep,
    /// Writes this value.
    Write(Value),
    /// Waits for another value.
    Wait,
}

/// An access that a thread has made in an earlier run, and its answer.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    kind: Kind,
    /// The location, the joined thread, or whatever else distinguishes two actions of a kind.
    place: Loc,
    /// The answer.
    pub value: Value,
}

impl Known {
    #[inline]
    pub(crate) fn new(event: &Event, value: Value) -> Self {
        Self {
            kind: event.kind,
            place: event.loc,
            value,
        }
    }

    /// Whether the access is an update that has written. For such an access [`Program::modify`]
    /// must be called first, to compute the written value.
    #[inline]
    pub fn is_written_update(&self) -> bool {
        self.kind == Kind::UpdateWrite
    }

    /// Whether an action makes this access. The thread that a spawn starts is not compared: it
    /// follows from the number of threads started before.
    #[inline]
    pub fn fits(&self, action: Action) -> bool {
        let (is_kind, place) = match (action, self.kind) {
            (Action::Read { loc, .. }, kind) => (kind == Kind::Load, loc),
            (Action::Write { loc, .. }, kind) => (kind == Kind::Store, loc),
            (Action::Update { loc, .. }, kind) => {
                let update = kind == Kind::UpdateRead || kind == Kind::UpdateWrite;
                let other = kind == Kind::FailedUpdate || kind == Kind::Stuck;
                (update || other, loc)
            }
            (Action::Await { loc, .. }, kind) => (kind == Kind::Await || kind == Kind::Stuck, loc),
            (Action::Lock { loc }, kind) => {
                (kind == Kind::LockRead || kind == Kind::LockWrite, loc)
            }
            (Action::Unlock { loc }, kind) => (kind == Kind::Unlock, loc),
            (Action::Fence { .. }, kind) => (kind == Kind::Fence, self.place),
            (Action::Spawn { .. }, kind) => (kind == Kind::Spawn, self.place),
            (Action::Join { child }, kind) => (kind == Kind::Join, Loc(child.0)),
            (Action::Choice { outcomes }, kind) => (kind == Kind::Choice, Loc(outcomes)),
            (Action::Decide { question }, kind) => (kind == Kind::Decision, Loc(question)),
            (Action::Discard | Action::Fail(_) | Action::End, _) => (false, self.place),
        };
        is_kind && place == self.place
    }
}

/// A program, as the engine runs it. The documentation of the module describes the protocol.
///
/// ```
/// use mazurka_core::Limits;
/// use mazurka_memory::{Action, Effect, Loc, Memory, MemoryOrder, Program, ThreadId, Value};
///
/// /// Each thread adds 1 to one location.
/// struct Increments(Vec<bool>);
///
/// impl Program for Increments {
///     const INDEPENDENT: bool = true;
///     fn initial_threads(&self) -> u32 {
///         self.0.len() as u32
///     }
///     fn pending(&mut self, thread: ThreadId) -> Action {
///         let order = MemoryOrder::Relaxed;
///         match self.0[thread.index()] {
///             true => Action::End,
///             false => Action::Update { loc: Loc(0), order, failure: order },
///         }
///     }
///     fn modify(&mut self, _: ThreadId, read: Value) -> Effect {
///         Effect::Write(read + 1)
///     }
///     fn answer(&mut self, thread: ThreadId, _: Value) {
///         self.0[thread.index()] = true;
///     }
///     fn rewind(&mut self, answers: &mut [u32]) {
///         for (done, answers) in self.0.iter_mut().zip(answers) {
///             *done = *answers > 0;
///         }
///     }
/// }
///
/// let program = Increments(vec![false; 4]);
/// let found = mazurka_memory::explore(program, Memory::Rc11, &Limits::default());
/// assert_eq!(found.counts.complete, 24);
/// ```
pub trait Program {
    /// Whether threads share nothing except through the engine, so that different threads may be
    /// answered in any order.
    const INDEPENDENT: bool = false;

    /// Whether a thread that is started gets its number when the program first meets it, so that
    /// another instance of the program may number threads differently. A schedule then numbers them
    /// in the order of its own steps.
    const NUMBERED_AS_MET: bool = false;

    /// Whether a decision belongs to the access of its thread before it, as local work does. Then a
    /// discard after the decision also discards everything after that access, and a schedule to the
    /// access includes the decisions that follow it.
    const DECIDES_LOCALLY: bool = false;

    /// Returns the number of threads that run from the start: those with the least numbers.
    fn initial_threads(&self) -> u32;

    /// Returns the initial value of a location.
    fn initial_value(&self, _loc: Loc) -> Value {
        0
    }

    /// Returns the next action of a thread.
    fn pending(&mut self, thread: ThreadId) -> Action;

    /// Returns the effect of the pending update or await of a thread if it reads this value.
    fn modify(&mut self, thread: ThreadId, read: Value) -> Effect;

    /// Returns the first outcome of a question that is possible together with the decisions in
    /// `made`, or the next one after `after`. The result must depend on nothing else.
    fn decide(
        &mut self,
        _made: &[Decision],
        _question: u32,
        _after: Option<Value>,
    ) -> Option<Value> {
        None
    }

    /// Makes the pending access of a thread.
    fn answer(&mut self, thread: ThreadId, value: Value);

    /// Makes the next accesses of a thread again, as in an earlier run. Real code may make them
    /// without a pause.
    fn answer_again(&mut self, thread: ThreadId, known: &[Known]) {
        for known in known {
            if !known.fits(self.pending(thread)) {
                return self.differs(thread);
            }
            if known.is_written_update() {
                self.modify(thread, known.value);
            }
            self.answer(thread, known.value);
        }
    }

    /// Returns the number of a reason if the program has noticed that its executions are
    /// meaningless, for example because it does something unsupported. This ends the search. The
    /// program defines the numbers.
    fn gives_up(&self) -> Option<u32> {
        None
    }

    /// Called when the run is about to be taken back, perhaps before its end. A program whose
    /// threads own resources may let the threads continue without the engine, so that they release
    /// the resources. For each location that has been written, `last` is the value of the last of
    /// these writes in mo: reading it keeps the execution consistent. Not called after a race,
    /// because further steps would be meaningless.
    fn leave(&mut self, _last: &[Option<Value>]) {}

    /// Takes each thread back to the point at which it had this many answers. The program may go
    /// back further; then it sets `answers` to the numbers that each thread has kept.
    fn rewind(&mut self, answers: &mut [u32]);

    /// Called when a thread that is answered again has another action than before. A program that
    /// then [gives up](Self::gives_up) may return.
    fn differs(&mut self, thread: ThreadId) {
        self.diverged(thread)
    }

    /// Reports that a thread that is answered again has another action than before, which means
    /// that the program depends on more than its answers. Independent threads are not checked.
    ///
    /// # Panics
    ///
    /// Always: the search cannot continue.
    fn diverged(&mut self, thread: ThreadId) -> ! {
        panic!("thread {thread} got the same answers and does something else than before")
    }
}

impl<P: Program> Program for &mut P {
    const INDEPENDENT: bool = P::INDEPENDENT;
    const NUMBERED_AS_MET: bool = P::NUMBERED_AS_MET;
    const DECIDES_LOCALLY: bool = P::DECIDES_LOCALLY;

    fn initial_threads(&self) -> u32 {
        (**self).initial_threads()
    }

    fn initial_value(&self, loc: Loc) -> Value {
        (**self).initial_value(loc)
    }

    fn pending(&mut self, thread: ThreadId) -> Action {
        (**self).pending(thread)
    }

    fn modify(&mut self, thread: ThreadId, read: Value) -> Effect {
        (**self).modify(thread, read)
    }

    fn decide(&mut self, made: &[Decision], question: u32, after: Option<Value>) -> Option<Value> {
        (**self).decide(made, question, after)
    }

    fn answer(&mut self, thread: ThreadId, value: Value) {
        (**self).answer(thread, value);
    }

    fn answer_again(&mut self, thread: ThreadId, known: &[Known]) {
        (**self).answer_again(thread, known);
    }

    fn gives_up(&self) -> Option<u32> {
        (**self).gives_up()
    }

    fn leave(&mut self, last: &[Option<Value>]) {
        (**self).leave(last);
    }

    fn rewind(&mut self, answers: &mut [u32]) {
        (**self).rewind(answers);
    }

    fn differs(&mut self, thread: ThreadId) {
        (**self).differs(thread)
    }

    fn diverged(&mut self, thread: ThreadId) -> ! {
        (**self).diverged(thread)
    }
}
