//! Classic programs for checkers of memory orderings. With the right orderings they pass; with a
//! weaker one they fail or have more outcomes.

#![allow(unsafe_code)]

use std::collections::BTreeSet;

use mazurka_rt::sync::Arc;
use mazurka_rt::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use mazurka_rt::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, fence};
use mazurka_rt::{Builder, Memory, hint, thread};

use crate::found::{Shared, fails, passes};

/// Returns all results of a closure under C++20's orderings.
fn outcomes<T: Ord + 'static>(body: impl Fn() -> T + Send + Sync + 'static) -> BTreeSet<T> {
    let builder = Builder {
        quiet: true,
        ..Builder::default()
    };
    let found = builder.memory(Memory::Rc11).outcomes(body);
    assert_eq!(found.bounds, []);
    found.results.into_iter().collect()
}

/// tokio-rs/loom issue 166: an additional load must not reduce the outcomes.
#[test]
fn loom_166() {
    let entry = |orders: [Ordering; 2], extra: bool| {
        outcomes(move || {
            let [store, load] = orders;
            let all = Arc::new([const { AtomicU32::new(0) }; 2]);
            let (one, other) = (all.clone(), all.clone());
            let writer = thread::spawn(move || {
                let [key, value] = &*one;
                key.store(1, store);
                value.store(1, store);
                value.store(0, store);
                if extra {
                    key.load(load);
                }
                key.store(0, store);
            });
            let reader = thread::spawn(move || {
                let [key, value] = &*other;
                (value.load(load), key.load(load))
            });
            writer.join().unwrap();
            reader.join().unwrap()
        })
    };
    // The value is 1 only after the key was 1; the key may be 0 again.
    let all = BTreeSet::from([(0, 0), (0, 1), (1, 0), (1, 1)]);
    for orders in [[SeqCst; 2], [Release, Acquire], [Relaxed; 2]] {
        for extra in [false, true] {
            assert_eq!(entry(orders, extra), all, "{orders:?}, {extra}");
        }
    }
}

/// tokio-rs/loom issue 392: a thread whose first step is a load may also run before the next step
/// of the thread that has spawned it.
#[test]
fn loom_392() {
    for (store, load) in [(SeqCst, SeqCst), (Release, Acquire), (Relaxed, Relaxed)] {
        let found = outcomes(move || {
            let done = Arc::new(AtomicBool::new(false));
            let theirs = done.clone();
            let worker = thread::spawn(move || {
                let before = theirs.load(load);
                theirs.store(true, store);
                before
            });
            let seen = done.load(load);
            (worker.join().unwrap(), seen)
        });
        assert_eq!(found, BTreeSet::from([(false, false), (false, true)]));
    }
}

/// tokio-rs/loom issue 180: with SeqCst at least one of two threads sees the other's store.
#[test]
fn loom_180() {
    let buffering = |order: [Ordering; 2]| {
        outcomes(move || {
            let all = Arc::new([const { AtomicU32::new(0) }; 2]);
            let run = |all: Arc<[AtomicU32; 2]>, me: usize| {
                thread::spawn(move || {
                    all[me].store(1, order[0]);
                    all[1 - me].load(order[1])
                })
            };
            let both = [run(all.clone(), 0), run(all, 1)];
            both.map(|one| one.join().unwrap())
        })
    };
    assert!(!buffering([SeqCst; 2]).contains(&[0, 0]));
    assert!(buffering([Release, Acquire]).contains(&[0, 0]));
}

/// tokio-rs/loom issue 191: two readers agree on the order of two SeqCst stores. Each reader waits
/// for one of the stores, and then looks for the other one.
#[test]
fn loom_191() {
    fn readers(store: Ordering, load: Ordering) {
        let all = Arc::new([const { AtomicBool::new(false) }; 2]);
        let count = Arc::new(AtomicUsize::new(0));
        let mut threads = Vec::new();
        for me in 0..2 {
            let writes = all.clone();
            threads.push(thread::spawn(move || writes[me].store(true, store)));
            let (reads, count) = (all.clone(), count.clone());
            threads.push(thread::spawn(move || {
                while !reads[me].load(load) {
                    thread::yield_now();
                }
                if reads[1 - me].load(load) {
                    count.fetch_add(1, Relaxed);
                }
            }));
        }
        threads.into_iter().for_each(|one| one.join().unwrap());
        assert_ne!(count.load(Relaxed), 0, "both were first");
    }
    passes(|| readers(SeqCst, SeqCst));
    fails("both were first", || readers(Release, Acquire));
}

