//! Choice points: the alternatives for adding the next event, tried one after the other.
//!
//! A choice point ([`Frame`]) stores the *mark* of the graph without the event, to go back to, and
//! the next alternative. The alternatives of a read are the writes that it can read from. The
//! alternatives of a write are its places in mo, and after these the reads that it can revisit.
//! Writes and places are numbered by their *position* in mo; the *floor* is the least position that
//! the model allows. The head of `explore/mod.rs` explains the words *parked* and *stuck*.

use std::ops::ControlFlow;

use super::decisions::DecisionFrame;
use super::{Explorer, Program};
use crate::graph::{Event, Graph, Kind, Slot};
use crate::models::Model;
use crate::planted::Planted;
use crate::program::{Action, Effect, Loc, MemoryOrder, ThreadId};

/// A choice point on the stack.
#[derive(Debug)]
pub(super) enum Frame {
    Read(ReadFrame),
    Write(WriteFrame),
    Choice(ChoiceFrame),
    Decision(DecisionFrame),
    Locks(LocksFrame),
}

/// A choice point on the stack, and the number of its alternatives that have been taken.
#[derive(Debug)]
pub(super) struct OpenChoice {
    pub(super) frame: Frame,
    /// Number of alternatives that have been taken, excluding inconsistent ones.
    pub(super) taken: u32,
    /// Whether the search must not take further alternatives here.
    pub(super) closed: bool,
}

impl OpenChoice {
    /// Makes a choice point whose first alternative has been taken.
    pub(super) fn new(frame: Frame) -> Self {
        Self {
            frame,
            taken: 1,
            closed: false,
        }
    }
}

impl Frame {
    /// Returns the mark of the graph to which the search goes back before it takes another
    /// alternative: the graph without the event. While a revisit is tried, the events that it
    /// removes are missing from that graph, too.
    pub(super) fn mark(&self) -> usize {
        match self {
            Self::Read(frame) => frame.mark,
            Self::Write(frame) => match frame.revisit.and_then(|revisit| revisit.cut) {
                Some(cut) => cut.mark,
                None => frame.mark,
            },
            Self::Choice(frame) => frame.mark,
            Self::Decision(frame) => frame.mark,
            Self::Locks(frame) => frame.mark,
        }
    }
}

/// The kind of a read, with its memory orders.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReadKind {
    Load(MemoryOrder),
    Update {
        order: MemoryOrder,
        failure: MemoryOrder,
    },
    Await(MemoryOrder),
    Lock,
}

impl ReadKind {
    /// Returns the read of an action that reads, and its location.
    pub(super) fn from_action(action: Action) -> (Self, Loc) {
        Self::try_from_action(action).unwrap_or_else(|| unreachable!("{action:?} does not read"))
    }

    /// Returns the read of an action, and its location; `None` if the action does not read.
    pub(super) fn try_from_action(action: Action) -> Option<(Self, Loc)> {
        match action {
            Action::Read { loc, order } => Some((Self::Load(order), loc)),
            Action::Await { loc, order } => Some((Self::Await(order), loc)),
            Action::Lock { loc } => Some((Self::Lock, loc)),
            Action::Update {
                loc,
                order,
                failure,
            } => Some((Self::Update { order, failure }, loc)),
            _ => None,
        }
    }

    /// Returns the kind of the event if its value is the usual one: the await is satisfied, the
    /// update writes. [`with`](Self::with) returns the kind for a given value.
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Load(_) => Kind::Load,
            Self::Update { .. } => Kind::UpdateRead,
            Self::Await(_) => Kind::Await,
            Self::Lock => Kind::LockRead,
        }
    }

    /// Returns the order of the event if its value is the usual one, as for [`kind`](Self::kind).
    pub(super) fn order(self) -> MemoryOrder {
        match self {
            Self::Load(order) | Self::Await(order) | Self::Update { order, .. } => order,
            Self::Lock => MemoryOrder::Acquire,
        }
    }

    /// Returns the kind and order of the event if its value has this effect.
    pub(super) fn with(self, effect: Effect) -> (Kind, MemoryOrder) {
        match (self, effect) {
            (Self::Update { failure, .. }, Effect::Keep) => (Kind::FailedUpdate, failure),
            (Self::Update { failure, .. }, Effect::Wait) => (Kind::Stuck, failure),
            (_, Effect::Wait) => (Kind::Stuck, self.order()),
            _ => (self.kind(), self.order()),
        }
    }
}

