//! Random programs against an interpreter of their own: a second opinion, which shares no code with
//! the crate.
//!
//! The interpreter (`Machine`) runs every interleaving of a program under sequential consistency,
//! with vector clocks written down from the definition of happens-before, and says which results
//! there are and whether there is a data race. The same program runs as real code in a model; both
//! must agree. What the programs are made of is what was once wrong: atomics made at one place (in
//! a vector, in `Arc`s, in nodes on the heap), `Arc`s that are dropped, unwrapped or asked for
//! their value, cells that are published, threads that panic and have destructors.
//!
//! CI runs a slice. More: `MAZURKA_PROGRAMS=20000 MAZURKA_SEED=7 cargo test -p mazurka-rt --test
//! it hunt:: -- --ignored`.

use std::collections::BTreeSet;
use std::ptr::null_mut;

use mazurka_rt::cell::UnsafeCell;
use mazurka_rt::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use mazurka_rt::sync::{Arc, Mutex, MutexGuard, PoisonError};
use mazurka_rt::{Algorithm, Builder, Memory, thread};

#[derive(Clone, Copy, Debug)]
enum Op {
    Load(usize, Ordering),
    Store(usize, u32, Ordering),
    Add(usize, Ordering),
    Exchange(usize, u32, Ordering),
    Lock,
    Unlock,
    /// Adds 1 to what the lock protects if it is free.
    TryLock,
    /// Makes a node and publishes it.
    Publish(Ordering),
    /// Reads the cell of the node that is published and adds 1 to its count.
    Consume(Ordering),
    /// With the shared `Arc`: writes or reads its cell, drops the reference, or writes if it is the
    /// only one.
    ArcWrite,
    ArcRead,
    ArcDrop,
    ArcGetMut,
    ArcUnwrap,
}

/// What a thread does; at its end, by a destructor, it adds 1 to some atomics.
#[derive(Clone, Debug, Default)]
struct Body {
    ops: Vec<Op>,
    at_end: Vec<usize>,
    /// It ends by a panic, with the lock if it has it.
    panics: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Vector,
    Arcs,
}

#[derive(Clone, Debug)]
struct Program {
    place: Place,
    threads: Vec<Body>,
}

/// What each thread has seen and whether it panicked, and the values at the end.
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

/// An ordering as far as a load can have it, or a store.
fn for_load(order: Ordering) -> Ordering {
    match order {
        Ordering::AcqRel => Ordering::Acquire,
        Ordering::Release => Ordering::Relaxed,
        other => other,
    }
}

fn for_store(order: Ordering) -> Ordering {
    match order {
        Ordering::AcqRel => Ordering::Release,
        Ordering::Acquire => Ordering::Relaxed,
        other => other,
    }
}

mod machine;
mod planted;

use machine::{Machine, Verdict};

/// A node on the heap; never freed, since threads may come late.
struct Node {
    value: UnsafeCell<u32>,
    count: AtomicU32,
}

/// What lies in the shared `Arc`, and writes its cell at its end.
struct Slot(UnsafeCell<u32>);

// SAFETY: whether this is right is what is asked.
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
struct Shared {
    vector: Arc<Vec<AtomicU32>>,
    arcs: Vec<Arc<AtomicU32>>,
    place: Place,
    lock: Arc<Mutex<u32>>,
    published: Arc<AtomicPtr<Node>>,
}

impl Shared {
    fn new(place: Place) -> Self {
        Self {
            vector: Arc::new((0..ATOMICS).map(|_| AtomicU32::new(0)).collect()),
            arcs: (0..ATOMICS).map(|_| Arc::new(AtomicU32::new(0))).collect(),
            place,
            lock: Arc::new(Mutex::new(0)),
            published: Arc::new(AtomicPtr::new(null_mut())),
        }
    }

    fn atomic(&self, x: usize) -> &AtomicU32 {
        match self.place {
            Place::Vector => &self.vector[x],
            Place::Arcs => &self.arcs[x],
        }
    }

