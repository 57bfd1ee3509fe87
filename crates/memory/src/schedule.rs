//! An execution as a list of steps: which thread makes each step, and with which outcome.
//!
//! A step is an action of a thread. The outcome of a read is the number of writes of its location
//! that have been made and are mo-after the one that it reads. The outcome of a write is the number
//! of writes that have been made and are mo-after it. The outcome of a choice is the chosen number;
//! the outcomes of all other actions are 0. So if all outcomes are 0, each read reads the last
//! write before it: the schedule is an interleaving. The order of the steps extends po ∪ rf, and as
//! far as possible also mo ∪ rb.

use std::fmt;
use std::str::FromStr;

use crate::graph::{Event, Graph, Kind, PORF, Slot};
use crate::program::{Loc, ThreadId};

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScheduledAction {
    /// The thread that makes it.
    pub thread: ThreadId,
    /// The outcome of its action.
    pub outcome: u32,
}

/// An execution as a list of steps.
///
/// ```
/// use mazurka_memory::schedule::Schedule;
/// let schedule: Schedule = "0 1 1:2 0".parse().unwrap();
/// assert_eq!(schedule.0[2].outcome, 2);
/// assert_eq!(schedule.to_string(), "0 1 1:2 0");
/// assert!("0 x".parse::<Schedule>().is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Schedule(pub Vec<ScheduledAction>);

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            let space = if at > 0 { " " } else { "" };
            write!(f, "{space}{}", step.thread.0)?;
            if step.outcome > 0 {
                write!(f, ":{}", step.outcome)?;
            }
        }
        Ok(())
    }
}

/// The error for a text that is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a step: write the number of a thread, and `:` and an outcome unless it is 0")]
pub struct ParseScheduleError(String);

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Self, ParseScheduleError> {
        let step = |word: &str| {
            let (thread, outcome) = word.split_once(':').unwrap_or((word, "0"));
            let numbers = thread.parse().ok().zip(outcome.parse().ok());
            let step = numbers.map(|(thread, outcome)| ScheduledAction {
                thread: ThreadId(thread),
                outcome,
            });
            step.ok_or_else(|| ParseScheduleError(word.to_owned()))
        };
        let steps: Result<_, _> = text.split_whitespace().map(step).collect();
        steps.map(Self)
    }
}

impl Schedule {
    /// Returns the steps of an execution. A stuck await is no step.
    pub(crate) fn from_graph(graph: &Graph) -> Self {
        let all = |thread| graph.thread(ThreadId(thread)).len() as u32;
        let until = (0..graph.threads()).map(all).collect();
        Self::until(graph, until, None)
    }

    /// Returns only the steps that lead to the current position of a thread. If `decides`,
    /// decisions that follow one of these steps are included.
    pub(crate) fn leading_to(graph: &Graph, thread: ThreadId, decides: bool) -> Self {
        let mut until = vec![0; graph.threads() as usize];
        if let Some(tip) = graph.tip(thread) {
            include(&mut until, graph.clock(tip, PORF));
        }
        if decides {
            include_decisions(&mut until, graph);
        }
        Self::until(graph, until, None)
    }

    /// Returns only the steps that lead to two events; the second event comes last.
    pub(crate) fn leading_to_both(graph: &Graph, events: (Slot, Slot), decides: bool) -> Self {
        let (first, second) = events;
        let mut until = vec![0; graph.threads() as usize];
        include(&mut until, graph.clock(first, PORF));
        include(&mut until, graph.clock(second, PORF));
        if decides {
            include_decisions(&mut until, graph);
        }
        let last = graph.event(second);
        Self::until(graph, until, Some((last.thread, last.index)))
    }

    /// Renumbers the started threads from `first` on, in the order of the steps.
    pub(crate) fn numbered_from(mut self, graph: &Graph, first: u32) -> Self {
        let mut made = vec![0; graph.threads() as usize];
        let mut numbers: Vec<u32> = (0..graph.threads()).collect();
        let mut next = first;
        for step in &mut self.0 {
            let thread = step.thread;
            step.thread = ThreadId(numbers[thread.index()]);
            let events = graph.thread(thread);
            let made = &mut made[thread.index()];
            let Some(&slot) = events.get(*made) else {
                continue;
            };
            let event = graph.event(slot);
            let writes_too = event.kind.reads_exclusively() && events.len() > *made + 1;
            *made += 1 + usize::from(writes_too);
            if event.kind == Kind::Spawn {
                numbers[event.loc.index()] = next;
                next += 1;
            }
        }
        self
    }

