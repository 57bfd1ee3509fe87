// Programs with orderings weaker than `SeqCst`. Their executions are counted by `tests/weak` under
// this crate and by the peers' benchmark (`peers/`) under loom as well. They are included like
// those of `mod.rs`.

use sync::Arc;
use sync::atomic::Ordering::{Acquire, Relaxed, Release};
use sync::atomic::{AtomicPtr, AtomicUsize};

fn join(all: Vec<thread::JoinHandle<()>>) {
    for one in all {
        one.join().unwrap();
    }
}

/// `n` threads add 1.
pub fn ainc(n: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let add = |_| {
        let x = x.clone();
        thread::spawn(move || {
            x.fetch_add(1, Relaxed);
        })
    };
    join((0..n).map(add).collect());
}

/// One thread adds j to i, another adds i to j, `n` times each.
pub fn fib(n: usize) {
    let i = Arc::new(AtomicUsize::new(1));
    let j = Arc::new(AtomicUsize::new(1));
    let add = |to: &Arc<AtomicUsize>, from: &Arc<AtomicUsize>| {
        let (to, from) = (to.clone(), from.clone());
        thread::spawn(move || {
            for _ in 0..n {
                let sum = to.load(Acquire) + from.load(Acquire);
                to.store(sum, Release);
            }
        })
    };
    join(vec![add(&i, &j), add(&j, &i)]);
}

/// One thread looks for the last zero; `n` others fill the array, each from the previous element.
pub fn lastzero(n: usize) {
    let all: Arc<Vec<_>> = Arc::new((0..=n).map(|_| AtomicUsize::new(0)).collect());
    let mut threads = Vec::new();
    let looked = all.clone();
    threads.push(thread::spawn(move || {
        let mut at = n;
        while looked[at].load(Acquire) != 0 {
            at -= 1;
        }
    }));
    for k in 1..=n {
        let all = all.clone();
        threads.push(thread::spawn(move || {
            all[k].store(all[k - 1].load(Acquire) + 1, Release);
        }));
    }
    join(threads);
}

/// Store buffering.
pub fn sb(_: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let y = Arc::new(AtomicUsize::new(0));
    let run = |mine: &Arc<AtomicUsize>, other: &Arc<AtomicUsize>| {
        let (mine, other) = (mine.clone(), other.clone());
        thread::spawn(move || {
            mine.store(1, Relaxed);
            other.load(Relaxed);
        })
    };
    join(vec![run(&x, &y), run(&y, &x)]);
}

/// Message passing.
pub fn mp(_: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let y = Arc::new(AtomicUsize::new(0));
    let (data, flag) = (x.clone(), y.clone());
    let writer = thread::spawn(move || {
        data.store(42, Relaxed);
        flag.store(1, Release);
    });
    let reader = thread::spawn(move || {
        let ready = y.load(Acquire);
        let seen = x.load(Relaxed);
        assert!(ready == 0 || seen == 42);
    });
    join(vec![writer, reader]);
}

/// `n` threads push to a Treiber stack.
pub fn treiber(n: usize) {
    struct Node(*mut Node);
    let head = Arc::new(AtomicPtr::new(std::ptr::null_mut::<Node>()));
    let push = |_| {
        let head = head.clone();
        thread::spawn(move || {
            let mut known = head.load(Relaxed);
            loop {
                let new = Box::into_raw(Box::new(Node(known)));
                match head.compare_exchange(known, new, Release, Relaxed) {
                    Ok(_) => return,
                    Err(now) => known = now,
                }
                // SAFETY: the node was not published.
                drop(unsafe { Box::from_raw(new) });
            }
        })
    };
    join((0..n).map(push).collect());
    let mut at = head.load(Acquire);
    let mut count = 0;
    while !at.is_null() {
        // SAFETY: all threads have ended, and each node is in the list once.
        at = unsafe { Box::from_raw(at) }.0;
        count += 1;
    }
    assert_eq!(count, n);
}
