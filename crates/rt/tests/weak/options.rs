//! Settings for memory models: spurious failures, and random executions.

use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use mazurka_rt::sync::Arc;
use mazurka_rt::sync::atomic::AtomicU32;
use mazurka_rt::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use mazurka_rt::{Builder, Memory, hint, thread};

fn quiet(spurious_failures: u32) -> Builder {
    Builder {
        quiet: true,
        spurious_failures,
        ..Builder::default()
    }
}

/// Returns the report of a failing check.
fn report(check: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let failed = catch_unwind(check).expect_err("it fails");
    *failed.downcast::<String>().expect("a report")
}

/// A lock that is taken without a loop: a spurious failure of the exchange is a failure.
#[test]
fn an_exchange_that_fails_for_no_reason() {
    for memory in [Memory::Sc, Memory::Rc11, Memory::Tso] {
        let weak = || {
            let lock = AtomicU32::new(0);
            assert!(lock.compare_exchange_weak(0, 1, AcqRel, Relaxed).is_ok());
        };
        let strong = || {
            let lock = AtomicU32::new(0);
            assert!(lock.compare_exchange(0, 1, AcqRel, Relaxed).is_ok());
        };
        assert_eq!(quiet(0).memory(memory).check(weak).executions, 1);
        assert_eq!(quiet(1).memory(memory).check(strong).executions, 1);
        let report = report(move || _ = quiet(1).memory(memory).check(weak));
        assert!(report.contains("fails for no reason"), "{report}");
        let schedule = report.split("MAZURKA_REPLAY=\"").nth(1).expect(&report);
        let schedule = schedule.split('"').next().unwrap().to_owned();
        let replay = Builder {
            replay: Some(schedule),
            ..quiet(0)
        };
        let again = self::report(move || _ = replay.check(weak));
        assert_eq!(again.lines().next(), report.lines().next());
    }
}

/// An exchange that fails anyway does not fail spuriously in addition.
#[test]
fn an_exchange_that_fails_anyway() {
    for memory in [Memory::Sc, Memory::Rc11, Memory::Tso] {
        let fails = || {
            let lock = AtomicU32::new(1);
            lock.compare_exchange_weak(0, 1, AcqRel, Relaxed)
        };
        let found = quiet(1).memory(memory).outcomes(fails);
        assert_eq!((found.results, found.executions), (vec![Err(1)], 1));
        // The exchange reads 0 and succeeds, reads 0 and fails spuriously, or reads 1.
        let beside_a_store = || {
            let lock = Arc::new(AtomicU32::new(0));
            let other = lock.clone();
            let stores = thread::spawn(move || other.store(1, Relaxed));
            let old = lock.compare_exchange_weak(0, 2, AcqRel, Relaxed);
            stores.join().unwrap();
            (old, lock.load(Relaxed))
        };
        let found = quiet(1).memory(memory).outcomes(beside_a_store);
        let mut results = found.results;
        results.sort();
        assert_eq!(results, [(Ok(0), 1), (Err(0), 1), (Err(1), 1)]);
        assert_eq!(found.executions, 3, "{memory}");
    }
}

/// A single long execution completes, and the time limit cuts a long search.
#[test]
fn long_executions_and_the_time_limit() {
    let builder = |time| Builder {
        max_depth: Some(100_000),
        time_limit: Some(Duration::from_millis(time)),
        memory: Some(Memory::Rc11),
        ..quiet(0)
    };
    let start = Instant::now();
    let summary = builder(10_000).check(|| {
        let x = AtomicU32::new(0);
        for _ in 0..20_000 {
            x.fetch_add(1, Relaxed);
        }
    });
    assert_eq!((summary.executions, summary.is_complete()), (1, true));
    assert!(start.elapsed() < Duration::from_secs(4));
    let start = Instant::now();
    let summary = builder(300).check(|| {
        let x = Arc::new(AtomicU32::new(0));
        let adds = |x: Arc<AtomicU32>| {
            for _ in 0..10_000 {
                x.fetch_add(1, Relaxed);
            }
        };
        let other = x.clone();
        let other = thread::spawn(move || adds(other));
        adds(x);
        other.join().unwrap();
    });
    assert!(!summary.is_complete());
    assert!(start.elapsed() < Duration::from_millis(1300));
}

