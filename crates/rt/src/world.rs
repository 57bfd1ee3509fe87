//! What the threads of one execution share with their scheduler.
//!
//! A thread is a coroutine. Before it touches anything shared it says what it is going to do
//! ([`World::turn`]) and is suspended; when it is resumed it does that, and goes on to the next
//! such place. So a step is one operation and the local work after it. Everything here belongs to
//! one execution, or is kept for the next one because making it anew would cost more; a number of
//! the execution tells which.
//!
//! Waiting is done in one of three ways, none of which needs a guard:
//! - a mutex is a lock of its own ([`Until::Lock`]);
//! - joining waits for the end of a thread ([`Until::Ended`]);
//! - everybody else first *enlists* with the cell he waits for, which is an ordinary access to it,
//!   and then waits for his *token* ([`Until::Token`]): a lock that only he takes and that whoever
//!   wakes him gives back. That second step races with nothing, since it can only follow the one
//!   that woke him; the races are all between enlisting and waking.
//!
//! Only `RwLock`, which several may hold, waits for a condition ([`Until::Read`],
//! [`Until::Write`]).

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::ptr;

use corosensei::Yielder;
use mazurka_core::{Access, AccessKind, Claims, Mishap, Outcome, ProcessId, Random, Status, Wait};

use crate::clock::Clocks;
use crate::local::Locals;
use crate::names::{Meta, Names};
use crate::spin::Spin;

/// A place in the user's source.
pub(crate) type Place = &'static Location<'static>;

/// Why a coroutine gives up control.
pub(crate) enum Request {
    /// It waits for its turn to do what it has announced.
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
    /// Nothing.
    Now,
    /// A lock that nobody holds.
    Lock(u32),
    /// Somebody who wakes it.
    Token,
    /// Somebody who changes what it spins on, or that nobody else can go on.
    Spin,
    /// The end of a thread.
    Ended(ProcessId),
    /// A flag: a message is there, or will never be.
    Flag(u32),
    /// No writer holds it.
    Read(u32),
    /// Nobody holds it.
    Write(u32),
}

/// Which changes of a cell wake somebody; a set.
pub(crate) mod wakes {
    /// Its content.
    pub const CONTENT: u8 = 1;
    /// Whether it is locked.
    pub const STATE: u8 = 2;
    /// A notification.
    pub const NOTIFY: u8 = 4;
    /// That there is something to receive, and room for something to send.
    pub const RECEIVE: u8 = 8;
    pub const SEND: u8 = 16;
}

/// What a thread is going to do next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    /// What it touches first.
    pub access: Option<Access>,
    /// And what besides.
    pub second: Option<Access>,
    /// Those who wait for such a change of the first may be woken.
    pub wakes: u8,
    pub until: Until,
    /// It looks at everything again that it has looked at.
    pub watches: bool,
    /// It may set the flag of the next message of this channel.
    pub sends: Option<u32>,
    /// It may be the last sender of this channel, and set the same flag.
    pub drops: Option<u32>,
    /// The type of the object and the operation, for people.
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

    /// Reads a cell.
    #[inline]
    pub fn read(cell: u32, what: (&'static str, &'static str), place: Place) -> Self {
        Self::new(Some(Access::read(cell)), what, place)
    }

    /// Changes the content of a cell.
    #[inline]
    pub fn write(cell: u32, what: (&'static str, &'static str), place: Place) -> Self {
        Self {
            wakes: wakes::CONTENT,
            ..Self::new(Some(Access::write(cell)), what, place)
        }
    }

    /// Touches a cell as a lock.
    pub fn lock(
        kind: AccessKind,
        cell: u32,
        what: (&'static str, &'static str),
        place: Place,
    ) -> Self {
        Self::new(Some(Access::new(kind, cell)), what, place)
    }
}

/// How far a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Unborn,
    Alive,
    Ended,
    /// It panicked, and it was the main one.
    Failed,
    /// It has decided more about inputs than it may, and goes no further.
    #[cfg(feature = "symbolic")]
    Lost,
}

