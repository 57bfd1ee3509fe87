//! Small programs for tests and examples: lists of instructions over registers.
//!
//! Message passing: the reader may see the flag and miss the message:
//!
//! ```
//! use mazurka_core::Limits;
//! use mazurka_memory::litmus::{Litmus, load, r, store, when};
//! use mazurka_memory::{Memory, MemoryOrder, explore};
//!
//! let passing = |store_flag, load_flag| {
//!     let relaxed = MemoryOrder::Relaxed;
//!     let mut reader = vec![load(0, 1, load_flag)];
//!     reader.extend(when(r(0).equals(1), [load(1, 0, relaxed)]));
//!     Litmus::new([vec![store(0, 7, relaxed), store(1, 1, store_flag)], reader])
//! };
//! let count = |program| explore(program, Memory::Rc11, &Limits::default()).counts.complete;
//! assert_eq!(count(passing(MemoryOrder::Relaxed, MemoryOrder::Relaxed)), 3);
//! assert_eq!(count(passing(MemoryOrder::Release, MemoryOrder::Acquire)), 2);
//! ```

use crate::program::{Action, Decision, Effect, Loc, MemoryOrder, Program, ThreadId, Value};

/// Number of registers of a thread.
pub const REGISTERS: usize = 6;

/// A register of a thread.
pub type Register = usize;

/// The sum of a number and up to two registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    number: Value,
    registers: [Option<Register>; 2],
}

impl From<Value> for Sum {
    fn from(number: Value) -> Self {
        let registers = [None; 2];
        Self { number, registers }
    }
}

/// Returns the value of a register.
pub fn r(register: Register) -> Sum {
    Sum {
        number: 0,
        registers: [Some(register), None],
    }
}

impl Sum {
    /// Adds a number.
    pub fn plus(self, number: Value) -> Self {
        Self {
            number: self.number + number,
            ..self
        }
    }

    /// Adds a register, as the second one of the sum.
    pub fn plus_register(self, register: Register) -> Self {
        Self {
            registers: [self.registers[0], Some(register)],
            ..self
        }
    }

    /// Returns the condition that it is equal to a value.
    pub fn equals(self, other: impl Into<Sum>) -> Condition {
        Condition(self, Comparison::Equal, other.into())
    }

    /// Returns the condition that it differs from a value.
    pub fn differs(self, other: impl Into<Sum>) -> Condition {
        Condition(self, Comparison::Unequal, other.into())
    }

    /// Returns the condition that it is greater than a value.
    pub fn exceeds(self, other: impl Into<Sum>) -> Condition {
        Condition(self, Comparison::Greater, other.into())
    }

    fn evaluate(self, registers: &[Value; REGISTERS]) -> Value {
        let values = self.registers.iter().flatten().map(|&at| registers[at]);
        values.fold(self.number, Value::wrapping_add)
    }
}

/// How values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They are equal.
    Equal,
    /// They differ.
    Unequal,
    /// The first is greater.
    Greater,
}

impl Comparison {
    fn holds(self, left: Value, right: Value) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Unequal => left != right,
            Self::Greater => left > right,
        }
    }
}

/// A condition over registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition(Sum, Comparison, Sum);

impl Condition {
    fn evaluate(self, registers: &[Value; REGISTERS]) -> bool {
        self.1
            .holds(self.0.evaluate(registers), self.2.evaluate(registers))
    }
}

/// A location, or an element of an array if there is an index register, whose value is added to the
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    base: u32,
    index: Option<Register>,
}

impl From<u32> for Place {
    fn from(base: u32) -> Self {
        Self { base, index: None }
    }
}

/// Returns the element of the array at `base` that a register selects.
pub fn element(base: u32, index: Register) -> Place {
    Place {
        base,
        index: Some(index),
    }
}

impl Place {
    fn evaluate(self, registers: &[Value; REGISTERS]) -> Loc {
        let index = self.index.map_or(0, |at| registers[at]);
        Loc((i64::from(self.base) + index) as u32)
    }
}

