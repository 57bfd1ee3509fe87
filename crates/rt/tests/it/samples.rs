//! Random schedules: a seed gives the same schedules in every version of the crate.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mazurka_rt::sync::atomic::{AtomicU32, Ordering::SeqCst};
use mazurka_rt::sync::{Arc, Mutex, RwLock};
use mazurka_rt::{Builder, Memory, Summary, choose, thread};

/// The log of the executions of a sample, one after the other.
type Log = std::sync::Arc<std::sync::Mutex<Vec<String>>>;

/// Three threads, an `RwLock` (which makes a search start again), and a choice.
fn body(log: &Log) -> impl Fn() + Send + Sync + 'static {
    let log = log.clone();
    move || {
        let shared = Arc::new((AtomicU32::new(0), RwLock::new(0)));
        let order = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
        let threads: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .map(|name| {
                let (shared, order) = (shared.clone(), order.clone());
                thread::spawn(move || {
                    shared.0.fetch_add(1, SeqCst);
                    order.lock().unwrap().push_str(name);
                    *shared.1.write().unwrap() += 1;
                    order.lock().unwrap().push_str(name);
                    let chosen = choose(0..3);
                    order.lock().unwrap().push_str(&format!("{name}{chosen}"));
                })
            })
            .collect();
        threads.into_iter().for_each(|one| one.join().unwrap());
        log.lock().unwrap().push(order.lock().unwrap().clone());
    }
}

fn logged(sample: impl Fn(Builder, Box<dyn Fn() + Send + Sync>) -> Summary) -> Vec<String> {
    let log = Log::default();
    let builder = Builder {
        seed: 7,
        quiet: true,
        ..Builder::default()
    };
    let summary = sample(builder, Box::new(body(&log)));
    assert_eq!((summary.executions, summary.is_complete()), (6, false));
    assert!(summary.bounds.is_empty());
    log.lock().unwrap().clone()
}

#[test]
fn a_seed_names_the_same_schedules_in_every_version() {
    let evenly = logged(|builder, body| builder.check_random(body, 6));
    let by_priority = logged(|builder, body| builder.check_pct(body, 6, 3));
    // The first entry of each list is an execution that was abandoned when it used the `RwLock`.
    let expected = [
        "aaa2bbb1ccc1 cbabab1a1cc0 abccbc2b2aa2 bacbb0cc2aa1 cbcabb0aa0c2 cbabcc2ab2a0 bcbab0cc2aa0",
        "caaa2bbb1cc1 ccc1aaa1bbb0 ccc2aaa2bbb2 aaa0ccc2bbb1 ccc0bbb0aaa2 aaa2bbb2ccc0 caaa0bbb2cc0",
    ];
    assert_eq!([evenly.join(" "), by_priority.join(" ")], expected);
}

