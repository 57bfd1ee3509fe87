//! Reference counts under a memory model.
//!
//! Which thread drops the last reference, and therefore runs the destructor, may depend on the
//! order of concurrent drops. Usually it does not, because all other threads have been joined. So
//! at first, drops are not events. The count of strong references becomes a location of the memory
//! model (`Record::counted`) in two cases: the code reads the count, or the destructor makes steps
//! and spawn and join alone do not order the last drop after all other drops. Then the search
//! starts again, and clones and drops are updates of this location, as in std.
//!
//! The value of the location is the number of references minus one.
//!
//! The count of weak references matters only to code that reads it (`weak_count`, `get_mut`,
//! `make_mut`). So it becomes a location only if the `Arc` has weak references and the program
//! reads their count. Its value is the number of weak references. As in std it is [`LOCKED`] while
//! a thread that has found no weak reference checks the count of strong references.

use mazurka_memory::{Effect, MemoryOrder, Value};

use super::made_at;
use super::regions::Count;
use crate::names::entry;
use crate::world::{Inner, Pending, Place, World};

const KIND: &str = "Arc";

/// The count of weak references while a thread checks whether its reference is the only one.
const LOCKED: Value = -1;

/// How an operation uses the count of weak references.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WeakUse {
    /// It makes a weak reference.
    Makes,
    /// Its result depends on the count.
    Asks,
}

impl Inner {
    /// Returns the cell of the strong count of an `Arc`, if this count is a location.
    #[inline]
    fn count_cell(&mut self, at: usize) -> Option<u32> {
        if !self.names.regions.are_counted() {
            return None;
        }
        let region = self.names.regions.name(at)?;
        let counted = self.names.regions.record(region).counted;
        counted.then(|| self.count_cells(region)[Count::Strong as usize])
    }

    /// Makes the strong count of an `Arc` a location, and starts the search again. Returns false if
    /// the `Arc` was not made in this model.
    pub(super) fn count_from_the_start(&mut self, at: usize) -> bool {
        let Some(region) = self.names.regions.name(at) else {
            return false;
        };
        self.names.regions.count_region(region);
        self.restart = true;
        true
    }

    /// Returns the cell of the count of weak references of an `Arc`, if it is a location.
    fn weak_cell(&mut self, at: usize) -> Option<u32> {
        let region = self.names.regions.name(at)?;
        let counted = self.names.regions.record(region).weak.counted;
        counted.then(|| self.count_cells(region)[Count::Weak as usize])
    }

    /// Records a use of the count of weak references. Returns whether the search has to start
    /// again, because the count has to become a location.
    fn uses_weak(&mut self, at: usize, weak_use: WeakUse) -> bool {
        let Some(region) = self.names.regions.name(at) else {
            return false;
        };
        let weak = &mut self.names.regions.record(region).weak;
        weak.made |= weak_use == WeakUse::Makes;
        weak.asked |= weak_use == WeakUse::Asks;
        let new = weak.made && weak.asked && !weak.counted;
        weak.counted |= new;
        self.restart |= new;
        new
    }

    /// Records that an `Arc` was made with weak references to itself.
    pub(super) fn made_cyclic(&mut self, at: usize, references: usize) {
        if references == 0 || self.uses_weak(at, WeakUse::Makes) {
            return;
        }
        if let Some(cell) = self.weak_cell(at) {
            self.cells[cell as usize].initial = references as Value;
        }
    }

    /// Whether another thread might have dropped the last reference instead of the current one.
    pub(super) fn is_dropped_by_any(&mut self, at: usize) -> bool {
        let Some(region) = self.names.regions.name(at) else {
            return false;
        };
        let record = self.names.regions.record_of(region);
        let spawn_join_clock = &self.threads[self.current.index()].engine.spawn_join_clock;
        let known = |thread: usize| spawn_join_clock.get(thread).copied().unwrap_or(0);
        let mut drops = record.drops.iter();
        !record.counted && drops.any(|&(thread, drop)| known(thread) < drop)
    }

