//! Happens-before as the memory model defines it, to find data races.
//!
//! In a run of an explorer, all conflicting accesses are ordered. A data race is about a weaker
//! order, that of *synchronisation*: it is a pair of accesses to one `UnsafeCell`, at least one of
//! them a write, that this order leaves unordered. Vector clocks find races (Flanagan and Freund,
//! "FastTrack", PLDI 2009; unlike there, the last read of each thread is always kept). Accesses to
//! an `UnsafeCell` are not steps, so explorers do not try both orders of two of them. This is
//! enough: every explored execution checks its conflicting accesses, and if none races,
//! synchronisation orders all of them, and explorers try all orders of synchronisation.
//!
//! Orderings count as written: a `Relaxed` store publishes nothing and a `Relaxed` load acquires
//! nothing, unless fences help; a read-modify-write continues a release sequence. So an ordering
//! that is too weak shows up as a race, although interleavings only show values that sequential
//! consistency allows. Under a memory model these clocks are not used: there `mazurka-memory` finds
//! the races (weak/mod.rs).
//!
//! The clocks are off until the execution first uses an `UnsafeCell`.

use std::sync::atomic::Ordering;

use mazurka_core::ProcessId;

use crate::world::Place;

/// A vector clock: a time for each thread.
type Clock = Vec<u32>;

fn join(into: &mut Clock, from: &Clock) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(*from);
    }
}

fn at(clock: &Clock, thread: ProcessId) -> u32 {
    clock.get(thread.index()).copied().unwrap_or(0)
}

#[derive(Default)]
struct ThreadClock {
    now: Clock,
    /// The join of the clocks of the cells that relaxed loads have read. An acquire fence adds it
    /// to the thread's clock.
    seen: Clock,
    /// The thread's clock at its last release fence, which its later relaxed stores publish.
    fenced: Clock,
}

/// The last accesses to an `UnsafeCell`.
#[derive(Default)]
struct Data {
    /// The last write: its thread, the time of that thread, and the place; `None` if there was
    /// none.
    write: Option<(ProcessId, u32, Place)>,
    /// The last read of each thread: the time of that thread, and the place.
    reads: Vec<Option<(u32, Place)>>,
}

/// An earlier access that the current one races with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Race {
    pub other: ProcessId,
    pub place: Place,
    pub wrote: bool,
}

/// All clocks of an execution.
#[derive(Default)]
pub(crate) struct Clocks {
    on: bool,
    threads: Vec<ThreadClock>,
    /// The clock that a thread acquires by an acquire load of each cell.
    cells: Vec<Clock>,
    /// The last accesses to each `UnsafeCell`, by cell.
    data: Vec<Data>,
}

impl Clocks {
    pub fn reset(&mut self) {
        if !self.on {
            return;
        }
        self.on = false;
        for thread in &mut self.threads {
            for clock in [&mut thread.now, &mut thread.seen, &mut thread.fenced] {
                clock.clear();
            }
        }
    }

    /// Whether this execution has used an `UnsafeCell`.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Clears the clock of a cell that is reused.
    pub fn clean(&mut self, cell: u32) {
        if let Some(clock) = self.cells.get_mut(cell as usize) {
            clock.clear();
        }
        if let Some(data) = self.data.get_mut(cell as usize) {
            data.write = None;
            data.reads.clear();
        }
    }

    fn thread(&mut self, thread: ProcessId) -> &mut ThreadClock {
        if self.threads.len() <= thread.index() {
            self.threads
                .resize_with(thread.index() + 1, Default::default);
        }
        let state = &mut self.threads[thread.index()];
        if state.now.len() <= thread.index() {
            state.now.resize(thread.index() + 1, 0);
        }
        state.now[thread.index()] = state.now[thread.index()].max(1);
        state
    }

    fn cell(&mut self, cell: u32) -> &mut Clock {
        if self.cells.len() <= cell as usize {
            self.cells.resize_with(cell as usize + 1, Default::default);
        }
        &mut self.cells[cell as usize]
    }

