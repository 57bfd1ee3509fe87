//! Read-write locks, semaphores, barriers and `once`. An operation that waits is a guarded step,
//! which is possible only in some states.

use mazurka_core::{Access, AccessKind, MishapKind};

use crate::access::{announce, fail};
use crate::lives::{ObjectKind, arrives, tell_held, used};
use crate::objects::note;
use crate::world::{Pending, WaitCondition, world};

/// The release order, in the numbers of the compiler.
const RELEASE: i32 = 3;

/// Acquires a read-write lock as a reader. If a writer holds the lock, waits, or with `tries`
/// returns `EBUSY`.
pub(crate) fn rw_read(object: usize, tries: bool, pc: usize) -> i64 {
    let cell = arrives(object, ObjectKind::ReadWrite, pc);
    let pending = Pending::new("rdlock", object, pc).on(AccessKind::Write, cell);
    announce(if tries {
        pending
    } else {
        pending.until(WaitCondition::Read(cell))
    });
    let world = world();
    let current = world.current;
    if world.cell(cell).holder.is_some() {
        used(cell, ObjectKind::ReadWrite, pc);
        return libc::EBUSY.into();
    }
    world.cell(cell).readers.push(current);
    record_acquisition(cell, pc);
    0
}

/// Acquires a read-write lock as a writer. If the lock is held, waits, or with `tries` returns
/// `EBUSY`.
pub(crate) fn rw_write(object: usize, tries: bool, pc: usize) -> i64 {
    let cell = arrives(object, ObjectKind::ReadWrite, pc);
    let pending = Pending::new("wrlock", object, pc).on(AccessKind::Write, cell);
    announce(if tries {
        pending
    } else {
        pending.until(WaitCondition::Write(cell))
    });
    let world = world();
    let current = world.current;
    let lock = world.cell(cell);
    if lock.holder.is_some() || !lock.readers.is_empty() {
        used(cell, ObjectKind::ReadWrite, pc);
        return libc::EBUSY.into();
    }
    lock.holder = Some((current, pc));
    record_acquisition(cell, pc);
    0
}

/// Records that the current thread has acquired a read-write lock.
fn record_acquisition(cell: u32, pc: usize) {
    let world = world();
    let current = world.current;
    world.clocks.acquire(current, cell);
    used(cell, ObjectKind::ReadWrite, pc);
    tell_held(ObjectKind::ReadWrite, cell);
}

pub(crate) fn rw_unlock(object: usize, pc: usize) -> i64 {
    let cell = arrives(object, ObjectKind::ReadWrite, pc);
    let current = world().current;
    let held = |cell: u32| {
        let lock = world().cell(cell);
        let writes = lock.holder.is_some_and(|(holder, _)| holder == current);
        writes || lock.readers.contains(&current)
    };
    if !held(cell) {
        let words = "unlocks a read-write lock that it does not hold";
        fail(MishapKind::Failure, words.to_owned(), pc);
    }
    announce(Pending::new("unlock", object, pc).on(AccessKind::Write, cell));
    used(cell, ObjectKind::ReadWrite, pc);
    let world = world();
    // This orders readers before a later writer. It also orders them before later readers, which is
    // more than the C library promises.
    world.clocks.release(current, cell);
    let lock = world.cell(cell);
    if lock.holder.is_some_and(|(holder, _)| holder == current) {
        lock.holder = None;
    } else if let Some(at) = lock.readers.iter().position(|&reader| reader == current) {
        lock.readers.remove(at);
    }
    tell_held(ObjectKind::ReadWrite, cell);
    0
}

/// Returns the count of a semaphore, which is in the program's memory.
fn count(object: usize) -> &'static mut u32 {
    // SAFETY: this is the program's semaphore; if the address is wrong, the program has a fault,
    // which is reported as one (trap.rs).
    unsafe { &mut *(object as *mut u32) }
}

