//! Models behave like the real code: spinning, timeouts, poisoning, panics, statics, and cases
//! that loom misses.

use std::cell::Cell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use mazurka_rt::cell::UnsafeCell;
use mazurka_rt::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, Ordering::*, fence};
use mazurka_rt::sync::mpsc::{RecvTimeoutError, TryRecvError, TrySendError, channel, sync_channel};
use mazurka_rt::sync::{
    Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, TryLockError,
};
use mazurka_rt::{Builder, Memory, Outcomes, choose, future, hint, model, thread};

const SHORT: Duration = Duration::from_millis(1);

fn outcomes<T: PartialEq + 'static>(f: impl Fn() -> T + Send + Sync + 'static) -> Outcomes<T> {
    let found = Builder::default().outcomes(f);
    assert!(found.bounds.is_empty());
    found
}

fn fails(f: impl Fn() + Send + Sync + 'static, expected: &str) {
    let payload = catch_unwind(AssertUnwindSafe(|| model(f))).expect_err("it must fail");
    let text = payload.downcast::<String>().expect("a text");
    assert!(text.contains(expected), "{text}");
}

/// tokio-rs/loom issue 166: an additional load must not reduce the outcomes.
#[test]
fn a_redundant_load_changes_nothing() {
    let run = |extra: bool| {
        let found = outcomes(move || {
            let (key, value) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let writer = {
                let (key, value) = (key.clone(), value.clone());
                thread::spawn(move || {
                    key.store(1, SeqCst);
                    value.store(1, SeqCst);
                    value.store(0, SeqCst);
                    if extra {
                        key.load(SeqCst);
                    }
                    key.store(0, SeqCst);
                })
            };
            let reader = thread::spawn(move || (value.load(SeqCst), key.load(SeqCst)));
            writer.join().unwrap();
            reader.join().unwrap()
        });
        found.results.into_iter().collect::<HashSet<_>>()
    };
    let all = HashSet::from([(0, 0), (0, 1), (1, 0), (1, 1)]);
    assert_eq!(run(false), all);
    assert_eq!(run(true), all);
}

/// tokio-rs/loom issue 392: a thread whose first step is a load may also run before the next step
/// of the thread that has spawned it.
#[test]
fn a_thread_that_begins_with_a_load_is_not_skipped() {
    for order in [Relaxed, SeqCst] {
        let found = outcomes(move || {
            let done = Arc::new(AtomicBool::new(false));
            let worker = {
                let done = done.clone();
                thread::spawn(move || {
                    let before = done.load(order);
                    done.store(true, order);
                    before
                })
            };
            let seen = done.load(order);
            assert!(!worker.join().unwrap());
            seen
        });
        assert_eq!(found.executions, 2);
        let seen: HashSet<_> = found.results.into_iter().collect();
        assert_eq!(seen, HashSet::from([false, true]));
    }
}

/// Under sequential consistency, store buffering has all results but (0, 0), and message passing
/// has all results but (1, 0).
#[test]
fn litmus_tests_of_sequential_consistency() {
    for order in [Relaxed, SeqCst] {
        let pair = |first: fn(&AtomicU32, &AtomicU32, Ordering) -> u32,
                    second: fn(&AtomicU32, &AtomicU32, Ordering) -> u32| {
            let builder = Builder::default().memory(Memory::Sc);
            let found = builder.outcomes(move || {
                let xy = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
                let other = {
                    let xy = xy.clone();
                    let store = if order == Relaxed { Relaxed } else { SeqCst };
                    thread::spawn(move || first(&xy.0, &xy.1, store))
                };
                let mine = second(&xy.0, &xy.1, order);
                (other.join().unwrap(), mine)
            });
            found.results.into_iter().collect::<HashSet<_>>()
        };
        let buffering = pair(
            |x, y, o| {
                x.store(1, o);
                y.load(o)
            },
            |x, y, o| {
                y.store(1, o);
                x.load(o)
            },
        );
        assert_eq!(buffering, HashSet::from([(0, 1), (1, 0), (1, 1)]));
        let passing = pair(
            |x, y, o| {
                x.store(1, o);
                y.store(1, o);
                0
            },
            |x, y, o| 10 * y.load(o) + x.load(o),
        );
        assert_eq!(passing, HashSet::from([(0, 0), (0, 1), (0, 11)]));
    }
}

