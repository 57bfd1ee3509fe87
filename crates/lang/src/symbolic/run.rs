//! Running one step with symbolic values.
//!
//! The same instructions as in [`interpret`](crate::interpret), on terms. Where what happens next
//! depends on a condition that is not known, the step *decides*: which side to take is an outcome
//! of the step, as a `choose` is, and the condition joins the path condition.

use mazurka_core::{Access, AccessKind, Event, Mishap, MishapKind, ProcessId, ProcessTable};
use mazurka_smt::{Kind, Term};

use crate::code::{Arith, Code, Compare, Op, Range};
use crate::fault::{Fault, Site};
use crate::hir::Type;
use crate::interpret::input_name;
use crate::state::{Life, Registers};

use super::logic::{Logic, sort_of};
use super::state::{Process, SymbolicState};

/// Why a step could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The process must wait; for the end of this process, if it joins.
    Blocked(Option<ProcessId>),
    /// A given outcome is not possible.
    NoSuchOutcome,
    /// Probing: it depends on a condition that is not known.
    Undecided,
}

/// How to take a change back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Undo {
    Cell(u32, Term),
    Slot {
        process: u32,
        slot: u32,
        value: Term,
    },
    Born(u32),
}

/// What an outcome of a step stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A `choose`.
    Choose,
    /// A condition.
    Decision,
}

/// All that a step works on.
pub(super) struct Cpu<'a> {
    pub code: &'a Code,
    pub logic: &'a mut Logic,
    pub state: &'a mut SymbolicState,
    pub table: &'a mut ProcessTable,
    pub undo: &'a mut Vec<Undo>,
    pub operands: &'a mut Vec<Term>,
    /// The invariants over what was written.
    pub dirty: &'a mut Vec<u32>,
    pub event: &'a mut Event,
    pub outcomes: &'a [i64],
    /// For each outcome of all events of the run.
    pub causes: &'a mut Vec<Cause>,
    pub fuel: u64,
    /// Stop at the first condition that is not known.
    pub probing: bool,
    /// Follow both sides of every test.
    pub literal: bool,
    /// Who decides what is not known, if somebody does.
    pub guide: &'a mut Option<super::Guide>,
    /// For the accesses that the event has made so far: the index, where the element is not known.
    pub indices: &'a mut Vec<Option<u32>>,
}

pub(super) enum Halt {
    Stop(Stop),
    Fault(Fault),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Halt::Fault(fault)
    }
}

/// Where an index leads.
pub(super) enum Selected {
    Cell(u32),
    /// Somewhere in the array, but certainly there.
    Somewhere(Term),
}

