//! The loaded program as a program of the engine of memory models.

use mazurka_core::record::{LockChange, Step, Waiting};
use mazurka_core::{
    Fingerprint, Mishap, MishapKind, Narrator, ProcessId, ProcessPath, ProcessTable, Schedule,
};
use mazurka_memory::{Action, Effect, Loc, Program, ThreadId, Value};

use super::Rule;
use crate::Stop;
use crate::machine::{Machine, run, start};
use crate::tell;
use crate::world::{Life, Until, is_there, world};

/// The program that was loaded, under a memory model.
#[derive(Debug)]
pub struct WeakProgram {
    begun: bool,
}

/// An execution, as it is told.
#[derive(Debug)]
pub struct DescribedExecution(Machine);

impl WeakProgram {
    /// A program that was loaded; none if there is none.
    pub fn of_loaded() -> Option<Self> {
        is_there().then(|| {
            world().weak.on = true;
            Self { begun: false }
        })
    }

    /// Starts again when it is asked next, with what was learned.
    pub fn start_again(&mut self) {
        let world = world();
        if matches!(world.stop, Some(Stop::Restart | Stop::OutOfTime)) {
            world.stop = None;
            world.forget_places();
        }
        self.begun = false;
    }

    /// Whether races are allowed, which no memory model of C does.
    pub fn allows_races(&self) -> bool {
        world().settings.allow_races
    }

    /// Whether variables are observed, whose last value is not in memory.
    pub fn observes_variables(&self) -> bool {
        !world().observed.is_empty()
    }

    /// Whether what is left behind is looked for.
    pub fn looks_for_leaks(&self) -> bool {
        world().settings.leaks
    }

    /// Why the last search was broken off, if the program was the reason.
    pub fn stopped(&self) -> Option<Stop> {
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

    /// The threads.
    pub fn threads(&self) -> &ProcessTable {
        &world().table
    }

    /// The thread of a name, which it gets if it is new.
    pub fn thread(&mut self, path: &ProcessPath) -> Option<ThreadId> {
        let (first, rest) = path.parts().split_first()?;
        let main = (*first == 0).then_some(ProcessId(0))?;
        let table = &mut world().table;
        let found = rest.iter().fold(main, |parent, &k| table.child(parent, k));
        Some(ThreadId(found.0))
    }

    /// Whether threads that wait here wait for ever, and no other execution stands for this one.
    /// `last` gives the last value of a location.
    pub fn is_deadlock(&self, last: impl Fn(Loc) -> Value) -> bool {
        let world = world();
        let mut threads = world.threads.iter().filter(|it| it.life == Life::Alive);
        threads.all(|thread| {
            let round = &thread.asking.round;
            let mut reads = round.reads.iter();
            thread.pending.until != Until::Change
                || round.chosen == 0 && reads.all(|&(cell, seen)| last(Loc(cell)) == seen)
        })
    }

    /// Whether the program has ended, though some of its threads have not.
    pub fn has_exited(&self) -> bool {
        world().exited
    }

    /// Whether another execution stands for this one.
    pub fn is_in_vain(&self) -> bool {
        world()
            .threads
            .iter()
            .any(|thread| thread.life == Life::Discarded && thread.asking.in_vain)
    }

    /// What the program has printed, and its exit code.
    pub fn observation(&self) -> Fingerprint {
        world().observation()
    }

    /// The access of a failure in words, and the place in the source.
    pub fn explain(&self, site: u32) -> (String, Option<mazurka_core::record::Place>) {
        DescribedExecution(Machine::as_it_stands())
            .0
            .explain(&Mishap {
                process: None,
                kind: MishapKind::Failure,
                site,
            })
    }

    /// What a location is called.
    pub fn name_of(&self, loc: Loc) -> String {
        let address = world().cells.get(loc.index()).map_or(0, |it| it.address);
        world().name_of(address)
    }

    /// Where the pending access of a thread is, in words.
    pub fn place_of(&self, thread: ThreadId) -> String {
        let pc = world().threads[thread.index()].pending.pc;
        world().image_place(pc)
    }

    /// Makes the pending access of a thread, and tells it.
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

    /// The execution as it stands.
    pub fn told(&self) -> DescribedExecution {
        world().settle();
        DescribedExecution(Machine::as_it_stands())
    }
}

impl DescribedExecution {
    /// The execution as a run with these steps.
    pub fn run(&self, schedule: &Schedule, steps: Vec<Step>) -> mazurka_core::record::Run {
        self.0.told(schedule, steps)
    }

    /// The threads that wait, and for what.
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
        match (state.life, state.asking.action) {
            (Life::Ended | Life::Unborn, _) => Action::End,
            (Life::Failed, _) => Action::Fail(state.asking.failure),
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
        let rule: Rule = thread.map_or(Rule::Nothing, |thread| thread.asking.rule);
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
        world.threads[process.index()].asking.answer = value;
        run(process);
    }

    fn gives_up(&self) -> Option<u32> {
        world().stop.as_ref().map(|_| 0)
    }

    fn rewind(&mut self, answers: &mut [u32]) {
        answers.fill(0);
        self.begun = false;
    }

    /// The search is broken off: the program depends on more than its answers, or has to start
    /// again.
    fn differs(&mut self, _: ThreadId) {
        let what = "the program does not do the same again with the same answers".to_owned();
        world().stop.get_or_insert(Stop::Refused(what));
    }
}
