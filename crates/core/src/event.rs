//! Events, and the dependence relation that turns runs into traces.
//!
//! An event is one step of one process. If two adjacent events of a run are not [`dependent`],
//! swapping them leads to the same state. Runs that differ only by such swaps are one *trace*.

use crate::{Access, AccessKind, Claims, ProcessId};

/// The value of a `choose`, and the limit of its possible values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// The chosen value.
    pub value: i64,
    /// One more than the greatest possible value.
    pub end: i64,
}

/// The outcomes of one step, in the order of its `choose` expressions.
pub type Outcomes = Vec<Outcome>;

/// The kind of a mishap, which halts a process before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MishapKind {
    /// An assertion, an invariant, a division by zero, …: a failure of the program.
    Failure,
    /// A false `assume`: the execution is discarded at its end.
    Discarded,
    /// An `int` left the range of the evaluator: nothing is known about the run beyond that.
    OutOfRange,
    /// A step did more local work than the limit allows.
    LocalLimit,
    /// A channel without a capacity would have held more messages than this limit.
    MessageLimit(u32),
    /// The next step depends on unknown values, and the solver could not decide it.
    Undecided,
    /// The step was broken off in the middle. The search must end here.
    BrokenOff,
}

/// A mishap and where it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mishap {
    /// The process that it halts; `None` for properties of the initial or the final state.
    pub process: Option<ProcessId>,
    /// The kind of mishap.
    pub kind: MishapKind,
    /// Index of the program location where it can happen; the front end can describe it.
    pub site: u32,
}

/// The strongest reason why a step may have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Wait {
    /// The step never waits: it is possible as soon as its process reaches it.
    #[default]
    Never,
    /// The step waits for one lock, acquires it, and does nothing else.
    Lock,
    /// The step waits for the end of other processes.
    Process,
    /// The step waits for a condition, or for several of the above.
    Guard,
}

/// An event that only makes another event possible, as the send of a message enables its receive.
/// It is identified by its process and its number.
#[derive(Clone, Copy, Debug)]
pub struct Enabling {
    /// Its process.
    pub process: ProcessId,
    /// Its index among the events of its process.
    pub number: u32,
    /// Its index among the events of its process, counted backwards: 1 is the last one before the
    /// event that it enables.
    pub back: u32,
}

impl PartialEq for Enabling {
    fn eq(&self, other: &Self) -> bool {
        (self.process, self.number) == (other.process, other.number)
    }
}

impl Eq for Enabling {}

impl Enabling {
    /// Whether this is the enabling event.
    pub fn is(&self, event: &Event) -> bool {
        (self.process, self.number) == (event.process, event.number)
    }
}

/// One step of one process.
///
/// An event says which process made the step, what the step might touch ([`claims`](Event::claims))
/// and what it did touch. Explorers use only claims: two events of different processes are
/// [`dependent`] if their claims conflict, or if one of them starts, joins or enables the other.
///
/// ```
/// use mazurka_core::{Access, Event, ProcessId, dependent};
/// let mut read = Event::new(ProcessId(0), 0);
/// read.touch(ProcessId(0), 0, Access::read(3));
/// let mut write = Event::new(ProcessId(1), 0);
/// write.touch(ProcessId(1), 0, Access::write(3));
/// assert!(dependent(&read, &write));
/// write.touch(ProcessId(1), 0, Access::write(4));
/// assert!(!dependent(&read, &write));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The process that made it.
    pub process: ProcessId,
    /// Index of this event among the events of its process.
    pub number: u32,
    /// The outcomes of its `choose` expressions.
    pub outcomes: Outcomes,
    /// Every access that any path through the step might make. Claims decide dependence (errata
    /// E2).
    pub claims: Claims,
    /// A key of the claims: events with the same key have the same claims. 0 means that no key is
    /// known.
    pub claims_key: u32,
    /// The accesses that it actually made, in order.
    pub touched: Claims,
    /// The processes that it started.
    pub spawned: Vec<ProcessId>,
    /// The processes whose end it waited for.
    pub joined: Vec<ProcessId>,
    /// The events of other processes that it waited for and that share no claim with it: they only
    /// enable it ([`Execution::separate_ends`](crate::Execution::separate_ends)).
    pub enabled_by: Vec<Enabling>,
    /// The mishaps of the event.
    pub mishaps: Vec<Mishap>,
    /// If the event failed because it is the second step of a data race: the process of the first
    /// step. The first step is the last one of its process before this event, and nothing orders
    /// the two.
    pub races_with: Option<ProcessId>,
    /// The strongest reason why the step may have to wait.
    pub wait: Wait,
    /// Whether it is known to satisfy [`is_plain`](Event::is_plain). Most events satisfy it, and
    /// the code that creates them often knows that.
    pub plain: bool,
    /// Whether the step has only decided a condition over unknown values, after which its process
    /// must wait. If all values are known, there are no such steps.
    pub stayed: bool,
}

impl Event {
    /// Creates an event without accesses.
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

    /// Turns this into an event that claims and touches only this access. Its vectors keep their
    /// memory.
    #[inline(always)]
    pub fn touch(&mut self, process: ProcessId, number: u32, access: Access) {
        // In a plain event, these fields are empty already.
        if !self.plain {
            self.clear_rare();
        }
        self.clear_frequent(process, number);
        // Usually both lists contain one access already.
        if let ([claimed], [touched]) = (&mut self.claims[..], &mut self.touched[..]) {
            *claimed = access;
            *touched = access;
        } else {
            self.hold_only(access);
        }
    }

    #[inline(never)]
    fn hold_only(&mut self, access: Access) {
        self.claims.clear();
        self.claims.push(access);
        self.touched.clear();
        self.touched.push(access);
    }

    /// Whether the event only reads or writes one cell. Then its only claim is that access. It does
    /// not wait, chooses nothing, starts no process, and no event enables it.
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

    /// Turns this into an event without accesses. Its vectors keep their memory.
    #[inline]
    pub fn reset(&mut self, process: ProcessId, number: u32) {
        self.clear_rare();
        self.clear_frequent(process, number);
        self.claims.clear();
        self.touched.clear();
    }

    /// Empties the fields that are empty in every plain event.
    #[inline(always)]
    fn clear_rare(&mut self) {
        self.outcomes.clear();
        self.spawned.clear();
        self.joined.clear();
        self.enabled_by.clear();
        self.wait = Wait::Never;
    }

    /// Resets the fields that a plain event may use, other than its accesses.
    #[inline(always)]
    fn clear_frequent(&mut self, process: ProcessId, number: u32) {
        self.process = process;
        self.number = number;
        self.claims_key = 0;
        self.mishaps.clear();
        self.races_with = None;
        self.plain = false;
        self.stayed = false;
    }
}

/// Whether two events of one run may not be swapped: Definition 9 of the guarded-command paper,
/// over claimed accesses. Locks and invariants have cells of their own; starting, joining and
/// enabling order events without a cell.
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