    /// Records that the current thread drops a reference that is not the last one.
    fn drops(&mut self, at: usize) {
        let Some(region) = self.names.regions.name(at) else {
            return;
        };
        let me = self.current.index();
        let own = entry(&mut self.threads[me].engine.spawn_join_clock, me);
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

    /// Adds a strong reference.
    pub(super) fn clone_arc(&self, at: usize, place: Place) {
        let cell = self.inner.borrow_mut().count_cell(at);
        if let Some(cell) = cell {
            let more = |count| Effect::Write(count + 1);
            self.update_count(cell, [MemoryOrder::Relaxed; 2], &more, ("clone", place));
            self.progress();
        }
    }

    /// Drops a strong reference. `last` tells whether it is the last one in this run, `matters`
    /// whether the value has a destructor, and `place` where the reference is dropped, if known.
    pub(super) fn drop_arc(&self, at: usize, last: bool, matters: bool, place: Option<Place>) {
        let cell = self.inner.borrow_mut().count_cell(at);
        let Some(cell) = cell else {
            if matters && !last {
                self.inner.borrow_mut().drops(at);
            }
            // The fence of the last drop also acquires what `weak_count` has read.
            let asked = last && self.inner.borrow_mut().weak_cell(at).is_some();
            if asked {
                self.last_drop(place.unwrap_or_else(|| made_at(at)));
            }
            return;
        };
        let place = place.unwrap_or_else(|| made_at(at));
        let less = |count| Effect::Write(count - 1);
        let orders = [MemoryOrder::Release, MemoryOrder::Relaxed];
        let others = self.update_count(cell, orders, &less, ("drop", place));
        self.progress();
        if others == 0 {
            self.last_drop(place);
        }
    }

    /// Makes the fence before a value is destroyed or returned, as std does. It acquires everything
    /// that relaxed accesses to the counts have read.
    fn last_drop(&self, place: Place) {
        let pending = Pending::new(None, (KIND, "last drop"), place);
        self.fence(MemoryOrder::Acquire, pending);
    }

    /// Returns the cell of the strong count of an `Arc` for an operation that reads it. If the
    /// count is not a location yet, the search starts again.
    pub(super) fn asked_count(&self, at: usize, verb: &'static str, place: Place) -> u32 {
        let mut inner = self.inner.borrow_mut();
        if let Some(cell) = inner.count_cell(at) {
            return cell;
        }
        let known = inner.count_from_the_start(at);
        drop(inner);
        if known {
            self.suspend_for_ever()
        } else {
            self.refuse(format!("`Arc::{verb}` at {place} of one made outside"))
        }
    }

    /// Takes the strong reference if it is the last one. Returns whether it was.
    pub(super) fn unwrap_arc(&self, at: usize, verb: &'static str, place: Place) -> bool {
        let cell = self.asked_count(at, verb, place);
        let take = |count| match count {
            0 => Effect::Write(-1),
            _ => Effect::Keep,
        };
        let orders = [MemoryOrder::Acquire, MemoryOrder::Relaxed];
        let others = self.update_count(cell, orders, &take, (verb, place));
        self.took_lock();
        let taken = others == 0;
        let asked = taken && self.inner.borrow_mut().weak_cell(at).is_some();
        if asked && verb == "try_unwrap" {
            self.last_drop(place);
        }
        taken
    }

    /// Returns the number of other strong references.
    pub(super) fn other_arcs(
        &self,
        at: usize,
        order: MemoryOrder,
        verb: &'static str,
        place: Place,
    ) -> Value {
        let cell = self.asked_count(at, verb, place);
        self.read_value(cell, order, Pending::new(None, (KIND, verb), place))
    }

    /// Records a use of the count of weak references. Returns its cell, if it is a location.
    fn weak_count_cell(&self, at: usize, weak_use: WeakUse) -> Option<u32> {
        let mut inner = self.inner.borrow_mut();
        if inner.uses_weak(at, weak_use) {
            drop(inner);
            self.suspend_for_ever();
        }
        inner.weak_cell(at)
    }

    /// Makes a weak reference from a strong one.
    pub(super) fn downgrade_arc(&self, at: usize, place: Place) {
        if let Some(cell) = self.weak_count_cell(at, WeakUse::Makes) {
            let more = |count| match count {
                LOCKED => Effect::Wait,
                _ => Effect::Write(count + 1),
            };
            let orders = [MemoryOrder::Acquire, MemoryOrder::Relaxed];
            self.update_count(cell, orders, &more, ("downgrade", place));
            self.progress();
        }
    }

    /// Changes the count of weak references when one of them is cloned (`by` is 1) or dropped (-1),
    /// at this place if known.
    pub(super) fn change_weak(
        &self,
        at: usize,
        verb: &'static str,
        by: Value,
        place: Option<Place>,
    ) {
        let cell = self.inner.borrow_mut().weak_cell(at);
        if let Some(cell) = cell {
            let order = match by {
                1.. => MemoryOrder::Relaxed,
                _ => MemoryOrder::Release,
            };
            let change = |count| Effect::Write(count + by);
            let orders = [order, MemoryOrder::Relaxed];
            let place = place.unwrap_or_else(|| made_at(at));
            self.update_count(cell, orders, &change, (verb, place));
            self.progress();
        }
    }

    /// Returns the number of weak references.
    pub(super) fn weak_references(&self, at: usize, order: MemoryOrder, place: Place) -> Value {
        let Some(cell) = self.weak_count_cell(at, WeakUse::Asks) else {
            return 0;
        };
        let pending = Pending::new(None, (KIND, "weak_count"), place);
        self.read_value(cell, order, pending).max(0)
    }

    /// Makes a strong reference from a weak one, if there still is a strong reference; `alive`
    /// tells whether this run has one. Returns whether it made one.
    pub(super) fn upgrade_weak(&self, at: usize, alive: bool, place: Place) -> bool {
        if !alive && self.inner.borrow().names.regions.name(at).is_none() {
            // The weak reference refers to nothing, or to a value that is being made.
            return false;
        }
        let cell = self.asked_count(at, "upgrade", place);
        let more = |count| match count {
            0.. => Effect::Write(count + 1),
            _ => Effect::Keep,
        };
        let orders = [MemoryOrder::Acquire, MemoryOrder::Relaxed];
        let upgraded = self.update_count(cell, orders, &more, ("upgrade", place)) >= 0;
        if upgraded {
            self.progress()
        } else {
            self.took_lock()
        }
        upgraded
    }

    /// Whether there is no other reference, strong or weak.
    pub(super) fn is_unique(&self, at: usize, verb: &'static str, place: Place) -> bool {
        let strong = self.asked_count(at, verb, place);
        let pending = Pending::new(None, (KIND, verb), place);
        let weak = self.weak_count_cell(at, WeakUse::Asks);
        if let Some(weak) = weak {
            let lock = |count| match count {
                0 => Effect::Write(LOCKED),
                _ => Effect::Keep,
            };
            let orders = [MemoryOrder::Acquire, MemoryOrder::Relaxed];
            if self.update(weak, orders, &lock, pending) != 0 {
                self.took_lock();
                return false;
            }
        }
        let others = self.read_value(strong, MemoryOrder::Acquire, pending);
        if let Some(weak) = weak {
            self.write_value(weak, MemoryOrder::Release, 0, pending);
        }
        others == 0
    }

    /// Puts back the only reference, which [`unwrap_arc`](Self::unwrap_arc) has taken.
    pub(super) fn keep_arc(&self, at: usize, verb: &'static str, place: Place) {
        let cell = self.asked_count(at, verb, place);
        let pending = Pending::new(None, (KIND, verb), place);
        self.write_value(cell, MemoryOrder::Release, 0, pending);
    }
}
