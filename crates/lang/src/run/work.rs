//! Executes the instructions that only compute: expressions, accesses to variables, jumps, locks.
//! They are the hot loop of the interpreter; `cpu.rs` executes all other instructions.

use mazurka_core::{Access, AccessKind};
use rustc_hash::FxHashSet;

use super::concrete::element;
use super::cover::{FAILED, HELD};
use super::cpu::Undo;
use super::domain::{Domain, Halt, Log, Obstacle, SelectedElement, StepInProgress, Value, Values};
use crate::check::hir::Type;
use crate::code::fault::Fault;
use crate::code::{Arith, Code, Compare, Op, Range};

/// The number of elements that are handled between two checks of the clock. A write to an unknown
/// element makes some terms for each element of its array.
const ELEMENTS_BETWEEN_CLOCK_CHECKS: u32 = 1024;

/// The data that computing instructions use.
pub(crate) struct Work<'a, 's, D: Domain> {
    pub code: &'a Code,
    pub domain: &'a mut D,
    pub step: &'a mut StepInProgress<'s>,
    pub cells: &'a mut [Value<D>],
    pub locals: &'a mut [Value<D>],
    pub operands: &'a mut Vec<Value<D>>,
    pub undo: &'a mut Vec<Undo<Value<D>>>,
    pub dirty: &'a mut Vec<u32>,
    pub process: u32,
    /// The start of the locals on the stack.
    pub frame: u32,
    /// Whether the step swallows marks.
    pub swallows: bool,
}

/// Pops the top operand. The compiler guarantees that there is one.
#[inline(always)]
pub(super) fn pop<V>(operands: &mut Vec<V>) -> V {
    match operands.pop() {
        Some(value) => value,
        None => unbalanced(),
    }
}

#[cold]
fn unbalanced() -> ! {
    unreachable!("an instruction has no operand: a defect of the compiler")
}

