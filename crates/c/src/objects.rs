//! Requests of the program to the runtime: mutexes, condition variables, threads, blocks.

use mazurka_core::{Access, AccessKind, MishapKind, ProcessId};

use crate::access::{announce, check, fail, fail_after, frees, look_at_time, refuse, rest};
use crate::calls::{Ask, Halt};
use crate::ends::{at_exit, is_last_thread, last_function, later, now, orders, take_last};
use crate::heap::{self, HeapLocation};
use crate::inputs::few_values;
use crate::lives::{ObjectKind, arrives, destroy, init, tell_held, used};
use crate::load::refuse_before_main;
use crate::waits::{
    barrier, once_enter, once_leave, rw_read, rw_unlock, rw_write, sem_post, sem_value, sem_wait,
};
use crate::world::{Life, Pending, Request, Routine, WaitCondition, world};
use crate::{futex, weak};

/// Kinds of mutexes, in the numbers of the C library.
pub(crate) const RECURSIVE: i64 = 1;
pub(crate) const ERRORCHECK: i64 = 2;

/// The address of the cell for the effects outside of the process: its output and its end. No
/// object of the program has such an address.
const OUTPUT: usize = usize::MAX - (1 << 21) - 1;
/// The address of the cell of the first key; the cell of key k has this address minus k. No object
/// of the program has such an address.
const KEYS: usize = usize::MAX - (1 << 22);

/// Maximum length of the output that a report of two different executions shows.
const MOST_PRINTED: usize = 400;

/// Halts the current thread, at the request of the shim.
pub(crate) extern "C" fn halt(kind: u32, words: *const libc::c_char, pc: usize) {
    // SAFETY: the shim passes a string.
    let words = unsafe { std::ffi::CStr::from_ptr(words) };
    let words = words.to_string_lossy().into_owned();
    if !world().in_model {
        match Halt::ALL.get(kind as usize) {
            Some(Halt::Assert) => refuse_before_main(&format!("fails: assertion `{words}` failed")),
            Some(Halt::Assume) => refuse_before_main("assumes what is false"),
            Some(Halt::Refused) => refuse_before_main(&format!("calls what is refused: {words}")),
            _ => refuse_before_main(&format!("aborts: {words}")),
        }
    }
    if world().weak.on {
        weak::flush();
    }
    match Halt::ALL.get(kind as usize) {
        Some(Halt::Assert) => fail(
            MishapKind::Failure,
            format!("assertion `{words}` failed"),
            pc,
        ),
        Some(Halt::Assume) => fail(MishapKind::Discarded, "a false assumption".to_owned(), pc),
        Some(Halt::Refused) => refuse(words, pc),
        _ => {
            let (words, pc) = why_it_aborts(&words, pc);
            fail(MishapKind::Failure, words, pc)
        }
    }
}

/// Returns why the current thread aborts, and where: for code of the C++ library, that is the place
/// in the source where it was called to.
fn why_it_aborts(words: &str, pc: usize) -> (String, usize) {
    let thrown = world().me().thrown;
    match thrown.filter(|_| !world().has_source(pc)) {
        Some((thrown, why)) => (why.to_owned(), thrown),
        None => (format!("the program aborts: {words}"), pc),
    }
}

/// Notes why the C++ library may end the program: a handler has caught an exception (0), or a
/// function throws one (1) or calls `std::terminate` (2). Calls within the library do not count.
fn throws(what: i64, pc: usize) -> i64 {
    let world = world();
    if world.has_source(pc) {
        world.me().thrown = match what {
            0 => None,
            1 => Some((pc, "throws an exception that is not caught")),
            _ => Some((pc, "calls `std::terminate`")),
        };
    }
    0
}

/// Starts a thread.
pub(crate) extern "C" fn start(
    handle: *mut usize,
    function: extern "C" fn(usize) -> usize,
    argument: usize,
    detached: i64,
    pc: usize,
) {
    let world = world();
    if !world.in_model {
        refuse_before_main("starts a thread (`pthread_create`): start it in `main`");
    }
    let routine: Routine = (function, argument);
    if world.weak.on {
        weak::spawn(routine, detached != 0, pc);
    } else {
        world.start = Some((routine, detached != 0, pc));
        world.me().spin.progress();
        let yielder = world.me().yielder;
        // SAFETY: the yielder lives on the stack of the coroutine that runs this code.
        unsafe { (*yielder).suspend(Request::Start) };
    }
    // SAFETY: the handle belongs to the shim.
    unsafe { *handle = self::world().last_child.index() + 1 };
}

