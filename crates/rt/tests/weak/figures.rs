//! Published numbers of executions of programs: execution graphs under rc11, and executions under
//! sc, which the search through graphs and the search of interleavings must both find.

use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use mazurka_rt::sync::atomic::{AtomicU32, Ordering, fence};
use mazurka_rt::sync::{Arc, Mutex};
use mazurka_rt::{Builder, Memory, choose, hint, thread};

type Memory4 = [AtomicU32; 6];
type Code = Box<dyn Fn(&Memory4) + Send + Sync>;

fn code(f: impl Fn(&Memory4) + Send + Sync + 'static) -> Code {
    Box::new(f)
}

/// Runs threads that share six atomics.
fn threads(all: Vec<Code>) -> impl Fn() + Send + Sync + 'static {
    let all = std::sync::Arc::new(all);
    move || {
        let memory: Arc<Memory4> = Arc::new(Default::default());
        let handles: Vec<_> = (0..all.len())
            .map(|k| {
                let (all, memory) = (all.clone(), memory.clone());
                thread::spawn(move || all[k](&memory))
            })
            .collect();
        for handle in handles {
            handle.join().unwrap();
        }
    }
}

fn count(body: impl Fn() + Send + Sync + 'static, memory: Memory) -> u64 {
    let builder = Builder {
        graphs: true,
        quiet: true,
        ..Builder::default()
    };
    let found = builder.memory(memory).outcomes(body);
    assert!(found.bounds.is_empty());
    assert_eq!((found.blocked, found.failures, found.deadlocks), (0, 0, 0));
    found.executions
}

/// The executions of a program under rc11 and sc.
fn both(program: impl Fn() -> Vec<Code>) -> (u64, u64) {
    let interleaved = Builder {
        quiet: true,
        ..Builder::default()
    };
    let interleaved = interleaved.memory(Memory::Sc).outcomes(threads(program()));
    let sc = count(threads(program()), Memory::Sc);
    assert_eq!(interleaved.executions, sc, "interleavings, graphs");
    (count(threads(program()), Memory::Rc11), sc)
}

fn sb(w: Ordering, r: Ordering, fenced: bool) -> Vec<Code> {
    let side = move |mine: usize, other: usize| {
        code(move |m| {
            m[mine].store(1, w);
            if fenced {
                fence(SeqCst);
            }
            m[other].load(r);
        })
    };
    vec![side(0, 1), side(1, 0)]
}

#[test]
fn store_buffering() {
    assert_eq!(both(|| sb(Relaxed, Relaxed, false)), (4, 3));
    assert_eq!(both(|| sb(Release, Acquire, false)), (4, 3));
    assert_eq!(both(|| sb(SeqCst, SeqCst, false)), (3, 3));
    assert_eq!(both(|| sb(Relaxed, Relaxed, true)), (3, 3));
    assert_eq!(count(threads(sb(Relaxed, Relaxed, false)), Memory::Tso), 4);
    assert_eq!(count(threads(sb(SeqCst, Relaxed, false)), Memory::Tso), 3);
    assert_eq!(count(threads(sb(SeqCst, SeqCst, false)), Memory::Ra), 4);
}

#[test]
fn load_buffering() {
    let side = |mine: usize, other: usize| {
        code(move |m| {
            m[mine].load(Relaxed);
            m[other].store(1, Relaxed);
        })
    };
    assert_eq!(both(|| vec![side(0, 1), side(1, 0)]), (3, 3));
}

fn mp(w: Ordering, r: Ordering, fenced: bool) -> Vec<Code> {
    vec![
        code(move |m| {
            m[0].store(1, Relaxed);
            if fenced {
                fence(Release);
            }
            m[1].store(1, w);
        }),
        code(move |m| {
            m[1].load(r);
            if fenced {
                fence(Acquire);
            }
            m[0].load(Relaxed);
        }),
    ]
}

#[test]
fn message_passing() {
    assert_eq!(both(|| mp(Relaxed, Relaxed, false)), (4, 3));
    assert_eq!(both(|| mp(Release, Acquire, false)), (3, 3));
    assert_eq!(both(|| mp(Relaxed, Relaxed, true)), (3, 3));
    let relaxed_after = || {
        vec![
            code(|m| {
                m[0].store(1, Relaxed);
                m[1].store(1, Release);
                m[1].store(2, Relaxed);
            }),
            code(|m| {
                m[1].load(Acquire);
                m[0].load(Relaxed);
            }),
        ]
    };
    assert_eq!(both(relaxed_after), (5, 4));
    let release_sequence = || {
        vec![
            code(|m| {
                m[0].store(1, Relaxed);
                m[1].store(1, Release);
            }),
            code(|m| {
                m[1].fetch_add(1, Relaxed);
            }),
            code(|m| {
                m[1].load(Acquire);
                m[0].load(Relaxed);
            }),
        ]
    };
    assert_eq!(both(release_sequence), (9, 9));
}

