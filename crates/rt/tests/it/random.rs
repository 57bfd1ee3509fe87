//! Random programs with all kinds of objects that threads can share: the engine `optimal` must find
//! the same results as brute force.
//!
//! More of them: `MAZURKA_PROGRAMS=20000 cargo test --release -p mazurka-rt --test it random::`.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::time::Duration;

use mazurka_rt::sync::atomic::{AtomicU32, Ordering::SeqCst};
use mazurka_rt::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use mazurka_rt::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
use mazurka_rt::thread::{self, Thread};
use mazurka_rt::{Algorithm, Builder, Memory, choose};

#[derive(Clone, Copy, Debug)]
enum Op {
    Load(usize),
    Store(usize, u32),
    Add(usize),
    Exchange(usize, u32),
    Locked(usize, usize),
    Nested(usize, usize),
    TryLock(usize),
    Wait(usize),
    WaitTimeout(usize),
    Notify(usize, bool),
    Park,
    ParkTimeout,
    Unpark(usize),
    Send(u32),
    Recv,
    TryRecv,
    SyncSend(u32),
    SyncTrySend(u32),
    SyncRecv,
    SyncTryRecv,
    Read(usize),
    Write(usize),
    TryWrite(usize),
    Meet,
    Once,
    Choose,
    SpinOn(usize),
    SpinOnBoth,
    SpinLocked(usize),
    SpinTryLock(usize),
    DropSenders,
    Slot,
}

/// The objects that all threads share.
struct Shared {
    atomics: [AtomicU32; 2],
    locks: [Mutex<u32>; 2],
    condvars: [Condvar; 2],
    rw: [RwLock<u32>; 2],
    barrier: Barrier,
    once: Once,
    next: AtomicU32,
    /// Atomics that are all made at one place.
    slots: Vec<AtomicU32>,
    threads: std::sync::Mutex<Vec<Option<Thread>>>,
    /// The handles of all threads, if `Unpark` must know all of them. A thread that runs early then
    /// waits until all threads are started.
    started: Option<OnceLock<Vec<Thread>>>,
}

struct Own {
    sender: Option<Sender<u32>>,
    receiver: Option<Receiver<u32>>,
    sync_sender: Option<SyncSender<u32>>,
    sync_receiver: Option<Receiver<u32>>,
}

