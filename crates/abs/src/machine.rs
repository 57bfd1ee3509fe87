//! [`Machine`]: an ABS program in the middle of a run.
//!
//! A process is a task: a method that runs on an object. A step is one *run* of the task, from one
//! place where it rests to the next. A task rests at an `await`, a `suspend`, a `get`, a
//! `duration`, and at its end. It also rests before a `println` if it has already printed or
//! started a task in the same run, because other cogs can notice this. Tasks of one cog never
//! overlap, because a run is one step. At a `get`, a `duration` and a `println` the task keeps the
//! cog while it rests, and other tasks of the cog wait.
//!
//! **Why steps need not be smaller.** In ABS cogs run in parallel, so their statements interleave.
//! Let a step consist of the statements s₁ … sₙ, and let statements of other cogs occur between
//! them. What can another cog notice of the step? Not its reads and writes, because fields are
//! private to their object and all tasks of an object run on its cog. Not the use of futures: a
//! future is examined where a step starts, and gets its value where a step ends. Not the death of
//! an object, which only tasks of its own cog notice. So another cog can notice only what the step
//! prints and which tasks it starts.
//!
//! Let sᵢ be the first statement that prints or starts a task. The statements before sᵢ commute
//! with all statements of other cogs, so they can be made later, directly before sᵢ. The statements
//! after sᵢ up to the next `println` commute with them as well: if a statement of another cog comes
//! before the start of a task, it does not depend on this task, so the task can be started earlier.
//! So these statements can be made earlier, directly after sᵢ. Hence every interleaving is
//! equivalent to one in which steps are not interrupted, if each `println` after sᵢ starts a new
//! step. `tests/it/small.rs` compares this with a model that has one step for each statement.
//!
//! | ABS | here |
//! |---|---|
//! | task, and its future | process, and its end |
//! | `o!m()` | the process is spawned |
//! | `await f?`, `f.get` | the end of the process is waited for |
//! | a field of an object | a cell |
//! | a cog that may be held | a cell: written by steps that may hold it, read by steps on it |
//! | the output | a cell, if it is observed |
//! | whether an object is alive | a cell: written by steps that may kill it, read by steps on it |
//!
//! A task always rests at a `get`, unless the step has already waited for this future. Otherwise
//! the effect of a step would depend on whether the future is resolved. A task of a dead object is
//! always ready, and its next step ends it with `ObjectDeadException`. A step changes the state in
//! place; an undo log, and a copy of the task that made the step, restore the state.

use std::cell::RefCell;
use std::sync::Arc;

use mazurka_core::{
    Access, Blocker, Claims, Event, Execution, Fairness, Fingerprint, Mishap, ProcessId,
    ProcessTable, Promises, Semantics, Status, StepError, Wait,
};

use rustc_hash::FxHashMap;

use crate::code::{Code, Op};
use crate::future::Futures;
use crate::heap::{CLOCK, Frame, Life, Names, OUTPUT, Object, State, Task};
use crate::labels::{Label, Trail};
use crate::nets::Cells;
use crate::pure::{Calls, Evaluator, Registers};
use crate::step::{Cpu, Listener, Obstacle, Undo, resolved};
use crate::value::Value;

/// The data for undoing a step.
#[derive(Clone, Debug)]
pub(crate) struct StepUndo {
    pub process: ProcessId,
    /// The task before the step.
    pub task: Task,
    /// The length of the undo log before the step.
    pub undo: usize,
    /// [`Machine::unfinished`] before the step.
    pub unfinished: usize,
}

/// Temporary memory for evaluations that change nothing.
#[derive(Clone, Debug, Default)]
struct Scratch {
    stack: Vec<Value>,
    calls: Calls,
}

