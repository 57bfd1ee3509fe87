//! Faults of the program's threads: each ends its coroutine, so that a fault is a finding and not
//! the end of the tool. As in `mazurka-rt`, with more signals.
//!
//! A timer of processor time finds threads that make no step for long.

use std::cell::Cell;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use corosensei::trap::CoroutineTrapHandler;

/// Why a coroutine was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trap {
    /// A signal, the address that was accessed, and where the code was.
    Fault {
        signal: i32,
        address: usize,
        pc: usize,
    },
    /// It has used its whole stack.
    Overflow { pc: usize },
    /// It makes no step.
    TooLong { pc: usize },
    /// The same, and the time of the search is over.
    OutOfTime,
}

/// A cell of the one thread that runs programs, and of the handlers that interrupt it.
struct Alone<T>(Cell<T>);

// SAFETY: programs run on one thread (`world.rs`); handlers of other threads see no coroutine of
// theirs on their stack, and change nothing (`end`).
unsafe impl<T> Sync for Alone<T> {}

static RUNNING: Alone<Option<CoroutineTrapHandler<()>>> = Alone(Cell::new(None));
static TRAPPED: Alone<Option<Trap>> = Alone(Cell::new(None));

/// Counts resumptions, for the timer.
static BEATS: AtomicU64 = AtomicU64::new(0);
/// The count at the last tick, and how many ticks it has not changed.
static SEEN: AtomicU64 = AtomicU64::new(0);
static TICKS: AtomicU64 = AtomicU64::new(0);

/// Seconds of processor time that one step may take.
pub(crate) const MOST_SECONDS: u64 = 10;
/// How often the timer looks in a second.
const TICKS_A_SECOND: u64 = 10;

/// When the search is over, in milliseconds of the clock; 0 if there is no limit.
static DEADLINE: AtomicU64 = AtomicU64::new(0);
/// The user wants the search to end.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// The search is over, and the current step goes on and on.
static OVER: AtomicBool = AtomicBool::new(false);

fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes the time; a handler may call it.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// The search that starts now may take so long.
pub(crate) fn set_deadline(time: Option<Duration>) {
    let end = time.map_or(0, |time| now().saturating_add(time.as_millis() as u64));
    DEADLINE.store(end, Ordering::Relaxed);
}

/// The user wants the search to end. May be called by any thread.
pub(crate) fn interrupt() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Whether the search is over, and the current step goes on and on.
#[inline]
pub(crate) fn is_over() -> bool {
    OVER.load(Ordering::Relaxed)
}

const FAULTS: [i32; 5] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGABRT,
];

/// A coroutine is resumed.
#[inline]
pub(crate) fn enter(coroutine: CoroutineTrapHandler<()>) {
    RUNNING.0.set(Some(coroutine));
    OVER.store(false, Ordering::Relaxed);
    let beats = BEATS.load(Ordering::Relaxed);
    BEATS.store(beats + 1, Ordering::Relaxed);
}

/// It has come back. Returns why, if it was ended.
#[inline]
pub(crate) fn leave() -> Option<Trap> {
    RUNNING.0.set(None);
    TRAPPED.0.take()
}

type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Installs the handlers and the timer.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: the handlers call only what a handler may call and read thread-locals that need
        // no making. std gives its threads a stack for handlers.
        unsafe {
            let action = |handler: Handler| {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
                action
            };
            for signal in FAULTS {
                libc::sigaction(signal, &action(fault), std::ptr::null_mut());
            }
            libc::sigaction(libc::SIGVTALRM, &action(tick), std::ptr::null_mut());
            let tick = libc::timeval {
                tv_sec: 0,
                tv_usec: 1_000_000 / TICKS_A_SECOND as i64,
            };
            let timer = libc::itimerval {
                it_interval: tick,
                it_value: tick,
            };
            libc::setitimer(libc::ITIMER_VIRTUAL, &timer, std::ptr::null_mut());
        }
    });
}

fn pc_of(context: *mut libc::c_void) -> usize {
    // SAFETY: the context of a handler.
    unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize
    }
}

