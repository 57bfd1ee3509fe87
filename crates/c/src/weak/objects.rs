//! Mutexes, condition variables, semaphores and threads under a memory model.
//!
//! Each object has a location of its own, and its operations are accesses to this location with the
//! memory orders that its specification promises. A mutex is a lock of the engine
//! (`mazurka-memory`). The location of a semaphore, a read-write lock, a barrier or a `once` holds
//! a number. An operation on such an object is an update of this number, which waits if the
//! operation has to wait. A condition variable has a list of waiting threads in the runtime's
//! memory; updates of its location order the operations on the list, as in `mazurka-rt`
//! (weak/wait.rs). To wait, a thread awaits a token, which the waking thread writes; each wait has
//! a token of its own.

use mazurka_core::{AccessKind, MishapKind};
use mazurka_memory::{Action, Effect, Loc, MemoryOrder, Value};

use super::{Rule, announce_access, choose, flush, progress, thread};
use crate::access::{fail, refuse};
use crate::calls::Ask;
use crate::lives::{ObjectKind, arrives, life_of_barrier, tell_held, used};
use crate::objects::{ERRORCHECK, RECURSIVE, named, note};
use crate::world::{Life, Pending, Request, Routine, WaitCondition, world};
use crate::{SearchStop, access};

/// The change of an object's number by an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectUpdate {
    /// Changes the first number to the second. If the object has another number, waits (`true`) or
    /// does nothing (`false`).
    FromTo(Value, Value, bool),
    /// Subtracts 1. If the number is 0, waits (`true`) or does nothing (`false`).
    Down(bool),
    /// Adds this number.
    By(Value),
    /// Adds 1 for a reader. While a writer holds the lock (the number is -1), waits (`true`) or
    /// does nothing (`false`).
    Reader(bool),
    /// Waits until the number is not 0.
    NotZero,
    /// Waits until the number is at least this.
    AtLeast(Value),
    /// Sets the number.
    To(Value),
    /// Changes 0 (not started) to 1 (running); waits while the number is 1, and keeps 2 (done).
    Once,
    /// Adds 1 for a *turn*, an operation on a list in the runtime's memory. Waits while another
    /// thread holds its turn.
    Turn,
    /// Like `Turn`, but other threads have to wait for their turns until `EndTurn`.
    HoldTurn,
    /// Ends the turn that the thread holds.
    EndTurn,
}

impl ObjectUpdate {
    pub fn effect(self, value: Value) -> Effect {
        let otherwise = |waits: bool| if waits { Effect::Wait } else { Effect::Keep };
        match self {
            Self::FromTo(from, to, _) if value == from => Effect::Write(to),
            Self::FromTo(_, _, waits) => otherwise(waits),
            Self::Down(waits) if value == 0 => otherwise(waits),
            Self::Down(_) => Effect::Write(value - 1),
            Self::By(by) => Effect::Write(value + by),
            Self::Reader(waits) if value < 0 => otherwise(waits),
            Self::Reader(_) => Effect::Write(value + 1),
            Self::NotZero if value == 0 => Effect::Wait,
            Self::AtLeast(least) if value < least => Effect::Wait,
            Self::NotZero | Self::AtLeast(_) => Effect::Keep,
            Self::To(value) => Effect::Write(value),
            Self::Once => match value {
                0 => Effect::Write(1),
                1 => Effect::Wait,
                _ => Effect::Keep,
            },
            Self::Turn | Self::HoldTurn if value < 0 => Effect::Wait,
            Self::Turn => Effect::Write(value + 1),
            Self::HoldTurn => Effect::Write(-value - 1),
            Self::EndTurn => Effect::Write(-value),
        }
    }
}

/// Updates the number of an object. Returns the old number, and whether it changed.
fn update(cell: u32, order: MemoryOrder, moves: ObjectUpdate, pending: Pending) -> (Value, bool) {
    let action = Action::Update {
        loc: Loc(cell),
        order,
        failure: MemoryOrder::Acquire,
    };
    let value = announce_access(pending, action, Rule::Object(moves));
    (value, matches!(moves.effect(value), Effect::Write(_)))
}

/// Makes an update that only orders operations of threads on shared data.
pub(crate) fn orders(pending: Pending, cell: u32) {
    update(cell, MemoryOrder::Relaxed, ObjectUpdate::Turn, pending);
}

/// Adds 1 to a number, and synchronises with all earlier additions. Returns the old number.
pub(crate) fn count(pending: Pending, cell: u32) -> Value {
    update(cell, MemoryOrder::AcqRel, ObjectUpdate::By(1), pending).0
}

