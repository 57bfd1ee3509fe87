//! Events, and the dependence that makes traces of runs.

use crate::{Access, AccessKind, Claims, ProcessId};

/// A value that a `choose` took, and what it could have taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// The value taken.
    pub value: i64,
    /// The value after the last one possible.
    pub end: i64,
}

/// The outcomes of one step, in the order in which they were asked for.
pub type Outcomes = Vec<Outcome>;

/// Something that stops a process for good, other than its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MishapKind {
    /// An assertion, an invariant, a division by zero, …: a failure of the program.
    Failure,
    /// A false `assume`: the execution is discarded at its end.
    Discarded,
    /// An `int` left the range of the evaluator: nothing can be said beyond.
    OutOfRange,
    /// A step did more local work than the limit allows.
    LocalLimit,
    /// A channel without a capacity would have had more messages than this.
    MessageLimit(u32),
    /// What comes next depends on values that are not known, and the solver could not decide it.
    Undecided,
    /// The step was broken off in the middle: the search that it is part of must end here.
    BrokenOff,
}

/// A mishap and where it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mishap {
    /// The process that it halts; none for properties of the initial or the final state.
    pub process: Option<ProcessId>,
    /// What it is.
    pub kind: MishapKind,
    /// Which of the program's possible mishaps; the front end can describe it.
    pub site: u32,
}

/// What a step may have to wait for, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Wait {
    /// Nothing: it is possible whenever its process gets there.
    #[default]
    Never,
    /// The step acquires one lock for certain and does nothing else.
    Lock,
    /// The end of other processes.
    Process,
    /// A condition, or several of these at once.
    Guard,
}

/// An event that has only made another one possible, as the send of a message its receive. Its
/// process and its number say which.
#[derive(Clone, Copy, Debug)]
pub struct Enabling {
    /// Its process.
    pub process: ProcessId,
    /// Index of it among the events of its process.
    pub number: u32,
    /// The same, counted from the last event of its process before the one that it enables: 1 is
    /// that event.
    pub back: u32,
}

impl PartialEq for Enabling {
    fn eq(&self, other: &Self) -> bool {
        (self.process, self.number) == (other.process, other.number)
    }
}

impl Eq for Enabling {}

impl Enabling {
    /// Whether it is this event.
    pub fn is(&self, event: &Event) -> bool {
        (self.process, self.number) == (event.process, event.number)
    }
}

/// One step of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The process that made it.
    pub process: ProcessId,
    /// Index of this event among the events of its process.
    pub number: u32,
    /// What its `choose` expressions gave.
    pub outcomes: Outcomes,
    /// Every access that any path through the step might make: these decide dependence (errata E2).
    pub claims: Claims,
    /// Events with the same number here claim the same, unless it is 0: then nothing is known.
    pub claims_key: u32,
    /// The accesses that it really made, in order.
    pub touched: Claims,
    /// The processes that it started.
    pub spawned: Vec<ProcessId>,
    /// The processes whose end it waited for.
    pub joined: Vec<ProcessId>,
    /// The events of other processes that it waited for though it claims nothing that they claim:
    /// they only enable it ([`Execution::separate_ends`](crate::Execution::separate_ends)).
    pub enabled_by: Vec<Enabling>,
    /// What went wrong in it.
    pub mishaps: Vec<Mishap>,
    /// A process without whose last step before this one it would not have gone wrong, though
    /// nothing orders the two: the other side of a data race.
    pub races_with: Option<ProcessId>,
    /// What such a step may have to wait for.
    pub wait: Wait,
    /// Whether it is known to satisfy [`is_plain`](Event::is_plain): most events do, and the code
    /// that makes them often knows.
    pub plain: bool,
    /// Whether the process has only found that it has to wait, for the values that the path
    /// condition now allows. Where values are known, there is no such step.
    pub stayed: bool,
}

impl Event {
    /// An event that touches nothing yet.
    pub fn new(process: ProcessId, number: u32) -> Self {
        Self {
            process,
            number,
            outcomes: Vec::new(),
            claims: Claims::new(),
            claims_key: 0,
            touched: Claims::new(),
            spawned: Vec::new(),
            joined: Vec::new(),
            enabled_by: Vec::new(),
            mishaps: Vec::new(),
            races_with: None,
            wait: Wait::Never,
            plain: false,
            stayed: false,
        }
    }

    /// Makes it an event that claims and touches just this, keeping its memory.
    #[inline]
    pub fn touch(&mut self, process: ProcessId, number: u32, access: Access) {
        self.reset(process, number);
        self.claims.push(access);
        self.touched.push(access);
    }

    /// Whether it just reads or writes one cell: its claims are that one access, it waits for
    /// nothing, chooses nothing, and neither starts processes nor waits for their end.
    ///
    /// ```
    /// use mazurka_core::{Access, Event, ProcessId, Wait};
    /// let mut event = Event::new(ProcessId(0), 0);
    /// assert!(!event.is_plain());
    /// event.touch(ProcessId(0), 0, Access::write(3));
    /// assert!(event.is_plain());
    /// event.wait = Wait::Guard;
    /// assert!(!event.is_plain());
    /// ```
    pub fn is_plain(&self) -> bool {
        let kinds = [AccessKind::Read, AccessKind::Write];
        matches!(self.claims[..], [access] if access.len == 1 && kinds.contains(&access.kind))
            && self.wait == Wait::Never
            && self.outcomes.is_empty()
            && self.spawned.is_empty()
            && self.joined.is_empty()
            && self.enabled_by.is_empty()
    }

    /// Makes it an event that touches nothing yet, keeping its memory.
    #[inline]
    pub fn reset(&mut self, process: ProcessId, number: u32) {
        self.process = process;
        self.number = number;
        self.outcomes.clear();
        self.claims.clear();
        self.claims_key = 0;
        self.touched.clear();
        self.spawned.clear();
        self.joined.clear();
        self.enabled_by.clear();
        self.mishaps.clear();
        self.races_with = None;
        self.wait = Wait::Never;
        self.plain = false;
        self.stayed = false;
    }
}

/// Whether two events of one run may not be swapped: Definition 9 of the guarded-command
/// paper, over claimed accesses, with locks, joins and invariants (which are cells of their own).
pub fn dependent(one: &Event, other: &Event) -> bool {
    let conflict = |a: &Event, b: &Event| {
        let mut pairs = a
            .claims
            .iter()
            .flat_map(|x| b.claims.iter().map(move |y| (x, y)));
        pairs.any(|(x, y)| x.conflicts(*y))
    };
    let orders = |a: &Event, b: &Event| {
        a.spawned.contains(&b.process)
            || a.joined.contains(&b.process)
            || a.enabled_by.iter().any(|enabling| enabling.is(b))
    };
    one.process == other.process || orders(one, other) || orders(other, one) || conflict(one, other)
}
