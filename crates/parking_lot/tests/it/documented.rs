//! The documentation of parking_lot, sentence by sentence, as programs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use mazurka_parking_lot::{
    Condvar, Mutex, MutexGuard, Once, OnceState, ReentrantMutex, RwLock, RwLockReadGuard,
    RwLockUpgradableReadGuard as Upgradable, RwLockWriteGuard, const_rwlock,
};
use mazurka_rt::sync::Arc;
use mazurka_rt::sync::atomic::{AtomicU32, Ordering::Relaxed};
use mazurka_rt::{Builder, Memory, thread};

use crate::{both, outcomes};

/// "Readers trying to acquire the lock will block even if the lock is unlocked when there are
/// writers waiting to acquire the lock. Because of this, attempts to recursively acquire a read
/// lock within a single thread may result in a deadlock."
#[test]
fn a_thread_that_reads_twice_may_wait_for_ever() {
    let twice = |lock: &RwLock<u32>| {
        let one = lock.read();
        let two = lock.read();
        *one + *two
    };
    let write = |lock: &RwLock<u32>| *lock.write() = 1;
    let (found, deadlocks) = outcomes(move || both(RwLock::new(0), twice, write).0);
    assert_eq!(found, [0, 2]);
    assert!(deadlocks > 0);
    let (found, deadlocks) = outcomes(move || both(RwLock::new(0), twice, twice).0);
    assert_eq!((found, deadlocks), (vec![0], 0));
}

/// There is also a deadlock if the second reader is another thread, which the first reader joins.
#[test]
fn a_reader_may_wait_for_a_writer_that_waits() {
    let (_, deadlocks) = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let writer = {
            let lock = lock.clone();
            thread::spawn(move || *lock.write() += 1)
        };
        let held = lock.read();
        let reader = {
            let lock = lock.clone();
            thread::spawn(move || *lock.read())
        };
        reader.join().unwrap();
        drop(held);
        writer.join().unwrap();
    });
    assert!(deadlocks > 0);
}

/// "Unlike `read`, this method is guaranteed to succeed without blocking if another read lock is
/// held at the time of the call."
#[test]
fn a_recursive_read_does_not_wait_for_a_writer_that_waits() {
    let twice = |lock: &RwLock<u32>| {
        let one = lock.read();
        let two = lock.read_recursive();
        *one + *two
    };
    let write = |lock: &RwLock<u32>| *lock.write() = 1;
    let (found, deadlocks) = outcomes(move || both(RwLock::new(0), twice, write).0);
    assert_eq!((found, deadlocks), (vec![0, 2], 0));
}

#[test]
fn attempts_beside_a_writer_that_waits() {
    let write = |lock: &RwLock<u32>| *lock.write() = 1;
    let (found, deadlocks) = outcomes(move || {
        let again = |lock: &RwLock<u32>| {
            let _held = lock.read();
            let plain = lock.try_read().is_some();
            (plain, lock.try_read_recursive().is_some())
        };
        both(RwLock::new(0), again, write).0
    });
    assert_eq!((found, deadlocks), (vec![(false, true), (true, true)], 0));
    let (found, _) = outcomes(move || {
        let attempts = |lock: &RwLock<u32>| {
            let _held = lock.read();
            (
                lock.is_locked(),
                lock.is_locked_exclusive(),
                lock.try_write().is_some(),
            )
        };
        both(RwLock::new(0), attempts, write).0
    });
    assert_eq!(found, [(true, false, false), (true, true, false)]);
}

/// "There can be only one upgradable read lock at a time", beside any number of readers.
#[test]
fn an_upgradable_read_excludes_others_of_its_kind() {
    let (found, deadlocks) = outcomes(|| {
        let add = |lock: &RwLock<u32>| {
            let held = lock.upgradable_read();
            let seen = *held;
            *Upgradable::upgrade(held) = seen + 1;
        };
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let other = thread::spawn(move || add(&other));
        add(&lock);
        other.join().unwrap();
        *lock.read()
    });
    assert_eq!((found, deadlocks), (vec![2], 0), "no update is lost");
    let (found, _) = outcomes(|| {
        let lock = RwLock::new(0);
        let held = lock.upgradable_read();
        let free = (
            lock.try_upgradable_read().is_some(),
            lock.try_read().is_some(),
        );
        let write = lock.try_write().is_some();
        drop(held);
        (free, write, lock.try_write().is_some())
    });
    assert_eq!(found, [((false, true), false, true)]);
}