#[test]
fn spin_loops_end() {
    // Loops with loads, swaps and exchanges, and with `yield_now` and `spin_loop`.
    let found = outcomes(|| {
        let (flag, data) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU32::new(0)),
        );
        let other = {
            let (flag, data) = (flag.clone(), data.clone());
            thread::spawn(move || {
                data.store(7, SeqCst);
                flag.store(true, SeqCst);
            })
        };
        while !flag.load(SeqCst) {
            thread::yield_now();
        }
        let seen = data.load(SeqCst);
        other.join().unwrap();
        seen
    });
    assert_eq!((found.results, found.deadlocks), (vec![7], 0));
    for swap in [true, false] {
        let found = outcomes(move || {
            let lock = Arc::new((AtomicBool::new(false), AtomicU32::new(0)));
            let all: Vec<_> = (0..2)
                .map(|_| {
                    let lock = lock.clone();
                    thread::spawn(move || {
                        let taken = || {
                            if swap {
                                lock.0.swap(true, SeqCst)
                            } else {
                                lock.0
                                    .compare_exchange(false, true, SeqCst, SeqCst)
                                    .is_err()
                            }
                        };
                        while taken() {
                            hint::spin_loop();
                        }
                        let old = lock.1.load(SeqCst);
                        lock.1.store(old + 1, SeqCst);
                        lock.0.store(false, SeqCst);
                    })
                })
                .collect();
            all.into_iter().for_each(|one| one.join().unwrap());
            lock.1.load(SeqCst)
        });
        assert_eq!((found.results, found.deadlocks), (vec![2], 0));
    }
}

#[test]
fn a_thread_that_spins_for_ever_is_named() {
    fails(
        || {
            let x = AtomicU32::new(0);
            while x.load(SeqCst) == 0 {
                thread::yield_now();
            }
        },
        "in a loop for a change that no thread will make",
    );
}

/// A loop that spins and then gives up is not a deadlock.
#[test]
fn spinning_a_hundred_times_and_then_giving_up() {
    let found = outcomes(|| {
        let x = AtomicU32::new(0);
        (0..100).all(|_| {
            hint::spin_loop();
            x.load(SeqCst) == 0
        })
    });
    assert_eq!(found.results, [true]);
}

#[test]
fn futile_rounds_can_be_explored() {
    let run = |spins| {
        let builder = Builder {
            spins,
            ..Builder::default()
        };
        let found = builder.outcomes(|| {
            let x = Arc::new(AtomicU32::new(0));
            let other = {
                let x = x.clone();
                thread::spawn(move || x.store(1, SeqCst))
            };
            let mut rounds = 0;
            while x.load(SeqCst) == 0 && rounds < 3 {
                rounds += 1;
                thread::yield_now();
            }
            other.join().unwrap();
            rounds
        });
        found.results.into_iter().collect::<HashSet<_>>()
    };
    // A loop that gives up is recognised, so its rounds are explored even without the setting.
    assert_eq!(run(0), HashSet::from([0, 1, 2, 3]));
    assert_eq!(run(5), HashSet::from([0, 1, 2, 3]));
}

#[test]
fn timeouts_go_both_ways() {
    let found = outcomes(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = {
            let pair = pair.clone();
            thread::spawn(move || {
                *pair.0.lock().unwrap() = true;
                pair.1.notify_one();
            })
        };
        let guard = pair.0.lock().unwrap();
        let (guard, result) = pair.1.wait_timeout(guard, SHORT).unwrap();
        let seen = (*guard, result.timed_out());
        drop(guard);
        other.join().unwrap();
        seen
    });
    let all: HashSet<_> = found.results.into_iter().collect();
    assert_eq!(
        all,
        HashSet::from([(false, true), (true, true), (true, false)])
    );
    let parked = outcomes(|| {
        let main = thread::current();
        let x = Arc::new(AtomicU32::new(0));
        let other = {
            let x = x.clone();
            thread::spawn(move || {
                x.store(1, SeqCst);
                main.unpark();
            })
        };
        thread::park_timeout(SHORT);
        let seen = x.load(SeqCst);
        other.join().unwrap();
        seen
    });
    assert_eq!(parked.results.len(), 2);
    let received = outcomes(|| {
        let (sender, receiver) = channel();
        let other = thread::spawn(move || sender.send(3).unwrap());
        let seen = receiver.recv_timeout(SHORT);
        other.join().unwrap();
        seen
    });
    assert_eq!(received.results.len(), 2);
    assert!(received.results.contains(&Ok(3)));
    assert!(received.results.contains(&Err(RecvTimeoutError::Timeout)));
}