/// A thread.
pub(crate) struct ThreadState {
    pub life: Life,
    pub pending: Pending,
    /// How to suspend it.
    pub yielder: *const Yielder<(), Request>,
    pub steps: u32,
    /// How many threads it has started.
    pub children: u32,
    /// Whether it is to be woken, whether it has been, and whether by whom it waited for.
    pub awaiting: bool,
    pub token: bool,
    pub notified: bool,
    /// The token as a lock, the cell that those who could wake it compete for, the one of its park
    /// permit, and the one of its end. They are the same in every execution.
    pub cells: [u32; 4],
    pub spin: Spin,
    pub name: Option<Box<str>>,
    pub started: Place,
    /// Whether it panicked and nobody has been told.
    pub panicked: bool,
    /// Whether it unwinds, as far as is known.
    pub unwinding: bool,
    /// What it panicked with, last.
    pub failure: Option<u32>,
    pub locals: Locals,
}

/// The index in `ThreadState::cells`.
pub(crate) const TOKEN: usize = 0;
pub(crate) const ARBITER: usize = 1;
pub(crate) const PERMIT: usize = 2;
pub(crate) const END: usize = 3;

/// Somebody who waits for a change of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiter {
    pub thread: u32,
    /// For which of its waits; an older one is over.
    pub round: u32,
    pub wakes: u8,
    /// Whether it waits for other cells too.
    pub several: bool,
}

/// Something shared.
#[derive(Default)]
pub(crate) struct CellState {
    /// Who holds it as a lock, and since when.
    pub holder: Option<(ProcessId, Place)>,
    /// How many hold it for reading.
    pub readers: Vec<(ProcessId, Place)>,
    /// A flag and a number whose meaning is that of the object.
    pub flag: u8,
    pub count: u32,
    /// How often its content and its state have changed.
    pub changes: [u32; 2],
    pub waiters: Vec<Waiter>,
    /// The registry that a thread writes before it first uses this, if there is one, and the
    /// threads that have.
    pub registry: Option<u32>,
    pub users: Vec<ProcessId>,
    /// What it is and where it was made, for people.
    pub kind: &'static str,
    pub made: Option<Place>,
}

/// What the current step has done so far.
#[derive(Default)]
pub(crate) struct Deed {
    /// What it chooses, in order, and the values wanted.
    pub wanted: Vec<i64>,
    pub outcomes: Vec<Outcome>,
    /// Locks that were taken or given back besides what was announced.
    pub touched: Claims,
    /// It did not take the lock that it was after.
    pub untouched: bool,
    pub joined: Vec<ProcessId>,
    pub spawned: Vec<ProcessId>,
    pub mishaps: Vec<Mishap>,
    /// What happened, for people, if they want to know.
    pub notes: Vec<String>,
    /// What was announced, and a panic on the way.
    pub made: Option<Pending>,
    pub panic: Option<Failure>,
}

/// A panic of the user's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub message: String,
    pub place: String,
}

/// Everything but the coroutines.
pub(crate) struct Inner {
    /// The number of the execution.
    pub epoch: u64,
    pub current: ProcessId,
    /// Whether a step is being made; if not, the program is only being started.
    pub in_step: bool,
    pub threads: Vec<ThreadState>,
    pub alive: usize,
    /// How many threads unwind.
    pub unwinding: usize,
    /// Whether the real thread panics whatever those of the model do.
    pub real_panic: bool,
    pub cells: Vec<CellState>,
    pub names: Names,
    pub deed: Deed,
    pub recording: bool,
    pub clocks: Clocks,
    /// Failures met, each once.
    pub failures: Vec<Failure>,
    /// Something was learned that the search should have known from the start.
    pub restart: bool,
    /// Whether the end of a thread is a step of its own, because somebody asks for it.
    pub watched_ends: bool,
    /// Whether some steps wait for a condition.
    pub guarded: bool,
    /// Whether an ordering weaker than sequential consistency was asked for.
    pub weak: bool,
    /// Whether a thread was suspended as spinning.
    pub spun: bool,
    /// Choices are drawn from here.
    pub lottery: Option<Random>,
    /// How often a thread may spin in vain before it is suspended.
    pub spins: u32,
    #[cfg(feature = "symbolic")]
    pub unknowns: crate::unknowns::Unknowns,
}

