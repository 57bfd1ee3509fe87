//! The state that the threads of one execution share with their scheduler.
//!
//! A thread is a coroutine. Before it touches anything shared it announces its next operation
//! ([`World::turn`]) and is suspended. When resumed, it performs the operation and runs to the next
//! announcement. So a step is one operation and the local work after it. Everything here belongs to
//! one execution. Some of it is kept for the next execution because making it again would cost
//! more; the `epoch`, which identifies the execution, shows which entries are current.
//!
//! A *cell* is the index of a shared object in one execution. The accesses of events refer to
//! cells, and [`CellState`] is the state of the object.
//!
//! A thread waits in one of three ways, none of which needs a guard:
//! - a mutex is a lock of its own ([`Until::Lock`]);
//! - joining waits for the end of a thread ([`Until::Ended`]);
//! - every other wait is two steps. The thread first *enlists* with the cell it waits for, which is
//!   an ordinary access to the cell. Then it waits for its *token* ([`Until::Token`]), a lock that
//!   only this thread takes and that the waking thread releases. The second step races with
//!   nothing, since it can only come after the step that released the token. All races are between
//!   enlisting and waking.
//!
//! Only `RwLock`, which several threads may hold, needs guarded steps ([`Until::Read`],
//! [`Until::Write`], [`Until::Fair`]).

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::ptr;

use corosensei::Yielder;
use mazurka_core::{Access, AccessKind, Claims, Mishap, Outcome, ProcessId, Random, Status, Wait};

use mazurka_memory::{Memory, MemoryOrder};

use crate::alloc::Watched;
use crate::clock::Clocks;
use crate::fair::LockMode;
use crate::freed::{End, Freed, LastUse};
use crate::local::Locals;
use crate::loops::Loops;
use crate::names::{Meta, Names};
use crate::spin::{Repetition, Spin};
use crate::spurious::SpuriousEvents;
use crate::statics::Twins;
use crate::trap::Watch;
use crate::weak::{Chosen, EngineState, Readers};

/// A location in the user's source.
pub(crate) type Place = &'static Location<'static>;

/// Why a coroutine yields to the scheduler.
pub(crate) enum Request {
    /// The thread waits for its turn to perform the operation that it has announced.
    Turn,
    /// A new thread is to start.
    Spawn(Start),
}

/// A thread to start.
pub(crate) struct Start {
    pub body: Box<dyn FnOnce()>,
    pub name: Option<Box<str>>,
    pub stack: Option<usize>,
    pub place: Place,
}

/// What a waiting thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// The thread does not wait.
    Now,
    /// A lock becomes free.
    Lock(u32),
    /// Another thread gives it its token.
    Token,
    /// Another thread changes a cell it spins on, or no other thread can make a step.
    Spin,
    /// The end of a thread.
    Ended(ProcessId),
    /// The flag of a message of a channel is set: the message has arrived, or will never arrive.
    Flag(u32),
    /// No writer holds the `RwLock`.
    Read(u32),
    /// No reader and no writer holds the `RwLock`.
    Write(u32),
    /// A fair lock can be taken in this mode (fair.rs).
    Fair(u32, LockMode),
}

/// The kinds of changes of a cell that may wake a waiting thread, as bits of a set.
pub(crate) mod wakes {
    /// The content of the cell changes.
    pub const CONTENT: u8 = 1;
    /// The cell is locked or unlocked.
    pub const STATE: u8 = 2;
    /// A notification.
    pub const NOTIFY: u8 = 4;
    /// There is a message to receive.
    pub const RECEIVE: u8 = 8;
    /// There is room for a message to send.
    pub const SEND: u8 = 16;
}

/// The operation that a thread has announced.
///
/// For explorers, it says whether the thread is ready (`until`) and which accesses its next step
/// claims. For reports, it says what the step does and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    /// The first access of the operation.
    pub access: Option<Access>,
    /// A second access, if there is one.
    pub second: Option<Access>,
    /// The changes of the first cell that the operation may make; it may wake threads that
    /// wait for them.
    pub wakes: u8,
    /// What the thread waits for before it can perform the operation.
    pub until: Until,
    /// Whether the operation reads again every cell in `Spin::watched`.
    pub watches: bool,
    /// The channel whose next message flag the operation may set by sending.
    pub sends: Option<u32>,
    /// The channel whose last sender the operation may drop, which sets the flag of its next
    /// message.
    pub drops: Option<u32>,
    /// The type of the object and the operation, for reports.
    pub what: (&'static str, &'static str),
    pub place: Place,
}

