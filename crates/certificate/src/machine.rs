//! A plain interpreter of the lowered program, written for clarity and not for speed.
//!
//! A process rests at a mark, a point of the code between two steps (`lang/src/code/mod.rs`). Its
//! step runs to the next mark that it does not *swallow*. A step swallows a mark if it continues
//! past the mark, for example inside an atomic block. The step runs on a copy of the state, which
//! is dropped if the step must wait.

use std::collections::HashMap;
use std::rc::Rc;

use mazurka_lang::flat::{Entry, Flat, Op, Range};

use crate::number::{self, Undefined};

/// The number of a process. Processes are numbered in the order in which they are started.
pub(crate) type Process = u32;

/// The life state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Life {
    Unborn,
    Alive,
    Ended,
    Failed,
    Discarded,
}

/// A process in a state. If it is not alive, all fields but `life` have default values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Thread {
    pub life: Life,
    /// The mark at which it rests.
    pub pc: u32,
    /// The number of children that it has started.
    children: u32,
    /// The first slot of the current frame.
    base: u32,
    /// For each call that has not returned, the return address and the first slot of the caller's
    /// frame.
    pub calls: Vec<(u32, u32)>,
    /// The slots of all frames.
    slots: Vec<i64>,
}

impl Thread {
    fn halted(life: Life) -> Self {
        Self {
            life,
            pc: 0,
            children: 0,
            base: 0,
            calls: Vec::new(),
            slots: Vec::new(),
        }
    }

    fn at(pc: u32, slots: Vec<i64>) -> Self {
        Self {
            pc,
            slots,
            ..Self::halted(Life::Alive)
        }
    }

    /// Returns the slots of the current frame.
    pub fn locals(&self) -> &[i64] {
        &self.slots[self.base as usize..]
    }
}

/// A state of the program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub cells: Vec<i64>,
    /// The processes. The state after a step shares the processes that the step has not changed.
    pub threads: Vec<Rc<Thread>>,
}

impl State {
    /// Returns the life state of a process.
    pub fn life(&self, process: Process) -> Life {
        let thread = self.threads.get(process as usize);
        thread.map_or(Life::Unborn, |thread| thread.life)
    }

    /// Returns the live processes.
    pub fn alive(&self) -> impl Iterator<Item = Process> {
        let all = 0..self.threads.len() as u32;
        all.filter(|&process| self.life(process) == Life::Alive)
    }
}

/// A failure or a false `assume` in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mishap {
    /// A failure of the program.
    Failure,
    /// A false `assume`.
    Discarded,
}

/// A value that a `choose` returned, and the range `first..end` that it was chosen from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub value: i64,
    pub first: i64,
    pub end: i64,
}

/// The effects of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct MadeStep {
    pub choices: Vec<Choice>,
    pub spawned: Vec<Process>,
    pub joined: Vec<Process>,
    pub mishaps: Vec<Mishap>,
    /// The locks that were acquired or released.
    pub locks: Vec<u32>,
    /// The cells that were written.
    written: Vec<u32>,
}

/// The reason why a step is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The step must wait.
    Waits,
    /// A given outcome does not exist.
    NoSuchOutcome,
    /// The checker cannot determine the effect of the step.
    Beyond(&'static str),
}

/// The reason why an instruction was not completed.
enum Halt {
    Obstacle(Obstacle),
    Mishap(Mishap),
}

impl From<Undefined> for Halt {
    fn from(undefined: Undefined) -> Self {
        match undefined {
            Undefined::DivisionByZero => Halt::Mishap(Mishap::Failure),
            Undefined::OutOfRange => {
                Halt::Obstacle(Obstacle::Beyond("an `int` leaves the range of 64 bits"))
            }
        }
    }
}

const FAILURE: Halt = Halt::Mishap(Mishap::Failure);
const NO_OPERAND: Halt = Halt::Obstacle(Obstacle::Beyond("an instruction lacks its operand"));

