//! Statics that several executions, or several models at the same time, share.

use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::sync::Mutex as StdMutex;

use mazurka_rt::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use mazurka_rt::sync::{Arc, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};
use mazurka_rt::{Builder, Memory, choose, lazy_static, model, thread};

/// A reference to the value of a static may outlive the execution: the value stays where it is.
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

/// A `OnceLock` that is not a static drops the values of all executions, each once.
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

/// Two models at the same time, like parallel tests: each has its own copy of every static.
#[test]
fn models_at_the_same_time() {
    static SUM: AtomicU64 = AtomicU64::new(7);
    static WORDS: OnceLock<Vec<u64>> = OnceLock::new();
    static LAZY: LazyLock<Mutex<Vec<u64>>> = LazyLock::new(|| Mutex::new(vec![1]));
    static LIST: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    static LOCK: RwLock<u64> = RwLock::new(5);
    static TURN: Mutex<bool> = Mutex::new(false);
    static CHANGED: Condvar = Condvar::new();
    static READY: Once = Once::new();
    lazy_static! {
        static ref NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    }
    let body = || {
        let other = thread::spawn(|| {
            let seen = SUM.fetch_add(1, SeqCst);
            LIST.lock().unwrap().push(seen);
            *TURN.lock().unwrap() = true;
            CHANGED.notify_all();
            WORDS.get_or_init(|| vec![7; 100]).iter().sum::<u64>()
        });
        let turn = TURN.lock().unwrap();
        drop(CHANGED.wait_while(turn, |turn| !*turn).unwrap());
        let mut runs = 0;
        READY.call_once(|| runs += 1);
        LAZY.lock().unwrap().push(2);
        NAMES.lock().unwrap().push("one".into());
        *LOCK.write().unwrap() += 1;
        assert_eq!(other.join().unwrap(), 700);
        let lists = (LIST.lock().unwrap().clone(), LAZY.lock().unwrap().clone());
        let names = NAMES.lock().unwrap().len();
        (SUM.load(SeqCst), lists, names, *LOCK.read().unwrap(), runs)
    };
    let count = move || {
        let found = Builder::new().outcomes(body);
        assert_eq!((found.failures, found.deadlocks), (0, 0));
        assert_eq!(found.results, [(8, (vec![7], vec![1, 2]), 1, 6, 1)]);
        found.executions
    };
    let alone = count();
    std::thread::scope(|scope| {
        let runs = [0, 1].map(|_| scope.spawn(move || (0..50).map(|_| count()).collect()));
        for run in runs {
            let counts: Vec<u64> = run.join().unwrap();
            assert_eq!(counts, [alone; 50]);
        }
    });
    // Outside models the statics are as they were.
    assert_eq!(SUM.load(SeqCst), 7);
    assert!(LIST.lock().unwrap().is_empty() && WORDS.get().is_none());
}

/// A static that was set outside starts every execution with that value.
#[test]
fn statics_that_were_set_outside() {
    static FLAG: AtomicU64 = AtomicU64::new(0);
    static NUMBER: Mutex<u64> = Mutex::new(0);
    static NAME: OnceLock<String> = OnceLock::new();
    FLAG.store(3, SeqCst);
    *NUMBER.lock().unwrap() = 4;
    NAME.set("outside".into()).unwrap();
    let found = Builder::new().outcomes(|| {
        let other = thread::spawn(|| *NUMBER.lock().unwrap() += 1);
        *NUMBER.lock().unwrap() *= 2;
        other.join().unwrap();
        let name = NAME.get_or_init(|| "inside".into()).as_str();
        (FLAG.fetch_add(1, SeqCst), *NUMBER.lock().unwrap(), name)
    });
    assert_eq!(found.executions, 2);
    let mut results = found.results;
    results.sort_unstable();
    assert_eq!(results, [(3, 9, "outside"), (3, 10, "outside")]);
}

/// A static lock whose content owns memory cannot be reset, and is refused.
#[test]
#[should_panic(
    expected = "was used outside a model, so no execution can start with its first value"
)]
fn a_static_lock_that_was_filled_outside() {
    static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    NAMES.lock().unwrap().push("outside".into());
    model(|| NAMES.lock().unwrap().push("inside".into()));
}

/// The content that an execution leaves in a static lock is dropped exactly once. A lock that an
/// execution leaves held is free in the next.
#[test]
fn static_locks_start_free_and_drop_what_they_held() {
    struct Counted;
    static MADE: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);
    impl Drop for Counted {
        fn drop(&mut self) {
            MADE.fetch_sub(1, SeqCst);
        }
    }
    static LIST: Mutex<Vec<Counted>> = Mutex::new(Vec::new());
    let found = Builder::new().outcomes(|| {
        let push = || {
            MADE.fetch_add(1, SeqCst);
            LIST.lock().unwrap().push(Counted);
        };
        let other = thread::spawn(push);
        push();
        other.join().unwrap();
        let list = LIST.lock().unwrap();
        let length = list.len();
        std::mem::forget(list);
        length
    });
    assert_eq!((found.executions, found.results), (2, vec![2]));
    // The list of a guard that is never dropped remains.
    assert!(MADE.load(SeqCst) >= 4);
    let found = Builder::new().outcomes(|| {
        MADE.fetch_add(1, SeqCst);
        LIST.lock().unwrap().push(Counted);
        MADE.load(SeqCst)
    });
    assert_eq!(found.results.len(), 1);
    assert_eq!(MADE.load(SeqCst), found.results[0] - 1);
}

/// A function that panics poisons its `LazyLock`: the function is called again only in the next
/// execution.
#[test]
fn a_lazy_value_whose_function_panics_is_poisoned() {
    static LAZY: LazyLock<u32> = LazyLock::new(|| {
        if choose(false..=true) {
            panic!("not this time");
        }
        5
    });
    for memory in [Memory::Sc, Memory::Rc11] {
        let found = Builder::new().memory(memory).outcomes(|| {
            let get = || catch_unwind(|| *LAZY).ok();
            let other = thread::spawn(get);
            (get(), other.join().unwrap())
        });
        let results: BTreeSet<_> = found.results.into_iter().collect();
        assert_eq!(results, [(None, None), (Some(5), Some(5))].into());
    }
}

/// A destructor of a thread-local may make another one, which is dropped as well, as in std. An own
/// value that was dropped is out of reach.
#[test]
fn a_destructor_makes_a_thread_local() {
    struct Made;
    struct Makes;
    impl Drop for Made {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, SeqCst);
        }
    }
    impl Drop for Makes {
        fn drop(&mut self) {
            MADE.with(|_| DROPPED.fetch_add(10, SeqCst));
            assert!(MAKES.try_with(|_| ()).is_err());
        }
    }
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    mazurka_rt::thread_local! {
        static MADE: Made = const { Made };
        static MAKES: Makes = const { Makes };
    }
    model(|| {
        let other = thread::spawn(|| MAKES.with(|_| ()));
        other.join().unwrap();
        assert_eq!(DROPPED.load(SeqCst), 11);
    });
}
