//! Inputs under a memory model; these tests need the feature `symbolic`.

use std::panic::catch_unwind;

use mazurka_core::Bound;
use mazurka_rt::sync::Arc;
use mazurka_rt::sync::atomic::AtomicU32;
use mazurka_rt::sync::atomic::Ordering::{Relaxed, SeqCst};
use mazurka_rt::{Builder, Memory, choose, input, input_in, replay, thread};

fn quiet() -> Builder {
    Builder {
        quiet: true,
        ..Builder::default()
    }
}

fn rc11() -> Builder {
    quiet().memory(Memory::Rc11)
}

fn pair() -> [Arc<(AtomicU32, AtomicU32)>; 2] {
    let pair = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
    [pair.clone(), pair]
}

/// A program in which a revisit removes a decision about an input, because the decision comes after
/// the revisited read.
#[test]
fn a_decision_that_is_removed() {
    let found = rc11().outcomes(|| {
        let [mine, theirs] = pair();
        let other = thread::spawn(move || {
            let read = theirs.0.load(Relaxed);
            theirs.1.store(u32::from(input::<i32>() > 0), Relaxed);
            read
        });
        mine.0.store(1, Relaxed);
        let read = other.join().unwrap();
        (read, mine.1.load(Relaxed))
    });
    assert_eq!(found.bounds, []);
    assert_eq!((found.executions, found.results.len()), (4, 4));
}

/// Two threads compare one input. The result of one comparison limits the result of the other, in
/// both orders.
#[test]
fn two_threads_ask_about_one_input() {
    for turned in [false, true] {
        let found = rc11().outcomes(move || {
            let [mine, theirs] = pair();
            let number = input::<u8>();
            let reader = move |shared: &(AtomicU32, AtomicU32)| {
                let read = shared.0.load(Relaxed);
                (read, number > 5)
            };
            let writer = move |shared: &(AtomicU32, AtomicU32)| {
                let writes = number > 3;
                if writes {
                    shared.0.store(1, Relaxed);
                }
                writes
            };
            let (read, large, writes) = if turned {
                let other = thread::spawn(move || reader(&theirs));
                let writes = writer(&mine);
                let (read, large) = other.join().unwrap();
                (read, large, writes)
            } else {
                let other = thread::spawn(move || writer(&theirs));
                let (read, large) = reader(&mine);
                (read, large, other.join().unwrap())
            };
            (read, large, writes)
        });
        assert_eq!(found.bounds, []);
        let mut results = found.results;
        results.sort();
        let expected = [
            (0, false, false),
            (0, false, true),
            (0, true, true),
            (1, false, true),
            (1, true, true),
        ];
        assert_eq!(results, expected);
        assert_eq!(found.executions, 5);
    }
}

/// An input with four values has the same executions as a choice among four.
#[test]
fn values_are_choices() {
    fn body(value: impl Fn() -> u32 + Send + Sync + 'static) -> (u32, u32, u32) {
        let [mine, theirs] = pair();
        let other = thread::spawn(move || {
            let value = value();
            theirs.0.store(value, Relaxed);
            (value, theirs.1.load(Relaxed))
        });
        mine.1.store(9, Relaxed);
        let read = mine.0.load(Relaxed);
        let (value, theirs) = other.join().unwrap();
        (value, theirs, read)
    }
    let inputs = rc11().outcomes(|| body(|| input_in(0..4_u32).value()));
    let choices = rc11().outcomes(|| body(|| choose(0..4)));
    assert_eq!((inputs.bounds, &choices.bounds), (vec![], &vec![]));
    // Store buffering with four values.
    assert_eq!((inputs.executions, choices.executions), (16, 16));
    let sorted = |mut results: Vec<_>| {
        results.sort();
        results
    };
    assert_eq!(sorted(inputs.results), sorted(choices.results));
}

/// Fails for the input 7, but only if the thread sees the flag and misses the message.
fn missed() {
    let [mine, theirs] = pair();
    let other = thread::spawn(move || {
        theirs.0.store(1, Relaxed);
        theirs.1.store(1, Relaxed);
    });
    let number = input::<u32>();
    if mine.1.load(Relaxed) == 1 && mine.0.load(Relaxed) == 0 {
        assert!(number + 3 != 10, "seven");
    }
    other.join().unwrap();
}