impl<D: Domain> Work<'_, '_, D> {
    /// Runs computing instructions up to the next instruction of another kind, or a single one if
    /// the domain pauses. Returns whether to call this function again: if not, the next instruction
    /// is of another kind. This is the hot loop of the interpreter.
    #[inline(always)]
    pub fn run(mut self, pc: &mut u32) -> Result<bool, Halt> {
        let ops = &self.code.ops[..];
        loop {
            match ops[*pc as usize] {
                Op::Const(value) => {
                    let value = self.domain.values().constant(value);
                    self.operands.push(value);
                }
                Op::Local(slot) => self.operands.push(self.locals[slot as usize]),
                Op::LocalAt(range) => {
                    let index = pop(self.operands);
                    let value = match self.domain.select(self.step, range, index)? {
                        SelectedElement::At(slot) => self.locals[slot as usize],
                        SelectedElement::Somewhere(index) => {
                            let ty = self.code.local_type(*pc, range.first);
                            let elements = &self.locals[range.first as usize..];
                            let elements = &elements[..range.len as usize];
                            self.domain.element(ty, elements, index)
                        }
                    };
                    self.operands.push(value);
                }
                Op::Pick(len, ty) => self.pick(len, ty)?,
                Op::Within(len) => self.within(len)?,
                Op::Load(cell) => {
                    self.step.event.touched.push(Access::read(cell));
                    self.operands.push(self.cells[cell as usize]);
                }
                Op::LoadAt(range) => {
                    let index = pop(self.operands);
                    let value = match self.domain.select(self.step, range, index)? {
                        SelectedElement::At(cell) => {
                            self.step.event.touched.push(Access::read(cell));
                            self.cells[cell as usize]
                        }
                        SelectedElement::Somewhere(index) => {
                            self.domain.touch(self.step, AccessKind::Read, range, index);
                            let ty = self.code.cell_type(range.first);
                            let elements = &self.cells[range.first as usize..];
                            let elements = &elements[..range.len as usize];
                            self.domain.element(ty, elements, index)
                        }
                    };
                    self.operands.push(value);
                }
                Op::Arith(op, ty) => {
                    let b = pop(self.operands);
                    let a = pop(self.operands);
                    let value = self.arith(op, ty, a, b)?;
                    self.operands.push(value);
                }
                op
                @ (Op::Not | Op::Neg(_) | Op::Compare(..) | Op::And | Op::Or | Op::Select(_)) => {
                    operate(self.domain.values(), op, self.operands)?;
                }
                Op::ArithLocals(op, ty, [a, b]) => {
                    let (a, b) = (self.locals[a as usize], self.locals[b as usize]);
                    let value = self.arith(op, ty, a, b)?;
                    self.operands.push(value);
                }
                Op::Fetch { cell, slot } => {
                    self.step.event.touched.push(Access::read(cell));
                    self.set_local(slot, self.cells[cell as usize]);
                }
                Op::Increment(slot, ty) => {
                    let one = self.domain.values().constant(1);
                    let old = self.locals[slot as usize];
                    let value = self.arith(Arith::Add, ty, old, one)?;
                    self.set_local(slot, value);
                }
                Op::SetLocal(slot) => {
                    let value = pop(self.operands);
                    self.set_local(slot, value);
                }
                Op::SetLocalAt(range) => {
                    let value = pop(self.operands);
                    let index = pop(self.operands);
                    match self.domain.select(self.step, range, index)? {
                        SelectedElement::At(slot) => self.set_local(slot, value),
                        SelectedElement::Somewhere(index) => {
                            let ty = self.code.local_type(*pc, range.first);
                            for at in 0..range.len {
                                self.check_clock_at_intervals(at)?;
                                let slot = range.first + at;
                                let element = (at, self.locals[slot as usize]);
                                let new = self.domain.replaced(ty, index, element, value);
                                self.set_local(slot, new);
                            }
                        }
                    }
                }
                Op::Store(cell) => {
                    self.step.event.touched.push(Access::write(cell));
                    let value = pop(self.operands);
                    self.store(cell, value);
                }
                Op::StoreAt(range) => {
                    let value = pop(self.operands);
                    let index = pop(self.operands);
                    match self.domain.select(self.step, range, index)? {
                        SelectedElement::At(cell) => {
                            self.step.event.touched.push(Access::write(cell));
                            self.store(cell, value);
                        }
                        SelectedElement::Somewhere(index) => {
                            self.domain
                                .touch(self.step, AccessKind::Write, range, index);
                            let ty = self.code.cell_type(range.first);
                            for at in 0..range.len {
                                self.check_clock_at_intervals(at)?;
                                let cell = range.first + at;
                                let element = (at, self.cells[cell as usize]);
                                let new = self.domain.replaced(ty, index, element, value);
                                self.set_cell(cell, new);
                                self.domain.note_maybe_written(self.code, cell, index, at);
                            }
                        }
                    }
                }
                Op::Lock(cell) => self.lock(cell, *pc)?,
                Op::LockAt(range) => {
                    let index = pop(self.operands);
                    let cell = self.domain.pick(self.step, range, index)?;
                    self.lock(cell, *pc)?;
                }
                Op::Unlock(cell) => self.unlock(cell)?,
                Op::UnlockAt(range) => {
                    let index = pop(self.operands);
                    let cell = self.domain.pick(self.step, range, index)?;
                    self.unlock(cell)?;
                }
                Op::Jump(to) => {
                    // Every loop jumps and every recursion calls, so counting these
                    // bounds the work.
                    if self.step.is_clock_check_due() {
                        tidy(self.undo, &mut self.step.log);
                        if !D::KEEPS_ACCESSES {
                            tidy_touched(self.step);
                        }
                    }
                    self.step.use_fuel(1)?;
                    *pc = to;
                    if self.domain.pauses() {
                        return Ok(true);
                    }
                    continue;
                }
                Op::JumpIfFalse(to) => {
                    let condition = pop(self.operands);
                    let held = self.domain.test(self.step, self.code, *pc, condition)?;
                    self.step.note(*pc, if held { HELD } else { FAILED });
                    if !held {
                        *pc = to;
                        if self.domain.pauses() {
                            return Ok(true);
                        }
                        continue;
                    }
                }
                Op::JumpUnlessLess {
                    slots: [a, b],
                    unsigned,
                    to,
                } => {
                    let (a, b) = (self.locals[a as usize], self.locals[b as usize]);
                    let less = self.domain.values().compare(Compare::Lt, unsigned, a, b);
                    let held = self.domain.decide(self.step, less)?;
                    self.step.note(*pc, if held { HELD } else { FAILED });
                    if !held {
                        *pc = to;
                        if self.domain.pauses() {
                            return Ok(true);
                        }
                        continue;
                    }
                }
                Op::Mark(_) | Op::Open(_) if self.swallows => self.step.note(*pc, HELD),
                _ => return Ok(false),
            }
            *pc += 1;
            if self.domain.pauses() {
                return Ok(true);
            }
        }
    }

    #[inline(always)]
    fn arith(&mut self, op: Arith, ty: Type, a: Value<D>, b: Value<D>) -> Result<Value<D>, Halt> {
        self.domain.admit(self.step, op, b)?;
        Ok(self.domain.values().arith(op, ty, a, b)?)
    }

