//! Unfolding: fewer tests than traces.
//!
//! Thesis, chapters 3 to 5. The other explorers walk a tree of runs and run each trace. Here the
//! runs (*tests*) together build a net that contains every reachable local state of every process
//! once (`net.rs`). The net contains all traces, although few of them have been run.

mod configuration;
mod deadlocks;
mod drawing;
mod extensions;
mod isomorphism;
mod maximal;
mod model;
mod model_net;
mod net;
mod numbers;
mod parts;
mod prefix;
mod reach;
mod region;
mod session;
mod sides;
mod tested_model;
mod testing;
mod walk;
mod workers;

use std::ops::ControlFlow;

use mazurka_core::{Bound, Execution, Fingerprint, ProcessTable, Schedule, ScheduledStep};

pub use drawing::{Arcs, Drawing, Drawn};
pub use net::{NetKind, Place, UnknownNet};
pub use reach::{Placed, Question, Stops, Structure, Valued};

use crate::drive::findings::Findings;
use crate::drive::search::{Engine, Session as Search};
use extensions::Builder;
use prefix::{Prefix, Stateful};
use session::Session;
use testing::Tester;
use walk::Walk;
pub use walk::Walked;
pub use workers::Unfolded;

/// A net, and the findings of the tests that built it.
#[derive(Debug)]
pub struct Unfolding {
    builder: Builder,
    processes: ProcessTable,
    stateful: Option<Stateful>,
    /// The findings of the tests. In the counts, executions are tests, and events are those of the
    /// net.
    pub found: Findings,
}

/// Unfolds a program: runs tests until the net is complete. An observer is called at the end of
/// each test.
#[derive(Clone, Copy, Debug)]
pub struct Unfold {
    /// Which net to build.
    pub kind: NetKind,
    /// Seed for the choice of tests.
    pub seed: u64,
}

impl<E: Execution> Engine<E> for Unfold {
    type Found = Unfolding;

    fn search(&self, mut search: Search<'_, '_, E>) -> Unfolding {
        let session = Session::new(&mut search);
        let (builder, stateful, found) = match self.kind {
            NetKind::Stateful => {
                let (builder, stateful, found) = Prefix::new(session, self.seed).unfold();
                (builder, Some(stateful), found)
            }
            NetKind::Replicated | NetKind::Contextual => {
                let (builder, found) = Tester::new(session, self.kind, self.seed).test();
                (builder, None, found)
            }
        };
        Unfolding {
            builder,
            stateful,
            processes: search.program.processes().clone(),
            found,
        }
    }
}

/// Unfolds a program, starting with recorded tests: these are run first, then tests that cover the
/// rest. The net is the same as without recorded tests. Only nets that are built from tests alone
/// use them: [`NetKind::Stateful`] ignores them.
#[derive(Clone, Copy, Debug)]
pub struct UnfoldFrom<'a> {
    /// The net, and the choice of the other tests.
    pub unfold: Unfold,
    /// Schedules of runs. If a step does not fit the program, the test continues without the rest
    /// of the schedule.
    pub tests: &'a [Schedule],
}

impl<E: Execution> Engine<E> for UnfoldFrom<'_> {
    type Found = Unfolding;

    fn search(&self, mut search: Search<'_, '_, E>) -> Unfolding {
        let Unfold { kind, seed } = self.unfold;
        if kind == NetKind::Stateful {
            return self.unfold.search(search);
        }
        let tester = Tester::new(Session::new(&mut search), kind, seed);
        let (builder, found) = tester.test_after(self.tests);
        Unfolding {
            builder,
            stateful: None,
            processes: search.program.processes().clone(),
            found,
        }
    }
}

/// Visits the states of the model behind the stateful net, one after the other, without building a
/// net.
#[derive(Clone, Copy, Debug)]
pub struct WalkStates {
    /// Seed for the choice of the tests that find the model.
    pub seed: u64,
    /// Whether sleep sets save steps.
    pub sleep: bool,
}

impl<E: Execution> Engine<E> for WalkStates {
    type Found = Walked;

    fn search(&self, mut search: Search<'_, '_, E>) -> Walked {
        Walk::new(Session::new(&mut search), *self).walk()
    }
}

impl Unfolding {
    /// Returns the number of events of the net.
    pub fn events(&self) -> usize {
        self.builder.net.events.len()
    }

    /// For a stateful net: returns how many local states and how many steps its model has.
    pub fn model(&self) -> Option<(usize, usize)> {
        self.stateful.as_ref().map(|stateful| stateful.model)
    }

