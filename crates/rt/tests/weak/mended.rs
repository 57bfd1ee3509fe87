//! Bugs of earlier versions that have been fixed.

use std::panic::catch_unwind;
use std::sync::atomic::AtomicU64 as Count;
use std::time::Duration;

use mazurka_core::Bound;
use mazurka_rt::cell::UnsafeCell;
use mazurka_rt::sync::Arc;
use mazurka_rt::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use mazurka_rt::sync::atomic::{AtomicBool, AtomicU32};
use mazurka_rt::{Builder, Memory, hint, model, replay, thread};

fn quiet() -> Builder {
    Builder {
        quiet: true,
        ..Builder::default()
    }
}

fn rc11() -> Builder {
    quiet().memory(Memory::Rc11)
}

/// Returns the report of a failing check.
fn report(builder: Builder, body: fn()) -> String {
    let failed = catch_unwind(move || builder.check(body)).expect_err("it fails");
    *failed.downcast::<String>().expect("a report")
}

/// Returns the schedule that a report prints.
fn schedule(report: &str) -> String {
    let rest = report.split("MAZURKA_REPLAY=\"").nth(1).expect(report);
    rest.split('"').next().unwrap().to_owned()
}

/// Checks that the schedule of a report leads to the same failure.
#[track_caller]
fn replays(report: &str, body: fn()) {
    let schedule = schedule(report);
    let again = catch_unwind(|| replay(body, &schedule)).expect_err("it fails again");
    let again = *again.downcast::<String>().expect("a report");
    assert_eq!(again.lines().next(), report.lines().next(), "{schedule}");
}

/// A loop that waits for a flag, after reading another location that has a newer write.
#[test]
fn a_loop_after_an_older_read() {
    let body = || {
        let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            let before = theirs.0.load(Relaxed);
            while !theirs.1.load(Acquire) {
                hint::spin_loop();
            }
            (before, theirs.0.load(Relaxed))
        });
        shared.0.store(1, Relaxed);
        shared.1.store(true, Release);
        other.join().unwrap()
    };
    let found = rc11().outcomes(body);
    assert_eq!(found.bounds, []);
    assert_eq!((found.deadlocks, found.failures), (0, 0));
    // `before` is 0 or 1, and the first look at the flag is before the store or after it.
    assert_eq!(found.executions, 4);
    let mut results = found.results;
    results.sort();
    assert_eq!(results, [(0, 1), (1, 1)]);
    // Blocked executions are counted and reported.
    let summary = rc11().check(move || _ = body());
    assert_eq!((summary.executions, summary.blocked), (4, found.blocked));
    let text = summary.to_string();
    let told = format!("mazurka: 4 executions, {} blocked, complete", found.blocked);
    assert!(found.blocked > 0 && text.starts_with(&told), "{text}");
}

/// A loop that waits for a flag that no thread sets is a deadlock, whatever the thread has read
/// before the loop.
#[test]
fn a_deadlock_after_an_older_read() {
    let body = || {
        let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.0.load(Relaxed);
            while !theirs.1.load(Acquire) {
                hint::spin_loop();
            }
        });
        shared.0.store(1, Relaxed);
        other.join().unwrap();
    };
    let found = rc11().outcomes(body);
    assert_eq!(found.bounds, []);
    assert_eq!((found.executions, found.deadlocks), (2, 2));
    let report = report(rc11(), body);
    assert!(report.contains("deadlock: no thread can go on"), "{report}");
    replays(&report, body);
}

/// A loop that waits for a flag, and gives up after two rounds. The code after it is explored for
/// each value that the thread has read before the loop.
#[test]
fn a_loop_that_gives_up_after_an_older_read() {
    let body = || {
        let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            let before = theirs.0.load(Relaxed);
            let mut rounds = 0;
            while !theirs.1.load(Acquire) && rounds < 2 {
                rounds += 1;
                hint::spin_loop();
            }
            (before, rounds)
        });
        shared.0.store(1, Relaxed);
        other.join().unwrap()
    };
    let found = rc11().outcomes(body);
    let mut results = found.results;
    results.sort();
    assert_eq!((found.bounds, found.deadlocks), (vec![], 0));
    assert_eq!(results, [(0, 2), (1, 2)]);
    let fails = || {
        let flag = AtomicBool::new(false);
        for _ in 0..3 {
            if flag.load(Relaxed) {
                return;
            }
            hint::spin_loop();
        }
        panic!("gave up");
    };
    let report = report(rc11(), fails);
    assert!(report.contains("gave up"), "{report}");
    replays(&report, fails);
}

/// Two reads, a pause, and something else: this is not a loop, and each execution is explored once.
#[test]
fn a_pause_after_two_reads() {
    let found = rc11().outcomes(|| {
        let all = Arc::new([const { AtomicU32::new(0) }; 3]);
        let theirs = all.clone();
        let other = thread::spawn(move || {
            let seen = (theirs[0].load(Relaxed), theirs[1].load(Relaxed));
            thread::yield_now();
            theirs[2].store(1, Relaxed);
            seen
        });
        all[0].store(1, Relaxed);
        all[1].store(1, Relaxed);
        other.join().unwrap()
    });
    assert_eq!((found.executions, found.results.len()), (4, 4));
}

/// A failure before the first weaker ordering is a failure under every model.
#[test]
fn a_failure_before_the_first_weaker_ordering() {
    let body = || {
        let all = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let theirs = all.clone();
        let other = thread::spawn(move || {
            theirs.0.store(1, SeqCst);
            theirs.1.store(1, Relaxed);
        });
        assert_eq!(all.0.load(SeqCst), 1, "too early");
        other.join().unwrap();
    };
    let report = report(quiet(), body);
    assert!(report.contains("too early"), "{report}");
    replays(&report, body);
}

