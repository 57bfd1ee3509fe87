//! States, and the successors of a state by one step of one process.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::ast::Ty;
use super::code::{Code, Instr, OperationResult, Property, apply, wrap};
use super::objects::{ActionResult, NOT_HELD, Object};
use super::table::Table;
use super::{Failure, FailureKind, Limits};

/// The maximal depth of nested calls.
pub(super) const DEEPEST: usize = 40;

/// The maximal number of processes. This stops an infinite loop that spawns processes.
const MOST: usize = 40;

/// The status of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Status {
    Running,
    Ended,
    Failed,
    /// A false `assume`.
    Discarded,
}

/// An active procedure or process body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub at: usize,
    pub locals: Vec<i128>,
}

/// A process. Between steps, the next instruction of the last frame is a `Yield`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub status: Status,
    /// The first instruction of its body.
    pub entry: usize,
    pub frames: Vec<Frame>,
    pub stack: Vec<i128>,
    pub children: Vec<usize>,
    pub inputs: u32,
    pub atomic: u32,
    pub fused: bool,
    /// Whether it is between `Begin` and `Over` of a statement that belongs as a whole to the step
    /// of a guard.
    pub whole: bool,
    /// Whether it is in a `try` (`trying`), and whether this `try` has skipped an operation
    /// (`refused`).
    pub trying: bool,
    pub refused: bool,
    /// Whether a false `assume` happens before its next step.
    pub tainted: bool,
}

/// The later accesses that some false `assume` happens before: for each cell its reads (`read`) and
/// its writes (`written`), for each lock its uses, and for each invariant its checks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Taint {
    pub read: Vec<bool>,
    pub written: Vec<bool>,
    pub locks: Vec<bool>,
    pub invariants: Vec<bool>,
}

/// A state of the program: everything that can influence later steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub cells: Vec<i128>,
    /// The holder of each lock.
    pub locks: Vec<Option<usize>>,
    pub objects: Vec<Object>,
    /// The processes by their numbers, which [`Machine::child`] assigns.
    pub processes: Table,
    /// The values of the inputs, by the number of the process and the index of the input in it.
    /// Unknown initial values have the process `usize::MAX`.
    pub inputs: BTreeMap<(usize, u32), i128>,
    pub taint: Rc<Taint>,
}

/// The effects of one step.
#[derive(Clone, Debug, Default)]
pub(super) struct StepEffect {
    pub failures: Vec<Failure>,
    pub discarded: bool,
    pub spawned: Vec<usize>,
    /// The cells that the step really wrote.
    pub written: Vec<usize>,
}

/// A limit was reached.
#[derive(Debug)]
pub(super) struct TooLarge;

/// Makes steps. A step starts at a state, runs one process to its next `Yield` and the local work
/// of the children that it spawns, and returns every state that it can end in: one for each outcome
/// of `choose` and each value that is tried for an unknown.
pub(super) struct Machine<'a> {
    pub code: &'a Code,
    pub limits: &'a Limits,
    /// Whether all values of every unknown so far were tried.
    pub exact: bool,
    /// The number of a process that was spawned, by the number of its parent and its index among
    /// the parent's children. A number means the same process in all states.
    names: BTreeMap<(usize, usize), usize>,
    /// How many more instructions may be executed.
    work: usize,
}

/// A step in progress. `active` holds the processes whose local work is not finished; the last of
/// them runs now.
struct Branch {
    state: State,
    step: StepEffect,
    active: Vec<usize>,
    left: usize,
    /// Whether the step has read an input.
    has_input: bool,
}

/// The effect of an instruction on a branch.
enum Flow {
    Continue,
    /// The step is not possible.
    Blocked,
    /// The process ends or is halted here, and so its step ends.
    Stop(Status),
    Pause,
    /// For each of these values, a branch continues with the value on top of the stack. For an
    /// input, also the process and index that name it.
    Fork(Vec<i128>, Option<(usize, u32)>),
    Fail(FailureKind),
    /// An `int` leaves 64 bits.
    TooWide,
    TooLarge,
}

impl<'a> Machine<'a> {
    pub(super) fn new(code: &'a Code, limits: &'a Limits) -> Self {
        Self {
            code,
            limits,
            exact: true,
            names: BTreeMap::new(),
            work: limits.states.saturating_mul(50),
        }
    }

