//! The set of visited states, stored as fingerprints in one table that all workers share.
//!
//! The table has words of 64 bits, each a part of a fingerprint, and resolves collisions by open
//! addressing with linear probing. Laarman, van de Pol, Weber, *Boosting multi-core reachability
//! performance with shared hash tables*, FMCAD 2010, describe such a table of fixed size. Wolper,
//! Leroy, *Reliable hashing without collision detection*, CAV 1993, analyse how many states are
//! missed if only a part of each state is stored. One compare-and-swap inserts a state, so if
//! several workers meet it at the same time, exactly one of them finds that the state is new.
//!
//! The table has many *segments*, which grow one by one: 8 bits of the fingerprint choose the
//! segment. 64 other bits are stored; read as a fraction of 2⁶⁴, they determine the slot in the
//! segment. So the states have the same order in a longer segment, and growing a segment copies
//! from front to back. A segment grows when four fifths of it are full: by a quarter, or to twice
//! its length if it is short. Segments have different lengths from the start, so that they grow at
//! different times. Each state takes 10 bytes at full load, 11 on average in a large table.
//!
//! While a segment grows, the other workers rest: they check one flag before they use the table.
//! Apart from the flag, workers share only the words and a count for each segment.
//!
//! Two states with the same 72 bits count as one state. Among n states this happens with a
//! probability of about n²/2⁷³, [`StateTable::collision`].

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use mazurka_core::Fingerprint;

/// Bits of a fingerprint that choose a segment.
const SEGMENT_BITS: u32 = 8;
const SEGMENTS: usize = 1 << SEGMENT_BITS;
/// Number of bits that distinguish states.
const BITS: u32 = 64 + SEGMENT_BITS;
/// The least length of a segment that holds a state.
const LEAST: usize = 64;
/// Segments below this length double, and if one of them grows while all workers pause, every
/// segment of at most this length that is half full grows, too.
const SHORT: usize = 1 << 11;

/// A part of the table: slots with 64 bits of a fingerprint each; 0 marks a free slot.
#[repr(align(64))]
struct Segment {
    /// Changed only by a worker that grows it while all others rest.
    slots: UnsafeCell<Vec<AtomicU64>>,
    /// Number of used slots.
    used: AtomicUsize,
}

/// The workers that use a table.
#[derive(Debug, Default)]
struct TableWorkers {
    /// Number of registered workers.
    active: usize,
    /// Number of registered workers that rest.
    resting: usize,
}

/// A set of fingerprints that grows.
pub(crate) struct StateTable {
    segments: Box<[Segment]>,
    /// Whether a worker waits for all others to rest.
    pause: AtomicBool,
    world: Mutex<TableWorkers>,
    changed: Condvar,
}

#[allow(unsafe_code)]
// SAFETY: all fields but `slots` are `Sync`. `slots` is written by `lengthen` alone, which is
// called by a worker that has set `pause` and has seen all other active workers rest, with the lock
// of `world` held. Every use of `slots` is within `insert`, by an active worker, which rests at its
// start while `pause` is set. So no reference into `slots` exists while it is replaced, and the
// lock orders the accesses before and after.
unsafe impl Sync for StateTable {}

/// A worker that uses a table. A worker can enlarge a segment only when all other workers have
/// dropped their `Active` or rest.
pub(crate) struct Active<'a> {
    table: &'a StateTable,
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.table.world().active -= 1;
        self.table.changed.notify_all();
    }
}

impl std::fmt::Debug for StateTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateTable").finish_non_exhaustive()
    }
}

impl Default for StateTable {
    fn default() -> Self {
        let segment = |_| Segment {
            slots: UnsafeCell::default(),
            used: AtomicUsize::new(0),
        };
        Self {
            segments: (0..SEGMENTS).map(segment).collect(),
            pause: AtomicBool::new(false),
            world: Mutex::default(),
            changed: Condvar::new(),
        }
    }
}

