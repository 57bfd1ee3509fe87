//! `Weak` references under a memory model.

use std::panic::catch_unwind;

use mazurka_rt::cell::UnsafeCell;
use mazurka_rt::sync::atomic::AtomicU32;
use mazurka_rt::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use mazurka_rt::sync::{Arc, Weak};
use mazurka_rt::{Builder, Memory, hint, replay, thread};

/// A number that threads share without a lock.
struct Slot(UnsafeCell<u32>);

// SAFETY: the tests look for races, and mazurka reports them before they happen.
#[allow(unsafe_code)]
unsafe impl Sync for Slot {}

#[allow(unsafe_code)]
impl Slot {
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn get(&self) -> u32 {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value })
    }

    fn set(&self, new: u32) {
        // SAFETY: as above.
        self.0.with_mut(|value| unsafe { *value = new });
    }
}

fn rc11() -> Builder {
    let quiet = Builder {
        quiet: true,
        ..Builder::default()
    };
    quiet.memory(Memory::Rc11)
}

/// Returns the results and the number of executions of a closure that never fails.
#[track_caller]
fn outcomes<T: Ord + 'static>(body: impl Fn() -> T + Send + Sync + 'static) -> (Vec<T>, u64) {
    let found = rc11().outcomes(body);
    assert_eq!(found.bounds, []);
    assert_eq!((found.deadlocks, found.failures), (0, 0));
    let mut results = found.results;
    results.sort();
    (results, found.executions)
}

/// An upgrade U beside two drops: D drops the last strong reference, and E the reference that U has
/// made.
#[test]
fn upgrade_beside_drop() {
    let found = outcomes(|| {
        let value = Arc::new(7);
        let weak = Arc::downgrade(&value);
        let other = thread::spawn(move || weak.upgrade().is_some());
        drop(value);
        other.join().unwrap()
    });
    // D U, U D E and U E D.
    assert_eq!(found, (vec![false, true], 3));
}

/// The accesses of a thread through an upgraded reference happen before the destructor.
#[test]
fn the_last_drop_sees_all() {
    struct Last(Slot);
    impl Drop for Last {
        fn drop(&mut self) {
            assert!(self.0.get() < 2);
        }
    }
    let (results, _) = outcomes(|| {
        let slot = Arc::new(Last(Slot::new()));
        let weak = Arc::downgrade(&slot);
        let other = thread::spawn(move || {
            let slot = weak.upgrade();
            slot.inspect(|slot| slot.0.set(1)).is_some()
        });
        drop(slot);
        other.join().unwrap()
    });
    assert_eq!(results, [false, true]);
}

/// A dropped value stays dropped for each thread that knows of the drop.
#[test]
fn a_dead_value_stays_dead() {
    let (results, _) = outcomes(|| {
        let value = Arc::new(7);
        let weak = Arc::downgrade(&value);
        let dropped = Arc::new(AtomicU32::new(0));
        let flag = dropped.clone();
        let other = thread::spawn(move || {
            let first = weak.upgrade().is_some();
            let told = flag.load(Acquire) == 1;
            let second = weak.upgrade().is_some();
            (first, told, second)
        });
        drop(value);
        dropped.store(1, Release);
        other.join().unwrap()
    });
    let alive_after_its_end =
        |&(first, told, second): &(bool, bool, bool)| second && (told || !first);
    assert!(!results.iter().any(alive_after_its_end), "{results:?}");
    assert_eq!(results.len(), 5);
}

/// `get_mut` succeeds only when the weak reference is gone, and then it may write.
#[test]
fn get_mut_beside_a_weak_reference() {
    let (results, _) = outcomes(|| {
        let mut value = Arc::new(Slot::new());
        let weak = Arc::downgrade(&value);
        let other = thread::spawn(move || weak.upgrade().expect("the value is there").get());
        let mine = Arc::get_mut(&mut value).map(|slot| slot.set(1));
        (mine.is_some(), other.join().unwrap())
    });
    // The thread never reads the new value, because it has finished before the value is written.
    assert_eq!(results, [(false, 0), (true, 0)]);
}

#[test]
fn counts_are_explored() {
    let (results, _) = outcomes(|| {
        let value = Arc::new(7);
        let weak = Arc::downgrade(&value);
        let other = thread::spawn(move || drop(weak.clone()));
        let counts = (Arc::strong_count(&value), Arc::weak_count(&value));
        other.join().unwrap();
        assert_eq!((Arc::strong_count(&value), Arc::weak_count(&value)), (1, 0));
        counts
    });
    assert_eq!(results, [(1, 0), (1, 1), (1, 2)]);
}

/// A thread waits until its reference is the only one.
#[test]
fn a_loop_over_the_count() {
    let (results, executions) = outcomes(|| {
        let value = Arc::new(AtomicU32::new(0));
        let theirs = value.clone();
        thread::spawn(move || theirs.store(1, Relaxed));
        let mut rounds = 0;
        while Arc::strong_count(&value) > 1 {
            hint::spin_loop();
            rounds += 1;
        }
        // The count was read relaxed.
        (rounds, value.load(Relaxed))
    });
    // The first round is not futile, because the other thread was started in it.
    let both = |rounds| [(rounds, 0), (rounds, 1)];
    assert_eq!(results, [0, 1, 2].map(both).concat());
    assert_eq!(executions, 6);
}

