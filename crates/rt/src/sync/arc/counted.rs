//! Reference counts as shared objects, in interleavings.
//!
//! Most programs cannot observe the order in which references are made and dropped, so making or
//! dropping one is not a step. A program can observe this order in two cases:
//! - A thread *reads* a count (`try_unwrap`, `get_mut`, `upgrade`, `strong_count`, …) that another
//!   thread *changes*, and spawn and join alone do not order the two operations.
//! - A destructor makes steps, and in another order of drops another thread would have run it.
//!
//! In both cases the count becomes a shared object and the search starts again: now making or
//! dropping a reference is a step that writes the count, and an operation whose result depends on
//! the count is a step that reads it.
//!
//! `EngineState::spawn_join_clock` is a vector clock of spawn and join alone. For each thread it
//! has the number of uses of counts that happen before the next operation of the thread with this
//! clock.

use super::regions::Count;
use crate::names::entry;
use crate::world::{Inner, Pending, Place, World, wakes, world};

const KIND: &str = "Arc";

/// What an operation does with a count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CountUse {
    /// Its result depends on the count.
    Asks,
    Changes,
    /// Both.
    Updates,
}

/// The uses of a count. For each thread, the time (in its clock of spawn and join) when it last
/// read the count, and when it last changed the count.
#[derive(Default)]
pub(super) struct Uses {
    asks: Vec<u32>,
    changes: Vec<u32>,
    /// The thread that read the count last, the index of its step, and how often it has read the
    /// count in that step.
    again: (usize, u32, u32),
}

/// A thread that reads a count more often than this in one step is taken to wait for a change of
/// the count.
const MOST_ASKS: u32 = 100;

impl Uses {
    /// Forgets the previous execution.
    pub fn clear(&mut self) {
        self.asks.clear();
        self.changes.clear();
        self.again = (0, 0, 0);
    }

    /// Records that a thread reads a count in one of its steps. Returns whether it has read the
    /// count more than [`MOST_ASKS`] times in this step.
    fn asks_too_often(&mut self, thread: usize, step: u32) -> bool {
        self.again = match self.again {
            (who, when, times) if (who, when) == (thread, step) => (who, when, times + 1),
            _ => (thread, step, 1),
        };
        self.again.2 > MOST_ASKS
    }
}

/// Whether another thread has made one of these uses, and spawn and join alone do not order it
/// before the current use.
fn unordered(uses: &[u32], spawn_join_clock: &[u32], me: usize) -> bool {
    let known = |thread| spawn_join_clock.get(thread).copied().unwrap_or(0);
    let mut others = uses.iter().enumerate();
    others.any(|(thread, &time)| thread != me && time > known(thread))
}

impl Inner {
    /// Records a use of a count. Returns the cell of the count, if the count is a shared object.
    fn uses(&mut self, at: usize, count: Count, usage: CountUse) -> Option<u32> {
        let region = self.names.regions.name(at)?;
        let me = self.current.index();
        let record = self.names.regions.record(region);
        if record.explored[count as usize] {
            return Some(self.count_cells(region)[count as usize]);
        }
        *entry(&mut self.threads[me].engine.spawn_join_clock, me) += 1;
        let uses = &mut record.uses[count as usize];
        let mut matters = false;
        let step = self.threads[me].steps;
        let spawn_join_clock = &mut self.threads[me].engine.spawn_join_clock;
        if usage != CountUse::Changes {
            matters = uses.asks_too_often(me, step);
            *entry(&mut uses.asks, me) = spawn_join_clock[me];
            matters |= unordered(&uses.changes, spawn_join_clock, me);
        }
        if usage != CountUse::Asks {
            *entry(&mut uses.changes, me) = spawn_join_clock[me];
            matters |= unordered(&uses.asks, spawn_join_clock, me);
        }
        if matters {
            record.explored[count as usize] = true;
            self.restart = true;
        }
        None
    }

