//! Uses of objects after their drop.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mazurka_rt::cell::UnsafeCell;
use mazurka_rt::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use mazurka_rt::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, fence};
use mazurka_rt::sync::{Arc, Mutex};
use mazurka_rt::{Builder, Memory, model, thread};

/// A pointer that threads share at their own risk.
struct Shared<T>(*mut T);

// SAFETY: these tests are about code that breaks this promise.
#[allow(unsafe_code)]
unsafe impl<T> Send for Shared<T> {}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

#[allow(unsafe_code)]
impl<T> Shared<T> {
    fn new(value: T) -> Self {
        Self(Box::into_raw(Box::new(value)))
    }

    fn get(&self) -> &T {
        // SAFETY: none; the object may have been freed, which the test must find.
        unsafe { &*self.0 }
    }

    fn free(self) {
        // SAFETY: it was made by `new`, and each test frees it once.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

fn failure(f: impl Fn() + Send + Sync + 'static) -> String {
    let result = catch_unwind(AssertUnwindSafe(|| model(f)));
    let message = result.expect_err("a use after free is not found");
    message.downcast_ref::<String>().expect("a text").clone()
}

fn found(f: impl Fn() + Send + Sync + 'static) {
    let message = failure(f);
    assert!(message.contains("use after free"), "{message}");
}

#[test]
fn an_atomic_that_another_thread_has_freed() {
    let message = failure(|| {
        let shared = Shared::new(AtomicU32::new(0));
        let other = shared.clone();
        let thread = thread::spawn(move || other.get().store(1, SeqCst));
        let flag = AtomicBool::new(false);
        flag.store(true, SeqCst);
        shared.free();
        thread.join().unwrap();
    });
    assert!(
        message.starts_with("use after free: thread 0.0 uses the AtomicU32"),
        "{message}"
    );
    assert!(
        message.contains("which thread 0 has dropped, after its step"),
        "{message}"
    );
}

#[test]
fn a_use_that_a_join_orders() {
    let summary = Builder::new().check(|| {
        let shared = Shared::new((AtomicU32::new(0), Mutex::new(0), UnsafeCell::new(0)));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            let (atomic, lock, cell) = other.get();
            atomic.store(1, SeqCst);
            *lock.lock().unwrap() += 1;
            cell.with(|_| ());
        });
        shared.get().0.load(SeqCst);
        thread.join().unwrap();
        shared.free();
    });
    assert!(summary.is_complete());
}

#[test]
fn a_use_that_comes_after_the_end() {
    // The thread starts after the drop of the atomic, so it can use the atomic only after that.
    let message = failure(|| {
        let shared = Shared::new(AtomicU32::new(0));
        shared.get().store(1, SeqCst);
        let other = shared.clone();
        shared.free();
        thread::spawn(move || other.get().load(SeqCst));
    });
    assert!(message.contains("which thread 0 has dropped"), "{message}");
    assert!(message.contains("AtomicU32 made at"), "{message}");
}

#[test]
fn a_lock_that_another_thread_has_freed() {
    found(|| {
        let shared = Shared::new(Mutex::new(0));
        let other = shared.clone();
        let thread = thread::spawn(move || *other.get().lock().unwrap() += 1);
        let flag = AtomicBool::new(false);
        flag.store(true, SeqCst);
        shared.free();
        let _ended = thread.join();
    });
}

#[test]
fn a_stack_that_frees_nodes_too_early() {
    struct Node {
        next: AtomicPtr<Node>,
    }
    fn pop(head: &AtomicPtr<Node>, [load, exchange]: [Ordering; 2]) {
        loop {
            let first = head.load(load);
            if first.is_null() {
                return;
            }
            let next = Shared(first).get().next.load(load);
            let popped = head.compare_exchange(first, next, exchange, load);
            if popped.is_ok() {
                return Shared(first).free();
            }
        }
    }
    for orders in [[SeqCst; 2], [Acquire, AcqRel]] {
        found(move || {
            let node = Box::into_raw(Box::new(Node {
                next: AtomicPtr::default(),
            }));
            let head = Arc::new(AtomicPtr::new(node));
            let other = head.clone();
            let thread = thread::spawn(move || pop(&other, orders));
            pop(&head, orders);
            thread.join().unwrap();
        });
    }
}

