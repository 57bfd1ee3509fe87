//! Happens-before as C11 has it, to find data races.
//!
//! Explorers order all conflicting atomic accesses. A data race is two accesses to one place, at
//! least one a write and at least one not atomic, that no *synchronisation* orders. Vector clocks
//! find them (Flanagan and Freund, "FastTrack", PLDI 2009; here with all last accesses to each
//! granule of eight bytes, and the bytes that they touch). Plain accesses are checked in every
//! execution that is explored, so they need not be steps: if no execution has a race,
//! synchronisation orders them, and synchronisation is explored.
//!
//! Orders count as they are written: a relaxed store publishes nothing, unless a fence helps; an
//! update continues a release sequence.

use mazurka_core::ProcessId;
use rustc_hash::FxHashMap;

type Clock = Vec<u32>;

/// Makes a list what another one is. Most are empty, and to copy nothing is a call as well.
#[inline]
pub(crate) fn copy<T: Copy>(into: &mut Vec<T>, from: &[T]) {
    into.clear();
    if !from.is_empty() {
        into.extend_from_slice(from);
    }
}

fn join(into: &mut Clock, from: &Clock) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(*from);
    }
}

#[derive(Default)]
pub(crate) struct ThreadClock {
    now: Clock,
    /// What relaxed loads have read, for an acquire fence.
    seen: Clock,
    /// The clock at the last release fence.
    fenced: Clock,
}

/// An access to a granule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub thread: u32,
    time: u32,
    /// The bytes of the granule.
    mask: u8,
    pub writes: bool,
    pub atomic: bool,
    /// Whether it gives the memory back.
    pub frees: bool,
    /// Whether it is the use of an object of the thread library.
    pub uses: bool,
    pub pc: usize,
    /// How much synchronisation was before it.
    pub before: u32,
}

impl Mark {
    /// Whether another one is of the same thread and bytes, and does the same to them.
    #[inline]
    fn is_like(&self, other: &Self) -> bool {
        let how = |mark: &Self| (mark.writes, mark.atomic, mark.frees, mark.uses);
        self.thread == other.thread && self.mask == other.mask && how(self) == how(other)
    }
}

/// Synchronisation that a thread has made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub thread: u32,
    pub cell: u32,
    pub what: What,
    /// The order that is written there, and where.
    pub order: i32,
    pub pc: usize,
}

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Read,
    Write,
    Update,
    Lock,
    Unlock,
    Fence,
    /// All before comes before what another thread does next, which is in place of the cell.
    Orders,
}

#[derive(Default)]
struct Granule {
    epoch: u64,
    marks: Vec<Mark>,
    /// Whether all marks are of atomic accesses, which do not race with each other.
    atomic: bool,
}

impl Granule {
    #[inline]
    fn add(&mut self, mark: Mark) {
        self.atomic &= mark.atomic;
        self.marks.push(mark);
    }
}

/// All clocks of an execution.
#[derive(Default)]
pub(crate) struct Clocks {
    epoch: u64,
    threads: Vec<ThreadClock>,
    /// For each cell the clock that it publishes, and the execution.
    cells: Vec<(u64, Clock)>,
    /// The cells that have a clock in this execution.
    used_cells: Vec<u32>,
    granules: Granules,
    /// All synchronisation of this execution, in order.
    pub made: Vec<Made>,
    /// Where the atomic access is that is made.
    pub at: usize,
}

/// All granules that were ever accessed.
#[derive(Default)]
struct Granules {
    /// Their numbers.
    numbers: FxHashMap<usize, u32>,
    all: Vec<Granule>,
    /// Those that are accessed in this execution.
    used: Vec<u32>,
}

impl Granules {
    /// A granule, with the state that it has in this execution.
    #[inline]
    fn of(&mut self, at: usize, epoch: u64) -> &mut Granule {
        let number = match self.numbers.get(&at) {
            Some(&number) => number,
            None => self.new_number(at),
        };
        self.numbered(number, epoch)
    }

    #[cold]
    fn new_number(&mut self, at: usize) -> u32 {
        let number = self.all.len() as u32;
        self.all.push(Granule::default());
        self.numbers.insert(at, number);
        number
    }

    #[inline]
    fn numbered(&mut self, number: u32, epoch: u64) -> &mut Granule {
        let granule = &mut self.all[number as usize];
        if granule.epoch != epoch {
            (granule.epoch, granule.atomic) = (epoch, true);
            granule.marks.clear();
            self.used.push(number);
        }
        granule
    }
}

/// So many granules are kept.
const MOST_GRANULES: usize = 1 << 18;
/// So many marks of one are kept if they are in the way of no other.
const FEW_MARKS: usize = 8;

/// The clocks of an execution, as they were at some time.
#[derive(Default)]
pub(crate) struct SavedClocks {
    threads: Vec<ThreadClock>,
    cells: Vec<(u32, Clock)>,
    /// With the numbers of their granules.
    marks: Vec<(u32, Mark)>,
    made: Vec<Made>,
}

