//! Happens-before of C11, for the detection of data races.
//!
//! A data race is a pair of accesses to the same memory, at least one of them a write and at least
//! one not atomic, that no *synchronisation* orders. Vector clocks find races (Flanagan and Freund,
//! "FastTrack", PLDI 2009). Memory is divided into *granules* of eight bytes. Unlike in the paper,
//! the last accesses of every thread to a granule are kept, each with the bytes that it touches.
//! Plain accesses are not steps, so explorers do not try both orders of two of them. This is
//! enough: every explored execution checks its plain accesses, and if none races, synchronisation
//! orders them, and explorers try all orders of synchronisation.
//!
//! An access may race with accesses of several threads. A failure names the one of the least
//! thread, and of its accesses the last. So the failure depends on the steps of that thread and on
//! the past of the current one, but not on other steps that happened to come earlier: a run of
//! these steps alone shows the same failure. For this reason only a later access of the *same*
//! thread replaces an access.
//!
//! Memory orders have their C11 meaning: a relaxed store publishes nothing without a fence, and an
//! update continues a release sequence.

use mazurka_core::ProcessId;
use rustc_hash::FxHashMap;

type Clock = Vec<u32>;

/// Copies one list to another. Most lists are empty, and the branch is cheaper than a call that
/// copies nothing.
#[inline]
pub(crate) fn copy<T: Copy>(into: &mut Vec<T>, from: &[T]) {
    into.clear();
    if !from.is_empty() {
        into.extend_from_slice(from);
    }
}

#[inline]
fn join(into: &mut Clock, from: &Clock) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(*from);
    }
}

/// The vector clocks of a thread.
#[derive(Default)]
pub(crate) struct ThreadClock {
    now: Clock,
    /// The join of the clocks of the cells that relaxed loads have read. An acquire fence adds it
    /// to the thread's clock.
    seen: Clock,
    /// The thread's clock at its last release fence, which its later relaxed stores publish.
    fenced: Clock,
    /// Changes whenever this clock may have changed; no two states have the same stamp.
    stamp: u64,
}

/// The clock that a thread gets by acquiring a cell.
#[derive(Default)]
struct Published {
    /// The execution that this clock belongs to.
    epoch: u64,
    clock: Clock,
    /// Changes whenever this clock may have changed.
    stamp: u64,
}

/// A recorded access to a granule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessMark {
    pub thread: u32,
    time: u32,
    /// The accessed bytes of the granule.
    mask: u8,
    pub writes: bool,
    pub atomic: bool,
    /// Whether the access frees the memory.
    pub frees: bool,
    /// Whether the access uses an object of the thread library.
    pub uses: bool,
    pub pc: usize,
    /// Number of synchronisation operations in the execution before this access.
    pub before: u32,
}

impl AccessMark {
    /// Whether this access replaces an earlier one of the same thread: whatever races with the
    /// earlier one then also races with this one, in the same way.
    #[inline]
    fn replaces(&self, earlier: &Self) -> bool {
        earlier.mask & !self.mask == 0
            && (self.writes || !earlier.writes)
            && (!self.atomic || earlier.atomic)
            && (self.frees, self.uses) == (earlier.frees, earlier.uses)
    }

    /// Whether this access races with an earlier one of another thread. `now` is the clock of its
    /// thread.
    #[inline]
    fn races(&self, earlier: &Self, now: &Clock) -> bool {
        self.mask & earlier.mask != 0
            && (self.writes || earlier.writes)
            && !(self.atomic && earlier.atomic)
            && earlier.time > now.get(earlier.thread as usize).copied().unwrap_or(0)
    }
}

/// A synchronisation operation of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyncOperation {
    pub thread: u32,
    pub cell: u32,
    pub what: SyncKind,
    /// The memory order in the source, and the address of the operation.
    pub order: i32,
    pub pc: usize,
}

/// The kind of a synchronisation operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncKind {
    Read,
    Write,
    Update,
    Lock,
    Unlock,
    Fence,
    /// All earlier operations of this thread happen before the next operation of another thread.
    /// `cell` is the index of that thread.
    Orders,
}

