//! The programs whose numbers of executions `figures.rs` checks.

use mazurka_memory::MemoryOrder::{self, Acquire, Relaxed, Release, SeqCst};
use mazurka_memory::litmus::*;

/// The locations.
pub const X: u32 = 0;
pub const Y: u32 = 1;
const Z: u32 = 2;

type Thread = Vec<Instruction>;

/// Store buffering.
pub fn sb(store_order: MemoryOrder, load_order: MemoryOrder) -> Litmus {
    let thread = |mine, other| vec![store(mine, 1, store_order), load(0, other, load_order)];
    Litmus::new([thread(X, Y), thread(Y, X)])
}

/// Store buffering with a fence in each thread.
pub fn sb_fences(order: MemoryOrder) -> Litmus {
    let thread = |mine, other| {
        let (write, read) = (store(mine, 1, Relaxed), load(0, other, Relaxed));
        vec![write, fence(order), read]
    };
    Litmus::new([thread(X, Y), thread(Y, X)])
}

/// Load buffering.
pub fn lb() -> Litmus {
    let thread = |mine, other| vec![load(0, mine, Relaxed), store(other, 1, Relaxed)];
    Litmus::new([thread(X, Y), thread(Y, X)])
}

/// Message passing.
pub fn mp(store_order: MemoryOrder, load_order: MemoryOrder) -> Litmus {
    Litmus::new([
        vec![store(X, 1, Relaxed), store(Y, 1, store_order)],
        vec![load(0, Y, load_order), load(1, X, Relaxed)],
    ])
}

/// Message passing with fences.
pub fn mp_fences() -> Litmus {
    Litmus::new([
        vec![store(X, 1, Relaxed), fence(Release), store(Y, 1, Relaxed)],
        vec![load(0, Y, Relaxed), fence(Acquire), load(1, X, Relaxed)],
    ])
}

/// Message passing where the thread overwrites its flag with a relaxed store.
pub fn mp_overwritten() -> Litmus {
    Litmus::new([
        vec![
            store(X, 1, Relaxed),
            store(Y, 1, Release),
            store(Y, 2, Relaxed),
        ],
        vec![load(0, Y, Acquire), load(1, X, Relaxed)],
    ])
}

/// Message passing through an update in a third thread.
pub fn mp_release_sequence() -> Litmus {
    Litmus::new([
        vec![store(X, 1, Relaxed), store(Y, 1, Release)],
        vec![fetch_add(0, Y, 1, Relaxed)],
        vec![load(0, Y, Acquire), load(1, X, Relaxed)],
    ])
}

/// Two writes by each of two threads, in different orders.
pub fn two_two_w(order: MemoryOrder) -> Litmus {
    let thread = |first, second| vec![store(first, 1, order), store(second, 2, order)];
    Litmus::new([thread(X, Y), thread(Y, X)])
}

/// Coherence of reads.
pub fn corr() -> Litmus {
    let reader = || vec![load(0, X, Relaxed), load(1, X, Relaxed)];
    let writer = |value| vec![store(X, value, Relaxed)];
    Litmus::new([reader(), reader(), writer(1), writer(2)])
}

/// Independent reads of independent writes.
pub fn iriw(first: MemoryOrder, second: MemoryOrder, write: MemoryOrder) -> Litmus {
    let reader = |a, b| vec![load(0, a, first), load(1, b, second)];
    Litmus::new([
        vec![store(X, 1, write)],
        vec![store(Y, 1, write)],
        reader(X, Y),
        reader(Y, X),
    ])
}

/// Write to read causality.
pub fn wrc() -> Litmus {
    Litmus::new([
        vec![store(X, 1, Relaxed)],
        vec![load(0, X, Relaxed), store(Y, 1, Relaxed)],
        vec![load(0, Y, Relaxed), load(1, X, Relaxed)],
    ])
}

/// Message passing over two flags.
pub fn isa2(write: MemoryOrder, read: MemoryOrder) -> Litmus {
    Litmus::new([
        vec![store(X, 1, Relaxed), store(Y, 1, write)],
        vec![load(0, Y, read), store(Z, 1, write)],
        vec![load(0, Z, read), load(1, X, Relaxed)],
    ])
}

/// Distinguishes the readings of the axiom for sc.
pub fn z6_u() -> Litmus {
    Litmus::new([
        vec![store(X, 1, SeqCst), store(Y, 1, Release)],
        vec![fetch_add(0, Y, 1, SeqCst), load(1, Y, Relaxed)],
        vec![store(Y, 3, SeqCst), load(0, X, SeqCst)],
    ])
}

/// Distinguishes the readings of the axiom for sc.
pub fn ww_merge() -> Litmus {
    Litmus::new([
        vec![load(0, X, Acquire), load(1, Y, SeqCst)],
        vec![store(X, 1, SeqCst), store(X, 2, SeqCst)],
        vec![store(Y, 1, SeqCst), load(0, X, SeqCst)],
    ])
}

/// Distinguishes the readings of the axiom for sc.
pub fn sb_rfis() -> Litmus {
    let thread = |mine, other| {
        vec![
            store(mine, 1, Release),
            load(0, mine, SeqCst),
            load(1, other, SeqCst),
        ]
    };
    Litmus::new([thread(X, Y), thread(Y, X)])
}

