//! Replays one execution from its schedule.
//!
//! Each step of the schedule names a thread and the outcome of its next action: which write it
//! reads from, its place in mo, or what it chooses. The step is an error if the thread cannot
//! continue, or if the model forbids the outcome.

use std::ops::ControlFlow;

use mazurka_core::Limits;

use super::frames::{Frame, ReadFrame};
use super::{CountOnly, Ending, Explorer, Failure, Next, Visitor};
use crate::graph::{Event, Graph, Kind};
use crate::models::{Memory, Model, under};
use crate::planted::Planted;
use crate::program::{Action, Effect, Loc, MemoryOrder, Program, ThreadId};
use crate::schedule::{Schedule, ScheduledAction};

/// The result of replaying a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// How the execution has ended; `None` if a thread can still continue.
    pub ending: Option<Ending>,
    /// The failures that it shows.
    pub failures: Vec<Failure>,
    /// The threads that can continue.
    pub ready: Vec<ThreadId>,
}

/// The error for a schedule that does not fit the program and the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The thread cannot continue.
    #[error("step {step}: thread {thread} can not go on; is this a schedule of another program?")]
    NotReady {
        /// The index of the step.
        step: usize,
        /// The thread.
        thread: ThreadId,
    },
    /// There is no such outcome, or the model forbids it.
    #[error("step {step}: the memory model has no outcome {outcome} here; was it another one?")]
    NoOutcome {
        /// The index of the step.
        step: usize,
        /// The outcome.
        outcome: u32,
    },
}

/// Runs the execution of a schedule, and shows its end to a visitor.
///
/// ```
/// use mazurka_core::Limits;
/// use mazurka_memory::litmus::{Instruction, Litmus, load, r, store};
/// use mazurka_memory::{CountOnly, Memory, MemoryOrder::Relaxed, explore, replay};
///
/// let program = Litmus::new([
///     vec![store(0, 1, Relaxed), store(1, 1, Relaxed)],
///     vec![
///         load(0, 1, Relaxed),
///         load(1, 0, Relaxed),
///         Instruction::Assert(r(1).plus(1).exceeds(r(0)), 7),
///     ],
/// ]);
/// let found = explore(program.clone(), Memory::Rc11, &Limits::default());
/// let schedule = &found.findings[0].schedule;
/// // The second thread reads the flag, and the message from before the last write.
/// assert_eq!(schedule.to_string(), "0 0 1 1:1");
/// let shown = replay(program.clone(), Memory::Rc11, schedule, &mut CountOnly).unwrap();
/// assert_eq!(shown.failures, [found.findings[0].failure]);
/// assert!(replay(program, Memory::Sc, schedule, &mut CountOnly).is_err());
/// ```
pub fn replay<P: Program>(
    program: P,
    memory: Memory,
    schedule: &Schedule,
    visitor: &mut impl Visitor<P>,
) -> Result<Replay, ReplayError> {
    Ok(run_under(memory, program, schedule, visitor)?.0)
}

/// Replays like `replay`, and returns the graph at the end of the schedule, whether or not the
/// execution can continue.
pub fn replay_graph<P: Program>(
    program: P,
    memory: Memory,
    schedule: &Schedule,
) -> Result<(Replay, Graph), ReplayError> {
    run_under(memory, program, schedule, &mut CountOnly)
}

fn run_under<P: Program>(
    memory: Memory,
    program: P,
    schedule: &Schedule,
    visitor: &mut dyn Visitor<P>,
) -> Result<(Replay, Graph), ReplayError> {
    under!(memory, Planted::Nothing, model => run(program, model, schedule, visitor))
}

fn run<P: Program>(
    program: P,
    model: impl Model,
    schedule: &Schedule,
    visitor: &mut dyn Visitor<P>,
) -> Result<(Replay, Graph), ReplayError> {
    let limits = Limits::default();
    let mut explorer = Explorer::new(program, model, &limits, visitor, Planted::Nothing);
    for (step, scheduled) in schedule.0.iter().enumerate() {
        explorer.make(step, *scheduled)?;
        if explorer.found.counts.races > 0 {
            break;
        }
    }
    let ending = explorer.conclude();
    let mut ready = Vec::new();
    if ending.is_none() {
        explorer.all_ready(&mut ready);
    }
    let findings = explorer.found.findings.iter();
    let replay = Replay {
        ending,
        failures: findings.map(|finding| finding.failure).collect(),
        ready: ready.into_iter().map(|(thread, _)| thread).collect(),
    };
    Ok((replay, explorer.graph))
}

