//! Wrong verdicts of earlier versions, each with a minimal program.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use mazurka_rt::cell::UnsafeCell;
use mazurka_rt::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use mazurka_rt::sync::atomic::{AtomicPtr, AtomicU32};
use mazurka_rt::sync::{Arc, Mutex, RwLock, TryLockError, Weak, mpsc};
use mazurka_rt::{Algorithm, Builder, Memory, Outcomes, model, thread};

fn explore<T: PartialEq + 'static>(
    algorithm: Algorithm,
    f: impl Fn() -> T + Send + Sync + 'static,
) -> Outcomes<T> {
    let builder = Builder {
        algorithm,
        ..Builder::new()
    };
    let found = builder.outcomes(f);
    assert_eq!(found.bounds, []);
    found
}

/// Returns the number of executions, and all results. Two explorers must agree on them. There must
/// be no failures and no deadlocks.
fn results<T: Ord + Clone + std::fmt::Debug + 'static>(
    f: impl Fn() -> T + Clone + Send + Sync + 'static,
) -> (u64, BTreeSet<T>) {
    let [naive, optimal] = [Algorithm::Naive, Algorithm::Optimal].map(|algorithm| {
        let found = explore(algorithm, f.clone());
        assert_eq!((found.failures, found.deadlocks), (0, 0));
        (found.executions, BTreeSet::from_iter(found.results))
    });
    assert_eq!(naive, optimal);
    optimal
}

fn races(f: impl Fn() + Send + Sync + 'static) {
    let result = catch_unwind(AssertUnwindSafe(|| model(f)));
    let message = result.expect_err("a data race is not found");
    let message = message.downcast_ref::<String>().expect("a text");
    assert!(message.contains("data race"), "{message}");
}

/// The values that the threads of the program below read.
type Seen = (u32, Result<u32, u32>, u32);

fn under_a_lock(m: Arc<Mutex<u32>>, x: Arc<AtomicU32>, y: Arc<AtomicU32>) -> Seen {
    let t0 = {
        let m = m.clone();
        thread::spawn(move || drop(m.lock()))
    };
    let t1 = {
        let (m, x, y) = (m.clone(), x.clone(), y.clone());
        thread::spawn(move || {
            let guard = m.lock();
            x.store(1, SeqCst);
            let seen = y.load(SeqCst);
            drop(guard);
            seen
        })
    };
    let t2 = thread::spawn(move || {
        let exchanged = y.compare_exchange(0, 2, SeqCst, SeqCst);
        let swapped = x.swap(1, SeqCst);
        drop(m.lock());
        (exchanged, swapped)
    });
    t0.join().unwrap();
    let seen = t1.join().unwrap();
    let (exchanged, swapped) = t2.join().unwrap();
    (seen, exchanged, swapped)
}

/// Objects made at one place are first used under a lock. The crate once reported that "the same
/// schedule did something else than before".
#[test]
fn objects_of_one_place_in_arcs() {
    let apart = results(|| {
        let (x, y) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        under_a_lock(Arc::new(Mutex::new(0)), x, y)
    });
    let together = results(|| {
        let mut all: Vec<_> = (0..2).map(|_| Arc::new(AtomicU32::new(0))).collect();
        let (y, x) = (all.pop().unwrap(), all.pop().unwrap());
        under_a_lock(Arc::new(Mutex::new(0)), x, y)
    });
    assert_eq!(apart.0, 12);
    assert_eq!(together, apart);
}