#[test]
fn a_failure_has_its_inputs() {
    let failed = catch_unwind(|| quiet().check(missed)).expect_err("it fails");
    let report = *failed.downcast::<String>().expect("a report");
    // The failure may be the overflow of `number + 3` instead, so its message is not compared.
    assert!(report.contains("weak: step"), "{report}");
    assert!(report.contains("With these inputs"), "{report}");
    let schedule = report.split("MAZURKA_REPLAY=\"").nth(1).expect(&report);
    let schedule = schedule.split('"').next().unwrap();
    assert!(
        schedule.starts_with("v1 rc11: ") && schedule.contains("; 0#0="),
        "{schedule}"
    );
    let again = catch_unwind(|| replay(missed, schedule)).expect_err("it fails again");
    let again = *again.downcast::<String>().expect("a report");
    assert_eq!(again.lines().next(), report.lines().next());
    // Another input takes another path.
    let (steps, _) = schedule.split_once(';').unwrap();
    let passes = catch_unwind(|| replay(missed, &format!("{steps}; 0#0=8")));
    assert!(passes.is_ok());
    // Under sequential consistency the message cannot be missed.
    quiet().memory(Memory::Sc).check(missed);
}

#[test]
fn all_failures_of_inputs_are_found() {
    let found = rc11().outcomes(missed);
    // No flag; flag and message; a missed message with an overflow, with 7, and with other inputs.
    assert_eq!((found.failures, found.executions), (2, 5));
}

/// A test that sets no model gets the one that its orderings require.
#[test]
fn the_model_of_the_orderings() {
    let summary = quiet().check(|| {
        let [mine, theirs] = pair();
        let other = thread::spawn(move || theirs.0.store(1, Relaxed));
        let large = input::<u64>() > 100;
        let read = mine.0.load(Relaxed);
        assert!(read < 2 && usize::from(large) < 2);
        other.join().unwrap();
    });
    assert!(summary.is_complete(), "{summary}");
    assert_eq!((summary.memory, summary.weak_refused), (Memory::Rc11, None));
    // Two sides of the input, and two values read.
    assert_eq!(summary.executions, 4);
}

/// Results may depend on inputs, and on nothing else.
#[test]
fn results_of_equal_inputs() {
    let same = rc11().assert_deterministic(|| {
        let [mine, theirs] = pair();
        let number = input_in(0..100_u32);
        let other = thread::spawn(move || _ = theirs.0.fetch_add(1, Relaxed));
        mine.0.fetch_add(2, Relaxed);
        other.join().unwrap();
        (number > 50, mine.0.load(SeqCst))
    });
    assert!(same.is_complete());
    let failed = catch_unwind(|| {
        rc11().assert_deterministic(|| {
            let [mine, theirs] = pair();
            let number = input_in(0..100_u32);
            let other = thread::spawn(move || theirs.0.store(1, Relaxed));
            let read = mine.0.load(Relaxed);
            other.join().unwrap();
            (number > 50 && read == 1, read < 2)
        })
    });
    let report = *failed
        .expect_err("two results")
        .downcast::<String>()
        .unwrap();
    assert!(
        report.contains("(true, true)") && report.contains("(false, true)"),
        "{report}"
    );
    assert!(report.contains("0#0="), "{report}");
}

#[test]
fn a_loop_that_an_input_decides() {
    let endless = || {
        let [mine, theirs] = pair();
        let other = thread::spawn(move || theirs.0.store(1, Relaxed));
        let number = input::<u32>();
        let mut rounds = 0;
        while number > rounds {
            rounds += 1;
        }
        mine.0.load(Relaxed);
        other.join().unwrap();
    };
    let bounded = Builder {
        max_decisions: Some(10),
        ..rc11()
    };
    let summary = bounded.check(endless);
    assert_eq!(summary.bounds, [Bound::MaxLocal(10)]);
    let failed = catch_unwind(|| rc11().check(endless)).expect_err("not complete");
    let text = *failed.downcast::<String>().unwrap();
    assert!(text.contains("set max_decisions"), "{text}");
}

/// A question that is too hard for the solver ends with the time limit of the search.
#[test]
fn a_hard_question_and_the_time_limit() {
    for memory in [Memory::Sc, Memory::Rc11] {
        let builder = Builder {
            time_limit: Some(std::time::Duration::from_millis(300)),
            ..quiet()
        };
        let start = std::time::Instant::now();
        let summary = builder.memory(memory).check(|| {
            let (a, b) = (input::<u64>(), input::<u64>());
            let product = a.wrapping_mul(b).wrapping_mul(a);
            if a > 3 && b > 5 && a < 1 << 40 && b < 1 << 40 {
                choose(0..u32::from(product == 0x1234_5678_9abc_def1) + 1);
            }
        });
        assert!(!summary.is_complete(), "{summary}");
        let taken = start.elapsed();
        assert!(
            taken < std::time::Duration::from_millis(1300),
            "{memory}: {taken:?}"
        );
    }
}