/// The effect of an update on its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Adds this to the value.
    Add(Sum),
    /// Replaces the value.
    Swap(Sum),
    /// Replaces the value by the second one if it equals the first, and otherwise writes nothing.
    Exchange(Sum, Sum),
    /// Adds this to the value; waits while the value is the given one.
    AddUnless(Value, Sum),
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Reads into a register.
    Load(Register, Place, MemoryOrder),
    /// Writes.
    Store(Place, Sum, MemoryOrder),
    /// Updates, with the orders of success and failure; the register gets the value read.
    Update(Register, Place, Change, MemoryOrder, MemoryOrder),
    /// Waits until the value read satisfies the comparison.
    Await(Register, Place, Comparison, Sum, MemoryOrder),
    /// A fence.
    Fence(MemoryOrder),
    /// Acquires a lock.
    Lock(Loc),
    /// Releases a lock.
    Unlock(Loc),
    /// Starts a thread.
    Spawn(ThreadId),
    /// Waits for the end of a thread.
    Join(ThreadId),
    /// Chooses a number below the given one, for the register.
    Choose(Register, u32),
    /// Decides a question about a number below 8 that no thread knows; the register gets the
    /// answer. The questions 0, 1 and 2 ask for one bit of the number, other questions for two
    /// bits.
    Decide(Register, u32),
    /// Sets a register.
    Set(Register, Sum),
    /// Discards the execution unless the condition holds.
    Assume(Condition),
    /// Fails with this number unless the condition holds.
    Assert(Condition, u32),
    /// Skips this many instructions (or goes back, if negative) unless the condition holds.
    SkipUnless(Condition, isize),
}

/// `register = place.load(order)`
pub fn load(register: Register, place: impl Into<Place>, order: MemoryOrder) -> Instruction {
    Instruction::Load(register, place.into(), order)
}

/// `place.store(value, order)`
pub fn store(place: impl Into<Place>, value: impl Into<Sum>, order: MemoryOrder) -> Instruction {
    Instruction::Store(place.into(), value.into(), order)
}

/// `register = place.fetch_add(value, order)`
pub fn fetch_add(
    register: Register,
    place: impl Into<Place>,
    value: impl Into<Sum>,
    order: MemoryOrder,
) -> Instruction {
    let change = Change::Add(value.into());
    Instruction::Update(register, place.into(), change, order, order)
}

/// `register = place.swap(value, order)`
pub fn swap(
    register: Register,
    place: impl Into<Place>,
    value: impl Into<Sum>,
    order: MemoryOrder,
) -> Instruction {
    let change = Change::Swap(value.into());
    Instruction::Update(register, place.into(), change, order, order)
}

/// `register = place.compare_exchange(old, new, order, failure)`; the register gets the value read.
pub fn compare_exchange(
    register: Register,
    place: impl Into<Place>,
    (old, new): (impl Into<Sum>, impl Into<Sum>),
    (order, failure): (MemoryOrder, MemoryOrder),
) -> Instruction {
    let change = Change::Exchange(old.into(), new.into());
    Instruction::Update(register, place.into(), change, order, failure)
}

/// Waits until the value of the place is this one.
pub fn await_equal(place: impl Into<Place>, value: Value, order: MemoryOrder) -> Instruction {
    let comparison = Comparison::Equal;
    Instruction::Await(0, place.into(), comparison, value.into(), order)
}

/// Waits until the value of the place is another one.
pub fn await_unequal(place: impl Into<Place>, value: Value, order: MemoryOrder) -> Instruction {
    let comparison = Comparison::Unequal;
    Instruction::Await(0, place.into(), comparison, value.into(), order)
}

/// `fence(order)`
pub fn fence(order: MemoryOrder) -> Instruction {
    Instruction::Fence(order)
}

/// `lock.lock()`
pub fn lock(lock: u32) -> Instruction {
    Instruction::Lock(Loc(lock))
}