/// A program, and the numbers assigned to its processes so far.
pub(crate) struct Machine<'a> {
    pub flat: Flat<'a>,
    /// The number of each child process, by its parent and its index among the parent's children.
    table: HashMap<(Process, u32), Process>,
    /// For each cell, the indices of the invariants that read it.
    pub watching: Vec<Vec<u32>>,
    invariants: Vec<&'a [Op]>,
    /// The most jumps and calls in one step.
    most_jumps: u64,
}

impl<'a> Machine<'a> {
    pub fn new(flat: Flat<'a>, most_jumps: u64) -> Self {
        let invariants: Vec<_> = flat.invariants().collect();
        let mut watching = vec![Vec::new(); flat.initial.len()];
        for (number, condition) in invariants.iter().enumerate() {
            for op in *condition {
                let cells = match *op {
                    Op::Load(cell) => cell..cell + 1,
                    Op::LoadAt(range) => range.first..range.first + range.len,
                    _ => 0..0,
                };
                for cell in cells {
                    if !watching[cell as usize].contains(&(number as u32)) {
                        watching[cell as usize].push(number as u32);
                    }
                }
            }
        }
        Self {
            flat,
            table: HashMap::new(),
            watching,
            invariants,
            most_jumps,
        }
    }

    /// Does the local work of each process before its first step. Returns the initial state, which
    /// is the state after this work, and the mishaps of the work.
    pub fn start(&mut self) -> Result<(State, MadeStep), Obstacle> {
        let processes = self.flat.processes.iter();
        let slots = |entry: &Entry| vec![0; entry.frame as usize];
        let threads = processes.map(|entry| Rc::new(Thread::at(entry.pc, slots(entry))));
        let mut state = State {
            cells: self.flat.initial.to_vec(),
            threads: threads.collect(),
        };
        let mut made = MadeStep::default();
        for process in 0..state.threads.len() as u32 {
            let mut work = StepInProgress::new(self, &mut state, &mut made, &[]);
            work.run(process, false)?;
        }
        for number in 0..self.invariants.len() as u32 {
            self.check_invariant(number, &state, &mut made)?;
        }
        Ok((state, made))
    }

    /// Makes the step of a live process. If the step is impossible, `state` is meaningless
    /// afterwards, and no process gets a number.
    pub fn step(
        &mut self,
        state: &mut State,
        process: Process,
        outcomes: &[i64],
    ) -> Result<MadeStep, Obstacle> {
        let known = self.known_children();
        let made = self.try_step(state, process, outcomes);
        if made.is_err() {
            self.forget_children(known);
        }
        made
    }

    /// Returns the number of child processes that have numbers.
    pub fn known_children(&self) -> usize {
        self.table.len()
    }

    /// Removes the numbers of all but the first `known` children. The evidence numbers processes in
    /// the order of their starts, so steps that are only tried must not use up numbers.
    pub fn forget_children(&mut self, known: usize) {
        if self.table.len() > known {
            let next = (self.flat.processes.len() + known) as Process;
            self.table.retain(|_, number| *number < next);
        }
    }

    /// Makes a step. Keeps the process numbers that it has assigned, even if the step is
    /// impossible.
    fn try_step(
        &mut self,
        state: &mut State,
        process: Process,
        outcomes: &[i64],
    ) -> Result<MadeStep, Obstacle> {
        let thread = Rc::make_mut(&mut state.threads[process as usize]);
        let open = matches!(self.flat.ops[thread.pc as usize], Op::Open(_));
        thread.pc += 1;
        let mut made = MadeStep::default();
        let mut work = StepInProgress::new(self, state, &mut made, outcomes);
        work.run(process, open)?;
        if !work.given.is_empty() {
            return Err(Obstacle::NoSuchOutcome);
        }
        if !made.mishaps.contains(&Mishap::Discarded) {
            let written = std::mem::take(&mut made.written);
            let watched = written
                .iter()
                .flat_map(|&cell| &self.watching[cell as usize]);
            let mut watched: Vec<u32> = watched.copied().collect();
            watched.sort_unstable();
            watched.dedup();
            for number in watched {
                if !self.check_invariant(number, state, &mut made)? {
                    state.threads[process as usize] = Rc::new(Thread::halted(Life::Failed));
                }
            }
        }
        Ok(made)
    }

