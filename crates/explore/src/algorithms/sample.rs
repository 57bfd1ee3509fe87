//! Walks through a program by chance: what the algorithms that sample share.
//!
//! No paper here: `random` and `pct` each name theirs. A walk is one run from the initial state to
//! its end. A [`Picker`] draws which process goes on, and what a `choose` gives is drawn evenly.
//! What it can give shows only in the step, so the step is made again with the value that was
//! drawn.
//!
//! Walks cover nothing for certain, so a search that makes them is never complete: its bounds have
//! a [`Bound::Sampled`].

use std::cell::RefCell;

use mazurka_core::{Bound, Event, Execution, Limits, ProcessId, Random, Status, StopReason};

use crate::drive::driver::{End, Policy};
use crate::drive::findings::Findings;
use crate::drive::search::{Engine, Session};

/// Walks that are made if no limit says how many.
const WALKS: u64 = 1000;

/// Draws which process goes on.
pub trait Picker {
    /// A walk begins.
    fn begin(&mut self, _random: &mut Random) {}

    /// One of the ready processes, of which there is one at least, after so many steps of the walk.
    fn pick(&mut self, ready: &[ProcessId], step: u64, random: &mut Random) -> ProcessId;
}

/// The walks of a seed, one after the other.
///
/// A search with this policy goes on where the one before it has stopped.
#[derive(Debug)]
pub struct Walks<L> {
    picker: L,
    random: Random,
    /// How many to make; none if only the limits of the search end it.
    most: Option<u64>,
    ended: u64,
    /// Whether a walk has begun and not ended.
    walking: bool,
    /// Whether the program draws what a `choose` gives.
    program_chooses: bool,
    /// Whether a walk that reaches a bound is the last one.
    ends_at_bound: bool,
    ready: Vec<ProcessId>,
}

impl<L> Walks<L> {
    /// So many walks.
    pub fn new(picker: L, random: Random, most: Option<u64>) -> Self {
        Self {
            picker,
            random,
            most,
            ended: 0,
            walking: false,
            program_chooses: false,
            ends_at_bound: false,
            ready: Vec::new(),
        }
    }

    /// The same, for a program that draws itself what a `choose` gives.
    pub fn program_chooses(self) -> Self {
        Self {
            program_chooses: true,
            ..self
        }
    }

    /// The same, but the first walk that reaches a bound is the last one.
    pub fn ends_at_bound(self) -> Self {
        Self {
            ends_at_bound: true,
            ..self
        }
    }

    /// The walks that have begun.
    pub fn begun(&self) -> u64 {
        self.ended + u64::from(self.walking)
    }

    /// How many are made.
    pub fn most(&self) -> Option<u64> {
        self.most
    }
}

impl<E: Execution, L: Picker> Policy<E> for Walks<L> {
    const UNIQUE: bool = false;

    fn enter(&mut self, program: &E) {
        // A search that was given up in the middle of a walk begins another one.
        self.walking &= !program.events().is_empty();
    }

    fn next(&mut self, program: &E, _outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        if !self.walking {
            if self.most.is_some_and(|most| self.ended >= most) {
                return None;
            }
            self.walking = true;
            self.picker.begin(&mut self.random);
        }
        self.ready.clear();
        let all = program.processes().in_order().iter();
        self.ready
            .extend(all.filter(|&&p| program.status(p) == Status::Ready));
        if self.ready.is_empty() {
            return None;
        }
        let step = program.events().len() as u64;
        Some(self.picker.pick(&self.ready, step, &mut self.random))
    }

    fn amend(&mut self, event: &Event, outcomes: &mut Vec<i64>) -> bool {
        !self.program_chooses && draw_outcome(event, outcomes, &mut self.random)
    }

    fn leaf(&mut self, _program: &E, end: End) {
        self.ended += u64::from(self.walking);
        self.walking = false;
        if self.ends_at_bound && matches!(end, End::Cut | End::Lost) {
            self.most = Some(self.ended);
        }
    }

    fn leave(&mut self, _program: &E) {}

    /// The next walk starts at the initial state.
    fn leave_to(&mut self, _program: &E) -> usize {
        0
    }

    fn progress(&self) -> Option<f64> {
        let most = self.most?.max(1);
        Some(self.ended as f64 / most as f64)
    }
}

/// Draws the first outcome of an event that was not given. Returns false if all were given.
///
/// ```
/// use mazurka_core::{Event, Outcome, ProcessId, Random};
/// use mazurka_explore::draw_outcome;
///
/// let mut event = Event::new(ProcessId(0), 0);
/// event.outcomes.push(Outcome { value: 1, end: 7 });
/// let mut outcomes = Vec::new();
/// assert!(draw_outcome(&event, &mut outcomes, &mut Random::new(1)));
/// assert!((1..7).contains(&outcomes[0]));
/// assert!(!draw_outcome(&event, &mut outcomes, &mut Random::new(1)));
/// ```
pub fn draw_outcome(event: &Event, outcomes: &mut Vec<i64>, random: &mut Random) -> bool {
    let Some(open) = event.outcomes.get(outcomes.len()) else {
        return false;
    };
    let width = open.end.wrapping_sub(open.value) as u64;
    outcomes.push(open.value.wrapping_add(random.below(width.max(1)) as i64));
    true
}

/// Makes as many walks as there may be executions, or [`WALKS`] if nothing limits the search.
pub(super) fn sample<E: Execution>(
    mut session: Session<'_, '_, E>,
    picker: impl Picker,
    seed: u64,
) -> Findings {
    // A walk that is cut or discarded is no execution, but it is one of the walks.
    let Limits { steps, time, .. } = session.limits;
    let unlimited = steps.is_none() && time.is_none();
    let most = session.limits.executions.take();
    let most = most.or(unlimited.then_some(WALKS));
    let mut walks = Walks::new(picker, Random::new(seed), most);
    let mut found = session.explore(&mut walks);
    if found.stopped != StopReason::Certain {
        found.add_bound(Bound::Sampled(walks.ended));
    }
    found
}

/// The engine that goes on with walks: each of its searches starts with the next one.
#[derive(Debug)]
pub struct WalkOn<'a, L>(RefCell<&'a mut Walks<L>>);

impl<'a, L> WalkOn<'a, L> {
    /// Goes on with these.
    pub fn new(walks: &'a mut Walks<L>) -> Self {
        Self(RefCell::new(walks))
    }
}

impl<E: Execution, L: Picker> Engine<E> for WalkOn<'_, L> {
    type Found = Findings;

    fn search(&self, mut session: Session<'_, '_, E>) -> Findings {
        session.explore(&mut **self.0.borrow_mut())
    }
}