/// `lock.unlock()`
pub fn unlock(lock: u32) -> Instruction {
    Instruction::Unlock(Loc(lock))
}

/// Starts a thread.
pub fn spawn(thread: u32) -> Instruction {
    Instruction::Spawn(ThreadId(thread))
}

/// Waits for the end of a thread.
pub fn join(thread: u32) -> Instruction {
    Instruction::Join(ThreadId(thread))
}

/// Returns instructions that are run only if the condition holds.
pub fn when(
    condition: Condition,
    instructions: impl IntoIterator<Item = Instruction>,
) -> Vec<Instruction> {
    let mut block = vec![Instruction::SkipUnless(condition, 0)];
    block.extend(instructions);
    block[0] = Instruction::SkipUnless(condition, block.len() as isize - 1);
    block
}

/// Exclusive upper bound of the unknown number.
const UNKNOWN: u32 = 8;

/// Returns the outcome of a question about an unknown number. The questions 0, 1 and 2 ask for one
/// bit of it, other questions for two bits.
fn decided(question: u32, number: u32) -> Value {
    let mask = if question < 3 { 1 } else { 3 };
    Value::from(number >> (question % 3) & mask)
}

/// The position of a thread, and its registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Point {
    at: usize,
    registers: [Value; REGISTERS],
}

/// A program of instructions. For each thread, it stores the position and the registers after each
/// answer.
#[derive(Clone, Debug)]
pub struct Litmus {
    code: Vec<Vec<Instruction>>,
    started: u32,
    points: Vec<Vec<Point>>,
    initial: Vec<(Loc, Value)>,
}

impl Litmus {
    /// Makes a program whose threads all run from the start.
    pub fn new(code: impl IntoIterator<Item = Vec<Instruction>>) -> Self {
        let code: Vec<_> = code.into_iter().collect();
        let mut program = Self {
            started: code.len() as u32,
            points: vec![vec![Point::default()]; code.len()],
            code,
            initial: Vec::new(),
        };
        for thread in 0..program.code.len() {
            program.run_locally(thread);
        }
        program
    }

    /// Makes only the first `started` threads run from the start; the others are spawned.
    pub fn starting(self, started: u32) -> Self {
        Self { started, ..self }
    }

    /// Sets the initial value of a location.
    pub fn with_initial(mut self, loc: u32, value: Value) -> Self {
        self.initial.push((Loc(loc), value));
        self
    }

    /// Returns the instructions of the threads.
    pub fn code(&self) -> &[Vec<Instruction>] {
        &self.code
    }

    /// Returns the current value of a thread's register.
    pub fn register(&self, thread: usize, register: Register) -> Value {
        let points = &self.points[thread];
        points[points.len() - 1].registers[register]
    }

    fn point(&self, thread: ThreadId) -> &Point {
        let points = &self.points[thread.index()];
        &points[points.len() - 1]
    }

    fn instruction(&self, thread: ThreadId) -> Option<Instruction> {
        let code = &self.code[thread.index()];
        code.get(self.point(thread).at).copied()
    }

    /// Runs a thread to its next action.
    fn run_locally(&mut self, thread: usize) {
        let point = self.points[thread].last_mut().expect("a point");
        while let Some(&instruction) = self.code[thread].get(point.at) {
            match instruction {
                Instruction::Set(register, value) => {
                    point.registers[register] = value.evaluate(&point.registers);
                    point.at += 1;
                }
                Instruction::SkipUnless(condition, by) => {
                    point.at += 1;
                    if !condition.evaluate(&point.registers) {
                        point.at = point.at.wrapping_add_signed(by);
                    }
                }
                Instruction::Assume(condition) | Instruction::Assert(condition, _)
                    if condition.evaluate(&point.registers) =>
                {
                    point.at += 1;
                }
                _ => return,
            }
        }
    }
}

impl Program for Litmus {
    const INDEPENDENT: bool = true;

    fn initial_threads(&self) -> u32 {
        self.started
    }