/// The writes that a read can read from, from the end of mo down to the floor.
#[derive(Debug)]
pub(super) struct ReadFrame {
    mark: usize,
    access: Event,
    /// The kind of the read.
    reads: ReadKind,
    /// The least position that the read can read from.
    floor: u32,
    /// One more than the next position.
    next: u32,
    /// Whether the read is also tried as stuck, after all writes.
    stuck: bool,
    /// The effects of the values at the positions from `first` on. They are stored only if the
    /// program would have to be run again to compute them later; otherwise the list is empty.
    effects: Vec<Effect>,
    /// The position that `effects` starts at.
    first: u32,
}

impl ReadFrame {
    pub(super) fn new(mark: usize, access: Event, reads: ReadKind) -> Self {
        Self {
            mark,
            access,
            reads,
            floor: 0,
            next: 0,
            stuck: false,
            effects: Vec::new(),
            first: 0,
        }
    }

    /// Sets the effects of the values at the positions from the floor on.
    pub(super) fn with_effects(self, effects: Vec<Effect>) -> Self {
        Self {
            first: self.floor,
            effects,
            ..self
        }
    }

    /// Returns the effect of the value at the next position of the read, if it is known.
    fn effect(&self) -> Option<Effect> {
        let at = self.next.checked_sub(self.first)?;
        self.effects.get(at as usize).copied()
    }

    /// Restricts the read to these positions.
    pub(super) fn within(self, floor: u32, end: u32) -> Self {
        Self {
            floor,
            next: end,
            ..self
        }
    }

    /// Returns the thread that reads, and the location.
    pub(super) fn access(&self) -> (ThreadId, Loc) {
        (self.access.thread, self.access.loc)
    }

    /// Returns the kind of the read.
    pub(super) fn reads(&self) -> ReadKind {
        self.reads
    }

    /// Restricts the read to this position; `None` if it cannot read there.
    pub(super) fn only(self, position: u32) -> Option<Self> {
        let possible = self.floor <= position && position < self.next;
        possible.then(|| self.within(position, position + 1))
    }

    /// Makes the read wait for ever.
    pub(super) fn only_stuck(self) -> Self {
        self.within(0, 0).parked(true)
    }

    /// Sets whether the read is also tried as stuck.
    pub(super) fn parked(self, stuck: bool) -> Self {
        Self { stuck, ..self }
    }
}

/// The places that a write can have, and the reads that it can revisit.
#[derive(Debug)]
pub(super) struct WriteFrame {
    pub(super) mark: usize,
    pub(super) access: Event,
    /// The least place: the position after which the write is put.
    pub(super) floor: u32,
    /// One more than the next place.
    pub(super) next: u32,
    /// The revisit that is being made.
    pub(super) revisit: Option<Revisit>,
}

/// The read that is being revisited, or the next one to examine: reads are examined in the order of
/// slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Revisit {
    pub(super) read: Slot,
    /// The graph without the events that were removed for it; `None` if the read is still to be
    /// examined.
    pub(super) cut: Option<CutGraph>,
}

/// A graph without all events that a revisit removes, including the read.
#[derive(Clone, Copy, Debug)]
pub(super) struct CutGraph {
    /// The mark of that graph.
    pub(super) mark: usize,
    /// The read before its removal.
    pub(super) read: Event,
}

impl WriteFrame {
    pub(super) fn new(mark: usize, access: Event) -> Self {
        Self {
            mark,
            access,
            floor: 0,
            next: 0,
            revisit: None,
        }
    }
}

/// The acquisitions that are parked when no thread can continue, tried one after the other. Other
/// acquisitions have read from all writes that a parked acquisition could read from, so adding it
/// leads only to revisits.
#[derive(Debug)]
pub(super) struct LocksFrame {
    mark: usize,
    /// The next thread to examine.
    next: ThreadId,
    /// The acquisition that is being tried.
    lock: Option<ReadFrame>,
}