/// tokio-rs/loom issue 282: an update reads its predecessor in the modification order.
#[test]
fn loom_282() {
    fn observed(swap: Ordering) {
        let all = Arc::new([const { AtomicU32::new(0) }; 2]);
        let (one, other, third) = (all.clone(), all.clone(), all);
        let writer = thread::spawn(move || {
            let [lock, data] = &*one;
            data.store(42, Relaxed);
            lock.store(1, Release);
        });
        let swapper = thread::spawn(move || {
            let [lock, data] = &*other;
            lock.swap(2, swap);
            data.load(Relaxed)
        });
        let [lock, _] = &*third;
        let seen = [lock.load(Relaxed), lock.load(Relaxed)];
        writer.join().unwrap();
        let data = swapper.join().unwrap();
        assert!(seen != [1, 2] || data == 42, "old data");
    }
    passes(|| observed(AcqRel));
    fails("old data", || observed(Relaxed));
}

/// Raises a flag.
type Raise = fn(&AtomicU32);
/// Whether the flag is raised.
type Sees = fn(&AtomicU32) -> bool;

/// The writer stores 42 and raises a flag. If the reader sees the flag, it must also see 42.
fn message(raise: Raise, sees: Sees) {
    let shared = Arc::new((Shared::new(0), AtomicU32::new(0)));
    let theirs = shared.clone();
    let writer = thread::spawn(move || {
        theirs.0.set(42);
        raise(&theirs.1);
    });
    if sees(&shared.1) {
        assert_eq!(shared.0.get(), 42);
    }
    writer.join().unwrap();
}

/// A message is ordered if the writer releases and the reader acquires, each by its access or by a
/// fence. Otherwise there is a data race.
#[test]
fn a_message_needs_both_sides() {
    let raised: [(bool, Raise); 7] = [
        (true, |flag| flag.store(1, Release)),
        (true, |flag| {
            fence(Release);
            flag.store(1, Relaxed);
        }),
        (true, |flag| _ = flag.fetch_add(1, Release)),
        (false, |flag| flag.store(1, Relaxed)),
        (false, |flag| {
            flag.store(1, Relaxed);
            fence(Release);
        }),
        (false, |flag| {
            fence(Acquire);
            flag.store(1, Relaxed);
        }),
        (false, |flag| _ = flag.fetch_add(1, Acquire)),
    ];
    let seen: [(bool, Sees); 8] = [
        (true, |flag| flag.load(Acquire) == 1),
        (true, |flag| {
            let seen = flag.load(Relaxed) == 1;
            fence(Acquire);
            seen
        }),
        (true, |flag| flag.swap(2, AcqRel) == 1),
        (true, |flag| {
            flag.compare_exchange(1, 2, Acquire, Relaxed).is_ok()
        }),
        (false, |flag| flag.load(Relaxed) == 1),
        (false, |flag| {
            fence(Acquire);
            flag.load(Relaxed) == 1
        }),
        (false, |flag| flag.swap(2, Release) == 1),
        (false, |flag| {
            flag.compare_exchange(1, 2, Relaxed, Acquire).is_ok()
        }),
    ];
    for (releases, raise) in raised {
        for (acquires, sees) in seen {
            if releases && acquires {
                passes(move || message(raise, sees))
            } else {
                _ = fails("data race", move || message(raise, sees))
            }
        }
    }
}