impl StateTable {
    fn world(&self) -> MutexGuard<'_, TableWorkers> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a worker. Only a registered worker may use the table. A worker that waits for
    /// something else must not stay registered.
    pub fn enter(&self) -> Active<'_> {
        let mut world = self.world();
        while self.pause.load(Ordering::Relaxed) {
            world = self.wait(world);
        }
        world.active += 1;
        Active { table: self }
    }

    fn wait<'g>(&self, world: MutexGuard<'g, TableWorkers>) -> MutexGuard<'g, TableWorkers> {
        self.changed
            .wait(world)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Rests while another worker enlarges a segment.
    #[cold]
    fn rest(&self) {
        let mut world = self.world();
        world.resting += 1;
        self.changed.notify_all();
        while self.pause.load(Ordering::Relaxed) {
            world = self.wait(world);
        }
        world.resting -= 1;
    }

    /// Enlarges the segments that are too full.
    #[cold]
    fn grow(&self) {
        let mut world = self.world();
        if self.pause.load(Ordering::Relaxed) {
            // Another worker was faster. It may or may not have enlarged this segment.
            drop(world);
            return self.rest();
        }
        self.pause.store(true, Ordering::Relaxed);
        while world.resting + 1 < world.active {
            world = self.wait(world);
        }
        for (at, segment) in self.segments.iter().enumerate() {
            #[allow(unsafe_code)]
            // SAFETY: all other workers rest until `pause` is false, and the lock is held.
            let slots = unsafe { &mut *segment.slots.get() };
            let used = segment.used.load(Ordering::Relaxed);
            let short = slots.len() <= SHORT && 2 * used >= slots.len();
            if is_full(used, slots.len()) || short {
                lengthen(slots, at);
            }
        }
        self.pause.store(false, Ordering::Relaxed);
        drop(world);
        self.changed.notify_all();
    }

    /// Adds a fingerprint. Returns whether it is new. Only for a worker that is
    /// [registered](StateTable::enter).
    #[inline]
    pub fn insert(&self, print: Fingerprint, _worker: &Active<'_>) -> bool {
        let bits = print.bits();
        let at = (bits >> (128 - SEGMENT_BITS)) as usize;
        let key = (bits as u64).max(1);
        loop {
            if self.pause.load(Ordering::Relaxed) {
                self.rest();
            }
            let segment = &self.segments[at];
            #[allow(unsafe_code)]
            // SAFETY: the worker is registered and does not rest, so the slots are not replaced
            // before its next call.
            let slots = unsafe { &*segment.slots.get() };
            match put(slots, key) {
                Insertion::Known => return false,
                Insertion::New => {
                    let used = segment.used.fetch_add(1, Ordering::Relaxed) + 1;
                    if is_full(used, slots.len()) {
                        self.grow();
                    }
                    return true;
                }
                Insertion::Full => self.grow(),
            }
        }
    }

    /// Returns the number of fingerprints.
    #[cfg(test)]
    fn len(&self) -> u64 {
        let used = self.segments.iter();
        used.map(|segment| segment.used.load(Ordering::Relaxed) as u64)
            .sum()
    }

    /// Returns the probability that two of `states` states counted as one.
    pub fn collision(states: u64) -> f64 {
        let n = states as f64;
        -(-(n * n) / 2f64.powi(BITS as i32 + 1)).exp_m1()
    }
}

/// The result of inserting a word into some slots.
enum Insertion {
    New,
    Known,
    Full,
}

/// Returns the slot of a word in an empty segment.
#[inline]
fn home(key: u64, len: usize) -> usize {
    ((u128::from(key) * len as u128) >> 64) as usize
}

/// Inserts a word into its slot or, if other words are there, into the next free one, unless a slot
/// on the way has the word already.
#[inline]
fn put(slots: &[AtomicU64], key: u64) -> Insertion {
    let mut at = home(key, slots.len());
    for _ in 0..slots.len() {
        let slot = &slots[at];
        let mut there = slot.load(Ordering::Relaxed);
        if there == 0 {
            // The word carries all the information, so no ordering with other accesses is needed.
            match slot.compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Insertion::New,
                Err(other) => there = other,
            }
        }
        if there == key {
            return Insertion::Known;
        }
        at += 1;
        if at == slots.len() {
            at = 0;
        }
    }
    Insertion::Full
}

fn is_full(used: usize, len: usize) -> bool {
    5 * used >= 4 * len
}

