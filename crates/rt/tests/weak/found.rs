//! Mistakes in orderings are found, and correct programs pass.

#![allow(unsafe_code)]

use std::panic::{UnwindSafe, catch_unwind};

use mazurka_rt::cell::UnsafeCell;
use mazurka_rt::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use mazurka_rt::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, fence};
use mazurka_rt::sync::{Arc, Mutex};
use mazurka_rt::{Builder, Memory, hint, replay, thread};

/// Checks a program under a model. Returns the report, if it fails.
fn check(memory: Memory, body: impl Fn() + Send + Sync + UnwindSafe + 'static) -> Option<String> {
    let builder = Builder {
        quiet: true,
        ..Builder::default()
    };
    let builder = builder.memory(memory);
    let failed = catch_unwind(move || builder.check(body)).err()?;
    Some(*failed.downcast::<String>().expect("a report"))
}

#[track_caller]
pub fn passes(body: impl Fn() + Send + Sync + UnwindSafe + 'static) {
    if let Some(report) = check(Memory::Rc11, body) {
        panic!("{report}");
    }
}

#[track_caller]
pub fn fails(with: &str, body: impl Fn() + Send + Sync + UnwindSafe + 'static) -> String {
    let report = check(Memory::Rc11, body).expect("it fails");
    assert!(report.contains(with), "{report}");
    report
}

/// A value that threads share at their own risk.
pub struct Shared<T>(UnsafeCell<T>);

// SAFETY: the tests check that accesses do not race.
unsafe impl<T: Send> Sync for Shared<T> {}
unsafe impl<T: Send> Send for Shared<T> {}

impl<T: Copy> Shared<T> {
    pub fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    #[track_caller]
    pub fn get(&self) -> T {
        // SAFETY: the model stops before accesses that race.
        self.0.with(|p| unsafe { *p })
    }

    #[track_caller]
    pub fn set(&self, value: T) {
        // SAFETY: as above.
        self.0.with_mut(|p| unsafe { *p = value });
    }
}

fn message(store: Ordering, load: Ordering) {
    let shared = Arc::new((Shared::new(0), AtomicBool::new(false)));
    let other = shared.clone();
    let writer = thread::spawn(move || {
        other.0.set(42);
        other.1.store(true, store);
    });
    if shared.1.load(load) {
        assert_eq!(shared.0.get(), 42);
    }
    writer.join().unwrap();
}

#[test]
fn a_message_with_a_flag() {
    passes(|| message(Release, Acquire));
    for (store, load) in [(Relaxed, Acquire), (Release, Relaxed), (Relaxed, Relaxed)] {
        let report = fails("data race", move || message(store, load));
        assert!(report.contains("● "), "{report}");
        let schedule = report.split("MAZURKA_REPLAY=\"").nth(1).unwrap();
        let schedule = schedule.split('"').next().unwrap().to_owned();
        assert!(schedule.starts_with("v1 rc11: "), "{schedule}");
        let again = catch_unwind(move || replay(move || message(store, load), &schedule));
        let again = again.unwrap_err().downcast::<String>().unwrap();
        assert!(again.contains("data race"), "{again}");
    }
}

#[test]
fn a_message_that_a_loop_waits_for() {
    fn waiting(store: Ordering) {
        let shared = Arc::new((Shared::new(0), AtomicBool::new(false)));
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.0.set(42);
            other.1.store(true, store);
        });
        while !shared.1.load(Acquire) {
            hint::spin_loop();
        }
        assert_eq!(shared.0.get(), 42);
        writer.join().unwrap();
    }
    passes(|| waiting(Release));
    fails("data race", || waiting(Relaxed));
}

/// Store buffering between two threads.
fn dekker(store: Ordering, load: Ordering) {
    let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let inside = Arc::new(Shared::new(0));
    let enter = move |flags: Arc<[AtomicBool; 2]>, inside: Arc<Shared<u32>>, me: usize| {
        flags[me].store(true, store);
        if !flags[1 - me].load(load) {
            inside.set(inside.get() + 1);
        }
    };
    let (theirs, within) = (flags.clone(), inside.clone());
    let other = thread::spawn(move || enter(theirs, within, 1));
    enter(flags, inside, 0);
    other.join().unwrap();
}

