//! Stacks for coroutines. They are reused, and an overflow is reported.

use std::cell::{Cell, RefCell};

use corosensei::stack::DefaultStack;

/// Stacks that are not in use.
pub(crate) struct Stacks {
    size: usize,
    free: Vec<DefaultStack>,
}

thread_local! {
    /// Stacks that the last model on this real thread has left, and their size.
    static LEFT: RefCell<(usize, Vec<DefaultStack>)> = const { RefCell::new((0, Vec::new())) };
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // While the real thread ends, its thread-local may be gone already.
        let _kept = LEFT.try_with(|left| {
            *left.borrow_mut() = (self.size, std::mem::take(&mut self.free));
        });
    }
}

impl Stacks {
    pub fn new(size: usize) -> Self {
        watch_for_overflow();
        let (left, free) = LEFT.take();
        Self {
            size,
            free: if left == size { free } else { Vec::new() },
        }
    }

    /// Returns a stack of the usual size, or a larger one if the thread asks for it.
    pub fn get(&mut self, size: Option<usize>) -> DefaultStack {
        match size.filter(|&size| size > self.size) {
            Some(size) => new_stack(size),
            None => self.free.pop().unwrap_or_else(|| new_stack(self.size)),
        }
    }

    pub fn put(&mut self, stack: DefaultStack) {
        self.free.push(stack);
    }
}

fn new_stack(size: usize) -> DefaultStack {
    match DefaultStack::new(size) {
        Ok(stack) => stack,
        Err(error) => {
            panic!("there is no memory for the stack of a thread ({size} bytes): {error}")
        }
    }
}

thread_local! {
    /// The lowest address of the stack of the coroutine that runs.
    static LIMIT: Cell<usize> = const { Cell::new(0) };
}

/// Sets the lowest address of the stack of the coroutine that runs next.
pub(crate) fn limit(limit: usize) {
    LIMIT.set(limit);
}

#[cfg(not(unix))]
fn watch_for_overflow() {}

#[cfg(unix)]
use unix::watch_for_overflow;

#[cfg(unix)]
#[allow(unsafe_code)]
mod unix {
    use std::mem::MaybeUninit;
    use std::sync::Once;

    use super::LIMIT;

    /// Size of the guard page and of what a large frame may jump over.
    const REACH: usize = 64 * 1024;

    const WORDS: &[u8] = b"\nmazurka: a thread of the model has overflowed its stack.\n\
        Is there a recursion without an end? If not, give it more with MAZURKA_STACK_SIZE, Builder::stack_size or\n\
        thread::Builder::stack_size (in bytes).\n";

    static mut BEFORE: [MaybeUninit<libc::sigaction>; 2] = [MaybeUninit::uninit(); 2];
    const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

    /// Installs a handler that reports an overflow before the process dies.
    pub fn watch_for_overflow() {
        static INSTALLED: Once = Once::new();
        // SAFETY: the handler calls only what a handler may call, reads a thread-local that needs
        // no making, and passes on what is not ours. `BEFORE` is written here, once, before the
        // handler can run, and only read afterwards.
        INSTALLED.call_once(|| unsafe {
            for (at, signal) in SIGNALS.into_iter().enumerate() {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handle as *const () as usize;
                // std gives its threads a separate stack for handlers; the handler cannot run on a
                // full one.
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                let before = &raw mut BEFORE[at];
                libc::sigaction(signal, &action, (*before).as_mut_ptr());
            }
        });
    }

    extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: see above.
        unsafe {
            let address = (*info).si_addr() as usize;
            let limit = LIMIT.get();
            if limit != 0 && address.abs_diff(limit) <= REACH {
                libc::write(libc::STDERR_FILENO, WORDS.as_ptr().cast(), WORDS.len());
                libc::abort();
            }
            // Not an overflow of ours: restore the previous handler and retry the instruction.
            let at = usize::from(signal == SIGNALS[1]);
            let before = &raw const BEFORE[at];
            libc::sigaction(signal, (*before).as_ptr(), std::ptr::null_mut());
        }
    }
}