impl LocksFrame {
    pub(super) fn new(mark: usize) -> Self {
        Self {
            mark,
            next: ThreadId(0),
            lock: None,
        }
    }
}

/// The outcomes of a choice, tried one after the other.
#[derive(Debug)]
pub(super) struct ChoiceFrame {
    mark: usize,
    thread: ThreadId,
    outcomes: u32,
    next: u32,
}

impl ChoiceFrame {
    pub(super) fn new(mark: usize, thread: ThreadId, outcomes: u32) -> Self {
        Self {
            mark,
            thread,
            outcomes,
            next: 0,
        }
    }
}

impl<P: Program, M: Model> Explorer<'_, P, M> {
    /// Takes the next consistent alternative of a choice point. Returns whether there was one.
    pub(super) fn advance(&mut self, frame: &mut Frame) -> ControlFlow<(), bool> {
        self.urgent = None;
        self.plan.races = Some(0);
        let found = match frame {
            Frame::Read(frame) => self.advance_read(frame),
            Frame::Write(frame) => self.advance_write(frame),
            Frame::Choice(frame) => self.advance_choice(frame),
            Frame::Decision(frame) => self.advance_decision(frame),
            Frame::Locks(frame) => self.advance_locks(frame),
        }?;
        self.plan.races = None;
        ControlFlow::Continue(found)
    }

    /// Adds the next parked acquisition that can read from a write.
    fn advance_locks(&mut self, frame: &mut LocksFrame) -> ControlFlow<(), bool> {
        loop {
            if let Some(lock) = &mut frame.lock
                && self.advance_read(lock)?
            {
                return ControlFlow::Continue(true);
            }
            let Some((thread, action)) = self.parked_lock(frame.next) else {
                return ControlFlow::Continue(false);
            };
            frame.next = ThreadId(thread.0 + 1);
            frame.lock = Some(self.read_frame(thread, action, false));
        }
    }

    /// Returns the first thread, from this one on, that waits for a held lock.
    pub(super) fn parked_lock(&mut self, from: ThreadId) -> Option<(ThreadId, Action)> {
        let mut threads = (from.0..self.graph.threads()).map(ThreadId);
        threads.find_map(|thread| {
            let running = self.is_running(thread);
            let action = running.then(|| self.runner.action(&mut self.graph, thread))?;
            matches!(action, Action::Lock { .. }).then_some((thread, action))
        })
    }

    fn advance_choice(&mut self, frame: &mut ChoiceFrame) -> ControlFlow<(), bool> {
        if frame.next == frame.outcomes {
            return ControlFlow::Continue(false);
        }
        let (order, outcomes) = (MemoryOrder::Relaxed, Loc(frame.outcomes));
        let mut event = Event::new(frame.thread, Kind::Choice, order, outcomes);
        event.value = i64::from(frame.next);
        frame.next += 1;
        self.add_only(event)
    }

    /// Takes the next write that the read can read from; after these, tries the read as stuck.
    fn advance_read(&mut self, frame: &mut ReadFrame) -> ControlFlow<(), bool> {
        let loc = frame.access.loc;
        while frame.next > frame.floor {
            frame.next -= 1;
            let mut event = frame.access;
            event.rf = self.graph.write_at(loc, frame.next);
            event.value = self.graph.value_at(loc, frame.next);
            let effect = match frame.effect() {
                Some(effect) => effect,
                None => self.effect(event.thread, frame.reads, event.value),
            };
            (event.kind, event.order) = frame.reads.with(effect);
            let waits = event.kind == Kind::Stuck;
            if waits || (event.kind.reads_exclusively() && !self.can_take(&event)) {
                continue;
            }
            if self.try_read(event, effect)? {
                return ControlFlow::Continue(true);
            }
            self.graph.undo(frame.mark);
            if event.order == MemoryOrder::Plain && self.model.races().is_some() {
                return ControlFlow::Continue(false);
            }
        }
        if std::mem::take(&mut frame.stuck) {
            let last = self.graph.last_position(loc);
            let mut event = frame.access;
            (event.kind, event.order) = frame.reads.with(Effect::Wait);
            event.rf = self.graph.write_at(loc, last);
            event.value = self.graph.value_at(loc, last);
            return self.try_read(event, Effect::Wait);
        }
        ControlFlow::Continue(false)
    }

    /// Returns the effect of a value that a thread reads.
    pub(super) fn effect(&mut self, thread: ThreadId, reads: ReadKind, value: i64) -> Effect {
        match reads {
            ReadKind::Load(_) => Effect::Keep,
            ReadKind::Lock if value == 0 => Effect::Write(1),
            ReadKind::Lock => Effect::Wait,
            ReadKind::Update { .. } | ReadKind::Await(_) => {
                self.runner.modify(&mut self.graph, thread, value)
            }
        }
    }

    /// Whether an update can read from a write: no other update has read from it, or a revisit can
    /// remove the one that has.
    fn can_take(&self, event: &Event) -> bool {
        let position = self.graph.write_position(event.rf);
        match self.graph.taker(event.loc, position) {
            None => true,
            Some(other) => {
                let other = self.graph.event(other);
                let tip = self.graph.tip(event.thread);
                let is_before = |tip| Graph::within(other, self.graph.clock(tip, 0));
                other.index >= self.graph.settled(other.thread) && !tip.is_some_and(is_before)
            }
        }
    }

    /// Adds a read whose value has this effect. Returns whether the graph is consistent and has no
    /// race.
    pub(super) fn try_read(&mut self, event: Event, effect: Effect) -> ControlFlow<(), bool> {
        self.count_step()?;
        let slot = self.add(event);
        if !self.model.admits(&self.graph, slot) {
            return ControlFlow::Continue(false);
        }
        if let (true, Effect::Write(value)) = (event.kind.reads_exclusively(), effect) {
            // Races of the update are checked after its write, because its write may still make the
            // graph inconsistent.
            self.urgent = Some((event.thread, value));
            return ControlFlow::Continue(true);
        }
        self.is_free_of_races(slot)
    }

    /// Sets the places of a write in the current graph. The write of an update has one place.
    pub(super) fn with_places(&mut self, frame: WriteFrame) -> WriteFrame {
        let access = &frame.access;
        let (floor, next) = if access.kind.writes_exclusively() {
            let read = self.graph.tip(access.thread).expect("it has read");
            let place = self.graph.position(self.graph.event(read));
            (place, place + 1)
        } else {
            let floor = self.model.floor(&self.graph, access);
            (floor, self.graph.last_position(access.loc) + 1)
        };
        WriteFrame {
            floor,
            next,
            ..frame
        }
    }

    /// Returns the next place of the write, skipping the places between an update and the write
    /// that the update reads.
    pub(super) fn next_place(&self, frame: &mut WriteFrame) -> Option<u32> {
        let only_last = self.planted == Planted::OnlyLastPlace;
        let exclusive = frame.access.kind.writes_exclusively();
        while frame.next > frame.floor {
            frame.next -= 1;
            let loc = frame.access.loc;
            let skipped = only_last && !exclusive && frame.next < self.graph.last_position(loc);
            if !skipped && self.graph.taker(loc, frame.next).is_none() {
                return Some(frame.next);
            }
        }
        None
    }

    /// Takes the next place of the write; after these, the next revisit.
    fn advance_write(&mut self, frame: &mut WriteFrame) -> ControlFlow<(), bool> {
        if frame.revisit.is_none() {
            while let Some(place) = self.next_place(frame) {
                if self.try_write(frame.access, place)?.is_some() {
                    return ControlFlow::Continue(true);
                }
                self.graph.undo(frame.mark);
            }
            frame.revisit = Some(Revisit {
                read: Slot(0),
                cut: None,
            });
        }
        self.advance_revisits(frame)
    }

    /// Adds a write. Returns its slot if the graph is consistent and has no race.
    pub(super) fn try_write(
        &mut self,
        mut event: Event,
        place: u32,
    ) -> ControlFlow<(), Option<Slot>> {
        self.count_step()?;
        event.position = place + 1;
        let slot = self.add(event);
        let consistent = self.model.admits(&self.graph, slot) && self.is_free_of_races(slot)?;
        ControlFlow::Continue(consistent.then_some(slot))
    }
}
