//! Random programs whose threads wait for each other, compared with an interpreter that shares no
//! code with the crate. The programs use locks, `RwLock`, `Condvar`, channels, spin loops, scopes
//! and panics. (The programs of hunt/ use atomics, cells and `Arc`s.)
//!
//! The interpreter visits all states of a program under sequential consistency. It determines the
//! results, and whether there is a deadlock. The same program runs as real code in a model.
//!
//! CI runs a slice. More: `MAZURKA_PROGRAMS=20000 MAZURKA_SEED=7 cargo test -p mazurka-rt --test
//! it crowd:: -- --ignored`.

use mazurka_rt::sync::atomic::{AtomicU32, Ordering};
use mazurka_rt::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use mazurka_rt::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use mazurka_rt::sync::{RwLockReadGuard, RwLockWriteGuard};
use mazurka_rt::{Algorithm, Builder, Memory, thread};

use crate::hunting::{Compared, Hunt, Random, for_load, for_store, requested_programs};
use crate::hunting::{message, numbered, try_with_poison, with_poison};

#[derive(Clone, Copy, Debug)]
enum Op {
    Load(usize, Ordering),
    Store(usize, u32, Ordering),
    Add(usize, Ordering),
    Exchange(usize, u32, Ordering),
    /// Yields until the atomic is not 0.
    Spin(usize),
    Lock,
    TryLock,
    Unlock,
    /// Waits at the condition variable; does nothing if the thread does not hold the lock.
    Wait,
    /// Wakes all waiting threads (`true`) or one of them.
    Notify(bool),
    Read,
    Write,
    TryRead,
    TryWrite,
    /// Releases the `RwLock`.
    Release,
    Send(u32),
    Recv,
    TryRecv,
    SyncSend(u32),
    SyncRecv,
}

#[derive(Clone, Debug)]
struct Body {
    ops: Vec<Op>,
    panics: bool,
}

#[derive(Clone, Debug)]
struct Program {
    threads: Vec<Body>,
    scoped: bool,
}

const ATOMICS: usize = 2;
/// Logged by an attempt to take a lock that is held.
const HELD: u32 = 99;
/// Logged by a `try_recv` of a channel without messages.
const NONE: u32 = 98;
/// Logged by an operation on a channel whose other end was dropped.
const GONE: u32 = 97;
/// Added to the logged value of a lock that is poisoned.
const POISON: u32 = 1000;
/// The capacity of the second channel.
const BOUND: usize = 1;

/// For each thread the values that it has logged, and whether it panicked; then the final values.
type Outcome = (Vec<(Vec<u32>, bool)>, Vec<u32>);

mod machine;

use machine::{Verdict, expected};

/// The objects that all threads share.
#[derive(Default)]
struct Shared {
    atomics: [AtomicU32; ATOMICS],
    lock: Mutex<u32>,
    changed: Condvar,
    rw: RwLock<u32>,
}

/// The channel ends of a thread; they are dropped in this order.
struct Ends {
    sender: Sender<u32>,
    sync_sender: SyncSender<u32>,
    receiver: Option<Receiver<u32>>,
    sync_receiver: Option<Receiver<u32>>,
}

/// Either guard of the `RwLock`.
enum Guard<'a> {
    Reads { _guard: RwLockReadGuard<'a, u32> },
    Writes { _guard: RwLockWriteGuard<'a, u32> },
}

fn told(value: u32, poisoned: bool) -> u32 {
    value + POISON * u32::from(poisoned)
}

fn locked<'a>(
    (mut guard, poisoned): (MutexGuard<'a, u32>, bool),
    log: &mut Vec<u32>,
) -> MutexGuard<'a, u32> {
    *guard += 1;
    log.push(told(*guard, poisoned));
    guard
}

fn reads<'a>((guard, poisoned): (RwLockReadGuard<'a, u32>, bool), log: &mut Vec<u32>) -> Guard<'a> {
    log.push(told(*guard, poisoned));
    Guard::Reads { _guard: guard }
}

fn writes<'a>(
    (mut guard, poisoned): (RwLockWriteGuard<'a, u32>, bool),
    log: &mut Vec<u32>,
) -> Guard<'a> {
    *guard += 1;
    log.push(told(*guard, poisoned));
    Guard::Writes { _guard: guard }
}