/// A reference count; the owner that drops it to 0 frees the object. `order` is the ordering of the
/// decrement, and `acquires` tells whether an acquire fence follows it.
fn run_counted(order: Ordering, acquires: bool, memory: Option<Memory>) {
    let builder = Builder {
        memory,
        ..Builder::new()
    };
    builder.check(move || {
        let shared = Shared::new((AtomicUsize::new(2), UnsafeCell::new(0)));
        let leave = move |shared: Shared<(AtomicUsize, UnsafeCell<u32>)>| {
            shared.get().1.with(|_| ());
            if shared.get().0.fetch_sub(1, order) == 1 {
                if acquires {
                    fence(Acquire);
                }
                shared.free();
            }
        };
        let other = shared.clone();
        thread::spawn(move || leave(other));
        leave(shared);
    });
}

#[test]
fn a_count_of_references_is_right() {
    for memory in [None, Some(Memory::Sc), Some(Memory::Rc11)] {
        run_counted(SeqCst, false, memory);
        run_counted(AcqRel, false, memory);
        run_counted(Release, true, memory);
    }
}

#[test]
fn a_count_of_references_with_orderings_too_weak() {
    for (order, acquires) in [(Relaxed, true), (Release, false), (Acquire, false)] {
        let result = catch_unwind(|| run_counted(order, acquires, None));
        let message = result.expect_err("a race is not found");
        let message = message.downcast_ref::<String>().expect("a text");
        assert!(message.contains("drop"), "{order:?}: {message}");
    }
}

#[test]
fn what_an_arc_of_stds_keeps_alive_is_not_freed_too_early() {
    let summary = Builder::new().check(|| {
        let shared = std::sync::Arc::new((AtomicU32::new(0), Mutex::new(0)));
        let other = shared.clone();
        thread::spawn(move || {
            other.0.store(1, SeqCst);
            *other.1.lock().unwrap() += 1;
        });
        shared.0.load(SeqCst);
        *shared.1.lock().unwrap() += 1;
    });
    assert!(summary.is_complete());
}

#[test]
fn memory_that_is_used_again_holds_another_object() {
    let summary = Builder::new().check(|| {
        let shared = Arc::new(Mutex::new(Box::new(AtomicU32::new(0))));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            let mut slot = other.lock().unwrap();
            slot.fetch_add(1, SeqCst);
            drop(std::mem::replace(&mut *slot, Box::new(AtomicU32::new(5))));
        });
        {
            let mut slot = shared.lock().unwrap();
            slot.fetch_add(1, SeqCst);
            **slot = AtomicU32::new(7);
            slot.fetch_add(1, SeqCst);
        }
        thread.join().unwrap();
        let last = shared.lock().unwrap().load(SeqCst);
        assert!([5, 8].contains(&last), "{last}");
    });
    assert!(summary.is_complete());
}

/// A cell that threads share at their own risk.
struct Slot(UnsafeCell<u32>);

// SAFETY: the tests access it from several threads, rightly or not.
#[allow(unsafe_code)]
unsafe impl Sync for Slot {}

/// Requires that a program passes under sequential consistency and under rc11.
fn passes(f: impl Fn(Ordering) + Clone + Send + Sync + 'static) {
    for order in [SeqCst, Relaxed] {
        let f = f.clone();
        let summary = Builder::new().check(move || f(order));
        assert!(summary.is_complete(), "{order:?}");
    }
}

#[test]
fn a_cell_that_the_last_reference_of_stds_arc_drops() {
    passes(|order| {
        let flag = Arc::new(AtomicBool::new(false));
        let slots = (Slot(UnsafeCell::new(0)), vec![Slot(UnsafeCell::new(0))]);
        let shared = std::sync::Arc::new(slots);
        let (other, theirs) = (shared.clone(), flag.clone());
        thread::spawn(move || {
            other.0.0.with_mut(|_| ());
            other.1[0].0.with_mut(|_| ());
            theirs.store(true, order);
        });
        // The load may order the two in the execution, but it does not synchronise.
        flag.load(order);
    });
}