fn run(op: Op, shared: &Shared, own: &mut Own, log: &mut Vec<u32>) {
    match op {
        Op::Load(x) => log.push(shared.atomics[x].load(SeqCst)),
        Op::Store(x, value) => shared.atomics[x].store(value, SeqCst),
        Op::Add(x) => log.push(shared.atomics[x].fetch_add(1, SeqCst)),
        Op::Exchange(x, value) => {
            let result = shared.atomics[x].compare_exchange(0, value, SeqCst, SeqCst);
            log.push(result.unwrap_or_else(|old| 100 + old));
        }
        Op::Locked(m, x) => {
            let mut guard = shared.locks[m].lock().unwrap();
            *guard += 1;
            log.push(*guard);
            log.push(shared.atomics[x].load(SeqCst));
        }
        Op::Nested(m, n) => {
            let mut guard = shared.locks[m].lock().unwrap();
            *guard += 1;
            if m != n {
                let mut inner = shared.locks[n].lock().unwrap();
                *inner += 1;
                log.push(*inner);
            }
        }
        Op::TryLock(m) => match shared.locks[m].try_lock() {
            Ok(mut guard) => {
                *guard += 1;
                log.push(*guard);
            }
            Err(_) => log.push(99),
        },
        Op::Wait(c) => {
            let guard = shared.locks[0].lock().unwrap();
            let guard = shared.condvars[c].wait(guard).unwrap();
            log.push(*guard);
        }
        Op::WaitTimeout(c) => {
            let guard = shared.locks[0].lock().unwrap();
            let time = Duration::from_millis(1);
            let (guard, result) = shared.condvars[c].wait_timeout(guard, time).unwrap();
            log.push(*guard + 50 * u32::from(result.timed_out()));
        }
        Op::Notify(c, true) => shared.condvars[c].notify_all(),
        Op::Notify(c, false) => shared.condvars[c].notify_one(),
        Op::Park => thread::park(),
        Op::ParkTimeout => thread::park_timeout(Duration::from_millis(1)),
        Op::Unpark(t) => {
            let thread = match &shared.started {
                None => shared.threads.lock().unwrap().get(t).cloned().flatten(),
                Some(started) => started.wait().get(t).cloned(),
            };
            if let Some(thread) = thread {
                thread.unpark();
            }
        }
        Op::Send(value) => {
            if let Some(sender) = &own.sender {
                log.push(u32::from(sender.send(value).is_ok()));
            }
        }
        Op::Recv => {
            if let Some(receiver) = &own.receiver {
                log.push(receiver.recv().unwrap_or(98));
            }
        }
        Op::TryRecv => {
            if let Some(receiver) = &own.receiver {
                log.push(match receiver.try_recv() {
                    Ok(value) => value,
                    Err(error) => 96 + error as u32,
                });
            }
        }
        Op::SyncSend(value) => {
            if let Some(sender) = &own.sync_sender {
                log.push(u32::from(sender.send(value).is_ok()));
            }
        }
        Op::SyncTrySend(value) => {
            if let Some(sender) = &own.sync_sender {
                log.push(u32::from(sender.try_send(value).is_ok()));
            }
        }
        Op::SyncRecv => {
            if let Some(receiver) = &own.sync_receiver {
                log.push(receiver.recv().unwrap_or(98));
            }
        }
        Op::SyncTryRecv => {
            if let Some(receiver) = &own.sync_receiver {
                log.push(receiver.try_recv().unwrap_or(97));
            }
        }
        Op::Read(m) => log.push(*shared.rw[m].read().unwrap()),
        Op::Write(m) => *shared.rw[m].write().unwrap() += 1,
        Op::TryWrite(m) => match shared.rw[m].try_write() {
            Ok(mut guard) => *guard += 1,
            Err(_) => log.push(95),
        },
        Op::Meet => log.push(u32::from(shared.barrier.wait().is_leader())),
        Op::Once => shared
            .once
            .call_once(|| log.push(shared.atomics[0].load(SeqCst))),
        Op::Choose => log.push(choose(0..2)),
        Op::SpinOn(x) => {
            while shared.atomics[x].load(SeqCst) == 0 {
                thread::yield_now();
            }
        }
        Op::SpinOnBoth => loop {
            let (x, y) = (
                shared.atomics[0].load(SeqCst),
                shared.atomics[1].load(SeqCst),
            );
            if x + y > 0 {
                log.push(10 * x + y);
                break;
            }
            thread::yield_now();
        },
        Op::SpinLocked(m) => {
            while *shared.locks[m].lock().unwrap() == 0 {
                thread::yield_now();
            }
        }
        Op::SpinTryLock(m) => loop {
            if let Ok(mut guard) = shared.locks[m].try_lock() {
                *guard += 1;
                break;
            }
            mazurka_rt::hint::spin_loop();
        },
        Op::Slot => {
            let mine = shared.next.fetch_add(1, SeqCst) as usize;
            log.push(shared.slots[mine % 3].fetch_add(1, SeqCst));
        }
        Op::DropSenders => (own.sender, own.sync_sender) = (None, None),
    }
}

fn body(program: &[Vec<Op>], knows_all: bool) -> Vec<Vec<u32>> {
    let unparks = |op: &Op| matches!(op, Op::Unpark(_));
    let knows_all = knows_all && program.iter().flatten().any(unparks);
    let shared = Arc::new(Shared {
        atomics: [AtomicU32::new(0), AtomicU32::new(0)],
        locks: [Mutex::new(0), Mutex::new(0)],
        condvars: [Condvar::new(), Condvar::new()],
        rw: [RwLock::new(0), RwLock::new(0)],
        barrier: Barrier::new(2),
        once: Once::new(),
        next: AtomicU32::new(0),
        slots: (0..3).map(AtomicU32::new).collect(),
        threads: std::sync::Mutex::default(),
        started: knows_all.then(OnceLock::new),
    });
    let uses = |any: fn(&Op) -> bool| program.iter().flatten().any(any);
    let unbounded = uses(|op| matches!(op, Op::Send(_) | Op::Recv | Op::TryRecv));
    let bounded = uses(|op| {
        matches!(
            op,
            Op::SyncSend(_) | Op::SyncTrySend(_) | Op::SyncRecv | Op::SyncTryRecv
        )
    });
    let (sender, mut receiver) = match unbounded.then(channel) {
        Some((sender, receiver)) => (Some(sender), Some(receiver)),
        None => (None, None),
    };
    let (sync_sender, mut sync_receiver) = match bounded.then(|| sync_channel(program.len() % 2)) {
        Some((sender, receiver)) => (Some(sender), Some(receiver)),
        None => (None, None),
    };
    let mut handles = Vec::new();
    for ops in program {
        let (all, ops) = (shared.clone(), ops.clone());
        let mut own = Own {
            sender: sender.clone(),
            receiver: receiver.take(),
            sync_sender: sync_sender.clone(),
            sync_receiver: sync_receiver.take(),
        };
        let handle = thread::spawn(move || {
            let mut log = Vec::new();
            for op in ops {
                run(op, &all, &mut own, &mut log);
            }
            log
        });
        shared
            .threads
            .lock()
            .unwrap()
            .push(Some(handle.thread().clone()));
        handles.push(handle);
    }
    if let Some(started) = &shared.started {
        let all = handles.iter().map(|handle| handle.thread().clone());
        let _set = started.set(all.collect());
    }
    drop((sender, sync_sender));
    handles
        .into_iter()
        .map(|handle| handle.join().unwrap())
        .collect()
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }
}