/// Runs an ABS program step by step, forwards and backwards.
///
/// ```
/// use std::sync::Arc;
/// use mazurka_core::{Execution, ProcessId, Status};
///
/// let source = "
///     module Main;
///     interface Counter { Int increment(); }
///     class Counter implements Counter { Int n = 0; Int increment() { n = n + 1; return n; } }
///     { Counter c = new Counter(); Fut<Int> f = c!increment(); await f?; }
/// ";
/// let code = Arc::new(mazurka_abs::load(source, &mazurka_abs::Settings::default()).unwrap());
/// let mut machine = mazurka_abs::Machine::new(code, 1_000_000);
/// machine.step(ProcessId(0), &[]).unwrap();
/// assert_eq!(machine.status(ProcessId(0)), Status::Waiting);
/// machine.step(ProcessId(1), &[]).unwrap();
/// machine.step(ProcessId(0), &[]).unwrap();
/// assert!(machine.is_final());
/// ```
#[derive(Debug)]
pub struct Machine {
    pub(crate) code: Arc<Code>,
    pub(crate) state: State,
    pub(crate) names: Names,
    /// The events of the run; those beyond `depth`, and their undo data, are kept to reuse their
    /// allocations.
    pub(crate) run: Vec<Event>,
    pub(crate) taken: Vec<StepUndo>,
    pub(crate) depth: usize,
    pub(crate) undo: Vec<Undo>,
    calls: Calls,
    /// Scratch memory for [`Cpu::inits`]; kept to reuse the allocation.
    inits: Vec<u32>,
    /// Number of tasks that have been created and have not ended.
    pub(crate) unfinished: usize,
    guards: Vec<Access>,
    pub(crate) max_local: u64,
    scratch: RefCell<Scratch>,
    /// Cached claims of tasks with one frame, each with its key. They depend only on where the task
    /// rests and on its object, so these two are the key of the map.
    pub(crate) known: RefCell<FxHashMap<(u32, u32), (u32, Claims)>>,
    pub(crate) futures: Futures,
    /// For a machine whose steps have labels: the labels, up to the last step.
    pub(crate) labels: Option<Vec<Label>>,
    /// For a machine that is used to build a net: how cells are numbered.
    pub(crate) nets: Option<Cells>,
    /// For a machine that is used to build a net: the class of an object that should have died.
    pub(crate) died: Option<u32>,
}

impl Machine {
    /// Creates a machine in the initial state. `max_local` is the limit on the jumps and calls of
    /// one step.
    pub fn new(code: Arc<Code>, max_local: u64) -> Self {
        let mut task = Task::unborn();
        let main = &code.classes[0].methods[0];
        task.life = Life::Alive;
        task.pc = main.entry;
        task.stack.resize(main.slots as usize, Value::Unit);
        task.frames.push(Frame {
            call: u32::MAX,
            base: 0,
            top: main.slots,
            object: 0,
        });
        let mut object = Object::not_created();
        object.exists = true;
        // The cells that some guarded step may touch. Objects are created while the program runs,
        // so these may be any cells.
        let guards = if code.guarded || code.object.is_some() {
            vec![Access::ANYTHING]
        } else {
            Vec::new()
        };
        let names = Names::new(Arc::clone(&code.ranks), code.timed);
        Self {
            code,
            state: State {
                objects: vec![object],
                // The second task represents the clock.
                tasks: vec![task, Task::unborn()],
                output: Vec::new(),
                now: Value::Int(0),
            },
            names,
            run: Vec::new(),
            taken: Vec::new(),
            depth: 0,
            undo: Vec::new(),
            calls: Calls::default(),
            inits: Vec::new(),
            unfinished: 1,
            guards,
            max_local,
            scratch: RefCell::default(),
            known: RefCell::default(),
            futures: Futures::default(),
            labels: None,
            nets: None,
            died: None,
        }
    }

    /// Returns the code of the program.
    pub fn code(&self) -> &Code {
        &self.code
    }

    pub(crate) fn task(&self, process: ProcessId) -> Option<&Task> {
        self.state
            .tasks
            .get(process.index())
            .filter(|task| task.life != Life::Unborn)
    }

