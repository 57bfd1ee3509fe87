//! The messages of failures: what they say, and that the commands and tests that they print work.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use mazurka_rt::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering::*};
use mazurka_rt::sync::{Arc, Condvar, Mutex};
use mazurka_rt::{
    Builder, Memory, assert_deterministic, check_pct, check_random, model, replay, thread,
};

/// Returns the message of the panic in which a call ends.
fn panic_of(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it must panic");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast::<&str>().expect("a text").to_string(),
    }
}

/// Returns the schedule of the replay command in a message.
fn schedule_of(message: &str) -> String {
    let (_, rest) = message.split_once("MAZURKA_REPLAY=\"").expect("a schedule");
    rest.split_once('"').expect("its end").0.to_owned()
}

fn lost_update() {
    let x = Arc::new(AtomicU32::new(0));
    let all: Vec<_> = (0..2)
        .map(|_| {
            let x = x.clone();
            thread::spawn(move || {
                let old = x.load(SeqCst);
                x.store(old + 1, SeqCst);
            })
        })
        .collect();
    for one in all {
        one.join().unwrap();
    }
    assert_eq!(x.load(SeqCst), 2, "an update was lost");
}

#[test]
fn a_failure_shows_its_steps() {
    let message = panic_of(|| model(lost_update));
    println!("{message}");
    assert!(message.starts_with("assertion `left == right` failed: an update was lost"));
    assert!(message.contains("messages.rs:"), "places");
    assert!(message.contains("AtomicU32.load"));
    assert!(message.contains("AtomicU32.store"));
    assert!(
        message.matches("●").count() >= 3,
        "two racing steps and a legend"
    );
    assert!(message.contains("let body = crate::messages::lost_update;"));
    // The loads and stores of both updates, two joins, and the last load.
    let steps = message
        .lines()
        .filter(|line| line.contains("messages.rs:") && line.contains("  0"))
        .count();
    assert_eq!(steps, 7, "{message}");
}

#[test]
fn a_replay_fails_at_once() {
    let message = panic_of(|| model(lost_update));
    let schedule = schedule_of(&message);
    let again = panic_of(|| replay(lost_update, &schedule));
    assert!(again.contains("an update was lost"));
    assert!(again.contains("found after 1 execution;"));
    assert_eq!(schedule_of(&again), schedule);
}

#[test]
fn a_replay_of_another_version_is_refused() {
    let schedule = schedule_of(&panic_of(|| model(lost_update)));
    let by_hand = schedule.strip_prefix("v1 ").expect("a version");
    assert!(panic_of(|| replay(lost_update, by_hand)).contains("an update was lost"));
    for other in ["v0", "v2 rc11:"] {
        let refused = panic_of(|| replay(lost_update, &format!("{other} {by_hand}")));
        assert!(
            refused.contains("reads v1: run it with the release"),
            "{refused}"
        );
    }
}

#[test]
fn a_replay_where_results_are_compared() {
    let message = panic_of(|| mazurka_rt::assert_deterministic(lost_update));
    let builder = Builder {
        replay: Some(schedule_of(&message)),
        ..Builder::default()
    };
    let again = panic_of(|| {
        builder.assert_deterministic(lost_update);
    });
    assert!(again.contains("an update was lost"));
    assert!(again.contains("found after 1 execution;"));
}

