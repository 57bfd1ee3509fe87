//! Executions of many events: the work for an execution is linear in its length, or almost.

use std::time::{Duration, Instant};

use mazurka_core::{Bound, Limits};
use mazurka_memory::litmus::{Instruction, Litmus, Sum, fetch_add, load, lock, r, store, unlock};
use mazurka_memory::{CountOnly, Found, Memory, MemoryOrder, explore, replay};

use MemoryOrder::{Relaxed, SeqCst};

/// A time limit far above the time of each search here, and far below the time of a search with
/// quadratic work.
const PLENTY: Duration = Duration::from_secs(4);

#[track_caller]
fn explore_in_time(program: &Litmus, memory: Memory, executions: u64) -> Found {
    let limits = Limits {
        depth: Some(1_000_000),
        executions: Some(executions),
        ..Limits::default()
    };
    let start = Instant::now();
    let found = explore(program.clone(), memory, &limits);
    assert!(start.elapsed() < PLENTY, "{memory}: {:?}", start.elapsed());
    found
}

#[test]
fn one_thread() {
    const LONG: usize = 50_000;
    let adds = vec![fetch_add(0, 0, 1, Relaxed); LONG];
    let pairs = [load(0, 0, SeqCst), store(0, 1, SeqCst)].repeat(LONG);
    let locks = [lock(0), unlock(0)].repeat(LONG);
    for memory in Memory::ALL {
        for thread in [&adds, &pairs, &locks] {
            let found = explore_in_time(&Litmus::new([thread.clone()]), memory, 2);
            assert_eq!((found.counts.complete, found.bounds), (1, vec![]));
        }
        let reader = vec![load(0, 0, Relaxed)];
        let found = explore_in_time(&Litmus::new([adds.clone(), reader]), memory, u64::MAX);
        assert_eq!(found.counts.complete, LONG as u64 + 1);
    }
}

/// Each execution after the first is made by an update that revisits another.
#[test]
fn two_threads() {
    let adds = vec![fetch_add(0, 0, 1, Relaxed); 10_000];
    for memory in Memory::ALL {
        let found = explore_in_time(&Litmus::new([adds.clone(), adds.clone()]), memory, 20);
        assert_eq!(found.counts.complete, 20);
    }
}

/// A failure is shown as an order of the steps.
#[test]
fn a_failure_at_the_end() {
    let mut adds = vec![fetch_add(0, 0, 1, Relaxed); 10_000];
    adds.push(Instruction::Assert(Sum::from(10_001).exceeds(r(0)), 7));
    let program = Litmus::new([adds.clone(), adds]);
    let found = explore_in_time(&program, Memory::Rc11, 1);
    let start = Instant::now();
    let schedule = &found.findings[0].schedule;
    assert_eq!(schedule.0.len(), 20_000);
    let again = replay(program, Memory::Rc11, schedule, &mut CountOnly).unwrap();
    assert_eq!(again.failures, [found.findings[0].failure]);
    assert!(start.elapsed() < PLENTY, "{:?}", start.elapsed());
}

/// The time limit is checked within an execution, and while the program is run again.
#[test]
fn the_time_limit() {
    let adds = vec![fetch_add(0, 0, 1, Relaxed); 10_000];
    let time = Duration::from_millis(300);
    let limits = Limits {
        depth: Some(1_000_000),
        time: Some(time),
        ..Limits::default()
    };
    let start = Instant::now();
    let found = explore(Litmus::new([adds.clone(), adds]), Memory::Rc11, &limits);
    assert_eq!(found.bounds, [Bound::TimeLimit(300)]);
    let over = start.elapsed().saturating_sub(time);
    assert!(over < Duration::from_secs(1), "{over:?} too long");
}
