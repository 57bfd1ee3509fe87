//! Runs a closure as a program for explorers: threads are coroutines, and going back means
//! repeating the steps.
//!
//! The steps are repeated only when the state or a new step is needed, because explorers often go
//! back many times before they continue. Coroutines reuse stacks; threads, cells, names and events
//! keep their memory from one execution to the next.
//!
//! farewell.rs explains how an abandoned execution ends.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Duration;

use corosensei::stack::DefaultStack;
use corosensei::stack::Stack;
use corosensei::{Coroutine, CoroutineResult};
use mazurka_core::{
    Access, Claims, Event, Execution, Fingerprint, Mishap, MishapKind, ProcessId, ProcessPath,
    ProcessTable, Promises, Status, StepError, Wait,
};

use mazurka_memory::Memory;

use crate::builder::Builder;
use crate::stack::Stacks;
use crate::trap::Watch;
use crate::verdict::end_test;
use crate::world::{Failure, Inner, Pending, Request, Start, World, entered};

/// Payload of a panic that ends a search from within a call that the explorer made.
pub(crate) enum SearchAbort {
    /// The run has shown a fact that the search must know from its start (facts.rs), so the search
    /// starts again.
    Restart,
    /// The same schedule led to different steps.
    Diverged(String),
    /// The program does something that cannot be explored under a memory model.
    Refused(String),
    /// The program has used an ordering weaker than sequential consistency.
    Weak,
}

/// A step, described for reports.
#[derive(Clone)]
pub(crate) struct RecordedStep {
    pub pending: Pending,
    pub words: Vec<String>,
    /// The panic that ended the step; `None` if there was none.
    pub panic: Option<Failure>,
}

/// The coroutine of a thread.
pub(crate) type Thread = Coroutine<(), Request, (), DefaultStack>;

/// The coroutines of the current execution and the state that they share.
pub(crate) struct Stage {
    pub body: Rc<dyn Fn()>,
    pub world: Box<World>,
    pub coroutines: RefCell<Vec<Option<Thread>>>,
    pub stacks: RefCell<Stacks>,
    /// Whether waiting threads are unwound when an execution is abandoned.
    pub unwinds: bool,
    step_limit: Duration,
    /// Whether a loop that waits without a yield ends the test. If a limit on the length of
    /// executions was set, that limit ends such loops.
    ends_busy_loops: bool,
    /// The name of the first thread.
    name: Option<&'static str>,
    pub recorded: RefCell<Vec<RecordedStep>>,
}

/// A closure and its threads, as a program for explorers.
///
/// It keeps the events made so far. The coroutines cannot go back: after the explorer goes back,
/// they have to repeat the run from the start. They do so only when the state or a step is needed
/// (`catch_up`).
pub(crate) struct Simulator {
    stage: Stage,
    table: ProcessTable,
    /// The events made so far, followed by unused ones whose memory is reused.
    events: Vec<Event>,
    /// Number of events made so far.
    len: usize,
    /// Number of events that the coroutines have made; `None` if they must start again.
    live: Cell<Option<usize>>,
    initial: Vec<Mishap>,
    /// The first access of each thread that starts before the first step.
    opening: Vec<Option<Access>>,
    guards: Vec<Access>,
    settings: Builder,
    /// Whether a run that shows a fact which the search must know from its start ends with
    /// `SearchAbort::Restart`. False for runs that only serve a report.
    pub searching: bool,
    /// Whether an ordering weaker than sequential consistency ends the search.
    pub switches: bool,
    /// Returns the index of the result of an execution, for checks of determinism; `None` if
    /// results are not compared.
    pub observe: Option<Rc<dyn Fn() -> u64>>,
}

/// The table that gives new threads their numbers: one that may grow, or one to which nothing may
/// be added.
pub(crate) enum Table<'a> {
    Growing(&'a mut ProcessTable),
    Known(&'a ProcessTable),
}

impl Table<'_> {
    fn child(&mut self, parent: ProcessId, k: u32) -> Option<ProcessId> {
        match self {
            Table::Growing(table) => Some(table.child(parent, k)),
            Table::Known(table) => table.known_child(parent, k),
        }
    }

    fn get(&self) -> &ProcessTable {
        match self {
            Table::Growing(table) => table,
            Table::Known(table) => table,
        }
    }
}

pub(crate) fn diverged(how: String) -> ! {
    resume_unwind(Box::new(SearchAbort::Diverged(how)))
}

