//! Running one step.

use mazurka_core::{
    Access, AccessKind, Claims, Event, Mishap, MishapKind, Outcome, ProcessId, ProcessPath,
    ProcessTable, StepError,
};
use rustc_hash::FxHashMap;

use crate::code::{Arith, Code, Compare, Op, Range};
use crate::fault::{Fault, Site};
use crate::hir::Type;
use crate::numbers;
use crate::state::{Life, Process, Registers, State};

/// Why a step could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The process must wait; by this instruction.
    Blocked(u32),
    /// A given outcome is not possible.
    NoSuchOutcome,
}

impl From<Stop> for StepError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Blocked(_) => StepError::NotReady,
            Stop::NoSuchOutcome => StepError::NoSuchOutcome,
        }
    }
}

/// How to take a change back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Undo {
    Cell(u32, i64),
    Slot {
        process: u32,
        slot: u32,
        value: i64,
    },
    /// The process has called, returned or started somebody.
    Frame {
        process: u32,
        frame: u32,
        top: u32,
        children: u32,
    },
    /// The process has asked for inputs.
    Inputs {
        process: u32,
        inputs: u32,
    },
    Born(u32),
}

/// Hears of instructions as they run, to make labels. Exploring uses the deaf one.
pub(crate) trait Listener {
    /// Whether it listens at all.
    const LISTENS: bool;

    fn hear(&mut self, code: &Code, pc: u32, heard: Heard<'_>);
}

/// What a listener is told: the operand on top, the current frame, and how the step began.
pub(crate) struct Heard<'a> {
    pub operands: &'a [i64],
    pub locals: &'a [i64],
    pub cells: &'a [i64],
    pub open: bool,
    pub merged: bool,
}

/// Listens to nothing.
pub(crate) struct Deaf;

impl Listener for Deaf {
    const LISTENS: bool = false;

    fn hear(&mut self, _: &Code, _: u32, _: Heard<'_>) {}
}

/// What an input is called: by process and order, so that equivalent runs ask for the same.
pub(crate) fn input_name(process: &ProcessPath, number: u32) -> String {
    format!("{process}#{number}")
}

/// A step of which a part has been run: its mark, at least.
pub(crate) struct Half {
    pub r: Registers,
    /// Whether the mark was that of a guard.
    pub open: bool,
    /// What has gone wrong in it.
    pub fault: Option<Fault>,
}

/// All that a step works on.
pub(crate) struct Cpu<'a, L> {
    pub code: &'a Code,
    pub state: &'a mut State,
    pub table: &'a mut ProcessTable,
    pub undo: &'a mut Vec<Undo>,
    pub operands: &'a mut Vec<i64>,
    /// The invariants over what was written.
    pub dirty: &'a mut Vec<u32>,
    pub event: &'a mut Event,
    pub outcomes: &'a [i64],
    pub fuel: u64,
    /// The types of the inputs that were ever asked for, by process and number.
    pub asked: &'a mut FxHashMap<(ProcessId, u32), Type>,
    pub listener: &'a mut L,
}