/// Under rc11 the drop of a cell is a write only if some thread has not been joined.
#[test]
fn cells_that_are_dropped_after_all_joins() {
    passes(|order| {
        let flag = Arc::new(AtomicBool::new(false));
        let shared = std::sync::Arc::new(Slot(UnsafeCell::new(0)));
        let (other, theirs) = (shared.clone(), flag.clone());
        let thread = thread::spawn(move || {
            theirs.store(true, order);
            let inner = thread::spawn(move || other.0.with_mut(|_| ()));
            inner.join().unwrap();
        });
        flag.load(order);
        thread.join().unwrap();
        drop(shared);
    });
}

/// Requires a use after free or a race, under sequential consistency and under rc11.
fn fails(f: fn(Ordering)) {
    for order in [SeqCst, Relaxed] {
        let result = catch_unwind(|| Builder::new().check(move || f(order)));
        let message = result.expect_err("it must fail");
        let message = message.downcast_ref::<String>().expect("a text");
        assert!(message.contains("drop"), "{order:?}: {message}");
    }
}

/// A relaxed flag says that a thread has ended, but the thread is not joined.
#[test]
fn a_cell_that_is_dropped_without_a_join() {
    fails(|order| {
        let (flag, shared) = (
            Arc::new(AtomicBool::new(false)),
            Shared::new(Slot(UnsafeCell::new(0))),
        );
        let (theirs, other) = (flag.clone(), shared.clone());
        thread::spawn(move || {
            other.get().0.with_mut(|_| ());
            theirs.store(true, Relaxed);
        });
        AtomicBool::new(false).load(order);
        if flag.load(Relaxed) {
            shared.free();
        }
    });
}

/// A thread that has been joined has started another one, which has not been joined.
#[test]
fn a_cell_that_is_dropped_beside_the_child_of_a_joined_thread() {
    fails(|order| {
        let shared = Shared::new(Slot(UnsafeCell::new(0)));
        let other = shared.clone();
        let joined = thread::spawn(move || {
            thread::spawn(move || other.get().0.with_mut(|_| ()));
        });
        AtomicBool::new(false).load(order);
        joined.join().unwrap();
        shared.free();
    });
}

/// A thread that starts after the drop uses the cell.
#[test]
fn a_cell_that_is_dropped_between_two_threads() {
    fails(|order| {
        let shared = Shared::new(Slot(UnsafeCell::new(0)));
        let (first, second) = (shared.clone(), shared.clone());
        let joined = thread::spawn(move || first.get().0.with_mut(|_| ()));
        AtomicBool::new(false).load(order);
        joined.join().unwrap();
        shared.free();
        let last = thread::spawn(move || second.get().0.with_mut(|_| ()));
        last.join().unwrap();
    });
}

#[test]
fn a_cell_that_is_used_without_a_reference() {
    let message = failure(|| {
        let shared = std::sync::Arc::new(Slot(UnsafeCell::new(0)));
        let raw = Shared(std::sync::Arc::as_ptr(&shared).cast_mut());
        thread::spawn(move || {
            AtomicBool::new(false).store(true, SeqCst);
            raw.get().0.with(|_| ());
        });
        AtomicBool::new(false).store(true, SeqCst);
        drop(shared);
    });
    assert!(message.starts_with("use after free"), "{message}");
}

/// A reference count whose decrement is too weak. It is a part of a value that another count keeps
/// alive.
struct Counted(Shared<(AtomicUsize, UnsafeCell<u32>)>);

// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Counted {}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.get().1.with(|_| ());
        if self.0.get().0.fetch_sub(1, Relaxed) == 1 {
            self.0.clone().free();
        }
    }
}

#[test]
fn a_count_of_references_within_an_arc() {
    let message = failure(|| {
        let shared = Shared::new((AtomicUsize::new(2), UnsafeCell::new(0)));
        let other = Arc::new(Counted(shared.clone()));
        thread::spawn(move || drop(other));
        drop(Arc::new(Counted(shared)));
    });
    assert!(message.contains("drop"), "{message}");
}