    /// Whether the current thread reads the count again and again within one step.
    fn keeps_asking(&self, at: usize, count: Count) -> bool {
        self.restart
            && self.names.regions.name(at).is_some_and(|region| {
                let record = self.names.regions.record_of(region);
                record.uses[count as usize].again.2 > MOST_ASKS
            })
    }

    /// Whether another thread might have dropped the last reference instead of the current one.
    fn is_any_last(&mut self, at: usize) -> bool {
        let me = self.current.index();
        let Some(region) = self.names.regions.name(at) else {
            return false;
        };
        let record = self.names.regions.record(region);
        let uses = &record.uses[Count::Strong as usize];
        let open = !record.explored[Count::Strong as usize];
        open && unordered(&uses.changes, &self.threads[me].engine.spawn_join_clock, me)
    }

    /// Records that a thread joins another one, which has ended.
    pub fn join_spawn_join_clock(&mut self, ended: usize, by: usize) {
        let past = std::mem::take(&mut self.threads[ended].engine.spawn_join_clock);
        let spawn_join_clock = &mut self.threads[by].engine.spawn_join_clock;
        for (thread, &time) in past.iter().enumerate() {
            let mine = entry(spawn_join_clock, thread);
            *mine = (*mine).max(time);
        }
        self.threads[ended].engine.spawn_join_clock = past;
    }
}

/// In interleavings, records that the current thread uses a count. This is a step if the count is a
/// shared object.
pub(super) fn uses(at: usize, count: Count, usage: CountUse, what: (&'static str, Place)) {
    let Some(world) = world().filter(|world| world.memory.is_none()) else {
        return;
    };
    let cell = world.inner.borrow_mut().uses(at, count, usage);
    let Some(cell) = cell else {
        // A loop that only waits for a count to change makes no steps until the count is a shared
        // object. It would never end, so this execution is given up; the search starts again
        // anyway.
        let lost = world.inner.borrow().keeps_asking(at, count);
        if lost {
            world.suspend_for_ever();
        }
        return;
    };
    let what_is = (KIND, what.0);
    match usage {
        CountUse::Asks => {
            world.turn(Pending::read(cell, what_is, what.1));
            world.inner.borrow_mut().saw(cell, wakes::CONTENT);
        }
        CountUse::Changes | CountUse::Updates => {
            world.turn(Pending::write(cell, what_is, what.1));
            world.inner.borrow_mut().changed(cell, wakes::CONTENT);
        }
    }
}

/// A running destructor that another thread would have run in another order of drops.
pub(super) struct Destruction(Option<usize>);

impl Destruction {
    /// Begins the destructor of the value at this address; `None` if no other order of drops lets
    /// another thread run it.
    pub fn begin(at: usize) -> Option<Self> {
        let world = world()?;
        let mut inner = world.inner.borrow_mut();
        let open = match world.memory {
            None => inner.is_any_last(at),
            Some(_) => inner.is_dropped_by_any(at),
        };
        open.then(|| Self(inner.me().destroys.replace(at)))
    }
}

impl Drop for Destruction {
    fn drop(&mut self) {
        if let Some(world) = world() {
            world.inner.borrow_mut().me().destroys = self.0;
        }
    }
}

impl World {
    /// Makes the strong count a shared object, because the destructor makes a step, so that it
    /// matters which thread runs it.
    #[cold]
    pub fn destruction_matters(&self, at: usize) {
        let mut inner = self.inner.borrow_mut();
        if self.memory.is_some() {
            inner.count_from_the_start(at);
            drop(inner);
            self.suspend_for_ever();
        }
        if let Some(region) = inner.names.regions.name(at) {
            let record = inner.names.regions.record(region);
            record.explored[Count::Strong as usize] = true;
            inner.restart = true;
        }
    }
}

impl World {
    /// Records that an `Arc` has weak references, in interleavings.
    pub(super) fn made_cyclic_arc(&self, at: usize) {
        let mut inner = self.inner.borrow_mut();
        if let Some(region) = inner.names.regions.name(at) {
            inner.names.regions.record(region).weak.made = true;
        }
    }
}