#[test]
fn dekker_needs_seq_cst() {
    passes(|| dekker(SeqCst, SeqCst));
    let report = fails("data race", || dekker(Release, Acquire));
    assert!(report.contains("weak: step"), "{report}");
    fails("data race", || dekker(SeqCst, Acquire));
}

/// Peterson's lock, with a loop that waits.
fn peterson(store: Ordering, load: Ordering) {
    let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let turn = Arc::new(AtomicUsize::new(0));
    let inside = Arc::new(Shared::new(0));
    let all: Vec<_> = (0..2)
        .map(|me| {
            let (flags, turn, inside) = (flags.clone(), turn.clone(), inside.clone());
            thread::spawn(move || {
                flags[me].store(true, store);
                turn.store(1 - me, store);
                while flags[1 - me].load(load) && turn.load(load) == 1 - me {
                    hint::spin_loop();
                }
                inside.set(inside.get() + 1);
                flags[me].store(false, store);
            })
        })
        .collect();
    for one in all {
        one.join().unwrap();
    }
    assert_eq!(inside.get(), 2);
}

#[test]
fn peterson_needs_seq_cst() {
    passes(|| peterson(SeqCst, SeqCst));
    fails("data race", || peterson(Release, Acquire));
}

/// A reference count like std's.
struct Counted {
    count: AtomicUsize,
    data: Shared<u32>,
}

#[derive(Clone, Copy)]
struct CountOrders {
    drop: Ordering,
    last: Ordering,
}

/// Two owners; the last one writes the data like a destructor.
fn count(orders: CountOrders) {
    let shared = Arc::new(Counted {
        count: AtomicUsize::new(1),
        data: Shared::new(7),
    });
    shared.count.fetch_add(1, Relaxed);
    let release = move |shared: &Counted| {
        assert_eq!(shared.data.get(), 7);
        if shared.count.fetch_sub(1, orders.drop) == 1 {
            if orders.last != Relaxed {
                fence(orders.last);
            }
            shared.data.set(0);
        }
    };
    let other = shared.clone();
    let thread = thread::spawn(move || release(&other));
    release(&shared);
    thread.join().unwrap();
}

#[test]
fn a_reference_count() {
    let right = CountOrders {
        drop: Release,
        last: Acquire,
    };
    passes(move || count(right));
    passes(|| {
        count(CountOrders {
            drop: AcqRel,
            last: Relaxed,
        });
    });
    for drop in [Relaxed, Acquire] {
        fails("data race", move || count(CountOrders { drop, ..right }));
    }
    fails("data race", move || {
        count(CountOrders {
            last: Relaxed,
            ..right
        });
    });
}

/// A spin lock.
fn spin_lock(taken: Ordering, given: Ordering) {
    let lock = Arc::new(AtomicBool::new(false));
    let data = Arc::new(Shared::new(0));
    let all: Vec<_> = (0..2)
        .map(|_| {
            let (lock, data) = (lock.clone(), data.clone());
            thread::spawn(move || {
                while lock.compare_exchange(false, true, taken, Relaxed).is_err() {
                    hint::spin_loop();
                }
                data.set(data.get() + 1);
                lock.store(false, given);
            })
        })
        .collect();
    for one in all {
        one.join().unwrap();
    }
    assert_eq!(data.get(), 2);
}

/// A spin lock with a swap, which writes even if the lock is held.
fn swap_lock(taken: Ordering, threads: usize) {
    let lock = Arc::new(AtomicBool::new(false));
    let data = Arc::new(Shared::new(0));
    let all: Vec<_> = (0..threads)
        .map(|_| {
            let (lock, data) = (lock.clone(), data.clone());
            thread::spawn(move || {
                while lock.swap(true, taken) {
                    hint::spin_loop();
                }
                data.set(data.get() + 1);
                lock.store(false, Release);
            })
        })
        .collect();
    for one in all {
        one.join().unwrap();
    }
    assert_eq!(data.get(), threads);
}

#[test]
fn a_spin_lock_that_swaps() {
    passes(|| swap_lock(Acquire, 2));
    passes(|| swap_lock(Acquire, 3));
    fails("data race", || swap_lock(Relaxed, 2));
}