    /// Pushes an element of a constant array.
    fn pick(&mut self, len: u32, ty: Type) -> Result<(), Halt> {
        let index = pop(self.operands);
        let range = Range { first: 0, len };
        let first = self.operands.len() - len as usize;
        let value = match self.domain.select(self.step, range, index)? {
            SelectedElement::At(at) => self.operands[first + at as usize],
            SelectedElement::Somewhere(index) => {
                let elements = self.operands[first..].to_vec();
                self.domain.element(ty, &elements, index)
            }
        };
        self.operands.truncate(first);
        self.operands.push(value);
        Ok(())
    }

    /// Checks an index of a dimension. The index may have any integer type; its value is pushed as
    /// an `int`.
    fn within(&mut self, len: u32) -> Result<(), Halt> {
        let index = pop(self.operands);
        let value = match self
            .domain
            .select(self.step, Range { first: 0, len }, index)?
        {
            SelectedElement::At(at) => self.domain.values().constant(at.into()),
            SelectedElement::Somewhere(index) => {
                let all = 0..i64::from(len);
                let all: Vec<_> = all.map(|at| self.domain.values().constant(at)).collect();
                self.domain.element(Type::Int, &all, index)
            }
        };
        self.operands.push(value);
        Ok(())
    }

    /// Checks the clock if `at`, the index of an element, is a multiple of
    /// [`ELEMENTS_BETWEEN_CLOCK_CHECKS`].
    fn check_clock_at_intervals(&self, at: u32) -> Result<(), Halt> {
        if at.is_multiple_of(ELEMENTS_BETWEEN_CLOCK_CHECKS) {
            Ok(self.step.check_clock()?)
        } else {
            Ok(())
        }
    }

    #[inline(always)]
    fn set_local(&mut self, slot: u32, value: Value<D>) {
        let value = std::mem::replace(&mut self.locals[slot as usize], value);
        self.undo.push(Undo::Slot {
            process: self.process,
            slot: self.frame + slot,
            value,
        });
    }

    #[inline(always)]
    fn set_cell(&mut self, cell: u32, value: Value<D>) {
        let value = std::mem::replace(&mut self.cells[cell as usize], value);
        self.undo.push(Undo::Cell(cell, value));
    }

    #[inline(always)]
    fn store(&mut self, cell: u32, value: Value<D>) {
        self.set_cell(cell, value);
        // `watched` is empty if there are no invariants.
        if let Some(invariants) = self.code.watched.get(cell as usize) {
            self.dirty.extend(invariants);
        }
    }

    #[inline(always)]
    fn lock(&mut self, cell: u32, pc: u32) -> Result<(), Halt> {
        if self.domain.values().known(self.cells[cell as usize]) != Some(0) {
            return Err(Halt::Obstacle(Obstacle::blocked(pc)));
        }
        let access = Access::new(AccessKind::Acquire, cell);
        self.step.event.touched.push(access);
        let owner = self.domain.values().constant(i64::from(self.process) + 1);
        self.store(cell, owner);
        Ok(())
    }

    #[inline(always)]
    fn unlock(&mut self, cell: u32) -> Result<(), Halt> {
        let owner = self.domain.values().known(self.cells[cell as usize]);
        if owner != Some(i64::from(self.process) + 1) {
            return Err(Halt::Fault(Fault::NotHeld));
        }
        let access = Access::new(AccessKind::Release, cell);
        self.step.event.touched.push(access);
        let free = self.domain.values().constant(0);
        self.store(cell, free);
        Ok(())
    }
}

/// Drops redundant entries of the undo log. If a loop has written a place many times, only the
/// first entry of the place is needed, and the log of one step would otherwise grow with the number
/// of rounds.
#[cold]
fn tidy<V>(undo: &mut Vec<Undo<V>>, log: &mut Log) {
    if undo.len() < log.tidy_at {
        return;
    }
    let mut seen = FxHashSet::default();
    let mut at = 0;
    undo.retain(|undo| {
        at += 1;
        at <= log.first
            || match *undo {
                Undo::Cell(cell, _) => seen.insert((None, cell)),
                Undo::Slot { process, slot, .. } => seen.insert((Some(process), slot)),
                Undo::Frame { .. } | Undo::Inputs { .. } | Undo::Born(_) => true,
            }
    });
    // Doubling the length keeps the total cost linear.
    let own = undo.len() - log.first;
    log.tidy_at = log.tidy_at.max(log.first + 2 * own);
}