#[test]
fn loops_of_timeouts_end() {
    let found = outcomes(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = {
            let pair = pair.clone();
            thread::spawn(move || *pair.0.lock().unwrap() = true)
        };
        let mut guard = pair.0.lock().unwrap();
        while !*guard {
            guard = pair.1.wait_timeout(guard, SHORT).unwrap().0;
        }
        drop(guard);
        other.join().unwrap();
    });
    assert_eq!(found.deadlocks, 0);
}

#[test]
fn parking() {
    let found = outcomes(|| {
        let main = thread::current();
        let other = thread::spawn(move || main.unpark());
        thread::park();
        other.join().unwrap();
    });
    assert_eq!((found.executions, found.deadlocks), (2, 0));
    // Two permits count as one.
    let found = outcomes(|| {
        let main = thread::current();
        let all: Vec<_> = (0..2)
            .map(|_| {
                let main = main.clone();
                thread::spawn(move || main.unpark())
            })
            .collect();
        thread::park();
        thread::park();
        all.into_iter().for_each(|one| one.join().unwrap());
    });
    assert!(found.deadlocks > 0 && found.deadlocks < found.executions);
}

#[test]
fn poisoning_is_that_of_std() {
    model(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = {
            let lock = lock.clone();
            thread::spawn(move || {
                let _guard = lock.lock().unwrap();
                panic!("on purpose");
            })
        };
        let result = other.join();
        assert_eq!(
            result.unwrap_err().downcast_ref::<&str>(),
            Some(&"on purpose")
        );
        assert!(lock.is_poisoned());
        assert!(lock.lock().is_err());
        assert!(matches!(lock.try_lock(), Err(TryLockError::Poisoned(_))));
        lock.clear_poison();
        assert!(lock.lock().is_ok());
    });
    model(|| {
        let once = Arc::new(Once::new());
        let other = {
            let once = once.clone();
            thread::spawn(move || once.call_once(|| panic!("on purpose")))
        };
        assert!(other.join().is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(|| ()))).is_err());
        once.call_once_force(|state| assert!(state.is_poisoned()));
        assert!(once.is_completed());
    });
}

#[test]
fn a_panic_of_a_thread_that_is_never_joined_is_a_failure() {
    fails(
        || {
            thread::spawn(|| panic!("never joined"));
        },
        "never joined",
    );
    fails(|| panic!("at once"), "at once");
    fails(
        || {
            thread::scope(|scope| {
                scope.spawn(|| panic!("in a scope"));
            });
        },
        "in a scope\n",
    );
}

#[test]
fn scopes_borrow() {
    let found = outcomes(|| {
        let x = AtomicU32::new(0);
        let sum = thread::scope(|scope| {
            let one = scope.spawn(|| x.fetch_add(1, SeqCst));
            let other = scope.spawn(|| {
                scope.spawn(|| x.fetch_add(1, SeqCst));
                x.fetch_add(1, SeqCst)
            });
            one.join().unwrap() + other.join().unwrap()
        });
        (sum, x.load(SeqCst))
    });
    assert!(found.results.iter().all(|(_, x)| *x == 3));
    assert_eq!(found.executions, 6);
}

#[test]
fn is_finished() {
    let found = outcomes(|| {
        let other = thread::spawn(|| ());
        let seen = other.is_finished();
        other.join().unwrap();
        seen
    });
    assert_eq!(found.results.len(), 2);
    let found = outcomes(|| {
        let other = thread::spawn(|| ());
        while !other.is_finished() {
            thread::yield_now();
        }
    });
    assert_eq!(found.deadlocks, 0);
}