/// The same program with objects in a vector, whose memory is not that of an `Arc`. The results
/// must not depend on whether the objects are made at one place or at two.
#[test]
fn objects_of_one_place_in_a_vector() {
    let run = |all: Arc<Vec<AtomicU32>>, m: Arc<Mutex<u32>>| {
        let t0 = {
            let m = m.clone();
            thread::spawn(move || drop(m.lock()))
        };
        let t1 = {
            let (m, all) = (m.clone(), all.clone());
            thread::spawn(move || {
                let guard = m.lock();
                all[0].store(1, SeqCst);
                let seen = all[1].load(SeqCst);
                drop(guard);
                seen
            })
        };
        let t2 = thread::spawn(move || {
            let exchanged = all[1].compare_exchange(0, 2, SeqCst, SeqCst);
            let swapped = all[0].swap(1, SeqCst);
            drop(m.lock());
            (exchanged, swapped)
        });
        t0.join().unwrap();
        (t1.join().unwrap(), t2.join().unwrap())
    };
    let together = results(move || {
        let all = (0..2).map(|_| AtomicU32::new(0)).collect();
        run(Arc::new(all), Arc::new(Mutex::new(0)))
    });
    let apart = results(move || {
        let all = vec![AtomicU32::new(0), AtomicU32::new(0)];
        run(Arc::new(all), Arc::new(Mutex::new(0)))
    });
    assert_eq!(together.1, apart.1);
}