/// The values that a thread has logged. Threads of a model run one at a time.
type Log = std::sync::Arc<std::sync::Mutex<Vec<u32>>>;

fn thread_of(body: &Body, shared: &Shared, ends: Ends, log: &Log) {
    let ends = ends;
    let mut lock: Option<MutexGuard<'_, u32>> = None;
    let mut guard: Option<Guard<'_>> = None;
    for &op in &body.ops {
        let mut seen = Vec::new();
        let log_of = &mut seen;
        match op {
            Op::Load(x, order) => log_of.push(shared.atomics[x].load(for_load(order))),
            Op::Store(x, value, order) => shared.atomics[x].store(value, for_store(order)),
            Op::Add(x, order) => log_of.push(shared.atomics[x].fetch_add(1, order)),
            Op::Exchange(x, new, order) => {
                let failure = for_load(order);
                let result = shared.atomics[x].compare_exchange(0, new, order, failure);
                log_of.push(result.unwrap_or_else(|old| old));
            }
            Op::Spin(x) => loop {
                let value = shared.atomics[x].load(Ordering::SeqCst);
                if value != 0 {
                    log_of.push(value);
                    break;
                }
                thread::yield_now();
            },
            Op::Lock => lock = Some(locked(with_poison(shared.lock.lock()), log_of)),
            Op::TryLock => match try_with_poison(shared.lock.try_lock()) {
                Some(taken) => lock = Some(locked(taken, log_of)),
                None => log_of.push(HELD),
            },
            Op::Unlock => lock = None,
            Op::Wait => {
                if let Some(held) = lock.take() {
                    lock = Some(locked(with_poison(shared.changed.wait(held)), log_of));
                }
            }
            Op::Notify(true) => shared.changed.notify_all(),
            Op::Notify(false) => shared.changed.notify_one(),
            Op::Read => guard = Some(reads(with_poison(shared.rw.read()), log_of)),
            Op::Write => guard = Some(writes(with_poison(shared.rw.write()), log_of)),
            Op::TryRead => match try_with_poison(shared.rw.try_read()) {
                Some(taken) => guard = Some(reads(taken, log_of)),
                None => log_of.push(HELD),
            },
            Op::TryWrite => match try_with_poison(shared.rw.try_write()) {
                Some(taken) => guard = Some(writes(taken, log_of)),
                None => log_of.push(HELD),
            },
            Op::Release => guard = None,
            Op::Send(message) => {
                if ends.sender.send(message).is_err() {
                    log_of.push(GONE);
                }
            }
            Op::SyncSend(message) => {
                if ends.sync_sender.send(message).is_err() {
                    log_of.push(GONE);
                }
            }
            Op::Recv => {
                if let Some(receiver) = &ends.receiver {
                    log_of.push(receiver.recv().unwrap_or(GONE));
                }
            }
            Op::SyncRecv => {
                if let Some(receiver) = &ends.sync_receiver {
                    log_of.push(receiver.recv().unwrap_or(GONE));
                }
            }
            Op::TryRecv => {
                if let Some(receiver) = &ends.receiver {
                    log_of.push(match receiver.try_recv() {
                        Ok(message) => message,
                        Err(TryRecvError::Empty) => NONE,
                        Err(TryRecvError::Disconnected) => GONE,
                    });
                }
            }
        }
        log.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .append(&mut seen);
    }
    if body.panics {
        panic!("as planned");
    }
    drop(guard);
    drop(lock);
}