struct Loud(Arc<AtomicU32>);

impl Drop for Loud {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A panic drops a reference before the thread with the other one is joined. The search learns from
/// this that the count must be a location, and the replay states this fact.
#[test]
fn a_panic_drops_a_reference() {
    let body = || {
        let drops = Arc::new(AtomicU32::new(0));
        let shared = Arc::new((Loud(drops.clone()), AtomicU32::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || theirs.1.store(1, Relaxed));
        assert_eq!(shared.1.load(Relaxed), 1, "too early");
        other.join().unwrap();
    };
    let report = report(rc11(), body);
    assert!(report.contains("too early"), "{report}");
    assert!(schedule(&report).ends_with("; count=0#1"), "{report}");
    replays(&report, body);
}

/// The replay states that the program uses `is_finished` and that one place makes several objects.
/// The replayed run itself does not show these facts.
#[test]
fn replays_know_what_was_met_elsewhere() {
    let body = || {
        let shared = Arc::new(AtomicU32::new(0));
        let theirs = shared.clone();
        let other = thread::spawn(move || theirs.store(1, Relaxed));
        let late = shared.load(Relaxed) == 1;
        let all: Vec<_> = (0..2).map(|_| Box::new(AtomicU32::new(0))).collect();
        all[0].load(Relaxed);
        if late {
            panic!("too late");
        }
        all[1].load(Relaxed);
        other.is_finished();
    };
    let report = report(rc11(), body);
    assert!(report.contains("too late"), "{report}");
    replays(&report, body);
}

/// A race names its threads in the order of its steps, in the replay too.
#[test]
fn a_race_names_its_threads_in_one_order() {
    struct Cell(UnsafeCell<u32>);
    // SAFETY: the test checks that accesses race, and the model stops before them.
    #[allow(unsafe_code)]
    unsafe impl Sync for Cell {}
    let bodies: [fn(); 2] = [
        || {
            let shared = Arc::new((Cell(UnsafeCell::new(0)), AtomicBool::new(false)));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                theirs.0.0.with_mut(|_| ());
                theirs.1.store(true, Relaxed);
            });
            if shared.1.load(Relaxed) {
                shared.0.0.with(|_| ());
            }
            other.join().unwrap();
        },
        || {
            let shared = Arc::new((Cell(UnsafeCell::new(0)), AtomicBool::new(false)));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                if theirs.1.load(Relaxed) {
                    theirs.0.0.with_mut(|_| ());
                }
            });
            shared.1.store(true, Relaxed);
            shared.0.0.with(|_| ());
            other.join().unwrap();
        },
    ];
    for body in bodies {
        let report = report(rc11(), body);
        assert!(report.starts_with("data race: "), "{report}");
        replays(&report, body);
    }
}

/// The report says that the other order of two steps passes only if it does.
#[test]
fn a_hint_is_true() {
    fn stores(judge: fn(u32)) {
        let x = Arc::new(AtomicU32::new(0));
        let theirs = x.clone();
        let other = thread::spawn(move || theirs.store(1, SeqCst));
        let seen = x.load(SeqCst);
        other.join().unwrap();
        judge(seen);
    }
    let hint = "had these come in the other order, all would be well";
    let well = report(quiet(), || stores(|x| assert_eq!(x, 1, "too early")));
    assert!(well.contains(hint), "{well}");
    let bad = report(quiet(), || {
        stores(|x| match x {
            0 => panic!("too early"),
            _ => panic!("too late"),
        });
    });
    assert!(bad.contains('●') && !bad.contains(hint), "{bad}");
}

/// A search that starts again, even under another model, has only the remaining time.
#[test]
fn the_time_limit_is_for_all_searches_together() {
    let time = Duration::from_secs(3600);
    for memory in [None, Some(Memory::Sc), Some(Memory::Rc11)] {
        let builder = Builder {
            memory,
            time_limit: Some(time),
            spent: time,
            ..quiet()
        };
        let found = builder.check(|| {
            let x = Arc::new(AtomicU32::new(0));
            let all: Vec<_> = (0..6)
                .map(|_| {
                    let x = x.clone();
                    thread::spawn(move || x.fetch_add(1, SeqCst))
                })
                .collect();
            all.into_iter().for_each(|one| _ = one.join().unwrap());
        });
        assert_eq!(found.bounds, [Bound::TimeLimit(3_600_000)], "{memory:?}");
    }
}

/// The code runs once for each execution, even if executions differ only in the order of updates:
/// no run is abandoned.
#[test]
fn code_runs_once_for_each_execution() {
    static RUNS: Count = Count::new(0);
    let found = rc11().check(|| {
        RUNS.fetch_add(1, Relaxed);
        let x = Arc::new(AtomicU32::new(0));
        let add = |_| {
            let x = x.clone();
            thread::spawn(move || x.fetch_add(1, Relaxed))
        };
        let all: Vec<_> = (0..4).map(add).collect();
        all.into_iter().for_each(|one| _ = one.join().unwrap());
    });
    assert_eq!((found.executions, found.blocked), (24, 0));
    assert_eq!(RUNS.load(Relaxed), 24);
}

#[test]
fn a_replay_with_facts_that_are_none() {
    let failed = catch_unwind(|| replay(|| (), "rc11: 0; colour=blue")).expect_err("it fails");
    let failed = failed.downcast::<String>().expect("a report");
    assert!(failed.contains("`colour=blue`"), "{failed}");
    model(|| ());
}