#[test]
fn two_plus_two_writes() {
    let side = |order: Ordering, one: usize, other: usize| {
        code(move |m| {
            m[one].store(1, order);
            m[other].store(2, order);
        })
    };
    let program = |order| move || vec![side(order, 0, 1), side(order, 1, 0)];
    assert_eq!(both(program(Relaxed)), (4, 3));
    assert_eq!(both(program(SeqCst)), (3, 3));
}

#[test]
fn coherence_of_reads() {
    let reader = || {
        code(|m| {
            m[0].load(Relaxed);
            m[0].load(Relaxed);
        })
    };
    let writer = |value| code(move |m| m[0].store(value, Relaxed));
    let program = || vec![reader(), reader(), writer(1), writer(2)];
    assert_eq!(both(program), (72, 72));
}

#[test]
fn independent_reads_of_independent_writes() {
    let program = |first: Ordering| {
        move || {
            let writer = |x: usize| code(move |m| m[x].store(1, SeqCst));
            let reader = |x: usize, y: usize| {
                code(move |m| {
                    m[x].load(first);
                    m[y].load(SeqCst);
                })
            };
            vec![writer(0), writer(1), reader(0, 1), reader(1, 0)]
        }
    };
    assert_eq!(both(program(Acquire)), (16, 15));
    assert_eq!(both(program(SeqCst)), (15, 15));
}

#[test]
fn causality() {
    let wrc = || {
        vec![
            code(|m| m[0].store(1, Relaxed)),
            code(|m| {
                m[0].load(Relaxed);
                m[1].store(1, Relaxed);
            }),
            code(|m| {
                m[1].load(Relaxed);
                m[0].load(Relaxed);
            }),
        ]
    };
    assert_eq!(both(wrc), (8, 7));
    let isa2 = |w: Ordering, r: Ordering| {
        move || {
            vec![
                code(move |m| {
                    m[0].store(1, Relaxed);
                    m[1].store(1, w);
                }),
                code(move |m| {
                    m[1].load(r);
                    m[2].store(1, w);
                }),
                code(move |m| {
                    m[2].load(r);
                    m[0].load(Relaxed);
                }),
            ]
        }
    };
    assert_eq!(both(isa2(Release, Acquire)), (7, 7));
    assert_eq!(both(isa2(Relaxed, Relaxed)), (8, 7));
}

#[test]
fn readings_of_the_axiom_for_seq_cst() {
    let z6u = || {
        vec![
            code(|m| {
                m[0].store(1, SeqCst);
                m[1].store(1, Release);
            }),
            code(|m| {
                m[1].fetch_add(1, SeqCst);
                m[1].load(Relaxed);
            }),
            code(|m| {
                m[1].store(3, SeqCst);
                m[0].load(SeqCst);
            }),
        ]
    };
    assert_eq!(both(z6u), (22, 18));
    let ww_merge = || {
        vec![
            code(|m| {
                m[0].load(Acquire);
                m[1].load(SeqCst);
            }),
            code(|m| {
                m[0].store(1, SeqCst);
                m[0].store(2, SeqCst);
            }),
            code(|m| {
                m[1].store(1, SeqCst);
                m[0].load(SeqCst);
            }),
        ]
    };
    assert_eq!(both(ww_merge), (17, 15));
    let side = |mine: usize, other: usize| {
        code(move |m| {
            m[mine].store(1, Release);
            m[mine].load(SeqCst);
            m[other].load(SeqCst);
        })
    };
    assert_eq!(both(|| vec![side(0, 1), side(1, 0)]), (4, 3));
}

fn factorial(n: usize) -> u64 {
    (1..=n as u64).product()
}

#[test]
fn increments() {
    for n in 2..=7 {
        let adds = move || {
            let add = |_| {
                code(|m| {
                    m[0].fetch_add(1, Relaxed);
                })
            };
            (0..n).map(add).collect()
        };
        assert_eq!(both(adds), (factorial(n), factorial(n)));
    }
    for (n, executions) in [(2, 4), (3, 36), (4, 576)] {
        let incs = move || {
            let inc = |_| {
                code(|m| {
                    let value = m[0].load(Relaxed);
                    m[0].store(value + 1, Release);
                })
            };
            (0..n).map(inc).collect()
        };
        assert_eq!(count(threads(incs()), Memory::Rc11), executions);
    }
}

