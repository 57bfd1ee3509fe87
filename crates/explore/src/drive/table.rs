//! A hash table that grows in small steps.
//!
//! When an ordinary table doubles its size, it takes three times its memory for a moment (for the
//! old and the new table), and twice its memory from then on. A search could then not keep within a
//! limit on memory. So this table consists of many parts that double at different times.
//!
//! The parts do not get equal shares of the entries; otherwise all of them would double at about
//! the same time. Part k of K gets a share proportional to 2^(k/K). While the table grows to twice
//! its size, the parts reach the size at which they double one after the other, at equal distances
//! on a logarithmic scale.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Number of parts. When one of them doubles, the table grows by about 1/`PARTS` of its size.
const PARTS: usize = 128;

/// Number of slices into which hashes are divided. The share of a part is the number of its slices.
const SLICES: usize = 4096;

/// A set of entries, which are found by their hashes. All bits of a hash must be well mixed.
#[derive(Clone, Debug)]
pub(crate) struct Table<T> {
    parts: Vec<HashTable<T>>,
    /// The part for each slice of the hashes.
    owner: Box<[u8]>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        let mut parts = Vec::new();
        parts.resize_with(PARTS, HashTable::new);
        let owner = |slice: usize| {
            let share = (slice as f64 + 0.5) / SLICES as f64;
            let part = (1.0 + share).log2() * PARTS as f64;
            (part as usize).min(PARTS - 1) as u8
        };
        Self {
            parts,
            owner: (0..SLICES).map(owner).collect(),
        }
    }
}

impl<T> Table<T> {
    /// Returns the index of the part for a hash. It is computed from the middle bits: the lowest
    /// select a slot in the part, and the highest are the tag that a part stores for each entry.
    #[inline]
    fn part(&self, hash: u64) -> usize {
        self.owner[(hash >> 40) as usize % SLICES].into()
    }

    /// Returns the slot of an entry, as in `hashbrown`.
    #[inline]
    pub fn entry(
        &mut self,
        hash: u64,
        same: impl FnMut(&T) -> bool,
        hasher: impl Fn(&T) -> u64,
    ) -> Entry<'_, T> {
        let part = self.part(hash);
        self.parts[part].entry(hash, same, hasher)
    }

    /// Returns the entry with this hash for which `same` holds, if any.
    #[inline]
    pub fn find(&self, hash: u64, same: impl FnMut(&T) -> bool) -> Option<&T> {
        self.parts[self.part(hash)].find(hash, same)
    }

    /// Adds an entry that is not in the table.
    pub fn add(&mut self, hash: u64, entry: T, hasher: impl Fn(&T) -> u64) {
        let part = self.part(hash);
        self.parts[part].insert_unique(hash, entry, hasher);
    }

    /// Returns all entries, in any order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.parts.iter().flatten()
    }

    /// Returns all entries, in any order. Each part is freed when its last entry is taken.
    pub fn into_entries(self) -> impl Iterator<Item = T> {
        self.parts.into_iter().flatten()
    }

    /// Returns the number of entries that fit without growing.
    #[cfg(test)]
    fn capacity(&self) -> usize {
        self.parts.iter().map(HashTable::capacity).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a number whose bits are well mixed.
    fn mixed(n: u64) -> u64 {
        let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        n ^ (n >> 31)
    }

    fn insert(table: &mut Table<u64>, n: u64) -> bool {
        match table.entry(mixed(n), |&other| other == n, |&n| mixed(n)) {
            Entry::Occupied(_) => false,
            Entry::Vacant(free) => {
                free.insert(n);
                true
            }
        }
    }

    #[test]
    fn what_was_put_in_is_found() {
        let mut table = Table::default();
        assert!((0..10_000).all(|n| insert(&mut table, n)));
        assert!(!(0..10_000).any(|n| insert(&mut table, n)));
        assert!(insert(&mut table, 10_000));
    }

    #[test]
    fn it_never_grows_by_much_at_once() {
        let mut table = Table::default();
        let mut before = 0;
        for n in 0..1_000_000 {
            insert(&mut table, n);
            let now = table.capacity();
            // Small tables may grow at any rate.
            if now > 100_000 {
                assert!(now - before <= now / 32, "{before} to {now}");
                assert!(now <= 2 * (n as usize + 1), "{now} for {n}");
            }
            before = now;
        }
        assert!(before >= 1_000_000);
    }
}
