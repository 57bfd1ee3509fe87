//! The loaded program, as a program of `mazurka-memory`, the engine of memory models.

use mazurka_core::record::{LockChange, Step, Waiting};
use mazurka_core::{
    Fingerprint, Mishap, MishapKind, Narrator, ProcessId, ProcessPath, ProcessTable, Schedule,
};
use mazurka_memory::{Action, Effect, Loc, Program, ThreadId, Value};

use super::Rule;
use crate::SearchStop;
use crate::machine::{Machine, run, start};
use crate::tell;
use crate::world::{Life, WaitCondition, is_there, world};

/// The loaded program under a memory model.
#[derive(Debug)]
pub struct WeakProgram {
    begun: bool,
}

/// An execution with descriptions of its steps.
#[derive(Debug)]
pub struct DescribedExecution(Machine);

impl WeakProgram {
    /// Returns the loaded program; `None` if no program is loaded.
    pub fn of_loaded() -> Option<Self> {
        is_there().then(|| {
            world().weak.on = true;
            Self { begun: false }
        })
    }

    /// Prepares a new search, with the facts that the previous search has learned. The next use
    /// starts the program again.
    pub fn start_again(&mut self) {
        let world = world();
        if matches!(
            world.stop,
            Some(SearchStop::Restart | SearchStop::OutOfTime | SearchStop::Raced)
        ) {
            world.stop = None;
            world.forget_places();
        }
        world.has_raced = false;
        self.begun = false;
    }

    /// Whether the search has met accesses whose order no events determine, such as the use of a
    /// block that another thread frees. Other orders of these accesses may lead to other results,
    /// and are not explored.
    pub fn has_raced(&self) -> bool {
        world().has_raced
    }

    /// Whether races are allowed. No memory model of C allows them.
    pub fn allows_races(&self) -> bool {
        world().settings.allow_races
    }

    /// Whether variables are observed. Memory models do not support this, because the last values
    /// in the execution graph are not in memory.
    pub fn observes_variables(&self) -> bool {
        !world().observed.is_empty()
    }

    /// Whether leaks are reported.
    pub fn looks_for_leaks(&self) -> bool {
        world().settings.leaks
    }

    /// Returns why the last search stopped, if the program was the reason.
    pub fn stopped(&self) -> Option<SearchStop> {
        world().stop.clone()
    }

    fn begin(&mut self) {
        if self.begun {
            return;
        }
        self.begun = true;
        let world = world();
        world.owner = 0;
        world.begin();
        start(ProcessId(0));
        run(ProcessId(0));
    }

    /// Returns the threads.
    pub fn threads(&self) -> &ProcessTable {
        &world().table
    }

    /// Returns the thread with this path. A thread that is not known yet gets the next number.
    pub fn thread(&mut self, path: &ProcessPath) -> Option<ThreadId> {
        let (first, rest) = path.parts().split_first()?;
        let main = (*first == 0).then_some(ProcessId(0))?;
        let table = &mut world().table;
        let found = rest.iter().fold(main, |parent, &k| table.child(parent, k));
        Some(ThreadId(found.0))
    }

    /// Whether the waiting threads wait for ever and no other execution covers this one. `last`
    /// returns the last value of a location.
    pub fn is_deadlock(&self, last: impl Fn(Loc) -> Value) -> bool {
        let world = world();
        let mut threads = world.threads.iter().filter(|it| it.life == Life::Alive);
        threads.all(|thread| {
            let round = &thread.weak_state.round;
            let mut reads = round.reads.iter();
            thread.pending.until != WaitCondition::Change
                || round.chosen == 0 && reads.all(|&(cell, seen)| last(Loc(cell)) == seen)
        })
    }

    /// Whether the program has ended although some of its threads have not.
    pub fn has_exited(&self) -> bool {
        world().exited
    }

    /// Whether another execution covers this one, so that it does not count.
    pub fn is_in_vain(&self) -> bool {
        world()
            .threads
            .iter()
            .any(|thread| thread.life == Life::Discarded && thread.weak_state.in_vain)
    }

    /// Returns the fingerprint of the output and the exit code.
    pub fn observation(&self) -> Fingerprint {
        world().observation()
    }

