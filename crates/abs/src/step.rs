//! Executes one run of a task, from one place where it rests to the next: the interpreter of the
//! instructions with effects. `pure.rs` evaluates the pure ones. Changes of the state are written
//! to an undo log, so that the machine can go back.

use std::sync::Arc;

use mazurka_core::{Access, Event, Mishap, MishapKind, Outcome, ProcessId, StepError};

use crate::arithmetic::{binary, compare, stepped, steps_between};
use crate::code::{Code, Op};
use crate::heap::{Frame, Life, Names, OUTPUT, Object, State, Task};
use crate::labels::Trail;
use crate::pure::{Calls, Evaluator, Fault, Registers, pop, spend};
use crate::syntax::ast::Binary;
use crate::text::object_name;
use crate::value::Value;

/// Limit on the frames of nested method calls.
const MAX_FRAMES: usize = 10_000;

/// The data needed to undo a step, besides the task that made it.
#[derive(Clone, Debug)]
pub(crate) enum Undo {
    /// The object, the field, and the value before.
    Field(u32, u32, Value),
    /// The first object of a cog, and the task that held the cog before.
    Holder(u32, Option<u32>),
    /// An object has died.
    Died(u32),
    /// A task was created.
    TaskBorn(u32),
    /// An object was created.
    ObjectBorn(u32),
    /// A line of output was added.
    Output,
    /// The time before.
    Clock(Value),
}

/// Why a step is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The task has to wait.
    Blocked,
    /// The schedule names an outcome that the step does not have.
    NoSuchOutcome,
}

impl From<Obstacle> for StepError {
    fn from(obstacle: Obstacle) -> Self {
        match obstacle {
            Obstacle::Blocked => StepError::NotReady,
            Obstacle::NoSuchOutcome => StepError::NoSuchOutcome,
        }
    }
}

/// An action within a step, used to describe the step.
#[derive(Clone, Debug)]
pub(crate) enum StepAction {
    Wrote {
        object: u32,
        field: u32,
        from: Value,
        to: Value,
    },
    Created(u32),
    /// Sends a message, which creates this task.
    Sent {
        task: u32,
    },
    /// Waits for the result of this task.
    Waits {
        task: u32,
    },
    /// Takes the result of this task.
    Took {
        task: u32,
    },
    /// Waits until this time.
    Until(Value),
    /// Releases the cog.
    Released,
    Printed(Arc<String>),
    Ended(Value),
    Threw(Value),
    Died(u32),
}

/// Receives the actions within a step.
pub(crate) trait Listener {
    /// Receives an action. It is computed only if the listener needs it.
    fn record(&mut self, action: impl FnOnce() -> StepAction);
}

impl Listener for () {
    #[inline]
    fn record(&mut self, _action: impl FnOnce() -> StepAction) {}
}

impl Listener for Vec<StepAction> {
    fn record(&mut self, action: impl FnOnce() -> StepAction) {
        self.push(action());
    }
}

/// How a run ends.
enum RunEnd {
    /// The task keeps the cog, at a `get`, a `duration` or a `println` at this place.
    Holding(u32),
    /// The task has released the cog, at the `await` or `suspend` before this place.
    Released(u32),
    /// The task has ended.
    Over,
}

/// The interpreter for one step: the code, the state, and the results of the step.
pub(crate) struct Cpu<'a, L> {
    pub code: &'a Code,
    pub state: &'a mut State,
    pub names: &'a mut Names,
    /// The task that makes the step.
    pub process: ProcessId,
    pub undo: &'a mut Vec<Undo>,
    pub event: &'a mut Event,
    /// The outcomes that the schedule gives for the choices of the step.
    pub outcomes: &'a [i64],
    pub calls: &'a mut Calls,
    /// The cogs of objects whose init blocks ran: kept to reuse the allocation.
    pub inits: &'a mut Vec<u32>,
    /// The work that the step may still do.
    pub fuel: u64,
    pub listener: &'a mut L,
    /// Records the path of the step.
    pub trail: Option<&'a Trail>,
    /// In a machine for nets, where no object dies: the class of an object that should have died.
    pub died: Option<&'a mut Option<u32>>,
}