    /// Returns the initial states, after the local work before the first steps.
    pub(super) fn start(&mut self) -> Result<Vec<(State, StepEffect)>, TooLarge> {
        let mut all = vec![(self.blank(), StepEffect::default())];
        for cell in 0..self.code.cells.len() {
            let (_, ty, value) = &self.code.cells[cell];
            let (ty, value) = (*ty, *value);
            let values = value.map_or_else(|| self.values(ty), |value| vec![value]);
            if all.len() * values.len() > self.limits.states {
                return Err(TooLarge);
            }
            let mut next = Vec::new();
            for (state, step) in &all {
                for &one in &values {
                    let mut state = state.clone();
                    state.cells[cell] = one;
                    if value.is_none() {
                        state.inputs.insert((usize::MAX, cell as u32), one);
                    }
                    next.push((state, step.clone()));
                }
            }
            all = next;
        }
        let requires = &self.code.requires;
        let mut allowed = Vec::new();
        for one in all {
            let mut holds = true;
            for property in requires {
                holds &= self.check(property, &one.0)? == Some(true);
            }
            if holds {
                allowed.push(one);
            }
        }
        for number in 0..self.code.starts.len() {
            let mut next = Vec::new();
            for (state, step) in allowed {
                next.extend(self.run(state, step, number)?);
            }
            allowed = next;
        }
        Ok(allowed)
    }

    fn blank(&self) -> State {
        let code = self.code;
        let cells = vec![0; code.cells.len()];
        let mut processes = Table::default();
        for (number, start) in code.starts.iter().enumerate() {
            let frame = Frame {
                at: start.entry,
                locals: vec![0; start.locals],
            };
            processes.insert(number, new_process(frame));
        }
        let taint = Taint {
            read: vec![false; cells.len()],
            written: vec![false; cells.len()],
            locks: vec![false; code.locks + code.objects.len()],
            invariants: vec![false; code.invariants.len()],
        };
        let locks = vec![None; code.locks];
        State {
            cells,
            locks,
            objects: code.objects.clone(),
            processes,
            inputs: BTreeMap::new(),
            taint: Rc::new(taint),
        }
    }

    /// Returns the values to try for an unknown of this type.
    fn values(&mut self, ty: Ty) -> Vec<i128> {
        let (low, high) = ty.range();
        if high - low < 256 {
            return (low..=high).collect();
        }
        self.exact = false;
        self.limits
            .domain
            .iter()
            .copied()
            .filter(|value| (low..=high).contains(value))
            .collect()
    }

    /// Returns the number of a process's k-th child.
    fn child(&mut self, parent: usize, k: usize) -> usize {
        let new = self.code.starts.len() + self.names.len();
        *self.names.entry((parent, k)).or_insert(new)
    }

    /// Whether the property holds; `None` if an `int` leaves 64 bits when it is evaluated. A
    /// property whose evaluation fails, for example by a bad index, does not hold.
    pub(super) fn check(
        &mut self,
        property: &Property,
        state: &State,
    ) -> Result<Option<bool>, TooLarge> {
        let mut scratch = state.clone();
        let number = usize::MAX;
        let frame = Frame {
            at: property.entry,
            locals: Vec::new(),
        };
        scratch.processes.insert(number, new_process(frame));
        let ends = self.run(scratch, StepEffect::default(), number)?;
        let Some((end, step)) = ends.first() else {
            return Err(TooLarge);
        };
        let value = end
            .processes
            .get(&number)
            .and_then(|process| process.stack.last());
        Ok((!step.discarded).then_some(step.failures.is_empty() && value == Some(&1)))
    }

    /// Returns all results of one step of the process; empty if it cannot make a step.
    pub(super) fn step(
        &mut self,
        state: &State,
        number: usize,
    ) -> Result<Vec<(State, StepEffect)>, TooLarge> {
        let mut state = state.clone();
        if let Some(frame) = state
            .processes
            .get_mut(&number)
            .and_then(|process| process.frames.last_mut())
        {
            frame.at += 1;
        }
        self.run(state, StepEffect::default(), number)
    }