impl Pending {
    #[inline]
    pub fn new(access: Option<Access>, what: (&'static str, &'static str), place: Place) -> Self {
        Self {
            access,
            second: None,
            wakes: 0,
            until: Until::Now,
            watches: false,
            sends: None,
            drops: None,
            what,
            place,
        }
    }

    /// Makes an operation that reads a cell.
    #[inline]
    pub fn read(cell: u32, what: (&'static str, &'static str), place: Place) -> Self {
        Self::new(Some(Access::read(cell)), what, place)
    }

    /// Makes an operation that changes the content of a cell.
    #[inline]
    pub fn write(cell: u32, what: (&'static str, &'static str), place: Place) -> Self {
        Self {
            wakes: wakes::CONTENT,
            ..Self::new(Some(Access::write(cell)), what, place)
        }
    }

    /// Makes an operation that uses a cell as a lock.
    pub fn lock(
        kind: AccessKind,
        cell: u32,
        what: (&'static str, &'static str),
        place: Place,
    ) -> Self {
        Self::new(Some(Access::new(kind, cell)), what, place)
    }
}

/// Whether a thread has started, and how it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Unborn,
    Alive,
    Ended,
    /// The thread is the main thread and has panicked, or it has used a dropped object (freed.rs).
    Failed,
    /// The thread has stopped for good and keeps what it holds (progress.rs).
    Stopped,
    /// The thread has made more decisions about inputs than `max_decisions` allows, and is stopped.
    #[cfg(feature = "symbolic")]
    Lost,
}

/// The scheduler's view of one thread.
pub(crate) struct ThreadState {
    pub life: Life,
    pub pending: Pending,
    /// Suspends the coroutine of this thread.
    pub yielder: *const Yielder<(), Request>,
    /// Number of its steps.
    pub steps: u32,
    /// Number of threads that it has started.
    pub children: u32,
    /// Whether it waits for its token.
    pub awaiting: bool,
    /// Whether it has its token.
    pub token: bool,
    /// Whether a notification, rather than another change, gave it the token.
    pub notified: bool,
    /// Its cells, at the indices `TOKEN`, `ARBITER` (which possible wakers write, see spin.rs),
    /// `PERMIT` (of `park`) and `END`. They are the same in every execution.
    pub cells: [u32; 4],
    pub spin: Spin,
    pub repetition: Repetition,
    /// Number of spurious events that it has met, by kind.
    pub spurious: [u32; 3],
    pub name: Option<Box<str>>,
    pub started: Place,
    /// Whether it has panicked and no other thread has joined it since.
    pub panicked: bool,
    /// Whether it is unwinding, as recorded by the panic hook and the end of the thread (see
    /// `is_unwinding`).
    pub unwinding: bool,
    /// Index of its last panic in `Inner::failures`, if it has panicked.
    pub failure: Option<u32>,
    /// Index of the panic of the last thread that it has joined, if that one panicked.
    pub learned: Option<u32>,
    pub locals: Locals,
    /// Whether it unwinds because its execution is abandoned.
    pub leaving: bool,
    /// Its own time in `EngineState::spawn_join_clock` when it ended.
    pub ended: u32,
    /// The address of the `Arc` whose value it destroys, if in another order of drops another
    /// thread would have destroyed the value.
    pub destroys: Option<usize>,
    /// Number of the running destructors that our own `Arc` has called (std_arc.rs).
    pub seen_destructors: u32,
    /// The lowest address of its stack, and the one after the highest.
    pub stack: (usize, usize),
    /// Its requests to the graph engine, under a memory model, and its clock of spawn and join.
    pub engine: EngineState,
    /// Set if it may stop for good at any step (progress.rs): the place of the call that requires
    /// this.
    pub stops: Option<Place>,
}

/// Indices into `ThreadState::cells`.
pub(crate) const TOKEN: usize = 0;
pub(crate) const ARBITER: usize = 1;
pub(crate) const PERMIT: usize = 2;
pub(crate) const END: usize = 3;