    /// Returns the first object of the cog that a task runs on.
    pub(crate) fn cog(&self, task: &Task) -> u32 {
        self.state.objects[task.object as usize].cog
    }

    /// Makes a step, and reports its actions to a listener.
    pub(crate) fn step_with_listener<L: Listener>(
        &mut self,
        process: ProcessId,
        outcomes: &[i64],
        listener: &mut L,
    ) -> Result<&Event, Obstacle> {
        let depth = self.depth;
        if self.run.len() == depth {
            self.run.push(Event::new(process, 0));
            self.taken.push(StepUndo {
                process,
                task: Task::unborn(),
                undo: 0,
                unfinished: 0,
            });
        }
        let task = &self.state.tasks[process.index()];
        let cog = self.cog(task);
        let holder = self.state.objects[cog as usize].holder;
        if holder.is_some_and(|holder| holder != process.0) {
            return Err(Obstacle::Blocked);
        }
        let mut event = std::mem::replace(&mut self.run[depth], Event::new(process, 0));
        event.reset(process, task.steps);
        event.claims_key = self.claims_of(process, &mut event.claims);
        event.wait = self.wait(process);
        let trail = self.labels.is_some().then(Trail::new);
        let nets = self.nets.is_some();
        let reads = nets.then(|| self.reads_for_nets(process, &event.claims));
        let taken = &mut self.taken[depth];
        taken.process = process;
        taken.task.clone_from(&self.state.tasks[process.index()]);
        taken.undo = self.undo.len();
        taken.unfinished = self.unfinished;
        let mut cpu = Cpu {
            code: &self.code,
            state: &mut self.state,
            names: &mut self.names,
            process,
            undo: &mut self.undo,
            event: &mut event,
            outcomes,
            calls: &mut self.calls,
            inits: &mut self.inits,
            fuel: self.max_local,
            listener,
            trail: trail.as_ref(),
            died: nets.then_some(&mut self.died),
        };
        let result = cpu.run();
        if let Some(reads) = reads {
            self.touch_for_nets(&reads, &mut event);
        }
        self.run[depth] = event;
        self.depth += 1;
        if let Err(obstacle) = result {
            self.back_to(depth);
            return Err(obstacle);
        }
        let life = self.state.tasks[process.index()].life;
        let ended = matches!(life, Life::Ended | Life::Thrown);
        self.unfinished -= usize::from(ended);
        self.unfinished += self.run[depth].spawned.len();
        if let Some(trail) = trail {
            self.label(&trail);
        }
        Ok(&self.run[depth])
    }

    /// Whether the scheduling of a task varies. If the user has chosen an object, only the
    /// scheduling of its tasks varies.
    fn chosen(&self, task: &Task) -> bool {
        self.names.object(self.cog(task)).chosen || self.names.object(task.object).chosen
    }

    /// Whether a task may make the next step. If only the order of some objects is explored, the
    /// tasks of other objects come first, in the order of their names.
    fn is_its_turn(&self, process: ProcessId, task: &Task) -> bool {
        let first = self.names.tasks.in_order().iter().find(|&&other| {
            let task = self.task(other).filter(|task| task.life == Life::Alive);
            task.is_some_and(|task| !self.chosen(task) && self.can_step(other, task))
        });
        match first {
            Some(&first) => first == process,
            None => self.chosen(task),
        }
    }

    /// Whether a resting task can continue.
    pub(crate) fn can_step(&self, process: ProcessId, task: &Task) -> bool {
        self.waits_for(process, task).is_none()
    }

