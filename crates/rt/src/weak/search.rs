//! Searches under a memory model, and their findings.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Instant;

use mazurka_core::{Bound, Fingerprint, ProcessId};
use mazurka_memory::graph::Graph;
use mazurka_memory::schedule::Schedule;
use mazurka_memory::{
    Drawing, End, Ending, Failure, Found, Memory, ThreadId, Visitor, sample, visit,
};

use super::inputs::{self, DifferingRuns};
use super::program::WeakProgram;
use super::saved::SavedSearch;
use crate::batches::ExecutionCounts;
use crate::builder::Builder;
use crate::checkpoint::Checkpoint;
use crate::report;
use crate::simulate::SearchAbort;
use crate::verdict::end_test;

/// A loop that gives up after more rounds than this cannot be explored.
const MOST_ROUNDS: u32 = 16;

/// The fault of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A panic, as an index into `Inner::failures`.
    Panic(u32),
    /// No thread can continue.
    Deadlock,
    /// Two accesses, each a thread and the index of its event.
    Race([(ThreadId, u32); 2]),
}

/// The findings of an exploration under a memory model.
#[derive(Default)]
pub(crate) struct Explored {
    /// The first fault, and a schedule that leads to it.
    pub fault: Option<(Fault, Schedule)>,
    /// If results are compared: the first execution, and one with another result once it is found.
    /// Each has the index of its result and its schedule.
    pub results: Vec<(u64, Schedule)>,
    pub executions: u64,
    /// Number of executions that end in a deadlock.
    pub deadlocks: u64,
    pub failures: u64,
    pub blocked: u64,
    pub bounds: Vec<Bound>,
    /// How often each execution was drawn, if executions are drawn at random.
    pub execution_counts: ExecutionCounts,
}

/// Examines each execution.
#[derive(Default)]
pub(super) struct Watch {
    /// Whether the search continues after a fault.
    everything: bool,
    /// Whether two different results end the search.
    compares: bool,
    /// Whether executions are drawn at random, so that the same execution may be drawn several
    /// times.
    draws: bool,
    pub explored: Explored,
    /// Set if a loop that seemed to wait for ever gives up when it runs on: the number of rounds
    /// after which it does.
    rounds: Option<u32>,
    /// Executions whose results are compared for equal inputs.
    differing_runs: DifferingRuns,
}

/// The kind of a search.
pub(crate) struct SearchPlan {
    pub memory: Memory,
    /// Whether the search continues after a fault.
    pub everything: bool,
    /// Whether two different results end the search.
    pub compares: bool,
    /// Draws executions at random, if set.
    pub random: Option<Drawing>,
    /// The checkpoint in which the search is saved; `None` if it is not saved.
    pub checkpoint: Option<Rc<Checkpoint>>,
}

impl SearchPlan {
    /// Describes a search that ends at the first fault.
    pub fn new(memory: Memory) -> Self {
        Self {
            memory,
            everything: false,
            compares: false,
            random: None,
            checkpoint: None,
        }
    }
}

impl Builder {
    /// Explores a program. The error describes an operation that cannot be explored.
    pub(crate) fn explore_weakly(
        &self,
        program: &mut WeakProgram,
        plan: &SearchPlan,
    ) -> Result<Explored, String> {
        let start = Instant::now();
        loop {
            let limits = self.after(start.elapsed()).limits();
            let mut watch = Watch {
                everything: plan.everything,
                compares: plan.compares,
                draws: plan.random.is_some(),
                ..Watch::default()
            };
            program.reset();
            let search = AssertUnwindSafe(|| match (&plan.random, &plan.checkpoint) {
                (None, None) => visit(&mut *program, plan.memory, &limits, &mut watch),
                (None, Some(checkpoint)) => {
                    let saved = SavedSearch {
                        memory: plan.memory,
                        checkpoint,
                        start: Instant::now(),
                        limits: &limits,
                    };
                    saved.visit(program, &mut watch)
                }
                (Some(random), _) => {
                    let random = random.clone();
                    sample(&mut *program, plan.memory, &limits, random, &mut watch)
                }
            });
            let found = match catch_unwind(search) {
                Ok(found) => found,
                Err(payload) => match payload.downcast::<SearchAbort>().map(|stop| *stop) {
                    Ok(SearchAbort::Restart | SearchAbort::Weak) => {
                        self.check_spins(program)?;
                        continue;
                    }
                    Ok(SearchAbort::Refused(what)) => return Err(what),
                    Ok(SearchAbort::Diverged(_))
                        if program.inner(|inner| inner.names.blocks.distrust()) =>
                    {
                        continue;
                    }
                    // A test that did not set a model continues under sequential consistency.
                    Ok(SearchAbort::Diverged(how)) if self.memory.is_none() => return Err(how),
                    Ok(SearchAbort::Diverged(how)) => end_test!("{}", report::divergence(&how)),
                    Err(other) => resume_unwind(other),
                },
            };
            match watch.rounds {
                None => {
                    let differing_runs = std::mem::take(&mut watch.differing_runs);
                    let mut explored = watch.conclude(found);
                    explored.bounds = self.as_asked(explored.bounds);
                    let cut = inputs::decisions_cut(program).map(Bound::MaxLocal);
                    explored.bounds.extend(cut);
                    differing_runs.settle(program, plan.memory, &mut explored);
                    return Ok(explored);
                }
                // A loop gives up: start again, and explore more futile rounds.
                Some(rounds) => {
                    program.inner(|inner| inner.spins += rounds.max(1));
                    self.check_spins(program)?;
                }
            }
        }
    }

