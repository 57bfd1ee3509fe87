//! Mutexes, condition variables, threads, blocks: what the program asks the runtime for.

use mazurka_core::{Access, AccessKind, MishapKind, ProcessId};

use crate::access::{announce, check, fail, frees, refuse, rest};
use crate::calls::{Ask, Halt};
use crate::ends::{at_exit, last_function, later, orders, take_last};
use crate::heap::{self, Found};
use crate::inputs::few_values;
use crate::waits::{
    barrier, once_enter, once_leave, rw_read, rw_unlock, rw_write, sem_post, sem_timed_wait,
    sem_value, sem_wait,
};
use crate::world::{Life, Pending, Request, Routine, Until, world};
use crate::{futex, weak};

/// The kinds of a mutex, as the C library numbers them.
pub(crate) const RECURSIVE: i64 = 1;
pub(crate) const ERRORCHECK: i64 = 2;

/// No object of the program has such an address.
const OUTPUT: usize = usize::MAX - (1 << 21) - 1;

/// So much of what is printed is shown where two executions differ.
const MOST_PRINTED: usize = 400;

/// A thread is halted.
pub(crate) extern "C" fn halt(kind: u32, words: *const libc::c_char, pc: usize) {
    // SAFETY: the shim passes a text.
    let words = unsafe { std::ffi::CStr::from_ptr(words) };
    let words = words.to_string_lossy().into_owned();
    if !world().in_model {
        // There is no thread to halt: the process ends, and the one that started it says so.
        // SAFETY: ends the process.
        unsafe { libc::abort() };
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
        _ => fail(
            MishapKind::Failure,
            format!("the program aborts: {words}"),
            pc,
        ),
    }
}

/// A thread is started.
pub(crate) extern "C" fn start(
    handle: *mut usize,
    function: extern "C" fn(usize) -> usize,
    argument: usize,
    detached: i64,
    pc: usize,
) {
    let world = world();
    if !world.in_model {
        // SAFETY: ends the process: a constructor starts a thread.
        unsafe { libc::abort() };
    }
    let routine: Routine = (function, argument);
    if world.weak.on {
        weak::spawn(routine, detached != 0, pc);
    } else {
        world.start = Some((routine, detached != 0, pc));
        world.me().spin.progress();
        let yielder = world.me().yielder;
        // SAFETY: the yielder lives on the stack of the coroutine that this is called from.
        unsafe { (*yielder).suspend(Request::Start) };
    }
    // SAFETY: the handle is the shim's.
    unsafe { *handle = self::world().last_child.index() + 1 };
}

/// What a thread asks for.
/// `registers` are those that the program keeps.
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
    world().reaches(registers);
    if world().weak.on
        && let Some(done) = weak::ask(what, one, other, pc)
    {
        return done;
    }
    world().end_write();
    match what {
        Ask::Malloc | Ask::Free | Ask::Size | Ask::Print => {}
        Ask::AtomicBegin | Ask::AtomicEnd | Ask::Now | Ask::Later => {}
        Ask::Self_ | Ask::KeyGet => {}
        _ => world().me().spin.progress(),
    }
    match what {
        Ask::MutexInit => {
            let cell = world().object(object);
            world().cell(cell).destroyed = false;
            0
        }
        Ask::MutexDestroy => destroy(object, pc),
        Ask::MutexLock => lock(object, other, pc),
        Ask::MutexTrylock => try_lock(object, other, pc, libc::EBUSY),
        Ask::MutexTimedlock => timed_lock(object, other, pc),
        Ask::MutexUnlock => unlock(object, other, pc),
        Ask::CondWait => cond_wait(object, other as usize, pc),
        Ask::CondTimedwait => cond_timed_wait(object, other as usize, pc),
        Ask::CondSignal => notify(object, false, pc),
        Ask::CondBroadcast => notify(object, true, pc),
        Ask::RwRead | Ask::RwTryread => rw_read(object, what == Ask::RwTryread, pc),
        Ask::RwWrite | Ask::RwTrywrite => rw_write(object, what == Ask::RwTrywrite, pc),
        Ask::RwUnlock => rw_unlock(object, pc),
        Ask::SemInit => 0,
        Ask::SemWait => sem_wait(object, true, 0, pc),
        Ask::SemTrywait => sem_wait(object, false, libc::EAGAIN, pc),
        Ask::SemTimedwait => sem_timed_wait(object, pc),
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
            exit(one);
            world().me().exits = true;
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
        Ask::KeySet => {
            let keys = &mut world().me().keys;
            if keys.len() <= object {
                keys.resize(object + 1, 0);
            }
            keys[object] = other as usize;
            0
        }
        Ask::KeyGet => world()
            .me()
            .keys
            .get(object)
            .map_or(0, |&value| value as i64),
        Ask::KeyDestructor => world().keys.get(object).map_or(1, |&value| value as i64),
        Ask::Malloc => allocate(one as usize, other as usize, pc),
        Ask::Free => free(object, pc),
        Ask::Size => size_of(object, pc),
        Ask::Print => print(object, other as usize, pc),
        Ask::AtomicBegin => begin_section(pc, (other as usize, registers)),
        Ask::AtomicEnd => end_section(),
        Ask::Choose => choose(one, other, pc),
        Ask::Nondet => nondet(object, pc),
        Ask::Now => {
            world().me().reads_clock = true;
            world().me().now
        }
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
        Ask::LastFunction => last_function(one, pc),
        Ask::TakeLast => take_last(one),
    }
}