#[test]
fn a_value_that_knows_itself() {
    struct Node(Weak<Node>);
    let (results, _) = outcomes(|| {
        let node = Arc::new_cyclic(|weak: &Weak<Node>| {
            assert!(weak.upgrade().is_none(), "it is being made");
            Node(weak.clone())
        });
        let same = node.0.upgrade().is_some_and(|it| Arc::ptr_eq(&it, &node));
        let weak = node.0.clone();
        let other = thread::spawn(move || weak.upgrade().is_some());
        let count = Arc::weak_count(&node);
        drop(node);
        (same, count > 0, other.join().unwrap())
    });
    assert_eq!(results, [(true, true, false), (true, true, true)]);
    assert!(Weak::<u32>::new().upgrade().is_none());
    let dangling = outcomes(|| {
        (
            Weak::<u32>::new().upgrade(),
            Weak::<u32>::new().weak_count(),
        )
    });
    assert_eq!(dangling, (vec![(None, 0)], 1));
}

/// A value with weak references moves, and then they refer to nothing.
#[test]
fn make_mut_moves() {
    let (results, _) = outcomes(|| {
        let mut value = Arc::new(String::from("old"));
        let weak = Arc::downgrade(&value);
        Arc::make_mut(&mut value).push('!');
        let gone = weak.upgrade().is_none();
        let other = thread::spawn(move || drop(weak));
        Arc::make_mut(&mut value).push('?');
        other.join().unwrap();
        (gone, (*value).clone())
    });
    assert_eq!(results, [(true, "old!?".to_owned())]);
}

/// The replay of a failure that depends on the count of weak references works.
#[test]
fn a_replay_knows_the_counts() {
    fn body() {
        let mut value = Arc::new(0);
        let weak = Arc::downgrade(&value);
        let other = thread::spawn(move || drop(weak));
        assert!(Arc::get_mut(&mut value).is_none(), "it is alone");
        other.join().unwrap();
    }
    let failed = catch_unwind(|| rc11().check(body)).expect_err("it fails");
    let report = *failed.downcast::<String>().expect("a report");
    assert!(report.contains("it is alone"), "{report}");
    let schedule = report.split("MAZURKA_REPLAY=\"").nth(1).expect(&report);
    let schedule = schedule.split('"').next().unwrap();
    assert!(schedule.contains("weak=0#0"), "{schedule}");
    let again = catch_unwind(|| replay(body, schedule)).expect_err("it fails again");
    let again = *again.downcast::<String>().expect("a report");
    assert_eq!(again.lines().next(), report.lines().next());
}

/// A slot whose destructor reads the value that another thread has written.
struct Looks(Slot);

impl Drop for Looks {
    fn drop(&mut self) {
        let _value = self.0.get();
    }
}

/// A thread that sees by `weak_count` that a weak reference is gone has acquired nothing. As in
/// std, the fence before the value is destroyed or returned orders everything before the drop of
/// the weak reference.
#[test]
fn the_fence_of_the_last_drop() {
    /// Passes a value to `ends`, after another thread has written it and has dropped its weak
    /// reference.
    fn body(ends: fn(Arc<Looks>)) {
        let value = Arc::new(Looks(Slot::new()));
        let weak = Arc::downgrade(&value);
        // The other thread may access it as long as the value lives.
        let slot: *const Slot = &raw const value.0;
        let slot = slot as usize;
        thread::spawn(move || {
            // SAFETY: the value is destroyed after the weak reference was dropped.
            #[allow(unsafe_code)]
            let slot = unsafe { &*(slot as *const Slot) };
            slot.set(1);
            drop(weak);
        });
        match Arc::weak_count(&value) {
            0 => ends(value),
            _ => std::mem::forget(value),
        }
    }
    for memory in [Memory::Rc11, Memory::Sc] {
        let builder = || Builder {
            memory: Some(memory),
            ..rc11()
        };
        let dropped = builder().check(|| body(drop));
        let unwrapped = builder().check(|| body(|value| drop(Arc::try_unwrap(value).ok())));
        for summary in [dropped, unwrapped] {
            assert!(
                summary.is_complete() && summary.executions >= 2,
                "{summary}"
            );
        }
        // Without the fence there is a race.
        let looks = || {
            body(|value| {
                let _value = value.0.get();
                std::mem::forget(value);
            });
        };
        let builder = builder();
        let failed = catch_unwind(move || builder.check(looks)).unwrap_err();
        let report = failed.downcast::<String>().expect("a report");
        assert!(report.contains("data race"), "{report}");
    }
}

/// The step of a drop shows where the `Arc` was made, because a drop has no place of its own.
#[test]
fn drops_show_a_place_of_the_test() {
    let builder = rc11();
    let failed = catch_unwind(move || {
        builder.check(|| {
            let value = Arc::new(0);
            let (other, weak) = (value.clone(), Arc::downgrade(&value));
            let dropped = thread::spawn(move || drop((other, weak)));
            let count = (Arc::strong_count(&value), Arc::weak_count(&value));
            dropped.join().unwrap();
            assert_ne!(count, (1, 0));
        })
    });
    let report = failed.unwrap_err().downcast::<String>().expect("a report");
    for verb in ["Arc.drop ", "Arc.drop of Weak "] {
        let step = report.lines().find(|line| line.contains(verb));
        let step = step.unwrap_or_else(|| panic!("no {verb} in {report}"));
        assert!(step.contains("references.rs"), "{step}");
    }
}
