//! The memory of the `Arc`s of an execution, and names for the objects in it.
//!
//! The memory of one `Arc` is a *region*. Its name consists of the thread that made the `Arc` and
//! the number of `Arc`s that this thread had made before. The name of an object in it consists of
//! the region, the offset of the object, and the number of objects named at this offset before.
//! This number is needed because the content of an `Arc` may be replaced, and the old content may
//! live on elsewhere.

use std::sync::atomic::Ordering;

use super::counted::Uses;
use crate::names::{Meta, Pool, entry};
use crate::world::{Inner, Place};

/// One of the two counts of an `Arc`: of its strong references, or of its weak ones.
#[derive(Clone, Copy)]
pub(super) enum Count {
    Strong,
    Weak,
}

/// The names of the counts in replays, in the order of [`Count`].
const COUNTS: [&str; 2] = ["count", "weak"];

/// The memory of an `Arc` that is still referenced.
struct Region {
    start: usize,
    size: usize,
    /// Whether the value has been dropped, and only weak references are left.
    dropped: bool,
    thread: usize,
    number: usize,
    /// Where the `Arc` was made.
    place: Place,
}

/// The knowledge about the region with one name. It is kept for the next execution, except for
/// fields that say "in this execution".
#[derive(Default)]
pub(super) struct Record {
    /// The offsets of objects, and the objects at each.
    objects: Vec<(usize, Pool)>,
    /// The cells of the two counts, once the clocks or a memory model need them.
    counts: Option<[u32; 2]>,
    /// Whether the strong count is a location of the memory model, so that changing it is an event
    /// (weakly.rs).
    pub counted: bool,
    /// The knowledge about the weak references, for a memory model.
    pub weak: WeakRecord,
    /// The threads that have dropped references in this execution, each with the time of the drop
    /// in the thread's clock of spawn and join.
    pub drops: Vec<(usize, u32)>,
    /// Whether each count is a shared object of interleavings, so that changing it is a step
    /// (counted.rs).
    pub explored: [bool; 2],
    /// The uses of each count in this execution, unless it is a shared object.
    pub uses: [Uses; 2],
}

/// What the executions so far have shown about the weak references of a region.
#[derive(Clone, Copy, Default)]
pub(super) struct WeakRecord {
    /// Whether there are weak references.
    pub made: bool,
    /// Whether the code reads their number.
    pub asked: bool,
    /// Whether their count is a location of the memory model.
    pub counted: bool,
}

/// The regions that one thread has made.
#[derive(Default)]
struct ThreadRegions {
    count: usize,
    records: Vec<Record>,
}

/// All regions of an execution.
#[derive(Default)]
pub(crate) struct Regions {
    /// The live regions, ordered by address. They are few, and a vector reuses its memory.
    alive: Vec<Region>,
    made: Vec<ThreadRegions>,
    /// Whether any count is a location of a memory model.
    counts: bool,
    /// Number of live regions whose value has been dropped.
    ended: usize,
}

impl Regions {
    /// Starts a new execution.
    pub fn clear(&mut self) {
        self.alive.clear();
        self.ended = 0;
        for made in &mut self.made {
            made.count = 0;
        }
    }

    /// Whether there are values that have not been dropped.
    pub fn are_left(&self) -> bool {
        self.alive
            .iter()
            .any(|region| region.size > 0 || !region.dropped)
    }

    /// Removes the region of a value that has been dropped. If weak references need the name, it
    /// stays as a region without objects.
    pub fn remove(&mut self, at: usize) {
        let Some(place) = self.place(at) else {
            return;
        };
        let Region { thread, number, .. } = self.alive[place];
        if self.record((thread, number)).weak.made {
            (self.alive[place].size, self.alive[place].dropped) = (0, true);
            self.ended += 1;
        } else {
            self.alive.remove(place);
        }
    }

    /// Returns the index in `alive` of the region that starts at an address.
    fn place(&self, at: usize) -> Option<usize> {
        let place = self.alive.partition_point(|region| region.start < at);
        let region = self.alive.get(place)?;
        (region.start == at).then_some(place)
    }

    fn insert(&mut self, new: Region) {
        // Memory is allocated again only after all weak references to the `Arc` that was there have
        // been dropped.
        if self.ended > 0 {
            let (start, end) = (new.start, new.start + new.size);
            let within = |region: &Region| (start..end).contains(&region.start);
            self.alive
                .retain(|region| region.size > 0 || !within(region));
        }
        let place = self
            .alive
            .partition_point(|region| region.start < new.start);
        match self.alive.get_mut(place) {
            Some(old) if old.start == new.start => *old = new,
            _ => self.alive.insert(place, new),
        }
    }

    /// Returns the name of the `Arc` whose value is at an address.
    pub(super) fn name(&self, at: usize) -> Option<(usize, usize)> {
        let region = &self.alive[self.place(at)?];
        Some((region.thread, region.number))
    }

    /// Returns the place that made the `Arc` whose value is at an address.
    pub(super) fn made_at(&self, at: usize) -> Option<Place> {
        Some(self.alive[self.place(at)?].place)
    }

    pub(super) fn record_of(&self, region: (usize, usize)) -> &Record {
        &self.made[region.0].records[region.1]
    }

    pub(super) fn record(&mut self, region: (usize, usize)) -> &mut Record {
        &mut self.made[region.0].records[region.1]
    }