    /// Returns what a resting task waits for, or `None` if it can continue.
    fn waits_for(&self, process: ProcessId, task: &Task) -> Option<Blocker> {
        let holder = self.state.objects[self.cog(task) as usize].holder;
        if let Some(holder) = holder.filter(|&holder| holder != process.0) {
            return Some(Blocker::Process(ProcessId(holder)));
        }
        if self.is_object_dead(task) {
            return None;
        }
        let open = |future: u32| {
            let resolved = resolved(&self.state, future);
            (!resolved).then_some(Blocker::Process(ProcessId(future)))
        };
        let ops = &self.code.ops;
        let pc = task.pc as usize;
        if ops[pc] == Op::Get {
            return match task.stack.last() {
                Some(Value::Future(future)) => open(*future),
                _ => Some(Blocker::Anything),
            };
        }
        if ops[pc] == Op::Block {
            return (!self.has_come(task.wake.as_ref())).then_some(Blocker::Claims);
        }
        if pc == 0 || ops[pc - 1] != Op::Await {
            return None;
        }
        // The common case: the task waits for one future.
        if let [Op::Local(slot), Op::Claim, Op::Resume, ..] = ops[pc..]
            && let Some(frame) = task.frames.last()
            && let Value::Future(future) = task.stack[(frame.base + slot) as usize]
        {
            return open(future);
        }
        self.closed_guard(process, task)
    }

    /// Whether a task runs on a dead object. Its next step detects this.
    fn is_object_dead(&self, task: &Task) -> bool {
        let dead = |object: u32| self.state.objects[object as usize].dead;
        if self.code.is_idle(task.pc) {
            return false;
        }
        dead(task.object) || task.frames.last().is_some_and(|frame| dead(frame.object))
    }

    /// Whether an object of a task may die while the task waits.
    fn object_may_die(&self, task: &Task) -> bool {
        let may_die = |frame: &Frame| {
            let class = self.names.object(frame.object).class;
            self.code.classes[class as usize].may_die
        };
        task.frames.iter().any(may_die)
    }

    /// Returns why the guard of a resting task does not hold. Returns `None` if the guard holds or
    /// throws an exception.
    fn closed_guard(&self, process: ProcessId, task: &Task) -> Option<Blocker> {
        let Some(frame) = task.frames.last() else {
            return Some(Blocker::Anything);
        };
        let Scratch { stack, calls } = &mut *self.scratch.borrow_mut();
        stack.clear();
        stack.extend_from_slice(&task.stack[frame.base as usize..]);
        let evaluator = Evaluator {
            code: &self.code,
            names: &self.names,
            objects: &self.state.objects,
            object: frame.object,
            task: process.0,
            trail: None,
            now: &self.state.now,
            deadline: task.deadline.as_ref(),
        };
        let mut pc = task.pc;
        let mut fuel = self.max_local;
        loop {
            let registers = Registers {
                pc,
                base: 0,
                stack,
                calls,
                fuel: &mut fuel,
            };
            pc = match evaluator.run(registers) {
                Ok(pc) => pc,
                // The guard throws an exception, so the step is possible and throws it.
                Err(_) => return None,
            };
            match (self.code.ops[pc as usize], stack.pop()) {
                (Op::Claim, Some(Value::Future(future))) if !resolved(&self.state, future) => {
                    return Some(Blocker::Process(ProcessId(future)));
                }
                (Op::Guard, Some(Value::Bool(false))) => return Some(Blocker::Claims),
                (Op::Claim, Some(Value::Future(_))) | (Op::Guard, _) => pc += 1,
                // The future is `null`, so the step is possible and throws an exception.
                _ => return None,
            }
        }
    }

    /// Whether the guard of a resting task has a condition.
    fn has_condition(&self, task: &Task) -> bool {
        let ops = &self.code.ops;
        let pc = task.pc as usize;
        let guard = ops[pc..].iter().take_while(|op| **op != Op::Resume);
        pc > 0 && ops[pc - 1] == Op::Await && { guard }.any(|op| *op == Op::Guard)
    }

