//! Which operations synchronise under rc11, which memory model a test is explored under, and which
//! programs are refused.

#![allow(unsafe_code)]

use std::panic::{UnwindSafe, catch_unwind};

use mazurka_rt::cell::UnsafeCell;
use mazurka_rt::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use mazurka_rt::sync::atomic::{AtomicBool, AtomicU32, compiler_fence};
use mazurka_rt::sync::mpsc::{channel, sync_channel};
use mazurka_rt::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};
use mazurka_rt::{Builder, Memory, check_random, future, thread};

fn builder() -> Builder {
    Builder {
        quiet: true,
        ..Builder::default()
    }
}

fn failure(run: impl FnOnce() + UnwindSafe) -> String {
    let failed = catch_unwind(run).expect_err("it fails");
    *failed.downcast::<String>().expect("a message")
}

/// A value that threads share at their own risk.
struct Shared(UnsafeCell<u32>);

// SAFETY: the tests check that accesses do not race.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(0)))
    }

    #[track_caller]
    fn get(&self) -> u32 {
        // SAFETY: the model stops before accesses that race.
        self.0.with(|p| unsafe { *p })
    }

    #[track_caller]
    fn set(&self, value: u32) {
        // SAFETY: as above.
        self.0.with_mut(|p| unsafe { *p = value });
    }
}

/// One thread writes a value and signals; the other one waits for the signal or looks for it. If
/// the second thread has seen the signal, its read of the value does not race, and returns the
/// written value.
#[track_caller]
fn orders<S: Send + Sync + 'static>(make: fn() -> S, signal: fn(&S), seen: fn(&S) -> bool) {
    let found = builder().memory(Memory::Rc11).check(move || {
        let (data, object) = (Shared::new(), Arc::new(make()));
        let (theirs, signalled) = (data.clone(), object.clone());
        let other = thread::spawn(move || {
            theirs.set(1);
            signal(&signalled);
        });
        if seen(&object) {
            assert_eq!(data.get(), 1);
        }
        other.join().unwrap();
    });
    assert!(found.is_complete() && found.executions >= 1, "{found}");
    assert_eq!(found.memory, Memory::Rc11);
}

#[test]
fn primitives_order_what_they_promise() {
    orders(
        || (Mutex::new(false), Condvar::new()),
        |(lock, condvar)| {
            *lock.lock().unwrap() = true;
            condvar.notify_one();
        },
        |(lock, condvar)| {
            let guard = lock.lock().unwrap();
            *condvar.wait_while(guard, |done| !*done).unwrap()
        },
    );
    orders(
        || Barrier::new(2),
        |barrier| _ = barrier.wait(),
        |barrier| {
            barrier.wait();
            true
        },
    );
    orders(Once::new, |once| once.call_once(|| ()), Once::is_completed);
    orders(
        OnceLock::new,
        |cell| cell.set(1).unwrap(),
        |cell: &OnceLock<u32>| *cell.wait() == 1,
    );
    orders(
        thread::current,
        |waiting| waiting.unpark(),
        |_| {
            thread::park();
            true
        },
    );
    orders(
        || RwLock::new(false),
        |lock| *lock.write().unwrap() = true,
        |lock| *lock.read().unwrap(),
    );
    orders(
        || Mutex::new(false),
        |lock| *lock.lock().unwrap() = true,
        |lock| lock.try_lock().is_ok_and(|guard| *guard),
    );
}

#[test]
fn messages_order_what_was_before_them() {
    for bound in [None, Some(0), Some(1)] {
        let found = builder().memory(Memory::Rc11).check(move || {
            let data = Shared::new();
            let theirs = data.clone();
            let (unbounded, receiver) = channel();
            let (bounded, other_receiver) = sync_channel(bound.unwrap_or(1));
            let sender = thread::spawn(move || {
                theirs.set(1);
                match bound {
                    None => unbounded.send(1).unwrap(),
                    Some(_) => bounded.send(1).unwrap(),
                }
            });
            let received = match bound {
                None => receiver.recv(),
                Some(_) => other_receiver.recv(),
            };
            assert_eq!((received, data.get()), (Ok(1), 1));
            sender.join().unwrap();
        });
        assert!(found.is_complete());
    }
}

#[test]
fn two_sends_do_not_synchronise() {
    let report = failure(|| {
        builder().memory(Memory::Rc11).check(|| {
            let data = Shared::new();
            let (sender, receiver) = channel();
            let (theirs, sends) = (data.clone(), sender.clone());
            let other = thread::spawn(move || {
                theirs.set(1);
                sends.send(0).unwrap();
            });
            sender.send(1).unwrap();
            // Whatever the order of the messages, nothing was received.
            data.get();
            other.join().unwrap();
            drop(receiver);
        });
    });
    assert!(report.starts_with("data race"), "{report}");
}