/// Answers a request of a thread. `registers` is the address of the program's saved registers.
#[allow(clippy::too_many_arguments)]
pub(crate) extern "C" fn ask(
    what: u32,
    one: i64,
    other: i64,
    pc: usize,
    _unused: usize,
    registers: usize,
) -> i64 {
    let Some(&what) = Ask::ALL.get(what as usize) else {
        return 0;
    };
    let object = one as usize;
    if !world().in_model {
        return before_main(what, one, other, pc);
    }
    look_at_time();
    world().reaches(registers);
    world().called_at = pc;
    if let (true, Ask::OnceEnter | Ask::OnceLeave) = (world().unwinder.contains(&pc), what) {
        // The unwinder fills a table of constants, which is no step of the program.
        return before_main(what, one, other, pc);
    }
    if world().weak.on
        && let Some(done) = weak::ask(what, one, other, pc)
    {
        return done;
    }
    world().end_write();
    match what {
        Ask::Malloc | Ask::Free | Ask::Size | Ask::Print => {}
        Ask::AtomicBegin | Ask::AtomicEnd | Ask::Now | Ask::Later => {}
        Ask::Self_ | Ask::KeyGet | Ask::Throws => {}
        _ => world().me().spin.progress(),
    }
    match what {
        Ask::Init => init(object, ObjectKind::from_number(other), 0, pc),
        Ask::Destroy => destroy(object, ObjectKind::from_number(other), pc),
        Ask::MutexLock => lock(object, other, pc),
        Ask::MutexTrylock => try_lock(object, other, pc, libc::EBUSY),
        // A timed wait is a single attempt. It needs no step that waits: other threads may run
        // before the attempt.
        Ask::MutexTimedlock => try_lock(object, other, pc, libc::ETIMEDOUT),
        Ask::MutexUnlock => unlock(object, other, pc),
        Ask::CondWait => cond_wait(object, other as usize, pc),
        Ask::CondTimedwait => cond_timed_wait(object, other as usize, pc),
        Ask::CondSignal => notify(object, false, pc),
        Ask::CondBroadcast => notify(object, true, pc),
        Ask::RwRead | Ask::RwTryread => rw_read(object, what == Ask::RwTryread, pc),
        Ask::RwWrite | Ask::RwTrywrite => rw_write(object, what == Ask::RwTrywrite, pc),
        Ask::RwUnlock => rw_unlock(object, pc),
        Ask::SemInit => init(object, ObjectKind::Semaphore, other, pc),
        Ask::SemWait => sem_wait(object, true, 0, pc),
        Ask::SemTrywait => sem_wait(object, false, libc::EAGAIN, pc),
        Ask::SemTimedwait => sem_wait(object, false, libc::ETIMEDOUT, pc),
        Ask::SemPost => sem_post(object, pc),
        Ask::SemValue => sem_value(object, pc),
        Ask::Barrier => barrier(object, other as u32, pc),
        Ask::OnceEnter => once_enter(object, pc),
        Ask::OnceLeave => once_leave(object, true, pc),
        Ask::OnceAbort => once_leave(object, false, pc),
        Ask::Join => join(one, pc),
        Ask::Detach => detach(one, pc),
        Ask::Self_ => world().current.index() as i64 + 1,
        Ask::ExitThread => exit_thread(one as usize),
        Ask::Exit => {
            exit(one, "exit", pc);
            if world().weak.on {
                weak::never_ends(pc);
            }
            exit_thread(0)
        }
        Ask::KeyCreate => {
            let keys = &mut world().keys;
            keys.push(one as usize);
            keys.len() as i64 - 1
        }
        Ask::KeyDelete => {
            key_order(object, "key_delete", pc);
            if let Some(key) = world().keys.get_mut(object) {
                *key = DELETED;
            }
            0
        }
        Ask::KeySet => {
            key_used(object, pc);
            let keys = &mut world().me().keys;
            if keys.len() <= object {
                keys.resize(object + 1, 0);
            }
            keys[object] = other as usize;
            0
        }
        Ask::KeyGet => {
            key_used(object, pc);
            key_value(object)
        }
        Ask::KeyDestructor => key_destructor(object, pc),
        Ask::KeyTake => {
            let key = world().me().keys.get_mut(object);
            key.map_or(0, |value| std::mem::take(value) as i64)
        }
        Ask::Malloc => allocate(one as usize, other as usize, pc),
        Ask::Free => free(object, pc),
        Ask::Size => size_of(object, pc),
        Ask::Print => print(object, other as usize, pc),
        Ask::AtomicBegin => begin_section(pc, (other as usize, registers)),
        Ask::AtomicEnd => end_section(),
        Ask::Choose => choose(one, other, pc),
        Ask::Nondet => nondet(object, pc),
        Ask::Now => now(),
        Ask::Later => later(one, other != 0),
        Ask::FutexWait | Ask::FutexTimedwait => {
            futex::wait(object, other as i32, what == Ask::FutexTimedwait, pc)
        }
        Ask::FutexWake => futex::wake(object, other, pc),
        Ask::AtExit => at_exit(object, other as usize, pc),
        Ask::AtThreadEnd => {
            world().me().at_end.push((object, other as usize));
            0
        }
        Ask::LastThread => is_last_thread(pc),
        Ask::LastFunction => last_function(one, pc),
        Ask::TakeLast => take_last(one),
        Ask::Throws => throws(one, pc),
    }
}