/// A program with a mistake: an update may be lost, or two locks are taken in opposite orders.
fn wrong(deadlock: bool) -> impl Fn() + Send + Sync + 'static {
    move || {
        let x = Arc::new(AtomicU32::new(0));
        let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
        let threads: Vec<_> = (0..2)
            .map(|k| {
                let (x, locks) = (x.clone(), locks.clone());
                thread::spawn(move || {
                    if deadlock {
                        let _one = locks[k].lock().unwrap();
                        let _other = locks[1 - k].lock().unwrap();
                    } else {
                        x.store(x.load(SeqCst) + 1, SeqCst)
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|one| one.join().unwrap());
        assert!(deadlock || x.load(SeqCst) == 2, "an update was lost");
    }
}

/// Returns the number of executions up to the failure, and the schedule of its replay.
fn found(sample: impl FnOnce(Builder) -> Summary, seed: u64) -> String {
    let builder = Builder {
        seed,
        quiet: true,
        ..Builder::default()
    };
    let result = catch_unwind(AssertUnwindSafe(|| sample(builder)));
    let message = result.expect_err("it must be found");
    let message = message.downcast::<String>().expect("a text");
    let between = |start: &str, end: &str| {
        let (_, rest) = message.split_once(start).expect("the start");
        rest.split_once(end).expect("the end").0.to_owned()
    };
    let after = between("found after ", " execution");
    format!("{after}: {}", between("MAZURKA_REPLAY=\"", "\""))
}

#[test]
fn a_seed_finds_the_same_mistake_in_every_version() {
    let mut all = Vec::new();
    for seed in 1..4 {
        for deadlock in [false, true] {
            all.push(found(
                |builder| builder.check_random(wrong(deadlock), 1000),
                seed,
            ));
            all.push(found(
                |builder| builder.check_pct(wrong(deadlock), 1000, 2),
                seed,
            ));
        }
    }
    let expected = [
        "2: v1 0.0 0.1 0.1 0.0 0 0 0",
        "15: v1 0.0 0.1 0.1 0.0 0 0 0",
        "2: v1 0.1 0.0",
        "15: v1 0.0 0.1",
        "2: v1 0.0 0.1 0.1 0.0 0 0 0",
        "11: v1 0.1 0.0 0.0 0.1 0 0 0",
        "2: v1 0.0 0.1",
        "11: v1 0.1 0.0",
        "2: v1 0.0 0.1 0.1 0.0 0 0 0",
        "13: v1 0.1 0.0 0.0 0.1 0 0 0",
        "2: v1 0.1 0.0",
        "5: v1 0.1 0.0",
    ];
    assert_eq!(all, expected);
}

/// The sample does not depend on the number of workers.
#[test]
fn workers_draw_the_same() {
    let with = |workers, memory| Builder {
        workers,
        memory: Some(memory),
        quiet: true,
        ..Builder::default()
    };
    for memory in [Memory::Sc, Memory::Rc11] {
        let drawn = [1, 3].map(|workers| {
            let log = Log::default();
            let found = with(workers, memory).check_pct(body(&log), 2500, 3);
            let mut all = log.lock().unwrap().clone();
            all.sort();
            assert_eq!(found.executions, 2500);
            (
                all,
                found.coverage().map(|coverage| coverage.different),
                found.to_string(),
            )
        });
        assert_eq!(drawn[0], drawn[1], "{memory}");
    }
    // About one execution in a thousand meets the mistake, so it is not in the first batch.
    let rare = || {
        let digits: Vec<u32> = (0..3).map(|_| choose(0..12)).collect();
        assert_ne!(digits, [7, 7, 7]);
    };
    let messages = [1, 3].map(|workers| {
        let sample = |builder: Builder| {
            let builder = Builder { workers, ..builder };
            builder.check_random(rare, 100_000)
        };
        found(sample, 5)
    });
    assert_eq!(messages[0], messages[1]);
    let after = messages[0].split(':').next().unwrap();
    assert!(after.parse::<u64>().unwrap() > 1000, "{after}");
}

/// The estimate of unseen executions is right where their number is known.
#[test]
fn what_was_not_met_is_estimated() {
    let draw = |values: i64| {
        let builder = Builder {
            quiet: true,
            ..Builder::default()
        };
        let found = builder.check_random(move || _ = choose(0..values), 1000);
        found.coverage().expect("few different executions")
    };
    let few = draw(10);
    assert_eq!((few.different, few.unseen), (10, 0.0));
    // A thousand draws miss one of a thousand values with probability 1/e.
    let many = draw(1000);
    let missed = 1.0 - many.different as f64 / 1000.0;
    assert!((many.unseen - missed).abs() < 0.05, "{many:?}");
}

/// Every method finds the mistakes, and the same ones for the same seed.
#[test]
fn other_methods_find_mistakes_too() {
    type Check = fn(&Builder, bool) -> Summary;
    let methods: [Check; 3] = [
        |builder, deadlock| builder.check_pos(wrong(deadlock), 1000),
        |builder, deadlock| builder.check_urw(wrong(deadlock), 1000),
        |builder, deadlock| builder.check_surw(wrong(deadlock), 1000),
    ];
    for check in methods {
        for deadlock in [false, true] {
            let once = found(|builder| check(&builder, deadlock), 5);
            assert_eq!(once, found(|builder| check(&builder, deadlock), 5));
        }
    }
}

/// Each method draws all six orders of three stores (two by other threads, one by the first
/// thread), and nothing else.
#[test]
fn other_methods_draw_every_execution() {
    let body = || {
        let x = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (1..3)
            .map(|k| {
                let x = x.clone();
                thread::spawn(move || x.store(k, SeqCst))
            })
            .collect();
        x.store(3, SeqCst);
        threads.into_iter().for_each(|one| one.join().unwrap());
    };
    let builder = Builder {
        quiet: true,
        ..Builder::default()
    };
    let explored = builder.check(body).executions;
    for found in [
        builder.check_pos(body, 2000),
        builder.check_urw(body, 2000),
        builder.check_surw(body, 2000),
    ] {
        let coverage = found.coverage().expect("an estimate");
        assert_eq!(
            (coverage.different, coverage.at_least),
            (explored, explored)
        );
        assert_eq!(coverage.unseen, 0.0);
        assert!(!found.is_complete());
    }
}

/// These methods draw interleavings only, and the summary says so if the program uses orderings
/// weaker than `SeqCst`.
#[test]
fn other_methods_draw_interleavings_alone() {
    use mazurka_rt::sync::atomic::Ordering::Relaxed;
    let body = || {
        let x = Arc::new(AtomicU32::new(0));
        let y = x.clone();
        let other = thread::spawn(move || y.store(1, Relaxed));
        x.load(Relaxed);
        other.join().unwrap();
    };
    let builder = Builder {
        quiet: true,
        ..Builder::default()
    };
    let said = builder.check_pos(body, 50).to_string();
    assert!(said.contains("pos draws interleavings"), "{said}");
    let refused = builder.clone().memory(Memory::Rc11);
    let refused = catch_unwind(AssertUnwindSafe(|| refused.check_pos(body, 50)));
    assert!(
        refused.is_err(),
        "a model that was asked for is not left out"
    );
}