    /// Returns the fingerprint of all data of a task that can matter later.
    fn essence(&self, process: ProcessId, task: &Task) -> Fingerprint {
        let mut all = self.names.tasks.name(process).then(task.life as u64);
        if let Some(result) = &task.result {
            all = result.fingerprint(all, &self.names);
        }
        if task.life != Life::Alive {
            return all;
        }
        all = all
            .then(u64::from(task.pc))
            .then((u64::from(task.tasks) << 32) | u64::from(task.objects))
            .then(u64::from(task.kept) + 2 * u64::from(task.recovers));
        for time in [&task.wake, &task.deadline].into_iter().flatten() {
            all = time.fingerprint(all, &self.names);
        }
        for frame in &task.frames {
            all = all
                .then((u64::from(frame.call) << 32) | u64::from(frame.base))
                .then_all(self.names.object(frame.object).name);
        }
        task.stack
            .iter()
            .fold(all, |all, value| value.fingerprint(all, &self.names))
    }

    fn count_unfinished(&self) -> usize {
        let lives = self.state.tasks.iter().map(|task| task.life);
        lives
            .filter(|life| !matches!(life, Life::Unborn | Life::Ended | Life::Thrown))
            .count()
    }

    fn output(&self, start: Fingerprint) -> Fingerprint {
        let pieces = self
            .state
            .output
            .iter()
            .map(|text| Value::Text(text.clone()));
        pieces.fold(start, |all, text| text.fingerprint(all, &self.names))
    }

    /// Whether the observation for determinism includes whether an object is alive. It does not if
    /// the user names only some fields.
    pub(crate) fn observes_life(&self, number: u32) -> bool {
        let name = self.names.object(number);
        let class = &self.code.classes[name.class as usize].name;
        let chosen = self.code.observed.fields.as_ref();
        let whole = |(known, field): &(String, Option<String>)| known == class && field.is_none();
        (self.code.object.is_none() || name.chosen)
            && chosen.is_none_or(|chosen| chosen.iter().any(whole))
    }

    /// Returns the fields of an object that are compared for determinism.
    pub(crate) fn observed_fields(&self, number: u32) -> impl Iterator<Item = usize> + '_ {
        let name = self.names.object(number);
        let info = &self.code.classes[name.class as usize];
        let chosen = self.code.observed.fields.as_ref();
        let fields = if self.code.object.is_none() || name.chosen {
            0..info.fields.len()
        } else {
            0..0
        };
        fields.filter(move |&at| {
            chosen.is_none_or(|chosen| {
                chosen.iter().any(|(class, field)| {
                    *class == info.name
                        && field.as_ref().is_none_or(|field| *field == info.fields[at])
                })
            })
        })
    }
}

impl Clone for Machine {
    fn clone(&self) -> Self {
        Self {
            code: Arc::clone(&self.code),
            state: self.state.clone(),
            names: self.names.clone(),
            run: self.run.clone(),
            taken: self.taken.clone(),
            depth: self.depth,
            undo: self.undo.clone(),
            calls: Calls::default(),
            inits: Vec::new(),
            unfinished: self.unfinished,
            guards: self.guards.clone(),
            max_local: self.max_local,
            scratch: RefCell::default(),
            known: RefCell::default(),
            futures: Futures::default(),
            labels: self.labels.clone(),
            nets: self.nets.clone(),
            died: self.died,
        }
    }
}

impl Promises for Machine {
    fn guards(&self) -> &[Access] {
        &self.guards
    }

    fn future(&self, process: ProcessId, into: &mut Claims) {
        self.future_of(process, into);
    }

    fn blocker(&self, process: ProcessId) -> Blocker {
        let task = self.task(process).filter(|_| self.code.object.is_none());
        let Some(task) = task else {
            return Blocker::Anything;
        };
        match self.waits_for(process, task) {
            // The task could also continue because its object dies.
            Some(Blocker::Process(_)) if self.object_may_die(task) => Blocker::Anything,
            Some(obstacle) => obstacle,
            None => Blocker::Anything,
        }
    }
}

impl Execution for Machine {
    fn processes(&self) -> &ProcessTable {
        &self.names.tasks
    }