#[test]
fn readers_and_exchanges() {
    for n in 1..=8 {
        let program = move || {
            let reader = |_| {
                code(|m| {
                    m[0].load(Relaxed);
                })
            };
            let mut all: Vec<Code> = (0..n).map(reader).collect();
            all.push(code(|m| m[0].store(1, Relaxed)));
            all
        };
        assert_eq!(both(program), (1 << n, 1 << n));
    }
    let figures = [5, 13, 33, 81, 193, 449, 1025, 2305];
    for (n, figure) in (2..).zip(figures) {
        let exchange = |_| {
            code(|m| {
                let _ = m[0].compare_exchange(2, 3, Relaxed, Relaxed);
            })
        };
        let mut all: Vec<Code> = (0..n).map(exchange).collect();
        all.push(code(|m| m[0].store(2, Release)));
        assert_eq!(count(threads(all), Memory::Rc11), figure, "wcas({n})");
    }
}

fn fib(n: usize) -> Vec<Code> {
    let side = |to: usize, from: usize| {
        code(move |m| {
            for _ in 0..n {
                let sum = m[to].load(Acquire) + m[from].load(Acquire);
                m[to].store(sum, Release);
            }
        })
    };
    vec![side(0, 1), side(1, 0)]
}

#[test]
fn sums_of_each_other() {
    for (n, executions) in [(2, (20, 19)), (3, (175, 141)), (4, (1764, 1107))] {
        assert_eq!(both(|| fib(n)), executions);
    }
}

/// One thread looks for the last element that is 0. Each other thread sets its own element to the
/// previous element plus 1.
fn last_zero(n: usize) {
    let all: Arc<[AtomicU32; 16]> = Arc::new(Default::default());
    let mut handles = Vec::new();
    let reader = all.clone();
    handles.push(thread::spawn(move || {
        let mut at = n;
        while reader[at].load(Acquire) != 0 {
            at -= 1;
        }
    }));
    for k in 1..=n {
        let all = all.clone();
        handles.push(thread::spawn(move || {
            let before = all[k - 1].load(Acquire);
            all[k].store(before + 1, Release);
        }));
    }
    for handle in handles {
        handle.join().unwrap();
    }
}

#[test]
fn the_last_zero() {
    assert_eq!(count(|| last_zero(5), Memory::Rc11), 64);
    assert_eq!(count(|| last_zero(10), Memory::Rc11), 3328);
    assert_eq!(count(|| last_zero(15), Memory::Rc11), 147_456);
}

/// Each thread fills 4 places of a hash table of 128.
fn indexer(n: u32) {
    let table: Arc<[AtomicU32; 128]> = Arc::new([const { AtomicU32::new(0) }; 128]);
    let handles: Vec<_> = (0..n)
        .map(|thread| {
            let table = table.clone();
            thread::spawn(move || {
                for m in 1..=4 {
                    let word = m * 11 + thread;
                    let mut at = (word * 7 % 128) as usize;
                    while let Err(_taken) = table[at].compare_exchange(0, word, AcqRel, Acquire) {
                        at = (at + 1) % 128;
                    }
                }
            })
        })
        .collect();
    for handle in handles {
        handle.join().unwrap();
    }
}

#[test]
fn entries_of_a_hash_table() {
    assert_eq!(count(|| indexer(12), Memory::Rc11), 8);
    assert_eq!(count(|| indexer(15), Memory::Rc11), 4096);
}

/// One thread repeats `i += j`, another one `j += i`. A third one loads `i` and, unless that is
/// large, `j`.
fn fib_bench() {
    let both = Arc::new([AtomicU32::new(1), AtomicU32::new(1)]);
    let adds = |mine: usize| {
        let both = both.clone();
        thread::spawn(move || {
            for _ in 0..5 {
                let sum = both[mine].load(Acquire) + both[1 - mine].load(Acquire);
                both[mine].store(sum, Release);
            }
        })
    };
    let adders = [adds(0), adds(1)];
    let reader = thread::spawn({
        let both = both.clone();
        move || {
            if both[0].load(Acquire) <= 144 {
                both[1].load(Acquire);
            }
        }
    });
    adders.into_iter().for_each(|it| it.join().unwrap());
    reader.join().unwrap();
}

#[test]
#[ignore = "long: half a million executions"]
fn long_figures() {
    assert_eq!(count(fib_bench, Memory::Rc11), 525_630);
    assert_eq!(count(fib_bench, Memory::Sc), 218_243);
}