/// Locks that are made at one place, one of which is first taken while the other is held.
#[test]
fn locks_of_one_place() {
    let (_, seen) = results(|| {
        let all: Arc<Vec<_>> = Arc::new((0..2).map(Mutex::new).collect());
        let run = |all: Arc<Vec<Mutex<u32>>>| {
            thread::spawn(move || {
                let mut first = all[0].lock().unwrap();
                let mut second = all[1].lock().unwrap();
                (*first, *second) = (*first + 1, *second + 10);
                *first * 100 + *second
            })
        };
        let (one, other) = (run(all.clone()), run(all));
        (one.join().unwrap(), other.join().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([(111, 221), (221, 111)]));
}

struct Slot(UnsafeCell<u32>);

// SAFETY: the tests check whether this is right.
#[allow(unsafe_code)]
unsafe impl Sync for Slot {}

#[allow(unsafe_code)]
impl Slot {
    fn add(&self) {
        // SAFETY: as above.
        self.0.with_mut(|p| unsafe { *p += 1 });
    }
}

/// Reads its slot when it is dropped.
struct Reads(Slot);

#[allow(unsafe_code)]
impl Drop for Reads {
    fn drop(&mut self) {
        // SAFETY: it is being dropped.
        assert!(self.0.0.with_mut(|p| unsafe { *p }) <= 1);
    }
}

/// Whatever a thread does before it drops its reference happens before the drop of the last
/// reference.
#[test]
fn arcs_order() {
    let shared = || {
        let arc = Arc::new(Reads(Slot(UnsafeCell::new(0))));
        let other = arc.clone();
        let handle = thread::spawn(move || {
            other.0.add();
            drop(other);
        });
        (arc, handle)
    };
    model(move || {
        let (arc, handle) = shared();
        drop(arc);
        handle.join().unwrap();
    });
    // The thread is not joined first, so only the count orders the two.
    model(move || {
        let (mut arc, handle) = shared();
        while Arc::get_mut(&mut arc).is_none() {
            thread::yield_now();
        }
        assert_eq!(*Arc::get_mut(&mut arc).unwrap().0.0.get_mut(), 1);
        handle.join().unwrap();
    });
    model(move || {
        let (arc, handle) = shared();
        match Arc::try_unwrap(arc) {
            Ok(mut alone) => assert_eq!(*alone.0.0.get_mut(), 1),
            Err(arc) => drop(arc),
        }
        handle.join().unwrap();
    });
    model(move || {
        let (arc, handle) = shared();
        if let Some(mut alone) = Arc::into_inner(arc) {
            assert_eq!(*alone.0.0.get_mut(), 1);
        }
        handle.join().unwrap();
    });
}

/// Reading a count orders nothing, unless there is a fence.
#[test]
#[allow(unsafe_code)]
fn looking_at_a_count_orders_nothing() {
    let look = |fenced: bool| {
        move || {
            let arc = Arc::new(Slot(UnsafeCell::new(0)));
            let other = arc.clone();
            thread::spawn(move || other.add());
            if Arc::strong_count(&arc) == 1 {
                if fenced {
                    mazurka_rt::sync::atomic::fence(Acquire);
                }
                // SAFETY: the test checks whether this is right.
                assert_eq!(arc.0.with(|p| unsafe { *p }), 1);
            }
        }
    };
    model(look(true));
    races(look(false));
}

/// `make_mut` of a shared value orders nothing; `get_mut` acquires although the value is shared.
#[test]
#[allow(unsafe_code)]
fn asking_for_a_shared_value_orders_as_in_std() {
    let look = |ask: fn(&mut Arc<i32>)| {
        move || {
            let slot = Arc::new(Slot(UnsafeCell::new(0)));
            let (mut arc, other) = (Arc::new(0), slot.clone());
            let (_kept, shared) = (arc.clone(), arc.clone());
            thread::spawn(move || (other.add(), drop(shared)));
            if Arc::strong_count(&arc) == 2 {
                ask(&mut arc);
                // SAFETY: the test checks whether this is right.
                assert_eq!(slot.0.with(|p| unsafe { *p }), 1);
            }
        }
    };
    model(look(|arc| assert!(Arc::get_mut(arc).is_none())));
    races(look(|arc| *Arc::make_mut(arc) += 1));
    races(look(|_| {}));
}

/// The `Arc`s of this crate behave like std's.
#[test]
fn arcs_are_those_of_std() {
    let body = || {
        let arc = Arc::new(5);
        let weak: Weak<i32> = Arc::downgrade(&arc);
        assert_eq!((Arc::strong_count(&arc), Arc::weak_count(&arc)), (1, 1));
        assert_eq!(weak.upgrade().as_deref(), Some(&5));
        let raw = Arc::into_raw(arc.clone());
        assert_eq!(Arc::strong_count(&arc), 2);
        // SAFETY: it comes from `into_raw`.
        #[allow(unsafe_code)]
        let mut same = unsafe { Arc::from_raw(raw) };
        assert!(Arc::ptr_eq(&arc, &same));
        *Arc::make_mut(&mut same) += 1;
        assert_eq!((*arc, *same), (5, 6));
        assert_eq!(Arc::try_unwrap(arc), Ok(5));
        assert!(weak.upgrade().is_none());
        let around = Arc::new_cyclic(|me: &Weak<(u8, Weak<u8>)>| {
            assert!(me.upgrade().is_none());
            (1, Weak::new())
        });
        assert!(around.1.upgrade().is_none());
        let text: Arc<str> = Arc::from("text");
        let all: Arc<[u32]> = (0..3).collect();
        assert_eq!(
            (text.len(), all.len(), Arc::into_inner(same)),
            (4, 3, Some(6))
        );
    };
    body();
    model(body);
}

/// The content of an `Arc` is replaced, and the old content lives on: two objects, although both
/// were first used at one address.
#[test]
fn what_was_in_an_arc_may_leave_it() {
    let (_, seen) = results(|| {
        let slot = Arc::new(Mutex::new(Box::new(Mutex::new(1))));
        let inline = Arc::new(Mutex::new(Mutex::new(1)));
        let inside = inline.lock().unwrap();
        drop(inside.lock());
        drop(inside);
        let old = std::mem::replace(&mut *inline.lock().unwrap(), Mutex::new(2));
        let held = old.lock().unwrap();
        let new = inline.lock().unwrap();
        let sum = *held + *new.lock().unwrap();
        drop(slot);
        sum
    });
    assert_eq!(seen, BTreeSet::from([3]));
}

/// The creation of a cell is a write, so publishing the cell by a relaxed store is a race.
#[test]
#[allow(unsafe_code)]
fn making_a_cell_is_a_write() {
    let publish = |store: Ordering, load: Ordering| {
        move || {
            let shared = Arc::new(AtomicPtr::<UnsafeCell<u32>>::new(null_mut()));
            let other = shared.clone();
            let handle = thread::spawn(move || {
                let made = Box::into_raw(Box::new(UnsafeCell::new(7)));
                other.store(made, store);
            });
            let seen = shared.load(load);
            if !seen.is_null() {
                // SAFETY: it is freed only below.
                assert_eq!(unsafe { (*seen).with(|p| *p) }, 7);
            }
            handle.join().unwrap();
            // SAFETY: it comes from a box, and all threads are over.
            drop(unsafe { Box::from_raw(shared.load(Relaxed)) });
        }
    };
    model(publish(Release, Acquire));
    model(publish(SeqCst, SeqCst));
    races(publish(Relaxed, Relaxed));
    races(publish(Release, Relaxed));
    races(publish(Relaxed, Acquire));
}

/// A cell in a static counts as made before everything else.
#[test]
fn a_cell_in_a_static() {
    static SLOT: Slot = Slot(UnsafeCell::const_new(0));
    model(|| {
        thread::spawn(|| SLOT.add()).join().unwrap();
        SLOT.add();
    });
}

/// The queue of Michael and Scott (PODC 1996), without freeing nodes.
struct Queue {
    head: AtomicPtr<Node>,
    tail: AtomicPtr<Node>,
    store: Ordering,
    load: Ordering,
}

struct Node {
    value: UnsafeCell<u32>,
    next: AtomicPtr<Node>,
}

#[allow(unsafe_code)]
impl Queue {
    fn node(value: u32) -> *mut Node {
        Box::into_raw(Box::new(Node {
            value: UnsafeCell::new(value),
            next: AtomicPtr::new(null_mut()),
        }))
    }

    fn new(store: Ordering, load: Ordering) -> Self {
        let dummy = Self::node(0);
        Self {
            head: AtomicPtr::new(dummy),
            tail: AtomicPtr::new(dummy),
            store,
            load,
        }
    }

    fn push(&self, value: u32) {
        let node = Self::node(value);
        loop {
            let tail = self.tail.load(self.load);
            // SAFETY: nodes are not freed.
            let next = unsafe { &(*tail).next };
            let after = next.load(self.load);
            if !after.is_null() {
                let _ = self.tail.compare_exchange(tail, after, self.store, Relaxed);
            } else if next
                .compare_exchange(null_mut(), node, self.store, Relaxed)
                .is_ok()
            {
                let _ = self.tail.compare_exchange(tail, node, self.store, Relaxed);
                return;
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        loop {
            let head = self.head.load(self.load);
            // SAFETY: nodes are not freed.
            let next = unsafe { (*head).next.load(self.load) };
            if next.is_null() {
                return None;
            }
            if self
                .head
                .compare_exchange(head, next, self.store, Relaxed)
                .is_ok()
            {
                // SAFETY: only the thread that moved the head to this node takes its value.
                return Some(unsafe { (*next).value.with(|p| *p) });
            }
        }
    }
}

#[test]
fn a_queue_of_michael_and_scott() {
    let run = |store: Ordering, load: Ordering| {
        move || {
            let queue = Arc::new(Queue::new(store, load));
            let other = queue.clone();
            let handle = thread::spawn(move || {
                other.push(1);
                other.push(2);
            });
            let mut seen = vec![queue.pop(), queue.pop()];
            handle.join().unwrap();
            seen.push(queue.pop());
            seen.retain(Option::is_some);
            let sorted = seen.is_sorted();
            assert!(sorted, "{seen:?}");
        }
    };
    model(run(AcqRel, Acquire));
    races(run(Relaxed, Relaxed));
    races(run(AcqRel, Relaxed));
    races(run(Relaxed, Acquire));
}

/// Adds 1 twice when it is dropped.
struct Twice(Arc<AtomicU32>);

impl Drop for Twice {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        self.0.fetch_add(1, SeqCst);
    }
}

/// Other threads can run between the steps of an unwinding thread.
#[test]
fn others_come_between_the_steps_of_a_thread_that_unwinds() {
    let found = results(|| {
        let x = Arc::new(AtomicU32::new(0));
        let twice = Twice(x.clone());
        let handle = thread::spawn(move || {
            let _twice = twice;
            panic!("as planned");
        });
        let seen = (x.load(SeqCst), thread::panicking());
        assert!(handle.join().is_err());
        assert_eq!(x.load(SeqCst), 2);
        seen
    });
    let expected = BTreeSet::from([(0, false), (1, false), (2, false)]);
    assert_eq!(found, (3, expected));
}

/// A thread holds its locks until unwinding releases them.
#[test]
fn a_lock_is_held_while_its_holder_panics() {
    let (_, seen) = results(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let handle = thread::spawn(move || {
            let _guard = other.lock().unwrap();
            panic!("as planned");
        });
        let seen = match lock.try_lock() {
            Ok(_) => "free",
            Err(TryLockError::Poisoned(_)) => "poisoned",
            Err(TryLockError::WouldBlock) => "held",
        };
        assert!(handle.join().is_err());
        assert!(lock.is_poisoned());
        seen
    });
    assert_eq!(seen, BTreeSet::from(["free", "held", "poisoned"]));
}

/// A panic poisons the locks of the panicking thread and no others, whatever else is unwinding.
#[test]
fn a_panic_poisons_only_its_own_locks() {
    let (_, seen) = results(|| {
        let locks = Arc::new((Mutex::new(0), RwLock::new(0), Mutex::new(0)));
        let (one, other) = (locks.clone(), locks.clone());
        let one = thread::spawn(move || {
            let _guard = one.0.lock().unwrap();
            panic!("one");
        });
        let other = thread::spawn(move || {
            let _guard = other.1.write().unwrap();
            panic!("the other");
        });
        drop(locks.2.lock());
        assert!(one.join().is_err());
        assert!(other.join().is_err());
        let poisoned = (locks.0.is_poisoned(), locks.1.is_poisoned());
        (poisoned, locks.2.is_poisoned())
    });
    assert_eq!(seen, BTreeSet::from([((true, true), false)]));
}

/// Two threads unwind at the same time, and each step of one may come between those of the other.
#[test]
fn two_threads_unwind() {
    let (_, seen) = results(|| {
        let x = Arc::new(AtomicU32::new(0));
        let unwind = || {
            let x = x.clone();
            thread::spawn(move || {
                struct Doubles(Arc<AtomicU32>);
                impl Drop for Doubles {
                    fn drop(&mut self) {
                        let seen = self.0.load(SeqCst);
                        self.0.store(seen + 1, SeqCst);
                    }
                }
                let _doubles = Doubles(x);
                panic!("as planned");
            })
        };
        let (one, other) = (unwind(), unwind());
        assert!(one.join().is_err() && other.join().is_err());
        x.load(SeqCst)
    });
    assert_eq!(seen, BTreeSet::from([1, 2]));
}

/// A thread that waits for ever while it unwinds is a deadlock, and does not affect the next model.
#[test]
fn a_deadlock_while_unwinding() {
    struct Locks(Arc<Mutex<u32>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            drop(self.0.lock());
        }
    }
    let found = explore(Algorithm::Optimal, || {
        let lock = Arc::new(Mutex::new(0));
        let locks = Locks(lock.clone());
        let guard = lock.lock();
        let handle = thread::spawn(move || {
            let _locks = locks;
            panic!("as planned");
        });
        let result = handle.join();
        drop(guard);
        result.is_err()
    });
    assert_eq!((found.executions, found.deadlocks), (1, 1));
    let (_, seen) = results(|| {
        let lock = Arc::new(Mutex::new(thread::panicking()));
        let other = lock.clone();
        let handle = thread::spawn(move || drop(other.lock()));
        let seen = *lock.lock().unwrap();
        handle.join().unwrap();
        (seen, lock.is_poisoned())
    });
    assert_eq!(seen, BTreeSet::from([(false, false)]));
}

/// Returns the results of a closure, sorted.
fn sorted<T: Ord + 'static>(f: impl Fn() -> T + Send + Sync + 'static) -> Vec<T> {
    let found = Builder::new().outcomes(f);
    assert_eq!((found.failures, found.deadlocks), (0, 0));
    assert!(found.bounds.is_empty());
    let mut results = found.results;
    results.sort_unstable();
    results
}

