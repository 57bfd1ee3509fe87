//! Detects loops that spin. Suppose a thread comes back to an access in the same local state, and
//! has changed nothing in between. If the values that it has read in between do not change, it will
//! repeat the same accesses. So it waits until one of these values changes. No execution is lost,
//! and a loop that no change ends is a deadlock.
//!
//! The local state consists of the stack and the registers that a function preserves for its
//! caller; both are compared byte by byte.

use crate::clock::copy;

/// A moment at which the thread was about to make an access: the access, and the local state.
#[derive(Default)]
struct Visit {
    pc: usize,
    /// The address and the size of what is accessed. A function of the C library may make several
    /// accesses for one call.
    place: (usize, usize),
    stack: Vec<u8>,
    /// Number of entries in `Spin::reads` before this visit.
    reads: usize,
    /// No two visits of a thread have the same stamp.
    stamp: u64,
}

/// The reads of a thread since its last change of shared state.
#[derive(Default)]
pub(crate) struct Spin {
    visits: Vec<Visit>,
    /// Number of valid entries in `visits`; the others are kept for their allocations.
    count: usize,
    /// The stamp of the last visit. It only grows.
    stamps: u64,
    /// The cells that the thread has read, each with its version (number of changes); under a
    /// memory model, with the value read.
    reads: Vec<(u32, i64)>,
    /// If the thread spins: the cells that it has read, with their versions or values. One of them
    /// has to change before the thread continues.
    pub waits_for: Vec<(u32, i64)>,
}

/// Loops with more accesses in a round are not recognised.
const MOST_VISITS: usize = 16;
/// Loops of threads that use more bytes of their stack are not recognised.
const MOST_STACK: usize = 1 << 14;

impl Spin {
    /// Copies the state of `other`. Visits with equal stamps are equal, and not copied.
    pub fn become_like(&mut self, other: &Self) {
        let Self {
            visits,
            count,
            stamps: _,
            reads,
            waits_for,
        } = other;
        if self.visits.len() < *count {
            self.visits.resize_with(*count, Visit::default);
        }
        for (into, from) in self.visits.iter_mut().zip(&visits[..*count]) {
            if into.stamp != from.stamp {
                (into.pc, into.place) = (from.pc, from.place);
                (into.reads, into.stamp) = (from.reads, from.stamp);
                copy(&mut into.stack, &from.stack);
            }
        }
        self.count = *count;
        copy(&mut self.reads, reads);
        copy(&mut self.waits_for, waits_for);
    }

    /// Forgets all visits and reads, because the thread has changed something.
    #[inline]
    pub fn progress(&mut self) {
        self.count = 0;
        self.reads.clear();
    }

    /// Records that the thread has read a cell with this version or value.
    #[inline]
    pub fn read(&mut self, cell: u32, version: i64) {
        self.reads.push((cell, version));
    }

    /// Records that the thread is about to access a place with these registers and this stack.
    /// Returns whether it spins; if so, `waits_for` holds its reads since the last visit.
    pub fn visit(
        &mut self,
        pc: usize,
        place: (usize, usize),
        registers: &[u8],
        stack: &[u8],
    ) -> bool {
        if stack.len() > MOST_STACK {
            return false;
        }
        let known = self.visits[..self.count].iter();
        let known = known.rev().find(|visit| {
            let state = visit.stack.split_at_checked(registers.len());
            visit.pc == pc && visit.place == place && state == Some((registers, stack))
        });
        if let Some(visit) = known {
            self.waits_for.clear();
            self.waits_for.extend_from_slice(&self.reads[visit.reads..]);
            return !self.waits_for.is_empty();
        }
        if self.count == MOST_VISITS {
            self.progress();
        }
        if self.count == self.visits.len() {
            self.visits.push(Visit::default());
        }
        self.stamps += 1;
        let visit = &mut self.visits[self.count];
        (visit.pc, visit.place, visit.stamp) = (pc, place, self.stamps);
        visit.stack.clear();
        visit.stack.extend_from_slice(registers);
        visit.stack.extend_from_slice(stack);
        visit.reads = self.reads.len();
        self.count += 1;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_a_second_visit_in_the_same_state() {
        let mut spin = Spin::default();
        assert!(!spin.visit(1, (64, 4), b"r", b"abc"));
        spin.read(7, 0);
        assert!(!spin.visit(1, (64, 4), b"r", b"abd"));
        spin.read(8, 2);
        assert!(spin.visit(1, (64, 4), b"r", b"abc"));
        assert_eq!(spin.waits_for, [(7, 0), (8, 2)]);
        assert!(spin.visit(1, (64, 4), b"r", b"abd"));
        assert_eq!(spin.waits_for, [(8, 2)]);
        assert!(!spin.visit(1, (64, 8), b"r", b"abc"), "another access");
        spin.progress();
        assert!(!spin.visit(1, (64, 4), b"r", b"abc"));
    }

    #[test]
    fn what_was_visited_is_again_what_it_was() {
        let (mut spin, mut saved) = (Spin::default(), Spin::default());
        assert!(!spin.visit(1, (64, 4), b"r", b"abc"));
        spin.read(7, 0);
        saved.become_like(&spin);
        spin.progress();
        assert!(!spin.visit(1, (64, 4), b"r", b"xyz"));
        spin.become_like(&saved);
        assert!(spin.visit(1, (64, 4), b"r", b"abc"));
        assert!(!spin.visit(1, (64, 4), b"r", b"xyz"));
    }
}
