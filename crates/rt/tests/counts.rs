//! The figures of the issue, with the final joins and asserts in place.

use mazurka_rt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka_rt::sync::{Arc, Mutex};
use mazurka_rt::{Builder, thread};

fn count(f: impl Fn() + Send + Sync + 'static) -> u64 {
    let summary = Builder::default().check(f);
    assert!(summary.bounds.is_empty());
    assert_eq!(summary.blocked, 0);
    summary.executions
}

fn factorial(n: u64) -> u64 {
    (1..=n).product()
}

#[test]
fn one_writer_and_readers() {
    for readers in 2..=10 {
        let found = count(move || {
            let x = Arc::new(AtomicUsize::new(0));
            let writer = thread::spawn({
                let x = x.clone();
                move || x.store(1, SeqCst)
            });
            let readers: Vec<_> = (0..readers)
                .map(|_| {
                    let x = x.clone();
                    thread::spawn(move || x.load(SeqCst))
                })
                .collect();
            writer.join().unwrap();
            for reader in readers {
                assert!(reader.join().unwrap() <= 1);
            }
            assert_eq!(x.load(SeqCst), 1);
        });
        assert_eq!(found, 1 << readers);
    }
}

#[test]
fn stores() {
    for n in 1..=6 {
        let found = count(move || {
            let x = Arc::new(AtomicUsize::new(0));
            let all: Vec<_> = (1..=n)
                .map(|k| {
                    let x = x.clone();
                    thread::spawn(move || x.store(k, SeqCst))
                })
                .collect();
            for one in all {
                one.join().unwrap();
            }
            assert!(x.load(SeqCst) >= 1);
        });
        assert_eq!(found, factorial(n as u64));
    }
}

#[test]
fn fib() {
    let found = count(|| {
        let i = Arc::new(AtomicUsize::new(1));
        let j = Arc::new(AtomicUsize::new(1));
        let add = |to: &Arc<AtomicUsize>, from: &Arc<AtomicUsize>| {
            let (to, from) = (to.clone(), from.clone());
            thread::spawn(move || {
                for _ in 0..4 {
                    to.store(to.load(SeqCst) + from.load(SeqCst), SeqCst);
                }
            })
        };
        let (one, other) = (add(&i, &j), add(&j, &i));
        one.join().unwrap();
        other.join().unwrap();
        // The greatest value is a Fibonacci number.
        assert!(i.load(SeqCst) <= 144 && j.load(SeqCst) <= 144);
    });
    assert_eq!(found, 1107);
}

#[test]
fn pairs() {
    for pairs in 1..=6 {
        let found = count(move || {
            let mut all = Vec::new();
            for _ in 0..pairs {
                let x = Arc::new(AtomicUsize::new(0));
                for k in 1..=2 {
                    let x = x.clone();
                    all.push(thread::spawn(move || x.store(k, SeqCst)));
                }
            }
            for one in all {
                one.join().unwrap();
            }
        });
        assert_eq!(found, 1 << pairs);
    }
}

#[test]
fn locks_in_the_same_order() {
    for n in 1..=5 {
        let found = count(move || {
            let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
            let all: Vec<_> = (0..n)
                .map(|_| {
                    let (a, b) = (a.clone(), b.clone());
                    thread::spawn(move || {
                        let mut a = a.lock().unwrap();
                        let mut b = b.lock().unwrap();
                        *a += 1;
                        *b += 1;
                    })
                })
                .collect();
            for one in all {
                one.join().unwrap();
            }
            assert_eq!((*a.lock().unwrap(), *b.lock().unwrap()), (n, n));
        });
        assert_eq!(found, factorial(n as u64));
    }
}

#[test]
fn counter_under_a_mutex() {
    let found = count(|| {
        let counter = Arc::new(Mutex::new(0));
        let all: Vec<_> = (0..3)
            .map(|_| {
                let counter = counter.clone();
                thread::spawn(move || {
                    for _ in 0..2 {
                        *counter.lock().unwrap() += 1;
                    }
                })
            })
            .collect();
        for one in all {
            one.join().unwrap();
        }
        assert_eq!(*counter.lock().unwrap(), 6);
    });
    assert_eq!(found, 90);
}