/// If the program reads the count, both cases are explored: another thread has already dropped its
/// reference, or has not.
#[test]
fn counts_of_references_that_are_read() {
    let shared = || {
        let one = Arc::new(7);
        let other = one.clone();
        (one, thread::spawn(move || drop(other)))
    };
    let unwrapped = sorted(move || Arc::try_unwrap(shared().0).is_ok());
    assert_eq!(unwrapped, [false, true]);
    assert_eq!(
        sorted(move || Arc::into_inner(shared().0).is_some()),
        [false, true]
    );
    assert_eq!(sorted(move || Arc::strong_count(&shared().0)), [1, 2]);
    let alone = sorted(move || Arc::get_mut(&mut shared().0).is_some());
    assert_eq!(alone, [false, true]);
    let made = sorted(move || {
        let mut one = shared().0;
        let before = Arc::as_ptr(&one);
        Arc::make_mut(&mut one);
        before == Arc::as_ptr(&one)
    });
    assert_eq!(made, [false, true]);
    let upgraded = sorted(|| {
        let one = Arc::new(7);
        let weak = Arc::downgrade(&one);
        let other = thread::spawn(move || weak.upgrade().is_some());
        drop(one);
        other.join().unwrap()
    });
    assert_eq!(upgraded, [false, true]);
    let weak = sorted(|| {
        let one = Arc::new(7);
        let weak = Arc::downgrade(&one);
        thread::spawn(move || drop(weak));
        (Arc::weak_count(&one), Arc::strong_count(&one))
    });
    assert_eq!(weak, [(0, 1), (1, 1)]);
}