/// Answers a request of a constructor.
fn before_main(what: Ask, one: i64, other: i64, pc: usize) -> i64 {
    match what {
        Ask::Malloc => allocate(one as usize, other as usize, pc),
        Ask::OnceEnter => {
            // SAFETY: this is the guard of a static variable, whose first byte says whether it is
            // initialised.
            let flag = unsafe { &mut *(one as *mut u8) };
            i64::from(*flag == 0)
        }
        Ask::OnceLeave => {
            // SAFETY: as above.
            unsafe { *(one as *mut u8) = 1 };
            0
        }
        Ask::KeyCreate => {
            world().keys.push(one as usize);
            world().keys.len() as i64 - 1
        }
        Ask::AtExit => {
            world().at_exit.push((one as usize, other as usize));
            0
        }
        Ask::Size => match world().threads[0].region.find(one as usize) {
            HeapLocation::Block(block) => block.size as i64,
            HeapLocation::Gap(_) => 0,
        },
        // No other thread exists, and no clock has advanced.
        Ask::Init | Ask::Destroy | Ask::SemInit | Ask::Free | Ask::Print => 0,
        Ask::MutexLock | Ask::MutexTrylock | Ask::MutexTimedlock | Ask::MutexUnlock => 0,
        Ask::RwRead | Ask::RwWrite | Ask::RwTryread | Ask::RwTrywrite | Ask::RwUnlock => 0,
        Ask::CondSignal | Ask::CondBroadcast | Ask::FutexWake | Ask::OnceAbort => 0,
        Ask::AtomicBegin | Ask::AtomicEnd | Ask::Now | Ask::Later | Ask::KeyGet => 0,
        Ask::Throws => 0,
        Ask::Self_ => 1,
        Ask::Nondet => refuse_before_main("asks for a value (`__VERIFIER_nondet_…`)"),
        Ask::Exit => refuse_before_main("calls `exit`"),
        Ask::KeySet => refuse_before_main("calls `pthread_setspecific`"),
        Ask::KeyDelete => refuse_before_main("calls `pthread_key_delete`"),
        Ask::AtThreadEnd => refuse_before_main("makes a thread-local object that has a destructor"),
        Ask::SemPost | Ask::SemWait | Ask::SemTrywait | Ask::SemTimedwait | Ask::SemValue => {
            refuse_before_main("uses a semaphore")
        }
        Ask::CondWait | Ask::CondTimedwait | Ask::Barrier | Ask::FutexWait => {
            refuse_before_main("waits")
        }
        Ask::FutexTimedwait | Ask::Join | Ask::Detach | Ask::ExitThread => {
            refuse_before_main("waits for a thread, or ends one")
        }
        Ask::KeyDestructor | Ask::KeyTake | Ask::Choose => 0,
        Ask::LastFunction | Ask::TakeLast | Ask::LastThread => 0,
    }
}

