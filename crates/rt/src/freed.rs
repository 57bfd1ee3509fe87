//! Finds uses of objects after their drop.
//!
//! Dropping a cell, an atomic or a lock ends it: a thread that uses it afterwards uses freed
//! memory. Three mechanisms find such a use:
//! - *The mark.* The cell of a dropped object (its state in this execution) is marked, and a step
//!   on a marked cell fails. Freed memory may have been overwritten, and with it the link from the
//!   object to its cell. So the addresses of dropped objects are kept, too.
//! - *The order.* Dropping an `UnsafeCell` is a write, which races with accesses that nothing
//!   orders before it (cell.rs). But if the last reference of std's `Arc` drops the `UnsafeCell`,
//!   then the counts of that `Arc` order the drop, which the clocks do not see (std_arc.rs). Such a
//!   drop does not count as a write.
//! - *A trial.* Dropping an atomic, a lock, or an `UnsafeCell` in std's `Arc` is not a step, so no
//!   explorer tries an order in which a use comes after the drop. Suppose another thread has used
//!   the object and has not been joined, and the step that drops the object does not depend on that
//!   use. Then the drop could also come before the use. So a trial repeats the execution without
//!   the use and without the steps that depend on the use, and then makes the use. If the use meets
//!   the mark, the current execution fails. Otherwise something that is not explored keeps the use
//!   before the drop, such as the counts of std's `Arc`, and there is no failure.
//!
//! Trials are made only in interleavings; under a memory model there are only the first two
//! mechanisms.

use std::panic::Location;
use std::ptr;

use mazurka_core::{Event, Mishap, MishapKind, ProcessId, Status, dependent};
use rustc_hash::FxHashMap;

use crate::cell::DropOf;
use crate::names::{Meta, entry};
use crate::simulate::Simulator;
use crate::std_arc::KnownStacks;
use crate::world::{Failure, Inner, Life, Pending, Place, World, world};

/// Limit on the trials without a finding, for all objects that are made at one place together.
const TRIALS: u32 = 100;

/// The [`Meta`] of an object whose drop is recorded.
pub(crate) struct OwnedMeta(Meta);

impl OwnedMeta {
    #[track_caller]
    pub const fn new() -> Self {
        Self(Meta::at(Location::caller()))
    }

    /// Makes the `Meta` of an object that was made at this place.
    pub const fn at(made: Place) -> Self {
        Self(Meta::at(made))
    }
}

impl std::ops::Deref for OwnedMeta {
    type Target = Meta;

    #[inline]
    fn deref(&self) -> &Meta {
        &self.0
    }
}

impl Drop for OwnedMeta {
    #[inline]
    fn drop(&mut self) {
        if let Some(world) = world() {
            world.dropped(&self.0);
        }
    }
}

/// The last use of an object by a thread.
#[derive(Clone, Copy)]
pub(crate) struct LastUse {
    thread: ProcessId,
    /// The index of the step among those of the thread, from 1.
    step: u32,
    place: Place,
}

/// The drop of an object.
#[derive(Clone, Copy)]
pub(crate) struct End {
    by: ProcessId,
    /// Where the dropping thread made its last step before the drop.
    after: Place,
}

/// A use that might also come after the drop of its object.
#[derive(Clone, Copy)]
pub(crate) struct Suspect {
    cell: u32,
    used: LastUse,
    end: End,
}

/// The objects that the current execution has dropped.
#[derive(Default)]
pub(crate) struct Freed {
    /// The cells of the objects, by the address of the object.
    cells: FxHashMap<usize, u32>,
    /// Uses of objects that the current step has dropped.
    suspects: Vec<Suspect>,
    /// Whether a thread has used a dropped object.
    pub used: bool,
    /// The stacks of destructors that were seen.
    pub stacks: KnownStacks,
    /// Number of trials without a finding, by the address of the [`Place`] where the object was
    /// made.
    trials: FxHashMap<usize, u32>,
}

impl Freed {
    /// Forgets the previous execution.
    pub fn begin(&mut self) {
        self.cells.clear();
        self.suspects.clear();
        self.used = false;
    }
}

fn address(place: Place) -> usize {
    ptr::from_ref(place) as usize
}