impl<L: Listener> Cpu<'_, L> {
    /// Lets a process that has just been started run to its first mark.
    pub fn run(&mut self, process: ProcessId) -> Result<(), Stop> {
        let half = Half {
            r: self.state.processes[process.index()].registers,
            open: false,
            fault: None,
        };
        self.run_on(process, half)
    }

    /// Runs a process from the middle of a step to its next mark.
    pub fn run_on(&mut self, process: ProcessId, half: Half) -> Result<(), Stop> {
        let mut r = half.r;
        let halt = match half.fault {
            Some(fault) => Err(Halt::Fault(fault)),
            None => self.go(process, &mut r, half.open),
        };
        if let Err(Halt::Stop(stop)) = halt {
            return Err(stop);
        }
        if let Err(Halt::Fault(fault)) = halt {
            let kind = fault.kind();
            r.life = match kind {
                MishapKind::Failure => Life::Failed,
                MishapKind::Discarded => Life::Discarded,
                MishapKind::OutOfRange | MishapKind::LocalLimit | MishapKind::Undecided => {
                    Life::Lost
                }
            };
            self.event.mishaps.push(Mishap {
                process: Some(process),
                kind,
                site: Site::At { pc: r.pc, fault }.encode(),
            });
        }
        let Registers {
            frame,
            top,
            children,
            inputs,
            ..
        } = std::mem::replace(&mut self.state.processes[process.index()].registers, r);
        if inputs != r.inputs {
            let process = process.0;
            self.undo.push(Undo::Inputs { process, inputs });
        }
        if (frame, top, children) != (r.frame, r.top, r.children) {
            self.undo.push(Undo::Frame {
                process: process.0,
                frame,
                top,
                children,
            });
        }
        Ok(())
    }

    fn go(&mut self, process: ProcessId, r: &mut Registers, mut open: bool) -> Result<(), Halt> {
        let code = self.code;
        let mut merged = false;
        let mut atomic = 0;
        loop {
            let pc = r.pc;
            if L::LISTENS {
                let stack = &self.state.processes[process.index()].stack;
                let heard = Heard {
                    operands: self.operands,
                    locals: &stack[r.frame as usize..r.top as usize],
                    cells: &self.state.cells,
                    open,
                    merged,
                };
                self.listener.hear(code, pc, heard);
            }
            let mut next = r.pc;
            let again = self.work(process, r).run::<L>(&mut next);
            r.pc = next;
            if again? {
                continue;
            }
            let pc = r.pc;
            match code.ops[pc as usize] {
                Op::Mark(_) if atomic > 0 || merged => {}
                Op::Mark(_) if open => open = false,
                Op::Open(_) if atomic > 0 || merged || open => {}
                Op::Mark(_) | Op::Open(_) => return Ok(()),
                Op::Close => open = false,
                Op::BeginAtomic => atomic += 1,
                Op::EndAtomic => atomic -= 1,
                Op::BeginSimple => merged |= std::mem::take(&mut open),
                Op::EndSimple => merged = false,

                Op::Choose => {
                    let value = self.choose()?;
                    self.operands.push(value);
                }

                Op::Input(ty) => {
                    let value = self.input(process, r, ty);
                    self.operands.push(value);
                }
                Op::Guard => {
                    if self.pop() == 0 {
                        return Err(Halt::Stop(Stop::Blocked(pc)));
                    }
                }
                Op::Lock(cell) => self.lock(process, cell, pc)?,
                Op::LockAt(range) => {
                    let cell = self.select(range)?;
                    self.lock(process, cell, pc)?;
                }
                Op::Unlock(cell) => self.unlock(process, cell)?,
                Op::UnlockAt(range) => {
                    let cell = self.select(range)?;
                    self.unlock(process, cell)?;
                }
                Op::SpawnBlock(entry) => {
                    let child = self.born(process, r);
                    let frame = r.frame as usize..r.top as usize;
                    let mut stack = std::mem::take(&mut self.state.processes[child.index()].stack);
                    stack.extend_from_slice(&self.state.processes[process.index()].stack[frame]);
                    self.state.processes[child.index()].stack = stack;
                    self.start(child, entry)?;
                }
                Op::SpawnCall(procedure) => {
                    let entry = code.procedures[procedure as usize];
                    let child = self.born(process, r);
                    let first = self.operands.len() - entry.params as usize;
                    let stack = &mut self.state.processes[child.index()].stack;
                    stack.extend(self.operands.drain(first..));
                    stack.resize(entry.frame as usize, 0);
                    self.start(child, entry.pc)?;
                }
                Op::Join => {
                    let joined = ProcessId(self.pop() as u32);
                    self.join(joined, pc)?;
                }
                Op::JoinAll => {
                    for k in 0..r.children {
                        let child = self.table.child(process, k);
                        self.join(child, pc)?;
                    }
                }
                Op::Call(procedure) => {
                    self.fuel = self.fuel.checked_sub(1).ok_or(Fault::LocalLimit)?;
                    let entry = code.procedures[procedure as usize];
                    let frame = r.top + 2;
                    let top = frame + entry.frame;
                    let stack = &mut self.state.processes[process.index()].stack;
                    if stack.len() < top as usize {
                        stack.resize(top as usize, 0);
                    }
                    self.set_slot(process, r.top, i64::from(pc) + 1);
                    self.set_slot(process, r.top + 1, i64::from(r.frame));
                    for param in (0..entry.params).rev() {
                        let value = self.pop();
                        self.set_slot(process, frame + param, value);
                    }
                    r.frame = frame;
                    r.top = top;
                    r.pc = entry.pc;
                    continue;
                }
                // The body of a spawned procedure returns to nobody.
                Op::Return if r.frame == 0 => {
                    r.life = Life::Ended;
                    return Ok(());
                }
                Op::Return => {
                    let base = r.frame - 2;
                    let stack = &self.state.processes[process.index()].stack;
                    r.pc = stack[base as usize] as u32;
                    r.frame = stack[base as usize + 1] as u32;
                    for slot in base..r.top {
                        self.set_slot(process, slot, 0);
                    }
                    r.top = base;
                    continue;
                }
                Op::Drop => {
                    self.pop();
                }
                Op::Assert => {
                    if self.pop() == 0 {
                        return Err(Halt::Fault(Fault::Assertion));
                    }
                }
                Op::Assume => {
                    if self.pop() == 0 {
                        return Err(Halt::Fault(Fault::Assumption));
                    }
                }
                Op::Error => return Err(Halt::Fault(Fault::Error)),
                Op::End => {
                    r.life = Life::Ended;
                    return Ok(());
                }
                _ => unreachable!("computed above"),
            }
            r.pc = pc + 1;
        }
    }

    /// The next input of a process, as it was given; 0 if it was not.
    fn input(&mut self, process: ProcessId, r: &mut Registers, ty: Type) -> i64 {
        let number = r.inputs;
        r.inputs += 1;
        self.asked.insert((process, number), ty);
        let name = input_name(self.table.path(process), number);
        let given = self.code.inputs.get(&name).copied().unwrap_or(0);
        match ty {
            Type::Bool => i64::from(given != 0),
            _ => numbers::wrap(given, ty),
        }
    }

    fn work(&mut self, process: ProcessId, r: &Registers) -> Work<'_> {
        let stack = &mut self.state.processes[process.index()].stack;
        Work {
            code: self.code,
            cells: &mut self.state.cells,
            locals: &mut stack[r.frame as usize..r.top as usize],
            operands: self.operands,
            undo: self.undo,
            dirty: self.dirty,
            touched: &mut self.event.touched,
            fuel: &mut self.fuel,
            process: process.0,
            frame: r.frame,
        }
    }

    #[inline]
    fn pop(&mut self) -> i64 {
        // The compiler balances operands.
        self.operands.pop().unwrap_or(0)
    }

    #[inline]
    fn select(&mut self, range: Range) -> Result<u32, Fault> {
        select(range, self.pop())
    }

    #[inline]
    fn set_cell(&mut self, cell: u32, value: i64) {
        let old = std::mem::replace(&mut self.state.cells[cell as usize], value);
        self.undo.push(Undo::Cell(cell, old));
    }

    #[inline]
    fn set_slot(&mut self, process: ProcessId, slot: u32, value: i64) {
        let place = &mut self.state.processes[process.index()].stack[slot as usize];
        let old = std::mem::replace(place, value);
        self.undo.push(Undo::Slot {
            process: process.0,
            slot,
            value: old,
        });
    }

    fn choose(&mut self) -> Result<i64, Halt> {
        let end = self.pop();
        let first = self.pop();
        if first >= end {
            return Err(Halt::Fault(Fault::NothingToChoose));
        }
        let given = self.outcomes.get(self.event.outcomes.len()).copied();
        let value = given.unwrap_or(first);
        if !(first..end).contains(&value) {
            return Err(Halt::Stop(Stop::NoSuchOutcome));
        }
        self.event.outcomes.push(Outcome { value, end });
        Ok(value)
    }

    fn lock(&mut self, process: ProcessId, cell: u32, pc: u32) -> Result<(), Halt> {
        if self.state.cells[cell as usize] != 0 {
            return Err(Halt::Stop(Stop::Blocked(pc)));
        }
        self.event
            .touched
            .push(Access::new(AccessKind::Acquire, cell));
        self.set_cell(cell, i64::from(process.0) + 1);
        Ok(())
    }

    fn unlock(&mut self, process: ProcessId, cell: u32) -> Result<(), Fault> {
        if self.state.cells[cell as usize] != i64::from(process.0) + 1 {
            return Err(Fault::NotHeld);
        }
        self.event
            .touched
            .push(Access::new(AccessKind::Release, cell));
        self.set_cell(cell, 0);
        Ok(())
    }

    fn join(&mut self, process: ProcessId, pc: u32) -> Result<(), Halt> {
        if self.state.processes[process.index()].registers.life != Life::Ended {
            return Err(Halt::Stop(Stop::Blocked(pc)));
        }
        if !self.event.joined.contains(&process) {
            self.event.joined.push(process);
        }
        Ok(())
    }

    /// The next child of a process, with an empty stack.
    fn born(&mut self, parent: ProcessId, r: &mut Registers) -> ProcessId {
        let child = self.table.child(parent, r.children);
        r.children += 1;
        if self.state.processes.len() <= child.index() {
            let len = child.index() + 1;
            self.state.processes.resize_with(len, Process::unborn);
        }
        self.undo.push(Undo::Born(child.0));
        self.event.spawned.push(child);
        self.state.processes[child.index()].stack.clear();
        child
    }

    /// Lets a new process, whose stack holds its locals, do its local work; leaves its handle.
    fn start(&mut self, child: ProcessId, entry: u32) -> Result<(), Halt> {
        let process = &mut self.state.processes[child.index()];
        process.registers = Registers {
            pc: entry,
            frame: 0,
            top: process.stack.len() as u32,
            children: 0,
            inputs: 0,
            steps: 0,
            life: Life::Alive,
        };
        // Its operands lie above those of its parent.
        self.run(child).map_err(Halt::Stop)?;
        self.operands.push(i64::from(child.0));
        Ok(())
    }
}