/// The result of an instruction: the next one, or the end of the run.
enum NextInstr {
    At(u32),
    Rest(RunEnd),
}

/// The reason why an instruction cannot be completed.
enum Halt {
    Fault(Fault),
    Obstacle(Obstacle),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Halt::Fault(fault)
    }
}

/// Records an access of a step.
pub(crate) fn touch(event: &mut Event, access: Access) {
    if !event.touched.contains(&access) {
        event.touched.push(access);
    }
}

/// Whether the future of a task has a value, or an exception.
pub(crate) fn resolved(state: &State, task: u32) -> bool {
    let life = state.tasks.get(task as usize).map(|task| task.life);
    matches!(life, Some(Life::Ended | Life::Thrown | Life::Failed))
}

impl<L: Listener> Cpu<'_, L> {
    /// Makes a step of the task. The undo log gets all changes of the state except those of the
    /// task itself, of which the caller has a copy.
    pub fn run(&mut self) -> Result<(), Obstacle> {
        let process = self.process;
        let mut task = std::mem::replace(&mut self.state.tasks[process.index()], Task::unborn());
        let result = self.run_task(&mut task);
        let holds = match &result {
            Ok(RunEnd::Holding(pc)) => {
                task.pc = *pc;
                self.forget(&mut task, *pc + 1);
                true
            }
            Ok(RunEnd::Released(pc)) => {
                task.pc = *pc;
                self.forget(&mut task, *pc);
                false
            }
            _ => false,
        };
        let cog = self.state.objects[task.object as usize].cog;
        self.hold(cog, holds);
        // The task holds the cogs of new objects whose init blocks have not ended, so that no other
        // task runs on them.
        let mut inits: Vec<u32> = Vec::new();
        std::mem::swap(&mut inits, self.inits);
        for &cog in inits.iter().filter(|&&other| other != cog) {
            let inside = |frame: &Frame| self.state.objects[frame.object as usize].cog == cog;
            self.hold(cog, holds && task.frames.iter().any(inside));
        }
        inits.clear();
        *self.inits = inits;
        task.steps += 1;
        self.state.tasks[process.index()] = task;
        result.map(|_| ())
    }

    /// Sets whether the task that makes the step holds a cog.
    fn hold(&mut self, cog: u32, holds: bool) {
        let process = self.process.0;
        let held = self.state.objects[cog as usize].holder == Some(process);
        if held != holds {
            let holder = holds.then_some(process);
            let old = std::mem::replace(&mut self.state.objects[cog as usize].holder, holder);
            self.undo.push(Undo::Holder(cog, old));
            let root = self.names.object(cog);
            let cell = self.code.classes[root.class as usize].cog_cell();
            touch(self.event, Access::write(root.cells + cell));
        }
    }

    /// Clears the dead slots of the topmost frame.
    fn forget(&self, task: &mut Task, at: u32) {
        let (Some(dead), Some(frame)) = (self.code.dead.get(&at), task.frames.last()) else {
            return;
        };
        // The first slot of a recovery block holds the exception that the task may end with.
        let recovers = task.recovers && task.frames.len() == 1;
        for &slot in dead.iter().filter(|&&slot| slot > 0 || !recovers) {
            let slot = frame.base + slot;
            if slot >= frame.top {
                break;
            }
            task.stack[slot as usize] = Value::Unit;
        }
    }

    fn evaluator(&self, object: u32) -> Evaluator<'_> {
        Evaluator {
            code: self.code,
            names: self.names,
            objects: &self.state.objects,
            object,
            task: self.process.0,
            trail: None,
            now: &self.state.now,
            deadline: None,
        }
    }

    /// Runs pure instructions up to the first that is not pure, and returns its place.
    fn pure(&mut self, pc: u32, task: &mut Task) -> Result<u32, (Fault, u32)> {
        let Some(frame) = task.frames.last() else {
            return Ok(pc);
        };
        let evaluator = Evaluator {
            code: self.code,
            names: self.names,
            objects: &self.state.objects,
            object: frame.object,
            task: self.process.0,
            trail: self.trail,
            now: &self.state.now,
            deadline: task.deadline.as_ref(),
        };
        evaluator.run(Registers {
            pc,
            base: frame.base as usize,
            stack: &mut task.stack,
            calls: self.calls,
            fuel: &mut self.fuel,
        })
    }

    fn run_task(&mut self, task: &mut Task) -> Result<RunEnd, Obstacle> {
        let mut pc = task.pc;
        let cogs = task.frames.iter().skip(1);
        self.inits
            .extend({ cogs }.map(|frame| self.state.objects[frame.object as usize].cog));
        let dead = Value::constant(self.code.exceptions.object_dead);
        let idle = self.code.is_idle(pc);
        if self.state.objects[task.object as usize].dead && !idle {
            self.listener.record(|| StepAction::Threw(dead.clone()));
            task.life = Life::Thrown;
            self.end(task, Some(dead));
            return Ok(RunEnd::Over);
        }
        let top = task.frames.last().map_or(0, |frame| frame.object);
        if self.state.objects[top as usize].dead && !idle {
            match self.throw(pc, dead, task) {
                Some(handler) => pc = handler,
                None => return Ok(RunEnd::Over),
            }
        } else if self.code.ops[pc as usize] == Op::Get {
            let Some(Value::Future(future)) = task.stack.last() else {
                return Err(Obstacle::Blocked);
            };
            let future = *future;
            if !resolved(self.state, future) {
                return Err(Obstacle::Blocked);
            }
            self.join(future);
        }
        if self.code.ops[pc as usize] == Op::Block {
            let order = |wake: &Value| compare(wake, &self.state.now);
            if task.wake.as_ref().map(order) == Some(std::cmp::Ordering::Greater) {
                return Err(Obstacle::Blocked);
            }
            task.wake = None;
            pc += 1;
        }
        loop {
            let result = match self.pure(pc, task) {
                Ok(at) => {
                    pc = at;
                    self.run_op(at, task)
                }
                Err((fault, at)) => {
                    pc = at;
                    Err(Halt::Fault(fault))
                }
            };
            match result {
                Ok(NextInstr::At(next)) => pc = next,
                Ok(NextInstr::Rest(rest)) => return Ok(rest),
                Err(Halt::Obstacle(obstacle)) => return Err(obstacle),
                Err(Halt::Fault(Fault::TooMuch)) => {
                    self.halt(task, MishapKind::LocalLimit, pc, None);
                    return Ok(RunEnd::Over);
                }
                Err(Halt::Fault(Fault::Exception(exception))) => {
                    match self.throw(pc, exception, task) {
                        Some(handler) => {
                            if let Some(trail) = self.trail {
                                trail.turn(handler, true);
                            }
                            pc = handler;
                        }
                        None => return Ok(RunEnd::Over),
                    }
                }
            }
        }
    }

    fn join(&mut self, task: u32) {
        let process = ProcessId(task);
        if !self.event.joined.contains(&process) {
            self.event.joined.push(process);
        }
    }

    /// Halts the task.
    pub(crate) fn halt(
        &mut self,
        task: &mut Task,
        kind: MishapKind,
        site: u32,
        result: Option<Value>,
    ) {
        task.life = match kind {
            MishapKind::Failure => Life::Failed,
            _ => Life::Lost,
        };
        self.end(task, result);
        self.event.mishaps.push(Mishap {
            process: Some(self.process),
            kind,
            site,
        });
    }

    pub(crate) fn end(&mut self, task: &mut Task, result: Option<Value>) {
        task.result = result;
        task.frames.clear();
        task.stack.clear();
        task.pc = 0;
        task.wake = None;
    }

    fn null(&self) -> Halt {
        let evaluator = self.evaluator(0);
        Halt::Fault(evaluator.exception(self.code.exceptions.null_pointer))
    }

    /// Runs one instruction that is not pure.
    fn run_op(&mut self, pc: u32, task: &mut Task) -> Result<NextInstr, Halt> {
        let this = task.frames.last().map_or(0, |frame| frame.object);
        match self.code.ops[pc as usize] {
            Op::SetField(field) => {
                let value = pop(&mut task.stack);
                let fields = &mut self.state.objects[this as usize].fields;
                let cell = self.names.object(this).cells + field;
                let old = std::mem::replace(&mut fields[field as usize], value);
                touch(self.event, Access::write(cell));
                let new = &self.state.objects[this as usize].fields[field as usize];
                self.listener.record(|| StepAction::Wrote {
                    object: this,
                    field,
                    from: old.clone(),
                    to: new.clone(),
                });
                self.undo.push(Undo::Field(this, field, old));
            }
            Op::New { class, local, args } => {
                let object = self.create(class, local, args, task)?;
                return Ok(self.enter_init(pc, object, task));
            }
            Op::Created => return Ok(self.created(task)),
            Op::Async { method, args } => {
                let args = task.stack.split_off(task.stack.len() - args as usize);
                let Value::Object(object) = pop(&mut task.stack) else {
                    return Err(self.null());
                };
                let child = self.send(object, method, &args, task)?;
                self.state.tasks[child as usize].kept = self.code.kept.contains(&pc);
                task.stack.push(Value::Future(child));
            }
            Op::Sync { method, args, .. } => return self.call(pc, method, args, task),
            Op::Get => {
                let future = match task.stack.last() {
                    Some(Value::Future(future)) => *future,
                    _ => return Err(self.null()),
                };
                if !self.event.joined.contains(&ProcessId(future)) {
                    self.listener.record(|| StepAction::Waits { task: future });
                    return Ok(NextInstr::Rest(RunEnd::Holding(pc)));
                }
                self.take(task)?;
            }
            Op::Take => self.take(task)?,
            Op::Await | Op::Suspend => {
                self.listener.record(|| StepAction::Released);
                return Ok(NextInstr::Rest(RunEnd::Released(pc + 1)));
            }
            Op::Claim => {
                let Value::Future(future) = pop(&mut task.stack) else {
                    return Err(self.null());
                };
                if !resolved(self.state, future) {
                    return Err(Halt::Obstacle(Obstacle::Blocked));
                }
                self.join(future);
            }
            Op::Guard => {
                if let Value::Bool(false) = pop(&mut task.stack) {
                    return Err(Halt::Obstacle(Obstacle::Blocked));
                }
            }
            Op::Resume => {
                task.wake = None;
                if let Some(trail) = self.trail {
                    trail.start();
                }
            }
            Op::Wake => self.wake(task)?,
            Op::Block => return Ok(NextInstr::Rest(RunEnd::Holding(pc))),
            Op::Deadline(slot) => {
                let base = task.frames.last().map_or(0, |frame| frame.base);
                let end = match &task.stack[(base + slot) as usize] {
                    Value::Data(data) => data.parts.first().cloned(),
                    _ => None,
                };
                let end = end.map(|left| binary(Binary::Add, &left, &self.state.now));
                if let (Some(Ok(end)), Some(Value::Future(child))) = (end, task.stack.last()) {
                    self.state.tasks[*child as usize].deadline = Some(end);
                }
            }
            Op::Throw | Op::Rethrow => {
                return Err(Halt::Fault(Fault::Exception(pop(&mut task.stack))));
            }
            Op::Assert => {
                if let Value::Bool(false) = pop(&mut task.stack) {
                    let evaluator = self.evaluator(this);
                    return Err(Halt::Fault(
                        evaluator.exception(self.code.exceptions.assertion_failed),
                    ));
                }
            }
            Op::Print { line } => {
                if self.is_noticed() && !self.code.observed.no_output {
                    return Ok(NextInstr::Rest(RunEnd::Holding(pc)));
                }
                if let Value::Text(text) = pop(&mut task.stack) {
                    let text = if line {
                        Arc::new(format!("{text}\n"))
                    } else {
                        text
                    };
                    self.listener.record(|| StepAction::Printed(text.clone()));
                    if !self.code.observed.no_output {
                        touch(self.event, Access::write(OUTPUT));
                        self.state.output.push(text);
                        self.undo.push(Undo::Output);
                    }
                }
                task.stack.push(Value::Unit);
            }
            Op::Random => self.random(task)?,
            Op::Die => {
                let exception = pop(&mut task.stack);
                return Ok(match self.die(exception, task) {
                    Some(handler) => NextInstr::At(handler),
                    None => NextInstr::Rest(RunEnd::Over),
                });
            }
            Op::Recovered => {
                task.life = Life::Thrown;
                let exception = std::mem::replace(&mut task.stack[0], Value::Unit);
                self.end(task, Some(exception));
                return Ok(NextInstr::Rest(RunEnd::Over));
            }
            Op::Leave => {
                let value = pop(&mut task.stack);
                let Some(frame) = task.frames.pop() else {
                    return Ok(NextInstr::Rest(RunEnd::Over));
                };
                task.stack.truncate(frame.base as usize);
                if task.frames.is_empty() {
                    self.listener.record(|| StepAction::Ended(value.clone()));
                    task.life = Life::Ended;
                    self.end(task, Some(value));
                    return Ok(NextInstr::Rest(RunEnd::Over));
                }
                task.stack.push(value);
                return Ok(NextInstr::At(frame.call + 2));
            }
            // The compiler emits no other instructions in a method.
            _ => return Err(Halt::Fault(Fault::TooMuch)),
        }
        Ok(NextInstr::At(pc + 1))
    }

    /// Replaces the resolved future on the stack by its value, or throws its exception.
    fn take(&mut self, task: &mut Task) -> Result<(), Halt> {
        let Value::Future(future) = pop(&mut task.stack) else {
            return Err(Halt::Fault(Fault::TooMuch));
        };
        self.listener.record(|| StepAction::Took { task: future });
        let other = &self.state.tasks[future as usize];
        let value = other.result.clone().unwrap_or(Value::Unit);
        match other.life {
            Life::Failed | Life::Thrown => Err(Halt::Fault(Fault::Exception(value))),
            _ => {
                task.stack.push(value);
                Ok(())
            }
        }
    }

    /// Whether the step has done something that other cogs can notice.
    fn is_noticed(&self) -> bool {
        !self.event.spawned.is_empty() || self.event.touched.contains(&Access::write(OUTPUT))
    }

    /// Starts a duration. If its bounds differ, the schedule chooses its length: the lower bound
    /// plus a multiple of the unit, or the upper bound.
    fn wake(&mut self, task: &mut Task) -> Result<(), Halt> {
        let (max, min) = (pop(&mut task.stack), pop(&mut task.stack));
        let steps = steps_between(&min, &max, &self.code.unit);
        let steps = steps.ok_or(Halt::Fault(Fault::TooMuch))?;
        let chosen = match steps {
            0 => min,
            _ => match self.choose(steps + 1)? {
                last if last == steps => max,
                step => {
                    stepped(&min, step, &self.code.unit).map_err(|_| Halt::Fault(Fault::TooMuch))?
                }
            },
        };
        let wake = binary(Binary::Add, &self.state.now, &chosen);
        let wake = wake.map_err(|_| Halt::Fault(Fault::TooMuch))?;
        self.listener.record(|| StepAction::Until(wake.clone()));
        // If a guard has several durations, the task waits for the one that ends last.
        let later = |known: &Value| compare(known, &wake) == std::cmp::Ordering::Greater;
        if !task.wake.as_ref().is_some_and(later) {
            task.wake = Some(wake.clone());
        }
        task.stack.push(wake);
        Ok(())
    }

    fn random(&mut self, task: &mut Task) -> Result<(), Halt> {
        let end = match pop(&mut task.stack) {
            Value::Int(below) if below > 0 => below,
            Value::Int(_) => {
                let exception = self.code.exceptions.pattern_match_failed;
                return Err(Halt::Fault(self.evaluator(0).exception(exception)));
            }
            _ => return Err(Halt::Fault(Fault::TooMuch)),
        };
        let value = self.choose(end)?;
        task.stack.push(Value::Int(value));
        Ok(())
    }

    /// Returns one of `end` values, as the schedule chooses.
    fn choose(&mut self, end: i64) -> Result<i64, Halt> {
        let given = self.outcomes.get(self.event.outcomes.len()).copied();
        let value = given.unwrap_or(0);
        if !(0..end).contains(&value) {
            return Err(Halt::Obstacle(Obstacle::NoSuchOutcome));
        }
        self.event.outcomes.push(Outcome { value, end });
        Ok(value)
    }

    /// Creates the object of a `new`.
    fn create(&mut self, class: u32, local: bool, args: u32, task: &mut Task) -> Result<u32, Halt> {
        spend(&mut self.fuel, 1)?;
        if task.frames.len() > MAX_FRAMES {
            return Err(Halt::Fault(Fault::TooMuch));
        }
        let this = task.frames.last().map_or(0, |frame| frame.object);
        let info = &self.code.classes[class as usize];
        let object = self
            .names
            .intern(self.process, task.objects, class, info.fields.len() as u32);
        task.objects += 1;
        if let Some(chosen) = &self.code.object {
            let this =
                *chosen == info.name || *chosen == object_name(object, self.code, self.names);
            if this {
                self.names.choose(object);
            }
        }
        while self.state.objects.len() <= object as usize {
            self.state.objects.push(Object::not_created());
        }
        let cog = if local {
            self.state.objects[this as usize].cog
        } else {
            object
        };
        let new = &mut self.state.objects[object as usize];
        new.exists = true;
        new.class = class;
        new.cog = cog;
        new.holder = None;
        new.dead = false;
        new.fields.clear();
        new.fields
            .extend(task.stack.drain(task.stack.len() - args as usize..));
        new.fields.resize(info.fields.len(), Value::Null);
        self.undo.push(Undo::ObjectBorn(object));
        let first = self.names.object(object).cells;
        let all = Access::write(first).over(info.fields.len() as u32 + 2);
        self.event.touched.push(all);
        self.listener.record(|| StepAction::Created(object));
        Ok(object)
    }

    /// Enters the init block of an object that the instruction at `pc` has created.
    fn enter_init(&mut self, pc: u32, object: u32, task: &mut Task) -> NextInstr {
        let class = self.state.objects[object as usize].class;
        let info = &self.code.classes[class as usize];
        self.inits.push(self.state.objects[object as usize].cog);
        let base = task.stack.len() as u32;
        let top = base + info.init_slots;
        task.frames.push(Frame {
            call: pc,
            base,
            top,
            object,
        });
        task.stack.resize(top as usize, Value::Unit);
        NextInstr::At(info.init)
    }

    /// Ends the init block: an active object starts.
    fn created(&mut self, task: &mut Task) -> NextInstr {
        let Some(frame) = task.frames.pop() else {
            return NextInstr::Rest(RunEnd::Over);
        };
        task.stack.truncate(frame.base as usize);
        task.stack.push(Value::Object(frame.object));
        let class = self.state.objects[frame.object as usize].class;
        if let Some(run) = self.code.classes[class as usize].run {
            self.start(frame.object, run, &[], task);
        }
        NextInstr::At(frame.call + 1)
    }

    /// Makes an asynchronous call: starts a new task.
    fn send(
        &mut self,
        object: u32,
        method: u32,
        args: &[Value],
        task: &mut Task,
    ) -> Result<u32, Halt> {
        spend(&mut self.fuel, 1)?;
        let class = self.state.objects[object as usize].class;
        let Some(&method) = self.code.classes[class as usize].by_name.get(&method) else {
            return Err(Halt::Fault(Fault::TooMuch));
        };
        Ok(self.start(object, method, args, task))
    }

    fn start(&mut self, object: u32, method: u32, args: &[Value], task: &mut Task) -> u32 {
        let child = self.names.tasks.child(self.process, task.tasks);
        task.tasks += 1;
        while self.state.tasks.len() <= child.index() {
            self.state.tasks.push(Task::unborn());
        }
        let class = self.state.objects[object as usize].class;
        let info = &self.code.classes[class as usize].methods[method as usize];
        let new = &mut self.state.tasks[child.index()];
        new.life = Life::Alive;
        new.pc = info.entry;
        new.object = object;
        new.method = method;
        new.frames.clear();
        new.frames.push(Frame {
            call: u32::MAX,
            base: 0,
            top: info.slots,
            object,
        });
        new.stack.clear();
        new.stack.extend_from_slice(args);
        new.stack.resize(info.slots as usize, Value::Unit);
        new.tasks = 0;
        new.objects = 0;
        new.steps = 0;
        new.kept = false;
        new.recovers = false;
        new.wake = None;
        new.deadline = None;
        new.result = None;
        self.event.spawned.push(child);
        self.undo.push(Undo::TaskBorn(child.0));
        self.listener.record(|| StepAction::Sent { task: child.0 });
        child.0
    }

    /// Makes a synchronous call. If the object is in the cog of the task, enters the method.
    /// Otherwise starts a new task, and continues at the `get` after the call, which waits for the
    /// task.
    fn call(
        &mut self,
        pc: u32,
        method: u32,
        args: u32,
        task: &mut Task,
    ) -> Result<NextInstr, Halt> {
        let first = task.stack.len() - args as usize;
        let Value::Object(object) = task.stack[first - 1] else {
            task.stack.truncate(first - 1);
            return Err(self.null());
        };
        let this = task.frames.last().map_or(0, |frame| frame.object);
        let cogs = [object, this].map(|object| self.state.objects[object as usize].cog);
        if cogs[0] != cogs[1] {
            let args = task.stack.split_off(first);
            pop(&mut task.stack);
            let child = self.send(object, method, &args, task)?;
            self.state.tasks[child as usize].kept = true;
            task.stack.push(Value::Future(child));
            return Ok(NextInstr::At(pc + 1));
        }
        spend(&mut self.fuel, 1)?;
        if task.frames.len() > MAX_FRAMES {
            return Err(Halt::Fault(Fault::TooMuch));
        }
        if self.state.objects[object as usize].dead {
            let dead = self.code.exceptions.object_dead;
            return Err(Halt::Fault(self.evaluator(this).exception(dead)));
        }
        let class = &self.code.classes[self.state.objects[object as usize].class as usize];
        let Some(&method) = class.by_name.get(&method) else {
            return Err(Halt::Fault(Fault::TooMuch));
        };
        let info = &class.methods[method as usize];
        if let Some(trail) = self.trail {
            trail.enter(info.entry);
        }
        self.forget(task, pc + 2);
        task.stack.remove(first - 1);
        let base = first as u32 - 1;
        let top = base + info.slots;
        task.stack.resize(top as usize, Value::Unit);
        task.frames.push(Frame {
            call: pc,
            base,
            top,
            object,
        });
        Ok(NextInstr::At(info.entry))
    }
}