/// Records that the current thread has called `exit`, so that joining it waits for ever.
pub(crate) fn never_ends(pc: usize) {
    if !world().counts() {
        return;
    }
    let current = world().current;
    let action = Action::Await {
        loc: Loc(token(current.0, 0)),
        order: MemoryOrder::Relaxed,
    };
    let pending = Pending::new("exit", 0, pc).until(WaitCondition::Token);
    announce_access(pending, action, Rule::Object(ObjectUpdate::NotZero));
}

/// Answers a request of a thread; `None` if a memory model makes no difference for this request.
pub(crate) fn ask(what: Ask, one: i64, other: i64, pc: usize) -> Option<i64> {
    flush();
    let object = one as usize;
    if !matches!(
        what,
        Ask::Malloc | Ask::Free | Ask::Size | Ask::Print | Ask::Self_ | Ask::KeyGet | Ask::Now
    ) {
        progress();
    }
    let busy = |taken: bool| if taken { 0 } else { libc::EBUSY.into() };
    let done = match what {
        Ask::MutexLock => lock(object, other, pc),
        Ask::MutexTrylock => try_lock(object, other, pc, libc::EBUSY),
        Ask::MutexTimedlock => try_lock(object, other, pc, libc::ETIMEDOUT),
        Ask::MutexUnlock => unlock(object, other, pc),
        Ask::CondWait => cond_wait(object, other as usize, pc),
        Ask::CondSignal => signal(object, pc),
        Ask::CondBroadcast => broadcast(object, pc),
        Ask::CondTimedwait => refuse(
            "a wait for a condition variable with a time limit, under a memory model".to_owned(),
            pc,
        ),
        Ask::FutexWait | Ask::FutexTimedwait | Ask::FutexWake => {
            refuse("waiting by `futex`, under a memory model".to_owned(), pc)
        }
        Ask::RwRead | Ask::RwTryread => busy(read_write(
            object,
            ObjectUpdate::Reader(what == Ask::RwRead),
            pc,
        )),
        Ask::RwWrite | Ask::RwTrywrite => {
            let moves = ObjectUpdate::FromTo(0, -1, what == Ask::RwWrite);
            busy(read_write(object, moves, pc))
        }
        Ask::RwUnlock => rw_unlock(object, pc),
        Ask::SemWait => down(object, true, 0, pc),
        Ask::SemTrywait => down(object, false, libc::EAGAIN, pc),
        Ask::SemTimedwait => down(object, false, libc::ETIMEDOUT, pc),
        Ask::SemPost => {
            let cell = semaphore(object, pc);
            let pending = Pending::new("sem_post", object, pc);
            update(cell, MemoryOrder::Release, ObjectUpdate::By(1), pending);
            used(cell, ObjectKind::Semaphore, pc);
            0
        }
        Ask::SemValue => {
            let (cell, order) = (semaphore(object, pc), MemoryOrder::Acquire);
            let (loc, pending) = (Loc(cell), Pending::new("sem_getvalue", object, pc));
            let value = announce_access(pending, Action::Read { loc, order }, Rule::Nothing);
            used(cell, ObjectKind::Semaphore, pc);
            value
        }
        Ask::Barrier => barrier(object, other, pc),
        Ask::OnceEnter => {
            let cell = flag(object, pc);
            let pending = Pending::new("once", object, pc).until(WaitCondition::Once(cell));
            let (_, first) = update(cell, MemoryOrder::Acquire, ObjectUpdate::Once, pending);
            used(cell, ObjectKind::Flag, pc);
            i64::from(first)
        }
        Ask::OnceLeave | Ask::OnceAbort => {
            let cell = flag(object, pc);
            let to = if what == Ask::OnceLeave { 2 } else { 0 };
            let pending = Pending::new("once is done", object, pc);
            update(cell, MemoryOrder::Release, ObjectUpdate::To(to), pending);
            0
        }
        Ask::Join => join(one, pc),
        Ask::AtomicBegin | Ask::AtomicEnd => {
            refuse("atomic sections, which no memory model has".to_owned(), pc)
        }
        _ => return None,
    };
    Some(done)
}

/// Returns the cell of a lock, and whether the current thread holds it.
fn of_lock(object: usize, pc: usize) -> (u32, bool) {
    let cell = arrives(object, ObjectKind::Mutex, pc);
    let world = world();
    let current = world.current;
    let holder = world.cell(cell).holder;
    (cell, holder.is_some_and(|(holder, _)| holder == current))
}

fn record_acquisition(cell: u32, pc: usize) {
    let world = world();
    let current = world.current;
    let lock = world.cell(cell);
    (lock.holder, lock.depth) = (Some((current, pc)), 1);
    used(cell, ObjectKind::Mutex, pc);
    tell_held(ObjectKind::Mutex, cell);
}

