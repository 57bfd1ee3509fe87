//! A closure as a program of `mazurka-memory`, the engine that builds execution graphs. Going back
//! means running the closure again from the start.
//!
//! Most runs are complete when the engine goes back. If a run is not, its threads first continue to
//! their ends, as far as possible, so that they drop what they own. In this part each read gets the
//! last write in mo. Every memory model allows such reads, so the program can really behave in this
//! way. Threads that have to wait, or that are about to make a plain access (which might race), are
//! abandoned, and what they own is leaked.

use std::panic::resume_unwind;
use std::rc::Rc;

use mazurka_core::{ProcessId, ProcessPath, ProcessTable};
use mazurka_memory::{Action, Decision, Effect, Known, Loc, Memory, Program, ThreadId, Value};

use super::inputs;
use super::spin::Seen;
use crate::builder::Builder;
use crate::simulate::{RecordedStep, SearchAbort, Stage, Table, diverged};
use crate::world::{Inner, Life, Until};

/// A thread that runs alone is taken to spin for ever after this many futile rounds.
const MAX_FUTILE_ROUNDS: u32 = 200;
/// A thread that runs alone is taken to spin for ever after this many accesses.
const MOST_STEPS: u32 = 20_000;

/// Limit on the steps that finish an abandoned run.
const MAX_FINISHING_STEPS: usize = 1000;

/// A closure and its threads, as a program of the graph engine.
///
/// The engine asks for the next access of a thread and answers it. The log of the answers allows
/// repeating the run.
pub(crate) struct WeakProgram {
    stage: Stage,
    pub table: ProcessTable,
    /// The answers of this run, in order.
    log: Vec<(ThreadId, Value)>,
    /// Whether a run has begun.
    begun: bool,
    /// A search explores at least this number of futile rounds of a spin loop.
    pub spins: u32,
    /// Returns the index of the result of an execution, for checks of determinism; `None` if
    /// results are not compared.
    pub observe: Option<Rc<dyn Fn() -> u64>>,
}

impl WeakProgram {
    pub fn new(body: Rc<dyn Fn()>, settings: &Builder, memory: Memory) -> Self {
        Self {
            stage: Stage::new(body, settings, Some(memory)),
            table: ProcessTable::new(1),
            log: Vec::new(),
            begun: false,
            spins: settings.spins,
            observe: None,
        }
    }

    /// Calls a function with the shared state.
    pub fn inner<R>(&self, look: impl FnOnce(&mut Inner) -> R) -> R {
        look(&mut self.stage.world.inner.borrow_mut())
    }

    /// Returns the closure.
    pub fn body(&self) -> Rc<dyn Fn()> {
        self.stage.body.clone()
    }

    /// Ends the run, so that the next request of the engine starts a new one.
    pub fn reset(&mut self) {
        self.begun = false;
    }

    /// Runs up to the first accesses, unless a run has already begun.
    pub fn begin(&mut self) {
        if self.begun {
            return;
        }
        self.stage.abandon(&self.table);
        self.log.clear();
        self.stage.begin(&mut Table::Growing(&mut self.table));
        self.begun = true;
        self.look();
    }

    /// Ends the search if the run has shown a fact that the search must know from its start
    /// (facts.rs), or has done something that cannot be explored.
    fn look(&mut self) {
        let mut inner = self.stage.world.inner.borrow_mut();
        let stop = match inner.refused.take() {
            Some(what) => SearchAbort::Refused(what),
            None if std::mem::take(&mut inner.restart) => SearchAbort::Restart,
            None => return,
        };
        drop(inner);
        self.begun = false;
        resume_unwind(Box::new(stop));
    }

    /// Repeats accesses of a thread without suspending it.
    fn answer_at_once(&mut self, thread: ThreadId, known: &[Known]) {
        let Some((first, rest)) = known.split_first() else {
            return;
        };
        if !first.fits(self.pending(thread)) {
            self.diverged(thread);
        }
        let process = ProcessId(thread.0);
        self.inner(|inner| {
            if first.is_written_update() {
                inner.effect(process, first.value);
            }
            let engine = &mut inner.threads[process.index()].engine;
            engine.known.clear();
            engine.known.extend(rest.iter().rev());
        });
        self.answer(thread, first.value);
        if self.inner(|inner| !inner.threads[process.index()].engine.known.is_empty()) {
            self.diverged(thread);
        }
        self.log
            .extend(rest.iter().map(|known| (thread, known.value)));
    }

    /// Lets a thread make a step that the engine does not see. Returns false if it starts a thread
    /// that was not started before.
    fn step_alone(&mut self, process: ProcessId, value: Value) -> bool {
        {
            let mut inner = self.stage.world.inner.borrow_mut();
            inner.begin_step(process, &[]);
            inner.threads[process.index()].engine.answer = value;
        }
        self.stage.run(process, &mut Table::Known(&self.table))
    }

