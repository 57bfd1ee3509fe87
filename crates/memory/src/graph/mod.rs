//! Execution graphs: events, program order, reads-from, modification order.
//!
//! | here | in papers |
//! |---|---|
//! | [`Graph::thread`] | po, within a thread |
//! | [`Event::rf`] | rf⁻¹ |
//! | [`Graph::mo`], [`Event::position`] | mo |
//! | [`Event::stamp`] | the order of addition, ≤ of TruSt |
//! | [`PORF`] | (po ∪ rf)*, the prefix of an event |
//!
//! Events live in slots, which are used as a stack. An event that a revisit removes leaves the
//! lists but keeps its slot, so undoing a revisit costs as much as the revisit itself. Every change
//! is logged, and nothing is allocated once the vectors have grown.
//!
//! Each event carries *clocks*: for each thread, the number of its events that are before this one
//! in some order. An event is added only as the last of its thread, and nothing reads from it yet,
//! so the clocks that it gets then are final.

mod clocks;
mod conflicts;
mod event;

use crate::program::{Loc, MemoryOrder, ThreadId, Value};
use clocks::Clocks;
use conflicts::Accesses;
pub use event::{Event, Kind};

/// The place where an event is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub(crate) u32);

impl Slot {
    /// The initial write of a location, which is not an event.
    pub const INITIAL: Self = Self(u32::MAX);
    /// No event at all.
    pub(crate) const NONE: Self = Self(u32::MAX - 1);

    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The events of a thread.
#[derive(Debug)]
struct Thread {
    events: Vec<Slot>,
    /// The events of order sc, in program order.
    sc: Vec<Slot>,
    /// The fences of order sc, in program order.
    sc_fences: Vec<Slot>,
    /// The event that started the thread; [`Slot::NONE`] if the thread runs from the start.
    spawn: Slot,
    /// Number of its first events that no revisit may remove or change.
    settled: u32,
    /// How many of its first events have not changed since [`Graph::take_intact`], so that the
    /// program's state may still reflect them.
    intact: u32,
    /// Whether it has changed since [`Graph::take_changed`].
    changed: bool,
}

/// The accesses of a location.
#[derive(Debug)]
struct Place {
    mo: Vec<Slot>,
    reads: Vec<Slot>,
    initial: Value,
    /// The first read in the list of the readers of the initial write.
    reader: Slot,
    known: bool,
    /// Number of plain accesses.
    plain: u32,
    /// Its accesses by thread, once there has been a plain one.
    accesses: Option<Box<Accesses>>,
}

impl Place {
    fn unknown() -> Self {
        Self {
            mo: Vec::new(),
            reads: Vec::new(),
            initial: 0,
            reader: Slot::NONE,
            known: false,
            plain: 0,
            accesses: None,
        }
    }
}

/// A change that can be undone.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// The event in the last slot was added.
    Added,
    /// An event was removed, which had this index in mo or among the reads of its location.
    Removed { slot: Slot, at: u32 },
    /// The number of settled events of a thread has grown; it was `before`.
    Settled { thread: ThreadId, before: u32 },
}

/// The clock of the prefix of an event: (po ∪ rf)*.
pub const PORF: usize = 0;

/// An execution graph. It stores po, rf, and mo within each location; all other orders of events
/// are derived from these.
///
/// ```
/// use mazurka_core::Limits;
/// use mazurka_memory::litmus::{Litmus, load, store};
/// use mazurka_memory::{Loc, Memory, MemoryOrder::Relaxed, visit};
/// use std::ops::ControlFlow;
///
/// let program = Litmus::new([vec![store(0, 1, Relaxed)], vec![load(0, 0, Relaxed)]]);
/// let mut read = Vec::new();
/// visit(program, Memory::Rc11, &Limits::default(), &mut |end: &mut mazurka_memory::End<'_, _>| {
///     let graph = end.graph();
///     read.push(graph.events().map(|event| event.value).collect::<Vec<_>>());
///     assert_eq!(graph.final_value(Loc(0)), 1);
///     ControlFlow::Continue(())
/// });
/// assert_eq!(read, [[1, 1], [1, 0]]);
/// ```
#[derive(Debug)]
pub struct Graph {
    events: Vec<Event>,
    threads: Vec<Thread>,
    places: Vec<Place>,
    log: Vec<Change>,
    clocks: Clocks,
    /// Number of events in the lists, that is, not removed.
    live: usize,
    /// Number of these events that are the write of an update or lock.
    pairs: usize,
    sc_fences: u32,
    sc_accesses: u32,
    /// Whether events have been removed since [`Graph::take_dirty`].
    dirty: bool,
}