#[test]
fn a_spin_lock() {
    passes(|| spin_lock(Acquire, Release));
    fails("data race", || spin_lock(Relaxed, Release));
    fails("data race", || spin_lock(Acquire, Relaxed));
}

/// A seqlock over two atomics. The reader tries once.
fn seqlock(write: Option<Ordering>, read: Option<Ordering>) {
    let all = Arc::new([const { AtomicU32::new(0) }; 3]);
    let theirs = all.clone();
    let writer = thread::spawn(move || {
        let [seq, x, y] = &*theirs;
        seq.store(1, Relaxed);
        if let Some(order) = write {
            fence(order);
        }
        x.store(1, Relaxed);
        y.store(1, Relaxed);
        seq.store(2, Release);
    });
    let [seq, x, y] = &*all;
    let before = seq.load(Acquire);
    let values = (x.load(Relaxed), y.load(Relaxed));
    if let Some(order) = read {
        fence(order);
    }
    let after = seq.load(Relaxed);
    if before == after && before % 2 == 0 {
        assert_eq!(values.0, values.1, "torn");
    }
    writer.join().unwrap();
}

#[test]
fn a_seqlock_needs_its_fences() {
    passes(|| seqlock(Some(Release), Some(Acquire)));
    fails("torn", || seqlock(None, Some(Acquire)));
    fails("torn", || seqlock(Some(Release), None));
}

/// A Treiber stack with pushes only, emptied at once.
struct Stack {
    head: AtomicPtr<Node>,
}

struct Node {
    value: Shared<u32>,
    next: *mut Node,
}