    fn lock(&self, log: &mut Vec<u32>) -> MutexGuard<'_, u32> {
        let result = self.lock.lock();
        let poisoned = result.is_err();
        let mut guard = result.unwrap_or_else(PoisonError::into_inner);
        *guard += 1;
        log.push(*guard + 10 * u32::from(poisoned));
        guard
    }

    /// Runs an operation that leaves no guard.
    #[allow(unsafe_code)]
    fn run(&self, op: Op, slot: &mut Option<Arc<Slot>>, log: &mut Vec<u32>) {
        match op {
            Op::Load(x, order) => log.push(self.atomic(x).load(for_load(order))),
            Op::Store(x, value, order) => self.atomic(x).store(value, for_store(order)),
            Op::Add(x, order) => log.push(self.atomic(x).fetch_add(1, order)),
            Op::Exchange(x, new, order) => {
                let failure = for_load(order);
                let result = self.atomic(x).compare_exchange(0, new, order, failure);
                log.push(result.unwrap_or_else(|old| 100 + old));
            }
            Op::TryLock => {
                let (guard, poisoned) = match self.lock.try_lock() {
                    Ok(guard) => (Some(guard), false),
                    Err(mazurka_rt::sync::TryLockError::Poisoned(error)) => {
                        (Some(error.into_inner()), true)
                    }
                    Err(mazurka_rt::sync::TryLockError::WouldBlock) => (None, false),
                };
                match guard {
                    Some(mut guard) => {
                        *guard += 1;
                        log.push(*guard + 10 * u32::from(poisoned));
                    }
                    None => log.push(HELD),
                }
            }
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
                        // SAFETY: whether this is right is what is asked.
                        assert_eq!(node.value.with(|p| unsafe { *p }), 7);
                        log.push(node.count.fetch_add(1, Ordering::SeqCst));
                    }
                    None => log.push(98),
                }
            }
            Op::ArcWrite => slot.iter().for_each(|slot| slot.write()),
            Op::ArcRead => slot.iter().for_each(|slot| {
                slot.0.with(|_| ());
            }),
            Op::ArcDrop => *slot = None,
            Op::ArcGetMut => {
                if let Some(slot) = slot.as_mut().and_then(Arc::get_mut) {
                    *slot.0.get_mut() += 1;
                }
            }
            Op::ArcUnwrap => *slot = slot.take().and_then(|slot| Arc::try_unwrap(slot).err()),
            Op::Lock | Op::Unlock => unreachable!("they leave a guard"),
        }
    }
}

/// The destructor of a thread: what it had of the shared `Arc` goes after it.
struct AtEnd {
    shared: Shared,
    adds: Vec<usize>,
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        for &x in &self.adds {
            self.shared.atomic(x).fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn thread_of(body: &Body, shared: Shared, slot: Arc<Slot>, log: &std::sync::Mutex<Vec<u32>>) {
    let mut slot = Some(slot);
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
            op => shared.run(op, &mut slot, &mut seen),
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
    let shared = Shared::new(program.place);
    let slot = Arc::new(Slot(UnsafeCell::new(0)));
    let logs: Vec<std::sync::Arc<std::sync::Mutex<Vec<u32>>>> =
        program.threads.iter().map(|_| Default::default()).collect();
    let mut handles = Vec::new();
    for (body, log) in program.threads.iter().zip(&logs) {
        let (body, log) = (body.clone(), log.clone());
        let (shared, slot) = (shared.clone(), slot.clone());
        handles.push(thread::spawn(move || thread_of(&body, shared, slot, &log)));
    }
    drop(slot);
    let ends: Vec<bool> = handles.into_iter().map(|one| one.join().is_err()).collect();
    let logs = logs
        .iter()
        .map(|log| log.lock().unwrap_or_else(PoisonError::into_inner).clone());
    let mut values: Vec<u32> = (0..ATOMICS)
        .map(|x| shared.atomic(x).load(Ordering::SeqCst))
        .collect();
    values.push(*shared.lock.lock().unwrap_or_else(PoisonError::into_inner));
    (logs.zip(ends).collect(), values)
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn order(&mut self) -> Ordering {
        use Ordering::{AcqRel, Relaxed, SeqCst};
        [SeqCst, SeqCst, AcqRel, Relaxed][self.below(4)]
    }
}

/// Each kind of program has its own operations, so that they have something to do with each other.
fn op(random: &mut Random, kind: usize) -> Op {
    let (x, value) = (random.below(ATOMICS), 1 + random.below(2) as u32);
    let order = random.order();
    match (kind, random.below(5)) {
        (1, 0 | 1) => Op::Publish(order),
        (1, 2 | 3) => Op::Consume(order),
        (2, 0) => Op::ArcWrite,
        (2, 1) => Op::ArcDrop,
        (2, 2) => [Op::ArcGetMut, Op::ArcUnwrap, Op::ArcRead][random.below(3)],
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
    // Which references are left when a thread asks for the value is not explored, so that what it
    // does with its own reference afterwards must not depend on the answer.
    let asks = |op: &Op| matches!(op, Op::ArcGetMut | Op::ArcUnwrap);
    let after = ops.iter().position(asks).map_or(ops.len(), |at| at + 1);
    for op in &mut ops[after..] {
        if asks(op) || matches!(op, Op::ArcWrite | Op::ArcRead) {
            *op = Op::ArcDrop;
        }
    }
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
        place: [Place::Vector, Place::Arcs][random.below(2)],
        threads: (0..threads).map(|_| body(random, kind, most)).collect(),
    }
}

/// What the model finds in a program.
struct Found {
    results: BTreeSet<Outcome>,
    race: bool,
    deadlock: bool,
}

/// What the interpreter says; none if it is too much to run.
fn expected(machine: Machine) -> Option<Verdict> {
    let mut expected = Verdict::default();
    machine.explore(&mut expected, 20_000).then_some(expected)
}

/// What the crate says; none if it is too much to run. The error is that of a search that fails.
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
        Ok(found) if !found.bounds.is_empty() => None,
        Ok(found) => Some(Ok(Found {
            race: found.failures > 0,
            deadlock: found.deadlocks > 0,
            results: found.results.into_iter().collect(),
        })),
        Err(error) => {
            let message = error
                .downcast::<String>()
                .map_or_else(|_| "?".into(), |text| *text);
            Some(Err(message))
        }
    }
}