/// Marks a deleted key, in place of its destructor.
const DELETED: usize = usize::MAX;

/// If the program deletes keys, makes a step that orders the operations on this key.
fn key_order(key: usize, verb: &'static str, pc: usize) {
    if world().deletes_keys && world().started > 1 {
        let cell = world().object(KEYS - key);
        orders(Pending::new(verb, 0, pc), cell);
    }
}

fn key_used(key: usize, pc: usize) {
    key_order(key, "use of a key", pc);
    if world().keys.get(key) == Some(&DELETED) {
        let words = "uses a key that was deleted".to_owned();
        fail(MishapKind::Failure, words, pc);
    }
}

/// Returns the value of a key in the current thread.
fn key_value(key: usize) -> i64 {
    let value = world().me().keys.get(key);
    value.map_or(0, |&value| value as i64)
}

/// Returns the address of the destructor to call for a key when a thread ends. Instead of an
/// address, 0 means that there is nothing to do, and 1 that the key does not exist.
fn key_destructor(key: usize, pc: usize) -> i64 {
    if key >= world().keys.len() {
        return 1;
    }
    if key_value(key) == 0 {
        return 0;
    }
    key_order(key, "end of a key", pc);
    match world().keys.get(key) {
        Some(&DELETED) | None => 0,
        Some(&destructor) => destructor as i64,
    }
}

/// Checks that an object is in accessible memory, and returns its cell.
pub(crate) fn settled(object: usize, verb: &str, pc: usize) -> u32 {
    check(object, 4, verb, pc);
    world().object(object)
}

/// Returns the cell of a lock, and whether the current thread holds it.
fn of_lock(object: usize, pc: usize) -> (u32, bool) {
    let cell = arrives(object, ObjectKind::Mutex, pc);
    let world = world();
    let current = world.current;
    let lock = world.cell(cell);
    let mine = lock.holder.is_some_and(|(holder, _)| holder == current);
    (cell, mine)
}

/// Gives a free lock to the current thread.
fn take(cell: u32, pc: usize) {
    let world = world();
    let current = world.current;
    let lock = world.cell(cell);
    debug_assert!(lock.holder.is_none(), "the scheduler gave a held lock");
    (lock.holder, lock.depth) = (Some((current, pc)), 1);
    world.clocks.lock(current, cell);
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
    let pending = Pending::new("lock", object, pc).on(AccessKind::Acquire, cell);
    announce(pending.until(WaitCondition::Lock(cell)));
    take(cell, pc);
    0
}

/// Tries to take a mutex. Returns 0, or `otherwise` if the mutex is held.
fn try_lock(object: usize, kind: i64, pc: usize, otherwise: i32) -> i64 {
    let (cell, mine) = of_lock(object, pc);
    if mine && kind == RECURSIVE {
        world().cell(cell).depth += 1;
        return 0;
    }
    announce(Pending::new("trylock", object, pc).on(AccessKind::Acquire, cell));
    let world = world();
    if world.cell(cell).holder.is_some() {
        world.effects.untouched = true;
        note("it is held");
        used(cell, ObjectKind::Mutex, pc);
        return otherwise.into();
    }
    take(cell, pc);
    0
}

fn unlock(object: usize, kind: i64, pc: usize) -> i64 {
    let (cell, mine) = of_lock(object, pc);
    if !mine && (kind == ERRORCHECK || kind == RECURSIVE) {
        return libc::EPERM.into();
    }
    if !mine {
        let holder = world().cell(cell).holder;
        let words = match holder {
            Some(_) => "unlocks a mutex that another thread holds",
            None => "unlocks a mutex that is not locked",
        };
        fail_after(holder.map(|(holder, _)| holder), words.to_owned(), pc);
    }
    if world().cell(cell).depth > 1 {
        world().cell(cell).depth -= 1;
        return 0;
    }
    announce(Pending::new("unlock", object, pc).on(AccessKind::Release, cell));
    release_lock(cell, pc);
    0
}

