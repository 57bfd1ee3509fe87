//! Ends threads of a model that never return control. Such a thread overflows its stack, or makes
//! no step for too long, because it loops or because it really blocks (on a lock of std, on input).
//!
//! In both cases a signal handler ends the coroutine as if it had returned ([`corosensei::trap`]).
//! The contents of its stack are leaked, and the test fails; other tests of the process go on. The
//! handler ends a coroutine only where that is safe enough: while nothing of the runtime's state is
//! borrowed, and, for a thread that takes too long, in code of the program itself or in a system
//! call. Elsewhere an overflow ends the process with a message, and a thread that takes too long is
//! interrupted again a little later.
//!
//! A separate real thread watches the models. Each model has a counter, which shows whether a
//! coroutine is running and whether it is still in the same step.

use std::time::Duration;

use mazurka_core::ProcessId;

use crate::verdict::end_test;
use crate::world::World;

/// Why a coroutine was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trap {
    Overflow,
    TooLong,
}

impl Trap {
    /// Fails the test, because the current thread of a model was ended.
    pub fn fail(self, world: &World, limit: Duration) -> ! {
        let words = {
            let inner = world.inner.borrow();
            let process = inner.current;
            let path = &inner.names.paths[process.index()];
            let thread = &inner.threads[process.index()];
            match (process, thread.steps, &thread.pending) {
                (ProcessId(0), 0, _) => format!("thread {path}, before its first step,"),
                (.., pending) => {
                    format!(
                        "thread {path}, after `{}` at {},",
                        pending.what.1, pending.place
                    )
                }
            }
        };
        match self {
            Self::Overflow => end_test!(
                "mazurka: {words} has overflowed its stack.\n\
                 Is there a recursion without an end? If not, give it more with MAZURKA_STACK_SIZE, Builder::stack_size or\n\
                 thread::Builder::stack_size (in bytes)."
            ),
            Self::TooLong => end_test!(
                "mazurka: {words} has made no step for {} seconds (step_limit).\n\
                 Is there a loop that uses nothing of mazurka_rt, or does it wait for a lock of std that another thread of\n\
                 the model holds? If it only takes its time, set MAZURKA_STEP_LIMIT or Builder::step_limit.",
                limit.as_secs_f64()
            ),
        }
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub(crate) use nothing::*;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(crate) use signals::*;

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod nothing {
    use std::time::Duration;

    use corosensei::trap::CoroutineTrapHandler;

    use super::Trap;

    /// Watches a model; does nothing on this platform.
    pub(crate) struct Watch;

    impl Watch {
        pub fn new(_: Duration) -> Self {
            Self
        }

        pub fn enter(&self, _: CoroutineTrapHandler<()>) {}

        pub fn step(&self) {}

        pub fn leave(&self) -> Option<Trap> {
            None
        }
    }
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#[allow(unsafe_code)]
mod signals {
    use std::cell::Cell;
    use std::mem::MaybeUninit;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex, Once, PoisonError};
    use std::time::{Duration, Instant};

    use corosensei::trap::CoroutineTrapHandler;

    use super::Trap;
    use crate::statics::is_code;
    use crate::world::world;

    thread_local! {
        /// The running coroutine.
        static RUNNING: Cell<Option<CoroutineTrapHandler<()>>> = const { Cell::new(None) };
        /// Why the handler has ended the coroutine; `None` if it has not.
        static TRAPPED: Cell<Option<Trap>> = const { Cell::new(None) };
    }

    /// A watched model.
    struct Entry {
        /// A count that every step changes. It is odd while a coroutine runs.
        beats: AtomicU64,
        thread: libc::pthread_t,
        limit: Duration,
    }

    /// Watches the steps of a model while it exists.
    pub(crate) struct Watch(Arc<Entry>);

    /// All watched models.
    static WATCHED: Mutex<Vec<Arc<Entry>>> = Mutex::new(Vec::new());

    /// Time between two checks of the models.
    const PAUSE: Duration = Duration::from_millis(50);

    fn watched() -> std::sync::MutexGuard<'static, Vec<Arc<Entry>>> {
        WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
    }

    impl Watch {
        pub fn new(limit: Duration) -> Self {
            install();
            let entry = Arc::new(Entry {
                beats: AtomicU64::new(0),
                // SAFETY: there is always a current thread.
                thread: unsafe { libc::pthread_self() },
                limit,
            });
            watched().push(entry.clone());
            Self(entry)
        }

        /// Announces that a coroutine is resumed.
        #[inline]
        pub fn enter(&self, coroutine: CoroutineTrapHandler<()>) {
            // `RUNNING.set` would first make an initial value on a thread that has none yet.
            RUNNING.with(|running| running.set(Some(coroutine)));
            self.beat();
        }

        /// Announces that the coroutine has returned control. If the handler has ended the
        /// coroutine, returns why.
        #[inline]
        pub fn leave(&self) -> Option<Trap> {
            self.beat();
            RUNNING.with(|running| running.set(None));
            TRAPPED.with(Cell::take)
        }

        /// Announces that the coroutine makes a step and continues.
        #[inline]
        pub fn step(&self) {
            self.add(2);
        }

        #[inline]
        fn beat(&self) {
            self.add(1);
        }

        #[inline]
        fn add(&self, beats: u64) {
            let before = self.0.beats.load(Ordering::Relaxed);
            self.0.beats.store(before + beats, Ordering::Relaxed);
        }
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            watched().retain(|entry| !Arc::ptr_eq(entry, &self.0));
        }
    }