    /// Whether a live process can make its step.
    pub fn is_ready(&mut self, state: &State, process: Process) -> Result<bool, Obstacle> {
        match self.step(&mut state.clone(), process, &[]) {
            Ok(_) => Ok(true),
            Err(Obstacle::Waits) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Whether an invariant holds. If it does not, records a failure.
    fn check_invariant(
        &self,
        number: u32,
        state: &State,
        made: &mut MadeStep,
    ) -> Result<bool, Obstacle> {
        let holds = self.holds(self.invariants[number as usize], state)?;
        if !holds {
            made.mishaps.push(Mishap::Failure);
        }
        Ok(holds)
    }

    /// Whether a condition over cells holds. A condition without a value does not hold.
    pub fn holds(&self, condition: &[Op], state: &State) -> Result<bool, Obstacle> {
        let mut operands = Operands(Vec::new());
        let mut pc = 0;
        while pc < condition.len() {
            let op = condition[pc];
            pc += 1;
            let computed = match op {
                Op::Jump(to) => {
                    pc = to as usize;
                    Ok(())
                }
                Op::JumpIfFalse(to) => operands.pop().map(|value| {
                    if value == 0 {
                        pc = to as usize;
                    }
                }),
                op => operands.compute(op, &state.cells, &[]),
            };
            match computed {
                Ok(()) => {}
                Err(Halt::Mishap(_)) => return Ok(false),
                Err(Halt::Obstacle(obstacle)) => return Err(obstacle),
            }
        }
        match operands.pop() {
            Ok(value) => Ok(value != 0),
            Err(_) => Err(Obstacle::Beyond("a condition without a value")),
        }
    }

    fn child(&mut self, parent: Process, number: u32) -> Process {
        let next = (self.flat.processes.len() + self.table.len()) as Process;
        *self.table.entry((parent, number)).or_insert(next)
    }
}

/// The operand stack.
struct Operands(Vec<i64>);

/// Returns the cell or slot that an index selects.
fn selected(range: Range, index: i64) -> Result<u32, Halt> {
    let inside = u32::try_from(index).ok().filter(|&at| at < range.len);
    inside.map(|at| range.first + at).ok_or(FAILURE)
}

impl Operands {
    fn pop(&mut self) -> Result<i64, Halt> {
        self.0.pop().ok_or(NO_OPERAND)
    }

    /// Executes an instruction that only computes a value.
    fn compute(&mut self, op: Op, cells: &[i64], locals: &[i64]) -> Result<(), Halt> {
        let value = match op {
            Op::Const(value) => value,
            Op::Local(slot) => locals[slot as usize],
            Op::LocalAt(range) => locals[selected(range, self.pop()?)? as usize],
            Op::Load(cell) => cells[cell as usize],
            Op::LoadAt(range) => cells[selected(range, self.pop()?)? as usize],
            Op::Pick(len, _) => {
                let index = self.pop()?;
                let first = self.0.len().checked_sub(len as usize).ok_or(NO_OPERAND)?;
                let at = selected(Range { first: 0, len }, index)?;
                let value = self.0[first + at as usize];
                self.0.truncate(first);
                value
            }
            Op::Within(len) => selected(Range { first: 0, len }, self.pop()?)?.into(),
            Op::Not => i64::from(self.pop()? == 0),
            Op::Neg(ty) => number::negate(ty, self.pop()?)?,
            Op::Arith(op, ty) => {
                let (b, a) = (self.pop()?, self.pop()?);
                number::arith(op, ty, a, b)?
            }
            Op::Compare(op, unsigned) => {
                let (b, a) = (self.pop()?, self.pop()?);
                number::compare(op, unsigned, a, b).into()
            }
            Op::ArithLocals(op, ty, [a, b]) => {
                number::arith(op, ty, locals[a as usize], locals[b as usize])?
            }
            _ => {
                let unknown = "an instruction that this checker does not know";
                return Err(Halt::Obstacle(Obstacle::Beyond(unknown)));
            }
        };
        self.0.push(value);
        Ok(())
    }
}

/// A step in progress.
struct StepInProgress<'w, 'a, 'g> {
    machine: &'w mut Machine<'a>,
    state: &'w mut State,
    made: &'w mut MadeStep,
    /// The given outcomes that are not used yet.
    given: &'g [i64],
    jumps: u64,
}

/// The state that decides which marks a step swallows.
#[derive(Default)]
struct SwallowedMarks {
    /// Whether the step swallows the next mark.
    open: bool,
    /// Whether the step swallows all marks up to the end of a simple statement.
    merged: bool,
    /// The number of enclosing atomic blocks. Within them the step swallows all marks.
    atomic: u32,
}

impl SwallowedMarks {
    /// Whether a step continues after an instruction that delimits steps.
    fn passes(&mut self, op: Op) -> bool {
        let all = self.atomic > 0 || self.merged;
        match op {
            Op::Mark(_) => all || std::mem::take(&mut self.open),
            Op::Open(_) => all || self.open,
            Op::Close => {
                self.open = false;
                true
            }
            Op::BeginAtomic => {
                self.atomic += 1;
                true
            }
            Op::EndAtomic => {
                self.atomic = self.atomic.saturating_sub(1);
                true
            }
            Op::BeginSimple => {
                self.merged |= std::mem::take(&mut self.open);
                true
            }
            Op::EndSimple => {
                self.merged = false;
                true
            }
            _ => true,
        }
    }
}

impl<'w, 'a, 'g> StepInProgress<'w, 'a, 'g> {
    fn new(
        machine: &'w mut Machine<'a>,
        state: &'w mut State,
        made: &'w mut MadeStep,
        given: &'g [i64],
    ) -> Self {
        Self {
            machine,
            state,
            made,
            given,
            jumps: 0,
        }
    }

