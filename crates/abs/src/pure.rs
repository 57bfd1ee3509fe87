//! Evaluates pure code: instructions that may read fields and change only the stack (`code.rs`).
//! The evaluator keeps the calls of functions in a list and does not call itself, so deep recursion
//! in a program does not overflow the call stack. Calls and large values cost *fuel*, which bounds
//! the work of a step.

use crate::arithmetic::{self, ArithmeticError};
use crate::code::{Builtin, Code, Op};
use crate::heap::{Names, Object};
use crate::labels::Trail;
use crate::memo::Memo;
use crate::syntax::ast::Binary;
use crate::text;
use crate::value::Value;

/// Limit on the number of values on the stack.
const MAX_STACK: usize = 1 << 22;

/// Why the evaluation of pure code stops without a value.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    Exception(Value),
    /// The evaluation takes more work or memory than a step may use.
    TooMuch,
}

/// The environment of pure code.
pub(crate) struct Evaluator<'a> {
    pub code: &'a Code,
    pub names: &'a Names,
    pub objects: &'a [Object],
    /// The object that is `this`.
    pub object: u32,
    /// The task that evaluates the code.
    pub task: u32,
    /// Records the branches that the code takes, if labels of steps are needed.
    pub trail: Option<&'a Trail>,
    pub now: &'a Value,
    /// The deadline of the task.
    pub deadline: Option<&'a Value>,
}

/// The calls of functions: those in progress, and cached values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    /// For each call in progress, the place to return to and the start of the caller's slots.
    open: Vec<(u32, u32)>,
    memo: Memo,
}

/// The position of pure code, and the memory that it works with.
pub(crate) struct Registers<'a> {
    /// The next instruction.
    pub pc: u32,
    /// The start of the slots of the current function on the stack.
    pub base: usize,
    pub stack: &'a mut Vec<Value>,
    /// The functions that called the current one.
    pub calls: &'a mut Calls,
    /// The work that is left.
    pub fuel: &'a mut u64,
}