/// Three threads with fences, from Lahav et al., PLDI 2017 (RWC+syncs and W+RWC): C++20 forbids
/// what C++11 allowed.
#[test]
fn fences_of_three_threads() {
    let ends = |between: Ordering, flag: bool| {
        outcomes(move || {
            let all = Arc::new([const { AtomicU32::new(0) }; 3]);
            let (reads, writes) = (all.clone(), all.clone());
            let first = thread::spawn(move || {
                let [x, y, z] = &*reads;
                let a = if flag {
                    z.load(Acquire)
                } else {
                    x.load(Relaxed)
                };
                fence(between);
                (a, y.load(Relaxed))
            });
            let second = thread::spawn(move || {
                let [x, y, _] = &*writes;
                y.store(1, Relaxed);
                fence(between);
                x.load(Relaxed)
            });
            let [x, _, z] = &*all;
            x.store(1, Relaxed);
            if flag {
                z.store(1, Release);
            }
            (first.join().unwrap(), second.join().unwrap())
        })
    };
    for flag in [false, true] {
        let strong = ends(SeqCst, flag);
        assert_eq!(strong.len(), 7, "{strong:?}");
        assert!(!strong.contains(&((1, 0), 0)));
        assert!(ends(AcqRel, flag).contains(&((1, 0), 0)));
    }
}

/// A hazard pointer: the reader announces (protects) the object that it is about to read, and
/// checks that the object can still be reached; the writer unlinks the object, and frees it unless
/// it is protected.
#[test]
fn a_hazard_pointer() {
    fn protect(between: Ordering) {
        let flags = Arc::new([const { AtomicBool::new(false) }; 3]);
        let theirs = flags.clone();
        let reader = thread::spawn(move || {
            let [unlinked, protected, freed] = &*theirs;
            protected.store(true, Relaxed);
            fence(between);
            if !unlinked.load(Relaxed) {
                assert!(!freed.load(Relaxed), "it is freed");
            }
        });
        let [unlinked, protected, freed] = &*flags;
        unlinked.store(true, Relaxed);
        fence(between);
        if !protected.load(Relaxed) {
            freed.store(true, Relaxed);
        }
        reader.join().unwrap();
    }
    passes(|| protect(SeqCst));
    fails("it is freed", || protect(AcqRel));
}

/// A successful exchange comes directly after the write that it reads in the modification order. So
/// here the store of the other thread comes last, whatever the orderings are. A test of loom
/// expects the opposite.
#[test]
fn an_exchange_comes_after_what_it_reads() {
    for order in [AcqRel, Relaxed] {
        let found = outcomes(move || {
            let all = Arc::new([const { AtomicU32::new(0) }; 2]);
            let theirs = all.clone();
            let other = thread::spawn(move || {
                theirs[0].store(1, Release);
                let _won = theirs[1].compare_exchange(0, 2, order, Relaxed);
            });
            all[1].store(1, Release);
            let _won = all[0].compare_exchange(0, 2, order, Relaxed);
            other.join().unwrap();
            (all[0].load(Acquire), all[1].load(Acquire))
        });
        assert_eq!(found, BTreeSet::from([(1, 1)]));
    }
}

/// What the last handle does before it destroys the content.
#[derive(Clone, Copy)]
enum Last {
    Nothing,
    Fence(Ordering),
    Load(Ordering),
}

/// The orderings of a reference count.
#[derive(Clone, Copy)]
struct Counting {
    drop: Ordering,
    last: Last,
    get_mut: Ordering,
    unwrap: Ordering,
}

/// The orderings of `std::sync::Arc`, which suffice.
const RIGHT: Counting = Counting {
    drop: Release,
    last: Last::Fence(Acquire),
    get_mut: Acquire,
    unwrap: Acquire,
};

/// A hand-written reference count. Destroying the content is a write; nothing is freed.
struct Handle {
    block: Arc<(AtomicUsize, Shared<u32>)>,
    orders: Counting,
}

impl Handle {
    fn new(orders: Counting) -> Self {
        let block = Arc::new((AtomicUsize::new(1), Shared::new(7)));
        Self { block, orders }
    }

    fn clone(&self) -> Self {
        self.block.0.fetch_add(1, Relaxed);
        let (block, orders) = (self.block.clone(), self.orders);
        Self { block, orders }
    }

    fn release(self) {
        if self.block.0.fetch_sub(1, self.orders.drop) == 1 {
            match self.orders.last {
                Last::Nothing => {}
                Last::Fence(order) => fence(order),
                Last::Load(order) => _ = self.block.0.load(order),
            }
            self.block.1.set(0);
        }
    }