    /// Returns the names of the regions whose strong count is a location of the memory model.
    pub fn counted_regions(&self) -> impl Iterator<Item = (usize, usize)> {
        let made = self.made.iter().enumerate();
        made.flat_map(|(thread, made)| {
            let records = made.records.iter().enumerate();
            let counted = records.filter(|(_, record)| record.counted);
            counted.map(move |(number, _)| (thread, number))
        })
    }

    /// Whether the strong count of any region is a location of the memory model.
    pub(super) fn are_counted(&self) -> bool {
        self.counts
    }

    /// Makes the strong count of a region a location of the memory model.
    pub fn count_region(&mut self, (thread, number): (usize, usize)) {
        self.counts = true;
        let made = entry(&mut self.made, thread);
        entry(&mut made.records, number).counted = true;
    }

    /// Returns the counts that are shared objects of interleavings.
    pub fn explored_counts(&self) -> impl Iterator<Item = (&'static str, (usize, usize))> {
        let made = self.made.iter().enumerate();
        let all = made.flat_map(|(thread, made)| {
            let records = made.records.iter().enumerate();
            records.map(move |(number, record)| ((thread, number), record.explored))
        });
        all.flat_map(|(region, explored)| {
            let both = COUNTS.into_iter().zip(explored);
            both.filter_map(move |(name, explored)| explored.then_some((name, region)))
        })
    }

    /// Makes a count a shared object of interleavings.
    pub fn explore_count(&mut self, name: &str, (thread, number): (usize, usize)) {
        let record = entry(&mut entry(&mut self.made, thread).records, number);
        for (known, explored) in COUNTS.into_iter().zip(&mut record.explored) {
            *explored |= known == name;
        }
    }

    /// Returns the names of the regions whose count of weak references is a location.
    pub fn weakly_counted_regions(&self) -> impl Iterator<Item = (usize, usize)> {
        let made = self.made.iter().enumerate();
        made.flat_map(|(thread, made)| {
            let records = made.records.iter().enumerate();
            let counted = records.filter(|(_, record)| record.weak.counted);
            counted.map(move |(number, _)| (thread, number))
        })
    }

    /// Makes the count of the weak references of a region a location.
    pub fn count_weak_references(&mut self, (thread, number): (usize, usize)) {
        let made = entry(&mut self.made, thread);
        entry(&mut made.records, number).weak.counted = true;
    }

    /// Whether an address lies in the memory of an `Arc`.
    pub fn contains(&self, address: usize) -> bool {
        self.find(address).is_some()
    }

    /// Returns the name of the region that contains an address, and the offset in it.
    fn find(&self, address: usize) -> Option<((usize, usize), usize)> {
        let place = self.alive.partition_point(|region| region.start <= address);
        let region = &self.alive[place.checked_sub(1)?];
        let offset = address - region.start;
        (offset < region.size).then_some(((region.thread, region.number), offset))
    }
}

impl Inner {
    /// Adds the region of an `Arc` that the current thread has made.
    pub(super) fn made_arc(&mut self, at: usize, size: usize, place: Place) {
        let thread = self.current.index();
        let made = entry(&mut self.names.regions.made, thread);
        let number = made.count;
        made.count += 1;
        let record = entry(&mut made.records, number);
        record.drops.clear();
        record.uses.iter_mut().for_each(Uses::clear);
        let counts = record.counts;
        self.names.regions.insert(Region {
            start: at,
            size,
            dropped: false,
            thread,
            number,
            place,
        });
        for cell in counts.into_iter().flatten() {
            self.clean(cell);
        }
    }

    /// Names an object that lies in an `Arc`, and returns its cell.
    pub fn name_in_region(&mut self, meta: &Meta, kind: &'static str) -> Option<u32> {
        let address = std::ptr::from_ref(meta) as usize;
        let (region, offset) = self.names.regions.find(address)?;
        let objects = &mut self.names.regions.record(region).objects;
        let at = match objects.iter().position(|(known, _)| *known == offset) {
            Some(at) => at,
            None => {
                objects.push((offset, Pool::default()));
                objects.len() - 1
            }
        };
        let mut pool = std::mem::take(&mut objects[at].1);
        let cell = self.next_of(&mut pool, kind);
        self.names.regions.record(region).objects[at].1 = pool;
        Some(cell)
    }

    /// Returns the cells of the counts of an `Arc`.
    pub(super) fn count_cells(&mut self, region: (usize, usize)) -> [u32; 2] {
        match self.names.regions.record(region).counts {
            Some(counts) => counts,
            None => {
                let counts = ["strong count", "weak count"].map(|kind| self.new_cell(kind));
                *self.names.regions.record(region).counts.insert(counts)
            }
        }
    }

    /// Records in the clocks that the current thread has read a count, and has changed it if there
    /// is a `store`.
    pub(super) fn counted(
        &mut self,
        at: usize,
        count: Count,
        load: Ordering,
        store: Option<Ordering>,
    ) {
        if !self.clocks.is_on() {
            return;
        }
        let Some(region) = self.names.regions.name(at) else {
            return;
        };
        let (cell, current) = (self.count_cells(region)[count as usize], self.current);
        if let Some(store) = store {
            self.clocks.store(current, cell, store, true);
        }
        self.clocks.load(current, cell, load);
    }
}