/// A thread that waits for a change of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiter {
    pub thread: u32,
    /// The index (`Spin::round`) of the wait that this entry belongs to. If the thread has started
    /// a later wait, the entry is stale.
    pub round: u32,
    pub wakes: u8,
    /// Whether the thread waits for changes of other cells, too.
    pub several: bool,
}

/// The scheduler's view of a shared object.
///
/// The cell of the object is the index of its state in `Inner::cells`; names.rs explains how
/// objects get their cells. The kind of the object decides which fields are in use.
#[derive(Default)]
pub(crate) struct CellState {
    /// The thread that holds it as a lock, and where the thread took it.
    pub holder: Option<(ProcessId, Place)>,
    /// The threads that hold it for reading, and where they took it.
    pub readers: Vec<(ProcessId, Place)>,
    /// A flag and a number, whose meaning depends on the kind of the object.
    pub flag: u8,
    pub count: u32,
    /// Number of changes of its content, and of its state (for a lock: whether it is held).
    pub changes: [u32; 2],
    pub waiters: Vec<Waiter>,
    /// The registry that a thread must write before it first uses this object, if there is one.
    pub registry: Option<u32>,
    /// The threads that have written the registry for this object.
    pub users: Vec<ProcessId>,
    /// The value of its location before any write, under a memory model.
    pub initial: i64,
    /// Its last use by each thread, and its drop.
    pub uses: Vec<LastUse>,
    pub end: Option<End>,
    /// Its type and where it was made, for reports.
    pub kind: &'static str,
    pub made: Option<Place>,
}

/// The effects of the current step so far.
#[derive(Default)]
pub(crate) struct StepEffects {
    /// The values that its choices must take, in order, as far as they are prescribed.
    pub wanted: Vec<i64>,
    /// The choices that it has made.
    pub outcomes: Vec<Outcome>,
    /// Locks that were taken or released besides the announced access.
    pub touched: Claims,
    /// Whether the step did not take the lock that it tried to take.
    pub untouched: bool,
    pub joined: Vec<ProcessId>,
    pub spawned: Vec<ProcessId>,
    pub mishaps: Vec<Mishap>,
    /// The thread that made the other access of a data race.
    pub races_with: Option<ProcessId>,
    /// What happened, in words, if steps are recorded.
    pub notes: Vec<String>,
    /// The operation that the step performs, as it was announced.
    pub made: Option<Pending>,
    /// The panic that ended the step.
    pub panic: Option<Failure>,
}

/// A panic of the user's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub message: String,
    pub place: String,
}

/// The state of an execution, without its coroutines.
pub(crate) struct Inner {
    /// Identifies the execution; greater than that of every earlier execution.
    pub epoch: u64,
    pub current: ProcessId,
    /// Whether the steps of the execution have begun; false while the threads run to their first
    /// operations.
    pub in_step: bool,
    pub threads: Vec<ThreadState>,
    /// Number of threads that have started and not ended.
    pub alive: usize,
    /// If the execution is abandoned and its threads are unwound, the number of steps that are left
    /// for this; otherwise `None`.
    pub given_up: Option<u32>,
    /// Number of threads that are unwinding.
    pub unwinding: usize,
    /// Whether the real thread was panicking before the execution started.
    pub real_panic: bool,
    pub cells: Vec<CellState>,
    pub names: Names,
    pub effects: StepEffects,
    pub recording: bool,
    pub clocks: Clocks,
    /// The failures found so far, without repetition.
    pub failures: Vec<Failure>,
    /// Whether the run has shown a fact that the search must know from its start (facts.rs).
    pub restart: bool,
    /// Whether the end of a thread is a step, because the program uses `is_finished`.
    pub watched_ends: bool,
    /// Whether some steps are guarded.
    pub guarded: bool,
    /// The knowledge about `RwLock`s, under a memory model.
    pub readers: Readers,
    /// Whether the program has used an ordering weaker than sequential consistency.
    pub weak: bool,
    /// The orderings to use in place of the program's, in a search for better ones under
    /// a memory model.
    pub chosen: Option<Chosen>,
    /// What the program did that cannot be explored under a memory model.
    pub refused: Option<String>,
    /// Whether a thread was suspended as spinning.
    pub spun: bool,
    /// Whether a thread has used a shared object of this crate, in any execution.
    pub shared: bool,
    /// Whether a spinning thread runs alone, to find out whether it gives up (loops.rs).
    pub probing: bool,
    /// The source of random choices, if schedules are random.
    pub random_choices: Option<Random>,
    /// Number of futile rounds (spin.rs) that a thread may make before it is suspended.
    pub spins: u32,
    pub loops: Loops,
    pub spurious: SpuriousEvents,
    pub watched: Watched,
    pub freed: Freed,
    #[cfg(feature = "symbolic")]
    pub unknowns: crate::unknowns::Unknowns,
}