    /// Runs the process to its next `Yield` or its end.
    fn run(
        &mut self,
        state: State,
        step: StepEffect,
        number: usize,
    ) -> Result<Vec<(State, StepEffect)>, TooLarge> {
        let left = self.limits.local;
        let mut open = vec![Branch {
            state,
            step,
            active: vec![number],
            left,
            has_input: false,
        }];
        let mut done = Vec::new();
        while let Some(mut branch) = open.pop() {
            let Some(&now) = branch.active.last() else {
                done.push((branch.state, branch.step));
                continue;
            };
            self.work = self.work.saturating_sub(1);
            if self.work == 0 || branch.left == 0 || open.len() + done.len() > self.limits.states {
                return Err(TooLarge);
            }
            branch.left -= 1;
            match self.instruction(&mut branch, now) {
                Flow::Continue => open.push(branch),
                // With this input the process waits. When it tries again it must get the same
                // input, which the states do not remember.
                Flow::Blocked if branch.has_input => return Err(TooLarge),
                Flow::Blocked => {}
                Flow::Pause => {
                    branch.active.pop();
                    open.push(branch);
                }
                Flow::Stop(status) => {
                    halt(&mut branch, now, status);
                    open.push(branch);
                }
                Flow::Fail(kind) => {
                    let line = self.line(&branch.state, now);
                    branch.step.failures.push(Failure { line, kind });
                    halt(&mut branch, now, Status::Failed);
                    open.push(branch);
                }
                Flow::Fork(values, name) => {
                    open.extend(
                        values
                            .into_iter()
                            .rev()
                            .map(|value| fork(&branch, value, name)),
                    );
                }
                // If `exact` is false, some values are not tried in any case. So a branch in which
                // an `int` leaves 64 bits can be ignored, too.
                Flow::TooWide if !self.exact => {
                    branch.step.discarded = true;
                    halt(&mut branch, now, Status::Discarded);
                    open.push(branch);
                }
                Flow::TooWide | Flow::TooLarge => return Err(TooLarge),
            }
        }
        Ok(done)
    }

    fn line(&self, state: &State, number: usize) -> u32 {
        let frame = state
            .processes
            .get(&number)
            .and_then(|process| process.frames.last());
        frame.map_or(0, |frame| self.code.lines[frame.at - 1])
    }