/// Peterson's algorithm. A thread that would have to wait ends instead, and the execution
/// counts as discarded.
fn peterson() {
    let shared: Arc<Memory4> = Arc::new(Default::default());
    let enters = |me: usize| {
        let [turn, x] = [2, 3];
        let m = shared.clone();
        thread::spawn(move || {
            m[me].store(1, Release);
            m[turn].store(1 - me as u32, Release);
            if m[1 - me].load(Acquire) == 1 && m[turn].load(Acquire) != me as u32 {
                return false;
            }
            m[x].store(me as u32 + 1, Relaxed);
            m[x].load(Relaxed);
            m[me].store(0, Release);
            true
        })
    };
    let both = [enters(0), enters(1)].map(|it| it.join().unwrap());
    assert_eq!(both, [true; 2], "discarded");
}

#[test]
fn mutual_exclusion_by_peterson() {
    for (memory, complete, discarded) in [(Memory::Rc11, 22, 8), (Memory::Sc, 4, 6)] {
        let builder = Builder {
            graphs: true,
            quiet: true,
            ..Builder::default()
        };
        let found = builder.memory(memory).outcomes(peterson);
        let counts = (found.executions - found.failures, found.failures);
        assert_eq!(counts, (complete, discarded), "{memory}");
    }
}

fn lock_inc(n: usize) {
    let lock = Arc::new(Mutex::new(0));
    let handles: Vec<_> = (0..n)
        .map(|_| {
            let lock = lock.clone();
            thread::spawn(move || *lock.lock().unwrap() += 1)
        })
        .collect();
    for handle in handles {
        handle.join().unwrap();
    }
    assert_eq!(*lock.lock().unwrap(), n);
}

#[test]
fn increments_under_a_lock() {
    for n in 2..=6 {
        assert_eq!(count(move || lock_inc(n), Memory::Rc11), factorial(n));
    }
}

#[test]
fn locks_in_opposite_orders() {
    let body = || {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let other = {
            let (a, b) = (a.clone(), b.clone());
            thread::spawn(move || {
                let _b = b.lock().unwrap();
                let _a = a.lock().unwrap();
            })
        };
        {
            let _a = a.lock().unwrap();
            let _b = b.lock().unwrap();
        }
        other.join().unwrap();
    };
    let found = Builder::default().memory(Memory::Rc11).outcomes(body);
    assert_eq!((found.executions, found.deadlocks), (3, 1));
}

/// A loop of Rust code reads in each round, so it may also read a write that is overwritten later.
/// The await of the published model reads only once. So for each order of the writes the loop has
/// one more sequence of reads than the await.
#[test]
fn spin_loops_that_are_stuck() {
    let program = || {
        vec![
            code(|m| {
                while m[1].load(Relaxed) != 0 {
                    hint::spin_loop();
                }
            }),
            code(|m| {
                m[0].store(1, Relaxed);
                m[1].store(2, Relaxed);
            }),
            code(|m| m[1].store(1, Relaxed)),
        ]
    };
    for memory in [Memory::Rc11, Memory::Sc] {
        let builder = Builder {
            graphs: true,
            quiet: true,
            ..Builder::default()
        };
        let found = builder.memory(memory).outcomes(threads(program()));
        let ends = (found.executions - found.deadlocks, found.deadlocks);
        assert_eq!(ends, (2, 4), "{memory}");
    }
}

#[test]
fn choices_are_explored_once() {
    let program = || {
        vec![
            code(|m| {
                m[0].load(Relaxed);
                m[1].store(choose(0..2), Relaxed);
            }),
            code(|m| m[0].store(1, Relaxed)),
        ]
    };
    assert_eq!(count(threads(program()), Memory::Rc11), 4);
}

#[allow(unsafe_code)]
mod programs {
    use mazurka_rt::{sync, thread};
    include!("../programs/weak.rs");
}

/// The programs of the comparison with loom (`peers/`).
#[test]
fn programs_of_the_peers() {
    let executions = |program: fn(usize), n: usize| count(move || program(n), Memory::Rc11);
    assert_eq!(executions(programs::ainc, 4), 24);
    assert_eq!(executions(programs::fib, 2), 20);
    assert_eq!(executions(programs::lastzero, 5), 64);
    assert_eq!(executions(programs::sb, 0), 4);
    assert_eq!(executions(programs::mp, 0), 3);
    // There are two orders of the pushes. The second push reads the head before the first one, and
    // fails once, or after it.
    assert_eq!(executions(programs::treiber, 2), 4);
}