fn lock(object: usize, kind: i64, pc: usize) -> i64 {
    let (cell, mine) = of_lock(object, pc);
    if mine && kind == ERRORCHECK {
        return libc::EDEADLK.into();
    }
    if mine && kind == RECURSIVE {
        world().cell(cell).depth += 1;
        return 0;
    }
    relock(cell, object, pc);
    0
}

fn relock(cell: u32, object: usize, pc: usize) {
    let pending = Pending::new("lock", object, pc).on(AccessKind::Acquire, cell);
    let pending = pending.until(WaitCondition::Lock(cell));
    announce_access(pending, Action::Lock { loc: Loc(cell) }, Rule::Nothing);
    record_acquisition(cell, pc);
}

fn try_lock(object: usize, kind: i64, pc: usize, otherwise: i32) -> i64 {
    let (cell, mine) = of_lock(object, pc);
    if mine && kind == RECURSIVE {
        world().cell(cell).depth += 1;
        return 0;
    }
    let pending = Pending::new("trylock", object, pc).on(AccessKind::Acquire, cell);
    let moves = ObjectUpdate::FromTo(0, 1, false);
    let (_, taken) = update(cell, MemoryOrder::Acquire, moves, pending);
    if !taken {
        note("it is held");
        used(cell, ObjectKind::Mutex, pc);
        return otherwise.into();
    }
    record_acquisition(cell, pc);
    0
}

fn unlock(object: usize, kind: i64, pc: usize) -> i64 {
    let (cell, mine) = of_lock(object, pc);
    if !mine && (kind == ERRORCHECK || kind == RECURSIVE) {
        return libc::EPERM.into();
    }
    if !mine {
        let words = "unlocks a mutex that it does not hold".to_owned();
        fail(MishapKind::Failure, words, pc);
    }
    if world().cell(cell).depth > 1 {
        world().cell(cell).depth -= 1;
        return 0;
    }
    release_lock(cell, Pending::new("unlock", object, pc));
    0
}

fn release_lock(cell: u32, pending: Pending) {
    let pending = pending.on(AccessKind::Release, cell);
    world().cell(cell).holder = None;
    tell_held(ObjectKind::Mutex, cell);
    announce_access(pending, Action::Unlock { loc: Loc(cell) }, Rule::Nothing);
    used(cell, ObjectKind::Mutex, pending.pc);
}

/// Returns the cell of the token of one wait of a thread.
fn token(thread: u32, wait: u32) -> u32 {
    // No object of the program has such an address.
    let address = usize::MAX - (1 << 32) - ((thread as usize) << 20) - wait as usize;
    world().object(address)
}

fn cond_wait(object: usize, mutex: usize, pc: usize) -> i64 {
    let cell = arrives(object, ObjectKind::Condition, pc);
    let (lock, mine) = of_lock(mutex, pc);
    if !mine {
        let words = "waits for a condition variable with a mutex that it does not hold";
        fail(MishapKind::Failure, words.to_owned(), pc);
    }
    let pending = Pending::new("cond_wait", object, pc);
    update(cell, MemoryOrder::Relaxed, ObjectUpdate::Turn, pending);
    used(cell, ObjectKind::Condition, pc);
    let world = world();
    let current = world.current;
    world.me().weak_state.waits += 1;
    let wait = world.me().weak_state.waits;
    world.cell(cell).waiters.push(current);
    let token = token(current.0, wait);
    release_lock(lock, Pending::new("unlock", mutex, pc));
    let pending = Pending::new("wait to be notified", object, pc).until(WaitCondition::Token);
    let action = Action::Await {
        loc: Loc(token),
        order: MemoryOrder::Acquire,
    };
    announce_access(pending, action, Rule::Object(ObjectUpdate::NotZero));
    relock(lock, mutex, pc);
    0
}

/// Wakes a thread that was removed from the list.
fn wake(waiter: mazurka_core::ProcessId, pending: Pending) {
    let wait = world().threads[waiter.index()].weak_state.waits;
    let action = Action::Write {
        loc: Loc(token(waiter.0, wait)),
        order: MemoryOrder::Release,
        value: 1,
    };
    announce_access(pending, action, Rule::Nothing);
}