    /// Returns the steps of the first `until[t]` events of each thread t. If `last` is given, the
    /// event with this thread and index comes last.
    fn until(graph: &Graph, until: Vec<u32>, last: Option<(ThreadId, u32)>) -> Self {
        let mut order = LinearExtension::new(graph, until, last);
        let mut steps = Vec::new();
        let mut current = ThreadId(0);
        while let Some(thread) = order.choose(current) {
            let outcome = order.make(thread);
            steps.push(ScheduledAction { thread, outcome });
            current = thread;
        }
        Self(steps)
    }
}

/// Joins a clock into another one.
fn include(until: &mut [u32], clock: &[u32]) {
    for (until, &count) in until.iter_mut().zip(clock) {
        *until = count.max(*until);
    }
}

/// Adds the decisions that follow events of a prefix, or the start of a thread that the prefix
/// starts.
fn include_decisions(until: &mut [u32], graph: &Graph) {
    for thread in (0..graph.threads()).map(ThreadId) {
        let spawn = graph.spawn_of(thread).map(|spawn| graph.event(spawn));
        let started = spawn.is_none_or(|spawn| spawn.index < until[spawn.thread.index()]);
        let events = graph
            .thread(thread)
            .iter()
            .skip(until[thread.index()] as usize);
        let decides = |slot: &&Slot| graph.event(**slot).kind == Kind::Decision;
        if started {
            until[thread.index()] += events.take_while(decides).count() as u32;
        }
    }
}

/// A linear extension of po ∪ rf, under construction.
struct LinearExtension<'a> {
    graph: &'a Graph,
    /// For each thread, the number of its events that have been made.
    made: Vec<u32>,
    /// For each thread, the number of its events to include.
    until: Vec<u32>,
    /// The thread and the index of the event that is to come last, if any.
    last: Option<(ThreadId, u32)>,
    progress: Vec<Progress>,
}

/// The progress of making the accesses of a location.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// The first index of mo whose write is wanted, that is, to be included, and has not been made.
    missing: usize,
    /// The last position of mo whose write has been made.
    last: u32,
    /// The reads that are wanted and not stuck, each with the position of the write that it reads,
    /// in the order of these positions.
    reads: Vec<(u32, Slot)>,
    /// The index of the first of these reads that has not been made.
    unread: usize,
}

impl<'a> LinearExtension<'a> {
    fn new(graph: &'a Graph, until: Vec<u32>, last: Option<(ThreadId, u32)>) -> Self {
        let mut order = Self {
            graph,
            made: vec![0; graph.threads() as usize],
            until,
            last,
            progress: vec![Progress::default(); graph.locations() as usize],
        };
        for loc in (0..graph.locations()).map(Loc) {
            let reads = graph.reads(loc).iter().copied();
            let wanted = reads
                .filter(|&read| graph.event(read).kind != Kind::Stuck && order.is_wanted(read));
            let reads = wanted.map(|read| (graph.position(graph.event(read)), read));
            let mut reads: Vec<_> = reads.collect();
            reads.sort_unstable_by_key(|&(position, _)| position);
            order.progress[loc.index()].reads = reads;
            order.advance(loc);
        }
        order
    }

    /// Moves on to the next accesses of a location that have not been made.
    fn advance(&mut self, loc: Loc) {
        let mut progress = std::mem::take(&mut self.progress[loc.index()]);
        let missing = |write| self.is_wanted(write) && !self.is_made(write);
        let mo = self.graph.mo(loc);
        while mo
            .get(progress.missing)
            .is_some_and(|&write| !missing(write))
        {
            progress.missing += 1;
        }
        let read = |at| {
            progress
                .reads
                .get(at)
                .is_some_and(|&(_, it)| self.is_made(it))
        };
        while read(progress.unread) {
            progress.unread += 1;
        }
        self.progress[loc.index()] = progress;
    }
    fn is_made(&self, slot: Slot) -> bool {
        slot == Slot::INITIAL || Graph::within(self.graph.event(slot), &self.made)
    }

    fn is_wanted(&self, slot: Slot) -> bool {
        Graph::within(self.graph.event(slot), &self.until)
    }