impl Inner {
    /// Records that the current thread uses a cell. Returns whether the object still exists.
    #[inline]
    pub fn uses_cell(&mut self, cell: u32, pending: &Pending) -> bool {
        let (thread, place) = (self.current, pending.place);
        let step = self.threads[thread.index()].steps;
        let state = &mut self.cells[cell as usize];
        if let Some(end) = state.end {
            self.uses_freed(cell, end, pending);
            return false;
        }
        let used = LastUse {
            thread,
            step,
            place,
        };
        match state.uses.iter_mut().find(|used| used.thread == thread) {
            Some(before) => *before = used,
            None => state.uses.push(used),
        }
        true
    }

    /// Records that the current thread uses a dropped object. The caller suspends the thread for
    /// ever.
    #[cold]
    pub fn uses_freed(&mut self, cell: u32, end: End, pending: &Pending) {
        self.freed.used = true;
        let process = self.current;
        let (_, verb) = pending.what;
        let message = format!(
            "use after free: thread {} uses the {} at {} ({verb}), which thread {} has dropped, after its step at {}",
            self.names.paths[process.index()],
            self.object_of(cell),
            pending.place,
            self.names.paths[end.by.index()],
            end.after,
        );
        let site = self.failure(Failure {
            message,
            place: pending.place.to_string(),
        });
        let thread = self.me();
        (thread.life, thread.failure) = (Life::Failed, Some(site));
        self.effects.races_with = Some(end.by);
        self.effects.mishaps.push(Mishap {
            process: Some(process),
            kind: MishapKind::Failure,
            site,
        });
    }

    /// Describes an object by its type and where it was made.
    fn object_of(&self, cell: u32) -> String {
        let state = &self.cells[cell as usize];
        match state.made {
            Some(made) => format!("{} made at {made}", state.kind),
            None => state.kind.to_owned(),
        }
    }

    /// Returns the cell of the object that was dropped at this address, unless a new
    /// object lies there.
    #[inline]
    pub fn freed_cell(&mut self, meta: &Meta) -> Option<u32> {
        if self.freed.cells.is_empty() {
            return None;
        }
        self.look_for_freed(meta)
    }

    #[cold]
    fn look_for_freed(&mut self, meta: &Meta) -> Option<u32> {
        let at = ptr::from_ref(meta) as usize;
        let cell = *self.freed.cells.get(&at)?;
        if meta.is_new() {
            self.freed.cells.remove(&at);
            return None;
        }
        Some(cell)
    }

    /// Whether the current thread has joined another one, directly or through other threads.
    fn has_joined(&self, other: ProcessId) -> bool {
        let thread = &self.threads[other.index()];
        let spawn_join_clock = &self.threads[self.current.index()].engine.spawn_join_clock;
        let known = spawn_join_clock.get(other.index()).copied().unwrap_or(0);
        thread.life == Life::Ended && known >= thread.ended
    }

    /// Whether the current thread has joined all other threads. The answer depends only on what
    /// happens before this point, not on how far unrelated threads have come: if another thread
    /// exists that this one does not know of, then it was started by a thread that this one has not
    /// joined.
    pub fn has_joined_all(&self) -> bool {
        let threads = self.threads.iter().enumerate();
        let mut others = threads
            .filter(|(at, thread)| thread.life != Life::Unborn && *at != self.current.index());
        others.all(|(at, _)| self.has_joined(ProcessId(at as u32)))
    }

    /// Records the end of the current thread in its clock, for threads that join it.
    pub fn end_spawn_join_clock(&mut self) {
        let me = self.current.index();
        let thread = &mut self.threads[me];
        let own = entry(&mut thread.engine.spawn_join_clock, me);
        *own += 1;
        thread.ended = *own;
    }

    /// Marks the cell of an object that the current thread drops. With `tries`, earlier uses of the
    /// object become suspects, for which trials are made.
    fn mark_dropped(&mut self, meta: &Meta, cell: u32, tries: bool) {
        let end = End {
            by: self.current,
            after: self.me().pending.place,
        };
        self.cells[cell as usize].end = Some(end);
        let at = ptr::from_ref(meta) as usize;
        self.freed.cells.insert(at, cell);
        if !tries || (self.cells[cell as usize].uses.len() < 2 && self.ends_alone(cell)) {
            return;
        }
        // The counts of our own `Arc` are tracked, so an object in its memory needs no trial.
        if self.names.regions.contains(at) {
            return;
        }
        let uses = std::mem::take(&mut self.cells[cell as usize].uses);
        for &used in &uses {
            if used.thread != self.current && !self.has_joined(used.thread) {
                self.freed.suspects.push(Suspect { cell, used, end });
            }
        }
        self.cells[cell as usize].uses = uses;
    }