/// A spurious failure in a loop changes only the number of rounds, whether or not the loop yields.
#[test]
fn a_loop_of_exchanges() {
    for memory in [Memory::Sc, Memory::Rc11] {
        let rounds = |pauses: bool| {
            move || {
                let lock = AtomicU32::new(0);
                let mut rounds = 0;
                while lock.compare_exchange_weak(0, 1, AcqRel, Acquire).is_err() {
                    rounds += 1;
                    if pauses {
                        hint::spin_loop();
                    }
                }
                rounds
            }
        };
        for pauses in [false, true] {
            let found = quiet(2).memory(memory).outcomes(rounds(pauses));
            let mut results = found.results;
            results.sort();
            assert_eq!((results, found.bounds), (vec![0, 1, 2], vec![]));
            assert_eq!((found.executions, found.deadlocks), (3, 0));
        }
    }
}

/// Both kinds of random executions find failures that only a weak model has.
#[test]
fn random_executions_under_a_model() {
    let buffering = |order| {
        move || {
            let pair = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
            let theirs = pair.clone();
            let other = thread::spawn(move || {
                theirs.0.store(1, order);
                theirs
                    .1
                    .load(if order == SeqCst { SeqCst } else { Relaxed })
            });
            pair.1.store(1, order);
            let mine = pair.0.load(if order == SeqCst { SeqCst } else { Relaxed });
            assert!(mine + other.join().unwrap() > 0, "both missed");
        }
    };
    let evenly = report(move || _ = quiet(0).check_random(buffering(Relaxed), 1000));
    let by_priority = report(move || _ = quiet(0).check_pct(buffering(Relaxed), 1000, 2));
    for report in [evenly, by_priority] {
        assert!(report.contains("both missed"), "{report}");
        assert!(report.contains("MAZURKA_REPLAY=\"v1 rc11: "), "{report}");
    }
    let passes = quiet(0).memory(Memory::Rc11);
    let summary = passes.check_pct(buffering(SeqCst), 300, 3);
    assert!(summary.random && summary.executions == 300, "{summary}");
}

/// The report of a failure names the orderings that would forbid the failure, if there are any.
#[test]
fn orderings_that_would_forbid_a_failure() {
    let message = |lasts: bool| {
        move || {
            let pair = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
            let theirs = pair.clone();
            let other = thread::spawn(move || {
                theirs.0.store(1, Relaxed);
                theirs.1.store(1, Relaxed);
            });
            if pair.1.load(Relaxed) == 1 {
                assert_eq!((pair.0.load(Relaxed), lasts), (1, true));
            }
            other.join().unwrap();
        }
    };
    let missed = report(move || _ = quiet(0).check(message(true)));
    let told: Vec<&str> = missed.lines().map(str::trim).collect();
    let from = told.iter().position(|line| line.starts_with("orderings: "));
    let from = from.unwrap_or_else(|| panic!("{missed}"));
    let store = told[from].ends_with("AtomicU32.store(Relaxed) as Release");
    let load = told[from + 1].ends_with("AtomicU32.load(Relaxed) as Acquire would forbid it");
    assert!(
        store && load && told[from + 1].starts_with("and "),
        "{missed}"
    );
    // This fails with SeqCst everywhere, too.
    let wrong = report(move || _ = quiet(0).check(message(false)));
    assert!(!wrong.contains("orderings: "), "{wrong}");
}

/// An exchange empties the store buffer of TSO, even if it fails spuriously.
#[test]
fn an_exchange_that_fails_for_no_reason_empties_the_buffer() {
    let both_fail = || {
        let cells = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let side = |cells: &[AtomicU32; 2], mine: usize| {
            cells[mine].store(1, Relaxed);
            cells[1 - mine].compare_exchange_weak(7, 8, AcqRel, Relaxed)
        };
        let other = cells.clone();
        let other = thread::spawn(move || side(&other, 1));
        (side(&cells, 0), other.join().unwrap())
    };
    let mut found = quiet(1).memory(Memory::Tso).outcomes(both_fail).results;
    found.sort();
    assert_eq!(
        found,
        [(Err(0), Err(1)), (Err(1), Err(0)), (Err(1), Err(1))]
    );
}