    fn tick(&mut self, thread: ProcessId) {
        self.thread(thread).now[thread.index()] += 1;
    }

    /// Orders the past of one thread before the future of another, when a thread starts or
    /// joins another.
    #[inline]
    pub fn order(&mut self, first: ProcessId, then: ProcessId) {
        if self.on {
            let clock = self.thread(first).now.clone();
            join(&mut self.thread(then).now, &clock);
            self.tick(first);
        }
    }

    #[inline]
    pub fn acquire(&mut self, thread: ProcessId, cell: u32) {
        if self.on {
            let clock = std::mem::take(self.cell(cell));
            join(&mut self.thread(thread).now, &clock);
            *self.cell(cell) = clock;
        }
    }

    #[inline]
    pub fn release(&mut self, thread: ProcessId, cell: u32) {
        if self.on {
            let clock = self.thread(thread).now.clone();
            join(self.cell(cell), &clock);
            self.tick(thread);
        }
    }

    /// Handles a load.
    #[inline]
    pub fn load(&mut self, thread: ProcessId, cell: u32, order: Ordering) {
        if !self.on {
            return;
        }
        if !matches!(order, Ordering::Relaxed | Ordering::Release) {
            return self.acquire(thread, cell);
        }
        let clock = self.cell(cell).clone();
        join(&mut self.thread(thread).seen, &clock);
    }

    /// Handles a store. `keeps` tells whether it continues a release sequence, as the store of a
    /// read-modify-write does.
    #[inline]
    pub fn store(&mut self, thread: ProcessId, cell: u32, order: Ordering, keeps: bool) {
        if !self.on {
            return;
        }
        let state = self.thread(thread);
        let clock = match order {
            Ordering::Relaxed | Ordering::Acquire => state.fenced.clone(),
            _ => state.now.clone(),
        };
        let published = self.cell(cell);
        if !keeps {
            published.clear();
        }
        join(published, &clock);
        self.tick(thread);
    }

    pub fn fence(&mut self, thread: ProcessId, order: Ordering) {
        if !self.on {
            return;
        }
        let state = self.thread(thread);
        if order != Ordering::Release {
            let seen = std::mem::take(&mut state.seen);
            join(&mut state.now, &seen);
        }
        if order != Ordering::Acquire {
            state.fenced = state.now.clone();
            self.tick(thread);
        }
    }

    /// Handles an access to an `UnsafeCell`. If it races with an earlier access, returns that
    /// access as the error.
    pub fn access(
        &mut self,
        thread: ProcessId,
        cell: u32,
        writes: bool,
        place: Place,
    ) -> Result<(), Race> {
        self.on = true;
        if self.data.len() <= cell as usize {
            self.data.resize_with(cell as usize + 1, Default::default);
        }
        let now = std::mem::take(&mut self.thread(thread).now);
        let time = now[thread.index()];
        let data = &mut self.data[cell as usize];
        let mut race = None;
        if let Some((other, when, place)) = data.write
            && other != thread
            && at(&now, other) < when
        {
            let wrote = true;
            race = Some(Race {
                other,
                place,
                wrote,
            });
        }
        if writes {
            for (other, read) in data.reads.iter().enumerate() {
                let other = ProcessId(other as u32);
                if let Some((when, place)) = *read
                    && other != thread
                    && at(&now, other) < when
                {
                    let wrote = false;
                    race = race.or(Some(Race {
                        other,
                        place,
                        wrote,
                    }));
                }
            }
            data.write = Some((thread, time, place));
            data.reads.clear();
        } else {
            if data.reads.len() <= thread.index() {
                data.reads.resize(thread.index() + 1, None);
            }
            data.reads[thread.index()] = Some((time, place));
        }
        self.thread(thread).now = now;
        match race {
            Some(race) => Err(race),
            None => Ok(()),
        }
    }
}