impl Stack {
    fn push(&self, value: u32, order: Ordering) {
        let new = Box::into_raw(Box::new(Node {
            value: Shared::new(value),
            next: std::ptr::null_mut(),
        }));
        let mut head = self.head.load(Relaxed);
        loop {
            // SAFETY: nothing else knows the node yet.
            unsafe { (*new).next = head };
            match self.head.compare_exchange(head, new, order, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    fn take_all(&self, order: Ordering) -> Vec<u32> {
        let mut at = self.head.swap(std::ptr::null_mut(), order);
        let mut all = Vec::new();
        while !at.is_null() {
            // SAFETY: the nodes came from `Box::into_raw`, and only this thread has them.
            let node = unsafe { Box::from_raw(at) };
            all.push(node.value.get());
            at = node.next;
        }
        all
    }
}

fn treiber(push: Ordering, take: Ordering) {
    let stack = Arc::new(Stack {
        head: AtomicPtr::default(),
    });
    let all: Vec<_> = (1..=2)
        .map(|k| {
            let stack = stack.clone();
            thread::spawn(move || stack.push(k, push))
        })
        .collect();
    let mut taken = stack.take_all(take);
    for one in all {
        one.join().unwrap();
    }
    taken.extend(stack.take_all(take));
    taken.sort();
    assert_eq!(taken, [1, 2]);
}

#[test]
fn a_stack() {
    passes(|| treiber(Release, Acquire));
    fails("data race", || treiber(Relaxed, Acquire));
    fails("data race", || treiber(Release, Relaxed));
}

/// The queue of Michael and Scott: one push beside one pop. Nodes are never freed.
fn michael_scott(link: Ordering, follow: Ordering) {
    struct Link {
        value: Shared<u32>,
        next: AtomicPtr<Link>,
    }
    let node = |value| {
        Box::into_raw(Box::new(Link {
            value: Shared::new(value),
            next: AtomicPtr::default(),
        }))
    };
    let dummy = node(0);
    let queue = Arc::new((AtomicPtr::new(dummy), AtomicPtr::new(dummy)));
    let theirs = queue.clone();
    let pusher = thread::spawn(move || {
        let new = node(5);
        loop {
            let tail = theirs.1.load(Acquire);
            // SAFETY: nodes live until the end.
            let next = unsafe { &(*tail).next };
            let linked = next.compare_exchange(std::ptr::null_mut(), new, link, Relaxed);
            if linked.is_ok() {
                let _ = theirs.1.compare_exchange(tail, new, Release, Relaxed);
                return;
            }
        }
    });
    let head = queue.0.load(Acquire);
    // SAFETY: as above.
    let next = unsafe { (*head).next.load(follow) };
    if !next.is_null()
        && queue
            .0
            .compare_exchange(head, next, Release, Relaxed)
            .is_ok()
    {
        // SAFETY: as above.
        assert_eq!(unsafe { (*next).value.get() }, 5);
    }
    pusher.join().unwrap();
}

#[test]
fn a_queue() {
    passes(|| michael_scott(Release, Acquire));
    fails("data race", || michael_scott(Relaxed, Acquire));
    fails("data race", || michael_scott(Release, Relaxed));
}

/// The deque of Chase and Lev with one element: the owner takes it, or a thief steals it.
fn chase_lev(fenced: bool) {
    struct Deque {
        top: AtomicUsize,
        bottom: AtomicUsize,
        slot: AtomicU32,
    }
    let deque = Arc::new(Deque {
        top: AtomicUsize::new(1),
        bottom: AtomicUsize::new(1),
        slot: AtomicU32::new(0),
    });
    // The owner pushes one element.
    deque.slot.store(7, Relaxed);
    deque.bottom.store(2, Release);
    let theirs = deque.clone();
    let thief = thread::spawn(move || {
        let top = theirs.top.load(Acquire);
        fence(SeqCst);
        let bottom = theirs.bottom.load(Acquire);
        if top >= bottom {
            return 0;
        }
        let stolen = theirs.slot.load(Relaxed);
        let exchanged = theirs.top.compare_exchange(top, top + 1, SeqCst, Relaxed);
        exchanged.map_or(0, |_| stolen)
    });
    // The owner takes from the end. It competes for an element only if it sees that this is the
    // last one.
    let bottom = deque.bottom.load(Relaxed) - 1;
    deque.bottom.store(bottom, Relaxed);
    if fenced {
        fence(SeqCst);
    }
    let top = deque.top.load(Relaxed);
    let mut taken = 0;
    if top <= bottom {
        taken = deque.slot.load(Relaxed);
        if top == bottom {
            let exchanged = deque.top.compare_exchange(top, top + 1, SeqCst, Relaxed);
            if exchanged.is_err() {
                taken = 0;
            }
            deque.bottom.store(bottom + 1, Relaxed);
        }
    } else {
        deque.bottom.store(bottom + 1, Relaxed);
    }
    let stolen = thief.join().unwrap();
    assert!(taken == 0 || stolen == 0, "taken twice");
    assert_eq!(taken + stolen, 7, "lost");
}

#[test]
fn a_deque_of_one_element() {
    // With one element, the owner and the thief compete for `top`, so the fence is not needed.
    passes(|| chase_lev(true));
    passes(|| chase_lev(false));
}

/// The deque of Chase and Lev with two elements and two steals. The owner does not compete for the
/// last element.
fn chase_lev_of_two(fenced: bool) {
    let deque = Arc::new([const { AtomicU32::new(0) }; 2]);
    let [_, bottom] = &*deque;
    bottom.store(2, Release);
    let theirs = deque.clone();
    let thief = thread::spawn(move || {
        let [top, bottom] = &*theirs;
        let mut stolen = Vec::new();
        for _ in 0..2 {
            let first = top.load(Acquire);
            fence(SeqCst);
            if first < bottom.load(Acquire)
                && top
                    .compare_exchange(first, first + 1, SeqCst, Relaxed)
                    .is_ok()
            {
                stolen.push(first);
            }
        }
        stolen
    });
    let [top, bottom] = &*deque;
    bottom.store(1, Relaxed);
    if fenced {
        fence(SeqCst);
    }
    let first = top.load(Relaxed);
    // If `top` is still 0, the first element is there, and thieves take it before the last one. So
    // the owner takes the last one without competing.
    let taken = (first < 1).then_some(1);
    let stolen = thief.join().unwrap();
    let twice = taken.is_some_and(|taken| stolen.contains(&taken));
    assert!(!twice, "taken twice");
}

#[test]
fn a_deque_needs_its_fence() {
    passes(|| chase_lev_of_two(true));
    fails("taken twice", || chase_lev_of_two(false));
}

#[test]
fn a_deadlock_names_the_waiting_threads() {
    let report = fails("deadlock: no thread can go on", || {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (a2, b2) = (a.clone(), b.clone());
        let other = thread::spawn(move || {
            let _b = b2.lock().unwrap();
            let _a = a2.lock().unwrap();
        });
        let _a = a.lock().unwrap();
        let _b = b.lock().unwrap();
        drop((_a, _b));
        other.join().unwrap();
    });
    assert!(report.contains("for the Mutex made at"), "{report}");
    assert!(report.contains("held by thread 0"), "{report}");
}

#[test]
fn a_loop_that_waits_for_ever() {
    fails("in a loop for a change that no thread will make", || {
        let flag = AtomicBool::new(false);
        while !flag.load(Relaxed) {
            thread::yield_now();
        }
    });
    // A loop that gives up is not a deadlock, even if it then waits for something else.
    passes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let (other, main) = (flag.clone(), thread::current());
        let thread = thread::spawn(move || {
            other.store(true, Relaxed);
            main.unpark();
        });
        for _ in 0..2 {
            if flag.load(Relaxed) {
                break;
            }
            hint::spin_loop();
        }
        thread::park();
        thread.join().unwrap();
    });
    passes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = flag.clone();
        let thread = thread::spawn(move || other.store(true, Relaxed));
        for _ in 0..3 {
            if flag.load(Relaxed) {
                break;
            }
            hint::spin_loop();
        }
        thread.join().unwrap();
    });
}