/// A thread waits twice, and two threads wake it: each wait has its own token.
#[test]
fn a_thread_is_woken_twice() {
    let found = builder().memory(Memory::Rc11).check(|| {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let adding: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    *shared.0.lock().unwrap() += 1;
                    shared.1.notify_one();
                })
            })
            .collect();
        for wanted in 1..=2 {
            let count = shared.0.lock().unwrap();
            drop(shared.1.wait_while(count, |count| *count < wanted).unwrap());
        }
        for one in adding {
            one.join().unwrap();
        }
    });
    assert!(found.is_complete());
}

#[test]
fn the_notified_thread_is_a_choice() {
    let body = || {
        let shared = Arc::new((Mutex::new(0), Condvar::new(), AtomicU32::new(0)));
        let waiting: Vec<_> = (1..=2)
            .map(|k| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let mut count = shared.0.lock().unwrap();
                    *count += 1;
                    let _count = shared.1.wait(count).unwrap();
                    let first = shared.2.compare_exchange(0, k, Relaxed, Relaxed);
                    if first.is_ok() {
                        shared.1.notify_one();
                    }
                })
            })
            .collect();
        if *shared.0.lock().unwrap() < 2 {
            // The threads do not wait yet, so this execution is of no interest here.
            return 0;
        }
        shared.1.notify_one();
        for one in waiting {
            one.join().unwrap();
        }
        shared.2.load(Relaxed)
    };
    let found = builder().memory(Memory::Rc11).outcomes(body);
    assert!(found.results.contains(&1) && found.results.contains(&2));
}

fn buffering(order: std::sync::atomic::Ordering) -> (bool, bool) {
    let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let theirs = flags.clone();
    let other = thread::spawn(move || {
        theirs[0].store(true, order);
        theirs[1].load(order)
    });
    flags[1].store(true, order);
    let mine = flags[0].load(order);
    (mine, other.join().unwrap())
}

#[test]
fn the_default_follows_the_orderings() {
    let found = builder().check(|| _ = buffering(SeqCst));
    assert_eq!((found.executions, found.memory), (3, Memory::Sc));
    assert!(
        found.to_string().ends_with("sequential consistency"),
        "{found}"
    );
    let found = builder().check(|| _ = buffering(Relaxed));
    assert_eq!((found.executions, found.memory), (4, Memory::Rc11));
    let text = "mazurka: 4 executions, complete; C++20 orderings without load buffering (RC11)";
    assert_eq!(found.to_string(), text);
    assert_eq!(builder().outcomes(|| buffering(Relaxed)).results.len(), 4);
    let found = builder()
        .memory(Memory::Sc)
        .check(|| _ = buffering(Relaxed));
    assert_eq!((found.executions, found.memory), (3, Memory::Sc));
    assert!(found.weak_orderings && found.weak_refused.is_none());
    // The failure ordering of an exchange counts, and so does a fence.
    let found = builder().check(|| {
        let _ = AtomicU32::new(1).compare_exchange(0, 1, SeqCst, Relaxed);
    });
    assert_eq!(found.memory, Memory::Rc11);
    let found = builder().check(|| mazurka_rt::sync::atomic::fence(Acquire));
    assert_eq!(found.memory, Memory::Rc11);
    let found = builder().check(|| compiler_fence(Acquire));
    assert_eq!(found.memory, Memory::Sc);
    // A search that was cut says that it has met no weaker ordering.
    let bounded = Builder {
        max_executions: Some(2),
        ..builder()
    };
    let found = bounded.check(|| _ = buffering(SeqCst));
    assert!(
        found.to_string().contains("(no weaker ordering was met)"),
        "{found}"
    );
}

#[test]
fn what_is_refused_stays_under_sequential_consistency() {
    let body = || {
        let data = Arc::new(AtomicU32::new(0));
        data.store(1, Relaxed);
        assert!(!Mutex::new(data).is_poisoned());
    };
    let found = builder().check(body);
    assert_eq!(found.memory, Memory::Sc);
    let text = found.to_string();
    assert!(
        text.contains("explored as SeqCst, not under rc11: `Mutex::is_poisoned` of"),
        "{text}"
    );
    let error = failure(move || _ = builder().memory(Memory::Rc11).check(body));
    assert!(
        error.starts_with("mazurka: under rc11 this cannot be explored"),
        "{error}"
    );
    // A bound on preemptions is refused, too.
    let bounded = Builder {
        max_preemptions: Some(1),
        ..builder()
    };
    let found = bounded.check(|| _ = buffering(Relaxed));
    assert_eq!(found.memory, Memory::Sc);
    assert!(found.weak_refused.is_some());
}

#[test]
fn results_that_differ() {
    let error = failure(|| _ = builder().assert_deterministic(|| buffering(Relaxed)));
    assert!(
        error.contains("not deterministic: the result is"),
        "{error}"
    );
    assert!(error.contains("by `v1 rc11: 0"), "{error}");
    let same = builder().assert_deterministic(|| {
        let x = Arc::new(AtomicU32::new(0));
        let theirs = x.clone();
        let other = thread::spawn(move || theirs.fetch_add(1, Relaxed));
        x.fetch_add(2, Relaxed);
        other.join().unwrap();
        x.load(Relaxed)
    });
    assert_eq!((same.executions, same.memory), (2, Memory::Rc11));
}