impl Simulator {
    pub fn new(body: Rc<dyn Fn()>, settings: &Builder) -> Self {
        let mut simulator = Self {
            stage: Stage::new(body, settings, None),
            table: ProcessTable::new(1),
            events: Vec::new(),
            len: 0,
            live: Cell::new(None),
            initial: Vec::new(),
            opening: Vec::new(),
            guards: Vec::new(),
            settings: settings.clone(),
            searching: true,
            switches: false,
            observe: None,
        };
        simulator.start_anew();
        simulator
    }

    /// Returns the same program, without any knowledge from earlier runs.
    pub fn anew(&self) -> Self {
        let mut other = Self::new(self.stage.body.clone(), &self.settings);
        other.follow_inputs_of(self);
        other
    }

    #[cfg(feature = "symbolic")]
    fn follow_inputs_of(&mut self, other: &Self) {
        let given = other.inner(|inner| inner.unknowns.given.clone());
        if given.is_some() {
            self.inner(|inner| inner.unknowns.given = given);
            self.start_anew();
        }
    }

    #[cfg(not(feature = "symbolic"))]
    fn follow_inputs_of(&mut self, _: &Self) {}

    /// Returns the thread with this path. Threads are numbered in the order in which they first
    /// appear.
    pub fn thread(&mut self, path: &ProcessPath) -> Option<ProcessId> {
        let (first, rest) = path.parts().split_first()?;
        let main = (*first == 0).then_some(ProcessId(0))?;
        let child = |parent, &k| self.table.child(parent, k);
        Some(rest.iter().fold(main, child))
    }

    /// Starts, or restarts, the first execution.
    pub fn start_anew(&mut self) {
        self.stage.abandon(&self.table);
        self.len = 0;
        self.inner(|inner| inner.restart = false);
        // Even the code before the first step may show a fact that the search must know from its
        // start. Then the execution is restarted here.
        loop {
            self.stage.begin(&mut Table::Growing(&mut self.table));
            if !self.inner(|inner| std::mem::take(&mut inner.restart)) {
                break;
            }
            self.stage.abandon(&self.table);
        }
        let mut inner = self.stage.world.inner.borrow_mut();
        self.initial = std::mem::take(&mut inner.effects.mishaps);
        self.opening = inner.opening().collect();
        // Explorers only ask whether there are guarded accesses, not which.
        self.guards.clear();
        if inner.guarded {
            self.guards.push(Access::read(0));
        }
        self.live.set(Some(0));
    }

    /// Turns the recording of steps on or off; the current execution is then repeated.
    pub fn record(&mut self, on: bool) {
        self.inner(|inner| inner.recording = on);
        self.stage.recorded.borrow_mut().clear();
        self.live.set(None);
    }

    /// Returns the recorded steps of the current execution.
    pub fn recorded_steps(&self) -> Vec<RecordedStep> {
        self.catch_up();
        self.stage.recorded.borrow().clone()
    }

    /// Calls a function with the state that the threads share.
    pub fn inner<R>(&self, look: impl FnOnce(&mut Inner) -> R) -> R {
        look(&mut self.stage.world.inner.borrow_mut())
    }

    /// Brings the coroutines to the state that the events describe.
    #[inline]
    pub fn catch_up(&self) {
        if self.live.get() != Some(self.len) {
            self.run_again();
        }
    }

    #[cold]
    fn run_again(&self) {
        self.live.set(None);
        self.stage.abandon(&self.table);
        // The abandoned execution may have shown a new fact while it was run to its end.
        if self.searching && self.inner(|inner| inner.restart) {
            resume_unwind(Box::new(SearchAbort::Restart));
        }
        let mut table = Table::Known(&self.table);
        self.stage.begin(&mut table);
        if !self.inner(|inner| inner.opens_like(&self.opening)) {
            diverged("before any step a thread is about to do something else than before".into());
        }
        self.stage.follow(true);
        for (at, event) in self.events[..self.len].iter().enumerate() {
            self.stage.again(at, event, &mut table);
        }
        self.stage.follow(false);
        self.live.set(Some(self.len));
    }

    /// Runs an execution once more, if that was asked for. Ends the search if the
    /// same schedule does something else.
    pub fn repeat(&self) {
        if !self.settings.repeats {
            return;
        }
        let ends = || -> Vec<Status> {
            let all = self.processes().in_order().iter();
            all.map(|&process| self.status(process)).collect()
        };
        let before = ends();
        self.run_again();
        if ends() != before {
            diverged("after the last step a thread does something else than before".into());
        }
    }

    /// Starts a separate execution, for a trial. The explorer does not see its steps.
    pub fn start_again(&self) {
        self.live.set(None);
        self.stage.abandon(&self.table);
        self.stage.begin(&mut Table::Known(&self.table));
    }