    #[inline]
    fn status(&self, process: ProcessId) -> Status {
        if self.is_clock(process) {
            let alive = |task: &Task| task.life == Life::Alive;
            return match self.next_time() {
                Some(_) => Status::Ready,
                None if self.state.tasks.iter().any(alive) => Status::Waiting,
                None => Status::Ended,
            };
        }
        let Some(task) = self.state.tasks.get(process.index()) else {
            return Status::Unborn;
        };
        match task.life {
            Life::Unborn => Status::Unborn,
            Life::Ended | Life::Thrown => Status::Ended,
            Life::Failed => Status::Failed,
            Life::Lost => Status::Lost,
            Life::Alive if self.code.object.is_some() && !self.is_its_turn(process, task) => {
                Status::Waiting
            }
            Life::Alive if self.can_step(process, task) => Status::Ready,
            Life::Alive => Status::Waiting,
        }
    }

    #[inline]
    fn is_final(&self) -> bool {
        self.unfinished == 0
    }

    fn claims(&self, process: ProcessId, into: &mut Claims) {
        let alive = |task: &Task| task.life == Life::Alive;
        if self.is_clock(process) || self.task(process).is_some_and(alive) {
            self.claims_of(process, into);
        } else {
            into.clear()
        }
    }

    fn wait(&self, process: ProcessId) -> Wait {
        if self.is_clock(process) {
            return Wait::Guard;
        }
        let Some(task) = self.task(process).filter(|task| task.life == Life::Alive) else {
            return Wait::Never;
        };
        let pc = task.pc as usize;
        if self.code.object.is_some() {
            return Wait::Guard;
        }
        // A task that holds the cog waits only for the future.
        if self.code.ops[pc] == Op::Get {
            return Wait::Process;
        }
        if self.nets.is_some() && !self.awaited(process, task, &mut Vec::new()) {
            return Wait::Guard;
        }
        if self.code.ops[pc] == Op::Block {
            return Wait::Guard;
        }
        let root = &self.state.objects[self.cog(task) as usize];
        if self.code.classes[root.class as usize].may_hold || self.has_condition(task) {
            return Wait::Guard;
        }
        if pc == 0 || self.code.ops[pc - 1] != Op::Await {
            Wait::Never
        } else if self.object_may_die(task) {
            Wait::Guard
        } else {
            Wait::Process
        }
    }

    fn joins(&self, process: ProcessId, into: &mut Vec<ProcessId>) {
        into.clear();
        if let Some(task) = self.task(process) {
            self.awaited(process, task, into);
        }
    }

    fn has_ended(&self, process: ProcessId) -> bool {
        resolved(&self.state, process.0)
    }

    fn ends_with_results(&self) -> bool {
        true
    }

    fn step(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<&Event, StepError> {
        if self.is_clock(process) {
            return self.tick();
        }
        if self
            .task(process)
            .is_none_or(|task| task.life != Life::Alive)
        {
            return Err(StepError::NotReady);
        }
        Ok(self.step_with_listener(process, outcomes, &mut ())?)
    }

    fn events(&self) -> &[Event] {
        &self.run[..self.depth]
    }

    fn back_to(&mut self, depth: usize) {
        while self.depth > depth {
            self.depth -= 1;
            let taken = &mut self.taken[self.depth];
            while self.undo.len() > taken.undo {
                match self.undo.pop() {
                    Some(Undo::Field(object, field, value)) => {
                        self.state.objects[object as usize].fields[field as usize] = value;
                    }
                    Some(Undo::Holder(cog, holder)) => {
                        self.state.objects[cog as usize].holder = holder
                    }
                    Some(Undo::Clock(now)) => self.state.now = now,
                    Some(Undo::Died(object)) => self.state.objects[object as usize].dead = false,
                    Some(Undo::TaskBorn(task)) => {
                        let task = &mut self.state.tasks[task as usize];
                        task.life = Life::Unborn;
                        task.frames.clear();
                        task.stack.clear();
                    }
                    Some(Undo::ObjectBorn(object)) => {
                        let object = &mut self.state.objects[object as usize];
                        object.exists = false;
                        object.fields.clear();
                    }
                    Some(Undo::Output) => {
                        self.state.output.pop();
                    }
                    None => break,
                }
            }
            std::mem::swap(
                &mut self.state.tasks[taken.process.index()],
                &mut taken.task,
            );
            self.unfinished = taken.unfinished;
        }
    }

    fn initial_mishaps(&self) -> &[Mishap] {
        &[]
    }

    fn final_mishaps(&self) -> Vec<Mishap> {
        Vec::new()
    }

    /// Returns the fingerprint of the observed fields of objects and the output.
    fn observation(&self) -> Fingerprint {
        let all = self.observed();
        if self.code.object.is_some() {
            all
        } else {
            self.output(all)
        }
    }
}

impl Semantics for Machine {
    type State = State;