    fn instruction(&mut self, branch: &mut Branch, now: usize) -> Flow {
        let code = self.code;
        let State {
            cells,
            locks,
            objects,
            processes,
            inputs,
            ..
        } = &mut branch.state;
        let crowded = processes.len() > MOST;
        let Some(process) = processes.get_mut(&now) else {
            return Flow::Pause;
        };
        let Some(frame) = process.frames.last_mut() else {
            return Flow::Stop(Status::Ended);
        };
        let instr = &code.instrs[frame.at];
        frame.at += 1;
        let stack = &mut process.stack;
        match *instr {
            Instr::Yield => {
                if process.atomic == 0 && !process.whole && !std::mem::take(&mut process.fused) {
                    frame.at -= 1;
                    return Flow::Pause;
                }
            }
            Instr::Fuse => process.fused = true,
            Instr::EndFuse => process.fused = false,
            Instr::Begin => process.whole = std::mem::take(&mut process.fused),
            Instr::Over => process.whole = false,
            Instr::AtomicBegin => process.atomic += 1,
            Instr::AtomicEnd => process.atomic -= 1,
            Instr::Push(value) => stack.push(value),
            Instr::Local(slot) => stack.push(frame.locals[slot]),
            Instr::LocalAt(slot, len) => match within(pop(stack), len) {
                Some(at) => stack.push(frame.locals[slot + at]),
                None => return Flow::Fail(FailureKind::OutOfBounds),
            },
            Instr::Pick(ref numbers) => match within(pop(stack), numbers.len()) {
                Some(at) => stack.push(numbers[at]),
                None => return Flow::Fail(FailureKind::OutOfBounds),
            },
            Instr::Shared(cell) => stack.push(cells[cell]),
            Instr::SharedAt(base, len) => match within(pop(stack), len) {
                Some(at) => stack.push(cells[base + at]),
                None => return Flow::Fail(FailureKind::OutOfBounds),
            },
            Instr::SetLocal(slot) => frame.locals[slot] = pop(stack),
            Instr::SetLocalAt(slot, len) => {
                let value = pop(stack);
                match within(pop(stack), len) {
                    Some(at) => frame.locals[slot + at] = value,
                    None => return Flow::Fail(FailureKind::OutOfBounds),
                }
            }
            Instr::SetShared(cell) => {
                cells[cell] = pop(stack);
                branch.step.written.push(cell);
            }
            Instr::SetSharedAt(base, len) => {
                let value = pop(stack);
                match within(pop(stack), len) {
                    Some(at) => {
                        cells[base + at] = value;
                        branch.step.written.push(base + at);
                    }
                    None => return Flow::Fail(FailureKind::OutOfBounds),
                }
            }
            Instr::Bin(op, ty) => {
                let (right, left) = (pop(stack), pop(stack));
                match apply(op, ty, left, right) {
                    OperationResult::Value(value) => stack.push(value),
                    OperationResult::Zero => return Flow::Fail(FailureKind::DivisionByZero),
                    OperationResult::TooWide => return Flow::TooWide,
                }
            }
            Instr::Not => {
                let value = pop(stack);
                stack.push(1 - value);
            }
            Instr::Neg(ty) => match wrap(-pop(stack), ty) {
                Some(value) => stack.push(value),
                None => return Flow::TooWide,
            },
            Instr::Jump(to) => frame.at = to,
            Instr::JumpIfNot(to) => {
                if pop(stack) == 0 {
                    frame.at = to;
                }
            }
            Instr::JumpKeep(on, to) => {
                if (stack.last() == Some(&1)) == on {
                    frame.at = to;
                } else {
                    stack.pop();
                }
            }
            Instr::Choose => {
                let (high, low) = (pop(stack), pop(stack));
                if low >= high {
                    return Flow::Fail(FailureKind::EmptyChoose);
                }
                if high - low > 1000 {
                    return Flow::TooLarge;
                }
                return Flow::Fork((low..high).collect(), None);
            }
            Instr::Input(ty) => {
                let name = (now, process.inputs);
                process.inputs += 1;
                let known = inputs.get(&name).map(|value| vec![*value]);
                return Flow::Fork(known.unwrap_or_else(|| self.values(ty)), Some(name));
            }
            Instr::Wait => {
                if pop(stack) == 0 {
                    return Flow::Blocked;
                }
            }
            Instr::Trying(begins) => {
                process.trying = begins;
                if !begins {
                    stack.push((!std::mem::take(&mut process.refused)).into());
                }
            }
            Instr::Possible(action, base, len) => match within(pop(stack), len) {
                Some(at) => stack.push(objects[base + at].is_possible(action, now).into()),
                None => return Flow::Fail(FailureKind::OutOfBounds),
            },
            Instr::IsFree(base, len) => match within(pop(stack), len) {
                Some(at) => stack.push(locks[base + at].is_none().into()),
                None => return Flow::Fail(FailureKind::OutOfBounds),
            },
            Instr::OneOpen(count, other) => {
                let truths = stack.split_off(stack.len() - count);
                let open = (0..).zip(truths).filter(|(_, open)| *open != 0);
                let open: Vec<i128> = open.map(|(at, _)| at).collect();
                match (open.is_empty(), other) {
                    (true, false) => return Flow::Blocked,
                    (true, true) => stack.push(count as i128),
                    (false, _) => return Flow::Fork(open, None),
                }
            }
            Instr::Object(action, base, len) => {
                let Some(at) = within(pop(stack), len) else {
                    return Flow::Fail(FailureKind::OutOfBounds);
                };
                match objects[base + at].perform(action, now, stack) {
                    ActionResult::Done => {}
                    ActionResult::Blocked if process.trying => process.refused = true,
                    ActionResult::Blocked => return Flow::Blocked,
                    ActionResult::NotHeld => return Flow::Fail(NOT_HELD),
                    ActionResult::OneOf(all) => return Flow::Fork(all, None),
                }
            }
            Instr::Lock(base, len) => match within(pop(stack), len) {
                None => return Flow::Fail(FailureKind::OutOfBounds),
                Some(at) if locks[base + at].is_some() && process.trying => process.refused = true,
                Some(at) if locks[base + at].is_some() => return Flow::Blocked,
                Some(at) => locks[base + at] = Some(now),
            },
            Instr::Unlock(base, len) => match within(pop(stack), len) {
                None => return Flow::Fail(FailureKind::OutOfBounds),
                Some(at) if locks[base + at] == Some(now) => locks[base + at] = None,
                Some(_) => return Flow::Fail(FailureKind::UnlockNotHeld),
            },
            Instr::Spawn(_) | Instr::SpawnCall(..) if crowded => {
                return Flow::TooLarge;
            }
            Instr::Spawn(entry) => {
                let frame = Frame {
                    at: entry,
                    locals: frame.locals.clone(),
                };
                self.spawn(branch, now, frame);
            }
            Instr::SpawnCall(procedure, count) => {
                let frame = self.called(stack, procedure, count);
                self.spawn(branch, now, frame);
            }
            Instr::Join => {
                let child = pop(stack) as usize;
                let ended = processes
                    .get(&child)
                    .is_some_and(|p| p.status == Status::Ended);
                if !ended {
                    return Flow::Blocked;
                }
            }
            Instr::JoinAll => {
                let children = process.children.clone();
                if children
                    .iter()
                    .any(|child| processes[child].status != Status::Ended)
                {
                    return Flow::Blocked;
                }
            }
            Instr::Call(procedure, count) => {
                if process.frames.len() > DEEPEST {
                    return Flow::TooLarge;
                }
                let frame = self.called(&mut process.stack, procedure, count);
                process.frames.push(frame);
            }
            Instr::Return => {
                if process.frames.len() == 1 {
                    return Flow::Stop(Status::Ended);
                }
                process.frames.pop();
            }
            Instr::End => return Flow::Stop(Status::Ended),
            Instr::Assert => {
                if pop(stack) == 0 {
                    return Flow::Fail(FailureKind::Assert);
                }
            }
            Instr::Assume => {
                if pop(stack) == 0 {
                    branch.step.discarded = true;
                    return Flow::Stop(Status::Discarded);
                }
            }
            Instr::Fail(kind) => return Flow::Fail(kind),
        }
        Flow::Continue
    }