#[test]
fn an_upgrade_waits_for_readers_and_keeps_others_out() {
    let read = |lock: &RwLock<u32>| *lock.read();
    let (found, deadlocks) = outcomes(move || {
        let upgrade = |lock: &RwLock<u32>| {
            let held = lock.upgradable_read();
            *Upgradable::upgrade(held) = 1;
        };
        both(RwLock::new(0), upgrade, read).1
    });
    assert_eq!((found, deadlocks), (vec![0, 1], 0));
    let (found, deadlocks) = outcomes(move || {
        let tries = |lock: &RwLock<u32>| {
            let held = lock.upgradable_read();
            match Upgradable::try_upgrade(held) {
                Ok(mut held) => {
                    *held = 1;
                    true
                }
                Err(held) => *held == 9,
            }
        };
        both(RwLock::new(0), tries, read)
    });
    assert_eq!(
        (found, deadlocks),
        (vec![(false, 0), (true, 0), (true, 1)], 0)
    );
    // The reader waits for the upgrading thread, which waits for the reader.
    let (_, deadlocks) = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let held = lock.read();
        let upgrades = thread::spawn(move || {
            let held = other.upgradable_read();
            *Upgradable::upgrade(held) = 1;
        });
        upgrades.join().unwrap();
        drop(held);
    });
    assert!(deadlocks > 0);
}

#[test]
fn an_upgradable_read_becomes_a_plain_one() {
    let (found, deadlocks) = outcomes(|| {
        let both_ways = |lock: &RwLock<u32>| {
            let mut held = lock.write();
            *held += 1;
            let mut held = RwLockWriteGuard::downgrade_to_upgradable(held);
            let seen = held.with_upgraded(|value| {
                *value += 1;
                *value
            });
            let tried = held.try_with_upgraded(|value| *value += 1).is_some();
            let held: RwLockReadGuard<'_, u32> = Upgradable::downgrade(held);
            (seen, tried, *held)
        };
        let adds = |lock: &RwLock<u32>| *lock.write() += 10;
        both(RwLock::new(0), both_ways, adds).0
    });
    // No writer comes in between, and there is no reader that would prevent the attempt.
    assert_eq!((found, deadlocks), (vec![(2, true, 3), (12, true, 13)], 0));
}

#[test]
fn a_downgrade_lets_readers_in_and_no_writer() {
    let (found, deadlocks) = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let (other, third) = (lock.clone(), lock.clone());
        let writer = thread::spawn(move || *other.write() += 10);
        let reader = thread::spawn(move || *third.read());
        let mut held = lock.write();
        *held += 1;
        let before = *held;
        let held = RwLockWriteGuard::downgrade(held);
        let after = *held;
        drop(held);
        writer.join().unwrap();
        (before == after, reader.join().unwrap())
    });
    assert_eq!(found, [(true, 0), (true, 1), (true, 10), (true, 11)]);
    assert_eq!(deadlocks, 0);
}

/// "No poisoning, the lock is released normally on panic."
#[test]
fn nothing_is_poisoned() {
    let (found, deadlocks) = outcomes(|| {
        let locks = Arc::new((Mutex::new(0), RwLock::new(0)));
        let other = locks.clone();
        let panics = thread::spawn(move || {
            let (mut one, mut two) = (other.0.lock(), other.1.write());
            (*one, *two) = (1, 1);
            panic!("while both are held");
        });
        let seen = (*locks.0.lock(), *locks.1.read());
        assert!(panics.join().is_err());
        (seen, *locks.0.lock(), *locks.1.read())
    });
    // The first lock is held while the second is read.
    assert_eq!(found, [((0, 0), 1, 1), ((1, 1), 1, 1)]);
    assert_eq!(deadlocks, 0);
}