fn real(program: &Program) -> Outcome {
    let shared = Arc::new(Shared::default());
    let (sender, receiver) = channel();
    let (sync_sender, sync_receiver) = sync_channel(BOUND);
    let mut receivers = Some((receiver, sync_receiver));
    let mut senders = vec![(sender, sync_sender)];
    while senders.len() < program.threads.len() {
        let again = senders[0].clone();
        senders.push(again);
    }
    let logs: Vec<Log> = program.threads.iter().map(|_| Log::default()).collect();
    let mut bodies = Vec::new();
    for ((body, log), (sender, sync_sender)) in program.threads.iter().zip(&logs).zip(senders) {
        let (receiver, sync_receiver) = receivers.take().unzip();
        let ends = Ends {
            sender,
            sync_sender,
            receiver,
            sync_receiver,
        };
        let (body, shared, log) = (body.clone(), shared.clone(), log.clone());
        bodies.push(move || thread_of(&body, &shared, ends, &log));
    }
    let ends: Vec<bool> = if program.scoped {
        thread::scope(|scope| {
            let started = bodies.into_iter().map(|body| scope.spawn(body));
            let handles: Vec<_> = started.collect();
            let ended = handles.into_iter().map(|one| one.join().is_err());
            ended.collect()
        })
    } else {
        let handles: Vec<_> = bodies.into_iter().map(thread::spawn).collect();
        let ended = handles.into_iter().map(|one| one.join().is_err());
        ended.collect()
    };
    let log_of = |log: &Log| log.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut values: Vec<u32> = shared
        .atomics
        .iter()
        .map(|x| x.load(Ordering::SeqCst))
        .collect();
    values.push(*with_poison(shared.lock.lock()).0);
    values.push(*with_poison(shared.rw.read()).0);
    (logs.iter().map(log_of).zip(ends).collect(), values)
}

/// Returns a random operation of one kind: on atomics, locks, the `RwLock` or channels.
fn op(random: &mut Random, kind: usize) -> Op {
    let (x, value) = (random.below(ATOMICS), 1 + random.below(2) as u32);
    let order = random.order();
    match (kind, random.below(8)) {
        (1, 0 | 1) => Op::Lock,
        (1, 2) => Op::TryLock,
        (1, 3) => Op::Wait,
        (1, 4) => Op::Notify(random.below(2) == 0),
        (2, 0 | 1) => Op::Read,
        (2, 2) => Op::Write,
        (2, 3) => Op::TryRead,
        (2, 4) => Op::TryWrite,
        (3, 0) => Op::Send(value),
        (3, 1) => Op::Recv,
        (3, 2) => Op::TryRecv,
        (3, 3) => Op::SyncSend(value),
        (3, 4) => Op::SyncRecv,
        (0, 0) => Op::Spin(x),
        (_, 1 | 5) => Op::Load(x, order),
        (_, 2 | 6) => Op::Store(x, value, order),
        (_, 3) => Op::Exchange(x, value, order),
        (_, _) => Op::Add(x, order),
    }
}

fn body(random: &mut Random, kinds: [usize; 2], most: usize) -> Body {
    let mut ops = Vec::new();
    let (mut locks, mut holds) = (false, false);
    for _ in 0..1 + random.below(most) {
        let kind = kinds[random.below(2)];
        let new = op(random, kind);
        match new {
            // A lock that the thread holds, or may hold, is released first.
            Op::Lock | Op::TryLock => {
                ops.extend(locks.then_some(Op::Unlock));
                locks = true;
            }
            Op::Read | Op::Write | Op::TryRead | Op::TryWrite => {
                ops.extend(holds.then_some(Op::Release));
                holds = true;
            }
            Op::Wait if !locks => {
                ops.push(Op::Lock);
                locks = true;
            }
            _ => {}
        }
        ops.push(new);
        if locks && random.below(3) == 0 {
            ops.push(Op::Unlock);
            locks = false;
        }
        if holds && random.below(2) == 0 {
            ops.push(Op::Release);
            holds = false;
        }
    }
    Body {
        ops,
        panics: random.below(5) == 0,
    }
}

fn program(random: &mut Random) -> Program {
    let kinds = [random.below(4), random.below(4)];
    let threads = 2 + random.below(2);
    let most = if threads == 2 { 4 } else { 2 };
    Program {
        threads: (0..threads).map(|_| body(random, kinds, most)).collect(),
        scoped: random.below(3) == 0,
    }
}