    /// For a stateful net: returns its model as a Petri net, whose conditions are places and whose
    /// events are transitions, and for each transition an event of the net that is labelled with
    /// it.
    pub fn draw_model(&self) -> Option<(&Drawing, Vec<usize>)> {
        let model = &self.stateful.as_ref()?.model_net;
        let events = model.events.iter().map(|&event| event as usize);
        Some((&model.drawing, events.collect()))
    }

    /// Returns the number of conditions of the net, as the thesis draws it.
    pub fn conditions(&self) -> u64 {
        self.builder.net.count_conditions(self.processes.len())
    }

    /// Returns the processes met in the tests, by their numbers in the net.
    pub fn processes(&self) -> &ProcessTable {
        &self.processes
    }

    /// Returns the net as the thesis draws it.
    pub fn draw(&self) -> Drawing {
        let mut drawing = drawing::draw(&self.builder.net, self.processes.len() as u32);
        for &terminal in self
            .stateful
            .iter()
            .flat_map(|stateful| &stateful.terminals)
        {
            drawing.events[terminal as usize].terminal = true;
        }
        // The conditions of threads are the first, in the order of the threads.
        let waits = |threads: &Vec<u32>| threads.iter().map(|&thread| thread as usize).collect();
        drawing.deadlocks = self.builder.deadlocks.iter().map(waits).collect();
        drawing
    }

    /// Returns a schedule to an event, numbered as in [`Unfolding::draw`]; its step is the last.
    pub fn schedule_of(&mut self, event: usize) -> Schedule {
        let net = &self.builder.net;
        let past = net.past(net.events[event].extension).to_vec();
        let mut schedule = self.schedule(&past);
        schedule.0.push(self.step(event as u32));
        schedule
    }

    fn step(&self, event: u32) -> ScheduledStep {
        let net = &self.builder.net;
        ScheduledStep {
            process: self.processes.path(net.event(event).process).clone(),
            outcomes: net.chosen(event).into(),
        }
    }

    /// Returns a fingerprint that two nets of a program share if and only if they are isomorphic.
    pub fn fingerprint(&self) -> Fingerprint {
        isomorphism::fingerprint(&self.builder.net, &self.processes)
    }

    /// Searches the net for a state for which the question holds. Returns a schedule to such a
    /// state, if there is one, and the number of markings examined.
    pub fn reach<E: Execution, Q: Question<E>>(
        &mut self,
        program: &mut E,
        question: &Q,
        tick: &mut dyn FnMut() -> ControlFlow<Bound>,
    ) -> ControlFlow<Bound, (Option<Schedule>, u64)> {
        let Builder { net, examiner, .. } = &mut self.builder;
        let answer = if question.deadlock() {
            reach::search_deadlocks(net, examiner, program, question, tick)?
        } else {
            let slice = reach::Slice::new(net, examiner, program, question, tick)?;
            slice.search(examiner, program, question, tick)?
        };
        let schedule = answer.clock.map(|clock| self.schedule(&clock));
        ControlFlow::Continue((schedule, answer.markings))
    }

    /// Returns the net, with the values and lines that a question is about, for a translation into
    /// a formula.
    pub fn structure<E: Execution, Q: Question<E>>(
        &mut self,
        program: &mut E,
        question: &Q,
        tick: &mut dyn FnMut() -> ControlFlow<Bound>,
    ) -> ControlFlow<Bound, Structure<Q::Value>> {
        let Builder { net, examiner, .. } = &mut self.builder;
        let slice = reach::Slice::new(net, examiner, program, question, tick)?;
        slice.structure(examiner, program, question, tick)
    }

    /// Returns a schedule of the events marked in `happened`, which must be a configuration.
    pub fn schedule_of_all(&mut self, happened: &[bool]) -> Schedule {
        let net = &self.builder.net;
        let mut clock = Vec::new();
        for event in (0..net.events.len() as u32).filter(|&event| happened[event as usize]) {
            net.join_event(&mut clock, event);
        }
        self.schedule(&clock)
    }

    /// Returns schedules of all the executions that the net represents, one for each; `None` if
    /// there are more than `most` configurations.
    pub fn executions(&mut self, most: usize) -> Option<Vec<Schedule>> {
        let mut clocks = Vec::new();
        let is_within_limit = maximal::maximal(&self.builder.net, most, &mut |clock| {
            clocks.push(clock.to_vec());
        });
        let schedules = clocks.iter().map(|clock| self.schedule(clock));
        is_within_limit.then(|| schedules.collect())
    }

    /// Returns a schedule of a configuration.
    fn schedule(&mut self, clock: &[u32]) -> Schedule {
        let Builder { net, examiner, .. } = &mut self.builder;
        let mut events = Vec::new();
        examiner.schedule(net, clock, &mut events);
        let steps = events.iter().map(|&event| self.step(event));
        Schedule(steps.collect())
    }
}
