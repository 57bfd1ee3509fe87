//! The interpreter ([`Cpu`]): it makes whole steps, and executes the instructions that do more than
//! compute (marks, guards, processes, procedures, failures). It is generic over the domain of
//! values. `work.rs` executes the instructions that only compute.

use mazurka_core::{Mishap, MishapKind, ProcessId, ProcessTable};

use super::cover::HELD;
use super::domain::{Domain, Halt, InstrContext, Obstacle, StepInProgress, Value, Values};
use super::work::{Work, pop};
use crate::code::fault::{Fault, Site};
use crate::code::{Code, Op};
use crate::run::state::{Life, Process, Registers};

/// An entry of the undo log: the old value of something that a step changed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Undo<V> {
    Cell(u32, V),
    Slot {
        process: u32,
        slot: u32,
        value: V,
    },
    /// The process has called, returned or started a child.
    Frame {
        process: u32,
        frame: u32,
        top: u32,
        children: u32,
    },
    /// The process has read inputs.
    Inputs {
        process: u32,
        inputs: u32,
    },
    /// This process was created.
    Born(u32),
}

/// A step that has executed some of its instructions, at least the mark.
pub(crate) struct Unfinished {
    pub registers: Registers,
    /// Whether the step began at an [`Op::Open`], so that it swallows the next mark.
    pub open: bool,
    /// The reason why it has halted, if it has.
    pub halt: Option<Halt>,
}

/// A place in the middle of a step at which the process may rest, because a condition over inputs
/// follows.
struct RestingPlace<V> {
    registers: Registers,
    /// The length of the undo log at this place.
    undo: usize,
    /// The operand on the stack at this place, if there is one.
    operand: Option<V>,
}

/// The interpreter for one step: the code, the domain of values, the state of the machine, and the
/// step in progress.
pub(crate) struct Cpu<'a, 's, D: Domain> {
    pub code: &'a Code,
    pub domain: &'a mut D,
    pub step: &'a mut StepInProgress<'s>,
    pub cells: &'a mut [Value<D>],
    pub processes: &'a mut Vec<Process<Value<D>, D::Extra>>,
    pub table: &'a mut ProcessTable,
    pub undo: &'a mut Vec<Undo<Value<D>>>,
    pub operands: &'a mut Vec<Value<D>>,
    /// The invariants over written cells.
    pub dirty: &'a mut Vec<u32>,
}

