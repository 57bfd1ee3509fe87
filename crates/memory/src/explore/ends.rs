//! Ends of executions: how they are classified, counted and shown.
//!
//! An execution ends when no thread can continue, or at a data race. This file decides which
//! [`Ending`] it has, counts it, stores the first schedule for each [`Failure`], and shows the
//! execution to the [`Visitor`].

use std::ops::ControlFlow;

use mazurka_core::Bound;

use super::frames::{Frame, LocksFrame};
use super::{Explorer, Program};
use crate::graph::{Graph, Kind, PORF, Slot};
use crate::models::Model;
use crate::planted::Planted;
use crate::program::{Action, Loc, ThreadId};
use crate::runner::Runner;
use crate::schedule::Schedule;

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// All threads have ended.
    Complete,
    /// Threads wait for ever, for locks, values or other threads.
    Deadlock,
    /// A wasted run: an await is stuck with a value that has been overwritten.
    Blocked,
    /// A thread reached a false assumption.
    Discarded,
    /// A thread failed.
    Failed,
    /// Two accesses race.
    Race,
}

/// The numbers of executions by their endings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Executions in which all threads have ended.
    pub complete: u64,
    /// Executions in which threads wait for ever.
    pub deadlocks: u64,
    /// Wasted runs.
    pub blocked: u64,
    /// Executions in which a thread reached a false assumption.
    pub discarded: u64,
    /// Executions in which a thread failed.
    pub failed: u64,
    /// Executions that a data race ended.
    pub races: u64,
    /// Events that were added, including those of graphs that turned out inconsistent.
    pub events: u64,
}

impl Counts {
    fn count(&mut self, ending: Ending) {
        let count = match ending {
            Ending::Complete => &mut self.complete,
            Ending::Deadlock => &mut self.deadlocks,
            Ending::Blocked => &mut self.blocked,
            Ending::Discarded => &mut self.discarded,
            Ending::Failed => &mut self.failed,
            Ending::Race => &mut self.races,
        };
        *count += 1;
    }

    fn add(&mut self, other: &Self) {
        self.complete += other.complete;
        self.deadlocks += other.deadlocks;
        self.blocked += other.blocked;
        self.discarded += other.discarded;
        self.failed += other.failed;
        self.races += other.races;
        self.events += other.events;
    }

    /// Returns the number of all executions, including wasted runs.
    pub fn executions(&self) -> u64 {
        self.complete + self.deadlocks + self.blocked + self.discarded + self.failed + self.races
    }
}

/// The failure that an execution shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// A thread failed.
    Failed {
        /// The thread.
        thread: ThreadId,
        /// The number that the program gives this failure.
        code: u32,
    },
    /// Threads wait for ever.
    Deadlock,
    /// Two accesses are unordered. Each is given by its thread and the index of its event.
    Race {
        /// The location.
        loc: Loc,
        /// The access that was made first.
        first: (ThreadId, u32),
        /// The other access.
        second: (ThreadId, u32),
    },
}

impl Failure {
    /// Whether a search stores only the first of the two failures: they are equal, or races on one
    /// location.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Race { loc, .. }, Self::Race { loc: other, .. }) => loc == other,
            _ => self == other,
        }
    }
}

/// A failure and an execution that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The failure.
    pub failure: Failure,
    /// The steps that lead to it.
    pub schedule: Schedule,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The numbers of executions by their endings.
    pub counts: Counts,
    /// For each failure, the first execution that shows it.
    pub findings: Vec<Finding>,
    /// The limits that were reached. A limit on the length of an execution only cuts off that
    /// execution; other limits end the search.
    pub bounds: Vec<Bound>,
    /// Whether the visitor ended the search.
    pub stopped: bool,
    /// If the program [gave up](Program::gives_up): the number that it gives its reason. Then the
    /// other fields are meaningless.
    pub given_up: Option<u32>,
}

impl Found {
    /// Adds the findings of a search of another part.
    pub fn merge(&mut self, other: Self) {
        self.counts.add(&other.counts);
        for finding in other.findings {
            let known = |mine: &Finding| mine.failure.is_like(&finding.failure);
            if !self.findings.iter().any(known) {
                self.findings.push(finding);
            }
        }
        for bound in other.bounds {
            if !self.bounds.contains(&bound) {
                self.bounds.push(bound);
            }
        }
        self.stopped |= other.stopped;
        self.given_up = self.given_up.or(other.given_up);
    }

    /// Whether every execution has been seen.
    pub fn is_exhaustive(&self) -> bool {
        self.bounds.is_empty() && !self.stopped && self.given_up.is_none()
    }
}