/// Any of the threads that drop references may drop the last one and run the destructor. Either of
/// two threads that call `into_inner` may get the value, but only one of them does.
#[test]
fn the_last_reference_is_of_any_thread() {
    struct Tells(Arc<AtomicU32>);
    impl Drop for Tells {
        fn drop(&mut self) {
            let name = thread::current().name().map_or(0, |name| name.len() as u32);
            self.0.store(name, SeqCst);
        }
    }
    let last = sorted(|| {
        let seen = Arc::new(AtomicU32::new(0));
        let one = Arc::new(Tells(seen.clone()));
        let all: Vec<_> = ["a", "bb", "ccc"]
            .map(|name| {
                let one = one.clone();
                let named = thread::Builder::new().name(name.into());
                named.spawn(move || drop(one)).unwrap()
            })
            .into();
        drop(one);
        all.into_iter().for_each(|one| one.join().unwrap());
        seen.load(SeqCst)
    });
    assert_eq!(last, [1, 2, 3, 4], "main is the fourth");
    let inner = sorted(|| {
        let one = Arc::new(7);
        let other = one.clone();
        let other = thread::spawn(move || Arc::into_inner(other).is_some());
        let mine = Arc::into_inner(one).is_some();
        (mine, other.join().unwrap())
    });
    assert_eq!(inner, [(false, true), (true, false)]);
}

