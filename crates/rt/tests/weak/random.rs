//! Random programs, each in two forms: as closures for this crate, and as a litmus test for the
//! engine (`mazurka-memory`) alone. Counts and results must be equal under every model.
//!
//! More of them: `MAZURKA_PROGRAMS=20000 cargo test --release -p mazurka-rt --test weak random::`.

#![allow(unsafe_code)]

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use mazurka_core::{Limits, Random};
use mazurka_memory::litmus::{self, Instruction, Litmus};
use mazurka_memory::{End, Ending, MemoryOrder, visit};
use mazurka_rt::cell::UnsafeCell;
use mazurka_rt::sync::atomic::{AtomicI64, Ordering, fence};
use mazurka_rt::sync::{Arc, Mutex};
use mazurka_rt::{Builder, Memory, choose, thread};

#[derive(Clone, Copy, Debug)]
enum Op {
    Load(usize, Ordering),
    Store(usize, i64, Ordering),
    Add(usize, Ordering),
    Swap(usize, i64, Ordering),
    Exchange(usize, i64, [Ordering; 2]),
    Fence(Ordering),
    Lock,
    Unlock,
    PlainLoad,
    PlainStore(i64),
    Choose,
}

/// Plain memory that threads share at their own risk.
struct Cells(UnsafeCell<i64>);

// SAFETY: the model stops before accesses that race.
unsafe impl Sync for Cells {}

struct Shared {
    atomics: [AtomicI64; 2],
    lock: Mutex<()>,
    plain: Cells,
}

fn body(program: &[Vec<Op>]) -> Vec<Vec<i64>> {
    let shared = Arc::new(Shared {
        atomics: Default::default(),
        lock: Mutex::new(()),
        plain: Cells(UnsafeCell::const_new(0)),
    });
    let threads: Vec<_> = program
        .iter()
        .map(|ops| {
            let (shared, ops) = (shared.clone(), ops.clone());
            thread::spawn(move || {
                let mut log = Vec::new();
                let mut guard = None;
                for op in ops {
                    match op {
                        Op::Load(x, order) => log.push(shared.atomics[x].load(order)),
                        Op::Store(x, value, order) => shared.atomics[x].store(value, order),
                        Op::Add(x, order) => log.push(shared.atomics[x].fetch_add(1, order)),
                        Op::Swap(x, value, order) => {
                            log.push(shared.atomics[x].swap(value, order));
                        }
                        Op::Exchange(x, value, [success, failure]) => {
                            let x = &shared.atomics[x];
                            let result = x.compare_exchange(0, value, success, failure);
                            log.push(result.unwrap_or_else(|old| old));
                        }
                        Op::Fence(order) => fence(order),
                        Op::Lock => guard = Some(shared.lock.lock().unwrap()),
                        Op::Unlock => drop(guard.take()),
                        Op::PlainLoad => {
                            // SAFETY: the model stops before accesses that race.
                            log.push(shared.plain.0.with(|p| unsafe { *p }));
                        }
                        Op::PlainStore(value) => {
                            // SAFETY: as above.
                            shared.plain.0.with_mut(|p| unsafe { *p = value });
                        }
                        Op::Choose => log.push(choose(0..2)),
                    }
                }
                log
            })
        })
        .collect();
    threads.into_iter().map(|one| one.join().unwrap()).collect()
}

fn order(order: Ordering) -> MemoryOrder {
    match order {
        Ordering::Relaxed => MemoryOrder::Relaxed,
        Ordering::Acquire => MemoryOrder::Acquire,
        Ordering::Release => MemoryOrder::Release,
        Ordering::AcqRel => MemoryOrder::AcqRel,
        _ => MemoryOrder::SeqCst,
    }
}

/// The locations of the plain value and of the lock; the atomics have 0 and 1.
const PLAIN: u32 = 2;
const LOCK: u32 = 3;

fn litmus_of(program: &[Vec<Op>]) -> Litmus {
    let thread = |ops: &Vec<Op>| {
        let mut registers = 0;
        let mut instruction = |op: &Op| {
            let instruction = match *op {
                Op::Load(x, o) => litmus::load(registers, x as u32, order(o)),
                Op::Store(x, value, o) => return litmus::store(x as u32, value, order(o)),
                Op::Add(x, o) => litmus::fetch_add(registers, x as u32, 1, order(o)),
                Op::Swap(x, value, o) => litmus::swap(registers, x as u32, value, order(o)),
                Op::Exchange(x, value, [success, failure]) => Instruction::Update(
                    registers,
                    (x as u32).into(),
                    litmus::Change::Exchange(0.into(), value.into()),
                    order(success),
                    order(failure),
                ),
                Op::Fence(o) => return litmus::fence(order(o)),
                Op::Lock => return litmus::lock(LOCK),
                Op::Unlock => return litmus::unlock(LOCK),
                Op::PlainLoad => litmus::load(registers, PLAIN, MemoryOrder::Plain),
                Op::PlainStore(value) => {
                    return litmus::store(PLAIN, value, MemoryOrder::Plain);
                }
                Op::Choose => Instruction::Choose(registers, 2),
            };
            registers += 1;
            instruction
        };
        ops.iter().map(&mut instruction).collect::<Vec<_>>()
    };
    Litmus::new(program.iter().map(thread))
}

