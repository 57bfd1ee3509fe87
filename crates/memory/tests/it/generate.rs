//! Random small programs, and how to shrink them.

use mazurka_core::Random;
use mazurka_memory::MemoryOrder::{self, AcqRel, Acquire, Plain, Relaxed, Release, SeqCst};
use mazurka_memory::litmus::*;

/// The first location that is used for locks. No other access uses these locations.
const LOCKS: u32 = 4;

/// The features that a random program may have. A program has only a few features, so that it uses
/// each of them often.
struct Features {
    locations: u64,
    registers: u64,
    fences: bool,
    updates: bool,
    exchanges: bool,
    locks: bool,
    awaits: bool,
    choices: bool,
    decisions: bool,
    branches: bool,
    checks: bool,
    /// Many seq_cst accesses.
    sc: bool,
    /// Mostly relaxed accesses.
    relaxed: bool,
    plain: bool,
}

/// The blocks of instructions of each thread, and the number of threads that run from the start;
/// another thread starts the rest.
#[derive(Clone, Debug)]
pub struct Sketch {
    pub threads: Vec<Vec<Vec<Instruction>>>,
    pub started: usize,
}

impl Sketch {
    pub fn program(&self) -> Litmus {
        let code = self.threads.iter().map(|blocks| blocks.concat());
        Litmus::new(code).starting(self.started as u32)
    }

    /// Returns the programs that have one block of instructions less, except those in which a
    /// thread then unlocks a lock that it does not hold.
    pub fn smaller(&self) -> impl Iterator<Item = Self> {
        let blocks = |thread: usize| (0..self.threads[thread].len()).map(move |at| (thread, at));
        let all = (0..self.threads.len()).flat_map(blocks);
        let all = all.map(|(thread, at)| {
            let mut smaller = self.clone();
            smaller.threads[thread].remove(at);
            smaller
        });
        all.filter(|smaller| smaller.threads.iter().all(|it| unlocks_its_own(it)))
    }
}

fn unlocks_its_own(blocks: &[Vec<Instruction>]) -> bool {
    let mut held = Vec::new();
    blocks
        .iter()
        .flatten()
        .all(|instruction| match instruction {
            Instruction::Lock(loc) => {
                held.push(*loc);
                true
            }
            Instruction::Unlock(loc) => {
                let at = held.iter().position(|other| other == loc);
                at.map(|at| held.remove(at)).is_some()
            }
            _ => true,
        })
}

/// Returns a random program.
pub fn sketch(random: &mut Random) -> Sketch {
    sketch_with(random, false)
}

/// Returns a random program that asks questions about an unknown number.
pub fn sketch_with_decisions(random: &mut Random) -> Sketch {
    sketch_with(random, true)
}

fn sketch_with(random: &mut Random, decisions: bool) -> Sketch {
    let mut flip = |n: u64| random.below(n) == 0;
    let features = Features {
        locations: if flip(3) { 1 } else { 2 },
        registers: 2,
        fences: flip(3),
        updates: flip(3),
        exchanges: flip(3),
        locks: flip(4),
        awaits: flip(4),
        choices: flip(6),
        decisions,
        branches: flip(4),
        checks: flip(5),
        sc: flip(3),
        relaxed: flip(3),
        plain: flip(8),
    };
    let spawns = flip(6);
    let (threads, length) = [(2, 4), (2, 3), (3, 3), (3, 2), (4, 2)][random.below(5) as usize];
    let mut generator = Generator { random, features };
    let thread = |generator: &mut Generator| {
        let length = 1 + generator.random.below(length);
        (0..length).flat_map(|_| generator.block()).collect()
    };
    let mut sketch = Sketch {
        threads: (0..threads).map(|_| thread(&mut generator)).collect(),
        started: threads,
    };
    if spawns {
        spawn_last(&mut sketch, random);
    }
    sketch
}

/// Makes the first thread start the last one, and sometimes wait for it.
fn spawn_last(sketch: &mut Sketch, random: &mut Random) {
    sketch.started -= 1;
    let child = sketch.started as u32;
    let first = &mut sketch.threads[0];
    let at = random.below(first.len() as u64 + 1) as usize;
    first.insert(at, vec![spawn(child)]);
    if random.below(2) == 0 {
        let rest = (first.len() - at) as u64;
        let at = at + 1 + random.below(rest) as usize;
        first.insert(at, vec![join(child)]);
    }
}

struct Generator<'a> {
    random: &'a mut Random,
    features: Features,
}