    /// Returns the value that the next access of a thread returns if it reads the last write to its
    /// location. `last` holds the last value of each location, and writes update it. `None` if the
    /// thread cannot or should not continue.
    fn next_alone(&mut self, process: ProcessId, last: &mut Vec<Option<Value>>) -> Option<Value> {
        let mut inner = self.stage.world.inner.borrow_mut();
        let state = inner.threads.get(process.index())?;
        let action = state.engine.action.filter(|_| state.life == Life::Alive)?;
        let (loc, write) = match action {
            Action::Read { order, .. } | Action::Write { order, .. } if !order.is_atomic() => {
                return None;
            }
            Action::Join { child } => {
                let child = &inner.threads[child.index()];
                return matches!(child.life, Life::Ended | Life::Failed).then_some(0);
            }
            Action::Fence { .. } | Action::Spawn { .. } | Action::Choice { .. } => return Some(0),
            Action::Read { loc, .. } | Action::Await { loc, .. } | Action::Update { loc, .. } => {
                (loc, None)
            }
            Action::Write { loc, value, .. } => (loc, Some(value)),
            Action::Lock { loc } => (loc, Some(1)),
            Action::Unlock { loc } => (loc, Some(0)),
            Action::Decide { .. } | Action::Discard | Action::Fail(_) | Action::End => return None,
        };
        if last.len() <= loc.index() {
            last.resize(loc.index() + 1, None);
        }
        let initial = || inner.cells.get(loc.index()).map_or(0, |cell| cell.initial);
        let value = last[loc.index()].unwrap_or_else(initial);
        let write = match action {
            Action::Lock { .. } if value != 0 => return None,
            Action::Await { .. } | Action::Update { .. } => match inner.effect(process, value) {
                Effect::Wait => return None,
                Effect::Keep => None,
                Effect::Write(value) => Some(value),
            },
            _ => write,
        };
        if write.is_some() {
            last[loc.index()] = write;
        }
        Some(value)
    }

    /// Repeats the run from the start, with the answers in the log.
    fn run_again(&mut self) {
        let log = std::mem::take(&mut self.log);
        self.begun = false;
        self.begin();
        for (thread, value) in log {
            self.answer(thread, value);
        }
    }

    /// Returns the thread with this path. Threads are numbered in the order in which they first
    /// appear.
    pub fn thread(&mut self, path: &ProcessPath) -> Option<ThreadId> {
        let (first, rest) = path.parts().split_first()?;
        let main = (*first == 0).then_some(ProcessId(0))?;
        let thread = rest
            .iter()
            .fold(main, |parent, &k| self.table.child(parent, k));
        Some(ThreadId(thread.0))
    }

    /// Turns the recording of steps on or off.
    pub fn record(&mut self, on: bool) {
        self.inner(|inner| inner.recording = on);
        self.begun = false;
    }

    /// Returns the last step that was recorded.
    pub fn last_step(&self) -> Option<RecordedStep> {
        self.stage.recorded.borrow().last().cloned()
    }

    /// Returns a failure of a thread that has ended and was not joined.
    pub fn unnoticed(&self) -> Option<u32> {
        self.inner(|inner| inner.unnoticed().next())
    }

    /// Returns the failure that halted a thread.
    fn failure(inner: &Inner, thread: ProcessId) -> u32 {
        inner.threads[thread.index()].failure.unwrap_or(0)
    }

    /// Returns the threads that are in a spin loop and wait for a change.
    pub fn spinning(&self) -> Vec<ThreadId> {
        let inner = self.stage.world.inner.borrow();
        let threads = inner.threads.iter().enumerate();
        let spinning = threads.filter(|(_, thread)| {
            thread.life == Life::Alive && thread.engine.round.waits_for().is_some()
        });
        spinning.map(|(at, _)| ThreadId(at as u32)).collect()
    }

    /// Whether a spinning thread really waits for ever: no location of its round has changed since
    /// the thread read it. If the thread has also read locations before the loop, one of these must
    /// have changed; otherwise another execution shows the same wait (weak/spin.rs). `last` returns
    /// the last write of a location.
    pub fn has_seen_all(&self, thread: ThreadId, last: impl Fn(Loc) -> Value) -> bool {
        let inner = self.stage.world.inner.borrow();
        let round = &inner.threads[thread.index()].engine.round;
        let unchanged = |(cell, seen)| match seen {
            Seen::Bits { bits, initial } => inner.bits_of(last(Loc(cell)), initial) == bits,
            Seen::Number(value) => last(Loc(cell)) == value,
        };
        let before = round.read_before();
        let mut waits = round.waits_for().into_iter().flatten();
        let told_elsewhere = !before.is_empty() && before.iter().copied().all(unchanged);
        waits.all(unchanged) && !told_elsewhere
    }

