//! Finds orderings that are too weak, and orderings that are stronger than needed.

#![allow(unsafe_code)]

use std::panic::catch_unwind;

use mazurka_core::Bound;
use mazurka_rt::cell::UnsafeCell;
use mazurka_rt::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use mazurka_rt::sync::atomic::{AtomicBool, AtomicU32, fence};
use mazurka_rt::sync::{Arc, Mutex};
use mazurka_rt::{Advice, Builder, Memory, Orderings, hint, thread};

fn ask(body: impl Fn() + Send + Sync + 'static) -> Orderings {
    let builder = Builder {
        quiet: true,
        ..Builder::default()
    };
    builder.orderings(body)
}

/// Returns the advised orderings; for exchanges also those of failure.
fn advised(found: &Orderings) -> Vec<Ordering> {
    let places = found.places.iter();
    let all = places.flat_map(|place| [place.advised, place.advised_failure]);
    all.flatten().collect()
}

struct Shared(UnsafeCell<u32>);

// SAFETY: the tests check that accesses do not race.
unsafe impl Sync for Shared {}

fn message(store: Ordering, load: Ordering) {
    let shared = Arc::new((Shared(UnsafeCell::new(0)), AtomicBool::new(false)));
    let other = shared.clone();
    let writer = thread::spawn(move || {
        other.0.0.with_mut(|_| ());
        other.1.store(true, store);
    });
    if shared.1.load(load) {
        shared.0.0.with(|_| ());
    }
    writer.join().unwrap();
}

fn buffering(stores: Ordering, loads: Ordering) {
    let all = Arc::new([const { AtomicU32::new(0) }; 2]);
    let theirs = all.clone();
    let other = thread::spawn(move || {
        theirs[0].store(1, stores);
        theirs[1].load(loads)
    });
    all[1].store(1, stores);
    let seen = all[0].load(loads);
    assert!(seen + other.join().unwrap() > 0, "both missed");
}

#[test]
fn a_message_needs_release_and_acquire() {
    let found = ask(|| message(SeqCst, SeqCst));
    assert_eq!((found.advice, &found.failure), (Advice::Weaken, &None));
    assert_eq!(advised(&found), [Release, Acquire]);
    assert_eq!(found.places[0].call, "AtomicBool.store");
    let text = found.to_string();
    assert!(
        text.contains("AtomicBool.store(SeqCst) as Release"),
        "{text}"
    );

    let found = ask(|| message(Relaxed, Relaxed));
    assert_eq!(found.advice, Advice::Strengthen);
    assert!(found.failure.as_deref().unwrap().starts_with("data race"));
    assert_eq!(advised(&found), [Release, Acquire]);

    let found = ask(|| message(Release, Acquire));
    assert_eq!(found.advice, Advice::Keep);
    let text = found.to_string();
    assert!(text.contains("AtomicBool.load(Acquire) as it is"), "{text}");
}

#[test]
fn store_buffering_needs_seq_cst() {
    let found = ask(|| buffering(Relaxed, Relaxed));
    assert_eq!(found.advice, Advice::Strengthen);
    assert_eq!(advised(&found), [SeqCst; 4]);
    assert_eq!(ask(|| buffering(SeqCst, SeqCst)).advice, Advice::Keep);
    // Only the places that are too weak change.
    let found = ask(|| buffering(SeqCst, Acquire));
    let changed: Vec<_> = found.places.iter().map(|place| place.changes()).collect();
    assert_eq!(changed, [false, true, false, true]);
}

/// The advice is minimal among the orderings that pass, which the test finds by trying all.
#[test]
fn the_answer_is_a_minimum() {
    const STORES: [Ordering; 3] = [Relaxed, Release, SeqCst];
    const LOADS: [Ordering; 3] = [Relaxed, Acquire, SeqCst];
    let bodies: [fn(Ordering, Ordering); 2] = [message, buffering];
    for body in bodies {
        let passes = |store: usize, load: usize| {
            let builder = Builder {
                quiet: true,
                ..Builder::default()
            };
            let builder = builder.memory(Memory::Rc11);
            let run = move || builder.check(move || body(STORES[store], LOADS[load]));
            catch_unwind(run).is_ok()
        };
        let weaker = |one: usize| 0..one;
        for (store, load) in (0..9).map(|both| (both / 3, both % 3)) {
            let found = ask(move || body(STORES[store], LOADS[load]));
            assert_eq!(found.failure.is_none(), passes(store, load));
            let all = advised(&found);
            let stores = STORES.iter().position(|&order| order == all[0]).unwrap();
            let loads = LOADS.iter().position(|&order| order == all[1]).unwrap();
            assert!(passes(stores, loads));
            if found.failure.is_none() {
                // The places of both threads have the same advice, so they are tried together.
                assert!(weaker(stores).all(|other| !passes(other, loads)));
                assert!(weaker(loads).all(|other| !passes(stores, other)));
            }
        }
    }
}

