//! Random programs compared with an interpreter that shares no code with the crate.
//!
//! The interpreter (`Machine`) runs every interleaving of a program under sequential consistency,
//! with vector clocks that follow the definition of happens-before. It determines the results, and
//! whether there is a data race. The same program runs as real code in a model, which must give the
//! same answers. The programs consist of constructs that the crate once got wrong: atomics made at
//! one place (in a vector, in `Arc`s, on a stack, in nodes on the heap); `Arc`s that are cloned,
//! dropped, upgraded, unwrapped, or whose value or count is read; cells that are published; threads
//! that panic and have destructors.
//!
//! CI runs a slice. More: `MAZURKA_PROGRAMS=20000 MAZURKA_SEED=7 cargo test -p mazurka-rt --test
//! it hunt:: -- --ignored`.

use std::collections::BTreeSet;
use std::ptr::null_mut;

use mazurka_core::Bound;
use mazurka_rt::cell::UnsafeCell;
use mazurka_rt::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use mazurka_rt::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use mazurka_rt::{Algorithm, Builder, Memory, thread};

use crate::hunting::{Compared, Hunt, Random, for_load, for_store, requested_programs};
use crate::hunting::{message, numbered, try_with_poison, with_poison};

#[derive(Clone, Copy, Debug)]
enum Op {
    Load(usize, Ordering),
    Store(usize, u32, Ordering),
    Add(usize, Ordering),
    Exchange(usize, u32, Ordering),
    Lock,
    Unlock,
    /// Adds 1 to the protected value if the lock is free.
    TryLock,
    /// Makes a node and publishes it.
    Publish(Ordering),
    /// Reads the cell of the published node and adds 1 to its count.
    Consume(Ordering),
    /// With the shared `Arc`, if the thread has a reference: writes or reads the cell, clones or
    /// drops the reference, reads the count, or writes the cell if the reference is the only one.
    ArcWrite,
    ArcRead,
    ArcClone,
    ArcDrop,
    ArcCount,
    ArcGetMut,
    ArcUnwrap,
    /// Upgrades the weak reference, if the value still exists, and drops the result.
    ArcUpgrade,
}

/// The operations of a thread. When it ends, a destructor adds 1 to some atomics.
#[derive(Clone, Debug, Default)]
struct Body {
    ops: Vec<Op>,
    at_end: Vec<usize>,
    /// Whether it ends by a panic. It may hold the lock then.
    panics: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Vector,
    Arcs,
    /// On the stack of the first thread; scoped threads borrow them.
    Stack,
}

#[derive(Clone, Debug)]
struct Program {
    place: Place,
    /// Whether there is a weak reference to the shared `Arc`, until all threads have ended.
    weak: bool,
    threads: Vec<Body>,
}

/// For each thread the values that it has logged, and whether it panicked; then the final values.
type Outcome = (Vec<(Vec<u32>, bool)>, Vec<u32>);

const ATOMICS: usize = 3;
const HELD: u32 = 99;

fn acquires(order: Ordering) -> bool {
    matches!(
        order,
        Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst
    )
}

fn releases(order: Ordering) -> bool {
    matches!(
        order,
        Ordering::Release | Ordering::AcqRel | Ordering::SeqCst
    )
}

mod machine;
mod planted;

use machine::{Machine, Verdict};

/// A node on the heap. It is never freed, because another thread may still read it.
struct Node {
    value: UnsafeCell<u32>,
    count: AtomicU32,
}

/// The content of the shared `Arc`, which writes its cell when it is dropped.
struct Slot(UnsafeCell<u32>);

// SAFETY: the comparison checks whether this is right.
#[allow(unsafe_code)]
unsafe impl Sync for Slot {}

#[allow(unsafe_code)]
impl Slot {
    fn write(&self) {
        // SAFETY: as above.
        self.0.with_mut(|p| unsafe { *p += 1 });
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.write();
    }
}

#[derive(Clone)]
enum Atomics<'a> {
    Vector(Arc<Vec<AtomicU32>>),
    Arcs(Vec<Arc<AtomicU32>>),
    Stack(&'a [AtomicU32; ATOMICS]),
}

#[derive(Clone)]
struct Shared<'a> {
    atomics: Atomics<'a>,
    lock: Arc<Mutex<u32>>,
    published: Arc<AtomicPtr<Node>>,
    weak: Option<std::sync::Arc<Weak<Slot>>>,
}

impl<'a> Shared<'a> {
    fn new(atomics: Atomics<'a>, weak: Option<Weak<Slot>>) -> Self {
        Self {
            atomics,
            lock: Arc::new(Mutex::new(0)),
            published: Arc::new(AtomicPtr::new(null_mut())),
            weak: weak.map(std::sync::Arc::new),
        }
    }