extern "C" fn fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: see `install`.
    unsafe {
        let address = (*info).si_addr() as usize;
        let pc = pc_of(context);
        if let Some(coroutine) = RUNNING.0.get() {
            // The guard is a part of the stack.
            let why = if coroutine.stack_ptr_in_bounds(address) && signal == libc::SIGSEGV {
                Trap::Overflow { pc }
            } else {
                Trap::Fault {
                    signal,
                    address,
                    pc,
                }
            };
            if end(why, context) {
                return;
            }
        }
        // A fault of the tool itself: the process ends by this signal.
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

extern "C" fn tick(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let beats = BEATS.load(Ordering::Relaxed);
    if SEEN.swap(beats, Ordering::Relaxed) != beats || RUNNING.0.get().is_none() {
        TICKS.store(0, Ordering::Relaxed);
        return;
    }
    let ticks = TICKS.fetch_add(1, Ordering::Relaxed) + 1;
    let pc = pc_of(context);
    let deadline = DEADLINE.load(Ordering::Relaxed);
    let over = INTERRUPTED.load(Ordering::Relaxed) || deadline > 0 && now() >= deadline;
    // The tool's own code is not left in the middle; it looks itself.
    OVER.store(over, Ordering::Relaxed);
    let too_long = ticks >= MOST_SECONDS * TICKS_A_SECOND;
    if (over || too_long) && crate::machine::is_program(pc) {
        let why = if over {
            Trap::OutOfTime
        } else {
            Trap::TooLong { pc }
        };
        // SAFETY: see `install`.
        unsafe {
            end(why, context);
        }
    }
}

/// Makes the coroutine return when the handler does. Returns false if it is not the one that was
/// interrupted.
unsafe fn end(why: Trap, context: *mut libc::c_void) -> bool {
    // SAFETY: the context of a handler. The coroutine is the one that was interrupted if its stack
    // was in use, and the registers are set as corosensei asks for. What it leaves behind is the
    // program's memory, which the next execution starts afresh.
    unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        let Some(coroutine) = RUNNING.0.get() else {
            return false;
        };
        let registers = &mut context.uc_mcontext.gregs;
        let stack = registers[libc::REG_RSP as usize] as usize;
        if !coroutine.stack_ptr_in_bounds(stack) {
            return false;
        }
        TRAPPED.0.set(Some(why));
        let new = coroutine.setup_trap_handler(|| ());
        registers[libc::REG_RIP as usize] = new.rip as i64;
        registers[libc::REG_RSP as usize] = new.rsp as i64;
        registers[libc::REG_RBP as usize] = new.rbp as i64;
        registers[libc::REG_RDI as usize] = new.rdi as i64;
        registers[libc::REG_RSI as usize] = new.rsi as i64;
        true
    }
}

impl Trap {
    /// What has happened, in words, and where.
    pub fn words(self) -> (String, usize) {
        match self {
            Self::OutOfTime => ("the time is over".to_owned(), 0),
            Self::Overflow { pc } => (
                "has overflowed its stack: a recursion without an end?".to_owned(),
                pc + 1,
            ),
            Self::TooLong { pc } => (
                format!(
                    "has made no step for {MOST_SECONDS} seconds of processor time: an endless loop?"
                ),
                pc + 1,
            ),
            Self::Fault {
                signal,
                address,
                pc,
            } => {
                let words = match signal {
                    libc::SIGSEGV | libc::SIGBUS if address < 4096 => {
                        "segmentation fault: it uses a null pointer".to_owned()
                    }
                    libc::SIGSEGV | libc::SIGBUS => {
                        "segmentation fault: it accesses memory that is not there".to_owned()
                    }
                    libc::SIGFPE => "arithmetic fault: a division by zero?".to_owned(),
                    libc::SIGILL => "illegal instruction".to_owned(),
                    _ => "the program aborts: is an exception not caught?".to_owned(),
                };
                (words, pc + 1)
            }
        }
    }
}