#[test]
fn executions_are_drawn() {
    fn both_miss() {
        let (mine, theirs) = buffering(Relaxed);
        assert!(mine || theirs, "both missed the other");
    }
    let report = failure(|| check_random(both_miss, 1000));
    assert!(report.starts_with("both missed the other"), "{report}");
    assert!(report.contains("weak: step"), "{report}");
    let drawn = builder().check_random(|| _ = buffering(Relaxed), 50);
    assert!(drawn.random && drawn.executions == 50 && !drawn.is_complete());
    assert_eq!(drawn.memory, Memory::Rc11);
}

#[test]
fn a_replay_shows_the_same() {
    fn both_miss() {
        let (mine, theirs) = buffering(Relaxed);
        assert!(mine || theirs, "both missed the other");
    }
    let report = failure(|| mazurka_rt::model(both_miss));
    let replay = report.split("MAZURKA_REPLAY=\"").nth(1).unwrap();
    let replay = replay.split('"').next().unwrap().to_owned();
    let again = failure(move || mazurka_rt::replay(both_miss, &replay));
    let steps = |report: &str| {
        let from = report.find("The steps").unwrap();
        let to = report.find("To see it again").unwrap();
        // Only a search looks for other orderings.
        let to = report.find("orderings: ").unwrap_or(to);
        report[from..to].trim().to_owned()
    };
    assert_eq!(steps(&report), steps(&again));
    assert!(report.contains("as SeqCst would forbid it"), "{report}");
    let error = failure(|| mazurka_rt::replay(both_miss, "rc11: 0 0.5"));
    assert!(error.contains("the schedule does not fit"), "{error}");
    let error = failure(|| mazurka_rt::replay(both_miss, "rc11: zero"));
    assert!(error.contains("this is no schedule"), "{error}");
}

#[test]
fn exclusive_access_to_atomics() {
    let found = builder().memory(Memory::Rc11).outcomes(|| {
        let x = Arc::new(AtomicU32::new(1));
        let theirs = x.clone();
        let other = thread::spawn(move || theirs.store(2, Relaxed));
        other.join().unwrap();
        let mut x = Arc::try_unwrap(x).unwrap();
        *x.get_mut() += 10;
        x.fetch_add(100, Relaxed);
        (format!("{x:?}"), x.into_inner())
    });
    assert_eq!(found.results, [("112".to_owned(), 112)]);
}

#[test]
fn futures_and_lazy_values() {
    static LAZY: LazyLock<u32> = LazyLock::new(|| 5);
    let found = builder().memory(Memory::Rc11).outcomes(|| {
        let other = thread::spawn(|| *LAZY);
        let sum = future::block_on(async { *LAZY });
        sum + other.join().unwrap()
    });
    assert_eq!(found.results, [10]);
}

#[test]
fn nondeterminism_of_the_program_is_recognised() {
    use std::sync::atomic::{AtomicU32 as Real, Ordering};
    static RUNS: Real = Real::new(0);
    let error = failure(|| {
        builder().memory(Memory::Rc11).check(|| {
            let x = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
            let theirs = x.clone();
            let other = thread::spawn(move || theirs[0].store(1, Relaxed));
            let run = RUNS.fetch_add(1, Ordering::Relaxed) as usize;
            x[run % 2].load(Relaxed);
            x[(run + 1) % 2].store(2, Relaxed);
            other.join().unwrap();
        });
    });
    assert!(error.contains("did something else than before"), "{error}");
}

/// The test below runs this in a separate process, with a variable set.
#[test]
#[ignore = "a part of `the_variable_names_the_model`"]
fn under_the_variable() {
    println!("{}", Builder::new().check(|| _ = buffering(Relaxed)));
}

#[test]
fn the_variable_names_the_model() {
    let run = |memory: &str| {
        let own = std::env::current_exe().unwrap();
        let mut command = std::process::Command::new(own);
        command.args(["--exact", "behaviour::under_the_variable", "--ignored"]);
        command.arg("--nocapture").env("MAZURKA_MEMORY", memory);
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    };
    assert!(run("rc11").contains("4 executions, complete; C++20 orderings"));
    assert!(run("tso").contains("4 executions, complete; total store order (TSO)"));
    let sc = "3 executions, complete; sequential consistency (weaker orderings were asked for)";
    assert!(run("sc").contains(sc));
    let unknown = run("arm");
    let message = "MAZURKA_MEMORY=arm: write one of rc11, ra, tso, sc, or unset it";
    assert!(unknown.contains(message), "{unknown}");
}

#[test]
fn a_resumed_panic_is_reported() {
    let report = failure(|| {
        mazurka_rt::model(|| {
            let (mine, theirs) = buffering(Relaxed);
            if !mine && !theirs {
                std::panic::resume_unwind(Box::new(String::from("both missed the other")));
            }
        });
    });
    assert!(report.starts_with("both missed the other\n"), "{report}");
}