#[derive(Default)]
struct Granule {
    epoch: u64,
    /// The accesses that no later access of their thread replaces, in order.
    marks: Vec<AccessMark>,
    /// Stamp, as for a clock.
    stamp: u64,
}

/// All clocks of an execution.
#[derive(Default)]
pub(crate) struct Clocks {
    epoch: u64,
    threads: Vec<ThreadClock>,
    cells: Vec<Published>,
    /// The cells that have a clock in this execution.
    used_cells: Vec<u32>,
    granules: Granules,
    /// All synchronisation operations of this execution, in order.
    pub made: Vec<SyncOperation>,
    /// Address in the code of the current atomic access.
    pub at: usize,
    /// The stamp that was given last.
    stamps: u64,
}

/// All granules that any execution has accessed.
#[derive(Default)]
struct Granules {
    /// The index of each granule in `all`, by address.
    numbers: FxHashMap<usize, u32>,
    all: Vec<Granule>,
    /// The indices of the granules that this execution has accessed.
    used: Vec<u32>,
}

impl Granules {
    /// Returns the state of a granule in this execution, with this stamp. Resets a state that an
    /// earlier execution has left.
    #[inline]
    fn of(&mut self, at: usize, epoch: u64, stamp: u64) -> &mut Granule {
        let number = match self.numbers.get(&at) {
            Some(&number) => number,
            None => self.new_number(at),
        };
        let granule = &mut self.all[number as usize];
        if granule.epoch != epoch {
            granule.epoch = epoch;
            granule.marks.clear();
            self.used.push(number);
        }
        granule.stamp = stamp;
        granule
    }

    /// Returns the recorded accesses to a granule that this execution has accessed.
    fn known(&self, at: usize) -> &[AccessMark] {
        let number = self.numbers.get(&at);
        number.map_or(&[], |&number| &self.all[number as usize].marks)
    }

    #[cold]
    fn new_number(&mut self, at: usize) -> u32 {
        let number = self.all.len() as u32;
        self.all.push(Granule::default());
        self.numbers.insert(at, number);
        number
    }
}

/// Maximum number of granules kept between executions.
const MOST_GRANULES: usize = 1 << 18;

/// A snapshot of all clocks of an execution.
#[derive(Default)]
pub(crate) struct SavedClocks {
    threads: Vec<ThreadClock>,
    cells: Vec<SavedCell>,
    granules: Vec<SavedGranule>,
    made: Vec<SyncOperation>,
}

/// A snapshot of the clock that a cell publishes.
#[derive(Default)]
struct SavedCell {
    cell: u32,
    stamp: u64,
    clock: Clock,
}

/// A snapshot of a granule.
#[derive(Default)]
struct SavedGranule {
    number: u32,
    stamp: u64,
    marks: Vec<AccessMark>,
}

impl ThreadClock {
    /// Increments the component of the clock's own thread.
    #[inline]
    fn tick(&mut self, thread: ProcessId) {
        if self.now.len() <= thread.index() {
            self.now.resize(thread.index() + 1, 0);
        }
        self.now[thread.index()] += 1;
    }

    #[inline]
    fn become_like(&mut self, other: &Self) {
        if self.stamp == other.stamp {
            return;
        }
        let Self {
            now,
            seen,
            fenced,
            stamp,
        } = other;
        self.stamp = *stamp;
        copy(&mut self.now, now);
        copy(&mut self.seen, seen);
        copy(&mut self.fenced, fenced);
    }
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AccessInfo {
    pub writes: bool,
    pub atomic: bool,
    pub frees: bool,
    pub uses: bool,
    pub pc: usize,
}

const ACQUIRE: i32 = 2;
const RELEASE: i32 = 3;

/// Whether a C11 memory order, in the numbers of the compiler, acquires.
pub(crate) fn acquires(order: i32) -> bool {
    matches!(order, 1 | 2 | 4 | 5)
}

/// Whether a C11 memory order, in the numbers of the compiler, releases.
pub(crate) fn releases(order: i32) -> bool {
    matches!(order, 3..=5)
}

impl Clocks {
    /// Begins a new execution.
    pub fn begin(&mut self) {
        self.forget();
        self.tick(ProcessId(0));
    }

