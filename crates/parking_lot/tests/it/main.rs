//! The locks of parking_lot, explored: outcomes, deadlocks, and the behaviour outside a model.

mod documented;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::Duration;

use mazurka_parking_lot::{
    Condvar, FairMutex, MappedMutexGuard, Mutex, MutexGuard, Once, ReentrantMutex, RwLock,
    RwLockReadGuard, RwLockWriteGuard, const_mutex,
};
use mazurka_rt::sync::Arc;
use mazurka_rt::{Builder, Memory, model, thread};

/// Returns everything that a closure can return, and the number of deadlocks.
fn outcomes<T: Ord + Clone + Debug + 'static>(
    f: impl Fn() -> T + Send + Sync + 'static,
) -> (Vec<T>, u64) {
    let found = Builder::new().outcomes(f);
    assert!(found.bounds.is_empty(), "{:?}", found.bounds);
    assert_eq!(found.failures, 0);
    let results: BTreeSet<T> = found.results.into_iter().collect();
    (results.into_iter().collect(), found.deadlocks)
}

/// Runs two functions on one object at the same time and returns both results.
fn both<T: Send + Sync + 'static, A, B: Send + 'static>(
    shared: T,
    here: impl FnOnce(&T) -> A,
    there: impl FnOnce(&T) -> B + Send + 'static,
) -> (A, B) {
    let shared = Arc::new(shared);
    let other = shared.clone();
    let other = thread::spawn(move || there(&other));
    let here = here(&shared);
    (here, other.join().unwrap())
}

#[test]
fn a_mutex_excludes() {
    let (found, deadlocks) = outcomes(|| {
        both(Mutex::new(0), |m| *m.lock() += 1, |m| *m.lock() += 2);
        let add = |m: &FairMutex<i32>| {
            let mut held = m.lock();
            *held += 1;
            *held
        };
        both(FairMutex::new(0), add, add)
    });
    assert_eq!((found, deadlocks), (vec![(1, 2), (2, 1)], 0));
}

#[test]
fn an_attempt_succeeds_or_not() {
    let hold = |m: &Mutex<u32>| {
        let held = m.lock();
        thread::yield_now();
        *held
    };
    let tried = outcomes(move || both(Mutex::new(7), hold, |m| m.try_lock().map(|held| *held)));
    assert_eq!(tried, (vec![(7, None), (7, Some(7))], 0));
    let timed = |m: &Mutex<u32>| m.try_lock_for(Duration::from_secs(1)).is_some();
    let timed = outcomes(move || both(Mutex::new(7), hold, timed).1);
    assert_eq!(timed, (vec![false, true], 0));
    let seen = outcomes(move || both(Mutex::new(7), hold, Mutex::is_locked).1);
    assert_eq!(seen, (vec![false, true], 0));
}

/// `is_locked` does not take the lock, so it never makes another thread wait.
#[test]
fn is_locked_does_not_take_the_lock() {
    let (found, deadlocks) = outcomes(|| both(Mutex::new(()), |m| m.is_locked(), Mutex::is_locked));
    assert_eq!((found, deadlocks), (vec![(false, false)], 0));
    let tries = |m: &Mutex<()>| m.try_lock().is_some();
    let (found, _) = outcomes(move || both(Mutex::new(()), Mutex::is_locked, tries));
    assert_eq!(found, [(false, true), (true, true)]);
}

#[test]
fn opposite_orders_deadlock() {
    let (_, deadlocks) = outcomes(|| {
        let one = |(a, b): &(Mutex<()>, Mutex<()>)| {
            let _a = a.lock();
            let _b = b.lock();
        };
        let other = |(a, b): &(Mutex<()>, Mutex<()>)| {
            let _b = b.lock();
            let _a = a.lock();
        };
        both((Mutex::new(()), Mutex::new(())), one, other);
    });
    assert_eq!(deadlocks, 1);
}

#[test]
fn a_lost_wakeup_is_found() {
    type Pair = (Mutex<bool>, Condvar);
    let waits = |(ready, bell): &Pair| {
        let mut ready = ready.lock();
        while !*ready {
            bell.wait(&mut ready);
        }
    };
    let right = |(ready, bell): &Pair| {
        *ready.lock() = true;
        bell.notify_one()
    };
    let (found, deadlocks) = outcomes(move || {
        let pair = (Mutex::new(false), Condvar::new());
        both(pair, waits, right).1
    });
    assert_eq!((found, deadlocks), (vec![false, true], 0));
    let wrong = |(ready, bell): &Pair| {
        let woken = bell.notify_all();
        *ready.lock() = true;
        woken
    };
    let (found, deadlocks) = outcomes(move || {
        let pair = (Mutex::new(false), Condvar::new());
        both(pair, waits, wrong).1
    });
    assert_eq!(found, [0, 1]);
    assert!(deadlocks > 0);
}

#[test]
fn a_wait_may_time_out() {
    let (found, deadlocks) = outcomes(|| {
        let waits = |(ready, bell): &(Mutex<bool>, Condvar)| {
            let mut ready = ready.lock();
            let second = Duration::from_secs(1);
            let result = bell.wait_while_for(&mut ready, |ready| !*ready, second);
            (result.timed_out(), *ready)
        };
        let sets = |(ready, bell): &(Mutex<bool>, Condvar)| {
            *ready.lock() = true;
            bell.notify_one();
        };
        both((Mutex::new(false), Condvar::new()), waits, sets).0
    });
    assert_eq!((found, deadlocks), (vec![(false, true), (true, false)], 0));
}

