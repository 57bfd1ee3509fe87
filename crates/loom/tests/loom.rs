//! The parts that are specific to loom behave like loom's.

#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use mazurka_loom as loom;

use loom::alloc::{Layout, Track, alloc, dealloc};
use loom::cell::{Cell, UnsafeCell};
use loom::future::{AtomicWaker, block_on};
use loom::model::Builder;
use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*};
use loom::sync::{Arc, Notify};
use loom::thread;

fn failure(f: impl Fn() + Send + Sync + 'static) -> String {
    let failed = catch_unwind(AssertUnwindSafe(|| loom::model(f))).unwrap_err();
    *failed.downcast::<String>().expect("a text")
}

/// Two pointers to one cell that exist at the same time, in different threads.
#[test]
fn pointers_are_watched_while_they_exist() {
    fn both(writes: bool) -> impl Fn() + Send + Sync + 'static {
        move || {
            let cell = Arc::new(UnsafeCell::new(1));
            let (other, flag) = (cell.clone(), Arc::new(AtomicBool::new(false)));
            let seen = flag.clone();
            let thread = thread::spawn(move || {
                let pointer = other.get();
                seen.store(true, SeqCst);
                // SAFETY: no thread writes the value. A pointer for writing makes the model fail.
                assert_eq!(unsafe { *pointer.deref() }, 1);
            });
            if flag.load(SeqCst) {
                if writes {
                    drop(cell.get_mut())
                } else {
                    drop(cell.get())
                }
            }
            thread.join().unwrap();
        }
    }
    let text = failure(both(true));
    assert!(text.contains("data race"), "{text}");
    loom::model(both(false));
}

#[test]
fn atomics_have_the_auto_traits_of_std() {
    fn has_all<T: Send + Sync + Unpin + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    has_all::<AtomicUsize>();
    has_all::<AtomicPtr<u32>>();
}

/// The creation of an atomic is an access: another thread must not use it through a pointer that
/// was published by a `Relaxed` store.
#[test]
fn an_atomic_that_is_published_too_early() {
    let publishes = |order| {
        move || {
            let place = Arc::new(AtomicPtr::new(std::ptr::null_mut::<AtomicUsize>()));
            let other = place.clone();
            let thread = thread::spawn(move || {
                other.store(Box::into_raw(Box::new(AtomicUsize::new(1))), order);
            });
            let found = place.load(Acquire);
            if !found.is_null() {
                // SAFETY: it is not freed before the end.
                unsafe { (*found).fetch_add(1, Relaxed) };
            }
            thread.join().unwrap();
            // SAFETY: it comes from `Box::into_raw`, and the other thread has ended.
            drop(unsafe { Box::from_raw(place.load(Relaxed)) });
        }
    };
    let text = failure(publishes(Relaxed));
    assert!(text.contains("data race"), "{text}");
    loom::model(publishes(Release));
}

#[test]
fn cells_are_checked() {
    let text = failure(|| {
        let cell = Rc::new(Cell::new(1));
        let other = cell.clone();
        let thread = thread::spawn(move || other.set(2));
        cell.get();
        thread.join().unwrap();
    });
    assert!(text.contains("data race"), "{text}");
    loom::model(|| {
        let (one, other) = (Cell::new(1), Cell::new(2));
        one.swap(&other);
        assert_eq!((one.take(), one.into_inner(), other.get()), (2, 0, 1));
    });
}

#[test]
fn what_is_never_freed_is_a_failure() {
    fn memory(frees: usize) {
        let layout = Layout::new::<u64>();
        // SAFETY: it is freed at most once; the second time is refused.
        unsafe {
            let pointer = alloc(layout);
            for _ in 0..frees {
                dealloc(pointer, layout);
            }
        }
    }
    loom::model(|| memory(1));
    assert!(failure(|| memory(0)).contains("memory is never freed"));
    assert!(failure(|| memory(2)).contains("memory is freed that is free"));
    loom::model(|| assert_eq!(Track::new(7).into_inner(), 7));
    let text = failure(|| std::mem::forget(Track::new(7)));
    assert!(text.contains("a value is never dropped"), "{text}");
    assert!(text.contains("tests/loom.rs"), "{text}");
    let text = failure(|| std::mem::forget(Arc::new(7)));
    assert!(text.contains("an Arc is never dropped"), "{text}");
    // Only one of the executions leaks.
    let text = failure(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let (other, value) = (flag.clone(), Arc::new(7));
        let thread = thread::spawn(move || other.store(true, SeqCst));
        if flag.load(SeqCst) {
            std::mem::forget(value);
        }
        thread.join().unwrap();
    });
    assert!(text.contains("an Arc is never dropped"), "{text}");
}

#[test]
fn a_notification_is_kept_and_orders() {
    loom::model(|| {
        let shared = Arc::new((Notify::new(), UnsafeCell::new(0)));
        let other = shared.clone();
        // SAFETY: the notification orders the two.
        thread::spawn(move || {
            other.1.with_mut(|pointer| unsafe { *pointer = 1 });
            other.0.notify();
        });
        shared.0.wait();
        assert_eq!(shared.1.with(|pointer| unsafe { *pointer }), 1);
    });
}

#[test]
fn a_waker_has_a_place() {
    loom::model(|| {
        let shared = Arc::new((AtomicWaker::new(), AtomicBool::new(false)));
        let other = shared.clone();
        thread::spawn(move || {
            other.1.store(true, SeqCst);
            other.0.wake();
        });
        block_on(std::future::poll_fn(|context| {
            shared.0.register_by_ref(context.waker());
            if shared.1.load(SeqCst) {
                std::task::Poll::Ready(())
            } else {
                std::task::Poll::Pending
            }
        }));
    });
}

#[test]
fn atomics_without_an_ordering() {
    loom::model(|| {
        let shared = Arc::new(AtomicUsize::new(1));
        let other = shared.clone();
        thread::spawn(move || other.store(2, Relaxed))
            .join()
            .unwrap();
        // SAFETY: the only other thread has ended.
        assert_eq!(unsafe { shared.unsync_load() }, 2);
        let mut mine = AtomicUsize::new(3);
        mine.with_mut(|value| *value += 1);
        assert_eq!(mine.into_inner(), 4);
    });
}

#[test]
fn settings_have_the_names_of_loom() {
    let mut builder = Builder::new();
    builder.max_branches = 2;
    builder.max_permutations = Some(1);
    builder.preemption_bound = Some(1);
    builder.checkpoint_file("nowhere.json");
    builder.check(|| {
        loom::stop_exploring();
        thread::spawn(loom::explore).join().unwrap();
        loom::skip_branch();
    });
}