#[test]
fn channels() {
    // One producer and one consumer have only one execution, whatever is sent.
    let found = outcomes(|| {
        let (sender, receiver) = channel();
        let other = thread::spawn(move || (0..5).for_each(|k| sender.send(k).unwrap()));
        let all: Vec<i32> = receiver.iter().collect();
        other.join().unwrap();
        all
    });
    assert_eq!((found.executions, found.results.len()), (1, 1));
    let found = outcomes(|| {
        let (sender, receiver) = channel();
        for k in 0..2 {
            let sender = sender.clone();
            thread::spawn(move || sender.send(k).unwrap());
        }
        drop(sender);
        receiver.into_iter().collect::<Vec<_>>()
    });
    assert_eq!(found.results.len(), 2);
    model(|| {
        let (sender, receiver) = channel::<u32>();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        drop(sender);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        let (sender, receiver) = channel();
        drop(receiver);
        assert!(sender.send(1).is_err());
        let (sender, receiver) = sync_channel(1);
        assert_eq!(sender.try_send(1), Ok(()));
        assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
        assert_eq!(receiver.recv(), Ok(1));
        drop(receiver);
        assert!(sender.send(3).is_err());
    });
    for bound in 0..3 {
        let found = outcomes(move || {
            let (sender, receiver) = sync_channel(bound);
            let other = thread::spawn(move || (0..3).for_each(|k| sender.send(k).unwrap()));
            let all: Vec<i32> = receiver.iter().collect();
            other.join().unwrap();
            all
        });
        assert_eq!((found.results, found.deadlocks), (vec![vec![0, 1, 2]], 0));
    }
}

#[test]
fn barriers_and_reader_writer_locks() {
    let found = outcomes(|| {
        let barrier = Arc::new(Barrier::new(2));
        let other = {
            let barrier = barrier.clone();
            thread::spawn(move || barrier.wait().is_leader())
        };
        let mine = barrier.wait().is_leader();
        (mine, other.join().unwrap())
    });
    let all: HashSet<_> = found.results.into_iter().collect();
    assert_eq!(all, HashSet::from([(true, false), (false, true)]));
    // Readers of an `RwLock` commute, so they have one execution.
    let readers = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let all: Vec<_> = (0..3)
            .map(|_| {
                let lock = lock.clone();
                thread::spawn(move || *lock.read().unwrap())
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).sum::<i32>()
    });
    assert_eq!(readers.executions, 1);
    let writers = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let all: Vec<_> = (0..3)
            .map(|_| {
                let lock = lock.clone();
                thread::spawn(move || *lock.write().unwrap() += 1)
            })
            .collect();
        all.into_iter().for_each(|one| one.join().unwrap());
        *lock.read().unwrap()
    });
    assert_eq!((writers.executions, writers.results), (6, vec![3]));
}

static COUNT: AtomicU32 = AtomicU32::new(5);
static TABLE: OnceLock<u32> = OnceLock::new();
static LAZY: LazyLock<AtomicU32> = LazyLock::new(|| AtomicU32::new(1));

mazurka_rt::lazy_static! {
    static ref LOG: Mutex<Vec<u32>> = Mutex::new(Vec::new());
}

mazurka_rt::thread_local! {
    static MINE: Cell<u32> = const { Cell::new(0) };
    static COUNTED: CountsItsDrop = CountsItsDrop;
}

struct CountsItsDrop;

impl Drop for CountsItsDrop {
    fn drop(&mut self) {
        COUNT.fetch_add(10, SeqCst);
    }
}

/// Every execution starts with the initial values of statics.
#[test]
fn statics_start_anew() {
    let found = outcomes(|| {
        assert_eq!(COUNT.load(SeqCst), 5);
        let other = thread::spawn(|| {
            MINE.set(MINE.get() + 1);
            COUNTED.with(|_| ());
            COUNT.fetch_add(1, SeqCst);
            LAZY.fetch_add(1, SeqCst);
            LOG.lock().unwrap().push(1);
            (*TABLE.get_or_init(|| 1), MINE.get())
        });
        LAZY.fetch_add(1, SeqCst);
        LOG.lock().unwrap().push(2);
        let mine = *TABLE.get_or_init(|| 2);
        let (theirs, local) = other.join().unwrap();
        assert_eq!((mine, local), (theirs, 1));
        assert_eq!((COUNT.load(SeqCst), LAZY.load(SeqCst)), (16, 3));
        assert_eq!((LOG.lock().unwrap().len(), MINE.get()), (2, 0));
        mine
    });
    assert_eq!(found.results.len(), 2);
}