/// Executions without a fault, faults, results.
type Found = (u64, u64, BTreeSet<Vec<Vec<i64>>>);

fn by_litmus(program: &[Vec<Op>], memory: Memory) -> Found {
    let logs = |op: &&Op| {
        !matches!(
            op,
            Op::Store(..) | Op::Fence(_) | Op::Lock | Op::Unlock | Op::PlainStore(_)
        )
    };
    let counts: Vec<usize> = program
        .iter()
        .map(|ops| ops.iter().filter(logs).count())
        .collect();
    let mut results = BTreeSet::new();
    let mut visitor = |end: &mut End<'_, Litmus>| {
        if end.ending() == Ending::Complete {
            let program = end.program();
            let log = |(thread, &count): (usize, &usize)| {
                (0..count)
                    .map(|k| program.register(thread, k as _))
                    .collect()
            };
            results.insert(counts.iter().enumerate().map(log).collect());
        }
        ControlFlow::Continue(())
    };
    let found = visit(litmus_of(program), memory, &Limits::default(), &mut visitor);
    assert_eq!(found.counts.blocked, 0);
    let faults = found.counts.races + found.counts.deadlocks;
    (found.counts.complete, faults, results)
}

fn by_closures(program: &[Vec<Op>], memory: Memory) -> Found {
    let builder = Builder {
        graphs: true,
        quiet: true,
        ..Builder::default()
    };
    let program = program.to_vec();
    let found = builder.memory(memory).outcomes(move || body(&program));
    assert!(found.bounds.is_empty());
    let faults = found.failures + found.deadlocks;
    let results = found.results.into_iter().collect();
    (found.executions - faults, faults, results)
}

fn pick<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len() as u64) as usize]
}

fn op(random: &mut Random, plain: bool) -> Op {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let x = random.below(2) as usize;
    let value = 1 + random.below(2) as i64;
    let loads = [Relaxed, Acquire, SeqCst];
    let any = [Relaxed, Acquire, Release, AcqRel, SeqCst];
    match random.below(if plain { 13 } else { 10 }) {
        0..3 => Op::Load(x, pick(random, &loads)),
        3..6 => Op::Store(x, value, pick(random, &[Relaxed, Release, SeqCst])),
        6 => Op::Add(x, pick(random, &any)),
        7 => Op::Exchange(x, value, [pick(random, &any), pick(random, &loads)]),
        8 => Op::Fence(pick(random, &any[1..])),
        9 if random.below(3) == 0 => Op::Choose,
        9 => Op::Swap(x, value, pick(random, &any)),
        10 => Op::PlainLoad,
        _ => Op::PlainStore(value),
    }
}

fn program(random: &mut Random, plain: bool) -> Vec<Vec<Op>> {
    let threads = 2 + random.below(2);
    let most = if threads == 2 { 4 } else { 2 };
    (0..threads)
        .map(|_| {
            let count = 1 + random.below(most);
            let mut ops: Vec<Op> = (0..count).map(|_| op(random, plain)).collect();
            if random.below(3) == 0 {
                let from = random.below(ops.len() as u64 + 1) as usize;
                ops.insert(from, Op::Lock);
                let rest = (ops.len() - from) as u64;
                let to = from + 1 + random.below(rest) as usize;
                ops.insert(to, Op::Unlock);
            }
            ops
        })
        .collect()
}

#[test]
fn closures_do_what_litmus_tests_do() {
    let programs = std::env::var("MAZURKA_PROGRAMS").ok();
    let programs: u64 = programs.and_then(|n| n.parse().ok()).unwrap_or(400);
    let mut faults = 0;
    for number in 0..programs {
        let plain = number % 2 == 1;
        let program = program(&mut Random::new(number), plain);
        // Only rc11 has plain accesses.
        let models = if plain {
            &Memory::ALL[..1]
        } else {
            &Memory::ALL
        };
        for &memory in models {
            let (closures, litmus) = (by_closures(&program, memory), by_litmus(&program, memory));
            assert_eq!(closures, litmus, "{number}, {memory}: {program:?}");
            faults += litmus.1;
        }
    }
    assert!(faults > 0);
}
