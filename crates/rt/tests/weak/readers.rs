//! Locks with readers: under a memory model they have the same executions as in interleavings.

#![allow(unsafe_code)]

use std::collections::BTreeSet;

use mazurka_core::Random;
use mazurka_rt::sync::atomic::AtomicU32;
use mazurka_rt::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use mazurka_rt::sync::{Arc, RwLock, RwLockWriteGuard};
use mazurka_rt::{Builder, Memory, thread};

use crate::found::{Shared, fails, passes};

fn builder(memory: Memory) -> Builder {
    let builder = Builder {
        quiet: true,
        ..Builder::default()
    };
    builder.memory(memory)
}

/// Starts this many readers and writers of a lock.
fn crowd(readers: u32, writers: u32) {
    let lock = Arc::new(RwLock::new(0));
    let thread = |writes: bool| {
        let lock = lock.clone();
        thread::spawn(move || {
            if writes {
                *lock.write().unwrap() += 1
            } else {
                assert!(*lock.read().unwrap() <= writers)
            }
        })
    };
    let all: Vec<_> = (0..readers + writers)
        .map(|k| thread(k >= readers))
        .collect();
    all.into_iter().for_each(|it| it.join().unwrap());
}

/// Writers are ordered, and each reader is between two of them; nothing else is ordered.
#[test]
fn readers_commute() {
    for (readers, writers, executions) in [
        (2, 0, 1),
        (5, 0, 1),
        (1, 1, 2),
        (2, 1, 4),
        (4, 1, 16),
        (1, 2, 6),
        (2, 2, 18),
        (1, 3, 24),
    ] {
        for memory in [Memory::Sc, Memory::Rc11, Memory::Ra, Memory::Tso] {
            let found = builder(memory).check(move || crowd(readers, writers));
            assert_eq!(
                found.executions, executions,
                "{memory}: {readers}, {writers}"
            );
            assert!(found.blocked == 0 || memory == Memory::Sc, "{found:?}");
        }
    }
}

/// A critical section of a thread, with one of two locks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Section {
    Read(usize),
    Write(usize),
    /// A section within another one: for each, the lock and whether it writes.
    Nested([(usize, bool); 2]),
}

type Locks = Arc<[RwLock<u32>; 2]>;

/// Reads or writes one of the locks, and calls a function meanwhile.
fn within(locks: &Locks, (at, writes): (usize, bool), then: impl FnOnce() -> u32) -> u32 {
    if writes {
        let mut guard = locks[at].write().unwrap();
        *guard += 1;
        *guard + 10 * then()
    } else {
        let guard = locks[at].read().unwrap();
        *guard + 10 * then()
    }
}

/// Runs the sections of each thread. Returns the values that the sections have read, and the final
/// contents.
fn run(program: &[Vec<Section>]) -> (Vec<Vec<u32>>, [u32; 2]) {
    let locks: Locks = Arc::new([const { RwLock::new(0) }; 2]);
    let start = |sections: &Vec<Section>| {
        let (locks, sections) = (locks.clone(), sections.clone());
        thread::spawn(move || {
            let section = |section: &Section| match *section {
                Section::Read(at) => within(&locks, (at, false), || 0),
                Section::Write(at) => within(&locks, (at, true), || 0),
                Section::Nested([one, other]) => {
                    within(&locks, one, || within(&locks, other, || 0))
                }
            };
            sections.iter().map(section).collect()
        })
    };
    let all: Vec<_> = program.iter().map(start).collect();
    let seen = all.into_iter().map(|it| it.join().unwrap()).collect();
    let content = |at: usize| *locks[at].read().unwrap();
    (seen, [content(0), content(1)])
}

fn random_program(seed: u64) -> Vec<Vec<Section>> {
    let mut random = Random::new(seed);
    let (threads, most) = [(2, 3), (3, 2), (3, 1), (4, 1)][random.below(4) as usize];
    let mut section = || {
        let mut lock = || (random.below(2) as usize, random.below(3) == 0);
        let (one, other) = (lock(), lock());
        match (random.below(4), one) {
            (0, _) => Section::Nested([one, other]),
            (_, (at, true)) => Section::Write(at),
            (_, (at, false)) => Section::Read(at),
        }
    };
    let thread = |_| (0..most).map(|_| section()).collect();
    (0..threads).map(thread).collect()
}