impl Cpu<'_> {
    /// Runs a process from where it is to its next mark. `step`: it rests at a mark and makes that step;
    /// else it has just been started.
    pub fn run(&mut self, process: ProcessId, step: bool) -> Result<(), Stop> {
        let mut r = self.state.processes[process.index()].place.registers;
        match self.go(process, &mut r, step) {
            Err(Halt::Stop(stop)) => return Err(stop),
            Err(Halt::Fault(fault)) => {
                let kind = fault.kind();
                r.life = life_after(kind);
                self.event.mishaps.push(Mishap {
                    process: Some(process),
                    kind,
                    site: Site::At { pc: r.pc, fault }.encode(),
                });
            }
            Ok(()) => {}
        }
        r.steps += u32::from(step);
        self.state.processes[process.index()].place.registers = r;
        Ok(())
    }

    fn go(&mut self, process: ProcessId, r: &mut Registers, step: bool) -> Result<(), Halt> {
        let code = self.code;
        let mut open = false;
        let mut merged = false;
        let mut atomic = 0;
        if step {
            open = matches!(code.ops[r.pc as usize], Op::Open(_));
            r.pc += 1;
        }
        loop {
            if self.compute(process, r)? {
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
                    let input = self.input(process, ty);
                    self.operands.push(input);
                }
                Op::Guard => {
                    let condition = self.pop();
                    if !self.decide(condition)? {
                        return Err(Halt::Stop(Stop::Blocked(None)));
                    }
                }
                Op::Lock(cell) => self.lock(process, cell)?,
                Op::LockAt(range) => {
                    let cell = self.pick(range)?;
                    self.lock(process, cell)?;
                }
                Op::Unlock(cell) => self.unlock(process, cell)?,
                Op::UnlockAt(range) => {
                    let cell = self.pick(range)?;
                    self.unlock(process, cell)?;
                }
                Op::SpawnBlock(entry) => {
                    let child = self.born(process, r);
                    let frame = r.frame as usize..r.top as usize;
                    let copy = self.state.processes[process.index()].stack[frame].to_vec();
                    self.state.processes[child.index()].stack = copy;
                    self.start(child, entry)?;
                }
                Op::SpawnCall(procedure) => {
                    let entry = code.procedures[procedure as usize];
                    let child = self.born(process, r);
                    let zero = self.logic.constant(0);
                    let first = self.operands.len() - entry.params as usize;
                    let stack = &mut self.state.processes[child.index()].stack;
                    stack.extend(self.operands.drain(first..));
                    stack.resize(entry.frame as usize, zero);
                    self.start(child, entry.pc)?;
                }
                Op::Join => {
                    // Handles are always known.
                    let handle = self.pop();
                    let joined = self.logic.known(handle).unwrap_or(0);
                    self.join(ProcessId(joined as u32))?;
                }
                Op::JoinAll => {
                    for k in 0..r.children {
                        let child = self.table.child(process, k);
                        self.join(child)?;
                    }
                }
                Op::Call(procedure) => {
                    self.call(process, r, procedure)?;
                    continue;
                }
                // The body of a spawned procedure returns to nobody.
                Op::Return if r.frame == 0 => {
                    r.life = Life::Ended;
                    return Ok(());
                }
                Op::Return => {
                    self.return_(process, r);
                    continue;
                }
                Op::Drop => {
                    self.pop();
                }
                Op::Assert => self.check(Fault::Assertion)?,
                Op::Assume => self.check(Fault::Assumption)?,
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

    /// Runs one instruction that computes or jumps. Says whether it was one.
    #[inline]
    fn compute(&mut self, process: ProcessId, r: &mut Registers) -> Result<bool, Halt> {
        let op = self.code.ops[r.pc as usize];
        match op {
            Op::Const(value) => {
                let value = self.logic.constant(value);
                self.operands.push(value);
            }
            Op::Local(slot) => {
                let value = self.local(process, r, slot);
                self.operands.push(value);
            }
            Op::LocalAt(range) => {
                let value = match self.select(range)? {
                    Selected::Cell(slot) => self.local(process, r, slot),
                    Selected::Somewhere(index) => {
                        let ty = self.local_type(r.pc, range.first);
                        let first = (r.frame + range.first) as usize;
                        let stack = &self.state.processes[process.index()].stack;
                        let elements = &stack[first..first + range.len as usize];
                        self.logic.element(ty, elements, index)
                    }
                };
                self.operands.push(value);
            }
            Op::Load(cell) => {
                self.event.touched.push(Access::read(cell));
                self.operands.push(self.state.cells[cell as usize]);
            }
            Op::LoadAt(range) => {
                let value = match self.select(range)? {
                    Selected::Cell(cell) => {
                        self.event.touched.push(Access::read(cell));
                        self.state.cells[cell as usize]
                    }
                    Selected::Somewhere(index) => {
                        self.touch(AccessKind::Read, range, index);
                        let ty = self.code.cell_type(range.first);
                        let first = range.first as usize;
                        let elements = &self.state.cells[first..first + range.len as usize];
                        self.logic.element(ty, elements, index)
                    }
                };
                self.operands.push(value);
            }
            Op::Not
            | Op::Neg(_)
            | Op::Arith(..)
            | Op::Compare(..)
            | Op::And
            | Op::Or
            | Op::Select(_) => self.operate(op)?,
            Op::ArithLocals(op, ty, [a, b]) => {
                let a = self.local(process, r, u32::from(a));
                let b = self.local(process, r, u32::from(b));
                let value = self.arith(op, ty, a, b)?;
                self.operands.push(value);
            }
            Op::Fetch { cell, slot } => {
                self.event.touched.push(Access::read(cell));
                self.set_slot(process, r.frame + slot, self.state.cells[cell as usize]);
            }
            Op::Increment(slot, ty) => {
                let (old, one) = (self.local(process, r, slot), self.logic.constant(1));
                let value = self.arith(Arith::Add, ty, old, one)?;
                self.set_slot(process, r.frame + slot, value);
            }
            Op::SetLocal(slot) => {
                let value = self.pop();
                self.set_slot(process, r.frame + slot, value);
            }
            Op::SetLocalAt(range) => {
                let value = self.pop();
                match self.select(range)? {
                    Selected::Cell(slot) => self.set_slot(process, r.frame + slot, value),
                    Selected::Somewhere(index) => {
                        let ty = self.local_type(r.pc, range.first);
                        for at in 0..range.len {
                            let slot = range.first + at;
                            let old = self.local(process, r, slot);
                            let here = self.logic.is_at(index, at);
                            let new = self.logic.select(ty, here, value, old);
                            self.set_slot(process, r.frame + slot, new);
                        }
                    }
                }
            }
            Op::Store(cell) => {
                self.event.touched.push(Access::write(cell));
                let value = self.pop();
                self.store(cell, value);
            }
            Op::StoreAt(range) => {
                let value = self.pop();
                match self.select(range)? {
                    Selected::Cell(cell) => {
                        self.event.touched.push(Access::write(cell));
                        self.store(cell, value);
                    }
                    Selected::Somewhere(index) => {
                        self.touch(AccessKind::Write, range, index);
                        let ty = self.code.cell_type(range.first);
                        for at in 0..range.len {
                            let cell = range.first + at;
                            let old = self.state.cells[cell as usize];
                            let here = self.logic.is_at(index, at);
                            let new = self.logic.select(ty, here, value, old);
                            self.store(cell, new);
                        }
                    }
                }
            }
            Op::Jump(to) => {
                // Every loop jumps and every recursion calls: counting these bounds the work.
                self.fuel = self.fuel.checked_sub(1).ok_or(Fault::LocalLimit)?;
                r.pc = to;
                return Ok(true);
            }
            Op::JumpIfFalse(to) => {
                let condition = self.pop();
                if !self.test(r.pc, condition)? {
                    r.pc = to;
                    return Ok(true);
                }
            }
            Op::JumpUnlessLess {
                slots: [a, b],
                unsigned,
                to,
            } => {
                let a = self.local(process, r, u32::from(a));
                let b = self.local(process, r, u32::from(b));
                let less = self.logic.compare(Compare::Lt, unsigned, a, b);
                if !self.decide(less)? {
                    r.pc = to;
                    return Ok(true);
                }
            }
            _ => return Ok(false),
        }
        r.pc += 1;
        Ok(true)
    }

    /// The instructions that only work on operands.
    pub fn operate(&mut self, op: Op) -> Result<(), Halt> {
        let right = self.pop();
        let value = match op {
            Op::Not => self.logic.not(right),
            Op::Neg(ty) => self.logic.negate(ty, right)?,
            Op::Arith(op, ty) => {
                let left = self.pop();
                self.arith(op, ty, left, right)?
            }
            Op::Compare(op, unsigned) => {
                let left = self.pop();
                self.logic.compare(op, unsigned, left, right)
            }
            Op::And => {
                let left = self.pop();
                self.logic.and(left, right)
            }
            Op::Or => {
                let left = self.pop();
                self.logic.or(left, right)
            }
            Op::Select(ty) => {
                let left = self.pop();
                let test = self.pop();
                self.logic.select(ty, test, left, right)
            }
            _ => right,
        };
        self.operands.push(value);
        Ok(())
    }

    /// Looks at the invariants over what the step has written: whether they hold is decided, too.
    pub fn check_invariants(&mut self, process: ProcessId) -> Result<(), Stop> {
        let mut dirty = std::mem::take(self.dirty);
        dirty.sort_unstable();
        dirty.dedup();
        for invariant in dirty {
            let property = &self.code.program.invariants[invariant as usize];
            let holds = self
                .logic
                .property(self.code, &self.state.cells, &property.expr);
            let kind = match holds.map(|holds| self.decide(holds)) {
                Ok(Ok(true)) => continue,
                Ok(Ok(false)) => MishapKind::Failure,
                Ok(Err(Halt::Stop(stop))) => return Err(stop),
                Ok(Err(Halt::Fault(fault))) | Err(fault) => fault.kind(),
            };
            self.event.mishaps.push(Mishap {
                process: Some(process),
                kind,
                site: Site::Invariant(invariant).encode(),
            });
            let life = &mut self.state.processes[process.index()].place.registers.life;
            // Whatever else halts it, a failure of the program weighs more.
            if kind == MishapKind::Failure || *life != Life::Failed {
                *life = life_after(kind);
            }
        }
        Ok(())
    }

    fn arith(&mut self, op: Arith, ty: Type, a: Term, b: Term) -> Result<Term, Halt> {
        if matches!(op, Arith::Div | Arith::Rem) && self.logic.known(b).is_none() {
            let zero = self.logic.constant(0);
            let defined = self.logic.compare(Compare::Ne, false, b, zero);
            if !self.defined(defined)? {
                return Err(Halt::Fault(Fault::DivisionByZero));
            }
        }
        Ok(self.logic.arith(op, ty, a, b)?)
    }

    fn check(&mut self, fault: Fault) -> Result<(), Halt> {
        let condition = self.pop();
        match self.decide(condition)? {
            true => Ok(()),
            false => Err(Halt::Fault(fault)),
        }
    }

    /// The element of an array that an index selects, if it is known; else the index, which then lies
    /// within the array.
    pub fn select(&mut self, range: Range) -> Result<Selected, Halt> {
        let index = self.pop();
        match self.logic.known(index) {
            Some(at) if (0..i64::from(range.len)).contains(&at) => {
                Ok(Selected::Cell(range.first + at as u32))
            }
            Some(_) => Err(Halt::Fault(Fault::OutOfBounds)),
            None => {
                let within = self.logic.within(index, range.len);
                match self.defined(within)? {
                    true => Ok(Selected::Somewhere(index)),
                    false => Err(Halt::Fault(Fault::OutOfBounds)),
                }
            }
        }
    }

    /// Notes an access somewhere in an array, and by which index.
    fn touch(&mut self, kind: AccessKind, range: Range, index: Term) {
        self.indices.resize(self.event.touched.len(), None);
        self.indices.push(Some(self.logic.number(index)));
        let all = Access::new(kind, range.first).over(range.len);
        self.event.touched.push(all);
    }

    /// A new variable, named by process and order, so that equivalent runs ask for the same.
    fn input(&mut self, process: ProcessId, ty: Type) -> Term {
        let place = &mut self.state.processes[process.index()].place;
        let name = input_name(self.table.path(process), place.inputs);
        place.inputs += 1;
        self.logic.terms.variable(Kind::Input, &name, sort_of(ty))
    }

    fn lock(&mut self, process: ProcessId, cell: u32) -> Result<(), Halt> {
        if self.logic.known(self.state.cells[cell as usize]) != Some(0) {
            return Err(Halt::Stop(Stop::Blocked(None)));
        }
        let access = Access::new(AccessKind::Acquire, cell);
        self.event.touched.push(access);
        let owner = self.logic.constant(i64::from(process.0) + 1);
        self.set_cell(cell, owner);
        Ok(())
    }

    fn unlock(&mut self, process: ProcessId, cell: u32) -> Result<(), Fault> {
        let owner = self.logic.known(self.state.cells[cell as usize]);
        if owner != Some(i64::from(process.0) + 1) {
            return Err(Fault::NotHeld);
        }
        let access = Access::new(AccessKind::Release, cell);
        self.event.touched.push(access);
        let nobody = self.logic.constant(0);
        self.set_cell(cell, nobody);
        Ok(())
    }

    fn join(&mut self, process: ProcessId) -> Result<(), Halt> {
        if self.state.processes[process.index()].place.registers.life != Life::Ended {
            return Err(Halt::Stop(Stop::Blocked(Some(process))));
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
        process.place.registers = Registers {
            pc: entry,
            frame: 0,
            top: process.stack.len() as u32,
            children: 0,
            inputs: 0,
            steps: 0,
            life: Life::Alive,
        };
        // Its operands lie above those of its parent.
        self.run(child, false).map_err(Halt::Stop)?;
        let handle = self.logic.constant(i64::from(child.0));
        self.operands.push(handle);
        Ok(())
    }

    fn call(&mut self, process: ProcessId, r: &mut Registers, procedure: u32) -> Result<(), Fault> {
        self.fuel = self.fuel.checked_sub(1).ok_or(Fault::LocalLimit)?;
        let entry = self.code.procedures[procedure as usize];
        let frame = r.top + 2;
        let top = frame + entry.frame;
        let zero = self.logic.constant(0);
        let stack = &mut self.state.processes[process.index()].stack;
        if stack.len() < top as usize {
            stack.resize(top as usize, zero);
        }
        let back = self.logic.constant(i64::from(r.pc) + 1);
        self.set_slot(process, r.top, back);
        let callers = self.logic.constant(i64::from(r.frame));
        self.set_slot(process, r.top + 1, callers);
        for param in (0..entry.params).rev() {
            let value = self.pop();
            self.set_slot(process, frame + param, value);
        }
        r.frame = frame;
        r.top = top;
        r.pc = entry.pc;
        Ok(())
    }

    fn return_(&mut self, process: ProcessId, r: &mut Registers) {
        let base = r.frame - 2;
        let stack = &self.state.processes[process.index()].stack;
        let number = |slot: u32| self.logic.known(stack[slot as usize]).unwrap_or(0) as u32;
        (r.pc, r.frame) = (number(base), number(base + 1));
        let zero = self.logic.constant(0);
        for slot in base..r.top {
            self.set_slot(process, slot, zero);
        }
        r.top = base;
    }

    #[inline]
    pub fn pop(&mut self) -> Term {
        // The compiler balances operands.
        self.operands.pop().unwrap_or(Term::FALSE)
    }

    #[inline]
    fn local(&self, process: ProcessId, r: &Registers, slot: u32) -> Term {
        self.state.processes[process.index()].stack[(r.frame + slot) as usize]
    }

    /// The type of the local whose slot this is, in the body of an instruction.
    fn local_type(&self, pc: u32, slot: u32) -> Type {
        let layout = &self.code.layouts[self.code.bodies[pc as usize] as usize];
        let at = layout.slots.partition_point(|&first| first <= slot) - 1;
        layout.names[at].ty
    }

    fn store(&mut self, cell: u32, value: Term) {
        self.set_cell(cell, value);
        // Empty if there are no invariants.
        if let Some(invariants) = self.code.watched.get(cell as usize) {
            self.dirty.extend(invariants);
        }
    }

    #[inline]
    fn set_cell(&mut self, cell: u32, value: Term) {
        let old = std::mem::replace(&mut self.state.cells[cell as usize], value);
        self.undo.push(Undo::Cell(cell, old));
    }

    #[inline]
    fn set_slot(&mut self, process: ProcessId, slot: u32, value: Term) {
        let place = &mut self.state.processes[process.index()].stack[slot as usize];
        let value = std::mem::replace(place, value);
        self.undo.push(Undo::Slot {
            process: process.0,
            slot,
            value,
        });
    }
}

/// What becomes of a process to which this has happened.
pub(super) fn life_after(kind: MishapKind) -> Life {
    match kind {
        MishapKind::Failure => Life::Failed,
        MishapKind::Discarded => Life::Discarded,
        MishapKind::OutOfRange | MishapKind::LocalLimit | MishapKind::Undecided => Life::Lost,
    }
}
