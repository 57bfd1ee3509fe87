//! Clocks: for each thread, the number of its events that are before an event in some order.

use std::cmp::Ordering;

use super::Slot;

/// The clocks of all events, in one vector. Every event has one clock of each kind.
#[derive(Debug)]
pub(super) struct Clocks {
    counts: Vec<u32>,
    kinds: usize,
    /// Number of threads that a clock has room for.
    stride: usize,
}

impl Clocks {
    /// Makes an empty set of clocks of this many kinds.
    pub(super) fn new(kinds: usize) -> Self {
        Self {
            counts: Vec::new(),
            kinds,
            stride: 4,
        }
    }

    /// Makes room for this many threads in each clock.
    pub(super) fn make_room(&mut self, threads: usize) {
        let (old, mut new) = (self.stride, self.stride);
        while new < threads {
            new *= 2;
        }
        if new == old {
            return;
        }
        let mut counts = Vec::with_capacity(self.counts.len() / old * new);
        for clock in self.counts.chunks_exact(old) {
            counts.extend_from_slice(clock);
            counts.resize(counts.len() + new - old, 0);
        }
        (self.counts, self.stride) = (counts, new);
    }

    #[inline]
    fn at(&self, slot: Slot, kind: usize) -> usize {
        (slot.index() * self.kinds + kind) * self.stride
    }

    /// Returns a clock of an event.
    #[inline]
    pub(super) fn get(&self, slot: Slot, kind: usize) -> &[u32] {
        let at = self.at(slot, kind);
        &self.counts[at..at + self.stride]
    }

    /// Returns a clock of an event, to be changed.
    #[inline]
    pub(super) fn get_mut(&mut self, slot: Slot, kind: usize) -> &mut [u32] {
        let at = self.at(slot, kind);
        &mut self.counts[at..at + self.stride]
    }

    /// Sets the clocks of the event in the last slot to those of another event, or to empty ones.
    #[inline]
    pub(super) fn start(&mut self, slot: Slot, before: Option<Slot>) {
        let (start, width) = (self.at(slot, 0), self.kinds * self.stride);
        self.counts.truncate(start);
        match before {
            Some(before) => {
                let from = self.at(before, 0);
                self.counts.extend_from_within(from..from + width);
            }
            None => self.counts.resize(start + width, 0),
        }
    }

    /// Joins a clock of another event into a clock of an event.
    #[inline]
    pub(super) fn join(&mut self, slot: Slot, kind: usize, other: Slot, theirs: usize) {
        let (to, from) = (self.at(slot, kind), self.at(other, theirs));
        let stride = self.stride;
        // Slices whose bounds need no checks become vector instructions.
        let (mine, theirs) = match from.cmp(&to) {
            Ordering::Less => {
                let (before, after) = self.counts.split_at_mut(to);
                (&mut after[..stride], &before[from..from + stride])
            }
            Ordering::Greater => {
                let (before, after) = self.counts.split_at_mut(from);
                (&mut before[to..to + stride], &after[..stride])
            }
            Ordering::Equal => return,
        };
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Replaces a clock of an event by another of its clocks.
    #[inline]
    pub(super) fn copy(&mut self, slot: Slot, from: usize, to: usize) {
        let (from, to) = (self.at(slot, from), self.at(slot, to));
        self.counts.copy_within(from..from + self.stride, to);
    }
}