/// Decrements the count of a semaphore. If the count is 0, waits, or without `waits` returns
/// `otherwise`.
pub(crate) fn sem_wait(object: usize, waits: bool, otherwise: i32, pc: usize) -> i64 {
    let cell = arrives(object, ObjectKind::Semaphore, pc);
    // Reads the count here, so that a wrong address is a fault of this thread and not of the
    // scheduler, which checks the guard.
    std::hint::black_box(*count(object));
    let pending = Pending::new("sem_wait", object, pc).on(AccessKind::Write, cell);
    announce(if waits {
        pending.until(WaitCondition::Count(object))
    } else {
        pending
    });
    let world = world();
    if *count(object) == 0 {
        note("it is 0");
        used(cell, ObjectKind::Semaphore, pc);
        return otherwise.into();
    }
    let current = world.current;
    world.clocks.acquire(current, cell);
    used(cell, ObjectKind::Semaphore, pc);
    *count(object) -= 1;
    0
}

pub(crate) fn sem_post(object: usize, pc: usize) -> i64 {
    let cell = arrives(object, ObjectKind::Semaphore, pc);
    std::hint::black_box(*count(object));
    announce(Pending::new("sem_post", object, pc).on(AccessKind::Write, cell));
    used(cell, ObjectKind::Semaphore, pc);
    let world = world();
    let current = world.current;
    world.clocks.release(current, cell);
    *count(object) = count(object).saturating_add(1);
    0
}

pub(crate) fn sem_value(object: usize, pc: usize) -> i64 {
    let cell = arrives(object, ObjectKind::Semaphore, pc);
    announce(Pending::new("sem_getvalue", object, pc).on(AccessKind::Read, cell));
    used(cell, ObjectKind::Semaphore, pc);
    (*count(object)).into()
}

/// Waits at a barrier until `parties` threads have arrived. Returns 1 in the last of these threads
/// and 0 in the others.
pub(crate) fn barrier(object: usize, parties: u32, pc: usize) -> i64 {
    let cell = arrives(object, ObjectKind::Barrier, pc);
    announce(Pending::new("barrier_wait", object, pc).on(AccessKind::Write, cell));
    used(cell, ObjectKind::Barrier, pc);
    let world = world();
    let current = world.current;
    world.clocks.release(current, cell);
    let state = world.cell(cell);
    state.waiters.push(current);
    if state.waiters.len() >= parties as usize {
        state.waiters.clear();
        state.version = state.version.wrapping_add(1);
        world.clocks.acquire(current, cell);
        return 1;
    }
    let generation = state.version;
    let pending = Pending::new("wait at the barrier", object, pc).on(AccessKind::Read, cell);
    announce(pending.until(WaitCondition::Barrier(cell, generation)));
    self::world().clocks.acquire(current, cell);
    0
}

/// Waits until no other thread runs the function of `once`. Returns 1 if the current thread must
/// run the function, and 0 if the function has returned already. The first byte of the object,
/// which C++ code reads, says whether the function has returned.
pub(crate) fn once_enter(object: usize, pc: usize) -> i64 {
    let cell = arrives(object, ObjectKind::Flag, pc);
    let pending = Pending::new("once", object, pc).on(AccessKind::Write, cell);
    announce(pending.until(WaitCondition::Once(cell)));
    let world = world();
    let current = world.current;
    world.clocks.acquire(current, cell);
    used(cell, ObjectKind::Flag, pc);
    // SAFETY: this is the program's flag.
    let done = unsafe { *(object as *const u8) } != 0;
    if done {
        return 0;
    }
    world.cell(cell).holder = Some((current, pc));
    1
}

/// Ends the run of the function of `once` in the current thread. `done` is false if an exception
/// has left the function, so that another thread may run it.
pub(crate) fn once_leave(object: usize, done: bool, pc: usize) -> i64 {
    let cell = world().object(object);
    // C++ code reads the first byte of the flag itself, before it calls the runtime, so the step
    // also writes that byte.
    let byte = world().place(object, 1);
    announce(Pending {
        second: Some(Access::write(byte)),
        ..Pending::new("once is done", object, pc).on(AccessKind::Write, cell)
    });
    let world = world();
    let current = world.current;
    world.clocks.release(current, cell);
    world.clocks.atomic_write(current, byte, false, RELEASE);
    world.changed(byte);
    world.cell(cell).holder = None;
    // SAFETY: this is the program's flag.
    unsafe { *(object as *mut u8) = u8::from(done) };
    0
}