impl Generator<'_> {
    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.below(all.len() as u64) as usize]
    }

    fn flip(&mut self, n: u64) -> bool {
        self.random.below(n) == 0
    }

    fn order(&mut self, all: &[MemoryOrder]) -> MemoryOrder {
        if self.features.plain && self.flip(3) && !all.contains(&AcqRel) {
            return Plain;
        }
        if self.features.relaxed && all.contains(&Relaxed) && !self.flip(4) {
            return Relaxed;
        }
        if self.features.sc && self.flip(2) {
            SeqCst
        } else {
            self.one_of(all)
        }
    }

    fn register(&mut self) -> Register {
        self.random.below(self.features.registers) as Register
    }

    fn location(&mut self) -> u32 {
        self.random.below(self.features.locations) as u32
    }

    fn value(&mut self) -> Sum {
        match self.random.below(6) {
            0 => r(self.register()),
            1 => r(self.register()).plus(1),
            2 => Sum::from(0),
            _ => Sum::from(1 + self.random.below(2) as i64),
        }
    }

    fn condition(&mut self) -> Condition {
        let value = self.random.below(2) as i64;
        let register = r(self.register());
        if self.flip(2) {
            register.equals(value)
        } else {
            register.differs(value)
        }
    }

    /// Returns a block: the instructions of a statement or a critical section, which are removed
    /// together.
    fn block(&mut self) -> Vec<Vec<Instruction>> {
        let access = vec![self.access()];
        if self.features.branches && self.flip(3) {
            return vec![when(self.condition(), access)];
        }
        if self.features.checks && self.flip(4) {
            let condition = self.condition();
            let check = if self.flip(2) {
                Instruction::Assume(condition)
            } else {
                Instruction::Assert(condition, self.random.below(2) as u32)
            };
            return vec![access, vec![check]];
        }
        if self.features.locks && self.flip(2) {
            let mutex = LOCKS + self.random.below(2) as u32;
            let mut blocks = vec![vec![lock(mutex)]];
            if self.flip(2) {
                let other = LOCKS + LOCKS + 1 - mutex;
                if self.flip(2) {
                    blocks.extend([vec![lock(other)], vec![unlock(other)]]);
                } else {
                    blocks.push(access);
                }
            }
            if !self.flip(6) {
                blocks.push(vec![unlock(mutex)]);
            }
            if self.features.exchanges && self.flip(2) {
                return vec![self.try_lock(mutex, blocks.concat())];
            }
            return blocks;
        }
        vec![access]
    }

    /// Replaces the lock of a critical section by an attempt to lock.
    fn try_lock(&mut self, mutex: u32, mut block: Vec<Instruction>) -> Vec<Instruction> {
        const HELD: Register = 5;
        let attempt = compare_exchange(HELD, mutex, (0, 1), (Acquire, Relaxed));
        block.remove(0);
        [vec![attempt], when(r(HELD).equals(0), block)].concat()
    }

    fn access(&mut self) -> Instruction {
        let (register, location) = (self.register(), self.location());
        let features = &self.features;
        let mut sorts = vec![0, 0, 1, 1];
        sorts.extend(features.fences.then_some([2, 2]).iter().flatten());
        sorts.extend(features.updates.then_some(3));
        sorts.extend(features.exchanges.then_some(4));
        sorts.extend(features.awaits.then_some([5, 5, 7]).iter().flatten());
        sorts.extend(features.choices.then_some(6));
        sorts.extend(features.decisions.then_some([8, 8, 8]).iter().flatten());
        let all = [Relaxed, Acquire, Release, AcqRel, SeqCst];
        match self.one_of(&sorts) {
            0 => load(register, location, self.order(&[Relaxed, Acquire, SeqCst])),
            1 => {
                let value = self.value();
                store(location, value, self.order(&[Relaxed, Release, SeqCst]))
            }
            2 => fence(self.order(&all[1..])),
            3 => {
                if self.flip(2) {
                    fetch_add(register, location, 1, self.order(&all))
                } else {
                    swap(register, location, self.value(), self.order(&all))
                }
            }
            4 => {
                let old = self.random.below(3) as i64;
                let change = (old, self.value());
                let failure = self.one_of(&[Relaxed, Acquire, SeqCst]);
                let orders = (self.order(&all), failure);
                compare_exchange(register, location, change, orders)
            }
            5 => {
                let value = Sum::from(self.random.below(3) as i64);
                let comparison = self.one_of(&[Comparison::Equal, Comparison::Unequal]);
                let order = self.one_of(&[Relaxed, Acquire, SeqCst]);
                Instruction::Await(register, location.into(), comparison, value, order)
            }
            7 => {
                let (unless, by) = (self.random.below(3) as i64, self.random.below(3) as i64);
                let (change, order) =
                    (Change::AddUnless(unless, (by - 1).into()), self.order(&all));
                Instruction::Update(register, location.into(), change, order, Relaxed)
            }
            8 => Instruction::Decide(register, self.random.below(6) as u32),
            _ => Instruction::Choose(register, 2),
        }
    }
}