fn release_lock(cell: u32, pc: usize) {
    used(cell, ObjectKind::Mutex, pc);
    let world = world();
    let current = world.current;
    world.clocks.unlock(current, cell);
    world.cell(cell).holder = None;
    tell_held(ObjectKind::Mutex, cell);
}

/// Releases the mutex and enlists the current thread. Returns the cells of both objects.
fn enlist(object: usize, mutex: usize, pc: usize, verb: &'static str) -> (u32, u32) {
    let cell = arrives(object, ObjectKind::Condition, pc);
    let (lock, mine) = of_lock(mutex, pc);
    if !mine {
        let words = "waits for a condition variable with a mutex that it does not hold";
        fail(MishapKind::Failure, words.to_owned(), pc);
    }
    announce(Pending {
        second: Some(Access::read(cell)),
        ..Pending::new(verb, object, pc).on(AccessKind::Release, lock)
    });
    used(cell, ObjectKind::Condition, pc);
    release_lock(lock, pc);
    let world = world();
    let current = world.current;
    (world.me().awaiting, world.me().token) = (true, false);
    world.cell(cell).waiters.push(current);
    (cell, lock)
}

fn cond_wait(object: usize, mutex: usize, pc: usize) -> i64 {
    let (_, lock) = enlist(object, mutex, pc, "cond_wait");
    let token = world().me().token_cell;
    let pending = Pending::new("wait to be notified", object, pc).on(AccessKind::Acquire, token);
    announce(pending.until(WaitCondition::Token));
    world().me().token = false;
    relock(lock, mutex, pc);
    0
}

fn relock(lock: u32, mutex: usize, pc: usize) {
    let pending = Pending::new("lock", mutex, pc).on(AccessKind::Acquire, lock);
    announce(pending.until(WaitCondition::Lock(lock)));
    take(lock, pc);
}

fn cond_timed_wait(object: usize, mutex: usize, pc: usize) -> i64 {
    let (cell, lock) = enlist(object, mutex, pc, "cond_timedwait");
    announce(Pending::new("wait or time out", object, pc).on(AccessKind::Write, cell));
    let world = world();
    let current = world.current;
    let notified = std::mem::take(&mut world.me().token);
    world.me().awaiting = false;
    world.cell(cell).waiters.retain(|&waiter| waiter != current);
    note(if notified { "notified" } else { "timed out" });
    relock(lock, mutex, pc);
    if notified { 0 } else { libc::ETIMEDOUT.into() }
}

fn notify(object: usize, all: bool, pc: usize) -> i64 {
    let cell = arrives(object, ObjectKind::Condition, pc);
    let verb = if all { "cond_broadcast" } else { "cond_signal" };
    announce(Pending {
        wakes: true,
        ..Pending::new(verb, object, pc).on(AccessKind::Write, cell)
    });
    used(cell, ObjectKind::Condition, pc);
    let world = world();
    let mut waiters = std::mem::take(&mut world.cell(cell).waiters);
    let waiting = waiters.len();
    if all {
        waiters.drain(..).for_each(|waiter| world.wake(waiter));
    } else if waiting > 0 {
        waiters.sort_by(|&a, &b| world.table.path(a).cmp(world.table.path(b)));
        let chosen = match waiting {
            1 => 0,
            several => world.outcome(0, several as i64) as usize,
        };
        world.wake(waiters.remove(chosen));
    }
    let woken = waiting - waiters.len();
    world.cell(cell).waiters = waiters;
    note(&format!("{woken} of {waiting} waiting"));
    0
}

/// Returns the thread that a handle names.
#[inline]
pub(crate) fn named(handle: i64, pc: usize, verb: &str) -> ProcessId {
    let thread = ProcessId((handle - 1) as u32);
    match world().threads.get(thread.index()) {
        Some(known) if known.life != Life::Unborn && !known.joined && !known.detached => thread,
        _ => badly_named(thread, pc, verb),
    }
}