/// What constructors may ask for.
fn before_main(what: Ask, one: i64, other: i64, pc: usize) -> i64 {
    match what {
        Ask::Malloc => allocate(one as usize, other as usize, pc),
        Ask::OnceEnter => {
            // SAFETY: the guard of a static variable, whose first byte says that it is there.
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
        _ => 0,
    }
}

fn destroy(object: usize, pc: usize) -> i64 {
    let cell = world().object(object);
    if world().cell(cell).holder.is_some() {
        fail(
            MishapKind::Failure,
            "destroys a mutex that is held".to_owned(),
            pc,
        );
    }
    world().cell(cell).destroyed = true;
    0
}

/// The cell of an object, which must be in memory that is there.
pub(crate) fn settled(object: usize, verb: &str, pc: usize) -> u32 {
    check(object, 4, verb, pc);
    world().object(object)
}

/// The cell of a lock, and whether the current thread holds it.
fn of_lock(object: usize, pc: usize) -> (u32, bool) {
    check(object, 4, "uses a lock in", pc);
    let world = world();
    let (cell, current) = (world.object(object), world.current);
    let lock = world.cell(cell);
    if lock.destroyed {
        fail(
            MishapKind::Failure,
            "uses a mutex that was destroyed".to_owned(),
            pc,
        );
    }
    let mine = lock.holder.is_some_and(|(holder, _)| holder == current);
    (cell, mine)
}

/// Takes a lock that is free, for the current thread.
fn take(cell: u32, pc: usize) {
    let world = world();
    let current = world.current;
    let lock = world.cell(cell);
    debug_assert!(lock.holder.is_none(), "the scheduler gave a held lock");
    (lock.holder, lock.depth) = (Some((current, pc)), 1);
    world.clocks.lock(current, cell);
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
    announce(pending.until(Until::Lock(cell)));
    take(cell, pc);
    0
}

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
        return otherwise.into();
    }
    take(cell, pc);
    0
}

/// The time is over at once, or never.
fn timed_lock(object: usize, kind: i64, pc: usize) -> i64 {
    match choose(0, 2, pc) {
        0 => lock(object, kind, pc),
        _ => try_lock(object, kind, pc, libc::ETIMEDOUT),
    }
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
        fail(MishapKind::Failure, words.to_owned(), pc);
    }
    if world().cell(cell).depth > 1 {
        world().cell(cell).depth -= 1;
        return 0;
    }
    announce(Pending::new("unlock", object, pc).on(AccessKind::Release, cell));
    give(cell);
    0
}

fn give(cell: u32) {
    let world = world();
    let current = world.current;
    world.clocks.unlock(current, cell);
    world.cell(cell).holder = None;
}

/// Releases the mutex and enlists. Returns the cells of the two.
fn enlist(object: usize, mutex: usize, pc: usize, verb: &'static str) -> (u32, u32) {
    check(object, 4, "uses a condition variable in", pc);
    let (lock, mine) = of_lock(mutex, pc);
    if !mine {
        let words = "waits for a condition variable with a mutex that it does not hold";
        fail(MishapKind::Failure, words.to_owned(), pc);
    }
    let cell = world().object(object);
    announce(Pending {
        second: Some(Access::read(cell)),
        ..Pending::new(verb, object, pc).on(AccessKind::Release, lock)
    });
    give(lock);
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
    announce(pending.until(Until::Token));
    world().me().token = false;
    relock(lock, mutex, pc);
    0
}