#[test]
fn data_races() {
    struct Slot(UnsafeCell<u32>, AtomicBool);
    // SAFETY: none; the test is about this.
    #[allow(unsafe_code)]
    unsafe impl Sync for Slot {}
    #[allow(unsafe_code)]
    let publish = |store: Ordering, load: Ordering, fenced: bool| {
        move || {
            let slot = Arc::new(Slot(UnsafeCell::new(0), AtomicBool::new(false)));
            let other = {
                let slot = slot.clone();
                thread::spawn(move || {
                    // SAFETY: the test checks whether this is safe.
                    slot.0.with_mut(|p| unsafe { *p = 1 });
                    if fenced {
                        fence(Release);
                    }
                    slot.1.store(true, store);
                })
            };
            if slot.1.load(load) {
                if fenced {
                    fence(Acquire);
                }
                // SAFETY: as above.
                assert_eq!(slot.0.with(|p| unsafe { *p }), 1);
            }
            other.join().unwrap();
        }
    };
    model(publish(Release, Acquire, false));
    model(publish(SeqCst, SeqCst, false));
    model(publish(Relaxed, Relaxed, true));
    fails(publish(Relaxed, Acquire, false), "data race");
    fails(publish(Release, Relaxed, false), "data race");
    // A mutex orders the accesses, which do not increase the number of executions.
    let found = outcomes(|| {
        let slot = Arc::new((
            Mutex::new(()),
            Slot(UnsafeCell::new(0), AtomicBool::new(false)),
        ));
        let all: Vec<_> = (0..2)
            .map(|_| {
                let slot = slot.clone();
                thread::spawn(move || {
                    let _guard = slot.0.lock().unwrap();
                    // SAFETY: under the lock.
                    #[allow(unsafe_code)]
                    slot.1.0.with_mut(|p| unsafe { *p += 1 });
                })
            })
            .collect();
        all.into_iter().for_each(|one| one.join().unwrap());
    });
    assert_eq!((found.executions, found.failures), (2, 0));
}