/// Handles a call with the handle of a thread that was joined or detached, or was never started.
#[cold]
fn badly_named(thread: ProcessId, pc: usize, verb: &str) -> ProcessId {
    let world = world();
    let known = world.threads.get(thread.index());
    match known.filter(|thread| thread.life != Life::Unborn) {
        // Under a memory model the engine knows which operation came first: see
        // `weak::join_or_detach`.
        Some(_) if world.weak.on => thread,
        Some(thread) if thread.joined => {
            let words = format!("{verb} a thread that was joined already");
            fail_after(thread.claimed, words, pc)
        }
        Some(thread) if thread.detached => {
            let words = format!("{verb} a thread that is detached");
            fail_after(thread.claimed, words, pc)
        }
        Some(_) => thread,
        None => fail(
            MishapKind::Failure,
            format!("{verb} a thread that does not exist"),
            pc,
        ),
    }
}

#[inline(always)]
fn join(handle: i64, pc: usize) -> i64 {
    let thread = named(handle, pc, "joins");
    announce(Pending::new("join", thread.index(), pc).until(WaitCondition::Ended(thread)));
    // Checks the handle again: another thread may have joined the thread while this one waited.
    named(handle, pc, "joins");
    let world = world();
    let current = world.current;
    let other = world.thread(thread.index());
    (other.joined, other.claimed) = (true, Some(current));
    let result = other.result;
    world.clocks.order(thread, current);
    world.effects.joined.push(thread);
    result as i64
}

fn detach(handle: i64, pc: usize) -> i64 {
    let thread = named(handle, pc, "detaches");
    if world().weak.on {
        weak::join_or_detach(thread, "detaches", pc)
    } else {
        let current = world().current;
        let thread = world().thread(thread.index());
        (thread.detached, thread.claimed) = (true, Some(current));
    }
    0
}

/// Ends the process: `main` has returned, or the program calls `exit`.
///
/// This is a step unless all other threads have been joined; only the first `exit` counts. In the
/// exploration, other threads continue after this step. They could have made the same steps before
/// it, so this adds no impossible behaviour. The observed values are those at this step, so plain
/// accesses to observed variables are steps in such a program, as if they raced with it.
pub(crate) fn exit(code: i64, verb: &'static str, pc: usize) {
    if !world().is_alone() {
        world().learn_observed();
        let cell = world().object(OUTPUT);
        let pending = Pending::new(verb, 0, pc);
        let end = world().end_cell.map(Access::write);
        orders(
            Pending {
                second: end,
                ..pending
            },
            cell,
        );
    }
    let world = world();
    world.me().exits = true;
    if !std::mem::replace(&mut world.exited, true) {
        world.exit_code = code;
        world.keep_observed();
    }
}

/// Ends the current thread, after the functions at its end have run.
pub(crate) fn end_thread(result: usize) {
    if world().weak.on {
        weak::flush();
    }
    let world = world();
    world.in_section = false;
    let thread = world.me();
    thread.life = Life::Ended;
    thread.result = result;
    world.alive -= 1;
}

fn exit_thread(result: usize) -> ! {
    end_thread(result);
    rest()
}

fn allocate(size: usize, align: usize, pc: usize) -> i64 {
    world()
        .me()
        .region
        .allocate(size, align, pc)
        .map_or(0, |address| address as i64)
}

/// Returns the region that contains a block.
fn owner_of(address: usize) -> Option<usize> {
    let owner = heap::thread_of(address)?;
    let known = owner < world().threads.len() && !heap::is_stack(address);
    known.then_some(owner)
}

fn free(address: usize, pc: usize) -> i64 {
    if address == 0 {
        return 0;
    }
    let found = owner_of(address).map(|owner| world().threads[owner].region.find(address));
    let block = match found {
        Some(HeapLocation::Block(block)) if block.address == address => block,
        _ => {
            let words = "frees what is not the start of an allocated block";
            fail(MishapKind::Failure, words.to_owned(), pc)
        }
    };
    if let Some((before, by)) = block.freed {
        let (made, before) = (world().image_place(block.made), world().image_place(before));
        let words = format!("frees a block twice; it was allocated {made}, and freed {before}");
        fail_after(Some(by), words, pc);
    }
    let (size, made) = (block.size, block.made);
    // The C++ library counts references to exceptions in code that is not instrumented.
    if !world().exceptions.contains(&made) {
        frees(address, size, pc);
    }
    if let Some(owner) = owner_of(address) {
        let current = world().current;
        let region = &mut world().thread(owner).region;
        region.give_back(address, (pc, current));
    }
    world().me().spin.progress();
    0
}