    fn forget(&mut self) {
        self.epoch += 1;
        for thread in &mut self.threads {
            thread.become_like(&ThreadClock::default());
        }
        self.used_cells.clear();
        self.granules.used.clear();
        self.made.clear();
    }

    /// Whether the table of granules is too large to be kept for the next execution.
    pub fn is_large(&self) -> bool {
        self.granules.all.len() > MOST_GRANULES
    }

    /// Forgets all granules. Earlier snapshots become invalid.
    pub fn clear(&mut self) {
        self.granules = Granules::default();
    }

    /// Saves all clocks. Skips those that have not changed since the last snapshot.
    pub fn save(&self, into: &mut SavedClocks) {
        let count = self.threads.len();
        into.threads.resize_with(count, ThreadClock::default);
        for (into, from) in into.threads.iter_mut().zip(&self.threads) {
            into.become_like(from);
        }
        let count = self.used_cells.len();
        into.cells.resize_with(count, SavedCell::default);
        for (into, &cell) in into.cells.iter_mut().zip(&self.used_cells) {
            let from = &self.cells[cell as usize];
            if into.stamp != from.stamp {
                (into.cell, into.stamp) = (cell, from.stamp);
                copy(&mut into.clock, &from.clock);
            }
        }
        let count = self.granules.used.len();
        into.granules.resize_with(count, SavedGranule::default);
        for (into, &number) in into.granules.iter_mut().zip(&self.granules.used) {
            let from = &self.granules.all[number as usize];
            if into.stamp != from.stamp {
                (into.number, into.stamp) = (number, from.stamp);
                copy(&mut into.marks, &from.marks);
            }
        }
        copy(&mut into.made, &self.made);
    }

    /// Restores all clocks from a snapshot.
    pub fn restore(&mut self, saved: &SavedClocks) {
        self.epoch += 1;
        copy(&mut self.made, &saved.made);
        let nothing = ThreadClock::default();
        for (at, into) in self.threads.iter_mut().enumerate() {
            into.become_like(saved.threads.get(at).unwrap_or(&nothing));
        }
        self.used_cells.clear();
        for from in &saved.cells {
            self.used_cells.push(from.cell);
            let into = &mut self.cells[from.cell as usize];
            into.epoch = self.epoch;
            if into.stamp != from.stamp {
                into.stamp = from.stamp;
                copy(&mut into.clock, &from.clock);
            }
        }
        self.granules.used.clear();
        for from in &saved.granules {
            self.granules.used.push(from.number);
            let into = &mut self.granules.all[from.number as usize];
            into.epoch = self.epoch;
            if into.stamp != from.stamp {
                into.stamp = from.stamp;
                copy(&mut into.marks, &from.marks);
            }
        }
    }

    #[inline]
    fn thread(&mut self, thread: ProcessId) -> &mut ThreadClock {
        if self.threads.len() <= thread.index() {
            self.make_room_for_thread(thread);
        }
        self.stamps += 1;
        let clock = &mut self.threads[thread.index()];
        clock.stamp = self.stamps;
        clock
    }

    #[cold]
    fn make_room_for_thread(&mut self, thread: ProcessId) {
        let count = thread.index() + 1;
        self.threads.resize_with(count, ThreadClock::default);
    }

    #[inline]
    fn tick(&mut self, thread: ProcessId) {
        self.thread(thread).tick(thread);
    }

    /// Orders all earlier operations of one thread before all later operations of another.
    pub fn order(&mut self, before: ProcessId, after: ProcessId) {
        self.note(before, after.0, SyncKind::Orders, 0);
        self.thread(before);
        self.thread(after);
        // A thread cannot wait for its own end.
        if let Ok([one, other]) = self
            .threads
            .get_disjoint_mut([before.index(), after.index()])
        {
            join(&mut other.now, &one.now);
            one.tick(before);
            other.tick(after);
        }
    }