#[test]
fn a_replay_in_another_process() {
    if std::env::var_os("MAZURKA_REPLAY").is_some() {
        return model(lost_update);
    }
    let schedule = schedule_of(&panic_of(|| model(lost_update)));
    let run = |schedule: &str| {
        let test = std::env::current_exe().unwrap();
        let output = Command::new(test)
            .args(["--exact", "messages::a_replay_in_another_process"])
            .env("MAZURKA_REPLAY", schedule)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let output = run(&schedule);
    assert!(output.contains("an update was lost"), "{output}");
    assert!(output.contains("found after 1 execution;"), "{output}");
    // If one thread runs after the other, no update is lost.
    assert!(run("0.0 0.0 0.1 0.1").contains("1 passed"));
    assert!(run("0.7").contains("does not fit"));
    assert!(run("nonsense").contains("this is no schedule"));
}

#[test]
fn a_deadlock_names_threads_locks_and_places() {
    let message = panic_of(|| {
        model(|| {
            let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
            let other = {
                let (a, b) = (a.clone(), b.clone());
                thread::Builder::new()
                    .name("other".into())
                    .spawn(move || {
                        let _a = a.lock().unwrap();
                        let _b = b.lock().unwrap();
                    })
                    .unwrap()
            };
            {
                let _b = b.lock().unwrap();
                let _a = a.lock().unwrap();
            }
            other.join().unwrap();
        });
    });
    println!("{message}");
    assert!(message.starts_with("deadlock: no thread can go on"));
    assert!(message.contains("thread 0 (main) waits at"));
    assert!(message.contains("for the Mutex made at"));
    assert!(message.contains("held by thread 0.0 (other) since"));
    assert!(message.contains("held by thread 0 (main) since"));
    // A version, and two steps.
    assert_eq!(schedule_of(&message).split(' ').count(), 3);
}

#[test]
fn philosophers() {
    let message = panic_of(|| {
        model(|| {
            let forks: Arc<Vec<_>> = Arc::new((0..4).map(|_| Mutex::new(())).collect());
            let all: Vec<_> = (0..4)
                .map(|k| {
                    let forks = forks.clone();
                    thread::spawn(move || {
                        let _left = forks[k].lock().unwrap();
                        let _right = forks[(k + 1) % 4].lock().unwrap();
                    })
                })
                .collect();
            for one in all {
                one.join().unwrap();
            }
        });
    });
    assert!(message.starts_with("deadlock"));
    assert_eq!(message.matches("for the Mutex made at").count(), 4);
    assert_eq!(message.matches("held by thread 0.").count(), 4);
}

#[test]
fn a_lost_wakeup() {
    let message = panic_of(|| {
        model(|| {
            let pair = Arc::new((Mutex::new(()), Condvar::new()));
            let waker = {
                let pair = pair.clone();
                thread::spawn(move || pair.1.notify_one())
            };
            drop(pair.1.wait(pair.0.lock().unwrap()).unwrap());
            waker.join().unwrap();
        });
    });
    assert!(
        message.contains("Condvar: wait for a notification"),
        "{message}"
    );
}

/// Several Condvars are told apart by where they were made, in the steps and in the deadlock.
#[test]
fn two_condvars() {
    let message = panic_of(|| {
        model(|| {
            let lock = Arc::new(Mutex::new(()));
            let full = Arc::new(Condvar::new());
            let empty = Condvar::new();
            let (same, other) = (lock.clone(), full.clone());
            thread::spawn(move || drop(other.wait(same.lock().unwrap()).unwrap()));
            drop(empty.wait(lock.lock().unwrap()).unwrap());
        });
    });
    let places: Vec<&str> = message
        .lines()
        .filter(|line| line.contains("notification (Condvar made at "))
        .filter_map(|line| line.split("made at ").nth(1))
        .collect();
    assert_eq!(places.len(), 2, "{message}");
    assert_ne!(places[0], places[1]);
    for place in places {
        let line = place.split(':').nth(1).unwrap();
        let label = format!("Condvar@messages.rs:{line}.wait ");
        assert!(message.contains(&label), "{label}{message}");
    }
}

#[test]
fn the_printed_test_compiles() {
    let message = panic_of(|| {
        model(|| {
            let x = Arc::new(AtomicU32::new(0));
            let other = {
                let x = x.clone();
                thread::spawn(move || x.store(1, SeqCst))
            };
            assert_eq!(x.load(SeqCst), 0);
            other.join().unwrap();
        });
    });
    let (_, test) = message.split_once("or as a test:\n\n").expect("a test");
    assert!(test.contains("#[test]") && test.contains("mazurka_rt::replay("));
    // The test that is printed if the body has a name.
    let named = panic_of(|| model(lost_update));
    let (_, named) = named.split_once("or as a test:\n\n").expect("a test");
    // The files in printed/ are the printed tests, except for the attribute and the comment, so
    // that they are compiled.
    for (printed, compiled) in [
        (test, include_str!("printed/closure.rs")),
        (named, include_str!("printed/named.rs")),
    ] {
        let lines = printed.lines().skip(1);
        let lines = lines.filter(|line| !line.trim().starts_with("//"));
        let printed: Vec<_> = lines.collect();
        assert_eq!(printed.join("\n").trim_end(), compiled.trim_end());
    }
    // The first test has a comment in place of its body; the second one fails like the original.
    panic_of(printed_closure::again);
    let again = panic_of(printed_named::again);
    assert!(again.contains("assertion"), "{again}");
}

/// A test that a failure prints, to check that it compiles.
mod printed_closure {
    include!("printed/closure.rs");
    pub(super) fn again() {
        replay();
    }
}

/// A printed test whose body has a name, to check that it compiles.
mod printed_named {
    include!("printed/named.rs");
    pub(super) fn again() {
        replay();
    }
}

#[test]
fn results_that_differ() {
    let message = panic_of(|| {
        assert_deterministic(|| {
            let x = Arc::new(AtomicU32::new(0));
            let all: Vec<_> = (1..=2)
                .map(|k| {
                    let x = x.clone();
                    thread::spawn(move || x.store(k, SeqCst))
                })
                .collect();
            for one in all {
                one.join().unwrap();
            }
            x.load(SeqCst)
        });
    });
    println!("{message}");
    assert!(message.contains("the result is 2 or 1") || message.contains("the result is 1 or 2"));
    assert_eq!(message.matches("●").count(), 4);
}

#[test]
fn random_schedules_find_it() {
    for message in [
        panic_of(|| check_random(lost_update, 1000)),
        panic_of(|| check_pct(lost_update, 1000, 2)),
    ] {
        assert!(message.contains("an update was lost"));
        let again = panic_of(|| replay(lost_update, &schedule_of(&message)));
        assert!(again.contains("an update was lost"));
    }
    // A correct program passes, and the sample is not complete.
    let summary = Builder::new().check_random(|| assert_eq!(1, 1), 7);
    assert_eq!((summary.executions, summary.is_complete()), (7, false));
}

#[test]
fn bounds_are_printed() {
    let stores = || {
        let x = Arc::new(AtomicU32::new(0));
        let all: Vec<_> = (0..4)
            .map(|k| {
                let x = x.clone();
                thread::spawn(move || x.store(k, SeqCst))
            })
            .collect();
        all.into_iter().for_each(|one| one.join().unwrap());
    };
    let all = Builder::default().check(stores);
    assert_eq!(
        all.to_string(),
        "mazurka: 24 executions, complete; sequential consistency"
    );
    let some = Builder {
        max_executions: Some(5),
        ..Builder::default()
    };
    let some = some.check(stores);
    assert_eq!(some.executions, 5);
    assert_eq!(
        some.to_string(),
        "mazurka: 5 executions, not complete: 5 executions were reached (max_executions); sequential consistency (no weaker ordering was met)"
    );
    let mut counts = Vec::new();
    for most in 0..=3 {
        let few = Builder {
            max_preemptions: Some(most),
            ..Builder::default()
        };
        let found = few.check(stores);
        counts.push(found.executions);
    }
    assert!(counts.windows(2).all(|w| w[0] <= w[1]), "{counts:?}");
    let none = Builder {
        max_preemptions: Some(0),
        ..Builder::default()
    };
    let found = none.check(lost_update_once);
    assert_eq!(found.max_preemptions, Some(0));
    assert!(found.to_string().contains("at most 0 preemptions"));
    let one = Builder {
        max_preemptions: Some(1),
        ..Builder::default()
    };
    assert!(
        panic_of(|| {
            one.check(lost_update_once);
        })
        .contains("an update was lost")
    );
    let late = Builder {
        time_limit: Some(std::time::Duration::ZERO),
        ..Builder::default()
    };
    assert!(!late.check(stores).is_complete());
}

fn lost_update_once() {
    lost_update();
}

#[test]
fn weaker_orderings_are_in_the_scope() {
    let found = Builder::default().memory(Memory::Sc).check(|| {
        let x = AtomicUsize::new(0);
        x.store(1, Relaxed);
    });
    assert!(found.weak_orderings);
    assert!(
        found
            .to_string()
            .ends_with("sequential consistency (weaker orderings were asked for)")
    );
}

#[test]
fn what_is_not_under_control_is_recognised() {
    let message = panic_of(|| {
        let real = std::sync::atomic::AtomicU32::new(0);
        model(move || {
            let (x, y) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
            let odd = real.fetch_add(1, SeqCst) % 2 == 1;
            let other = {
                let (x, y) = (x.clone(), y.clone());
                thread::spawn(move || {
                    if odd {
                        x.store(1, SeqCst)
                    } else {
                        y.store(1, SeqCst)
                    }
                })
            };
            x.store(2, SeqCst);
            y.store(2, SeqCst);
            other.join().unwrap();
        });
    });
    println!("{message}");
    assert!(message.contains("the same schedule did something else than before"));
    assert!(message.contains("HashMap"));
}

#[test]
fn a_loop_without_an_end() {
    let message = panic_of(|| {
        model(|| {
            let x = AtomicU32::new(0);
            while x.load(SeqCst) == 0 {}
        });
    });
    assert!(
        message.contains("an execution reached 50000 steps"),
        "{message}"
    );
    assert!(message.contains("yield_now"));
}

#[test]
fn a_model_within_a_model() {
    let message = panic_of(|| model(|| model(|| ())));
    assert!(message.contains("there is a model within a model"));
}

/// Runs, in a separate process, a test of this file that kills its process. Returns its output.
fn last_words(test: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn aborts_are_explained() {
    let words = last_words("messages::dies_of_two_panics");
    assert!(
        words.contains("mazurka: panic in a destructor during cleanup"),
        "{words}"
    );
    assert!(words.contains("thread 0.0"), "{words}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_recursion_without_an_end() {
    fn deeper(n: u64) -> u64 {
        let room = std::hint::black_box([n; 64]);
        if n == u64::MAX {
            return 0;
        }
        deeper(n + 1) + room[0]
    }
    let check = || {
        model(|| {
            thread::spawn(|| std::hint::black_box(deeper(0)))
                .join()
                .unwrap();
        });
    };
    // The process goes on after such a failure, so it can happen twice.
    for _ in 0..2 {
        let words = text_of(std::panic::catch_unwind(check));
        assert!(words.contains("thread 0.0, after `start`"), "{words}");
        assert!(words.contains("has overflowed its stack"), "{words}");
        assert!(words.contains("MAZURKA_STACK_SIZE"), "{words}");
    }
}

fn text_of(result: std::thread::Result<()>) -> String {
    *result.unwrap_err().downcast::<String>().unwrap()
}

/// A step that does not end is interrupted: a loop, and a real wait.
#[test]
#[cfg(target_os = "linux")]
fn a_step_without_an_end() {
    fn stuck(body: impl Fn() + Send + Sync + std::panic::UnwindSafe + 'static) -> String {
        let builder = Builder {
            step_limit: Some(std::time::Duration::from_millis(300)),
            ..Builder::new()
        };
        text_of(std::panic::catch_unwind(move || _ = builder.check(body)))
    }
    let loops = || {
        let x = AtomicU32::new(0);
        x.store(1, SeqCst);
        while std::hint::black_box(true) {
            std::hint::spin_loop();
        }
    };
    let words = stuck(loops);
    assert!(
        words.contains("has made no step for 0.3 seconds"),
        "{words}"
    );
    assert!(words.contains("thread 0, after `store`"), "{words}");
    let waits = || {
        let shared = Arc::new((std::sync::Mutex::new(0), AtomicU32::new(0)));
        let other = shared.clone();
        thread::spawn(move || {
            let _held = other.0.lock().unwrap();
            other.1.store(1, SeqCst);
        });
        shared.1.store(2, SeqCst);
        drop(shared.0.lock());
    };
    let words = stuck(waits);
    assert!(words.contains("a lock of std"), "{words}");
}

#[test]
#[ignore = "kills its process"]
fn dies_of_two_panics() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("the second");
        }
    }
    model(|| {
        let other = thread::spawn(|| {
            let _bad = Bad;
            panic!("the first");
        });
        let _result = other.join();
    });
}