fn signal(object: usize, pc: usize) -> i64 {
    let cell = arrives(object, ObjectKind::Condition, pc);
    let pending = Pending::new("cond_signal", object, pc);
    update(cell, MemoryOrder::Relaxed, ObjectUpdate::HoldTurn, pending);
    used(cell, ObjectKind::Condition, pc);
    let chosen = match in_order(cell) {
        0 => None,
        1 => Some(0),
        several => Some(choose(0, several as i64, pc) as usize),
    };
    let woken = chosen.map(|chosen| world().cell(cell).waiters.remove(chosen));
    update(cell, MemoryOrder::Relaxed, ObjectUpdate::EndTurn, pending);
    if let Some(woken) = woken {
        wake(woken, pending);
    }
    0
}

fn broadcast(object: usize, pc: usize) -> i64 {
    let cell = arrives(object, ObjectKind::Condition, pc);
    let pending = Pending::new("cond_broadcast", object, pc);
    update(cell, MemoryOrder::Relaxed, ObjectUpdate::Turn, pending);
    used(cell, ObjectKind::Condition, pc);
    let count = in_order(cell);
    let world = world();
    let waiters = std::mem::take(&mut world.cell(cell).waiters);
    world.me().weak_state.woken = waiters;
    for at in 0..count {
        let waiter = self::world().me().weak_state.woken[at];
        wake(waiter, pending);
    }
    0
}

/// Sorts the threads that wait for a condition variable by their names. Returns their number.
fn in_order(cell: u32) -> usize {
    let world = world();
    let mut waiters = std::mem::take(&mut world.cell(cell).waiters);
    waiters.sort_by(|&a, &b| world.table.path(a).cmp(world.table.path(b)));
    let count = waiters.len();
    world.cell(cell).waiters = waiters;
    count
}

/// Acquires a read-write lock. Returns whether it succeeded.
fn read_write(object: usize, moves: ObjectUpdate, pc: usize) -> bool {
    let cell = arrives(object, ObjectKind::ReadWrite, pc);
    let (verb, until) = match moves {
        ObjectUpdate::Reader(_) => ("rdlock", WaitCondition::Read(cell)),
        _ => ("wrlock", WaitCondition::Write(cell)),
    };
    let waits = matches!(
        moves,
        ObjectUpdate::Reader(true) | ObjectUpdate::FromTo(_, _, true)
    );
    let pending = Pending::new(verb, object, pc);
    let pending = if waits { pending.until(until) } else { pending };
    let (_, taken) = update(cell, MemoryOrder::Acquire, moves, pending);
    used(cell, ObjectKind::ReadWrite, pc);
    let world = world();
    let current = world.current;
    let lock = world.cell(cell);
    match moves {
        _ if !taken => {}
        ObjectUpdate::Reader(_) => lock.readers.push(current),
        _ => lock.holder = Some((current, pc)),
    }
    tell_held(ObjectKind::ReadWrite, cell);
    taken
}

fn rw_unlock(object: usize, pc: usize) -> i64 {
    let cell = arrives(object, ObjectKind::ReadWrite, pc);
    let world = world();
    let current = world.current;
    let lock = world.cell(cell);
    let writes = lock.holder.is_some_and(|(holder, _)| holder == current);
    let reads = lock.readers.iter().position(|&reader| reader == current);
    let moves = match (writes, reads) {
        (true, _) => {
            lock.holder = None;
            ObjectUpdate::To(0)
        }
        (_, Some(at)) => {
            lock.readers.remove(at);
            ObjectUpdate::By(-1)
        }
        _ => {
            let words = "unlocks a read-write lock that it does not hold".to_owned();
            fail(MishapKind::Failure, words, pc)
        }
    };
    tell_held(ObjectKind::ReadWrite, cell);
    let pending = Pending::new("unlock", object, pc);
    update(cell, MemoryOrder::Release, moves, pending);
    used(cell, ObjectKind::ReadWrite, pc);
    0
}

/// Returns the cell of a flag of `once`. A constructor may have set the flag in memory.
fn flag(object: usize, pc: usize) -> u32 {
    let known = world().cells.len();
    let cell = arrives(object, ObjectKind::Flag, pc);
    if cell as usize >= known && super::bits_at(object, 1) != 0 {
        world().cells[cell as usize].initial = 2;
    }
    cell
}

/// Returns the cell of a semaphore. A constructor may have initialised it in memory.
fn semaphore(object: usize, pc: usize) -> u32 {
    let known = world().cells.len();
    let cell = arrives(object, ObjectKind::Semaphore, pc);
    if cell as usize >= known {
        world().cells[cell as usize].initial = super::bits_at(object, 4);
    }
    cell
}

fn down(object: usize, waits: bool, otherwise: i32, pc: usize) -> i64 {
    let cell = semaphore(object, pc);
    let pending = Pending::new("sem_wait", object, pc);
    let pending = if waits {
        pending.until(WaitCondition::Count(object))
    } else {
        pending
    };
    let (_, taken) = update(
        cell,
        MemoryOrder::Acquire,
        ObjectUpdate::Down(waits),
        pending,
    );
    used(cell, ObjectKind::Semaphore, pc);
    if taken { 0 } else { otherwise.into() }
}

