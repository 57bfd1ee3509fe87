//! Spurious events, if the settings allow them.

use mazurka_rt::future::block_on;
use mazurka_rt::sync::atomic::{AtomicU32, Ordering::SeqCst};
use mazurka_rt::sync::{Arc, Condvar, Mutex};
use mazurka_rt::{Builder, Memory, Outcomes, thread};

fn explore<T: Ord + 'static>(
    [wakes, polls, failures]: [u32; 3],
    f: impl Fn() -> T + Send + Sync + 'static,
) -> Outcomes<T> {
    let builder = Builder {
        spurious_wakes: wakes,
        spurious_polls: polls,
        spurious_failures: failures,
        ..Builder::new()
    };
    let mut found = builder.outcomes(f);
    assert!(found.bounds.is_empty());
    found.results.sort_unstable();
    found
}

/// A wait without a loop around it.
fn waits() -> bool {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let other = shared.clone();
    let sets = thread::spawn(move || {
        *other.0.lock().unwrap() = true;
        other.1.notify_one();
    });
    let mut flag = shared.0.lock().unwrap();
    if !*flag {
        flag = shared.1.wait(flag).unwrap();
    }
    let seen = *flag;
    drop(flag);
    sets.join().unwrap();
    seen
}

#[test]
fn a_condvar_and_a_park() {
    assert_eq!(explore([0, 0, 0], waits).results, [true]);
    assert_eq!(explore([1, 0, 0], waits).results, [false, true]);
    let parks = || {
        let flag = Arc::new(AtomicU32::new(0));
        let (other, main) = (flag.clone(), thread::current());
        let sets = thread::spawn(move || {
            other.store(1, SeqCst);
            main.unpark();
        });
        thread::park();
        let seen = flag.load(SeqCst);
        sets.join().unwrap();
        seen
    };
    assert_eq!(explore([0, 1, 1], parks).results, [1]);
    assert_eq!(explore([1, 0, 0], parks).results, [0, 1]);
}

/// A loop around a wait tolerates spurious events, and the limit keeps it from running for ever.
#[test]
fn a_loop_copes() {
    let found = explore([3, 0, 0], || {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = shared.clone();
        thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let flag = shared.0.lock().unwrap();
        *shared.1.wait_while(flag, |flag| !*flag).unwrap()
    });
    assert_eq!((found.results, found.deadlocks), (vec![true], 0));
}

#[test]
fn a_poll_and_an_exchange() {
    let polls = || {
        let flag = Arc::new(AtomicU32::new(0));
        let (mut times, mut started) = (0, false);
        block_on(std::future::poll_fn(|context| {
            times += 1;
            if !std::mem::replace(&mut started, true) {
                let (other, waker) = (flag.clone(), context.waker().clone());
                thread::spawn(move || {
                    other.store(1, SeqCst);
                    waker.wake();
                });
            }
            match flag.load(SeqCst) {
                0 => std::task::Poll::Pending,
                _ => std::task::Poll::Ready(times),
            }
        }))
    };
    assert_eq!(explore([1, 0, 1], polls).results, [1, 2]);
    assert_eq!(explore([0, 1, 0], polls).results, [1, 2, 3]);
    let exchanges = || {
        let x = AtomicU32::new(0);
        x.compare_exchange_weak(0, 1, SeqCst, SeqCst)
    };
    assert_eq!(explore([1, 1, 0], exchanges).results, [Ok(0)]);
    assert_eq!(explore([0, 0, 1], exchanges).results, [Ok(0), Err(0)]);
    let builder = Builder {
        spurious_failures: 1,
        ..Builder::new()
    };
    let found = builder.memory(Memory::Rc11).outcomes(exchanges);
    assert_eq!(found.results.len(), 2);
}

/// The summary names spurious events that were possible but off.
#[test]
fn the_summary_names_what_was_off() {
    let told = Builder::new().check(|| {
        waits();
    });
    let text = told.to_string();
    assert!(
        text.contains("without spurious wake-ups (spurious_wakes)"),
        "{text}"
    );
    assert!(told.is_complete());
    let told = Builder::new().check(|| {
        let _zero = AtomicU32::new(0).load(SeqCst);
    });
    assert!(!told.to_string().contains("spurious"), "{told}");
}