/// What instructions that compute work on.
pub(crate) struct Work<'a> {
    pub code: &'a Code,
    pub cells: &'a mut [i64],
    pub locals: &'a mut [i64],
    pub operands: &'a mut Vec<i64>,
    pub undo: &'a mut Vec<Undo>,
    pub dirty: &'a mut Vec<u32>,
    pub touched: &'a mut Claims,
    pub fuel: &'a mut u64,
    pub process: u32,
    /// Where the locals start on the stack.
    pub frame: u32,
}

impl Work<'_> {
    /// Runs the instructions that compute, up to the next one that does more; just one if somebody
    /// listens. Most of the time is spent here. Says whether to go on from the start.
    #[inline(always)]
    pub fn run<L: Listener>(self, pc: &mut u32) -> Result<bool, Fault> {
        let Work {
            code,
            cells,
            locals,
            operands,
            undo,
            dirty,
            touched,
            fuel,
            process,
            frame,
        } = self;
        let ops = &code.ops[..];
        let watched = &code.watched[..];
        let set_local = |locals: &mut [i64], undo: &mut Vec<Undo>, slot: u32, value: i64| {
            let value = std::mem::replace(&mut locals[slot as usize], value);
            undo.push(Undo::Slot {
                process,
                slot: frame + slot,
                value,
            });
        };
        let mut store = |cells: &mut [i64], undo: &mut Vec<Undo>, cell: u32, value: i64| {
            let value = std::mem::replace(&mut cells[cell as usize], value);
            undo.push(Undo::Cell(cell, value));
            // Empty if there are no invariants.
            if let Some(invariants) = watched.get(cell as usize) {
                dirty.extend(invariants);
            }
        };
        // The compiler balances operands.
        let pop = |operands: &mut Vec<i64>| operands.pop().unwrap_or(0);
        loop {
            match ops[*pc as usize] {
                Op::Const(value) => operands.push(value),
                Op::Local(slot) => operands.push(locals[slot as usize]),
                Op::LocalAt(range) => {
                    let slot = select(range, pop(operands))?;
                    operands.push(locals[slot as usize]);
                }
                Op::Load(cell) => {
                    touched.push(Access::read(cell));
                    operands.push(cells[cell as usize]);
                }
                Op::LoadAt(range) => {
                    let cell = select(range, pop(operands))?;
                    touched.push(Access::read(cell));
                    operands.push(cells[cell as usize]);
                }
                op @ (Op::Not
                | Op::Neg(_)
                | Op::Arith(..)
                | Op::Compare(..)
                | Op::And
                | Op::Or
                | Op::Select(_)) => {
                    compute(op, operands)?;
                }
                Op::ArithLocals(op, ty, [a, b]) => {
                    let value = numbers::arith(op, ty, locals[a as usize], locals[b as usize])?;
                    operands.push(value);
                }
                Op::Fetch { cell, slot } => {
                    touched.push(Access::read(cell));
                    set_local(locals, undo, slot, cells[cell as usize]);
                }
                Op::Increment(slot, ty) => {
                    let value = numbers::arith(Arith::Add, ty, locals[slot as usize], 1)?;
                    set_local(locals, undo, slot, value);
                }
                Op::SetLocal(slot) => {
                    let value = pop(operands);
                    set_local(locals, undo, slot, value);
                }
                Op::SetLocalAt(range) => {
                    let value = pop(operands);
                    let slot = select(range, pop(operands))?;
                    set_local(locals, undo, slot, value);
                }
                Op::Store(cell) => {
                    touched.push(Access::write(cell));
                    store(cells, undo, cell, pop(operands));
                }
                Op::StoreAt(range) => {
                    let value = pop(operands);
                    let cell = select(range, pop(operands))?;
                    touched.push(Access::write(cell));
                    store(cells, undo, cell, value);
                }
                Op::Lock(cell) if cells[cell as usize] == 0 => {
                    touched.push(Access::new(AccessKind::Acquire, cell));
                    store(cells, undo, cell, i64::from(process) + 1);
                }
                Op::Unlock(cell) if cells[cell as usize] == i64::from(process) + 1 => {
                    touched.push(Access::new(AccessKind::Release, cell));
                    store(cells, undo, cell, 0);
                }
                Op::Jump(to) => {
                    // Every loop jumps and every recursion calls: counting these bounds the work.
                    *fuel = fuel.checked_sub(1).ok_or(Fault::LocalLimit)?;
                    *pc = to;
                    if L::LISTENS {
                        return Ok(true);
                    }
                    continue;
                }
                Op::JumpIfFalse(to) if pop(operands) == 0 => {
                    *pc = to;
                    if L::LISTENS {
                        return Ok(true);
                    }
                    continue;
                }
                Op::JumpIfFalse(_) => {}
                Op::JumpUnlessLess {
                    slots: [a, b],
                    unsigned,
                    to,
                } => {
                    let (a, b) = (locals[a as usize], locals[b as usize]);
                    if !numbers::compare(Compare::Lt, unsigned, a, b) {
                        *pc = to;
                        if L::LISTENS {
                            return Ok(true);
                        }
                        continue;
                    }
                }
                _ => return Ok(false),
            }
            *pc += 1;
            if L::LISTENS {
                return Ok(true);
            }
        }
    }
}