    /// Fails if the loops of a program do not give up soon enough.
    fn check_spins(&self, program: &WeakProgram) -> Result<(), String> {
        let spins = program.inner(|inner| inner.spins);
        if spins > self.spins + MOST_ROUNDS {
            Err(format!("a spin loop that gives up after {spins} rounds"))
        } else {
            Ok(())
        }
    }
}

impl Watch {
    /// Combines the findings of this watch with those of the engine.
    fn conclude(self, found: Found) -> Explored {
        let mut explored = self.explored;
        explored.bounds = found.bounds;
        if explored.fault.is_none() {
            // The engine itself records panics and races, even in executions that are cut off.
            let mut findings = found.findings.into_iter();
            explored.fault = findings.find_map(|finding| {
                let fault = match finding.failure {
                    Failure::Failed { code, .. } => Fault::Panic(code),
                    Failure::Race { first, second, .. } => Fault::Race([first, second]),
                    Failure::Deadlock => return None,
                };
                Some((fault, finding.schedule))
            });
        }
        explored
    }

    /// Counts an execution with a fault, which ends the search unless it explores everything.
    fn count_fault(&mut self) -> ControlFlow<()> {
        self.explored.executions += 1;
        if self.everything {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    /// Whether an execution in which threads wait for ever is a deadlock, and no other execution
    /// covers it. A loop that gives up ends the search.
    fn is_deadlock(&mut self, end: &mut End<'_, &mut WeakProgram>) -> ControlFlow<(), bool> {
        let (graph, program) = end.graph_and_program();
        if program.is_covered_wait() {
            return ControlFlow::Continue(false);
        }
        let last = |loc| graph.final_value(loc);
        let spinning = program.spinning();
        if !spinning.iter().all(|&it| program.has_seen_all(it, last)) {
            return ControlFlow::Continue(false);
        }
        for thread in spinning {
            if let Some(rounds) = program.gives_up_after(thread, last) {
                self.rounds = Some(rounds);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(true)
    }
}

/// Returns the fingerprint of an execution. For each thread it covers the choices, and the position
/// in the modification order of the write that each access reads or makes.
fn fingerprint(graph: &Graph, program: &WeakProgram) -> Fingerprint {
    let threads = (0..graph.threads()).map(|thread| {
        let name = program.table.name(ProcessId(thread));
        let events = graph.thread(ThreadId(thread)).iter();
        events.fold(name, |print, &slot| {
            let event = graph.event(slot);
            print.then(if event.is_access() {
                u64::from(graph.position(event))
            } else {
                event.value as u64
            })
        })
    });
    threads.fold(Fingerprint::EMPTY, Fingerprint::and)
}

impl<'p> Visitor<&'p mut WeakProgram> for Watch {
    fn end(&mut self, end: &mut End<'_, &'p mut WeakProgram>) -> ControlFlow<()> {
        match end.ending() {
            Ending::Blocked | Ending::Discarded => {
                self.explored.blocked += 1;
                ControlFlow::Continue(())
            }
            Ending::Failed if end.program().is_covered_wait() => {
                self.explored.blocked += 1;
                ControlFlow::Continue(())
            }
            Ending::Race | Ending::Failed => {
                self.explored.failures += 1;
                self.count_fault()
            }
            Ending::Deadlock => {
                if !self.is_deadlock(end)? {
                    self.explored.blocked += 1;
                    return ControlFlow::Continue(());
                }
                self.explored.deadlocks += 1;
                let fault = (Fault::Deadlock, end.schedule());
                self.explored.fault.get_or_insert(fault);
                self.count_fault()
            }
            Ending::Complete => {
                if let Some(site) = end.program().unnoticed() {
                    self.explored.failures += 1;
                    let fault = (Fault::Panic(site), end.schedule());
                    self.explored.fault.get_or_insert(fault);
                    return self.count_fault();
                }
                self.explored.executions += 1;
                if self.draws {
                    let (graph, program) = end.graph_and_program();
                    self.explored
                        .execution_counts
                        .add(fingerprint(graph, program));
                }
                let Some(observe) = end.program().observe.clone() else {
                    return ControlFlow::Continue(());
                };
                let result = observe();
                if self.compares && self.differing_runs.are_asked(end.program()) {
                    let schedule = end.schedule();
                    return if self.differing_runs.add(end.program(), result, schedule) {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    };
                }
                let results = &mut self.explored.results;
                if self.compares && results.iter().all(|(known, _)| *known != result) {
                    results.push((result, end.schedule()));
                }
                if results.len() > 1 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            }
        }
    }
}
