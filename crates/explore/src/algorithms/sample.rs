//! Random walks through a program: the common part of the algorithms that sample.
//!
//! The methods cite their papers (`random`, `pct`, `pos`, `urw`, `surw`). A walk is one run from
//! the initial state to its end. A [`Picker`] draws the next process; the outcome of a `choose` is
//! drawn evenly. Only making a step shows which outcomes its `choose` has. So the step is made once
//! to learn them, and again with the drawn outcome.
//!
//! The walks of a seed are made in batches of [`BATCH`]. Each batch has a seed of its own, and
//! starts with a fresh picker. So the sample is the same if several workers make batches in any
//! order (`drive/batches`).
//!
//! A sample does not cover the space, so its search is never complete: its bounds include a
//! [`Bound::Sampled`](mazurka_core::Bound::Sampled).

use std::cell::RefCell;

use mazurka_core::{Event, Execution, Limits, ProcessId, Random, Status, StopReason};

use crate::drive::driver::{End, Policy};
use crate::drive::findings::Findings;
use crate::drive::search::{Engine, Session};

/// Number of walks if no limit is given.
const WALKS: u64 = 1000;

/// Number of walks of a batch.
pub const BATCH: u64 = 1000;

/// Returns the seed of a batch. The first batch has the seed of the sample itself.
///
/// ```
/// use mazurka_explore::batch_seed;
/// assert_eq!(batch_seed(7, 0), 7);
/// assert_ne!(batch_seed(7, 1), batch_seed(7, 2));
/// // Seeds that follow each other have no batch in common.
/// assert_ne!(batch_seed(7, 2), batch_seed(8, 1));
/// ```
pub fn batch_seed(seed: u64, batch: u64) -> u64 {
    match batch {
        0 => seed,
        _ => {
            let hash = Random::new(seed).next();
            Random::new(hash.wrapping_add(batch)).next()
        }
    }
}

/// Draws the next process of a program.
pub trait Picker<E> {
    /// Called at the beginning of a walk.
    fn begin(&mut self, _random: &mut Random) {}

    /// Returns one of the ready processes. There is at least one, and they are in the order of
    /// their names. The program is in the state in which they are ready.
    fn pick(&mut self, ready: &[ProcessId], program: &E, random: &mut Random) -> ProcessId;
}

/// The walks of a seed, one after the other.
///
/// A search with this policy continues where the previous one has stopped.
#[derive(Debug)]
pub struct Walks<L> {
    picker: L,
    random: Random,
    /// Number of walks to make; `None` if only the limits of the search end the sample.
    most: Option<u64>,
    /// Number of walks that have ended.
    ended: u64,
    /// Whether a walk has begun and has not ended.
    walking: bool,
    /// Whether the program itself draws the outcomes of `choose`.
    program_chooses: bool,
    /// Whether a walk that reaches a bound is the last one.
    ends_at_bound: bool,
    ready: Vec<ProcessId>,
    /// The values that start each batch; `None` if there is only one batch.
    batches: Option<Batches<L>>,
}

/// The values that start the batches of a sample.
#[derive(Clone, Copy, Debug)]
struct Batches<L> {
    picker: L,
    seed: u64,
    /// The number of the first batch.
    first: u64,
}

impl<L: Clone> Walks<L> {
    /// Creates a policy that makes at most `most` walks of a seed, starting with batch `first`.
    pub(super) fn in_batches(picker: L, seed: u64, first: u64, most: Option<u64>) -> Self {
        let random = Random::new(batch_seed(seed, first));
        Self {
            batches: Some(Batches {
                picker: picker.clone(),
                seed,
                first,
            }),
            ..Self::new(picker, random, most)
        }
    }

    /// Starts the next batch if the last walk ended one.
    fn start_next_batch(&mut self) {
        if let Some(batches) = &self.batches
            && self.ended.is_multiple_of(BATCH)
        {
            let batch = batches.first + self.ended / BATCH;
            self.random = Random::new(batch_seed(batches.seed, batch));
            self.picker = batches.picker.clone();
        }
    }
}

impl<L> Walks<L> {
    /// Creates a policy that makes at most `most` walks, in one batch.
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
            batches: None,
        }
    }

    /// Makes the policy leave the outcomes of `choose` to the program.
    pub fn program_chooses(self) -> Self {
        Self {
            program_chooses: true,
            ..self
        }
    }

    /// Makes the policy end at the first walk that reaches a bound.
    pub fn ends_at_bound(self) -> Self {
        Self {
            ends_at_bound: true,
            ..self
        }
    }

    /// Returns the number of walks that have begun.
    pub fn begun(&self) -> u64 {
        self.ended + u64::from(self.walking)
    }

    /// Returns the number of walks to make.
    pub fn most(&self) -> Option<u64> {
        self.most
    }
}

impl<E: Execution, L: Picker<E> + Clone> Policy<E> for Walks<L> {
    const UNIQUE: bool = false;
    const SAMPLES: bool = true;

    fn enter(&mut self, program: &E) {
        // If a search was given up in the middle of a walk, the next search begins a new walk.
        self.walking &= !program.events().is_empty();
    }

    fn next(&mut self, program: &E, _outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        if !self.walking {
            if self.most.is_some_and(|most| self.ended >= most) {
                return None;
            }
            self.start_next_batch();
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
        Some(self.picker.pick(&self.ready, program, &mut self.random))
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

/// Draws the first outcome of an event that `outcomes` does not contain yet, and adds it. Returns
/// false if `outcomes` contains all of them.
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

/// Returns the number of walks to make: the limit on executions, or [`WALKS`] if nothing limits the
/// search.
pub(crate) fn most_walks(limits: &Limits) -> Option<u64> {
    let unlimited = limits.steps.is_none() && limits.time.is_none();
    limits.executions.or(unlimited.then_some(WALKS))
}

/// Makes at most `most` walks (`None`: until a limit) of a seed, starting with batch `first`.
pub(super) fn walk<E: Execution>(
    mut session: Session<'_, '_, E>,
    picker: impl Picker<E> + Clone,
    (seed, first): (u64, u64),
    most: Option<u64>,
) -> Findings {
    // A walk that is cut off or discarded is not an execution, but it counts as a walk.
    session.limits.executions = None;
    let mut walks = Walks::in_batches(picker, seed, first, most);
    let mut found = session.explore(&mut walks);
    found.walks = match found.stopped {
        // A violation in the initial state ends the search before a walk begins; it counts as found
        // by the first walk.
        StopReason::Certain => walks.begun().max(1),
        StopReason::Complete | StopReason::Bound => walks.ended,
    };
    found
}

/// An engine that draws the walks of one policy: each search continues with the next walk.
#[derive(Debug)]
pub struct WalkOn<'a, L>(RefCell<&'a mut Walks<L>>);

impl<'a, L> WalkOn<'a, L> {
    /// Creates an engine that continues these walks.
    pub fn new(walks: &'a mut Walks<L>) -> Self {
        Self(RefCell::new(walks))
    }
}

impl<E: Execution, L: Picker<E> + Clone> Engine<E> for WalkOn<'_, L> {
    type Found = Findings;

    fn search(&self, mut session: Session<'_, '_, E>) -> Findings {
        session.explore(&mut **self.0.borrow_mut())
    }
}