    /// Repeats a step in an execution that [`start_again`](Self::start_again) has started. Returns
    /// false if the step starts a thread that was not started before.
    pub fn step_as(&self, event: &Event) -> bool {
        self.inner(|inner| {
            inner.begin_step(event.process, &[]);
            let wanted = event.outcomes.iter().map(|outcome| outcome.value);
            inner.effects.wanted.extend(wanted);
        });
        self.stage
            .run(event.process, &mut Table::Known(&self.table))
    }

    /// Lets a thread make a step in an execution that [`start_again`](Self::start_again) has
    /// started. Returns false if the step starts a thread that was not started before.
    pub fn step_alone(&self, process: ProcessId) -> bool {
        self.inner(|inner| inner.begin_step(process, &[]));
        self.stage.run(process, &mut Table::Known(&self.table))
    }

    /// Returns the ready thread that is first in the order of names.
    pub fn first_ready(&self) -> Option<ProcessId> {
        let mut all = self.table.in_order().iter();
        all.find(|&&p| self.status(p) == Status::Ready).copied()
    }

    /// Returns the failure of the current execution, if any.
    pub fn failing(&self) -> Option<u32> {
        let last = self
            .events()
            .last()
            .map_or(&self.initial[..], |e| &e.mishaps);
        let mut failures = last.iter().filter(|m| m.kind == MishapKind::Failure);
        let site = failures.next().map(|mishap| mishap.site);
        site.or_else(|| {
            let finished = self.is_final();
            finished.then(|| self.final_mishaps().first().map(|mishap| mishap.site))?
        })
    }
}

impl Stage {
    pub fn new(body: Rc<dyn Fn()>, settings: &Builder, memory: Option<Memory>) -> Self {
        Self {
            body,
            world: Box::new(World {
                memory,
                inner: RefCell::new(Inner::new(settings)),
                twins: Default::default(),
                watch: Watch::new(settings.step_limit()),
                records_blocks: Cell::new(false),
            }),
            coroutines: RefCell::default(),
            stacks: RefCell::new(Stacks::new(settings.stack_size)),
            step_limit: settings.step_limit(),
            ends_busy_loops: settings.max_depth.is_none(),
            name: (!settings.nameless).then_some("main"),
            unwinds: settings.unwinds,
            recorded: RefCell::default(),
        }
    }

    /// Starts a new execution and runs the first thread up to its first operation.
    pub fn begin(&self, table: &mut Table<'_>) {
        {
            let mut inner = self.world.inner.borrow_mut();
            inner.begin();
            self.world.records_blocks.set(inner.names.blocks.begin());
        }
        self.recorded.borrow_mut().clear();
        let body = self.body.clone();
        let main = ProcessId(0);
        let place = std::panic::Location::caller();
        self.start(
            main,
            Start {
                body: Box::new(move || {
                    body();
                    crate::local::drop_all();
                }),
                name: self.name.map(Into::into),
                stack: None,
                place,
            },
            table,
        );
        if !self.run(main, table) {
            diverged("before any step a thread was started that was not started before".into());
        }
        self.world.inner.borrow_mut().in_step = true;
    }

    /// Starts a thread on its own stack.
    fn start(&self, process: ProcessId, start: Start, table: &Table<'_>) {
        let stack = self.stacks.borrow_mut().get(start.stack);
        {
            let mut inner = self.world.inner.borrow_mut();
            inner.start_thread(process, &start, table.get());
            inner.names.blocks.record_stack(process, &stack);
            let bounds = (stack.limit().get(), stack.base().get());
            inner.threads[process.index()].stack = bounds;
        }
        let world: *const World = &*self.world;
        let Start { body, .. } = start;
        let coroutine = Coroutine::with_stack(stack, move |yielder, ()| {
            // SAFETY: the stage owns both the world and this coroutine, and drops the coroutine
            // first.
            #[allow(unsafe_code)]
            let world = unsafe { &*world };
            world.inner.borrow_mut().me().yielder = yielder;
            let result = catch_unwind(AssertUnwindSafe(body));
            if world.memory.is_some() {
                world.leave_loop();
            }
            let mut inner = world.inner.borrow_mut();
            if let Err(payload) = &result {
                inner.record_ending_panic(&**payload);
            }
            inner.end_current_thread(result.is_err());
        });
        let mut coroutines = self.coroutines.borrow_mut();
        if coroutines.len() <= process.index() {
            coroutines.resize_with(process.index() + 1, || None);
        }
        coroutines[process.index()] = Some(coroutine);
    }