/// Returns an operation of a kind; operations of one kind interact.
fn flavour(random: &mut Random, kind: usize) -> Op {
    let (a, b) = (random.below(2), random.below(2));
    let value = 1 + random.below(2) as u32;
    let pick = random.below(4);
    match (kind, pick) {
        (0, 0) => Op::Load(a),
        (0, 1) => Op::Store(a, value),
        (0, 2) => Op::Add(a),
        (0, _) => Op::Exchange(a, value),
        (1, 0) => Op::Locked(a, b),
        (1, 1) => Op::Nested(a, b),
        (1, 2) => Op::TryLock(a),
        (1, _) => Op::Store(a, value),
        (2, 0) => Op::Wait(0),
        (2, 1) => Op::Notify(0, b == 0),
        (2, 2) => Op::Locked(0, 0),
        (2, _) => Op::WaitTimeout(0),
        (3, 0) => Op::Park,
        (3, 1) => Op::Unpark(random.below(3)),
        (3, 2) => Op::ParkTimeout,
        (3, _) => Op::Add(0),
        (4, 0) => Op::Send(value),
        (4, 1) => Op::Recv,
        (4, 2) => Op::TryRecv,
        (4, _) => [Op::DropSenders, Op::Add(0)][a],
        (5, 0) => Op::SyncSend(value),
        (5, 1) => Op::SyncRecv,
        (5, 2) => Op::SyncTrySend(value),
        (5, _) => [Op::SyncTryRecv, Op::DropSenders][a],
        (6, 0) => Op::Read(a),
        (6, 1) => Op::Write(a),
        (6, 2) => Op::TryWrite(a),
        (6, _) => Op::Add(0),
        (7, 0) => Op::Meet,
        (7, 1) => Op::Once,
        (7, 2) => Op::Choose,
        (7, _) => Op::Add(0),
        (8, 0) => Op::SpinOn(a),
        (8, 1) => Op::SpinOnBoth,
        (8, 2) => Op::Add(a),
        (8, _) => Op::Store(a, value - 1),
        (9, 0) => Op::SpinLocked(a),
        (9, 1) => Op::SpinTryLock(a),
        (9, 2) => Op::Nested(a, a),
        (9, _) => Op::Locked(a, b),
        (10, 0 | 1) => Op::Slot,
        (10, 2) => Op::Add(a),
        (10, _) => Op::Load(a),
        _ => {
            let kind = random.below(11);
            flavour(random, kind)
        }
    }
}

fn program(random: &mut Random) -> Vec<Vec<Op>> {
    let kind = random.below(13);
    let threads = 2 + random.below(2);
    let most = if threads == 2 { 4 } else { 2 };
    (0..threads)
        .map(|_| {
            (0..1 + random.below(most))
                .map(|_| flavour(random, kind))
                .collect()
        })
        .collect()
}

/// Returns the behaviour of a program under a memory model, explored as execution graphs; `None` if
/// the program is refused, or takes too long.
fn graphs(program: &[Vec<Op>], memory: Memory) -> Option<Result<Found, String>> {
    let builder = Builder {
        graphs: true,
        quiet: true,
        max_steps: Some(300_000),
        max_depth: Some(250),
        ..Builder::new()
    };
    let (builder, program) = (builder.memory(memory), program.to_vec());
    let explored = catch_unwind(move || builder.outcomes(move || body(&program, true)));
    let found = match explored {
        Ok(found) => found,
        Err(payload) => {
            let text = *payload.downcast::<String>().expect("a message");
            let refused = text.contains("cannot be explored");
            return (!refused).then_some(Err(text));
        }
    };
    if !found.bounds.is_empty() {
        return None;
    }
    let results = found.results.into_iter().collect();
    Some(Ok((found.executions, found.deadlocks, results)))
}