/// If the program cannot observe the counts, they add no executions.
#[test]
fn references_that_are_only_dropped_cost_nothing() {
    let found = Builder::new().check(|| {
        let list = Arc::new(vec![1, 2, 3]);
        let all: Vec<_> = (0..4)
            .map(|_| {
                let list = list.clone();
                thread::spawn(move || list.len())
            })
            .collect();
        all.into_iter()
            .for_each(|one| assert_eq!(one.join().unwrap(), 3));
        assert_eq!(Arc::try_unwrap(list).unwrap(), [1, 2, 3]);
    });
    assert_eq!(found.executions, 1);
    let found = Builder::new().check(|| {
        let list = Arc::new(vec![1, 2, 3]);
        for _ in 0..4 {
            let list = list.clone();
            thread::spawn(move || list.len());
        }
    });
    assert_eq!(found.executions, 1);
}

/// A loop that waits until the other references are dropped.
#[test]
fn a_loop_that_reads_a_count() {
    let found = Builder::new().check(|| {
        let one = Arc::new(AtomicU32::new(0));
        let other = one.clone();
        thread::spawn(move || {
            other.store(1, SeqCst);
            drop(other);
        });
        while Arc::strong_count(&one) > 1 {
            thread::yield_now();
        }
        assert_eq!(one.load(SeqCst), 1);
    });
    assert!(found.is_complete());
}