/// The state that threads and scheduler share. Each model has one world.
///
/// A thread-local variable points to the world while one of its coroutines runs. This is how the
/// operations of `sync` and `thread` find it (`world()`); outside a model there is none.
pub(crate) struct World {
    /// The memory model that answers accesses, if any (weak/mod.rs).
    pub memory: Option<Memory>,
    pub inner: RefCell<Inner>,
    pub twins: Twins,
    pub watch: Watch,
    /// Whether the allocator reports blocks.
    pub records_blocks: Cell<bool>,
}

thread_local! {
    static CURRENT: Cell<*const World> = const { Cell::new(ptr::null()) };
}

/// Returns the world of the current thread, if it is a thread of a model.
#[inline]
pub(crate) fn world() -> Option<&'static World> {
    let world = CURRENT.get();
    // SAFETY: the scheduler sets the pointer while a coroutine runs and clears it before the world
    // can go away (`entered`); nothing keeps the reference beyond an operation, and abandoned
    // coroutines are never resumed.
    #[allow(unsafe_code)]
    unsafe {
        world.as_ref()
    }
}

/// Runs a function with this world as the current one.
pub(crate) fn entered<R>(world: *const World, run: impl FnOnce() -> R) -> R {
    struct Reset(*const World);
    impl Drop for Reset {
        fn drop(&mut self) {
            CURRENT.with(|current| current.set(self.0));
        }
    }
    let _reset = Reset(CURRENT.with(|current| current.replace(world)));
    run()
}

impl World {
    /// Returns the cell of an object. If the object has no name yet, naming it may take a step
    /// (names.rs).
    #[inline]
    pub fn cell(&self, meta: &Meta, kind: &'static str) -> u32 {
        let meta = self.here(meta);
        let found = self.inner.borrow_mut().find(meta, kind);
        found.unwrap_or_else(|registry| self.name(meta, kind, registry))
    }

    #[cold]
    fn name(&self, meta: &Meta, kind: &'static str, registry: u32) -> u32 {
        let what = (kind, "first use");
        let pending = Pending::new(Some(Access::write(registry)), what, meta.made());
        match self.memory {
            None => self.turn(pending),
            Some(_) => self.take_turn(registry, MemoryOrder::Relaxed, pending),
        }
        self.inner.borrow_mut().resolve(meta, kind)
    }

    /// Announces the next operation of the current thread and waits for its turn.
    #[inline]
    pub fn turn(&self, pending: Pending) {
        if self.memory.is_some() {
            let (kind, verb) = pending.what;
            self.refuse(format!("`{verb}` of {kind}, at {}", pending.place));
        }
        self.suspend(pending);
    }

    /// Suspends the current thread, which has announced its next operation.
    #[inline]
    pub fn suspend(&self, pending: Pending) {
        let (given_up, stops) = {
            let inner = self.inner.borrow();
            let stops = inner.threads[inner.current.index()].stops;
            (inner.given_up.is_some(), stops)
        };
        if given_up {
            return self.last_step(pending);
        }
        if let Some(place) = stops {
            self.may_stop(place);
        }
        let yielder = self.announce(pending);
        // SAFETY: the yielder lives on the stack of the coroutine that this is called from.
        #[allow(unsafe_code)]
        unsafe {
            (*yielder).suspend(Request::Turn);
        }
        if self.inner.borrow().given_up.is_some() {
            return self.leave(pending);
        }
        self.uses(pending);
    }

    /// Announces the next operation of the current thread.
    #[inline]
    fn announce(&self, pending: Pending) -> *const Yielder<(), Request> {
        let mut inner = self.inner.borrow_mut();
        inner.is_unwinding();
        let thread = inner.me();
        thread.pending = pending;
        let (yielder, destroys) = (thread.yielder, thread.destroys);
        inner.count_repetition(self.memory.is_some());
        if let Some(at) = destroys {
            drop(inner);
            self.destruction_matters(at);
        }
        yielder
    }