    fn initial_value(&self, loc: Loc) -> Value {
        let mut initial = self.initial.iter();
        let found = initial.find(|(place, _)| *place == loc);
        found.map_or(0, |(_, value)| *value)
    }

    fn pending(&mut self, thread: ThreadId) -> Action {
        let registers = &self.point(thread).registers;
        let Some(instruction) = self.instruction(thread) else {
            return Action::End;
        };
        match instruction {
            Instruction::Load(_, place, order) => Action::Read {
                loc: place.evaluate(registers),
                order,
            },
            Instruction::Store(place, value, order) => Action::Write {
                loc: place.evaluate(registers),
                order,
                value: value.evaluate(registers),
            },
            Instruction::Update(_, place, _, order, failure) => Action::Update {
                loc: place.evaluate(registers),
                order,
                failure,
            },
            Instruction::Await(_, place, _, _, order) => Action::Await {
                loc: place.evaluate(registers),
                order,
            },
            Instruction::Fence(order) => Action::Fence { order },
            Instruction::Lock(loc) => Action::Lock { loc },
            Instruction::Unlock(loc) => Action::Unlock { loc },
            Instruction::Spawn(child) => Action::Spawn { child },
            Instruction::Join(child) => Action::Join { child },
            Instruction::Choose(_, outcomes) => Action::Choice { outcomes },
            Instruction::Decide(_, question) => Action::Decide { question },
            Instruction::Assume(_) => Action::Discard,
            Instruction::Assert(_, code) => Action::Fail(code),
            Instruction::Set(..) | Instruction::SkipUnless(..) => {
                unreachable!("a thread rests at its actions only")
            }
        }
    }

    fn modify(&mut self, thread: ThreadId, read: Value) -> Effect {
        let registers = &self.point(thread).registers;
        match self.instruction(thread) {
            Some(Instruction::Update(_, _, change, ..)) => match change {
                Change::Add(sum) => Effect::Write(read.wrapping_add(sum.evaluate(registers))),
                Change::Swap(value) => Effect::Write(value.evaluate(registers)),
                Change::Exchange(old, new) if old.evaluate(registers) == read => {
                    Effect::Write(new.evaluate(registers))
                }
                Change::Exchange(..) => Effect::Keep,
                Change::AddUnless(value, _) if value == read => Effect::Wait,
                Change::AddUnless(_, sum) => {
                    Effect::Write(read.wrapping_add(sum.evaluate(registers)))
                }
            },
            Some(Instruction::Await(_, _, comparison, value, _)) => {
                if comparison.holds(read, value.evaluate(registers)) {
                    Effect::Keep
                } else {
                    Effect::Wait
                }
            }
            other => unreachable!("{other:?} modifies nothing"),
        }
    }

    fn decide(&mut self, made: &[Decision], question: u32, after: Option<Value>) -> Option<Value> {
        let possible = |number: &u32| {
            let mut made = made.iter();
            made.all(|it| decided(it.question, *number) == it.outcome)
        };
        let outcomes = (0..UNKNOWN).filter(possible);
        let outcomes = outcomes.map(|number| decided(question, number));
        outcomes
            .filter(|&outcome| after.is_none_or(|after| outcome > after))
            .min()
    }

    fn answer(&mut self, thread: ThreadId, value: Value) {
        let mut point = *self.point(thread);
        let read = match self.code[thread.index()][point.at] {
            Instruction::Load(register, ..)
            | Instruction::Update(register, ..)
            | Instruction::Await(register, ..)
            | Instruction::Choose(register, _)
            | Instruction::Decide(register, _) => Some(register),
            _ => None,
        };
        if let Some(register) = read {
            point.registers[register] = value;
        }
        point.at += 1;
        self.points[thread.index()].push(point);
        self.run_locally(thread.index());
    }

    fn rewind(&mut self, answers: &mut [u32]) {
        for (points, &answers) in self.points.iter_mut().zip(&*answers) {
            points.truncate(answers as usize + 1);
        }
    }
}