impl<P: Program, M: Model> Explorer<'_, P, M> {
    /// Makes a step of a schedule.
    fn make(&mut self, step: usize, scheduled: ScheduledAction) -> Result<(), ReplayError> {
        let ScheduledAction { thread, outcome } = scheduled;
        let Some(action) = self.ready(thread) else {
            return Err(ReplayError::NotReady { step, thread });
        };
        // Visitors cannot stop a replay, and there are no limits.
        let made = match self.force(thread, action, outcome) {
            ControlFlow::Continue(made) => made || self.found.counts.races > 0,
            ControlFlow::Break(()) => true,
        };
        let error = ReplayError::NoOutcome { step, outcome };
        made.then_some(()).ok_or(error)
    }

    /// Returns the next action of a thread, if it can continue.
    pub(super) fn ready(&mut self, thread: ThreadId) -> Option<Action> {
        if thread.0 >= self.graph.threads() || !self.is_running(thread) {
            return None;
        }
        let action = self.runner.action(&mut self.graph, thread);
        let ready = match action {
            Action::End | Action::Fail(_) | Action::Discard => false,
            Action::Join { child } => self.has_ended(child),
            Action::Lock { loc } => !self.is_held(loc),
            _ => true,
        };
        ready.then_some(action)
    }

    /// Makes an action with an outcome. Returns whether the graph is consistent.
    pub(super) fn force(
        &mut self,
        thread: ThreadId,
        action: Action,
        outcome: u32,
    ) -> ControlFlow<(), bool> {
        match action {
            Action::Choice { outcomes } if outcome < outcomes => {
                let (order, all) = (MemoryOrder::Relaxed, Loc(outcomes));
                let mut event = Event::new(thread, Kind::Choice, order, all);
                event.value = i64::from(outcome);
                self.add_only(event)
            }
            Action::Choice { .. } => ControlFlow::Continue(false),
            Action::Decide { question } => self.add_decision(thread, question, outcome.into()),
            Action::Fence { .. } | Action::Spawn { .. } | Action::Join { .. } => {
                self.step(thread, action, false)
            }
            Action::Write { loc, order, value } => {
                let frame =
                    self.write_frame(Event::new(thread, Kind::Store, order, loc).with(value));
                self.force_write(frame, outcome)
            }
            Action::Unlock { loc } => {
                let order = MemoryOrder::Release;
                let frame = self.write_frame(Event::new(thread, Kind::Unlock, order, loc));
                self.force_write(frame, outcome)
            }
            _ => self.force_read(thread, action, outcome),
        }
    }

    /// Puts a write before the last `outcome` writes of its location. Returns whether the graph is
    /// consistent.
    fn force_write(&mut self, frame: Frame, outcome: u32) -> ControlFlow<(), bool> {
        let Frame::Write(mut frame) = frame else {
            return ControlFlow::Continue(false);
        };
        let last = self.graph.last_position(frame.access.loc);
        match last.checked_sub(outcome) {
            Some(place) if frame.floor <= place && place < frame.next => {
                (frame.floor, frame.next) = (place, place + 1);
                match self.next_place(&mut frame) {
                    Some(place) => self
                        .try_write(frame.access, place)
                        .map_continue(|it| it.is_some()),
                    None => ControlFlow::Continue(false),
                }
            }
            _ => ControlFlow::Continue(false),
        }
    }

    /// Reads from the write that `outcome` other writes of its location follow in mo; if the action
    /// is an update, also writes. Returns whether the graph is consistent.
    fn force_read(
        &mut self,
        thread: ThreadId,
        action: Action,
        outcome: u32,
    ) -> ControlFlow<(), bool> {
        let frame = self.read_frame(thread, action, false);
        let Some(frame) = self.forced(frame, outcome) else {
            return ControlFlow::Continue(false);
        };
        let read = self.advance(&mut Frame::Read(frame))?;
        let frame = self.exclusive_frame().filter(|_| read);
        self.urgent = None;
        let Some(Frame::Write(mut frame)) = frame else {
            return ControlFlow::Continue(read);
        };
        match self.next_place(&mut frame) {
            Some(place) => self
                .try_write(frame.access, place)
                .map_continue(|it| it.is_some()),
            None => ControlFlow::Continue(false),
        }
    }

    /// Restricts a read to an outcome. If the value makes the read wait, it is made stuck. Returns
    /// `None` if the outcome is impossible.
    fn forced(&mut self, frame: ReadFrame, outcome: u32) -> Option<ReadFrame> {
        let (thread, loc) = frame.access();
        let position = self.graph.last_position(loc).checked_sub(outcome)?;
        let value = self.graph.value_at(loc, position);
        match self.effect(thread, frame.reads(), value) {
            Effect::Wait => (outcome == 0).then(|| frame.only_stuck()),
            _ => frame.only(position),
        }
    }

    /// Records the failures in the state after the schedule. Returns the ending of the execution;
    /// `None` if a thread can continue.
    fn conclude(&mut self) -> Option<Ending> {
        if self.found.counts.races > 0 {
            return Some(Ending::Race);
        }
        self.note_failures();
        match self.next() {
            Next::Step(..) => None,
            Next::Parked(..) | Next::Nothing => {
                let ending = self.ending();
                let _ = self.show(ending);
                Some(ending)
            }
        }
    }
}
