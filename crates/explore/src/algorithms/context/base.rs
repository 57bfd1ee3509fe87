//! The search on which context-sensitive DPOR is built and whose runs it cuts: `source`, or
//! `optimal` with its wakeup trees.
//!
//! Both keep the current execution with its races, and the states on the path with their backtrack
//! sets. The trait [`Base`] is their common interface. With it, context-sensitive DPOR asks which
//! processes must still be run from a state, adds processes to be run, and cuts runs.

use mazurka_core::{Event, Execution, ProcessId};

use crate::algorithms::path::Mark;
use crate::algorithms::source::Source;
use crate::drive::driver::{End, Policy};
use crate::relations::catalogue::{Catalogue, single};
use crate::relations::order::Order;
use crate::relations::set::Set;

/// Ranks a process, given its index among the processes in the order of names. The process with the
/// least rank is tried first.
pub(crate) type Rank<'a> = &'a dyn Fn(usize, ProcessId) -> (u32, usize);

/// The interface of the search whose runs are cut. A `node` is a state of the path, given by its
/// depth.
pub(crate) trait Base<S: Set> {
    /// Whether `mark_rivals` has an effect.
    const MARKS_RIVALS: bool;

    fn new() -> Self;

    /// Returns the current execution.
    fn order(&self) -> &Order<S>;

    /// Returns the catalogue, which represents the claims of a step by a number.
    fn catalogue(&self) -> &Catalogue;

    /// Returns the number that represents an event's claims in the catalogue.
    fn number_of(&mut self, event: &Event) -> u32;

    /// Whether a run has more events than the sets can hold.
    fn overflowed(&self) -> bool;

    /// Adds the state that a step has led to.
    fn enter<E: Execution>(&mut self, program: &E);

    /// Removes the last state; its step is about to be undone.
    fn leave(&mut self, event: &Event);

    /// Whether another process must be run from the last state, from which one has been run.
    fn has_more(&self) -> bool;

    /// Whether a process sleeps in a state or has been run from it.
    fn is_tried(&self, node: usize, process: ProcessId) -> bool;

    /// Whether a process is ready and awake in a state and has not been run from it.
    fn is_untried(&self, node: usize, process: ProcessId) -> bool;

    /// Returns the processes of a state that are ready, awake and outside its backtrack set.
    fn idle(&self, node: usize) -> impl Iterator<Item = ProcessId>;

    /// Adds the [idle](Self::idle) processes that satisfy `who` to the backtrack set of the last
    /// state.
    fn want<E: Execution>(&mut self, program: &E, who: impl Fn(ProcessId) -> bool);

    /// Whether a process can be run from the last state, from which no process has been run.
    fn can_continue(&self) -> bool;

    /// Whether no process has been run from the last state.
    fn is_fresh(&self) -> bool;

    /// Whether several processes could be the next to run from the last state.
    fn is_contested(&self) -> bool;

    /// Chooses a process to be the only one that is run from the last state. It must be awake, and
    /// must not have been run from there. Returns the process, or `None` if it is not ready there.
    fn take_only(&mut self, process: ProcessId) -> Option<ProcessId>;

    /// Returns the process to run next from the last state, and adds the outcomes for its step to
    /// `outcomes`. `rank` decides between several candidates. `None` if no process is left to run.
    fn next<E: Execution>(
        &mut self,
        program: &E,
        outcomes: &mut Vec<i64>,
        rank: Option<Rank<'_>>,
    ) -> Option<ProcessId>;

    /// Puts a process to sleep in the last state.
    fn put_to_sleep<E: Execution>(&mut self, program: &E, process: ProcessId);

    /// Called at the end of a run.
    fn leaf<E: Execution>(&mut self, program: &E, end: End);

    /// Called where a run is cut.
    fn cut<E: Execution>(&mut self, program: &E);

    /// Marks events of the run that conflict with a step that could follow a cut: the search treats
    /// them as if they conflicted with a guarded step.
    fn mark_rivals(&mut self, events: &S);

    /// Estimates the finished fraction of the search.
    fn progress(&self) -> f64;
}

impl<S: Set> Base<S> for Source<S> {
    const MARKS_RIVALS: bool = false;

    fn new() -> Self {
        Source::new()
    }

    fn order(&self) -> &Order<S> {
        &self.order
    }

    fn catalogue(&self) -> &Catalogue {
        &self.path.catalogue
    }

    fn number_of(&mut self, event: &Event) -> u32 {
        let catalogue = &mut self.path.catalogue;
        catalogue.number_of_event(event, single(&event.claims))
    }

    fn overflowed(&self) -> bool {
        self.overflow
    }

    fn enter<E: Execution>(&mut self, program: &E) {
        Policy::enter(self, program);
    }

    fn leave(&mut self, event: &Event) {
        self.path.leave(event);
        self.order.pop(event);
    }

    fn has_more(&self) -> bool {
        self.path.has_more()
    }

    fn is_tried(&self, node: usize, process: ProcessId) -> bool {
        let mark = self.path.mark(node, process);
        matches!(mark, Some(Mark::Asleep | Mark::Taken))
    }

    fn is_untried(&self, node: usize, process: ProcessId) -> bool {
        let mark = self.path.mark(node, process);
        matches!(mark, Some(Mark::Idle | Mark::Wanted))
    }

    fn idle(&self, node: usize) -> impl Iterator<Item = ProcessId> {
        self.path.idle(node)
    }

    fn want<E: Execution>(&mut self, program: &E, who: impl Fn(ProcessId) -> bool) {
        self.path.want_where(program.events().len(), who);
    }

    fn can_continue(&self) -> bool {
        self.path.has_idle()
    }

    fn is_fresh(&self) -> bool {
        self.path.is_fresh()
    }

    fn is_contested(&self) -> bool {
        self.path.is_contested()
    }

    fn take_only(&mut self, process: ProcessId) -> Option<ProcessId> {
        self.path.take_only(process)
    }

    fn next<E: Execution>(
        &mut self,
        _program: &E,
        outcomes: &mut Vec<i64>,
        rank: Option<Rank<'_>>,
    ) -> Option<ProcessId> {
        match rank {
            Some(rank) => self.path.next_least(outcomes, rank),
            None => self.path.next(outcomes),
        }
    }

    fn put_to_sleep<E: Execution>(&mut self, program: &E, process: ProcessId) {
        self.path.put_to_sleep(program, process);
    }

    fn leaf<E: Execution>(&mut self, program: &E, end: End) {
        Policy::leaf(self, program, end);
    }

    /// Does nothing: `source` analyses a race when the second event of the race is made.
    fn cut<E: Execution>(&mut self, _program: &E) {}

    fn mark_rivals(&mut self, _events: &S) {}

    fn progress(&self) -> f64 {
        self.path.progress()
    }
}