/// Returns the number of programs, which `MAZURKA_PROGRAMS` can set.
fn programs() -> u64 {
    let asked = std::env::var("MAZURKA_PROGRAMS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(200)
}

/// The search of interleavings, which implements read locks in another way, finds as many
/// executions and deadlocks, and the same results. (A thread that asks for write access while it
/// reads the same lock waits for itself.)
#[test]
fn graphs_are_traces() {
    let (mut executions, mut deadlocks, mut blocked) = (0, 0, 0);
    for seed in 0..programs() {
        let program = random_program(seed);
        let found = |memory| {
            let program = program.clone();
            builder(memory).outcomes(move || run(&program))
        };
        let expected = found(Memory::Sc);
        for memory in [Memory::Rc11, Memory::Ra, Memory::Tso] {
            let found = found(memory);
            let told = format!("seed {seed}, {memory}: {program:?}");
            assert_eq!(found.executions, expected.executions, "{told}");
            assert_eq!(found.deadlocks, expected.deadlocks, "{told}");
            let results = |all: &[(Vec<Vec<u32>>, [u32; 2])]| all.iter().cloned().collect();
            let results: [BTreeSet<_>; 2] =
                [&found.results, &expected.results].map(|it| results(it));
            assert_eq!(results[0], results[1], "{told}");
            blocked += found.blocked;
        }
        executions += expected.executions;
        deadlocks += expected.deadlocks;
    }
    println!("{executions} executions, {deadlocks} deadlocks, {blocked} blocked");
    assert!(executions > 5 * programs() && deadlocks > programs());
}

/// An attempt observes whether the lock is held. So in a program with attempts, each `RwLock` is
/// one location with the number of its readers, which orders them.
#[test]
fn attempts_order_readers() {
    let tried = || {
        let lock = Arc::new(RwLock::new(0));
        let theirs = lock.clone();
        let other = thread::spawn(move || *theirs.read().unwrap());
        let got = lock.try_write().is_ok();
        assert_eq!(other.join().unwrap(), 0);
        got
    };
    let found = builder(Memory::Rc11).outcomes(tried);
    assert_eq!(found.bounds, []);
    assert!(found.results.contains(&true) && found.results.contains(&false));
    let downgraded = || {
        let lock = Arc::new(RwLock::new(0));
        let theirs = lock.clone();
        let other = thread::spawn(move || *theirs.read().unwrap());
        let mut guard = lock.write().unwrap();
        *guard = 1;
        let seen = *RwLockWriteGuard::downgrade(guard);
        (seen, other.join().unwrap())
    };
    let found = builder(Memory::Rc11).outcomes(downgraded);
    let results: BTreeSet<_> = found.results.into_iter().collect();
    assert_eq!(results, BTreeSet::from([(1, 0), (1, 1)]));
}

/// A section of a writer synchronises with the sections after it. Sections of readers do not
/// synchronise with each other.
#[test]
fn what_readers_order() {
    fn message(writes: [bool; 2]) {
        let shared = Arc::new((RwLock::new(()), Shared::new(0), AtomicU32::new(0)));
        let theirs = shared.clone();
        let section = |shared: &(RwLock<()>, _, _), writes: bool| {
            if writes {
                drop(shared.0.write().unwrap())
            } else {
                drop(shared.0.read().unwrap())
            }
        };
        let other = thread::spawn(move || {
            theirs.1.set(42);
            section(&theirs, writes[0]);
            theirs.2.store(1, Relaxed);
        });
        if shared.2.load(Relaxed) == 1 {
            section(&shared, writes[1]);
            assert_eq!(shared.1.get(), 42);
        }
        other.join().unwrap();
    }
    // The flag was raised after the section, so the second section comes after the first.
    for writes in [[true, true], [true, false], [false, true]] {
        passes(move || message(writes));
    }
    fails("data race", || message([false; 2]));
}

/// The replay of a failure in a program with readers works.
#[test]
fn failures_replay() {
    let body = || {
        let lock = Arc::new(RwLock::new(0));
        let flag = Arc::new(AtomicU32::new(0));
        let (theirs, raised) = (lock.clone(), flag.clone());
        let other = thread::spawn(move || {
            raised.store(1, Release);
            *theirs.write().unwrap() = 1;
        });
        let reader = thread::spawn(move || (flag.load(Acquire), *lock.read().unwrap()));
        other.join().unwrap();
        assert_ne!(reader.join().unwrap(), (1, 0), "too early");
    };
    let report = fails("too early", body);
    assert!(report.contains("; reads=0.1"), "{report}");
    let schedule = report.split("MAZURKA_REPLAY=\"").nth(1).unwrap();
    let schedule = schedule.split('"').next().unwrap().to_owned();
    let again = std::panic::catch_unwind(move || mazurka_rt::replay(body, &schedule));
    let again = again.unwrap_err().downcast::<String>().unwrap();
    assert!(again.contains("too early"), "{again}");
}
