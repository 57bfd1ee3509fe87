//! What a program is to the graph engine: threads that make one memory access at a time.
//!
//! The engine never sees instructions. It asks a thread what it wants to do next
//! ([`Program::pending`]), decides which value that gives, and hands the value over
//! ([`Program::answer`]). A thread may do any local work in between. What a thread does depends on
//! its answers alone, so a list of answers names a state of it.
//!
//! The protocol:
//! 1. `pending(t)` is asked for threads that have started: the first
//!    [`initial_threads`](Program::initial_threads), and those that a spawn has started.
//! 2. `modify(t, v)` is asked only while an update or an await is pending. It changes nothing that
//!    the engine could see. Where threads are not independent, an update that has read is asked
//!    last with the value that it read, and all writes that the engine knows have been announced
//!    by `pending` or `modify` since the last `rewind`. So a value may be the name of a write, and
//!    the program keeps what was written, as real code must, whose pointers differ in each run.
//! 3. `answer(t, v)` makes the pending access of thread `t`. Accesses of different threads are
//!    answered in an order that extends po ∪ rf, so plain memory of real code holds the values that
//!    race-free code expects. Threads that share nothing but what the engine knows say so with
//!    [`INDEPENDENT`](Program::INDEPENDENT), and the engine answers them in any order.
//!    Accesses that a thread has made in an earlier run come as a list
//!    ([`answer_again`](Program::answer_again)), so that real code need not be left in between.
//! 4. `rewind(answers)` takes threads back. A program that can only be run from the start sets all
//!    numbers to 0 and is answered again.

pub use mazurka_core::MemoryOrder;

use crate::graph::{Event, Kind};

/// A value of a location: numbers, or the bits of what real code keeps there.
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
    /// The number as an index.
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

/// A location of shared memory, or a lock. Numbered like threads.
///
/// ```
/// assert_eq!(mazurka_memory::Loc(7).index(), 7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loc(pub u32);

impl Loc {
    /// The number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a thread wants to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reads; the answer is the value.
    Read {
        /// From here.
        loc: Loc,
        /// So ordered.
        order: MemoryOrder,
    },
    /// Writes a value.
    Write {
        /// To here.
        loc: Loc,
        /// So ordered.
        order: MemoryOrder,
        /// This value.
        value: Value,
    },
    /// Reads and, as [`Program::modify`] says, writes at once; the answer is the value read.
    Update {
        /// Here.
        loc: Loc,
        /// The order if it writes.
        order: MemoryOrder,
        /// The order if it does not: a compare-exchange that fails is a read.
        failure: MemoryOrder,
    },
    /// Reads a value for which [`Program::modify`] does not say [`Effect::Wait`], as a loop that
    /// spins would; the answer is the value.
    Await {
        /// From here.
        loc: Loc,
        /// So ordered.
        order: MemoryOrder,
    },
    /// Acquires a lock. Locks have locations of their own, which are 0 while free and 1 while held.
    /// An attempt that does not wait is an update that exchanges 0 for 1.
    Lock {
        /// The lock.
        loc: Loc,
    },
    /// Releases a lock that the thread holds. Where threads release what others hold, as with a
    /// semaphore, use an update that waits, and a write.
    Unlock {
        /// The lock.
        loc: Loc,
    },
    /// A fence.
    Fence {
        /// So ordered.
        order: MemoryOrder,
    },
    /// Starts a thread.
    Spawn {
        /// This one, which is started once in an execution.
        child: ThreadId,
    },
    /// Waits for the end of a thread.
    Join {
        /// This one.
        child: ThreadId,
    },
    /// Chooses; the answer is a number below `outcomes`.
    Choice {
        /// How many there are to choose from, at least 1.
        outcomes: u32,
    },
    /// Decides a question about values that are not known; the answer is one of its outcomes, which
    /// [`Program::decide`] gives.
    Decide {
        /// The program's number of the question.
        question: u32,
    },
    /// Met a false assumption: the execution does not count.
    Discard,
    /// Met a failure, which the program numbers. The thread halts, others go on.
    Fail(u32),
    /// Has ended.
    End,
}

/// A question about values that are not known, and its outcome in an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The program's number of the question.
    pub question: u32,
    /// The program's number of the outcome, which fits into 32 bits.
    pub outcome: Value,
}

/// What an update does with the value that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Writes nothing: a compare-exchange that fails, an await that is satisfied.
    Keep,
    /// Writes this.
    Write(Value),
    /// Waits for another value.
    Wait,
}

/// An access that a thread has made in an earlier run, and its answer.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    kind: Kind,
    /// The location, the thread that is joined, or what else tells two actions of a kind apart.
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

    /// Whether the access has written what [`Program::modify`] says, which is asked before.
    #[inline]
    pub fn is_written_update(&self) -> bool {
        self.kind == Kind::UpdateWrite
    }

    /// Whether an action makes this access. Which thread is started follows from how many were
    /// started before.
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

/// A program, as the engine runs it. The module's documentation tells the protocol.
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
    /// Whether threads share nothing but what goes through the engine, so that the order in which
    /// different threads are answered does not matter.
    const INDEPENDENT: bool = false;

    /// Whether a thread that is started gets its number when the program meets it for the first
    /// time, so that another program of the same kind may number threads otherwise. A schedule then
    /// numbers them in the order of its own steps.
    const NUMBERED_AS_MET: bool = false;

    /// Whether a decision belongs to the access of its thread before it, as local work does: what
    /// is discarded there is discarded with everything after that access, and a schedule to the
    /// access has the decisions that follow it.
    const DECIDES_LOCALLY: bool = false;

    /// How many threads run from the start: those with the least numbers.
    fn initial_threads(&self) -> u32;

    /// The value of a location before any write.
    fn initial_value(&self, _loc: Loc) -> Value {
        0
    }

    /// What a thread wants to do next.
    fn pending(&mut self, thread: ThreadId) -> Action;

    /// What the pending update or await of a thread does if it reads this.
    fn modify(&mut self, thread: ThreadId, read: Value) -> Effect;

    /// The first outcome of a question that some values have for which all decisions of `made` have
    /// theirs; or the next one after `after`. It depends on nothing else.
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

    /// Makes the next accesses of a thread as it has made them in an earlier run. Real code may
    /// make them without a pause.
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

    /// Why the program has no executions after all, as a number of its own, if it has noticed that.
    /// It ends the search.
    fn gives_up(&self) -> Option<u32> {
        None
    }

    /// The run is about to be taken back, perhaps before its end. A program whose threads own
    /// something may let them go on by itself, so that they give it back. `last` is the value of
    /// the last write in mo among those made, of each location that has one: who reads it stays
    /// consistent. It is not called where a race was met, since what comes then means nothing.
    fn leave(&mut self, _last: &[Option<Value>]) {}

    /// Takes each thread back to where it had so many answers. It may go back further, and then
    /// says in `answers` how many each has kept.
    fn rewind(&mut self, answers: &mut [u32]);

    /// A thread that is answered again wants to do something else than before. A program that
    /// [gives up](Self::gives_up) then may return.
    fn differs(&mut self, thread: ThreadId) {
        self.diverged(thread)
    }

    /// A thread that is answered again wants to do something else than before, so the program
    /// depends on more than its answers. Threads that are independent are not looked at.
    ///
    /// # Panics
    ///
    /// Always: the search cannot go on.
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