    /// Whether only the current thread has used a cell.
    fn ends_alone(&self, cell: u32) -> bool {
        let uses = &self.cells[cell as usize].uses;
        uses.iter().all(|used| used.thread == self.current)
    }
}

impl World {
    /// Whether an object has been dropped in this execution.
    #[inline]
    pub fn is_freed(&self, meta: &Meta) -> bool {
        self.inner.borrow_mut().freed_cell(meta).is_some()
    }

    /// Records that the current thread drops an object.
    #[cold]
    fn dropped(&self, meta: &Meta) {
        // The runtime itself may drop objects while it borrows its state.
        let Ok(mut inner) = self.inner.try_borrow_mut() else {
            return;
        };
        let Some(cell) = meta.known(inner.epoch) else {
            return;
        };
        if inner.cells[cell as usize].end.is_some() {
            return;
        }
        let mut tries = true;
        if inner.cells[cell as usize].kind == crate::cell::KIND {
            drop(inner);
            tries = crate::cell::drops(self, meta, cell) == DropOf::Unseen;
            inner = self.inner.borrow_mut();
        }
        inner.mark_dropped(meta, cell, tries);
    }
}

impl Simulator {
    /// Makes the trials for the objects that the last step has dropped. Returns a failure if an
    /// earlier use can also come after the drop, and whether a trial was made, in which case the
    /// coroutines must start again.
    pub(crate) fn try_freed(&self, events: &[Event]) -> (Option<Mishap>, bool) {
        let suspects = self.inner(|inner| std::mem::take(&mut inner.freed.suspects));
        let mut tried = false;
        for suspect in suspects {
            let key = self.inner(|inner| {
                let made = inner.cells[suspect.cell as usize].made;
                made.map_or(0, address)
            });
            let trials = self.inner(|inner| inner.freed.trials.get(&key).copied().unwrap_or(0));
            let Some(order) = reversed(events, &suspect.used).filter(|_| trials < TRIALS) else {
                continue;
            };
            tried = true;
            if self.uses_later(events, &order, suspect.used.thread) {
                return (Some(self.freed_failure(&suspect)), true);
            }
            self.inner(|inner| *inner.freed.trials.entry(key).or_default() += 1);
        }
        (None, tried)
    }

    /// Repeats the steps of an execution at the positions `order`, then makes one step of a thread.
    /// Returns whether that thread uses a dropped object.
    fn uses_later(&self, events: &[Event], order: &[usize], thread: ProcessId) -> bool {
        self.start_again();
        let ready = |process| self.inner(|inner| inner.status(process)) == Status::Ready;
        for &at in order {
            let event = &events[at];
            let pending = |inner: &mut Inner| inner.threads[event.process.index()].pending.access;
            let same = ready(event.process) && self.inner(pending) == event.claims.first().copied();
            let made = same || (ready(event.process) && event.claims.is_empty());
            if !made || !self.step_as(event) {
                return false;
            }
        }
        ready(thread) && self.step_alone(thread) && self.inner(|inner| inner.freed.used)
    }

    fn freed_failure(&self, suspect: &Suspect) -> Mishap {
        let Suspect { cell, used, end } = *suspect;
        let site = self.inner(|inner| {
            let message = format!(
                "use after free: thread {} drops the {}, after its step at {}, and thread {} uses it at {}; nothing orders the two",
                inner.names.paths[end.by.index()],
                inner.object_of(cell),
                end.after,
                inner.names.paths[used.thread.index()],
                used.place,
            );
            let place = used.place.to_string();
            inner.failure(Failure { message, place })
        });
        Mishap {
            process: Some(end.by),
            kind: MishapKind::Failure,
            site,
        }
    }
}

/// Returns the positions of all events that do not depend on a use. Returns `None` if the last
/// event, which drops the object, depends on the use.
fn reversed(events: &[Event], used: &LastUse) -> Option<Vec<usize>> {
    let is_use = |event: &Event| event.process == used.thread && event.number + 1 == used.step;
    let at = events.iter().position(is_use)?;
    let mut order: Vec<usize> = (0..at).collect();
    let mut after = vec![at];
    for (number, event) in events.iter().enumerate().skip(at + 1) {
        let mut later = after.iter();
        if later.any(|&before| dependent(&events[before], event)) {
            after.push(number);
        } else {
            order.push(number);
        }
    }
    let last = events.len() - 1;
    (order.last() == Some(&last)).then_some(order)
}