    /// Ends the test if a thread waits for another one in a loop that never yields.
    fn fail_in_busy_loop(&self, process: ProcessId) {
        let inner = self.world.inner.borrow();
        if self.ends_busy_loops
            && let Some(times) = inner.repeats_too_often(process)
        {
            let path = &inner.names.paths[process.index()];
            let pending = &inner.threads[process.index()].pending;
            let ((kind, verb), place) = (pending.what, pending.place);
            end_test!(
                "mazurka: thread {path} does the same again and again: {kind}.{verb} at {place}, {times} times in a row.\n\
                 Is there a loop that waits for another thread without `yield_now` or `spin_loop`? If not, set max_depth."
            );
        }
    }

    /// Runs a thread up to its next operation. Returns false if it starts a thread that is not in a
    /// [`Table::Known`].
    pub fn run(&self, process: ProcessId, table: &mut Table<'_>) -> bool {
        loop {
            let coroutine = self.coroutines.borrow_mut()[process.index()].take();
            let Some(mut coroutine) = coroutine else {
                diverged("a thread made a step after its end".into())
            };
            self.world.inner.borrow_mut().current = process;
            self.world.watch.enter(coroutine.trap_handler());
            let result = entered(&*self.world, || coroutine.resume(()));
            if let Some(trap) = self.world.watch.leave() {
                trap.fail(&self.world, self.step_limit);
            }
            match result {
                CoroutineResult::Yield(request) => {
                    self.coroutines.borrow_mut()[process.index()] = Some(coroutine);
                    let Request::Spawn(start) = request else {
                        self.fail_in_busy_loop(process);
                        return true;
                    };
                    let number = {
                        let mut inner = self.world.inner.borrow_mut();
                        let parent = inner.me();
                        parent.children += 1;
                        parent.children - 1
                    };
                    let Some(child) = table.child(process, number) else {
                        return false;
                    };
                    self.start(child, start, table);
                    {
                        let mut inner = self.world.inner.borrow_mut();
                        inner.clocks.order(process, child);
                        let spawn_join_clock = inner.threads[process.index()]
                            .engine
                            .spawn_join_clock
                            .clone();
                        inner.threads[child.index()].engine.spawn_join_clock = spawn_join_clock;
                    }
                    if !self.run(child, table) {
                        return false;
                    }
                    let mut inner = self.world.inner.borrow_mut();
                    inner.names.last_child = child;
                    inner.effects.spawned.push(child);
                }
                CoroutineResult::Return(()) => {
                    self.stacks.borrow_mut().put(coroutine.into_stack());
                    return true;
                }
            }
        }
    }

    /// Turns solver queries off (`_on`) or on again. They are off while steps are only repeated, or
    /// an execution is only finished.
    fn follow(&self, _on: bool) {
        #[cfg(feature = "symbolic")]
        {
            self.world.inner.borrow_mut().unknowns.following = _on;
        }
    }

    /// Repeats a step of an earlier execution.
    fn again(&self, at: usize, event: &Event, table: &mut Table<'_>) {
        {
            let mut inner = self.world.inner.borrow_mut();
            let process = event.process;
            let same = inner.status(process) == Status::Ready && {
                let pending = &inner.threads[process.index()].pending;
                // A step that announces no access may still have claimed something by
                // naming an object.
                let access = pending.access;
                let claims = access.is_none_or(|access| event.claims.first() == Some(&access));
                event.wait == Wait::Process || claims || pending.watches
            };
            if !same {
                let did = inner.describe(process);
                drop(inner);
                diverged(format!(
                    "step {} was to be made by thread {}, which {did}",
                    at + 1,
                    table.get().path(process)
                ));
            }
            inner.begin_step(process, &[]);
            let wanted = event.outcomes.iter().map(|outcome| outcome.value);
            inner.effects.wanted.extend(wanted);
        }
        if !self.run(event.process, table) {
            let name = table.get().path(event.process);
            diverged(format!(
                "in step {} thread {name} started a thread that it did not start before",
                at + 1
            ));
        }
        self.record_step();
    }

    /// Stores the description of the last step, if steps are recorded.
    pub fn record_step(&self) {
        let mut inner = self.world.inner.borrow_mut();
        if inner.recording {
            let words = std::mem::take(&mut inner.effects.notes);
            let pending = inner.effects.made.expect("a step has been made");
            let panic = inner.effects.panic.take();
            self.recorded.borrow_mut().push(RecordedStep {
                pending,
                words,
                panic,
            });
        }
    }