/// Enlarges a segment.
fn lengthen(slots: &mut Vec<AtomicU64>, at: usize) {
    let len = match slots.len() {
        // From here on, all segments grow by the same factors, so their lengths stay different.
        0 => LEAST + LEAST * at / (4 * SEGMENTS),
        // A short segment doubles to save time, and a long one grows by a quarter to save memory.
        len if len < SHORT => 2 * len,
        len => len * 5 / 4,
    };
    let mut longer = Vec::new();
    longer.resize_with(len, || AtomicU64::new(0));
    for slot in slots.iter_mut() {
        let key = *slot.get_mut();
        if key != 0 {
            let mut at = home(key, len);
            while *longer[at].get_mut() != 0 {
                at = if at + 1 == len { 0 } else { at + 1 };
            }
            *longer[at].get_mut() = key;
        }
    }
    *slots = longer;
}

/// A set of states as bits, for state spaces that do not fit into memory.
///
/// Holzmann, *An analysis of bitstate hashing*, Formal Methods in System Design 13, 1998. Each
/// state sets three bits. A state whose bits are all set counts as known; states that are reachable
/// through it alone are missed.
pub(crate) struct Bits {
    words: Box<[AtomicU64]>,
    /// Number of bits that are 1.
    set: AtomicU64,
    /// The expected number of new states that counted as known, in units of 2⁻³².
    missed: AtomicU64,
    states: AtomicU64,
}

/// Number of bits that a state sets.
const BITS_OF_A_STATE: u32 = 3;

impl std::fmt::Debug for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bits").finish_non_exhaustive()
    }
}

impl Bits {
    /// Allocates this number of bytes.
    pub fn new(bytes: u64) -> Self {
        let words = (bytes / 8).max(1) as usize;
        let mut all = Vec::new();
        all.resize_with(words, || AtomicU64::new(0));
        Self {
            words: all.into_boxed_slice(),
            set: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            states: AtomicU64::new(0),
        }
    }

    /// Adds a state. Returns whether it counts as new: at least one of its bits was 0, so it was
    /// certainly not added before.
    #[inline]
    pub fn insert(&self, print: Fingerprint) -> bool {
        let bits = print.bits();
        let (first, step) = ((bits >> 64) as u64, bits as u64 | 1);
        let mut new = 0;
        for k in 0..BITS_OF_A_STATE {
            let mixed = first.wrapping_add(step.wrapping_mul(u64::from(k)));
            let at = home(mixed, self.words.len());
            let bit = 1u64 << (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58);
            let before = self.words[at].fetch_or(bit, Ordering::Relaxed);
            new += u64::from(before & bit == 0);
        }
        if new == 0 {
            return false;
        }
        let set = self.set.fetch_add(new, Ordering::Relaxed);
        let full = set as f64 / (64.0 * self.words.len() as f64);
        let miss = full.powi(BITS_OF_A_STATE as i32) * f64::from(u32::MAX);
        self.missed.fetch_add(miss as u64, Ordering::Relaxed);
        self.states.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Returns the estimated probability that some new state counted as known: the sum, over the
    /// new states, of the fraction of set bits at that time, to the power of the bits of a state.
    pub fn miss(&self) -> f64 {
        let missed = self.missed.load(Ordering::Relaxed) as f64 / f64::from(u32::MAX);
        // Below this value rounding errors dominate the sum.
        let least = self.states.load(Ordering::Relaxed) as f64 / f64::from(u32::MAX);
        -(-(missed + least)).exp_m1()
    }
}

/// The store for the states that a search has met.
#[derive(Debug)]
pub(crate) enum Visited {
    /// A table of all states.
    Table(StateTable),
    /// A set of bits.
    Bits(Bits),
}

impl Visited {
    /// Returns the probability that a new state counted as known, after this number of states.
    pub fn miss(&self, states: u64) -> f64 {
        match self {
            Visited::Table(_) => StateTable::collision(states),
            Visited::Bits(bits) => bits.miss(),
        }
    }

    /// Registers a worker.
    pub fn enter(&self) -> Visitor<'_> {
        match self {
            Visited::Table(table) => Visitor::Table(table, table.enter()),
            Visited::Bits(bits) => Visitor::Bits(bits),
        }
    }
}

/// A worker's access to the store.
pub(crate) enum Visitor<'a> {
    Table(&'a StateTable, Active<'a>),
    Bits(&'a Bits),
}