    fn atomic(&self, x: usize) -> &AtomicU32 {
        match &self.atomics {
            Atomics::Vector(all) => &all[x],
            Atomics::Arcs(all) => &all[x],
            Atomics::Stack(all) => &all[x],
        }
    }

    fn lock(&self, log: &mut Vec<u32>) -> MutexGuard<'_, u32> {
        let (mut guard, poisoned) = with_poison(self.lock.lock());
        *guard += 1;
        log.push(*guard + 10 * u32::from(poisoned));
        guard
    }

    /// Performs an operation other than `Lock` and `Unlock`.
    #[allow(unsafe_code)]
    fn run(&self, op: Op, slots: &mut Vec<Arc<Slot>>, log: &mut Vec<u32>) {
        match op {
            Op::Load(x, order) => log.push(self.atomic(x).load(for_load(order))),
            Op::Store(x, value, order) => self.atomic(x).store(value, for_store(order)),
            Op::Add(x, order) => log.push(self.atomic(x).fetch_add(1, order)),
            Op::Exchange(x, new, order) => {
                let failure = for_load(order);
                let result = self.atomic(x).compare_exchange(0, new, order, failure);
                log.push(result.unwrap_or_else(|old| 100 + old));
            }
            Op::TryLock => match try_with_poison(self.lock.try_lock()) {
                Some((mut guard, poisoned)) => {
                    *guard += 1;
                    log.push(*guard + 10 * u32::from(poisoned));
                }
                None => log.push(HELD),
            },
            Op::Publish(order) => {
                let node = Node {
                    value: UnsafeCell::new(7),
                    count: AtomicU32::new(0),
                };
                let node = Box::into_raw(Box::new(node));
                self.published.store(node, for_store(order));
            }
            Op::Consume(order) => {
                let node = self.published.load(for_load(order));
                // SAFETY: nodes are not freed.
                match unsafe { node.as_ref() } {
                    Some(node) => {
                        // SAFETY: the comparison checks whether this is right.
                        assert_eq!(node.value.with(|p| unsafe { *p }), 7);
                        log.push(node.count.fetch_add(1, Ordering::SeqCst));
                    }
                    None => log.push(98),
                }
            }
            Op::ArcUpgrade => {
                let slot = self.weak.as_ref().and_then(|weak| weak.upgrade());
                log.push(u32::from(slot.is_some()));
            }
            Op::ArcDrop => drop(slots.pop()),
            _ if slots.is_empty() => {}
            Op::ArcWrite => slots[0].write(),
            Op::ArcRead => slots[0].0.with(|_| ()),
            Op::ArcClone => slots.push(slots[0].clone()),
            Op::ArcCount => log.push(Arc::strong_count(&slots[0]) as u32),
            Op::ArcGetMut => {
                let slot = Arc::get_mut(&mut slots[0]);
                log.push(u32::from(slot.is_some()));
                if let Some(slot) = slot {
                    *slot.0.get_mut() += 1;
                }
            }
            Op::ArcUnwrap => {
                let slot = Arc::try_unwrap(slots.remove(0));
                log.push(u32::from(slot.is_ok()));
                slots.extend(slot.err());
            }
            Op::Lock | Op::Unlock => unreachable!("they leave a guard"),
        }
    }
}

/// A value whose destructor runs at the end of a thread, before the thread drops its references to
/// the shared `Arc`.
struct AtEnd<'a> {
    shared: Shared<'a>,
    adds: Vec<usize>,
}

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        for &x in &self.adds {
            self.shared.atomic(x).fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// The values that a thread has logged. Threads of a model run one at a time.
type Log = std::sync::Arc<std::sync::Mutex<Vec<u32>>>;

fn thread_of(body: &Body, shared: Shared<'_>, slot: Arc<Slot>, log: &Log) {
    let mut slots = vec![slot];
    let at_end = AtEnd {
        shared,
        adds: body.at_end.clone(),
    };
    let shared = &at_end.shared;
    let mut guard = None;
    for &op in &body.ops {
        let mut seen = Vec::new();
        match op {
            Op::Lock => guard = Some(shared.lock(&mut seen)),
            Op::Unlock => guard = None,
            op => shared.run(op, &mut slots, &mut seen),
        }
        log.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .append(&mut seen);
    }
    if body.panics {
        panic!("as planned");
    }
    drop(guard);
}

fn real(program: &Program) -> Outcome {
    let new = || AtomicU32::new(0);
    let stack: [AtomicU32; ATOMICS] = std::array::from_fn(|_| new());
    let logs: Vec<Log> = program.threads.iter().map(|_| Log::default()).collect();
    let (ends, values) = match program.place {
        Place::Vector => {
            let all = (0..ATOMICS).map(|_| new()).collect();
            spawned(program, Atomics::Vector(Arc::new(all)), &logs)
        }
        Place::Arcs => {
            let all = (0..ATOMICS).map(|_| Arc::new(new())).collect();
            spawned(program, Atomics::Arcs(all), &logs)
        }
        Place::Stack => scoped(program, Atomics::Stack(&stack), &logs),
    };
    let log_of = |log: &Log| log.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (logs.iter().map(log_of).zip(ends).collect(), values)
}

/// Returns the functions of the threads, and the objects that they share.
fn bodies<'a>(
    program: &Program,
    atomics: Atomics<'a>,
    logs: &[Log],
) -> (Vec<impl FnOnce() + use<'a>>, Shared<'a>) {
    let slot = Arc::new(Slot(UnsafeCell::new(0)));
    let shared = Shared::new(atomics, program.weak.then(|| Arc::downgrade(&slot)));
    let mut slots = vec![slot];
    while slots.len() < program.threads.len() {
        let again = slots[0].clone();
        slots.push(again);
    }
    let each = program.threads.iter().zip(logs).zip(slots);
    let bodies = each.map(|((body, log), slot)| {
        let (body, log, shared) = (body.clone(), log.clone(), shared.clone());
        move || thread_of(&body, shared, slot, &log)
    });
    (bodies.collect(), shared)
}

