//! When an execution is abandoned, the values that its threads own are dropped.

use std::sync::atomic::{AtomicUsize as Count, Ordering::Relaxed};

use mazurka_rt::sync::atomic::{AtomicU32, Ordering::SeqCst};
use mazurka_rt::sync::mpsc::channel;
use mazurka_rt::sync::{Arc, Barrier, Condvar, Mutex, RwLock};
use mazurka_rt::{Builder, Memory, thread};

/// A value that counts the live instances of its type.
struct Counted(&'static Count, Vec<u8>);

impl Counted {
    fn new(count: &'static Count) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count, vec![0; 10_000])
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert_eq!(self.1.len(), 10_000);
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Explores all executions of a closure. Returns the number of deadlocks.
fn deadlocks(f: impl Fn() + Send + Sync + 'static) -> u64 {
    let builder = Builder {
        memory: Some(Memory::Sc),
        ..Builder::new()
    };
    let found = builder.outcomes(f);
    assert_eq!((found.failures, &found.bounds[..]), (0, &[][..]));
    found.deadlocks
}

#[test]
fn of_threads_that_wait_for_locks() {
    static COUNT: Count = Count::new(0);
    let philosophers = |eat: fn(&[Mutex<()>], usize)| {
        move || {
            let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..3).map(|_| Mutex::new(())).collect());
            let _own = Counted::new(&COUNT);
            let eats = |at| {
                let (forks, own) = (forks.clone(), Counted::new(&COUNT));
                move || {
                    eat(&forks, at);
                    drop(own);
                }
            };
            let all: Vec<_> = (0..3).map(|at| thread::spawn(eats(at))).collect();
            for one in all {
                one.join().unwrap();
            }
        }
    };
    let found = deadlocks(philosophers(|forks, at| {
        let _left = forks[at].lock().unwrap();
        let _right = forks[(at + 1) % 3].lock().unwrap();
    }));
    assert!(found > 0);
    assert_eq!(COUNT.load(Relaxed), 0);
}

#[test]
fn of_threads_that_wait_otherwise() {
    static COUNT: Count = Count::new(0);
    type Wait = fn(Arc<(Mutex<u32>, Condvar, RwLock<u32>, Barrier)>);
    let waits: [Wait; 5] = [
        |shared| {
            let guard = shared.0.lock().unwrap();
            drop(shared.1.wait(guard).unwrap());
        },
        |shared| {
            let _read = shared.2.read().unwrap();
            drop(shared.2.write());
        },
        |shared| {
            shared.3.wait();
        },
        |_| {
            let (sender, receiver) = channel::<u32>();
            let _received = receiver.recv();
            drop(sender);
        },
        |shared| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    let _own = Counted::new(&COUNT);
                    let guard = shared.0.lock().unwrap();
                    drop(shared.1.wait(guard).unwrap());
                });
            });
        },
    ];
    for wait in waits {
        let found = deadlocks(move || {
            let lock = (Mutex::new(0), Condvar::new(), RwLock::new(0));
            let shared = Arc::new((lock.0, lock.1, lock.2, Barrier::new(3)));
            let _own = Counted::new(&COUNT);
            let other = (shared.clone(), Counted::new(&COUNT));
            let thread = thread::spawn(move || {
                wait(other.0.clone());
                drop(other);
            });
            thread.join().unwrap();
        });
        assert!(found > 0);
        assert_eq!(COUNT.load(Relaxed), 0);
    }
}

/// A destructor that joins a thread, takes locks and makes steps can run in an abandoned execution.
#[test]
fn by_destructors_that_wait() {
    static COUNT: Count = Count::new(0);
    struct Pool(Option<thread::JoinHandle<()>>, Arc<(Mutex<u32>, AtomicU32)>);
    impl Drop for Pool {
        fn drop(&mut self) {
            self.1.1.fetch_add(1, SeqCst);
            *self.1.0.lock().unwrap() += 1;
            self.0.take().expect("a thread").join().unwrap();
        }
    }
    let found = deadlocks(|| {
        let shared = Arc::new((Mutex::new(0), AtomicU32::new(0)));
        let (sender, receiver) = channel::<u32>();
        let own = Counted::new(&COUNT);
        let thread = thread::spawn(move || {
            let _own = own;
            let _received = receiver.recv();
        });
        let _pool = Pool(Some(thread), shared.clone());
        let _kept = sender;
        let first = shared.0.lock().unwrap();
        drop(shared.0.lock());
        drop(first);
    });
    assert_eq!(found, 1);
    assert_eq!(COUNT.load(Relaxed), 0);
}

/// After many deadlocks, all values that their threads owned have been dropped, so memory does not
/// grow with the number of deadlocks.
#[test]
fn many_deadlocks_need_little_memory() {
    static COUNT: Count = Count::new(0);
    let found = deadlocks(|| {
        let lock = Arc::new((Mutex::new(0), Condvar::new(), AtomicU32::new(0)));
        let all: Vec<_> = (0..5)
            .map(|_| {
                let (lock, own) = (lock.clone(), Counted::new(&COUNT));
                thread::spawn(move || {
                    lock.2.fetch_add(1, SeqCst);
                    let guard = lock.0.lock().unwrap();
                    drop(lock.1.wait(guard));
                    drop(own);
                })
            })
            .collect();
        for one in all {
            one.join().unwrap();
        }
    });
    // Five threads count in any order, and then wait in any order.
    assert_eq!(found, 120 * 120);
    assert_eq!(COUNT.load(Relaxed), 0);
}