impl ThreadClock {
    fn become_like(&mut self, other: &Self) {
        let Self { now, seen, fenced } = other;
        copy(&mut self.now, now);
        copy(&mut self.seen, seen);
        copy(&mut self.fenced, fenced);
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct How {
    pub writes: bool,
    pub atomic: bool,
    pub frees: bool,
    pub uses: bool,
    pub pc: usize,
}

const ACQUIRE: i32 = 2;
const RELEASE: i32 = 3;

/// Whether an order of C11, as the compiler passes it, acquires.
pub(crate) fn acquires(order: i32) -> bool {
    matches!(order, 1 | 2 | 4 | 5)
}

/// Whether it releases.
pub(crate) fn releases(order: i32) -> bool {
    matches!(order, 3..=5)
}

impl Clocks {
    /// A new execution.
    pub fn begin(&mut self) {
        self.forget();
        self.tick(ProcessId(0));
    }

    fn forget(&mut self) {
        self.epoch += 1;
        for thread in &mut self.threads {
            thread.now.clear();
            thread.seen.clear();
            thread.fenced.clear();
        }
        self.used_cells.clear();
        self.granules.used.clear();
        self.made.clear();
    }

    /// Whether more was accessed than is worth to be kept.
    pub fn is_large(&self) -> bool {
        self.granules.all.len() > MOST_GRANULES
    }

    /// Forgets what was ever accessed. What was saved before means nothing then.
    pub fn clear(&mut self) {
        self.granules = Granules::default();
    }

    /// Notes all clocks.
    pub fn save(&self, into: &mut SavedClocks) {
        let count = self.threads.len();
        into.threads.resize_with(count, ThreadClock::default);
        for (into, from) in into.threads.iter_mut().zip(&self.threads) {
            into.become_like(from);
        }
        into.cells
            .resize_with(self.used_cells.len(), Default::default);
        for (into, &cell) in into.cells.iter_mut().zip(&self.used_cells) {
            into.0 = cell;
            copy(&mut into.1, &self.cells[cell as usize].1);
        }
        copy(&mut into.made, &self.made);
        into.marks.clear();
        for &number in &self.granules.used {
            let marks = self.granules.all[number as usize].marks.iter();
            into.marks.extend(marks.map(|&mark| (number, mark)));
        }
    }

    /// Makes all clocks what they were.
    pub fn restore(&mut self, saved: &SavedClocks) {
        self.forget();
        copy(&mut self.made, &saved.made);
        for (into, from) in self.threads.iter_mut().zip(&saved.threads) {
            into.become_like(from);
        }
        for (cell, clock) in &saved.cells {
            copy(self.cell(*cell), clock);
        }
        for &(number, mark) in &saved.marks {
            self.granules.numbered(number, self.epoch).add(mark);
        }
    }

    fn thread(&mut self, thread: ProcessId) -> &mut ThreadClock {
        if self.threads.len() <= thread.index() {
            self.threads
                .resize_with(thread.index() + 1, ThreadClock::default);
        }
        &mut self.threads[thread.index()]
    }

    fn tick(&mut self, thread: ProcessId) {
        let now = &mut self.thread(thread).now;
        if now.len() <= thread.index() {
            now.resize(thread.index() + 1, 0);
        }
        now[thread.index()] += 1;
    }

    /// What one thread has done happens before what another does next.
    pub fn order(&mut self, before: ProcessId, after: ProcessId) {
        self.note(before, after.0, What::Orders, 0);
        let clock = std::mem::take(&mut self.thread(before).now);
        let into = self.thread(after);
        join(&mut into.now, &clock);
        self.thread(before).now = clock;
        self.tick(before);
        self.tick(after);
    }

    fn cell(&mut self, cell: u32) -> &mut Clock {
        let at = cell as usize;
        if self.cells.len() <= at {
            self.cells.resize_with(at + 1, Default::default);
        }
        let (epoch, clock) = &mut self.cells[at];
        if *epoch != self.epoch {
            *epoch = self.epoch;
            clock.clear();
            self.used_cells.push(cell);
        }
        clock
    }

    fn note(&mut self, thread: ProcessId, cell: u32, what: What, order: i32) {
        self.made.push(Made {
            thread: thread.0,
            cell,
            what,
            order,
            pc: self.at,
        });
    }

    /// A thread takes a mutex.
    pub fn lock(&mut self, thread: ProcessId, cell: u32) {
        self.note(thread, cell, What::Lock, ACQUIRE);
        self.take(thread, cell);
    }

    /// It gives it back.
    pub fn unlock(&mut self, thread: ProcessId, cell: u32) {
        self.note(thread, cell, What::Unlock, RELEASE);
        self.publish(thread, cell);
    }

    /// A thread takes what a cell publishes.
    pub fn acquire(&mut self, thread: ProcessId, cell: u32) {
        self.note(thread, cell, What::Read, ACQUIRE);
        self.take(thread, cell);
    }

    /// A thread adds to what a cell publishes.
    pub fn release(&mut self, thread: ProcessId, cell: u32) {
        self.note(thread, cell, What::Update, RELEASE);
        self.publish(thread, cell);
    }

    fn take(&mut self, thread: ProcessId, cell: u32) {
        let clock = std::mem::take(self.cell(cell));
        join(&mut self.thread(thread).now, &clock);
        *self.cell(cell) = clock;
    }

    fn publish(&mut self, thread: ProcessId, cell: u32) {
        let clock = std::mem::take(&mut self.thread(thread).now);
        join(self.cell(cell), &clock);
        self.thread(thread).now = clock;
        self.tick(thread);
    }

    /// An atomic access reads a cell, with this order.
    pub fn atomic_read(&mut self, thread: ProcessId, cell: u32, order: i32) {
        self.note(thread, cell, What::Read, order);
        let clock = std::mem::take(self.cell(cell));
        let own = self.thread(thread);
        join(
            if acquires(order) {
                &mut own.now
            } else {
                &mut own.seen
            },
            &clock,
        );
        *self.cell(cell) = clock;
    }

    /// An atomic access writes a cell, with this order; an update continues a release sequence.
    /// The access itself happens before what acquires it, so it is noted before.
    pub fn atomic_write(&mut self, thread: ProcessId, cell: u32, updates: bool, order: i32) {
        if !updates {
            self.note(thread, cell, What::Write, order);
            self.cell(cell).clear();
        } else if let Some(last) = self.made.last_mut() {
            // Its read was noted.
            last.what = What::Update;
        }
        if releases(order) {
            self.publish(thread, cell);
        } else {
            let clock = std::mem::take(&mut self.thread(thread).fenced);
            join(self.cell(cell), &clock);
            self.thread(thread).fenced = clock;
        }
    }

    /// A fence.
    pub fn fence(&mut self, thread: ProcessId, order: i32) {
        self.note(thread, 0, What::Fence, order);
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

    /// Notes an access of a thread. Returns an earlier one that it races with.
    pub fn access(
        &mut self,
        thread: ProcessId,
        address: usize,
        size: usize,
        how: How,
    ) -> Option<Mark> {
        let (mut at, end) = (address, address.saturating_add(size));
        let mut race = None;
        while at < end {
            let next = ((at | 7) + 1).min(end);
            let mask = (((1u16 << (next - at)) - 1) << (at & 7)) as u8;
            race = race.or(self.touch(thread, at >> 3, mask, how));
            at = next;
        }
        race
    }

    fn touch(&mut self, thread: ProcessId, granule: usize, mask: u8, how: How) -> Option<Mark> {
        let before_it = self.made.len() as u32;
        let now = &self.threads[thread.index()].now;
        let granule = self.granules.of(granule, self.epoch);
        let new = Mark {
            thread: thread.0,
            time: now.get(thread.index()).copied().unwrap_or(0),
            mask,
            writes: how.writes,
            atomic: how.atomic,
            frees: how.frees,
            uses: how.uses,
            pc: how.pc,
            before: before_it,
        };
        // The usual case: all accesses are atomic, or of this thread, so none race. What this
        // thread did before in the same way is not needed any more.
        let few = granule.marks.len() < FEW_MARKS;
        let mut marks = granule.marks.iter();
        if granule.atomic && how.atomic || few && marks.all(|mark| mark.thread == thread.0) {
            match granule.marks.iter_mut().find(|mark| mark.is_like(&new)) {
                Some(known) => *known = new,
                None => granule.add(new),
            }
            return None;
        }
        let before = |mark: &Mark| {
            mark.thread == thread.0
                || mark.time <= now.get(mark.thread as usize).copied().unwrap_or(0)
        };
        let conflicts = |mark: &Mark| {
            mark.mask & mask != 0
                && (mark.writes || how.writes)
                && !(mark.atomic && how.atomic)
                && !before(mark)
        };
        let race = granule.marks.iter().copied().find(conflicts);
        // What happens before this one and is no stronger is not needed any more.
        granule.marks.retain(|mark| {
            let covered = mark.mask & !mask == 0
                && (how.writes || !mark.writes)
                && (!how.atomic || mark.atomic);
            !(covered && before(mark))
        });
        granule.add(new);
        race
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: ProcessId = ProcessId(0);
    const CHILD: ProcessId = ProcessId(1);

    fn write(clocks: &mut Clocks, thread: ProcessId, address: usize) -> bool {
        let how = How {
            writes: true,
            ..How::default()
        };
        clocks.access(thread, address, 4, how).is_some()
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

    /// A counter of references: the last thread that counts down gives the memory back.
    #[test]
    fn an_update_happens_before_what_acquires_it() {
        let mut clocks = forked();
        let atomic = How {
            writes: true,
            atomic: true,
            ..How::default()
        };
        for thread in [MAIN, CHILD] {
            clocks.atomic_read(thread, 0, 4);
            assert!(clocks.access(thread, 64, 4, atomic).is_none());
            clocks.atomic_write(thread, 0, true, 4);
        }
        let frees = How {
            writes: true,
            frees: true,
            ..How::default()
        };
        assert!(clocks.access(CHILD, 64, 8, frees).is_none());
    }

    #[test]
    fn bytes_beside_each_other_are_apart() {
        let mut clocks = forked();
        assert!(!write(&mut clocks, MAIN, 64));
        assert!(!write(&mut clocks, CHILD, 68));
        assert!(write(&mut clocks, CHILD, 66));
    }
}
