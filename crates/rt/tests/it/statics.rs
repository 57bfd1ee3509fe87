//! Statics that several executions, or several models at the same time, share.

use std::sync::Mutex as StdMutex;

use mazurka_rt::sync::atomic::{AtomicU64, Ordering::SeqCst};
use mazurka_rt::sync::{Arc, OnceLock};
use mazurka_rt::{Builder, model, thread};

/// A reference to the value of a static may survive the execution: the value stays where it is.
#[test]
fn a_static_reference_survives_the_execution() {
    static WORDS: OnceLock<String> = OnceLock::new();
    static KEPT: StdMutex<Vec<(&'static str, String)>> = StdMutex::new(Vec::new());
    let found = Builder::new().outcomes(|| {
        let other = thread::spawn(|| WORDS.get_or_init(|| "the other one".into()).as_str());
        let word = WORDS.get_or_init(|| "main".into()).as_str();
        assert_eq!(other.join().unwrap(), word);
        KEPT.lock().unwrap().push((word, word.to_owned()));
        word
    });
    assert_eq!(found.results, ["main", "the other one"]);
    let kept = KEPT.lock().unwrap();
    assert!(kept.len() >= 2);
    for (word, copy) in kept.iter() {
        assert_eq!(word, copy);
    }
}

/// What is not static drops the values of all executions, each once.
#[test]
fn values_of_all_executions_are_dropped() {
    struct Counted(Arc<std::sync::atomic::AtomicU32>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let made = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let dropped = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let (mades, droppeds) = (made.clone(), dropped.clone());
    let lock = OnceLock::new();
    model(move || {
        let make = || {
            mades.fetch_add(1, SeqCst);
            Counted(droppeds.clone())
        };
        thread::scope(|scope| {
            scope.spawn(|| lock.get_or_init(make).0.load(SeqCst));
            lock.get_or_init(make);
        });
        assert!(lock.get().is_some());
    });
    assert!(made.load(SeqCst) >= 2);
    assert_eq!(made.load(SeqCst), dropped.load(SeqCst));
}

/// Two models at the same time, as parallel tests: what they conclude may be wrong, the memory may
/// not.
#[test]
fn models_at_the_same_time() {
    const UNIT: u64 = 0x0101_0101_0101_0101;
    static SUM: AtomicU64 = AtomicU64::new(UNIT);
    static WORDS: OnceLock<Vec<u64>> = OnceLock::new();
    static RUNS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    static TORN: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
    let body = || {
        let other = thread::spawn(|| {
            SUM.fetch_add(UNIT, SeqCst);
            WORDS.get_or_init(|| vec![7; 100]).iter().sum::<u64>()
        });
        let torn = !SUM.load(SeqCst).is_multiple_of(UNIT) || other.join().unwrap() != 700;
        TORN.fetch_or(torn, SeqCst);
        RUNS.fetch_add(1, SeqCst);
    };
    let run = || {
        for _ in 0..200 {
            // That the other model interferes may well be noticed as a divergence.
            let _ = std::panic::catch_unwind(|| Builder::new().outcomes(body));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(run);
        scope.spawn(run);
    });
    assert!(RUNS.load(SeqCst) > 0);
    assert!(!TORN.load(SeqCst));
}
