//! Recognises destructors that the last reference of std's `Arc` runs.
//!
//! std's counts order these destructors after everything that other threads did with their
//! references, but the clocks and memory models do not see these counts. The stack shows which code
//! has called a destructor: std calls it from `Arc::drop_slow`, which is never inlined. Our own
//! `Arc` is built on std's, so it calls `drop_slow`, too, but its counts are tracked. So each
//! thread counts the running destructors that our own `Arc`s have called. If the stack shows more
//! frames of `drop_slow` than this count, the code under test uses std's `Arc` itself, and that
//! `Arc` has called a destructor.
//!
//! The symbols of a stack are looked up once for each sequence of return addresses. In a program
//! without symbols (`strip = true`), no destructor is recognised.

use std::backtrace::Backtrace;

use rustc_hash::FxHashMap;

use crate::names::Meta;
use crate::world::{Inner, world};

/// The stacks that were seen: for each sequence of return addresses, the number of `drop_slow`
/// frames, including those of our own `Arc`s.
#[derive(Default)]
pub(crate) struct KnownStacks(FxHashMap<Box<[usize]>, u32>);

/// Exists while a destructor runs that our own `Arc` has called.
pub(crate) struct SeenDestructor;

impl SeenDestructor {
    /// Begins the destructor.
    pub fn begin() -> Option<Self> {
        let world = world()?;
        world.inner.borrow_mut().me().seen_destructors += 1;
        Some(Self)
    }
}

impl Drop for SeenDestructor {
    fn drop(&mut self) {
        if let Some(world) = world() {
            world.inner.borrow_mut().me().seen_destructors -= 1;
        }
    }
}

impl Inner {
    /// Whether a destructor is running that the last reference of std's `Arc` has called.
    #[cold]
    pub fn is_in_unseen_destructor(&mut self) -> bool {
        // The caller's borrow keeps the allocator from recording blocks meanwhile (heap.rs).
        let mut known = std::mem::take(&mut self.freed.stacks);
        let thread = self.me();
        let (seen, base) = (thread.seen_destructors, thread.stack.1);
        let all = match return_addresses(base) {
            None => count_destructors(),
            Some(stack) => match known.0.get(&*stack) {
                Some(&count) => count,
                None => {
                    let count = count_destructors();
                    known.0.insert(stack.into(), count);
                    count
                }
            },
        };
        self.freed.stacks = known;
        all > seen
    }

    /// Whether an object lies on the stack of the current thread.
    pub fn is_on_own_stack(&mut self, meta: &Meta) -> bool {
        let (limit, base) = self.me().stack;
        (limit..base).contains(&(std::ptr::from_ref(meta) as usize))
    }
}

/// Returns the number of running destructors that an `Arc` has called, according to the symbols of
/// the stack.
fn count_destructors() -> u32 {
    let stack = Backtrace::force_capture().to_string();
    let mut lines = stack.lines().peekable();
    let mut count = 0;
    while let Some(line) = lines.next() {
        // With line tables only, names have no path, but the next line has the place.
        let place = lines.peek().map_or("", |place| place.trim_start());
        let is_arcs = line.contains("alloc::sync::Arc<")
            || place.starts_with("at ")
                && (place.contains("alloc/src/sync.rs") || place.contains("alloc\\src\\sync.rs"));
        count += u32::from(line.contains("drop_slow") && is_arcs);
    }
    count
}

/// Returns the return addresses on the current stack, whose base is given.
#[cfg(unix)]
fn return_addresses(base: usize) -> Option<Vec<usize>> {
    use std::ffi::{c_int, c_void};

    // The unwinder's interface, which is the same for all languages (Itanium C++ ABI).
    #[allow(unsafe_code)]
    unsafe extern "C" {
        fn _Unwind_Backtrace(
            trace: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
            argument: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(frame: *mut c_void) -> usize;
        fn _Unwind_GetCFA(frame: *mut c_void) -> usize;
    }

    /// Continues with the next frame.
    const NO_REASON: c_int = 0;
    const END_OF_STACK: c_int = 5;

    struct Trace {
        addresses: Vec<usize>,
        base: usize,
    }

    extern "C" fn add(frame: *mut c_void, argument: *mut c_void) -> c_int {
        // SAFETY: `return_addresses` passes its own trace, which nothing else uses meanwhile, and
        // the unwinder passes a frame.
        #[allow(unsafe_code)]
        let (trace, address, top) = unsafe {
            let trace = &mut *argument.cast::<Trace>();
            (trace, _Unwind_GetIP(frame), _Unwind_GetCFA(frame))
        };
        if top > trace.base {
            return END_OF_STACK;
        }
        trace.addresses.push(address);
        NO_REASON
    }

    let mut trace = Trace {
        addresses: Vec::with_capacity(64),
        base,
    };
    // SAFETY: the function and its argument belong together, and both outlive the call.
    #[allow(unsafe_code)]
    unsafe {
        _Unwind_Backtrace(add, (&raw mut trace).cast());
    }
    Some(trace.addresses)
}

/// On other platforms there is no such interface, and the symbols are looked up each time.
#[cfg(not(unix))]
fn return_addresses(_base: usize) -> Option<Vec<usize>> {
    None
}