    /// Records that the current thread uses the object of its operation. If the object was dropped,
    /// the thread stops for good.
    #[inline]
    fn uses(&self, pending: Pending) {
        if let Some(access) = pending.access
            && !self.inner.borrow_mut().uses_cell(access.first, &pending)
        {
            self.suspend_for_ever();
        }
    }

    /// Announces and performs an operation of the current thread without suspending it, as a part
    /// of the current step.
    #[inline]
    pub fn step_on(&self, pending: Pending) {
        self.announce(pending);
        self.watch.step();
        {
            let mut inner = self.inner.borrow_mut();
            let current = inner.current;
            inner.begin_step(current, &[]);
        }
        self.uses(pending);
    }

    /// Suspends the current thread for good.
    pub fn suspend_for_ever(&self) -> ! {
        let yielder = self.inner.borrow_mut().me().yielder;
        loop {
            // SAFETY: as in `suspend`.
            #[allow(unsafe_code)]
            unsafe {
                (*yielder).suspend(Request::Turn);
            }
        }
    }

    /// Starts a thread, runs it up to its first operation, and returns its number.
    pub fn spawn(&self, start: Start) -> ProcessId {
        if self.memory.is_some() {
            self.before_spawn(Pending::new(None, ("thread", "spawn"), start.place));
        }
        if self.inner.borrow().given_up.is_some() {
            self.suspend_for_ever();
        }
        let yielder = {
            let mut inner = self.inner.borrow_mut();
            inner.is_unwinding();
            inner.me().yielder
        };
        // SAFETY: as in `suspend`.
        #[allow(unsafe_code)]
        unsafe {
            (*yielder).suspend(Request::Spawn(start));
        }
        let inner = self.inner.borrow();
        inner.names.last_child
    }

    /// Adds words to the description of the current step.
    #[inline]
    pub fn note(&self, words: impl FnOnce() -> String) {
        let mut inner = self.inner.borrow_mut();
        if inner.recording {
            let words = words();
            inner.effects.notes.push(words);
        }
    }

    /// Chooses a value from `start` up to, but not including, `end`.
    pub fn choose(&self, start: i64, end: i64, place: Place) -> i64 {
        let pending = Pending::new(None, ("", "choose"), place);
        let value = match self.memory {
            None => {
                self.turn(pending);
                self.inner.borrow_mut().outcome(start, end)
            }
            Some(_) => match u32::try_from(end - start) {
                Ok(outcomes) => start + i64::from(self.choice(outcomes, pending)),
                Err(_) => self.refuse(format!("a choice of {} values, at {place}", end - start)),
            },
        };
        self.note(|| format!("chose {value}"));
        value
    }
}

impl Inner {
    /// Returns the current thread.
    #[inline]
    pub fn me(&mut self) -> &mut ThreadState {
        &mut self.threads[self.current.index()]
    }

    pub fn has_token(&self, thread: ProcessId) -> bool {
        self.threads[thread.index()].token
    }

    /// Whether the condition that a thread waits for holds.
    #[inline]
    pub fn possible(&self, thread: ProcessId, until: Until) -> bool {
        match until {
            Until::Now => true,
            Until::Lock(cell) => self.cells[cell as usize].holder.is_none(),
            Until::Token => self.has_token(thread),
            Until::Spin => self.has_token(thread) || self.is_released(thread),
            Until::Ended(other) => {
                matches!(self.threads[other.index()].life, Life::Ended | Life::Failed)
            }
            Until::Flag(cell) => self.cells[cell as usize].flag != 0,
            Until::Read(cell) => self.cells[cell as usize].holder.is_none(),
            Until::Write(cell) => {
                let cell = &self.cells[cell as usize];
                cell.holder.is_none() && cell.readers.is_empty()
            }
            Until::Fair(cell, wish) => self.held(cell).allows(wish),
        }
    }

    #[inline]
    pub fn status(&self, process: ProcessId) -> Status {
        let Some(thread) = self.threads.get(process.index()) else {
            return Status::Unborn;
        };
        match thread.life {
            Life::Unborn => Status::Unborn,
            Life::Ended | Life::Stopped => Status::Ended,
            Life::Failed => Status::Failed,
            #[cfg(feature = "symbolic")]
            Life::Lost => Status::Lost,
            Life::Alive => {
                if self.possible(process, thread.pending.until) {
                    Status::Ready
                } else {
                    Status::Waiting
                }
            }
        }
    }