/// Returns a disagreement if the graphs of sc have other results than the interleavings, or if
/// those of rc11 lack some of them.
fn graphs_disagree(program: &[Vec<Op>], compared: &Cell<u64>) -> Option<String> {
    let (_, deadlocks, results) = explore_knowing(program, Algorithm::Optimal, true)?;
    let (_, sc_deadlocks, sc) = match graphs(program, Memory::Sc)? {
        Ok(found) => found,
        Err(error) => return Some(error),
    };
    if (deadlocks > 0) != (sc_deadlocks > 0) || results != sc {
        return Some(format!(
            "interleavings {deadlocks} deadlocks, {results:?}\ngraphs {sc_deadlocks} deadlocks, {sc:?}"
        ));
    }
    let (_, rc11_deadlocks, rc11) = match graphs(program, Memory::Rc11)? {
        Ok(found) => found,
        Err(error) => return Some(error),
    };
    if (deadlocks > 0 && rc11_deadlocks == 0) || !results.is_subset(&rc11) {
        return Some(format!(
            "interleavings {deadlocks} deadlocks, {results:?}\nrc11 {rc11_deadlocks} deadlocks, {rc11:?}"
        ));
    }
    compared.set(compared.get() + 1);
    None
}

/// Returns a minimal part of a program that still shows a disagreement.
fn shrink(
    mut program: Vec<Vec<Op>>,
    mut how: String,
    disagrees: impl Fn(&[Vec<Op>]) -> Option<String>,
) -> (Vec<Vec<Op>>, String) {
    'smaller: loop {
        for thread in 0..program.len() {
            for op in 0..program[thread].len() {
                let mut less = program.clone();
                less[thread].remove(op);
                if let Some(still) = disagrees(&less) {
                    (program, how) = (less, still);
                    continue 'smaller;
                }
            }
        }
        return (program, how);
    }
}

#[test]
fn graphs_find_what_interleavings_find() {
    let programs = std::env::var("MAZURKA_PROGRAMS").ok();
    let programs: u64 = programs.and_then(|n| n.parse().ok()).unwrap_or(150);
    let compared = Cell::new(0);
    let disagree = |program: &[Vec<Op>]| graphs_disagree(program, &compared);
    for number in 0..programs {
        let mut random = Random(7_000_003 + number);
        random.below(2);
        let program = program(&mut random);
        if let Some(how) = disagree(&program) {
            let (program, how) = shrink(program, how, disagree);
            panic!("program {number}: {program:?}\n{how}");
        }
    }
    // Most programs could be compared; the others are refused under a memory model, or are too
    // large.
    assert!(compared.get() * 2 > programs, "{compared:?} of {programs}");
}

/// Executions, deadlocks, results.
type Found = (u64, u64, BTreeSet<Vec<Vec<u32>>>);

/// Explores a program: executions, deadlocks, results; `None` if it is too large.
fn explore(program: &[Vec<Op>], algorithm: Algorithm) -> Option<Found> {
    explore_knowing(program, algorithm, false)
}

fn explore_knowing(program: &[Vec<Op>], algorithm: Algorithm, knows_all: bool) -> Option<Found> {
    let builder = Builder {
        algorithm,
        max_steps: Some(300_000),
        max_depth: Some(120),
        ..Builder::new()
    };
    let uses_guards = |op: &Op| matches!(op, Op::Read(_) | Op::Write(_) | Op::TryWrite(_));
    let guarded = program.iter().flatten().any(uses_guards);
    let program = program.to_vec();
    let found = builder.outcomes(move || body(&program, knows_all));
    if !found.bounds.is_empty() {
        return None;
    }
    if algorithm == Algorithm::Optimal && !guarded {
        assert_eq!(found.blocked, 0);
    }
    let results = found.results.into_iter().collect();
    Some((found.executions, found.deadlocks, results))
}

fn disagrees(program: &[Vec<Op>]) -> Option<String> {
    let naive = explore(program, Algorithm::Naive)?;
    let optimal = explore(program, Algorithm::Optimal)?;
    (naive != optimal).then(|| format!("naive {naive:?}\noptimal {optimal:?}"))
}

#[test]
fn optimal_finds_what_brute_force_finds() {
    let programs = std::env::var("MAZURKA_PROGRAMS")
        .ok()
        .and_then(|n| n.parse().ok());
    let seed: u64 = std::env::var("MAZURKA_SEED")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1);
    let mut compared = 0;
    for number in 0..programs.unwrap_or(150) {
        let mut random = Random(seed * 1_000_003 + number);
        random.below(2);
        let mut program = program(&mut random);
        let Some(mut how) = disagrees(&program) else {
            compared += 1;
            continue;
        };
        (program, how) = shrink(program, how, disagrees);
        panic!("program {number}: {program:?}\n{how}");
    }
    assert!(compared > 0);
}
