//! Sets of fingerprints, and maps from fingerprints to values. They grow in small steps.
//!
//! Most of these sets and maps are small, and there may be thousands, one for each part of a
//! search. A few have millions of entries and must not double their size at once (see [`Table`]).

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use mazurka_core::Fingerprint;

use crate::drive::table::Table;

/// A map with more entries than this stores them in `many`, a table that grows in small steps,
/// instead of `few`.
const FEW: usize = 1 << 14;

/// A map from fingerprints to values; without values, a set.
#[derive(Clone, Debug)]
pub struct Prints<V = ()> {
    few: HashTable<(Fingerprint, V)>,
    many: Option<Box<Table<(Fingerprint, V)>>>,
    len: usize,
}

impl<V> Default for Prints<V> {
    fn default() -> Self {
        Self {
            few: HashTable::new(),
            many: None,
            len: 0,
        }
    }
}

/// Returns a hash of a fingerprint. The bits of a fingerprint are well mixed already.
fn hash(print: &Fingerprint) -> u64 {
    print.bits() as u64
}

impl<V> Prints<V> {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the value of a fingerprint, if there is one.
    pub fn get(&self, print: &Fingerprint) -> Option<&V> {
        let same = |entry: &(Fingerprint, V)| entry.0 == *print;
        let found = match &self.many {
            None => self.few.find(hash(print), same),
            Some(many) => many.find(hash(print), same),
        };
        found.map(|(_, value)| value)
    }

    /// Whether there is an entry for a fingerprint.
    pub fn contains(&self, print: &Fingerprint) -> bool {
        self.get(print).is_some()
    }

    /// Adds an entry if there is none for this fingerprint. Returns whether it was added.
    pub fn add(&mut self, print: Fingerprint, value: V) -> bool {
        match self.entry(print) {
            Entry::Occupied(_) => false,
            Entry::Vacant(free) => {
                free.insert((print, value));
                self.len += 1;
                true
            }
        }
    }

    fn entry(&mut self, print: Fingerprint) -> Entry<'_, (Fingerprint, V)> {
        if self.many.is_none() && self.len >= FEW {
            let mut many = Box::new(Table::default());
            for entry in self.few.drain() {
                many.add(hash(&entry.0), entry, |(print, _)| hash(print));
            }
            self.few = HashTable::new();
            self.many = Some(many);
        }
        let same = |entry: &(Fingerprint, V)| entry.0 == print;
        let hasher = |entry: &(Fingerprint, V)| hash(&entry.0);
        match &mut self.many {
            None => self.few.entry(hash(&print), same, hasher),
            Some(many) => many.entry(hash(&print), same, hasher),
        }
    }

    /// Returns all entries, in any order.
    pub fn iter(&self) -> impl Iterator<Item = (&Fingerprint, &V)> {
        let many = self.many.iter().flat_map(|many| many.iter());
        self.few
            .iter()
            .chain(many)
            .map(|(print, value)| (print, value))
    }

    /// Returns all entries, in any order, and frees the memory gradually.
    pub fn into_entries(self) -> impl Iterator<Item = (Fingerprint, V)> {
        let many = self.many.into_iter().flat_map(|many| many.into_entries());
        self.few.into_iter().chain(many)
    }

    /// Returns all fingerprints, in any order.
    pub fn prints(&self) -> impl Iterator<Item = &Fingerprint> {
        self.iter().map(|(print, _)| print)
    }
}

impl<V: Default> Prints<V> {
    /// Returns the value of a fingerprint; adds the default value if there is none.
    pub fn or_default(&mut self, print: Fingerprint) -> &mut V {
        let new = !self.contains(&print);
        self.len += usize::from(new);
        let entry = self.entry(print);
        let entry = entry.or_insert_with(|| (print, V::default()));
        &mut entry.into_mut().1
    }
}

impl Prints {
    /// Adds all entries of another set. The larger one is kept, so that little is copied.
    pub fn absorb(&mut self, mut other: Self) {
        if other.len > self.len {
            std::mem::swap(self, &mut other);
        }
        self.extend(other.into_entries());
    }

    /// Adds a fingerprint. Returns whether it is new.
    pub fn insert(&mut self, print: Fingerprint) -> bool {
        self.add(print, ())
    }
}

impl<V: PartialEq> PartialEq for Prints<V> {
    fn eq(&self, other: &Self) -> bool {
        let same = |(print, value): (&Fingerprint, &V)| other.get(print) == Some(value);
        self.len == other.len && self.iter().all(same)
    }
}

impl<V: Eq> Eq for Prints<V> {}

impl<V> Extend<(Fingerprint, V)> for Prints<V> {
    fn extend<I: IntoIterator<Item = (Fingerprint, V)>>(&mut self, entries: I) {
        for (print, value) in entries {
            self.add(print, value);
        }
    }
}

impl<V> FromIterator<(Fingerprint, V)> for Prints<V> {
    fn from_iter<I: IntoIterator<Item = (Fingerprint, V)>>(entries: I) -> Self {
        let mut all = Self::default();
        all.extend(entries);
        all
    }
}

impl FromIterator<Fingerprint> for Prints {
    fn from_iter<I: IntoIterator<Item = Fingerprint>>(prints: I) -> Self {
        prints.into_iter().map(|print| (print, ())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(n: u64) -> Fingerprint {
        Fingerprint::EMPTY.then(n)
    }

    #[test]
    fn sets_are_put_together_either_way() {
        let set = |range: std::ops::Range<u64>| range.map(print).collect::<Prints>();
        for (one, other) in [(0..10, 5..30_000), (5..30_000, 0..10)] {
            let mut all = set(one);
            all.absorb(set(other));
            assert_eq!(all, set(0..30_000));
        }
    }

    #[test]
    fn few_and_many_are_found_again() {
        for most in [10, FEW as u64, FEW as u64 + 1, 100_000] {
            let mut all = Prints::default();
            assert!((0..most).all(|n| all.add(print(n), n)));
            assert!(!(0..most).any(|n| all.add(print(n), 0)));
            assert_eq!(all.len() as u64, most);
            assert!((0..most).all(|n| all.get(&print(n)) == Some(&n)));
            assert!(!all.contains(&print(most)));
            assert_eq!(all.iter().count() as u64, most);
            assert_eq!(all.prints().count() as u64, most);
            let backwards: Prints<u64> = (0..most).rev().map(|n| (print(n), n)).collect();
            assert_eq!(all, backwards);
            *all.or_default(print(0)) += 1;
            *all.or_default(print(most)) += 7;
            assert_eq!(all.get(&print(0)), Some(&1));
            assert_eq!(
                (all.get(&print(most)), all.len() as u64),
                (Some(&7), most + 1)
            );
            assert_ne!(all, backwards);
        }
    }
}
