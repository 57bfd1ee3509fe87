//! Revisits: a write gives its value to a read that was added before it.
//!
//! The revisit removes all events that were added after the read, except the prefix of the write.
//! It is made only if all removed events, and the read, were added *maximally*. For an event, the
//! *previous* events are those that were added before it, and the prefix of the write. A read is
//! maximal if it reads the last previous write in mo, and a write if it is the last previous write
//! in mo and no previous read reads from it. A choice is maximal if it has its first outcome.

use std::cell::RefCell;
use std::ops::ControlFlow;

use super::frames::{CutGraph, ReadKind, Revisit, WriteFrame};
use super::{Explorer, Program};
use crate::graph::{Event, Graph, Kind, PORF, Slot};
use crate::models::Model;
use crate::planted::Planted;
use crate::program::{Effect, Loc, ThreadId};

/// Checks whether the events that a revisit removes were added maximally.
pub(super) struct Maximality<'a> {
    pub(super) graph: &'a Graph,
    pub(super) prefix: &'a [u32],
    /// The stamp of the read that is revisited.
    pub(super) stamp: u32,
    pub(super) planted: Planted,
    pub(super) suffixes: &'a RefCell<Suffixes>,
}

/// For each location with many writes, the least stamp of the writes from each position of mo on;
/// writes of the prefix count as the earliest. With these stamps the time to check the events that
/// a revisit removes is linear in the number of these events.
#[derive(Debug, Default)]
pub(super) struct Suffixes {
    /// For each location, the value of `current` when it was filled in, and the stamps.
    least: Vec<(u64, Vec<u32>)>,
    /// Grows when the graph or the prefix changes; an entry is valid only if it was filled in at
    /// the current value.
    current: u64,
}

impl Suffixes {
    /// For a location with at most this many writes, the stamps are compared one by one.
    const FEW: usize = 8;

    /// Invalidates the entries: the graph or the prefix has changed.
    fn begin(&mut self) {
        self.current += 1;
    }

    /// Returns the least stamp of the writes of a location from an index of mo on.
    fn least(&mut self, graph: &Graph, prefix: &[u32], loc: Loc, from: usize) -> u32 {
        if self.least.len() <= loc.index() {
            self.least.resize_with(loc.index() + 1, Default::default);
        }
        let (filled, least) = &mut self.least[loc.index()];
        if std::mem::replace(filled, self.current) != self.current {
            let mo = graph.mo(loc);
            least.clear();
            least.resize(mo.len() + 1, u32::MAX);
            for (at, &write) in mo.iter().enumerate().rev() {
                let write = graph.event(write);
                let stamp = if Graph::within(write, prefix) {
                    0
                } else {
                    write.stamp
                };
                least[at] = least[at + 1].min(stamp);
            }
        }
        least[from]
    }
}

impl Maximality<'_> {
    /// Whether `other` is one of the previous events of `event`: it was added before, or is in the
    /// prefix of the write.
    pub(super) fn is_previous(&self, other: &Event, event: &Event) -> bool {
        other.stamp <= event.stamp || Graph::within(other, self.prefix)
    }

    fn has(&self, slot: Slot) -> bool {
        let event = self.graph.event(slot);
        match event.kind {
            _ if self.planted == Planted::NoMaximality => true,
            // Decisions are checked last, because that may need a solver.
            Kind::Decision => true,
            Kind::Choice => event.value == 0 || self.planted == Planted::AnyChoice,
            kind if kind.is_read() => self.is_last(event),
            kind if kind.is_write() => !self.is_read(slot, event) && self.is_last(event),
            _ => true,
        }
    }

    /// Whether a previous read reads from the write. This also refuses to remove a read whose write
    /// is not previous: that write is removed too, and the read is previous to it.
    fn is_read(&self, slot: Slot, event: &Event) -> bool {
        let readers = self.graph.readers(event.loc, slot);
        let mut readers = readers.map(|read| self.graph.event(read));
        let counts = |read: &Event| self.planted != Planted::AnyRf || read.stamp < self.stamp;
        readers.any(|read| self.is_previous(read, event) && counts(read))
    }

    /// Whether no previous write is mo-after the event, or after the write that it reads.
    fn is_last(&self, event: &Event) -> bool {
        let position = self.graph.position(event) as usize;
        let later = &self.graph.mo(event.loc)[position..];
        if later.len() > Suffixes::FEW {
            let mut suffixes = self.suffixes.borrow_mut();
            return suffixes.least(self.graph, self.prefix, event.loc, position) > event.stamp;
        }
        let mut later = later.iter().map(|&write| self.graph.event(write));
        !later.any(|write| self.is_previous(write, event))
    }
}