    /// Lets a spinning thread continue its loop while nothing changes. Returns the number of rounds
    /// after which it gives up; `None` if it never does.
    pub fn gives_up_after(&mut self, thread: ThreadId, last: impl Fn(Loc) -> Value) -> Option<u32> {
        let state = |program: &Self| {
            let inner = program.stage.world.inner.borrow();
            let thread = &inner.threads[thread.index()];
            let spins = thread.pending.until == Until::Spin;
            (thread.engine.round.yields, spins)
        };
        let (before, _) = state(self);
        self.inner(|inner| inner.probing = true);
        let mut steps = 0;
        let rounds = loop {
            let action = self.pending(thread);
            let (yields, spins) = state(self);
            let value = match action {
                Action::Read { loc, .. } => last(loc),
                Action::Await { loc, .. } | Action::Update { loc, .. } => {
                    let value = last(loc);
                    match self.modify(thread, value) {
                        Effect::Keep => value,
                        Effect::Wait if spins => value,
                        // The thread changes something, or waits for something else.
                        Effect::Wait | Effect::Write(_) => break Some(yields - before),
                    }
                }
                Action::Choice { .. } | Action::Fence { .. } => 0,
                _ => break Some(yields - before),
            };
            steps += 1;
            if yields - before > MAX_FUTILE_ROUNDS || steps > MOST_STEPS {
                break None;
            }
            let length = self.log.len();
            self.answer(thread, value);
            self.log.truncate(length);
        };
        self.inner(|inner| inner.probing = false);
        self.run_again();
        rounds
    }
}

impl Drop for WeakProgram {
    fn drop(&mut self) {
        self.stage.abandon(&self.table);
    }
}

impl Program for WeakProgram {
    fn initial_threads(&self) -> u32 {
        1
    }

    fn initial_value(&self, loc: Loc) -> Value {
        let inner = self.stage.world.inner.borrow();
        let cell = inner.cells.get(loc.index());
        cell.map_or(0, |cell| cell.initial)
    }

    fn pending(&mut self, thread: ThreadId) -> Action {
        self.begin();
        let process = ProcessId(thread.0);
        let inner = self.stage.world.inner.borrow();
        let Some(state) = inner.threads.get(process.index()) else {
            diverged("a thread was not started that was started before".into())
        };
        match state.life {
            Life::Unborn => diverged("a thread was not started that was started before".into()),
            Life::Ended | Life::Stopped => Action::End,
            Life::Failed => Action::Fail(Self::failure(&inner, process)),
            #[cfg(feature = "symbolic")]
            Life::Lost => Action::Discard,
            Life::Alive => match state.engine.action {
                Some(Action::Spawn { .. }) => {
                    let child = self.table.child(process, state.children);
                    let child = ThreadId(child.0);
                    Action::Spawn { child }
                }
                Some(action) => action,
                None => diverged("a thread waits for nothing".into()),
            },
        }
    }

    fn modify(&mut self, thread: ThreadId, read: Value) -> Effect {
        self.begin();
        let mut inner = self.stage.world.inner.borrow_mut();
        inner.effect(ProcessId(thread.0), read)
    }

    fn decide(&mut self, made: &[Decision], question: u32, after: Option<Value>) -> Option<Value> {
        self.inner(|inner| inputs::decide(inner, made, question, after))
    }

    fn answer(&mut self, thread: ThreadId, value: Value) {
        self.begin();
        self.log.push((thread, value));
        let process = ProcessId(thread.0);
        {
            let mut inner = self.stage.world.inner.borrow_mut();
            inner.begin_step(process, &[]);
            inner.threads[process.index()].engine.answer = value;
        }
        self.stage
            .run(process, &mut Table::Growing(&mut self.table));
        self.look();
        self.stage.record_step();
    }

    fn answer_again(&mut self, thread: ThreadId, known: &[Known]) {
        // While steps are recorded, accesses are repeated one at a time, because the description of
        // a step is recorded when the thread is suspended again.
        let one_by_one = self.inner(|inner| inner.recording);
        let length = if one_by_one { 1 } else { known.len().max(1) };
        for known in known.chunks(length) {
            self.answer_at_once(thread, known);
        }
    }

    fn leave(&mut self, last: &[Option<Value>]) {
        let alive = |inner: &mut Inner| inner.alive > 0 && inner.refused.is_none();
        if !self.begun || !self.inner(alive) {
            return;
        }
        let mut last = last.to_vec();
        let mut steps = 0;
        let mut goes_on = true;
        while std::mem::take(&mut goes_on) {
            let threads = self.inner(|inner| inner.threads.len());
            for thread in (0..threads).map(|thread| ProcessId(thread as u32)) {
                while let Some(value) = self.next_alone(thread, &mut last) {
                    steps += 1;
                    if steps > MAX_FINISHING_STEPS || !self.step_alone(thread, value) {
                        return;
                    }
                    goes_on = true;
                }
            }
        }
    }

    fn rewind(&mut self, answers: &mut [u32]) {
        answers.fill(0);
        self.begun = false;
    }

    fn diverged(&mut self, thread: ThreadId) -> ! {
        let process = ProcessId(thread.0);
        let name = self.table.path(process).clone();
        let did = self.inner(|inner| inner.describe(process));
        diverged(format!(
            "in an execution that was run again, thread {name} {did}"
        ))
    }
}