/// Messages tell objects of one type apart by the place where they were made, and by numbers if
/// several were made at one place.
#[test]
fn objects_have_names() {
    let locks = || {
        let first = Arc::new(Mutex::new(0));
        let second = Arc::new(Mutex::new(0));
        let pair = [1, 2].map(|n| Arc::new(AtomicU32::new(n)));
        *first.lock().unwrap() += pair[0].load(SeqCst);
        *second.lock().unwrap() += pair[1].load(SeqCst);
        panic!("shown");
    };
    let message = panic_of(|| model(locks));
    let line = |text: &str| {
        let mut all = include_str!("messages.rs").lines();
        all.position(|line| line.contains(text)).unwrap() + 1
    };
    let first = format!("Mutex@messages.rs:{}.lock", line("let first = Arc::new(Mu"));
    let second = format!(
        "Mutex@messages.rs:{}.lock",
        line("let second = Arc::new(Mu")
    );
    assert!(message.contains(&first), "{message}");
    assert!(message.contains(&second), "{message}");
    let pair = line("let pair = [1, 2]");
    for number in [1, 2] {
        let one = format!("AtomicU32@messages.rs:{pair}#{number}.load");
        assert!(message.contains(&one), "{message}");
    }
    // One object of its type needs no name.
    let message = panic_of(|| model(lost_update));
    assert!(message.contains(" AtomicU32.load"), "{message}");
}

