//! Faults of the program's threads. A signal handler ends the coroutine, and the fault becomes a
//! finding; the tool continues. The design is that of trap.rs in `mazurka-rt`, with more signals. A
//! timer that counts processor time detects threads that make no step for a long time.

use std::cell::Cell;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use corosensei::trap::CoroutineTrapHandler;

/// Why a coroutine was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trap {
    /// The thread got this signal when it accessed `address` from the code at `pc`.
    Fault {
        signal: i32,
        address: usize,
        pc: usize,
    },
    /// The thread has used its whole stack.
    Overflow { pc: usize },
    /// The thread makes no step.
    TooLong { pc: usize },
    /// The thread makes no step, and the time limit of the search has passed.
    OutOfTime,
}

/// A cell that is used only by the real thread that runs programs, and by the handlers that
/// interrupt this thread.
struct RunnerCell<T>(Cell<T>);

// SAFETY: programs run on one thread (`world.rs`). A handler that interrupts another thread does
// not find the coroutine on that thread's stack, and changes nothing (`end`).
unsafe impl<T> Sync for RunnerCell<T> {}

static RUNNING: RunnerCell<Option<CoroutineTrapHandler<()>>> = RunnerCell(Cell::new(None));
static TRAPPED: RunnerCell<Option<Trap>> = RunnerCell(Cell::new(None));

/// Number of times that a coroutine was resumed. If it does not change between two ticks of the
/// timer, no step was made.
static BEATS: AtomicU64 = AtomicU64::new(0);
/// The value of `BEATS` at the last tick of the timer, and the number of ticks since that value
/// last changed.
static SEEN: AtomicU64 = AtomicU64::new(0);
static TICKS: AtomicU64 = AtomicU64::new(0);

/// Seconds of processor time that one step may take.
pub(crate) const MOST_SECONDS: u64 = 10;
/// Number of checks of the timer in a second.
const TICKS_A_SECOND: u64 = 10;

/// The time at which the time limit of the search ends, in milliseconds of the monotonic clock; 0
/// if there is no limit.
static DEADLINE: AtomicU64 = AtomicU64::new(0);
/// Whether the user has interrupted the search.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Whether the search should stop during the current step.
static OVER: AtomicBool = AtomicBool::new(false);

fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes the time; signal handlers may call it.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// Sets the time limit of the search that starts now; `None` for no limit.
pub(crate) fn set_deadline(time: Option<Duration>) {
    let end = time.map_or(0, |time| now().saturating_add(time.as_millis() as u64));
    DEADLINE.store(end, Ordering::Relaxed);
}

/// Interrupts the search. Any thread may call it.
pub(crate) fn interrupt() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Whether the search should stop during the current step.
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

/// Records that a coroutine is resumed.
#[inline]
pub(crate) fn enter(coroutine: CoroutineTrapHandler<()>) {
    RUNNING.0.set(Some(coroutine));
    OVER.store(false, Ordering::Relaxed);
    let beats = BEATS.load(Ordering::Relaxed);
    BEATS.store(beats + 1, Ordering::Relaxed);
}

/// Records that the coroutine has returned or was suspended. Returns the reason if a handler has
/// ended it.
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
        // SAFETY: the handlers call only functions that are safe in handlers, and read
        // thread-locals without an initialiser. std gives its threads an alternate signal stack.
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
    // SAFETY: this is the context of a handler.
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
            // The bounds of the stack include the guard page.
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
        // This is a fault of the tool itself: the signal ends the process.
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
    // Code of the tool is not interrupted; it checks `OVER` itself.
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

/// Makes the coroutine return when the handler returns. Returns false if the handler has not
/// interrupted the coroutine.
unsafe fn end(why: Trap, context: *mut libc::c_void) -> bool {
    // SAFETY: this is the context of a handler. The handler has interrupted the coroutine if the
    // stack pointer is on the coroutine's stack, and the registers are set as corosensei requires.
    // The coroutine leaves only memory of the program, which the next execution resets.
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
    /// Describes the fault, and says where it happened.
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