impl Visitor<'_> {
    /// Returns the probability that a new state counted as known, after this number of states.
    pub fn miss(&self, states: u64) -> f64 {
        match self {
            Visitor::Table(..) => StateTable::collision(states),
            Visitor::Bits(bits) => bits.miss(),
        }
    }

    /// Adds a state. Returns whether it is new.
    #[inline]
    pub fn insert(&self, print: Fingerprint) -> bool {
        match self {
            Visitor::Table(table, active) => table.insert(print, active),
            Visitor::Bits(bits) => bits.insert(print),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(n: u64) -> Fingerprint {
        Fingerprint::EMPTY.then(n)
    }

    #[test]
    fn each_is_new_once() {
        let table = StateTable::default();
        let worker = table.enter();
        assert!((0..200_000).all(|n| table.insert(print(n), &worker)));
        assert!(!(0..200_000).any(|n| table.insert(print(n), &worker)));
        assert_eq!(table.len(), 200_000);
    }

    #[test]
    fn of_several_workers_one_finds_it_new() {
        const EACH: u64 = 60_000;
        for workers in [2, 5] {
            let table = StateTable::default();
            let new = AtomicU64::new(0);
            std::thread::scope(|scope| {
                for worker in 0..workers {
                    let (table, new) = (&table, &new);
                    scope.spawn(move || {
                        let active = table.enter();
                        // The workers meet the same states in different orders.
                        let factor = [1, 7, 11, 13, 17][worker];
                        let all = (0..EACH).map(|n| n * factor % EACH);
                        let found = all.filter(|&n| table.insert(print(n), &active)).count();
                        new.fetch_add(found as u64, Ordering::Relaxed);
                    });
                }
            });
            assert_eq!(new.load(Ordering::Relaxed), EACH);
            assert_eq!(table.len(), EACH);
            let active = table.enter();
            assert!(!(0..EACH).any(|n| table.insert(print(n), &active)));
            assert!(table.insert(print(EACH), &active));
        }
    }

    #[test]
    fn twelve_bytes_are_enough() {
        let table = StateTable::default();
        let worker = table.enter();
        let bytes = || {
            let slots = table.segments.iter();
            #[allow(unsafe_code)]
            // SAFETY: the one worker is this thread.
            let len = |segment: &Segment| unsafe { (*segment.slots.get()).len() };
            slots.map(|segment| 8 * len(segment)).sum::<usize>()
        };
        let mut before = 0;
        for n in 0..2_000_000u64 {
            table.insert(print(n), &worker);
            let now = bytes_now(n, &bytes, before);
            if n > 1_500_000 && n.is_multiple_of(1000) {
                assert!(now as u64 <= 12 * n, "{now} for {n}");
            }
            before = now;
        }
        drop(worker);
    }

    /// Returns the size in bytes, which is computed only at intervals.
    fn bytes_now(n: u64, bytes: &dyn Fn() -> usize, before: usize) -> usize {
        if n.is_multiple_of(1000) {
            bytes()
        } else {
            before
        }
    }

    #[test]
    fn probabilities_are_those_of_birthdays() {
        assert_eq!(StateTable::collision(0), 0.0);
        let hundred_million = StateTable::collision(100_000_000);
        assert!(
            (1e-6..1.1e-6).contains(&hundred_million),
            "{hundred_million}"
        );
        assert!(StateTable::collision(u64::MAX) > 0.99);
    }

    #[test]
    fn bits_miss_few_and_say_how_many() {
        let bits = Bits::new(1 << 16);
        let found = (0..60_000).filter(|&n| bits.insert(print(n))).count();
        let lost = 60_000 - found;
        let expected = bits.missed.load(Ordering::Relaxed) as f64 / f64::from(u32::MAX);
        assert!((lost as f64 - expected).abs() < 5.0 * expected.sqrt().max(1.0));
        assert!(lost > 0 && expected > 10.0 && bits.miss() > 0.99);
        assert!(!(0..60_000).any(|n| bits.insert(print(n))));
        let roomy = Bits::new(1 << 24);
        assert_eq!((0..1000).filter(|&n| roomy.insert(print(n))).count(), 1000);
        assert!(roomy.miss() < 1e-6, "{}", roomy.miss());
    }
}
