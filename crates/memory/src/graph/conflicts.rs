//! The accesses of a location, by thread, to find accesses that conflict with a new access.
//!
//! Clocks are monotone along a thread, so the accesses of another thread that are unordered with a
//! new access are the last ones of that thread. A binary search in each list finds the first of
//! these.

use super::{Event, Slot};

/// The accesses of one thread to one location, one list for each [`class`]. An access is given by
/// its index in the thread and its slot; each list is in program order.
type OfThread = [Vec<(u32, Slot)>; 4];

const PLAIN: usize = 1;
const WRITE: usize = 2;

/// Returns the class of an access.
#[inline]
fn class(event: &Event) -> usize {
    let plain = if event.order.is_atomic() { 0 } else { PLAIN };
    let write = if event.kind.is_write() { WRITE } else { 0 };
    plain + write
}

/// Returns the classes that conflict with a class: at least one of the two is plain, and at least
/// one writes.
#[inline]
fn rivals(of: usize) -> &'static [usize] {
    match of {
        0 => &[PLAIN + WRITE],
        PLAIN => &[WRITE, PLAIN + WRITE],
        WRITE => &[PLAIN, PLAIN + WRITE],
        _ => &[0, PLAIN, WRITE, PLAIN + WRITE],
    }
}

/// The accesses of a location, by thread.
#[derive(Debug)]
pub(super) struct Accesses {
    threads: Vec<OfThread>,
}

impl Accesses {
    /// Makes the lists for the accesses that a location has already.
    #[cold]
    pub(super) fn new<'a>(all: impl Iterator<Item = (Slot, &'a Event)>) -> Self {
        let mut all: Vec<_> = all.collect();
        all.sort_unstable_by_key(|(_, event)| (event.thread, event.index));
        let mut accesses = Self {
            threads: Vec::new(),
        };
        for (slot, event) in all {
            accesses.push(event, slot);
        }
        accesses
    }

    /// Adds the last access of a thread.
    #[inline]
    pub(super) fn push(&mut self, event: &Event, slot: Slot) {
        let thread = event.thread.index();
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, OfThread::default);
        }
        self.threads[thread][class(event)].push((event.index, slot));
    }

    /// Removes the last access of a thread.
    #[inline]
    pub(super) fn pop(&mut self, event: &Event) {
        let removed = self.threads[event.thread.index()][class(event)].pop();
        debug_assert_eq!(removed.map(|(index, _)| index), Some(event.index));
    }

    /// Returns the least access, by thread and index, of another thread that conflicts with an
    /// access and is not in a clock.
    pub(super) fn first_conflict(&self, event: &Event, clock: &[u32]) -> Option<Slot> {
        let rivals = rivals(class(event));
        let unordered = |(thread, of): (usize, &OfThread)| {
            if thread == event.thread.index() {
                return None;
            }
            let known = clock.get(thread).copied().unwrap_or(0);
            let firsts = rivals.iter().filter_map(|&class| {
                let all = &of[class];
                all.last().filter(|(index, _)| *index >= known)?;
                let at = all.partition_point(|&(index, _)| index < known);
                Some(all[at])
            });
            firsts.min().map(|(_, slot)| slot)
        };
        self.threads.iter().enumerate().find_map(unordered)
    }
}

#[cfg(test)]
mod tests {
    use mazurka_core::Random;

    use crate::graph::{Event, Graph, Kind, PORF, Slot};
    use crate::program::{Loc, MemoryOrder, ThreadId};

    /// Whether two accesses of one location must be ordered.
    fn conflict(a: &Event, b: &Event) -> bool {
        let plain = !a.order.is_atomic() || !b.order.is_atomic();
        plain && (a.kind.is_write() || b.kind.is_write()) && a.thread != b.thread
    }

    /// Returns the first unordered conflicting access, by a search through all accesses.
    fn by_definition(graph: &Graph, event: &Event, clock: &[u32]) -> Option<Slot> {
        let (mo, reads) = (graph.mo(event.loc), graph.reads(event.loc));
        let races = |slot: &Slot| {
            let other = graph.event(*slot);
            conflict(other, event) && !Graph::within(other, clock)
        };
        let others = mo.iter().chain(reads).copied().filter(races);
        others.min_by_key(|&slot| (graph.event(slot).thread, graph.event(slot).index))
    }

    /// Adds a random access to a graph. Only every `plain`-th is plain.
    fn add(graph: &mut Graph, random: &mut Random, plain: u64) -> Slot {
        let thread = ThreadId(random.below(4) as u32);
        let loc = Loc(random.below(2) as u32);
        let kinds = [Kind::Load, Kind::Store, Kind::FailedUpdate, Kind::Stuck];
        let mut kind = kinds[random.below(4) as usize];
        let mut order = MemoryOrder::Relaxed;
        if random.below(plain) == 0 {
            order = MemoryOrder::Plain;
            kind = kinds[random.below(2) as usize];
        }
        let mut event = Event::new(thread, kind, order, loc);
        let last = graph.last_position(loc);
        let position = random.below(u64::from(last) + 1) as u32;
        if kind == Kind::Store {
            event.position = position + 1;
        } else {
            // The clock of the prefix orders reads after the writes that they read from.
            event.rf = graph.write_at(loc, position);
        }
        graph.push(event)
    }

    #[test]
    fn the_search_by_thread_finds_what_the_search_through_all_finds() {
        let (mut found, mut free) = (0, 0);
        for seed in 0..2_000 {
            let mut random = Random::new(seed);
            let mut graph = Graph::new(1);
            graph.know_thread(ThreadId(3));
            for loc in 0..2 {
                graph.know_location(Loc(loc), || 0);
            }
            let plain = 1 + random.below(10);
            let mut marks = Vec::new();
            for _ in 0..60 {
                match random.below(12) {
                    0 => marks.push(graph.mark()),
                    1 => {
                        if let Some(mark) = marks.pop() {
                            graph.undo(mark);
                        }
                    }
                    2 if !marks.is_empty() => {
                        let thread = ThreadId(random.below(4) as u32);
                        let last = graph.tip(thread).map(|slot| *graph.event(slot));
                        // Nothing may read from an event that is removed.
                        if last.is_some_and(|last| !last.kind.is_write()) {
                            graph.remove_last(thread);
                        }
                    }
                    _ => {
                        let slot = add(&mut graph, &mut random, plain);
                        let (event, clock) = (graph.event(slot), graph.clock(slot, PORF));
                        let first = graph.first_conflict(event, clock);
                        assert_eq!(first, by_definition(&graph, event, clock), "seed {seed}");
                        match first {
                            Some(_) => found += 1,
                            None => free += 1,
                        }
                    }
                }
            }
        }
        assert!(found > 10_000 && free > 10_000, "{found} and {free}");
    }
}
