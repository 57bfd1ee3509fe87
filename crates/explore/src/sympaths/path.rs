//! Paths of symbolic states, and the steps that lead to them: lists that share their beginnings.
//! The *form* of a path is its normal form: equivalent paths have the same form (see
//! `sympaths/mod.rs`).

use std::rc::Rc;

use mazurka_core::{Access, Event, Fingerprint, ProcessId, Schedule, ScheduledStep, Symbolic};
use smallvec::SmallVec;

/// What is kept of an event to compute the form of its path.
#[derive(Debug)]
pub(super) struct PastEvent {
    pub(super) process: ProcessId,
    pub(super) outcomes: SmallVec<[i64; 1]>,
    pub(super) touched: SmallVec<[(Access, Option<u32>); 3]>,
    pub(super) spawned: SmallVec<[ProcessId; 1]>,
    pub(super) joined: SmallVec<[ProcessId; 1]>,
    /// Whether the event has a false `assume`.
    pub(super) discards: bool,
}

impl PastEvent {
    /// Whether the event touched an element with an unknown index.
    pub(super) fn is_unknown(&self) -> bool {
        self.touched.iter().any(|(_, index)| index.is_some())
    }
}

/// A path in its form: the last event, and the path of the events before it.
#[derive(Debug)]
pub(super) struct PathLink {
    pub(super) event: Rc<PastEvent>,
    /// Fingerprint of the event and of all earlier events on which it depends.
    pub(super) past: Fingerprint,
    /// Whether one of these events has a false `assume`.
    pub(super) discarded: bool,
    /// Fingerprint of the whole path.
    pub(super) path: Fingerprint,
    /// Whether an event of the path touched an element with an unknown index.
    pub(super) unknown: bool,
    pub(super) before: Path,
}

pub(super) type Path = Option<Rc<PathLink>>;

// Dropping a long path by recursion would overflow the stack.
impl Drop for PathLink {
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(mut node) = next.and_then(Rc::into_inner) {
            next = node.before.take();
        }
    }
}

pub(super) fn nodes(path: &Path) -> impl Iterator<Item = &PathLink> {
    std::iter::successors(path.as_deref(), |node| node.before.as_deref())
}

/// The steps that led to a state, the last one first.
pub(super) type MadeSteps = Option<Rc<MadeStep>>;

pub(super) struct MadeStep {
    pub(super) step: ScheduledStep,
    pub(super) before: MadeSteps,
}

// Iterative, as for `PathLink`.
impl Drop for MadeStep {
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(mut step) = next.and_then(Rc::into_inner) {
            next = step.before.take();
        }
    }
}

/// Returns these steps after others.
pub(super) fn made_after(
    before: MadeSteps,
    steps: impl IntoIterator<Item = ScheduledStep>,
) -> MadeSteps {
    let all = steps.into_iter();
    all.fold(before, |before, step| {
        Some(Rc::new(MadeStep { step, before }))
    })
}

/// Returns the run of these steps.
pub(super) fn run_of(made: &MadeSteps) -> Schedule {
    let before = std::iter::successors(made.as_deref(), |made| made.before.as_deref());
    let mut steps: Vec<ScheduledStep> = before.map(|made| made.step.clone()).collect();
    steps.reverse();
    Schedule(steps)
}

/// Returns the fingerprint of a path's form.
pub(super) fn form(path: &Path) -> Fingerprint {
    path.as_ref().map_or(Fingerprint::EMPTY, |node| node.path)
}

/// Whether paths leave out an event: it touches no cell, decides no condition, starts and joins no
/// process, and has no mishap.
pub(super) fn is_silent(event: &Event) -> bool {
    event.touched.is_empty()
        && event.outcomes.is_empty()
        && event.spawned.is_empty()
        && event.joined.is_empty()
        && event.mishaps.is_empty()
}

/// Returns a run that leads to the current state, without steps that paths leave out. A depth-first
/// search has no paths, and this is the current run. In a breadth-first search the program has only
/// the last event, and the path gives the run.
pub(super) fn schedule<E: Symbolic>(program: &E, path: &Path) -> Schedule {
    let table = program.processes();
    if path.is_none() {
        let events = program.events().iter();
        return Schedule::of_each(events.filter(|e| !e.stayed && !is_silent(e)), table);
    }
    let step = |node: &PathLink| ScheduledStep {
        process: table.path(node.event.process).clone(),
        outcomes: node.event.outcomes.clone(),
    };
    let mut steps: Vec<ScheduledStep> = nodes(path).map(step).collect();
    steps.reverse();
    Schedule(steps)
}