/// Returns the answer of the crate; `None` if the program is too large or refused.
fn found(program: &Program, memory: Memory) -> Option<Result<Verdict, String>> {
    let builder = Builder {
        algorithm: Algorithm::Optimal,
        max_executions: Some(20_000),
        memory: Some(memory),
        ..Builder::new()
    };
    let own = program.clone();
    match std::panic::catch_unwind(|| builder.outcomes(move || real(&own))) {
        Ok(found) if !found.bounds.is_empty() => None,
        Ok(found) if found.failures > 0 => Some(Err("a failure".into())),
        Ok(found) => Some(Ok(Verdict {
            outcomes: found.results.into_iter().collect(),
            deadlock: found.deadlocks > 0,
        })),
        Err(error) => {
            let message = message(error);
            if message.contains("cannot be explored") {
                None
            } else {
                Some(Err(message))
            }
        }
    }
}

/// Compares the crate with the interpreter. Under `rc11` the crate may find more. An error
/// describes the disagreement; if they agree, returns whether there is a deadlock. `None` if the
/// program is too large to run.
fn disagreement(program: &Program, memory: Memory) -> Compared {
    let expected = expected(program)?;
    let found = match found(program, memory)? {
        Ok(found) => found,
        Err(message) => return Some(Err(format!("the search fails: {message}"))),
    };
    let more = memory != Memory::Sc;
    let missed: Vec<_> = expected.outcomes.difference(&found.outcomes).collect();
    let wrong: Vec<_> = found.outcomes.difference(&expected.outcomes).collect();
    if !missed.is_empty() || !(more || wrong.is_empty()) {
        return Some(Err(format!("missed {missed:?}\nwrong {wrong:?}")));
    }
    if expected.deadlock != found.deadlock && !(more && found.deadlock) {
        return Some(Err(format!(
            "a deadlock: {}, found: {}",
            expected.deadlock, found.deadlock
        )));
    }
    Some(Ok(expected.deadlock))
}

/// The comparison under this memory model. It counts the programs with a deadlock.
struct Under(Memory);

impl Hunt for Under {
    type Program = Program;

    fn program(&self, random: &mut Random) -> Program {
        program(random)
    }

    fn compare(&self, program: &Program) -> Compared {
        disagreement(program, self.0)
    }

    fn smaller(&self, program: &Program) -> Vec<Program> {
        let mut all = Vec::new();
        for (thread, body) in program.threads.iter().enumerate() {
            for (at, op) in body.ops.iter().enumerate() {
                if !matches!(op, Op::Unlock | Op::Release) {
                    let mut less = program.clone();
                    less.threads[thread].ops.remove(at);
                    all.push(less);
                }
            }
        }
        all
    }
}

fn hunt(seed: u64, programs: u64, memory: Memory) {
    let hunted = Under(memory).run(seed, programs);
    assert!(hunted.compared * 2 > programs && hunted.marked * 20 > programs);
}

#[test]
fn a_slice() {
    hunt(1, 120, Memory::Sc);
}

#[test]
fn a_slice_under_rc11() {
    hunt(2, 60, Memory::Rc11);
}

/// Compares as many programs as the environment variable sets.
#[test]
#[ignore = "long: MAZURKA_PROGRAMS and MAZURKA_SEED say how many and which"]
fn many() {
    let (seed, programs) = requested_programs();
    hunt(seed, programs, Memory::Sc);
    hunt(seed, programs, Memory::Rc11);
}

/// Checks that the comparison can notice a crate that ignores one kind of operation: some programs
/// have other results without these operations.
#[test]
fn a_wrong_answer_is_seen() {
    let kinds: [fn(&Op) -> bool; 4] = [
        |op| matches!(op, Op::Notify(_)),
        |op| matches!(op, Op::Release),
        |op| matches!(op, Op::Send(_) | Op::SyncSend(_)),
        |op| matches!(op, Op::Spin(_)),
    ];
    for (at, kind) in kinds.into_iter().enumerate() {
        let differs = |number: &u64| {
            let program = program(&mut numbered(1, *number));
            let mut other = program.clone();
            for body in &mut other.threads {
                body.ops.retain(|op| !kind(op));
            }
            let (Some(one), Some(other)) = (expected(&program), expected(&other)) else {
                return false;
            };
            one.outcomes != other.outcomes || one.deadlock != other.deadlock
        };
        assert!((0..200).any(|number| differs(&number)), "kind {at}");
    }
}
