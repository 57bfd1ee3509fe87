//! TruSt: explores the consistent execution graphs of a program, each once.
//!
//! Kokologiannakis, Marmanis, Gladstein, Vafeiadis, "Truly Stateless, Optimal Dynamic Partial Order
//! Reduction", POPL 2022, doi 10.1145/3498711, Algorithm 1.
//!
//! A graph grows by the next event of some thread. A read is tried with every write that it can
//! read from, a write at every place of mo. A write can also *revisit* a read that was added before
//! it: the read takes its value from the write, and everything that was added after the read,
//! except the prefix of the write, is removed. Many graphs can lead to the same graph in this way.
//! So the revisit is made only from the one graph in which all events that it removes were added
//! *maximally*.
//!
//! | paper | here |
//! |---|---|
//! | G | [`Graph`] |
//! | next_P(G) | [`Explorer::next`]: the thread with the least number that can go on |
//! | ≤_G | [`Event::stamp`](crate::graph::Event::stamp) |
//! | (po ∪ rf)+ to the write | `prefix`, a clock |
//! | Deleted | what is beyond `kept` in each thread |
//! | IsMaximallyAdded | `Maximality::has` |
//! | Previous | `Maximality::is_previous` |
//! | VisitCOs | `WriteFrame`, from the end of mo to the floor |
//! | consistent | [`Model::floor`] and [`Model::admits`], checked for the new events only |
//!
//! Where it deviates:
//! - *Stack*: the recursion is a list of frames, and each graph is made from the one before it and
//!   undone by a log. So the memory is that of one execution and of the events that the revisits on
//!   the stack have removed. Each of these revisits keeps its write for good, so there are at most
//!   as many of them as writes in an execution.
//! - *Settled*: the prefix of a write that has revisited is marked, and revisits that would change
//!   it are refused at once. For most reads, maximality would also refuse these revisits, since the
//!   revisited read reads from the write. For locks maximality would allow them: without the mark,
//!   two locks would revisit each other for ever.
//! - *Maximality*: the paper also checks that the write of a removed read is in Previous. Here this
//!   check is left out. A write that is not in Previous is removed too. It is not maximal, because
//!   the read, which reads from it, was added before it (revisit.rs). So the revisit is refused.
//! - *Candidates*: let w be the last write of the location, in mo, that is in the prefix of the
//!   revisiting write. Only the reads that read w or a later write are considered: all other reads
//!   are not maximal (revisit.rs). So if threads access a location one after the other, the work
//!   does not grow with the number of pairs of accesses.
//! - *Updates* are a read and, directly after it, a write. The write is added next, whatever the
//!   other threads can do.
//! - *Choices* are maximal iff they have their first outcome. The paper has no choices; without
//!   this rule a graph is explored twice.
//! - *Decisions* about values that are not known (decisions.rs) are choices whose first feasible
//!   outcome is the maximal one.
//! - *Locks*: the acquisition of a held lock is *parked*: it is not added yet. An acquisition that
//!   revisits an earlier acquisition removes the earlier one, because an acquisition cannot read
//!   from another acquisition. Unlocks revisit no acquisition. When no thread can continue, each
//!   parked acquisition is added with the writes that it could have read earlier: only the revisits
//!   that follow from it are consistent.
//! - *Awaits*, and updates that wait, read only writes that satisfy them, and are parked while the
//!   last write of mo does not satisfy them. When no thread can continue, the first parked await is
//!   added with each write that satisfies it, and once more as *stuck*, reading the last write. A
//!   write at the end of mo that does not satisfy an await revisits it too, and leaves it stuck;
//!   other writes can still revisit it. If at the end a stuck await reads another write than the
//!   last of mo, the execution is *blocked*: a wasted run.
//! - *Races* (rc11) end an execution. Unless there is a race, a plain write has only one place, and
//!   a plain read only one write to read from.

mod decisions;
mod ends;
mod frames;
mod parts;
mod priorities;
mod races;
mod replay;
mod revisit;
mod sample;

pub use ends::{CountOnly, Counts, End, Ending, Failure, Finding, Found, Visitor};
pub use parts::{Part, Unexplored, split, visit_part, visit_rest};
pub use priorities::Drawing;
pub use replay::{Replay, ReplayError, replay, replay_graph};
pub use sample::sample;

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::Instant;

use mazurka_core::{Bound, Limits};