/// Addresses differ in each run, so pointers are shown as numbers.
#[test]
fn pointers_have_names() {
    let message = panic_of(|| {
        model(|| {
            let pair = [Box::into_raw(Box::new(1)), Box::into_raw(Box::new(2))];
            let place = AtomicPtr::new(std::ptr::null_mut());
            for pointer in [pair[0], pair[1], pair[0]] {
                place.swap(pointer, SeqCst);
            }
            // SAFETY: each was made by a box above, and is freed once.
            #[allow(unsafe_code)]
            pair.into_iter()
                .for_each(|pointer| drop(unsafe { Box::from_raw(pointer) }));
            panic!("shown");
        });
    });
    for words in ["null → p1", "p1 → p2", "p2 → p1"] {
        assert!(message.contains(words), "{words}: {message}");
    }
    assert!(!message.contains("0x"), "{message}");
}

/// A stack is as large as that of a real thread.
#[test]
fn a_large_local() {
    fn large() -> u64 {
        let local = std::hint::black_box([1u8; 1 << 20]);
        local.iter().map(|&one| u64::from(one)).sum()
    }
    let summary = Builder::default().check(|| {
        let other = thread::spawn(large);
        assert_eq!(large(), 1 << 20);
        assert_eq!(other.join().unwrap(), 1 << 20);
    });
    assert!(summary.is_complete(), "{summary}");
    let larger = Builder {
        stack_size: 16 << 20,
        ..Builder::default()
    };
    larger.check(|| {
        let local = std::hint::black_box([1u8; 8 << 20]);
        assert_eq!(local[7 << 20], 1);
    });
}