/// What the two disagree about. If they agree: whether there is a race.
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

/// What the crate and the interpreter disagree about; none if it is too much to run.
fn disagreement(program: &Program) -> Option<Result<bool, String>> {
    let expected = expected(Machine::new(program))?;
    Some(compare(&expected, found(program, Memory::Sc)?))
}

/// What is missing under C++20's orderings, which allow all that sequential consistency does; none
/// if it is too much to run, or refused.
fn missing(program: &Program) -> Option<Result<bool, String>> {
    let expected = expected(Machine::new(program))?;
    let found = match found(program, Memory::Rc11)? {
        Ok(found) => found,
        Err(message) if message.contains("cannot be explored") => return None,
        Err(message) => return Some(Err(format!("the search fails: {message}"))),
    };
    let missed = expected.outcomes.difference(&found.results).count();
    Some(match found.race {
        true => Ok(true),
        false if found.deadlock => Err("a deadlock".into()),
        false if expected.race => Err("a race was missed".into()),
        false if missed > 0 => Err(format!("{missed} results were missed")),
        false => Ok(false),
    })
}

/// Removes operations as long as the rest is still wrong.
fn least(
    mut program: Program,
    mut how: String,
    disagreement: impl Fn(&Program) -> Option<Result<bool, String>>,
) -> (Program, String) {
    'smaller: loop {
        for thread in 0..program.threads.len() {
            for op in 0..program.threads[thread].ops.len() {
                let mut less = program.clone();
                let removed = less.threads[thread].ops.remove(op);
                if matches!(removed, Op::Lock | Op::Unlock) {
                    continue;
                }
                if let Some(Err(still)) = disagreement(&less) {
                    (program, how) = (less, still);
                    continue 'smaller;
                }
            }
        }
        return (program, how);
    }
}

/// The program of this number.
fn numbered(seed: u64, number: u64) -> Program {
    let mut random = Random((seed << 32 | number) * 2 + 1);
    for _ in 0..8 {
        random.below(2);
    }
    program(&mut random)
}

/// How many programs CI looks at.
const SLICE: u64 = 300;

fn hunt(seed: u64, programs: u64, disagreement: impl Fn(&Program) -> Option<Result<bool, String>>) {
    let (mut compared, mut races) = (0, 0);
    for number in 0..programs {
        let program = numbered(seed, number);
        match disagreement(&program) {
            None => {}
            Some(Ok(race)) => (compared, races) = (compared + 1, races + u64::from(race)),
            Some(Err(how)) => {
                let (program, how) = least(program, how, &disagreement);
                panic!("seed {seed}, program {number}: {program:#?}\n{how}");
            }
        }
    }
    println!("seed {seed}: {programs} programs, {compared} compared, {races} with a race");
    assert!(compared * 2 > programs && races * 100 > programs);
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn a_slice() {
    hunt(1, SLICE, disagreement);
}

#[test]
fn a_slice_under_rc11() {
    hunt(2, SLICE, missing);
}

/// As many as are asked for.
#[test]
#[ignore = "long: MAZURKA_PROGRAMS and MAZURKA_SEED say how many and which"]
fn many() {
    let seed = variable("MAZURKA_SEED").unwrap_or(1);
    let programs = variable("MAZURKA_PROGRAMS").unwrap_or(5000);
    hunt(seed, programs, disagreement);
    hunt(seed, programs, missing);
}