    /// Changes the content if this is the only handle.
    fn change(&mut self) {
        if self.block.0.load(self.orders.get_mut) == 1 {
            self.block.1.set(8);
        }
    }

    /// Takes the content if this is the only handle.
    fn unwrap(self) {
        let taken = self
            .block
            .0
            .compare_exchange(1, 0, self.orders.unwrap, Relaxed);
        match taken {
            Ok(_) => self.block.1.set(0),
            Err(_) => self.release(),
        }
    }
}

/// Two threads with one handle each: both read the content, then one releases its handle, and the
/// other calls `then`.
fn counted(orders: Counting, then: fn(Handle)) {
    let mine = Handle::new(orders);
    let theirs = mine.clone();
    let other = thread::spawn(move || {
        theirs.block.1.get();
        theirs.release();
    });
    mine.block.1.get();
    then(mine);
    other.join().unwrap();
}

#[test]
fn a_reference_count_by_hand() {
    let released: fn(Handle) = Handle::release;
    let changed: fn(Handle) = |mut handle| {
        handle.change();
        handle.release();
    };
    let unwrapped: fn(Handle) = Handle::unwrap;
    for then in [released, changed, unwrapped] {
        for last in [Last::Fence(Acquire), Last::Load(Acquire)] {
            let right = Counting { last, ..RIGHT };
            passes(move || counted(right, then));
            // The drop must release, whatever comes after it.
            let drop = Relaxed;
            fails("data race", move || {
                counted(Counting { drop, ..right }, then)
            });
        }
        for last in [Last::Nothing, Last::Fence(Release), Last::Load(Relaxed)] {
            fails("data race", move || {
                counted(Counting { last, ..RIGHT }, then)
            });
        }
    }
    let get_mut = Relaxed;
    fails("data race", move || {
        counted(Counting { get_mut, ..RIGHT }, changed);
    });
    let unwrap = Relaxed;
    fails("data race", move || {
        counted(Counting { unwrap, ..RIGHT }, unwrapped);
    });
}

/// The orderings of read-copy-update: the updater publishes a new version, waits until the reader
/// is outside its critical section (the grace period), and destroys the old version.
#[derive(Clone, Copy)]
struct Rcu {
    /// The orderings of the fences on both sides, if there are fences.
    fences: [Option<Ordering>; 2],
    publish: Ordering,
    follow: Ordering,
    leave: Ordering,
    grace: Ordering,
}

const RCU: Rcu = Rcu {
    fences: [Some(SeqCst); 2],
    publish: Release,
    follow: Acquire,
    leave: Release,
    grace: Acquire,
};

fn rcu(orders: Rcu) {
    struct State {
        versions: [Shared<u32>; 2],
        current: AtomicUsize,
        inside: AtomicBool,
    }
    let state = Arc::new(State {
        versions: [Shared::new(1), Shared::new(0)],
        current: AtomicUsize::new(0),
        inside: AtomicBool::new(false),
    });
    let theirs = state.clone();
    let reader = thread::spawn(move || {
        theirs.inside.store(true, Relaxed);
        if let Some(order) = orders.fences[0] {
            fence(order);
        }
        let version = theirs.current.load(orders.follow);
        let seen = theirs.versions[version].get();
        theirs.inside.store(false, orders.leave);
        assert_ne!(seen, 0, "destroyed");
    });
    state.versions[1].set(2);
    state.current.store(1, orders.publish);
    if let Some(order) = orders.fences[1] {
        fence(order);
    }
    while state.inside.load(orders.grace) {
        hint::spin_loop();
    }
    state.versions[0].set(0);
    reader.join().unwrap();
}