/// The report folder contains the results of all searches. CI keeps it, because the output of tests
/// is captured.
#[test]
fn a_folder_has_what_was_found() {
    if std::env::var_os("MAZURKA_REPORT").is_some() {
        let cut = Builder {
            max_executions: Some(2),
            quiet: true,
            ..Builder::default()
        };
        cut.check(|| _ = mazurka_rt::choose(0..3));
        model(lost_update);
    }
    let folder = std::env::temp_dir().join(format!("mazurka-report-{}", std::process::id()));
    let test = "messages::a_folder_has_what_was_found";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env("MAZURKA_REPORT", &folder)
        .output()
        .unwrap();
    assert!(!output.status.success());
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (models, failure) = (
        read("models.txt"),
        read("messages.a_folder_has_what_was_found-1.txt"),
    );
    let record = read("messages.a_folder_has_what_was_found-1.json");
    std::fs::remove_dir_all(&folder).unwrap();
    let lines: Vec<&str> = models.lines().collect();
    let [cut, failed] = lines[..] else {
        panic!("{models}");
    };
    let begins = format!("{test}: mazurka: 2 executions, not complete");
    assert!(cut.starts_with(&begins), "{cut}");
    let begins = format!("{test}: FAILED: assertion `left == right` failed: an update was lost");
    assert!(failed.starts_with(&begins), "{failed}");
    assert!(failed.ends_with("(messages.a_folder_has_what_was_found-1.txt)"));
    assert!(failure.contains("MAZURKA_REPLAY="), "{failure}");
    let record: mazurka_core::record::Record = serde_json::from_str(&record).unwrap();
    let [witness] = &record.witnesses[..] else {
        panic!("{record:?}");
    };
    let [run] = &witness.runs[..] else {
        panic!("{witness:?}");
    };
    assert!(
        witness.message.contains("an update was lost"),
        "{witness:?}"
    );
    assert!(failure.contains(&format!("MAZURKA_REPLAY=\"{}\"", run.schedule)));
    assert_eq!(run.schedule.split(' ').count(), 1 + run.steps.len());
    for step in &run.steps {
        assert!(
            failure.contains(&format!("messages.rs:{}:", step.line)),
            "{step:?}"
        );
    }
    let named = ("@test".to_owned(), test.to_owned());
    assert!(record.program.set.contains(&named), "{:?}", record.program);
}