enum Halt {
    Stop(Stop),
    Fault(Fault),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Halt::Fault(fault)
    }
}

#[inline]
fn select(range: Range, index: i64) -> Result<u32, Fault> {
    // A `u64` beyond `i64` is negative here, and out of bounds too.
    if (0..i64::from(range.len)).contains(&index) {
        Ok(range.first + index as u32)
    } else {
        Err(Fault::OutOfBounds)
    }
}

/// The instructions that only work on operands.
#[inline]
fn compute(op: Op, operands: &mut Vec<i64>) -> Result<(), Fault> {
    let right = operands.pop().unwrap_or(0);
    let value = match op {
        Op::Not => i64::from(right == 0),
        Op::Neg(ty) => numbers::negate(ty, right)?,
        Op::Arith(op, ty) => {
            let left = operands.pop().unwrap_or(0);
            numbers::arith(op, ty, left, right)?
        }
        Op::Compare(op, unsigned) => {
            let left = operands.pop().unwrap_or(0);
            i64::from(numbers::compare(op, unsigned, left, right))
        }
        Op::And => operands.pop().unwrap_or(0) & right,
        Op::Or => operands.pop().unwrap_or(0) | right,
        Op::Select(_) => {
            let left = operands.pop().unwrap_or(0);
            match operands.pop() {
                Some(0) => right,
                _ => left,
            }
        }
        _ => right,
    };
    operands.push(value);
    Ok(())
}