    pub fn wait(&self, process: ProcessId) -> Wait {
        match self.threads[process.index()].pending.until {
            Until::Now => Wait::Never,
            Until::Lock(_) | Until::Token | Until::Flag(_) => Wait::Lock,
            Until::Spin if self.has_token(process) => Wait::Lock,
            Until::Spin if self.is_released(process) => Wait::Process,
            Until::Spin => Wait::Lock,
            Until::Ended(_) => Wait::Process,
            Until::Read(_) | Until::Write(_) | Until::Fair(..) => Wait::Guard,
        }
    }

    /// Collects the accesses that the next step of a thread claims.
    #[inline]
    pub fn claims(&self, process: ProcessId, into: &mut Claims) {
        into.clear();
        let pending = &self.threads[process.index()].pending;
        if pending.until == Until::Spin && self.wait(process) == Wait::Process {
            return;
        }
        self.claims_of(pending, process, into);
    }

    #[inline]
    fn claims_of(&self, pending: &Pending, process: ProcessId, into: &mut Claims) {
        into.extend(pending.access);
        into.extend(pending.second);
        if pending.watches {
            self.claim_watched(process, into);
        }
        if let Some(channel) = pending.sends {
            self.claim_message(channel, into);
        }
        if let (Some(channel), Some(access)) = (pending.drops, pending.access)
            && self.cells[access.first as usize].count <= 1
        {
            self.claim_message(channel, into);
        }
        if pending.wakes != 0
            && let Some(access) = pending.access
        {
            self.claim_waiters(access.first, pending.wakes, process, into);
        }
    }

    /// Makes a choice in the current step: returns a number from `start` to `end - 1`.
    pub fn outcome(&mut self, start: i64, end: i64) -> i64 {
        let drawn = self.random_choices.as_mut().map(|random| {
            let width = (end - start) as u64;
            start + random.below(width) as i64
        });
        let value = self.effects.given().or(drawn).unwrap_or(start);
        let value = value.clamp(start, end - 1);
        self.effects.outcomes.push(Outcome { value, end });
        value
    }

    /// Returns the index of a failure in `failures`; equal failures share one.
    pub fn failure(&mut self, failure: Failure) -> u32 {
        let known = self.failures.iter().position(|known| *known == failure);
        known.unwrap_or_else(|| {
            self.failures.push(failure);
            self.failures.len() - 1
        }) as u32
    }

    /// Takes a lock for the current thread.
    pub fn take(&mut self, cell: u32, place: Place) {
        let current = self.current;
        let lock = &mut self.cells[cell as usize];
        debug_assert!(lock.holder.is_none(), "the scheduler gave a held lock");
        lock.holder = Some((current, place));
        let seen = lock.changes;
        self.me().spin.saw(cell, wakes::CONTENT, seen);
        self.clocks.acquire(current, cell);
    }

    /// Releases a lock of the current thread. `dirty` tells whether the protected data may have
    /// changed.
    pub fn give(&mut self, cell: u32, dirty: bool) {
        let current = self.current;
        self.clocks.release(current, cell);
        self.cells[cell as usize].holder = None;
        self.changed(cell, if dirty { 3 } else { wakes::STATE });
    }

    /// Records that the current thread has read a cell.
    #[inline]
    pub fn saw(&mut self, cell: u32, what: u8) {
        let seen = self.cells[cell as usize].changes;
        self.me().spin.saw(cell, what, seen);
    }

    /// Records that the current thread has changed a cell, and wakes the threads that wait for it.
    #[inline]
    pub fn changed(&mut self, cell: u32, what: u8) {
        let state = &mut self.cells[cell as usize];
        if what & wakes::CONTENT != 0 {
            state.changes[0] = state.changes[0].wrapping_add(1);
            self.threads[self.current.index()].spin.progress();
        }
        let state = &mut self.cells[cell as usize];
        if what & wakes::STATE != 0 {
            state.changes[1] = state.changes[1].wrapping_add(1);
        }
        if !state.waiters.is_empty() {
            self.wake_all(cell, what);
        }
    }
}