use crate::graph::{Event, Graph, Kind, Slot};
use crate::models::{Memory, Model, under};
use crate::planted::Planted;
use crate::program::{Action, Decision, Effect, Loc, MemoryOrder, Program, ThreadId, Value};
use crate::runner::Runner;
use crate::schedule::Schedule;
use decisions::DecisionFrame;
use frames::{ChoiceFrame, Frame, OpenChoice, ReadFrame, ReadKind, WriteFrame};
use revisit::Suffixes;

/// Explores all executions of a program.
///
/// ```
/// use mazurka_core::Limits;
/// use mazurka_memory::litmus::{Litmus, lock, unlock};
/// use mazurka_memory::{Memory, explore};
///
/// let ab = [lock(0), lock(1), unlock(1), unlock(0)].to_vec();
/// let ba = [lock(1), lock(0), unlock(0), unlock(1)].to_vec();
/// let found = explore(Litmus::new([ab, ba]), Memory::Rc11, &Limits::default());
/// assert_eq!((found.counts.complete, found.counts.deadlocks), (2, 1));
/// assert_eq!(found.counts.blocked, 0);
/// ```
pub fn explore<P: Program>(program: P, memory: Memory, limits: &Limits) -> Found {
    visit(program, memory, limits, &mut CountOnly)
}

/// Explores all executions of a program and shows each to a visitor, which may stop the search.
pub fn visit<P: Program>(
    program: P,
    memory: Memory,
    limits: &Limits,
    visitor: &mut impl Visitor<P>,
) -> Found {
    visit_planted(program, memory, limits, visitor, Planted::Nothing)
}

/// Visits the executions like `visit`, with a planted mistake, to test the tests.
#[doc(hidden)]
pub fn visit_planted<P: Program>(
    program: P,
    memory: Memory,
    limits: &Limits,
    visitor: &mut impl Visitor<P>,
    planted: Planted,
) -> Found {
    under!(memory, planted, model => {
        Explorer::new(program, model, limits, visitor, planted).search()
    })
}

/// The next step of the search.
enum Next {
    /// A thread makes a step.
    Step(ThreadId, Action),
    /// No thread can continue, but the await of this thread is parked.
    Parked(ThreadId, Action),
    /// No thread can continue.
    Nothing,
}

/// The search.
struct Explorer<'a, P, M> {
    runner: Runner<P>,
    model: M,
    limits: &'a Limits,
    start: Instant,
    visitor: &'a mut dyn Visitor<P>,
    planted: Planted,
    graph: Graph,
    frames: Vec<OpenChoice>,
    plan: parts::SearchPlan,
    /// The thread whose update has read and must write next, and the value to write.
    urgent: Option<(ThreadId, Value)>,
    found: Found,
    /// Whether a limit has ended the search.
    limited: bool,
    /// The prefix of the write whose revisits are being made, as a clock.
    prefix: Vec<u32>,
    /// For each thread, the number of events that a revisit keeps.
    kept: Vec<u32>,
    /// The decisions that are passed to the program.
    decisions: Vec<Decision>,
    /// The reads that a write may revisit.
    candidates: Vec<Slot>,
    /// The amount of work, in events and answers, at which the time is checked next.
    next_check: u64,
    suffixes: RefCell<Suffixes>,
}

impl<'a, P: Program, M: Model> Explorer<'a, P, M> {
    fn new(
        program: P,
        model: M,
        limits: &'a Limits,
        visitor: &'a mut dyn Visitor<P>,
        planted: Planted,
    ) -> Self {
        let runner = Runner::new(program);
        let mut graph = Graph::new(model.clocks());
        if let Some(last) = runner.initial_threads().checked_sub(1) {
            graph.know_thread(ThreadId(last));
        }
        Self {
            runner,
            model,
            limits,
            start: Instant::now(),
            visitor,
            planted,
            graph,
            frames: Vec::new(),
            plan: parts::SearchPlan::default(),
            urgent: None,
            found: Found::default(),
            limited: false,
            prefix: Vec::new(),
            kept: Vec::new(),
            decisions: Vec::new(),
            candidates: Vec::new(),
            next_check: 0,
            suffixes: RefCell::default(),
        }
    }

    fn search(mut self) -> Found {
        self.found.stopped = self.run().is_break() && !self.limited;
        self.found
    }

    /// Extends the graph to its end, goes back to the last open choice point, and repeats this.
    fn run(&mut self) -> ControlFlow<()> {
        loop {
            self.extend()?;
            self.plan.check_path();
            loop {
                let Some(mut open) = self.frames.pop() else {
                    return ControlFlow::Continue(());
                };
                if open.closed {
                    continue;
                }
                self.graph.undo(open.frame.mark());
                let advanced = self.advance(&mut open.frame);
                if advanced != ControlFlow::Continue(false) {
                    open.taken += 1;
                    self.frames.push(open);
                    advanced?;
                    break;
                }
            }
        }
    }