/// What threads and scheduler share.
pub(crate) struct World {
    pub inner: RefCell<Inner>,
}

thread_local! {
    static CURRENT: Cell<*const World> = const { Cell::new(ptr::null()) };
}

/// The world that the current thread lives in, if it is one of a model.
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

/// Runs something as a part of a world.
pub(crate) fn entered<R>(world: *const World, run: impl FnOnce() -> R) -> R {
    struct Reset(*const World);
    impl Drop for Reset {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let _reset = Reset(CURRENT.replace(world));
    run()
}

impl World {
    /// The cell of an object. If the object has to be named, that is a step.
    #[inline]
    pub fn cell(&self, meta: &Meta, kind: &'static str) -> u32 {
        let found = self.inner.borrow_mut().find(meta, kind);
        found.unwrap_or_else(|registry| self.name(meta, kind, registry))
    }

    #[cold]
    fn name(&self, meta: &Meta, kind: &'static str, registry: u32) -> u32 {
        let what = (kind, "first use");
        self.turn(Pending::new(
            Some(Access::write(registry)),
            what,
            meta.made(),
        ));
        self.inner.borrow_mut().resolve(meta, kind)
    }

    /// Says what the current thread is going to do, and waits for its turn.
    #[inline]
    pub fn turn(&self, pending: Pending) {
        let yielder = {
            let mut inner = self.inner.borrow_mut();
            inner.is_unwinding();
            let thread = inner.me();
            thread.pending = pending;
            thread.yielder
        };
        // SAFETY: the yielder lives on the stack of the coroutine that this is called from.
        #[allow(unsafe_code)]
        unsafe {
            (*yielder).suspend(Request::Turn);
        }
    }

    /// Suspends the current thread for good.
    #[cfg(feature = "symbolic")]
    pub fn rest_for_ever(&self) -> ! {
        let yielder = self.inner.borrow_mut().me().yielder;
        loop {
            // SAFETY: as in `turn`.
            #[allow(unsafe_code)]
            unsafe {
                (*yielder).suspend(Request::Turn);
            }
        }
    }

    /// Starts a thread and runs it up to its first operation: its number.
    pub fn spawn(&self, start: Start) -> ProcessId {
        let yielder = {
            let mut inner = self.inner.borrow_mut();
            inner.is_unwinding();
            inner.me().yielder
        };
        // SAFETY: as in `turn`.
        #[allow(unsafe_code)]
        unsafe {
            (*yielder).suspend(Request::Spawn(start));
        }
        let inner = self.inner.borrow();
        inner.names.last_child
    }

    /// Adds words to what happens in the current step.
    #[inline]
    pub fn note(&self, words: impl FnOnce() -> String) {
        let mut inner = self.inner.borrow_mut();
        if inner.recording {
            let words = words();
            inner.deed.notes.push(words);
        }
    }

    /// Waits for the token, after having enlisted.
    pub fn wait_for_token(&self, what: (&'static str, &'static str), place: Place) {
        let cell = {
            let inner = self.inner.borrow();
            inner.threads[inner.current.index()].cells[TOKEN]
        };
        self.turn(Pending {
            until: Until::Token,
            ..Pending::lock(AccessKind::Acquire, cell, what, place)
        });
        self.inner.borrow_mut().take_token();
    }

    /// Waits until a permit is there, and takes it.
    pub fn take_permit(&self, cell: u32, what: (&'static str, &'static str), place: Place) {
        if !self.try_permit(cell, what, place) {
            self.wait_for_token(what, place);
            let mut inner = self.inner.borrow_mut();
            let current = inner.current;
            inner.clocks.acquire(current, cell);
        }
    }

    /// Takes a permit, or enlists for it: whether it was there.
    pub fn try_permit(&self, cell: u32, what: (&'static str, &'static str), place: Place) -> bool {
        self.turn(Pending::new(Some(Access::write(cell)), what, place));
        let mut inner = self.inner.borrow_mut();
        let current = inner.current;
        let there = std::mem::take(&mut inner.cells[cell as usize].flag) != 0;
        match there {
            true => {
                inner.clocks.acquire(current, cell);
                inner.me().spin.progress();
            }
            false => inner.enlist(cell, wakes::NOTIFY),
        }
        drop(inner);
        self.note(|| if there { "goes on" } else { "waits" }.into());
        there
    }

    /// Gives a permit to whoever waits for it, or leaves it there.
    pub fn give_permit(&self, cell: u32, what: (&'static str, &'static str), place: Place) {
        self.turn(Pending {
            wakes: wakes::NOTIFY,
            ..Pending::new(Some(Access::write(cell)), what, place)
        });
        let mut inner = self.inner.borrow_mut();
        let current = inner.current;
        inner.clocks.release(current, cell);
        inner.me().spin.progress();
        if inner.wake_one(cell, wakes::NOTIFY).is_none() {
            inner.cells[cell as usize].flag = 1;
        }
    }

    /// A value below `end`, from `start` on.
    pub fn choose(&self, start: i64, end: i64, place: Place) -> i64 {
        self.turn(Pending::new(None, ("", "choose"), place));
        let value = self.inner.borrow_mut().outcome(start, end);
        self.note(|| format!("chose {value}"));
        value
    }
}

impl Inner {
    /// The current thread.
    #[inline]
    pub fn me(&mut self) -> &mut ThreadState {
        &mut self.threads[self.current.index()]
    }

    pub fn has_token(&self, thread: ProcessId) -> bool {
        self.threads[thread.index()].token
    }

    /// The current thread has been woken, and takes note.
    pub fn take_token(&mut self) {
        let me = self.me();
        me.token = false;
        // Whoever is still enlisted as this wait is so no more.
        me.spin.round += 1;
        me.spin.progress();
    }

    /// Whether what a thread waits for is there.
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
        }
    }

    #[inline]
    pub fn status(&self, process: ProcessId) -> Status {
        let Some(thread) = self.threads.get(process.index()) else {
            return Status::Unborn;
        };
        match thread.life {
            Life::Unborn => Status::Unborn,
            Life::Ended => Status::Ended,
            Life::Failed => Status::Failed,
            #[cfg(feature = "symbolic")]
            Life::Lost => Status::Lost,
            Life::Alive => match self.possible(process, thread.pending.until) {
                true => Status::Ready,
                false => Status::Waiting,
            },
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
            Until::Read(_) | Until::Write(_) => Wait::Guard,
        }
    }

    /// What the next step of a thread claims.
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

    /// Whoever may wake others touches their tokens.
    #[inline]
    fn claim_waiters(&self, cell: u32, wakes: u8, by: ProcessId, into: &mut Claims) {
        for waiter in &self.cells[cell as usize].waiters {
            let thread = &self.threads[waiter.thread as usize];
            if waiter.wakes & wakes == 0 || waiter.thread == by.0 {
                continue;
            }
            if waiter.several {
                into.push(Access::write(thread.cells[ARBITER]));
            }
            if waiter.round == thread.spin.round && thread.awaiting {
                into.push(Access::new(AccessKind::Release, thread.cells[TOKEN]));
            }
        }
        // Who enlisted first says nothing.
        if into.len() > 2 {
            into[1..].sort_unstable();
        }
    }

    /// The current thread will wait for such changes of a cell.
    pub fn enlist(&mut self, cell: u32, wakes: u8) {
        let thread = self.current.0;
        let me = self.me();
        (me.awaiting, me.token, me.notified) = (true, false, false);
        me.spin.round += 1;
        let round = me.spin.round;
        self.cells[cell as usize].waiters.push(Waiter {
            thread,
            round,
            wakes,
            several: false,
        });
    }

    /// The current thread does not wait for a cell any more.
    pub fn strike_off(&mut self, cell: u32) {
        let thread = self.current.0;
        let waiters = &mut self.cells[cell as usize].waiters;
        waiters.retain(|waiter| waiter.thread != thread);
    }

    /// Gives a thread its token.
    fn wake(&mut self, waiter: Waiter) {
        let thread = &mut self.threads[waiter.thread as usize];
        if waiter.round != thread.spin.round {
            return;
        }
        thread.notified |= waiter.wakes & wakes::NOTIFY != 0;
        if std::mem::take(&mut thread.awaiting) {
            thread.token = true;
            let token = Access::new(AccessKind::Release, thread.cells[TOKEN]);
            self.deed.touched.push(token);
        }
    }

    /// Wakes all who wait for such changes of a cell, but the current thread.
    pub fn wake_all(&mut self, cell: u32, wakes: u8) {
        if self.cells[cell as usize].waiters.is_empty() {
            return;
        }
        let me = self.current.0;
        let mut waiters = std::mem::take(&mut self.cells[cell as usize].waiters);
        waiters.retain(|&waiter| {
            let stays = waiter.wakes & wakes == 0 || waiter.thread == me;
            if !stays {
                self.wake(waiter);
            }
            stays
        });
        self.cells[cell as usize].waiters = waiters;
    }

    /// Wakes one who waits for such a change; whom is a choice.
    pub fn wake_one(&mut self, cell: u32, wakes: u8) -> Option<ProcessId> {
        let waiters = &self.cells[cell as usize].waiters;
        let waits = |waiter: &&Waiter| waiter.wakes & wakes != 0;
        let mut able: Vec<Waiter> = waiters.iter().filter(waits).copied().collect();
        if able.is_empty() {
            return None;
        }
        able.sort_by(|a, b| {
            let path = |waiter: &Waiter| &self.names.paths[waiter.thread as usize];
            path(a).cmp(path(b))
        });
        let chosen = match able.len() {
            1 => 0,
            several => self.outcome(0, several as i64) as usize,
        };
        let chosen = able[chosen];
        self.cells[cell as usize].waiters.retain(|w| *w != chosen);
        self.wake(chosen);
        Some(ProcessId(chosen.thread))
    }

    /// What the current step chooses.
    pub fn outcome(&mut self, start: i64, end: i64) -> i64 {
        let drawn = self.lottery.as_mut().map(|random| {
            let width = (end - start) as u64;
            start + random.below(width) as i64
        });
        let value = self.deed.given().or(drawn).unwrap_or(start);
        let value = value.clamp(start, end - 1);
        self.deed.outcomes.push(Outcome { value, end });
        value
    }

    /// Whoever fails by this, once.
    pub fn failure(&mut self, failure: Failure) -> u32 {
        let known = self.failures.iter().position(|known| *known == failure);
        known.unwrap_or_else(|| {
            self.failures.push(failure);
            self.failures.len() - 1
        }) as u32
    }

    /// A lock is taken by the current thread.
    pub fn take(&mut self, cell: u32, place: Place) {
        let current = self.current;
        let lock = &mut self.cells[cell as usize];
        debug_assert!(lock.holder.is_none(), "the scheduler gave a held lock");
        lock.holder = Some((current, place));
        let seen = lock.changes;
        self.me().spin.saw(cell, wakes::CONTENT, seen);
        self.clocks.acquire(current, cell);
    }

    /// A lock is given back; `dirty` if what it protects may have changed.
    pub fn give(&mut self, cell: u32, dirty: bool) {
        let current = self.current;
        self.clocks.release(current, cell);
        self.cells[cell as usize].holder = None;
        self.changed(cell, if dirty { 3 } else { wakes::STATE });
    }

    /// The current thread has read a cell.
    #[inline]
    pub fn saw(&mut self, cell: u32, what: u8) {
        let seen = self.cells[cell as usize].changes;
        self.me().spin.saw(cell, what, seen);
    }

    /// The current thread has changed a cell.
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