impl<'s, D: Domain> Cpu<'_, 's, D> {
    /// Runs a new process to its first mark.
    pub fn start(&mut self, process: ProcessId) -> Result<(), Obstacle> {
        let at_start = Unfinished {
            registers: self.processes[process.index()].registers,
            open: false,
            halt: None,
        };
        self.finish(process, at_start)
    }

    /// Makes the step of a process that rests at a mark.
    pub fn make_step(&mut self, process: ProcessId) -> Result<(), Obstacle> {
        let mut registers = self.processes[process.index()].registers;
        let open = matches!(self.code.ops[registers.pc as usize], Op::Open(_));
        self.step.note(registers.pc, HELD);
        registers.pc += 1;
        registers.steps += 1;
        let after_mark = Unfinished {
            registers,
            open,
            halt: None,
        };
        self.finish(process, after_mark)
    }

    /// Runs a process from the middle of a step to its next mark.
    pub fn finish(&mut self, process: ProcessId, part: Unfinished) -> Result<(), Obstacle> {
        let mut r = part.registers;
        let halt = match part.halt {
            Some(halt) => Err(halt),
            None => self.run(process, &mut r, part.open),
        };
        match halt {
            Ok(()) => {}
            Err(Halt::Obstacle(obstacle)) => return Err(obstacle),
            Err(Halt::Fault(fault)) => {
                let kind = match self.code.ops[r.pc as usize] {
                    Op::Limit(most) if fault == Fault::MessageLimit => {
                        MishapKind::MessageLimit(most)
                    }
                    _ => fault.kind(),
                };
                r.life = Life::after(kind);
                self.step.event.mishaps.push(Mishap {
                    process: Some(process),
                    kind,
                    site: Site::At { pc: r.pc, fault }.encode(),
                });
            }
        }
        let old = std::mem::replace(&mut self.processes[process.index()].registers, r);
        let process = process.0;
        if old.inputs != r.inputs {
            let inputs = old.inputs;
            self.undo.push(Undo::Inputs { process, inputs });
        }
        if (old.frame, old.top, old.children) != (r.frame, r.top, r.children) {
            self.undo.push(Undo::Frame {
                process,
                frame: old.frame,
                top: old.top,
                children: old.children,
            });
        }
        Ok(())
    }

    /// Runs a process to its next mark, or to a place where it rests before a condition.
    fn run(&mut self, process: ProcessId, r: &mut Registers, open: bool) -> Result<(), Halt> {
        let operands = self.operands.len();
        let mut place = None;
        let ran = self.run_on(process, r, open, &mut place);
        match (ran, place) {
            (Err(Halt::Obstacle(Obstacle::Undecided)), Some(place)) => {
                self.operands.truncate(operands);
                self.rest(process, r, place);
                Ok(())
            }
            (ran, _) => {
                self.domain.run_on();
                ran
            }
        }
    }

    fn run_on(
        &mut self,
        process: ProcessId,
        r: &mut Registers,
        mut open: bool,
        place: &mut Option<RestingPlace<Value<D>>>,
    ) -> Result<(), Halt> {
        let code = self.code;
        let mut merged = false;
        let mut atomic = 0;
        let below = self.operands.len();
        self.operands.extend(self.domain.resumed());
        loop {
            if D::LISTENS {
                self.listen(process, r, open, merged);
            }
            if self.domain.pauses() && !D::LISTENS {
                let plain = !open && !merged && atomic == 0;
                self.record_resting_place(r, plain, below, place);
            }
            let mut next = r.pc;
            let swallows = atomic > 0 || merged;
            let again = self.work(process, r, swallows).run(&mut next);
            r.pc = next;
            if again? {
                continue;
            }
            let pc = r.pc;
            match code.ops[pc as usize] {
                Op::Mark(_) if open => open = false,
                Op::Open(_) if open => {}
                Op::Mark(_) | Op::Open(_) => return Ok(()),
                Op::Close => open = false,
                Op::BeginAtomic => atomic += 1,
                Op::EndAtomic => atomic -= 1,
                Op::BeginSimple => merged |= std::mem::take(&mut open),
                Op::EndSimple => merged = false,

                Op::Choose => {
                    let end = pop(self.operands);
                    let first = pop(self.operands);
                    let value = self.domain.choose(self.step, first, end)?;
                    self.operands.push(value);
                }
                Op::Input(ty) => {
                    let number = r.inputs;
                    r.inputs += 1;
                    let asking = (process, self.table.path(process));
                    let value = self.domain.input(code, asking, number, ty);
                    self.operands.push(value);
                }
                Op::Guard => {
                    let condition = pop(self.operands);
                    if !self.domain.decide(self.step, condition)? {
                        return Err(Halt::Obstacle(Obstacle::blocked(pc)));
                    }
                }
                Op::SpawnBlock(entry) => {
                    let child = self.born(process, r);
                    let frame = r.frame as usize..r.top as usize;
                    let mut stack = std::mem::take(&mut self.processes[child.index()].stack);
                    stack.extend_from_slice(&self.processes[process.index()].stack[frame]);
                    self.processes[child.index()].stack = stack;
                    self.enter(child, entry)?;
                }
                Op::SpawnCall(procedure) => {
                    let entry = code.procedures[procedure as usize];
                    let child = self.born(process, r);
                    let zero = self.domain.values().constant(0);
                    let first = self.operands.len() - entry.params as usize;
                    let stack = &mut self.processes[child.index()].stack;
                    stack.extend(self.operands.drain(first..));
                    stack.resize(entry.frame as usize, zero);
                    self.enter(child, entry.pc)?;
                }
                Op::Join => {
                    let handle = pop(self.operands);
                    let joined = ProcessId(self.number(handle));
                    self.join(joined, pc)?;
                }
                Op::JoinAll => {
                    for k in 0..r.children {
                        let child = self.table.child(process, k);
                        self.join(child, pc)?;
                    }
                }
                Op::Call(procedure) => {
                    self.call(process, r, procedure)?;
                    self.step.note(pc, HELD);
                    continue;
                }
                // A spawned procedure has no caller, so its process ends.
                Op::Return if r.frame == 0 => {
                    r.life = Life::Ended;
                    return Ok(());
                }
                Op::Return => {
                    self.return_to_caller(process, r);
                    self.step.note(pc, HELD);
                    continue;
                }
                Op::Drop => {
                    pop(self.operands);
                }
                Op::Assert => self.check(Fault::Assertion)?,
                Op::Assume => self.check(Fault::Assumption)?,
                Op::Limit(_) => self.check(Fault::MessageLimit)?,
                Op::Error => return Err(Halt::Fault(Fault::Error)),
                Op::End => {
                    r.life = Life::Ended;
                    return Ok(());
                }
                _ => unreachable!("computed above"),
            }
            self.step.note(pc, HELD);
            r.pc = pc + 1;
        }
    }

    /// Records this place if the process may rest here. The process may not rest after a write to a
    /// cell of an invariant, because invariants are checked after the whole step.
    fn record_resting_place(
        &mut self,
        r: &Registers,
        plain: bool,
        below: usize,
        place: &mut Option<RestingPlace<Value<D>>>,
    ) {
        let own = &self.operands[below..];
        let quiet = plain
            && own.len() <= 1
            && self.dirty.is_empty()
            && self.code.is_quiet(r.pc, self.domain.assumes_apart());
        let operand = own.first().copied();
        if !self.domain.may_rest(quiet) {
            *place = None;
        } else if quiet {
            *place = Some(RestingPlace {
                registers: *r,
                undo: self.undo.len(),
                operand,
            });
        }
    }

    /// Takes a process back to its resting place. Since that place it has changed only its own
    /// slots.
    fn rest(&mut self, process: ProcessId, r: &mut Registers, place: RestingPlace<Value<D>>) {
        for undo in self.undo.drain(place.undo..).rev() {
            if let Undo::Slot { slot, value, .. } = undo {
                self.processes[process.index()].stack[slot as usize] = value;
            }
        }
        *r = place.registers;
        let extra = &mut self.processes[process.index()].extra;
        self.domain.rest(self.step, extra, place.operand);
    }

    fn listen(&mut self, process: ProcessId, r: &Registers, open: bool, merged: bool) {
        let stack = &self.processes[process.index()].stack;
        let context = InstrContext {
            operands: self.operands,
            locals: &stack[r.frame as usize..r.top as usize],
            cells: self.cells,
            open,
            merged,
        };
        self.domain.on_instruction(self.code, r.pc, context);
    }

    fn work(&mut self, process: ProcessId, r: &Registers, swallows: bool) -> Work<'_, 's, D> {
        let stack = &mut self.processes[process.index()].stack;
        Work {
            code: self.code,
            domain: self.domain,
            step: self.step,
            cells: self.cells,
            locals: &mut stack[r.frame as usize..r.top as usize],
            operands: self.operands,
            undo: self.undo,
            dirty: self.dirty,
            process: process.0,
            frame: r.frame,
            swallows,
        }
    }

    /// Returns a value that is always known: a handle or a return address.
    fn number(&mut self, value: Value<D>) -> u32 {
        match self.domain.values().known(value) {
            Some(number) => number as u32,
            None => unreachable!("handles and return addresses are numbers"),
        }
    }

    fn check(&mut self, fault: Fault) -> Result<(), Halt> {
        let condition = pop(self.operands);
        if self.domain.decide(self.step, condition)? {
            Ok(())
        } else {
            Err(Halt::Fault(fault))
        }
    }

    fn join(&mut self, process: ProcessId, pc: u32) -> Result<(), Halt> {
        if self.processes[process.index()].registers.life != Life::Ended {
            return Err(Halt::Obstacle(Obstacle::Blocked {
                at: pc,
                joins: Some(process),
            }));
        }
        let joined = &mut self.step.event.joined;
        if !joined.contains(&process) {
            joined.push(process);
        }
        Ok(())
    }

    /// Creates the next child of a process, with an empty stack.
    fn born(&mut self, parent: ProcessId, r: &mut Registers) -> ProcessId {
        let child = self.table.child(parent, r.children);
        r.children += 1;
        if self.processes.len() <= child.index() {
            let len = child.index() + 1;
            self.processes.resize_with(len, Process::unborn);
        }
        self.undo.push(Undo::Born(child.0));
        self.step.event.spawned.push(child);
        self.processes[child.index()].stack.clear();
        child
    }

    /// Lets a new process, whose stack holds its locals, run to its first mark. Pushes its handle
    /// for the parent.
    fn enter(&mut self, child: ProcessId, entry: u32) -> Result<(), Halt> {
        let process = &mut self.processes[child.index()];
        process.registers = Registers::at(entry, process.stack.len() as u32);
        // The operands of the child are above those of its parent on the stack.
        self.start(child).map_err(Halt::Obstacle)?;
        let handle = self.domain.values().constant(i64::from(child.0));
        self.operands.push(handle);
        Ok(())
    }

    fn call(&mut self, process: ProcessId, r: &mut Registers, procedure: u32) -> Result<(), Halt> {
        self.step.use_fuel(1)?;
        let entry = self.code.procedures[procedure as usize];
        let frame = r.top + 2;
        let top = frame + entry.frame;
        let zero = self.domain.values().constant(0);
        let stack = &mut self.processes[process.index()].stack;
        if stack.len() < top as usize {
            stack.resize(top as usize, zero);
        }
        let back = self.domain.values().constant(i64::from(r.pc) + 1);
        self.set_slot(process, r.top, back);
        let callers = self.domain.values().constant(i64::from(r.frame));
        self.set_slot(process, r.top + 1, callers);
        for param in (0..entry.params).rev() {
            let value = pop(self.operands);
            self.set_slot(process, frame + param, value);
        }
        r.frame = frame;
        r.top = top;
        r.pc = entry.pc;
        Ok(())
    }

    fn return_to_caller(&mut self, process: ProcessId, r: &mut Registers) {
        let base = r.frame - 2;
        let stack = &self.processes[process.index()].stack;
        let (pc, frame) = (stack[base as usize], stack[base as usize + 1]);
        (r.pc, r.frame) = (self.number(pc), self.number(frame));
        let zero = self.domain.values().constant(0);
        for slot in base..r.top {
            self.set_slot(process, slot, zero);
        }
        r.top = base;
    }

    #[inline]
    fn set_slot(&mut self, process: ProcessId, slot: u32, value: Value<D>) {
        let place = &mut self.processes[process.index()].stack[slot as usize];
        let value = std::mem::replace(place, value);
        let process = process.0;
        self.undo.push(Undo::Slot {
            process,
            slot,
            value,
        });
    }

    /// Checks the invariants over the cells that the step has written. After a false `assume` in
    /// the step the run is discarded, so nothing is checked.
    pub fn check_invariants(&mut self, process: ProcessId) -> Result<(), Obstacle> {
        let discarded = |mishap: &Mishap| mishap.kind == MishapKind::Discarded;
        if self.step.event.mishaps.iter().any(discarded) {
            return Ok(());
        }
        let mut dirty = std::mem::take(self.dirty);
        dirty.sort_unstable();
        dirty.dedup();
        let maybe = self.domain.maybe_written().into_iter();
        let maybe = maybe.filter(|(invariant, _)| !dirty.contains(invariant));
        let maybe: Vec<_> = maybe
            .map(|(invariant, written)| (invariant, Some(written)))
            .collect();
        let certain = dirty.drain(..).map(|invariant| (invariant, None));
        for (invariant, written) in certain.chain(maybe) {
            let holds =
                self.domain
                    .invariant(self.step, self.code, (invariant, written), self.cells);
            let kind = match holds {
                Ok(true) => continue,
                Ok(false) => MishapKind::Failure,
                Err(Halt::Fault(fault)) => fault.kind(),
                Err(Halt::Obstacle(obstacle)) => return Err(obstacle),
            };
            self.step.event.mishaps.push(Mishap {
                process: Some(process),
                kind,
                site: Site::Invariant(invariant).encode(),
            });
            let life = &mut self.processes[process.index()].registers.life;
            // A failure of the program takes precedence over other mishaps.
            if kind == MishapKind::Failure || *life != Life::Failed {
                *life = Life::after(kind);
            }
        }
        *self.dirty = dirty;
        Ok(())
    }
}