/// Evaluates instructions that only read, from `pc` up to `end`. None where another instruction is in the way.
pub(crate) fn peek(
    ops: &[Op],
    mut pc: usize,
    end: usize,
    cells: &[i64],
    locals: &[i64],
    operands: &mut Vec<i64>,
) -> Option<Result<i64, Fault>> {
    operands.clear();
    while pc != end {
        let op = *ops.get(pc)?;
        pc += 1;
        let fault = match op {
            Op::Mark(_) | Op::Open(_) | Op::BeginAtomic => None,
            Op::Const(value) => {
                operands.push(value);
                None
            }
            Op::Local(slot) => {
                operands.push(locals[slot as usize]);
                None
            }
            Op::Load(cell) => {
                operands.push(cells[cell as usize]);
                None
            }
            Op::LocalAt(range) | Op::LoadAt(range) => match select(range, operands.pop()?) {
                Ok(at) => {
                    let from = if matches!(op, Op::LoadAt(_)) {
                        cells
                    } else {
                        locals
                    };
                    operands.push(from[at as usize]);
                    None
                }
                Err(fault) => Some(fault),
            },
            Op::Not
            | Op::Neg(_)
            | Op::Arith(..)
            | Op::Compare(..)
            | Op::And
            | Op::Or
            | Op::Select(_) => compute(op, operands).err(),
            Op::ArithLocals(op, ty, [a, b]) => {
                match numbers::arith(op, ty, locals[a as usize], locals[b as usize]) {
                    Ok(value) => {
                        operands.push(value);
                        None
                    }
                    Err(undefined) => Some(undefined.into()),
                }
            }
            Op::Jump(to) => {
                pc = to as usize;
                None
            }
            Op::JumpIfFalse(to) => {
                if operands.pop()? == 0 {
                    pc = to as usize;
                }
                None
            }
            _ => return None,
        };
        if let Some(fault) = fault {
            return Some(Err(fault));
        }
    }
    Some(Ok(operands.pop().unwrap_or(0)))
}

/// Evaluates a property over cells.
pub(crate) fn evaluate(snippet: &[Op], cells: &[i64]) -> Result<i64, Fault> {
    peek(snippet, 0, snippet.len(), cells, &[], &mut Vec::new()).unwrap_or(Ok(0))
}