/// N threads increment a location.
pub fn ainc(threads: usize, order: MemoryOrder) -> Litmus {
    Litmus::new(vec![vec![fetch_add(0, X, 1, order)]; threads])
}

/// One writer, N readers.
pub fn readers(readers: usize) -> Litmus {
    let mut code = vec![vec![store(X, 1, Relaxed)]];
    code.extend(vec![vec![load(0, X, Relaxed)]; readers]);
    Litmus::new(code)
}

/// One store of 2, and N threads that exchange 2 for 3.
pub fn wcas(threads: usize) -> Litmus {
    let exchange = compare_exchange(0, X, (2, 3), (Relaxed, Relaxed));
    let mut code = vec![vec![store(X, 2, Release)]];
    code.extend(vec![vec![exchange]; threads]);
    Litmus::new(code)
}

/// N threads increment a location, each by a load and a separate store.
pub fn inc(threads: usize) -> Litmus {
    let thread = vec![load(0, X, Relaxed), store(X, r(0).plus(1), Release)];
    Litmus::new(vec![thread; threads])
}

/// N threads increment a location in a critical section.
pub fn lockinc(threads: usize) -> Litmus {
    let increment = [load(0, X, Relaxed), store(X, r(0).plus(1), Relaxed)];
    let thread = [&[lock(Y)], &increment[..], &[unlock(Y)]].concat();
    Litmus::new(vec![thread; threads])
}

fn add_other(mine: u32, other: u32, rounds: usize) -> Thread {
    let round = [
        load(0, mine, Acquire),
        load(1, other, Acquire),
        store(mine, r(0).plus_register(1), Release),
    ];
    round.repeat(rounds)
}

/// `i += j` beside `j += i`.
pub fn fib(rounds: usize) -> Litmus {
    let program = Litmus::new([add_other(X, Y, rounds), add_other(Y, X, rounds)]);
    program.with_initial(X, 1).with_initial(Y, 1)
}

/// [`fib`] with a third thread that reads both locations.
pub fn fib_bench(rounds: usize) -> Litmus {
    let mut reader = vec![load(0, X, Acquire)];
    // Unless x > 144: `144 > x` or equal.
    let condition = Sum::from(145).exceeds(r(0));
    reader.extend(when(condition, [load(1, Y, Acquire)]));
    let code = [add_other(X, Y, rounds), add_other(Y, X, rounds), reader];
    Litmus::new(code).with_initial(X, 1).with_initial(Y, 1)
}

/// Searches for the last zero of an array that N threads write.
pub fn lastzero(threads: u32) -> Litmus {
    let reader = vec![
        Instruction::Set(0, i64::from(threads).into()),
        load(1, element(0, 0), Acquire),
        Instruction::SkipUnless(r(1).equals(0), 1),
        // If the element is 0, jumps to the end.
        Instruction::SkipUnless(r(1).differs(0), 2),
        Instruction::Set(0, r(0).plus(-1)),
        Instruction::SkipUnless(r(1).equals(0), -5),
    ];
    let writer = |at: u32| {
        let before = load(0, at - 1, Acquire);
        vec![before, store(at, r(0).plus(1), Release)]
    };
    let mut code = vec![reader];
    code.extend((1..=threads).map(writer));
    Litmus::new(code)
}

/// N threads insert four entries each into a hash table of 128.
pub fn indexer(threads: i64) -> Litmus {
    const SIZE: i64 = 128;
    let entry = |thread: i64, m: i64| {
        let w = m * 11 + thread + 1;
        let h = (w * 7) % SIZE;
        [
            Instruction::Set(0, h.into()),
            compare_exchange(1, element(0, 0), (0, w), (Relaxed, Relaxed)),
            // The entry was free: to the end.
            Instruction::SkipUnless(r(1).differs(0), 3),
            Instruction::Set(0, r(0).plus(1)),
            Instruction::SkipUnless(r(0).equals(SIZE), -4),
            Instruction::SkipUnless(r(0).differs(SIZE), -6),
        ]
    };
    let thread = |thread| (0..4).flat_map(|m| entry(thread, m)).collect();
    Litmus::new((0..threads).map(thread))
}

/// Peterson's mutual exclusion, with `assume` in place of waiting.
pub fn peterson() -> Litmus {
    const TURN: u32 = 2;
    const SECTION: u32 = 3;
    let thread = |mine: u32, other: u32| {
        let mut code = vec![
            store(mine, 1, Release),
            store(TURN, i64::from(other), Release),
            load(0, other, Acquire),
        ];
        let other_waits = Instruction::Assume(r(1).differs(i64::from(other)));
        let turn = [load(1, TURN, Acquire), other_waits];
        code.extend(when(r(0).equals(1), turn));
        code.push(store(SECTION, i64::from(mine), Release));
        code.push(load(2, SECTION, Acquire));
        code.push(store(mine, 0, Release));
        code
    };
    Litmus::new([thread(X, Y), thread(Y, X)])
}

/// Two threads that take two locks in different orders.
pub fn abba() -> Litmus {
    let thread = |a, b| vec![lock(a), lock(b), unlock(b), unlock(a)];
    Litmus::new([thread(X, Y), thread(Y, X)])
}