#[test]
fn a_grace_period() {
    passes(|| rcu(RCU));
    let weaker = [
        Rcu {
            fences: [None, Some(SeqCst)],
            ..RCU
        },
        Rcu {
            fences: [Some(SeqCst), None],
            ..RCU
        },
        Rcu {
            fences: [Some(AcqRel); 2],
            ..RCU
        },
        Rcu {
            publish: Relaxed,
            fences: [Some(SeqCst), None],
            ..RCU
        },
        Rcu {
            follow: Relaxed,
            ..RCU
        },
        Rcu {
            leave: Relaxed,
            ..RCU
        },
        Rcu {
            grace: Relaxed,
            ..RCU
        },
    ];
    for orders in weaker {
        fails("data race", move || rcu(orders));
    }
}

/// The queue of Michael and Scott: pushes and pops help to move a tail that lags behind. Nodes are
/// never freed.
struct Queue {
    head: AtomicPtr<Link>,
    tail: AtomicPtr<Link>,
    orders: QueueOrders,
}

struct Link {
    value: Shared<u32>,
    next: AtomicPtr<Link>,
}

#[derive(Clone, Copy)]
struct QueueOrders {
    /// For the exchange that links a node.
    link: Ordering,
    /// For the exchanges that move the head and the tail.
    swing: Ordering,
    /// For the loads of pointers.
    follow: Ordering,
}

fn link(value: u32) -> *mut Link {
    Box::into_raw(Box::new(Link {
        value: Shared::new(value),
        next: AtomicPtr::default(),
    }))
}

impl Queue {
    fn new(orders: QueueOrders) -> Self {
        let dummy = link(0);
        Self {
            head: AtomicPtr::new(dummy),
            tail: AtomicPtr::new(dummy),
            orders,
        }
    }

    fn push(&self, value: u32) {
        let QueueOrders {
            link: linked,
            swing,
            follow,
        } = self.orders;
        let new = link(value);
        loop {
            let tail = self.tail.load(follow);
            // SAFETY: nodes live until the end.
            let last = unsafe { &(*tail).next };
            let next = last.load(follow);
            if !next.is_null() {
                let _helped = self.tail.compare_exchange(tail, next, swing, Relaxed);
                continue;
            }
            let null = std::ptr::null_mut();
            if last.compare_exchange(null, new, linked, Relaxed).is_ok() {
                let _moved = self.tail.compare_exchange(tail, new, swing, Relaxed);
                return;
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        let QueueOrders { swing, follow, .. } = self.orders;
        loop {
            let head = self.head.load(follow);
            let tail = self.tail.load(follow);
            // SAFETY: nodes live until the end.
            let next = unsafe { (*head).next.load(follow) };
            if next.is_null() {
                return None;
            }
            if head == tail {
                let _helped = self.tail.compare_exchange(tail, next, swing, Relaxed);
            }
            if self
                .head
                .compare_exchange(head, next, swing, Relaxed)
                .is_ok()
            {
                // SAFETY: as above.
                return Some(unsafe { (*next).value.get() });
            }
        }
    }
}

/// One thread pushes while another one pops; then the rest is popped.
fn queue(orders: QueueOrders) {
    let queue = Arc::new(Queue::new(orders));
    let theirs = queue.clone();
    let pusher = thread::spawn(move || theirs.push(1));
    let mut popped = queue.pop().into_iter().collect::<Vec<_>>();
    pusher.join().unwrap();
    popped.extend(std::iter::from_fn(|| queue.pop()));
    assert_eq!(popped, [1]);
}

/// Two concurrent pushes.
fn pushes(orders: QueueOrders) {
    let queue = Arc::new(Queue::new(orders));
    let theirs = queue.clone();
    let pusher = thread::spawn(move || theirs.push(1));
    queue.push(2);
    pusher.join().unwrap();
    let mut popped: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
    popped.sort();
    assert_eq!(popped, [1, 2]);
}

#[test]
fn a_queue_that_helps() {
    let right = QueueOrders {
        link: Release,
        swing: Release,
        follow: Acquire,
    };
    passes(move || queue(right));
    passes(move || pushes(right));
    for weaker in [
        QueueOrders {
            link: Relaxed,
            ..right
        },
        QueueOrders {
            follow: Relaxed,
            ..right
        },
        QueueOrders {
            link: Relaxed,
            swing: Relaxed,
            follow: Relaxed,
        },
    ] {
        fails("data race", move || queue(weaker));
    }
}