/// Whether each thread ended by a panic, and the final values.
type Ends = (Vec<bool>, Vec<u32>);

fn spawned(program: &Program, atomics: Atomics<'static>, logs: &[Log]) -> Ends {
    let (bodies, shared) = bodies(program, atomics, logs);
    let handles: Vec<_> = bodies.into_iter().map(thread::spawn).collect();
    let ended = handles.into_iter().map(|one| one.join().is_err());
    (ended.collect(), values(&shared))
}

fn scoped(program: &Program, atomics: Atomics<'_>, logs: &[Log]) -> Ends {
    let (bodies, shared) = bodies(program, atomics, logs);
    let ends = thread::scope(|scope| {
        let handles: Vec<_> = bodies.into_iter().map(|body| scope.spawn(body)).collect();
        let ended = handles.into_iter().map(|one| one.join().is_err());
        ended.collect()
    });
    (ends, values(&shared))
}

fn values(shared: &Shared<'_>) -> Vec<u32> {
    let atomics = (0..ATOMICS).map(|x| shared.atomic(x).load(Ordering::SeqCst));
    let mut values: Vec<u32> = atomics.collect();
    values.push(*with_poison(shared.lock.lock()).0);
    values
}

/// Returns an operation of a kind; operations of one kind interact.
fn op(random: &mut Random, kind: usize) -> Op {
    let (x, value) = (random.below(ATOMICS), 1 + random.below(2) as u32);
    let order = random.order();
    match (kind, random.below(5)) {
        (1, 0 | 1) => Op::Publish(order),
        (1, 2 | 3) => Op::Consume(order),
        (2, 0) => Op::ArcWrite,
        (2, 1) => [Op::ArcDrop, Op::ArcDrop, Op::ArcClone][random.below(3)],
        (2, 2) => [Op::ArcGetMut, Op::ArcUnwrap, Op::ArcRead][random.below(3)],
        (2, 3) => [Op::ArcCount, Op::ArcUpgrade][random.below(2)],
        (3, 0) => Op::TryLock,
        (_, 0 | 1) => Op::Load(x, order),
        (_, 2) => Op::Store(x, value, order),
        (_, 3) => Op::Add(x, order),
        (_, _) => Op::Exchange(x, value, order),
    }
}

fn body(random: &mut Random, kind: usize, most: usize) -> Body {
    let mut ops: Vec<Op> = (0..1 + random.below(most))
        .map(|_| op(random, kind))
        .collect();
    let locks =
        kind != 2 && random.below(2) == 0 && !ops.iter().any(|op| matches!(op, Op::TryLock));
    let panics = kind == 3 && random.below(2) == 0;
    if locks {
        let from = random.below(ops.len() + 1);
        ops.insert(from, Op::Lock);
        if !(panics && random.below(2) == 0) {
            let to = from + 1 + random.below(ops.len() - from);
            ops.insert(to, Op::Unlock);
        }
    }
    let ends = if kind == 3 { random.below(3) } else { 0 };
    Body {
        ops,
        at_end: (0..ends).map(|_| random.below(ATOMICS)).collect(),
        panics,
    }
}

fn program(random: &mut Random) -> Program {
    let kind = random.below(4);
    let threads = 2 + random.below(2);
    let most = if threads == 2 { 4 } else { 2 };
    Program {
        place: [Place::Vector, Place::Arcs, Place::Stack][random.below(3)],
        weak: random.below(2) == 0,
        threads: (0..threads).map(|_| body(random, kind, most)).collect(),
    }
}