fn size_of(address: usize, pc: usize) -> i64 {
    match owner_of(address).map(|owner| world().threads[owner].region.find(address)) {
        Some(HeapLocation::Block(block)) if block.address == address && block.freed.is_none() => {
            block.size as i64
        }
        found => {
            let by = match found {
                Some(HeapLocation::Block(block)) => block.freed.map(|(_, by)| by),
                _ => None,
            };
            let words = "reallocates what is not an allocated block";
            fail_after(by, words.to_owned(), pc)
        }
    }
}

/// Appends words to the description of the current step.
pub(crate) fn note(words: &str) {
    let world = world();
    if world.recording {
        world.effects.notes.push(words.to_owned());
    }
}

/// Prints. If the output is observed, printing is a step, because its order matters.
fn print(text: usize, size: usize, pc: usize) -> i64 {
    if world().started > 1 && world().settings.observes_output() {
        let cell = world().object(OUTPUT);
        orders(Pending::new("print", 0, pc), cell);
    }
    // If the output is observed, a loop that prints changes something in every round.
    if world().settings.observes_output() {
        world().me().makes_progress();
    }
    // SAFETY: the shim passes a string of this size.
    let text = unsafe { std::slice::from_raw_parts(text as *const u8, size) };
    let world = world();
    if world.exited {
        note("prints after the end of the process");
        return 0;
    }
    let room = MOST_PRINTED.saturating_sub(world.printed.len());
    world.printed.extend(text.iter().take(room));
    for &byte in text {
        world.output = world.output.then(byte.into());
    }
    if world.recording {
        note(&format!("prints {:?}", String::from_utf8_lossy(text)));
    }
    0
}

/// Begins an atomic section of SV-COMP. The section is one step. A loop of sections that change
/// nothing waits for a change (spin.rs).
fn begin_section(pc: usize, (sp, registers): (usize, usize)) -> i64 {
    let world = world();
    let Some(cell) = world.sections else {
        return 0;
    };
    let spins = world.spins(pc, (0, 0), (sp, registers));
    let pending = Pending::new("atomic section", 0, pc).on(AccessKind::Write, cell);
    announce(if spins {
        pending.until(WaitCondition::Change)
    } else {
        pending
    });
    let world = self::world();
    let current = world.current;
    world.clocks.acquire(current, cell);
    world.in_section = true;
    0
}

/// Ends an atomic section.
fn end_section() -> i64 {
    let world = world();
    if let Some(cell) = world.sections {
        let current = world.current;
        world.clocks.release(current, cell);
        world.in_section = false;
    }
    0
}

/// Returns an unknown value from `start` up to, but not including, `end`.
pub(crate) fn choose(start: i64, end: i64, pc: usize) -> i64 {
    if world().weak.on {
        return weak::choose(start, end, pc);
    }
    announce(Pending::new("choose", 0, pc));
    let value = world().outcome(start, end);
    note(&format!("{value}"));
    value
}

fn nondet(kind: usize, pc: usize) -> i64 {
    // SAFETY: the shim passes the name of a type.
    let kind = unsafe { std::ffi::CStr::from_ptr(kind as *const libc::c_char) };
    let kind = kind.to_str().unwrap_or_default();
    let mut inputs = world().settings.inputs.iter();
    let given = inputs.find(|(name, ..)| name == kind);
    let given = given.map(|&(_, least, greatest)| (least, greatest));
    let Some((least, greatest)) = given.or_else(|| few_values(kind)) else {
        refuse(
            format!(
                "__VERIFIER_nondet_{kind}: say which values it has, as in --inputs {kind}=0..3"
            ),
            pc,
        )
    };
    choose(least, greatest.saturating_add(1), pc)
}