#[test]
fn a_fence_that_is_not_needed() {
    let found = ask(|| {
        let shared = Arc::new((Shared(UnsafeCell::new(0)), AtomicBool::new(false)));
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.0.0.with_mut(|_| ());
            fence(SeqCst);
            other.1.store(true, Relaxed);
        });
        if shared.1.load(Acquire) {
            fence(Acquire);
            shared.0.0.with(|_| ());
        }
        writer.join().unwrap();
    });
    // Orderings are weakened in the order of the source. So the load becomes relaxed, and the fence
    // after it has to stay.
    assert_eq!(advised(&found), [Release, Relaxed, Relaxed, Acquire]);
    let found = ask(|| {
        message(Release, Acquire);
        fence(SeqCst);
    });
    assert_eq!(advised(&found), [Release, Acquire, Relaxed]);
    assert!(found.to_string().contains("fence(SeqCst) is not needed"));
}

#[test]
fn a_lock_and_its_exchange() {
    let found = ask(|| {
        let lock = Arc::new((AtomicBool::new(false), Shared(UnsafeCell::new(0))));
        let theirs = lock.clone();
        let section = |lock: &(AtomicBool, Shared)| {
            let exchange = || lock.0.compare_exchange(false, true, SeqCst, SeqCst);
            while exchange().is_err() {
                hint::spin_loop();
            }
            lock.1.0.with_mut(|_| ());
            lock.0.store(false, SeqCst);
        };
        let other = thread::spawn(move || section(&theirs));
        section(&lock);
        other.join().unwrap();
    });
    assert_eq!(found.advice, Advice::Weaken);
    assert_eq!(advised(&found), [Acquire, Relaxed, Release]);
}

#[test]
fn an_update_by_a_function_is_one_place() {
    let found = ask(|| {
        let x = Arc::new(AtomicU32::new(0));
        let theirs = x.clone();
        let add = |x: &AtomicU32| _ = x.fetch_update(SeqCst, SeqCst, |x| Some(x + 1));
        let other = thread::spawn(move || add(&theirs));
        add(&x);
        other.join().unwrap();
        assert_eq!(x.load(SeqCst), 2);
    });
    assert_eq!(found.places.len(), 2, "{found}");
    assert_eq!(advised(&found), [Relaxed; 3]);
}

#[test]
fn what_no_ordering_helps() {
    let found = ask(|| {
        let x = Arc::new(AtomicU32::new(0));
        let theirs = x.clone();
        let add = |x: &AtomicU32| x.store(x.load(Relaxed) + 1, Relaxed);
        let other = thread::spawn(move || add(&theirs));
        add(&x);
        other.join().unwrap();
        assert_eq!(x.load(Relaxed), 2, "lost");
    });
    assert_eq!(found.advice, Advice::Helpless);
    assert!(found.places.iter().all(|place| !place.changes()));
    assert!(found.failure.unwrap().contains("lost"));
}

/// Code that is reached only with weaker orderings has places too.
#[test]
fn places_that_weaker_orderings_lead_to() {
    let found = ask(|| {
        let all = Arc::new([const { AtomicU32::new(0) }; 3]);
        let theirs = all.clone();
        let other = thread::spawn(move || {
            theirs[0].store(1, Release);
            theirs[1].store(1, Release);
        });
        if all[1].load(Acquire) == 1 && all[0].load(Relaxed) == 0 {
            all[2].store(1, SeqCst);
        }
        other.join().unwrap();
    });
    assert_eq!(found.advice, Advice::Weaken);
    assert_eq!(advised(&found), [Relaxed; 5]);
}

#[test]
fn a_limit_leaves_it_open() {
    let builder = Builder {
        quiet: true,
        max_executions: Some(2),
        ..Builder::default()
    };
    let found = builder.orderings(|| message(SeqCst, SeqCst));
    assert_eq!(found.advice, Advice::Open);
    assert_eq!(found.bounds, [Bound::MaxExecutions(2)]);
    assert!(found.places.iter().all(|place| place.advised.is_none()));
    assert!(found.to_string().contains("(max_executions)"), "{found}");
}

#[test]
fn a_test_that_is_refused() {
    let refused = catch_unwind(|| ask(|| _ = Mutex::new(0).is_poisoned()));
    let refused = refused.unwrap_err().downcast::<String>().unwrap();
    assert!(refused.contains("cannot be explored"), "{refused}");
}