    #[inline]
    fn cell(&mut self, cell: u32) -> &mut Clock {
        let at = cell as usize;
        if self.cells.len() <= at {
            self.make_room_for_cell(cell);
        }
        let published = &mut self.cells[at];
        if published.epoch != self.epoch {
            published.epoch = self.epoch;
            published.clock.clear();
            self.used_cells.push(cell);
        }
        self.stamps += 1;
        published.stamp = self.stamps;
        &mut published.clock
    }

    #[cold]
    fn make_room_for_cell(&mut self, cell: u32) {
        self.cells.resize_with(cell as usize + 1, Default::default);
    }

    /// Returns the clocks of a thread and of a cell.
    #[inline]
    fn clocks_of(&mut self, thread: ProcessId, cell: u32) -> (&mut ThreadClock, &mut Clock) {
        self.thread(thread);
        self.cell(cell);
        let own = &mut self.threads[thread.index()];
        (own, &mut self.cells[cell as usize].clock)
    }

    #[inline]
    fn note(&mut self, thread: ProcessId, cell: u32, what: SyncKind, order: i32) {
        self.made.push(SyncOperation {
            thread: thread.0,
            cell,
            what,
            order,
            pc: self.at,
        });
    }

    /// Records that a thread acquires a mutex.
    pub fn lock(&mut self, thread: ProcessId, cell: u32) {
        self.note(thread, cell, SyncKind::Lock, ACQUIRE);
        self.take(thread, cell);
    }

    /// Records that a thread releases a mutex.
    pub fn unlock(&mut self, thread: ProcessId, cell: u32) {
        self.note(thread, cell, SyncKind::Unlock, RELEASE);
        self.publish(thread, cell);
    }

    /// Joins the clock that a cell publishes into the clock of a thread.
    pub fn acquire(&mut self, thread: ProcessId, cell: u32) {
        self.note(thread, cell, SyncKind::Read, ACQUIRE);
        self.take(thread, cell);
    }

    /// Joins the clock of a thread into the clock that a cell publishes.
    pub fn release(&mut self, thread: ProcessId, cell: u32) {
        self.note(thread, cell, SyncKind::Update, RELEASE);
        self.publish(thread, cell);
    }

    #[inline]
    fn take(&mut self, thread: ProcessId, cell: u32) {
        let (own, published) = self.clocks_of(thread, cell);
        join(&mut own.now, published);
    }

    #[inline]
    fn publish(&mut self, thread: ProcessId, cell: u32) {
        let (own, published) = self.clocks_of(thread, cell);
        join(published, &own.now);
        own.tick(thread);
    }

    /// Records that an atomic access with this order reads a cell.
    #[inline]
    pub fn atomic_read(&mut self, thread: ProcessId, cell: u32, order: i32) {
        self.note(thread, cell, SyncKind::Read, order);
        let (own, published) = self.clocks_of(thread, cell);
        let into = if acquires(order) {
            &mut own.now
        } else {
            &mut own.seen
        };
        join(into, published);
    }

    /// Records that an atomic access with this order writes a cell. With `updates` it continues a
    /// release sequence. The caller must have recorded the access for race detection before this
    /// call, because the access itself happens before the operations that acquire the cell.
    pub fn atomic_write(&mut self, thread: ProcessId, cell: u32, updates: bool, order: i32) {
        if !updates {
            self.note(thread, cell, SyncKind::Write, order);
            self.cell(cell).clear();
        } else if let Some(last) = self.made.last_mut() {
            // The read of this update is already recorded.
            last.what = SyncKind::Update;
        }
        if releases(order) {
            self.publish(thread, cell);
        } else {
            let (own, published) = self.clocks_of(thread, cell);
            join(published, &own.fenced);
        }
    }