/// An execution that has ended, as a visitor sees it.
#[derive(Debug)]
pub struct End<'a, P> {
    ending: Ending,
    graph: &'a mut Graph,
    runner: &'a mut Runner<P>,
}

impl<P: Program> End<'_, P> {
    /// Returns how the execution ended.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// Returns the execution.
    pub fn graph(&self) -> &Graph {
        self.graph
    }

    /// Returns the program, with each thread at its end.
    pub fn program(&mut self) -> &mut P {
        self.runner.program(self.graph)
    }

    /// Returns the execution and the program.
    pub fn graph_and_program(&mut self) -> (&Graph, &mut P) {
        let program = self.runner.program(self.graph);
        (self.graph, program)
    }

    /// Returns the execution as a list of steps.
    pub fn schedule(&self) -> Schedule {
        renumbered::<P>(
            Schedule::from_graph(self.graph),
            self.graph,
            self.runner.initial_threads(),
        )
    }
}

/// Returns a schedule with the thread numbers that a new instance of the program would assign.
pub(super) fn renumbered<P: Program>(schedule: Schedule, graph: &Graph, initial: u32) -> Schedule {
    if P::NUMBERED_AS_MET {
        schedule.numbered_from(graph, initial)
    } else {
        schedule
    }
}

/// Sees the end of each execution. A closure can be a visitor.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use mazurka_core::Limits;
/// use mazurka_memory::litmus::{Litmus, load, store};
/// use mazurka_memory::{End, Memory, MemoryOrder::Relaxed, visit};
///
/// // Stops at the first execution in which both threads miss the other's write.
/// let thread = |mine, other| vec![store(mine, 1, Relaxed), load(0, other, Relaxed)];
/// let program = Litmus::new([thread(0, 1), thread(1, 0)]);
/// let mut visitor = |end: &mut End<'_, Litmus>| {
///     let program = end.program();
///     match (program.register(0, 0), program.register(1, 0)) {
///         (0, 0) => ControlFlow::Break(()),
///         _ => ControlFlow::Continue(()),
///     }
/// };
/// let found = visit(program.clone(), Memory::Tso, &Limits::default(), &mut visitor);
/// assert!(found.stopped);
/// let found = visit(program, Memory::Sc, &Limits::default(), &mut visitor);
/// assert!(!found.stopped && found.is_exhaustive());
/// ```
pub trait Visitor<P> {
    /// Called at the end of an execution. Break stops the search.
    fn end(&mut self, end: &mut End<'_, P>) -> ControlFlow<()>;

    /// Called when a thread has failed, or two accesses race, after these steps. If several
    /// executions continue from there, it is called again for each of them.
    fn fails(&mut self, _program: &mut P, _failure: Failure, _steps: &dyn Fn() -> Schedule) {}

    /// Called when a limit has cut off an execution that has made these steps.
    fn cut(&mut self, _steps: &dyn Fn() -> Schedule) {}

    /// Called after every thousand events or so. Break stops the search.
    fn goes_on(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<P, F: FnMut(&mut End<'_, P>) -> ControlFlow<()>> Visitor<P> for F {
    fn end(&mut self, end: &mut End<'_, P>) -> ControlFlow<()> {
        self(end)
    }
}

/// A visitor that ignores executions, so that they are only counted.
#[derive(Clone, Copy, Debug)]
pub struct CountOnly;

impl<P> Visitor<P> for CountOnly {
    fn end(&mut self, _end: &mut End<'_, P>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<P: Program, M: Model> Explorer<'_, P, M> {
    /// Handles the end of an execution: no thread can continue, and no await is *parked* (see
    /// `explore/mod.rs`). Returns whether a parked acquisition can be added after all.
    pub(super) fn end(&mut self) -> ControlFlow<(), bool> {
        let parked = self.parked_lock(ThreadId(0)).is_some();
        let parked = parked && self.planted != Planted::NoParkedLocks;
        if parked && self.leave_to_others() {
            return ControlFlow::Continue(false);
        }
        let ending = self.ending();
        self.note_failures();
        self.show(ending)?;
        if parked {
            self.open(Frame::Locks(LocksFrame::new(self.graph.mark())))
        } else {
            ControlFlow::Continue(false)
        }
    }

    /// Ends the execution with a race.
    pub(super) fn end_in_race(&mut self, first: Slot, second: Slot) -> ControlFlow<()> {
        let (one, other) = (self.graph.event(first), self.graph.event(second));
        let failure = Failure::Race {
            loc: one.loc,
            first: (one.thread, one.index),
            second: (other.thread, other.index),
        };
        self.runner.note_race();
        if self.is_known_race() {
            return ControlFlow::Continue(());
        }
        let events = (first, second);
        let to = |graph: &Graph| Schedule::leading_to_both(graph, events, P::DECIDES_LOCALLY);
        self.note(failure, &to);
        self.note_failures();
        self.show(Ending::Race)
    }

    /// Counts an execution and shows it to the visitor.
    pub(super) fn show(&mut self, ending: Ending) -> ControlFlow<()> {
        if self.is_following_path() || std::mem::take(&mut self.plan.shown) {
            return ControlFlow::Continue(());
        }
        if ending == Ending::Deadlock {
            self.note(Failure::Deadlock, &Schedule::from_graph);
        }
        self.found.counts.count(ending);
        self.plan.must_progress = false;
        self.visitor.end(&mut End {
            ending,
            graph: &mut self.graph,
            runner: &mut self.runner,
        })?;
        match self.limits.executions {
            Some(most) if self.found.counts.executions() >= most => {
                // Races are counted by their choice points: the path to the rest of the search does
                // not lead to this execution.
                self.plan.shown = ending != Ending::Race;
                self.stop(Bound::MaxExecutions(most))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// Returns the ending of an execution in which no thread can continue.
    pub(super) fn ending(&mut self) -> Ending {
        let (mut waits, mut failed, mut discarded) = (false, false, false);
        for thread in (0..self.graph.threads()).map(ThreadId) {
            if !self.is_running(thread) {
                let Some(&last) = self.graph.thread(thread).last() else {
                    continue;
                };
                let stuck = self.graph.event(last);
                if self.graph.position(stuck) < self.graph.last_position(stuck.loc) {
                    return Ending::Blocked;
                }
                waits = true;
                continue;
            }
            match self.runner.action(&mut self.graph, thread) {
                Action::End => {}
                Action::Fail(_) => failed = true,
                Action::Discard => discarded = true,
                _ => waits = true,
            }
        }
        match (discarded, failed, waits) {
            (true, ..) => Ending::Discarded,
            (_, true, _) => Ending::Failed,
            (.., true) => Ending::Deadlock,
            _ => Ending::Complete,
        }
    }

    /// Whether a false assumption happens before the point that a thread has reached. Then a
    /// failure of the thread at this point does not count.
    fn is_discarded(&mut self, thread: ThreadId) -> bool {
        for other in (0..self.graph.threads()).map(ThreadId) {
            let halted = self.is_running(other)
                && self.runner.action(&mut self.graph, other) == Action::Discard;
            if !halted {
                continue;
            }
            // A thread without events has reached its assumption at the event that started it.
            let met = if P::DECIDES_LOCALLY {
                self.last_access(other)
            } else {
                self.graph.tip(other)
            };
            let before = match (met, self.graph.tip(thread)) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(met), Some(last)) => {
                    let event = self.graph.event(met);
                    self.graph.clock(last, PORF)[event.thread.index()] > event.index
                }
            };
            if before {
                return true;
            }
        }
        false
    }

    /// Returns the last event of a thread, leaving out decisions. If there is none, returns the
    /// event that started the thread; `None` if the thread runs from the start.
    fn last_access(&self, thread: ThreadId) -> Option<Slot> {
        let events = self.graph.thread(thread).iter().rev().copied();
        let mut accesses = events.filter(|&it| self.graph.event(it).kind != Kind::Decision);
        accesses.next().or(self.graph.spawn_of(thread))
    }

    /// Records the failures of all threads, except those that a false assumption happens before.
    pub(super) fn note_failures(&mut self) {
        for thread in (0..self.graph.threads()).map(ThreadId) {
            if self.is_running(thread)
                && let Action::Fail(code) = self.runner.action(&mut self.graph, thread)
                && !self.is_discarded(thread)
            {
                let failure = Failure::Failed { thread, code };
                let to = |graph: &Graph| Schedule::leading_to(graph, thread, P::DECIDES_LOCALLY);
                self.note(failure, &to);
            }
        }
    }

    /// Stores the schedule of a failure if the failure is new. Also shows the failure to the
    /// visitor, except for a deadlock, which the visitor sees as the end of an execution.
    fn note(&mut self, failure: Failure, schedule: &dyn Fn(&Graph) -> Schedule) {
        if self.is_following_path() {
            return;
        }
        let initial = self.runner.initial_threads();
        let program = self.runner.program(&mut self.graph);
        let graph = &self.graph;
        let steps = || renumbered::<P>(schedule(graph), graph, initial);
        if failure != Failure::Deadlock {
            self.visitor.fails(program, failure, &steps);
        }
        let known = |finding: &Finding| finding.failure.is_like(&failure);
        if !self.found.findings.iter().any(known) {
            let schedule = steps();
            self.found.findings.push(Finding { failure, schedule });
        }
    }
}
