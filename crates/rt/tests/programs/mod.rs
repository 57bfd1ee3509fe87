// Programs whose executions are counted: by `tests/it/counts.rs` under this crate, and by the
// peers' benchmark (`peers/`) under other tools, too. The final joins and asserts are part of them.
//
// This file is included (`include!`) where the names `sync` and `thread` mean those of the tool. A
// macro would not do: it would make all objects at one place of the source, and then threads have
// to register with them, which adds steps.

use sync::atomic::{AtomicUsize, Ordering::SeqCst};
use sync::{Arc, Mutex};

/// One writer and `n` readers.
pub fn readers(n: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let writer = {
        let x = x.clone();
        thread::spawn(move || x.store(1, SeqCst))
    };
    let all: Vec<_> = (0..n)
        .map(|_| {
            let x = x.clone();
            thread::spawn(move || x.load(SeqCst))
        })
        .collect();
    writer.join().unwrap();
    for one in all {
        assert!(one.join().unwrap() <= 1);
    }
    assert_eq!(x.load(SeqCst), 1);
}

/// `n` threads store to one atomic.
pub fn stores(n: usize) {
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
}

/// One thread adds j to i, another adds i to j, `n` times each.
pub fn fib(n: usize) {
    let i = Arc::new(AtomicUsize::new(1));
    let j = Arc::new(AtomicUsize::new(1));
    let add = |to: &Arc<AtomicUsize>, from: &Arc<AtomicUsize>| {
        let (to, from) = (to.clone(), from.clone());
        thread::spawn(move || {
            for _ in 0..n {
                let sum = to.load(SeqCst) + from.load(SeqCst);
                to.store(sum, SeqCst);
            }
        })
    };
    let (one, other) = (add(&i, &j), add(&j, &i));
    one.join().unwrap();
    other.join().unwrap();
    // The result is at most the Fibonacci number 144, because no test has more than four rounds.
    let fits = |k| (2..=144).contains(&k);
    assert!(n > 4 || fits(i.load(SeqCst)) && fits(j.load(SeqCst)));
}

/// `n` pairs of threads; each pair shares an atomic.
pub fn pairs(n: usize) {
    let mut all = Vec::new();
    for _ in 0..n {
        let x = Arc::new(AtomicUsize::new(0));
        for k in 1..=2 {
            let x = x.clone();
            all.push(thread::spawn(move || x.store(k, SeqCst)));
        }
    }
    for one in all {
        one.join().unwrap();
    }
}

/// `n` threads take two locks in the same order.
pub fn locks(n: usize) {
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
}

/// `n` threads increment a counter under a mutex, twice.
pub fn counter(n: usize) {
    let counter = Arc::new(Mutex::new(0));
    let all: Vec<_> = (0..n)
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
    assert_eq!(*counter.lock().unwrap(), 2 * n);
}