/// The bug: after `try_send` gave a message to a waiting receiver, a second sender continued
/// although no receiver had taken its message.
#[test]
fn without_room_each_message_meets_a_receiver() {
    let outcomes = |memory| {
        let found = Builder::new().memory(memory).outcomes(|| {
            let (sender, receiver) = mpsc::sync_channel(0);
            let other = thread::spawn(move || receiver.recv().unwrap());
            let sent = (sender.try_send(1).is_ok(), sender.send(2).is_ok());
            (sent, other.join().unwrap())
        });
        assert_eq!((found.deadlocks, found.failures), (0, 0));
        let mut results = found.results;
        results.sort_unstable();
        results
    };
    for memory in [Memory::Sc, Memory::Rc11] {
        let expected = [((false, true), 2), ((true, false), 1)];
        assert_eq!(outcomes(memory), expected, "{memory:?}");
    }
}

/// A write claims the arbiter of a thread that spins on several atomics. If the write is moved
/// before the spinning, it claims less, and a run may end blocked.
#[test]
fn a_write_before_the_spinning_claims_less() {
    let program = || {
        let shared: Arc<[AtomicU32; 3]> = Arc::default();
        let (one, two) = (shared.clone(), shared.clone());
        thread::spawn(move || one[1].store(1, SeqCst));
        thread::spawn(move || {
            two[0].store(1, SeqCst);
            two[0].store(2, SeqCst);
            two[2].store(1, SeqCst);
        });
        let mut other = 1;
        loop {
            let first = shared[0].load(SeqCst);
            if first > 0 {
                other = 2;
            }
            if shared[other].load(SeqCst) == 1 {
                return (first, other);
            }
            thread::yield_now();
        }
    };
    let found = explore(Algorithm::Optimal, program);
    assert!(found.blocked > 0, "{found:?}");
    let (_, seen) = results(program);
    assert_eq!(seen, BTreeSet::from([(0, 1), (1, 2), (2, 2)]));
}

/// The access that fails does not depend on the other access of the race, but the reported run must
/// show both.
#[test]
#[allow(unsafe_code)]
fn both_sides_of_a_race_are_shown() {
    struct Slot(UnsafeCell<u32>, AtomicU32);
    // SAFETY: none; the test is about this.
    unsafe impl Sync for Slot {}
    let apart = || {
        let slot = Arc::new(Slot(UnsafeCell::new(0), AtomicU32::new(0)));
        let mine = AtomicU32::new(0);
        let other = {
            let slot = slot.clone();
            thread::spawn(move || {
                slot.1.load(SeqCst);
                // SAFETY: as above.
                slot.0.with_mut(|p| unsafe { *p = 1 });
            })
        };
        mine.load(SeqCst);
        // SAFETY: as above.
        slot.0.with_mut(|p| unsafe { *p = 2 });
        other.join().unwrap();
    };
    let panic = catch_unwind(AssertUnwindSafe(|| model(apart))).expect_err("it races");
    let text = panic.downcast::<String>().expect("a text");
    assert!(text.contains("data race"), "{text}");
}