/// Drops repeated accesses of a loop in an atomic block: the first read and the first write of each
/// cell are enough. Accesses to locks are kept, because an acquire and a release are not
/// repetitions of each other.
#[cold]
fn tidy_touched(step: &mut StepInProgress<'_>) {
    let (touched, log) = (&mut step.event.touched, &mut step.log);
    if touched.len() < log.tidy_touched_at {
        return;
    }
    let mut seen = FxHashSet::default();
    touched.retain(|access| match access.kind {
        AccessKind::Read | AccessKind::Write => seen.insert(*access),
        AccessKind::Acquire | AccessKind::Release => true,
    });
    log.tidy_touched_at = log.tidy_touched_at.max(2 * touched.len());
}

/// Executes an instruction that only works on operands.
#[inline]
fn operate<V: Values>(values: &mut V, op: Op, operands: &mut Vec<V::Value>) -> Result<(), Fault> {
    let right = pop(operands);
    let value = match op {
        Op::Not => values.not(right),
        Op::Neg(ty) => values.negate(ty, right)?,
        Op::Select(ty) => {
            let left = pop(operands);
            let test = pop(operands);
            values.either(ty, test, left, right)
        }
        Op::Arith(op, ty) => values.arith(op, ty, pop(operands), right)?,
        Op::Compare(op, unsigned) => values.compare(op, unsigned, pop(operands), right),
        Op::And => values.and(pop(operands), right),
        Op::Or => values.or(pop(operands), right),
        _ => right,
    };
    operands.push(value);
    Ok(())
}

/// A range of instructions that its own jumps do not leave.
#[derive(Clone, Copy)]
pub(crate) struct InstrRange<'a> {
    /// The code that contains the range, up to its last instruction.
    pub ops: &'a [Op],
    /// The index of its first instruction.
    pub first: usize,
}

impl<'a> InstrRange<'a> {
    /// Returns the range of all instructions.
    #[inline]
    pub fn whole(ops: &'a [Op]) -> Self {
        Self { ops, first: 0 }
    }
}

/// Evaluates instructions that only read, without making a step. Returns `None` if it meets an
/// instruction of another kind, or needs an unknown value.
#[inline]
pub(crate) fn peek<V: Values>(
    values: &mut V,
    piece: InstrRange<'_>,
    cells: &[V::Value],
    locals: &[V::Value],
    operands: &mut Vec<V::Value>,
) -> Option<Result<V::Value, Fault>> {
    let InstrRange { ops, first } = piece;
    let mut pc = first;
    operands.clear();
    while pc != ops.len() {
        let op = *ops.get(pc)?;
        pc += 1;
        let computed = match op {
            Op::Mark(_) | Op::Open(_) | Op::BeginAtomic => Ok(()),
            Op::Const(value) => {
                operands.push(values.constant(value));
                Ok(())
            }
            Op::Local(slot) => {
                operands.push(locals[slot as usize]);
                Ok(())
            }
            Op::Load(cell) => {
                operands.push(cells[cell as usize]);
                Ok(())
            }
            Op::LocalAt(range) | Op::LoadAt(range) => {
                let index = values.known(operands.pop()?)?;
                let from = match op {
                    Op::LoadAt(_) => cells,
                    _ => locals,
                };
                element(range, index).map(|at| operands.push(from[at as usize]))
            }
            Op::Pick(len, _) => {
                let index = values.known(operands.pop()?)?;
                let first = operands.len() - len as usize;
                element(Range { first: 0, len }, index).map(|at| {
                    let value = operands[first + at as usize];
                    operands.truncate(first);
                    operands.push(value);
                })
            }
            Op::Within(len) => {
                let index = values.known(operands.pop()?)?;
                let index = element(Range { first: 0, len }, index);
                index.map(|at| operands.push(values.constant(at.into())))
            }
            Op::Arith(Arith::Div | Arith::Rem, _) if values.known(*operands.last()?).is_none() => {
                return None;
            }
            Op::Not
            | Op::Neg(_)
            | Op::Arith(..)
            | Op::Compare(..)
            | Op::And
            | Op::Or
            | Op::Select(_) => operate(values, op, operands),
            Op::ArithLocals(op, ty, [a, b]) => {
                let (a, b) = (locals[a as usize], locals[b as usize]);
                if matches!(op, Arith::Div | Arith::Rem) {
                    values.known(b)?;
                }
                values.arith(op, ty, a, b).map(|value| operands.push(value))
            }
            Op::Jump(to) => {
                pc = to as usize;
                Ok(())
            }
            Op::JumpIfFalse(to) => {
                if values.known(operands.pop()?)? == 0 {
                    pc = to as usize;
                }
                Ok(())
            }
            _ => return None,
        };
        if let Err(fault) = computed {
            return Some(Err(fault));
        }
    }
    operands.pop().map(Ok)
}