/// The command names the test, and the schedule is for one model of it.
#[test]
fn a_replay_is_for_one_model() {
    let fine = || {
        model(|| {
            let x = Arc::new(AtomicU32::new(0));
            let y = x.clone();
            thread::spawn(move || y.store(1, SeqCst)).join().unwrap();
        })
    };
    let broken = || model(lost_update);
    fine();
    if std::env::var_os("MAZURKA_REPLAY").is_some() {
        return broken();
    }
    let message = panic_of(broken);
    let command = message.lines().find(|line| line.contains("cargo test"));
    let command = command.expect("a command");
    let name = "cargo test -- --exact messages::a_replay_is_for_one_model";
    assert!(command.ends_with(name), "{command}");
    let (_, place) = command.split_once("MAZURKA_REPLAY_AT=").expect("a place");
    let place = place.split(' ').next().expect("its end");
    let run = |place: &str| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "messages::a_replay_is_for_one_model"])
            .env("MAZURKA_REPLAY", "nonsense")
            .env("MAZURKA_REPLAY_AT", place)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // Only the model at that place looks at the schedule.
    let here = run(place);
    assert!(here.contains("1 execution, complete"), "{here}");
    assert!(here.contains("this is no schedule"), "{here}");
    let elsewhere = run("elsewhere.rs:1:1");
    assert!(elsewhere.contains("an update was lost"), "{elsewhere}");
}

/// The panic that ends a test is at the line of the call in the test.
#[test]
fn the_panic_is_at_the_line_of_the_call() {
    use std::panic::{Location, catch_unwind};
    use std::sync::{Arc, Mutex, PoisonError};
    let places: Arc<Mutex<Vec<(String, u32)>>> = Arc::default();
    // Other tests may panic at the same time.
    let (seen, before) = (places.clone(), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |info| {
        let place = info.location().map_or((String::new(), 0), |place| {
            (place.file().to_owned(), place.line())
        });
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(place);
        before(info);
    }));
    let fails = || {
        mazurka_rt::thread::spawn(|| panic!("as planned"))
            .join()
            .unwrap()
    };
    let here = Location::caller();
    assert!(catch_unwind(|| mazurka_rt::model(fails)).is_err());
    assert!(catch_unwind(|| mazurka_rt::check_random(fails, 3)).is_err());
    let different = || mazurka_rt::choose(0..2);
    assert!(catch_unwind(|| mazurka_rt::assert_deterministic(different)).is_err());
    let seen = places.lock().unwrap_or_else(PoisonError::into_inner);
    for line in [1, 2, 4].map(|below| here.line() + below) {
        let wanted = (here.file().to_owned(), line);
        assert!(seen.contains(&wanted), "{wanted:?} in {seen:?}");
    }
}
