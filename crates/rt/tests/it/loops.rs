//! Loops that spin for a while and then give up.

use std::future::poll_fn;
use std::panic::catch_unwind;
use std::task::Poll;
use std::time::Duration;

use mazurka_rt::future::block_on;
use mazurka_rt::hint::spin_loop;
use mazurka_rt::sync::atomic::Ordering::{Relaxed, SeqCst};
use mazurka_rt::sync::atomic::{AtomicBool, AtomicU32};
use mazurka_rt::sync::{Arc, Condvar, Mutex};
use mazurka_rt::{Builder, Summary, model, replay, thread};

/// A thread reads a flag `rounds` times and then parks. If `wakes` is false, the other thread
/// forgets to wake it.
fn spins_then_parks(rounds: u32, wakes: bool) -> impl Fn() + Send + Sync + Clone + 'static {
    move || {
        let flag = Arc::new(AtomicBool::new(false));
        let shared = flag.clone();
        let waits = thread::spawn(move || {
            let mut seen = 0;
            while !shared.load(SeqCst) {
                if seen < rounds {
                    seen += 1;
                    thread::yield_now();
                } else {
                    thread::park();
                }
            }
        });
        flag.store(true, SeqCst);
        if wakes {
            waits.thread().unpark();
        }
        waits.join().unwrap();
    }
}

fn failure(f: impl Fn() + Send + Sync + 'static) -> String {
    let panic = catch_unwind(std::panic::AssertUnwindSafe(|| model(f))).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

fn explore(f: impl Fn() + Send + Sync + 'static) -> Summary {
    Builder::new().check(f)
}

#[test]
fn a_wake_up_that_is_lost_after_three_rounds() {
    for rounds in [1, 3, 8] {
        let text = failure(spins_then_parks(rounds, false));
        assert!(text.starts_with("deadlock"), "{rounds} rounds: {text}");
        let found = explore(spins_then_parks(rounds, true));
        assert!(found.is_complete(), "{found}");
    }
}

/// The replay of a deadlock after a loop that gives up works, although a replay cannot learn from
/// other executions that the loop gives up.
#[test]
fn its_replay_works() {
    let text = failure(spins_then_parks(3, false));
    let (_, rest) = text.split_once("MAZURKA_REPLAY=\"").unwrap();
    let (schedule, _) = rest.split_once('"').unwrap();
    let schedule = schedule.to_owned();
    let again = catch_unwind(move || replay(spins_then_parks(3, false), &schedule)).unwrap_err();
    let again = again.downcast::<String>().unwrap();
    assert!(again.starts_with("deadlock"), "{again}");
}

/// If a loop gives up after more than 8 rounds, these rounds are explored only on request, and the
/// summary says so.
#[test]
fn a_loop_that_gives_up_late() {
    let found = explore(spins_then_parks(20, false));
    assert!(!found.is_complete());
    let text = found.to_string();
    assert!(text.contains("gives up after 20 rounds"), "{text}");
    let requested_programs = Builder {
        spins: 20,
        ..Builder::new()
    };
    let check = move || requested_programs.check(spins_then_parks(20, false));
    let text = *catch_unwind(check)
        .unwrap_err()
        .downcast::<String>()
        .unwrap();
    assert!(text.starts_with("deadlock"), "{text}");
}

/// A loop that gives up by itself is not a deadlock, even after many rounds.
#[test]
fn a_loop_that_gives_up_by_itself() {
    for rounds in [5, 300, 900] {
        let found = Builder::new().outcomes(move || {
            let flag = AtomicBool::new(false);
            let mut seen = 0;
            while !flag.load(SeqCst) && seen < rounds {
                seen += 1;
                thread::yield_now();
            }
            seen
        });
        assert_eq!((found.deadlocks, found.results), (0, vec![rounds]));
        assert_eq!(found.rounds_left_out.is_some(), rounds > 8);
    }
}

/// A loop that waits for another thread and never yields ends the test at once, with a hint: each
/// round is one more execution. A loop that reads as often as that while no other thread runs, or
/// that ends sooner, is none.
#[test]
fn a_loop_that_never_yields() {
    fn waits(wait: fn(&AtomicU32)) -> impl Fn() + Send + Sync {
        move || {
            let flag = Arc::new(AtomicU32::new(1));
            let other = flag.clone();
            let waiter = thread::spawn(move || wait(&other));
            flag.store(0, SeqCst);
            waiter.join().unwrap();
        }
    }
    let waiting: [fn(&AtomicU32); 3] = [
        |flag| while flag.load(SeqCst) == 1 {},
        |flag| while flag.load(Relaxed) == 1 {},
        |flag| while flag.swap(1, SeqCst) == 1 {},
    ];
    for wait in waiting {
        let text = failure(waits(wait));
        assert!(text.contains("500 times in a row"), "{text}");
        assert!(
            text.contains("without `yield_now` or `spin_loop`"),
            "{text}"
        );
    }
    let found = explore(waits(|flag| (0..300).for_each(|_| _ = flag.load(SeqCst))));
    assert!(found.is_complete(), "{found}");
    let found = explore(|| {
        let alone = AtomicU32::new(0);
        (0..3000).for_each(|_| _ = alone.load(SeqCst));
    });
    assert!(found.is_complete(), "{found}");
}

/// A loop that spins for ever is a deadlock, and the search is complete.
#[test]
fn a_loop_that_spins_for_ever() {
    let found = explore(|| {
        let turn = Arc::new(AtomicU32::new(0));
        let other = turn.clone();
        thread::spawn(move || {
            while other.load(SeqCst) != 1 {
                thread::yield_now();
            }
            other.store(2, SeqCst);
        });
        turn.store(1, SeqCst);
        while turn.load(SeqCst) != 2 {
            std::hint::black_box(());
            mazurka_rt::hint::spin_loop();
        }
    });
    assert!(found.is_complete() && found.suspended_spins, "{found}");
    let text = failure(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {
            thread::yield_now();
        }
    });
    assert!(text.starts_with("deadlock"), "{text}");
}