#[test]
fn readers_share_and_writers_do_not() {
    let read = |l: &RwLock<u32>| *l.read();
    let summary = Builder::new().check(move || {
        both(RwLock::new(1), read, read);
    });
    assert_eq!(summary.executions, 1);
    let write = |l: &RwLock<u32>| {
        let mut held = l.write();
        *held += 1;
        let held = RwLockWriteGuard::downgrade(held);
        *held
    };
    let found = outcomes(move || both(RwLock::new(0), write, write));
    assert_eq!(found, (vec![(1, 2), (2, 1)], 0));
    let tries = |l: &RwLock<u32>| l.try_write_for(Duration::ZERO).is_some();
    let hold = |l: &RwLock<u32>| {
        let held = l.read_recursive();
        thread::yield_now();
        *held
    };
    let found = outcomes(move || both(RwLock::new(0), hold, tries).1);
    assert_eq!(found, (vec![false, true], 0));
}

#[test]
fn parts_keep_the_lock() {
    let add = |m: &Mutex<(u32, u32)>| {
        let mut part = MutexGuard::map(m.lock(), |pair| &mut pair.1);
        *part += 1;
        let part = MappedMutexGuard::map(part, |all| all);
        *part
    };
    let found = outcomes(move || both(Mutex::new((0, 0)), add, add));
    assert_eq!(found, (vec![(1, 2), (2, 1)], 0));
    let read = |l: &RwLock<Vec<u32>>| {
        let part = RwLockReadGuard::try_map(l.read(), |all| all.first());
        part.map(|first| *first).map_err(|whole| whole.len())
    };
    let push = |l: &RwLock<Vec<u32>>| {
        let mut whole = RwLockWriteGuard::map(l.write(), |all| all);
        whole.push(3);
        whole.push(4);
    };
    let found = outcomes(move || both(RwLock::new(Vec::new()), read, push).0);
    assert_eq!(found, (vec![Ok(3), Err(0)], 0));
}

#[test]
fn a_guard_can_let_go_for_a_moment() {
    let bumps = |m: &Mutex<u32>| {
        let mut held = m.lock();
        let before = *held;
        MutexGuard::bump(&mut held);
        (before, *held)
    };
    let found = outcomes(move || both(Mutex::new(0), bumps, |m| *m.lock() = 1).0);
    assert_eq!(found, (vec![(0, 0), (0, 1), (1, 1)], 0));
}

#[test]
fn a_reentrant_mutex_is_taken_again() {
    let twice = |m: &ReentrantMutex<std::cell::Cell<u32>>| {
        let outer = m.lock();
        let inner = m.lock();
        inner.set(inner.get() + 1);
        drop(outer);
        assert!(m.is_owned_by_current_thread());
        inner.get()
    };
    let found = outcomes(move || both(ReentrantMutex::new(std::cell::Cell::new(0)), twice, twice));
    assert_eq!(found, (vec![(1, 2), (2, 1)], 0));
}

#[test]
fn a_thread_that_spins_on_a_lock_is_suspended() {
    model(|| {
        let spins = |m: &Mutex<bool>| {
            while !*m.lock() {
                thread::yield_now();
            }
        };
        both(Mutex::new(false), spins, |m| *m.lock() = true);
    });
}

#[test]
fn once_is_once() {
    let found = outcomes(|| {
        let run = |(once, count): &(Once, Mutex<u32>)| once.call_once(|| *count.lock() += 1);
        let shared = Arc::new((Once::new(), Mutex::new(0)));
        let other = shared.clone();
        let other = thread::spawn(move || run(&other));
        run(&shared);
        other.join().unwrap();
        *shared.1.lock()
    });
    assert_eq!(found, (vec![1], 0));
}

#[test]
fn everything_works_outside_a_model() {
    static COUNT: Mutex<u32> = const_mutex(0);
    let bell = Condvar::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            *COUNT.lock() += 1;
            bell.notify_all();
        });
        let mut count = COUNT.lock();
        bell.wait_while(&mut count, |count| *count == 0);
        assert!(COUNT.is_locked());
        assert!(COUNT.try_lock_for(Duration::from_millis(1)).is_none());
        assert_eq!(MutexGuard::leak(count), &1);
    });
}

/// An observing thread sees every state of a `Once`.
#[test]
fn the_state_of_a_once() {
    use mazurka_parking_lot::OnceState;
    for memory in [Memory::Sc, Memory::Rc11] {
        let found = Builder::new().memory(memory).outcomes(|| {
            let once = Arc::new(Once::new());
            let other = once.clone();
            let other = thread::spawn(move || {
                let run = || other.call_once(|| panic!("it fails"));
                _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
                other.call_once_force(|_| ());
            });
            let seen = once.state();
            other.join().unwrap();
            assert!(once.state().done());
            seen
        });
        let mut states = found.results;
        states.sort_by_key(|state| *state as u8);
        let all = [
            OnceState::New,
            OnceState::Poisoned,
            OnceState::InProgress,
            OnceState::Done,
        ];
        assert_eq!(states, all, "{memory}");
    }
}