    /// Records a fence.
    pub fn fence(&mut self, thread: ProcessId, order: i32) {
        self.note(thread, 0, SyncKind::Fence, order);
        let own = self.thread(thread);
        if acquires(order) {
            let seen = std::mem::take(&mut own.seen);
            join(&mut own.now, &seen);
            own.seen = seen;
        }
        if releases(order) {
            own.fenced.clone_from(&own.now);
            self.tick(thread);
        }
    }

    /// Records an access of a thread. Returns whether it races with an earlier one.
    #[inline]
    pub fn access(
        &mut self,
        thread: ProcessId,
        address: usize,
        size: usize,
        how: AccessInfo,
    ) -> bool {
        let within = address & 7;
        if size.wrapping_sub(1) > 7 - within {
            return self.access_several(thread, address, size, how);
        }
        let mask = (((1u16 << size) - 1) << within) as u8;
        self.touch(thread, address >> 3, mask, how)
    }

    /// Records an access to any number of granules.
    #[inline(never)]
    fn access_several(
        &mut self,
        thread: ProcessId,
        address: usize,
        size: usize,
        how: AccessInfo,
    ) -> bool {
        let touched = granules(address, size).map(|(granule, mask)| {
            // All of them are recorded, also after a race.
            self.touch(thread, granule, mask, how)
        });
        touched.fold(false, |race, new| race | new)
    }

    #[inline]
    fn touch(&mut self, thread: ProcessId, granule: usize, mask: u8, how: AccessInfo) -> bool {
        let new = self.mark(thread, mask, how);
        self.stamps += 1;
        let granule = self.granules.of(granule, self.epoch, self.stamps);
        let now = &self.threads[thread.index()].now;
        let mut race = false;
        granule.marks.retain(|mark| {
            if mark.thread == new.thread {
                return !new.replaces(mark);
            }
            race = race || new.races(mark, now);
            true
        });
        granule.marks.push(new);
        race
    }

    #[inline]
    fn mark(&self, thread: ProcessId, mask: u8, how: AccessInfo) -> AccessMark {
        let time = self.threads[thread.index()].now.get(thread.index());
        AccessMark {
            thread: thread.0,
            time: time.copied().unwrap_or(0),
            mask,
            writes: how.writes,
            atomic: how.atomic,
            frees: how.frees,
            uses: how.uses,
            pc: how.pc,
            before: self.made.len() as u32,
        }
    }