#[test]
fn locks_of_the_same_thread() {
    for deadlocks in [
        outcomes(|| {
            let lock = Mutex::new(());
            let _held = lock.lock();
            drop(lock.lock());
        }),
        outcomes(|| {
            let lock = RwLock::new(());
            let _held = lock.write();
            drop(lock.read());
        }),
        outcomes(|| {
            let lock = RwLock::new(());
            let _held = lock.upgradable_read();
            drop(lock.upgradable_read());
        }),
        outcomes(|| {
            let lock = RwLock::new(());
            let _held = lock.read();
            drop(lock.write());
        }),
    ]
    .map(|(_, deadlocks)| deadlocks)
    {
        assert_eq!(deadlocks, 1);
    }
    let (found, _) = outcomes(|| {
        let lock = Mutex::new(());
        let _held = lock.lock();
        lock.try_lock().is_some() || lock.try_lock_for(Duration::from_secs(1)).is_some()
    });
    assert_eq!(found, [false]);
}

/// "No spurious wakeups: A wait will only return a non-timeout result if it was woken up."
#[test]
fn waits_do_not_end_for_no_reason() {
    let wait = || {
        let pair = (Mutex::new(()), Condvar::new());
        both(
            pair,
            |(lock, bell)| {
                let mut held = lock.lock();
                bell.wait(&mut held);
            },
            |(lock, bell)| {
                let held = lock.lock();
                let woken = bell.notify_one();
                drop(held);
                woken
            },
        )
        .1
    };
    let found = Builder {
        spurious_wakes: 2,
        ..Builder::new()
    }
    .outcomes(wait);
    assert_eq!((found.results, found.deadlocks), (vec![true], 1));
}

/// "Returns the number of threads woken up."
#[test]
fn notifications_tell_how_many_they_woke() {
    let (found, deadlocks) = outcomes(|| {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let waits = |shared: Arc<(Mutex<u32>, Condvar)>| {
            move || {
                let mut ready = shared.0.lock();
                shared.1.wait_while(&mut ready, |ready| *ready == 0);
            }
        };
        let (one, two) = (
            thread::spawn(waits(shared.clone())),
            thread::spawn(waits(shared.clone())),
        );
        *shared.0.lock() = 1;
        let woken = shared.1.notify_all();
        one.join().unwrap();
        two.join().unwrap();
        woken
    });
    assert_eq!((found, deadlocks), (vec![0, 1, 2], 0));
}

#[test]
fn a_timed_wait_while() {
    let (found, deadlocks) = outcomes(|| {
        let pair = (Mutex::new(false), Condvar::new());
        let waits = |(ready, bell): &(Mutex<bool>, Condvar)| {
            let mut ready = ready.lock();
            let time = Duration::from_millis(1);
            let result = bell.wait_while_for(&mut ready, |ready| !*ready, time);
            (result.timed_out(), *ready)
        };
        let sets = |(ready, bell): &(Mutex<bool>, Condvar)| {
            *ready.lock() = true;
            bell.notify_one();
        };
        both(pair, waits, sets).0
    });
    assert_eq!((found, deadlocks), (vec![(false, true), (true, false)], 0));
}

#[test]
fn the_lock_is_free_while_a_function_runs() {
    let (found, deadlocks) = outcomes(|| {
        let gives_up = |lock: &RwLock<u32>| {
            let mut held = lock.read();
            let before = *held;
            let free = RwLockReadGuard::unlocked(&mut held, || lock.try_write().is_some());
            (before, free, *held)
        };
        both(RwLock::new(0), gives_up, |lock| *lock.write() += 1).0
    });
    let want = [(0, false, 1), (0, true, 0), (0, true, 1), (1, true, 1)];
    assert_eq!((found, deadlocks), (want.to_vec(), 0));
    let (found, _) = outcomes(|| {
        let lock = Mutex::new(0);
        let mut held = lock.lock();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            MutexGuard::unlocked(&mut held, || panic!("while it is free"));
        }));
        panicked.is_err()
    });
    assert_eq!(found, [true]);
}