/// The behaviour of a program according to the crate.
struct Found {
    results: BTreeSet<Outcome>,
    race: bool,
    deadlock: bool,
}

/// Returns the answer of the interpreter; `None` if the program is too large to run.
fn expected(machine: Machine) -> Option<Verdict> {
    let mut expected = Verdict::default();
    machine.explore(&mut expected, 20_000).then_some(expected)
}

/// Returns the answer of the crate; `None` if the program is too large to run. An error is the
/// message of a search that fails.
fn found(program: &Program, memory: Memory) -> Option<Result<Found, String>> {
    let builder = Builder {
        algorithm: Algorithm::Optimal,
        max_executions: Some(20_000),
        memory: Some(memory),
        ..Builder::new()
    };
    let own = program.clone();
    let found = std::panic::catch_unwind(|| builder.outcomes(move || real(&own)));
    match found {
        // The bound `DataRaces` only says that the behaviour after a data race was not explored.
        Ok(found) if found.bounds.iter().any(|&it| it != Bound::DataRaces) => None,
        Ok(found) => Some(Ok(Found {
            race: found.failures > 0,
            deadlock: found.deadlocks > 0,
            results: found.results.into_iter().collect(),
        })),
        Err(error) => Some(Err(message(error))),
    }
}

/// Compares two answers. An error describes the disagreement; if they agree, returns whether there
/// is a race.
fn compare(expected: &Verdict, found: Result<Found, String>) -> Result<bool, String> {
    let found = found.map_err(|message| format!("the search fails: {message}"))?;
    if found.deadlock {
        return Err("a deadlock".into());
    }
    if found.race != expected.race {
        return Err(format!("a race: {}, found: {}", expected.race, found.race));
    }
    if !expected.race && found.results != expected.outcomes {
        let missed: Vec<_> = expected.outcomes.difference(&found.results).collect();
        let wrong: Vec<_> = found.results.difference(&expected.outcomes).collect();
        return Err(format!("missed {missed:?}\nwrong {wrong:?}"));
    }
    Ok(expected.race)
}

/// Compares the crate with the interpreter; `None` if the program is too large to run.
fn disagreement(program: &Program) -> Compared {
    let expected = expected(Machine::new(program))?;
    Some(compare(&expected, found(program, Memory::Sc)?))
}

/// Looks for results that are missing under C++20's orderings, which allow everything that
/// sequential consistency does; `None` if the program is too large to run, or refused.
fn missing(program: &Program) -> Compared {
    let expected = expected(Machine::new(program))?;
    let found = match found(program, Memory::Rc11)? {
        Ok(found) => found,
        Err(message) if message.contains("cannot be explored") => return None,
        Err(message) => return Some(Err(format!("the search fails: {message}"))),
    };
    let missed = expected.outcomes.difference(&found.results).count();
    Some(if found.race {
        Ok(true)
    } else if found.deadlock {
        Err("a deadlock".into())
    } else if expected.race {
        Err("a race was missed".into())
    } else if missed > 0 {
        Err(format!("{missed} results were missed"))
    } else {
        Ok(false)
    })
}

/// Number of programs that CI compares.
const SLICE: u64 = 300;

/// A comparison by this function. It counts the programs with a race.
struct By(fn(&Program) -> Compared);

impl Hunt for By {
    type Program = Program;

    fn program(&self, random: &mut Random) -> Program {
        program(random)
    }

    fn compare(&self, program: &Program) -> Compared {
        (self.0)(program)
    }

    fn smaller(&self, program: &Program) -> Vec<Program> {
        let mut all = Vec::new();
        for (thread, body) in program.threads.iter().enumerate() {
            for (at, op) in body.ops.iter().enumerate() {
                if !matches!(op, Op::Lock | Op::Unlock) {
                    let mut less = program.clone();
                    less.threads[thread].ops.remove(at);
                    all.push(less);
                }
            }
        }
        all
    }
}

fn hunt(seed: u64, programs: u64, compare: fn(&Program) -> Compared) {
    let hunted = By(compare).run(seed, programs);
    assert!(hunted.compared * 2 > programs && hunted.marked * 100 > programs);
}

#[test]
fn a_slice() {
    hunt(1, SLICE, disagreement);
}

#[test]
fn a_slice_under_rc11() {
    hunt(2, SLICE, missing);
}

/// Compares as many programs as the environment variable sets.
#[test]
#[ignore = "long: MAZURKA_PROGRAMS and MAZURKA_SEED say how many and which"]
fn many() {
    let (seed, programs) = requested_programs();
    hunt(seed, programs, disagreement);
    hunt(seed, programs, missing);
}