impl Evaluator<'_> {
    /// Runs pure instructions up to the first instruction that is not pure, and returns its place.
    /// The error is the fault, and the place in the method where it occurred. If the fault is in a
    /// function, this is the place where the method calls the function.
    pub fn run(&self, mut at: Registers<'_>) -> Result<u32, (Fault, u32)> {
        at.calls.open.clear();
        at.calls.memo.forget();
        loop {
            let op = self.code.ops[at.pc as usize];
            let fault = match self.run_op(op, &mut at) {
                Ok(true) => continue,
                Ok(false) => return Ok(at.pc),
                Err(fault) => fault,
            };
            let place = at.calls.open.first().map_or(at.pc, |&(back, _)| back - 1);
            return Err((fault, place));
        }
    }

    /// Records a branch in the trail.
    #[inline]
    fn turn(&self, pc: u32, falls_through: bool) {
        if let Some(trail) = self.trail {
            trail.turn(pc, falls_through);
        }
    }

    /// Runs one instruction. Returns false if it is not pure.
    #[inline]
    fn run_op(&self, op: Op, at: &mut Registers<'_>) -> Result<bool, Fault> {
        let stack = &mut *at.stack;
        match op {
            Op::Const(number) => stack.push(self.code.constants[number as usize].clone()),
            Op::Local(slot) => stack.push(stack[at.base + slot as usize].clone()),
            Op::Set(slot) => stack[at.base + slot as usize] = pop(stack),
            Op::Field(field) => {
                stack.push(self.objects[self.object as usize].fields[field as usize].clone())
            }
            Op::This => stack.push(Value::Object(self.object)),
            Op::Destiny => stack.push(Value::Future(self.task)),
            Op::Construct { constructor, parts } => {
                let parts = stack.split_off(stack.len() - parts as usize);
                stack.push(Value::data(constructor, parts, self.names));
            }
            Op::Part(part) => {
                let Value::Data(data) = pop(stack) else {
                    return Err(self.exception(self.code.exceptions.pattern_match_failed));
                };
                stack.push(data.parts[part as usize].clone());
            }
            Op::Unary(operator) => {
                let operand = pop(stack);
                stack.push(
                    arithmetic::unary(operator, &operand).map_err(|t| self.arithmetic_fault(t))?,
                );
            }
            Op::Binary(operator) => {
                let right = pop(stack);
                let left = pop(stack);
                let value = self.binary(operator, &left, &right, at.fuel)?;
                stack.push(value);
            }
            Op::Jump(target) => {
                spend(at.fuel, 1)?;
                at.pc = target;
                return Ok(true);
            }
            Op::JumpUnless(target) => {
                let falls_through = !matches!(pop(stack), Value::Bool(false));
                self.turn(at.pc, falls_through);
                if !falls_through {
                    at.pc = target;
                    return Ok(true);
                }
            }
            Op::JumpUnlessMade {
                constructor,
                target,
            } => {
                let made =
                    matches!(pop(stack), Value::Data(data) if data.constructor == constructor);
                self.turn(at.pc, made);
                if !made {
                    at.pc = target;
                    return Ok(true);
                }
            }
            Op::Call(function) => {
                if at.calls.open.is_empty() && self.trail.is_none() && !self.code.reads_time {
                    let parameters = self.code.functions[function as usize].parameters as usize;
                    let first = stack.len() - parameters;
                    let known = at.calls.memo.recall(function, &stack[first..], *at.fuel);
                    if let Some((value, cost)) = known {
                        spend(at.fuel, cost)?;
                        stack.truncate(first);
                        stack.push(value);
                        at.pc = at.pc.wrapping_add(1);
                        return Ok(true);
                    }
                }
                self.enter(function, &[], at)?;
            }
            Op::CallValue(args) => {
                let below = stack.len() - 1 - args as usize;
                let Value::Function(function) = stack.remove(below) else {
                    return Err(self.exception(self.code.exceptions.pattern_match_failed));
                };
                if let Some(trail) = self.trail {
                    trail.enter(self.code.functions[function.0 as usize].entry);
                }
                self.enter(function.0, &function.1, at)?;
            }
            Op::Function { function, captured } => {
                let captured = stack.split_off(stack.len() - captured as usize);
                stack.push(Value::Function((function, captured).into()));
            }
            Op::Return => {
                let value = pop(stack);
                stack.truncate(at.base);
                let Some((back, frame)) = at.calls.open.pop() else {
                    stack.push(value);
                    return Ok(false);
                };
                if at.calls.open.is_empty() {
                    at.calls.memo.end_call(&value, *at.fuel);
                }
                stack.push(value);
                at.pc = back;
                at.base = frame as usize;
                return Ok(true);
            }
            Op::Builtin(builtin) => self.builtin(builtin, stack, at.fuel)?,
            Op::Join(count) => {
                let parts = stack.split_off(stack.len() - count as usize);
                let mut all = String::new();
                for part in &parts {
                    text::write(&mut all, part, self.code, self.names);
                }
                stack.push(self.text(all, at.fuel)?);
            }
            Op::Cast(interface) => {
                let unfit = match stack.last() {
                    Some(Value::Object(object)) => !self.implements(*object, interface),
                    _ => false,
                };
                if unfit {
                    pop(stack);
                    stack.push(Value::Null);
                }
            }
            Op::Implements(interface) => {
                let yes = matches!(pop(stack), Value::Object(object) if self.implements(object, interface));
                stack.push(Value::Bool(yes));
            }
            Op::Elapsed => {
                let wake = pop(stack);
                let order = arithmetic::compare(&wake, self.now);
                stack.push(Value::Bool(order != std::cmp::Ordering::Greater));
            }
            Op::NoMatch | Op::Impossible => {
                return Err(self.exception(self.code.exceptions.pattern_match_failed));
            }
            Op::Pop => {
                pop(stack);
            }
            _ => return Ok(false),
        }
        at.pc = at.pc.wrapping_add(1);
        Ok(true)
    }

    /// Calls a function, with the values that it has captured.
    #[inline]
    fn enter(
        &self,
        function: u32,
        captured: &[Value],
        at: &mut Registers<'_>,
    ) -> Result<(), Fault> {
        spend(at.fuel, 1)?;
        let stack = &mut *at.stack;
        if stack.len() > MAX_STACK {
            return Err(Fault::TooMuch);
        }
        let info = &self.code.functions[function as usize];
        at.calls.open.push((at.pc + 1, at.base as u32));
        at.base = stack.len() - info.parameters as usize;
        stack.resize(at.base + info.slots as usize, Value::Unit);
        for (value, slot) in captured.iter().zip(&info.captures) {
            stack[at.base + *slot as usize] = value.clone();
        }
        // The caller adds 1 to go to the next instruction, which is then the entry.
        at.pc = info.entry.wrapping_sub(1);
        Ok(())
    }

    fn implements(&self, object: u32, interface: u32) -> bool {
        let class = self.objects[object as usize].class;
        self.code.classes[class as usize]
            .interfaces
            .contains(&interface)
    }

    pub fn exception(&self, constructor: u32) -> Fault {
        Fault::Exception(Value::constant(constructor))
    }

    fn arithmetic_fault(&self, arithmetic_fault: ArithmeticError) -> Fault {
        match arithmetic_fault {
            ArithmeticError::DivisionByZero => {
                self.exception(self.code.exceptions.division_by_zero)
            }
            ArithmeticError::TooLarge => Fault::TooMuch,
            ArithmeticError::Mistyped => self.exception(self.code.exceptions.pattern_match_failed),
        }
    }

    fn binary(
        &self,
        operator: Binary,
        left: &Value,
        right: &Value,
        fuel: &mut u64,
    ) -> Result<Value, Fault> {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let order = || left.order(right, self.names);
        Ok(Value::Bool(match operator {
            Binary::Equal => left.same(right),
            Binary::Unequal => !left.same(right),
            Binary::Less => order() == Less,
            Binary::LessEqual => matches!(order(), Less | Equal),
            Binary::Greater => order() == Greater,
            Binary::GreaterEqual => matches!(order(), Greater | Equal),
            _ => {
                if let (Value::Text(a), Value::Text(b), Binary::Add) = (left, right, operator) {
                    return self.text([a.as_str(), b.as_str()].concat(), fuel);
                }
                let value = arithmetic::binary(operator, left, right)
                    .map_err(|t| self.arithmetic_fault(t))?;
                spend(fuel, arithmetic::work(&value))?;
                return Ok(value);
            }
        }))
    }

    /// Creates a text, unless it is too long.
    fn text(&self, text: String, fuel: &mut u64) -> Result<Value, Fault> {
        spend(fuel, text.len() as u64 / 64)?;
        if text.len() > text::MOST {
            Err(Fault::TooMuch)
        } else {
            Ok(Value::Text(text.into()))
        }
    }

    fn builtin(
        &self,
        builtin: Builtin,
        stack: &mut Vec<Value>,
        fuel: &mut u64,
    ) -> Result<(), Fault> {
        let arithmetic_fault = |t| self.arithmetic_fault(t);
        let mistyped = || self.arithmetic_fault(ArithmeticError::Mistyped);
        let float = |value: &Value| {
            arithmetic::float(value).ok_or(self.arithmetic_fault(ArithmeticError::Mistyped))
        };
        let value = match builtin {
            Builtin::ToString => {
                let mut all = String::new();
                text::write(&mut all, &pop(stack), self.code, self.names);
                self.text(all, fuel)?
            }
            Builtin::Length => match pop(stack) {
                Value::Text(text) => Value::Int(text.chars().count() as i64),
                _ => return Err(mistyped()),
            },
            Builtin::Substring => {
                let (length, start, text) = (pop(stack), pop(stack), pop(stack));
                let (Value::Int(length), Value::Int(start), Value::Text(text)) =
                    (length, start, text)
                else {
                    return Err(mistyped());
                };
                let (skip, take) = (start.max(0) as usize, length.max(0) as usize);
                Value::Text(
                    text.chars()
                        .skip(skip)
                        .take(take)
                        .collect::<String>()
                        .into(),
                )
            }
            Builtin::Truncate => arithmetic::truncated(&pop(stack)).map_err(arithmetic_fault)?,
            Builtin::Float => Value::Float(float(&pop(stack))?),
            Builtin::Rat => match arithmetic::rational(&pop(stack)) {
                Some(value) => Value::rational(value),
                None => return Err(mistyped()),
            },
            Builtin::Floor => {
                arithmetic::rounded(&pop(stack), f64::floor).map_err(arithmetic_fault)?
            }
            Builtin::Ceil => {
                arithmetic::rounded(&pop(stack), f64::ceil).map_err(arithmetic_fault)?
            }
            Builtin::Numerator => match arithmetic::rational(&pop(stack)) {
                Some(value) => Value::integer(value.numer().clone()),
                None => return Err(mistyped()),
            },
            Builtin::Denominator => match arithmetic::rational(&pop(stack)) {
                Some(value) => Value::integer(value.denom().clone()),
                None => return Err(mistyped()),
            },
            Builtin::SquareRoot => Value::Float(float(&pop(stack))?.sqrt()),
            Builtin::Logarithm => Value::Float(float(&pop(stack))?.ln()),
            Builtin::Clock => self.now.clone(),
            Builtin::Deadline => match self.deadline {
                None => Value::Int(-1),
                Some(end) => {
                    let left = arithmetic::binary(Binary::Subtract, end, self.now)
                        .map_err(arithmetic_fault)?;
                    match arithmetic::compare(&left, &Value::Int(0)) {
                        std::cmp::Ordering::Less => Value::Int(0),
                        _ => left,
                    }
                }
            },
            Builtin::Absolute => arithmetic::absolute(pop(stack)).map_err(arithmetic_fault)?,
            Builtin::Exponential => Value::Float(float(&pop(stack))?.exp()),
        };
        stack.push(value);
        Ok(())
    }
}

/// Pops the topmost operand. The compiler never pops more operands than exist.
#[inline]
pub(crate) fn pop(stack: &mut Vec<Value>) -> Value {
    stack.pop().unwrap_or(Value::Unit)
}

#[inline]
pub(crate) fn spend(fuel: &mut u64, amount: u64) -> Result<(), Fault> {
    match fuel.checked_sub(amount) {
        Some(left) => {
            *fuel = left;
            Ok(())
        }
        None => Err(Fault::TooMuch),
    }
}
