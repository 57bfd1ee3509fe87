//! Objects in blocks of the heap and on stacks have names without a step of registration (heap.rs),
//! so there are as many executions as the program requires.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32 as Real, Ordering::Relaxed};

use mazurka_rt::sync::atomic::Ordering::SeqCst;
use mazurka_rt::sync::atomic::{AtomicPtr, AtomicU32};
use mazurka_rt::sync::{Arc, Mutex};
use mazurka_rt::{Builder, Memory, Summary, thread};

/// Explores interleavings and execution graphs.
fn both(program: fn()) -> [Summary; 2] {
    [Memory::Sc, Memory::Rc11].map(|memory| {
        let quiet = Builder {
            quiet: true,
            ..Builder::default()
        };
        quiet.memory(memory).check(program)
    })
}

/// Expects complete searches, with this number of executions if given.
fn expect(program: fn(), executions: impl Into<Option<u64>>) {
    let executions = executions.into();
    for summary in both(program) {
        assert!(summary.is_complete(), "{summary}");
        let wanted = executions.unwrap_or(summary.executions);
        assert_eq!(summary.executions, wanted, "{summary}");
    }
}

fn each(count: usize, body: impl Fn(usize) + Clone + Send + 'static) {
    let threads = (0..count).map(|at| {
        let body = body.clone();
        thread::spawn(move || body(at))
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.join().unwrap();
    }
}

#[test]
fn elements_of_a_vector_are_apart() {
    expect(
        || {
            let all: Arc<Vec<_>> = Arc::new((0..4).map(|_| AtomicU32::new(0)).collect());
            each(4, move |at| all[at].store(1, SeqCst));
        },
        1,
    );
}

#[test]
fn locks_of_a_boxed_slice_are_apart() {
    // Two threads for each lock.
    expect(
        || {
            let all: Arc<Box<[_]>> = Arc::new((0..2).map(|_| Mutex::new(0)).collect());
            each(4, move |at| *all[at / 2].lock().unwrap() += 1);
        },
        4,
    );
}

#[test]
fn vectors_of_one_place_are_apart() {
    expect(
        || {
            let make = || (0..2).map(|_| AtomicU32::new(0)).collect::<Vec<_>>();
            let all = Arc::new([make(), make(), make()]);
            each(3, move |at| {
                all[at][0].store(1, SeqCst);
                all[(at + 1) % 3][1].store(1, SeqCst);
            });
        },
        1,
    );
}

/// Elements of an array on a stack, which scoped threads borrow.
#[test]
fn elements_on_a_stack_are_apart() {
    expect(
        || {
            let all: [AtomicU32; 4] = std::array::from_fn(|_| AtomicU32::new(0));
            thread::scope(|scope| {
                for one in &all {
                    scope.spawn(|| one.store(1, SeqCst));
                }
            });
            assert!(all.iter().all(|one| one.load(SeqCst) == 1));
        },
        1,
    );
    // Two threads for each lock.
    expect(
        || {
            let all: [Mutex<u32>; 2] = std::array::from_fn(|_| Mutex::new(0));
            thread::scope(|scope| {
                for at in 0..4 {
                    let one = &all[at / 2];
                    scope.spawn(|| *one.lock().unwrap() += 1);
                }
            });
        },
        4,
    );
}

/// The frames of successive calls of one thread have the same addresses. The frames of other
/// threads have other addresses.
#[test]
fn objects_of_frames_are_apart() {
    fn both_store() {
        let (x, y) = (new(), new());
        thread::scope(|scope| {
            scope.spawn(|| x.store(1, SeqCst));
            y.store(1, SeqCst);
        });
    }
    fn new() -> AtomicU32 {
        AtomicU32::new(0)
    }
    expect(
        || {
            for _ in 0..3 {
                both_store();
            }
            each(2, |_| both_store());
        },
        1,
    );
    // One conflict in each round, so 2³ executions.
    expect(
        || {
            for round in 0..3 {
                let (x, y) = (new(), new());
                thread::scope(|scope| {
                    scope.spawn(|| x.store(1, SeqCst));
                    x.store(round, SeqCst);
                    y.store(1, SeqCst);
                });
            }
        },
        8,
    );
}

/// A node of a list, as in lock-free code.
struct Node {
    value: AtomicU32,
}

/// Each thread makes a node and publishes it through its own pointer.
#[test]
fn nodes_are_named_by_the_thread_that_made_them() {
    expect(
        || {
            let slots: Arc<Vec<AtomicPtr<Node>>> =
                Arc::new((0..2).map(|_| AtomicPtr::default()).collect());
            let shared = slots.clone();
            each(2, move |at| {
                let node = Box::into_raw(Box::new(Node {
                    value: AtomicU32::new(0),
                }));
                // SAFETY: the node is freed at the end of the model.
                #[allow(unsafe_code)]
                unsafe {
                    (*node).value.store(1, SeqCst);
                }
                shared[at].store(node, SeqCst);
            });
            for slot in slots.iter() {
                // SAFETY: both threads have been joined.
                #[allow(unsafe_code)]
                let node = unsafe { Box::from_raw(slot.load(SeqCst)) };
                assert_eq!(node.value.load(SeqCst), 1);
            }
        },
        1,
    );
}

/// A block that only some executions allocate shifts the numbers of later blocks. Then threads
/// register with objects as they do without this allocator, which costs executions.
#[test]
fn blocks_of_some_executions_alone_do_no_harm() {
    static RUNS: Real = Real::new(0);
    for memory in [Memory::Sc, Memory::Rc11] {
        RUNS.store(0, Relaxed);
        let quiet = Builder {
            quiet: true,
            ..Builder::default()
        };
        let summary = quiet.memory(memory).check(|| {
            if RUNS.fetch_add(1, Relaxed) % 2 == 1 {
                std::mem::forget(std::hint::black_box(Vec::<AtomicU32>::with_capacity(2)));
            }
            let all: Arc<Vec<_>> = Arc::new((0..2).map(|_| AtomicU32::new(0)).collect());
            each(2, move |at| {
                all[at].fetch_add(1, SeqCst);
                all[1 - at].fetch_add(1, SeqCst);
            });
        });
        assert!(summary.is_complete(), "{summary}");
        assert!(summary.executions >= 3, "{summary}");
    }
}

/// Locks in a `HashMap`, whose layout differs in each execution, taken in two orders.
fn hashed_locks() {
    let locks: HashMap<u32, Mutex<u32>> = (0..6).map(|key| (key, Mutex::new(key))).collect();
    let all = Arc::new(locks);
    let other = all.clone();
    let thread = thread::spawn(move || {
        let _one = other[&1].lock().unwrap();
        let _two = other[&2].lock().unwrap();
    });
    {
        let _two = all[&2].lock().unwrap();
        let _one = all[&1].lock().unwrap();
    }
    thread.join().unwrap();
}

/// Offsets in a hash map once made a replay end without a message.
#[test]
fn what_lies_in_a_hash_map_is_no_offset() {
    let message = |run: &dyn Fn()| {
        let run = std::panic::AssertUnwindSafe(run);
        let payload = std::panic::catch_unwind(run).expect_err("a deadlock");
        *payload.downcast::<String>().expect("a text")
    };
    for _ in 0..20 {
        let found = message(&|| mazurka_rt::model(hashed_locks));
        assert!(found.contains("deadlock"), "{found}");
        let (_, schedule) = found.split_once("MAZURKA_REPLAY=\"").expect("a schedule");
        let schedule = schedule.split('"').next().expect("its end").to_owned();
        let again = message(&|| mazurka_rt::replay(hashed_locks, &schedule));
        assert!(again.contains("deadlock"), "{again}");
    }
    // Each key is one object, wherever it lies.
    expect(
        || {
            let map = (0..4).map(|key| (key, AtomicU32::new(0)));
            let all: Arc<HashMap<usize, AtomicU32>> = Arc::new(map.collect());
            let seen = all.clone();
            each(2, move |at| _ = seen[&at].fetch_add(1, SeqCst));
            assert_eq!([0, 1, 2].map(|key| all[&key].load(SeqCst)), [1, 1, 0]);
        },
        None,
    );
}
