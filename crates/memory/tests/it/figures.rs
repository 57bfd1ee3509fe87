//! Exact numbers of executions, mostly under rc11 and sc. Most names of programs are those of the
//! test suites of GenMC 0.11.

use mazurka_core::Limits;
use mazurka_memory::MemoryOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use mazurka_memory::litmus::{Instruction, Litmus, await_equal, load, r, store};
use mazurka_memory::{Counts, Memory, explore};

use crate::oracle;
use crate::programs::*;

fn counts(program: &Litmus, memory: Memory) -> Counts {
    let found = explore(program.clone(), memory, &Limits::default());
    assert!(found.is_exhaustive());
    found.counts
}

/// Returns the number of complete executions; asserts that all executions are complete.
fn complete(program: &Litmus, memory: Memory) -> u64 {
    let counts = counts(program, memory);
    assert_eq!(counts.executions(), counts.complete, "{counts:?}");
    counts.complete
}

#[track_caller]
fn check(program: Litmus, rc11: u64, sc: u64) {
    let found = [Memory::Rc11, Memory::Sc].map(|memory| complete(&program, memory));
    assert_eq!(found, [rc11, sc]);
}

#[test]
fn store_buffering() {
    check(sb(Relaxed, Relaxed), 4, 3);
    check(sb(SeqCst, SeqCst), 3, 3);
    check(sb_fences(SeqCst), 3, 3);
    check(sb(Release, Acquire), 4, 3);
    check(sb_fences(AcqRel), 4, 3);
}

#[test]
fn load_buffering() {
    check(lb(), 3, 3);
}

#[test]
fn message_passing() {
    check(mp(Relaxed, Relaxed), 4, 3);
    check(mp(Release, Acquire), 3, 3);
    check(mp_fences(), 3, 3);
    check(mp_overwritten(), 5, 4);
    check(mp_release_sequence(), 9, 9);
}

#[test]
fn writes() {
    check(two_two_w(Relaxed), 4, 3);
    check(two_two_w(SeqCst), 3, 3);
    check(corr(), 72, 72);
}

#[test]
fn causality() {
    check(iriw(Acquire, SeqCst, SeqCst), 16, 15);
    check(iriw(SeqCst, SeqCst, SeqCst), 15, 15);
    check(wrc(), 8, 7);
    check(isa2(Release, Acquire), 7, 7);
    check(isa2(Relaxed, Relaxed), 8, 7);
}

/// There are three readings of the axiom for sc accesses (psc), which these programs distinguish.
#[test]
fn readings_of_the_axiom_for_sc() {
    check(z6_u(), 22, 18);
    check(ww_merge(), 17, 15);
    check(sb_rfis(), 4, 3);
}

#[test]
fn updates() {
    let factorials = [2, 6, 24, 120, 720, 5040];
    for (threads, executions) in (2..=7).zip(factorials) {
        check(ainc(threads, Relaxed), executions, executions);
    }
    check(ainc(4, SeqCst), 24, 24);
    let wcas_counts = [5, 13, 33, 81, 193, 449, 1025, 2305];
    for (threads, executions) in (2..=9).zip(wcas_counts) {
        check(wcas(threads), executions, executions);
    }
    check(indexer(12), 8, 8);
    check(indexer(15), 4096, 4096);
}

#[test]
fn loads_and_stores() {
    for threads in 1..=8 {
        check(readers(threads), 1 << threads, 1 << threads);
    }
    for (threads, executions) in (2..=4).zip([4, 36, 576]) {
        check(inc(threads), executions, executions);
    }
    check(fib(2), 20, 19);
    check(fib(3), 175, 141);
    check(fib(4), 1764, 1107);
    check(lastzero(5), 64, 64);
    check(lastzero(10), 3328, 3328);
}

#[test]
#[ignore = "long: half a million executions"]
fn long_figures() {
    check(lastzero(15), 147_456, 147_456);
    check(fib_bench(5), 525_630, 218_243);
}

#[test]
fn locks() {
    let factorials = [2, 6, 24, 120, 720, 5040];
    for (threads, executions) in (2..=7).zip(factorials) {
        for memory in Memory::ALL {
            assert_eq!(complete(&lockinc(threads), memory), executions);
        }
    }
    for memory in Memory::ALL {
        let counts = counts(&abba(), memory);
        assert_eq!((counts.complete, counts.deadlocks), (2, 1));
        assert_eq!(counts.executions(), 3);
    }
}

#[test]
fn awaits() {
    let program = Litmus::new([
        vec![await_equal(Y, 0, Relaxed)],
        vec![store(X, 1, Relaxed), store(Y, 2, Relaxed)],
        vec![store(Y, 1, Relaxed)],
    ]);
    for memory in Memory::ALL {
        let counts = counts(&program, memory);
        assert_eq!((counts.complete, counts.deadlocks), (2, 2), "{memory}");
    }
}

#[test]
fn choices() {
    let program = Litmus::new([
        vec![
            load(0, X, Relaxed),
            Instruction::Choose(1, 2),
            store(Y, r(1), Relaxed),
        ],
        vec![store(X, 1, Relaxed)],
    ]);
    check(program, 4, 4);
}

#[test]
fn mutual_exclusion_by_peterson() {
    for (memory, complete, discarded) in [(Memory::Rc11, 22, 8), (Memory::Sc, 4, 6)] {
        let counts = counts(&peterson(), memory);
        assert_eq!((counts.complete, counts.discarded), (complete, discarded));
    }
}

/// The expected numbers are those under sc, tso, ra and rc11, in this order, and were computed by
/// the oracle.
#[test]
fn models_have_their_executions() {
    let memories = [Memory::Sc, Memory::Tso, Memory::Ra, Memory::Rc11];
    for (name, program, expected) in [
        ("sb", sb(Relaxed, Relaxed), [3, 4, 4, 4]),
        ("sb, sc", sb(SeqCst, SeqCst), [3, 3, 4, 3]),
        ("sb, fences", sb_fences(SeqCst), [3, 3, 3, 3]),
        ("mp", mp(Relaxed, Relaxed), [3, 3, 3, 4]),
        ("mp, ordered", mp(Release, Acquire), [3, 3, 3, 3]),
        ("mp, overwritten", mp_overwritten(), [4, 4, 4, 5]),
        ("release sequence", mp_release_sequence(), [9, 9, 9, 9]),
        ("lb", lb(), [3, 3, 3, 3]),
        ("2+2w", two_two_w(Relaxed), [3, 3, 4, 4]),
        ("wrc", wrc(), [7, 7, 7, 8]),
        ("isa2", isa2(Relaxed, Relaxed), [7, 7, 7, 8]),
        ("iriw", iriw(Acquire, SeqCst, SeqCst), [15, 15, 16, 16]),
        ("iriw, sc", iriw(SeqCst, SeqCst, SeqCst), [15, 15, 16, 15]),
        ("z6.u", z6_u(), [18, 18, 24, 22]),
        ("wwmerge", ww_merge(), [15, 15, 18, 17]),
        ("sb+rfis", sb_rfis(), [3, 4, 4, 4]),
    ] {
        for (memory, expected) in memories.into_iter().zip(expected) {
            let known = oracle::ends(&program, memory, 1_000_000, true).expect("small enough");
            assert_eq!(known.ends.len(), expected, "{name} under {memory}");
            assert_eq!(complete(&program, memory), expected as u64, "{name}");
        }
    }
}