/// Waits that time out, in a loop that gives up after four such waits.
#[test]
fn a_loop_that_times_out_four_times() {
    let found = Builder::new().outcomes(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = shared.clone();
        let sets = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut flag = shared.0.lock().unwrap();
        let mut times = 0;
        while !*flag && times < 4 {
            flag = shared
                .1
                .wait_timeout(flag, Duration::from_millis(1))
                .unwrap()
                .0;
            times += 1;
        }
        let seen = *flag;
        drop(flag);
        sets.join().unwrap();
        (seen, times)
    });
    assert!(found.bounds.is_empty() && found.rounds_left_out.is_none());
    let mut results = found.results;
    results.sort_unstable();
    let gave_up = results.iter().filter(|(seen, _)| !seen).count();
    assert_eq!(gave_up, 1, "{results:?}");
    assert!(results.contains(&(false, 4)) && results.contains(&(true, 0)));
}

/// A task that wakes itself and spins waits for another thread, as tokio's `AtomicWaker` does.
#[test]
fn a_task_that_wakes_itself() {
    for order in [SeqCst, Relaxed] {
        let [awake, plain] = [true, false].map(|is_task| {
            explore(move || {
                let flag = Arc::new(AtomicBool::new(false));
                let theirs = flag.clone();
                thread::spawn(move || theirs.store(true, order));
                if !is_task {
                    while !flag.load(order) {
                        spin_loop();
                    }
                    return;
                }
                block_on(poll_fn(|context| {
                    if flag.load(order) {
                        return Poll::Ready(());
                    }
                    context.waker().wake_by_ref();
                    spin_loop();
                    Poll::Pending
                }));
            })
        });
        assert!(awake.is_complete(), "{order:?}: {awake}");
        assert_eq!(awake.executions, plain.executions, "{order:?}");
    }
}

/// A task that wakes itself again and again, and waits for a change that no other thread makes, is
/// a deadlock.
#[test]
fn a_task_that_wakes_itself_for_ever() {
    let text = failure(|| {
        let flag = Arc::new(AtomicBool::new(false));
        block_on(poll_fn(|context| {
            context.waker().wake_by_ref();
            spin_loop();
            if flag.load(SeqCst) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        }));
    });
    assert!(text.starts_with("deadlock"), "{text}");
}