fn barrier(object: usize, parties: i64, pc: usize) -> i64 {
    let cell = arrives(object, ObjectKind::Barrier, pc);
    let parties = parties.max(1);
    let (loc, order) = (
        Loc(world().object(life_of_barrier(object))),
        MemoryOrder::Relaxed,
    );
    let pending = Pending::new("come to the barrier", object, pc);
    announce_access(pending, Action::Read { loc, order }, Rule::Nothing);
    used(cell, ObjectKind::Barrier, pc);
    let pending = Pending::new("barrier_wait", object, pc);
    let (before, _) = update(cell, MemoryOrder::AcqRel, ObjectUpdate::By(1), pending);
    used(cell, ObjectKind::Barrier, pc);
    let all = (before / parties + 1) * parties;
    if before + 1 == all {
        return 1;
    }
    let pending = Pending::new("wait at the barrier", object, pc);
    let action = Action::Await {
        loc: Loc(cell),
        order: MemoryOrder::Acquire,
    };
    let pending = pending.until(WaitCondition::Barrier(cell, 0));
    announce_access(pending, action, Rule::Object(ObjectUpdate::AtLeast(all)));
    0
}

fn join(handle: i64, pc: usize) -> i64 {
    let other = named(handle, pc, "joins");
    // If `main` returns, the process ends, and a thread that joins `main` waits for ever.
    if other.index() == 0 && !std::mem::replace(&mut world().learned.joins_main, true) {
        world().stop.get_or_insert(SearchStop::Restart);
        world().me().life = Life::Failed;
        access::rest()
    }
    join_or_detach(other, "joins", pc);
    let pending = Pending::new("join", other.index(), pc).until(WaitCondition::Ended(other));
    let child = thread(other);
    announce_access(pending, Action::Join { child }, Rule::Nothing);
    let other = world().thread(other.index());
    other.joined = true;
    other.result as i64
}

/// Records that a thread is joined or detached, which is allowed only once. If a program does it
/// more often, the search restarts with these operations as events, so that the engine decides
/// which is the first.
pub(crate) fn join_or_detach(thread: mazurka_core::ProcessId, verb: &str, pc: usize) {
    let world = world();
    let (current, learned) = (world.current, world.learned.joins);
    let state = world.thread(thread.index());
    let again = match (state.detached, learned) {
        (true, _) => true,
        (false, false) if state.claimed.replace(current).is_some() => {
            world.learned.joins = true;
            world.stop.get_or_insert(SearchStop::Restart);
            world.me().life = Life::Failed;
            access::rest()
        }
        (false, false) => false,
        (false, true) => {
            // No object of the program has such an address.
            let cell = world.object(usize::MAX - (1 << 23) - thread.index());
            let pending = Pending::new("join or detach", 0, pc);
            update(cell, MemoryOrder::Relaxed, ObjectUpdate::By(1), pending).0 != 0
        }
    };
    if again {
        let words = format!("{verb} a thread that was joined already, or is detached");
        fail(MishapKind::Failure, words, pc);
    }
}

/// Records the start or the end of an object's lifetime, which sets the object's number to `value`.
pub(crate) fn writes(cell: u32, kind: ObjectKind, value: Value, pc: usize) {
    let counted = matches!(kind, ObjectKind::Semaphore | ObjectKind::Barrier);
    if !counted && !world().counts() {
        return;
    }
    let object = world().cells[cell as usize].address;
    let written = match kind {
        ObjectKind::Barrier => world().object(life_of_barrier(object)),
        _ => cell,
    };
    let action = Action::Write {
        loc: Loc(written),
        order: MemoryOrder::Plain,
        value,
    };
    let pending = Pending::new("initialise or destroy", object, pc);
    announce_access(pending, action, Rule::Nothing);
}

/// Starts a thread.
pub(crate) fn spawn(routine: Routine, detached: bool, pc: usize) {
    flush();
    progress();
    // A placeholder: `WeakProgram::pending` replaces it by the number of the new thread.
    let child = thread(world().current);
    let pending = Pending::new("start a thread", 0, pc);
    announce_access(pending, Action::Spawn { child }, Rule::Nothing);
    let world = world();
    world.start = Some((routine, detached, pc));
    let yielder = world.me().yielder;
    // SAFETY: the yielder lives on the stack of the coroutine that runs this code.
    unsafe { (*yielder).suspend(Request::Start) };
}