#[test]
fn choices_and_futures() {
    let found = outcomes(|| (choose(2..5u8), choose(-1..1i32)));
    assert_eq!((found.executions, found.results.len()), (6, 6));
    let found = outcomes(|| {
        struct Both(Arc<AtomicBool>, Arc<Mutex<Option<std::task::Waker>>>);
        impl Future for Both {
            type Output = ();
            fn poll(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<()> {
                *self.1.lock().unwrap() = Some(context.waker().clone());
                if self.0.load(SeqCst) {
                    std::task::Poll::Ready(())
                } else {
                    std::task::Poll::Pending
                }
            }
        }
        let (done, waker) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let other = {
            let (done, waker) = (done.clone(), waker.clone());
            thread::spawn(move || {
                done.store(true, SeqCst);
                let waker: Option<std::task::Waker> = waker.lock().unwrap().take();
                waker.into_iter().for_each(std::task::Waker::wake);
            })
        };
        future::block_on(Both(done, waker));
        other.join().unwrap();
    });
    assert_eq!(found.deadlocks, 0);
    assert!(found.executions > 1);
}

/// One step does several things: it makes a choice, starts threads, and names the objects that
/// these threads use next. All objects are made at one place.
#[test]
fn a_choice_before_objects_are_named() {
    let found = outcomes(|| {
        let first = choose(0..2);
        let objects: Vec<_> = (0..2).map(|_| Arc::new(AtomicU32::new(0))).collect();
        let all: Vec<_> = [first, 1 - first]
            .map(|which| {
                let object = objects[which].clone();
                thread::spawn(move || object.fetch_add(1, SeqCst))
            })
            .into();
        let seen = objects[0].load(SeqCst);
        all.into_iter()
            .for_each(|one| assert_eq!(one.join().unwrap(), 0));
        (first, seen)
    });
    assert_eq!(found.results.len(), 4);
}

/// More threads than loom supports, and names that do not depend on which thread comes first.
#[test]
fn many_threads_and_objects_made_in_loops() {
    let found = outcomes(|| {
        let all: Vec<_> = (0..30).map(|_| thread::spawn(|| ())).collect();
        all.into_iter().for_each(|one| one.join().unwrap());
    });
    assert_eq!(found.executions, 1);
    // Objects of one place, each of which any thread may be the first to use: two explorers agree.
    let run = |algorithm| {
        let builder = Builder {
            algorithm,
            ..Builder::default()
        };
        let found = builder.outcomes(|| {
            let cells: Arc<Vec<_>> = Arc::new((0..3).map(|_| AtomicU32::new(0)).collect());
            let next = Arc::new(AtomicUsize::new(0));
            let all: Vec<_> = (0..2)
                .map(|_| {
                    let (cells, next) = (cells.clone(), next.clone());
                    thread::spawn(move || {
                        let mine = next.fetch_add(1, SeqCst);
                        cells[mine].fetch_add(1, SeqCst);
                        cells[2].fetch_add(1, SeqCst)
                    })
                })
                .collect();
            all.into_iter()
                .map(|one| one.join().unwrap())
                .collect::<Vec<_>>()
        });
        (
            found.executions,
            found.results.into_iter().collect::<HashSet<_>>(),
        )
    };
    let all = run(mazurka_rt::Algorithm::Naive);
    assert_eq!(run(mazurka_rt::Algorithm::Optimal), all);
    assert_eq!(all.1, HashSet::from([vec![0, 1], vec![1, 0]]));
}

/// Outside a model, everything behaves like std.
#[test]
fn outside_a_model() {
    let (sender, receiver) = sync_channel(1);
    let total = Arc::new(Mutex::new(0));
    thread::scope(|scope| {
        for k in 0..4 {
            let (sender, total) = (sender.clone(), total.clone());
            scope.spawn(move || {
                *total.lock().unwrap() += k;
                sender.send(k).unwrap();
            });
        }
        drop(sender);
        assert_eq!(receiver.iter().sum::<i32>(), 6);
    });
    assert_eq!(*total.lock().unwrap(), 6);
    let named = thread::Builder::new().name("named".into());
    let name = named
        .spawn(|| thread::current().name().map(str::to_owned))
        .unwrap();
    assert_eq!(name.join().unwrap().as_deref(), Some("named"));
    assert_eq!(future::block_on(async { 3 }), 3);
    assert_eq!((*LAZY).load(SeqCst), 1);
    let condvar = Condvar::new();
    let (_guard, result) = condvar.wait_timeout(total.lock().unwrap(), SHORT).unwrap();
    assert!(result.timed_out());
    assert_eq!(choose(3..4), 3);
}

/// With `require_complete`, a search fails if a bound cuts it. A complete search does not fail, and
/// neither do samples.
#[test]
fn a_search_that_must_be_complete_fails_where_it_is_not() {
    let body = || {
        let x = Arc::new(AtomicU32::new(0));
        let other = {
            let x = x.clone();
            thread::spawn(move || x.store(1, SeqCst))
        };
        x.store(2, SeqCst);
        other.join().unwrap();
    };
    let builder = |max_executions| Builder {
        require_complete: true,
        max_executions,
        quiet: true,
        ..Builder::default()
    };
    assert!(builder(None).check(body).is_complete());
    let panic = std::panic::catch_unwind(|| builder(Some(1)).check(body)).unwrap_err();
    let text = panic.downcast::<String>().unwrap();
    assert!(text.contains("1 executions were reached"), "{text}");
    assert!(text.contains("must be complete"), "{text}");
}

/// Threads that use no shared object of this crate cause a warning.
#[test]
fn threads_that_use_nothing_of_ours_are_warned_about() {
    let quiet = || Builder {
        quiet: true,
        ..Builder::default()
    };
    let real = std::sync::Arc::new(std::sync::Mutex::new(0));
    let of_std = quiet().check(move || {
        let real = real.clone();
        let other = thread::spawn(move || *real.lock().unwrap() += 1);
        other.join().unwrap();
    });
    assert!(of_std.nothing_shared);
    assert!(
        of_std.to_string().contains("still use those of std?"),
        "{of_std}"
    );
    let ours = quiet().check(|| {
        let x = Arc::new(AtomicU32::new(0));
        let y = x.clone();
        thread::spawn(move || y.store(1, SeqCst)).join().unwrap();
        assert_eq!(x.load(SeqCst), 1);
    });
    assert!(!ours.nothing_shared, "{ours}");
    let alone = quiet().check(|| assert_eq!(1 + 1, 2));
    assert!(!alone.nothing_shared, "{alone}");
}
