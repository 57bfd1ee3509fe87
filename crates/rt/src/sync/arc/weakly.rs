//! References under a memory model.
//!
//! Which thread drops the last reference, and so runs the destructor, may depend on the order of
//! drops that nothing orders. Usually it does not: all others have been joined. So drops are no
//! events at first. If the last drop is not ordered after all others by spawn and join alone, or if
//! the code asks for the count, the count becomes a location (`Record::counted`), clones and drops
//! become updates of it as in std, and the search starts again.
//!
//! The value of the location is the number of references but one.

use mazurka_memory::{Action, Effect, Loc, MemoryOrder, Value};

use super::regions::Count;
use crate::names::entry;
use crate::world::{Inner, Pending, Place, World};

const KIND: &str = "Arc";

impl Inner {
    /// Returns the cell of the count of an `Arc`, if it is a location.
    fn count_cell(&mut self, at: usize) -> Option<u32> {
        let region = self.names.regions.name(at)?;
        let counted = self.names.regions.record(region).counted;
        counted.then(|| self.count_cells(region)[Count::Strong as usize])
    }

    /// Makes the count of an `Arc` a location, from the start.
    fn count_from_the_start(&mut self, at: usize) -> bool {
        let Some(region) = self.names.regions.name(at) else {
            return false;
        };
        self.names.regions.record(region).counted = true;
        self.restart = true;
        true
    }

    /// Notes that the current thread drops a reference. If it is the last one and the others were
    /// not dropped before in any order of the threads, the search starts again.
    fn drops(&mut self, at: usize, last: bool) {
        let Some(region) = self.names.regions.name(at) else {
            return;
        };
        let me = self.current.index();
        if last {
            let family = &self.threads[me].asking.family;
            let known = |thread: usize| family.get(thread).copied().unwrap_or(0);
            let drops = &self.names.regions.record_of(region).drops;
            if drops.iter().any(|&(thread, drop)| known(thread) < drop) {
                self.count_from_the_start(at);
            }
            return;
        }
        let own = entry(&mut self.threads[me].asking.family, me);
        *own += 1;
        let drop = *own;
        self.names.regions.record(region).drops.push((me, drop));
    }
}

impl World {
    fn update_count(
        &self,
        cell: u32,
        orders: [MemoryOrder; 2],
        rule: &dyn Fn(Value) -> Effect,
        what: (&'static str, Place),
    ) -> Value {
        let pending = Pending::new(None, (KIND, what.0), what.1);
        self.update(cell, orders, rule, pending)
    }

    /// Adds a reference.
    pub(super) fn clone_arc(&self, at: usize, place: Place) {
        let cell = self.inner.borrow_mut().count_cell(at);
        if let Some(cell) = cell {
            let more = |count| Effect::Write(count + 1);
            self.update_count(cell, [MemoryOrder::Relaxed; 2], &more, ("clone", place));
            self.progress();
        }
    }

    /// Drops a reference. `last` tells whether it is the last of this run; `matters` whether there
    /// is a destructor.
    pub(super) fn drop_arc(&self, at: usize, last: bool, matters: bool, place: Place) {
        let cell = self.inner.borrow_mut().count_cell(at);
        let Some(cell) = cell else {
            if matters {
                self.inner.borrow_mut().drops(at, last);
            }
            return;
        };
        let less = |count| Effect::Write(count - 1);
        let orders = [MemoryOrder::Release, MemoryOrder::Relaxed];
        let others = self.update_count(cell, orders, &less, ("drop", place));
        self.progress();
        if others == 0 {
            self.fence(
                MemoryOrder::Acquire,
                Pending::new(None, (KIND, "last drop"), place),
            );
        }
    }

    /// Returns the cell of the count of an `Arc` that the code asks for.
    pub(super) fn asked_count(&self, at: usize, verb: &'static str, place: Place) -> u32 {
        let mut inner = self.inner.borrow_mut();
        if let Some(cell) = inner.count_cell(at) {
            return cell;
        }
        let known = inner.count_from_the_start(at);
        drop(inner);
        match known {
            true => self.rest_for_ever(),
            false => self.refuse(format!("`Arc::{verb}` at {place} of one made outside")),
        }
    }

    /// Gives the last reference up. Returns whether it was the last.
    pub(super) fn unwrap_arc(&self, at: usize, verb: &'static str, place: Place) -> bool {
        let cell = self.asked_count(at, verb, place);
        let take = |count| match count {
            0 => Effect::Write(-1),
            _ => Effect::Keep,
        };
        let orders = [MemoryOrder::Acquire, MemoryOrder::Relaxed];
        let others = self.update_count(cell, orders, &take, (verb, place));
        self.took_lock();
        others == 0
    }

    /// Returns the number of other references.
    pub(super) fn other_arcs(
        &self,
        at: usize,
        order: MemoryOrder,
        verb: &'static str,
        place: Place,
    ) -> Value {
        let loc = Loc(self.asked_count(at, verb, place));
        let pending = Pending::new(None, (KIND, verb), place);
        let others = self.ask(pending, Action::Read { loc, order });
        self.took_lock();
        others
    }
}