    /// Describes a failure, given by its index, and returns its place in the source.
    pub fn explain(&self, site: u32) -> (String, Option<mazurka_core::record::Place>) {
        DescribedExecution(Machine::as_it_stands())
            .0
            .explain(&Mishap {
                process: None,
                kind: MishapKind::Failure,
                site,
            })
    }

    /// Returns the name of a location.
    pub fn name_of(&self, loc: Loc) -> String {
        let address = world().cells.get(loc.index()).map_or(0, |it| it.address);
        world().name_of(address)
    }

    /// Describes where in the code the announced access of a thread is.
    pub fn place_of(&self, thread: ThreadId) -> String {
        let pc = world().threads[thread.index()].pending.pc;
        world().image_place(pc)
    }

    /// Makes the announced access of a thread with this answer, and describes it.
    pub fn tell(&mut self, thread: ThreadId, value: Value) -> Step {
        self.begin();
        let process = ProcessId(thread.0);
        let Some(pending) = world().threads.get(process.index()).map(|it| it.pending) else {
            self.differs(thread);
            return tell::step(
                process,
                crate::world::Pending::new("nothing", 0, 0),
                Vec::new(),
            );
        };
        world().recording = true;
        self.answer(thread, value);
        world().recording = false;
        let locks = pending.access.iter().filter_map(tell::lock_change);
        let locks: Vec<LockChange> = locks.collect();
        tell::step(process, pending, locks)
    }

    /// Returns the current execution, with descriptions.
    pub fn describe_execution(&self) -> DescribedExecution {
        world().settle();
        DescribedExecution(Machine::as_it_stands())
    }
}

impl DescribedExecution {
    /// Returns the execution as a run with these steps.
    pub fn run(&self, schedule: &Schedule, steps: Vec<Step>) -> mazurka_core::record::Run {
        self.0.told(schedule, steps)
    }

    /// Returns the waiting threads, and what they wait for.
    pub fn waiting(&self) -> Vec<Waiting> {
        self.0.waiting()
    }
}

impl Program for WeakProgram {
    fn initial_threads(&self) -> u32 {
        1
    }

    fn initial_value(&self, loc: Loc) -> Value {
        world().cells.get(loc.index()).map_or(0, |it| it.initial)
    }

    fn pending(&mut self, thread: ThreadId) -> Action {
        self.begin();
        let process = ProcessId(thread.0);
        let world = world();
        let Some(state) = world.threads.get(process.index()) else {
            return Action::End;
        };
        match (state.life, state.weak_state.action) {
            (Life::Ended | Life::Unborn, _) => Action::End,
            (Life::Failed, _) => Action::Fail(state.weak_state.failure),
            (Life::Discarded, _) => Action::Discard,
            (Life::Alive, Some(Action::Spawn { .. })) => {
                let child = world.table.child(process, state.children);
                Action::Spawn {
                    child: ThreadId(child.0),
                }
            }
            (Life::Alive, Some(action)) => action,
            (Life::Alive, None) => Action::End,
        }
    }

    fn modify(&mut self, thread: ThreadId, read: Value) -> Effect {
        self.begin();
        let thread = world().threads.get(thread.index());
        let rule: Rule = thread.map_or(Rule::Nothing, |thread| thread.weak_state.rule);
        rule.effect(read)
    }

    fn answer(&mut self, thread: ThreadId, value: Value) {
        self.begin();
        let process = ProcessId(thread.0);
        let world = world();
        if world.threads.len() <= process.index() {
            return self.differs(thread);
        }
        world.effects.clear();
        world.begin_step(process);
        world.threads[process.index()].weak_state.answer = value;
        run(process);
    }

    fn gives_up(&self) -> Option<u32> {
        world().stop.as_ref().map(|_| 0)
    }

    fn rewind(&mut self, answers: &mut [u32]) {
        answers.fill(0);
        self.begun = false;
    }

    /// Stops the search, because the program did not repeat its accesses with the same answers.
    fn differs(&mut self, _: ThreadId) {
        let what = "the program does not do the same again with the same answers".to_owned();
        let stop = if world().has_raced {
            SearchStop::Raced
        } else {
            SearchStop::Refused(what)
        };
        world().stop.get_or_insert(stop);
    }
}