    /// Runs a process to its next mark, or until it halts. `open`: whether the step swallows its
    /// first mark.
    fn run(&mut self, process: Process, open: bool) -> Result<(), Obstacle> {
        let mut operands = Operands(Vec::new());
        let mut swallows = SwallowedMarks {
            open,
            ..SwallowedMarks::default()
        };
        let life = loop {
            match self.instruction(process, &mut operands, &mut swallows) {
                Ok(None) => {}
                Ok(Some(Life::Alive)) => return Ok(()),
                Ok(Some(life)) => break life,
                Err(Halt::Obstacle(obstacle)) => return Err(obstacle),
                Err(Halt::Mishap(mishap)) => {
                    self.made.mishaps.push(mishap);
                    break match mishap {
                        Mishap::Failure => Life::Failed,
                        Mishap::Discarded => Life::Discarded,
                    };
                }
            }
        };
        self.state.threads[process as usize] = Rc::new(Thread::halted(life));
        Ok(())
    }

    /// Executes one instruction. Returns the life state of the process if the process stops at it.
    fn instruction(
        &mut self,
        process: Process,
        operands: &mut Operands,
        swallows: &mut SwallowedMarks,
    ) -> Result<Option<Life>, Halt> {
        let thread = Rc::make_mut(&mut self.state.threads[process as usize]);
        let pc = thread.pc;
        let op = self.machine.flat.ops[pc as usize];
        if !swallows.passes(op) {
            return Ok(Some(Life::Alive));
        }
        thread.pc += 1;
        match op {
            Op::Mark(_)
            | Op::Open(_)
            | Op::Close
            | Op::BeginAtomic
            | Op::EndAtomic
            | Op::BeginSimple
            | Op::EndSimple => {}
            Op::Fetch { cell, slot } => {
                let value = self.state.cells[cell as usize];
                self.set_local(process, slot, value);
            }
            Op::Increment(slot, ty) => {
                let old = thread.locals()[slot as usize];
                let value = number::arith(mazurka_lang::flat::Arith::Add, ty, old, 1)?;
                self.set_local(process, slot, value);
            }
            Op::SetLocal(slot) => self.set_local(process, slot, operands.pop()?),
            Op::SetLocalAt(range) => {
                let (value, index) = (operands.pop()?, operands.pop()?);
                self.set_local(process, selected(range, index)?, value);
            }
            Op::Store(cell) => self.store(cell, operands.pop()?),
            Op::StoreAt(range) => {
                let (value, index) = (operands.pop()?, operands.pop()?);
                self.store(selected(range, index)?, value);
            }
            Op::Jump(to) => {
                self.jump()?;
                Rc::make_mut(&mut self.state.threads[process as usize]).pc = to;
            }
            Op::JumpIfFalse(to) => {
                if operands.pop()? == 0 {
                    thread.pc = to;
                }
            }
            Op::JumpUnlessLess {
                slots: [a, b],
                unsigned,
                to,
            } => {
                let locals = thread.locals();
                let (a, b) = (locals[a as usize], locals[b as usize]);
                if !number::compare(mazurka_lang::flat::Compare::Lt, unsigned, a, b) {
                    thread.pc = to;
                }
            }
            Op::Guard => {
                if operands.pop()? == 0 {
                    return Err(Halt::Obstacle(Obstacle::Waits));
                }
            }
            Op::Lock(cell) => self.lock(process, cell)?,
            Op::LockAt(range) => self.lock(process, selected(range, operands.pop()?)?)?,
            Op::Unlock(cell) => self.unlock(process, cell)?,
            Op::UnlockAt(range) => self.unlock(process, selected(range, operands.pop()?)?)?,
            Op::Choose => {
                let (end, first) = (operands.pop()?, operands.pop()?);
                operands.0.push(self.choose(first, end)?);
            }
            Op::SpawnBlock(entry) => {
                let slots = thread.locals().to_vec();
                operands.0.push(self.spawn(process, entry, slots)?);
            }
            Op::SpawnCall(procedure) => {
                let entry = self.machine.flat.procedures[procedure as usize];
                let first = operands.0.len().checked_sub(entry.params as usize);
                let mut slots = operands.0.split_off(first.ok_or(NO_OPERAND)?);
                slots.resize(entry.frame as usize, 0);
                operands.0.push(self.spawn(process, entry.pc, slots)?);
            }
            Op::Join => {
                let handle = operands.pop()?;
                self.join(handle as Process)?;
            }
            Op::JoinAll => {
                for number in 0..thread.children {
                    let child = self.machine.child(process, number);
                    self.join(child)?;
                }
            }
            Op::Call(procedure) => {
                self.jump()?;
                let entry = self.machine.flat.procedures[procedure as usize];
                let first = operands.0.len().checked_sub(entry.params as usize);
                let arguments = operands.0.split_off(first.ok_or(NO_OPERAND)?);
                let thread = Rc::make_mut(&mut self.state.threads[process as usize]);
                thread.calls.push((thread.pc, thread.base));
                thread.base = thread.slots.len() as u32;
                thread.slots.extend(arguments);
                let top = thread.base as usize + entry.frame as usize;
                thread.slots.resize(top, 0);
                thread.pc = entry.pc;
            }
            Op::Return => match thread.calls.pop() {
                Some((pc, base)) => {
                    thread.slots.truncate(thread.base as usize);
                    (thread.pc, thread.base) = (pc, base);
                }
                None => return Ok(Some(Life::Ended)),
            },
            Op::Drop => {
                operands.pop()?;
            }
            Op::Assert => {
                if operands.pop()? == 0 {
                    return Err(FAILURE);
                }
            }
            Op::Assume => {
                if operands.pop()? == 0 {
                    return Err(Halt::Mishap(Mishap::Discarded));
                }
            }
            Op::Limit(_) => {
                if operands.pop()? == 0 {
                    return Err(Halt::Obstacle(Obstacle::Beyond(
                        "a channel without a capacity has more messages than its limit",
                    )));
                }
            }
            Op::Error => return Err(FAILURE),
            Op::End => return Ok(Some(Life::Ended)),
            op => operands.compute(op, &self.state.cells, thread.locals())?,
        }
        Ok(None)
    }