    /// Returns the earlier accesses that the last access of a thread, which was this one, races
    /// with; of each granule in the order in which they were made.
    pub fn racing(
        &self,
        thread: ProcessId,
        (address, size): (usize, usize),
        how: AccessInfo,
    ) -> Vec<AccessMark> {
        let now = &self.threads[thread.index()].now;
        let of_granule = |(granule, mask)| {
            let new = self.mark(thread, mask, how);
            let marks = self.granules.known(granule);
            let others = marks.iter().filter(move |mark| mark.thread != new.thread);
            others.filter(move |mark| new.races(mark, now)).copied()
        };
        granules(address, size).flat_map(of_granule).collect()
    }
}

/// Returns the granules of an access, each with the bytes of it that are accessed.
fn granules(address: usize, size: usize) -> impl Iterator<Item = (usize, u8)> {
    let (mut at, end) = (address, address.saturating_add(size));
    std::iter::from_fn(move || {
        let start = at;
        at = ((at | 7) + 1).min(end);
        let mask = ((1u16 << (at.wrapping_sub(start) & 15)) - 1) << (start & 7);
        (start < end).then_some((start >> 3, mask as u8))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: ProcessId = ProcessId(0);
    const CHILD: ProcessId = ProcessId(1);

    fn write(clocks: &mut Clocks, thread: ProcessId, address: usize) -> bool {
        let how = AccessInfo {
            writes: true,
            ..AccessInfo::default()
        };
        clocks.access(thread, address, 4, how)
    }

    fn forked() -> Clocks {
        let mut clocks = Clocks::default();
        clocks.begin();
        clocks.order(MAIN, CHILD);
        clocks
    }

    #[test]
    fn what_synchronisation_orders_does_not_race() {
        for (store, load, races) in [(3, 2, false), (5, 5, false), (0, 2, true), (3, 0, true)] {
            let mut clocks = forked();
            assert!(!write(&mut clocks, MAIN, 64));
            clocks.atomic_write(MAIN, 0, false, store);
            clocks.atomic_read(CHILD, 0, load);
            assert_eq!(write(&mut clocks, CHILD, 64), races, "{store} {load}");
        }
    }

    #[test]
    fn fences_help_relaxed_accesses() {
        let mut clocks = forked();
        assert!(!write(&mut clocks, MAIN, 64));
        clocks.fence(MAIN, 3);
        clocks.atomic_write(MAIN, 0, false, 0);
        clocks.atomic_read(CHILD, 0, 0);
        clocks.fence(CHILD, 2);
        assert!(!write(&mut clocks, CHILD, 64));
    }

    /// A reference counter: the thread that decrements it to 0 frees the memory.
    #[test]
    fn an_update_happens_before_what_acquires_it() {
        let mut clocks = forked();
        let atomic = AccessInfo {
            writes: true,
            atomic: true,
            ..AccessInfo::default()
        };
        for thread in [MAIN, CHILD] {
            clocks.atomic_read(thread, 0, 4);
            assert!(!clocks.access(thread, 64, 4, atomic));
            clocks.atomic_write(thread, 0, true, 4);
        }
        let frees = AccessInfo {
            writes: true,
            frees: true,
            ..AccessInfo::default()
        };
        assert!(!clocks.access(CHILD, 64, 8, frees));
    }

    #[test]
    fn bytes_beside_each_other_are_apart() {
        let mut clocks = forked();
        assert!(!write(&mut clocks, MAIN, 64));
        assert!(!write(&mut clocks, CHILD, 68));
        assert!(write(&mut clocks, CHILD, 66));
    }

    #[test]
    fn clocks_are_again_what_they_were() {
        let mut clocks = forked();
        assert!(!write(&mut clocks, MAIN, 64));
        clocks.atomic_write(MAIN, 0, false, 3);
        let mut saved = SavedClocks::default();
        clocks.save(&mut saved);
        for acquires in [true, false, false, true] {
            if acquires {
                clocks.atomic_read(CHILD, 0, 2);
            }
            assert_eq!(write(&mut clocks, CHILD, 64), !acquires);
            assert!(!write(&mut clocks, CHILD, 128));
            clocks.restore(&saved);
            assert!(!write(&mut clocks, MAIN, 128), "the other write is gone");
            clocks.restore(&saved);
        }
        // A later state in the same snapshot, part of which has not changed.
        clocks.atomic_read(CHILD, 0, 2);
        clocks.save(&mut saved);
        clocks.begin();
        clocks.restore(&saved);
        assert!(!write(&mut clocks, CHILD, 64));
    }

    #[test]
    fn the_accesses_of_each_thread_are_kept() {
        let [one, two, three] = [1, 2, 3].map(ProcessId);
        let mut clocks = forked();
        clocks.order(MAIN, two);
        clocks.order(MAIN, three);
        assert!(!write(&mut clocks, one, 64));
        clocks.unlock(one, 0);
        clocks.lock(two, 0);
        // This write is ordered after the first one, which is kept nevertheless.
        assert!(!write(&mut clocks, two, 64));
        assert!(!write(&mut clocks, two, 64));
        let how = AccessInfo {
            writes: true,
            ..AccessInfo::default()
        };
        assert!(write(&mut clocks, three, 64));
        let racing = clocks.racing(three, (64, 4), how);
        let threads: Vec<u32> = racing.iter().map(|mark| mark.thread).collect();
        assert_eq!(threads, [one.0, two.0]);
        assert!(clocks.racing(three, (68, 4), how).is_empty());
        assert_eq!(clocks.racing(three, (60, 20), how).len(), 2);
    }
}