    fn fairness(&self) -> Fairness {
        self.code.fairness
    }

    fn state(&self) -> State {
        self.state.clone()
    }

    /// Uses the names of tasks and objects, because their indices depend on the search.
    fn fingerprint(&self) -> Fingerprint {
        let mut all = Fingerprint::EMPTY;
        for (number, task) in self.state.tasks.iter().enumerate() {
            if task.life != Life::Unborn {
                all = all.and(self.essence(ProcessId(number as u32), task));
            }
        }
        for (number, object) in self
            .state
            .objects
            .iter()
            .enumerate()
            .filter(|(_, object)| object.exists)
        {
            let start = self
                .names
                .object(number as u32)
                .name
                .then_all(self.names.object(object.cog).name);
            let start = match object.holder {
                Some(task) => start.then_all(self.names.tasks.name(ProcessId(task))),
                None => start,
            };
            let start = start.then(u64::from(object.dead));
            let fields = object.fields.iter();
            all = all.and(fields.fold(start, |seen, value| value.fingerprint(seen, &self.names)));
        }
        let all = all.and(self.state.now.fingerprint(Fingerprint::EMPTY, &self.names));
        self.output(all)
    }

    fn cells(&self) -> usize {
        self.names.cells() as usize
    }

    /// Returns the fingerprint of a cell: a field of an object, the cog of an object, whether an
    /// object is alive, the output, or the time. The fingerprint of a cog is never that of an
    /// absent one, so that objects without fields count too.
    fn cell(&self, cell: usize) -> Fingerprint {
        let start = Fingerprint::EMPTY.then(u64::from(cell as u32 == OUTPUT));
        if cell as u32 == OUTPUT {
            return self.output(start);
        }
        if cell as u32 == CLOCK {
            return self.state.now.fingerprint(start.then(2), &self.names);
        }
        let number = self.names.owner(cell as u32);
        let name = self.names.object(number);
        let Some(object) = self
            .state
            .objects
            .get(number as usize)
            .filter(|object| object.exists)
        else {
            return Fingerprint::ZERO;
        };
        let field = cell - name.cells as usize;
        let start = start.then_all(name.name).then(field as u64);
        if field > object.fields.len() {
            return start.then(u64::from(object.dead));
        }
        match (object.fields.get(field), object.holder) {
            (Some(value), _) => value.fingerprint(start, &self.names),
            (None, Some(task)) => start.then_all(self.names.tasks.name(ProcessId(task))),
            (None, None) => start.then_all(self.names.object(object.cog).name),
        }
    }

    fn process(&self, process: ProcessId) -> Fingerprint {
        match self.task(process) {
            Some(task) => self.essence(process, task),
            None => Fingerprint::ZERO,
        }
    }

    fn may_repeat(&self) -> bool {
        self.code.may_loop
    }

    fn restore(&mut self, state: &State) {
        self.state.clone_from(state);
        self.depth = 0;
        self.undo.clear();
        self.unfinished = self.count_unfinished();
    }
}