    /// Counts a jump or a call. Every loop jumps and every recursion calls, so this bounds the
    /// work.
    fn jump(&mut self) -> Result<(), Halt> {
        self.jumps += 1;
        if self.jumps <= self.machine.most_jumps {
            Ok(())
        } else {
            Err(Halt::Obstacle(Obstacle::Beyond(
                "one step does more local work than the limit",
            )))
        }
    }

    fn set_local(&mut self, process: Process, slot: u32, value: i64) {
        let thread = Rc::make_mut(&mut self.state.threads[process as usize]);
        thread.slots[(thread.base + slot) as usize] = value;
    }

    fn store(&mut self, cell: u32, value: i64) {
        self.state.cells[cell as usize] = value;
        if !self.machine.watching[cell as usize].is_empty() {
            self.made.written.push(cell);
        }
    }

    /// Acquires a lock. Its cell holds the number of its holder plus 1, or 0 if it is free.
    fn lock(&mut self, process: Process, cell: u32) -> Result<(), Halt> {
        let lock = &mut self.state.cells[cell as usize];
        if *lock != 0 {
            return Err(Halt::Obstacle(Obstacle::Waits));
        }
        *lock = i64::from(process) + 1;
        self.made.locks.push(cell);
        Ok(())
    }

    fn unlock(&mut self, process: Process, cell: u32) -> Result<(), Halt> {
        let lock = &mut self.state.cells[cell as usize];
        if *lock != i64::from(process) + 1 {
            return Err(FAILURE);
        }
        *lock = 0;
        self.made.locks.push(cell);
        Ok(())
    }

