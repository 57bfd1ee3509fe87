//! The counts of references as shared objects, in interleavings.
//!
//! Most programs cannot tell in which order references are made and dropped, so that is no event.
//! A program can tell if it *asks* for a count (`try_unwrap`, `get_mut`, `upgrade`, `strong_count`,
//! …) and another thread *changes* it, and neither is ordered before the other by spawn and join
//! alone; or if a destructor makes steps, and another thread might have run it. Then the count
//! becomes a shared object: to make and to drop a reference is a step that writes it, to ask is a
//! step that reads it, and the search starts again.
//!
//! What spawn and join order is told by `Asking::family`: for each thread, the number of its uses
//! of counts that happen before.

use super::regions::Count;
use crate::names::entry;
use crate::world::{Inner, Pending, Place, World, wakes, world};

const KIND: &str = "Arc";

/// What an operation does with a count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Its result depends on the count.
    Asks,
    Changes,
    /// Both.
    Updates,
}

/// For each thread, its last use of a count that asks, and its last that changes it.
#[derive(Default)]
pub(super) struct Uses {
    asks: Vec<u32>,
    changes: Vec<u32>,
    /// The step in which a thread asked last, and how often it did.
    again: (usize, u32, u32),
}

/// A thread that asks more often in one step waits for a change.
const MOST_ASKS: u32 = 100;

impl Uses {
    /// Forgets the execution before.
    pub fn clear(&mut self) {
        self.asks.clear();
        self.changes.clear();
        self.again = (0, 0, 0);
    }

    /// Notes that a thread asks in one of its steps. Returns whether it does so again and again.
    fn insists(&mut self, thread: usize, step: u32) -> bool {
        self.again = match self.again {
            (who, when, times) if (who, when) == (thread, step) => (who, when, times + 1),
            _ => (thread, step, 1),
        };
        self.again.2 > MOST_ASKS
    }
}

/// Whether a thread has made one of these uses, and it is not before what the current one does.
fn unordered(uses: &[u32], family: &[u32], me: usize) -> bool {
    let known = |thread| family.get(thread).copied().unwrap_or(0);
    let mut others = uses.iter().enumerate();
    others.any(|(thread, &time)| thread != me && time > known(thread))
}

impl Inner {
    /// Notes a use of a count. Returns its cell, if it is a shared object.
    fn uses(&mut self, at: usize, count: Count, usage: Use) -> Option<u32> {
        let region = self.names.regions.name(at)?;
        let me = self.current.index();
        let record = self.names.regions.record(region);
        if record.explored[count as usize] {
            return Some(self.count_cells(region)[count as usize]);
        }
        *entry(&mut self.threads[me].asking.family, me) += 1;
        let uses = &mut record.uses[count as usize];
        let mut matters = false;
        let step = self.threads[me].steps;
        let family = &mut self.threads[me].asking.family;
        if usage != Use::Changes {
            matters = uses.insists(me, step);
            *entry(&mut uses.asks, me) = family[me];
            matters |= unordered(&uses.changes, family, me);
        }
        if usage != Use::Asks {
            *entry(&mut uses.changes, me) = family[me];
            matters |= unordered(&uses.asks, family, me);
        }
        if matters {
            record.explored[count as usize] = true;
            self.restart = true;
        }
        None
    }

    /// Whether the current thread asks again and again within a step.
    fn is_lost_in_asking(&self, at: usize, count: Count) -> bool {
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
        open && unordered(&uses.changes, &self.threads[me].asking.family, me)
    }

    /// A thread joins another one, which has ended.
    pub fn joins_family(&mut self, ended: usize, by: usize) {
        let past = std::mem::take(&mut self.threads[ended].asking.family);
        let family = &mut self.threads[by].asking.family;
        for (thread, &time) in past.iter().enumerate() {
            let mine = entry(family, thread);
            *mine = (*mine).max(time);
        }
        self.threads[ended].asking.family = past;
    }
}

/// Notes a use of a count by the current thread, in interleavings: a step if the count matters.
pub(super) fn uses(at: usize, count: Count, usage: Use, what: (&'static str, Place)) {
    let Some(world) = world().filter(|world| world.memory.is_none()) else {
        return;
    };
    let cell = world.inner.borrow_mut().uses(at, count, usage);
    let Some(cell) = cell else {
        // A loop that asks for nothing else would not come to the end of its step.
        let lost = world.inner.borrow().is_lost_in_asking(at, count);
        if lost {
            world.rest_for_ever();
        }
        return;
    };
    let what_is = (KIND, what.0);
    match usage {
        Use::Asks => {
            world.turn(Pending::read(cell, what_is, what.1));
            world.inner.borrow_mut().saw(cell, wakes::CONTENT);
        }
        Use::Changes | Use::Updates => {
            world.turn(Pending::write(cell, what_is, what.1));
            world.inner.borrow_mut().changed(cell, wakes::CONTENT);
        }
    }
}

/// Watches a destructor that another thread might have run.
pub(super) struct Destruction(Option<usize>);

impl Destruction {
    /// Begins one, if another thread might have run it.
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
    /// The destructor of an `Arc` makes a step, so it matters which thread runs it.
    #[cold]
    pub fn destruction_matters(&self, at: usize) {
        let mut inner = self.inner.borrow_mut();
        if self.memory.is_some() {
            inner.count_from_the_start(at);
            drop(inner);
            self.rest_for_ever();
        }
        if let Some(region) = inner.names.regions.name(at) {
            let record = inner.names.regions.record(region);
            record.explored[Count::Strong as usize] = true;
            inner.restart = true;
        }
    }
}

impl World {
    /// Notes that an `Arc` was made with weak references to itself.
    pub(super) fn made_cyclic_arc(&self, at: usize) {
        let mut inner = self.inner.borrow_mut();
        if let Some(region) = inner.names.regions.name(at) {
            inner.names.regions.record(region).weak.made = true;
        }
    }
}