#[test]
fn orderings_that_do_not_exist() {
    let x = || AtomicU32::new(0);
    fails("release load", move || _ = x().load(Release));
    fails("acquire store", move || x().store(1, Acquire));
    fails("relaxed fence", || fence(Relaxed));
    fails("release failure ordering", move || {
        _ = x().compare_exchange(0, 1, SeqCst, Release);
    });
}

/// Either of two threads may drop the last reference. Both cases are explored, and the destructor
/// does not race with the accesses of the other thread.
#[test]
fn the_last_of_two_references() {
    struct Noisy(Shared<u32>, Arc<AtomicU32>);
    impl Drop for Noisy {
        fn drop(&mut self) {
            let name = thread::current().name() == Some("other");
            self.1.store(1 + u32::from(name), Relaxed);
            self.0.set(9);
        }
    }
    let body = || {
        let seen = Arc::new(AtomicU32::new(0));
        let data = Arc::new(Noisy(Shared::new(3), seen.clone()));
        let theirs = data.clone();
        let named = thread::Builder::new().name("other".into());
        let other = named.spawn(move || assert_eq!(theirs.0.get(), 3));
        assert_eq!(data.0.get(), 3);
        drop(data);
        other.unwrap().join().unwrap();
        seen.load(Relaxed)
    };
    let found = Builder::default().memory(Memory::Rc11).outcomes(body);
    assert_eq!((found.failures, found.deadlocks), (0, 0));
    let mut results = found.results;
    results.sort();
    assert_eq!(results, [1, 2]);
    let count = || {
        let data = Arc::new(AtomicU32::new(0));
        let theirs = data.clone();
        let other = thread::spawn(move || drop(theirs));
        let count = Arc::strong_count(&data);
        let alone = Arc::try_unwrap(data).is_ok();
        other.join().unwrap();
        (count, alone)
    };
    let mut results = Builder::default()
        .memory(Memory::Rc11)
        .outcomes(count)
        .results;
    results.sort();
    assert_eq!(results, [(1, true), (2, false), (2, true)]);
}

/// A static starts the first execution under a model with its initial value, whatever ran before.
#[test]
fn statics_start_anew_under_a_model() {
    static A: AtomicU32 = AtomicU32::new(0);
    static B: AtomicU32 = AtomicU32::new(0);
    let body = || {
        assert_eq!(A.load(SeqCst), 0);
        A.store(1, SeqCst);
        B.load(Relaxed);
    };
    mazurka_rt::model(body);
    for memory in [Memory::Sc, Memory::Rc11, Memory::Sc, Memory::Tso] {
        assert_eq!(check(memory, body), None);
    }
    let failed = catch_unwind(|| {
        mazurka_rt::model(|| {
            let first = A.load(SeqCst);
            A.store(1, SeqCst);
            B.load(Relaxed);
            assert_ne!(first, 0);
        });
    });
    assert!(failed.is_err());
}