    /// Watches all models, for ever.
    fn watch() {
        let mut seen: Vec<(Arc<Entry>, u64, Instant)> = Vec::new();
        loop {
            std::thread::sleep(PAUSE);
            let all = watched();
            seen.retain(|(known, ..)| all.iter().any(|entry| Arc::ptr_eq(entry, known)));
            for entry in all.iter() {
                let beats = entry.beats.load(Ordering::Relaxed);
                let known = seen
                    .iter_mut()
                    .find(|(known, ..)| Arc::ptr_eq(entry, known));
                let Some((_, last, since)) = known else {
                    seen.push((entry.clone(), beats, Instant::now()));
                    continue;
                };
                if *last != beats {
                    (*last, *since) = (beats, Instant::now());
                } else if beats % 2 == 1 && since.elapsed() >= entry.limit {
                    // SAFETY: the thread exists as long as its entry is in the list.
                    unsafe {
                        libc::pthread_kill(entry.thread, interruption());
                    }
                }
            }
        }
    }

    /// The signal that asks a thread to end its coroutine.
    fn interruption() -> libc::c_int {
        libc::SIGRTMAX() - 3
    }

    const WORDS: &[u8] = b"\nmazurka: a thread of the model has overflowed its stack.\n\
        Is there a recursion without an end? If not, give it more with MAZURKA_STACK_SIZE, Builder::stack_size or\n\
        thread::Builder::stack_size (in bytes).\n";

    static mut BEFORE: [MaybeUninit<libc::sigaction>; 2] = [MaybeUninit::uninit(); 2];
    const FAULTS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