    /// Returns the next event of a thread, unless the thread is stuck there. (A race may involve a
    /// stuck read.)
    fn next(&self, thread: ThreadId) -> Option<&Event> {
        let at = self.made[thread.index()];
        let wanted = at < self.until[thread.index()];
        let next = self.graph.thread(thread).get(at as usize);
        let next = next.filter(|_| wanted);
        let next = next.map(|&slot| self.graph.event(slot));
        next.filter(|event| event.kind != Kind::Stuck || self.last == Some((thread, at)))
    }

    /// Returns the thread to make the next step. It prefers threads whose step sequential
    /// consistency allows, and among these the current thread.
    fn choose(&self, current: ThreadId) -> Option<ThreadId> {
        let all = || (0..self.graph.threads()).map(ThreadId);
        let threads = || std::iter::once(current).chain(all());
        let ready = |thread: &ThreadId| self.next(*thread).is_some_and(|e| self.is_ready(e));
        let in_order = |thread: &ThreadId| self.next(*thread).is_some_and(|e| self.is_in_order(e));
        let early = |thread: &ThreadId| !self.is_last(*thread);
        let best = threads().find(|it| early(it) && ready(it) && in_order(it));
        let best = best.or_else(|| threads().find(|it| early(it) && ready(it)));
        best.or_else(|| threads().find(ready))
    }

    /// Whether the next step of a thread makes the event that is to come last.
    fn is_last(&self, thread: ThreadId) -> bool {
        self.last.is_some_and(|(last, index)| {
            let writes = |event: &Event| event.index + u32::from(event.kind.reads_exclusively());
            last == thread
                && self
                    .next(thread)
                    .is_some_and(|event| writes(event) >= index)
        })
    }

    /// Whether all events before this one in po ∪ rf have been made.
    fn is_ready(&self, event: &Event) -> bool {
        let started = match (event.index, self.graph.spawn_of(event.thread)) {
            (0, Some(spawn)) => self.is_made(spawn),
            _ => true,
        };
        let after = match event.kind {
            Kind::Join => {
                let tip = self.graph.tip(ThreadId(event.loc.0));
                tip.is_none_or(|tip| self.is_made(tip))
            }
            kind if kind.is_read() => self.is_made(event.rf),
            _ => true,
        };
        started && after
    }

    /// Whether all accesses before this one in mo ∪ rb have been made, and no access after it in mo
    /// ∪ rb.
    fn is_in_order(&self, event: &Event) -> bool {
        if !event.is_access() {
            return true;
        }
        let position = self.graph.position(event);
        let earlier = position - u32::from(event.kind.is_write());
        let progress = &self.progress[event.loc.index()];
        if progress.missing < earlier as usize || progress.last > earlier {
            return false;
        }
        // A write must come after the reads of other threads that read an earlier write in mo.
        let reads = progress.reads[progress.unread..].iter();
        let mut reads = reads.take_while(|(position, _)| *position <= earlier);
        let comes_first =
            |read| self.graph.event(read).thread != event.thread && !self.is_made(read);
        let writes = event.kind.is_write() || event.kind.reads_exclusively();
        !writes || !reads.any(|&(_, read)| comes_first(read))
    }

    /// Makes the next action of a thread. Returns its outcome.
    fn make(&mut self, thread: ThreadId) -> u32 {
        let event = *self.next(thread).expect("it was chosen");
        let outcome = if event.is_access() {
            let position = self.graph.position(&event);
            let last = self.progress[event.loc.index()].last.max(position);
            let later = &self.graph.mo(event.loc)[position as usize..last as usize];
            later.iter().filter(|&&write| self.is_made(write)).count() as u32
        } else if matches!(event.kind, Kind::Choice | Kind::Decision) {
            event.value as u32
        } else {
            0
        };
        let writes_too = self.writes_too(&event);
        self.made[thread.index()] += 1 + u32::from(writes_too);
        if event.is_access() {
            let writes = writes_too || event.kind.is_write();
            let position = self.graph.position(&event) + u32::from(writes_too);
            let progress = &mut self.progress[event.loc.index()];
            progress.last = if writes {
                progress.last.max(position)
            } else {
                progress.last
            };
            self.advance(event.loc);
        }
        outcome
    }

    /// Whether an event is the read of an update or lock, and its write follows in the graph. The
    /// write is missing if the execution ended at the read.
    fn writes_too(&self, event: &Event) -> bool {
        let next = self
            .graph
            .thread(event.thread)
            .get(event.index as usize + 1);
        event.kind.reads_exclusively() && next.is_some()
    }
}