    /// Adds events until no thread can continue, or no alternative is consistent.
    fn extend(&mut self) -> ControlFlow<()> {
        loop {
            // The second event of an update belongs to the step of the first.
            if let Some(frame) = self.exclusive_frame() {
                if !self.open(frame)? {
                    return ControlFlow::Continue(());
                }
                continue;
            }
            let next = self.next();
            self.end_if_given_up()?;
            let goes_on = match next {
                Next::Step(..) if self.is_too_long() => return ControlFlow::Continue(()),
                Next::Step(thread, action) => self.step(thread, action, false)?,
                Next::Parked(thread, action) => self.step(thread, action, true)?,
                Next::Nothing => self.end()?,
            };
            if !goes_on {
                return ControlFlow::Continue(());
            }
        }
    }

    /// Ends the search if the program has given up.
    fn end_if_given_up(&mut self) -> ControlFlow<()> {
        self.found.given_up = self.runner.gives_up();
        match self.found.given_up {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    /// Whether the execution has reached the limit on its length. Then it is not explored further.
    fn is_too_long(&mut self) -> bool {
        let most = self.limits.depth();
        if (self.graph.steps() as u64) < most {
            return false;
        }
        let bound = Bound::MaxDepth(most);
        if !self.found.bounds.contains(&bound) {
            self.found.bounds.push(bound);
        }
        self.note_failures();
        self.report_cut();
        self.plan.must_progress = false;
        true
    }

    /// Passes the steps of an execution that a limit cuts off to the visitor.
    fn report_cut(&mut self) {
        let (graph, initial) = (&self.graph, self.runner.initial_threads());
        self.visitor
            .cut(&|| ends::renumbered::<P>(Schedule::from_graph(graph), graph, initial));
    }

    /// Counts an event, and checks the limits.
    fn count_step(&mut self) -> ControlFlow<()> {
        /// The clock is read once per this many events and answers of the program.
        const PERIOD: u64 = 1024;
        if self.is_following_path() {
            return ControlFlow::Continue(());
        }
        let made = self.found.counts.events;
        self.found.counts.events += 1;
        if self.plan.must_progress {
            return ControlFlow::Continue(());
        }
        if let Some(most) = self.limits.steps
            && made >= most
        {
            return self.stop(Bound::MaxSteps(most));
        }
        // A program that is run again from the start may give many answers between two events.
        let work = made + self.runner.answered();
        if work < self.next_check {
            return ControlFlow::Continue(());
        }
        self.next_check = work + PERIOD;
        match self.limits.time {
            Some(time) if self.start.elapsed() >= time => {
                self.stop(Bound::TimeLimit(time.as_millis() as u64))
            }
            _ => self.visitor.goes_on(),
        }
    }

    /// Ends the search because of a limit.
    fn stop(&mut self, bound: Bound) -> ControlFlow<()> {
        self.found.bounds.push(bound);
        self.limited = true;
        self.report_cut();
        ControlFlow::Break(())
    }

    /// Returns the next step of the search, which depends on the graph alone.
    fn next(&mut self) -> Next {
        let mut parked = Next::Nothing;
        for thread in (0..self.graph.threads()).map(ThreadId) {
            if !self.is_running(thread) {
                continue;
            }
            let action = self.runner.action(&mut self.graph, thread);
            let goes_on = match action {
                Action::End | Action::Fail(_) | Action::Discard => false,
                Action::Join { child } => self.has_ended(child),
                Action::Lock { loc } => !self.is_held(loc),
                Action::Await { loc, .. } | Action::Update { loc, .. } => {
                    let goes_on = !self.must_wait(thread, loc);
                    if !goes_on && matches!(parked, Next::Nothing) {
                        parked = Next::Parked(thread, action);
                    }
                    goes_on
                }
                _ => true,
            };
            if goes_on {
                return Next::Step(thread, action);
            }
        }
        parked
    }

    /// Whether a thread has been started and is not stuck.
    fn is_running(&self, thread: ThreadId) -> bool {
        match self.graph.tip(thread) {
            Some(tip) => self.graph.event(tip).kind != Kind::Stuck,
            None => thread.0 < self.runner.initial_threads(),
        }
    }

    fn has_ended(&mut self, thread: ThreadId) -> bool {
        thread.0 < self.graph.threads()
            && self.is_running(thread)
            && self.runner.action(&mut self.graph, thread) == Action::End
    }

    /// Adds a location with its initial value to the graph, if it is new.
    fn add_location(&mut self, loc: Loc) {
        let runner = &self.runner;
        let initial = || runner.initial_value(loc);
        self.graph.know_location(loc, initial);
    }

    /// Whether a lock is held: the last write to it in mo has acquired it.
    fn is_held(&mut self, loc: Loc) -> bool {
        self.add_location(loc);
        self.graph.final_value(loc) != 0
    }

    /// Whether the pending await or update of a thread must wait, given the last value in mo.
    fn must_wait(&mut self, thread: ThreadId, loc: Loc) -> bool {
        self.add_location(loc);
        let last = self.graph.final_value(loc);
        self.runner.modify(&mut self.graph, thread, last) == Effect::Wait
    }

    /// Makes the next step of a thread, with its first consistent alternative. Returns whether
    /// there is one; the further alternatives are left in a frame.
    fn step(&mut self, thread: ThreadId, action: Action, parked: bool) -> ControlFlow<(), bool> {
        let frame = match action {
            Action::Fence { order } => {
                let event = Event::new(thread, Kind::Fence, order, Loc(0));
                return self.add_only(event);
            }
            Action::Spawn { child } => {
                self.graph.know_thread(child);
                let (order, other) = (MemoryOrder::Relaxed, Loc(child.0));
                return self.add_only(Event::new(thread, Kind::Spawn, order, other));
            }
            Action::Join { child } => {
                let (order, other) = (MemoryOrder::Relaxed, Loc(child.0));
                return self.add_only(Event::new(thread, Kind::Join, order, other));
            }
            Action::Choice { outcomes } => {
                let mark = self.graph.mark();
                Frame::Choice(ChoiceFrame::new(mark, thread, outcomes))
            }
            Action::Write { loc, order, value } => {
                self.write_frame(Event::new(thread, Kind::Store, order, loc).with(value))
            }
            Action::Unlock { loc } => {
                self.write_frame(Event::new(thread, Kind::Unlock, MemoryOrder::Release, loc))
            }
            Action::Decide { question } => {
                let mark = self.graph.mark();
                Frame::Decision(DecisionFrame::new(mark, thread, question))
            }
            _ => Frame::Read(self.read_frame(thread, action, parked)),
        };
        self.open(frame)
    }

    /// Adds an event that can be added in only one way.
    fn add_only(&mut self, event: Event) -> ControlFlow<(), bool> {
        self.count_step()?;
        self.add(event);
        ControlFlow::Continue(true)
    }

    /// Adds an event and completes its clocks.
    fn add(&mut self, event: Event) -> Slot {
        let slot = self.graph.push(event);
        self.model.view(&mut self.graph, slot);
        slot
    }

    /// Returns the alternatives of a read.
    fn read_frame(&mut self, thread: ThreadId, action: Action, parked: bool) -> ReadFrame {
        let (reads, loc) = ReadKind::from_action(action);
        self.add_location(loc);
        let access = Event::new(thread, reads.kind(), reads.order(), loc);
        let floor = self.model.floor(&self.graph, &access);
        let end = self.graph.last_position(loc) + 1;
        let mark = self.graph.mark();
        let frame = ReadFrame::new(mark, access, reads);
        let frame = frame.within(floor, end).parked(parked);
        if P::INDEPENDENT || !matches!(reads, ReadKind::Update { .. } | ReadKind::Await(_)) {
            return frame;
        }
        let effects = (floor..end).map(|position| {
            let value = self.graph.value_at(loc, position);
            self.effect(thread, reads, value)
        });
        let effects = effects.collect();
        frame.with_effects(effects)
    }

    /// Returns the alternatives of a write.
    fn write_frame(&mut self, access: Event) -> Frame {
        self.add_location(access.loc);
        let frame = WriteFrame::new(self.graph.mark(), access);
        Frame::Write(self.with_places(frame))
    }

    /// Returns the alternatives of the write of an update or lock that has read, if there is one.
    fn exclusive_frame(&mut self) -> Option<Frame> {
        let (thread, value) = self.urgent?;
        let read = self.graph.tip(thread).expect("an update reads first");
        let read = *self.graph.event(read);
        let kind = match read.kind {
            Kind::LockRead => Kind::LockWrite,
            _ => Kind::UpdateWrite,
        };
        Some(self.write_frame(Event::new(thread, kind, read.order, read.loc).with(value)))
    }
}