    /// Abandons the current execution.
    pub fn abandon(&self, table: &ProcessTable) {
        let left = |all: &[Option<Thread>]| all.iter().any(Option::is_some);
        if !left(&self.coroutines.borrow()) {
            return;
        }
        let search_failed = {
            let inner = self.world.inner.borrow();
            std::thread::panicking() && inner.unwinding == 0 && !inner.real_panic
        };
        // Under a memory model threads cannot be finished: only the engine could supply the values
        // that their remaining accesses read.
        if !search_failed && self.world.memory.is_none() {
            self.follow(true);
            self.finish(table);
            if self.unwinds {
                self.unwind();
            }
        }
        self.follow(false);
        let mut coroutines = self.coroutines.borrow_mut();
        let mut stacks = self.stacks.borrow_mut();
        for mut coroutine in coroutines.iter_mut().filter_map(Option::take) {
            // SAFETY: the values on its stack are leaked, not dropped. No code that refers to the
            // stack runs again: scoped threads are abandoned with their parents, and a body must
            // not keep pointers to the stacks of its threads from one execution to the next,
            // because it must behave in the same way each time.
            #[allow(unsafe_code)]
            unsafe {
                coroutine.force_reset();
            }
            stacks.put(coroutine.into_stack());
        }
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.stage.abandon(&self.table);
    }
}

impl Promises for Simulator {
    fn guards(&self) -> &[Access] {
        &self.guards
    }
}

impl Execution for Simulator {
    fn processes(&self) -> &ProcessTable {
        &self.table
    }

    #[inline]
    fn status(&self, process: ProcessId) -> Status {
        self.catch_up();
        self.stage.world.inner.borrow().status(process)
    }

    #[inline]
    fn is_final(&self) -> bool {
        self.catch_up();
        self.stage.world.inner.borrow().alive == 0
    }

    fn claims(&self, process: ProcessId, into: &mut Claims) {
        self.catch_up();
        self.stage.world.inner.borrow().claims(process, into);
    }

    fn wait(&self, process: ProcessId) -> Wait {
        self.catch_up();
        self.stage.world.inner.borrow().wait(process)
    }

    fn step(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<&Event, StepError> {
        self.catch_up();
        if self.events.len() == self.len {
            self.events.push(Event::new(process, 0));
        }
        let event = &mut self.events[self.len];
        {
            let mut inner = self.stage.world.inner.borrow_mut();
            if inner.status(process) != Status::Ready {
                let did = inner.describe(process);
                drop(inner);
                diverged(format!(
                    "thread {} was to make step {}, but it {did}",
                    self.table.path(process),
                    self.len + 1
                ));
            }
            event.reset(process, inner.threads[process.index()].steps);
            inner.prepare(process, event);
            inner.begin_step(process, outcomes);
        }
        self.live.set(None);
        let mut table = Table::Growing(&mut self.table);
        let _numbered = self.stage.run(process, &mut table);
        {
            let mut inner = self.stage.world.inner.borrow_mut();
            inner.complete(event);
        }
        // Trying a loop moves the coroutines away from this execution, but the facts that the
        // execution has shown stay valid.
        let tried = self.searching && self.try_loops();
        {
            let inner = self.stage.world.inner.borrow();
            if inner.restart && self.searching {
                drop(inner);
                resume_unwind(Box::new(SearchAbort::Restart));
            }
            if inner.weak && self.switches {
                drop(inner);
                resume_unwind(Box::new(SearchAbort::Weak));
            }
        }
        self.stage.record_step();
        let (failure, reversed) = self.try_freed(&self.events[..=self.len]);
        self.events[self.len].mishaps.extend(failure);
        self.len += 1;
        self.live.set((!tried && !reversed).then_some(self.len));
        Ok(&self.events[self.len - 1])
    }

    #[inline]
    fn events(&self) -> &[Event] {
        &self.events[..self.len]
    }

    #[inline]
    fn back_to(&mut self, depth: usize) {
        self.len = depth;
    }

    fn initial_mishaps(&self) -> &[Mishap] {
        &self.initial
    }

    fn final_mishaps(&self) -> Vec<Mishap> {
        self.catch_up();
        let inner = self.stage.world.inner.borrow();
        let unnoticed = inner.threads.iter().filter(|thread| thread.panicked);
        let sites = unnoticed.filter_map(|thread| thread.failure);
        sites
            .map(|site| Mishap {
                process: None,
                kind: MishapKind::Failure,
                site,
            })
            .collect()
    }

    fn observation(&self) -> Fingerprint {
        let value = self.observe.as_ref().map_or(0, |observe| observe());
        Fingerprint::EMPTY.then(value)
    }
}
