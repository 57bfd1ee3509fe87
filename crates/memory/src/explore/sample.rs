//! Random executions, for programs that are too large to explore.
//!
//! In each step a random thread that can continue is chosen ([`Drawing`]), and its read or write
//! gets a random outcome that the model admits. Executions are not equally likely, but each can be
//! drawn: its events can be drawn in any order that extends its po ∪ rf.

use std::ops::ControlFlow;

use mazurka_core::{Bound, Limits, Random};

use super::ends::{Found, Visitor};
use super::priorities::Drawing;
use super::{Explorer, Next, Program};
use crate::models::{Memory, Model, under};
use crate::planted::Planted;
use crate::program::{Action, ThreadId};

/// Draws executions until a limit is reached: on executions, steps or time.
///
/// ```
/// use mazurka_core::{Limits, Random};
/// use mazurka_memory::litmus::{Litmus, fetch_add};
/// use mazurka_memory::{CountOnly, Memory, MemoryOrder::Relaxed, sample};
///
/// let program = Litmus::new(vec![vec![fetch_add(0, 0, 1, Relaxed)]; 20]);
/// let limits = Limits { executions: Some(10), ..Limits::default() };
/// let found = sample(program, Memory::Rc11, &limits, Random::new(1), &mut CountOnly);
/// assert_eq!(found.counts.complete, 10);
/// assert!(!found.is_exhaustive());
/// ```
///
/// # Panics
///
/// If none of these limits is set.
pub fn sample<P: Program>(
    program: P,
    memory: Memory,
    limits: &Limits,
    drawing: impl Into<Drawing>,
    visitor: &mut impl Visitor<P>,
) -> Found {
    let drawing = drawing.into();
    let limited = limits.executions.is_some() || limits.steps.is_some() || limits.time.is_some();
    assert!(
        limited,
        "a limit must end the search: executions, steps or time"
    );
    let none = Planted::Nothing;
    under!(memory, none, model => {
        Explorer::new(program, model, limits, visitor, none).sample(drawing)
    })
}

impl<P: Program, M: Model> Explorer<'_, P, M> {
    fn sample(mut self, mut drawing: Drawing) -> Found {
        let most = self.limits.executions.unwrap_or(u64::MAX);
        // Unlike the counts of the result, this number includes executions that a limit cuts off.
        let mut drawn = 0;
        let mut result = ControlFlow::Continue(());
        while drawn < most && result.is_continue() {
            self.graph.undo(0);
            drawn += 1;
            drawing.begin();
            result = self.draw(&mut drawing);
        }
        self.found.stopped = result.is_break() && !self.limited;
        self.found.bounds.push(Bound::Sampled(drawn));
        self.found
    }

    /// Draws an execution.
    fn draw(&mut self, drawing: &mut Drawing) -> ControlFlow<()> {
        let mut ready = Vec::new();
        loop {
            self.all_ready(&mut ready);
            self.end_if_given_up()?;
            let goes_on = if ready.is_empty() {
                match self.next() {
                    // One outcome of a parked await is that it waits for ever.
                    Next::Parked(thread, action) => {
                        self.draw_outcome(thread, action, &mut drawing.random)?
                    }
                    _ => return self.finish(),
                }
            } else if self.is_too_long() {
                return ControlFlow::Continue(());
            } else {
                let step = self.graph.steps() as u64;
                let (thread, action) = ready[drawing.pick(&ready, step)];
                self.draw_outcome(thread, action, &mut drawing.random)?
            };
            if !goes_on {
                return ControlFlow::Continue(());
            }
        }
    }

    /// Ends an execution in which no thread can continue.
    fn finish(&mut self) -> ControlFlow<()> {
        let ending = self.ending();
        self.note_failures();
        self.show(ending)
    }

    /// Collects the threads that can continue without waiting for another write.
    pub(super) fn all_ready(&mut self, ready: &mut Vec<(ThreadId, Action)>) {
        ready.clear();
        for thread in (0..self.graph.threads()).map(ThreadId) {
            let Some(action) = self.ready(thread) else {
                continue;
            };
            let waits = match action {
                Action::Await { loc, .. } | Action::Update { loc, .. } => {
                    self.must_wait(thread, loc)
                }
                _ => false,
            };
            if !waits {
                ready.push((thread, action));
            }
        }
    }

    /// Makes an action with a random outcome. Outcome 0 is always consistent, so one is found,
    /// unless a race ends the execution.
    fn draw_outcome(
        &mut self,
        thread: ThreadId,
        action: Action,
        random: &mut Random,
    ) -> ControlFlow<(), bool> {
        if let Action::Decide { question } = action {
            return self.draw_decision(thread, question, random);
        }
        let mut outcomes = self.outcomes(action);
        while !outcomes.is_empty() {
            let at = random.below(outcomes.len() as u64) as usize;
            let (mark, races) = (self.graph.mark(), self.found.counts.races);
            if self.force(thread, action, outcomes.swap_remove(at))? {
                return ControlFlow::Continue(true);
            }
            if self.found.counts.races > races {
                return ControlFlow::Continue(false);
            }
            self.graph.undo(mark);
        }
        ControlFlow::Continue(false)
    }

    /// Decides a question at random.
    fn draw_decision(
        &mut self,
        thread: ThreadId,
        question: u32,
        random: &mut Random,
    ) -> ControlFlow<(), bool> {
        let mut drawn = None;
        let mut last = None;
        // Reservoir sampling: each outcome so far is equally likely to be the one drawn.
        for count in 1.. {
            last = self.feasible(question, last);
            match last {
                Some(_) if random.below(count) == 0 => drawn = last,
                Some(_) => {}
                None => break,
            }
        }
        match drawn {
            Some(outcome) => self.add_decision(thread, question, outcome),
            None => ControlFlow::Continue(false),
        }
    }

    /// Returns the outcomes that an action may have, including those that the model forbids.
    fn outcomes(&mut self, action: Action) -> Vec<u32> {
        match action {
            Action::Choice { outcomes } => (0..outcomes).collect(),
            Action::Read { loc, .. }
            | Action::Write { loc, .. }
            | Action::Update { loc, .. }
            | Action::Await { loc, .. }
            | Action::Lock { loc }
            | Action::Unlock { loc } => {
                self.add_location(loc);
                (0..=self.graph.last_position(loc)).collect()
            }
            _ => vec![0],
        }
    }
}