    fn choose(&mut self, first: i64, end: i64) -> Result<i64, Halt> {
        if first >= end {
            return Err(FAILURE);
        }
        let value = match self.given.split_first() {
            Some((&value, rest)) => {
                self.given = rest;
                value
            }
            None => first,
        };
        if !(first..end).contains(&value) {
            return Err(Halt::Obstacle(Obstacle::NoSuchOutcome));
        }
        self.made.choices.push(Choice { value, first, end });
        Ok(value)
    }

    /// Starts a child process, which does its local work at once. Returns its handle.
    fn spawn(&mut self, parent: Process, pc: u32, slots: Vec<i64>) -> Result<i64, Halt> {
        let thread = Rc::make_mut(&mut self.state.threads[parent as usize]);
        let number = thread.children;
        thread.children += 1;
        let child = self.machine.child(parent, number);
        let threads = &mut self.state.threads;
        while threads.len() <= child as usize {
            threads.push(Rc::new(Thread::halted(Life::Unborn)));
        }
        threads[child as usize] = Rc::new(Thread::at(pc, slots));
        self.made.spawned.push(child);
        self.run(child, false).map_err(Halt::Obstacle)?;
        Ok(child.into())
    }

    fn join(&mut self, process: Process) -> Result<(), Halt> {
        if self.state.life(process) != Life::Ended {
            return Err(Halt::Obstacle(Obstacle::Waits));
        }
        if !self.made.joined.contains(&process) {
            self.made.joined.push(process);
        }
        Ok(())
    }
}