    /// Installs the handlers and starts the watch.
    fn install() {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            // The first call of `is_code` builds the table of segments. A handler must not do that.
            is_code(0);
            // SAFETY: the handlers call only what a handler may call, read thread-locals that need
            // no initialisation, and pass on other signals. `BEFORE` is written here, once, before
            // the handlers can run, and only read afterwards.
            unsafe {
                let action = |handler: Handler| {
                    let mut action: libc::sigaction = std::mem::zeroed();
                    action.sa_sigaction = handler as *const () as usize;
                    // std gives its threads a separate stack for handlers; the handler cannot run
                    // on the stack that has overflowed.
                    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
                    action
                };
                for (at, signal) in FAULTS.into_iter().enumerate() {
                    let before = &raw mut BEFORE[at];
                    libc::sigaction(signal, &action(fault), (*before).as_mut_ptr());
                }
                libc::sigaction(interruption(), &action(interrupt), std::ptr::null_mut());
            }
            let thread = std::thread::Builder::new().name("mazurka-watch".into());
            // If the watching thread cannot start, the only loss is that a thread of a model may
            // hang.
            let _started = thread.spawn(watch);
        });
    }

    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

    /// Handles a fault: a stack overflow of the running coroutine, or an unrelated fault.
    extern "C" fn fault(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: see `install`.
        unsafe {
            let address = (*info).si_addr() as usize;
            if let Some(coroutine) = RUNNING.get() {
                // The guard page is a part of the stack.
                if coroutine.stack_ptr_in_bounds(address) {
                    if may_end() && end(Trap::Overflow, context) {
                        return;
                    }
                    libc::write(libc::STDERR_FILENO, WORDS.as_ptr().cast(), WORDS.len());
                    libc::abort();
                }
            }
            // This is not an overflow of a coroutine: restore the previous handler and retry the
            // instruction.
            let at = usize::from(signal == FAULTS[1]);
            let before = &raw const BEFORE[at];
            libc::sigaction(signal, (*before).as_ptr(), std::ptr::null_mut());
        }
    }

    /// Ends a coroutine that takes too long, if that is possible now.
    extern "C" fn interrupt(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: see `install`.
        unsafe {
            if RUNNING.get().is_some() && may_end() && is_interruptible(counter(context)) {
                end(Trap::TooLong, context);
            }
        }
    }

    /// Whether the coroutine can be ended. It cannot while it borrows the state of the runtime,
    /// which would stay borrowed.
    fn may_end() -> bool {
        let free = world().is_some_and(|world| world.inner.try_borrow_mut().is_ok());
        free && !std::thread::panicking()
    }

    /// Whether the code at an address may be abandoned: it is the program's own, or a system call.
    /// The allocator must not be abandoned.
    unsafe fn is_interruptible(address: usize) -> bool {
        #[cfg(target_arch = "x86_64")]
        let is_call = |at: usize| {
            // SAFETY: the thread has run the code there.
            unsafe { std::ptr::read_unaligned(at as *const [u8; 2]) == [0x0f, 0x05] }
        };
        #[cfg(target_arch = "aarch64")]
        let is_call = |at: usize| {
            // SAFETY: as above.
            unsafe { std::ptr::read_unaligned(at as *const u32) == 0xd400_0001 }
        };
        let before = if cfg!(target_arch = "x86_64") { 2 } else { 4 };
        is_code(address) || is_call(address) || is_call(address - before)
    }

    #[cfg(target_arch = "x86_64")]
    unsafe fn counter(context: *mut libc::c_void) -> usize {
        // SAFETY: the context of a handler.
        unsafe {
            let context = &*context.cast::<libc::ucontext_t>();
            context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize
        }
    }

    #[cfg(target_arch = "aarch64")]
    unsafe fn counter(context: *mut libc::c_void) -> usize {
        // SAFETY: the context of a handler.
        unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.pc as usize }
    }

    /// Makes the coroutine return when the handler does. Returns false if another stack
    /// was interrupted.
    unsafe fn end(why: Trap, context: *mut libc::c_void) -> bool {
        // SAFETY: the context of a handler. The coroutine was interrupted if its stack was in use,
        // and the registers are set as corosensei demands. What it leaves behind is leaked; the
        // test fails, and nothing of the model runs again.
        unsafe {
            let context = &mut *context.cast::<libc::ucontext_t>();
            let Some(coroutine) = RUNNING.get() else {
                return false;
            };
            #[cfg(target_arch = "x86_64")]
            {
                let registers = &mut context.uc_mcontext.gregs;
                let stack = registers[libc::REG_RSP as usize] as usize;
                if !coroutine.stack_ptr_in_bounds(stack) {
                    return false;
                }
                TRAPPED.set(Some(why));
                let new = coroutine.setup_trap_handler(|| ());
                registers[libc::REG_RIP as usize] = new.rip as i64;
                registers[libc::REG_RSP as usize] = new.rsp as i64;
                registers[libc::REG_RBP as usize] = new.rbp as i64;
                registers[libc::REG_RDI as usize] = new.rdi as i64;
                registers[libc::REG_RSI as usize] = new.rsi as i64;
            }
            #[cfg(target_arch = "aarch64")]
            {
                let registers = &mut context.uc_mcontext;
                if !coroutine.stack_ptr_in_bounds(registers.sp as usize) {
                    return false;
                }
                TRAPPED.set(Some(why));
                let new = coroutine.setup_trap_handler(|| ());
                registers.pc = new.pc;
                registers.sp = new.sp;
                registers.regs[0] = new.x0;
                registers.regs[1] = new.x1;
                registers.regs[29] = new.x29;
                registers.regs[30] = new.lr;
            }
            true
        }
    }
}
