//! Unfolding: fewer tests than traces.
//!
//! Thesis, chapters 3 to 5. The other explorers walk a tree of runs and run each trace. Here the runs together build a net in which every
//! reachable local state of every process has its place once, and all traces are there to be found, though few of them have been run.

mod configuration;
mod deadlocks;
mod extensions;
mod isomorphism;
mod maximal;
mod net;
mod testing;

use mazurka_core::{Execution, Fingerprint, Limits, ProcessTable, Schedule, ScheduledStep};

pub use net::{NetKind, Place, UnknownNet};

use crate::driver::{Goal, Watch};
use crate::findings::Findings;
use extensions::Builder;
use testing::Tester;

/// A net, and what the tests that built it have found.
#[derive(Debug)]
pub struct Unfolding {
    builder: Builder,
    /// What the tests have found. Counts of executions are tests, events are those of the net.
    pub found: Findings,
}

/// Unfolds a program: runs tests until the net is complete. The seed decides which tests.
pub fn unfold<E: Execution>(
    program: &mut E,
    kind: NetKind,
    seed: u64,
    limits: &Limits,
    goal: Goal,
    watch: &mut Watch<'_>,
) -> Unfolding {
    let tester = Tester::new(program, kind, seed, limits, goal, watch);
    let (builder, found) = tester.test();
    Unfolding { builder, found }
}

impl Unfolding {
    /// How many events the net has.
    pub fn events(&self) -> usize {
        self.builder.net.events.len()
    }

    /// How many conditions the net has, as the thesis draws it, with so many processes.
    pub fn conditions(&self, processes: usize) -> u64 {
        self.builder.net.count_conditions(processes)
    }

    /// The same for isomorphic nets of a program, and no others.
    pub fn fingerprint(&self, processes: &ProcessTable) -> Fingerprint {
        isomorphism::fingerprint(&self.builder.net, processes)
    }

    /// Schedules of all the executions that the net represents, one for each; none if they are too many to tell.
    pub fn executions(&mut self, processes: &ProcessTable, most: usize) -> Option<Vec<Schedule>> {
        let mut clocks = Vec::new();
        let told = maximal::maximal(&self.builder.net, most, &mut |clock| {
            clocks.push(clock.to_vec());
        });
        let schedules = clocks.iter().map(|clock| self.schedule(clock, processes));
        told.then(|| schedules.collect())
    }

    /// A schedule of a configuration.
    fn schedule(&mut self, clock: &[u32], processes: &ProcessTable) -> Schedule {
        let Builder { net, examiner, .. } = &mut self.builder;
        let mut events = Vec::new();
        examiner.schedule(net, clock, &mut events);
        let step = |&event: &u32| ScheduledStep {
            process: processes.path(net.event(event).process).clone(),
            outcomes: net.chosen(event).into(),
        };
        Schedule(events.iter().map(step).collect())
    }
}