impl Graph {
    /// Makes an empty graph whose events have this many clocks.
    pub(crate) fn new(kinds: usize) -> Self {
        Self {
            events: Vec::new(),
            threads: Vec::new(),
            places: Vec::new(),
            log: Vec::new(),
            clocks: Clocks::new(kinds),
            live: 0,
            pairs: 0,
            sc_fences: 0,
            sc_accesses: 0,
            dirty: false,
        }
    }

    /// Returns the number of known threads: the initial ones, and all up to the last one spawned.
    #[inline]
    pub fn threads(&self) -> u32 {
        self.threads.len() as u32
    }

    /// Returns the events of a thread, in program order.
    #[inline]
    pub fn thread(&self, thread: ThreadId) -> &[Slot] {
        &self.threads[thread.index()].events
    }

    /// Returns the event that started a thread, if there is one.
    pub fn spawn_of(&self, thread: ThreadId) -> Option<Slot> {
        let spawn = self.threads[thread.index()].spawn;
        (spawn != Slot::NONE).then_some(spawn)
    }

    /// Returns all events, thread by thread.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        let slots = self.threads.iter().flat_map(|thread| &thread.events);
        slots.map(|&slot| &self.events[slot.index()])
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Returns the number of steps: an update or a lock is one step of two events.
    pub fn steps(&self) -> usize {
        self.live - self.pairs
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of slots.
    pub(crate) fn slots(&self) -> usize {
        self.events.len()
    }

    /// Returns an event.
    #[inline]
    pub fn event(&self, slot: Slot) -> &Event {
        &self.events[slot.index()]
    }

    /// Returns the number of known locations.
    pub fn locations(&self) -> u32 {
        self.places.len() as u32
    }

    /// Returns the writes of a location in modification order, without the initial one.
    #[inline]
    pub fn mo(&self, loc: Loc) -> &[Slot] {
        &self.places[loc.index()].mo
    }

    /// Returns the reads of a location, in the order of their slots.
    #[inline]
    pub fn reads(&self, loc: Loc) -> &[Slot] {
        &self.places[loc.index()].reads
    }

    /// Returns the reads of a location that read from one of its writes.
    #[inline]
    pub fn readers(&self, loc: Loc, write: Slot) -> impl Iterator<Item = Slot> {
        let first = match write {
            Slot::INITIAL => self.places[loc.index()].reader,
            write => self.event(write).reader,
        };
        let some = |slot: Slot| (slot != Slot::NONE).then_some(slot);
        std::iter::successors(some(first), move |&read| some(self.event(read).siblings[1]))
    }

    /// Returns the write at a position of mo.
    #[inline]
    pub fn write_at(&self, loc: Loc, position: u32) -> Slot {
        match position {
            0 => Slot::INITIAL,
            _ => self.places[loc.index()].mo[position as usize - 1],
        }
    }

    /// Returns the value of the write at a position of mo.
    #[inline]
    pub fn value_at(&self, loc: Loc, position: u32) -> Value {
        match self.write_at(loc, position) {
            Slot::INITIAL => self.places[loc.index()].initial,
            slot => self.event(slot).value,
        }
    }

    /// Returns the position of the last write of a location in mo.
    #[inline]
    pub fn last_position(&self, loc: Loc) -> u32 {
        self.places[loc.index()].mo.len() as u32
    }

    /// Whether a location has been accessed, so that its initial value is known.
    pub fn knows(&self, loc: Loc) -> bool {
        let place = self.places.get(loc.index());
        place.is_some_and(|place| place.known)
    }

    /// Returns the value of a location at the end: that of its last write in mo. The location must
    /// be known.
    pub fn final_value(&self, loc: Loc) -> Value {
        self.value_at(loc, self.last_position(loc))
    }

    /// Returns the position in mo of a write, or of the write that a read reads from.
    #[inline]
    pub fn position(&self, event: &Event) -> u32 {
        if event.kind.is_read() {
            self.write_position(event.rf)
        } else {
            event.position
        }
    }

    /// Returns the position of a write in mo.
    #[inline]
    pub fn write_position(&self, write: Slot) -> u32 {
        match write {
            Slot::INITIAL => 0,
            slot => self.event(slot).position,
        }
    }

    /// Returns the read of the update or lock that has taken the write at a position: its own write
    /// follows directly, and nothing can be put between them.
    pub(crate) fn taker(&self, loc: Loc, position: u32) -> Option<Slot> {
        let next = *self.mo(loc).get(position as usize)?;
        let next = self.event(next);
        let read = if next.kind.writes_exclusively() {
            self.thread(next.thread)[next.index as usize - 1]
        } else {
            return None;
        };
        let takes = self.event(read).rf == self.write_at(loc, position);
        takes.then_some(read)
    }

    /// Returns how many fences and how many accesses have order sc.
    #[inline]
    pub(crate) fn sc_events(&self) -> (u32, u32) {
        (self.sc_fences, self.sc_accesses)
    }

    /// Returns the fences and accesses of order sc of a thread, in program order.
    #[inline]
    pub(crate) fn sc(&self, thread: ThreadId) -> &[Slot] {
        &self.threads[thread.index()].sc
    }

    /// Returns the fences of order sc of a thread, in program order.
    #[inline]
    pub(crate) fn sc_fences(&self, thread: ThreadId) -> &[Slot] {
        &self.threads[thread.index()].sc_fences
    }

    /// Returns the first access of another thread that conflicts with an access and is not in a
    /// clock: the least by thread and index. Conflicting accesses are to one location; at least one
    /// of them is plain, and at least one is a write.
    #[inline]
    pub(crate) fn first_conflict(&self, event: &Event, clock: &[u32]) -> Option<Slot> {
        let place = &self.places[event.loc.index()];
        let accesses = place.accesses.as_ref().filter(|_| place.plain > 0)?;
        accesses.first_conflict(event, clock)
    }

    /// Returns a clock of an event.
    #[inline]
    pub(crate) fn clock(&self, slot: Slot, kind: usize) -> &[u32] {
        self.clocks.get(slot, kind)
    }

    /// Returns the event before the next event of a thread: its last one, or the one that started
    /// it.
    #[inline]
    pub(crate) fn tip(&self, thread: ThreadId) -> Option<Slot> {
        let thread = &self.threads[thread.index()];
        match thread.events.last() {
            Some(&slot) => Some(slot),
            None => (thread.spawn != Slot::NONE).then_some(thread.spawn),
        }
    }

    /// Returns the event before this one, or the one that started the thread.
    #[inline]
    pub(crate) fn before(&self, event: &Event) -> Option<Slot> {
        match event.index {
            0 => self.spawn_of(event.thread),
            index => Some(self.thread(event.thread)[index as usize - 1]),
        }
    }

    /// Whether an event is in a clock. An empty clock contains no events.
    #[inline]
    pub(crate) fn within(event: &Event, clock: &[u32]) -> bool {
        let known = clock.get(event.thread.index());
        known.is_some_and(|&count| event.index < count)
    }

    /// Returns the number of settled events at the beginning of a thread.
    #[inline]
    pub(crate) fn settled(&self, thread: ThreadId) -> u32 {
        self.threads[thread.index()].settled
    }

    /// Makes a thread known to the graph.
    pub(crate) fn know_thread(&mut self, thread: ThreadId) {
        while self.threads.len() <= thread.index() {
            self.threads.push(Thread {
                events: Vec::new(),
                sc: Vec::new(),
                sc_fences: Vec::new(),
                spawn: Slot::NONE,
                settled: 0,
                intact: 0,
                changed: true,
            });
        }
        self.clocks.make_room(self.threads.len());
    }

    /// Makes a location known to the graph, with its initial value.
    #[inline]
    pub(crate) fn know_location(&mut self, loc: Loc, initial: impl FnOnce() -> Value) {
        if self.places.len() <= loc.index() {
            self.places.resize_with(loc.index() + 1, Place::unknown);
        }
        let place = &mut self.places[loc.index()];
        if !place.known {
            place.known = true;
            place.initial = initial();
        }
    }

    /// Whether events have been removed since the last call.
    #[inline]
    pub(crate) fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    /// Returns the number of events at the beginning of a thread that have not changed since the
    /// last call.
    #[inline]
    pub(crate) fn take_intact(&mut self, thread: ThreadId) -> u32 {
        std::mem::replace(&mut self.threads[thread.index()].intact, u32::MAX)
    }

    /// Whether a thread, or the event that started it, has changed since the last call.
    #[inline]
    pub(crate) fn take_changed(&mut self, thread: ThreadId) -> bool {
        std::mem::take(&mut self.threads[thread.index()].changed)
    }

    /// Adds an event at the end of its thread, and a write at its position. Its clocks start as
    /// those of the event before it, and the clock of the prefix is completed.
    #[inline]
    pub(crate) fn push(&mut self, mut event: Event) -> Slot {
        let slot = Slot(self.events.len() as u32);
        let before = self.tip(event.thread);
        let thread = &self.threads[event.thread.index()];
        event.index = thread.events.len() as u32;
        if event.stamp == u32::MAX {
            event.stamp = slot.0;
        }
        (event.answers, event.release_fence) = match thread.events.last() {
            Some(&last) => (self.event(last).answers, self.event(last).release_fence),
            None => (0, Slot::NONE),
        };
        event.answers += u32::from(event.kind.answers());
        if event.kind == Kind::Fence && event.order.releases() {
            event.release_fence = slot;
        }
        self.events.push(event);
        self.start_clocks(slot, before);
        self.link(slot, None);
        self.log.push(Change::Added);
        slot
    }

    /// Starts the clocks of an event as those of the event before it, and completes the clock of
    /// the prefix.
    #[inline]
    fn start_clocks(&mut self, slot: Slot, before: Option<Slot>) {
        self.clocks.start(slot, before);
        let event = self.events[slot.index()];
        if event.kind.is_read() && event.rf != Slot::INITIAL {
            self.clocks.join(slot, PORF, event.rf, PORF);
        }
        if event.kind == Kind::Join {
            self.join_thread(slot, PORF);
        }
        self.tick(slot, PORF);
    }

    /// Joins a clock of another event into a clock of the last one.
    #[inline]
    pub(crate) fn join_clock(&mut self, slot: Slot, kind: usize, other: Slot, theirs: usize) {
        self.clocks.join(slot, kind, other, theirs);
    }

    /// Replaces a clock of an event by another of its clocks.
    #[inline]
    pub(crate) fn copy_clock(&mut self, slot: Slot, from: usize, to: usize) {
        self.clocks.copy(slot, from, to);
    }

    /// Empties a clock of an event.
    #[inline]
    pub(crate) fn clear_clock(&mut self, slot: Slot, kind: usize) {
        self.clocks.get_mut(slot, kind).fill(0);
    }

    /// Adds an event to its own clock.
    #[inline]
    pub(crate) fn tick(&mut self, slot: Slot, kind: usize) {
        let event = &self.events[slot.index()];
        self.clocks.get_mut(slot, kind)[event.thread.index()] = event.index + 1;
    }

    /// Adds a thread that has ended to the clock of a join. The end of the thread counts as one
    /// more event after its last one.
    pub(crate) fn join_thread(&mut self, slot: Slot, kind: usize) {
        let child = ThreadId(self.event(slot).loc.0);
        if let Some(tip) = self.tip(child) {
            self.clocks.join(slot, kind, tip, kind);
        }
        let end = self.thread(child).len() as u32 + 1;
        self.clocks.get_mut(slot, kind)[child.index()] = end;
    }

    /// Adds an event to the lists. A removed event is restored at its former index `at` in mo or
    /// among the reads.
    fn link(&mut self, slot: Slot, at: Option<u32>) {
        let event = self.events[slot.index()];
        let thread = &mut self.threads[event.thread.index()];
        thread.events.push(slot);
        if event.order == MemoryOrder::SeqCst {
            thread.sc.push(slot);
            if event.kind == Kind::Fence {
                thread.sc_fences.push(slot);
            }
        }
        thread.changed = true;
        if event.kind == Kind::Spawn {
            let child = &mut self.threads[event.loc.index()];
            child.spawn = slot;
            child.changed = true;
        }
        self.live += 1;
        self.pairs += usize::from(event.kind.writes_exclusively());
        self.count(&event, 1);
        if event.kind.is_write() {
            let at = event.position - 1;
            self.places[event.loc.index()].mo.insert(at as usize, slot);
            self.renumber(event.loc, at as usize + 1);
        } else if event.kind.is_read() {
            let reads = &mut self.places[event.loc.index()].reads;
            match at {
                Some(at) => reads.insert(at as usize, slot),
                None => reads.push(slot),
            }
            let first = std::mem::replace(self.first_reader(&event), slot);
            self.events[slot.index()].siblings = [Slot::NONE, first];
            if first != Slot::NONE {
                self.events[first.index()].siblings[0] = slot;
            }
        }
        if event.is_access() {
            self.index_access(&event, slot);
        }
    }

    /// Adds an access to the accesses of its location by thread, if the location has or has had
    /// plain accesses.
    #[inline]
    fn index_access(&mut self, event: &Event, slot: Slot) {
        let place = &mut self.places[event.loc.index()];
        match &mut place.accesses {
            Some(accesses) => accesses.push(event, slot),
            None if event.order == MemoryOrder::Plain => {
                let all = place.mo.iter().chain(&place.reads);
                let all = all.map(|&slot| (slot, &self.events[slot.index()]));
                place.accesses = Some(Box::new(Accesses::new(all)));
            }
            None => {}
        }
    }

    /// Removes an event, the last of its thread, from the lists. Returns its index in mo or among
    /// the reads.
    fn unlink(&mut self, slot: Slot) -> u32 {
        let event = self.events[slot.index()];
        let thread = &mut self.threads[event.thread.index()];
        debug_assert_eq!(thread.events.last(), Some(&slot));
        thread.events.pop();
        if event.order == MemoryOrder::SeqCst {
            thread.sc.pop();
            if event.kind == Kind::Fence {
                thread.sc_fences.pop();
            }
        }
        thread.changed = true;
        thread.intact = thread.intact.min(event.index);
        if event.kind == Kind::Spawn {
            let child = &mut self.threads[event.loc.index()];
            child.spawn = Slot::NONE;
            child.changed = true;
            child.intact = 0;
        }
        self.live -= 1;
        self.pairs -= usize::from(event.kind.writes_exclusively());
        self.dirty = true;
        self.count(&event, -1);
        if event.is_access()
            && let Some(accesses) = &mut self.places[event.loc.index()].accesses
        {
            accesses.pop(&event);
        }
        if event.kind.is_write() {
            let at = event.position - 1;
            self.places[event.loc.index()].mo.remove(at as usize);
            self.renumber(event.loc, at as usize);
            at
        } else if event.kind.is_read() {
            let reads = &mut self.places[event.loc.index()].reads;
            let at = reads.binary_search(&slot);
            let at = at.expect("a read is among the reads of its location");
            reads.remove(at);
            let [before, after] = event.siblings;
            match before {
                Slot::NONE => *self.first_reader(&event) = after,
                before => self.events[before.index()].siblings[1] = after,
            }
            if after != Slot::NONE {
                self.events[after.index()].siblings[0] = before;
            }
            at as u32
        } else {
            0
        }
    }

    /// Returns the head of the list of readers of the write that a read reads from.
    #[inline]
    fn first_reader(&mut self, read: &Event) -> &mut Slot {
        match read.rf {
            Slot::INITIAL => &mut self.places[read.loc.index()].reader,
            write => &mut self.events[write.index()].reader,
        }
    }

    /// Counts an event that is added or removed.
    #[inline]
    fn count(&mut self, event: &Event, change: i32) {
        if event.order == MemoryOrder::SeqCst {
            let count = match event.kind {
                Kind::Fence => &mut self.sc_fences,
                _ => &mut self.sc_accesses,
            };
            *count = count.wrapping_add_signed(change);
        }
        if event.is_access() && event.order == MemoryOrder::Plain {
            let place = &mut self.places[event.loc.index()];
            place.plain = place.plain.wrapping_add_signed(change);
        }
    }

    /// Updates the positions of the writes of a location from an index on.
    #[inline]
    fn renumber(&mut self, loc: Loc, from: usize) {
        let mo = &self.places[loc.index()].mo;
        for (at, write) in mo.iter().enumerate().skip(from) {
            self.events[write.index()].position = at as u32 + 1;
        }
    }

    /// Removes the last event of a thread until [`undo`](Self::undo) restores it.
    pub(crate) fn remove_last(&mut self, thread: ThreadId) {
        let slot = *self.thread(thread).last().expect("an event to remove");
        let at = self.unlink(slot);
        self.log.push(Change::Removed { slot, at });
    }

    /// Settles the events in this clock: no revisit changes them from now on.
    pub(crate) fn settle(&mut self, clock: &[u32]) {
        for (at, &count) in clock.iter().enumerate().take(self.threads.len()) {
            let thread = &mut self.threads[at];
            let count = count.min(thread.events.len() as u32);
            if count > thread.settled {
                let (thread_id, before) = (ThreadId(at as u32), thread.settled);
                thread.settled = count;
                self.log.push(Change::Settled {
                    thread: thread_id,
                    before,
                });
            }
        }
    }

    /// Returns a mark to go back to.
    #[inline]
    pub(crate) fn mark(&self) -> usize {
        self.log.len()
    }

    /// Undoes every change since a mark.
    pub(crate) fn undo(&mut self, mark: usize) {
        while self.log.len() > mark {
            match self.log.pop().expect("longer than the mark") {
                Change::Added => {
                    let slot = Slot(self.events.len() as u32 - 1);
                    self.unlink(slot);
                    self.events.pop();
                }
                Change::Removed { slot, at } => self.link(slot, Some(at)),
                Change::Settled { thread, before } => {
                    self.threads[thread.index()].settled = before;
                }
            }
        }
    }
}