    /// Returns the frame of a procedure, with its arguments from the stack.
    fn called(&self, stack: &mut Vec<i128>, procedure: usize, count: usize) -> Frame {
        let procedure = &self.code.procedures[procedure];
        let mut locals = stack.split_off(stack.len() - count);
        locals.resize(procedure.locals.max(count), 0);
        Frame {
            at: procedure.entry,
            locals,
        }
    }

    /// Starts a child. Its local work up to its first step belongs to the current step.
    fn spawn(&mut self, branch: &mut Branch, parent: usize, frame: Frame) {
        let processes = &mut branch.state.processes;
        let number = self.child(parent, processes[&parent].children.len());
        if let Some(parent) = processes.get_mut(&parent) {
            parent.children.push(number);
            parent.stack.push(number as i128);
        }
        processes.insert(number, new_process(frame));
        branch.step.spawned.push(number);
        branch.active.push(number);
    }
}

fn new_process(frame: Frame) -> Process {
    Process {
        status: Status::Running,
        entry: frame.at,
        frames: vec![frame],
        stack: Vec::new(),
        children: Vec::new(),
        inputs: 0,
        atomic: 0,
        fused: false,
        whole: false,
        trying: false,
        refused: false,
        tainted: false,
    }
}

/// Halts the process. The value of a property stays on its stack.
fn halt(branch: &mut Branch, now: usize, status: Status) {
    branch.active.pop();
    if let Some(process) = branch.state.processes.get_mut(&now) {
        process.status = status;
        process.frames.clear();
        process.atomic = 0;
        process.fused = false;
        process.whole = false;
        process.trying = false;
        process.refused = false;
        if now != usize::MAX {
            process.stack.clear();
        }
    }
}

fn fork(branch: &Branch, value: i128, name: Option<(usize, u32)>) -> Branch {
    let mut state = branch.state.clone();
    let step = branch.step.clone();
    let active = branch.active.clone();
    if let Some(name) = name {
        state.inputs.insert(name, value);
    }
    if let Some(process) = active.last().and_then(|now| state.processes.get_mut(now)) {
        process.stack.push(value);
    }
    Branch {
        state,
        step,
        active,
        left: branch.left,
        has_input: branch.has_input || name.is_some(),
    }
}

fn pop(stack: &mut Vec<i128>) -> i128 {
    stack.pop().unwrap_or_default()
}

/// Returns the index if it is within bounds.
pub(super) fn within(index: i128, len: usize) -> Option<usize> {
    usize::try_from(index).ok().filter(|at| *at < len)
}