#[test]
fn once_after_a_panic() {
    let (found, _) = outcomes(|| {
        let once = Once::new();
        let first = catch_unwind(AssertUnwindSafe(|| once.call_once(|| panic!("first"))));
        let second = catch_unwind(AssertUnwindSafe(|| once.call_once(|| ())));
        let mut state = OnceState::New;
        once.call_once_force(|before| state = before);
        let mut ran = false;
        once.call_once(|| ran = true);
        (first.is_err(), second.is_err(), state.poisoned(), ran)
    });
    assert_eq!(found, [(true, true, true, false)]);
}

#[test]
fn a_reentrant_mutex_is_free_after_the_last_guard() {
    let (found, deadlocks) = outcomes(|| {
        let twice = |lock: &ReentrantMutex<u32>| {
            let one = lock.lock();
            let two = lock.lock();
            drop(one);
            let mine = lock.is_owned_by_current_thread();
            drop(two);
            (mine, lock.is_owned_by_current_thread())
        };
        both(ReentrantMutex::new(7), twice, |lock| {
            lock.try_lock().map(|held| *held)
        })
    });
    let held = (true, false);
    assert_eq!((found, deadlocks), (vec![(held, None), (held, Some(7))], 0));
}

#[test]
fn a_static_lock_starts_every_execution_anew() {
    static LOCK: RwLock<Vec<u32>> = const_rwlock(Vec::new());
    let add = |number: u32| {
        let mut held = LOCK.write();
        held.push(number);
        held.len()
    };
    let (found, _) = outcomes(move || {
        let other = thread::spawn(move || add(1));
        (add(2), other.join().unwrap(), LOCK.read().len())
    });
    assert_eq!(found, [(1, 2, 2), (2, 1, 2)]);
}

/// The next thread that takes a lock sees the protected data, under every memory model.
#[test]
fn locks_order_what_they_protect() {
    for memory in [Memory::Rc11, Memory::Tso] {
        let found = Builder::new().memory(memory).outcomes(|| {
            let shared = Arc::new((RwLock::new(false), AtomicU32::new(0)));
            let other = shared.clone();
            let other = thread::spawn(move || {
                other.1.store(1, Relaxed);
                let held = other.0.upgradable_read();
                *Upgradable::upgrade(held) = true;
            });
            let seen = *shared.0.read();
            let value = shared.1.load(Relaxed);
            other.join().unwrap();
            (seen, value)
        });
        let mut results = found.results;
        results.sort_unstable();
        assert_eq!(results, [(false, 0), (false, 1), (true, 1)], "{memory:?}");
        assert_eq!((found.deadlocks, found.failures), (0, 0));
        assert!(found.bounds.is_empty());
    }
    let found = Builder::new().memory(Memory::Rc11).outcomes(|| {
        let twice = |lock: &RwLock<u32>| {
            let one = lock.read();
            let two = lock.read();
            *one + *two
        };
        both(RwLock::new(0), twice, |lock| *lock.write() = 1).0
    });
    assert!(found.deadlocks > 0, "a reader that reads again");
}

#[test]
fn a_deadlock_of_a_reader_names_the_waiting_threads() {
    let panic = catch_unwind(|| {
        mazurka_rt::model(|| {
            let twice = |lock: &RwLock<u32>| {
                let _one = lock.read();
                let _two = lock.read();
            };
            both(RwLock::new(0), twice, |lock| *lock.write() = 1);
        });
    });
    let text = *panic.unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("deadlock: no thread can go on"), "{text}");
    assert!(
        text.contains("RwLock: wait for readers") || text.contains("RwLock"),
        "{text}"
    );
    assert!(text.contains("documented.rs"), "{text}");
}