fn relock(lock: u32, mutex: usize, pc: usize) {
    let pending = Pending::new("lock", mutex, pc).on(AccessKind::Acquire, lock);
    announce(pending.until(Until::Lock(lock)));
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
    let cell = settled(object, "uses a condition variable in", pc);
    let verb = if all { "cond_broadcast" } else { "cond_signal" };
    announce(Pending {
        wakes: true,
        ..Pending::new(verb, object, pc).on(AccessKind::Write, cell)
    });
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

/// The thread that a handle names.
pub(crate) fn named(handle: i64, pc: usize, verb: &str) -> ProcessId {
    let thread = ProcessId((handle - 1) as u32);
    let world = world();
    let known = world.threads.get(thread.index());
    match known.filter(|thread| thread.life != Life::Unborn) {
        Some(thread) if thread.joined => {
            let words = format!("{verb} a thread that was joined already");
            fail(MishapKind::Failure, words, pc)
        }
        Some(thread) if thread.detached => {
            let words = format!("{verb} a thread that is detached");
            fail(MishapKind::Failure, words, pc)
        }
        Some(_) => thread,
        None => fail(
            MishapKind::Failure,
            format!("{verb} a thread that does not exist"),
            pc,
        ),
    }
}

fn join(handle: i64, pc: usize) -> i64 {
    let thread = named(handle, pc, "joins");
    announce(Pending::new("join", thread.index(), pc).until(Until::Ended(thread)));
    let world = world();
    let (other, current) = (&mut world.threads[thread.index()], world.current);
    other.joined = true;
    let result = other.result;
    world.clocks.order(thread, current);
    world.effects.joined.push(thread);
    result as i64
}

fn detach(handle: i64, pc: usize) -> i64 {
    let thread = named(handle, pc, "detaches");
    world().threads[thread.index()].detached = true;
    0
}

/// `main` has returned, or the program calls `exit`: other threads may still run for a while, and
/// need not end.
pub(crate) fn exit(code: i64) {
    let world = world();
    world.exited = true;
    world.exit_code = code;
}

/// The current thread ends; what runs at its end has run.
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

/// The region that a block is in.
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
        Some(Found::Block(block)) if block.address == address => block,
        _ => {
            let words = "frees what is not the start of an allocated block";
            fail(MishapKind::Failure, words.to_owned(), pc)
        }
    };
    if let Some(before) = block.freed {
        let (made, before) = (world().image_place(block.made), world().image_place(before));
        let words = format!("frees a block twice; it was allocated {made}, and freed {before}");
        fail(MishapKind::Failure, words, pc);
    }
    let (size, made) = (block.size, block.made);
    // The C++ library counts references to exceptions with code that is not instrumented.
    if !world().exceptions.contains(&made) {
        frees(address, size, pc);
    }
    if let Some(owner) = owner_of(address) {
        world().threads[owner].region.give_back(address, pc);
    }
    world().me().spin.progress();
    0
}

fn size_of(address: usize, pc: usize) -> i64 {
    match owner_of(address).map(|owner| world().threads[owner].region.find(address)) {
        Some(Found::Block(block)) if block.address == address && block.freed.is_none() => {
            block.size as i64
        }
        _ => {
            let words = "reallocates what is not an allocated block";
            fail(MishapKind::Failure, words.to_owned(), pc)
        }
    }
}

/// Adds words to what is told of the current step.
pub(crate) fn note(words: &str) {
    let world = world();
    if world.recording {
        world.effects.notes.push(words.to_owned());
    }
}

/// Where the output is observed its order matters, so that printing is a step.
fn print(text: usize, size: usize, pc: usize) -> i64 {
    if world().started > 1 && world().settings.observes_output() {
        let cell = world().object(OUTPUT);
        orders(Pending::new("print", 0, pc), cell);
    }
    // SAFETY: the shim passes a text of this size.
    let text = unsafe { std::slice::from_raw_parts(text as *const u8, size) };
    let world = world();
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

/// An atomic section of SV-COMP begins. It is one step; one that comes again and changes nothing
/// waits for a change.
fn begin_section(pc: usize, (sp, registers): (usize, usize)) -> i64 {
    let world = world();
    let Some(cell) = world.sections else {
        return 0;
    };
    let spins = world.spins(pc, sp, registers);
    let pending = Pending::new("atomic section", 0, pc).on(AccessKind::Write, cell);
    announce(if spins {
        pending.until(Until::Change)
    } else {
        pending
    });
    let world = self::world();
    let current = world.current;
    world.clocks.acquire(current, cell);
    world.in_section = true;
    0
}

/// It ends.
fn end_section() -> i64 {
    let world = world();
    if let Some(cell) = world.sections {
        let current = world.current;
        world.clocks.release(current, cell);
        world.in_section = false;
    }
    0
}

/// A value that is not known, from `start` up to, but not including, `end`.
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