impl<P: Program, M: Model> Explorer<'_, P, M> {
    /// Makes the next revisit of a write that leads to a consistent graph. Returns whether there
    /// was one.
    pub(super) fn advance_revisits(&mut self, frame: &mut WriteFrame) -> ControlFlow<(), bool> {
        while let Some(revisit) = frame.revisit {
            let Some(CutGraph { mark, read }) = revisit.cut else {
                if !self.start_revisit(frame, revisit.read) {
                    return ControlFlow::Continue(false);
                }
                continue;
            };
            while let Some(place) = self.next_place(frame) {
                if self.make_revisit(frame.access, place, &read)? {
                    return ControlFlow::Continue(true);
                }
                self.graph.undo(mark);
                self.urgent = None;
            }
            self.graph.undo(frame.mark);
            frame.revisit = Some(Revisit {
                read: Slot(revisit.read.0 + 1),
                cut: None,
            });
        }
        ControlFlow::Continue(false)
    }

    /// Collects the reads from a slot on that the write may revisit, in the order of their slots.
    /// Other reads are left out for one of two reasons. They are not maximal, because a write of
    /// the prefix is mo-after the write that they read. Or the write is that of an update and would
    /// have no place afterwards, because another update that reads the same write would stay.
    fn collect_candidates(&self, write: &Event, from: Slot, candidates: &mut Vec<Slot>) {
        candidates.clear();
        let loc = write.loc;
        let latest = if write.kind.writes_exclusively() {
            let read = self.graph.tip(write.thread).expect("it has read");
            let place = self.graph.position(self.graph.event(read));
            let taker = self.graph.taker(loc, place);
            taker.map_or(u32::MAX, |taker| self.graph.event(taker).stamp)
        } else {
            u32::MAX
        };
        let all = self.planted == Planted::NoMaximality;
        for position in (0..=self.graph.last_position(loc)).rev() {
            let source = self.graph.write_at(loc, position);
            let readers = self.graph.readers(loc, source);
            candidates.extend(readers.filter(|&read| {
                let event = self.graph.event(read);
                read >= from && event.stamp <= latest && !Graph::within(event, &self.prefix)
            }));
            let known = |write| Graph::within(self.graph.event(write), &self.prefix);
            if source != Slot::INITIAL && !all && known(source) {
                break;
            }
        }
        candidates.sort_unstable();
    }

    /// Looks for the next read, from a slot on, that the write can revisit, and removes the events
    /// that have to be removed. Returns whether there is one.
    fn start_revisit(&mut self, frame: &mut WriteFrame, from: Slot) -> bool {
        let loc = frame.access.loc;
        if self.graph.reads(loc).is_empty() {
            return false;
        }
        self.prefix.clear();
        match self.graph.tip(frame.access.thread) {
            Some(tip) => self.prefix.extend(self.graph.clock(tip, PORF)),
            None => self.prefix.resize(self.graph.threads() as usize, 0),
        }
        self.suffixes.borrow_mut().begin();
        let mut candidates = std::mem::take(&mut self.candidates);
        self.collect_candidates(&frame.access, from, &mut candidates);
        let mut found = candidates.iter().copied();
        let found = found.find(|&read| self.can_revisit(&frame.access, read));
        self.candidates = candidates;
        let Some(found) = found else {
            return false;
        };
        let read = *self.graph.event(found);
        for thread in (0..self.graph.threads()).map(ThreadId) {
            while self.graph.thread(thread).len() as u32 > self.kept[thread.index()] {
                self.graph.remove_last(thread);
            }
        }
        self.graph.settle(&self.prefix);
        let places = WriteFrame::new(frame.mark, frame.access);
        let places = self.with_places(places);
        // The read must be able to read from that place too. A lock is removed, so it has no floor.
        let floor = match read.kind {
            Kind::LockRead => 0,
            _ => {
                // A stuck update becomes an update again, which tso orders differently.
                let mut access = read;
                access.kind = self.reads_of(&read).kind();
                self.model.floor(&self.graph, &access)
            }
        };
        frame.next = places.next;
        frame.floor = places.floor.max(floor);
        let mark = self.graph.mark();
        let cut = Some(CutGraph { mark, read });
        frame.revisit = Some(Revisit { read: found, cut });
        true
    }

    /// Adds the write at a place, and the read that now reads from it. Returns whether the graph is
    /// consistent.
    fn make_revisit(&mut self, write: Event, place: u32, read: &Event) -> ControlFlow<(), bool> {
        if read.kind == Kind::LockRead {
            return self
                .try_write(write, place)
                .map_continue(|slot| slot.is_some());
        }
        let mut event = *read;
        let reads = self.reads_of(read);
        let effect = self.effect(read.thread, reads, write.value);
        let is_last = place == self.graph.last_position(write.loc);
        if effect == Effect::Wait && (!is_last || self.planted == Planted::NoFailingRevisits) {
            return ControlFlow::Continue(false);
        }
        (event.kind, event.order) = reads.with(effect);
        event.value = write.value;
        match self.try_write(write, place)? {
            Some(slot) => {
                event.rf = slot;
                self.try_read(event, effect)
            }
            None => ControlFlow::Continue(false),
        }
    }

    /// Returns how a read uses its value. The read must have been removed from the end of its
    /// thread.
    fn reads_of(&mut self, read: &Event) -> ReadKind {
        if read.kind == Kind::Load {
            return ReadKind::Load(read.order);
        }
        let action = self.runner.action(&mut self.graph, read.thread);
        match ReadKind::try_from_action(action) {
            Some((reads, _)) => reads,
            // The program gave up while it repeated its steps, so this result does not matter.
            None => {
                self.runner.report_difference(read.thread);
                ReadKind::Load(read.order)
            }
        }
    }

    /// Whether a write can revisit a read. Computes `kept`, the events that the revisit keeps.
    fn can_revisit(&mut self, write: &Event, slot: Slot) -> bool {
        let read = *self.graph.event(slot);
        let unlocked = write.kind == Kind::Unlock && read.kind == Kind::LockRead;
        let settled = read.index < self.graph.settled(read.thread);
        if unlocked || settled || Graph::within(&read, &self.prefix) {
            return false;
        }
        self.kept.clear();
        let maximality = Maximality {
            graph: &self.graph,
            prefix: &self.prefix,
            stamp: read.stamp,
            planted: self.planted,
            suffixes: &self.suffixes,
        };
        if !maximality.has(slot) {
            return false;
        }
        let mut decides = false;
        for thread in (0..self.graph.threads()).map(ThreadId) {
            let events = self.graph.thread(thread);
            let before = self.prefix.get(thread.index()).copied().unwrap_or(0) as usize;
            let settled = self.graph.settled(thread) as usize;
            let mut count = events.len();
            while count > before && self.graph.event(events[count - 1]).stamp > read.stamp {
                if count <= settled || !maximality.has(events[count - 1]) {
                    return false;
                }
                decides |= self.graph.event(events[count - 1]).kind == Kind::Decision;
                count -= 1;
            }
            self.kept.push(count as u32);
        }
        self.kept[read.thread.index()] = read.index;
        !decides || self.are_decisions_maximal(read.stamp)
    }

    /// Whether the decisions that are not kept were made maximally.
    fn are_decisions_maximal(&mut self, revisited: u32) -> bool {
        for thread in (0..self.graph.threads()).map(ThreadId) {
            for at in self.kept[thread.index()] as usize..self.graph.thread(thread).len() {
                let event = *self.graph.event(self.graph.thread(thread)[at]);
                if event.kind == Kind::Decision && !self.is_maximal_decision(&event, revisited) {
                    return false;
                }
            }
        }
        true
    }
}
